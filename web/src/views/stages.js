// stages.js: a head's stages from scores to output, side by side, with linked cursors.

import { app } from "../app.js";
import { announce, h } from "../dom.js";
import { HeatMap } from "../heatmap.js";
import { describe } from "../explain.js";
import { number } from "../format.js";

export function create(host) {
    const strip = h("div", { class: "strip" });
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
            for (const { stage, map } of maps) {
                map.cell = stage.name === "output" ? null : app.view.cell;
                map.show(app.picture(stage.name));
            }
            return stages.length > 0;
        },
        cell() {
            for (const { stage, map } of maps) if (stage.name !== "output") map.point(map.hover, app.view.cell);
        },
    };
}
