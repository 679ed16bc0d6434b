// code.js: the request as a curl command, as Python and JavaScript that send it, and as PyTorch that computes the same.

import { app } from "./app.js";
import { base, hasKey } from "./api.js";
import { plainRequest } from "./request.js";
import { isTensorObject, shapeOf } from "./tensor.js";

const RETURN = ["weights", "output"];

const asJson = (request) => JSON.stringify({ ...plainRequest(request), return: RETURN });

export const url = () => new URL("attention", base).href;

export function curl(request) {
    const keyHeader = hasKey() ? " -H \"X-API-Key: $ATTND_KEY\"" : "";
    return `curl -s ${url()} -H 'Content-Type: application/json'${keyHeader} -d '${asJson(request).replace(/'/g, "'\\''")}'\n`;
}

// A JSON value as Python writes it.
const python = (value) => JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"|\b(true|false|null)\b/g, (all, word) =>
    (word ? { true: "True", false: "False", null: "None" }[word] : all));

export function requests(request) {
    const [imports, headers] = hasKey() ? ["import os\n\nimport requests", ", headers={\"X-API-Key\": os.environ[\"ATTND_KEY\"]}"] : ["import requests", ""];
    return `${imports}\n\nreply = requests.post("${url()}", json=${python(JSON.parse(asJson(request)))}${headers})\nreply.raise_for_status()\nprint(reply.json()["weights"])\n`;
}

export function javascript(request) {
    return `const response = await fetch("${url()}", {\n    method: "POST",\n    headers: { "Content-Type": "application/json"${hasKey() ? ", \"X-API-Key\": process.env.ATTND_KEY" : ""} },\n`
        + `    body: JSON.stringify(${asJson(request)}),\n});\nif (!response.ok) throw new Error((await response.json()).detail);\nconst { weights, output } = await response.json();\n`;
}

// ---- PyTorch ----

// PyTorch draws the same random numbers as attnd if tensors are made in attnd's order: x, context, value_context, key, query, value,
// projections.
function tensorLine(name, value, dtype) {
    if (isTensorObject(value) && !value.data) return `${name} = torch.randn(${value.shape.join(", ")})${dtype === "float64" ? ".double()" : ""}`;
    if (isTensorObject(value)) return `${name} = torch.tensor(${python(value.data).replace(/"(-?)(NaN|Infinity)"/g, "float(\"$1$2\")")}, dtype=torch.${dtype}).reshape(${value.shape.join(", ")})`;
    return `${name} = torch.tensor(${python(value).replace(/"(-?)(NaN|Infinity)"/g, "float(\"$1$2\")")}, dtype=torch.${dtype})`;
}

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
    if (shapeOf(request.query)?.length === 4) {
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

// Positions of queries or of new keys: [tokens, 1], or [B, 1, tokens, 1].
function positionLines(request, applied, t, name) {
    const given = request[name], offset = t === "q" ? applied.query_offset ?? 0 : applied.past_length ?? 0, positions = `${t}_positions`;
    const lines = given ? [tensorLine(positions, given, "int64")]
        : [`${positions} = torch.arange(${t}.shape[2]) + ${Array.isArray(offset) ? `torch.tensor(${python(offset)})[:, None]` : offset}`];
    if (given && t === "k" && applied.past_length) lines.push(`${positions} = ${positions}[..., ${applied.past_length}:]`);
    return [...lines, `${positions} = (${positions}[:, None] if ${positions}.ndim == 2 else ${positions})[..., None]`];
}

// Lines that set q_cos, q_sin, k_cos and k_sin from frequencies or tables: [.., tokens, pairs].
function angleLines(request, applied) {
    const { rope } = request;
    const { inverse_frequencies: frequencies, tables, attention_factor: factor } = applied.rope, lines = [], own = Boolean(rope.query_positions);
    const names = { q: "query_positions", k: "key_positions" };
    if (tables) lines.push(tensorLine("cosines", rope.cos, "float64"), tensorLine("sines", rope.sin, "float64"));
    else lines.push(`frequencies = torch.tensor(${python(frequencies)}, dtype=torch.float64)${Array.isArray(frequencies[0]) ? "[:, None, None]" : ""}`);
    if (own) lines.push(`axes = torch.tensor(${python(axesOf(applied.rope))})  # of each pair: time, height or width`);
    for (const t of ["q", "k"]) {
        if (tables === "by_token") {
            lines.push(`${t}_cos, ${t}_sin = cosines[:, None], sines[:, None]`);
            continue;
        }
        if (own) lines.push(tensorLine(`${t}_positions`, rope[names[t]], "int64"), `${t}_positions = ${t}_positions[axes].movedim(0, -1)`, `${t}_positions = ${t}_positions[:, None] if ${t}_positions.ndim == 3 else ${t}_positions`);
        else lines.push(...positionLines(request, applied, t, names[t]));
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

function scoreLines(request, applied) {
    const lines = ["k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))", `scores = q @ k.transpose(-2, -1) * ${applied.scale}`,
        `i = torch.arange(q.shape[2])[:, None] + ${applied.query_offset ?? 0}  # positions among the keys`, "j = torch.arange(k.shape[2])"];
    const maskWhere = (condition) => lines.push(`scores = scores.masked_fill(${condition}, float("-inf"))`);
    if (applied.softcap) lines.push(`scores = ${applied.softcap} * (scores / ${applied.softcap}).tanh()`);
    if (request.mask !== undefined && request.mask !== null) {
        const boolean = applied.mask === "boolean", grow = applied.weightsRank === 3 && "num_heads" in request ? "" : applied.weightsRank === 3 ? "  # [B, 1, ..]" : "";
        lines.push(tensorLine("mask", request.mask, boolean ? "bool" : "float64"), ...(grow.includes("B") ? ["mask = mask.unsqueeze(1) if mask.ndim == 3 else mask"] : []));
        if (boolean) maskWhere(applied.mask_semantics === "drop" ? "mask" : "~mask");
        else lines.push("scores = scores + mask.to(scores.dtype)");
    }
    if (applied.alibi) lines.push(`scores = scores - torch.tensor(${python(applied.alibi)}, dtype=scores.dtype)[:, None, None] * (i - j).abs()`);
    if (applied.causal !== false) maskWhere("j > i");
    if (applied.window) {
        const [left, right] = applied.window;
        if (left >= 0) maskWhere(`j < i - ${left}`);
        if (right >= 0) maskWhere(`j > i + ${right}`);
    }
    if (request.key_lengths !== undefined && request.key_lengths !== null)
        lines.push(`lengths = torch.tensor(${python(request.key_lengths.data ?? request.key_lengths)}).reshape(-1, 1, 1, 1)`, `scores = scores.masked_fill(j >= lengths, float("-inf"))`);
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

function outputLines({ projection }, dtype) {
    const out = projection?.output, lines = ["output = weights @ v"];
    if (!out) return lines;
    const drawn = isTensorObject(out) && !out.data;
    return [...lines, "output = output.transpose(1, 2).flatten(2)  # heads side by side",
        drawn ? `w_output = torch.nn.Linear(output.shape[-1], ${out.shape[0]}, bias=False).weight.detach()` : tensorLine("w_output", out.weight ?? out, dtype),
        `output = output @ w_output.T${out.bias ? ` + torch.tensor(${python(out.bias.data ?? out.bias)})` : ""}`];
}

export function pytorch(full, run = app.run) {
    const request = plainRequest(full), applied = { ...run.applied, weightsRank: run.tensors.get("weights").shape.length }, dtype = applied.precision;
    return ["import torch", "", ...inputLines(request, run, dtype), ...headLines(request), "", ...inputChangeLines(request, applied, dtype), ...scoreLines(request, applied),
        ...softmaxLines(request), ...outputLines(request, dtype), "", "print(weights)", ""].join("\n");
}

export const LANGUAGES = [
    { name: "curl", title: "curl", make: curl },
    { name: "python", title: "Python (requests)", make: requests },
    { name: "pytorch", title: "PyTorch", make: pytorch },
    { name: "javascript", title: "JavaScript", make: javascript },
];
