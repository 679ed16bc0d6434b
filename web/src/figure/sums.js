// sums.js: bars of what each key receives, below a matrix, and of what each query gives to the locked keys, beside it.

import { short } from "../format.js";
import { QUIET, SMALL_SIZE, moved, tag, text } from "./block.js";
import { textWidth } from "./font.js";

const LENGTH = 24, GAP = 5, FADED = 0.22, ALPHA = 0.8, BAR = "#0b57b5", NUMBER_SIZE = 9;

// Indices from `first` to `end` with their sums, as shares of the largest of all.
function bars(sums, first, end, locked) {
    const most = sums.reduce((a, b) => Math.max(a, b), 0) || 1;
    return Array.from({ length: end - first }, (_, k) => first + k).map((n) => ({ n, size: (sums[n] / most) * LENGTH, name: short(sums[n]), alpha: locked.length && !locked.includes(n) ? FADED : ALPHA }));
}

// Blocks below and beside: { below, beside }, null where there is nothing to show. `size`: a cell's.
export function sumBlocks({ sums, locked, hideFirst }, { i0, i1, j0, j1 }, [cw, ch]) {
    if (!sums) return { below: null, beside: null };
    const skipped = hideFirst ? 1 : 0, received = bars(sums.received.map((x, j) => (j < skipped ? 0 : x)), j0, j1, locked.keys);
    const fits = received.every(({ name }) => textWidth(name, NUMBER_SIZE) + 2 <= cw);
    const below = { height: GAP + LENGTH + (fits ? NUMBER_SIZE + 4 : 0), body: received.map(({ n, size, name, alpha }) => tag("rect", { x: (n - j0) * cw + Math.min(1, cw / 8), y: GAP, width: cw - Math.min(2, cw / 4), height: size, fill: BAR, "fill-opacity": alpha })
        + (fits && n >= skipped ? text((n - j0 + 0.5) * cw, GAP + size + 4 + NUMBER_SIZE / 2, name, { size: NUMBER_SIZE, anchor: "middle", fill: QUIET }) : "")).join("")
        + text(-GAP, GAP + SMALL_SIZE / 2, "sum", { size: SMALL_SIZE, anchor: "end", fill: QUIET }) };
    if (!sums.given) return { below, beside: null };
    const given = bars(sums.given, i0, i1, locked.queries), numbers = ch >= NUMBER_SIZE + 2;
    const beside = { width: GAP + LENGTH + (numbers ? 4 + Math.max(...given.map(({ name }) => textWidth(name, NUMBER_SIZE))) : 0), body: given.map(({ n, size, name, alpha }) => tag("rect", { x: GAP, y: (n - i0) * ch + Math.min(1, ch / 8), width: size, height: ch - Math.min(2, ch / 4), fill: BAR, "fill-opacity": alpha })
        + (numbers ? text(GAP + size + 4, (n - i0 + 0.5) * ch, name, { size: NUMBER_SIZE, fill: QUIET }) : "")).join("") };
    return { below, beside };
}

// A block of a matrix with its sums around it.
export function withSums(map, picture, region, size) {
    const { below, beside } = sumBlocks(picture, region, size), right = map.left + map.plotWidth, bottom = map.top + map.plotHeight;
    return { ...map, width: Math.max(map.width, right + (beside?.width ?? 0)), height: Math.max(map.height, bottom + (below?.height ?? 0)),
        body: map.body + (below ? moved(map.left, bottom, below.body) : "") + (beside ? moved(right, map.top, beside.body) : "") };
}
