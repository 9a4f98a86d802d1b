# SPDX-License-Identifier: Apache-2.0
"""Much of it: names, connections, half a hello a thousand times. Others must not notice."""

import os
import time

from attacks import attack, tool
from world import ATTACKER

WEB = ["web.example.com:80", "web.example.com:443"]
QUERIES = int(os.environ.get("CORRAL_NET_QUERIES", "100000"))
# RECORD_TABLE_MAX and RECORDER_PER_SECOND of src/net.
RECORDS_KEPT = 4096
RECORDS_PER_SECOND = 200


def crowd(*words):
    return ["/usr/bin/python3", "{pub}/crowd.py", *map(str, words)]


@attack("more connections than the policy's rate")
def rate(stage):
    answer = "get: web HTTP/1.1 web.example.com\n"
    stage.held(tool(*["get web.example.com 80"] * 4),
               {"allow": ["web.example.com:80"], "rate_limit": "3/hour"}, see=answer * 4,
               control=answer * 3, record="web.example.com:80")


@attack("more bytes than the policy has for a destination")
def bytes_out(stage):
    """Both ways: what is asked for, and what is sent: more than buffers on the way could take."""
    pour = "/usr/bin/python3 {pub}/pour.py echo.example.com 9 80000000"
    for run, total in (("curl -s http://web.example.com/big/8M | wc -c", "8388608"),
                       (pour, "poured 80000000")):
        stage.held(run, {"allow": ["web.example.com:80", "echo.example.com:9"], "max_bytes": "1M"},
                   see=total, record="example.com")


@attack("all synthetic addresses are used up: later names have none, earlier ones go on")
def exhausted(stage):
    """More names than there are addresses. None of the questions leaves."""
    script = ("{pub}/attack queries many.wild.example.com 200000 && "
              "/usr/bin/python3 {pub}/attack.py get q7.many.wild.example.com 80 + "
              "get q199999.many.wild.example.com 80")
    result = stage.inside(script, ["*.many.wild.example.com:80"], query="q199998.",
                          control=["done", "get: web HTTP/1.1 q7.many"], seconds=240)
    if result:
        stage.expect("q199999" not in result.out, "a name has an address although none is left")


@attack("questions in great number")
def questions(stage):
    """Of names that are denied so many a second are told one by one, and at the end what is still kept."""
    start = time.monotonic()
    result = stage.inside(f"{{pub}}/attack queries example.org {QUERIES} && "
                          "/usr/bin/python3 {pub}/attack.py get web.example.com 80", WEB,
                          query="example.org", control=["done", "get: web HTTP/1.1"],
                          seconds=120 + QUERIES // 1000)
    if result:
        seconds = time.monotonic() - start
        most = RECORDS_KEPT + RECORDS_PER_SECOND * (int(seconds) + 2)
        stage.expect(len(result.denials) <= min(most, QUERIES // 2),
                     f"{len(result.denials)} records in {seconds:.0f} s")


@attack("a thousand halves of a hello; meanwhile others are served")
def half_hellos(stage):
    stage.inside(crowd("half", "web.example.com", 443, 1000), WEB, seconds=120,
                 control=["open 1000", "web HTTP"])


@attack("five hundred silent connections to the name server; meanwhile names are found")
def silent(stage):
    stage.inside(crowd("silent", "9.9.9.9", 53, 500), WEB, control=["done", "web HTTP"], seconds=120)


@attack("five thousand connections that are held; when they are over, others are served")
def flood(stage):
    stage.inside(crowd("flood", "echo.example.com", 7, 5000), [*WEB, "echo.example.com:7"],
                 control=["done", "web HTTP"], seconds=240)


@attack("two thousand connections that are denied: one record, and others are served")
def denied_often(stage):
    start = time.monotonic()
    result = stage.inside(crowd("denied", ATTACKER, 80, 2000), WEB, server="attacker",
                          control=["refused 2000", "web HTTP"], record=ATTACKER,
                          seconds=120)
    if result:
        # What is kept is reported once a second.
        seconds = time.monotonic() - start
        stage.expect(len(result.denials) <= 20 + seconds, f"{len(result.denials)} records in {seconds:.0f} s")


@attack("two hundred connections at once, each with its own answer")
def many_echoes(stage):
    stage.works(crowd("echo", "echo.example.com", 7, 200), [*WEB, "echo.example.com:7"],
                see="right 200")


@attack("eight downloads at once, to the last byte")
def downloads(stage):
    stage.works("for i in 1 2 3 4 5 6 7 8; do "
                "curl -sS https://web.example.com/big/8M | sha256sum & done; wait", WEB, see="  -")


@attack("after all this a plain request works")
def afterwards(stage):
    stage.works(tool("get web.example.com 80"), WEB, see="get: web HTTP/1.1")
