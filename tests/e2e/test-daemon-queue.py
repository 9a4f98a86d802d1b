#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that `corral` answers wait for their turn: 50 clients at once are all answered; of a flood, those that find the line
full are refused with Retry-After, and other calls are answered meanwhile; a client that has gone leaves the line; so
does a call that waited too long. As root, once more as an ordinary user. Prints TAP."""

import json
import os
import re
import socket
import subprocess
import sys
import threading

import daemon_tap as daemon
from broker_tap import end, ok

RUN, LINE = 8, 128  # at once; waiting, of each channel
PATIENCE = 90

# Stands for corral: a check of a policy says that it began, and waits until there is a file, or the test is over.
SLOW = """#!/bin/sh
if [ "$1 $2" = "policy check" ]; then
	echo begun >> {place}/begun
	while [ -d {place} ] && ! [ -e {place}/open ]; do sleep 0.05; done
fi
exec {corral} "$@"
"""


class Check:
    """POST /api/policies/check, whose answer is read later."""

    def __init__(self, d, unix=True, operation="fs.read"):
        body = json.dumps({"policy": "permissions:\n  fs:\n    read: [/srv/**]\n", "operation": operation, "target": "/srv/x"})
        self.s = d.connect(unix)
        self.s.settimeout(PATIENCE)
        host = "localhost" if unix else d.page.host
        proof = f"Bearer {d.token}" if unix else d.page.proof("POST", "/api/policies/check", body.encode())
        self.s.sendall(f"POST /api/policies/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: {proof}\r\nConnection: close\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    def answer(self):
        """(status, all of it)"""
        got = b""
        try:
            while piece := self.s.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        self.s.close()
        found = re.match(rb"HTTP/1\.1 (\d{3}) ", got)
        return int(found[1]) if found else 0, got.decode()

    def is_answered(self):
        self.s.setblocking(False)
        try:
            return self.s.recv(1, socket.MSG_PEEK) is not None
        except BlockingIOError:
            return False
        finally:
            self.s.settimeout(PATIENCE)


class Slow:
    """A daemon whose checks wait until they may go on."""

    def __init__(self, d):
        self.d, self.open = d, d.place + "/open"
        program = d.place + "/slow"
        with open(program, "w") as file:
            file.write(SLOW.format(place=d.place, corral=daemon.CORRAL))
        os.chmod(program, 0o755)
        d.start(env={"CORRAL_PROGRAM": program})

    def begun(self):
        try:
            with open(self.d.place + "/begun") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

    def fill(self):
        """Those that run; then those that wait, and no more."""
        running = [Check(self.d) for _ in range(RUN)]
        assert daemon.until(lambda: self.begun() == RUN, PATIENCE), self.begun()
        return running, self.wait(LINE)

    def wait(self, n):
        waiting = []
        for _ in range(n):
            waiting.append(Check(self.d))
            # Its answer comes after the check has found its place: calls are taken in turn.
            self.d.status()
        return waiting

    def go_on(self):
        with open(self.open, "w"):
            pass


def test_fifty(d):
    found, start = [], threading.Barrier(50)
    d.page = d.tab()

    def client(unix):
        start.wait()
        for _ in range(4):
            found.append(Check(d, unix).answer())

    for unix in (False, True):
        found.clear()
        start.reset()
        clients = [threading.Thread(target=client, args=(unix,)) for _ in range(50)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        good = [text for status, text in found if status == 200 and '"allow' in text]
        ok(len(found) == 200 and len(good) == 200, f"50 clients at once, by {'the Unix socket' if unix else 'TCP'}: none is refused",
           len(good), [f for f in found if f[0] != 200][:3])


def test_flood(d):
    slow = Slow(d)
    d.page = d.tab()
    running, waiting = slow.fill()
    flood = [Check(d) for _ in range(200)]
    ok(daemon.until(lambda: all(c.is_answered() for c in flood), PATIENCE), "those that find the line full are answered at once")
    answers = [c.answer() for c in flood]
    ok(all(status == 429 and "\r\nRetry-After: 1\r\n" in text for status, text in answers), "with 429 and Retry-After",
       [a for a in answers if a[0] != 429][:3], answers[:1])
    ok(not any(c.is_answered() for c in running + waiting), "those before them wait")
    for unix in (False, True):
        get = lambda path: d.get(path)[::2] if unix else d.page.get(path)
        ok(get("/api/health")[0] == 200 and get("/api/status")[1]["pid"] == d.process.pid and get("/api/sandboxes")[0] == 200,
           f"other calls are answered meanwhile, by {'the Unix socket' if unix else 'TCP'}")
    other = [Check(d, unix=False) for _ in range(4)]
    gone = waiting[:LINE // 2]
    for c in gone:
        c.s.close()
    # The places of those that have gone.
    later = []
    while len(later) < len(gone):
        c = Check(d)
        # It is refused, or a later call finds it waiting.
        d.status()
        if c.is_answered():
            assert c.answer()[0] == 429
        else:
            later.append(c)
    ok(True, "a client that has gone leaves the line to another one")
    ok(not any(c.is_answered() for c in other), "the line of TCP has room")
    slow.go_on()
    served = [c.answer() for c in running + other + waiting[LINE // 2:] + later]
    ok(all(status == 200 for status, _ in served), "all that waited are served", [s for s in served if s[0] != 200][:3])
    wanted = RUN + len(other) + LINE
    ok(slow.begun() == wanted, "corral did not run for those that had gone", slow.begun(), wanted)
    ok(d.status()["http"]["restarts"] == 0, "and corrald-http is the one that was started")
    d.stop()
    for name in ("open", "begun"):
        os.unlink(d.place + "/" + name)


def test_tcp_gone(d):
    """A client of TCP that closes its connection is noticed while its call waits or runs; one that only ends what it sends is answered."""
    slow = Slow(d)
    d.page = d.tab()
    running = [Check(d, unix=False) for _ in range(RUN)]
    assert daemon.until(lambda: slow.begun() == RUN, PATIENCE), slow.begun()
    half = Check(d, unix=False)
    half.s.shutdown(socket.SHUT_WR)

    def wait(n):
        waiting = []
        for _ in range(10 * n):
            if len(waiting) == n:
                break
            c = Check(d, unix=False)
            # It is refused, because those that have gone are still there, or a later call finds it waiting.
            d.page.get("/api/status")
            if c.is_answered():
                assert c.answer()[0] == 429
            else:
                waiting.append(c)
        return waiting

    for _ in range(2):
        for c in wait(LINE - 8):
            c.s.close()
    later = wait(LINE - 8)
    ok(len(later) == LINE - 8 and not any(c.is_answered() for c in later), f"{2 * (LINE - 8)} clients that close while they wait leave the line to others")
    for c in running:
        c.s.close()
    slow.go_on()
    status, text = half.answer()
    ok(status == 100 and "HTTP/1.1 200 OK" in text, "one that has ended what it sends is answered", status, text)
    served = [c.answer() for c in later]
    ok(all(status == 200 for status, _ in served), "so are those that came later", [s for s in served if s[0] != 200][:3])
    ok(slow.begun() == RUN + 1 + len(later), "corral did not run for those that had gone", slow.begun())
    d.stop()
    for name in ("open", "begun"):
        os.unlink(d.place + "/" + name)


def ended(d):
    """Reasons of the records of checks whose corrald-http ended."""
    done = subprocess.run([daemon.CORRAL, "audit", "list", "--json", d.place + "/state/corral/audit.db"], env=d.env, capture_output=True, text=True,
                          check=False)
    return [r["reason"] for r in map(json.loads, done.stdout.splitlines())
            if r["target"] == "POST /api/policies/check" and "corrald-http ended" in r["reason"]]


def test_deaths(d):
    """A line belongs to the corrald-http whose clients wait in it."""
    slow = Slow(d)
    d.page = d.tab()
    running, waiting = slow.fill()
    os.kill(d.status()["http"]["pid"], 9)
    ok(all(c.answer()[0] == 0 for c in running + waiting), "corrald-http is killed: its clients see the end of their connections")
    ok(daemon.until(lambda: daemon.works(d), PATIENCE), "another one is there")
    ok(daemon.until(lambda: len(ended(d)) == RUN + LINE, PATIENCE), "each call is in the log", len(ended(d)))
    ok(sum("may have been carried out" in reason for reason in ended(d)) == RUN, "those that ran may have been carried out", set(ended(d)))
    ok(sum("before the call was carried out" in reason for reason in ended(d)) == LINE, "those that waited were not", set(ended(d)))
    new = slow.wait(LINE)
    ok(not any(c.is_answered() for c in new), "the line is empty again")
    late = [c.answer() for c in new]
    # The places of those that run become free after a while, too.
    ok(all(status == 504 for status, _ in late) and any("waited too long" in text for _, text in late),
       "a call that waited too long is answered with 504", [a for a in late if a[0] != 504][:3], late[:1])
    ok(daemon.works(d), "and the daemon goes on")
    slow.go_on()
    ok(Check(d).answer()[0] == 200, "as do checks")


def main():
    with daemon.beside_user(__file__):
        d = daemon.Daemon()
        try:
            d.start()
            test_fifty(d)
            d.stop()
            test_flood(d)
            test_tcp_gone(d)
            test_deaths(d)
        finally:
            d.end()
    return end()


sys.exit(main())
