// heatmap.js: one matrix on a canvas that pans and zooms, with a chosen cell that pointer and keyboard move. heatmap_paint.js paints it.

import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { heightLeft, onFrame } from "./dom.js";
import { cut, visible } from "./format.js";
import { listenForPainting } from "./heatmap_edit.js";
import { GIVEN_WIDTH, RECEIVED_HEIGHT, listenForLocks, tokenAt } from "./heatmap_locks.js";
import { LABEL_FONT, axisNames, paintHeatMap } from "./heatmap_paint.js";
import { TileCache } from "./tile_cache.js";

const FRAME_BUDGET_MS = 9, MOVING_BUDGET_MS = 2; // for filling tiles; the rest of a frame is for drawing them
const CELL_SIZE_MAX = 120, ZOOM_CELL_PIXELS = 192, CELL_STRETCH_BELOW = 8;
const AXIS = 18, LABELS = 22; // pixels above the cells: the name of the columns, and their labels
const LABEL_CHARACTERS = 14, ZOOM_DIGITS = 7;
const SUMS_WIDTH_MIN = 440; // of a picture that keeps room for sums beside it

export class HeatMap {
    // `events`: onCell(i, j): chosen; onHover([i, j] or null); onLock, onMask: as listenForLocks and listenForPainting call them;
    // onView(transform): panned or zoomed; onPaint(): a frame was painted;
    // onLayout({ left, top, right, height }): where the cells are beside what is around the canvas, in pixels.
    constructor(canvas, events = {}, { compact = false } = {}) {
        this.canvas = canvas;
        this.context = canvas.getContext("2d");
        this.events = events;
        this.compact = compact;
        this.heightMax = null; // pixels for the cells; null: down to the end of the window
        this.transform = zoomIdentity;
        this.cell = this.hover = null;
        this.moving = false; // since the last frame
        this.editing = false; // a drag paints cells instead of moving them
        this.painted = []; // cells that are being painted over
        this.draw = onFrame(() => this.paint());
        this.zoom = zoom().filter((event) => this.takes(event)).on("zoom", ({ transform, sourceEvent }) => {
            this.transform = transform;
            this.moving = true;
            this.canvas.classList.toggle("zoomed", transform.k > 1.001);
            this.draw();
            if (sourceEvent) this.events.onView?.(transform);
        });
        select(canvas).call(this.zoom).on("dblclick.zoom", null);
        canvas.addEventListener("pointermove", (event) => this.setHover(this.cellAt(event)));
        canvas.addEventListener("pointerleave", () => this.setHover(null));
        canvas.addEventListener("click", (event) => {
            const at = this.cellAt(event);
            if (at) this.choose(...at);
        });
        canvas.addEventListener("keydown", (event) => this.key(event));
        if (events.onLock) listenForLocks(this, events.onLock);
        if (events.onMask) listenForPainting(this, events.onMask);
        this.observer = new ResizeObserver(() => this.resize());
    }

    // Which events move the picture. Over one that shows everything, the wheel and one finger scroll the page, unless it has the focus.
    takes(event) {
        if (event.type === "wheel") return event.ctrlKey || this.transform.k > 1.001 || document.activeElement === this.canvas;
        if (event.type.startsWith("touch")) return event.touches.length > 1 || (this.transform.k > 1.001 && !this.editing);
        return !event.button && !this.editing && !tokenAt(this, event);
    }

    // `picture`: as for TileCache, with { rowLabels, colLabels }: texts, or null for numbers; { locked, sums }: as in locks.js, or null; or
    // with layers, as layersOf gives them. Returns whether its size is new, which ends the zoom.
    show(picture) {
        const before = this.picture?.matrix, { matrix } = picture, resized = !before || before.rows !== matrix.rows || before.cols !== matrix.cols;
        if (!before) this.observer.observe(this.canvas.parentElement);
        this.picture = picture;
        this.setLayers(picture);
        if (resized) {
            this.transform = zoomIdentity;
            if (this.cell && (this.cell[0] >= matrix.rows || this.cell[1] >= matrix.cols)) this.cell = null;
        }
        this.resize();
        return resized;
    }

    // Layers that were here before keep their tiles if these look the same.
    setLayers(picture) {
        const { scale, hidesMasked, showsReasons, hideFirst } = picture, before = this.layers ?? [];
        const look = picture.layers && JSON.stringify([scale.mode, scale.max, scale.signed, scale.colors, hidesMasked, showsReasons, hideFirst]);
        const tilesOf = (one) => (look && look === this.look && before.find((other) => other.picture.matrix === one.matrix)?.tiles) || new TileCache(one);
        this.layers = (picture.layers ?? [{ left: 0, top: 0, width: 1, height: 1, picture }]).map((layer) => ({ ...layer, tiles: tilesOf(layer.picture) }));
        this.tiles = this.layers[0].tiles;
        this.look = look;
    }

    // Other tokens are locked: { locked, sums } of the picture that is shown.
    lock(changes) {
        Object.assign(this.picture, changes);
        this.resize();
    }

    resize() {
        if (!this.picture) return;
        const width = this.canvas.parentElement.clientWidth;
        if (!width) return;
        this.measure(width);
        const ratio = window.devicePixelRatio || 1;
        this.ratio = ratio;
        this.canvas.width = Math.round(this.width * ratio);
        this.canvas.height = Math.round(this.height * ratio);
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
        this.events.onLayout?.({ left: this.canvas.offsetLeft, top: this.top, right: this.right, height: this.plotHeight });
        this.hatching = null;
        this.colors = this.readColors();
        const cells = [[this.left, this.top], [this.left + this.plotWidth, this.top + this.plotHeight]];
        this.zoom.extent(cells).translateExtent(cells).scaleExtent([1, Math.max(1, ZOOM_CELL_PIXELS / Math.min(this.cw, this.ch))]);
        select(this.canvas).call(this.zoom.transform, this.transform);
        this.paint();
    }

    // The theme's, read once per picture rather than once per frame.
    readColors() {
        const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
        return { ink: color("--ink"), quiet: color("--ink-quiet"), surface: color("--surface"), hatch: color("--hatch"), accent: color("--accent") };
    }

    // The gutters, then the cells: square unless that would make them too small to see.
    measure(width) {
        const { rows, cols } = this.picture.matrix, c = this.context;
        c.font = LABEL_FONT;
        const widest = (labels, count) => Math.max(...Array.from({ length: Math.min(count, 200) }, (_, i) =>
            c.measureText(this.label(labels, Math.floor((i * count) / Math.min(count, 200)))).width), c.measureText(String(count - 1)).width);
        const rowWidth = widest(this.picture.rowLabels, rows), colWidth = (this.colWidth = widest(this.picture.colLabels, cols));
        this.left = this.compact ? 4 : Math.ceil(Math.max(rowWidth, c.measureText(axisNames(this.picture).rows).width)) + 14;
        const { sums } = this.picture, below = sums && !this.compact ? RECEIVED_HEIGHT : 0, beside = sums?.given && !this.compact ? GIVEN_WIDTH : 0;
        const kept = sums && width >= SUMS_WIDTH_MIN ? GIVEN_WIDTH : beside; // so that no lock moves the labels
        const plotWidth = Math.max(40, width - this.left - 2 - kept);
        const plotHeight = Math.max(80, this.heightMax ?? heightLeft(this.canvas) - AXIS - LABELS - below);
        const cw = Math.min(CELL_SIZE_MAX, plotWidth / cols), ch = Math.min(CELL_SIZE_MAX, plotHeight / rows);
        const side = Math.max(Math.min(cw, ch), CELL_STRETCH_BELOW);
        this.cw = Math.min(cw, side);
        this.ch = Math.min(ch, side);
        this.slanted = !this.compact && colWidth > this.cw - 4;
        this.top = this.compact ? 4 : AXIS + (this.slanted && this.picture.colLabels ? Math.min(96, Math.ceil(colWidth) + 10) : LABELS);
        this.plotWidth = this.cw * cols;
        this.plotHeight = this.ch * rows;
        this.right = this.left + this.plotWidth + 2 + beside;
        this.width = this.left + this.plotWidth + 2 + kept;
        this.height = this.top + this.plotHeight + 2 + below;
    }

    label(labels, i) {
        return labels?.[i] === undefined ? String(i) : cut(visible(labels[i]), LABEL_CHARACTERS);
    }

    // The left edge of column j, the top edge of row i, in the canvas's pixels.
    x(j) {
        return this.transform.applyX(this.left + j * this.cw);
    }

    y(i) {
        return this.transform.applyY(this.top + i * this.ch);
    }

    cellAt(event) {
        if (!this.picture) return null;
        const box = this.canvas.getBoundingClientRect(), { rows, cols } = this.picture.matrix;
        const px = event.clientX - box.left, py = event.clientY - box.top;
        if (px < this.left || py < this.top) return null;
        const j = Math.floor((this.transform.invertX(px) - this.left) / this.cw);
        const i = Math.floor((this.transform.invertY(py) - this.top) / this.ch);
        return i >= 0 && j >= 0 && i < rows && j < cols && px < this.left + this.plotWidth && py < this.top + this.plotHeight ? [i, j] : null;
    }

    setHover(at) {
        if (String(at) === String(this.hover)) return;
        this.hover = at;
        this.draw();
        this.events.onHover?.(at);
    }

    // Highlights without an event: for maps whose cursors are linked.
    point(hover, cell) {
        this.hover = hover;
        if (cell !== undefined) this.cell = cell;
        this.draw();
    }

    choose(i, j) {
        this.cell = [i, j];
        this.draw();
        this.events.onCell?.(i, j);
    }

    key(event) {
        if (!this.picture || event.altKey || event.metaKey) return;
        const { rows, cols } = this.picture.matrix, [i, j] = this.cell ?? [0, 0];
        const page = Math.max(1, Math.floor(this.plotHeight / (this.ch * this.transform.k)));
        const moves = {
            ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
            PageUp: [i - page, j], PageDown: [i + page, j],
            Home: [event.ctrlKey ? 0 : i, 0], End: [event.ctrlKey ? rows - 1 : i, cols - 1],
        };
        const selection = select(this.canvas);
        if (event.shiftKey && event.key.startsWith("Arrow")) {
            const step = 80 / this.transform.k, axis = event.key === "ArrowUp" || event.key === "ArrowDown" ? 1 : 0;
            const sign = event.key === "ArrowUp" || event.key === "ArrowLeft" ? 1 : -1;
            this.zoom.translateBy(selection, axis ? 0 : sign * step, axis ? sign * step : 0);
        } else if (moves[event.key]) {
            const [a, b] = this.cell || !event.key.startsWith("Arrow") ? moves[event.key] : [0, 0];
            this.choose(Math.max(0, Math.min(rows - 1, a)), Math.max(0, Math.min(cols - 1, b)));
            this.reveal();
        } else if (event.key === "+" || event.key === "=") this.zoomBy(1.5);
        else if (event.key === "-") this.zoomBy(1 / 1.5);
        else if (event.key === "0") this.fit();
        else return;
        event.preventDefault();
    }

    zoomBy(factor) {
        const at = this.cell ? [this.x(this.cell[1] + 0.5), this.y(this.cell[0] + 0.5)] : undefined;
        this.zoom.scaleBy(select(this.canvas), factor, at);
        this.events.onView?.(this.transform);
    }

    fit() {
        select(this.canvas).call(this.zoom.transform, zoomIdentity);
        this.events.onView?.(this.transform);
    }

    setTransform(transform) {
        select(this.canvas).call(this.zoom.transform, transform);
    }

    // [k, x, y]: the factor, and the point in the middle as parts of the matrix's width and height; null: everything is shown. It is
    // the same for canvases of any size.
    readZoom() {
        const { k } = this.transform, middle = (from, size, invert) => (invert(from + size / 2) - from) / size;
        if (k <= 1) return null;
        return [k, middle(this.left, this.plotWidth, (x) => this.transform.invertX(x)), middle(this.top, this.plotHeight, (y) => this.transform.invertY(y))]
            .map((x) => Number(x.toFixed(ZOOM_DIGITS)));
    }

    setZoom(zoom) {
        const selection = select(this.canvas);
        selection.call(this.zoom.transform, zoomIdentity);
        if (!zoom) return;
        const [k, x, y] = zoom;
        selection.call(this.zoom.scaleTo, k, [this.left, this.top]);
        selection.call(this.zoom.translateTo, this.left + x * this.plotWidth, this.top + y * this.plotHeight);
    }

    // Pans so that the chosen cell is in view.
    reveal() {
        const [i, j] = this.cell, { k } = this.transform;
        const push = (from, to, most) => (from < 0 ? -from : to > most ? most - to : 0);
        const x0 = this.x(j) - this.left, y0 = this.y(i) - this.top;
        const dx = push(x0, x0 + this.cw * k, this.plotWidth), dy = push(y0, y0 + this.ch * k, this.plotHeight);
        if (dx || dy) this.zoom.translateBy(select(this.canvas), dx / k, dy / k);
    }

    // The cells in view: rows i0 to i1, columns j0 to j1, the ends excluded.
    visibleCells() {
        const { rows, cols } = this.picture.matrix, t = this.transform;
        return {
            i0: Math.max(0, Math.floor((t.invertY(this.top) - this.top) / this.ch)),
            i1: Math.min(rows, Math.ceil((t.invertY(this.top + this.plotHeight) - this.top) / this.ch)),
            j0: Math.max(0, Math.floor((t.invertX(this.left) - this.left) / this.cw)),
            j1: Math.min(cols, Math.ceil((t.invertX(this.left + this.plotWidth) - this.left) / this.cw)),
        };
    }

    // Paints on the canvas, or on another: then larger, and without a limit of time.
    paint(context = this.context, ratio = this.ratio, budget = this.moving ? MOVING_BUDGET_MS : FRAME_BUDGET_MS) {
        if (!this.picture || !this.ratio) return;
        this.moving = false;
        const complete = paintHeatMap(this, context, ratio, budget);
        this.canvas.dataset.whole = complete;
        if (!complete) this.draw();
        if (context === this.context) this.events.onPaint?.();
    }
}
