// docs.js: the API reference: openapi.yaml, read by openapi-explorer, in the page's colours.

import "openapi-explorer";

const COLORS = {
    light: { "bg-color": "#ffffff", "text-color": "#1b1f27", "header-color": "#1b1f27", "primary-color": "#0b57b5", "secondary-color": "#0b57b5",
        "nav-bg-color": "#f4f5f7", "nav-text-color": "#1b1f27", "nav-hover-bg-color": "#e3eefc", "nav-hover-text-color": "#0b57b5" },
    dark: { "bg-color": "#14171c", "text-color": "#e8ebf0", "header-color": "#e8ebf0", "primary-color": "#7db5ff", "secondary-color": "#7db5ff",
        "nav-bg-color": "#0d0f13", "nav-text-color": "#e8ebf0", "nav-hover-bg-color": "#1d2f48", "nav-hover-text-color": "#7db5ff" },
};

const darkness = matchMedia("(prefers-color-scheme: dark)");

function theme() {
    let chosen = "";
    try {
        chosen = localStorage.getItem("attnd-theme") ?? "";
    } catch { /* a page without storage follows the system */ }
    return chosen || (darkness.matches ? "dark" : "light");
}

const reference = document.getElementById("reference");

function paint() {
    document.documentElement.dataset.theme = theme();
    for (const [name, value] of Object.entries(COLORS[theme()])) reference.setAttribute(name, value);
}

paint();
darkness.addEventListener("change", paint);
reference.setAttribute("server-url", new URL(".", document.baseURI).href.replace(/\/$/, ""));
