// Attention from Node, without a package: node attention.mjs http://localhost:8080

// A safetensors file: the header's length in eight bytes, the header as JSON, the numbers.
function pack(tensors, fields) {
  const header = { __metadata__: { request: JSON.stringify(fields) } };
  let end = 0;
  for (const [name, { shape, data }] of Object.entries(tensors))
    header[name] = { dtype: "F32", shape, data_offsets: [end, (end += data.byteLength)] };
  let text = JSON.stringify(header);
  text = text.padEnd(Math.ceil(text.length / 8) * 8);
  const length = new BigUint64Array([BigInt(text.length)]);
  return new Blob([length, text, ...Object.values(tensors).map(({ data }) => data)]);
}

function unpack(buffer) {
  const length = Number(new BigUint64Array(buffer, 0, 1)[0]);
  const { __metadata__, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const tensors = {};
  for (const [name, { shape, data_offsets: [begin, end] }] of Object.entries(header))
    tensors[name] = { shape, data: new Float32Array(buffer.slice(8 + length + begin, 8 + length + end)) };
  return tensors;
}

async function attention(url, tensors, fields) {
  const type = "application/x-safetensors";
  const reply = await fetch(`${url}/attention`, {
    method: "POST",
    headers: { "Content-Type": type, Accept: type },
    body: pack(tensors, fields),
  });
  if (!reply.ok) throw new Error((await reply.json()).detail);
  return unpack(await reply.arrayBuffer());
}

const { output } = await attention(process.argv[2], {
  query: { shape: [2, 2], data: new Float32Array([1, 0, 0, 1]) },
  key: { shape: [2, 2], data: new Float32Array([1, 0, 0, 1]) },
  value: { shape: [2, 1], data: new Float32Array([10, 20]) },
}, { causal: true });
console.log(...[...output.data].map((x) => x.toFixed(4)));
