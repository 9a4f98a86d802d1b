// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.mjs";

const { lineAt, lineCount, lineRange, marksOf, newLine, placeOf } = await load("lines.js");

test("lines and places", () => {
  const text = "fs:\n  read: [ü/x]\nend";
  assert.equal(lineCount(text), 3);
  assert.equal(lineCount(""), 1);
  assert.deepEqual(lineRange(text, 2), { start: 4, end: 17 });
  assert.deepEqual(lineRange(text, 3), { start: 18, end: 21 });
  assert.deepEqual(lineRange(text, 99), { start: 18, end: 21 });
  assert.equal(lineAt(text, 0), 1);
  assert.equal(lineAt(text, 5), 2);
  assert.equal(lineAt(text, text.length), 3);
});

test("columns count bytes", () => {
  const text = "a\nü😀x";
  assert.equal(placeOf(text, 2, 1), 2);
  assert.equal(placeOf(text, 2, 3), 3);
  assert.equal(placeOf(text, 2, 7), 5);
  assert.equal(text[placeOf(text, 2, 7)], "x");
  assert.equal(placeOf(text, 2, 99), text.length);
  assert.equal(placeOf(text, 2, 0), 2);
});

test("a new line is indented", () => {
  assert.deepEqual(newLine("fs:", 3, 3), { text: "fs:\n  ", place: 6 });
  assert.deepEqual(newLine("  read: x", 9, 9), { text: "  read: x\n  ", place: 12 });
  assert.deepEqual(newLine("ab", 1, 2), { text: "a\n", place: 2 });
});

test("the worst finding marks its line", () => {
  const marks = marksOf([
    { line: 2, severity: "note", text: "a" }, { line: 2, severity: "error", text: "b" },
    { line: 2, severity: "warning", text: "c" }, { line: 0, severity: "warning", text: "d" }]);
  assert.deepEqual(marks.get(2), { severity: "error", texts: ["a", "b", "c"] });
  assert.deepEqual(marks.get(1), { severity: "warning", texts: ["d"] });
});
