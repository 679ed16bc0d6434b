// heatmap_locks.js: tokens that are locked in a HeatMap: chosen by a click or a drag over their labels; what fades, and bars of the sums.

import { short } from "./format.js";
import { KEYS, QUERIES, gapsOf, isAny, runsOf } from "./locks.js";

export const RECEIVED_HEIGHT = 42, GIVEN_WIDTH = 66; // of the margins with the bars
const BAR_LENGTH = 26, GAP = 5, NUMBER_CELL_MIN = 30;
const FADE = 0.78, BAR_ALPHA = 0.8;
const NUMBER_FONT = "11px ui-monospace, 'DejaVu Sans Mono', monospace", NAME_FONT = "11px system-ui, sans-serif";

// The token whose label or bar is under the pointer, [QUERIES or KEYS, index]; null over cells and corners.
export function tokenAt(map, event) {
    if (!map.picture || map.compact) return null;
    const box = map.canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top, { rows, cols } = map.picture.matrix;
    const inX = px >= map.left && px < map.left + map.plotWidth, inY = py >= map.top && py < map.top + map.plotHeight;
    if (inX === inY) return null;
    const n = inY ? Math.floor((map.transform.invertY(py) - map.top) / map.ch) : Math.floor((map.transform.invertX(px) - map.left) / map.cw);
    return n >= 0 && n < (inY ? rows : cols) ? [inY ? QUERIES : KEYS, n] : null;
}

// Ctrl adds a token to those that are locked; a finger always does.
export const isAdding = ({ ctrlKey, metaKey, pointerType }) => ctrlKey || metaKey || pointerType === "touch";

// Calls onLock(side, n, { add, from }); from: the other end of a range, or "last", the token locked last.
export function listenForLocks(map, onLock) {
    const { canvas } = map;
    let begun = null, dragged = false; // where a drag began
    canvas.addEventListener("pointerdown", (event) => {
        begun = !event.button && event.pointerType !== "touch" ? tokenAt(map, event) : null;
        dragged = false;
        if (begun) canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
        const at = begun && event.buttons ? tokenAt(map, event) : null;
        if (!at || at[0] !== begun[0] || (!dragged && at[1] === begun[1])) return;
        dragged = true;
        onLock(...at, { from: begun[1] });
    });
    canvas.addEventListener("click", (event) => {
        const at = tokenAt(map, event);
        if (at && !dragged) onLock(...at, { add: isAdding(event), from: event.shiftKey ? "last" : null });
        dragged = false;
    });
}

// ---- painting ----

// Fades cells of tokens that are not locked, and frames those where locked queries meet locked keys.
export function paintFade(map, context) {
    const { locked, matrix: { rows, cols } } = map.picture, { k } = map.transform;
    if (!locked || !isAny(locked)) return;
    const box = (rowRun, colRun) => [map.x(colRun[0]), map.y(rowRun[0]), (colRun[1] - colRun[0]) * map.cw * k, (rowRun[1] - rowRun[0]) * map.ch * k];
    context.globalAlpha = FADE;
    context.fillStyle = map.colors.surface;
    for (const down of gapsOf(locked.queries, rows)) for (const across of gapsOf(locked.keys, cols)) context.fillRect(...box(down, across));
    context.globalAlpha = 1;
    context.strokeStyle = map.colors.accent;
    context.lineWidth = 1.5;
    for (const down of runsOf(locked.queries)) for (const across of runsOf(locked.keys)) context.strokeRect(...box(down, across));
}

// A text beside bars, fitted into the gutter.
function paintName(context, text, x, y, width, align) {
    context.font = NAME_FONT;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillText(text, x, y, width);
}

// Of the sums from one to another, the end excluded.
function largestOf(sums, from, to = sums.length) {
    let most = 0;
    for (let n = from; n < to; n++) if (sums[n] > most) most = sums[n];
    return most;
}

// Of the bar of tokens from one on, up to another.
const alphaOf = (locked, from, to) => (locked.length && !locked.some((n) => n >= from && n < to) ? 1 - FADE : BAR_ALPHA);

// Below the map: what each key receives in all.
function paintReceived(map, context, { received }) {
    const { hideFirst, locked } = map.picture, { k } = map.transform, { j0, j1 } = map.visibleCells(), first = hideFirst ? 1 : 0;
    const step = Math.ceil(1 / (map.cw * k)), width = map.cw * k * step; // keys narrower than a pixel share a bar
    const top = map.top + map.plotHeight + GAP, most = largestOf(received, first) || 1, pad = width > 8 ? 1 : 0;
    context.save();
    context.beginPath();
    context.rect(map.left, top, map.plotWidth, RECEIVED_HEIGHT);
    context.clip();
    for (let j = Math.max(first, j0 - (j0 % step)); j < j1; j += step) {
        const size = (largestOf(received, j, Math.min(j + step, j1)) / most) * BAR_LENGTH;
        context.globalAlpha = alphaOf(locked.keys, j, j + step);
        context.fillStyle = map.colors.accent;
        context.fillRect(map.x(j) + pad, top, Math.max(width - 2 * pad, 1), Math.max(size, 0.5));
        if (width < NUMBER_CELL_MIN) continue;
        context.globalAlpha = 1;
        context.fillStyle = map.colors.quiet;
        context.font = NUMBER_FONT;
        context.textAlign = "center";
        context.textBaseline = "top";
        context.fillText(short(received[j]), map.x(j) + width / 2, top + size + 2, width - 2);
    }
    context.restore();
    context.fillStyle = map.colors.quiet;
    paintName(context, "sum", map.left - 8, top + 6, map.left - 8, "right");
}

// Beside the map: what each query gives to the locked keys.
function paintGiven(map, context, { given }) {
    const { locked } = map.picture, { k } = map.transform, { i0, i1 } = map.visibleCells();
    const step = Math.ceil(1 / (map.ch * k)), height = map.ch * k * step, pad = height > 8 ? 1 : 0; // queries narrower than a pixel share a bar
    const left = map.left + map.plotWidth + GAP, most = largestOf(given, 0) || 1;
    context.save();
    context.beginPath();
    context.rect(left, map.top, GIVEN_WIDTH, map.plotHeight);
    context.clip();
    for (let i = i0 - (i0 % step); i < i1; i += step) {
        const size = (largestOf(given, i, Math.min(i + step, i1)) / most) * BAR_LENGTH;
        context.globalAlpha = alphaOf(locked.queries, i, i + step);
        context.fillStyle = map.colors.accent;
        context.fillRect(left, map.y(i) + pad, Math.max(size, 0.5), Math.max(height - 2 * pad, 1));
        if (height < 12) continue;
        context.globalAlpha = 1;
        context.fillStyle = map.colors.quiet;
        context.font = NUMBER_FONT;
        context.textAlign = "left";
        context.textBaseline = "middle";
        context.fillText(short(given[i]), left + size + 4, map.y(i) + height / 2);
    }
    context.restore();
    context.fillStyle = map.colors.quiet;
    paintName(context, "sum", left, map.top - 10, GIVEN_WIDTH, "left");
}

export function paintSums(map, context) {
    const { sums } = map.picture;
    if (!sums || map.compact) return;
    paintReceived(map, context, sums);
    if (sums.given) paintGiven(map, context, sums);
}
