#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""client.py KIND HOST PORT: what Python programs do to reach a server."""

import asyncio
import socket
import struct
import sys
import urllib.request


def bracketed(host):
    return f"[{host}]" if ":" in host else host


def with_urllib(host, port):
    with urllib.request.urlopen(f"https://{bracketed(host)}:{port}/", timeout=60) as reply:
        return reply.read().decode()


def with_requests(host, port):
    import requests  # Debian's own Python has it
    reply = requests.get(f"https://{bracketed(host)}:{port}/", timeout=60)
    reply.raise_for_status()
    return reply.text


async def streams(host, port):
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"asyncio streams\n")
    await writer.drain()
    line = await reader.readline()
    writer.close()
    if not line:
        raise ConnectionError("closed without an answer")
    return line.decode()


def with_asyncio(host, port):
    return asyncio.run(asyncio.wait_for(streams(host, port), 60))


def datagram(host, port, data):
    """Connected, so that it learns when there is no server."""
    family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as sock:
        sock.settimeout(60)
        sock.connect(place)
        sock.send(data)
        return sock.recv(65536), sock.getpeername()[:2] == place[:2]


def with_udp(host, port):
    data, same = datagram(host, port, b"datagram")
    return f"{data.decode()} {same}\n"


def with_udp_large(host, port):
    sent = bytes(range(256)) * 160  # 40 kB: fragments outside
    data, _ = datagram(host, port, sent)
    return f"{len(data)} {data == sent}\n"


def with_ntp(host, port):
    data, _ = datagram(host, port, b"\x23" + bytes(47))
    seconds = struct.unpack_from("!I", data, 40)[0]
    return f"time {seconds > 2208988800}\n"


KINDS = {name[5:]: function for name, function in globals().items() if name.startswith("with_")}

try:
    print(KINDS[sys.argv[1]](sys.argv[2], int(sys.argv[3])), end="")
except Exception as problem:  # whatever the library calls it
    sys.exit(f"{type(problem).__name__}: {problem}")
