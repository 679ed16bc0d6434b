// build.mjs: bundles the page and the API reference into OUT (../build/web).
//
//   openapi-client.yaml          openapi.yaml as generators of clients take it
//   licenses.txt                 the notices of the packages in the bundle, and of the font
//   assets/NAME-HASH.js, .css    cached by browsers for good, so the names change with the content
//   NAME.gz                      beside each text: sent to clients that accept gzip

import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { HERE, bundle } from "./bundle.mjs";
import { clientSchema } from "./client-schema.mjs";
import { fontOutlines } from "./font.mjs";
import { notices, shippedPackages } from "./licenses.mjs";
import { renderReference } from "./reference.mjs";

const out = resolve(process.env.OUT ?? join(HERE, "../build/web"));
const fresh = `${out}.new`;
const GZIP_BYTES_MIN = 1024;

rmSync(fresh, { recursive: true, force: true });
mkdirSync(join(fresh, "assets"), { recursive: true });

const { metafile } = await bundle({ outdir: join(fresh, "assets") });

const asset = {};
for (const [path, { entryPoint }] of Object.entries(metafile.outputs))
    if (entryPoint) asset[entryPoint] = `assets/${basename(path)}`;

function page(name, replacements) {
    const text = readFileSync(join(HERE, name), "utf8").replace(/\{\{(\w+)\}\}/g, (_, key) => replacements[key]);
    writeFileSync(join(fresh, name), text);
}

// What is too large for the script, and fetched when it is needed.
function held(name, data) {
    const hash = createHash("sha256").update(data).digest("hex").slice(0, 8);
    const path = `assets/${name.replace(/(?=\.\w+$)/, `-${hash}`)}`;
    writeFileSync(join(fresh, path), data);
    return path;
}

page("index.html", { sentence: held("sentence.safetensors", readFileSync(join(HERE, "model/sentence.safetensors"))), font: held("font.json", fontOutlines()), script: asset["src/main.js"], style: asset["style.css"] });
page("docs.html", { script: asset["src/docs.js"], style: asset["docs.css"], ...renderReference(readFileSync(join(HERE, "../openapi.yaml"), "utf8")) });
writeFileSync(join(fresh, "licenses.txt"), notices(shippedPackages(metafile)));
cpSync(join(HERE, "icon.svg"), join(fresh, "icon.svg"));
cpSync(join(HERE, "../openapi.yaml"), join(fresh, "openapi.yaml"));
writeFileSync(join(fresh, "openapi-client.yaml"), clientSchema(readFileSync(join(HERE, "../openapi.yaml"), "utf8")));

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
