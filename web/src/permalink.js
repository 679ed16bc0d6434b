// permalink.js: the page's state as the address's fragment, which browsers do not send: deflated JSON in base64.

import { VIEW_DEFAULTS } from "./app.js";
import { plainRequest } from "./request.js";

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

// Returns the fragment without its #; null if the state is too large for an address.
export async function encode(app) {
    const view = Object.fromEntries(Object.entries(app.view).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(VIEW_DEFAULTS[name])));
    const state = { v: 1, view };
    if (app.weights) {
        if (app.weights.size > LINK_BYTES_MAX / 4) return null;
        state.own = { shape: app.weights.shape, data: Array.from(app.weights.data, (x) => Number(x.toPrecision(8))) };
    } else if (app.preset) state.preset = app.preset;
    else state.request = plainRequest(app.request);
    if (app.labels.rows || app.labels.cols) state.labels = app.labels;
    const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
    return bytes.length > LINK_BYTES_MAX ? null : `s=${toBase64(bytes)}`;
}

// Returns the state { view, request | preset | own, labels }; null if the fragment holds none.
export async function decode(hash) {
    const found = /^#?s=([\w-]+)$/.exec(hash);
    if (!found) return null;
    try {
        const bytes = await through(new DecompressionStream("deflate-raw"), fromBase64(found[1]));
        const state = JSON.parse(new TextDecoder().decode(bytes));
        return state.v === 1 ? state : null;
    } catch {
        return null;
    }
}
