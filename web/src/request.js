// request.js: what a request tells before it is computed: its form, its size, which results to ask for, and its plain JSON.

import { Tensor, shapeOf, tensorToJson } from "./tensor.js";

export const X = "x", QKV = "qkv"; // the two forms: tokens to project, or queries, keys and values

const ALL_STAGES_CELLS_MAX = 1 << 20; // larger results are fetched a stage at a time, when one is shown

export const formOf = (request) => ("query" in request || "key" in request ? QKV : X);

// { matrices, Tq, Tk }: of the weights, matrices being heads times items; null where the request alone does not tell.
export function tokensOf(request) {
    const q = shapeOf(request.query ?? request.x), k = shapeOf(request.key ?? request.context ?? request.x);
    if (!q || !k || q.length < 2 || k.length < 2) return null;
    const past = shapeOf(request.past_key);
    const swapped = request.layout === "bthd", packed = request.layout === "thd" && q.length === 3;
    const tokens = (shape) => (packed ? shape[0] : shape.length === 4 && swapped ? shape[1] : shape.at(-2));
    if (packed) return { matrices: q[1], Tq: tokens(q), Tk: tokens(k) };
    const matrices = q.length === 4 ? q[0] * q[swapped ? 2 : 1] : (q.length === 3 ? q[0] : 1) * (request.num_heads ?? 1);
    return { matrices, Tq: tokens(q), Tk: tokens(k) + (past ? tokens(past) : 0) };
}

// Cells of one stage over all heads and items; 0 where the request alone does not tell.
export function cellsOf(request) {
    const { matrices, Tq, Tk } = tokensOf(request) ?? { matrices: 0 };
    return matrices && matrices * Tq * Tk;
}

// The results to ask for at once.
export function namesFor(request) {
    const cached = request.past_key !== undefined && request.past_key !== null;
    const names = ["weights", "output", "lse", "query", cached ? "present_key" : "key", cached ? "present_value" : "value"];
    if (cellsOf(request) > ALL_STAGES_CELLS_MAX) return names;
    names.push("scores", "masked_scores");
    if (request.softcap) names.push("capped_scores");
    return names;
}

// Fields that say which results to return, and how: the page keeps them as they came, and asks for what it draws instead.
const RETURN_FIELDS = ["return", "top", "pool", "pool_by", "select", "format", "decimals"];

export const withoutReturn = (request) => Object.fromEntries(Object.entries(request).filter(([name]) => !RETURN_FIELDS.includes(name)));

// How many numbers a request carries in Tensors.
export const numbersIn = (value) => (value instanceof Tensor ? value.size : value && typeof value === "object" && !Array.isArray(value) ? Object.values(value).reduce((sum, one) => sum + numbersIn(one), 0) : 0);

// The request as plain JSON, tensors as {"shape", "data"}; booleans stay booleans.
export function plainRequest(request) {
    return JSON.parse(JSON.stringify(request, (_, value) => {
        if (!(value instanceof Tensor)) return value;
        const plain = tensorToJson(value);
        return value.boolean ? { shape: plain.shape, data: plain.data.map(Boolean) } : plain;
    }));
}
