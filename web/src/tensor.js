// tensor.js: row-major tensors, { shape, data } with data in a Float32Array or Float64Array, and their JSON.

const WORDS = { nan: NaN, inf: Infinity, "-inf": -Infinity, infinity: Infinity, "-infinity": -Infinity };

export class Tensor {
    constructor(shape, data) {
        this.shape = shape;
        this.data = data;
    }

    get size() {
        return this.data.length;
    }
}

export const product = (shape) => shape.reduce((a, b) => a * b, 1);

export const isTensorObject = (value) =>
    value !== null && typeof value === "object" && !Array.isArray(value) && Array.isArray(value.shape);

// Of a Tensor, of {"shape"}, or of nested arrays, judged by their first elements; null of anything else.
export function shapeOf(value) {
    if (isTensorObject(value)) return value.shape;
    if (!Array.isArray(value)) return null;
    const shape = [];
    for (let at = value; Array.isArray(at); at = at[0]) shape.push(at.length);
    return shape;
}

export const shapeText = (shape) => shape.join(" × ") || "number";

function numberOf(value, where) {
    if (typeof value === "number") return value;
    if (typeof value === "boolean") return value ? 1 : 0;
    const word = typeof value === "string" ? WORDS[value.toLowerCase()] : undefined;
    if (word !== undefined || (typeof value === "string" && value.toLowerCase() === "nan")) return word;
    throw new Error(`${where}: expected a number, found ${JSON.stringify(value)}`);
}

function fill(value, shape, depth, data, offset, where) {
    if (depth === shape.length) {
        data[offset] = numberOf(value, where);
        return offset + 1;
    }
    if (!Array.isArray(value) || value.length !== shape[depth])
        throw new Error(`${where}: rows of different lengths (expected ${shape[depth]} elements)`);
    for (let i = 0; i < value.length; i++) offset = fill(value[i], shape, depth + 1, data, offset, `${where}[${i}]`);
    return offset;
}

// From nested arrays, or {"shape", "data"}. Throws an Error that says what is wrong, and where.
export function tensorFromJson(value) {
    if (isTensorObject(value)) {
        if (!Array.isArray(value.data)) throw new Error("there is a shape and no data");
        const flat = Array.isArray(value.data[0]) ? value.data.flat(Infinity) : value.data;
        if (flat.length !== product(value.shape))
            throw new Error(`shape ${shapeText(value.shape)} needs ${product(value.shape)} numbers, there are ${flat.length}`);
        return new Tensor(value.shape, Float64Array.from(flat, (x) => numberOf(x, "data")));
    }
    if (!Array.isArray(value)) throw new Error("expected nested arrays of numbers");
    const shape = shapeOf(value), data = new Float64Array(product(shape));
    fill(value, shape, 0, data, 0, "");
    return new Tensor(shape, data);
}

export const numberToJson = (x) => (Number.isFinite(x) ? x : Number.isNaN(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");

// {"shape", "data"}: what JSON has no digits for as strings, float32 with the fewest digits that give the same float.
export function tensorToJson(tensor) {
    const short = tensor.data instanceof Float32Array ? shortest : (x) => x;
    return { shape: tensor.shape, data: Array.from(tensor.data, (x) => numberToJson(short(x))) };
}

export function shortest(x) {
    for (let digits = 6; digits < 9; digits++) {
        const y = Number(x.toPrecision(digits));
        if (Math.fround(y) === x) return y;
    }
    return x;
}

// JSON, and what Python's json writes: NaN and Infinity without quotes.
export function parseJson(text) {
    try {
        return JSON.parse(text);
    } catch (error) {
        const mended = text.replace(/"(?:[^"\\]|\\.)*"|(-?\b(?:NaN|Infinity)\b)/g, (all, word) => (word ? `"${word}"` : all));
        if (mended === text) throw new Error(`this is not JSON (${error.message})`);
        return parseJson(mended);
    }
}
