#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
r"""attack.py VERB ARGUMENT... [+ VERB ARGUMENT...]...: one try after the other.

    get HOST PORT [NAME]      GET / by plain HTTP, with NAME or HOST as its Host
    raw HOST PORT DATA...     sends each DATA (\r \n \s mean what they say; ~ is a pause) by itself,
                              and reads on
    say HOST PORT DATA        sends it and reads once
    hear HOST PORT            says nothing and reads once
    tls HOST PORT SNI [NAME]  the same over TLS, with SNI (-: none) in the hello; no check of names
    late HOST PORT SNI NAME   the same, after a pause
    hello HOST PORT SNI SIZE  only a hello, in records of SIZE bytes, each by itself after a pause
    ssl2 HOST PORT HEAD SIZE  only a hello in the framing of SSL 2, with a head of HEAD bytes, in pieces
                              of SIZE bytes after a pause
    udp HOST PORT DATA        a datagram, and an answer
    dns SERVER PORT NAME [TYPE] [tcp]   a question to that server
    ask NAME                  a question to the resolver of the C library

Each prints one line: what came back, or the error.
"""

import errno
import random
import re
import socket
import ssl
import struct
import sys
import time

WAIT = 60  # what is denied must fail by itself
PAUSE = 0.7
PAUSES = 100  # most that are made between pieces: a hello has ten seconds


def where(host, port, kind):
    return socket.getaddrinfo(host, int(port), type=kind)[0]


def connect(host, port):
    return socket.create_connection((host, int(port)), timeout=WAIT)


def read_all(sock):
    text = b""
    try:
        while data := sock.recv(65536):
            text += data
    except OSError as error:
        text += f" ({name_of(error)})".encode()
    return text


def request(name):
    return f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()


def body(text):
    return text.partition(b"\r\n\r\n")[2] or text


def get(host, port, name=None):
    own = f"[{host}]" if ":" in host else host
    with connect(host, port) as sock:
        sock.sendall(request(name or (own if port == "80" else f"{own}:{port}")))
        return body(read_all(sock))


def plain(piece):
    return piece.replace("\\s", " ").encode().decode("unicode_escape").encode()


def raw(host, port, *pieces):
    with connect(host, port) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                if piece == "~":
                    time.sleep(PAUSE)
                else:
                    sock.sendall(plain(piece))
        except OSError:
            pass  # the reason is there to be read
        return re.sub(rb"Date: .*\r\n", b"", read_all(sock))  # two runs are compared


def say(host, port, data):
    with connect(host, port) as sock:
        sock.sendall(plain(data))
        return sock.recv(4096)


def hear(host, port):
    return say(host, port, "")


def tls(host, port, sni, name=None, pause=0):
    context = ssl.create_default_context()
    context.check_hostname = False
    with connect(host, port) as sock:
        time.sleep(pause)
        with context.wrap_socket(sock, server_hostname=None if sni == "-" else sni) as secure:
            secure.sendall(request(name or host))
            return body(read_all(secure))


def late(host, port, sni, name):
    return tls(host, port, sni, name, 4 * PAUSE)


def hello(host, port, sni, size):
    """What a server answers to a hello begins with a record of the same kind."""
    sent = ssl.MemoryBIO()
    try:
        context = ssl.create_default_context()
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=sni).do_handshake()
    except ssl.SSLWantReadError:
        pass
    message, size = sent.read()[5:], int(size)
    with connect(host, port) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(message), size):
            part = message[at:at + size]
            sock.sendall(b"\x16\x03\x01" + struct.pack("!H", len(part)) + part)
            time.sleep(0.001 if at < PAUSES * size else 0)
        answer = sock.recv(100)
    return b"answered" if answer[:1] == b"\x16" else b"not answered"


def ssl2(host, port, head, size):
    """Taken for a hello of TLS 1.2 without a name; the challenge is its random. A server that knows
    it for TLS answers by a record of TLS, be it that it wants better suites."""
    suites = b"".join(b"\0" + suite for suite in (b"\xc0\x2b", b"\xc0\x2f", b"\x00\x9c"))
    message = b"\x01\x03\x03" + struct.pack("!HHH", len(suites), 0, 32) + suites + b"0123456789abcdef" * 2
    message = {"2": struct.pack("!H", 0x8000 | len(message)),
               "3": struct.pack("!HB", len(message), 0)}[head] + message
    with connect(host, port) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(message), int(size)):
            sock.sendall(message[at:at + int(size)])
            time.sleep(0.001)
        answer = sock.recv(100)
    return b"answered" if answer[:2] in (b"\x16\x03", b"\x15\x03") else b"not answered"


def udp(host, port, data):
    family, kind, _, _, place = where(host, port, socket.SOCK_DGRAM)
    with socket.socket(family, kind) as sock:
        sock.settimeout(WAIT)
        sock.connect(place)
        sock.send(data.encode())
        return sock.recv(65536)


def question(name, kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    head = struct.pack("!HHHHHH", random.randrange(65536), 0x100, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack("!HH", int(kind), 1)


def dns(server, port, name, kind="1", by="udp"):
    """Where there is no server, nothing comes back: then a second is enough."""
    family, _, _, _, place = where(server, port, socket.SOCK_STREAM)
    query = question(name, kind)
    if by == "tcp":
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(WAIT)
            sock.connect(place)
            sock.sendall(struct.pack("!H", len(query)) + query)
            answer = sock.recv(65536)[2:]
    else:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.settimeout(WAIT)
            sock.connect(place)
            sock.send(query)
            answer = sock.recv(65536)
    if len(answer) < 12:
        raise ConnectionError("no answer")
    return f"code {answer[3] & 15}, {struct.unpack_from('!H', answer, 6)[0]} records".encode()


def ask(name):
    return " ".join(sorted({item[4][0] for item in socket.getaddrinfo(name, 80)})).encode()


def name_of(error):
    if isinstance(error, socket.gaierror):
        return f"no address: {error.strerror}"
    return errno.errorcode.get(error.errno, str(error)) if error.errno else str(error)


def main():
    verb = []
    for word in [*sys.argv[1:], "+"]:
        if word != "+":
            verb.append(word)
            continue
        try:
            text = globals()[verb[0]](*verb[1:]).decode(errors="replace")
        except (OSError, UnicodeError) as error:
            text = f"error {name_of(error) if isinstance(error, OSError) else error}"
        print(f"{verb[0]}: {' '.join(text.split())}", flush=True)
        verb = []


if __name__ == "__main__":
    main()
