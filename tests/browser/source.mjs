// source.mjs: what the page is made of: modules that import one way, and libraries with their licences.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readImageList, thirdPartyFiles } from "../../web/third_party.mjs";
import { TOP, equal, ok, open, test, world } from "./harness.mjs";

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

const read = (path) => (existsSync(join(TOP, path)) ? readFileSync(join(TOP, path), "utf8") : "");

test("LICENSES/ and docs/third-party.md are what `make licenses` writes for the page's libraries", async () => {
    const files = await thirdPartyFiles(), folder = readdirSync(join(TOP, "LICENSES/page")).map((name) => `LICENSES/page/${name}`);
    equal(folder.sort(), [...files.keys()].filter((path) => path.startsWith("LICENSES/")).sort(), "the files");
    for (const [path, text] of files) ok(read(path) === text, `${path} is out of date: make licenses`);
});

test("LICENSES/ has the copyright file of each package in the image, and the licences that these refer to", () => {
    const { packages } = readImageList();
    ok(packages.length > 10, "the list is read");
    for (const { name, source, licenses } of packages) {
        const text = read(`LICENSES/image/${source}.txt`);
        ok(text.length > 500 && licenses, name);
        for (const [, license] of text.matchAll(/common-licenses\/([\w.-]*\w)/g)) ok(read(`LICENSES/image/common/${license}`), `${source}: ${license}`);
    }
});

test("the page serves its libraries' licences, and help links to them", async (t) => {
    const response = await fetch(`${world.url}licenses.txt`), text = await response.text();
    ok(response.headers.get("Content-Type").startsWith("text/plain"), "type");
    for (const path of (await thirdPartyFiles()).keys())
        if (path.startsWith("LICENSES/")) ok(text.includes(read(path)), path);
    const page = await open(t);
    await page.keyboard.press("?");
    equal(await page.getAttribute("#help-dialog a", "href"), "licenses.txt", "link");
});
