// stages.js: a head's stages from scores to output, side by side, with linked cursors.

import { app } from "../app.js";
import { announce, h, heightLeft } from "../dom.js";
import { HeatMap } from "../heatmap.js";
import { describe } from "../explain.js";
import { barName, captionOf, mapCaption, placeName, reasonsShown } from "../figure/caption.js";
import { number } from "../format.js";

const GAP = 16, CAPTION = 26, FRAME = 8, SIDE_MIN = 140; // pixels between pictures, above their cells, around them; of their sides

// Side by side in as many columns as give the largest cells.
function arrange(strip, maps, pictures) {
    const rows = Math.max(...pictures.map(({ matrix }) => matrix.rows)), cols = Math.max(...pictures.map(({ matrix }) => matrix.cols));
    const width = strip.clientWidth, height = heightLeft(strip), layouts = pictures.map((_, at) => {
        const across = at + 1, down = Math.ceil(pictures.length / across);
        const cw = ((width + GAP) / across - GAP - FRAME) / cols, ch = ((height + GAP) / down - GAP - CAPTION - FRAME) / rows;
        return { across, heightMax: ch * rows, cell: Math.min(cw, ch) };
    });
    const { across, heightMax, cell } = layouts.reduce((best, one) => (one.cell > best.cell ? one : best));
    strip.style.gridTemplateColumns = `repeat(${across}, minmax(0, ${Math.max(cell * cols, SIDE_MIN) + FRAME}px))`;
    for (const { map } of maps) map.heightMax = heightMax;
}

export function create(host) {
    const strip = h("div", { class: "strip stages-strip" });
    host.append(strip);
    let maps = [];
    const steps = () => app.run.stages.filter(({ derived }) => !derived);

    function build(stages) {
        strip.replaceChildren();
        maps = stages.map((stage) => {
            const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", id: `strip-${stage.name}`,
                "aria-label": `${stage.title}: ${stage.about}; arrow keys move the chosen cell` });
            const value = h("span", { class: "value" });
            const map = new HeatMap(canvas, {
                onHover: (at) => link(stage, at),
                onCell: (i, j) => {
                    if (stage.name !== "output") app.setView({ cell: [i, j] });
                    announce(describe(i, j, stage.name));
                },
                onView: (transform) => stage.name !== "output" && maps.filter((m) => m.map !== map && m.stage.name !== "output").forEach((m) => m.map.setTransform(transform)),
            }, { compact: true });
            canvas.map = map;
            strip.append(h("figure", {}, h("figcaption", {}, h("button", { type: "button", class: "link", onclick: () => app.setView({ tab: "map", stage: stage.name }) }, stage.title),
                " ", value), h("div", { class: "map" }, canvas)));
            return { stage, map, value };
        });
    }

    // Marks the same query and key in every stage; the output has no keys, so it is linked with none.
    function link(from, at) {
        for (const { stage, map, value } of maps) {
            const outputEdge = stage.name === "output" || from.name === "output";
            const there = at && (stage === from ? at : outputEdge ? [at[0], stage.name === "output" ? 0 : at[0]] : at);
            map.point(stage === from || !outputEdge ? there : null);
            const matrix = map.picture?.matrix;
            value.textContent = at && matrix && (stage === from || !outputEdge) && at[1] < matrix.cols ? number(matrix.data[at[0] * matrix.cols + at[1]]) : "";
        }
    }

    return {
        needs: () => steps().map(({ name }) => name),
        render() {
            const stages = steps().filter(({ name }) => app.matrix(name));
            if (stages.map(({ name }) => name).join() !== maps.map(({ stage }) => stage.name).join()) build(stages);
            arrange(strip, maps, stages.map(({ name }) => app.picture(name)));
            for (const { stage, map } of maps) {
                map.cell = stage.name === "output" ? null : app.view.cell;
                map.show(app.picture(stage.name));
            }
            return stages.length > 0;
        },
        figure() {
            const pictures = maps.map(({ stage }) => app.picture(stage.name)).filter(Boolean);
            return pictures.length > 0 && { kind: "maps", panels: pictures.map((picture) => ({ picture, title: captionOf(picture.stage), bar: barName(picture.stage) })), legend: reasonsShown(),
                title: ["From scores to output", placeName()].filter(Boolean).join(", "), caption: mapCaption(pictures.find(({ hidesMasked }) => hidesMasked) ?? pictures[0]) };
        },
        cell() {
            for (const { stage, map } of maps) if (stage.name !== "output") map.point(map.hover, app.view.cell);
        },
    };
}
