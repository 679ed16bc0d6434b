// long_run.js: the results of a request whose weights are too many to hold: pooled weights at first, and the parts that are looked at.

import { Parts } from "./parts.js";
import { Run } from "./run.js";
import { Tensor } from "./tensor.js";

const PART_CELLS_MAX = 1 << 22; // weights of a part: 16 MB
const PART_SIDE_MIN = 256; // smaller parts cost as much
const STEP = 32; // parts begin and end at multiples of it, so that a small move needs no new one

const rowNames = (applied) => ["weights", "scores", "masked_scores", ...(applied.softcap ? ["capped_scores"] : [])];

// One head's weights, or another stage of them, of which only parts are here.
export class LongMatrix {
    constructor(run, name, batch, head, pooled) {
        Object.assign(this, { run, name, batch, head, pooled, rows: run.dims.Tq, cols: run.dims.Tk });
    }

    // undefined: not fetched.
    at(i, j) {
        return this.run.parts.at(this.name, this.batch, this.head, i, j);
    }

    // As sumsOf of locks.js, where no token is locked.
    sums() {
        const { H, Tk } = this.run.dims, start = (this.batch * H + this.head) * Tk;
        return { received: this.run.tensors.get("key_sums").data.subarray(start, start + Tk), given: null };
    }

    // A whole row; null: not fetched.
    row(i) {
        const part = this.run.parts.find(this.name, this.batch, this.head, i, 0, i + 1, this.cols);
        return part && part.matrices.get(this.name).data.subarray((i - part.i0) * this.cols, (i - part.i0 + 1) * this.cols);
    }

    // The cell of the pooled weights that covers (i, j): { value, i0, i1, j0, j1 }; null: there are none.
    pool(i, j) {
        if (!this.pooled) return null;
        const { rows: m, cols: n, data } = this.pooled, y = cellOf(i, m, this.rows), x = cellOf(j, n, this.cols);
        return { value: data[y * n + x], i0: edge(y, m, this.rows), i1: edge(y + 1, m, this.rows), j0: edge(x, n, this.cols), j1: edge(x + 1, n, this.cols) };
    }
}

// Pooled cell `at` of `count` begins at this token, as the server divides them.
export const edge = (at, count, tokens) => Math.floor((at * tokens) / count);
const cellOf = (token, count, tokens) => Math.floor(((token + 1) * count - 1) / tokens);

// A range widened about its middle to `size`, within [0, most), at multiples of STEP.
function widened([from, to], size, most) {
    const more = Math.max(0, size - (to - from)) / 2, down = Math.floor(Math.max(0, from - more) / STEP) * STEP;
    return [down, Math.min(most, Math.ceil(Math.min(most, to + more) / STEP) * STEP)];
}

export class LongRun extends Run {
    constructor(request, reply, options) {
        super(request, reply, options);
        this.long = true;
        this.sentBytes = reply.sentBytes;
        this.parts = new Parts(this, () => this.onParts?.());
        this.takeGivenVectors();
    }

    readDims() {
        const { lse, key_sums: sums } = Object.fromEntries(this.tensors), Tq = lse.shape.at(-1), Tk = sums.shape.at(-1), H = this.applied.num_heads;
        return { L: 1, B: lse.size / (H * Tq), H, Tq, Tk };
    }

    get weightsShape() {
        return [...this.tensors.get("pooled_weights").shape.slice(0, -2), this.dims.Tq, this.dims.Tk];
    }

    // Queries, keys and values that attention uses as they were given need not be fetched.
    takeGivenVectors() {
        const { request } = this;
        if (request.rope || request.qk_norm || request.past_key) return;
        for (const name of ["query", "key", "value"]) if (request[name] instanceof Tensor) this.tensors.set(name, request[name]);
    }

    get stages() {
        return super.stages.filter(({ name }) => name === "weights" || name === "output");
    }

    get hasMean() {
        return false; // the largest of a mean does not follow from the heads' largest
    }

    get hasRollout() {
        return false;
    }

    missing(stage) {
        return stage === "output" ? super.missing(stage) : [];
    }

    makeMatrix(stage, layer, batch, head) {
        if (stage === "output") return super.makeMatrix(stage, layer, batch, head);
        if (!Number.isInteger(head) || stage === "bias") return null;
        return new LongMatrix(this, stage, batch, head, stage === "weights" ? this.pooledMatrix(batch, head) : null);
    }

    pooledMatrix(batch, head) {
        const { shape, data } = this.tensors.get("pooled_weights"), [rows, cols] = shape.slice(-2), start = (batch * this.dims.H + head) * rows * cols;
        return { rows, cols, data: data.subarray(start, start + rows * cols) };
    }

    // Each row's largest weight; with hideFirst, of the keys after the first.
    rowMaxima(batch, head, hideFirst) {
        const id = `maxima/${batch}/${head}/${hideFirst}`;
        if (!this.cache.has(id)) this.cache.set(id, this.makeRowMaxima(batch, head, hideFirst));
        return this.cache.get(id);
    }

    makeRowMaxima(batch, head, hideFirst) {
        const { Tq, H } = this.dims, start = 2 * (batch * H + head) * Tq, weights = this.tensors.get("top_keys.weights").data, indices = this.tensors.get("top_keys.indices").data;
        return Float64Array.from({ length: Tq }, (_, i) => weights[start + 2 * i + (hideFirst && indices[start + 2 * i] === 0 ? 1 : 0)]);
    }

    // What a key receives of all queries.
    keySum(batch, head, j) {
        return this.tensors.get("key_sums").data[(batch * this.dims.H + head) * this.dims.Tk + j];
    }

    // The part to fetch for cells in view { i0, i1, j0, j1 }: they and some around them; null where they are too many.
    partAround({ batch, head }, { i0, i1, j0, j1 }) {
        const { B, Tq, Tk } = this.dims, rows = i1 - i0, cols = j1 - j0, most = PART_CELLS_MAX / B;
        if (rows <= 0 || cols <= 0 || (rows + 2 * STEP) * (cols + 2 * STEP) > most) return null;
        const factor = Math.min(2, Math.sqrt(most / ((rows + 2 * STEP) * (cols + 2 * STEP))));
        const [top, bottom] = widened([i0, i1], Math.max(rows * factor, Math.min(PART_SIDE_MIN, most / cols / 2)), Tq);
        const [left, right] = widened([j0, j1], Math.max(cols * factor, Math.min(PART_SIDE_MIN, most / rows / 2)), Tk);
        return { batch, head, i0: top, i1: bottom, j0: left, j1: right, names: ["weights"] };
    }

    // The whole row of a cell, with its scores.
    partOfRow({ batch, head }, i) {
        return { batch, head, i0: i, i1: i + 1, j0: 0, j1: this.dims.Tk, names: rowNames(this.applied) };
    }
}

// A picture of a LongMatrix, drawn in layers: pooled weights, and over them the parts that are here, each with its place { left, top } and
// how many cells one of its numbers covers { width, height }.
export function layersOf(matrix, picture) {
    const { run, batch, head, rows, cols, pooled } = matrix, { reasonBits, hideFirst, scale } = picture, m = pooled.rows, n = pooled.cols;
    const maxima = scale.mode === "row" ? run.rowMaxima(batch, head, hideFirst) : null;
    const base = { ...picture, matrix: pooled, reasonBits: reasonBits && ((i, j) => reasonBits(edge(i + 1, m, rows) - 1, edge(j, n, cols))) };
    const parts = run.parts.of("weights", batch, head).map((part) => ({ left: part.j0, top: part.i0, width: 1, height: 1, picture: {
        ...picture, matrix: part.matrices.get("weights"), maxima: maxima?.subarray(part.i0, part.i1), hideFirst: hideFirst && part.j0 === 0,
        reasonBits: reasonBits && ((i, j) => reasonBits(part.i0 + i, part.j0 + j)) } }));
    return { ...picture, maxima, layers: [{ left: 0, top: 0, width: cols / n, height: rows / m, picture: base }, ...parts] };
}
