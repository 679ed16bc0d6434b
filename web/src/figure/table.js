// table.js: the numbers of a matrix as a table in a figure: { picture, region }.

import { number } from "../format.js";
import { isMasked } from "../mask_reasons.js";
import { valueAt } from "../matrix.js";
import { QUIET, RULE, SMALL_SIZE, tag, text } from "./block.js";
import { textWidth } from "./font.js";
import { labelOf } from "./matrix.js";

const ROW = 17, PADDING = 6, MASKED = "#eceef1", FIXED_MIN = 1e-4;

// As the page has them, but small ones by powers of ten, which are narrower.
const cellText = (x) => (x !== undefined && x !== 0 && Math.abs(x) < FIXED_MIN ? x.toExponential(1).replaceAll("-", "−") : number(x));

export function tableBlock({ picture, region: { i0, i1, j0, j1 } }) {
    const { matrix, rowLabels, colLabels } = picture, indices = (from, to) => Array.from({ length: to - from }, (_, k) => from + k), rows = indices(i0, i1);
    const cellAt = (i, j) => cellText(valueAt(matrix, i, j)), wide = (name) => textWidth(name, SMALL_SIZE);
    const head = Math.max(...rows.map((i) => wide(labelOf(rowLabels, i)))) + 2 * PADDING;
    let x = head, body = "";
    for (const j of indices(j0, j1)) {
        const width = Math.max(wide(labelOf(colLabels, j)), ...rows.map((i) => wide(cellAt(i, j)))) + 2 * PADDING, end = x + width - PADDING;
        body += text(end, ROW / 2, labelOf(colLabels, j), { size: SMALL_SIZE, anchor: "end", fill: QUIET });
        rows.forEach((i, at) => {
            const y = (at + 1) * ROW + 3;
            if (isMasked(picture, i, j)) body += tag("rect", { x, y, width, height: ROW, fill: MASKED });
            body += text(end, y + ROW / 2, cellAt(i, j), { size: SMALL_SIZE, anchor: "end", fill: isMasked(picture, i, j) ? QUIET : undefined });
        });
        x += width;
    }
    const height = (rows.length + 1) * ROW + 4, rule = (y) => tag("path", { d: `M0 ${y}H${Math.round(x)}`, stroke: RULE, "stroke-width": 0.75 });
    body += rows.map((i, at) => text(head - PADDING, (at + 1.5) * ROW + 3, labelOf(rowLabels, i), { size: SMALL_SIZE, anchor: "end", fill: QUIET })).join("");
    return { width: x, height, left: 0, top: 0, body: body + rule(0) + rule(ROW + 1) + rule(height) };
}
