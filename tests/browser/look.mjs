// look.mjs: tokens that are locked, with their sums, by pointer and keyboard, in every view, and in the address.

import { after, ask, equal, linked, near, ok, open, readTable, test, toNumber, useJson, useView } from "./harness.mjs";

const AS_PRINTED = 0.5e-4 + 1e-9;
const NOTEBOOK = { seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 };
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const locks = (page) => page.evaluate(() => (({ queries, keys }) => [queries, keys])(document.getElementById("map").map.picture.locked));

// The middle of a label of the map, or of the bar of its sum.
async function labelAt(page, side, n) {
    const box = await page.locator("#map").boundingBox();
    const [x, y] = await page.evaluate(([which, at]) => {
        const { map } = document.getElementById("map");
        return which === "queries" ? [map.left - 10, map.y(at + 0.5)] : [map.x(at + 0.5), map.top - 9];
    }, [side, n]);
    return [box.x + x, box.y + y];
}

async function clickLabel(page, side, n, key) {
    if (key) await page.keyboard.down(key);
    await page.mouse.click(...await labelAt(page, side, n));
    if (key) await page.keyboard.up(key);
}

test("locked tokens: a click, Ctrl, Shift and a drag over labels; others fade, sums follow, and no label moves", async (t) => {
    t.expect(/willReadFrequently/);
    const page = await open(t), { weights: [w] } = await ask(NOTEBOOK, ["weights"]);
    const before = await labelAt(page, "keys", 5), shown = (x) => page.evaluate((name) => Array.from(document.getElementById("map").map.picture.sums[name] ?? []), x);
    near(await shown("received"), w[0].map((_, j) => sum(w.map((row) => row[j]))), 1e-6, "what each key receives in all");
    await clickLabel(page, "queries", 7);
    equal(await locks(page), [[7], []], "a click");
    ok(/^query 7: 24\.23 % of the attention goes to key 6\.$/.test(await page.textContent("#locked-sentence")), await page.textContent("#locked-sentence"));
    await clickLabel(page, "queries", 4, "Control");
    equal(await locks(page), [[4, 7], []], "Ctrl adds");
    near(await shown("received"), w[0].map((_, j) => w[4][j] + w[7][j]), 1e-6, "their sums");
    await clickLabel(page, "queries", 6, "Shift");
    equal(await locks(page), [[4, 5, 6], []], "Shift takes a phrase");
    await page.mouse.move(...await labelAt(page, "keys", 1));
    await page.mouse.down();
    await page.mouse.move(...await labelAt(page, "keys", 3), { steps: 4 });
    await page.mouse.up();
    equal(await locks(page), [[4, 5, 6], [1, 2, 3]], "a drag");
    equal(await labelAt(page, "keys", 5), before, "where a label is");
    const share = sum([4, 5, 6].map((i) => sum(w[i].slice(1, 4))));
    near(await page.textContent("#locked-sentence").then((text) => toNumber(/, (\S+) in all/.exec(text)[1])), share, AS_PRINTED, "the block's sum");
    near(await shown("given"), w.map((row) => sum(row.slice(1, 4))), 1e-6, "what each query gives to them");
    const chroma = (i, j) => page.evaluate(([a, b]) => {
        const { map } = document.getElementById("map"), { data } = map.context.getImageData(map.ratio * map.x(b + 0.3), map.ratio * map.y(a + 0.3), 1, 1);
        return Math.max(...data.slice(0, 3)) - Math.min(...data.slice(0, 3));
    }, [i, j]);
    ok(await chroma(0, 0) < 60 && await chroma(1, 1) > 100, `cell 0, 0 fades, cell 1, 1 stays: ${[await chroma(0, 0), await chroma(1, 1)]}`);
    await linked(page, ({ view }) => String(view.queries) === "4,5,6" && String(view.keys) === "1,2,3");
    await page.reload();
    await page.waitForFunction(() => document.body.dataset.drawn);
    equal(await locks(page), [[4, 5, 6], [1, 2, 3]], "from the address");
    const table = await readTable(page);
    near(table[6].at(-1), sum(w[6].slice(1, 4)), AS_PRINTED, "the table's sums");
    near(await page.$$eval("#numbers tfoot td", (all) => all.map((cell) => cell.textContent)).then((all) => all.slice(0, 8).map(toNumber)), w[0].map((_, j) => sum([4, 5, 6].map((i) => w[i][j]))), AS_PRINTED, "and its last row");
    await useView(page, "map");
    await page.getByRole("button", { name: "Unlock queries 4–6" }).click();
    equal(await locks(page), [[], [1, 2, 3]], "let go of");
    await page.keyboard.press("Escape");
    equal([await locks(page), await page.isVisible("#locked")], [[[], []], false], "all");
});

test("locked tokens by the keyboard; in Lines; heads ordered by what they give", async (t) => {
    const page = await open(t), press = (key) => page.keyboard.press(key), request = { seed: 2, x: { shape: [1, 6, 16] }, head_size: 4, num_heads: 4, causal: true };
    await useJson(page, request);
    const { weights: [w] } = await ask(request, ["weights"]);
    await press("m");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "q", "ArrowDown", "Q", "k"]) await press(key);
    equal(await locks(page), [[2, 3], [0]], "query 2 to 3, key 0");
    const share = w.map((head) => (head[2][0] + head[3][0]) / 2);
    ok((await page.textContent("#announcer")).startsWith("queries 2–3 → key 0: "), await page.textContent("#announcer"));
    near(await page.$$eval("#locked-heads td:nth-of-type(1)", (all) => all.map((cell) => cell.textContent)).then((all) => all.map(toNumber)), share, AS_PRINTED, "of each head");
    await useView(page, "heads");
    await after(page, () => page.selectOption("#heads-order", "locked"));
    equal(await page.getAttribute(".thumb >> nth=0", "aria-label"), `Head ${share.indexOf(Math.max(...share))}`, "the first head");
    await useView(page, "lines");
    await page.mouse.move(0, 0);
    const lit = () => page.$$eval("#lines path:not(.off)", (all) => all.map(({ dataset }) => [dataset.row, dataset.col].join()));
    ok((await lit()).every((line) => /^[23],|,0$/.test(line)) && (await lit()).length > 3, `lines of locked tokens: ${await lit()}`);
    await page.focus(".token[data-side=row][data-index='0']");
    await press("Enter");
    await page.focus("#view-lines");
    ok((await lit()).every((line) => /^0,|,0$/.test(line)), `Enter locks query 0 alone: ${await lit()}`);
    equal(await page.getAttribute(".token[data-side=row][data-index='0']", "aria-pressed"), "true", "pressed");
    await page.click(".token[data-side=col][data-index='3']", { modifiers: ["Control"] });
    await linked(page, ({ view }) => String(view.keys) === "0,3" && String(view.queries) === "0");
    await page.click("text=Clear");
    equal(await page.locator(".token[aria-pressed=true]").count(), 0, "none");
    await page.hover(".token[data-side=row][data-index='1']");
    await page.mouse.down();
    await page.hover(".token[data-side=row][data-index='4']");
    await page.mouse.up();
    await linked(page, ({ view }) => String(view.queries) === "1,2,3,4");
    await page.click("text=Also as keys");
    await linked(page, ({ view }) => String(view.keys) === "1,2,3,4");
});

const weights = (page) => page.evaluate(() => Array.from(document.getElementById("map").map.picture.matrix.data));
const rowsOf = (flat, cols) => Array.from({ length: flat.length / cols }, (_, i) => flat.slice(i * cols, (i + 1) * cols));

async function cellAt(page, i, j) {
    const box = await page.locator("#map").boundingBox();
    const [x, y] = await page.evaluate(([a, b]) => { const { map } = document.getElementById("map"); return [map.x(b + 0.5), map.y(a + 0.5)]; }, [i, j]);
    return [box.x + x, box.y + y];
}

test("cells masked by hand: computed at once; in the request, the link and the code; rules stay; what masks nothing goes", async (t) => {
    const page = await open(t), press = (key) => page.keyboard.press(key), base = { seed: 3, x: { shape: [2, 6, 8] }, head_size: 4, num_heads: 2, causal: true };
    await useJson(page, base);
    await page.click("#mask-cells");
    await page.mouse.move(...await cellAt(page, 5, 1));
    await page.mouse.down();
    await page.mouse.move(...await cellAt(page, 5, 3), { steps: 3 });
    await after(page, () => page.mouse.up());
    const mask = Array.from({ length: 6 }, (_, i) => Array.from({ length: 6 }, (__, j) => !(i === 5 && j >= 1 && j <= 3)));
    near(rowsOf(await weights(page), 6), (await ask({ ...base, mask }, ["weights"])).weights[0][0], 1e-6, "three cells, painted over");
    const hash = await linked(page, ({ request }) => request?.mask?.data.filter((x) => x === false).length === 3);
    await page.click("#copy summary");
    await page.click("#copy [data-name=python]");
    ok((await page.evaluate(() => navigator.clipboard.readText())).includes("\"mask\":"), "the code has it");
    const other = await open(t, { hash });
    equal(await weights(other), await weights(page), "from the link");
    await page.click("#mask-cells");
    await page.mouse.click(...await cellAt(page, 2, 4));
    await press("x");
    ok((await page.textContent("#announcer")).endsWith("masked by causal, which no mask opens"), await page.textContent("#announcer"));
    await page.mouse.click(...await cellAt(page, 5, 2));
    await after(page, () => press("x"));
    ok((await page.textContent("#announcer")) === "query 5 → key 2 seen again", await page.textContent("#announcer"));
    for (const j of [1, 3]) {
        await page.mouse.click(...await cellAt(page, 5, j));
        await after(page, () => press("x"));
    }
    await linked(page, ({ request }) => request && !("mask" in request));
    await clickLabel(page, "queries", 4);
    await clickLabel(page, "keys", 0);
    await after(page, () => press("X"));
    near((await weights(page))[24], 0, 0, "the locked tokens' cells");
    await page.click("#mask-cells");
    await after(page, () => page.click("#remove-mask"));
    await linked(page, ({ request }) => request && !("mask" in request));
    for (const [given, cell] of [[{ mask: [[true], [true], [true], [true], [false], [true]], mask_semantics: "keep" }, 32], [{ mask: [0, -1, 0, 0, 0, 0] }, 32], [{ mask: [[false]], mask_semantics: "drop" }, 32]]) {
        await useJson(page, { ...base, ...given });
        const before = (await ask({ ...base, ...given }, ["weights"])).weights[0][0].flat();
        await page.waitForFunction((all) => document.getElementById("map").map.picture.matrix.data.every((x, at) => Math.abs(x - all[at]) < 1e-6), before);
        await page.mouse.click(...await cellAt(page, 5, 2));
        await press("x");
        await page.waitForFunction((at) => document.getElementById("map").map.picture.matrix.data[at] === 0, cell);
        const now = await weights(page), rest = 1 - before[cell];
        near(now.slice(30, 36), before.slice(30, 36).map((x, j) => (j === 2 ? 0 : x / rest)), 1e-5, `beside ${JSON.stringify(given)}`);
        near(now.slice(0, 30), before.slice(0, 30), 1e-6, "other rows");
    }
});

test("a sentence with cells masked by hand fits into a link: its preset, and what was changed", async (t) => {
    const page = await open(t, { hash: "" });
    await page.mouse.click(...await cellAt(page, 11, 10));
    await after(page, () => page.keyboard.press("x"));
    equal((await weights(page))[11 * 14 + 10], 0, "masked");
    const hash = await linked(page, ({ preset, changes }) => preset === "sentence" && changes?.mask?.shape?.join() === "14,14");
    ok(/“A sentence, read by a small model”, with another mask\./.test(await page.textContent("#story")), await page.textContent("#story"));
    equal(await page.textContent("#headline"), "A sentence, read by a small model, changed", "its name");
    const other = await open(t, { hash });
    equal(await weights(other), await weights(page), "from the link");
    equal(await other.textContent("#story"), await page.textContent("#story"), "what is said of it");
    await page.keyboard.press("x");
    await page.waitForFunction(() => document.getElementById("preset").value === "sentence");
});

test("heads switched off: the mean, rollout and the projected output follow; in the address", async (t) => {
    const page = await open(t), projection = { output: Array.from({ length: 3 }, (_, r) => Array.from({ length: 12 }, (__, c) => ((r * 7 + c * 5) % 11) / 5 - 1)) };
    const request = { seed: 2, x: { shape: [1, 6, 16] }, head_size: 4, num_heads: 3, causal: true, projection };
    await useJson(page, request);
    const { weights: [w] } = await ask(request, ["weights"]);
    await useView(page, "heads");
    await after(page, () => page.click("[aria-label='Head 1']", { modifiers: ["Alt"] }));
    equal(await page.locator("[aria-label='Head 1, off']").count(), 1, "off");
    await after(page, () => page.click("[aria-label='Mean of 2 heads']"));
    near(rowsOf(await weights(page), 6), w[0].map((row, i) => row.map((x, j) => (x + w[2][i][j]) / 2)), 1e-6, "the mean of the others");
    await after(page, () => page.click("[data-stage=output]"));
    const mask = [[[true]], [[false]], [[true]]], without = (await ask({ ...request, mask }, ["output"])).output[0];
    await page.waitForFunction(() => document.getElementById("map").map.picture.stage === "output");
    near(rowsOf(await weights(page), 3), without, 1e-5, "the output");
    ok(/the output moves by [\d.]+ % of its length/.test(await page.textContent("#heads-off")), await page.textContent("#heads-off"));
    await linked(page, ({ view }) => JSON.stringify(view.off) === "[[0,1]]");
    await useView(page, "compare");
    await after(page, () => page.selectOption("#compare-with", "heads"));
    await page.waitForFunction(() => /Largest difference/.test(document.getElementById("largest").textContent));
    await useView(page, "map");
    await after(page, () => page.click("text=All on"));
    near(rowsOf(await weights(page), 3), (await ask(request, ["output"])).output[0], 1e-5, "all on");
    await after(page, () => page.selectOption("#pick-head", "2"));
    await after(page, () => page.keyboard.press("o"));
    equal(await page.textContent("#announcer"), "Head 2 is off", "by the keyboard");
    await useJson(page, { weights: [[[[[1, 0], [0.5, 0.5]], [[1, 0], [1, 0]]]], [[[[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]]]]] });
    await useView(page, "heads");
    await page.check("#switch-heads");
    await after(page, () => page.click("[aria-label='Layer 1, head 1']"));
    await page.uncheck("#switch-heads");
    await after(page, () => page.click("[aria-label='Layer 1, rollout']"));
    near(rowsOf(await weights(page), 2), [[1, 0], [0.25 + 0.75 * 0.375, 0.75 * 0.625]], 1e-6, "rollout without it");
});
