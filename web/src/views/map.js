// map.js: one stage of one head as a heat map.

import { app } from "../app.js";
import { colorBar } from "../color_bar.js";
import { announce, h } from "../dom.js";
import { HeatMap } from "../heatmap.js";
import { describe } from "../explain.js";

export function create(host) {
    const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", id: "map",
        "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight Home End PageUp PageDown + - 0" });
    const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" }), bar = h("div", { class: "bar-beside" });
    const map = new HeatMap(canvas, {
        onCell: (i, j) => {
            app.setView({ cell: [i, j] });
            announce(describe(i, j));
        },
        onHover: (at) => showTip(at),
        onView: () => {
            app.view.zoom = map.readZoom();
            zoomShown = JSON.stringify(app.view.zoom);
            app.tell("zoom");
        },
        onLayout: ({ left, top, right, height }) => {
            for (const [name, pixels] of Object.entries({ right: left + right, top, height })) bar.style.setProperty(`--${name}`, `${pixels}px`);
        },
    });
    let zoomShown = JSON.stringify(null);
    canvas.map = map; // for tests and benchmarks
    host.append(h("div", { class: "map-and-bar" }, h("div", { class: "map" }, canvas, tip), bar));
    const zoom = (text, label, title, onclick) => h("button", { type: "button", class: "icon", "aria-label": label, title, onclick }, text);
    const tools = h("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, zoom("+", "Zoom in", "Zoom in (+)", () => map.zoomBy(1.5)),
        zoom("−", "Zoom out", "Zoom out (−)", () => map.zoomBy(1 / 1.5)), zoom("⤢", "Show all", "Show all (0)", () => map.fit()));

    function showTip(at) {
        tip.hidden = !at;
        if (!at) return;
        tip.textContent = describe(...at);
        const x = canvas.offsetLeft + map.x(at[1]) + map.cw * map.transform.k, y = map.y(at[0]);
        tip.style.left = `${Math.min(x + 8, Math.max(4, map.canvas.parentElement.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(2, y - tip.offsetHeight - 6)}px`;
    }

    return {
        heatmap: map,
        tools,
        stages: true,
        render() {
            const picture = app.picture();
            if (!picture) return false;
            const { rows, cols } = picture.matrix;
            canvas.setAttribute("aria-label", `${app.stage.title}, ${rows} rows by ${cols} columns; arrow keys move the chosen cell`);
            bar.replaceChildren(colorBar(picture.scale, { upright: true }));
            map.cell = app.view.cell;
            if (map.show(picture) && JSON.stringify(app.view.zoom) === zoomShown) app.view.zoom = null;
            if (JSON.stringify(app.view.zoom) !== zoomShown) map.setZoom(app.view.zoom);
            zoomShown = JSON.stringify(app.view.zoom);
            return true;
        },
        cell() {
            map.point(map.hover, app.view.cell);
        },
    };
}
