#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with a password that the command does not have: psql and psycopg2 with a real server, over TLS and without, and servers
and clients that break the rules. As root, once more as an ordinary user. Prints TAP."""

import base64
import contextlib
import glob
import hashlib
import hmac
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import USER, end, ok, skip  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_VAULT", "CORRAL_INJECT", "CORRAL_POSTGRES")
CORRAL, VAULT, INJECT, POSTGRES = (os.path.abspath(os.environ[name]) for name in PROGRAMS)
BIN = max(glob.glob("/usr/lib/postgresql/*/bin") or ["/usr/bin"])
PASSWORD = "a-password-that-is-nowhere-else"
PATIENCE = 60


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=120, check=False, **more)


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True, timeout=60)


def certificates(folder, address):
    """An authority, and certificates of it: for the address, and for another name."""
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority", cwd=folder)
    for name, san in (("good", f"IP:{address}"), ("other", "DNS:other.example")):
        (folder / "ext").write_text(f"subjectAltName={san}\n")
        openssl("req", *new, "-keyout", f"{name}.key", "-out", "csr", "-subj", "/CN=x", cwd=folder)
        openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.crt", "-days", "2", "-extfile", "ext",
                cwd=folder)
        (folder / f"{name}.pem").write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text())


def own_address():
    """One of this machine's that is no loopback's; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return None if s.getsockname()[0].startswith("127.") else s.getsockname()[0]


class Place:
    def __init__(self, scratch):
        self.path = pathlib.Path(scratch).resolve()
        self.path.chmod(0o755)
        (self.path / "work").mkdir()
        self.address = own_address()
        certificates(self.path, self.address or "127.0.0.1")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"), "XDG_CONFIG_HOME": str(self.path / "config"),
                    "XDG_RUNTIME_DIR": str(self.path / "run"), "XDG_CACHE_HOME": str(self.path / "cache"), "LC_ALL": "C.UTF-8", "CORRAL_VAULT": VAULT,
                    "CORRAL_INJECT": INJECT, "CORRAL_POSTGRES": POSTGRES}
        words = self.path / "passphrase"
        words.write_text("correct horse battery\n")
        words.chmod(0o600)
        for step in ("init", "unlock"):
            done = self.vault(step, "--passphrase-file", str(words))
            ok(done.returncode == 0, f"vault {step}", done)
        shutil.copy(self.path / "ca.pem", self.path / "state/corral/vault/authorities.pem")
        ok(self.vault("set", "DB_PASSWORD", value=PASSWORD).returncode == 0, "a password is set")

    def call(self, *words, value="", **env):
        return subprocess.run([CORRAL, *words], input=value, capture_output=True, text=True, errors="replace", cwd=self.path / "work",
                              env={**self.env, **env}, timeout=120, check=False, start_new_session=True)

    def vault(self, *words, value=""):
        return self.call("vault", *words, value=value)

    def grant(self, place, name="DB_PASSWORD", *words):
        return self.vault("grant", name, place, "--in", "postgresql", *words)

    def run(self, script, *options, name="DB_PASSWORD"):
        return self.call("run", "--secret", name, *options, "--", "sh", "-c", script)


class Server:
    """A real one, of an ordinary user, in a folder of its own."""

    def __init__(self, place, listens):
        self.data = place.path / "pg"
        self.before = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
        self.data.mkdir(mode=0o700)
        (place.path / "password").write_text(PASSWORD + "\n")
        for name in ("good.crt", "good.key"):
            shutil.copy(place.path / name, self.data / name)
            (self.data / name).chmod(0o600)
        if os.geteuid() == 0:
            os.chown(self.data, USER, USER)
            os.chown(place.path / "password", USER, USER)
        kept = {name: (self.data / name).read_bytes() for name in ("good.crt", "good.key")}
        for name in kept:
            (self.data / name).unlink()
        done = run(*self.before, f"{BIN}/initdb", "-D", str(self.data), "-U", "app", "-A", "scram-sha-256", f"--pwfile={place.path}/password", "--no-sync",
                   "--no-instructions", "--locale=C", "-E", "UTF8", cwd="/")
        (place.path / "password").unlink()
        ok(done.returncode == 0, "initdb", done)
        for name, text in kept.items():
            (self.data / name).write_bytes(text)
            (self.data / name).chmod(0o600)
            if os.geteuid() == 0:
                os.chown(self.data / name, USER, USER)
        with open(self.data / "pg_hba.conf", "a", encoding="ascii") as file:
            file.write("hostssl all all 0.0.0.0/0 scram-sha-256\n")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        options = {"listen_addresses": ",".join(listens), "port": self.port, "unix_socket_directories": "", "fsync": "off", "shared_buffers": "1MB",
                   "max_connections": "30", "dynamic_shared_memory_type": "mmap", "ssl": "on", "ssl_cert_file": "good.crt", "ssl_key_file": "good.key"}
        self.process = subprocess.Popen([*self.before, f"{BIN}/postgres", "-D", str(self.data), *(f"--{k}={v}" for k, v in options.items())], cwd="/",
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        for line in self.process.stderr:
            if "ready to accept connections" in line:
                break
        self.lines = []
        threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True).start()

    def end(self):
        self.process.send_signal(signal.SIGINT)  # it does not wait for its sessions
        self.process.wait(PATIENCE)


def sql(place, query, *options, more="", host=None, env=""):
    host, port = (host or place).rsplit(":", 1)
    return f"{env} psql -X -A -t 'host={host} port={port} user=app dbname=postgres {more}' -c \"{query}\" {' '.join(options)}"


SEARCH = r"""
import glob, os, sys
wanted = bytes.fromhex(sys.argv[1])
found = [k for k, v in os.environb.items() if wanted in v]
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/mem"):
    try:
        with open(path, "rb", 0) as file:
            if not path.endswith("mem"):
                found += [path] * (wanted in file.read())
                continue
            if path == f"/proc/{os.getpid()}/mem":
                continue
            for line in open(path[:-3] + "maps"):
                a, b = (int(x, 16) for x in line.split()[0].split("-"))
                try:
                    file.seek(a)
                    found += [path + line] * (wanted in file.read(b - a))
                except (OSError, ValueError, OverflowError):
                    pass
    except OSError:
        pass
print("found", found)
"""

PSYCOPG = r"""
import os, psycopg2
c = psycopg2.connect(host="%s", port=%s, user="app", password=os.environ["DB_PASSWORD"], dbname="postgres", sslmode="%s")
k = c.cursor()
k.execute("create temporary table t as select generate_series(1, 100000) as n")
k.execute("select sum(n) from t")
print("sum", k.fetchone()[0])
c.close()
"""

CANCEL = r"""
import psycopg2, threading
c = psycopg2.connect(host="%s", port=%s, user="app", dbname="postgres")
k = c.cursor()
def cancel():
    with psycopg2.connect(host="%s", port=%s, user="app", dbname="postgres") as other:
        q = other.cursor()
        other.autocommit = True
        while True:
            q.execute("select count(*) from pg_stat_activity where query like 'select pg_sleep%%%%' and wait_event = 'PgSleep'")
            if q.fetchone()[0]:
                break
    c.cancel()
threading.Thread(target=cancel).start()
try:
    k.execute("select pg_sleep(1000)")
except psycopg2.errors.QueryCanceled as e:
    print("cancelled")
"""


def clients(place, server):
    """Over loopback: the password is used, and is nowhere inside."""
    near = f"127.0.0.1:{server.port}"
    done = place.run("true")
    ok(done.returncode == 125 and "not granted" in done.stderr, "without a grant it is not lent", done)
    ok(place.grant(near).returncode == 0, "it is granted as a password")
    ok(place.vault("grant", "DB_PASSWORD", near, "--in", "header,postgresql").returncode == 2, "not for HTTP at the same place")
    done = place.call("run", "--net", near, "--", "sh", "-c", sql(near, "select 1", "-w"))
    ok(done.returncode != 0 and "password" in done.stderr, "without the secret the server asks for one", done)
    for name, env in (("with a placeholder", "PGPASSWORD=$DB_PASSWORD"), ("without a password", ""), ("with a wrong one", "PGPASSWORD=wrong")):
        done = place.run("echo inside $DB_PASSWORD; " + sql(near, "select 40 + 2", "-w", env=env))
        ok(done.returncode == 0 and "\n42\n" in done.stdout, f"psql is in, {name}", done)
        ok(PASSWORD not in done.stdout + done.stderr and "inside " in done.stdout, f"and has no password, {name}", done)
    done = place.run(sql(near, "select 1", "-w", more="sslmode=verify-full"))
    ok(done.returncode == 0 and done.stdout == "1\n", "sslmode=verify-full, by the sandbox's authority", done)
    done = place.run(sql(near, "select 1", "-w", more="sslmode=require") + "; " + sql(near, "select 2", "-w", more="sslmode=disable"))
    ok(done.stdout == "1\n2\n", "sslmode=require, and sslmode=disable", done)
    (place.path / "work/search.py").write_text(SEARCH)
    done = place.run(f"({sql(near, 'select pg_sleep(1000)', '-w')}) & pid=$!; {sql(near, 'select current_user', '-w')}; "
                     f"python3 search.py {PASSWORD.encode().hex()}; kill $pid")
    ok("app\nfound []" in done.stdout, "a search of all that it sees finds none", done)
    if run("/usr/bin/python3", "-c", "import psycopg2").returncode != 0:
        skip("psycopg2", "not installed: python3-psycopg2; see tools/setup net")
    else:
        for mode in ("prefer", "disable", "verify-full"):
            (place.path / "work/client.py").write_text(PSYCOPG % ("127.0.0.1", server.port, mode))
            done = place.run("/usr/bin/python3 client.py")
            ok(done.stdout == "sum 5000050000\n", f"psycopg2, sslmode={mode}", done)
        (place.path / "work/cancel.py").write_text(CANCEL % ("127.0.0.1", server.port, "127.0.0.1", server.port))
        done = place.run("/usr/bin/python3 cancel.py")
        ok(done.stdout == "cancelled\n", "a query of its own is cancelled", done)
    done = place.run(sql(near, "select 1", "-w", more="channel_binding=require sslmode=require"))
    ok(done.returncode != 0, "a client that wants to see the login itself is not in", done)
    done = place.run(f"psql -X -w 'host=127.0.0.1 port={server.port} user=nobody dbname=postgres' -c 'select 1'")
    ok(done.returncode != 0 and "authentication failed" in done.stderr, "another user has another password: the server's words arrive", done)
    done = place.run(sql(near, "select 1", "-w", more="replication=database"))
    ok(done.returncode != 0 and "replication" in done.stderr, "replication is refused by name", done)
    done = place.call("audit", "list", "--json")
    ok("vault.sent:DB_PASSWORD" in done.stdout and f"{near} in postgresql" in done.stdout, "the log has its use", done.stdout[-2000:])
    ok(PASSWORD not in done.stdout, "and not its value")
    # Without the process that has it, the same connection is the server's own matter.
    done = place.call("run", "--secret", "DB_PASSWORD", "--", "true", CORRAL_POSTGRES="/nonexistent")
    ok(done.returncode == 125 and "cannot start /nonexistent" in done.stderr, "a missing program is named", done)


def programs(place, server):
    """A password for one program: others are not logged in."""
    near = f"127.0.0.1:{server.port}"
    psql = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"), reverse=True)), shutil.which("psql"))
    ok(place.grant(near, "DB_PASSWORD", "--program", psql).returncode == 0, "it is granted to psql")
    done = place.run(sql(near, "select 40 + 2", "-w"))
    ok(done.returncode == 0 and done.stdout == "42\n", "psql is in", done)
    ok(place.grant(near, "DB_PASSWORD", "--program", "/usr/bin/curl").returncode == 0, "it is granted to another program")
    done = place.run(sql(near, "select 40 + 2", "-w"))
    ok(done.returncode != 0 and "42" not in done.stdout and "DB_PASSWORD is granted to /usr/bin/curl alone" in done.stderr and psql in done.stderr, "psql is not in, and the run says why", done)
    done = place.vault("uses", "DB_PASSWORD")
    ok(f"{near} in postgresql by {psql}" in done.stdout, "the log has the program", done.stdout[-1500:])
    place.grant(near)


def changes(place, server):
    """Another password, and a grant that is revoked, while a run goes on."""
    near = f"127.0.0.1:{server.port}"
    other = PASSWORD[::-1]
    tries = "n=0; until {}; do n=$((n + 1)); [ $n -lt 600 ] || exit 1; sleep 0.1; done; echo {}"
    psql = sql(near, "select 1", "-w") + " >/dev/null 2>&1"
    script = "; ".join([sql(near, f"alter role app password '{other}'", "-w"), tries.format(psql, "in"), tries.format(f"! {psql}", "out")])
    run_now = subprocess.Popen([CORRAL, "run", "--secret", "DB_PASSWORD", "--", "sh", "-c", script], cwd=place.path / "work", env=place.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = [run_now.stdout.readline()]
    place.vault("rotate", "DB_PASSWORD", value=other)
    said.append(run_now.stdout.readline())
    place.vault("revoke", "DB_PASSWORD", near)
    rest, errors = run_now.communicate(timeout=120)
    ok(said == ["ALTER ROLE\n", "in\n"], "a run has the next password of the vault", said, errors)
    ok(rest == "out\n" and "DB_PASSWORD is not granted there any more" in errors, "and none when its grant is revoked", rest, errors)
    place.grant(near)
    done = place.run(sql(near, f"alter role app password '{PASSWORD}'", "-w"))
    place.vault("rotate", "DB_PASSWORD", value=PASSWORD)
    ok(done.returncode == 0, "and the next run is in again", done)


def policy(place, server):
    near = f"127.0.0.1:{server.port}"
    path = place.path / "work/p.yaml"
    for place_name, is_in in (("postgresql", True), ("header", False)):
        path.write_text(f'extends: workspace\nnetwork: {{allow: ["{near}"]}}\n'
                        f'secrets: {{DB_PASSWORD: {{hosts: ["{near}"], in: [{place_name}]}}}}\n')
        done = place.call("run", "--policy", str(path), "--", "sh", "-c", sql(near, "select 7", "-w"))
        ok((done.stdout == "7\n") == is_in, f"a policy with in: [{place_name}]", done)
    done = place.vault("set", "SECOND", value=PASSWORD)
    place.grant(near, "SECOND")
    done = place.run("true", "--secret", "SECOND")
    ok(done.returncode == 125 and "both lent as the password" in done.stderr, "two passwords for one host are refused by name", done)
    place.vault("grant", "SECOND", near)
    done = place.run("true", "--secret", "SECOND")
    ok(done.returncode == 125 and "corral vault revoke SECOND" in done.stderr, "and so is one host of two protocols", done)
    place.vault("set", "THIRD", value="pässwörd-of-letters")
    place.grant(near, "THIRD")
    done = place.run("true", name="THIRD")
    ok(done.returncode == 125 and "beyond ASCII" in done.stderr, "a password that would have to be prepared is refused by name", done)
    for name in ("SECOND", "THIRD"):
        place.vault("remove", name)


def far(place, server):
    """Over a network: TLS that is verified, or nothing."""
    if not place.address:
        skip("over a network", "kernel: this machine has no address but those of loopback")
        return
    there = f"{place.address}:{server.port}"
    ok(place.grant(there).returncode == 0, "it is granted over a network")
    # What the server sees: TLS, although the client speaks none.
    done = place.run(sql(there, "select ssl, current_user from pg_stat_ssl where pid = pg_backend_pid()", "-w", more="sslmode=disable"))
    ok(done.stdout == "t|app\n", "the way to the server has TLS", done, server.lines[-5:])
    done = place.run(sql(there, "select 1", "-w", more="sslmode=verify-full"))
    ok(done.stdout == "1\n", "sslmode=verify-full over a network", done)
    os.rename(place.path / "state/corral/vault/authorities.pem", place.path / "away.pem")
    done = place.run(sql(there, "select 1", "-w"))
    ok(done.returncode != 0 and "certificate of" in done.stderr, "a certificate of nobody's is refused", done)
    os.rename(place.path / "away.pem", place.path / "state/corral/vault/authorities.pem")


def packet(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


def asks(code, body=b""):
    return packet(b"R", struct.pack(">I", code) + body)


class Script:
    """A server that does what a case says, once for each connection; it keeps all that it was sent."""

    def __init__(self, does, address="127.0.0.1", tls=None):
        self.does, self.tls, self.seen, self.finished = does, tls, b"", threading.Event()
        self.socket = socket.create_server((address, 0))
        self.place = f"{address}:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        s, _ = self.socket.accept()
        s.settimeout(PATIENCE)
        with contextlib.suppress(OSError, struct.error, ssl.SSLError), s:
            self.speak(s)
        self.finished.set()

    def speak(self, s):
        if self.tls is not None:
            self.take(s, 8)
            s.sendall(self.tls[0])
            if self.tls[1]:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.tls[1])
                s = context.wrap_socket(s, server_side=True)
        self.take(s, struct.unpack(">I", self.take(s, 4))[0] - 4)
        self.does(self, s)
        while self.take(s, 1):
            pass

    def take(self, s, n):
        got = b""
        while len(got) < n and (part := s.recv(n - len(got))):
            got += part
        self.seen += got
        return got

    def message(self, s):
        kind = self.take(s, 1)
        return kind, self.take(s, struct.unpack(">I", self.take(s, 4))[0] - 4)


def scram(nonce=lambda n: n + "server", rounds="4096", signature=lambda v: v, final=True, salt="c2FsdA==", after=b"", key=PASSWORD):
    """SCRAM as it should be, but for what a case changes."""

    def does(server, s):
        s.sendall(asks(10, b"SCRAM-SHA-256\0\0"))
        _, body = server.message(s)
        first = body.split(b"\0", 1)[1][4:].decode()
        ours = nonce(first.split("r=")[1])
        challenge = f"r={ours},s={salt},i={rounds}"
        s.sendall(asks(11, challenge.encode()))
        _, body = server.message(s)
        last = body.decode()
        said = ",".join([first.split(",", 2)[2], challenge, last.rsplit(",p=", 1)[0]]).encode()
        salted = hashlib.pbkdf2_hmac("sha256", key.encode(), base64.b64decode(salt), int(rounds))
        proof = hmac.new(hmac.new(salted, b"Server Key", "sha256").digest(), said, "sha256").digest()
        if final:
            s.sendall(asks(12, b"v=" + base64.b64encode(signature(proof))))
        s.sendall(asks(0) + after)

    return does


READY = packet(b"K", struct.pack(">II", 4242, 99)) + packet(b"S", b"server_version\x0015\0") + packet(b"Z", b"I")


def servers(place):
    """A hostile server gets nothing that it could use, and the command is told why."""
    offers = lambda body: lambda _, s: s.sendall(body)
    rows = [
        ("asks for the password itself", offers(asks(3)), "it is never sent"),
        ("asks for an MD5", offers(asks(5, b"salt")), "MD5"),
        ("asks for a login of the system", offers(asks(7)), "not by a password"),
        ("lets in without a login", offers(asks(0) + READY), "asks for no password"),
        ("offers another mechanism", offers(asks(10, b"OAUTHBEARER\0\0")), "no login by SCRAM"),
        ("offers a binding without TLS", offers(asks(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")), "not the protocol"),
        ("has a nonce of its own", scram(nonce=lambda n: "x" + n), "not the protocol"),
        ("adds nothing to the nonce", scram(nonce=lambda n: n), "not the protocol"),
        ("asks for 2^31 rounds", scram(rounds="2147483648"), "rounds of SCRAM"),
        ("asks for one round", scram(rounds="1"), "rounds of SCRAM"),
        ("has a wrong signature", scram(signature=lambda v: bytes(32)), "does not know the password"),
        ("knows another password", scram(key="another"), "does not know the password"),
        ("has no signature", scram(final=False), "not the protocol"),
        ("downgrades behind the proof", lambda server, s: (scram(final=False, after=b"")(server, s)), "not the protocol"),
        ("starts before it was asked", offers(READY), "not the protocol"),
        ("speaks another protocol", offers(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not the protocol"),
        ("announces 2 GiB", offers(b"R" + struct.pack(">I", 1 << 31)), "not the protocol"),
        ("ends", lambda _, s: s.shutdown(socket.SHUT_RDWR), "ended the connection"),
    ]
    for name, does, words in rows:
        server = Script(does)
        place.grant(server.place)
        done = place.call("run", "--secret", f"DB_PASSWORD={server.place}", "--", "sh", "-c", sql(server.place, "select 1", "-w", more="sslmode=disable"))
        ok(done.returncode == 2 and words in done.stderr, f"a server that {name} is refused", done, server.seen)
        ok(PASSWORD.encode() not in server.seen and hashlib.md5(f"{PASSWORD}app".encode()).hexdigest().encode() not in server.seen, "and has no password",
           server.seen)
        place.vault("revoke", "DB_PASSWORD", server.place)
    # The same script, without a fault: what the others lack is what they are refused for.
    server = Script(scram(after=READY))
    place.grant(server.place)
    done = place.call("run", "--secret", f"DB_PASSWORD={server.place}", "--", "sh", "-c", f"python3 -c \"{HELLO}\" {server.place}")
    ok("in R Z" in done.stdout, "the script itself is a server that lets in", done)
    place.vault("revoke", "DB_PASSWORD", server.place)
    refuses = packet(b"E", b"SFATAL\0C28P01\0Mno such thing\0\0")
    server = Script(lambda _, s: s.sendall(refuses))
    place.grant(server.place)
    done = place.call("run", "--secret", f"DB_PASSWORD={server.place}", "--", "sh", "-c", sql(server.place, "select 1", "-w", more="sslmode=disable"))
    ok("no such thing" in done.stderr, "an error of the server arrives", done)
    place.vault("revoke", "DB_PASSWORD", server.place)


HELLO = ("import socket, struct, sys; h, p = sys.argv[1].split(':'); s = socket.create_connection((h, int(p))); "
         "b = struct.pack('>I', 3 << 16) + b'user\\0app\\0\\0'; s.sendall(struct.pack('>I', len(b) + 4) + b); f = s.makefile('rb'); "
         "print('in', *(k.decode() for k in iter(lambda: (f.read(1), f.read(struct.unpack('>I', f.read(4))[0] - 4))[0], b'Z') if k == b'R'), 'Z')")


# Logs in, and reads nothing before it is told.
DEAF = r"""
import socket, struct, sys
host, port = sys.argv[1].split(":")
with socket.create_connection((host, int(port))) as s:
    s.sendall(struct.pack(">II", 18, 3 << 16) + b"user\0app\0\0")
    sys.stdin.readline()
"""


def flood(place):
    """A server that has let a client in, and says more than that one reads."""

    def does(server, s):
        scram()(server, s)
        s.settimeout(5)  # it stops when nothing is taken any more
        part = packet(b"S", b"a\0" + b"x" * 60000 + b"\0")
        while server.flooded < 64 << 20:
            server.flooded += s.send(part[server.flooded % len(part):])

    server = Script(does)
    server.flooded = 0
    place.grant(server.place)
    (place.path / "work/deaf.py").write_text(DEAF)
    with subprocess.Popen([CORRAL, "run", "--secret", f"DB_PASSWORD={server.place}", "--", "python3", "deaf.py", server.place], cwd=place.path / "work",
                          env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
        ok(server.finished.wait(PATIENCE), "a server says more than its client reads")
        p.communicate("go\n", timeout=PATIENCE)
    ok(0 < server.flooded < 16 << 20, "and has to wait", server.flooded)
    place.vault("revoke", "DB_PASSWORD", server.place)


def far_servers(place):
    """What one over a network may not do."""
    if not place.address:
        skip("servers over a network", "kernel: this machine has no address but those of loopback")
        return
    rows = [
        ("has no TLS", (b"N", None), "has no TLS"),
        ("has another's certificate", (b"S", place.path / "other.pem"), "certificate of"),
        ("says more than one letter", (b"Sx", None), "not the protocol"),
        ("answers with an error", (packet(b"E", b"SFATAL\0Mgive me\0\0"), None), "not the protocol"),
    ]
    for name, tls, words in rows:
        server = Script(scram(), place.address, tls)
        place.grant(server.place)
        done = place.call("run", "--secret", f"DB_PASSWORD={server.place}", "--", "sh", "-c", sql(server.place, "select 1", "-w", more="sslmode=disable"))
        ok(done.returncode == 2 and words in done.stderr and b"app" not in server.seen, f"one over a network that {name} is refused, before the login", done,
           server.seen)
        place.vault("revoke", "DB_PASSWORD", server.place)


ATTACK = r"""
import socket, struct, sys

host, port = sys.argv[1].split(":")

def pack(code, body=b""):
    return struct.pack(">II", len(body) + 8, code) + body

def say(*parts, wait=0):
    with socket.create_connection((host, int(port))) as s:
        s.settimeout(60)
        for part in parts[:-1]:
            s.sendall(part)
            s.recv(1)
        try:
            s.sendall(parts[-1])
        except OSError:
            pass
        got = b""
        try:
            while part := s.recv(65536):
                got += part
        except OSError:
            pass
        return got

login = 3 << 16
rows = [
    ("a length of 1 MB", say(struct.pack(">II", 1 << 20, login))),
    ("a length of 4", say(struct.pack(">I", 4))),
    ("another protocol", say(pack(2 << 16, b"user\0app\0\0"))),
    ("no user", say(pack(login, b"database\0x\0\0"))),
    ("an empty user", say(pack(login, b"user\0\0\0"))),
    ("two users", say(pack(login, b"user\0app\0user\0postgres\0\0"))),
    ("no end", say(pack(login, b"user\0app"))),
    ("bytes behind its end", say(pack(login, b"user\0app\0\0more"))),
    ("100 parameters", say(pack(login, b"user\0app\0" + b"".join(b"a%d\0b\0" % i for i in range(100)) + b"\0"))),
    ("replication", say(pack(login, b"user\0app\0replication\0true\0\0"))),
    ("TLS asked for, and clear text at once", say(pack(80877103) + pack(login, b"user\0app\0\0"))),
    ("a cancellation of another's", say(pack(80877102, struct.pack(">II", 1, 2)))),
    ("SSH", say(b"SSH-2.0-x\r\n")),
    ("three requests for encryption", say(pack(80877104), pack(80877104), pack(80877104))),
]
for name, got in rows:
    print(name, "|", "refused" if got[:1] == b"E" and b"corral: " in got else got)
"""


def attackers(place, server):
    """A hostile client."""
    near = f"127.0.0.1:{server.port}"
    (place.path / "work/attack.py").write_text(ATTACK)
    done = place.run(f"python3 attack.py {near}")
    lines = [line for line in done.stdout.splitlines() if "|" in line]
    ok(len(lines) == 14 and done.returncode == 0, "each attempt is answered", done)
    for line in lines:
        ok(line.endswith("| refused"), f"it is refused: {line.split(' |')[0]}", line)
    ok("not of this sandbox" in done.stderr, "and the user is told", done)
    # A session of another sandbox, by its key: the key is known, and the sandbox is not its owner.
    keys = ("import socket, struct, sys; h, p = sys.argv[1].split(':'); s = socket.create_connection((h, int(p))); "
            "b = struct.pack('>I', 3 << 16) + b'user\\0app\\0database\\0postgres\\0\\0'; s.sendall(struct.pack('>I', len(b) + 4) + b); f = s.makefile('rb'); "
            "m = [(f.read(1), f.read(struct.unpack('>I', f.read(4))[0] - 4)) for _ in range(30) if not (f.peek(1)[:1] == b'Z')]; "
            "print('key', [v.hex() for k, v in m if k == b'K'][0], flush=True); sys.stdin.readline()")
    (place.path / "work/keys.py").write_text(keys)
    with subprocess.Popen([CORRAL, "run", "--secret", "DB_PASSWORD", "--", "python3", "keys.py", near], cwd=place.path / "work", env=place.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as other:
        key = other.stdout.readline().split()[-1]
        cancel = (f"import socket, struct; s = socket.create_connection(('127.0.0.1', {server.port})); "
                  f"s.sendall(struct.pack('>II', 16, 80877102) + bytes.fromhex('{key}')); print(s.recv(500))")
        done = place.run(f'python3 -c "{cancel}"')
        ok("not of this sandbox" in done.stdout, "a session of another sandbox is not cancelled, even by its key", done, key)
        other.communicate("\n", timeout=PATIENCE)


def main():
    if not shutil.which("psql") or not os.path.exists(f"{BIN}/initdb"):
        print("1..0 # SKIP not installed: postgresql; see tools/setup net")
        return 0
    scratch = tempfile.mkdtemp(prefix="pg-", dir="/var/tmp")
    place = Place(scratch)
    server = Server(place, ["127.0.0.1", *([place.address] if place.address else [])])
    try:
        clients(place, server)
        programs(place, server)
        changes(place, server)
        attackers(place, server)
        policy(place, server)
        far(place, server)
        servers(place)
        flood(place)
        far_servers(place)
    finally:
        server.end()
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
