// accessibility.mjs: keyboard alone, axe's rules, narrow and wide windows, light and dark. Screenshots of every view are left in
// build/browser.

import { PRESETS } from "../../web/src/presets.js";
import { after, equal, linked, near, ok, open, shoot, stickingOut, test, useJson, usePreset, useView, violations } from "./harness.mjs";

const VIEWS = ["map", "lines", "heads", "stages", "compare", "table", "image"];
// Looks at the page in both themes. What the theme changes is colours, so in the dark axe looks at these alone.
async function lookAt(page, name, width) {
    for (const scheme of ["light", "dark"]) {
        await after(page, () => page.emulateMedia({ colorScheme: scheme }));
        await shoot(page, `${name}-${width}-${scheme}`);
        equal([name, scheme, await violations(page, scheme === "dark" ? ["color-contrast"] : null)], [name, scheme, []], "axe");
    }
    equal([name, await stickingOut(page)], [name, 0], "pixels too wide");
}

for (const width of [1280, 390])
    test(`every view at ${width} pixels, light and dark: axe finds nothing, nothing sticks out`, async (t) => {
        const page = await open(t, { width, height: width === 390 ? 844 : 900, scheme: "dark" });
        for (const key of ["q", "k"]) await page.keyboard.press(key); // locked tokens, in each view
        await page.waitForSelector("#locked .chip >> nth=1");
        for (const view of VIEWS) {
            if (view !== "map") await useView(page, view);
            if (view === "compare") await page.waitForFunction(() => document.getElementById("largest").textContent);
            await lookAt(page, view, width);
        }
        await usePreset(page, "alibi");
        await after(page, () => page.click("[aria-label='Head 1']", { modifiers: ["Alt"] }));
        await lookAt(page, "alibi", width);
        await usePreset(page, "window");
        await after(page, () => page.check("#mask-reasons"));
        await lookAt(page, "window", width);
        ok(await page.$eval("#view-map", (tab) => tab.getBoundingClientRect().left >= tab.parentElement.getBoundingClientRect().left), "the chosen tab is in view");
        if (width !== 390) return;
        for (const tab of ["request", "cell"]) {
            await page.click(`#tab-${tab}`);
            ok(await page.isVisible(`#${tab}`), tab);
            await lookAt(page, tab, width);
        }
    });

test("wide windows: the map is in the middle, ends within the window and fills it, and so do stages and lines; what is taken away is in the header", async (t) => {
    const page = await open(t, { width: 1920, height: 1080 }), sizes = [[1920, 1080], [1440, 900], [1280, 720]];
    const box = (selector) => page.locator(selector).boundingBox();
    for (const [width, height] of sizes) {
        if (width !== sizes[0][0]) await after(page, () => page.setViewportSize({ width, height }));
        const map = await box("#map"), around = await box("#picture .map");
        ok(map.y + map.height <= height && map.height >= 0.6 * height, `${width} x ${height}: the map's ${map.height} pixels end at ${map.y + map.height}`);
        near(map.x + map.width / 2, around.x + around.width / 2, 1, `${width} pixels: the middle`);
        equal([width, await stickingOut(page)], [width, 0], "pixels too wide");
        if (width === 1440) equal(await violations(page), [], "axe");
    }
    equal(await page.$$eval("header #take > *", (all) => all.map(({ id }) => id)), ["permalink", "copy", "export", "note"], "in the header");
    for (const [view, selector, least] of [["stages", "#strip-weights", 150], ["lines", "#lines", 320]]) {
        await useView(page, view);
        const { y, height } = await box(selector);
        ok(height >= least && y + height <= 720, `${view}: ${height} pixels, to ${y + height}`);
    }
});

test("with the keyboard alone: presets, views, stages, cells, heads, help", async (t) => {
    const page = await open(t), press = (key) => page.keyboard.press(key);
    await after(page, () => press("]"));
    equal(await page.inputValue("#preset"), "scaled", "the next preset");
    ok((await page.textContent("#announcer")).startsWith("Scaled head. The same head with"), "it is announced");
    await after(page, () => press("["));
    equal(await page.inputValue("#preset"), "notebook", "and back");
    await press("m");
    equal(await page.evaluate(() => document.activeElement.id), "map", "in the picture");
    await press("ArrowLeft");
    await press("ArrowUp");
    equal(await page.textContent("#cell-title"), "query 6 → key 2", "moved");
    ok((await page.textContent("#announcer")).includes("query 6 → key 2: weights 4.38 %"), await page.textContent("#announcer"));
    await press("Home");
    equal(await page.textContent("#cell-title"), "query 6 → key 0", "Home");
    await press("+");
    ok(await page.evaluate(() => document.getElementById("map").map.transform.k > 1), "zoomed");
    await press("0");
    equal(await page.evaluate(() => document.getElementById("map").map.transform.k), 1, "whole");
    for (const stage of ["value_weights", "output"]) await after(page, () => press("s")).then(() => page.waitForSelector(`[data-stage=${stage}][aria-pressed=true]`));
    equal(await page.getAttribute("[data-stage=output]", "aria-pressed"), "true", "the next stage");
    await after(page, () => press("2"));
    equal(await page.getAttribute("#view-lines", "aria-selected"), "true", "lines");
    equal(await page.evaluate(() => document.getElementById("picture").contains(document.activeElement)), true, "the focus stays in the picture");
    await page.focus("#view-lines");
    await after(page, () => press("ArrowRight"));
    equal(await page.evaluate(() => document.activeElement.id), "view-heads", "tabs by arrows");
    await page.focus(".token, .thumb:not([hidden])").catch(() => {});
    await after(page, () => press("1"));
    await press("?");
    ok(await page.isVisible("#help-dialog"), "help");
    await press("Escape");
    ok(!(await page.isVisible("#help-dialog")), "and it closes");
    await page.focus("#f-scale");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("0.5");
    await after(page, () => press("Control+Enter"));
    ok((await page.textContent("#applied")).includes("scale 0.5"), "run");
});

test("the story: Back and Next, those of the browser too; from a request of one's own it begins anew", async (t) => {
    const page = await open(t, { hash: "" }), at = (id) => page.waitForFunction((name) => document.getElementById("preset").value === name, id);
    const [first, second, third] = PRESETS;
    await at(first.id);
    ok(await page.locator("#preset-back").isDisabled(), "the first step");
    await after(page, () => page.click("#preset-next"));
    await linked(page, ({ preset }) => preset === second.id); // the address follows a moment later
    await after(page, () => page.click("#preset-next"));
    equal(await page.textContent("#headline"), third.title, "two steps on");
    await linked(page, ({ preset }) => preset === third.id);
    await after(page, () => page.goBack());
    await at(second.id);
    await after(page, () => page.goBack());
    await at(first.id);
    equal([await page.textContent("#step"), await page.evaluate(() => location.hash)], [`1 of ${PRESETS.length}`, ""], "the start");
    await after(page, () => page.goForward());
    await at(second.id);
    await after(page, () => page.click("#preset-back"));
    await at(first.id);
    await useJson(page, [[1]]);
    equal([await page.textContent("#headline"), await page.textContent("#step")], ["Your request", ""], "weights of one's own");
    await after(page, () => page.click("#preset-next"));
    await at(first.id);
});

test("a step of the story fades into the next one of its shape, unless people want no motion", async (t) => {
    for (const reducedMotion of ["no-preference", "reduce"]) {
        const page = await open(t, { reducedMotion });
        await page.evaluate(() => { window.faded = 0; new MutationObserver((all) => { window.faded += all.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node.matches(".dissolving")).length; }).observe(document.querySelector(".map"), { childList: true }); });
        await usePreset(page, "scaled");
        equal([reducedMotion, await page.evaluate(() => window.faded)], [reducedMotion, reducedMotion === "reduce" ? 0 : 1], "of the same shape");
        await usePreset(page, "cross");
        equal(await page.evaluate(() => window.faded), reducedMotion === "reduce" ? 0 : 1, "of another shape");
        await page.waitForFunction(() => !document.querySelector(".dissolving"));
    }
});

test("what is pressed keeps the focus, though it is drawn anew", async (t) => {
    const page = await open(t), press = async (selector, key = "Enter") => {
        await page.focus(selector);
        await after(page, () => page.keyboard.press(key));
        const [name, there] = await page.evaluate((to) => [document.activeElement.outerHTML.slice(0, 80), document.activeElement.matches(to)], selector);
        ok(there, `${selector}: the focus is at ${name}`);
    };
    await press("[aria-label='Next Item']");
    await press("[aria-label='Next Item']");
    equal(await page.inputValue("#pick-batch"), "2", "twice");
    await press("[data-stage=scores]");
    await page.focus("#contributions tbody tr:nth-child(2) button");
    await page.keyboard.press("Enter");
    equal(await page.evaluate(() => document.activeElement.closest("#contributions") !== null), true, "in the panel");
    await usePreset(page, "grouped");
    await page.check("#collect");
    await press("[aria-label='Head 3']");
    equal(await page.getAttribute("[aria-label='Head 3']", "aria-pressed"), "true", "collected");
    await useJson(page, { seed: 1, x: { shape: [200, 4] }, projection: "identity" });
    await useView(page, "table");
    await page.focus("[aria-label='Rows after']");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    ok((await page.textContent("#picture .hint")).startsWith("Rows 128 to 191"), await page.textContent("#picture .hint"));
});

test("everything that can be clicked can be reached by Tab, and shows its focus", async (t) => {
    const page = await open(t), reached = new Set();
    for (let i = 0; i < 90; i++) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => {
            const { activeElement: e } = document, style = getComputedStyle(e);
            return [e.id || e.getAttribute("aria-label") || e.textContent.trim().slice(0, 20), e === document.body || style.outlineStyle !== "none" || e.classList.contains("sr") || e.type === "radio"];
        });
        ok(at[1], `${at[0]} has no outline`);
        if (reached.has(at[0]) && reached.size > 30 && at[0] === "API") break;
        reached.add(at[0]);
    }
    for (const id of ["preset", "preset-next", "theme", "help", "f-seed", "f-causal", "run", "file", "view-map", "map", "palette", "mask-reasons", "permalink"])
        ok(reached.has(id), `${id} was not reached: ${[...reached].join(", ")}`);
});

test("the chosen theme stays, and the daemon's timings are shown", async (t) => {
    const page = await open(t);
    ok(/queue [\d.]+ ms · parse [\d.]+ ms · compute [\d.]+ ms · encode [\d.]+ ms · round trip/.test(await page.textContent("#timings")), await page.textContent("#timings"));
    await page.click("#theme");
    equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "dark");
    await page.reload();
    await page.waitForFunction(() => document.body.dataset.drawn);
    equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "still dark");
});
