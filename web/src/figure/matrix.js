// matrix.js: a matrix in a figure: its cells, labels, axes and title.

import { cut, visible } from "../format.js";
import { QUIET, SMALL_SIZE, TITLE_SIZE, moved, text } from "./block.js";
import { cells } from "./cells.js";
import { textWidth } from "./font.js";

const CELL_MAX = 36, CELL_STRETCH_BELOW = 8, LABEL_CHARACTERS = 28, LABEL_GAP = 5, AXIS_GAP = 9, LABEL_ANGLE = -50;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000];

export const labelOf = (labels, i) => (labels?.[i] === undefined ? String(i) : cut(visible(labels[i]), LABEL_CHARACTERS));

export const wholeOf = ({ rows, cols }) => ({ i0: 0, i1: rows, j0: 0, j1: cols });

// The width and height of cells, square unless that would make them too small to see; those that fit are a whole number of pixels.
export function cellSize({ i0, i1, j0, j1 }, side) {
    const fit = (count) => {
        const size = Math.min(CELL_MAX, side / count);
        return size >= 1 ? Math.floor(size) : size;
    };
    const cw = fit(j1 - j0), ch = fit(i1 - i0), square = Math.max(Math.min(cw, ch), CELL_STRETCH_BELOW);
    return [Math.min(cw, square), Math.min(ch, square)];
}

const stepFor = (least, size) => STEPS.find((step) => step * size >= least) ?? 100000;

// The indices from `from` to `to` that are labelled: all, or every n-th.
function labelled(from, to, step) {
    const out = [];
    for (let i = Math.ceil(from / step) * step; i < to; i += step) out.push(i);
    return out;
}

function rowNames({ rowLabels }, { i0, i1 }, ch) {
    const names = labelled(i0, i1, stepFor(SMALL_SIZE + 2, ch)).map((i) => [i, labelOf(rowLabels, i)]);
    return { width: Math.max(...names.map(([, name]) => textWidth(name, SMALL_SIZE))),
        at: (left, top) => names.map(([i, name]) => text(left - LABEL_GAP, top + (i - i0 + 0.5) * ch, name, { size: SMALL_SIZE, anchor: "end", fill: QUIET })).join("") };
}

// Column labels lie flat where they fit, and slant where they do not.
function columnNames({ colLabels }, { j0, j1 }, cw) {
    const widest = (indices) => Math.max(...indices.map((j) => textWidth(labelOf(colLabels, j), SMALL_SIZE))), all = labelled(j0, j1, 1);
    const flat = !colLabels || widest(all) + 4 <= cw, sin = Math.sin((-LABEL_ANGLE * Math.PI) / 180), cos = Math.cos((LABEL_ANGLE * Math.PI) / 180);
    const shown = labelled(j0, j1, stepFor(flat ? (colLabels ? 1 : textWidth(String(j1), SMALL_SIZE) + 4) : (SMALL_SIZE + 1) / sin, cw));
    const beyond = flat ? 0 : Math.max(...shown.map((j) => (j - j1 + 0.5) * cw + textWidth(labelOf(colLabels, j), SMALL_SIZE) * cos + SMALL_SIZE / 2));
    return {
        height: flat ? SMALL_SIZE : widest(shown) * sin + SMALL_SIZE / 2, beyond: Math.max(0, beyond),
        at: (left, top) => shown.map((j) => (flat ? text(left + (j - j0 + 0.5) * cw, top - LABEL_GAP - SMALL_SIZE / 2 + 1, labelOf(colLabels, j), { size: SMALL_SIZE, anchor: "middle", fill: QUIET })
            : text(left + (j - j0 + 0.5) * cw, top - LABEL_GAP - 2, labelOf(colLabels, j), { size: SMALL_SIZE, fill: QUIET, angle: LABEL_ANGLE }))).join(""),
    };
}

// A block. `picture`: as App.pictureOf gives it. `axes`: { rows, cols }, their names, or null: no labels either. `rows`: whether
// rows have labels.
export function matrixBlock(picture, { side, region = wholeOf(picture.matrix), axes = null, rows = true, title = "", size = cellSize(region, side), many = false }) {
    const [cw, ch] = size, width = (region.j1 - region.j0) * cw, height = (region.i1 - region.i0) * ch, plot = cells(picture, region, cw, ch, labelOf, many);
    const titleHeight = title ? TITLE_SIZE + 6 : 0, titleAt = (x) => (title ? text(x, TITLE_SIZE / 2, title, { size: TITLE_SIZE }) : ""), titleWidth = title ? textWidth(title, TITLE_SIZE) : 0;
    if (!axes) return { width: Math.max(width, titleWidth), height: titleHeight + height, left: 0, top: titleHeight, plotWidth: width, plotHeight: height, body: titleAt(0) + moved(0, titleHeight, plot) };
    const names = rows ? rowNames(picture, region, ch) : null, columns = columnNames(picture, region, cw), { rows: rowAxis, cols: columnAxis } = axes;
    const left = names ? Math.ceil(Math.max(names.width + LABEL_GAP, textWidth(rowAxis, SMALL_SIZE) + AXIS_GAP)) : 0, axisHeight = SMALL_SIZE + 8;
    const top = Math.ceil(titleHeight + axisHeight + columns.height + LABEL_GAP), end = Math.max(width + columns.beyond, textWidth(columnAxis, SMALL_SIZE), titleWidth);
    const body = titleAt(left) + text(left, titleHeight + SMALL_SIZE / 2, columnAxis, { size: SMALL_SIZE, fill: QUIET }) + columns.at(left, top)
        + (names ? text(left - AXIS_GAP, top - LABEL_GAP - SMALL_SIZE / 2 + 1, rowAxis, { size: SMALL_SIZE, anchor: "end", fill: QUIET }) + names.at(left, top) : "")
        + moved(left, top, plot);
    return { width: left + end, height: top + height + 1, left, top, plotWidth: width, plotHeight: height, body };
}
