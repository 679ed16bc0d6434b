// tokens.js: token labels: from a request's "tokens", from a file, or typed; with the marks that tokenizers put into pieces of words.

const isTexts = (value) => Array.isArray(value) && value.every((token) => typeof token === "string");

// The characters that GPT-2's tokenizer, and those after it, write bytes as: those that can be seen as they are, the others from
// U+0100 on.
const BYTES = new Map();
for (let byte = 0, next = 256; byte < 256; byte++) {
    const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    BYTES.set(String.fromCharCode(seen ? byte : next++), byte);
}

function fromBytes(token) {
    const bytes = Array.from(token, (character) => BYTES.get(character));
    return bytes.includes(undefined) ? token : new TextDecoder().decode(Uint8Array.from(bytes));
}

const joined = (piece) => (/^[\p{L}\p{N}]/u.test(piece) ? `·${piece}` : piece); // punctuation joins without a sign

// What people read: a mark for a space goes, and a piece that continues a word begins with a dot. `tokens` as a tokenizer gives them:
// Ġ or ▁ begins a word, or ## continues one.
export function readable(tokens) {
    if (tokens.some((token) => token.startsWith("##"))) return tokens.map((token) => (token.startsWith("##") ? joined(token.slice(2)) : token));
    const mark = ["Ġ", "▁"].find((sign) => tokens.some((token) => token.startsWith(sign)));
    if (!mark) return tokens;
    const plain = tokens.map((token) => (mark === "Ġ" ? fromBytes(token) : token.replaceAll(mark, " ")));
    return plain.map((token, i) => (token.startsWith(" ") ? token.slice(1) || " " : i === 0 ? token : joined(token)));
}

// The labels of "tokens", a list, or { query, key }; null if there are none. Throws an Error if it is neither.
export function labelsOf(tokens) {
    if (tokens === undefined || tokens === null) return null;
    const { query, key } = Array.isArray(tokens) ? { query: tokens, key: tokens } : tokens;
    if (!isTexts(query) || !isTexts(key)) throw new Error("\"tokens\" is a list of texts, or {\"query\": [..], \"key\": [..]}");
    return { rows: readable(query), cols: readable(key) };
}

// Typed labels: a JSON array, or else one label per line, or else one per word. Null: none.
export function parseLabels(text) {
    if (text.trim() === "") return null;
    try {
        const value = JSON.parse(text);
        if (Array.isArray(value)) return readable(value.map(String));
    } catch { /* plain text */ }
    const lines = text.replace(/\n$/, "").split("\n");
    return readable(lines.length > 1 ? lines : text.trim().split(/\s+/));
}
