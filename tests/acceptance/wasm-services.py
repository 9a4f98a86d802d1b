#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each capability of a WASM skill by modules in C and in Rust (tests/wasm/calls.*), against real servers on loopback, a real
Chromium, and SMTP: absent, narrowed to something else, and granted. What counts is what the servers saw.
"""

import contextlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

try:
    import aiosmtpd  # noqa: F401
except ImportError:
    # Debian has it for the system's own Python.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    raise

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "mail"), os.path.join(HERE, "..", "e2e")]
import servers  # noqa: E402
from broker_tap import end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
WASM = os.path.join(HERE, "..", "wasm")
scratch = tempfile.mkdtemp(prefix="corral-wasm-")
home = os.path.join(scratch, "home")
seen = []


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen.append(self.path)
        text = b"<title>Hello</title><body style='background:#0080ff'>words<script>document.body.append(40 + 2)</script>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def echo(listener):
    while True:
        s, _ = listener.accept()
        seen.append("echo")
        with s, contextlib.suppress(OSError):  # a client may leave at any time
            while data := s.recv(65536):
                s.sendall(data)


def build(language):
    folder = os.path.join(scratch, language)
    os.mkdir(folder)
    out = os.path.join(folder, "skill.wasm")
    if language == "c":
        words = ["clang", "--target=wasm32-wasi", "-O1", "-mexec-model=reactor", os.path.join(WASM, "calls.c"), "-o", out]
    else:
        target = next(t for t in ("wasm32-wasi", "wasm32-wasip1") if os.path.exists("/usr/lib/rustlib/" + t))
        words = ["/usr/bin/rustc", "--edition", "2021", "--target", target, "-O", "--crate-type", "cdylib", os.path.join(WASM, "calls.rs"),
                 "-o", out]
    r = subprocess.run(words, capture_output=True, check=False, cwd=scratch)
    ok(r.returncode == 0, f"{language}: the module is compiled", r.stderr)
    with open(os.path.join(folder, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: calls\ndescription: a test\n---\n")
    return folder


def run(folder, capabilities, *steps):
    """(status, results, stderr)"""
    with open(os.path.join(folder, "manifest.yaml"), "w", encoding="utf-8") as f:
        json.dump({"name": "calls", "version": "1", "wasm": {"file": "skill.wasm"}, "capabilities": capabilities}, f)
    text = ", ".join(f'{{"f": "{name}", "t": {json.dumps(argument)}}}' for name, argument in steps)
    r = subprocess.run([CORRAL, "run", "--yes", "--skill", folder, "--input", f'{{"steps": [{text}]}}'], capture_output=True,
                       timeout=120, stdin=subprocess.DEVNULL, check=False, cwd=scratch, env=environment)
    try:
        return r.returncode, json.loads(r.stdout)["result"], r.stderr.decode()
    except ValueError:
        return r.returncode, [], f"{r.stdout[:500]} {r.stderr.decode()}"


def is_error(answer):
    return isinstance(answer, dict) and "error" in answer


def check(language, folder, name, capability, steps, granted, narrow, good, beside=None):
    """The three ways; `good` looks at the results of the granted one, which has what is in `beside`, too."""
    beside = beside or {}
    for step in steps:
        status, _, err = run(folder, {}, step)
        ok(status == 134 and f"the capability {capability} is not granted" in err, f"{language}: {step[0]} absent: stopped, and named", err)
    before = len(seen), len(mail.inbox.mails)
    status, got, err = run(folder, {capability: {"enabled": True, **narrow}}, steps[0])
    ok(status == 0 and is_error(got[0]) and got[0]["error"]["code"] == 1001, f"{language}: {name} narrowed: refused", got, err)
    ok((len(seen), len(mail.inbox.mails)) == before, f"{language}: {name} narrowed: no server was asked", seen)
    status, got, err = run(folder, {**beside, capability: {"enabled": True, **granted}}, *steps)
    ok(status == 0 and len(got) == len(steps) and not any(map(is_error, got)) and good(got), f"{language}: {name} granted: done", status, got, err)


def check_all(language):
    folder = build(language)
    page = f"http://localhost:{web.server_port}/"
    check(language, folder, "http", "http", [("http_request", {"url": page + language})],
          {"allowed_hosts": [f"localhost:{web.server_port}"]}, {"allowed_hosts": ["other.example"]},
          lambda got: got[0]["status"] == 200 and "/" + language in seen)
    check(language, folder, "mail", "email", [("send_email", {"to": "bob@allowed.example", "subject": language, "body": "text"})],
          {"allowed_recipients": ["*@allowed.example"]}, {"allowed_recipients": ["*@other.example"]},
          lambda got: f"Subject: {language}".encode() in mail.inbox.mails[-1][2])
    address = f"localhost:{listener.getsockname()[1]}"
    check(language, folder, "sockets", "network_socket",
          [("socket_open", {"address": address}), ("socket_write", {"socket": 1, "data": "hello"}), ("socket_read", {"socket": 1}),
           ("socket_close", {"socket": 1})], {"allowed_hosts": [address]}, {"allowed_hosts": ["other.example"]},
          lambda got: got[2]["data"] == "hello" and "echo" in seen)
    check(language, folder, "browser", "browser",
          [("browser_navigate", {"url": page + "page"}), ("browser_eval_js", {"script": "document.body.innerText"}),
           ("browser_screenshot", {})], {"allowed_domains": ["localhost"]}, {"allowed_domains": ["other.example"]},
          lambda got: got[0]["title"] == "Hello" and "words42" in json.dumps(got[1]) and "iVBOR" in json.dumps(got[2]),
          # A domain that leads to loopback needs a grant of that host beside it.
          {"http": {"enabled": True, "allowed_hosts": [f"localhost:{web.server_port}"]}})


try:
    os.makedirs(os.path.join(home, ".config", "corral"))
    environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": os.path.join(home, ".config"),
                   "XDG_STATE_HOME": os.path.join(home, ".state"), "XDG_CACHE_HOME": os.path.join(home, ".cache")}
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=echo, args=(listener,), daemon=True).start()
    mail = servers.Real()
    with open(os.path.join(home, ".config", "corral", "services.yaml"), "w", encoding="utf-8") as f:
        json.dump({"email": {"server": "localhost", "port": mail.port, "tls": "plain", "from": "Agent <agent@example.com>"}}, f)
    for language in ("c", "rust"):
        check_all(language)
finally:
    shutil.rmtree(scratch)
sys.exit(end())
