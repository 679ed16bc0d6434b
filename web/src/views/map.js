// map.js: one stage of one head as a heat map.

import { app } from "../app.js";
import { h } from "../dom.js";
import { HeatMap } from "../heatmap.js";
import { describe } from "../explain.js";
import { announce } from "../dom.js";

export function create(host) {
    const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", id: "map",
        "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight Home End PageUp PageDown + - 0" });
    const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    const map = new HeatMap(canvas, {
        onCell: (i, j) => {
            app.setView({ cell: [i, j] });
            announce(describe(i, j));
        },
        onHover: (at) => showTip(at),
    });
    canvas.map = map; // for the page's tests and measurements
    host.append(h("div", { class: "map" }, canvas, tip),
        h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
            h("button", { type: "button", class: "icon", "aria-label": "Zoom in", title: "Zoom in (+)", onclick: () => map.zoomBy(1.5) }, "+"),
            h("button", { type: "button", class: "icon", "aria-label": "Zoom out", title: "Zoom out (−)", onclick: () => map.zoomBy(1 / 1.5) }, "−"),
            h("button", { type: "button", class: "icon", "aria-label": "Show all", title: "Show all (0)", onclick: () => map.fit() }, "⤢")));

    function showTip(at) {
        tip.hidden = !at;
        if (!at) return;
        tip.textContent = describe(...at);
        const x = map.x(at[1]) + map.cw * map.transform.k, y = map.y(at[0]);
        tip.style.left = `${Math.min(x + 8, Math.max(4, map.canvas.parentElement.clientWidth - tip.offsetWidth - 4))}px`;
        tip.style.top = `${Math.max(2, y - tip.offsetHeight - 6)}px`;
    }

    return {
        heatmap: map,
        stages: true,
        render() {
            const picture = app.picture();
            if (!picture) return false;
            const { rows, cols } = picture.matrix;
            canvas.setAttribute("aria-label", `${app.stage.title}, ${rows} rows by ${cols} columns; arrow keys move the chosen cell`);
            map.cell = app.view.cell;
            map.show(picture);
            return true;
        },
        cell() {
            map.point(map.hover, app.view.cell);
        },
    };
}
