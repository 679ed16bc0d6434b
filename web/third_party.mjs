// third_party.mjs: writes docs/third-party.md and LICENSES/page/. The page's packages are read from its bundle, the image's from
// LICENSES/image/, which scripts/licenses makes.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { HERE, bundle } from "./bundle.mjs";
import { shippedPackages } from "./licenses.mjs";

const TOP = join(HERE, "..");
const IMAGE = "LICENSES/image";

const table = (heads, rows) => [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const pageTable = (packages) => table(["package", "version", "licence", "text"], packages.map(({ name, version, license }) =>
    [name, version, license, `[${name}.txt](../LICENSES/page/${name}.txt)`]));

// The first line of the list names the Debian release; a line per package follows: name, version, source package, licences.
export function readImageList() {
    const [release, ...lines] = readFileSync(join(TOP, IMAGE, "packages.tsv"), "utf8").trim().split("\n");
    return { release, packages: lines.map((line) => line.split("\t")).map(([name, version, source, licenses]) => ({ name, version, source, licenses })) };
}

const imageTable = ({ packages }) => table(["package", "version", "licences in its copyright file", "text"], packages.map(({ name, version, source, licenses }) =>
    [name, version, licenses, `[${source}.txt](../${IMAGE}/${source}.txt)`]));

function documentOf(packages, image) {
    return `# Third-party licences

\`make licenses\` writes this file and [LICENSES/](../LICENSES/).

attnd itself: the repository has no licence file.

## The page

The bundle that the daemon serves contains code of these npm packages, and outlines of glyphs of DejaVu Sans Condensed, with which it
draws the pictures that it exports. Their notices are served with it, as \`/licenses.txt\`, and
are part of each self-contained HTML file that the page exports. The packages that only build the page or test it are not in it.

${pageTable(packages)}

The colour schemes in d3-scale-chromatic include ColorBrewer's, under a licence in Apache's style; its text is in the same file.

## The container image

The image holds the daemon, the page, and the shared libraries of these packages, unchanged, from
${image.release}. The versions are those of the day this list was made; an image lists its own in
\`/usr/share/doc/attnd/packages.tsv\`. It has each package's copyright file in \`/usr/share/doc/\`, and the licences that these refer
to in \`/usr/share/common-licenses/\`; here they are in [LICENSES/image/](../${IMAGE}/) and
[LICENSES/image/common/](../${IMAGE}/common/).

A copyright file covers the whole source package, with tools, tests, documentation and build scripts that the image does not have; it
says which files are under which licence. <https://snapshot.debian.org/> has the sources of each version.

${imageTable(image)}

The daemon's binary also contains start-up code of the C library (glibc) and of GCC's runtime library, which their licences allow to be
linked into any program.

## Not shipped

- \`tests/conformance/onnx/\`: test data from ONNX, Apache-2.0, [its licence](../tests/conformance/onnx/LICENSE). Copyright (c) ONNX
  Project Contributors.
`;
}

// Returns the files as a Map of path to text.
export async function thirdPartyFiles() {
    const { metafile } = await bundle({ write: false, outdir: join(HERE, "unwritten") }), packages = shippedPackages(metafile);
    return new Map([...packages.map(({ name, text }) => [`LICENSES/page/${name}.txt`, text]), ["docs/third-party.md", documentOf(packages, readImageList())]]);
}

async function main() {
    rmSync(join(TOP, "LICENSES/page"), { recursive: true, force: true });
    for (const [path, text] of await thirdPartyFiles()) {
        mkdirSync(dirname(join(TOP, path)), { recursive: true });
        writeFileSync(join(TOP, path), text);
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
