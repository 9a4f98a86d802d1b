// SPDX-License-Identifier: Apache-2.0
// Questions: what a sandbox waits for, and the three answers to it.
//
// Keys work only while a question has the focus, and a key that is held down answers nothing: one
// press, one answer. queue.js says how an answer stays with the question that was seen.
import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "/api.js";
import { ago, name, plural, program, span, visible } from "/format.js";
import { follow } from "/live.js";
import { Command, Failure, html, Panel, useTick } from "/parts.js";
import { hasMoved, mergeQuestions, nextOpen, SETTLE_MS } from "/queue.js";
import { changed, state } from "/store.js";
import { actionVerb, DURATIONS, scopeWords, timesWords } from "/words.js";

// The badge in the navigation and the title of the tab count them on every screen.
const useQuestions = follow("/api/questions", ["question"], (data) => {
  state.questions = data.questions;
  changed();
});

// What commands that failed were denied of files and programs; there was no terminal to ask in.
const useLater = follow("/api/later", ["sandbox"]);

// Of a sandbox that asks without end, the others are shown when these are answered.
const SHOWN_MAX = 50;
const KEYS = { o: "once", a: "allow", d: "deny" };
const DONE = { once: "Allowed once", allow: "Allowed", deny: "Denied" };

function Facts({ question, now }) {
  const left = question.expires_ms ? question.expires_ms - now : null;
  return html`<dl class="ask-facts">
    <div><dt>Sandbox</dt><dd><a href=${`#/sandbox/${encodeURIComponent(question.sandbox)}`}>${name(question.name || question.sandbox)}</a></dd></div>
    <div><dt>Command</dt><dd><code>${name(question.command)}</code></dd></div>
    <div><dt>Program</dt><dd><code>${name(question.program || "not known")}</code>${question.pid ? html`, process ${question.pid}` : ""}${question.method ? html`, by <code>${visible(question.method)}</code>` : ""}</dd></div>
    ${(question.reason || question.rule) && html`<div><dt>Why it asks</dt><dd>${visible(question.reason)}${question.rule && html` <code>${visible(question.rule)}</code>`}</dd></div>`}
    <div><dt>Asked</dt><dd>${timesWords(question.count ?? 1)}, ${ago(question.asked_ms, now)}</dd></div>
    ${left !== null && html`<div><dt>Denied in</dt><dd>${left >= 1000 ? span(left) : "a moment"}</dd></div>`}
  </dl>`;
}

function Answers({ question, choice, setChoice, answer, busy }) {
  const scopes = question.scopes ?? [];
  return html`<div class="answers">
    <div class="answer-buttons">
      <button type="button" aria-disabled=${busy} onClick=${() => answer("once")}>Allow once <kbd>o</kbd></button>
      <button type="button" class="danger" aria-disabled=${busy} onClick=${() => answer("deny")}>Deny <kbd>d</kbd></button>
    </div>
    ${scopes.length > 0 && html`<fieldset class="for-long">
      <legend>Or for longer</legend>
      <div class="scopes">${scopes.map((scope) => html`<label key=${scope}>
        <input type="radio" name=${`scope-${question.id}`} checked=${choice.scope === scope} onChange=${() => setChoice({ ...choice, scope })} />
        <span>${scopeWords(question.action, scope)}</span></label>`)}</div>
      <select aria-label="How long" value=${String(choice.seconds)} onChange=${(e) => setChoice({ ...choice, seconds: Number(e.target.value) })}>
        ${DURATIONS.map((d) => html`<option key=${d.seconds} value=${String(d.seconds)}>${d.text}</option>`)}
      </select>
      <button type="button" aria-disabled=${busy} onClick=${() => answer("allow")}>Allow <kbd>a</kbd></button>
    </fieldset>`}
  </div>`;
}

function Card({ row, now, at, move, send, settled }) {
  const { question, gone } = row;
  const [choice, setChoice] = useState({ scope: question.scopes?.[0] ?? "", seconds: DURATIONS[0].seconds });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const last = useRef(""), since = useRef(performance.now());
  const title = `title-${question.id}`;

  const answer = async (kind) => {
    if (busy || gone || (kind === "allow" && !choice.scope)) return;
    if (!settled(since.current)) {
      setError("It has just appeared, or moved: look at it, then press again.");
      return;
    }
    setBusy(true);
    setError("");
    const failed = await send(question, kind, choice, at);
    setBusy(false);
    if (failed) setError(failed);
  };
  const onKey = (e) => {
    // g and a letter go to another screen.
    const follows = last.current === "g";
    last.current = e.key;
    if (e.target !== e.currentTarget || follows || e.repeat || e.ctrlKey || e.altKey || e.metaKey) return;
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[e.key];
    if (step) move(at, step);
    else if (KEYS[e.key]) answer(KEYS[e.key]);
    else return;
    e.preventDefault();
  };

  return html`<article class=${`panel question ${gone ? "gone" : ""}`} tabindex=${gone ? -1 : 0} data-id=${question.id}
      aria-labelledby=${title} onKeyDown=${onKey}>
    <h2 id=${title}><span class="soft">${program(question.command)} asks to ${actionVerb(question.action)}</span>
      <code class="target">${name(question.target)}</code></h2>
    ${gone ? html`<p class="result" role="status">${gone.text}</p>` : html`
      <${Facts} question=${question} now=${now} />
      <${Answers} question=${question} choice=${choice} setChoice=${setChoice} answer=${answer} busy=${busy} />`}
    ${error && html`<p class="problem" role="alert">${visible(error)}</p>`}
  </article>`;
}

// The rows of the screen, from what the daemon says is open.
function useQueue(fresh) {
  const answers = useRef(new Map());
  const rows = useRef([]);
  const moved = useRef(0);
  if (fresh) {
    const next = mergeQuestions(rows.current, fresh, answers.current, Date.now());
    if (hasMoved(rows.current, next)) moved.current = performance.now();
    rows.current = next;
  }
  return { rows: rows.current, answers: answers.current, moved };
}

const LATER = { once: "Allowed from the next run, once", day: "Allowed from the next run, for a day", always: "A line of the project's corral.yaml allows it now", deny: "Denied for a day" };

function Later({ question, done, answer }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const since = useRef(performance.now());
  const press = async (kind) => {
    if (busy || done) return;
    if (performance.now() - since.current <= SETTLE_MS) return;
    setBusy(true);
    setError((await answer(question, kind)) ?? "");
    setBusy(false);
  };
  return html`<article class=${`panel question later ${done ? "gone" : ""}`} data-id=${question.id} aria-labelledby=${`title-${question.id}`}>
    <h2 id=${`title-${question.id}`}><span class="soft">A command failed; it was denied to ${actionVerb(question.action)}</span>
      <code class="target">${name(question.target)}</code></h2>
    ${done ? html`<p class="result" role="status">${done}</p>` : html`
      <dl class="ask-facts"><div><dt>Folder</dt><dd><code>${name(question.folder)}</code></dd></div>
        ${question.is_folder && html`<div><dt>That is</dt><dd>a folder, with all that is in it</dd></div>`}</dl>
      <p class="soft">The answer holds from the next run in this folder that asks (<code>--ask-denied</code>).</p>
      <div class="answer-buttons">
        <button type="button" aria-disabled=${busy} onClick=${() => press("once")}>Allow in the next run</button>
        <button type="button" aria-disabled=${busy} onClick=${() => press("day")}>Allow for a day</button>
        ${question.can_always && html`<button type="button" aria-disabled=${busy} title="Adds the line to corral.yaml and approves that, if the file is as it was approved" onClick=${() => press("always")}>Always for this project</button>`}
        <button type="button" class="danger" aria-disabled=${busy} onClick=${() => press("deny")}>Deny</button>
      </div>`}
    ${error && html`<p class="problem" role="alert">${visible(error)}</p>`}
  </article>`;
}

// No command waits for them, so they stand below those for which one does, and an answered one stays until the page is left.
function LaterList() {
  const list = useLater();
  const answered = useRef(new Map());
  const [, draw] = useState(0);
  const open = list.data?.later ?? [];
  const shown = [...open.filter((q) => !answered.current.has(q.id)), ...[...answered.current.values()].map((a) => a.question)];
  const answer = async (question, kind) => {
    try {
      await post(`/api/later/${encodeURIComponent(question.id)}`, { answer: kind });
    } catch (e) {
      return e.message;
    }
    answered.current.set(question.id, { question, text: LATER[kind] });
    draw((n) => n + 1);
    list.reload();
    return "";
  };
  if (shown.length === 0) return null;
  return html`<section class="later-list"><h2>For the next run</h2>
    ${shown.map((q) => html`<${Later} key=${q.id} question=${q} done=${answered.current.get(q.id)?.text} answer=${answer} />`)}</section>`;
}

export function Questions() {
  const list = useQuestions();
  useTick(1000);
  const now = Date.now();
  const queue = useQueue(list.data?.questions);
  const { answers, moved } = queue;
  const rows = queue.rows.slice(0, SHOWN_MAX);
  const [said, setSaid] = useState("");
  const holder = useRef(null), focused = useRef("");
  const open = rows.filter((r) => !r.gone);

  useEffect(() => {
    if (open.length) setSaid(`${open.length} ${open.length === 1 ? "question is" : "questions are"} open`);
  }, [open.length]);

  // Where the focus was is gone: it stays in the list, and not at the top of the page.
  useEffect(() => {
    if (focused.current && document.activeElement === document.body && !rows.some((r) => String(r.question.id) === focused.current)) holder.current?.focus();
  });
  const move = (at, step) => {
    const to = nextOpen(rows, at, step);
    holder.current?.querySelectorAll(".question")[to >= 0 ? to : at]?.focus();
  };
  const send = async (question, kind, choice, at) => {
    const body = kind === "allow" ? { answer: kind, seconds: choice.seconds, scope: choice.scope } : { answer: kind };
    try {
      await post(`/api/questions/${encodeURIComponent(question.id)}`, body);
    } catch (e) {
      list.reload();
      return e.message;
    }
    const long = DURATIONS.find((d) => d.seconds === choice.seconds)?.text ?? "";
    answers.set(question.id, kind === "allow" ? `Allowed ${long}: ${scopeWords(question.action, choice.scope)}` : DONE[kind]);
    setSaid(`${DONE[kind]}: ${actionVerb(question.action)} ${name(question.target)}`);
    if (holder.current?.contains(document.activeElement)) {
      moved.current = performance.now();
      move(at, nextOpen(rows, at, 1) >= 0 ? 1 : -1);
    }
    list.reload();
    return "";
  };

  return html`<div class="screen padded"><h1>Questions</h1>
    <p class="soft keys-help">Keys, when a question has the focus: <kbd>o</kbd> allow once, <kbd>a</kbd> allow as chosen, <kbd>d</kbd> deny, <kbd>↑</kbd> <kbd>↓</kbd> another question.</p>
    <p class="unseen" role="status">${said}</p>
    ${list.error && html`<${Failure} error=${list.error} retry=${list.reload} />`}
    ${list.data && rows.length === 0 && html`<${Panel} title="No questions">
      <p>When a sandbox needs something that its policy leaves to you, its command waits here for your answer.</p>
      <p>A run asks about what nothing grants with <code>corral run --ask-denied</code>, or with <code>ask: denied</code> in the project's <code>corral.yaml</code>; a rule of a policy with <code>action: ask</code> makes it ask about what that names.</p>
      <${Command} text="corral run --ask-denied -- make test" /><//>`}
    <div class="questions" ref=${holder} tabindex="-1" onFocusIn=${(e) => {
      focused.current = e.target.closest(".question")?.dataset.id ?? "";
    }}>${rows.map((row, at) => html`<${Card} key=${row.question.id} row=${row} now=${now} at=${at} move=${move} send=${send}
      settled=${(since) => performance.now() - Math.max(moved.current, since) > SETTLE_MS} />`)}</div>
    ${queue.rows.length > rows.length && html`<p class="soft">and ${plural(queue.rows.length - rows.length, "question")} more</p>`}
    <${LaterList} /></div>`;
}
