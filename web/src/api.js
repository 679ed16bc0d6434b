// api.js: talks to attnd. Tensors travel as safetensors where they are large, in both directions.

import { readSafetensors, writeSafetensors } from "./files.js";
import { keyHeader } from "./key.js";
import { plainRequest, withoutReturn } from "./request.js";
import { Tensor, parseJson, tensorFromJson } from "./tensor.js";

const BINARY = "application/x-safetensors";
const JSON_NUMBERS_MAX = 4096; // a request with more numbers is sent as safetensors

export const base = new URL("./", document.baseURI);

// An error reply in the server's words: the fields of RFC 9457.
export class Problem extends Error {
    constructor(fields) {
        super(fields.detail ?? fields.title ?? "the request failed");
        this.status = fields.status;
        this.pointer = fields.pointer ?? "";
        this.limit = fields.limit;
        this.isDeadline = fields.type === "urn:attnd:problem:deadline";
        this.retryAfter = fields.retryAfter;
    }

    get field() {
        return this.pointer.split("/")[1]?.replace(/~1/g, "/").replace(/~0/g, "~");
    }
}

const NESTED = ["projection", "rope", "qk_norm"]; // fields whose members may be tensors

function* tensorsIn(request, prefix = "") {
    for (const [name, value] of Object.entries(request)) {
        if (value instanceof Tensor) yield [prefix + name, value];
        else if (NESTED.includes(name) && value && typeof value === "object") yield* tensorsIn(value, `${name}.`);
    }
}

// With `expected`, a comparison: { request, expected, search }.
function body(request, expected, search) {
    const tensors = [...tensorsIn(request), ...(expected ? Object.entries(expected).map(([name, tensor]) => [`expected.${name}`, tensor]) : [])];
    if (tensors.reduce((sum, [, tensor]) => sum + tensor.size, 0) <= JSON_NUMBERS_MAX)
        return { type: "application/json", data: JSON.stringify(plainRequest(expected ? { request, expected, search } : request)) };
    const rest = Object.fromEntries(Object.entries(request).filter(([, value]) => !(value instanceof Tensor)));
    for (const name of NESTED) {
        if (!rest[name] || typeof rest[name] !== "object") continue;
        rest[name] = Object.fromEntries(Object.entries(rest[name]).filter(([, value]) => !(value instanceof Tensor)));
        if (name === "projection" && !Object.keys(rest[name]).length) delete rest[name];
    }
    return { type: BINARY, data: writeSafetensors(tensors, { request: JSON.stringify(rest), ...(expected && { compare: JSON.stringify({ search }) }) }) };
}

// "queue;dur=0.1, parse;dur=0.2" as [["queue", 0.1], ..]
function readTimings(header) {
    return (header ?? "").split(",").map((part) => /^\s*([\w-]+);dur=([\d.]+)/.exec(part)).filter(Boolean)
        .map(([, name, ms]) => [name, Number(ms)]);
}

async function readReply(response) {
    const type = response.headers.get("Content-Type") ?? "";
    if (type.startsWith(BINARY)) {
        const buffer = await response.arrayBuffer(), { tensors, metadata } = readSafetensors(buffer);
        return { tensors, applied: parseJson(metadata.applied), warnings: parseJson(metadata.warnings), bytes: buffer.byteLength };
    }
    const text = await response.text(), reply = JSON.parse(text), tensors = new Map();
    for (const [name, value] of Object.entries(reply))
        if (name !== "applied" && name !== "warnings") tensors.set(name, tensorFromJson(value));
    return { tensors, applied: reply.applied, warnings: reply.warnings, bytes: text.length };
}

async function readProblem(response) {
    let fields = {};
    try {
        fields = await response.json();
    } catch { /* a proxy's page, perhaps */ }
    return new Problem({ status: response.status, title: `${response.status} ${response.statusText}`, ...fields,
        retryAfter: response.headers.get("Retry-After") });
}

// Sends a body. Throws Problem, or an AbortError where `signal` cancels it.
async function post(path, { type, data }, accept, signal) {
    const headers = { "Content-Type": type, Accept: accept, ...keyHeader() };
    let response;
    try {
        response = await fetch(new URL(path, base), { method: "POST", headers, body: data, signal });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Problem({ status: 0, detail: "attnd cannot be reached: is it still running?" });
    }
    if (!response.ok) throw await readProblem(response);
    return response;
}

// What makes other code's results, Tensors by name, differ from the request's: the reply of POST /attention/compare.
export async function compareWith(request, expected, search, signal) {
    return (await post("attention/compare", body(withoutReturn(request), expected, search), "application/json", signal)).json();
}

// Computes the results in `names`; `fields` say more of what to return: pool, top, select. Returns { tensors, applied, warnings, timings,
// elapsedMs, bytes, sentBytes }; throws Problem, or an AbortError where `signal` cancels it.
export async function compute(request, names, signal, fields = {}) {
    const begun = performance.now(), sent = body({ ...withoutReturn(request), ...fields, return: names });
    const response = await post("attention", sent, `${BINARY}, application/json;q=0.5`, signal);
    const reply = await readReply(response);
    reply.timings = readTimings(response.headers.get("Server-Timing"));
    reply.elapsedMs = performance.now() - begun;
    reply.sentBytes = sent.data.size ?? sent.data.length;
    return reply;
}
