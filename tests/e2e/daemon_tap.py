# SPDX-License-Identifier: Apache-2.0
"""What the daemon's tests share: a corrald with folders of its own, and a client of its events."""

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
        self.log = os.path.join(self.place, "log")
        self.env = {**os.environ, "HOME": self.place, "XDG_RUNTIME_DIR": self.runtime, "XDG_STATE_HOME": self.place + "/state",
                    "XDG_CONFIG_HOME": self.place + "/config", "CORRAL_PROGRAM": CORRAL}
        for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC", "JOURNAL_STREAM"):
            self.env.pop(name, None)
        self.missed = self.place + "/state/corral/missed"
        self.process = None
        self.needs_inotify = True

    def start(self, *words, env=None, expect=True, **more):
        for left in reversed(range(50)):
            with open(self.log, "a") as log:
                before = log.tell()
                self.process = subprocess.Popen([CORRALD, *(words or ("--port", "0"))], env={**self.env, **(env or {})}, stderr=log, **more)
            if not expect:
                return self.process.wait(PATIENCE)
            assert until(lambda: any(text in self.said(before) for text in ("ready: ", *PASSING))), self.said(before)
            # Said before it is ready.
            if "ready: " in self.said(before) and not (left and self.needs_inotify and UNWATCHED in self.said(before)):
                break
            self.stop()
            time.sleep(0.1)
        text = self.said(before)
        self.port = int(text.split("127.0.0.1:")[1].split()[0]) if "127.0.0.1:" in text else None
        self.token = open(self.folder + "/token").read().strip()
        return None

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

    def get(self, path, headers=None, method="GET", body=None, unix=False):
        """(status, headers, what the body says)"""
        c = http.client.HTTPConnection("127.0.0.1" if not unix else "localhost", self.port or 80, timeout=PATIENCE)
        if unix:
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.settimeout(PATIENCE)
            c.sock.connect(self.folder + "/api.sock")
        headers = dict(self.headers() if headers is None else headers)
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

    def raw(self, data):
        """Everything that is answered to these bytes until the daemon closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as s:
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

    def settle(self):
        """All of the runs that have ended is in the log. None waits for long until the daemon has committed its events: it leaves them
        as a file, which is there until they are."""
        settled = until(lambda: os.listdir(self.missed) == [] and self.get("/api/sandboxes")[2]["sandboxes"] == [])
        assert settled, (os.listdir(self.missed), self.get("/api/sandboxes")[2])


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
        self.s = socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE)
        more = f"Last-Event-ID: {last}\r\n" if last else ""
        self.s.sendall(f"GET /sse/events HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n{more}"
                       f"Authorization: Bearer {daemon.token}\r\n\r\n".encode())
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
