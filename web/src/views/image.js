// image.js: where keys are patches of a picture, one query's weights over the picture, head by head.

import { app } from "../app.js";
import { colorBar } from "../color_bar.js";
import { announce, h, heightLeft, keepFocus } from "../dom.js";
import { placeName } from "../figure/caption.js";
import { share } from "../format.js";
import { takeFiles } from "../input.js";
import { overlayScales, paintColors, paintPicture, patchColors } from "../overlay.js";
import { attentionOf, changedGrid, guessGrid, isGrid } from "../patches.js";
import { MEAN } from "../run.js";

const SIDE_MAX = 520, SIDE_MIN = 280, SMALL = 118, NOTE_HEIGHT = 120, BAR_WIDTH = 220;
const FITS = [["crop", "Middle of the picture"], ["stretch", "All of it, stretched"]];
const NOTE = "The picture stays in this browser: it is not sent, and not in the link.";

// A canvas of a size in CSS pixels, sharp on any screen.
function sized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
}

export function create(host) {
    const file = h("input", { type: "file", class: "sr", id: "image-file", accept: "image/*", onchange: () => { takeFiles(file.files); file.value = ""; } });
    const number = (name, title) => h("input", { type: "number", id: `image-${name}`, min: name === "special" || name === "query" ? 0 : 1, "aria-label": title });
    const rows = number("rows", "Rows of patches"), cols = number("cols", "Columns of patches"), special = number("special", "Special tokens before the patches"), query = number("query", "Query");
    const fit = h("select", { id: "image-fit", onchange: () => app.setView({ fit: fit.value }) }, FITS.map(([value, text]) => h("option", { value }, text)));
    const alpha = h("input", { type: "range", id: "image-overlay", min: 0, max: 1, step: 0.05, oninput: () => app.setView({ overlay: Number(alpha.value) }) });
    const smooth = h("input", { type: "checkbox", id: "image-smooth", onchange: () => app.setView({ smooth: smooth.checked }) });
    const canvas = h("canvas", { id: "image", tabIndex: 0, role: "application", "aria-roledescription": "picture in patches", "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight" });
    const about = h("p", { id: "image-about", "aria-live": "polite" }), heads = h("div", { class: "thumbs", role: "group", "aria-label": "Heads" }), bar = h("div");
    const problem = h("p", { class: "error", id: "image-problem", role: "alert" }), note = h("p", { class: "hint" });
    const main = h("div", {}, canvas, about, bar);
    host.append(h("div", { class: "toolbar" }, file, h("label", { htmlFor: "image-file", class: "button" }, "Open a picture"),
        h("label", { class: "pick" }, "Patches ", rows, " × ", cols), h("label", { class: "pick" }, "after ", special, " special tokens"), h("label", { class: "pick" }, "Query ", query)),
    problem, note, h("div", { class: "image-view" }, main, heads),
    h("div", { class: "row" }, h("label", { class: "pick" }, "Covers ", fit), h("label", { class: "slider" }, "Overlay ", alpha), h("label", { class: "check" }, smooth, "Smooth")));

    let grid = null, shown = []; // [head, its weights of the query, its scale]
    let width = 0, height = 0; // of the picture on the page

    const queryShown = () => Math.min(app.view.cell?.[0] ?? 0, app.run.dims.Tq - 1);
    const ofQuery = (matrix) => matrix.data.subarray(queryShown() * matrix.cols, (queryShown() + 1) * matrix.cols);
    const nameOf = (head) => (head === MEAN ? "mean" : `head ${head}`);
    const arePatches = () => app.run.dims.Tq === app.run.dims.Tk; // the queries, too
    const aspect = () => (app.image ? app.image.canvas.width / app.image.canvas.height : 1);

    // The chosen query's patch, or else the chosen key's, [row, column]; null: that is a special token.
    function patchChosen() {
        const at = (arePatches() ? queryShown() : app.view.cell?.[1] ?? -1) - grid[2];
        return at < 0 ? null : [Math.floor(at / grid[1]), at % grid[1]];
    }

    function choose(row, col) {
        const at = grid[2] + Math.max(0, Math.min(grid[0] - 1, row)) * grid[1] + Math.max(0, Math.min(grid[1] - 1, col));
        app.setView({ cell: arePatches() ? [at, app.view.cell?.[1] ?? at] : [queryShown(), at] });
        announce(about.textContent);
    }

    canvas.addEventListener("click", (event) => {
        const box = canvas.getBoundingClientRect();
        choose(Math.floor(((event.clientY - box.top) / box.height) * grid[0]), Math.floor(((event.clientX - box.left) / box.width) * grid[1]));
    });
    canvas.addEventListener("keydown", (event) => {
        const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
        if (down === undefined || event.altKey || event.metaKey || event.ctrlKey) return;
        const [row, col] = patchChosen() ?? [0, 0];
        choose(row + down, col + right);
        event.preventDefault();
    });
    query.addEventListener("change", () => {
        const { Tq } = app.run.dims, at = Math.max(0, Math.min(Tq - 1, Math.round(Number(query.value)) || 0));
        app.setView({ cell: [at, app.view.cell?.[1] ?? 0] });
    });
    for (const [name, input] of Object.entries({ rows, cols, special })) input.addEventListener("change", () => {
        const { Tk } = app.run.dims, changed = changedGrid(grid, name, Number(input.value), Tk);
        if (changed) return app.setView({ grid: changed });
        problem.textContent = `${Tk} keys are no ${name === "special" ? "patches" : `grid with ${input.value} ${name === "rows" ? "rows" : "columns"}`} after ${name === "special" ? input.value : grid[2]} special tokens.`;
        input.value = grid[["rows", "cols", "special"].indexOf(name)];
        return undefined;
    });

    function paint(context, weights, scale, w, height1) {
        context.clearRect(0, 0, w, height1);
        paintPicture(context, app.image, grid, app.view.fit, w, height1);
        paintColors(context, patchColors(weights, grid, scale), w, height1, { alpha: app.image ? app.view.overlay : 1, smooth: app.view.smooth });
    }

    function frame(context, [row, col]) {
        const w = width / grid[1], tall = height / grid[0];
        for (const [line, color] of [[4, "#fff"], [2, "#d1006c"]]) {
            context.lineWidth = line;
            context.strokeStyle = color;
            context.strokeRect(col * w, row * tall, w, tall);
        }
    }

    function sentence(weights) {
        const found = attentionOf(weights, grid), patch = patchChosen(), at = arePatches() && patch ? `, the patch in row ${patch[0]}, column ${patch[1]},` : "";
        const rest = grid[2] ? `, ${share(found.special)} to ${grid[2]} special token${grid[2] > 1 ? "s" : ""}` : "";
        return `Query ${queryShown()}${at} gives ${share(found.patches)} to the patches${rest}; most, ${share(found.most)}, to row ${found.row}, column ${found.col} (${nameOf(app.view.head)}).`;
    }

    function thumbnail([head, weights, scale]) {
        const small = h("canvas", { "aria-hidden": "true" }), ratio = SMALL / Math.max(grid[0], grid[1]), w = Math.round(grid[1] * ratio), tall = Math.round(grid[0] * ratio);
        paint(sized(small, w, tall), weights, scale, w, tall);
        return h("button", { type: "button", class: `thumb ${head === app.view.head ? "on" : ""}`, "aria-pressed": String(head === app.view.head), "aria-label": nameOf(head),
            onclick: () => app.setView({ head }) }, small, h("span", {}, nameOf(head)));
    }

    function readHeads() {
        const { H } = app.run.dims, names = [...Array.from({ length: H }, (_, head) => head), ...(app.run.hasMean ? [MEAN] : [])];
        const matrices = names.map((head) => app.matrix("weights", head));
        if (!matrices.every(Boolean)) return false;
        const all = matrices.map(ofQuery), scales = overlayScales(all, grid, app.view.mode, app.view.palette);
        shown = names.map((head, at) => [head, all[at], scales[at]]);
        return true;
    }

    function showSettings() {
        const { fit: way, overlay, smooth: isSmooth } = app.view;
        [rows.value, cols.value, special.value] = grid;
        Object.assign(query, { value: queryShown(), max: app.run.dims.Tq - 1 });
        fit.value = way;
        alpha.value = overlay;
        smooth.checked = isSmooth;
        alpha.disabled = fit.disabled = !app.image;
        problem.textContent = "";
        note.textContent = app.image ? `${app.image.name}. ${NOTE}` : `Where keys are patches of a picture, drop it here. ${NOTE}`;
    }

    function draw() {
        const one = shown.find(([head]) => head === app.view.head) ?? shown[0], [, weights, scale] = one;
        const room = Math.max(SIDE_MIN, Math.min(SIDE_MAX, host.clientWidth || SIDE_MAX, heightLeft(canvas) - NOTE_HEIGHT)), ratio = room / Math.max(grid[0], grid[1]);
        [width, height] = [Math.round(grid[1] * ratio), Math.round(grid[0] * ratio)];
        main.style.width = `${Math.max(width, BAR_WIDTH)}px`;
        const context = sized(canvas, width, height);
        paint(context, weights, scale, width, height);
        if (patchChosen()) frame(context, patchChosen());
        canvas.setAttribute("aria-label", `${grid[0]} × ${grid[1]} patches; ${arePatches() ? "a click or the arrow keys choose the query" : "a click or the arrow keys choose a key"}`);
        about.textContent = sentence(weights);
        bar.replaceChildren(colorBar(scale));
        heads.hidden = shown.length < 2;
        keepFocus(heads, () => heads.replaceChildren(...shown.map(thumbnail)));
    }

    function figure() {
        const { Tq } = app.run.dims, { overlay, smooth: isSmooth, fit: way } = app.view, [, , scale] = shown[0], patch = patchChosen(), others = new Set(shown.map((one) => one[2].max)).size > 1;
        const where = arePatches() && patch ? `, the framed patch in row ${patch[0]}, column ${patch[1]}` : "";
        return { kind: "overlay", picture: app.image, grid, fit: way, alpha: app.image ? overlay : 1, smooth: isSmooth, patch: arePatches() ? patch : null, scale, relative: others,
            panels: shown.map(([head, weights, own]) => ({ title: nameOf(head), weights, scale: own })), title: [`Attention of query ${queryShown()}`, placeName(null)].filter(Boolean).join(", "),
            caption: `What query ${queryShown()} of ${Tq}${where} gives to the ${grid[0]} × ${grid[1]} patches of the picture${grid[2] ? ` after ${grid[2]} special token${grid[2] > 1 ? "s" : ""}` : ""}, head by head.` };
    }

    return {
        figure: () => shown.length > 0 && figure(),
        render() {
            const { Tk } = app.run.dims;
            grid = app.view.grid && isGrid(app.view.grid, Tk) ? app.view.grid : guessGrid(Tk, aspect());
            if (!readHeads()) return false;
            showSettings();
            draw();
            return true;
        },
        cell() {
            this.render();
        },
    };
}
