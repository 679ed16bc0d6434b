// lines.js: queries on the left, keys on the right, joined by lines as wide and as opaque as the weight between them.

import { linkHorizontal } from "d3-shape";
import { schemeTableau10 } from "d3-scale-chromatic";
import { app } from "../app.js";
import { h, heightLeft, svg } from "../dom.js";
import { lockedCaption, offCaption, titleOf } from "../figure/caption.js";
import { cut, share, visible } from "../format.js";
import { isAdding } from "../heatmap_locks.js";
import { announceLocks } from "../locked.js";
import { KEYS, QUERIES, isLit } from "../locks.js";
import { MEAN, ROLLOUT } from "../run.js";

const ROW = 22, TOP = 26, TOKENS_MAX = 400, LINES_MAX = 4000, LABEL_CHARACTERS = 16;
const HEAD_STEP_MAX = 4, LARGER_MAX = 1.6;
const LIT = 0.3; // of the tokens themselves
const SIDES = { row: QUERIES, col: KEYS };
const COLORS = schemeTableau10.filter((_, i) => i !== 1); // orange is the sign's
const link = linkHorizontal();
const nameOf = (head) => (head === MEAN ? "mean of all heads" : head === ROLLOUT ? ROLLOUT : `head ${head}`);

// The topk largest weights of each of the rows, down to the threshold, in rising order.
function strongest(matrix, rows, topk, threshold, hideFirst, head) {
    const out = [];
    for (const i of rows) {
        const row = [];
        for (let j = hideFirst ? 1 : 0; j < matrix.cols; j++) {
            const x = matrix.data[i * matrix.cols + j];
            if (x >= threshold && x > 0) row.push({ i, j, x, head });
        }
        row.sort((a, b) => b.x - a.x);
        out.push(...row.slice(0, topk));
    }
    return out.sort((a, b) => a.x - b.x).slice(-LINES_MAX);
}

export function create(host) {
    let lit = null; // ["row" | "col", index] under the cursor or with the focus
    let drag = null; // the token where a drag over tokens began, and whether it went on to another
    const picture = svg("svg", { class: "lines", id: "lines", role: "group", "aria-label": "Queries and keys, joined by attention" });
    const about = h("p", { class: "hint", "aria-live": "polite", id: "lines-about" });
    const legend = h("p", { class: "legend", id: "lines-legend" });
    host.append(legend, h("div", { class: "lines-wrap" }, picture), about);

    const label = (labels, i) => cut(visible(labels?.[i] ?? i), LABEL_CHARACTERS);
    const heads = () => (app.view.heads.length ? app.view.heads : [app.view.head]);
    const color = (head, at) => (heads().length > 1 ? COLORS[at % COLORS.length] : "var(--accent)");

    function showLegend() {
        legend.hidden = heads().length < 2;
        legend.replaceChildren(...heads().map((head, at) => {
            const swatch = h("i");
            swatch.style.background = color(head, at);
            return h("span", {}, swatch, nameOf(head));
        }));
    }

    // Those of the token under the cursor; else those of the locked tokens; else all.
    function light(what) {
        lit = what;
        const { queries, keys } = app.view, on = (i, j) => (lit ? (lit[0] === "row" ? i : j) === lit[1] : !app.hasLocks || queries.includes(i) || keys.includes(j));
        for (const path of picture.querySelectorAll("path")) path.classList.toggle("off", !on(Number(path.dataset.row), Number(path.dataset.col)));
        for (const text of picture.querySelectorAll(".token")) {
            const strength = strengthOf(text.dataset.side, Number(text.dataset.index));
            text.querySelector("rect").setAttribute("fill-opacity", strength ? 0.08 + 0.5 * Math.min(1, strength) : 0);
        }
        showLocks();
        if (lit) about.textContent = sentence();
    }

    function showLocks() {
        for (const text of picture.querySelectorAll(".token")) {
            const is = app.view[SIDES[text.dataset.side]].includes(Number(text.dataset.index));
            text.classList.toggle("locked-token", is);
            text.setAttribute("aria-pressed", String(is));
        }
    }

    // How much a token has of the attention of those that are lit; 0: none are lit.
    function strengthOf(side, n) {
        const own = lit ? (lit[0] === side ? [lit[1]] : []) : app.view[SIDES[side]], others = lit ? (lit[0] === side ? [] : [lit[1]]) : app.view[SIDES[side === "row" ? "col" : "row"]];
        if (own.includes(n)) return LIT;
        const of = (matrix) => others.reduce((sum, m) => sum + matrix.data[side === "row" ? n * matrix.cols + m : m * matrix.cols + n], 0);
        return others.length ? Math.max(...heads().map((head) => of(app.matrix("weights", head)))) / (side === "row" ? 1 : others.length) : 0;
    }

    function sentence() {
        const matrix = app.matrix("weights", heads()[0]), row = lit[0] === "row", n = row ? matrix.cols : matrix.rows;
        const at = (x) => matrix.data[row ? lit[1] * matrix.cols + x : x * matrix.cols + lit[1]];
        const best = Array.from({ length: n }, (_, x) => x).sort((a, b) => at(b) - at(a)).slice(0, 3).filter((x) => at(x) > 0);
        const where = heads().length > 1 ? ` in ${nameOf(heads()[0])}` : "", names = best.map((x) => `${label(row ? app.labels.cols : app.labels.rows, x)} ${share(at(x))}`).join(", ");
        return row ? `Query ${label(app.labels.rows, lit[1])} looks at ${names || "nothing"}${where}` : `Key ${label(app.labels.cols, lit[1])} is looked at by ${names || "no query"}${where}`;
    }

    function lock(side, i, options) {
        app.lock(SIDES[side], i, options);
        announceLocks();
    }

    // A click locks a token, Ctrl adds one, Shift or a drag takes a phrase.
    function listen(group, side, i) {
        group.addEventListener("pointerdown", (event) => { drag = event.button || event.pointerType === "touch" ? null : { side, i, moved: false }; });
        group.addEventListener("pointerenter", (event) => {
            light([side, i]);
            if (!drag || !event.buttons || drag.side !== side || (drag.i === i && !drag.moved)) return;
            drag.moved = true;
            lock(side, i, { from: drag.i });
        });
        group.addEventListener("pointerleave", () => light(null));
        group.addEventListener("focus", () => light([side, i]));
        group.addEventListener("blur", () => light(null));
        group.addEventListener("click", (event) => {
            if (!drag?.moved) lock(side, i, { add: isAdding(event), from: event.shiftKey ? "last" : null });
            drag = null;
        });
        group.addEventListener("keydown", (event) => move(event, side, i));
    }

    function token(side, i, x, anchor, labels) {
        const y = TOP + i * ROW, width = 118, name = `${side === "row" ? "Query" : "Key"} ${i}${labels?.[i] === undefined ? "" : `, ${label(labels, i)}`}`;
        const group = svg("g", { class: "token", tabindex: i === 0 ? 0 : -1, role: "button", "aria-label": name, "data-side": side, "data-index": i },
            svg("rect", { x: anchor === "end" ? x - width : x, y, width, height: ROW - 2, rx: 3, fill: "var(--accent)", "fill-opacity": 0 }),
            svg("text", { x: anchor === "end" ? x - 8 : x + 8, y: y + ROW / 2, "text-anchor": anchor, "dominant-baseline": "middle" }));
        group.lastChild.textContent = label(labels, i);
        listen(group, side, i);
        return group;
    }

    function move(event, side, i) {
        if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            return lock(side, i, { add: event.ctrlKey || event.metaKey, from: event.shiftKey ? "last" : null });
        }
        const to = { ArrowDown: [side, i + 1], ArrowUp: [side, i - 1], ArrowRight: ["col", i], ArrowLeft: ["row", i], Home: [side, 0] }[event.key];
        if (!to) return undefined;
        const next = picture.querySelector(`.token[data-side="${to[0]}"][data-index="${to[1]}"]`);
        if (next) {
            picture.querySelector(`.token[data-side="${to[0]}"][tabindex="0"]`)?.setAttribute("tabindex", -1);
            next.setAttribute("tabindex", 0);
            next.focus();
        }
        return event.preventDefault();
    }

    function heading(x, anchor, text) {
        const element = svg("text", { x, y: 14, "text-anchor": anchor, class: "heading" });
        element.textContent = text;
        return element;
    }

    function titleOfLine({ i, j, x, head }) {
        const element = svg("title"), name = heads().length > 1 ? `${nameOf(heads()[head])}: ` : "";
        element.textContent = `${name}query ${label(app.labels.rows, i)} → key ${label(app.labels.cols, j)}: ${share(x)}`;
        return element;
    }

    // Of all heads, weak ones first.
    function strongestOfAll(rows, cols) {
        const { topk, threshold, hideFirst } = app.view, all = Array.from({ length: rows }, (_, i) => i);
        return heads().flatMap((name, head) => strongest(app.matrix("weights", name), all, topk, threshold, hideFirst, head)).filter(({ j }) => j < cols);
    }

    // Heads are side by side, so that none hides another.
    function lines(rows, cols, left, right) {
        const step = Math.min(HEAD_STEP_MAX, (ROW - 6) / heads().length), y = (token, head) => TOP + token * ROW + ROW / 2 - 1 + (head - (heads().length - 1) / 2) * step;
        return strongestOfAll(rows, cols).map((line) => {
            const { i, j, x, head } = line, strength = Math.min(1, x);
            const path = svg("path", { d: link({ source: [left, y(i, head)], target: [right, y(j, head)] }), fill: "none", stroke: color(head, head),
                "stroke-width": (0.6 + 5.4 * strength).toFixed(2), "stroke-opacity": (0.12 + 0.83 * strength).toFixed(3), "data-row": i, "data-col": j }, titleOfLine(line));
            path.addEventListener("click", () => app.setView({ cell: [i, j] }));
            return path;
        });
    }

    function figure() {
        const first = app.matrix("weights", heads()[0]);
        if (!first) return null;
        const { topk, threshold } = app.view, rows = Math.min(first.rows, TOKENS_MAX), cols = Math.min(first.cols, TOKENS_MAX);
        const colors = heads().map((head, at) => ({ name: nameOf(head), color: heads().length > 1 ? COLORS[at % COLORS.length] : "#0b57b5" }));
        return { kind: "lines", lines: strongestOfAll(rows, cols).map((line) => ({ ...line, faded: app.hasLocks && !isLit(app.view, line.i, line.j) })), rows, cols, rowLabels: app.labels.rows, colLabels: app.labels.cols, heads: colors,
            title: heads().length > 1 ? titleOf("weights", null) : titleOf("weights", heads()[0]),
            caption: `A line's width is the weight: at most ${topk} of each query${heads().length > 1 ? " and head" : ""}, from ${share(threshold)} up.${first.rows > TOKENS_MAX || first.cols > TOKENS_MAX ? ` The first ${TOKENS_MAX} tokens.` : ""}${lockedCaption()}${offCaption()}` };
    }

    return {
        figure,
        render() {
            const first = app.matrix("weights", heads()[0]);
            if (!first) return false;
            const { topk, threshold } = app.view, rows = Math.min(first.rows, TOKENS_MAX), cols = Math.min(first.cols, TOKENS_MAX);
            const height = TOP + Math.max(rows, cols) * ROW + 6, larger = Math.max(1, Math.min(LARGER_MAX, heightLeft(picture) / height));
            const width = Math.max(300, Math.min((host.clientWidth || 640) / larger, 800)), left = Math.min(128, width * 0.3), right = width - left;
            const paths = lines(rows, cols, left, right);
            picture.style.width = `${width * larger}px`;
            picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
            picture.setAttribute("width", width);
            picture.setAttribute("height", height);
            picture.replaceChildren(heading(left - 8, "end", "queries"), heading(right + 8, "start", "keys"), svg("g", {}, ...paths),
                ...Array.from({ length: rows }, (_, i) => token("row", i, left, "end", app.labels.rows)),
                ...Array.from({ length: cols }, (_, j) => token("col", j, right, "start", app.labels.cols)));
            const cutOff = first.rows > TOKENS_MAX || first.cols > TOKENS_MAX ? ` The first ${TOKENS_MAX} tokens are drawn.` : "";
            showLegend();
            light(null);
            about.textContent = `${paths.length} lines: at most ${topk} per query and head, from ${share(threshold)} up.${cutOff}`;
            return true;
        },
        cell() {},
        lock() {
            light(lit);
        },
    };
}
