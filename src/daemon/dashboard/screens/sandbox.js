// SPDX-License-Identifier: Apache-2.0
// One sandbox: what it may do, what it did, and how to end it. One that has ended is read from the log.
import { useState } from "preact/hooks";
import { get, remove } from "/api.js";
import { fromRecord, useStore } from "/store.js";
import { Badge, Command, Dialog, Empty, Failure, Panel, Rows, Text, Time, guessHeight, html, useLoad, useTick } from "/parts.js";
import { weight } from "/counts.js";
import { count, kind, plural, program, span, verb, visible } from "/format.js";
import { EventRow } from "/screens/now.js";
import { limitWords, permissionRows } from "/words.js";

const KINDS = [["files", "Files", "It has opened no file by name that is recorded."], ["hosts", "Hosts", "It has asked for no host."],
  ["programs", "Programs", "It has run no program that is recorded."]];

// target -> how often it was allowed and denied, by kind; those denied first, then the most frequent
export function summarise(events) {
  const all = { files: new Map(), hosts: new Map(), programs: new Map() };
  const names = new Map();
  for (const e of events) {
    const list = all[kind(e.action)];
    if (!list || e.action === "net.close") continue;
    const row = list.get(e.target) ?? { target: e.target, actions: new Set(), allowed: 0, denied: 0, reason: "" };
    row.actions.add(verb(e.action));
    if (e.decision === "denied") {
      row.denied += weight(e, names);
      row.reason = e.reason || row.reason;
    } else {
      row.allowed += weight(e, names);
    }
    list.set(e.target, row);
  }
  const order = (a, b) => (b.denied > 0) - (a.denied > 0) || b.allowed + b.denied - (a.allowed + a.denied);
  return Object.fromEntries(Object.entries(all).map(([name, list]) => [name, [...list.values()].sort(order)]));
}

function Touched({ title, rows, none }) {
  return html`<${Panel} title=${title} note=${rows.length ? count(rows.length) : ""} class="touched">
    ${rows.length === 0 ? html`<p class="soft pad">${none}</p>` : html`<ul tabindex="0" aria-label=${title}>${rows.slice(0, 200).map((r) => html`<li key=${r.target}>
      <span class="what"><${Text} value=${r.target} max=${90} /><span class="soft">${[...r.actions].join(", ")}${r.denied && r.reason ? ` · ${visible(r.reason)}` : ""}</span></span>
      <span class="tally">${r.denied > 0 && html`<${Badge} tone="deny">${count(r.denied)} denied<//>`}${r.allowed > 0 && html`<span class="soft">${count(r.allowed)}</span>`}</span></li>`)}
      ${rows.length > 200 && html`<li class="soft">and ${count(rows.length - 200)} more; Audit has them all</li>`}</ul>`}
  <//>`;
}

const sentence = (value) => (typeof value === "string" ? value : [value?.action, value?.target ?? value?.name ?? JSON.stringify(value)].filter(Boolean).join(" "));

function Sentences({ list }) {
  return html`<ul class="sentences">${permissionRows(list.map(sentence)).map((row) => html`<li>${row.items.length === 0 ? visible(row.text)
    : html`<details><summary>${visible(row.text)}</summary><p class="mono soft">${row.items.map(visible).join(", ")}</p></details>`}</li>`)}</ul>`;
}

function May({ box, confinement }) {
  const ceiling = box?.ceiling ?? [], grants = box?.grants ?? [], limits = Object.entries(box?.limits ?? {});
  return html`<${Panel} title="What it may do" class="may">
    <div class="body">
      ${box?.permissions?.length ? html`<${Sentences} list=${box.permissions} />`
        : html`<p class="soft">${box ? html`It has not announced its permissions. Its policy is <strong>${visible(box.policy || box.name)}</strong>; <code>corral policy show</code> prints what a policy allows.` : "It has ended, and may do nothing."}</p>`}
      ${grants.length > 0 && html`<h3>Granted while it runs</h3><ul class="sentences">${grants.map((g) => html`<li>${visible(sentence(g))}${g.expires_ms ? html` <span class="soft">until <${Time} ms=${g.expires_ms} /></span>` : ""}</li>`)}</ul>`}
      ${ceiling.length > 0 && html`<details><summary>What it may be granted at most</summary><${Sentences} list=${ceiling} /></details>`}
      ${limits.length > 0 && html`<h3>Limits</h3><dl class="facts">${limits.map(([name, value]) => limitWords(name, value)).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`}
      ${confinement && html`<h3>How it is confined</h3><p class="soft">${visible(confinement.target)}: ${visible(confinement.reason)}</p>`}
    </div>
  <//>`;
}

function End({ box }) {
  const [asks, ask] = useState(false);
  const [error, setError] = useState(null);
  const [done, setDone] = useState(box.stopping);
  const stop = async () => {
    ask(false);
    try {
      await remove(`/api/sandboxes/${encodeURIComponent(box.id)}`);
      setDone(true);
    } catch (e) {
      setError(e);
    }
  };
  return html`<button class="danger" disabled=${done} onClick=${() => ask(true)}>${done ? "Ending…" : "End it"}</button>
    ${error && html`<${Failure} error=${error} />`}
    ${asks && html`<${Dialog} title="End this sandbox?" onClose=${() => ask(false)}>
      <p><${Text} value=${box.command} max=${200} /> and all its processes are killed. What it wrote stays.</p>
      <div class="actions"><button onClick=${() => ask(false)}>Keep it</button><button class="danger" onClick=${stop}>End it</button></div><//>`}`;
}

export function Sandbox({ rest: id }) {
  const state = useStore();
  useTick(1000);
  const live = state.sandboxes.get(id);
  const whole = useLoad(() => get(`/api/sandboxes/${encodeURIComponent(id)}`), [id, Boolean(live), (live?.events ?? 0) > 4]);
  const log = useLoad(() => get("/api/audit", { session: id, limit: 1000 }), [id, Boolean(live)]);
  const records = (log.data?.records ?? []).map(fromRecord);
  const last = records[records.length - 1]?.time_ms ?? 0;
  const events = [...records, ...state.events.filter((e) => e.id === id && !e.hash && e.time_ms > last)];
  const box = live ? { ...whole.data, ...live, permissions: whole.data?.permissions } : null;
  const begin = events.find((e) => e.action === "command.start");
  const ended = state.ended.find((b) => b.id === id);
  const shown = box ?? ended ?? (begin && { id, command: begin.program, name: begin.sandbox, folder: (begin.reason ?? "").replace(/^in /, ""), started_ms: begin.time_ms, pid: begin.pid });
  if (!shown && (log.busy || whole.busy)) return html`<div class="screen"><h1>Sandbox</h1><p class="soft">Reading…</p></div>`;
  if (!shown && log.error) return html`<div class="screen"><h1>Sandbox</h1><${Failure} error=${log.error} retry=${log.reload} /></div>`;
  if (!shown) return html`<div class="screen"><h1>Sandbox</h1><${Empty} title="There is no such sandbox"><p>Neither does one with the id <code>${visible(id)}</code> run, nor does the log have records of it.</p><a href="#/now">What runs now</a><//></div>`;
  const did = summarise(events);
  const end = events.filter((e) => e.action === "command.end").pop();
  const names = new Map();
  const denied = events.reduce((sum, e) => sum + (e.decision === "denied" ? weight(e, names) : 0), 0);
  return html`<div class="screen sandbox">
    <p class="crumb"><a href="#/now">Now</a> / <span class="mono">${visible(id)}</span></p>
    <div class="lead"><h1>${program(shown.command)} ${box ? html`<${Badge} tone="allow">runs<//>` : html`<${Badge}>ended<//>`}</h1>
      <div class="actions">${box && html`<${End} box=${box} />`}</div></div>
    <dl class="facts line">
      <dt>Folder</dt><dd><${Text} value=${shown.folder} max=${80} /></dd>
      <dt>Policy</dt><dd>${visible(shown.name)}</dd>
      <dt>Since</dt><dd><${Time} ms=${shown.started_ms} />${box ? `, for ${span(Date.now() - shown.started_ms)}` : ""}</dd>
      ${shown.pid ? html`<dt>Pid</dt><dd>${shown.pid}</dd>` : null}
      <dt>Denied</dt><dd class=${denied ? "denied-count" : ""}>${count(denied)}</dd>
      ${end && html`<dt>Status</dt><dd>${end.status}</dd>`}
    </dl>
    ${begin && html`<p class="mono start"><${Text} value=${begin.target} max=${600} /></p>`}
    <${May} box=${box} confinement=${events.find((e) => e.action === "confinement")} />
    <div class="thirds">${KINDS.map(([name, title, none]) => html`<${Touched} key=${name} title=${title} rows=${did[name]} none=${none} />`)}</div>
    <${Panel} title="All of it" note=${plural(events.length, "record")} class="activity" actions=${html`<a class="button" href=${`#/audit?session=${encodeURIComponent(id)}`}>In Audit</a>`}>
      ${log.error && html`<${Failure} error=${log.error} retry=${log.reload} />`}
      <${Rows} rows=${events} guess=${guessHeight} label="Records" header=${["Time", "Decision", "Action", "Target", "By"]} row=${(e) => html`<${EventRow} event=${{ ...e, id: null }} />`}
        empty=${html`<${Empty} title="Nothing is recorded yet"><p>Files are recorded where they are denied, or with <code>--explain</code>:</p><${Command} text="corral run --explain -- make test" /><//>`} />
    <//>
  </div>`;
}
