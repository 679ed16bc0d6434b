// files.js: reads safetensors and NumPy files, and writes safetensors.

import { Tensor, product } from "./tensor.js";

const scratch = new Float32Array(1), scratchBits = new Uint32Array(scratch.buffer);

function halfToNumber(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function brainToNumber(bits) {
    scratchBits[0] = bits << 16;
    return scratch[0];
}

// By safetensors' names: bytes of a number, how a DataView reads one, and the array that holds them all exactly.
const DTYPES = {
    F64: { bytes: 8, get: (view, at, little) => view.getFloat64(at, little), array: Float64Array },
    F32: { bytes: 4, get: (view, at, little) => view.getFloat32(at, little), array: Float32Array },
    F16: { bytes: 2, get: (view, at, little) => halfToNumber(view.getUint16(at, little)), array: Float32Array },
    BF16: { bytes: 2, get: (view, at, little) => brainToNumber(view.getUint16(at, little)), array: Float32Array },
    I64: { bytes: 8, get: (view, at, little) => Number(view.getBigInt64(at, little)), array: Float64Array },
    U64: { bytes: 8, get: (view, at, little) => Number(view.getBigUint64(at, little)), array: Float64Array },
    I32: { bytes: 4, get: (view, at, little) => view.getInt32(at, little), array: Float64Array },
    U32: { bytes: 4, get: (view, at, little) => view.getUint32(at, little), array: Float64Array },
    I16: { bytes: 2, get: (view, at, little) => view.getInt16(at, little), array: Float32Array },
    U16: { bytes: 2, get: (view, at, little) => view.getUint16(at, little), array: Float32Array },
    I8: { bytes: 1, get: (view, at) => view.getInt8(at), array: Float32Array },
    U8: { bytes: 1, get: (view, at) => view.getUint8(at), array: Float32Array },
    BOOL: { bytes: 1, get: (view, at) => view.getUint8(at), array: Float32Array },
};

function readTensor(buffer, offset, dtype, shape, little = true) {
    const { bytes, get, array } = DTYPES[dtype], count = product(shape), isNative = little && (dtype === "F32" || dtype === "F64");
    const data = isNative ? new array(offset % bytes ? buffer.slice(offset, offset + bytes * count) : buffer, offset % bytes ? 0 : offset, count) : new array(count);
    const view = new DataView(buffer, offset, count * bytes);
    if (!isNative) for (let i = 0; i < count; i++) data[i] = get(view, i * bytes, little);
    const tensor = new Tensor(shape, data);
    tensor.boolean = dtype === "BOOL";
    tensor.integer = /^(I|U(16|32|64))/.test(dtype);
    return tensor;
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
        const bytes = DTYPES[entry.dtype]?.bytes, [from, to] = entry.data_offsets;
        if (!bytes) throw new Error(`${name}: the page does not read dtype ${entry.dtype}`);
        if (start + to > buffer.byteLength) throw new Error(`${name}: the file ends before its numbers do`);
        if (to - from !== product(entry.shape) * bytes) throw new Error(`${name}: offsets and shape disagree`);
        tensors.set(name, readTensor(buffer, start + from, entry.dtype, entry.shape));
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

const NUMPY = { f8: "F64", f4: "F32", f2: "F16", i8: "I64", u8: "U64", i4: "I32", u4: "U32", i2: "I16", u2: "U16", i1: "I8", u1: "U8", b1: "BOOL" };

// From NumPy's column-major order.
function toRowMajor(tensor) {
    const { shape, data } = tensor, out = new data.constructor(data.length), index = shape.map(() => 0);
    const strides = shape.map((_, axis) => product(shape.slice(0, axis)));
    for (let i = 0; i < out.length; i++) {
        out[i] = data[index.reduce((sum, x, axis) => sum + x * strides[axis], 0)];
        for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
    }
    return Object.assign(new Tensor(shape, out), { boolean: tensor.boolean, integer: tensor.integer });
}

export function readNumpy(buffer) {
    const bytes = new Uint8Array(buffer), view = new DataView(buffer);
    if (buffer.byteLength < 12 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY") throw new Error("this is not a .npy file");
    const wide = bytes[6] >= 2, start = wide ? 12 : 10;
    const headerBytes = wide ? view.getUint32(8, true) : view.getUint16(8, true);
    const header = new TextDecoder("latin1").decode(bytes.subarray(start, start + headerBytes));
    const [, order, type] = /'descr':\s*'([<>|=])([a-z]\d)'/.exec(header) ?? [], [, axes] = /'shape':\s*\(([^)]*)\)/.exec(header) ?? [], dtype = NUMPY[type];
    if (!dtype || axes === undefined) throw new Error(`the page does not read this .npy file's type, ${/'descr':\s*('[^']*'|\[.*?\])/.exec(header)?.[1] ?? "which is missing"}; save it as float32`);
    const shape = axes.split(",").filter((part) => part.trim()).map(Number), offset = start + headerBytes;
    if (offset + product(shape) * DTYPES[dtype].bytes > buffer.byteLength) throw new Error("this .npy file ends too early");
    const tensor = readTensor(buffer, offset, dtype, shape, order !== ">");
    return /'fortran_order':\s*True/.test(header) ? toRowMajor(tensor) : tensor;
}
