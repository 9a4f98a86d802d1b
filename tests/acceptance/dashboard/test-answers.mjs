// SPDX-License-Identifier: Apache-2.0
// Questions and grants in a real browser, over a real corrald and real sandboxes: a command waits and is answered,
// by keys; a folder and a host are given to a sandbox that runs, and taken back; and names that try to become markup.
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { axe, browser, Daemon, end, ok, open, part, sees, until } from "./harness.mjs";
import { shoot } from "./shots.mjs";

// A network of its own, in which a server has a public address.
const ADDRESS = "93.184.216.34";
if (!process.env.DASHBOARD_WORLD) {
  const world = process.getuid() === 0 ? ["--net"] : ["--net", "--map-root-user"];
  const inside = `ip link set lo up && ip addr add ${ADDRESS}/32 dev lo && exec "$@"`;
  const done = spawnSync("unshare", [...world, "sh", "-c", inside, "sh", process.execPath, ...process.argv.slice(1)],
    { stdio: "inherit", env: { ...process.env, DASHBOARD_WORLD: "1" } });
  process.exit(done.status ?? 1);
}

const XSS = `<img src=x onerror="alert('question')">`;
const daemon = new Daemon();
const asked = join(daemon.place, "billing"), other = join(daemon.place, "shared");
const path = (name) => join(daemon.work, name);
const text = (name) => (existsSync(path(name)) ? readFileSync(path(name), "utf8") : null);
for (const folder of [asked, other]) mkdirSync(folder);
writeFileSync(join(asked, "invoices.csv"), "content\n");
writeFileSync(join(asked, XSS.replaceAll("/", "")), "hostile\n");
writeFileSync(join(asked, "payments.csv"), "third\n");
writeFileSync(join(asked, "early.csv"), "early\n");
writeFileSync(join(other, "file"), "granted\n");

const web = createServer((_, answer) => answer.end("reached\n"));
await new Promise((ready) => web.listen(0, ADDRESS, ready));
const host = `${ADDRESS}:${web.address().port}`;

writeFileSync(path("policy.yaml"), `fs:
  read: [/usr/**, /lib/**, /lib64/**, /bin/**, /etc/**, ${daemon.work}/**]
  write: [${daemon.work}/**]
rules:
  - {id: ask-first, action: ask, operations: [fs.read], patterns: ["${asked}/**"]}
`);
writeFileSync(path("ceiling.yaml"), `fs:
  read: [${daemon.place}/**, /usr/**, /lib/**, /lib64/**, /bin/**, /etc/**]
  write: [${daemon.work}/**]
network:
  allow: ["${host}"]
`);
// The command of the sandbox: it does each job that it finds, and what that printed is in a file when it is done.
writeFileSync(path("agent.sh"), `while :; do
  for job in job-*; do
    [ -f "$job" ] || continue
    mv "$job" "running"
    sh ./running >"out-$job" 2>&1
    echo "status $?" >>"out-$job"
    mv "out-$job" "done-$job"
  done
  sleep 0.05
done
`);
let jobs = 0;
// Has the sandbox do it: the name of the file that its output will be in.
function order(command) {
  const name = `job-${++jobs}`;
  writeFileSync(path(`new-${name}`), command);
  renameSync(path(`new-${name}`), path(name));
  return `done-${name}`;
}
const read = (file) => order(`sandbox-call fs.read 'path=${file}'\n`);
const outcome = (name) => until(() => text(name));

const cards = (page) => page.locator(".question:not(.gone)");
async function focusFirst(page) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.classList.contains("question"))) return true;
  }
  return false;
}

// Answers the first open question. A press right after something moved is ignored, and is made again.
async function answer(page, act) {
  const id = await cards(page).first().getAttribute("data-id");
  const card = page.locator(`.question:not(.gone)[data-id="${id}"]`);
  return until(async () => {
    if ((await card.count()) === 0) return true;
    await act(card).catch(() => 0);
    await page.waitForTimeout(400);
    return false;
  });
}
const key = (name) => async (card) => {
  await card.focus({ timeout: 1000 });
  await card.page().keyboard.press(name);
};

async function answerByKeys(page) {
  const waits = read(join(asked, "invoices.csv"));
  await page.getByText(/question waits/).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await cards(page).first().waitFor();
  const card = await cards(page).first().innerText();
  ok(card.includes(join(asked, "invoices.csv")) && /asks to read/.test(card) && /process \d+/.test(card), "questions: what is asked, by whom", card);
  ok(text(waits) === null, "questions: the command waits");
  ok(await until(async () => /^\(1\) Questions/.test(await page.title())), "questions: the title counts them", await page.title());
  await shoot(page, "questions");
  ok(await focusFirst(page), "questions: Tab reaches the question");
  await answer(page, () => page.keyboard.press("o"));
  ok((await outcome(waits))?.includes("content"), "questions: allowed once by a key, and the command goes on", text(waits));

  const again = read(join(asked, "invoices.csv"));
  await cards(page).first().waitFor();
  ok(text(again) === null, "questions: once is once");
  await answer(page, key("d"));
  ok(/status [1-9]/.test(await outcome(again)), "questions: denied by a key", text(again));
}

async function allowForLonger(page) {
  const first = read(join(asked, "payments.csv"));
  await cards(page).first().waitFor();
  await answer(page, (card) => card.getByRole("button", { name: /^Allow a/ }).click({ timeout: 1000 }));
  ok((await outcome(first))?.includes("third"), "questions: allowed for longer", text(first));
  const second = read(join(asked, "payments.csv"));
  ok((await outcome(second))?.includes("third"), "questions: and not asked again", text(second));
}

// An agent that asks just when something is pressed must not get that press as its answer.
async function tooEarly(page) {
  await page.evaluate(() => {
    globalThis.pressed = 0;
    new MutationObserver((_, watch) => {
      const button = document.querySelector(".question:not(.gone) button");
      if (!button) return;
      watch.disconnect();
      button.click();
      const card = button.closest(".question");
      card.focus();
      for (const repeat of [false, true]) card.dispatchEvent(new KeyboardEvent("keydown", { key: "o", repeat, bubbles: true }));
      globalThis.pressed = 1;
    }).observe(document.querySelector(".questions"), { childList: true, subtree: true });
  });
  const waits = read(join(asked, "early.csv"));
  await cards(page).first().getByRole("alert").waitFor();
  ok((await page.evaluate(() => globalThis.pressed)) === 1, "questions: pressed in the moment in which it appears");
  await page.waitForTimeout(700);
  await cards(page).first().evaluate((card) => card.dispatchEvent(new KeyboardEvent("keydown", { key: "o", repeat: true, bubbles: true })));
  const open = (await daemon.api("GET", "/api/questions")).body.questions;
  ok(open.length === 1 && text(waits) === null, "questions: that press, and a key that is held down, answer nothing", open, text(waits));
  await answer(page, key("d"));
  ok(/status [1-9]/.test(await outcome(waits)), "questions: then it is denied", text(waits));
}

// Who answers by keys goes on with the next question, and not at the top of the page.
async function nextOne(page) {
  const names = ["first.csv", "second.csv"].map((name) => join(asked, name));
  for (const name of names) writeFileSync(name, "next\n");
  const waits = order(names.map((name) => `sandbox-call fs.read 'path=${name}' &\n`).join("") + "wait\n");
  ok(await until(async () => (await cards(page).count()) === 2), "questions: two wait");
  const ids = await cards(page).evaluateAll((all) => all.map((card) => card.dataset.id));
  await answer(page, key("o"));
  ok(await until(() => page.evaluate((id) => document.activeElement?.dataset.id === id, ids[1])), "questions: the focus moves to the next one", await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200)));
  await answer(page, () => page.keyboard.press("o"));
  ok((await outcome(waits))?.split("next").length === 3, "questions: which the next key answers", text(waits));
}

// A command failed, and there was no terminal to ask in.
async function later(page) {
  const file = join(other, "later.txt");
  writeFileSync(file, "for the next run\n");
  const run = () => daemon.corral("run", "--ask-denied", "--", "cat", file);
  const first = run();
  const card = page.locator(".question.later", { hasText: file });
  await card.waitFor();
  ok(first.status !== 0 && /holds from the next run/.test(await card.innerText()), "questions: of a command that failed, and from when on an answer holds", await card.innerText(), first.stderr);
  const done = card.getByRole("status");
  const press = async () => {
    if (await done.count()) return true;
    await card.getByRole("button", { name: "Allow in the next run" }).click({ timeout: 1000 }).catch(() => 0);
    return false;
  };
  ok((await until(press)) && /Allowed from the next run/.test(await done.innerText()), "questions: it is answered", await card.innerText());
  const [second, third] = [run(), run()];
  ok(second.stdout.includes("for the next run") && third.status !== 0, "questions: for one run", second.stderr, third.stderr);
}

async function hostile(page) {
  const name = join(asked, XSS.replaceAll("/", ""));
  writeFileSync(path("hostile"), name);
  const waits = order(`sandbox-call fs.read "path=$(cat hostile)"\n`);
  await cards(page).first().waitFor();
  ok((await cards(page).first().innerText()).includes(name), "questions: a hostile name is shown as it is");
  await answer(page, key("o"));
  ok((await outcome(waits))?.includes("hostile"), "questions: and is the file that is read", text(waits));
}

async function grants(page) {
  await page.keyboard.press("Escape");
  await page.goto(`${daemon.origin}/#/grants`);
  const form = page.getByRole("form", { name: "Allow more" });
  const field = form.getByRole("textbox");
  const before = read(join(other, "file"));
  ok(/status [1-9]/.test(await outcome(before)), "grants: denied before", text(before));
  await field.fill(other);
  ok(await sees(form.getByText(`It may then read everything in ${other}`)), "grants: what it would allow, in words", await form.innerText());
  await field.press("Enter");
  await page.getByText(/^Granted: read everything in/).waitFor();
  const after = read(join(other, "file"));
  ok((await outcome(after))?.includes("granted"), "grants: a folder works on the next call", text(after));
  await shoot(page, "grants");

  const reach = () => order(`/usr/bin/python3 -c 'import urllib.request; print(urllib.request.urlopen("http://${host}/", timeout=60).read().decode())'\n`);
  const closed = reach();
  ok(/status [1-9]/.test(await outcome(closed)), "grants: a host is denied before", text(closed));
  await form.getByLabel("What").selectOption("host");
  await field.fill(host);
  await field.press("Enter");
  await page.getByText(/^Granted: connect to/).waitFor();
  const opened = reach();
  ok((await outcome(opened))?.includes("reached"), "grants: a host granted to a live sandbox", text(opened));

  await page.getByRole("button", { name: `Revoke: read everything in ${other}` }).press("Enter");
  await page.getByText(/^Revoked: read everything in/).waitFor();
  const revoked = read(join(other, "file"));
  ok(/status [1-9]/.test(await outcome(revoked)), "grants: revoked, the next call is denied", text(revoked));

  await form.getByLabel("What").selectOption("read-folder");
  await field.fill("/root");
  await field.press("Enter");
  const refusal = form.getByRole("alert");
  await refusal.waitFor();
  ok(/ceiling/.test(await refusal.innerText()), "grants: above the ceiling is refused, and says so", await refusal.innerText());
}

const b = await browser();
try {
  await daemon.start();
  const run = daemon.run("--broker", "--policy", "policy.yaml", "--ceiling", "ceiling.yaml", "--", "sh", "./agent.sh");
  const page = await open(b, daemon);
  await until(async () => (await daemon.api("GET", "/api/sandboxes")).body.sandboxes.length === 1);
  await part("questions: by keys", () => answerByKeys(page));
  await part("questions: for longer", () => allowForLonger(page));
  await part("questions: too early", () => tooEarly(page));
  await part("questions: hostile names", () => hostile(page));
  await part("questions: the next one", () => nextOne(page));
  await part("questions: later", () => later(page));
  await part("questions: axe", async () => ok((await axe(page)).length === 0, "questions: axe finds nothing", await axe(page)));
  await part("grants", () => grants(page));
  await part("grants: axe", async () => ok((await axe(page)).length === 0, "grants: axe finds nothing", await axe(page)));
  const complaints = page.complaints.filter((said) => !/status of (404|409)/.test(said));
  ok(complaints.length === 0, "no script ran, nothing else complained", complaints);
  run.kill("SIGKILL");
} finally {
  await b.close();
  web.close();
  await daemon.end();
}
process.exit(end());
