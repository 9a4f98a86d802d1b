// SPDX-License-Identifier: Apache-2.0
// The daemon, over HTTP. The token lives in this tab's session storage and goes out as a header: cookies do not
// know ports, so any server on this host name would get them. For the same reason events come by fetch(), as an
// EventSource has no headers.

const KEY = "corral-token";

export class ApiError extends Error {
  constructor(status, body) {
    super(typeof body?.error === "string" ? body.error : body?.error?.text ?? `the daemon answered ${status}`);
    this.status = status; // 0: it did not answer
    this.body = body ?? {};
    this.hint = body?.error?.hint ?? body?.hint ?? null;
  }
}

export const token = () => sessionStorage.getItem(KEY);
export const forget = () => sessionStorage.removeItem(KEY);

// Turns the code of the link into the token. The code leaves the address bar, and so the history, first.
// Returns the error if there is one; null otherwise.
export async function login() {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (!code) return null;
  history.replaceState(null, "", location.pathname);
  try {
    const answer = await send("POST", "/api/login", { code }, {});
    sessionStorage.setItem(KEY, answer.token);
    return null;
  } catch (error) {
    return error;
  }
}

async function send(method, path, body, headers) {
  let response;
  const init = { method, headers: { ...headers }, cache: "no-store", credentials: "omit", redirect: "error" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["Content-Type"] = "application/json";
  }
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError(0, { error: "the daemon does not answer" });
  }
  let answer;
  try {
    answer = await response.json();
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
  return send(method, path + tail, body, { Authorization: `Bearer ${token()}` });
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
// token is no longer good. Returns a function that ends it.
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
      const headers = { Authorization: `Bearer ${token()}`, ...(last && { "Last-Event-ID": last }) };
      const response = await fetch("/sse/events", { headers, signal: abort.signal, cache: "no-store", credentials: "omit" });
      if (response.status === 401) {
        over = true;
        onState("out");
        return;
      }
      if (!response.ok) return;
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
    } catch {
      // Cut off, or silent for too long.
    } finally {
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
