// What a user would write around ONNX Runtime in Node: POST /attention with query, key and value as JSON; the output comes back.
//
//   node node_app.mjs PORT MODEL.onnx THREADS

import { createServer } from "node:http";
import ort from "onnxruntime-node";

const [port, model, threads] = process.argv.slice(2);
const session = await ort.InferenceSession.create(model, { intraOpNumThreads: Number(threads), interOpNumThreads: 1 });

function tensor(nested) {
    const shape = [];
    for (let at = nested; Array.isArray(at); at = at[0]) shape.push(at.length);
    return new ort.Tensor("float32", Float32Array.from(nested.flat(Infinity)), shape);
}

function nest(data, shape) {
    let level = Array.from(data);
    for (const size of shape.slice(1).reverse()) {
        const rows = [];
        for (let i = 0; i < level.length; i += size) rows.push(level.slice(i, i + size));
        level = rows;
    }
    return level;
}

createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { query, key, value } = JSON.parse(Buffer.concat(pieces));
    const { Y } = await session.run({ Q: tensor(query), K: tensor(key), V: tensor(value) });
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ output: nest(Y.data, Y.dims) }));
}).listen(Number(port), "127.0.0.1");
