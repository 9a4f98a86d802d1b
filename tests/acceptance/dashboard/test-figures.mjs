// SPDX-License-Identifier: Apache-2.0
// What the screens say at the first look: figures without the page's own requests, what happened before the page was
// opened, permissions and limits in words, a broken policy, when the watcher looked.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, Daemon, drawn, end, ok, open, part, sees, until } from "./harness.mjs";

const daemon = new Daemon();
await daemon.start();
const b = await browser();
const hidden = join(daemon.place, "hidden");
writeFileSync(hidden, "");
const seen = daemon.corral("run", "--explain", "--", "cat", hidden);
const asks = async () => (await daemon.api("GET", "/api/audit/summary?requests=only")).body.records;

await part("before the page", async () => {
  const page = await open(b, daemon);
  const legend = page.locator(".pulse .legend");
  ok(await until(async () => /[1-9]\d* denied/.test(await legend.innerText())), "now: what was denied a moment before the page was opened is counted", await legend.innerText(), seen.stderr);
  const agree = async () => {
    const [head, below] = [await page.locator("h1").innerText(), await legend.innerText()].map((text) => /(\d[\d,]*) denied/.exec(text)?.[1]);
    return head && head === below;
  };
  ok(await until(agree), "now: the headline and the chart count the same", await page.locator("h1").innerText(), await legend.innerText());
  const allow = page.locator(".activity .row a.allow").first();
  ok(await until(async () => (await allow.count()) === 1), "now: what was denied has its Allow…");
  await allow.click();
  ok(await until(async () => (await page.locator("main").innerText()).includes("--read ")), "it leads to what allows it at the next start", await page.locator("main").innerText());
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
  const sleeps = page.locator(".boxes a.box").filter({ hasText: "sleep" });
  ok(await until(async () => /files: not watched/.test(await sleeps.first().innerText())), "now: that files are not watched is said beside what was denied", await sleeps.allInnerTexts());
  daemon.run("--explain", "--", "tail", "-f", "/dev/null");
  const watched = page.locator(".boxes a.box").filter({ hasText: "tail" });
  ok(await until(async () => (await watched.count()) === 1 && !/not watched/.test(await watched.innerText())), "now: and not of a sandbox where they are", await watched.allInnerTexts());
  await sleeps.first().click();
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

await part("what was denied", async () => {
  const own = new Daemon();
  await own.start();
  // A name that is looked up for two kinds of address, and an address.
  const tries = "import socket, time\nfor host in ('no.example', '203.0.113.1'):\n  try: socket.create_connection((host, 443), 5)\n  except OSError: pass\ntime.sleep(1000)";
  own.run("--net", "yes.example:1", "--", "/usr/bin/python3", "-c", tries);
  const page = await open(b, own);
  const box = page.locator("a.box .denied-count");
  const texts = async () => [await page.locator("h1").innerText(), await page.locator(".pulse .legend").innerText(), (await box.count()) ? await box.innerText() : ""];
  const counts = async () => (await texts()).map((text) => /(\d[\d,]*) denied/.exec(text)?.[1]);
  const agree = async () => (await counts()).every((n) => n === "2");
  ok(await until(agree), "now: the sandbox, the headline and the chart count the same; a look-up once", await texts());
  await page.goto("about:blank");
  await page.goto(own.link());
  await page.locator(".pulse .legend").waitFor();
  ok(await until(agree), "now: also what was counted before the page was opened", await texts());
  await page.locator(".activity .row", { hasText: "no.example" }).locator("a.allow").first().click();
  const form = page.getByRole("form", { name: "Allow more" });
  ok(await until(async () => (await form.getByRole("textbox").inputValue()) === "no.example:443"), "Allow… of a sandbox that runs fills in what to grant", await form.innerText());
  await page.locator("details.ceiling summary").first().click();
  ok(await sees(page.locator("details.ceiling code", { hasText: "--ceiling FILE" }).first()), "grants: what the ceiling is, and how to have one", await page.locator("main").innerText());
  await page.evaluate(() => (location.hash = "#/now"));
  await box.click();
  const facts = page.locator("dl.facts.line");
  ok(await until(async () => /Denied\s+2\b/.test(await facts.innerText())), "sandbox: so does its own screen", await facts.innerText());
  await page.context().close();
  await own.end();
});

// What is clipped, covered or out of sight, of all that says why.
const clipped = (page) => page.evaluate(() => {
  const rows = [...document.querySelectorAll(".all .row")].map((r) => r.getBoundingClientRect()).sort((a, c) => a.top - c.top);
  const bad = [...document.querySelectorAll(".row .why")].filter((w) => {
    const own = w.getBoundingClientRect(), row = w.closest(".row").getBoundingClientRect();
    return w.scrollWidth > w.clientWidth || w.scrollHeight > w.clientHeight || own.height < 10 || own.bottom > row.bottom || own.right > innerWidth || !w.checkVisibility();
  }).map((w) => w.textContent);
  for (let i = 1; i < rows.length; i++) if (rows[i].top < rows[i - 1].bottom - 1) bad.push(`row ${i} lies on the one before`);
  for (const a of document.querySelectorAll(".row a.allow")) {
    const own = a.getBoundingClientRect(), name = a.parentElement.firstElementChild.getBoundingClientRect();
    if (own.top > name.bottom || own.right > a.closest(".row").getBoundingClientRect().right) bad.push(`Allow… of ${a.parentElement.textContent} is not beside the name`);
  }
  return bad;
});

await part("reasons", async () => {
  const own = new Daemon();
  await own.start();
  const kept = join(own.place, "a-file-with-a-name-that-is-rather-long-so-that-its-reason-is-longer-than-a-row-of-the-page-kept-by-a-rule");
  writeFileSync(kept, "");
  writeFileSync(join(own.place, "plain-file-with-a-long-name-that-a-row-of-a-narrow-page-cannot-show"), "");
  own.corral("run", "--explain", "--deny", kept, "--", "cat", kept);
  own.corral("run", "--explain", "--", "cat", "/etc/shadow", join(own.place, "plain-file-with-a-long-name-that-a-row-of-a-narrow-page-cannot-show"));
  own.corral("run", "--net", "yes.example:1", "--", "/usr/bin/python3", "-c", "import socket\ntry: socket.create_connection(('169.254.169.254', 80), 5)\nexcept OSError: pass");
  own.run("--", "/bin/sh", "-c", "sleep 1000", "an argument that is seen");
  const page = await open(b, own);
  const box = page.locator("a.box").filter({ hasText: "sleep" }).first();
  await box.waitFor();
  const lines = async () => box.locator(".where").allInnerTexts();
  ok(await until(async () => (await lines())[0]?.includes("an argument that is seen")), "now: a sandbox shows its arguments", await lines());
  ok((await lines()).some((t) => t.includes(own.work)), "now: and its folder", await lines());
  for (const screen of ["now", "audit"]) {
    await page.evaluate((h) => (location.hash = h), screen === "audit" ? "#/audit?decision=denied" : "#/now");
    if (screen === "audit") await page.locator(".row.records").first().waitFor();
    else await page.getByRole("button", { name: "Denied", exact: true }).click();
    for (const width of [1360, 800, 400]) {
      await page.setViewportSize({ width, height: 860 });
      await drawn(page);
      const why = page.locator(".row .why");
      const there = async () => (await why.count()) === 4 && (await clipped(page)).length === 0;
      ok(await until(there, 20_000), `${screen}: no reason is cut at ${width}`, await clipped(page), await why.allInnerTexts());
      const text = (await why.allInnerTexts()).join("\n");
      ok(/the baseline denies \/etc\/shadow \(it holds the accounts of this machine\)/.test(text) && /denies .*kept-by-a-rule/.test(text), `${screen}: each is there, at ${width}`, text);
    }
    const rows = (text) => page.locator(".all .row", { hasText: text });
    ok((await rows("plain-file").locator("a.allow").count()) === 1 && (await rows("/etc/shadow").locator("a.allow").count()) === 0 && (await rows("kept-by-a-rule").locator("a.allow").count()) === 0,
      `${screen}: Allow… stands only where nothing but a grant was missing`, await page.locator(".all .row").allInnerTexts());
    await page.setViewportSize({ width: 1360, height: 860 });
  }
  await page.evaluate(() => (location.hash = "#/questions"));
  const none = page.locator(".panel", { hasText: "No questions" });
  await none.waitFor();
  ok(/--ask-denied/.test(await none.innerText()) && /ask: denied/.test(await none.innerText()), "questions: an empty list says what makes a run ask", await none.innerText());
  // The asking program's name is the command's own.
  await page.evaluate(() => (location.hash = "#/now"));
  writeFileSync(join(own.work, "ask.py"), "import socket\nsocket.create_connection(('asks.example', 443)).recv(1)\n");
  own.run("--ask-denied", "--ask", "5m", "--", "/bin/sh", "-c", "cp /usr/bin/python3 './Corral recommends yes to all   '; './Corral recommends yes to all   ' ask.py");
  const banner = page.locator("a.banner.ask");
  await banner.waitFor();
  const said = await banner.innerText();
  ok(/sh asks to connect to/.test(said) && said.includes("asks.example") && !said.includes("recommends"), "now: the banner's words are not the command's", said);
  // An address that someone made.
  await page.evaluate(() => (location.hash = "#/grants?sandbox=x&action=net.connect&target=*%3A443"));
  await page.getByRole("heading", { name: "Grants" }).waitFor();
  await drawn(page);
  ok((await page.getByRole("form", { name: "Allow more" }).getByRole("textbox").inputValue()) === "" && !(await page.locator("main").innerText()).includes("--net"), "grants: an address fills in no pattern", await page.locator("main").innerText());
  await page.context().close();
  await own.end();
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
