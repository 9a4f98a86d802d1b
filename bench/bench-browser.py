#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser.navigate, text, eval_js and screenshot against a Chromium without Corral: medians of calls in turn.

    the broker   a program inside asks the broker; corral-browser asks Chromium in its sandbox
    bare         the same questions by the same protocol, from here

The first call starts a browser. $CORRAL, $CORRAL_BROKER, $CORRAL_BACKENDS and $CORRAL_WARDEN are the programs.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ORIGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "broker", "origin.py")
CHROMIUM = "/usr/lib/chromium/chromium"
ROUNDS = 20

INSIDE = r"""
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SANDBOX_SOCKET"])
lines = s.makefile()
url, rounds = sys.argv[1], int(sys.argv[2])
calls = {"navigate": {"url": url}, "text": {}, "eval_js": {"script": "1 + 1"}, "screenshot": {}}
times = {}
for i in range(rounds + 1):
    for name, params in calls.items():
        start = time.monotonic()
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "browser." + name, "params": params}).encode() + b"\n")
        answer = json.loads(lines.readline())
        if "result" not in answer:
            sys.exit(f"{name}: {answer}")
        times.setdefault(name + ("" if i else " first"), []).append(time.monotonic() - start)
print(json.dumps(times))
"""


class Bare:
    def __init__(self, folder):
        line = (f"exec {CHROMIUM} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
                f"--remote-debugging-pipe --user-data-dir={folder}/profile 3<&0 4>&1 </dev/null >/dev/null 2>&1")
        self.child = subprocess.Popen(["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last, self.rest, self.session, self.events = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=720, deviceScaleFactor=1, mobile=False)

    def read(self):
        while b"\0" not in self.rest:
            self.rest += os.read(self.child.stdout.fileno(), 1 << 20)
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, called, **params):
        self.last += 1
        message = {"id": self.last, "method": called, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.child.stdin.write(json.dumps(message).encode() + b"\0")
        self.child.stdin.flush()
        while True:
            answer = self.read()
            if answer.get("id") == self.last:
                return answer["result"]
            self.events.append(answer.get("method"))

    def navigate(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.read().get("method"))

    def close(self):
        self.child.kill()
        self.child.wait()


def measure_bare(folder, url):
    start, times = time.monotonic(), {}
    bare = Bare(folder)
    calls = {"navigate": lambda: bare.navigate(url),
             "text": lambda: bare.call("Runtime.evaluate", expression="document.body.innerText"),
             "eval_js": lambda: bare.call("Runtime.evaluate", expression="1 + 1"),
             "screenshot": lambda: bare.call("Page.captureScreenshot")}
    for i in range(ROUNDS + 1):
        for name, run in calls.items():
            run()
            times.setdefault(name + ("" if i else " first"), []).append(time.monotonic() - start)
            start = time.monotonic()
    bare.close()
    return times


def main():
    if not os.path.exists(CHROMIUM):
        print("bench-browser: skipped, there is no Chromium (tools/setup bench installs it)")
        sys.exit(77)  # meson's word for skipped
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        origin = subprocess.Popen([sys.executable, ORIGIN, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        url = f"http://localhost:{origin.stdout.readline().split()[0].decode()}/hello"
        policy = os.path.join(folder, "policy.json")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"fs": {"read": ["/usr/**"]}, "services": {"browser": {
                "access": ["navigate", "screenshot", "eval"], "domains": ["localhost"]}}}, f)
        words = [os.environ["CORRAL"], "run", "--broker", "--policy", policy, "--", "/usr/bin/python3", "-c", INSIDE, url,
                 str(ROUNDS)]
        run = subprocess.run(words, capture_output=True, check=False, cwd=folder)
        if run.returncode != 0:
            sys.exit(f"bench-browser: {run.stderr.decode()}")
        inside, bare = json.loads(run.stdout), measure_bare(folder, url)
        origin.stdin.close()
        origin.wait()
    for name in ("navigate first", "navigate", "text", "eval_js", "screenshot"):
        ours, theirs = (statistics.median(times[name]) * 1000 for times in (inside, bare))
        print(f"{name:16} the broker {ours:8.1f} ms   bare {theirs:8.1f} ms   {ours / theirs:6.2f}")


main()
