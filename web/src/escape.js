// escape.js: text as markup holds it, between tags and in quoted attributes.

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" };

export const escape = (text) => String(text).replace(/[&<>"]/g, (character) => ENTITIES[character]);
