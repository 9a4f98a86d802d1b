#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What corral-mail does with a call, against real and against hostile SMTP servers, without a broker.

MAIL_CLIENT is the program (src/services/mail/test/mail-client.c). Python's own reader of mail must find
in a mail what was put into it.
"""

import concurrent.futures
import email
import email.header
import email.policy
import email.utils
import logging
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import aiosmtpd  # noqa: F401
except ImportError:
    # Debian has it for the system's own Python.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    raise

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import servers

CLIENT = os.environ["MAIL_CLIENT"]
PATIENT_MS = 60000  # no answer takes as long, also on a machine with other things to do
SHORT_MS = 1500  # where the server lets it pass
number = failures = 0


def ok(holds, name, *about):
    global number, failures
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}", flush=True)
    if not holds:
        failures += 1
        for part in about:
            print("# " + repr(part)[:2000], flush=True)


def send(port, way="plain", ca="", user="", password="", ms=PATIENT_MS, host="127.0.0.1", probe=False, **mail):
    """(first word, the rest) of what the client prints."""
    words = []
    for key, value in {"from": "Agent <agent@example.com>", "to": "bob@example.org", **mail}.items():
        words += [f"{key}={v}" for v in (value if isinstance(value, list) else [value])]
    r = subprocess.run([CLIENT, host, str(port), way, ca, user, password, str(ms), *(["probe"] if probe else [])],
                       input=b"".join(w.encode() + b"\0" for w in words), capture_output=True,
                       timeout=2 * PATIENT_MS / 1000, check=False)
    first, _, rest = r.stdout.decode().strip().partition(" ")
    return first, rest or r.stderr.decode()


def read(mail):
    return email.message_from_bytes(mail[2], policy=email.policy.default)


def test_ways(folder):
    ca = os.path.join(folder, "ca.pem")
    for way in ("tls", "starttls", "plain"):
        server = servers.Real(way, None if way == "plain" else servers.context(folder, "good"), login=True)
        got = send(server.port, way, ca, servers.USER, servers.PASSWORD, host="localhost", subject="by " + way,
                   body="text\n", cc="Carol <carol@example.org>", bcc=["hidden@example.org"])
        inbox = server.inbox.mails
        ok(got[0] == "sent" and len(inbox) == 1, f"{way}: a mail arrives", got, inbox)
        sender, to, _ = inbox[0] if inbox else ("", [], b"")
        ok((sender, to) == ("agent@example.com", ["bob@example.org", "carol@example.org", "hidden@example.org"]),
           f"{way}: To, Cc and Bcc get it", sender, to)
        ok(inbox and b"hidden" not in inbox[0][2] and b"Bcc" not in inbox[0][2], f"{way}: Bcc is not seen in it")
        got = send(server.port, way, ca, servers.USER, "wrong", host="localhost", subject="no", body="")
        ok(got[0] == "service" and "refused the login" in got[1] and len(inbox) == 1,
           f"{way}: a wrong password is no server", got)
        got = send(server.port, way, ca, servers.USER, servers.PASSWORD, host="localhost", probe=True)
        ok(got[0] == "found" and len(inbox) == 1, f"{way}: a probe logs in and sends nothing", got)
        server.close()
    server = servers.Real("plain", host="::1")
    got = send(server.port, host="::1", subject="six", body="")
    ok(got[0] == "sent", "an IPv6 address is a server", got)
    server.close()


def test_tls_is_verified(folder):
    ca = os.path.join(folder, "ca.pem")
    for way in ("tls", "starttls"):
        for name in ("other", "self"):
            server = servers.Real(way, servers.context(folder, name), login=True)
            got = send(server.port, way, ca, servers.USER, servers.PASSWORD, host="localhost", subject="x", body="x")
            ok(got[0] == "service" and "TLS" in got[1] and not server.inbox.mails,
               f"{way}: the certificate `{name}` is not taken", got)
            server.close()


def test_starttls_that_is_taken_away():
    """A server, or an attacker before it, that does not offer STARTTLS, refuses it, or speaks before it."""
    secret = ("PLAIN", b"agent", b"MAIL", b"AUTH", b"RCPT")
    offers = {**servers.HELLO, "EHLO": b"250-odd\r\n250-AUTH PLAIN LOGIN\r\n250 STARTTLS\r\n"}

    def inject(server, connection):
        reader = server.talk(connection, offers, until="STARTTLS")
        # Replies in clear text that a client could take for those behind TLS.
        connection.sendall(b"220 go\r\n250-odd\r\n250 AUTH PLAIN\r\n235 welcome\r\n250 OK\r\n250 OK\r\n354 go\r\n250 OK\r\n")
        while server.line(reader):
            pass

    scripts = {
        "is not offered": lambda s, c: s.talk(c, {**servers.HELLO, "EHLO": b"250-odd\r\n250 AUTH PLAIN\r\n"}),
        "is refused": lambda s, c: s.talk(c, {**offers, "STARTTLS": b"454 not now\r\n"}),
        "is no command": lambda s, c: s.talk(c, {**offers, "STARTTLS": b"502 what\r\n"}),
        "is answered by more than one reply": inject,
    }
    for name, script in scripts.items():
        server = servers.Odd(script)
        got = send(server.port, "starttls", "", servers.USER, servers.PASSWORD, subject="x", body="x")
        said = b"".join(server.seen)
        ok(got[0] in ("service", "network") and not any(w in said for w in secret[1:]),
           f"STARTTLS that {name}: nothing is said", got, said)
        server.close()


def test_replies(folder):
    server = servers.Real()
    server.inbox.refuse = {"no@example.org": "550 no such user", "later@example.org": "451 try later"}
    for who in server.inbox.refuse:
        got = send(server.port, to=["bob@example.org", who], subject="x", body="x")
        ok(got[0] == "network" and who in got[1] and not server.inbox.mails,
           f"one recipient that the server refuses ({who}): nothing is sent", got)
    server.close()
    for name, replies, word in (
            ("the sender", {"MAIL": b"550 not you\r\n"}, "refused the sender"),
            ("DATA", {"DATA": b"554 no\r\n"}, "refused the mail"),
            ("the text", {".": b"554 spam\x1b[31m\xff\r\n"}, "refused the mail: 554 spam?[31m?"),
            ("EHLO and HELO", {"EHLO": b"500 what\r\n", "HELO": b"500 what\r\n"}, "500 what")):
        odd = servers.Odd(lambda s, c, r=replies: s.talk(c, {**servers.HELLO, **r}))
        got = send(odd.port, subject="x", body="x")
        ok(got[0] in ("network", "service") and word in got[1], f"a server that refuses {name}", got)
        odd.close()
    odd = servers.Odd(lambda s, c: s.talk(c, servers.HELLO))
    got = send(odd.port, user=servers.USER, password=servers.PASSWORD, subject="x", body="x")
    ok(got[0] == "service" and "login" in got[1] and not any(b"RCPT" in w for w in odd.seen),
       "a server that offers no login gets no mail from one who has one", got, odd.seen)
    odd.close()
    with servers.closed_port() as port:
        got = send(port, subject="x", body="x")
    ok(got[0] == "service" and "cannot be reached" in got[1], "no server", got)
    got = send(25, host="no-such-host.invalid", subject="x", body="x")
    ok(got[0] == "service" and "no host" in got[1], "no such host", got)


def wait(server):
    while not server.ends:
        time.sleep(0.05)


def test_servers_that_misbehave():
    def flood(prefix):
        def script(server, connection):
            while not server.ends:
                connection.sendall(prefix + b"x" * 500 + b"\r\n")
        return script

    def one_line(server, connection):
        connection.sendall(b"220 ")
        while not server.ends:
            connection.sendall(b"x" * 65536)

    def cut_text(server, connection):
        reader = server.talk(connection, servers.HELLO, until="DATA")
        connection.sendall(b"354 go\r\n")
        server.line(reader)

    def stall(word):
        def script(server, connection):
            server.talk(connection, servers.HELLO, until=word)
            wait(server)
        return script

    def keep_quiet(server, connection):
        reader = server.talk(connection, servers.HELLO, until="DATA")
        connection.sendall(b"354 go\r\n")
        while server.line(reader) != b".\r\n":
            pass
        wait(server)

    def lose(server, connection):
        reader = server.talk(connection, servers.HELLO, until="DATA")
        connection.sendall(b"354 go\r\n")
        while server.line(reader) != b".\r\n":
            pass

    long = {**servers.HELLO, "MAIL": b"550 " + b"y" * 5000 + b"\r\n"}
    both = ("network", "timeout")
    rows = (
            ("a banner without end", flood(b"220-"), both, ""),
            ("lines that mean nothing", flood(b""), both, ""),
            ("one line without end", one_line, both, ""),
            ("a long reply", lambda s, c: s.talk(c, long), ("service",), "refused the sender"),
            ("no banner", lambda s, c: wait(s), ("timeout",), "in time"),
            ("silence at EHLO", stall("EHLO"), ("timeout",), "in time"),
            ("silence at RCPT", stall("RCPT"), ("timeout",), "in time"),
            ("silence at the end", keep_quiet, ("timeout",), "may arrive"),
            ("an end at once", lambda s, c: None, ("network",), ""),
            ("an end at RCPT", lambda s, c: s.talk(c, servers.HELLO, until="RCPT") and None, ("network",), ""),
            ("an end in the text", cut_text, ("network",), ""),
            ("an end instead of the last reply", lose, ("network",), "may arrive"),
            ("HTTP", lambda s, c: c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), ("network",), ""))

    def is_sent(server):
        """Whether the whole mail came. The client has ended: whoever is taken after it is the last one."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENT_MS / 1000) as last:
            last.recv(1)
        while server.left < server.taken and b".\r\n" not in server.seen:
            time.sleep(0.05)
        return b".\r\n" in server.seen

    def outcome(row):
        _, script, classes, _ = row
        # Before the last silence all of the mail is sent, for which a busy machine may need longer.
        for ms in (SHORT_MS, 10 * SHORT_MS) if "timeout" in classes else (PATIENT_MS,):
            server = servers.Odd(script)
            got = send(server.port, ms=ms, subject="x", body="x" * 200000)
            is_over = script is not keep_quiet or is_sent(server)
            server.close()
            if is_over:
                break
        return got

    # All at once: each has a server of its own, and most of them wait.
    with concurrent.futures.ThreadPoolExecutor(len(rows)) as clients:
        for (name, _, classes, word), got in zip(rows, clients.map(outcome, rows)):
            ok(got[0] in classes and word in got[1] and len(got[1]) < 800, f"{name}: bounded", got[0], got[1][:300])


def test_injection():
    """Each is tried with a client that checks nothing first, where it works."""
    server = servers.Real()
    inbox = server.inbox.mails

    servers.naive_send(server.port, "a@b", ["bob@allowed.example>\r\nRCPT TO:<eve@evil.example"], "x")
    ok(inbox and "eve@evil.example" in inbox[-1][1], "a command in an address works with a client that checks nothing")
    servers.naive_send(server.port, "a@b", ["bob@allowed.example"], "Subject: x\r\nBcc: y\r\n\r\n"
                       "text\r\n.\r\nMAIL FROM:<b@c>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\nSubject: second\r\n")
    ok(inbox[-1][1] == ["eve@evil.example"], "a mail in a body works with a client that checks nothing", inbox[-1])
    del inbox[:]
    for field, value in (
            ("to", "bob@allowed.example>\r\nRCPT TO:<eve@evil.example"), ("to", "bob@allowed.example\r\n"),
            ("cc", "bob@allowed.example, eve@evil.example"), ("bcc", "bob@allowed.example\neve@evil.example"),
            ("to", "\"bob@allowed.example\"@evil.example"), ("to", "bob@allowed.example <eve@evil.example>"),
            ("to", "@evil.example:bob@allowed.example"), ("to", "bob%evil.example@allowed.example"),
            ("to", "x\r\nBcc: eve@evil.example <bob@allowed.example>"), ("subject", "x\r\nBcc: eve@evil.example"),
            ("subject", "x\nBcc: eve@evil.example"), ("subject", "x\r\n\r\ntext"), ("subject", "x\ry")):
        got = send(server.port, **{"subject": "x", "body": "x", field: value})
        ok(got[0] == "parameters" and not inbox, f"{field} {value!r} is refused", got)
    body = "first\r\n.\r\nMAIL FROM:<b@c>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\n.\r\n..\n.\nlast"
    got = send(server.port, subject="dots", body=body)
    ok(got[0] == "sent" and len(inbox) == 1 and inbox[0][1] == ["bob@example.org"]
       and read(inbox[0]).get_payload(decode=True).decode().replace("\r\n", "\n") == body.replace("\r\n", "\n"), "a body stays a body", got, inbox)
    server.close()


def addresses(raw, header):
    """By the old reader: the new one (3.11) adds blanks between encoded words of a name."""
    found = email.utils.getaddresses(email.message_from_bytes(raw).get_all(header))
    return [(str(email.header.make_header(email.header.decode_header(n))), a) for n, a in found]


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def words_of(rng, alphabet, most):
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(most)))


def test_mails_read_back(folder):
    rng = random.Random(15)
    letters = "abc XYZ 0123,.;:!?()<>@[]\"'\\=_%/&-+ äöüß éñ 漢字 😀 \u00a0=?utf-8?q?x?="
    lines = letters + "\n\n.\n--\n\tFrom "
    server = servers.Real()
    wrong = []
    for i in range(120):
        subject = words_of(rng, letters, rng.choice((10, 60, 150))).strip()
        body = words_of(rng, lines, rng.choice((1, 50, 3000)))
        name = " ".join(words_of(rng, "Bob Zoë 漢字 Müller .-'&!", 40).split())
        files = []
        for k in range(rng.randrange(3)):
            path = os.path.join(folder, words_of(rng, "abc .-_äöü漢'()%*;=", rng.choice((8, 60))) + f"{i}.{k}.bin")
            with open(path, "wb") as f:
                f.write(rng.randbytes(rng.choice((0, 1, 57, 58, 5000))))
            files.append(path)
        to = (name + " " if name else "") + "<bob@example.org>"
        got = send(server.port, to=[to, "zoe@xn--bcher-kva.example"], cc="Ann <ann@example.org>", subject=subject,
                   body=body, file=files)
        if got[0] != "sent":
            wrong.append((got, to, subject))
            continue
        raw = server.inbox.mails[-1][2]
        m = email.message_from_bytes(raw, policy=email.policy.default)
        text = m.get_body(("plain",)).get_payload(decode=True).decode()
        found = {
            "subject": (m["Subject"], subject), "id": (m["Message-ID"], "<" + got[1] + ">"),
            "from": (str(m["From"]), "Agent <agent@example.com>"),
            "to": (addresses(raw, "To"), [(name, "bob@example.org"), ("", "zoe@xn--bcher-kva.example")]),
            "cc": (str(m["Cc"]), "Ann <ann@example.org>"), "body": (text, body.replace("\n", "\r\n")),
            "names": ([p.get_filename() for p in m.iter_attachments()], [os.path.basename(p).lstrip() for p in files]),
            "files": ([p.get_payload(decode=True) for p in m.iter_attachments()], [contents(p) for p in files]),
            "defects": (m.defects, []), "keys": ([k for k in m.keys() if k not in (
                "Date", "From", "To", "Cc", "Subject", "Message-ID", "Auto-Submitted", "MIME-Version",
                "Content-Type", "Content-Transfer-Encoding")], []),
            "date": (abs(m["Date"].datetime.timestamp() - time.time()) < 60, True),
            "lines": (max(map(len, raw.split(b"\r\n"))) <= 998 and raw.isascii(), True),
        }
        wrong += [(k, v) for k, v in found.items() if v[0] != v[1]]
    ok(not wrong, "Python reads from 120 mails what was put into them", *wrong[:5])
    server.close()


def main():
    folder = tempfile.mkdtemp(prefix="corral-mail-")
    # aiosmtpd's words about what the tests do to it.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        servers.certificates(folder)
        test_ways(folder)
        test_tls_is_verified(folder)
        test_starttls_that_is_taken_away()
        test_replies(folder)
        test_servers_that_misbehave()
        test_injection()
        test_mails_read_back(folder)
    finally:
        shutil.rmtree(folder)
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
