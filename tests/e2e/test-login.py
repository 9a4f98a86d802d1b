#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run --login`: a login inside (OAuth, by a code and on a device) whose tokens the vault keeps and the command never sees; what
it does with them afterwards, in this run and the next; and commands and hosts that want something else. As root, once more as an
ordinary user. Prints TAP."""

import base64
import contextlib
import gzip
import http.server
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("CORRAL", "CORRAL_VAULT", "CORRAL_INJECT")


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), os.path.join(HERE, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


secret = load("test-run-secret")
terminal = load("test-run-terminal")
PATH = "/oauth/token"
MEET_S = 2


def jwt(claims):
    def part(text):
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return ".".join((part('{"alg":"RS256"}'), part(json.dumps(claims)), part("signature-%s-of-the-host" % json.dumps(claims))))


class OAuth(http.server.BaseHTTPRequestHandler):
    """A provider: a device flow, a code flow, refresh tokens that are good for once, and an API."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        s = self.server
        sent = self.headers.get("Authorization", "")
        s.seen.append((self.command, self.path, sent))
        if self.path.startswith("/api"):
            good = sent == f"Bearer {s.access}"
            self.send({"you": "are in" if good else "are not", "sent": sent}, 200 if good else 401)
        elif self.path.startswith(("/oauth/token?", "/other/token?")):
            self.answer(s.issue())
        else:
            self.send({"error": "not_found"}, 404)

    def do_POST(self):
        s = self.server
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = json.loads(raw) if raw.startswith("{") else dict(urllib.parse.parse_qsl(raw))
        s.forms.append(form)
        path = self.path.partition("?")[0]
        if path == "/device":
            s.polls = 0
            self.send({"device_code": "device-code-of-it", "user_code": "AB-CD", "interval": 0})
        elif path not in (PATH, "/oauth//token", "/OAuth/Token", "/other/token", "/oauth/token/"):
            self.send({"error": "not_found"}, 404)
        else:
            self.token(form)

    def token(self, form):
        s = self.server
        kind = form.get("grant_type", "")
        s.arrived.set()
        if s.meet:
            # Where another one may be under way, it is.
            with contextlib.suppress(threading.BrokenBarrierError):
                s.meet.wait(MEET_S)
            s.meet.reset()
        if s.hangs:
            s.hangs = False
            s.goes_on.wait(60)
        if kind.endswith("device_code") and s.polls < 2:
            s.polls += 1
            self.send({"error": "authorization_pending"}, 400)
        elif kind == "refresh_token" and form.get("refresh_token") != s.refresh:
            s.reused.append(form.get("refresh_token"))
            self.send({"error": "invalid_grant"}, 400)
        elif kind == "error":
            self.send({"error": "access_denied"}, 400)
        else:
            self.answer(s.issue())

    def answer(self, tokens):
        form = self.server.form
        text = json.dumps(tokens).encode()
        if form == "form":
            self.raw(urllib.parse.urlencode(tokens).encode(), "application/x-www-form-urlencoded")
        elif form == "gzip":
            self.raw(gzip.compress(text), "application/json", Content_Encoding="gzip")
        elif form == "chunks":
            self.send_response(200)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(0, len(text), 7):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text[i:i + 7]), text[i:i + 7]))
            self.wfile.write(b"0\r\n\r\n")
        elif form == "half":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[:-4])
            self.close_connection = True
        elif form == "closes":
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + text)
        elif form == "huge":
            self.raw(json.dumps({**tokens, "more": "x" * (1 << 20)}).encode(), "application/json")
        elif form == "text":
            self.raw(text, "text/plain")
        elif form == "inner":
            self.raw(json.dumps({"data": tokens}).encode(), "application/json")
        elif form == "twice":
            self.raw(text[:-1] + b', "access_token": "' + tokens["access_token"].encode() + b'"}', "application/json")
        elif form == "short":
            self.raw(json.dumps({"access_token": "short"}).encode(), "application/json")
        elif form == "lines":
            self.raw(json.dumps({"access_token": "value-of-it\r\nX-Evil: 1"}).encode(), "application/json")
        elif form == "echo":
            value = tokens["access_token"]
            self.raw(json.dumps({**tokens, "again": value, "hex": value.encode().hex()}).encode(), "application/json", X_Again=value)
        else:
            self.raw(text, "application/json")

    def raw(self, body, kind, status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send(self, value, status=200):
        self.raw(json.dumps(value).encode(), "application/json", status)

    def log_message(self, *_):
        pass


class Provider(secret.Server):
    def __init__(self, certificate, address=("127.0.0.1", 0)):
        self.n, self.form, self.polls = 0, "json", 0
        self.meet, self.hangs, self.arrived, self.goes_on = None, False, threading.Event(), threading.Event()
        self.access = self.refresh = self.id = ""
        self.forms, self.reused, self.issued, self.lock = [], [], [], threading.Lock()
        super().__init__(certificate, address)
        self.RequestHandlerClass = OAuth

    def issue(self):
        with self.lock:
            self.n += 1
            self.access, self.refresh = f"gho_access{self.n}0123456789abcdefghijklmnop", f"ghr_refresh{self.n}0123456789abcdefghijklmno"
            self.id = jwt({"email": "me@example.com", "n": self.n})
            self.issued += [self.access, self.refresh, self.id, self.id.rpartition(".")[2]]
            return {"access_token": self.access, "refresh_token": self.refresh, "id_token": self.id, "token_type": "bearer", "expires_in": 3600, "scope": "a b"}

    @property
    def login(self):
        return f"GH={self.place}{PATH}"


# A client that keeps what it gets in a file, as all of them do.
CLIENT = r"""
import json, os, ssl, sys, time, urllib.error, urllib.parse, urllib.request
host, state = sys.argv[1], "state.json"
def post(path, form, as_json=False):
    data = json.dumps(form).encode() if as_json else urllib.parse.urlencode(form).encode()
    kind = "application/json" if as_json else "application/x-www-form-urlencoded"
    request = urllib.request.Request("https://%s%s" % (host, path), data, {"Content-Type": kind, "Accept": "application/json"})
    try:
        with urllib.request.urlopen(request) as r:
            text, kind = r.read().decode(), r.headers.get("Content-Type")
            heads.append(str(r.headers))
            return dict(urllib.parse.parse_qsl(text)) if "urlencoded" in kind else json.loads(text)
    except urllib.error.HTTPError as e:
        text = e.read().decode()
        return json.loads(text) if text.startswith("{") else {"error": "%s %s" % (e.code, text)}
    except Exception as e:
        return {"error": type(e).__name__}
def fetch(path):
    try:
        return urllib.request.urlopen("https://%s%s" % (host, path)).read().decode()
    except urllib.error.HTTPError as e:
        return "%s %s" % (e.code, e.read().decode())
heads, any_host = [], ssl._create_unverified_context()
def keep(t):
    if "access_token" in t:
        # Several clients at once: none may read a file that another has written in part.
        whole = "%s.%d" % (state, os.getpid())
        with open(whole, "w") as f:
            json.dump(t, f)
        os.rename(whole, state)
    return t
def device():
    d = post("/device", {"client_id": "me"})
    while True:
        t = post("/oauth/token", {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": d["device_code"], "client_id": "me"})
        if t.get("error") != "authorization_pending":
            return keep(t)
def code(path="/oauth/token", as_json=False, **more):
    return keep(post(path, {"grant_type": "authorization_code", "code": "code-of-it", "client_id": "me", **more}, as_json))
def refresh(as_json=False, path="/oauth/token", **more):
    return keep(post(path, {"grant_type": "refresh_token", "refresh_token": json.load(open(state))["refresh_token"], "client_id": "me", **more}, as_json))
def use(to=host, name="access_token"):
    request = urllib.request.Request("https://%s/api" % to, headers={"Authorization": "Bearer " + json.load(open(state))[name]})
    try:
        # Of others the certificate does not matter: what it is sent does.
        return urllib.request.urlopen(request, context=None if to == host else any_host).read().decode()
    except urllib.error.HTTPError as e:
        return "%s %s" % (e.code, e.read().decode())
    except Exception as e:
        return type(e).__name__
for step in sys.argv[2:]:
    print("<%s>" % json.dumps(eval(step)), flush=True)
"""


class Run(terminal.Terminal):
    """A run with a login on a terminal."""

    def __init__(self, place, provider, *steps, options=(), host=None, login=None):
        words = ["env", "-i", *(f"{k}={v}" for k, v in place.env.items()), secret.CORRAL, "run", "--login", login or provider.login, *options, "--", "python3",
                 "client.py", host or provider.place, *steps]
        super().__init__(words, cwd=place.path / "work", columns=2000)
        self.all = b""

    def pump(self, seconds):
        before = len(self.text)
        more = super().pump(seconds)
        self.all += self.text[before:]
        return more

    def asked(self):
        return self.wait_for(r"answer: ") or ""

    def result(self):
        """What the next step printed."""
        found = self.wait_for(r"<[{\"][^\n]*>\r?\n")
        return json.loads(found[found.index("<") + 1:found.rindex(">")]) if found else None

    def hidden(self, provider):
        text = self.all.decode(errors="replace")
        return not any(value in text for value in provider.issued)


def begin(place):
    done = place.call("run", "--login", "GH=127.0.0.1:1/x", "--", "true")
    ok(done.returncode == 125 and "there is no vault" in done.stderr, "without a vault it says so", done)
    ok(place.vault("init", "--passphrase-file", str(place.passphrase)).returncode == 0, "a vault is made")
    shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
    done = place.call("run", "--login", "GH=127.0.0.1:1/x", "--", "echo", "ran")
    ok(done.returncode == 125 and "locked" in done.stderr and "ran" not in done.stdout, "a locked one is refused before the run", done)
    ok(place.vault("unlock", "--passphrase-file", str(place.passphrase)).returncode == 0, "it is unlocked")
    for word, why in (("GH", "NAME=HOST:PORT/PATH"), ("GH=a.example:443", "NAME=HOST:PORT/PATH"), ("GH=*.example:443/x", "one host with one port"),
                      ("G H=a.example:443/x", "not a name"), ("GH=a.example:443/a//b", "plain"), ("GH=a.example:443/a?b", "plain"), ("GH=a.example/x", "one host")):
        done = place.call("run", "--login", word, "--", "echo", "ran")
        ok(done.returncode != 0 and why in done.stderr and "ran" not in done.stdout, f"--login {word} is refused", done)
    (place.path / "work/client.py").write_text(CLIENT)
    (place.path / "work/search.py").write_text(secret.SEARCH)


def grants(place, name):
    done = place.vault("list", "--json")
    found = [x for x in json.loads(done.stdout)["secrets"] if x["name"] == name]
    return {(g["host"], g["in"], g["to"]) for g in found[0]["grants"]} if found else None


def refused(place, provider):
    """Without a yes there is no token, neither in the vault nor inside."""
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "code()", "code()")
    ok(done.stdout.count("403 corral: denied") == 2 and "no terminal" in done.stdout and provider.access not in done.stdout, "without a terminal it is denied", done)
    run = Run(place, provider, "code()", "code()", "device()")
    text = run.asked()
    ok(provider.place + PATH in text and "GH" in text and "yes" in text, "the user is asked, and sees what about", text)
    run.type("no\r")
    first = run.result()
    ok("403" in first["error"] and "did not agree" in first["error"], "a no: the answer does not reach the client", first)
    ok("any more in this run" in run.result()["error"] and "any more in this run" in run.result()["error"], "and nothing is asked any more", run.text)
    ok(run.wait() == 0 and run.hidden(provider) and grants(place, "GH") is None, "no token was shown, and none is kept", run.text)


def device(place, provider, api):
    """A login on a device; its tokens work at once, for the hosts that the user named and no others."""
    stranger = Provider(place.path / "good.pem")
    stranger.access = "x"
    run = Run(place, provider, "device()", "use()", f"use('{api.place}')", f"use('{stranger.place}')", "use(name='refresh_token')", "refresh()", "use()",
              "refresh(True)", "use()", options=("--net", stranger.place), login=f"{provider.login},{api.place}")
    text = run.asked()
    ok(api.place in text and "replaced" not in text, "the question names the hosts", text)
    run.type("yes\r")
    t = run.result()
    ok(t and t["access_token"].startswith("gho_") and t["refresh_token"].startswith("ghr_") and t["id_token"].startswith("eyJ") and t["scope"] == "a b",
       "a login on a device: the client has placeholders of the same form", t)
    ok(json.loads(base64.urlsafe_b64decode(t["id_token"].split(".")[1] + "=="))["email"] == "me@example.com", "and can read the claims", t)
    first = provider.access
    api.access = first
    ok("are in" in run.result(), "the token works at once at its own host")
    ok("are in" in run.result() and api.seen[-1][2] == f"Bearer {first}", "and at the other that was named", api.seen)
    run.result()
    ok(stranger.seen and first not in str(stranger.seen), "and at no other", stranger.seen)
    run.result()
    ok(provider.refresh not in str(provider.seen), "the refresh token goes into no head", provider.seen)
    again = run.result()
    ok(again and again["access_token"] == t["access_token"] and again["refresh_token"] == t["refresh_token"] and provider.n >= 2 and provider.access != first,
       "a refresh, without a question: the placeholders stay", again, run.text)
    ok("are in" in run.result() and not provider.reused, "and stand for the new token", provider.reused)
    ok("access_token" in run.result() and "are in" in run.result() and not provider.reused, "once more, in JSON", provider.reused)
    ok(run.wait() == 0 and run.hidden(provider), "no value was shown", run.all)
    ok(grants(place, "GH") == {(provider.place, "header", "workspace"), (api.place, "header", "workspace")}, "grants are for this sandbox alone", grants(place, "GH"))
    ok(grants(place, "GH_REFRESH") == {(provider.place, "login", "workspace")}, "the refresh token goes to logins alone", grants(place, "GH_REFRESH"))
    return t


def later(place, provider, t):
    """The next run: the state file of the client is good."""
    done = place.call("run", "--secret", "GH", "--", "sh", "-c", f"echo $GH; python3 client.py {provider.place} 'use()'")
    ok(t["access_token"] in done.stdout and "are in" in done.stdout and provider.access not in done.stdout, "the next run has the same placeholder", done)
    done = place.call("run", "--secret", "GH_REFRESH", "--", "true")
    ok(done.returncode != 0 and "for logins alone" in done.stderr, "the refresh token is not lent without the login", done)
    before = provider.n
    done = place.call("run", "--login", provider.login, "--", "sh", "-c", f"echo [$GH$GH_REFRESH]; python3 client.py {provider.place} 'refresh()' 'use()'")
    ok("[]" in done.stdout and "are in" in done.stdout and provider.n == before + 1 and not provider.reused, "a refresh needs no terminal, and the variables are not set", done)
    ok(provider.access not in done.stdout + done.stderr, "and shows no value", done)
    place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "refresh(path='/device')")
    ok(provider.forms[-1].get("refresh_token") == t["refresh_token"], "the refresh token goes into no body at another path", provider.forms[-1])
    # Each goes with the token that is good then. A request that is under way meanwhile may have one that is not any more.
    client = f"python3 client.py {provider.place}"
    script = f"for i in 1 2 3 4; do {client} 'refresh()' & done; wait; {client} 'use()'"
    done = place.call("run", "--login", provider.login, "--", "sh", "-c", script)
    ok(done.stdout.count('"access_token"') == 4 and done.stdout.count("are in") == 1 and not provider.reused,
       "of four that refresh at once none uses a token twice", done, provider.reused)
    done = place.call("run", "--login", provider.login, "--", "sh", "-c", f"python3 client.py {provider.place} 'use()'")
    ok("are in" in done.stdout, "what was refreshed was written back", done)
    # Another run has refreshed since this one began.
    run = Run(place, provider, "use()", "input()", "refresh()", "use()")
    run.result()
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "refresh()")
    run.type("go\r")
    run.result()
    ok("access_token" in run.result() and "are in" in run.result() and not provider.reused, "what another run has refreshed is not used again", done, provider.reused)
    run.wait()
    done = place.call("audit", "list", "--json")
    ok("vault.login:GH" in done.stdout and "vault.rotate:GH_REFRESH" in done.stdout and not any(v in done.stdout for v in provider.issued), "the log has it, without values")


def begun(place, provider, *steps):
    """A run that goes on meanwhile."""
    words = [secret.CORRAL, "run", "--login", provider.login, "--", "python3", "client.py", provider.place, *steps]
    return subprocess.Popen(words, cwd=place.path / "work", env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def runs(place, provider):
    """Several runs that refresh the same token at the same moment, and one that is killed while it does."""
    before, provider.meet = provider.n, threading.Barrier(2)
    both = [begun(place, provider, "refresh()") for _ in range(3)]
    said = [run.communicate(timeout=120) for run in both]
    provider.meet = None
    ok(provider.n == before + 3 and not provider.reused and all("access_token" in out for out, _ in said), "three runs refresh once each, and none uses a token twice",
       provider.reused, said)
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "use()", "refresh()", "use()")
    ok(done.stdout.count("are in") == 2 and not provider.reused, "the last one of the three is what the vault has", done)
    provider.arrived.clear()
    provider.goes_on.clear()
    provider.hangs = True
    first = begun(place, provider, "refresh()")
    ok(provider.arrived.wait(60), "a refresh is under way")
    second = begun(place, provider, "refresh()", "use()")
    first.kill()
    first.communicate(timeout=60)
    out, errors = second.communicate(timeout=120)
    provider.goes_on.set()
    ok("access_token" in out and "are in" in out, "the run that is under way is killed: the next one goes on", out, errors)


def gets(place, provider):
    """A code in a URL."""
    steps = [f"fetch('{path}?client_id=me&code=code-of-it')" for path in (PATH, "/other/token")]
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, *steps)
    ok("by POST alone" in done.stdout and "at another path" in done.stdout and not any(v in done.stdout for v in provider.issued),
       "a code that is exchanged by GET is refused by name, at the path of the login and at another", done)


def planted(place, provider):
    """What is no refresh is asked about, however it looks; and the tokens of other paths stay where they are."""
    rows = [("two kinds", "refresh(code='x')"), ("a query", "refresh(path='/oauth/token?grant_type=authorization_code&code=x')"),
            ("a name twice", "post('/oauth/token', [('grant_type','refresh_token'),('refresh_token',json.load(open(state))['refresh_token']),('grant_type','x')])"),
            ("a token of its own", "post('/oauth/token', {'grant_type': 'refresh_token', 'refresh_token': 'x', 'code': 'y'})")]
    for name, step in rows:
        before = provider.access
        done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, step)
        ok(("no terminal" in done.stdout or "invalid_grant" in done.stdout) and not any(v in done.stdout for v in provider.issued), f"{name}: no refresh", done)
        provider.access, provider.refresh = before, provider.refresh
    for path in ("/oauth//token", "/OAuth/Token", "/oauth/token/", "/%6fauth/token", "/oauth/token;x=1", "/other/../oauth/token"):
        done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, f"code('{path}')")
        ok("another way to write the path" in done.stdout and not any(v in done.stdout for v in provider.issued), f"{path} is refused", done)
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "code('/other/token')")
    ok("at another path" in done.stdout and not any(v in done.stdout for v in provider.issued), "tokens at another path are held back", done)
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place,
                      "post('/oauth/token', {'grant_type': 'urn:ietf:params:oauth:grant-type:token-exchange', 'subject_token': 'x'})")
    ok("exchanged" in done.stdout and not any(v in done.stdout for v in provider.issued), "an exchange of tokens is refused by name", done)


def answers(place, provider):
    """Forms of answers: those that are understood are rewritten, all others are refused."""
    for form in ("form", "chunks", "closes", "echo"):
        provider.form = form
        run = Run(place, provider, "code()", "use()", "str(heads)")
        ok("replaced" in run.asked(), f"{form}: what the vault has is replaced, as the question says")
        run.type("yes\r")
        t = run.result()
        ok(t and "access_token" in t and "are in" in run.result(), f"{form}: rewritten, and it works", t, run.text)
        ok(run.wait() == 0 and run.hidden(provider), f"{form}: no value was shown", run.all)
        if form == "echo":
            ok(t["again"] == "*" * len(provider.access) and set(t["hex"]) == {"*"}, "what is echoed beside it is overwritten", t)
    rows = {"gzip": "", "half": "", "huge": "1 MiB", "text": "neither JSON nor a form", "inner": "inner object", "twice": "name twice", "short": "shorter than 6",
            "lines": "visible"}
    for form, why in rows.items():
        provider.form = form
        done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "code()", "str(heads)")
        text = done.stdout + done.stderr
        ok(why in done.stdout and "error" in done.stdout and not any(v in text for v in provider.issued) and "value-of-it" not in text, f"{form}: refused", done)
    provider.form = "json"
    done = place.call("run", "--login", provider.login, "--", "python3", "client.py", provider.place, "post('/oauth/token', {'grant_type': 'error'})")
    ok("access_denied" in done.stdout, "an answer without tokens passes", done)


def search(place, provider):
    """All that the command can look at, while it runs with the tokens, and in the next run."""
    run = Run(place, provider, "code()", "use()", *["os.popen('sleep 60 & python3 search.py %s; kill $!' % input()).read()"] * 3)
    run.asked()
    run.type("yes\r")
    ok("access_token" in run.result() and "are in" in run.result(), "a login is there to be looked for", run.text)
    values = (provider.access, provider.refresh, provider.id.rpartition(".")[2])
    for value in values:
        run.type(value.encode().hex() + "\r")
        ok("looked True found []" in (run.result() or ""), "nothing that the command can look at has the value", run.text)
    run.wait()
    for value in values:
        done = place.call("run", "--login", provider.login, "--secret", "GH", "--", "sh", "-c",
                          f"python3 client.py {provider.place} 'use()'; sleep 60 & python3 search.py {value.encode().hex()}; kill $!")
        ok("are in" in done.stdout and "looked True found []" in done.stdout, "nor in the next run", done)
        text = "".join(p.read_text(errors="replace") for p in (place.path / "work").iterdir() if p.is_file())
        ok(value not in text, "nor has what it wrote")


def sources(place, provider):
    place.vault("set", "FROM", "--from", "file:/etc/hostname")
    done = place.call("run", "--login", f"FROM={provider.place}{PATH}", "--", "echo", "ran")
    ok(done.returncode == 125 and "comes from" in done.stderr and "ran" not in done.stdout, "a secret with a source is not replaced", done)
    done = place.call("run", "--login", provider.login, "--login", f"X={provider.place}/x", "--", "echo", "ran")
    ok(done.returncode == 125 and "one host" in done.stderr and "ran" not in done.stdout, "a host has one login in a run", done)
    done = place.call("run", "--mode", "rwx", "--login", provider.login, "--", "echo", "ran")
    ok(done.returncode == 125 and "--login" in done.stderr and "ran" not in done.stdout, "without a sandbox it is refused", done)


def stored(place, provider):
    """A stored policy that does not name the login's secret keeps it away."""
    file = place.path / "config/corral/policy.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    policy = {"default": "allow"}
    file.write_text(json.dumps(policy))
    done = place.call("run", "--login", provider.login, "--", "echo", "ran")
    ok(done.returncode == 126 and "policy.yaml does not grant it" in done.stderr and "ran" not in done.stdout, "a stored policy without secrets keeps a login away", done)
    # add secrets: {GH: {hosts: ["HOST:PORT"], in: [header]}}
    policy["secrets"] = {"GH": {"hosts": [provider.place], "in": ["header"]}}
    file.write_text(json.dumps(policy))
    done = place.call("run", "--login", provider.login, "--", "echo", "ran")
    ok(done.returncode == 0 and "ran" in done.stdout, "one with the line that was named does not", done)
    file.unlink()


CURSOR = bytes([27]) + b"[6n"


class GitHub(OAuth):
    """As much of a GitHub of one's own as `gh auth login` needs."""

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        s = self.server
        s.seen.append((self.command, self.path, self.headers.get("Authorization", "")))
        if self.path.startswith("/login/device/code"):
            self.raw(b"device_code=the-device&user_code=AB12-CD34&verification_uri=https%3A%2F%2Fx.example%2Fdevice&expires_in=900&interval=1",
                     "application/x-www-form-urlencoded")
        elif self.path.startswith("/login/oauth/access_token"):
            t = s.issue()
            self.raw(urllib.parse.urlencode({k: t[k] for k in ("access_token", "token_type", "scope")}).encode(), "application/x-www-form-urlencoded")
        elif self.path.startswith("/api/graphql") and self.headers.get("Authorization") == f"token {s.access}":
            self.send({"data": {"viewer": {"login": "octocat"}}} if raw else {})
        else:
            self.send({"message": "Bad credentials"}, 401)

    def do_GET(self):
        s = self.server
        sent = self.headers.get("Authorization", "")
        s.seen.append((self.command, self.path, sent))
        good = sent == f"token {s.access}"
        self.raw(json.dumps({"login": "octocat"} if good else {"message": "Bad credentials"}).encode(), "application/json", 200 if good else 401,
                 X_OAuth_Scopes="repo, read:org, gist, workflow")


class Screen(terminal.Terminal):
    """A terminal that says where its cursor is, which prompts ask."""

    def pump(self, seconds):
        before = len(self.text)
        more = super().pump(seconds)
        if CURSOR in self.text[before:]:
            os.write(self.master, CURSOR[:2] + b"9;1R")
        return more


def gh(place):
    """The real `gh auth login`: it takes hosts without a port alone."""
    if os.geteuid() != 0 or not shutil.which("gh", path=place.env["PATH"]):
        broker_tap.skip("gh auth login", "third-party cases not present: it needs gh, and root for port 443")
        return
    host = "127.77.0.1"
    (place.path / "ext").write_text(f"subjectAltName=IP:{host}\n")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    secret.openssl("req", *new, "-keyout", "key", "-out", "csr", "-subj", "/CN=x", cwd=place.path)
    secret.openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "crt", "-days", "2", "-extfile", "ext", cwd=place.path)
    (place.path / "gh.pem").write_text((place.path / "key").read_text() + (place.path / "crt").read_text())
    try:
        server = Provider(place.path / "gh.pem", (host, 443))
    except OSError as error:
        broker_tap.skip("gh auth login", f"third-party cases not present: port 443 of {host}: {error}")
        return
    server.RequestHandlerClass = GitHub
    login = f"GHE={host}:443/login/oauth/access_token"
    inside = f"export GH_CONFIG_DIR=$PWD/gh BROWSER=true; gh auth login --hostname {host} --git-protocol https --web --scopes repo"
    words = ["env", "-i", *(f"{k}={v}" for k, v in place.env.items()), "TERM=dumb", secret.CORRAL, "run", "--login", login, "--", "sh", "-c", inside]
    run, found = Screen(words, cwd=place.path / "work", columns=200), ""
    for _ in range(4):
        found = run.wait_for(r"answer: |Press Enter|[Yy]/[Nn][)] ") or ""
        if "answer: " in found:
            break
        run.type(b"\r")
    ok("answer: " in found, "gh auth login: the user is asked", found, run.text, server.seen)
    run.type("yes\r")
    status = run.wait()
    state = (place.path / "work/gh/hosts.yml")
    text = state.read_text() if state.exists() else ""
    ok(status == 0 and "octocat" in text and server.access not in text + run.text.decode(errors="replace") and "gho_" in text,
       "gh is logged in, with a placeholder in its file", status, run.text, text, server.seen)
    done = place.call("run", "--login", login, "--", "sh", "-c", f"GH_CONFIG_DIR=$PWD/gh gh api --hostname {host} user")
    ok("octocat" in done.stdout and server.access not in done.stdout, "and in the next run", done, server.seen[-3:])


def main():
    scratch = tempfile.mkdtemp(prefix="cl-")
    place = secret.Place(scratch)
    try:
        provider, api = Provider(place.path / "good.pem"), Provider(place.path / "good.pem")
        begin(place)
        refused(place, provider)
        t = device(place, provider, api)
        later(place, provider, t)
        runs(place, provider)
        gets(place, provider)
        planted(place, provider)
        answers(place, provider)
        search(place, provider)
        sources(place, provider)
        stored(place, provider)
        gh(place)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, AWS_PY=secret.aws.__file__, RUN_SECRET_PY=secret.__file__, RUN_TERMINAL_PY=terminal.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
