#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs without a network: no such name, at once; one line at the first attempt; every name in the log, by the right program."""
import json
import os
import subprocess
import sys

from suggestions import CORRAL, Scene

PYTHON = "/usr/bin/python3"
ASK = """
import socket, struct, sys
def query(name):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">2H", 1, 1)
def ask(message):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(30)
    s.connect(("127.0.0.53", 53))
    s.send(message)
    return s.recv(4096)
"""
number = failures = 0


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def result(scene, *words, options=()):
    done = subprocess.run([CORRAL, "run", "--json", *options, "--", *words], cwd=scene.work, env=scene.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=100, check=False)
    return json.loads(done.stdout)


def names(scene):
    status, text = scene.corral("run", "--", "getent", "ahosts", "a.example.com")
    ok(status == 2 and text.count("\n") == 1 and "this run has no network: getent asked for a.example.com; "
       "to allow it: --net a.example.com:443" in text, "a name: one line, and what would allow it", text)
    found = result(scene, "sh", "-c", "getent ahosts a.example.com; getent ahosts b.example.com")["network"]
    ok([(n["event"], n["target"], n["dns"], n["program"]) for n in found] ==
       [("denied", f"{l}.example.com", True, "getent") for l in "ab"], "--json: each by the program that asked", found)
    status, text = scene.corral("run", "--", "sh", "-c", "getent ahosts localhost; getent ahosts corral; true")
    ok(status == 0 and "no network" not in text, "localhost and the sandbox's own name are no names of others", text)
    if os.access("/usr/bin/ssh", os.X_OK):
        status, text = scene.corral("run", "--", "ssh", "-F", "none", "git@git.example.com")
        ok("ssh asked for git.example.com; to allow it: --net git.example.com:22\n" in text, "ssh means port 22", text)
    status, text = scene.corral("run", "--", "getent", "ahosts", "a.example.com", "http://a.example.com:8080/x")
    ok("--net a.example.com:8080\n" in text, "the port of the command line", text)
    script = scene.write("fetch-it", f"#!{PYTHON}\nimport socket\nsocket.getaddrinfo('s.example.com', 80)\n", 0o755)
    status, text = scene.corral("run", "--", "sh", "-c", script)
    ok("fetch-it asked for s.example.com" in text, "a script has its own name, not its interpreter's", text)


def at_once(scene):
    """The line comes while the command runs, which waits for us to have read it."""
    child = subprocess.Popen([CORRAL, "run", "--", "sh", "-c", "getent ahosts a.example.com; cat; exit 3"], cwd=scene.work,
                             env=scene.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = child.stderr.readline()
    ok(b"asked for a.example.com" in line and child.poll() is None, "it is said while the command runs", line)
    _, rest = child.communicate(timeout=100)
    ok(child.returncode == 3 and rest == b"", "and not a second time", rest)


def log(scene):
    path = scene.root + "/home/log"
    scene.corral("run", "--audit", path, "--", "sh", "-c", "getent ahosts a.example.com")
    status, text = scene.corral("audit", "export", "--format", "jsonl", path)
    rows = [json.loads(l) for l in text.splitlines() if l.startswith("{")]
    ok([(r["target"], r["program"]) for r in rows if r["action"] == "net.name"] == [("a.example.com", "getent")],
       "the log has the name and the program", text)
    walls = [r["reason"] for r in rows if r["action"] == "confinement"]
    ok(len(walls) == 1 and "; files: not watched" in walls[0], "and that files were not watched", walls)
    scene.corral("run", "--audit", path + "2", "--explain", "--", "true")
    status, text = scene.corral("audit", "export", "--format", "jsonl", path + "2")
    ok("; files: watched" in text, "with --explain they are", text)


def attacks(scene):
    """What a command may try with the process that answers."""
    inside = ASK + """
import os
ask(query("a.example.com"))
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if open(f"/proc/{pid}/comm").read() != "corral-names\\n":
            continue
    except OSError:
        continue
    status = dict(l.split(":\\t", 1) for l in open(f"/proc/{pid}/status").read().splitlines() if ":\\t" in l)
    print(status["CapEff"], status["NoNewPrivs"], status["Seccomp"])
    try:
        os.readlink(f"/proc/{pid}/fd/3")
        print("seen")
    except OSError:
        print("hidden")
"""
    out = result(scene, PYTHON, "-c", inside)
    ok(out["stdout"] == "0000000000000000 1 2\nhidden\n", "it has no rights that a command has not", out)
    out = result(scene, PYTHON, "-c", ASK + "[ask(query(f'n{i}.example.com')) for i in range(400)]")
    ok(out["status"] == 0 and len(out["network"]) == 257 and out["network"][-1]["target"] == "*",
       "a flood of names: bounded, and that there were more", (out["status"], out["stderr"], len(out["network"])))
    odd = ASK + r"""
good = query("a.example.com")
for m in (b"", b"x", good[:11], good[:14], good[:-1], b"\xff" * 2048, good + b"\0" * 4000, good[:12] + b"\xc0\x0c" + good[-4:],
          good[:12] + b"\3a\nb\0\0\1\0\1"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(m)
print(ask(query("b.example.com"))[3] & 15)
"""
    out = result(scene, PYTHON, "-c", odd)
    ok(out["stdout"] == "3\n" and "b.example.com" in [n["target"] for n in out["network"]],
       "bytes that are no question change nothing", out)
    killed = ASK + """
import os, signal
ask(query("a.example.com"))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if open(f"/proc/{pid}/comm").read() == "corral-names\\n":
            os.kill(int(pid), 9)
            print("killed")
    except OSError as e:
        print("not killed")
try:
    print(ask(query("b.example.com"))[3] & 15)
except ConnectionRefusedError:
    print("refused")
"""
    out = result(scene, PYTHON, "-c", killed)
    said = [n["reason"] for n in out["network"] if n["target"] == "*"]
    ok(out["stdout"] == "not killed\n3\n" or (out["stdout"] == "killed\nrefused\n" and said ==
       ["a command ended the process that records names"]), "it cannot be ended in silence", out)


def main():
    with Scene() as scene:
        names(scene)
        at_once(scene)
        log(scene)
        attacks(scene)
    print(f"1..{number}")
    return failures > 0


sys.exit(main())
