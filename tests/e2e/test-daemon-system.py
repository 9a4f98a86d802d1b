#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon of a system: /etc/corral, /run/corral and /var/lib/corral. All three are folders of a mount namespace of the
test's own, so that the machine stays as it is; an ordinary user is root in a user namespace. Prints TAP."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

import daemon_tap as daemon
from broker_tap import end, ok, skip

OPEN = "fs: {read: [/**], write: [/**]}\nnetwork: {allow: ['*:*']}\nenv: ['*']\n"


class System(daemon.Daemon):
    def __init__(self):
        super().__init__()
        self.folder = "/run/corral"
        self.missed = "/var/lib/corral/missed"
        for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            self.env.pop(name)
        self.work = self.place + "/work"
        os.mkdir(self.work)
        with open(self.work + "/file", "w") as f:
            f.write("here\n")

    def reads(self):
        done = subprocess.run([daemon.CORRAL, "run", "--", "cat", "file"], cwd=self.work, env=self.env, capture_output=True, text=True, timeout=60, check=False)
        return {0: done.stdout == "here\n", 1: False}.get(done.returncode, done)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_places(d):
    ok(d.status()["mode"] == "system" and d.status()["runtime"] == "/run/corral" and d.status()["log"]["path"] == "/var/lib/corral/audit.db", "it has the places of a system", d.status())
    ok([mode("/run/corral/" + name) & 0o077 for name in ("token", "api.sock", "join.sock")] == [0, 0, 0], "which others cannot use")
    ok(d.get("/api/status", unix=True)[0] == 200 and d.get("/api/status", {}, unix=True)[0] == 401, "its socket needs the token, too")
    ok(daemon.until(lambda: d.get("/api/security")[2]["verified_ms"] and d.get("/api/security")[2]["checked_ms"]), "it looks after itself")
    found = [f for f in d.get("/api/security")[2]["findings"] if f["where"].startswith(("/run/corral", "/var/lib/corral", "/etc/corral"))]
    ok(found == [], "and finds nothing wrong with its own folders", found)


def test_policies(d):
    no_file = OPEN.replace("write: [/**]", f"write: [/**], deny: [{d.work}/file]")
    ok(d.reads() is True, "without a policy a run is as it was", d.reads())
    status, _, saved = d.get("/api/policies/team", method="PUT", body={"text": no_file, "etag": ""})
    ok(status == 200 and os.path.exists("/etc/corral/policy.d/team.yaml") and mode("/etc/corral/policy.d/team.yaml") == 0o644, "a policy is stored for the machine, and all may read it", saved)
    ok(d.reads() is False, "it binds a run", d.reads())
    home = d.place + "/home"
    os.makedirs(home + "/.config/corral/policy.d")
    with open(home + "/.config/corral/policy.d/mine.yaml", "w") as f:
        f.write(OPEN)
    d.env["HOME"] = home
    ok(d.reads() is False, "which a policy of the user does not undo", d.reads())
    ok([p["name"] for p in d.get("/api/policies")[2]["policies"]] == ["team"], "and the daemon has those of the machine alone", d.get("/api/policies")[2])
    ok(d.get("/api/policies/team", method="DELETE")[0] == 200 and d.reads() is True, "removed, it binds nothing")
    rule = {"id": "no", "action": "deny", "operations": ["file_read"], "patterns": [d.work + "/file"]}
    status, _, made = d.get("/api/rules", method="POST", body=rule)
    ok(status == 200 and os.path.exists("/etc/corral/policy.d/custom/rules.json") and d.reads() is False, "a rule, too", made)
    ok(d.get("/api/rules/custom%2Frules%3Ano", method="DELETE")[0] == 200 and d.reads() is True, "and its end")
    ok(os.path.isdir("/var/lib/corral/policies"), "their history is the machine's")


def test_config(d):
    status, _, answer = d.get("/api/config", method="PUT", body={"mode": "audit"})
    ok(status == 200 and answer["file"] == "/etc/corral/daemon.json" and json.load(open("/etc/corral/daemon.json"))["daemon"]["mode"] == "audit", "the configuration is in /etc/corral", answer)
    ok(d.get("/api/policies")[2]["mode"] == "audit", "and in force")


def test_joining(d):
    ends = lambda: len({r["session"] for r in d.get("/api/audit?limit=1000&action=command.end")[2]["records"]})
    d.settle()
    before = ends()
    ok(d.reads() is True and daemon.until(lambda: ends() == before + 1), "a run of root joins it", ends() - before)
    pid = d.process.pid
    d.stop()
    ok(not os.path.exists("/run/corral/api.sock") and d.reads() is True, "without it, runs go on")
    d.start("--system", "--port", "0")
    ok(d.status()["pid"] != pid and d.get("/api/audit/verify")[2]["fine"] and ends() >= before + 1, "another one goes on with the same log", d.get("/api/audit/verify"))


def inside():
    scratch = tempfile.mkdtemp(prefix="cs-")
    subprocess.run(["mount", "--make-rprivate", "/"], check=False)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", scratch], check=True)
    subprocess.run(["cp", "-a", "/etc", scratch + "/etc"], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(scratch + "/etc/corral", ignore_errors=True)
    subprocess.run(["mount", "--bind", scratch + "/etc", "/etc"], check=True)
    for place in ("/run", "/var/lib"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", place], check=True)
    d = System()
    try:
        d.start("--system", "--port", "0")
        for test in (test_places, test_policies, test_config, test_joining):
            test(d)
    finally:
        d.end()
        os.chdir("/")
        subprocess.run(["umount", "/etc"], check=False)
        subprocess.run(["umount", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)
    return end()


def places():
    return [os.path.exists(place) and sorted(os.listdir(place)) for place in ("/etc/corral", "/run/corral", "/var/lib/corral")]


def main():
    before = places()
    if sys.argv[1:] == ["inside"]:
        return inside()
    words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, check=False).returncode:
        skip("the daemon of a system", "this kernel makes no mount namespace for us")
        return end()
    done = subprocess.run([*words, sys.executable, os.path.abspath(__file__), "inside"], capture_output=True, text=True, check=False)
    bad = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    ok(done.returncode == 0 and done.stdout.count("\nok ") > 10, "in namespaces of its own", bad, done.stderr[-2000:])
    ok(before == places(), "and the machine is as it was", before, places())
    if os.geteuid() == 0:
        daemon.as_user(__file__)
    return end()


sys.exit(main())
