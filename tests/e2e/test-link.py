#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral link`: logins by OAuth 2.1 whose tokens are in the vault alone: by a browser, on a device, refreshed, lent to commands, ended;
and what test-link-attacks.py does not try. As root, once more as an ordinary user. Prints TAP."""

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
import link_authority  # noqa: E402
from broker_tap import end, ok  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_VAULT", "CORRAL_INJECT", "CORRAL_FETCH", "CORRAL_WARDEN", "CORRAL_MCP_REMOTE")
CORRAL = os.path.abspath(os.environ["CORRAL"])


class Place(link_authority.secret.Place):
    def __init__(self, scratch):
        super().__init__(scratch)
        for name in ("CORRAL_FETCH", "CORRAL_WARDEN", "CORRAL_MCP_REMOTE"):
            if name in os.environ:
                self.env[name] = os.path.abspath(os.environ[name])
        (self.path / "run").mkdir(mode=0o700)
        self.vault("init", "--passphrase-file", str(self.passphrase))
        shutil.copy(self.path / "ca.pem", self.path / "state/corral/vault/authorities.pem")
        self.vault("unlock", "--passphrase-file", str(self.passphrase))

    def link(self, *words, value=""):
        return self.call("link", *words, value=value)

    def start(self, *words, value=None, **env):
        p = subprocess.Popen([CORRAL, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.path / "work",
                             env={**self.env, **env}, start_new_session=True)
        if value is not None:
            p.stdin.write(value)
        p.stdin.close()
        p.stdin = None
        return p

    def files(self):
        """All that was written outside of the vault's file."""
        text = b""
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as f:
                        text += f.read()
        return text


class Auth:
    """One `corral link auth` that waits for its browser."""

    def __init__(self, place, *words, value=""):
        self.p = place.start("link", "auth", "--no-browser", *words, value=value)
        self.said, self.page = "", None
        for line in self.p.stderr:
            self.said += line
            found = re.search(r"^  (https?://\S+)$", line)
            if found:
                self.page = found[1]
                break

    def end(self):
        out, err = self.p.communicate(timeout=60)
        return subprocess.CompletedProcess("link auth", self.p.returncode, out, self.said + err)


def get(url, method="GET", headers=None, body=None):
    """As a browser does, but no redirect is followed: the status, Location and the text."""
    u = urllib.parse.urlsplit(url)
    if u.scheme == "https":
        c = http.client.HTTPSConnection(u.hostname, u.port, context=ssl._create_unverified_context(), timeout=30)
    else:
        c = http.client.HTTPConnection(u.hostname, u.port, timeout=30)
    c.request(method, u.path + (f"?{u.query}" if u.query else ""), body=body, headers=headers or {})
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    return r.status, r.headers.get("Location"), text


def login(place, url, *words, name="tools", value=""):
    """A person who logs in and agrees."""
    a = Auth(place, *words, name, url, value=value)
    if not a.page:
        return a.end(), None
    status, back, _ = get(a.page)
    answer = get(back)
    return a.end(), answer


def code_flow(place, tools, authority):
    done, answer = login(place, tools.url)
    ok(done.returncode == 0 and "LINK_TOOLS" in done.stderr, "a login by the browser", done)
    ok(answer and answer[0] == 200 and "close this page" in answer[2], "its page says that it is done", answer)
    asked = json.loads(json.dumps(list(authority.clients.values())[-1]))
    ok(re.fullmatch(r"http://127\.0\.0\.1:\d+/callback", asked["redirect_uris"][0]) and asked["token_endpoint_auth_method"] == "none",
       "the client was registered for its call-back", asked)
    ok(not any(t in done.stdout + done.stderr for t in authority.issued), "no token is printed")
    files = place.files()
    ok(not any(t.encode() in files for t in authority.issued), "no file has a token in the clear")
    ok(not any("access_token" in p or "refresh" in p for p in tools.paths("GET") + authority.paths("GET") + authority.paths()), "none is in an address")


def lent(place, tools, authority):
    done = place.run(f'echo "inside $LINK_TOOLS"; curl -sS -H "Authorization: Bearer $LINK_TOOLS" {tools.url}', "--secret", "LINK_TOOLS")
    ok("here they are" in done.stdout and authority.access not in done.stdout + done.stderr, "a command uses the token, and does not see it", done)
    done = place.vault("list")
    ok(f"to {tools.place} in header" in done.stdout and f"to {authority.place} in login for corral link" in done.stdout, "the grants are of these two hosts", done)
    done = place.run("true", "--secret", "LINK_TOOLS_LOGIN")
    ok(done.returncode == 125 and "LOGIN" in done.stderr, "the login itself is lent to no command", done)
    done = place.link("list")
    ok(done.returncode == 0 and re.search(r"^tools +LINK_TOOLS for " + re.escape(tools.place), done.stdout), "list", done)
    done = place.link("status", "tools", "--json")
    said = json.loads(done.stdout)["logins"][0]
    ok(said["state"] == "good" and said["issuer"] == authority.issuer and said["url"] == tools.url and said["refreshes"] is True, "status", done)
    done = place.vault("rotate", "LINK_TOOLS")
    ok(done.returncode == 2 and "corral link refresh tools" in done.stderr, "rotate leads to refresh", done)
    done = place.vault("set", "OTHER", "--from", "link:tools")
    ok(done.returncode == 2 and "LINK_TOOLS" in done.stderr, "no other secret has its source", done)


def refreshing(place, tools, authority):
    before = authority.refresh
    done = place.link("refresh", "tools")
    ok(done.returncode == 0 and authority.refresh != before, "refresh", done)
    done = place.run(f'curl -sS -H "Authorization: Bearer $LINK_TOOLS" {tools.url}', "--secret", "LINK_TOOLS")
    ok("here they are" in done.stdout, "the new token is the one that goes", done)
    # One that is over when it comes is used, and the next use has another.
    authority.lifetime = 5
    place.link("refresh", "tools")
    n = authority.n
    done = place.run(f'curl -sS -H "Authorization: Bearer $LINK_TOOLS" {tools.url}', "--secret", "LINK_TOOLS")
    ok("here they are" in done.stdout and authority.n > n, "a token that is over is refreshed when it is lent", done, n, authority.n)
    authority.lifetime = 3600
    forms = [dict(urllib.parse.parse_qsl(body)) for _, path, _, body in authority.seen if path == "/token"]
    ok(all(f.get("resource") == tools.url for f in forms), "each request for a token names the resource")


def crowd(place, tools, authority):
    """50 at the same time, and the token is over."""
    authority.lifetime = 5
    place.link("refresh", "tools")
    authority.lifetime, n = 3600, authority.n
    authority.gate = threading.Event()
    authority.entered.clear()
    ps = [place.start("vault", "export", "LINK_TOOLS", "--yes", value="") for _ in range(50)]
    authority.entered.wait(60)
    authority.gate.set()
    done = [p.communicate(timeout=120) + (p.returncode,) for p in ps]
    authority.gate = None
    good = [d for d in done if d[2] == 0 and authority.access in d[0]]
    ok(len(good) == 50 and authority.n == n + 1, f"50 who need it at once: one refresh, and all have it ({len(good)}, {authority.n - n})",
       [d for d in done if d not in good][:2])


def over(place, tools, authority):
    authority.refresh = "it was revoked"
    done = place.link("refresh", "tools")
    ok(done.returncode == 1 and f"corral link auth tools {tools.url}" in done.stderr and "invalid_grant" in done.stderr, "revoked: it says to log in again", done)
    n = len(authority.seen)
    done = place.link("status", "tools")
    ok(done.returncode == 1 and "log in again" in done.stdout, "status says so, too", done)
    done = place.run("true", "--secret", "LINK_TOOLS")
    ok(done.returncode != 0 and "corral link auth tools" in done.stderr and len(authority.seen) == n, "and so does a run; nothing is asked again", done)
    done, _ = login(place, tools.url)
    ok(done.returncode == 0 and place.link("status", "tools").returncode == 0, "after another login it is good", done)


def device(place, tools, authority):
    p = place.start("link", "auth", "--device", "phone", tools.url, value="")
    said = ""
    for line in p.stderr:
        said += line
        if authority.user_code in line:
            break
    authority.approved = True
    out, err = p.communicate(timeout=60)
    ok(p.returncode == 0 and f"{authority.origin}/activate" in said, "a login by a code for another device", said, err)
    authority.approved = False
    wanted = list(authority.clients.values())[-1]
    ok(wanted["grant_types"][0].endswith("device_code"), "its client is one for devices", wanted)


def clients(place, tools, authority):
    done, _ = login(place, tools.url, "--client-id", "me:1", "--client-secret", name="own", value="s3cret of/the client\n")
    token = [(auth, body) for _, path, auth, body in authority.seen if path == "/token"][-1]
    ok(done.returncode == 0 and token[0] == "Basic bWUlM0ExOnMzY3JldCUyMG9mJTJGdGhlJTIwY2xpZW50", "a client that is registered, with a secret", done, token)
    ok(b"s3cret of" not in place.files(), "the client's secret is in no file in the clear")
    done, _ = login(place, tools.url, "--client-document", "https://corral.example/client.json", name="doc")
    ok(done.returncode == 0 and "client_id=https%3A%2F%2Fcorral.example%2Fclient.json" in authority.seen[-1][3], "a client that a document describes", done)
    n = len(authority.clients)
    authority.lies["server"] = {"registration_endpoint": None}
    a = Auth(place, "none", tools.url)
    done = a.end()
    ok(done.returncode == 2 and "--client-id" in done.stderr and len(authority.clients) == n, "no registration: it says what to do", done)
    authority.lies.clear()


def logout(place, authority):
    refresh = authority.refresh
    done = place.link("logout", "doc")
    ok(done.returncode == 0 and refresh in authority.revoked, "logout revokes the token", done, authority.revoked)
    done = place.link("status", "doc")
    ok(done.returncode == 5 and "LINK_DOC" not in place.vault("list").stdout, "and nothing of it is left", done)


def called(place, tools, authority):
    """`corral tool`: the server is MCP, and sends the token back."""
    done = place.call("tool", "list", "tools")
    ok(done.returncode == 0 and "echo" in done.stdout and "Says what it was given\n" in done.stdout, "tool list", done, tools.seen[-6:])
    done = place.call("tool", "list", "tools", "--json")
    ok(done.returncode == 0 and {"echo", "fail"} <= {t["name"] for t in json.loads(done.stdout)["tools"]}, "as JSON", done)
    done = place.call("tool", "search", "tools", "fails", "--json")
    ok(done.returncode == 0 and [t["name"] for t in json.loads(done.stdout)["tools"]] == ["fail"], "tool search", done)
    n = authority.n
    done = place.call("tool", "run", "tools", "echo", "text=1", "times=2", 'words=["a"]')
    said = json.loads(done.stdout or "{}")
    ok(done.returncode == 0 and said.get("arguments") == {"text": "1", "times": 2, "words": ["a"]} and authority.n == n, "tool run: arguments are of the tool's types", done)
    ok(said.get("token", "").startswith("Bearer *") and not any(t in done.stdout + done.stderr for t in authority.issued), "the server has the token; who calls has stars", done)
    done = place.call("tool", "run", "--json", "tools", "echo", "text=1", "times=2", 'words=["a"]')
    ok(done.returncode == 0 and "arguments" in done.stdout and json.loads(done.stdout), "its result as JSON", done)
    done = place.call("tool", "run", "tools", "fail")
    ok(done.returncode == 1 and "it did not work" in done.stdout, "a tool that fails", done)
    done = place.call("tool", "run", "tools", "other")
    ok(done.returncode == 5 and "corral tool list tools" in done.stderr, "one that is not there", done)
    done = place.call("tool", "run", "tools", "echo", "times=many")
    ok(done.returncode == 2 and "integer" in done.stderr, "a value of another type", done)
    done = place.call("tool", "list", "none")
    ok(done.returncode == 5 and "corral link auth none" in done.stderr, "a server without a login", done)


def asked(authority):
    """The scope of the last page."""
    pages = [dict(urllib.parse.parse_qsl(path.partition("?")[2])) for m, path, _, _ in authority.seen if path.startswith("/authorize?")]
    return pages[-1].get("scope")


def scopes(place, tools, authority):
    """What a login asks for, and how it gets more."""
    tools.lies["calls"] = True
    authority.lies["server"] = {"scopes_supported": ["tools", "offline_access"]}
    done, _ = login(place, tools.url, name="step")
    ok(done.returncode == 0 and asked(authority) == "tools offline_access", "a server that wants a token for calls alone says the scope; with one for a refresh token",
       done, asked(authority))
    authority.lies.clear()
    tools.lies["lacks"] = "tools:write"
    done = place.call("tool", "run", "step", "fail")
    ok(done.returncode != 0 and "corral link auth --add-scope 'tools:write' step" in done.stdout + done.stderr, "a call that needs more says how to get it", done)
    authority.lies["tokens"] = {"scope": "tools tools:write"}
    a = Auth(place, "--add-scope", "tools:write", "step")
    get(get(a.page)[1])
    done = a.end()
    ok(done.returncode == 0 and asked(authority) == "tools tools:write", "what it has is asked for, too", done, asked(authority))
    n = len(authority.seen)
    done = Auth(place, "--add-scope", "tools:write", "step").end()
    ok(done.returncode == 2 and "already" in done.stderr and len(authority.seen) == n, "what it has is not asked for once more", done)
    tools.lies["lacks"] = "tools';reboot"
    done = place.call("tool", "run", "step", "fail")
    ok(done.returncode != 0 and "reboot" not in done.stdout + done.stderr, "a scope that would be another command is not shown in one", done)
    done = Auth(place, "--add-scope", "x", "step", "https://other.example/mcp").end()
    ok(done.returncode == 2 and tools.url in done.stderr, "nothing is added at another server", done)
    done = Auth(place, "nowhere").end()
    ok(done.returncode in (2, 5) and "corral link auth nowhere URL" in done.stderr, "without a login there is no server to log in at", done)
    authority.lies.clear()
    tools.lies.clear()


def secrets_of_clients(place, tools, authority):
    """A registration has a secret, and the token endpoint says what it takes."""
    for methods, answer, basic in ((["none"], {}, False), (["client_secret_basic"], {}, True), (["none", "client_secret_basic"], {"token_endpoint_auth_method": "none"}, False)):
        authority.lies.update(server={"token_endpoint_auth_methods_supported": methods}, client={"client_secret": "s3cret", **answer})
        done, _ = login(place, tools.url, name="secretive")
        sent = [(auth, body) for _, path, auth, body in authority.seen if path == "/token"][-1]
        ok(done.returncode == 0 and sent[0].startswith("Basic ") == basic and "s3cret" not in sent[1], f"a secret of a registration, at {methods}, {answer}", done, sent)
    authority.lies.clear()


def imported(place, tools, authority):
    """What another client has left, by the name of that client."""
    name = place.path / "agentlink"
    name.symlink_to(CORRAL)
    folder = place.path / ".agentlink"
    folder.mkdir()
    file = folder / "tokens.json"
    file.write_text(json.dumps({"accessToken": "an-old-one", "refreshToken": authority.refresh, "clientId": "their-client", "expiresAt": 1}))
    file.chmod(0o644)
    def call(*words):
        return subprocess.run([name, *words], capture_output=True, text=True, env=place.env, cwd=place.path / "work", timeout=120, check=False, stdin=subprocess.DEVNULL)
    done = call("import", "theirs", tools.url)
    ok(done.returncode == 2 and "0600" in done.stderr and file.exists(), "agentlink import: a file that others can read is refused", done)
    file.chmod(0o600)
    before = authority.refresh
    done = call("import", "theirs", tools.url)
    ok(done.returncode == 0 and authority.refresh != before and file.exists() and "still there" in done.stderr, "it is taken over, and stays without a yes", done)
    file.write_text(json.dumps({"refresh_token": authority.refresh, "client_id": "their-client"}))
    done = call("import", "theirs", tools.url, "--yes")
    ok(done.returncode == 0 and not file.exists(), "with --yes it is removed", done)
    done = call("status", "theirs", "--json")
    ok(json.loads(done.stdout)["logins"][0]["client"] == "their-client", "agentlink status", done)


def known(place, tools, authority):
    """`corral integrations`: servers by their names. None of them is asked."""
    done = place.call("integrations", "list", "--json")
    rows = {x["name"]: x["url"] for x in json.loads(done.stdout)["integrations"]}
    ok(done.returncode == 0 and rows["linear"] == "https://mcp.linear.app/mcp" and all(re.fullmatch("https://[a-z.]+(/.*)?", url) for url in rows.values()), "integrations list", done)
    done = place.call("integrations", "list")
    ok(done.returncode == 0 and [line.split()[:2] for line in done.stdout.splitlines()] == [list(row) for row in sorted(rows.items())], "the same for people", done)
    done = place.call("integrations", "connect", "nobody")
    ok(done.returncode == 5 and "`corral integrations list`" in done.stderr and "corral link auth NAME URL" in done.stderr, "one that is not known", done)
    done = place.call("integrations", "connect", "--json", "nobody")
    ok(done.returncode == 5 and "nobody" in json.dumps(json.loads(done.stdout)["error"]), "the same as JSON", done)
    done, _ = login(place, tools.url, "--json", name="linear")
    said = json.loads(done.stdout or "{}")
    ok(done.returncode == 0 and said == {"name": "linear", "secret": "LINK_LINEAR", "url": tools.url, "issuer": authority.issuer}, "link auth --json", done)
    done = place.call("integrations", "connected")
    ok(done.returncode == 0 and "LINK" not in done.stdout and "corral integrations connect NAME" in done.stdout, "a login of this name at another server is not one", done)
    place.vault("grant", "LINK_LINEAR", "mcp.linear.app:443")
    done = place.call("integrations", "connected", "--json")
    said = json.loads(done.stdout)["integrations"]
    ok(len(said) == 1 and said[0]["name"] == "linear" and said[0]["secret"] == "LINK_LINEAR" and said[0]["expires"] > 0, "integrations connected", done)
    refresh = authority.refresh
    done = place.call("integrations", "disconnect", "--json", "linear")
    ok(done.returncode == 0 and json.loads(done.stdout) == {"name": "linear", "url": tools.url} and refresh in authority.revoked, "integrations disconnect", done)
    done = place.call("integrations", "disconnect", "linear")
    ok(done.returncode == 5, "once", done)
    # Without a network: where it would have logged in stands in the error.
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    done = subprocess.run([*alone, CORRAL, "integrations", "connect", "--passphrase-file", str(place.passphrase), "--device", "linear"], env=place.env,
                          cwd=place.path / "work", capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    ok(done.returncode == 2 and "https://mcp.linear.app/mcp" in done.stderr, "integrations connect leads to the address of the table", done)


def older(place, tools, authority):
    """A server that does not describe itself (before RFC 9728), and one whose description is where its path says."""
    tools.lies["challenge"] = "Bearer"
    done, _ = login(place, tools.url, name="path")
    ok(done.returncode == 0, "metadata are found by the path of the server", done)
    tools.lies["no metadata"] = True
    a = Auth(place, "none", tools.url)
    done = a.end()
    ok(done.returncode == 2 and "does not describe itself" in done.stderr, "without any, the server itself is asked", done)
    tools.lies.clear()


def main():
    scratch = tempfile.mkdtemp(prefix="cl-")
    place = Place(scratch)
    try:
        authority = link_authority.Authority(str(place.path / "good.pem"))
        tools = link_authority.Tools(str(place.path / "good.pem"), authority)
        code_flow(place, tools, authority)
        lent(place, tools, authority)
        refreshing(place, tools, authority)
        crowd(place, tools, authority)
        over(place, tools, authority)
        device(place, tools, authority)
        clients(place, tools, authority)
        logout(place, authority)
        called(place, tools, authority)
        scopes(place, tools, authority)
        secrets_of_clients(place, tools, authority)
        imported(place, tools, authority)
        known(place, tools, authority)
        older(place, tools, authority)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, LINK_AUTHORITY_PY=link_authority.__file__, RUN_SECRET_PY=link_authority.secret.__file__,
                           AWS_PY=link_authority.secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
