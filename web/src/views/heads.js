// heads.js: every head of every layer as small pictures on one scale, in their places or ordered by what they do; the mean of all heads,
// of the collected ones, and rollout; and the batch's items.

import { app } from "../app.js";
import { joined } from "../color.js";
import { h, keepFocus } from "../dom.js";
import { barName, captionOf, mapCaption } from "../figure/caption.js";
import { share, short } from "../format.js";
import { paintFade } from "../heatmap_locks.js";
import { measuresFor } from "../measures.js";
import { MEAN, ROLLOUT } from "../run.js";
import { TILE_MAX, TileCache } from "../tile_cache.js";

const SIDE_MAX = 118, SIDE_MIN = 24, GAP = 16, LAYER_NAME_WIDTH = 64;

// Tokens that are not locked fade here, too.
function fadeThumbnail(context, picture, cw, ch) {
    const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
    paintFade({ picture, x: (j) => j * cw, y: (i) => i * ch, cw, ch, transform: { k: 1 }, colors: { surface: color("--surface"), accent: color("--accent") } }, context);
}

// The matrix on a small canvas; a pixel shows the largest number that it covers.
function paintThumbnail(canvas, picture, side) {
    const { rows, cols } = picture.matrix, step = (n) => Math.max(0, Math.ceil(Math.log2(n / TILE_MAX)));
    const tile = new TileCache(picture, TILE_MAX).make(step(cols), step(rows), 0, 0), ratio = window.devicePixelRatio || 1;
    const scale = side / Math.max(rows, cols), width = Math.max(8, Math.round(cols * scale)), height = Math.max(8, Math.round(rows * scale));
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(tile, 0, 0, canvas.width, canvas.height);
    fadeThumbnail(context, picture, canvas.width / cols, canvas.height / rows);
}

export function create(host) {
    let collecting = false, switching = false; // what clicks do beside opening, for touch screens without Shift and Alt
    let side = SIDE_MAX, scale = null, measure = null; // of the drawing under way
    const chosen = h("p", { class: "hint", id: "heads-about", "aria-live": "polite" });
    const grid = h("div", { class: "thumbs", role: "group", "aria-label": "Heads" });
    const items = h("div", { class: "thumbs", role: "group", "aria-label": "Batch items" });
    const headsTitle = h("h2", {}, "Heads"), itemsTitle = h("h2", {}, "Batch items");
    const collectBox = h("label", { class: "check" }, h("input", { type: "checkbox", id: "collect", onchange: (event) => clicksDo(event.target.checked, false) }), "Click collects");
    const switchBox = h("label", { class: "check" }, h("input", { type: "checkbox", id: "switch-heads", onchange: (event) => clicksDo(false, event.target.checked) }), "Click switches off");
    const order = h("select", { id: "heads-order", onchange: () => app.setView({ order: order.value }) });
    const orderBox = h("label", { class: "pick" }, "Order by ", order);
    host.append(headsTitle, h("div", { class: "row" }, orderBox, chosen, collectBox, switchBox), grid, itemsTitle, items);

    function clicksDo(collect, switchOff) {
        [collecting, switching] = [collect, switchOff];
        collectBox.firstChild.checked = collecting;
        switchBox.firstChild.checked = switching;
    }

    const placeOf = (layer) => (app.run.layerAxis ? { [app.run.layerAxis]: layer } : {});
    const layerShown = () => (app.run.layerAxis ? app.view[app.run.layerAxis] : 0);

    function collect(layer, head) {
        const before = layer === layerShown() ? app.view.heads : [];
        app.setView({ ...placeOf(layer), heads: before.includes(head) ? before.filter((x) => x !== head) : [...before, head] });
    }

    function thumbnail(text, picture, { pressed, onclick, onkeydown, name, value, off = false }) {
        const canvas = h("canvas", { "aria-hidden": "true" });
        paintThumbnail(canvas, picture.layers?.[0].picture ?? picture, side);
        return h("button", { type: "button", class: `thumb${pressed ? " on" : ""}${off ? " off" : ""}`, "aria-pressed": String(Boolean(pressed)), "aria-label": `${name ?? text}${off ? ", off" : ""}`, onclick, onkeydown },
            h("span", { class: "frame" }, canvas), h("span", {}, off ? `${text} off` : text), value !== undefined && h("b", { class: "measure" }, value));
    }

    const pictureAt = (layer, head) => {
        const place = placeOf(layer), matrix = app.matrix(app.view.stage, head, app.run, place);
        return matrix && app.pictureOf(matrix, app.view.stage, scale, app.maskReasons, head, place.batch);
    };

    const NAMES = { [ROLLOUT]: ["rollout", "Rollout"] };

    function meanName(layer) {
        const on = app.run.headsOn({ layer: 0, batch: 0, ...placeOf(layer) }).length;
        return on === app.run.dims.H ? ["mean", "Mean of all heads"] : [`mean of ${on}`, `Mean of ${on} heads`];
    }

    function head(layer, which) {
        const many = app.run.layers > 1, collected = layer === layerShown() && app.view.heads.includes(which);
        const [short1, long] = which === MEAN ? meanName(layer) : NAMES[which] ?? [`head ${which}`, `Head ${which}`], one = Number.isInteger(which);
        return thumbnail(many ? short1.replace("head ", measure ? `${layer}.` : "") : short1, pictureAt(layer, which), {
            pressed: collected, off: one && app.run.isOff(layer, which),
            onclick: (event) => {
                if (one && (switching || event.altKey)) app.switchHead(which, layer);
                else if (which !== ROLLOUT && (collecting || event.shiftKey || event.ctrlKey || event.metaKey)) collect(layer, which);
                else app.setView({ ...placeOf(layer), head: which, tab: "map" });
            },
            onkeydown: (event) => {
                if (event.key !== "o" || !one) return;
                event.stopPropagation();
                app.switchHead(which, layer);
            },
            name: many ? `Layer ${layer}, ${long.toLowerCase()}` : long,
            value: valueOf(layer, which),
        });
    }

    // The number that heads are ordered by, as text.
    function valueOf(layer, which) {
        const matrix = measure && app.matrix("weights", which, app.run, placeOf(layer));
        if (!matrix) return undefined;
        const value = measure.of(matrix, app.labels, app.view);
        return measure.unit ? `${short(value)} ${measure.unit}` : share(value);
    }

    // The mean of the collected heads.
    function meanOfChosen() {
        const heads = app.view.heads.filter((x) => x !== MEAN), matrices = heads.map((x) => app.matrix(app.view.stage, x));
        const { rows, cols } = matrices[0], data = new Float64Array(rows * cols);
        for (const matrix of matrices) for (let i = 0; i < data.length; i++) data[i] += matrix.data[i] / heads.length;
        return app.pictureOf({ rows, cols, data }, app.view.stage, scale, app.maskReasons, heads[0]);
    }

    function item(batch) {
        const matrix = app.matrix(app.view.stage, app.view.head, app.run, { batch });
        return thumbnail(`item ${batch}`, app.pictureOf(matrix, app.view.stage, app.scale(app.view.stage), app.maskReasons, app.view.head, batch),
            { pressed: batch === app.view.batch, onclick: () => app.setView({ batch }) });
    }

    function showOrders() {
        const matrix = app.matrix("weights", 0), measures = matrix?.data && app.run.dims.H * app.run.layers > 1 ? measuresFor(matrix, app.labels, app.view) : [];
        measure = measures.find(({ name }) => name === app.view.order) ?? null;
        order.replaceChildren(h("option", { value: "" }, app.run.layers > 1 ? "layer and head" : "head"), ...measures.map(({ name, title }) => h("option", { value: name }, title)));
        order.value = measure?.name ?? "";
        orderBox.hidden = !measures.length;
    }

    // One scale for all heads of all layers.
    function scaleOfAll() {
        return app.scale(app.view.stage, joined(Array.from({ length: app.run.layers }, (_, layer) => app.extent(app.view.stage, app.run, placeOf(layer)))));
    }

    function ordered(heads) {
        const layers = Array.from({ length: app.run.layers }, (_, layer) => layer);
        const measured = ([layer, which]) => measure.of(app.matrix("weights", which, app.run, placeOf(layer)), app.labels, app.view);
        const all = layers.flatMap((layer) => heads.filter(Number.isInteger).map((which) => [layer, which]));
        return all.map((one) => [measured(one), one]).sort(([a], [b]) => b - a).map(([, one]) => one);
    }

    // Whether a gap stands before a head: it is the first that reads another key head, or is no head.
    function beginsGroup(which) {
        const { H } = app.run.dims, size = H / app.run.headsOf("key");
        return size > 1 && size < H && (which === MEAN || which % size === 0) && which !== 0;
    }

    // A row of the grid for each layer, a column for each head.
    function layered(heads) {
        const one = (layer, which) => {
            const button = head(layer, which);
            button.classList.toggle("apart", beginsGroup(which));
            return button;
        };
        return Array.from({ length: app.run.layers }, (_, layer) => [h("span", { class: "layer-name" }, `layer ${layer}`), ...heads.map((which) => one(layer, which))]).flat();
    }

    // One layer's heads; those that share a key head are together.
    function flat(heads) {
        const { H } = app.run.dims, groups = app.run.headsOf("key"), size = H / groups;
        if (groups < 2 || size < 2 || heads.length < H) return heads.map((which) => head(0, which));
        const group = (which) => h("div", { class: "group", role: "group", "aria-label": `Key head ${which}` }, h("span", { class: "hint" }, `key head ${which}`),
            ...heads.slice(which * size, (which + 1) * size).map((one) => head(0, one)));
        return [...Array.from({ length: groups }, (_, which) => group(which)), ...heads.slice(H).map((which) => head(0, which))];
    }

    function headsShown() {
        const { run, view } = app, { H } = run.dims, shared = run.outputIsShared(view.stage), weights = view.stage === "weights";
        return [...Array.from({ length: shared ? 1 : H }, (_, which) => which), ...(run.hasMean && !shared ? [MEAN] : []), ...(run.hasRollout && weights ? [ROLLOUT] : [])];
    }

    function draw() {
        const { run, view } = app, { H, B } = run.dims, many = run.hasMean && view.heads.filter((x) => x !== MEAN).length > 1, layers = run.layers;
        const heads = headsShown();
        showOrders();
        scale = scaleOfAll();
        const inGrid = layers > 1 && !measure, width = host.clientWidth || 560;
        side = inGrid ? Math.max(SIDE_MIN, Math.min(SIDE_MAX, Math.floor((width - LAYER_NAME_WIDTH) / heads.length) - GAP)) : SIDE_MAX;
        chosen.textContent = view.heads.length ? `${view.heads.length} collected` : "Click opens a head, Shift collects, Alt switches off.";
        if (view.heads.length) chosen.append(" ", h("button", { type: "button", class: "quiet", onclick: () => app.setView({ heads: [] }) }, "Clear"));
        const batch = B > 1 && run.layerAxis !== "batch";
        headsTitle.hidden = grid.hidden = chosen.hidden = collectBox.hidden = switchBox.hidden = H === 1 && batch && layers === 1;
        itemsTitle.hidden = !batch;
        headsTitle.textContent = layers > 1 ? "Layers and heads" : "Heads";
        grid.classList.toggle("grid", inGrid);
        grid.classList.toggle("grouped", !inGrid && !measure && run.headsOf("key") > 1 && run.headsOf("key") < H);
        grid.style.gridTemplateColumns = inGrid ? `${LAYER_NAME_WIDTH}px repeat(${heads.length}, minmax(0, auto))` : "";
        grid.replaceChildren(...(measure ? ordered(heads).map((one) => head(...one)) : inGrid ? layered(heads) : flat(heads)),
            ...(many ? [thumbnail("mean of collected", meanOfChosen(), { pressed: false, onclick: () => {} })] : []));
        side = SIDE_MAX;
        items.replaceChildren(...(batch ? Array.from({ length: B }, (_, one) => item(one)) : []));
        return true;
    }

    // Rows of panels: one, or one for each key head.
    function grouped(panels) {
        const { H } = app.run.dims, groups = app.run.headsOf("key"), size = H / groups;
        if (groups < 2 || size < 2 || panels.length < H) return [{ panels }];
        return [...Array.from({ length: groups }, (_, which) => ({ name: `key head ${which}`, panels: panels.slice(which * size, (which + 1) * size) })), { name: " ", panels: panels.slice(H) }];
    }

    // The page's grid as a figure; where there is one head, the batch's items.
    function figure() {
        if (!scale) return null;
        const { run, view } = app, { H, B } = run.dims, { layers } = run, heads = headsShown(), name = (which) => (Number.isInteger(which) ? `head ${which}` : which), bar = barName(view.stage);
        const panel = (layer, which) => ({ picture: pictureAt(layer, which), title: layers > 1 && measure ? `${layer}.${which}` : name(which), value: valueOf(layer, which) });
        const common = { kind: "grid", columns: null, scale, bar, title: `${captionOf(view.stage)} of all heads` };
        if (H === 1 && layers === 1 && B > 1)
            return { ...common, title: `${captionOf(view.stage)} of all items`, rows: [{ panels: Array.from({ length: B }, (_, batch) => ({ title: `item ${batch}`,
                picture: app.pictureOf(app.matrix(view.stage, view.head, run, { batch }), view.stage, scale, app.maskReasons, view.head, batch) })) }], caption: mapCaption(app.picture()) };
        if (measure) return { ...common, rows: [{ panels: ordered(heads).map((one) => panel(...one)) }], caption: `${layers > 1 ? "Named layer.head, ordered" : "Ordered"} by ${measure.title}, below each. ${mapCaption(app.picture())}` };
        const collected = view.heads.filter((x) => x !== MEAN).length > 1 ? [{ picture: meanOfChosen(), title: "mean of collected" }] : [];
        if (layers === 1) return { ...common, title: `${common.title}${B > 1 ? `, item ${view.batch}` : ""}`, rows: grouped([...heads.map((which) => panel(0, which)), ...collected]), caption: mapCaption(app.picture()) };
        return { ...common, columns: heads.map((which) => ({ name: name(which), apart: beginsGroup(which) })), rows: Array.from({ length: layers }, (_, layer) => ({ name: `layer ${layer}`, panels: heads.map((which) => panel(layer, which)) })),
            title: `${captionOf(view.stage)} of all layers and heads`, caption: mapCaption(app.picture()) };
    }

    return {
        figure,
        stages: true,
        render: () => app.picture() !== null && keepFocus(host, draw),
        cell() {},
    };
}
