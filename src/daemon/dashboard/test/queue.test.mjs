// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.mjs";

const { hasMoved, LINGER_MS, mergeQuestions, nextOpen } = await load("queue.js");

const q = (id, asked_ms = id) => ({ id, asked_ms });
const ids = (rows) => rows.map((r) => r.question.id);
const none = new Map();

test("questions keep their place, new ones go to the end", () => {
  const first = mergeQuestions([], [q(3), q(1)], none, 0);
  assert.deepEqual(ids(first), [1, 3]);
  const more = mergeQuestions(first, [q(2, 0), q(1), q(3)], none, 1);
  assert.deepEqual(ids(more), [1, 3, 2]);
  assert.equal(hasMoved(first, more), false);
  // The same number with another target is another question.
  assert.equal(hasMoved(first, mergeQuestions(first, [{ ...q(1), target: "/etc/shadow" }, q(3)], none, 2)), true);
});

test("one that is answered stays for a moment", () => {
  const first = mergeQuestions([], [q(1), q(2)], none, 0);
  const answered = mergeQuestions(first, [q(1), q(2)], new Map([[1, "Denied"]]), 10);
  assert.equal(answered[0].gone.text, "Denied");
  const gone = mergeQuestions(answered, [q(2)], new Map([[1, "Denied"]]), 10 + LINGER_MS - 1);
  assert.deepEqual(ids(gone), [1, 2]);
  assert.equal(hasMoved(first, gone), false);
  const after = mergeQuestions(gone, [q(2)], new Map([[1, "Denied"]]), 10 + LINGER_MS);
  assert.deepEqual(ids(after), [2]);
  assert.equal(hasMoved(gone, after), true);
  // A list that was on its way when the answer was given does not bring it back.
  assert.deepEqual(ids(mergeQuestions(after, [q(1), q(2)], new Map([[1, "Denied"]]), 9999)), [2]);
});

test("one that another client answered says so", () => {
  const rows = mergeQuestions(mergeQuestions([], [q(1)], none, 0), [], none, 5);
  assert.match(rows[0].gone.text, /elsewhere/);
});

test("the next open one", () => {
  const rows = [{ gone: null }, { gone: {} }, { gone: null }];
  assert.equal(nextOpen(rows, 0, 1), 2);
  assert.equal(nextOpen(rows, 2, -1), 0);
  assert.equal(nextOpen(rows, 2, 1), -1);
  assert.equal(nextOpen(rows, -1, 1), 0);
});
