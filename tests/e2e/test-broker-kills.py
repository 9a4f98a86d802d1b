#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes of a broker are killed at random while a program inside makes calls: the sandbox goes on, calls are
answered or fail with -32603 or -32005, no file is half-written, no process is left. test-broker-kills.py [KILLS
[SEED]]; without numbers a short series. As root, once more as an ordinary user. Prints TAP."""

import contextlib
import ctypes
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from broker_tap import at_once, beside_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_FETCH")
CORRAL, PATIENCE = os.path.abspath(os.environ["CORRAL"]), 60
SDK = os.path.abspath(os.environ["SDK"])
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 24
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
KILLS_OF_ONE = 4  # of one session
SIZE = 200000

# Inside: calls until the file `stop` is there; then, what came of them.
LOAD = r"""
import collections, json, os, random, sys, threading, time
sys.path.insert(0, sys.argv[1])
import corral_broker
url, fetches, size = sys.argv[2], sys.argv[3] == "1", int(sys.argv[4])
outcomes, halves, went_on = collections.Counter(), [], 0
stop = False

def text(n):
    return chr(97 + n % 26) * size

def write(b, n):
    b.call("fs.write", path=os.getcwd() + "/out/written", content=text(n))

def read(b, n):
    if set(b.call("fs.read", path=os.getcwd() + "/file")["content"]) != {"f"}:
        halves.append("read")

def run(b, n):
    r = b.call("exec.run", command="echo", args=["hello"])
    if r["exitCode"] == 0 and r["stdout"] != "hello\n":
        halves.append(r)

def http(b, n):
    r = b.call("network.http", url=url)
    if len(r["body"]) != size:
        halves.append(len(r["body"]))

def download(b, n):
    b.call("network.download", url=url, saveTo=os.getcwd() + "/out/downloaded")

def calls(way):
    n = 0
    while not stop:
        n += 1
        try:
            with corral_broker.Client(timeout=60) as b:
                for _ in range(5):
                    way(b, n)
                    outcomes["answered"] += 1
        except corral_broker.BrokerError as e:
            # By whatever words: what is not one of these codes is shown.
            outcomes[str(e.code) if e.code in (-32603, -32005) else f"{way.__name__}: {e.code} {e}"] += 1
            time.sleep(0.005)

def look():
    while not stop:
        for name in ("written", "downloaded"):
            try:
                with open("out/" + name) as f:
                    data = f.read()
            except FileNotFoundError:
                continue
            if len(data) != size or len(set(data)) != 1:
                halves.append([name, len(data), len(set(data))])
        time.sleep(0.002)

threads = [threading.Thread(target=calls, args=[way]) for way in [write, read, run] + ([http, download] if fetches else [])]
threads.append(threading.Thread(target=look))
open("out/started", "w").close()
for t in threads:
    t.start()
while not os.path.exists("stop"):
    time.sleep(0.005)
stop = True
for t in threads:
    t.join(90)
print(json.dumps({"outcomes": outcomes, "halves": halves[:5], "hang": sum(t.is_alive() for t in threads)}), flush=True)
os._exit(0)
"""


class Server(http.server.BaseHTTPRequestHandler):
    """Slow enough to be killed at."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        try:
            for _ in range(4):
                self.wfile.write(b"d" * (SIZE // 4))
                time.sleep(0.01)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


def descendants(top):
    """pid -> name of all processes below one."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                line = file.read()
        except OSError:
            continue
        names[int(pid)] = line[line.index("(") + 1:line.rindex(")")]
        parents[int(pid)] = int(line[line.rindex(")") + 2:].split()[1])
    found, new = {}, {top}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new and pid not in found}
        found.update((pid, names[pid]) for pid in new)
    return found


class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-kills-"))
        for name in ("home", "work", "work/out"):
            os.mkdir(os.path.join(self.top, name))
        with open(self.top + "/work/file", "w", encoding="utf-8") as out:
            out.write("f" * SIZE)
        self.env = {**os.environ, "HOME": self.top + "/home"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CORRAL_AUDIT"):
            self.env.pop(name, None)

    def end(self):
        shutil.rmtree(self.top)


def is_whole(data):
    return len(data) == SIZE and len(set(data)) == 1


class Series:
    def __init__(self, port):
        self.port, self.random = port, random.Random(SEED)
        self.done, self.by_name, self.outcomes, self.odd = 0, {}, {}, []

    def kill(self, top):
        """One of them, if there is one now."""
        wanted = self.random.choice(("corral-front", "corral-front", "corral-broker", "corral-fetch", "corral-fetch", "corral-warden"))
        victims = [pid for pid, name in descendants(top).items() if name == wanted]
        if not victims:
            return
        try:
            os.kill(self.random.choice(victims), signal.SIGKILL)
        except ProcessLookupError:
            return
        self.by_name[wanted] = self.by_name.get(wanted, 0) + 1
        self.done += 1

    def session(self, scene):
        words = [CORRAL, "run", "--broker", "--read", "/usr/**", "--read", SDK + "/**", "--read", scene.top + "/work/**", "--write",
                 scene.top + "/work/out/**", "--net", f"localhost:{self.port}", "--", "/usr/bin/python3", "-c", LOAD, SDK + "/python",
                 f"http://localhost:{self.port}/", "1" if "CORRAL_FETCH" in os.environ else "0", str(SIZE)]
        with subprocess.Popen(words, cwd=scene.top + "/work", env=scene.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            # A broker that dies before its session stands ends the set-up, and nothing was run.
            until = time.monotonic() + PATIENCE
            while not os.path.exists(scene.top + "/work/out/started") and time.monotonic() < until and child.poll() is None:
                time.sleep(0.01)
            before, until = self.done, time.monotonic() + 10
            while self.done < min(before + KILLS_OF_ONE, KILLS) and time.monotonic() < until and child.poll() is None:
                self.kill(child.pid)
                time.sleep(self.random.uniform(0.005, 0.15))
            with open(scene.top + "/work/stop", "w", encoding="utf-8"):
                pass
            try:
                out, errors = child.communicate(timeout=3 * PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                out, errors = child.communicate()
        self.judge(scene, child.returncode, out, errors)

    def judge(self, scene, status, out, errors):
        try:
            said = json.loads(out)
        except ValueError:
            said = {}
        if status != 0 or not said or said["halves"] or said["hang"]:
            self.odd.append([status, said, errors.decode()[-500:]])
        for name, n in said.get("outcomes", {}).items():
            self.outcomes[name] = self.outcomes.get(name, 0) + n
        for name in set(os.listdir(scene.top + "/work/out")) - {"started", "written", "downloaded"}:
            with open(os.path.join(scene.top, "work/out", name), encoding="utf-8") as file:
                data = file.read()
            # What a download had received is kept beside its file, to be continued. A new file that is complete has a
            # name of its own for the moment before it takes the old one's place: the kernel has no call for both.
            if not name.startswith(".downloaded") and not (name.startswith(".corral-") and is_whole(data)):
                self.odd.append([name, len(data)])


def children_left():
    """What a session left comes to us."""
    for _ in range(1200):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        time.sleep(0.05)
    return list(descendants(os.getpid()).items())


def kill_all():
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.handle_error = lambda *_: None  # clients are killed
    threading.Thread(target=server.serve_forever, daemon=True).start()
    series = Series(server.server_port)
    print(f"# seed {SEED}", flush=True)
    while series.done < KILLS and not series.odd:
        scene = Scene()
        try:
            series.session(scene)
        finally:
            scene.end()
    left = children_left()
    server.shutdown()
    print("#", series.done, "killed:", series.by_name, "calls:", series.outcomes, flush=True)
    ok(series.done >= KILLS and not series.odd, "kills: the sandbox goes on, and nothing is half-written", *series.odd)
    ok(set(series.outcomes) <= {"answered", "-32603", "-32005"}, "kills: calls are answered, or fail with -32603 or -32005", series.outcomes)
    ok(series.outcomes.get("answered", 0) > KILLS, "kills: calls are answered again", series.outcomes)
    ok(not left, "kills: no process is left", left)


def main():
    with beside_user(__file__, PROGRAMS, SDK=SDK) if len(sys.argv) == 1 else contextlib.nullcontext():
        # In a process of its own: what a session left comes to it, and the other user's does not.
        at_once(kill_all)
    return end()


if __name__ == "__main__":
    sys.exit(main())
