// overlay.js: the weights of one query over a picture, head by head, in a figure: { picture, grid, fit, alpha, smooth, patch, panels, scale,
// relative }. The picture is in the file once; `relative`: each head has colours to its own largest weight.

import { paintColors, paintPicture, patchColors } from "../overlay.js";
import { QUIET, RULE, SMALL_SIZE, grid as gridOf, row, tag, text } from "./block.js";
import { textWidth } from "./font.js";
import { barBeside } from "./scale_bar.js";

const SIDE = 150, WIDTH_MAX = 720, GAP = 12, BAR_MAX = 300, PICTURE_ID = "picture", FRAME = "#d1006c";

function canvasOf(width, height, paint) {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    paint(canvas.getContext("2d"), canvas.width, canvas.height);
    return canvas;
}

// A scale whose numbers are shares of its largest.
const asShare = (scale) => Object.assign(Object.create(Object.getPrototypeOf(scale)), scale, { max: 1 });

export function overlayBlock({ picture, grid, fit, alpha, smooth, patch, panels, scale, relative, label }) {
    const [rows, cols] = grid, ratio = SIDE / Math.max(rows, cols), width = Math.round(cols * ratio), height = Math.round(rows * ratio), cw = width / cols, ch = height / rows;
    const whole = picture && canvasOf(width, height, (context, w, h) => paintPicture(context, picture, grid, fit, w, h)).toDataURL("image/jpeg", 0.92);
    const base = picture ? tag("use", { "xlink:href": `#${PICTURE_ID}` }) : "", border = tag("rect", { width, height, fill: "none", stroke: RULE, "stroke-width": 0.75 });
    const framed = patch ? ["#fff", FRAME].map((stroke, at) => tag("rect", { x: patch[1] * cw, y: patch[0] * ch, width: cw, height: ch, fill: "none", stroke, "stroke-width": at ? 1.25 : 2.5 })).join("") : "";
    const named = (body, name) => ({ width: Math.max(width, textWidth(name, SMALL_SIZE)), height: height + 16, centered: true,
        body: body + text(width / 2, height + 9, name, { size: SMALL_SIZE, anchor: "middle", fill: QUIET }) });
    const colors = (weights, own) => canvasOf(width, height, (context, w, h) => paintColors(context, patchColors(weights, grid, own), w, h, { alpha: 1, smooth })).toDataURL("image/png");
    const all = [...(picture ? [named(base + border + framed, patch ? "picture, query framed" : "picture")] : []), ...panels.map(({ title, weights, scale: own }) =>
        named(base + tag("image", { width, height, opacity: alpha, preserveAspectRatio: "none", "xlink:href": colors(weights, own) }) + border + framed, title))];
    const across = Math.max(1, Math.floor((WIDTH_MAX + GAP) / (width + GAP))), lines = Array.from({ length: Math.ceil(all.length / across) }, (_, i) => all.slice(i * across, (i + 1) * across));
    const block = gridOf(lines, GAP, 8), beside = barBeside(relative ? asShare(scale) : scale, Math.max(60, Math.min(block.height - 16, BAR_MAX)), label);
    const defs = picture ? tag("defs", {}, tag("image", { id: PICTURE_ID, width, height, preserveAspectRatio: "none", "xlink:href": whole })) : "";
    return row([{ ...block, body: defs + block.body }, beside], 16);
}
