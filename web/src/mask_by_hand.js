// mask_by_hand.js: cells that are masked by hand, and computed at once.

import { app } from "./app.js";
import { EDIT_CELLS_MAX, withCells } from "./mask_edit.js";
import { MASK } from "./mask_reasons.js";

// Why no cell can be masked; null if some can.
function refusal() {
    const { run } = app, { Tq, Tk } = run.dims;
    if (run.weightsOnly || app.offline) return "Only what attnd computes is masked by hand";
    if (app.stale) return "Run the request first";
    return Tq * Tk > EDIT_CELLS_MAX ? `Only pictures of up to ${EDIT_CELLS_MAX} cells are masked by hand` : null;
}

// Masks cells, [query, key] pairs, in all heads, or lets them be seen if the first one is masked so, and computes. Returns what to say of it.
export function maskCells(cells) {
    const { run, maskReasons, view } = app, head = Number.isInteger(view.head) ? view.head : 0, why = refusal();
    if (why) return why;
    const bits = ([i, j]) => maskReasons.bits(view.batch, head, i, j), free = cells.filter((cell) => !(bits(cell) & ~MASK)), [i, j] = free[0] ?? cells[0];
    if (!free.length) return `query ${i} → key ${j} is masked by ${maskReasons.reasons(view.batch, head, i, j).map(({ title }) => title).join(", ")}, which no mask opens`;
    const masked = !bits(free[0]), changed = free.filter((cell) => bits(cell) === (masked ? 0 : MASK));
    app.changeRequest(withCells(app.request, run.dims, changed, masked));
    app.compute();
    return `${changed.length === 1 ? `query ${i} → key ${j}` : `${changed.length} cells`} ${masked ? "masked" : "seen again"}`;
}

export function removeMask() {
    app.changeRequest({ mask: undefined, mask_semantics: undefined });
    return app.compute();
}
