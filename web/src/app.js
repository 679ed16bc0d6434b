// app.js: the page's one state, and what is drawn from it. Views read it; whoever changes it calls one of its methods, and all
// who asked with on() hear of it.
//
//   "request"   the request or its labels changed        "run"    there is a new result (or none)
//   "view"      what is looked at, and how, changed      "cell"   the chosen cell changed
//   "busy"      a computation began or ended             "problem"  something failed (null: no more)

import { Problem, compute, plainRequest } from "./api.js";
import { Bans } from "./mask_reasons.js";
import { Scale, extent } from "./color.js";
import { PRESETS } from "./presets.js";
import { MEAN, Run, STAGES, namesFor, ownRun } from "./run.js";
import { Tensor } from "./tensor.js";

export const VIEW_DEFAULTS = {
    tab: "map", stage: "weights", layer: 0, batch: 0, head: 0, heads: [], cell: null, palette: "viridis", mode: "linear",
    hideFirst: false, layers: false, threshold: 0.05, topk: 8, compare: "float64", patch: "",
};

// Cells of one stage over all heads and items, guessed from the request alone; 0 where it does not tell.
export function cellsOf(request) {
    const shape = (t) => t?.shape ?? (Array.isArray(t) ? shapeOfNested(t) : null);
    const q = shape(request.query ?? request.x), k = shape(request.key ?? request.context ?? request.x);
    if (!q || !k || q.length < 2 || k.length < 2) return 0;
    const token = (s) => (s.length === 4 && request.layout === "bthd" ? s[1] : s.at(-2));
    const lead = q.length === 4 ? q[0] * (request.layout === "bthd" ? q[2] : q[1]) : (q.length === 3 ? q[0] : 1) * (request.num_heads ?? 1);
    return lead * token(q) * (token(k) + (shape(request.past_key)?.at(-2) ?? 0));
}

function shapeOfNested(value) {
    const shape = [];
    for (let at = value; Array.isArray(at); at = at[0]) shape.push(at.length);
    return shape;
}

class App {
    constructor() {
        this.listeners = new Map();
        this.request = {};
        this.own = null; // the user's weights; then nothing is computed
        this.preset = null;
        this.labels = { rows: null, cols: null };
        this.view = { ...VIEW_DEFAULTS };
        this.run = null;
        this.pinned = null;
        this.problem = null;
        this.busy = null;
        this.extents = new WeakMap();
        this.offline = false; // a standalone copy: there is nobody to ask
    }

    on(event, listener) {
        for (const name of event.split(" ")) this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
    }

    tell(event) {
        for (const listener of this.listeners.get(event) ?? []) listener();
    }

    // ---- what is asked ----

    setRequest(request, { view = {}, preset = null, labels } = {}) {
        this.request = request;
        this.own = null;
        this.preset = preset;
        if (labels) this.labels = labels;
        Object.assign(this.view, view);
        this.tell("request");
        return this.compute();
    }

    usePreset(preset) {
        const view = { ...VIEW_DEFAULTS, palette: this.view.palette, mode: this.view.mode, stage: preset.stage, tab: preset.view ?? "map", cell: preset.cell ?? null };
        return this.setRequest(structuredClone(preset.request), { view, preset: preset.id, labels: { rows: null, cols: null } });
    }

    stepPreset(step) {
        const at = PRESETS.findIndex(({ id }) => id === this.preset);
        return this.usePreset(PRESETS[(at + step + PRESETS.length) % PRESETS.length]);
    }

    // The form's fields change one at a time; `undefined` leaves a field out.
    changeRequest(changes) {
        const request = { ...this.request, ...changes };
        for (const name of Object.keys(request)) if (request[name] === undefined) delete request[name];
        this.request = request;
        this.own = null;
        this.preset = null;
        this.tell("request");
    }

    useOwn(tensor, name = "own weights") {
        const run = ownRun(tensor);
        this.cancel();
        Object.assign(this, { own: tensor, ownName: name, preset: null, problem: null });
        Object.assign(this.view, { stage: "weights", layer: 0, batch: 0, head: 0, heads: [], cell: null });
        this.tell("request");
        this.tell("problem");
        this.take(run);
    }

    get large() {
        return cellsOf(this.request) > 1 << 19;
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

    // Runs `task` as the one computation under way. Returns its result; undefined where it was cancelled or failed.
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

    async compute() {
        const request = this.request;
        const names = namesFor(request, cellsOf(request));
        const reply = await this.busyWith("Computing", (signal) => compute(request, names, signal));
        if (!reply) return;
        this.problem = null;
        this.tell("problem");
        this.take(new Run(request, reply));
        await this.need(this.view.stage);
    }

    take(run) {
        this.run = run;
        this.bans = new Bans(run);
        const { L, B, H, Tq, Tk } = run.dims, { view } = this, within = (x, most) => (x === MEAN ? x : Math.min(x, most - 1));
        Object.assign(view, { layer: within(view.layer, L), batch: within(view.batch, B), head: within(view.head, H) });
        view.heads = view.heads.filter((head) => head === MEAN || head < H);
        if (!run.stages.some(({ name }) => name === view.stage)) view.stage = "weights";
        if (view.cell && (view.cell[0] >= Tq || (view.stage !== "output" && view.cell[1] >= Tk))) view.cell = null;
        this.tell("run");
    }

    // Fetches what a stage's picture needs. Returns false where it could not.
    async need(...stages) {
        const run = this.run, names = [...new Set(stages.flatMap((stage) => run?.missing(stage) ?? []))];
        if (!names.length) return true;
        if (this.offline) return false;
        const reply = await this.busyWith(`Fetching ${names.join(", ")}`, (signal) => compute(run.request, names, signal));
        if (!reply) return false;
        run.add(reply.tensors);
        if (run === this.run) this.tell("run");
        return true;
    }

    // ---- what is looked at ----

    setView(changes) {
        Object.assign(this.view, changes);
        // The output's columns are no keys.
        if (changes.stage && this.view.cell && this.view.cell[1] >= (this.matrix()?.cols ?? Infinity)) this.view.cell[1] = 0;
        if ("cell" in changes && Object.keys(changes).length === 1) this.tell("cell");
        else this.tell("view");
        if (changes.stage) this.need(changes.stage);
    }

    get stage() {
        return STAGES.find(({ name }) => name === this.view.stage);
    }

    at(head = this.view.head) {
        const { layer, batch } = this.view;
        return { layer, batch, head };
    }

    matrix(stage = this.view.stage, head = this.view.head, run = this.run) {
        return run?.matrix(stage, { ...this.at(), head }) ?? null;
    }

    // Over all heads, so that their pictures can be compared.
    extent(stage, run = this.run) {
        const { layer, batch, hideFirst } = this.view, id = [stage, layer, batch, hideFirst, run.tensors.size].join();
        if (!this.extents.has(run)) this.extents.set(run, new Map());
        const known = this.extents.get(run);
        if (!known.has(id)) {
            const matrices = Array.from({ length: run.dims.H }, (_, head) => this.matrix(stage, head, run)).filter(Boolean);
            known.set(id, extent(matrices, hideFirst && stage !== "output"));
        }
        return known.get(id);
    }

    scale(stage, { max, negative } = this.extent(stage)) {
        const { signed } = STAGES.find(({ name }) => name === stage), { mode, palette } = this.view;
        return new Scale({ signed: signed || negative, mode, palette, max, dark: isDark() });
    }

    // What a heat map draws; null where the stage is not here.
    picture(stage = this.view.stage, head = this.view.head) {
        const matrix = this.matrix(stage, head);
        return matrix && this.pictureOf(matrix, stage, this.scale(stage), this.bans, head);
    }

    pictureOf(matrix, stage, scale, bans, head = this.view.head) {
        const output = stage === "output", batch = this.view.batch, h = head === MEAN ? 0 : head;
        return {
            matrix, scale, stage,
            bits: !output && bans?.any ? (i, j) => bans.bits(batch, h, i, j) : null,
            bansHide: stage === "weights" || stage === "masked_scores" || stage === "bias",
            layers: this.view.layers && !output,
            hideFirst: this.view.hideFirst && !output,
            rowLabels: this.labels.rows,
            colLabels: output ? null : this.labels.cols,
        };
    }

    setLabels(labels) {
        this.labels = labels;
        this.tell("request");
        this.tell("view");
    }

    pin() {
        this.pinned = { run: this.run, name: this.name, bans: this.bans };
        this.tell("view");
    }

    get name() {
        return this.own ? this.ownName : PRESETS.find(({ id }) => id === this.preset)?.title ?? "this request";
    }

    // Whether a link can hold all of the state.
    get plain() {
        return plainRequest(this.request);
    }
}

export const isDark = () => {
    const { theme } = document.documentElement.dataset;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export const app = new App();
export { Tensor };
