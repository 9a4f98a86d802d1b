// SPDX-License-Identifier: Apache-2.0
// Now, Sandbox, Audit and Security in a real browser, over a real corrald and real sandboxes: the link, what other
// pages can do, names that try to become markup, a log that was changed, many events, a daemon that dies.
// SHOTS=FOLDER leaves pictures there.
import { spawn, spawnSync } from "node:child_process";
import { createServer, get } from "node:http";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { axe, browser, Daemon, drawn, end, misses, ok, open, part, sees, until } from "./harness.mjs";
import { shoot } from "./shots.mjs";

const daemon = new Daemon();
await daemon.start();
const b = await browser();
const XSS = `<img src=x onerror="alert(1)">`;
const go = async (page, hash) => {
  await page.evaluate((h) => (location.hash = h), hash);
};
// No script of a name ran, and none of its elements is there.
const clean = async (page) => page.complaints.filter((c) => c.includes("ran")).length === 0 &&
  (await page.evaluate(() => !document.querySelector("[onerror], [onload], img[src='x'], script:not([src]), iframe, object")));

await part("the link", async () => {
  const link = daemon.link();
  const page = await open(b, null);
  await page.goto(link);
  await page.getByText("Live", { exact: true }).waitFor();
  ok(!page.url().includes("code") && page.url() === `${daemon.origin}/`, "the code leaves the address bar", page.url());
  ok((await page.evaluate(() => history.length)) <= 2 && !(await page.evaluate(() => performance.getEntriesByType("navigation")[0].name)).includes("?"), "and is in no request");
  ok((await page.context().cookies()).length === 0, "there are no cookies");
  ok((await page.evaluate(() => Object.keys(localStorage).filter((k) => localStorage[k].length > 10))).length === 0
    && (await page.evaluate(() => sessionStorage.length)) === 0, "the tab's key is in no storage");
  ok((await page.evaluate(async () => (await indexedDB.databases()).length)) === 0, "nor in a database");
  const other = await page.context().newPage();
  await other.goto(link);
  await other.getByText("This link does not work").waitFor();
  ok(await sees(other.getByText("used already")), "the link works once, and the page says what to do");
  await other.goto("about:blank");
  await other.goto(daemon.origin);
  await other.getByText("Open this page from a terminal").waitFor();
  ok((await axe(other)).length === 0, "a tab without a key says how to get one");
  // A new link in the tab that has an old page.
  await other.goto(daemon.link());
  await other.getByText("Live", { exact: true }).waitFor();
  ok(!other.url().includes("code"), "a new link in the same tab logs it in");
  await page.context().close();
});

await part("other pages", async () => {
  const page = await open(b, daemon);
  const server = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<!doctype html><title>evil</title>")).listen(0, "127.0.0.1");
  await until(() => server.listening);
  for (const host of ["127.0.0.1", "localhost"]) {
    const evil = await page.context().newPage();
    await evil.goto(`http://${host}:${server.address().port}/`);
    const got = await evil.evaluate(async ([origin, token]) => {
      const tries = {};
      const attempt = async (name, run) => {
        try {
          tries[name] = await run();
        } catch (e) {
          tries[name] = `refused: ${e.name}`;
        }
      };
      const load = (element) => new Promise((done) => {
        element.onload = () => done("loaded");
        element.onerror = () => done("refused");
        document.head.append(element);
        setTimeout(() => done("refused: time"), 3000);
      });
      await attempt("read", async () => (await fetch(origin + "/api/status")).status);
      await attempt("read with the token", async () => (await fetch(origin + "/api/status", { headers: { Authorization: `Bearer ${token}` } })).status);
      await attempt("read without CORS", async () => (await fetch(origin + "/api/status", { mode: "no-cors" })).type);
      await attempt("page", async () => (await fetch(origin + "/")).status);
      await attempt("login", async () => (await fetch(origin + "/api/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })).status);
      await attempt("login as text", async () => (await fetch(origin + "/api/login", { method: "POST", mode: "no-cors", body: '{"nonce":"0"}' })).type);
      await attempt("events", () => new Promise((done) => {
        const source = new EventSource(origin + "/sse/events");
        source.onmessage = () => done("heard");
        source.onerror = () => done("refused");
      }));
      await attempt("script", () => load(Object.assign(document.createElement("script"), { src: origin + "/app.js", type: "text/javascript" })));
      await attempt("module", () => load(Object.assign(document.createElement("script"), { src: origin + "/app.js", type: "module" })));
      await attempt("image", () => load(Object.assign(document.createElement("img"), { src: origin + "/icon.svg" })));
      await attempt("storage", () => Object.keys(sessionStorage)[0] || document.cookie || "refused: empty");
      await attempt("window", async () => {
        const w = open(origin + "/");
        await new Promise((wake) => setTimeout(wake, 700));
        try {
          return w && !w.closed && w.document.getElementById("app") ? "read" : "refused: no handle";
        } finally {
          w?.close();
        }
      });
      return tries;
    }, [daemon.origin, daemon.token]);
    // "opaque" is an answer that the page cannot read; the daemon refused it, too.
    for (const [name, result] of Object.entries(got))
      ok(String(result).startsWith("refused") || result === "opaque", `a page of ${host}, another port: ${name}: ${result}`);
    const frame = await evil.evaluate(async (origin) => {
      const f = document.createElement("iframe");
      f.src = origin + "/";
      document.body.append(f);
      await new Promise((done) => (f.onload = done));
      return f.contentDocument === null;
    }, daemon.origin);
    const inner = evil.frames()[1];
    ok(frame && !(await inner.evaluate(() => Boolean(document.getElementById("app"))).catch(() => false)), `a page of ${host}, another port: no frame around it`, inner?.url());
    await evil.close();
  }
  let denied = [];
  const logged = async () => {
    denied = (await daemon.api("GET", "/api/audit?action=service&decision=denied&limit=1000")).body.records;
    return denied.some((r) => r.reason.includes("other origins"));
  };
  ok(await until(logged), "the daemon refused them, and has that in its log", denied.slice(-2));
  ok(await sees(page.getByText("Live", { exact: true })), "the page itself goes on");
  server.close();
  await page.context().close();
});

await part("policy of the page", async () => {
  const page = await open(b, daemon);
  const got = await page.evaluate(async () => {
    const script = document.createElement("script");
    let markup = "made", code = "run";
    try {
      script.textContent = "globalThis.ran = 1";
      document.head.append(script);
    } catch {
      // Trusted types refuse the text already.
    }
    try {
      document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='globalThis.ran = 2'>");
    } catch {
      markup = "refused";
    }
    // In a turn of its own: what a test evaluates is free of the policy.
    await new Promise((done) => setTimeout(() => {
      try {
        code = Function("return 'run'")();
      } catch {
        code = "refused";
      }
      done();
    }));
    const style = Object.assign(document.createElement("style"), {});
    style.append("html { --probe: 1 }");
    document.head.append(style);
    await new Promise((wake) => setTimeout(wake, 100));
    return { ran: globalThis.ran ?? null, markup, code, style: getComputedStyle(document.documentElement).getPropertyValue("--probe") };
  });
  ok(got.ran === null && got.markup === "refused" && got.code === "refused" && got.style === "", "no inline script, no inline style, no eval, no markup from a text", got);
  await page.context().close();
});

// A folder, a program, its arguments and files that it is denied, all hostile.
const evil = join(daemon.place, "work", XSS.replaceAll("/", "")), hidden = join(daemon.place, "hidden");
for (const folder of [evil, hidden]) mkdirSync(folder);
writeFileSync(join(evil, `<svg onload=alert(2)>`), "#!/bin/sh\nwhile :; do sleep 1; done\n", { mode: 0o755 });
writeFileSync(join(hidden, `<img src=x onerror=alert(3)>`), "");
writeFileSync(join(hidden, "\u202e<b>gpj"), "");

await part("hostile names", async () => {
  const page = await open(b, daemon);
  const child = daemon.run("--cwd", evil, "--write", evil, "--", join(evil, "<svg onload=alert(2)>"), `<script>alert(4)</script>`);
  daemon.corral("run", "--explain", "--deny", hidden, "--", "cat", join(hidden, "<img src=x onerror=alert(3)>"), join(hidden, "\u202e<b>gpj"));
  await page.getByText("<svg onload=alert(2)>").first().waitFor();
  ok(await clean(page), "Now shows a hostile program and folder as text", page.complaints);
  await page.getByText("<img src=x onerror=alert(3)>").first().waitFor();
  ok(await clean(page), "Now shows a hostile file as text");
  ok(await sees(page.getByText("\\u{202e}<b>gpj").first()), "what would turn text around is written out");
  const box = await until(async () => (await daemon.api("GET", "/api/sandboxes")).body.sandboxes.find((s) => s.pid === child.pid));
  await page.locator(`a.box[href*="${box.id}"]`).first().click();
  await page.getByText("<script>alert(4)</script>").first().waitFor();
  ok((await page.url()).includes(box.id) && (await clean(page)), "Sandbox shows hostile arguments as text", page.complaints);
  await go(page, "#/audit?q=" + encodeURIComponent("onerror"));
  await page.getByRole("cell", { name: "<img src=x onerror=alert(3)>" }).first().waitFor();
  ok(await clean(page), "Audit shows hostile records as text", page.complaints);
  await go(page, `#/sandbox/${encodeURIComponent(XSS)}`);
  await page.getByText("There is no such sandbox").waitFor();
  ok(await clean(page), "an address is text, too", page.complaints);
  await go(page, `#/sandbox/${box.id}`);
  await page.getByRole("button", { name: "End it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
  await until(() => child.exitCode !== null || child.signalCode !== null);
  ok(child.exitCode !== null || child.signalCode !== null, "a click ends it");
  await page.getByText("ended", { exact: true }).first().waitFor();
  ok(true, "and the page says so");
  await page.context().close();
});

// What can be granted at most, to the enclave of a daemon that has no enclave-ceiling.yaml, and with one.
await part("the ceiling", async () => {
  const own = new Daemon();
  try {
    for (const ceiling of [null, 'fs: {read: ["/srv/project/**"]}\n']) {
      if (ceiling) {
        await own.kill("SIGTERM");
        mkdirSync(join(own.place, "config/corral"), { recursive: true, mode: 0o700 });
        writeFileSync(join(own.place, "config/corral/enclave-ceiling.yaml"), ceiling);
      }
      await own.start();
      const denied = await own.api("POST", "/api/invoke/fs_read", { path: "/srv/project/file" });
      ok(denied.status === 403, "an enclave without grants denies", denied);
      await until(async () => (await own.api("GET", "/api/sandboxes")).body.sandboxes.some((s) => s.kind === "enclave"));
      const page = await open(b, own);
      await go(page, "#/grants");
      const words = page.locator("details.ceiling");
      await words.locator("summary").click();
      const said = await words.innerText();
      if (ceiling) ok(said.includes("A grant lies below this ceiling") && said.includes("/srv/project") && !said.includes("Nothing:"), "with the file its lines are there", said);
      else ok(said.includes("Nothing:") && said.includes("there is no enclave-ceiling.yaml") && said.includes("~/.config/corral/enclave-ceiling.yaml") && said.includes("start the daemon again"),
        "without the file the page says so, and how to make it", said);
      ok((await axe(page)).length === 0, "and can be read by all");
      await page.context().close();
    }
  } finally {
    await own.end();
  }
});

// Whatever the daemon might answer: each field hostile.
await part("hostile answers", async () => {
  const bad = (n) => `</script>${XSS.replace("1", n)}{{7*7}}\u202e`;
  const record = { number: 1, time: new Date().toISOString(), session: bad(10), user: bad(11), sandbox: bad(12), pid: 1, program: bad(13), action: bad(14),
    target: bad(15), decision: bad(16), rule: bad(17), reason: bad(18), status: 0, count: 2, sent: 0, received: 0, hash: bad(19) };
  const box = { id: bad(20), pid: 2, started_ms: Date.now(), events: 1, denied: 1, name: bad(21), command: bad(22), folder: bad(23), policy: bad(24), kind: bad(25),
    permissions: [bad(26)], ceiling: [bad(27)], grants: [{ action: bad(28), target: bad(29) }], limits: { [bad(30)]: bad(31) } };
  const answers = {
    "/api/status": { version: bad(32), started_ms: 1 }, "/api/sandboxes": { sandboxes: [box] }, "/api/audit": { records: [record] },
    "/api/audit/summary": { records: 1, events: 1, from: record.time, to: record.time, decisions: { denied: 1 }, denied: [{ action: bad(33), target: bad(34), at_least: 1, at_most: 2 }],
      hosts: [{ host: bad(35), at_least: 5, at_most: 5 }], step_ms: 1000, timeline: [{ time_ms: Date.now(), denied: 1 }] },
    "/api/audit/verify": { fine: false, text: bad(36), number: 3, meaning: bad(37), advice: bad(38) },
    "/api/security": { checked_ms: 1, ok: [bad(39)], findings: [{ id: "1", severity: bad(40), kind: bad(41), text: bad(42), where: bad(43), remedy: `${bad(44)} \`${bad(45)}\``, since_ms: 1 }] },
    "/api/doctor": { kernel: bad(46), tier: bad(47), findings: [{ name: bad(48), held: false, weight: "useful", needed_for: bad(49), detail: bad(50), hint: bad(51) }] },
  };
  const page = await open(b, null);
  // These answers have no proof: the page is one that believes all of them.
  await page.route("**/proof.js", async (route) => {
    // Node looks names up elsewhere than browsers do.
    const url = new URL(route.request().url()), { host } = url;
    url.hostname = "127.0.0.1";
    const headers = { ...route.request().headers(), host };
    const response = await route.fetch({ url: String(url), headers });
    const body = (await response.text()).replace("return proof === (await mac(this.#key", "return true || (await mac(this.#key");
    return route.fulfill({ response, body, headers: { ...response.headers(), "content-encoding": "identity" } });
  });
  await page.route("**/api/**", (route) => {
    const path = new URL(route.request().url()).pathname;
    const body = path.startsWith("/api/sandboxes/") ? box : answers[path];
    return body ? route.fulfill({ json: body }) : route.continue();
  });
  await page.goto(daemon.link());
  for (const [hash, numbers] of [["#/now", [23, 15, 18]], [`#/sandbox/${encodeURIComponent(box.id)}`, [21, 23, 26, 27, 28, 30, 31]], ["#/audit", [15, 18, 34, 35]], ["#/security", [40, 42, 43, 44, 45, 46, 48, 49, 50, 51]]]) {
    await go(page, hash);
    const missing = await until(async () => {
      const text = await page.evaluate(() => document.body.textContent);
      return numbers.every((n) => text.includes(`alert(${n})`));
    });
    ok(missing && (await clean(page)), `${hash.slice(0, 10)}: each field is shown, none runs`, page.complaints, await page.evaluate(() => document.body.innerText.slice(0, 1500)));
  }
  await go(page, "#/audit");
  await page.getByRole("button", { name: "Verify the log" }).click();
  await page.getByText("alert(36)").waitFor();
  await page.locator("button.cell").first().click();
  await page.getByRole("dialog").waitFor();
  ok(await clean(page), "nor does one of a record or a fault of the log", page.complaints);
  await page.context().close();
});

await part("the log", async () => {
  const page = await open(b, daemon);
  const work = join(daemon.work, "granted");
  mkdirSync(work);
  symlinkSync("/etc/passwd", join(work, "link"));
  writeFileSync(join(work, "note.txt"), "hello\n");
  const yaml = `fs:\n  read: ["${work}/{,**}"]\n`;
  // Seed 004's list, by the API that a desktop shell has.
  const read = async (path) => (await daemon.api("POST", "/api/invoke/fs_read", { path })).status;
  ok((await read("/etc/passwd")) === 403, "/etc/passwd is denied");
  const set = await daemon.api("POST", "/api/invoke/set_policy", { policy: yaml });
  ok(set.status === 200 && (await read(join(work, "note.txt"))) === 200, "a folder that is granted is read at the next call", set);
  ok((await read(`${work}/../../../../../../etc/passwd`)) === 403 && (await read(join(work, "link"))) === 403, "`../` and links stay denied");
  daemon.corral("run", "--explain", "--deny", "/etc/passwd", "--", "cat", "/etc/passwd");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByLabel("Search targets").fill("etc/passwd");
  await page.getByRole("combobox", { name: "Decision" }).selectOption("denied");
  // What is typed is searched for a moment later.
  await until(() => /[?&]q=/.test(page.url()) && /denied/.test(page.url()));
  const row = page.locator(".row.records").filter({ hasText: "/etc/passwd" }).first();
  await row.waitFor();
  ok((await row.innerText()).includes("denied"), "/etc/passwd is seen in Audit as denied", await row.innerText());
  ok(await sees(page.locator(".tops").first().getByText("/etc/passwd").first()), "and among what was denied most");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export JSON" }).click()]);
  const exported = JSON.parse(readFileSync(await download.path(), "utf8"));
  ok(exported.records.length > 0 && exported.records.every((r) => r.target.includes("etc/passwd") && r.decision === "denied") && /^corral-audit-.*\.json$/.test(download.suggestedFilename()),
    "what the search found is exported as JSON", exported.records.length);
  await row.locator("button.cell").focus();
  await page.keyboard.press("Enter");
  ok(await sees(page.getByRole("dialog").getByText("/etc/passwd").first()), "a record opens by the keyboard");
  await page.keyboard.press("Escape");
  ok(await misses(page.getByRole("dialog")), "and closes by Escape");
  await page.getByRole("button", { name: "Verify the log" }).click();
  await page.getByText("The log is what was written.").waitFor();
  ok(true, "the log is verified");
  const python = `import sqlite3; c = sqlite3.connect(${JSON.stringify(daemon.log)}, timeout=60); e = c.execute("SELECT event FROM record WHERE number = 5").fetchone()[0]; c.execute("UPDATE record SET event = ? WHERE number = 5", (e[:-1] + bytes([e[-1] ^ 1]),)); c.commit()`;
  const tampered = spawnSync("python3", ["-c", python], { encoding: "utf8" });
  await page.getByRole("button", { name: "Verify the log" }).click();
  await page.getByText("The log was changed, or is damaged.").waitFor();
  ok(tampered.status === 0 && (await page.getByRole("alert").first().innerText()).includes("record 5"), "a log that was changed is shown as such, with the record", tampered.stderr, await page.getByRole("alert").first().innerText());
  await page.context().close();
});

await part("many events, and a daemon that dies", async () => {
  await daemon.end();
  const d = new Daemon();
  await d.start();
  const page = await open(b, d);
  await page.evaluate(() => {
    globalThis.frames = [];
    let last = performance.now();
    const turn = (now) => {
      globalThis.frames.push(now - last);
      last = now;
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  });
  const total = () => page.evaluate(() => globalThis.corral.state.total);
  const send = (...words) => spawn(process.env.JOIN_EVENTS, words.map(String), { env: d.env, stdio: "inherit" });
  send(12_000, 1000);
  await until(async () => (await total()) >= 10_000);
  ok((await total()) >= 10_000, "10,000 events come", await page.evaluate(() => [globalThis.corral.state.total, globalThis.corral.state.dropped]));
  const list = page.locator(".activity .window");
  const made = await list.locator(".row").count();
  ok(made < 80, `of which ${made} rows are made`);
  const ends = await list.evaluate(async (w) => {
    const seen = [];
    for (let at = 0; at <= 20; at++) {
      w.scrollTop = (w.scrollHeight * at) / 20;
      let row = null;
      for (let frame = 0; frame < 100 && !row?.textContent.trim(); frame++) {
        await new Promise((wake) => requestAnimationFrame(() => requestAnimationFrame(wake)));
        const box = w.getBoundingClientRect();
        row = document.elementFromPoint(box.left + 40, box.top + box.height / 2)?.closest(".row");
      }
      seen.push(Boolean(row?.textContent.trim()));
    }
    return seen;
  });
  ok(ends.every(Boolean), "scrolled from end to end there is a row everywhere", ends);
  await list.evaluate((w) => (w.scrollTop = 5000));
  await drawn(page);
  const place = () => list.evaluate((w) => {
    const box = w.getBoundingClientRect();
    return document.elementFromPoint(box.left + 300, box.top + 100)?.closest(".row")?.textContent;
  });
  const before = await until(place);
  send(50, 0);
  await until(async () => (await list.evaluate((w) => w.scrollTop)) > 5000);
  ok(await until(async () => (await place()) === before), "who has scrolled down keeps the place when events come", before, await place());
  const frames = await page.evaluate(() => globalThis.frames.slice(10).sort((a, c) => a - c));
  console.log(`# frames: ${frames.length}, median ${frames[frames.length >> 1].toFixed(1)} ms, 99 % below ${frames[Math.floor(frames.length * 0.99)].toFixed(0)} ms`);

  // The process that reads HTTP dies: the daemon is the same, and so is the tab's key.
  spawnSync("pkill", ["-KILL", "-P", String(d.process.pid), "corrald-http"]);
  await page.getByText("Reconnecting…").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  const child = d.run("--", "sleep", "100");
  await page.locator("a.box").filter({ hasText: "sleep" }).first().waitFor();
  ok(true, "the reader of HTTP is killed: the page goes on by itself");
  child.kill();
  const port = d.port, { token } = d;
  await d.kill();
  await page.getByText("Reconnecting…").waitFor();
  ok(await sees(page.getByText("sandboxes go on without the daemon")), "the daemon is killed: the page says so");
  // Another program takes the port, says yes to everything, and leaves a script for all that comes later.
  const heard = [];
  const thief = createServer((asked, answer) => {
    heard.push(`${asked.method} ${asked.url} ${asked.rawHeaders.join(" ")}`);
    if (asked.url === "/evil" || asked.url === "/evil.js") {
      const script = 'addEventListener("install", () => skipWaiting()); addEventListener("activate", (e) => e.waitUntil(clients.claim()));' +
        'addEventListener("fetch", (e) => e.respondWith(new Response("taken over", { headers: { "Content-Type": "text/html" } })));';
      answer.setHeader("Content-Type", asked.url === "/evil" ? "text/html" : "text/javascript");
      return answer.end(asked.url === "/evil" ? "<!doctype html><title>evil</title>" : script);
    }
    answer.setHeader("Content-Type", asked.url === "/sse/events" ? "text/event-stream" : "application/json");
    answer.end('event: connected\ndata: {"version":"1","last":1}\n\n');
  }).listen(port, "127.0.0.1");
  ok(await sees(page.getByText("Open this page again")), "another program answers at the port: the page does not take it for the daemon");
  const proved = heard.filter((h) => h.includes(" Authorization "));
  ok(proved.length > 0 && heard.every((h) => /^GET \/(sse\/events|icon\.svg) /.test(h) && !h.includes(token) && !h.includes("Bearer")), "and has asked it for events alone, without a secret", heard);
  const before_ = d.origin;
  for (const origin of [before_, `http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    const evil = await page.context().newPage();
    await evil.goto(`${origin}/evil`);
    await evil.evaluate(async () => {
      await navigator.serviceWorker.register("/evil.js");
      await navigator.serviceWorker.ready;
    });
    await evil.goto(`${origin}/`);
    ok((await evil.content()).includes("taken over"), `it keeps a script in the browser for ${origin === before_ ? "the old name" : origin.replace(/:\d+$/, "")}`);
    await evil.close();
  }
  thief.close();
  thief.closeAllConnections();
  await d.start(port);
  ok(d.port === port && d.origin !== before_, "the daemon is back at that port, with another name", before_, d.origin);
  const replayed = await Promise.all(proved.map((h) => new Promise((done, fail) => {
    const headers = { Host: new URL(d.origin).host, Authorization: /Authorization (Corral \S+)/.exec(h)[1] };
    get({ host: "127.0.0.1", port, path: "/sse/events", headers }, (r) => done(r.resume().statusCode)).on("error", fail);
  })));
  ok(replayed.every((status) => status === 401), "what it heard is refused by the daemon", replayed);
  await page.goto("about:blank");
  await page.goto(d.link());
  await page.getByText("Live", { exact: true }).waitFor();
  ok(true, "with a new link the page is live again, and the daemon's own");
  ok(page.complaints.every((c) => /ERR_|Failed to (load|fetch)/.test(c)), "nothing else went wrong", page.complaints);
  await page.context().close();
  await d.end();
});

await part("keys, and who cannot see", async () => {
  const d = new Daemon();
  await d.start();
  mkdirSync(join(d.work, "api"));
  d.run("--explain", "--deny", "/etc/passwd", "--", "sh", "-c", "while :; do cat /etc/passwd ~/.ssh/id_ed25519; getent hosts telemetry.example.com; sleep 0.4; done");
  d.run("--cwd", join(d.work, "api"), "--", "sh", "-c", "exec sleep 1000");
  const page = await open(b, d);
  await page.getByText("/etc/passwd").first().waitFor();
  const id = await until(async () => (await d.api("GET", "/api/sandboxes")).body.sandboxes.find((s) => s.denied > 0)?.id);
  await until(async () => (await d.api("GET", "/api/sandboxes")).body.sandboxes.length === 2);
  await page.locator("a.box").nth(1).waitFor();
  const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
  };
  await keys("g", "a");
  await page.getByRole("heading", { name: "Audit", level: 1 }).waitFor();
  await page.locator("[data-search]").waitFor();
  await keys("/");
  ok(await page.evaluate(() => document.activeElement.matches("[data-search]")), "g a goes to Audit, / to the search");
  await page.keyboard.type("passwd");
  await page.waitForURL("**/#/audit?q=passwd");
  ok((await page.evaluate(() => document.activeElement.value)) === "passwd", "the search keeps what is typed, and the focus");
  await page.evaluate(() => document.activeElement.blur());
  await keys("?");
  ok(await sees(page.getByRole("dialog", { name: "Keys" })), "? shows the keys");
  await keys("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await keys("g", "s");
  await page.getByRole("heading", { level: 1, name: /finding|security/i }).waitFor();
  await keys("g", "n");
  // Everything that can be clicked is reached by Tab, and what has the focus is seen.
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.evaluate(() => document.activeElement.blur());
  const reached = new Set();
  let unseen = null;
  for (let i = 0; i < 60; i++) {
    await keys("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement, style = getComputedStyle(e);
      return { name: e === document.body ? "BODY" : e.textContent.slice(0, 40) || e.className || e.tagName, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
    });
    reached.add(at.name);
    if (!at.outline && at.name !== "BODY") unseen ??= at.name;
  }
  ok(["Skip to content", "Pause", "All", "Denied"].every((name) => reached.has(name)) && [...reached].some((n) => n.startsWith("Audit")), "Tab reaches the controls", [...reached]);
  ok(unseen === null, "what has the focus is seen", unseen);
  ok(await page.evaluate(() => [...document.querySelectorAll("*")].every((e) => getComputedStyle(e).animationName === "none")), "who asks for less motion gets none");
  const screens = { now: "#/now", sandbox: `#/sandbox/${id}`, audit: "#/audit", security: "#/security" };
  // What is there when all that a screen asks for has come.
  const whole = { now: ".activity .row", sandbox: ".panel.may li", audit: ".row.records", security: ".panel header time" };
  for (const [name, hash] of Object.entries(screens)) {
    await go(page, hash);
    await page.locator(whole[name]).first().waitFor();
    for (const colorScheme of ["light", "dark"])
      for (const width of [1360, 390]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 860 });
        await drawn(page);
        const found = await axe(page);
        ok(found.length === 0, `${name}, ${colorScheme}, ${width} wide: axe finds nothing`, found);
        const over = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        ok(await until(async () => (await over()) <= 0), `${name}, ${width} wide: nothing is wider than the page`, await over());
      }
    await page.setViewportSize({ width: 1360, height: 860 });
    if (name === "audit") {
      await page.getByRole("button", { name: "Verify the log" }).click();
      await page.getByText("The log is what was written.").waitFor();
    }
    await shoot(page, name);
  }
  await page.context().close();
  await d.end();
});

await b.close();
await daemon.end();
process.exit(end());
