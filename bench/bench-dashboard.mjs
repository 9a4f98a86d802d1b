// SPDX-License-Identifier: Apache-2.0
// The dashboard in Chromium: bytes, first paint, frames at 1,000 events/s, and memory as events go on.
//
//   MINUTES (2) at 100 events/s; 60 is the hour that docs/performance.md has
import { spawn } from "node:child_process";
import { Daemon, browser, open, sleep, until } from "../tests/acceptance/dashboard/harness.mjs";

const MINUTES = Number(process.env.MINUTES ?? 2);
const daemon = new Daemon();
await daemon.start();
const b = await browser();
const send = (count, rate) => new Promise((done) => spawn(process.env.JOIN_EVENTS, [count, rate].map(String), { env: daemon.env, stdio: "inherit" }).once("exit", done));
const page = await open(b, null);
let bytes = 0;
page.on("response", async (r) => (bytes += Number(r.headers()["content-length"] ?? 0) * !r.url().includes("/api/")));
await page.goto(daemon.link());
await page.getByText("Live", { exact: true }).waitFor();
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
console.log(`dashboard: ${bytes} bytes, first paint after ${paint?.toFixed(0)} ms`);

const devtools = await page.context().newCDPSession(page);
const heap = async () => {
  await devtools.send("HeapProfiler.collectGarbage");
  return ((await devtools.send("Runtime.getHeapUsage")).usedSize / 1e6).toFixed(1);
};
const total = () => page.evaluate(() => globalThis.corral.state.total);
const idle = await heap();
await page.evaluate(() => {
  globalThis.turns = [];
  let last = performance.now();
  const turn = (now) => {
    globalThis.turns.push(now - last);
    last = now;
    requestAnimationFrame(turn);
  };
  requestAnimationFrame(turn);
});
await send(10_000, 1000);
await until(async () => (await total()) >= 9_000, 5000);
const frames = (await page.evaluate(() => globalThis.turns)).sort((x, y) => x - y);
console.log(`dashboard: 1,000 events/s: ${await total()} shown, frames: median ${frames[frames.length >> 1].toFixed(1)} ms, 99 % below ${frames[Math.floor(frames.length * 0.99)].toFixed(0)} ms`);
await page.evaluate(() => (globalThis.turns = []));
const full = await heap();
for (let minute = 1; minute <= MINUTES; minute++) {
  await send(6000, 100);
  await page.evaluate(() => (globalThis.turns = []));
  if (minute % 10 === 0 && minute < MINUTES) console.log(`dashboard: ${await heap()} MB after ${minute} minutes`);
}
await sleep(500);
await page.evaluate(() => (globalThis.turns = []));
console.log(`dashboard: heap ${idle} MB idle, ${full} MB with 10,000 events, ${await heap()} MB after ${MINUTES} minutes more at 100 events/s (${await total()} events)`);
await b.close();
await daemon.end();
