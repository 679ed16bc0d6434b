// run.js: the results of one request, or weights that were given, by layer, batch item, head, query and key.

import { rollout } from "./measures.js";
import { product } from "./tensor.js";
import { valueNorms } from "./value_norms.js";

export const VALUE_WEIGHTS = "value_weights";

// derived: a picture made of others, which is no step of the computation.
export const STAGES = [
    { name: "scores", title: "Scores", signed: true, about: "scale · q·k" },
    { name: "capped_scores", title: "Capped", signed: true, about: "after softcap" },
    { name: "bias", title: "Bias", signed: true, about: "mask numbers and ALiBi, added to the scores" },
    { name: "masked_scores", title: "Masked", signed: true, about: "what softmax sees" },
    { name: "weights", title: "Weights", signed: false, about: "each row sums to 1" },
    { name: VALUE_WEIGHTS, title: "Weight × ‖v‖", signed: false, derived: true, about: "how much each key brings to the output (Kobayashi et al. 2020)" },
    { name: "output", title: "Output", signed: true, about: "weights · values" },
];

const MATRIX_STAGES = new Set(["scores", "capped_scores", "masked_scores", "weights"]);

export const MEAN = "mean", ROLLOUT = "rollout"; // pictures of all heads, beside those of one

const ROLLOUT_TOKENS_MAX = 512; // its time grows with their third power

export class Run {
    // `reply`: as compute() returns it, or { tensors } with the user's weights. `items`: "layers" if the batch's items are a model's
    // layers.
    constructor(request, reply, { weightsOnly = false, items = null } = {}) {
        this.request = request;
        this.items = items;
        this.tensors = reply.tensors;
        this.applied = reply.applied ?? null;
        this.warnings = reply.warnings ?? [];
        this.timings = reply.timings ?? [];
        this.elapsedMs = reply.elapsedMs ?? 0;
        this.bytes = reply.bytes ?? 0;
        this.weightsOnly = weightsOnly;
        this.off = []; // [layer, head] pairs
        this.cache = new Map();
        this.dims = this.readDims(this.tensors.get("weights"));
    }

    readDims(weights) {
        const { shape } = weights, Tq = shape.at(-2), Tk = shape.at(-1);
        if (this.weightsOnly) {
            const [L, B, H] = [1, 1, 1, ...shape.slice(0, -2)].slice(-3);
            return { L, B, H, Tq, Tk };
        }
        const H = this.applied.num_heads;
        return { L: 1, B: product(shape.slice(0, -2)) / H, H, Tq, Tk };
    }

    get weightsShape() {
        return this.tensors.get("weights").shape;
    }

    get cells() {
        const { L, B, H, Tq, Tk } = this.dims;
        return L * B * H * Tq * Tk;
    }

    // The axis of a model's layers, "layer" or "batch"; null: there is one layer.
    get layerAxis() {
        return this.dims.L > 1 ? "layer" : this.items === "layers" && this.dims.B > 1 ? "batch" : null;
    }

    get layers() {
        return this.layerAxis === "layer" ? this.dims.L : this.layerAxis ? this.dims.B : 1;
    }

    get hasMean() {
        return this.dims.H > 1;
    }

    get hasRollout() {
        const { Tq, Tk } = this.dims;
        return this.layers > 1 && Tq === Tk && Tq <= ROLLOUT_TOKENS_MAX;
    }

    // The stages that this run has, or that can be fetched.
    get stages() {
        if (this.weightsOnly) return STAGES.filter((stage) => stage.name === "weights");
        return STAGES.filter(({ name }) =>
            (name !== "capped_scores" || this.applied.softcap) && (name !== "bias" || this.hasBias));
    }

    get hasBias() {
        return !this.weightsOnly && Boolean(this.applied.alibi || this.applied.mask === "additive");
    }

    // Heads that are left out of what all heads make together: their mean, rollout, and an output that is projected.
    switchOff(off) {
        this.off = off;
        this.cache.clear();
    }

    // The same run with every head on.
    withAllHeads() {
        const run = Object.assign(Object.create(Run.prototype), this, { cache: new Map() });
        run.switchOff([]);
        return run;
    }

    isOff(layer, head) {
        return this.off.some(([a, b]) => a === layer && b === head);
    }

    // Whether heads are missing from the output, which has to be computed without them.
    get isAblated() {
        return this.off.length > 0 && this.outputIsShared("output");
    }

    get outputName() {
        return this.isAblated ? `output without ${this.off.map((pair) => pair.join(".")).sort().join(" ")}` : "output";
    }

    // The results that a stage's picture is made of.
    resultsOf(stage) {
        if (stage === "bias") return [this.applied.softcap ? "capped_scores" : "scores", "masked_scores"];
        if (stage === VALUE_WEIGHTS) return ["weights", this.valueName];
        return [stage];
    }

    // Those that have not been fetched.
    missing(stage) {
        return this.weightsOnly ? [] : (stage === "output" ? [this.outputName] : this.resultsOf(stage)).filter((name) => !this.tensors.has(name));
    }

    // The values that attention reads: with a cache, the past's and the new ones.
    get keyName() {
        return this.request.past_key !== undefined && this.request.past_key !== null ? "present_key" : "key";
    }

    get valueName() {
        return this.request.past_value !== undefined && this.request.past_value !== null ? "present_value" : "value";
    }

    add(tensors) {
        for (const [name, tensor] of tensors) this.tensors.set(name, tensor);
        this.cache.clear();
    }

    // { rows, cols, data } of one layer, item and head, or of the heads' mean; null if the stage has not been fetched.
    matrix(stage, { layer = 0, batch = 0, head = 0 }) {
        const id = `${stage}/${layer}/${batch}/${head}`;
        if (!this.cache.has(id)) this.cache.set(id, this.makeMatrix(stage, layer, batch, head));
        return this.cache.get(id);
    }

    makeMatrix(stage, layer, batch, head) {
        if (head === ROLLOUT) return stage === "weights" && this.hasRollout ? this.rollout(layer, batch) : null;
        if (head === MEAN && !this.outputIsShared(stage)) return this.mean(stage, layer, batch);
        if (stage === "output") return this.outputMatrix(batch, head === MEAN ? 0 : head);
        if (stage === "bias") return this.biasMatrix(layer, batch, head);
        if (stage === VALUE_WEIGHTS) return this.valueWeights(layer, batch, head);
        const tensor = this.tensors.get(stage), { B, H, Tq, Tk } = this.dims;
        if (!tensor || !MATRIX_STAGES.has(stage)) return null;
        const start = ((layer * B + batch) * H + head) * Tq * Tk;
        return { rows: Tq, cols: Tk, data: tensor.data.subarray(start, start + Tq * Tk) };
    }

    // The heads of a layer that are on.
    headsOn({ layer, batch }) {
        const at = this.layerAxis ? { layer, batch }[this.layerAxis] : 0;
        return Array.from({ length: this.dims.H }, (_, head) => head).filter((head) => !this.isOff(at, head));
    }

    // Without a head, zeros.
    mean(stage, layer, batch) {
        const matrices = this.headsOn({ layer, batch }).map((head) => this.matrix(stage, { layer, batch, head })), first = this.matrix(stage, { layer, batch, head: 0 });
        if (!first) return null;
        const { rows, cols } = first, data = new Float64Array(rows * cols);
        for (const matrix of matrices) for (let i = 0; i < data.length; i++) data[i] += matrix.data[i];
        for (let i = 0; i < data.length; i++) data[i] /= matrices.length || 1;
        return { rows, cols, data };
    }

    // From the first layer up to this one.
    rollout(layer, batch) {
        const axis = this.layerAxis, at = { layer, batch };
        return rollout(Array.from({ length: at[axis] + 1 }, (_, one) => this.matrix("weights", { ...at, [axis]: one, head: MEAN })));
    }

    biasMatrix(layer, batch, head) {
        const before = this.matrix(this.applied.softcap ? "capped_scores" : "scores", { layer, batch, head });
        const after = this.matrix("masked_scores", { layer, batch, head });
        if (!before || !after) return null;
        const data = after.data.map((x, i) => (x === -Infinity ? -Infinity : x - before.data[i]));
        return { rows: after.rows, cols: after.cols, data };
    }

    valueNorms(batch, head) {
        const id = `norms/${batch}/${head}`, values = this.vectors(this.valueName, batch, head);
        if (!this.cache.has(id)) this.cache.set(id, values && valueNorms(values, this.request.projection?.output, head));
        return this.cache.get(id);
    }

    valueWeights(layer, batch, head) {
        const weights = this.matrix("weights", { layer, batch, head }), norms = this.valueNorms(batch, head);
        return norms && { ...weights, data: weights.data.map((x, at) => x * norms[at % weights.cols]) };
    }

    // An output projection mixes the heads, which then have one output together.
    outputIsShared(stage) {
        return stage === "output" && Boolean(this.request.projection?.output);
    }

    outputMatrix(batch, head) {
        const tensor = this.tensors.get(this.outputName);
        if (!tensor) return null;
        if (this.outputIsShared("output")) {
            const cols = tensor.shape.at(-1), start = batch * this.dims.Tq * cols;
            return { rows: this.dims.Tq, cols, data: tensor.data.subarray(start, start + this.dims.Tq * cols) };
        }
        return this.vectors("output", batch, head);
    }

    headsOf(name) {
        return name === "query" || name === "output" ? this.dims.H : this.applied?.num_kv_heads ?? 1;
    }

    // One head's vectors of query, key, value or output as a matrix [T, D], whatever the request's layout.
    vectors(name, batch, head) {
        const tensor = this.tensors.get(name);
        if (!tensor) return null;
        const { shape, data } = tensor, H = this.headsOf(name), { B } = this.dims;
        const group = name === "query" || name === "output" ? head : Math.floor(head / (this.dims.H / H));
        const thd = this.applied.layout === "thd" && shape.length === 3, packed = shape.length < 4, swapped = this.applied.layout === "bthd";
        const T = thd ? shape[0] : packed ? shape.at(-2) : shape[swapped ? 1 : 2];
        const D = thd ? shape[2] : packed ? shape.at(-1) / H : shape[3];
        const rowStride = packed || swapped ? H * D : D;
        const start = packed || swapped ? batch * T * H * D + group * D : (batch * H + group) * T * D;
        if (batch >= B) return null;
        if (rowStride === D) return { rows: T, cols: D, data: data.subarray(start, start + T * D) };
        const out = new data.constructor(T * D);
        for (let t = 0; t < T; t++) out.set(data.subarray(start + t * rowStride, start + t * rowStride + D), t * D);
        return { rows: T, cols: D, data: out };
    }

    // The log of a row's denominator.
    lse(batch, head, row) {
        const tensor = this.tensors.get("lse");
        return tensor ? tensor.data[(batch * this.dims.H + head) * this.dims.Tq + row] : undefined;
    }
}

// b - a, with the largest finite difference, its place, and how many cells are finite in only one; null if the shapes differ.
export function differenceOf(a, b) {
    if (a.rows !== b.rows || a.cols !== b.cols) return null;
    const data = new Float64Array(a.data.length);
    let largest = 0, at = 0, cells = 0;
    for (let i = 0; i < data.length; i++) {
        const same = a.data[i] === b.data[i];
        data[i] = same ? 0 : b.data[i] - a.data[i];
        if (Number.isFinite(a.data[i]) !== Number.isFinite(b.data[i])) cells++;
        if (Math.abs(data[i]) > largest && Number.isFinite(data[i])) {
            largest = Math.abs(data[i]);
            at = i;
        }
    }
    return { rows: a.rows, cols: a.cols, data, largest, cells, at: [Math.floor(at / a.cols), at % a.cols] };
}

