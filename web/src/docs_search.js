// docs_search.js: finds endpoints, schemas and fields by their names, then by what is said of them.

import { h } from "./dom.js";

const RESULTS_MAX = 40;

// Each place with an anchor: { id, name, where, text }.
function readIndex() {
    const textOf = (element, selector) => element.querySelector(selector)?.textContent ?? "";
    const operations = [...document.querySelectorAll(".operation")].map((one) => ({ id: one.id, name: textOf(one, "h3 code"), where: textOf(one, ".method"), text: textOf(one, ".summary") }));
    const schemas = [...document.querySelectorAll(".schema")].map((one) => ({ id: one.id, name: textOf(one, ".schema-name code"), where: "schema", text: textOf(one, ":scope > p:not(.schema-name)") }));
    const fields = [...document.querySelectorAll(".fields > div[id]")].map((one) => ({ id: one.id, name: textOf(one, "dt code"), where: one.id.split(".").slice(0, -1).join("."), text: textOf(one, ".meaning") }));
    return [...operations, ...schemas, ...fields];
}

// How well an entry fits: 0, not at all; an exact name is best.
export function rank({ name, text }, query) {
    const at = name.toLowerCase().indexOf(query);
    if (name.toLowerCase() === query) return 4;
    if (at >= 0) return at === 0 || /\W|_/.test(name[at - 1]) ? 3 : 2;
    return text.toLowerCase().includes(query) ? 1 : 0;
}

export const search = (index, query) => index.map((entry) => [rank(entry, query), entry]).filter(([fit]) => fit > 0).sort(([a], [b]) => b - a).map(([, entry]) => entry);

export function createSearch(contents) {
    let index = null;
    const input = h("input", { type: "search", id: "search", placeholder: "Search (/)", "aria-label": "Search the reference", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: false });
    const found = h("ul", { id: "found", hidden: true }), count = h("p", { class: "sr", role: "status" }), list = h("div", {}, ...contents.childNodes);
    contents.append(input, count, found, list);

    function show() {
        const query = input.value.trim().toLowerCase(), results = query ? search(index ??= readIndex(), query) : [];
        list.hidden = Boolean(query);
        found.hidden = !query;
        count.textContent = query && `${results.length} found`;
        found.replaceChildren(...results.slice(0, RESULTS_MAX).map(({ id, name, where }) => h("li", {}, h("a", { href: `#${id}` }, h("span", {}, name), h("span", { class: "where" }, where)))),
            results.length === 0 ? h("li", { class: "where" }, "nothing found") : results.length > RESULTS_MAX ? h("li", { class: "where" }, `and ${results.length - RESULTS_MAX} more`) : "");
    }

    function clear() {
        input.value = "";
        show();
    }

    input.addEventListener("input", show);
    contents.addEventListener("keydown", (event) => {
        const links = [input, ...found.querySelectorAll("a")], at = links.indexOf(document.activeElement);
        const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
        if (event.key === "Escape" && input.value) clear();
        else if (event.key === "Enter" && at === 0) links[1]?.click();
        else if (at >= 0 && !found.hidden && links[to]) links[to].focus();
        else return;
        event.preventDefault();
    });
    addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
        event.preventDefault();
        if (contents.popover && getComputedStyle(contents).display === "none") contents.showPopover();
        input.select();
        input.focus();
    });
}
