// pytorch_values.js: JSON values as Python and PyTorch write them.

import { isTensorObject } from "./tensor.js";

// A JSON value as Python writes it.
export const python = (value) => JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"|\b(true|false|null)\b/g, (all, word) =>
    (word ? { true: "True", false: "False", null: "None" }[word] : all));

const floats = (value) => python(value).replace(/"(-?)(NaN|Infinity|inf)"/gi, "float(\"$1$2\")");

// torch.tensor(..) of nested arrays, of {"shape", "data"}, or of one number.
export function tensorText(value, dtype) {
    if (!isTensorObject(value)) return `torch.tensor(${floats(value)}, dtype=torch.${dtype})`;
    return `torch.tensor(${floats(value.data)}, dtype=torch.${dtype}).reshape(${value.shape.join(", ")})`;
}

// PyTorch draws the same random numbers as attnd if tensors are made in attnd's order: x, context, value_context, key, query, value,
// projections.
export function tensorLine(name, value, dtype) {
    if (isTensorObject(value) && !value.data) return `${name} = torch.randn(${value.shape.join(", ")})${dtype === "float64" ? ".double()" : ""}`;
    return `${name} = ${tensorText(value, dtype)}`;
}
