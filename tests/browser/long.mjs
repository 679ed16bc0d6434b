// long.mjs: weights too many to hold: pooled ones at first, and the parts that are looked at.

import { readFileSync } from "node:fs";
import { partRequest, withNarrowValues } from "../../web/src/long.js";
import { Tensor, product } from "../../web/src/tensor.js";
import { after, ask, drawn, equal, linkTo, near, ok, open, test, toNumber, useView, world } from "./harness.mjs";
import { drop, safetensors } from "./files.mjs";

const T = 4352, D = 4, SIZE = 1e-6;
const seeded = { seed: 1, query: { shape: [T, D] }, key: { shape: [T, D] }, value: { shape: [T, D] }, causal: true };

const numbers = (shape, step) => new Tensor(shape, Float32Array.from({ length: product(shape) }, (_, i) => Math.fround(Math.sin(step * (i + 1)))));
const plain = (request) => JSON.parse(JSON.stringify(request, (_, value) => (value instanceof Tensor ? { shape: value.shape, data: [...value.data] } : value)));
const post = async (body) => (await fetch(`${world.url}attention`, { method: "POST", body: JSON.stringify(body) })).json();

test("a part of given queries, cut to its rows and keys, has the whole's weights", async () => {
    const q = numbers([2, 4, 9, 6], 0.7), k = numbers([2, 2, 11, 6], 1.3), v = numbers([2, 2, 11, 3], 0.4), square = { query: numbers([9, 4], 0.7), key: numbers([9, 4], 1.3), value: numbers([9, 3], 0.4) };
    const four = { query: q, key: k, value: v }, swapped = { query: numbers([2, 9, 4, 6], 0.7), key: numbers([2, 11, 2, 6], 1.3), value: numbers([2, 11, 2, 3], 0.4), layout: "bthd" };
    const packed = { query: numbers([1, 9, 8], 0.7), key: numbers([1, 9, 4], 1.3), value: numbers([1, 9, 4], 0.4), num_heads: 4, num_kv_heads: 2 };
    const requests = [{ ...square, causal: true }, { ...four, causal: "bottom_right" }, { ...four, causal: "top_left", key_lengths: [7, 10] }, { ...four, causal: true, query_offset: [1, 2], window: [3, 0], num_sink_tokens: 1 },
        { ...swapped, window: [2, 2], alibi: true, query_offset: 1 }, { ...packed, causal: true, softcap: 2, sinks: [0, 1, 0, 1] }, { ...square, causal: true, rope: { style: "half" }, qk_norm: { query: true, key: true } },
        { ...square, causal: true, prefix_length: 6, chunk_size: 4 }, { ...square, causal: true, seed: 3, key: { shape: [9, 4] } }, { ...square, causal: true, mask: [1, 1, 0, 1, 1, 1, 1, 1, 1].map(Boolean) }];
    for (const request of requests) {
        const whole = await post({ ...plain(request), return: ["weights", "lse"], format: "flat" }), { shape } = whole.weights, [Tq, Tk] = shape.slice(-2), H = whole.applied.num_heads;
        const run = { request, applied: whole.applied, dims: { B: product(shape) / (H * Tq * Tk), H, Tq, Tk } }, part = { batch: run.dims.B - 1, head: H - 1, i0: 3, i1: 5, j0: 1, j1: 6 };
        const { request: cut, fields } = partRequest(run, part), { weights, detail } = await post({ ...plain(cut), ...fields, return: ["weights"], format: "flat" });
        ok(weights, `${JSON.stringify(fields)}: ${detail}`);
        const got = weights.data.slice(-10), start = ((part.batch * H + part.head) * Tq) * Tk;
        const want = [3, 4].flatMap((i) => [1, 2, 3, 4, 5].map((j) => whole.weights.data[start + i * Tk + j]));
        near(got, want, SIZE, JSON.stringify(fields));
        equal(cut.query.data.length < request.query.data.length, !request.mask, "the query is cut, but under a mask");
    }
    equal(withNarrowValues(four).value.shape, [2, 2, 11, 1], "values are narrow");
    equal(withNarrowValues({ ...packed }).value.shape, [1, 9, 2], "a column a head");
});

// What the page asks of /attention.
function watch(page) {
    const asked = [];
    page.on("request", (request) => request.url().endsWith("/attention") && asked.push(request));
    return asked;
}

const says = (page, pattern) => page.waitForFunction((text) => new RegExp(text).test(document.getElementById("looked")?.textContent), pattern);
const lookAt = (page, i, j, cells) => page.evaluate(([row, col, k, n]) => document.getElementById("map").map.setZoom([k, (col + 0.5) / n, (row + 0.5) / n]), [i, j, T / cells, T]);
const valueAt = (page, i, j) => page.evaluate(([row, col]) => document.getElementById("map").map.picture.matrix.at(row, col), [i, j]);

test("weights too many to hold: pooled first, then the part in view and the chosen row; what cannot show them says so", async (t) => {
    t.expect(/status of 503/);
    const page = await open(t, { hash: linkTo({ request: seeded }), wait: false }), asked = watch(page);
    await drawn(page);
    await says(page, "Each point is the largest of 2 × 2 weights. Zoom in");
    const pooled = await page.evaluate(() => { const { matrix } = document.getElementById("map").map.picture; return [matrix.pooled.rows, matrix.pooled.data[5 * 2048 + 2], matrix.pool(10, 4)]; });
    const { weights: rows } = await ask({ ...seeded, select: { queries: [10, 13], keys: [0, 8] } }, ["weights"]);
    equal(pooled[0], 2048, "rows of the pooled weights");
    const { i0, i1, j0, j1, value } = pooled[2];
    near(value, Math.max(...rows.slice(i0 - 10, i1 - 10).flatMap((row) => row.slice(j0, j1))), SIZE, "the largest of a few");
    await lookAt(page, 3000, 1200, 12);
    await says(page, "Single weights of queries .*: \\d+ B sent, .* received");
    const part = await ask({ ...seeded, select: { queries: [3000, 3001], keys: [0, T] } }, ["weights", "masked_scores"]);
    near(await valueAt(page, 3000, 1200), part.weights[0][1200], SIZE, "a weight in view");
    ok(asked.length <= 2, `${asked.length} requests for one picture and one place`);
    await page.evaluate(() => document.getElementById("map").map.choose(3000, 1200));
    await page.waitForSelector("#cell-masked", { state: "attached" });
    near(toNumber(await page.textContent("#cell-masked")), part.masked_scores[0][1200], 1e-4, "what softmax sees");
    await after(page, () => page.click("#fetch-vectors"));
    near(toNumber(await page.textContent("#cell-qk")) / 2, part.masked_scores[0][1200], 1e-4, "the product, times the scale");
    await page.click("#export > summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export [data-name=svg]")]), figure = readFileSync(await download.path(), "utf8");
    equal([/<image /.test(figure), /Each point is/.test(figure)], [true, false], "the figure of single weights");
    for (const view of ["lines", "stages", "compare"]) {
        await useView(page, view);
        ok(/weights as many|too many/.test(await page.textContent("#too-long")), view);
    }
    await useView(page, "table");
    await page.waitForFunction(() => /^\d/.test(document.querySelector("#numbers td.chosen")?.textContent ?? ""));
    near(toNumber(await page.textContent("#numbers td.chosen")), part.weights[0][1200], 1e-4, "in the table");
    await useView(page, "heads");
    equal(await page.locator(".thumb").count(), 1, "pooled weights as a thumbnail");
    await useView(page, "map");
    const dropped = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/attention"));
    let answer = () => {}; // never; one handler all the time, since without any the browser sends on what waits
    await page.route("**/attention", (route) => answer(route));
    await lookAt(page, 600, 300, 12);
    await says(page, "Fetching weights of queries");
    answer = (route) => route.fulfill({ status: 503, headers: { "Retry-After": "2" }, contentType: "application/problem+json", body: "{\"detail\": \"no memory now\"}" });
    await lookAt(page, 800, 400, 12);
    await dropped; // nobody looks at it any more
    await says(page, "were not fetched: 503 no memory now. Try again in 2 s");
    await page.unroute("**/attention");
    await page.click("#looked button");
    await says(page, "Single weights of queries");
});

test("dropped queries and keys, too many to hold: only what a part needs is sent again", async (t) => {
    const [query, key, value] = [0.7, 1.3, 0.4].map((step) => numbers([T, D], step));
    const page = await open(t);
    const file = safetensors({ query: ["F32", [T, D], query.data], key: ["F32", [T, D], key.data], value: ["F32", [T, D], value.data] }, { request: "{\"causal\": true}" });
    await drop(page, [["long.safetensors", file]]);
    await says(page, "Each point is the largest of 2 × 2 weights");
    await lookAt(page, 2000, 1990, 12);
    await says(page, "Single weights of queries .*, .*: [\\d.]+ kB sent");
    const scores = Array.from({ length: 2001 }, (_, j) => Array.from({ length: D }, (_, d) => query.data[2000 * D + d] * key.data[j * D + d]).reduce((a, b) => a + b) / 2);
    const sum = scores.reduce((all, x) => all + Math.exp(x), 0);
    near(await valueAt(page, 2000, 1990), Math.exp(scores[1990]) / sum, SIZE, "a weight");
    equal(await valueAt(page, 2000, 2001), 0, "masked");
    const sent = 1000 * Number(/([\d.]+) kB sent/.exec(await page.textContent("#looked"))[1]), rows = 256 + 64;
    ok(sent < 4 * (rows * D + (2000 + rows) * (D + 1)) + 2000, `${sent} bytes sent: the rows in view, and the keys up to them`);
    ok(!(await page.evaluate(() => location.hash)), "too large for an address");
});
