// font.mjs: the glyphs with which the page draws the pictures it exports (src/figure/font.js), from DejaVu Sans Condensed: outlines,
// so that a picture looks the same wherever it is opened.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import opentype from "opentype.js";
import { HERE } from "./bundle.mjs";

export const FONT_PACKAGE = "dejavu-fonts-ttf";

// Code points, the ends included: Latin, Greek, Cyrillic; punctuation, small digits, arrows, mathematics; signs for white space.
const RANGES = [
    [0x20, 0x7e], [0xa0, 0x17f], [0x192, 0x192], [0x218, 0x21b], [0x2c6, 0x2dd], [0x384, 0x3ce], [0x400, 0x45f], [0x490, 0x491], [0x1e9e, 0x1e9e],
    [0x2010, 0x2027], [0x2030, 0x203a], [0x2070, 0x208e], [0x20ac, 0x20ac], [0x2122, 0x2122], [0x2190, 0x2195], [0x21d2, 0x21d4], [0x21e5, 0x21e5],
    [0x2200, 0x2212], [0x221a, 0x221e], [0x2225, 0x222b], [0x2248, 0x2248], [0x2260, 0x2265], [0x22c5, 0x22c5], [0x23ce, 0x23ce],
    [0x240d, 0x240d], [0x2423, 0x2423], [0x25a0, 0x25a1], [0x25b2, 0x25b2], [0x25bc, 0x25bc], [0x25cf, 0x25cf], [0x2713, 0x2717], [0xfffd, 0xfffd],
];

const LETTERS = /([MLQCZ])([^MLQCZ]*)/g, POINT = /-?\d+/g;

// A path whose first point is relative to where the pen is, and the others to the one before: glyphs follow each other without new numbers.
function relative(path) {
    let x = 0, y = 0, startX = 0, startY = 0;
    return path.replace(LETTERS, (_, letter, numbers) => {
        if (letter === "Z") {
            [x, y] = [startX, startY];
            return "z";
        }
        const all = (numbers.match(POINT) ?? []).map(Number), out = all.map((n, i) => n - (i % 2 ? y : x));
        [x, y] = all.slice(-2);
        if (letter === "M") [startX, startY] = [x, y];
        return letter.toLowerCase() + out.join(" ").replaceAll(" -", "-");
    });
}

// JSON: { unitsPerEm, ascender, descender, glyphs: { CHARACTER: [its width, its outline] } }
export function fontOutlines() {
    const { buffer, byteOffset, byteLength } = readFileSync(join(HERE, "node_modules", FONT_PACKAGE, "ttf/DejaVuSansCondensed.ttf"));
    const font = opentype.parse(buffer.slice(byteOffset, byteOffset + byteLength)), { unitsPerEm, ascender, descender } = font, glyphs = {};
    for (const [first, last] of RANGES)
        for (let code = first; code <= last; code++) {
            const glyph = font.charToGlyph(String.fromCodePoint(code));
            if (glyph.index) glyphs[String.fromCodePoint(code)] = [glyph.advanceWidth, relative(glyph.getPath(0, 0, unitsPerEm).toPathData(0))];
        }
    return JSON.stringify({ unitsPerEm, ascender, descender, glyphs });
}
