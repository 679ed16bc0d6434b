// docs.js: what the API reference does besides being read. It runs before the page is drawn, so that its theme is right at once.

import { restoreTheme, wireTheme } from "./theme.js";

restoreTheme();

addEventListener("DOMContentLoaded", () => {
    const contents = document.getElementById("contents");
    wireTheme(document.getElementById("theme"));
    contents.addEventListener("click", ({ target }) => {
        if (target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
    });
});
