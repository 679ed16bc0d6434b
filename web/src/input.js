// input.js: takes what is dropped on the page, pasted into it or opened from a file: requests, tensors, weights.

import { FIRST_CELLS, NO_LABELS, app } from "./app.js";
import { bodyOfCurl, isCurl } from "./curl.js";
import { $, announce } from "./dom.js";
import { FIELD_NAMES } from "./fields.js";
import { readNumpy } from "./files.js";
import { readNpz } from "./npz.js";
import { readPicture } from "./overlay.js";
import { linkIn } from "./permalink.js";
import { X, formOf } from "./request.js";
import { readRequestFile, splitRequest } from "./request_file.js";
import { readYours } from "./yours.js";
import { Tensor, parseJson, tensorFromJson } from "./tensor.js";
import { labelsOf } from "./tokens.js";

const TENSOR_FIELDS = ["query", "key", "value", "x", "context", "value_context", "mask", "past_key", "past_value", "key_lengths", "query_lengths", "query_offset",
    "query_positions", "key_positions", "segment_ids", "span_ids", "prefix_length", "cu_seqlens", "sinks", "alibi", "bias", "query_scale"];
const SHORT_NAMES = { q: "query", k: "key", v: "value", queries: "query", keys: "key", values: "value", attn_mask: "mask", attention_mask: "mask" };
const LAYERS_NAMED_MAX = 4;
const WEIGHT_NAMES = ["weights", "attention", "attentions", "attn", "attention_weights", "mean_weights"];

// ---- reading: { request }, { request, reply }, { weights }, or { tensors }, a Map by name; with { labels, items } where they are given ----

function readJson(text) {
    try {
        return parseJson(text);
    } catch (error) {
        throw new Error(`${error.message}; the page opens .npy, .npz, .safetensors and JSON files, and pictures`);
    }
}

// JSON, or a curl command that sends some. `name` is for a tensor that has none. Throws an Error that says why the text is none of these.
function readText(text, name) {
    const value = readJson(isCurl(text) ? bodyOfCurl(text) : text);
    if (Array.isArray(value)) return { weights: tensorFromJson(value) };
    if (value === null || typeof value !== "object") throw new Error("expected a request, or nested arrays of weights");
    const key = WEIGHT_NAMES.find((candidate) => candidate in value);
    if (key) return { weights: tensorFromJson(value[key]), labels: labelsOf(value.tokens) };
    if ("shape" in value && "data" in value) return { tensors: new Map([[name, tensorFromJson(value)]]) };
    if (!Object.keys(value).some((field) => FIELD_NAMES.has(field))) throw new Error(`this object has no field of a request, and no "weights"`);
    return splitRequest(value);
}

async function readFile(file) {
    const buffer = await file.arrayBuffer(), stem = file.name.replace(/\.\w+$/, "");
    if (file.name.endsWith(".npy")) return { tensors: new Map([[stem, readNumpy(buffer)]]) };
    if (file.name.endsWith(".npz")) return { tensors: await readNpz(buffer) };
    if (!file.name.endsWith(".safetensors")) return readText(new TextDecoder().decode(buffer), stem);
    return readRequestFile(buffer);
}

// ---- taking ----

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

// Whether the fields are a new request, or replace some of the request that is there, as a mask does.
function isNewRequest(fields) {
    if ("x" in fields || ("query" in fields && "key" in fields)) return true;
    return formOf(app.request) === X && ["query", "key", "value"].some((name) => name in fields);
}

// A new request has the server's defaults: a scale or a causal mask left from the request before would change its numbers.
function takeFields(fields, name) {
    const isNew = isNewRequest(fields), names = Object.keys(fields).join(", ");
    const kept = !isNew ? app.request : "x" in fields && !("projection" in fields) ? { seed: app.request.seed ?? 0 } : {};
    const about = isNew ? `${name}: ${names}. Every other field has its default.` : `Your request, with ${names} of ${name}.`;
    announce(about);
    return app.setRequest({ ...kept, ...fields }, { view: FIRST_CELLS, labels: isNew ? NO_LABELS : app.labels, about });
}

function takeWeights(tensor, name, labels, about) {
    app.useWeights(tensor, { name, labels, about });
    announce(`Opened ${name}`);
}

// Tensors whose names say nothing: which of them is which layer is told.
function takeLayers(named, name) {
    const names = [...named.keys()], few = names.length <= LAYERS_NAMED_MAX ? names.join(", ") : `${names[0]} to ${names.at(-1)}`;
    takeWeights(stack([...named.values()]), name, NO_LABELS, names.length > 1 ? `Your weights, from ${name}: ${few} as layers; nothing is computed.` : undefined);
}

// Named tensors: weights to look at, fields of a request, or the layers of a model.
function takeTensors(named, name, labels) {
    const weights = [...named].find(([key]) => WEIGHT_NAMES.includes(key.toLowerCase()));
    if (weights) return takeWeights(weights[1], name, labels ?? NO_LABELS);
    const fields = Object.fromEntries([...named].filter(([key]) => fieldOf(key)).map(([key, tensor]) => [fieldOf(key), tensor]));
    for (const field of ["projection", "rope", "qk_norm", "relative_bias"]) {
        const members = [...named].filter(([key]) => key.startsWith(`${field}.`)).map(([key, tensor]) => [key.slice(field.length + 1), tensor]);
        const before = field === "projection" ? {} : app.request[field]; // the others' style or order stay
        if (members.length) fields[field] = { ...before, ...Object.fromEntries(members) };
    }
    return Object.keys(fields).length ? takeFields(fields, name) : takeLayers(named, name);
}

// `kept`: the labels of a text that has none.
function take({ request, reply, weights, labels, items, tensors }, name, kept) {
    if (reply) return app.useReply(request, reply, { view: FIRST_CELLS, labels: labels ?? NO_LABELS, items, about: `${name}: results of an earlier request.` });
    if (tensors) return takeTensors(tensors, name, labels);
    if (weights) return app.useWeights(weights, { name, labels: labels ?? kept });
    return app.setRequest(request, { view: FIRST_CELLS, labels: labels ?? kept, items });
}

// `labels`: those to keep. Throws an Error that says what is wrong with the text.
export function takeText(text, name, labels = NO_LABELS) {
    return take(readText(text, name), name, labels);
}

// What other code made of the request that is there.
export async function takeYours(files) {
    const name = [...files].map((file) => file.name).join(", ");
    try {
        app.useYours(await readYours(files, app.run), name);
        announce(`Opened ${name}`);
    } catch (error) {
        app.fail(new Error(`${name}: ${error.message}`));
    }
}

// A picture whose patches are the keys.
async function takePicture(file) {
    try {
        app.usePicture(await readPicture(file));
        announce(`Opened ${file.name}`);
    } catch (error) {
        app.fail(new Error(`${file.name}: ${error.message}`));
    }
}

// Tensors of files that are opened together belong together: q.npy, k.npy and v.npy.
export async function takeFiles(files) {
    const picture = [...files].find(({ type }) => type.startsWith("image/"));
    if (picture) return takePicture(picture);
    if (app.view.tab === "yours" && app.run && !app.run.weightsOnly) return takeYours(files);
    const tensors = new Map(), names = [];
    let at = "", labels = null;
    try {
        for (const file of files) {
            at = file.name;
            const content = await readFile(file);
            if (content.tensors) {
                for (const [key, tensor] of content.tensors) tensors.set(key, tensor);
                names.push(file.name);
                labels ??= content.labels;
            } else {
                await take(content, file.name, NO_LABELS);
                announce(`Opened ${file.name}`);
            }
        }
        at = names.join(", ");
        if (tensors.size) await takeTensors(tensors, at, labels);
    } catch (error) {
        app.fail(new Error(`${at}: ${error.message}`));
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
        const text = event.clipboardData.getData("text"), link = linkIn(text);
        if (link) {
            location.hash = link;
            return;
        }
        try {
            takeText(text, "the clipboard");
        } catch (error) {
            app.fail(new Error(`What was pasted is neither a request nor weights: ${error.message}`));
        }
    });
}
