#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of corrald without a browser: its files and their headers, the link that makes a tab of it one that may ask, and
`corral dashboard`, which starts the daemon and opens the link without showing it to others. As root, once more as
an ordinary user. Prints TAP. What a browser does with it: tests/acceptance/dashboard."""

import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import daemon_tap
from broker_tap import as_user, end, ok, skip
from daemon_tap import Tab

PROGRAMS = ("CORRAL", "CORRALD", "CORRALD_HTTP")
CORRAL, CORRALD = (os.path.abspath(os.environ[name]) for name in ("CORRAL", "CORRALD"))
PATIENCE = 60


class Place:
    """Folders for a daemon, and what asks it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cd-")
        self.runtime = self.folder + "/run"
        self.bin = self.folder + "/bin"
        for folder in (self.runtime, self.bin):
            os.mkdir(folder, 0o700)
        self.env = {**os.environ, "HOME": self.folder, "XDG_RUNTIME_DIR": self.runtime, "XDG_STATE_HOME": self.folder + "/state",
                    "XDG_CONFIG_HOME": self.folder + "/config", "CORRAL_PROGRAM": CORRAL, "CORRALD": CORRALD}
        for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
            self.env.pop(name, None)
        os.mkdir(self.folder + "/config")
        os.mkdir(self.folder + "/config/corral")
        with open(self.folder + "/config/corral/daemon.json", "w") as file:
            file.write('{"daemon": {"port": 0}}')

    def corral(self, *words, **env):
        return subprocess.run([CORRAL, *words], env={**self.env, **env}, capture_output=True, text=True, timeout=60, check=False)

    def link(self):
        url = json.loads(self.corral("dashboard", "--print", "--json").stdout)["url"]
        self.host = url.split("/")[2]
        return int(url.split(":")[2].split("/")[0]), url.split("#code=")[1]

    def request(self, port, method, path, body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        headers = {"Host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body is not None:
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        c.request(method, path, body, headers)
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, r.headers, text

    def login(self, port, code):
        return Tab(port, code, self.host).login()

    def tab(self):
        tab = Tab(*self.link(), self.host)
        assert tab.login() == 200
        return tab

    def stop(self):
        try:
            with open(self.runtime + "/corral/corrald.pid") as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGTERM)
        except (OSError, ValueError):
            return
        last = time.monotonic() + PATIENCE
        while os.path.exists(self.runtime + "/corral/corrald.pid") and time.monotonic() < last:
            time.sleep(0.02)

    def end(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def test_start(p):
    ok(not os.path.exists(p.runtime + "/corral"), "no daemon runs")
    done = p.corral("dashboard")
    ok(done.returncode == 0 and re.fullmatch(r"http://[0-9a-f]{32}\.localhost:\d+/#code=[0-9a-f]{64}\n", done.stdout),
       "`corral dashboard` starts one, and prints the link where there is no screen", done.stdout, done.stderr)
    ok(p.corral("status").returncode == 0, "it stays")
    pid = json.loads(p.corral("status", "--json").stdout)["pid"]
    ok(os.getsid(pid) == pid, "in a session of its own, so a terminal that is closed does not end it")
    p.corral("dashboard", "--print")
    ok(json.loads(p.corral("status", "--json").stdout)["pid"] == pid, "a second link needs no second daemon")
    found = json.loads(p.corral("dashboard", "--json").stdout)
    ok(found["opened"] is False and found["expires_ms"] / 1000 - time.time() < 61, "--json has the link, and how long it works", found)


def test_files(p, port):
    status, head, text = p.request(port, "GET", "/")
    page = gzip.decompress(text).decode()
    ok(status == 200 and "<!doctype html>" in page and head["Content-Type"].startswith("text/html"), "the page needs no token", status)
    policy = head["Content-Security-Policy"]
    ok("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy and "script-src 'self'" in policy
       and "require-trusted-types-for 'script'" in policy, "its policy: scripts and styles of its own alone, none inline", policy)
    ok(head["X-Content-Type-Options"] == "nosniff" and not [name for name in head if name.lower().startswith("access-control")]
       and "Set-Cookie" not in head and head["Cross-Origin-Resource-Policy"] == "same-origin", "nosniff, no CORS, no cookies", dict(head))
    if not os.environ.get("HAS_DASHBOARD"):
        ok("tools/setup dashboard" in page, "without the packages the page says what is missing")
        return
    ok(not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|javascript:|\bstyle=", page), "there is nothing inline in it")
    wanted, seen, size = {"/"} | set(re.findall(r'(?:src|href)="(/[^"]+)"', page)), set(), 0
    while wanted - seen:
        path = min(wanted - seen)
        seen.add(path)
        status, head, text = p.request(port, "GET", path)
        size += len(text)
        source = gzip.decompress(text).decode()
        if path.endswith(".js"):
            wanted |= set(re.findall(r'(?:from|import)\s*"(/[^"]+)"', source))
            own = not path.startswith("/lib/")
            bad = own and re.findall(r'(?:from|import)\s*"[^/"][^"]*"', source)
            ours = own and re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|dangerously|\beval\(|new Function|https?://", source)
            ok(status == 200 and not bad and not ours, f"{path}: it names files of its own alone, and makes no markup", bad, ours and ours[0])
        again = p.request(port, "GET", path, If_None_Match=head["ETag"])
        ok(again[0] == 304 and again[2] == b"" and head["ETag"], f"{path}: it is sent once", again[0])
    ok(size <= 120_000, f"all of it is {size} bytes, compressed; 120,000 may be")
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        ok(p.request(port, method, "/app.js")[0] == 405, f"{method} is none of its methods")
    for path in ("/index.html", "/..", "/app.js/", "//app.js", "/%61pp.js/../..", "/screens/", "/etc/passwd", "/lib/../app.js"):
        status = p.request(port, "GET", path)[0]
        ok(status in (400, 404), f"{path}: {status}")


def test_others(p, port):
    for name, headers in {"a name that was made to lead here": {"Host": f"evil.example:{port}"}, "another port": {"Host": p.host.split(":")[0] + f":{port + 1}"},
                          "the address": {"Host": f"127.0.0.1:{port}"}, "localhost": {"Host": f"localhost:{port}"},
                          "a page of another origin": {"Origin": "http://evil.example"},
                          "a page of another port of this host": {"Origin": "http://" + p.host.split(":")[0] + f":{port + 1}"}, "a sandboxed frame": {"Origin": "null"}}.items():
        ok(p.request(port, "GET", "/", **headers)[0] == 403, f"{name}: the page is refused")
        got = p.request(port, "POST", "/api/login", {"nonce": "0" * 32, "proof": "0" * 64}, **headers)
        ok(got[0] == 403, f"{name}: a login is refused before its proof is looked at", got)


def test_login(p):
    port, code = p.link()
    tab = Tab(port, code, p.host)
    ok(tab.login() == 200 and tab.get("/api/status")[0] == 200, "the link makes a tab one that may ask")
    ok(p.login(port, code) == 401, "once")
    _, first = p.link()
    _, second = p.link()
    ok(p.login(port, first) == 401, "a new link makes the one before void")
    ok(p.login(port, second) == 200, "and works")
    _, code = p.link()
    ok({p.login(port, format(i, "064x")) for i in range(20)} == {401}, "20 wrong links")
    ok(p.login(port, code) == 200, "void nothing")
    ok(p.request(port, "POST", "/api/login/code")[0] == 401, "a link is made for who has the token alone")
    # The API flushes what waits to be written.
    log = tab.get("/api/audit?limit=1000&action=service&decision=denied")[1]["records"]
    ok(any(r["target"] == "POST /api/login" and "corral dashboard" in r["reason"] for r in log), "wrong links are in the log", log[-3:])
    ok(not any(code in json.dumps(r) or tab.key.hex() in json.dumps(r) for r in log), "neither links nor keys are")


def test_audit(p):
    """What the screen Audit asks for."""
    get = p.tab().get

    status, all_ = get("/api/audit?limit=1000")
    numbers = [r["number"] for r in all_["records"]]
    ok(status == 200 and numbers == sorted(numbers) and numbers[0] == 1, "/api/audit: oldest first", status, numbers[:5])
    status, some = get(f"/api/audit?limit=3&before={numbers[5]}")
    ok([r["number"] for r in some["records"]] == numbers[2:5], "before: those that are older", some)
    ok(get("/api/audit?limit=3&before=1") == (200, {"records": []}), "there is none before the first")
    ok(get("/api/audit?before=0")[0] == 400, "nor a record 0")
    status, found = get(f"/api/audit/export?before={numbers[-1] + 1}")
    ok(status == 200 and [r["number"] for r in found["records"]] == numbers[::-1], "/api/audit/export: newest first", status)
    ok(get("/api/audit/export?before=1")[1] == {"records": []}, "and nothing behind the oldest")
    status, found = get("/api/audit/summary?action=service")
    steps = found["timeline"]
    ok(status == 200 and sum(s.get("denied", 0) for s in steps) == found["decisions"]["denied"] > 0
       and sum(s.get("allowed", 0) for s in steps) == found["decisions"]["allowed"] and found["step_ms"] >= 1000,
       "/api/audit/summary: the steps over time add up to the decisions", status, found["step_ms"], steps)
    ok(found["denied"][0]["at_least"] >= 1 and found["hosts"] == [], "what was denied most, and bytes by host", found["denied"][:2])
    ok(get("/api/audit/summary?decision=nonsense")[0] == 400 and get("/api/audit/summary?limit=1")[0] == 400, "a filter that there is not is an error")


def test_browser(p):
    """The browser is given a file that no other user can read, which leads on to the link."""
    for name in ("xdg-open", "browser"):
        with open(f"{p.bin}/{name}", "w") as file:
            file.write('#!/bin/sh\nenv >"$HOME/environment"\nprintf "%s\\n" "$@" >"$HOME/opened.new"; mv "$HOME/opened.new" "$HOME/opened"\n')
        os.chmod(f"{p.bin}/{name}", 0o755)
    # Which commands may have written: it leads to no browser, neither xdg-open nor another.
    for browser in ("", p.bin + "/browser"):
        done = p.corral("dashboard", DISPLAY=":7", PATH=p.bin, BROWSER=browser)
        ok(done.returncode == 0 and done.stdout.startswith("http://") and not os.path.exists(p.folder + "/opened"),
           "an xdg-open in a folder that commands may write is not run: the link is printed", done.stdout, done.stderr)
    services = p.folder + "/config/corral/services.yaml"
    with open(services, "w") as file:
        file.write(f"browser: {{open_with: {p.bin}/browser}}\n")
    os.chmod(services, 0o600)
    done = p.corral("dashboard", DISPLAY=":7", PATH=p.bin + ":/usr/bin:/bin", LD_LIBRARY_PATH=p.bin, PYTHONPATH=p.bin)
    last = time.monotonic() + PATIENCE
    while not os.path.exists(p.folder + "/opened") and time.monotonic() < last:
        time.sleep(0.02)
    with open(p.folder + "/opened") as file:
        words = file.read().split()
    ok(done.returncode == 0 and words == [p.runtime + "/corral/dashboard.html"], "the browser is given a file, and no code on its command line", words)
    with open(p.folder + "/environment") as file:
        led = [line for line in file if p.bin in line]
    ok(not led, "no variable leads it to a folder that commands may write", led)
    os.unlink(services)
    mode = os.stat(words[0]).st_mode
    with open(words[0]) as file:
        page = file.read()
    code = re.search(r"#code=([0-9a-f]{64})", page)
    ok(stat.S_IMODE(mode) == 0o600 and code and code[1] in done.stdout, "which only its owner can read, with the link that was printed", oct(mode), page)
    ok(p.login(p.link()[0], code[1]) == 401, "a later link makes it void")
    done = p.corral("dashboard", DISPLAY=":7", PATH="/nonexistent")
    ok(done.returncode == 0 and done.stdout.startswith("http://"), "without xdg-open the link is printed", done.stdout, done.stderr)


def test_failures(p):
    p.stop()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with open(p.folder + "/config/corral/daemon.json", "w") as file:
            json.dump({"daemon": {"port": number}}, file)
        done = p.corral("dashboard", "--print")
        ok(done.returncode == 0 and f":{number}/" not in done.stdout, "a port that is taken: another one is used", done.stdout, done.stderr)
    p.stop()
    with open(p.folder + "/config/corral/daemon.json", "w") as file:
        file.write('{"daemon": {"prt": 1}}')
    done = p.corral("dashboard", "--print")
    ok(done.returncode == 2 and "unknown key `prt`\n  did you mean `port`?" in done.stderr, "a daemon that does not start says why", done.stderr)
    said = subprocess.run([CORRALD], env=p.env, capture_output=True, text=True, timeout=60, check=False)
    ok("unknown key `prt`" in said.stderr, "`corrald` says it, too")
    os.unlink(p.folder + "/config/corral/daemon.json")
    done = p.corral("dashboard", "--print", XDG_RUNTIME_DIR=p.folder + "/none")
    ok(done.stderr == f"corral: the daemon does not start: cannot make {p.folder}/none/corral: No such file or directory\n"
       "  set XDG_RUNTIME_DIR to a folder of your own that is there: mkdir -m 700 FOLDER\n", "its hint is the hint", done.stderr)
    done = p.corral("dashboard", CORRALD="/nonexistent/corrald")
    ok(done.returncode == 2 and "/nonexistent/corrald" in done.stderr, "as does one that is not there", done.stderr)
    with subprocess.Popen([CORRALD, "--port", "none"], env=p.env, stderr=subprocess.DEVNULL) as daemon:
        last = time.monotonic() + PATIENCE
        while p.corral("status").returncode != 0 and time.monotonic() < last:
            time.sleep(0.05)
        done = p.corral("dashboard", "--print")
        ok(done.returncode == 2 and "--port none" in done.stderr, "a daemon without a port: what to do", done.stderr)
        daemon.terminate()


def test_modules(p):
    """The modules that need no browser, by node."""
    folder = os.environ.get("DASHBOARD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/daemon/dashboard"))
    if not shutil.which("node"):
        if os.environ.get("CI") == "true":
            ok(False, "node --test: node is missing")
        else:
            skip("node --test", "third-party cases not present: node")
        return
    done = subprocess.run(["node", "--test", folder + "/test/"], capture_output=True, text=True, timeout=5 * PATIENCE, check=False)
    ok(done.returncode == 0 and re.search(r"# pass [1-9]", done.stdout), "node --test of the modules", *done.stdout.splitlines()[:80])


def main():
    p = Place()
    try:
        test_start(p)
        port = p.link()[0]
        test_files(p, port)
        test_others(p, port)
        test_login(p)
        test_audit(p)
        test_browser(p)
        test_failures(p)
        test_modules(p)
    finally:
        p.end()
    if os.geteuid() == 0:
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/daemon/dashboard")
        # A variable is the name of a copied file.
        has = {"HAS_DASHBOARD": folder + "/app.js"} if os.environ.get("HAS_DASHBOARD") else {}
        base = folder + "/../../base"
        as_user(__file__, PROGRAMS, DASHBOARD=folder, DAEMON_TAP=daemon_tap.__file__, UTF8_TABLE=base + "/utf8.c", OFFERED_TABLE=folder + "/../../../tests/data/audit/offered.tsv",
                SHOWN_NAMES=base + "/test/shown-names.inc", **has)
    return end()


if __name__ == "__main__":
    sys.exit(main())
