// fetch_results.js: results of a run that the page does not have yet, the output without the heads that are off among them.

import { compute } from "./api.js";
import { withoutHeads } from "./mask_edit.js";

// `names`: as run.missing() gives them. Returns a Map by name.
export async function fetchResults(run, names, signal) {
    const plain = names.filter((name) => name === "output" || name !== run.outputName), tensors = plain.length ? (await compute(run.request, plain, signal)).tensors : new Map();
    if (plain.length === names.length) return tensors;
    const { tensors: without } = await compute(withoutHeads(run.request, run, run.off), ["output"], signal);
    return tensors.set(run.outputName, without.get("output"));
}
