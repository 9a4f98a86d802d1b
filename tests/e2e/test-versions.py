#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stored formats (src/base/formats.h): a file of a newer version is refused by its name, with what to do, and stays as it is;
one of the version before is read, and replaced with a backup beside it. As root, once more as an ordinary user. Prints TAP."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import broker_tap
from broker_tap import end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRALD", "CORRALD_HTTP")
CORRAL = os.path.abspath(os.environ["CORRAL"])
DATA = pathlib.Path(os.environ["DATA"])


class Place:
    def __init__(self, scratch):
        self.path = pathlib.Path(scratch).resolve()
        self.state = self.path / "state/corral"
        self.config = self.path / "config/corral"
        for folder in (self.state, self.config, self.path / "work"):
            folder.mkdir(parents=True, mode=0o700)
        self.env = {**os.environ, "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"), "XDG_CONFIG_HOME": str(self.path / "config"),
                    "XDG_RUNTIME_DIR": str(self.path / "run"), "LC_ALL": "C.UTF-8"}

    def corral(self, *words):
        return subprocess.run([CORRAL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.path / "work", env=self.env,
                              timeout=60, check=False)


def refused(done, file, kind, version, name):
    """It says which file, what it is, its version, and what to do."""
    ok(done.returncode != 0 and all(text in done.stderr for text in (str(file), f"{kind} has version {version}", "reads", "upgrade Corral")), name, done)


def ask_log(file, text):
    with contextlib.closing(sqlite3.connect(file)) as db:
        row = db.execute(text).fetchone()
        db.commit()
        return row


def log(place):
    file = place.path / "log.db"
    ok(place.corral("run", "--audit", str(file), "--", "true").returncode == 0, "a log is written")
    ok(ask_log(file, "PRAGMA user_version") == (1,), "it has a version")
    proof = place.path / "proof"
    proof.write_text(place.corral("audit", "prove", "1", str(file)).stdout.replace("corral-audit-proof-1", "corral-audit-proof-2"))
    refused(place.corral("audit", "check-proof", "--key", f"{file}.key.pub", str(proof)), "the proof", "proof", 2, "a proof of a newer version is refused")
    ask_log(file, "PRAGMA user_version=2")
    before = file.read_bytes()
    for words in (("audit", "list", str(file)), ("audit", "verify", str(file)), ("run", "--audit", str(file), "--", "true")):
        refused(place.corral(*words), file, "audit log", 2, f"{' '.join(words[:2])}: a log of a newer version is refused")
    ok(file.read_bytes() == before, "and stays as it is")


def approvals(place):
    skill = place.path / "work/weather"
    shutil.copytree(DATA / "weather", skill)
    ok(place.corral("approve", "--yes", str(skill)).returncode == 0, "a skill is approved")
    file = next((place.state / "approvals").glob("*.json"))
    now = json.loads(file.read_text())
    ok(now.pop("version") == 1, "its approval has a version", now)
    old = json.dumps(now)
    file.write_text(old)
    ok(place.corral("approve", "--check", str(skill)).returncode == 0, "an approval of the version before counts")
    ok(json.loads(file.read_text()) == {"version": 1, **now} and pathlib.Path(f"{file}.v0").read_text() == old,
       "it was replaced, and the old one is beside it", file.read_text())
    file.write_text(json.dumps({"version": 2, **now}))
    before = file.read_text()
    refused(place.corral("approve", "--check", str(skill)), file, "approval", 2, "an approval of a newer version is refused")
    ok(file.read_text() == before, "and stays as it is")


def policies(place):
    policy = place.path / "work/p.yaml"
    policy.write_text("fs: {read: [/**]}\n")
    ok(place.corral("policy", "save", "team", str(policy)).returncode == 0, "a policy without a version is stored")
    version = place.state / "policies/version"
    ok(version.read_text() == "1\n", "the history has a version")
    version.unlink()
    ok(place.corral("policy", "history", "team").returncode == 0, "a history of the version before is read")
    ok(place.corral("policy", "save", "team", str(policy)).returncode == 0 and version.read_text() == "1\n", "and becomes one of this version")
    version.write_text("2\n")
    for words in (("policy", "history", "team"), ("policy", "save", "team", str(policy)), ("run", "--", "true")):
        refused(place.corral(*words), place.state / "policies", "history of stored policies", 2,
                f"{' '.join(words[:2])}: a history of a newer version is refused")
    ok(version.read_text() == "2\n", "and stays as it is")
    version.write_text("x\n")
    done = place.corral("policy", "history", "team")
    ok(done.returncode == 2 and str(version) in done.stderr, "a version that is none is an error", done)
    version.unlink()
    place.corral("policy", "remove", "team")


def services(place):
    file = place.config / "services.yaml"
    place.corral("service", "set-up", "clipboard", "program=xclip")
    ok(file.read_text().startswith("version: 1\n"), "services.yaml has a version", file.read_text())
    for text in ("clipboard: {program: xclip}\n", "version: 1\nclipboard: {program: xclip}\n"):
        file.write_text(text)
        done = place.corral("service", "set-up", "clipboard", "program=xclip")
        ok("there is a section `clipboard`" in done.stderr, f"services.yaml is read: {text!r}", done)
    file.write_text("version: 2\nfuture: {x: 1}\n")
    refused(place.corral("service", "set-up", "clipboard", "program=xclip"), file, "configuration of services", 2, "services.yaml of a newer version is refused")
    file.write_text("version: soon\n")
    ok("must be a number" in place.corral("service", "set-up", "clipboard", "program=xclip").stderr, "a version that is none is an error")
    file.unlink()


def daemon(place):
    file = place.config / "daemon.json"
    file.write_text('{"version": "2.0", "daemon": {"future": 1}}')
    done = subprocess.run([os.environ["CORRALD"], "--port", "0"], capture_output=True, text=True, env=place.env, timeout=60, check=False)
    refused(done, file, "configuration of the daemon", 2, "daemon.json of a newer version is refused")
    file.unlink()


def missed(place):
    """The file stays under its name, for a newer daemon."""
    (place.path / "run").mkdir(mode=0o700, exist_ok=True)
    folder = place.state / "missed"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "0123456789abcdef"
    file.write_bytes(b"corral missed 2\nof the future")
    file.chmod(0o600)
    said = []
    with subprocess.Popen([os.environ["CORRALD"], "--port", "0"], stderr=subprocess.PIPE, text=True, env=place.env) as process:
        for line in process.stderr:
            said.append(line)
            if "missed has version" in line:
                break
        process.terminate()
        process.communicate(timeout=60)
    line = said[-1]
    ok(str(file) in line and "version 2" in line and "upgrade Corral" in line, "events of a newer version are refused by name", said)
    ok(file.read_bytes() == b"corral missed 2\nof the future", "and stay where they are")


def main():
    with tempfile.TemporaryDirectory(prefix="cv-") as scratch:
        place = Place(scratch)
        if place.corral("doctor").returncode == 0:
            log(place)
        else:
            broker_tap.skip("logs", "kernel: no sandbox can be had here")
        approvals(place)
        policies(place)
        services(place)
        if os.environ.get("CORRALD"):
            daemon(place)
            missed(place)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, DATA=str(DATA))
    return end()


if __name__ == "__main__":
    sys.exit(main())
