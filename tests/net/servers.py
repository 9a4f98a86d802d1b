# SPDX-License-Identifier: Apache-2.0
"""Servers of the runner's own: names, echoes, and sinks that remember who came.

They all run in one thread, in whichever namespace their sockets were made. What arrived is in
`log`, a list of Event; settle() returns when everything that had been sent before is in it. So that
something is not in the log means that it never arrived.
"""

import collections
import ipaddress
import os
import selectors
import socket
import struct
import threading
import time

from world import ATTACKER, ATTACKER6, ECHO, ECHO6, WEB, WEB6, GIT, DATABASE

A, CNAME, TXT, AAAA = 1, 5, 16, 28
TYPES = {A: "A", CNAME: "CNAME", TXT: "TXT", AAAA: "AAAA"}

# server: the name that it was made with. what: "came", "data", "gone", or "query". text: the bytes,
# or the name and the type asked for.
Event = collections.namedtuple("Event", "server what text")


class Servers:
    def __init__(self):
        self.log = []
        self.selector = selectors.DefaultSelector()
        self.wake, waker = os.pipe()
        self.selector.register(self.wake, selectors.EVENT_READ, self.woken)
        self.waker = waker
        self.idle = threading.Condition()
        self.asked = self.settled = 0
        self.going = True
        self.thread = threading.Thread(target=self.run, daemon=True)

    # -- the loop --

    def start(self):
        self.thread.start()

    def run(self):
        while self.going:
            ready = self.selector.select(0 if self.asked > self.settled else None)
            for key, _ in ready:
                key.data(key.fileobj)
            if not ready:
                with self.idle:
                    self.settled = self.asked
                    self.idle.notify_all()

    def woken(self, _):
        os.read(self.wake, 4096)

    def settle(self):
        """Everything that was sent before this call has been logged when it returns."""
        with self.idle:
            self.asked += 1
            mine = self.asked
            os.write(self.waker, b"x")
            self.idle.wait_for(lambda: self.settled >= mine, timeout=60)

    def end(self):
        self.going = False
        os.write(self.waker, b"x")
        self.thread.join()

    def watch(self, sock, ready):
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ, ready)

    def close(self, sock):
        self.selector.unregister(sock)
        sock.close()

    def note(self, server, what, text=b""):
        self.log.append(Event(server, what, text))

    # -- what is in the log --

    def since(self, mark):
        self.settle()
        return self.log[mark:]

    def await_event(self, mark, event, seconds):
        """Whether it comes within that time."""
        end = time.monotonic() + seconds
        while event not in self.since(mark):
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    # -- streams and datagrams --

    def stream(self, name, where, answer, backlog=512):
        """answer(data): bytes to send back and whether to go on; is told of all that arrives."""
        def accept(sock):
            try:
                peer, _ = sock.accept()
            except OSError:
                return
            self.note(name, "came")
            self.watch(peer, read)

        def read(peer):
            try:
                data = peer.recv(65536)
                if data:
                    self.note(name, "data", data)
                    reply, more = answer(data)
                    peer.setblocking(True)
                    peer.sendall(reply)
                    peer.setblocking(False)
                    if more:
                        return
            except OSError:
                pass
            self.note(name, "gone")
            self.close(peer)

        self.watch(bound(socket.SOCK_STREAM, where, backlog), accept)

    def datagrams(self, name, where, answer):
        def ready(sock):
            try:
                data, peer = sock.recvfrom(65536)
                self.note(name, "data", data)
                reply = answer(data)
                if reply is not None:
                    sock.sendto(reply, peer)
            except OSError:
                pass

        self.watch(bound(socket.SOCK_DGRAM, where), ready)

    def sink(self, name, where):
        """Takes whatever comes, and says who it is: to browsers and to others."""
        body = f"sink {name}\n".encode()
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.stream(name, where, lambda data: (head + body, False))

    def datagram_sink(self, name, where):
        self.datagrams(name, where, lambda data: f"sink {name}\n".encode())

    def echo(self, where):
        self.stream("echo", where, lambda data: (data, True))
        self.datagrams("echo", where, lambda data: data)

    def time(self, where):
        """As little of NTP as a client needs: a reply to its request, and the time in it."""
        def answer(data):
            if len(data) < 48:
                return None
            now = struct.pack("!II", int(time.time()) + 2208988800, 0)
            return b"\x24\x01\x00\xec" + bytes(20) + data[40:48] + now + now

        self.datagrams("time", where, answer)


def bound(kind, where, backlog=512):
    """A socket at (address, port), or at the path of a Unix socket."""
    if isinstance(where, (str, bytes)):
        sock = socket.socket(socket.AF_UNIX, kind)
    else:
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        sock = socket.socket(family, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(where)
    if kind == socket.SOCK_STREAM:
        sock.listen(backlog)
    return sock


# -- names --

def both(v4, v6, ttl=60):
    return [(A, ttl, v4), (AAAA, ttl, v6)]


# What the internet knows. An entry is a list of records, or a function of the type asked for.
ZONE = {
    "web.example.com": both(WEB, WEB6),
    "other.example.com": both(WEB, WEB6),
    "shop.wild.example.com": both(WEB, WEB6),
    "v4.example.com": [(A, 60, WEB)],
    "v6.example.com": [(AAAA, 60, WEB6)],
    "git.example.com": [(A, 60, GIT)],
    "db.example.com": [(A, 60, DATABASE)],
    "echo.example.com": both(ECHO, ECHO6),
    "alias.example.com": [(CNAME, 60, "web.example.com")],
    "chain.example.com": [(CNAME, 60, "chain1.example.net")],
    "chain1.example.net": [(CNAME, 60, "chain2.example.net")],
    "chain2.example.net": [(CNAME, 60, "web.example.com")],
    "loop.example.com": [(CNAME, 60, "loop.example.com")],
    "to-evil.example.com": [(CNAME, 60, "evil.example.net")],
    "evil.example.net": both(ATTACKER, ATTACKER6),
    "ttl0.example.com": both(WEB, WEB6, ttl=0),
    # More than a datagram holds, and all but one refuse.
    "many.example.com": [(A, 60, f"93.184.216.{n}") for n in [40, 34, *range(50, 170)]],
    # bücher.example.com, and web.example.com with a Cyrillic e, which is another owner's
    "xn--bcher-kva.example.com": both(WEB, WEB6),
    "xn--wb-nlc.example.com": both(ATTACKER, ATTACKER6),
}


class Rebinding:
    """One answer, then another: the n-th question of a type gets the n-th, or the last."""

    def __init__(self, *stages):
        self.stages = stages  # each: a list of addresses
        self.count = collections.Counter()

    def __call__(self, kind):
        stage = self.stages[min(self.count[kind], len(self.stages) - 1)]
        self.count[kind] += 1
        return [(kind, 0, text) for text in stage if (":" in text) == (kind == AAAA)]


def write_name(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def read_question(data):
    """The name, its type, and where the question ends."""
    labels, at = [], 12
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    return ".".join(labels).lower(), struct.unpack_from("!H", data, at + 1)[0], at + 5


def records_of(zone, name, kind):
    """The records that answer the question, CNAMEs on the way included; None: no such name."""
    found = []
    for _ in range(20):
        entry = zone.get(name)
        if entry is None and name.endswith(".many.wild.example.com"):
            entry = [(A, 60, WEB)]
        if entry is None:
            return found or None
        records = entry(kind) if callable(entry) else entry
        alias = next((value for t, _, value in records if t == CNAME), None)
        if alias is None:
            return found + [(name, *record) for record in records if record[0] == kind]
        found.append((name, *records[0]))
        name = alias
    return found


def pack_record(name, kind, ttl, value):
    if kind == CNAME:
        data = write_name(value)
    else:
        data = ipaddress.ip_address(value).packed
    return write_name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def answer_query(zone, query, size):
    """The answer as bytes. Without EDNS a datagram has 512."""
    name, kind, end = read_question(query)
    records = records_of(zone, name, kind)
    packed = [pack_record(*record) for record in records or []]
    flags = 0x8580 | (3 if records is None else 0)
    if 12 + (end - 12) + sum(map(len, packed)) > size:
        flags, packed = flags | 0x200, []
    return (query[:2] + struct.pack("!HHHHH", flags, 1, len(packed), 0, 0) + query[12:end]
            + b"".join(packed))


def serve_names(servers, name, where, zone):
    """Logs every name that it is asked for."""
    def answer(query, size):
        try:
            asked, kind, _ = read_question(query)
        except (IndexError, struct.error):
            return b""
        servers.note(name, "query", f"{asked} {TYPES.get(kind, kind)}")
        return answer_query(zone, query, size)

    def stream(data):
        """Whole questions, one or more: no client here sends them in pieces."""
        replies = b""
        while len(data) > 2:
            length = struct.unpack_from("!H", data)[0]
            reply = answer(data[2:2 + length], 65535)
            replies += struct.pack("!H", len(reply)) + reply
            data = data[2 + length:]
        return replies, True

    servers.datagrams(name, where, lambda data: answer(data, 512 if data[11:12] == b"\0" else 1232))
    servers.stream(name, where, stream)
