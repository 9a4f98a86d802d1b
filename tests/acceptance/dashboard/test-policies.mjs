// SPDX-License-Identifier: Apache-2.0
// Policies in a real browser, over a real corrald, by keys: an error at its line, the difference before a save, a
// change by another program, undo, what would be allowed; with texts that try to become markup.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { axe, browser, Daemon, end, ok, open, part, until } from "./harness.mjs";
import { shoot } from "./shots.mjs";

const XSS = `<img src=x onerror="alert('policy')"><script>alert(1)</script>`;
const GOOD = `# ${XSS}\nfs:\n  read: [/usr/**]\nlimits: {timeout: 5m, memory: 1G, pids: 256}\n`;
const daemon = new Daemon();
const config = join(daemon.place, "config/corral/policy.d");
mkdirSync(join(config, "custom"), { recursive: true, mode: 0o700 });
writeFileSync(join(config, "team.yaml"), GOOD);
writeFileSync(join(config, "company.yaml"), `# What agents of this team may do at most.
fs:
  read: [/usr/**, /etc/ssl/**, ~/notes]
  write: [$WORK_DIR/src/**]
network:
  allow: ["api.example.com:443", "*.example.org:443"]
exec: [git, "npm run:*"]
`);

const lists = (page) => page.getByRole("navigation", { name: "Policies" });
const editor = (page) => page.getByRole("textbox", { name: "Text of team" });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const stored = () => readFileSync(join(config, "team.yaml"), "utf8");

async function write(page, text) {
  await editor(page).focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

// All by keys: no mouse.
async function errorAndSave(page) {
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await lists(page).getByRole("button", { name: /^team/ }).press("Enter");
  await editor(page).waitFor();
  ok(await until(async () => (await editor(page).inputValue()) === GOOD), "policies: a comment that is markup is shown as it is", await editor(page).inputValue());

  await write(page, GOOD + "netwrk:\n  allow: []\n");
  const finding = page.getByRole("list", { name: "Findings" }).getByText(/unknown key/);
  await finding.waitFor();
  const mark = page.locator(".line-mark.error");
  ok(await until(async () => (await mark.allInnerTexts()).join() === "5"), "policies: an error is marked at its line", await mark.allInnerTexts());
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog");
  await dialog.locator("tr.added").first().waitFor();
  ok(await until(async () => (await dialog.locator("tr.added").count()) === 2), "policies: Ctrl+S shows the difference");
  await button(dialog, "Save").press("Enter");
  await page.getByText(/^Not saved: line 5: unknown key/).waitFor();
  ok(stored() === GOOD, "policies: a broken text is not saved");
  const chosen = () => editor(page).evaluate((t) => t.value.slice(t.selectionStart, t.selectionEnd));
  ok(await until(async () => (await chosen()).startsWith("netwrk")), "policies: the place of the error is selected", await chosen());

  await write(page, GOOD + "exec: [git]\n");
  await page.keyboard.press("Control+s");
  const added = () => dialog.locator("tr.added").allInnerTexts();
  ok(await until(async () => (await added()).join().includes("exec: [git]")), "policies: the difference has the line", await added());
  ok(stored() === GOOD, "policies: nothing is saved before the difference was seen");
  await button(dialog, "Save").press("Enter");
  await page.getByText(/^Saved\./).waitFor();
  ok(stored() === GOOD + "exec: [git]\n", "policies: saved after the difference");
}

async function checks(page) {
  await page.getByLabel("Operation").selectOption("fs.read");
  const ask = async (target, verdict) => {
    await page.getByLabel("Target").fill(target);
    await page.getByLabel("Target").press("Enter");
    const answer = page.locator(".verdict .badge");
    ok(await until(async () => (await answer.allInnerTexts())[0] === verdict), `policies: ${target.slice(0, 30)}: ${verdict}`,
      await page.locator(".verdict").allInnerTexts());
  };
  await ask("/usr/share/x", "allow");
  await ask(`/home/${XSS}`, "deny");
  ok((await page.locator(".verdict").innerText()).includes("<img src=x onerror="), "policies: a hostile target is text in the remedy");
  await ask("/usr/share/y", "allow");
  await page.getByRole("button", { name: "line 3" }).press("Enter");
  ok(await until(() => page.evaluate(() => document.activeElement.tagName === "TEXTAREA")), "policies: the rule's line is a link into the editor");
}

async function conflictAndUndo(page) {
  const mine = GOOD + "exec: [make]\n", theirs = GOOD + "exec: [cargo]\n";
  await write(page, mine);
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").waitFor();
  writeFileSync(join(config, "team.yaml"), theirs);
  await button(page.getByRole("dialog"), "Save").press("Enter");
  await page.getByText(/this policy was changed meanwhile/).waitFor();
  ok(stored() === theirs, "policies: what another program wrote is not overwritten");
  ok((await editor(page).inputValue()) === mine, "policies: what was typed is kept");
  const against = async () => {
    const dialog = page.getByRole("dialog");
    await button(page, "Review and save").press("Enter");
    await dialog.locator("tr.added").first().waitFor();
    if ((await dialog.locator("tr.removed").allInnerTexts()).join().includes("cargo")) return true;
    await button(dialog, "Cancel").press("Enter");
    await page.locator("dialog").waitFor({ state: "detached" });
    return false;
  };
  ok(await until(against), "policies: the next difference is against theirs");
  await button(page.getByRole("dialog"), "Save").press("Enter");
  ok(await until(() => stored() === mine), "policies: saved then");
  await page.getByText("as saved", { exact: true }).waitFor();

  const undo = button(page, "Undo the last save");
  await until(() => undo.isEnabled());
  await undo.press("Enter");
  const added = () => page.getByRole("dialog").locator("tr.added").allInnerTexts();
  ok(await until(async () => (await added()).join().includes("cargo")), "policies: undo shows its difference", await added());
  await button(page.getByRole("dialog"), "Undo").press("Enter");
  ok(await until(() => stored() === theirs), "policies: undo brings back what was there");
  ok(await until(async () => (await page.locator(".history li").count()) >= 3), "policies: the history has the versions");
}

async function brokenByHand(page) {
  writeFileSync(join(config, "team.yaml"), `fs: [${XSS}\n`);
  const entry = lists(page).getByRole("button", { name: /^team/ });
  ok(await until(async () => (await entry.innerText()).includes("broken")), "policies: a file that is broken by hand shows as such, by itself");
  await page.getByText(/This file is broken at line/).waitFor();
  writeFileSync(join(config, "team.yaml"), GOOD);
  ok(await until(async () => (await entry.innerText()).includes("in force")), "policies: and as in force when it is mended");
}

async function newAndRemoved(page) {
  const field = lists(page).getByRole("textbox", { name: "New policy" });
  await field.fill("fresh");
  await field.press("Enter");
  const area = page.getByRole("textbox", { name: "Text of fresh" });
  await area.waitFor();
  ok(/^# This policy limits every run of yours/.test(await area.inputValue()), "policies: a new one starts from a template that says whom it limits", await area.inputValue());
  await area.fill("fs:\n  read: [/usr/**]\n");
  await area.press("Control+s");
  await button(page.getByRole("dialog"), "Save").press("Enter");
  ok(await until(() => existsSync(join(config, "fresh.yaml"))), "policies: a new one");
  await page.getByText("as saved", { exact: true }).waitFor();
  await button(page, "Remove").press("Enter");
  await page.getByRole("dialog").locator("tr.removed").first().waitFor();
  ok(await until(async () => (await page.getByRole("dialog").locator("tr.removed").count()) === 2), "policies: removing shows what goes");
  await button(page.getByRole("dialog"), "Remove").press("Enter");
  ok(await until(() => !existsSync(join(config, "fresh.yaml"))), "policies: it is removed");
  await page.getByText(/fresh is removed/).waitFor();
}

async function modes(page) {
  const warning = page.getByText(/these policies block nothing/);
  ok(await until(async () => (await warning.count()) === 0), "policies: enforced, nothing is said of a mode");
  writeFileSync(join(config, "../daemon.json"), JSON.stringify({ daemon: { mode: "monitor" } }));
  // The page asks for it when the screen is opened, and the daemon may not have read the file by then.
  const said = async () => {
    await page.goto(`${daemon.origin}/#/now`);
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    await page.goto(`${daemon.origin}/#/policies`);
    await lists(page).waitFor();
    return until(async () => (await warning.count()) > 0, 3000);
  };
  ok(await until(said), "policies: a mode in which they do not bind is said");
}

// For docs/img.
async function picture(page) {
  if (!process.env.SHOTS) return;
  await lists(page).getByRole("button", { name: /^company/ }).press("Enter");
  await page.getByRole("textbox", { name: "Text of company" }).waitFor();
  await page.getByText(/no bound is set/).waitFor();
  await shoot(page, "policies");
}

const b = await browser();
try {
  await daemon.start();
  const page = await open(b, daemon);
  await part("policies: an error, and a save", () => errorAndSave(page));
  await part("policies: what would be allowed", () => checks(page));
  await part("policies: a conflict, and undo", () => conflictAndUndo(page));
  await part("policies: broken by hand", () => brokenByHand(page));
  await part("policies: a picture", () => picture(page));
  await part("policies: a new one", () => newAndRemoved(page));
  await part("policies: modes", () => modes(page));
  await part("policies: axe", async () => ok((await axe(page)).length === 0, "policies: axe finds nothing", await axe(page)));
  // A request that the daemon refuses is on the console; a script that ran would be there, too.
  const complaints = page.complaints.filter((text) => !/status of (400|409|422)/.test(text));
  ok(complaints.length === 0, "no script ran, nothing else complained", complaints);
} finally {
  await b.close();
  await daemon.end();
}
process.exit(end());
