// key.js: the API key, which a tab remembers, for all of its pages.

const PLACE = "attnd-key";

let key = null;
try {
    key = sessionStorage.getItem(PLACE);
} catch { /* without storage the page asks for the key again */ }

export const hasKey = () => key !== null;

// The header that sends it; none where there is no key.
export const keyHeader = () => (key ? { "X-API-Key": key } : {});

export function setKey(text) {
    key = text || null;
    try {
        if (key) sessionStorage.setItem(PLACE, key);
        else sessionStorage.removeItem(PLACE);
    } catch { /* as above */ }
}
