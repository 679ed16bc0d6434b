// tile_cache.js: a matrix as tiles, canvases of at most TILE × TILE pixels, each filled when it is first needed (heatmap_paint.js
// draws them). A pixel that covers several cells shows the number of the largest size, so that a single bright cell is never lost.

import { RGB_NAN, pixel, rowMaxima } from "./color.js";
import { CAUSAL, CHUNK, ID, MASK, PADDING, QUERY, SEGMENT, SEQUENCE, WINDOW } from "./mask_reasons.js";

export const TILE = 128, TILE_MAX = 256;
const TILES_MAX = 2800; // 64 KiB each

// Tiles are filled here, then copied to a canvas.
const image = new ImageData(TILE_MAX, TILE_MAX), pixels = new Uint32Array(image.data.buffer);

export const REASON_COLORS = [
    { bit: CAUSAL, rgb: [86, 128, 190] },
    { bit: WINDOW, rgb: [196, 178, 40] },
    { bit: PADDING, rgb: [140, 140, 140] },
    { bit: MASK, rgb: [156, 92, 180] },
    { bit: QUERY, rgb: [105, 105, 105] },
    { bit: SEQUENCE, rgb: [38, 150, 140] },
    { bit: SEGMENT, rgb: [96, 158, 60] },
    { bit: ID, rgb: [170, 150, 120] },
    { bit: CHUNK, rgb: [196, 86, 110] },
];
const REASON_ALPHA = 120;
const PIXEL_NAN = pixel(RGB_NAN);
const PIXEL_HIDDEN = pixel([128, 128, 128], 60);

export class TileCache {
    // `picture`: { matrix, scale, reasonBits(i, j) or null, hidesMasked, showsReasons, hideFirst }; hidesMasked: masked cells have no
    // number in this stage (weights, masked scores); maxima: of rows of which the matrix has a part, for a scale per row. `side`: of a tile, in pixels, at most TILE_MAX.
    constructor(picture, side = TILE) {
        this.picture = picture;
        this.side = side;
        this.maxima = picture.scale.mode === "row" ? picture.maxima ?? rowMaxima(picture.matrix, picture.hideFirst) : null;
        this.tiles = new Map();
        this.readWords(picture.matrix.data);
        this.reasonPixels = REASON_COLORS.map(({ bit, rgb }) => ({ bit, rgb, pixel: pixel(rgb, REASON_ALPHA) }));
    }

    // The numbers' bits as integers: all 32 of a float, the upper 32 of a double.
    readWords(data) {
        const double = data instanceof Float64Array;
        this.shift = double ? 1 : 0;
        this.words = new Int32Array(data.buffer, data.byteOffset, data.length << this.shift);
        this.infinite = double ? 0x7ff00000 : 0x7f800000;
        this.oneNumber = double ? new Float64Array(1) : new Float32Array(1);
        this.oneWord = new Int32Array(this.oneNumber.buffer);
    }

    find(levelX, levelY, tileX, tileY) {
        return this.tiles.get(`${levelX}.${levelY}.${tileX}.${tileY}`);
    }

    make(levelX, levelY, tileX, tileY) {
        const { rows, cols } = this.picture.matrix, { side } = this;
        const left = (tileX * side) << levelX, top = (tileY * side) << levelY;
        const width = Math.min(side, Math.ceil((cols - left) / (1 << levelX)));
        const height = Math.min(side, Math.ceil((rows - top) / (1 << levelY)));
        const canvas = document.createElement("canvas");
        canvas.width = width;
        canvas.height = height;
        this.fill(width, height, left, top, 1 << levelX, 1 << levelY);
        canvas.getContext("2d").putImageData(image, 0, 0, 0, 0, width, height);
        if (this.tiles.size >= TILES_MAX) this.tiles.delete(this.tiles.keys().next().value);
        this.tiles.set(`${levelX}.${levelY}.${tileX}.${tileY}`, canvas);
        return canvas;
    }

    fill(width, height, left, top, stepX, stepY) {
        const { matrix, hideFirst } = this.picture, { rows, cols, data } = matrix, hidesCell = hideFirst && left === 0 && stepX === 1;
        for (let y = 0; y < height; y++) {
            const i0 = top + y * stepY, i1 = Math.min(rows, i0 + stepY);
            for (let x = 0, at = y * TILE_MAX; x < width; x++, at++) {
                const j0 = left + x * stepX, j1 = Math.min(cols, j0 + stepX), row = this.maxima ? this.fullest(i0, i1, j0, j1) : i0;
                const value = stepX === 1 && stepY === 1 ? data[i0 * cols + j0] : this.largest(row, this.maxima ? row + 1 : i1, j0, j1);
                pixels[at] = hidesCell && x === 0 ? PIXEL_HIDDEN : this.pixelOf(value, row, i1 - 1, j0);
            }
        }
    }

    // The number of the largest size; NaN if there is one; infinite only if no number is finite. Floats compare by size as their
    // bits do as integers, so this compares integers, without branches, which random numbers would mispredict. The sign replaces the
    // last bit of the fraction (of 24; of a double, the upper 21 are read), which no colour shows.
    largest(i0, i1, j0, j1) {
        const { cols } = this.picture.matrix, { words, shift } = this;
        let most = 0;
        for (let i = i0; i < i1; i++)
            for (let k = i * cols + j0, end = i * cols + j1; k < end; k++) {
                const word = words[(k << shift) + shift], more = ((word & 0x7ffffffe) | (word >>> 31)) - most;
                most += more & ~(more >> 31);
            }
        if (most >= this.infinite) return this.largestFinite(i0, i1, j0, j1);
        this.oneWord[shift] = (most & 0x7ffffffe) | (most << 31);
        return this.oneNumber[0];
    }

    largestFinite(i0, i1, j0, j1) {
        const { cols, data } = this.picture.matrix;
        let value = data[i0 * cols + j0], size = -1;
        for (let i = i0; i < i1; i++)
            for (let j = j0; j < j1; j++) {
                const other = data[i * cols + j], otherSize = Math.abs(other);
                if (otherSize !== otherSize) return other;
                if (otherSize <= size || otherSize === Infinity) continue;
                value = other;
                size = otherSize;
            }
        return value;
    }

    // The row whose largest number is the largest share of the row's maximum.
    fullest(i0, i1, j0, j1) {
        let row = i0, most = -1;
        for (let i = i0; i < i1; i++) {
            const share = Math.abs(this.largest(i, i + 1, j0, j1)) / this.maxima[i];
            if (share <= most) continue;
            row = i;
            most = share;
        }
        return row;
    }

    // (reasonRow, reasonCol): the cell that says why, where all cells under a pixel may be masked.
    pixelOf(value, row, reasonRow, reasonCol) {
        const { scale, reasonBits, hidesMasked, showsReasons } = this.picture;
        const empty = hidesMasked && (value === 0 || value === -Infinity);
        const why = reasonBits !== null && (showsReasons || empty) ? reasonBits(reasonRow, reasonCol) : 0;
        if (why && empty) return showsReasons ? this.reasonPixel(why) : 0;
        if (value === -Infinity && hidesMasked) return 0;
        if (value !== value) return PIXEL_NAN;
        const index = scale.index(value, this.maxima ? this.maxima[row] : undefined);
        return why ? this.blend(scale.colors[index], why) : scale.pixels[index];
    }

    reasonPixel(why) {
        return this.reasonPixels.find(({ bit }) => why & bit).pixel;
    }

    blend(color, why) {
        const { rgb } = this.reasonPixels.find(({ bit }) => why & bit);
        return pixel(color.map((c, i) => (c + rgb[i]) >> 1));
    }
}
