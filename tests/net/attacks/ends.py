# SPDX-License-Identifier: Apache-2.0
"""How connections end, and what is told of them."""

from attacks import attack, tool
from servers import Event

ECHO_7 = ["echo.example.com:7"]


def told(stage, run, net, decision, target):
    """Runs it inside; the one record of this kind about the target, or None."""
    if stage.bare_only:
        return None, None
    result, _ = stage.run("inside", run, net)
    stage.expect(not result.late, "it hangs")
    stage.expect(not result.denials, "told of a denial")
    found = [e for e in result.events if e["decision"] == decision and e["target"] == target]
    stage.expect(found, f"nothing is told: {decision} {target}")
    return result, found[0] if found else None


@attack("a port where nobody listens: it ends at once, and is told as unreachable")
def refused(stage):
    told(stage, tool("get web.example.com 81"), ["web.example.com:81"], "failed",
         "web.example.com:81")


@attack("a granted name that nobody has: it ends at once, and is told as unreachable")
def nobody(stage):
    told(stage, tool("get nobody.example.com 80"), ["nobody.example.com:80"], "failed",
         "nobody.example.com:80")


@attack("what went over a connection is told")
def counted(stage):
    _, event = told(stage, "curl -sS http://web.example.com/big/8M >/dev/null",
                    ["web.example.com:80"], "allowed", "web.example.com:80")
    if event:
        stage.expect(event["received"] > 8 << 20, f"received: {event['received']}")
        stage.expect(0 < event["sent"] < 1000, f"sent: {event['sent']}")
        stage.expect(event["action"] == "net.close", f"action: {event['action']}")
        stage.expect(event["reason"].startswith(("by 93.184.216.34", "by 2606:2800:220:1::34")),
                     f"reason: {event['reason']}")


@attack("a connection does not outlive its command, although a process holds it")
def outlived(stage):
    if stage.bare_only:
        return
    mark = len(stage.servers.log)
    script = ("/usr/bin/python3 {pub}/hold.py echo.example.com 7 >{ws}/held 2>&1 & "
              "until [ -s {ws}/held ]; do sleep 0.02; done; cat {ws}/held")
    result, _ = stage.run("inside", script, ECHO_7)
    stage.expect("held" in result.out, "it was not there")
    stage.expect(not result.late, "the command does not end")
    gone = stage.servers.await_event(mark, Event("echo", "gone", b""), 60)
    stage.expect(gone, "it is still there")


@attack("a server that hangs up is heard of")
def hung_up(stage):
    stage.works(tool("get evil.example.net 80"), ["evil.example.net:80"], see="get: sink attacker")
