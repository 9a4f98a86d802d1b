# SPDX-License-Identifier: Apache-2.0
"""Both peers of corral-inject by HTTP/2, as well-behaved or as hostile as a test wants: a host, and a client that sends the frames that
it is told to. By python3-h2, which is Debian's and for its own interpreter: main() of a test begins with again()."""

import contextlib
import importlib.util
import os
import socket
import ssl
import subprocess
import sys
import threading

try:
    import h2.config
    import h2.connection
    import h2.errors
    import h2.events
    import hpack
    import hyperframe.frame as frames
except ImportError:
    hpack = None

DEBIANS = "/usr/bin/python3"
PATIENCE_S = 60


def again(module="h2"):
    """Why there is no such library, where Debian's interpreter has none either."""
    if importlib.util.find_spec(module):
        return None
    found = os.path.realpath(sys.executable) != os.path.realpath(DEBIANS) and os.path.exists(DEBIANS) and \
        subprocess.run([DEBIANS, "-c", f"import {module}"], check=False, capture_output=True).returncode == 0
    if found:
        os.execv(DEBIANS, [DEBIANS, *sys.argv])
    return f"not installed: {module} for {DEBIANS}; see tools/setup net"


def certificates(folder, names="IP:127.0.0.1"):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority")
    (folder / "ext").write_text(f"subjectAltName={names}\n")
    openssl("req", *new, "-keyout", "host.key", "-out", "csr", "-subj", "/CN=x")
    openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.crt", "-days", "2", "-extfile", "ext")
    (folder / "host.pem").write_text((folder / "host.key").read_text() + (folder / "host.crt").read_text())


class Exchange:
    """A request as the host got it, and how to answer."""

    def __init__(self, host, number):
        self.host, self.number, self.fields, self.body, self.trailers = host, number, [], b"", None

    def field(self, name):
        return next((v for n, v in self.fields if n == name), None)

    def never_indexed(self, name):
        return any(isinstance(f, hpack.NeverIndexedHeaderTuple) for f in self.fields if f[0] == name)

    def head(self, *fields, status="200", end=False):
        self.host.connection.send_headers(self.number, [(":status", status), *fields], end_stream=end)

    def data(self, data, end=False):
        """In frames, as the client has room for them."""
        self.host.send(self.number, data, end)

    def trailer(self, *fields):
        self.host.connection.send_headers(self.number, list(fields), end_stream=True)


class Connection:
    """One connection of the host, in a thread."""

    def __init__(self, host, plain):
        self.host, self.socket, self.waiting = host, None, {}
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        self.exchanges = {}
        threading.Thread(target=self.run, args=(plain,), daemon=True).start()

    def run(self, plain):
        with contextlib.suppress(OSError, ValueError), self.host.context.wrap_socket(plain, server_side=True) as self.socket:
            if self.host.raw:
                self.host.raw(self.socket)
                return
            self.connection.initiate_connection()
            self.flush()
            while data := self.socket.recv(1 << 16):
                try:
                    events = self.connection.receive_data(data)
                except h2.exceptions.ProtocolError as error:
                    self.host.events.append(repr(error))
                    break
                for event in events:
                    self.take(event)
                self.flush()

    def flush(self):
        self.socket.sendall(self.connection.data_to_send())

    def take(self, event):
        number = getattr(event, "stream_id", None)
        if isinstance(event, h2.events.RequestReceived):
            x = self.exchanges[number] = Exchange(self, number)
            x.fields = list(event.headers)
            self.host.seen.append(x)
            early = getattr(self.host.answers, "early_" + x.field(":path").split("?")[0].strip("/"), None)
            if early:
                early(x)
        elif isinstance(event, h2.events.DataReceived):
            self.exchanges[number].body += event.data
            self.connection.acknowledge_received_data(event.flow_controlled_length, number)
            each = getattr(self.host.answers, "each_" + self.exchanges[number].field(":path").strip("/"), None)
            if each:
                each(self.exchanges[number], event.data)
        elif isinstance(event, h2.events.TrailersReceived):
            self.exchanges[number].trailers = list(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            x = self.exchanges[number]
            getattr(self.host.answers, x.field(":path").split("?")[0].strip("/").split("/")[0] or "echo", self.host.answers.echo)(x)
        elif isinstance(event, h2.events.StreamReset):
            self.host.events.append(("reset", int(event.error_code)))
            self.waiting.pop(number, None)
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            for each in list(self.waiting):
                self.more(each)

    def send(self, number, data, end):
        self.waiting.setdefault(number, []).append((data, end))
        self.more(number)

    def more(self, number):
        while queue := self.waiting.get(number):
            data, end = queue[0]
            n = min(self.connection.local_flow_control_window(number), self.connection.max_outbound_frame_size, len(data))
            if n == 0 and data:
                return
            self.connection.send_data(number, data[:n], end_stream=end and n == len(data))
            self.host.sent += n
            queue[0] = (data[n:], end)
            if n == len(data):
                queue.pop(0)
        self.waiting.pop(number, None)


class Host:
    """answers: an object whose methods are named by the first part of the path. raw(socket): speaks by itself."""

    def __init__(self, certificate, answers, alpn=("h2", "http/1.1"), raw=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.context.set_alpn_protocols(list(alpn))
        self.answers, self.raw, self.seen, self.events, self.sent = answers, raw, [], [], 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            Connection(self, self.listener.accept()[0])


class Stream:
    def __init__(self):
        self.heads, self.data, self.reset, self.ended = [], b"", None, False

    def field(self, name):
        return next((v for head in self.heads for n, v in head if n == name), None)


class Client:
    """Sends what it is told to; keeps what it gets. authorities None: it takes any certificate; name None: it asks for no server."""

    def __init__(self, port, authorities, settings=None, name="127.0.0.1", update=True):
        context = ssl.create_default_context(cafile=authorities) if authorities else ssl._create_unverified_context()
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S), server_hostname=name)
        self.encoder, self.decoder, self.streams, self.goaway, self.closed, self.update = hpack.Encoder(), hpack.Decoder(), {}, None, False, update
        self.pings, self.block = 0, b""
        self.rest = b""
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", frames.SettingsFrame(0, settings=settings or {}))

    def send(self, *all_frames):
        with contextlib.suppress(OSError):
            self.socket.sendall(b"".join(f if isinstance(f, bytes) else f.serialize() for f in all_frames))

    def request(self, number, fields, end=True, pieces=1, more=()):
        """pieces: the fields in a HEADERS frame and CONTINUATION frames."""
        block = self.encoder.encode(fields)
        size = -(-len(block) // pieces)
        parts = [block[i:i + size] for i in range(0, len(block), size)] or [b""]
        head = frames.HeadersFrame(number, parts[0], flags=["END_STREAM"] if end else [])
        rest = [frames.ContinuationFrame(number, part) for part in parts[1:]]
        (rest or [head])[-1].flags.add("END_HEADERS")
        self.send(head, *rest, *more)

    def body(self, number, data, end=True):
        self.send(frames.DataFrame(number, data, flags=["END_STREAM"] if end else []))

    def stream(self, number):
        return self.streams.setdefault(number, Stream())

    def read(self):
        """One frame; False: there is no other."""
        try:
            while len(self.rest) < 9 or len(self.rest) < 9 + int.from_bytes(self.rest[:3], "big"):
                part = self.socket.recv(1 << 16)
                if not part:
                    self.closed = True
                    return False
                self.rest += part
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            self.closed = True
            return False
        frame, length = frames.Frame.parse_frame_header(memoryview(self.rest[:9]))
        frame.parse_body(memoryview(self.rest[9:9 + length]))
        self.rest = self.rest[9 + length:]
        self.take(frame, length)
        return True

    def take(self, frame, length):
        if isinstance(frame, (frames.HeadersFrame, frames.ContinuationFrame)):
            self.block += frame.data
            if "END_HEADERS" in frame.flags:
                self.stream(frame.stream_id).heads.append(self.decoder.decode(self.block))
                self.block = b""
            self.stream(frame.stream_id).ended |= "END_STREAM" in frame.flags
        elif isinstance(frame, frames.DataFrame):
            self.stream(frame.stream_id).data += frame.data
            self.stream(frame.stream_id).ended |= "END_STREAM" in frame.flags
            if self.update and length:
                self.send(frames.WindowUpdateFrame(0, length), frames.WindowUpdateFrame(frame.stream_id, length))
        elif isinstance(frame, frames.RstStreamFrame):
            self.stream(frame.stream_id).reset = frame.error_code
        elif isinstance(frame, frames.GoAwayFrame):
            self.goaway = frame.error_code
        elif isinstance(frame, frames.PingFrame):
            self.pings += 1
        elif isinstance(frame, frames.SettingsFrame) and "ACK" not in frame.flags:
            self.send(frames.SettingsFrame(0, flags=["ACK"]))

    def until(self, test):
        """Reads until that is so, or the connection has ended."""
        while not test(self) and self.read():
            pass
        return self

    def wait(self, *numbers):
        self.until(lambda c: all(c.stream(n).ended or c.stream(n).reset is not None for n in numbers))
        return self.stream(numbers[0])

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.close()
