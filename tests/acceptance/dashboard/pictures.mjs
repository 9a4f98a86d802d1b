// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/img: SHOTS=docs/img node pictures.mjs, with the variables of harness.mjs. Small projects at
// work, so that the screens have something to show. Needs Pillow to make the files small.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, Daemon, open, sleep } from "./harness.mjs";
import { shoot } from "./shots.mjs";

const d = new Daemon();
await d.start();
const project = (name, program, script, ...options) => {
  const folder = join(d.work, name);
  mkdirSync(folder);
  writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  d.run("--cwd", folder, "--write", folder, ...options, "--", join(folder, program));
};
mkdirSync(join(d.place, ".ssh"));
for (const name of [".ssh/id_ed25519", ".netrc", "taxes.ods"]) writeFileSync(join(d.place, name), "");
const look = (host, wait) => `while :; do getent hosts ${host}; sleep ${wait}; done`;
project("shop", "npm", look("telemetry.vercel.com", 2.3), "--explain");
project("notes", "claude", look("statsig.anthropic.com", 3.1), "--explain");
project("paper", "latexmk", "while :; do sleep 1; done");
const b = await browser();
const page = await open(b, d, { viewport: { width: 1280, height: 860 } });
const read = (...names) => d.corral("run", "--explain", ...names.flatMap((n) => ["--deny", join(d.place, n)]), "--", "cat", ...names.map((n) => join(d.place, n)));
for (let i = 0; i < 14; i++) {
  read(...[[".ssh/id_ed25519"], [".netrc", "taxes.ods"], ["taxes.ods"]][i % 3]);
  d.corral("run", "--", "git", "--version");
  await sleep(1500);
}
const boxes = (await d.api("GET", "/api/sandboxes")).body.sandboxes;
const id = boxes.find((s) => s.command.includes("npm"))?.id ?? boxes[0].id;
for (const [name, hash] of Object.entries({ now: "#/now", sandbox: `#/sandbox/${id}`, audit: "#/audit", security: "#/security" })) {
  await page.evaluate((h) => (location.hash = h), hash);
  await sleep(1500);
  if (name === "audit") {
    await page.getByRole("button", { name: "Verify the log" }).click();
    await page.getByText("The log is what was written.").waitFor();
  }
  await shoot(page, name);
}
await b.close();
await d.end();
const small = `import glob, sys
from PIL import Image
for path in glob.glob(sys.argv[1] + "/dashboard-*.png"):
    Image.open(path).convert("RGB").quantize(192, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)`;
spawnSync("python3", ["-c", small, process.env.SHOTS], { stdio: "inherit" });
