// npz.js: reads NumPy's .npz, a ZIP file of .npy files.

import { readNumpy } from "./files.js";

const END = 0x06054b50, END_BYTES = 22, ENTRY = 0x02014b50, ENTRY_BYTES = 46, LOCAL_BYTES = 30;
const STORED = 0, DEFLATED = 8, ZIP64 = 0xffffffff;
const BROKEN = "this is not a .npz file, or it is damaged";

async function inflate(bytes) {
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer();
}

// The directory stands at the end of the file, before a comment of up to 64 KiB.
function findDirectory(view) {
    for (let at = view.byteLength - END_BYTES; at >= Math.max(0, view.byteLength - END_BYTES - 0xffff); at--)
        if (view.getUint32(at, true) === END) return { count: view.getUint16(at + 10, true), offset: view.getUint32(at + 16, true) };
    throw new Error(BROKEN);
}

function* entries(view) {
    const { count, offset } = findDirectory(view);
    for (let i = 0, at = offset; i < count; i++) {
        if (view.getUint32(at, true) !== ENTRY) throw new Error(BROKEN);
        const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
        const name = new TextDecoder().decode(new Uint8Array(view.buffer, at + ENTRY_BYTES, nameBytes));
        yield { name, method: view.getUint16(at + 10, true), bytes: view.getUint32(at + 20, true), header: view.getUint32(at + 42, true) };
        at += ENTRY_BYTES + nameBytes + extraBytes + commentBytes;
    }
}

// Returns a Map of name to Tensor.
export async function readNpz(buffer) {
    const view = new DataView(buffer), tensors = new Map();
    for (const { name, method, bytes, header } of entries(view)) {
        if (bytes === ZIP64 || header === ZIP64) throw new Error("the page does not read .npz files over 4 GB");
        if (method !== STORED && method !== DEFLATED) throw new Error(`the page does not read the compression of ${name}`);
        const start = header + LOCAL_BYTES + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
        const content = new Uint8Array(buffer, start, bytes);
        tensors.set(name.replace(/\.npy$/, ""), readNumpy(method === STORED ? content.slice().buffer : await inflate(content)));
    }
    if (!tensors.size) throw new Error("this .npz file is empty");
    return tensors;
}
