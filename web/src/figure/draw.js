// draw.js: a figure for a paper, as SVG, from what a view says that it shows. Both the SVG and the PNG are made from it.
//
//   { kind: "maps", panels, legend }    matrices side by side, each { picture, title, region, bar }
//   { kind: "grid", columns, rows }     small matrices of one scale in rows { name, panels }; columns: [{ name, apart }], or null
//   { kind: "lines", ... }              lines.js
//   { kind: "table", picture, region }  numbers
//   { kind: "overlay", ... }            overlay.js
//
// with { title, caption }: what it is, and sentences about what is seen. `bar` names what a scale's numbers are.

import { escape } from "../escape.js";
import { axisNames } from "../heatmap_paint.js";
import { PAPER, QUIET, SMALL_SIZE, TITLE_SIZE, TEXT_SIZE, column, grid, moved, paragraph, row, tag, text } from "./block.js";
import { glyphDefinitions, loadFont, textWidth } from "./font.js";
import { legendBlock } from "./legend.js";
import { linesBlock } from "./lines.js";
import { cellSize, matrixBlock, wholeOf } from "./matrix.js";
import { overlayBlock } from "./overlay.js";
import { barBelow, barBeside } from "./scale_bar.js";
import { withSums } from "./sums.js";
import { tableBlock } from "./table.js";

const MARGIN = 12, GAP = 16, APART = 10, CAPTION_WIDTH_MIN = 420, CAPTION_WIDTH_MAX = 760;
const SIDE_ALONE = 640, SIDE_BESIDE = 300, SIDE_OF_MANY = 220, SIDE_SMALL = 110, SIDE_SMALL_MIN = 40, GRID_WIDTH = 900, BAR_LENGTH = 200, BAR_BESIDE_MAX = 360;

const onPaper = (picture) => ({ ...picture, scale: picture.scale.onPaper() });

// What the numbers of a bar are, and how the scale places them.
const barLabel = (scale, label) => [label, scale.about, scale.mode === "log" && "log scale"].filter(Boolean).join(", ");

function mapAlone({ picture: shown, title, region, bar }) {
    const picture = onPaper(shown), whole = region ?? wholeOf(picture.matrix), size = cellSize(whole, SIDE_ALONE);
    const map = withSums(matrixBlock(picture, { region: whole, size, axes: axisNames(picture), title }), picture, whole, size);
    return row([map, barBeside(picture.scale, Math.max(60, Math.min(map.plotHeight, BAR_BESIDE_MAX)), barLabel(picture.scale, bar))], GAP);
}

// A matrix with its bar below the plot. `height`: a cell's.
function mapWithBar({ picture: shown, title, region, bar }, side, height) {
    const picture = onPaper(shown), [cw] = cellSize(wholeOf(picture.matrix), side), map = matrixBlock(picture, { region, axes: axisNames(picture), title, size: [Math.min(cw, height), height] });
    const label = barLabel(picture.scale, bar), length = Math.max(100, Math.min(map.plotWidth, BAR_LENGTH)), below = barBelow(picture.scale, length, label);
    const inset = Math.max(0, (textWidth(label, SMALL_SIZE) - length) / 2), y = map.height + 12;
    return { ...map, width: Math.max(map.width, map.left + length + inset), height: y + below.height, body: map.body + moved(map.left, y, below.body) };
}

function maps({ panels, legend = [] }) {
    const side = panels.length > 2 ? SIDE_OF_MANY : SIDE_BESIDE, [, height] = cellSize(wholeOf(panels[0].picture.matrix), side);
    const block = panels.length === 1 ? mapAlone(panels[0]) : row(panels.map((panel) => mapWithBar(panel, side, height)), GAP + 8);
    return legend.length ? column([block, legendBlock(legend, Math.max(block.width, CAPTION_WIDTH_MIN))], GAP) : block;
}

// A small matrix with its name, and a number that it is ordered by, below it.
function small({ picture, title, value }, side) {
    const names = [title, value].filter((name) => name), map = matrixBlock(onPaper(picture), { side, many: true });
    const width = Math.max(map.plotWidth, ...names.map((name) => textWidth(name, SMALL_SIZE)));
    return { width, height: map.height + names.length * 14 + (names.length ? 2 : 0), centered: true, left: 0, top: 0,
        body: moved((width - map.plotWidth) / 2, 0, map.body) + names.map((name, i) => text(width / 2, map.height + 9 + i * 14, name, { size: SMALL_SIZE, anchor: "middle", fill: i ? undefined : QUIET })).join("") };
}

const named = (name) => ({ width: textWidth(name, SMALL_SIZE), height: SMALL_SIZE, body: text(0, SMALL_SIZE / 2, name, { size: SMALL_SIZE, fill: QUIET }), centered: true });

// Rows of panels; of `columns` null, as many in a line as fit, each under its own name.
function grids({ columns, rows, scale, bar }) {
    const across = columns?.length ?? Math.min(Math.max(...rows.map(({ panels }) => panels.length)), Math.floor(GRID_WIDTH / SIDE_SMALL));
    const side = Math.max(SIDE_SMALL_MIN, Math.min(SIDE_SMALL, Math.floor(GRID_WIDTH / across) - GAP)), lines = [];
    if (columns) lines.push([null, ...columns.map(({ name, apart }) => ({ ...named(name), before: apart ? APART : 0 }))]);
    for (const { name, panels } of rows)
        for (let at = 0; at < panels.length; at += across)
            lines.push([...(name ? [{ ...named(name), middle: true, centered: false }] : []), ...panels.slice(at, at + across).map((panel) => small(columns ? { picture: panel.picture } : panel, side))]);
    const all = grid(lines, columns ? 8 : GAP, columns ? 8 : 10), paper = scale.onPaper();
    return row([all, barBeside(paper, Math.max(60, Math.min(all.height, BAR_BESIDE_MAX)), barLabel(paper, bar))], GAP);
}

const overlay = (figure) => overlayBlock({ ...figure, label: barLabel(figure.scale, "weight") });

const KINDS = { maps, grid: grids, lines: linesBlock, table: tableBlock, overlay };

// Returns SVG, self-contained. `details`: what the caption says after the figure's own sentences.
export async function drawFigure(figure, details) {
    await loadFont();
    const { title } = figure, block = KINDS[figure.kind](figure), captionWidth = Math.max(CAPTION_WIDTH_MIN, Math.min(block.width, CAPTION_WIDTH_MAX)), sentences = [figure.caption, details].filter(Boolean).join(" ");
    const caption = column([paragraph(title, captionWidth, { size: TITLE_SIZE }), paragraph(sentences, captionWidth, { size: TEXT_SIZE, fill: QUIET })], 4);
    const all = column([block, caption], GAP), width = Math.ceil(all.width + 2 * MARGIN), height = Math.ceil(all.height + 2 * MARGIN), body = moved(MARGIN, MARGIN, all.body);
    return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`
        + tag("title", {}, escape(title)) + tag("defs", {}, glyphDefinitions(body)) + tag("rect", { width, height, fill: PAPER }) + body + "</svg>\n";
}
