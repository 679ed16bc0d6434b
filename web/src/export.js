// export.js: the picture as PNG or SVG (figure/draw.js draws it), its matrix as CSV, all results as safetensors, and the page as one HTML file.

import { app } from "./app.js";
import { base } from "./api.js";
import { h } from "./dom.js";
import { detailsOf } from "./figure/caption.js";
import { drawFigure } from "./figure/draw.js";
import { fontText } from "./figure/font.js";
import { writeSafetensors } from "./files.js";
import { bytes } from "./format.js";
import { numbersIn, plainRequest } from "./request.js";
import { HELD } from "./restore.js";
import { shortest } from "./tensor.js";

const PNG_RATIO = 2, CANVAS_SIDE_MAX = 16384, STANDALONE_BYTES_MAX = 64 << 20, SOURCE_NUMBERS_MAX = 1 << 20;

export function save(blob, name) {
    const link = h("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The stage, and the view if it is not the map, with the head and the item or layer that are shown; all of them are in the heads' grid.
function stem() {
    const { stage, tab, head, batch } = app.view, all = tab === "heads";
    const parts = ["attention", stage, tab !== "map" && tab, !all && (Number.isInteger(head) ? `head${head}` : head), app.run.dims.B > 1 && !(all && app.run.layerAxis) && `${itemName()}${batch}`];
    return parts.filter(Boolean).join("-");
}

const itemName = () => (app.run.layerAxis === "batch" ? "layer" : "item");

async function figureText(view) {
    const figure = view.figure();
    if (!figure) throw new Error("There is no picture here to export yet");
    return drawFigure(figure, detailsOf(figure.caption));
}

const svgFile = async (view) => new Blob([await figureText(view)], { type: "image/svg+xml" });

// The SVG, painted at twice its size; less where no browser has a canvas that large.
async function png(view) {
    const image = new Image(), canvas = document.createElement("canvas");
    image.src = URL.createObjectURL(await svgFile(view));
    await image.decode();
    const ratio = Math.min(PNG_RATIO, CANVAS_SIDE_MAX / Math.max(image.width, image.height));
    canvas.width = Math.round(image.width * ratio);
    canvas.height = Math.round(image.height * ratio);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(image.src);
    return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("This picture is too large for a PNG; export it as SVG"))), "image/png"));
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text);

// The matrix that is shown: a line of keys, then a line per query, numbers with all their digits.
function csv() {
    if (app.matrix().pooled) throw new Error("these are too many numbers for a table; a request with “select” gives a part of them");
    const { rows, cols, data } = app.matrix(), output = app.view.stage === "output";
    const name = (labels, i) => quoted(String(labels?.[i] ?? i)), digits = data instanceof Float32Array ? shortest : (x) => x;
    const lines = [["", ...Array.from({ length: cols }, (_, j) => name(output ? null : app.labels.cols, j))].join()];
    for (let i = 0; i < rows; i++) lines.push([name(app.labels.rows, i), ...Array.from(data.subarray(i * cols, (i + 1) * cols), digits)].join());
    return new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
}

// `more`: tensors beside those of the run.
function safetensors(more = []) {
    if (app.run.long && numbersIn(app.run.request) > SOURCE_NUMBERS_MAX) throw new Error("the request's own numbers are too many to be written beside its results; the file that they came from opens here");
    const { run } = app, { rows, cols } = app.labels, tokens = rows && cols ? { tokens: JSON.stringify({ query: rows, key: cols }) } : {};
    const metadata = run.weightsOnly ? tokens : { ...tokens, ...(run.items && { items: run.items }), applied: JSON.stringify(run.applied), warnings: JSON.stringify(run.warnings), source: JSON.stringify(plainRequest(run.request)) };
    return writeSafetensors(new Map([...run.tensors, ...more]), metadata);
}

async function bytesToBase64(blob) {
    const all = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < all.length; at += 8190) text += btoa(String.fromCharCode(...all.subarray(at, at + 8190)));
    return text;
}

// A text inside of a <script>, which "</script" would end.
const inScript = (text) => text.replaceAll("</script", "<\\/script");

// What a view shows beside the run: the run it is compared with, or the results of other code with what was found about them.
function heldBeside(view) {
    const other = view?.other?.(), found = view?.comparison?.(), named = (prefix, tensors) => [...tensors].map(([name, tensor]) => [prefix + name, tensor]);
    if (other) return { tensors: named(HELD.other, other.run.tensors), state: { other: { name: other.name, request: plainRequest(other.run.request), applied: other.run.applied } } };
    if (found) return { tensors: named(HELD.yours, app.yours.tensors), state: { yours: { name: app.yours.name, found } } };
    return { tensors: [], state: {} };
}

// This page with its script, style, font and numbers in one file that works without a server, and shows what is shown now.
async function standalone(view) {
    if (app.run.long) throw new Error("a page without the server would have the pooled weights alone; export a picture, or safetensors");
    const beside = heldBeside(view), data = safetensors(beside.tensors);
    if (data.size > STANDALONE_BYTES_MAX) throw new Error(`a page of ${bytes(data.size)} would not open; export safetensors instead`);
    const read = async (selector, attribute) => (await fetch(document.querySelector(selector)[attribute])).text();
    const [script, style] = await Promise.all([read("script[src]", "src"), read("link[rel=stylesheet]", "href")]);
    const [page, licenses] = await Promise.all(["", "licenses.txt"].map(async (path) => (await fetch(new URL(path, base))).text())), font = await fontText();
    const { preset, about, labels, items, name } = app, request = app.weights ? null : plainRequest(app.run.request);
    const image = app.image && { name: app.image.name, url: app.image.canvas.toDataURL("image/png") };
    const state = { view: app.view, preset, about, labels, items, name, request, image, ...beside.state };
    const held = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");
    const html = page.replace(/<link rel="icon"[^>]*>\n?/, "").replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
        .replace(/<script type="module"[^>]*><\/script>/, "")
        .replace("</body>", () => `<script type="application/json" id="standalone-state">${held(state)}</script>\n<script type="application/json" id="standalone-font">${font.replaceAll("<", "\\u003c")}</script>\n<script type="application/octet-stream" id="standalone-data">`)
        .replace("</html>", "");
    const notices = `<script type="text/plain" id="licenses">\n${inScript(licenses)}</script>\n`;
    return new Blob([html, await bytesToBase64(data), "</script>\n", notices, "<script type=\"module\">", inScript(script), "</script>\n</body>\n</html>\n"], { type: "text/html" });
}

const EXPORTS = [
    { name: "png", title: "PNG picture", make: png, file: () => `${stem()}.png` },
    { name: "svg", title: "SVG picture", make: svgFile, file: () => `${stem()}.svg` },
    { name: "csv", title: "CSV of this matrix", make: () => csv(), file: () => `${stem()}.csv` },
    { name: "safetensors", title: "safetensors, all results", make: () => safetensors(), file: () => "attention.safetensors" },
    { name: "html", title: "Self-contained HTML", make: standalone, file: () => "attention.html" },
];

// What can be made of this view here.
export const exportsOf = (view) => EXPORTS.filter(({ name }) => (name === "png" || name === "svg" ? view?.figure : name !== "html" || !app.offline));
