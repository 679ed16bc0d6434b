// weights.js: the user's weights as a run, with warnings where the numbers are not what softmax gives.

import { Run } from "./run.js";
import { product, shapeText } from "./tensor.js";

const SUM_TOLERANCE = 0.01; // float16 and printed decimals stay within it

// Counts of numbers that no softmax gives, and of rows that do not sum to 1. A row of zeros has every key masked.
function check({ shape, data }) {
    const cols = shape.at(-1), found = { notFinite: 0, negative: 0, rows: 0, first: null };
    for (let row = 0; row * cols < data.length; row++) {
        let sum = 0, wrong = false;
        for (let at = row * cols; at < (row + 1) * cols; at++) {
            const x = data[at];
            if (!Number.isFinite(x)) found.notFinite++;
            else if (x < 0) found.negative++;
            wrong ||= !Number.isFinite(x) || x < 0;
            sum += x;
        }
        if (wrong || sum === 0 || Math.abs(sum - 1) <= SUM_TOLERANCE) continue;
        found.rows++;
        found.first ??= { row, sum };
    }
    return found;
}

// The place of a row among all rows, as the page counts: head and query.
function placeOf(row, shape) {
    const queries = shape.at(-2), before = Math.floor(row / queries);
    return `query ${row % queries}${shape.length > 2 ? ` of matrix ${before}` : ""}`;
}

const count = (n, one, many) => (n === 1 ? `1 ${one}` : `${n} ${many}`);

function warningsOf(tensor) {
    const { notFinite, negative, rows, first } = check(tensor), out = [];
    if (notFinite) out.push(`${count(notFinite, "number is", "numbers are")} NaN or infinite: attention weights are finite`);
    if (negative) out.push(`${count(negative, "number is", "numbers are")} negative: these may be scores, before the softmax`);
    if (rows) out.push(`${count(rows, "row does", "rows do")} not sum to 1; the first, ${placeOf(first.row, tensor.shape)}, sums to ${Number(first.sum.toPrecision(4))}`);
    return out;
}

// [Tq, Tk] up to [L, B, H, Tq, Tk]; the first axis of [H, Tq, Tk] is the heads.
export function weightsRun(tensor) {
    const { shape } = tensor, rank = shape.length;
    if (rank < 2 || rank > 5) throw new Error(`weights have 2 to 5 axes, [Tq, Tk] up to [L, B, H, Tq, Tk]; these have ${rank}`);
    if (!product(shape)) throw new Error(`these weights are empty: ${shapeText(shape)}`);
    return new Run({}, { tensors: new Map([["weights", tensor]]), warnings: warningsOf(tensor) }, { weightsOnly: true });
}
