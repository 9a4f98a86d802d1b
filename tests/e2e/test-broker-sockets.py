#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets of a broker (socket.open …) from inside of `corral run`, with servers on loopback that echo, never read, never
send, or reset; and what callers try with numbers, with many of them, and by leaving. As root it runs a second time as an
ordinary user.
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from broker_tap import INSIDE, as_user, end, ok, skip

PROGRAMS = ("CORRAL", "CORRAL_BROKER", "CORRAL_FETCH", "CORRAL_WARDEN")
PYTHON = "/usr/bin/python3"
CORRAL = os.path.abspath(os.environ["CORRAL"])
AGAIN = 20
# A connection that stays: c.call(METHOD, …) gives the result, or the code of the error.
CONNECTION = r"""
class Connection:
    def __init__(self):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(os.environ["SANDBOX_SOCKET"])
        self.f = self.s.makefile()
        self.n = 0
    def send(self, called, /, **params):
        self.n += 1
        self.s.sendall(json.dumps({"jsonrpc": "2.0", "id": self.n, "method": called, "params": params}).encode() + b"\n")
        return self.n
    def answers(self, n):
        return {a["id"]: a.get("result", a.get("error", {}).get("code")) for a in (json.loads(self.f.readline()) for _ in range(n))}
    def call(self, called, /, **params):
        a = self.whole(called, **params)
        return a.get("result", a.get("error", {}).get("code"))
    def whole(self, called, /, **params):
        self.send(called, **params)
        return json.loads(self.f.readline())
    def close(self):
        self.f.close()
        self.s.close()
c = Connection()
"""


class Server:
    """Connections by what they say first: `echo`, `silent` (neither reads nor sends), `reset`, `bytes N`."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Condition()
        self.reads = threading.Event()
        self.accepted = self.open = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            s, _ = self.listener.accept()
            with self.lock:
                self.accepted += 1
                self.open += 1
                self.lock.notify_all()
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        try:
            what = s.recv(7)
            if what == b"echo  \n":
                while data := s.recv(65536):
                    s.sendall(data)
            elif what == b"bytes \n":
                s.sendall(bytes(range(256)) * 2048)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            elif what == b"reset \n":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif what == b"silent\n":
                # What the kernel holds for it comes before the end.
                self.reads.wait()
                while s.recv(65536):
                    pass
            elif what:
                while s.recv(65536):
                    pass
        except OSError:
            pass
        s.close()
        with self.lock:
            self.open -= 1
            self.lock.notify_all()

    def wait_accepted(self, n):
        with self.lock:
            return self.lock.wait_for(lambda: self.accepted >= n, 30) and self.accepted == n

    def wait_closed(self):
        self.reads.set()
        with self.lock:
            return self.lock.wait_for(lambda: self.open == 0, 30)


def command(code, *options):
    return [CORRAL, "run", "--broker", "--read", "/usr/**", "--write", work + "/**", "--cwd", work, *options, "--", PYTHON, "-c",
            INSIDE, CONNECTION + code]


def inside(code, *options, prefix=()):
    r = subprocess.run([*prefix, *command(code, *(options or ("--net", f"localhost:{server.port}")))], capture_output=True,
                       timeout=300, stdin=subprocess.DEVNULL, cwd=work, check=False)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return [r.returncode, r.stderr.decode()]


def address():
    return f"address='localhost:{server.port}'"


def test_use():
    log = os.path.join(scratch, "log")
    out = inside(f"""
import base64
n = c.call("socket.open", {address()})["socket"]
out.append(c.call("socket.write", socket=n, data="bytes \\n"))
got, all = None, b""
while not got or not got["end"]:
    got = c.call("socket.read", socket=n, max=100000, encoding="base64")
    all += base64.b64decode(got["data"])
out.append(all == bytes(range(256)) * 2048)
out.append(c.call("socket.read", socket=n))
out.append(c.call("socket.write", socket=n, data="AAH/", encoding="base64"))
out.append(c.call("socket.close", socket=n))
m = c.call("socket_open", {address()})["socket"]
c.call("socket_write", socket=m, data="echo  \\n")
c.call("socket_write", socket=m, data="there")
out.append(c.call("socket_read", socket=m))
c.call("socket_write", socket=m, data="gP8=", encoding="base64")
out.append(c.call("socket_read", socket=m))
c.call("socket_write", socket=m, data="abc")
out.append([c.call("socket_read", socket=m, max=1)["data"] for _ in range(3)])
out.append(c.call("socket.close"))
""", "--net", f"localhost:{server.port}", "--audit", log)
    ok(out[:3] == [{"written": 7}, True, {"data": "", "encoding": "utf-8", "end": True}], "what is sent comes, and its end", out)
    ok(out[3:5] == [{"written": 3}, {"closed": 1}], "behind the server's end can be written still", out)
    ok(out[5:7] == [{"data": "there", "encoding": "utf-8", "end": False}, {"data": "gP8=", "encoding": "base64", "end": False}],
       "text as text, bytes as base64", out)
    ok(out[7:] == [["a", "b", "c"], {"closed": 1}], "max, and all are closed", out)
    ok(server.wait_closed(), "the server sees the end")
    r = subprocess.run([CORRAL, "audit", "export", "--format", "jsonl", log], capture_output=True, check=False)
    ok(f"localhost:{server.port}".encode() in r.stdout and b"net.connect" in r.stdout, "it is in the log", r)


def test_not_granted():
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    rows = [f"localhost:{free.getsockname()[1]}", "169.254.169.254:80", "[fd00:ec2::254]:80", "10.0.0.1:22",
            "example.org:443"]
    before = server.accepted
    out = inside("".join(f"out.append(c.whole('socket.open', address={a!r}))\n" for a in rows))
    for a, answer in zip(rows, out):
        ok(answer.get("error", {}).get("code") == -32001, f"{a} is refused", answer)
    ok(server.accepted == before, "and no server was asked")
    out = inside("".join(f"out.append(c.call('socket.open', address={a!r}))\n" for a in rows[1:4]), "--net", "*")
    ok(out == [-32001] * 3, "nor private addresses, whatever names are granted", out)
    wrong = ["localhost", "localhost:", "localhost:0", "localhost:70000", "http://localhost:80", "localhost:80/x", "a@localhost:80", "",
             f"localhost:{server.port}#", f"localhost:+{server.port}", "-h:80", "x" * 290 + ":80"]
    out = inside("".join(f"out.append(c.call('socket.open', address={a!r}))\n" for a in wrong))
    ok(len(out) == len(wrong) and all(a in (-32602, -32001) for a in out) and -32602 in out, "what is no address", out)


def test_rebinding():
    """Names that are granted, and lead to where nothing is."""
    hosts = os.path.join(scratch, "hosts")
    with open(hosts, "w", encoding="utf-8") as f:
        f.write("127.0.0.1 localhost own.test\n169.254.169.254 meta.test\n10.1.2.3 private.test\n")
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    within = [*unshare, "sh", "-c", f"mount --bind {hosts} /etc/hosts && exec \"$@\"", "sh"]
    naive = subprocess.run([*within, "true"], capture_output=True, check=False)
    if naive.returncode != 0:
        skip("names that lead to private addresses", "no mount namespace: " + naive.stderr.decode().strip())
        return
    names = ("own.test", "meta.test", "private.test")
    before = server.accepted
    out = inside("".join(f"""
a = c.whole("socket.open", address="{n}:{server.port}")
if "result" in a:
    n = a["result"]["socket"]
    a = c.whole("socket.read", socket=n, timeout=9000)
    c.call("socket.close", socket=n)
out.append(a)
""" for n in (*names, *names[:1] * AGAIN)), *[w for n in names for w in ("--net", f"{n}:{server.port}")], prefix=within)
    # The same again: the relay counts what repeats itself within a second.
    for name, answer in zip((*names, *names[:1] * AGAIN), out):
        ok(isinstance(answer, dict) and answer.get("error", {}).get("code") == -32001, f"{name} is refused, with the relay's reason", answer)
    ok(len(out) == 3 + AGAIN and server.accepted == before, "and no server was asked", out)
    reasons = {json.dumps(a.get("error", {}).get("message")) for a in [*out[:1], *out[3:]] if isinstance(a, dict)}
    ok(len(reasons) == 1 and "127.0.0.1" in str(reasons), "the reason is the same each time", reasons)


def test_numbers():
    out = inside(f"""
n = c.call("socket.open", {address()})["socket"]
c.call("socket.write", socket=n, data="echo  \\n")
other = Connection()
out.append([other.call("socket.read", socket=i, timeout=500) for i in (0, n - 1, n, n + 1, 4294967295)])
out.append([other.call("socket.write", socket=n, data="x"), other.call("socket.close", socket=n), other.call("socket.close")])
c.call("socket.write", socket=n, data="mine")
out.append(c.call("socket.read", socket=n))
out.append([c.call("socket.read", socket=n, max=0), c.call("socket.read", socket=-1), c.call("socket.read", socket="1")])
c.call("socket.close", socket=n)
out.append([c.call("socket.read", socket=n), c.call("socket.write", socket=n, data="x"), c.call("socket.close", socket=n)])
m = c.call("socket.open", {address()})["socket"]
out.append(m != n)
reading = c.send("socket.read", socket=m)
second = c.send("socket.read", socket=m)
closing = c.send("socket.close", socket=m)
a = c.answers(3)
out.append([a[reading], a[second], a[closing]])
""")
    ok(out[0] == [-32602] * 5, "another connection finds none, whatever it guesses", out)
    ok(out[1] == [-32602, -32602, {"closed": 0}], "nor writes to or closes any", out)
    ok(out[2] == {"data": "mine", "encoding": "utf-8", "end": False}, "the first has its own still", out)
    ok(out[3] == [-32602] * 3, "values that are none", out)
    ok(out[4] == [-32602] * 3 and out[5], "after it was closed there is none of that number", out)
    ok(out[6] == [-32006, -32003, {"closed": 1}], "one reads at a time, and a close ends it", out)


def test_many():
    out = inside(f"""
first = [c.call("socket.open", {address()}) for _ in range(20)]
out.append(sum(isinstance(a, dict) for a in first))
out.append(sorted({{a for a in first if not isinstance(a, dict)}}))
refused = 0
for _ in range(100):
    for _ in range(100):
        c.send("socket.open", {address()})
    refused += sum(a == -32003 for a in c.answers(100).values())
out.append(refused)
c.close()
c = Connection()
for _ in range(600):
    a = c.call("socket.open", {address()})
    if isinstance(a, dict):
        break
    import time
    time.sleep(0.05)
out.append(isinstance(a, dict))
""")
    ok(out == [16, [-32003], 10000, True], "a process has 16 sockets, and 10,000 calls get it no more; they end with its connection", out)
    ok(server.wait_closed(), "and none is left at the server")


def kernel_buffers():
    """What the kernel may keep of a stream on its way over two connections: by the broker to the relay, and to the server."""
    largest = 0
    for name in ("tcp_rmem", "tcp_wmem"):
        with open("/proc/sys/net/ipv4/" + name, encoding="ascii") as file:
            largest += int(file.read().split()[2])
    return 2 * largest


def test_slow():
    most = kernel_buffers() + (8 << 20)
    server.reads.clear()
    out = inside(f"""
n = c.call("socket.open", {address()})["socket"]
c.call("socket.write", socket=n, data="echo  \\n")
out.append(c.call("socket.read", socket=n, timeout=200))
c.call("socket.write", socket=n, data="late")
out.append(c.call("socket.read", socket=n)["data"])
m = c.call("socket.open", {address()})["socket"]
c.call("socket.write", socket=m, data="silent\\n")
taken = 0
for i in range({(most >> 20) + 16}):
    a = c.call("socket.write", socket=m, data="x" * (1 << 20), timeout=300)
    if not isinstance(a, dict):
        break
    taken += a["written"]
out.append([a, taken < {most}])
out.append(c.call("ping")["pong"])
out.append(c.call("socket.write", socket=m, data="x" * (1 << 20) + "y"))
k = c.call("socket.open", {address()})["socket"]
c.call("socket.write", socket=k, data="reset \\n")
out.append(c.call("socket.read", socket=k))
out.append([c.call("socket.read", socket=k), c.call("socket.write", socket=k, data="x")])
""")
    ok(out[:2] == [-32004, "late"], "a slow server: the call ends, the socket does not", out)
    ok(out[2] == [-32004, True], "a server that never reads: the call ends, and little is kept", out)
    ok(out[3:5] == [True, -32602], "others are served; and one call has 1 MiB at most", out)
    ok(out[5:] == [-32006, [-32006, -32006]], "a reset is an error, and no end", out)
    ok(server.wait_closed(), "that run has left nothing open at the server")


def test_limits():
    policy = os.path.join(work, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as f:
        f.write(f"fs: {{read: [/usr/**]}}\nnetwork: {{allow: ['localhost:{server.port}'], rate_limit: 2/hour, max_request_size: 1000}}\n")
    r = subprocess.run([CORRAL, "run", "--broker", "--policy", policy, "--cwd", "/usr", "--", PYTHON, "-c", INSIDE, CONNECTION + f"""
def use():
    a = c.call("socket.open", {address()})
    if not isinstance(a, dict):
        return a
    c.call("socket.write", socket=a["socket"], data="echo  \\nx")
    return c.call("socket.read", socket=a["socket"])["data"]
out.append([use(), use(), use()])
out.append([c.call("socket.write", socket=1, data="x" * n) for n in (1000, 1001)])
"""], capture_output=True, timeout=90, stdin=subprocess.DEVNULL, check=False)
    out = json.loads(r.stdout or "[]")
    ok(out == [["x", "x", -32003], [{"written": 1000}, -32002]], "rate_limit and max_request_size", out, r.stderr)


def test_killed():
    """A caller that is killed, with a read under way and others in no call."""
    before = server.accepted
    child = subprocess.Popen(command(f"""
pid = os.fork()
if pid == 0:
    d = Connection()
    n = [d.call("socket.open", {address()})["socket"] for _ in range(3)]
    d.call("socket.write", socket=n[0], data="echo  \\n")
    d.send("socket.read", socket=n[0])
    d.send("ping")
    d.f.readline()
    os.kill(os.getpid(), 9)
os.waitpid(pid, 0)
print("killed", flush=True)
sys.stdin.read()
""", "--net", f"localhost:{server.port}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=work)
    said = child.stdout.readline()
    # A connection is there before the server takes it.
    ok(said == b"killed\n" and server.wait_accepted(before + 3), "a caller with three sockets is killed", said)
    ok(server.wait_closed(), "its sockets end, while the sandbox goes on")
    ok(child.poll() is None, "which does")
    child.communicate(timeout=60)


scratch = tempfile.mkdtemp(prefix="corral-broker-")
os.chmod(scratch, 0o755)
work = os.path.join(scratch, "work")
os.mkdir(work)
server = Server()
try:
    for test in (test_use, test_not_granted, test_rebinding, test_numbers, test_many, test_slow, test_limits, test_killed):
        test()
    if os.geteuid() == 0 and "--once" not in sys.argv:
        as_user(__file__, PROGRAMS)
finally:
    shutil.rmtree(scratch)
sys.exit(end())
