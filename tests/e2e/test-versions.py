#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stored formats (src/base/formats.h): a file of a newer version is refused by its name, with what to do, and stays as it is;
one of the version before is read, and replaced with a backup beside it. A run and a daemon of different builds say so. As root, once more as an ordinary user. Prints TAP."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading

import broker_tap
from broker_tap import end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_VAULT", "CORRALD", "CORRALD_HTTP", "SANDBOX_CALL")
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
    ok(file.read_text() == old, "and reading it changes nothing")
    with open(skill / "SKILL.md", "a", encoding="utf-8") as text:
        text.write("\nOne line more.\n")
    ok(place.corral("approve", "--yes", str(skill)).returncode == 0, "the skill, which was changed, is approved again")
    ok(json.loads(file.read_text())["version"] == 1 and pathlib.Path(f"{file}.v0").read_text() == old,
       "the approval was replaced, and the old one is beside it", file.read_text())
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


def vault(place):
    passphrase = place.path / "passphrase"
    passphrase.write_text("correct horse battery")
    passphrase.chmod(0o600)
    given = ("--passphrase-file", str(passphrase))
    ok(place.corral("vault", "init", *given).returncode == 0, "a vault is made")
    file = place.state / "vault/vault"
    before = file.read_bytes().replace(b"corral vault 1\n", b"corral vault 2\n", 1)
    file.write_bytes(before)
    for words in (("unlock",), ("list",), ("remove", "X")):
        refused(place.corral("vault", *words, *given), "vault", "vault", 2, f"vault {words[0]}: a vault of a newer version is refused")
    ok(file.read_bytes() == before, "and stays as it is")


MCP_SERVER = """import json, sys
for message in map(json.loads, sys.stdin):
    result = {"initialize": {"protocolVersion": "2025-11-25"}, "tools/list": {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}}
    if message["method"] in result:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result[message["method"]]}), flush=True)
"""


def mcp_pins(place):
    work = place.path / "work"
    (work / "server.py").write_text(MCP_SERVER)
    (work / "gateway.yaml").write_text(f"servers: {{a: {{command: [/usr/bin/python3, {work}/server.py]}}}}\n")
    done = place.corral("mcp", "approve", "--yes", "gateway.yaml")
    ok(done.returncode == 0, "an MCP server is approved", done)
    file = next(file for file in (place.state / "mcp-pins").iterdir() if file.name != "key")
    text = file.read_text().split("\n", 1)[1]
    ok(json.loads(text)["version"] == 1, "its approval has a version", text)
    text = text.replace('"version":1', '"version":2')
    # What a newer Corral would write has a good mark.
    mark = hashlib.blake2b((file.name + text).encode(), key=(place.state / "mcp-pins/key").read_bytes(), digest_size=32).hexdigest()
    file.write_text(f"{mark}\n{text}")
    for words in (("tools",), ("approve", "--yes"), ("gateway",)):
        refused(place.corral("mcp", *words, "gateway.yaml"), file, "approval of an MCP server", 2, f"mcp {words[0]}: an approval of a newer version is refused")
    ok(file.read_text() == f"{mark}\n{text}", "and stays as it is")


def undo(place):
    work = place.path / "undone"
    work.mkdir()
    ok(place.corral("run", "--undo", "--work-dir", str(work), "--", "touch", str(work / "new")).returncode == 0, "a run with a record")
    file = place.state / "undo/1/run"
    before = file.read_bytes().replace(b"corral undo 1\n", b"corral undo 2\n", 1)
    file.write_bytes(before)
    refused(place.corral("undo", "--yes", "1"), "undo/1/run", "record of a run with --undo", 2, "undo: a record of a newer version is refused")
    ok(file.read_bytes() == before and (work / "new").exists(), "and stays as it is")
    shutil.rmtree(place.state / "undo")


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


HEAD = struct.Struct("=IHHQII")  # src/wire/frame.c: magic, type, version, id, bytes, descriptors
MAGIC, PROTOCOL = 0x4c525243, 4


def daemon_of_another_build(place):
    """A run says which versions meet, runs its command, and leaves its events."""
    folder = place.path / "run/corral"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        (folder / "join.sock").unlink(missing_ok=True)
        listener.bind(str(folder / "join.sock"))
        listener.listen()

        def answer():
            peer = listener.accept()[0]
            HEAD.unpack(peer.recv(65536)[:HEAD.size])
            peer.send(HEAD.pack(MAGIC, 0, PROTOCOL + 1, 0, 5, 0) + b"9.8.7")
            peer.recv(65536)
            peer.close()

        other = threading.Thread(target=answer, daemon=True)
        other.start()
        done = place.corral("run", "--", "sh", "-c", "echo ran")
        other.join(60)
    (folder / "join.sock").unlink()
    ok(done.returncode == 0 and done.stdout == "ran\n", "beside a daemon of another version a command runs", done)
    ok(f"the daemon with pid {os.getpid()} (9.8.7) version {PROTOCOL + 1}" in done.stderr and f"speaks version {PROTOCOL} of the protocol" in done.stderr
       and "restart the daemon" in done.stderr, "and the run says which versions meet", done.stderr)
    with subprocess.Popen([os.environ["CORRALD"], "--port", "0"], stderr=subprocess.PIPE, text=True, env=place.env) as process:
        for line in process.stderr:
            if "ready: " in line:
                break
        done = place.corral("run", "--", "sh", "-c", "echo ran")
        process.terminate()
        process.communicate(timeout=60)
    ok(done.returncode == 0 and "restart the daemon" not in done.stderr, "with a daemon of this version it says nothing", done.stderr)


WARDEN = f"""#!{sys.executable}
import socket, struct
s = socket.socket(fileno=3)
s.recv(65536)
s.send(struct.pack("{HEAD.format}", {MAGIC}, 0, {PROTOCOL + 1}, 0, 5, 0) + b"9.8.7")
"""


def warden_of_another_build(place):
    """A program that uses the library."""
    warden = place.path / "warden"
    warden.write_text(WARDEN)
    warden.chmod(0o755)
    done = subprocess.run([os.environ["EXECUTE"], str(place.path / "work"), "ls"], env={**place.env, "CORRAL_WARDEN": str(warden)}, capture_output=True,
                          text=True, timeout=60, check=False)
    ok(done.returncode != 0 and f"corral-warden (9.8.7) version {PROTOCOL + 1}" in done.stdout + done.stderr,
       "the library says that the warden is of another version", done)


def broker_of_another_build(place):
    broker = place.path / "broker"
    broker.write_text(WARDEN)
    broker.chmod(0o755)
    place.env["CORRAL_BROKER"] = str(broker)
    done = place.corral("run", "--broker", "--", "true")
    del place.env["CORRAL_BROKER"]
    ok(done.returncode == 125 and f"{broker} (9.8.7) version {PROTOCOL + 1}" in done.stderr and "from one build" in done.stderr,
       "a run says that its broker is of another version", done)


def run_of_another_build(place):
    """The daemon says so, and answers with its own version."""
    with subprocess.Popen([os.environ["CORRALD"], "--port", "0"], stderr=subprocess.PIPE, text=True, env=place.env) as process:
        for line in process.stderr:
            if "ready: " in line:
                break
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(60)
            s.connect(str(place.path / "run/corral/join.sock"))
            s.send(HEAD.pack(MAGIC, 1, PROTOCOL + 1, 0, 3, 0) + b"new")
            answer = s.recv(65536)
            ok(HEAD.unpack(answer[:HEAD.size])[1:3] == (0, PROTOCOL) and answer[HEAD.size:].decode()[0].isdigit(),
               "the daemon answers another version with its own", answer)
            ok(s.recv(65536) == b"", "and hangs up")
        line = next((line for line in process.stderr if "of the protocol" in line), "")
        ok(f"pid {os.getpid()} version {PROTOCOL + 1}" in line, "and its log says who it was", line)
        process.terminate()
        process.communicate(timeout=60)


def main():
    with tempfile.TemporaryDirectory(prefix="cv-") as scratch:
        place = Place(scratch)
        if place.corral("doctor").returncode == 0:
            log(place)
            undo(place)
            mcp_pins(place)
        else:
            broker_tap.skip("logs", "kernel: no sandbox can be had here")
        approvals(place)
        policies(place)
        services(place)
        vault(place)
        if os.environ.get("CORRALD"):
            daemon(place)
            missed(place)
            run_of_another_build(place)
            daemon_of_another_build(place)
        if os.environ.get("SANDBOX_CALL"):
            place.env["CORRAL_SANDBOX_CALL"] = os.environ["SANDBOX_CALL"]
            broker_of_another_build(place)
        if os.environ.get("EXECUTE"):
            warden_of_another_build(place)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, DATA=str(DATA))
    return end()


if __name__ == "__main__":
    sys.exit(main())
