// main.js: starts the page, and wires views, form and keys to the state.

import { app } from "./app.js";
import { renderApplied, renderControls, renderPlace } from "./controls.js";
import { $, announce, debounce, h, keepFocus, onFrame } from "./dom.js";
import { createExplain } from "./explain.js";
import { createForm } from "./form.js";
import { announceLocks, createLocked, unlock } from "./locked.js";
import { KEYS, QUERIES } from "./locks.js";
import { maskCells } from "./mask_by_hand.js";
import { openHelp } from "./help.js";
import { listenForFiles } from "./input.js";
import { setKey } from "./key.js";
import { PRESETS, changeOf, presetById } from "./presets.js";
import { begin, saveState } from "./restore.js";
import { MEAN, ROLLOUT } from "./run.js";
import { renderTakeAway } from "./take_away.js";
import { restoreTheme, wireTheme } from "./theme.js";
import * as compare from "./views/compare.js";
import * as heads from "./views/heads.js";
import * as image from "./views/image.js";
import * as lines from "./views/lines.js";
import * as map from "./views/map.js";
import * as stages from "./views/stages.js";
import * as table from "./views/table.js";
import * as yours from "./views/yours.js";

// Of weights too many to hold: what a view says that cannot show them.
const LONG = {
    lines: "Lines join up to 400 tokens. Of weights as many as these the heat map shows all, and the panel of a cell the keys that its query reads most.",
    stages: "The stages of weights as many as these are not fetched whole. Choose a cell of the heat map: its panel has the score, what softmax sees, and the weight.",
    compare: "Two runs are compared weight by weight, which takes both of them whole; these have too many. Compare a part: fewer tokens, or a request that selects it.",
    image: "A picture has fewer patches than these weights have keys.",
};

const VIEWS = [
    { name: "map", title: "Heat map", module: map },
    { name: "lines", title: "Lines", module: lines },
    { name: "heads", title: "Heads", module: heads },
    { name: "stages", title: "Stages", module: stages },
    { name: "compare", title: "Compare", module: compare },
    { name: "table", title: "Table", module: table },
    { name: "yours", title: "Compare with yours", module: yours },
    { name: "image", title: "Image", module: image },
];

const RESIZE_MS = 100;

let view = null, viewName = "";

// ---- the picture ----

function showView() {
    const { tab } = app.view;
    if (viewName !== tab) {
        $("picture").replaceChildren();
        view = VIEWS.find(({ name }) => name === tab).module.create($("picture"));
        viewName = tab;
        $("picture").setAttribute("aria-labelledby", `view-${tab}`);
        $("picture").removeAttribute("aria-label");
        lookAtNothing();
    }
    markView();
}

function markView() {
    const { tab } = app.view;
    for (const button of $("views").children) {
        const on = button.dataset.name === tab;
        button.setAttribute("aria-selected", String(on));
        button.tabIndex = on ? 0 : -1;
    }
}

// Scrolls to the chosen tab if the tabs are wider than the screen.
function revealTab() {
    const list = $("views"), { offsetLeft, offsetWidth } = $(`view-${viewName}`), at = offsetLeft - list.offsetLeft;
    if (at < list.scrollLeft) list.scrollLeft = at;
    else if (at + offsetWidth > list.scrollLeft + list.clientWidth) list.scrollLeft = at + offsetWidth - list.clientWidth;
}

function showStages() {
    const { run } = app, usable = run && view?.stages;
    $("stages").hidden = !usable || run.stages.length < 2;
    if (!usable) return;
    keepFocus($("stages"), () => $("stages").replaceChildren(...run.stages.map(({ name, title, about }) => h("button", { type: "button", "data-stage": name, title: about,
        "aria-pressed": String(name === app.view.stage), onclick: () => app.setView({ stage: name }) }, title))));
}

function showNothing() {
    for (const id of ["picture", "stages", "place", "controls", "applied", "take-away"]) $(id).replaceChildren();
    $("stages").hidden = true;
    view = null;
    viewName = "";
}

// Shapes with a 0 are computed like others, but have no cells.
function showNoCells() {
    const { Tq, Tk } = app.run.dims;
    showNothing();
    $("picture").append(h("p", { class: "hint" }, `${Tq} queries and ${Tk} keys: there is nothing to draw.`));
    renderApplied($("applied"));
    tellDrawn();
}

function tellDrawn() {
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

// The view before may still be waiting for a part.
function lookAtNothing() {
    for (const asker of ["map", "table"]) app.run.parts?.want(asker, null);
}

function showLong() {
    showNothing();
    lookAtNothing();
    $("picture").append(h("p", { class: "hint", id: "too-long" }, LONG[app.view.tab]));
    markView();
    renderApplied($("applied"));
    tellDrawn();
}

const render = onFrame(() => {
    if (!app.run) return showNothing();
    if (!app.run.cells) return showNoCells();
    if (app.run.long && LONG[app.view.tab]) return showLong();
    const other = app.view.tab !== viewName, focused = other && $("picture").contains(document.activeElement);
    showView();
    showStages();
    renderPlace($("place"));
    if (view.needs && app.run.cells <= 1 << 22) app.need(...view.needs());
    const begun = performance.now();
    $("picture").classList.toggle("waiting", view.render() === false);
    if (other) revealTab();
    if (focused) ($("picture").querySelector("canvas[tabindex='0'], [tabindex='0'], button") ?? $(`view-${viewName}`)).focus();
    renderControls($("controls"), view);
    renderTakeAway($("take-away"), view);
    renderApplied($("applied"));
    showStale();
    if (!performance.getEntriesByName("first-picture").length) performance.mark("first-picture");
    document.body.dataset.renderMs = (performance.now() - begun).toFixed(1);
    tellDrawn();
});

function showStory() {
    const preset = presetById(app.preset), at = PRESETS.indexOf(preset), change = preset ? changeOf(preset) : "";
    $("headline").textContent = preset?.title ?? (app.basis ? `${presetById(app.basis.preset).title}, changed` : "Your request");
    $("story").textContent = preset?.story ?? app.about;
    $("changed").textContent = app.offline ? "A copy with its numbers; it needs no server." : change && `Changed from the step before: ${change}.`;
    $("step").textContent = preset ? `${at + 1} of ${PRESETS.length}` : "";
    $("preset-back").disabled = at < 1;
    $("preset-next").disabled = at === PRESETS.length - 1;
    $("preset").value = preset?.id ?? "";
    document.title = preset ? `${preset.title} · attnd` : "attnd";
}

// A picture that the form's request did not give is dimmed, and cannot be exported.
function showStale() {
    document.body.classList.toggle("stale", app.stale);
    if ($("take")) $("take").disabled = app.stale;
}

function showBusy() {
    $("picture").setAttribute("aria-busy", String(Boolean(app.busy)));
    // Short computations show no progress bar.
    clearTimeout(showBusy.timer);
    if (!app.busy) $("progress").hidden = true;
    else showBusy.timer = setTimeout(() => {
        $("progress").hidden = !app.busy;
        $("progress-text").textContent = `${app.busy} …`;
    }, 150);
}

function showProblem() {
    const { problem } = app;
    $("problem").hidden = !problem;
    $("key-part").hidden = problem?.status !== 401;
    showStale();
    if (!problem) return;
    const where = problem.pointer ? ` (at ${problem.pointer})` : "", time = problem.isDeadline && app.large ? " So many tokens may take longer than the server's --request-timeout." : "";
    const retry = problem.retryAfter ? ` Try again in ${problem.retryAfter} s.` : "";
    $("problem").replaceChildren(h("b", {}, problem.status ? `${problem.status} ` : ""), `${problem.message}${where}.${time}${retry}`.replace(/\.\.$/, "."),
        app.stale ? " The picture is still that of the request before." : "");
}

// ---- tabs, keys ----

// The list is one tab stop; arrows, Home and End move within it.
function rove(list, choose) {
    list.addEventListener("keydown", (event) => {
        const tabs = [...list.children], at = tabs.indexOf(document.activeElement);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (at < 0 || to === undefined) return;
        const next = tabs[(to + tabs.length) % tabs.length];
        choose(next);
        next.focus();
        event.preventDefault();
    });
}

function makeViews() {
    $("views").append(...VIEWS.map(({ name, title }, at) => h("button", { type: "button", role: "tab", id: `view-${name}`, "data-name": name, "aria-controls": "picture",
        "aria-selected": "false", tabIndex: -1, "aria-keyshortcuts": String(at + 1), title: `${title} (${at + 1})`, onclick: () => app.setView({ tab: name }) }, title)));
    rove($("views"), (tab) => app.setView({ tab: tab.dataset.name }));
}

function makeColumns() {
    const list = document.querySelector(".tabs.narrow"), tabs = [...list.children];
    const choose = (tab) => {
        document.querySelector(".columns").dataset.tab = tab.id.slice("tab-".length);
        for (const other of tabs) {
            other.setAttribute("aria-selected", String(other === tab));
            other.tabIndex = other === tab ? 0 : -1;
        }
    };
    for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
    rove(list, choose);
}

// A step of the story is an entry of the browser's history.
async function choosePreset(preset) {
    await saveState();
    history.pushState(null, "", location.href);
    announce(`${preset.title}. ${preset.story}`);
    return app.usePreset(preset);
}

// From a request that is no step, the story begins anew.
function stepPreset(by) {
    const at = PRESETS.findIndex(({ id }) => id === app.preset), to = at < 0 ? 0 : at + by;
    if (!app.offline && PRESETS[to]) choosePreset(PRESETS[to]);
}

function stepHead(by) {
    const { H } = app.run.dims, order = [...Array.from({ length: H }, (_, i) => i), ...(app.run.hasMean ? [MEAN] : []), ...(app.run.hasRollout ? [ROLLOUT] : [])];
    app.setView({ head: order[(order.indexOf(app.view.head) + by + order.length) % order.length] });
    announce(Number.isInteger(app.view.head) ? `Head ${app.view.head}` : `${app.view.head} of the heads`);
}

// Locks the chosen cell's query or key, beside what is locked, or all from the one locked last.
function lockChosen(side, range) {
    const { cell } = app.view;
    if (!cell) return announce("Choose a cell first");
    app.lock(side, cell[side === QUERIES ? 0 : 1], { add: true, from: range ? "last" : null });
    return announceLocks();
}

// Masks the chosen cell, or all cells of locked queries and locked keys; a second time, lets them be seen.
function maskChosen(block) {
    const { cell, queries, keys } = app.view, { Tq, Tk } = app.run.dims, all = (list, most) => (list.length ? list : Array.from({ length: most }, (_, n) => n));
    const cells = block ? app.hasLocks && all(queries, Tq).flatMap((i) => all(keys, Tk).map((j) => [i, j])) : cell && [cell];
    announce(cells ? maskCells(cells) : block ? "Lock tokens first" : "Choose a cell first");
}

function switchShown() {
    const { head } = app.view;
    if (!Number.isInteger(head)) return announce("Choose a head first");
    return announce(`Head ${head} is ${app.switchHead(head) ? "on" : "off"}`);
}

function stepStage(by) {
    const { stages: all } = app.run, at = all.findIndex(({ name }) => name === app.view.stage);
    const { name, title } = all[(at + by + all.length) % all.length];
    app.setView({ stage: name });
    announce(`Stage ${title}`);
}

function onKey(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        return void $(event.target.id === "json" ? "json-apply" : "run").click();
    }
    if (event.key === "Escape" && app.busy) return void app.cancel();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
    const acts = {
        "[": () => stepPreset(-1), "]": () => stepPreset(1), "?": openHelp,
        h: () => stepHead(1), H: () => stepHead(-1), s: () => stepStage(1), S: () => stepStage(-1),
        b: () => app.setView({ batch: (app.view.batch + 1) % app.run.dims.B }), l: () => app.setView({ showReasons: !app.view.showReasons }),
        q: () => lockChosen(QUERIES), Q: () => lockChosen(QUERIES, true), k: () => lockChosen(KEYS), K: () => lockChosen(KEYS, true), ...(app.hasLocks && { Escape: unlock }),
        x: () => maskChosen(false), X: () => maskChosen(true), o: switchShown,
        f: () => app.setView({ hideFirst: !app.view.hideFirst }), r: () => app.setView({ sums: !app.view.sums }), m: () => document.querySelector("#picture canvas")?.focus(),
    };
    const number = Number(event.key);
    if (number >= 1 && number <= VIEWS.length) app.setView({ tab: VIEWS[number - 1].name });
    else if (acts[event.key] && (app.run || "[]?".includes(event.key))) acts[event.key]();
    else return;
    event.preventDefault();
}

// ---- start ----

function start() {
    const begun = begin(); // the first request is sent while the page is still being built
    makeViews();
    makeColumns();
    restoreTheme();
    wireTheme($("theme"), render);
    createForm($("request"));
    createLocked($("locked"), $("locked-panel"));
    createExplain($("cell"));
    $("preset").append(h("option", { value: "", hidden: true }, "Your request"), ...PRESETS.map(({ id, title }) => h("option", { value: id }, title)));
    $("preset").addEventListener("change", () => choosePreset(presetById($("preset").value)));
    $("preset-back").addEventListener("click", () => stepPreset(-1));
    $("preset-next").addEventListener("click", () => stepPreset(1));
    $("help").addEventListener("click", openHelp);
    $("api-key").addEventListener("change", () => {
        setKey($("api-key").value);
        app.compute();
    });
    $("cancel").addEventListener("click", () => { app.cancel(); announce("Cancelled"); });
    addEventListener("keydown", onKey);
    addEventListener("resize", debounce(RESIZE_MS, render));
    listenForFiles();
    app.on("run view redraw parts", render);
    app.on("cell", () => view?.cell());
    app.on("lock", () => (view?.lock ? view.lock() : render()));
    app.on("request", showStory);
    app.on("request run", showStale);
    app.on("busy", showBusy);
    app.on("problem", showProblem);
    app.tell("request");
    if (app.run) render();
    return begun;
}

start();
