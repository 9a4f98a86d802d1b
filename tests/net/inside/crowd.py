#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crowd.py KIND HOST PORT N: N connections at once, and a request to web.example.com meanwhile.

    half     each sends the start of a hello of TLS, and no more
    denied   each is refused
    echo     each sends a text of its own, and gets it back
    silent   each says nothing
    flood    each is held until all are there, or were refused; then all are closed
"""

import asyncio
import resource
import sys
import urllib.request

HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(20)


def request():
    with urllib.request.urlopen("http://web.example.com/", timeout=60) as reply:
        return reply.read().decode().strip()


async def half(host, port, _):
    _, writer = await asyncio.open_connection(host, port)
    writer.write(HELLO)
    await writer.drain()
    return writer


async def denied(host, port, _):
    """Whether it was refused: at once, or as soon as it reads."""
    try:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"x")
        return not await reader.read(100)
    except OSError:
        return True


async def echo(host, port, number):
    reader, writer = await asyncio.open_connection(host, port)
    text = f"{number}\n".encode() * 1000
    writer.write(text)
    answer = await reader.readexactly(len(text))
    writer.close()
    return answer == text


async def silent(host, port, _):
    try:
        return (await asyncio.open_connection(host, port))[1]
    except OSError:
        return None


flood = silent
WORDS = {"half": "open", "denied": "refused", "echo": "right", "silent": "done", "flood": "done"}


async def main(kind, host, port, count):
    meet = globals()[kind]
    found = []
    for start in range(0, count, 100):  # not more at once than a queue of connections holds
        found += await asyncio.gather(
            *(meet(host, port, n) for n in range(start, min(count, start + 100))))
    print(WORDS[kind], sum(map(bool, found)), flush=True)
    if kind == "flood":
        for writer in filter(None, found):
            writer.transport.abort()
        await asyncio.sleep(0)
    print(await asyncio.to_thread(request))


resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
