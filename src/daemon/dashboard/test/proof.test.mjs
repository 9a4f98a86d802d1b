// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";

import { load } from "./load.mjs";

const { begin } = await load("proof.js");
const bytes = (text) => new TextEncoder().encode(text);
const sha = (text) => createHash("sha256").update(text).digest("hex");
const hmac = (key, ...lines) => createHmac("sha256", key).update(lines.join("\n"));
const secret = "0123456789abcdef".repeat(4), raw = Buffer.from(secret, "hex");
const start = "f".repeat(32), id = "a".repeat(32);

async function login() {
  const link = await begin(secret);
  const { nonce, proof } = link.body;
  assert.match(nonce, /^[0-9a-f]{32}$/);
  assert.equal(proof, hmac(raw, "corral-login-1", nonce).digest("hex"));
  const answer = { tab: id, start, proof: hmac(raw, "corral-daemon-1", nonce, id, start).digest("hex") };
  return { link, answer, key: hmac(raw, "corral-tab-1", nonce, id).digest() };
}

test("a link: what is sent is not the secret, and another program cannot answer", async () => {
  const { link, answer } = await login();
  assert.ok(!JSON.stringify(link.body).includes(secret));
  assert.equal(await link.finish({ ...answer, proof: "0".repeat(64) }), null);
  assert.equal(await link.finish({ ...answer, start: "0".repeat(32) }), null);
  assert.equal(await link.finish({}), null);
  assert.notEqual(await link.finish(answer), null);
});

test("a request is proved with all its parts, each with another count", async () => {
  const { link, answer, key } = await login();
  const tab = await link.finish(answer);
  const asked = { method: "POST", host: "127.0.0.1:1", path: "/a", query: "b=1", body: bytes("{}") };
  for (const count of [1, 2]) {
    const claim = await tab.prove(asked);
    const proof = hmac(key, "corral-request-1", start, id, count, "POST", "127.0.0.1:1", "/a", "b=1", sha("{}")).digest("hex");
    assert.equal(claim.header, `Corral ${id}:${count}:${sha("{}")}:${proof}`);
  }
});

test("an answer is taken with its proof alone", async () => {
  const { link, answer, key } = await login();
  const tab = await link.finish(answer);
  const claim = await tab.prove({ method: "GET", host: "h:1", path: "/", query: "", body: bytes("") });
  const proof = hmac(key, "corral-answer-1", start, id, 1, 200, sha("{}")).digest("hex");
  const stream = hmac(key, "corral-answer-1", start, id, 1, 200, "stream").digest("hex");
  assert.equal(await tab.isProved(claim, 200, bytes("{}"), proof), true);
  assert.equal(await tab.isProved(claim, 200, null, stream), true);
  for (const [status, body, given] of [[200, "{ }", proof], [500, "{}", proof], [200, "{}", stream], [200, "{}", null], [200, "{}", ""]])
    assert.equal(await tab.isProved(claim, status, bytes(body), given), false);
  // One answer does not stand for another request's.
  const next = await tab.prove({ method: "GET", host: "h:1", path: "/", query: "", body: bytes("") });
  assert.equal(await tab.isProved(next, 200, bytes("{}"), proof), false);
});
