# SPDX-License-Identifier: Apache-2.0
"""Addresses: literal ones, all their spellings, and those that only this machine can reach."""

from attacks import attack, tool
from world import ATTACKER, ATTACKER6, METADATA, NAT64_LOOPBACK, NAT64_PRIVATE, PRIVATE, WEB, WEB6

WEB_80 = ["web.example.com:80"]
ALL_80 = ["*:80", "*:1", "*:4444"]


@attack("the address of a granted name, in many spellings")
def spellings(stage):
    for text in (WEB, "0x5db8d822", "1572395042", "0135.0270.0330.042", f"::ffff:{WEB}", WEB6):
        stage.held(tool("get web.example.com 80", f"get {text} 80 web.example.com"), WEB_80,
                   see="get: web HTTP/1.1 web.example.com\nget: web", control="get: web HTTP/1.1",
                   record=WEB6 if text == WEB6 else WEB)


@attack("an address that is granted works, and no other")
def literal(stage):
    stage.works(tool(f"get {WEB} 80", f"get ::ffff:{WEB} 80 {WEB}"), [f"{WEB}:80"], see="get: web")
    stage.works(tool(f"get {WEB6} 80 [{WEB6}]"), [f"[{WEB6}]:80"], see="get: web")
    stage.held(tool(f"get {WEB} 80", f"get {ATTACKER} 80"), [f"{WEB}:80"], server="attacker",
               control="get: web", record=ATTACKER)


@attack("somebody's address, without a name")
def stranger(stage):
    for address in (ATTACKER, ATTACKER6):
        for verb in ("get {} 80", "get {} 443", "get {} 22", "udp {} 4444 x", "get {} 1"):
            stage.held(tool(verb.format(address)), WEB_80, server="attacker", record=address)
    for verb in ("get", "udp"):
        stage.held(tool(f"{verb} ::ffff:{ATTACKER} 4444 x"), WEB_80, server="attacker",
                   record=ATTACKER)


@attack("no grant of everything reaches cloud metadata or a private network")
def guarded(stage):
    for address, server in ((METADATA, "metadata"), (PRIVATE, "private"),
                            (f"::ffff:{METADATA}", "metadata"), (f"::ffff:{PRIVATE}", "private"),
                            (NAT64_LOOPBACK, "nat64"), (NAT64_PRIVATE, "nat64")):
        stage.held(tool(f"get {WEB} 80", f"get {address} 80"), ALL_80, server=server,
                   control="get: web HTTP/1.1", record=":80")


@attack("cloud metadata, although it is granted by name")
def metadata_granted(stage):
    stage.bare(tool(f"get {METADATA} 80"), server="metadata")
    if not stage.bare_only:
        result, events = stage.run("inside", tool(f"get {METADATA} 80"), [f"{METADATA}:80"])
        stage.expect(not any(e.server == "metadata" and e.what != "gone" for e in events), "it got through")
        stage.expect("sink" not in result.out, "it got through")


@attack("the host's loopback, by every name it has")
def loopback(stage):
    for host in ("127.0.0.1", "localhost", "127.8.9.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"):
        if host != "127.8.9.1":
            stage.bare(tool(f"get {host} 80"), server="loopback")
        stage.inside(tool(f"get {WEB} 80", f"get {host} 80"), ALL_80, server="loopback",
                     control="get: web HTTP/1.1")
    for host in ("127.0.0.1", "::1"):
        stage.held(tool(f"udp {host} 4444 x"), ["udp://*:4444"], server="loopback")


@attack("the host's loopback works where it is granted, and only that port of it")
def loopback_granted(stage):
    for grant, address in (("localhost:80", "127.0.0.1"), ("localhost:80", "localhost"),
                           ("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "::1")):
        stage.works(tool(f"get {address} 80"), [grant], see="sink loopback")
        stage.held(tool(f"get {address} 80", f"get {address} 8081"), [grant],
                   server="more loopback", control="get: sink loopback")


@attack("the relay's own ports")
def relay(stage):
    """No host is behind the first. The second is the name server, for whoever asks there."""
    for address in ("127.0.0.1", "::1", "198.19.255.1", "fd53::1", "198.19.255.53", "fd53::53"):
        stage.inside(tool(f"get {address} 1", f"udp {address} 1 x", "get web.example.com 80"),
                     [*WEB_80, "*:1-2", "udp://*:1-2"], see="sink",
                     control="get: web HTTP/1.1 web.example.com")


@attack("an address that would stand for a name, but was given to none")
def synthetic(stage):
    for address in ("198.18.77.77", "198.19.254.1", "fd53:0:0:1::4d4d", "fd53::1:0:0:3:0"):
        stage.inside(tool("get web.example.com 80", f"get {address} 80", f"udp {address} 4444 x"),
                     [*ALL_80, "udp://*:4444"], see="get: sink", control="get: web HTTP/1.1",
                     record=address)
