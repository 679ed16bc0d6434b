// parts.js: fetches parts of weights that are too many to hold: one at a time, what is looked at first, what is no longer looked at not
// at all, and the last ones kept.

import { compute } from "./api.js";
import { partRequest } from "./long.js";

const KEPT_BYTES_MAX = 128 << 20, KEPT_MAX = 64;

const covers = (a, b) => a.batch === b.batch && a.head === b.head && a.i0 <= b.i0 && a.i1 >= b.i1 && a.j0 <= b.j0 && a.j1 >= b.j1 && b.names.every((name) => a.names.includes(name));

export class Parts {
    // onChange(): a part arrived, or what is waited for changed.
    constructor(run, onChange) {
        this.run = run;
        this.onChange = onChange;
        this.kept = []; // parts with { matrices: Map by name, sentBytes, bytes, elapsedMs }, the last used at the end
        this.wanted = new Map(); // what asked -> part; the first is the first to be fetched
        this.flight = null; // { part, controller }
        this.failed = null; // { part, error }
    }

    // The numbers of a stage at a cell; undefined: not fetched.
    at(name, batch, head, i, j) {
        const part = this.kept.findLast((one) => i >= one.i0 && i < one.i1 && j >= one.j0 && j < one.j1 && one.batch === batch && one.head === head && one.matrices.has(name));
        return part ? part.matrices.get(name).data[(i - part.i0) * (part.j1 - part.j0) + j - part.j0] : undefined;
    }

    // The part that has all of these cells; null: none has.
    find(name, batch, head, i0, j0, i1, j1) {
        return this.kept.findLast((part) => covers(part, { batch, head, i0, i1, j0, j1, names: [name] })) ?? null;
    }

    // The parts of one head, the last used at the end.
    of(name, batch, head) {
        return this.kept.filter((part) => part.batch === batch && part.head === head && part.names.includes(name));
    }

    // `asker` looks at `part`, or at nothing (null) any more. A part that failed is not fetched again until another is wanted.
    want(asker, part) {
        if (JSON.stringify(this.wanted.get(asker) ?? null) === JSON.stringify(part)) return;
        if (part) this.wanted.set(asker, part);
        else this.wanted.delete(asker);
        if (this.failed?.asker === asker) this.failed = null;
        this.step();
    }

    // Tries again what failed.
    retry() {
        this.failed = null;
        this.step();
    }

    stop() {
        this.wanted.clear();
        this.flight?.controller.abort();
    }

    next() {
        for (const [asker, part] of this.wanted) {
            const held = this.kept.findIndex((one) => covers(one, part));
            if (held < 0 && this.failed?.asker !== asker) return { asker, part };
            if (held >= 0) this.kept.push(...this.kept.splice(held, 1));
        }
        return null;
    }

    step() {
        if (this.flight) {
            if (![...this.wanted.values()].some((part) => covers(this.flight.part, part))) this.flight.controller.abort();
            return;
        }
        const next = this.next();
        if (next) this.fetch(next);
        this.onChange();
    }

    async fetch({ asker, part }) {
        const controller = new AbortController(), { request, fields } = partRequest(this.run, part);
        this.flight = { part, controller };
        try {
            this.keep(part, await compute(request, part.names, controller.signal, fields));
            this.failed = null;
        } catch (error) {
            if (error.name !== "AbortError") this.failed = { asker, part, error };
        }
        this.flight = null;
        this.step();
    }

    keep(part, { tensors, sentBytes, bytes, elapsedMs }) {
        const rows = part.i1 - part.i0, cols = part.j1 - part.j0, matrices = new Map();
        for (const name of part.names) { // of all items; of the one head that was asked for
            const { data } = tensors.get(name), start = part.batch * rows * cols;
            matrices.set(name, { rows, cols, data: data.length === rows * cols ? data : data.slice(start, start + rows * cols) });
        }
        this.kept.push({ ...part, matrices, sentBytes, bytes, elapsedMs });
        const size = () => this.kept.reduce((sum, one) => sum + 4 * one.names.length * (one.i1 - one.i0) * (one.j1 - one.j0), 0);
        while (this.kept.length > KEPT_MAX || (this.kept.length > 1 && size() > KEPT_BYTES_MAX)) this.kept.shift();
    }
}
