#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Growth, floods and kills as an ordinary user, where the suite runs as root: what the kernel counts for a user, and who may look
into whose processes, differ. Each is a test of its own that root has run, too; other tests of this kind become an ordinary user by
themselves (test-run-user.sh, broker_tap.py). Prints TAP.

    test-growth-user.py KB     by how much memory may differ, see soak.c
"""

import os
import resource
import subprocess
import sys
import tempfile

import broker_tap
from broker_tap import at_once, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "SOAK", "BENCH_MANY", "SESSION_CRASH", "SESSION_EXHAUST", "STORE_CRASH", "LIBRARY")
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 240
FILES = 1024  # the usual soft limit
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
FEW = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 4 >/proc/sys/user/max_inotify_instances && exec "$0" "$@"']


def run(name, *command):
    """In a folder of its own, which `corral run` takes for a project."""
    with tempfile.TemporaryDirectory() as folder:
        for made in ("home", "home/project"):
            os.mkdir(f"{folder}/{made}")
        env = {**os.environ, "HOME": f"{folder}/home", "TMPDIR": folder, "LD_LIBRARY_PATH": os.path.dirname(os.environ["LIBRARY"]),
               "CORRAL_TEST_AUDIT": os.environ["AUDIT_DATA"], "CMOCKA_MESSAGE_OUTPUT": "TAP"}
        done = subprocess.run(command, env=env, cwd=f"{folder}/home/project", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, HARD), HARD)))
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)
    said = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    # What prints TAP fails by what it prints.
    ok(done.returncode == 0 and not any(line.startswith("not ok") for line in said), name, done.returncode, *said[-20:])


def appear(*words):
    run(f"secrets that appear: {' '.join(words)}", sys.executable, f"{HERE}/test-run-appear.py", *words)


def grow(slack):
    run("3,000 commands in one sandbox", os.environ["SOAK"], os.environ["CORRAL_WARDEN"], "3000", slack)
    run("more sandboxes than inotify instances", *FEW, os.environ["BENCH_MANY"], os.environ["CORRAL_WARDEN"], os.environ["CORRAL"], "20")
    run("processes of a session are killed", os.environ["SESSION_CRASH"])
    run("a session takes what it can get", os.environ["SESSION_EXHAUST"])
    run("the writer of a log is killed", os.environ["STORE_CRASH"])


def flood():
    appear("--with", "max_inotify_instances", "0")
    appear("--with", "max_inotify_watches", "8")
    appear("--no-signals", "--with", "max_inotify_instances", "0")


def main():
    if os.environ.get("GROWING"):
        at_once(lambda: grow(sys.argv[1]), flood)
        return end()
    if os.geteuid() != 0:
        print("1..0 # SKIP kernel: not root, so the others ran as an ordinary user already")
        return 0
    # A user of its own: what others take is not counted for it.
    broker_tap.USER = 61000 + os.getpid() % 4000
    broker_tap.end_as_user(*broker_tap.start_as_user(__file__, PROGRAMS, sys.argv[1:], AUDIT_DATA=os.environ["AUDIT_DATA"],
                                                     GROWING=f"{HERE}/test-run-appear.py"))
    return end()


sys.exit(main())
