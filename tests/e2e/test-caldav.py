#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A CalDAV server that lies, through `corral run`: entities, huge answers, redirects, addresses of others, changed tags.

The server is one of this test's own, on loopback; tests/acceptance has Radicale, with TLS. $CORRAL, $BACKENDS … as for
test-calendar.py.
"""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from broker_tap import end, ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
scratch = tempfile.mkdtemp()
home = os.path.join(scratch, "home")
config = os.path.join(home, ".config", "corral")
os.makedirs(config)
environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": os.path.join(home, ".config"),
               "XDG_STATE_HOME": os.path.join(home, ".state"), "XDG_CACHE_HOME": os.path.join(home, ".cache"),
               "CORRAL_BACKENDS": os.path.abspath(os.environ["BACKENDS"]), "TZ": "UTC"}


HEAD = '<?xml version="1.0" encoding="utf-8"?>'
OPEN = '<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">'
CLOSE = "</d:multistatus>"


def response(href, props):
    return (f"<d:response><d:href>{href}</d:href><d:propstat><d:prop>{props}</d:prop>"
            "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>")


def calendar(href, name):
    return response(href, f"<d:displayname>{name}</d:displayname><d:resourcetype><d:collection/><c:calendar/></d:resourcetype>")


def todo(uid, title):
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTODO\r\nUID:{uid}\r\nSUMMARY:{title}\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"


def item(href, uid, title="t", tag='"1"'):
    return response(href, f"<d:getetag>{tag}</d:getetag><c:calendar-data>{todo(uid, title)}</c:calendar-data>")


HOME = HEAD + OPEN + response("/", "<c:calendar-home-set><d:href>/</d:href></c:calendar-home-set>") + CLOSE
LISTS = HEAD + OPEN + calendar("/shopping/", "Shopping") + calendar("/private/", "Private") + CLOSE


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # By method, and for PROPFIND by depth: (status, headers, body).
    answers = {}
    seen = []

    def log_message(self, *_):
        pass

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        key = self.command + (self.headers.get("Depth") or "") if self.command == "PROPFIND" else self.command
        self.seen.append((self.command, self.path, dict(self.headers)))
        status, headers, body = self.answers.get(key, (404, {}, ""))
        if callable(body):
            body(self)
            return
        data = body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_PROPFIND = do_REPORT = do_PUT = do_DELETE = do_GET = handle_any


class Other(Handler):
    seen = []


SCOPE = {"reminders": {"access": "readwrite", "lists": ["Shopping"]}}


def run(script):
    policy = os.path.join(scratch, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        json.dump({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"], "services": SCOPE}, file)
    done = subprocess.run([CORRAL, "run", "--policy", policy, "--", "sh", "-c", script], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100, cwd=home)
    answers = []
    for line in done.stdout.splitlines():
        try:
            answers.append(json.loads(line))
        except ValueError:
            answers.append(line)
    return answers, done.stderr


def call(*words):
    return "sandbox-call " + " ".join("'" + word + "'" for word in words) + " --json; "


def codes(answers):
    return [a.get("error", {}).get("code") if isinstance(a, dict) else a for a in answers]


def lie(name, expected=(-32005,), script=call("reminders.list"), **answers):
    """The server answers so; what the caller gets."""
    Handler.answers = {"PROPFIND0": (207, {}, HOME), "PROPFIND1": (207, {}, LISTS), "REPORT": (207, {}, HEAD + OPEN + CLOSE),
                       **answers}
    Handler.seen.clear()
    got, err = run(script)
    ok(tuple(codes(got)) == tuple(expected), name, got, err)
    return got


def flood(handler):
    handler.send_response(207)
    handler.send_header("Connection", "close")
    handler.end_headers()
    block = (HEAD + OPEN).encode() + b" " * (1 << 20)
    try:
        for _ in range(64):
            handler.wfile.write(block)
    except OSError:
        pass
    handler.close_connection = True


def flood_head(handler):
    try:
        handler.wfile.write(b"HTTP/1.1 207 Multi-Status\r\n")
        for i in range(20000):
            handler.wfile.write(b"X-%d: " % i + b"a" * 100 + b"\r\n")
    except OSError:
        pass
    handler.close_connection = True


def tests(other):
    away = f"http://127.0.0.1:{other}"
    bomb = "".join(f"<!ENTITY e{i} \"{'&e%d;' % (i - 1) * 10}\">" for i in range(1, 10))
    got = lie("an honest server", (None,), REPORT=(207, {}, HEAD + OPEN + item("/shopping/a.ics", "a", "Milk") + CLOSE))
    ok(got[0]["reminders"][0]["title"] == "Milk" and got[0]["lists"] == ["Shopping"], "and what it has", got)
    ok(not any(path.startswith("/private/") for _, path, _ in Handler.seen), "a list that is not granted is not asked for",
       Handler.seen)
    for where in ("PROPFIND0", "PROPFIND1", "REPORT"):
        lie(f"{where}: an entity that is a file", **{where: (207, {}, '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + OPEN +
            item("/shopping/a.ics", "a", "&x;") + CLOSE)})
    lie("a DTD elsewhere", REPORT=(207, {}, f'<!DOCTYPE d SYSTEM "{away}/x.dtd">' + OPEN + CLOSE))
    lie("entities of entities", REPORT=(207, {}, f'<!DOCTYPE d [<!ENTITY e0 "ha">{bomb}]>' + OPEN + "&e9;" + CLOSE))
    lie("components in components", REPORT=(207, {}, HEAD + OPEN + "<d:a>" * 100000))
    lie("no XML", REPORT=(207, {}, "<html>"))
    lie("an answer without an end", REPORT=(207, {}, flood))
    lie("a head without an end", REPORT=(207, {}, flood_head))
    for status in (301, 302, 307, 308):
        lie(f"a redirect elsewhere: {status}", PROPFIND0=(status, {"Location": away + "/"}, ""))
    lie("a redirect of a write", (-32005,), call("reminders.add", "list=Shopping", "title=x"),
        PUT=(307, {"Location": away + "/x"}, ""))
    lie("homes on other servers", (None,),
        PROPFIND0=(207, {}, HEAD + OPEN + response("/", f"<c:calendar-home-set><d:href>{away}/</d:href></c:calendar-home-set>") + CLOSE))
    got = lie("items of other lists and servers", (None,), REPORT=(207, {}, HEAD + OPEN + item("/private/a.ics", "a") +
              item(away + "/shopping/b.ics", "b") + item("/shopping/../private/c.ics", "c") + item("/shopping/%2e%2e/d.ics", "d") +
              item("/shopping/e/f.ics", "e") + item("//evil.example/g.ics", "g") + item("/shopping/h.ics", "h", tag="a\r\nX: 1") +
              item("/shopping/ok.ics", "ok") + CLOSE))
    ok([r["id"] for r in got[0].get("reminders", [])] == ["ok"] and got[0].get("skipped") == 7, "are left out", got)
    got = lie("lists on other servers, and twice", (None,), PROPFIND1=(207, {}, HEAD + OPEN + calendar(away + "/shopping/", "Shopping") +
              calendar("/shopping/", "Shopping") + CLOSE))
    ok(got[0]["lists"] == ["Shopping"], "only its own counts", got)
    got = lie("two lists of one name", (None, -32005), call("reminders.list") + call("reminders.add", "list=Shopping", "title=x"),
              PROPFIND1=(207, {}, HEAD + OPEN + calendar("/shopping/", "Shopping") + calendar("/b/", "Shopping") + CLOSE))
    ok(got[0]["lists"] == [], "are none", got)
    lie("names that look alike", (-32602,), call("reminders.list", "list=Shopping"), PROPFIND1=(207, {}, HEAD + OPEN +
        calendar("/a/", "shopping") + calendar("/b/", "Shopping ") + calendar("/c/", "Shopping&#x200b;") + CLOSE))
    change = call("reminders.complete", "list=Shopping", "id=a")
    only = {"REPORT": (207, {}, HEAD + OPEN + item("/shopping/a.ics", "a") + CLOSE)}
    lie("a tag that changes all the time", (-32005,), change, PUT=(412, {}, ""), **only)
    ok(3 <= sum(1 for method, _, _ in Handler.seen if method == "PUT") <= 10, "is tried some times, and no more", Handler.seen)
    ok(all(headers.get("If-Match") == '"1"' for method, _, headers in Handler.seen if method == "PUT"),
       "each write names the version that was read", Handler.seen)
    lie("a login that is refused", PROPFIND0=(401, {}, ""))
    lie("a server that fails", PROPFIND0=(500, {}, ""))
    ok(Other.seen == [], "no request went to another server", Other.seen)


def main():
    servers = [Server(("127.0.0.1", 0), kind) for kind in (Handler, Other)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    path = os.path.join(config, "services.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"reminders: {{url: 'http://127.0.0.1:{servers[0].server_address[1]}/'}}\n")
    os.chmod(path, 0o600)
    started = time.monotonic()
    tests(servers[1].server_address[1])
    print(f"# {time.monotonic() - started:.1f} s")
    return end()


try:
    sys.exit(main())
finally:
    shutil.rmtree(scratch, ignore_errors=True)
