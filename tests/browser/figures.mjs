// figures.mjs: the pictures that the page exports: PNG and SVG of every view say the same, whole, legible, and with nothing from outside.

import { readFileSync } from "node:fs";
import { after, equal, linkTo, near, ok, open, test, useJson, usePreset, useStage, useView } from "./harness.mjs";
import { exported } from "./export.mjs";

const read = async (page, name) => readFileSync(await exported(page, name), name === "svg" ? "utf8" : null);

// What an SVG says, as texts; throws where a text is clipped or covers another. Slanted texts may cross each other's boxes.
export async function textsOf(page, svg) {
    ok(!/var\(|<style|(href|src)="(?!#|data:image\/(png|jpeg))/.test(svg), "nothing from outside");
    const { texts, faults } = await page.evaluate((source) => {
        const host = document.createElement("div");
        host.innerHTML = source;
        document.body.append(host);
        const box = host.firstChild.getBoundingClientRect(), marks = [...host.querySelectorAll("g[aria-label], text")];
        const all = marks.map((one) => ({ name: one.getAttribute("aria-label") ?? one.textContent, slanted: /rotate/.test(one.getAttribute("transform")), ...one.getBoundingClientRect().toJSON() }));
        const clipped = all.filter(({ left, top, right, bottom }) => left < box.left || top < box.top || right > box.right || bottom > box.bottom);
        const flat = all.filter(({ slanted }) => !slanted), overlaps = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        const covered = flat.flatMap((a, i) => flat.slice(i + 1).filter((b) => overlaps(a, b)).map((b) => `${a.name} and ${b.name}`));
        host.remove();
        return { texts: all.map(({ name }) => name), faults: [...clipped.map(({ name }) => `clipped: ${name}`), ...covered] };
    }, svg);
    equal(faults, [], "clipped or covered");
    return texts;
}

// Checks both pictures of what is shown. Returns the SVG and its texts.
export async function checked(page, what) {
    const svg = await read(page, "svg"), png = await read(page, "png"), [, width, height] = /<svg [^>]*width="(\d+)" height="(\d+)"/.exec(svg);
    equal([what, png.readUInt32BE(16), png.readUInt32BE(20)], [what, 2 * width, 2 * height], "the PNG is twice as large");
    return { svg, png, texts: await textsOf(page, svg) };
}

export const has = (texts, ...wanted) => wanted.forEach((one) => ok(texts.some((text) => text.includes(one)), `no “${one}” in ${JSON.stringify(texts)}`));

export const pixel = (page, png, x, y) => page.evaluate(async ([data, left, top]) => {
    const image = new Image();
    image.src = data;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return [...context.getImageData(left, top, 1, 1).data];
}, [`data:image/png;base64,${png.toString("base64")}`, x, y]);

test("PNG and SVG show the same cells, with axes, bar and caption, on white in dark, too; zoomed, the cells in view", async (t) => {
    const page = await open(t, { scheme: "dark" }), { svg, png, texts } = await checked(page, "map");
    equal((svg.match(/<title>[^<]*→/g) ?? []).length, 64, "cells");
    ok(svg.includes("<title>7 → 3: 0.2297</title>") && svg.includes("<title>0 → 5: masked</title>"), "their numbers");
    const cell = /<rect x="0" y="0" width="(\d+)"[^>]*fill="rgb\(253,231,37\)"/.exec(svg), [, left, top] = /translate\((\d+) (\d+)\)"><g shape-rendering/.exec(svg);
    ok(cell, "weight 1 in viridis");
    near(await pixel(page, png, 2 * (12 + Number(left) + 4), 2 * (12 + Number(top) + 4)), [253, 231, 37, 255], 3, "weight 1");
    near(await pixel(page, png, 2, 2), [255, 255, 255, 255], 0, "paper");
    has(texts, "keys →", "queries ↓", "sum", "weight", "0.23", "Attention weights, item 0", "8 queries, 8 keys. Hatched: masked. Notebook head. Scale 1, causal");
    await after(page, () => page.selectOption("#mode", "row"));
    ok(/fill="rgb\(253,231,37\)"[^>]*><title>7 → 6: 0\.2423/.test(await read(page, "svg")), "the largest of row 7, per row");
    await useStage(page, "scores");
    const light = await checked(page, "scores");
    ok(/rgb\(138,63,0\)/.test(light.svg) && !/rgb\(255,207,148\)/.test(light.svg), "the colours of a light page");
    for (let i = 0; i < 4; i++) await page.click("[aria-label='Zoom in']");
    const zoomed = await checked(page, "zoomed");
    ok((zoomed.svg.match(/<title>[^<]*→/g) ?? []).length < 64, "cells out of view");
    has(zoomed.texts, "Queries ");
});

test("every view as PNG and SVG: whole words, nothing clipped or covered; tables, too", async (t) => {
    const page = await open(t), long = "W".repeat(14);
    await usePreset(page, "grouped");
    has((await checked(page, "heads")).texts, "key head 1", "head 7", "mean", "Attention weights of all heads");
    await page.click("#labels summary");
    await after(page, () => page.fill("#labels-cols", JSON.stringify(Array.from({ length: 16 }, (_, i) => (i === 3 ? "<&\" Ж中" : `${long}${i}`)))));
    await useView(page, "map");
    has((await checked(page, "map")).texts, `${long}0`, "<&\"␣Ж中");
    await useView(page, "heads");
    for (const head of [0, 5]) await after(page, () => page.click(`[aria-label="Head ${head}"]`, { modifiers: ["Shift"] }));
    await useView(page, "lines");
    const lines = await checked(page, "lines");
    equal((lines.svg.match(/stroke-opacity/g) ?? []).length, await page.locator("#lines path").count(), "lines");
    has(lines.texts, `${long}15`, "head 0", "head 5", "queries", "keys", "at most 8 of each query and head, from 5.00 % up");
    await useView(page, "stages");
    has((await checked(page, "stages")).texts, "Scores", "Masked scores", "Attention weights", "Output", "dimensions →", "From scores to output, head 0");
    await useView(page, "compare");
    await page.waitForFunction(() => document.getElementById("largest").textContent);
    has((await checked(page, "compare")).texts, "A", "B", "B − A", "difference", "Largest difference");
    await useView(page, "table");
    has((await checked(page, "table")).texts, `${long}0`, "Grey: masked.", await page.textContent("#numbers tbody tr:last-child td:last-child"));
    await useView(page, "yours");
    await page.click("#export summary");
    await page.click("#export [data-name=png]");
    await page.waitForFunction(() => /no picture here/.test(document.getElementById("problem").textContent));
});

test("figures of locked tokens, of all layers and heads, of 300 tokens, and with mask reasons", async (t) => {
    const page = await open(t, { hash: linkTo({ preset: "sentence", view: { batch: 1, head: 2, queries: [11, 12, 13], keys: [10] } }) });
    has((await checked(page, "locked")).texts, "Not faded: queries “question”, keys “the”.", "0.75", "0.10");
    await useView(page, "heads");
    has((await checked(page, "layers and heads")).texts, "layer 3", "head 3", "rollout", "of all layers and heads");
    await after(page, () => page.selectOption("#heads-order", "first"));
    has((await checked(page, "ordered")).texts, "1.1", " %", "ordered by first token");
    await usePreset(page, "window");
    await after(page, () => page.check("#mask-reasons"));
    has((await checked(page, "reasons")).texts, "causal", "window");
    await useJson(page, { seed: 1, x: { shape: [300, 8] }, projection: "identity", causal: true });
    await useView(page, "map");
    const { svg, texts } = await checked(page, "300 tokens");
    ok(svg.includes("data:image/png") && !svg.includes("→ 5:"), "a bitmap");
    has(texts, "280", "of each row's largest");
});
