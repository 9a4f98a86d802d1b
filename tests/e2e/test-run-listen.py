#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--listen [HOST:]PORT[:INNER]`: a server inside is reached by the host's loopback, on that port and no other, and not without it."""
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 60
SERVER = """
import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
s.settimeout(60)
while True:
    c, _ = s.accept()
    c.sendall(b"inside")
    c.close()
"""
number = failures = 0


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print(f"# {detail}", flush=True)


def free_port():
    """None of those that the kernel gives to others meanwhile."""
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(10000, 30000))) as s:
                return s.getsockname()[1]
        except OSError:
            pass


def ask(host, port):
    try:
        with socket.create_connection((host, port), timeout=SECONDS) as s:
            return s.recv(100).decode()
    except OSError as e:
        return type(e).__name__


def unpublished():
    """A server that nobody can reach: which port, and the option; what is suggested helps."""
    port = free_port()
    child = subprocess.Popen([CORRAL, "run", "--", "python3", "-c", SERVER, str(port)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=work, env=environment, text=True)
    try:
        line = child.stderr.readline()
    finally:
        child.terminate()
        child.communicate(timeout=SECONDS)
    ok(f"waits for connections on port {port}" in line and f"--listen {port} " in line, "a server that nobody can reach", line)


def serve(words, port, hosts=("127.0.0.1",), outer=None):
    """What each of these addresses of the host says, on `outer` or the same port, while the server runs."""
    child = subprocess.Popen([*words, "python3", "-c", SERVER, str(port)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work, env=environment)
    try:
        if child.stdout.readline() != b"ready\n":
            return [child.stderr.read().decode()]
        time.sleep(0.1)
        return [ask(host, outer or port) for host in hosts]
    finally:
        child.terminate()
        serve.said = child.communicate(timeout=SECONDS)[1].decode()


def refused(name, text, *words):
    done = subprocess.run([CORRAL, "run", *words, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, cwd=work,
                          env=environment, timeout=SECONDS, check=False)
    ok(done.returncode == 125 and text in done.stderr.decode(), name, f"{done}")


def own_address():
    """An address of this machine that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return None


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch).resolve()
    work, home = scratch / "work", scratch / "home"
    work.mkdir()
    home.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    environment.update(HOME=str(home), PATH="/usr/bin:/bin", LC_ALL="C.UTF-8",
                       ASAN_OPTIONS=":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"])))
    if subprocess.run([CORRAL, "doctor"], capture_output=True, env=environment, check=False).returncode != 0:
        print("1..0 # SKIP kernel: no sandbox can be had here")
        sys.exit(0)
    unpublished()
    port = free_port()
    got = serve([], port)
    ok(got == ["inside"], "bare, the server is reached", got)
    got = serve([CORRAL, "run", "--"], port)
    ok(got == ["ConnectionRefusedError"], "inside, it is not", got)
    got = serve([CORRAL, "run", "--listen", str(port), "--"], port)
    ok(got == ["inside"], "with --listen it is", got)
    ok("nothing outside can reach" not in serve.said, "and a visitor is not reported as a server that nobody can reach", serve.said)
    got = serve([CORRAL, "run", "--listen", str(free_port()), "--"], port)
    ok(got == ["ConnectionRefusedError"], "another port is not published by it", got)
    outer = free_port()
    got = serve([CORRAL, "run", "--listen", f"{outer}:{port}", "--"], port, outer=outer)
    ok(got == ["inside"], "under another number", got)
    got = serve([CORRAL, "run", "--listen", f"{outer}:{port}", "--"], port)
    ok(got == ["ConnectionRefusedError"], "its own number is not published then", got)
    got = serve([CORRAL, "run", "--listen", f"127.0.0.2:{outer}:{port}", "--"], port, ("127.0.0.1", "127.0.0.2"), outer)
    ok(got == ["ConnectionRefusedError", "inside"], "on one address, and no other", got)
    (work / "l.yaml").write_text(f"{{fs: {{read: [/**]}}, network: {{listen: ['{outer}:{port}']}}}}\n")
    got = serve([CORRAL, "run", "-p", "l.yaml", "--"], port, outer=outer)
    ok(got == ["inside"], "by a policy", got)
    (work / "p.yaml").write_text("fs: {read: [/**]}\n")
    got = serve([CORRAL, "run", "-p", "p.yaml", "--listen", str(port), "--"], port)
    ok(got == ["inside"], "it is added to a policy", got)
    other = own_address()
    if other and not other.startswith("127."):
        got = serve([CORRAL, "run", "--listen", str(port), "--"], port, ("127.0.0.1", other))
        ok(got == ["inside", "ConnectionRefusedError"], "other addresses of the machine do not lead there", got)
        got = serve([CORRAL, "run", "--listen", f"{other}:{port}", "--"], port, ("127.0.0.1", other))
        ok(got == ["ConnectionRefusedError", "inside"], "but one does that is named", got)
    with socket.create_server(("127.0.0.1", 0)) as s:
        refused("a port that is in use", "another program listens on it", "--listen", str(s.getsockname()[1]))
    for text in ["", "0", "65536", "99999999999999999999", "x", "-1", "80x", " 80", "80:", "80:81:82", "*:80", "host:80"]:
        refused(f"no port: `{text}`", "is not a port number", f"--listen={text}")
    refused("a name", "has a host that is not an address", "--listen", "example.com:80")
    refused("an address that this machine does not have", "it has no such address", "--listen", "192.0.2.1:8080")
    refused("one port for two", "is already published for port 1 of the sandbox", "--listen", "8080:1", "--listen", "8080:2")
    refused("not with the profile offline", "--listen cannot be used with the profile offline", "--profile", "offline", "--listen", "80")

print(f"1..{number}")
sys.exit(failures != 0)
