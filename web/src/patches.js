// patches.js: keys that are patches of a picture: [rows, cols, special], a grid that is read row by row after `special` tokens, such as
// CLS and registers.

const SPECIAL = [0, 1, 5, 2, 3, 4, 6, 7, 8]; // how many there may be, by how often models have them
const ASPECT_TOLERANCE = 0.12;
const sideOf = (n) => (Number.isInteger(Math.sqrt(n)) ? Math.sqrt(n) : 0);

export const isGrid = ([rows, cols, special], keys) => rows > 0 && cols > 0 && special >= 0 && rows * cols + special === keys;

const pairsOf = (n) => Array.from({ length: n }, (_, i) => i + 1).filter((rows) => n % rows === 0).map((rows) => [rows, n / rows]);

const distance = ([rows, cols], aspect) => Math.abs(Math.log(cols / rows / aspect));

// The [rows, columns] of n patches nearest to a width / height; of two as near, the wider.
const nearestPair = (n, aspect) => pairsOf(n).reduce((best, pair) => (distance(pair, aspect) < distance(best, aspect) - 1e-9 ? pair : best));

// The grid of `keys` keys: a square one if there is one, as most models make of any picture; else the one nearest to the picture's
// width / height, if any is near; else the most square one without special tokens.
export function guessGrid(keys, aspect = 1) {
    for (const special of SPECIAL) if (keys - special > 1 && sideOf(keys - special)) return [sideOf(keys - special), sideOf(keys - special), special];
    const fitting = SPECIAL.filter((special) => keys > special).map((special) => [...nearestPair(keys - special, aspect), special]).find((grid) => distance(grid, aspect) < ASPECT_TOLERANCE);
    return fitting ?? [...nearestPair(keys, 1), 0];
}

// The grid after one of its numbers ("rows", "cols" or "special") was changed; the others follow. Null: there is none.
export function changedGrid([rows, cols, special], name, value, keys) {
    if (!Number.isInteger(value) || value < (name === "special" ? 0 : 1)) return null;
    const patches = keys - (name === "special" ? value : special);
    if (name === "special") return patches < 1 ? null : sideOf(patches) ? [sideOf(patches), sideOf(patches), value] : [...nearestPair(patches, cols / rows), value];
    if (patches % value) return null;
    return name === "rows" ? [value, patches / value, special] : [patches / value, value, special];
}

// Which part of a picture the grid covers, [left, top, width, height] in its pixels. fit "crop": the largest part of the grid's shape in
// the middle; "stretch": all of it.
export function partOf(width, height, [rows, cols], fit) {
    if (fit === "stretch") return [0, 0, width, height];
    const scale = Math.min(width / cols, height / rows), w = cols * scale, h = rows * scale;
    return [(width - w) / 2, (height - h) / 2, w, h];
}

// What a query gives: { patches, special }, sums, and { row, col, most }, its largest patch.
export function attentionOf(weights, [, cols, special]) {
    let patches = 0, rest = 0, at = special;
    weights.forEach((x, j) => {
        if (j < special) rest += x;
        else patches += x;
        if (j >= special && x > weights[at]) at = j;
    });
    return { patches, special: rest, most: weights[at], row: Math.floor((at - special) / cols), col: (at - special) % cols };
}
