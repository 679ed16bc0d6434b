// long.js: requests whose weights are too many to hold: what is asked for instead, and the request that computes a part of them.
//
// A part: { batch, head, i0, i1, j0, j1, names }: rows i0 to i1 and keys j0 to j1, the ends excluded, of the results in `names`.

import { withoutReturn, formOf, tokensOf, QKV } from "./request.js";
import { Tensor, isTensorObject, product } from "./tensor.js";

export const HEAD_CELLS_MAX = 4096 * 4096, CELLS_MAX = 1 << 26; // weights of a head, and of all: 64 MB and 256 MB
const POOL_SIDE_MAX = 2048, POOL_SIDE_MIN = 64, POOL_CELLS_MAX = 1 << 23;

export const isLong = (request) => {
    const size = tokensOf(request);
    return size !== null && (size.Tq * size.Tk > HEAD_CELLS_MAX || size.matrices * size.Tq * size.Tk > CELLS_MAX);
};

// Rows and columns of the pooled weights: fewer where there are many heads.
function poolOf({ matrices, Tq, Tk }) {
    let side = POOL_SIDE_MAX;
    while (side > POOL_SIDE_MIN && matrices * side * side > POOL_CELLS_MAX) side /= 2;
    return [Math.min(Tq, side), Math.min(Tk, side)];
}

// What is asked for at first: { names, fields }. Of each row the largest two weights, so that one is left where the first key is hidden.
export const overview = (request) => ({
    names: ["pooled_weights", "key_sums", "lse", "top_keys"],
    fields: { pool: poolOf(tokensOf(request)), pool_by: "max", top: 2 },
});

// ---- what a part needs of the request ----

const isDrawn = (value) => isTensorObject(value) && !value.data && !(value instanceof Tensor);

// Weights do not depend on the values: with few columns of them, less is drawn and sent. A cache's values have their own size.
export function withNarrowValues(request) {
    const { value, past_value: past } = request;
    if (formOf(request) !== QKV || past || !(value instanceof Tensor || isDrawn(value))) return request;
    const rank = value.shape.length, ownAxis = rank === 4 || (rank === 3 && request.layout === "thd");
    const shape = [...value.shape.slice(0, -1), ownAxis ? 1 : request.num_kv_heads ?? request.num_heads ?? 1];
    if (shape.at(-1) >= value.shape.at(-1)) return request;
    return { ...request, value: isDrawn(value) ? { shape } : new Tensor(shape, new Float32Array(product(shape))) };
}

// Fields under which the rows of a query can be computed alone, and without the keys that no row of theirs sees.
const CUT_FIELDS = new Set(["query", "key", "value", "seed", "num_heads", "num_kv_heads", "causal", "scale", "window", "num_sink_tokens", "chunk_size", "prefix_length",
    "softcap", "alibi", "relative_bias", "sinks", "rope", "qk_norm", "query_offset", "key_lengths", "lse_base", "layout", "precision", "numerics"]);
const ROPE_CUT_FIELDS = new Set(["style", "base", "dims", "inverse_frequencies"]); // frequencies that no length changes

const canCut = (request) => request.query instanceof Tensor && Object.keys(request).every((name) => CUT_FIELDS.has(name))
    && Object.keys(request.rope ?? {}).every((name) => ROPE_CUT_FIELDS.has(name));

const tokenAxis = (request, { shape: { length: rank } }) => (rank === 2 || (rank === 3 && request.layout === "thd") ? 0 : rank === 3 ? 1 : request.layout === "bthd" ? 1 : 2);

// Tokens from `from` to `to`, the end excluded.
function tokensFrom(request, tensor, from, to) {
    const axis = tokenAxis(request, tensor), { shape, data } = tensor, T = shape[axis];
    if (from === 0 && to === T) return tensor;
    const outer = product(shape.slice(0, axis)), inner = product(shape.slice(axis + 1));
    const out = new data.constructor(outer * (to - from) * inner);
    for (let at = 0; at < outer; at++) out.set(data.subarray((at * T + from) * inner, (at * T + to) * inner), at * (to - from) * inner);
    return new Tensor(shape.map((n, i) => (i === axis ? to - from : n)), out);
}

const largestOf = (value) => Math.max(...[value].flat(Infinity).map(Number));

// How many keys the rows up to i1 may need: under a causal mask not those after the last of them, unless the part wants them.
function keysFor(request, applied, { i1, j1 }, Tk) {
    if (applied.causal === false || isDrawn(request.key) || !(request.key instanceof Tensor)) return Tk;
    const prefix = request.prefix_length instanceof Tensor ? Tk : request.prefix_length === undefined || request.prefix_length === null ? 0 : largestOf(request.prefix_length);
    return Math.min(Tk, Math.max(i1 + largestOf(applied.query_offset ?? 0), j1, prefix, 1));
}

const atMost = (value, most) => (value instanceof Tensor ? new Tensor(value.shape, value.data.map((x) => Math.min(x, most))) : Array.isArray(value) ? value.map((x) => Math.min(x, most)) : Math.min(value, most));

// Rows of the given queries alone, at their positions, with the keys that they may see.
function cutRequest(request, { applied, dims }, part) {
    const { i0, i1 } = part, keys = keysFor(request, applied, part, dims.Tk), offset = applied.query_offset ?? 0;
    const cut = { ...request, query: tokensFrom(request, request.query, i0, i1), query_offset: Array.isArray(offset) ? offset.map((n) => n + i0) : offset + i0 };
    if (request.causal) cut.causal = true;
    if (keys === dims.Tk) return cut;
    for (const name of ["key", "value"]) cut[name] = isDrawn(request[name]) ? { shape: request[name].shape.map((n, axis) => (axis === tokenAxis(request, request[name]) ? keys : n)) } : tokensFrom(request, request[name], 0, keys);
    if (request.key_lengths !== undefined && request.key_lengths !== null) cut.key_lengths = atMost(request.key_lengths, keys);
    return cut;
}

// The request that computes a part: { request, fields }. Queries that are given are cut, so that what is sent is what is needed; what a
// seed draws costs nothing to name, and is drawn whole.
export function partRequest(run, part) {
    const narrow = withNarrowValues(withoutReturn(run.request)), cut = canCut(narrow), { i0, i1, j0, j1 } = part;
    return {
        request: cut ? cutRequest(narrow, run, part) : narrow,
        fields: { select: { ...(run.dims.H > 1 && { heads: [part.head] }), queries: cut ? [0, i1 - i0] : [i0, i1], keys: [j0, j1] } },
    };
}
