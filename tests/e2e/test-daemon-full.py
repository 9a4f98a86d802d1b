#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk of the state folder that is full, in a mount namespace: what is refused then is not in force, and the answer names the disk. And
kill -9 of the daemon right after it has answered, and after runs have ended, with a full disk in between: each change that was acknowledged
is in the log, and each event of each run, once, or the run says that it may not be. As root, once more as an ordinary user.

    test-daemon-full.py [KILLS]    8 if not given; `make soak` takes 200. Prints TAP."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from broker_tap import end, ok, skip
from daemon_tap import CORRAL, Daemon, beside_user, until

INSIDE = "--inside"
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] != INSIDE else 8
LONG = 90
# begin, confinement, variables that are set and passed on, command.start, exec, command.end, end
ACTIONS = ["session", "confinement", "env", "env", "command.start", "exec", "command.end", "session"]


class Full(Daemon):
    """A daemon whose state folder is a small disk."""

    def __init__(self, place):
        super().__init__()
        shutil.rmtree(self.place)
        self.place = tempfile.mkdtemp(dir=place, prefix="cf-")
        self.runtime, self.log, self.state = self.place + "/run", self.place + "/log", self.place + "/state"
        self.folder = self.runtime + "/corral"
        for name in ("run", "state", "work"):
            os.mkdir(f"{self.place}/{name}", 0o700)
        self.env.update(HOME=self.place, XDG_RUNTIME_DIR=self.runtime, XDG_STATE_HOME=self.state, XDG_CONFIG_HOME=self.place + "/config")
        self.missed = self.state + "/corral/missed"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", self.state], check=True)

    def fill(self):
        with open(self.state + "/filler", "wb", 0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass

    def make_room(self):
        if os.path.exists(self.state + "/filler"):
            os.unlink(self.state + "/filler")

    def corral(self, *words, **more):
        return subprocess.run([CORRAL, *words], env=self.env, cwd=self.place + "/work", capture_output=True, text=True, timeout=LONG, check=False, **more)

    def add_rule(self, name):
        return self.get("/api/rules", method="POST", body={"id": name, "action": "deny", "operations": ["file_read"], "patterns": ["/nowhere/" + name]})

    def rules(self):
        done = self.corral("policy", "rules", "--json")
        return {r["id"].split(":")[1] for r in json.loads(done.stdout)["rules"]}

    def records(self):
        done = self.corral("audit", "export", "--format", "jsonl", self.state + "/corral/audit.db")
        return [json.loads(line) for line in done.stdout.splitlines()]


def refused(d):
    """What a full disk refuses is not done."""
    d.start()
    status, _, body = d.add_rule("first")
    ok(status == 200 and d.rules() == {"first"}, "with room, a rule is added", status, body)
    saved = d.corral("policy", "save", "team", "-", input="fs: {deny: [/nowhere/team]}\n")
    ok(saved.returncode == 0, "and a policy saved", saved)
    d.fill()
    for _ in range(2):
        status, _, body = d.add_rule("second")
        ok(status == 507 and d.state in body["error"] and "No space left" in body["error"], "with a full disk: 507, with the path", status, body)
    ok("second" not in d.rules(), "and the rule is not there", d.rules())
    status, _, body = d.get("/api/policies/team", method="DELETE")
    listed = d.corral("policy", "list").stdout
    ok(status == 507 and "team" in listed, "nor is a policy removed", status, body, listed)
    status, _, body = d.get("/api/config", method="PUT", body={"logLevel": "debug"})
    ok(status == 507 and d.get("/api/config")[2]["daemon"]["logLevel"] != "debug", "nor the configuration changed", status, body)
    for name, args in (("fs_write", {"path": d.place + "/written", "content": "x"}), ("shell_exec", {"cmd": "true"})):
        status, _, body = d.get("/api/invoke/" + name, method="POST", body=args)
        ok(status == 507 and not os.path.exists(d.place + "/written"), f"nor is {name} carried out", status, body)
    text = "fs: {deny: [/nowhere/other]}\n"
    saved = d.corral("policy", "save", "team", "-", input=text)
    with open(d.place + "/config/corral/policy.d/team.yaml") as f:
        ok(saved.returncode == 2 and "other" not in f.read() and d.state in saved.stderr and "nothing was changed" in saved.stderr,
           "`policy save` fails, names the disk, and has changed nothing", saved)
    before = os.listdir(d.state + "/corral/policies")
    saved = d.corral("policy", "save", "fresh", "-", input=text)
    after = os.listdir(d.state + "/corral/policies")
    ok(saved.returncode == 2 and sorted(before) == sorted(after), "a new one that cannot be saved leaves no folder of its history", saved, before, after)
    gone = d.corral("policy", "remove", "team")
    # That takes no more than a name in the history.
    ok((gone.returncode == 2) == os.path.exists(d.place + "/config/corral/policy.d/team.yaml"), "`policy remove` does what it says", gone)
    ok(until(lambda: "cannot be written: No space left" in d.said()), "the daemon says that its log cannot be written", d.said()[-2000:])
    d.make_room()
    ok(until(lambda: d.add_rule("second")[0] == 200) and d.rules() >= {"first", "second"}, "with room again, it is added", d.rules())
    history = d.corral("policy", "history", "team").stdout
    ok(history.count("save") == 1, "and the history has what was done, and no more", history)
    d.stop()


def kills(d):
    rng = random.Random(KILLS)
    added, said, refusals, sure = [], 0, 0, []
    d.start()
    for i in range(KILLS):
        is_full = rng.random() < 0.5
        if is_full:
            d.fill()
        name = f"rule-{i}"
        status = d.add_rule(name)[0]
        if status == 200:
            added.append(name)
        refusals += status != 200
        if rng.random() < 0.5:
            d.stop(signal.SIGKILL)
            d.make_room()
            d.start()
            if is_full:
                d.fill()
        run = d.corral("run", "--", "/bin/sh", "-c", f"echo {i} run")
        assert run.returncode == 0, run
        d.stop(signal.SIGKILL)
        told = re.search(r"([0-9]+) events of this run (are|may) not", run.stderr)
        said += bool(told)
        if not told:
            sure.append(f"echo {i} run")
        d.make_room()
        d.start()
    # What runs have left is taken.
    assert until(lambda: [n for n in os.listdir(d.missed) if not n.startswith(".")] == [], LONG), os.listdir(d.missed)
    records = d.records()
    changes = [r["target"] for r in records if r["action"] == "policy"]
    lost = [name for name in added if not any(f'"{name}"' in target for target in changes)]
    ok(not lost and set(added) <= d.rules(), f"{len(added)} changes that were acknowledged: all are in the log, and in force", lost, changes[-5:])
    starts = {r["target"]: r["session"] for r in records if r["action"] == "command.start"}
    sessions = {}
    # A file that was taken is a record of its own.
    for r in (r for r in records if r["action"] != "store"):
        sessions.setdefault(r["session"], []).append(r["action"])
    wrong = [(text, sessions.get(starts.get(next((t for t in starts if text in t), None)))) for text in sure]
    wrong = [(text, actions) for text, actions in wrong if actions != ACTIONS]
    ok(not wrong, f"{len(sure)} runs that said nothing: each event of theirs is in the log, once; {said} said that theirs may be missing", wrong[:5])
    ok(d.corral("audit", "verify", d.state + "/corral/audit.db").returncode == 0, f"{refusals} changes were refused; the log verifies")
    ok(refusals > 0 and said > 0 or KILLS < 8, "the disk was full in between", refusals, said)


def inside(place):
    for part in (refused, kills):
        d = Full(place)
        try:
            part(d)
        finally:
            d.stop(signal.SIGKILL)
    return end()


def main():
    if sys.argv[1:2] == [INSIDE]:
        global KILLS
        KILLS = int(sys.argv[3])
        return inside(sys.argv[2])
    words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    with beside_user(__file__):
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            skip("a full disk", "kernel: no mount namespaces for us")
        else:
            place = tempfile.mkdtemp(prefix="cf-")
            done = subprocess.run([*words, sys.executable, __file__, INSIDE, place, str(KILLS)], capture_output=True, text=True, timeout=60 * LONG, check=False)
            for line in done.stdout.splitlines():
                found = re.match(r"(ok|not ok) [0-9]+ - (.*)", line)
                if found:
                    ok(found[1] == "ok", found[2])
                elif line.startswith("#"):
                    print(line)
            ok(done.returncode == 0, "all of it was done", done.stderr[-3000:])
            shutil.rmtree(place, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
