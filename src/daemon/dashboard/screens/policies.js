// SPDX-License-Identifier: Apache-2.0
// Policies: edit one, see what is wrong at its line, try requests against it, read the difference, save;
// go back to what it was.
//
// Nothing is saved that was not shown as a difference, and nothing that another client changed
// meanwhile is overwritten unseen: the etag of the text that was edited goes with it.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, post, put, remove } from "/api.js";
import { Diff, Editor } from "/editor.js";
import { bytes, moment, plural, visible } from "/format.js";
import { marksOf } from "/lines.js";
import { follow } from "/live.js";
import { Badge, Dialog, Failure, html, Panel, Time } from "/parts.js";
import { changed as redraw, state as shared } from "/store.js";
import { ofPolicy, unseenFindings } from "/words.js";

// Now and the badge in the navigation show the broken ones on every screen.
const usePolicies = follow("/api/policies", ["policy"], (data) => {
  shared.broken = (data.policies ?? []).filter((p) => p.error);
  redraw();
});
const LINT_WAIT_MS = 350;
const OPERATIONS = ["fs.read", "fs.write", "net.connect", "exec", "env", "service"];
const TONES = { error: "deny", warning: "ask", deny: "deny", ask: "ask", allow: "allow" };
// What the daemon's configuration makes of them; nothing is said of enforce.
const MODES = {
  audit: "The mode is audit: what these policies deny is blocked, what they only do not grant passes.",
  monitor: "The mode is monitor: these policies block nothing.",
};
const pathOf = (name) => `/api/policies/${encodeURIComponent(name)}`;

// The daemon's {"error": sentence, hint, line, column}.
function problemOf(failed) {
  const e = failed.body ?? {};
  return { severity: "error", line: e.line ?? 0, column: e.column ?? 0, text: failed.message, hint: failed.hint ?? "" };
}

// What `corral policy lint` says of the text, a moment after the last key.
function useLint(text) {
  const [findings, setFindings] = useState([]);
  useEffect(() => {
    let live = true;
    const own = unseenFindings(text);
    const timer = setTimeout(async () => {
      let found = [];
      if (text.trim() !== "") {
        try {
          found = (await post("/api/policies/lint", { policy: text })).findings;
        } catch (failed) {
          found = [problemOf(failed)];
        }
      }
      if (live) setFindings([...found, ...own]);
    }, LINT_WAIT_MS);
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [text]);
  return findings;
}

// What to do: a long one, which is a text to copy, opens.
function Hint({ text }) {
  if (!text) return null;
  if (text.length <= 160) return html`<p class="soft">${visible(text)}</p>`;
  return html`<details><summary>What to do</summary><p>${visible(text)}</p></details>`;
}

function Problems({ findings, show }) {
  if (findings.length === 0) return html`<p class="soft" role="status">No findings.</p>`;
  return html`<ul class="problems" aria-label="Findings">
    ${findings.map((f, n) => html`<li key=${n} class=${f.severity}>
      <button type="button" class="quiet" onClick=${() => show(f)}>${f.line > 0 ? `Line ${f.line}` : "Whole policy"}</button>
      <${Badge} tone=${TONES[f.severity] ?? ""}>${visible(f.severity)}<//>
      <div>${ofPolicy(f.text)}<${Hint} text=${f.hint} /></div>
    </li>`)}
  </ul>`;
}

function CheckForm({ text, show }) {
  const [wish, setWish] = useState({ operation: "fs.read", target: "", method: "" });
  const [result, setResult] = useState(null);
  const set = (key) => (e) => setWish({ ...wish, [key]: e.target.value });
  useEffect(() => setResult(null), [text]);
  const submit = async (e) => {
    e.preventDefault();
    const body = { policy: text, operation: wish.operation, target: wish.target };
    if (wish.method && wish.operation === "net.connect") body.method = wish.method;
    try {
      setResult(await post("/api/policies/check", body));
    } catch (failed) {
      const problem = problemOf(failed);
      setResult({ failed: problem.line ? `The policy cannot be read: line ${problem.line}: ${problem.text}` : problem.text });
    }
  };
  return html`<form class="panel form" onSubmit=${submit} aria-label="Would this be allowed?">
    <header><h2>Would this be allowed?</h2></header>
    <div class="fields">
      <label>Operation
        <select value=${wish.operation} onChange=${set("operation")}>${OPERATIONS.map((o) => html`<option key=${o}>${o}</option>`)}</select></label>
      <label class="wide">Target
        <input required value=${wish.target} onInput=${set("target")} spellcheck=${false} autocomplete="off" autocapitalize="off"
          placeholder=${wish.operation === "net.connect" ? "api.example.com:443" : wish.operation === "exec" ? "git push" : "/home/you/file"} /></label>
      ${wish.operation === "net.connect" && html`<label>Method
        <input value=${wish.method} onInput=${set("method")} placeholder="GET" autocomplete="off" /></label>`}
      <button type="submit">Check</button>
    </div>
    <div role="status">${result && (result.failed ? html`<p class="problem">${visible(result.failed)}</p>` : html`<div class="verdict">
      <p><${Badge} tone=${TONES[result.verdict] ?? ""}>${visible(result.verdict)}<//> ${ofPolicy(result.reason)}
        ${result.rule?.line > 0 && html` <button type="button" class="quiet" onClick=${() => show(result.rule)}>line ${result.rule.line}</button>`}</p>
      ${result.remedy && html`<p class="soft">${ofPolicy(result.remedy)}</p>`}
    </div>`)}</div>
  </form>`;
}

// A difference and what is done with it.
function DiffDialog({ title, before, after, action, run, close }) {
  return html`<${Dialog} title=${title} onClose=${close}>
    <${Diff} before=${before} after=${after} />
    <form method="dialog" class="actions">
      ${action && html`<button type="button" class="main" onClick=${run}>${action}</button>`}
      <button>${action ? "Cancel" : "Close"}</button>
    </form>
  <//>`;
}

function History({ entries, compare, bringBack }) {
  return html`<${Panel} title="History" note="What was saved before can be compared and brought back.">
    ${entries.length === 0 ? html`<p class="soft">Nothing was saved here yet.</p>`
      : html`<ul class="history">${entries.map((h) => html`<li key=${h.version}>
        <span><${Time} ms=${h.saved_ms} /> <span class="soft">${visible(h.by)}, ${bytes(h.bytes)}</span></span>
        <span class="buttons">
          <button type="button" class="quiet" aria-label=${`Compare version ${h.version} with now`} onClick=${() => compare(h)}>Compare</button>
          <button type="button" class="quiet" aria-label=${`Edit this version, ${h.version}`} onClick=${() => bringBack(h)}>Edit this</button>
        </span></li>`)}</ul>`}
  <//>`;
}

// One policy as the daemon has it (doc), and as it is being edited (draft). Drafts outlive a look at another policy.
// What a new policy starts with: what most runs use, to be made narrower; an empty one would forbid everything.
const TEMPLATE = `# This policy limits every run of yours. Anything that it does not list is forbidden everywhere.
fs:
  read: ["/**"]
  write: ["$WORK_DIR/**", "/tmp/**"]
network:
  allow: ["*"]
env: ["*"]
`;

function usePolicy(name, drafts, changed) {
  const [state, setState] = useState({ doc: null, draft: "", error: null });
  const load = useCallback(async () => {
    try {
      const doc = name.isNew ? { text: "", etag: "", history: [] } : await get(pathOf(name.name));
      const start = !name.isNew ? doc.text : name.name.startsWith("custom/") ? "" : TEMPLATE;
      setState({ doc, error: null, draft: drafts.get(name.name) ?? start });
    } catch (error) {
      setState((old) => ({ ...old, error }));
    }
  }, [name]);
  useEffect(() => {
    load();
  }, [name, changed]);
  const setDraft = (draft) => {
    if (draft === state.doc.text) drafts.delete(name.name);
    else drafts.set(name.name, draft);
    setState((old) => ({ ...old, draft }));
  };
  return { ...state, load, setDraft, dirty: state.doc !== null && state.draft !== state.doc.text };
}

// Save, undo and look back. What is sent is what the dialog showed: the draft, and the etag of the text that it was
// compared with.
function useActions(name, policy, drafts, { saved, removed }) {
  const { doc, draft, load } = policy;
  const [said, setSaid] = useState(null);
  const [dialog, setDialog] = useState(null);
  const [goto, setGoto] = useState(null);
  const path = pathOf(name.name);
  const fail = (text) => setSaid({ kind: "problem", text });
  const show = (f) => setGoto({ line: f.line > 0 ? f.line : 1, column: f.column });
  const finish = (text) => {
    drafts.delete(name.name);
    setSaid({ kind: "done", text });
    saved(name.name);
    if (!name.isNew) load();
  };
  const refuse = (failed) => {
    const problem = problemOf(failed);
    if (failed.status === 409) {
      load();
      fail("Not saved: this policy was changed meanwhile. Your text is kept: review it against what is saved now, then save.");
      return;
    }
    fail(`Not saved: ${problem.line ? `line ${problem.line}: ` : ""}${problem.text}`);
    if (problem.line) show(problem);
  };
  const close = () => setDialog(null);
  const save = async () => {
    close();
    await put(path, { text: draft, etag: doc.etag }).then(() => finish("Saved. It is in force for every run that starts from now on."), refuse);
  };
  const undo = async (version) => {
    close();
    await post(`${path}/undo`, { version, etag: doc.etag }).then(() => finish("Undone: what it said before is in force again."), (e) => fail(e.message));
  };
  const drop = async () => {
    close();
    await remove(`${path}?${new URLSearchParams({ etag: doc.etag })}`).then(() => {
      drafts.delete(name.name);
      removed(name.name);
    }, refuse);
  };
  const history = [...(doc?.history ?? [])].sort((a, b) => b.version - a.version);
  const textOf = async (h) => (await get(`${path}/history/${encodeURIComponent(h.version)}`)).text;
  // The latest version that says something else: what the daemon goes back to.
  const askUndo = async () => {
    for (const h of history) {
      const text = await textOf(h);
      if (text !== doc.text) {
        setDialog({ title: "Undo the last save", before: doc.text, after: text, action: "Undo", run: () => undo(h.version) });
        return;
      }
    }
    fail("There is no earlier version.");
  };
  return {
    said, dialog, goto, show, close, history,
    review: () => policy.dirty && setDialog({ title: `Save ${visible(name.name)}`, before: doc.text, after: draft, action: "Save", run: save }),
    remove: () => setDialog({ title: `Remove ${visible(name.name)}`, before: doc.text, after: "", action: "Remove", run: drop }),
    undo: () => askUndo().catch((e) => fail(e.message)),
    compare: (h) => textOf(h).then((text) => setDialog({ title: `${moment(h.saved_ms)} and now`, before: text, after: doc.text }), (e) => fail(e.message)),
    bringBack: (h) => textOf(h).then(policy.setDraft, (e) => fail(e.message)),
  };
}

function PolicyView({ name, drafts, writable, changed, done }) {
  const policy = usePolicy(name, drafts, changed);
  const { doc, draft, dirty, error, setDraft } = policy;
  const act = useActions(name, policy, drafts, done);
  const findings = useLint(draft);

  useEffect(() => {
    const warn = (e) => e.preventDefault();
    if (dirty) addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [dirty]);
  if (error) return html`<${Failure} error=${error} retry=${policy.load} />`;
  if (!doc) return html`<p class="soft" role="status">Reading the policy …</p>`;
  const onKey = (e) => {
    if (e.key !== "s" || !(e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    act.review();
  };

  return html`<div class="policy">
    <div role="status">${act.said && html`<p class=${act.said.kind}>${visible(act.said.text)}</p>`}</div>
    <div class="panel" onKeyDown=${onKey}>
      <header><h2>${visible(name.name)}</h2>
        <span class="soft">${writable ? (dirty ? "changed, not saved" : "as saved") : "read only: the daemon may not write this file"}</span></header>
      <${Editor} label=${`Text of ${visible(name.name)}`} text=${draft} setText=${setDraft} marks=${marksOf(findings)} goto=${act.goto} readonly=${!writable} />
      <div class="buttons">
        <button type="button" class="main" disabled=${!dirty || !writable} onClick=${act.review}>Review and save</button>
        <button type="button" disabled=${!dirty} onClick=${() => setDraft(doc.text)}>Discard changes</button>
        <button type="button" disabled=${act.history.length === 0 || !writable || dirty} onClick=${act.undo}>Undo the last save</button>
        ${!name.isNew && html`<button type="button" class="danger" disabled=${!writable || dirty} onClick=${act.remove}>Remove</button>`}
      </div>
      <${Problems} findings=${findings} show=${act.show} />
    </div>
    <${CheckForm} text=${draft} show=${act.show} />
    <${History} entries=${act.history} compare=${act.compare} bringBack=${act.bringBack} />
    ${act.dialog && html`<${DiffDialog} ...${act.dialog} close=${act.close} />`}
  </div>`;
}

function PolicyList({ policies, chosen, choose, drafts }) {
  const [fresh, setFresh] = useState("");
  const create = (e) => {
    e.preventDefault();
    choose({ name: fresh.trim(), isNew: true });
    setFresh("");
  };
  return html`<nav class="choices" aria-label="Policies">
    <ul>${policies.map((p) => html`<li key=${p.name}>
      <button type="button" class="choice" aria-current=${chosen === p.name ? "true" : undefined} onClick=${() => choose({ name: p.name })}>
        <span>${visible(p.name)}</span>
        ${p.error ? html`<${Badge} tone="deny">broken<//>` : html`<${Badge} tone=${p.in_force ? "allow" : ""}>${p.in_force ? "in force" : "not in force"}<//>`}
        <span class="soft">${plural(p.rules ?? 0, "entry", "entries")}${drafts.has(p.name) ? ", not saved" : ""}</span>
      </button></li>`)}</ul>
    <form onSubmit=${create} aria-label="New policy">
      <label>New policy <input required value=${fresh} pattern="(custom/)?[A-Za-z0-9_.\\-]+" title="letters, digits, - _ .; custom/NAME is a file of rules" placeholder="name" autocomplete="off"
        onInput=${(e) => setFresh(e.target.value)} /></label>
      <button type="submit">Create</button>
    </form>
  </nav>`;
}

export function Policies() {
  const list = usePolicies();
  const [name, setName] = useState(null);
  const [gone, setGone] = useState("");
  const drafts = useRef(new Map()).current;
  const policies = list.data?.policies ?? [];
  const entry = policies.find((p) => p.name === name?.name);

  useEffect(() => {
    const first = policies.find((p) => p.name !== gone);
    if (!name && first) setName({ name: first.name });
  }, [list.data]);
  const done = {
    saved: (which) => {
      setGone("");
      if (name.isNew) setName({ name: which });
      list.reload();
    },
    removed: (which) => {
      setGone(which);
      setName(null);
      list.reload();
    },
  };

  return html`<div class="screen padded"><h1>Policies</h1>
    <p class="soft">A policy here limits every run; anything it does not list is forbidden everywhere. All of them must allow. What is saved is in force for what starts after it.</p>
    ${MODES[list.data?.mode] && html`<p class="problem">${MODES[list.data.mode]} It is <code>daemon.mode</code> in the daemon's configuration.</p>`}
    ${list.error && html`<${Failure} error=${list.error} retry=${list.reload} />`}
    ${entry?.error && html`<p class="problem" role="alert">This file is broken at line ${entry.error.line}: ${visible(entry.error.text)}. ${entry.last_good === null ? "No run starts until it is mended." : "Its last good version stays in force."}</p>`}
    <div role="status">${gone && html`<p class="done">${visible(gone)} is removed. Its history stays: <code>corral policy undo ${visible(gone)}</code> brings it back.</p>`}</div>
    <div class="split">
      <${PolicyList} policies=${policies} chosen=${name?.name} choose=${setName} drafts=${drafts} />
      ${name ? html`<${PolicyView} key=${name.name} name=${name} drafts=${drafts} done=${done}
          writable=${name.isNew || entry?.is_writable !== false} changed=${entry?.modified_ms} />`
        : list.data && html`<${Panel} title="No policies yet"><p>Type a name at “New policy”. It is in force as soon as it is saved.</p><//>`}
    </div></div>`;
}
