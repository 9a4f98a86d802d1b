// SPDX-License-Identifier: Apache-2.0
// Lines and columns of a text in the editor. Lines and columns begin with 1, as `corral policy lint`
// prints them; its columns count bytes of UTF-8, those of a textarea UTF-16 units.

export function lineCount(text) {
  let n = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) n++;
  return n;
}

// The place where a line begins and ends. One that does not exist is the last one.
export function lineRange(text, line) {
  let start = 0;
  for (let n = 1; n < line; n++) {
    const next = text.indexOf("\n", start);
    if (next < 0) break;
    start = next + 1;
  }
  const end = text.indexOf("\n", start);
  return { start, end: end < 0 ? text.length : end };
}

// The place of a column that counts bytes.
export function placeOf(text, line, column) {
  const { start, end } = lineRange(text, line);
  let left = Math.max(0, (column || 1) - 1), at = start;
  while (left > 0 && at < end) {
    const code = text.codePointAt(at);
    left -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code > 0xffff ? 2 : 1;
  }
  return at;
}

export function lineAt(text, place) {
  return lineCount(text.slice(0, place));
}

// What the Enter key puts in: the indentation of the line, and a step more behind a ":" or an open
// bracket.
export function newLine(text, start, end) {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const line = text.slice(from, start);
  const indent = line.match(/^[ \t]*/)[0];
  const more = /[:[{]\s*$/.test(line) ? "  " : "";
  const insert = "\n" + indent + more;
  return { text: text.slice(0, start) + insert + text.slice(end), place: start + insert.length };
}

const RANK = { error: 3, warning: 2, note: 1 };

// What the lines are marked with: Map of line -> {severity, texts}, the worst severity of each.
export function marksOf(findings) {
  const marks = new Map();
  for (const f of findings) {
    const line = f.line > 0 ? f.line : 1;
    const mark = marks.get(line) ?? { severity: "note", texts: [] };
    if ((RANK[f.severity] ?? 1) > RANK[mark.severity]) mark.severity = f.severity;
    mark.texts.push(f.text);
    marks.set(line, mark);
  }
  return marks;
}
