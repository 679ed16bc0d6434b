// font.js: text as outlines of DejaVu Sans Condensed (web/font.mjs), so that a figure looks the same in every program. A text with
// other characters stays text, in the font that its reader has.

import { $ } from "../dom.js";
import { base } from "../api.js";

const FONT_ID = "standalone-font"; // in self-contained HTML

let font = null;

export async function fontText() {
    if ($(FONT_ID)) return $(FONT_ID).textContent;
    const response = await fetch(new URL(document.body.dataset.font, base));
    if (!response.ok) throw new Error(`The font of figures cannot be loaded: ${response.status} ${response.statusText}`);
    return response.text();
}

// Before anything is drawn.
export async function loadFont() {
    font ??= JSON.parse(await fontText());
}

const isDrawn = (text) => Array.from(text).every((character) => font.glyphs[character]);

export function textWidth(text, size) {
    if (isDrawn(text)) return Array.from(text).reduce((sum, character) => sum + font.glyphs[character][0], 0) * (size / font.unitsPerEm);
    const context = document.createElement("canvas").getContext("2d");
    context.font = `${size}px sans-serif`;
    return context.measureText(text).width;
}

const idOf = (character) => `g${character.codePointAt(0).toString(16)}`;

// A text's glyphs in the font's units, y upwards turned down as SVG has it.
export function glyphsOf(text) {
    if (!isDrawn(text)) return null;
    let x = 0, out = "";
    for (const character of text) {
        const [width, outline] = font.glyphs[character];
        if (outline) out += `<use xlink:href="#${idOf(character)}"${x ? ` x="${x}"` : ""}/>`;
        x += width;
    }
    return out;
}

export const glyphScale = (size) => size / font.unitsPerEm;

// The outlines of the glyphs that `body` uses.
export function glyphDefinitions(body) {
    const used = new Set(Array.from(body.matchAll(/xlink:href="#g([0-9a-f]+)"/g), ([, code]) => String.fromCodePoint(parseInt(code, 16))));
    return [...used].map((character) => `<path id="${idOf(character)}" d="${font.glyphs[character][1]}"/>`).join("");
}
