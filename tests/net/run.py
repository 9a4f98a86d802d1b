#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network as programs meet it: real clients and servers, through `corral run`.

    run.py --programs FOLDER [--corral PROGRAM] [--only WORD] [--parts PARTS] [--users USERS] [--bare] [--verbose]
                              prints TAP

FOLDER has the programs that meson built of inside/*.c. What is tested is the whole of it: a policy,
the sandbox that it becomes, the relay, and programs that know nothing of all this.

The suite goes into namespaces of its own and makes a small internet there (world.py): public and
private addresses, a name server whose log shows what was asked for, a web server with an authority
of its own, git over https and ssh, PostgreSQL, Redis, gRPC, echoes, and sinks that remember who
came to them, also on the host's loopback and on the address of cloud metadata. Nothing reaches the
machine's own network, and no test needs root; as root everything is done twice, as root and as
an ordinary user. Each user and each kind of tests has a small internet of its own, and all of them
are tested at once (lanes.py).

There are two kinds of tests:

    clients.py   each client as it is, bare and inside. Granted, it must do inside what it does
                 bare; otherwise it must fail at once, see nothing, and the caller must be told.
    attacks/     each way around the list of hosts. Where the thing can work at all, it is shown to
                 work bare. Inside, the servers' logs decide, not what the attacker says.

So a pass means something: a client that cannot reach its server bare is a failure of the suite, and
an attack that has no effect bare proves nothing, and is a failure, too.

"At once" is bounded, not measured: no client has a timeout below a minute, and what takes ten
seconds is killed, and has failed.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import attacks
import clients
import lanes
from daemons import Daemons
from scene import SECONDS, Scene
from servers import ZONE, Servers, serve_names
from world import (ATTACKER, ATTACKER6, ECHO, ECHO6, METADATA, NAT64_LOOPBACK, NAT64_PRIVATE,
                   OPEN_RESOLVER, PATH, PRIVATE, RESOLVER, World, accounts, enter,
                   others_here)

HERE = os.path.dirname(os.path.abspath(__file__))
# What tools/setup net installs. Without the servers there is no test, without a client not its own.
SERVERS = ("nginx", "sshd", "redis-server", "ip", "git", "openssl", "curl")
# They make a static client before anything runs, so they may be wherever the caller has them.
COMPILERS = {"go", "musl-gcc"}
CLIENTS = {"wget", "node", "go", "musl-gcc", "ssh", "psql", "redis-cli"}
OTHER_HOST = "unrelated.example.com:443"


class Tap:
    def __init__(self, verbose):
        self.number = self.failures = 0
        self.verbose = verbose

    def say(self, wrong, name, results=(), skip=None):
        """wrong: sentences; none of them is a pass. results: (head, Result), shown if it failed."""
        self.number += 1
        self.failures += bool(wrong)
        line = f"{'not ok' if wrong else 'ok'} {self.number} - {name}"
        print(line + (f" # SKIP {skip}" if skip else ""), flush=True)
        for text in wrong:
            self.note("wrong", text)
        for head, result in results if wrong or self.verbose else ():
            self.note(head, f"status {result.status}, {result.seconds:.1f} s")
            self.note(head + " out", result.out)
            self.note(head + " err", result.err)

    @staticmethod
    def note(head, text):
        for line in text.splitlines():
            shown = line if line.isprintable() else repr(line)
            print(f"# {head}: {shown}"[:400], flush=True)


# -- clients --

def find(name):
    return shutil.which(name, path=PATH) or (shutil.which(name) if name in COMPILERS else None)


def missing(row):
    names = [name for name in row.needs if not find(name)]
    return " ".join(names)


def fill(row, host):
    """What is in braces, but for the scene's own, which it fills itself."""
    return row.run.replace("{host}", host).replace("{port}", str(row.port))


def grant(row, port=None):
    return f"{'udp://' * row.udp}{row.host}:{port or row.port}"


# The four ways not to be granted: name, what the client asks for, grants.
WAYS = (
    ("another host", lambda r: r.host, lambda r: [OTHER_HOST]),
    ("another port", lambda r: r.host, lambda r: [grant(r, 1)]),
    ("its address", lambda r: r.literal, lambda r: [grant(r)]),
    ("no network", lambda r: r.host, lambda r: []),
)


def judge_granted(row, bare, inside):
    wrong = []
    if bare.status != 0 or row.see not in bare.out:
        wrong.append(f"bare it does not work (status {bare.status})")
    if inside.late:
        wrong.append("inside it hangs")
    if (inside.status, inside.out, inside.err) != (bare.status, bare.out, bare.err + row.says):
        wrong.append("inside it does something else than bare")
    wrong += [f"told of a denial: {d.target}" for d in inside.denials]
    return wrong


def judge_denied(row, way, host, result):
    wrong = []
    if result.late:
        wrong.append(f"it does not fail within {SECONDS} s")
    if result.status == 0:
        wrong.append("its status says that it worked")
    if result.status == 125:
        wrong.append("Corral did not run it at all")
    if row.see in result.out:
        wrong.append("it saw the answer")
    name = host.strip("[]") if host.startswith("[") else host.encode("idna").decode()
    if way != "no network" and not any(name in d.target for d in result.denials):
        wrong.append(f"no record of a denial names {name}")
    return wrong


def test_client(row, scene, tap_lines, bare_only):
    """Appends what is to be said; the order in which rows end is not that of the output."""
    bare = scene.run(fill(row, row.host))
    literal = scene.run(fill(row, row.literal))
    works = literal.status == 0 and row.see in literal.out
    if bare_only:
        tap_lines.append((judge_granted(row, bare, bare), row.name, [("bare", bare)]))
        tap_lines.append(([] if works else ["bare, its address does not work"],
                          f"{row.name}, its address", [("bare", literal)]))
        return
    inside = scene.run(fill(row, row.host), [grant(row), *row.extra])
    tap_lines.append((judge_granted(row, bare, inside), f"{row.name}: granted",
                      [("bare", bare), ("inside", inside)]))
    for way, host, grants in WAYS:
        result = scene.run(fill(row, host(row)), [*grants(row), *row.extra])
        wrong = judge_denied(row, way, host(row), result)
        if way == "its address" and not works:
            wrong.append("bare it does not work by address")
        tap_lines.append((wrong, f"{row.name}: {way}", [("inside", result)]))


def test_clients(scene, tap, options):
    rows = [row for row in clients.ROWS if options.only in row.name]
    here = [row for row in rows if not missing(row)]
    lines = [[] for _ in here]
    # Those that wait are first, beside the others.
    order = sorted(zip(here, lines), key=lambda pair: not pair[0].waits)
    waiting = sum(row.waits for row in here)
    with concurrent.futures.ThreadPoolExecutor((os.cpu_count() or 1) + waiting) as pool:
        list(pool.map(lambda pair: test_client(pair[0], scene, pair[1], options.bare), order))
    for row in rows:
        lacks = missing(row)
        if CLIENTS.intersection(lacks.split()):
            tap.say([], row.name, skip=f"not installed: {lacks} (see tools/setup net)")
        elif lacks:
            print(f"# not installed, no test: {row.name}: {lacks}")
    for wrong, name, results in (line for part in lines for line in part):
        tap.say(wrong, f"{name} ({scene.account.name})", results)


# -- attacks --

def test_attacks(scene, servers, tap, options):
    for attack in attacks.ALL:
        if options.only not in attack.name:
            continue
        stage = attacks.Stage(scene, servers, options.bare)
        attack.function(stage)
        if options.bare and not stage.results:
            continue  # there is nothing to show
        tap.say(stage.wrong, f"{attack.name} ({scene.account.name})", stage.results)


# -- the world --

def make_servers(world):
    servers = Servers()
    with world.internet.inside():
        serve_names(servers, "names", (RESOLVER, 53), ZONE)
        serve_names(servers, "open names", (OPEN_RESOLVER, 53), ZONE)
        for address in (ATTACKER, ATTACKER6):
            serve_names(servers, "evil names", (address, 53), ZONE)
            serve_names(servers, "evil names", (address, 5353), ZONE)
            for port in (1, 22, 80, 443, 4444):
                servers.sink("attacker", (address, port))
            servers.datagram_sink("attacker", (address, 4444))
        for address in (ECHO, ECHO6):
            servers.echo((address, 7))
            servers.stream("first", (address, 4443), lambda data: (b"", False))
            servers.stream("discard", (address, 9), lambda data: (b"", True))
            servers.time((address, 123))
        for name, address in (("metadata", METADATA), ("private", PRIVATE),
                              ("nat64", NAT64_LOOPBACK), ("nat64", NAT64_PRIVATE)):
            servers.sink(name, (address, 80))
    for address in ("127.0.0.1", "::1"):
        servers.sink("loopback", (address, 80))
        servers.sink("more loopback", (address, 8081))
        servers.datagram_sink("loopback", (address, 4444))
    servers.sink("abstract", "\0corral-net-suite")
    servers.sink("socket", world.path("host.sock"))
    os.chmod(world.path("host.sock"), 0o777)
    servers.start()
    return servers


def build(world, programs, compiled):
    """What commands run, into pub/; the compiled ones are only for clients."""
    pub = world.path("pub")
    for name in os.listdir(os.path.join(HERE, "inside")):
        shutil.copy(os.path.join(HERE, "inside", name), pub)
    for name in ("client", "attack"):
        shutil.copy(os.path.join(programs, f"net-{name}"), f"{pub}/{name}")
        os.chmod(f"{pub}/{name}", 0o755)
    cache = os.path.join(programs, "go-cache") if os.access(programs, os.W_OK) else f"{pub}/cache"
    env = {"PATH": PATH, "HOME": world.path("home"), "GOCACHE": cache, "CGO_ENABLED": "0",
           "GOTOOLCHAIN": "local", "GO111MODULE": "off", "TMPDIR": world.path("run")}
    for words in (["musl-gcc", "-static", "-O1", "-D_GNU_SOURCE", "-o", "client-musl", "client.c"],
                  ["go", "build", "-o", "client-go", "client.go"],
                  ["javac", "-d", ".", "Client.java"]):
        compiler = find(words[0])
        if compiler and compiled:
            subprocess.run([compiler, *words[1:]], check=True, cwd=pub, env=env)


def no_sandbox(scene):
    """Why single hosts cannot be held here, in words of `corral doctor`; None if they can."""
    result = scene.run([scene.corral, "doctor"])
    if result.status != 0:
        return (result.out + result.err).splitlines()[0]
    return "no nf_tables" if re.search(r"^  no +nf_tables", result.out, re.MULTILINE) else None


def test_rest(account, tap, options):
    """A moment after the last command."""
    end = time.monotonic() + SECONDS
    while (left := others_here()) and time.monotonic() < end:
        time.sleep(0.05)
    tap.say([f"there still is {name}" for name in left], f"nothing is left of {options.parts} ({account.name})")


def test_account(world, account, servers, tap, options):
    scene = Scene(world, account, world.path("corral"))
    why = None if options.bare else no_sandbox(scene)
    if why:
        tap.say([], f"net ({account.name})", skip=f"kernel: {why}")
        return
    if "clients" in options.parts:
        test_clients(scene, tap, options)
    if "attacks" in options.parts:
        test_attacks(scene, servers, tap, options)
    test_rest(account, tap, options)


def test_world(options, tap):
    world = World()
    daemons, servers = Daemons(world), None
    try:
        if options.corral:  # a build folder may lie where only root can look
            shutil.copy(options.corral, world.path("corral"))
        has_clients = "clients" in options.parts
        build(world, options.programs, has_clients)
        servers = make_servers(world)
        daemons.start_all(has_clients)
        for account in accounts():
            if account.name in options.users:
                test_account(world, account, servers, tap, options)
    finally:
        daemons.end()
        if servers:
            servers.end()
        world.end()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, type=os.path.abspath)
    parser.add_argument("--corral", default=os.environ.get("CORRAL"))
    parser.add_argument("--only", default="", help="those whose name has this in it")
    parser.add_argument("--parts", default="clients,attacks", help="which of the two")
    parser.add_argument("--users", default="root,user", help="which of the two, if started as root")
    parser.add_argument("--bare", action="store_true", help="do not run anything inside")
    parser.add_argument("--verbose", action="store_true", help="show all, not only what failed")
    return parser.parse_args()


def main():
    options = parse()
    if not options.corral and not options.bare:
        sys.exit("run.py: --corral, or CORRAL in the environment, is the program to test")
    lacks = [name for name in SERVERS if not shutil.which(name, path=PATH)]
    if lacks:
        print(f"1..0 # SKIP not installed: {' '.join(lacks)} (see tools/setup net)")
        return 0
    why = enter([os.path.abspath(__file__), *sys.argv[1:]])
    if why:
        print(f"1..0 # SKIP kernel: {why}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all is taken down
    users = [account.name for account in accounts() if account.name in options.users.split(",")]
    pairs = [(user, part) for user in users for part in options.parts.split(",")]
    if len(pairs) > 1:
        return lanes.run([(f"{part} ({user})", [os.path.abspath(__file__), *sys.argv[1:], "--users", user, "--parts", part])
                          for user, part in pairs])
    tap = Tap(options.verbose)
    test_world(options, tap)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
