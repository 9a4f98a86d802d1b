// SPDX-License-Identifier: Apache-2.0
// The daemon, over HTTP. Each request is proved by this tab's key, and each answer by the daemon (proof.js): while
// the daemon is away, another program may hold its port. For the headers events come by fetch(), as an EventSource
// has none.
import { begin as beginLogin } from "/proof.js";

export class ApiError extends Error {
  constructor(status, body) {
    super(typeof body?.error === "string" ? body.error : `the daemon answered ${status}`);
    this.status = status; // 0: it did not answer
    this.body = body ?? {};
    this.hint = body?.hint ?? null;
  }
}

let tab = null; // in memory alone: a page that is loaded again needs a new link
let isLive = false; // events come from the daemon
export const isKnown = () => tab !== null;
export const forget = () => (tab = null);

const STRANGE = "this tab is not known any more: the daemon was started again, or another program has taken its port";
const encoder = new TextEncoder();

async function go(url, init) {
  try {
    return await fetch(url, { cache: "no-store", credentials: "omit", redirect: "error", ...init });
  } catch {
    throw new ApiError(0, { error: "the daemon does not answer" });
  }
}

// Proves that this tab knows the link's secret, which leaves the address bar, and so the history, first.
// Returns the error if there is one; null otherwise.
export async function login() {
  const secret = /^#code=([0-9a-f]{64})$/.exec(location.hash)?.[1];
  if (!secret) return null;
  history.replaceState(null, "", location.pathname);
  try {
    const link = await beginLogin(secret);
    const headers = { "Content-Type": "application/json" };
    const response = await go("/api/login", { method: "POST", headers, body: JSON.stringify(link.body) });
    const answer = await response.json().catch(() => null);
    if (!response.ok) throw new ApiError(response.status, answer);
    tab = await link.finish(answer ?? {});
    if (!tab) throw new ApiError(0, { error: "another program answers at the daemon's port" });
    return null;
  } catch (error) {
    return error;
  }
}

// One request, proved: {response, bytes}; bytes is null for a stream. Who answers without a proof is not the daemon
// that this tab knows. But corrald may have started its reader of HTTP again, which counts anew and says so.
async function ask(method, path, { body, headers, signal } = {}, again = true) {
  const mine = tab;
  if (!mine) throw new ApiError(401, { error: STRANGE });
  const url = new URL(path, location.href);
  const sent = body === undefined ? new Uint8Array() : encoder.encode(JSON.stringify(body));
  const host = `${location.hostname}:${location.port || 80}`;
  const claim = await mine.prove({ method, host, path: url.pathname, query: url.search.slice(1), body: sent });
  const response = await go(url, { method, signal, body: body === undefined ? undefined : sent,
    headers: { ...headers, ...(body !== undefined && { "Content-Type": "application/json" }), Authorization: claim.header } });
  const isStream = response.ok && response.headers.get("Content-Type") === "text/event-stream";
  const bytes = isStream ? null : await response.arrayBuffer().catch(() => new ArrayBuffer(0));
  if (await mine.isProved(claim, response.status, bytes, response.headers.get("Corral-Proof"))) return { response, bytes };
  const start = response.headers.get("Corral-Start");
  if (again && response.status === 401 && /^[0-9a-f]{32}$/.test(start ?? "") && start !== claim.start) {
    mine.start = start;
    return ask(method, path, { body, headers, signal }, false);
  }
  if (tab === mine) forget();
  throw new ApiError(401, { error: STRANGE });
}

async function send(method, path, body) {
  // What changes something is sent to a daemon that has just proved that it is there.
  if (method !== "GET" && !isLive) throw new ApiError(0, { error: "the daemon does not answer" });
  const { response, bytes } = await ask(method, path, { body });
  let answer;
  try {
    answer = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new ApiError(response.status, null);
  }
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

// call("GET", "/api/audit", {query: {limit: 10}}): the answer's object, or an ApiError is thrown.
export function call(method, path, { query, body } = {}) {
  const words = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const tail = words.length ? "?" + new URLSearchParams(words) : "";
  return send(method, path + tail, body);
}
export const get = (path, query) => call("GET", path, { query });
export const post = (path, body) => call("POST", path, { body });
export const put = (path, body) => call("PUT", path, { body });
export const remove = (path) => call("DELETE", path);

// Splits a text/event-stream. feed(text) calls back for each whole event; what is left waits for more.
export function parser(onEvent) {
  let rest = "";
  return (text) => {
    rest += text;
    let at;
    while ((at = rest.indexOf("\n\n")) >= 0) {
      const event = { id: null, type: "message", data: "" };
      for (const line of rest.slice(0, at).split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        else if (line.startsWith("event: ")) event.type = line.slice(7);
        else if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      rest = rest.slice(at + 2);
      if (event.data) onEvent(event);
    }
  };
}

const SILENCE_MS = 90_000; // heartbeats come more often than that

// Listens for ever: onEvent(type, data), onState("live" | "lost" | "out"). Goes on where it was cut off; "out": the
// tab's key is no longer good. Returns a function that ends it.
export function listen(onEvent, onState) {
  let last = null, wait = 500, over = false, abort = null;

  async function once() {
    abort = new AbortController();
    let alarm;
    const beat = () => {
      clearTimeout(alarm);
      alarm = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    try {
      beat();
      const headers = last ? { "Last-Event-ID": last } : {};
      const { response, bytes } = await ask("GET", "/sse/events", { headers, signal: abort.signal });
      if (bytes !== null) return;
      const feed = parser(({ id, type, data }) => {
        if (id) last = id;
        let value;
        try {
          value = JSON.parse(data);
        } catch {
          return;
        }
        if (type === "connected") {
          wait = 500;
          // A daemon whose ids are behind ours is another one: from its newest on.
          if (last && Number(last) > value.last) last = String(value.last);
          isLive = true;
          onState("live");
        }
        onEvent(type, value);
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        beat();
        feed(value);
      }
    } catch (error) {
      // Cut off, or silent for too long; or it is not the daemon that this tab knows.
      if (error.status === 401) {
        over = true;
        onState("out");
      }
    } finally {
      isLive = false;
      clearTimeout(alarm);
    }
  }

  (async () => {
    while (!over) {
      await once();
      if (over) return;
      onState("lost");
      await new Promise((wake) => setTimeout(wake, wait));
      wait = Math.min(wait * 2, 5000);
    }
  })();
  return () => {
    over = true;
    abort?.abort();
  };
}
