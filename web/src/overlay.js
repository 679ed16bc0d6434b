// overlay.js: a query's weights as colours over a picture whose patches are the keys.

import { AUTO, Scale } from "./color.js";
import { partOf } from "./patches.js";

const PICTURE_SIDE_MAX = 1024;

// A picture file as { canvas, name }, at most PICTURE_SIDE_MAX pixels wide and high. It stays in the browser.
export async function readPicture(file) {
    const url = URL.createObjectURL(file);
    try {
        return await pictureAt({ url, name: file.name });
    } catch {
        throw new Error("this browser cannot read this picture");
    } finally {
        URL.revokeObjectURL(url);
    }
}

export async function pictureAt({ url, name }) {
    const image = new Image();
    image.src = url;
    await image.decode();
    return pictureOf(image, name);
}

function pictureOf(image, name) {
    const width = image.naturalWidth || PICTURE_SIDE_MAX, height = image.naturalHeight || PICTURE_SIDE_MAX, ratio = Math.min(1, PICTURE_SIDE_MAX / Math.max(width, height));
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return { canvas, name };
}

const largest = (weights, special) => weights.subarray(special).reduce((most, x) => Math.max(most, x), 0);

// The scale of each of several heads' weights: its own, unless the mode is one for all numbers.
export function overlayScales(all, [, , special], mode, palette) {
    const own = mode === AUTO || mode === "row", most = Math.max(...all.map((weights) => largest(weights, special)));
    return all.map((weights) => new Scale({ signed: false, mode: own ? "linear" : mode, palette, max: own ? largest(weights, special) : most, about: own && all.length > 1 ? "each head to its largest" : "" }));
}

// A pixel for each patch, opaque.
export function patchColors(weights, [rows, cols, special], scale) {
    const canvas = document.createElement("canvas"), image = new ImageData(cols, rows), pixels = new Uint32Array(image.data.buffer);
    canvas.width = cols;
    canvas.height = rows;
    for (let at = 0; at < pixels.length; at++) pixels[at] = scale.pixels[scale.index(weights[special + at])];
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
}

// Paints the part of the picture that the grid covers, or nothing without one.
export function paintPicture(context, picture, grid, fit, width, height) {
    context.imageSmoothingEnabled = true;
    if (picture) context.drawImage(picture.canvas, ...partOf(picture.canvas.width, picture.canvas.height, grid, fit), 0, 0, width, height);
}

export function paintColors(context, colors, width, height, { alpha, smooth }) {
    context.save();
    context.globalAlpha = alpha;
    context.imageSmoothingEnabled = smooth;
    context.imageSmoothingQuality = "high";
    context.drawImage(colors, 0, 0, width, height);
    context.restore();
}
