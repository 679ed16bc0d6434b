// request_file.js: what a request, or a safetensors file, holds beside the fields that are sent: token labels, and what its items are.

import { readSafetensors } from "./files.js";
import { parseJson } from "./tensor.js";
import { labelsOf } from "./tokens.js";

// Returns { request, labels or null, items }: items "layers" says that the items of the batch are the layers of one model.
export function splitRequest({ tokens, items, ...request }) {
    return { request, labels: labelsOf(tokens), items: items === "layers" ? items : null };
}

// Of a safetensors file: { request, labels, items }, with { reply } if it holds results; or { tensors, labels } of one that is no
// request.
export function readRequestFile(buffer) {
    const { tensors, metadata } = readSafetensors(buffer), { items } = metadata, tokens = metadata.tokens && parseJson(metadata.tokens);
    const read = (text) => splitRequest({ items, tokens, ...parseJson(text) });
    if (metadata.source && metadata.applied && tensors.has("weights"))
        return { ...read(metadata.source), reply: { tensors, applied: parseJson(metadata.applied), warnings: parseJson(metadata.warnings ?? "[]") } };
    if (metadata.source && tensors.has("pooled_weights")) return read(metadata.source); // pooled weights are computed again
    if (!metadata.request) return { tensors, labels: labelsOf(tokens) };
    const { request, ...more } = read(metadata.request);
    return { request: { ...request, ...Object.fromEntries(tensors) }, ...more };
}
