# SPDX-License-Identifier: Apache-2.0
"""A bare client of MCP over HTTP, for tests: sockets by hand, and nothing that is not asked for."""

import json
import os
import signal
import socket
import subprocess
import threading

SECONDS = 60  # for anything that could hang
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Server:
    """`corral mcp ... --http 0`, until close()."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen([*command, "--http", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.errors, self.port, self.file = [], None, None
        while self.port is None:
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(f"it does not begin: {self.errors}")
            self.errors.append(line)
            if "MCP at http://" in line:
                url, self.file = line.split("MCP at ")[1].split("; ")
                self.port = int(url.rsplit(":", 1)[1].split("/")[0])
                self.file = self.file.split(" in ", 1)[1].strip()
        with open(self.file, encoding="ascii") as file:
            self.tokens = file.read().split()
        threading.Thread(target=self.read_errors, daemon=True).start()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def client(self, token=0, **more):
        return Client(self.port, self.tokens[token], **more)


class Answer:
    """A response: its status, fields by lower-case name, and messages: of JSON one, of a stream one for each event as it comes."""

    def __init__(self, connection):
        self.file = connection.makefile("rb")
        self.connection = connection
        self.status, self.fields, self.body = 0, {}, b""
        while True:
            line = self.file.readline()
            self.status = int(line.split()[1]) if line else 0
            self.fields = {}
            while line and (line := self.file.readline().strip()):
                name, value = line.decode().split(":", 1)
                self.fields[name.lower()] = value.strip()
            if self.status != 100:
                break
        self.is_stream = self.fields.get("content-type") == "text/event-stream"
        if not self.is_stream and self.status:
            self.body = self.file.read(int(self.fields.get("content-length", 0)))

    def json(self):
        return json.loads(self.body) if self.body else None

    def next(self):
        """The next message of a stream; None: it has ended."""
        while line := self.file.readline():
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        return None

    def messages(self):
        if not self.is_stream:
            return [self.json()] if self.body else []
        return list(iter(self.next, None))

    def close(self):
        self.file.close()
        self.connection.close()


class Client:
    def __init__(self, port, token, host="127.0.0.1"):
        self.port, self.token, self.host, self.session, self.version, self.last = port, token, host, None, None, 0

    def connect(self):
        return socket.create_connection((self.host, self.port), SECONDS)

    def raw(self, data):
        """What these bytes are answered with; status 0: nothing."""
        connection = self.connect()
        try:
            connection.sendall(data)
        except OSError:
            pass
        try:
            return Answer(connection)
        except OSError:
            return None

    def head(self, method, body, fields, path="/mcp"):
        own = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}", "Accept": "application/json, text/event-stream"}
        if method == "POST":
            own.update({"Content-Type": "application/json", "Content-Length": len(body)})
        if self.session:
            own.update({"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version})
        own.update(fields)
        lines = "".join(f"{name}: {value}\r\n" for name, value in own.items() if value is not None)
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")

    def http(self, method, body=b"", path="/mcp", **fields):
        return self.raw(self.head(method, body, {name.replace("_", "-"): value for name, value in fields.items()}, path) + body)

    def post(self, message, **fields):
        return self.http("POST", json.dumps({"jsonrpc": "2.0", **message}).encode(), **fields)

    def request(self, method, params=None, **fields):
        """Of a session, or one that stands alone, with the fields that belong to it."""
        self.last += 1
        message = {"id": self.last, "method": method}
        if not self.session:
            params = {"_meta": META, **(params or {})}
            name = params.get("name", params.get("uri"))
            fields = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method, **({"Mcp_Name": name} if name else {}), **fields}
        return self.post({**message, **({} if params is None else {"params": params})}, **fields)

    def ask(self, method, params=None, **fields):
        return self.request(method, params, **fields).messages()[-1]

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def initialize(self, version="2025-11-25", capabilities=None):
        answer = self.post({"id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "by-hand", "version": "1"}}})
        self.session, self.version = answer.fields.get("mcp-session-id"), version
        self.notify("notifications/initialized")
        return answer.json()

    def notify(self, method, params=None):
        return self.post({"method": method, **({} if params is None else {"params": params})})
