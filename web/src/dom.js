// dom.js: makes elements, and schedules work.

const SVG = "http://www.w3.org/2000/svg";

function set(element, name, value) {
    if (value === undefined || value === null || value === false) return;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name in element && !name.startsWith("aria") && !(element instanceof SVGElement) && name !== "list" && name !== "form")
        element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
}

// h("button", { class: "quiet", onclick }, "text", child)
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) set(element, name, value);
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

export function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== null) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

export const $ = (id) => document.getElementById(id);

// Makes screen readers say `text`.
export function announce(text) {
    $("announcer").textContent = text;
}

const BELOW = 32; // pixels between a picture and the end of the window

// How high a picture may be that begins where `element` does and ends within the window; if that is far down, most of a window.
export function heightLeft(element) {
    const left = innerHeight - BELOW - (element.getBoundingClientRect().top + scrollY);
    return left > innerHeight * 0.45 ? left : innerHeight * 0.7;
}

const nameOf = (element) => element.id || element.getAttribute("aria-label") || element.textContent;

// Runs `render`, which replaces what is in `host`. If the focus was there, the element of the same name, or else the one in the same
// place, gets it.
export function keepFocus(host, render) {
    const { activeElement: focused } = document;
    if (focused === host || !host.contains(focused)) return render();
    const all = () => [...host.querySelectorAll("a, button, input, select, summary, textarea, [tabindex]")];
    const at = all().indexOf(focused), name = nameOf(focused), result = render(), now = all();
    (now.find((element) => nameOf(element) === name) ?? now[at])?.focus();
    return result;
}

// Returns a function that calls `action` when it has not been called for `ms`.
export function debounce(ms, action) {
    let timer = 0;
    return (...args) => {
        clearTimeout(timer);
        timer = setTimeout(() => action(...args), ms);
    };
}

// Returns a function that calls `action` before the next frame, once however often it is called.
export function onFrame(action) {
    let asked = false;
    return () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            action();
        });
    };
}
