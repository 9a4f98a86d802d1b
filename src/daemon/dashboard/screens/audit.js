// SPDX-License-Identifier: Apache-2.0
// The log: search, counts, is it what was written, and all of it as a file.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "/api.js";
import { fromRecord, useStore } from "/store.js";
import { Bars, Command, Decision, Dialog, Empty, Failure, Panel, Rows, Target, Text, Time, guessHeight, html, useLoad } from "/parts.js";
import { allowAddress } from "/words.js";
import { actions, address, bytes, count, iso, moment, plural, span, verb, visible } from "/format.js";

const PAGE = 1000, EXPORT_MAX = 100_000;
const SPANS = [["", "any time"], ["10m", "10 minutes"], ["1h", "an hour"], ["1d", "a day"], ["1w", "a week"]];

// What a person types becomes a pattern: a part of the target, unless there are patterns in it already.
export function pattern(text) {
  if (!text) return "";
  if (/[*?]/.test(text)) return text;
  return `*${text.replace(/\[/g, "[[]")}*`;
}

// The steps of /api/audit/summary without gaps
export function steps({ timeline = [], step_ms = 1000 }) {
  if (timeline.length === 0) return null;
  const first = timeline[0].time_ms, last = timeline[timeline.length - 1].time_ms;
  const times = [], names = ["allowed", "asked", "failed", "denied"], rows = new Map(timeline.map((t) => [t.time_ms, t]));
  const values = Object.fromEntries(names.map((name) => [name, []]));
  // Some room at both sides: one lonely bar has a place in time, too.
  const around = Math.max(0, 30 - (last - first) / step_ms) / 2;
  for (let t = first - Math.ceil(around) * step_ms; t <= last + Math.ceil(around) * step_ms; t += step_ms) {
    times.push(t / 1000);
    for (const name of names) values[name].push(rows.get(t)?.[name] ?? 0);
  }
  return { times, step_ms, values };
}

function Chart({ summary }) {
  const made = useMemo(() => steps(summary), [summary]);
  if (!made) return html`<p class="soft pad">Nothing was decided in this time.</p>`;
  const d = summary.decisions;
  const series = [["allowed", "--allow-bar"], ["asked", "--ask-bar"], ["failed", "--soft"], ["denied", "--deny-bar"]].map(([name, colour]) => ({ name, colour, values: made.values[name] }));
  const say = `Decisions over time, from ${iso(made.times[0] * 1000)}, in steps of ${span(made.step_ms)}: ${count(d.allowed)} allowed, ${count(d.denied)} denied.`;
  return html`<${Bars} times=${made.times} series=${series} say=${say} height=${150} />`;
}

// Names with bars; a click looks for one.
function Tops({ title, rows, none, tone, write, pick }) {
  const most = rows[0]?.at_least || 1;
  return html`<${Panel} title=${title} class="tops">${rows.length === 0 ? html`<p class="soft pad">${none}</p>` : html`<ol>${rows.slice(0, 8).map((r) => html`<li>
    <button class="top" onClick=${() => pick(r)} title="Search for it"><span class="name"><${Text} value=${r.target ?? r.host} max=${60} />${r.action ? html` <span class="soft">${verb(r.action)}</span>` : null}</span>
    <span class="figure">${write(r.at_least)}${r.at_most > r.at_least ? "+" : ""}</span><span class="bar ${tone}" style=${{ width: `${Math.max(1, (100 * r.at_least) / most)}%` }}></span></button></li>`)}</ol>`}<//>`;
}

function Verify() {
  const [answer, set] = useState(null);
  const run = async () => {
    set({ busy: true });
    try {
      set({ result: await get("/api/audit/verify") });
    } catch (error) {
      set({ error });
    }
  };
  const r = answer?.result;
  return html`<div class="verify" aria-live="polite">
    <button class="main" onClick=${run} disabled=${answer?.busy}>${answer?.busy ? "Verifying…" : "Verify the log"}</button>
    ${answer?.error && html`<${Failure} error=${answer.error} retry=${run} />`}
    ${r && (r.fine ? html`<div class="banner allow"><strong>The log is what was written.</strong><span>${visible(r.text)}${r.removed ? `; ${count(r.removed)} older ones were removed as its owner said` : ""}.</span></div>`
      : html`<div class="banner deny" role="alert"><strong>The log was changed, or is damaged.</strong><span>${visible(r.text)}${r.number ? ` (record ${count(r.number)})` : ""}.</span>
        ${r.meaning && html`<span>${visible(r.meaning)}</span>`}${r.advice && html`<span>${visible(r.advice)}</span>`}</div>`)}
  </div>`;
}

// All that fits the filters, as one file. Asked for in pieces, so that neither side has to hold more than it can.
async function gather(filters, tell) {
  const parts = [];
  let before, n = 0;
  while (n < EXPORT_MAX) {
    const { records } = await get("/api/audit/export", { ...filters, before });
    if (records.length === 0) break;
    parts.push(records.slice(0, EXPORT_MAX - n).map((r) => JSON.stringify(r)).join(",\n"));
    n += Math.min(records.length, EXPORT_MAX - n);
    before = records[records.length - 1].number;
    tell(n);
  }
  return new Blob([`{"exported":${JSON.stringify(iso(Date.now()))},"filters":${JSON.stringify(filters)},"records":[\n`, parts.join(",\n"), "\n]}\n"], { type: "application/json" });
}

function Export({ filters }) {
  const [progress, set] = useState(null);
  const [error, setError] = useState(null);
  const run = async () => {
    setError(null);
    set(0);
    try {
      const url = URL.createObjectURL(await gather(filters, set));
      const a = document.createElement("a");
      a.href = url;
      a.download = `corral-audit-${iso(Date.now()).slice(0, 19).replace(/:/g, "")}.json`;
      a.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (e) {
      setError(e);
    }
    set(null);
  };
  return html`<button onClick=${run} disabled=${progress !== null}>${progress === null ? "Export JSON" : `${count(progress)} records…`}</button>${error && html`<${Failure} error=${error} retry=${run} />`}`;
}

const FIELDS = ["number", "time", "session", "user", "sandbox", "program", "pid", "action", "target", "decision", "rule", "reason", "count", "status", "sent", "received", "hash"];

function Record({ record, onClose }) {
  return html`<${Dialog} title=${`Record ${count(record.number)}`} onClose=${onClose}>
    <dl class="facts">${FIELDS.filter((name) => record[name] !== "" && record[name] !== undefined && record[name] !== 0).map((name) => html`<dt>${name}</dt><dd class="mono">${visible(record[name])}</dd>`)}</dl>
    <div class="actions"><a class="button" href=${`#/sandbox/${encodeURIComponent(record.session)}`}>Its sandbox</a><button onClick=${onClose}>Close</button></div><//>`;
}

// Records, and the older ones when asked for.
function useRecords(filters, key) {
  const [older, setOlder] = useState({ key, records: [], done: false, busy: false, error: null });
  const newest = useLoad(() => get("/api/audit", { ...filters, limit: PAGE }), [key]);
  const extra = older.key === key ? older : { key, records: [], done: false, busy: false, error: null };
  const first = newest.data?.records ?? [];
  const more = async () => {
    const lowest = (extra.records[0] ?? first[0])?.number;
    setOlder({ ...extra, busy: true });
    try {
      const { records } = await get("/api/audit", { ...filters, limit: PAGE, before: lowest });
      setOlder({ ...extra, records: [...records, ...extra.records], done: records.length < PAGE, busy: false, error: null });
    } catch (error) {
      setOlder({ ...extra, busy: false, error });
    }
  };
  const rows = useMemo(() => [...extra.records, ...first].map(fromRecord), [extra.records, newest.data]);
  return { ...newest, rows, more, hasMore: first.length === PAGE && !extra.done, isMore: extra.busy, moreError: extra.error };
}

export function Audit({ query }) {
  const state = useStore();
  const values = Object.fromEntries(["q", "decision", "action", "since", "session"].map((name) => [name, query.get(name) ?? ""]));
  const own = query.get("own") === "1";
  const filters = { target: pattern(values.q), decision: values.decision, action: values.action, since: values.since, session: values.session, requests: own ? "" : "no" };
  for (const name of Object.keys(filters)) if (!filters[name]) delete filters[name];
  const key = JSON.stringify(filters);
  const narrowed = Object.values(values).some(Boolean);
  const [turn, again] = useState(0);
  const [shown, show] = useState(null);
  const seen = useRef(state.total);
  const records = useRecords(filters, key + turn);
  const summary = useLoad(() => get("/api/audit/summary", filters), [key, turn]);
  useEffect(() => {
    seen.current = state.total;
  }, [key, turn]);
  const [text, setText] = useState(values.q);
  useEffect(() => setText(values.q), [values.q]);
  // On top of what the address says now: a change may wait for another one.
  const set = (changes) => {
    const { path, query: before } = address(location.hash);
    if (path !== "audit") return;
    const now = Object.fromEntries(before);
    const next = new URLSearchParams(Object.entries({ ...now, ...changes }).filter(([, v]) => v));
    history.replaceState(null, "", `#/audit?${next}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const wait = useRef();
  // Who has left is not called back by what they typed.
  useEffect(() => () => clearTimeout(wait.current), []);
  const type = (e) => {
    const q = e.target.value;
    setText(q);
    clearTimeout(wait.current);
    wait.current = setTimeout(() => set({ q }), 250);
  };
  const fresh = state.total - seen.current;
  const s = summary.data;
  return html`<div class="screen audit">
    <div class="lead"><h1>Audit</h1><div class="actions"><${Verify} /></div></div>
    <form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
      <label class="wide">Search targets<input type="search" data-search value=${text} onInput=${type} placeholder="/etc/passwd, *.example.com*" autocomplete="off" spellcheck="false" /></label>
      <label>Decision<select value=${values.decision} onChange=${(e) => set({ decision: e.target.value })}><option value="">any</option>${["denied", "allowed", "asked", "failed", "none"].map((d) => html`<option value=${d} selected=${d === values.decision}>${d}</option>`)}</select></label>
      <label>Action<select value=${values.action} onChange=${(e) => set({ action: e.target.value })}><option value="">any</option>${actions.map((a) => html`<option value=${a} selected=${a === values.action}>${a}</option>`)}</select></label>
      <label>Within<select value=${values.since} onChange=${(e) => set({ since: e.target.value })}>${SPANS.map(([v, name]) => html`<option value=${v} selected=${v === values.since}>${name}</option>`)}</select></label>
      <label class="check"><input type="checkbox" checked=${own} onChange=${(e) => set({ own: e.target.checked ? "1" : "" })} /> requests to the daemon</label>
      ${values.session && html`<button onClick=${() => set({ session: "" })}>Session ${visible(values.session)} ✕</button>`}
      ${narrowed && html`<button class="quiet" onClick=${() => (location.hash = "#/audit")}>Clear</button>`}
    </form>
    ${summary.error && html`<${Failure} error=${summary.error} retry=${summary.reload} />`}
    ${s && html`<${Panel} title="Decisions over time" note=${s.records ? html`${plural(s.events, "event")} from ${moment(Date.parse(s.from))} to ${moment(Date.parse(s.to))}` : ""}
        actions=${html`<span class="legend">${["allowed", "denied", "asked", "failed"].filter((d) => s.decisions[d]).map((d) => html`<span class="key ${d}">${count(s.decisions[d])} ${d}</span>`)}</span>`}>
        <${Chart} summary=${s} /><//>
      <div class="halves">
        <${Tops} title="Denied most" rows=${s.denied} none="Nothing was denied." tone="deny" write=${count} pick=${(r) => set({ q: r.target, decision: "denied", action: r.action })} />
        <${Tops} title="Bytes by host" rows=${s.hosts ?? []} none="No connection has carried anything yet." tone="accent" write=${bytes} pick=${(r) => set({ q: r.host })} />
      </div>`}
    <${Panel} title="Records" class="activity" note=${plural(records.rows.length, "record")}
      actions=${html`${fresh > 0 && html`<button onClick=${() => again((n) => n + 1)}>Show ${plural(fresh, "new event")}</button>`}<${Export} filters=${filters} />`}>
      ${records.error && html`<${Failure} error=${records.error} retry=${() => again((n) => n + 1)} />`}
      <${Rows} rows=${records.rows} guess=${guessHeight} label="Records" columns="records" header=${["Time", "Decision", "Action", "Target", "By"]} id=${(r) => r.number}
        row=${(r) => html`<span role="cell" class="time"><${Time} ms=${r.time_ms} /></span><span role="cell"><${Decision} value=${r.decision} /></span><span role="cell" class="verb">${verb(r.action)}</span>
          <${Target} event=${r} allow=${allowAddress(r)} name=${html`<button class="cell" onClick=${() => show(r)}><${Text} value=${r.target} max=${110} /></button>`} />
          <span role="cell" class="by">${visible(r.program)}</span>`}
        empty=${records.busy ? html`<p class="soft pad">Reading…</p>` : html`<${Empty} title=${narrowed ? "No record fits" : "The log has no records yet"}>
          ${!narrowed ? html`<p>Runs are recorded while the daemon runs:</p><${Command} text="corral run -- make test" />` : html`<p>Search for less, or for a longer time.</p><button onClick=${() => (location.hash = "#/audit")}>Clear the search</button>`}<//>`} />
      ${records.moreError && html`<${Failure} error=${records.moreError} />`}
      ${records.hasMore && html`<div class="pad"><button onClick=${records.more} disabled=${records.isMore}>${records.isMore ? "Reading…" : "Older records"}</button></div>`}
    <//>
    ${shown && html`<${Record} record=${shown} onClose=${() => show(null)} />`}
  </div>`;
}
