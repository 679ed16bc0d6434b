import { chromium } from "playwright-core";
const url = process.argv[2];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox","--disable-gpu","--disable-quic","--no-first-run","--disable-background-networking","--disable-component-update","--disable-sync"] });
for (const [w, scheme] of [[1280,"light"],[1280,"dark"],[390,"light"],[390,"dark"]]) {
  const page = await browser.newPage({ viewport: { width: w, height: w===390?844:860 }, colorScheme: scheme });
  page.on("console", m => console.log(w, scheme, m.type(), m.text()));
  page.on("pageerror", e => console.log("ERR", e.stack));
  await page.goto(url); 
  await page.waitForFunction(() => document.body.dataset.drawn, null, {timeout: 8000}).catch(e=>console.log(e.message));
  await page.waitForTimeout(300);
  await page.screenshot({ path: `/tmp/shots/map-${w}-${scheme}.png`, fullPage: false });
  if (process.argv[3]) for (const v of process.argv[3].split(",")) {
    await page.click(`#view-${v}`); await page.waitForTimeout(500);
    await page.screenshot({ path: `/tmp/shots/${v}-${w}-${scheme}.png` });
  }
  await page.close();
}
await browser.close();
