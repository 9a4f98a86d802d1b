// SPDX-License-Identifier: Apache-2.0
// What screens are made of. Texts from outside go through visible() or <${Text}>, and into text nodes: nothing here
// makes markup of a text.
import { h } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import htm from "htm";
import uPlot from "uplot";
import { ago, iso, moment, name, shorten, tick, visible } from "/format.js";

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

// A long list of rows of one height, of which only those in sight are made. `rows` are oldest first and shown newest
// first, unless `forward`. One that is scrolled down stays where it is when rows come in at the top. `first` is the
// number of rows[0], which tells how many have come.
export function Rows(props) {
  return props.rows.length === 0 && props.empty ? props.empty : html`<${Window} ...${props} />`;
}

function Window({ rows, row, height = 34, label, header, columns, forward = false, first = 0, id }) {
  const box = useRef(), seen = useRef(null);
  const [view, set] = useState({ top: 0, room: 600 });
  const end = first + rows.length;
  const measure = () => {
    const b = box.current;
    if (b) set((v) => (v.top === b.scrollTop && v.room === b.clientHeight ? v : { top: b.scrollTop, room: b.clientHeight }));
  };
  useLayoutEffect(() => {
    const watch = new ResizeObserver(measure);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const b = box.current;
    if (!forward && seen.current !== null && end > seen.current && b.scrollTop > height / 2) b.scrollTop += (end - seen.current) * height;
    seen.current = end;
    measure();
  }, [end]);
  const from = Math.max(0, Math.floor(view.top / height) - 6);
  const to = Math.min(rows.length, Math.ceil((view.top + view.room) / height) + 6);
  const shown = [];
  for (let i = from; i < to; i++) shown.push([i, rows[forward ? i : rows.length - 1 - i]]);
  return html`<div class="rows" role="table" aria-label=${label} aria-rowcount=${rows.length + 1}>
    <div class="row head" role="row" aria-rowindex="1">${header.map((name) => html`<span role="columnheader">${name}</span>`)}</div>
    <div class="window" ref=${box} onScroll=${measure} style=${{ height: `min(64vh, 720px, ${rows.length * height}px)` }} tabindex="0" role="rowgroup" aria-label=${label}>
      <div class="all" role="presentation" style=${{ height: `${rows.length * height}px` }}>
        ${shown.map(([i, value]) => html`<div class="row ${columns ?? ""}" role="row" aria-rowindex=${i + 2} key=${id ? id(value) : i} style=${{ transform: `translateY(${i * height}px)`, height: `${height}px` }}>${row(value)}</div>`)}
      </div>
    </div>
  </div>`;
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
