#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that gets no inotify, because other programs of its user have used it up: it starts, says what is missing and how to
get it, and sees changes all the same, later; with inotify it goes on as usual. All of it runs in a user namespace with limits of its
own (/proc/sys/user). Prints TAP."""

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys

from broker_tap import end, ok, skip
from daemon_tap import CORRAL, Daemon, until

LONG = 90
LIMITS = {"max_inotify_instances": "fs.inotify.max_user_instances", "max_inotify_watches": "fs.inotify.max_user_watches"}


def limit(name, value):
    with open("/proc/sys/user/" + name, "w") as f:
        f.write(str(value))


def findings(d):
    return {f["where"]: f for f in d.get("/api/security")[2]["findings"] if f["kind"] == "unchecked"}


def policies(d):
    return [r["target"] for r in d.get("/api/audit?limit=1000&action=policy")[2]["records"]]


def test(d, name, sysctl):
    limit(name, 0)
    d.start()
    ok(sysctl + " is used up; raise it" in d.said(), f"{sysctl}: the daemon starts, and says what to raise", d.said())
    status = d.status()
    ok(status["watch"]["error"] == sysctl + " is used up", "so does the status", status)
    shown = subprocess.run([CORRAL, "status"], env=d.env, capture_output=True, text=True, check=False)
    ok(sysctl + " is used up" in shown.stdout, "and corral status", shown)
    ok(until(lambda: sysctl in findings(d)) and f"sysctl {sysctl}=" in findings(d)[sysctl]["remedy"], "it is a finding, with the command that helps", findings(d))
    os.makedirs(d.place + "/data", exist_ok=True)
    ran = subprocess.run([CORRAL, "run", "--", "true"], env={**d.env, "XDG_RUNTIME_DIR": d.place + "/data"}, cwd=d.place + "/data", capture_output=True,
                         text=True, timeout=LONG, check=False)
    ok(ran.returncode == 0 and until(lambda: os.listdir(d.place + "/state/corral/missed") == [], LONG), "what a run leaves is seen all the same", ran)
    folder = d.place + "/config/corral/policy.d"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}.yaml", "w") as f:
        f.write("fs: {deny: [/srv/never]}\n")
    ok(until(lambda: any(name in target for target in policies(d)), LONG), "so is a policy that is stored", policies(d), d.said())
    ok(d.said().count(sysctl) == 1, "what is missing was said once", d.said())
    limit(name, 1000)
    ok(until(lambda: d.status()["watch"]["error"] is None and not findings(d), LONG), "when there is more, it is used", d.status(), findings(d))
    d.stop()


def without_inotify():
    """From now on inotify_init1() fails with ENOMEM, for this process and all that it starts."""
    number = {"x86_64": 294, "aarch64": 26}[platform.machine()]
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno.ENOMEM), (0x06, 0, 0, 0x7fff0000)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
    program = struct.pack("HP", len(code), ctypes.addressof(filters))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def test_other(d):
    """Another error than that of a limit is not blamed on one."""
    if platform.machine() not in ("x86_64", "aarch64"):
        return skip("inotify that fails for another reason", "the test does not know this machine's system calls")
    d.start(preexec_fn=without_inotify)
    ok("at once: inotify: Cannot allocate memory" in d.said() and "fs.inotify" not in d.said(), "another error is said as it is", d.said())
    ok(d.status()["watch"]["error"] == "inotify: Cannot allocate memory", "so does the status", d.status())
    ok("inotify" in findings(d) and "sysctl" not in findings(d)["inotify"]["remedy"], "and the finding", findings(d))
    d.stop()
    return ok(d.process.returncode == 0, "the daemon ends as it should")


def main():
    if sys.argv[1:] != ["--inside"]:
        words = ["unshare", "--user", "--map-root-user"]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            skip("a daemon without inotify", "kernel: no user namespaces for us")
            return end()
        os.execvp(words[0], [*words, sys.executable, os.path.abspath(__file__), "--inside"])
    for name, sysctl in (*LIMITS.items(), (None, None)):
        d = Daemon()
        d.needs_inotify = False
        os.makedirs(d.place + "/config/corral")
        with open(d.place + "/config/corral/daemon.json", "w") as f:
            f.write('{"daemon": {"watch": 1}}')
        try:
            if name:
                test(d, name, sysctl)
            else:
                test_other(d)
        finally:
            d.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
