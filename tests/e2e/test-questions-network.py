#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions about single requests of HTTP, by real clients: what is shown is what goes out, once is for one request, and
nothing that a client puts behind or into a request passes with its answer. As root, once more as an ordinary user. Prints TAP."""

import http.server
import importlib.util
import os
import signal
import sys
import threading

from broker_tap import beside_user, end, ok

QUESTIONS = os.environ.get("QUESTIONS") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "test-questions.py")
spec = importlib.util.spec_from_file_location("questions", QUESTIONS)
questions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(questions)
until, policy, asks, settle, Run = questions.until, questions.policy, questions.asks, questions.settle, questions.Run


class Requests:
    """A server that keeps the lines of requests as they arrive, with their bodies. /admin/from leads to /admin/to."""

    def __init__(self, context=None):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                seen.append(f"{self.command} {self.path}" + (f" {body.decode()}" if body else ""))
                leads = self.path == "/admin/from"
                self.send_response(302 if leads else 200)
                if leads:
                    self.send_header("Location", "/admin/to")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")
            do_POST = do_DELETE = do_GET

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Connections that are reset are what is tested here.
        server.handle_error = lambda *_: None
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.port = server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = "http://" + self.host


def asking(place, *patterns, methods=(), allow=(), **more):
    """A policy that grants hosts, and asks about some requests to them."""
    rule = {"id": "some", "action": "ask", "operations": ["net.connect"], "patterns": list(patterns), **({"methods": list(methods)} if methods else {})}
    return policy(place, rule, network={"allow": list(allow)}, **more)


def message(method, host, path, body=""):
    return (f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n" + (f"Content-Length: {len(body)}\r\n" if body else "") + f"\r\n{body}").encode().hex()


def held_requests(place):
    """Requests that a rule asks about, on connections that are granted: by real clients."""
    server = Requests()
    url = server.url
    run = Run(place, asking(place, f"{url}/admin/**", allow=[server.host]))
    run.joined()
    ok(run.do(f"curl {url}/public") == "ok" and not place.questions(), "a path that no rule asks about does not wait", run.lines)
    q, waits = asks(run, f"curl {url}/admin/a?x=1&y=%20z")
    ok(q["target"] == f"GET {url}/admin/a?x=1&y=%20z" and q["scopes"][0] == f"GET {url}/admin/a" and q["action"] == "net.connect" and "some" in q["reason"] and len(server.seen) == 1,
       "one that a rule asks about waits, and is shown with its method, host, path and query", q, server.seen)
    ok(server.host not in q["scopes"], "a scope that would not answer it is not offered", q)
    other = Run(place, asking(place, f"{url}/admin/**", allow=[server.host]))
    ok(other.do(f"curl {url}/public") == "ok" and len(run.lines) == waits, "other connections go on")
    other.end()
    ok(settle(run, q, waits, answer="once") == (200, "ok") and server.seen[-1] == "GET /admin/a?x=1&y=%20z", "once: it goes out as it was shown", run.lines[waits:], server.seen)
    q, waits = asks(run, f"curl {url}/admin/a?x=1&y=%20z")
    ok(q["id"] != "none", "once is not twice", run.lines[waits:])
    before = len(server.seen)
    ok(settle(run, q, waits, answer="deny") == (200, [56]) and len(server.seen) == before, "deny: the connection is reset, and nothing arrives", run.lines[waits:], server.seen)
    ok(run.do(f"curl {url}/admin/a?x=1&y=%20z") == [56] and not place.questions(), "and it is not asked again at once", run.lines)
    q, waits = asks(run, f"curl -d data {url}/admin/b")
    ok(q["target"] == f"POST {url}/admin/b" and settle(run, q, waits, answer="allow") == (200, "ok") and server.seen[-1] == "POST /admin/b data", "allow, with a body", q, server.seen)
    ok(run.do(f"curl -d more {url}/admin/b") == "ok" and not place.questions(), "what was allowed is not asked again", run.lines)
    q, waits = asks(run, f"curl {url}/admin/b")
    ok(q["target"] == f"GET {url}/admin/b", "another method is", q)
    settle(run, q, waits, answer="deny")
    q, waits = asks(run, f"curl -L {url}/admin/from")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    second = place.question("/admin/to")
    ok(second and second["target"] == f"GET {url}/admin/to" and len(run.lines) == waits, "a redirect is a request of its own", second)
    ok(settle(run, second, waits, answer="once") == (200, "ok"), "with an answer of its own", run.lines[waits:])
    q, waits = asks(run, f"get {url}/admin/python")
    ok(settle(run, q, waits, answer="allow", scope=f"{url}/admin/**") == (200, "ok") and run.do(f"curl -X DELETE {url}/admin/c") == "ok", "allow, with the pattern of the rule", q, run.lines[waits:])
    said = run.end()
    ok("did not agree" in said, "a no is among what was denied", said)
    run = Run(place, asking(place, server.host, methods=["POST", "DELETE"], allow=[server.host]))
    ok(run.do(f"curl {url}/x") == "ok", "a rule about some methods leaves the others", run.lines)
    q, waits = asks(run, f"curl -d data {url}/x")
    ok(q["target"] == f"POST {url}/x" and settle(run, q, waits, answer="once") == (200, "ok"), "and asks about those", q, run.lines[waits:])
    run.end()
    run = Run(place, asking(place, f"{url}/admin/**", allow=[server.host]), "--ask", "1s")
    run.joined()
    ok(run.do(f"curl {url}/admin/late") == [56] and until(lambda: not place.questions()) and "GET /admin/late" not in server.seen and "in time" in run.end(), "no answer: refused after the stated time",
       run.lines, server.seen)


def smuggling(place):
    """What a client puts behind a request that waits, or into it."""
    server = Requests()
    url = server.url
    run = Run(place, asking(place, f"{url}/admin/**", allow=[server.host]))
    run.joined()
    many = "".join(message("GET", server.host, path) for path in ("/first", "/admin/a", "/admin/b", "/last"))
    run.do(f"send {server.port} {many}")
    q = place.question("/admin/a")
    ok(q and until(lambda: server.seen == ["GET /first"]), "in a row of requests what is in front of one that waits passes, and nothing behind", server.seen)
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    second = place.question("/admin/b")
    ok(second and second["id"] != q["id"] and until(lambda: len(server.seen) == 2) and server.seen[1] == "GET /admin/a", "its answer is for it alone", server.seen)
    place.api("POST", "/api/questions/" + second["id"], {"answer": "once"})
    ok(until(lambda: len(server.seen) == 4) and server.seen[2:] == ["GET /admin/b", "GET /last"], "the next one has its own, and lets those behind it go on", server.seen)
    # The same request twice: two questions, and once is for one of them.
    run.do(f"send {server.port} " + message("GET", server.host, "/admin/same") * 2)
    q = place.question("/admin/same")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    second = until(lambda: next((one for one in place.questions() if one["id"] != q["id"]), None))
    ok(second and second["target"] == q["target"] and until(lambda: "GET /admin/same" in server.seen) and server.seen.count("GET /admin/same") == 1,
       "the same request once more asks once more", second, server.seen)
    place.api("POST", "/api/questions/" + second["id"], {"answer": "deny"})
    until(lambda: not place.questions())
    body = f"GET /admin/hidden HTTP/1.1\r\nHost: {server.host}\r\n\r\n"
    run.do(f"send {server.port} " + message("POST", server.host, "/admin/body", body) + message("GET", server.host, "/admin/behind"))
    q = place.question("/admin/body")
    ok(q and len(place.questions()) == 1 and not any("body" in line for line in server.seen), "a body that came before the answer waits, and is not read as a request", server.seen, place.questions())
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    behind = place.question("/admin/behind")
    ok(behind and until(lambda: f"POST /admin/body {body}" in server.seen) and not any(line.startswith("GET /admin/hidden") or "behind" in line for line in server.seen), "it passes as the body it is", server.seen)
    run.do(f"send - {message('GET', server.host, '/admin/more')}")
    place.api("POST", "/api/questions/" + behind["id"], {"answer": "deny"})
    ok(until(lambda: not place.questions()) and not any("behind" in line or "more" in line for line in server.seen), "after a no nothing of the connection passes", server.seen)
    seen = len(server.seen)
    for what, head in (("two lengths", f"POST /admin/x HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nContent-Length: 0\r\n\r\nabc"),
                       ("a length and chunks", f"POST /admin/x HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
                       ("another host", "GET /admin/x HTTP/1.1\r\nHost: other.test\r\n\r\n"),
                       ("another protocol", f"GET /admin/x HTTP/1.1\r\nHost: {server.host}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
                       ("bytes that no URL has", f"GET /admin/\u2028x HTTP/1.1\r\nHost: {server.host}\r\n\r\n"),
                       ("more than can be shown", f"GET /admin/x?{'y' * 3000} HTTP/1.1\r\nHost: {server.host}\r\n\r\n")):
        run.do(f"send {server.port} {head.encode().hex()}")
        ok("ConnectionResetError" in run.do("receive 1") and not place.questions() and len(server.seen) == seen, f"refused, and not asked about: {what}", run.lines[-1], server.seen[seen:])
    run.end()


def held_and_left(place):
    """The client, the daemon or the policy changes while a request waits."""
    server = Requests()
    url = server.url
    rules = asking(place, f"{url}/admin/**", allow=[server.host])
    run = Run(place, rules)
    sandbox = run.joined()
    run.do(f"send {server.port} {message('GET', server.host, '/admin/gone')}")
    q = place.question("/admin/gone")
    run.do("hang-up")
    ok(q and until(lambda: not place.questions()) and place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})[0] in (404, 409), "a client that goes away takes the question about its request along")
    ok(run.do(f"curl --max-time 1 {url}/admin/timeout") == [28] and until(lambda: not place.questions()), "and so does one whose time is over", run.lines)
    q, waits = asks(run, f"curl {url}/admin/killed")
    place.kill()
    place.start()
    again = place.question("/admin/killed")
    ok(again and again["target"] == q["target"] and settle(run, again, waits, answer="once") == (200, "ok"), "a daemon that was killed: the next one has the question, and answers it", again, run.lines[waits:])
    _, waits = asks(run, f"curl {url}/admin/granted")
    status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"GET {url}/admin/granted"})
    ok(status == 200 and run.answer(waits) == "ok" and until(lambda: not place.questions()), "a grant lets it pass", answer, run.lines[waits:])
    q, waits = asks(run, f"curl {url}/admin/unrelated")
    status, answer = place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"GET {url}/admin/other"})
    ok(status == 200 and [one["id"] for one in place.questions()] == [q["id"]] and len(run.lines) == waits, "a grant of another request does not", answer, place.questions())
    ok(settle(run, q, waits, answer="once") == (200, "ok"), "and it still has its answer", run.lines[waits:])
    # A connection whose last request was agreed to once stays when the policy changes.
    run.do(f"send {server.port} {message('GET', server.host, '/admin/stays')}")
    place.api("POST", "/api/questions/" + place.question("/admin/stays")["id"], {"answer": "once"})
    run.do("receive 1")
    place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": "net.connect", "target": f"GET {url}/admin/third"})
    run.do(f"send - {message('GET', server.host, '/stays')}")
    ok(until(lambda: "GET /stays" in server.seen), "a connection with a request that was agreed to stays when something else is granted", server.seen)
    run.do(f"send {server.port} {message('GET', server.host, '/admin/end')}")
    place.question("/admin/end")
    run.process.send_signal(signal.SIGTERM)
    run.end()
    ok(until(lambda: not place.questions()) and "GET /admin/end" not in server.seen, "a sandbox that ends takes its questions along", place.questions(), server.seen)
    run = Run(place, rules)
    clients = [message("GET", server.host, f"/admin/{i}") for i in range(20)]
    for one in clients[:16]:
        run.do(f"keep-open {server.port} {one}")
    ok(until(lambda: len(place.questions()) == 16), "sixteen requests wait", len(place.questions()))
    run.do(f"send {server.port} {clients[16]}")
    ok("ConnectionResetError" in run.do("receive 1") and len(place.questions()) == 16, "and the next one is refused at once", run.lines[-1])
    ok(run.do(f"curl {url}/public") == "ok", "what no rule asks about passes meanwhile")
    run.end()
    place.kill()
    run = Run(place, rules)
    questions.remove(place.path + "/run/corral")
    run.end()
    run = Run(place, rules)
    ok(run.do(f"curl {url}/admin/alone") == [56] and run.do(f"curl {url}/public") == "ok" and "GET /admin/alone" not in server.seen, "without a daemon: refused at once", run.lines)
    run.end()
    place.start()


def one_rule(place):
    """Once for a connection is no answer to another rule about some of its requests, however alike they are."""
    server = Requests()
    rules = [{"id": "host", "action": "ask", "operations": ["net.connect"], "patterns": [server.host]},
             {"id": "posts", "action": "ask", "operations": ["net.connect"], "patterns": [server.host], "methods": ["POST"], "priority": 5}]
    run = Run(place, policy(place, *rules))
    q, waits = asks(run, f"curl {server.url}/x")
    ok(q["target"] == server.host and settle(run, q, waits, answer="once") == (200, "ok"), "a connection that is asked about", q, run.lines[waits:])
    q, waits = asks(run, f"curl -d data {server.url}/x")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    post = place.question("POST ")
    ok(q["target"] == server.host and post and post["target"] == f"POST {server.url}/x" and len(server.seen) == 1, "its request is asked about by the other rule", post, server.seen)
    ok(settle(run, post, waits, answer="once") == (200, "ok") and server.seen[-1] == "POST /x data", "and goes out after both answers", run.lines[waits:], server.seen)
    run.end()


def main():
    with beside_user(__file__, questions.PROGRAMS, QUESTIONS=QUESTIONS):
        place = questions.Place()
        try:
            place.start()
            for test in (held_requests, smuggling, held_and_left, one_rule):
                test(place)
        finally:
            place.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
