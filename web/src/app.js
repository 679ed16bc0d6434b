// app.js: the page's state in one place, and the pictures derived from it. Code that changes the state calls a method of App,
// which notifies the listeners registered with on():
//
//   "request"   the request or its labels changed        "run"      a new result arrived
//   "view"      what is shown, or how, changed           "cell"     the chosen cell changed
//   "lock"      other tokens are locked                  "zoom"     the heat map panned or zoomed
//   "busy"      a computation began or ended             "problem"  something failed, or that is over
//   "parts"     of weights too many to hold: a part arrived, or another is waited for

import { Problem, base, compute } from "./api.js";
import { aboutChanges, withChanges } from "./basis.js";
import { AUTO, Scale, extent, scaleFor } from "./color.js";
import { fetchResults } from "./fetch_results.js";
import { count } from "./format.js";
import { isAny, locked, sumsOf } from "./locks.js";
import { isLong, overview, withNarrowValues } from "./long.js";
import { LongRun, layersOf } from "./long_run.js";
import { MaskReasons } from "./mask_reasons.js";
import { PRESETS } from "./presets.js";
import { cellsOf, namesFor, tokensOf } from "./request.js";
import { readRequestFile } from "./request_file.js";
import { MEAN, ROLLOUT, Run, STAGES, VALUE_WEIGHTS } from "./run.js";
import { weightsRun } from "./weights.js";

const AUTO_RUN_CELLS_MAX = 1 << 19; // larger requests wait for the Run button

export const NO_LABELS = { rows: null, cols: null };
export const FIRST_CELLS = { layer: 0, batch: 0, head: 0, heads: [], cell: null, zoom: null, queries: [], keys: [], off: [], grid: null }; // of a request of another shape

export const TABS = ["map", "lines", "heads", "stages", "compare", "table", "yours", "image"];

export const VIEW_DEFAULTS = {
    ...FIRST_CELLS, tab: "map", stage: "weights", palette: "viridis", mode: AUTO, order: "",
    hideFirst: false, showReasons: false, threshold: 0.05, topk: 8, compare: "scale", patch: "", pairs: false, sums: true, fit: "crop", overlay: 0.6, smooth: false,
};

const SUMMED = ["weights", VALUE_WEIGHTS]; // the stages whose sums mean something

const runOf = (request, reply, options) => new (reply.tensors.has("pooled_weights") ? LongRun : Run)(request, reply, options);

class App {
    constructor() {
        this.listeners = new Map();
        this.request = {};
        this.weights = null; // the user's weights: nothing is computed
        this.preset = null;
        this.basis = null; // { preset, request, changes }: the preset that the request is made of, its request, and the fields that differ now
        this.items = null; // "layers": the batch's items are the layers of one model
        this.about = ""; // where the request comes from, if not from a preset or the form
        this.labels = NO_LABELS;
        this.view = { ...VIEW_DEFAULTS };
        this.run = null;
        this.pinned = null;
        this.yours = null; // { name, tensors }: what other code made of the request
        this.image = null; // { canvas, name }: the picture whose patches are the keys; neither sent nor in the address
        this.comparison = null; // in a self-contained copy: what the server found about them
        this.problem = null;
        this.busy = null;
        this.extents = new WeakMap();
        this.offline = false; // a self-contained copy of the page has no server
    }

    on(event, listener) {
        for (const name of event.split(" ")) this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
    }

    tell(event) {
        for (const listener of this.listeners.get(event) ?? []) listener();
    }

    // ---- the request ----

    // Labels stay if none are given.
    setRequest(request, { view = {}, preset = null, basis = null, labels = this.labels, items = null, about = "" } = {}) {
        Object.assign(this, { request, preset, basis, labels, items, about, weights: null });
        Object.assign(this.view, view);
        this.tell("request");
        return this.compute();
    }

    async usePreset(preset) {
        const { request: before, weights } = this, { id, stage, view: tab = "map", cell = null, batch = 0, head = 0 } = preset;
        const content = await this.contentOf(preset);
        if (!content || this.request !== before || this.weights !== weights) return undefined; // something else was chosen meanwhile
        const { request, ...more } = content, { palette, mode } = this.view;
        return this.setRequest(request, { view: { ...VIEW_DEFAULTS, palette, mode, stage, tab, cell, batch, head }, preset: id, labels: NO_LABELS, ...more });
    }

    // { request }, with the labels and items of the preset's file; undefined if that cannot be loaded.
    async contentOf(preset) {
        if (preset.request) return { request: structuredClone(preset.request) };
        try {
            const response = await fetch(new URL(document.body.dataset[preset.file], base));
            if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
            return readRequestFile(await response.arrayBuffer());
        } catch (error) {
            this.fail(new Error(`The preset's file cannot be loaded: ${error.message}`));
            return undefined;
        }
    }

    // Sets the fields in `changes`; undefined removes one.
    changeRequest(changes) {
        const request = { ...this.request, ...changes };
        for (const name of Object.keys(request)) if (request[name] === undefined) delete request[name];
        const from = this.preset ? { preset: this.preset, request: this.request, changes: {} } : this.basis, basis = from && withChanges(from, changes);
        if (basis && !Object.keys(basis.changes).length) Object.assign(this, { request: basis.request, preset: basis.preset, basis: null, about: "" });
        else Object.assign(this, { request, basis, weights: null, preset: null, about: basis ? aboutChanges(basis) : "" });
        this.tell("request");
    }

    // Shows weights as they are: nothing is computed.
    useWeights(tensor, { name = "the address", labels = NO_LABELS, view = {}, about = `Your weights, from ${name}; nothing is computed.` } = {}) {
        const run = weightsRun(tensor);
        Object.assign(this, { weights: tensor, weightsName: name, preset: null, basis: null, items: null, labels, about });
        Object.assign(this.view, { stage: "weights", ...FIRST_CELLS }, view);
        this.show(run);
    }

    // Shows a request with the reply that it got earlier.
    useReply(request, reply, { view = {}, labels = NO_LABELS, items = null, about = "", preset = null } = {}) {
        Object.assign(this, { request, labels, items, about, weights: null, preset, basis: null });
        Object.assign(this.view, view);
        this.show(runOf(request, reply, { items }));
    }

    // No request, no picture.
    clear() {
        this.cancel();
        this.run?.parts?.stop();
        Object.assign(this, { request: {}, about: "No request.", weights: null, preset: null, basis: null, items: null, labels: NO_LABELS, run: null });
        Object.assign(this.view, VIEW_DEFAULTS);
        this.tell("request");
        this.tell("run");
    }

    show(run) {
        this.cancel();
        this.tell("request");
        this.clearProblem();
        this.take(run);
    }

    // Whether the picture is of another request than the one in the form, which failed or has not been run.
    get stale() {
        return !this.weights && this.run !== null && this.run.request !== this.request;
    }

    get large() {
        return cellsOf(this.request) > AUTO_RUN_CELLS_MAX;
    }

    // ---- computing ----

    cancel() {
        this.controller?.abort();
        this.controller = null;
        if (this.busy) {
            this.busy = null;
            this.tell("busy");
        }
    }

    // Cancels the computation under way, if any, and runs `task`. Returns its result; undefined if it was cancelled or failed.
    async busyWith(text, task) {
        this.cancel();
        const controller = (this.controller = new AbortController());
        this.busy = text;
        this.tell("busy");
        try {
            const result = await task(controller.signal);
            return controller === this.controller ? result : undefined;
        } catch (error) {
            if (error.name === "AbortError") return undefined;
            if (controller === this.controller) this.fail(error);
            return undefined;
        } finally {
            if (controller === this.controller) {
                this.controller = null;
                this.busy = null;
                this.tell("busy");
            }
        }
    }

    fail(error) {
        this.problem = error instanceof Problem ? error : new Problem({ detail: error.message });
        this.tell("problem");
    }

    clearProblem() {
        this.problem = null;
        this.tell("problem");
    }

    async compute() {
        const { request, items } = this;
        if (this.weights) return;
        const reply = await this.busyWith(...this.firstOf(request));
        if (!reply) return;
        this.clearProblem();
        this.take(runOf(request, reply, { items }));
        await this.need(this.view.stage);
    }

    // The first computation of a request: its text and its task.
    firstOf(request) {
        if (!isLong(request)) return ["Computing", (signal) => compute(request, namesFor(request), signal)];
        const { names, fields } = overview(request);
        const { Tq, Tk } = tokensOf(request);
        return [`Computing ${fields.pool.join(" × ")} pooled weights of ${count(Tq)} × ${count(Tk)}`, (signal) => compute(withNarrowValues(request), names, signal, fields)];
    }

    take(run) {
        if (this.run !== run) this.run?.parts?.stop();
        this.run = run;
        if (run.parts) Object.assign(run, { onParts: () => run === this.run && this.tell("parts") });
        this.view.off = this.view.off.filter(([layer, head]) => !run.long && layer < run.layers && head < run.dims.H);
        run.switchOff(this.view.off);
        this.maskReasons = new MaskReasons(run);
        const { L, B, H, Tq, Tk } = run.dims, { view } = this, within = (x, most) => (Number.isInteger(x) ? Math.min(x, most - 1) : x === ROLLOUT && run.hasRollout ? x : run.hasMean || !run.long ? MEAN : 0);
        Object.assign(view, { layer: within(view.layer, L), batch: within(view.batch, B), head: within(view.head, H) });
        view.heads = view.heads.filter((head) => head === MEAN || head < H);
        Object.assign(view, { queries: view.queries.filter((i) => i < Tq && !run.long), keys: view.keys.filter((j) => j < Tk && !run.long) });
        if (!run.stages.some(({ name }) => name === view.stage)) view.stage = "weights";
        if (view.cell && (view.cell[0] >= Tq || (view.stage !== "output" && view.cell[1] >= Tk))) view.cell = null;
        this.tell("run");
    }

    // Fetches the results that the stages' pictures need. Returns whether all are here.
    async need(...stages) {
        return this.fetchResults([...new Set(stages.flatMap((stage) => this.run?.missing(stage) ?? []))]);
    }

    async fetchResults(names) {
        const { run } = this;
        if (!names.length) return true;
        if (this.offline) return false;
        const tensors = await this.busyWith(`Fetching ${names.join(", ")}`, (signal) => fetchResults(run, names, signal));
        if (!tensors) return false;
        run.add(tensors);
        if (run === this.run) this.tell("run");
        return true;
    }

    // ---- the view ----

    setView(changes) {
        Object.assign(this.view, changes);
        if (this.view.head === ROLLOUT && this.view.stage !== "weights") Object.assign(this.view, changes.stage ? { head: MEAN } : { stage: "weights" });
        // The output's columns are not keys.
        if (changes.stage && this.view.cell && this.view.cell[1] >= (this.matrix()?.cols ?? Infinity)) this.view.cell[1] = 0;
        if ("cell" in changes && Object.keys(changes).length === 1) this.tell("cell");
        else this.tell("view");
        if (changes.stage) this.need(changes.stage);
    }

    // As locked() has it; from: "last" is the token of this side that was locked last.
    lock(side, n, { add = false, from = null } = {}) {
        const last = this.lastLocked?.[side] ?? this.view[side].at(-1) ?? n, list = locked(this.view[side], n, { add, from: from === "last" ? last : from });
        if (from === null) this.lastLocked = { ...this.lastLocked, [side]: n };
        this.setLocks({ [side]: list });
    }

    // Switches a head off or on; `layer`: that which is shown, if none is given. Returns whether it is on now.
    switchHead(head, layer = this.run.layerAxis ? this.view[this.run.layerAxis] : 0) {
        const is = this.run.isOff(layer, head), others = this.view.off.filter((pair) => String(pair) !== String([layer, head]));
        this.setOff(is ? others : [...others, [layer, head]]);
        return is;
    }

    // `off`: [layer, head] pairs. What all heads make together is computed without them.
    setOff(off) {
        if (this.run.long) return;
        this.view.off = off;
        this.run.switchOff(off);
        this.tell("view");
        this.need(this.view.stage);
    }

    // Of weights too many to hold, nothing adds up rows and columns.
    setLocks(changes) {
        if (this.run?.long) return;
        Object.assign(this.view, changes);
        this.tell("lock");
    }

    get sumsPossible() {
        return SUMMED.includes(this.view.stage);
    }

    get hasLocks() {
        return isAny(this.view);
    }

    get stage() {
        return STAGES.find(({ name }) => name === this.view.stage);
    }

    // `place`: another { layer, batch } than those that are shown.
    at(head = this.view.head, place = this.view) {
        const { layer, batch } = this.view;
        return { layer: place.layer ?? layer, batch: place.batch ?? batch, head };
    }

    matrix(stage = this.view.stage, head = this.view.head, run = this.run, place = this.view) {
        return run?.matrix(stage, this.at(head, place)) ?? null;
    }

    // The range of values over all heads, so that their pictures share one colour scale.
    extent(stage, run = this.run, place = this.view) {
        const { layer, batch } = this.at(0, place), { hideFirst } = this.view, id = [stage, layer, batch, hideFirst, run.tensors.size].join();
        if (!this.extents.has(run)) this.extents.set(run, new Map());
        const known = this.extents.get(run);
        if (!known.has(id)) {
            const matrices = Array.from({ length: run.dims.H }, (_, head) => this.matrix(stage, head, run, place)).filter(Boolean).map((matrix) => matrix.pooled ?? matrix);
            known.set(id, extent(matrices, hideFirst && stage !== "output"));
        }
        return known.get(id);
    }

    scale(stage, of = this.extent(stage)) {
        const { mode, palette } = this.view, signed = STAGES.find(({ name }) => name === stage).signed || of.negative;
        return new Scale({ signed, palette, dark: isDark(), ...scaleFor(mode, of, signed) });
    }

    // The input of a heat map; null if the stage has not been fetched.
    picture(stage = this.view.stage, head = this.view.head) {
        const matrix = this.matrix(stage, head);
        return matrix && { ...this.pictureOf(matrix, stage, this.scale(stage), this.maskReasons, head), sums: this.sumsOf(matrix, stage) };
    }

    pictureOf(matrix, stage, scale, maskReasons, head = this.view.head, batch = this.view.batch) {
        const output = stage === "output", h = Number.isInteger(head) ? head : 0;
        const picture = {
            matrix, scale, stage,
            reasonBits: !output && maskReasons?.any ? (i, j) => maskReasons.bits(batch, h, i, j) : null,
            hidesMasked: ["weights", VALUE_WEIGHTS, "masked_scores", "bias"].includes(stage),
            showsReasons: this.view.showReasons && !output,
            hideFirst: this.view.hideFirst && !output,
            rowLabels: this.labels.rows,
            colLabels: output ? null : this.labels.cols,
            locked: this.lockedIn(stage),
        };
        return matrix.pooled ? layersOf(matrix, picture) : picture;
    }

    // The output's columns are no keys.
    lockedIn(stage) {
        const { queries, keys } = this.view;
        return { queries, keys: stage === "output" ? [] : keys };
    }

    // The sums beside a picture; null of stages whose numbers are not added up.
    sumsOf(matrix, stage) {
        if (!this.view.sums || !SUMMED.includes(stage)) return null;
        const all = this.lockedIn(stage), id = JSON.stringify(all);
        if (this.summed?.matrix !== matrix || this.summed.id !== id) this.summed = { matrix, id, sums: matrix.pooled ? matrix.sums() : sumsOf(matrix, all) };
        return this.summed.sums;
    }

    // Other code's results, a Map by name, beside the request's.
    useYours(tensors, name) {
        this.yours = { tensors, name };
        this.tell("view");
    }

    usePicture(image) {
        this.image = image;
        this.setView({ tab: "image", grid: null });
    }

    setLabels(labels) {
        this.labels = labels;
        this.tell("request");
        this.tell("view");
    }

    pin(run = this.run, name = this.name) {
        this.pinned = { run, name, maskReasons: new MaskReasons(run) };
        this.tell("view");
    }

    get name() {
        return this.weights ? this.weightsName : PRESETS.find(({ id }) => id === this.preset)?.title ?? "this request";
    }
}

export const isDark = () => {
    const { theme } = document.documentElement.dataset;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export const app = new App();
