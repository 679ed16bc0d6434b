// numbers.mjs: what is drawn and written on the page is what the daemon computes, and what the notebook printed.

import { after, ask, chooseCell, equal, linked, near, ok, open, readJson, readTable, test, toNumber, useJson, usePreset, useStage, useView, world } from "./harness.mjs";
import { PRESETS, changedFields } from "../../web/src/presets.js";

const notebook = readJson("tests/conformance/notebook.json");
const AS_PRINTED = 0.5e-4 + 1e-9;

const STAGE_OF = { raw: "scores", masked: "masked_scores" };

const chain = (page) => page.$$eval("#chain .step", (all) => all.map((step) => [...step.children].map((part) => part.textContent).join(" ")).join(" "));
const cell = (page, name) => page.textContent(`#cell-${name}`).then(toNumber);

test("the first picture is the notebook's head, cell by cell", async (t) => {
    const page = await open(t);
    equal(await page.inputValue("#preset"), "notebook", "preset");
    ok(await page.isVisible("#map"), "a heat map is there");
    near(await readTable(page), notebook.head.weights_batch0, AS_PRINTED, "weights");
    await useStage(page, "scores");
    near(await readTable(page), notebook.head.scores_batch0, AS_PRINTED, "scores");
    await useStage(page, "masked_scores");
    near(await readTable(page), notebook.head.masked_scores_batch0, AS_PRINTED, "masked scores");
});

test("the notebook's averages", async (t) => {
    const page = await open(t);
    await usePreset(page, "averages");
    near(await readTable(page), notebook.averaging.weights, AS_PRINTED, "weights");
    await useStage(page, "output");
    for (let item = 0; item < 4; item++) {
        if (item) await after(page, () => page.selectOption("#pick-batch", String(item)));
        near(await readTable(page), notebook.averaging.running_means[item], AS_PRINTED, `means of item ${item}`);
    }
});

test("every preset draws what the daemon answers", async (t) => {
    const page = await open(t);
    for (const [at, preset] of PRESETS.entries()) {
        if (!preset.request) continue; // the sentence is looked at below
        await usePreset(page, preset.id);
        equal(await Promise.all(["#headline", "#story", "#step"].map((selector) => page.textContent(selector))), [preset.title, preset.story, `${at + 1} of ${PRESETS.length}`], "story");
        equal([preset.id, await page.$$eval(".field.changed", (all) => all.map((one) => one.querySelector("[name]").name).sort())], [preset.id, changedFields(preset).sort()], "changed fields");
        ok(preset.cell && !(await page.textContent("#cell-title")).startsWith("Cell"), `${preset.id}: a chosen cell`);
        const stage = STAGE_OF[preset.id] ?? "weights", reply = await ask(preset.request, [stage]);
        let want = reply[stage];
        while (Array.isArray(want[0][0])) [want] = want;
        near(await readTable(page), want, AS_PRINTED, `${preset.id}: ${stage}`);
        equal(await page.isVisible("#problem"), false, "a problem");
    }
});

test("the sentence: the page shows its file, which is a request; the caption's numbers are what attnd computes", async (t) => {
    const page = await open(t, { hash: "" }), sentence = PRESETS[0], file = await page.evaluate(() => new URL(document.body.dataset.sentence, document.baseURI).href);
    const body = await (await fetch(file)).arrayBuffer(), response = await fetch(`${world.url}attention`, { method: "POST", headers: { "Content-Type": "application/x-safetensors" }, body });
    const { weights, tokens } = await response.json(), mean = (numbers) => numbers.reduce((a, b) => a + b) / numbers.length, tail = (layer, head) => weights[layer][head].slice(1);
    near(await readTable(page), weights[sentence.batch][sentence.head], AS_PRINTED, "the first picture");
    equal([tokens[1], tokens[2], tokens[3], tokens[6], tokens[7]], ["Ġbe", ",", "Ġor", "Ġbe", ","], "tokens");
    const shares = [weights[2][0][6][2], weights[2][0][7][3], mean(tail(0, 1).map((row, i) => row[i]))];
    equal(sentence.story.match(/\d+(?=\u00a0%)/g).map(Number), shares.map((x) => Math.round(100 * x)), "shares");
    ok(tail(2, 0).every((row, i) => i === 5 || i === 6 || Math.max(...row) === row[0]), "elsewhere the head rests on the first token");
    equal([await page.textContent("#headline"), await page.textContent("#cell-title")], [sentence.title, "query 6 be → key 2 ,"], "headline, cell");
    ok(/4 layers, 4 heads, 14 × 14/.test(await page.textContent("#applied")), await page.textContent("#applied"));
});

// The canvas's colour in the middle of a cell.
const colorAt = (page, i, j) => page.evaluate(([i, j]) => {
    const canvas = document.getElementById("map"), { map } = canvas, k = map.ratio * map.transform.k;
    const x = Math.round(map.x(j) * map.ratio + map.cw * k * 0.2), y = Math.round(map.y(i) * map.ratio + map.ch * k * 0.2);
    return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
}, [i, j]);

test("cells have the colours of their numbers", async (t) => {
    t.expect(/willReadFrequently/);
    const page = await open(t);
    near(await colorAt(page, 0, 0), [253, 231, 37], 2, "weight 1 in viridis");
    near(await colorAt(page, 5, 5), [69, 2, 86], 4, "weight 0.0019 in viridis");
    await after(page, () => page.selectOption("#palette", "cividis"));
    near(await colorAt(page, 0, 0), [253, 234, 69], 4, "weight 1 in cividis");
    await after(page, () => page.selectOption("#mode", "row"));
    near(await colorAt(page, 7, 6), [253, 234, 69], 4, "the largest of row 7");
    await useStage(page, "scores");
    const [r, , b] = await colorAt(page, 1, 0);
    ok(b > r, "a negative score is blue");
    const [r2, , b2] = await colorAt(page, 1, 3);
    ok(r2 > b2, "a positive score is orange");
});

test("a masked cell is hatched, says why, and can show the reason as a colour", async (t) => {
    t.expect(/willReadFrequently/);
    const page = await open(t);
    const box = await page.locator("#map").boundingBox(), at = await page.evaluate(() => { const { map } = document.getElementById("map"); return [map.x(6.5), map.y(2.5)]; });
    await page.mouse.move(box.x + at[0], box.y + at[1]);
    await page.waitForSelector(".tip:not([hidden])");
    ok(/query 2 → key 6.*masked by causal: the key comes after the query/.test(await page.textContent(".tip")), await page.textContent(".tip"));
    await page.mouse.click(box.x + at[0], box.y + at[1]);
    equal(await page.textContent("#cell-mask-reasons"), "causal", "why");
    equal(await page.textContent("#cell-masked"), "−∞", "softmax sees");
    const plain = await colorAt(page, 2, 6);
    await after(page, () => page.check("#mask-reasons"));
    const coloured = await colorAt(page, 2, 6);
    ok(coloured[2] > coloured[0] + 10 && String(plain) !== String(coloured), `blue, ${coloured}`);
});

test("the cell panel tells how a weight came about", async (t) => {
    const page = await open(t);
    equal(await page.textContent("#cell-title"), "query 7 → key 3", "title");
    near(await cell(page, "qk"), 0.5898, AS_PRINTED, "q·k");
    near(await cell(page, "scale"), 1, 0, "scale");
    near(await cell(page, "weight"), 0.2297, AS_PRINTED, "weight");
    equal(await chain(page), "0.59 q·k × 1 scale = 0.59 score → 22.97 % softmax", "in one line");
    const terms = await page.$$eval("#terms tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].slice(0, 3).map((x) => x.textContent)));
    equal(terms.length, 16, "terms");
    near(terms.reduce((sum, [, , x]) => sum + toNumber(x), 0), 0.5898, 16 * AS_PRINTED, "the terms' sum");
    const lse = await cell(page, "lse");
    near(Math.exp(0.5898 - lse), 0.2297, 1e-4, "exp(score - lse)");
    const keys = await page.$$eval("#contributions tbody th", (cells) => cells.map((x) => Number(x.textContent)));
    equal(keys.slice(0, 3), [6, 7, 3], "strongest keys");
});

test("scale, softcap, bias, sinks, windows and padding are explained", async (t) => {
    const page = await open(t), request = { query: [[2, 0], [0, 3]], key: [[1, 0], [0, 1], [1, 1]], value: [[1], [2], [3]],
        softcap: 2, mask: [[0.5, 0, 0], [0, 0, -1]], alibi: [0.25], sinks: [0.5], key_lengths: 3, window: [1, -1],
        query_scale: [1, 0.5], bias: [0, 0, 0.75], relative_bias: { table: [[0], [1], [2], [-0.25]] } };
    await useJson(page, request);
    const reply = await ask(request, ["weights", "scores", "masked_scores", "lse"]);
    await chooseCell(page, 1, 2);
    near(await cell(page, "qk"), 3, 1e-4, "q·k");
    near(await cell(page, "score"), reply.scores[1][2], AS_PRINTED, "score");
    near(await cell(page, "query-scale"), 0.5, 0, "the query's scale");
    near(await cell(page, "bias"), 0.75, 0, "bias");
    near(await cell(page, "relative"), -0.25, 0, "relative bias");
    near(await cell(page, "mask"), -1, 0, "mask");
    near(await cell(page, "alibi"), -0.25, 0, "ALiBi");
    near(await cell(page, "masked"), reply.masked_scores[1][2], AS_PRINTED, "masked");
    const [seen, weight] = [reply.masked_scores[1][2].toPrecision(3).replace("-", "−"), (100 * reply.weights[1][2]).toFixed(2)];
    equal((await chain(page)).replace(/ = [−\d.]+ capped/, " = capped"), `3 q·k × 0.707 scale × 0.5 query's scale + 0.75 bias − 0.25 relative bias = capped − 1 mask − 0.25 ALiBi = ${seen} score → ${weight} % softmax`, "in one line");
    near(await cell(page, "weight"), reply.weights[1][2], AS_PRINTED, "weight");
    near(await cell(page, "sink"), 1 - reply.weights[1].reduce((a, b) => a + b), AS_PRINTED, "sink");
    near(await cell(page, "lse"), reply.lse[1], AS_PRINTED, "lse");
});

test("a key with two reasons names both; masks and padding are told apart", async (t) => {
    const page = await open(t), request = { query: [[1], [1], [1]], key: [[1], [1], [1]], value: [[1], [2], [3]], causal: true, key_lengths: 2,
        mask: [[true, true, true], [false, true, true], [true, true, true]] };
    await useJson(page, request);
    const why = async (i, j) => {
        await chooseCell(page, i, j);
        return page.textContent("#cell-mask-reasons");
    };
    equal(await why(0, 2), "causal, padding", "query 0, key 2");
    equal(await why(2, 2), "padding", "query 2, key 2");
    equal(await why(1, 0), "mask", "query 1, key 0");
    equal(await why(2, 0), "no", "query 2, key 0");
});

test("grouped heads read their own keys, packed and in both layouts", async (t) => {
    const page = await open(t);
    for (const layout of ["bhtd", "bthd"]) {
        const q = { shape: layout === "bhtd" ? [1, 4, 3, 2] : [1, 3, 4, 2] }, k = { shape: layout === "bhtd" ? [1, 2, 3, 2] : [1, 3, 2, 2] };
        const request = { seed: 5, query: q, key: k, value: k, layout };
        await useJson(page, request);
        for (const head of [0, 3]) {
            await after(page, () => page.selectOption("#pick-head", String(head)));
            await chooseCell(page, 2, 1);
            const { scores } = await ask(request, ["scores"]);
            near(await cell(page, "qk") * await cell(page, "scale"), scores[0][head][2][1], 3e-4, `${layout}, head ${head}`);
        }
    }
});

test("a number of the output is the sum of what its keys add", async (t) => {
    const page = await open(t), { output } = await ask({ seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 }, ["output"]);
    await useStage(page, "output");
    await chooseCell(page, 7, 13);
    near(await cell(page, "output"), output[0][7][13], AS_PRINTED, "output");
    const parts = await page.$$eval("#parts tbody tr", (rows) => rows.map((row) => row.querySelectorAll("td")[2].textContent));
    near(parts.reduce((sum, x) => sum + toNumber(x), 0), output[0][7][13], 8 * AS_PRINTED, "the sum");
    await useStage(page, "weights");
    equal(await page.textContent("#cell-title"), "query 7 → key 0", "keys are fewer than columns of the output");
});

test("weight × ‖value‖: of each value, or of what a given output projection makes of it; with its scale, and in a comparison", async (t) => {
    const page = await open(t, { hash: "" }), projection = { output: [[1, 2, 0, 1, 0, 0], [0, 1, 1, 0, 2, 1], [3, 0, 0, 0, 1, 1]] };
    const base = { seed: 7, x: { shape: [1, 5, 8] }, head_size: 3, num_heads: 2, causal: true };
    for (const request of [base, { ...base, projection }]) {
        await useJson(page, request);
        const { weights, value } = await ask(request, ["weights", "value"]), V = (h, j) => value[0][j].slice(h * 3, h * 3 + 3);
        const made = (h, j) => (request.projection ? projection.output.map((row) => V(h, j).reduce((sum, x, d) => sum + x * row[h * 3 + d], 0)) : V(h, j));
        await useStage(page, "value_weights");
        for (const head of [0, 1]) {
            await after(page, () => page.selectOption("#pick-head", String(head)));
            near(await readTable(page), weights[0][head].map((row) => row.map((w, j) => w * Math.hypot(...made(head, j)))), AS_PRINTED, `head ${head}`);
        }
        await useView(page, "map");
    }
    const { signed, max } = await page.evaluate(() => { const { scale } = document.getElementById("map").map.picture; return scale; });
    ok(!signed && max > 0, "a length has no sign");
    await chooseCell(page, 4, 2);
    near(await page.textContent("#contributions tr.here td:last-child").then(toNumber), (await readTable(page))[4][2], AS_PRINTED, "the panel");
    await useView(page, "compare");
    await page.waitForFunction(() => /Largest difference/.test(document.getElementById("largest").textContent));
    await linked(page, ({ view }) => view.stage === "value_weights");
});
