// SPDX-License-Identifier: Apache-2.0
// The vault: what is in it, where each secret may go and when it was used last. Never a value: the daemon has none. A
// passphrase is not typed here either: it would pass through the process that parses HTTP.
import { useEffect, useState } from "preact/hooks";
import { get, post } from "/api.js";
import { follow } from "/live.js";
import { Badge, Command, Decision, Empty, Failure, Panel, Text, Time, html, useLoad, useTick } from "/parts.js";
import { plural, visible } from "/format.js";

const useVault = follow("/api/vault", ["vault"]);
const USES = 200; // records of the log that are asked for
const LOOK_MS = 15_000; // its time can be over, and a terminal can lock it

const ms = (seconds) => (seconds ? seconds * 1000 : 0);
// vault.use:NAME, vault.grant:NAME …
const nameOf = (target) => String(target ?? "").replace(/^vault\.[a-z-]+:?/, "");
const verbOf = (target) => String(target ?? "").match(/^vault\.([a-z-]+)/)?.[1] ?? "";

// The newest use of each, of those that the log was asked for.
export function lastUses(records) {
  const last = new Map();
  for (const record of records ?? []) if (verbOf(record.target) === "use") last.set(nameOf(record.target), Date.parse(record.time));
  return last;
}

function State({ vault, act, error, busy }) {
  useTick(1000);
  const stored = (vault.keys ?? []).filter((kind) => kind !== "passphrase");
  const wait = vault.wait > 0 && html`<p>After wrong passphrases, the next one has to wait ${plural(vault.wait, "second")}.</p>`;
  if (vault.state === "absent")
    return html`<${Panel} title="State"><${Empty} title="There is no vault"><p>It keeps tokens so that commands use them and never see them. To make one:</p><${Command} text="corral vault init" /><//><//>`;
  return html`<${Panel} title="State" actions=${vault.state === "unlocked"
      ? html`<button onClick=${() => act("lock")} disabled=${busy}>Lock</button>`
      : stored.length > 0 && html`<button onClick=${() => act("unlock")} disabled=${busy}>Unlock</button>`}>
    ${error && html`<${Failure} error=${error} />`}
    <div class="pad">${vault.state === "unlocked"
      ? html`<p><${Badge} tone="allow">open<//>${vault.until ? html` until <${Time} ms=${ms(vault.until)} />` : ""}</p>`
      : html`<p><${Badge} tone="ask">locked<//></p>
        ${stored.length > 0 ? html`<p>${visible(stored.join(", "))} can open it. With its passphrase, in a terminal:</p>` : html`<p>Its passphrase opens it. It is typed in a terminal, and not here:</p>`}
        <${Command} text="corral vault unlock" />${wait}`}</div>
  <//>`;
}

const Grants = ({ grants, name }) => grants.length === 0
  ? html`<span class="soft">nowhere; to grant it: </span><${Command} text=${`corral vault grant ${name} HOST:PORT`} />`
  : html`<ul class="plain">${grants.map((g) => html`<li key=${g.host + g.in + g.to}><${Text} value=${g.host} max=${60} /> <span class="soft">in ${visible(g.in)}${g.to ? html`, for <${Text} value=${g.to} max=${40} />` : ""}${g.programs ? html`, by <${Text} value=${g.programs.replaceAll(",", ", ")} max=${120} /> alone` : ""}</span></li>`)}</ul>`;

function Secrets({ secrets, uses }) {
  const last = lastUses(uses.data?.records);
  return html`<${Panel} title="Secrets" note=${plural(secrets.length, "secret")}>
    ${secrets.length === 0 ? html`<${Empty} title="The vault is empty"><p>To add a secret:</p><${Command} text="corral vault set GITHUB_TOKEN" /><//>`
      : html`<div class="scroll" tabindex="0" role="group" aria-label="Table of secrets"><table>
      <thead><tr><th scope="col">Name</th><th scope="col">May go to</th><th scope="col">Last use</th><th scope="col">Changed</th><th scope="col">Expires</th></tr></thead>
      <tbody>${secrets.map((s) => html`<tr key=${s.name}>
        <th scope="row"><${Text} value=${s.name} max=${60} />${s.source ? html`<div class="soft">from <${Text} value=${s.source} max=${80} /></div>` : null}</th>
        <td><${Grants} grants=${s.grants ?? []} name=${s.name} /></td>
        <td>${last.has(s.name) ? html`<${Time} ms=${last.get(s.name)} />` : html`<span class="soft">not lately</span>`}</td>
        <td><${Time} ms=${ms(s.changed)} /></td>
        <td>${s.expires ? html`<${Time} ms=${ms(s.expires)} />${ms(s.expires) < Date.now() ? html` <${Badge} tone="deny">over<//>` : null}` : html`<span class="soft">never</span>`}</td>
      </tr>`)}</tbody></table></div>`}
  <//>`;
}

function Uses({ uses }) {
  const rows = [...(uses.data?.records ?? [])].reverse().slice(0, 50);
  return html`<${Panel} title="Uses and changes" note=${rows.length ? "from the log, newest first" : ""}>
    ${uses.error && html`<${Failure} error=${uses.error} retry=${uses.reload} />`}
    ${rows.length === 0 && !uses.busy && html`<p class="soft pad">There is no record yet.</p>`}
    ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="group" aria-label="Table of uses"><table>
      <thead><tr><th scope="col">Time</th><th scope="col">Decision</th><th scope="col">What</th><th scope="col">Secret</th><th scope="col">By</th><th scope="col">For</th></tr></thead>
      <tbody>${rows.map((r) => html`<tr key=${r.number}><td><${Time} ms=${Date.parse(r.time)} /></td><td><${Decision} value=${r.decision} /></td><td>${visible(verbOf(r.target))}</td>
        <td><${Text} value=${nameOf(r.target)} max=${60} /></td><td><${Text} value=${r.program} max=${40} /></td><td>${visible(r.reason)}</td></tr>`)}</tbody></table></div>`}
  <//>`;
}

export function Vault() {
  const vault = useVault();
  const uses = useLoad(() => get("/api/audit", { action: "service", target: "vault.*", limit: USES, requests: "no" }));
  const [{ error, busy }, set] = useState({ error: null, busy: false });
  useEffect(() => {
    const timer = setInterval(() => document.hidden || vault.reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const act = async (verb) => {
    set({ error: null, busy: true });
    try {
      await post(`/api/vault/${verb}`, {});
      set({ error: null, busy: false });
    } catch (error) {
      set({ error, busy: false });
    }
    vault.reload();
    uses.reload();
  };
  const data = vault.data;
  return html`<div class="screen vault">
    <h1>${!data ? "Vault" : data.state === "unlocked" ? plural(data.secrets.length, "secret") : data.state === "locked" ? "The vault is locked" : "There is no vault"}</h1>
    ${vault.error && html`<${Failure} error=${vault.error} retry=${vault.reload} />`}
    ${data && html`<${State} vault=${data} act=${act} error=${error} busy=${busy} />
      ${data.state === "unlocked" && html`<${Secrets} secrets=${data.secrets} uses=${uses} />`}
      ${data.state !== "absent" && html`<${Uses} uses=${uses} />`}`}
  </div>`;
}
