// SPDX-License-Identifier: Apache-2.0
// What the screens say at the first look: figures without the page's own requests, what happened before the page was
// opened, permissions and limits in words, a broken policy, when the watcher looked.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, Daemon, end, ok, open, part, sees, until } from "./harness.mjs";

const daemon = new Daemon();
await daemon.start();
const b = await browser();
const hidden = join(daemon.place, "hidden");
writeFileSync(hidden, "");
const seen = daemon.corral("run", "--explain", "--deny", hidden, "--", "cat", hidden);
const asks = async () => (await daemon.api("GET", "/api/audit/summary?requests=only")).body.records;

await part("before the page", async () => {
  const page = await open(b, daemon);
  const legend = page.locator(".pulse .legend");
  ok(await until(async () => /[1-9]\d* denied/.test(await legend.innerText())), "now: what was denied a moment before the page was opened is counted", await legend.innerText(), seen.stderr);
  await page.evaluate(() => (location.hash = "#/audit"));
  await page.locator(".row.records").first().waitFor();
  for (let i = 0; i < 20; i++) await daemon.api("GET", "/api/status");
  const note = page.locator(".panel", { hasText: "Decisions over time" }).locator("header p");
  const shown = async () => Number(/[\d,]+/.exec(await note.innerText())?.[0].replaceAll(",", ""));
  // The end of the run may be recorded meanwhile: then it is looked at once more.
  let total;
  const same = async () => {
    total = (await daemon.api("GET", "/api/audit/summary?requests=no")).body;
    await page.goto("about:blank");
    await page.goto(daemon.link());
    await page.getByText("Live", { exact: true }).waitFor();
    await page.evaluate(() => (location.hash = "#/audit"));
    await note.waitFor();
    return (await shown()) === total.events;
  };
  ok((await asks()) > 20 && (await until(same)), "audit: the chart leaves the page's own requests out", await shown(), total.events);
  const records = () => page.locator(".row.records").allInnerTexts();
  ok(await until(async () => (await records()).length > 0 && (await records()).every((t) => !t.includes("corrald-http"))), "audit: so do the records", await records());
  await page.getByLabel("requests to the daemon").check();
  ok(await until(async () => (await shown()) > total.events + 20), "audit: both show them if asked for", await note.innerText());
  await page.context().close();
});

await part("a sandbox", async () => {
  daemon.run("--memory", "100M", "--", "sleep", "1000");
  const page = await open(b, daemon);
  await page.locator("a.box").filter({ hasText: "sleep" }).first().click();
  const may = page.locator(".panel.may");
  const summary = may.locator("details summary", { hasText: "environment variables" }).first();
  await summary.waitFor();
  ok((await may.locator("> .body > ul > li").count()) < 10, "sandbox: what it may do is a few lines", await may.innerText());
  ok(!(await may.getByText("LANGUAGE").first().isVisible()), "sandbox: variables are folded");
  await summary.click();
  ok(await sees(may.getByText("LANGUAGE").first()), "sandbox: and open by a click");
  const limits = await may.locator("dl.facts").innerText();
  ok(/Memory\s+105 MB/.test(limits) && !/\d{7}/.test(limits), "sandbox: limits have units", limits);
  await page.context().close();
});

await part("a broken policy", async () => {
  const page = await open(b, daemon);
  const folder = join(daemon.place, "config/corral/policy.d");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "mine.yaml"), "fs: {}\nnetwrk: []\n");
  const banner = page.locator("a.banner.deny");
  await banner.waitFor();
  ok(/1 stored policy is broken/.test(await banner.innerText()) && /line 2/.test(await banner.innerText()), "now: a stored policy that breaks is shown with its line", await banner.innerText());
  ok(await until(async () => (await page.locator("nav a", { hasText: "Policies" }).locator(".count").innerText()) === "1"), "now: and counted in the navigation");
  writeFileSync(join(folder, "mine.yaml"), "fs: {}\n");
  await banner.waitFor({ state: "hidden" });
  ok(true, "now: it goes when the file is good again");
  await page.context().close();
});

await part("the watcher", async () => {
  const page = await open(b, daemon);
  await page.evaluate(() => (location.hash = "#/security"));
  const panel = page.locator(".panel", { hasText: "Findings" }).first();
  const time = panel.locator("header time");
  await time.waitFor();
  const first = await time.getAttribute("datetime");
  ok(await until(async () => (await time.getAttribute("datetime")) !== first), "security: the time of the last look goes on");
  const looked = panel.locator("details");
  await looked.locator("summary").click();
  const text = await looked.innerText();
  ok(/outside of a sandbox/.test(text) && !/_|agent outside|file mode/.test(text), "security: what was looked for is said in words", text);
  await page.context().close();
});

await b.close();
await daemon.end();
process.exit(end());
