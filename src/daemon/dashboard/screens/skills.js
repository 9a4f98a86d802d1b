// SPDX-License-Identifier: Apache-2.0
// Skills: what each could do, what in its files is a sign of risk, what changed since it was approved, and the
// approval. What is approved is the content that was shown: its digest goes with the answer, and the daemon refuses
// if the skill has another one by then.
import { useEffect, useState } from "preact/hooks";
import { get, post } from "/api.js";
import { plural, visible } from "/format.js";
import { follow } from "/live.js";
import { Badge, Dialog, Empty, Failure, html, Panel, Text, Time, useLoad } from "/parts.js";

const useSkills = follow("/api/skills", ["skill"]);
const STATES = {
  approved: { tone: "allow", text: "approved" },
  changed: { tone: "deny", text: "changed since it was approved" },
  new: { tone: "ask", text: "not approved" },
  gone: { tone: "", text: "its folder is gone" },
  unreadable: { tone: "deny", text: "cannot be read" },
};
const RISKS = { low: "allow", medium: "ask", high: "deny", critical: "deny" };
const SEVERITIES = ["high", "medium", "low"];
const pathOf = (id) => `/api/skills/${encodeURIComponent(id)}`;
// One that does not say its name is called by its folder.
const nameOf = (skill) => visible(skill.name) || visible(skill.path?.split("/").pop());
const Mono = ({ value }) => html`<span class="mono">${visible(value)}</span>`;
const Risk = ({ value }) => (value ? html`<${Badge} tone=${RISKS[value] ?? ""}>${visible(value)} risk<//>` : null);
const State = ({ value }) => html`<${Badge} tone=${STATES[value]?.tone ?? ""}>${STATES[value]?.text ?? visible(value)}<//>`;
const Lines = ({ lines, kind = "" }) => html`<ul class=${kind}>${lines.map((line, n) => html`<li key=${n}>${visible(line)}</li>`)}</ul>`;

function Findings({ skill }) {
  const findings = [...(skill.findings ?? [])].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  return html`<${Panel} title="Signs of risk in its files">
    ${findings.length === 0 ? html`<p class="soft">None were found. That is not a proof.</p>` : html`<ul class="signs">${findings.map((f, n) => html`<li key=${n}>
      <${Badge} tone=${RISKS[f.severity] ?? ""}>${visible(f.severity)}<//>
      <div><p>${visible(f.text)}</p>
        <p class="soft"><${Text} value=${f.file} max=${120} />${f.line > 0 ? `, line ${f.line}` : ""}</p>
        ${f.excerpt && html`<pre class="excerpt">${visible(f.excerpt)}</pre>`}
        <p class="soft">Check ${visible(f.check)}.${f.stopped ? " Its permissions stop this." : ""}</p></div>
    </li>`)}</ul>`}
    ${skill.more_findings && html`<p>There are more than can be listed.</p>`}
  <//>`;
}

// What a section is called where there is nothing in it.
const NOT = { "What it could read": "read any file", "What it could change": "change any file", "What it could reach": "reach any host",
  "What it could run": "run any program", "Variables it sees": "see any variable", "Services it could use": "use any service" };

// "What it could read" and so on; what it could not do at all is said in one line.
function Permissions({ sections }) {
  const is_nothing = (s) => s.lines.every((line) => /^nothing/.test(line));
  const not = sections.filter((s) => is_nothing(s) && NOT[s.title]).map((s) => NOT[s.title]);
  return html`<${Panel} title="What it could do">
    <div class="sections">${sections.filter((s) => !is_nothing(s)).map((s) => html`<div key=${s.title}>
      <h3>${visible(s.title)}</h3><${Lines} lines=${s.lines} /></div>`)}</div>
    ${not.length > 0 && html`<p class="soft">It could not ${not.join(", nor ")}.</p>`}
  <//>`;
}

const CHANGES = { added: { tone: "ask", text: "new" }, removed: { tone: "", text: "gone" }, changed: { tone: "deny", text: "changed" } };

// Files and permissions that are not as they were approved.
function Changes({ id, digest }) {
  const { data, error, reload } = useLoad(() => get(`${pathOf(id)}/changes`), [id, digest]);
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!data) return null;
  const { added, removed } = data.permissions;
  return html`<${Panel} title="What changed since it was approved" class="changed">
    ${!data.files_known && html`<p>Which files changed is not known: what it held was not recorded. The next approval records it.</p>`}
    ${data.files.length > 0 && html`<ul class="changes" aria-label="Files">${data.files.map((f, n) => html`<li key=${n}>
      <${Badge} tone=${CHANGES[f.change]?.tone ?? ""}>${CHANGES[f.change]?.text ?? visible(f.change)}<//>
      <span><${Mono} value=${f.path} />${f.was && html` <span class="soft">was a ${visible(f.was)}, is a ${visible(f.kind)} now</span>`}</span></li>`)}</ul>`}
    ${data.more_files && html`<p>There are more than can be listed.</p>`}
    ${!data.permissions_known && html`<p>Which permissions it had is not known.</p>`}
    ${added.length > 0 && html`<div><h3>It could now also</h3><${Lines} lines=${added} kind="more" /></div>`}
    ${removed.length > 0 && html`<div><h3>It could no longer</h3><${Lines} lines=${removed} kind="less" /></div>`}
    ${data.permissions_known && added.length + removed.length === 0 && html`<p class="soft">Its permissions are the same.</p>`}
  <//>`;
}

// skill: as it was on the screen when the button was pressed.
function ApproveDialog({ skill, close, approved, again }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const approve = async () => {
    setBusy(true);
    try {
      await post(`${pathOf(skill.id)}/approve`, { digest: skill.digest });
      approved();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const stale = error?.status === 409;
  return html`<${Dialog} title=${`Approve ${nameOf(skill)}?`} onClose=${close}>
    <p>It may then run with the permissions that are listed, until one of its files changes.</p>
    <${Lines} lines=${skill.reasons ?? []} kind="reasons" />
    ${skill.state === "changed" && html`<${Changes} id=${skill.id} digest=${skill.digest} />`}
    <p class="soft">Exactly this content: <span class="mono digest">${visible(skill.digest)}</span></p>
    ${error && html`<${Failure} error=${stale ? { message: "The skill changed after you looked at it. Nothing was approved." } : error} />`}
    <form method="dialog" class="actions">
      ${stale ? html`<button type="button" class="main" onClick=${again}>Look again</button>`
        : html`<button type="button" class="main" disabled=${busy} onClick=${approve}>Approve</button>`}
      <button>Cancel</button>
    </form>
  <//>`;
}

function SkillView({ entry, done }) {
  const { data: skill, error, reload } = useLoad(() => get(pathOf(entry.id)), [entry.id, entry.state, entry.digest]);
  const [asked, setAsked] = useState(null);
  if (entry.state === "gone") return html`<${Panel} title=${nameOf(entry)}><p><${Mono} value=${entry.path} /> was approved and is not there any more.</p><//>`;
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!skill) return html`<p class="soft" role="status">Its files are read …</p>`;
  const finish = (text) => {
    setAsked(null);
    reload();
    done(text);
  };
  return html`<div class="skill">
    <${Panel} title=${`${nameOf(skill)}${skill.version ? ` ${visible(skill.version)}` : ""}`}
        actions=${skill.state !== "approved" && html`<button type="button" class="main" onClick=${() => setAsked(skill)}>Approve…</button>`}>
      <p class="badges"><${State} value=${skill.state} /> <${Risk} value=${skill.risk} />
        ${skill.risk_confined !== skill.risk && html`<span class="soft">${visible(skill.risk_confined)}, where Corral enforces its permissions</span>`}</p>
      ${skill.description && html`<p>${visible(skill.description)}</p>`}
      <${Lines} lines=${skill.reasons ?? []} kind="reasons" />
      <dl class="ask-facts">
        <div><dt>Folder</dt><dd><${Mono} value=${skill.path} /></dd></div>
        ${skill.author && html`<div><dt>By</dt><dd>${visible(skill.author)}</dd></div>`}
        <div><dt>Content</dt><dd><${Text} value=${skill.digest} max=${18} /></dd></div>
        ${skill.approved_digest && html`<div><dt>Approved <${Time} ms=${skill.approved_ms} /></dt>
          <dd>${skill.approved_digest === skill.digest ? "this content" : html`<${Text} value=${skill.approved_digest} max=${18} />`}</dd></div>`}
        ${skill.outside_digest?.length > 0 && html`<div><dt>It may write, so not checked</dt><dd><${Mono} value=${skill.outside_digest.join(", ")} /></dd></div>`}
      </dl>
      ${skill.fault && html`<p class="problem">It cannot run as it is: ${visible(skill.fault)}</p>`}
    <//>
    ${skill.state === "changed" && html`<${Changes} id=${skill.id} digest=${skill.digest} />`}
    <${Permissions} sections=${skill.sections ?? []} />
    <${Findings} skill=${skill} />
    ${asked && html`<${ApproveDialog} skill=${asked} close=${() => setAsked(null)} again=${() => finish("")}
      approved=${() => finish(`${nameOf(asked)} is approved as it was shown.`)} />`}
  </div>`;
}

const Choice = ({ skill, chosen }) => html`<a class="choice" href=${`#/skills/${encodeURIComponent(skill.id)}`} aria-current=${chosen ? "true" : undefined}>
  <span>${nameOf(skill)}</span> <${Risk} value=${skill.risk} />
  <span class="soft">${STATES[skill.state]?.text ?? visible(skill.state)}${skill.n_findings ? `, ${plural(skill.n_findings, "finding")}` : ""}</span></a>`;

export function Skills({ rest }) {
  const list = useSkills();
  const [said, setSaid] = useState("");
  const skills = list.data?.skills ?? [];
  const chosen = skills.find((s) => s.id === rest) ?? skills[0];
  useEffect(() => setSaid(""), [rest]);
  const done = (text) => {
    setSaid(text);
    list.reload();
  };
  return html`<div class="screen padded">
    <header class="title"><h1>Skills</h1><button type="button" onClick=${() => done("")}>Look again</button></header>
    <p class="soft">What the skills of your agents could do. A change to any of a skill's files ends its approval.</p>
    ${list.error && html`<${Failure} error=${list.error} retry=${list.reload} />`}
    <div role="status">${said && html`<p class="done">${said}</p>`}</div>
    ${!list.data && !list.error && html`<p class="soft" role="status">Skills are read …</p>`}
    ${list.data && skills.length === 0 && html`<${Panel}><${Empty} title="No skills were found">
        <p>Folders with a <code>SKILL.md</code> in <code>~/.claude/skills</code>, <code>~/.codex/skills</code> and the like are listed here,
        and those below the folders that <code>skills</code> in <code>daemon.json</code> names.</p><//><//>`}
    ${chosen && html`<div class="split">
      <nav class="choices" aria-label="Skills"><ul>${skills.map((s) => html`<li key=${s.id}><${Choice} skill=${s} chosen=${s === chosen} /></li>`)}</ul>
        ${list.data.more && html`<p class="soft">There are more than can be listed.</p>`}</nav>
      <${SkillView} key=${chosen.id} entry=${chosen} done=${done} />
    </div>`}</div>`;
}
