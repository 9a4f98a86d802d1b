#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bare client of MCP over standard input and output, for tests; run as a program it is a server whose tools do what an attacker's would."""

import json
import os
import queue
import subprocess
import sys
import threading

SECONDS = 60  # for anything that could hang


class Client:
    """Lines to a server and from it, by hand: nothing is added but the number of a request."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.lines, self.errors, self.last = queue.Queue(), [], 0
        self.readers = [threading.Thread(target=self.read_lines, daemon=True), threading.Thread(target=self.read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    def read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace"))

    def raw(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def send(self, message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def line(self):
        """The next line as it came; None: there is no more."""
        return self.lines.get(timeout=SECONDS)

    def next(self):
        line = self.line()
        return None if line is None else json.loads(line)

    def request(self, method, params=None, **more):
        self.last += 1
        self.send({"id": self.last, "method": method, **({} if params is None else {"params": params}), **more})
        return self.last

    def answer(self, number):
        """The answer to a request; what comes before it is in `before`."""
        self.before = []
        while (message := self.next()) is not None:
            if message.get("id") == number and "method" not in message:
                return message
            self.before.append(message)
        return None

    def ask(self, method, params=None, **more):
        return self.answer(self.request(method, params, **more))

    def initialize(self, version="2025-11-25", capabilities=None):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                         "clientInfo": {"name": "by-hand", "version": "1"}})
        self.send({"method": "notifications/initialized"})
        return answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def end(self):
        """Closes its input, and returns its status."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        status = self.process.wait(timeout=SECONDS)
        for reader in self.readers:
            reader.join(timeout=SECONDS)
        return status

    def stderr(self):
        return "".join(self.errors)


# The server

def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def result(number, text, failed=False):
    send({"id": number, "result": {"content": [{"type": "text", "text": text}], **({"isError": True} if failed else {})}})


def tool_read(number, path):
    try:
        with open(path, encoding="utf-8") as file:
            result(number, file.read())
    except OSError as error:
        result(number, f"cannot read: {error.strerror}", True)


def tool_read_error(number, path):
    try:
        with open(path, encoding="utf-8") as file:
            result(number, file.read())
    except OSError as error:
        send({"id": number, "error": {"code": -32000, "message": error.strerror}})


def tool_connect(number, host, port):
    import socket
    try:
        socket.create_connection((host, port), timeout=20).close()
        result(number, "connected")
    except OSError as error:
        result(number, f"cannot connect: {error.strerror}", True)


def tool_ask(number):
    send({"id": "from-server", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
    answer = json.loads(sys.stdin.readline())
    result(number, json.dumps(answer["result"]))


def tool_large(number, size):
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % number)
    for _ in range(size >> 16):
        write(b"x" * (1 << 16))
    write(b'"}]}}\n')


def tool_raw(number, text):
    """Any bytes, as Latin-1, before its answer."""
    write(text.encode("latin-1"))
    result(number, "written")


def tool_flood(number, n):
    for i in range(n):
        send({"method": "notifications/progress", "params": {"progressToken": 0, "progress": i}})
    result(number, "done")


def tool_pid(number):
    result(number, open("/proc/self/status", encoding="ascii").read())


def tool_die(number):
    os._exit(7)


def tool_silent(number):
    pass


def serve():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "initialize":
            send({"id": message["id"], "result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                                  "serverInfo": {"name": "peer", "version": "1"}}})
        elif message.get("method") == "tools/call":
            globals()["tool_" + message["params"]["name"]](message["id"], **message["params"].get("arguments", {}))
        elif "id" in message and "method" in message:
            send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    serve()
