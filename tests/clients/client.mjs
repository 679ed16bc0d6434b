// JavaScript with fetch against a running daemon, no package beside: the documents' examples, safetensors, binary tensors. Prints TAP.
//
//   tests/clients/examples.py | node tests/clients/client.mjs HOST:PORT
import { readFileSync } from "node:fs";

const url = `http://${process.argv[2]}`;
const safetensors = "application/x-safetensors";
const rest = "…";
let count = 0;
let failed = 0;

function check(name, passed, difference = "") {
  count++;
  if (!passed) failed++;
  console.log(`${passed ? "ok" : "not ok"} ${count} - ${name}${passed ? "" : ` ${difference}`}`);
}

function near(a, b, tolerance = 1e-6) {
  return Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a));
}

// Whether `got` is what `want` says; the text "…" stands for the rest of an array or an object.
function fits(want, got) {
  if (typeof want === "number") return typeof got === "number" && near(want, got);
  if (Array.isArray(want)) {
    const open = want.at(-1) === rest;
    const wanted = open ? want.slice(0, -1) : want;
    return Array.isArray(got) && (open ? got.length >= wanted.length : got.length === wanted.length) &&
      wanted.every((w, i) => fits(w, got[i]));
  }
  if (want !== null && typeof want === "object") {
    const names = Object.keys(want).filter((name) => name !== rest);
    return names.every((name) => name in got && fits(want[name], got[name])) &&
      (rest in want || Object.keys(got).length === names.length);
  }
  return want === got;
}

// {name: {shape, data: Float32Array}} to the bytes of a file.
function save(tensors, request) {
  const header = { __metadata__: { request: JSON.stringify(request) } };
  let end = 0;
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype: "F32", shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  for (const [name, { data }] of Object.entries(tensors))
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 8 + text.length + header[name].data_offsets[0]);
  return bytes;
}

function load(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  delete header.__metadata__;
  const tensors = {};
  for (const [name, { shape, data_offsets: [begin, end] }] of Object.entries(header))
    tensors[name] = { shape, data: new Float32Array(buffer.slice(8 + length + begin, 8 + length + end)) };
  return tensors;
}

async function post(path, body, headers) {
  return fetch(url + path, { method: "POST", headers, body });
}

for (const { name, path, request, reply } of JSON.parse(readFileSync(0, "utf8"))) {
  const answer = await (await post(path, JSON.stringify(request), { "Content-Type": "application/json" })).json();
  check(name, fits(reply, answer), JSON.stringify(answer).slice(0, 400));
}

const query = new Float32Array([1, 0, 0, 1]);
const value = new Float32Array([10, 20]);
const file = save({
  query: { shape: [2, 2], data: query },
  key: { shape: [2, 2], data: query },
  value: { shape: [2, 1], data: value },
}, { causal: true });
const reply = await post("/attention", file, { "Content-Type": safetensors, Accept: safetensors });
check("safetensors: type", reply.status === 200 && reply.headers.get("Content-Type") === safetensors);
const { output, weights } = load(await reply.arrayBuffer());
check("safetensors: output", output.data.length === 2 && output.data[0] === 10 && near(output.data[1], 16.697615));
check("safetensors: weights", `${weights.shape}` === "2,2" && weights.data[1] === 0 && near(weights.data[3], 0.66976154));

const json = new TextEncoder().encode(JSON.stringify({
  parameters: { binary_data_output: true },
  inputs: [["Q", [1, 1, 2, 2], 16], ["K", [1, 1, 2, 2], 16], ["V", [1, 1, 2, 1], 8]].map(([name, shape, size]) =>
    ({ name, shape, datatype: "FP32", parameters: { binary_data_size: size } })),
}));
const binary = await post("/v2/models/attention/infer", new Blob([json, query, query, value]),
  { "Inference-Header-Content-Length": `${json.length}` });
const split = Number(binary.headers.get("Inference-Header-Content-Length"));
const bytes = await binary.arrayBuffer();
const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 0, split)));
const y = new Float32Array(bytes.slice(split));
check("binary tensors", head.outputs[0].parameters.binary_data_size === 8 && near(y[0], 13.302385) && near(y[1], 16.697615));

const large = await (await post("/attention", JSON.stringify({
  seed: 1, x: { shape: [400, 4] }, projection: "identity", return: ["weights"] }), {})).json();
check("a large reply, compressed on the way", large.weights.length === 400 && near(large.weights[7].reduce((a, b) => a + b), 1, 1e-5));

const problem = await post("/attention", '{"querry": 1}', {});
check("an error", problem.status === 422 && (await problem.json()).pointer === "/querry");

console.log(`1..${count}`);
process.exitCode = failed === 0 ? 0 : 1;
