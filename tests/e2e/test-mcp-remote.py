#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp remote` and `url:` of a gateway: servers over HTTP, good ones and hostile ones, and a token that is never inside. As root, once more as
an ordinary user. Prints TAP."""

import contextlib
import gzip
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import broker_tap  # noqa: E402
import mcp_peer  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_MCP_REMOTE", "CORRAL_VAULT", "CORRAL_INJECT")
CORRAL = os.path.abspath(os.environ["CORRAL"])
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"}}
HUGE = 100 << 20
TOOLS = [{"name": "good", "description": "A tool.", "inputSchema": {"type": "object"}}]


class Handler(http.server.BaseHTTPRequestHandler):
    """A server of both eras. A call of the tool NAME is answered as answer_NAME does."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        message = json.loads(body)
        sent = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self.server.seen.append((self.path, sent, message))
        name = message.get("params", {}).get("name", "") if message.get("method") == "tools/call" else ""
        if self.path == "/moved":
            self.send(b"", 307, Location="/mcp")
        elif self.path == "/closed":
            self.send(b"", 401, WWW_Authenticate="Bearer")
        elif message.get("method") != "initialize" and sent.get("mcp-session-id") and sent["mcp-session-id"] not in self.server.sessions:
            self.send(b"", 404)
        elif "id" not in message or "method" not in message:
            self.send(b"", 202)
        elif message["method"] == "initialize":
            self.initialize(message)
        else:
            with contextlib.suppress(OSError):
                getattr(self, "answer_" + name.replace("-", "_"), self.answer_good)(message, sent)

    def do_GET(self):
        sent = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self.server.gets.append(sent)
        if "last-event-id" in sent and self.server.resumed:
            self.stream(f"data: {json.dumps(self.server.resumed)}\n\n")
        elif self.server.announces:
            self.stream('id: g\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"by itself"}}\n\n', ends=False)
            self.server.ending.wait(60)
            self.close_connection = True
        else:
            self.send(b"", 405)

    def do_DELETE(self):
        self.server.sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.server.deleted.set()
        self.send(b"")

    def send(self, body, status=200, **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, message, **headers):
        self.send(json.dumps(message).encode(), Content_Type="application/json", **headers)

    def stream(self, text, ends=True):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text.encode())
        self.wfile.flush()
        self.close_connection = ends

    def initialize(self, message):
        if self.server.is_modern:
            self.send_json({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no initialize here"}})
            return
        self.server.last += 1
        session = f"session-{self.server.last}"
        self.server.sessions.add(session)
        self.send_json({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                                                                       "serverInfo": {"name": "remote", "version": "1"}}}, Mcp_Session_Id=session)

    def result(self, message, text="fine"):
        return {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": text}]}}

    def answer_good(self, message, sent):
        if message["method"] == "tools/list":
            self.send_json({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}})
        elif message["method"] == "server/discover":
            self.send_json({"jsonrpc": "2.0", "id": message["id"], "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": "r", "version": "1"}}})
        else:
            self.stream(f"data: {json.dumps(self.result(message))}\n\n")

    def answer_echo(self, message, sent):
        self.send_json(self.result(message, "got " + sent.get("authorization", "nothing")))

    def answer_progress(self, message, sent):
        self.stream("".join(f'data: {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{i}}}}}\n\n' for i in range(3)) +
                    f"data: {json.dumps(self.result(message))}\n\n")

    def answer_huge(self, message, sent):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(HUGE))
        self.end_headers()
        self.fill()

    def answer_huge_event(self, message, sent):
        self.stream("data: ", ends=False)
        self.fill()
        self.wfile.write(f"\n\ndata: {json.dumps(self.result(message, 'behind it'))}\n\n".encode())
        self.close_connection = True

    def fill(self):
        for _ in range(HUGE >> 20):
            self.wfile.write(b" " * (1 << 20))

    def answer_endless_head(self, message, sent):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for i in range(100000):
            self.wfile.write(b"X-%d: %s\r\n" % (i, b"x" * 1000))

    def answer_never(self, message, sent):
        self.server.ending.wait(60)
        self.close_connection = True

    def answer_half_event(self, message, sent):
        self.stream(f"data: {json.dumps(self.result(message))}\n")

    def answer_dies(self, message, sent):
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc":')
        self.close_connection = True

    def answer_resumed(self, message, sent):
        self.server.resumed = self.result(message, "went on")
        self.stream("id: here\nretry: 100\ndata:\n\n")

    def answer_flood(self, message, sent):
        self.stream("", ends=False)
        while not self.server.ending.is_set():
            self.wfile.write(b'data: {"jsonrpc":"2.0","id":77,"result":{}}\n\n: comment\n\ndata: nonsense\n\n' * 1000)

    def answer_redirect(self, message, sent):
        self.send(b"", 307, Location=self.server.elsewhere)

    def answer_found(self, message, sent):
        self.send(b"", 302, Location=self.server.elsewhere)

    def answer_other_id(self, message, sent):
        self.send_json({**self.result(message), "id": message["id"] + 1})

    def answer_html(self, message, sent):
        self.send(b"<html>sign in</html>", Content_Type="text/html")

    def answer_gzip(self, message, sent):
        self.send(gzip.compress(b" " * (10 << 20)), Content_Type="application/json", Content_Encoding="gzip")

    def answer_forget(self, message, sent):
        self.server.sessions.clear()
        self.send_json(self.result(message))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, certificate=None, **more):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.gets, self.sessions, self.last = [], [], set(), 0
        self.lock, self.ending, self.deleted = threading.Lock(), threading.Event(), threading.Event()
        self.resumed, self.announces, self.is_modern, self.elsewhere = None, False, False, ""
        self.__dict__.update(more)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.place = f"127.0.0.1:{self.server_port}"
        self.url = f"http{'s' if certificate else ''}://{self.place}/mcp"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.ending.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass


@contextlib.contextmanager
def serving(*words, **more):
    server = Server(*words, **more)
    try:
        yield server
    finally:
        server.stop()


class Place:
    def __init__(self, scratch):
        self.path = pathlib.Path(scratch).resolve()
        (self.path / "work").mkdir()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"), "XDG_CONFIG_HOME": str(self.path / "config"),
                    "XDG_RUNTIME_DIR": str(self.path / "run"), "XDG_CACHE_HOME": str(self.path / "cache"), "LC_ALL": "C.UTF-8", "CORRAL_AUDIT": "none",
                    **{name: os.path.abspath(os.environ[name]) for name in PROGRAMS if os.environ.get(name)}}

    def corral(self, *words, text=""):
        return subprocess.run([CORRAL, *words], input=text, capture_output=True, text=True, errors="replace", cwd=self.path / "work", env=self.env,
                              timeout=120, check=False)

    def client(self, *words, version="2025-11-25"):
        client = mcp_peer.Client([CORRAL, "mcp", *words], cwd=self.path / "work", env=self.env)
        if version:
            client.initialized = client.initialize(version)
        return client


def text(answer):
    return "".join(item.get("text", "") for item in answer.get("result", {}).get("content", [])) if answer else ""


def error(answer):
    return answer.get("error", {}).get("message", "") if answer else ""


def test_good(place):
    with serving(announces=True) as server:
        client = place.client("remote", server.url, "--header", "X-Project: notes")
        ok(client.initialized["result"]["serverInfo"]["name"] == "remote", "a server over HTTP is initialised", client.errors)
        ok(client.ask("tools/list")["result"]["tools"] == TOOLS, "its tools are listed")
        heard = client.before
        ok(text(client.call("good")) == "fine", "a tool is called")
        heard += client.before
        # It has a stream of its own, which may be later than both.
        heard = heard or [client.next()]
        ok([m.get("params", {}).get("data") for m in heard] == ["by itself"], "what the server says by itself passes", heard)
        answer = client.call("progress")
        ok(text(answer) == "fine" and [m["params"]["progress"] for m in client.before if m["method"] == "notifications/progress"] == [0, 1, 2], "and its progress, in order", client.before)
        ok(text(client.call("resumed")) == "went on" and server.gets[-1]["last-event-id"] == "here", "a stream that broke off goes on where it was", server.gets)
        status = client.end()
        ok(status == 0 and server.deleted.wait(20) and not server.sessions, "at the end the session is ended", status, client.errors)
        heads = [sent for _, sent, message in server.seen if message.get("method") == "tools/call"]
        ok(all(h["mcp-session-id"] == "session-1" and h["mcp-protocol-version"] == "2025-11-25" and h["x-project"] == "notes" and "authorization" not in h for h in heads), "requests have the session, the version and the header", heads)
        order = [message.get("method") for _, _, message in server.seen]
        ok(order[:2] == ["initialize", "notifications/initialized"], "nothing is asked before the handshake is done", order)


def test_modern(place):
    with serving(is_modern=True) as server:
        client = place.client("remote", server.url, version=None)
        ok(client.ask("tools/list", {"_meta": META})["result"]["tools"] == TOOLS, "2026-07-28: tools are listed without a handshake")
        ok(text(client.ask("tools/call", {"name": "good", "arguments": {}, "_meta": META})) == "fine", "2026-07-28: a tool is called")
        sent = server.seen[-1][1]
        ok(sent["mcp-method"] == "tools/call" and sent["mcp-name"] == "good" and sent["mcp-protocol-version"] == "2026-07-28" and "mcp-session-id" not in sent, "2026-07-28: with its headers", sent)
        client.end()
        ok(not server.gets and not server.deleted.is_set(), "2026-07-28: there is no stream, and no session to end")


def test_sessions(place):
    with serving() as server:
        one, two = place.client("remote", server.url), place.client("remote", server.url)
        ok(text(one.call("good")) == "fine" and text(two.call("good")) == "fine" and server.sessions == {"session-1", "session-2"}, "two clients have two sessions")
        ok(text(one.call("forget")) == "fine" and text(one.call("good")) == "fine" and text(two.call("good")) == "fine" and server.sessions == {"session-3", "session-4"},
           "sessions that the server forgot are made again, each by itself", server.sessions, one.errors)
        ok([m for m in one.before if m.get("method") == "notifications/tools/list_changed"] or one.next().get("method") == "notifications/tools/list_changed", "and the client is told to list the tools")
        for client in (one, two):
            client.end()
    with serving() as server:
        client = place.client("remote", server.url.replace("/mcp", "/moved"))
        ok(text(client.call("good")) == "fine", "a redirect within the server is followed", client.errors)
        client.end()
        client = place.client("remote", server.url.replace("/mcp", "/closed"))
        ok("corral link auth" in error(client.initialized), "without a token it says how to get one", client.initialized)
        client.end()


def within(happened):
    """Looks until it has, for a bounded time."""
    for _ in range(2000):
        if happened():
            return True
        time.sleep(0.01)
    return False


HOSTILE = {  # by the tool: what the client is told
    "huge": "more than 16 MiB", "endless-head": "", "half-event": "before it was complete", "dies": "", "redirect": "sends its clients to another place",
    "found": "sends its clients to another place", "other-id": "before it was complete", "html": "neither JSON nor a stream", "gzip": "it is compressed",
}


def test_hostile(place):
    with serving() as elsewhere, serving(elsewhere=elsewhere.url) as server:
        client = place.client("remote", server.url)
        waits = client.request("tools/call", {"name": "never"})
        for name, says in HOSTILE.items():
            answer = client.call(name)
            ok(says in error(answer) and error(answer) and text(client.call("good")) == "fine", f"{name}: the call has an error, and the next call is fine", answer, client.errors[-5:])
        ok(not elsewhere.seen, "the other server was never asked")
        ok(text(client.call("huge-event")) == "behind it", "an event of 100 MB is dropped, and the next one is heard")
        floods = client.request("tools/call", {"name": "flood"})
        ok(text(client.call("good")) == "fine", "while one floods, another is answered")
        for number in (waits, floods):
            client.send({"method": "notifications/cancelled", "params": {"requestId": number}})
        ok(text(client.call("good")) == "fine" and client.process.poll() is None, "what never ends is cancelled, and all else goes on")
        ok(within(lambda: sorted(m["params"]["requestId"] for _, _, m in server.seen if m.get("method") == "notifications/cancelled") == [waits, floods]), "the server hears of it")
        client.end()
        ok(len(client.errors) < 100, "a flood does not fill the screen", len(client.errors))
    client = place.client("remote", server.url)
    ok("connect" in error(client.initialized).lower(), "a server that is not there is named", client.initialized)
    client.end()


def test_confined(place):
    """It has one host, and nothing else."""
    with serving() as server, serving() as other:
        client = place.client("remote", server.url)
        pids = bridges(client.process.pid)
        ok(len(pids) == 1, "the bridge is one process", pids)
        if os.geteuid() == 0:
            pid = pids[0]
            status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            ok("NoNewPrivs:\t1" in status and "Seccomp:\t2" in status and "CapEff:\t0000000000000000" in status, "it has no privileges, and a filter", status)
            inside = subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "/usr/bin/python3", "-c",
                                     f"import socket\nfor port in ({server.server_port}, {other.server_port}):\n try:\n  s = socket.create_connection(('127.0.0.1', port), 5)\n"
                                     "  s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n  print(len(s.recv(10)) > 0)\n except OSError:\n  print(False)\n"],
                                    capture_output=True, text=True, timeout=60, check=False)
            ok(inside.stdout == "True\nFalse\n", "its network has the one port, and no other", inside)
        else:
            skip("its network", "kernel: an ordinary user may not look into it")
        client.end()
    for words, says in ((["http://example.com/"], "on this machine alone"), (["https://x.example/?api_key=1"], "a secret in its query"), ([server.url, "--secret", "A"], "secrets go over https"),
                        (["https://x.example/", "--header", "Authorization: x"], "carries a secret"), ([], "missing argument: URL")):
        done = place.corral("mcp", "remote", *words)
        ok(done.returncode == 125 and says in done.stderr, f"refused: {' '.join(words)[-40:]}", done)


def bridges(top):
    """Processes below it that are the bridge."""
    parents, found = {}, []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit():
                status = pathlib.Path(f"/proc/{entry}/status").read_text(encoding="utf-8", errors="replace")
                parents[int(entry)] = int(status.split("\nPPid:\t")[1].split("\n")[0])
                if status.startswith("Name:\tcorral-mcp-remo\n"):
                    found.append(int(entry))
    def below(pid):
        while pid > 1:
            if pid == top:
                return True
            pid = parents.get(pid, 0)
        return False
    return [pid for pid in found if below(pid)]


def memory(pid):
    """All that the process may write, and what it was started with."""
    parts = [pathlib.Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline")]
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as whole:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    whole.seek(first)
                    parts.append(whole.read(last - first))
    return b"".join(parts)


def certificates(folder):
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
    for words in (("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority"),
                  ("req", *new, "-keyout", "key", "-out", "csr", "-subj", "/CN=x"),
                  ("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "crt", "-days", "2", "-extfile", "ext")):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)
    (folder / "good.pem").write_text((folder / "key").read_text() + (folder / "crt").read_text())


def make_vault(place, server):
    passphrase = place.path / "passphrase"
    passphrase.write_text("correct horse battery\n")
    passphrase.chmod(0o600)
    done = [place.corral("vault", "init", "--passphrase-file", str(passphrase))]
    shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
    done += [place.corral("vault", "unlock", "--passphrase-file", str(passphrase)), place.corral("vault", "set", "TOKEN", text=VALUE),
             place.corral("vault", "grant", "TOKEN", server.place)]
    ok(all(d.returncode == 0 for d in done), "a vault with a token for the server", done)


def test_secret(place):
    """The server has the value; the bridge, its sandbox and its client never do."""
    if not os.environ.get("CORRAL_INJECT"):
        skip("a token", "build: without OpenSSL")
        return
    certificates(place.path)
    with serving(place.path / "good.pem") as server:
        done = place.corral("mcp", "remote", server.url, "--secret", "TOKEN")
        ok(done.returncode == 125 and "there is no vault" in done.stderr, "without a vault it says so", done)
        make_vault(place, server)
        client = place.client("remote", server.url, "--secret", "TOKEN")
        answer = client.call("echo")
        sent = [s.get("authorization") for _, s, _ in server.seen]
        ok(sent and set(sent) == {"Bearer " + VALUE}, "each request to the server has the value", sent, client.errors, client.initialized)
        ok(VALUE not in json.dumps(answer) and "got Bearer " in text(answer), "what it sends back is masked", answer)
        if os.geteuid() == 0:
            held = b"".join(memory(pid) for pid in bridges(client.process.pid))
            ok(VALUE.encode() not in held and b"TOKEN=ghp_" in held, "in the memory and the variables of the bridge there is a placeholder, and no value")
        else:
            ok(not any(os.access(f"/proc/{pid}/mem", os.R_OK) for pid in bridges(client.process.pid)), "no process of the user may look into the bridge")
        client.end()
        ok(VALUE not in "".join(client.errors), "nothing of it is on standard error", client.errors)
        done = place.corral("mcp", "remote", server.url)
        client = place.client("remote", server.url)
        ok("error" in client.initialized and len(server.seen) == len(sent), "without the secret the server's certificate is not trusted, and nothing is sent", client.initialized)
        client.end()
        ca = str(place.path / "ca.pem")
        client = place.client("remote", "--env", f"SSL_CERT_FILE={ca}", "--read", ca, server.url)
        ok("result" in client.initialized and "authorization" not in server.seen[-1][1], "with its authority it is, and no token is sent", client.initialized)
        client.end()
        file = place.path / "secret.yaml"
        file.write_text(json.dumps({"servers": {"web": {"url": server.url, "secret": "TOKEN", "headers": {"X-A": "b"}}}}))
        done = place.corral("mcp", "approve", "--yes", str(file))
        ok(done.returncode == 0 and f"url: {server.url} --secret TOKEN --header 'X-A: b'" in done.stdout, "a gateway shows the url, the secret's name and the header", done)
        client = place.client("gateway", str(file))
        ok(text(client.call("web__good")) == "fine" and server.seen[-1][1]["authorization"] == "Bearer " + VALUE, "and calls the server with it", client.errors)
        client.end()


def test_gateway(place):
    with serving() as server, serving(is_modern=True) as modern, serving() as other:
        file = place.path / "gateway.yaml"
        file.write_text(json.dumps({"servers": {"web": {"url": server.url}, "new": {"url": modern.url}}}))
        done = place.corral("mcp", "approve", "--yes", str(file))
        ok(done.returncode == 0 and f"url: {server.url}" in done.stdout, "servers over HTTP are approved", done)
        client = place.client("gateway", str(file))
        ok(sorted(t["name"] for t in client.ask("tools/list")["result"]["tools"]) == ["corral__status", "new__good", "web__good"], "their tools are listed")
        ok(text(client.call("web__good")) == "fine" and text(client.call("new__good")) == "fine", "and called, in both eras", client.errors)
        server.sessions.clear()
        ok(text(client.call("web__good")) == "fine", "after the server forgot its session, too", client.errors)
        client.end()
        seen = len(other.seen)
        file.write_text(json.dumps({"servers": {"web": {"url": other.url}, "new": {"url": modern.url, "headers": {"X-A": "b"}}}}))
        client = place.client("gateway", str(file))
        ok("its URL, secret, headers or options changed" in text(client.call("corral__status")), "another url, or other headers, are said")
        answers = [client.call("web__good"), client.call("new__good")]
        ok(all("error" in a or a["result"].get("isError") for a in answers) and len(other.seen) == seen, "and nothing is asked there", answers)
        client.end()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(scratch)
        for part in (test_good, test_modern, test_sessions, test_hostile, test_confined, test_gateway, test_secret):
            started = time.monotonic()
            part(place)
            print(f"# {part.__name__}: {time.monotonic() - started:.1f} s", flush=True)
        place.corral("vault", "lock")
    if os.geteuid() == 0:
        broker_tap.as_user(os.path.abspath(__file__), PROGRAMS, PEER=os.path.join(HERE, "mcp_peer.py"))
    end()


main()
