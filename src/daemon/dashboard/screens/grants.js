// SPDX-License-Identifier: Apache-2.0
// Grants: what sandboxes may do beyond their policies, for how long, and who said so. A grant is in
// force at the sandbox's next call, and so is its end.
import { useEffect, useState } from "preact/hooks";
import { get, post, remove } from "/api.js";
import { ago, name, program, span, visible } from "/format.js";
import { follow } from "/live.js";
import { Command, Failure, html, Panel, useLoad, useTick } from "/parts.js";
import { state } from "/store.js";
import { actionGroup, DURATIONS, GRANT_KINDS, grantOf, GROUPS, isLiteral, optionOf, scopeWords } from "/words.js";

const BY = { answer: "an answer", api: "the page or the API", "command line": "the command line" };
const useGrants = follow("/api/grants", ["grant", "sandbox"]);

const sandboxTitle = (s) => `${program(s.command)}${s.name ? `, ${name(s.name)}` : ""} (${visible(s.id).slice(0, 8)})`;

function Ceiling({ id }) {
  const one = useLoad(async () => (id ? get(`/api/sandboxes/${encodeURIComponent(id)}`) : {}), [id]);
  const ceiling = one.data?.ceiling;
  if (!ceiling) return null;
  const lines = Array.isArray(ceiling) ? ceiling : [ceiling];
  const words = (line) => (typeof line === "string" ? name(line)
    : line.action ? scopeWords(line.action, line.target) : name(JSON.stringify(line)));
  return html`<details class="ceiling">
    <summary>What can be granted to it at most</summary>
    ${lines.length === 0 && one.data.name === "corrald-enclave"
      ? html`<p>Nothing: its policy grants and asks about nothing, and there is no <code>enclave-ceiling.yaml</code>. That file, in the folder of Corral's configuration, says what can be granted at most.
          Write for example <code>fs: {read: ["/srv/project/**"]}</code> into <code>~/.config/corral/enclave-ceiling.yaml</code>, and start the daemon again.</p>`
      : lines.length === 0
      ? html`<p>Nothing: it was started without a ceiling. Start it with <code>--ceiling FILE</code>, or with <code>--ask-denied</code>, to grant more while it runs.</p>`
      : html`<p class="soft">A grant lies below this ceiling: what its policies allow or ask about, or what <code>--ceiling FILE</code>, for calls of the API <code>enclave-ceiling.yaml</code>, names. What a policy denies stays denied.
          A sandbox that was started with <code>corral run --ask-denied</code> can be granted whatever no policy denies.</p><ul>${lines.map((line, n) => html`<li key=${n}>${words(line)}</li>`)}</ul>`}
  </details>`;
}

// What an Allow… asked for. A sandbox that has ended gets it at its next start.
function Wanted({ wanted, runs }) {
  const option = optionOf(wanted.action, wanted.target);
  if (!wanted.target) return null;
  return html`<${Panel} title="Allow what was denied"><div class="pad">
    <p>${runs ? "It runs: grant it below, for as long as you choose." : "It has ended. At its next start this option allows it:"} <strong>${scopeWords(wanted.action, wanted.target)}</strong></p>
    ${!runs && option && html`<${Command} text=${`corral run ${option} …`} />`}
    <p class="soft">${runs ? "Files and programs of a command that runs are fixed: a grant of these is for its calls of the broker, or for its next start." : "For every run of a policy, add it to the policy's file."}</p></div><//>`;
}

function AddForm({ sandboxes, chosen, setChosen, added, wanted }) {
  const [kind, setKind] = useState(GRANT_KINDS.find((k) => k.action === wanted.action && !k.id.endsWith("-folder"))?.id ?? GRANT_KINDS[0].id);
  const [typed, setTyped] = useState(wanted.target);
  const [seconds, setSeconds] = useState(DURATIONS[0].seconds);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const grant = grantOf(kind, typed);
  const form = GRANT_KINDS.find((k) => k.id === kind);
  const change = (set) => (e) => {
    set(e.target.value);
    setError("");
  };

  const submit = async (e) => {
    e.preventDefault();
    if (busy) return;
    if (grant.error) {
      setError(grant.error);
      return;
    }
    setBusy(true);
    try {
      await post(`/api/sandboxes/${encodeURIComponent(chosen)}/grants`,
        { action: grant.action, target: grant.target, seconds: Number(seconds), ...(grant.target === wanted.target ? { exact: true } : {}) });
      setTyped("");
      setError("");
      added(`Granted: ${scopeWords(grant.action, grant.target)}. It is in force from the next call on.`);
    } catch (failed) {
      setError(failed.message);
    }
    setBusy(false);
  };

  return html`<form class="panel form" onSubmit=${submit} aria-label="Allow more">
    <header><h2>Allow more</h2></header>
    <div class="fields">
      <label>Sandbox
        <select value=${chosen} onChange=${change(setChosen)}>
          ${sandboxes.map((s) => html`<option key=${s.id} value=${s.id}>${sandboxTitle(s)}</option>`)}
        </select></label>
      <label>What
        <select value=${kind} onChange=${change(setKind)}>
          ${GRANT_KINDS.map((k) => html`<option key=${k.id} value=${k.id}>${k.text}</option>`)}
        </select></label>
      <label class="wide">${form.label}
        <input value=${typed} onInput=${change(setTyped)} placeholder=${form.example} spellcheck=${false}
          autocomplete="off" autocapitalize="off" aria-invalid=${Boolean(error)} aria-describedby="grant-words" /></label>
      <label>How long
        <select value=${String(seconds)} onChange=${change(setSeconds)}>
          ${DURATIONS.map((d) => html`<option key=${d.seconds} value=${String(d.seconds)}>${d.text}</option>`)}
        </select></label>
      <button type="submit" class="main" disabled=${busy}>Grant</button>
    </div>
    <p id="grant-words" class="soft">${typed && !grant.error
      ? `It may then ${scopeWords(grant.action, grant.target)}, ${DURATIONS.find((d) => d.seconds === Number(seconds))?.text}.`
      : "What it may then do is said here in words before you grant it."}</p>
    ${error && html`<p class="problem" role="alert">${visible(error)}</p>`}
    <${Ceiling} id=${chosen} />
  </form>`;
}

function GrantRow({ grant, now, revoke }) {
  const words = scopeWords(grant.action, grant.target);
  return html`<tr>
    <td class="grant-words">${words}</td>
    <td>${grant.expires_ms ? (grant.expires_ms > now ? `${span(grant.expires_ms - now)} left` : "expired") : "as long as it runs"}</td>
    <td>${BY[grant.by] ?? visible(grant.by)}${grant.since_ms ? `, ${ago(grant.since_ms, now)}` : ""}</td>
    <td><button type="button" class="danger" aria-label=${`Revoke: ${words}`} onClick=${() => revoke(grant, words)}>Revoke</button></td>
  </tr>`;
}

// The grants of one sandbox (or of a policy), by kind.
function GrantTable({ title, grants, now, revoke }) {
  return html`<${Panel} title=${title}>
    ${grants.length === 0 && html`<p class="soft">Nothing beyond its policy.</p>`}
    ${grants.length > 0 && html`<table class="grants">
      <thead><tr><th scope="col">It may</th><th scope="col">For</th><th scope="col">Granted by</th><th scope="col"><span class="unseen">Revoke</span></th></tr></thead>
      ${GROUPS.map(({ id, title: name }) => {
        const rows = grants.filter((g) => actionGroup(g.action) === id);
        return rows.length > 0 && html`<tbody key=${id}>
          <tr><th colspan="4" scope="rowgroup">${name}</th></tr>
          ${rows.map((g) => html`<${GrantRow} key=${g.id} grant=${g} now=${now} revoke=${revoke} />`)}
        </tbody>`;
      })}</table>`}
  <//>`;
}

export function Grants({ query }) {
  const wanted = { sandbox: query?.get("sandbox") ?? "", action: query?.get("action") ?? "", target: query?.get("target") ?? "" };
  // An address can be made by anyone: what would be a pattern is not filled in.
  if (!isLiteral(wanted.action, wanted.target)) wanted.action = wanted.target = "";
  const list = useGrants();
  // The times that are left are drawn by the second; so are sandboxes that come and go.
  useTick(1000);
  const live = state.sandboxes;
  const [chosen, setChosen] = useState(wanted.sandbox);
  const [said, setSaid] = useState(null);
  const sandboxes = [...live.values()];
  const grants = list.data?.grants ?? [];
  const others = grants.filter((g) => !live.has(g.sandbox));
  const now = Date.now();

  useEffect(() => {
    if (!live.has(chosen)) setChosen(sandboxes[0]?.id ?? "");
  });

  const revoke = async (grant, words) => {
    try {
      await remove(`/api/grants/${encodeURIComponent(grant.id)}`);
      setSaid({ text: `Revoked: ${words}. The next call is denied again.` });
    } catch (error) {
      setSaid({ error });
    }
    list.reload();
  };
  const added = (text) => {
    setSaid({ text });
    list.reload();
  };

  return html`<div class="screen padded"><h1>Grants</h1>
    <p class="soft">What sandboxes may do beyond their policies. A grant is in force from the next call on, and so is its end.</p>
    ${list.error && html`<${Failure} error=${list.error} retry=${list.reload} />`}
    <div role="status">${said?.text && html`<p class="done">${said.text}</p>`}</div>
    ${said?.error && html`<${Failure} error=${said.error} />`}
    <${Wanted} wanted=${wanted} runs=${live.has(wanted.sandbox)} />
    ${sandboxes.length === 0
      ? html`<${Panel} title="No sandbox runs"><p>Grants are given to sandboxes that run. Start one:</p><${Command} text="corral run --broker --policy policy.yaml -- your-agent" /><//>`
      : html`<${AddForm} key=${`${wanted.action} ${wanted.target}`} sandboxes=${sandboxes} chosen=${chosen} setChosen=${setChosen} added=${added} wanted=${live.has(wanted.sandbox) ? wanted : { action: "", target: "" }} />`}
    ${sandboxes.filter((s) => s.id === chosen || grants.some((g) => g.sandbox === s.id)).map((s) => html`<${GrantTable} key=${s.id} title=${sandboxTitle(s)} now=${now} revoke=${revoke}
      grants=${grants.filter((g) => g.sandbox === s.id)} />`)}
    ${others.length > 0 && html`<${GrantTable} title="Policies" grants=${others} now=${now} revoke=${revoke} />`}</div>`;
}
