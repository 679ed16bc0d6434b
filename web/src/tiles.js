// tiles.js: a matrix as pictures of at most 256 × 256 pixels, made when they are first looked at. Where a pixel covers several
// cells it shows the one of the largest size, so that a lone bright cell is never lost.

import { RGB_NAN, pixel, rowMaxima } from "./color.js";
import { CAUSAL, MASK, PADDING, WINDOW } from "./bans.js";

export const TILE = 256;
const TILES_MAX = 700; // 256 KiB each

export const LAYER_COLORS = [
    { bit: CAUSAL, rgb: [86, 128, 190] },
    { bit: WINDOW, rgb: [204, 121, 40] },
    { bit: PADDING, rgb: [140, 140, 140] },
    { bit: MASK, rgb: [156, 92, 180] },
];
const LAYER_ALPHA = 120;
const PIXEL_NAN = pixel(RGB_NAN);
const PIXEL_HIDDEN = pixel([128, 128, 128], 60);

export class Tiles {
    // `picture`: { matrix, scale, bits(i, j) or null, bansHide, layers, hideFirst }.
    // bansHide: banned cells hold no number in this stage (weights, masked scores).
    constructor(picture) {
        this.picture = picture;
        this.maxima = picture.scale.mode === "row" ? rowMaxima(picture.matrix, picture.hideFirst) : null;
        this.kept = new Map();
        this.layerPixels = LAYER_COLORS.map(({ bit, rgb }) => ({ bit, rgb, pixel: pixel(rgb, LAYER_ALPHA) }));
    }

    find(levelX, levelY, tileX, tileY) {
        return this.kept.get(`${levelX}.${levelY}.${tileX}.${tileY}`);
    }

    make(levelX, levelY, tileX, tileY) {
        const { rows, cols } = this.picture.matrix;
        const left = (tileX * TILE) << levelX, top = (tileY * TILE) << levelY;
        const width = Math.min(TILE, Math.ceil((cols - left) / (1 << levelX)));
        const height = Math.min(TILE, Math.ceil((rows - top) / (1 << levelY)));
        const canvas = document.createElement("canvas");
        canvas.width = width;
        canvas.height = height;
        const context = canvas.getContext("2d"), image = context.createImageData(width, height);
        this.paint(new Uint32Array(image.data.buffer), width, height, left, top, 1 << levelX, 1 << levelY);
        context.putImageData(image, 0, 0);
        if (this.kept.size >= TILES_MAX) this.kept.delete(this.kept.keys().next().value);
        this.kept.set(`${levelX}.${levelY}.${tileX}.${tileY}`, canvas);
        return canvas;
    }

    paint(pixels, width, height, left, top, stepX, stepY) {
        const { matrix, hideFirst } = this.picture, { rows, cols, data } = matrix;
        for (let y = 0, at = 0; y < height; y++) {
            const i0 = top + y * stepY, i1 = Math.min(rows, i0 + stepY);
            for (let x = 0; x < width; x++, at++) {
                const j0 = left + x * stepX, j1 = Math.min(cols, j0 + stepX);
                let value = data[i0 * cols + j0], size = value < 0 ? -value : value, row = i0;
                if (stepX > 1 || stepY > 1) {
                    if (size === Infinity) size = -1;
                    for (let i = i0; i < i1; i++)
                        for (let j = j0, k = i * cols + j0; j < j1; j++, k++) {
                            const other = data[k], otherSize = other < 0 ? -other : other;
                            if (otherSize > size && otherSize !== Infinity) {
                                value = other;
                                size = otherSize;
                                row = i;
                            }
                        }
                }
                pixels[at] = hideFirst && j0 === 0 && j1 === 1 ? PIXEL_HIDDEN : this.pixelOf(value, row, i1 - 1, j0);
            }
        }
    }

    // (banRow, banCol) stands for what a pixel covers where all of it may be banned.
    pixelOf(value, row, banRow, banCol) {
        const { scale, bits, bansHide, layers } = this.picture;
        const maybe = bits !== null && (layers || (bansHide && (value === 0 || value === -Infinity)));
        const why = maybe ? bits(banRow, banCol) : 0;
        if (why && bansHide && (value === 0 || value === -Infinity)) return layers ? this.layerPixel(why) : 0;
        if (value === -Infinity && bansHide) return 0;
        if (value !== value) return PIXEL_NAN;
        const index = scale.index(value, this.maxima ? this.maxima[row] : undefined);
        return why ? this.blend(scale.colors[index], why) : scale.pixels[index];
    }

    layerPixel(why) {
        return this.layerPixels.find(({ bit }) => why & bit).pixel;
    }

    blend(color, why) {
        const { rgb } = this.layerPixels.find(({ bit }) => why & bit);
        return pixel(color.map((c, i) => (c + rgb[i]) >> 1));
    }
}
