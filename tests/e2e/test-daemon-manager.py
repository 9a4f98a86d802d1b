#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corrald under a service manager and a monitor: socket activation by systemd-socket-activate, a watchdog that asks whether
corrald-http really answers, metrics that Prometheus can read. As root, once more as an ordinary user. Prints TAP."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from broker_tap import end, ok, skip
from daemon_tap import CORRAL, CORRALD, PATIENCE, Daemon, Notify, beside_user, until, works

ACTIVATE = shutil.which("systemd-socket-activate", path=os.environ.get("PATH", "") + ":/usr/bin:/lib/systemd")


def metrics(d):
    status, headers, text = d.get("/metrics")
    assert status == 200, text
    return headers["Content-Type"], text.decode() if isinstance(text, bytes) else str(text)


def values(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}


def test_metrics(d):
    ok(d.get("/metrics", {})[0] == 401, "metrics need the token")
    kind, text = metrics(d)
    ok(kind.startswith("text/plain; version=0.0.4"), "in the format of Prometheus", kind)
    line = re.compile(r'(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"\\\n]*"\})? \d+)')
    bad = [row for row in text.splitlines() if not line.fullmatch(row)]
    ok(text.endswith("\n") and not bad, "each line is well-formed", bad)
    named, typed = (set(re.findall(pattern, text, re.M)) for pattern in (r"^([a-z_]+)[ {]", r"^# TYPE ([a-z_]+) (?:counter|gauge)$"))
    ok(named == typed and len(re.findall("^# TYPE", text, re.M)) == len(typed), "each has one type", named ^ typed)
    counters = {name for name in typed if f"# TYPE {name} counter" in text}
    ok(all(name.endswith("_total") for name in counters), "counters end with _total", counters)
    before = values(text)
    os.makedirs(d.place + "/data", exist_ok=True)
    # It stays until then: one that ends before the daemon let it in leaves its events instead.
    with subprocess.Popen([CORRAL, "run", "--", "cat"], env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE) as p:
        d.get("/api/status", {})
        joined = until(lambda: values(metrics(d)[1])["corrald_sandboxes_joined_total"] == before["corrald_sandboxes_joined_total"] + 1)
        p.communicate(timeout=PATIENCE)
    ok(joined and p.returncode == 0, "a run is counted", metrics(d)[1])
    after = values(metrics(d)[1])
    ok(after['corrald_api_requests_total{status="4xx"}'] == before['corrald_api_requests_total{status="4xx"}'] + 1
       and after['corrald_api_requests_total{status="2xx"}'] > before['corrald_api_requests_total{status="2xx"}'], "requests by status", after)
    ok(after["corrald_http_starts_total"] == 1 and after["corrald_audit_failed"] == 0, "and the daemon itself", after)


def heard(manager):
    """What the manager heard since it was asked last."""
    words, manager.words = manager.words, []
    return words


def test_watchdog(d):
    path = d.place + "/notify"
    manager = Notify(path)
    d.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"})
    ok(until(lambda: b"WATCHDOG=1" in heard(manager)), "while corrald-http answers, the manager hears so")
    victim = d.status()["http"]["pid"]
    os.kill(victim, signal.SIGSTOP)
    # It is there, and does not answer: the manager hears nothing, and then there is another one.
    quiet = until(lambda: not heard(manager) and not (time.sleep(0.5) or heard(manager)), 2 * PATIENCE)
    ok(quiet and os.path.exists(f"/proc/{victim}"), "of one that hangs it hears nothing")
    ok(until(lambda: works(d) and d.status()["http"]["pid"] != victim, 2 * PATIENCE), "one that hangs is started again")
    ok("does not answer" in d.said(), "and the log says why", d.said())
    heard(manager)
    ok(until(lambda: b"WATCHDOG=1" in heard(manager)), "then all is well")
    d.stop()


def free_port():
    """None of those that the kernel gives to others meanwhile."""
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.randrange(10000, 30000)))
                return probe.getsockname()[1]
            except OSError:
                pass


def listens(path):
    """Is there a listening socket at this path? A client that asked by connecting would be the first one."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as sockets:
        return any(row[3] == "00010000" and row[-1] == path for row in map(str.split, sockets))


def test_activation(d):
    name = "sockets of systemd-socket-activate"
    if not ACTIVATE:
        (ok if os.environ.get("CI") == "true" else lambda _, text: skip(text, "no systemd-socket-activate"))(False, name)
        return
    d.port = free_port()
    os.makedirs(d.folder, mode=0o700, exist_ok=True)
    unix = d.folder + "/api.sock"
    if os.path.exists(unix):
        os.unlink(unix)
    path = d.place + "/notify2"
    passed = [word for name in (*d.env, "NOTIFY_SOCKET") for word in ("-E", name)]
    manager = Notify(path)
    with open(d.log, "a") as log:
        before = log.tell()
        d.process = subprocess.Popen([ACTIVATE, "-l", f"127.0.0.1:{d.port}", "-l", unix, *passed, CORRALD], env={**d.env, "NOTIFY_SOCKET": path}, stderr=log)
        ok(until(lambda: listens(unix)) and "ready" not in d.said(before), "nothing runs before a client connects", d.said(before))
        status, _, body = d.get("/api/health", {})
        ok(status == 200 and body["status"] == "ok", "the first connection starts it, and is answered", body)
        ok(until(lambda: manager.words == [b"READY=1"]), "and it says that it is ready", manager.words)
        d.token = open(d.folder + "/token").read().strip()
        ok(d.status()["port"] == d.port and d.get("/api/status", unix=True)[2]["pid"] == d.process.pid, "both sockets are the manager's")
        d.stop()
        ok(until(lambda: manager.words == [b"READY=1", b"STOPPING=1"]) and d.process.returncode == 0, "it stops, and says so", manager.words)


def test_units():
    """Where the units of users are installed, systemd --user looks, also for a prefix in a home."""
    plan = os.path.join(os.path.dirname(CORRALD), "../../meson-info/intro-installed.json")
    if not os.path.exists(plan):
        return  # a copy, for another user
    with open(plan, encoding="utf-8") as f:
        installed = list(json.load(f).values())
    for unit in ("corrald.service", "corrald.socket"):
        ok(any(path.endswith(f"/share/systemd/user/{unit}") for path in installed), f"{unit} of users is below share", [p for p in installed if unit in p])
    pages = [f"corral-{name}.1" for name in ("questions", "grants", "ps", "status", "events")]
    ok(all(any(path.endswith("/man1/" + page) for path in installed) for page in pages) or not any("/man1/" in path for path in installed),
       "each command of the daemon has a page under its name", pages)


def main():
    with beside_user(__file__):
        test_units()
        d = Daemon()
        try:
            d.start()
            test_metrics(d)
            d.stop()
            test_watchdog(d)
            test_activation(d)
        finally:
            d.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
