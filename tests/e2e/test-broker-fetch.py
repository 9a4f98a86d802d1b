#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetching by a broker, and its HTTP, from inside of `corral run`, with servers on loopback.

What is refused here is first done without a broker, so that it is known to work. As root it runs a
second time as an ordinary user.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from broker_tap import INSIDE, PORT, as_user, end, ok, skip

HERE = os.path.dirname(os.path.abspath(__file__))
ORIGIN = os.environ.get("ORIGIN") or os.path.join(HERE, "..", "broker", "origin.py")
PROGRAMS = ("CORRAL", "CORRAL_BROKER", "CORRAL_FETCH", "CORRAL_WARDEN")
PYTHON = "/usr/bin/python3"
CORRAL = os.path.abspath(os.environ["CORRAL"])
AGAIN = 20

class Servers:
    def __init__(self):
        self.child = subprocess.Popen([sys.executable, ORIGIN, scratch], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        self.plain, self.other, _ = map(int, self.child.stdout.readline().split())

    def log(self):
        try:
            with open(os.path.join(scratch, "log"), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)


def command(code, *options, broker="--broker"):
    words = [CORRAL, "run", *([broker] if broker else []), "--read", "/usr/**", "--write", work + "/**",
             "--cwd", work, *options, "--", PYTHON, "-c", INSIDE, code]
    return words


def inside(code, *options, broker="--broker"):
    r = subprocess.run(command(code, *options, broker=broker), capture_output=True, timeout=90,
                       stdin=subprocess.DEVNULL, cwd=work, check=False)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return [r.returncode, r.stderr.decode()]


def code_of(answer):
    return answer.get("error", {}).get("code") if isinstance(answer, dict) else answer


def curl(*words):
    return subprocess.run(["curl", "-s", "--max-time", "10", *words], capture_output=True, check=False).stdout


def test_fetching():
    url = f"http://localhost:{servers.plain}"
    out = inside(f"""
u = {url!r}
for name in ("network.http", "http_request"):
    out.append(call(name, url=u + "/hello"))
out.append(call("http_request", url=u + "/echo", method="POST", body="text", headers={{"X-One": "1"}}))
out.append(call("network.download", url=u + "/file", saveTo="file"))
out.append([os.path.getsize("file"), notes[0]["params"]["total"]])
out.append(call("http_request", url="http://localhost:{servers.other}/hello"))
out.append(call("network.http", url="http://localhost:{servers.other}/hello"))
""", "--net", f"localhost:{servers.plain}")
    ok(len(out) == 7, "a script inside fetches", out)
    if len(out) != 7:
        return
    for answer in out[:2]:
        ok(answer["result"]["status"] == 200 and answer["result"]["body"] == "hello\n" and
           answer["result"]["headers"]["x-word"] == "one", "status, headers and body", answer)
    ok("x-one: 1\n" in out[2]["result"]["body"] and out[2]["result"]["body"].endswith("\ntext"),
       "method, headers and body of a request", out[2])
    ok(out[3].get("result", {}).get("size") == 1 << 20 and out[4] == [1 << 20] * 2, "a download, with notes", out[3:5])
    ok(code_of(out[5]) == 1001, "AgenShield's code for what is not granted", out[5])
    ok(code_of(out[6]) == -32001, "Corral's code for it", out[6])


def test_redirects():
    secret = f"http://localhost:{servers.other}/hello?secret"
    start = f"http://localhost:{servers.plain}/redirect?to={secret}"
    ok(curl("-L", start) == b"hello\n" and "secret" in servers.log(), "a client that follows gets there")
    before = servers.log().count("\tGET\t/hello?secret")
    out = inside(f"out.append(call('http_request', url={start!r}))", "--net", f"localhost:{servers.plain}")
    ok(code_of(out[0]) == 1001, "the broker does not follow to a host that is not granted", out)
    ok(servers.log().count("\tGET\t/hello?secret") == before, "and nothing arrives there", servers.log())
    for to in ("http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/",
               "http://127.0.0.2:1/"):
        out = inside(f"out.append(call('network.http', url='http://localhost:{servers.plain}/redirect?to={to}'))",
                     "--net", f"localhost:{servers.plain}", "--net", "*")
        ok(code_of(out[0]) == -32001, f"nor to {to}, whatever names are granted", out)


def test_other_methods():
    """A host that may be read from only is not written to by way of another."""
    policy = os.path.join(work, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as f:
        f.write(f"fs: {{read: [/usr/**, {work}/**]}}\nnetwork: {{allow: ['localhost:{servers.plain}']}}\n"
                "rules:\n  - {id: read-only, action: allow, operations: [net.connect], methods: [GET],"
                f" patterns: ['http://localhost:{servers.other}/**']}}\n")
    to = f"http://localhost:{servers.other}/echo"
    start = f"http://localhost:{servers.plain}/redirect?code=307&to={to}"
    ok(curl("-L", "-X", "POST", "-d", "x", start).startswith(b"POST "), "a client that follows posts there")
    r = subprocess.run([CORRAL, "run", "--broker", "--policy", policy, "--cwd", work, "--", PYTHON, "-c", INSIDE, f"""
out.append(call("network.http", url={to!r}))
out.append(call("network.http", url={start!r}, method="POST", body="x"))
out.append(call("network.http", url={to!r}, method="DELETE"))
"""], capture_output=True, timeout=90, stdin=subprocess.DEVNULL, cwd=work, check=False)
    out = json.loads(r.stdout or "[]")
    ok(len(out) == 3 and out[0].get("result", {}).get("status") == 200, "what may be read is", out, r.stderr)
    ok(len(out) == 3 and code_of(out[1]) == -32001, "the broker does not post there", out)
    ok(len(out) == 3 and code_of(out[2]) == -32001, "nor does it delete", out)


def test_rebinding():
    """Names that are granted, and lead to where nothing is."""
    hosts = os.path.join(scratch, "hosts")
    with open(hosts, "w", encoding="utf-8") as f:
        f.write("127.0.0.1 localhost own.test\n169.254.169.254 meta.test\n10.1.2.3 private.test\n")
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    within = [*unshare, "sh", "-c", f"mount --bind {hosts} /etc/hosts && exec \"$@\"", "sh"]
    naive = subprocess.run([*within, "curl", "-s", "--max-time", "10", f"http://own.test:{servers.other}/hello"],
                           capture_output=True, check=False)
    if naive.returncode != 0:
        skip("names that lead to private addresses", "no mount namespace: " + naive.stderr.decode().strip())
        return
    ok(naive.stdout == b"hello\n", "a client without a broker reaches loopback by a name", naive)
    names = ("own.test", "meta.test", "private.test")
    code = "".join(f"out.append(call('network.http', url='http://{n}:{servers.other}/hello', timeout=9000))\n"
                   for n in names)
    code += f"out.append(call('network.http', url='http://localhost:{servers.plain}/redirect?to=" \
            f"http://own.test:{servers.other}/hello'))\n"
    # Back to back: the relay counts what repeats itself within a second.
    code += f"for _ in range({AGAIN}): out.append(call('network.http', url='http://own.test:{servers.other}/hello'))\n"
    r = subprocess.run([*within, *command(code, *[w for n in names for w in ("--net", f"{n}:{servers.other}")],
                                          "--net", f"localhost:{servers.plain}")],
                       capture_output=True, timeout=90, stdin=subprocess.DEVNULL, cwd=work, check=False)
    out = json.loads(r.stdout or "[]")
    for name, answer in zip(names, out):
        ok(code_of(answer) == -32001, f"{name} is refused, with the relay's reason", answer)
    ok(len(out) == 4 + AGAIN, "all were answered", r.stderr)
    ok(code_of(out[3]) == -32001, "so is a redirect to own.test", out[3])
    reasons = {a.get("error", {}).get("message") for a in [*out[:1], *out[4:]]}
    ok(len(reasons) == 1 and "own.test" in str(reasons) and "127.0.0.1" in str(reasons),
       f"and {AGAIN} calls in a row, each with the same reason", reasons)


def test_killed():
    """kill -9 of corral-fetch: the call fails, the next does not."""
    code = f"""
out.append(call("network.http", url="http://localhost:{servers.plain}/silent", timeout=60000))
out.append(call("network.http", url="http://localhost:{servers.plain}/hello"))
"""
    child = subprocess.Popen(command(code, "--net", f"localhost:{servers.plain}"), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work)
    victim = None
    for _ in range(1200):
        victim = next((p for p in descendants(child.pid) if name_of(p) == "corral-fetch"), None)
        if victim and "/silent" in servers.log():
            break
        time.sleep(0.05)
    if victim:
        os.kill(victim, signal.SIGKILL)
    stdout, stderr = child.communicate(timeout=120)
    out = json.loads(stdout or "[]")
    ok(len(out) == 2 and code_of(out[0]) in (-32005, -32603), "corral-fetch is killed: the call fails", out, stderr)
    ok(len(out) == 2 and out[1].get("result", {}).get("status") == 200, "and the next one works", out)


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def descendants(pid):
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as f:
                    children.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(entry))
            except OSError:
                pass
    found, left = [], [pid]
    while left:
        for child in children.get(left.pop(), []):
            found.append(child)
            left.append(child)
    return found


def test_http():
    url = f"http://localhost:{servers.plain}"
    with open(os.path.join(work, "a.txt"), "w", encoding="utf-8") as f:
        f.write("hello\n")
    out = inside(f"""
out.append(os.environ["SANDBOX_HTTP_URL"])
out.append(rpc("ping", echo="e"))
for name in ("http_request", "network.http"):
    out.append(rpc(name, url={url!r} + "/hello"))
for name in ("file_read", "fs.read"):
    out.append(rpc(name, path="a.txt"))
for name in ("file_list", "fs.list"):
    out.append(rpc(name, path="."))
for name in ("open_url", "browser.open"):
    out.append(rpc(name, url="http://a.example/"))
out.append(raw("GET /health HTTP/1.1\\r\\nHost: localhost:{PORT}\\r\\n\\r\\n"))
""", "--net", f"localhost:{servers.plain}", broker="--broker-http")
    ok(len(out) == 11 and out[0] == f"http://127.0.0.1:{PORT}/rpc", "HTTP is there", out)
    if len(out) != 11:
        return
    ok(out[1]["result"]["echo"] == "e", "ping by HTTP", out[1])
    ok(all(a["result"]["body"] == "hello\n" for a in out[2:4]), "http_request by HTTP, by both names", out[2:4])
    ok(all(a["result"]["content"] == "hello\n" for a in out[4:6]), "file_read by HTTP", out[4:6])
    ok(all("a.txt" in json.dumps(a["result"]) for a in out[6:8]), "file_list by HTTP", out[6:8])
    ok(code_of(out[8]) in (1001, 1005) and code_of(out[9]) in (-32001, -32005),
       "open_url by HTTP is the service's matter", out[8:10])
    ok(out[10].startswith("HTTP/1.1 200") and '"ok"' in out[10], "health", out[10])


def test_http_others():
    others = {"file_write": {"path": "b", "content": "x"}, "fs.write": {"path": "b", "content": "x"},
              "fs.stat": {"path": "a.txt"}, "fs.delete": {"path": "a.txt"}, "exec": {"command": "id"},
              "exec.run": {"command": "id"}, "env.get": {"name": "HOME"}, "secret_inject": {"name": "A"},
              "network.download": {"url": "http://localhost/", "saveTo": "b"},
              "policy_check": {"operation": "exec", "target": "id"}, "events_batch": {"events": []},
              "skill_install": {}, "Exec": {"command": "id"}, "exec ": {"command": "id"}}
    out = inside("".join(f"out.append(rpc({name!r}, **{params!r}))\n" for name, params in others.items()) +
                 "out.append(os.path.exists('b'))\nout.append(os.path.exists('a.txt'))\n", broker="--broker-http")
    ok(len(out) == len(others) + 2 and all("error" in a for a in out[:-2]), "all other methods are refused there", out)
    ok(out[-2:] == [False, True], "and did nothing", out)


def test_http_attacks():
    token = "Authorization: Bearer ' + os.environ['SANDBOX_TOKEN'] + '\\r\\n"
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    host, kind = f"Host: 127.0.0.1:{PORT}\\r\\n", "Content-Type: application/json\\r\\n"
    length = f"Content-Length: {len(ping)}\\r\\n"
    post = "POST /rpc HTTP/1.1\\r\\n"
    rows = {
        "the right one": (post + host + token + kind + length, 200),
        "no token": (post + host + kind + length, 401),
        "another token": (post + host + "Authorization: Bearer " + "0" * 64 + "\\r\\n" + kind + length, 401),
        "another host": (post + f"Host: evil.example:{PORT}\\r\\n" + token + kind + length, 403),
        "an origin": (post + host + "Origin: http://evil.example\\r\\n" + token + kind + length, 403),
        "the origin null": (post + host + "Origin: null\\r\\n" + token + kind + length, 403),
        "a form": (post + host + token + "Content-Type: text/plain\\r\\n" + length, 415),
        "two lengths": (post + host + token + kind + length + "Content-Length: 4\\r\\n", 400),
        "chunks": (post + host + token + kind + "Transfer-Encoding: chunked\\r\\n", 411),
        "chunks and a length": (post + host + token + kind + length + "Transfer-Encoding: chunked\\r\\n", 400),
        "a bare line feed": (post + host + token.replace("\\r\\n", "\\n") + kind + length, 400),
        "a huge head": (post + host + token + "X: " + "x" * 9000 + "\\r\\n" + kind + length, 431),
    }
    code = "".join(f"out.append(raw('{head}\\r\\n' + {ping!r}))\n" for head, _ in rows.values())
    # What looks like a second request in the body of a first is none.
    smuggled = f"GET /health HTTP/1.1\\r\\nHost: 127.0.0.1:{PORT}\\r\\n\\r\\n"
    code += f"out.append(raw('{post + host + token + kind}Content-Length: 3\\r\\nContent-Length: 90\\r\\n\\r\\n{{}} {smuggled}'))\n"
    out = inside(code, broker="--broker-http")
    ok(len(out) == len(rows) + 1, "all requests were answered", out)
    for (name, (_, status)), text in zip(rows.items(), out):
        ok(text.startswith(f"HTTP/1.1 {status} "), f"{name}: {status}", text)
    ok(out[-1].count("HTTP/1.1") == 1 and " 400 " in out[-1], "nothing behind a refused request is read", out[-1])


def test_http_is_inside():
    """Not on the host's loopback, not in another sandbox, not unless asked for; a token for each run."""
    child = subprocess.Popen(command("import time; print('up', flush=True); time.sleep(60)", broker="--broker-http"),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=work)
    child.stdout.readline()
    with socket.socket() as s:
        ok(s.connect_ex(("127.0.0.1", PORT)) != 0, "nothing listens on the host")
    out = inside("s = socket.socket()\nout.append(s.connect_ex(('127.0.0.1', %d)))\n"
                 "out.append(os.environ.get('SANDBOX_TOKEN'))" % PORT)
    ok(len(out) == 2 and out[0] != 0 and out[1] is None, "nor where HTTP was not asked for", out)
    child.kill()
    child.communicate()
    tokens = [inside("out.append(os.environ['SANDBOX_TOKEN'])", broker="--broker-http")[0] for _ in range(2)]
    ok(tokens[0] != tokens[1] and all(len(str(t)) == 64 for t in tokens), "each run has its own token", tokens)
    r = subprocess.run([CORRAL, "run", "--mode", "sandbox", "--data-dir", work, "--broker-http", "--", "true"],
                       capture_output=True, cwd=work, check=False)
    ok(r.returncode != 0 and b"the host's network" in r.stderr, "with the host's network it is refused", r)


scratch = tempfile.mkdtemp(prefix="corral-broker-")
work = os.path.join(scratch, "work")
os.mkdir(work)
servers = Servers()
try:
    for test in (test_fetching, test_redirects, test_other_methods, test_rebinding, test_killed, test_http,
                 test_http_others, test_http_attacks, test_http_is_inside):
        test()
    if os.geteuid() == 0 and "--once" not in sys.argv:
        as_user(__file__, PROGRAMS, ORIGIN=ORIGIN)
finally:
    servers.close()
    shutil.rmtree(scratch)
sys.exit(end())
