// color_bar.js: the colours of a scale, with the numbers that they stand for.

import { h } from "./dom.js";
import { number, tick } from "./format.js";

const BAR_WIDTH = 220, BAR_HEIGHT = 12;

export function colorBar(scale) {
    const canvas = h("canvas", { width: BAR_WIDTH, height: BAR_HEIGHT, "aria-hidden": "true" }), context = canvas.getContext("2d");
    scale.colors.forEach((color, i) => {
        context.fillStyle = `rgb(${color.join(",")})`;
        context.fillRect(Math.floor((i / scale.colors.length) * BAR_WIDTH), 0, 2, BAR_HEIGHT);
    });
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((t) => h("span", {}, tick(scale.valueAt(t))));
    return h("div", { class: "colorbar", role: "img", "aria-label": `Colours from ${number(scale.valueAt(0))} to ${number(scale.valueAt(1))}${scale.mode === "row" ? " of each row's largest" : ""}` },
        canvas, h("div", { class: "ticks" }, ticks), scale.mode === "row" && h("span", { class: "hint" }, "of each row's largest"));
}
