// controls.js: what is under the picture: item and head, colours, thresholds, mask reasons, copy and export, conventions applied.

import { app } from "./app.js";
import { LANGUAGES } from "./code.js";
import { colorBar } from "./color_bar.js";
import { MODES, PALETTES } from "./color.js";
import { $, announce, h, keepFocus, onFrame } from "./dom.js";
import { EXPORTS, save } from "./export.js";
import { bytes, milliseconds, number } from "./format.js";
import { REASONS } from "./mask_reasons.js";
import { encode } from "./permalink.js";
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

// ---- copy, export, link ----

async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
        say(`${what} copied`);
    } catch {
        show(what, text);
    }
}

// For browsers that refuse to write to the clipboard.
function show(what, text) {
    const dialog = $("help-dialog");
    dialog.replaceChildren(h("h2", { id: "help-title" }, what), h("textarea", { rows: 14, class: "code", readOnly: true, value: text, "aria-label": what }),
        h("form", { method: "dialog" }, h("button", {}, "Close")));
    dialog.showModal();
    dialog.querySelector("textarea").select();
}

let sayTimer = 0;
function say(text) {
    announce(text);
    const note = $("note");
    if (!note) return;
    note.textContent = text;
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => { note.textContent = ""; }, 4000);
}

async function guard(action) {
    try {
        await action();
    } catch (error) {
        app.fail(error);
    }
}

// A button that opens a list: <details> gives keyboards and screen readers all they need.
function menu(id, title, entries) {
    const details = h("details", { class: "menu", id }, h("summary", {}, title), h("div", { class: "menu-list" }, entries.map(({ title: text, act, name }) =>
        h("button", { type: "button", "data-name": name, onclick: () => { details.open = false; guard(act); } }, text))));
    details.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !details.open) return;
        details.open = false;
        details.querySelector("summary").focus();
    });
    details.addEventListener("focusout", (event) => { if (!details.contains(event.relatedTarget)) details.open = false; });
    return details;
}

async function link() {
    const state = await encode(app);
    if (state === null) throw new Error("This request is too large for an address: export it as safetensors or as self-contained HTML.");
    history.replaceState(null, "", `#${state}`);
    await copy(location.href, "Link");
}

export function takeAway(view) {
    return h("fieldset", { class: "take", id: "take" },
        h("button", { type: "button", id: "permalink", onclick: () => guard(link) }, "Copy link"),
        !app.run?.weightsOnly && menu("copy", "Copy as", LANGUAGES.map(({ name, title, make }) => ({ name, title, act: () => copy(make(app.run.request), title) }))),
        menu("export", "Export", EXPORTS.filter(({ name }) => name !== "svg" || view.svg || view.heatmap).filter(({ name }) => name !== "png" || app.view.tab !== "table").filter(({ name }) => name !== "html" || !app.offline)
            .map(({ name, title, make, file }) => ({ name, title, act: async () => save(await make(view), file()) }))),
        h("span", { id: "note", class: "hint" }));
}

export function renderControls(host, view) {
    const { run } = app, { tab } = app.view;
    if (!run) return;
    const { L, B, H } = run.dims, stage = app.view.stage, lines = tab === "lines", map = tab === "map" || tab === "stages";
    const scale = run.matrix(stage, app.at()) && (tab === "heads" || tab === "stages") ? app.scale(stage) : null; // other views have their own
    const number0 = (value) => (value === MEAN || value === ROLLOUT ? value : Number(value)), all = [...(H > 1 ? [MEAN] : []), ...(run.hasRollout ? [ROLLOUT] : [])];
    const parts = [
        h("div", { class: "row" },
            L > 1 && tab !== "heads" && stepper("layer", "Layer", L, () => app.view.layer, (value) => app.setView({ layer: Number(value) })),
            B > 1 && (tab !== "heads" || run.layerAxis !== "batch") && stepper("batch", run.layerAxis === "batch" ? "Layer" : "Item", B, () => app.view.batch, (value) => app.setView({ batch: Number(value) })),
            all.length > 0 && tab !== "heads" && stepper("head", "Head", H, () => app.view.head, (value) => app.setView({ head: number0(value) }), all.map((name) => [name, name])),
            tab !== "table" && !lines && pick("palette", "Colours", PALETTES, () => app.view.palette, (palette) => app.setView({ palette })),
            tab !== "table" && !lines && pick("mode", "Scale", MODES, () => app.view.mode, (mode) => app.setView({ mode })),
            check("hide-first", "Hide first key", "hideFirst"),
            map && app.maskReasons?.any && check("mask-reasons", "Mask reasons", "showReasons"),
            map && reasonLegend(), view.tools),
        lines && h("div", { class: "row" },
            slider("threshold", "Threshold", "threshold", { min: 0, max: 1, step: 0.01, text: (x) => `${Math.round(x * 100)} %` }),
            slider("topk", "Top", "topk", { min: 1, max: 32, step: 1, text: String })),
        h("div", { class: "row" }, scale && colorBar(scale), takeAway(view)),
    ];
    keepFocus(host, () => host.replaceChildren(...parts.filter(Boolean)));
}

function rope({ style, rope_type: type, tables, attention_factor: factor, mrope_section: section }) {
    const scaled = type && type !== "default" ? ` ${type}` : tables ? ` ${tables.replace("_", " ")}` : "";
    return `RoPE ${style}${scaled}${factor === undefined || factor === 1 ? "" : ` × ${Number(factor.toPrecision(6))}`}${section ? ` [${section}]` : ""}`;
}

const relativeBias = ({ buckets, bidirectional, max_distance: max }) => `relative bias, ${buckets} buckets ${bidirectional ? "both ways" : "backwards"} to ${max}`;

// What queries may see beside the causal mask and the window.
function rules(applied) {
    const one = (text, value) => (value === undefined ? [] : [`${text} ${Array.isArray(value) ? `[${value}]` : value}`]);
    const given = { query_positions: "own query positions", key_positions: "own key positions", query_lengths: "query lengths", key_lengths: "key lengths",
        cu_seqlens: "packed sequences", segment_ids: "segments", span_ids: "spans" };
    return [...Object.entries(given).filter(([name]) => applied[name]).map(([, text]) => text), ...one("prefix", applied.prefix_length),
        ...one("chunks of", applied.chunk_size), ...one("first tokens", applied.num_sink_tokens)];
}

function conventions(applied) {
    if (!applied) return [];
    const out = [`scale ${Number(applied.scale.toPrecision(6))}`];
    out.push(applied.causal === false ? "not causal" : `causal${applied.causal === true ? "" : ` ${applied.causal.replace("_", " ")}`}`);
    if (Array.isArray(applied.query_offset)) out.push(`offsets [${applied.query_offset}]`);
    else if (applied.query_offset) out.push(`offset ${applied.query_offset}`);
    if (applied.mask) out.push(`mask ${applied.mask}${applied.mask_semantics === "drop" ? ", true is masked" : ""}`);
    if (applied.window) out.push(`window [${applied.window}]`);
    out.push(...rules(applied));
    if (applied.query_scale) out.push("query scales");
    if (applied.bias) out.push("bias");
    if (applied.relative_bias) out.push(relativeBias(applied.relative_bias));
    if (applied.softcap) out.push(`softcap ${applied.softcap}`);
    if (applied.alibi) out.push("ALiBi");
    if (applied.rope) out.push(rope(applied.rope));
    if (applied.qk_norm) out.push(`${applied.qk_norm.type} norm${applied.qk_norm.order === "after_rope" ? " after RoPE" : ""}`);
    if (applied.sinks) out.push("sinks");
    if (applied.projection_layout) out.push(`projections ${applied.projection_layout}`);
    if (applied.lse_base === "2") out.push("lse to base 2");
    if (applied.num_kv_heads !== applied.num_heads) out.push(`${applied.num_heads} heads over ${applied.num_kv_heads}`);
    out.push(applied.precision);
    if (applied.numerics === "row_invariant") out.push("row invariant");
    return out;
}

export function renderApplied(host) {
    const { run } = app;
    if (!run) return;
    const { L, B, H, Tq, Tk } = run.dims, shape = [L > 1 && `${L} layers`, B > 1 && `${B} ${run.layerAxis === "batch" ? "layers" : "items"}`, H > 1 && `${H} heads`, `${Tq} × ${Tk}`].filter(Boolean).join(", ");
    const timings = run.timings.map(([name, ms]) => `${name} ${milliseconds(ms)}`).join(" · ");
    host.replaceChildren(
        h("span", {}, h("b", {}, run.weightsOnly ? "Your weights" : "Applied"), ` ${[shape, ...conventions(run.applied)].join(" · ")}`),
        timings && h("span", { id: "timings" }, h("b", {}, "Time"), ` ${timings} · round trip ${milliseconds(run.elapsedMs)} · ${bytes(run.bytes)}`),
        ...run.warnings.map((text) => h("span", { class: "warn" }, `⚠ ${text}`)));
}

