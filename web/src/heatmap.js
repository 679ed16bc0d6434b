// heatmap.js: one matrix on a canvas: pans, zooms, labels that stay in view, a cell that the keyboard moves.

import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { onFrame } from "./dom.js";
import { cut, number, short, visible } from "./format.js";
import { TILE, Tiles } from "./tiles.js";

const FRAME_BUDGET_MS = 9, MOVING_BUDGET_MS = 2; // for making tiles; the rest of a frame is for drawing them
const CELL_MOST = 72, CELL_NUMBER_WIDTH = 40, CELL_NUMBER_HEIGHT = 17;
const LABEL_FONT = "12px system-ui, sans-serif", NUMBER_FONT = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
const LABEL_CHARACTERS = 14, LABEL_STEP_Y = 15, LABEL_STEP_X = 18;
const ZOOM_CELL_PIXELS = 96;

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

export class HeatMap {
    // `events`: onCell(i, j) chosen, onHover([i, j] or null), onView() panned or zoomed.
    constructor(canvas, events = {}, { compact = false } = {}) {
        this.canvas = canvas;
        this.context = canvas.getContext("2d");
        this.events = events;
        this.compact = compact;
        this.transform = zoomIdentity;
        this.cell = this.hover = null;
        this.moving = false; // since the last frame
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
        this.observer = new ResizeObserver(() => this.resize());
    }

    // The page scrolls over a picture that is whole; one that is zoomed, focused or pinched moves itself.
    takes(event) {
        if (event.type === "wheel") return event.ctrlKey || this.transform.k > 1.001 || document.activeElement === this.canvas;
        if (event.type.startsWith("touch")) return event.touches.length > 1 || this.transform.k > 1.001;
        return !event.button;
    }

    // `picture` is Tiles's, and { rowLabels, colLabels }: texts, or null for numbers.
    show(picture) {
        const before = this.picture?.matrix, { matrix } = picture;
        if (!before) this.observer.observe(this.canvas.parentElement);
        this.picture = picture;
        this.tiles = new Tiles(picture);
        if (!before || before.rows !== matrix.rows || before.cols !== matrix.cols) {
            this.transform = zoomIdentity;
            if (this.cell && (this.cell[0] >= matrix.rows || this.cell[1] >= matrix.cols)) this.cell = null;
        }
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
        this.hatching = null;
        this.colors = this.readColors();
        const cells = [[this.left, this.top], [this.left + this.plotWidth, this.top + this.plotHeight]];
        this.zoom.extent(cells).translateExtent(cells).scaleExtent([1, Math.max(1, ZOOM_CELL_PIXELS / Math.min(this.cw, this.ch))]);
        select(this.canvas).call(this.zoom.transform, this.transform);
        this.paint();
    }

    // The theme's; asked once a picture, not once a frame.
    readColors() {
        const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
        return { ink: color("--ink"), quiet: color("--ink-quiet"), surface: color("--surface"), hatch: color("--hatch"), accent: color("--accent") };
    }

    // Gutters, then the cells: square where that leaves them visible, stretched where one side is much longer.
    measure(width) {
        const { rows, cols } = this.picture.matrix, c = this.context;
        c.font = LABEL_FONT;
        const widest = (labels, count) => Math.max(...Array.from({ length: Math.min(count, 200) }, (_, i) =>
            c.measureText(this.label(labels, Math.floor((i * count) / Math.min(count, 200)))).width), c.measureText(String(count - 1)).width);
        const rowWidth = widest(this.picture.rowLabels, rows), colWidth = widest(this.picture.colLabels, cols);
        this.left = this.compact ? 4 : Math.ceil(rowWidth) + 14;
        const room = Math.max(40, width - this.left - 2);
        const most = Math.max(160, Math.min(this.compact ? 320 : 680, window.innerHeight * (this.compact ? 0.4 : 0.68)));
        let cw = Math.min(CELL_MOST, room / cols), ch = Math.min(CELL_MOST, most / rows);
        const square = Math.min(cw, ch);
        cw = Math.min(cw, Math.max(square, square < 8 ? 8 : square));
        ch = Math.min(ch, Math.max(square, square < 8 ? 8 : square));
        this.cw = cw;
        this.ch = ch;
        this.slanted = !this.compact && colWidth > cw - 4;
        this.top = this.compact ? 4 : this.slanted && cw >= 6 && this.picture.colLabels ? Math.min(96, Math.ceil(colWidth) + 10) : 22;
        this.plotWidth = cw * cols;
        this.plotHeight = ch * rows;
        this.width = this.left + this.plotWidth + 2;
        this.height = this.top + this.plotHeight + 2;
    }

    label(labels, i) {
        return labels?.[i] === undefined ? String(i) : cut(visible(labels[i]), LABEL_CHARACTERS);
    }

    // Where cell (i, j) starts, in the canvas's pixels.
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
        return i >= 0 && j >= 0 && i < rows && j < cols ? [i, j] : null;
    }

    setHover(at) {
        if (String(at) === String(this.hover)) return;
        this.hover = at;
        this.draw();
        this.events.onHover?.(at);
    }

    // Highlights without telling anyone: for maps whose cursors are linked.
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

    // Pans so that the chosen cell is in view.
    reveal() {
        const [i, j] = this.cell, { k } = this.transform;
        const push = (from, to, most) => (from < 0 ? -from : to > most ? most - to : 0);
        const x0 = this.x(j) - this.left, y0 = this.y(i) - this.top;
        const dx = push(x0, x0 + this.cw * k, this.plotWidth), dy = push(y0, y0 + this.ch * k, this.plotHeight);
        if (dx || dy) this.zoom.translateBy(select(this.canvas), dx / k, dy / k);
    }

    // ---- drawing ----

    paint(context = this.context, ratio = this.ratio, budget = this.moving ? MOVING_BUDGET_MS : FRAME_BUDGET_MS) {
        if (!this.picture || !this.ratio) return;
        this.moving = false;
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.fillStyle = this.colors.surface;
        context.fillRect(0, 0, this.width, this.height);
        context.save();
        context.beginPath();
        context.rect(this.left, this.top, this.plotWidth, this.plotHeight);
        context.clip();
        this.hatching ??= hatch(context, this.colors.hatch);
        context.fillStyle = this.hatching;
        context.fillRect(this.left, this.top, this.plotWidth, this.plotHeight);
        const whole = this.paintTiles(context, budget);
        this.paintCells(context);
        this.paintCursor(context);
        context.restore();
        if (!this.compact) this.paintLabels(context);
        if (!whole) this.draw();
        this.canvas.dataset.whole = whole;
    }

    visibleCells() {
        const { rows, cols } = this.picture.matrix, t = this.transform;
        return {
            i0: Math.max(0, Math.floor((t.invertY(this.top) - this.top) / this.ch)),
            i1: Math.min(rows, Math.ceil((t.invertY(this.top + this.plotHeight) - this.top) / this.ch)),
            j0: Math.max(0, Math.floor((t.invertX(this.left) - this.left) / this.cw)),
            j1: Math.min(cols, Math.ceil((t.invertX(this.left + this.plotWidth) - this.left) / this.cw)),
        };
    }

    // Returns whether all tiles were there in time; a coarser one stands in for each that was not.
    paintTiles(context, budget) {
        const { k } = this.transform, begun = performance.now(), { i0, i1, j0, j1 } = this.visibleCells();
        const level = (pixels) => Math.max(0, Math.floor(-Math.log2(pixels * k * this.ratio) + 0.2));
        const levelX = level(this.cw), levelY = level(this.ch), spanX = TILE << levelX, spanY = TILE << levelY;
        context.imageSmoothingEnabled = false;
        let whole = true;
        for (let ty = Math.floor(i0 / spanY); ty * spanY < i1; ty++)
            for (let tx = Math.floor(j0 / spanX); tx * spanX < j1; tx++) {
                let tile = this.tiles.find(levelX, levelY, tx, ty);
                if (!tile && performance.now() - begun < budget) tile = this.tiles.make(levelX, levelY, tx, ty);
                if (tile) this.paintTile(context, tile, tx * spanX, ty * spanY, levelX, levelY);
                else whole = this.paintCoarser(context, tx, ty, levelX, levelY) && false;
            }
        return whole;
    }

    paintTile(context, tile, left, top, levelX, levelY) {
        const x = this.x(left), y = this.y(top);
        const right = this.x(left + (tile.width << levelX)), bottom = this.y(top + (tile.height << levelY));
        context.drawImage(tile, x, y, right - x, bottom - y);
    }

    paintCoarser(context, tx, ty, levelX, levelY) {
        for (let up = 1; up <= 4; up++) {
            const tile = this.tiles.find(levelX + up, levelY + up, tx >> up, ty >> up);
            if (!tile) continue;
            const size = TILE >> up, sx = (tx - ((tx >> up) << up)) * size, sy = (ty - ((ty >> up) << up)) * size;
            const width = Math.min(size, tile.width - sx), height = Math.min(size, tile.height - sy);
            if (width <= 0 || height <= 0) return false;
            const left = (tx * TILE) << levelX, top = (ty * TILE) << levelY, x = this.x(left), y = this.y(top);
            context.drawImage(tile, sx, sy, width, height, x, y, this.x(left + (width << (levelX + up))) - x, this.y(top + (height << (levelY + up))) - y);
            return true;
        }
        return false;
    }

    // What is only there when cells are large: lines between them, numbers in them.
    paintCells(context) {
        const { k } = this.transform, width = this.cw * k, height = this.ch * k, { matrix, scale, bits, bansHide } = this.picture;
        const { i0, i1, j0, j1 } = this.visibleCells();
        if (this.compact || Math.min(width, height) < 10) return;
        context.strokeStyle = this.colors.surface;
        context.lineWidth = 1;
        context.beginPath();
        for (let i = i0; i <= i1; i++) context.rect(this.left, Math.round(this.y(i)) - 0.5, this.plotWidth, 0);
        for (let j = j0; j <= j1; j++) context.rect(Math.round(this.x(j)) - 0.5, this.top, 0, this.plotHeight);
        context.stroke();
        if (width < CELL_NUMBER_WIDTH || height < CELL_NUMBER_HEIGHT) return;
        const text = width >= 58 ? number : short;
        context.font = NUMBER_FONT;
        context.textAlign = "center";
        context.textBaseline = "middle";
        for (let i = i0; i < i1; i++)
            for (let j = j0; j < j1; j++) {
                const x = matrix.data[i * matrix.cols + j];
                if (bansHide && (x === -Infinity || (x === 0 && bits?.(i, j)))) continue;
                context.fillStyle = scale.ink(x, this.tiles.maxima?.[i]);
                context.fillText(text(x), this.x(j) + width / 2, this.y(i) + height / 2, width - 4);
            }
    }

    paintCursor(context) {
        const { k } = this.transform, width = this.cw * k, height = this.ch * k;
        const frame = ([i, j], line, ink) => {
            context.strokeStyle = ink;
            context.lineWidth = line;
            context.strokeRect(this.x(j), this.y(i), Math.max(width, 2), Math.max(height, 2));
        };
        if (this.hover) {
            context.fillStyle = this.colors.accent;
            context.globalAlpha = 0.14;
            context.fillRect(this.left, this.y(this.hover[0]), this.plotWidth, Math.max(height, 1));
            context.fillRect(this.x(this.hover[1]), this.top, Math.max(width, 1), this.plotHeight);
            context.globalAlpha = 1;
            frame(this.hover, 1.5, this.colors.ink);
        }
        if (!this.cell) return;
        frame(this.cell, 4, this.colors.surface);
        frame(this.cell, 2, this.colors.accent);
    }

    paintLabels(context) {
        const { k } = this.transform, width = this.cw * k, height = this.ch * k, { i0, i1, j0, j1 } = this.visibleCells();
        const lit = (axis, n) => this.hover?.[axis] === n || this.cell?.[axis] === n;
        const steps = (least, size) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((step) => step * size >= least) ?? 10000;
        context.font = LABEL_FONT;
        context.textBaseline = "middle";
        context.textAlign = "right";
        const stepY = steps(LABEL_STEP_Y, height), slanted = this.slanted && this.picture.colLabels && this.top > 30;
        for (let i = Math.ceil(i0 / stepY) * stepY; i < i1; i += stepY) {
            const y = this.y(i) + height / 2;
            if (y < this.top || y > this.top + this.plotHeight) continue;
            context.fillStyle = lit(0, i) ? this.colors.accent : this.colors.quiet;
            context.fillText(this.label(this.picture.rowLabels, i), this.left - 8, y);
        }
        const stepX = steps(slanted ? LABEL_STEP_X - 3 : LABEL_STEP_X + 6, width);
        context.textAlign = slanted ? "left" : "center";
        for (let j = Math.ceil(j0 / stepX) * stepX; j < j1; j += stepX) {
            const x = this.x(j) + width / 2;
            if (x < this.left || x > this.left + this.plotWidth) continue;
            context.fillStyle = lit(1, j) ? this.colors.accent : this.colors.quiet;
            const text = this.label(this.picture.colLabels, j);
            if (slanted) {
                context.save();
                context.translate(x, this.top - 7);
                context.rotate(-Math.PI / 2);
                context.fillText(text, 0, 0, this.top - 8);
                context.restore();
            } else context.fillText(text, x, this.top - 10);
        }
    }
}
