// docs_copy.js: a button at each example that copies it.

import { h } from "./dom.js";

const SAID_MS = 2000;

function copyButton(pre) {
    const button = h("button", { type: "button", class: "copy", onclick: async () => {
        const copied = await navigator.clipboard.writeText(pre.textContent).then(() => true, () => false);
        if (!copied) getSelection().selectAllChildren(pre); // for Ctrl+C
        button.textContent = copied ? "Copied" : "Selected";
        setTimeout(() => { button.textContent = "Copy"; }, SAID_MS);
    } }, "Copy");
    return button;
}

export function copyButtons(host) {
    for (const pre of host.querySelectorAll("pre")) {
        const frame = h("div", { class: "copied" });
        pre.replaceWith(frame);
        frame.append(copyButton(pre), pre);
    }
}
