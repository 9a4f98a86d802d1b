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


def scene_notifications():
    import bus
    notifications = bus.Bus(scratch + "/bus")
    with run(call("notifications.send", "title=x"), services={"notifications": {"access": "send"}}) as process:
        show("notifications", process.pid)
    notifications.close()


def scene_clipboard():
    xclip = write(scratch + "/programs/xclip", "#!/bin/sh\ncat >/dev/null\n", 0o755)
    configure(clipboard={"program": "xclip", "programs": os.path.dirname(xclip)})
    with run(call("clipboard.write", "text=x"), env={"DISPLAY": ":77"}, services={"clipboard": {"access": "write"}}) as process:
        show("clipboard", process.pid)


def scene_open():
    configure(browser={"open_with": write(scratch + "/programs/browse", "#!/bin/sh\n", 0o755)})
    with run(call("browser.open", "url=https://example.com/"), services={"browser": {"access": "open", "domains": ["example.com"]}}) as process:
        show("open", process.pid)


def scene_reminders():
    os.makedirs(scratch + "/lists/home")
    configure(reminders={"folder": scratch + "/lists"})
    with run(call("reminders.list"), services={"reminders": {"access": "read"}}) as process:
        show("reminders", process.pid)


def scene_mail():
    """The server refuses to talk; what matters is there by then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        configure(email={"server": "127.0.0.1", "port": server.getsockname()[1], "tls": "plain", "from": "agent@example.com"})
        with run("sandbox-call email.send 'to:=[\"a@example.com\"]' subject=s body=b --json >/dev/null 2>&1",
                 services={"email": {"access": "send", "recipients": ["*@example.com"]}}) as process:
            show("mail", process.pid)


def scene_fetch():
    """One that waits for its server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://localhost:{server.getsockname()[1]}"
        with run(f"sandbox-call http_request url={url}/ >/dev/null 2>&1 &", "--broker", "--net", url[len("http://"):]) as process:
            connection = server.accept()[0]
            show("fetch", process.pid)
            connection.close()


def scene_host():
    """A program with the library's sandbox, and a broker."""
    policy = write(scratch + "/host.yaml", json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"]}))
    process = subprocess.Popen([os.environ["QUESTION_HOST"], policy, home, "broker", "1000", "sh", "-c", "echo up; read -r _"], cwd=home,
                               env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("host", process.pid)
    process.communicate("on\n")


def scene_daemon():
    import daemon_tap
    daemon = daemon_tap.Daemon()
    daemon.env["CORRAL_WARDEN"] = os.environ["CORRAL_WARDEN"]
    try:
        daemon.start()
        folder = daemon.place + "/granted"
        os.mkdir(folder)
        os.mkfifo(folder + "/up")
        policy = {"fs": {"read": [folder + "/{,**}"], "write": [folder + "/{,**}"]}, "exec": ["sh"]}
        status, _, body = daemon.get("/api/invoke/set_policy", method="POST", body={"policy": json.dumps(policy)})
        assert status == 200, body
        waiting = threading.Thread(target=daemon.get, args=("/api/invoke/shell_exec",), daemon=True, kwargs={
            "method": "POST", "body": {"cmd": "sh", "args": ["-c", f"echo up >{folder}/up; read -r _ <{folder}/up"]}})
        waiting.start()
        with open(folder + "/up", encoding="utf-8") as file:
            assert file.readline() == "up\n"
        show("daemon", daemon.process.pid)
        with open(folder + "/up", "w", encoding="utf-8") as file:
            file.write("on\n")
        waiting.join()
    finally:
        daemon.end()


WAITING = """(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 8) "\\40\\00\\00\\00\\03\\00\\00\\00")
  (data (i32.const 64) "up\\0a")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 32)))
    (drop (call $read (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 32)))))
"""


def scene_wasm():
    skill = scratch + "/skill"
    write(skill + "/SKILL.md", "---\nname: skill\ndescription: a test\n---\n# Test\n")
    write(skill + "/manifest.yaml", 'name: skill\nversion: "0.1.0"\nwasm: {file: skill.wasm}\n')
    subprocess.run(["wat2wasm", write(scratch + "/skill.wat", WAITING), "-o", skill + "/skill.wasm"], check=True)
    process = subprocess.Popen([CORRAL, "run", "--yes", "--skill", skill], cwd=home, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("wasm", process.pid)
    process.communicate("on\n")


def held(name, command):
    """A program that waits, without a word, once it is confined."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
    show(name, process.pid)
    process.kill()
    process.communicate()


def scene_compile():
    held("compile", [os.environ["CORRAL_WASM"], "compile"])


def scene_inspector():
    held("inspector", [os.environ["HOLD_INSPECTOR"], scratch])


def scene_vault():
    process = subprocess.Popen([os.environ["VAULT_CLIENT"], "hold"], cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("vault", process.pid)
    process.communicate("")


SCENES = {"run": scene_run, "explain": scene_explain, "writes": scene_tier3, "notifications": scene_notifications,
          "clipboard": scene_clipboard, "open": scene_open, "reminders": scene_reminders, "mail": scene_mail, "fetch": scene_fetch, "host": scene_host,
          "daemon": scene_daemon, "wasm": scene_wasm, "compile": scene_compile, "inspector": scene_inspector, "vault": scene_vault}


if __name__ == "__main__":
    os.umask(0o022)
    try:
        for each in sys.argv[1:]:
            SCENES[each]()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
