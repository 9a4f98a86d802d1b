#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral link` against servers, pages and programs that want the tokens of a login, or a login of their own in its place; and processes
that are killed while they refresh one. Prints TAP."""

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
import link_authority  # noqa: E402
from broker_tap import end, ok  # noqa: E402

link = link_authority.load("test-link")
get = link.get


def jwt(aud):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    return f"{part({'alg': 'none'})}.{part({'aud': aud})}.{part('signature')}"


@contextlib.contextmanager
def lies(of, /, **said):
    of.lies.update(said)
    try:
        yield
    finally:
        of.lies.clear()


def refused(place, tools, authority, name, words, *, asks_token=False, finish=False):
    """A login that must not succeed, says why, and leaves nothing in the vault."""
    n = authority.paths().count("/token")
    a = link.Auth(place, "bad", tools.url)
    if a.page and finish:
        back = get(a.page)[1]
        get(back)
    elif a.page:
        a.p.kill()
    done = a.end()
    asked = authority.paths().count("/token") > n
    left = "LINK_BAD" in place.vault("list").stdout
    ok(done.returncode in (2, 1) and words in done.stderr and asked == asks_token and not left, name, done, asked, left)


def metadata(place, tools, authority, other):
    rows = [
        ("a description of another resource", tools, {"resource": {"resource": "https://evil.example/mcp"}}, "another resource"),
        ("a description at another origin", tools, {"challenge": f'Bearer resource_metadata="{other.origin}/x"'}, "another origin"),
        ("two descriptions", tools, {"challenge": f'Bearer resource_metadata="{tools.origin}/x", resource_metadata="{tools.origin}/y"'}, "twice"),
        ("an authorization server without TLS", tools, {"resource": {"authorization_servers": ["http://login.example.com"]}}, "must be https"),
        ("one at an address of the network", tools, {"resource": {"authorization_servers": ["https://169.254.169.254"]}}, "may not lead to"),
        ("another issuer than was asked for", authority, {"server": {"issuer": f"{other.origin}/tenant"}}, "describes another issuer"),
        ("a token endpoint without TLS", authority, {"server": {"token_endpoint": f"http://127.0.0.1:{other.server_port}/token"}}, "may not lead to"),
        ("no PKCE", authority, {"server": {"code_challenge_methods_supported": None}}, "S256"),
        ("PKCE that hides nothing", authority, {"server": {"code_challenge_methods_supported": ["plain"]}}, "S256"),
        ("a description without an end", authority, {"metadata": "huge"}, "262144"),
        ("a redirect to another origin", authority, {"metadata": "redirect", "to": f"{other.origin}/x"}, "within the same origin"),
        ("a client for another call-back", authority, {"client": {"redirect_uris": ["https://evil.example/"]}}, "another place for the call-back"),
    ]
    for name, server, said, words in rows:
        with lies(server, **said):
            refused(place, tools, authority, name, words)
    ok(not other.seen, "the other server was asked for nothing", other.seen)


def slow(place, tools, authority):
    authority.gate = threading.Event()
    begin = time.monotonic()
    with lies(authority, metadata="slow"):
        refused(place, tools, authority, "a server that does not answer", "imed out")
    ok(time.monotonic() - begin < 50, "is waited for no longer than its time")
    authority.gate.set()
    authority.gate = None


def answers(place, tools, authority, other):
    rows = [
        ("mix-up: a code of another issuer", {"callback": {"iss": f"{other.origin}/tenant"}}, "mixed up", False),
        ("a call-back without its issuer", {"callback": {"iss": None}}, "mixed up", False),
        ("a token in the call-back", {"callback": {"access_token": "a-token-that-leaks"}}, "a token in its address", False),
        ("no code", {"callback": {"code": None}}, "no code", False),
        ("the user said no", {"callback": {"code": None, "error": "access_denied"}}, "access_denied", False),
        ("a code that is not of this login", {"callback": {"code": "code-of-another-user"}}, "invalid_grant", True),
        ("a token for another resource", {"tokens": {"access_token": jwt("https://evil.example/mcp")}}, "another resource", True),
        ("a token of another type", {"tokens": {"token_type": "mac"}}, "not Bearer", True),
        ("a token that ends a line", {"tokens": {"access_token": "a\r\nX-Evil: 1"}}, "visible", True),
        ("no token", {"tokens": {"access_token": None}}, "access_token", True),
        ("an answer without an end", {"token": "huge"}, "262144", True),
        ("a redirect of the token request", {"token": "redirect", "to": f"{other.origin}/token"}, "no request with a body", True),
    ]
    for name, said, words, asks in rows:
        with lies(authority, **said):
            refused(place, tools, authority, name, words, asks_token=asks, finish=True)
    ok(not other.seen, "the other server got no code and no token", other.seen)


def callback(place, tools, authority):
    """What pages and programs send to the address that waits; and then the user comes."""
    a = link.Auth(place, "page", tools.url)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(a.page).query))
    back = query["redirect_uri"]
    port = urllib.parse.urlsplit(back).port
    good = f"{back}?code=code-of-an-attacker&state={query['state']}&iss={urllib.parse.quote(authority.issuer, safe='')}"
    rows = [
        ("a name that was made to lead here", (good, "GET", {"Host": f"evil.example:{port}"}), 403),
        ("localhost, where it is not", (good, "GET", {"Host": f"localhost:{port}"}), 403),
        ("a script of a page", (good, "GET", {"Origin": "https://evil.example"}), 403),
        ("a form of a page", (good, "POST", {"Origin": "null"}), 403),
        ("another method", (good, "POST", {}), 405),
        ("another path", (good.replace("/callback", "/callback/x"), "GET", {}), 404),
        ("no query", (back, "GET", {}), 400),
        ("code injection: a state of another login", (f"{back}?code=x&state=guessed", "GET", {}), 400),
        ("no state", (f"{back}?code=x", "GET", {}), 400),
        ("two states", (f"{back}?code=x&state={query['state']}&state={query['state']}", "GET", {}), 400),
        ("a page's icon", (f"http://127.0.0.1:{port}/favicon.ico", "GET", {}), 404),
    ]
    for name, (url, method, headers), status in rows:
        got = get(url, method, headers)
        ok(got[0] == status and query["state"] not in got[2], f"call-back: {name}", got)
    held = []
    for i in range(80):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(b"GET /callback?code=x HTTP/1.1\r\nHost: 127.0.0.1")
        held.append(s)
    answer = get(get(a.page)[1])
    done = a.end()
    for s in held:
        s.close()
    ok(done.returncode == 0 and answer[0] == 200, "none of them ends the login, nor do 80 that say half a word", done, answer)
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        ok(False, "nothing listens behind it")
    ok(True, "nothing listens behind it")


def certificates(place, tools, authority):
    for name in ("other", "own"):
        bad = link_authority.Authority(str(place.path / f"{name}.pem"))
        with lies(tools, resource={"authorization_servers": [bad.issuer]}):
            refused(place, tools, authority, f"an authorization server with a certificate of {name}", "certificate")
        ok(not bad.seen, "it gets no request", bad.seen)


def killed(place, tools, authority):
    """kill -9, at each moment in which something is under way."""
    done, _ = link.login(place, tools.url, name="kept")
    ok(done.returncode == 0, "a login to be kept", done)
    # The one who waits is killed: who refreshes goes on.
    authority.lifetime = 5
    place.link("refresh", "kept")
    authority.lifetime = 3600
    authority.gate, n = threading.Event(), authority.n
    authority.entered.clear()
    p = place.start("vault", "export", "LINK_KEPT", "--yes", value="")
    authority.entered.wait(60)
    os.killpg(p.pid, signal.SIGKILL)
    p.communicate(timeout=60)
    authority.gate.set()
    authority.gate = None
    done = place.vault("export", "LINK_KEPT", "--yes")
    ok(done.returncode == 0 and authority.access in done.stdout and authority.n == n + 1, "who waits is killed: the login is refreshed all the same", done, authority.n - n)
    # The one who refreshes is killed, before the server has answered.
    for _ in range(3):
        authority.gate = threading.Event()
        authority.entered.clear()
        p = place.start("link", "refresh", "kept", value="")
        authority.entered.wait(60)
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate(timeout=60)
        # What it asked for is not given: its connection is gone.
        authority.gate.drops = True
        authority.gate.set()
        authority.gate = None
        done = place.link("refresh", "kept")
        ok(done.returncode == 0, "who refreshes is killed: the login is as it was", done)
    # A server that fails for a while takes no login away.
    with lies(authority, refresh=({"error": "server_error"}, 500)):
        done = place.link("refresh", "kept")
        ok(done.returncode == 2 and "500" in done.stderr, "a server that fails is said", done)
    done = place.link("refresh", "kept")
    ok(done.returncode == 0, "and the login is good afterwards", done)


def main():
    scratch = tempfile.mkdtemp(prefix="cl-")
    place = link.Place(scratch)
    try:
        authority = link_authority.Authority(str(place.path / "good.pem"))
        tools = link_authority.Tools(str(place.path / "good.pem"), authority)
        other = link_authority.Authority(str(place.path / "good.pem"))
        metadata(place, tools, authority, other)
        slow(place, tools, authority)
        answers(place, tools, authority, other)
        callback(place, tools, authority)
        certificates(place, tools, authority)
        killed(place, tools, authority)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
