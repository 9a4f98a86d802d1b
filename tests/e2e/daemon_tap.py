# SPDX-License-Identifier: Apache-2.0
"""What the daemon's tests share: a corrald with folders of its own, and a client of its events."""

import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import broker_tap

PROGRAMS = ("CORRAL", "CORRALD", "CORRALD_HTTP", "CORRALD_ENCLAVE", "LEAVING_HTTP", "REPEATING_HTTP")
CORRAL, CORRALD = (os.path.abspath(os.environ[name]) for name in ("CORRAL", "CORRALD"))
# What ends with time: a client that looks for the daemon can have its port as its own for a moment, and the instances of inotify
# are counted for all programs of a user.
PASSING = ("already in use", "Too many open files")
UNWATCHED = "fs.inotify.max_user_"
PATIENCE = 60  # for what takes a moment, on a machine with other things to do


def until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


class Daemon:
    """A daemon with folders of its own."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix="cd-")
        self.runtime = os.path.join(self.place, "run")
        os.mkdir(self.runtime, 0o700)
        self.folder = os.path.join(self.runtime, "corral")
        self.given = None  # a Unix socket in place of its own
        self.log = os.path.join(self.place, "log")
        self.env = {**os.environ, "HOME": self.place, "XDG_RUNTIME_DIR": self.runtime, "XDG_STATE_HOME": self.place + "/state",
                    "XDG_CONFIG_HOME": self.place + "/config", "CORRAL_PROGRAM": CORRAL}
        for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC", "JOURNAL_STREAM"):
            self.env.pop(name, None)
        self.missed = self.place + "/state/corral/missed"
        self.process = None
        self.named = None  # (pid, the page's host and port)
        self.needs_inotify = True

    def start(self, *words, env=None, expect=True, expect_port=True, **more):
        wanted = int(words[1]) if words[:1] == ("--port",) and words[1].isdigit() and expect_port else 0
        for left in reversed(range(50)):
            with open(self.log, "a") as log:
                before = log.tell()
                self.process = subprocess.Popen([CORRALD, *(words or ("--port", "0"))], env={**self.env, **(env or {})}, stderr=log, **more)
            if not expect:
                return self.process.wait(PATIENCE)
            assert until(lambda: any(text in self.said(before) for text in ("ready: ", *PASSING))), self.said(before)
            # Said before it is ready.
            text = self.said(before)
            if "ready: " in text and not (left and (self.needs_inotify and UNWATCHED in text or wanted and f":{wanted} " not in text)):
                break
            self.stop()
            time.sleep(0.1)
        text = self.said(before)
        self.port = int(text.split("127.0.0.1:")[1].split()[0]) if "127.0.0.1:" in text else None
        self.token = open(self.folder + "/token").read().strip()
        return None

    @property
    def api(self):
        return self.given or self.folder + "/api.sock"

    @property
    def host(self):
        """Of the page: a name for this start, and the port. Makes a link when it is first asked for."""
        if not self.named or self.named[0] != self.process.pid:
            self.named = self.process.pid, self.get("/api/login/code", method="POST")[2]["url"].split("/")[2]
        return self.named[1]

    def said(self, since=0):
        with open(self.log) as log:
            log.seek(since)
            return log.read()

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)

    def end(self):
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.place, ignore_errors=True)

    def headers(self):
        return {"Authorization": "Bearer " + self.token}

    def get(self, path, headers=None, method="GET", body=None, unix=True):
        """(status, headers, what the body says); by TCP only a Tab gets more than a refusal."""
        c = http.client.HTTPConnection("127.0.0.1" if not unix else "localhost", self.port if not unix else 80, timeout=PATIENCE)
        if unix:
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.settimeout(PATIENCE)
            c.sock.connect(self.api)
        headers = dict(self.headers() if headers is None else headers)
        if not unix:
            headers.setdefault("Host", self.host)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        c.request(method, path, body, headers)
        r = c.getresponse()
        text = r.read()
        c.close()
        try:
            return r.status, r.headers, json.loads(text)
        except ValueError:
            return r.status, r.headers, text

    def connect(self, unix=True):
        if not unix:
            return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE)
        s.connect(self.api)
        return s

    def raw(self, data, unix=False):
        """Everything that is answered to these bytes until the daemon closes the connection."""
        with self.connect(unix) as s:
            s.sendall(data)
            out = b""
            try:
                while piece := s.recv(65536):
                    out += piece
            except (TimeoutError, ConnectionResetError):
                pass
            return out

    def status(self):
        return self.get("/api/status")[2]

    def tab(self):
        """A tab of the page that has logged in."""
        host = self.host
        tab = Tab(self.port, self.get("/api/login/code", method="POST")[2]["code"], host)
        assert tab.login() == 200
        return tab

    def settle(self):
        """All of the runs that have ended is in the log. None waits for long until the daemon has committed its events: it leaves them
        as a file, which is there until they are."""
        settled = until(lambda: os.listdir(self.missed) == [] and self.get("/api/sandboxes")[2]["sandboxes"] == [])
        assert settled, (os.listdir(self.missed), self.get("/api/sandboxes")[2])


class Tab:
    """A tab of the page, by TCP: it knows a link's secret, and proves what it asks (src/daemon/proof.h)."""

    def __init__(self, port, secret, host):
        self.port, self.secret, self.count = port, bytes.fromhex(secret), 0
        self.host = host
        self.lock = threading.Lock()

    @staticmethod
    def mac(key, *lines):
        return hmac.new(key, "\n".join(map(str, lines)).encode(), "sha256")

    def login(self):
        """The status; with 200 the daemon has proved that it knows the secret, too."""
        nonce = os.urandom(16).hex()
        body = json.dumps({"nonce": nonce, "proof": self.mac(self.secret, "corral-login-1", nonce).hexdigest()})
        status, _, text = self.send("POST", "/api/login", body.encode(), None)
        if status == 200:
            said = json.loads(text)
            self.id, self.start = said["tab"], said["start"]
            assert said["proof"] == self.mac(self.secret, "corral-daemon-1", nonce, self.id, self.start).hexdigest(), "it is not the daemon"
            self.key = self.mac(self.secret, "corral-tab-1", nonce, self.id).digest()
        return status

    def proof(self, method, path, body=b"", count=None, host=None):
        """The value of Authorization."""
        if count is None:
            with self.lock:
                self.count += 1
                count = self.count
        name, _, query = path.partition("?")
        digest = hashlib.sha256(body).hexdigest()
        mac = self.mac(self.key, "corral-request-1", self.start, self.id, count, method, host or self.host, name, query, digest).hexdigest()
        return f"Corral {self.id}:{count}:{digest}:{mac}"

    def is_proved(self, status, headers, text, count=None):
        digest = hashlib.sha256(text).hexdigest()
        return headers["Corral-Proof"] == self.mac(self.key, "corral-answer-1", self.start, self.id, count or self.count, status, digest).hexdigest()

    def send(self, method, path, body, proof, **more):
        """(status, headers, bytes)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Host": self.host, **({"Authorization": proof} if proof else {}), **({"Content-Type": "application/json"} if body else {}), **more}
        c.request(method, path, body or None, headers)
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, r.headers, text

    def get(self, path, method="GET", body=None):
        """(status, what the body says); the answer is proved."""
        body = json.dumps(body).encode() if body is not None else b""
        status, headers, text = self.send(method, path, body, self.proof(method, path, body))
        assert status == 401 or path == "/api/health" or self.is_proved(status, headers, text), (status, dict(headers), text)
        return status, json.loads(text)


class Bridge:
    """A port that leads to the daemon's Unix socket, for clients that know TCP alone."""

    def __init__(self, daemon):
        self.daemon, self.s = daemon, socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.s.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.s.accept()[0]
            except OSError:
                return
            try:
                server = self.daemon.connect()
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    @staticmethod
    def copy(a, b):
        try:
            while piece := a.recv(65536):
                b.sendall(piece)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.s.close()


class Notify(threading.Thread):
    """A service manager: what is sent to its socket. It reads all the time, because what finds no room is lost."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.words = []
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.s.bind(path)
        self.start()

    def run(self):
        while word := self.s.recv(4096):
            self.words.append(word)


class Events:
    """A client of /sse/events."""

    def __init__(self, daemon, last=None):
        self.s = daemon.connect()
        more = f"Last-Event-ID: {last}\r\n" if last else ""
        self.s.sendall(f"GET /sse/events HTTP/1.1\r\nHost: localhost\r\n{more}Authorization: Bearer {daemon.token}\r\n\r\n".encode())
        self.file = self.s.makefile()
        self.head = []
        while line := self.file.readline().strip():
            self.head.append(line)

    def next(self, kind=None):
        """The next event: {"id", "event", "data"}; of this kind."""
        event = {}
        for line in self.file:
            line = line.rstrip("\n")
            if not line and "event" in event:
                if kind in (None, event["event"]):
                    event["data"] = json.loads(event["data"])
                    return event
                event = {}
            elif line and not line.startswith(":"):
                key, _, value = line.partition(": ")
                event[key] = value
        return None

    def finding(self, kind):
        """The next finding of this kind: the watcher may have others."""
        while event := self.next("finding"):
            if event["data"]["finding"]["kind"] == kind and event["data"]["state"] == "found":
                return event
        return None

    def hears(self, request):
        while event := self.next("api_request"):
            if event["data"]["request"] == request:
                return event
        return None

    def close(self):
        self.s.close()


def works(d):
    try:
        return d.get("/api/health", {})[0] == 200
    except OSError:
        return False


def in_folders(tests, d):
    try:
        for test in tests:
            test(d)
    finally:
        d.end()


def at_once(*parts):
    """Tests of each part one after the other, with a daemon of their own; the parts at the same time."""
    broker_tap.at_once(*[lambda tests=tests: in_folders(tests, Daemon()) for tests in parts])


def as_user(script):
    """All of it once more, as an ordinary user."""
    broker_tap.as_user(script, PROGRAMS, DAEMON_TAP=__file__)


def beside_user(script):
    """The same, beside a block."""
    return broker_tap.beside_user(script, PROGRAMS, DAEMON_TAP=__file__)
