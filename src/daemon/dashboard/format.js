// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as people read them. Pure, so that node --test can read it.

// What cannot be seen, or makes other text appear in another order, is written out: a name may be hostile.
// eslint-disable-next-line no-control-regex
const INVISIBLE = /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\u{e0000}-\u{e01ef}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

export function visible(text) {
  return String(text ?? "").replace(INVISIBLE, (c) => {
    const code = c.codePointAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
  });
}

// The same of a name that a person decides by: pages show a run of spaces as one, and none at an end. A backslash is two, so
// that a name that has `\x20` in it does not look like one that has a space there.
export const name = (text) => visible(String(text ?? "").replace(/\\/g, "\\\\")).replace(/(?<= ) |^ | $/g, "\\x20");

// The middle of a long text goes: the beginning of a path says where, its end what.
export function shorten(text, max = 80) {
  const all = [...name(text)];
  if (all.length <= max) return all.join("");
  const head = Math.ceil((max - 1) * 0.4);
  return all.slice(0, head).join("") + "…" + all.slice(all.length - (max - 1 - head)).join("");
}

const whole = new Intl.NumberFormat("en-GB");
export const count = (n) => whole.format(n ?? 0);

// 1 sandbox, 2 sandboxes
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// 512 B, 1.2 kB, 34 MB
export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0, value = Number(n) || 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

// 250 ms, 4 s, 3 min, 2 h 5 min, 4 d 3 h
export function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h` + (s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : "");
  return `${Math.floor(s / 86400)} d` + (s % 86400 >= 3600 ? ` ${Math.floor((s % 86400) / 3600)} h` : "");
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const two = (n) => String(n).padStart(2, "0");

// 14:03:59, in the reader's time zone
export function clock(ms) {
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

// 2026-01-31
export function day(ms) {
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

// "14:03:59" today, "30 Jan 14:03" in this year, else "2025-01-30 14:03"
export function moment(ms, now = Date.now()) {
  if (day(ms) === day(now)) return clock(ms);
  const d = new Date(ms);
  const hour = clock(ms).slice(0, 5);
  if (d.getFullYear() !== new Date(now).getFullYear()) return `${day(ms)} ${hour}`;
  return `${d.getDate()} ${MONTHS[d.getMonth()]} ${hour}`;
}

// A mark on an axis of time, as fine as the step between two (in seconds) needs it
export function tick(ms, step) {
  const d = new Date(ms);
  if (step >= 86400) return `${d.getDate()} ${MONTHS[d.getMonth()]}`;
  return step >= 60 ? clock(ms).slice(0, 5) : clock(ms);
}

// 2026-01-31T14:03:59.123+01:00: the moment and the zone, for titles and <time>
export function iso(ms) {
  const d = new Date(ms);
  const zone = -d.getTimezoneOffset();
  const sign = zone < 0 ? "-" : "+";
  const rest = Math.abs(zone);
  return `${day(ms)}T${clock(ms)}.${String(d.getMilliseconds()).padStart(3, "0")}${sign}${two(Math.floor(rest / 60))}:${two(rest % 60)}`;
}

// "now", "12 s ago"; "in 40 s" for what is to come
export function ago(ms, now = Date.now()) {
  const d = now - ms;
  if (Math.abs(d) < 1500) return "now";
  return d > 0 ? `${span(d)} ago` : `in ${span(-d)}`;
}

// What an action is, as a verb: "read", "connect to"
const ACTIONS = {
  "command.start": "start", "command.end": "end", "fs.read": "read", "fs.write": "write", "fs.list": "list",
  "fs.delete": "delete", "net.connect": "connect", "net.close": "close", "net.name": "look up", exec: "run", env: "variables",
  service: "service", policy: "policy", approval: "approval", confinement: "confine", limit: "limit", session: "session", store: "log",
};
export const verb = (action) => ACTIONS[action] ?? visible(action);
export const actions = Object.keys(ACTIONS);

// Which of the three kinds of things that a sandbox touches: "files", "hosts", "programs"; null: another
export function kind(action) {
  if (action.startsWith("fs.")) return "files";
  if (action.startsWith("net.")) return "hosts";
  return action === "exec" ? "programs" : null;
}

// The last part of a command's first word
export const program = (command) => visible(String(command ?? "").split(/\s/)[0].split("/").pop() || "?");

// "#/sandbox/abc?x=1" -> {path: "sandbox", rest: "abc", query}
export function address(hash) {
  const [all, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [path, ...rest] = all.split("/");
  let decoded;
  try {
    decoded = rest.map(decodeURIComponent).join("/");
  } catch {
    decoded = "";
  }
  return { path: path || "now", rest: decoded, query: new URLSearchParams(query) };
}
