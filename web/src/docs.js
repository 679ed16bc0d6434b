// docs.js: the API reference's script. It runs before the page is drawn, so that the theme is right from the first frame.

import { copyButtons } from "./docs_copy.js";
import { createSearch } from "./docs_search.js";
import { createForms } from "./docs_try.js";
import { restoreTheme, wireTheme } from "./theme.js";

restoreTheme();

// What a link leads to may be folded away.
function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    target?.scrollIntoView();
}

addEventListener("DOMContentLoaded", () => {
    const contents = document.getElementById("contents");
    wireTheme(document.getElementById("theme"));
    createSearch(contents);
    copyButtons(document.getElementById("reference"));
    createForms();
    contents.addEventListener("click", ({ target }) => {
        if (target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
    });
    addEventListener("hashchange", reveal);
    if (location.hash) reveal();
});
