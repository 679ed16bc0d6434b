// docs_try.js: a form at each endpoint, which sends it an example, or what was made of that, and shows the reply.

import { copyButtons } from "./docs_copy.js";
import { h } from "./dom.js";
import { bytes, jsonText, milliseconds } from "./format.js";
import { keyHeader, setKey } from "./key.js";

const SHOWN_CHARACTERS_MAX = 20000, ROWS_MAX = 16;

async function send(method, path, body) {
    const headers = { ...keyHeader(), ...(body !== undefined && { "Content-Type": "application/json" }) }, begun = performance.now();
    const response = await fetch(new URL(path, document.baseURI), { method, headers, body, cache: "no-store" }), text = await response.text();
    return { status: response.status, words: response.statusText, type: response.headers.get("Content-Type") ?? "", text, ms: performance.now() - begun };
}

// The reply as people read it; as it came where it is no JSON.
function readable({ type, text }) {
    let shown = text;
    try {
        if (type.includes("json")) shown = jsonText(JSON.parse(text));
    } catch { /* as it came */ }
    return shown.length > SHOWN_CHARACTERS_MAX ? `${shown.slice(0, SHOWN_CHARACTERS_MAX)}\n(${bytes(text.length)} in all)` : shown;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(method, path, body) {
    const url = new URL(path, document.baseURI).href;
    return body === undefined ? `curl ${quoted(url)}` : `curl ${quoted(url)} -H 'Content-Type: application/json' -d ${quoted(body)}`;
}

function makeForm(host) {
    const { method, path } = host.dataset, { id } = host.closest(".operation");
    const examples = [...host.closest(".operation").querySelectorAll(".example")].map((one) => [one.querySelector("summary").textContent, one.querySelector(".request").textContent]);
    const body = method === "POST" ? h("textarea", { id: `${id}-body`, class: "body", spellcheck: false, "aria-label": "Body" }) : null;
    const reply = h("div", { class: "reply-part", role: "status" }), curlPart = h("div");
    const key = h("label", { class: "key", hidden: true }, "API key ", h("input", { type: "password", autocomplete: "off", onchange: ({ target }) => setKey(target.value) }));

    function fill(text) {
        body.value = text;
        body.rows = Math.min(ROWS_MAX, text.split("\n").length + 1);
    }

    async function run() {
        reply.replaceChildren(h("p", { class: "quiet" }, "…"));
        try {
            const got = await send(method, path, body?.value);
            key.hidden = got.status !== 401;
            reply.replaceChildren(h("p", { class: "caption" }, h("span", { class: `status ${got.status < 400 ? "good" : "bad"}` }, `${got.status} ${got.words}`),
                ` ${milliseconds(got.ms)}, ${bytes(got.text.length)}`), h("pre", { tabIndex: 0 }, readable(got)));
            copyButtons(reply);
        } catch (error) {
            reply.replaceChildren(h("p", { class: "bad" }, `No reply: ${error.message}`));
        }
    }

    function showCurl() {
        curlPart.replaceChildren(h("pre", { tabIndex: 0 }, curl(method, path, body?.value)));
        copyButtons(curlPart);
    }

    const choice = examples.length > 1 && h("label", {}, "Example ", h("select", { onchange: ({ target }) => fill(examples[target.value][1]) },
        examples.map(([name], at) => h("option", { value: String(at) }, name))));
    const form = h("form", { onsubmit: (event) => { event.preventDefault(); run(); } }, choice && h("div", { class: "line" }, choice), body,
        h("div", { class: "line" }, h("button", { class: "primary" }, "Send"), h("button", { type: "button", onclick: showCurl }, "As curl"), key), curlPart, reply);
    body?.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        run();
    });
    if (body && examples.length) fill(examples[0][1]);
    host.replaceChildren(h("h4", {}, "Try it"), form);
    (body ?? form.querySelector("button")).focus();
}

export function createForms() {
    for (const host of document.querySelectorAll(".try")) host.append(h("button", { type: "button", onclick: () => makeForm(host) }, "Try it"));
}
