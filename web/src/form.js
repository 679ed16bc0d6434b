// form.js: the request as a form. What the server says about a field appears under it, in the server's words.

import { FIRST_CELLS, NO_LABELS, app } from "./app.js";
import { $, debounce, h } from "./dom.js";
import { BOTH, FIELDS, textOf, valueOf } from "./fields.js";
import { jsonText } from "./format.js";
import { openFromModel } from "./help.js";
import { takeFiles, takeText } from "./input.js";
import { changedFields, presetById } from "./presets.js";
import { QKV, X, formOf, plainRequest } from "./request.js";
import { Tensor, shapeText } from "./tensor.js";
import { parseLabels } from "./tokens.js";

const AUTO_RUN_MS = 200, LABELS_MS = 150;
const SHOWN_JSON_CHARACTERS_MAX = 20000;

// ---- the fields ----

const inputs = new Map(); // name -> { spec, input, error, row, fromServer }

function makeField(spec) {
    const id = `f-${spec.name}`, errorId = `e-${spec.name}`, onchange = () => change(spec.name);
    const attributes = { id, name: spec.name, "aria-describedby": errorId };
    const input = spec.options
        ? h("select", { ...attributes, onchange }, spec.options.map(([value, text]) => h("option", { value: String(value) }, text)))
        : h("input", { ...attributes, type: "text", inputMode: spec.kind === "int" ? "numeric" : "text", placeholder: spec.hint ?? "",
            autocomplete: "off", spellcheck: false, oninput: onchange });
    const error = h("p", { id: errorId, class: "error" });
    const row = h("div", { class: `field ${spec.kind === "int" || spec.kind === "number" || spec.options ? "small" : "wide"}` },
        h("label", { htmlFor: id }, spec.label), input, error);
    inputs.set(spec.name, { spec, input, error, row, fromServer: false });
}

function setError(name, text) {
    const entry = inputs.get(name);
    entry.error.textContent = text;
    entry.input.setAttribute("aria-invalid", text ? "true" : "false");
    entry.row.classList.toggle("wrong", Boolean(text));
}

let changing = false; // the change comes from an input, whose text stays as typed

function change(name) {
    const { spec, input } = inputs.get(name);
    try {
        const value = valueOf(input.value, spec, app.request[name]);
        setError(name, "");
        changing = true;
        app.changeRequest({ [name]: value });
        autoRun();
    } catch (error) {
        setError(name, error.message);
    } finally {
        changing = false;
    }
}

const runSoon = debounce(AUTO_RUN_MS, () => app.compute());

function autoRun() {
    if (!app.large) runSoon();
    $("run").classList.toggle("wanted", app.large);
}

function run() {
    $("run").classList.remove("wanted");
    if (app.weights) return;
    app.compute();
}

// Rare fields are folded away, but for those that say something.
function placeRows(changed) {
    const shown = ({ spec: { name, more } }) => !more || app.request[name] !== undefined || changed.includes(name), all = [...inputs.values()];
    $("fields").replaceChildren(...all.filter(shown).map(({ row }) => row));
    $("more-fields").replaceChildren(...all.filter((entry) => !shown(entry)).map(({ row }) => row));
}

function showRequest() {
    const form = app.weights ? "weights" : formOf(app.request);
    const changed = app.preset ? changedFields(presetById(app.preset)) : [];
    keepDraft(form);
    for (const radio of document.querySelectorAll("input[name=source]")) radio.checked = radio.value === form;
    for (const { spec, input, row } of inputs.values()) {
        row.classList.toggle("changed", changed.includes(spec.name));
        row.hidden = app.weights || (spec.form !== BOTH && spec.form !== form);
        if (changing) continue;
        input.value = textOf(app.request[spec.name], spec);
        setError(spec.name, "");
    }
    if (!changing) placeRows(changed);
    $("fields").hidden = $("more").hidden = Boolean(app.weights);
    $("weights-part").hidden = !app.weights;
    $("weights-about").textContent = app.weights ? `${app.weightsName}: ${shapeText(app.weights.shape)}` : "";
    showFirstAxis();
    $("run").disabled = Boolean(app.weights) || app.offline;
    if (document.activeElement !== $("json")) showJson();
    for (const side of ["rows", "cols"])
        if (document.activeElement !== $(`labels-${side}`)) $(`labels-${side}`).value = app.labels[side] ? JSON.stringify(app.labels[side]) : "";
}

function showProblem() {
    const { problem } = app;
    for (const [name, entry] of inputs) {
        if (problem === null && entry.fromServer) setError(name, "");
        entry.fromServer = false;
    }
    const entry = problem && inputs.get(problem.field);
    if (entry) {
        entry.fromServer = true;
        setError(problem.field, problem.message);
        if (entry.row.closest("details")) entry.row.closest("details").open = true;
    }
}

// ---- where the numbers come from ----

const drafts = new Map(); // the last content of each source: what setRequest or useWeights takes

function keepDraft(form) {
    const { request, weights, weightsName, preset, basis, labels, items, about } = app;
    if (weights) drafts.set(form, { weights, name: weightsName, labels, about });
    else if (Object.keys(request).length) drafts.set(form, { request, preset, basis, labels, items, about });
}

// Returns to the source's last content, or starts with an example.
function chooseSource(form) {
    const { request, weights, ...rest } = drafts.get(form) ?? {};
    if (weights) app.useWeights(weights, rest);
    else if (request) app.setRequest(request, { ...rest, view: FIRST_CELLS });
    else if (form === X) app.usePreset(presetById("notebook"));
    else if (form === QKV) app.setRequest({ query: [[1, 0], [0, 1]], key: [[1, 0], [0, 1]], value: [[10], [20]] }, { view: { ...FIRST_CELLS, stage: "weights" }, labels: NO_LABELS });
    else {
        const matrix = app.matrix("weights");
        if (matrix) app.useWeights(new Tensor([matrix.rows, matrix.cols], matrix.data.slice()), { name: "the picture before", labels: app.labels });
    }
}

function source(value, text) {
    return h("label", {}, h("input", { type: "radio", name: "source", value, onchange: () => chooseSource(value) }), text);
}

// Four axes may be those of one layer, [B, H, Tq, Tk], or of one item, [L, H, Tq, Tk], which gets the axis that it lacks.
function showFirstAxis() {
    const shape = app.weights?.shape ?? [], isLayers = shape.length === 5 && shape[1] === 1;
    $("first-axis").hidden = !isLayers && !(shape.length === 4 && shape[0] > 1);
    $("layers-first").checked = isLayers;
}

function chooseFirstAxis(isLayers) {
    const { weights: { shape: [first, ...others], data }, weightsName: name, labels, about } = app;
    app.useWeights(new Tensor(isLayers ? [first, 1, ...others] : [first, ...others.slice(1)], data), { name, labels, about });
}

function weightsPart() {
    return h("div", { id: "weights-part", hidden: true }, h("p", { id: "weights-about", class: "strong" }),
        h("label", { class: "check", id: "first-axis" }, h("input", { id: "layers-first", type: "checkbox", onchange: (event) => chooseFirstAxis(event.target.checked) }), "First axis is layers"),
        h("p", { class: "hint" }, "Any attention weights, [Tq, Tk] up to [L, B, H, Tq, Tk]: drop a file on the page, or paste JSON below."));
}

// ---- labels, JSON ----

// How many labels there are, where that is not how many rows or columns there are.
function labelsHint(side) {
    const labels = app.labels[side], { Tq, Tk } = app.run?.dims ?? {}, tokens = side === "rows" ? Tq : Tk;
    if (!labels || !tokens || labels.length === tokens) return "";
    return `${labels.length} labels for ${tokens} ${side === "rows" ? "rows" : "columns"}: ${labels.length < tokens ? "the others have numbers" : "the last ones are not used"}`;
}

function showLabelHints() {
    for (const side of ["rows", "cols"]) $(`labels-${side}-hint`).textContent = labelsHint(side);
}

function labelsField(side, text) {
    const oninput = debounce(LABELS_MS, () => app.setLabels({ ...app.labels, [side]: parseLabels($(`labels-${side}`).value) }));
    return h("div", { class: "field wide" }, h("label", { htmlFor: `labels-${side}` }, text),
        h("textarea", { id: `labels-${side}`, rows: 2, spellcheck: false, placeholder: "the cat sat, one per line, or JSON", oninput,
            "aria-describedby": `labels-${side}-hint` }), h("p", { id: `labels-${side}-hint`, class: "hint" }));
}

function labelsPart() {
    return h("details", { id: "labels" }, h("summary", {}, "Token labels"), labelsField("rows", "Rows (queries)"), labelsField("cols", "Columns (keys)"),
        h("button", { type: "button", class: "quiet", onclick: () => app.setLabels({ ...app.labels, cols: app.labels.rows }) }, "Same as rows"));
}

function showJson() {
    if (!$("json-part").open || app.weights) return;
    const text = jsonText(plainRequest(app.request));
    $("json").value = text.length > SHOWN_JSON_CHARACTERS_MAX ? "(too long to show)" : text;
}

function useJson() {
    try {
        takeText($("json").value, "the JSON box", app.labels);
        $("e-json").textContent = "";
    } catch (error) {
        $("e-json").textContent = error.message;
    }
}

function jsonPart() {
    return h("details", { id: "json-part", ontoggle: showJson }, h("summary", {}, "JSON"),
        h("div", { class: "field wide" }, h("label", { htmlFor: "json" }, "Request, weights, or a curl command"),
            h("textarea", { id: "json", rows: 10, spellcheck: false, class: "code", "aria-describedby": "e-json", oninput: () => { $("e-json").textContent = ""; } }),
            h("p", { id: "e-json", class: "error", role: "alert" })),
        h("button", { type: "button", id: "json-apply", onclick: useJson }, "Use this"));
}

export function createForm(host) {
    FIELDS.forEach(makeField);
    const picker = h("input", { type: "file", id: "file", accept: ".json,.safetensors,.npy,.npz", multiple: true, class: "sr",
        onchange: (event) => takeFiles(event.target.files) });
    host.append(h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); run(); } },
        h("h2", {}, "Request"),
        h("div", { class: "seg sources", role: "radiogroup", "aria-label": "Where the numbers come from" },
            source(X, "Seed"), source(QKV, "Tensors"), source("weights", "Your weights")),
        weightsPart(),
        h("div", { id: "fields", class: "fields" }),
        h("details", { id: "more" }, h("summary", {}, "More fields"), h("div", { id: "more-fields", class: "fields" })),
        labelsPart(), jsonPart(),
        h("div", { class: "actions" },
            h("button", { id: "run", class: "primary", "aria-keyshortcuts": "Control+Enter" }, "Run ", h("kbd", {}, "Ctrl ⏎")),
            picker, h("label", { htmlFor: "file", class: "button" }, "Open file…"),
            h("button", { type: "button", id: "from-model", onclick: openFromModel }, "From your model…"))));
    app.on("request", showRequest);
    app.on("request run", showLabelHints);
    app.on("problem", showProblem);
}
