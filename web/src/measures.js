// measures.js: what a head does in one number, by which heads are ordered; and rollout, which follows attention through the layers.
//
// A matrix is { rows, cols, data }, weights of queries and keys. The last query stands at the last key.

import { shareOf } from "./locks.js";

const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / (numbers.length || 1);

// The mean over the queries from the second on, as the first may see itself alone, of the weight on the key that `keyOf` names.
function massOn({ rows, cols, data }, keyOf) {
    const parts = [];
    for (let i = 1; i < rows; i++) {
        const j = keyOf(i, i + cols - rows);
        if (j >= 0 && j < cols) parts.push(data[i * cols + j]);
    }
    return mean(parts);
}

// In bits: 0 where each query reads one key, 1 where it reads two alike.
function entropy({ rows, cols, data }) {
    let sum = 0;
    for (let i = 0; i < rows * cols; i++) if (data[i] > 0) sum -= data[i] * Math.log2(data[i]);
    return sum / rows;
}

// For each query the key after its token's last earlier copy; -1: none. Marks and the size of letters do not count.
function afterCopies({ rows, cols }, labels) {
    const name = (token) => token.toLowerCase();
    return Array.from({ length: rows }, (_, i) => {
        const at = i + cols - rows;
        for (let j = at - 1; j >= 0; j--) if (labels.cols?.[j] !== undefined && labels.rows?.[i] !== undefined && name(labels.cols[j]) === name(labels.rows[i])) return j + 1;
        return -1;
    });
}

function massAfterCopies(matrix, labels) {
    const after = afterCopies(matrix, labels);
    return massOn(matrix, (i) => after[i]);
}

// of(matrix, labels, locked): the number; unit: of a number that is no share of the weight. needsCopies: only where tokens occur twice;
// needsKeys: only where keys are locked.
export const MEASURES = [
    { name: "previous", title: "token before", of: (matrix) => massOn(matrix, (i, at) => at - 1) },
    { name: "first", title: "first token", of: (matrix) => massOn(matrix, () => 0) },
    { name: "itself", title: "token itself", of: (matrix) => massOn(matrix, (i, at) => at) },
    { name: "copy", title: "after an earlier copy", needsCopies: true, of: massAfterCopies },
    { name: "locked", title: "locked tokens", needsKeys: true, of: (matrix, labels, locked) => shareOf(matrix, locked) },
    { name: "entropy", title: "entropy", unit: "bits", of: entropy },
];

export const measuresFor = (matrix, labels, locked) => MEASURES.filter(({ needsCopies, needsKeys }) =>
    (!needsCopies || afterCopies(matrix, labels).some((j) => j >= 0)) && (!needsKeys || locked.keys.length > 0));

// Abnar and Zuidema 2020: the product of ½A + ½I over the layers, first layer first; A is the mean of a layer's heads, square.
export function rollout(layers) {
    const n = layers[0].rows;
    let out = null;
    for (const { data } of layers) {
        const next = new Float64Array(n * n);
        for (let i = 0; i < n; i++)
            for (let k = 0; k < n; k++) {
                const part = 0.5 * data[i * n + k] + (i === k ? 0.5 : 0);
                if (!out) next[i * n + k] = part;
                else if (part) for (let j = 0; j < n; j++) next[i * n + j] += part * out[k * n + j];
            }
        out = next;
    }
    return { rows: n, cols: n, data: out };
}
