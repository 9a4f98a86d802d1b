#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real corral-broker of a real session, whose front was taken over (broker/program/test/front-taken.c): what
runs inside has it send any frame. It gains nothing that the policy does not grant: no file, variable, program,
host or descriptor; a frame that breaks a rule ends the front, and the next one is served. The frames are shown
to work by calls that are granted. As root, once more as an ordinary user. Prints TAP."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from broker_tap import as_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_FETCH")
CORRAL, PATIENCE = os.path.abspath(os.environ["CORRAL"]), 300
SECRET, HIDDEN = "the-secret-of-the-host", "a-hidden-variable"

# Inside. `attack` is code that uses send() and call(); what the monitor sent, and how it went on, is printed.
INSIDE = r"""
import json, os, socket, struct, sys, time

NONE, TEXT, PATH, DATA, NUMBER, FLAG, CHOICE, TIME, WORDS, PAIRS, JSON = range(11)
MAGIC, PROTOCOL, HEAD = 0x4c525243, 4, struct.Struct("=IIQII")  # the upper half of the type is the protocol's version
# As in wire/frame.h.
(CONFIGURE, START, SIGNAL, KILL, LEASE, RETURN, READY, FAILED, STARTED, REFUSED, EXITED, STOPPED, GONE, PLAN, SPAWN, INIT, SOCKETS, RECORD,
 POLICY, WITNESS, CALL, CANCEL, ANSWER, CALL_REFUSED, NOTE, CALL_GONE, BROKER, COUNT) = range(1, 29)
received, descriptors, s, rows = [], 0, None, {}

def take(n):
    parts = b""
    while len(parts) < n:
        part = s.recv(n - len(parts))
        if not part:
            raise ConnectionError
        parts += part
    return parts

def hear(timeout=60):
    global descriptors
    s.settimeout(timeout)
    n, fds = struct.unpack("=II", take(8))
    data = take(n)
    descriptors += fds
    received.append(data)
    return data

def join():
    global s
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["SANDBOX_SOCKET"])
    for number, row in enumerate(hear().decode().splitlines()):
        name, shield, *types = row.split()
        rows[name] = rows[shield] = number, [int(t) for t in types], name

def order(packet, memfd=b"", sealed=True, copies=0):
    s.settimeout(60)
    s.sendall(struct.pack("=IIII", len(packet), len(memfd), sealed, copies) + packet + memfd)

def send(kind, id=1, body=b"", n_fds=None, length=None, copies=0, memfd=b"", sealed=True, magic=MAGIC):
    n = copies + bool(memfd) if n_fds is None else n_fds
    order(HEAD.pack(magic, kind | PROTOCOL << 16 if kind < 1 << 16 else kind, id, (len(memfd) or len(body)) if length is None else length, n) + (b"" if memfd else body), memfd, sealed,
          copies)

def text(t):
    t = t if isinstance(t, bytes) else t.encode()
    return struct.pack("=I", len(t)) + t + b"\0"

def encode(kind, value):
    if value is None:
        return b"\0"
    out = bytes([kind])
    if kind in (TEXT, PATH, DATA, JSON):
        return out + text(value)
    if kind in (NUMBER, FLAG, CHOICE, TIME):
        return out + struct.pack("=Q", value)
    items = value.items() if kind == PAIRS else value
    return out + struct.pack("=I", len(value)) + b"".join(text(i) if kind == WORDS else text(i[0]) + text(i[1]) for i in items)

def body(method, *values, flags=0, pid=1, uid=0, number=None, connection=1):
    index, types, name = rows[method]
    values = list(values) + [None] * (len(types) - len(values))
    flags |= 1 if name != method else 0
    return struct.pack("=IIIIQ", index if number is None else number, flags, pid, uid, connection) + b"".join(map(encode, types, values))

def answer(id):
    while True:
        data = hear()
        kind, got = HEAD.unpack(data[:HEAD.size])[1:3]
        kind &= 0xffff
        if got == id and kind in (ANSWER, CALL_REFUSED):
            return kind, data[HEAD.size:]

def call(method, *values, id=1, **more):
    b = body(method, *values, **more)
    if len(b) > 32 << 10:
        send(CALL, id, memfd=b)
    else:
        send(CALL, id, b)
    return answer(id)

def attempts():
    order(b"", copies=1000)
    return hear().decode()

result = {"broken": False, "says": None}
join()
try:
    exec(sys.argv[1])
    # A frame behind it: whoever was hung up on does not get an answer.
    call("fs.read", os.getcwd() + "/file", id=99)
except (ConnectionError, TimeoutError):
    result["broken"] = True
    join()
# The monitor is well.
kind, data = call("fs.read", os.getcwd() + "/file", id=100)
result["well"] = kind == ANSWER and b"granted text" in data
result["descriptors"] = descriptors
result["received"] = b"\n".join(received).hex()
print(json.dumps(result))
"""


class Server(http.server.BaseHTTPRequestHandler):
    requests = []

    def do_GET(self):
        Server.requests.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(SECRET.encode())

    def log_message(self, *_):
        pass


class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-taken-"))
        for name in ("home", "work", "work/out"):
            os.mkdir(self.path(name))
        policy = {"fs": {"read": ["/usr/**", "/lib/**", "/lib64/**", "/bin/**", "$WORK_DIR", "$WORK_DIR/**"], "write": ["$WORK_DIR/out/**"],
                         "deny": ["$WORK_DIR/denied"]},
                  "exec": ["python3", "echo"], "env": ["GIVEN"]}
        for name, text in (("outside", SECRET), ("work/denied", SECRET), ("work/file", "granted text"), ("policy.json", json.dumps(policy))):
            with open(self.path(name), "w", encoding="utf-8") as out:
                out.write(text)
        self.env = {**os.environ, "HOME": self.path("home"), "GIVEN": "given", "HIDDEN": HIDDEN}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CORRAL_AUDIT"):
            self.env.pop(name, None)

    def path(self, name):
        return os.path.join(self.top, name)

    def attack(self, code, *options):
        done = subprocess.run([CORRAL, "run", "--broker", "--policy", self.path("policy.json"), *options, "--", "/usr/bin/python3", "-c",
                               INSIDE, code], cwd=self.path("work"), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        try:
            got = json.loads(done.stdout)
            got["received"] = bytes.fromhex(got["received"])
            return got
        except ValueError:
            return {"failed": [done.returncode, done.stderr.decode()[-1500:]], "received": b""}

    def is_untouched(self):
        found = []
        for folder, _, names in os.walk(self.top):
            found += [os.path.join(folder, name) for name in names]
        with open(self.path("outside"), encoding="utf-8") as one, open(self.path("work/denied"), encoding="utf-8") as other:
            same = one.read() == SECRET and other.read() == SECRET
        return same and sorted(os.path.relpath(f, self.top) for f in found if "/home/" not in f) == [
            "outside", "policy.json", "work/denied", "work/file"]

    def end(self):
        shutil.rmtree(self.top)


def held(scene, got):
    """Nothing of the host came, nothing changed, and the monitor works."""
    text = got["received"]
    return (got.get("well") and got["descriptors"] == 0 and SECRET.encode() not in text and HIDDEN.encode() not in text and
            b"root:x:0" not in text and scene.is_untouched())


# Frames that are well formed: (name, code, is it answered). Each is refused, or does what is granted.
CALLS = (
    ("reads outside", "call('fs.read', '{top}/outside')"),
    ("reads what is denied", "call('fs.read', '{top}/work/denied')"),
    ("reads by the other name", "call('file_read', '{top}/outside')"),
    ("reads as another process", "call('fs.read', '{top}/outside', pid=2, uid=0)"),
    ("reads as no process", "call('fs.read', '{top}/outside', pid=0xffffffff, uid=0xffffffff)"),
    ("reads by HTTP", "call('fs.read', '{top}/outside', flags=2)"),
    ("reads by a path that climbs", "call('fs.read', '{top}/work/../outside')"),
    ("reads the root's own files", "call('fs.read', '/proc/self/root{top}/outside')"),
    ("lists the host", "call('fs.list', '{top}', None, 1)"),
    ("stats the host", "call('fs.stat', '{top}/outside')"),
    ("writes outside", "call('fs.write', '{top}/outside', b'x')"),
    ("writes the policy", "call('fs.write', '{top}/policy.json', b'{{}}')"),
    ("writes what may only be read", "call('fs.write', '{top}/work/file', b'x')"),
    ("removes outside", "call('fs.delete', '{top}/outside')"),
    ("runs a program that is not listed", "call('exec.run', 'cat', ['{top}/outside'])"),
    ("gives a program a variable", "call('exec.run', 'echo', ['x'], None, {{'LD_PRELOAD': '{top}/x'}})"),
    ("gives a variable that is two", "call('exec.run', 'echo', ['x'], None, {{'GIVEN=x\\nA': 'x'}})"),
    ("runs a program in a folder outside", "call('exec.run', 'echo', ['x'], '{top}')"),
    ("asks for a variable", "call('env.get', 'HIDDEN')"),
    ("fetches", "call('network.http', 'http://127.0.0.1:{port}/')"),
    ("opens a socket", "call('socket.open', '127.0.0.1:{port}')"),
    ("downloads", "call('network.download', 'http://127.0.0.1:{port}/', '{top}/work/out/got')"),
    ("asks what is allowed", "call('policy_check', 'fs.read', '{top}/outside')"),
    ("cancels what was never called", "send(CANCEL, 12345)"),
    ("ends connections that were never there", "send(CALL_GONE, 12345)\nsend(CALL_GONE, (1 << 64) - 1)"),
    ("uses sockets that it guesses", "[call('socket.read', n, connection=c) for n in (0, 1, 2, 4294967295) for c in (0, 1, (1 << 64) - 1)]"),
    ("a call in a sealed memfd", "call('fs.write', '{top}/outside', b'x' * 100000)"),
    ("64 calls at once", "[send(CALL, i, body('fs.read', '{top}/outside', pid=i)) for i in range(1000, 1064)]\n"
                         "[hear() for _ in range(64)]"),
)

# Frames that break a rule: the front is ended, another one is served.
BROKEN = (
    ("a call by HTTP that HTTP does not have", "send(CALL, 1, body('exec.run', 'echo', ['x'], flags=2))"),
    ("flags that are none", "send(CALL, 1, body('fs.read', 'file', flags=4))"),
    ("a method that is none", "send(CALL, 1, body('fs.read', 'file', number=9999))"),
    ("a method that is never done", "send(CALL, 1, body('skill_install'))"),
    ("a parameter too little", "send(CALL, 1, body('fs.read', None))"),
    ("bytes behind the end", "send(CALL, 1, body('fs.read', 'file') + b'x')"),
    ("a length past the end", "send(CALL, 1, body('fs.read', 'file')[:25] + b'\\xff\\xff\\xff\\x7f' + b'x')"),
    ("more items than there are", "send(CALL, 1, struct.pack('=IIIIQ', rows['exec.run'][0], 0, 1, 0, 1) + bytes([TEXT]) + text('echo') +"
                                  " bytes([WORDS]) + b'\\xff\\xff\\xff\\xff')"),
    ("text that is none", "send(CALL, 1, body('fs.read', b'\\xff\\xfe'))"),
    ("a NUL in a path", "send(CALL, 1, body('fs.read', b'file\\0x'))"),
    ("the same call twice", "b = body('exec.run', 'python3', ['-c', 'import time; time.sleep(600)'])\nsend(CALL, 7, b)\nsend(CALL, 7, b)"),
    ("a note that was not sent", "send(CALL, 7, body('exec.run', 'python3', ['-c', 'import time; time.sleep(600)']))\nsend(NOTE, 7)"),
    ("an end of a connection with a body", "send(CALL_GONE, 1, b'x')"),
    ("an answer", "send(ANSWER, 1, b'\\0' * 8)"),
    ("a refusal", "send(CALL_REFUSED, 1, b'\\0' * 8)"),
    ("descriptors with a call", "send(CALL, 1, body('fs.read', 'file'), copies=1)"),
    ("sixteen descriptors", "send(CALL, 1, body('fs.read', 'file'), copies=15)"),
    ("another setup", "send(BROKER, 0, b'\\0' * 64, copies=3)"),
    ("another policy", "send(POLICY, 1, b'{{\"default\":\"allow\"}}\\0')"),
    ("a configuration", "send(CONFIGURE, 1, b'\\0' * 16)"),
    ("a command", "send(START, 1, b'\\0' * 64, copies=3)"),
    ("a plan", "send(PLAN, 1, b'\\0' * 64)"),
    ("ready", "send(READY, 0)"),
    ("a type that is none", "send(COUNT + 5, 1)"),
    ("a type of no frame", "send(0, 1)"),
    ("another magic", "send(CALL, 1, body('fs.read', 'file'), magic=1)"),
    ("a length that is not its own", "send(CALL, 1, body('fs.read', 'file'), length=4000000000)"),
    ("a memfd that is not there", "send(CALL, 1, b'', length=1 << 20, n_fds=1)"),
    ("a memfd that can be changed", "send(CALL, 1, memfd=body('fs.read', 'file') + b'x' * 40000, sealed=False)"),
    ("a memfd of another size", "send(CALL, 1, memfd=body('fs.write', 'file', b'x' * 40000), length=1 << 22)"),
    ("a memfd that is too large", "send(CALL, 1, memfd=body('fs.write', 'file', b'x' * (9 << 20)))"),
    ("half a header", "order(b'CRRL')"),
)


def test_granted(scene):
    """The frames are those of a front: what is granted is done."""
    got = scene.attack("""
assert call('fs.read', os.getcwd() + '/file')[0] == ANSWER
assert call('exec.run', 'echo', ['by-a-frame'])[0] == ANSWER
assert call('env.get', 'GIVEN')[0] == ANSWER
assert call('fs.write', os.getcwd() + '/out/new', b'x' * 100000)[0] == ANSWER
assert call('fs.delete', os.getcwd() + '/out/new')[0] == ANSWER
""")
    ok(got.get("well") and not got["broken"] and b"by-a-frame" in got["received"] and b"given" in got["received"],
       "what is granted, a front can have done", got)


def test_control(scene, port):
    """The same frames, where the policy grants them: they work."""
    words = ("--read", scene.top + "/**", "--net", f"127.0.0.1:{port}", "--env", "HIDDEN")
    code = f"call('fs.read', '{scene.top}/outside')\ncall('env.get', 'HIDDEN')\n"
    if "CORRAL_FETCH" in os.environ:
        code += f"call('network.http', 'http://127.0.0.1:{port}/')\n"
    got = scene.attack(code, *words)
    ok(SECRET.encode() in got["received"] and HIDDEN.encode() in got["received"], "where they are granted, the same frames work", got)
    ok("CORRAL_FETCH" not in os.environ or Server.requests, "and reach a server", got)
    Server.requests.clear()


def test_frames(scene, port):
    for name, code in CALLS:
        got = scene.attack(code.format(top=scene.top, port=port))
        ok(held(scene, got) and not got["broken"], f"gains nothing: {name}", got)
    for name, code in BROKEN:
        got = scene.attack(code.format(top=scene.top, port=port))
        ok(held(scene, got) and got["broken"], f"is ended, and gains nothing: {name}", got)
    ok(not Server.requests, "no host was reached", Server.requests)


def test_by_itself(scene):
    got = scene.attack("result['says'] = attempts()")
    says = got.get("says") or ""
    ok(len(says.splitlines()) == 7 and "done" not in says and held(scene, got), "a front can do nothing by itself", says, got)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scene = Scene()
    try:
        test_granted(scene)
        test_control(scene, server.server_port)
        test_frames(scene, server.server_port)
        test_by_itself(scene)
    finally:
        scene.end()
    server.shutdown()
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
