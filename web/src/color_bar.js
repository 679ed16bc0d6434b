// color_bar.js: the colours of a scale, with the numbers that they stand for, and what the scale goes by.

import { h } from "./dom.js";
import { number, tick } from "./format.js";

const TICKS = [0, 0.25, 0.5, 0.75, 1];

// The first and the last number of an open scale stand for what lies beyond them, too.
export function tickText(scale, t) {
    const text = tick(scale.valueAt(t)), beyond = scale.isOpen && (t === 1 ? "≥ " : t === 0 && scale.signed ? "≤ " : "");
    return `${beyond || ""}${text}`;
}

// upright: from bottom to top, beside a picture.
export function colorBar(scale, { upright = false } = {}) {
    const colors = h("span", { class: "colors", "aria-hidden": "true" });
    colors.style.setProperty("--colors", scale.colors.map((color) => `rgb(${color.join(",")})`).join());
    const label = `Colours from ${number(scale.valueAt(0))} to ${number(scale.valueAt(1))}${scale.about && `, ${scale.about}`}`;
    return h("div", { class: `colorbar${upright ? " upright" : ""}`, role: "img", "aria-label": label }, h("div", { class: "scale" }, colors,
        h("div", { class: "ticks" }, TICKS.map((t) => h("span", {}, tickText(scale, t))))), scale.about && h("span", { class: "hint" }, scale.about));
}
