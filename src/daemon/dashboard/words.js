// SPDX-License-Identifier: Apache-2.0
// What an action and a scope are called in plain words, and what a person types as one. Pure: text in, text out.
import { bytes, count, name, span, visible } from "/format.js";

const ACTIONS = {
  "fs.read": { verb: "read", group: "files" },
  "fs.write": { verb: "read and change", group: "files" },
  "net.connect": { verb: "connect to", group: "hosts" },
  "exec": { verb: "run", group: "commands" },
  "service": { verb: "use the service", group: "services" },
};

export const GROUPS = [
  { id: "files", title: "Files and folders" },
  { id: "hosts", title: "Hosts" },
  { id: "commands", title: "Commands" },
  { id: "services", title: "Services" },
  { id: "other", title: "Other" },
];

export function actionVerb(action) {
  return ACTIONS[action]?.verb ?? action;
}

export function actionGroup(action) {
  return ACTIONS[action]?.group ?? "other";
}

// The lines of a text with characters that cannot be seen, as findings of the editor.
export function unseenFindings(text) {
  return text.split("\n").flatMap((line, n) => {
    const plain = line.replaceAll("\t", " ").replace(/\r$/, "");
    const found = new Set([...plain].filter((c) => visible(c) !== c));
    return found.size ? [{ line: n + 1, column: 1, severity: "warning", id: "unseen",
      text: `this line holds characters that cannot be seen: ${visible([...found].join(""))}` }] : [];
  });
}

const PORTS = { 22: "SSH", 53: "DNS", 80: "HTTP", 443: "HTTPS" };

function filesWords(target) {
  if (target === "/**" || target === "**") return "every file of this machine";
  if (/^[^*?[]*\/\*\*$/.test(target)) return `everything in ${target.slice(0, -3)}`;
  if (/^[^*?[]*\/\*$/.test(target)) return `the files directly in ${target.slice(0, -2)}`;
  return /[*?[]/.test(target) ? `what matches ${target}` : target;
}

// [host, port], an IPv6 address with or without its brackets; "" without a port.
export function splitHost(target) {
  const found = target.match(/^(\[[^\]]*\]|[^:]*)(?::(\d+|\*))?$/);
  return found ? [found[1], found[2] ?? ""] : [target, ""];
}

function hostWords(target) {
  const [, method, rest] = target.match(/^([A-Z]+) (.*)$/) ?? [];
  if (method) return `${hostWords(rest).replace(/, with any method$/, "")}, with ${method} only`;
  if (/^(https?|wss?|ftp):\/\//.test(target)) return `${target}, with any method`;
  const [host, port] = splitHost(target);
  const where = host === "*" ? "any host"
    : host.startsWith("*.") ? `any host below ${host.slice(2)}` : host;
  if (port === "" || port === "*") return `${where} on any port`;
  return `${where} on port ${port}${PORTS[port] ? ` (${PORTS[port]})` : ""}`;
}

function commandWords(target) {
  return target.endsWith(":*") ? `${target.slice(0, -2)}, with any arguments` : target;
}

// "read everything in /srv/data": what a grant of this target would allow.
export function scopeWords(action, target) {
  const what = name(target);
  const group = actionGroup(action);
  const words = group === "files" ? filesWords(what) : group === "hosts" ? hostWords(what)
    : group === "commands" ? commandWords(what) : what;
  return `${actionVerb(action)} ${words}`;
}

// 0 is for as long as the sandbox runs.
export const DURATIONS = [
  { seconds: 300, text: "for 5 minutes" },
  { seconds: 3600, text: "for 1 hour" },
  { seconds: 28800, text: "for 8 hours" },
  { seconds: 0, text: "as long as it runs" },
];

// The command line calls a policy that the page sent "standard input".
export function ofPolicy(text) {
  return visible(text).replace(/\bstandard input:(\d+)/g, "line $1 of this policy").replaceAll("standard input", "this policy");
}

export function timesWords(count) {
  return count <= 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}

// What the form of a grant offers. `form` is how the field is filled in.
export const GRANT_KINDS = [
  { id: "read-folder", text: "Read a folder", action: "fs.read", label: "Folder", example: "/home/you/notes" },
  { id: "write-folder", text: "Read and change a folder", action: "fs.write", label: "Folder", example: "/home/you/project" },
  { id: "read-file", text: "Read a file", action: "fs.read", label: "File", example: "/home/you/notes.txt" },
  { id: "write-file", text: "Read and change a file", action: "fs.write", label: "File", example: "/home/you/notes.txt" },
  { id: "host", text: "Connect to a host", action: "net.connect", label: "Host and port", example: "api.example.com:443" },
  { id: "command", text: "Run a command", action: "exec", label: "Program, or command line", example: "git" },
];

// {action, target} of what was typed, or {error}: what to type instead.
export function grantOf(kindId, typed) {
  const kind = GRANT_KINDS.find((k) => k.id === kindId);
  const text = typed.trim();
  if (text === "") return { error: `Type a value, such as ${kind.example}` };
  if (kind.action === "net.connect") {
    if (/^[a-z]+:\/\//i.test(text)) return { error: "Type only host and port, not a URL" };
    const [, port] = splitHost(text);
    return { action: kind.action, target: port ? text : `${text}:443` };
  }
  if (kind.action === "exec") return { action: kind.action, target: text };
  if (!/^[/~$]/.test(text)) return { error: "Type the whole path: it begins with / or ~/" };
  if (!kind.id.endsWith("-folder") || /[*?[]/.test(text)) return { action: kind.action, target: text };
  return { action: kind.action, target: `${text.replace(/\/+$/, "")}/**` };
}

// The option of corral run for an action, and the targets that mean themselves alone: a command chooses them, and as a
// pattern one could mean any host or a whole tree. The same rule as cli/audit/offer.c; tests/data/audit/offered.tsv has rows for both.
const FILE = /^[^*?[\]{}\\$]+$/, HOST = /^(?!unix:)(udp:\/\/)?[\w.:[\]-]+$/;
const OFFERS = {
  "fs.read": { option: "--read", literal: FILE },
  "fs.write": { option: "--write", literal: FILE },
  "exec": { option: "--exec", literal: /^[^*?[\]{}\\$ :"']+$/ },
  "net.connect": { option: "--net", literal: HOST },
};

// Whether it names one thing, and no pattern that has more.
export function isLiteral(action, target) {
  return Object.hasOwn(OFFERS, action) && OFFERS[action].literal.test(target) && visible(target) === target;
}

// A name is asked for without a port: by the program (cli/run/network.c), else that of HTTPS.
const PORT_OF = { ssh: 22, scp: 22, sftp: 22, ftp: 21, telnet: 23, whois: 43, psql: 5432, pg_dump: 5432, mysql: 3306, mariadb: 3306, "redis-cli": 6379, mongosh: 27017 };

function portOf(program) {
  const last = String(program ?? "").split("/").pop();
  return Object.hasOwn(PORT_OF, last) ? PORT_OF[last] : 443;
}

// {action, target}: the grant that was all that a denied event lacked. null: a rule or the baseline decided, or a grant would
// be too wide, or would not help; what follows a semicolon says so.
export function offerOf(event) {
  const isName = event.action === "net.name", action = isName ? "net.connect" : event.action;
  const reason = event.reason ?? "", target = event.target ?? "";
  if (event.decision !== "denied" || event.rule || !reason.startsWith("nothing in ") || reason.includes(";")) return null;
  if (isName && !/^[\w.-]+$/.test(target)) return null;
  return isLiteral(action, target) ? { action, target: isName ? `${target}:${portOf(event.program)}` : target } : null;
}

// The form of a grant, filled in.
export function allowAddress(event) {
  const offer = offerOf(event);
  return offer && event.id ? `#/grants?${new URLSearchParams({ sandbox: event.id, ...offer })}` : null;
}

// The option of corral run that grants it from the next start on; "" if there is none.
export function optionOf(action, target) {
  const word = /^[\w@%+=:,./-]+$/.test(target) ? target : `'${target.replaceAll("'", "'\\''")}'`;
  return Object.hasOwn(OFFERS, action) ? `${OFFERS[action].option} ${word}` : "";
}

// What a sandbox may do, as rows of few words: [{text, items}]. Sentences that differ in their object alone become one
// row; items are what is folded, because there are many and few people look at them.
const SAME = ["read everything in ", "change, create and delete everything in ", "connect to "];
const VARIABLES = "see ";

export function permissionRows(sentences) {
  const rows = [], variables = [], found = new Map();
  for (const sentence of sentences) {
    if (sentence.startsWith(VARIABLES)) {
      variables.push(sentence.slice(VARIABLES.length));
      continue;
    }
    const start = SAME.find((s) => sentence.startsWith(s) && !sentence.includes(", ", s.length));
    const row = start ? found.get(start) : null;
    if (row) {
      row.text += `, ${sentence.slice(start.length)}`;
      continue;
    }
    rows.push({ text: sentence, items: [] });
    if (start) found.set(start, rows.at(-1));
  }
  if (variables.length > 0) rows.push({ text: `see ${variables.length === 1 ? "1 environment variable" : `${variables.length} environment variables`}`, items: variables });
  return rows;
}

// A limit with its unit: ["memory", 104857600] is ["Memory", "105 MB"].
const LIMITS = {
  timeout_ms: ["Time", span], memory: ["Memory", bytes], pids: ["Processes", count], output: ["Output", bytes], file_size: ["Size of a file", bytes],
  open_files: ["Open files", count], fuel: ["Fuel of a module", count], wasm_memory: ["Memory of a module", bytes],
};

export function limitWords(name, value) {
  const [title, write] = Object.hasOwn(LIMITS, name) ? LIMITS[name] : [visible(name), null];
  return [title, write && typeof value === "number" ? write(value) : visible(typeof value === "object" ? JSON.stringify(value) : value)];
}

// What the security watcher looks for, by the names of docs/daemon.md.
const CHECKS = {
  agent_outside: "agents that run outside of a sandbox", file_mode: "files with a wrong owner or mode", drift: "profiles or wrappers that were changed",
  policy_ignored: "policies that are not read", skill_changed: "skills that are not what was approved",
  log_unverified: "an audit log that does not verify", log_lost: "records that could not be written", refused_peer: "sandboxed processes that tried to reach the daemon",
  answer_expires: "permissions of a sandbox that end soon", unchecked: "checks that did not work",
};

export function checkWords(kind) {
  return Object.hasOwn(CHECKS, kind) ? CHECKS[kind] : visible(kind).replaceAll("_", " ");
}
