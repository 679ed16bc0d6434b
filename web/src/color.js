// color.js: from numbers to colours, in palettes that colour-blind people can read.

import { interpolateRgb, piecewise } from "d3-interpolate";
import { interpolateCividis, interpolateGreys, interpolateInferno, interpolateViridis } from "d3-scale-chromatic";

export const PALETTES = [
    { name: "viridis", title: "Viridis", at: interpolateViridis },
    { name: "cividis", title: "Cividis", at: interpolateCividis },
    { name: "inferno", title: "Inferno", at: interpolateInferno },
    { name: "greys", title: "Greys", at: (t) => interpolateGreys(1 - t) },
];

export const AUTO = "auto";

export const MODES = [
    { name: AUTO, title: "Automatic" },
    { name: "linear", title: "Linear" },
    { name: "log", title: "Log" },
    { name: "row", title: "Per row" },
];

const DIVERGING = {
    light: piecewise(interpolateRgb, ["#12427c", "#3f7fbf", "#a9cbe8", "#f3f2ef", "#f6c48b", "#d97a1f", "#8a3f00"]),
    dark: piecewise(interpolateRgb, ["#a8d4ff", "#4f95d8", "#27547f", "#20242b", "#7d4a16", "#dd8428", "#ffcf94"]),
};

const ROW_ABOUT = "of each row's largest";
const STEPS = 255; // odd, so that 0 is the middle colour
const LOG_DECADES = 4; // below the largest value; smaller ones get the lowest colour
const SIGNED_LOG_KNEE = 100;
const PERCENTILE = 0.99, SAMPLE_MAX = 1 << 17; // of the automatic scale; of more numbers it looks at every n-th, n being odd, so that
// no few columns stand for all
const LINEAR_TOKENS_MAX = 64; // weights of longer rows are too small for one scale

export const RGB_NAN = [204, 71, 160];

function table(at) {
    return Array.from({ length: STEPS }, (_, i) => {
        const text = at(i / (STEPS - 1));
        const hex = /^#(..)(..)(..)$/.exec(text);
        return hex ? hex.slice(1).map((part) => parseInt(part, 16)) : text.match(/\d+/g).slice(0, 3).map(Number);
    });
}

// As a pixel of ImageData on a little-endian machine, as all that run browsers are.
export const pixel = ([r, g, b], alpha = 255) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

// { signed, mode, max }: `max` is the absolute value that has the last colour, with all that are larger. `about` says for people what
// the scale goes by; isOpen: larger values occur. position(x, rowMax) is 0 to 1.
export class Scale {
    constructor({ signed, mode = "linear", max, palette = "viridis", dark = false, about = mode === "row" ? ROW_ABOUT : "", isOpen = false }) {
        Object.assign(this, { signed, mode, about, isOpen });
        this.max = max > 0 ? max : 1;
        this.colors = table(signed ? DIVERGING[dark ? "dark" : "light"] : PALETTES.find((p) => p.name === palette).at);
        this.pixels = Uint32Array.from(this.colors, (color) => pixel(color));
    }

    // The same scale on white paper.
    onPaper() {
        if (!this.signed) return this;
        const colors = table(DIVERGING.light);
        return Object.assign(Object.create(Scale.prototype), this, { colors, pixels: Uint32Array.from(colors, (color) => pixel(color)) });
    }

    position(x, rowMax = this.max) {
        const max = this.mode === "row" ? rowMax || 1 : this.max;
        if (this.signed) {
            const t = this.mode === "log"
                ? (Math.sign(x) * Math.log1p((Math.abs(x) / max) * SIGNED_LOG_KNEE)) / Math.log1p(SIGNED_LOG_KNEE) : x / max;
            return 0.5 + 0.5 * t;
        }
        if (this.mode === "log") return x <= 0 ? 0 : 1 + Math.log10(x / max) / LOG_DECADES;
        return x / max;
    }

    index(x, rowMax) {
        const t = this.position(x, rowMax) * (STEPS - 1);
        return t >= STEPS - 1 ? STEPS - 1 : t > 0 ? (t + 0.5) | 0 : 0;
    }

    rgb(x, rowMax) {
        return Number.isNaN(x) ? RGB_NAN : this.colors[this.index(x, rowMax)];
    }

    css(x, rowMax) {
        return `rgb(${this.rgb(x, rowMax).join(",")})`;
    }

    // Black or white, whichever is easier to read on the colour of x.
    ink(x, rowMax) {
        const [r, g, b] = this.rgb(x, rowMax).map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
    }

    // The value at position t of the colour bar, 0 to 1.
    valueAt(t) {
        const max = this.mode === "row" ? 1 : this.max;
        if (this.signed) {
            const s = 2 * t - 1;
            return this.mode === "log"
                ? (Math.sign(s) * max * Math.expm1(Math.abs(s) * Math.log1p(SIGNED_LOG_KNEE))) / SIGNED_LOG_KNEE : s * max;
        }
        return this.mode === "log" ? max * 10 ** ((t - 1) * LOG_DECADES) : t * max;
    }
}

// Whether a matrix's first row sees one key alone, which has all the weight, as under a causal mask.
const startsAlone = ({ rows, cols, data }) => rows > 1 && cols > 1 && data[0] === 1 && data.subarray(1, cols).every((x) => x === 0);

// The 99th percentile of the sizes of numbers that are not 0, which masked weights are; null if there is none. `from`: the first row.
function percentileOf(matrices, hideFirst, from) {
    const all = matrices.reduce((sum, { data }) => sum + data.length, 0), step = Math.ceil(all / SAMPLE_MAX) | 1, sizes = [];
    for (const { cols, data } of matrices)
        for (let at = from * cols; at < data.length; at += step) {
            const size = Math.abs(data[at]);
            if (size > 0 && size !== Infinity && !(hideFirst && at % cols === 0)) sizes.push(size);
        }
    return sizes.length ? Float64Array.from(sizes).sort()[Math.ceil(PERCENTILE * sizes.length) - 1] : null;
}

// The largest finite absolute value, whether any is negative, and what the automatic scale goes by: `usual`, from which the first row
// is left out where it sees one key alone (alone), and `tokens`, the longer side.
export function extent(matrices, hideFirst = false) {
    let max = 0, negative = false;
    for (const { rows, cols, data } of matrices)
        for (let i = 0, at = 0; i < rows; i++)
            for (let j = 0; j < cols; j++, at++) {
                const x = data[at];
                if (x < 0 && x !== -Infinity) negative = true;
                const size = x < 0 ? -x : x;
                if (size > max && size !== Infinity && !(hideFirst && j === 0)) max = size;
            }
    const alone = !negative && matrices.length > 0 && matrices.every(startsAlone);
    return { max, negative, alone, usual: percentileOf(matrices, hideFirst, alone ? 1 : 0) ?? max, tokens: Math.max(0, ...matrices.flatMap(({ rows, cols }) => [rows, cols])) };
}

// The extent of pictures that share a scale.
export const joined = (extents) => ({
    max: Math.max(...extents.map(({ max }) => max)), usual: Math.max(...extents.map(({ usual }) => usual)), tokens: Math.max(...extents.map(({ tokens }) => tokens)),
    negative: extents.some(({ negative }) => negative), alone: extents.every(({ alone }) => alone),
});

// The mode and largest value of a scale, as Scale takes them. `mode`: of MODES, of which AUTO becomes another.
export function scaleFor(mode, { max, usual, alone, tokens }, signed) {
    if (mode !== AUTO) return { mode, max };
    if (!signed && tokens > LINEAR_TOKENS_MAX) return { mode: "row", max };
    const about = `99th percentile${alone ? ", first row left out" : ""}`;
    return usual < max ? { mode: "linear", max: usual, isOpen: true, about } : { mode: "linear", max, about: "to the largest" };
}

export function rowMaxima({ rows, cols, data }, hideFirst) {
    const out = new Float64Array(rows);
    for (let i = 0, at = 0; i < rows; i++)
        for (let j = 0; j < cols; j++, at++) {
            const size = Math.abs(data[at]);
            if (size > out[i] && size !== Infinity && !(hideFirst && j === 0)) out[i] = size;
        }
    return out;
}
