// heatmap_paint.js: paints a HeatMap: tiles, then lines and numbers in large cells, the cursor, and labels in the gutters.

import { number, short, tiny } from "./format.js";
import { paintPainted } from "./heatmap_edit.js";
import { paintFade, paintSums } from "./heatmap_locks.js";
import { isMasked } from "./mask_reasons.js";
import { valueAt } from "./matrix.js";
import { TILE } from "./tile_cache.js";

const CELL_LINES_SIZE = 10, CELL_NUMBER_WIDTH = 40, CELL_NUMBER_HEIGHT = 17, CELL_DIGITS_WIDTH = 58;
export const LABEL_FONT = "12px system-ui, sans-serif";
const NUMBER_FONT = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
const LABEL_STEP_Y = 15, LABEL_STEP_X = 18;

function hatch(context, ink) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const c = tile.getContext("2d");
    c.strokeStyle = ink;
    c.lineWidth = 1;
    c.beginPath();
    for (const x of [-8, 0, 8]) {
        c.moveTo(x - 1, 9);
        c.lineTo(x + 9, -1);
    }
    c.stroke();
    return context.createPattern(tile, "repeat");
}

// Spends at most `budget` milliseconds on filling tiles. Returns whether every tile in view is painted.
export function paintHeatMap(map, context, ratio, budget) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = map.colors.surface;
    context.fillRect(0, 0, map.width, map.height);
    context.save();
    context.beginPath();
    context.rect(map.left, map.top, map.plotWidth, map.plotHeight);
    context.clip();
    map.hatching ??= hatch(context, map.colors.hatch);
    context.fillStyle = map.hatching;
    context.fillRect(map.left, map.top, map.plotWidth, map.plotHeight);
    const complete = paintLayers(map, context, budget);
    paintCells(map, context);
    paintFade(map, context);
    paintPainted(map, context);
    paintCursor(map, context);
    context.restore();
    paintSums(map, context);
    if (!map.compact) {
        paintAxisNames(map, context);
        paintLabels(map, context);
    }
    return complete;
}

// Layers over the first are left out where a number of the first covers no more than a pixel, as they would look the same.
function paintLayers(map, context, budget) {
    const { k } = map.transform, [first, ...others] = map.layers;
    const apart = map.cw * k * map.ratio * first.width > 1 || map.ch * k * map.ratio * first.height > 1, shown = apart ? [first, ...others] : [first];
    context.imageSmoothingEnabled = false;
    return shown.map((layer) => paintTiles(map, layer, context, budget)).every(Boolean);
}

// A coarser tile, if there is one, takes the place of each that is not filled in time.
function paintTiles(map, layer, context, budget) {
    const begun = performance.now(), { k } = map.transform, { tiles, left, top, width, height } = layer, { rows, cols } = layer.picture.matrix, seen = map.visibleCells();
    const i0 = Math.max(0, Math.floor((seen.i0 - top) / height)), i1 = Math.min(rows, Math.ceil((seen.i1 - top) / height));
    const j0 = Math.max(0, Math.floor((seen.j0 - left) / width)), j1 = Math.min(cols, Math.ceil((seen.j1 - left) / width));
    const level = (pixels) => Math.max(0, Math.floor(-Math.log2(pixels * k * map.ratio) + 0.2));
    const levelX = level(map.cw * width), levelY = level(map.ch * height), spanX = TILE << levelX, spanY = TILE << levelY;
    let complete = true;
    for (let ty = Math.floor(i0 / spanY); ty * spanY < i1; ty++)
        for (let tx = Math.floor(j0 / spanX); tx * spanX < j1; tx++) {
            let tile = tiles.find(levelX, levelY, tx, ty);
            if (!tile && performance.now() - begun < budget) tile = tiles.make(levelX, levelY, tx, ty);
            if (tile) paintTile(map, layer, context, tile, tx * spanX, ty * spanY, levelX, levelY);
            else {
                paintCoarser(map, layer, context, tx, ty, levelX, levelY);
                complete = false;
            }
        }
    return complete;
}

// Where a layer's column or row begins on the canvas.
const columnAt = (map, { left, width }, j) => map.x(left + j * width);
const rowAt = (map, { top, height }, i) => map.y(top + i * height);

function paintTile(map, layer, context, tile, left, top, levelX, levelY) {
    const x = columnAt(map, layer, left), y = rowAt(map, layer, top);
    const right = columnAt(map, layer, left + (tile.width << levelX)), bottom = rowAt(map, layer, top + (tile.height << levelY));
    context.drawImage(tile, x, y, right - x, bottom - y);
}

function paintCoarser(map, layer, context, tx, ty, levelX, levelY) {
    for (let up = 1; up <= 4; up++) {
        const tile = layer.tiles.find(levelX + up, levelY + up, tx >> up, ty >> up);
        if (!tile) continue;
        const size = TILE >> up, sx = (tx - ((tx >> up) << up)) * size, sy = (ty - ((ty >> up) << up)) * size;
        const width = Math.min(size, tile.width - sx), height = Math.min(size, tile.height - sy);
        if (width <= 0 || height <= 0) return;
        const left = (tx * TILE) << levelX, top = (ty * TILE) << levelY, x = columnAt(map, layer, left), y = rowAt(map, layer, top);
        context.drawImage(tile, sx, sy, width, height, x, y, columnAt(map, layer, left + (width << (levelX + up))) - x, rowAt(map, layer, top + (height << (levelY + up))) - y);
        return;
    }
}

// Lines between large cells, and numbers in larger ones.
function paintCells(map, context) {
    const { k } = map.transform, width = map.cw * k, height = map.ch * k, { matrix, scale, maxima, layers } = map.picture;
    const { i0, i1, j0, j1 } = map.visibleCells();
    if (Math.min(width, height) < CELL_LINES_SIZE) return;
    context.strokeStyle = map.colors.surface;
    context.lineWidth = 1;
    context.beginPath();
    for (let i = i0; i <= i1; i++) context.rect(map.left, Math.round(map.y(i)) - 0.5, map.plotWidth, 0);
    for (let j = j0; j <= j1; j++) context.rect(Math.round(map.x(j)) - 0.5, map.top, 0, map.plotHeight);
    context.stroke();
    if (width < CELL_NUMBER_WIDTH || height < CELL_NUMBER_HEIGHT) return;
    const wide = width >= CELL_DIGITS_WIDTH, text = layers ? (x) => tiny(x, wide ? 1 : 0) : wide ? number : short;
    context.font = NUMBER_FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let i = i0; i < i1; i++)
        for (let j = j0; j < j1; j++) {
            const x = valueAt(matrix, i, j);
            if (x === undefined || isMasked(map.picture, i, j)) continue;
            context.fillStyle = scale.ink(x, (maxima ?? map.tiles.maxima)?.[i]);
            context.fillText(text(x), map.x(j) + width / 2, map.y(i) + height / 2, width - 4);
        }
}

function paintCursor(map, context) {
    const { k } = map.transform, width = map.cw * k, height = map.ch * k;
    const frame = ([i, j], line, ink) => {
        context.strokeStyle = ink;
        context.lineWidth = line;
        context.strokeRect(map.x(j), map.y(i), Math.max(width, 2), Math.max(height, 2));
    };
    if (map.hover) {
        context.fillStyle = map.colors.accent;
        context.globalAlpha = 0.14;
        context.fillRect(map.left, map.y(map.hover[0]), map.plotWidth, Math.max(height, 1));
        context.fillRect(map.x(map.hover[1]), map.top, Math.max(width, 1), map.plotHeight);
        context.globalAlpha = 1;
        frame(map.hover, 1.5, map.colors.ink);
    }
    if (!map.cell) return;
    frame(map.cell, 4, map.colors.surface);
    frame(map.cell, 2, map.colors.accent);
}

// What rows and columns are.
export const axisNames = ({ stage }) => ({ rows: "queries ↓", cols: stage === "output" ? "dimensions →" : "keys →" });

function paintAxisNames(map, context) {
    const { rows, cols } = axisNames(map.picture);
    context.font = LABEL_FONT;
    context.fillStyle = map.colors.quiet;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(rows, map.left - 8, map.top - 10);
    context.textAlign = "left";
    context.fillText(cols, map.left, 8);
}

function paintLabels(map, context) {
    const { k } = map.transform, width = map.cw * k, height = map.ch * k, { i0, i1, j0, j1 } = map.visibleCells();
    const locked = [map.picture.locked?.queries ?? [], map.picture.locked?.keys ?? []];
    const lit = (axis, n) => map.hover?.[axis] === n || map.cell?.[axis] === n || locked[axis].includes(n);
    const font = (axis, n) => (locked[axis].includes(n) ? `bold ${LABEL_FONT}` : LABEL_FONT);
    const steps = (least, size) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((step) => step * size >= least) ?? 10000;
    context.font = LABEL_FONT;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const stepY = steps(LABEL_STEP_Y, height), slanted = map.slanted && map.picture.colLabels;
    for (let i = Math.ceil(i0 / stepY) * stepY; i < i1; i += stepY) {
        const y = map.y(i) + height / 2;
        if (y < map.top || y > map.top + map.plotHeight) continue;
        context.font = font(0, i);
        context.fillStyle = lit(0, i) ? map.colors.accent : map.colors.quiet;
        context.fillText(map.label(map.picture.rowLabels, i), map.left - 8, y);
    }
    const stepX = steps(slanted ? LABEL_STEP_X - 3 : Math.max(LABEL_STEP_X + 6, map.colWidth + 8), width);
    context.textAlign = slanted ? "left" : "center";
    for (let j = Math.ceil(j0 / stepX) * stepX; j < j1; j += stepX) {
        const x = map.x(j) + width / 2;
        if (x < map.left || x > map.left + map.plotWidth) continue;
        context.font = font(1, j);
        context.fillStyle = lit(1, j) ? map.colors.accent : map.colors.quiet;
        const text = map.label(map.picture.colLabels, j);
        if (slanted) {
            context.save();
            context.translate(x, map.top - 7);
            context.rotate(-Math.PI / 2);
            context.fillText(text, 0, 0, map.top - 8);
            context.restore();
        } else context.fillText(text, x, map.top - 10);
    }
}
