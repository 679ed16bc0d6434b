// image.mjs: weights over a picture whose patches are the keys.

import { changedGrid, guessGrid, partOf } from "../../web/src/patches.js";
import { exported } from "./export.mjs";
import { checked, has, pixel } from "./figures.mjs";
import { after, equal, linked, near, ok, open, test, useJson, useView, violations } from "./harness.mjs";

test("grids of patches: guessed from the number of keys and the picture's shape, and followed from one number", () => {
    const guesses = { 196: [14, 14, 0], 197: [14, 14, 1], 201: [14, 14, 5], 198: [14, 14, 2], 50: [7, 7, 1], 1370: [37, 37, 1], 17: [4, 4, 1] };
    for (const [keys, grid] of Object.entries(guesses)) equal(guessGrid(Number(keys)), grid, `${keys} keys`);
    equal(guessGrid(192, 4 / 3), [12, 16, 0], "of a picture of 4 : 3");
    equal(guessGrid(193, 4 / 3), [12, 16, 1], "with a special token");
    equal(changedGrid([14, 14, 1], "special", 5, 197), [12, 16, 5], "another number of special tokens");
    equal([changedGrid([4, 4, 0], "rows", 2, 16), changedGrid([4, 4, 0], "cols", 16, 16)], [[2, 8, 0], [1, 16, 0]], "rows, and columns");
    equal([changedGrid([4, 4, 0], "rows", 3, 16), changedGrid([4, 4, 0], "special", 16, 16), changedGrid([4, 4, 0], "rows", 1.5, 16)], [null, null, null], "none");
    equal([partOf(640, 480, [4, 4, 0], "crop"), partOf(640, 480, [4, 4, 0], "stretch")], [[80, 0, 480, 480], [0, 0, 640, 480]], "what of the picture");
});

// Two heads over CLS and 3 × 3 patches: each query gives all to the patch on its right (to CLS, where there is none), or half to CLS.
function twoHeads() {
    const row = (at) => Array.from({ length: 10 }, (_, j) => Number(j === at)), right = (i) => (i > 0 && (i - 1) % 3 < 2 ? i + 1 : 0);
    return [Array.from({ length: 10 }, (_, i) => row(right(i))), Array.from({ length: 10 }, (_, i) => row(0).map((x, j) => x / 2 + Number(j === Math.max(i, 1)) / 2))];
}

const RED_AND_BLUE = `<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><rect width="90" height="90" fill="#f00"/><rect x="60" width="30" height="90" fill="#00f"/></svg>`;

test("a picture's patches: dropped and kept here, the query chosen on it, heads side by side, corrected, exported", async (t) => {
    const page = await open(t), about = () => page.textContent("#image-about"), sent = [];
    await useJson(page, { weights: twoHeads() });
    page.on("request", (request) => /^http/.test(request.url()) && sent.push(request.url()));
    await after(page, () => page.setInputFiles("#file", { name: "two.svg", mimeType: "image/svg+xml", buffer: Buffer.from(RED_AND_BLUE) }));
    ok(/two\.svg.*not sent, and not in the link/.test(await page.textContent("#picture")), "the page says where it stays");
    equal(await Promise.all(["rows", "cols", "special", "query"].map((name) => page.inputValue(`#image-${name}`))), ["3", "3", "1", "0"], "the grid, and CLS");
    const box = await page.locator("#image").boundingBox();
    await page.locator("#image").click({ position: { x: box.width / 2, y: box.height / 2 } });
    equal(await about(), "Query 5, the patch in row 1, column 1, gives 100.00 % to the patches, 0.00 % to 1 special token; most, 100.00 %, to row 1, column 2 (head 0).", "the query");
    equal(await page.textContent("#cell-title"), "query 5 → key 5", "it is the page's");
    await page.keyboard.press("ArrowUp");
    ok((await about()).startsWith("Query 2, the patch in row 0, column 1, "), await about());
    equal(await page.textContent("#announcer"), await about(), "announced");
    await after(page, () => page.click("[aria-label='head 1']"));
    ok((await about()).includes("50.00 % to the patches, 50.00 % to 1 special token"), await about());
    equal(await page.$$eval("#picture .thumb", (all) => all.map((one) => one.getAttribute("aria-label"))), ["head 0", "head 1", "mean"], "heads");
    const { svg, png, texts } = await checked(page, "image");
    has(texts, "picture, query framed", "head 0", "head 1", "mean", "Attention of query 2", "What query 2 of 10, the framed patch in row 0, column 1", "each head to its largest");
    equal((svg.match(/image\/jpeg/g) ?? []).length, 1, "the picture is in it once");
    const [, left] = /<g transform="translate\((\d+) 0\)"><use xlink:href="#picture"\/><image/.exec(svg), at = (column, row) => pixel(page, png, 2 * (12 + Number(left) + 50 * column + 25), 2 * (12 + 50 * row + 25));
    near([await at(2, 0), await at(0, 2)], [[152, 139, 124, 255], [143, 1, 50, 255]], 6, "head 0: 60 % of the last colour over blue, of the first over red");
    await page.fill("#image-rows", "2");
    await page.press("#image-rows", "Tab");
    equal([await page.textContent("#image-problem"), await page.inputValue("#image-rows")], ["10 keys are no grid with 2 rows after 1 special tokens.", "3"], "no grid");
    await after(page, async () => { await page.fill("#image-special", "0"); await page.press("#image-special", "Tab"); });
    equal(await page.inputValue("#image-cols"), "5", "corrected");
    await linked(page, ({ view, ...rest }) => view.tab === "image" && String(view.grid) === "2,5,0" && !JSON.stringify(rest).includes("two.svg"));
    equal([sent.filter((url) => !/assets.font/.test(url)), await violations(page)], [[], []], "requests, and what axe finds");
    const alone = await open(t, { url: `file://${await exported(page, "html")}` });
    ok(/two\.svg/.test(await alone.textContent("#picture")) && await alone.inputValue("#image-cols") === "5", "self-contained HTML has the picture");
});

test("keys are patches, queries are words: a click chooses a key; a file that is no picture is said to be none", async (t) => {
    t.expect(/two\.png|Failed/);
    const page = await open(t);
    await useJson(page, { weights: [Array.from({ length: 9 }, (_, j) => Number(j === 4)), Array(9).fill(1 / 9)] });
    await useView(page, "image");
    await page.focus("#image");
    await page.keyboard.press("ArrowDown");
    equal(await page.textContent("#cell-title"), "query 0 → key 3", "the key below the first");
    await page.fill("#image-query", "1");
    await page.press("#image-query", "Tab");
    ok((await page.textContent("#image-about")).startsWith("Query 1 gives 100.00 % to the patches; most, 11.11 %"), await page.textContent("#image-about"));
    await page.setInputFiles("#image-file", { name: "two.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
    await page.waitForFunction(() => /two\.png: this browser cannot read this picture/.test(document.getElementById("problem").textContent));
});
