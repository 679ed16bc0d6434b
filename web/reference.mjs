// reference.mjs: openapi.yaml as a page: each endpoint with its request, replies and examples, rendered when the page is built.

import { deflateRawSync } from "node:zlib";
import { Scalar, isCollection, parseDocument, visit } from "yaml";
import { html, joined, json, prose, words } from "./html.mjs";
import { Schemas, schemaLink } from "./schemas.mjs";

const METHODS = ["get", "post"];

// Examples are replaced by their source text, which keeps its line breaks, and 1.0 as 1.0.
function readDocument(text) {
    const document = parseDocument(text);
    if (document.errors.length) throw document.errors[0];
    visit(document, {
        Pair(_, { key, value }, path) {
            if ((key.value !== "value" && key.value !== "example") || !isCollection(value) || !value.flow) return undefined;
            const [from, to] = value.range, indent = from - text.lastIndexOf("\n", from) - 1;
            path.at(-1).set(key, new Scalar(text.slice(from, to).replaceAll(`\n${" ".repeat(indent)}`, "\n")));
            return visit.SKIP;
        },
    });
    return document.toJS();
}

class Reference {
    constructor(text) {
        this.document = readDocument(text);
        this.schemas = new Schemas(this.document.components.schemas);
    }

    resolve(item) {
        return item.$ref ? item.$ref.split("/").slice(1).reduce((at, name) => at[name], this.document) : item;
    }

    operations(tag) {
        return Object.entries(this.document.paths).flatMap(([path, item]) =>
            METHODS.filter((method) => item[method]?.tags.includes(tag)).map((method) => ({ method, path, ...item[method] })));
    }

    // ---- an endpoint ----

    operation({ method, path, operationId, tags, summary, description, security, parameters = [], requestBody, responses }) {
        const replies = Object.entries(responses).map(([status, response]) => [status, this.resolve(response)]);
        const asked = Object.values(requestBody?.content ?? {}).flatMap(({ examples = {} }) => Object.entries(examples));
        return html`<section class="operation" id="${operationId}">
<h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></h3>
<p class="summary">${summary}</p>
${prose(description)}
${security?.length === 0 && html`<p class="quiet">Open: needs no key.</p>`}
${parameters.length > 0 && html`<h4>Headers</h4><dl class="fields">${parameters.map((parameter) => this.header(operationId, this.resolve(parameter)))}</dl>`}
${requestBody && html`<h4>Body</h4>${this.content(requestBody.content)}`}
${asked.length > 0 && html`<h4>Examples</h4>${asked.map(([name, example]) => this.example(path, name, example, replies))}`}
${!tags.includes("page") && html`<div class="try" data-method="${method.toUpperCase()}" data-path="${path.slice(1)}"></div>`}
<h4>Replies</h4>
${replies.map(([status, response]) => this.reply(operationId, status, response, new Set(asked.map(([name]) => name))))}
</section>`;
    }

    // `path`: whose header it is.
    header(path, { name, schema, required, description }) {
        return this.schemas.field(path, name, schema, required, description);
    }

    content(content) {
        return Object.entries(content).map(([type, { schema }]) =>
            html`<div class="content"><p><code class="media">${type}</code></p>${this.schemas.show(schema)}</div>`);
    }

    // A request, and the reply's example of the same name, if there is one.
    example(path, name, { summary, value }, replies) {
        const answers = replies.flatMap(([status, { content = {} }]) =>
            Object.values(content).filter(({ examples }) => examples?.[name]).map(({ examples }) => [status, examples[name].value]));
        return html`<details class="example"><summary>${summary ?? name}</summary>
<p class="caption">Request${path === "/attention" && html` <a href="${permalink(value)}">Open in the page</a>`}</p><pre class="request">${json(value)}</pre>
${answers.map(([status, text]) => html`<p class="caption">Reply ${badge(status)}</p><pre>${json(text)}</pre>`)}</details>`;
    }

    reply(operationId, status, { description, headers = {}, content = {} }, paired) {
        const examples = Object.entries(content).flatMap(([type, { example, examples: named = {} }]) =>
            [...(example ? [example] : []), ...Object.entries(named).filter(([name]) => !paired.has(name)).map(([, { value }]) => value)]
                .map((text) => (type.includes("json") ? json(text) : text)));
        return html`<details class="reply"><summary>${badge(status)} <span>${words(description)}</span></summary>
${Object.keys(headers).length > 0 && html`<p class="caption">Headers</p><dl class="fields">${Object.entries(headers).map(([name, header]) => this.header(`${operationId}.${status}`, { name, ...this.resolve(header) }))}</dl>`}
${this.content(content)}${examples.map((example) => html`<p class="caption">Example</p><pre>${example}</pre>`)}</details>`;
    }

    // ---- the page ----

    keys() {
        const { securitySchemes } = this.document.components;
        const where = ({ scheme, name }) => (scheme ? `Authorization: ${scheme[0].toUpperCase()}${scheme.slice(1)} KEY` : `${name}: KEY`);
        return html`<section id="keys"><h2>Keys</h2><dl class="fields">${Object.values(securitySchemes).map((scheme) =>
            html`<div><dt><code>${where(scheme)}</code></dt><dd><span class="meaning">${words(scheme.description)}</span></dd></div>`)}</dl></section>`;
    }

    body() {
        const { info, tags } = this.document;
        const parts = tags.map(({ name, description }) => html`<section id="about-${name}"><h2>${title(name)}</h2><p>${words(description)}</p>
${this.operations(name).map((operation) => this.operation(operation))}</section>`);
        return html`<h1>${info.title} ${info.version}</h1><p class="summary">${info.summary}</p>${prose(info.description)}
<p><a href="openapi.yaml">openapi.yaml</a> says the same to programs (OpenAPI 3.1).</p>
${this.keys()}${parts}<section id="schemas"><h2>Schemas</h2>${this.schemas.rest()}</section>`;
    }

    contents() {
        const { tags, components } = this.document;
        const group = (heading, links) => html`<h2>${heading}</h2><ul>${links.map((link) => html`<li>${link}</li>`)}</ul>`;
        const link = ({ method, path, operationId }) =>
            html`<a href="#${operationId}"><span class="method ${method}">${method.toUpperCase()}</span> <span>${joined(path.split("/"), html`<wbr>/`)}</span></a>`;
        return [...tags.map(({ name }) => group(title(name), this.operations(name).map(link))),
            group("Schemas", Object.keys(components.schemas).map(schemaLink))];
    }
}

const title = (tag) => tag[0].toUpperCase() + tag.slice(1);
const badge = (status) => html`<span class="status ${status < 400 ? "good" : "bad"}">${status}</span>`;

// A link that opens the request in the page, as web/src/permalink.js decodes it. The page chooses results and format itself.
function permalink(text) {
    const { return: names, format, decimals, ...request } = JSON.parse(text);
    return `./#s=${deflateRawSync(JSON.stringify({ v: 1, view: {}, request })).toString("base64url")}`;
}

// Returns { contents, reference }, both markup.
export function renderReference(text) {
    const reference = new Reference(text);
    return { contents: reference.contents().join(""), reference: reference.body() };
}
