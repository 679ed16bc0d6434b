// take_away.js: the header's buttons: a link, the request as code, and exports.

import { app } from "./app.js";
import { LANGUAGES } from "./code.js";
import { $, announce, h, keepFocus } from "./dom.js";
import { exportsOf, save } from "./export.js";
import { encode } from "./permalink.js";

async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
        say(`${what} copied`);
    } catch {
        show(what, text);
    }
}

// For browsers that refuse to write to the clipboard.
function show(what, text) {
    const dialog = $("help-dialog");
    dialog.replaceChildren(h("h2", { id: "help-title" }, what), h("textarea", { rows: 14, class: "code", readOnly: true, value: text, "aria-label": what }),
        h("form", { method: "dialog" }, h("button", {}, "Close")));
    dialog.showModal();
    dialog.querySelector("textarea").select();
}

let sayTimer = 0;
function say(text) {
    announce(text);
    const note = $("note");
    if (!note) return;
    note.textContent = text;
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => { note.textContent = ""; }, 4000);
}

async function guard(action) {
    try {
        await action();
    } catch (error) {
        app.fail(error);
    }
}

// A button that opens a list: <details> gives keyboards and screen readers all they need.
function menu(id, title, entries) {
    const details = h("details", { class: "menu", id }, h("summary", {}, title), h("div", { class: "menu-list" }, entries.map(({ title: text, act, name }) =>
        h("button", { type: "button", "data-name": name, onclick: () => { details.open = false; guard(act); } }, text))));
    details.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !details.open) return;
        details.open = false;
        details.querySelector("summary").focus();
    });
    details.addEventListener("focusout", (event) => { if (!details.contains(event.relatedTarget)) details.open = false; });
    return details;
}

async function link() {
    const state = await encode(app);
    if (state === null) throw new Error("This request is too large for an address: export it as safetensors or as self-contained HTML.");
    history.replaceState(null, "", `#${state}`);
    await copy(location.href, "Link");
}

export function renderTakeAway(host, view) {
    keepFocus(host, () => host.replaceChildren(h("fieldset", { class: "take", id: "take" },
        h("button", { type: "button", id: "permalink", onclick: () => guard(link) }, "Copy link"),
        !app.run.weightsOnly && menu("copy", "Copy as", LANGUAGES.map(({ name, title, make }) => ({ name, title, act: () => copy(make(app.run.request), title) }))),
        menu("export", "Export", exportsOf(view).map(({ name, title, make, file }) => ({ name, title, act: async () => save(await make(view), file()) }))),
        h("span", { id: "note", class: "hint" }))));
}
