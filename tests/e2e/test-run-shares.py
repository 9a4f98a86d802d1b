#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernel counts for a user as a whole: one sandbox cannot take all of it, and what it takes is no reason for others to fail.
And nothing is left behind for an init that does not wait. As an ordinary user: root has more of most of it. Prints TAP.

    test-run-shares.py [NUMBER]     of live runs"""

import array
import contextlib
import ctypes
import os
import resource
import select
import socket
import subprocess
import sys
import tempfile

import broker_tap
from broker_tap import end, ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
PROGRAMS = ("CORRAL", "CORRAL_BROKER")
PATIENCE = 120
LIVE = 1000  # a user has 200 keys, and 128 inotify instances
LIVE_FILES, LIVE_PROCESSES = 3, 8  # that each of them takes of the test's, and of the user's
FILES = (512, 2048)  # of the attacker: a small hard limit is reached soon
libc = ctypes.CDLL(None, use_errno=True)

# Each takes what it can get, prints how much, and keeps it until its input ends.
TAKE = {
    "descriptors": """
import array, os, resource, socket
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1] * 250))]
try:
    while n < 1000000:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        kept.append(pair)
        for _ in range(8):
            pair[0].sendmsg([b"x"], rights, socket.MSG_DONTWAIT)
            n += 250
except OSError:
    pass
""",
    "watchers": """
while n < 100000 and libc.inotify_init() >= 0:
    n += 1
""",
    "terminals": """
import os
try:
    while n < 100000:
        kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
        n += 1
except OSError:
    pass
""",
    "timers": """
timer = ctypes.c_void_p()
while n < 200000 and librt.timer_create(1, None, ctypes.byref(timer)) == 0:
    n += 1
""",
}
HEAD = "import ctypes, sys\nlibc, librt, kept, n = ctypes.CDLL(None), ctypes.CDLL('librt.so.1'), [], 0\n"
TAIL = "\nprint(n, flush=True)\nsys.stdin.read()\n"


def run(*words, files=None):
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)) if files else None
    return subprocess.run([CORRAL, "run", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
                          preexec_fn=limit)


@contextlib.contextmanager
def taken(what, *words):
    """In a sandbox that has taken all that it can get. Yields how much that is."""
    command = [CORRAL, "run", *words, "--", sys.executable, "-c", HEAD + TAKE[what] + TAIL]
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, FILES))
    try:
        ready = select.select([p.stdout], [], [], PATIENCE)[0]
        yield int(p.stdout.readline() or -1) if ready else -1
    finally:
        p.communicate()


def others_run(name):
    plain = run("--", "echo", "plain", files=FILES)
    ok(plain.stdout == "plain\n", f"{name}: another run works", plain)
    if os.environ.get("CORRAL_BROKER"):
        broker = run("--broker", "--", "echo", "broker", files=FILES)
        ok(broker.stdout == "broker\n", f"{name}: and one with a broker", broker)
    relay = run("--net", "example.com:443", "--", "echo", "relay", files=FILES)
    ok(relay.stdout == "relay\n", f"{name}: and one with a relay", relay)


def can_send(soft):
    """Whether a program outside, with so many open files, can send a descriptor."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    a, b = socket.socketpair()
    try:
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])
        return True
    except OSError:
        return False
    finally:
        a.close()
        b.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_descriptors(folder):
    with taken("descriptors") as n:
        ok(FILES[0] < n < FILES[1], "a sandbox keeps descriptors under way, and not as many as its user may have", n)
        ok(not can_send(1024), "programs outside with the usual limit cannot send any")
        others_run("descriptors")
    with open(f"{folder}/few.yaml", "w", encoding="utf-8") as policy:
        policy.write("extends: workspace\nlimits:\n  open_files: 256\n")
    with taken("descriptors", "--policy", f"{folder}/few.yaml") as n:
        ok(0 < n < 768 and can_send(1024), "with a limit of 256 open files they can", n)


def test_watchers():
    with taken("watchers") as n:
        ok(0 < n <= 64, "a sandbox has few inotify instances", n)
        fd = libc.inotify_init()
        ok(fd >= 0, "a program outside gets one")
        others_run("inotify")
        os.close(fd)


def test_others():
    with taken("terminals") as n, taken("terminals") as m:
        ok(n == m == 256, "two sandboxes have 256 terminals each", n, m)
    most = resource.getrlimit(resource.RLIMIT_SIGPENDING)[0]
    with taken("timers") as n:
        ok(0 < n <= most // 4 + 4, "a quarter of the user's timers", n, most)
        others_run("timers")
    most = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0]
    done = subprocess.run([CORRAL, "run", "--", "awk", "/msgqueue/ {print $4}", "/proc/self/limits"], stdout=subprocess.PIPE, text=True, check=False)
    # Landlock lets no queue be opened; the limit holds where it is not there.
    ok(most < 0 or done.stdout.strip() == str(most // 2), "half of the user's message queues", done.stdout, most)


def test_live(wanted):
    """All at once: each has said that it runs, and waits for its input to end. Each has the usual soft limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    n = min([wanted] + [most // each for most, each in ((hard - 64, LIVE_FILES), (processes, LIVE_PROCESSES)) if most > 0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    live = [subprocess.Popen([CORRAL, "run", "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard)))
            for _ in range(n)]
    for p in live:
        with contextlib.suppress(BrokenPipeError):
            p.stdin.write(b"x")
            p.stdin.flush()
    running = sum(p.stdout.read(1) == b"x" for p in live)
    results = [(p.communicate(), p.returncode) for p in live]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    ok(running == n > 200 and not any(code for _, code in results), f"{n} live runs", running, [r for r in results if r[1]][:1])


# The first process of a pid namespace, which waits for its own child and for no other.
INIT = """
import os, subprocess, sys
for command in eval(sys.argv[1]):
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
left = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{pid}/stat") as f:
        left.append(f.read().split(" (")[1])
print(left[1:])
"""


def test_zombies():
    commands = [["--", "true"], ["--", "false"], ["--", "/corral-test-missing"], ["--net", "example.com:443", "--", "true"],
                ["--timeout", "1", "--", "sleep", "60"], ["--", "sh", "-c", "(sleep 60 &)"], ["--explain", "--", "true"]]
    if os.environ.get("CORRAL_BROKER"):
        commands.append(["--broker", "--", "true"])
    unshare = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
    inner = subprocess.run([*unshare, sys.executable, "-c", INIT, repr([[CORRAL, "run", *c] for c in commands])], capture_output=True,
                           text=True, timeout=PATIENCE, check=False)
    if inner.returncode and "unshare" in inner.stderr:
        broker_tap.skip("no run leaves a process behind", "kernel: " + inner.stderr.strip())
        return
    ok(inner.stdout == "[]\n", "no run leaves a process behind", inner)


def main():
    if os.geteuid() == 0:
        # A user of its own: what is counted for others must not be touched.
        broker_tap.USER = 61000 + os.getpid() % 4000
        broker_tap.end_as_user(*broker_tap.start_as_user(__file__, PROGRAMS, sys.argv[1:]))
        return end()
    if subprocess.run([CORRAL, "doctor"], stdout=subprocess.DEVNULL, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        os.environ["HOME"] = os.path.join(folder, "home")
        work = os.path.join(folder, "work")
        for made in (os.environ["HOME"], work):
            os.mkdir(made)
        os.chdir(work)
        test_descriptors(folder)
        test_watchers()
        test_others()
        test_live(int(sys.argv[1]) if len(sys.argv) > 1 else LIVE)
        test_zombies()
        os.chdir("/")
    return end()


sys.exit(main())
