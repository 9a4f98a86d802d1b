// SPDX-License-Identifier: Apache-2.0
// A client of corrald for desktop shells: files, commands and events of the daemon's enclave. An ES module
// without dependencies, for Node 18 and later and Electron's main process. It uses the daemon's Unix socket: the
// daemon takes its token there alone.
//
//     import { Corral } from "./corral.mjs";
//     const corral = new Corral();
//     const text = await corral.invoke("fs_read", { path: "/srv/notes/a.txt" });
//
// The token is the user's authority over the daemon: keep it, and this object, out of pages that load what
// others wrote, and let such pages call no more than the functions they need (docs/invoke.md).

import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { Readable } from "node:stream";

const decoder = new TextDecoder();

// As corral(1) finds it.
function runtimeFolder() {
  const { XDG_RUNTIME_DIR } = process.env, uid = process.getuid();
  return XDG_RUNTIME_DIR ? `${XDG_RUNTIME_DIR}/corral` : uid === 0 ? "/run/corral" : `/run/user/${uid}/corral`;
}

// fetch() by a Unix socket, as far as it is needed here.
function unixFetch(socketPath, path, { method = "GET", headers, body, signal } = {}) {
  return new Promise((done, fail) => {
    const asked = request({ socketPath, path, method, headers: { Host: "localhost", ...headers }, signal }, (answer) => {
      done(new Response(Readable.toWeb(answer), { status: answer.statusCode }));
    });
    asked.on("error", fail);
    asked.end(body);
  });
}

/** What was refused, or did not work. `message` is a sentence; 403 begins with "Permission denied". */
export class CorralError extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `corrald answered with ${status}`);
    this.name = "CorralError";
    this.status = status;
    this.denial = answer?.denial ?? null; // {op, target, rule, reason, remedy}
    this.question = answer?.question ?? null;
    this.line = answer?.line ?? null; // of a policy with a mistake
    this.column = answer?.column ?? null;
  }
}

function bytesOf(data, encoding) {
  if (encoding !== "base64") return new TextEncoder().encode(data);
  return Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
}

function base64Of(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

// What invoke() gives for an answer.
const results = {
  fs_read: (a) => (a.encoding === "base64" ? bytesOf(a.content, "base64") : a.content),
  fs_list: (a) => a.entries,
  get_policy: (a) => a.policy,
  get_audit_log: (a) => a.entries,
  export_audit_log: (a) => a.content ?? a,
  shell_exec: (a) => ({
    ...a,
    stdout: decoder.decode(bytesOf(a.stdout.data, a.stdout.encoding)),
    stderr: decoder.decode(bytesOf(a.stderr.data, a.stderr.encoding)),
    truncated: a.stdout.truncated || a.stderr.truncated,
  }),
};

function prepare(name, args) {
  const { onOutput, ...given } = args;
  if (name === "fs_write" && given.content instanceof Uint8Array)
    return { ...given, content: base64Of(given.content), encoding: "base64" };
  if (name === "set_policy" && typeof given.policy === "object") return { ...given, policy: JSON.stringify(given.policy) };
  return given;
}

/** Events of a text/event-stream: {id, type, data}. */
async function* parse(body) {
  const text = new TextDecoder();
  let rest = "";
  for await (const piece of body) {
    rest += text.decode(piece, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { id: null, type: "message", data: null };
      for (const line of block.split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        else if (line.startsWith("event: ")) event.type = line.slice(7);
        else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
      }
      if (event.data !== null) yield event;
    }
  }
}

export class Corral {
  #folder;

  /** folder: the daemon's runtime folder, with its socket and its token. */
  constructor({ folder = runtimeFolder() } = {}) {
    this.#folder = folder;
  }

  // Each start of the daemon has a token of its own; a service manager may start it only now.
  async #request(path, more = {}) {
    const socket = `${this.#folder}/api.sock`;
    for (let again = true; ; again = false) {
      const token = (await readFile(`${this.#folder}/token`, "utf8").catch(() => "")).trim();
      const response = await unixFetch(socket, path, { ...more, headers: { ...more.headers, Authorization: `Bearer ${token}` } });
      if (response.status !== 401 || !again) return response;
      await response.text();
      await (await unixFetch(socket, "/api/health")).text();
    }
  }

  async #post(name, args, signal) {
    const response = await this.#request(`/api/invoke/${encodeURIComponent(name)}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(args),
      signal,
    });
    const answer = await response.json().catch(() => null);
    if (!response.ok || answer === null) throw new CorralError(response.status, answer);
    return answer;
  }

  /**
   * Calls a tool of the enclave: fs_read, fs_write, fs_list, shell_exec, get_policy, set_policy,
   * get_audit_log, export_audit_log. shell_exec takes `onOutput(stream, text)`, which hears what the command
   * prints while it runs.
   */
  async invoke(name, args = {}) {
    const answer = name === "shell_exec" && args.onOutput ? await this.#stream(args) : await this.#post(name, prepare(name, args));
    return results[name]?.(answer) ?? answer;
  }

  async #stream(args) {
    const id = crypto.randomUUID();
    const stop = new AbortController();
    const streams = { stdout: { told: 0, text: new TextDecoder() }, stderr: { told: 0, text: new TextDecoder() } };
    const tell = (name, bytes) => {
      const text = streams[name].text.decode(bytes, { stream: true });
      streams[name].told += bytes.length;
      if (text) args.onOutput(name, text);
    };
    const events = this.events({ signal: stop.signal });
    await events.next(); // connected: what happens from here on is heard
    const heard = (async () => {
      for await (const { type, data } of events) {
        if (type !== "output" || data.call !== id) continue;
        streams[data.stream].told += data.skipped;
        tell(data.stream, bytesOf(data.data, data.encoding));
      }
    })().catch(() => {});
    try {
      const answer = await this.#post("shell_exec", { ...prepare("shell_exec", args), id });
      stop.abort();
      await heard;
      // Events may be late: the answer has the rest.
      for (const name of ["stdout", "stderr"]) {
        const bytes = bytesOf(answer[name].data, answer[name].encoding);
        if (bytes.length > streams[name].told) tell(name, bytes.subarray(streams[name].told));
      }
      return answer;
    } finally {
      stop.abort();
    }
  }

  /** The daemon's events, from `lastEventId` on; ends when the connection does, or by `signal`. */
  async *events({ lastEventId, signal } = {}) {
    const headers = lastEventId ? { "Last-Event-ID": String(lastEventId) } : {};
    const response = await this.#request("/sse/events", { headers, signal });
    if (!response.ok) throw new CorralError(response.status, await response.json().catch(() => null));
    try {
      yield* parse(response.body);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  /** The same without an end: connects again and goes on where it was. */
  async *follow({ lastEventId, signal, pause = 1000 } = {}) {
    let last = lastEventId;
    while (!signal?.aborted) {
      try {
        for await (const event of this.events({ lastEventId: last, signal })) {
          last = event.id ?? last;
          yield event;
        }
      } catch (error) {
        if (error instanceof CorralError && error.status < 500) throw error;
      }
      if (!signal?.aborted) await new Promise((next) => setTimeout(next, pause));
    }
  }
}
