// variations.js: how the other run of a comparison differs from the one that is shown.

import { app } from "./app.js";
import { parseJson } from "./tensor.js";

// `patch` gives the fields to set, of which null removes one; it returns null if there is nothing to compare yet.
export const VARIATIONS = [
    { name: "scale", title: "scaled or not", patch: (r) => (r.scale === undefined ? { scale: 1 } : { scale: null }) },
    { name: "float64", title: "the other precision", patch: (r) => ({ precision: r.precision === "float64" ? "float32" : "float64" }) },
    { name: "corner", title: "the other causal corner", patch: (r) => ({ causal: r.causal === "bottom_right" ? "top_left" : "bottom_right" }) },
    { name: "causal", title: "causal or not", patch: (r) => (r.causal ? { causal: null } : { causal: "top_left" }) },
    { name: "bare", title: "without softcap, ALiBi, window, sinks", patch: () => ({ softcap: null, alibi: null, window: null, sinks: null }) },
    { name: "patch", title: "other fields", patch: readPatch },
    { name: "heads", title: "all heads on" },
    { name: "pinned", title: "the pinned run" },
];

function readPatch() {
    if (!app.view.patch) return null;
    let patch = null;
    try {
        patch = parseJson(app.view.patch);
    } catch (error) {
        throw new Error(`The fields to change: ${error.message}`);
    }
    if (patch === null || typeof patch !== "object" || Array.isArray(patch)) throw new Error("The fields to change are an object, such as {\"scale\": 0.5}");
    return patch;
}

export const patchText = (patch) => Object.entries(patch).map(([name, value]) => (value === null ? `default ${name}` : `${name} ${JSON.stringify(value)}`)).join(", ");

export function patched(request, patch) {
    const out = { ...request, ...patch };
    for (const [name, value] of Object.entries(out)) if (value === null) delete out[name];
    return out;
}
