#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""origin.py FOLDER [CERTIFICATE KEY]: servers on loopback that behave as their path says.

Prints "PLAIN OTHER SECURE" (three ports; 0 where there is no certificate) once they stand, and ends
with its standard input. Each request is a line in FOLDER/log: PORT METHOD PATH NAME=VALUE...
"""

import gzip
import http.server
import os
import socket
import ssl
import sys
import threading
import time
import urllib.parse

FOLDER = sys.argv[1]
FILE = bytes(range(256)) * 4096  # 1 MiB
TAG = '"one"'
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self):
        words = [str(self.server.server_address[1]), self.command, self.path]
        words += [f"{k.lower()}={v}" for k, v in self.headers.items()]
        with lock, open(os.path.join(FOLDER, "log"), "a", encoding="utf-8") as log:
            log.write("\t".join(words) + "\n")

    def raw(self, data):
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
            return False
        return True

    def answer(self, body, status=200, **fields):
        head = f"HTTP/1.1 {status} {self.responses.get(status, ('Odd',))[0]}\r\n"
        head += "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in fields.items())
        head += f"Content-Length: {len(body)}\r\n\r\n"
        self.raw(head.encode("latin-1") + (b"" if self.command == "HEAD" else body))

    def handle_any(self):
        self.note()
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        page = getattr(self, "page_" + url.path[1:].replace("-", "_"), None)
        if page:
            page()
        else:
            self.answer(b"no such page\n", 404)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any

    def page_hello(self):
        self.answer(b"hello\n", X_Word="one", Content_Type="text/plain")

    def page_echo(self):
        lines = [f"{self.command} {self.path}"]
        lines += sorted(f"{k.lower()}: {v}" for k, v in self.headers.items())
        self.answer("\n".join(lines).encode() + b"\n\n" + self.body)

    def page_bytes(self):
        self.answer(b"\x00" * int(self.query["n"]))

    def page_redirect(self):
        self.answer(b"elsewhere", int(self.query.get("code", 302)), Location=self.query["to"])

    def page_around(self):
        self.answer(b"", 302, Location="/around")

    def page_zip(self):
        self.answer(gzip.compress(b"small\n"), Content_Encoding="gzip")

    def page_bomb(self):
        if not hasattr(Handler, "bomb"):
            Handler.bomb = gzip.compress(b"\0" * (64 << 20))
        body = Handler.bomb
        if "twice" in self.query:
            body = gzip.compress(body)
        self.answer(body, Content_Encoding="gzip, gzip" if "twice" in self.query else "gzip")

    def page_bad_zip(self):
        self.answer(b"this is no gzip at all", Content_Encoding="gzip")

    def page_endless(self):
        self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while self.raw(b"10000\r\n" + b"x" * 65536 + b"\r\n"):
            pass

    def page_endless_head(self):
        self.raw(b"HTTP/1.1 200 OK\r\n")
        while self.raw(b"X-Filler: " + b"x" * 1000 + b"\r\n"):
            pass

    def page_slow(self):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            if not self.raw(b"x"):
                break
            time.sleep(0.2)

    def page_silent(self):
        time.sleep(600)  # as long as anybody may wait
        self.close_connection = True

    def page_cut(self):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly a part")
        self.close_connection = True

    def page_more(self):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more than that")
        self.close_connection = True

    def page_two_lengths(self):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhelloworld")
        self.close_connection = True

    def page_bad_chunks(self):
        self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n")
        self.close_connection = True

    def page_old(self):
        self.raw(b"just words, as HTTP/0.9 had it\n")
        self.close_connection = True

    def page_odd_fields(self):
        self.raw(
            b"HTTP/1.1 200 Fine\xfc\r\nVary: a\r\nVARY: b\r\nX-Latin: gr\xfc\xdf\r\n"
            b"X-Bell: a\x07b\r\nContent-Length: 2\r\n\r\nok"
        )

    def page_file(self):
        """FILE, by ranges; ?cut=N sends no more than N bytes; ?tag=T is another version."""
        tag = f'"{self.query["tag"]}"' if "tag" in self.query else TAG
        state = os.path.join(FOLDER, "version")
        if os.path.exists(state):
            with open(state, encoding="utf-8") as f:
                tag = f.read()
        start, wanted = 0, self.headers.get("Range")
        if wanted and self.headers.get("If-Range") in (None, tag):
            start = int(wanted[len("bytes="):].split("-", maxsplit=1)[0])
        body = FILE[start:]
        status = b"206 Partial Content" if start else b"200 OK"
        head = b"HTTP/1.1 " + status + b"\r\n" + f"ETag: {tag}\r\n".encode()
        if start:
            head += f"Content-Range: bytes {start}-{len(FILE) - 1}/{len(FILE)}\r\n".encode()
        head += f"Content-Length: {len(body)}\r\n\r\n".encode()
        cut = int(self.query.get("cut", len(FILE)))
        if os.path.exists(os.path.join(FOLDER, "whole")):
            cut = len(FILE)
        pause = float(self.query.get("pause", 0))
        if not self.raw(head):
            return
        for at in range(0, min(len(body), cut), 65536):
            if not self.raw(body[at:min(at + 65536, cut)]):
                return
            time.sleep(pause)
        if cut < len(body):
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


def serve(context=None):
    server = Server(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    secure = 0
    plain, other = serve(), serve()
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        secure = serve(context)
    print(plain, other, secure, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
