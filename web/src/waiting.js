// waiting.js: what a page of weights too many to hold shows of them, and what it waits for, in a sentence.

import { h } from "./dom.js";
import { bytes, count, milliseconds } from "./format.js";

const range = (from, to) => (to === from + 1 ? count(from) : `${count(from)} to ${count(to - 1)}`);
const size = ({ i0, i1, j0, j1 }) => `${count(i1 - i0)} × ${count(j1 - j0)}`;
const place = ({ i0, i1, j0, j1 }) => `queries ${range(i0, i1)}, keys ${range(j0, j1)}`;

// What is fetched, or why it is not; null: nothing is waited for.
export function waiting({ parts }, asker = null) {
    const { flight, failed } = parts;
    if (failed && (!asker || failed.asker === asker)) {
        const { error, part } = failed, later = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
        return h("span", { class: "warn" }, `${size(part)} numbers were not fetched: ${error.status ? `${error.status} ` : ""}${error.message.replace(/\.$/, "")}.${later} `,
            h("button", { type: "button", class: "quiet", onclick: () => parts.retry() }, "Try again"));
    }
    return flight && `Fetching ${flight.part.names.join(", ")} of ${place(flight.part)} …`;
}

const partOf = (matrix, { i0, i1, j0, j1 }) => matrix.run.parts.find(matrix.name, matrix.batch, matrix.head, i0, j0, i1, j1);

function pointText(matrix, { i0, j0 }) {
    const pool = matrix.pool(i0, j0);
    return `Each point is the largest of ${pool.i1 - pool.i0} × ${pool.j1 - pool.j0} weights.`;
}

// Of a figure's cells, { i0, i1, j0, j1 }.
export const figureText = (matrix, cells) => (partOf(matrix, cells) ? "" : ` ${pointText(matrix, cells)}`);

// Of cells in view: single weights, or the largest of several.
export function shown(run, matrix, cells) {
    const part = partOf(matrix, cells);
    if (part) return `Single weights of ${place(part)}: ${bytes(part.sentBytes)} sent, ${bytes(part.bytes)} received in ${milliseconds(part.elapsedMs)}.`;
    return `${pointText(matrix, cells)}${run.partAround(matrix, cells) === null ? " Zoom in to fetch single ones." : ""}`;
}
