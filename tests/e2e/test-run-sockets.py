#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the host: thousands of them elsewhere are no reason to fail; those in sight are masked. Prints TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
EACH = 500  # in a process: a usual limit of open files is 1,024
BINDER = """
import os, socket, sys
os.chdir(sys.argv[1])
kept = []
for name in sys.argv[3:] or [f"{sys.argv[2]}-{i}" for i in range(%d)]:
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].bind(name if sys.argv[2] == "relative" else os.path.join(sys.argv[1], name))
    kept[-1].listen()
print("ready", flush=True)
sys.stdin.read()
""" % EACH
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"

# Binds and removes sockets, with their folders, until its input ends. Of every second folder neither it nor its sockets can
# be read by who sets the sandbox up.
CHURN = """
import os, select, socket, sys
i = 0
print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    folder = os.path.join(sys.argv[1], f"{os.getpid()}-{i}")
    os.mkdir(folder)
    kept = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    if i % 2:
        os.chmod(folder, 0o311)
        os.umask(0o577)
    if i % 2 and os.getuid() == 0:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    for k, one in enumerate(kept):
        one.bind(f"{folder}/{k}")
        one.listen()
    os.seteuid(os.getuid())
    os.umask(0o022)
    for k, one in enumerate(kept):
        one.close()
        os.unlink(f"{folder}/{k}")
    os.rmdir(folder)
    i += 1
"""
CHURNED = 40

number = 0
failures = 0


def ok(good, name, *more):
    global number, failures
    number += 1
    failures += not good
    print("ok" if good else "not ok", number, "-", name)
    for line in () if good else more:
        print("#", repr(line))
    sys.stdout.flush()


class Host:
    """Processes that listen, in folders of ours."""

    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-sockets-"))
        os.chmod(self.top, 0o711)
        self.processes = []
        for name in ("home", "work", "away", "tmp"):
            os.mkdir(os.path.join(self.top, name))

    def path(self, name):
        return os.path.join(self.top, name)

    def bind(self, folder, kind, *names):
        process = subprocess.Popen([sys.executable, "-c", BINDER, self.path(folder), kind, *names],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.processes.append(process)
        assert process.stdout.readline() == b"ready\n"

    def run(self, *words):
        env = {**os.environ, "HOME": self.path("home"), "TMPDIR": self.path("tmp")}
        return subprocess.run([CORRAL, "run", *words], cwd=self.path("work"), env=env, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self):
        for process in self.processes:
            process.communicate()
        shutil.rmtree(self.top)


def test_unreadable(host):
    """Who sets the sandbox up can read neither socket nor folder, as with that of containerd on many machines."""
    for folder in ("closed", "closed/below"):
        os.mkdir(host.path(folder))
    for folder in ("closed", "closed/below"):
        host.bind(folder, "socket", "s")
        os.chmod(host.path(folder + "/s"), 0o200)
        if os.geteuid() == 0:
            os.chown(host.path(folder + "/s"), 65534, 65534)
    for folder in ("closed/below", "closed"):
        if os.geteuid() == 0:
            os.chown(host.path(folder), 65534, 65534)
        os.chmod(host.path(folder), 0o311)
    for name in ("closed/s", "closed/below/s"):
        bare = subprocess.run([sys.executable, "-c", CONNECT, host.path(name)], check=False)
        ok(bare.returncode == 0, f"{name} can be connected to by programs outside")
        done = host.run("--mode", "sandbox", "--data-dir", host.path("work"), "--", "/usr/bin/python3", "-c", CONNECT, host.path(name))
        ok(done.returncode == 1 and "Error" in done.stderr, f"{name}, whose folder cannot be read, not by the command, which runs", done.stderr)
    for folder in ("closed", "closed/below"):
        os.chmod(host.path(folder), 0o700)


# Connects to each path that it is given, a line each, and says what came of it.
ASKED = """
import socket, sys
print("up", flush=True)
for line in sys.stdin:
    try:
        socket.socket(socket.AF_UNIX).connect(line.strip())
        print("connected", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""


def test_searchable(host):
    """Folders that may be searched, though not read, on the way to a socket that anybody may use: each can be made by any user in /tmp."""
    closed, opened = (0o711, 0o755) if os.geteuid() == 0 else (0o311, 0o755)
    chains = [(closed,), (closed, closed), (closed, opened), (opened, closed), (closed, opened, closed), (opened, closed, closed, opened)]
    folders, paths = [], []
    for i, chain in enumerate(chains):
        names = [f"chain-{i}" + "/below" * depth for depth in range(len(chain))]
        for name in names:
            os.mkdir(host.path(name))
        host.bind(names[-1], "socket", "s")
        os.chmod(host.path(names[-1] + "/s"), 0o777)
        paths.append(host.path(names[-1] + "/s"))
        folders += zip(names, chain)
    for name, mode in reversed(folders):
        if os.geteuid() == 0:
            os.chown(host.path(name), 65534, 65534)
        os.chmod(host.path(name), mode)
    lines = "".join(path + "\n" for path in paths)
    bare = subprocess.run([sys.executable, "-c", ASKED], input=lines, stdout=subprocess.PIPE, text=True, check=False)
    ok(bare.stdout.split() == ["up"] + ["connected"] * len(paths), "sockets in folders that cannot be read: programs outside connect", bare)
    done = subprocess.run([CORRAL, "run", "--mode", "sandbox", "--data-dir", host.path("work"), "--", "/usr/bin/python3", "-c", ASKED], input=lines,
                          cwd=host.path("work"), env={**os.environ, "HOME": host.path("home")}, capture_output=True, text=True, check=False)
    ok(done.returncode == 0 and done.stdout.startswith("up\n") and "connected" not in done.stdout and done.stdout.count("Error") == len(paths),
       "not the command, which runs", done)
    for name, _ in folders:
        os.chmod(host.path(name), 0o700)


def test_moved(host):
    """A folder with a server in it is moved, and another one takes its place: the command goes on, and does not reach the server."""
    for number, words in enumerate((["--mode", "sandbox", "--data-dir", host.path("work")], ["--policy", host.path("all.yaml")])):
        old, new = host.path(f"away/moves-{number}"), host.path(f"away/moved-{number}")
        os.makedirs(old + "/below")
        with open(host.path("all.yaml"), "w", encoding="utf-8") as f:
            f.write("fs: {read: [/**]}\n")
        host.bind(f"away/moves-{number}/below", "socket", "s")
        with subprocess.Popen([CORRAL, "run", *words, "--", "/usr/bin/python3", "-uc", ASKED], cwd=host.path("work"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": host.path("home")}) as p:
            heard = [p.stdout.readline()]
            os.rename(old, new)
            for path in (new, old):
                if path == old:
                    os.makedirs(old + "/below")
                    host.bind(f"away/moves-{number}/below", "socket", "s")
                bare = subprocess.run([sys.executable, "-c", CONNECT, path + "/below/s"], check=False)
                ok(bare.returncode == 0, f"{words[0]}: it can be connected to by programs outside")
                p.stdin.write(path + "/below/s\n")
                p.stdin.flush()
                heard.append(p.stdout.readline())
            p.stdin.close()
            said = p.stderr.read()
        ok(p.returncode == 0 and heard[0] == "up\n" and "Error" in heard[1] and heard[2], f"{words[0]}: not by the command, which goes on", heard, said)


def main():
    host = Host()
    try:
        churn = [subprocess.Popen([sys.executable, "-c", CHURN, host.path("away")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
        host.processes += churn
        for process in churn:
            process.stdout.readline()
        all_done = [host.run("--mode", "sandbox", "--data-dir", host.path("work"), "--", "true") for _ in range(CHURNED)]
        ok(all(d.returncode == 0 for d in all_done), f"{CHURNED} runs while servers come and go in sight",
           *[d.stderr for d in all_done if d.returncode][:3])
        while churn:
            host.processes.remove(churn[-1])
            churn.pop().communicate(timeout=30)
        test_unreadable(host)
        test_searchable(host)
        test_moved(host)
        for i in range(9):
            host.bind("away", str(i))
        done = host.run("--", "true")
        ok(done.returncode == 0, "4,500 sockets elsewhere: a command runs", done.stderr)
        host.bind("away", "relative")
        done = host.run("--", "true")
        ok(done.returncode == 0, "and 500 more that were bound by relative names", done.stderr)
        host.bind("work", "seen", "seen.sock")
        host.bind("work", "relative", "near.sock")
        for name in ("seen.sock", "near.sock"):
            bare = subprocess.run([sys.executable, "-c", CONNECT, host.path(f"work/{name}")], check=False)
            ok(bare.returncode == 0, f"{name} can be connected to by programs outside")
            done = host.run("--", "/usr/bin/python3", "-c", CONNECT, host.path(f"work/{name}"))
            ok(done.returncode == 1 and "Error" in done.stderr, f"{name}, in the workspace, not by the command", done.stderr)
        for i in range(9):
            host.bind("work", str(i))
        done = host.run("--", "true")
        ok(done.returncode == 125 and f"{host.path('work')}" in done.stderr and "sockets" in done.stderr,
           "more than can be masked in sight: it says where", done.stderr)
    finally:
        host.end()
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
