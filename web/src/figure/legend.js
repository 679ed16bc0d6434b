// legend.js: names with their colours.

import { QUIET, SMALL_SIZE, tag, text } from "./block.js";
import { textWidth } from "./font.js";

const SWATCH = 10, ROW = 16, GAP = 16;

// `entries`: [{ name, color }], in lines of at most `width`.
export function legendBlock(entries, width) {
    let x = 0, y = 0, end = 0, body = "";
    for (const { name, color } of entries) {
        const wide = SWATCH + 5 + textWidth(name, SMALL_SIZE);
        if (x && x + wide > width) [x, y] = [0, y + ROW];
        body += tag("rect", { x, y: y + 2, width: SWATCH, height: SWATCH, rx: 2, fill: color }) + text(x + SWATCH + 5, y + 2 + SWATCH / 2, name, { size: SMALL_SIZE, fill: QUIET });
        end = Math.max(end, x + wide);
        x += wide + GAP;
    }
    return { width: end, height: y + ROW + 6, left: 0, top: 0, body };
}
