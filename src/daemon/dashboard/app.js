// SPDX-License-Identifier: Apache-2.0
// The frame around the screens: who may see it, which screen the address asks for, keys, light and dark.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isKnown, login } from "/api.js";
import { begin, state, useStore } from "/store.js";
import { Command, Dialog, html, useTick } from "/parts.js";
import { address as parse, span, visible } from "/format.js";
import { Now } from "/screens/now.js";
import { Sandbox } from "/screens/sandbox.js";
import { Audit } from "/screens/audit.js";
import { Security } from "/screens/security.js";
import { Grants } from "/screens/grants.js";
import { Questions } from "/screens/questions.js";
import { Policies } from "/screens/policies.js";
import { Skills } from "/screens/skills.js";
import { Vault } from "/screens/vault.js";

// One row for each screen. In the navigation unless hidden; key: behind g.
const screens = [
  { path: "now", name: "Now", view: Now, key: "n", icon: "M3 12h4l3-8 4 16 3-8h4" },
  { path: "sandbox", name: "Sandbox", view: Sandbox, hidden: true, parent: "now" },
  { path: "questions", name: "Questions", view: Questions, key: "q", count: (s) => s.questions?.length, icon: "M9 9a3 3 0 1 1 4.2 2.7c-.8.4-1.2 1-1.2 1.9M12 17.5h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18" },
  { path: "grants", name: "Grants", view: Grants, key: "r", icon: "M14 10a4.5 4.5 0 1 1 0 5M14 12.5H3M3 12.5v3.5M7 12.5v2.5" },
  { path: "policies", name: "Policies", view: Policies, key: "p", count: (s) => s.broken.length, icon: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6" },
  { path: "skills", name: "Skills", view: Skills, key: "k", icon: "M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8" },
  { path: "vault", name: "Vault", view: Vault, key: "v", icon: "M5 4h14v16H5zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M12 9.5V7M8 20v1.5M16 20v1.5" },
  { path: "audit", name: "Audit", view: Audit, key: "a", icon: "M5 3h14v18H5zM9 8h6M9 12h6M9 16h4" },
  { path: "security", name: "Security", view: Security, key: "s", icon: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z", count: (s) => s.findings?.length },
];

function useAddress() {
  const [address, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const change = async () => {
      // A link was pasted into this tab.
      if (location.hash.startsWith("#code=") && !(await login())) begin();
      set(parse(location.hash));
    };
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return address;
}

// Light, dark, or what the system says.
const THEMES = ["auto", "light", "dark"];
function useTheme() {
  const [theme, set] = useState(() => localStorage.getItem("corral-theme") ?? "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("corral-theme", theme);
    dispatchEvent(new Event("theme"));
  }, [theme]);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const change = () => dispatchEvent(new Event("theme"));
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  return [theme, () => set(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length])];
}

// g and a letter go to a screen, / to the search, ? shows the keys.
function useKeys(help) {
  useEffect(() => {
    let waits = false;
    const press = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.isContentEditable) return;
      const screen = waits && screens.find((s) => s.key === e.key);
      waits = e.key === "g";
      if (screen) location.hash = `#/${screen.path}`;
      else if (e.key === "?") help(true);
      else if (e.key === "/" && document.querySelector("[data-search]")) document.querySelector("[data-search]").focus();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function Help({ onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys">
      ${screens.filter((s) => s.key).map((s) => html`<dt><kbd>g</kbd> <kbd>${s.key}</kbd></dt><dd>${s.name}</dd>`)}
      <dt><kbd>/</kbd></dt><dd>search</dd>
      <dt><kbd>Tab</kbd></dt><dd>the next control; in a list the arrow keys scroll</dd>
      <dt><kbd>?</kbd></dt><dd>these keys</dd>
    </dl>
  <//>`;
}

function Link() {
  const s = useStore();
  useTick(5000);
  const words = { live: "Live", wait: "Connecting…", lost: "Reconnecting…", out: "Signed out" };
  return html`<div class="link ${s.link}" role="status">
    <span class="dot" aria-hidden="true"></span>
    <span>${words[s.link]}</span>
    ${s.link === "live" && s.status && html`<span class="soft">corrald ${visible(s.status.version)}, up ${span(Date.now() - s.status.started_ms)}</span>`}
    ${s.link === "lost" && html`<span class="soft">for ${span(Date.now() - s.since)}; sandboxes go on without the daemon</span>`}
  </div>`;
}

// The tab has no key, or it is not good any more.
function Door({ error, isOut }) {
  return html`<main class="door">
    <img src="/icon.svg" alt="" width="56" height="56" />
    <h1>${error ? "This link does not work" : isOut ? "Open this page again" : "Open this page from a terminal"}</h1>
    ${error && html`<p role="alert">${visible(error.message)}</p>`}
    ${!error && isOut && html`<p role="alert">The daemon was started again, or another program has taken its port. This tab's key is good for one start of the daemon.</p>`}
    <p class="soft">A link works once, in one tab, until it is loaded again. This command makes a new one:</p>
    <${Command} text="corral dashboard" />
  </main>`;
}

function App({ problem }) {
  const s = useStore();
  const address = useAddress();
  const [theme, turn] = useTheme();
  const [help, setHelp] = useState(false);
  useKeys(setHelp);
  const screen = screens.find((row) => row.path === address.path) ?? screens[0];
  const asks = s.questions?.length ?? 0;
  useEffect(() => {
    document.title = `${asks ? `(${asks}) ` : ""}${screen.name} · Corral`;
  }, [screen, asks]);
  if (!isKnown() || s.link === "out") return html`<${Door} error=${problem} isOut=${s.link !== "wait"} />`;
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById("main").focus(); }}>Skip to content</a>
    <nav class="rail" aria-label="Screens">
      <a class="brand" href="#/now"><img src="/icon.svg" alt="" width="26" height="26" />Corral</a>
      <ul>${screens.filter((row) => !row.hidden).map((row) => html`<li><a href=${`#/${row.path}`} aria-current=${row === screen || row.path === screen.parent ? "page" : undefined}>
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d=${row.icon} /></svg><span>${row.name}</span>
        ${row.count?.(s) ? html`<span class="count">${row.count(s)}</span>` : null}</a></li>`)}</ul>
      <div class="foot">
        <${Link} />
        <button class="quiet" onClick=${turn} title="Light, dark, or as the system is">${{ auto: "◐ system", light: "☀ light", dark: "☾ dark" }[theme]}</button>
        <button class="quiet" onClick=${() => setHelp(true)}>? keys</button>
      </div>
    </nav>
    <main id="main" tabindex="-1"><${screen.view} key=${screen.path + address.rest} rest=${address.rest} query=${address.query} /></main>
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

const problem = await login();
if (isKnown()) begin();
render(html`<${App} problem=${problem} />`, document.getElementById("app"));
// For the tests of a browser: nothing in it is secret to the page.
globalThis.corral = { state };
