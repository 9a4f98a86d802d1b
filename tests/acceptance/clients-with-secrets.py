#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of secrets, each with each client of HTTP: the host gets the value, and nothing that the sandbox can see ever has it, in any
form (secrets/search.py). Then clients that bring a protocol of their own: git, gh, npm, aws, twine, pip. Prints TAP."""

import argparse
import base64
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import zipfile
import zlib

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import h2_peers  # noqa: E402
from acceptance_tap import Tap  # noqa: E402
from aws import signature  # noqa: E402

tap = Tap()
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = LETTERS * 3


def jwt():
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "me", "exp": 4102444800})
    text = ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts)
    return f"{text}.{DIGITS[7:50]}"


# name: value, and where a client puts it
KINDS = {
    "GH_CLASSIC": ("ghp_" + DIGITS[3:39], {"how": "header", "field": "Authorization", "before": "token "}),
    "GH_FINE": ("github_pat_" + DIGITS[5:27] + "_" + DIGITS[9:68], {"how": "header", "field": "Authorization", "before": "Bearer "}),
    "ANTHROPIC": ("sk-ant-api03-" + DIGITS[11:104] + "AA", {"how": "header", "field": "x-api-key", "before": ""}),
    "OPENAI": ("sk-proj-" + DIGITS[13:169], {"how": "header", "field": "Authorization", "before": "Bearer "}),
    "NPM": ("npm_" + DIGITS[17:53], {"how": "header", "field": "Authorization", "before": "Bearer "}),
    "PYPI": ("pypi-AgEIcHlwaS5vcmc" + DIGITS[19:178], {"how": "basic", "user": "__token__"}),
    "PASSWORD": ('p@ss w"o/r%d+42=&\\', {"how": "basic", "user": "me"}),
    "JWT": (jwt(), {"how": "header", "field": "Authorization", "before": "Bearer "}),
    "COOKIE": ("s3ss10n" + DIGITS[23:48], {"how": "header", "field": "Cookie", "before": "theme=dark; session="}),
    "QUERY": ("AIza" + DIGITS[29:64], {"how": "query"}),
}
AWS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
VALUES = {**{name: value for name, (value, _) in KINDS.items()}, **AWS}
ROWS = [{"name": name, "path": f"/kind/{name}", "field": "", "before": "", "user": "", **use} for name, (_, use) in KINDS.items()]


def was_sent(row, seen):
    """Whether a request had the value where its row says."""
    value, (target, headers, _) = VALUES[row["name"]], seen
    if row["how"] == "query":
        return urllib.parse.parse_qs(urllib.parse.urlsplit(target).query).get("key") == [value]
    if row["how"] == "basic":
        return headers.get("authorization") == "Basic " + base64.b64encode(f"{row['user']}:{value}".encode()).decode()
    return headers.get(row["field"].lower()) == row["before"] + value


# Where the search is shown that it finds something: a place (control.py), and how it is written there.
DECOYS = [*(("file", "planted-" + form, form) for form in ("plain", "base64", "base64url", "hex", "HEX", "URL", "form", "JSON", "UTF-16")),
          *(("file", f"{folder}/planted", "plain") for folder in ("/tmp", "/var/tmp", "/dev/shm", "$HOME")), ("environ",), ("cmdline",), ("descriptor",), ("net/unix",),
          ("memory",), ("variables",)]


def decoy(number):
    return f'dec\\oy "{number:02}" w@s pl+nted h3re' if number < 9 else f"decoy-{number:02}-was-planted-here"


# The host


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps each request, and answers with all that it was sent."""

    protocol_version = "HTTP/1.1"

    def any(self):
        body = self.body()
        headers = {k.lower(): v for k, v in self.headers.items()}
        self.server.seen.append((self.path, headers, body))
        for start, answer in self.server.routes.items():
            if self.path.startswith(start):
                status, more, text = answer(self.command, self.path, headers, body)
                break
        else:
            status, more, text = 200, {}, json.dumps([self.path, headers], ensure_ascii=False).encode()
        self.send_response(status)
        for key, value in {"Content-Length": str(len(text)), **more}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_HEAD = any

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        got = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            got += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return got

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, certificate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.routes = [], {}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.place = f"127.0.0.1:{self.server_port}"
        self.origin = f"https://{self.place}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


class Answers:
    """The same by HTTP/2."""

    def echo(self, x):
        x.host.host.kept.append((x.field(":path"), dict(x.fields), x.body))
        x.head(("x-sent", "yes"))
        x.data(json.dumps([x.field(":path"), dict(x.fields)], ensure_ascii=False).encode(), end=True)

    kind = echo


class Http2(h2_peers.Host):
    def __init__(self, certificate):
        super().__init__(certificate, Answers(), alpn=("h2",))
        self.kept, self.origin = [], f"https://{self.place}"


def certificate(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority")
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("req", *new, "-keyout", "key", "-out", "csr", "-subj", "/CN=x")
    openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "crt", "-days", "2", "-extfile", "ext")
    (folder / "host.pem").write_text((folder / "key").read_text() + (folder / "crt").read_text())


# The user


class Place:
    def __init__(self, scratch, corral):
        self.path = pathlib.Path(scratch).resolve()
        self.work = self.path / "work"
        self.work.mkdir()
        self.corral = corral
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "LC_ALL": "C.UTF-8",
                    **{f"XDG_{name}": str(self.path / name.lower()) for name in ("STATE_HOME", "CONFIG_HOME", "RUNTIME_DIR", "CACHE_HOME")},
                    **{name: os.environ[name] for name in ("CORRAL_VAULT", "CORRAL_INJECT") if name in os.environ}}
        certificate(self.path)
        for name, values in (("needles", VALUES.values()), ("decoys", (decoy(n) for n in range(len(DECOYS))))):
            with open(self.work / name, "w", encoding="ascii") as file:
                file.writelines(base64.b64encode(bytes(255 - byte for byte in value.encode())).decode() + "\n" for value in values)
        for name in os.listdir(HERE / "secrets"):
            shutil.copy(HERE / "secrets" / name, self.work)

    def call(self, *words, value="", **env):
        return subprocess.run([self.corral, *words], input=value, capture_output=True, text=True, errors="replace", cwd=self.work,
                              env={**self.env, **env}, timeout=300, check=False, start_new_session=True)

    def begin(self, *places):
        (self.path / "passphrase").write_text("correct horse battery\n")
        (self.path / "passphrase").chmod(0o600)
        for words in (("init",), ("unlock",)):
            done = self.call("vault", *words, "--passphrase-file", str(self.path / "passphrase"))
            tap.ok(done.returncode == 0, f"vault {words[0]}", done)
        shutil.copy(self.path / "ca.pem", self.path / "state_home/corral/vault/authorities.pem")
        for name, value in VALUES.items():
            where = ("--in", "header,query") if KINDS.get(name, ("", {"how": ""}))[1]["how"] == "query" else ()
            good = all(self.call("vault", *words, value=value).returncode == 0 for words in (("set", name), *(("grant", name, to, *where) for to in places)))
            tap.ok(good, f"{name} is set, and granted for the hosts")

    def run(self, script, names, *options, **env):
        lent = [word for name in names for word in ("--secret", name)]
        return self.call("run", *lent, *options, "--", "sh", "-c", script, **env)


def leaks(done, values=None):
    return [name for name, value in (values or VALUES).items() for form in (value, base64.b64encode(value.encode()).decode(), urllib.parse.quote(value, safe=""))
            if form in done.stdout + done.stderr]


# A client that stays: it has said how many answers it has, and is looked at while it still has them.
STAYS = """mkfifo hold said; {client} <hold >said & exec 8>hold 7<said; read line <&7; echo "$line"
python3 search.py needles; exec 8>&-; wait $!; rm hold said"""
CRASHES = """ulimit -c unlimited 2>/dev/null; mkfifo hold said; {client} <hold >said & exec 8>hold 7<said; read line <&7; echo "$line"
kill -ABRT $!; wait $!; rm hold said; python3 search.py needles; rm -f core*"""


def clients(place, packages):
    """Name, what it needs, and what it makes of the rows."""
    rows = json.dumps(ROWS)
    words = " ".join("'" + "|".join((r["name"], r["path"], r["how"], r["field"], r["before"], r["user"])) + "'" for r in ROWS)
    go, java, undici = shutil.which("go", path=place.env["PATH"]), shutil.which("javac", path=place.env["PATH"]), packages / "undici"
    if go:
        subprocess.run([go, "build", "-o", "client", "client.go"], cwd=place.work, check=True, timeout=300,
                       env={**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0", "GOCACHE": str(place.path / "go")})
        (place.work / "client.go").unlink()
    if java:
        subprocess.run([java, "Client.java"], cwd=place.work, check=True, timeout=300)
    if undici.exists():
        shutil.copytree(undici, place.work / "undici")

    def module(name):
        return subprocess.run(["/usr/bin/python3", "-c", f"import {name}"], check=False, capture_output=True).returncode == 0

    for library in ("urllib", "requests", "httpx"):
        yield library, module(library), STAYS.format(client=f"/usr/bin/python3 client.py {library} $O '{rows}'")
    yield "requests that crashes", module("requests"), CRASHES.format(client=f"/usr/bin/python3 client.py requests $O '{rows}'")
    node = shutil.which("node", path=place.env["PATH"])
    yield "Node's fetch", node, STAYS.format(client=f"node client.mjs $O '{rows}'")
    yield "undici", node and undici.exists(), STAYS.format(client=f"node client.mjs $O '{rows}' ./undici")
    yield "Go's net/http", go, STAYS.format(client=f"./client $O '{rows}'")
    yield "java.net.http", java, STAYS.format(client=f"java -Xmx64m -XX:+UseSerialGC -cp . Client $O {words}")
    for program, basic, header in (("curl", "curl -sS -u", "curl -sS -H"), ("wget", "wget -qO- --auth-no-challenge", "wget -qO- --header")):
        lines = ["n=0; rm -f kept"]
        for r in ROWS:
            if r["how"] == "query":
                call = f'{header} X-A:1 "$O{r["path"]}?key=$' + r["name"] + '"'
            elif r["how"] == "basic":
                user = f'"{r["user"]}:$' + r["name"] + '"' if program == "curl" else f'--user={r["user"]} --password="$' + r["name"] + '"'
                call = f'{basic} {user} $O{r["path"]}'
            else:
                call = f'{header} "{r["field"]}: {r["before"]}$' + r["name"] + f'" $O{r["path"]}'
            lines.append(f"{call} >>kept && n=$((n + 1))")
        yield program, shutil.which(program, path=place.env["PATH"]), "\n".join(lines + ["echo made $n; python3 search.py needles; rm kept"])


def each_with_each(place, origin, kept, rows, kinds, by):
    for name, is_there, script in rows:
        if not is_there:
            tap.skip(f"{name}{by}", f"not installed: {name}")
            continue
        kept.clear()
        done = place.run(f"O={origin}\n{script}", [r["name"] for r in kinds], "--timeout", "240s")
        tap.ok(f"made {len(kinds)}" in done.stdout, f"{name}{by}: all requests are answered", done.stdout, done.stderr)
        seen = {urllib.parse.urlsplit(s[0]).path: s for s in kept}
        missed = [r["name"] for r in kinds if r["path"] not in seen or not was_sent(r, seen[r["path"]])]
        tap.ok(not missed, f"{name}{by}: the host gets the values of {len(kinds)} kinds", missed, [seen.get(f"/kind/{n}") for n in missed])
        tap.ok("found []" in done.stdout and '"memory": ' in done.stdout and not leaks(done),
               f"{name}{by}: nothing that it can see has one", leaks(done), done.stdout, done.stderr)


def by_http_2(place, fast, rows):
    """Clients that take what the host speaks. (gRPC: tests/e2e/test-inject-grpc.py.)"""
    if fast:
        each_with_each(place, fast.origin, fast.kept, [r for r in rows if r[0] in ("curl", "Go's net/http")], ROWS, ", HTTP/2")
    else:
        tap.skip("HTTP/2", "not installed: python3-h2")


# Protocols of their own


def git(place, server):
    line = b"1234567890123456789012345678901234567890\trefs/heads/main\n"
    wants = {"PASSWORD": f"me:{VALUES['PASSWORD']}", "GH_CLASSIC": f"x:{VALUES['GH_CLASSIC']}"}
    good = {"Basic " + base64.b64encode(text.encode()).decode() for text in wants.values()} | {"Bearer " + VALUES["JWT"]}

    def answer(_, __, headers, ___):
        if headers.get("authorization") in good:
            return 200, {"Content-Type": "text/plain"}, line
        return 401, {"WWW-Authenticate": 'Basic realm="x"'}, b""

    server.routes["/repo"] = answer
    helper = "credential.helper=!f() { echo username=$USER_OF; echo password=$SECRET_OF; }; f"
    for what, script in (("a token of a credential helper", f"USER_OF=x SECRET_OF=$GH_CLASSIC git -c '{helper}' ls-remote {server.origin}/repo"),
                         ("a password of a credential helper", f"USER_OF=me SECRET_OF=$PASSWORD git -c '{helper}' ls-remote {server.origin}/repo"),
                         ("an extra header", f'git -c "http.extraHeader=Authorization: Bearer $JWT" ls-remote {server.origin}/repo')):
        done = place.run(script + "; /usr/bin/python3 search.py needles", ["GH_CLASSIC", "PASSWORD", "JWT"], USER="x")
        yield what, "refs/heads/main" in done.stdout, done


def gh(place, server):
    for name in ("GH_CLASSIC", "GH_FINE"):
        server.routes["/api/v3/user"] = lambda _, __, headers, ___, name=name: (
            (200, {"Content-Type": "application/json"}, b'{"login": "me"}') if headers.get("authorization") == f"token {VALUES[name]}"
            else (401, {}, b"{}"))
        done = place.run(f"GH_HOST={server.place} GH_ENTERPRISE_TOKEN=${name} gh api user --jq .login; /usr/bin/python3 search.py needles", [name])
        yield f"api, by {name}", done.stdout.startswith("me\n"), done


def npm(place, server):
    (place.work / "package").mkdir()
    (place.work / "package/package.json").write_text('{"name": "thing", "version": "1.0.0", "description": "", "license": "MIT"}')
    (place.work / "package/.npmrc").write_text(f"//{server.place}/:_authToken=${{NPM}}\nregistry={server.origin}/\n")
    got = []

    def answer(method, _, headers, body):
        if headers.get("authorization") != "Bearer " + VALUES["NPM"]:
            return 401, {}, b"{}"
        if method == "PUT":
            got.append(json.loads(body))
        return (201, {}, b"{}") if method == "PUT" else (404, {}, b"{}")

    server.routes["/thing"] = answer
    done = place.run("cd package && npm publish --no-update-notifier; cd .. && /usr/bin/python3 search.py needles", ["NPM"])
    yield "publish", len(got) == 1 and "thing-1.0.0.tgz" in got[0].get("_attachments", {}), done


def twine(place, server):
    (place.work / "dist").mkdir()
    with zipfile.ZipFile(place.work / "dist/thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        wheel.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("thing-1.0.dist-info/RECORD", "")
    got = []

    def answer(_, __, headers, body):
        good = headers.get("authorization") == "Basic " + base64.b64encode(f"__token__:{VALUES['PYPI']}".encode()).decode()
        got.append(good and b"thing-1.0-py3-none-any.whl" in body)
        return 200 if good else 403, {}, b""

    server.routes["/legacy/"] = answer
    done = place.run(f"twine upload --disable-progress-bar --non-interactive --repository-url {server.origin}/legacy/ -u __token__ -p $PYPI dist/*; "
                     "/usr/bin/python3 search.py needles", ["PYPI"])
    yield "upload", got == [True], done


def pip(place, server):
    whole = (place.work / "dist/thing-1.0-py3-none-any.whl").read_bytes()
    good = "Basic " + base64.b64encode(f"me:{VALUES['PASSWORD']}".encode()).decode()

    def answer(_, path, headers, __):
        if headers.get("authorization") != good:
            return 401, {"WWW-Authenticate": 'Basic realm="x"'}, b""
        if path.endswith(".whl"):
            return 200, {"Content-Type": "application/octet-stream"}, whole
        return 200, {"Content-Type": "text/html"}, b'<a href="/simple/files/thing-1.0-py3-none-any.whl">thing-1.0-py3-none-any.whl</a>'

    server.routes["/simple/"] = answer
    done = place.run(f"mkdir got; /usr/bin/python3 -m pip download -q --no-deps -d got --index-url https://me:$PASSWORD@{server.place}/simple/ thing; "
                     "ls got; /usr/bin/python3 search.py needles", ["PASSWORD"])
    yield "a private index", "thing-1.0-py3-none-any.whl" in done.stdout, done


def unchunk(body):
    """The data of aws-chunked, and its trailers."""
    data = b""
    while True:
        line, _, body = body.partition(b"\r\n")
        size = int(line.split(b";")[0], 16)
        if size == 0:
            return data, dict(part.split(b":", 1) for part in body.split(b"\r\n") if b":" in part)
        data, body = data + body[:size], body[size + 2:]


def aws(place, server):
    text = b"an object\n" * 5000
    (place.work / "object").write_bytes(text)
    stored = {}

    def answer(method, path, headers, body):
        sent = headers.get("authorization", "")
        made = signature(AWS["AWS_SECRET_ACCESS_KEY"], method, path, headers, body)
        if f"Credential={AWS['AWS_ACCESS_KEY_ID']}/" not in sent or not sent.endswith("Signature=" + made):
            return 403, {}, b"<Error><Code>SignatureDoesNotMatch</Code></Error>"
        if headers.get("x-amz-content-sha256") == "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
            body, trailers = unchunk(body)
            if trailers.get(b"x-amz-checksum-crc32") != base64.b64encode(zlib.crc32(body).to_bytes(4, "big")):
                return 400, {}, b"<Error><Code>BadDigest</Code></Error>"
            stored["trailer"] = True
        if method == "PUT":
            stored[path.partition("?")[0]] = body
            return 200, {"ETag": '"x"'}, b""
        return 200, {"Content-Type": "text/xml"}, b"<ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount></ListBucketResult>"

    server.routes["/bucket"] = answer
    base = f"AWS_DEFAULT_REGION=us-east-1 aws --endpoint-url {server.origin} s3api"
    for what, script, good in (
            ("list-objects-v2", f"{base} list-objects-v2 --bucket bucket && echo good", lambda: True),
            ("put-object", f"{base} put-object --bucket bucket --key one --body object && echo good", lambda: stored.get("/bucket/one") == text),
            ("put-object with a checksum in the trailer", f"{base} put-object --bucket bucket --key two --body object --checksum-algorithm CRC32 && echo good",
             lambda: stored.get("/bucket/two") == text and stored.get("trailer"))):
        done = place.run(script + "; /usr/bin/python3 search.py needles", list(AWS))
        yield what, "good\n" in done.stdout and good(), done


def own_protocols(place, server):
    for client in (git, gh, npm, twine, pip, aws):
        program = client.__name__
        if program != "pip" and not shutil.which(program, path=place.env["PATH"]):
            tap.skip(program, f"not installed: {program}")
            continue
        server.routes.clear()
        for what, is_good, done in client(place, server):
            tap.ok(is_good, f"{program}: {what}", done.stdout, done.stderr, server.seen[-3:])
            tap.ok("found []" in done.stdout and not leaks(done), f"{program}: {what}: nothing that it can see has the value", done.stdout, leaks(done))


def files_with(place, values):
    return [str(path) for path in place.path.rglob("*") if path.is_file() and any(v.encode() in path.read_bytes() for v in values)]


def control(place):
    """Every place that is searched, with a value in it: the search finds each."""
    rows = [[n, *(word.replace("$HOME", str(place.path)) for word in row)] for n, row in enumerate(DECOYS) if row[0] != "variables"]
    own = len(DECOYS) - 1
    done = place.run(f"OWN={decoy(own)} exec /usr/bin/python3 control.py '{json.dumps(rows)}'", ["GH_CLASSIC"])
    tap.ok("not planted" not in done.stdout and '"memory": ' in done.stdout, "values are planted in each place that is searched", done.stdout, done.stderr)
    found = done.stdout.partition("found ")[2]
    for n, row in enumerate(DECOYS):
        # Which form it is said to be says little: in several a value may look the same. Each file has one.
        where = {"file": row[1].replace("$HOME", str(place.path)) if row[0] == "file" else "", "descriptor": "descriptor ", "memory": "memory of ",
                 "variables": "variables"}.get(row[0], f"/{row[0]}")
        tap.ok(any(where in entry and f": value {n} as " in entry for entry in found.split("', '")), f"the search finds what is in {' '.join(row)}", found)
    shown = place.run("cat planted-plain", ["GH_CLASSIC"])
    tap.ok(leaks(shown, {"DECOY": decoy(0)}) == ["DECOY"], "and what is printed", shown.stdout)
    (place.path / "state_home/planted").write_text(decoy(1))
    tap.ok(files_with(place, [decoy(1)]) == [str(place.path / "state_home/planted")], "and what Corral would keep", files_with(place, [decoy(1)]))
    (place.path / "state_home/planted").unlink()
    for path in (*place.work.glob("planted-*"), place.path / "planted"):
        path.unlink(missing_ok=True)


def outside(place):
    """What stays: the log, and all files of Corral's."""
    listed = place.call("audit", "list", "--json")
    tap.ok("vault.use:GH_CLASSIC" in listed.stdout and not leaks(listed), "the log has uses, and no value", leaks(listed))
    found = files_with(place, VALUES.values())
    tap.ok(not found, "no file has a value", found)


def main():
    missing = h2_peers.again()
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    options = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="as-")
    place = Place(scratch, os.path.abspath(options.corral))
    try:
        server = Server(place.path / "host.pem")
        fast = None if missing else Http2(place.path / "host.pem")
        place.begin(server.place, *(host.place for host in [fast] if host))
        control(place)
        rows = list(clients(place, options.packages.resolve()))
        each_with_each(place, server.origin, server.seen, rows, ROWS, "")
        by_http_2(place, fast, rows)
        own_protocols(place, server)
        outside(place)
    finally:
        place.call("vault", "lock")
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{tap.number}")
    return tap.failures > 0


if __name__ == "__main__":
    sys.exit(main())
