#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lazy.py WORD ARGUMENT…: one step after another, each prints a line.

    talk HOST PORT         the first line that comes back, or why there is none
    datagram ADDRESS PORT  likewise
    lookup NAME            its addresses, or why there are none
    ask SERVER NAME        the code of a name server's answer, by UDP and TCP
    bind ADDRESS PORT      a server, until the end
    many COUNT SUFFIX      how many of that many names have an address, and why the next has none
"""

import errno
import socket
import struct
import sys

SECONDS = 60  # nothing waits as long
held = []


def why(problem):
    return errno.errorcode.get(problem.errno, str(problem.errno))


def gai(problem):
    names = {socket.EAI_NONAME: "no such name", socket.EAI_NODATA: "no address",
             socket.EAI_AGAIN: "try again"}
    return names.get(problem.errno, str(problem))


def talk(host, port):
    with socket.create_connection((host, int(port)), SECONDS) as sock:
        sock.sendall(b"hello\n")
        return (sock.recv(100).decode().splitlines() or ["closed"])[0]


def datagram(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(SECONDS)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        # With its scope, if it has one.
        sock.connect(socket.getaddrinfo(address, int(port), type=socket.SOCK_DGRAM)[0][4])
        sock.send(b"hello")
        return sock.recv(100).decode()


def lookup(name):
    found = socket.getaddrinfo(name, 1, type=socket.SOCK_STREAM)
    return " ".join(sorted(row[4][0] for row in found))


def ask(server, name):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(SECONDS)
        sock.connect((server, 53))
        sock.send(query)
        by_udp = sock.recv(512)[3] & 15
    with socket.create_connection((server, 53), SECONDS) as sock:
        sock.sendall(struct.pack("!H", len(query)) + query)
        by_tcp = sock.recv(512)[5] & 15
    return f"{by_udp} {by_tcp}"


def bind(address, port):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    held.append(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, int(port)))
    sock.listen()
    return "bound"


def many(count, suffix):
    for i in range(int(count)):
        try:
            socket.getaddrinfo(f"n{i}.{suffix}", 1, type=socket.SOCK_STREAM)
        except socket.gaierror as problem:
            return f"{i} {gai(problem)}"
    return count


STEPS = {"talk": (talk, 2), "datagram": (datagram, 2), "lookup": (lookup, 1), "ask": (ask, 2),
         "bind": (bind, 2), "many": (many, 2)}
words = sys.argv[1:]
while words:
    function, n = STEPS[words[0]]
    try:
        print(function(*words[1:1 + n]), flush=True)
    except socket.gaierror as problem:
        print(gai(problem), flush=True)
    except OSError as problem:
        print(why(problem), flush=True)
    words = words[1 + n:]
