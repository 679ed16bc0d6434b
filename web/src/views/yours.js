// yours.js: what other code made of this request: the verdict, what explains the difference, and where it is.

import { compareWith } from "../api.js";
import { app, isDark } from "../app.js";
import { Scale } from "../color.js";
import { colorBar } from "../color_bar.js";
import { announce, h } from "../dom.js";
import { titleOf } from "../figure/caption.js";
import { number } from "../format.js";
import { HeatMap } from "../heatmap.js";
import { takeYours } from "../input.js";
import { Run, differenceOf } from "../run.js";
import { applyPatch, checksOf } from "../yours.js";

const VERDICTS = {
    equal: "Equal: yours is what attnd computes.",
    rounding: "Rounding: yours is no farther off than its number format makes it.",
    explained: "Explained: a convention differs.",
    unexplained: "No convention explains every row. These come nearest:",
};
const ABSOLUTE = 1e-5, RELATIVE = 1e-4; // as the comparison's own
const STAGES = ["weights", "output", "scores", "capped_scores", "masked_scores"]; // that have a picture

export function create(host) {
    const file = h("input", { type: "file", class: "sr", id: "yours-file", multiple: true, accept: ".npy,.npz,.safetensors,.json",
        onchange: () => { takeYours(file.files); file.value = ""; } });
    const pairs = h("input", { type: "checkbox", id: "yours-pairs", onchange: () => app.setView({ pairs: pairs.checked }) });
    const about = h("p", { class: "hint" }), verdict = h("p", { class: "strong", id: "verdict", "aria-live": "polite" });
    const list = h("ol", { class: "explanations" }), figures = h("table", { id: "yours-figures" }), checks = h("ul", { class: "checks", id: "yours-checks" });
    const canvas = h("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", id: "yours-map", "aria-label": "Yours minus attnd's" });
    const caption = h("figcaption", {}), bar = h("div"), figure = h("figure", { hidden: true }, caption, h("div", { class: "map" }, canvas), bar);
    const map = new HeatMap(canvas, { onCell: (i, j) => {
        app.setView({ cell: [i, j] });
        announce(`query ${i}, column ${j}: ${number(valueAt(i, j))} more in yours`);
    } });
    canvas.map = map;
    host.append(h("div", { class: "toolbar" }, file, h("label", { htmlFor: "yours-file", class: "button" }, "Open what your code made"),
        h("label", {}, pairs, " two conventions at once")), about, verdict, list, figures, checks, figure);

    const valueAt = (i, j) => map.picture.matrix.data[i * map.picture.matrix.cols + j];

    let compared = null; // { run, yours, pairs, reply }
    async function reply() {
        const { run, yours, view } = app;
        if (app.offline) return app.comparison;
        if (compared?.run === run && compared.yours === yours && compared.pairs === view.pairs) return compared.reply;
        const found = await app.busyWith("Comparing", (signal) => compareWith(run.request, Object.fromEntries(yours.tensors), { pairs: view.pairs }, signal));
        if (!found) return null;
        if (!app.stale) app.clearProblem();
        compared = { run, yours, pairs: view.pairs, reply: found };
        return found;
    }

    function apply({ changes, sentence }) {
        announce(`Applied. ${sentence}`);
        app.setRequest(applyPatch(app.run.request, changes), { about: sentence });
    }

    const percent = (share) => `${(100 * share).toPrecision(3)} %`;

    function explanation(found, all) {
        const others = found.indistinguishable_from;
        return h("li", {}, h("p", {}, h("code", {}, found.names.join(" + ")), ` ${found.sentence}`),
            found.rows_equal < 1 && h("p", { class: "hint" }, `Rows equal under it: ${percent(found.rows_equal)}.`),
            others.length > 0 && h("p", { class: "hint" }, `Not to be told here from ${others.join(", ")}; ${found.told_apart_by} would.`),
            found.changes && all.verdict !== "unexplained" && !app.offline && h("button", { type: "button", class: "apply", onclick: () => apply(found) }, "Apply to the request"));
    }

    function showFigures({ as_asked: asked }) {
        figures.replaceChildren(h("thead", {}, h("tr", {}, h("td", {}), ["largest error", "at", "yours", "attnd's", "rows equal"].map((text) => h("th", { scope: "col" }, text)))),
            h("tbody", {}, Object.entries(asked).map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, number(Number(of.max_absolute_error))),
                h("td", {}, of.at ? of.at.join(", ") : ""), h("td", {}, of.at ? number(Number(of.expected)) : ""), h("td", {}, of.at ? number(Number(of.computed)) : ""),
                h("td", {}, percent(of.rows_equal))))));
    }

    function showChecks() {
        const weights = app.yours.tensors.get("weights");
        checks.replaceChildren(...(weights ? checksOf(weights) : []).map(({ ok, text }) => h("li", { class: ok ? "" : "warn" }, `${ok ? "✓" : "✗"} ${text}`)));
    }

    // The difference of the first tensor that has a picture; rows that agree are marked.
    function showPicture() {
        const { run, yours } = app, name = !run.long && STAGES.find((stage) => yours.tensors.has(stage) && run.tensors.has(stage));
        const theirs = name && new Run(run.request, { tensors: new Map([...run.tensors, ...yours.tensors]), applied: run.applied });
        const a = name && run.matrix(name, app.at()), b = name && theirs.matrix(name, app.at()), difference = a && b && differenceOf(a, b);
        figure.hidden = !difference;
        if (!difference) return;
        const equal = Array.from({ length: a.rows }, (_, i) => {
            for (let at = i * a.cols; at < (i + 1) * a.cols; at++)
                if (!(a.data[at] === b.data[at] || Math.abs(a.data[at] - b.data[at]) <= ABSOLUTE + RELATIVE * Math.abs(a.data[at]))) return false;
            return true;
        });
        const scale = new Scale({ signed: true, max: difference.largest, mode: "linear", dark: isDark() });
        const rowLabels = equal.map((same, i) => `${app.labels.rows?.[i] ?? i}\u00a0${same ? "=" : "≠"}`);
        map.show({ ...app.pictureOf(difference, name, scale, null), hidesMasked: false, rowLabels });
        map.point(null, app.view.cell);
        caption.textContent = `Yours − attnd's, ${name}: ${equal.filter(Boolean).length} of ${a.rows} rows agree (=).`;
        bar.replaceChildren(colorBar(scale));
    }

    function showNone(text) {
        about.textContent = text;
        for (const part of [verdict, list, figures, checks]) part.replaceChildren();
        figure.hidden = true;
    }

    function show(found) {
        about.textContent = `${app.yours.name}: ${[...app.yours.tensors.keys()].join(", ")}. ${found.warnings.join(". ")}`;
        verdict.textContent = VERDICTS[found.verdict];
        list.replaceChildren(...found.explanations.map((one) => explanation(one, found)));
        showFigures(found);
        showPicture();
    }

    return {
        render() {
            pairs.checked = app.view.pairs;
            if (app.run.weightsOnly || (app.offline && !app.comparison)) return showNone(app.offline ? "Comparing needs the server." : "Choose a request first: these are weights alone.");
            if (!app.yours) return showNone("Drop the output or the weights that your code computed from this request: .npy, .safetensors or .json. attnd says which convention makes them differ.");
            showChecks();
            reply().then((found) => {
                if (app.view.tab !== "yours") return;
                if (found) show(found);
                else if (app.problem) showNone("They were not compared; the reason is above.");
            });
            return true;
        },
        comparison: () => (figure.hidden ? null : compared?.reply),
        figure: () => !figure.hidden && { kind: "maps", panels: [{ picture: map.picture, bar: "difference" }], title: `Yours − attnd's: ${titleOf(map.picture.stage)}`, caption: `${caption.textContent} ${verdict.textContent}` },
        cell() {
            map.point(map.hover, app.view.cell);
        },
    };
}
