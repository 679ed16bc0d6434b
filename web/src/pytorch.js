// pytorch.js: the request as PyTorch that computes the same; a comment that says why where it cannot be written.

import { positionLines, ruleLines, tokensText } from "./pytorch_rules.js";
import { python, tensorLine } from "./pytorch_values.js";
import { plainRequest } from "./request.js";
import { isTensorObject, shapeOf } from "./tensor.js";

function projectionLines(request, run, dtype) {
    const { projection } = request, context = request.context ? "context" : "x", values = request.value_context ? "value_context" : context;
    if (projection === "identity") return [`q, k, v = x, ${context}, ${values}`];
    const H = request.num_heads ?? 1, G = request.num_kv_heads ?? H, D = run.applied.head_size, lines = [];
    const inputs = { key: [context, G], query: ["x", H], value: [values, G] };
    for (const name of ["key", "query", "value"]) {
        const given = projection?.[name];
        if (given === undefined || (isTensorObject(given) && !given.data) || (given.weight === undefined && !Array.isArray(given) && !given.data))
            lines.push(`w_${name} = torch.nn.Linear(${inputs[name][0]}.shape[-1], ${inputs[name][1] * D}, bias=False).weight.detach()${dtype === "float64" ? ".double()" : ""}`);
        else lines.push(tensorLine(`w_${name}`, given.weight ?? given, dtype));
    }
    const biased = (name, from) => {
        const bias = projection?.[name]?.bias;
        return `${from} @ w_${name}.T${bias ? ` + torch.tensor(${python(bias.data ?? bias)}, dtype=torch.${dtype})` : ""}`;
    };
    return [...lines, `q, k, v = ${biased("query", "x")}, ${biased("key", context)}, ${biased("value", values)}`];
}

// Reshapes q, k and v to [B, H, T, D].
function headLines(request) {
    const H = request.num_heads, G = request.num_kv_heads ?? H, lines = [];
    const names = request.past_key ? ["q", "k", "v", "past_k", "past_v"] : ["q", "k", "v"];
    if (request.layout === "thd" && shapeOf(request.query)?.length === 3) {
        lines.push(`${names.join(", ")} = (t.transpose(0, 1)[None] for t in (${names.join(", ")}))  # [T, n, D] to [1, n, T, D]`);
    } else if (shapeOf(request.query)?.length === 4) {
        if (request.layout === "bthd") lines.push(`${names.join(", ")} = (t.transpose(1, 2) for t in (${names.join(", ")}))`);
    } else {
        lines.push("def heads(t, n):  # [.., T, n*D] to [B, n, T, D]", "    t = t.reshape(-1, t.shape[-2], n, t.shape[-1] // n)", "    return t.transpose(1, 2)", "",
            `${names.join(", ")} = ${names.map((name) => `heads(${name}, ${name === "q" ? H ?? 1 : G ?? 1})`).join(", ")}`);
    }
    return lines;
}

// Queries and new keys normalised, over each head or over all heads of a token.
function normLines({ qk_norm: norm }, applied, dtype) {
    const { type, eps } = applied.qk_norm, lines = ["def normalize(t, weight=1):", `    return t / (t.square().${type === "l2" ? "sum" : "mean"}(-1, keepdim=True) + ${eps}).sqrt() * weight`, ""];
    for (const name of ["query", "key"]) {
        const over = applied.qk_norm[name], t = name[0], given = norm[name];
        if (!over) continue;
        if (given !== true) lines.push(tensorLine(`${t}_norm`, given, dtype));
        const weight = given === true ? "" : `, ${t}_norm`;
        lines.push(over === "head" ? `${t} = normalize(${t}${weight})`
            : `${t} = normalize(${t}.transpose(1, 2).flatten(2)${weight}).unflatten(2, (${t}.shape[1], -1)).transpose(1, 2)  # all heads together`);
    }
    return [...lines, ""];
}

// The axis of each pair where positions have three.
function axesOf({ mrope_section: section, mrope_interleaved: interleaved, dims }) {
    return Array.from({ length: dims / 2 }, (_, pair) => {
        if (interleaved) return pair < 3 * section[pair % 3] ? pair % 3 : 0;
        return pair < section[0] ? 0 : pair < section[0] + section[1] ? 1 : 2;
    });
}

// Lines that set q_cos, q_sin, k_cos and k_sin from frequencies or tables: [.., tokens, pairs].
function angleLines(request, applied) {
    const { rope } = request;
    const { inverse_frequencies: frequencies, tables, attention_factor: factor } = applied.rope, lines = [], own = Boolean(rope.query_positions);
    const names = { q: "query_positions", k: "key_positions" }, past = applied.past_length ? `[..., ${applied.past_length}:, :]` : "";
    if (tables) lines.push(tensorLine("cosines", rope.cos, "float64"), tensorLine("sines", rope.sin, "float64"));
    else lines.push(`frequencies = torch.tensor(${python(frequencies)}, dtype=torch.float64)${Array.isArray(frequencies[0]) ? "[:, None, None]" : ""}`);
    if (own) lines.push(`axes = torch.tensor(${python(axesOf(applied.rope))})  # of each pair: time, height or width`);
    for (const t of ["q", "k"]) {
        if (tables === "by_token") {
            lines.push(`${t}_cos, ${t}_sin = cosines[:, None], sines[:, None]`);
            continue;
        }
        if (own) lines.push(tensorLine(`${t}_positions`, rope[names[t]], "int64"), `${t}_positions = ${t}_positions[axes].movedim(0, -1)`, `${t}_positions = ${t}_positions[:, None] if ${t}_positions.ndim == 3 else ${t}_positions`);
        else lines.push(t === "q" ? "q_positions = i" : `k_positions = j.mT${past}`);
        const rows = own ? `${t}_positions, torch.arange(${applied.rope.dims / 2})` : `${t}_positions[..., 0]`;
        lines.push(tables ? `${t}_cos, ${t}_sin = cosines[${rows}], sines[${rows}]`
            : `${t}_cos, ${t}_sin = (${t}_positions * frequencies).cos() * ${factor}, (${t}_positions * frequencies).sin() * ${factor}`);
    }
    return lines;
}

function ropeLines(request, applied) {
    const { style, dims } = applied.rope, half = style === "half";
    return ["def rotate(t, cos, sin):", `    rotated, rest = t[..., :${dims}].double(), t[..., ${dims}:]`,
        half ? "    a, b = rotated.chunk(2, -1)" : "    a, b = rotated[..., 0::2], rotated[..., 1::2]",
        half ? "    rotated = torch.cat([a * cos - b * sin, a * sin + b * cos], -1)" : "    rotated = torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)",
        "    return torch.cat([rotated.to(t.dtype), rest], -1)", "", ...angleLines(request, applied),
        "q, k = rotate(q, q_cos, q_sin), rotate(k, k_cos, k_sin)", ""];
}

// What becomes of queries and new keys before they meet: norms and rotations; then the cache comes in front.
function inputChangeLines(request, applied, dtype) {
    const norm = applied.qk_norm ? normLines(request, applied, dtype) : [], rope = applied.rope?.dims > 0 ? ropeLines(request, applied) : [];
    const past = request.past_key ? ["k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)"] : [];
    return applied.qk_norm?.order === "after_rope" ? [...rope, ...norm, ...past] : [...norm, ...rope, ...past];
}

// Lines that set `name` to a mask or a bias that broadcasts to [B, H, Tq, Tk].
function pairsLines(name, value, dtype, request, applied) {
    const byItem = applied.weightsRank === 3 && request.num_heads === undefined && request.layout !== "thd";
    return [tensorLine(name, value, dtype), ...(byItem ? [`${name} = ${name}.unsqueeze(1) if ${name}.ndim == 3 else ${name}`] : [])];
}

// T5's buckets of distances, and what the table has for them.
function relativeBiasLines({ table }, { buckets, bidirectional, max_distance: max }) {
    const n = bidirectional ? buckets / 2 : buckets, exact = Math.floor(n / 2);
    return [tensorLine("table", table, "float64"), bidirectional ? "offset = j - i" : "offset = (j - i).clamp(max=0)", "distance = offset.abs()",
        `far = ${exact} + ((distance.float() / ${exact}).clamp(min=1).log() / ${Math.log(max / exact)} * ${n - exact}).long()  # grows with the logarithm`,
        `bucket = torch.where(distance < ${exact}, distance, far.clamp(max=${n - 1}))${bidirectional ? ` + (offset > 0) * ${n}` : ""}`,
        "relative_bias = table.to(scores.dtype)[bucket].movedim(-1, -3)", "scores = scores + (relative_bias.squeeze(1) if relative_bias.ndim == 5 else relative_bias)"];
}

// Whether what a masked key holds could reach the rest: NaN, or an infinity. All of them are texts in JSON.
const holdsNonfinite = (request) => ["x", "context", "value_context", "key", "value", "past_key", "past_value"].some((name) => /nan|inf/i.test(JSON.stringify(request[name] ?? null)));

// Lines that leave in `scores` what softmax reads. Stages that the request returns are kept under their names.
function scoreLines(request, applied, names) {
    const lines = ["k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))", `scores = q @ k.transpose(-2, -1) * ${applied.scale}`];
    const keep = (name) => names.includes(name) && lines.push(`${STAGE_NAMES[name]} = scores`);
    if (applied.query_scale) lines.push(`scores = scores * ${tokensText(request.query_scale, "query", applied.precision)}`);
    keep("scores");
    if (applied.bias) lines.push(...pairsLines("bias", request.bias, applied.precision, request, applied), "scores = scores + bias");
    if (applied.relative_bias) lines.push(...relativeBiasLines(request.relative_bias, applied.relative_bias));
    if (applied.softcap) lines.push(`scores = ${applied.softcap} * (scores / ${applied.softcap}).tanh()`);
    keep("capped_scores");
    if (request.mask !== undefined) {
        const boolean = applied.mask === "boolean";
        lines.push(...pairsLines("mask", request.mask, boolean ? "bool" : "float64", request, applied));
        if (!boolean && holdsNonfinite(request)) lines.push("scores = scores.masked_fill(mask == float(\"-inf\"), 0)  # what a masked key holds reaches nothing");
        lines.push(boolean ? `scores = scores.masked_fill(${applied.mask_semantics === "drop" ? "mask" : "~mask"}, float("-inf"))` : "scores = scores + mask.to(scores.dtype)");
    }
    if (applied.alibi) lines.push(`scores = scores - torch.tensor(${python(applied.alibi)}, dtype=scores.dtype)[:, None, None] * (i - j).abs()`);
    lines.push(...ruleLines(request, applied));
    keep("masked_scores");
    return lines;
}

function inputLines(request, run, dtype) {
    const given = (...names) => names.filter((name) => request[name] !== undefined && request[name] !== null);
    const seed = given("seed").map(() => `torch.manual_seed(${request.seed})`);
    if (given("x").length) return [...seed, ...given("x", "context", "value_context").map((name) => tensorLine(name, request[name], dtype)), ...projectionLines(request, run, dtype)];
    const past = given("past_key").length ? [tensorLine("past_k", request.past_key, dtype), tensorLine("past_v", request.past_value, dtype)] : [];
    return [...seed, ...["key", "query", "value"].map((name) => tensorLine(name[0], request[name], dtype)), ...past];
}

function softmaxLines({ sinks }) {
    if (sinks !== undefined && sinks !== null)
        return [`sinks = torch.tensor(${python(sinks.data ?? sinks)}, dtype=scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)`,
            "weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]"];
    return ["masked = (scores == float(\"-inf\")).all(-1, keepdim=True)  # rows with every key masked: their weights are 0",
        "weights = scores.softmax(-1).masked_fill(masked, 0)"];
}

function outputLines(request, dtype) {
    const out = request.projection?.output, lines = !holdsNonfinite(request) ? ["output = weights @ v"]
        : ["masked_keys = (scores == float(\"-inf\"))[..., None]  # what the values of masked keys hold reaches nothing, NaN either",
            "output = (weights[..., None] * v[:, :, None]).masked_fill(masked_keys, 0).sum(-2)"];
    if (!out) return lines;
    const drawn = isTensorObject(out) && !out.data;
    return [...lines, "output = output.transpose(1, 2).flatten(2)  # heads side by side",
        drawn ? `w_output = torch.nn.Linear(output.shape[-1], ${out.shape[0]}, bias=False).weight.detach()` : tensorLine("w_output", out.weight ?? out, dtype),
        `output = output @ w_output.T${out.bias ? ` + torch.tensor(${python(out.bias.data ?? out.bias)})` : ""}`];
}

// ---- what is returned ----

const STAGE_NAMES = { scores: "raw_scores", capped_scores: "capped_scores", masked_scores: "masked_scores" };
const SELECTED = ["weights", "scores", "capped_scores", "masked_scores"];

// The part of weights or of scores that `select` names.
function selected(text, { heads, queries, keys } = {}, hasHeads = true) {
    const slice = (range) => (range ? `${range[0]}:${range[1]}` : ":");
    return `${text}${heads && hasHeads ? `[:, ${python(heads)}]` : ""}${queries || keys ? `[..., ${slice(queries)}, ${slice(keys)}]` : ""}`;
}

function pooledLines({ pool: [rows, cols], pool_by: by }) {
    const cell = by === "max" ? "amax((-2, -1))" : "mean((-2, -1))";
    return [`rows, cols = ([t * n // m for t in range(m + 1)] for n, m in zip(weights.shape[-2:], (${rows}, ${cols})))`,
        `pooled_weights = torch.stack([torch.stack([weights[..., a:b, c:d].${cell} for c, d in zip(cols, cols[1:])], -1) for a, b in zip(rows, rows[1:])], -2)`];
}

const topLines = ({ top }) => ["order = scores.sort(dim=-1, descending=True, stable=True).indices  # of equal scores the lower index first",
    `indices = order[..., :${top}]`, "unseen = scores.gather(-1, indices) == float(\"-inf\")",
    "top_keys = indices.masked_fill(unseen, -1), weights.gather(-1, indices).masked_fill(unseen, 0)"];

const RESULTS = {
    output: () => [[], "output"],
    mean_weights: ({ select }) => [[], selected("weights.mean(1)", select, false)],
    key_sums: () => [[], "weights.sum(-2)"],
    entropy: () => [[], "-torch.xlogy(weights, weights).sum(-1)"],
    top_keys: (request) => [topLines(request), "top_keys"],
    pooled_weights: (request) => [pooledLines(request), "pooled_weights"],
    ...Object.fromEntries(SELECTED.map((name) => [name, ({ select }) => [[], selected(STAGE_NAMES[name] ?? name, select)]])),
};

function resultLines(request, names) {
    const missing = names.filter((name) => !RESULTS[name]), results = names.filter((name) => RESULTS[name]).map((name) => RESULTS[name](request));
    return [...(missing.length ? [`# Not written here, though the request returns it: ${missing.join(", ")}`] : []),
        ...results.flatMap(([lines, text]) => [...lines, `print(${text})`])];
}

// ---- what can be written ----

const ANY = true;

// The fields that the code above heeds, with their members where they have some. What is not here is refused, not left out.
const KNOWN = {
    ...Object.fromEntries(["query", "key", "value", "num_heads", "num_kv_heads", "layout", "past_key", "past_value", "x", "context", "value_context",
        "head_size", "causal", "query_offset", "query_positions", "key_positions", "query_lengths", "mask", "mask_semantics", "key_lengths", "window",
        "cu_seqlens", "prefix_length", "chunk_size", "num_sink_tokens", "segment_ids", "span_ids", "scale", "query_scale", "bias", "softcap", "alibi", "sinks", "seed", "precision", "numerics", "return",
        "top", "pool", "pool_by", "lse_base", "format", "decimals"].map((name) => [name, ANY])),
    projection: ["query", "key", "value", "output"],
    rope: ["style", "base", "scaling", "inverse_frequencies", "attention_factor", "cos", "sin", "dims", "length", "mrope_section", "mrope_interleaved",
        "query_positions", "key_positions"],
    qk_norm: ["query", "key", "type", "eps", "order"],
    relative_bias: ["table", "bidirectional", "max_distance"],
    select: ["heads", "queries", "keys"],
};

function unknownFields(request) {
    return Object.entries(request).flatMap(([name, value]) => {
        const members = Object.hasOwn(KNOWN, name) ? KNOWN[name] : null;
        if (!members) return [name];
        if (members === ANY || typeof value !== "object") return [];
        return Object.keys(value).filter((member) => !members.includes(member)).map((member) => `${name}.${member}`);
    });
}

// Why no right code can be written; null where it can.
function refusal(request, applied) {
    const unknown = unknownFields(request), { layout } = request;
    if (unknown.length) return `the page does not know what ${unknown.join(", ")} would be in PyTorch`;
    if (layout !== undefined && !["bhtd", "bthd", "thd"].includes(layout)) return `the page does not know the layout ${layout}`;
    if (request.cu_seqlens !== undefined && Array.isArray(applied.rope?.inverse_frequencies?.[0])) return "each packed sequence has RoPE frequencies of its own";
    return null;
}

// A field that is null counts as absent.
const withoutNulls = (value) => (value === null || typeof value !== "object" || Array.isArray(value) ? value
    : Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null).map(([name, member]) => [name, withoutNulls(member)])));

export function pytorch(full, run) {
    const request = withoutNulls(plainRequest(full)), applied = { ...run.applied, weightsRank: run.weightsShape.length };
    const why = refusal(request, applied), dtype = applied.precision, names = request.return?.length ? request.return : ["weights"];
    if (why) return `# No code, since it would not compute what attnd does: ${why}.\n`;
    return ["import torch", "", ...inputLines(request, run, dtype), ...headLines(request), "", ...positionLines(request, applied), "",
        ...inputChangeLines(request, applied, dtype), ...scoreLines(request, applied, names), ...softmaxLines(request), ...outputLines(request, dtype), "",
        ...resultLines(request, names), ""].join("\n");
}
