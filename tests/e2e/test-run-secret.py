#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run --secret`: real clients use a secret that they never see, and commands, hosts and answers that want it. As root,
once more as an ordinary user. Prints TAP."""

import base64
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import textwrap
import threading
import urllib.parse

sys.dont_write_bytecode = True
import aws  # noqa: E402
import broker_tap  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_VAULT", "CORRAL_INJECT")
CORRAL, VAULT, INJECT = (os.path.abspath(os.environ[name]) for name in PROGRAMS)
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
OTHER = "sk-ant-api03-zyxwvutsrqponmlkjihgfedcba9876543210"


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps what it was sent, and sends it back in many ways."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        sent = self.headers.get("Authorization", "")
        self.server.bodies.append(self.body())
        self.server.seen.append((self.path, sent, {k.lower(): v for k, v in self.headers.items()}))
        getattr(self, "answer_" + path.strip("/").split("/")[0], self.answer_echo)(sent, query)

    do_POST = do_GET

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        got = b""
        while size := int(self.rfile.readline(), 16):
            got += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return got.decode()

    def send(self, body, status=200, **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_echo(self, sent, _):
        self.send(b"got " + sent.encode() + b"\n", X_Sent=sent)

    def answer_base64(self, sent, _):
        # At each of the three alignments.
        self.send(b"\n".join(base64.b64encode(b"x" * i + sent.encode()) for i in range(3)))

    def answer_written(self, sent, query):
        self.send(b"<" + SPELLINGS[query](sent.encode()) + b">")

    def answer_gzip(self, sent, _):
        self.send(gzip.compress(sent.encode()), Content_Encoding="gzip")

    def answer_chunks(self, sent, _):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(0, len(sent), 3):
            part = sent[i:i + 3].encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def answer_closes(self, _, query):
        """A body that ends with the connection: by TLS's word, or as if somebody had cut it."""
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nit ends here\n")
        if query == "cleanly":
            self.connection.unwrap()

    def answer_to(self, _, query):
        self.send(b"", 302, Location=query)

    def answer_repo(self, sent, _):
        if sent == "Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode() and self.path.endswith("info/refs?service=git-upload-pack"):
            self.send(b"1234567890123456789012345678901234567890\trefs/heads/main\n", Content_Type="text/plain")
        else:
            self.send(b"", 401, WWW_Authenticate='Basic realm="x"')

    def log_message(self, *_):
        pass


# How tools write what they were sent: by name, for a query.
SPELLINGS = {
    "json": lambda v: json.dumps(v.decode()).encode(),
    "each-u": lambda v: "".join(f"\\u{b:04x}" for b in v).encode(),
    "json-in-json": lambda v: json.dumps("".join(f"\\u{b:04X}" for b in v)).encode(),
    "each-percent": lambda v: "".join(f"%{b:02x}" for b in v).encode(),
    "percent-twice": lambda v: "".join(f"%25{b:02X}" for b in v).encode(),
    "every-other": lambda v: "".join(f"%{b:02X}" if i % 2 else chr(b) for i, b in enumerate(v)).encode(),
    "each-entity": lambda v: "".join(f"&#{b};" for b in v).encode(),
    "each-hex-entity": lambda v: "".join(f"&#x{b:X};" for b in v).encode(),
    "hex": lambda v: v.hex().encode(),
    "hex-capitals": lambda v: v.hex().upper().encode(),
    "base32": base64.b32encode,
    "base64-in-lines": lambda v: base64.encodebytes(b"x" * 40 + v),
    "base64-in-64-columns": lambda v: b"\r\n".join(textwrap.wrap(base64.b64encode(b"x" * 31 + v).decode(), 64)[i].encode() for i in range(2)),
    "github": lambda v: json.dumps({"content": "\n".join(textwrap.wrap(base64.b64encode(b"x" * 29 + v).decode(), 60))}).encode(),
    "utf-16": lambda v: v.decode().encode("utf-16le"),
    "powershell": lambda v: base64.b64encode(v.decode().encode("utf-16le")),
}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, certificate=None, address=("127.0.0.1", 0)):
        super().__init__(address, Handler)
        self.seen, self.bodies = [], []
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.place = f"127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # clients and the injector hang up as they like


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True, timeout=60)


def certificates(folder):
    """An authority, a certificate of it for 127.0.0.1, one for another name, and one of nobody's."""
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority", cwd=folder)
    for name, san in (("good", "IP:127.0.0.1"), ("other", "DNS:other.example")):
        (folder / "ext").write_text(f"subjectAltName={san}\n")
        openssl("req", *new, "-keyout", "key", "-out", "csr", "-subj", "/CN=x", cwd=folder)
        openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "crt", "-days", "2", "-extfile", "ext", cwd=folder)
        (folder / f"{name}.pem").write_text((folder / "key").read_text() + (folder / "crt").read_text())
    openssl("req", "-x509", *new, "-keyout", "key", "-out", "crt", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", cwd=folder)
    (folder / "own.pem").write_text((folder / "key").read_text() + (folder / "crt").read_text())


class Place:
    def __init__(self, scratch):
        self.path = pathlib.Path(scratch).resolve()
        (self.path / "work").mkdir()
        certificates(self.path)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"), "XDG_CONFIG_HOME": str(self.path / "config"),
                    "XDG_RUNTIME_DIR": str(self.path / "run"), "XDG_CACHE_HOME": str(self.path / "cache"), "LC_ALL": "C.UTF-8", "CORRAL_VAULT": VAULT,
                    "CORRAL_INJECT": INJECT}
        self.passphrase = self.path / "passphrase"
        self.passphrase.write_text("correct horse battery\n")
        self.passphrase.chmod(0o600)

    def call(self, *words, value="", **env):
        return subprocess.run([CORRAL, *words], input=value, capture_output=True, text=True, errors="replace", cwd=self.path / "work",
                              env={**self.env, **env}, timeout=120, check=False, start_new_session=True)

    def vault(self, *words, value=""):
        return self.call("vault", *words, value=value)

    def run(self, script, *options):
        return self.call("run", *options, "--", "sh", "-c", script)


def begin(place):
    done = place.run("true", "--secret", "TOKEN")
    ok(done.returncode == 125 and "there is no vault" in done.stderr, "without a vault it says so", done)
    ok(place.vault("init", "--passphrase-file", str(place.passphrase)).returncode == 0, "a vault is made")
    shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
    done = place.run("true", "--secret", "TOKEN")
    ok(done.returncode == 125 and "locked" in done.stderr and "corral vault unlock" in done.stderr, "a locked one is named, with what opens it", done)
    ok(place.vault("unlock", "--passphrase-file", str(place.passphrase)).returncode == 0, "it is unlocked")
    done = place.run("true", "--secret", "TOKEN")
    ok(done.returncode == 125 and "corral vault set TOKEN" in done.stderr, "a secret that is not there is named", done)
    done = place.vault("set", "TOKEN", value=VALUE)
    ok(done.returncode == 0 and "easy to guess" not in done.stderr, "a secret is set", done)
    done = place.vault("set", "WEAK", value="hunter22")
    ok(done.returncode == 0 and "WEAK is easy to guess" in done.stderr and "hunter22" not in done.stderr, "a weak one is warned about", done)
    done = place.run("true", "--secret", "TOKEN")
    ok(done.returncode == 125 and "corral vault grant TOKEN HOST:PORT" in done.stderr, "one that may go nowhere is not lent", done)


def clients(place, server):
    """Each sends it in a header; the server has the value, and the client never had."""
    url = f"https://{server.place}/echo"
    ok(place.vault("grant", "TOKEN", server.place).returncode == 0, "it is granted for a host")
    rows = [
        ("curl", f'curl -sS -H "Authorization: Bearer $TOKEN" {url}'),
        ("wget", f'wget -q -O - --header="Authorization: Bearer $TOKEN" {url}'),
        ("python3", f"""python3 -c 'import os, urllib.request as u
print(u.urlopen(u.Request("{url}", headers=dict(Authorization="Bearer " + os.environ["TOKEN"]))).read())'"""),
        ("node", f"""node -e 'fetch("{url}", {{headers: {{Authorization: "Bearer " + process.env.TOKEN}}}}).then(r => r.text()).then(t => console.log(t))'"""),
    ]
    for program, script in rows:
        if not shutil.which(program, path=place.env["PATH"]):
            skip(program, f"not installed: {program}; see tools/setup net")
            continue
        server.seen.clear()
        done = place.run(f"echo inside $TOKEN; {script}", "--secret", "TOKEN")
        ok([sent for _, sent, _ in server.seen] == [f"Bearer {VALUE}"], f"{program}: the host gets the value", server.seen, done)
        ok(done.returncode == 0 and "inside ghp_" in done.stdout and VALUE not in done.stdout + done.stderr and "*" * len(VALUE) in done.stdout,
           f"{program}: the client has a placeholder, and the answer stars", done)
    server.seen.clear()
    done = place.run(f'curl -sS -u "me:$TOKEN" {url}', "--secret", f"TOKEN={server.place}")
    ok([sent for _, sent, _ in server.seen] == ["Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode()], "in a password of Basic, too", server.seen, done)
    if shutil.which("git", path=place.env["PATH"]):
        done = place.run(f'git ls-remote "https://me:$TOKEN@{server.place}/repo"', "--secret", "TOKEN")
        ok("refs/heads/main" in done.stdout, "git: its first request has none, and its second is answered", done, server.seen)
    else:
        skip("git", "not installed: git; see tools/setup net")


def places(place, server, stranger):
    """Where it may not go it stays what it is inside."""
    inside = 'echo "inside $TOKEN"; '
    rows = [
        ("in a query, which is not granted", f'curl -sS "https://{server.place}/echo?key=$TOKEN"', server),
        ("in a body", f'curl -sS -d "$TOKEN" https://{server.place}/echo', server),
        ("to a host that it is not granted for", f'curl -sSk -H "Authorization: Bearer $TOKEN" https://{stranger.place}/echo', stranger),
        ("after a redirect to that one", f'curl -sSkL --location-trusted -H "Authorization: Bearer $TOKEN" "https://{server.place}/to?https://{stranger.place}/"', stranger),
        ("where the host is named otherwise", f'curl -sS -H "Host: {stranger.place}" -H "Authorization: Bearer $TOKEN" https://{server.place}/echo', stranger),
    ]
    for name, script, to in rows:
        server.seen.clear()
        stranger.seen.clear()
        done = place.run(inside + script, "--secret", "TOKEN", "--net", stranger.place)
        seen = str(to.seen)
        others = str([x for x in stranger.seen])
        ok(VALUE not in others and VALUE not in done.stdout and (to is not server or VALUE not in seen), f"{name}: the value is not there", seen, done)
    ok("ghp_" in str(stranger.seen) or not stranger.seen, "what arrives elsewhere is the placeholder", stranger.seen)
    server.seen.clear()
    done = place.run(f'curl -sS -H "Authorization: Bearer $TOKEN" http://{server.place}/echo', "--secret", "TOKEN")
    ok(not server.seen and VALUE not in done.stdout, "a request in the clear has no value in it", server.seen, done)
    # Others could read there what a host stores with an object.
    server.seen.clear()
    stores = f'curl -sS -H "x-goog-meta-note: $TOKEN" -H "X-Amz-Meta-Note: $TOKEN" -H "Authorization: $TOKEN" -H "X-Feed-Key: $TOKEN" https://{server.place}/echo'
    done = place.run(stores, "--secret", "TOKEN")
    fields = server.seen[0][2] if server.seen else {}
    ok(fields.get("authorization") == VALUE and str(fields).count(VALUE) == 1, "in a field that is not for credentials", fields, done)
    ok(place.vault("grant", "TOKEN", server.place, "--in", "header,header:X-Feed-Key").returncode == 0, "one is granted by its name")
    server.seen.clear()
    done = place.run(stores, "--secret", "TOKEN")
    fields = server.seen[0][2] if server.seen else {}
    ok(fields.get("x-feed-key") == VALUE and str(fields).count(VALUE) == 2, "and has the value then, and no other", fields, done)
    done = place.call("audit", "list", "--json")
    ok(f"{server.place} in header:x-feed-key" in done.stdout and f"{server.place} in header" in done.stdout, "the log has each place", done.stdout[-2000:])
    done = place.vault("list", "--json")
    ok('"header,header:x-feed-key"' in done.stdout, "the list names the field", done)
    ok(place.vault("grant", "TOKEN", server.place, "--in", "header: x").returncode == 2, "what is no field is refused")
    ok(place.vault("grant", "TOKEN", server.place, "--in", "header,query").returncode == 0, "it is granted for queries, too")
    server.seen.clear()
    done = place.run(f'curl -sS "https://{server.place}/echo?key=$TOKEN"', "--secret", "TOKEN")
    ok(server.seen and f"key={VALUE}" in server.seen[0][0], "and is in a query then", server.seen, done)


# How a connection ends: by TLS's word, or without.
END = r"""
import os, socket, ssl, sys
host, port = sys.argv[1].split(":")
context = ssl.create_default_context()
context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0x80)
with context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host, suppress_ragged_eofs=False) as s:
    s.sendall(f"GET {sys.argv[2]} HTTP/1.1\r\nHost: {sys.argv[1]}\r\nAuthorization: {os.environ['TOKEN']}\r\n\r\n".encode())
    got = b""
    try:
        while part := s.recv(9999):
            got += part
        end = "end"
    except ssl.SSLError:
        end = "cut"
print(got.partition(b"\r\n\r\n")[2].decode() + end)
"""


def answers(place, server):
    """A host that sends it back."""
    for path in ("echo", "base64", "chunks", "gzip"):
        server.seen.clear()
        done = place.run(f'curl -sSi --raw -H "Authorization: $TOKEN" https://{server.place}/{path}', "--secret", "TOKEN")
        texts = [VALUE, *(base64.b64encode(b"x" * i + VALUE.encode()).decode()[4:-4] for i in range(3))]
        ok(server.seen and server.seen[0][1] == VALUE and not any(t in done.stdout for t in texts), f"/{path}: it does not come back", done)
    done = place.run(f"for i in {' '.join(SPELLINGS)}; do curl -sS -H \"Authorization: $TOKEN\" https://{server.place}/written?$i | od -An -v -tx1 | tr -d ' \\n'; "
                     "echo; done", "--secret", "TOKEN")
    for name, line in zip(SPELLINGS, [*done.stdout.splitlines(), *[""] * len(SPELLINGS)]):
        text, other = (SPELLINGS[name](v) for v in (VALUE.encode(), bytes(b ^ 1 for b in VALUE.encode())))
        got = bytes.fromhex(line)[1:-1]
        # What depends on the value, but for two characters that have bits of their neighbours, too.
        shown = [i for i in range(len(text)) if text[i] != other[i] and got[i:i + 1] != b"*"]
        ok(len(got) == len(text) == len(other) and len(shown) <= 2, f"written as {name}: it does not come back", got, text, done if not got else "")
    server.seen.clear()
    done = place.run(f'curl -sS -r 0-9 -H "Authorization: $TOKEN" https://{server.place}/', "--secret", "TOKEN")
    ok(server.seen and "range" not in server.seen[0][2], "a part of an answer is not asked for", server.seen, done)
    (place.path / "work/end.py").write_text(END)
    for how, ends in (("cleanly", "end"), ("cut", "cut")):
        done = place.run(f"python3 end.py {server.place} '/closes?{how}'", "--secret", "TOKEN")
        ok(done.stdout == f"it ends here\n{ends}\n", f"an answer that ends {how} ends so inside", done)
    done = place.run(f'curl -sS -H "Authorization: $TOKEN" https://{server.place}/gzip', "--secret", "TOKEN")
    ok("gzip" in done.stderr or done.returncode != 0 or "compressed" in done.stderr, "an answer that cannot be searched is refused", done)
    ok("gzip" not in server.seen[0][2].get("accept-encoding", ""), "and was not asked for", server.seen)


def outwards(place):
    """Certificates that are not to be trusted, whatever the client inside says."""
    for name in ("own", "other"):
        bad = Server(place.path / f"{name}.pem")
        place.vault("grant", "TOKEN", bad.place)
        done = place.run(f'curl -sSk -H "Authorization: Bearer $TOKEN" https://{bad.place}/', "--secret", "TOKEN")
        ok(not bad.seen and done.returncode != 0, f"{name}.pem: nothing is sent", bad.seen, done)
        ok("is not accepted" in done.stderr and bad.place in done.stderr, f"{name}.pem: and the run says why", done)
        done = place.call("run", "--secret", "TOKEN", "--", "sh", "-c", f'curl -sSk -H "Authorization: Bearer $TOKEN" https://{bad.place}/',
                          SSL_CERT_FILE=str(place.path / f"{name}.pem"))
        ok(not bad.seen and "is not accepted" in done.stderr, f"{name}.pem: nor if a variable names it, which may be a file of a project", bad.seen, done)
        place.vault("revoke", "TOKEN", bad.place)


# TLS is agreed on, and the client goes without a request.
LEAVE = """
import os, ssl, socket, sys
host, port = sys.argv[1].split(":")
with socket.create_connection((host, int(port))) as s, ssl.create_default_context().wrap_socket(s, server_hostname=host) as t:
    if sys.argv[2:]:
        t.sendall(f"GET / HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\nAuthorization: {os.environ['TOKEN']}\\r\\n\\r\\n".encode())
        t.recv(1)
"""


def pinning(place, server):
    """Clients that trust a list of their own, or the host's key alone: the run says so, and what it suggests helps."""
    shutil.copy(place.path / "ca.pem", place.path / "work/list.pem")
    key = subprocess.run("openssl x509 -in good.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
                         shell=True, cwd=place.path, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    pin = f"curl -sS --cacert list.pem --pinnedpubkey sha256//{key} https://{server.place}/echo -H \"Authorization: $TOKEN\""
    server.seen.clear()
    listed = place.run(f"curl -sS --cacert list.pem https://{server.place}/echo -H \"Authorization: $TOKEN\"", "--secret", "TOKEN")
    pinned = place.run(pin.replace("--cacert list.pem ", ""), "--secret", "TOKEN")
    ok(not server.seen and "a list of its own" in listed.stderr and server.place in listed.stderr, "a client with a list of its own is named, with the host", listed)
    ok(not server.seen and "may pin" in pinned.stderr and server.place in pinned.stderr, "and one that compares keys after the handshake", pinned)
    ok(all("SSL_CERT_FILE" in done.stderr and "--env" in done.stderr for done in (listed, pinned)), "with what can be done", listed, pinned)
    done = place.run(f"curl -sS --cacert \"$SSL_CERT_FILE\" https://{server.place}/echo -H \"Authorization: $TOKEN\"", "--secret", "TOKEN")
    ok(done.stdout == "got " + "*" * len(VALUE) + "\n", "to trust that file helps", done)
    done = place.call("run", "--env", "TOKEN", "--net", server.place, "--", "sh", "-c", pin, TOKEN=VALUE)
    ok(done.stdout == f"got {VALUE}\n", "and so does --env", done)
    (place.path / "work/leave.py").write_text(LEAVE)
    done = place.run(f"python3 leave.py {server.place}", "--secret", "TOKEN")
    ok("may pin" in done.stderr, "a client that goes without a request may pin", done)
    done = place.run(f"python3 leave.py {server.place} x && python3 leave.py {server.place}", "--secret", "TOKEN")
    ok(done.returncode == 0 and "may pin" not in done.stderr, "but not where a request came before", done)


# Everything that a command can look at, for the value.
SEARCH = r"""
import glob, os, sys
value = bytes.fromhex(sys.argv[1])
found, looked = [], 0
for path in ["/proc/%s/%s" % (pid, name) for pid in filter(str.isdigit, os.listdir("/proc")) for name in ("environ", "cmdline")]:
    try:
        with open(path, "rb") as file:
            looked += 1
            if value in file.read():
                found.append(path)
    except OSError:
        pass
for top in ("/tmp", os.environ["HOME"], os.getcwd(), "/dev/shm", "/run", "/etc"):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        looked += 1
                        if value in file.read(1 << 22):
                            found.append(path)
            except OSError:
                pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open("/proc/%s/maps" % pid) as maps, open("/proc/%s/mem" % pid, "rb", 0) as mem:
            for line in maps:
                lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
                if "r" not in line.split()[1] or hi - lo > 1 << 28:
                    continue
                try:
                    mem.seek(lo)
                    looked += 1
                    # The word that is searched for is in this very process.
                    if pid != str(os.getpid()) and value in mem.read(hi - lo):
                        found.append("memory of %s" % pid)
                except (OSError, ValueError, OverflowError):
                    pass
    except OSError:
        pass
print("looked", looked > 20, "found", found)
"""


def search(place, server):
    (place.path / "work/search.py").write_text(SEARCH)
    script = (f'curl -sS -H "Authorization: Bearer $TOKEN" https://{server.place}/ >answer; '
              f'sleep 60 & python3 search.py {VALUE.encode().hex()}; kill $!')
    done = place.run(script, "--secret", "TOKEN")
    ok("looked True found []" in done.stdout, "nothing that the command can look at has the value", done)
    ok(VALUE not in (place.path / "work/answer").read_text(), "nor has what it wrote")
    done = place.call("audit", "list", "--json")
    ok(VALUE not in done.stdout and "vault.use:TOKEN" in done.stdout, "the log has the use, and not the value", done.stdout[-3000:])


def several(place, server):
    """Two secrets, two hosts, each for its own."""
    second = Server(place.path / "good.pem")
    place.vault("set", "OTHER", value=OTHER)
    place.vault("grant", "OTHER", second.place)
    both = " ".join(f'curl -sS -H "X-Api-Key: $TOKEN" -H "Private-Token: $OTHER" https://{s.place}/;' for s in (server, second))
    server.seen.clear()
    done = place.run(both, "--secret", "TOKEN", "--secret", "OTHER")
    heads = [(s.seen[-1][2].get("x-api-key"), s.seen[-1][2].get("private-token")) if s.seen else None for s in (server, second)]
    ok(heads[0] and heads[0][0] == VALUE and heads[0][1].startswith("sk-ant-") and heads[0][1] != OTHER, "the first host gets the first", heads, done)
    ok(heads[1] and heads[1][1] == OTHER and heads[1][0].startswith("ghp_") and heads[1][0] != VALUE, "the second gets the second", heads, done)
    place.vault("grant", "OTHER", server.place, "--to", "somebody-else")
    done = place.run("true", "--secret", f"OTHER={server.place}")
    ok(done.returncode == 125 and f"corral vault grant OTHER {server.place}" in done.stderr, "a grant for another sandbox does not count", done)
    done = place.call("run", "--json", "--secret", "TOKEN", "--", "sh", "-c", "echo $TOKEN")
    ok(json.loads(done.stdout)["status"] == 0 and VALUE not in done.stdout, "--json is one object", done)


# Options of `corral run` that --mode rwx takes: they say what runs where, or only grant.
RWX_TAKES = {"mode", "data-dir", "extra", "cwd", "work-dir", "set", "audit", "with", "shared-state", "limits", "no-project", "no-cache", "no-broker",
             "ask", "read", "write", "dangerously-allow", "net", "net-private", "listen", "exec", "explain", "help"}


def weaker(place):
    """Where the command is not confined, no secret is lent: it must not run with a variable of that name instead."""
    for options in (["--mode", "rwx"], ["--mode", "sandbox", "--data-dir", str(place.path / "work"), "--tier", "3"]):
        done = place.call("run", *options, "--secret", "TOKEN", "--", "sh", "-c", "echo got $TOKEN", TOKEN=VALUE)
        ok(done.returncode == 125 and "--secret cannot be enforced" in done.stderr and "got" not in done.stdout, f"{' '.join(options[:2])}: --secret is refused", done)
    # Every option that there is: taken by name, or refused.
    lines = place.call("run", "--help").stdout.splitlines()
    found = [m for m in (re.match(r"\s+(?:-\w, )?--([a-z-]+)(?: (\S+))?", line) for line in lines) if m]
    ok(len(found) > 35, "--help lists the options", lines)
    values = {"timeout": "9s", "memory": "64M", "pids": "9", "max-output": "1K", "undo-limit": "1M", "profile": "readonly", "tier": "1", "input": "1"}
    for name, argument in {m[1]: m[2] for m in found}.items():
        if name in RWX_TAKES:
            continue
        words = [f"--{name}", *([values.get(name, str(place.path / "work"))] if argument else [])]
        done = place.call("run", "--mode", "rwx", *words, "--", "sh", "-c", "echo ran")
        ok(done.returncode == 125 and "ran" not in done.stdout and f"--{name}" in done.stdout + done.stderr, f"--mode rwx refuses --{name}", done)


def bodies(place, server):
    """In a form and in JSON, as those need it; a long one, and one whose client waits, in chunks."""
    odd = 'p w&"d/é=1+2'
    place.vault("set", "ODD", value=odd)
    place.vault("grant", "ODD", server.place, "--in", "form")
    url = f"https://{server.place}/"
    server.bodies.clear()
    form = f'curl -sS --data-urlencode "a=1 2" -d "b=$ODD" -d c=3 {url}'
    done = place.run(f'{form}; curl -sS -H "Content-Type: application/json" -d "{{\\"k\\":\\"$ODD\\"}}" {url}', "--secret", "ODD")
    ok(server.bodies[:1] == ["a=1+2&b=" + urllib.parse.quote(odd, safe="") + "&c=3"] and odd not in str(server.bodies[1:]) and len(server.bodies) == 2,
       "in a form, and in no other body", server.bodies, done)
    place.vault("grant", "ODD", server.place, "--in", "body")
    server.bodies.clear()
    done = place.run(f'{form}; curl -sS -H "Content-Type: application/json" -d "{{\\"k\\":\\"$ODD\\"}}" {url}; (head -c 1500000 /dev/zero | tr "\\0" x; '
                     f'printf %s "$ODD") >long; curl -sS -H "Content-Type: text/plain" --data-binary @long {url}', "--secret", "ODD")
    ok(len(server.bodies) == 3 and odd not in urllib.parse.unquote(server.bodies[0]), "a grant for bodies is none for forms", server.bodies[:2], done)
    ok(len(server.bodies) == 3 and json.loads(server.bodies[1]) == {"k": odd}, "in JSON, escaped", server.bodies[:2], done)
    ok(len(server.bodies) == 3 and server.bodies[2] == "x" * 1500000 + odd, "in a long body", len(server.bodies[-1]), server.bodies[-1][-100:])
    ok(VALUE not in done.stdout, "and not inside", done)


def uses(place, server):
    """What became of placeholders is in the log: how often a value went in, and where one was that got none."""
    place.vault("grant", "TOKEN", server.place)
    place.vault("grant", "OTHER", server.place)
    url = f"https://{server.place}"
    done = place.run(f'for i in 1 2 3; do curl -sS -H "Authorization: $TOKEN" {url}/; done; curl -sS -H "X-Amz-Meta-A: $TOKEN" "{url}/$TOKEN?q=$TOKEN"; '
                     f'curl -sS -H "X-Api-Key: $OTHER" {url}/', "--secret", "TOKEN", "--secret", f"OTHER={server.place}")
    found = {}
    for line in place.call("audit", "list", "--json").stdout.splitlines():
        event = json.loads(line)
        if event.get("target", "").startswith(("vault.sent:", "vault.misplaced:")) and server.place in event.get("reason", ""):
            key = (event["target"], event["reason"].removeprefix(f"{server.place} in "), event["decision"])
            found[key] = found.get(key, 0) + event.get("count", 1)
    ok(found.get(("vault.sent:TOKEN", "header", "allowed"), 0) >= 3 and ("vault.sent:OTHER", "header", "allowed") in found, "values that went in are counted in the log", found, done)
    ok(all(("vault.misplaced:TOKEN", where, "denied") in found for where in ("path", "query", "another field of the head")),
       "placeholders that were elsewhere are events", found, done)
    done = place.vault("uses", "TOKEN")
    ok("vault.misplaced" in done.stdout or "misplaced" in done.stdout, "`corral vault uses` has them", done)


def signatures(place, server):
    """AWS: the client signs by placeholders; the host finds the signature of the key."""
    names = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
    for name, value in names.items():
        place.vault("set", name, value=value)
        place.vault("grant", name, server.place)
    options = [word for name in names for word in ("--secret", name)]
    sign = "curl -sS --aws-sigv4 aws:amz:us-east-1:execute-api --user $AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"
    for name, more in (("a GET with a query", "'https://{0}/echo?a=1&b=2'"), ("a POST", "-d '{{\"a\": 1}}' https://{0}/echo")):
        server.seen.clear()
        done = place.run(f"{sign} {more.format(server.place)}", *options)
        path, sent, headers = server.seen[0][:3] if server.seen else ("", "", {})
        body = b'{"a": 1}' if "POST" in name else b""
        good = sent and f"Credential={names['AWS_ACCESS_KEY_ID']}/" in sent and \
            sent.endswith("Signature=" + aws.signature(names["AWS_SECRET_ACCESS_KEY"], name.split()[1], path, headers, body))
        ok(good, f"{name} is signed by the key", sent, headers, done)
        ok(not any(value in done.stdout + done.stderr + str(headers) for value in [names["AWS_SECRET_ACCESS_KEY"]]), f"{name}: and the key is nowhere", done)
    server.seen.clear()
    done = place.run(f"curl -sS 'https://{server.place}/echo?X-Amz-Credential='$AWS_ACCESS_KEY_ID'%2F20130524&X-Amz-Signature=0'", *options)
    ok(not server.seen and "signed in its URL" in done.stderr, "a URL that is signed by a placeholder is refused by name", done, server.seen)


def names(place):
    done = place.vault("lend", "--to", "x", "TOKEN")
    ok(done.returncode == 2 and "corral run --secret TOKEN -- CMD" in done.stderr, "the lender is nothing to start by hand", done)
    done = place.call("run", "--secret", "TOKEN", "--", "true", CORRAL_INJECT="/nonexistent")
    ok(done.returncode == 125 and "cannot start /nonexistent" in done.stderr, "a missing injector is named", done)


def main():
    scratch = tempfile.mkdtemp(prefix="cs-")
    place = Place(scratch)
    try:
        server, stranger = Server(place.path / "good.pem"), Server(place.path / "good.pem")
        begin(place)
        clients(place, server)
        places(place, server, stranger)
        answers(place, server)
        outwards(place)
        pinning(place, server)
        search(place, server)
        several(place, server)
        bodies(place, server)
        uses(place, server)
        signatures(place, server)
        names(place)
        weaker(place)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, AWS_PY=aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
