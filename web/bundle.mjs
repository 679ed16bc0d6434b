// bundle.mjs: how esbuild bundles the page's scripts and styles.

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export const HERE = dirname(fileURLToPath(import.meta.url));

// `options`: where the result goes. Returns esbuild's result, with a metafile.
export const bundle = (options) => build({
    absWorkingDir: HERE,
    entryPoints: { app: "src/main.js", style: "style.css", docs: "src/docs.js", "docs-style": "docs.css" },
    entryNames: "[name]-[hash]",
    bundle: true,
    format: "esm",
    target: ["chrome110", "firefox115", "safari16.4"],
    minify: true,
    legalComments: "none", // licenses.mjs collects the notices of every package
    metafile: true,
    logLevel: "warning",
    ...options,
});
