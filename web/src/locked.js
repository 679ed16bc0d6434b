// locked.js: what is said of locked tokens and of heads that are off: a line with what can be let go of, and the panel with sums.

import { app } from "./app.js";
import { announce, h, keepFocus } from "./dom.js";
import { bar } from "./explain.js";
import { cut, number, share, visible } from "./format.js";
import { KEYS, QUERIES, phrase, runsOf, shareOf, sumsOf } from "./locks.js";

const ROWS_MAX = 10, LABEL_CHARACTERS = 24;

const labelsOf = (side) => (side === QUERIES ? app.labels.rows : app.labels.cols);
const nameOf = (side, n) => `${n}${labelsOf(side)?.[n] === undefined ? "" : ` ${cut(visible(labelsOf(side)[n]), LABEL_CHARACTERS)}`}`;
const counted = (n, side) => (n === 1 ? (side === QUERIES ? "1 query" : "1 key") : `${n} ${side}`);

// ---- the line below the picture ----

function chip(side, [first, end]) {
    const list = Array.from({ length: end - first }, (_, i) => first + i), act = `Unlock ${list.length > 1 ? side : side === QUERIES ? "query" : "key"} `;
    return h("button", { type: "button", class: "chip", onclick: () => app.setLocks({ [side]: app.view[side].filter((n) => n < first || n >= end) }) },
        h("span", { class: "sr" }, act), phrase(labelsOf(side), list), h("span", { "aria-hidden": "true" }, " ×"));
}

export function unlock() {
    app.setLocks({ queries: [], keys: [] });
    announce("No token is locked");
}

const other = (side) => (side === QUERIES ? KEYS : QUERIES);

// Where queries and keys are the same tokens, those of one side can be locked on both.
function onBothSides() {
    const { Tq, Tk } = app.run.dims, side = [QUERIES, KEYS].find((one) => app.view[one].length && !app.view[other(one)].length);
    if (Tq !== Tk || !side) return null;
    return h("button", { type: "button", class: "quiet", onclick: () => app.setLocks({ [other(side)]: app.view[side] }) }, `Also as ${other(side)}`);
}

// Heads that are off, by layer where there are several.
function headsOff() {
    const { off } = app.view, name = ([layer, head]) => (app.run.layers > 1 ? `${layer}.${head}` : String(head));
    const one = (pair) => h("button", { type: "button", class: "chip", onclick: () => app.switchHead(pair[1], pair[0]) },
        h("span", { class: "sr" }, "Switch on head "), name(pair), h("span", { "aria-hidden": "true" }, " ×"));
    return off.length > 0 && h("span", { class: "chips", id: "heads-off" }, h("b", {}, off.length > 1 ? "heads off" : "head off"), off.map(one), change(),
        h("button", { type: "button", class: "quiet", onclick: () => app.setOff([]) }, "All on"));
}

// How far an output that is projected moves without these heads.
function change() {
    const { run } = app, before = run.withAllHeads().matrix("output", app.at()), now = run.isAblated ? run.matrix("output", app.at()) : null;
    if (!before || !now) return null;
    const moved = Math.hypot(...now.data.map((x, at) => x - before.data[at])) / (Math.hypot(...before.data) || 1);
    return h("span", { class: "hint" }, `the output moves by ${share(moved)} of its length`);
}

function renderLine(host) {
    host.hidden = !app.run || !(app.hasLocks || app.view.off.length);
    if (host.hidden) return host.replaceChildren();
    const part = (side) => app.view[side].length > 0 && h("span", { class: "chips" }, h("b", {}, side), runsOf(app.view[side]).map((run) => chip(side, run)));
    return host.replaceChildren(...[part(QUERIES), app.view.queries.length && app.view.keys.length ? "→" : null, part(KEYS), onBothSides(),
        app.hasLocks && h("button", { type: "button", class: "quiet", id: "unlock", "aria-keyshortcuts": "Escape", onclick: unlock }, "Clear"), headsOff()].filter(Boolean));
}

// ---- the panel ----

function table(id, side, sums, of) {
    const order = [...sums.keys()].filter((n) => sums[n] > 0).sort((a, b) => sums[b] - sums[a]).slice(0, ROWS_MAX), most = sums[order[0]];
    return h("table", { class: "terms", id }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, side === KEYS ? "key" : "query"), h("th", { scope: "col" }, "sum"), h("td", {}),
        of && h("th", { scope: "col" }, "on average"))),
    h("tbody", {}, order.map((n) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => app.lock(side, n) }, nameOf(side, n))),
        h("td", {}, number(sums[n])), h("td", {}, bar(sums[n], most, false)), of && h("td", {}, share(sums[n] / of))))));
}

// The same tokens in each head of the layer: which of them does it?
function byHead() {
    const { H } = app.run.dims, all = Array.from({ length: H }, (_, head) => shareOf(app.matrix("weights", head), app.view));
    return [h("h3", {}, "In each head"), h("table", { class: "terms", id: "locked-heads" }, h("tbody", {}, all.map((x, head) => h("tr", { class: head === app.view.head ? "here" : "" },
        h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => app.setView({ head }) }, `head ${head}`)), h("td", {}, share(x)), h("td", {}, bar(x, 1, false))))))];
}

// The locked tokens of a side as the beginning of a sentence; empty if there are none.
function tokens(side) {
    const list = app.view[side], text = phrase(labelsOf(side), list);
    return labelsOf(side) || !list.length ? text : `${list.length > 1 ? side : side === QUERIES ? "query" : "key"} ${text}`;
}

function sentence(matrix) {
    const { queries, keys } = app.view, { received, given } = sumsOf(matrix, app.view), from = tokens(QUERIES), to = tokens(KEYS);
    if (!keys.length) {
        const best = received.reduce((most, x, j) => (x > received[most] ? j : most), 0);
        return `${from}: ${share(received[best] / queries.length)} of the attention goes to key ${nameOf(KEYS, best)}.`;
    }
    const sum = (queries.length ? queries.map((i) => given[i]) : [...given]).reduce((a, b) => a + b, 0), of = queries.length || matrix.rows;
    return `${from || `All ${of} queries`} → ${to}: ${share(sum / of)} of the attention, ${number(sum)} in all.`;
}

function renderPanel(host) {
    const matrix = app.run && app.hasLocks ? app.matrix("weights") : null;
    host.hidden = !matrix;
    if (!matrix) return host.replaceChildren();
    const { queries, keys } = app.view, { received, given } = sumsOf(matrix, app.view), both = queries.length > 0 && keys.length > 0;
    const parts = [h("h2", {}, "Locked tokens"), h("p", { id: "locked-sentence" }, sentence(matrix)),
        !both && queries.length > 0 && [h("h3", {}, `What ${counted(queries.length, QUERIES)} ${queries.length > 1 ? "take" : "takes"} from`),
            table("locked-keys", KEYS, received, queries.length > 1 ? queries.length : null)],
        !both && keys.length > 0 && [h("h3", {}, `Who reads ${counted(keys.length, KEYS)}`), table("locked-queries", QUERIES, given, null)],
        keys.length > 0 && app.run.dims.H > 1 && byHead()];
    return host.replaceChildren(...parts.flat().filter(Boolean));
}

// `line`, `panel`: where they go.
export function createLocked(line, panel) {
    app.on("run view lock request", () => {
        keepFocus(line, () => renderLine(line));
        keepFocus(panel, () => renderPanel(panel));
    });
}

// Says what was locked last.
export function announceLocks() {
    const matrix = app.matrix("weights");
    announce(app.hasLocks && matrix ? sentence(matrix) : "No token is locked");
}
