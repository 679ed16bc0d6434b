// controls.js: what is around the picture: layer, item and head above it; colours, thresholds, mask reasons, conventions applied below.

import { app } from "./app.js";
import { colorBar } from "./color_bar.js";
import { MODES, PALETTES, RGB_NAN } from "./color.js";
import { conventions } from "./conventions.js";
import { h, keepFocus, onFrame } from "./dom.js";
import { bytes, milliseconds, number } from "./format.js";
import { REASONS } from "./mask_reasons.js";
import { MEAN, ROLLOUT } from "./run.js";
import { REASON_COLORS } from "./tile_cache.js";

function stepper(name, title, count, get, set, more = []) {
    const choices = [...Array.from({ length: count }, (_, i) => [String(i), String(i)]), ...more];
    const select = h("select", { id: `pick-${name}`, onchange: () => set(select.value) }, choices.map(([value, text]) => h("option", { value }, text)));
    const step = (by) => {
        const at = choices.findIndex(([value]) => value === String(get()));
        set(choices[(at + by + choices.length) % choices.length][0]);
    };
    select.value = String(get());
    const button = (text, label, by) => h("button", { type: "button", class: "icon", "aria-label": `${label} ${title}`, onclick: () => step(by) }, text);
    return h("div", { class: "stepper" }, h("label", { htmlFor: select.id }, title), button("‹", "Previous", -1), select, button("›", "Next", 1));
}

function pick(id, title, options, get, set) {
    const select = h("select", { id, onchange: () => set(select.value) }, options.map(({ name, title: text }) => h("option", { value: name }, text)));
    select.value = get();
    return h("label", { class: "pick" }, title, " ", select);
}

function check(id, title, name) {
    return h("label", { class: "check" }, h("input", { id, type: "checkbox", checked: app.view[name], onchange: (event) => app.setView({ [name]: event.target.checked }) }), title);
}

function slider(id, title, name, { min, max, step, text }) {
    const value = h("output", { htmlFor: id }, text(app.view[name]));
    return h("label", { class: "slider" }, title, h("input", { id, type: "range", min, max, step, value: app.view[name], oninput: (event) => {
        const number = Number(event.target.value);
        value.textContent = text(number);
        Object.assign(app.view, { [name]: number });
        redraw();
    } }), value);
}

const redraw = onFrame(() => app.tell("redraw"));

const knownNaN = new WeakMap(); // by a matrix's numbers, of which there may be millions

// A LongMatrix has no data: not all of its cells are here.
function hasNaN(data) {
    if (!data) return false;
    if (!knownNaN.has(data)) knownNaN.set(data, data.some(Number.isNaN));
    return knownNaN.get(data);
}

function nanLegend() {
    const swatch = h("i");
    swatch.style.background = `rgb(${RGB_NAN.join(",")})`;
    return h("span", { class: "legend" }, h("span", {}, swatch, "NaN"));
}

function reasonLegend() {
    const possible = app.maskReasons?.possible ?? [];
    if (!possible.length) return null;
    return h("span", { class: "legend" }, app.view.showReasons
        ? possible.map(({ name, title }) => {
            const swatch = h("i"), { rgb } = REASON_COLORS[REASONS.findIndex((reason) => reason.name === name)];
            swatch.style.background = `rgb(${rgb.join(",")})`;
            return h("span", {}, swatch, title);
        })
        : h("span", {}, h("i", { class: "hatched" }), "masked"));
}

// Which layer, item and head are shown.
export function renderPlace(host) {
    const { run, view: { tab } } = app, { L, B, H } = run.dims, batch = run.layerAxis === "batch";
    const toHead = (value) => (value === MEAN || value === ROLLOUT ? value : Number(value)), all = [...(run.hasMean ? [MEAN] : []), ...(run.hasRollout ? [ROLLOUT] : [])];
    const parts = [
        L > 1 && tab !== "heads" && stepper("layer", "Layer", L, () => app.view.layer, (value) => app.setView({ layer: Number(value) })),
        B > 1 && (tab !== "heads" || !batch) && stepper("batch", batch ? "Layer" : "Item", B, () => app.view.batch, (value) => app.setView({ batch: Number(value) })),
        (H > 1 || all.length > 0) && tab !== "heads" && stepper("head", "Head", H, () => app.view.head, (value) => app.setView({ head: toHead(value) }), all.map((name) => [name, name])),
    ];
    keepFocus(host, () => host.replaceChildren(...parts.filter(Boolean)));
}

export function renderControls(host, view) {
    const { run } = app, { tab, stage } = app.view, lines = tab === "lines", map = tab === "map" || tab === "stages";
    if (!run) return;
    const scale = run.matrix(stage, app.at()) && (tab === "heads" || tab === "stages") ? app.scale(stage) : null; // other views have their own
    const parts = [
        h("div", { class: "row" },
            tab !== "table" && !lines && pick("palette", "Colours", PALETTES, () => app.view.palette, (palette) => app.setView({ palette })),
            tab !== "table" && !lines && pick("mode", "Scale", MODES, () => app.view.mode, (mode) => app.setView({ mode })),
            tab !== "image" && check("hide-first", "Hide first key", "hideFirst"),
            tab === "map" && app.matrix() && app.sumsPossible && check("sums", "Sums", "sums"),
            map && app.maskReasons?.any && check("mask-reasons", "Mask reasons", "showReasons"),
            map && reasonLegend(), map && hasNaN(app.matrix()?.data) && nanLegend(), view.tools),
        lines && h("div", { class: "row" },
            slider("threshold", "Threshold", "threshold", { min: 0, max: 1, step: 0.01, text: (x) => `${Math.round(x * 100)} %` }),
            slider("topk", "Top", "topk", { min: 1, max: 32, step: 1, text: String })),
        scale && colorBar(scale),
    ];
    keepFocus(host, () => host.replaceChildren(...parts.filter(Boolean)));
}

export function renderApplied(host) {
    const { run } = app;
    if (!run) return;
    const { L, B, H, Tq, Tk } = run.dims, shape = [L > 1 && `${L} layers`, B > 1 && `${B} ${run.layerAxis === "batch" ? "layers" : "items"}`, H > 1 && `${H} heads`, `${Tq} × ${Tk}`].filter(Boolean).join(", ");
    const timings = run.timings.map(([name, ms]) => `${name} ${milliseconds(ms)}`).join(" · ");
    host.replaceChildren(
        h("span", {}, h("b", {}, run.weightsOnly ? "Your weights" : "Applied"), ` ${[shape, ...conventions(run.applied)].join(" · ")}`),
        timings && h("span", { id: "timings" }, h("b", {}, "Time"), ` ${timings} · round trip ${milliseconds(run.elapsedMs)} · ${run.sentBytes ? `${bytes(run.sentBytes)} sent, ` : ""}${bytes(run.bytes)} received`),
        ...run.warnings.map((text) => h("span", { class: "warn" }, `⚠ ${text}`)));
}

