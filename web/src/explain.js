// explain.js: the panel that derives one cell: its products, its score, its weight, and what it adds to the output.

import { app } from "./app.js";
import { $, debounce, h, keepFocus } from "./dom.js";
import { bytes, count, cut, number, share, tick, visible } from "./format.js";
import { QUERIES } from "./locks.js";
import { rowOf, valueAt } from "./matrix.js";
import { MEAN, ROLLOUT, STAGES } from "./run.js";
import { waiting } from "./waiting.js";

const LOOK_MS = 60; // how long a cell is chosen before its row is fetched
const TERMS_MAX = 256, KEYS_MAX = 8, LABEL_CHARACTERS = 32;

const label = (labels, i) => (labels?.[i] === undefined ? "" : ` ${cut(visible(labels[i]), LABEL_CHARACTERS)}`);

export function reasonsText(i, j) {
    const head = Number.isInteger(app.view.head) ? app.view.head : 0;
    return app.maskReasons.reasons(app.view.batch, head, i, j).map(({ title, text }) => `${title}: ${text}`).join("; ");
}

const poolText = ({ value, i0, i1, j0, j1 }) => `the largest weight of queries ${i0} to ${i1 - 1} and keys ${j0} to ${j1 - 1} is ${share(value)}`;

// A cell in one line, for the tooltip and for screen readers.
export function describe(i, j, stage = app.view.stage) {
    const matrix = app.matrix(stage), x = matrix ? valueAt(matrix, i, j) : undefined;
    const title = STAGES.find(({ name }) => name === stage).title.toLowerCase();
    const query = `query ${i}${label(app.labels.rows, i)}`;
    if (stage === "output") return `${query}, output ${j}: ${number(x)}`;
    const why = reasonsText(i, j), pool = x === undefined && !why ? matrix?.pool?.(i, j) : null;
    if (pool) return `${query} → key ${j}${label(app.labels.cols, j)}: ${poolText(pool)}`;
    const value = stage === "weights" ? share(x) : number(x);
    return `${query} → key ${j}${label(app.labels.cols, j)}: ${title} ${value}${why ? `; masked by ${why}` : ""}`;
}

const row = (name, value, attributes = {}) => [h("dt", {}, name), h("dd", attributes, value)];

// A bar whose length is the value's share of the largest: from the middle for signed values, else from the left.
export function bar(value, largest, signed = true) {
    const part = Math.min(1, Math.abs(value) / (largest || 1)) * (signed ? 50 : 100);
    const fill = h("span", { class: !signed ? "" : value < 0 ? "negative" : "positive" });
    fill.style.width = `${part}%`;
    fill.style.left = signed ? `${value < 0 ? 50 - part : 50}%` : "0";
    return h("span", { class: "bar-cell", "aria-hidden": "true" }, fill);
}

function dot(q, k) {
    let sum = 0;
    for (let d = 0; d < q.length; d++) sum += q[d] * k[d];
    return sum;
}

const opened = new Set(["terms"]); // the folds that stay open from cell to cell

function fold(id, title, content) {
    return h("details", { id, open: opened.has(id), ontoggle: ({ target }) => opened[target.open ? "add" : "delete"](id) }, h("summary", {}, title), content);
}

function termsTable(q, k) {
    const products = Array.from(q, (x, d) => x * k[d]), largest = Math.max(...products.map(Math.abs));
    const shown = products.slice(0, TERMS_MAX);
    return fold("terms", `${q.length} products q·k`,
        h("table", { class: "terms" }, h("thead", {}, h("tr", {}, ["d", "q", "k", "q·k", ""].map((text) => (text ? h("th", { scope: "col" }, text) : h("td", {}))))),
            h("tbody", {}, shown.map((x, d) => h("tr", {}, h("th", { scope: "row" }, String(d)), h("td", {}, number(q[d])), h("td", {}, number(k[d])),
                h("td", {}, number(x)), h("td", {}, bar(x, largest)))))));
}

// `norms`: the values' lengths; null where there are none.
function contributions(weights, norms, j) {
    const order = Array.from(weights, (_, at) => at).filter((at) => weights[at] > 0).sort((a, b) => weights[b] - weights[a]);
    if (!order.length) return h("p", { class: "hint" }, "Every key is masked: the output is 0.");
    const shown = order.slice(0, KEYS_MAX), others = order.slice(KEYS_MAX);
    return [h("table", { class: "terms", id: "contributions" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "key"), h("th", { scope: "col" }, "weight"), h("td", {}), norms && h("th", { scope: "col" }, "‖w·v‖"))),
        h("tbody", {}, shown.map((at) => h("tr", { class: at === j ? "here" : "" },
            h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => app.setView({ cell: [app.view.cell[0], at] }) }, `${at}${label(app.labels.cols, at)}`)),
            h("td", {}, share(weights[at])), h("td", {}, bar(weights[at], 1, false)), norms && h("td", {}, number(weights[at] * norms[at])))))),
    others.length > 0 && h("p", { class: "hint" }, `${others.length} more: ${share(others.reduce((sum, at) => sum + weights[at], 0))}`)];
}

function valuePart(weight, values, output, j) {
    const v = rowOf(values, j), largest = Math.max(...Array.from(output ?? [], Math.abs), 1e-30);
    return fold("value-part", `What key ${j} adds to the output`,
        h("table", { class: "terms" }, h("thead", {}, h("tr", {}, ["d", "v", "w·v", "", "output"].map((text) => (text ? h("th", { scope: "col" }, text) : h("td", {}))))),
            h("tbody", {}, Array.from(v).slice(0, TERMS_MAX).map((x, d) => h("tr", {}, h("th", { scope: "row" }, String(d)), h("td", {}, number(x)),
                h("td", {}, number(weight * x)), h("td", {}, bar(weight * x, largest)), h("td", {}, output ? number(output[d]) : "–"))))));
}

// The steps from q·k to the number that softmax sees: { name, value, op, id }; a step without op is what those before it come to.
function scoreSteps(run, batch, head, i, j, q, k) {
    const { applied } = run, bias = app.maskReasons.bias(batch, head, i, j), at = (name) => {
        const matrix = run.matrix(name, app.at(head));
        return matrix ? valueAt(matrix, i, j) : undefined;
    };
    // Of a large run some stages have not been fetched; their numbers follow from the products.
    const own = app.maskReasons.queryScale(batch, i), stored = at("scores");
    const product = q && k ? dot(q, k) : applied.scale ? stored / (applied.scale * own) : undefined, score = stored ?? product * applied.scale * own;
    const biased = score + (bias.bias ?? 0) + (bias.relative ?? 0), add = (name, value, id) => value !== undefined && { name, value, op: "+", id };
    const capped = at("capped_scores") ?? (applied.softcap ? applied.softcap * Math.tanh(biased / applied.softcap) : biased);
    return [{ name: "q·k", value: product, id: "qk" }, { name: "scale", value: applied.scale, op: "×", id: "scale" },
        applied.query_scale && { name: "query's scale", value: own, op: "×", id: "query-scale" }, { name: "score", value: score, id: "score" },
        add("bias", bias.bias, "bias"), add("relative bias", bias.relative, "relative"),
        applied.softcap && { name: `capped at ${applied.softcap}`, value: capped, id: "capped" },
        add("mask", bias.mask, "mask"), add("ALiBi", bias.alibi, "alibi"),
        { name: "softmax sees", value: at("masked_scores") ?? capped + (bias.mask ?? 0) + (bias.alibi ?? 0), id: "masked" }].filter(Boolean);
}

const big = (id, value) => h("p", { class: "big", id: `cell-${id}` }, value);

// The steps as one line: q·k × scale + bias = score → weight.
function chain(steps, weight, masked) {
    const link = (text, name, op) => h("span", { class: "step" }, op && h("i", {}, op), h("b", {}, text), h("small", {}, name));
    const seen = steps.at(-1), before = steps.slice(0, -1).filter(({ op, id }) => op || id !== "score");
    const parts = before.map(({ name, value, op }, at) => link(op === "+" ? tick(Math.abs(value)) : tick(value), name.startsWith("capped") ? "capped" : name,
        at === 0 ? null : op === "+" && value < 0 ? "−" : op ?? "="));
    return h("p", { class: "chain", id: "chain" }, parts, link(masked ? "−∞" : tick(seen.value), masked ? "masked" : "score", masked ? "→" : "="), link(share(weight), "softmax", "→"));
}

// All the steps with their digits, and the row's softmax.
function derivation(run, batch, head, i, j, steps, masked, weights) {
    const lse = run.lse(batch, head, i), sum = weights.reduce((a, b) => a + b, 0);
    const rows = steps.slice(0, -1).map(({ name, value, op, id }) => row(op ? `${op} ${name}` : name, number(value), { id: `cell-${id}` }));
    return fold("derivation", "Every step, and the row", h("dl", {}, rows,
        row("masked?", masked.length ? masked.map(({ title }) => title).join(", ") : "no", { id: "cell-mask-reasons", class: masked.length ? "warn" : "" }),
        row("softmax sees", masked.length ? "−∞" : number(steps.at(-1).value), { id: "cell-masked" }),
        row("row's log Σ exp", number(lse), { id: "cell-lse" }), row("row's Σ exp", lse === undefined ? "–" : number(Math.exp(lse))),
        row("row's weights", number(sum)), run.long ? row("key receives in all", number(run.keySum(batch, head, j)), { id: "cell-key-sum" }) : [], run.applied.sinks ? row("sink's share", share(Math.max(0, 1 - sum)), { id: "cell-sink" }) : []));
}

function givenCell(i, j, w, weights) {
    return [big("weight", share(w)), h("dl", {}, row("exactly", String(w)), row("row's weights", number(weights.reduce((a, b) => a + b, 0)))),
        h("h3", {}, "Strongest keys"), contributions(weights, null, j)];
}

function meanCell(i, j) {
    const { H } = app.run.dims, matrices = Array.from({ length: H }, (_, head) => app.matrix("weights", head));
    const values = matrices.map((matrix) => matrix.data[i * matrix.cols + j]);
    const on = app.run.headsOn(app.at()), mean = app.matrix("weights", MEAN);
    return [big("weight", share(mean.data[i * mean.cols + j])), h("p", { class: "hint" }, on.length === H ? "the mean of the heads' weights" : `the mean of the weights of ${on.length} heads`),
        h("table", { class: "terms" }, h("tbody", {}, values.map((x, head) => h("tr", {},
            h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => app.setView({ head }) }, `head ${head}${on.includes(head) ? "" : ", off"}`)),
            h("td", {}, share(x)), h("td", {}, bar(x, 1, false))))))];
}

function rolloutCell(i, j, w, weights) {
    const { layerAxis } = app.run, upTo = app.view[layerAxis];
    return [big("weight", share(w)),
        h("p", { class: "hint" }, `How much of what the layers up to ${upTo} know at query ${i} came from token ${j}: each layer's heads are averaged, half of a token stays its own, `
            + "and the layers are multiplied (Abnar and Zuidema 2020)."), h("h3", {}, "Strongest tokens"), contributions(weights, null, j)];
}

// Of weights too many to hold, queries, keys and values are fetched where they are asked for.
function fetchVectors(run) {
    const { B, H, Tq, Tk } = run.dims, { head_size: D, num_kv_heads: groups } = run.applied, names = ["query", run.tensors.has("key") ? null : run.keyName, run.valueName];
    const missing = names.filter((name) => name && !run.tensors.has(name)), size = 4 * B * D * (H * Tq + 2 * groups * Tk);
    return h("p", {}, h("button", { type: "button", id: "fetch-vectors", disabled: app.offline, onclick: () => app.fetchResults(missing) }, `Fetch queries, keys and values, ${bytes(size)}`),
        h("span", { class: "hint" }, " for the products q·k and what each key adds to the output."));
}

// A row that is not here: what is known of the cell without it.
function fetchedCell(run, batch, head, i, j, matrix) {
    const w = matrix.at(i, j), masked = app.maskReasons.reasons(batch, head, i, j);
    return [w !== undefined && big("weight", share(w)), h("dl", {}, row("row's log Σ exp", number(run.lse(batch, head, i)), { id: "cell-lse" }),
        row("key receives in all", number(run.keySum(batch, head, j)), { id: "cell-key-sum" }), masked.length > 0 && row("masked?", masked.map(({ title }) => title).join(", "), { class: "warn" })),
    w === undefined && h("p", { class: "hint" }, `${poolText(matrix.pool(i, j))}.`.replace("t", "T")),
    h("p", { class: "hint", id: "cell-waiting" }, waiting(run, "cell") ?? `Row ${count(i)} is fetched next.`)];
}

function computedCell(run, batch, head, i, j, weights) {
    const query = run.vectors("query", batch, head), keys = run.vectors(run.keyName, batch, head), values = run.vectors(run.valueName, batch, head);
    const q = query && rowOf(query, i), k = keys && rowOf(keys, j), masked = app.maskReasons.reasons(batch, head, i, j);
    const output = run.outputIsShared("output") ? null : run.matrix("output", app.at(head));
    const steps = scoreSteps(run, batch, head, i, j, q, k);
    return [big("weight", share(weights[j])), chain(steps, weights[j], masked.length > 0),
        masked.length > 0 && h("ul", { class: "reasons", id: "reasons" }, masked.map(({ title, text }) => h("li", {}, `${title}: ${text}`))),
        h("h3", {}, "Where the output comes from"), contributions(weights, run.valueNorms(batch, head), j),
        q && k ? termsTable(q, k) : fetchVectors(run), values && valuePart(weights[j], values, output && rowOf(output, i), j),
        derivation(run, batch, head, i, j, steps, masked, weights)];
}

// One number of the output, and what each key adds to it.
function outputCell(run, batch, head, i, d) {
    const output = run.matrix("output", app.at(head)), x = output.data[i * output.cols + d];
    const values = run.vectors(run.valueName, batch, head), weights = run.matrix("weights", app.at(head));
    const total = big("output", number(x));
    if (run.outputIsShared("output")) return [total, h("p", { class: "hint" }, "The output projection mixes the heads, so no key's part of this number can be told.")];
    if (run.long) return [total, h("p", { class: "hint" }, "Each key's part of it is shown for up to 4096 × 4096 weights.")];
    const parts = Array.from({ length: weights.cols }, (_, j) => weights.data[i * weights.cols + j] * values.data[j * values.cols + d]);
    const order = parts.map((_, j) => j).filter((j) => weights.data[i * weights.cols + j] > 0).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a])).slice(0, KEYS_MAX);
    const largest = Math.max(...order.map((j) => Math.abs(parts[j])));
    return [total, h("table", { class: "terms", id: "parts" },
        h("thead", {}, h("tr", {}, ["key", "weight", "v", "w·v", ""].map((text) => (text ? h("th", { scope: "col" }, text) : h("td", {}))))),
        h("tbody", {}, order.map((j) => h("tr", {}, h("th", { scope: "row" }, `${j}${label(app.labels.cols, j)}`), h("td", {}, share(weights.data[i * weights.cols + j])),
            h("td", {}, number(values.data[j * values.cols + d])), h("td", {}, number(parts[j])), h("td", {}, bar(parts[j], largest)))))),
        order.length < parts.length && h("p", { class: "hint" }, "The keys that add the most; masked keys add nothing.")];
}

// A token whose label is under the pointer, in one line.
export function describeToken(side, n) {
    const { locked, sums } = app.picture() ?? {}, query = side === QUERIES;
    const name = `${query ? "query" : app.view.stage === "output" ? "output" : "key"} ${n}${label(query ? app.labels.rows : app.labels.cols, n)}`, hint = app.run.long ? "" : "; click locks it";
    if (!query && sums) return `${name}: receives ${number(sums.received[n])} ${locked.queries.length ? `from ${locked.queries.length} locked` : "in all"}${hint}`;
    return `${name}${query && sums?.given ? `: gives ${number(sums.given[n])} to the locked keys` : ""}${hint}`;
}

export function createExplain(host) {
    const body = h("div", { id: "cell-body" });
    host.append(h("h2", { id: "cell-title" }, "Cell"), body);

    // Of weights too many to hold: fetches the chosen cell's row.
    const look = debounce(LOOK_MS, () => {
        const { run, view } = app;
        if (run?.long) run.parts.want("cell", view.cell && view.stage === "weights" ? run.partOfRow(app.at(), view.cell[0]) : null);
    });

    function render() {
        const { run } = app, { cell } = app.view;
        if (run?.long) look();
        if (!run || !cell) {
            $("cell-title").textContent = "Cell";
            body.replaceChildren(h("p", { class: "hint" }, "Click a cell of the picture, or focus the picture and press the arrow keys. Click a token to lock it."));
            return;
        }
        if (app.view.stage === "output" && Number.isInteger(app.view.head) && run.matrix("output", app.at())) {
            $("cell-title").textContent = `query ${cell[0]}${label(app.labels.rows, cell[0])}, output ${cell[1]}`;
            return body.replaceChildren(...outputCell(run, app.view.batch, app.view.head, ...cell).filter(Boolean));
        }
        const [i, j] = cell, head = app.view.head, matrix = app.matrix("weights", head);
        if (!matrix || i >= matrix.rows || j >= matrix.cols) return;
        $("cell-title").textContent = `query ${i}${label(app.labels.rows, i)} → key ${j}${label(app.labels.cols, j)}`;
        const weights = rowOf(matrix, i);
        const parts = !weights ? fetchedCell(run, app.view.batch, head, i, j, matrix) : head === MEAN ? meanCell(i, j) : head === ROLLOUT ? rolloutCell(i, j, weights[j], weights) : run.weightsOnly ? givenCell(i, j, weights[j], weights)
            : computedCell(run, app.view.batch, head, i, j, weights);
        body.replaceChildren(...parts.flat().filter(Boolean));
    }

    app.on("run view cell request parts", () => keepFocus(host, render));
    render();
}
