// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.mjs";

const { actionGroup, checkWords, grantOf, limitWords, ofPolicy, permissionRows, scopeWords, splitHost, timesWords, unseenFindings } = await load("words.js");

test("scopes", () => {
  for (const [action, target, words] of [
    ["fs.read", "/srv/data/**", "read everything in /srv/data"],
    ["fs.write", "/srv/x.txt", "read and change /srv/x.txt"],
    ["fs.read", "/srv/*", "read the files directly in /srv"],
    ["fs.read", "/srv/*/a", "read what matches /srv/*/a"],
    ["fs.write", "/**", "read and change every file of this machine"],
    ["net.connect", "a.example:443", "connect to a.example on port 443 (HTTPS)"],
    ["net.connect", "*.a.example:8080", "connect to any host below a.example on port 8080"],
    ["net.connect", "*:22", "connect to any host on port 22 (SSH)"],
    ["net.connect", "a.example", "connect to a.example on any port"],
    ["net.connect", "[::1]:80", "connect to [::1] on port 80 (HTTP)"],
    ["net.connect", "GET https://a.example/x", "connect to https://a.example/x, with GET only"],
    ["net.connect", "https://a.example/x", "connect to https://a.example/x, with any method"],
    ["net.connect", "GET a.example:443", "connect to a.example on port 443 (HTTPS), with GET only"],
    ["exec", "git:*", "run git, with any arguments"],
    ["exec", "git push", "run git push"],
    ["service", "mail.send", "use the service mail.send"],
    ["other", "x", "other x"],
  ])
    assert.equal(scopeWords(action, target), words);
  assert.equal(scopeWords("fs.read", "/a\u202e/**"), "read everything in /a\\u{202e}");
  assert.equal(actionGroup("exec"), "commands");
  assert.equal(actionGroup("constructor"), "other");
});

test("lines of a policy that hide something", () => {
  assert.deepEqual(unseenFindings("a: b\r\n\tc\n"), []);
  const [only, ...more] = unseenFindings("a\nb \u202ex\u202e\n");
  assert.deepEqual([only.line, more.length], [2, 0]);
  assert.match(only.text, /: \\u\{202e\}$/);
});

test("a policy from the page", () => {
  assert.equal(ofPolicy("remove standard input:3: /x"), "remove line 3 of this policy: /x");
  assert.equal(ofPolicy("add x to standard input, below permissions:"), "add x to this policy, below permissions:");
});

test("how often", () => {
  assert.deepEqual([1, 2, 3].map(timesWords), ["once", "twice", "3 times"]);
});

test("what was typed becomes a grant", () => {
  assert.deepEqual(grantOf("read-folder", " /srv/x/ "), { action: "fs.read", target: "/srv/x/**" });
  assert.deepEqual(grantOf("write-folder", "/"), { action: "fs.write", target: "/**" });
  assert.deepEqual(grantOf("read-folder", "~/x/*.md"), { action: "fs.read", target: "~/x/*.md" });
  assert.deepEqual(grantOf("write-file", "/srv/x"), { action: "fs.write", target: "/srv/x" });
  assert.deepEqual(grantOf("host", "a.example"), { action: "net.connect", target: "a.example:443" });
  assert.deepEqual(grantOf("host", "[::1]:80"), { action: "net.connect", target: "[::1]:80" });
  assert.deepEqual(grantOf("command", "git push"), { action: "exec", target: "git push" });
  for (const [kind, text] of [["read-folder", "x"], ["host", "https://a.example/x"], ["command", " "]])
    assert.ok(grantOf(kind, text).error);
  assert.deepEqual(splitHost("a:b:c"), ["a:b:c", ""]);
});

test("permissions in few rows", () => {
  const rows = permissionRows(["read everything in /usr", "see PATH", "run any program", "read everything in /etc", "see LANG", "read everything in /a, except /a/b", "read everything in /a, except /a/c"]);
  assert.deepEqual(rows.map((r) => r.text), ["read everything in /usr, /etc", "run any program", "read everything in /a, except /a/b", "read everything in /a, except /a/c", "see 2 environment variables"]);
  assert.deepEqual(rows.at(-1).items, ["PATH", "LANG"]);
  assert.deepEqual(permissionRows(["see A"]), [{ text: "see 1 environment variable", items: ["A"] }]);
  assert.deepEqual(permissionRows([]), []);
});

test("limits have units, checks have words", () => {
  assert.deepEqual(limitWords("memory", 104857600), ["Memory", "105 MB"]);
  assert.deepEqual(limitWords("timeout_ms", 300000), ["Time", "5 min"]);
  assert.deepEqual(limitWords("constructor", { a: 1 }), ["constructor", '{"a":1}']);
  assert.deepEqual(limitWords("memory", "\u202e"), ["Memory", "\\u{202e}"]);
  assert.equal(checkWords("drift"), "profiles or wrappers that were changed");
  assert.equal(checkWords("new_kind"), "new kind");
});
