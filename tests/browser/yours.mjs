// yours.mjs: "Compare with yours": files of other code's results, the verdict, patches applied, checks, the link that holds it.

import { after, ask, equal, linked, ok, open, test, useJson, useView, violations, stickingOut } from "./harness.mjs";
import { drop, npy, safetensors } from "./files.mjs";

const flat = (numbers) => numbers.flat(Infinity);
const verdict = (page, start) => page.waitForFunction((text) => document.getElementById("verdict")?.textContent.startsWith(text), start);
const names = (page) => page.$$eval(".explanations code", (all) => all.map((one) => one.textContent));

const REQUEST = { seed: 3, x: { shape: [1, 5, 8] }, projection: "identity", num_heads: 2, causal: true };

test("an output of other code is explained, and the patch makes the request agree", async (t) => {
    const page = await open(t);
    await useJson(page, REQUEST);
    await useView(page, "yours");
    const { output } = await ask({ ...REQUEST, scale: 1 }, ["output"]);
    await drop(page, [["output.npy", npy([1, 5, 8], flat(output))]]);
    await verdict(page, "Explained");
    equal(await names(page), ["scale"], "names");
    ok((await page.textContent("#yours-figures")).includes("output"), "figures");
    ok((await page.textContent("#picture figcaption")).includes("1 of 5 rows agree"), await page.textContent("#picture figcaption"));
    equal(await violations(page), [], "accessibility");
    equal(await stickingOut(page), 0, "layout");
    await after(page, () => page.click(".explanations .apply"));
    await verdict(page, "Equal");
    equal(await page.inputValue("#f-scale"), "1", "the field");
    ok((await page.textContent("#picture figcaption")).includes("5 of 5 rows agree"), "picture");
});

test("weights by another name are told by their shape, and checked", async (t) => {
    const page = await open(t);
    await useJson(page, REQUEST);
    await useView(page, "yours");
    const { weights } = await ask({ ...REQUEST, causal: false }, ["weights"]), wrong = flat(weights);
    await drop(page, [["from_my_model.safetensors", safetensors({ a: ["F32", [1, 2, 5, 5], Float32Array.from(wrong)] })]]);
    await verdict(page, "Explained");
    equal(await names(page), ["causal"], "names");
    const checks = await page.$$eval("#yours-checks li", (all) => all.map((one) => one.textContent));
    ok(checks[0].startsWith("✓ every row sums to 1") && checks[3].includes("above the diagonal: not causal"), checks.join("; "));
    wrong[0] = -1;
    wrong[30] = NaN;
    await drop(page, [["weights.json", JSON.stringify({ expected: { weights: { shape: [1, 2, 5, 5], data: wrong.map((x) => (Number.isNaN(x) ? "NaN" : x)) } } })]]);
    await verdict(page, "No convention");
    const found = await page.$$eval("#yours-checks .warn", (all) => all.map((one) => one.textContent));
    equal(found.length, 3, `warnings: ${found.join("; ")}`);
    equal((await names(page)).length, 3, "nearest");
});

test("a link holds what was compared; a file of another shape is refused in words", async (t) => {
    const page = await open(t);
    await useJson(page, REQUEST);
    await useView(page, "yours");
    const { output } = await ask({ ...REQUEST, causal: false, scale: 1 }, ["output"]);
    await drop(page, [["output.npy", npy([1, 5, 8], flat(output))]]);
    await verdict(page, "No convention");
    await page.check("#yours-pairs");
    await verdict(page, "Explained");
    equal((await names(page))[0].split(" + ").sort(), ["causal", "scale"], "names");
    const other = await open(t, { hash: await linked(page, ({ view, yours }) => view.pairs && yours) });
    await verdict(other, "Explained");
    await drop(other, [["numbers.npy", npy([2, 2], [1, 2, 3, 4])]]);
    await other.waitForFunction(() => !document.getElementById("problem").hidden);
    ok((await other.textContent("#problem")).includes("numbers 2 × 2: shaped neither as output 1 × 5 × 8 nor weights"), await other.textContent("#problem"));
});
