#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Datagrams that a rule asks about, with a daemon and real servers: what waits, what an answer lets pass, and what does not.

    questions.py    prints TAP; CORRAL, CORRALD and the others of e2e/test-questions.py are in the environment

The world is that of run.py, with the servers that need no program. The tests run in it as root and as an ordinary user,
in a process of that user (--user): the servers' log is a file. Each user and each half of the tests has a world and a daemon
of its own, all at once (lanes.py).
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
QUESTIONS = os.environ.get("QUESTIONS") or os.path.join(HERE, "..", "e2e", "test-questions.py")
sys.path.insert(0, os.path.dirname(QUESTIONS))

import lanes
from broker_tap import end, ok
from servers import ZONE, Servers, bound, serve_names
from world import ATTACKER, ECHO, ECHO6, PATH, RESOLVER, World, accounts, enter

spec = importlib.util.spec_from_file_location("questions", QUESTIONS)
questions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(questions)
until, policy, Run = questions.until, questions.policy, questions.Run

# Ports: what is granted, asked about, and asked about beside that; of a name server, whose own port is always the relay's.
GRANTED, ASKED, OTHER, SPOOFED, FLOOD, NAMES = 7, 1007, 1008, 1009, 2000, 5353
TARGETS = (ECHO, f"[{ECHO6}]", "echo.example.com")


class Log:
    """What arrived at the servers from now on."""

    def __init__(self, path):
        self.path, self.start = path, os.path.getsize(path)

    def lines(self):
        # Both were sent before the echo's second answer, so they are in the log before that.
        for text in (b"first barrier", b"second barrier"):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(questions.PATIENCE)
                s.sendto(text, (ECHO, GRANTED))
                s.recv(64)
        with open(self.path, encoding="utf-8") as file:
            file.seek(self.start)
            return [json.loads(line) for line in file]

    def has(self, text):
        return any(text in line for line in self.lines())


def rules(place, *hosts):
    """A rule about the address of a name is not answered with the name."""
    patterns = [f"udp://{host}:{port}" for host in hosts or TARGETS[:2] for port in (ASKED, OTHER, SPOOFED, f"{FLOOD}-{FLOOD + 100}")]
    ask = {"id": "flows", "action": "ask", "operations": ["net.connect"], "patterns": [*patterns, f"udp://{RESOLVER}:{NAMES}", f"{ECHO}:{ASKED}"]}
    return policy(place, ask, network={"allow": [f"udp://{host}:{GRANTED}" for host in TARGETS]})


def start(place, *hosts):
    """A run whose questions wait for longer than any test takes."""
    run = Run(place, rules(place, *hosts), "--ask", "10m")
    run.joined()
    return run


def is_quiet(place):
    return until(lambda: not place.questions())


def answer(place, q, how, **more):
    return place.api("POST", "/api/questions/" + q["id"], {"answer": how, **more})[0]


def held(place, log):
    """By address of both families, and by name."""
    for host in TARGETS:
        run = start(place, host)
        ok(run.do(f"udp {host}:{GRANTED} granted") == "sent" and run.do("udp-receive") == "granted" and is_quiet(place), f"{host}: datagrams that are granted do not wait", run.lines)
        target = f"udp://{host}:{ASKED}"
        run.do(f"udp {host}:{ASKED} one {host}")
        q = place.question(target)
        ok(q and q["target"] == target and q["scopes"] == [target] and q["action"] == "net.connect" and "flows" in q["reason"], "one that a rule asks about is a question", q)
        run.do(f"udp-to {host}:{ASKED} two {host}")
        ok(len(place.questions()) == 1 and not log.has(f"one {host}") and not log.has(f"two {host}"), "it waits, and what follows it", place.questions())
        ok(answer(place, q, "once") == 200 and [run.do("udp-receive"), run.do("udp-receive")] == [f"one {host}", f"two {host}"], "once: they go out in order, and are answered", run.lines)
        ok(run.do(f"udp-to {host}:{ASKED} three") == "sent" and run.do("udp-receive") == "three" and is_quiet(place), "the flow goes on", run.lines)
        run.do(f"udp-to {host}:{OTHER} elsewhere {host}")
        q = place.question(f"udp://{host}:{OTHER}")
        ok(q and not log.has(f"elsewhere {host}"), "the same socket to another port asks anew", q)
        ok(answer(place, q, "deny") == 200 and run.do("udp-receive") == "ConnectionRefusedError", "deny: the sender gets an error", run.lines)
        run.do(f"udp {host}:{OTHER} again {host}")
        ok(run.do("udp-receive") == "ConnectionRefusedError" and is_quiet(place) and not log.has(f"again {host}"), "it is not asked again at once", run.lines)
        run.do(f"udp {host}:{ASKED} four {host}")
        q = place.question(target)
        ok(q and not log.has(f"four {host}"), "another flow to the first port asks anew", q)
        run.end()
    ok(is_quiet(place) and not log.has("four"), "a sandbox that ends takes its question along", place.questions())


def grants(place, log):
    """A grant is for all flows to that destination, which end with it."""
    run = start(place)
    target = f"udp://{ECHO}:{ASKED}"
    run.do(f"udp {ECHO}:{ASKED} a")
    done = place.corral("questions", "allow", place.question(target)["id"], "--for", "always")
    ok(done.returncode == 0 and run.do("udp-receive") == "a", "corral questions allow", done.stderr, run.lines)
    ok(run.do(f"udp {ECHO}:{ASKED} b") == "sent" and run.do("udp-receive") == "b" and is_quiet(place), "another flow does not ask", run.lines)
    done = place.corral("grants", "remove", place.api("GET", "/api/grants")[1]["grants"][0]["id"])
    ok(done.returncode == 0 and run.do("udp-receive") == "ConnectionRefusedError", "corral grants remove: the flow ends", done.stderr, run.lines)
    run.do(f"udp-to {ECHO}:{ASKED} revoked")
    q = place.question(target)
    ok(q and not log.has("revoked"), "its next datagram asks", q)
    got = run.do("udp-receive") if answer(place, q, "allow", seconds=8) == 200 else ""
    # A machine may be too slow to let it pass in time.
    got = run.do("udp-receive") if got == "revoked" else got
    ok(got == "ConnectionRefusedError", "a grant for eight seconds: the flow ends with it", got)
    run.do(f"udp {ECHO}:{ASKED} expired")
    q = place.question(target)
    ok(q and not log.has("expired"), "then it is asked again", q)
    tcp = run.begin(f"connect {ECHO}:{ASKED}")
    other = until(lambda: next((one for one in place.questions() if one["target"] == f"{ECHO}:{ASKED}"), None))
    ok(other and answer(place, other, "once") == 200 and run.answer(tcp) == "x" and not log.has("expired"), "an answer about TCP is none about datagrams", other, run.lines)
    run.end()


def spoofing(place, log):
    """Answers from another port, and from another host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(questions.PATIENCE)
        s.sendto(b"bare", (ECHO, SPOOFED))
        got = {s.recvfrom(64)[0] for _ in range(3)}
    ok(got == {b"spoofed by port", b"spoofed by host", b"real"}, "bare, a socket takes datagrams from all senders", got)
    run = start(place)
    run.do(f"udp {ECHO}:{SPOOFED} x")
    answer(place, place.question(f":{SPOOFED}"), "once")
    got = [run.do("udp-receive")]
    run.do(f"udp-to {ECHO}:{SPOOFED} y")
    got.append(run.do("udp-receive"))
    ok(got == ["real", "real"], "inside, only those of whom it was sent to", got)
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04echo\x07example\x03com\x00\x00\x01\x00\x01"
    run.do(f"udp {RESOLVER}:{NAMES} hex:{query.hex()}")
    q = place.question(f"udp://{RESOLVER}:{NAMES}")
    ok(q and not log.has("asked query"), "a query to a name server that a rule asks about", q)
    got = run.do("udp-receive") if answer(place, q, "once") == 200 else ""
    ok(got.startswith("\x12\x34") and socket.inet_aton(ECHO).decode("latin-1") in got, "once: it has its answer", repr(got))
    run.end()


def floods(place, log):
    run = start(place)
    for host, first in ((ECHO, FLOOD), (ECHO6, FLOOD + 40)):
        refused = run.do(f"udp-flood {host} {first} 40 {32 if host == ECHO else 40}")
        ok(refused == (32 if host == ECHO else 40) and until(lambda: len(place.questions()) == 8), "a flood of targets: eight wait, the others are refused", refused, len(place.questions()))
    ok(run.do(f"udp {ECHO}:{GRANTED} through") == "sent" and run.do("udp-receive") == "through", "what is granted passes meanwhile", run.lines)
    waits = run.begin(f"connect {ECHO}:{ASKED}")
    q = place.question(f"{ECHO}:{ASKED}")
    ok(q and answer(place, q, "once") == 200 and run.answer(waits) == "x", "connections ask meanwhile, and are answered", q, run.lines)
    first = place.question(f"udp://{ECHO}:{FLOOD}")
    ok(first and answer(place, first, "once") == 200 and until(lambda: log.has("flood")), "the first question is still there, and its answer lets it pass", first)
    run.end()


def ends(place, log):
    run = Run(place, rules(place), "--ask", "1s")
    run.joined()
    run.do(f"udp {ECHO}:{ASKED} late")
    got = run.do("udp-receive")
    said = run.end()
    ok(got == "ConnectionRefusedError" and "in time" in said and not log.has("late"), "no answer: refused after the stated time", got, said)
    run = start(place)
    run.do(f"udp {ECHO}:{ASKED} killed")
    q = place.question(f":{ASKED}")
    place.kill()
    place.start()
    again = place.question(f":{ASKED}")
    ok(again and again["target"] == q["target"] and answer(place, again, "once") == 200 and run.do("udp-receive") == "killed", "a daemon that was killed: the next one has the question", again, run.lines)
    run.end()
    place.kill()
    questions.remove(place.path + "/run/corral")
    run = Run(place, rules(place, *TARGETS))
    for host in TARGETS:
        run.do(f"udp {host}:{ASKED} alone")
        got = run.do("udp-receive")
        ok(got == "ConnectionRefusedError" and not log.has("alone"), f"{host}: without a daemon it is refused at once", got)
    ok(run.do(f"udp {ECHO}:{GRANTED} granted") == "sent" and run.do("udp-receive") == "granted", "what is granted passes", run.lines)
    run.end()
    place.start()


# A grant is waited for until it ends, which takes as long as all the others.
HALVES = {"grants": (grants,), "flows": (held, spoofing, floods, ends)}


def test_user(path, half):
    place = questions.Place()
    try:
        place.start()
        for test in HALVES[half]:
            test(place, Log(path))
    finally:
        place.end()
    return end()


# -- the world --

class LoggedServers(Servers):
    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w", encoding="utf-8")

    def note(self, server, what, text=b""):
        super().note(server, what, text)
        text = text if isinstance(text, str) else text.decode("latin-1")
        print(json.dumps(f"{server} {what} {text}"), file=self.file, flush=True)

    def spoof(self, where, others):
        """Answers each datagram, after others have answered in its place."""
        answers = [*((bound(socket.SOCK_DGRAM, other), text) for other, text in others), (bound(socket.SOCK_DGRAM, where), b"real")]

        def ready(sock):
            peer = sock.recvfrom(65536)[1]
            for other, text in answers:
                other.sendto(text, peer)
        self.watch(answers[-1][0], ready)


def make_servers(world):
    servers = LoggedServers(world.path("log"))
    with world.internet.inside():
        serve_names(servers, "names", (RESOLVER, 53), ZONE)
        serve_names(servers, "asked", (RESOLVER, NAMES), ZONE)
        for address in (ECHO, ECHO6):
            for port in (GRANTED, ASKED, OTHER):
                servers.echo((address, port))
        servers.datagrams("flood", (ECHO, FLOOD), lambda data: data)
        servers.spoof((ECHO, SPOOFED), (((ECHO, SPOOFED + 1), b"spoofed by port"), ((ATTACKER, SPOOFED), b"spoofed by host")))
    servers.start()
    return servers


def copy_programs(world):
    """Copies what the tests need, since only root may be able to read the build folder. Returns their environment."""
    env = {**os.environ, "PATH": PATH, "QUESTIONS": world.path("pub/test-questions.py")}
    for name in (name for name in questions.PROGRAMS if os.path.exists(os.environ.get(name, ""))):
        env[name] = shutil.copy(os.environ[name], world.path("pub"))
    for name in (os.path.abspath(__file__), *(os.path.join(HERE, name) for name in ("lanes.py", "servers.py", "world.py")), QUESTIONS,
                 os.path.join(os.path.dirname(QUESTIONS), "broker_tap.py")):
        shutil.copy(name, world.path("pub"))
    subprocess.run(["chmod", "-R", "a+rX", world.path("pub")], check=True)
    return env


def test_account(world, account, half, env):
    done = subprocess.run([*account.prefix(), sys.executable, world.path("pub/questions.py"), "--user", world.path("log"), half],
                          env={**env, "HOME": "/"}, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = done.stdout.splitlines()
    ok(done.returncode == 0 and lines, f"datagrams that a rule asks about, {half}, as {account.name}", *[line for line in lines if not line.startswith("ok ")])


def test_world(name, half):
    world, servers = World(), None
    try:
        servers = make_servers(world)
        env = copy_programs(world)
        test_account(world, next(account for account in accounts() if account.name == name), half, env)
    finally:
        if servers:
            servers.end()
        world.end()
    return end()


def main():
    if sys.argv[1:2] == ["--user"]:
        return test_user(*sys.argv[2:])
    if sys.argv[1:2] == ["--lane"]:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all is taken down
        return test_world(*sys.argv[2:])
    if not shutil.which("ip", path=PATH):
        print("1..0 # SKIP not installed: ip (see tools/setup net)")
        return 0
    why = enter([os.path.abspath(__file__)])
    doctor = subprocess.run([questions.CORRAL, "doctor"], capture_output=True, text=True, check=False).stdout
    if not why and re.search(r"^  no +nf_tables", doctor, re.MULTILINE):
        why = "no nf_tables"
    if why:
        print(f"1..0 # SKIP kernel: {why}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return lanes.run([(f"{half}, as {account.name}", [os.path.abspath(__file__), "--lane", account.name, half])
                      for account in accounts() for half in HALVES])


if __name__ == "__main__":
    sys.exit(main())
