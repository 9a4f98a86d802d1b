# SPDX-License-Identifier: Apache-2.0
"""SMTP servers on loopback for the tests of mail: aiosmtpd, and some that misbehave."""

import contextlib
import os
import random
import socket
import ssl
import subprocess
import threading

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

USER, PASSWORD = "agent", "correct horse"
# Made in no time, also on a machine with other things to do.
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def certificates(folder):
    """An authority, a certificate for localhost and 127.0.0.1, one for another host, one by an unknown authority."""
    def path(name):
        return os.path.join(folder, name)

    openssl("req", "-x509", *KEY, "-nodes", "-days", "2", "-subj", "/CN=Test authority",
            "-keyout", path("ca.key"), "-out", path("ca.pem"))
    for name, names in (("good", "DNS:localhost,IP:127.0.0.1,IP:::1"), ("other", "DNS:other.example")):
        with open(path("names"), "w", encoding="utf-8") as f:
            f.write("subjectAltName=" + names + "\n")
        openssl("req", *KEY, "-nodes", "-subj", "/CN=" + name, "-keyout", path(name + ".key"),
                "-out", path("request"))
        openssl("x509", "-req", "-days", "2", "-in", path("request"), "-CA", path("ca.pem"), "-CAkey",
                path("ca.key"), "-CAcreateserial", "-extfile", path("names"), "-out", path(name + ".pem"))
    openssl("req", "-x509", *KEY, "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost", "-keyout", path("self.key"), "-out", path("self.pem"))


def context(folder, name):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key"))
    return c


class Inbox:
    """What aiosmtpd received: (from, to, bytes)."""

    def __init__(self):
        self.mails = []
        self.refuse = {}  # an address, and the reply to it

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, list(envelope.rcpt_tos), envelope.content))
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False)


class Real:
    """way: tls, starttls or plain. login: only with USER and PASSWORD."""

    def __init__(self, way="plain", tls=None, login=False, host="127.0.0.1"):
        self.inbox = Inbox()
        options = {"authenticator": authenticate, "auth_required": login, "auth_require_tls": way == "starttls"}
        if way == "starttls":
            options["tls_context"] = tls
            options["require_starttls"] = True
        if way == "tls":
            options["ssl_context"] = tls
        for left in reversed(range(20)):
            self.controller = Controller(self.inbox, hostname=host, port=free_port(host), ready_timeout=60, **options)
            try:
                self.controller.start()
                break
            except OSError:
                # Another test has the port by now.
                if not left:
                    raise
        self.port = self.controller.port

    def close(self):
        self.controller.stop()


def free_port(host):
    """None of those that the kernel gives to others meanwhile."""
    while True:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as s:
            try:
                s.bind((host, random.randrange(10000, 30000)))
                return s.getsockname()[1]
            except OSError:
                pass


@contextlib.contextmanager
def closed_port():
    """A port of loopback at which no program listens, and none can meanwhile."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


class Odd:
    """Each connection is given to a function; `seen` is what clients sent, `taken` and `left` how many there are and were."""

    def __init__(self, script):
        self.script, self.seen, self.taken, self.left = script, [], 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ends = False
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.taken += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection:
                self.script(self, connection)
        except (OSError, ssl.SSLError, EOFError):
            pass
        finally:
            self.left += 1

    def close(self):
        self.ends = True
        # The thread would go on to accept at the descriptor's number, which the next server gets.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    # Words of scripts.
    def line(self, reader):
        line = reader.readline()
        if not line:
            raise EOFError
        self.seen.append(line)
        return line

    def talk(self, connection, replies, until=None):
        """Answers by the first word of a command; returns at the word `until`, which is not answered."""
        reader = connection.makefile("rb")
        connection.sendall(b"220 odd ESMTP\r\n")
        while True:
            word = self.line(reader).split()[:1]
            word = word[0].decode().upper() if word else ""
            if word == until:
                return reader
            connection.sendall(replies.get(word, b"250 OK\r\n"))
            if word == "DATA" and replies["DATA"].startswith(b"354"):
                while self.line(reader) != b".\r\n":
                    pass
                connection.sendall(replies.get(".", b"250 OK\r\n"))
            if word == "QUIT":
                return reader


HELLO = {"EHLO": b"250-odd\r\n250 SIZE 1000000\r\n", "DATA": b"354 go\r\n"}


def naive_send(port, sender, to, text):
    """A client that checks nothing: what attacks on a mail are tried with first."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        reader = s.makefile("rb")

        def reply():
            while reader.readline()[3:4] == b"-":
                pass

        reply()
        for command in ("EHLO naive", f"MAIL FROM:<{sender}>", *(f"RCPT TO:<{a}>" for a in to), "DATA"):
            s.sendall(command.encode() + b"\r\n")
            for _ in range(command.count("\r\n") + 1):
                reply()
        s.sendall(text.encode() + b"\r\n.\r\n")
        for _ in range(text.count("\r\n.\r\n") + 1):
            reply()
        s.sendall(b"QUIT\r\n")
        while reader.readline():
            pass
