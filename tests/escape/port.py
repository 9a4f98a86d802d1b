# SPDX-License-Identifier: Apache-2.0
"""The server of the escape suite's set `port`, and its clients.

    port.py bare CANARY     a server whose clients send the canary as a token, on 127.0.0.1 alone
    port.py inside          a daemon with an open tab of its page, and a link that was not opened yet

Prints the port. Then a line on standard input is done, and answered by a line:

    down          the server goes away
    ask           its clients ask what is at the port now, and then connect without a word
    back FILE…    the server is back, and gets the requests in these files once more: their statuses
"""

import http.client
import http.server
import os
import re
import socket
import sys
import threading

# In the suite's own folder, and in that of copies.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
PATIENCE = 60
ASKED = (("GET", "/api/status", b""), ("POST", "/api/policies/check", b"{}"))


class Bare:
    def __init__(self, canary):
        self.token, self.port, self.host = f"Bearer {canary}", 0, None
        self.start()

    def start(self):
        token = self.token

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.headers["Authorization"] == token else 401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Answer)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def down(self):
        self.server.shutdown()
        self.server.server_close()

    def ask(self):
        for method, path, body in ASKED:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            c.request(method, path, body, {"Authorization": self.token})
            c.getresponse().read()

    def end(self):
        self.server.server_close()


class Inside:
    """Tabs are those of the daemon's tests, which do what the page does."""

    def __init__(self):
        from daemon_tap import Daemon, Tab
        self.daemon, self.make = Daemon(), Tab
        self.daemon.start()
        self.port = self.daemon.port
        self.tab = self.daemon.tab()
        self.unopened = self.daemon.get("/api/login/code", method="POST")[2]["code"]
        self.old = self.daemon.host

    @property
    def host(self):
        return self.daemon.host

    def down(self):
        self.daemon.stop()

    def ask(self):
        for method, path, body in ASKED:
            self.tab.send(method, path, body, self.tab.proof(method, path, body))
        try:
            self.make(self.port, self.unopened, self.old).login()
        except KeyError:
            pass  # what answers is no daemon

    def start(self):
        self.daemon.start("--port", str(self.port))
        assert self.daemon.tab().get("/api/status")[0] == 200, "a tab of the new daemon is refused"

    def end(self):
        self.daemon.end()


def replay(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        s.sendall(request)
        s.shutdown(socket.SHUT_WR)
        got = b""
        while piece := s.recv(65536):
            got += piece
    # The last: to one that is half-closed an interim answer comes first.
    statuses = re.findall(rb"HTTP/1\.[01] (\d{3}) ", got)
    return statuses[-1].decode() if statuses else "none"


def replay_all(server, files):
    """As they came, and for the name that the server has now."""
    statuses = []
    for name in files:
        with open(name, "rb") as file:
            request = file.read()
        statuses.append(replay(server.port, request))
        if server.host:
            lines = [b"Host: " + server.host.encode() if line.lower().startswith(b"host:") else line for line in request.split(b"\r\n")]
            statuses.append(replay(server.port, b"\r\n".join(lines)))
    return statuses


def main():
    server = Bare(sys.argv[2]) if sys.argv[1] == "bare" else Inside()
    try:
        print(server.port, flush=True)
        for line in sys.stdin:
            word, *files = line.split()
            statuses = []
            if word == "down":
                server.down()
            elif word == "ask":
                server.ask()
                socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
            else:
                server.start()
                statuses = replay_all(server, files)
            print(word, *statuses, flush=True)
    finally:
        server.end()


main()
