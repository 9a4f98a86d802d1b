#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corrald's events by a real EventSource, the package `eventsource` of npm in Node: it hears what happens, goes on
where it was when the process that reads HTTP dies, and is refused without the token of this start of the daemon.
Prints TAP."""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
sys.path.insert(0, E2E)
import daemon_tap as daemon  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PATIENCE = 60


class Source:
    """An EventSource in a process of its own."""

    def __init__(self, d, token=None):
        words = ["node", HERE + "/events.mjs", os.environ["EVENTSOURCE"], d.bridge.url, token or d.token]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.heard = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))

    def next(self, *types, **data):
        """The next of these types with these values; None: it does not come."""
        while True:
            try:
                event = self.heard.get(timeout=PATIENCE)
            except queue.Empty:
                return None
            if event["type"] in types and all(event["data"].get(key) == value for key, value in data.items()):
                return event

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def test(d):
    d.start()
    d.bridge = daemon.Bridge(d)
    s = Source(d)
    ok(s.next("connected"), "it connects")
    d.get("/api/config")
    first = s.next("api_request", request="GET /api/config")
    ok(first and int(first["id"]) > 0, "and hears of a request", first)
    refused = Source(d, "0" * 64)
    ok((refused.next("error") or {}).get("status") == 401, "without the token it is refused")
    refused.close()
    # It stays until then: one that ends before the daemon let it in leaves its events instead.
    with subprocess.Popen([daemon.CORRAL, "run", "--", "cat"], env=d.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        joined = s.next("sandbox", state="joined")
        err = run.communicate(timeout=PATIENCE)[1]
    ok(run.returncode == 0 and joined, "a run is an event", err)
    os.kill(d.status()["http"]["pid"], signal.SIGKILL)
    ok(s.next("error"), "the process that reads HTTP is killed: it is cut off")
    ok(s.next("connected"), "and connects again")
    d.get("/api/doctor")
    second = s.next("api_request", request="GET /api/doctor")
    ok(second and int(second["id"]) > int(joined["id"]), "ids grow", second)
    d.stop(signal.SIGKILL)
    ok(s.next("error"), "the daemon is killed")
    d.start()
    ok(any((s.next("error") or {}).get("status") == 401 for _ in range(50)), "the next one has another token")
    s.close()
    s = Source(d)
    ok(s.next("connected"), "with which it is heard again")
    d.get("/api/config")
    third = s.next("api_request", request="GET /api/config")
    ok(third and int(third["id"]) > int(second["id"]), "ids grow over restarts", third)
    s.close()


def main():
    if not shutil.which("node") or not os.path.exists(os.environ["EVENTSOURCE"] + "/package.json"):
        if os.environ.get("CI") == "true":
            ok(False, "node and the package eventsource are there: tools/setup dashboard-test")
        else:
            skip("a real EventSource", "third-party cases not present: tools/setup dashboard-test")
        return end()
    d = daemon.Daemon()
    try:
        test(d)
    finally:
        d.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
