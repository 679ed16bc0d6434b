// dissolve.js: a picture gives way to the next one of its shape, whose colours show through as it fades.

import { h } from "./dom.js";

const DISSOLVE_MS = 400;

// What a canvas shows now; null where people want no motion, or there is nothing yet.
export function keepPicture(canvas) {
    if (!canvas.width || matchMedia("(prefers-reduced-motion: reduce)").matches) return null;
    const kept = h("canvas", { class: "dissolving", width: canvas.width, height: canvas.height, "aria-hidden": "true" });
    kept.getContext("2d").drawImage(canvas, 0, 0);
    return kept;
}

// Lays what was kept over the canvas, which shows the next picture, and lets it fade.
export function dissolve(kept, canvas) {
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = canvas;
    for (const [name, pixels] of Object.entries({ left: offsetLeft, top: offsetTop, width: offsetWidth, height: offsetHeight })) kept.style[name] = `${pixels}px`;
    canvas.parentElement.append(kept);
    kept.animate([{ opacity: 1 }, { opacity: 0 }], { duration: DISSOLVE_MS, easing: "ease-in-out" }).finished.catch(() => {}).then(() => kept.remove());
}
