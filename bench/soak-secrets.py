#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak-secrets.py [ROUNDS]: one run that is lent a secret for long. Each round makes a hundred requests on one connection and ten new
connections, one of which is left; each tenth the value changes. The host gets the value of the time, and no process that has to do with
it grows. Needs root: /proc of these processes is not the user's. Prints TAP."""

import contextlib
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
E2E = pathlib.Path(__file__).resolve().parent.parent / "tests/e2e"
sys.path.insert(0, str(E2E))
from broker_tap import end, ok  # noqa: E402

spec = importlib.util.spec_from_file_location("inject_kills", E2E / "test-inject-kills.py")
kills = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kills)

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
GROWTH_KB, CLOSING = 2048, 32  # connections that are just being closed
# HOST PORT: a line of a number in, a line of what was sent out.
CLIENT = r"""
import http.client, os, ssl, socket, sys
host, port = sys.argv[1], int(sys.argv[2])
context = ssl.create_default_context()
def ask(c):
    c.request("GET", "/echo", headers={"Authorization": os.environ["TOKEN"]})
    answer = c.getresponse()
    text = answer.read()
    assert answer.status == 200 and b"*" * 20 in text, (answer.status, text)
for line in sys.stdin:
    c = http.client.HTTPSConnection(host, port, timeout=60, context=context)
    for _ in range(100):
        ask(c)
    c.close()
    for i in range(10):
        c = http.client.HTTPSConnection(host, port, timeout=60, context=context)
        if i:
            ask(c)
        else:
            c.connect()
        c.close()
    print("done", flush=True)
"""


kills.run_secret.Handler.disable_nagle_algorithm = True


def sizes(pids):
    """Of each: memory that is its own, in KiB, and how many descriptors it has."""
    found = {}
    for name, pid in pids.items():
        rows = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        found[name] = (int(rows["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")))
    return found


def soak(place, server):
    (place.path / "work/client.py").write_text(CLIENT)
    run = kills.Run(place, "--secret", "TOKEN")
    host, port = server.place.rsplit(":", 1)
    value, first, wrong = kills.VALUE, None, []
    run.tell(f"mkfifo in out; python3 client.py {host} {port} <in >out 2>errors & exec 3>in 4<out")
    pids = {**run.found(), "run": run.process.pid}
    for n in range(ROUNDS):
        if n % 10 == 9:
            value = f"ghp_{n:036d}"
            done = place.vault("rotate", "TOKEN", value=value)
            assert done.returncode == 0, done
        server.seen.clear()
        server.bodies.clear()
        text = run.tell("echo go >&3; read -r line <&4; echo \"$line\"")
        run.said = ""
        if "done" not in text:
            wrong.append((n, text, run.tell("cat errors")))
            break
        # The change comes while requests go on: the one of before may still go with the first.
        if server.seen[-1][1] != value or len(server.seen) != 109:
            wrong.append((n, len(server.seen), server.seen[-1][1]))
        if n == ROUNDS // 10:
            first = sizes(pids)
    last = sizes(pids) if not wrong else {}
    run.end()
    ok(not wrong, f"{ROUNDS} rounds of 109 requests and 11 connections: the host gets the value of the time", *wrong[:3])
    for name in sorted(last):
        ok(last[name][0] - first[name][0] <= GROWTH_KB and last[name][1] <= first[name][1] + CLOSING,
           f"{name} does not grow: {first[name][0]} KiB and {first[name][1]} descriptors, then {last[name][0]} and {last[name][1]}")


def main():
    scratch = tempfile.mkdtemp()
    try:
        place = kills.run_secret.Place(scratch)
        place.vault("init", "--passphrase-file", str(place.passphrase))
        place.vault("unlock", "--passphrase-file", str(place.passphrase))
        shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
        os.chmod(place.path / "state/corral/vault/authorities.pem", 0o600)
        place.vault("set", "TOKEN", value=kills.VALUE)
        server = kills.Server(place.path / "good.pem")
        done = place.vault("grant", "TOKEN", server.place)
        assert done.returncode == 0, done
        soak(place, server)
    finally:
        with contextlib.suppress(OSError):
            place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
