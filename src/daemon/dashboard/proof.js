// SPDX-License-Identifier: Apache-2.0
// How this tab and the daemon prove themselves to each other (src/daemon/proof.h, login.h). The key is made of the
// link's secret, lives in this object alone, and is never sent: whatever program holds the port while the daemon is
// away gets nothing that it could use. Answers are proved, too.

const encoder = new TextEncoder();
const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const digest = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
const HMAC = { name: "HMAC", hash: "SHA-256" };
const makeKey = (bytes) => crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]);
const sign = (key, ...lines) => crypto.subtle.sign("HMAC", key, encoder.encode(lines.join("\n")));
const mac = async (key, ...lines) => hex(await sign(key, ...lines));

export class Tab {
  #key;
  #count = 0;

  constructor(id, start, key) {
    this.id = id;
    this.start = start; // of the process that reads HTTP; the daemon says if it is another one
    this.#key = key;
  }

  // Proves one request: {header, count, start}. body: bytes; host: "127.0.0.1:3847"; query without "?".
  async prove({ method, host, path, query, body }) {
    const count = ++this.#count, start = this.start;
    const sum = await digest(body);
    const proof = await mac(this.#key, "corral-request-1", start, this.id, count, method, host, path, query, sum);
    return { header: `Corral ${this.id}:${count}:${sum}:${proof}`, count, start };
  }

  // Whether an answer to that request is the daemon's. body: bytes; null: a stream.
  async isProved({ count, start }, status, body, proof) {
    const sum = body === null ? "stream" : await digest(body);
    return proof === (await mac(this.#key, "corral-answer-1", start, this.id, count, status, sum));
  }
}

// What is sent for a link with this secret; finish(answer) makes a tab of the answer, or null if it is not the daemon's.
export async function begin(secret) {
  const key = await makeKey(unhex(secret));
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  return {
    body: { nonce, proof: await mac(key, "corral-login-1", nonce) },
    async finish({ tab, start, proof }) {
      if (proof !== (await mac(key, "corral-daemon-1", nonce, tab, start))) return null;
      return new Tab(tab, start, await makeKey(await sign(key, "corral-tab-1", nonce, tab)));
    },
  };
}
