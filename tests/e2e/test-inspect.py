#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`network.inspect`: methods and URL paths hold inside TLS, for real clients and for those who try to say one path and mean another. It needs no
vault. As root, once more as an ordinary user. Prints TAP."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

HELPERS = os.environ.get("RUN_SECRET", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", HELPERS)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
Place, Server, PROGRAMS = run_secret.Place, run_secret.Server, run_secret.PROGRAMS



class Handler(run_secret.Handler):
    def answer_files(self, *_):
        """Files below the server's folder, as the dumb protocol of git needs them."""
        path = (self.server.root / self.path.split("?")[0].lstrip("/")).resolve()
        found = path.is_relative_to(self.server.root) and path.is_file()
        self.send(path.read_bytes() if found else b"", 200 if found else 404)

    def answer_ws(self, *_):
        """Another protocol from here on: what comes first is sent back."""
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        self.wfile.write(b"echo " + self.rfile.readline())


# Bytes as they are, inside TLS; what comes back until the end. A second argument is sent once the first was answered.
RAW = r"""
import socket, ssl, sys
host, port = sys.argv[1].rsplit(":", 1)
with ssl.create_default_context().wrap_socket(socket.create_connection((host, int(port))), server_hostname=host) as s:
    got = b""
    for text in sys.argv[2:]:
        s.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
        if text is not sys.argv[-1]:
            while b"\r\n\r\n" not in got or not got.endswith(b"\n"):
                got += s.recv(65536)
    s.settimeout(20)
    try:
        while more := s.recv(65536):
            got += more
    except (OSError, ssl.SSLError) as error:
        got += b"[" + type(error).__name__.encode() + b"]"
print(got.decode("latin-1"))
"""


def write(place, text, name="p.yaml"):
    (place.path / "work" / name).write_text(text)
    return name


def allows(server, *urls, more=""):
    """Only what the URLs say, of a host that is inspected."""
    grants = ", ".join(f'"https://{server.place}{url}"' for url in urls)
    return f'extends: workspace\nnetwork: {{allow: [{grants}], inspect: ["{server.place}"]{more}}}\n'


def paths(server):
    return [path for path, _, _ in server.seen]


class Inspect:
    def __init__(self, place, server):
        self.place, self.server = place, server

    def run(self, policy, script, *options):
        self.server.seen.clear()
        return self.place.call("run", "--policy", write(self.place, policy), *options, "--", "sh", "-c", script)

    def raw(self, policy, *texts):
        (self.place.path / "work/raw.py").write_text(RAW)
        words = " ".join("'" + text.replace("HOST", self.server.place) + "'" for text in texts)
        return self.run(policy, f"python3 raw.py {self.server.place} {words}")


def clients(t):
    """Each reaches what is allowed, and hears why not."""
    at = f"https://{t.server.place}"
    policy = allows(t.server, "/v1/**")
    rows = [
        ("curl", "curl -sS {}"),
        ("python3", "python3 -c 'import sys, urllib.request as u, urllib.error as e\ntry: print(u.urlopen(sys.argv[1]).read())\nexcept e.HTTPError as x: print(x.read().decode())' {}"),
        ("requests", "python3 -c 'import sys, requests as r\nprint(r.get(sys.argv[1]).text)' {}"),
        ("wget", "wget -q --content-on-error -O - {}"),
        ("node", "node -e 'fetch(process.argv[1]).then(r => r.text()).then(t => console.log(t))' {}"),
    ]
    for program, script in rows:
        if program == "requests" and t.run(policy, "python3 -c 'import requests'").returncode != 0:
            skip(program, "not installed: python3-requests; see tools/setup net")
            continue
        if program != "requests" and not shutil.which(program, path=t.place.env["PATH"]):
            skip(program, f"not installed: {program}; see tools/setup net")
            continue
        done = t.run(policy, script.format(f"{at}/v1/x"))
        ok(paths(t.server) == ["/v1/x"] and "got" in done.stdout, f"{program}: a path that is granted", t.server.seen, done)
        done = t.run(policy, script.format(f"'{at}/v2/x?q=1'"))
        ok(paths(t.server) == [] and f"corral: denied: GET https://{t.server.place}/v2/x: " in done.stdout, f"{program}: one that is not, with the reason",
           t.server.seen, done)
        ok(f"denied: GET https://{t.server.place}/v2/x: " in done.stderr and "q=1" not in done.stderr, f"{program}: and the report has it", done)
    done = t.run(policy, f"curl -sS -o /dev/null -w '%{{http_code}} ' {at}/v1/a {at}/v2/b {at}/v1/c")
    ok(paths(t.server) == ["/v1/a", "/v1/c"] and done.returncode == 0, "what is denied ends no other request of the client", t.server.seen, done)


def rules(t):
    at = f"https://{t.server.place}"
    base = f'extends: workspace\nnetwork: {{allow: ["{t.server.place}"], inspect: ["{t.server.place}"]}}\n'
    done = t.run(base + f'rules:\n  - {{id: no-admin, action: deny, operations: [net.connect], patterns: ["{at}/admin/**"]}}\n', f"curl -sS {at}/admin/x {at}/v1")
    ok(paths(t.server) == ["/v1"] and "no-admin" in done.stdout, "a rule that denies a path, by its id", t.server.seen, done)
    done = t.run(base + f'rules:\n  - {{id: no-post, action: deny, operations: [net.connect], patterns: ["{t.server.place}"], methods: [POST]}}\n',
                 f"curl -sS {at}/a; curl -sS -d x {at}/b")
    ok(paths(t.server) == ["/a"] and "no-post" in done.stdout, "a rule about a method", t.server.seen, done)
    done = t.run(allows(t.server, "/**", more=", methods: [GET]"), f"curl -sS {at}/a; curl -sS -X DELETE {at}/b; curl -sS -H 'X-HTTP-Method-Override: DELETE' {at}/c")
    ok(paths(t.server) == ["/a", "/c"], "network.methods; a header that overrides one is the host's matter", t.server.seen, done)
    done = t.run(base + f'rules:\n  - {{id: q, action: ask, operations: [net.connect], patterns: ["{at}/ask/**"]}}\n', f"curl -sS {at}/ask/x {at}/v1")
    ok(paths(t.server) == ["/v1"] and "corral: denied: GET" in done.stdout, "without a daemon, what is asked about is denied", t.server.seen, done)
    (t.place.path / "work/shield.json").write_text('{"version": "1.0.0", "defaultAction": "allow", "rules": [{"id": "no-admin", "name": "n", "action": "deny", "target": "url", '
                                                   f'"patterns": ["{at}/admin"], "enabled": true, "priority": 9}},'
                                                   f'{{"id": "all", "name": "n", "action": "allow", "target": "url", "patterns": ["{at}/**"], "enabled": true, "priority": 1}}]}}')
    done = t.run(base, f"curl -sS {at}/v1", "--policy", "shield.json")
    ok(paths(t.server) == ["/v1"], "a denied path of AgenShield's is exact where one layer inspects the host", t.server.seen, done)
    done = t.run(base, f"curl -sS {at}/admin/x", "--policy", "shield.json")
    ok(paths(t.server) == [] and "no-admin" in done.stdout, "and denied", t.server.seen, done)
    plain = base.replace(f', inspect: ["{t.server.place}"]', "")
    done = t.run(plain, f"curl -sSk {at}/v1", "--policy", "shield.json")
    ok(paths(t.server) == [] and done.returncode != 0, "without, the whole host is", t.server.seen, done)
    done = t.run(allows(t.server, "/v1/**").split(", inspect")[0] + "}\n", f"curl -sSk {at}/v1/x")
    ok(paths(t.server) == [] and done.returncode != 0, "and a grant of a path reaches nothing", t.server.seen, done)


def tricks(t):
    """To say one path and mean another."""
    policy = allows(t.server, "/v1/**")
    request = "GET {} HTTP/1.1\\r\\nHost: HOST\\r\\nConnection: close\\r\\n\\r\\n"
    for target in ("/v1/../admin", "/v1/%2e%2e/admin", "/v1/%2E%2E%2Fadmin", "/v1/..%2fadmin", "/v1/..;/admin", "/v1//../../admin", "/v1/..\\\\admin", "/v1%2f..%2fadmin",
                   "/v1/a/../b", "/v1/./x", "/admin/../v1/x", "/admin/%2e%2E/v1/x", "/admin/.%2e/v1/x", "//v1/x", "/v1/;x=1/../../admin", "/v1/%5c..%5cadmin", "/V1/x", "/v2", "/v1/" + "a" * 5000, "/v1/../" * 40 + "admin", "*",
                   "https://HOST/v1/x", "https://other.example/v1/x", "//HOST/v1/x"):
        done = t.raw(policy, request.format(target))
        ok(paths(t.server) == [], f"{target[:40]} does not get there", t.server.seen, done)
    for target in ("/v1/x", "/v1/x%0d%0aX:", "/v1/%7Ex", "/v1/..x/x..", "/v1/x?y=/../../admin"):
        done = t.raw(policy, request.format(target))
        ok(len(t.server.seen) == 1 and "200 OK" in done.stdout, f"{target} does, as it was written", t.server.seen, done)
    get = "GET /v1/x HTTP/1.1\\r\\nHost: HOST\\r\\n"
    rows = [
        ("a second request behind one that is allowed", get + "\\r\\nGET /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n", 1),
        ("one in its body, by a length", "POST /v1/x HTTP/1.1\\r\\nHost: HOST\\r\\nContent-Length: 4\\r\\n\\r\\nabcdGET /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n", 1),
        ("two lengths", get + "Content-Length: 0\\r\\nContent-Length: 40\\r\\n\\r\\nGET /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n", 0),
        ("a length and chunks", get + "Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n", 0),
        ("chunks, hidden", get + "Transfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n", 0),
        ("a line that is folded", get + "X: a\\r\\n b\\r\\n\\r\\n", 0),
        ("another host", get.replace("Host: HOST", "Host: other.example") + "\\r\\n", 0),
        ("two hosts", get + "Host: other.example\\r\\n\\r\\n", 0),
        ("another port", get.replace("HOST", "127.0.0.1:1") + "\\r\\n", 0),
        ("no host", "GET /v1/x HTTP/1.1\\r\\n\\r\\n", 0),
        ("another protocol", get + "Connection: Upgrade\\r\\nUpgrade: h2c\\r\\n\\r\\n", 0),
        ("a tunnel", "CONNECT HOST HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n", 0),
        ("what is not HTTP", "SSH-2.0-x\\r\\n", 0),
        ("HTTP/2 that was not agreed on", "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n", 0),
    ]
    for name, text, n in rows:
        done = t.raw(policy, text)
        ok(len(t.server.seen) == n and "/admin" not in paths(t.server), f"{name}: {n} of them", t.server.seen, done)
    done = t.raw(policy, "SSH-2.0-x\\r\\n\\r\\n")
    ok("not the HTTP" in done.stderr, "what is not HTTP is named", done)
    done = t.raw(policy, get + "\\r\\n", "GET /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n")
    ok(paths(t.server) == ["/v1/x"] and done.stdout.count("HTTP/1.1 ") == 2 and "403 Forbidden" in done.stdout and "Error]" not in done.stdout,
       "on a kept connection: it is answered, and closed in order", t.server.seen, done)
    done = t.raw(policy, "HEAD /admin HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n")
    ok("403 Forbidden" in done.stdout and "denied" not in done.stdout, "the answer to HEAD has no body", done)
    done = t.run(policy, f"head -c 3000000 /dev/zero | curl -sS -T - https://{t.server.place}/up")
    ok(paths(t.server) == [] and "corral: denied: PUT" in done.stdout, "who sends a large body hears why, too", done)


def others(t, stranger):
    """Hosts that are not inspected stay end to end."""
    policy = (f'extends: workspace\nnetwork: {{allow: ["https://{t.server.place}/v1/**", "{stranger.place}"], inspect: ["{t.server.place}"]}}\n')
    stranger.seen.clear()
    done = t.run(policy, f"curl -sS --cacert /work/ca.pem https://{stranger.place}/any".replace("/work/ca.pem", "ca.pem"))
    ok(paths(stranger) == ["/any"], "their own certificate is what the client sees", stranger.seen, done)
    done = t.run(policy, f"curl -sSv https://{t.server.place}/v1/x 2>&1")
    ok("issuer:" in done.stdout and "authority" not in done.stdout.split("issuer:")[1].split("\n")[0], "and ours is for the inspected one", done)
    stranger.seen.clear()
    done = t.run(policy, f"curl -sS http://{t.server.place}/v1/x")
    ok(paths(t.server) == [] and done.returncode != 0, "nothing in the clear goes to a host that is inspected", done)
    done = t.run(policy, f"curl -sS -H 'Accept-Encoding: gzip' -H 'Range: bytes=0-1' https://{t.server.place}/v1/x")
    fields = t.server.seen[0][2] if t.server.seen else {}
    ok(fields.get("accept-encoding") == "gzip" and fields.get("range") == "bytes=0-1", "requests go on as they were written", fields, done)
    done = t.run(allows(t.server, "/gzip"), f"curl -sS --compressed -H 'Authorization: x' https://{t.server.place}/gzip")
    ok(done.stdout == "x", "and compressed answers come back", done)


def repository(top):
    """A repository with one commit, as files that any server serves."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1"}
    (top / "tree").mkdir(parents=True)
    (top / "tree/hello").write_text("hello from the repository\n")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"), ("clone", "-q", "--bare", ".", "../files/repo"),
                  ("-C", "../files/repo", "update-server-info")):
        subprocess.run(["git", *words], cwd=top / "tree", env=env, check=True, capture_output=True, timeout=60)


def git(t):
    """A clone, and what is granted of it."""
    if not shutil.which("git", path=t.place.env["PATH"]):
        skip("git", "not installed: git; see tools/setup net")
        return
    repository(t.server.root)
    clone = f"git clone -q https://{t.server.place}/files/repo out && cat out/hello; rm -rf out"
    done = t.run(allows(t.server, "/files/repo/**"), clone)
    ok("hello from the repository" in done.stdout and "/files/repo/info/refs?service=git-upload-pack" in paths(t.server), "git clones a repository that is granted", t.server.seen, done)
    done = t.run(allows(t.server, "/files/other/**"), clone)
    ok(paths(t.server) == [] and "403" in done.stderr, "and gets 403 for one that is not", done)
    done = t.run(allows(t.server, "/files/repo/info/**", "/files/repo/HEAD"), clone)
    ok("hello" not in done.stdout and "/files/repo/info/refs?service=git-upload-pack" in paths(t.server) and not [path for path in paths(t.server) if "objects" in path],
       "of one repository, some paths", t.server.seen, done)


def upgrades(t):
    """WebSocket passes, where its request may."""
    upgrade = "GET {} HTTP/1.1\\r\\nHost: HOST\\r\\nConnection: Upgrade\\r\\nUpgrade: {}\\r\\nSec-WebSocket-Key: x\\r\\n\\r\\n"
    done = t.raw(allows(t.server, "/ws"), upgrade.format("/ws", "websocket"), "GET /admin\\n")
    ok(paths(t.server) == ["/ws"] and "101 Switching" in done.stdout and "echo GET /admin" in done.stdout, "a WebSocket, and what is said on it", t.server.seen, done)
    done = t.raw(allows(t.server, "/v1"), upgrade.format("/ws", "websocket"))
    ok(paths(t.server) == [] and "403 Forbidden" in done.stdout, "not where its path is not granted", t.server.seen, done)


def many(t):
    """Connections at once, each with its own answers."""
    at = f"https://{t.server.place}"
    done = t.run(allows(t.server, "/v1/**"), f"seq 40 | xargs -P 20 -I N curl -sS -w '%{{http_code}}\n' -o /dev/null {at}/v1/N {at}/v2/N {at}/v1/N-again")
    answers = done.stdout.split()
    ok(answers.count("200") == 80 and answers.count("403") == 40 and sorted(paths(t.server)) == sorted([f"/v1/{n}{more}" for n in range(1, 41) for more in ("", "-again")]),
       "forty clients, twenty at once", answers, done.stderr[-500:])


def secrets(t):
    """With a vault: what is lent to a host, and what may be asked of it."""
    ok(t.place.vault("init", "--passphrase-file", str(t.place.passphrase)).returncode == 0, "a vault is made")
    t.place.vault("unlock", "--passphrase-file", str(t.place.passphrase))
    t.place.vault("set", "TOKEN", value=run_secret.VALUE)
    t.place.vault("grant", "TOKEN", t.server.place)
    at = f"https://{t.server.place}"
    policy = allows(t.server, "/v1/**")
    done = t.run(policy, f'curl -sS -H "Authorization: Bearer $TOKEN" {at}/v1/x', "--secret", f"TOKEN={t.server.place}")
    ok([sent for _, sent, _ in t.server.seen] == [f"Bearer {run_secret.VALUE}"], "a secret goes where a path is granted", t.server.seen, done)
    # --secret grants the host as --net does.
    policy = f'extends: workspace\nnetwork: {{allow: ["{at}/v1/**"], inspect: ["{t.server.place}"]}}\nsecrets: {{TOKEN: {{hosts: ["{t.server.place}"]}}}}\n'
    done = t.run(policy, f'curl -sS -H "Authorization: Bearer $TOKEN" {at}/v2/x')
    ok(t.server.seen == [] and "corral: denied" in done.stdout and run_secret.VALUE not in done.stdout + done.stderr, "and nowhere else", t.server.seen, done)


def report(t):
    at = f"https://{t.server.place}"
    done = t.run(allows(t.server, "/v1/**"), f"curl -sS -o /dev/null '{at}/v2/x?key=secret'", "--audit", "../log")
    log = t.place.call("audit", "list", "--json", "../log")
    ok(f"GET {at}/v2/x" in log.stdout and "key=secret" not in log.stdout, "the audit has method and URL, without the query", log, done)
    done = t.run(allows(t.server, "/v1/**"), f"curl -sS -o /dev/null {at}/v2/x", "--explain")
    ok(f"GET {at}/v2/x" in done.stderr, "--explain shows it", done)
    check = write(t.place, f'network: {{allow: ["{at}/v1/**"]}}\n', "c.yaml")
    done = t.place.call("policy", "check", "--policy", check, "--op", "net.connect", "--target", f"{at}/v1/x")
    ok("network.inspect" in done.stdout + done.stderr, "policy check says that a rule needs it", done)
    done = t.place.call("policy", "lint", check)
    hint = re.search(r'add (network: \{inspect: .*\})', done.stdout)
    ok("(net-inspect)" in done.stdout and hint, "and so does lint", done)
    done = t.run(allows(t.server, "/v1/**").split("inspect: [")[0] + hint[1].split("network: {")[1].rstrip("}") + "}\n", f"curl -sS {at}/v1/x")
    ok(paths(t.server) == ["/v1/x"], "the suggested line helps", t.server.seen, done)


def main():
    scratch = tempfile.mkdtemp(prefix="cin-")
    place = Place(scratch)
    try:
        folder = place.path / "state/corral/vault"
        folder.mkdir(parents=True)
        folder.chmod(0o700)
        for name in (folder / "authorities.pem", place.path / "work/ca.pem"):
            shutil.copy(place.path / "ca.pem", name)
        t = Inspect(place, Server(place.path / "good.pem"))
        t.server.RequestHandlerClass, t.server.root = Handler, place.path / "served"
        clients(t)
        rules(t)
        tricks(t)
        others(t, Server(place.path / "good.pem"))
        git(t)
        upgrades(t)
        many(t)
        report(t)
        secrets(t)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, RUN_SECRET=HELPERS, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
