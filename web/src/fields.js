// fields.js: the request's fields: their names and labels, and each value as the text of an input.

import { QKV, X } from "./request.js";
import { Tensor, isTensorObject, parseJson, shapeText } from "./tensor.js";

export const BOTH = "both";

// kind: int, number, tensor (a shape to fill from the seed, or JSON) or json; with `options`, a choice of [value, text].
// form: the form of request that has the field. more: under "More fields" while it has no value.
export const FIELDS = [
    { name: "seed", kind: "int", form: BOTH, label: "Seed", hint: "manual_seed" },
    { name: "x", kind: "tensor", form: X, label: "Tokens x", hint: "shape B × T × C, or JSON" },
    { name: "context", kind: "tensor", form: X, label: "Context", more: true, hint: "for cross-attention" },
    { name: "value_context", kind: "tensor", form: X, label: "Value context", more: true, hint: "tokens of the values alone" },
    { name: "query", kind: "tensor", form: QKV, label: "Query", hint: "shape or JSON" },
    { name: "key", kind: "tensor", form: QKV, label: "Key", hint: "shape or JSON" },
    { name: "value", kind: "tensor", form: QKV, label: "Value", hint: "shape or JSON" },
    { name: "projection", kind: "json", form: X, label: "Projection", more: true, hint: "JSON, [out, in], or \"identity\"" },
    { name: "head_size", kind: "int", form: X, label: "Head size" },
    { name: "num_heads", kind: "int", form: BOTH, label: "Heads" },
    { name: "num_kv_heads", kind: "int", form: BOTH, label: "Key heads", hint: "grouped" },
    { name: "causal", options: [["", "off"], [true, "on"], ["top_left", "top left"], ["bottom_right", "bottom right"]], form: BOTH, label: "Causal" },
    { name: "scale", kind: "number", form: BOTH, label: "Scale", hint: "1/√D" },
    { name: "mask", kind: "json", form: BOTH, label: "Mask", more: true, hint: "JSON: booleans, or numbers to add" },
    { name: "mask_semantics", options: [["", "true may attend"], ["drop", "true is masked"]], form: BOTH, label: "Mask's true", more: true },
    { name: "key_lengths", kind: "json", form: BOTH, label: "Key lengths", more: true, hint: "one per item: [5, 8]" },
    { name: "query_lengths", kind: "json", form: BOTH, label: "Query lengths", more: true, hint: "one per item: [5, 8]" },
    { name: "window", kind: "json", form: BOTH, label: "Window", more: true, hint: "[left, right]; −1: unbounded" },
    { name: "num_sink_tokens", kind: "int", form: BOTH, label: "First tokens", more: true, hint: "seen outside of it" },
    { name: "chunk_size", kind: "int", form: BOTH, label: "Chunk size", more: true },
    { name: "prefix_length", kind: "json", form: BOTH, label: "Prefix length", more: true, hint: "4, or one per item" },
    { name: "span_ids", kind: "json", form: BOTH, label: "Span ids", more: true, hint: "one per token; −1: none" },
    { name: "segment_ids", kind: "json", form: BOTH, label: "Segment ids", more: true, hint: "one per token; −1: padding" },
    { name: "cu_seqlens", kind: "json", form: BOTH, label: "Boundaries", more: true, hint: "packed: [0, 5, 12]" },
    { name: "query_scale", kind: "json", form: BOTH, label: "Query scale", more: true, hint: "one per query: [1, 1.1]" },
    { name: "bias", kind: "json", form: BOTH, label: "Bias", more: true, hint: "JSON: numbers to add" },
    { name: "relative_bias", kind: "json", form: BOTH, label: "Relative bias", more: true, hint: "{\"table\": [[..], ..]}, T5's" },
    { name: "softcap", kind: "number", form: BOTH, label: "Softcap", more: true },
    { name: "alibi", kind: "json", form: BOTH, label: "ALiBi", more: true, hint: "true, or slopes" },
    { name: "rope", kind: "json", form: BOTH, label: "RoPE", more: true, hint: "{\"style\": \"half\", \"scaling\": {..}}" },
    { name: "qk_norm", kind: "json", form: BOTH, label: "QK norm", more: true, hint: "{\"query\": true, \"key\": true}" },
    { name: "sinks", kind: "json", form: BOTH, label: "Sinks", more: true, hint: "one per head: [0]" },
    { name: "lse_base", options: [["", "e"], ["2", "2"]], form: BOTH, label: "lse base", more: true },
    { name: "query_offset", kind: "json", form: BOTH, label: "Query offset", more: true, hint: "4, or one per item" },
    { name: "query_positions", kind: "json", form: BOTH, label: "Query positions", more: true, hint: "one per token" },
    { name: "key_positions", kind: "json", form: BOTH, label: "Key positions", more: true, hint: "one per token" },
    { name: "past_key", kind: "tensor", form: QKV, label: "Past key", more: true, hint: "JSON" },
    { name: "past_value", kind: "tensor", form: QKV, label: "Past value", more: true, hint: "JSON" },
    { name: "layout", options: [["", "B H T D"], ["bthd", "B T H D"], ["thd", "T H D"]], form: QKV, label: "Layout", more: true },
    { name: "precision", options: [["", "float32"], ["float64", "float64"]], form: BOTH, label: "Precision", more: true },
    { name: "numerics", options: [["", "fastest"], ["row_invariant", "row invariant"]], form: BOTH, label: "Numerics", more: true },
];

export const FIELD_NAMES = new Set(FIELDS.map(({ name }) => name));

const SHAPE = /^\s*\[?\s*\d+(\s*[×x*, ]\s*\d+)*\s*\]?\s*$/;

export function textOf(value, { kind, options }) {
    if (options) return String(value === undefined || value === false ? "" : value);
    if (value === undefined || value === null) return "";
    if (value instanceof Tensor) return `${value.origin ?? "file"}: ${shapeText(value.shape)}`;
    if (kind === "tensor" && isTensorObject(value) && !value.data) return shapeText(value.shape);
    return typeof value === "number" ? String(value) : JSON.stringify(value);
}

function numberOf(text, kind) {
    const number = Number(text);
    if (!Number.isFinite(number)) throw new Error(`"${text}" is not a number`);
    if (kind === "int" && Math.abs(number) > Number.MAX_SAFE_INTEGER) throw new Error("the page takes integers up to 2^53");
    return number;
}

// Returns the value; undefined leaves the field out. `current` is the field's value so far: a file's tensor, whose text names only
// its shape. Throws an Error that says what is wrong with the text.
export function valueOf(text, { name, kind, options }, current) {
    if (options) {
        const [value] = options.find(([option]) => String(option) === text);
        return value === "" ? undefined : value;
    }
    const trimmed = text.trim();
    if (trimmed === "") return undefined;
    if (current instanceof Tensor && trimmed.startsWith(`${current.origin ?? "file"}:`)) return current;
    if (kind === "int" || kind === "number") return numberOf(trimmed, kind);
    if (kind === "tensor" && SHAPE.test(trimmed) && !name.startsWith("past")) return { shape: trimmed.match(/\d+/g).map(Number) };
    if (name === "projection" && trimmed === "identity") return "identity";
    return parseJson(trimmed);
}
