// export.js: the picture as PNG or SVG, its matrix as CSV, all results as safetensors, and the page as one HTML file.

import { app } from "./app.js";
import { base } from "./api.js";
import { h, svg } from "./dom.js";
import { writeSafetensors } from "./files.js";
import { bytes } from "./format.js";
import { heatmapSvg } from "./heatmap_svg.js";
import { plainRequest } from "./request.js";
import { shortest } from "./tensor.js";

const PNG_RATIO = 2, SVG_CELLS_MAX = 128 * 128, STANDALONE_BYTES_MAX = 64 << 20;

export function save(blob, name) {
    const link = h("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const stem = () => `attention-${app.view.stage}${Number.isInteger(app.view.head) ? `-head${app.view.head}` : `-${app.view.head}`}${app.run.dims.B > 1 ? `-${itemName()}${app.view.batch}` : ""}`;

const itemName = () => (app.run.layerAxis === "batch" ? "layer" : "item");

const toBlob = (canvas) => new Promise((resolve) => canvas.toBlob(resolve, "image/png"));

// A heat map is painted again, larger and with every tile; of other views, their SVG or their canvases side by side.
export async function png(view) {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    if (view.svg) {
        const image = new Image(), source = new Blob([svgText(view)], { type: "image/svg+xml" });
        image.src = URL.createObjectURL(source);
        await image.decode();
        canvas.width = image.width * PNG_RATIO;
        canvas.height = image.height * PNG_RATIO;
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        URL.revokeObjectURL(image.src);
    } else if (view.heatmap) {
        const map = view.heatmap;
        canvas.width = map.width * PNG_RATIO;
        canvas.height = map.height * PNG_RATIO;
        map.paint(context, PNG_RATIO, Infinity);
    } else {
        const all = [...document.querySelectorAll("#picture canvas")], gap = 16;
        canvas.width = all.reduce((sum, one) => sum + one.width + gap, -gap);
        canvas.height = Math.max(...all.map((one) => one.height));
        let x = 0;
        for (const one of all) {
            if (one.width) context.drawImage(one, x, 0);
            x += one.width + gap;
        }
    }
    return toBlob(canvas);
}

// A heat map as rectangles; a large one as an embedded PNG.
async function mapSvg(view) {
    const picture = app.picture(), { rows, cols } = picture.matrix;
    if (rows * cols <= SVG_CELLS_MAX) return heatmapSvg(picture);
    const reader = new FileReader(), blob = await png({ heatmap: view.heatmap });
    await new Promise((resolve) => { reader.onload = resolve; reader.readAsDataURL(blob); });
    const { width, height } = view.heatmap;
    return svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height }, svg("image", { href: reader.result, width, height }));
}

// Outside the page there is no style sheet: the colours are written into the elements.
function svgText(view) {
    const root = view.svg().cloneNode(true), style = getComputedStyle(document.documentElement);
    root.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const ink = style.getPropertyValue("--ink").trim(), accent = style.getPropertyValue("--accent").trim();
    root.insertBefore(svg("rect", { width: "100%", height: "100%", fill: style.getPropertyValue("--surface").trim() }), root.firstChild);
    for (const text of root.querySelectorAll("text")) {
        text.setAttribute("fill", ink);
        text.setAttribute("font-family", "system-ui, sans-serif");
        text.setAttribute("font-size", 13);
    }
    return new XMLSerializer().serializeToString(root).replaceAll("var(--accent)", accent);
}

export async function svgFile(view) {
    const text = view.svg ? svgText(view) : new XMLSerializer().serializeToString(await mapSvg(view));
    return new Blob([text], { type: "image/svg+xml" });
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text);

// The matrix that is shown: a line of keys, then a line per query, numbers with all their digits.
export function csv() {
    const { rows, cols, data } = app.matrix(), output = app.view.stage === "output";
    const name = (labels, i) => quoted(String(labels?.[i] ?? i)), digits = data instanceof Float32Array ? shortest : (x) => x;
    const lines = [["", ...Array.from({ length: cols }, (_, j) => name(output ? null : app.labels.cols, j))].join()];
    for (let i = 0; i < rows; i++) lines.push([name(app.labels.rows, i), ...Array.from(data.subarray(i * cols, (i + 1) * cols), digits)].join());
    return new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
}

export function safetensors(run = app.run) {
    const { rows, cols } = app.labels, tokens = rows && cols ? { tokens: JSON.stringify({ query: rows, key: cols }) } : {};
    const metadata = run.weightsOnly ? tokens : { ...tokens, ...(run.items && { items: run.items }), applied: JSON.stringify(run.applied), warnings: JSON.stringify(run.warnings), source: JSON.stringify(plainRequest(run.request)) };
    return writeSafetensors(run.tensors, metadata);
}

async function bytesToBase64(blob) {
    const all = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < all.length; at += 8190) text += btoa(String.fromCharCode(...all.subarray(at, at + 8190)));
    return text;
}

// A text inside of a <script>, which "</script" would end.
const inScript = (text) => text.replaceAll("</script", "<\\/script");

// This page with its script, style and numbers in one file that works without a server.
export async function standalone() {
    const data = safetensors();
    if (data.size > STANDALONE_BYTES_MAX) throw new Error(`a page of ${bytes(data.size)} would not open; export safetensors instead`);
    const read = async (selector, attribute) => (await fetch(document.querySelector(selector)[attribute])).text();
    const [script, style] = await Promise.all([read("script[src]", "src"), read("link[rel=stylesheet]", "href")]);
    const [page, licenses] = await Promise.all(["", "licenses.txt"].map(async (path) => (await fetch(new URL(path, base))).text()));
    const state = { view: app.view, labels: app.labels, items: app.items, request: app.weights ? null : plainRequest(app.run.request), name: app.name };
    const held = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");
    const html = page.replace(/<link rel="icon"[^>]*>\n?/, "").replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
        .replace(/<script type="module"[^>]*><\/script>/, "")
        .replace("</body>", () => `<script type="application/json" id="standalone-state">${held(state)}</script>\n<script type="application/octet-stream" id="standalone-data">`)
        .replace("</html>", "");
    const notices = `<script type="text/plain" id="licenses">\n${inScript(licenses)}</script>\n`;
    return new Blob([html, await bytesToBase64(data), "</script>\n", notices, "<script type=\"module\">", inScript(script), "</script>\n</body>\n</html>\n"], { type: "text/html" });
}

export const EXPORTS = [
    { name: "png", title: "PNG picture", make: (view) => png(view), file: () => `${stem()}.png` },
    { name: "svg", title: "SVG picture", make: (view) => svgFile(view), file: () => `${stem()}.svg` },
    { name: "csv", title: "CSV of this matrix", make: () => csv(), file: () => `${stem()}.csv` },
    { name: "safetensors", title: "safetensors, all results", make: () => safetensors(), file: () => "attention.safetensors" },
    { name: "html", title: "Self-contained HTML", make: () => standalone(), file: () => "attention.html" },
];

