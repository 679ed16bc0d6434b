// lines.js: queries and keys joined by lines, in a figure: { lines, rows, cols, rowLabels, colLabels, heads }, a line { i, j, x, head },
// `head` a place in `heads`, each { name, color }.

import { linkHorizontal } from "d3-shape";
import { INK, QUIET, SMALL_SIZE, TEXT_SIZE, moved, round, tag, text } from "./block.js";
import { textWidth } from "./font.js";
import { legendBlock } from "./legend.js";
import { labelOf } from "./matrix.js";

const ROW = 19, BETWEEN = 300, GAP = 8, HEAD_STEP_MAX = 4;
const link = linkHorizontal();

export function linesBlock({ lines, rows, cols, rowLabels, colLabels, heads }) {
    const widest = (labels, count, axis) => Math.max(textWidth(axis, SMALL_SIZE), ...Array.from({ length: count }, (_, i) => textWidth(labelOf(labels, i), TEXT_SIZE)));
    const left = Math.ceil(widest(rowLabels, rows, "queries")), right = left + 2 * GAP + BETWEEN, width = Math.ceil(right + widest(colLabels, cols, "keys"));
    const legend = heads.length > 1 ? legendBlock(heads, width) : { height: 0, body: "" }, top = legend.height + SMALL_SIZE + 8;
    const step = Math.min(HEAD_STEP_MAX, (ROW - 5) / heads.length), y = (token, head) => top + (token + 0.5) * ROW + (head - (heads.length - 1) / 2) * step;
    const paths = lines.map(({ i, j, x, head, faded }) => {
        const strength = Math.min(1, x);
        return tag("path", { d: link({ source: [left + GAP, y(i, head)], target: [left + GAP + BETWEEN, y(j, head)] }).replace(/-?\d+\.\d+/g, (n) => round(Number(n))), fill: "none",
            stroke: heads[head].color, "stroke-width": 0.6 + 5.4 * strength, "stroke-opacity": faded ? 0.04 : 0.12 + 0.83 * strength });
    });
    const heading = (x, name, anchor) => text(x, legend.height + SMALL_SIZE / 2, name, { size: SMALL_SIZE, anchor, fill: QUIET });
    const token = (x, anchor, labels) => (_, i) => text(x, top + (i + 0.5) * ROW, labelOf(labels, i), { anchor, fill: INK });
    return { width, height: top + Math.max(rows, cols) * ROW, left: 0, top: 0, body: moved(0, 0, legend.body) + heading(left, "queries", "end") + heading(right, "keys", "start")
        + paths.join("") + Array.from({ length: rows }, token(left, "end", rowLabels)).join("") + Array.from({ length: cols }, token(right, "start", colLabels)).join("") };
}
