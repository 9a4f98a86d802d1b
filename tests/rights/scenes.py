#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts each of Corral's processes for test-rights.py, scene by scene: prints `scene NAME PID`, with the process that the
others are below, and ends the scene when it reads a line. Runs as the user whose processes are looked at."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("e2e", "broker")]

CORRAL = os.path.abspath(os.environ["CORRAL"])
scratch = tempfile.mkdtemp(prefix="cr-")
home = os.path.join(scratch, "home")
os.makedirs(home)
environment = {**{name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")},
               "HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_STATE_HOME": home + "/.state",
               "XDG_CACHE_HOME": home + "/.cache", "XDG_RUNTIME_DIR": scratch + "/runtime",
               "CORRAL_BACKENDS": os.environ.get("BACKENDS", "/nonexistent"),
               "DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/bus"}
os.makedirs(environment["XDG_RUNTIME_DIR"], 0o700)


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def show(name, pid):
    print(f"scene {name} {pid}", flush=True)
    sys.stdin.readline()


def configure(**sections):
    write(home + "/.config/corral/services.yaml", json.dumps(sections))


@contextlib.contextmanager
def run(script, *options, env=None, stderr=None, **permissions):
    """A sandbox whose command has done this, and waits."""
    policy = write(scratch + "/policy.yaml", json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"], **permissions}))
    process = subprocess.Popen([CORRAL, "run", "--policy", policy, *options, "--", "sh", "-c", script + "\necho up; read -r _"], cwd=home,
                               env={**environment, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                               text=True)
    said = [process.stdout.readline()]
    while said[-1] not in ("up\n", ""):
        said.append(process.stdout.readline())
    assert said[-1], said
    yield process
    process.stdin.close()
    process.stdout.read()
    process.wait()


def call(*words):
    return "sandbox-call " + " ".join(f"'{word}'" for word in words) + " --json || exit 9"


def scene_run():
    with run(":", "--net", "127.0.0.1:9") as process:
        show("run", process.pid)


def scene_explain():
    # What is tried within its command is explained.
    with run(":", "--explain", stderr=subprocess.DEVNULL) as process:
        show("explain", process.pid)


def scene_tier3():
    for name in ("agent", "tmp"):
        os.mkdir(os.path.join(scratch, name))
    process = subprocess.Popen([CORRAL, "run", "--mode", "sandbox", "--data-dir", scratch + "/agent", "--tier", "3", "--", "sh", "-c", "echo up; read -r _"], cwd=home,
                               env={**environment, "TMPDIR": scratch + "/tmp"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "up\n"
    show("writes", process.pid)
    process.communicate("")


def scene_host():
    """A program with the library's sandbox, and a broker."""
    policy = write(scratch + "/host.yaml", json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"]}))
    process = subprocess.Popen([os.environ["QUESTION_HOST"], policy, home, "broker", "1000", "sh", "-c", "echo up; read -r _"], cwd=home,
                               env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("host", process.pid)
    process.communicate("on\n")


def held(name, command):
    """A program that waits, without a word, once it is confined."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
    show(name, process.pid)
    process.kill()
    process.communicate()


def scene_inspector():
    held("inspector", [os.environ["HOLD_INSPECTOR"], scratch])


SCENES = {"run": scene_run, "explain": scene_explain, "writes": scene_tier3, "host": scene_host, "inspector": scene_inspector}


if __name__ == "__main__":
    os.umask(0o022)
    try:
        for each in sys.argv[1:]:
            SCENES[each]()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
