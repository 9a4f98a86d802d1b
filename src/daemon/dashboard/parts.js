// SPDX-License-Identifier: Apache-2.0
// What screens are made of. Texts from outside go through visible() or <${Text}>, and into text nodes: nothing here
// makes markup of a text.
import { h } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import htm from "htm";
import uPlot from "uplot";
import { ago, count, iso, moment, name, shorten, tick, visible } from "/format.js";

export const html = htm.bind(h);

// A name from outside: all of it in the title, the middle cut out where it is long.
export function Text({ value, max = 400, mono = true }) {
  const all = name(value);
  return html`<span class=${mono ? "mono" : ""} title=${all.length > max ? all.slice(0, 4000) : undefined}>${shorten(value, max)}</span>`;
}

export function Time({ ms, relative = false }) {
  if (!ms) return null;
  return html`<time datetime=${iso(ms)} title=${iso(ms)}>${relative ? ago(ms) : moment(ms)}</time>`;
}

const WORDS = { allowed: "allowed", denied: "denied", asked: "asked", failed: "failed", none: "" };

// Told by its word and its shape, too, not by colour alone.
export function Decision({ value }) {
  const word = WORDS[value] ?? visible(value);
  return word ? html`<span class="decision ${value in WORDS ? value : ""}">${word}</span>` : null;
}

export function Badge({ tone = "", children }) {
  return html`<span class="badge ${tone}">${children}</span>`;
}

export function Panel({ title, note, actions, children, class: kind = "", id }) {
  return html`<section class="panel ${kind}" aria-label=${title} id=${id}>
    ${title && html`<header><h2>${title}</h2>${note && html`<p class="soft">${note}</p>`}<div class="actions">${actions}</div></header>`}
    ${children}
  </section>`;
}

// Nothing is here, why that is so, and what to do first.
export function Empty({ title, children }) {
  return html`<div class="empty"><h3>${title}</h3><div class="soft">${children}</div></div>`;
}

export function Failure({ error, retry }) {
  return html`<div class="failure" role="alert">
    <p><strong>${visible(error.message)}</strong></p>
    ${error.hint && html`<p class="soft">${visible(error.hint)}</p>`}
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

// A command to type, and a button that copies it.
export function Command({ text }) {
  const [done, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set(true);
      setTimeout(() => set(false), 1500);
    } catch {
      // Not granted: it can be selected.
    }
  };
  return html`<span class="command"><code>${visible(text)}</code><button class="quiet" onClick=${copy} aria-label=${"Copy " + visible(text)}>${done ? "copied" : "copy"}</button></span>`;
}

// A question before something that cannot be undone. Escape and a click beside it say no.
export function Dialog({ title, onClose, children }) {
  const box = useRef();
  useEffect(() => {
    box.current.showModal();
  }, []);
  return html`<dialog ref=${box} aria-label=${title} onClose=${onClose} onClick=${(e) => e.target === box.current && box.current.close()}>
    <div class="dialog"><h2>${title}</h2>${children}</div>
  </dialog>`;
}

// {data, error, busy, reload}: what load() gave; again when one of keys changes. The last one asked for wins.
export function useLoad(load, keys = []) {
  const [result, set] = useState({ data: null, error: null, busy: true });
  const [turn, reload] = useState(0);
  const last = useRef(0);
  useEffect(() => {
    const mine = ++last.current;
    set((before) => ({ ...before, busy: true }));
    load().then(
      (data) => mine === last.current && set({ data, error: null, busy: false }),
      (error) => mine === last.current && set((before) => ({ ...before, error, busy: false })),
    );
  }, [...keys, turn]);
  return { ...result, reload: () => reload((n) => n + 1) };
}

// Calls back every so often while the component is there: times that grow.
export function useTick(ms = 1000) {
  const [, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => set((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

// A long list, of which only rows in sight are made. `rows` are oldest first and shown newest first, unless `forward`. A row is as
// tall as what is in it, at least `height`: `guess` says how tall one probably is that was not drawn yet. One that is scrolled
// down stays at the row that is on top there, whatever comes in above. `id` names a row; without it, its place does.
export function Rows(props) {
  return props.rows.length === 0 && props.empty ? props.empty : html`<${Window} ...${props} />`;
}

const MEASURED_MAX = 20_000;

// The last i with tops[i] <= at
function rowAt(tops, at) {
  let low = 0, high = tops.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

function Window({ rows, row, height = 34, guess, label, header, columns, forward = false, id }) {
  const box = useRef(), all = useRef(), measured = useRef(new Map()), anchor = useRef(null), wide = useRef(0);
  const [view, set] = useState({ top: 0, room: 600 });
  const [, again] = useState(0);
  const n = rows.length;
  const at = (i) => (forward ? i : n - 1 - i);
  const key = (i) => (id ? id(rows[at(i)]) : at(i));
  const tops = [0];
  for (let i = 0; i < n; i++) tops.push(tops[i] + (measured.current.get(key(i)) ?? guess?.(rows[at(i)]) ?? height));
  const latest = useRef();
  latest.current = { tops, key, n };
  const look = () => {
    const b = box.current;
    if (!b) return;
    const { tops: t, key: k, n: count } = latest.current, i = rowAt(t, b.scrollTop);
    anchor.current = count > 0 && b.scrollTop > height / 2 ? { key: k(i), below: b.scrollTop - t[i], i } : null;
    set((v) => (v.top === b.scrollTop && v.room === b.clientHeight ? v : { top: b.scrollTop, room: b.clientHeight }));
  };
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => {
      if (box.current.clientWidth !== wide.current) measured.current.clear();
      wide.current = box.current.clientWidth;
      again((turn) => turn + 1);
      look();
    });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const b = box.current, heights = measured.current;
    let isNew = false;
    if (heights.size > MEASURED_MAX) heights.clear();
    for (const child of all.current.children) {
      const k = key(Number(child.dataset.at)), tall = child.offsetHeight;
      if (tall > 0 && heights.get(k) !== tall) {
        heights.set(k, tall);
        isNew ||= tall !== tops[Number(child.dataset.at) + 1] - tops[Number(child.dataset.at)];
      }
    }
    if (anchor.current) {
      // What came in moved it down, unless the oldest went: near where it was, then anywhere.
      let i = Math.min(anchor.current.i, n - 1);
      while (i < n && key(i) !== anchor.current.key) i++;
      if (i === n) for (i = 0; i < n && key(i) !== anchor.current.key; i++);
      const top = i < n ? tops[i] + anchor.current.below : b.scrollTop;
      anchor.current.i = i < n ? i : 0;
      if (Math.abs(b.scrollTop - top) >= 1) b.scrollTop = top;
    }
    if (isNew) again((turn) => turn + 1);
    else if (b.scrollTop !== view.top || b.clientHeight !== view.room) look();
  });
  const from = Math.max(0, rowAt(tops, view.top) - 6);
  const to = Math.min(n, rowAt(tops, view.top + view.room) + 7);
  const shown = [];
  for (let i = from; i < to; i++) shown.push(i);
  return html`<div class="rows" role="table" aria-label=${label} aria-rowcount=${n + 1}>
    <div class="row head" role="row" aria-rowindex="1">${header.map((name) => html`<span role="columnheader">${name}</span>`)}</div>
    <div class="window" ref=${box} onScroll=${look} style=${{ height: `min(64vh, 720px, ${tops[n]}px)` }} tabindex="0" role="rowgroup" aria-label=${label}>
      <div class="all" ref=${all} role="presentation" style=${{ height: `${tops[n]}px` }}>
        ${shown.map((i) => html`<div class="row ${columns ?? ""}" role="row" aria-rowindex=${i + 2} data-at=${i} key=${key(i)} style=${{ transform: `translateY(${tops[i]}px)`, minHeight: `${height}px` }}>${row(rows[at(i)])}</div>`)}
      </div>
    </div>
  </div>`;
}

// What was not let through says why, whole, below its name; elsewhere a reason is a note that may be cut.
const WHY = new Set(["denied", "asked", "failed"]);
const hasWhy = (event) => Boolean(event.reason) && WHY.has(event.decision);
export const guessHeight = (event) => (hasWhy(event) ? 52 : 34);

// The cell of what an event is about: its name, how often, Allow…, why. A look-up is one, for however many kinds of address.
export function Target({ event, name: part, allow }) {
  const why = hasWhy(event);
  return html`<span role="cell" class="target"><span class="first">${part}${event.count > 1 && event.action !== "net.name" ? html`<span class="soft times">×${count(event.count)}</span>` : null}
    ${allow ? html`<a class="allow" href=${allow}>Allow…</a>` : null}
    ${event.reason && !why ? html`<span class="soft reason" title=${visible(event.reason)}>${visible(event.reason)}</span>` : null}</span>
    ${why ? html`<span class="soft why">${visible(event.reason)}</span>` : null}</span>`;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Bars over time, one upon the other. series: [{name, colour: "--deny", values}], times in seconds. say: the same in words.
export function Bars({ times, series, height = 120, say, step }) {
  const box = useRef(), plot = useRef(null);
  const draw = () => {
    const sums = times.map(() => 0);
    // The last on top: drawn first, as the sum of all.
    const stacks = series.map(({ values }) => values.map((v, i) => (sums[i] += v)));
    return [times, ...stacks.reverse()];
  };
  const make = () => {
    plot.current?.destroy();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    plot.current = new uPlot({
      width: Math.max(120, box.current.clientWidth), height, legend: { show: false }, cursor: { show: false }, select: { show: false },
      padding: [8, 24, 0, 0],
      scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] } },
      axes: [{ ...axis, grid: { show: false }, size: 24, gap: 6, space: 80, values: (_, all, __, ___, step) => all.map((v) => tick(v * 1000, step)) },
        { ...axis, size: 44, gap: 4, space: 28, values: (_, all) => all.map((v) => (Number.isInteger(v) ? new Intl.NumberFormat("en", { notation: "compact" }).format(v) : "")) }],
      series: [{}, ...[...series].reverse().map((s) => ({ fill: colour(s.colour), width: 0, points: { show: false },
        paths: uPlot.paths.bars({ size: [0.86, 40], align: 1 }) }))],
    }, draw(), box.current);
  };
  useLayoutEffect(() => {
    make();
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(120, box.current.clientWidth), height }));
    watch.observe(box.current);
    addEventListener("theme", make);
    return () => {
      watch.disconnect();
      removeEventListener("theme", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useLayoutEffect(() => {
    plot.current?.setData(draw());
  }, [times, series, step]);
  return html`<div class="chart" ref=${box} role="img" aria-label=${say}></div>`;
}
