// map.js: one stage of one head as a heat map.

import { app } from "../app.js";
import { colorBar } from "../color_bar.js";
import { dissolve, keepPicture } from "../dissolve.js";
import { announce, debounce, h } from "../dom.js";
import { HeatMap } from "../heatmap.js";
import { describe, describeToken } from "../explain.js";
import { tokenAt } from "../heatmap_locks.js";
import { announceLocks } from "../locked.js";
import { QUERIES } from "../locks.js";
import { maskCells, removeMask } from "../mask_by_hand.js";
import { barName, mapCaption, reasonsShown, titleOf } from "../figure/caption.js";
import { figureText, shown, waiting } from "../waiting.js";

const LOOK_MS = 60; // how long the picture rests before what it shows is fetched

export function create(host) {
    const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", id: "map",
        "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight Home End PageUp PageDown + - 0 q k x" });
    const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" }), bar = h("div", { class: "bar-beside" });
    const map = new HeatMap(canvas, {
        onCell: (i, j) => {
            app.setView({ cell: [i, j] });
            announce(describe(i, j));
        },
        onHover: (at) => showTip(at),
        onMask: (cells) => announce(maskCells(cells)),
        onLock: (...which) => {
            app.lock(...which);
            announceLocks();
        },
        onView: () => {
            app.view.zoom = map.readZoom();
            zoomShown = JSON.stringify(app.view.zoom);
            app.tell("zoom");
        },
        onPaint: () => app.run.long && look(),
        onLayout: ({ left, top, right, height }) => {
            for (const [name, pixels] of Object.entries({ right: left + right, top, height })) bar.style.setProperty(`--${name}`, `${pixels}px`);
        },
    });
    canvas.addEventListener("pointermove", (event) => {
        const token = tokenAt(map, event);
        canvas.classList.toggle("over-token", Boolean(token));
        if (token) showTokenTip(...token);
        else if (!map.hover) showTip(null);
    });
    canvas.addEventListener("pointerleave", () => showTip(null));
    let zoomShown = JSON.stringify(null), step = null;
    canvas.map = map; // for tests and benchmarks
    host.append(h("div", { class: "map-and-bar" }, h("div", { class: "map" }, canvas, tip), bar));
    const looked = h("p", { class: "hint", id: "looked", hidden: true });
    host.append(looked);
    const zoom = (text, label, title, onclick) => h("button", { type: "button", class: "icon", "aria-label": label, title, onclick }, text);
    const editor = h("button", { type: "button", id: "mask-cells", "aria-pressed": "false", title: "Click or drag over cells to mask them (x)", onclick: () => edit(!map.editing) }, "Mask cells");
    const remover = h("button", { type: "button", id: "remove-mask", class: "quiet", onclick: () => removeMask() }, "Remove the mask");
    const tools = h("div", { class: "zoom", role: "group", "aria-label": "Mask and zoom" }, remover, editor, zoom("+", "Zoom in", "Zoom in (+)", () => map.zoomBy(1.5)),
        zoom("−", "Zoom out", "Zoom out (−)", () => map.zoomBy(1 / 1.5)), zoom("⤢", "Show all", "Show all (0)", () => map.fit()));

    // While it is on, cells are painted over instead of moved.
    function edit(on) {
        map.editing = on;
        canvas.classList.toggle("editing", on);
        editor.setAttribute("aria-pressed", String(on));
        remover.hidden = !on || !app.request.mask;
        if (on) announce("Click or drag over cells to mask them, or to let them be seen again");
    }

    function showEditor() {
        editor.hidden = app.run.weightsOnly || app.run.long || app.offline || app.view.stage === "output";
        if (editor.hidden && map.editing) edit(false);
        remover.hidden = !map.editing || !app.request.mask;
    }

    function showTip(at) {
        tip.hidden = !at;
        if (!at) return;
        tip.textContent = describe(...at);
        const x = canvas.offsetLeft + map.x(at[1]) + map.cw * map.transform.k, y = map.y(at[0]);
        tip.style.left = `${Math.min(x + 8, Math.max(4, map.canvas.parentElement.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(2, y - tip.offsetHeight - 6)}px`;
    }

    function showTokenTip(side, n) {
        tip.hidden = false;
        tip.textContent = describeToken(side, n);
        const query = side === QUERIES, x = query ? map.left : map.x(n), y = query ? map.y(n) : map.top;
        tip.style.left = `${Math.max(4, Math.min(canvas.offsetLeft + x + 8, map.canvas.parentElement.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${y + 4}px`;
    }

    // Of weights too many to hold: fetches those in view, and says so.
    const look = debounce(LOOK_MS, () => {
        const { run } = app, { matrix } = map.picture;
        if (!canvas.isConnected || matrix.run !== run) return;
        run.parts.want("map", run.partAround(matrix, map.visibleCells()));
        say();
    });

    function say() {
        const { run } = app, { matrix } = map.picture;
        looked.hidden = matrix.run !== run;
        if (!looked.hidden) looked.replaceChildren(waiting(run, "map") ?? shown(run, matrix, map.visibleCells()));
    }

    // Whether the picture is that of another step of the story, and has the shape of the one that is shown.
    function isNextStep({ matrix: { rows, cols } }) {
        const was = map.picture?.matrix, stepped = step && app.preset && app.preset !== step;
        step = app.preset;
        return Boolean(stepped && was?.rows === rows && was.cols === cols);
    }

    return {
        figure() {
            const picture = app.picture(), region = map.transform.k > 1.001 ? map.visibleCells() : undefined;
            if (!picture) return null;
            const caption = mapCaption(picture, region) + (picture.layers ? figureText(picture.matrix, map.visibleCells()) : ""), sums = picture.layers ? null : picture.sums;
            return { kind: "maps", panels: [{ picture: { ...picture, sums }, region, bar: barName(picture.stage) }], legend: reasonsShown(), title: titleOf(picture.stage), caption };
        },
        tools,
        stages: true,
        render() {
            const picture = app.picture();
            if (!picture) return false;
            const { rows, cols } = picture.matrix;
            canvas.setAttribute("aria-label", `${app.stage.title}, ${rows} rows by ${cols} columns; arrow keys move the chosen cell`);
            bar.replaceChildren(colorBar(picture.scale, { upright: true }));
            showEditor();
            map.cell = app.view.cell;
            const before = isNextStep(picture) ? keepPicture(canvas) : null;
            if (map.show(picture) && JSON.stringify(app.view.zoom) === zoomShown) app.view.zoom = null;
            if (JSON.stringify(app.view.zoom) !== zoomShown) map.setZoom(app.view.zoom);
            zoomShown = JSON.stringify(app.view.zoom);
            if (before) dissolve(before, canvas);
            say();
            if (map.hover) showTip(map.hover);
            return true;
        },
        cell() {
            map.point(map.hover, app.view.cell);
        },
        lock() {
            const { matrix, stage } = map.picture;
            map.lock({ locked: app.lockedIn(stage), sums: app.sumsOf(matrix, stage) });
        },
    };
}
