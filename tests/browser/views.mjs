// views.mjs: zoom and pan, heads, lines, stages, comparison; large matrices.

import { after, ask, chooseCell, equal, near, ok, open, readTable, test, toNumber, useJson, usePreset, useStage, useView } from "./harness.mjs";

const AS_PRINTED = 0.5e-4 + 1e-9;
const transform = (page) => page.evaluate(() => { const { k, x, y } = document.getElementById("map").map.transform; return [k, x, y]; });

test("zoom and pan: buttons, wheel, drag; labels and the cell under the cursor follow", async (t) => {
    const page = await open(t);
    await page.click("[aria-label='Zoom in']");
    await page.click("[aria-label='Zoom in']");
    const most = await page.evaluate(() => 192 / document.getElementById("map").map.cw);
    near(await transform(page).then(([k]) => k), Math.min(2.25, most), 0.01, "zoom, up to its end");
    await page.click("[aria-label='Show all']");
    equal(await transform(page), [1, 0, 0], "all");
    await useJson(page, { seed: 1, x: { shape: [64, 16] }, projection: "identity" });
    const box = await page.locator("#map").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -500);
    await page.keyboard.up("Control");
    await page.waitForFunction(() => document.getElementById("map").map.transform.k > 1.5);
    const [k, x] = await transform(page);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 60, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    const [k2, x2] = await transform(page);
    equal(k, k2, "a drag does not zoom");
    near(x2 - x, 60, 1, "a drag pans");
    const under = await page.evaluate(() => { const { map } = document.getElementById("map"); const [i, j] = map.hover; return [map.x(j), map.x(j + 1), map.y(i), map.y(i + 1)]; });
    ok(under[0] <= box.width / 2 + 60 && under[1] >= box.width / 2 + 60 - 1, `the cursor's cell is under it: ${under}`);
});

test("heads: opened by a click, collected by shift-click, their mean", async (t) => {
    const page = await open(t);
    await usePreset(page, "grouped");
    equal(await page.locator(".thumb").count(), 9, "eight heads and the mean");
    await after(page, () => page.click("[aria-label='Head 2']", { modifiers: ["Shift"] }));
    await after(page, () => page.click("[aria-label='Head 5']", { modifiers: ["Shift"] }));
    equal(await page.getAttribute("[aria-label='Head 5']", "aria-pressed"), "true", "collected");
    ok((await page.textContent("#heads-about")).startsWith("2 collected"), "the sentence");
    equal(await page.locator(".thumb").count(), 10, "and the mean of the collected");
    await useView(page, "lines");
    const strokes = await page.$$eval("#lines path", (paths) => [...new Set(paths.map((path) => path.getAttribute("stroke")))]);
    equal(strokes.length, 2, "a colour a head");
    equal(await page.$$eval("#lines-legend span", (all) => all.map((one) => one.textContent)), ["head 2", "head 5"], "the legend");
    const ends = await page.$$eval("#lines path", (paths) => [...new Set(paths.filter((path) => path.dataset.row === "0" && path.dataset.col === "0").map((path) => path.getAttribute("d")))]);
    equal(ends.length, 2, "query 0 to key 0: a line a head, side by side");
    ok(/^head [25]: query 0 → key 0: 100\.00 %$/.test(await page.$eval("#lines path[data-row='0'] title", (title) => title.textContent)), "a line says whose it is");
    await useView(page, "heads");
    await after(page, () => page.click("[aria-label='Head 3']"));
    equal(await page.inputValue("#pick-head"), "3", "opened");
    const { weights } = await ask({ seed: 1337, x: { shape: [1, 16, 32] }, head_size: 8, num_heads: 8, num_kv_heads: 2, causal: true }, ["weights"]);
    near(await readTable(page), weights[0][3], AS_PRINTED, "head 3");
    await after(page, () => page.selectOption("#pick-head", "mean"));
    const mean = weights[0][0].map((row, i) => row.map((_, j) => weights[0].reduce((sum, head) => sum + head[i][j], 0) / 8));
    near(await readTable(page), mean, AS_PRINTED, "mean");
    await chooseCell(page, 4, 2);
    near(await page.textContent("#cell-weight").then(toNumber), mean[4][2], AS_PRINTED, "the panel's mean");
});

const linear = (n) => Array.from({ length: n }, (_, i) => i);

test("layers and heads: all in one grid, which opens one and orders them; rollout", async (t) => {
    const page = await open(t), T = 6, tokens = ["the", "cat", "saw", "the", "cat", "."];
    // Head 0 of layer 0 reads the token before, head 1 the first; in layer 1 head 0 reads what followed an earlier copy, head 1 itself.
    const keys = [[(i) => Math.max(0, i - 1), () => 0], [(i) => [0, 1, 2, 1, 2, 5][i], (i) => i]];
    const one = (key) => linear(T).map((i) => linear(T).map((j) => Number(key(i) === j)));
    await useJson(page, { weights: keys.map((heads) => [heads.map(one)]), tokens });
    await useView(page, "heads");
    equal(await page.locator(".thumb").count(), 8, "two heads, mean and rollout of two layers");
    for (const [measure, first, value] of [["previous", "Layer 0, head 0", "100.00 %"], ["first", "Layer 0, head 1", "100.00 %"], ["copy", "Layer 1, head 0", "100.00 %"], ["itself", "Layer 1, head 1", "100.00 %"]]) {
        await after(page, () => page.selectOption("#heads-order", measure));
        equal([await page.getAttribute(".thumb >> nth=0", "aria-label"), await page.textContent(".thumb .measure >> nth=0")], [first, value], measure);
    }
    await after(page, () => page.selectOption("#heads-order", "entropy"));
    equal(await page.textContent(".thumb .measure >> nth=0"), "0.00 bits", "entropy of weights that are 0 and 1");
    await after(page, () => page.click("[aria-label='Layer 1, head 0']"));
    equal([await page.inputValue("#pick-layer"), await page.inputValue("#pick-head")], ["1", "0"], "opened");
    await useView(page, "heads");
    await after(page, () => page.selectOption("#heads-order", ""));
    await after(page, () => page.click("[aria-label='Layer 1, rollout']"));
    const mix = (heads) => linear(T).map((i) => linear(T).map((j) => 0.5 * heads.reduce((sum, key) => sum + Number(key(i) === j), 0) / 2 + 0.5 * Number(i === j)));
    const [a, b] = keys.map(mix), product = linear(T).map((i) => linear(T).map((j) => linear(T).reduce((sum, k) => sum + b[i][k] * a[k][j], 0)));
    near(await readTable(page), product, AS_PRINTED, "rollout");
    await chooseCell(page, 5, 2);
    ok(/layers up to 1 know at query 5 came from token 2/.test(await page.textContent("#cell-body")), await page.textContent("#cell-body"));
    await after(page, () => page.selectOption("#pick-layer", "0"));
    near(await readTable(page), a, AS_PRINTED, "of the first layer");
});

test("batch items are thumbnails, too", async (t) => {
    const page = await open(t);
    await useView(page, "heads");
    equal(await page.locator(".thumb:visible").count(), 4, "items");
    await after(page, () => page.click("[aria-label='item 2']"));
    const { weights } = await ask({ seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 }, ["weights"]);
    near(await readTable(page), weights[2], AS_PRINTED, "item 2");
});

test("lines: as many as the threshold and top-k leave, and those of one token", async (t) => {
    const page = await open(t), { weights } = await ask({ seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 }, ["weights"]);
    await useView(page, "lines");
    const count = () => page.locator("#lines path").count();
    equal(await count(), weights[0].flat().filter((x) => x >= 0.05).length, "above 5 %");
    const set = (id, value) => after(page, () => page.locator(id).evaluate((input, x) => { input.value = x; input.dispatchEvent(new Event("input")); }, value));
    await set("#threshold", "0.5");
    equal(await count(), weights[0].flat().filter((x) => x >= 0.5).length, "above 50 %");
    await set("#threshold", "0");
    await set("#topk", "1");
    equal(await count(), 8, "one a query");
    await set("#topk", "8");
    await page.hover(".token[data-side=row][data-index='7']");
    equal(await page.locator("#lines path:not(.off)").count(), 8, "of query 7");
    ok((await page.textContent("#lines-about")).startsWith("Query 7 looks at 6 24.23 %, 7 23.91 %, 3 22.97 %"), await page.textContent("#lines-about"));
    await page.hover(".token[data-side=col][data-index='4']");
    equal(await page.locator("#lines path:not(.off)").count(), 4, "to key 4");
});

test("stages side by side with one cursor", async (t) => {
    const page = await open(t);
    await useView(page, "stages");
    equal(await page.$$eval("#picture figcaption button", (titles) => titles.map((title) => title.textContent)), ["Scores", "Masked", "Weights", "Output"], "stages");
    await page.evaluate(() => { const { map } = document.getElementById("strip-weights"); map.setHover([7, 3]); });
    const values = await page.$$eval("#picture figcaption .value", (all) => all.map((value) => value.textContent));
    equal(values, ["0.5898", "0.5898", "0.2297", ""], "values under the cursor");
    await useJson(page, { query: [[9], [1]], key: [[9], [1]], value: [[1], [2]], softcap: 5, alibi: [1] });
    equal(await page.$$eval("#picture figcaption button", (titles) => titles.map((title) => title.textContent)), ["Scores", "Capped", "Bias", "Masked", "Weights", "Output"], "all stages");
});

test("compare: precision, scale, corners, pinned; the largest difference is found", async (t) => {
    const page = await open(t);
    await useView(page, "compare");
    equal(await page.inputValue("#compare-with"), "scale", "what it opens on");
    await after(page, () => page.selectOption("#compare-with", "float64"));
    await page.waitForFunction(() => /precision/.test(document.querySelector("#picture .hint").textContent));
    const found = () => page.waitForFunction(() => /Largest difference|different shapes/.test(document.getElementById("largest").textContent)).then(() => page.textContent("#largest"));
    const size = async () => Number(/difference ([\d.e-]+)/.exec(await found())[1]);
    ok(await size() < 1e-6, "float32 and float64 are close");
    await after(page, () => page.selectOption("#compare-with", "scale"));
    const base = { seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true };
    const [a, b] = [(await ask({ ...base, scale: 1 }, ["weights"])).weights[0].flat(), (await ask(base, ["weights"])).weights[0].flat()];
    const largest = Math.max(...a.map((x, i) => Math.abs(x - b[i])));
    await page.waitForFunction((x) => Math.abs(Number(/difference ([\d.e-]+)/.exec(document.getElementById("largest").textContent)?.[1]) - x) < 1e-4, largest);
    await page.click("#largest button");
    const [i, j] = (await page.textContent("#cell-title")).match(/\d+/g).map(Number);
    near(Math.abs(a[i * 8 + j] - b[i * 8 + j]), largest, 1e-6, "the place of the largest");
    await page.click("#pin");
    await usePreset(page, "encoder");
    await useView(page, "compare");
    await after(page, () => page.selectOption("#compare-with", "pinned"));
    await page.waitForFunction(() => /pinned, Notebook head/.test(document.querySelector("#picture .hint").textContent));
    await useJson(page, { seed: 3, x: { shape: [2, 4] }, context: { shape: [5, 4] }, projection: "identity", causal: "top_left" });
    await after(page, () => page.selectOption("#compare-with", "corner"));
    await page.waitForFunction(() => /bottom_right/.test(document.querySelector("#picture .hint").textContent));
    ok(await size() > 0.1, "the corners differ");
});

test("compare: what cannot be compared leaves no picture, and says why; masked cells count; scales have bars", async (t) => {
    t.expect(/status of 422/);
    const page = await open(t), said = (pattern) => page.waitForFunction((text) => new RegExp(text).test(document.getElementById("largest").textContent), pattern);
    await useView(page, "compare");
    await said("Largest difference");
    equal(await page.locator("#picture .colorbar").count(), 3, "bars");
    await after(page, () => page.selectOption("#compare-with", "causal"));
    await after(page, () => page.click("[data-stage=masked_scores]"));
    await said("The finite numbers do not differ. In 28 cells only one");
    await after(page, () => page.selectOption("#compare-with", "patch"));
    await said("Type the fields to change");
    for (const [text, pattern] of [["{\"scale\": ", "fields to change: this is not JSON"], ["3", "are an object"], ["{\"scale\": \"x\"}", "The other run failed"]]) {
        await after(page, () => page.fill("#compare-patch", text).then(() => page.press("#compare-patch", "Enter")));
        await said(pattern);
        equal([text, await page.isVisible("#compare-0")], [text, false], "a picture");
    }
    ok(await page.isVisible("#problem"), "the server's words");
    await after(page, () => page.fill("#compare-patch", "{\"scale\": 0.5}").then(() => page.press("#compare-patch", "Enter")));
    await said("Largest difference|28 cells|No difference");
    equal([await page.isVisible("#problem"), await page.isVisible("#compare-0")], [false, true], "mended");
});

test("shapes with a 0 are said to have nothing to draw", async (t) => {
    const page = await open(t);
    for (const [query, key, text] of [[[0, 4], [0, 4], "0 queries and 0 keys"], [[2, 4], [0, 4], "2 queries and 0 keys"]]) {
        await useJson(page, { seed: 1, query: { shape: query }, key: { shape: key }, value: { shape: key } });
        ok((await page.textContent("#picture")).startsWith(text), await page.textContent("#picture"));
    }
    await usePreset(page, "notebook");
    ok(await page.isVisible("#map"), "and back");
});

test("on paper there is the picture with its cell, and no controls", async (t) => {
    const page = await open(t);
    await page.emulateMedia({ media: "print" });
    equal(await Promise.all(["#map", "#cell", "#story", "#request", "header", "#palette", "#permalink"].map((selector) => page.isVisible(selector))),
        [true, true, true, false, false, false, false], "visible");
});

test("hide the first key, log and per-row scales", async (t) => {
    const page = await open(t);
    const max = () => page.evaluate(() => document.getElementById("map").map.picture.scale.max);
    await after(page, () => page.selectOption("#mode", "linear"));
    equal(await max(), 1, "with the first key");
    await after(page, () => page.check("#hide-first"));
    near(await max(), 0.8426, 1e-4, "without it");
    await after(page, () => page.selectOption("#mode", "log"));
    ok(/Colours from 0\.0+8426 to 0\.8426/.test(await page.getAttribute(".colorbar", "aria-label")), await page.getAttribute(".colorbar", "aria-label"));
    await after(page, () => page.selectOption("#mode", "row"));
    ok(/of each row's largest/.test(await page.getAttribute(".colorbar", "aria-label")), "per row");
});

test("the automatic scale: the 99th percentile without the first row, each row's largest of long rows; its bar names it; orange is the sign's", async (t) => {
    const page = await open(t), scale = () => page.evaluate(() => (({ mode, max, signed }) => ({ mode, max, signed }))(document.getElementById("map").map.picture.scale));
    const bar = () => page.getAttribute("#picture .colorbar", "aria-label");
    const { weights } = await ask({ seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 }, ["weights"]);
    const sizes = weights[0].slice(1).flat().filter((x) => x > 0).sort((a, b) => a - b), usual = sizes[Math.ceil(0.99 * sizes.length) - 1];
    near((await scale()).max, usual, 1e-6, "weights");
    ok((await bar()).endsWith(", 99th percentile, first row left out"), await bar());
    equal((await page.textContent("#picture .ticks span:last-child")).slice(0, 2), "≥ ", "larger ones have its last colour");
    const [map, beside] = await Promise.all(["#map", "#picture .colorbar"].map((selector) => page.locator(selector).boundingBox()));
    const edge = map.x + await page.evaluate(() => document.getElementById("map").map.right);
    ok(beside.x >= edge && beside.x < edge + 24 && beside.y >= map.y && beside.height > 100, `the bar is beside the map: ${JSON.stringify([map, beside])}`);
    equal(await page.$$eval("#contributions .positive, #contributions .negative", (all) => all.length), 0, "shares have no sign");
    ok(await page.$$eval("#terms .positive, #terms .negative", (all) => all.length) === 16, "products have");
    await useStage(page, "scores");
    equal([(await scale()).signed, (await bar()).endsWith("to the largest")], [true, true], "scores");
    await useJson(page, { seed: 5, x: { shape: [65, 8] }, projection: "identity", causal: true });
    await useStage(page, "weights");
    equal([(await scale()).mode, (await bar()).endsWith(", of each row's largest")], ["row", true], "65 tokens");
    await usePreset(page, "grouped");
    equal(await page.$$eval(".group", (all) => all.map((one) => `${one.getAttribute("aria-label")}: ${one.querySelectorAll(".thumb").length}`)), ["Key head 0: 4", "Key head 1: 4"], "heads of a key head are together");
});

test("a large rectangle: every tile is painted, far cells are right, other stages are fetched when shown", async (t) => {
    const page = await open(t), request = { seed: 9, x: { shape: [700, 8] }, context: { shape: [1600, 8] }, projection: "identity" };
    await useJson(page, request);
    await page.waitForFunction(() => document.getElementById("map").dataset.whole === "true");
    const sum = await page.evaluate(() => { const { data, cols } = document.getElementById("map").map.picture.matrix; return data.subarray(699 * cols, 700 * cols).reduce((a, b) => a + b); });
    near(sum, 1, 1e-5, "the last row");
    await page.focus("#map");
    await page.keyboard.press("Control+End");
    equal(await page.textContent("#cell-title"), "query 699 → key 1599", "the far corner");
    ok(!(await page.evaluate(() => document.getElementById("map").map.picture.reasonBits)), "nothing masked");
    await useStage(page, "scores");
    await page.waitForFunction(() => document.getElementById("map").map.picture.stage === "scores");
});

// For a tile whose pixels cover several cells: how many show the right colour, to a step, and which do not.
const checkTile = ([level, tileX, tileY]) => {
    const { map } = document.getElementById("map"), { tiles } = map, { matrix: { rows, cols, data }, scale, reasonBits, hidesMasked } = tiles.picture, step = 1 << level;
    const canvas = tiles.make(level, level, tileX, tileY), seen = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const wrong = [];
    let shown = 0, empty = 0;
    seen.forEach((color, at) => {
        const i0 = tileY * 128 * step + Math.floor(at / canvas.width) * step, j0 = tileX * 128 * step + (at % canvas.width) * step, cells = [];
        for (let i = i0; i < Math.min(rows, i0 + step); i++)
            for (let j = j0; j < Math.min(cols, j0 + step); j++) if (!hidesMasked || !reasonBits(i, j)) cells.push([data[i * cols + j], tiles.maxima?.[i] ?? 1]);
        if (!color) return void (cells.length ? wrong.push([i0, j0, "empty"]) : empty++);
        shown++;
        const [value, max] = cells.reduce((a, b) => (Math.abs(b[0]) / b[1] > Math.abs(a[0]) / a[1] ? b : a)), index = scale.index(value, max);
        if (![index - 1, index, index + 1].some((near) => scale.pixels[near] === color)) wrong.push([i0, j0, value, color.toString(16)]);
    });
    return { shown, empty, wrong: wrong.slice(0, 5) };
};

test("where a pixel covers several cells it shows the largest: of every sign, each row's share, floats and doubles, masked ones left out", async (t) => {
    const page = await open(t), request = { seed: 5, x: { shape: [1500, 8] }, projection: "identity", causal: true };
    for (const precision of ["float32", "float64"]) {
        await useJson(page, { ...request, precision });
        await after(page, () => page.selectOption("#mode", "linear"));
        for (const [stage, mode] of [["weights", "linear"], ["weights", "row"], ["scores", "linear"], ["masked_scores", "log"]]) {
            if (stage !== await page.evaluate(() => document.getElementById("map").map.picture.stage)) await useStage(page, stage);
            if (mode !== await page.inputValue("#mode")) await after(page, () => page.selectOption("#mode", mode));
            await page.waitForFunction((name) => document.getElementById("map").map.picture.stage === name && document.getElementById("map").dataset.whole === "true", stage);
            for (const tile of [[1, 1, 1], [1, 5, 5], [2, 0, 2], [3, 1, 1]]) {
                const { shown, empty, wrong } = await page.evaluate(checkTile, tile);
                equal(wrong, [], `${precision} ${stage} ${mode} ${tile}`);
                ok(shown > 0 && (empty > 0) === (stage !== "scores" && tile[1] === tile[2]), `${precision} ${stage} ${mode} ${tile}: ${shown} shown, ${empty} empty`);
            }
        }
        await after(page, () => page.selectOption("#mode", "linear"));
    }
});
