#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sandbox does by its broker is in the daemon's log, once, as what it does itself is: of `corral run`, with and without a log of its
own, of a program that uses the library, and of calls that the user agreed to; also if the daemon was away meanwhile. As root, once more as
an ordinary user. Prints TAP."""

import importlib.util
import json
import os
import subprocess
import sys

from broker_tap import beside_user, end, ok

# The classes of test-questions.py and test-questions-host.py.
os.environ.setdefault("QUESTIONS", os.path.join(os.path.dirname(os.path.abspath(__file__)), "test-questions.py"))
HOSTS = os.environ.get("HOSTS") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "test-questions-host.py")
spec = importlib.util.spec_from_file_location("hosts", HOSTS)
hosts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hosts)
questions = hosts.questions
CORRAL, until, content = questions.CORRAL, questions.until, questions.content
ACTIONS = ("fs.read", "fs.write", "command.start", "approval")


def calls(place):
    """What is called, and the record of it: (action, target, decision)."""
    work = place.path + "/work"
    return {"read " + work + "/file": ("fs.read", work + "/file", "allowed"),
            "read /etc/shadow": ("fs.read", "/etc/shadow", "denied"),
            "write " + work + "/new": ("fs.write", work + "/new", "allowed"),
            "write /etc/new": ("fs.write", "/etc/new", "denied"),
            "exec true": ("command.start", "true", "allowed")}


def found(records, expected):
    action, target, decision = expected
    return [r for r in records if r["action"] == action and r["decision"] == decision and
            (r["target"] == target or (action == "command.start" and os.path.basename(r["target"]) == target and r["program"] == "broker"))]


def daemons_records(place):
    return [r for action in ACTIONS for r in place.api("GET", "/api/audit?limit=1000&action=" + action)[1]["records"]]


def logs_records(place, path):
    out = place.corral("audit", "export", "--format", "jsonl", path).stdout
    return [json.loads(line) for line in out.splitlines()]


def once(place, read, what):
    """Each call is there, and no call twice."""
    expected = calls(place).values()
    there = until(lambda: all(found(read(), e) for e in expected))
    records = read()
    ok(there and all(len(found(records, e)) == 1 for e in expected), f"{what}: each call is in the log, once",
       *[(e, found(records, e)) for e in expected if len(found(records, e)) != 1], [(r["action"], r["target"], r["decision"]) for r in records])


def policy(place):
    own = [place.path + "/inside.py", place.path + "/work/**"]
    return {"fs": {"read": ["/usr/**", "/lib/**", "/lib64/**", "/bin/**", "/etc/**", *own], "write": [place.path + "/work/**"]},
            "exec": ["/usr/bin/python3*", "/bin/python3*", "/usr/bin/true", "/bin/true"], "rules": [{"id": "asked", "action": "ask", "operations": ["fs.read"], "patterns": [place.path + "/data/a"]}]}


def begin(place):
    place.put("work/file", "text")
    if os.path.exists(place.path + "/work/new"):
        os.unlink(place.path + "/work/new")


def do_calls(place, run):
    for line in calls(place):
        run.do(line)


def denied(place, run):
    """How many denials the daemon counts, of a sandbox that runs."""
    boxes = [b for b in place.api("GET", "/api/sandboxes")[1]["sandboxes"] if b["pid"] == run.process.pid]
    return boxes[0].get("denied", boxes[0]) if boxes else None


def ps_row(place, run):
    return next((line for line in place.corral("ps").stdout.splitlines() if str(run.process.pid) in line), "")


def with_runs(place):
    place.start()
    begin(place)
    run = questions.Run(place, policy(place), "--broker")
    run.joined()
    do_calls(place, run)
    ok(until(lambda: denied(place, run) == 2), "while it runs, the daemon counts what its broker denied", denied(place, run))
    row = ps_row(place, run)
    ok("2" in row.split(), "and ps says so", row)
    ok("  not watched  " in row, "and that files are not watched", row)
    n = run.begin("read " + place.path + "/data/a")
    question = place.question("data/a")
    place.api("POST", "/api/questions/" + question["id"], {"answer": "once"})
    ok(content(run.answer(n)) == "first", "a call that the user agreed to is made", run.lines[n:])
    run.end()
    once(place, lambda: daemons_records(place), "a run")
    watched = questions.Run(place, policy(place), "--broker", "--explain")
    watched.joined()
    ok(until(lambda: "  watched  " in ps_row(place, watched)), "with --explain, that they are", ps_row(place, watched))
    watched.end()
    asked = ("fs.read", place.path + "/data/a", "allowed")
    ok(until(lambda: len(found(daemons_records(place), asked)) == 1), "and the call that the user agreed to, beside the approval",
       [r for r in daemons_records(place) if "data/a" in r["target"]])


def with_a_log(place):
    place.start()
    begin(place)
    log = place.path + "/own.db"
    run = questions.Run(place, policy(place), "--broker", "--audit", log)
    run.joined()
    do_calls(place, run)
    run.end()
    once(place, lambda: logs_records(place, log), "a log of its own")
    once(place, lambda: daemons_records(place), "the daemon's beside it")


def with_the_same_log(place):
    place.start()
    begin(place)
    run = questions.Run(place, policy(place), "--broker", "--audit", "default")
    run.joined()
    do_calls(place, run)
    run.end()
    once(place, lambda: daemons_records(place), "a run that writes the daemon's log")


def without_a_daemon(place):
    """It is killed after the run has joined, and comes back after its end."""
    place.start()
    begin(place)
    run = questions.Run(place, policy(place), "--broker")
    run.joined()
    place.kill()
    do_calls(place, run)
    run.end()
    place.start()
    once(place, lambda: daemons_records(place), "a daemon that was away")


def with_a_program(place):
    place.start()
    begin(place)
    host = hosts.Host(place, policy(place))
    do_calls(place, host)
    # The last answer may be read before the program has told of the call: its end does.
    host.end()
    once(place, lambda: daemons_records(place), "a program that uses the library")


def with_a_program_alone(place):
    """Neither a broker nor a sink: its network is in the daemon's log all the same."""
    place.start()
    host = hosts.Host(place, questions.policy(place, network={"allow": ["a.test:443"]}), "plain")
    host.do("connect 198.51.100.7:80")
    host.end()
    denied_there = lambda: [r for r in place.api("GET", "/api/audit?limit=1000&action=net.connect")[1]["records"] if r["decision"] == "denied"]
    ok(until(denied_there), "what a program's sandbox may not connect to is in the log", place.log("net.connect", "session"))


def at_its_end(place):
    """Calls whose caller does not wait for the answer: what was done is recorded."""
    place.start()
    begin(place)
    place.put("leave.py", """
import json, os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SANDBOX_SOCKET"])
for i in range(40):
    s.sendall((json.dumps({"jsonrpc": "2.0", "id": i, "method": "fs.write", "params": {"path": f"%s/work/late{i}", "content": "x"}}) + "\\n").encode())
s.recv(1)
""" % place.path)
    with open(place.path + "/policy.json", "w") as f:
        json.dump(dict(policy(place), fs={**policy(place)["fs"], "read": [*policy(place)["fs"]["read"], place.path + "/leave.py"]}), f)
    run = subprocess.run([CORRAL, "run", "--broker", "--policy", place.path + "/policy.json", "--", "python3", place.path + "/leave.py"], env=place.env,
                         cwd=place.path + "/work", capture_output=True, text=True, timeout=questions.PATIENCE, check=False)
    made = sorted(name for name in os.listdir(place.path + "/work") if name.startswith("late") and os.path.getsize(place.path + "/work/" + name))
    told = lambda: {os.path.basename(r["target"]) for r in daemons_records(place) if r["action"] == "fs.write" and r["decision"] == "allowed"}
    ok(made and until(lambda: told() >= set(made)), "what was written for a caller that has gone is in the log", run, made, told())


def flood(place):
    """Each call asks about another file, in a policy that asks about all of them: the user sees a bounded number of questions."""
    place.start()
    place.put("flood.py", """
import json, os, socket, sys, threading
said = []
def ask(i):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["SANDBOX_SOCKET"])
        s.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, "method": "fs.read", "params": {"path": f"%s/data/{i}"}}) + "\\n").encode())
        said.append(s.makefile().readline())
for turn in range(6):
    threads = [threading.Thread(target=ask, args=(20 * turn + i,)) for i in range(20)]
    for t in threads: t.start()
    for t in threads: t.join()
print(sum("too many questions" in text for text in said), sum("in time" in text or "agree" in text for text in said), len(said))
print(next((text for text in said if "too many questions" in text), said[-1:]))
""" % place.path)
    with open(place.path + "/policy.json", "w") as f:
        own = [place.path + "/flood.py", place.path + "/work/**"]
        json.dump({"fs": {"read": ["/usr/**", "/lib/**", "/lib64/**", "/bin/**", "/etc/**", *own]},
                   "rules": [{"id": "asked", "action": "ask", "operations": ["fs.read"], "patterns": [place.path + "/data/**"]}]}, f)
    run = subprocess.run([CORRAL, "run", "--broker", "--ask", "1s", "--policy", place.path + "/policy.json", "--", "python3", place.path + "/flood.py"],
                         env=place.env, cwd=place.path + "/work", capture_output=True, text=True, timeout=questions.PATIENCE, check=False)
    rows = [list(map(int, line.split())) for line in run.stdout.splitlines() if line[:1].isdigit()]
    refused, asked, said = rows[0] if rows else (0, 0, 0)
    # A machine that takes longer than a minute for it has asked more.
    ok(said == 120 and 0 < refused and asked + refused == said and asked <= 2 * 64, "a flood of questions: the rest is refused, with the reason",
       rows, run.stdout[-1500:], run.stderr[-800:])
    told = lambda: [r for r in daemons_records(place) if r["action"] == "approval" and "too many questions" in r["reason"]]
    ok(until(told), "which is in the log", run.stderr)


def main():
    parts = (with_runs, with_a_log, with_the_same_log, without_a_daemon, with_a_program, with_a_program_alone, at_its_end, flood)
    with beside_user(__file__, hosts.PROGRAMS, QUESTIONS=os.environ["QUESTIONS"], HOSTS=HOSTS):
        for part in parts:
            place = questions.Place()
            try:
                part(place)
            finally:
                place.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
