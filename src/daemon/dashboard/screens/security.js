// SPDX-License-Identifier: Apache-2.0
// What should be looked at, what to do about it, and what this system lets Corral enforce.
import { useEffect } from "preact/hooks";
import { get } from "/api.js";
import { follow } from "/live.js";
import { changed, state } from "/store.js";
import { Badge, Command, Empty, Failure, Panel, Text, Time, html, useLoad, useTick } from "/parts.js";
import { plural, visible } from "/format.js";
import { checkWords } from "/words.js";

const TONES = { high: "deny", medium: "ask", low: "" };
const ORDER = { high: 0, medium: 1, low: 2 };

// The badge in the navigation counts them on every screen.
const useSecurity = follow("/api/security", ["finding", "security_status"], (data) => {
  state.findings = data.findings ?? [];
  changed();
});
const LOOK_MS = 15_000; // the watcher looks every ten seconds, and its time is shown

// "`corral x y` does it": what stands in backticks can be copied.
function Remedy({ text }) {
  const parts = String(text ?? "").split("`");
  if (parts.length < 3) return /^(corral|chmod|chown|sudo|systemctl|rm|mv) /.test(text) ? html`<${Command} text=${text} />` : html`<span>${visible(text)}</span>`;
  return parts.map((part, i) => (i % 2 ? html`<${Command} text=${part} />` : html`<span>${visible(part)}</span>`));
}

function Findings({ watch }) {
  useTick(1000);
  const list = [...(watch.data?.findings ?? [])].sort((a, b) => (ORDER[a.severity] ?? 3) - (ORDER[b.severity] ?? 3));
  const fine = watch.data?.ok ?? [];
  if (watch.error && !watch.data) return html`<${Panel} title="Findings"><${Failure} error=${watch.error} retry=${watch.reload} /><//>`;
  return html`<${Panel} title="Findings" note=${watch.data?.checked_ms ? html`checked <${Time} ms=${watch.data.checked_ms} relative />` : ""}>
    ${list.length === 0 && html`<${Empty} title=${watch.data ? "Nothing to do" : "Looking…"}><p>What should be looked at appears here, with what to do.</p><//>`}
    ${list.length > 0 && html`<ul class="findings">${list.map((f) => html`<li key=${f.id} class=${TONES[f.severity] ?? ""}>
        <div><${Badge} tone=${TONES[f.severity] ?? ""}>${visible(f.severity)}<//> <strong>${visible(f.text)}</strong></div>
        ${f.where && html`<div class="soft"><${Text} value=${f.where} max=${120} /></div>`}
        ${f.remedy && html`<div class="remedy"><${Remedy} text=${f.remedy} /></div>`}
        ${f.since_ms ? html`<div class="soft">since <${Time} ms=${f.since_ms} /></div>` : null}</li>`)}</ul>`}
    ${fine.length > 0 && html`<details class="pad"><summary class="soft">Looked for and not found</summary><ul class="sentences">${fine.map((kind) => html`<li>${checkWords(kind)}</li>`)}</ul></details>`}
  <//>`;
}

function Doctor() {
  const { data, error, busy, reload } = useLoad(() => get("/api/doctor"));
  const rows = [...(data?.findings ?? [])].sort((a, b) => a.held - b.held);
  const missing = rows.filter((r) => !r.held);
  return html`<${Panel} title="What this system lets Corral enforce" note=${data ? html`${visible(data.kernel)} · tier ${visible(data.tier ?? "none")}` : ""} actions=${html`<button onClick=${reload} disabled=${busy}>${busy ? "Trying…" : "Try again"}</button>`}>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${data && html`<p class="soft pad">${missing.length === 0 ? `All of ${rows.length} are there.` : `${missing.length} of ${rows.length} ${missing.length === 1 ? "is" : "are"} missing.`}</p>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of protections"><table><thead><tr><th scope="col">Protection</th><th scope="col">There</th><th scope="col">Needed for</th></tr></thead>
      <tbody>${rows.map((r) => html`<tr key=${r.name}><th scope="row">${visible(r.name)}</th>
        <td>${r.held ? html`<${Badge} tone="allow">yes<//>` : html`<${Badge} tone=${r.weight === "required" ? "deny" : "ask"}>${r.weight === "required" ? "missing" : "no"}<//>`}</td>
        <td>${visible(r.needed_for)}${r.detail ? html`<div class="soft">${visible(r.detail)}</div>` : null}${!r.held && r.hint ? html`<div class="remedy"><${Remedy} text=${r.hint} /></div>` : null}</td></tr>`)}</tbody></table></div>`}
  <//>`;
}

export function Security() {
  const watch = useSecurity();
  useEffect(() => {
    const timer = setInterval(() => document.hidden || watch.reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const findings = watch.data?.findings ?? [];
  const high = findings.filter((f) => f.severity === "high").length;
  const n = findings.length;
  return html`<div class="screen security">
    <h1>${!watch.data ? "Security" : n === 0 ? "No findings" : html`<span class=${high ? "denied-count" : ""}>${plural(n, "finding")}</span>${high ? `, ${high} of them urgent` : ""}`}</h1>
    <${Findings} watch=${watch} /><${Doctor} />
  </div>`;
}
