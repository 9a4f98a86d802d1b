#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another program takes the daemon's port while the daemon is away, and hears what an open tab of the page sends: there is
nothing in it that it could use. Then what a tab proves, bit by bit: requests that were made before, in another order, changed, or
for another daemon are refused; answers are proved, too. Both loopback addresses are held, other users are refused, wrong links void
nothing. As root, once more as an ordinary user. Prints TAP. What a browser does with it: tests/acceptance/dashboard."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from broker_tap import end, ok, skip
from daemon_tap import CORRAL, CORRALD, PATIENCE, Tab, at_once, beside_user, until, works

POLICY = {"policy": "fs:\n  read: [/srv/**]\n", "operation": "fs.read", "target": "/srv/x"}


class Thief(threading.Thread):
    """Listens where the daemon did, says yes to everything, and keeps what it hears."""

    def __init__(self, port, family=socket.AF_INET):
        super().__init__(daemon=True)
        self.s = socket.socket(family)
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.s.bind(("127.0.0.1" if family == socket.AF_INET else "::1", port))
        self.s.listen()
        self.port = self.s.getsockname()[1]
        self.heard = []
        self.start()

    def run(self):
        while True:
            try:
                peer, _ = self.s.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(PATIENCE)
                got = b""
                while b"\r\n\r\n" not in got and (piece := peer.recv(65536)):
                    got += piece
                head, _, body = got.partition(b"\r\n\r\n")
                length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
                while len(body) < length and (piece := peer.recv(65536)):
                    body += piece
                self.heard.append(head + b"\r\n\r\n" + body)
                peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCorral-Proof: ' + b"0" * 64 + b'\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')

    def close(self):
        # A thread in accept() is woken by this alone.
        self.s.shutdown(socket.SHUT_RDWR)
        self.s.close()
        self.join(PATIENCE)


def has_v6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


# By TCP in front of the answer, if the end of what a client sends is seen first.
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


def replay(port, request, host=None):
    """The status of what was heard, sent once more; to this host."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        if host:
            old = next(line for line in request.split(b"\r\n") if line.lower().startswith(b"host:"))
            request = request.replace(old, b"Host: " + host.encode())
        s.sendall(request)
        s.shutdown(socket.SHUT_WR)
        got = b""
        while piece := s.recv(65536):
            got += piece
    return int(got.removeprefix(INTERIM).split()[1])


def ask(tab):
    """What an open page sends of itself, and what a click sends."""
    answers = []
    for method, path, body in (("GET", "/sse/events", b""), ("GET", "/api/status", b""), ("POST", "/api/policies/check", json.dumps(POLICY).encode())):
        status, headers, text = tab.send(method, path, body, tab.proof(method, path, body))
        answers.append((status, tab.is_proved(status, headers, text)))
    return answers


def test_thief(d):
    d.start()
    port, token, host = d.port, d.token, d.host
    link = d.get("/api/login/code", method="POST")[2]
    tab = Tab(port, link["code"], host)
    ok(tab.login() == 200 and tab.get("/api/status")[1]["pid"] == d.process.pid, "a tab with the link is answered")
    spare = d.get("/api/login/code", method="POST")[2]["code"]
    d.stop()
    thief = Thief(port)
    ok(ask(tab) == [(200, False)] * 3 and len(thief.heard) == 3, "the daemon is away, and another program answers: the tab sees that it is not the daemon",
       thief.heard)
    late = Tab(port, spare, host)
    try:
        late.login()
        fooled = True
    except (AssertionError, KeyError):
        fooled = False
    ok(not fooled and len(thief.heard) == 4, "nor does a tab with a new link take it for the daemon")
    for name in ("status", "ps", "questions"):
        subprocess.run([CORRAL, name], env=d.env, capture_output=True, timeout=PATIENCE, check=False)
    ok(len(thief.heard) == 4, "`corral` does not ask there", thief.heard[4:])
    all_ = b"".join(thief.heard).decode()
    secrets = {"the token": token, "the link": link["code"], "the new link": spare, "the key": tab.key.hex()}
    ok(not [name for name, text in secrets.items() if text in all_] and "Bearer" not in all_, "neither token nor link nor key was sent", all_)
    # It has the port: the daemon takes another one, and says so.
    d.start("--port", str(port), expect_port=False)
    ok(d.port != port and f"another program listens on port {port}" in d.said(), "the daemon takes another port, and says so", d.port)
    codes = [replay(d.port, request) for request in thief.heard] + [replay(d.port, request, d.host) for request in thief.heard]
    ok(set(codes) <= {401, 403}, "what it heard is worth nothing there", codes)
    d.stop()
    thief.close()
    d.start("--port", str(port))
    codes = [replay(port, request, host) for host in (None, d.host) for request in thief.heard]
    ok(d.port == port and codes == [403] * 4 + [401] * 4, "nor at the old port, when the daemon is back", codes)
    ok(d.host != host and tab.send("GET", "/api/status", b"", tab.proof("GET", "/api/status"))[0] == 403, "the old tab has to ask for a link again")
    ok(d.get("/api/status", {"Authorization": "Bearer " + token})[0] == 401, "and the old token is none")
    ok(d.tab().get("/api/status")[0] == 200, "a new link makes a new tab")


def test_names(d):
    """What a browser keeps for an address may be of another program that had the port: the page is at a name that it could not know."""
    first = d.host
    label = first.split(".")[0]
    ok(first == f"{label}.localhost:{d.port}" and len(label) == 32 and int(label, 16), "the page has a name of its own", first)
    names = ("127.0.0.1", "localhost", "[::1]", "x.localhost", "0" * 32 + ".localhost", "x." + label + ".localhost", label)
    for path in ("/", "/app.js", "/api/health", "/api/status"):
        codes = {name: d.get(path, {"Host": f"{name}:{d.port}"}, unix=False)[0] for name in names}
        ok(set(codes.values()) == {403}, f"{path}: no other name is taken", codes)
    answer = d.get("/", {"Host": f"127.0.0.1:{d.port}"}, unix=False)
    ok("corral dashboard" in answer[2]["error"], "and what to do is said", answer[2])
    ok([d.get(path, {}, unix=False)[0] for path in ("/", "/api/health")] == [200, 200], "that name is")
    ok(d.get("/api/health", {"Origin": f"http://127.0.0.1:{d.port}"}, unix=False)[0] == 403, "a page at the address may not call")
    port = d.port
    d.stop()
    d.start("--port", str(port))
    ok(d.host != first and d.get("/", {"Host": first}, unix=False)[0] == 403, "the next start has another name at the same port", first, d.host)


def test_proof(d):
    tab = d.tab()
    body = json.dumps(POLICY).encode()
    path = "/api/policies/check"
    proof = tab.proof("POST", path, body)
    status, headers, text = tab.send("POST", path, body, proof)
    ok(status == 200 and json.loads(text)["verdict"] == "allow" and tab.is_proved(status, headers, text), "a call is answered, and the answer is proved", status, text)
    ok(tab.send("POST", path, body, proof)[0] == 401, "the same again is refused")
    changed = body.replace(b"/srv/x", b"/srv/y")
    ok(tab.send("POST", path, changed, tab.proof("POST", path, body))[0] == 401, "another body is refused")
    rows = {"another method": ("PUT", "/api/config", tab.proof("GET", "/api/config")), "another path": ("GET", "/api/config", tab.proof("GET", "/api/status")),
            "another query": ("GET", "/api/audit?limit=2", tab.proof("GET", "/api/audit?limit=1")),
            "more of a query": ("GET", "/api/audit?limit=1", tab.proof("GET", "/api/audit")),
            "another server": ("GET", "/api/status", tab.proof("GET", "/api/status", host=f"127.0.0.1:{tab.port + 1}")),
            "another name of it": ("GET", "/api/status", tab.proof("GET", "/api/status", host=f"localhost:{tab.port}")),
            "a later count": ("GET", "/api/status", tab.proof("GET", "/api/status").replace(f":{tab.count}:", f":{tab.count + 1}:")),
            "no proof": ("GET", "/api/status", None), "an empty one": ("GET", "/api/status", "Corral "), "the tab alone": ("GET", "/api/status", "Corral " + tab.id)}
    for name, (method, where, proof) in rows.items():
        ok(tab.send(method, where, b"", proof)[0] == 401, f"{name}: refused")
    # As a browser has it: several connections, and what was made first comes last.
    proofs = [tab.proof("GET", "/api/status") for _ in range(5)]
    ok([tab.send("GET", "/api/status", b"", p)[0] for p in reversed(proofs)] == [200] * 5, "another order is taken")
    ok([tab.send("GET", "/api/status", b"", p)[0] for p in proofs] == [401] * 5, "each of them once")
    held = tab.proof("GET", "/api/status")
    tab.count += 300
    ok(tab.get("/api/status")[0] == 200 and tab.send("GET", "/api/status", b"", held)[0] == 401, "one that comes far too late is not taken")
    other = d.tab()
    mixed = other.proof("GET", "/api/status").replace(other.id, tab.id)
    ok(other.send("GET", "/api/status", b"", mixed)[0] == 401 and tab.get("/api/status")[0] == other.get("/api/status")[0] == 200, "each tab has a key of its own")
    status, headers, _ = tab.send("GET", "/sse/events", b"", None)
    ok(status == 401 and "Bearer" not in headers["WWW-Authenticate"], "events need it, too")


def test_reader_again(d):
    """corrald-http dies: the daemon is the same, but counts begin anew."""
    tab = d.tab()
    proof = tab.proof("GET", "/api/status")
    ok(tab.send("GET", "/api/status", b"", proof)[0] == 200, "a tab asks")
    child = int(subprocess.run(["pgrep", "-P", str(d.process.pid), "-f", "corrald-http"], capture_output=True, text=True, check=False).stdout.split()[0])
    os.kill(child, signal.SIGKILL)
    assert until(lambda: works(d))
    status, headers, _ = tab.send("GET", "/api/status", b"", proof)
    ok(status == 401 and headers["Corral-Start"] != tab.start, "what was asked before is not taken by the next reader of HTTP, which has a name of its own")
    tab.start = headers["Corral-Start"]
    ok(tab.get("/api/status")[0] == 200, "with that name the tab goes on")


def test_addresses(d):
    if not has_v6():
        skip("::1", "kernel: no IPv6 on loopback")
        return
    c = http.client.HTTPConnection("::1", d.port, timeout=PATIENCE)
    c.request("GET", "/api/health", headers={"Host": d.host})
    ok(c.getresponse().status == 200, "[::1] is the daemon's, too")
    c.close()
    d.stop()
    # Another program has one of the two.
    thief = Thief(0, socket.AF_INET6)
    d.start("--port", str(thief.port), expect_port=False)
    ok(d.port != thief.port, "[::1] is another program's: the daemon takes another port for both")
    thief.close()


def test_users(d):
    if os.geteuid() != 0:
        skip("another user", "kernel: needs root")
        return
    code = f"import http.client\nc = http.client.HTTPConnection('127.0.0.1', {d.port}, timeout={PATIENCE})\nc.request('GET', '/api/health')\nr = c.getresponse()\nprint(r.status, r.read())"
    # The daemon is root's, whose files others cannot read: an own interpreter is.
    done = subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "/usr/bin/python3", "-c", code],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.stdout.startswith("403 ") and "another user" in done.stdout, "another user's connection is refused", done.stdout, done.stderr)
    reasons = lambda: {r["reason"] for r in d.get("/api/audit?limit=1000&decision=denied")[2]["records"]}
    ok(until(lambda: any("another user" in r for r in reasons())), "which is in the log", reasons())
    tab = d.tab()
    ok(tab.get("/api/security")[1]["findings"] == [f for f in tab.get("/api/security")[1]["findings"] if f["kind"] != "refused_peer"], "and is no finding: all users can do it")


def test_links(d):
    """Wrong links void nothing, however many there are."""
    records = lambda: [r for r in d.get("/api/audit?limit=1000&decision=denied")[2]["records"] if r["target"] == "POST /api/login"]
    before = sum(r["count"] for r in records())
    host, begun = d.host, time.monotonic()
    code = d.get("/api/login/code", method="POST")[2]["code"]
    wrong = [Tab(d.port, os.urandom(32).hex(), host).login() for _ in range(500)]
    seconds = time.monotonic() - begun
    ok(set(wrong) <= {401, 429} and 401 in wrong, "500 wrong links are refused", set(wrong))
    good = Tab(d.port, code, host)
    ok(good.login() == 200, "the right one is taken after that")
    ok(Tab(d.port, code, host).login() == 401, "once")
    ok(until(lambda: sum(r["count"] for r in records()) == before + wrong.count(401) + 1), "all wrong links are in the log", [r["count"] for r in records()])
    ok(len(records()) <= 21 * (seconds + 2) + before, "20 in a second one by one, the others together", len(records()), seconds)


def test_half_closed(d):
    """A client that has said all closes its half; it is answered."""
    body = json.dumps(POLICY)
    for unix in (True, False):
        host = "localhost" if unix else d.host
        proof = f"Bearer {d.token}" if unix else d.tab().proof("POST", "/api/policies/check", body.encode())
        with d.connect(unix) as s:
            s.sendall(f"POST /api/policies/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: {proof}\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            s.shutdown(socket.SHUT_WR)
            got = b""
            while piece := s.recv(65536):
                got += piece
        got = got if unix else got.removeprefix(INTERIM)
        ok(got.startswith(b"HTTP/1.1 200 OK") and b'"allow"' in got, "a half-closed POST is answered, " + ("on the Unix socket" if unix else "by TCP"), got)


def test_stopped(d):
    """A daemon that is stopped does not stop those who ask."""
    d.process.send_signal(signal.SIGSTOP)
    try:
        done = subprocess.run([CORRAL, "status"], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        ok(done.returncode == 2 and f"the daemon (pid {d.process.pid}) did not answer: it is stopped (state T)" in done.stderr and f"kill -CONT {d.process.pid}" in done.stderr,
           "`corral status` ends, and says what to do", done.stderr)
        # So many that no more can connect.
        waiting = []
        try:
            while len(waiting) < 10000:
                s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                waiting.append(s)
                s.connect(d.folder + "/api.sock")
        except BlockingIOError:
            pass
        done = subprocess.run([CORRAL, "status"], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        ok(done.returncode == 2 and f"(pid {d.process.pid}) did not answer: it is stopped" in done.stderr, "also if it has no room for us", len(waiting), done.stderr)
        for s in waiting:
            s.close()
    finally:
        d.process.send_signal(signal.SIGCONT)
    ok(until(lambda: works(d)), "the daemon goes on")


def test_fifos(d):
    """What should be a file and is a pipe is refused at once."""
    os.unlink(d.folder + "/token")
    os.mkfifo(d.folder + "/token", 0o600)
    done = subprocess.run([CORRAL, "status"], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.returncode == 2 and "token: it is not a regular file" in done.stderr, "a pipe in place of the token", done.stderr)
    d.stop()
    folder = d.place + "/config/corral"
    os.makedirs(folder, exist_ok=True)
    os.mkfifo(folder + "/daemon.json")
    done = subprocess.run([CORRALD], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.returncode == 2 and "daemon.json: it is not a regular file" in done.stderr, "a pipe in place of the configuration", done.stderr)
    os.unlink(folder + "/daemon.json")
    os.symlink(folder + "/nowhere", folder + "/daemon.json")
    done = subprocess.run([CORRALD], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.returncode == 2 and "cannot read" in done.stderr and "daemon.json" in done.stderr, "a link that leads nowhere in its place", done.stderr)
    os.unlink(folder + "/daemon.json")
    os.mkfifo(d.place + "/pipe")
    with open(folder + "/daemon.json", "w") as f:
        json.dump({"daemon": {"logFile": d.place + "/pipe"}}, f)
    done = subprocess.run([CORRALD], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.returncode == 1 and "it is not a regular file" in done.stderr, "a pipe in place of its log file", done.returncode, done.stderr)
    os.unlink(folder + "/daemon.json")


def test_foreign_folder(d):
    """Others may listen in a folder that they can write to: neither token nor events are sent there."""
    os.chmod(d.folder, 0o770)
    done = subprocess.run([CORRAL, "status"], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    ok(done.returncode == 2 and "is not asked" in done.stderr, "`corral status` does not ask in a folder that others may write to", done.stderr)
    os.mkdir(d.place + "/work")
    done = subprocess.run([CORRAL, "run", "--", "/bin/true"], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=d.place + "/work")
    ok(done.returncode == 0 and "does not join the daemon" in done.stderr, "and a run does not join", done.returncode, done.stderr)
    os.chmod(d.folder, 0o700)
    ok(works(d), "the daemon is asked when the folder is its owner's alone")


def test_gone(d):
    """A client that has gone before it was looked at is no finding."""
    d.start()
    d.process.send_signal(signal.SIGSTOP)
    code = ("import socket, sys\nfor _ in range(20):\n s = socket.socket(socket.AF_UNIX)\n s.connect(sys.argv[1])\n"
            " s.sendall(b'GET /api/status HTTP/1.1\\r\\n\\r\\n')\n s.close()")
    subprocess.run([sys.executable, "-c", code, d.api], timeout=PATIENCE, check=True)
    d.process.send_signal(signal.SIGCONT)
    assert until(lambda: works(d))
    findings = d.get("/api/security")[2]["findings"]
    ok(not [f for f in findings if f["kind"] == "refused_peer"], "clients that disconnected are no finding", findings)


def main():
    with beside_user(__file__):
        at_once((test_thief, test_names, test_proof, test_links, test_reader_again, test_half_closed, test_users, test_addresses),
                (test_gone, test_stopped, test_foreign_folder, test_fifos))
    return end()


if __name__ == "__main__":
    sys.exit(main())
