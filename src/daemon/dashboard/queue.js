// SPDX-License-Identifier: Apache-2.0
// The order in which questions are shown. An answer must belong to what the person saw: questions keep
// their place, new ones go to the end, and one that was answered or has expired stays for a moment,
// marked, so that nothing moves below a finger that is about to press. When something must move after
// all, presses are ignored until it can have been seen.

export const LINGER_MS = 4000;
export const SETTLE_MS = 600;

// shown and the result: [{question, gone: null | {at, text}}]; answers: Map of id -> what was answered.
export function mergeQuestions(shown, fresh, answers, now) {
  const open = new Map(fresh.map((q) => [q.id, q]));
  const kept = [];
  for (const row of shown) {
    const question = open.get(row.question.id);
    open.delete(row.question.id);
    const answer = answers.get(row.question.id);
    if (question && !answer) kept.push({ question, gone: null });
    else if (row.gone === null)
      kept.push({ question: question ?? row.question, gone: { at: now, text: answer ?? "Answered elsewhere, or expired" } });
    else if (now - row.gone.at < LINGER_MS) kept.push(row);
  }
  const added = [...open.values()].filter((q) => !answers.has(q.id));
  added.sort((a, b) => a.asked_ms - b.asked_ms);
  return [...kept, ...added.map((question) => ({ question, gone: null }))];
}

const told = (row) => row && JSON.stringify([row.question.id, row.question.action, row.question.target, row.question.scopes]);

// Whether a question stands at another place than before, or asks for something else: not when some were only added.
export function hasMoved(before, after) {
  return before.some((row, at) => told(after[at]) !== told(row));
}

// The open question after (step 1) or before (-1) the place, or -1.
export function nextOpen(rows, at, step) {
  for (let i = at + step; i >= 0 && i < rows.length; i += step)
    if (rows[i].gone === null) return i;
  return -1;
}
