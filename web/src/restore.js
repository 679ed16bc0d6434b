// restore.js: what the page starts with: the numbers in self-contained HTML, the state in the address, or the notebook's head; and
// the address that follows the state.

import { NO_LABELS, VIEW_DEFAULTS, app } from "./app.js";
import { $, debounce } from "./dom.js";
import { readSafetensors } from "./files.js";
import { decode, encode, isLink } from "./permalink.js";
import { presetById } from "./presets.js";
import { Tensor } from "./tensor.js";
import { fromLink } from "./yours.js";

const REMEMBER_MS = 250;
const START = presetById("notebook");

function isStart() {
    const view = { ...VIEW_DEFAULTS, cell: START.cell, stage: START.stage };
    return app.preset === START.id && !app.labels.rows && !app.labels.cols && JSON.stringify(app.view) === JSON.stringify(view);
}

// A state that an address cannot hold leaves the address empty: what it held before is no longer on the page.
const remember = debounce(REMEMBER_MS, async () => {
    if (app.offline || !app.run) return;
    const state = isStart() ? null : await encode(app);
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
});

function restore({ view, labels = NO_LABELS, own, request, preset: id, yours }) {
    app.yours = yours ? fromLink(yours) : null;
    if (own) return app.useWeights(new Tensor(own.shape, Float64Array.from(own.data)), { labels, view });
    const preset = presetById(id);
    if (!preset && !request) throw new Error(`This link is of a preset, "${id}", that the page does not have`);
    return app.setRequest(preset ? structuredClone(preset.request) : request, { preset: preset?.id ?? null, view, labels });
}

// A link that cannot be read leaves the page without a picture, which might be taken for the link's.
async function restoreLink(hash) {
    try {
        await restore(await decode(hash));
    } catch (error) {
        app.clear();
        app.fail(error);
    }
}

// Self-contained HTML: a copy of the page with the numbers inside. Returns whether this is one.
function restoreStandalone() {
    const held = $("standalone-state");
    if (!held) return false;
    const { view, labels, request, name } = JSON.parse(held.textContent);
    const bytes = Uint8Array.from(atob($("standalone-data").textContent.trim()), (c) => c.charCodeAt(0)), { tensors, metadata } = readSafetensors(bytes.buffer);
    app.offline = true;
    document.body.classList.add("offline");
    const about = `A copy of “${name}” with its numbers; it needs no server.`;
    if (!request) app.useWeights(tensors.get("weights"), { name, labels, view, about });
    else app.useReply(request, { tensors, applied: JSON.parse(metadata.applied), warnings: JSON.parse(metadata.warnings) }, { labels, view, about });
    return true;
}

export async function begin() {
    app.on("run view cell request redraw zoom", remember);
    addEventListener("hashchange", ({ newURL }) => { // not location's, which may follow the state again
        const { hash } = new URL(newURL);
        if (isLink(hash)) restoreLink(hash);
    });
    if (restoreStandalone()) return;
    await (isLink(location.hash) ? restoreLink(location.hash) : app.usePreset(START));
}
