#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each process of the daemon at random, while clients ask and sandboxes run: no record that was once read is lost,
sandboxes go on and join again, the state is consistent.

    test-daemon-kills.py [KILLS]    8 if not given; `make soak` takes 200. Prints TAP."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from broker_tap import end, ok
from daemon_tap import CORRAL, PATIENCE, Daemon, Events, as_user, until

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
SANDBOXES = 3
# From so many kills on the enclave is surely among them; in a short series it may not run when its turn comes.
MANY = 50
# corrald-http is started 5 times in 10 seconds at most.
BACK = 30


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

    def run(self):
        while not self.over:
            try:
                status, _, body = self.d.get("/api/audit?limit=1000")
                if status == 200:
                    self.answers += 1
                    self.seen.update({(r["session"], r["sequence"]): r["target"] for r in body["records"]})
                elif status not in (429, 503, 504, 500):
                    self.wrong.append((status, body))
                self.d.get("/api/status")
                # It runs from the first call on; one that it had when it was killed is not answered with nonsense.
                status, _, body = self.d.get("/api/invoke/get_policy", method="POST", body={})
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
    left = [name for name in os.listdir(d.folder) if name != "token"]
    ok(d.process.returncode == 0 and left == [], "it ends as it should, and leaves the token", left)


def main():
    d = Daemon()
    try:
        test(d)
    finally:
        d.end()
    if os.geteuid() == 0 and len(sys.argv) < 2:
        as_user(__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
