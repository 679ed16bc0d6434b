// value_norms.js: how long each value is, or what the output projection makes of it: times its weight, what a key brings to the output
// (Kobayashi, Kuribayashi, Yokoi and Inui 2020: Attention is not only a weight).

import { Tensor, tensorFromJson } from "./tensor.js";

// A projection's matrix, [out, in]; null if the page does not have its numbers.
function matrixOf(projection) {
    const given = projection?.weight ?? projection;
    if (given instanceof Tensor) return given;
    return Array.isArray(given) || given?.data ? tensorFromJson(given) : null;
}

// Wᵀ W of one head's columns of W, as |W v|² = vᵀ Wᵀ W v; `size` columns from `first` on.
function gram({ shape: [rows, cols], data }, first, size) {
    const out = new Float64Array(size * size);
    for (let r = 0; r < rows; r++)
        for (let a = 0; a < size; a++)
            for (let b = 0; b < size; b++) out[a * size + b] += data[r * cols + first + a] * data[r * cols + first + b];
    return out;
}

// `values`: one head's, { rows, cols, data }; `output`: the request's output projection, if it has one. An output projection that is drawn
// from the seed is left out.
export function valueNorms({ rows, cols, data }, output, head) {
    const matrix = matrixOf(output), squares = matrix && gram(matrix, head * cols, cols), norms = new Float64Array(rows);
    for (let t = 0; t < rows; t++) {
        const v = data.subarray(t * cols, (t + 1) * cols);
        if (!squares) norms[t] = Math.hypot(...v);
        else norms[t] = Math.sqrt(Math.max(0, v.reduce((sum, x, a) => sum + x * v.reduce((inner, y, b) => inner + squares[a * cols + b] * y, 0), 0)));
    }
    return norms;
}
