// captions.mjs: what the presets' captions say is so, in the numbers that the daemon computes. The sentence's is in numbers.mjs.

import { PRESETS, presetById } from "../../web/src/presets.js";
import { ask, equal, near, ok, test } from "./harness.mjs";

const AS_PRINTED = 0.5e-4 + 1e-9;
const sum = (row) => row.reduce((a, b) => a + b, 0);
const sees = (weights, rule) => weights.forEach((row, i) => row.forEach((x, j) => equal([i, j, x > 0], [i, j, rule(i, j)], "who sees whom")));

const CAPTIONS = {
    async averages(numbers) {
        const { weights, output, x } = await ask(presetById("averages").request, ["weights", "output", "x"]);
        equal(numbers, ["0", "7", "8", "1", "8"], "scale 0, row 7, 8 tokens, 1/8");
        near(weights[0][7], Array(8).fill(1 / 8), AS_PRINTED, "row 7");
        near(output[0], x[0].map((_, t) => [0, 1].map((c) => sum(x[0].slice(0, t + 1).map((token) => token[c])) / (t + 1))), AS_PRINTED, "means so far");
    },
    async raw(numbers) {
        const { scores } = await ask(presetById("raw").request, ["scores"]);
        equal(numbers, ["5", scores[0][5][4].toFixed(2), "4", scores[0][5][5].toFixed(2)], "query 5's scores");
        ok(scores.flat(2).every(Number.isFinite), "nothing is masked");
    },
    async masked() {
        const { masked_scores: masked } = await ask(presetById("masked").request, ["masked_scores"]), { scores } = await ask(presetById("raw").request, ["scores"]);
        masked[0].forEach((row, i) => row.forEach((x, j) => equal([i, j, x], [i, j, j > i ? "-Infinity" : scores[0][i][j]], "masked, or as before")));
    },
    async notebook(numbers) {
        const { weights: [weights] } = await ask(presetById("notebook").request, ["weights"]);
        near(weights.map(sum), Array(8).fill(1), 1e-6, "rows");
        equal(weights[0], [1, 0, 0, 0, 0, 0, 0, 0], "the first query");
        equal(numbers, ["1", "7", (100 * weights[7][3]).toFixed(2), "3", "1", (100 * weights[1][1]).toFixed(0)], "shares");
    },
    async scaled(numbers) {
        const { weights: [weights], scores: [scores] } = await ask(presetById("scaled").request, ["weights", "scores"]), before = await ask(presetById("notebook").request, ["weights", "scores"]);
        equal(numbers, ["16"], "its head size");
        near(scores, before.scores[0].map((row) => row.map((x) => x / Math.sqrt(16))), 1e-6, "divided");
        weights.slice(1).forEach((row, i) => ok(Math.max(...row) < Math.max(...before.weights[0][i + 1]), `row ${i + 1} is softer`));
    },
    async encoder() {
        const { weights: [weights] } = await ask(presetById("encoder").request, ["weights"]);
        sees(weights, () => true);
    },
    async cross() {
        const { weights: [weights] } = await ask(presetById("cross").request, ["weights"]);
        equal([weights.length, weights[0].length], [6, 10], "a rectangle");
    },
    async grouped(numbers) {
        const { weights: [weights], query: [query], key: [key], scores: [scores] } = await ask(presetById("grouped").request, ["weights", "query", "key", "scores"]);
        equal([numbers, weights.length, query[0].length, key[0].length], [["0", "3", "4", "7"], 8, 8 * 8, 2 * 8], "heads, side by side in a token's vector");
        const of = (token, head) => token.slice(8 * head, 8 * head + 8);
        for (let head = 0; head < 8; head++) {
            const q = of(query[9], head), k = of(key[5], Math.floor(head / 4));
            near(scores[head][9][5], sum(q.map((x, d) => x * k[d])) / Math.sqrt(8), 1e-4, `head ${head}`);
        }
    },
    async window() {
        const { weights: [weights] } = await ask(presetById("window").request, ["weights"]);
        sees(weights, (i, j) => j <= i && j >= i - 5);
    },
    async "window-first"() {
        const { weights: [weights] } = await ask(presetById("window-first").request, ["weights"]);
        sees(weights, (i, j) => j <= i && (j >= i - 5 || j < 2));
    },
    async prefix(numbers) {
        const { weights: [weights] } = await ask(presetById("prefix").request, ["weights"]);
        sees(weights, (i, j) => j <= i || (i < 5 && j < 5));
        equal(numbers, ["2", "4"], "query and key");
        ok(weights[2][4] > 0, "query 2 reads key 4");
    },
    async packed(numbers) {
        const { weights } = await ask(presetById("packed").request, ["weights"]), of = (i) => [5, 9, 14].findIndex((end) => i < end);
        equal(numbers, ["5", "4", "5"], "lengths");
        sees(weights, (i, j) => j <= i && of(i) === of(j));
    },
    async alibi(numbers) {
        const { weights: [weights], scores: [scores], masked_scores: [masked] } = await ask(presetById("alibi").request, ["weights", "scores", "masked_scores"]);
        const distance = (head) => sum(head.map((row, i) => sum(row.map((x, j) => x * (i - j))))), penalty = (head, i, j) => scores[head][i][j] - masked[head][i][j];
        equal(numbers, ["0", "7"], "heads");
        for (let head = 0; head < 8; head++) {
            ok(penalty(head, 20, 10) > penalty(head, 20, 18) && penalty(head, 20, 18) > 0, `head ${head}: it grows with distance`);
            if (head) ok(penalty(head, 20, 10) < penalty(head - 1, 20, 10), `head ${head}: less than head ${head - 1}'s`);
        }
        ok(distance(weights[0]) < 0.5 * distance(weights[7]), "head 0 looks at its neighbours, head 7 far back");
    },
    async sinks(numbers) {
        const { weights: [weights] } = await ask(presetById("sinks").request, ["weights"]);
        equal(numbers, ["1"], "less than 1");
        ok((Array.isArray(weights[0][0]) ? weights[0] : weights).every((row) => sum(row) < 1), "rows");
    },
};

test("captions: each says what the daemon computes", async () => {
    const told = PRESETS.slice(1);
    equal(Object.keys(CAPTIONS), told.map(({ id }) => id), "each has its check");
    for (const { id, story } of told) await CAPTIONS[id]((story.match(/−?\d+(\.\d+)?/g) ?? []).map((x) => x.replace("−", "-")));
});
