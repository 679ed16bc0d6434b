// input.mjs: the form, the server's errors at its fields, pasted JSON, dropped files, weights, token labels.

import { after, ask, chooseCell, drawn, equal, linkTo, near, ok, open, openJson, readTable, test, useJson, usePreset, useStage, useView, violations, stickingOut, world } from "./harness.mjs";
import { drop, npy, npz, safetensors } from "./files.mjs";

const AS_PRINTED = 0.5e-4 + 1e-9;

const type = (page, name, text) => after(page, () => page.fill(`#f-${name}`, text));

test("a changed field is computed by itself", async (t) => {
    const page = await open(t);
    await type(page, "scale", "0");
    const { weights } = await ask({ seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 0 }, ["weights"]);
    near(await readTable(page), weights[0], AS_PRINTED, "weights");
    await type(page, "x", "2 x 5 x 32");
    equal((await readTable(page)).length, 5, "rows");
    await after(page, () => page.selectOption("#f-causal", ""));
    near((await readTable(page))[0], [0.2, 0.2, 0.2, 0.2, 0.2], AS_PRINTED, "first row of an encoder");
});

test("what the server refuses is shown at its field, in the server's words", async (t) => {
    t.expect(/status of 422/);
    const page = await open(t);
    await page.click("#more summary");
    await page.fill("#f-context", "4, 3, 32");
    await page.waitForFunction(() => document.getElementById("e-causal").textContent);
    const { detail } = await ask({ seed: 1337, x: { shape: [4, 8, 32] }, context: { shape: [4, 3, 32] }, head_size: 16, causal: true, scale: 1 }, ["weights"]);
    equal(await page.textContent("#e-causal"), detail, "at causal");
    equal(await page.getAttribute("#f-causal", "aria-invalid"), "true", "aria-invalid");
    ok((await page.textContent("#problem")).includes(detail), "and above the picture");
    await after(page, () => page.selectOption("#f-causal", "bottom_right"));
    equal(await page.textContent("#e-causal"), "", "mended");
    equal(await page.isVisible("#problem"), false, "problem");
    for (const [name, text] of [["window", "[1]"], ["softcap", "-1"], ["sinks", "[1, 2, 3]"], ["mask", "[true, false]"], ["rope", "{\"style\": \"x\"}"]]) {
        await page.fill(`#f-${name}`, text);
        await page.waitForFunction((id) => document.getElementById(id).textContent, `e-${name}`);
        await after(page, () => page.fill(`#f-${name}`, ""));
        equal(await page.textContent(`#e-${name}`), "", `${name}, mended`);
    }
});

test("what is neither a number nor JSON is refused before it is sent", async (t) => {
    const page = await open(t);
    await page.fill("#f-seed", "twelve");
    equal(await page.textContent("#e-seed"), "\"twelve\" is not a number", "seed");
    await page.click("#more summary");
    await page.fill("#f-mask", "[[1, ");
    ok(/not JSON/.test(await page.textContent("#e-mask")), "mask");
});

test("a request is pasted, into the box and onto the page", async (t) => {
    t.expect(/status of 422/);
    const page = await open(t), request = { query: [[1, 0], [0, 1]], key: [[1, 0], [0, 1]], value: [[10], [20]] };
    await useJson(page, request);
    near(await readTable(page), [[0.6698, 0.3302], [0.3302, 0.6698]], AS_PRINTED, "weights");
    equal(await page.isChecked("input[value=qkv]"), true, "source");
    await useStage(page, "output");
    near(await readTable(page), [[13.3024], [16.6976]], AS_PRINTED, "output");
    const paste = (text) => page.evaluate((data) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text", data);
        document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    }, text);
    await after(page, () => paste(JSON.stringify({ ...request, scale: 0 })));
    near(await readTable(page), [[15], [15]], AS_PRINTED, "output with scale 0");
    await paste("hello");
    ok(/neither a request nor weights: this is not JSON .*the page opens \.npy/.test(await page.textContent("#problem")), "what is neither");
    await after(page, () => paste(` https://attention.example/page${linkTo({ preset: "alibi" })}\n`));
    equal(await page.inputValue("#preset"), "alibi", "a link");
    await paste("{\"query\": [[1]], \"kee\": [[1]], \"value\": [[1]]}");
    await page.waitForFunction(() => /did you mean/.test(document.getElementById("problem").textContent));
});

test("the JSON box says what it cannot read, reads curl commands, and is run by Ctrl+Enter", async (t) => {
    const page = await open(t), request = { query: [[1, 0], [0, 1]], key: [[1, 0], [0, 1]], value: [[10], [20]], scale: 0.5 };
    const { weights } = await ask(request, ["weights"]), text = JSON.stringify(request), told = () => page.textContent("#e-json");
    await openJson(page);
    for (const [input, error] of [["{\"query\": ", /JSON/], ["hello", /JSON/], ["{\"a\": 1}", /no field of a request/], ["[[1], [2, 3]]", /different lengths/],
        ["curl -d @file.json http://host/attention", /reads its body from file\.json/], ["curl http://host/attention", /sends no body/]]) {
        await page.fill("#json", input);
        equal(await told(), "", "nothing is said of what is being typed");
        await page.click("#json-apply");
        ok(error.test(await told()), `${input}: ${await told()}`);
    }
    const commands = [`curl -s ${world.url}attention -H 'Content-Type: application/json' -d '${text}' | jq`, `curl '${world.url}attention' \\\n  --data-raw $'${text}'`,
        `$ curl -d @- ${world.url}attention <<'EOF'\n${text}\nEOF\n`, `curl --json "${text.replaceAll("\"", "\\\"")}" ${world.url}attention`];
    for (const command of commands) {
        await usePreset(page, "notebook");
        await page.fill("#json", command);
        await after(page, () => page.press("#json", "Control+Enter"));
        near(await readTable(page), weights, AS_PRINTED, command);
        equal(await told(), "", command);
    }
});

test("your weights, of 2 to 5 axes", async (t) => {
    const page = await open(t);
    await useJson(page, [[0.25, 0.75], [1, 0]]);
    near(await readTable(page), [[0.25, 0.75], [1, 0]], 0, "[T,T]");
    await useJson(page, { weights: [[[0.5, 0.5, 0]], [[0, 0.25, 0.75]]], tokens: ["a", "b", "c"] });
    await after(page, () => page.selectOption("#pick-head", "1"));
    near(await readTable(page), [[0, 0.25, 0.75]], 0, "[H,Tq,Tk], head 1");
    equal(await page.$$eval("#numbers thead th", (cells) => cells.map((cell) => cell.textContent)), ["a", "b", "c"], "labels");
    const five = Array.from({ length: 3 }, (_, l) => Array.from({ length: 2 }, (_, b) => Array.from({ length: 2 }, (_, h) => [[l / 10, b / 10, h / 10]])));
    await useJson(page, five.map((layer) => layer[0]));
    equal([await page.isVisible("#pick-layer"), await page.isVisible("#pick-batch")], [false, true], "four axes begin with the batch");
    await after(page, () => page.check("#layers-first"));
    await after(page, () => page.selectOption("#pick-layer", "2"));
    near(await readTable(page), [[0.2, 0, 0]], 1e-7, "[L,H,Tq,Tk]");
    await after(page, () => page.uncheck("#layers-first"));
    equal([await page.isVisible("#pick-layer"), await page.isVisible("#pick-batch")], [false, true], "the batch again");
    await useJson(page, five);
    equal(await page.isVisible("#first-axis"), false, "five axes leave no choice");
    await after(page, () => page.selectOption("#pick-layer", "2"));
    await after(page, () => page.selectOption("#pick-batch", "1"));
    await after(page, () => page.selectOption("#pick-head", "1"));
    near(await readTable(page), [[0.2, 0.1, 0.1]], 1e-9, "[L,B,H,Tq,Tk]");
    await after(page, () => page.selectOption("#pick-head", "mean"));
    near(await readTable(page), [[0.2, 0.1, 0.05]], 1e-9, "mean of heads");
    await useJson(page, "[[0.5, NaN], [Infinity, -0.5]]");
    equal(await page.$$eval("#numbers tbody td", (cells) => cells.map((cell) => cell.textContent)), ["0.5000", "NaN", "∞", "−0.5000"], "what is not finite");
});

test("files are dropped: .npy, .npz, .safetensors, .json", async (t) => {
    const page = await open(t);
    await after(page, () => drop(page, [["attention.npy", npy([2, 3], [0.5, 0.25, 0.25, 0, 0, 1])]]));
    near(await readTable(page), [[0.5, 0.25, 0.25], [0, 0, 1]], 0, ".npy");
    await after(page, () => drop(page, [["attention.npy", npy([2, 3], [0.5, 0, 0.25, 0, 0.25, 1], { type: "<f8", fortran: true })]]));
    near(await readTable(page), [[0.5, 0.25, 0.25], [0, 0, 1]], 0, ".npy, column by column");
    for (const type of ["<u2", ">u2", ">f4", ">f8", ">i4"]) {
        await after(page, () => drop(page, [["attention.npy", npy([1, 3], [0, 1, 40000], { type })]]));
        near(await readTable(page), [[0, 1, 40000]], 0, type);
    }
    await after(page, () => drop(page, [["layers.safetensors", safetensors({ "layer.0": ["F32", [1, 1, 1, 2], Float32Array.of(0.25, 0.75)],
        "layer.1": ["F32", [1, 1, 1, 2], Float32Array.of(0.5, 0.5)] })]]));
    await after(page, () => page.selectOption("#pick-layer", "1"));
    near(await readTable(page), [[0.5, 0.5]], 0, "a layer of .safetensors");
    equal(await page.textContent("#story"), "Your weights, from layers.safetensors: layer.0, layer.1 as layers; nothing is computed.", "which layers");
    const half = Uint16Array.of(0x3400, 0x3a00); // 0.25, 0.75
    await after(page, () => drop(page, [["w.safetensors", safetensors({ weights: ["F16", [1, 2], half] })]]));
    near(await readTable(page), [[0.25, 0.75]], 0, "float16");
    await after(page, () => drop(page, [["request.json", JSON.stringify({ seed: 7, x: { shape: [3, 4] }, projection: "identity", return: ["lse"], decimals: 2 })]]));
    near(await readTable(page), (await ask({ seed: 7, x: { shape: [3, 4] }, projection: "identity" }, ["weights"])).weights, AS_PRINTED, "a request");
    const identity = npy([2, 2], [1, 0, 0, 1]), q = [[1, 0], [0, 1]];
    for (const method of ["ZIP_STORED", "ZIP_DEFLATED"]) {
        await after(page, () => drop(page, [["all.npz", npz(["q.npy", "k.npy", "v.npy"].map((name) => [name, identity]), method)]]));
        near(await readTable(page), (await ask({ query: q, key: q, value: q }, ["weights"])).weights, AS_PRINTED, `.npz, ${method}`);
    }
    await drop(page, [["bad.npz", identity]]);
    await page.waitForFunction(() => /bad\.npz: this is not a \.npz file/.test(document.getElementById("problem").textContent));
    await drop(page, [["empty.npy", npy([0, 0], [])]]);
    await page.waitForFunction(() => /empty\.npy: these weights are empty: 0 × 0/.test(document.getElementById("problem").textContent));
    ok(!/Opened empty/.test(await page.textContent("#announcer")), "only what was opened is said to be open");
    await drop(page, [["objects.npy", Buffer.from(npy([1], [1]).toString("latin1").replace("<f4", "|O8"), "latin1")]]);
    await page.waitForFunction(() => /objects\.npy: the page does not read this \.npy file's type, '\|O8'; save it as float32/.test(document.getElementById("problem").textContent));
    await drop(page, [["bad.npy", Buffer.from("nonsense, and longer than twelve")]]);
    await page.waitForFunction(() => /bad\.npy: this is not a \.npy file/.test(document.getElementById("problem").textContent));
});

test("tensors dropped by name become fields; large ones travel as binary", async (t) => {
    const page = await open(t), T = 80, D = 64, types = [];
    page.on("request", (request) => request.method() === "POST" && types.push([request.headers()["content-type"], request.headers().accept]));
    const numbers = (seed) => Float32Array.from({ length: T * D }, (_, i) => Math.sin(i * 0.37 + seed));
    const [q, k, v] = [numbers(1), numbers(2), numbers(3)];
    await after(page, () => drop(page, [["all.safetensors", safetensors({ query: ["F32", [T, D], q], key: ["F32", [T, D], k], value: ["F32", [T, D], v] })]]));
    const tensor = (data) => ({ shape: [T, D], data: [...data] });
    const { weights } = await ask({ query: tensor(q), key: tensor(k), value: tensor(v) }, ["weights"]);
    await chooseCell(page, 3, 5);
    near((await readTable(page))[3].slice(0, 64), weights[3].slice(0, 64), AS_PRINTED, "a row of weights");
    equal(types[0][0], "application/x-safetensors", "the request");
    ok(types[0][1].startsWith("application/x-safetensors"), "the reply");
    equal(await page.inputValue("#f-query"), `file: ${T} × ${D}`, "the field says so");
});

test("dropped queries and keys start from the defaults, and say so; a mask is put into the request that is there", async (t) => {
    const page = await open(t), rows = [[1, 2], [3, 4], [0, 1]], flat = rows.flat(), query = rows, key = rows, value = [[1, 0], [0, 1], [1, 1]];
    await after(page, () => page.fill("#f-scale", "0.25"));
    await after(page, () => drop(page, [["q.npy", npy([3, 2], flat)], ["k.npy", npy([3, 2], flat)], ["v.npy", npy([3, 2], value.flat())]]));
    equal([await page.inputValue("#f-scale"), await page.inputValue("#f-causal")], ["", ""], "scale and causal of the preset");
    near(await readTable(page), (await ask({ query, key, value }, ["weights"])).weights, AS_PRINTED, "scaled by 1/√D, not causal");
    ok(/^q\.npy, k\.npy, v\.npy: query, key, value\. Every other field has its default/.test(await page.textContent("#story")), await page.textContent("#story"));
    await after(page, () => page.fill("#f-scale", "0.5"));
    await after(page, () => drop(page, [["mask.npy", npy([3, 3], [0, -1, 0, 0, 0, 0, 2, 0, 0])]]));
    const mask = [[0, -1, 0], [0, 0, 0], [2, 0, 0]];
    near(await readTable(page), (await ask({ query, key, value, mask, scale: 0.5 }, ["weights"])).weights, AS_PRINTED, "with the mask, and the scale that was typed");
    ok(/with mask of mask\.npy/.test(await page.textContent("#story")), await page.textContent("#story"));
});

test("token labels: text, lines, JSON; rows and columns", async (t) => {
    const page = await open(t);
    await usePreset(page, "cross");
    await page.click("#labels summary");
    const heads = () => page.$$eval("#numbers thead th", (cells) => cells.map((cell) => cell.textContent));
    const rows = () => page.$$eval("#numbers tbody th", (cells) => cells.map((cell) => cell.textContent));
    await readTable(page);
    await after(page, () => page.fill("#labels-rows", "the cat sat on the mat"));
    equal(await rows(), ["the", "cat", "sat", "on", "the", "mat"], "words");
    await after(page, () => page.fill("#labels-cols", "[\" die\", \"Katze\\n\", \"<b>\"]"));
    equal((await heads()).slice(0, 4), ["␣die", "Katze⏎", "<b>", "3"], "JSON, blanks made visible");
    await after(page, () => page.fill("#labels-cols", "a b\nc\n"));
    equal((await heads()).slice(0, 3), ["a␣b", "c", "2"], "lines");
    await chooseCell(page, 1, 0);
    equal(await page.textContent("#cell-title"), "query 1 cat → key 0 a␣b", "the cell's title");
    await after(page, () => drop(page, [["other.json", "[[0.5, 0.5], [1, 0]]"]]));
    equal([await heads(), await rows()], [["0", "1"], ["0", "1"]], "another file has no labels of the one before");
});

test("tokens of a request and of a file are labels; marks of word pieces become spaces and joins", async (t) => {
    const page = await open(t), heads = () => page.evaluate(() => document.getElementById("map").map.picture.colLabels), rows = () => page.evaluate(() => document.getElementById("map").map.picture.rowLabels);
    const request = { query: [[1], [2]], key: [[1], [2], [3]], value: [[1], [2], [3]] };
    await useJson(page, { ...request, tokens: { query: ["un", "##able"], key: ["a", "##,", "##b"] } });
    equal([await rows(), await heads()], [["un", "·able"], ["a", ",", "·b"]], "##");
    ok(!("tokens" in JSON.parse(await page.inputValue("#json"))), "they are no field that is sent");
    const self = { x: { shape: [3, 2] }, seed: 1, projection: "identity" };
    await useJson(page, { ...self, tokens: ["ĠcafÃ©", "s", "Ċ"] });
    equal([await rows(), await heads()], [["café", "·s", "\n"], ["café", "·s", "\n"]], "Ġ, and bytes");
    await page.$eval("#json", (box, text) => { box.value = text; }, JSON.stringify({ ...self, tokens: [1] }));
    await page.click("#json-apply");
    ok(/"tokens" is a list of texts/.test(await page.textContent("#e-json")), "what is no list of texts");
    const numbers = (shape) => Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i));
    const tensors = Object.fromEntries(["query", "key", "value"].map((name) => [name, ["F32", [3, 2, 4, 8], numbers([3, 2, 4, 8])]]));
    await after(page, () => drop(page, [["vectors.safetensors", safetensors(tensors, { request: JSON.stringify({ causal: true, scale: 0.5, tokens: ["▁a", "b", "▁c", "▁a"] }), items: "layers" })]]));
    equal([await heads(), await page.inputValue("#f-scale")], [["a", "·b", "c", "a"], "0.5"], "of a file, with its request");
    ok(/3 layers, 2 heads, 4 × 4/.test(await page.textContent("#applied")), await page.textContent("#applied"));
    await after(page, () => drop(page, [["weights.safetensors", safetensors({ weights: ["F32", [2, 1, 2, 2, 2], Float32Array.from([1, 0, 0.5, 0.5, 1, 0, 0.25, 0.75, 1, 0, 0.1, 0.9, 1, 0, 0.2, 0.8])] }, { tokens: "[\"Ġx\", \"Ġy\"]" })]]));
    equal(await heads(), ["x", "y"], "of weights");
});

test("labels are counted against the rows and columns; long ones are cut, many are drawn with gaps", async (t) => {
    const page = await open(t), hint = (side) => page.textContent(`#labels-${side}-hint`);
    await page.click("#labels summary");
    await after(page, () => page.fill("#labels-rows", "the cat sat"));
    equal(await hint("rows"), "3 labels for 8 rows: the others have numbers", "fewer");
    await after(page, () => page.fill("#labels-cols", "a b c d e f g h i"));
    equal(await hint("cols"), "9 labels for 8 columns: the last ones are not used", "more");
    await after(page, () => page.fill("#labels-cols", "a b c d e f g h"));
    equal(await hint("cols"), "", "as many");
    await after(page, () => page.fill("#labels-cols", JSON.stringify(Array.from({ length: 8 }, (_, i) => `${i}${"long".repeat(60)}`))));
    for (const view of ["map", "lines", "table", "stages"]) {
        if (view !== "map") await useView(page, view);
        equal([view, await stickingOut(page), await violations(page)], [view, 0, []], "nothing sticks out");
    }
    await useView(page, "map");
    await useJson(page, { seed: 1, x: { shape: [512, 4] }, projection: "identity" });
    await after(page, () => page.fill("#labels-cols", JSON.stringify(Array.from({ length: 512 }, (_, i) => `token${i}`))));
    const drawn = await page.evaluate(() => {
        const { map } = document.getElementById("map"), places = [], { fillText } = map.context;
        map.context.fillText = (text, ...rest) => {
            if (text.startsWith("token")) places.push(map.context.getTransform().e / map.ratio);
            return fillText.call(map.context, text, ...rest);
        };
        map.paint();
        return places;
    });
    ok(drawn.length > 10 && drawn.every((x, i) => i === 0 || x - drawn[i - 1] >= 12), `gaps: ${drawn.slice(0, 4)}, ${drawn.length} labels`);
});

test("a long request shows progress and can be cancelled", async (t) => {
    const page = await open(t);
    await page.fill("#f-x", "1 x 16384 x 64");
    await page.fill("#f-num_heads", "1");
    ok(await page.evaluate(() => document.getElementById("run").classList.contains("wanted")), "a large request waits for Run");
    await page.route("**/attention", async (route) => { await new Promise((resolve) => setTimeout(resolve, 3000)); await route.abort().catch(() => {}); });
    await page.click("#run");
    await page.waitForSelector("#cancel", { state: "visible" });
    await page.click("#cancel");
    await page.waitForSelector("#cancel", { state: "hidden" });
    equal(await page.isVisible("#problem"), false, "problem");
    await page.unroute("**/attention");
    await usePreset(page, "notebook");
    await drawn(page);
});

test("switching the source and back keeps what was typed", async (t) => {
    const page = await open(t);
    await type(page, "scale", "0.25");
    await type(page, "x", "2 x 5 x 32");
    await after(page, () => page.check("input[value=qkv]", { force: true }));
    await type(page, "key", "[[1, 0], [0, 2]]");
    await after(page, () => page.check("input[value=weights]", { force: true }));
    await after(page, () => page.check("input[value=x]", { force: true }));
    equal([await page.inputValue("#f-scale"), await page.inputValue("#f-x")], ["0.25", "2 × 5 × 32"], "Seed");
    await after(page, () => page.check("input[value=qkv]", { force: true }));
    equal(await page.inputValue("#f-key"), "[[1,0],[0,2]]", "Tensors");
    await after(page, () => page.check("input[value=weights]", { force: true }));
    equal((await readTable(page)).length, 2, "Your weights");
});

test("weights that no softmax gives are shown, with a warning", async (t) => {
    const page = await open(t), warnings = () => page.$$eval("#applied .warn", (all) => all.map((one) => one.textContent));
    await useJson(page, "[[0.5, NaN], [-1, 2]]");
    equal(await page.$$eval("#controls .legend", (all) => all.map((one) => one.textContent)), ["NaN"], "the colour of NaN");
    equal(await warnings(), ["⚠ 1 number is NaN or infinite: attention weights are finite", "⚠ 1 number is negative: these may be scores, before the softmax"], "NaN, negative");
    await useJson(page, [[[0.5, 0.5], [0, 0]], [[0.3, 0.3], [2, 0]]]);
    equal(await warnings(), ["⚠ 2 rows do not sum to 1; the first, query 0 of matrix 1, sums to 0.6"], "sums");
    await useJson(page, [[0.3333, 0.6667], [0, 0]]);
    equal(await warnings(), [], "decimals and masked rows");
});

test("while a request fails, the picture of the one before is dimmed, said to be so, and cannot be exported", async (t) => {
    t.expect(/status of 422/);
    const page = await open(t), opacity = () => page.waitForFunction((stale) => getComputedStyle(document.getElementById("picture")).opacity === stale, "0.4");
    await page.fill("#f-scale", "1e999");
    ok(!(await page.evaluate(() => document.body.classList.contains("stale"))), "what is not sent changes nothing");
    await page.click("#more summary");
    await page.fill("#f-context", "4, 3, 32");
    await page.waitForFunction(() => !document.getElementById("problem").hidden);
    await opacity();
    ok(/The picture is still that of the request before/.test(await page.textContent("#problem")), await page.textContent("#problem"));
    for (const selector of ["#permalink", "#copy [data-name=curl]", "#export [data-name=csv]"]) ok(await page.locator(selector).isDisabled(), selector);
    await type(page, "context", "");
    equal([await page.evaluate(() => document.body.classList.contains("stale")), await page.locator("#permalink").isDisabled()], [false, false], "mended");
});
