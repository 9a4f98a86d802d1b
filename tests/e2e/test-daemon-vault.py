#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vault at the daemon: /api/vault says what is there and never a value, locks, and opens what needs no passphrase.
As root, once more as an ordinary user. Prints TAP."""

import os
import subprocess
import sys

import broker_tap
import daemon_tap as daemon
from broker_tap import end, ok

VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
PASSPHRASE = "correct horse battery"


class Vault(daemon.Daemon):
    def __init__(self):
        super().__init__()
        self.passphrase = self.place + "/passphrase"
        with open(self.passphrase, "w") as f:
            f.write(PASSPHRASE + "\n")
        os.chmod(self.passphrase, 0o600)

    def corral(self, *words, value=""):
        return subprocess.run([daemon.CORRAL, "vault", *words], env=self.env, input=value, capture_output=True, text=True, timeout=120,
                              check=False, start_new_session=True)

    def state(self):
        return self.get("/api/vault")[2]

    def post(self, verb, body=None):
        status, _, answer = self.get(f"/api/vault/{verb}", method="POST", body=body)
        return status, answer


def test_states(d):
    ok(d.state() == {"state": "absent", "until": 0, "wait": 0, "keys": [], "secrets": []}, "there is no vault", d.state())
    ok(d.post("unlock")[0] == 404, "nor one that could be opened")
    done = d.corral("init", "--passphrase-file", d.passphrase)
    ok(done.returncode == 0, "one is made", done)
    state = d.state()
    ok((state["state"], state["keys"], state["secrets"]) == ("locked", ["passphrase"], []), "it is locked", state)
    ok("locked" in d.corral("status").stdout, "corral vault status says so", d.corral("status"))
    status, answer = d.post("unlock")
    ok(status in (400, 422) and "corral vault unlock" in answer.get("hint", ""), "a passphrase is typed in a terminal", status, answer)
    ok(d.corral("unlock", "--for", "1h", "--passphrase-file", d.passphrase).returncode == 0, "where it opens it")
    ok(d.state()["state"] == "unlocked" and d.state()["until"] > 0, "it is open, until a time", d.state())
    ok("open, with 0 secrets" in d.corral("status").stdout, "corral vault status says so", d.corral("status"))


def test_secrets(d):
    d.corral("set", "TOKEN", value=VALUE)
    d.corral("grant", "TOKEN", "api.example.com:443", "--to", "claude")
    secrets = d.state()["secrets"]
    ok([s["name"] for s in secrets] == ["TOKEN"], "names", secrets)
    ok(secrets[0]["grants"] == [{"host": "api.example.com:443", "in": "header", "to": "claude", "programs": None}] and secrets[0]["changed"] > 0, "grants and times", secrets)
    records = d.get("/api/audit?action=service&target=vault.*&requests=no&limit=200")[2]["records"]
    ok(any(r["target"] == "vault.grant:TOKEN" for r in records), "what was done is in the log", [r["target"] for r in records])
    said = "".join(str(d.get(path)) for path in ("/api/vault", "/api/audit?limit=1000", "/api/status", "/api/config", "/api/openapi.json"))
    ok(VALUE not in said and PASSPHRASE not in said, "no answer has a value or the passphrase")
    found = [path for path in ("mem", "environ", "cmdline") if VALUE.encode() in read(d.process.pid, path)]
    ok(not found, "nor has the daemon's memory", found)


def read(pid, name):
    """What another process has, as far as it can be read."""
    out = b""
    try:
        if name != "mem":
            with open(f"/proc/{pid}/{name}", "rb") as f:
                return f.read()
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
                if "r" in line.split()[1] and hi - lo < 1 << 26:
                    try:
                        mem.seek(lo)
                        out += mem.read(hi - lo)
                    except (OSError, OverflowError):
                        pass
    except OSError:
        pass
    return out


def test_lock(d):
    events = daemon.Events(d)
    status, answer = d.post("lock")
    ok(status == 200 and answer["state"] == "locked" and answer["secrets"] == [], "it is locked by a call", status, answer)
    ok(events.next("vault") is not None, "and who looks hears of it")
    events.close()
    ok(d.state()["state"] == "locked", "it stays so")
    ok(d.corral("list").returncode != 0, "for the command line, too")


def test_unlock(d):
    """By a key that is stored elsewhere: where systemd-creds works for this user."""
    done = d.corral("unlock", "--key", "systemd-creds", "--passphrase-file", d.passphrase)
    if done.returncode != 0:
        ok("systemd-creds" in done.stderr, "without systemd-creds it is said so", done)
        return
    d.corral("lock")
    status, answer = d.post("unlock", {"seconds": 60})
    ok(status == 200 and answer["state"] == "unlocked" and [s["name"] for s in answer["secrets"]] == ["TOKEN"], "systemd-creds opens it by a call", status, answer)
    ok("systemd-creds" in d.state()["keys"], "which the state names", d.state())


def test_refused(d):
    for verb in ("lock", "unlock"):
        status = d.get(f"/api/vault/{verb}", method="POST", headers={})[0]
        ok(status == 401, f"{verb}: not without the token", status)
        status = d.get(f"/api/vault/{verb}", method="POST", body={"passphrase": PASSPHRASE})[0]
        ok(status == 400, f"{verb}: a passphrase is no parameter", status)
    for seconds in (0, 604801, "1h"):
        ok(d.post("unlock", {"seconds": seconds})[0] == 400, f"unlock: {seconds} seconds are refused")


def main():
    d = Vault()
    try:
        d.start()
        for test in (test_states, test_secrets, test_lock, test_unlock, test_refused):
            test(d)
    finally:
        d.corral("lock")
        d.end()
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, (*daemon.PROGRAMS[:3], "CORRAL_VAULT"), DAEMON_TAP=daemon.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
