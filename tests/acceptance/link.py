#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral link` at an authorization server by others (npm's oidc-provider, tools/fetch-mcp), with a user who logs in and agrees by its own
pages: registration, a code with PKCE and a resource, tokens that are JWTs, rotation, a device, revocation. Prints TAP."""

import argparse
import html
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
from acceptance_tap import Tap  # noqa: E402
import link_authority  # noqa: E402

tap = Tap()


class Authority:
    def __init__(self, arguments, certificate):
        node = next(iter(sorted(arguments.agents.glob("node-linux-*/bin/node"))), None)
        self.process = subprocess.Popen([str(node), str(HERE / "link" / "authority.mjs"), certificate, str(arguments.packages / "link" / "node_modules")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = self.hear()
        self.issuer, self.url = said["issuer"], said["url"]

    def say(self, line="seen"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self):
        """Past what the package itself has to say."""
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return {}

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class Stop(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """A person with a browser: forms of a login and of an agreement are filled in and sent."""

    def __init__(self):
        context = ssl._create_unverified_context()
        self.opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), Stop)

    def ask(self, url, form=None):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        try:
            with self.opener.open(urllib.request.Request(url, data), timeout=60) as r:
                return r.status, None, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.headers.get("Location"), e.read().decode()

    def go(self, url, **values):
        """Until there is nothing to follow and nothing to fill in; or the call-back has answered."""
        form = None
        for _ in range(30):
            status, location, text = self.ask(url, form)
            form = None
            if location:
                url = urllib.parse.urljoin(url, location)
                continue
            found = re.search(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', text, re.S)
            if not found or "callback" in url:
                return url, status, text
            url = urllib.parse.urljoin(url, html.unescape(found[1]))
            form = {html.unescape(n): html.unescape(v) for n, v in re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', found[2])}
            for name in re.findall(r'<input[^>]*name="([^"]+)"', found[2]):
                form.setdefault(name, values.get(name, "me"))
            form.update({n: v for n, v in values.items() if n in form})
        return url, 0, "there is no end"


def login(place, link, authority, name, *words):
    a = link.Auth(place, *words, name, authority.url)
    if not a.page:
        return a.end(), None
    answer = Browser().go(a.page)
    return a.end(), answer


def use(place, secret, url):
    return place.run(f'echo "inside ${secret}"; curl -sS -H "Authorization: Bearer ${secret}" {url}', "--secret", secret)


def tests(place, link, authority):
    done, answer = login(place, link, authority, "real")
    tap.ok(done.returncode == 0, "a login at oidc-provider, with a client that it registered", done, answer)
    done = use(place, "LINK_REAL", authority.url)
    sent = authority.say()["sent"]
    tap.ok('"you":"me"' in done.stdout and sent and not any(t in done.stdout for t in sent), "its token, a JWT for this resource, is good, and not seen", done)
    for n in (1, 2, 3):
        done = place.link("refresh", "real")
        tap.ok(done.returncode == 0 and authority.say()["refreshes"] == n, f"refresh token {n} is used once", done)
    authority.say("lifetime 5")
    place.link("refresh", "real")
    authority.say("lifetime 3600")
    before = authority.say()["refreshes"]
    ps = [place.start("vault", "export", "LINK_REAL", "--yes", value="") for _ in range(50)]
    done = [p.communicate(timeout=180) + (p.returncode,) for p in ps]
    tap.ok(all(d[2] == 0 for d in done) and authority.say()["refreshes"] == before + 1, "50 at once: one refresh", [d for d in done if d[2]][:2])
    p = place.start("link", "auth", "--device", "phone", authority.url, value="")
    said = ""
    for line in p.stderr:
        said += line
        found = re.search(r"or open (\S+)", line)
        if found:
            answer = Browser().go(found[1])
            break
    out, err = p.communicate(timeout=90)
    tap.ok(p.returncode == 0, "a login on a device", said, err, answer)
    tap.ok('"you":"me"' in use(place, "LINK_PHONE", authority.url).stdout, "its token is good")
    done = place.link("logout", "real")
    tap.ok(done.returncode == 0 and "did not revoke" not in done.stderr, "logout: it revokes the token", done)
    done = place.link("status", "--json")
    tap.ok([x["name"] for x in json.loads(done.stdout)["logins"]] == ["phone"], "and the other login stays", done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--agents", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not (arguments.packages / "link/node_modules/oidc-provider").is_dir():
        print("1..0 # SKIP oidc-provider is not in build-mcp: `tools/setup agents` fetches it")
        return 0
    link = link_authority.load("test-link")
    scratch = tempfile.mkdtemp(prefix="cl-")
    place, authority = link.Place(scratch), None
    try:
        authority = Authority(arguments, str(place.path / "good.pem"))
        tests(place, link, authority)
    finally:
        if authority:
            authority.end()
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
