// docs.js: the API reference's script. It runs before the page is drawn, so that the theme is right from the first frame.

import { restoreTheme, wireTheme } from "./theme.js";

restoreTheme();

addEventListener("DOMContentLoaded", () => {
    const contents = document.getElementById("contents");
    wireTheme(document.getElementById("theme"));
    contents.addEventListener("click", ({ target }) => {
        if (target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
    });
});
