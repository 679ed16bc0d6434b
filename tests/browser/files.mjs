// files.mjs: files as other programs write them, and dropping them on the page.

import { spawnSync } from "node:child_process";

// Drops files on the page, as from a desktop. `files`: [name, text or bytes].
export async function drop(page, files) {
    const plain = files.map(([name, content]) => [name, typeof content === "string" ? [...Buffer.from(content)] : [...content]]);
    const transfer = await page.evaluateHandle((list) => {
        const data = new DataTransfer();
        for (const [name, bytes] of list) data.items.add(new File([new Uint8Array(bytes)], name));
        return data;
    }, plain);
    await page.dispatchEvent("body", "dragenter", { dataTransfer: transfer });
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

const NPY_ARRAYS = { f4: Float32Array, f8: Float64Array, u2: Uint16Array, i4: Int32Array };

// A ZIP file as numpy.savez and savez_compressed write it. `files`: [name, bytes].
export function npz(files, method) {
    const script = `import base64, io, json, sys, zipfile
files = json.load(sys.stdin)
out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.${method}) as archive:
    for name, data in files:
        with archive.open(name, "w", force_zip64=True) as f: f.write(base64.b64decode(data))
sys.stdout.buffer.write(out.getvalue())`;
    const input = JSON.stringify(files.map(([name, bytes]) => [name, bytes.toString("base64")]));
    return spawnSync("python3", ["-c", script], { input }).stdout;
}

// NumPy's format, version 1.0.
export function npy(shape, numbers, { type = "<f4", fortran = false } = {}) {
    const text = `{'descr': '${type}', 'fortran_order': ${fortran ? "True" : "False"}, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
    const header = text.padEnd(64 * Math.ceil((11 + text.length) / 64) - 11) + "\n";
    const data = NPY_ARRAYS[type.slice(1)].from(numbers), bytes = Buffer.from(data.buffer);
    if (type[0] === ">") bytes[`swap${8 * data.BYTES_PER_ELEMENT}`]();
    const head = Buffer.alloc(10);
    head.write("\x93NUMPY\x01\x00", "latin1");
    head.writeUInt16LE(header.length, 8);
    return Buffer.concat([head, Buffer.from(header, "latin1"), bytes]);
}

// tensors: { name: [dtype, shape, bytes] }
export function safetensors(tensors, metadata) {
    const header = metadata ? { __metadata__: metadata } : {}, parts = [];
    let at = 0;
    for (const [name, [dtype, shape, data]] of Object.entries(tensors)) {
        const bytes = Buffer.from(data.buffer);
        header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
        at += bytes.length;
        parts.push(bytes);
    }
    const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    return Buffer.concat([length, text, ...parts]);
}
