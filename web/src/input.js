// input.js: reads what is dropped on the page, pasted into it or opened from a file: requests, tensors, weights.

import { app } from "./app.js";
import { $, announce } from "./dom.js";
import { FIELD_NAMES } from "./fields.js";
import { readNumpy, readSafetensors } from "./files.js";
import { Tensor, parseJson, tensorFromJson } from "./tensor.js";

const TENSOR_FIELDS = ["query", "key", "value", "x", "context", "mask", "past_key", "past_value", "key_lengths", "sinks", "alibi"];
const SHORT_NAMES = { q: "query", k: "key", v: "value", queries: "query", keys: "key", values: "value", attn_mask: "mask", attention_mask: "mask" };
const REPLY_FIELDS = ["return", "format", "decimals"]; // the page chooses these itself
const WEIGHT_NAMES = ["weights", "attention", "attentions", "attn", "attention_weights", "mean_weights"];

const fieldOf = (name) => {
    const plain = name.toLowerCase();
    return TENSOR_FIELDS.includes(plain) ? plain : SHORT_NAMES[plain];
};

// One tensor per layer: the layers become the first axis.
function stack(tensors) {
    const [first] = tensors;
    if (tensors.length === 1) return first;
    if (tensors.some(({ shape }) => String(shape) !== String(first.shape))) throw new Error("these tensors have different shapes, so they are not the layers of one model");
    const shape = [...first.shape];
    while (shape.length < 4) shape.unshift(1);
    const data = new first.data.constructor(tensors.length * first.size);
    tensors.forEach((tensor, i) => data.set(tensor.data, i * first.size));
    return new Tensor([tensors.length, ...shape], data);
}

// Named tensors: weights to look at, fields of a request, or the layers of a model.
function takeTensors(named, name) {
    const weights = [...named].filter(([key]) => WEIGHT_NAMES.includes(key.toLowerCase()));
    const fields = [...named].filter(([key]) => fieldOf(key));
    const projections = [...named].filter(([key]) => key.startsWith("projection."));
    if (weights.length) return app.useWeights(weights[0][1], name);
    if (!fields.length && !projections.length) return app.useWeights(stack([...named.values()]), name);
    const changes = Object.fromEntries(fields.map(([key, tensor]) => [fieldOf(key), tensor]));
    return takeFields(changes, projections);
}

// Queries and keys replace tokens, and tokens replace them: a request has one of the two forms.
function takeFields(changes, projections = []) {
    const toQkv = "query" in changes || "key" in changes || "value" in changes, toX = "x" in changes;
    const leaving = toQkv ? ["x", "context", "projection", "head_size"] : toX ? ["query", "key", "value", "past_key", "past_value", "layout"] : [];
    const request = { ...app.request };
    for (const field of leaving) delete request[field];
    if (projections.length) {
        request.projection = {};
        for (const [key, tensor] of projections) request.projection[key.slice("projection.".length)] = tensor;
    }
    announce(`Loaded ${Object.keys(changes).join(", ")}`);
    return app.setRequest({ ...request, ...changes }, { view: { cell: null } });
}

function takeRequest(value) {
    const request = Object.fromEntries(Object.entries(value).filter(([name]) => !REPLY_FIELDS.includes(name)));
    return app.setRequest(request, { view: { cell: null, layer: 0, batch: 0, head: 0, heads: [] } });
}

// JSON: a request, one tensor, weights, or weights with their tokens. Throws an Error that says why the text is none of these.
export function takeText(text, name) {
    const value = parseJson(text);
    if (Array.isArray(value)) return app.useWeights(tensorFromJson(value), name);
    if (value === null || typeof value !== "object") throw new Error("expected a request, or nested arrays of weights");
    const labels = Array.isArray(value.tokens) ? value.tokens.map(String) : null;
    const key = WEIGHT_NAMES.find((candidate) => candidate in value);
    if (key) {
        if (labels) app.setLabels({ rows: labels, cols: labels });
        return app.useWeights(tensorFromJson(value[key]), name);
    }
    if ("shape" in value && "data" in value) return takeTensors(new Map([[name.replace(/\.\w+$/, ""), tensorFromJson(value)]]), name);
    if (!Object.keys(value).some((field) => FIELD_NAMES.has(field))) throw new Error(`this object has no field of a request, and no "weights"`);
    return takeRequest(value);
}

async function takeFile(file) {
    const buffer = await file.arrayBuffer(), stem = file.name.replace(/\.\w+$/, "");
    if (file.name.endsWith(".npy")) return takeTensors(new Map([[stem, readNumpy(buffer)]]), file.name);
    if (!file.name.endsWith(".safetensors")) return takeText(new TextDecoder().decode(buffer), file.name);
    const { tensors, metadata } = readSafetensors(buffer);
    if (metadata.request) return takeRequest({ ...parseJson(metadata.request), ...Object.fromEntries(tensors) });
    return takeTensors(tensors, file.name);
}

export async function takeFiles(files) {
    for (const file of files) {
        try {
            await takeFile(file);
            announce(`Opened ${file.name}`);
        } catch (error) {
            app.fail(new Error(`${file.name}: ${error.message}`));
        }
    }
}

export function listenForFiles() {
    let depth = 0;
    const over = (delta) => {
        depth = Math.max(0, depth + delta);
        $("drop").hidden = depth === 0;
    };
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    addEventListener("dragenter", (event) => hasFiles(event) && (event.preventDefault(), over(1)));
    addEventListener("dragleave", (event) => hasFiles(event) && over(-1));
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        depth = 0;
        over(0);
        takeFiles(event.dataTransfer.files);
    });
    addEventListener("paste", (event) => {
        const { target } = event, typing = target.closest?.("input, textarea");
        if (typing) return;
        const { files } = event.clipboardData;
        if (files.length) return void takeFiles(files);
        const text = event.clipboardData.getData("text");
        try {
            takeText(text, "pasted");
        } catch (error) {
            app.fail(new Error(`What was pasted is neither a request nor weights: ${error.message}`));
        }
    });
}
