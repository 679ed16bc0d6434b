// heads.js: every head, the mean of all and that of the collected ones, as small pictures on one scale; and the batch's items.

import { app } from "../app.js";
import { h, keepFocus } from "../dom.js";
import { MEAN } from "../run.js";
import { TILE_MAX, TileCache } from "../tile_cache.js";

const SIDE = 118;

// The matrix on a small canvas; a pixel shows the largest number that it covers.
function paintThumbnail(canvas, picture) {
    const { rows, cols } = picture.matrix, step = (n) => Math.max(0, Math.ceil(Math.log2(n / TILE_MAX)));
    const tile = new TileCache(picture, TILE_MAX).make(step(cols), step(rows), 0, 0), ratio = window.devicePixelRatio || 1;
    const scale = SIDE / Math.max(rows, cols), width = Math.max(8, Math.round(cols * scale)), height = Math.max(8, Math.round(rows * scale));
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(tile, 0, 0, canvas.width, canvas.height);
}

export function create(host) {
    let collecting = false; // clicks collect, for touch screens without a Shift key
    const chosen = h("p", { class: "hint", id: "heads-about", "aria-live": "polite" });
    const grid = h("div", { class: "thumbs", role: "group", "aria-label": "Heads" });
    const items = h("div", { class: "thumbs", role: "group", "aria-label": "Batch items" });
    const headsTitle = h("h2", {}, "Heads"), itemsTitle = h("h2", {}, "Batch items");
    const collectBox = h("label", { class: "check" }, h("input", { type: "checkbox", id: "collect", onchange: (event) => { collecting = event.target.checked; } }), "Click collects");
    host.append(headsTitle, h("div", { class: "row" }, chosen, collectBox), grid, itemsTitle, items);

    function open(head) {
        app.setView({ head, tab: "map" });
    }

    function collect(head) {
        const heads = app.view.heads.includes(head) ? app.view.heads.filter((x) => x !== head) : [...app.view.heads, head];
        app.setView({ heads });
    }

    function thumbnail(text, picture, { pressed, onclick, name }) {
        const canvas = h("canvas", { "aria-hidden": "true" });
        paintThumbnail(canvas, picture);
        return h("button", { type: "button", class: `thumb ${pressed ? "on" : ""}`, "aria-pressed": String(Boolean(pressed)), "aria-label": name ?? text, onclick },
            h("span", { class: "frame" }, canvas), h("span", {}, text));
    }

    function head(which) {
        const picture = app.picture(app.view.stage, which), collected = app.view.heads.includes(which);
        return thumbnail(which === MEAN ? "mean" : `head ${which}`, picture, {
            pressed: collected,
            onclick: (event) => (collecting || event.shiftKey || event.ctrlKey || event.metaKey ? collect(which) : open(which)),
            name: which === MEAN ? "Mean of all heads" : `Head ${which}`,
        });
    }

    // The mean of the collected heads.
    function meanOfChosen() {
        const heads = app.view.heads.filter((x) => x !== MEAN), matrices = heads.map((x) => app.matrix(app.view.stage, x));
        const { rows, cols } = matrices[0], data = new Float64Array(rows * cols);
        for (const matrix of matrices) for (let i = 0; i < data.length; i++) data[i] += matrix.data[i] / heads.length;
        return app.pictureOf({ rows, cols, data }, app.view.stage, app.scale(app.view.stage), app.maskReasons, heads[0]);
    }

    function item(batch) {
        const before = app.view.batch;
        app.view.batch = batch;
        const picture = app.picture(app.view.stage, app.view.head);
        app.view.batch = before;
        return thumbnail(`item ${batch}`, picture, { pressed: batch === before, onclick: () => app.setView({ batch }) });
    }

    function draw() {
        const { H, B } = app.run.dims, { heads } = app.view;
        const many = heads.filter((x) => x !== MEAN).length > 1;
        chosen.textContent = heads.length ? `${heads.length} collected` : "Click opens a head, shift-click collects.";
        if (heads.length) chosen.append(" ", h("button", { type: "button", class: "quiet", onclick: () => app.setView({ heads: [] }) }, "Clear"));
        const shared = app.run.outputIsShared(app.view.stage);
        headsTitle.hidden = grid.hidden = chosen.hidden = collectBox.hidden = H === 1 && B > 1;
        itemsTitle.hidden = B === 1;
        grid.replaceChildren(...Array.from({ length: shared ? 1 : H }, (_, which) => head(which)), ...(H > 1 && !shared ? [head(MEAN)] : []),
            ...(many ? [thumbnail("mean of collected", meanOfChosen(), { pressed: false, onclick: () => {} })] : []));
        items.replaceChildren(...(B > 1 ? Array.from({ length: B }, (_, batch) => item(batch)) : []));
        return true;
    }

    return {
        stages: true,
        render: () => app.picture() !== null && keepFocus(host, draw),
        cell() {},
    };
}
