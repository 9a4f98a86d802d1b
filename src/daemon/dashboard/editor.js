// SPDX-License-Identifier: Apache-2.0
// A text area with line numbers, on which lines are marked; and the table of a difference.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { diffCounts, diffHunks, diffLines } from "/diff.js";
import { visible } from "/format.js";
import { lineCount, lineRange, newLine, placeOf } from "/lines.js";
import { html } from "/parts.js";

// Selects the line of an error and brings it into sight.
function showLine(area, line, column) {
  const { end } = lineRange(area.value, line);
  const height = parseFloat(getComputedStyle(area).lineHeight);
  area.focus();
  area.setSelectionRange(placeOf(area.value, line, column), end);
  area.scrollTop = Math.max(0, (line - 1) * height - area.clientHeight / 2);
}

// goto: {line, column} that changes its identity when a line is to be shown.
export function Editor({ label, text, setText, marks, goto, readonly }) {
  const area = useRef(null), gutter = useRef(null);
  const place = useRef(null);
  const count = lineCount(text);
  const numbers = useMemo(() => Array.from({ length: count }, (_, n) => n + 1).join("\n"), [count]);

  useEffect(() => {
    if (goto && area.current) showLine(area.current, goto.line, goto.column);
  }, [goto]);
  useEffect(() => {
    if (place.current !== null) area.current.setSelectionRange(place.current, place.current);
    place.current = null;
  });

  const onScroll = () => {
    gutter.current.scrollTop = area.current.scrollTop;
  };
  // Tab stays the key that leaves the field: a keyboard must not be trapped.
  const onKey = (e) => {
    if (e.key !== "Enter" || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || readonly) return;
    const made = newLine(text, area.current.selectionStart, area.current.selectionEnd);
    e.preventDefault();
    place.current = made.place;
    setText(made.text);
  };

  return html`<div class="editor">
    <div class="gutter" ref=${gutter} aria-hidden="true">
      <pre>${numbers}</pre>
      ${[...marks].map(([line, mark]) => html`<div key=${line} class=${`line-mark ${mark.severity}`}
        style=${{ "--line": Math.min(line, count) - 1 }} title=${mark.texts.map((t) => visible(t)).join("\n")}>${line}</div>`)}
    </div>
    <textarea ref=${area} aria-label=${label} value=${text} readonly=${readonly} wrap="off" spellcheck=${false}
      autocomplete="off" autocapitalize="off" onInput=${(e) => setText(e.target.value)} onScroll=${onScroll} onKeyDown=${onKey}></textarea>
  </div>`;
}

const SIGN = { same: " ", removed: "−", added: "+" };
const SPOKEN = { removed: "removed: ", added: "added: " };

export function Diff({ before, after }) {
  const rows = useMemo(() => diffLines(before, after), [before, after]);
  const counts = diffCounts(rows);
  if (!counts.added && !counts.removed) return html`<p class="soft">${before === after ? "Nothing differs." : "Only the end of the last line differs."}</p>`;
  return html`<div class="diff">
    <p class="soft">${counts.added} added, ${counts.removed} removed</p>
    <div class="diff-scroll" tabindex="0" role="region" aria-label="Difference"><table>
      <tbody>${diffHunks(rows).map((row, n) => (row.kind === "gap"
        ? html`<tr key=${n} class="gap"><td colspan="3">${row.count} equal ${row.count === 1 ? "line" : "lines"}</td></tr>`
        : html`<tr key=${n} class=${row.kind}>
            <td>${row.before ?? ""}</td><td>${row.after ?? ""}</td>
            <td><span class="sign" aria-hidden="true">${SIGN[row.kind]}</span><span class="unseen">${SPOKEN[row.kind]}</span><code>${visible(row.text.replaceAll("\t", "    "))}</code></td>
          </tr>`))}</tbody>
    </table></div>
  </div>`;
}
