# SPDX-License-Identifier: Apache-2.0
"""What the broker's tests share: TAP, and all of a test once more as an ordinary user, on copies of the
programs, this file among them."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

USER = 65534
PORT = 3849
# Runs inside: calls by the socket (call), by HTTP (rpc) and by hand (raw), and prints a list.
INSIDE = r"""
import json, os, socket, sys

def call(called, /, **params):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["SANDBOX_SOCKET"])
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": called, "params": params})
        s.sendall(line.encode() + b"\n")
        for answer in map(json.loads, s.makefile()):
            if "method" not in answer:
                return answer
            notes.append(answer)

def raw(text):
    with socket.create_connection(("127.0.0.1", %(port)d), timeout=60) as s:
        s.sendall(text if isinstance(text, bytes) else text.encode())
        parts = []
        try:
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was answered, and hung up on, already
        while True:
            try:
                part = s.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            parts.append(part)
    return b"".join(parts).decode()

def rpc(called, /, head=None, **params):
    import http.client
    c = http.client.HTTPConnection("127.0.0.1", %(port)d, timeout=60)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": called, "params": params})
    fields = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["SANDBOX_TOKEN"]}
    fields.update(head or {})
    c.request("POST", "/rpc", body, fields)
    r = c.getresponse()
    text = r.read().decode()
    return json.loads(text) if r.status == 200 else {"status": r.status, "text": text}

out, notes = [], []
exec(sys.argv[1])
print(json.dumps(out))
""" % {"port": PORT}

number = failures = 0


def ok(good, name, *more):
    global number, failures
    number += 1
    failures += not good
    print("ok" if good else "not ok", number, "-", name)
    for line in () if good else more:
        print("#", repr(line)[:2000])
    sys.stdout.flush()
    return good


def skip(name, why):
    global number
    number += 1
    print(f"ok {number} - {name} # SKIP {why}", flush=True)


def start_as_user(script, programs, words=(), before=(), **files):
    """script once more; programs are variables that name one, files further ones: variable=path. before: words before its command.
    Its process, and the folder of the copies."""
    copy = tempfile.mkdtemp()
    # In a user namespace of its own it is root, whose home it may not read.
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent"}
    for name in (name for name in programs if os.path.exists(os.environ.get(name, ""))):
        env[name] = shutil.copy(os.environ[name], copy)
    for name, path in files.items():
        target = os.path.join(copy, os.path.basename(path))
        env[name] = shutil.copytree(path, target) if os.path.isdir(path) else shutil.copy(path, copy)
    shutil.copy(__file__, copy)
    own = shutil.copy(script, copy)
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
    command = [*before, "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/usr/bin/python3", own, *words]
    return subprocess.Popen(command, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), copy


def end_as_user(process, copy, name="the same as an ordinary user"):
    lines = process.communicate()[0].splitlines()
    shutil.rmtree(copy)
    ok(process.returncode == 0 and lines, name, *[line for line in lines if not line.startswith("ok ")])


def as_user(script, programs, **files):
    end_as_user(*start_as_user(script, programs, **files))


@contextlib.contextmanager
def beside_user(script, programs, **files):
    """The same, beside the block, with which it shares nothing; its result comes after those of the block. For anyone but root, the
    block alone."""
    if os.geteuid() != 0:
        yield
        return
    user = start_as_user(script, programs, **files)
    try:
        yield
    finally:
        end_as_user(*user)


def at_once(*parts):
    """Each of these functions in a process of its own, all at the same time; what they print, in their order. They share nothing
    that they change."""
    global number, failures
    sys.stdout.flush()
    running = []
    for part in parts:
        said = tempfile.TemporaryFile("w+")
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.dup2(said.fileno(), 1)
                part()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        running.append((pid, said))
    for pid, said in running:
        code = os.waitpid(pid, 0)[1]
        said.seek(0)
        for line in said:
            result = re.match(r"(ok|not ok) \d+ (.*)", line)
            number += bool(result)
            failures += bool(result) and result[1] != "ok"
            print(f"{result[1]} {number} {result[2]}" if result else line.rstrip("\n"))
        said.close()
        sys.stdout.flush()
        if code:
            ok(False, "all of a part was done", code)


def end():
    print(f"1..{number}")
    return 1 if failures else 0
