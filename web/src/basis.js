// basis.js: a request that is a preset's, but for some fields: { preset, request, changes }, the preset, its request, and what differs.

import { presetById } from "./presets.js";
import { Tensor } from "./tensor.js";

export const aboutChanges = ({ preset, changes }) => `“${presetById(preset).title}”, with another ${Object.keys(changes).filter((name) => name !== "mask_semantics").join(", ")}.`;

const same = (a, b) => a === b || (!(a instanceof Tensor) && JSON.stringify(a) === JSON.stringify(b));

// The changes, and those before, as far as they make a difference.
export const withChanges = ({ preset, request, changes: before }, changes) =>
    ({ preset, request, changes: Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([name, value]) => !same(value, request[name]))) });
