// block.js: what figures are made of. A block is { width, height, body, left, top }: SVG markup from (0, 0) on, and where its plot
// begins, so that blocks beside each other are aligned by their plots.

import { escape } from "../escape.js";
import { glyphScale, glyphsOf, textWidth } from "./font.js";

export const INK = "#1b1f27", QUIET = "#525a68", RULE = "#9aa1ad", PAPER = "#fff";
export const TITLE_SIZE = 13, TEXT_SIZE = 11, SMALL_SIZE = 10;

const CAPITALS = 0.729; // a capital letter's height, of the size

export const round = (x) => Math.round(x * 100) / 100;

// An element's markup; attributes that are undefined are left out.
export function tag(name, attributes, content = "") {
    let out = `<${name}`;
    for (const key in attributes) {
        const value = attributes[key];
        if (value !== undefined && value !== null) out += ` ${key}="${typeof value === "number" ? round(value) : escape(value)}"`;
    }
    return content === "" ? `${out}/>` : `${out}>${content}</${name}>`;
}

export const moved = (x, y, body) => (x || y ? `<g transform="translate(${round(x)} ${round(y)})">${body}</g>` : body);

const SHIFTS = { start: 0, middle: 0.5, end: 1 };

// (x, y): where the text starts, or ends, halfway up its capitals. `angle`: in degrees, clockwise.
export function text(x, y, content, { size = TEXT_SIZE, anchor = "start", fill = INK, angle = 0 } = {}) {
    const glyphs = glyphsOf(content), place = `translate(${round(x)} ${round(y)})${angle ? ` rotate(${angle})` : ""}`, drop = (CAPITALS / 2) * size;
    if (glyphs === null) return tag("text", { transform: place, y: drop, "text-anchor": anchor, fill, "font-size": size, "font-family": "sans-serif" }, escape(content));
    const back = -textWidth(content, size) * SHIFTS[anchor], scale = glyphScale(size).toPrecision(5);
    return `<g aria-label="${escape(content)}" fill="${fill}" transform="${place} translate(${round(back)} ${round(drop)}) scale(${scale})">${glyphs}</g>`;
}

// Lines of at most `width`, broken at spaces.
function wrapped(content, width, size = TEXT_SIZE) {
    const lines = [];
    for (const word of content.split(/\s+/)) {
        const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
        if (lines.length && textWidth(longer, size) <= width) lines[lines.length - 1] = longer;
        else lines.push(word);
    }
    return lines;
}

export function paragraph(content, width, { size = TEXT_SIZE, fill = INK } = {}) {
    const lines = wrapped(content, width, size), step = Math.round(size * 1.45);
    return { width: Math.max(...lines.map((line) => textWidth(line, size))), height: lines.length * step, body: lines.map((line, i) => text(0, (i + 0.5) * step, line, { size, fill })).join("") };
}

// Side by side, their plots in one line.
export function row(blocks, gap) {
    const top = Math.max(...blocks.map((block) => block.top ?? 0));
    let x = 0, height = 0, body = "";
    for (const block of blocks) {
        const y = top - (block.top ?? 0);
        body += moved(x, y, block.body);
        height = Math.max(height, y + block.height);
        x += block.width + gap;
    }
    return { width: x - gap, height, body, top, left: blocks[0].left ?? 0 };
}

export function column(blocks, gap) {
    let y = 0, body = "";
    for (const block of blocks) {
        body += moved(0, y, block.body);
        y += block.height + gap;
    }
    return { width: Math.max(...blocks.map(({ width }) => width)), height: y - gap, body, left: blocks[0].left ?? 0, top: blocks[0].top ?? 0 };
}

// Rows of blocks in columns as wide as the widest of each; null leaves a place empty, `before` widens the gap before a column.
export function grid(rows, gapX, gapY) {
    const columns = Math.max(...rows.map((blocks) => blocks.length));
    const widths = Array.from({ length: columns }, (_, j) => Math.max(0, ...rows.map((blocks) => blocks[j]?.width ?? 0))), before = widths.map((_, j) => Math.max(0, ...rows.map((blocks) => blocks[j]?.before ?? 0)));
    let y = 0, body = "";
    for (const blocks of rows) {
        let x = 0;
        const height = Math.max(...blocks.map((block) => block?.height ?? 0));
        blocks.forEach((block, j) => {
            x += before[j];
            if (block) body += moved(x + (block.centered ? (widths[j] - block.width) / 2 : 0), y + (block.middle ? (height - block.height) / 2 : 0), block.body);
            x += widths[j] + gapX;
        });
        y += height + gapY;
    }
    return { width: widths.reduce((sum, width, j) => sum + before[j] + width + gapX, -gapX), height: y - gapY, body };
}
