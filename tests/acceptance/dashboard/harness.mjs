// SPDX-License-Identifier: Apache-2.0
// What the tests of the dashboard share: a daemon with folders of its own, a real browser, TAP.
//
//   CORRAL, CORRALD, CORRALD_HTTP   the programs
//   PACKAGES                        build-dashboard-test, with playwright-core and axe-core
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { CORRAL, CORRALD, CORRALD_HTTP, PACKAGES } = process.env;
export const PATIENCE = 90_000;

let number = 0, failures = 0;
export function ok(good, name, ...more) {
  number++;
  failures += !good;
  console.log(`${good ? "ok" : "not ok"} ${number} - ${name}`);
  if (!good) for (const line of more) console.log(`# ${JSON.stringify(line)?.slice(0, 2000)}`);
  return good;
}
export function end() {
  console.log(`1..${number}`);
  return failures ? 1 : 0;
}
// A part that throws is one that failed; the rest goes on.
export async function part(name, run) {
  try {
    await run();
  } catch (error) {
    ok(false, name, String(error?.stack ?? error));
  }
}

export const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
export async function until(condition, ms = PATIENCE) {
  const last = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value || Date.now() > last) return value;
    await sleep(30);
  }
}

// Whether it comes into sight, or leaves it, in time: pages answer an action a moment later.
export async function sees(locator) {
  return locator.waitFor({ state: "visible" }).then(() => true, () => false);
}
export async function misses(locator) {
  return locator.first().waitFor({ state: "hidden" }).then(() => true, () => false);
}

export class Daemon {
  constructor() {
    this.place = mkdtempSync(join(tmpdir(), "dash-"));
    this.runtime = join(this.place, "run");
    this.work = join(this.place, "work");
    for (const folder of [this.runtime, this.work]) mkdirSync(folder, { mode: 0o700 });
    this.env = { ...process.env, HOME: this.place, XDG_RUNTIME_DIR: this.runtime, XDG_STATE_HOME: join(this.place, "state"),
      XDG_CONFIG_HOME: join(this.place, "config"), CORRAL_PROGRAM: CORRAL, CORRALD_HTTP, CORRALD };
    for (const name of ["NOTIFY_SOCKET", "LISTEN_FDS", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]) delete this.env[name];
    this.children = new Set();
  }
  get log() {
    return join(this.place, "state/corral/audit.db");
  }
  async start(port = 0) {
    let said;
    // A client that looks for the daemon can have the daemon's port as its own for a moment.
    for (let i = 0; i < 50; i++) {
      this.process = spawn(CORRALD, ["--port", String(port)], { env: this.env, stdio: ["ignore", "ignore", "pipe"] });
      said = "";
      this.process.stderr.on("data", (text) => (said += text));
      await until(() => said.includes("ready: ") || this.process.exitCode !== null);
      if (!port || said.includes(`127.0.0.1:${port} `)) break;
      await this.kill();
      await new Promise((done) => setTimeout(done, 100));
    }
    this.port = Number(/127\.0\.0\.1:(\d+)/.exec(said)?.[1]);
    if (!this.port) throw new Error(`corrald does not start: ${said}`);
    this.token = readFileSync(join(this.runtime, "corral/token"), "utf8").trim();
    this.origin = new URL(this.link()).origin;
  }
  async kill(signal = "SIGKILL") {
    const gone = new Promise((done) => this.process.once("exit", done));
    this.process.kill(signal);
    await gone;
  }
  // `corral WORDS`, to its end
  corral(...words) {
    return spawnSync(CORRAL, words, { env: this.env, cwd: this.work, encoding: "utf8", timeout: 60_000 });
  }
  link() {
    return this.corral("dashboard", "--print").stdout.trim();
  }
  // `corral run WORDS` in the background
  run(...words) {
    const child = spawn(CORRAL, ["run", ...words], { env: this.env, cwd: this.work, stdio: "ignore" });
    this.children.add(child);
    child.on("exit", () => this.children.delete(child));
    return child;
  }
  async api(method, path, body) {
    const text = body && JSON.stringify(body);
    const headers = { Host: "localhost", Authorization: `Bearer ${this.token}`,
      ...(text && { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) }) };
    return new Promise((done, fail) => {
      const asked = request({ socketPath: join(this.runtime, "corral/api.sock"), method, path, headers }, (answer) => {
        let said = "";
        answer.setEncoding("utf8").on("data", (piece) => (said += piece)).on("error", fail);
        answer.on("end", () => done({ status: answer.statusCode, body: JSON.parse(said) }));
      });
      asked.on("error", fail);
      asked.end(text);
    });
  }
  async end() {
    for (const child of this.children) child.kill("SIGKILL");
    if (this.process?.exitCode === null && this.process.signalCode === null) await this.kill();
    rmSync(this.place, { recursive: true, force: true });
  }
}

export async function browser() {
  const { chromium } = await import(join(PACKAGES, "playwright-core/index.mjs"));
  const program = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
  return chromium.launch({ executablePath: program, timeout: PATIENCE, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
}

// A page that has logged in. What it complains of is in page.complaints; a dialog is a script that ran.
export async function open(b, daemon, options = {}) {
  const context = await b.newContext({ viewport: { width: 1360, height: 860 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (m) => m.type() === "error" && page.complaints.push(m.text()));
  page.on("pageerror", (e) => page.complaints.push(String(e)));
  page.on("dialog", (d) => {
    page.complaints.push(`a script ran: ${d.message()}`);
    d.dismiss();
  });
  page.setDefaultTimeout(PATIENCE);
  if (daemon) {
    await page.goto(daemon.link());
    await page.getByText("Live", { exact: true }).waitFor();
  }
  return page;
}

// The frames that were due are drawn: what an event before has changed is seen.
export async function drawn(page) {
  await page.evaluate(() => new Promise((wake) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(wake)))));
}

// What axe finds, as "rule: where".
export async function axe(page) {
  await page.evaluate(readFileSync(join(PACKAGES, "axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.any.map((a) => a.message).join("; ")}`));
  });
}
