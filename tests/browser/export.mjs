// export.mjs: exports are opened again and compared: links, code, CSV, safetensors, self-contained HTML. figures.mjs has the pictures.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, ask, chooseCell, drawn, equal, linkTo, linked, near, ok, open, readTable, test, useJson, usePreset, useStage, useView, world } from "./harness.mjs";
import { PRESETS } from "../../web/src/presets.js";

const NOTEBOOK = { seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 };
const AS_PRINTED = 0.5e-4 + 1e-9;
const folder = mkdtempSync("/tmp/attnd-browser-");

// Exports, and returns the file's path.
export async function exported(page, name) {
    await page.click("#export summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#export [data-name=${name}]`)]);
    const path = join(folder, `${Math.random().toString(36).slice(2)}-${download.suggestedFilename()}`);
    await download.saveAs(path);
    return path;
}

async function copied(page, name) {
    await page.click("#copy summary");
    await page.click(`#copy [data-name=${name}]`);
    await page.waitForFunction(() => /copied/.test(document.getElementById("note").textContent));
    return page.evaluate(() => navigator.clipboard.readText());
}

test("a link holds request, view, stage, item, cell and labels", async (t) => {
    const page = await open(t);
    await useJson(page, { seed: 3, x: { shape: [2, 6, 8] }, num_heads: 2, head_size: 4, window: [2, 1] });
    await page.click("#labels summary");
    await after(page, () => page.fill("#labels-cols", "a b c d e f"));
    await useStage(page, "scores");
    await after(page, () => page.selectOption("#pick-batch", "1"));
    await after(page, () => page.selectOption("#pick-head", "1"));
    await after(page, () => page.selectOption("#palette", "cividis"));
    await chooseCell(page, 4, 2);
    await page.click("#permalink");
    await page.waitForFunction(() => /copied/.test(document.getElementById("note").textContent));
    const link = await page.evaluate(() => navigator.clipboard.readText());
    ok(link.startsWith(`${world.url}#s=`), link);
    const other = await open(t, { hash: link.slice(world.url.length) });
    await other.waitForSelector("#numbers");
    equal(await readTable(other), await readTable(page), "numbers");
    equal(await other.textContent("#cell-title"), "query 4 → key 2 c", "cell");
    equal(await other.inputValue("#f-window"), "[2,1]", "a field");
    await useView(other, "map");
    equal(await other.inputValue("#palette"), "cividis", "palette");
});

test("the address follows the state, and a reload restores it; your weights, too", async (t) => {
    const page = await open(t);
    await usePreset(page, "window");
    await linked(page, ({ preset }) => preset === "window");
    await page.reload();
    await drawn(page);
    equal(await page.inputValue("#preset"), "window", "preset");
    await useJson(page, [[0.25, 0.75]]);
    await linked(page, ({ own }) => own);
    await page.reload();
    await drawn(page);
    near(await readTable(page), [[0.25, 0.75]], 1e-6, "own weights");
});

test("weights that are too large for an address leave none behind", async (t) => {
    const page = await open(t), row = Array.from({ length: 200 }, () => 0.005);
    await useJson(page, [[0.25, 0.75]]);
    await linked(page, ({ own }) => own);
    await useJson(page, Array.from({ length: 200 }, () => row));
    await page.waitForFunction(() => location.hash === "");
    await page.click("#permalink");
    await page.waitForFunction(() => /too large for an address/.test(document.getElementById("problem").textContent));
});

test("a damaged link is said to be damaged, on a new page and on one that is open", async (t) => {
    const text = (page) => page.waitForFunction(() => !document.getElementById("problem").hidden).then(() => page.textContent("#problem"));
    for (const hash of ["#s=broken", "#s=!", linkTo({ v: 2 }), linkTo({ own: { shape: [2, 2], data: [1] } }), linkTo({ preset: "none" })]) {
        const page = await open(t, { hash, wait: false }), said = await text(page);
        ok(/link is damaged|link is of a preset/.test(said), `${hash}: ${said}`);
        equal(await page.$$eval("#picture canvas", (all) => all.length), 0, "pictures");
        await usePreset(page, "window");
        equal(await page.isVisible("#problem"), false, "a preset starts over");
    }
    const view = { tab: "none", stage: "none", palette: "none", compare: "none", head: {}, cell: [1], zoom: ["a"], heads: 3, batch: -1, topk: "many", unknown: 1 };
    const odd = await open(t, { hash: linkTo({ preset: "grouped", view }) });
    equal([await odd.isVisible("#map"), await odd.inputValue("#pick-head"), await odd.inputValue("#palette")], [true, "0", "viridis"], "settings that are not known have their defaults");
    await useView(odd, "compare");
    const page = await open(t);
    await page.evaluate(() => { location.hash = "#s=broken"; });
    ok(/damaged/.test(await text(page)), "on an open page");
    await page.waitForFunction(() => !document.querySelector("#picture canvas"));
});

test("a link pasted into the open page shows what it shows on a new one; threshold and zoom are in it", async (t) => {
    const page = await open(t);
    await useJson(page, { seed: 3, x: { shape: [1, 40, 8] }, projection: "identity" });
    await page.click("[aria-label='Zoom in']");
    await page.click("[aria-label='Zoom in']");
    const zoomed = await page.evaluate(() => document.getElementById("map").map.readZoom());
    await useView(page, "lines");
    await page.fill("#threshold", "0.25");
    await page.mouse.move(0, 0); // a line under it would be described instead
    const hash = await linked(page, ({ view }) => view.threshold === 0.25), lines = await page.textContent("#lines-about");
    await usePreset(page, "alibi");
    await linked(page, ({ preset }) => preset === "alibi");
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.waitForFunction((about) => document.getElementById("lines-about")?.textContent === about, lines);
    await useView(page, "map");
    near(await page.evaluate(() => document.getElementById("map").map.readZoom()), zoomed, 1e-3, "zoom");
    await usePreset(page, "alibi");
    await after(page, () => page.evaluate((to) => { location.hash = to; }, linkTo({ preset: "scaled" })));
    equal([await page.inputValue("#preset"), await page.getAttribute("#view-map", "aria-selected")], ["scaled", "true"], "what a link does not say has its default");
});

test("CSV has all digits, and the labels", async (t) => {
    const page = await open(t), { weights } = await ask(NOTEBOOK, ["weights"]);
    await page.click("#labels summary");
    await after(page, () => page.fill("#labels-rows", "[\"a,b\", \"c\\\"d\"]"));
    const lines = readFileSync(await exported(page, "csv"), "utf8").trim().split("\n");
    equal(lines[0], ",0,1,2,3,4,5,6,7", "head");
    ok(lines[1].startsWith("\"a,b\",1,0,"), lines[1]);
    ok(lines[2].startsWith("\"c\"\"d\","), lines[2]);
    equal(lines[8].split(",").slice(1).map(Number), weights[0][7], "the last row, to the last digit");
});

test("safetensors has every result, bit by bit", async (t) => {
    const page = await open(t), bytes = readFileSync(await exported(page, "safetensors"));
    const length = Number(bytes.readBigUInt64LE(0)), header = JSON.parse(bytes.subarray(8, 8 + length));
    const reply = await ask(NOTEBOOK, ["weights", "output", "lse"]);
    equal(JSON.parse(header.__metadata__.applied).seed, 1337, "applied");
    for (const name of ["weights", "output", "lse"]) {
        const { dtype, shape, data_offsets: [from, to] } = header[name];
        equal([dtype, shape], ["F32", { weights: [4, 8, 8], output: [4, 8, 16], lse: [4, 8] }[name]], name);
        const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 8 + length + from, bytes.byteOffset + 8 + length + to));
        equal([...numbers], [...Float32Array.from(reply[name].flat(2))], name);
    }
    // And the page opens what it wrote.
    const path = await exported(page, "safetensors");
    await after(page, () => page.setInputFiles("#file", path));
    ok(/results of an earlier request/.test(await page.textContent("#story")), "opened again");
    near((await readTable(page))[7], reply.weights[0][7], AS_PRINTED, "row 7");
    equal([await page.inputValue("#f-scale"), await page.inputValue("#f-x")], ["1", "4 × 8 × 32"], "with its request");
    await useStage(page, "output");
    near((await readTable(page))[7], reply.output[0][7], AS_PRINTED, "and its other results");
});

test("self-contained HTML needs no server", async (t) => {
    const page = await open(t);
    await usePreset(page, "masked");
    const path = await exported(page, "html"), { masked_scores: want } = await ask(NOTEBOOK, ["masked_scores"]);
    const alone = await open(t, { url: `file://${path}` }), asked = [];
    alone.on("request", (request) => asked.push(request.url()));
    near(await readTable(alone), want[0], AS_PRINTED, "numbers");
    equal([await alone.textContent("#headline"), await alone.textContent("#story")], [await page.textContent("#headline"), await page.textContent("#story")], "the caption");
    ok(readFileSync(await exported(alone, "svg"), "utf8").includes("aria-label=\"Masked scores, item 0\""), "a picture of it needs none either");
    await useStage(alone, "weights");
    await chooseCell(alone, 7, 3);
    equal(await alone.textContent("#cell-weight"), "22.97 %", "a cell explained");
    equal(await alone.isVisible("#request"), false, "no form");
    ok((await alone.textContent("#licenses")).includes("d3-zoom"), "the libraries' licences are inside");
    for (const view of ["map", "lines", "stages", "heads"]) await useView(alone, view);
    equal(asked.filter((url) => !/^(data|blob)/.test(url)), [], "requests");
});

test("self-contained HTML shows the view that it was made from: zoom, lines, and the run that this one is compared with", async (t) => {
    const page = await open(t), reopened = async () => open(t, { url: `file://${await exported(page, "html")}` });
    await page.click("[aria-label='Zoom in']");
    const zoomed = await page.evaluate(() => document.getElementById("map").map.readZoom()), map = await reopened();
    near(await map.evaluate(() => document.getElementById("map").map.readZoom()), zoomed, 1e-3, "zoom");
    await useView(page, "compare");
    await page.waitForFunction(() => document.getElementById("largest").textContent);
    const largest = await page.textContent("#largest"), compare = await reopened();
    await compare.waitForFunction((text) => document.getElementById("largest")?.textContent === text, largest);
    equal(await compare.textContent("#picture .hint"), (await page.textContent("#picture .hint")).replace("B: ", "B: pinned, "), "its name");
    const { output } = await ask({ ...NOTEBOOK, scale: 0.25 }, ["output"]);
    await useView(page, "yours");
    await page.setInputFiles("#yours-file", { name: "mine.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify({ output })) });
    await page.waitForFunction(() => document.querySelector("#picture figcaption").textContent);
    ok(/Yours − attnd's: Output, item 0.*output: 1 of 8 rows agree \(=\)/s.test(readFileSync(await exported(page, "svg"), "utf8")), "a figure of other code's results");
    const yours = await reopened(), said = async (one) => [await one.textContent("#verdict"), await one.textContent("#picture figcaption")];
    await yours.waitForFunction(() => document.querySelector("#picture figcaption")?.textContent);
    equal([await said(yours), await yours.$$eval(".apply", (all) => all.length)], [await said(page), 0], "what was found, and nothing to apply it to");
});

// A stand-in for Python's requests, as far as the code needs it.
const REQUESTS = `import json as j, urllib.request
class Reply:
    def __init__(self, r): self.r = r
    def raise_for_status(self): assert self.r.status == 200
    def json(self): return j.loads(self.r.read())
def post(url, json): return Reply(urllib.request.urlopen(urllib.request.Request(url, j.dumps(json).encode(), {"Content-Type": "application/json"})))
`;

test("curl, Python and JavaScript run, and compute what the page shows", async (t) => {
    const page = await open(t), { weights } = await ask(NOTEBOOK, ["weights"]);
    const curl = spawnSync("bash", ["-c", await copied(page, "curl")], { encoding: "utf8" });
    equal(JSON.parse(curl.stdout).weights, weights, "curl");
    writeFileSync(join(folder, "requests.py"), REQUESTS);
    writeFileSync(join(folder, "ask.py"), await copied(page, "python"));
    const python = spawnSync("python3", ["ask.py"], { cwd: folder, encoding: "utf8" });
    equal(JSON.parse(python.stdout || JSON.stringify(python.stderr)), weights, "Python");
    writeFileSync(join(folder, "ask.mjs"), `${await copied(page, "javascript")}\nconsole.log(JSON.stringify(weights));`);
    const node = spawnSync(process.execPath, [join(folder, "ask.mjs")], { encoding: "utf8" });
    equal(JSON.parse(node.stdout || JSON.stringify(node.stderr)), weights, "JavaScript");
});

test("the PyTorch code is valid Python for every preset, and states the request", async (t) => {
    const page = await open(t), all = [];
    for (const { id } of PRESETS.filter(({ request }) => request)) {
        await usePreset(page, id);
        const code = await copied(page, "pytorch");
        all.push(code);
        ok(code.includes("torch.manual_seed(1337)"), `${id}: seed`);
        if (id === "sinks") ok(code.includes("sinks = torch.tensor([1.5]"), code);
        if (id === "window") ok(code.includes("(j < i - 5"), code);
    }
    await useJson(page, { query: [[1, "NaN"]], key: [[1, 0], [0, 1]], value: [[1], [2]], mask: [[true, false]], key_lengths: 2, rope: { style: "half" }, softcap: 3 });
    const code = await copied(page, "pytorch");
    all.push(code);
    equal(spawnSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], { input: all.join("\n"), encoding: "utf8" }).stderr, "", "syntax");
    ok(code.includes("tensor([[True,False]], dtype=torch.bool)") && code.includes("float(\"NaN\")"), code);
});
