// cells.js: the cells of a matrix in a figure: a rectangle for each, with its number as a title, or a bitmap of many. The colours are
// those of the page's own tiles.

import { pixel } from "../color.js";
import { escape } from "../escape.js";
import { number, short } from "../format.js";
import { gapsOf, isAny, runsOf } from "../locks.js";
import { isMasked } from "../mask_reasons.js";
import { TILE_MAX, TileCache } from "../tile_cache.js";
import { PAPER, RULE, moved, round, tag, text } from "./block.js";
import { textWidth } from "./font.js";

const VECTOR_CELLS_MAX = 128 * 128, BITMAP_SIDE_MAX = 1024, HATCHED = "#f3f4f6", HATCH = "#b9bfca", LOCKED = "#0b57b5", FADE = 0.78;
const LINES_CELL_MIN = 8, HATCH_STEP = 6, NUMBER_SIZES = [11, 10, 9, 8], NUMBER_MARGIN = 4;

// A pixel of a tile as attributes.
function fillOf(color) {
    const alpha = color >>> 24, fill = `rgb(${color & 255},${(color >> 8) & 255},${(color >> 16) & 255})`;
    return alpha === 255 ? ` fill="${fill}"` : ` fill="${fill}" fill-opacity="${round(alpha / 255)}"`;
}

const HIDDEN = pixel([128, 128, 128], 60);

function numbersOf(picture, { i0, i1, j0, j1 }, cw, ch, maxima) {
    const { matrix: { cols, data }, scale, hideFirst } = picture, shown = [];
    for (let i = i0; i < i1; i++)
        for (let j = j0; j < j1; j++) if (!isMasked(picture, i, j) && !(hideFirst && j === 0)) shown.push([i, j, short(data[i * cols + j])]);
    const widest = (size) => Math.max(...shown.map(([, , name]) => textWidth(name, size)));
    const size = NUMBER_SIZES.find((one) => one + NUMBER_MARGIN <= ch && widest(one) + NUMBER_MARGIN <= cw);
    if (!size) return "";
    return shown.map(([i, j, name]) => text((j - j0 + 0.5) * cw, (i - i0 + 0.5) * ch, name, { size, anchor: "middle", fill: scale.ink(data[i * cols + j], maxima?.[i]) })).join("");
}

// Lines from the lower left to the upper right through masked cells, that go on from cell to cell.
function hatching(masked, cw, ch) {
    const n = Math.max(1, Math.round(Math.min(cw, ch) / HATCH_STEP)), dx = cw / n, dy = ch / n;
    return masked.map(([x, y]) => Array.from({ length: 2 * n - 1 }, (_, k) => {
        const a = Math.max(0, k + 1 - n), b = Math.min(n, k + 1); // in steps: from the left or lower edge to the upper or right one
        return `M${round(x + a * dx)} ${round(y + (k + 1 - a) * dy)}L${round(x + b * dx)} ${round(y + (k + 1 - b) * dy)}`;
    }).join("")).join("");
}

function rectangles(picture, region, cw, ch, labelOf) {
    const { i0, i1, j0, j1 } = region, { matrix: { cols, data }, rowLabels, colLabels, hideFirst } = picture, tiles = new TileCache(picture), masked = [];
    const size = `width="${round(cw)}" height="${round(ch)}"`;
    let visible = "", covered = "";
    for (let i = i0; i < i1; i++)
        for (let j = j0; j < j1; j++) {
            const x = (j - j0) * cw, y = (i - i0) * ch, value = data[i * cols + j], hidden = isMasked(picture, i, j);
            const color = hideFirst && j === 0 ? HIDDEN : tiles.pixelOf(value, i, i, j);
            if (hidden) masked.push([x, y]);
            const cell = `<rect x="${round(x)}" y="${round(y)}" ${size}${color ? fillOf(color) : ` fill="${HATCHED}"`}>`
                + `<title>${escape(labelOf(rowLabels, i))} → ${escape(labelOf(colLabels, j))}: ${hidden ? "masked" : number(value)}</title></rect>`;
            if (hidden) covered += cell;
            else visible += cell;
        }
    const lines = Math.min(cw, ch) >= LINES_CELL_MIN;
    return `<g shape-rendering="crispEdges">${covered}<g${lines ? ` stroke="${PAPER}" stroke-width="0.5"` : ""}>${visible}</g></g>`
        + (masked.length ? tag("path", { d: hatching(masked, cw, ch), stroke: HATCH, "stroke-width": 0.6, fill: "none", "pointer-events": "none" }) : "")
        + numbersOf(picture, region, cw, ch, tiles.maxima);
}

function hatchPattern(context, step) {
    const tile = document.createElement("canvas"), c = tile.getContext("2d");
    tile.width = tile.height = step;
    c.fillStyle = HATCHED;
    c.fillRect(0, 0, step, step);
    c.strokeStyle = HATCH;
    for (const x of [-step, 0, step]) {
        c.moveTo(x - 1, step + 1);
        c.lineTo(x + step + 1, -1);
    }
    c.stroke();
    return context.createPattern(tile, "repeat");
}

// A pixel covers several cells where there are too many, and shows the number of the largest size; else a cell has a whole number of pixels.
function bitmap(picture, { i0, i1, j0, j1 }, width, height) {
    const level = (cells, size) => Math.max(0, Math.ceil(Math.log2(cells / Math.min(BITMAP_SIDE_MAX, 2 * size)))), levelX = level(j1 - j0, width), levelY = level(i1 - i0, height);
    const pixels = (cells, size) => Math.max(1, Math.round((2 * size) / cells)), kx = pixels((j1 - j0) / (1 << levelX), width), ky = pixels((i1 - i0) / (1 << levelY), height);
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), tiles = new TileCache(picture, TILE_MAX);
    const scaleX = kx / (1 << levelX), scaleY = ky / (1 << levelY), spanX = TILE_MAX << levelX, spanY = TILE_MAX << levelY;
    canvas.width = Math.ceil((j1 - j0) * scaleX);
    canvas.height = Math.ceil((i1 - i0) * scaleY);
    context.fillStyle = hatchPattern(context, HATCH_STEP * 2);
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = false;
    for (let top = Math.floor(i0 / spanY) * spanY; top < i1; top += spanY)
        for (let left = Math.floor(j0 / spanX) * spanX; left < j1; left += spanX) {
            const tile = tiles.make(levelX, levelY, left / spanX, top / spanY);
            context.drawImage(tile, (left - j0) * scaleX, (top - i0) * scaleY, tile.width * kx, tile.height * ky);
        }
    return tag("image", { width, height, preserveAspectRatio: "none", "image-rendering": "pixelated", "xlink:href": canvas.toDataURL("image/png") });
}

// Pooled weights, and over them the parts that are there where a pooled one is larger than a pixel: `layers` as layersOf gives them.
function layered({ layers, scale }, { i0, i1, j0, j1 }, cw, ch) {
    const [first] = layers, within = (x, from, to) => Math.max(from, Math.min(to, x)), shown = layers.filter((layer) => layer === first || first.width * cw > 1 || first.height * ch > 1);
    const images = shown.map((layer) => {
        const { left, top, width, height } = layer, { rows, cols } = layer.picture.matrix;
        const a = within(Math.floor((i0 - top) / height), 0, rows), b = within(Math.ceil((i1 - top) / height), 0, rows);
        const c = within(Math.floor((j0 - left) / width), 0, cols), d = within(Math.ceil((j1 - left) / width), 0, cols);
        if (a >= b || c >= d) return "";
        return moved((left + c * width - j0) * cw, (top + a * height - i0) * ch, bitmap({ ...layer.picture, scale }, { i0: a, i1: b, j0: c, j1: d }, (d - c) * width * cw, (b - a) * height * ch));
    });
    return tag("svg", { width: (j1 - j0) * cw, height: (i1 - i0) * ch, overflow: "hidden" }, images.join(""));
}

// White over cells of tokens that are not locked, and frames where locked queries meet locked keys.
function faded({ locked }, { i0, i1, j0, j1 }, cw, ch) {
    if (!locked || !isAny(locked)) return "";
    const within = (runs, first, end) => runs.map(([a, b]) => [Math.max(a, first) - first, Math.min(b, end) - first]).filter(([a, b]) => a < b);
    const boxes = (down, across, attributes) => within(down, i0, i1).flatMap(([top, bottom]) => within(across, j0, j1).map(([left, right]) =>
        tag("rect", { x: left * cw, y: top * ch, width: (right - left) * cw, height: (bottom - top) * ch, ...attributes }))).join("");
    return boxes(gapsOf(locked.queries, i1), gapsOf(locked.keys, j1), { fill: PAPER, "fill-opacity": FADE }) + boxes(runsOf(locked.queries), runsOf(locked.keys), { fill: "none", stroke: LOCKED, "stroke-width": 1.5 });
}

// `region`: rows i0 to i1, columns j0 to j1, the ends excluded. `many`: cells are drawn as a bitmap, as they are one of many matrices.
export function cells(picture, region, cw, ch, labelOf, many = false) {
    const rows = region.i1 - region.i0, cols = region.j1 - region.j0, width = cols * cw, height = rows * ch;
    const body = picture.layers ? layered(picture, region, cw, ch) : many || rows * cols > VECTOR_CELLS_MAX ? bitmap(picture, region, width, height) : rectangles(picture, region, cw, ch, labelOf);
    return body + faded(picture, region, cw, ch) + tag("rect", { width, height, fill: "none", stroke: RULE, "stroke-width": 0.75 });
}
