// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { load } from "./load.mjs";

const { recent, weight } = await load("counts.js");
const { allowAddress, isLiteral, offerOf, optionOf } = await load("words.js");

test("a look-up counts once", () => {
  const before = new Map();
  const name = (time_ms, more = {}) => weight({ id: "a", action: "net.name", decision: "denied", target: "x.example", time_ms, count: 2, ...more }, before);
  assert.equal(name(1000), 1);
  assert.equal(name(1001), 0);
  assert.equal(name(1002, { target: "y.example" }), 1);
  assert.equal(name(1003, { id: "b" }), 1);
  assert.equal(name(9000), 1);
  assert.equal(weight({ action: "fs.read", count: 3 }, before), 3);
  assert.equal(weight({ action: "fs.read" }, before), 1);
  for (let i = 0; i < 5000; i++) name(i, { target: `n${i}` });
  assert.ok(before.size <= 1001);
});

test("headline, chart and legend agree", () => {
  const rate = new Map([[100, { allowed: 2, asked: 0, denied: 1 }], [90, { allowed: 0, asked: 1, denied: 4 }], [1, { allowed: 9, asked: 9, denied: 9 }]]);
  const { times, values, sums } = recent(rate, 100, 20, 0);
  assert.equal(times.length, 20);
  assert.deepEqual(sums, { allowed: 2, asked: 1, denied: 5 });
  for (const name of ["allowed", "asked", "denied"]) assert.equal(values[name].reduce((a, b) => a + b, 0), sums[name]);
  assert.equal(recent(rate, 100, 5, 1).sums.asked, 1, "one that waits was asked");
});

test("what is denied has its Allow…", () => {
  const denied = { id: "a", action: "fs.read", decision: "denied", target: "/srv/a", reason: "nothing in fs.read or fs.write grants it" };
  for (const [more, address] of [
    [{ id: "a b", action: "net.connect", target: "x.example:443" }, "#/grants?sandbox=a+b&action=net.connect&target=x.example%3A443"],
    [{ action: "net.name", target: "x.example" }, "#/grants?sandbox=a&action=net.connect&target=x.example%3A443"],
    [{ target: "/srv/a&b" }, "#/grants?sandbox=a&action=fs.read&target=%2Fsrv%2Fa%26b"],
    [{ decision: "allowed" }, null],
    [{ id: "" }, null],
    [{ action: "approval" }, null],
    [{ action: "constructor" }, null],
    [{ reason: undefined }, null],
  ]) assert.equal(allowAddress({ ...denied, ...more }), address);
});

test("the rows of the log's option", () => {
  const rows = readFileSync(process.env.OFFERED_TABLE ?? new URL("../../../../tests/data/audit/offered.tsv", import.meta.url), "utf8").split("\n").filter((l) => l && !l.startsWith("#"));
  assert.ok(rows.length > 30);
  for (const row of rows) {
    const [action, rule, reason, program, target, offered] = row.split("\t");
    const offer = offerOf({ decision: "denied", action, rule, reason, program, target });
    assert.equal(offer ? `${optionOf(offer.action, "x").replace(/x$/, "")}${offer.target}` : "", offered ?? "", row);
    if (offer) assert.ok(isLiteral(offer.action, offer.target), row);
  }
});

test("an option is one word of a shell", () => {
  assert.equal(optionOf("net.connect", "x.example:443"), "--net x.example:443");
  assert.equal(optionOf("fs.read", "/srv/it's here"), "--read '/srv/it'\\''s here'");
  assert.equal(optionOf("fs.write", "/srv/a"), "--write /srv/a");
  assert.equal(optionOf("exec", "git"), "--exec git");
  assert.equal(optionOf("service", "mail"), "");
});
