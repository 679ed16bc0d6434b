// help.js: the dialogs: keys and files that the page opens, and how a model's attention becomes such a file.

import { app } from "./app.js";
import { $, announce, h } from "./dom.js";
import { FROM_MODEL } from "./from_model.js";

const KEYS = [
    ["1 … 8", "heat map, lines, heads, stages, compare, table, compare with yours, image"], ["[ ]", "previous, next preset"], ["s, Shift s", "next, previous stage"],
    ["h, Shift h", "next, previous head"], ["b", "next batch item"], ["l", "mask reasons"], ["f", "hide the first key"], ["r", "what each key receives: sums below the map"],
    ["q, k", "lock the chosen cell's query, its key; with Shift: all from the one locked last"], ["x, Shift x", "mask the chosen cell, the locked tokens' cells; again: let them be seen"], ["o", "switch the head off or on"], ["Esc", "let go of locked tokens; cancel a computation"],
    ["m", "to the picture"], ["arrows", "in the picture: move the chosen cell; with Shift: pan"], ["Home, End, Page", "far along a row, or down"],
    ["+ − 0", "zoom in, out, show all"], ["Ctrl Enter", "run"],
];
const MOUSE = "Click a token's label to lock it: others fade, and its sums are shown. Ctrl adds a token, Shift or a drag takes a phrase.";

export function openHelp() {
    const dialog = $("help-dialog");
    dialog.replaceChildren(h("h2", { id: "help-title" }, "attnd"),
        h("p", {}, "Choose a preset, change the request, click a cell. Drop a .json, .safetensors, .npy or .npz file anywhere: a request, its tensors "
            + "or your own attention weights, [Tq, Tk] up to [layers, batch, heads, Tq, Tk]; or a picture whose patches are the keys. The address holds everything you see, so it can be shared."),
        h("p", {}, MOUSE),
        h("dl", { class: "keys" }, KEYS.flatMap(([keys, text]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, text)])),
        !app.offline && h("p", { class: "hint" }, h("a", { href: "licenses.txt" }, "Licences of the libraries in this page")),
        h("form", { method: "dialog" }, h("button", { class: "primary" }, "Close")));
    dialog.showModal();
}

function program({ name, title, about, code }) {
    const text = h("textarea", { id: name, rows: 9, class: "code", readOnly: true, value: code, "aria-label": title });
    const copy = h("button", { type: "button", onclick: async () => {
        text.select();
        await navigator.clipboard.writeText(code).then(() => announce(`${title}: copied`), () => {});
        copy.textContent = "Copied";
    } }, "Copy");
    return [h("h3", {}, title), h("p", { class: "hint" }, about), text, copy];
}

export function openFromModel() {
    const dialog = $("help-dialog");
    dialog.replaceChildren(h("h2", { id: "help-title" }, "From your model"),
        h("p", {}, "Run one of these with the transformers library, any causal language model and your sentence, and drop the file on the page."), ...FROM_MODEL.flatMap(program),
        h("form", { method: "dialog" }, h("button", { class: "primary" }, "Close")));
    dialog.showModal();
}
