#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corrald: its API, its events, its start and its ends; and what attacks it: requests that two readers
understand differently, pages of other origins, clients that are slow or many, and an agent with the same uid
inside a sandbox. As root, once more as an ordinary user. Prints TAP."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from broker_tap import end, ok, skip
from daemon_tap import CORRAL, CORRALD, PATIENCE, Daemon, Events, Notify, at_once, beside_user, until, works


def test_start(d):
    d.start()
    modes = {name: os.stat(os.path.join(d.folder, name)).st_mode & 0o777 for name in ("", "token", "api.sock", "join.sock", "corrald.pid")}
    ok(modes == {"": 0o700, "token": 0o600, "api.sock": 0o600, "join.sock": 0o600, "corrald.pid": 0o600}, "what it makes is for its owner alone", modes)
    ok(int(open(d.folder + "/corrald.pid").read()) == d.process.pid, "the pid file has its pid")
    second = subprocess.run([CORRALD, "--port", "0"], env=d.env, capture_output=True, text=True, timeout=PATIENCE)
    ok(second.returncode == 1 and f"runs here already, with the pid {d.process.pid}" in second.stderr, "a second one in the same folder says who is there", second.stderr)
    wrong = subprocess.run([CORRALD, "--prot", "0"], env=d.env, capture_output=True, text=True, timeout=PATIENCE)
    shown = subprocess.run([CORRALD, "--help"], env=d.env, capture_output=True, text=True, timeout=PATIENCE)
    ok(wrong.returncode != 0 and "`corrald --help`" in wrong.stderr and shown.returncode == 0 and "--port" in shown.stdout,
       "an option that there is not: --help lists those that there are", wrong.stderr)
    status, headers, body = d.get("/api/health", {})
    ok(status == 200 and body["status"] == "ok", "health needs no token", (status, body))
    ok(not any(h.lower().startswith("access-control") for h in headers) and "default-src 'none'" in headers["Content-Security-Policy"]
       and headers["X-Content-Type-Options"] == "nosniff", "no CORS, a strict CSP", headers)
    old = d.token
    d.stop()
    ok(d.process.returncode == 0 and os.listdir(d.folder) == [], "SIGTERM ends it, and nothing is left", os.listdir(d.folder))
    d.start()
    ok(d.token != old and d.get("/api/status", {"Authorization": "Bearer " + old})[0] == 401, "each start has a token of its own")
    old = d.token
    d.stop(signal.SIGKILL)
    os.unlink(d.folder + "/token")
    os.mkfifo(d.folder + "/token")
    d.start()
    ok(d.token != old and os.stat(d.folder + "/token").st_mode == 0o100600, "also after a kill, whatever is there")


def test_api(d):
    for path in ("/api/status", "/api/config", "/api/audit", "/api/audit/verify", "/api/doctor", "/api/openapi.json", "/sse/events"):
        for unix in (False, True):
            status = [d.get(path, headers, unix=unix)[0] for headers in ({}, {"Authorization": "Bearer " + "0" * 64}, {"Authorization": "Bearer"})]
            ok(status == [401] * 3, f"{path} needs the token, " + ("on the Unix socket" if unix else "by TCP"), status)
        answer = d.get(path, unix=False)
        ok(answer[0] == 401 and "--unix-socket" in answer[2]["error"], f"{path}: by TCP the token is refused, and what to do is said", answer)
    s = d.status()
    ok(s["pid"] == d.process.pid and s["port"] == d.port and s["mode"] == "user" and s["log"]["error"] is None, "status", s)
    ok(d.get("/api/status", unix=True)[2]["pid"] == d.process.pid, "the same by the Unix socket")
    ok(isinstance(s["broker"]["installed"], bool) and "each sandbox" in s["broker"]["runs"], "the broker is in it", s)
    s = d.get("/api/security")[2]
    ok(s["users"] == [] and s["processes"] == [], "no sandbox runs: no users, no processes", s)
    ok(d.get("/api/config")[2]["daemon"]["host"] == "127.0.0.1", "config")
    policy = "fs:\n  read: [/srv/**]\n"
    answer = d.get("/api/policies/check", method="POST", body={"policy": policy, "operation": "fs.read", "target": "/srv/x"})
    ok(answer[0] == 200 and answer[2]["verdict"] == "allow" and answer[2]["rule"]["line"] == 2, "a check that allows names its rule", answer)
    answer = d.get("/api/policies/check", method="POST", body={"policy": policy, "operation": "fs.write", "target": "/srv/x"})
    ok(answer[0] == 200 and answer[2]["verdict"] == "deny" and answer[2]["line"], "one that denies has the line that would allow it", answer)
    answer = d.get("/api/policies/check", method="POST", body={"policy": "fs: [", "operation": "fs.read", "target": "/srv/x"})
    ok(answer[0] == 400 and isinstance(answer[2]["error"], str) and answer[2]["line"], "a policy that cannot be read: a sentence, and its line", answer)
    answer = d.get("/api/policies/check", method="POST", body={"policy": policy, "operation": "fs.read", "target": "--help"})
    ok(answer[0] in (200, 400) and "Usage" not in str(answer[2]), "a target is never an option", answer)
    answer = d.get("/api/policies/lint", method="POST", body={"policy": "fs:\n  read: ['/**']\n"})
    ok(answer[0] == 200, "lint", answer)
    for body, what in (({"policy": policy}, "missing"), ({"policy": policy, "operation": "fly", "target": "x"}, "operation"),
                       ({"policy": policy, "operation": "fs.read", "target": "/x", "targt": 1}, "did you mean target"),
                       ([1], "object"), ({"policy": 7, "operation": "fs.read", "target": "/x"}, "policy"), (b"{", "JSON")):
        headers = {**d.headers(), "Content-Type": "application/json"}
        answer = d.get("/api/policies/check", headers, "POST", body)
        ok(answer[0] == 400 and what in answer[2]["error"], f"a body that is wrong: {what}", answer)
    for path, code in (("/api/audit?limit=5", 200), ("/api/audit?limit=1001", 400), ("/api/audit?limit=-1", 400), ("/api/audit?limit=1&limit=2", 400),
                       ("/api/audit?limt=1", 400), ("/api/audit?target=%00", 400), ("/api/audit?target=%zz", 400), ("/api/audit?target=%ff", 400),
                       ("/api/audit?decision=denied", 200), ("/api/audit?decision=x", 400), ("/api/audit?session=--follow", 200), ("/api/nothing", 404)):
        answer = d.get(path)
        ok(answer[0] == code, f"{path}: {code}", answer)
    answer = d.get("/api/status", method="DELETE")
    ok(answer[0] == 405 and answer[1]["Allow"] == "GET", "another method: which there are", answer)

    # Each question to the log is a record as well: of the allowed ones 1,000 are soon over.
    def told(decision):
        return d.get("/api/audit?limit=1000&decision=" + decision)[2]["records"]

    asked = lambda: {(r["target"], r["decision"]) for decision in ("allowed", "denied") for r in told(decision)}
    ok(until(lambda: {("GET /api/status", "allowed"), ("GET /api/status", "denied")} <= asked()), "what was asked and what was refused is in the log", asked())
    # 7 paths by 2 ways with 3 wrong tokens each, and with the token by TCP, 6 bodies, 8 queries, a path and a method that there are not,
    # and a policy that cannot be read.
    refused = lambda: sum(r["count"] for r in told("denied") if r["program"] == "corrald-http")
    ok(until(lambda: refused() == 66), "each refusal is counted, however many there were", refused())
    answer = d.get("/api/audit/verify")
    ok(answer[0] == 200 and answer[2]["fine"], "which verifies", answer)
    ok(d.get("/api/doctor")[2]["kernel"].startswith("Linux"), "doctor")
    described = d.get("/api/openapi.json")[2]
    ok(described["openapi"].startswith("3.1") and "/api/policies/check" in described["paths"], "the API describes itself")


def test_slow(d):
    """A byte now and then does not prolong it."""
    s = d.slow
    s.settimeout(0.1)
    gone = False
    end = time.monotonic() + PATIENCE
    while not gone and time.monotonic() < end:
        try:
            s.sendall(b"X")
            gone = s.recv(100) == b""
        except TimeoutError:
            pass
        except OSError:
            gone = True
    ok(gone, "a request that does not come to an end is closed")
    s.close()


def test_http(d):
    d.slow = d.connect(unix=False)
    d.slow.sendall(b"GET /api/status HT")
    tab = d.tab()
    host = f"Host: {d.host}\r\n"
    # Each request has a proof of its own.
    auth, check = "Authorization: STATUS\r\n", "Authorization: CHECK\r\n"
    get = "GET /api/status HTTP/1.1\r\n"
    post = "POST /api/policies/check HTTP/1.1\r\n" + host + check + "Content-Type: application/json\r\n"
    rows = (
        ("two lengths", post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
        ("two lengths, other spelling", post + "Content-Length: 2\r\ncontent-length: 40\r\n\r\n{}", 400),
        ("a length beside chunks", post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
        ("chunks", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
        ("bare line feeds", "GET /api/status HTTP/1.1\n" + host.replace("\r", "") + "\n", 400),
        ("one bare line feed", get + host.replace("\r", "") + auth + "\r\n", 400),
        ("a space before the colon", get + host + "Authorization : x\r\n\r\n", 400),
        ("a folded line", get + host + "X: a\r\n b\r\n" + auth + "\r\n", 400),
        ("two tokens", get + host + auth + auth + "\r\n", 400),
        ("no Host", get + auth + "\r\n", 400),
        ("two Hosts", get + host + host + auth + "\r\n", 400),
        ("rebinding: another name", get + f"Host: evil.example:{d.port}\r\n" + auth + "\r\n", 403),
        ("rebinding: health, too", f"GET /api/health HTTP/1.1\r\nHost: evil.example:{d.port}\r\n\r\n", 403),
        ("rebinding: a name that begins as ours", get + f"Host: 127.0.0.1.evil.example:{d.port}\r\n" + auth + "\r\n", 403),
        ("another port", get + "Host: 127.0.0.1:1\r\n" + auth + "\r\n", 403),
        ("a page of another origin", get + host + auth + "Origin: http://evil.example\r\n\r\n", 403),
        ("a sandboxed page", get + host + auth + "Origin: null\r\n\r\n", 403),
        ("a page of another port", get + host + auth + f"Origin: http://127.0.0.1:{d.port + 1}\r\n\r\n", 403),
        ("a preflight", "OPTIONS /api/status HTTP/1.1\r\n" + host + "Origin: http://evil.example\r\n\r\n", 403),
        ("a form", post.replace("application/json", "text/plain") + "Content-Length: 2\r\n\r\n{}", 415),
        ("a large body", post + "Content-Length: 2097153\r\n\r\n", 413),
        ("a body where there is none", get + host + auth + "Content-Length: 2\r\n\r\n{}", 413),
        ("no length", post + "\r\n", 411),
        ("a head that is too large", get + host + "X: " + "a" * 9000 + "\r\n\r\n", 431),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("an upgrade", get + host + auth + "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", 400),
        ("CONNECT", "CONNECT 127.0.0.1:80 HTTP/1.1\r\n" + host + "\r\n", 400),
        ("a token in the path", f"GET /api/status?token={d.token} HTTP/1.1\r\n" + host + "\r\n", 401),
        ("the token by TCP", get + host + f"Authorization: Bearer {d.token}\r\n\r\n", 401),
        ("its own page", get + host + auth + f"Connection: close\r\nOrigin: http://{d.host}\r\n\r\n", 200),
    )
    send = lambda text: d.raw(text.replace("STATUS", tab.proof("GET", "/api/status")).replace("CHECK", tab.proof("POST", "/api/policies/check", b"{}")).encode())
    for name, text, code in rows:
        got = send(text)
        ok(got.startswith(f"HTTP/1.1 {code} ".encode()) and got.count(b"HTTP/1.1 ") == 1, f"{name}: {code}", got[:300])
    two = send(get + host + auth + "\r\n" + "GET /api/health HTTP/1.1\r\nConnection: close\r\n" + host + "\r\n")
    ok(two.count(b"HTTP/1.1 200 OK") == 2 and two.index(b'"pid"') < two.index(b'"ok"'), "two in one piece are answered in order", two)
    smuggled = send(post + "Content-Length: 0\r\n\r\nGET /api/health HTTP/1.1\r\n" + host + "\r\n")
    ok(smuggled.count(b"HTTP/1.1 ") == 1, "behind what was refused nothing is read", smuggled)


def test_crowds(d):
    idle = []
    try:
        for _ in range(1000):
            idle.append(socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE))
        ok(d.get("/api/health", {})[0] == 200 and d.status()["pid"] == d.process.pid, "1,000 idle clients keep no other client out")
        # They are accepted, and others closed for them, while it answers.
        ok(until(lambda: sum(is_closed(s) for s in idle) >= 1000 - 768), "the longest silent made room")
    finally:
        for s in idle:
            s.close()
    test_crowd_of_one_process(d)
    listeners = [Events(d) for _ in range(50)]
    d.status()
    ok(all(e.hears("GET /api/status") for e in listeners), "50 clients hear of one event")
    for e in listeners:
        e.close()


CROWD = """
import socket, sys
all = [socket.socket(socket.AF_UNIX) for _ in range(900)]
for s in all:
    s.connect(sys.argv[1])
print("there", flush=True)
sys.stdin.read()
"""


def test_crowd_of_one_process(d):
    """One process with more connections than there may be loses its own, not the older one of another."""
    path = d.folder + "/api.sock"
    with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as last:
        own.connect(path)
        own.settimeout(PATIENCE)
        get = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        own.sendall(get)
        ok(own.recv(4096).startswith(b"HTTP/1.1 200 "), "a client is there first")
        crowd = subprocess.Popen([sys.executable, "-c", CROWD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            # Connections are served in their order: when one behind the crowd is answered, all of the crowd were taken in.
            there = crowd.stdout.readline()
            last.connect(path)
            last.settimeout(PATIENCE)
            last.sendall(get)
            answer = last.recv(4096)
            own.sendall(get)
            heard = own.recv(4096)
            ok(there == b"there\n" and all(a.startswith(b"HTTP/1.1 200 ") for a in (answer, heard)), "900 connections of one process cost another none", there, answer, heard)
        finally:
            crowd.communicate()


def is_closed(s):
    s.setblocking(False)
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_events(d):
    e = Events(d)
    first = e.next()
    ok("HTTP/1.1 200 OK" in e.head[0] and "Content-Type: text/event-stream" in e.head and first["event"] == "connected", "a stream begins with `connected`", e.head)
    for _ in range(3):
        d.status()
    seen = [e.next() for _ in range(4)]
    ids = [int(x["id"]) for x in seen]
    ok(ids == list(range(ids[0], ids[0] + 4)), "ids grow by one", ids)
    e.close()
    e = Events(d, ids[1])
    e.next()
    ok(int(e.next()["id"]) == ids[2], "Last-Event-ID goes on behind it")
    e.close()
    e = Events(d, 17)
    e.next()
    gap = e.next()
    ok(gap["event"] == "dropped" and gap["data"]["from"] == 18, "a gap is said", gap)
    e.close()
    # The client does not read: the daemon goes on, and reports what is missing.
    e = Events(d)
    e.next()
    lazy = Events(d)
    for _ in range(20):
        for _ in range(100):
            d.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    ok(d.status()["pid"] == d.process.pid, "a client that does not read blocks no other")
    lazy.close()
    e.close()


def test_statuses(d):
    """A request is recorded with the status of its answer."""
    e = Events(d)

    def heard(request):
        while (event := e.next("api_request")["data"])["request"] != request:
            pass
        return event

    ok(d.get("/api/grants/0123456789abcdef.1", method="DELETE")[0] == 404, "there is no such grant")
    event = heard("DELETE /api/grants/{id}")
    ok(event["status"] == 404 and "no such grant" in event["reason"], "its event has the status and the reason", event)
    ok(d.get("/api/status")[0] == 200 and heard("GET /api/status")["status"] == 200, "as one that is answered has")
    ok(d.get("/api/policies/none-such")[0] == 404 and heard("GET /api/policies/{name}")["status"] == 404, "what a process of corral answers, too")
    e.close()
    log = d.get("/api/audit?limit=1000&action=service")[2]["records"]
    ok([(r["decision"], r["status"]) for r in log if r["target"] == "DELETE /api/grants/{id}"] == [("denied", 404)], "and so has the log, once",
       [r for r in log if "DELETE" in r["target"]])


def test_deaths(d):
    e = Events(d)
    e.next()
    d.status()
    last = int(e.next("api_request")["id"])
    victim = d.status()["http"]["pid"]
    os.kill(victim, signal.SIGKILL)
    ok(until(lambda: works(d) and d.status()["http"]["pid"] != victim), "corrald-http that was killed is started again")
    ok(d.status()["http"]["restarts"] >= 1, "and counted")
    e = Events(d, last)
    e.next()
    ok(int(e.next()["id"]) == last + 1, "its successor has the events of before")
    e.close()
    pid = d.process.pid
    d.stop(signal.SIGKILL)
    ok(until(lambda: not os.path.exists(f"/proc/{d_http(pid)}") if d_http(pid) else True), "corrald-http ends with corrald")
    d.start()
    answer = d.get("/api/audit/verify")
    ok(answer[0] == 200 and answer[2]["fine"], "after kill -9 of corrald the log verifies", answer)
    records = d.get("/api/audit?limit=1000")[2]["records"]
    ok(any(r["target"] == "GET /api/status" for r in records), "and has what was before")
    e = Events(d, last)
    e.next()
    ok(e.next()["event"] == "dropped", "a client of the one before hears of the gap")
    e.close()


def d_http(parent):
    done = subprocess.run(["pgrep", "-P", str(parent), "corrald-http"], capture_output=True, text=True)
    return done.stdout.strip()


# What an agent tries. Prints what worked.
AGENT = r"""
import os, socket, sys
folder, pid = sys.argv[1], int(sys.argv[2])
def read(name):
    with open(os.path.join(folder, name)) as f:
        print("token", f.read().strip())
def talk():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(folder + "/api.sock")
        s.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if b" 200 " in s.recv(4096):
            print("talk")
attacks = (lambda: read("token"), lambda: print("list", os.listdir(folder)), talk, lambda: (os.kill(pid, 0), print("signal")),
           lambda: (os.rename(folder, folder + ".old"), os.rename(folder + ".old", folder), print("rename")),
           lambda: (os.listdir(f"/proc/{pid}/fd"), print("descriptors")))
for attack in attacks:
    try:
        attack()
    except OSError:
        pass
"""


def test_agent(d):
    os.mkdir(d.place + "/data")
    script = os.path.join(d.place, "data", "agent.py")
    with open(script, "w") as f:
        f.write(AGENT)
    words = ["/usr/bin/python3", script, d.folder, str(d.process.pid)]
    bare = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE).stdout
    ok(d.token in bare and all(word in bare for word in ("talk", "signal", "list", "rename")), "outside all of it works", bare)
    for mode in ("sandbox", "rx"):
        done = subprocess.run([CORRAL, "run", "--mode", mode, "--data-dir", d.place + "/data", "--", *words], env=d.env, cwd=d.place,
                              capture_output=True, text=True, timeout=PATIENCE)
        ok(done.returncode == 0 and done.stdout == "", f"an agent in mode {mode} reads no token, reaches no socket, stops no daemon", done.stdout + done.stderr)
    # A run that was started with another XDG_RUNTIME_DIR, or with none, hides the daemon's folder all the same.
    other = {**d.env, "XDG_RUNTIME_DIR": d.place + "/other-run"}
    os.makedirs(other["XDG_RUNTIME_DIR"], mode=0o700, exist_ok=True)
    for env, name in ((other, "another XDG_RUNTIME_DIR"), ({k: v for k, v in d.env.items() if k != "XDG_RUNTIME_DIR"}, "no XDG_RUNTIME_DIR"),
                      ({k: v for k, v in other.items() if k != "XDG_STATE_HOME"}, "another XDG_STATE_HOME as well")):
        done = subprocess.run([CORRAL, "run", "--mode", "sandbox", "--data-dir", d.place + "/data", "--extra", d.runtime, "--", *words], env=env, cwd=d.place,
                              capture_output=True, text=True, timeout=PATIENCE)
        ok(done.returncode == 0 and done.stdout == "", f"nor one whose run has {name}", done.stdout + done.stderr)
    done = subprocess.run([CORRAL, "run", "--read", d.runtime + "/**", "--write", d.runtime + "/**", "--", *words], env=d.env, cwd=d.place + "/data",
                          capture_output=True, text=True, timeout=PATIENCE)
    ok(done.returncode == 0 and done.stdout == "", "nor one that was granted the folder around it", done.stdout + done.stderr)
    # Whoever has the socket after all, with the token: by what the kernel says of it.
    e = Events(d)
    e.next()
    ask = ["curl", "-s", "--unix-socket", d.folder + "/api.sock", "-H", "Authorization: Bearer " + d.token, "http://localhost/api/status"]
    ok('"pid"' in subprocess.run(ask, capture_output=True, text=True).stdout, "outside the token opens the socket")
    for name, prefix in (("no_new_privs", ["setpriv", "--no-new-privs"]), ("another user namespace", ["unshare", "-Ur"])):
        if name.startswith("another") and subprocess.run([*prefix, "true"], capture_output=True).returncode:
            print(f"# SKIP {name}: this kernel makes no user namespaces for us")
            continue
        done = subprocess.run([*prefix, *ask], capture_output=True, text=True)
        ok("only processes outside of sandboxes may ask" in done.stdout, f"a peer with {name} is refused", done.stdout + done.stderr)
        ok(e.finding("refused_peer"), "and that is an event")
    e.close()
    denied = [r for r in d.get("/api/audit?limit=1000")[2]["records"] if r["target"] == "api.sock"]
    ok(denied and all(r["decision"] == "denied" for r in denied), "and in the log", denied)
    # Who is behind a connection that its maker left to another is not known.
    s = socket.socket(socket.AF_UNIX)
    maker = os.fork()
    if maker == 0:
        s.connect(d.folder + "/api.sock")
        os._exit(0)
    os.waitpid(maker, 0)
    s.settimeout(PATIENCE)
    s.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    got = s.recv(4096)
    ok(b" 403 " in got or b"200 OK" in got, "a connection whose maker has ended is refused, unless it was known before", got)
    s.close()


def run(d, *words, **more):
    return subprocess.run([CORRAL, "run", *words], env=d.env, cwd=d.place + "/data", capture_output=True, text=True, timeout=PATIENCE, check=False, **more)


def records(d, action):
    """Of one action: each question of a test that waits is a record, too, and 1,000 of those are soon over."""
    return d.get("/api/audit?limit=1000&action=" + action)[2]["records"]


def test_join(d):
    d.settle()
    e = Events(d)
    e.next()
    script = "import socket, time, sys\nsys.stdin.readline()\ns = socket.socket()\ntry:\n s.connect(('198.51.100.7', 80)); s.send(b'x'); s.recv(1)\n" \
             "except OSError:\n pass\nprint('tried', flush=True)\ntime.sleep(600)"
    p = subprocess.Popen([CORRAL, "run", "--net", "a.test:443", "--", "/usr/bin/python3", "-c", script], env=d.env, cwd=d.place + "/data",
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    joined = e.next("sandbox")["data"]
    ok(joined["state"] == "joined" and joined["sandbox"]["pid"] == p.pid and "python3" in joined["sandbox"]["command"], "a run announces itself", joined)
    listed = d.get("/api/sandboxes")[2]["sandboxes"]
    ok([b["pid"] for b in listed] == [p.pid] and d.status()["sandboxes"] == 1, "and is listed", listed)
    one = listed[0]["id"]
    ok(d.get("/api/sandboxes/" + one)[2]["folder"] == os.path.realpath(d.place) + "/data", "by its id, too", d.get("/api/sandboxes/" + one))
    ok(d.get("/api/sandboxes/0000000000000000")[0] == 404, "another id: 404")
    s = d.get("/api/security")[2]
    ok(s["users"] == [{"uid": os.getuid(), "sandboxes": len(listed)}] and one in {p["sandbox"] for p in s["processes"]} and all(os.path.exists(f"/proc/{p['pid']}") for p in s["processes"]),
       "users and processes are in /api/security", s)
    ok(until(lambda: any(r["session"] == one for r in records(d, "command.start"))), "its records are in the daemon's log")
    # The daemon is away while something happens.
    d.stop(signal.SIGKILL)
    p.stdin.write("\n")
    p.stdin.flush()
    ok(p.stdout.readline() == "tried\n", "without its daemon a run goes on")
    d.start()
    ok(until(lambda: any(b["id"] == one for b in d.get("/api/sandboxes")[2]["sandboxes"])), "and joins again when it is back")
    ok(until(lambda: any(r["session"] == one and r["decision"] == "denied" for r in records(d, "net.connect"))),
       "what happened meanwhile is in the log", records(d, "net.connect"))
    ok(d.get("/api/sandboxes/" + one, method="DELETE")[2]["stopping"], "it can be ended")
    ok(p.wait(PATIENCE) == 128 + signal.SIGKILL, "and is", p.returncode)
    ok(until(lambda: d.get("/api/sandboxes")[2]["sandboxes"] == []), "then it is not listed any more")
    p.stdin.close()
    p.stdout.close()
    e.close()
    d.settle()
    # Short ones, many at once: none is missing, and none is taken for a stranger.
    e = Events(d)
    e.next()
    ends = lambda: len({r["session"] for r in records(d, "command.end")})
    before = ends()
    many = [subprocess.Popen([CORRAL, "run", "--", "true"], env=d.env, cwd=d.place + "/data", stderr=subprocess.PIPE) for _ in range(30)]
    codes = [(m.wait(5 * PATIENCE), m.stderr.read(), m.stderr.close())[:2] for m in many]
    ok(codes == [(0, b"")] * 30, "short runs are as before", codes)
    ok(until(lambda: ends() == before + 30), "each of them is in the log", ends() - before)
    done = run(d, "--env", "TOKEN=sup3rs3cretvalue", "--", "echo", "sup3rs3cretvalue")
    ok(done.stdout == "sup3rs3cretvalue\n" and until(lambda: ends() == before + 31) and "sup3rs3cret" not in json.dumps(d.get("/api/audit?limit=1000")[2]), "a secret does not reach the daemon")
    d.status()
    kinds = set()
    while (event := e.next())["data"].get("request") != "GET /api/status":
        kinds.add((event["event"], (event["data"].get("finding") or {}).get("kind")))
    ok(("finding", "refused_peer") not in kinds and ("sandbox", None) in kinds, "and that was no finding", kinds)
    # One that ends before the daemon, which is stopped, has looked at it.
    d.process.send_signal(signal.SIGSTOP)
    ran = [run(d, "--", "true") for _ in range(2)]
    d.process.send_signal(signal.SIGCONT)
    ok([r.returncode for r in ran] == [0, 0] and until(lambda: ends() == before + 33), "runs that a daemon has no time for are in the log", ran, ends() - before)
    d.settle()
    found = [f for f in d.get("/api/security")[2]["findings"] if f["where"].startswith("join.sock")]
    ok(found == [], "and are no finding", found)
    # Strangers. One that connects and goes, while another one has the socket.
    d.process.send_signal(signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        maker = os.fork()
        if maker == 0:
            s.connect(d.folder + "/join.sock")
            os._exit(0)
        os.waitpid(maker, 0)
        d.process.send_signal(signal.SIGCONT)
        found = e.finding("refused_peer")["data"]["finding"]
        ok(found["where"] == f"join.sock, pid {maker}" and "has ended" in found["text"], "a connection that its maker left to another is refused", found)
    with subprocess.Popen(["setpriv", "--no-new-privs", CORRAL, "run", "--", "cat"], env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE) as p:
        found = e.finding("refused_peer")
        p.communicate(timeout=PATIENCE)
    ok(p.returncode == 0 and found["data"]["finding"]["where"].startswith("join.sock"), "a confined process cannot join, and runs all the same",
       (p.returncode, found))
    e.close()
    for data in (b"", b"x", b"x" * 5000, b"CRRL" + bytes(28)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(d.folder + "/join.sock")
            s.settimeout(PATIENCE)
            s.send(data)
            if data:
                ok(s.recv(100) == b"", "what is no frame is hung up on")
    ok(d.get("/api/sandboxes")[2]["sandboxes"] == [], "and the daemon goes on")
    d.stop()
    ok(run(d, "--", "true").returncode == 0, "without a daemon nothing changes")
    d.start()


def test_words(d):
    """corral ps, status, events."""
    def corral(*words, **more):
        return subprocess.run([CORRAL, *words], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)

    p = subprocess.Popen([CORRAL, "run", "--", "sleep", "600"], env=d.env, cwd=d.place + "/data")
    ok(until(lambda: str(p.pid) in corral("ps").stdout), "ps lists a run", corral("ps"))
    listed = json.loads(corral("ps", "--json").stdout)["sandboxes"]
    ok([b["pid"] for b in listed] == [p.pid], "the same for programs", listed)
    # All events of its beginning, and of the watcher's first look, have come: what is heard from then on is something else.
    until(lambda: any(r["session"] == listed[0]["id"] for r in records(d, "command.start")))
    until(lambda: (lambda s: s["checked_ms"] and s["verified_ms"])(d.get("/api/security")[2]))
    done = corral("status")
    ok(done.returncode == 0 and f"pid {d.process.pid}" in done.stdout and "sandboxes  1" in done.stdout, "status", done)
    ok(json.loads(corral("status", "--json").stdout)["pid"] == d.process.pid, "the same for programs")
    done = corral("events", "--json")
    kinds = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    ok(done.returncode == 0 and {"sandbox", "api_request"} <= set(kinds), "events ends with the latest", (done.stderr, kinds[-5:]))
    done = corral("events")
    ok(f"joined  {listed[0]['id']}  sleep  " in done.stdout and "api_request     200  GET /api/status" in done.stdout and "{" not in done.stdout,
       "the same for people", done.stdout[-2000:])
    with subprocess.Popen([CORRAL, "events", "-f", "--json"], env=d.env, stdout=subprocess.PIPE, text=True) as follow:
        ok(json.loads(follow.stdout.readline())["data"]["request"] == "GET /sse/events", "events -f begins with itself")
        p.kill()
        p.wait()
        for line in follow.stdout:
            event = json.loads(line)
            if event["event"] == "sandbox" and event["data"].get("state") == "left":
                break
        ok(event["data"]["sandbox"]["pid"] == p.pid, "and hears of an end")
        follow.kill()
    ok(until(lambda: corral("ps").stdout == "no sandbox runs\n"), "then nothing is listed")
    done = run(d, "--read", d.runtime + "/**", "--", CORRAL, "ps")
    ok(done.returncode != 0 and str(d.process.pid) not in done.stdout, "from inside there is no daemon", done)
    done = subprocess.run(["setpriv", "--no-new-privs", CORRAL, "status"], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.returncode == 2 and "outside of sandboxes" in done.stderr, "one that is confined hears why", done.stderr)
    d.stop()
    done = corral("status")
    ok(done.returncode == 2 and "start it with `corral dashboard`, or `" in done.stderr, "without a daemon: what to do", done.stderr)
    d.start()


def test_manager(d):
    d.stop()
    path = os.path.join(d.place, "notify")
    manager = Notify(path)
    d.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
    ok(until(lambda: manager.words) and manager.words[0] == b"READY=1", "the manager hears that it is ready", manager.words)
    ok(until(lambda: len(manager.words) > 1) and manager.words[1] == b"WATCHDOG=1", "and that it lives", manager.words)
    d.stop()
    ok(until(lambda: manager.words[-1] != b"WATCHDOG=1") and manager.words[-1] == b"STOPPING=1", "and that it stops", manager.words)
    listener, unix = socket.socket(), socket.socket(socket.AF_UNIX)
    listener.bind(("127.0.0.1", 0))
    unix.bind(d.place + "/given.sock")
    for s in (listener, unix):
        s.listen()

    # The manager puts them behind the first three and says so.
    passes = ("import os, sys\n[os.dup2(int(f), 100 + i) for i, f in enumerate(sys.argv[2:])]\n"
               "n = len(sys.argv) - 2\n[os.dup2(100 + i, 3 + i) for i in range(n)]\n"
               "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(n))\nos.execv(sys.argv[1], sys.argv[1:2])")

    def words(*more):
        fds = listener.fileno(), unix.fileno(), *more
        return {"args": [sys.executable, "-c", passes, CORRALD, *map(str, fds)], "pass_fds": fds, "env": d.env}

    with open(d.log, "a") as log:
        before = log.tell()
        d.process = subprocess.Popen(**words(), stderr=log)
    ok(until(lambda: "ready" in d.said(before)), "sockets of the manager are taken", d.said(before))
    d.port, d.given, d.token = listener.getsockname()[1], d.place + "/given.sock", open(d.folder + "/token").read().strip()
    ok(d.status()["port"] == d.port, "and the port is theirs")
    d.stop()
    other = socket.socket(socket.AF_INET6)
    other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        other.bind(("::1", d.port))
    except OSError:
        skip("both addresses of the manager", "kernel: no IPv6 on loopback, or the port is taken there")
    else:
        other.listen()
        with open(d.log, "a") as log:
            before = log.tell()
            d.process = subprocess.Popen(**words(other.fileno()), stderr=log)
        ok(until(lambda: "ready" in d.said(before)) and "cannot listen" not in d.said(before), "both addresses of the manager are taken, without a warning", d.said(before))
        d.stop()
    other.close()
    d.given = None
    ok(os.path.exists(d.place + "/given.sock"), "what was given stays")
    everywhere = socket.socket()
    everywhere.bind(("0.0.0.0", 0))
    everywhere.listen()
    listener.close()
    listener = everywhere
    done = subprocess.run(**words(), capture_output=True, text=True, timeout=PATIENCE)
    ok(done.returncode == 1 and "loopback" in done.stderr, "one that the whole network reaches is refused", done.stderr)
    everywhere.close()
    unix.close()


def test_config(d):
    d.stop()
    folder = d.place + "/config/corral"
    os.makedirs(folder, exist_ok=True)

    def write(name, text):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)

    write("daemon.json", '{"version": "1.0", "daemon": {"port": 0, "host": "localhost", "logLevel": "debug", "heartbeat": 1}}')
    d.start("--port", "0")
    config = d.get("/api/config")[2]
    ok(config["file"].endswith("daemon.json") and config["daemon"]["logLevel"] == "debug" and config["daemon"]["heartbeat"] == 1, "daemon.json is read", config)
    e = Events(d)
    e.next()
    began, line = time.monotonic(), ""
    while not line.startswith(":"):
        line = e.file.readline()
    ok(True, f"a heartbeat comes ({time.monotonic() - began:.1f} s)")
    e.close()
    d.stop()
    for text, what in (('{"daemon": {"prt": 1}}', ":1:13: unknown key `prt`"), ('{"daemon": {"host": "0.0.0.0"}}', "this machine alone"),
                       ('{"daemon": {"port": 65536}}', "must be a port"), ('{"daemon": {"logFile": "x"}}', "absolute path"), ("{", "daemon.json:1")):
        write("daemon.json", text)
        done = subprocess.run([CORRALD], env=d.env, capture_output=True, text=True, timeout=PATIENCE)
        ok(done.returncode == 2 and what in done.stderr, f"an error names the place: {what}", done.stderr)
    write("daemon.yaml", "daemon:\n  port: none\n")
    done = subprocess.run([CORRALD], env=d.env, capture_output=True, text=True, timeout=PATIENCE)
    ok(done.returncode == 2 and "both" in done.stderr, "two files are refused", done.stderr)
    os.unlink(folder + "/daemon.json")
    d.start("--config", folder + "/daemon.yaml")
    ok(d.get("/api/status", unix=True)[2]["port"] is None, "daemon.yaml: no port, the Unix socket alone")
    d.stop()
    os.unlink(folder + "/daemon.yaml")


def main():
    with beside_user(__file__):
        at_once((test_start, test_api, test_statuses, test_http, test_slow),
                (Daemon.start, test_events, test_crowds, test_deaths, test_agent, test_join, test_words, test_manager, test_config))
    return end()


if __name__ == "__main__":
    sys.exit(main())
