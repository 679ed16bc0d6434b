// scale_bar.js: the colours of a scale with the numbers that they stand for, beside or below a plot.

import { tickText } from "../color_bar.js";
import { QUIET, RULE, SMALL_SIZE, moved, tag, text } from "./block.js";
import { textWidth } from "./font.js";

const THICKNESS = 10, STEPS = 64, TICK = 3, TICKS = [0, 0.25, 0.5, 0.75, 1];

function colors(scale, rectOf) {
    const { length } = scale.colors;
    return Array.from({ length: STEPS }, (_, i) => tag("rect", { ...rectOf(i), fill: `rgb(${scale.colors[Math.round(((i + 0.5) / STEPS) * length - 0.5)].join(",")})` })).join("");
}

const ticksOf = (scale) => TICKS.map((t) => [t, tickText(scale, t)]);

// The label runs upwards beside the numbers.
export function barBeside(scale, length, label) {
    const ticks = ticksOf(scale), step = length / STEPS, widest = Math.max(...ticks.map(([, name]) => textWidth(name, SMALL_SIZE)));
    const body = tag("g", { "shape-rendering": "crispEdges" }, colors(scale, (i) => ({ x: 0, y: length - (i + 1) * step, width: THICKNESS, height: step + (i ? 0.5 : 0) })))
        + tag("rect", { x: 0, y: 0, width: THICKNESS, height: length, fill: "none", stroke: RULE, "stroke-width": 0.75 })
        + ticks.map(([t, name]) => tag("path", { d: `M${THICKNESS} ${(1 - t) * length}h${TICK}`, stroke: QUIET, "stroke-width": 0.75 })
            + text(THICKNESS + TICK + 3, (1 - t) * length, name, { size: SMALL_SIZE, fill: QUIET })).join("");
    const x = THICKNESS + TICK + 3 + widest + 11, rise = SMALL_SIZE / 2, long = Math.max(length, textWidth(label, SMALL_SIZE));
    return { width: x + SMALL_SIZE / 2 + 1, height: long + 2 * rise, top: (long - length) / 2, left: 0,
        body: moved(0, (long - length) / 2, body + text(x, length / 2, label, { size: SMALL_SIZE, anchor: "middle", fill: QUIET, angle: -90 })) };
}

// The label stands under the numbers, in the middle.
export function barBelow(scale, length, label) {
    const step = length / STEPS, fits = ticksOf(scale).every(([, name]) => 1.5 * textWidth(name, SMALL_SIZE) < length / 4 - 4); // those at the ends begin or end there
    const ticks = ticksOf(scale).filter(([t]) => fits || t === 0 || t === 1 || (t === 0.5 && length > 80)), ends = { 0: "start", 1: "end" };
    const body = tag("g", { "shape-rendering": "crispEdges" }, colors(scale, (i) => ({ x: i * step, y: 0, width: step + (i < STEPS - 1 ? 0.5 : 0), height: THICKNESS })))
        + tag("rect", { x: 0, y: 0, width: length, height: THICKNESS, fill: "none", stroke: RULE, "stroke-width": 0.75 })
        + ticks.map(([t, name]) => text(t * length, THICKNESS + 10, name, { size: SMALL_SIZE, anchor: ends[t] ?? "middle", fill: QUIET })).join("")
        + text(length / 2, THICKNESS + 24, label, { size: SMALL_SIZE, anchor: "middle", fill: QUIET });
    return { width: length, height: THICKNESS + 31, body, left: 0, top: 0 };
}
