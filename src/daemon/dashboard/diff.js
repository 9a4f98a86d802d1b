// SPDX-License-Identifier: Apache-2.0
// The difference of two texts, line by line: what a person looks at before a policy is saved.
//
// The longest common run of lines is found by a table over what is left between equal beginnings and
// ends. A table that would become too large is not made: then all of the middle is replaced, which is
// longer to read and as true.

const TABLE_MAX = 4_000_000;

// "a\nb\n" is two lines; a last line without its end counts too.
export function linesOf(text) {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

// length[i][j] of the longest common run of a[i..] and b[j..], in one array.
function commonTable(a, b) {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] = a[i] === b[j]
        ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  return table;
}

function middleRows(a, b) {
  const rows = [];
  const take = (kind, text) => rows.push({ kind, text });
  let i = 0, j = 0;
  if (a.length && b.length && (a.length + 1) * (b.length + 1) <= TABLE_MAX) {
    const table = commonTable(a, b);
    const width = b.length + 1;
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) {
        take("same", a[i++]);
        j++;
      } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) {
        take("removed", a[i++]);
      } else {
        take("added", b[j++]);
      }
    }
  }
  while (i < a.length) take("removed", a[i++]);
  while (j < b.length) take("added", b[j++]);
  return rows;
}

// [{kind: "same" | "removed" | "added", text, before: line or null, after: line or null}]
export function diffLines(before, after) {
  const a = linesOf(before), b = linesOf(after);
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head &&
         a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (text) => ({ kind: "same", text });
  const rows = [
    ...a.slice(0, head).map(same),
    ...middleRows(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
  let i = 0, j = 0;
  for (const row of rows) {
    row.before = row.kind === "added" ? null : ++i;
    row.after = row.kind === "removed" ? null : ++j;
  }
  return rows;
}

// The rows near a change; what lies between is one row {kind: "gap", count}.
export function diffHunks(rows, context = 3) {
  const near = new Uint8Array(rows.length);
  rows.forEach((row, at) => {
    if (row.kind !== "same")
      near.fill(1, Math.max(0, at - context), at + context + 1);
  });
  const out = [];
  let count = 0;
  const close = () => {
    if (count) out.push({ kind: "gap", count });
    count = 0;
  };
  rows.forEach((row, at) => {
    if (!near[at]) {
      count++;
      return;
    }
    close();
    out.push(row);
  });
  close();
  return out;
}

export function diffCounts(rows) {
  const count = (kind) => rows.filter((row) => row.kind === kind).length;
  return { added: count("added"), removed: count("removed") };
}
