#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""http_request against curl of the same URL: medians of calls in turn, each with one request.

    the broker   a program inside asks the broker, which starts corral-fetch in its sandbox
    curl inside  the same program starts curl, whose connection goes by the relay
    curl         without a sandbox

$CORRAL, $CORRAL_BROKER, $CORRAL_FETCH and $CORRAL_WARDEN are the programs.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

ORIGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "broker", "origin.py")
ROUNDS = 60

TIMED = r"""
import json, os, socket, subprocess, sys, time

def broker(url):
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "http_request", "params": {"url": url}}).encode() + b"\n")
    return "result" in json.loads(lines.readline())

def curl(url):
    return subprocess.run(["curl", "-s", "-o", "/dev/null", url]).returncode == 0

kinds = [curl]
if os.environ.get("SANDBOX_SOCKET"):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["SANDBOX_SOCKET"])
    lines = s.makefile()
    kinds.append(broker)
times = {}
for i in range(int(sys.argv[2]) + 1):
    for kind in kinds:
        start = time.monotonic()
        if not kind(sys.argv[1]):
            sys.exit(kind.__name__ + " failed")
        # The first builds the sandbox that the others use.
        name = kind.__name__ + ("" if i else " first")
        times.setdefault(name, []).append(time.monotonic() - start)
print(json.dumps(times))
"""


def timed(words, url):
    r = subprocess.run([*words, "/usr/bin/python3", "-c", TIMED, url, str(ROUNDS)], capture_output=True, check=False)
    if r.returncode != 0:
        sys.exit(f"bench-fetch: {r.stderr.decode()}")
    return json.loads(r.stdout)


with tempfile.TemporaryDirectory() as folder:
    origin = subprocess.Popen([sys.executable, ORIGIN, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    port = origin.stdout.readline().split()[0].decode()
    address = f"http://localhost:{port}/hello"
    os.chdir(folder)
    inside = timed([os.environ["CORRAL"], "run", "--broker", "--read", "/usr/**", "--net", f"localhost:{port}", "--"],
                   address)
    outside = timed([], address)
    origin.stdin.close()
    origin.wait()

rows = (("the broker, first call", inside["broker first"]), ("the broker", inside["broker"]),
        ("curl inside", inside["curl"]), ("curl", outside["curl"]))
for name, values in rows:
    print(f"{name:24} {statistics.median(values) * 1000:8.2f} ms")
print(f"the broker / curl        {statistics.median(inside['broker']) / statistics.median(outside['curl']):8.2f}")
