// table.js: the numbers as a table, for screen readers and for copying.

import { app } from "../app.js";
import { h, keepFocus } from "../dom.js";
import { reasonsText } from "../explain.js";
import { mapCaption, titleOf } from "../figure/caption.js";
import { cut, number, visible } from "../format.js";
import { isAny, isLit } from "../locks.js";
import { isMasked } from "../mask_reasons.js";
import { valueAt } from "../matrix.js";
import { waiting } from "../waiting.js";

const LABEL_CHARACTERS = 20;
const SIDE_MAX = 64; // of rows and of columns; more come a page at a time

export function create(host) {
    let [top, left] = app.run.long ? (app.view.cell ?? [0, 0]).map((n) => Math.floor(n / SIDE_MAX) * SIDE_MAX) : [0, 0];
    const wrap = h("div", { class: "table-wrap", tabIndex: 0, role: "region", "aria-label": "Numbers" });
    const pager = h("p", { class: "hint" });
    host.append(wrap, pager);

    function label(labels, i) {
        return labels?.[i] === undefined ? String(i) : cut(visible(labels[i]), LABEL_CHARACTERS);
    }

    function cell(matrix, picture, i, j) {
        const x = valueAt(matrix, i, j), masked = isMasked(picture, i, j);
        const chosen = app.view.cell?.[0] === i && app.view.cell?.[1] === j;
        const lit = !isAny(picture.locked) ? "" : isLit(picture.locked, i, j) ? " lit" : " faded";
        return h("td", { class: `${masked ? "masked" : ""}${chosen ? " chosen" : ""}${lit}`, title: masked ? reasonsText(i, j) : null,
            onclick: () => app.setView({ cell: [i, j] }) }, x === undefined ? "…" : number(x));
    }

    // What each key receives, and what each query gives to the locked keys.
    function sumRow({ received, given }, js) {
        return h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "sum"), js.map((j) => h("td", {}, number(received[j]))), given && h("td", {})));
    }

    function step(rows, cols) {
        const button = (text, label, act, off) => h("button", { type: "button", "aria-label": label, disabled: off, onclick: () => { act(); keepFocus(pager, view.render); } }, text);
        pager.replaceChildren();
        if (rows <= SIDE_MAX && cols <= SIDE_MAX) return;
        pager.append(`Rows ${top} to ${Math.min(rows, top + SIDE_MAX) - 1} of ${rows}, columns ${left} to ${Math.min(cols, left + SIDE_MAX) - 1} of ${cols} `,
            button("↑", "Rows before", () => { top -= SIDE_MAX; }, top === 0), button("↓", "Rows after", () => { top += SIDE_MAX; }, top + SIDE_MAX >= rows),
            button("←", "Columns before", () => { left -= SIDE_MAX; }, left === 0), button("→", "Columns after", () => { left += SIDE_MAX; }, left + SIDE_MAX >= cols));
    }

    // Of weights too many to hold.
    function fetchPage({ run, batch, head, rows, cols }) {
        run.parts.want("table", { batch, head, i0: top, i1: Math.min(rows, top + SIDE_MAX), j0: left, j1: Math.min(cols, left + SIDE_MAX), names: ["weights"] });
    }

    const view = {
        stages: true,
        render() {
            const picture = app.picture();
            if (!picture) return false;
            const { matrix, sums } = picture, { rows, cols } = matrix;
            if (top >= rows) top = 0;
            if (left >= cols) left = 0;
            if (matrix.pooled) fetchPage(matrix);
            const is = Array.from({ length: Math.min(SIDE_MAX, rows - top) }, (_, i) => top + i);
            const js = Array.from({ length: Math.min(SIDE_MAX, cols - left) }, (_, j) => left + j);
            wrap.replaceChildren(h("table", { id: "numbers" }, h("caption", { class: "sr" }, `${app.stage.title}: ${app.stage.about}`),
                h("thead", {}, h("tr", {}, h("td", {}), js.map((j) => h("th", { scope: "col" }, label(picture.colLabels, j))), sums?.given && h("th", { scope: "col" }, "sum"))),
                h("tbody", {}, is.map((i) => h("tr", {}, h("th", { scope: "row" }, label(picture.rowLabels, i)), js.map((j) => cell(matrix, picture, i, j)), sums?.given && h("td", {}, number(sums.given[i]))))),
                sums && sumRow(sums, js)));
            step(rows, cols);
            if (matrix.pooled) pager.append(" ", waiting(app.run, "table") ?? "");
            return true;
        },
        figure() {
            const picture = app.picture();
            if (!picture) return null;
            const { rows, cols } = picture.matrix, region = { i0: top, i1: Math.min(rows, top + SIDE_MAX), j0: left, j1: Math.min(cols, left + SIDE_MAX) };
            return { kind: "table", picture, region, title: titleOf(picture.stage), caption: mapCaption(picture, region, "Grey: masked.") };
        },
        cell() {
            view.render();
        },
    };
    return view;
}
