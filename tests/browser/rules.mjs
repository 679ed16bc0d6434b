// rules.mjs: every rule of visibility and position: what the page says of a masked cell, the PyTorch code, and fields that it keeps.

import { spawnSync } from "node:child_process";
import { MaskReasons } from "../../web/src/mask_reasons.js";
import { pytorch } from "../../web/src/pytorch.js";
import { Run } from "../../web/src/run.js";
import { tensorFromJson } from "../../web/src/tensor.js";
import { ask, chooseCell, equal, near, ok, open, readTable, test, useJson, usePreset } from "./harness.mjs";

const AS_PRINTED = 0.5e-4 + 1e-9;
const TWO = { seed: 1, x: { shape: [2, 6, 8] }, num_heads: 2, head_size: 4 }, PACKED = { seed: 1, x: { shape: [9, 8] }, num_heads: 2, head_size: 4 };
const THD = { seed: 5, query: { shape: [5, 4, 4] }, key: { shape: [6, 2, 4] }, value: { shape: [6, 2, 3] }, layout: "thd" };

// Requests with the reasons that some of their cells have, and with what the PyTorch code says of their rules.
const RULES = [
    { request: { ...TWO, causal: true, query_offset: [2, -1] }, why: ["causal"], code: "torch.tensor([2,-1], dtype=torch.int64).reshape(-1, 1, 1, 1)" },
    { request: { ...TWO, causal: true, query_positions: [[0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]], key_positions: [-1, 0, 1, 2, 3, 4] }, why: ["causal"], code: "[:, None, :, None]" },
    { request: { ...TWO, window: [2, 0], query_positions: [5, 4, 3, 2, 1, 0] }, why: ["window"], code: "torch.tensor([5,4,3,2,1,0], dtype=torch.int64)[:, None]" },
    { request: { ...TWO, query_lengths: [4, 6], key_lengths: [6, 3], sinks: [0.5, 1] }, why: ["padding", "query"], code: "torch.arange(q.shape[2])[:, None] >= torch.tensor([4,6]" },
    { request: { ...TWO, segment_ids: { query: [[0, 0, 1, 1, -1, -1], [3, 3, 3, 2, 2, 2]], key: [0, 0, 1, 1, 3, -1] } }, why: ["segment", "id"], code: "(q_segment != k_segment) | (q_segment < 0)" },
    { request: { ...TWO, causal: true, span_ids: [[-1, 0, 0, 0, -1, 1], [2, 2, -1, -1, 3, 3]], prefix_length: [2, 0] }, why: ["causal"], code: "(j > i) & (j >= prefix) & ~((q_span == k_span) & (q_span >= 0))" },
    { request: { ...TWO, causal: true, chunk_size: 4, query_offset: -3 }, why: ["causal", "chunk"], code: "i // 4 != j // 4" },
    { request: { ...TWO, causal: true, window: [1, 0], num_sink_tokens: 2 }, why: ["causal", "window"], code: "(j < i - 1) & (j >= 2)" },
    { request: { ...PACKED, causal: true, cu_seqlens: [0, 3, 3, 9], query_offset: [1, 0, -2], prefix_length: [0, 0, 2] }, why: ["causal", "sequence"], code: "torch.tensor([1,0,-2])[q_sequence]" },
    { request: { ...THD, causal: "bottom_right", cu_seqlens: { query: [0, 2, 5], key: [0, 3, 6] } }, why: ["causal", "sequence"], code: "t.transpose(0, 1)[None]" },
];

// Requests whose scores have terms, with what the PyTorch code says of them.
const TABLE = [[0.5, -1], [1, 0.25], [-0.75, 2], [0.125, -0.5]], OWN = [1, 0.5, -1, 2, 0, 1.5];
const TERMS = [
    { request: { ...TWO, bias: [[[0.5]], [[-1]]], query_scale: OWN, softcap: 3 }, code: "scores = scores + bias" },
    { request: { ...TWO, query_scale: [OWN, [...OWN].reverse()], mask: [[0.5]], bias: [1, 2, 3, 4, 5, 6] }, code: "[:, None, :, None]" },
    { request: { ...TWO, relative_bias: { table: TABLE, max_distance: 4 }, query_offset: [3, -2] }, code: "+ (offset > 0) * 2" },
    { request: { ...TWO, relative_bias: { table: [...TABLE, ...TABLE], bidirectional: false, max_distance: 9 }, causal: true, softcap: 2 }, code: "offset = (j - i).clamp(max=0)" },
    { request: { ...PACKED, relative_bias: { table: TABLE }, cu_seqlens: [0, 4, 9] }, code: "relative_bias = table" },
];

async function runOf(request) {
    const names = ["weights", "masked_scores", "query", "key"], reply = await ask(request, names);
    ok(reply.applied, `${JSON.stringify(request)}: ${reply.detail}`);
    return new Run(request, { tensors: new Map(names.map((name) => [name, tensorFromJson(reply[name])])), applied: reply.applied });
}

test("each rule: a cell has a reason exactly where the daemon masks it", async () => {
    for (const { request, why } of RULES) {
        const run = await runOf(request), reasons = new MaskReasons(run), found = new Set(), { B, H, Tq, Tk } = run.dims, { data } = run.tensors.get("masked_scores");
        for (let at = 0; at < data.length; at++) {
            const j = at % Tk, i = Math.floor(at / Tk) % Tq, h = Math.floor(at / Tk / Tq) % H, b = Math.floor(at / Tk / Tq / H), all = reasons.reasons(b, h, i, j);
            equal(all.length > 0, data[at] === -Infinity, `${JSON.stringify(request)}: item ${b}, head ${h}, query ${i}, key ${j}`);
            for (const { name } of all) found.add(name);
        }
        equal([B * H * Tq * Tk, [...found].sort()], [data.length, [...why].sort()], `reasons of ${JSON.stringify(request)}`);
        for (const name of found) ok(reasons.possible.some((reason) => reason.name === name), `${name} is in the legend`);
    }
});

test("a positive and a negative distance, and heads of the layout thd, are explained as computed", async () => {
    const run = await runOf({ ...THD, alibi: true, cu_seqlens: { query: [0, 2, 5], key: [0, 3, 6] } }), reasons = new MaskReasons(run);
    for (let h = 0; h < 4; h++) {
        const q = run.vectors("query", 0, h), k = run.vectors("key", 0, h), masked = run.matrix("masked_scores", { batch: 0, head: h });
        equal([q.rows, q.cols, k.rows, k.cols], [5, 4, 6, 4], "shapes");
        for (const [i, j] of [[0, 0], [1, 2], [4, 3], [3, 5]]) {
            let dot = 0;
            for (let d = 0; d < 4; d++) dot += q.data[i * 4 + d] * k.data[j * 4 + d];
            near(dot * run.applied.scale + reasons.bias(0, h, i, j).alibi, masked.data[i * 6 + j], 1e-5, `head ${h}, query ${i}, key ${j}`);
        }
    }
});

test("biases and the queries' own scales are explained as computed", async () => {
    for (const { request } of TERMS) {
        const run = await runOf(request), reasons = new MaskReasons(run), { B, H, Tq, Tk } = run.dims, { softcap, scale } = run.applied;
        for (let at = 0; at < B * H * Tq * Tk; at++) {
            const j = at % Tk, i = Math.floor(at / Tk) % Tq, h = Math.floor(at / Tk / Tq) % H, b = Math.floor(at / Tk / Tq / H);
            const q = run.vectors("query", b, h), k = run.vectors("key", b, h), { bias = 0, relative = 0, mask = 0 } = reasons.bias(b, h, i, j);
            const dot = Array.from({ length: q.cols }, (_, d) => q.data[i * q.cols + d] * k.data[j * k.cols + d]).reduce((sum, x) => sum + x);
            const score = dot * scale * reasons.queryScale(b, i) + bias + relative, capped = softcap ? softcap * Math.tanh(score / softcap) : score;
            const seen = run.tensors.get("masked_scores").data[at];
            if (seen !== -Infinity) near(capped + mask, seen, 1e-5, `${JSON.stringify(request)}: item ${b}, head ${h}, query ${i}, key ${j}`);
        }
    }
});

const parse = (code) => spawnSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], { input: code, encoding: "utf8" }).stderr;

test("the PyTorch code states each rule, and what the request returns", async () => {
    const all = [];
    for (const { request, code: part } of [...RULES, ...TERMS]) {
        const code = pytorch(request, await runOf(request));
        all.push(code);
        ok(code.includes(part), `${part} in ${code}`);
    }
    const names = ["key_sums", "entropy", "top_keys", "pooled_weights", "scores", "lse"];
    const code = pytorch({ ...TWO, return: names, top: 3, pool: [4, 5], pool_by: "max", select: { heads: [1], queries: [2, 5], keys: [0, 4] } }, await runOf(TWO));
    equal(parse([...all, code].join("\n")), "", "syntax");
    for (const part of ["weights.sum(-2)", "torch.xlogy", "order[..., :3]", "amax", "print(raw_scores[:, [1]][..., 2:5, 0:4])", "Not written here, though the request returns it: lse"])
        ok(code.includes(part), `${part} in ${code}`);
    ok(!code.includes("print(weights)"), "nothing else");
    const poisoned = { query: [[1]], key: [[1], [2]], value: [[1], ["NaN"]], mask: [0, "-Infinity"] }, kept = pytorch(poisoned, await runOf(poisoned));
    ok(kept.includes("masked_fill(masked_keys, 0)") && kept.includes("scores.masked_fill(mask == float(\"-inf\"), 0)"), kept);
});

test("PyTorch code is refused, with a comment, where a field or a member is not known", async () => {
    const run = await runOf(TWO);
    for (const [field, value, name] of [["later_rule", 3, "later_rule"], ["rope", { style: "half", later: 1 }, "rope.later"], ["qk_norm", { later: [1] }, "qk_norm.later"],
        ["select", { later: 1 }, "select.later"], ["projection", { gate: [[1]] }, "projection.gate"]]) {
        const code = pytorch({ ...TWO, [field]: value }, run);
        ok(/^# No code/.test(code) && code.includes(name) && !code.includes("import torch"), code);
    }
    ok(/^import torch/.test(pytorch({ ...TWO, later_rule: null }, run)), "a field that is null counts as absent");
    ok(/^# No code/.test(pytorch({ ...TWO, layout: "later" }, run)), "a layout");
});

test("a masked cell names its rules on the page", async (t) => {
    const page = await open(t), why = async (i, j) => {
        await chooseCell(page, i, j);
        return page.textContent("#cell-mask-reasons");
    };
    await usePreset(page, "packed");
    equal([await why(7, 3), await why(7, 8), await why(7, 13), await why(7, 6)], ["sequence", "causal", "sequence", "no"], "packed");
    await usePreset(page, "prefix");
    equal([await why(2, 4), await why(2, 5)], ["no", "causal"], "prefix");
    ok(/is not in the prefix/.test(await page.textContent("#reasons")), "text");
    await usePreset(page, "window-first");
    equal([await why(20, 1), await why(20, 5)], ["no", "window"], "first tokens");
    ok(/not one of the first 2/.test(await page.textContent("#reasons")), "text");
});

test("a pasted request keeps the fields that the page does not show", async (t) => {
    const page = await open(t), more = { return: ["key_sums", "top_keys"], top: 2, select: { queries: [0, 1] }, decimals: 3 };
    await useJson(page, { ...PACKED, cu_seqlens: [0, 3, 9], query_offset: [1, 0], causal: true, ...more });
    const kept = await page.inputValue("#json");
    equal(Object.fromEntries(Object.entries(JSON.parse(kept)).filter(([name]) => name in more)), more, "in the JSON box");
    near(await readTable(page), (await ask({ ...PACKED, cu_seqlens: [0, 3, 9], query_offset: [1, 0], causal: true }, ["weights"])).weights[0], AS_PRINTED, "the picture is whole");
    equal([await page.inputValue("#f-query_offset"), await page.inputValue("#f-cu_seqlens")], ["[1,0]", "[0,3,9]"], "lists have fields");
    await page.click("#copy summary");
    await page.click("#copy [data-name=curl]");
    await page.waitForFunction(() => /copied/.test(document.getElementById("note").textContent));
    const reply = JSON.parse(spawnSync("bash", ["-c", await page.evaluate(() => navigator.clipboard.readText())], { encoding: "utf8" }).stdout);
    equal(Object.keys(reply).filter((name) => name !== "applied" && name !== "warnings"), ["key_sums", "top_keys"], "curl asks for what was asked for");
});
