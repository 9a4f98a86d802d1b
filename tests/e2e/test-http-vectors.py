#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of RFC 9112 and beside it, each with the status that corrald-http must answer: what two readers could
understand differently is refused, and behind what was refused nothing is read. As root, once more as an ordinary user. Prints
TAP."""

import os
import re
import socket
import sys

import daemon_tap as daemon
from broker_tap import end, ok

# What would be answered with 200 if it were read as a request of its own.
INNER = "GET /api/health HTTP/1.1\r\nHost: HOST\r\n\r\n"
GET = "GET /api/health HTTP/1.1\r\n"
HOST = "Host: HOST\r\n"
POST = "POST /api/policies/lint HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\n"
BODY = '{"policy":"fs: {}"}'
LENGTH = f"Content-Length: {len(BODY)}\r\n"

# (what, the request, statuses in their order)
ROWS = (
    # Good ones, so that a refusal below means something.
    ("a request", GET + HOST + "\r\n", [200]),
    ("a body", POST + LENGTH + "\r\n" + BODY, [200]),
    ("names of fields in any case", GET + "hOsT: HOST\r\n\r\n", [200]),
    ("no space behind a colon", GET + "Host:HOST\r\n\r\n", [200]),
    ("tabs and spaces around a value", GET + "Host: \t HOST \t\r\n\r\n", [200]),
    ("an empty value", GET + HOST + "X:\r\n\r\n", [200]),
    ("pipelining", (GET + HOST + "\r\n") * 5, [200] * 5),
    ("pipelining behind a body", POST + LENGTH + "\r\n" + BODY + INNER, [200, 200]),
    ("a query", "GET /api/health?x=1 HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    # The request line.
    ("no version", "GET /api/health\r\n" + HOST + "\r\n", [400]),
    ("HTTP/0.9", "GET /api/health\r\n\r\n", [400]),
    ("HTTP/1.2", "GET /api/health HTTP/1.2\r\n" + HOST + "\r\n", [400]),
    ("HTTP/2.0", "GET /api/health HTTP/2.0\r\n" + HOST + "\r\n", [400]),
    ("HTTP/11", "GET /api/health HTTP/11\r\n" + HOST + "\r\n", [400]),
    ("HTTP/1.10", "GET /api/health HTTP/1.10\r\n" + HOST + "\r\n", [400]),
    ("HTTP/+1.1", "GET /api/health HTTP/+1.1\r\n" + HOST + "\r\n", [400]),
    ("http/1.1", "GET /api/health http/1.1\r\n" + HOST + "\r\n", [400]),
    ("another protocol", "GET /api/health XTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a word behind the version", "GET /api/health HTTP/1.1 x\r\n" + HOST + "\r\n", [400]),
    ("a space behind the version", "GET /api/health HTTP/1.1 \r\n" + HOST + "\r\n", [400]),
    ("two spaces", "GET  /api/health HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("tabs", "GET\t/api/health\tHTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a space in front", " " + GET + HOST + "\r\n", [400]),
    ("a line in front", "x\r\n" + GET + HOST + "\r\n", [400]),
    ("no method", " /api/health HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a method that is no token", "G(T /api/health HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a NUL in the method", "G\0T /api/health HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a method in small letters", "get /api/health HTTP/1.1\r\n" + HOST + "\r\n", [405]),
    ("an unknown method", "BREW /api/health HTTP/1.1\r\n" + HOST + "\r\n", [405]),
    ("a long method", "G" * 4000 + " /api/health HTTP/1.1\r\n" + HOST + "\r\n", [405]),
    ("TRACE", "TRACE /api/health HTTP/1.1\r\n" + HOST + "\r\n", [405]),
    ("HEAD", "HEAD /api/health HTTP/1.1\r\n" + HOST + "\r\n", [405]),
    # The target.
    ("absolute form", "GET http://HOST/api/health HTTP/1.1\r\n" + HOST + "\r\n", [200]),
    ("absolute form, another host", "GET http://evil.example/api/health HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("authority form", "CONNECT HOST HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("authority form of another method", "GET HOST HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("asterisk form", "OPTIONS * HTTP/1.1\r\n" + HOST + "\r\n", [404]),
    ("asterisk form of another method", "GET * HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("no slash", "GET api/health HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("two slashes", "GET //api/health HTTP/1.1\r\n" + HOST + "\r\n", [404]),
    ("dots", "GET /api/x/../health HTTP/1.1\r\n" + HOST + "\r\n", [404]),
    ("a fragment", "GET /api/health#x HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a NUL in the target", "GET /api/health\0 HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a control character in the target", "GET /api/\x7fhealth HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a carriage return in the target", "GET /api/\rhealth HTTP/1.1\r\n" + HOST + "\r\n", [400]),
    ("a backslash", "GET /api\\health HTTP/1.1\r\n" + HOST + "\r\n", [404]),
    ("an encoding that is none", "GET /api/sandboxes/%zz HTTP/1.1\r\n" + HOST + "Authorization: Bearer TOKEN\r\n\r\n", [400]),
    ("an encoding that is cut off", "GET /api/sandboxes/a%2 HTTP/1.1\r\n" + HOST + "Authorization: Bearer TOKEN\r\n\r\n", [400]),
    ("an encoded NUL", "GET /api/sandboxes/a%00b HTTP/1.1\r\n" + HOST + "Authorization: Bearer TOKEN\r\n\r\n", [400]),
    ("a long target", "GET /" + "a" * 9000 + " HTTP/1.1\r\n" + HOST + "\r\n", [431]),
    # Fields.
    ("no Host", GET + "\r\n", [400]),
    ("an empty Host", GET + "Host:\r\n\r\n", [400]),
    ("two Hosts", GET + HOST + HOST + "\r\n", [400]),
    ("two Hosts in one line", GET + "Host: HOST, HOST\r\n\r\n", [400]),
    ("a Host with a user", GET + "Host: user@HOST\r\n\r\n", [400]),
    ("a Host with a path", GET + "Host: HOST/x\r\n\r\n", [400]),
    ("a Host with a space", GET + "Host: HOST x\r\n\r\n", [400]),
    ("a Host of another name", GET + "Host: evil.example\r\n\r\n", [403]),
    ("a folded field", GET + HOST + "X: a\r\n b\r\n\r\n", [400]),
    ("a folded field by a tab", GET + HOST + "X: a\r\n\tb\r\n\r\n", [400]),
    ("a first field that is folded", GET + " X: a\r\n" + HOST + "\r\n", [400]),
    ("a folded Host", GET + "Host:\r\n HOST\r\n\r\n", [400]),
    ("a space before the colon", GET + "Host : HOST\r\n\r\n", [400]),
    ("a tab before the colon", GET + "Host\t: HOST\r\n\r\n", [400]),
    ("a space in a name", GET + HOST + "X Y: a\r\n\r\n", [400]),
    ("no colon", GET + HOST + "X\r\n\r\n", [400]),
    ("no name", GET + HOST + ": x\r\n\r\n", [400]),
    ("a name that is no token", GET + HOST + "X(Y: a\r\n\r\n", [400]),
    ("a name beyond ASCII", GET + HOST + "X\xe9: a\r\n\r\n", [400]),
    ("a NUL in a name", GET + HOST + "X\0: a\r\n\r\n", [400]),
    ("a NUL in a value", GET + HOST + "X: a\0b\r\n\r\n", [400]),
    ("a control character in a value", GET + HOST + "X: a\x01b\r\n\r\n", [400]),
    ("a carriage return in a value", GET + HOST + "X: a\rb\r\n\r\n", [400]),
    ("line feeds alone", (GET + HOST + "\r\n").replace("\r", ""), [400]),
    ("one line feed alone", GET + HOST.replace("\r", "") + "\r\n", [400]),
    ("an end of line feeds alone", GET + HOST + "\n\n", [400]),
    ("carriage returns alone", (GET + HOST + "\r\n").replace("\n", "") + "\r\n\r\n", [400]),
    ("a field that is too long", GET + HOST + "X: " + "a" * 9000 + "\r\n\r\n", [431]),
    ("too many fields", GET + HOST + "X: a\r\n" * 2000 + "\r\n", [431]),
    # Lengths.
    ("two lengths", POST + LENGTH + LENGTH + "\r\n" + BODY, [400]),
    ("two lengths in one line", POST + f"Content-Length: {len(BODY)}, {len(BODY)}\r\n\r\n" + BODY, [400]),
    ("two lengths that differ", POST + "Content-Length: 0\r\n" + LENGTH + "\r\n" + BODY, [400]),
    ("a length with a sign", POST + f"Content-Length: +{len(BODY)}\r\n\r\n" + BODY, [400]),
    ("a length below 0", POST + "Content-Length: -1\r\n\r\n" + BODY, [400]),
    ("a hexadecimal length", POST + f"Content-Length: {len(BODY):#x}\r\n\r\n" + BODY, [400]),
    ("a length with an exponent", POST + "Content-Length: 1e1\r\n\r\n" + BODY, [400]),
    ("an empty length", POST + "Content-Length:\r\n\r\n" + BODY, [400]),
    ("a length of words", POST + "Content-Length: 1 9\r\n\r\n" + BODY, [400]),
    ("a length that overflows", POST + "Content-Length: 18446744073709551616\r\n\r\n" + BODY, [400]),
    ("a length that wraps around", POST + f"Content-Length: {2**64 + len(BODY)}\r\n\r\n" + BODY, [400]),
    ("a length of many digits", POST + "Content-Length: " + "9" * 100 + "\r\n\r\n" + BODY, [400]),
    ("a length beyond the bound", POST + "Content-Length: 2097153\r\n\r\n", [413]),
    # It is a request without a body, which this path refuses by itself, and a second one.
    ("a length under another name", POST + "Content_Length: 19\r\n\r\n" + INNER, [400, 200]),
    ("a body of GET", GET + HOST + "Content-Length: 5\r\n\r\nhello", [413]),
    # Transfer codings: none is taken.
    ("chunks", POST + "Transfer-Encoding: chunked\r\n\r\n13\r\n" + BODY + "\r\n0\r\n\r\n", [411]),
    ("chunks of GET", GET + HOST + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [411]),
    ("chunks, and a length", POST + LENGTH + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER, [400]),
    ("a length, and chunks", POST + "Transfer-Encoding: chunked\r\n" + LENGTH + "\r\n0\r\n\r\n" + INNER, [400]),
    ("chunks twice", POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER, [400]),
    ("chunks in chunks", POST + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" + INNER, [400]),
    ("chunks that are not last", POST + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + INNER, [400]),
    ("gzip, chunked", POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + INNER, [400]),
    ("identity", POST + "Transfer-Encoding: identity\r\n" + LENGTH + "\r\n" + BODY, [400]),
    ("xchunked", POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER, [400]),
    ("chunked in other letters", POST + "Transfer-Encoding: cHuNkEd\r\n\r\n0\r\n\r\n" + INNER, [411]),
    ("chunked behind a vertical tab", POST + "Transfer-Encoding: \x0bchunked\r\n" + LENGTH + "\r\n" + BODY, [400]),
    ("an empty coding", POST + "Transfer-Encoding:\r\n" + LENGTH + "\r\n" + BODY, [400]),
    ("a coding with a space before the colon", POST + "Transfer-Encoding : chunked\r\n" + LENGTH + "\r\n" + BODY, [400]),
    ("a bad size of a chunk", POST + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + INNER, [411]),
    ("a size of a chunk that overflows", POST + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + INNER, [411]),
    ("an extension of a chunk", POST + "Transfer-Encoding: chunked\r\n\r\n0;a=b\r\n\r\n" + INNER, [411]),
    ("trailers", POST + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX: y\r\n\r\n" + INNER, [411]),
    # Others.
    ("Expect of a body that is there", POST + LENGTH + "Expect: 100-continue\r\n\r\n" + BODY, [200]),
    ("an expectation that is not known is not heard", POST + LENGTH + "Expect: tea\r\n\r\n" + BODY, [200]),
    ("an upgrade", GET + HOST + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + INNER, [400]),
    ("HTTP/2 by its preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]),
    ("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", [400]),
    ("behind what was refused nothing is read", GET + "\r\n" + INNER, [400]),
    ("Connection: close ends it", GET + HOST + "Connection: close\r\n\r\n" + INNER, [200]),
    ("it ends behind an answer that takes time, too", POST + LENGTH + "Connection: x, Close\r\n\r\n" + BODY + INNER, [200]),
    ("HTTP/1.0 ends it", "GET /api/health HTTP/1.0\r\n" + HOST + "\r\n" + INNER, [200]),
)


def exchange(d, data, n):
    """The statuses of all that is answered: until the daemon closes, or n answers are there and no more comes."""
    # The token is for the Unix socket.
    with d.connect(unix=b"Bearer" in data) as s:
        s.sendall(data)
        got = b""
        try:
            while piece := s.recv(65536):
                got += piece
                if len(statuses(got)) >= n and statuses(got)[-1] == 200:
                    s.settimeout(0.05)
        except (TimeoutError, ConnectionResetError):
            pass
    return statuses(got), got


def statuses(got):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]


def test_vectors(d):
    # The token is for the Unix socket, which has no name of its own.
    fill = lambda text: text.replace("HOST", "localhost" if "Bearer" in text else d.host).replace("TOKEN", d.token).encode("latin-1")
    for name, text, wanted in ROWS:
        found, got = exchange(d, fill(text), len(wanted))
        ok(found == wanted, f"{name}: {', '.join(map(str, wanted))}", found, got[:200])
    ok(d.status()["http"]["restarts"] == 0, "and corrald-http is the one that was started")


def test_pieces(d):
    """However a request is cut, it is the same one."""
    request = f"GET /api/health HTTP/1.1\r\nHost: {d.host}\r\nConnection: close\r\n\r\n".encode()
    found = []
    for at in range(1, len(request), 3):
        with socket.create_connection(("127.0.0.1", d.port), timeout=daemon.PATIENCE) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.sendall(request[:at])
            s.sendall(request[at:])
            got = b""
            while piece := s.recv(65536):
                got += piece
            found += statuses(got)
    ok(found and set(found) == {200}, "a request in two pieces, cut anywhere", found)


def main():
    d = daemon.Daemon()
    try:
        d.start()
        test_vectors(d)
        test_pieces(d)
    finally:
        d.end()
    if os.geteuid() == 0:
        daemon.as_user(__file__)
    return end()


sys.exit(main())
