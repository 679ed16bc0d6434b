// pytorch_rules.js: the part of the PyTorch code that says which keys a query may see: positions, ids, and the rules that look at them.
// It has queries q [B, H, Tq, D] and, without the past, keys k. In it i is [Tq, 1] or [B, 1, Tq, 1], j is [1, Tk] or [B, 1, 1, Tk].

import { shapeOf } from "./tensor.js";
import { python, tensorLine, tensorText } from "./pytorch_values.js";

const perItem = (value) => (typeof value === "number" ? String(value) : `${tensorText(value, "int64")}.reshape(-1, 1, 1, 1)`);

// Numbers of tokens, [T] or [B, T], as queries or as keys.
export function tokensText(value, side, dtype = "int64") {
    const batched = shapeOf(value).length === 2, at = side === "query" ? [":, None", ":, None, :, None"] : ["None, :", ":, None, None, :"];
    return `${tensorText(value, dtype)}[${at[batched ? 1 : 0]}]`;
}

const sidesOf = (value) => (value.query === undefined ? { query: value, key: value } : value);

function sequenceLines(request, offset) {
    const { query, key } = sidesOf(request.cu_seqlens);
    const start = Array.isArray(offset) ? ` + torch.tensor(${python(offset)})[q_sequence]` : offset ? ` + ${offset}` : "";
    return [tensorLine("cu_q", query, "int64"), tensorLine("cu_k", key, "int64"),
        "q_sequence = torch.arange(len(cu_q) - 1).repeat_interleave(cu_q.diff())[:, None]", "k_sequence = torch.arange(len(cu_k) - 1).repeat_interleave(cu_k.diff())[None, :]",
        `i = torch.arange(q.shape[2])[:, None] - cu_q[q_sequence]${start}  # positions, which begin anew in each sequence`, "j = torch.arange(k.shape[2])[None, :] - cu_k[k_sequence]"];
}

// Lines that set i and j, the positions of queries and of keys, those of the past included.
export function positionLines(request, applied) {
    const offset = applied.query_offset ?? 0, past = applied.past_length ?? 0;
    if (request.cu_seqlens !== undefined) return sequenceLines(request, offset);
    const i = request.query_positions !== undefined ? tokensText(request.query_positions, "query")
        : `torch.arange(q.shape[2])[:, None] + ${Array.isArray(offset) ? perItem(offset) : offset}`;
    const j = request.key_positions !== undefined ? tokensText(request.key_positions, "key") : `torch.arange(k.shape[2]${past ? ` + ${past}` : ""})[None, :]`;
    return [`i = ${i}  # positions of the queries`, `j = ${j}  # and of the keys`];
}

// Lines that set q_NAME and k_NAME.
function idLines(name, value) {
    const { query, key } = sidesOf(value);
    return [`q_${name} = ${tokensText(query, "query")}`, `k_${name} = ${tokensText(key, "key")}`];
}

const masked = (condition) => `scores = scores.masked_fill(${condition}, float("-inf"))`;

function causalLines(request, applied) {
    const lines = [], unless = [];
    if (applied.prefix_length !== undefined) {
        lines.push(`prefix = ${request.cu_seqlens !== undefined && Array.isArray(applied.prefix_length) ? `torch.tensor(${python(applied.prefix_length)})[q_sequence]` : perItem(applied.prefix_length)}`);
        unless.push("(j >= prefix)");
    }
    if (request.span_ids !== undefined) {
        lines.push(...idLines("span", request.span_ids));
        unless.push("~((q_span == k_span) & (q_span >= 0))");
    }
    return [...lines, masked(unless.length ? ["(j > i)", ...unless].join(" & ") : "j > i")];
}

function windowLines({ window: [left, right], num_sink_tokens: first }) {
    const bounds = [left >= 0 && `j < i - ${left}`, right >= 0 && `j > i + ${right}`].filter(Boolean);
    return bounds.map((bound) => masked(first ? `(${bound}) & (j >= ${first})` : bound));
}

// Lines that mask, in `scores`, what the rules hide; the mask of the request is not one of them.
export function ruleLines(request, applied) {
    const lines = [];
    if (applied.causal !== false) lines.push(...causalLines(request, applied));
    if (applied.window) lines.push(...windowLines(applied));
    if (applied.chunk_size) lines.push(masked(`i // ${applied.chunk_size} != j // ${applied.chunk_size}`));
    if (request.cu_seqlens !== undefined) lines.push(masked("q_sequence != k_sequence"));
    if (request.segment_ids !== undefined) lines.push(...idLines("segment", request.segment_ids), masked("(q_segment != k_segment) | (q_segment < 0)"));
    if (request.query_lengths !== undefined) lines.push(masked(`torch.arange(q.shape[2])[:, None] >= ${perItem(request.query_lengths)}`));
    if (request.key_lengths !== undefined) lines.push(masked(`torch.arange(k.shape[2]) >= ${perItem(request.key_lengths)}`));
    return lines;
}
