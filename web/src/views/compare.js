// compare.js: this run, another one and their difference, with linked cursors, and the largest difference.

import { compute } from "../api.js";
import { app, isDark } from "../app.js";
import { announce, h } from "../dom.js";
import { Scale, extent, joined } from "../color.js";
import { colorBar } from "../color_bar.js";
import { fetchResults } from "../fetch_results.js";
import { barName, titleOf } from "../figure/caption.js";
import { number } from "../format.js";
import { HeatMap } from "../heatmap.js";
import { MaskReasons } from "../mask_reasons.js";
import { Run, differenceOf } from "../run.js";
import { VARIATIONS, patchText, patched } from "../variations.js";

export function create(host) {
    const select = h("select", { id: "compare-with", onchange: () => app.setView({ compare: select.value }) },
        VARIATIONS.map(({ name, title }) => h("option", { value: name }, title)));
    const patch = h("input", { id: "compare-patch", type: "text", spellcheck: false, placeholder: "{\"scale\": 0.5}", "aria-label": "Fields to change, as JSON",
        onchange: () => app.setView({ patch: patch.value }) });
    const pin = h("button", { type: "button", id: "pin", onclick: () => { app.pin(); announce("This run is pinned"); } }, "Pin this run");
    const about = h("p", { class: "hint" }), found = h("p", { class: "strong", id: "largest", "aria-live": "polite" });
    const strip = h("div", { class: "strip three" });
    host.append(h("div", { class: "toolbar" }, h("label", {}, "Compare with ", select), patch, pin), about, strip, found);

    const panels = ["A", "B", "B − A"].map((title, at) => {
        const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", id: `compare-${at}`, "aria-label": title });
        const value = h("span", { class: "value" });
        const map = new HeatMap(canvas, {
            onHover: (cell) => link(cell),
            onCell: (i, j) => {
                app.setView({ cell: [i, j] });
                announce(sentence([i, j]));
            },
            onView: (transform) => panels.forEach((panel) => panel.map !== map && panel.map.setTransform(transform)),
        });
        canvas.map = map;
        const bar = h("div");
        strip.append(h("figure", {}, h("figcaption", {}, h("b", {}, title), " ", value), h("div", { class: "map" }, canvas), bar));
        return { map, value, bar };
    });

    function valueAt(panel, cell) {
        const { matrix } = panel.map.picture;
        return matrix.data[cell[0] * matrix.cols + cell[1]];
    }

    function link(cell) {
        for (const panel of panels) {
            if (!panel.map.picture) continue;
            panel.map.point(cell);
            panel.value.textContent = cell ? number(valueAt(panel, cell)) : "";
        }
    }

    const sentence = (cell) => `query ${cell[0]} → key ${cell[1]}: A ${number(valueAt(panels[0], cell))}, B ${number(valueAt(panels[1], cell))}, `
        + `difference ${number(valueAt(panels[2], cell))}`;

    async function fetchMissing(run, stage) {
        const names = stage === "bias" ? [] : run.missing(stage), tensors = names.length ? await app.busyWith("Computing the other run", (signal) => fetchResults(run, names, signal)) : null;
        if (tensors) run.add(tensors);
    }

    // The run as it is with no head off.
    async function allHeadsOn(stage) {
        const run = app.run.withAllHeads();
        await fetchMissing(run, stage);
        return { run, maskReasons: app.maskReasons, name: "all heads on" };
    }

    let other = null, otherOf = ""; // the last run computed, and the request and stage it is for
    async function otherRun(stage) {
        const variation = VARIATIONS.find(({ name }) => name === app.view.compare) ?? VARIATIONS[0];
        if (variation.name === "pinned") return app.pinned;
        if (variation.name === "heads") return app.view.off.length ? allHeadsOn(stage) : null;
        if (app.run.weightsOnly || app.offline) return null;
        const patch = variation.patch(app.run.request);
        if (!patch) return null;
        const request = patched(app.run.request, patch), id = JSON.stringify([request, stage, app.view.off]) + app.run.cells;
        if (otherOf === id && other.base === app.run) return other;
        const names = [...new Set(["weights", ...(stage === "bias" ? [] : app.run.resultsOf(stage))])];
        const reply = await app.busyWith("Computing the other run", (signal) => compute(request, names, signal));
        if (!reply) return undefined;
        if (!app.stale) app.clearProblem();
        const run = new Run(request, reply, { items: app.run.items });
        run.switchOff(app.view.off);
        await fetchMissing(run, stage);
        otherOf = id;
        return (other = { run, maskReasons: new MaskReasons(run), base: app.run, name: patchText(patch) });
    }

    // Without a picture: that of another comparison would be taken for this one's.
    function showNone(text) {
        strip.hidden = true;
        found.textContent = text;
    }

    function missing() {
        if (app.view.compare === "heads") return "Every head is on: switch one off in Heads.";
        if (app.view.compare === "pinned" || app.run.weightsOnly) return "Pin a run, then look at another one.";
        return app.view.compare === "patch" ? "Type the fields to change." : "";
    }

    function showPanel({ map, bar }, picture) {
        map.show(picture);
        map.point(null, app.view.cell);
        bar.replaceChildren(colorBar(picture.scale));
    }

    function largest({ largest: size, at: [i, j], cells }, a, b) {
        const only = cells && ` In ${cells} cell${cells === 1 ? "" : "s"} only one of them has a finite number.`;
        if (size === 0) return [cells ? "The finite numbers do not differ." : "No difference at all.", only || ""];
        return [`Largest difference ${size.toPrecision(4)} at `,
            h("button", { type: "button", class: "link", onclick: () => app.setView({ cell: [i, j] }) }, `query ${i} → key ${j}`),
            `: A ${number(a.data[i * a.cols + j])}, B ${number(b.data[i * a.cols + j])}.`, only || ""];
    }

    function show(b) {
        const stage = app.view.stage === "bias" ? "weights" : app.view.stage, a = app.matrix(stage);
        const bMatrix = b?.run.matrix(stage, { ...app.at(), layer: b.run.weightsOnly ? app.view.layer : 0, batch: Math.min(app.view.batch, b.run.dims.B - 1) });
        const difference = a && bMatrix && differenceOf(a, bMatrix);
        if (!difference) return showNone(b ? `These have different shapes: ${a?.rows} × ${a?.cols} and ${bMatrix?.rows} × ${bMatrix?.cols}.` : missing());
        strip.hidden = false;
        shown = b;
        const scale = app.scale(stage, joined([extent([a]), extent([bMatrix])]));
        const diverging = new Scale({ signed: true, max: difference.largest, mode: "linear", dark: isDark() });
        showPanel(panels[0], app.pictureOf(a, stage, scale, app.maskReasons));
        showPanel(panels[1], app.pictureOf(bMatrix, stage, scale, b.maskReasons));
        showPanel(panels[2], { ...app.pictureOf(difference, stage, diverging, null), hidesMasked: false });
        found.replaceChildren(h("span", {}, largest(difference, a, bMatrix)));
    }

    let shown = null; // the other run in the picture

    return {
        stages: true,
        other: () => (strip.hidden ? null : { run: shown.run, name: shown === app.pinned ? shown.name : `the same with ${shown.name}` }),
        figure() {
            if (strip.hidden || !panels[0].map.picture) return null;
            const { stage } = panels[0].map.picture, names = ["A", "B", "B − A"].map((name, at) => ({ name, bar: at < 2 ? barName(stage) : "difference" }));
            return { kind: "maps", panels: panels.map(({ map }, at) => ({ picture: map.picture, title: names[at].name, bar: names[at].bar })),
                title: `${titleOf(stage)}: two runs and their difference`, caption: `${about.textContent} ${found.textContent}` };
        },
        render() {
            select.value = app.view.compare;
            patch.hidden = app.view.compare !== "patch";
            patch.value = app.view.patch;
            otherRun(app.view.stage).then((b) => {
                if (app.view.tab !== "compare") return;
                if (b === undefined) return void (app.problem && showNone("The other run failed; the reason is above."));
                about.textContent = `A: ${app.name}. B: ${b ? (b === app.pinned ? `pinned, ${b.name}` : `the same with ${b.name}`) : "nothing yet"}.`;
                show(b);
            }).catch((error) => showNone(`${error.message}.`));
            return true;
        },
        cell() {
            for (const panel of panels) panel.map.point(panel.map.hover, app.view.cell);
        },
    };
}
