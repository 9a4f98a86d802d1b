#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Through the injector by HTTP/1.1: a value that comes in two parts is hidden while the second one is on its way. Prints TAP."""

import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import h2_peers  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PROXY = os.path.abspath(os.environ["INJECT_PROXY"])
VALUE = b"ghp_0123456789abcdefghijklmnopqrstuvwxyz"
SHOWN = VALUE[:-1]  # all of it but one character
RECORD = 1000
ROOM = 8 << 10  # of the sockets between the client and the injector: the kernel makes it more
RESTS_S = 2  # many times as long as the last bytes of an answer wait
CROWD = 200
TRIES = 5
RESTED = threading.Event()
GOES_ON, WENT_ON = threading.Semaphore(0), threading.Semaphore(0)


def speak(s):
    """A row of values, each in two records of TLS. Then the host has nothing to say for a while; what it said last is no part of a value."""
    n = int(s.recv(9999).split()[1][1:])
    s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"-" * (RECORD - len(SHOWN)) + SHOWN)
    for _ in range(n):
        s.sendall(VALUE[len(SHOWN):] + b"-" * (RECORD - len(VALUE)) + SHOWN)
    s.sendall(VALUE[len(SHOWN):] + b"-" * RECORD)
    RESTED.wait(h2_peers.PATIENCE_S)
    s.sendall(b"end")


def speak_in_parts(plain, context):
    """The second part of a value is in a record of TLS of which only the beginning has arrived."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(coming, going, server_side=True)

    def step(what, *words):
        while True:
            try:
                return what(*words)
            except ssl.SSLWantReadError:
                plain.sendall(going.read())
                coming.write(plain.recv(1 << 16))

    step(tls.do_handshake)
    step(tls.read, 9999)
    tls.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"-" * RECORD + SHOWN)
    plain.sendall(going.read())
    tls.write(VALUE[len(SHOWN):] + b"-" * RECORD + b"end")
    record = going.read()
    plain.sendall(record[:RECORD // 2])
    RESTED.wait(h2_peers.PATIENCE_S)
    plain.sendall(record[RECORD // 2:])
    plain.close()


def speak_twice(s):
    s.recv(9999)
    s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"-" * RECORD + SHOWN)
    GOES_ON.acquire()
    s.sendall(VALUE[len(SHOWN):] + b"-" * RECORD + b"end")
    WENT_ON.release()


def ask_busy(place):
    """The rest is here, behind more connections than are looked at in one turn, when the time is over. None: it was over before."""
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(socket.create_connection(("127.0.0.1", place.port))) for _ in range(CROWD)]
        plain = socket.create_connection(("127.0.0.1", place.port), timeout=h2_peers.PATIENCE_S)
        s = stack.enter_context(place.context.wrap_socket(plain, server_hostname="127.0.0.1"))
        s.sendall(f"GET / HTTP/1.1\r\nHost: {place.host.place}\r\n\r\n".encode())
        text = b""
        while b"-" * (RECORD // 2) not in text:
            text += s.recv(1 << 16)
        place.proxy.send_signal(signal.SIGSTOP)
        is_late = SHOWN in text or bool(select.select([s], [], [], 0)[0])
        for other in others:
            other.sendall(b"\x16\x03\x01")
        GOES_ON.release()
        WENT_ON.acquire()
        time.sleep(RESTS_S)
        place.proxy.send_signal(signal.SIGCONT)
        while not text.endswith(b"end"):
            part = s.recv(1 << 16)
            if not part:
                break
            text += part
    return None if is_late else text


class PartsHost:
    def __init__(self, certificate):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        threading.Thread(target=lambda: speak_in_parts(self.listener.accept()[0], self.context), daemon=True).start()


class Place:
    def __init__(self, folder, host):
        self.host = host
        self.proxy = subprocess.Popen([PROXY, "127.0.0.1", str(host.port), str(host.port), "ca.pem", f"{host.port}.pem", f"TOKEN={VALUE.decode()}"], cwd=folder,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PROXY_ROOM": str(ROOM)})
        self.port = int(self.proxy.stdout.readline())
        self.context = ssl.create_default_context(cafile=folder / f"{host.port}.pem")

    def end(self):
        self.proxy.stdin.close()
        self.proxy.wait()


def ask(context, port, place, n, answers):
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    plain.settimeout(h2_peers.PATIENCE_S)
    plain.connect(("127.0.0.1", port))
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as s:
        s.sendall(f"GET /{n} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        RESTED.wait(h2_peers.PATIENCE_S)
        text = b""
        while not text.endswith(b"end"):
            part = s.recv(1 << 16)
            if not part:
                break
            text += part
    answers[n] = text


def main():
    missing = h2_peers.again()
    if missing:
        skip("a value in two parts", missing)
        return end()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="is-")).resolve()
    places = []
    try:
        h2_peers.certificates(folder)
        row = Place(folder, h2_peers.Host(folder / "host.pem", None, alpn=("http/1.1",), raw=speak))
        parts = Place(folder, PartsHost(folder / "host.pem"))
        busy = Place(folder, h2_peers.Host(folder / "host.pem", None, alpn=("http/1.1",), raw=speak_twice))
        places = [row, parts, busy]
        answers, threads = {}, []
        # Where the injector has no more room lies between these; in steps of less than one read of it.
        for place, n in [(parts, 0), *[(row, n) for n in range(200, 400, 10)]]:
            threads.append(threading.Thread(target=ask, args=(place.context, place.port, place.host.place, n, answers)))
            threads[-1].start()
        time.sleep(RESTS_S)
        RESTED.set()
        for thread in threads:
            thread.join()
        ok(len(answers) == len(threads) and all(a.endswith(b"end") and a.count(b"*" * len(VALUE)) == n + 1 for n, a in answers.items()),
           "each answer arrives, with stars for each value", {n: (len(a), a[-20:]) for n, a in answers.items()})
        late = answers.pop(0, SHOWN)
        ok(not any(SHOWN in a for a in answers.values()), "and no part of one before, for a client that does not read", [n for n, a in answers.items() if SHOWN in a])
        ok(SHOWN not in late, "and none where the rest is on its way", late[-RECORD:])
        text = next((t for t in (ask_busy(busy) for _ in range(TRIES)) if t is not None), b"the injector was too fast, each time")
        ok(text.endswith(b"end") and SHOWN not in text, "and none where it has come to an injector that is busy", text[-RECORD:])
    finally:
        for place in places:
            place.end()
        shutil.rmtree(folder, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
