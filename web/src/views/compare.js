// compare.js: this run, another one and their difference, with linked cursors, and the largest difference.

import { compute } from "../api.js";
import { app, isDark } from "../app.js";
import { announce, h } from "../dom.js";
import { Scale, extent } from "../color.js";
import { number } from "../format.js";
import { HeatMap } from "../heatmap.js";
import { MaskReasons } from "../mask_reasons.js";
import { Run, differenceOf } from "../run.js";
import { parseJson } from "../tensor.js";

// How the other run's request differs: fields to set; null removes one.
const VARIATIONS = [
    { name: "float64", title: "the other precision", patch: (r) => ({ precision: r.precision === "float64" ? "float32" : "float64" }) },
    { name: "scale", title: "scaled or not", patch: (r) => (r.scale === undefined ? { scale: 1 } : { scale: null }) },
    { name: "corner", title: "the other causal corner", patch: (r) => ({ causal: r.causal === "bottom_right" ? "top_left" : "bottom_right" }) },
    { name: "causal", title: "causal or not", patch: (r) => (r.causal ? { causal: null } : { causal: "top_left" }) },
    { name: "bare", title: "without softcap, ALiBi, window, sinks", patch: () => ({ softcap: null, alibi: null, window: null, sinks: null }) },
    { name: "patch", title: "other fields", patch: () => parseJson(app.view.patch || "{}") },
    { name: "pinned", title: "the pinned run" },
];

function patched(request, patch) {
    const out = { ...request, ...patch };
    for (const [name, value] of Object.entries(out)) if (value === null) delete out[name];
    return out;
}

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
        }, { compact: true });
        canvas.map = map;
        strip.append(h("figure", {}, h("figcaption", {}, h("b", {}, title), " ", value), h("div", { class: "map" }, canvas)));
        return { map, value, canvas };
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

    let other = null, otherOf = ""; // the last run computed, and the request and stage it is for
    async function otherRun(stage) {
        const variation = VARIATIONS.find(({ name }) => name === app.view.compare);
        if (variation.name === "pinned") return app.pinned;
        if (app.run.weightsOnly || app.offline) return null;
        const request = patched(app.run.request, variation.patch(app.run.request)), id = JSON.stringify([request, stage]) + app.run.cells;
        if (otherOf === id && other.base === app.run) return other;
        const names = [...new Set(["weights", stage])].filter((name) => name !== "bias");
        const reply = await app.busyWith("Computing the other run", (signal) => compute(request, names, signal));
        if (!reply) return undefined;
        const run = new Run(request, reply);
        otherOf = id;
        return (other = { run, maskReasons: new MaskReasons(run), base: app.run, name: JSON.stringify(variation.patch(app.run.request)) });
    }

    function show(b) {
        const stage = app.view.stage === "bias" ? "weights" : app.view.stage, a = app.matrix(stage);
        const bMatrix = b?.run.matrix(stage, { ...app.at(), layer: 0, batch: Math.min(app.view.batch, b.run.dims.B - 1) });
        const difference = a && bMatrix && differenceOf(a, bMatrix);
        strip.hidden = !difference;
        if (!difference) {
            found.textContent = !b ? app.view.compare === "pinned" || app.run.weightsOnly ? "Pin a run, then look at another one." : ""
                : `These have different shapes: ${a?.rows} × ${a?.cols} and ${bMatrix?.rows} × ${bMatrix?.cols}.`;
            return;
        }
        const max = Math.max(extent([a]).max, extent([bMatrix]).max), { mode, palette } = app.view, signed = stage !== "weights";
        const scale = new Scale({ signed, max, mode, palette, dark: isDark() });
        const diverging = new Scale({ signed: true, max: difference.largest, mode: "linear", dark: isDark() });
        panels[0].map.show(app.pictureOf(a, stage, scale, app.maskReasons));
        panels[1].map.show(app.pictureOf(bMatrix, stage, scale, b.maskReasons));
        panels[2].map.show({ ...app.pictureOf(difference, stage, diverging, null), hidesMasked: false });
        for (const panel of panels) panel.map.point(null, app.view.cell);
        const [i, j] = difference.at;
        found.replaceChildren(difference.largest === 0 ? "No difference at all." : h("span", {}, `Largest difference ${difference.largest.toPrecision(4)} at `,
            h("button", { type: "button", class: "link", onclick: () => app.setView({ cell: [i, j] }) }, `query ${i} → key ${j}`),
            `: A ${number(a.data[i * a.cols + j])}, B ${number(bMatrix.data[i * a.cols + j])}`));
    }

    return {
        stages: true,
        render() {
            select.value = app.view.compare;
            patch.hidden = app.view.compare !== "patch";
            patch.value = app.view.patch;
            otherRun(app.view.stage).then((b) => {
                if (b === undefined || app.view.tab !== "compare") return;
                about.textContent = `A: ${app.name}. B: ${b ? (b === app.pinned ? `pinned, ${b.name}` : `the same with ${b.name}`) : "nothing yet"}.`;
                show(b);
            }, (error) => app.fail(error));
            return true;
        },
        cell() {
            for (const panel of panels) panel.map.point(panel.map.hover, app.view.cell);
        },
    };
}
