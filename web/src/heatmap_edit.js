// heatmap_edit.js: cells of a HeatMap that are painted over, to be masked or to be seen again: while map.editing.

// The cells on the way from one to another, so that a quick drag leaves none out.
function between([i0, j0], [i1, j1]) {
    const steps = Math.max(Math.abs(i1 - i0), Math.abs(j1 - j0), 1);
    return Array.from({ length: steps + 1 }, (_, n) => [Math.round(i0 + ((i1 - i0) * n) / steps), Math.round(j0 + ((j1 - j0) * n) / steps)]);
}

// Calls onMask(cells), [i, j] pairs, each once, the first one first.
export function listenForPainting(map, onMask) {
    const { canvas } = map;
    let last = null;
    const add = (cells) => {
        for (const cell of cells) if (!map.painted.some((other) => String(other) === String(cell))) map.painted.push(cell);
        map.draw();
    };
    canvas.addEventListener("pointerdown", (event) => {
        const at = map.editing && !event.button ? map.cellAt(event) : null;
        if (!at) return;
        canvas.setPointerCapture(event.pointerId);
        add([at]);
        last = at;
    });
    canvas.addEventListener("pointermove", (event) => {
        const at = last && map.cellAt(event);
        if (!at || String(at) === String(last)) return;
        add(between(last, at));
        last = at;
    });
    const end = (event) => {
        const cells = map.painted;
        if (!last) return;
        last = null;
        map.painted = [];
        map.draw();
        if (event.type === "pointerup") onMask(cells);
    };
    for (const type of ["pointerup", "pointercancel"]) canvas.addEventListener(type, end);
}

export function paintPainted(map, context) {
    const { k } = map.transform;
    context.fillStyle = map.colors.accent;
    context.globalAlpha = 0.7;
    for (const [i, j] of map.painted) context.fillRect(map.x(j), map.y(i), Math.max(map.cw * k, 1), Math.max(map.ch * k, 1));
    context.globalAlpha = 1;
}
