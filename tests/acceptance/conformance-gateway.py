#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of MCP against mcp-fixture behind `corral mcp gateway --http`: each scenario that a revision requires of servers, by its name,
but those that a gateway cannot pass (WITHOUT), which must fail. The suite knows the names of the fixture's tools and prompts as they are: a proxy
between it and the gateway puts the server's name before them, and takes it away in answers. Prints TAP."""

import argparse
import http.client
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from conformance import PATIENCE_S, REQUIRED, Suite, failures, tap  # noqa: E402

SERVER = "f"
HEAD = f"{SERVER}__"
ASKS = "the fixture asks its client; a gateway passes no requests of servers on"
LOGS = "a gateway passes no messages of servers for the client's log on, since they are for no one call"
SUBSCRIBES = "a gateway offers no subscriptions to single resources"
INPUTS = """basic-elicitation basic-sampling basic-list-roots request-state multiple-input-requests multi-round missing-input-response non-tool-request
    result-type tampered-state capability-check validate-input""".split()
# Required, and failed by design: name -> why.
WITHOUT = {
    "2026-07-28": {**{f"input-required-result-{name}": ASKS for name in INPUTS},
                   "server-stateless": "what a client declares is not passed on to servers, and a client hears of changes of lists only if what it sees has changed"},
    "2025-11-25": {"tools-call-sampling": ASKS, "tools-call-elicitation": ASKS, "elicitation-sep1034-defaults": ASKS, "elicitation-sep1330-enums": ASKS,
                   "tools-call-with-logging": LOGS, "logging-set-level": LOGS, "resources-subscribe": SUBSCRIBES, "resources-unsubscribe": SUBSCRIBES},
}
# Of these, only these checks fail.
CHECKS = {"server-stateless": {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
                               "sep-2575-server-sends-prompts-list-changed-on-subscription", "sep-2575-server-sends-tools-list-changed-on-subscription"}}


def translate(body):
    """A request of the suite, as the gateway has its names."""
    try:
        message = json.loads(body)
    except ValueError:
        return body
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return body
    if message.get("method") in ("tools/call", "prompts/get") and isinstance(params.get("name"), str):
        params["name"] = HEAD + params["name"]
    ref = params.get("ref")
    if isinstance(ref, dict) and ref.get("type") == "ref/prompt":
        ref["name"] = HEAD + str(ref.get("name"))
    return json.dumps(message).encode()


class Proxy(http.server.BaseHTTPRequestHandler):
    """One request to the gateway, and its answer as it comes."""

    protocol_version = "HTTP/1.1"
    gateway = ""  # host:port

    def log_message(self, *_):
        pass

    def forward(self):
        length = int(self.headers.get("content-length") or 0)
        body = translate(self.rfile.read(length)) if length else None
        own = f"{self.server.server_address[0]}:{self.server.server_address[1]}"
        link = http.client.HTTPConnection(self.gateway, timeout=PATIENCE_S)
        link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() in ("content-length", "connection", "transfer-encoding"):
                continue
            if name.lower() in ("host", "origin"):
                value = value.replace(own, self.gateway)
            if name.lower() == "mcp-name" and self.headers.get("mcp-method") in ("tools/call", "prompts/get"):
                value = HEAD + value
            link.putheader(name, value)
        if body is not None:
            link.putheader("Content-Length", str(len(body)))
        link.putheader("Connection", "close")
        link.endheaders(body)
        try:
            self.answer(link.getresponse())
        except (BrokenPipeError, ConnectionResetError):
            pass
        link.close()

    def answer(self, response):
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        body = b"" if is_stream else response.read().replace(f'"{HEAD}'.encode(), b'"')
        self.close_connection = True
        self.send_response_only(response.status, response.reason)
        for name, value in response.headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if not is_stream:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        while is_stream and (line := response.readline()):
            self.wfile.write(line.replace(f'"{HEAD}'.encode(), b'"'))

    do_GET = do_POST = do_DELETE = do_OPTIONS = forward


class Gateway:
    """`corral mcp gateway --http` with the fixture behind it, approved, and the proxy before it."""

    def __init__(self, corral, fixture, root, name):
        self.corral, self.root = corral, root / name
        home = root / f"home-{name}"
        for folder in (self.root, home):
            folder.mkdir()
        self.file, self.tokens = self.root / "gateway.json", self.root / "tokens"
        self.environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "CORRAL_AUDIT": "none"}
        entry = {"command": [str(fixture), "-"], "options": ["--read", str(fixture.parent)], "prompts": True, "resources": True}
        self.file.write_text(json.dumps({"servers": {SERVER: entry}}), encoding="utf-8")

    def run(self, *words, **more):
        return subprocess.Popen([self.corral, "mcp", *words], cwd=self.root, env=self.environment, stderr=subprocess.PIPE, text=True, **more)

    def __enter__(self):
        with self.run("approve", "--yes", str(self.file), stdout=subprocess.PIPE) as done:
            said = done.communicate(timeout=PATIENCE_S)
        tap.ok(done.returncode == 0, "the fixture is approved", *said)
        self.process = self.run("gateway", "--http", "0", "--token-file", str(self.tokens), str(self.file))
        lines = iter(self.process.stderr.readline, "")
        url = next((line.split("MCP at ", 1)[1].split(";")[0] for line in lines if "MCP at " in line), "")
        # What it says later is not waited for.
        threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
        Proxy.gateway = urllib.parse.urlsplit(url).netloc
        self.await_fixture()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/mcp"
        return self

    def await_fixture(self):
        """A call waits until the fixture has listed what it has."""
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        name = HEAD + "test_simple_text"
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}, "_meta": meta}}
        link = http.client.HTTPConnection(Proxy.gateway, timeout=PATIENCE_S)
        link.request("POST", "/mcp", json.dumps(body), {
            "Authorization": f"Bearer {self.tokens.read_text(encoding='ascii').strip()}", "Content-Type": "application/json", "Mcp-Name": name,
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"})
        answer = link.getresponse().read().decode()
        tap.ok("This is a simple text response" in answer, "the fixture answers behind the gateway", answer)
        link.close()

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.process.send_signal(signal.SIGTERM)
        tap.ok(self.process.wait(PATIENCE_S) == 0, "the gateway ends as it should", self.process.returncode)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--fixture", required=True, type=pathlib.Path)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--agents", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.fixture = arguments.fixture.resolve()
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root).resolve()
        suite = Suite(arguments, root)
        if suite.missing:
            print(f"1..0 # SKIP {suite.missing}: `tools/setup agents` fetches it")
            return 0
        for revision, required in REQUIRED.items():
            with Gateway(arguments.corral, arguments.fixture, root, f"gateway-{revision}") as gateway:
                results, done = suite.results_at(revision, gateway.url, gateway.tokens)
            for name in sorted(required):
                checks, why = results.get(name), WITHOUT[revision].get(name)
                said = failures(checks) if checks else [done.stdout[-2000:], done.stderr[-2000:]]
                if why:
                    failed = {line.split(":")[0] for line in failures(checks or [])}
                    tap.ok(failed and failed == CHECKS.get(name, failed), f"{revision}: {name}: it fails, by design: {why}", *said)
                else:
                    tap.ok(checks and not failures(checks), f"{revision}: {name}", *said)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
