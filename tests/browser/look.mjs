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
    ok(/^7: 24\.23 % of the attention goes to key 6\.$/.test(await page.textContent("#locked-sentence")), await page.textContent("#locked-sentence"));
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
    ok((await page.textContent("#announcer")).startsWith("2–3 → 0: "), await page.textContent("#announcer"));
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
