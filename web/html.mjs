// html.mjs: markup from templates, which escape every value that is not markup already.
//
//   html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`    joins lists; null, undefined and false give nothing
//   prose(text), words(text)                                        Markdown, as paragraphs or as one line
//   json(text)                                                      JSON with its names, strings and literals coloured

import markdown from "markdown-it";

import { escape } from "./src/escape.js";

class Markup {
    constructor(text) {
        this.text = text;
    }

    toString() {
        return this.text;
    }
}

function toMarkup(value) {
    if (value instanceof Markup) return value.text;
    if (Array.isArray(value)) return value.map(toMarkup).join("");
    return value === null || value === undefined || value === false ? "" : escape(value);
}

export const html = (strings, ...values) => new Markup(String.raw({ raw: strings }, ...values.map(toMarkup)));

export const joined = (parts, separator) => parts.flatMap((part, i) => (i ? [separator, part] : [part]));

const commonmark = markdown("commonmark", { html: false });
export const prose = (text) => text && new Markup(commonmark.render(text));
export const words = (text) => text && new Markup(commonmark.renderInline(text.trim()));

const JSON_WORD = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|true|false|null)|[^"\w-]+/g;

export function json(text) {
    JSON.parse(text); // an example that is not JSON fails the build
    return [...text.matchAll(JSON_WORD)].map(([all, string, colon, literal]) => {
        if (string && colon) return html`<span class="name">${string}</span>${colon}`;
        return string ? html`<span class="text">${string}</span>` : literal ? html`<span class="literal">${literal}</span>` : all;
    });
}
