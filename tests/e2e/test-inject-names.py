#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which host a request is for, said in several places that contradict each other: TLS's server name, Host, `:authority`, fields that
stand twice, sessions of TLS that another host or another injector agreed on, and certificates of an authority that a command made.
And what lengths and pauses say about a value. Prints TAP."""

import base64
import contextlib
import importlib.util
import itertools
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


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), pathlib.Path(__file__).with_name(f"test-{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


inject_h2, run_secret = load("inject-h2"), load("run-secret")
PROXY, VALUE, STARS = inject_h2.PROXY, inject_h2.VALUE, inject_h2.STARS
NAME, OTHER = "api.corral.example", "other.example"
BASIC = base64.b64encode(f"me:{VALUE}".encode()).decode()


class Plain(h2_peers.Host):
    """A host of HTTP/1.1, which keeps each byte. A path that begins with /hold is answered in two parts; the second one has to be let go."""

    def __init__(self, certificate):
        self.got, self.pause, self.open, self.changed = [], b"", 0, threading.Condition()
        self.began, self.goes_on = threading.Semaphore(0), threading.Semaphore(0)
        super().__init__(certificate, None, alpn=("http/1.1",), raw=self.speak)

    def speak(self, s):
        with self.changed:
            self.open += 1
        try:
            self.serve(s)
        finally:
            with self.changed:
                self.open -= 1
                self.changed.notify_all()

    def serve(self, s):
        got = bytearray()
        self.got.append(got)
        answered = 0
        while part := s.recv(1 << 16):
            got += part
            while got.count(b"\r\n\r\n") > answered:
                answered += 1
                if got.split(b" ")[1].startswith(b"/hold"):
                    self.hold(s)
                    continue
                ends = b"Connection: close\r\n" if b"Connection: close" in got else b""
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + ends + b"\r\nok")
                if ends:
                    return

    def hold(self, s):
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + self.pause.rjust(1000, b"-"))
        self.began.release()
        self.goes_on.acquire()
        s.sendall(b"-" * 2000)

    def text(self):
        """When all has come that will: clients have hung up."""
        with self.changed:
            self.changed.wait_for(lambda: self.open == 0, h2_peers.PATIENCE_S)
        return b"".join(self.got)


def take_any(*protocols, versions=None):
    """A client that looks at no certificate."""
    context = ssl._create_unverified_context()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if versions:
        context.minimum_version = context.maximum_version = versions
    return context


def connect(port, name, context=None, session=None):
    plain = socket.create_connection(("127.0.0.1", port), timeout=h2_peers.PATIENCE_S)
    return (context or take_any("http/1.1")).wrap_socket(plain, server_hostname=name, session=session)


def ask(port, name, text, wanted=b"ok"):
    """What comes back until that, or until the end."""
    got = b""
    with contextlib.suppress(OSError), connect(port, name) as s:
        s.sendall(text.encode() if isinstance(text, str) else text)
        while wanted not in got and (part := s.recv(1 << 16)):
            got += part
    return got


def request(place, host=None, more="", path="/a"):
    return f"GET {path} HTTP/1.1\r\nHost: {place.host.place if host is None else host}\r\nAuthorization: Bearer {place.token}\r\n{more}\r\n"


# 1. Names


def names(old, new, address):
    """TLS's name, and that of the request. old speaks HTTP/1.1, new HTTP/2; address has no name."""
    for sni in (OTHER, "corral.example", f"x.{NAME}", f"{NAME}.{OTHER}", NAME[:-1], "localhost"):
        for place, hosts in ((old, (old.host.place, OTHER, f"{sni}:{old.host.port}")), (address, (address.host.place,))):
            for host in hosts:
                place.host.got.clear()
                got = ask(place.port, sni, request(place, host))
                ok(not place.host.text() and not got, f"{place.name}: TLS asks for {sni}, HTTP/1.1 for {host.partition(':')[0]}: nothing is sent", place.host.got, got)
        for authority in (new.host.place, OTHER):
            new.host.seen.clear()
            heads = None
            with contextlib.suppress(OSError):
                client = new.client(name=sni, authorities=None)
                client.request(1, new.fields(_authority=authority))
                heads = client.wait(1).heads
                client.close()
            ok(not new.host.seen and not heads, f"TLS asks for {sni}, HTTP/2 for {authority.partition(':')[0]}: nothing is sent", new.host.seen, heads)
    for sni in (NAME, None, NAME.upper(), f"{NAME}."):
        old.host.got.clear()
        got = ask(old.port, sni, request(old))
        ok(VALUE.encode() in old.host.text() and got.endswith(b"ok"), f"TLS asks for {sni}: the host gets the value", old.host.got, got)
        old.host.got.clear()
        got = ask(old.port, sni, request(old, OTHER))
        ok(not old.host.text(), f"TLS asks for {sni}, HTTP/1.1 for {OTHER}: nothing is sent", old.host.got)
        for authority, host in ((new.host.place, OTHER), (OTHER, new.host.place), (OTHER, None)):
            new.host.seen.clear()
            client = new.client(name=sni, authorities=None)
            client.request(1, new.fields(_authority=authority, host=host))
            stream = client.wait(1)
            client.close()
            ok(not new.host.seen and not stream.heads, f"TLS asks for {sni}, HTTP/2 for {authority} and {host}: nothing is sent", new.host.seen)
    ok(any("(SNI)" in line for line in old.said), "and the run says why", old.said)


# 2. Sessions


def sessions(folder, places):
    """What was agreed on with one injector or host serves nowhere again."""
    for version, name in ((ssl.TLSVersion.TLSv1_2, "TLS 1.2"), (ssl.TLSVersion.TLSv1_3, "TLS 1.3")):
        context = take_any("http/1.1", versions=version)
        for place in places:
            with connect(place.port, place.name, context) as s:
                s.sendall(request(place).encode())
                s.recv(9999)
                session = s.session
            ok(not session.has_ticket and (version == ssl.TLSVersion.TLSv1_3 or not session.id), f"{name}: there is no ticket, and no number of a session",
               session.has_ticket, session.id)
            for other in places:
                with connect(other.port, other.name, context, session) as s:
                    s.sendall(request(other).encode())
                    ok(not s.session_reused and s.recv(9999), f"{name}: no session is taken up again, {'there' if other is place else 'nor at another host'}")
    # Early data would be a request before anybody has proved anything.
    place = places[0]
    saved, early = folder / "session", folder / "early"
    early.write_text(request(place))
    words = ["openssl", "s_client", "-connect", f"127.0.0.1:{place.port}", "-servername", place.name, "-alpn", "http/1.1", "-tls1_3"]
    subprocess.run([*words, "-sess_out", saved, "-ign_eof"], input=request(place, more="Connection: close\r\n"), capture_output=True, text=True, check=False,
                   timeout=60)
    place.host.got.clear()
    given = ["-sess_in", saved, "-early_data", early] if saved.exists() else ["-early_data", early]
    done = subprocess.run([*words, *given], input="", capture_output=True, text=True, check=False, timeout=60)
    ok("Early data was accepted" not in done.stdout and not place.host.text(), "a request before the handshake goes nowhere", done.stdout[-300:], place.host.got)
    stats = [place.host.context.session_stats() for place in places]
    ok(all(s["hits"] == 0 and s["accept_good"] > 1 for s in stats), "towards hosts no session is taken up again: each certificate is looked at", stats)


# 4. Fields that stand twice


def refused_heads(host, token):
    """Heads that two readers could read differently, or that are for another host; each with placeholders."""
    line, bearer = f"Host: {host}", f"Authorization: Bearer {token}"
    yield "two hosts", f"GET /a HTTP/1.1\r\n{line}\r\nHost: {OTHER}\r\n{bearer}\r\n\r\n"
    yield "two hosts, the right one last", f"GET /a HTTP/1.1\r\nHost: {OTHER}\r\n{line}\r\n{bearer}\r\n\r\n"
    yield "the right host twice", f"GET /a HTTP/1.1\r\n{line}\r\n{line}\r\n{bearer}\r\n\r\n"
    yield "hosts in a list", f"GET /a HTTP/1.1\r\nHost: {host}, {OTHER}\r\n{bearer}\r\n\r\n"
    yield "no host", f"GET /a HTTP/1.1\r\n{bearer}\r\n\r\n"
    yield "no host, in HTTP/1.0", f"GET /a HTTP/1.0\r\n{bearer}\r\n\r\n"
    yield "an empty host", f"GET /a HTTP/1.1\r\nHost:\r\n{bearer}\r\n\r\n"
    yield "a placeholder as the host", f"GET /a HTTP/1.1\r\nHost: {token}\r\n{bearer}\r\n\r\n"
    yield "a placeholder as a second host", f"GET /a HTTP/1.1\r\n{line}\r\nHost: {token}\r\n\r\n"
    yield "a user in the host", f"GET /a HTTP/1.1\r\nHost: {token}@{host}\r\n\r\n"
    yield "a space behind the name", f"GET /a HTTP/1.1\r\nHost : {host}\r\n{bearer}\r\n\r\n"
    yield "a folded host", f"GET /a HTTP/1.1\r\nHost:\r\n {host}\r\n{bearer}\r\n\r\n"
    yield "a folded second host", f"GET /a HTTP/1.1\r\n{line}\r\nX-A: b\r\n Host: {OTHER}\r\n{bearer}\r\n\r\n"
    yield "a bare LF before a second host", f"GET /a HTTP/1.1\r\n{line}\r\nX-A: b\nHost: {OTHER}\r\n{bearer}\r\n\r\n"
    yield "a bare CR before a second host", f"GET /a HTTP/1.1\r\n{line}\r\nX-A: b\rHost: {OTHER}\r\n{bearer}\r\n\r\n"
    yield "a NUL in a credential", f"GET /a HTTP/1.1\r\n{line}\r\n{bearer}\0\r\n\r\n"
    yield "a whole URL of another host", f"GET https://{OTHER}/a HTTP/1.1\r\n{line}\r\n{bearer}\r\n\r\n"
    yield "a whole URL of the same", f"GET https://{host}/a HTTP/1.1\r\n{line}\r\n{bearer}\r\n\r\n"
    yield "CONNECT", f"CONNECT {host} HTTP/1.1\r\n{line}\r\n{bearer}\r\n\r\n"
    for what, lengths in (("two lengths", "Content-Length: 2\r\nContent-Length: 40"), ("the same length twice", "Content-Length: 2\r\nContent-Length: 2"),
                          ("lengths in a list", "Content-Length: 2, 2"), ("a placeholder as the length", f"Content-Length: {token}"),
                          ("a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked"), ("chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 2"),
                          ("chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), ("chunks, then identity", "Transfer-Encoding: chunked, identity"),
                          ("identity", "Transfer-Encoding: identity"), ("chunks with a space", "Transfer-Encoding : chunked"), ("chunks, badly written", "Transfer-Encoding: xchunked"),
                          ("a placeholder as the encoding", f"Transfer-Encoding: {token}"), ("chunks that are hidden", "X-A: b\n\tTransfer-Encoding: chunked"),
                          ("a signed length", "Content-Length: +2")):
        yield what, f"POST /a HTTP/1.1\r\n{line}\r\n{bearer}\r\n{lengths}\r\n\r\n0\r\n\r\n" + f"GET /smuggled HTTP/1.1\r\nHost: {OTHER}\r\n{bearer}\r\n\r\n"
    yield "chunks of HTTP/1.0", f"POST /a HTTP/1.0\r\n{line}\r\n{bearer}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n{line}\r\n{bearer}\r\n\r\n"


def twice(old, new):
    for what, text in refused_heads(old.host.place, old.token):
        old.host.got.clear()
        got = ask(old.port, NAME, text)
        ok(VALUE.encode() not in old.host.text() and not old.host.text() and b"200" not in got, f"HTTP/1.1, {what}: nothing is sent", old.host.got, got)
    # Where it is only the credential that stands twice, both are the host's: each has the value, and no other field has.
    fields = f"Authorization: Bearer {old.token}\r\nCookie: a={old.token}; b={old.token}\r\nCookie: c={old.token}\r\nX-Note: {old.token}\r\nX-Note: {old.token}\r\n"
    old.host.got.clear()
    got = ask(old.port, NAME, request(old, more=fields))
    sent = old.host.text().decode()
    ok(got.endswith(b"ok") and sent.count(f"Authorization: Bearer {VALUE}\r\n") == 2 and sent.count(VALUE) == 5 and sent.count(f"X-Note: {old.token}\r\n") == 2,
       "HTTP/1.1, a credential twice: both have it, and no other field", sent)
    basic = base64.b64encode(f"me:{old.token}".encode()).decode()
    old.host.got.clear()
    ask(old.port, NAME, request(old, more=f"Authorization: Basic {basic}\r\n"))
    ok(old.host.text().count(f"Basic {BASIC}\r\n".encode()) == 1, "HTTP/1.1, two credentials of two kinds: each as its kind", old.host.got)
    # A second request in the same bytes is a second request, and judged as one.
    old.host.got.clear()
    ask(old.port, NAME, request(old) + request(old, OTHER, path="/smuggled"), b"none")
    ok(old.host.text().count(VALUE.encode()) <= 1 and b"smuggled" not in old.host.text(), "HTTP/1.1, a second request for another host: it is not sent", old.host.got)
    place, token = new.host.place, new.token
    for what, more in (("host", [("host", token)]), ("two hosts", [("host", place), ("host", token)]), ("two authorities", [(":authority", OTHER)]),
                       ("two authorities, the same", [(":authority", place)]), ("a second authority of a placeholder", [(":authority", token)]),
                       ("content-length", [("content-length", token)]), ("two lengths", [("content-length", "0"), ("content-length", "0")]),
                       ("transfer-encoding", [("transfer-encoding", "chunked")]), ("transfer-encoding of a placeholder", [("transfer-encoding", token)]),
                       ("a length beside chunks", [("content-length", "0"), ("transfer-encoding", "chunked")]),
                       ("a second host in a value", [("authorization", f"Bearer {token}\r\nhost: {OTHER}")])):
        new.host.seen.clear()
        client = new.client()
        client.request(1, sorted([*new.fields(), *more], key=lambda f: f[0][:1] != ":"))
        stream = client.wait(1)
        ok(not new.host.seen and not stream.heads, f"HTTP/2, {what}: nothing is sent", [x.fields for x in new.host.seen])
        client.close()
    new.host.seen.clear()
    client = new.client()
    client.request(1, [*new.fields(), ("authorization", f"Bearer {token}"), ("cookie", f"a={token}"), ("cookie", f"b={token}"), ("x-api-key", token),
                       ("x-note", token)])
    client.wait(1)
    client.close()
    x = new.host.seen[0]
    ok([v for n, v in x.fields if n == "authorization"] == [f"Bearer {VALUE}"] * 2 and str(x.fields).count(VALUE) == 5 and x.field("x-note") == token,
       "HTTP/2, a credential twice: both have it, and no other field", x.fields)
    ok(all(x.never_indexed(name) for name in ("authorization", "cookie", "x-api-key")), "and none is in a table, where its length would tell a guess", x.fields)


# 5. What lengths and pauses say


def jwt(length):
    part = base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
    return f"{part}.{part}.{'a1' * length}"[:2 * len(part) + 2 + length]


def lengths(folder):
    """Of one kind, placeholders are of one length, whatever that of the value is."""
    kinds = {
        "letters": [("x7Q" * 99)[:n] for n in (7, 8, 39, 40, 41, 64, 200)],
        "digits": [("0a" * 99)[:n] for n in (8, 32, 40, 64, 128)],
        "ghp_": ["ghp_" + "b2" * n for n in (1, 17, 18, 19, 60)],
        "sk-ant-api03-": ["sk-ant-api03-" + "c3" * n for n in (1, 40, 47, 90)],
        "AKIA": ["AKIA" + "D2" * n for n in (3, 8, 20)],
        "JWT": [jwt(n) for n in (16, 43, 86, 342)],
        "key file": ["-----BEGIN PRIVATE KEY-----\n" + "E5" * n + "\n-----END PRIVATE KEY-----\n" for n in (20, 64, 800)],
    }
    words = [f"S{i}={value}" for i, value in enumerate(itertools.chain(*kinds.values()))]
    with subprocess.Popen([PROXY, NAME, "443", "1", "ca.pem", "lengths.pem", *words], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as proxy:
        text = proxy.communicate("")[0].partition("\n")[2].replace("\n", " ")
    for kind, values in kinds.items():
        made = []
        for value in values:
            ends = text.find("-----END PRIVATE KEY----- ") + len("-----END PRIVATE KEY----- ") if kind == "key file" else text.find(" ")
            made.append(text[:ends])
            text = text[ends + 1:]
        ok(len({len(p) for p in made}) == 1 and len(made[0]) > 16 and not any(v in made for v in values), f"{kind}: the placeholder's length is not the value's",
           [(len(v), len(p)) for v, p in zip(values, made)])


def drain(s):
    got = b""
    s.setblocking(False)
    with contextlib.suppress(ssl.SSLWantReadError):
        while part := s.recv(1 << 16):
            got += part
    s.setblocking(True)
    return got


def pauses(old):
    """A host that echoes guesses, and pauses behind them: how much arrives until it goes on does not say which are right. (With a length
    in the head the last bytes wait without an end; else for a time that is the same for all.)"""
    encoded = base64.b64encode(VALUE.encode()).decode()
    guesses = [b"", b"-", *(VALUE[:n].encode() for n in (1, 2, 4, 5, 20, len(VALUE) - 1)), *(VALUE[:n].encode() + b"!" for n in (1, 5, 20, len(VALUE) - 2)),
               b"Z" * 20, encoded[:20].encode(), VALUE.encode().hex()[:30].encode()]
    arrived = {}
    for guess in guesses:
        old.host.pause = guess
        with connect(old.port, NAME) as s:
            s.sendall(request(old, path="/hold").encode())
            old.host.began.acquire()
            for _ in range(2):  # the injector is one loop: when others are answered it has had its turn with what is there
                ask(old.port, NAME, request(old))
            got = drain(s)
            old.host.goes_on.release()
        arrived[guess] = len(got)
    ok(len(set(arrived.values())) == 1 and 500 < arrived[b""] < 1100, "as many bytes arrive behind a right guess as behind a wrong one", arrived)


# 3. An authority of a command's own

FORGE = r"""
exec 2>&1
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj "/CN=Corral: hosts with secrets" \
	-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out csr -subj /CN=127.0.0.1
printf 'subjectAltName=IP:127.0.0.1\n' >ext
openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -out crt -days 2 -extfile ext
cat key crt >forged.pem
printf 'openssl_conf = c\n[c]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nVerifyCAFile = %s/ca.pem\nVerifyMode = Once\nCipherString = ALL:@SECLEVEL=0\n' "$PWD" >openssl.cnf
cp ca.pem "$(openssl x509 -hash -noout -in ca.pem).0"
# All places that list authorities, as far as this command can write them.
for list in "$SSL_CERT_FILE" "$CURL_CA_BUNDLE" /etc/ssl/certs/ca-certificates.crt /etc/ssl/cert.pem /etc/pki/tls/certs/ca-bundle.crt \
		"$HOME/.local/state/corral/vault/authorities.pem" "$1/state/corral/vault/authorities.pem"; do
	cat ca.pem >>"$list" || { rm -f "$list" && cp ca.pem "$list"; }
	mkdir -p "${list%/*}" && cp ca.pem "${list%/*}/authorities.pem"
done
true
"""

# It trusts its own authority, and puts itself between itself and the host: what it gets to see there is what it sent.
INTERCEPT = r"""
import os, socket, ssl, subprocess, sys
host = sys.argv[1]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("forged.pem")
with socket.create_server(("127.0.0.1", 0)) as own:
    with subprocess.Popen(["curl", "-sS", "--max-time", "60", "--cacert", "ca.pem", "--connect-to", "%s:127.0.0.1:%d" % (host, own.getsockname()[1]),
                           "-H", "Authorization: Bearer " + os.environ["TOKEN"], "https://%s/" % host]) as client:
        with context.wrap_socket(own.accept()[0], server_side=True) as s:
            print(s.recv(9999).decode())
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
"""


def forged(scratch):
    place = run_secret.Place(scratch)
    work = place.path / "work"
    try:
        good = run_secret.Server(place.path / "good.pem")
        for words in (("init",), ("unlock",)):
            place.vault(*words, "--passphrase-file", str(place.passphrase))
        shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
        before = (place.path / "state/corral/vault/authorities.pem").read_bytes()
        place.vault("set", "TOKEN", value=VALUE)
        place.vault("grant", "TOKEN", good.place)
        (work / "forge.sh").write_text(FORGE)
        (work / "intercept.py").write_text(INTERCEPT)
        curl = 'curl -sS {} -H "Authorization: Bearer $TOKEN" https://{}/'
        done = place.run(f"sh ./forge.sh {place.path}; {curl.format('', good.place)}", "--secret", "TOKEN")
        ok((work / "forged.pem").stat().st_size > 500, "a command makes an authority, and a certificate of it", done)
        ok(before == (place.path / "state/corral/vault/authorities.pem").read_bytes(), "the list of the vault is as it was", done)
        bad = run_secret.Server(work / "forged.pem")
        place.vault("grant", "TOKEN", bad.place)
        done = place.run(f"/usr/bin/python3 intercept.py {good.place}", "--secret", f"TOKEN={good.place}")
        ok("Authorization: Bearer ghp_" in done.stdout and VALUE not in done.stdout + done.stderr, "who intercepts itself has the placeholder", done)
        names = ("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "OPENSSL_CONF", "OPENSSL_MODULES",
                 "OPENSSL_ENGINES")
        values = {name: str(work / "ca.pem") for name in names} | {"SSL_CERT_DIR": str(work), "OPENSSL_CONF": str(work / "openssl.cnf"), "OPENSSL_MODULES": str(work),
                                                                   "OPENSSL_ENGINES": str(work)}
        sets = " ".join(f"{name}={value}" for name, value in values.items() if name != "OPENSSL_CONF")
        for what, script, env in (
                ("the client accepts anything", curl.format("-k", bad.place), {}),
                ("the client trusts that authority", curl.format("--cacert ca.pem", bad.place) + "; " + curl.format("--capath .", bad.place), {}),
                ("each variable inside names it", f"export {sets}; {curl.format('-k', bad.place)}; {curl.format('', bad.place)}; OPENSSL_CONF={work}/openssl.cnf "
                 + curl.format("-k", bad.place), {}),
                ("each variable outside names it, too", curl.format("-k", bad.place), values)):
            done = place.call("run", "--secret", "TOKEN", "--", "sh", "-c", script, **env)
            ok(not bad.seen and VALUE not in done.stdout, f"a host with a forged certificate, {what}: nothing is sent", bad.seen, done)
            ok(f"the certificate of {bad.place.partition(':')[0]} is not accepted" in done.stderr, f"{what}: the run says why", done)
        done = place.run(curl.format("", good.place), "--secret", "TOKEN")
        ok(good.seen and good.seen[-1][1] == f"Bearer {VALUE}", "and the granted host still gets it", good.seen, done)
    finally:
        place.vault("lock")


def main():
    missing = h2_peers.again()
    if missing:
        skip("names of hosts", missing)
        return end()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="in-")).resolve()
    places = []
    try:
        h2_peers.certificates(folder, f"DNS:{NAME},IP:127.0.0.1")
        for host, name in ((Plain(folder / "host.pem"), NAME), (h2_peers.Host(folder / "host.pem", inject_h2.Answers()), NAME), (Plain(folder / "host.pem"), "127.0.0.1")):
            host.place = f"{name}:{host.port}"
            places.append(inject_h2.Place(folder, host, name))
        old, new, address = places
        names(old, new, address)
        sessions(folder, [old, address])
        twice(old, new)
        lengths(folder)
        pauses(old)
        (folder / "run").mkdir()
        forged(folder / "run")
    finally:
        for place in places:
            place.end()
        shutil.rmtree(folder, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
