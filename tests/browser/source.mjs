// source.mjs: what the page is made of: modules that import one way.

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { TOP, equal, ok, test } from "./harness.mjs";

const SOURCES = join(TOP, "web/src");

// Each module with the modules that it imports, by their paths.
function imports() {
    const modules = readdirSync(SOURCES, { recursive: true }).filter((path) => path.endsWith(".js"));
    return new Map(modules.map((path) => {
        const text = readFileSync(join(SOURCES, path), "utf8");
        return [path, [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].map(([, to]) => join(dirname(path), to))];
    }));
}

// The first circle that can be reached, as a list of modules; null if there is none.
function circle(graph) {
    const done = new Set();
    const visit = (path, trail) => {
        if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
        if (done.has(path)) return null;
        done.add(path);
        for (const to of graph.get(path)) {
            const found = visit(to, [...trail, path]);
            if (found) return found;
        }
        return null;
    };
    for (const path of graph.keys()) {
        const found = visit(path, []);
        if (found) return found;
    }
    return null;
}

test("no module of the page imports itself, not even through others", () => {
    equal(circle(new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]]])), ["b", "c", "b"], "a circle is found");
    equal(circle(new Map([["a", ["b", "c"]], ["b", ["c"]], ["c", []]])), null, "two ways to one module are no circle");
    const graph = imports();
    ok(graph.size > 20 && graph.get("main.js").length > 10, "the imports are read");
    equal(circle(graph), null, "a circle");
});

test("views are known to main.js alone", () => {
    for (const [path, to] of imports())
        if (path !== "main.js") equal(to.filter((other) => other.startsWith("views/")), [], `${path} imports`);
});
