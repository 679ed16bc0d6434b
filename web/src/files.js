// files.js: reads safetensors and NumPy files, and writes safetensors.

import { Tensor, product } from "./tensor.js";

const NUMBER_BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, U8: 1, I8: 1, BOOL: 1 };

function halfToNumber(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function brainToFloats(view, count) {
    const bits = new Uint32Array(count);
    for (let i = 0; i < count; i++) bits[i] = view.getUint16(2 * i, true) << 16;
    return new Float32Array(bits.buffer);
}

function read(view, count, bytes, get, into = Float32Array) {
    const data = new into(count);
    for (let i = 0; i < count; i++) data[i] = get(i * bytes);
    return data;
}

function numbersOf(buffer, offset, dtype, count) {
    const view = new DataView(buffer, offset, count * NUMBER_BYTES[dtype]);
    switch (dtype) {
        case "F32": return new Float32Array(offset % 4 ? buffer.slice(offset, offset + 4 * count) : buffer, offset % 4 ? 0 : offset, count);
        case "F64": return new Float64Array(buffer.slice(offset, offset + 8 * count));
        case "F16": return read(view, count, 2, (at) => halfToNumber(view.getUint16(at, true)));
        case "BF16": return brainToFloats(view, count);
        case "I64": return read(view, count, 8, (at) => Number(view.getBigInt64(at, true)), Float64Array);
        case "I32": return read(view, count, 4, (at) => view.getInt32(at, true), Float64Array);
        case "I8": return read(view, count, 1, (at) => view.getInt8(at));
        default: return read(view, count, 1, (at) => view.getUint8(at));
    }
}

// Returns { tensors: Map(name -> Tensor), metadata }.
export function readSafetensors(buffer) {
    if (buffer.byteLength < 8) throw new Error("this is not a safetensors file: it is too short");
    const headerBytes = Number(new DataView(buffer).getBigUint64(0, true)), start = 8 + headerBytes;
    if (start > buffer.byteLength) throw new Error("this is not a safetensors file: its header would be longer than the file");
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, headerBytes)));
    const tensors = new Map();
    for (const [name, entry] of Object.entries(header)) {
        if (name === "__metadata__") continue;
        const bytes = NUMBER_BYTES[entry.dtype], [from, to] = entry.data_offsets, count = product(entry.shape);
        if (!bytes) throw new Error(`${name}: the page does not read dtype ${entry.dtype}`);
        if (to - from !== count * bytes || start + to > buffer.byteLength) throw new Error(`${name}: offsets and shape disagree`);
        const tensor = new Tensor(entry.shape, numbersOf(buffer, start + from, entry.dtype, count));
        tensor.boolean = entry.dtype === "BOOL";
        tensor.integer = entry.dtype[0] === "I";
        tensors.set(name, tensor);
    }
    return { tensors, metadata: header.__metadata__ ?? {} };
}

function dtypeOf(tensor) {
    return tensor.boolean ? "BOOL" : tensor.integer ? "I64" : tensor.data instanceof Float64Array ? "F64" : "F32";
}

function bytesOf(tensor) {
    if (tensor.boolean) return Uint8Array.from(tensor.data);
    const data = tensor.integer ? BigInt64Array.from(tensor.data, (x) => BigInt(x)) : tensor.data;
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

// `tensors`: [name, Tensor] pairs; `metadata`: texts. Returns a Blob.
export function writeSafetensors(tensors, metadata) {
    const header = { __metadata__: metadata }, parts = [];
    let offset = 0;
    for (const [name, tensor] of tensors) {
        const bytes = bytesOf(tensor);
        header[name] = { dtype: dtypeOf(tensor), shape: tensor.shape, data_offsets: [offset, offset + bytes.length] };
        offset += bytes.length;
        parts.push(bytes);
    }
    const encoder = new TextEncoder();
    let text = encoder.encode(JSON.stringify(header));
    const padding = (8 - (text.length % 8)) % 8;
    if (padding) text = encoder.encode(JSON.stringify(header) + " ".repeat(padding));
    const length = new DataView(new ArrayBuffer(8));
    length.setBigUint64(0, BigInt(text.length), true);
    return new Blob([length.buffer, text, ...parts], { type: "application/octet-stream" });
}

const NUMPY = { f8: "F64", f4: "F32", f2: "F16", i8: "I64", i4: "I32", i1: "I8", u1: "U8", b1: "BOOL" };

function toRowMajor(tensor) {
    const { shape, data } = tensor, out = new data.constructor(data.length), index = shape.map(() => 0);
    const strides = shape.map((_, axis) => product(shape.slice(0, axis)));
    for (let i = 0; i < out.length; i++) {
        out[i] = data[index.reduce((sum, x, axis) => sum + x * strides[axis], 0)];
        for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
    }
    return new Tensor(shape, out);
}

export function readNumpy(buffer) {
    const bytes = new Uint8Array(buffer), view = new DataView(buffer);
    if (buffer.byteLength < 12 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY") throw new Error("this is not a .npy file");
    const wide = bytes[6] >= 2, start = wide ? 12 : 10;
    const headerBytes = wide ? view.getUint32(8, true) : view.getUint16(8, true);
    const header = new TextDecoder("latin1").decode(bytes.subarray(start, start + headerBytes));
    const type = /'descr':\s*'([<>|=])([a-z]\d)'/.exec(header), shape = /'shape':\s*\(([^)]*)\)/.exec(header);
    if (!type || !shape || !NUMPY[type[2]] || type[1] === ">")
        throw new Error(`the page does not read this .npy file's type: ${header.slice(0, 60)}`);
    const axes = shape[1].split(",").filter((part) => part.trim()).map(Number);
    const count = product(axes), offset = start + headerBytes;
    if (offset + count * NUMBER_BYTES[NUMPY[type[2]]] > buffer.byteLength) throw new Error("this .npy file ends too early");
    const tensor = new Tensor(axes, numbersOf(buffer, offset, NUMPY[type[2]], count));
    const ordered = /'fortran_order':\s*True/.test(header) ? toRowMajor(tensor) : tensor;
    ordered.boolean = type[2] === "b1";
    ordered.integer = type[2][0] === "i";
    return ordered;
}
