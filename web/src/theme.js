// theme.js: light, dark, or the system's; all pages remember the choice.

const NAMES = { "": "Auto", light: "Light", dark: "Dark" }, NEXT = { "": "dark", dark: "light", light: "" }, PLACE = "attnd-theme";

function saved() {
    try {
        return localStorage.getItem(PLACE) ?? "";
    } catch {
        return ""; // without storage the choice is forgotten
    }
}

const chosen = () => document.documentElement.dataset.theme ?? "";

function use(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
}

export function restoreTheme() {
    const theme = saved();
    use(theme in NAMES ? theme : "");
}

export function wireTheme(button, changed = () => {}) {
    const say = () => {
        button.textContent = NAMES[chosen()];
        button.setAttribute("aria-label", `Theme: ${NAMES[chosen()]}`);
    };
    button.addEventListener("click", () => {
        use(NEXT[chosen()]);
        try {
            localStorage.setItem(PLACE, chosen());
        } catch { /* as above */ }
        say();
        changed();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    say();
}
