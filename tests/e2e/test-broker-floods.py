#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in a sandbox that want all of its broker for themselves, while another one in the same sandbox
calls it: each of its calls is answered. (src/broker/front/test has the same attacks with a count of turns.)
As root, once more as an ordinary user. Prints TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

from broker_tap import as_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL")
CORRAL = os.path.abspath(os.environ["CORRAL"])
INSIDE = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# Inside: an attack in a process of its own, with all its children; then calls from another process.
SCRIPT = r"""
import array, json, os, resource, signal, socket, subprocess, sys

attack, path = sys.argv[1], os.environ["SANDBOX_SOCKET"]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

def request(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s

def push(s, data):
    # As much as there is room for.
    s.setblocking(False)
    try:
        while data:
            data = data[s.send(data):]
    except OSError:
        pass

def many(count, data):
    kept = []
    try:
        for _ in range(count):
            kept.append(connect())
            push(kept[-1], data)
    except OSError:
        pass
    return kept

def forks(count, function):
    for _ in range(count):
        if os.fork() == 0:
            kept = function()
            os.write(said, b".")
            signal.pause()

def descriptors():
    kept = [open("/dev/null") for _ in range(250)]
    rights = array.array("i", [file.fileno() for file in kept])
    for _ in range(200):
        s = connect()
        for _ in range(4):
            try:
                s.sendmsg([request("ping")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            except OSError:
                break
        kept.append(s)
    return kept

SLOW = request("exec.run", command="sleep", args=["1000"])
READ = request("fs.read", path=sys.argv[2])
ATTACKS = {
    "nothing": lambda: [],
    "10,000 requests in one go": lambda: many(1, READ * 10000),
    "10,000 requests on 100 connections": lambda: many(100, request("ping") * 10000),
    "half a line on 1,200 connections": lambda: many(1200, b'{"jsonrpc"'),
    "1,200 connections that say nothing": lambda: many(1200, b""),
    "long answers that are not read": lambda: many(100, READ * 200),
    "calls that never end, on 100 connections": lambda: many(100, SLOW * 30),
    "calls that never end, of 40 processes": lambda: forks(40, lambda: many(2, SLOW * 30)),
    "long lines without an end": lambda: many(40, b" " * (4 << 20)),
    "lines without calls": lambda: many(20, b"\n" * 100000 + b"x\n" * 50000),
    "descriptors": descriptors,
}

ready, said = os.pipe()
hostile = os.fork()
if hostile == 0:
    os.setpgid(0, 0)
    kept = ATTACKS[attack]()
    os.write(said, b".")
    signal.pause()
os.read(ready, 1)
# They do run, and do not end; one process does not have all of them.
if "never end, on" in attack:
    done = subprocess.run(["sandbox-call", "--timeout", "1", "exec.run", "command=sleep", "args=1000"], stderr=subprocess.PIPE)
    if done.returncode != 124:
        sys.exit(f"sleep does not run: {done}")
good = 0
for i in range(20):
    # A new process and a new connection each time.
    words = [["ping"], ["fs.read", "path=" + sys.argv[2]]][i % 2]
    done = subprocess.run(["sandbox-call", "--timeout", "60", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    good += done.returncode == 0
    if done.returncode:
        print(done.returncode, done.stderr, file=sys.stderr)
print("answered", good)
os.killpg(hostile, signal.SIGKILL)
"""
ATTACKS = ("nothing", "10,000 requests in one go", "10,000 requests on 100 connections", "half a line on 1,200 connections",
           "1,200 connections that say nothing", "long answers that are not read", "calls that never end, on 100 connections",
           "calls that never end, of 40 processes", "long lines without an end", "lines without calls", "descriptors")

def test_attacks(top):
    work = os.path.join(top, "work")
    env = {**os.environ, "HOME": os.path.join(top, "home")}
    env.pop("CORRAL_AUDIT", None)
    for name in ("home", "work"):
        os.mkdir(os.path.join(top, name))
    with open(os.path.join(work, "file"), "w", encoding="utf-8") as file:
        file.write("x" * 10000)
    policy = os.path.join(top, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        file.write(f"fs: {{read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/ld.so.cache, {work}/**]}}\n")
    for attack in ATTACKS:
        run = subprocess.run([CORRAL, "run", "--broker", "--policy", policy, "--", INSIDE, "-B", "-c", SCRIPT, attack, f"{work}/file"],
                             cwd=work, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False, timeout=900)
        ok(run.stdout == "answered 20\n", f"{attack}: another process is answered", run.stdout, run.stderr, run.returncode)


def main():
    doctor = subprocess.run([CORRAL, "doctor"], stdout=subprocess.PIPE, text=True, check=False)
    if doctor.returncode == 1:
        print("1..0 # SKIP kernel: " + doctor.stdout.splitlines()[0])
        return 0
    top = os.path.realpath(tempfile.mkdtemp(prefix="corral-floods-"))
    try:
        test_attacks(top)
    finally:
        shutil.rmtree(top)
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
