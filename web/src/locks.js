// locks.js: locked tokens, { queries, keys }, lists of indices in rising order: their rows and columns stay while others fade, and their
// weights are added up.

import { cut, visible } from "./format.js";

export const QUERIES = "queries", KEYS = "keys";
const PHRASE_CHARACTERS = 40;

const rising = (list) => [...new Set(list)].sort((a, b) => a - b);

// As lists of files are chosen from: a click takes one alone, or lets go of it; add: with what is there; `from`: all from there on.
export function locked(list, n, { add = false, from = null } = {}) {
    if (from !== null) {
        const low = Math.min(from, n), span = Array.from({ length: Math.abs(from - n) + 1 }, (_, i) => low + i);
        return add ? rising([...list, ...span]) : span;
    }
    if (!list.includes(n)) return add ? rising([...list, n]) : [n];
    return add ? list.filter((other) => other !== n) : list.length === 1 ? [] : [n];
}

// Neighbours together, as [first, end).
export function runsOf(list) {
    const runs = [];
    for (const n of list) {
        if (runs.length && runs.at(-1)[1] === n) runs.at(-1)[1]++;
        else runs.push([n, n + 1]);
    }
    return runs;
}

// The runs between those of the list, up to `count`.
export function gapsOf(list, count) {
    const gaps = [];
    let at = 0;
    for (const [first, end] of [...runsOf(list), [count, count]]) {
        if (first > at) gaps.push([at, first]);
        at = end;
    }
    return gaps;
}

export const isAny = ({ queries, keys }) => queries.length + keys.length > 0;

export const isLit = (all, i, j) => all.queries.includes(i) || all.keys.includes(j);

const wholes = new WeakMap(); // what each key receives from all queries, of matrices looked at

// What each key receives from the locked queries, or from all; and what each query gives to the locked keys, null where none are locked.
export function sumsOf({ rows, cols, data }, { queries, keys }) {
    const received = new Float64Array(cols), given = keys.length ? new Float64Array(rows) : null;
    const add = (i) => {
        for (let j = 0, at = i * cols; j < cols; j++, at++) received[j] += data[at];
    };
    if (queries.length) queries.forEach(add);
    else if (wholes.has(data)) received.set(wholes.get(data));
    else {
        for (let i = 0; i < rows; i++) add(i);
        wholes.set(data, received);
    }
    if (given) for (let i = 0; i < rows; i++) for (const j of keys) given[i] += data[i * cols + j];
    return { received, given };
}

// What the locked queries, or all, give to the locked keys on average.
export function shareOf(matrix, { queries, keys }) {
    const { given } = sumsOf(matrix, { queries, keys }), of = queries.length ? queries.map((i) => given[i]) : [...given];
    return of.reduce((a, b) => a + b, 0) / of.length;
}

// Tokens as people read them: a phrase for each run, pieces of a word joined; numbers where there are no labels.
export function phrase(labels, list) {
    return runsOf(list).map(([first, end]) => {
        const texts = labels?.slice(first, end) ?? [];
        if (texts.length < end - first) return end - first > 1 ? `${first}–${end - 1}` : String(first);
        return `“${cut(texts.map(visible).join(" ").replaceAll(" ·", ""), PHRASE_CHARACTERS)}”`;
    }).join(", ");
}
