// form.js: the request as fields. What the server says of a field stands under it, in the server's own words.

import { app } from "./app.js";
import { $, debounce, h } from "./dom.js";
import { takeFiles, takeText } from "./input.js";
import { PRESETS } from "./presets.js";
import { Tensor, isTensorObject, parseJson, shapeText } from "./tensor.js";
import { plainRequest, setKey } from "./api.js";

const AUTO_RUN_MS = 200;
const SHOWN_JSON_CHARACTERS_MAX = 20000;

const X = "x", QKV = "qkv", BOTH = "both";

// kind: int, number, tensor (a shape drawn from the seed, or JSON), json, or options to choose from.
const FIELDS = [
    { name: "seed", kind: "int", form: BOTH, label: "Seed", hint: "as torch.manual_seed" },
    { name: "x", kind: "tensor", form: X, label: "Tokens x", hint: "shape B × T × C, or JSON" },
    { name: "context", kind: "tensor", form: X, label: "Context", hint: "for cross-attention" },
    { name: "query", kind: "tensor", form: QKV, label: "Query", hint: "shape or JSON" },
    { name: "key", kind: "tensor", form: QKV, label: "Key", hint: "shape or JSON" },
    { name: "value", kind: "tensor", form: QKV, label: "Value", hint: "shape or JSON" },
    { name: "projection", kind: "json", form: X, label: "Projection", hint: "drawn, or \"identity\", or JSON" },
    { name: "head_size", kind: "int", form: X, label: "Head size" },
    { name: "num_heads", kind: "int", form: BOTH, label: "Heads" },
    { name: "num_kv_heads", kind: "int", form: BOTH, label: "Key heads", hint: "grouped" },
    { name: "causal", options: [["", "off"], [true, "on"], ["top_left", "top left"], ["bottom_right", "bottom right"]], form: BOTH, label: "Causal" },
    { name: "scale", kind: "number", form: BOTH, label: "Scale", hint: "1/√D" },
    { name: "mask", kind: "json", form: BOTH, label: "Mask", more: true, hint: "JSON: booleans, or numbers to add" },
    { name: "mask_semantics", options: [["", "true may attend"], ["drop", "true is masked"]], form: BOTH, label: "Mask's true", more: true },
    { name: "key_lengths", kind: "json", form: BOTH, label: "Key lengths", more: true, hint: "one an item: [5, 8]" },
    { name: "window", kind: "json", form: BOTH, label: "Window", more: true, hint: "[left, right], −1: no bound" },
    { name: "softcap", kind: "number", form: BOTH, label: "Softcap", more: true },
    { name: "alibi", kind: "json", form: BOTH, label: "ALiBi", more: true, hint: "true, or slopes" },
    { name: "rope", kind: "json", form: BOTH, label: "RoPE", more: true, hint: "{\"style\": \"half\"}" },
    { name: "sinks", kind: "json", form: BOTH, label: "Sinks", more: true, hint: "one a head: [0]" },
    { name: "query_offset", kind: "int", form: BOTH, label: "Query offset", more: true },
    { name: "past_key", kind: "tensor", form: QKV, label: "Past key", more: true, hint: "JSON" },
    { name: "past_value", kind: "tensor", form: QKV, label: "Past value", more: true, hint: "JSON" },
    { name: "layout", options: [["", "B H T D"], ["bthd", "B T H D"]], form: QKV, label: "Layout", more: true },
    { name: "precision", options: [["", "float32"], ["float64", "float64"]], form: BOTH, label: "Precision" },
];

export const FIELD_NAMES = new Set(FIELDS.map(({ name }) => name));

const formOf = (request) => ("query" in request || "key" in request ? QKV : X);

// ---- from a value to a field's text, and back ----

function textOf(value, kind) {
    if (value === undefined || value === null) return "";
    if (value instanceof Tensor) return `file: ${shapeText(value.shape)}`;
    if (kind === "tensor" && isTensorObject(value) && !value.data) return shapeText(value.shape);
    return typeof value === "number" ? String(value) : JSON.stringify(value);
}

const SHAPE = /^\s*\[?\s*\d+(\s*[×x*, ]\s*\d+)*\s*\]?\s*$/;

// Returns the value; undefined: left out. Throws an Error that says what is wrong.
function valueOf(text, { kind, name }, current) {
    const trimmed = text.trim();
    if (trimmed === "") return undefined;
    if (current instanceof Tensor && trimmed.startsWith("file:")) return current;
    if (kind === "int" || kind === "number") {
        const number = Number(trimmed);
        if (!Number.isFinite(number)) throw new Error(`"${trimmed}" is not a number`);
        if (kind === "int" && Math.abs(number) > Number.MAX_SAFE_INTEGER) throw new Error("the page takes integers up to 2^53");
        return number;
    }
    if (kind === "tensor" && SHAPE.test(trimmed) && !/^past/.test(name)) return { shape: trimmed.match(/\d+/g).map(Number) };
    if (name === "projection" && trimmed === "identity") return "identity";
    try {
        return parseJson(trimmed);
    } catch (error) {
        throw new Error(`this is no JSON: ${error.message}`);
    }
}

// ---- the fields ----

const inputs = new Map(); // name -> { input, error, row }

function field(spec, onChange) {
    const id = `f-${spec.name}`, errorId = `e-${spec.name}`;
    const attributes = { id, name: spec.name, "aria-describedby": errorId };
    const input = spec.options
        ? h("select", { ...attributes, onchange: onChange }, spec.options.map(([value, text]) => h("option", { value: String(value) }, text)))
        : h("input", { ...attributes, type: "text", inputMode: spec.kind === "int" ? "numeric" : "text", placeholder: spec.hint ?? "",
            autocomplete: "off", spellcheck: false, oninput: onChange });
    const error = h("p", { id: errorId, class: "error" });
    const row = h("div", { class: `field ${spec.kind === "int" || spec.kind === "number" || spec.options ? "small" : "wide"}` },
        h("label", { htmlFor: id }, spec.label), input, error);
    inputs.set(spec.name, { spec, input, error, row });
    return row;
}

function setError(name, text) {
    const entry = inputs.get(name);
    entry.error.textContent = text;
    entry.input.setAttribute("aria-invalid", text ? "true" : "false");
    entry.row.classList.toggle("wrong", Boolean(text));
}

function change(name) {
    const { spec, input } = inputs.get(name);
    try {
        const value = spec.options ? spec.options.find(([option]) => String(option) === input.value)[0] : valueOf(input.value, spec, app.request[name]);
        setError(name, "");
        changing = true;
        app.changeRequest({ [name]: value === "" ? undefined : value });
        changing = false;
        autoRun();
    } catch (error) {
        changing = false;
        setError(name, error.message);
    }
}

let changing = false; // the form itself is the source: its text stays as typed
const runSoon = debounce(AUTO_RUN_MS, () => app.compute());

function autoRun() {
    if (!app.large) runSoon();
    $("run").classList.toggle("wanted", app.large);
}

function run() {
    $("run").classList.remove("wanted");
    if (app.own) return;
    app.compute();
}

function showRequest() {
    const form = app.own ? "own" : formOf(app.request);
    for (const radio of document.querySelectorAll("input[name=source]")) radio.checked = radio.value === form;
    for (const { spec, input, row } of inputs.values()) {
        row.hidden = app.own || (spec.form !== BOTH && spec.form !== form);
        if (changing) continue;
        const value = app.request[spec.name];
        input.value = spec.options ? String(value === undefined || value === false ? "" : value) : textOf(value, spec.kind);
        setError(spec.name, "");
    }
    $("fields").hidden = $("more").hidden = Boolean(app.own);
    $("own-part").hidden = !app.own;
    $("own-about").textContent = app.own ? `${app.ownName}: ${shapeText(app.own.shape)}` : "";
    $("run").disabled = Boolean(app.own) || app.offline;
    if (document.activeElement !== $("json")) showJson();
    for (const side of ["rows", "cols"])
        if (document.activeElement !== $(`labels-${side}`)) $(`labels-${side}`).value = app.labels[side] ? JSON.stringify(app.labels[side]) : "";
}

function showJson() {
    if (!$("json-part").open || app.own) return;
    const text = JSON.stringify(plainRequest(app.request), null, 1).replace(/\[\s+([-\d.,\s"a-zA-Z]*?)\s+\]/g, (_, inner) => `[${inner.replace(/\s+/g, " ")}]`);
    $("json").value = text.length > SHOWN_JSON_CHARACTERS_MAX ? "(too long to show)" : text;
}

function showProblem() {
    const { problem } = app;
    if (problem === null) {
        for (const name of inputs.keys()) if (inputs.get(name).fromServer) setError(name, "");
    }
    for (const entry of inputs.values()) entry.fromServer = false;
    const entry = problem && inputs.get(problem.field);
    if (entry) {
        entry.fromServer = true;
        setError(problem.field, problem.message);
        if (entry.row.closest("details")) entry.row.closest("details").open = true;
    }
    $("key-part").hidden = problem?.status !== 401;
}

// A source's own starting point, where the request is of another form.
function chooseSource(form) {
    const preset = (id) => app.usePreset(PRESETS.find((p) => p.id === id));
    if (form === X) preset("notebook");
    else if (form === QKV)
        app.setRequest({ query: [[1, 0], [0, 1]], key: [[1, 0], [0, 1]], value: [[10], [20]] }, { view: { stage: "weights", batch: 0, head: 0 } });
    else {
        const run = app.run, matrix = run?.matrix("weights", app.at());
        if (matrix) app.useOwn(new Tensor([matrix.rows, matrix.cols], matrix.data.slice()), "weights of this picture");
    }
}

function source(value, text) {
    return h("label", {}, h("input", { type: "radio", name: "source", value, onchange: () => chooseSource(value) }), text);
}

// Labels: a JSON array; else a line each; else a word each.
export function parseLabels(text) {
    if (text.trim() === "") return null;
    try {
        const value = JSON.parse(text);
        if (Array.isArray(value)) return value.map(String);
    } catch { /* plain text */ }
    const lines = text.replace(/\n$/, "").split("\n");
    return lines.length > 1 ? lines : text.trim().split(/\s+/);
}

function labelsField(side, text) {
    const onchange = debounce(150, () => app.setLabels({ ...app.labels, [side]: parseLabels($(`labels-${side}`).value) }));
    return h("div", { class: "field wide" }, h("label", { htmlFor: `labels-${side}` }, text),
        h("textarea", { id: `labels-${side}`, rows: 2, spellcheck: false, placeholder: "the cat sat, a line each, or JSON", oninput: onchange }));
}

function applyJson() {
    try {
        const request = parseJson($("json").value);
        $("e-json").textContent = "";
        if (request === null || typeof request !== "object") throw new Error("a request is an object");
        takeJson(request);
    } catch (error) {
        $("e-json").textContent = error.message;
    }
}

// A request without what the page decides itself.
export function takeJson(request) {
    const rest = { ...request };
    for (const name of ["return", "format", "decimals"]) delete rest[name];
    return app.setRequest(rest, { view: { cell: null, layer: 0, batch: 0, head: 0, heads: [] } });
}

export function createForm(host) {
    const rows = (more) => FIELDS.filter((spec) => Boolean(spec.more) === more).map((spec) => field(spec, () => change(spec.name)));
    const picker = h("input", { type: "file", id: "file", accept: ".json,.safetensors,.npy", multiple: true, class: "sr",
        onchange: (event) => takeFiles(event.target.files) });
    host.append(
        h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); run(); } },
            h("h2", {}, "Request"),
            h("div", { class: "seg sources", role: "radiogroup", "aria-label": "Where the numbers come from" },
                source(X, "Seed"), source(QKV, "Tensors"), source("own", "Own weights")),
            h("div", { id: "own-part", hidden: true }, h("p", { id: "own-about", class: "strong" }),
                h("p", { class: "hint" }, "Weights from anywhere, [Tq, Tk] up to [L, B, H, Tq, Tk]: drop a file on the page, or paste JSON below.")),
            h("div", { id: "fields", class: "fields" }, rows(false)),
            h("details", { id: "more" }, h("summary", {}, "More fields"), h("div", { class: "fields" }, rows(true))),
            h("details", { id: "labels" }, h("summary", {}, "Token labels"), labelsField("rows", "Rows (queries)"), labelsField("cols", "Columns (keys)"),
                h("button", { type: "button", class: "quiet", onclick: () => app.setLabels({ ...app.labels, cols: app.labels.rows }) }, "Columns as rows")),
            h("details", { id: "json-part", ontoggle: showJson }, h("summary", {}, "JSON"),
                h("div", { class: "field wide" }, h("label", { htmlFor: "json" }, "Request, or weights"),
                    h("textarea", { id: "json", rows: 10, spellcheck: false, class: "code", "aria-describedby": "e-json" }),
                    h("p", { id: "e-json", class: "error", role: "alert" })),
                h("button", { type: "button", id: "json-apply", onclick: () => applyPasted() }, "Use this")),
            h("div", { id: "key-part", class: "field wide", hidden: true }, h("label", { htmlFor: "api-key" }, "API key"),
                h("input", { id: "api-key", type: "password", autocomplete: "off", onchange: (event) => { setKey(event.target.value); run(); } })),
            h("div", { class: "actions" },
                h("button", { id: "run", class: "primary", "aria-keyshortcuts": "Control+Enter" }, "Run ", h("kbd", {}, "Ctrl ⏎")),
                picker, h("label", { htmlFor: "file", class: "button" }, "Open file…"))),
    );
    $("json").addEventListener("input", () => { $("e-json").textContent = ""; });
    app.on("request", showRequest);
    app.on("problem", showProblem);
}

// JSON in the box is a request, or weights.
function applyPasted() {
    const text = $("json").value;
    try {
        if (/^\s*\[/.test(text) || /"weights"|"attentions?"/.test(text)) takeText(text, "pasted weights");
        else applyJson();
        $("e-json").textContent = "";
    } catch (error) {
        $("e-json").textContent = error.message;
    }
}
