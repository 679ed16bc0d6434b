// heatmap_svg.js: a heat map as SVG: a rectangle per cell with its number as a title, labels, and numbers in large cells.

import { rowMaxima } from "./color.js";
import { svg } from "./dom.js";
import { cut, number, visible } from "./format.js";
import { isMasked } from "./mask_reasons.js";

const CELL_MAX = 40, CELL_MIN = 6, SIDE_MAX = 1600, NUMBER_CELL_MIN = 36, MARGIN = 8;
const LABEL_CHARACTERS = 14, LABEL_ANGLE = 50, FONT = "system-ui, sans-serif";

const labelOf = (labels, i) => (labels?.[i] === undefined ? String(i) : cut(visible(labels[i]), LABEL_CHARACTERS));

function text(x, y, content, attributes) {
    const element = svg("text", { x, y, "dominant-baseline": "middle", fill: "#333", ...attributes });
    element.textContent = content;
    return element;
}

// Sizes in pixels; the gutters hold the widest label, the right margin the end of the last slanted one.
function layoutOf({ matrix: { rows, cols }, rowLabels, colLabels }) {
    const cell = Math.max(CELL_MIN, Math.min(CELL_MAX, SIDE_MAX / Math.max(rows, cols))), fontSize = Math.min(12, cell * 0.7);
    const context = document.createElement("canvas").getContext("2d"), angle = (LABEL_ANGLE * Math.PI) / 180;
    context.font = `${fontSize}px ${FONT}`;
    const widest = (labels, count) => Math.max(...Array.from({ length: count }, (_, i) => context.measureText(labelOf(labels, i)).width));
    const rowWidth = widest(rowLabels, rows), colWidth = widest(colLabels, cols), slanted = Boolean(colLabels);
    const left = rowWidth + 2 * MARGIN, top = (slanted ? colWidth * Math.sin(angle) : fontSize) + 2 * MARGIN + fontSize / 2;
    return { cell, fontSize, slanted, left, top, width: left + cols * cell + MARGIN + (slanted ? colWidth * Math.cos(angle) : 0), height: top + rows * cell + MARGIN };
}

function labels({ matrix: { rows, cols }, rowLabels, colLabels }, { cell, slanted, left, top }) {
    const y = top - MARGIN, ofRow = (i) => text(left - MARGIN, top + (i + 0.5) * cell, labelOf(rowLabels, i), { "text-anchor": "end" });
    const ofColumn = (j) => {
        const x = left + (j + 0.5) * cell;
        return text(x, y, labelOf(colLabels, j), slanted ? { "text-anchor": "start", transform: `rotate(${-LABEL_ANGLE} ${x} ${y})` } : { "text-anchor": "middle" });
    };
    return [...Array.from({ length: rows }, (_, i) => ofRow(i)), ...Array.from({ length: cols }, (_, j) => ofColumn(j))];
}

function cells(picture, { cell, left, top }) {
    const { matrix, scale, rowLabels, colLabels, hideFirst } = picture, { rows, cols, data } = matrix, out = [];
    const maxima = scale.mode === "row" ? rowMaxima(matrix, hideFirst) : null;
    for (let i = 0; i < rows; i++)
        for (let j = 0; j < cols; j++) {
            const x = data[i * cols + j], masked = isMasked(picture, i, j), title = svg("title"), at = { x: left + j * cell, y: top + i * cell };
            const fill = masked ? "url(#hatch)" : hideFirst && j === 0 ? "#ccc" : scale.css(x, maxima?.[i]);
            title.textContent = `${labelOf(rowLabels, i)} → ${labelOf(colLabels, j)}: ${masked ? "masked" : number(x)}`;
            out.push(svg("rect", { ...at, width: cell, height: cell, fill, stroke: "#fff", "stroke-width": 0.5 }, title));
            if (cell < NUMBER_CELL_MIN || masked || (hideFirst && j === 0)) continue;
            out.push(text(at.x + cell / 2, at.y + cell / 2, x.toFixed(2), { "text-anchor": "middle", fill: scale.ink(x, maxima?.[i]), "font-size": 10 }));
        }
    return out;
}

// `picture`: as App.picture() gives it.
export function heatmapSvg(picture) {
    const layout = layoutOf(picture), { width, height, fontSize } = layout;
    const hatch = svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("rect", { width: 6, height: 6, fill: "#fff" }), svg("rect", { width: 1, height: 6, fill: "#999" }));
    return svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, "font-family": FONT, "font-size": fontSize },
        svg("defs", {}, hatch), svg("rect", { width: "100%", height: "100%", fill: "#fff" }), ...labels(picture, layout), ...cells(picture, layout));
}
