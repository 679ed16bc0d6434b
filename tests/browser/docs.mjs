// docs.mjs: the API reference has all of openapi.yaml, its links lead somewhere, and its examples open in the page.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ARTEFACTS, TOP, equal, near, ok, open, readJson, stickingOut, test, violations, world } from "./harness.mjs";

const text = readFileSync(join(TOP, "openapi.yaml"), "utf8");
const between = (from, to) => text.slice(text.indexOf(from), to ? text.indexOf(to) : undefined);
const names = (part, indent) => [...part.matchAll(new RegExp(`^ {${indent}}([/.\\w-]+):$`, "gm"))].map(([, name]) => name);
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.textContent));
const openDocs = (t, options) => open(t, { path: "docs", wait: false, ...options });
const openAll = (page) => page.$$eval("details", (all) => all.forEach((details) => { details.open = true; }));

test("the API reference has every path, schema, field, reply and example of openapi.yaml", async (t) => {
    const page = await openDocs(t), sorted = (list) => [...list].sort();
    equal(sorted(await texts(page, ".operation h3 code")), sorted(names(between("\npaths:", "\ncomponents:"), 2)), "paths");
    const schemas = names(between("\n  schemas:"), 4);
    equal(sorted(await page.$$eval(".schema", (all) => all.map(({ id }) => id))), sorted(schemas.map((name) => `schema-${name}`)), "schemas");
    const fields = names(between("\n    AttentionRequest:", "\n    ResultName:"), 8);
    equal(await texts(page, "#schema-AttentionRequest > .fields > div > dt code"), fields, "the request's fields");
    equal(await texts(page, "#attention .reply > summary > .status"), ["200", "400", "401", "405", "408", "413", "415", "422", "500", "503"], "replies");
    const requests = between("\n  /attention:", "\n  /health/live:").split("      responses:")[0];
    equal((await texts(page, "#attention .example > summary")).length, names(requests, 14).length, "examples");
    equal(await texts(page, "#schema-AttentionRequest > .fields > div:has(> dt code:text-is('softcap')) .type"), ["number, above 0"], "a limit");
});

test("in the API reference anchors are unique, and every link leads to one", async (t) => {
    const page = await openDocs(t), ids = await page.$$eval("[id]", (all) => all.map(({ id }) => id));
    equal(ids.length, new Set(ids).size, "names");
    const links = await page.$$eval("a[href^='#']", (all) => all.map((link) => link.getAttribute("href").slice(1)));
    ok(links.length > 60, "links");
    equal(links.filter((to) => !ids.includes(to)), [], "links that lead nowhere");
    await page.goto(`${world.url}docs#schema-Problem`);
    await page.locator("#schema-Problem").waitFor({ state: "visible" }); // the <details> around it opens
});

test("examples of the API reference open in the page, which draws them or says what is wrong", async (t) => {
    const page = await openDocs(t);
    const examples = await page.$$eval("#attention .example", (all) => all.map((example) => ({
        name: example.querySelector("summary").textContent, link: example.querySelector("a").href,
        reply: JSON.parse(example.querySelectorAll("pre")[1]?.textContent ?? "{}"),
    })));
    t.expect(/status of 4(13|22)/);
    for (const { name, link, reply } of examples) {
        await page.goto("about:blank");
        await page.goto(link);
        if (reply.status) {
            await page.waitForFunction(() => !document.getElementById("problem").hidden);
            ok((await page.textContent("#problem")).startsWith(String(reply.status)), name);
            continue;
        }
        await page.waitForFunction(() => document.body.dataset.drawn);
        const drawn = await page.evaluate(() => Array.from(document.getElementById("map").map.picture.matrix.data));
        const want = reply.weights?.flat?.(Infinity) ?? reply.weights?.data;
        if (want) near(drawn, want.slice(0, drawn.length), 0.5e-4, name);
    }
});

// What the theme changes is colours, so in the dark axe looks at these alone. With all closed it is soon done, so the contents come first.
for (const scheme of ["light", "dark"])
    for (const width of [1280, 390])
        test(`the API reference at ${width} pixels, ${scheme}: axe finds nothing, nothing sticks out`, async (t) => {
            const page = await openDocs(t, { width, height: width === 390 ? 844 : 900, scheme }), rules = scheme === "dark" ? ["color-contrast"] : null;
            const look = (what) => page.screenshot({ path: join(ARTEFACTS, `docs-${what}-${width}-${scheme}.png`) });
            await look("closed");
            equal(await violations(page, rules), [], "axe");
            if (width === 390) {
                await page.getByRole("button", { name: "Contents" }).click();
                await look("contents");
                equal(await violations(page, rules), [], "axe, contents");
                await page.locator("#contents").getByRole("link", { name: "/v2/models/attention/infer" }).click();
                ok(!(await page.isVisible("#contents")), "the contents are closed again");
                ok(await page.locator("#infer h3").evaluate((heading) => heading.getBoundingClientRect().top < 200), "there");
            }
            await openAll(page);
            await look("open");
            equal(await violations(page, rules), [], "axe, all open");
            equal(await stickingOut(page), 0, "pixels too wide");
        });

test("the API reference can be read without scripts, and has the page's theme with them", async (t) => {
    const plain = await openDocs(t, { javaScriptEnabled: false });
    ok(await plain.isVisible("#attention h3"), "an endpoint");
    await plain.locator("#attention .example summary").first().click();
    ok(await plain.isVisible("#attention .example pre"), "its example");
    const page = await open(t);
    await page.click("#theme");
    await page.click("a[href=docs]");
    await page.waitForFunction(() => document.getElementById("theme").textContent !== "Theme");
    equal(await page.evaluate(() => [document.documentElement.dataset.theme, document.getElementById("theme").textContent]), ["dark", "Dark"], "theme");
});

test("in the API reference each field has an address, search finds it, examples are copied and tried", async (t) => {
    t.expect(/status of 422/);
    const page = await openDocs(t), visible = (selector) => page.locator(selector).evaluate((element) => element.checkVisibility());
    await page.keyboard.press("/");
    await page.keyboard.type("max_distance");
    equal(await texts(page, "#found a > :first-child"), ["max_distance", "max_distance", "relative_bias"], "found, by name before by what is said");
    ok(!(await page.isVisible("#contents h2")), "instead of the contents");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash === "#AttentionRequest.relative_bias.max_distance");
    ok(await visible("[id='AttentionRequest.relative_bias.max_distance']"), "there");
    await page.focus("#search");
    await page.keyboard.press("Escape");
    ok(await page.isVisible("#contents h2"), "the contents again");

    const part = page.locator("#attention .try"), pre = part.locator(".reply-part pre");
    await part.getByRole("button", { name: "Try it" }).click();
    await part.getByRole("combobox").selectOption("1");
    await part.getByRole("button", { name: "Send" }).click();
    await pre.waitFor();
    const { head } = readJson("tests/conformance/notebook.json"), { weights } = JSON.parse(await pre.textContent());
    near(weights[0], head.weights_batch0, 0.5e-4 + 1e-9, "the notebook's head");
    await part.getByRole("textbox").fill("{\"seed\": 1}");
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() => document.querySelector("#attention .reply-part .status")?.textContent.startsWith("422"));
    ok(JSON.parse(await pre.textContent()).detail, "an error in the server's words");
    await part.getByRole("button", { name: "As curl" }).click();
    await part.locator("pre").first().locator("xpath=..").getByRole("button").click();
    equal(await page.evaluate(() => navigator.clipboard.readText()), `curl '${world.url}attention' -H 'Content-Type: application/json' -d '{"seed": 1}'`, "copied");
    await page.setViewportSize({ width: 390, height: 844 });
    equal([await stickingOut(page), await violations(page, ["wcag2a"])], [0, []], "on a phone: pixels too wide, axe");
    await page.goto(`${world.url}docs/`);
    equal(page.url(), `${world.url}docs`, "a slash at the end");
});
