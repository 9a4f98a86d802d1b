// SPDX-License-Identifier: Apache-2.0
// All that the screens show of now, and how it changes: events come in, state changes here, screens are drawn from
// it. Nothing goes the other way; a click calls the API, and its effect comes back as an event. However many events
// come, screens are drawn once per frame at most.
//
// A screen that needs more of the state adds its rows: on("question", (state, data) => …), snapshot(async (state) => …).
import { useEffect, useState } from "preact/hooks";
import { get, listen } from "/api.js";
import { weight } from "/counts.js";

const KEPT = 20_000; // events in the list
const SECONDS = 300; // of the rate
const DRAW_MS = 100;

export const state = {
  link: "wait", // "live", "lost", "out"
  since: Date.now(),
  status: null,
  sandboxes: new Map(), // id -> as /api/sandboxes has it
  ended: [], // those that left while we looked, newest first
  events: [], // decisions and what sandboxes did, oldest first, each with a number
  total: 0, // of events since the page was opened
  dropped: 0,
  rate: new Map(), // second -> {allowed, denied, asked}
  names: new Map(), // when a name was looked up last (counts.js)
  lines: new Map(), // id -> the command with its arguments, as the log has it
  questions: null, // null: not known
  findings: null,
  broken: [], // stored policies with an error
};

const reducers = new Map();
const snapshots = [];
const listeners = new Set();
let scheduled = false, drawn = 0;

export function on(type, reduce) {
  reducers.set(type, [...(reducers.get(type) ?? []), reduce]);
}

// Asked for at the start and after each reconnect: what events do not say.
export function snapshot(load) {
  snapshots.push(load);
}

// The state has changed: those who look are drawn in the next frame, but not more often than an eye can follow. A
// page in the background has no frames.
export function changed() {
  if (scheduled) return;
  scheduled = true;
  const draw = () => {
    scheduled = false;
    drawn = performance.now();
    for (const listener of listeners) listener();
  };
  const wait = document.hidden ? 1000 : drawn + DRAW_MS - performance.now();
  if (document.hidden) setTimeout(draw, wait);
  else if (wait <= 0) requestAnimationFrame(draw);
  else setTimeout(() => requestAnimationFrame(draw), wait);
}

// Draws the component again whenever the state changes.
export function useStore() {
  const [, set] = useState(0);
  useEffect(() => {
    const listener = () => set((n) => n + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return state;
}

const LINES = 1000;

export function keep(event) {
  if (event.action === "command.start" && event.id) {
    state.lines.set(event.id, event.target);
    if (state.lines.size > LINES) state.lines.delete(state.lines.keys().next().value);
  }
  event.number = state.total++;
  state.events.push(event);
  // Now and then, and not one by one: a shift() of a long array is slow.
  if (state.events.length > KEPT * 1.25) state.events.splice(0, state.events.length - KEPT);
}

// Returns how many times it counts.
function tally(event) {
  const second = Math.floor(event.time_ms / 1000);
  const row = state.rate.get(second) ?? { allowed: 0, denied: 0, asked: 0 };
  const times = weight(event, state.names);
  if (event.decision in row) row[event.decision] += times;
  state.rate.set(second, row);
  if (state.rate.size > SECONDS * 2) for (const old of [...state.rate.keys()].sort((a, b) => a - b).slice(0, SECONDS)) state.rate.delete(old);
  return times;
}

// The sandbox counts it as the headline and the chart do.
function note(data) {
  const times = tally(data);
  const box = state.sandboxes.get(data.id);
  if (box) {
    box.events = (box.events ?? 0) + 1;
    if (data.decision === "denied") box.denied = (box.denied ?? 0) + times;
    // When it joined, this was not known yet.
    if (data.action === "confinement") box.files = /files: watched/.test(data.reason) ? "watched" : "not watched";
  }
  keep(data);
}

on("decision", (_, data) => note(data));
on("sandbox", (s, data) => {
  if (!data.sandbox) {
    note(data);
    return;
  }
  const box = data.sandbox;
  if (data.state === "left") {
    s.sandboxes.delete(box.id);
    s.ended = [{ ...box, ended_ms: Date.now() }, ...s.ended].slice(0, 20);
  } else {
    s.sandboxes.set(box.id, box);
  }
  keep({ id: box.id, time_ms: Date.now(), action: "session", decision: "none", target: data.state === "left" ? "ended" : "joined",
    program: box.command, reason: box.folder ?? "", rule: "" });
});
on("dropped", (s, data) => {
  s.dropped += (data.to ?? 0) - (data.from ?? 0) + 1;
});

// A record of the log as an event.
export const fromRecord = (r) => ({ ...r, id: r.session, time_ms: Date.parse(r.time) });

snapshot(async (s) => {
  const [boxes, status] = await Promise.all([get("/api/sandboxes"), get("/api/status")]);
  s.sandboxes = new Map(boxes.sandboxes.map((box) => [box.id, box]));
  s.status = status;
});
// At the start the list and the rate are not empty, if anything happened before. Events that came while the log was
// read stay behind its records.
snapshot(async (s) => {
  if (s.total > 0) return;
  const { records } = await get("/api/audit", { limit: 1000, requests: "no" });
  const newer = s.events;
  const first = newer[0]?.time_ms ?? Infinity;
  s.events = [];
  s.total = 0;
  for (const event of records.map(fromRecord).filter((e) => e.time_ms < first)) {
    keep(event);
    tally(event);
  }
  for (const event of newer) keep(event);
});

async function refresh() {
  await Promise.allSettled(snapshots.map((load) => load(state)));
  changed();
}

let stop = null;
export function begin() {
  stop?.();
  stop = listen(
    (type, data) => {
      for (const reduce of reducers.get(type) ?? []) reduce(state, data);
      changed();
    },
    (link) => {
      if (link !== state.link) state.since = Date.now();
      state.link = link;
      if (link === "live") refresh();
      changed();
    },
  );
}
