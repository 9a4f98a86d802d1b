#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on fetching and on the HTTP channel, each first against a naive client or server, where it works, and
then against the broker, where it does not: so a pass means that the broker's checks did it. As root, once more
as an ordinary user. Prints TAP."""

import gzip
import http.client
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from broker_tap import INSIDE, PORT, as_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_FETCH")
CORRAL, PATIENCE = os.path.abspath(os.environ["CORRAL"]), 60
ORIGIN = os.environ.get("ORIGIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "broker", "origin.py")
LARGEST = 4 << 20  # bytes of a body that the broker answers with


class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-naive-"))
        for name in ("home", "work"):
            os.mkdir(os.path.join(self.top, name))
        self.env = {**os.environ, "HOME": self.top + "/home"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CORRAL_AUDIT"):
            self.env.pop(name, None)
        self.servers = subprocess.Popen([sys.executable, ORIGIN, self.top], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.servers.stdout.readline().split()[0])

    def inside(self, code, broker="--broker"):
        done = subprocess.run([CORRAL, "run", broker, "--read", "/usr/**", "--net", f"localhost:{self.port}", "--", "/usr/bin/python3", "-c",
                               INSIDE, code], cwd=self.top + "/work", env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return [[done.returncode, done.stderr.decode()]]

    def requests(self):
        try:
            with open(self.top + "/log", encoding="utf-8") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def end(self):
        self.servers.stdin.close()
        self.servers.wait(10)
        shutil.rmtree(self.top)


def code_of(answer):
    return answer.get("error", {}).get("code", 0) if isinstance(answer, dict) else None


# Naive clients

def naive_request(port, path, headers, method="GET"):
    """A request as a format string makes it."""
    text = f"{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + \
        "Connection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        s.sendall(text.encode("latin-1"))
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass


def naive_get(port, path, result, seconds, enough):
    """Reads while the server sends, for at most `seconds`, and not more than is needed."""
    until = time.monotonic() + seconds
    goes_on = lambda: time.monotonic() < until and result.get("bytes", 0) <= enough
    if "head" in path:
        # A head has no end that it would look for.
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            while goes_on():
                result["bytes"] = result.get("bytes", 0) + len(s.recv(1 << 20))
        return
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        client.request("GET", path)
        response = client.getresponse()
        while goes_on():
            part = response.read1(1 << 20)
            if not part:
                result["ended"] = True
                break
            result["bytes"] = result.get("bytes", 0) + len(part)
    except (OSError, http.client.HTTPException) as error:
        result["error"] = type(error).__name__
    finally:
        client.close()


def test_injection(scene):
    rows = {
        "a header in a value": ({"X-One": "1\r\nX-Injected: yes"}, "x-injected=yes"),
        "a header in a name": ({"X-One: 1\r\nX-Injected": "yes"}, "x-injected=yes"),
        "a request in a value": ({"X-One": "1\r\n\r\nGET /hello?smuggled HTTP/1.1\r\nHost: x"}, "/hello?smuggled"),
        "another host": ({"Host": "evil.example"}, "host=evil.example"),
        "another length": ({"Content-Length": "0"}, "content-length=0"),
        "a proxy's password": ({"Proxy-Authorization": "Basic eA=="}, "proxy-authorization="),
        "who is behind a proxy": ({"Connection": "keep-alive, X-Two"}, "x-two"),
    }
    signs = [sign for _, sign in rows.values()]
    for headers, _ in rows.values():
        naive_request(scene.port, "/hello", headers)
    reached = [scene.requests().lower().count(sign) for sign in signs]
    answers = scene.inside("".join(f"out.append(call('network.http', url='http://localhost:{scene.port}/hello', headers={headers!r}))\n"
                                   for headers, _ in rows.values()))
    after = [scene.requests().lower().count(sign) for sign in signs]
    for name, answer, one, other in zip(rows, answers, reached, after):
        ok(one > 0, f"injection: {name} gets through a naive client", scene.requests()[-500:])
        ok(code_of(answer) == -32602 and one == other, f"injection: {name} is refused by the broker", answer)
    # In the URL.
    answers = scene.inside("".join(f"out.append(call('network.http', url={url!r}))\n" for url in (
        f"http://localhost:{scene.port}/hello\r\nX-Injected: yes", f"http://localhost:{scene.port}/hello HTTP/1.0\r\nX: y")))
    ok(all(code_of(a) not in (0, None) for a in answers), "injection: by the URL it is refused", answers)


def test_bombs(scene):
    for path in ("/bomb", "/bomb?twice=1"):
        with socket.create_connection(("127.0.0.1", scene.port), timeout=PATIENCE) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            data = b"".join(iter(lambda: s.recv(65536), b""))
        body = data[data.index(b"\r\n\r\n") + 4:]
        sent = len(body)
        for _ in range(2 if "twice" in path else 1):
            body = gzip.decompress(body)
        ok(len(body) == 64 << 20 and sent < 100000, f"bombs: {path}: {sent} bytes become 64 MiB in a naive client", sent, len(body))
        answer = scene.inside(f"out.append(call('network.http', url='http://localhost:{scene.port}{path}'))\n")[0]
        ok(code_of(answer) == -32006 and f"more than {LARGEST} bytes" in str(answer), f"bombs: {path}: the broker stops", answer)


def test_servers(scene):
    """A server decides how long a naive client waits, and how much it reads."""
    for path, sign in (("/silent", "waits"), ("/slow", "waits"), ("/endless", "reads"), ("/endless-head", "reads")):
        naive = {}
        naive_get(scene.port, path, naive, PATIENCE if sign == "reads" else 0.6, LARGEST)
        worked = naive.get("bytes", 0) > LARGEST if sign == "reads" else "ended" not in naive
        ok(worked, f"servers: of {path} a naive client {sign} without end", naive)
        began = time.monotonic()
        answer = scene.inside(f"out.append(call('network.http', url='http://localhost:{scene.port}{path}', timeout=400))\n")[0]
        ok(code_of(answer) in ((-32004,) if sign == "waits" else (-32006, -32004)) and time.monotonic() - began < PATIENCE,
           f"servers: {path}: the broker answers in time", answer)


# A naive server

class Naive(http.server.BaseHTTPRequestHandler):
    """JSON-RPC by POST, of whoever asks."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get_all("Content-Length", ["0"])[0]))
        called = json.loads(body).get("method")
        self.reply({"result": f"did {called}"})

    def do_GET(self):
        self.reply({"result": "health"})

    do_PUT = do_POST

    def reply(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def naive_raw(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        s.sendall(text.encode())
        s.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


def test_channel(scene):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Naive)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ping, run = '{"jsonrpc":"2.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"exec.run","params":{"command":"id"}}'
    host, kind, token = "Host: 127.0.0.1:PORT\r\n", "Content-Type: application/json\r\n", "Authorization: Bearer TOKEN\r\n"

    def post(*fields, body=ping):
        return "POST /rpc HTTP/1.1\r\n" + "".join(fields) + f"Content-Length: {len(body)}\r\n\r\n" + body

    smuggled = f"POST /rpc HTTP/1.1\r\n{host}{token}{kind}Content-Length: {len(run)}\r\n\r\n{run}"
    rows = {
        "a page that rebinds its name (Host)": (post("Host: evil.example:PORT\r\n", token, kind), 403),
        "no Host": (post(token, kind), 400),
        "a page of another origin": (post(host, "Origin: http://evil.example\r\n", token, kind), 403),
        "a page in a sandboxed frame": (post(host, "Origin: null\r\n", token, kind), 403),
        "a form, which needs no permission of a browser": (post(host, token, "Content-Type: text/plain\r\n"), 415),
        "a program that has no token": (post(host, kind), 401),
        "a method that is not for HTTP": (post(host, token, kind, body=run), 200),
        "another method of HTTP": (post(host, token, kind).replace("POST", "PUT", 1), 405),
        "a request in another": (f"POST /rpc HTTP/1.1\r\n{host}{token}{kind}Content-Length: {len(ping)}\r\n"
                                 f"Content-Length: {len(ping) + len(smuggled)}\r\n\r\n{ping}{smuggled}", 400),
    }
    code = "".join(f"out.append(raw({text!r}.replace('PORT', '{PORT}').replace('TOKEN', os.environ['SANDBOX_TOKEN'])))\n" for text, _ in rows.values())
    answers = scene.inside(code, broker="--broker-http")
    ok(len(answers) == len(rows), "channel: all requests were answered", answers)
    for (name, (text, status)), answer in zip(rows.items(), answers):
        naive = naive_raw(server.server_port, text.replace("PORT", str(server.server_port)).replace("TOKEN", "x"))
        if "request in another" in name:
            ok("did exec.run" in naive, f"channel: {name} is done by a naive server", naive)
        else:
            ok(naive.startswith("HTTP/1.1 200") and '"did ' in naive, f"channel: {name} is served by a naive server", naive)
        ok(str(answer).startswith(f"HTTP/1.1 {status} ") and (status != 200 or '"error"' in answer) and "uid=" not in answer and
           str(answer).count("HTTP/1.1 ") == 1, f"channel: {name} is refused by the broker ({status})", answer)
    server.shutdown()


def main():
    for test in (test_injection, test_bombs, test_servers, test_channel):
        scene = Scene()
        try:
            test(scene)
        finally:
            scene.end()
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS, ORIGIN=ORIGIN)
    return end()


if __name__ == "__main__":
    sys.exit(main())
