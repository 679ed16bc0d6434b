// yours.js: what other code made of the request: tensors from files, patches applied, and what weights from anywhere must hold.

import { readNumpy, readSafetensors } from "./files.js";
import { readNpz } from "./npz.js";
import { Tensor, isTensorObject, parseJson, shapeText, tensorFromJson } from "./tensor.js";

export const RESULTS = ["scores", "capped_scores", "masked_scores", "lse", "weights", "mean_weights", "output"];
const SHORT_NAMES = { out: "output", o: "output", attn: "weights", attention: "weights", attentions: "weights", attn_weights: "weights", attention_weights: "weights" };
const SUM_TOLERANCE = 0.01; // float16 and printed decimals stay within it

// ---- reading ----

function readJson(text, stem) {
    const value = parseJson(text), given = value?.expected ?? value;
    if (Array.isArray(given) || isTensorObject(given)) return new Map([[stem, tensorFromJson(given)]]);
    return new Map(Object.entries(given ?? {}).filter(([name]) => resultOf(name)).map(([name, tensor]) => [name, tensorFromJson(tensor)]));
}

async function readFile(file) {
    const buffer = await file.arrayBuffer(), stem = file.name.replace(/\.\w+$/, "");
    if (file.name.endsWith(".npy")) return new Map([[stem, readNumpy(buffer)]]);
    if (file.name.endsWith(".npz")) return readNpz(buffer);
    if (file.name.endsWith(".safetensors")) return readSafetensors(buffer).tensors;
    return readJson(new TextDecoder().decode(buffer), stem);
}

function resultOf(name) {
    const plain = name.toLowerCase().replace(/^expected\./, "");
    return RESULTS.includes(plain) ? plain : SHORT_NAMES[plain];
}

// A tensor whose name says nothing is the result that has its shape.
function resultOfShape(tensor, run) {
    for (const name of ["output", "weights", "lse"])
        if (run && String(run.tensors.get(name)?.shape) === String(tensor.shape)) return name;
    return null;
}

// The results in the files, a Map by name. Throws an Error that says what is wrong.
export async function readYours(files, run) {
    const found = new Map(), unknown = [];
    for (const file of files) {
        for (const [name, tensor] of await readFile(file)) {
            const result = resultOf(name) ?? resultOfShape(tensor, run);
            if (result) found.set(result, tensor);
            else unknown.push(`${name} ${shapeText(tensor.shape)}`);
        }
    }
    if (found.size) return found;
    const shapes = ["output", "weights"].map((name) => `${name} ${shapeText(run?.tensors.get(name)?.shape ?? [])}`).join(" nor ");
    throw new Error(unknown.length ? `${unknown.join(", ")}: shaped neither as ${shapes} of this request; name the file output.npy or weights.npy` : "there are no tensors in it");
}

// ---- JSON Patch ----

// A copy of the request with the patch (RFC 6902: add, remove, move of members of objects) applied.
export function applyPatch(request, patch) {
    const out = { ...request };
    const parentOf = (path) => {
        const names = path.split("/").slice(1), last = names.pop();
        let parent = out;
        for (const name of names) parent = parent[name] = { ...parent[name] };
        return [parent, last];
    };
    for (const { op, path, from, value } of patch) {
        const [parent, name] = parentOf(path);
        if (op === "move") {
            const [source, old] = parentOf(from);
            parent[name] = source[old];
            delete source[old];
        } else if (op === "add") parent[name] = value;
        else delete parent[name];
    }
    return out;
}

// ---- checks ----

// What a softmax's weights hold, each as { ok, text }.
export function checksOf({ shape, data }) {
    const cols = shape.at(-1), rows = data.length / cols, Tq = shape.at(-2);
    let wrongSums = 0, zeros = 0, negative = 0, notFinite = 0, above = 0, all = 0;
    for (let row = 0; row < rows; row++) {
        let sum = 0;
        for (let j = 0; j < cols; j++) {
            const x = data[row * cols + j];
            if (!Number.isFinite(x)) notFinite++;
            else if (x < 0) negative++;
            sum += x;
            if (Number.isFinite(x) && j > row % Tq) above += x;
        }
        all += Number.isFinite(sum) ? sum : 0;
        zeros += sum === 0;
        wrongSums += !(Math.abs(sum - 1) <= SUM_TOLERANCE) && sum !== 0;
    }
    const share = all ? above / all : 0;
    return [
        { ok: !wrongSums, text: wrongSums ? `${wrongSums} of ${rows} rows do not sum to 1` : `every row sums to 1${zeros ? `, but for ${zeros} of zeros` : ""}` },
        { ok: !negative, text: negative ? `${negative} negative numbers: these may be scores` : "no negative numbers" },
        { ok: !notFinite, text: notFinite ? `${notFinite} numbers are NaN or infinite` : "no NaN, no infinity" },
        { ok: true, text: share ? `${(100 * share).toPrecision(3)} % of the mass lies above the diagonal: not causal from the top left` : "no mass above the diagonal: causal from the top left" },
    ];
}

// ---- the address ----

export const toLink = ({ name, tensors }) => ({ name, tensors: Object.fromEntries([...tensors].map(([key, { shape, data }]) => [key, { shape, data: Array.from(data, (x) => (Number.isFinite(x) ? Number(x.toPrecision(8)) : String(x))) }])) });

export const fromLink = ({ name, tensors }) => ({ name, tensors: new Map(Object.entries(tensors).filter(([key]) => RESULTS.includes(key)).map(([key, value]) => [key, tensorFromJson(value)])) });

export const isLinked = (value) => typeof value?.name === "string" && value.tensors !== null && typeof value.tensors === "object"
    && Object.values(value.tensors).every((tensor) => isTensorObject(tensor) && Array.isArray(tensor.data));

export const sizeOf = ({ tensors }) => [...tensors.values()].reduce((sum, tensor) => sum + (tensor instanceof Tensor ? tensor.size : 0), 0);
