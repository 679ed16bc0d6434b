// curl.js: the body of a pasted curl command.

const ESCAPES = { n: "\n", t: "\t", r: "\r" };

export const isCurl = (text) => /^\s*(\$\s+)?curl\s/.test(text);

// ---- the quoted parts of a shell's words: each function gets the place after the quote, and returns [text, place after it] ----

function singleQuoted(text, from) {
    const end = text.indexOf("'", from);
    if (end < 0) throw new Error("the command has a ' that is not closed");
    return [text.slice(from, end), end + 1];
}

function doubleQuoted(text, from) {
    let out = "";
    for (let at = from; at < text.length; at++) {
        if (text[at] === "\"") return [out, at + 1];
        if (text[at] === "\\" && /["\\$`\n]/.test(text[at + 1] ?? "") && text[++at] === "\n") continue;
        out += text[at];
    }
    throw new Error("the command has a \" that is not closed");
}

// bash's $'...', which browsers write when they copy a request.
function ansiQuoted(text, from) {
    let out = "";
    for (let at = from; at < text.length; at++) {
        if (text[at] === "'") return [out, at + 1];
        if (text[at] !== "\\") out += text[at];
        else if (text[++at] === "u") {
            out += String.fromCharCode(parseInt(text.slice(at + 1, at + 5), 16));
            at += 4;
        } else out += ESCAPES[text[at]] ?? text[at];
    }
    throw new Error("the command has a ' that is not closed");
}

// The words of the first command, as a shell splits them.
function words(text) {
    const out = [];
    let word = null, at = 0;
    const add = (part) => { word = (word ?? "") + part; };
    const quoted = (read, from) => {
        const [part, end] = read(text, from);
        add(part);
        at = end;
    };
    while (at < text.length && !"|;&<>".includes(text[at])) {
        const c = text[at];
        if (c === "'") quoted(singleQuoted, at + 1);
        else if (c === "\"") quoted(doubleQuoted, at + 1);
        else if (c === "$" && text[at + 1] === "'") quoted(ansiQuoted, at + 2);
        else if (/\s/.test(c)) {
            if (word !== null) out.push(word);
            word = null;
            at++;
        } else if (c === "\\") {
            if (text[at + 1] !== "\n") add(text[at + 1] ?? "");
            at += 2;
        } else {
            add(c);
            at++;
        }
    }
    return word === null ? out : [...out, word];
}

// Returns the body that the command sends. Throws an Error if it sends none, or one that is not in the command.
export function bodyOfCurl(text) {
    const all = words(text), bodies = [];
    all.forEach((word, at) => {
        const [, joined] = /^(?:--(?:data|data-raw|data-binary|data-ascii|json)=|-d(?=.))([^]*)$/.exec(word) ?? [];
        if (joined !== undefined) bodies.push(joined);
        else if (/^(-d|--data|--data-raw|--data-binary|--data-ascii|--json)$/.test(word) && at + 1 < all.length) bodies.push(all[at + 1]);
    });
    if (!bodies.length) throw new Error("this curl command sends no body");
    const [body] = bodies;
    if (!body.startsWith("@")) return bodies.join("");
    const [, , document] = /<<-?\s*['"]?(\w+)['"]?[^\n]*\n([^]*?)\n\1/.exec(text) ?? [];
    if (body !== "@-" || document === undefined) throw new Error(`the curl command reads its body from ${body === "@-" ? "its input" : body.slice(1)}: open that file here`);
    return document;
}
