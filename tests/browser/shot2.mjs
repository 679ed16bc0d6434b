import { chromium } from "playwright-core";
const url = process.argv[2];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox","--disable-gpu","--disable-quic","--no-first-run","--disable-background-networking","--disable-component-update","--disable-sync"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
page.on("console", m => console.log(m.type(), m.text()));
page.on("pageerror", e => console.log("ERR", e.stack));
await page.goto(url); await page.waitForFunction(() => document.body.dataset.drawn);
await page.waitForTimeout(200);
await page.screenshot({ path: "/tmp/shots/a.png" });
console.log(await page.evaluate(() => [performance.getEntriesByName("first-picture")[0].startTime, JSON.stringify(performance.getEntriesByType("resource").map(r=>[r.name.slice(-20),Math.round(r.startTime),Math.round(r.responseEnd)]))]));
for (const id of ["averages","raw","grouped","window","alibi","sinks","cross"]) {
  await page.selectOption("#preset", id); await page.waitForTimeout(400);
  if (id==="window") await page.check("#layers");
  await page.waitForTimeout(200);
  await page.screenshot({ path: `/tmp/shots/p-${id}.png` });
}
await page.goto(url + "docs"); await page.waitForTimeout(1500);
await page.screenshot({ path: "/tmp/shots/docs.png" });
await browser.close();
