// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.mjs";

const { diffCounts, diffHunks, diffLines, linesOf } = await load("diff.js");

const brief = (rows) => rows.map((r) => ({ same: " ", removed: "-", added: "+" })[r.kind] + r.text);

// Applying the rows must give both texts again, with the lines' right numbers.
function checked(before, after) {
  const rows = diffLines(before, after);
  const a = linesOf(before), b = linesOf(after);
  assert.deepEqual(rows.filter((r) => r.before !== null).map((r) => r.text), a);
  assert.deepEqual(rows.filter((r) => r.after !== null).map((r) => r.text), b);
  for (const r of rows) {
    if (r.before !== null) assert.equal(a[r.before - 1], r.text);
    if (r.after !== null) assert.equal(b[r.after - 1], r.text);
  }
  return rows;
}

test("lines", () => {
  assert.deepEqual(linesOf(""), []);
  assert.deepEqual(linesOf("a\n"), ["a"]);
  assert.deepEqual(linesOf("a"), ["a"]);
  assert.deepEqual(linesOf("a\n\n"), ["a", ""]);
});

test("what changed, and nothing else", () => {
  assert.deepEqual(brief(checked("a\nb\nc\n", "a\nB\nc\n")), [" a", "-b", "+B", " c"]);
  assert.deepEqual(brief(checked("a\nb\n", "a\nx\nb\n")), [" a", "+x", " b"]);
  assert.deepEqual(brief(checked("a\na\nb\n", "a\nb\n")), [" a", "-a", " b"]);
  assert.deepEqual(brief(checked("", "a\n")), ["+a"]);
  assert.deepEqual(brief(checked("a\n", "")), ["-a"]);
  assert.deepEqual(checked("", ""), []);
  assert.deepEqual(diffCounts(checked("a\nb\nc\n", "c\nb\nx\n")).added, 2);
});

test("texts of chance", () => {
  let seed = 7;
  const chance = (n) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  const text = () => Array.from({ length: chance(30) }, () => "abc"[chance(3)] + "\n").join("");
  for (let i = 0; i < 500; i++) checked(text(), text());
});

test("a large text takes no large table", () => {
  const before = Array.from({ length: 60000 }, (_, i) => `line ${i}\n`).join("");
  const rows = checked(before, before.replaceAll("line", "row"));
  assert.deepEqual(diffCounts(rows), { added: 60000, removed: 60000 });
});

test("hunks leave out what is far from a change", () => {
  const before = Array.from({ length: 40 }, (_, i) => `${i}\n`).join("");
  const hunks = diffHunks(diffLines(before, before.replace("\n20\n", "\nx\n")));
  assert.deepEqual(hunks.map((r) => r.kind), ["gap", "same", "same", "same", "removed", "added",
    "same", "same", "same", "gap"]);
  assert.equal(hunks[0].count, 17);
  assert.equal(hunks[9].count, 16);
  assert.deepEqual(diffHunks(diffLines("a\n", "a\n")), [{ kind: "gap", count: 1 }]);
});
