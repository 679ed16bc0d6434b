// licenses.mjs: the licences of the npm packages whose code is in the page, by esbuild's metafile of the bundle, and of its font.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { HERE } from "./bundle.mjs";
import { FONT_PACKAGE } from "./font.mjs";

const PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;

const TITLES = { [FONT_PACKAGE]: "Bitstream Vera, Arev, public domain" }; // its package.json only points at its LICENSE

function readPackage(name) {
    const folder = join(HERE, "node_modules", name), { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).sort();
    if (!license || !files.length) throw new Error(`${name} does not say its licence`);
    return { name, version, license: TITLES[name] ?? license, text: files.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n") + "\n" };
}

// Returns [{ name, version, license, text }] of the font and of the packages with code in the bundle, by name.
export function shippedPackages({ outputs }) {
    const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs)).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
    const names = new Set(inputs.map(([path]) => PACKAGE.exec(path)?.[1]).filter(Boolean));
    names.add(FONT_PACKAGE);
    if (inputs.some(([path]) => path.includes("<runtime>"))) names.add("esbuild"); // its helpers are in the bundle
    return [...names].sort().map(readPackage);
}

// The notices in one text, which the page is shipped with.
export function notices(packages) {
    const parts = packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n${"-".repeat(72)}\n${text}`);
    return ["The page of attnd contains code of these packages, and glyphs of the fonts DejaVu.\n", ...parts].join("\n\n");
}
