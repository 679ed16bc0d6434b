// mask_edit.js: the request's mask with cells changed by hand, and a mask that takes heads out.

import { pairsTensor } from "./mask_reasons.js";
import { Tensor, product } from "./tensor.js";

export const EDIT_CELLS_MAX = 1 << 20; // of a mask that is changed by hand

// The shape that two broadcast to, by NumPy's rules.
function broadcast(a, b) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, axis, length = Math.max(a.length, b.length)) => {
        const [m, n] = [a, b].map((shape) => shape[shape.length - length + axis] ?? 1);
        return m === 1 ? n : m;
    });
}

// Where an element of `shape` is in a tensor that broadcasts to it.
function indexIn(from, index) {
    return from.reduce((at, size, axis) => at * size + (size === 1 ? 0 : index[index.length - from.length + axis]), 0);
}

function* indicesOf(shape) {
    const index = shape.map(() => 0);
    for (let n = product(shape); n > 0; n--) {
        yield index;
        for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
    }
}

// The request's mask, or one that masks nothing, broadcast to have the axes of `shape`: { mask, closed, open }, the numbers of what is masked
// and of what is not.
function wholeMask({ mask, mask_semantics: semantics }, shape) {
    const before = pairsTensor(mask), boolean = !before || before.boolean, [closed, open] = !boolean ? [-Infinity, 0] : semantics === "drop" ? [1, 0] : [0, 1];
    const full = broadcast(before?.shape ?? [], shape), data = new Float64Array(product(full)).fill(open);
    let at = 0;
    if (before) for (const index of indicesOf(full)) data[at++] = before.data[indexIn(before.shape, index)];
    return { mask: Object.assign(new Tensor(full, data), { boolean, origin: "by hand" }), closed, open };
}

// The fields to change so that `cells`, [query, key] pairs, are masked in all heads and items, or visible again. A mask that then masks
// nothing is left out.
export function withCells(request, { Tq, Tk }, cells, masked) {
    const { mask, closed, open } = wholeMask(request, [Tq, Tk]), { data } = mask;
    for (let matrix = 0; matrix < data.length; matrix += Tq * Tk)
        for (const [i, j] of cells) data[matrix + i * Tk + j] = masked ? closed : open;
    return data.every((x) => x === open) ? { mask: undefined, mask_semantics: undefined } : { mask };
}

// The request without the heads in `off`, [layer, head] pairs: all their keys are masked, so that their outputs are 0. Layers are the
// items of the batch, if the run has several.
export function withoutHeads(request, run, off) {
    const { B, H } = run.dims, layers = run.layerAxis ? B : 1, { mask, closed } = wholeMask(request, run.tensors.get("weights").shape.length < 4 ? [H, 1, 1] : [layers, H, 1, 1]);
    let at = 0;
    for (const index of indicesOf(mask.shape)) {
        const item = index.at(-4) ?? 0, head = index.at(-3);
        if (off.some(([layer, other]) => other === head && (layers === 1 || layer === item))) mask.data[at] = closed;
        at++;
    }
    return { ...request, mask };
}
