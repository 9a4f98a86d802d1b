// SPDX-License-Identifier: Apache-2.0
// How often something happened: the headline, the chart and its legend count in the same way. Pure.

const LOOKUP_MS = 2000;

// How many times an event counts. A look-up is one, though a program asks for several kinds of address: `before` keeps
// when each name was asked for last.
export function weight(event, before) {
  if (event.action !== "net.name") return event.count || 1;
  const key = `${event.id} ${event.decision} ${event.target}`;
  const last = before.get(key);
  before.set(key, event.time_ms);
  if (before.size > 1000) before.delete(before.keys().next().value);
  return last !== undefined && event.time_ms - last < LOOKUP_MS ? 0 : 1;
}

// The last so many seconds of a rate: {times, values: {allowed, asked, denied}, sums}. What waits for an answer was
// asked, also if that was earlier.
export function recent(rate, now, seconds, waiting) {
  const times = Array.from({ length: seconds }, (_, i) => now - seconds + 1 + i);
  const values = {}, sums = {};
  for (const name of ["allowed", "asked", "denied"]) {
    values[name] = times.map((t) => rate.get(t)?.[name] ?? 0);
    sums[name] = values[name].reduce((a, b) => a + b, 0);
  }
  sums.asked = Math.max(sums.asked, waiting);
  return { times, values, sums };
}
