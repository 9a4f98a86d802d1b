#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each process of the daemon at random, while clients ask and sandboxes run: no record that was once read is lost,
sandboxes go on and join again, the state is consistent. A corrald-http that ends in the middle of a call. And kill -9 of corrald
while short runs start and end and one reports a denied connection after the other: each record of each run is in the log
afterwards, once.

    test-daemon-kills.py [KILLS]    8 if not given; `make soak` takes 200. Prints TAP."""

import contextlib
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from broker_tap import end, ok
from daemon_tap import CORRAL, PATIENCE, Daemon, Events, beside_user, until

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
SANDBOXES = 3
# From so many kills on the enclave is surely among them; in a short series it may not run when its turn comes.
MANY = 50
BACK = 2 * PATIENCE  # corrald-http is started 5 times in 10 seconds at most


def children(pid):
    """{pid: name} of what it started."""
    found = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            if int(rest.split()[1]) == pid:
                found[int(number)] = name
        except (OSError, ValueError):
            continue
    return found


class Load(threading.Thread):
    """A client that asks, and remembers the records that it was shown."""

    def __init__(self, d):
        super().__init__(daemon=True)
        self.d, self.seen, self.answers, self.invoked, self.over, self.wrong = d, {}, 0, 0, False, []

    def ask(self, path, **more):
        """(status, body). Each start has a token of its own, which a client reads anew."""
        with open(self.d.folder + "/token") as file:
            token = file.read().strip()
        status, _, body = self.d.get(path, {"Authorization": "Bearer " + token}, **more)
        if status == 401:
            with open(self.d.folder + "/token") as file:
                if file.read().strip() != token:
                    raise OSError("another start")
        return status, body

    def run(self):
        while not self.over:
            try:
                status, body = self.ask("/api/audit?limit=1000")
                if status == 200:
                    self.answers += 1
                    self.seen.update({(r["session"], r["sequence"]): r["target"] for r in body["records"]})
                elif status not in (429, 503, 504, 500):
                    self.wrong.append((status, body))
                self.d.get("/api/status")
                # It runs from the first call on; one that it had when it was killed is not answered with nonsense.
                status, body = self.ask("/api/invoke/get_policy", method="POST", body={})
                self.invoked += status == 200
                if status not in (200, 429, 500, 503, 504):
                    self.wrong.append((status, body))
            except (OSError, ValueError, TypeError, KeyError):
                time.sleep(0.02)
            except Exception as e:  # http.client has many for a connection that was cut off
                if type(e).__module__ != "http.client":
                    self.wrong.append(repr(e))


def answers(d):
    try:
        return d.get("/api/status")[2]["pid"] == d.process.pid
    except Exception:
        return False


def listed(d):
    try:
        return {b["pid"] for b in d.get("/api/sandboxes")[2]["sandboxes"]}
    except Exception:
        return set()


def kill_one(d, choice):
    """Kills one of what there is; what it was."""
    parts = children(d.process.pid)
    tools = [pid for pid, name in parts.items() if name == "corral"]
    if (choice == "corral" and not tools) or (choice == "corrald-enclave" and choice not in parts.values()):
        choice = "corrald-http"
    if choice == "corrald":
        d.stop(signal.SIGKILL)
        # They end with it.
        assert until(lambda: not [pid for pid, name in parts.items() if os.path.exists(f"/proc/{pid}") and "corrald" in name and not is_zombie(pid)])
        d.start("--port", str(d.port))
    else:
        victims = tools if choice == "corral" else [pid for pid, name in parts.items() if name == choice]
        for pid in victims[:1]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return choice


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test(d):
    rng = random.Random(KILLS)
    os.makedirs(d.place + "/data", exist_ok=True)
    d.start()
    runs = [subprocess.Popen([CORRAL, "run", "--", "sleep", "3600"], env=d.env, cwd=d.place + "/data") for _ in range(SANDBOXES)]
    pids = {p.pid for p in runs}
    try:
        ok(until(lambda: listed(d) == pids), "sandboxes joined", listed(d), pids)
        load = Load(d)
        load.start()
        killed, lost = {}, []
        for i in range(KILLS):
            choice = kill_one(d, rng.choice(("corrald", "corrald-http", "corrald-http", "corrald-enclave", "corral")))
            killed[choice] = killed.get(choice, 0) + 1
            # A command runs meanwhile, as always.
            done = subprocess.run([CORRAL, "run", "--", "true"], env=d.env, cwd=d.place + "/data", capture_output=True, timeout=PATIENCE, check=False)
            if done.returncode or done.stderr:
                lost.append((i, choice, done.returncode, done.stderr))
            if not until(lambda: answers(d), BACK) or not until(lambda: pids <= listed(d), BACK):
                lost.append((i, choice, "not back", listed(d), pids))
        before, invoked = load.answers, load.invoked
        ok(lost == [], f"after each of {KILLS} kills it is back, with all sandboxes; commands run as before", killed, lost[:5])
        ok(KILLS < MANY or killed.get("corrald-enclave"), "the enclave is among what is killed often", killed)
        ok(until(lambda: load.answers > before and load.invoked > invoked, BACK), "clients are answered, by the enclave, too", load.answers, load.invoked)
        load.over = True
        load.join(PATIENCE)
        ok(load.wrong == [], "and never with nonsense", load.wrong[:5])
        ok(all(p.poll() is None for p in runs), "sandboxes go on")
        e = Events(d)
        ok(e.next()["event"] == "connected", "events are there")
        e.close()
    finally:
        for p in runs:
            p.kill()
            p.wait()
    ok(until(lambda: listed(d) == set()), "those that ended are gone from the list", listed(d))
    d.stop()
    log = d.place + "/state/corral/audit.db"
    done = subprocess.run([CORRAL, "audit", "list", "--json", log], env=d.env, capture_output=True, text=True, check=False)
    kept = {(r["session"], r["sequence"]): r["target"] for r in map(json.loads, done.stdout.splitlines())}
    gone = {key: load.seen[key] for key in load.seen.keys() - kept.keys()}
    changed = {key for key in load.seen.keys() & kept.keys() if kept[key] != load.seen[key]}
    ok(len(load.seen) > 10 and not gone and not changed, f"no record that was read is lost, of {len(load.seen)}", list(gone.items())[:5], list(changed)[:5])
    done = subprocess.run([CORRAL, "audit", "verify", "--json", log], env=d.env, capture_output=True, text=True, check=False)
    ok(done.returncode == 0 and json.loads(done.stdout)["fine"], "the log verifies", done.stdout)
    left = os.listdir(d.folder)
    ok(d.process.returncode == 0 and left == [], "it ends as it should, and leaves nothing", left)


def test_stand_in(d, http, name):
    """A program in the place of corrald-http is replaced, again and again, and the daemon goes on."""
    again = "it is started again"
    before = len(d.said())
    d.start(env={"CORRALD_HTTP": http})
    until(lambda: d.process.poll() is not None or d.said(before).count(again) >= 3)
    ok(d.process.poll() is None and d.said(before).count(again) >= 3, name, d.process.poll(), d.said(before))
    d.stop()
    ok(d.process.returncode == 0, "and the daemon ends as it should", d.process.returncode)


# Asks for one place after the other, all of them denied, until its input ends.
DENIED = ("--net", "a.test:443", "--", "/usr/bin/python3", "-c", """
import select, socket, sys
port = 1000
while not select.select([sys.stdin], [], [], 0.05)[0]:
    port += 1
    try:
        socket.create_connection(("198.51.100.7", port), 5).recv(1)
    except OSError:
        pass
""")


class Runs(threading.Thread):
    """Short runs, one after the other, each with a name of its own."""

    def __init__(self, d, number):
        super().__init__(daemon=True)
        self.d, self.number, self.names, self.over, self.wrong = d, number, [], False, []

    def run(self):
        while not self.over:
            name = f"run-{self.number}-{len(self.names)}"
            self.names.append(name)
            done = subprocess.run([CORRAL, "run", "--", "/bin/echo", name], env=self.d.env, cwd=self.d.place + "/data", capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            if done.returncode or done.stdout != name + "\n" or done.stderr:
                self.wrong.append(done)


def of_runs(d):
    """{session: [its records]}, without those that say where others are from."""
    done = subprocess.run([CORRAL, "audit", "list", "--json", d.place + "/state/corral/audit.db"], env=d.env, capture_output=True, text=True, check=False)
    found = {}
    for r in map(json.loads, done.stdout.splitlines()):
        if r["sandbox"] != "corrald" and r["program"] != "corrald":
            found.setdefault(r["session"], []).append(r)
    return found


def is_whole(rows):
    return sorted(r["sequence"] for r in rows) == list(range(1, len(rows) + 1)) and [r["target"] for r in rows if r["action"] == "session"] == ["begin", "end"]


def faults(rows):
    """Numbers in a session that are missing, and records that are there more than once."""
    numbers = [r["sequence"] for r in rows]
    return (sorted(set(range(1, max(numbers) + 1)) - set(numbers)),
            [(r["number"], r["sequence"], r["action"], r["target"], r["reason"], r["count"]) for r in rows if numbers.count(r["sequence"]) > 1])


def named(rows):
    """The last word of each command line."""
    return [r["target"].split()[-1] for r in rows if r["action"] == "command.start"]


def last_time(d, pid):
    """Of a sandbox's last record; events come in order."""
    try:
        one = next(b["id"] for b in d.get("/api/sandboxes")[2]["sandboxes"] if b["pid"] == pid)
        return d.get("/api/audit?limit=1&session=" + one)[2]["records"][0]["time"]
    except Exception:
        return ""


def test_runs(d):
    rng = random.Random(KILLS)
    os.makedirs(d.place + "/data", exist_ok=True)
    d.start()
    long = subprocess.Popen([CORRAL, "run", *DENIED], env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    runs = [Runs(d, i) for i in range(2)]
    for r in runs:
        r.start()
    made = lambda: sum(len(r.names) for r in runs)
    for i in range(KILLS):
        before = made()
        ok(until(lambda: made() > before + 4), "runs go on") if i == 0 else until(lambda: made() > before + 4)
        time.sleep(rng.random() / 20)
        d.stop(signal.SIGKILL)
        # Some of them end without a daemon, and some are there when it is back.
        time.sleep(rng.random() / 20)
        d.start("--port", str(d.port))
        # It keeps 1,024 events, and leaves 64 KiB of them: now and then, and before it ends, a daemon must get them.
        if i % 8 == 7 or i == KILLS - 1:
            now = datetime.datetime.now(datetime.timezone.utc).isoformat()
            ok(until(lambda: last_time(d, long.pid) > now, BACK), "a daemon gets what one that ran all the time has kept", last_time(d, long.pid), now)
    for r in runs:
        r.over = True
        r.join(PATIENCE)
    long.stdin.close()
    long.wait(PATIENCE)
    names = [name for r in runs for name in r.names]
    ok([r.wrong for r in runs if r.wrong] == [] and long.returncode == 0, f"{len(names)} runs are as ever while corrald is killed {KILLS} times",
       [r.wrong[:2] for r in runs], long.returncode)
    missed = d.place + "/state/corral/missed"
    ok(until(lambda: os.listdir(missed) == [] and not listed(d)), "what they left is taken", os.listdir(missed))
    d.stop()
    found = of_runs(d)
    told = [name for rows in found.values() for name in named(rows)]
    ok(sorted(name for name in told if name in set(names)) == sorted(names), "each of them is in the log, once", set(names) - set(told))
    ok(all(is_whole(rows) for rows in found.values()), "with all of its records, each of them once",
       [faults(rows) for rows in found.values() if not is_whole(rows)][:3])
    of_long = max(found.values(), key=len)
    ok(len(of_long) > 8 and is_whole(of_long), f"so are {len(of_long)} records of one that ran all the time", len(of_long))


def test_parts(d):
    test(d)
    if len(sys.argv) < 2:
        test_stand_in(d, os.environ["LEAVING_HTTP"], "a corrald-http that ends with a call under way takes nothing with it")
        test_stand_in(d, os.environ["REPEATING_HTTP"], "one that makes two calls with the same number is ended")


def main():
    with beside_user(__file__) if len(sys.argv) < 2 else contextlib.nullcontext():
        for part in (test_parts, test_runs):
            d = Daemon()
            try:
                part(d)
            finally:
                d.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
