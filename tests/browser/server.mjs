// server.mjs: how the daemon serves the page: types, caching, security, and nothing outside its folder.

import { request as httpRequest } from "node:http";
import { equal, ok, open, startDaemon, test, world, TOP } from "./harness.mjs";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";

// fetch() would normalise these paths.
const raw = (path, { method = "GET", headers = {} } = {}) => new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.url);
    httpRequest({ hostname, port, path, method, headers }, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part)).on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }));
    }).on("error", reject).end();
});

test("pages, types and headers", async () => {
    for (const [path, type] of [["/", "text/html"], ["/?q=1", "text/html"], ["/docs", "text/html"], ["/openapi.yaml", "application/yaml"], ["/icon.svg", "image/svg+xml"]]) {
        const { status, headers } = await raw(path);
        equal(status, 200, path);
        ok(headers["content-type"].startsWith(type), `${path}: ${headers["content-type"]}`);
        equal(headers["x-content-type-options"], "nosniff", path);
        ok(/script-src 'self'; style-src 'self';/.test(headers["content-security-policy"]), "scripts and styles come from here alone");
        equal(headers["cache-control"], "no-cache", path);
    }
    const html = (await raw("/")).body.toString(), script = /src="(assets\/[^"]+\.js)"/.exec(html)[1];
    ok(!/<script(?![^>]*src=)/.test(html), "no inline script");
    const asset = await raw(`/${script}`);
    equal(asset.headers["content-type"], "text/javascript; charset=utf-8", "script");
    ok(/immutable/.test(asset.headers["cache-control"]), "kept for ever");
});

test("ETag, 304, HEAD and gzip", async () => {
    const first = await raw("/"), { etag } = first.headers;
    const again = await raw("/", { headers: { "If-None-Match": etag } });
    equal([again.status, again.body.length, again.headers.etag], [304, 0, etag], "not modified");
    equal((await raw("/", { headers: { "If-None-Match": '"other", W/' + etag } })).status, 304, "in a list");
    equal((await raw("/", { headers: { "If-None-Match": '"other"' } })).status, 200, "another one");
    const head = await raw("/", { method: "HEAD" });
    equal([head.status, head.body.length, head.headers["content-length"]], [200, 0, String(first.body.length)], "HEAD");
    const zipped = await raw("/", { headers: { "Accept-Encoding": "br, gzip" } });
    equal(zipped.headers["content-encoding"], "gzip", "gzip");
    ok(zipped.body.length < first.body.length && zipped.headers.etag !== etag, "smaller, and another entity");
    equal((await raw("/", { headers: { "Accept-Encoding": "gzip;q=0" } })).headers["content-encoding"], undefined, "gzip refused");
    equal((await raw("/", { method: "POST" })).status, 405, "POST");
    equal((await raw("/", { method: "OPTIONS" })).headers.allow, "GET, HEAD, OPTIONS", "OPTIONS");
});

test("nothing outside the folder is served", async () => {
    for (const path of ["/../Makefile", "/assets/../../attnd", "/%2e%2e/Makefile", "/..%2fMakefile", "/assets", "/assets/", "//etc/passwd", "/index.html", "/.hidden", "/assets/..%5c..%5cMakefile"]) {
        const { status, headers } = await raw(path);
        equal([path, status, headers["content-type"]], [path, 404, "application/problem+json"]);
    }
});

test("a wrong web root is refused", async () => {
    const program = process.env.ATTND_BIN ?? `${TOP}/build/attnd`;
    const wrong = spawnSync(program, ["--listen", "127.0.0.1:0", "--web-root", "/nonexistent"], { encoding: "utf8" });
    equal(wrong.status, 2, "exit status");
    ok(/--web-root \/nonexistent: No such file/.test(wrong.stderr), wrong.stderr);
    const empty = spawnSync(program, ["--listen", "127.0.0.1:0", "--web-root", `${TOP}/core`], { encoding: "utf8" });
    ok(/there is no index.html/.test(empty.stderr), empty.stderr);
});

test("with keys the page is served, and computing asks for one", async (t) => {
    const folder = mkdtempSync("/tmp/attnd-keys-");
    writeFileSync(`${folder}/keys`, "a-key-of-some-length\n");
    const daemon = await startDaemon("--api-key-file", `${folder}/keys`);
    try {
        t.expect(/status of 401/);
        const page = await open(t, { url: daemon.url, wait: false, width: 390, height: 844 });
        await page.waitForSelector("#api-key");
        ok(/a key is needed here/.test(await page.textContent("#problem")), "the server's words");
        ok(await page.isVisible("#api-key"), "the key's field is beside them, on a narrow screen too");
        await page.fill("#api-key", "a-key-of-some-length");
        await page.press("#api-key", "Enter");
        await page.waitForFunction(() => document.body.dataset.drawn);
        equal([await page.isVisible("#problem"), await page.isVisible("#api-key")], [false, false], "problem, and key");
        for (const [name, place] of [["curl", "-H \"X-API-Key: $ATTND_KEY\""], ["python", "os.environ[\"ATTND_KEY\"]"], ["javascript", "process.env.ATTND_KEY"]]) {
            await page.click("#copy summary");
            await page.click(`#copy [data-name=${name}]`);
            await page.waitForFunction(() => /copied/.test(document.getElementById("note").textContent));
            const text = await page.evaluate(() => navigator.clipboard.readText());
            ok(text.includes(place) && !text.includes("a-key-of-some-length"), text);
        }
    } finally {
        for (const context of t.contexts.splice(0)) await context.close();
        await daemon.stop();
    }
});
