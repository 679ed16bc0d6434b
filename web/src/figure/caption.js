// caption.js: the words of a figure: what it shows, of which layer, item and head, and by which conventions it was computed.

import { app } from "../app.js";
import { conventions } from "../conventions.js";
import { phrase } from "../locks.js";
import { REASONS } from "../mask_reasons.js";
import { presetById } from "../presets.js";
import { MEAN, ROLLOUT, STAGES, VALUE_WEIGHTS } from "../run.js";
import { REASON_COLORS } from "../tile_cache.js";

const NAMES = {
    scores: ["Scores", "score"], capped_scores: ["Scores after the softcap", "capped score"], bias: ["What is added to the scores", "added to the score"],
    masked_scores: ["Masked scores", "masked score"], weights: ["Attention weights", "weight"], [VALUE_WEIGHTS]: ["Attention weights times the values' lengths", "weight × ‖v‖"], output: ["Output", "output"],
};

const titleOfStage = (stage) => STAGES.find(({ name }) => name === stage).title;

export const captionOf = (stage) => NAMES[stage]?.[0] ?? titleOfStage(stage);

// What a colour bar's numbers are.
export const barName = (stage) => NAMES[stage]?.[1] ?? titleOfStage(stage).toLowerCase();

// `head`: null names none.
export function placeName(head = app.view.head) {
    const { L, B, H } = app.run.dims, { layer, batch } = app.view, of = { [MEAN]: app.view.off.length ? "mean of the heads that are on" : "mean of all heads", [ROLLOUT]: "rollout from the first layer" };
    return [L > 1 && `layer ${layer}`, B > 1 && `${app.run.layerAxis === "batch" ? "layer" : "item"} ${batch}`, head !== null && (of[head] ?? (H > 1 && `head ${head}`))].filter(Boolean).join(", ");
}

export const titleOf = (stage, head) => [captionOf(stage), placeName(head)].filter(Boolean).join(", ");

const span = (name, from, to, all) => (from === 0 && to === all ? `${all} ${name}` : `${name} ${from} to ${to - 1} of ${all}`);

// Which tokens are locked, in a sentence; empty without any.
export function lockedCaption() {
    const { queries, keys } = app.view, of = (name, labels, list) => (list.length ? [`${name} ${phrase(labels, list)}`] : []);
    const all = [...of("queries", app.labels.rows, queries), ...of("keys", app.labels.cols, keys)];
    return all.length ? ` Not faded: ${all.join(", ")}.` : "";
}

// Which heads are off, in a sentence; empty if all are on.
export function offCaption() {
    const { off } = app.view, name = ([layer, head]) => (app.run.layers > 1 ? `${layer}.${head}` : head);
    return off.length ? ` Without ${off.length > 1 ? "heads" : "head"} ${off.map(name).join(", ")}${app.run.layers > 1 ? " (layer.head)" : ""}.` : "";
}

// How many queries and keys there are, or which of them are shown, and how masked cells look.
export function mapCaption({ matrix: { rows, cols }, stage, reasonBits, hidesMasked }, { i0, i1, j0, j1 } = { i0: 0, i1: rows, j0: 0, j1: cols }, masked = "Hatched: masked.") {
    const columns = stage === "output" ? "dimensions" : "keys";
    return `${span("queries", i0, i1, rows)}, ${span(columns, j0, j1, cols)}.`.replace(/^\w/, (letter) => letter.toUpperCase()) + (hidesMasked && reasonBits ? ` ${masked}` : "") + lockedCaption() + offCaption();
}

// The mask's reasons with their colours, where they are shown.
export function reasonsShown() {
    if (!app.view.showReasons) return [];
    return app.maskReasons.possible.map(({ name, title }) => ({ name: title, color: `rgb(${REASON_COLORS[REASONS.findIndex((reason) => reason.name === name)].rgb.join(",")})` }));
}

// What was computed, unless `said` has it, and by which conventions.
export function detailsOf(said) {
    const { run, preset } = app, applied = conventions(run.applied).join(", "), title = presetById(preset)?.title;
    const source = run.weightsOnly ? `Weights from ${app.name}.` : title && !said.includes(title) ? `${title}.` : "";
    return [source, applied && `${applied[0].toUpperCase()}${applied.slice(1)}.`].filter(Boolean).join(" ");
}
