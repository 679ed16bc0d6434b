// schemas.mjs: JSON Schema, as far as openapi.yaml uses it, as markup: types, fields with their meaning, whole schemas.
//
// A named schema is shown once, at #schema-NAME, where it first appears; after that, and within types, as a link. Each field has an
// anchor: the path to it, as #AttentionRequest.rope.style.

import { html, joined, prose, words } from "./html.mjs";

const code = (text) => html`<code>${text}</code>`;
const literal = (value) => code(JSON.stringify(value));
const or = (parts) => joined(parts, " or ");
const nameOf = (schema) => schema.$ref?.split("/").at(-1);
export const schemaLink = (name) => html`<a href="#schema-${name}">${name}</a>`;

// ---- types ----

function typeOf(schema) {
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (schema.$ref) return schemaLink(nameOf(schema));
    if ("const" in schema) return literal(schema.const);
    if (schema.enum) return joined(schema.enum.map(literal), " · ");
    if (alternatives && !alternatives.some(({ title }) => title)) return or(alternatives.map(typeOf));
    if (schema.items) return html`array of ${schema.items.anyOf ? html`(${typeOf(schema.items)})` : typeOf(schema.items)}`;
    return schema.contentEncoding ? html`${schema.contentEncoding}` : schema.type;
}

const LIMITS = {
    minimum: (x) => `at least ${x}`, exclusiveMinimum: (x) => `above ${x}`, maximum: (x) => `at most ${x}`, multipleOf: (x) => `a multiple of ${x}`,
    maxLength: (x) => `at most ${x} characters`, minItems: (x) => `at least ${x} of them`, maxItems: (x) => `at most ${x} of them`,
};

function limitsOf(schema) {
    const said = { ...schema };
    if (schema.minItems !== undefined && schema.minItems === schema.maxItems) delete said.minItems, delete said.maxItems;
    const limits = Object.entries(LIMITS).filter(([name]) => name in said).map(([name, say]) => say(said[name]));
    if (!("minItems" in said) && "minItems" in schema) limits.push(`${schema.minItems} of them`);
    const inner = schema.items ? limitsOf(schema.items) : [];
    return [...limits, ...inner.map((limit) => (limits.length ? `each ${limit}` : limit)), ...("default" in schema ? [html`default ${literal(schema.default)}`] : [])];
}

const typeLine = (schema) => html`<span class="type">${joined([typeOf(schema), ...limitsOf(schema)].filter(Boolean), ", ")}</span>`;

// ---- fields ----

// The unnamed objects within a type.
function innerObjects(schema) {
    if (schema.$ref) return [];
    if (schema.properties) return [schema];
    return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap(innerObjects);
}

// ---- schemas with names ----

const needs = (names) => joined(names.map(code), ", ");

// Titled alternatives, with the fields that each requires and excludes.
function forms(schema) {
    const titled = (schema.oneOf ?? []).filter(({ title }) => title);
    return titled.length > 0 && html`<ul>${titled.map(({ title, required, not }) =>
        html`<li>${title}: with ${needs(required)}; without ${needs(not.anyOf.flatMap((other) => other.required))}</li>`)}</ul>`;
}

export class Schemas {
    constructor(schemas) {
        this.schemas = schemas;
        this.shown = new Set();
        this.anchors = new Set();
    }

    // Alternatives may have fields of the same name: the later ones are numbered.
    anchor(path) {
        let free = path;
        for (let n = 2; this.anchors.has(free); n++) free = `${path}-${n}`;
        this.anchors.add(free);
        return free;
    }

    // `path`: where the field is, for its anchor.
    field(path, name, schema, required, description = schema.description) {
        const anchor = this.anchor(`${path}.${name}`);
        return html`<div id="${anchor}"><dt><a class="anchor" href="#${anchor}"><code>${name}</code></a>${required && html` <span class="required">required</span>`}</dt>
        <dd>${typeLine(schema)}${description && html`<span class="meaning">${words(description)}</span>`}${innerObjects(schema).map((inner) => this.fields(`${path}.${name}`, inner))}</dd></div>`;
    }

    // A schema may be true, which any value fits.
    fields(path, { properties, required = [] }) {
        return html`<dl class="fields">${Object.entries(properties).map(([name, schema]) =>
            this.field(path, name, schema === true ? { type: "any value" } : schema, required.includes(name)))}</dl>`;
    }

    // The whole schema if it is named and has not been shown; otherwise its type.
    show(schema) {
        const name = nameOf(schema);
        if (!name || this.shown.has(name)) return html`<p>${typeLine(schema)} ${words(schema.description)}</p>`;
        this.shown.add(name);
        return html`<div class="schema" id="schema-${name}">${this.body(name)}</div>`;
    }

    body(name) {
        const schema = this.schemas[name], objects = innerObjects(schema);
        return html`<p class="schema-name"><code>${name}</code> ${schema.type !== "object" && typeLine(schema)}</p>${prose(schema.description)}${forms(schema)}${objects.map((inner) => this.fields(name, inner))}`;
    }

    // The named schemas that have not been shown.
    rest() {
        return Object.keys(this.schemas).filter((name) => !this.shown.has(name)).map((name) => this.show({ $ref: `#/components/schemas/${name}` }));
    }
}
