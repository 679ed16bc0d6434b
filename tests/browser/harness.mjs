// harness.mjs: a daemon, a browser, and tests that also fail on a console error, a request to another host or an uncaught exception.
//
//   test("the first picture is the notebook's head", async (t) => {
//       const page = await open(t);
//       ...
//   });
//
// ATTND_BIN is the daemon (build/attnd), CHROMIUM the browser (else the first of BROWSERS). Screenshots go to build/browser.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";

export const TOP = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const ARTEFACTS = join(TOP, "build/browser");
const TEST_TIMEOUT_MS = 180000;

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];

const tests = [];

export function test(name, body) {
    tests.push({ name, body });
}

// ---- assertions ----

export function equal(got, want, what = "value") {
    const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
    if (a !== b) throw new Error(`${what}: got ${String(a).slice(0, 600)}, expected ${String(b).slice(0, 600)}`);
}

export function ok(truth, what) {
    if (!truth) throw new Error(what);
}

// Nested arrays of numbers.
export function near(got, want, tolerance, what = "numbers") {
    if (Array.isArray(want)) {
        equal(got.length, want.length, `${what}: length`);
        want.forEach((x, i) => near(got[i], x, tolerance, `${what}[${i}]`));
    } else if (typeof want === "string") equal(String(got), want, what);
    else if (!(Math.abs(got - want) <= tolerance)) throw new Error(`${what}: got ${got}, expected ${want}`);
}

// ---- the daemon and the browser ----

export async function startDaemon(...options) {
    const program = process.env.ATTND_BIN ?? join(TOP, "build/attnd");
    const daemon = spawn(program, ["--listen", "127.0.0.1:0", "--web-root", join(TOP, "build/web"), ...options],
        { stdio: ["ignore", "pipe", "ignore"] });
    const ended = once(daemon, "exit").then(() => { throw new Error(`${program} ended`); });
    const [line] = await Promise.race([once(daemon.stdout.setEncoding("utf8"), "data"), ended]);
    ended.catch(() => {});
    return {
        url: `${/http:\/\/\S+/.exec(line)[0]}/`,
        stop: async () => {
            daemon.kill("SIGTERM");
            await once(daemon, "exit");
        },
    };
}

// Chromium without windows takes half the time; it is not everywhere.
const BROWSERS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export const startBrowser = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? BROWSERS.find(existsSync), args: FLAGS });

export const world = { url: "" };

// The fragment of a link that holds a state of the page, and back.
export const linkTo = (state) => `#s=${deflateRawSync(JSON.stringify({ v: 1, view: {}, ...state })).toString("base64url")}`;
const stateOf = (hash) => JSON.parse(inflateRawSync(Buffer.from(hash.slice("#s=".length), "base64url")));

const NOTEBOOK_LINK = linkTo({ preset: "notebook", view: { cell: [7, 3] } });

// Opens a new page in the test's browser, with the notebook's head unless `hash` or `path` say otherwise. t.expect(/pattern/) allows a console message that would fail the test otherwise.
export async function open(t, { path = "", hash = path ? "" : NOTEBOOK_LINK, width = 1280, height = 900, scheme = "light", url = world.url, wait = true, ...options } = {}) {
    const permissions = url.startsWith("http") ? ["clipboard-read", "clipboard-write"] : [];
    const context = await t.browser.newContext({ viewport: { width, height }, colorScheme: scheme, permissions, reducedMotion: "reduce", ...options });
    t.contexts.push(context);
    const page = await context.newPage();
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && t.unexpected(`console ${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => t.unexpected(`exception: ${error.stack}`));
    page.on("request", (request) => {
        if (![url, world.url].some((own) => request.url().startsWith(own)) && !/^(data|blob|file):/.test(request.url())) t.unexpected(`request to another host: ${request.url()}`);
    });
    await page.goto(`${url}${path}${hash}`);
    if (wait) await drawn(page);
    return page;
}

const idle = (n) => Number(document.body.dataset.drawn ?? 0) > n && document.getElementById("picture").getAttribute("aria-busy") !== "true";

export const drawn = (page) => page.waitForFunction(idle, 0);

// Runs `action`, and waits until what it starts is computed and drawn.
export async function after(page, action) {
    const before = await page.evaluate(() => Number(document.body.dataset.drawn ?? 0));
    const result = await action();
    await page.waitForFunction(idle, before);
    return result;
}

// Waits until the address, which follows the page's state, holds one that `holds` accepts. Returns the address's fragment.
export async function linked(page, holds) {
    for (;;) {
        const hash = await page.evaluate(() => location.hash);
        if (hash.startsWith("#s=") && holds(stateOf(hash))) return hash;
        await page.waitForTimeout(20);
    }
}

export const usePreset = (page, id) => after(page, () => page.selectOption("#preset", id));
export const useView = (page, name) => after(page, () => page.click(`#view-${name}`));
export const useStage = (page, name) => after(page, () => page.click(`[data-stage="${name}"]`));

// Opens the page's JSON box, which then shows the request.
export const openJson = (page) => page.$eval("#json-part", (details) => details.open || new Promise((resolve) => {
    details.addEventListener("toggle", resolve, { once: true });
    details.querySelector("summary").click();
}).then(() => true));

// Puts JSON into the page's box and uses it.
export async function useJson(page, value) {
    await openJson(page);
    await page.fill("#json", typeof value === "string" ? value : JSON.stringify(value));
    await after(page, () => page.click("#json-apply"));
}

export function toNumber(text) {
    const plain = text.replace("−", "-").replace(/\s/g, "");
    if (plain === "∞" || plain === "-∞") return plain === "∞" ? "Infinity" : "-Infinity";
    return plain.endsWith("%") ? Number(plain.slice(0, -1)) / 100 : Number(plain);
}

// The numbers in the table.
export async function readTable(page) {
    if (!(await page.$("#numbers"))) await useView(page, "table");
    const texts = await page.$$eval("#numbers tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
    return texts.map((row) => row.map(toNumber));
}

// Chooses a cell in the table.
export async function chooseCell(page, i, j) {
    if (!(await page.$("#numbers"))) await useView(page, "table");
    await page.click(`#numbers tbody tr:nth-child(${i + 1}) td:nth-child(${j + 2})`);
}

// Asks the daemon directly.
export async function ask(request, names, url = world.url) {
    const response = await fetch(`${url}attention`, { method: "POST", body: JSON.stringify({ ...request, return: names }) });
    return response.json();
}

export const readJson = (path) => JSON.parse(readFileSync(join(TOP, path), "utf8"));

// ---- accessibility and layout ----

const axeSource = readFileSync(join(TOP, "tests/browser/node_modules/axe-core/axe.min.js"), "utf8");

// What axe-core finds, as text. `rules`: only these.
export async function violations(page, rules = null) {
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
    const { violations: found } = await page.evaluate((runOnly) => window.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) }), rules);
    return found.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(" | ")}`);
}

// How much wider the page is than its window.
export const stickingOut = (page) => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

export const shoot = (page, name) => page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: true });

// ---- running ----

const LANES = 2; // tests at a time, each lane with a browser of its own: a browser has one clipboard

function newTest(browser) {
    const expected = [], found = [];
    return { browser, contexts: [], found, expect: (pattern) => expected.push(pattern),
        unexpected: (text) => { if (!expected.some((pattern) => pattern.test(text))) found.push(text); } };
}

async function runOne({ name, body }, browser) {
    const t = newTest(browser), begun = Date.now();
    let timer, problem = "";
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`not finished after ${TEST_TIMEOUT_MS} ms`)), TEST_TIMEOUT_MS); });
    try {
        await Promise.race([body(t), late]);
        ok(!t.found.length, t.found.join("\n"));
    } catch (error) {
        const [page] = t.contexts.flatMap((context) => context.pages());
        await page?.screenshot({ path: join(ARTEFACTS, `failed-${name.replace(/\W+/g, "-").slice(0, 60)}.png`) }).catch(() => {});
        const where = error.stack.split("\n").filter((line) => line.includes("/tests/browser/")).slice(0, 3);
        problem = [error.message, ...where, ...t.found].join("\n");
    } finally {
        clearTimeout(timer);
        for (const context of t.contexts) await context.close().catch(() => {});
    }
    return { problem, ms: Date.now() - begun };
}

// Takes tests from `queue`, [number, test] pairs, until it is empty, and prints TAP. Returns how many failed.
async function runLane(queue) {
    const browser = await startBrowser();
    let failed = 0;
    for (let next = queue.shift(); next; next = queue.shift()) {
        const [number, one] = next, { problem, ms } = await runOne(one, browser);
        if (problem) failed++;
        console.log(`${problem ? "not ok" : "ok"} ${number} - ${one.name} (${ms} ms)${problem && `\n${problem.replace(/^/gm, "# ")}`}`);
    }
    await browser.close();
    return failed;
}

// Runs the tests whose names contain `pattern`.
export async function run(pattern = "") {
    mkdirSync(ARTEFACTS, { recursive: true });
    const daemon = await startDaemon(), queue = tests.filter(({ name }) => name.includes(pattern)).map((one, i) => [i + 1, one]);
    world.url = daemon.url;
    console.log(`1..${queue.length}`);
    const none = !queue.length, failed = await Promise.all(Array.from({ length: Math.min(LANES, queue.length) }, () => runLane(queue)));
    await daemon.stop();
    process.exitCode = none || failed.some(Boolean) ? 1 : 0;
}
