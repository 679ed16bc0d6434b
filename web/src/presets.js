// presets.js: example requests, first those of the notebook in its order, each with what to look for.

const notebook = { seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true, scale: 1 };

export const PRESETS = [
    {
        id: "sentence", title: "A sentence, read by a small model", file: "sentence", stage: "weights", batch: 2, head: 0, cell: [6, 2],
        story: "Each row is a token that reads, each column one that is read. This head of layer 2, an induction head, looks up what came next last "
            + "time: the second “be” takes 74\u00a0% from the comma after the first, the second comma 85\u00a0% from “or”. Elsewhere it rests on the "
            + "first token. Head 1 of layer 0 takes 99\u00a0% from the token before, on average. Heads shows all sixteen.",
    },
    {
        id: "averages", title: "Averages", stage: "weights", cell: [7, 0],
        request: { seed: 1337, x: { shape: [4, 8, 2] }, projection: "identity", causal: true, scale: 0 },
        story: "With scale 0 every visible token weighs the same: row 7 gives each of its 8 tokens 1/8. "
            + "So each output is the mean of the tokens so far, which is where attention starts.",
    },
    {
        id: "raw", title: "Raw head", stage: "scores", cell: [5, 4],
        request: { ...notebook, causal: false },
        story: "Queries meet keys: each cell is one dot product, of any sign and size, and nothing is masked yet. "
            + "Query 5 scores 3.34 with key 4 and −2.52 with itself; the next steps turn such numbers into shares.",
    },
    {
        id: "masked", title: "Masked head", stage: "masked_scores", cell: [3, 6],
        request: notebook,
        story: "A decoder must not see the future: all above the diagonal is masked, −∞ to the softmax. "
            + "Compare it with the raw head: the numbers that stay are the same.",
    },
    {
        id: "notebook", title: "Notebook head", stage: "weights", cell: [7, 3],
        request: notebook,
        story: "The softmax of the masked scores: each row sums to 1, and the first query can only see itself. "
            + "Query 7 spreads its attention (22.97\u00a0% on key 3), query 1 gives 84\u00a0% to itself.",
    },
    {
        id: "scaled", title: "Scaled head", stage: "weights", cell: [7, 3],
        request: { seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16, causal: true },
        story: "The same head with the scores divided by √16: the softmax stays softer, no key takes all. "
            + "Open Compare to see where the scale moves the most weight.",
    },
    {
        id: "encoder", title: "Encoder", stage: "weights", cell: [0, 5],
        request: { seed: 1337, x: { shape: [4, 8, 32] }, head_size: 16 },
        story: "Without the mask every token sees every other, both ways, as a text classifier wants it. "
            + "Nothing is hatched, and the first row is as busy as the last.",
    },
    {
        id: "cross", title: "Cross-attention", stage: "weights", cell: [2, 7],
        request: { seed: 1337, x: { shape: [1, 6, 32] }, context: { shape: [1, 10, 32] }, head_size: 16 },
        story: "Queries come from one sequence, keys and values from another: the picture is a rectangle. "
            + "This is how a decoder reads what an encoder wrote.",
    },
    {
        id: "grouped", title: "Grouped heads", stage: "weights", view: "heads", cell: [12, 5],
        request: { seed: 1337, x: { shape: [1, 16, 32] }, head_size: 8, num_heads: 8, num_kv_heads: 2, causal: true },
        story: "Eight query heads share two key heads: heads 0 to 3 ask the same keys, and 4 to 7 the others. "
            + "Click a head to open it, shift-click to collect some.",
    },
    {
        id: "window", title: "Sliding window", stage: "weights", cell: [12, 3],
        request: { seed: 1337, x: { shape: [1, 24, 32] }, head_size: 16, causal: true, window: [5, 0] },
        story: "Each token sees itself and the five before it: a band along the diagonal, whatever the length. "
            + "Turn on mask reasons to see which cells the window masks and which the causal mask.",
    },
    {
        id: "window-first", title: "Sliding window with first tokens", stage: "weights", cell: [20, 1],
        request: { seed: 1337, x: { shape: [1, 24, 32] }, head_size: 16, causal: true, window: [5, 0], num_sink_tokens: 2 },
        story: "The same band, and the first two tokens stay visible to all: a stripe at the left edge. "
            + "Streaming models keep them, since much attention rests there; a cell between stripe and band names both.",
    },
    {
        id: "prefix", title: "Prefix-LM", stage: "weights", cell: [2, 4],
        request: { seed: 1337, x: { shape: [1, 12, 32] }, head_size: 16, causal: true, prefix_length: 5 },
        story: "The first five tokens see each other both ways, as an encoder's do; all after them is causal. "
            + "So the corner at the top left is full, and query 2 reads key 4.",
    },
    {
        id: "packed", title: "Packed sequences", stage: "weights", cell: [7, 3],
        request: { seed: 1337, x: { shape: [14, 32] }, head_size: 16, causal: true, cu_seqlens: [0, 5, 9, 14] },
        story: "Three sequences of 5, 4 and 5 tokens stand one behind the other, and none sees another: blocks along the diagonal. "
            + "Positions begin anew in each; mask reasons tell a neighbour's key from one that comes later.",
    },
    {
        id: "alibi", title: "ALiBi", stage: "weights", view: "heads", cell: [20, 18],
        request: { seed: 1337, x: { shape: [1, 24, 32] }, head_size: 8, num_heads: 8, causal: true, alibi: true },
        story: "A penalty grows with distance, steeper in the first heads than in the last. "
            + "Head 0 looks at its neighbours, head 7 far back; the stage Bias shows the penalty alone.",
    },
    {
        id: "sinks", title: "Attention sinks", stage: "weights", cell: [11, 3],
        request: { seed: 1337, x: { shape: [1, 12, 32] }, head_size: 16, num_heads: 1, causal: true, sinks: [1.5] },
        story: "One more logit stands in each row's denominator and brings no value: a place for attention that nothing deserves. "
            + "So rows sum to less than 1; the panel shows the sink's share.",
    },
];

const WORDS = new Map([[undefined, "default"], [true, "on"], [false, "off"]]);
const wordsOf = (value) => WORDS.get(value) ?? (value.shape ? value.shape.join(" × ") : JSON.stringify(value));

// The fields that a preset sets otherwise than the one before it.
export function changedFields(preset) {
    const before = PRESETS[PRESETS.indexOf(preset) - 1]?.request, now = preset.request;
    if (!before || !now) return [];
    return [...new Set([...Object.keys(before), ...Object.keys(now)])].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
}

// The same in words; empty where there is nothing to tell.
export const changeOf = (preset) => changedFields(preset).map((name) => `${name} ${wordsOf(preset.request[name])}`).join(", ");

export const presetById = (id) => PRESETS.find((preset) => preset.id === id);
