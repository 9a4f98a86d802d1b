#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run` with single hosts on a kernel without nf_tables.

    lazy.py --without-nft PROGRAM [--corral PROGRAM]    prints TAP

PROGRAM runs others as if the kernel had none. The world is that of run.py, with the servers that
need no program: names, an echo, sinks. Each case is a list of steps (inside/lazy.py) in one
sandbox, with what each of them must print.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time

from scene import SECONDS, Scene
from servers import ZONE, Servers, both, serve_names
from world import ATTACKER, ECHO, ECHO6, PRIVATE, RESOLVER, World, accounts, enter

HERE = os.path.dirname(os.path.abspath(__file__))
LISTENERS = 256  # of each family
NAMED = "198.18.0.1 fd53:0:0:1::1"


class LazyScene(Scene):
    def words(self, run, net, folder, audit):
        words = super().words(run, net, folder, audit)
        return words if net is None else [self.world.path("without-nft"), *words]


# name, grants, steps with what they print, what the records name (target, part of the reason)
CASES = (
    ("a granted name", ["echo.example.com:7"],
     (("lookup echo.example.com", NAMED), ("talk echo.example.com 7", "hello"),
      ("talk 198.18.0.1 7", "hello"), ("talk fd53:0:0:1::1 7", "hello"),
      ("talk ::ffff:198.18.0.1 7", "hello")), ()),
    ("a port of it that is not granted is refused at once", ["echo.example.com:7"],
     (("talk echo.example.com 9", "ECONNREFUSED"), ("talk echo.example.com 443", "ECONNREFUSED")),
     ()),
    ("a name that is not granted does not exist", ["echo.example.com:7"],
     (("lookup evil.example.com", "no such name"), ("talk evil.example.com 80", "no such name")),
     (("evil.example.com", "nothing in network.allow"),)),
    ("what was not asked for is nowhere", ["echo.example.com:7"],
     (("talk 198.18.0.1 7", "ECONNREFUSED"), ("talk fd53:0:0:1::1 7", "ECONNREFUSED")), ()),
    ("names by a pattern", ["*.example.com:7"],
     (("talk echo.example.com 7", "hello"), ("lookup example.com", "no address")),
     (("example.com", "nothing in network.allow"),)),
    ("a few ports", ["echo.example.com:5-9"],
     (("talk echo.example.com 7", "hello"), ("talk echo.example.com 10", "ECONNREFUSED")), ()),
    ("addresses that are granted", [f"{ECHO}:7", f"[{ECHO6}]:7", f"{PRIVATE}:80"],
     ((f"talk {ECHO} 7", "hello"), (f"talk {ECHO6} 7", "hello"), (f"talk ::ffff:{ECHO} 7", "hello"),
      (f"talk {PRIVATE} 80", "HTTP/1.1 200 OK")), ()),
    ("addresses that are not", [f"{ECHO}:7"],
     ((f"talk {ECHO} 9", "ECONNREFUSED"), (f"talk {ATTACKER} 80", "ECONNREFUSED"),
      ("talk 169.254.169.254 80", "ECONNREFUSED"), ("talk 127.0.0.1 80", "ECONNREFUSED"),
      ("talk ::1 80", "ECONNREFUSED")), ()),
    ("a granted name that leads to a private address", ["inner.example.com:80"],
     (("talk inner.example.com 80", "ECONNRESET"),), (("inner.example.com", PRIVATE),)),
    ("name servers that there are", ["echo.example.com:7"],
     tuple((f"ask {server} {name}", code)
           for server in ("198.19.255.53", "fd53::53", "127.0.0.53", "127.0.0.11")
           for name, code in (("echo.example.com", "0 0"), ("evil.example.com", "3 3"))),
     (("evil.example.com", "nothing in network.allow"),)),
    ("others are refused", ["echo.example.com:7"],
     (("ask 8.8.8.8 echo.example.com", "ECONNREFUSED"),
      (f"ask {RESOLVER} echo.example.com", "ECONNREFUSED"),
      ("ask 127.0.0.1 echo.example.com", "ECONNREFUSED")), ()),
    ("datagrams are refused", ["echo.example.com:7"],
     (("lookup echo.example.com", NAMED), ("datagram 198.18.0.1 7", "ECONNREFUSED"),
      (f"datagram {ECHO} 7", "ECONNREFUSED"), (f"datagram {ECHO6} 7", "ECONNREFUSED")), ()),
    ("datagrams to groups and to all", ["echo.example.com:7"],
     tuple((f"datagram {group} 5353", "EHOSTUNREACH")
           for group in ("224.0.0.251", "239.255.255.250", "255.255.255.255", "ff02::fb%lo", "ff05::c")), ()),
    ("servers inside", ["echo.example.com:7"],
     (("talk echo.example.com 7", "hello"), ("bind 127.0.0.1 7", "bound"), ("bind ::1 7", "bound"),
      ("bind 0.0.0.0 80", "bound"), ("bind :: 443", "bound"), ("bind 0.0.0.0 8080", "bound"),
      ("bind 198.19.255.1 7", "bound"), ("talk echo.example.com 7", "hello")), ()),
    ("all addresses of a port are not for a server if a name has it", ["echo.example.com:7"],
     (("talk echo.example.com 7", "hello"), ("bind 0.0.0.0 7", "EADDRINUSE")), ()),
    ("nor for a name if a server has them", ["echo.example.com:7"],
     (("bind 0.0.0.0 7", "bound"), ("lookup echo.example.com", "try again")),
     (("echo.example.com", "a server in the sandbox uses one of its granted ports on all addresses: this kernel lacks nf_tables"),)),
    ("names until the sockets are used up", ["*.example.com:7"],
     (("talk echo.example.com 7", "hello"),
      (f"many {LISTENERS + 50} example.com", f"{LISTENERS - 1} try again"),
      ("talk echo.example.com 7", "hello"), ("lookup new.example.com", "try again")),
     (("new.example.com", "the session has no listener left: this kernel lacks nf_tables, so each name needs its own"),)),
)

# What is refused, and why.
REFUSED = (
    ("*", "only hosts that are listed by name"),
    ("*:443", "only hosts that are listed by name"),
    ("10.0.0.0/8:443", "only single addresses"),
    ("udp://echo.example.com:7", "datagrams"),
    ("localhost:80", "the host's loopback"),
    ("127.0.0.1:80", "the host's loopback"),
    ("echo.example.com", "at most 16 ports"),
    ("echo.example.com:1-17", "at most 16 ports"),
)


class Tap:
    def __init__(self):
        self.number = self.failures = 0

    def say(self, wrong, name, result):
        self.number += 1
        self.failures += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.number} - {name}", flush=True)
        seen = f"status {result.status}\n{result.out}{result.err}".splitlines()
        for text in [*wrong, *seen] if wrong else ():
            print(f"# {text}")


def judge(result, steps, told):
    lines = [line.strip() for line in result.out.splitlines()]
    wrong = ["it hangs"] if result.late else []
    if len(lines) != len(steps):
        wrong.append(f"{len(lines)} lines for {len(steps)} steps")
    wrong += [f"{step}: {line!r}, not {want!r}"
              for (step, want), line in zip(steps, lines) if line != want]
    for target, reason in told:
        if not any(target in e["target"] and reason in e["reason"] for e in result.events
                   if e["decision"] in ("denied", "failed")):
            wrong.append(f"no record about {target} with {reason!r}: {result.events}")
    if not told and result.denials:
        wrong.append(f"told of {result.denials}")
    return wrong


def test_case(scene, tap, case):
    name, grants, steps, told = case
    run = "/usr/bin/python3 {pub}/lazy.py " + " ".join(step for step, _ in steps)
    result = scene.run(run, grants, seconds=60)
    tap.say(judge(result, steps, told), f"{name} ({scene.account.name})", result)


def test_refused(scene, tap, grant, why):
    for net, place in (([grant], "--net: "), ({"allow": ["echo.example.com:7", grant]}, ".yaml:1:")):
        result = scene.run("true", net)
        wrong = [] if result.status == 125 else [f"status {result.status}"]
        wrong += [f"no {text!r} in the message" for text in
                  (place, "cannot be enforced: this kernel lacks nf_tables", why, "corral doctor")
                  if text not in result.err]
        tap.say(wrong, f"{grant} is refused, {place} ({scene.account.name})", result)


def test_at_once(scene, tap):
    """A granted name that leads to a private address is told while the command runs, which then tries again."""
    talk = "/usr/bin/python3 {pub}/lazy.py talk inner.example.com 80"
    folder = scene.fresh()
    with tempfile.TemporaryFile() as said:
        process = scene.start(["/bin/sh", "-c", f"{talk}; until [ -e told ]; do sleep 0.05; done; {talk}"], ["inner.example.com:80"],
                              folder=folder, stderr=said)
        end = time.monotonic() + SECONDS
        while b"leads to" not in os.pread(said.fileno(), 65536, 0) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        wrong = [] if process.poll() is None and time.monotonic() < end else ["it is not told at once"]
        with open(os.path.join(folder, "told"), "w", encoding="ascii"):
            pass
        result = scene.finish(process)
        result = result._replace(err=os.pread(said.fileno(), 65536, 0).decode(errors="replace"))
    wrong += ["it hangs"] if result.late else []
    wrong += ["it does not try twice"] if result.out.split() != ["ECONNRESET"] * 2 else []
    wrong += ["it is told twice"] if result.err.count("leads to") != 1 else []
    tap.say(wrong, f"a private address is told at once ({scene.account.name})", result)


def test_account(scene, tap):
    doctor = scene.run([scene.world.path("without-nft"), scene.corral, "doctor"])
    tap.say([] if "no  nf_tables" in doctor.out else ["it has nf_tables"],
            f"corral doctor ({scene.account.name})", doctor)
    for case in CASES:
        test_case(scene, tap, case)
    test_at_once(scene, tap)
    for grant, why in REFUSED:
        test_refused(scene, tap, grant, why)


def make_servers(world):
    servers = Servers()
    zone = {**ZONE, "inner.example.com": both(PRIVATE, PRIVATE)[:1]}
    with world.internet.inside():
        serve_names(servers, "names", (RESOLVER, 53), zone)
        for address in (ECHO, ECHO6):
            servers.echo((address, 7))
            servers.echo((address, 9))
        for address in (ATTACKER, PRIVATE):
            servers.sink("sink", (address, 80))
    for address in ("127.0.0.1", "::1"):
        servers.sink("loopback", (address, 80))
    servers.start()
    return servers


def test_world(options, tap):
    world, servers = World(), None
    try:
        for name, path in (("corral", options.corral), ("without-nft", options.without_nft),
                           ("pub/lazy.py", os.path.join(HERE, "inside", "lazy.py"))):
            shutil.copy(path, world.path(name))
        servers = make_servers(world)
        for account in accounts():
            test_account(LazyScene(world, account, world.path("corral")), tap)
    finally:
        if servers:
            servers.end()
        world.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without-nft", required=True, type=os.path.abspath)
    parser.add_argument("--corral", default=os.environ.get("CORRAL"))
    options = parser.parse_args()
    if not options.corral:
        sys.exit("lazy.py: --corral, or CORRAL in the environment, is the program to test")
    if not shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin"):
        print("1..0 # SKIP not installed: ip (see tools/setup net)")
        return 0
    enter([os.path.abspath(__file__), *sys.argv[1:]])
    tap = Tap()
    test_world(options, tap)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
