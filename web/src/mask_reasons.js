// mask_reasons.js: why a query may not see a key, and what the mask and ALiBi add to its score, from the request and from the
// conventions that the server applied.

import { Tensor, tensorFromJson } from "./tensor.js";

export const REASONS = [
    { name: "causal", title: "causal", text: "the key comes after the query" },
    { name: "window", title: "window", text: "the key is outside of the window" },
    { name: "padding", title: "padding", text: "the key is padding (key_lengths)" },
    { name: "mask", title: "mask", text: "the mask excludes it" },
];

export const CAUSAL = 1, WINDOW = 2, PADDING = 4, MASK = 8;

const reasonOf = (bits) => REASONS.filter((_, i) => bits & (1 << i));

function maskTensor(request) {
    const { mask } = request;
    if (mask === undefined || mask === null) return null;
    if (mask instanceof Tensor) return mask;
    const tensor = tensorFromJson(mask);
    const first = (Array.isArray(mask) ? mask : mask.data).flat(Infinity)[0];
    tensor.boolean = typeof first === "boolean";
    return tensor;
}

// Returns a function that finds the mask's element for an item, a head, a row and a column, by NumPy's broadcasting. Weights of
// rank 3 have either items or heads, not both.
function maskIndexer(mask, weightsShape) {
    const strides = [0, 0, 0, 0], rank = weightsShape.length, { shape } = mask;
    for (let axis = shape.length - 1, stride = 1; axis >= 0; stride *= shape[axis--])
        strides[4 - shape.length + axis] = shape[axis] === 1 ? 0 : stride;
    return (b, h, i, j) => (rank === 4 ? b * strides[0] + h * strides[1] : (b + h) * strides[1]) + i * strides[2] + j * strides[3];
}

// Whether a picture (App.pictureOf) draws the cell hatched, as masked, instead of its number.
export function isMasked({ matrix: { cols, data }, reasonBits, hidesMasked }, i, j) {
    const x = data[i * cols + j];
    return hidesMasked && (x === -Infinity || (x === 0 && Boolean(reasonBits?.(i, j))));
}

export class MaskReasons {
    constructor(run) {
        const { applied, request, dims, tensors } = run;
        this.dims = dims;
        this.none = run.weightsOnly;
        if (run.weightsOnly) return;
        this.offset = applied.query_offset ?? 0;
        this.causal = applied.causal !== false;
        [this.left, this.right] = (applied.window ?? [-1, -1]).map((n) => (n < 0 ? Infinity : n));
        const lengths = request.key_lengths;
        if (lengths !== undefined && lengths !== null)
            this.lengths = lengths instanceof Tensor ? Array.from(lengths.data)
                : Array.isArray(lengths) ? lengths : typeof lengths === "number" ? [lengths] : lengths.data;
        this.slopes = applied.alibi;
        this.mask = maskTensor(request);
        this.maskedValue = applied.mask_semantics === "drop" ? 1 : 0;
        if (this.mask) this.maskAt = maskIndexer(this.mask, tensors.get("weights").shape);
    }

    get any() {
        return !this.none && (this.causal || this.left !== Infinity || this.right !== Infinity || this.lengths || this.mask);
    }

    // The reasons that hold, as bits; 0: the query may see the key.
    bits(b, h, i, j) {
        if (this.none) return 0;
        const position = this.offset + i;
        let bits = 0;
        if (this.causal && j > position) bits |= CAUSAL;
        if (j < position - this.left || j > position + this.right) bits |= WINDOW;
        if (this.lengths && j >= this.lengths[b]) bits |= PADDING;
        if (this.mask) {
            const x = this.mask.data[this.maskAt(b, h, i, j)];
            if (this.mask.boolean ? x === this.maskedValue : x === -Infinity) bits |= MASK;
        }
        return bits;
    }

    reasons(b, h, i, j) {
        return reasonOf(this.bits(b, h, i, j));
    }

    // The reasons that may hold somewhere.
    get possible() {
        if (this.none) return [];
        return REASONS.filter(({ name }) => (name === "causal" && this.causal) || (name === "padding" && this.lengths) ||
            (name === "window" && (this.left !== Infinity || this.right !== Infinity)) || (name === "mask" && this.mask));
    }

    // What is added to a score: { mask, alibi }; undefined without a mask of numbers, or without ALiBi.
    bias(b, h, i, j) {
        return {
            mask: this.mask && !this.mask.boolean ? this.mask.data[this.maskAt(b, h, i, j)] : undefined,
            alibi: this.slopes ? -this.slopes[h] * Math.abs(this.offset + i - j) : undefined,
        };
    }
}
