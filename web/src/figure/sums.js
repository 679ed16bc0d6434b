// sums.js: bars of what each key receives, below a matrix, and of what each query gives to the locked keys, beside it.

import { short } from "../format.js";
import { QUIET, SMALL_SIZE, moved, tag, text } from "./block.js";
import { textWidth } from "./font.js";

const LENGTH = 24, GAP = 5, FADED = 0.22, ALPHA = 0.8, BAR = "#0b57b5", NUMBER_SIZE = 9;

// Indices from `first` to `end` with their sums, as shares of the largest of all.
function bars(sums, first, end, locked) {
    const most = sums.reduce((a, b) => Math.max(a, b), 0) || 1;
    return Array.from({ length: end - first }, (_, k) => first + k).map((n) => ({ size: (sums[n] / most) * LENGTH, name: short(sums[n]), alpha: locked.length && !locked.includes(n) ? FADED : ALPHA }));
}

// Below the matrix: a bar for each key, and its number where all fit.
function below(received, first, cw) {
    const fits = received.every(({ name }) => textWidth(name, NUMBER_SIZE) + 2 <= cw), gap = Math.min(1, cw / 8);
    const body = received.map(({ size, name, alpha }, at) => tag("rect", { x: at * cw + gap, y: GAP, width: cw - 2 * gap, height: size, fill: BAR, "fill-opacity": alpha })
        + (fits && at >= first ? text((at + 0.5) * cw, GAP + size + 4 + NUMBER_SIZE / 2, name, { size: NUMBER_SIZE, anchor: "middle", fill: QUIET }) : ""));
    return { height: GAP + LENGTH + (fits ? NUMBER_SIZE + 4 : 0), body: text(-GAP, GAP + SMALL_SIZE / 2, "sum", { size: SMALL_SIZE, anchor: "end", fill: QUIET }) + body.join("") };
}

// Beside the matrix: a bar for each query.
function beside(given, ch) {
    const fits = ch >= NUMBER_SIZE + 2, gap = Math.min(1, ch / 8);
    const body = given.map(({ size, name, alpha }, at) => tag("rect", { x: GAP, y: at * ch + gap, width: size, height: ch - 2 * gap, fill: BAR, "fill-opacity": alpha })
        + (fits ? text(GAP + size + 4, (at + 0.5) * ch, name, { size: NUMBER_SIZE, fill: QUIET }) : ""));
    return { width: GAP + LENGTH + (fits ? 4 + Math.max(...given.map(({ name }) => textWidth(name, NUMBER_SIZE))) : 0), body: body.join("") };
}

// A block of a matrix with its sums around it. `size`: a cell's.
export function withSums(map, { sums, locked, hideFirst }, { i0, i1, j0, j1 }, [cw, ch]) {
    if (!sums) return map;
    const right = map.left + map.plotWidth, bottom = map.top + map.plotHeight, first = hideFirst ? 1 : 0;
    const keys = below(bars(sums.received.map((x, j) => (j < first ? 0 : x)), j0, j1, locked.keys), first - j0, cw);
    const queries = sums.given ? beside(bars(sums.given, i0, i1, locked.queries), ch) : { width: 0, body: "" };
    return { ...map, width: Math.max(map.width, right + queries.width), height: Math.max(map.height, bottom + keys.height),
        body: map.body + moved(map.left, bottom, keys.body) + moved(right, map.top, queries.body) };
}
