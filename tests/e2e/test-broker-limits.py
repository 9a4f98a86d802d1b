#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A limit of a session is one limit: what exec.run starts and what is fetched count with the command. Each
attack goes past a limit by many calls, and is first shown to work in a session without that limit. As root,
once more as an ordinary user. Prints TAP."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from broker_tap import at_once, beside_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_FETCH")
CORRAL, PATIENCE = os.path.abspath(os.environ["CORRAL"]), 300
PYTHON = "/usr/bin/python3"

# Inside: calls at once, each on a connection of its own; prints the answers as JSON.
INSIDE = r"""
import json, os, select, socket, subprocess, sys, threading, time

def begin(called, /, **params):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["SANDBOX_SOCKET"])
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": called, "params": params}).encode() + b"\n")
    return s.makefile()

def call(called, /, **params):
    return json.loads(begin(called, **params).readline())

def at_once(n, program, seconds, most):
    # n programs that have theirs at the same time, and keep it until those that were not ended have no more than `most`,
    # and for so many seconds; some may be ended then.
    has, answers = {}, {}
    p = [begin("exec.run", command="/usr/bin/python3", args=["-c", program, str(i)], timeout=110000) for i in range(n)]
    end = time.monotonic() + 100
    while time.monotonic() < end:
        for i in set(range(n)) - set(answers):
            if select.select([p[i]], [], [], 0)[0]:
                answers[i] = json.loads(p[i].readline())
        has = {i: int(open(f"has-{i}").read()) for i in range(n) if os.path.exists(f"has-{i}")}
        if len(set(has) | set(answers)) == n and sum(has[i] for i in range(n) if i not in answers) <= most:
            break
        time.sleep(0.05)
    time.sleep(seconds)
    open("go", "w").close()
    return [answers.get(i) or json.loads(p[i].readline()) for i in range(n)]

out = []
exec(sys.argv[1])
print(json.dumps(out))
"""

# Programs of exec.run. They say when they have what they want, and hold it until they may go on.
WAIT = ("open('new-' + sys.argv[1], 'w').write(str(n)); os.rename('new-' + sys.argv[1], 'has-' + sys.argv[1])\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n")
HOLD = "import os, sys, time; n = %d; b = bytearray(n << 20); b[::4096] = b'x' * len(b[::4096])\n" + WAIT + "print('held')"
FORK = ("import os, sys, time\nn = 1\nfor i in range(%d):\n    try:\n        if os.fork() == 0: time.sleep(300)\n        n += 1\n"
        "    except OSError: break\n" + WAIT + "print('held', n, flush=True); os.kill(0, 9)")
CHECKED = 4  # seconds in which a limit is looked at where the kernel does not keep it


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = []

    def do_GET(self):
        Server.requests.append(self.path)
        body = b"x" * int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass
        self.close_connection = True

    def log_message(self, *_):
        pass


class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-limits-"))
        for name in ("home", "work"):
            os.mkdir(os.path.join(self.top, name))
        self.env = {**os.environ, "HOME": self.top + "/home"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CORRAL_AUDIT"):
            self.env.pop(name, None)

    def inside(self, code, *options):
        for name in os.listdir(self.top + "/work"):
            os.unlink(f"{self.top}/work/{name}")
        done = subprocess.run([CORRAL, "run", "--broker", "--read", "/usr/**", *options, "--", PYTHON, "-c", INSIDE, code],
                              cwd=self.top + "/work", env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return [[done.returncode, done.stderr.decode()]]

    def end(self):
        shutil.rmtree(self.top)


def held(answers):
    return [a for a in answers if isinstance(a, dict) and "held" in a.get("result", {}).get("stdout", "")]


def processes(answers):
    return sum(int(a["result"]["stdout"].split()[1]) for a in held(answers))


def many(n, program, seconds=0, most=1 << 30):
    return f"out += at_once({n}, {program!r}, {seconds}, {most})\n"


def test_memory(scene):
    free = scene.inside(many(4, HOLD % 90))
    ok(len(held(free)) == 4, "memory: without a limit four programs hold 90 MB each", free)
    one = scene.inside(many(4, HOLD % 90, CHECKED, 160), "--memory", "160M")
    ok(len(one) == 4 and len(held(one)) == 1, "memory: of four programs one has room below 160 MB", one)


def test_left(scene):
    """The command itself counts, and is not the one that gives way."""
    command = "b = bytearray(100 << 20)\nb[::4096] = b'x' * len(b[::4096])\ntime.sleep(0.3)\n"
    both = scene.inside(command + many(1, HOLD % 90, CHECKED, 60) + "out.append('the command went on')\n", "--memory", "160M")
    ok(both[-1] == "the command went on" and not held(both), "memory: a program has what its command left", both)
    refused = scene.inside("b = bytearray(150 << 20)\nb[::4096] = b'x' * len(b[::4096])\ntime.sleep(0.3)\n" +
                           "p = begin('exec.run', command='sleep', args=['0.2'])\n" +
                           "out.append(json.loads(p.readline()))\n", "--memory", "160M")
    ok(isinstance(refused[0], dict), "memory: a session near its limit goes on", refused)


def test_processes(scene):
    free = scene.inside(many(4, FORK % 15))
    ok(processes(free) == 64, "pids: without a limit four programs have 16 processes each", free)
    one = scene.inside(many(4, FORK % 15, CHECKED, 24), "--pids", "24")
    ok(len(one) == 4 and 1 <= processes(one) <= 24, "pids: with a limit of 24 all of them have 24 at most", one)
    # Once the limit is reached, a call is refused, and the refusal names it. It is counted now and then.
    used = ("p = [subprocess.Popen(['sleep', '600']) for _ in range(9)]\nend = time.monotonic() + 60\nanswer = {}\n"
            "while answer.get('error', {}).get('code') != -32003 and time.monotonic() < end:\n    time.sleep(0.2)\n"
            "    answer = call('exec.run', command='sleep', args=['0'])\nout.append(answer)\nfor c in p: c.kill()\n")
    refused = scene.inside(used, "--pids", "10")[0]
    ok(isinstance(refused, dict) and refused.get("error", {}).get("code") == -32003 and "pids" in refused["error"]["message"],
       "pids: at the limit exec.run is refused with -32003", refused)


def fetches(port, how, size):
    program = f"import urllib.request; print(len(urllib.request.urlopen('http://localhost:{port}/{size}').read()))"
    return {"command": f"try:\n    import urllib.request\n    out.append(len(urllib.request.urlopen('http://localhost:{port}/{size}')"
                       ".read()))\nexcept Exception as e: out.append(str(e))\n",
            "exec.run": f"out.append(call('exec.run', command={PYTHON!r}, cwd='/usr', args=['-c', {program!r}]))\n",
            "http": f"out.append(call('network.http', url='http://localhost:{port}/{size}'))\n"}[how]


def bytes_of(answer):
    """How many bytes came, whichever way."""
    if isinstance(answer, int):
        return answer
    result = answer.get("result", {}) if isinstance(answer, dict) else {}
    return len(result.get("body", "")) or (int(result["stdout"]) if result.get("stdout", "").strip().isdigit() else 0)


WAYS = ("command", "exec.run", "http") if "CORRAL_FETCH" in os.environ else ("command", "exec.run")


def test_bytes(scene, port):
    size = 60000
    policy = scene.top + "/policy.json"
    for first in WAYS:
        code = fetches(port, first, size) + "".join(fetches(port, how, size) for how in WAYS)
        free = scene.inside(code, "--net", f"localhost:{port}")
        ok([bytes_of(a) for a in free] == [size] * (1 + len(WAYS)), f"max_bytes: without it all get theirs, {first} first", free)
        with open(policy, "w", encoding="utf-8") as out:
            json.dump({"fs": {"read": ["/usr/**"]}, "network": {"allow": [f"localhost:{port}"], "max_bytes": 100000}}, out)
        limited = scene.inside(code, "--policy", policy)
        ok(len(limited) == 1 + len(WAYS) and bytes_of(limited[0]) == size and sum(map(bytes_of, limited)) <= 100000,
           f"max_bytes: {first} first, the others have the rest of it", limited)


def test_rate(scene, port):
    policy = scene.top + "/policy.json"
    with open(policy, "w", encoding="utf-8") as out:
        json.dump({"fs": {"read": ["/usr/**"]}, "network": {"allow": [f"localhost:{port}"], "rate_limit": "4/hour"}}, out)
    code = "".join(fetches(port, how, 7) for how in WAYS) * 3
    limited = scene.inside(code, "--policy", policy)
    ok(len(limited) == 3 * len(WAYS) and [bytes_of(a) for a in limited] == [7] * 4 + [0] * (len(limited) - 4),
       "rate_limit: four connections in all, whichever way", limited)
    if "http" in WAYS:
        refused = [a for a in limited if isinstance(a, dict) and a.get("error", {}).get("code") == -32003]
        ok(refused and "4 connections in 3600 s" in refused[0]["error"]["message"], "rate_limit: a call that is refused says so", limited)


def test_fetching(scene, port):
    """What fetches counts, too: where nothing is left it is ended, and the answer names the limit."""
    used = "p = [subprocess.Popen(['sleep', '30']) for _ in range(8)]\ntime.sleep(1.2)\n" + fetches(port, "http", 7)
    answer = scene.inside(used + "for c in p: c.kill()\n", "--net", f"localhost:{port}", "--pids", "9")[0]
    ok(bytes_of(answer) == 7 or (isinstance(answer, dict) and answer.get("error", {}).get("code") == -32003 and "pids" in str(answer)),
       "pids: a request is answered, or refused with -32003", answer)


def test_rates(scene, port):
    """Of several policies each has its rate, in all sandboxes: none is the stricter of 3/hour and 4/day."""
    words = []
    for name, rate in (("a", "3/hour"), ("b", "4/day")):
        path = f"{scene.top}/{name}.json"
        words += ["--policy", path]
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"fs": {"read": ["/usr/**"]}, "network": {"allow": [f"localhost:{port}"], "rate_limit": rate}}, out)
    limited = scene.inside(fetches(port, "exec.run", 7) * 2 + fetches(port, "command", 7) * 2, *words)
    ok([bytes_of(a) for a in limited] == [7, 7, 7, 0], "rate_limit: of two policies both hold in all sandboxes", limited)


def in_scene(test, *more):
    scene = Scene()
    try:
        test(scene, *more)
    finally:
        scene.end()


def test_network():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for test in [test_bytes, test_rate, test_rates] + ([test_fetching] if "http" in WAYS else []):
        in_scene(test, server.server_port)
    server.shutdown()


def main():
    with beside_user(__file__, PROGRAMS):
        at_once(*[lambda test=test: in_scene(test) for test in (test_memory, test_left, test_processes)], test_network)
    return end()


if __name__ == "__main__":
    sys.exit(main())
