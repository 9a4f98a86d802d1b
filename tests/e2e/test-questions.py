#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions, answers and grants while a sandbox runs: by HTTP, by the command line, without a daemon, with
one that is killed meanwhile; and what a command inside, of the same user, tries in order to answer for itself.
As root, once more as an ordinary user. Prints TAP."""

import errno
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import broker_tap
from broker_tap import beside_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRAL_FETCH", "CORRALD", "CORRALD_HTTP")
CORRAL, CORRALD = (os.path.abspath(os.environ[name]) for name in ("CORRAL", "CORRALD"))
PATIENCE = 60

# Inside: answers each line of its input. "read PATH", "write PATH", "exec WORDS" by the broker; by itself "try PATH", and
# "connect [ADDRESS:]PORT", "get URL"; "many PORTS" at once, which says first what the last one got; "leave HOST:PORT BYTES", which sends that and goes;
# "curl WORDS"; "send PORT HEX", "send - HEX", "receive NUMBER" and "hang-up", on one connection;
# "udp HOST:PORT TEXT" by a new socket, "udp-to HOST:PORT TEXT" by the same, "udp-receive" from it, and "udp-flood HOST PORT NUMBER MORE" by a socket for
# each port, which says how many are refused as soon as MORE are;
# "keep PORT" and "more", on a connection that stays; "flood NUMBER" names; "while FILE LINE" does what the line says until that
# is refused, and writes the answer to the file. Any other word ends it with a failure.
INSIDE = r"""
import json, os, socket, sys, time
def call(called, **params):
    # A broker that dies resets the connections that wait for it.
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.environ["SANDBOX_SOCKET"])
            s.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, "method": called, "params": params}) + "\n").encode())
            for answer in map(json.loads, s.makefile()):
                if "method" not in answer:
                    return answer["result"] if "result" in answer else answer["error"]["message"]
            return "closed"
    except OSError as error:
        return type(error).__name__
def connect(where):
    host, _, port = where.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)), timeout=40) as s:
            s.sendall(b"x")
            return s.recv(16).decode() or "closed"
    except OSError as error:
        return type(error).__name__
def get(url):
    import urllib.request
    try:
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=40).read().decode()
    except OSError as error:
        return type(getattr(error, "reason", error)).__name__
def many(ports):
    clients = [socket.create_connection(("127.0.0.1", int(port)), timeout=40) for port in ports.split()]
    for s in clients:
        s.sendall(b"x")
    # The last is granted. They are taken in turn, so the others wait by now.
    print(json.dumps(clients[-1].recv(1).decode()), flush=True)
    got = []
    for s in clients[:-1]:
        try:
            got.append(s.recv(1).decode() or "closed")
        except OSError as error:
            got.append(type(error).__name__)
        s.close()
    return got
def leave(words):
    where, _, data = words.partition(" ")
    host, port = where.split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=40) as s:
            s.sendall(bytes.fromhex(data))
            sys.stdin.readline()
        return "left"
    except OSError as error:
        return type(error).__name__
broker = None
def on_one(words):
    # By one connection, which its sockets belong to.
    global broker
    if not broker:
        broker = socket.socket(socket.AF_UNIX)
        broker.connect(os.environ["SANDBOX_SOCKET"])
        broker = broker.makefile("rw")
    called, params = words.split(" ", 1)
    broker.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": called, "params": json.loads(params)}) + "\n")
    broker.flush()
    answer = json.loads(broker.readline())
    return answer["result"] if "result" in answer else answer["error"]["message"]
def curl(words):
    import subprocess
    done = subprocess.run(["curl", "-sS", "--noproxy", "*", *words.split()], capture_output=True, text=True, timeout=120)
    return done.stdout if done.returncode == 0 else [done.returncode]
stream = []
def send(words):
    # "PORT HEX": sends it on a connection that stays open, the first time; then "- HEX".
    port, _, data = words.partition(" ")
    if port != "-":
        stream[:] = [socket.create_connection(("127.0.0.1", int(port)), timeout=40)]
    stream[0].sendall(bytes.fromhex(data))
    return "sent"
def receive(number):
    # So many bytes, or what came before the end.
    got = b""
    try:
        while len(got) < int(number):
            got += stream[0].recv(int(number) - len(got)) or (_ for _ in ()).throw(EOFError)
    except (OSError, EOFError) as error:
        return got.decode() + " " + type(error).__name__
    return got.decode()
def keep_open(words):
    send(words)
    held.append(stream.pop())
    return "sent"
flow = []
def udp(words):
    host = words.partition(" ")[0].rpartition(":")[0]
    flow[:] = [socket.socket(socket.AF_INET6 if host.startswith("[") else socket.AF_INET, socket.SOCK_DGRAM)]
    flow[0].settimeout(40)
    # It hears of errors, and takes datagrams of all senders.
    flow[0].setsockopt(*((41, 25) if host.startswith("[") else (0, 11)), 1)
    return udp_to(words)
def udp_to(words):
    where, _, text = words.partition(" ")
    host, _, port = where.rpartition(":")
    try:
        flow[0].sendto(bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode(), (host.strip("[]"), int(port)))
        return "sent"
    except OSError as error:
        return type(error).__name__
def udp_receive(_):
    try:
        return flow[0].recv(2048).decode("latin-1")
    except OSError as error:
        return type(error).__name__
def udp_flood(words):
    host, first, number, more = words.split()
    waits = []
    for port in range(int(first), int(first) + int(number)):
        waits.append(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM))
        waits[-1].connect((host, port))
        waits[-1].send(b"x")
        waits[-1].setblocking(False)
        held.append(waits[-1])
    refused, last = 0, time.monotonic() + 40
    while refused < int(more) and time.monotonic() < last:
        for s in list(waits):
            try:
                s.recv(1)
            except BlockingIOError:
                continue
            except ConnectionRefusedError:
                refused += 1
            waits.remove(s)
        time.sleep(0.01)
    return refused
def hang_up(_):
    stream.pop().close()
    return "closed"
held = []
def keep(port):
    held.append(socket.create_connection(("127.0.0.1", int(port)), timeout=40))
    return more("")
def more(_):
    try:
        held[-1].sendall(b"x")
        return held[-1].recv(1).decode() or "closed"
    except OSError as error:
        return type(error).__name__
def flood(number):
    refused = 0
    for i in range(int(number)):
        # One that is refused may be reset before connect() returns, or after that.
        try:
            s = socket.create_connection((f"n{i}.test", 443), timeout=40)
            held.append(s)
            s.settimeout(40 if i >= 16 else 0)
            s.recv(1)
        except (TimeoutError, BlockingIOError):
            pass
        except OSError:
            refused += 1
    return refused
def attempt(path):
    try:
        return open(path).read()
    except OSError as error:
        return type(error).__name__
def reach(path):
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            return "connected"
    except OSError as error:
        return type(error).__name__
does = {"one": on_one, "read": lambda p: call("fs.read", path=p), "write": lambda p: call("fs.write", path=p, content="new"),
        "exec": lambda w: call("exec.run", command=w.split()[0], args=w.split()[1:]), "http": lambda w: call("network.http", method=w.split()[0], url=w.split()[1]),
        "call": lambda w: call(**json.loads(w)), "connect": connect, "get": get, "curl": curl, "send": send, "receive": receive, "hang-up": hang_up, "keep-open": keep_open, "udp": udp, "udp-to": udp_to, "udp-receive": udp_receive, "udp-flood": udp_flood, "many": many, "leave": leave, "keep": keep, "more": more, "flood": flood, "try": attempt, "reach": reach}
def do(line):
    what, _, rest = line.strip().partition(" ")
    return does[what](rest)
def repeat(words):
    name, _, line = words.partition(" ")
    open(name + ".begun", "w").close()
    answer = do(line)
    while answer == "y" or isinstance(answer, dict):
        time.sleep(0.05)
        answer = do(line)
    with open(name + ".new", "w") as f:
        json.dump(answer, f)
    os.rename(name + ".new", name)
    return answer
does["while"] = repeat
for line in iter(sys.stdin.readline, ""):
    print(json.dumps(do(line)), flush=True)
"""


def until(condition, seconds=PATIENCE):
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return condition()


def remove(folder):
    """Removes all of it, also if files are created or removed in it meanwhile."""
    until(lambda: shutil.rmtree(folder, ignore_errors=True) or not os.path.exists(folder))


class Place:
    """Folders of their own, and a daemon in them."""

    def __init__(self):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="cq-"))
        for name in ("run", "work", "data", "other"):
            os.mkdir(os.path.join(self.path, name), 0o700)
        self.put("data/a", "first")
        self.put("data/b", "second")
        self.put("data/secret", "third")
        self.put("other/c", "fourth")
        self.put("work/asked", "old")
        self.put("inside.py", INSIDE)
        self.env = {**os.environ, "HOME": self.path, "XDG_RUNTIME_DIR": self.path + "/run", "XDG_STATE_HOME": self.path + "/state",
                    "XDG_CONFIG_HOME": self.path + "/config", "XDG_CACHE_HOME": self.path + "/cache", "CORRAL_PROGRAM": CORRAL}
        self.process = None

    def put(self, name, text):
        with open(os.path.join(self.path, name), "w") as f:
            f.write(text)

    def start(self):
        log = os.path.join(self.path, "log")
        for _ in range(50):
            with open(log, "w") as f:
                self.process = subprocess.Popen([CORRALD, "--port", "0"], env=self.env, stderr=f)
            assert until(lambda: "ready: " in open(log).read() or self.process.poll() is not None), open(log).read()
            # Instances of inotify are counted for all programs of a user.
            if "Too many open files" not in open(log).read():
                break
            time.sleep(0.1)
        self.token = open(self.path + "/run/corral/token").read().strip()

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.path, ignore_errors=True)

    def api(self, method, path, body=None, token=None):
        c = http.client.HTTPConnection("localhost", timeout=PATIENCE)
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(self.path + "/run/corral/api.sock")
        c.request(method, path, None if body is None else json.dumps(body),
                  {"Authorization": "Bearer " + (token or self.token), "Content-Type": "application/json"})
        r = c.getresponse()
        answer = json.loads(r.read())
        c.close()
        return r.status, answer

    def questions(self):
        return self.api("GET", "/api/questions")[1]["questions"]

    def question(self, target):
        return until(lambda: next((q for q in self.questions() if target in q["target"]), None))

    def log(self, *actions):
        """Records of these actions. Each question of a test that waits is a record, too, and soon would be all that there is."""
        return json.dumps([self.api("GET", "/api/audit?limit=1000&action=" + action)[1] for action in actions])

    def corral(self, *words):
        return subprocess.run([CORRAL, *words], env=self.env, capture_output=True, text=True, timeout=PATIENCE)


class Run:
    """A run that carries out orders, line by line."""

    def __init__(self, place, policy, *options):
        self.place = place
        place.put("policy.json", json.dumps(policy))
        self.process = subprocess.Popen([CORRAL, "run", "--policy", place.path + "/policy.json", *options, "--", "python3", place.path + "/inside.py"],
                                        env=place.env, cwd=place.path + "/work", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def begin(self, line):
        number = len(self.lines)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return number

    def answer(self, number):
        until(lambda: len(self.lines) > number or self.process.poll() is not None)
        return self.lines[number] if len(self.lines) > number else "nothing"

    def do(self, line):
        return self.answer(self.begin(line))

    def joined(self):
        """Its id at the daemon."""
        found = until(lambda: [b for b in self.place.api("GET", "/api/sandboxes")[1]["sandboxes"] if b["pid"] == self.process.pid])
        return found[0]["id"] if found else "none"

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return self.process.stderr.read()


def content(answer):
    return answer.get("content") if isinstance(answer, dict) else None


def policy(place, *rules, **more):
    own = [place.path + "/" + name for name in ("inside.py", "work/**")]
    asks = [{"id": "data", "action": "ask", "operations": ["fs.read"], "patterns": [place.path + "/data/**"]},
            {"id": "never", "action": "deny", "operations": ["fs.read"], "patterns": [place.path + "/data/secret"], "priority": 9},
            {"id": "asked", "action": "ask", "operations": ["fs.write"], "patterns": [place.path + "/work/asked"]}]
    return {"fs": {"read": ["/usr/**", "/lib/**", "/lib64/**", "/bin/**", "/etc/**", *own], "write": [place.path + "/work/**"]},
            "rules": [*asks, *rules], **more}


def serve(port=0):
    """A server on loopback that answers each byte; its port."""
    listener = socket.create_server(("127.0.0.1", port))

    def answer(c):
        with c:
            try:
                while c.recv(1):
                    c.sendall(b"y")
            except OSError:
                pass

    def loop():
        while True:
            c, _ = listener.accept()
            threading.Thread(target=answer, args=(c,), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()
    return listener.getsockname()[1]


def serve_both():
    """Servers on one port of both addresses of loopback, each of which says which one it is; the port."""
    for _ in range(100):
        first = socket.create_server(("127.0.0.1", 0))
        port = first.getsockname()[1]
        try:
            second = socket.create_server(("::1", port), family=socket.AF_INET6)
            break
        except OSError:
            first.close()

    def loop(listener, name):
        while True:
            with listener.accept()[0] as c:
                try:
                    c.recv(1)
                    c.sendall(name)
                except OSError:
                    pass
    for listener, name in ((first, b"127.0.0.1"), (second, b"[::1]")):
        threading.Thread(target=loop, args=(listener, name), daemon=True).start()
    return port


def answers(place):
    for words, text in ((("questions", "list"), "no question is open\n"), (("grants", "list"), "nothing was granted while a sandbox runs\n"), (("ps",), "no sandbox runs\n")):
        done = place.corral(*words)
        as_json = json.loads(place.corral(*words, "--json").stdout)
        ok(done.returncode == 0 and done.stdout == text and list(as_json.values()) == [[]], f"corral {words[0]}: an empty list is said to be one", done.stdout, as_json)
    run = Run(place, policy(place), "--broker")
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    ok(q and q["action"] == "fs.read" and q["scopes"][:2] == [place.path + "/data/a", place.path + "/data/**"] and "data" in q["reason"] and q["count"] == 1
       and len(run.lines) == waits, "a question is at the daemon while the call waits", q)
    ok(q["program"].startswith("python3") and q["method"] == "fs.read" and q["pid"] > 0, "it says which program asks, and by which method", q)
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"}) == (200, {"answered": True}) and content(run.answer(waits)) == "first",
       "once: the call that waits is done", run.lines)
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] == 409, "an answer is given once")
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    ok(q is not None and len(run.lines) == waits, "once is not twice: the next call asks anew")
    done = place.corral("questions", "list")
    ok(done.returncode == 0 and q["id"] in done.stdout and "/data/a" in done.stdout and "scopes: " in done.stdout, "corral questions list", done.stdout, done.stderr)
    ok(f"by {q['program']}, pid {q['pid']}, by the method fs.read" in done.stdout, "and who asks", done.stdout)
    for time_ in ("1h", "always"):
        done = place.corral("questions", "deny", q["id"], "--for", time_)
        ok(done.returncode == 2 and "5m or less" in done.stderr and len(run.lines) == waits, f"corral questions deny --for {time_}: refused, not shortened", done.stderr)
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "deny", "seconds": 301})[0] == 400, "nor by the API")
    done = place.corral("questions", "deny", q["id"], "--for", "5m")
    ok(done.returncode == 0 and "answered" in done.stdout and "permission denied" in run.answer(waits), "corral questions deny: the call is refused", done.stderr, run.lines)
    ok("permission denied" in run.do(f"read {place.path}/data/a") and not place.questions(), "what was denied is not asked again at once", run.lines)
    waits = run.begin(f"read {place.path}/data/b")
    q = place.question("/data/b")
    done = place.corral("questions", "allow", q["id"], "--for", "always", "--scope", place.path + "/data/**", "--json")
    ok(done.returncode == 0 and json.loads(done.stdout) == {"answered": True} and content(run.answer(waits)) == "second", "corral questions allow --for, with a scope", done.stderr, run.lines)
    ok(content(run.do(f"read {place.path}/data/b")) == "second" and not place.questions(), "what was allowed for a time is not asked again")
    ok("permission denied" in run.do(f"read {place.path}/data/secret"), "a denial inside of the scope stays one", run.lines)
    grants = place.api("GET", "/api/grants")[1]["grants"]
    ok(len(grants) == 1 and grants[0]["target"] == place.path + "/data/**" and grants[0]["by"] == "answer" and grants[0]["expires_ms"] is None,
       "the answer is a grant", grants)
    done = place.corral("grants", "remove", grants[0]["id"])
    waits = run.begin(f"read {place.path}/data/b")
    ok(done.returncode == 0 and place.question("/data/b") is not None and len(run.lines) == waits, "corral grants remove: the next call asks again", done.stderr)
    q = place.question("/data/b")
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "allow", "scope": "/**"})[0] == 400, "a scope that was not offered is refused")
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "allow", "seconds": 8}) == (200, {"answered": True}) and content(run.answer(waits)) == "second",
       "an answer for eight seconds")
    ok(until(lambda: not place.api("GET", "/api/grants")[1]["grants"]), "its time is over by itself")
    waits = run.begin(f"write {place.path}/work/asked")
    q = place.question("/work/asked")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    run.answer(waits)
    ok(open(place.path + "/work/asked").read() == "new", "a file behind a mask is written, once it was agreed to", run.lines)
    ok(run.do("try " + place.path + "/data/b") in ("FileNotFoundError", "PermissionError"), "the command itself sees what it saw from the start", run.lines, run.process.poll())
    run.end()


def grants(place):
    port = serve()
    other = serve()
    asks = {"id": "hosts", "action": "ask", "operations": ["net.connect"], "patterns": [f"127.0.0.1:{port}"]}
    run = Run(place, policy(place, asks), "--broker")
    sandbox = run.joined()
    details = until(lambda: (lambda b: b if b.get("permissions") else None)(place.api("GET", "/api/sandboxes/" + sandbox)[1]))
    ok(details and details["kind"] == "run" and any("if you agree when asked" in line for line in details["permissions"]) and details["ceiling"] and details["grants"] == [],
       "what it may do, and be granted at most, in sentences", details)
    waits = run.begin(f"connect {port}")
    place.api("POST", "/api/questions/" + place.question(f":{port}")["id"], {"answer": "deny"})
    ok(run.answer(waits) not in ("y", "nothing"), "a host that was not agreed to is refused", run.lines)
    done = place.corral("grants", "add", sandbox, "net.connect", f"127.0.0.1:{port}")
    ok(done.returncode == 0 and run.do(f"connect {port}") == "y", "corral grants add: a host for the command that runs", done.stderr, run.lines)
    status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"127.0.0.1:{other}"})
    ok(status == 409 and "above the ceiling" in answer["error"] and f"127.0.0.1:{port}" in answer["error"], "above the ceiling: refused, and what the ceiling is", answer)
    done = place.corral("grants", "add", sandbox, "fs.read", place.path + "/other/**")
    ok(done.returncode == 2 and "above the ceiling" in done.stderr, "the same by the command line, for files", done.stderr)
    done = place.corral("grants", "add", sandbox, "fs.read", "/etc/shadow")
    ok(done.returncode == 2 and "stays denied" in done.stderr and "the baseline denies /etc/shadow" in done.stderr, "what the baseline denies is not said to be granted", done.stderr)
    ok(place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "fs.read", "target": "/a/[b"})[0] == 400, "what is no pattern is refused")
    grant = place.api("GET", "/api/grants")[1]["grants"]
    ok(len(grant) == 1 and grant[0]["by"] == "api", "a refused grant leaves nothing", grant)
    ok(place.api("DELETE", "/api/grants/" + grant[0]["id"]) == (200, {"removed": True}) and run.do(f"connect {port}") not in ("y", "nothing"),
       "revoked: the next connection is refused", run.lines)
    ok(place.api("DELETE", "/api/grants/" + grant[0]["id"])[0] == 404, "it can be taken back once")
    run.end()
    run = Run(place, policy(place))
    done = place.corral("grants", "add", run.joined(), "fs.read", place.path + "/data/a")
    ok(done.returncode == 2 and "--broker" in done.stderr, "without a broker files cannot be granted, and that is said", done.stderr)
    run.end()
    place.put("ceiling.json", json.dumps({"fs": {"read": [place.path + "/other/**", place.path + "/data/a"]}, "exec": ["/bin/echo", "/usr/bin/echo"]}))
    run = Run(place, policy(place, exec=["/usr/bin/python3*", "/bin/python3*"]), "--broker", "--ceiling", place.path + "/ceiling.json")
    sandbox = run.joined()
    done = place.corral("grants", "add", sandbox, "fs.read", place.path + "/other/**", "--for", "10m")
    ok(done.returncode == 0 and content(run.do(f"read {place.path}/other/c")) == "fourth", "--ceiling: what the policy does not name can be granted", done.stderr, run.lines)
    done = place.corral("grants", "add", sandbox, "fs.read", place.path + "/data/b")
    ok(done.returncode == 2 and "ceiling.json" in done.stderr, "and what the ceiling does not have cannot, though the policy asks", done.stderr)
    waits = run.begin(f"read {place.path}/data/b")
    q = place.question("/data/b")
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] == 409, "nor by an answer, not even once")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "deny"})
    run.answer(waits)
    before = run.do("exec /usr/bin/echo hello")
    done = place.corral("grants", "add", sandbox, "exec", "/usr/bin/echo")
    after = run.do("exec /usr/bin/echo hello")
    ok("exitCode" not in before and done.returncode == 0 and after.get("stdout") == "hello\n", "a program, for exec.run", before, after, done.stderr)
    run.end()


def ends(place):
    run = Run(place, policy(place), "--broker", "--ask", "1s")
    run.joined()
    answer = run.do(f"read {place.path}/data/a")
    ok("did not agree to it in time" in answer and until(lambda: not place.questions()), "no answer: refused after the stated time", answer)
    run.end()
    run = Run(place, policy(place), "--broker")
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    place.kill()
    place.start()
    again = place.question("/data/a")
    ok(again and again["sandbox"] == q["sandbox"] and len(run.lines) == waits, "a daemon that was killed: the question is asked again at the next one", again)
    place.api("POST", "/api/questions/" + again["id"], {"answer": "allow"})
    ok(content(run.answer(waits)) == "first", "and answered there", run.lines)
    place.kill()
    place.start()
    kept = until(lambda: place.api("GET", "/api/grants")[1]["grants"])
    ok(kept and kept[0]["target"] == place.path + "/data/a" and content(run.do(f"read {place.path}/data/a")) == "first", "grants outlive the daemon", kept)
    broker = subprocess.run(["pgrep", "-P", str(run.process.pid), "corral-broker"], capture_output=True, text=True).stdout.split()
    os.kill(int(broker[0]), signal.SIGKILL)
    ok(until(lambda: content(run.do(f"read {place.path}/data/a")) == "first"), "and a broker that dies", run.lines)
    run.end()
    ok(until(lambda: not place.api("GET", "/api/grants")[1]["grants"]), "they end with the sandbox")
    log = place.log("policy", "approval")
    ok("granted while it runs" in log and "the answer was yes" in log and "the answer was no" in log, "answers and grants are in the log", log[-2000:])
    place.kill()
    run = Run(place, policy(place), "--broker")
    remove(place.path + "/run/corral")
    run.end()
    run = Run(place, policy(place), "--broker")
    answer = run.do(f"read {place.path}/data/a")
    ok("cannot be asked here" in answer, "without a daemon: refused at once, as ever", answer)
    port = serve()
    run = Run(place, policy(place, hosts(f"127.0.0.1:{port}"), network={"allow": ["127.0.0.1:1"]}))
    ok(run.do(f"connect {port}") == "ConnectionResetError", "a connection, too", run.lines)
    said = run.end()
    hint = "policy.json asks about hosts, but no daemon was there to pass the question on: start one with `corral dashboard`"
    ok("asks about" in said and "to allow it: " in said and "policy.json:1" in said and said.count(hint) == 1, "and the hint says what to do", said)
    for more in ({}, {"network": {"allow": ["127.0.0.1:1"]}}):
        rules = policy(place, hosts("name.test:443"), **more)
        for options in ((), ("--ask", "0s")):
            run = Run(place, rules, *options)
            run.do("leave name.test:443 00")
            run.begin("fail")
            said = run.end()
            ok(said.count(hint) == (0 if options else 1), f"a name is not looked up, and the hint is there unless no answer is waited for: {more}, {options}", said)
    place.start()
    run = Run(place, rules)
    waits = run.begin("leave name.test:443 00")
    q = place.question("name.test:443")
    ok(q, "with a daemon the same is asked")
    place.put("open.json", json.dumps({"default": "allow"}))
    beside = Run(place, rules, "--policy", place.path + "/open.json")
    sandbox = beside.joined()
    beside.begin("leave name.test:443 00")
    ok(until(lambda: [q for q in place.questions() if q["sandbox"] == sandbox]), "also beside a policy that allows what it does not name, as stored ones do", place.questions())
    beside.process.kill()
    beside.process.wait()
    place.api("POST", "/api/questions/" + q["id"], {"answer": "deny"})
    run.begin("go")
    run.answer(waits)
    ok(hint not in run.end(), "and the hint is not there")


def hosts(*patterns):
    return {"id": "hosts", "action": "ask", "operations": ["net.connect"], "patterns": list(patterns)}


def connections(place):
    """The command's own connections: they wait in the relay."""
    port, other, granted = serve(), serve(), serve()
    run = Run(place, policy(place, hosts(f"127.0.0.1:{port}", f"127.0.0.1:{other}"), network={"allow": [f"127.0.0.1:{granted}"]}))
    waits = run.begin(f"many {port} {port} {port} {granted}")
    ok(run.answer(waits) == "y", "a connection that is granted does not wait for those before it that are asked about", run.lines)
    q = place.question(f":{port}")
    ok(q["action"] == "net.connect" and q["target"] == f"127.0.0.1:{port}" and q["scopes"] == [q["target"]] and "hosts" in q["reason"] and "inside.py" in q["program"]
       and len(place.questions()) == 1 and len(run.lines) == waits + 1, "three connections to one place wait for one answer", q)
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"}) == (200, {"answered": True}) and run.answer(waits + 1) == ["y"] * 3, "once: those that wait go on", run.lines)
    waits = run.begin(f"many {port} {other} {granted}") + 1
    run.answer(waits - 1)
    both = until(lambda: len(place.questions()) == 2 and place.questions())
    ok(both, "once is not twice, and each port is a question of its own", both)
    done = place.corral("questions", "allow", place.question(f":{port}")["id"], "--for", "always")
    ok(done.returncode == 0 and until(lambda: [q["target"] for q in place.questions()] == [f"127.0.0.1:{other}"]) and len(run.lines) == waits,
       "an answer for one port does not answer the other", done.stderr, place.questions())
    done = place.corral("questions", "deny", place.question(f":{other}")["id"])
    ok(done.returncode == 0 and run.answer(waits)[0] == "y" and run.answer(waits)[1] not in ("y", "closed"), "corral questions allow and deny, for connections", done.stderr, run.lines)
    ok(run.do(f"connect {other}") not in ("y", "nothing") and run.do(f"connect {port}") == "y" and not place.questions(), "neither is asked again", run.lines)
    ok(until(lambda: "the answer was yes" in place.log("approval") and "did not agree" in place.log("net.connect")), "answers to connections are in the log",
       place.log("approval", "net.connect")[-2000:])
    place.corral("grants", "remove", place.api("GET", "/api/grants")[1]["grants"][0]["id"])
    waits = run.begin(f"connect {port}")
    ok(place.question(f":{port}") is not None and len(run.lines) == waits, "what was revoked is asked about again")
    done = place.corral("grants", "add", run.joined(), "net.connect", f"127.0.0.1:{port}")
    ok(done.returncode == 0 and run.answer(waits) == "y" and until(lambda: not place.questions()), "a grant answers who waits", done.stderr, run.lines)
    run.end()
    unrelated(place, port, other, granted)
    run = Run(place, policy(place, hosts(f"127.0.0.1:{port}")), "--ask", "1s")
    run.joined()
    answer = run.do(f"connect {port}")
    ok(answer == "ConnectionResetError" and until(lambda: not place.questions()), "no answer: refused after the stated time", run.lines)
    said = run.end()
    ok("did not agree to it in time" in said and "1 question was not answered in time: `corral questions list` shows" in said,
       "and the run says so, and where it could have been answered", said)


def unrelated(place, port, other, third):
    """What was answered once stays so when something else is granted, or revoked."""
    run = Run(place, policy(place, hosts(*(f"127.0.0.1:{p}" for p in (port, other, third)))))
    kept = run.begin(f"keep {port}")
    q = place.question(f":{port}")
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] == 200 and run.answer(kept) == "y", "a connection that stays", run.lines)
    waits = run.begin(f"connect {other}")
    q = place.question(f":{other}")
    done = place.corral("grants", "add", run.joined(), "net.connect", f"127.0.0.1:{third}")
    ok(done.returncode == 0 and [q["id"] for q in place.questions()] == [q["id"]] and len(run.lines) == waits, "a grant of another port answers nothing", done.stderr, run.lines)
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] == 200 and run.answer(waits) == "y", "once: the connection that waited meanwhile goes on", run.lines)
    ok(run.do("more") == "y", "the one that was agreed to before stays", run.lines)
    place.corral("grants", "remove", place.api("GET", "/api/grants")[1]["grants"][0]["id"])
    ok(run.do("more") == "y", "and when that grant is revoked", run.lines)
    waits = run.begin(f"connect {port}")
    q = place.question(f":{port}")
    ok(q["rule"].startswith(place.path + "/policy.json:1: "), "a question names the file of its rule, after a change as well", q)
    place.api("POST", "/api/questions/" + q["id"], {"answer": "deny"})
    run.answer(waits)
    said = run.end()
    ok("revoked" not in said and "policy:" not in said.replace("policy.json:", "") and place.path + "/policy.json:1" in said, "and so does the hint at the end", said)


def web(place):
    """Requests of HTTP on the command's own connections."""
    for host in (serve_http(), serve_http("::1")):
        for pattern in (host, "localhost:" + host.rpartition(":")[2]):
            run = Run(place, policy(place, hosts(pattern)))
            q, waits = asks(run, f"get http://{host}/v1")
            ok(q["id"] != "none" and settle(run, q, waits, answer="once") == (200, "GET"), f"a request to {host} that was agreed to once by the rule about {pattern}", q, run.lines[waits:])
            run.end()


def own_ports(place):
    """Ports 1 and 2 of loopback, where the relay listens inside: they are asked about and dialled as any other."""
    for address in ("127.0.0.1", "[::1]"):
        for port in (1, 2):
            target = f"{address}:{port}"
            run = Run(place, policy(place, hosts(target)))
            q, waits = asks(run, f"connect {target}")
            ok(q and q.get("target") == target and len(run.lines) == waits, f"{target} is asked about", q, run.lines)
            settle(run, q, waits, answer="deny")
            ok("did not agree" in run.end(), f"{target}: a no is one")
    try:
        serve(2)
        foreign = False
    except OSError as error:
        # An ordinary user may not have it; or it is taken, by what is not known.
        foreign = error.errno == errno.EADDRINUSE
    run = Run(place, policy(place, network={"allow": ["127.0.0.1:2"]}))
    got = run.do("connect 2")
    said = run.end()
    ok(got == "y" or "127.0.0.1:2: cannot be reached" in said or foreign, "one that is granted leads to the host", got, said)


def localhost(place):
    """A rule about localhost is about two addresses; an answer is about the one that was shown."""
    name = "localhost"
    ports = [serve_both() for _ in range(3)]
    run = Run(place, policy(place, hosts(*(f"{name}:{port}" for port in ports))))
    run.joined()
    for port, own, other in ((ports[0], "[::1]", "127.0.0.1"), (ports[1], "127.0.0.1", "[::1]")):
        q, waits = asks(run, f"connect {own}:{port}")
        ok(q["target"] == f"{own}:{port}" and q["scopes"][0] == q["target"] and f"{name}:{port}" in q["scopes"], f"the rule about {name} asks about {own}", q, run.lines[waits:])
        ok(settle(run, q, waits, answer="once")[1] == own, "once leads to the very address", run.lines[waits:])
        q, waits = asks(run, f"connect {own}:{port}")
        ok(settle(run, q, waits, answer="allow")[1] == own and run.do(f"connect {own}:{port}") == own and not place.questions(), "allow grants that address", run.lines[waits:])
        q, waits = asks(run, f"connect {other}:{port}")
        ok(q["id"] != "none" and q["target"] == f"{other}:{port}", "and not the other one", q, run.lines[waits:])
        settle(run, q, waits, answer="deny")
        ok(run.do(f"connect {own}:{port}") == own and run.do(f"connect {other}:{port}") not in ("nothing", "127.0.0.1", "[::1]"), "which has an answer of its own", run.lines[waits:])
    q, waits = asks(run, f"connect [::1]:{ports[2]}")
    ok(settle(run, q, waits, answer="allow", scope=f"{name}:{ports[2]}")[1] != "nothing", "the scope of the rule")
    got = [run.do(f"connect {address}:{ports[2]}") for address in ("127.0.0.1", "[::1]")]
    ok(all(one in ("127.0.0.1", "[::1]") for one in got) and not place.questions(), "grants both addresses", got)
    run.end()


def leaving(place):
    """Who waits goes away, or the sandbox, or the daemon."""
    port = serve()
    run = Run(place, policy(place, hosts(f"127.0.0.1:{port}")))
    for data, how in (("", "nothing was sent"), ("16030100", "TLS had begun")):
        waits = run.begin(f"leave 127.0.0.1:{port} {data}")
        q = place.question(f":{port}")
        run.begin("go")
        ok(q and run.answer(waits) == "left" and until(lambda: not place.questions()), f"a client that goes away takes its question along: {how}", run.lines, place.questions())
        ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] in (404, 409), "which cannot be answered any more")
    waits = run.begin(f"connect {port}")
    q = place.question(f":{port}")
    place.kill()
    place.start()
    again = place.question(f":{port}")
    ok(again and again["sandbox"] == q["sandbox"] and len(run.lines) == waits, "a daemon that was killed: a connection waits for the next one", again)
    place.api("POST", "/api/questions/" + again["id"], {"answer": "once"})
    ok(run.answer(waits) == "y", "which answers it", run.lines)
    run.begin(f"connect {port}")
    place.question(f":{port}")
    run.process.send_signal(signal.SIGTERM)
    run.end()
    ok(until(lambda: not place.questions()), "a sandbox that ends takes its questions along", place.questions())
    place.put("ceiling.json", json.dumps({"network": {"allow": ["127.0.0.1:1"]}}))
    run = Run(place, policy(place, hosts(f"127.0.0.1:{port}")), "--ceiling", place.path + "/ceiling.json")
    waits = run.begin(f"connect {port}")
    q = place.question(f":{port}")
    above = [place.api("POST", "/api/questions/" + q["id"], {"answer": answer})[0] for answer in ("once", "allow")]
    ok(above == [409, 409] and len(run.lines) == waits, "above the ceiling the user cannot agree to a connection", above)
    place.api("POST", "/api/questions/" + q["id"], {"answer": "deny"})
    ok(run.answer(waits) not in ("y", "nothing"), "nor does it go on after that", run.lines)
    run.end()


def flooding(place):
    """Names, and more of them than a person would answer."""
    port = serve()
    run = Run(place, policy(place, hosts("*")))
    run.joined()
    other = Run(place, policy(place, hosts(f"127.0.0.1:{port}")))
    other.joined()
    refused = run.do("flood 24")
    asked = until(lambda: len(place.questions()) >= 16 and place.questions()) or []
    ok(refused == 8 and len(asked) == 16 and asked[0]["target"].endswith(".test:443"), "a flood of names: sixteen are asked, the others are refused at once", refused, len(asked))
    waits = other.begin(f"connect {port}")
    q = place.question(f":{port}")
    ok(q and place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] == 200 and other.answer(waits) == "y", "the question of another sandbox is heard all the same", q)
    other.end()
    place.api("POST", "/api/questions/" + asked[0]["id"], {"answer": "once"})
    ok(until(lambda: len(place.questions()) == 15), "one of them is answered")
    until(lambda: "cannot be reached" in place.log("net.connect"))
    said = run.end()
    ok("cannot be reached" in said and "too many questions" in said, "a name that was agreed to is looked up, and only then", said)


def denied(place):
    """--ask-denied: what nothing grants asks, at one rate; what something denies does not."""
    run = Run(place, policy(place, network={"deny": ["never.test:443"]}), "--ask-denied")
    run.joined()
    run.do("flood 24")
    asked = until(lambda: len(place.questions()) >= 6 and place.questions()) or []
    ok(len(asked) == 6 and asked[0]["target"].endswith(".test:443"), "--ask-denied: a few of many names are asked about", len(asked))
    ok(run.do("connect never.test:443") != "y" and len(place.questions()) == 6, "what a policy denies is not asked about", run.lines)
    q = asked[0]
    ok(place.corral("questions", "deny", q["id"]).returncode == 0 and until(lambda: len(place.questions()) == 5), "one of them is answered by the command line", q)
    said = run.end()
    ok("asks too many questions" in said and "n23.test" in said or "more that were denied" in said, "the others were refused, and the run says so", said)


def serve_http(address="127.0.0.1"):
    """A server that answers each request with its method; its address."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.command)))
            self.end_headers()
            self.wfile.write(self.command.encode())
        do_POST = do_GET

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = Server((address, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{f'[{address}]' if ':' in address else address}:{server.server_address[1]}"


def asks(run, line):
    """What is asked when it does this, and the number of its answer."""
    waits = run.begin(line)
    return until(lambda: (run.place.questions() or [None])[0] or (len(run.lines) > waits and {"id": "none", "scopes": None})), waits


def settle(run, question, waits, **answer):
    status = run.place.api("POST", "/api/questions/" + question["id"], answer)[0]
    return status, run.answer(waits) if status == 200 else None


def requests(place):
    """What is granted is what was shown, and no more."""
    if "CORRAL_FETCH" not in os.environ:
        return
    host = serve_http()
    url = "http://" + host
    run = Run(place, policy(place, {"id": "net", "action": "ask", "operations": ["net.connect"], "patterns": [host]}), "--broker")
    run.joined()
    for path in ("", "/", "/*", "/**", "/v1/", "/v1/*", "/v1/{a,b}", "/v1/[ab]"):
        q, waits = asks(run, f"http GET {url}{path}")
        ok(q["scopes"] == [] and settle(run, q, waits, answer="allow")[0] == 409 and not place.api("GET", "/api/grants")[1]["grants"]
           and settle(run, q, waits, answer="once")[1].get("status") == 200, f"a path that would be a pattern of more is agreed to once: {path}", q, run.lines[waits:])
    q, waits = asks(run, f"http GET {url}/v1/a")
    ok(q["scopes"] == [f"GET {url}/v1/a", host], "one request is its own pattern, its host comes after it", q)
    ok(settle(run, q, waits, answer="allow")[1].get("status") == 200 and run.do(f"http GET {url}/v1/a").get("status") == 200, "agreed to, it is not asked again", run.lines[waits:])
    for other in (f"GET {url}/v1/b", f"POST {url}/v1/a"):
        q, waits = asks(run, "http " + other)
        ok(q["id"] != "none", "another path or method is", other, run.lines[waits:])
        settle(run, q, waits, answer="deny")
    run.end()


def without_broker(place):
    port = serve()
    rule = {"id": "hosts", "action": "ask", "operations": ["net.connect"], "patterns": [f"127.0.0.1:{port}"]}
    run = Run(place, policy(place, rule), "--broker", "--ask", "0s")
    sandbox = run.joined()
    before = run.do(f"connect {port}")
    killed = set()

    def is_gone():
        found = subprocess.run(["pgrep", "-P", str(run.process.pid), "corral-broker"], capture_output=True, text=True).stdout.split()
        for pid in found:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        killed.update(found)
        return len(killed) > 3 and not found
    ok(until(is_gone), "a broker that was killed too often is not started again", killed)
    status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"127.0.0.1:{port}"})
    after = run.do(f"connect {port}")
    ok(status >= 400 and after == before != "y" and not place.api("GET", "/api/grants")[1]["grants"] and run.process.poll() is None,
       "a grant that the broker did not take is not in force for the network either", status, answer, before, after)
    run.end()


def methods(place):
    """A ceiling of some methods."""
    if "CORRAL_FETCH" not in os.environ:
        return
    host = serve_http()
    url = "http://" + host
    for pattern, targets in ((f"{url}/v1/**", (f"{url}/v1/**", f"{url}/v1/x")), (host, (host, f"{url}/v1/**", f"127.0.0.0/8:{host.split(':')[1]}"))):
        place.put("ceiling.json", json.dumps({"rules": [{"id": "c", "action": "allow", "operations": ["net.connect"], "patterns": [pattern], "methods": ["GET"]}]}))
        run = Run(place, policy(place), "--broker", "--ceiling", place.path + "/ceiling.json")
        sandbox = run.joined()
        for target in targets:
            status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": target})
            ok(status == 409 and "above the ceiling" in answer["error"] and "(with GET only)" in answer["error"], f"a ceiling of some methods does not have all of {target}", answer)
        status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"GET {url}/v1/**"})
        ok(status == 200 and run.do(f"http GET {url}/v1/x").get("status") == 200 and "permission denied" in run.do(f"http POST {url}/v1/x"), "what it has of them can be granted",
           answer, run.lines[-2:])
        status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"POST {url}/v1/**"})
        ok(status == 409 and f"POST {url}/v1/**" in answer["error"], "and what it does not have cannot", answer)
        run.end()


def commands(place):
    echo = "/usr/bin/echo"
    run = Run(place, policy(place, {"id": "x", "action": "ask", "operations": ["exec"], "patterns": [echo]}, exec=["/usr/bin/python3*", "/bin/python3*"], env=["LANG"]), "--broker")
    run.joined()
    for more in ({"stdin": "input"}, {"env": {"LANG": "C"}}, {"cwd": "/usr"}):
        q, waits = asks(run, "call " + json.dumps({"called": "exec.run", "command": echo, "args": ["hello"], **more}))
        ok(q["scopes"] == [] and settle(run, q, waits, answer="allow")[0] == 409, f"a command with {next(iter(more))} is not agreed to for longer", q, run.lines[waits:])
        settle(run, q, waits, answer="deny")
    q, waits = asks(run, "call " + json.dumps({"called": "exec.run", "command": echo, "args": ["hi"], "cwd": place.path + "/work"}))
    ok(q["scopes"][:1] == [echo + " hi:"], "one in the folder of the session is", q, run.lines[waits:])
    ok(settle(run, q, waits, answer="allow")[1].get("stdout") == "hi\n", "and runs", run.lines[waits:])
    run.end()


def sockets(place):
    """The broker's: a grant that is gone ends them, and rules about requests hold."""
    if "CORRAL_FETCH" not in os.environ:
        return
    ports = [serve() for _ in range(4)]
    run = Run(place, policy(place, hosts(*(f"127.0.0.1:{port}" for port in ports))), "--broker")
    sandbox = run.joined()

    def opens(port, **answer):
        q, waits = asks(run, "one socket.open " + json.dumps({"address": f"127.0.0.1:{port}"}))
        return settle(run, q, waits, **answer)[1] if q["id"] != "none" else run.answer(waits)

    def echo(opened):
        wrote = run.do("one socket.write " + json.dumps({"socket": opened["socket"], "data": "x"}))
        return wrote if isinstance(wrote, str) else run.do("one socket.read " + json.dumps({"socket": opened["socket"]})).get("data")

    once, granted = opens(ports[0], answer="once"), opens(ports[1], answer="allow")
    ok([echo(once), echo(granted)] == ["y", "y"], "sockets to hosts that were agreed to", once, granted)
    third = opens(ports[2])
    ok("too many sockets" in third and not place.questions(), "a third host is not asked about: it would leave no room for others", third)
    grant = next(g for g in place.api("GET", "/api/grants")[1]["grants"] if g["sandbox"] == sandbox)
    ok(place.api("DELETE", "/api/grants/" + grant["id"])[0] == 200 and "was closed" in str(echo(granted)), "a grant that is revoked ends its sockets")
    ok(echo(once) == "y", "but not one that was agreed to once")
    run.end()
    deny = {"id": "admin", "action": "deny", "operations": ["net.connect"], "patterns": [f"http://127.0.0.1:{ports[3]}/admin/**"], "priority": 9}
    run = Run(place, policy(place, hosts(f"127.0.0.1:{ports[3]}"), deny), "--broker")
    run.joined()
    ok("methods or paths" in opens(ports[3], answer="once"), "a socket does not lead past rules about paths")
    run.end()


def swapped(place):
    """A link that leads elsewhere while its question waits."""
    link = place.path + "/work/link"
    os.symlink(place.path + "/data/a", link)
    run = Run(place, policy(place), "--broker")
    sandbox = run.joined()
    waits = run.begin("read " + link)
    first = place.question("/data/a")
    os.symlink(place.path + "/data/b", link + ".new")
    os.rename(link + ".new", link)
    status, _ = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "fs.read", "target": place.path + "/data/c"})
    second = place.question("/data/b")
    ok(status == 200 and second and until(lambda: [q["id"] for q in place.questions()] == [second["id"]]),
       "a call that asks about something else now does not wait for its first question", first, place.questions())
    ok(place.api("POST", "/api/questions/" + first["id"], {"answer": "once"})[0] in (404, 409), "the user cannot agree to that any more")
    place.api("POST", "/api/questions/" + second["id"], {"answer": "once"})
    ok(content(run.answer(waits)) == "second", "the second one is answered", run.lines)
    run.end()
    os.unlink(link)


def attacks(place):
    runtime = place.path + "/run/corral"
    rules = {"id": "all", "action": "ask", "operations": ["fs.read", "fs.write"],
             "patterns": [place.path + "/run/**", place.path + "/policy.json"]}
    run = Run(place, policy(place, rules), "--broker")
    sandbox = run.joined()
    events = subprocess.Popen([CORRAL, "events", "-f", "--json"], env=place.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    # From the first line on it hears all that happens: its own request, if nothing else.
    heard = [events.stdout.readline()]
    ok(run.do("try " + runtime + "/token") in ("FileNotFoundError", "PermissionError", "NotADirectoryError"), "a command cannot read the token", run.lines)
    ok(run.do("reach " + runtime + "/api.sock") != "connected" and run.do("reach " + runtime + "/join.sock") != "connected", "nor reach the sockets", run.lines)
    # A person who agrees to everything does not give the token away.
    waits = run.begin(f"read {runtime}/token")
    q = until(lambda: (place.questions() or [None])[0] or (len(run.lines) > waits and {"id": "none"}))
    if q["id"] != "none":
        place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    answer = run.answer(waits)
    ok(place.token not in json.dumps(answer) and not content(answer), "nor by the broker, whoever agrees", answer)
    waits = run.begin(f"write {place.path}/policy.json")
    q = until(lambda: (place.questions() or [None])[0] or (len(run.lines) > waits and {"id": "none"}))
    if q["id"] != "none":
        place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    answer = run.answer(waits)
    ok(json.load(open(place.path + "/policy.json"))["rules"], "nor the policy that it runs under", answer)
    ok(place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "fs.read", "target": place.path + "/data/a"}, token="0" * 64)[0] == 401, "a wrong token grants nothing")
    # One that is confined as a command is, and has been handed the token and the socket's folder all the same.
    confined = subprocess.run(["setpriv", "--no-new-privs", sys.executable, "-c",
                               "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
                               "s.sendall(b'POST /api/questions/x HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer '+sys.argv[2].encode()"
                               "+b'\\r\\nContent-Type: application/json\\r\\nContent-Length: 17\\r\\n\\r\\n{\"answer\":\"once\"}')\nprint(s.recv(4096).decode())",
                               runtime + "/api.sock", place.token], capture_output=True, text=True, timeout=PATIENCE)
    ok(" 403 " in confined.stdout, "one with the token is refused, because it is confined", confined.stdout, confined.stderr)
    threading.Thread(target=lambda: heard.extend(iter(events.stdout.readline, "")), daemon=True).start()
    ok(until(lambda: any('"refused_peer"' in line for line in heard)), "and that is an event")
    ok(until(lambda: any('"event":"question"' in line and '"asked"' in line for line in heard) and any('"event":"question"' in line and '"answered"' in line for line in heard)),
       "questions and answers are events", heard[-5:])
    events.kill()
    events.wait()
    run.end()


def raced(place):
    """An answer and the end of the run, at the same moment: whichever is first, nothing is left of either."""
    port = serve()
    statuses = []
    for kind in ("allow", "once", "deny", "allow"):
        run = Run(place, policy(place, hosts(f"127.0.0.1:{port}"), network={"allow": ["127.0.0.1:1"]}))
        run.begin(f"connect {port}")
        q = place.question(str(port))
        start = threading.Barrier(2)

        def finish():
            start.wait()
            run.process.kill()

        killer = threading.Thread(target=finish)
        killer.start()
        start.wait()
        statuses.append(place.api("POST", "/api/questions/" + q["id"], {"answer": kind})[0])
        killer.join()
        run.process.wait(PATIENCE)
    ok(set(statuses) <= {200, 404, 409, 503}, "an answer that is raced by the end of the run is taken or refused", statuses)
    ok(until(lambda: not place.questions() and not place.api("GET", "/api/grants")[1]["grants"] and not place.api("GET", "/api/sandboxes")[1]["sandboxes"]),
       "and leaves no question, grant or sandbox", place.questions(), place.api("GET", "/api/grants"))


def later(place):
    """A command that failed left a question: the daemon shows it, and takes the answer for the next run."""
    words = [CORRAL, "run", "--ask-denied", "--", "cat", place.path + "/other/c"]

    def run():
        return subprocess.run(words, env=place.env, cwd=place.path + "/work", capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)

    first = run()
    found = place.api("GET", "/api/later")[1]["later"]
    ok(first.returncode == 1 and [(q["target"], q["folder"]) for q in found] == [(place.path + "/other/c", place.path + "/work")],
       "what a command that failed was denied is found at the daemon", found, first.stderr)
    listed = place.corral("questions", "list").stdout
    ok(found and found[0]["id"] in listed, "and by the command line, with what waits", listed)
    for path, body, status in (("x", {"answer": "once"}, 404), ("0" * 32, {"answer": "once"}, 404), (found[0]["id"], {"answer": "forever"}, 400), (found[0]["id"], {"answer": "always"}, 409)):
        ok(place.api("POST", "/api/later/" + path, body)[0] == status, f"{path[:8]} {body}: {status}")
    status, answer = place.api("POST", "/api/later/" + found[0]["id"], {"answer": "once"})
    ok(status == 200 and answer["holds"] == "from the next run", "an answer says from when on it holds", status, answer)
    ok(place.api("POST", "/api/later/" + found[0]["id"], {"answer": "day"})[0] == 404, "and is the only one")
    ok(run().stdout == "fourth" and run().returncode == 1, "it is given to one run")
    folder = place.path + "/always"
    os.mkdir(folder)
    with open(folder + "/corral.yaml", "w", encoding="utf-8") as file:
        file.write("ask: denied\n")
    subprocess.run([CORRAL, "project", "approve", "--yes", folder], env=place.env, capture_output=True, timeout=PATIENCE, check=True)
    words[2:3] = []
    subprocess.run(words, env=place.env, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    found = [q for q in place.api("GET", "/api/later")[1]["later"] if q["folder"] == folder]
    status, answer = place.api("POST", "/api/later/" + found[0]["id"], {"answer": "always"})
    ok(found[0]["can_always"] and status == 200 and answer["file"] == folder + "/corral.yaml", "always is a line of the project's file", status, answer)
    done = subprocess.run(words, env=place.env, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    ok(done.stdout == "fourth", "which is approved", done.stderr)


def in_place(tests):
    place = Place()
    try:
        place.start()
        for test in tests:
            test(place)
    finally:
        place.end()


def at_once(*parts):
    """Tests of each part one after the other, in a place of their own; the parts at the same time."""
    broker_tap.at_once(*[lambda tests=tests: in_place(tests) for tests in parts])


def main():
    with beside_user(__file__, PROGRAMS):
        at_once((answers, later, raced), (grants, connections, web), (own_ports, localhost, leaving, flooding, denied, requests, methods),
                (commands, sockets, swapped, without_broker, attacks, ends))
    return end()


if __name__ == "__main__":
    sys.exit(main())
