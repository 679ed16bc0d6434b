// restore.js: what the page starts with: the numbers in self-contained HTML, the state in the address, or the notebook's head; and
// the address that follows the state.

import { NO_LABELS, VIEW_DEFAULTS, app } from "./app.js";
import { aboutChanges } from "./basis.js";
import { $, debounce } from "./dom.js";
import { readSafetensors } from "./files.js";
import { pictureAt } from "./overlay.js";
import { decode, encode, isLink } from "./permalink.js";
import { PRESETS, presetById } from "./presets.js";
import { Run } from "./run.js";
import { Tensor } from "./tensor.js";
import { patched } from "./variations.js";
import { fromLink } from "./yours.js";

const REMEMBER_MS = 250;
const [START] = PRESETS;

function isStart() {
    const { stage, cell, batch = 0, head = 0 } = START, view = { ...VIEW_DEFAULTS, stage, cell, batch, head };
    return app.preset === START.id && JSON.stringify(app.view) === JSON.stringify(view);
}

// A state that an address cannot hold leaves the address empty: what it held before is no longer on the page.
let saves = 0;
export async function saveState() {
    if (app.offline || !app.run) return;
    const number = ++saves, start = isStart(), state = start ? null : await encode(app);
    if (number === saves) history.replaceState({ start }, "", state ? `#${state}` : location.pathname + location.search);
}

const remember = debounce(REMEMBER_MS, saveState);

async function restore({ view, labels = NO_LABELS, items = null, own, request, preset: id, changes, yours }) {
    app.yours = yours ? fromLink(yours) : null;
    if (own) return app.useWeights(new Tensor(own.shape, Float64Array.from(own.data)), { labels, view });
    const preset = presetById(id);
    if (!preset && !request) throw new Error(`This link is of a preset, "${id}", that the page does not have`);
    const content = preset ? await app.contentOf(preset) : { request, items };
    if (!content) return undefined;
    if (!changes || !preset) return app.setRequest(content.request, { preset: preset?.id ?? null, view, labels, ...content });
    const basis = { preset: preset.id, request: content.request, changes };
    return app.setRequest(patched(content.request, changes), { view, labels, ...content, basis, about: aboutChanges(basis) });
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

// The prefixes of tensors in self-contained HTML that are not the run's own.
export const HELD = { other: "other.", yours: "yours." };

// Self-contained HTML: a copy of the page with the numbers inside, and with those that the picture compares. Returns whether this is one.
async function restoreStandalone() {
    const held = $("standalone-state");
    if (!held) return false;
    const { view, preset, about, labels, items, request, name, other, yours, image } = JSON.parse(held.textContent);
    const bytes = Uint8Array.from(atob($("standalone-data").textContent.trim()), (c) => c.charCodeAt(0)), { tensors: all, metadata } = readSafetensors(bytes.buffer);
    const prefixes = Object.values(HELD), tensors = new Map([...all].filter(([key]) => !prefixes.some((prefix) => key.startsWith(prefix))));
    const part = (prefix) => new Map([...all].filter(([key]) => key.startsWith(prefix)).map(([key, tensor]) => [key.slice(prefix.length), tensor]));
    app.offline = true;
    document.body.classList.add("offline");
    if (other) {
        app.pin(new Run(other.request, { tensors: part(HELD.other), applied: other.applied }), other.name);
        view.compare = "pinned";
    }
    if (image) app.image = await pictureAt(image);
    if (yours) Object.assign(app, { yours: { name: yours.name, tensors: part(HELD.yours) }, comparison: yours.found });
    if (!request) app.useWeights(tensors.get("weights"), { name, labels, view, about });
    else app.useReply(request, { tensors, applied: JSON.parse(metadata.applied), warnings: JSON.parse(metadata.warnings) }, { labels, items, view, about, preset });
    return true;
}

export async function begin() {
    app.on("run view cell request redraw zoom lock", remember);
    addEventListener("hashchange", ({ newURL }) => { // not location's, which may follow the state again
        const { hash } = new URL(newURL);
        if (isLink(hash)) restoreLink(hash);
        else if (hash === "" && history.state?.start) app.usePreset(START);
    });
    if (await restoreStandalone()) return;
    await (isLink(location.hash) ? restoreLink(location.hash) : app.usePreset(START));
}
