// mask_reasons.js: why a query may not see a key, and what the mask and the biases add to its score, from the request and from the
// conventions that the server applied.

import { valueAt } from "./matrix.js";
import { Tensor, tensorFromJson } from "./tensor.js";

export const REASONS = [
    { name: "causal", title: "causal", text: "the key comes after the query" },
    { name: "window", title: "window", text: "the key is outside of the window" },
    { name: "padding", title: "padding", text: "the key is padding (key_lengths)" },
    { name: "mask", title: "mask", text: "the mask excludes it" },
    { name: "query", title: "query padding", text: "the query is padding (query_lengths)" },
    { name: "sequence", title: "sequence", text: "the key is of another packed sequence (cu_seqlens)" },
    { name: "segment", title: "segment", text: "the key is of another segment (segment_ids)" },
    { name: "id", title: "id padding", text: "query or key is padding (a negative id in segment_ids)" },
    { name: "chunk", title: "chunk", text: "the key is in another chunk" },
];

export const CAUSAL = 1, WINDOW = 2, PADDING = 4, MASK = 8, QUERY = 16, SEQUENCE = 32, SEGMENT = 64, ID = 128, CHUNK = 256;

const reasonOf = (bits) => REASONS.filter((_, i) => bits & (1 << i));

const isGiven = (value) => value !== undefined && value !== null;

// Integers of a request: one, a list, or [items, tokens], as { data, rows }, rows being whether there is one row an item.
function integersOf(value) {
    const { shape, data } = typeof value === "number" ? { shape: [], data: [value] } : value instanceof Tensor ? value : tensorFromJson(value);
    return { data, rows: shape.length === 2 };
}

// Returns a function of item and token, of a list that has a number for each.
function byToken(value, tokens) {
    const { data, rows } = integersOf(value);
    return rows ? (b, t) => data[b * tokens + t] : (b, t) => data[t];
}

// Returns a function of the item, or of the packed sequence.
function byItem(value) {
    const { data } = integersOf(value);
    return data.length === 1 ? () => data[0] : (b) => data[b];
}

const isPair = (value) => value !== null && typeof value === "object" && "query" in value;

// Ids as { query, key }, functions of item and token; null without any.
function idsOf(value, { Tq, Tk }) {
    if (!isGiven(value)) return null;
    const { query, key } = isPair(value) ? value : { query: value, key: value };
    return { query: byToken(query, Tq), key: byToken(key, Tk) };
}

// Packed sequences: { of, start } of queries and of keys: each token's sequence, and where each sequence begins.
function sequencesOf(value, { Tq, Tk }) {
    const side = (boundaries, tokens) => {
        const { data } = integersOf(boundaries), of = new Int32Array(tokens);
        for (let s = 0; s + 1 < data.length; s++) of.fill(s, data[s], data[s + 1]);
        return { of, start: data };
    };
    const { query, key } = isPair(value) ? value : { query: value, key: value };
    return { query: side(query, Tq), key: side(key, Tk) };
}

// A mask or a bias; null without it.
export function pairsTensor(value) {
    if (!isGiven(value)) return null;
    if (value instanceof Tensor) return value;
    const tensor = tensorFromJson(value);
    const first = (Array.isArray(value) ? value : value.data).flat(Infinity)[0];
    tensor.boolean = typeof first === "boolean";
    return tensor;
}

// Returns a function of head and offset, key position - query position: T5's buckets, whose logarithms are float32's.
function relativeBias(table, { buckets, bidirectional, max_distance: max }, H) {
    const { data } = table instanceof Tensor ? table : tensorFromJson(table), n = bidirectional ? buckets / 2 : buckets, exact = Math.floor(n / 2);
    const { fround, log } = Math, whole = fround(log(max / exact));
    const bucket = (distance) => (distance < exact ? distance : Math.min(n - 1, exact + Math.floor(fround(fround(fround(log(fround(distance / exact))) / whole) * (n - exact)))));
    return (h, offset) => data[(bidirectional ? bucket(Math.abs(offset)) + (offset > 0 ? n : 0) : bucket(Math.max(-offset, 0))) * H + h];
}

// Returns a function that finds the element of a mask or a bias for an item, a head, a row and a column, by NumPy's broadcasting. Weights of
// rank 3 have either items or heads, not both.
function pairsIndexer({ shape }, weightsShape) {
    const strides = [0, 0, 0, 0], rank = weightsShape.length;
    for (let axis = shape.length - 1, stride = 1; axis >= 0; stride *= shape[axis--])
        strides[4 - shape.length + axis] = shape[axis] === 1 ? 0 : stride;
    return (b, h, i, j) => (rank === 4 ? b * strides[0] + h * strides[1] : (b + h) * strides[1]) + i * strides[2] + j * strides[3];
}

// Whether a picture (App.pictureOf) draws the cell hatched, as masked, instead of its number.
export function isMasked({ matrix, reasonBits, hidesMasked }, i, j) {
    const x = valueAt(matrix, i, j);
    return hidesMasked && (x === -Infinity || (x === 0 && Boolean(reasonBits?.(i, j))));
}

export class MaskReasons {
    constructor(run) {
        const { applied, request, dims } = run;
        this.dims = dims;
        this.none = run.weightsOnly;
        if (run.weightsOnly) return;
        this.causal = applied.causal !== false;
        [this.left, this.right] = (applied.window ?? [-1, -1]).map((n) => (n < 0 ? Infinity : n));
        this.firstKept = applied.num_sink_tokens ? applied.num_sink_tokens : -Infinity; // keys below stay visible outside of the window
        this.chunk = applied.chunk_size ?? 0;
        this.sequences = isGiven(request.cu_seqlens) ? sequencesOf(request.cu_seqlens, dims) : null;
        this.setPositions(run);
        this.prefix = isGiven(applied.prefix_length) ? byItem(applied.prefix_length) : null;
        this.segments = idsOf(request.segment_ids, dims);
        this.spans = idsOf(request.span_ids, dims);
        this.lengths = isGiven(request.key_lengths) ? byItem(request.key_lengths) : null;
        this.queryLengths = isGiven(request.query_lengths) ? byItem(request.query_lengths) : null;
        this.slopes = applied.alibi;
        this.mask = pairsTensor(request.mask);
        this.maskedValue = applied.mask_semantics === "drop" ? 1 : 0;
        if (this.mask) this.maskAt = pairsIndexer(this.mask, run.weightsShape);
        this.added = pairsTensor(request.bias);
        if (this.added) this.addedAt = pairsIndexer(this.added, run.weightsShape);
        this.relative = applied.relative_bias ? relativeBias(request.relative_bias.table, applied.relative_bias, dims.H) : null;
        this.queryScale = isGiven(request.query_scale) ? byToken(request.query_scale, dims.Tq) : () => 1;
    }

    // Where queries and keys stand, as functions of item and token.
    setPositions({ applied, request, dims }) {
        const offset = byItem(applied.query_offset ?? 0), { sequences } = this;
        if (sequences) {
            const { query, key } = sequences;
            this.queryAt = (b, i) => i - query.start[query.of[i]] + offset(query.of[i]);
            this.keyAt = (b, j) => j - key.start[key.of[j]];
            return;
        }
        this.queryAt = isGiven(request.query_positions) ? byToken(request.query_positions, dims.Tq) : (b, i) => offset(b) + i;
        this.keyAt = isGiven(request.key_positions) ? byToken(request.key_positions, dims.Tk) : (b, j) => j;
    }

    get any() {
        return this.possible.length > 0;
    }

    // The reasons that hold, as bits; 0: the query may see the key.
    bits(b, h, i, j) {
        if (this.none) return 0;
        let bits = this.ruleBits(b, i, j);
        if (this.lengths && j >= this.lengths(b)) bits |= PADDING;
        if (this.queryLengths && i >= this.queryLengths(b)) bits |= QUERY;
        if (this.mask) {
            const x = this.mask.data[this.maskAt(b, h, i, j)];
            if (this.mask.boolean ? x === this.maskedValue : x === -Infinity) bits |= MASK;
        }
        return bits;
    }

    // The rules of sequences, segments and positions. Positions of two packed sequences are not compared.
    ruleBits(b, i, j) {
        if (this.sequences && this.sequences.query.of[i] !== this.sequences.key.of[j]) return SEQUENCE;
        const query = this.queryAt(b, i), key = this.keyAt(b, j);
        let bits = 0;
        if (this.causal && key > query && !this.isOpened(b, i, j, key)) bits |= CAUSAL;
        if ((key < query - this.left || key > query + this.right) && !(key < this.firstKept)) bits |= WINDOW;
        if (this.segments) {
            const mine = this.segments.query(b, i), other = this.segments.key(b, j);
            if (mine < 0 || other < 0) bits |= ID;
            else if (mine !== other) bits |= SEGMENT;
        }
        if (this.chunk && Math.floor(query / this.chunk) !== Math.floor(key / this.chunk)) bits |= CHUNK;
        return bits;
    }

    // Whether a key after the query is visible all the same: in the prefix, or of one span with it.
    isOpened(b, i, j, key) {
        if (this.prefix && key < this.prefix(this.sequences ? this.sequences.query.of[i] : b)) return true;
        const id = this.spans ? this.spans.query(b, i) : -1;
        return id >= 0 && id === this.spans.key(b, j);
    }

    // What the rules that open a mask add to its reason's text.
    textOf({ name, text }) {
        if (name === "window" && this.firstKept > 0) return `${text} and not one of the first ${this.firstKept} (num_sink_tokens)`;
        const unless = name === "causal" ? [this.prefix && "is not in the prefix", this.spans && "is of no span with it"].filter(Boolean) : [];
        return [text, ...unless].join(" and ");
    }

    reasons(b, h, i, j) {
        return reasonOf(this.bits(b, h, i, j)).map((reason) => ({ ...reason, text: this.textOf(reason) }));
    }

    // The reasons that may hold somewhere.
    get possible() {
        if (this.none) return [];
        const may = { causal: this.causal, window: this.left !== Infinity || this.right !== Infinity, padding: this.lengths, mask: this.mask,
            query: this.queryLengths, sequence: this.sequences, segment: this.segments, id: this.segments, chunk: this.chunk };
        return REASONS.filter(({ name }) => may[name]);
    }

    // What is added to a score: { bias, relative } before the softcap, { mask, alibi } after it; undefined what the request has not.
    bias(b, h, i, j) {
        return {
            bias: this.added ? this.added.data[this.addedAt(b, h, i, j)] : undefined,
            relative: this.relative ? this.relative(h, this.keyAt(b, j) - this.queryAt(b, i)) : undefined,
            mask: this.mask && !this.mask.boolean ? this.mask.data[this.maskAt(b, h, i, j)] : undefined,
            alibi: this.slopes ? -this.slopes[h] * Math.abs(this.queryAt(b, i) - this.keyAt(b, j)) : undefined,
        };
    }
}
