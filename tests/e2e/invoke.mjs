// SPDX-License-Identifier: Apache-2.0
// Seed 004's acceptance list by the client of sdk/js: invoke.mjs CLIENT RUNTIME FOLDER. Prints one JSON object
// of what was answered.
import { writeFileSync } from "node:fs";

const [client, runtime, folder] = process.argv.slice(2);
const { Corral, CorralError } = await import(client);
const corral = new Corral({ folder: runtime });
const out = {};

async function attempt(name, tool, args) {
  try {
    out[name] = await corral.invoke(tool, args);
    if (out[name] instanceof Uint8Array) out[name] = { bytes: [...out[name]] };
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    out[name] = { status: error.status, message: error.message, denial: error.denial, line: error.line };
  }
}

await attempt("passwd", "fs_read", { path: "/etc/passwd" });
await attempt("set", "set_policy", { policy: { fs: { read: [`${folder}/{,**}`], write: [`${folder}/{,**}`] }, exec: ["sh", "sleep", "cat"] } });
await attempt("policy", "get_policy");
await attempt("write", "fs_write", { path: `${folder}/js.bin`, content: Uint8Array.from([0, 255, 10]) });
await attempt("read", "fs_read", { path: `${folder}/js.bin` });
await attempt("text", "fs_read", { path: `${folder}/file.txt` });
await attempt("list", "fs_list", { path: folder });
await attempt("escape", "fs_read", { path: `${folder}/../secret.txt` });
await attempt("wrong", "set_policy", { policy: "fs: [" });
// The command goes on when what it printed last was heard: before that it cannot end.
const heard = [];
const wait = (name) => `until [ -e ${folder}/${name} ]; do sleep 0.02; done`;
await attempt("shell", "shell_exec", {
  cmd: "sh",
  args: ["-c", `printf 'one\\n'; ${wait("one")}; printf 'tw\\303'; ${wait("two")}; printf '\\266\\n' ; echo err >&2`],
  onOutput: (stream, text) => {
    heard.push([stream, text]);
    if (text.includes("one")) writeFileSync(`${folder}/one`, "");
    if (text.includes("tw")) writeFileSync(`${folder}/two`, "");
  },
});
out.heard = heard;
await attempt("log", "get_audit_log", { limit: 100 });
await attempt("export", "export_audit_log", { path: `${folder}/log.json` });
console.log(JSON.stringify(out));
