// SPDX-License-Identifier: Apache-2.0
// node --test: what needs no browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { load } from "./load.mjs";

process.env.TZ = "Asia/Kolkata"; // half an hour, so that a mistake is seen
const f = await load("format.js");

test("bytes", () => {
  for (const [n, text] of [[0, "0 B"], [999, "999 B"], [1000, "1.0 kB"], [1234, "1.2 kB"], [9949, "9.9 kB"], [9960, "10 kB"], [999_499, "999 kB"],
    [999_500, "1.0 MB"], [3.4e9, "3.4 GB"], [5e18, "5000 PB"], [undefined, "0 B"]]) assert.equal(f.bytes(n), text);
});
test("span and ago", () => {
  for (const [ms, text] of [[0, "0 ms"], [999, "999 ms"], [1000, "1 s"], [59_999, "59 s"], [60_000, "1 min"], [3_600_000, "1 h"], [7_500_000, "2 h 5 min"],
    [90_000_000, "1 d 1 h"], [-5, "0 ms"]]) assert.equal(f.span(ms), text);
  assert.equal(f.ago(1000, 1500), "now");
  assert.equal(f.ago(0, 5000), "5 s ago");
  assert.equal(f.ago(45_000, 5000), "in 40 s");
});
test("times are the reader's, with the zone", () => {
  const ms = Date.UTC(2026, 0, 31, 20, 3, 9, 45);
  assert.equal(f.clock(ms), "01:33:09");
  assert.equal(f.day(ms), "2026-02-01");
  assert.equal(f.iso(ms), "2026-02-01T01:33:09.045+05:30");
  assert.equal(new Date(f.iso(ms)).getTime(), ms);
  assert.equal(f.moment(ms, ms + 1000), "01:33:09");
  assert.deepEqual([5, 60, 86400].map((step) => f.tick(ms, step)), ["01:33:09", "01:33", "1 Feb"]);
  assert.equal(f.moment(ms, ms + 86_400_000), "1 Feb 01:33");
  assert.equal(f.moment(ms, ms + 400 * 86_400_000), "2026-02-01 01:33");
});
test("what cannot be seen is written out", () => {
  assert.equal(f.visible("a\u202egpj.exe"), "a\\u{202e}gpj.exe");
  assert.equal(f.visible("\x1b[31m\0\n"), "\\x1b[31m\\x00\\x0a");
  assert.equal(f.visible("\u200b\ufeff\u{e0041}"), "\\u{200b}\\u{feff}\\u{e0041}");
  assert.equal(f.visible("\ud800x"), "\\u{d800}x");
  // Spaces that are not the usual one: "rm\u00a0-rf" is one word.
  assert.equal(f.visible("a\u00a0b\u2003c\u3000d e"), "a\\xa0b\\u{2003}c\\u{3000}d e");
  assert.equal(f.visible("<b>Grüße 😀 日本</b>"), "<b>Grüße 😀 日本</b>");
  assert.equal(f.visible("a\u2800b\ufe0f\u{e0100}"), "a\\u{2800}b\\u{fe0f}\\u{e0100}");
  assert.equal(f.visible(null), "");
  assert.equal(f.visible(7), "7");
});
test("shorten keeps beginning and end, and whole characters", () => {
  assert.equal(f.shorten("abc", 3), "abc");
  assert.equal(f.shorten("/home/someone/a/long/path/file.txt", 15), "/home/…file.txt");
  assert.equal(f.shorten("😀".repeat(9), 5), "😀😀…😀😀");
  assert.equal([...f.shorten("x".repeat(9999), 80)].length, 80);
});
test("words", () => {
  assert.equal(f.plural(1, "sandbox", "sandboxes"), "1 sandbox");
  assert.equal(f.plural(12345, "event"), "12,345 events");
  assert.equal(f.verb("fs.read"), "read");
  assert.equal(f.verb("<x>"), "<x>");
  assert.equal(f.kind("fs.delete"), "files");
  assert.equal(f.kind("net.name"), "hosts");
  assert.equal(f.kind("exec"), "programs");
  assert.equal(f.kind("env"), null);
  assert.equal(f.program("/usr/bin/make -j4"), "make");
  assert.equal(f.program(""), "?");
});
test("addresses", () => {
  assert.equal(f.address("").path, "now");
  assert.equal(f.address("#/audit?decision=denied").query.get("decision"), "denied");
  assert.equal(f.address("#/sandbox/a%2Fb").rest, "a/b");
  assert.equal(f.address("#/sandbox/%zz").rest, "");
  assert.equal(f.address("#code=abc").path, "code=abc");
});
test("events, in whatever pieces they come", async () => {
  const { parser } = await load("api.js");
  const stream = 'retry: 2000\n\nevent: connected\ndata: {"last":1}\n\n:\n\nid: 5\nevent: decision\ndata: {"target":"<img>"}\n\n';
  for (let size = 1; size < stream.length; size += 7) {
    const seen = [];
    const feed = parser((e) => seen.push(e));
    for (let i = 0; i < stream.length; i += size) feed(stream.slice(i, i + size));
    assert.deepEqual(seen, [{ id: null, type: "connected", data: '{"last":1}' }, { id: "5", type: "decision", data: '{"target":"<img>"}' }]);
  }
});
test("what cannot be seen: the same as in a terminal", () => {
  const source = readFileSync(process.env.UTF8_TABLE ?? new URL("../../../base/utf8.c", import.meta.url), "utf8");
  const table = source.slice(source.indexOf("deceptive[]"), source.indexOf("utf8_is_among"));
  const rows = [...table.matchAll(/\{ 0x([0-9a-f]+), 0x([0-9a-f]+) \}/g)].map(([, a, b]) => [parseInt(a, 16), parseInt(b, 16)]);
  assert.ok(rows.length > 20);
  const unseen = (c) => c < 0x20 || c === 0x7f || rows.some(([a, b]) => a <= c && c <= b);
  const wrong = [];
  for (let c = 0; c <= 0x10ffff; c++) {
    if (c >= 0xd800 && c <= 0xdfff) continue; // half of a character is none in UTF-8
    const text = String.fromCodePoint(c);
    if ((f.visible(text) !== text) !== unseen(c)) wrong.push(c.toString(16));
  }
  assert.deepEqual(wrong, []);
});
test("names: no two look alike", () => {
  const table = readFileSync(process.env.SHOWN_NAMES ?? new URL("../../../base/test/shown-names.inc", import.meta.url), "utf8");
  const rows = table.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(`[${line.slice(1, line.lastIndexOf("}"))}]`));
  assert.ok(rows.length > 10);
  for (const [given, shown] of rows) assert.equal(f.name(given), shown);
  assert.equal(f.shorten("/a  " + "x".repeat(200) + "  end", 40).length, 40);
});
