#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host whose certificate or TLS is not to be trusted (badssl.py): the injector sends it no request, and says which host it is and
why. Prints TAP."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
import badssl  # noqa: E402
from broker_tap import end, ok  # noqa: E402

PROXY = os.path.abspath(os.environ["INJECT_PROXY"])
HOST = "api.corral.example"
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


def plain():
    """A host without TLS; what it is sent."""
    got = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            got.append(connection.recv(4096))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def ask(port, certificate, placeholder):
    """The answer's first line, or b""."""
    context = ssl.create_default_context(cafile=certificate)
    try:
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60), server_hostname=HOST) as s:
            s.sendall(f"GET / HTTP/1.0\r\nHost: {HOST}\r\nAuthorization: {placeholder}\r\n\r\n".encode())
            return s.makefile("rb").readline()
    except OSError:
        return b""


def one(folder, name, row, words):
    with contextlib.ExitStack() as stack:
        port = None
        if words:
            server = stack.enter_context(subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                                          env={**os.environ, "OPENSSL_CONF": os.path.join(folder, "weak.conf")}))
            stack.callback(server.kill)
            said = []
            while not port and (line := server.stdout.readline().decode(errors="replace")):
                said.append(line)
                port = line.startswith("ACCEPT") and int(line.rpartition(":")[2])
            if not port:
                ok(False, f"{name}: the server starts", said)
                return
            threading.Thread(target=server.stdout.read, daemon=True).start()
        else:
            port = plain()
        proxy = subprocess.Popen([PROXY, HOST, "443", str(port), "ca.crt", "injector.pem", f"TOKEN={VALUE}"], cwd=folder, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        listens, placeholder = int(proxy.stdout.readline()), proxy.stdout.readline().strip()
        answer = ask(listens, os.path.join(folder, "injector.pem"), placeholder)
        why = proxy.communicate("")[1]
        if row["reason"]:
            ok(not answer and HOST in why and row["reason"].lower() in why.lower(), f"{name} is refused: {why.strip()}", answer, why)
        else:
            ok(answer.startswith(b"HTTP/1.0 200"), f"{name} is accepted", answer, why)


def main():
    folder = badssl.scratch()
    try:
        for name, row, words in badssl.rows(folder, HOST):
            one(folder, name, row, words)
    finally:
        badssl.remove(folder)
    return end()


if __name__ == "__main__":
    sys.exit(main())
