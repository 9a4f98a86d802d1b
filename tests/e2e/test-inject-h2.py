#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 through the injector: a client and a host, either of which may do anything. Prints TAP."""

import base64
import contextlib
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
import h2_peers  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PROXY = os.path.abspath(os.environ["INJECT_PROXY"])
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
STARS = "*" * len(VALUE)
BIG = 8 << 20


class Answers:
    """By the first part of the path: what a host does with what it was sent."""

    def echo(self, x):
        sent = x.field("authorization") or ""
        x.head(("x-sent", sent))
        x.data(f"got {sent}\n".encode(), end=True)

    def early_hints(self, x):
        x.head(("link", x.field("authorization")), status="103")

    def hints(self, x):
        self.echo(x)

    def trailers(self, x):
        x.head(("trailer", "x-token"))
        x.data(b"body")
        x.trailer(("x-token", x.field("authorization")), ("grpc-status", "0"))

    def split(self, x):
        """The value in frames of one byte, in base64, and in frames of several lengths."""
        sent = x.field("authorization").encode()
        x.head()
        for text in (sent, base64.b64encode(b"x" + sent), sent):
            for i in range(len(text)):
                x.data(text[i:i + 1])
        for at in range(1, len(sent)):
            x.data(sent[:at])
            x.data(sent[at:])
        x.data(b"", end=True)

    def gzip(self, x):
        x.head(("content-encoding", "gzip"))
        x.data(b"\x1f\x8b" + bytes(40), end=True)

    def part(self, x):
        x.head(("content-range", "bytes 0-3/100"), status="206")
        x.data(b"part", end=True)

    def big(self, x):
        x.head()
        x.data(b"x" * BIG, end=True)

    def never(self, x):
        x.head()
        x.data(b"it begins")

    def reset(self, x):
        x.head()
        x.data(b"it begins")
        x.host.connection.reset_stream(x.number, 11)

    def hangup(self, x):
        x.head()
        x.data(b"it begins")
        x.host.flush()
        x.host.socket.unwrap()

    def goaway(self, x):
        self.echo(x)
        x.host.connection.close_connection(0)

    def grpc(self, x):
        """As a service that streams its answer, with a value in each message."""
        x.head(("content-type", "application/grpc"))
        for i in range(3):
            text = f"{i}: {x.field('authorization')}".encode()
            x.data(b"\0" + len(text).to_bytes(4, "big") + text)

    def squeezed(self, x):
        x.head(("content-type", "application/grpc+proto"), ("grpc-encoding", "gzip"))
        x.data(b"\1" + (20).to_bytes(4, "big") + bytes(20))
        x.trailer(("grpc-status", "0"))


class Place:
    """A host, and the injector before it."""

    def __init__(self, folder, host, name="127.0.0.1"):
        self.folder, self.host, self.name = folder, host, name
        self.proxy = subprocess.Popen([PROXY, name, str(host.port), str(host.port), "ca.pem", f"injector-{host.port}.pem", f"TOKEN={VALUE}", f"LOCKED={VALUE}x"], cwd=folder,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port, self.token, self.locked = int(self.proxy.stdout.readline()), self.proxy.stdout.readline().strip(), self.proxy.stdout.readline().strip()
        self.authorities = str(folder / f"injector-{host.port}.pem")
        self.said = []
        self.reads = threading.Thread(target=lambda: self.said.extend(self.proxy.stderr), daemon=True)
        self.reads.start()

    def client(self, **more):
        return h2_peers.Client(self.port, **{"authorities": self.authorities, "name": self.name, **more})

    def fields(self, path="/echo", method="GET", **other):
        """other: _name is a pseudo-field; None leaves one out."""
        all_fields = {":method": method, ":scheme": "https", ":authority": self.host.place, ":path": path, "authorization": f"Bearer {self.token}"}
        for name, value in other.items():
            all_fields[name.replace("_", ":", 1) if name.startswith("_") else name.replace("_", "-")] = value
        return [(n, v) for n, v in all_fields.items() if v is not None]

    def ask(self, path="/echo", **more):
        client = self.client()
        client.request(1, self.fields(path, **more))
        return client, client.wait(1)

    def curl(self, *words, http="--http2"):
        return subprocess.run(["curl", "-sS", http, "--max-time", "60", "--cacert", self.authorities, "--connect-to", f"{self.host.place}:127.0.0.1:{self.port}",
                               *words], capture_output=True, text=True, check=False, timeout=120)

    def memory(self):
        """The most that it had, in KiB."""
        with open(f"/proc/{self.proxy.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("VmHWM")).split()[1])

    def lives(self):
        _, stream = self.ask()
        return stream.ended and STARS in stream.field("x-sent")

    def end(self):
        self.proxy.stdin.close()
        self.proxy.wait()


def versions(folder, place):
    """A client gets what the host chose."""
    url = f"https://{place.host.place}/echo"
    done = place.curl("-H", f"Authorization: Bearer {place.token}", "-w", "%{http_version}", url)
    x = place.host.seen[-1]
    ok(x.field("authorization") == f"Bearer {VALUE}" and done.stdout == f"got Bearer {STARS}\n2", "curl: the host gets the value, by HTTP/2", done)
    ok(x.never_indexed("authorization"), "the value is in no table", x.fields)
    done = place.curl("-u", f"me:{place.token}", "-d", "a=1", url)
    x = place.host.seen[-1]
    ok(x.field("authorization") == "Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode() and x.body == b"a=1", "in a password of Basic, too", x.fields, done)
    done = place.curl("-H", "Accept-Encoding: gzip, br", "-H", "Range: bytes=0-1", "-H", "TE: trailers", url)
    x = place.host.seen[-1]
    ok(x.field("accept-encoding") == "identity" and not x.field("range") and x.field("te") in (None, "trailers"), "it asks for plain, whole answers", x.fields, done)
    old = h2_peers.Host(folder / "host.pem", None, alpn=("http/1.1",), raw=lambda s: (s.recv(9999), s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")))
    behind = Place(folder, old)
    done = behind.curl("-w", "%{http_version}", f"https://{old.place}/")
    ok(done.stdout == "old1.1", "a host with HTTP/1.1 alone: so the client speaks that", done)
    with contextlib.suppress(ssl.SSLError, OSError):
        behind.client()
    behind.end()
    behind.reads.join()
    ok("speaks HTTP/2 alone" in "".join(behind.said), "a client with HTTP/2 alone does not connect to that, and the run says why", behind.said)


def refused(place):
    """Requests that the host must never see."""
    rows = [
        ("another :authority", {"_authority": "other.example"}),
        ("another port", {"_authority": "127.0.0.1:1"}),
        ("host beside another :authority", {"host": "other.example"}),
        ("another host alone", {"_authority": None, "host": "other.example"}),
        ("neither", {"_authority": None}),
        ("a user in :authority", {"_authority": f"me@{place.host.place}"}),
        ("another scheme", {"_scheme": "http"}),
        ("CONNECT", {"method": "CONNECT", "_scheme": None, "_path": None}),
        ("CONNECT with a protocol", {"method": "CONNECT", "_protocol": "websocket"}),
        ("a whole URL", {"_path": f"http://{place.host.place}/"}),
        ("an empty path", {"_path": ""}),
        ("a space in the path", {"_path": "/a HTTP/1.1"}),
        ("a line in the path", {"_path": "/a\r\nx: y"}),
        ("a fragment", {"_path": "/a#b"}),
        ("a line in a value", {"x_a": "1\r\nhost: other.example"}),
        ("a bare LF", {"x_a": "1\n2"}),
        ("a NUL", {"x_a": "1\0002"}),
        ("a space before a value", {"x_a": " 1"}),
        ("capitals", {"X_A": "1"}),
        ("a colon in a name", {"x:a": "1"}),
        ("a space in a name", {"x a": "1"}),
        ("an empty name", {"": "1"}),
        ("connection", {"connection": "close"}),
        ("transfer-encoding", {"transfer_encoding": "chunked"}),
        ("upgrade", {"upgrade": "websocket"}),
        ("te", {"te": "gzip"}),
        ("a length without a body", {"content_length": "4"}),
        ("a length that is none", {"content_length": "+4"}),
        ("a response's field", {"_status": "200"}),
        ("an unknown pseudo-field", {"_other": "1"}),
    ]
    for name, more in rows:
        place.host.seen.clear()
        client, stream = place.ask(**more)
        ok(not place.host.seen and not stream.heads and (stream.reset is not None or client.goaway is not None or client.closed), f"{name}: refused",
           [x.fields for x in place.host.seen], stream.heads)
        client.close()
    for name, twice in (("two paths", (":path", "/b")), ("two hosts", ("host", place.host.place)), ("two authorities", (":authority", place.host.place)),
                        ("two lengths", ("content-length", "0"))):
        place.host.seen.clear()
        client = place.client()
        fields = [*place.fields(host=place.host.place, content_length="0"), twice]
        client.request(1, sorted(fields, key=lambda f: f[0][:1] != ":"))
        client.wait(1)
        ok(not place.host.seen and not client.stream(1).heads, f"{name}: refused", [x.fields for x in place.host.seen])
        client.close()
    client = place.client()
    client.request(1, place.fields(content_length="2", method="POST"), end=False)
    client.body(1, b"four")
    client.wait(1)
    ok(not any(x.body for x in place.host.seen[-1:]) or not client.stream(1).ended, "more than was said: refused", client.stream(1).heads)
    client.close()
    ok(place.lives(), "and other requests work")


def placeholders(place):
    """Wherever frames and tables cut them."""
    for pieces in (1, 2, 5, 8):
        client = place.client()
        client.request(1, place.fields(), pieces=pieces)
        client.wait(1)
        ok(place.host.seen[-1].field("authorization") == f"Bearer {VALUE}", f"fields in {pieces} frames: the value is there", place.host.seen[-1].fields)
        client.close()
    client = place.client()
    for number in (1, 3, 5):  # the later ones refer to the table
        client.request(number, place.fields())
        client.wait(number)
    ok([x.field("authorization") for x in place.host.seen[-3:]] == [f"Bearer {VALUE}"] * 3, "fields of a table: each has it", place.host.seen[-1].fields)
    client.request(7, place.fields(x_meta=place.token, method="POST", path="/echo"), end=False)
    client.body(7, b"a body with " + place.token.encode(), end=False)
    client.request(7, [("x-trailer", place.token)])
    client.wait(7)
    x = place.host.seen[-1]
    ok(x.field("x-meta") == place.token and x.body == b"a body with " + place.token.encode() and x.trailers == [("x-trailer", place.token)],
       "in a field that is not for it, a body or trailers it stays a placeholder", x.fields, x.body, x.trailers)
    client.close()


def denied(place):
    """A request with a secret of a vault that is locked has an answer of ours; others on the connection go on."""
    client, seen = place.client(), len(place.host.seen)
    client.request(1, place.fields(authorization=f"Bearer {place.locked}"))
    stream = client.wait(1)
    ok(stream.field(":status") == "403" and stream.data == b"corral: denied: the vault is locked\n" and stream.ended and len(place.host.seen) == seen,
       "a locked secret: 403, and nothing reaches the host", stream.heads, stream.data, place.host.seen[seen:])
    client.request(3, place.fields(method="POST", authorization=f"Bearer {place.locked}"), end=False)
    client.body(3, b"a body", end=False)
    stream = client.wait(3)
    ok(stream.field(":status") == "403" and len(place.host.seen) == seen, "with a body that goes on, too", stream.heads, place.host.seen[seen:])
    client.request(5, place.fields(method="HEAD", authorization=f"Bearer {place.locked}"))
    stream = client.wait(5)
    ok(stream.field(":status") == "403" and not stream.data and len(place.host.seen) == seen, "to HEAD without a body", stream.heads)
    client.request(7, place.fields())
    ok(client.wait(7).ended and place.host.seen[-1].field("authorization") == f"Bearer {VALUE}", "the next request passes", place.said)
    client.close()
    done = place.curl("-H", f"Authorization: Bearer {place.locked}", "-w", "%{http_code}", f"https://{place.host.place}/echo", http="--http1.1")
    ok(done.stdout == "corral: denied: the vault is locked\n403", "over HTTP/1.1 it is the same", done)
    done = place.curl("-H", f"Authorization: Bearer {place.locked}", "-w", "%{http_version} %{http_code}", f"https://{place.host.place}/echo")
    ok(done.stdout == "corral: denied: the vault is locked\n2 403", "and curl takes it over HTTP/2", done)


def answers(place):
    _, stream = place.ask("/hints")
    ok([dict(h).get("link") for h in stream.heads][:1] == [f"Bearer {STARS}"], "an early head is masked", stream.heads)
    _, stream = place.ask("/trailers")
    ok(stream.field("x-token") == f"Bearer {STARS}" and stream.field("grpc-status") == "0" and stream.ended and stream.data == b"body",
       "trailers are masked, and arrive", stream.heads)
    _, stream = place.ask("/split")
    text = stream.data.decode()
    parts = [VALUE, VALUE[:12], VALUE[-12:], base64.b64encode(VALUE.encode()).decode()[4:16]]
    ok(stream.ended and not any(p in text for p in parts) and base64.b64encode(f"xBearer {VALUE}".encode()).decode()[12:-4] not in text and STARS in text,
       "a value in frames of any length is masked", text[:300])
    for path in ("gzip", "part", "squeezed"):
        client, stream = place.ask(f"/{path}")
        ok(not stream.data and stream.reset is not None, f"/{path}: refused", stream.heads, stream.data)
        client.close()
    client, stream = place.ask("/reset")
    ok(stream.reset == 11 and not stream.ended, "the host's reset comes as it is", stream.reset)
    client.request(3, place.fields())
    ok(client.wait(3).ended, "and the connection goes on")
    client, stream = place.ask("/hangup")
    ok(not stream.ended, "an answer that is cut does not end", stream.reset)
    client, stream = place.ask("/goaway")
    client.until(lambda c: c.goaway is not None)
    ok(stream.ended and client.goaway == 0, "GOAWAY comes behind what was answered", stream.heads)
    client = place.client()
    client.request(1, place.fields("/grpc", method="POST", te="trailers", content_type="application/grpc"))
    client.until(lambda c: c.stream(1).data.count(STARS.encode()) == 3)
    stream = client.stream(1)
    ok(stream.data.count(b"\0\0\0\0") == 3 and VALUE.encode() not in stream.data and not stream.ended, "messages of a stream that goes on arrive whole, and masked", stream.data)
    place.host.events.clear()
    client.send(h2_peers.frames.RstStreamFrame(1, 8))
    other, _ = place.ask()
    client.request(3, place.fields())
    client.wait(3)
    ok(("reset", 8) in place.host.events, "the client's reset comes to the host", place.host.events)


def windows(place):
    """A side that does not read holds up its sender alone."""
    place.host.sent = 0
    client = place.client(settings={4: 0}, update=False)
    client.request(1, place.fields("/big"))
    client.request(3, place.fields("/echo"))
    client.until(lambda c: c.stream(1).heads and c.stream(3).heads)
    other, stream = place.ask()
    ok(stream.ended and not client.stream(1).data, "another client is served meanwhile")
    # What the host sent it could send without anybody reading: this much, and not all.
    ok(place.host.sent < 2 << 20, "a client without room holds up the host", place.host.sent)
    client.update = True
    client.send(h2_peers.frames.WindowUpdateFrame(0, 1 << 30), h2_peers.frames.WindowUpdateFrame(3, 1000))
    ok(client.wait(3).ended, "a stream with room is served beside one that has none")
    client.send(h2_peers.frames.WindowUpdateFrame(1, 1 << 30))
    ok(len(client.wait(1).data) == BIG, "all of it comes when there is room")
    client.close()


def floods(place):
    """Each ends that connection, and takes no memory worth naming."""
    frames = h2_peers.frames
    block = h2_peers.hpack.Encoder().encode(place.fields())

    def opened():
        client = place.client()
        client.request(1, place.fields())
        client.wait(1)
        return client

    def continuations(client):
        client.send(frames.HeadersFrame(3, block), *[frames.ContinuationFrame(3, b"") for _ in range(5000)])

    def long_continuations(client):
        client.send(frames.HeadersFrame(3, block), *[frames.ContinuationFrame(3, b"\0\1x\x7f\x80\x7f" + b"v" * 16000) for _ in range(600)])

    def resets(client):
        for i in range(3, 8003, 2):
            client.send(frames.HeadersFrame(i, block, flags=["END_HEADERS", "END_STREAM"]), frames.RstStreamFrame(i, 8))

    def pings(client):
        client.send(*[frames.PingFrame(0, bytes(8)) for _ in range(20000)])

    def settings(client):
        client.send(*[frames.SettingsFrame(0, settings={3: 100}) for _ in range(20000)])

    def priorities(client):
        client.send(*[frames.PriorityFrame(2 * i + 1, depends_on=0, stream_weight=1) for i in range(1, 20000)])

    def updates(client):
        client.send(*[frames.WindowUpdateFrame(0, 1) for _ in range(20000)])

    def nothing(client):
        client.request(3, place.fields("/echo", method="POST"), end=False)
        client.send(*[frames.DataFrame(3, b"") for _ in range(20000)])

    def overflow(client):
        client.send(frames.WindowUpdateFrame(0, (1 << 31) - 1), frames.WindowUpdateFrame(0, (1 << 31) - 1))

    def pushes(client):
        client.send(frames.PushPromiseFrame(1, promised_stream_id=2, data=block, flags=["END_HEADERS"]))

    def padding(client):
        client.request(3, place.fields("/echo", method="POST"), end=False)
        client.send(b"\0\0\5\0\x08\0\0\0\3\xff1234")

    def preface(client):
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    before = place.memory()
    for flood in (continuations, long_continuations, resets, pings, settings, priorities, updates, nothing, overflow, pushes, padding, preface):
        place.host.seen.clear()
        client = opened()
        flood(client)
        client.until(lambda c: False)
        ok(client.closed and len(place.host.seen) < 1500, f"{flood.__name__}: the connection ends", len(place.host.seen))
        client.close()
    # A sanitizer keeps what is freed for a while, and more beside each block.
    most = (512 if b"__asan_" in pathlib.Path(PROXY).read_bytes() else 64) << 10
    ok(place.memory() - before < most, "in little memory", before, place.memory())
    client = opened()
    client.send(*[b"\0\0\1\xee\0\0\0\0\0x" for _ in range(20000)])
    client.request(3, place.fields())
    ok(client.wait(3).ended, "frames of no kind that is known are passed over")
    client.close()
    client = place.client()
    client.request(1, [*place.fields(), ("x-large", "v" * 2000)])  # in the table from here on
    client.wait(1)
    again = client.encoder.encode([("x-large", "v" * 2000)])
    place.host.seen.clear()
    client.send(frames.HeadersFrame(3, client.encoder.encode(place.fields()) + again * 5000, flags=["END_HEADERS", "END_STREAM"]))
    client.wait(3)
    ok(client.stream(3).reset == 11 and not place.host.seen and len(again) == 1, "a few bytes that stand for many fields: refused", client.stream(3).heads)
    client.request(5, place.fields())
    ok(client.wait(5).ended, "and the connection goes on")
    client = place.client()
    client.until(lambda c: c.read())
    for i in range(1, 401, 2):
        client.request(i, place.fields("/never"))
    client.wait(*range(203, 401, 2))
    ok(all(client.stream(i).reset is not None for i in range(203, 401, 2)) or client.goaway is not None, "more streams than are allowed: refused")
    client.close()
    ok(place.lives(), "and other connections work")


def greet(s):
    """Until a frame of stream 1 has come."""
    s.sendall(h2_peers.frames.SettingsFrame(0).serialize())
    got = b""
    while b"\0\0\0\1" not in got[24 + 9:]:
        part = s.recv(1 << 16)
        if not part:
            raise OSError("the injector has gone")
        got += part


def hostile_hosts(folder):
    """Frames of a host that no host sends."""
    frames = h2_peers.frames
    encode = h2_peers.hpack.Encoder().encode
    head = encode([(":status", "200")])

    def speak(*answer, then=b""):
        def raw(s):
            greet(s)
            with contextlib.suppress(OSError):
                s.sendall(b"".join(f if isinstance(f, bytes) else f.serialize() for f in answer))
                while s.recv(1 << 16):
                    pass
        return raw

    begin = frames.HeadersFrame(1, head, flags=["END_HEADERS"])
    rows = [
        ("a push", [frames.SettingsFrame(0, flags=["ACK"]), frames.PushPromiseFrame(1, promised_stream_id=2, data=encode([(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")]),
                                                                               flags=["END_HEADERS"])]),
        ("continuations without an end", [frames.HeadersFrame(1, head), *[frames.ContinuationFrame(1, b"") for _ in range(5000)]]),
        ("pings", [begin, *[frames.PingFrame(0, bytes(8)) for _ in range(20000)]]),
        ("settings", [begin, *[frames.SettingsFrame(0, settings={3: 100}) for _ in range(20000)]]),
        ("early heads without an end", [frames.HeadersFrame(1, encode([(":status", "103"), ("x", "y")]), flags=["END_HEADERS"]) for _ in range(20000)]),
        ("more data than there is room for", [begin, *[frames.DataFrame(1, bytes(16384)) for _ in range(80)]]),
        ("data before a head", [frames.DataFrame(1, b"data", flags=["END_STREAM"])]),
        ("no status", [frames.HeadersFrame(1, encode([("x", "y")]), flags=["END_HEADERS", "END_STREAM"])]),
        ("status 101", [frames.HeadersFrame(1, encode([(":status", "101")]), flags=["END_HEADERS"])]),
        ("a line in a field", [frames.HeadersFrame(1, encode([(":status", "200"), ("x", "a\r\nb: c")]), flags=["END_HEADERS", "END_STREAM"])]),
        ("transfer-encoding", [frames.HeadersFrame(1, encode([(":status", "200"), ("transfer-encoding", "chunked")]), flags=["END_HEADERS", "END_STREAM"])]),
        ("fewer bytes than were said", [frames.HeadersFrame(1, encode([(":status", "200"), ("content-length", "9")]), flags=["END_HEADERS"]),
                                        frames.DataFrame(1, b"data", flags=["END_STREAM"])]),
        ("not HTTP/2", [b"HTTP/1.1 200 OK\r\n\r\n" * 9]),
    ]
    for name, answer in rows:
        host = h2_peers.Host(folder / "host.pem", None, alpn=("h2",), raw=speak(*answer))
        place = Place(folder, host)
        client = place.client(update=False)  # the injector has no more room than it promised, however fast it is
        client.request(1, place.fields())
        with contextlib.suppress(TimeoutError):
            client.wait(1)
        ok(not client.stream(1).ended and (client.stream(1).reset is not None or client.closed), f"a host that sends {name}: no answer", client.stream(1).heads, place.said)
        client.close()
        ok(place.proxy.poll() is None, f"{name}: the injector goes on", place.proxy.poll())
        place.end()


def gone_host(folder):
    """It closes when the client has the head, and this end is all that happens then."""
    frames = h2_peers.frames
    has_head = threading.Event()

    def raw(s):
        greet(s)
        s.sendall(frames.HeadersFrame(1, h2_peers.hpack.Encoder().encode([(":status", "200")]), flags=["END_HEADERS"]).serialize())
        has_head.wait()

    place = Place(folder, h2_peers.Host(folder / "host.pem", None, alpn=("h2",), raw=raw))
    client = place.client()
    client.request(1, place.fields())
    client.until(lambda c: c.stream(1).heads)
    has_head.set()
    ok(client.wait(1).reset is not None or client.closed, "a host that goes in the middle of an answer: the client is told", place.said)
    client.close()
    place.end()


def main():
    missing = h2_peers.again()
    if missing:
        skip("HTTP/2", missing)
        return end()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ih-")).resolve()
    place = None
    try:
        h2_peers.certificates(folder)
        place = Place(folder, h2_peers.Host(folder / "host.pem", Answers()))
        versions(folder, place)
        refused(place)
        placeholders(place)
        denied(place)
        answers(place)
        windows(place)
        floods(place)
        hostile_hosts(folder)
        gone_host(folder)
    finally:
        if place:
            place.end()
        shutil.rmtree(folder, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
