// SPDX-License-Identifier: Apache-2.0
// What runs, what is asked, and what happens as it happens.
import { useMemo, useRef, useState } from "preact/hooks";
import { useStore } from "/store.js";
import { Badge, Bars, Command, Decision, Empty, Panel, Rows, Target, Text, guessHeight, html, useTick } from "/parts.js";
import { clock, count, iso, plural, program, span, verb, visible } from "/format.js";
import { recent } from "/counts.js";
import { actionVerb, allowAddress } from "/words.js";

const SECONDS = 120;

// The last two minutes, by the second; it moves on when nothing happens, too.
function Pulse({ figures }) {
  const { times, sums } = figures;
  const series = useMemo(() => [
    { name: "allowed", colour: "--allow-bar", values: figures.values.allowed },
    { name: "asked", colour: "--ask-bar", values: figures.values.asked },
    { name: "denied", colour: "--deny-bar", values: figures.values.denied },
  ], [figures]);
  const sum = (s) => sums[s.name];
  const say = `In the last two minutes: ${series.map((s) => `${count(sum(s))} ${s.name}`).join(", ")}.`;
  return html`<${Panel} title="Last two minutes" class="pulse" note=${html`<span class="legend">${series.map((s) => html`<span class=${`key ${s.name}`}>${count(sum(s))} ${s.name}</span>`)}</span>`}>
    <${Bars} times=${times} series=${series} say=${say} height=${96} />
  <//>`;
}

function Box({ box, line, ended }) {
  const age = (ended ? box.ended_ms : Date.now()) - box.started_ms;
  return html`<li><a class="box" href=${`#/sandbox/${encodeURIComponent(box.id)}`}>
    <span class="title"><strong>${program(box.command)}</strong><span class="soft"><${Text} value=${box.name} max=${40} mono=${false} /></span></span>
    ${line && html`<span class="where"><${Text} value=${line} max=${160} /></span>`}
    <span class="where"><${Text} value=${box.folder} max=${120} /></span>
    <span class="figures">
      <span>${ended ? "ran" : "for"} ${span(age)}</span>
      <span>${plural(box.events ?? 0, "event")}</span>
      ${box.denied > 0 && html`<span class="denied-count">${count(box.denied)} denied</span>`}
      ${box.files === "not watched" && html`<span class="soft">files: not watched</span>`}
      ${box.stopping && html`<${Badge} tone="ask">ending<//>`}
      ${box.kind && box.kind !== "run" && html`<${Badge}>${visible(box.kind)}<//>`}
    </span></a></li>`;
}

function Sandboxes({ state }) {
  useTick(1000);
  const live = [...state.sandboxes.values()].sort((a, b) => b.started_ms - a.started_ms);
  return html`<${Panel} title="Sandboxes" note=${live.length ? plural(live.length, "runs", "run") : ""} class="boxes">
    ${live.length === 0 && html`<${Empty} title="No sandbox runs">
      <p>Start one in a project's folder; it appears here by itself.</p><${Command} text="corral run -- make test" /><//>`}
    <ul>${live.slice(0, 100).map((box) => html`<${Box} key=${box.id} box=${box} line=${state.lines.get(box.id)} />`)}</ul>
    ${live.length > 100 && html`<p class="soft pad">and ${count(live.length - 100)} more; <code>corral ps</code> lists them all</p>`}
    ${state.ended.length > 0 && html`<h3 class="divider">Ended</h3><ul class="ended">${state.ended.slice(0, 6).map((box) => html`<${Box} key=${box.id} box=${box} line=${state.lines.get(box.id)} ended />`)}</ul>`}
  <//>`;
}

const FILTERS = [["all", "All"], ["denied", "Denied"], ["asked", "Asked"]];

export function EventRow({ event }) {
  return html`<span role="cell" class="time"><time datetime=${iso(event.time_ms)} title=${iso(event.time_ms)}>${clock(event.time_ms)}</time></span>
    <span role="cell"><${Decision} value=${event.decision} /></span>
    <span role="cell" class="verb">${verb(event.action)}</span>
    <${Target} event=${event} allow=${allowAddress(event)} name=${html`<${Text} value=${event.target} max=${120} />`} />
    <span role="cell" class="by">${event.id ? html`<a href=${`#/sandbox/${encodeURIComponent(event.id)}`}>${program(event.program)}</a>` : program(event.program)}</span>`;
}

function Activity({ state }) {
  const [filter, setFilter] = useState("all");
  const [paused, setPaused] = useState(null);
  const all = paused ?? state.events;
  const memo = useRef({});
  // A filtered list is made anew only when there is something new.
  const key = `${filter} ${all.length} ${all[all.length - 1]?.number}`;
  if (memo.current.key !== key) memo.current = { key, rows: filter === "all" ? all : all.filter((e) => e.decision === filter) };
  const rows = memo.current.rows;
  return html`<${Panel} title="Activity" class="activity" note=${plural(state.total, "event")}
    actions=${html`
      <div class="switch" role="group" aria-label="Show">${FILTERS.map(([value, name]) => html`<button aria-pressed=${filter === value} onClick=${() => setFilter(value)}>${name}</button>`)}</div>
      <button aria-pressed=${paused !== null} onClick=${() => setPaused(paused ? null : [...state.events])}>${paused ? "Resume" : "Pause"}</button>`}>
    ${state.dropped > 0 && html`<p class="soft pad">${plural(state.dropped, "event")} came too fast to be shown; the log has them.</p>`}
    <${Rows} rows=${rows} guess=${guessHeight} label="Activity" header=${["Time", "Decision", "Action", "Target", "By"]} columns="events"
      id=${(e) => e.number} row=${(e) => html`<${EventRow} event=${e} />`}
      empty=${html`<${Empty} title=${filter === "all" ? "Nothing has happened yet" : `Nothing was ${filter}`}><p>What sandboxes read, write, run and connect to appears here as it happens.</p><//>`} />
  <//>`;
}

// Questions on top: a command waits for each.
function Asked({ state }) {
  if (!state.questions?.length) return null;
  const first = state.questions[0];
  return html`<a class="banner ask" href="#/questions"><strong>${plural(state.questions.length, "question waits", "questions wait")}</strong>
    <span>${program(first.command)} asks to ${actionVerb(first.action)} <${Text} value=${first.target} max=${70} /></span><span class="go">Answer →</span></a>`;
}

// A stored policy that cannot be read: the last good version binds, or runs are refused.
function Broken({ state }) {
  if (state.broken.length === 0) return null;
  const first = state.broken[0];
  return html`<a class="banner deny" href="#/policies"><strong>${plural(state.broken.length, "stored policy is broken", "stored policies are broken")}</strong>
    <span>${visible(first.name)}${first.error.line ? `, line ${first.error.line}` : ""}: <${Text} value=${first.error.text} max=${120} mono=${false} /></span><span class="go">Edit →</span></a>`;
}

export function Now() {
  const state = useStore();
  const boxes = [...state.sandboxes.values()];
  useTick(1000);
  // Once a second, and for the headline and the chart.
  const now = Math.floor(Date.now() / 1000), waiting = state.questions?.length ?? 0;
  const figures = useMemo(() => recent(state.rate, now, SECONDS, waiting), [now, waiting]);
  const { denied } = figures.sums;
  return html`<div class="screen now">
    <h1>${boxes.length === 0 ? "All quiet" : plural(boxes.length, "sandbox runs", "sandboxes run")}${denied > 0 ? html`<span class="denied-count">, ${count(denied)} denied in two minutes</span>` : ""}</h1>
    <${Asked} state=${state} /><${Broken} state=${state} />
    <${Pulse} figures=${figures} />
    <div class="columns"><${Sandboxes} state=${state} /><${Activity} state=${state} /></div>
  </div>`;
}
