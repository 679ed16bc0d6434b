// format.js: numbers and tokens as text for people.

import { format } from "d3-format";

const fixed4 = format(".4f"), fixed2 = format(".2f"), significant = format(".4~g"), percent = format(".2%"), hundredths = format(".2~r");

export function number(x) {
    if (x === undefined || x === null) return "–";
    if (Number.isNaN(x)) return "NaN";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-4 || size >= 1e5)) return significant(x).replace("-", "−");
    return fixed4(x).replace("-", "−");
}

export const short = (x) => (Number.isFinite(x) && Math.abs(x) < 1000 ? fixed2(x).replace("-", "−") : number(x));

// As number, with few digits of small ones: of weights shared by many keys. `digits`: behind the point.
export const tiny = (x, digits) => (x !== 0 && Math.abs(x) < 0.005 ? x.toExponential(digits).replaceAll("-", "−") : digits ? number(x) : short(x));

// A whole number in groups of three digits.
export const count = format(",");

// Three significant digits, for ticks.
export const tick = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(3))).replace("-", "−") : number(x));

export const share = (x) => (Number.isFinite(x) ? (x > 0 && x < 1e-4 ? `${hundredths(100 * x)}%` : percent(x)).replace("%", " %").replace("-", "−") : number(x));

export const milliseconds = (x) => `${x >= 100 ? Math.round(x) : x >= 10 ? x.toFixed(1) : x.toFixed(2)} ms`;

// JSON with a line for each member and for each row of numbers.
export const jsonText = (value) => JSON.stringify(value, null, 1).replace(/\[\s+([-\d.,\s"a-zA-Z]*?)\s+\]/g, (_, inner) => `[${inner.replace(/\s+/g, " ")}]`);

export const bytes = (x) => (x >= 1e6 ? `${(x / 1e6).toFixed(1)} MB` : x >= 1e3 ? `${(x / 1e3).toFixed(1)} kB` : `${x} B`);

const VISIBLE = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍" };

// A token with visible white space.
export const visible = (token) => String(token).replace(/[ \n\t\r]/g, (c) => VISIBLE[c]).replace(/[\u0000-\u001f]/g, "�") || "∅";

// At most `most` characters of `text`: a longer text loses its middle.
export function cut(text, most) {
    const characters = Array.from(text);
    if (characters.length <= most) return text;
    const tail = Math.floor((most - 1) / 2);
    return characters.slice(0, most - 1 - tail).join("") + "…" + (tail ? characters.slice(-tail).join("") : "");
}
