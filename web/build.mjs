// build.mjs: bundles the page and the API reference into OUT (../build/web).
//
//   assets/NAME-HASH.js, .css    may be kept by browsers for ever, so names change with their content
//   NAME.gz                      beside each text: attnd sends it to those who take it

import { build } from "esbuild";
import { gzipSync } from "node:zlib";
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { renderReference } from "./reference.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.env.OUT ?? join(here, "../build/web"));
const fresh = `${out}.new`;
const GZIP_BYTES_MIN = 1024;

rmSync(fresh, { recursive: true, force: true });
mkdirSync(join(fresh, "assets"), { recursive: true });

const { metafile } = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.js", style: "style.css", docs: "src/docs.js", "docs-style": "docs.css" },
    entryNames: "[name]-[hash]",
    outdir: join(fresh, "assets"),
    bundle: true,
    format: "esm",
    target: ["chrome110", "firefox115", "safari16.4"],
    minify: true,
    legalComments: "linked",
    metafile: true,
    logLevel: "warning",
});

const asset = {};
for (const [path, { entryPoint }] of Object.entries(metafile.outputs))
    if (entryPoint) asset[entryPoint] = `assets/${basename(path)}`;

function page(name, replacements) {
    const text = readFileSync(join(here, name), "utf8").replace(/\{\{(\w+)\}\}/g, (_, key) => replacements[key]);
    writeFileSync(join(fresh, name), text);
}

page("index.html", { script: asset["src/main.js"], style: asset["style.css"] });
page("docs.html", { script: asset["src/docs.js"], style: asset["docs.css"], ...renderReference(readFileSync(join(here, "../openapi.yaml"), "utf8")) });
cpSync(join(here, "icon.svg"), join(fresh, "icon.svg"));
cpSync(join(here, "../openapi.yaml"), join(fresh, "openapi.yaml"));

function compress(folder) {
    for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        if (statSync(path).isDirectory()) compress(path);
        else if (statSync(path).size >= GZIP_BYTES_MIN) writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
    }
}
compress(fresh);

rmSync(out, { recursive: true, force: true });
renameSync(fresh, out);
