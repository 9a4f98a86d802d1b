// SPDX-License-Identifier: Apache-2.0
// A real EventSource (npm: eventsource) on /sse/events: events.mjs PACKAGE URL TOKEN. Prints each event as one line
// of JSON, and that it was cut off, until its standard input ends.
import { createRequire } from "node:module";

const [folder, url, token] = process.argv.slice(2);
const EventSource = createRequire(import.meta.url)(folder);
const source = new EventSource(url + "/sse/events", { headers: { Authorization: `Bearer ${token}` } });
const say = (line) => console.log(JSON.stringify(line));

for (const type of ["connected", "api_request", "sandbox", "decision", "output", "policy", "finding", "dropped"])
  source.addEventListener(type, (e) => say({ type, id: e.lastEventId, data: JSON.parse(e.data) }));
source.onerror = (e) => say({ type: "error", status: e.status ?? null });
process.stdin.on("end", () => process.exit(0)).resume();
