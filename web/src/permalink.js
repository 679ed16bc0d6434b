// permalink.js: the page's state as the address's fragment, which browsers do not send: deflated JSON in base64.

import { TABS, VIEW_DEFAULTS } from "./app.js";
import { PALETTES } from "./color.js";
import { MEASURES } from "./measures.js";
import { presetById } from "./presets.js";
import { numbersIn, plainRequest } from "./request.js";
import { MEAN, ROLLOUT, STAGES } from "./run.js";
import { product } from "./tensor.js";
import { isLinked, sizeOf, toLink } from "./yours.js";

export const LINK_BYTES_MAX = 60000;

const toBase64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
};

const fromBase64 = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

async function through(stream, bytes) {
    const reader = new Blob([bytes]).stream().pipeThrough(stream);
    return new Uint8Array(await new Response(reader).arrayBuffer());
}

// null: a field that was taken away.
const plainChanges = (changes) => plainRequest(Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value === undefined ? null : value])));

// Returns the fragment without its #; null if the state is too large for an address.
export async function encode(app) {
    const view = Object.fromEntries(Object.entries(app.view).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(VIEW_DEFAULTS[name])));
    const state = { v: 1, view, ...(app.items && !app.preset && { items: app.items }) };
    if (app.weights) {
        if (app.weights.size > LINK_BYTES_MAX / 4) return null;
        state.own = { shape: app.weights.shape, data: Array.from(app.weights.data, (x) => Number(x.toPrecision(8))) };
    } else if (app.preset) state.preset = app.preset;
    else if (presetById(app.basis?.preset)?.file) Object.assign(state, { preset: app.basis.preset, changes: plainChanges(app.basis.changes) });
    else if (numbersIn(app.request) > LINK_BYTES_MAX) return null;
    else state.request = plainRequest(app.request);
    if (app.yours && app.view.tab === "yours") {
        if (sizeOf(app.yours) > LINK_BYTES_MAX / 4) return null;
        state.yours = toLink(app.yours);
    }
    if ((app.labels.rows || app.labels.cols) && !presetById(app.preset)?.file) state.labels = app.labels;
    const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
    return bytes.length > LINK_BYTES_MAX ? null : `s=${toBase64(bytes)}`;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isList = (value) => value === null || value === undefined || Array.isArray(value);

const isIndex = (value) => Number.isInteger(value) && value >= 0;
const isHead = (value) => value === MEAN || value === ROLLOUT || isIndex(value);
const isTuple = (value, length, test) => value === null || (Array.isArray(value) && value.length === length && value.every(test));

// Of settings that are not of their default's type alone.
const SETTINGS = {
    tab: (value) => TABS.includes(value),
    stage: (value) => STAGES.some(({ name }) => name === value),
    palette: (value) => PALETTES.some(({ name }) => name === value),
    order: (value) => value === "" || MEASURES.some(({ name }) => name === value),
    layer: isIndex, batch: isIndex, head: isHead,
    heads: (value) => Array.isArray(value) && value.every(isHead),
    queries: (value) => Array.isArray(value) && value.every(isIndex),
    off: (value) => Array.isArray(value) && value.every((pair) => pair !== null && isTuple(pair, 2, isIndex)),
    keys: (value) => Array.isArray(value) && value.every(isIndex),
    cell: (value) => isTuple(value, 2, isIndex),
    zoom: (value) => isTuple(value, 3, Number.isFinite),
    grid: (value) => isTuple(value, 3, isIndex),
    fit: (value) => value === "crop" || value === "stretch",
    overlay: (value) => value >= 0 && value <= 1,
};

// The settings that are known and right; the others have their defaults.
function readView(view) {
    const isRight = (name, value) => (SETTINGS[name] ? SETTINGS[name](value) : typeof value === typeof VIEW_DEFAULTS[name]);
    return { ...VIEW_DEFAULTS, ...Object.fromEntries(Object.entries(view).filter(([name, value]) => name in VIEW_DEFAULTS && isRight(name, value))) };
}

function check({ v, view = {}, own, request, preset, changes = {}, labels = {}, items = "layers", yours }) {
    if (yours !== undefined && !isLinked(yours)) return false;
    if (v !== 1 || !isObject(view) || !isObject(changes) || !isObject(labels) || items !== "layers" || !isList(labels.rows) || !isList(labels.cols)) return false;
    if (own !== undefined) return isObject(own) && Array.isArray(own.shape) && Array.isArray(own.data) && product(own.shape) === own.data.length;
    return isObject(request) || typeof preset === "string";
}

// Whether a fragment is a link's, and not that of a place in the page.
export const isLink = (hash) => hash.startsWith("#s=");

// The fragment of a link that was copied here or from another attnd; null where the text is none.
export const linkIn = (text) => /^\s*(?:https?:\/\/[^\s#]+)?(#s=\S+)\s*$/.exec(text)?.[1] ?? null;

// Returns the state { view, request | preset, with changes | own, labels, items } of a link. Throws an Error if the link is damaged.
export async function decode(hash) {
    let state = null;
    try {
        state = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), fromBase64(hash.slice("#s=".length)))));
    } catch { /* told below */ }
    if (!state || !check(state)) throw new Error("This link is damaged or incomplete, so there is nothing to show. Copy it again, or choose a preset");
    return { ...state, view: readView(state.view ?? {}) };
}
