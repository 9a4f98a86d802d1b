// SPDX-License-Identifier: Apache-2.0
// The vault in a real browser: its state, its secrets without values, where each may go and when it was used, lock and
// unlock; names that try to become markup.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { axe, browser, Daemon, end, misses, ok, open, part, sees, until } from "./harness.mjs";
import { shoot } from "./shots.mjs";

const VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
const daemon = new Daemon();
const passphrase = join(daemon.place, "passphrase");
const vault = (words, input = "") =>
  spawnSync(process.env.CORRAL, ["vault", ...words], { env: daemon.env, cwd: daemon.work, encoding: "utf8", input, timeout: 120_000 });
const panel = (page, name) => page.getByRole("region", { name });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const row = (page, name) => panel(page, "Secrets").getByRole("row", { name: new RegExp(name) });
// Whether this user's systemd-creds can keep a key.
let stored = false;

// A screen asks for its data when it is opened.
async function again(page) {
  for (const key of ["g", "n", "g", "v"]) await page.keyboard.press(key);
}

async function absent(page) {
  await page.keyboard.press("g");
  await page.keyboard.press("v");
  ok(await sees(page.getByRole("heading", { name: "There is no vault", level: 1 })), "vault: there is none, by keys");
  ok(await sees(page.getByText("corral vault init")), "vault: and what makes one");
}

async function locked(page) {
  writeFileSync(passphrase, "correct horse battery\n", { mode: 0o600 });
  ok(vault(["init", "--passphrase-file", passphrase]).status === 0, "vault: one is made");
  await again(page);
  ok(await sees(page.getByRole("heading", { name: "The vault is locked" })), "vault: it is locked");
  ok(await sees(page.getByText("corral vault unlock")), "vault: and what opens it");
  ok(!(await button(page, "Unlock").isVisible()) && !(await page.locator("input[type=password]").count()), "vault: no passphrase is typed here");
}

async function secrets(page) {
  stored = vault(["unlock", "--key", "systemd-creds", "--passphrase-file", passphrase]).status === 0;
  if (!stored) vault(["unlock", "--passphrase-file", passphrase]);
  vault(["set", "GITHUB_TOKEN"], VALUE);
  vault(["grant", "GITHUB_TOKEN", "api.github.com:443", "--to", "<img src=x onerror=alert(1)>"]);
  vault(["grant", "GITHUB_TOKEN", "uploads.github.com:443", "--in", "header,query"]);
  vault(["set", "NPM_TOKEN", "--expires-in", "1s"], "npm_0123456789abcdefghijklmnopqrstuvwxyz");
  await again(page);
  ok(await sees(page.getByRole("heading", { name: "2 secrets" })), "vault: how many there are");
  const text = await row(page, "GITHUB_TOKEN").innerText();
  ok(/api\.github\.com:443/.test(text) && /header,\s?query/.test(text) && /<img src=x onerror=alert\(1\)>/.test(text), "vault: where it may go, for whom, as text", text);
  ok(/nowhere/.test(await row(page, "NPM_TOKEN").innerText()), "vault: what was granted nowhere");
  ok(await sees(row(page, "NPM_TOKEN").getByText("over")), "vault: what has expired");
  ok(await sees(panel(page, "Uses and changes").getByText("GITHUB_TOKEN").first()), "vault: what was done with it");
  ok(!(await page.content()).includes(VALUE), "vault: no value is in the page");
  ok(await axe(page, "vault"), "vault: readable for everyone");
  await shoot(page, "vault");
}

async function lock(page) {
  await button(page, "Lock").click();
  ok(await sees(page.getByRole("heading", { name: "The vault is locked" })), "vault: locked by a click");
  ok(vault(["status"]).stdout.includes("locked"), "vault: which the command line says, too");
  ok(await misses(panel(page, "Secrets")), "vault: no name is shown any more");
  if (!stored) return;
  await button(page, "Unlock").press("Enter");
  ok(await sees(page.getByRole("heading", { name: "2 secrets" })), "vault: opened by systemd-creds, by keys");
}

let b;
try {
  await daemon.start();
  b = await browser();
  const page = await open(b, daemon);
  await part("vault: absent", () => absent(page));
  await part("vault: locked", () => locked(page));
  await part("vault: secrets", () => secrets(page));
  await part("vault: lock", () => lock(page));
  ok(page.complaints.length === 0, "vault: nothing on the browser's console", page.complaints);
} finally {
  vault(["lock"]);
  await b?.close();
  await daemon.end();
}
process.exit(end());
