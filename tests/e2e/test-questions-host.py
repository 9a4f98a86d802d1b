#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions, answers and grants of sandboxes in a program that uses the library (question-host.c), as test-questions.py
has them of `corral run`: by a broker, by connections, below what the program declared; an answer that comes too late, a
daemon that goes, and a command that tries to answer for itself. As root, once more as an ordinary user. Prints TAP."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading

from broker_tap import beside_user, end, ok

QUESTIONS = os.environ.get("QUESTIONS") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "test-questions.py")
spec = importlib.util.spec_from_file_location("questions", QUESTIONS)
questions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(questions)
until, policy, content, serve = questions.until, questions.policy, questions.content, questions.serve
HOST = os.path.abspath(os.environ["QUESTION_HOST"])
PROGRAMS = (*questions.PROGRAMS, "QUESTION_HOST")


class Host(questions.Run):
    """The same by the library."""

    def __init__(self, place, policy, how="broker", ask_ms=questions.PATIENCE * 1000, command=("inside.py",)):
        self.place = place
        place.put("policy.json", json.dumps(policy))
        words = ["python3", f"{place.path}/{command[0]}", *command[1:]]
        self.process = subprocess.Popen([HOST, place.path + "/policy.json", place.path + "/work", how, str(ask_ms), *words],
                                        env=place.env, cwd=place.path + "/work", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self.listen, daemon=True).start()


# A command of an enclave: connects until it is let, says so, and stays until it is cut.
STAYS = r"""
import socket, sys, time
port, folder = int(sys.argv[1]), sys.argv[2]
def say(name):
    open(f"{folder}/{name}", "w").close()
say("tried")
while True:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=40) as s:
            while True:
                s.sendall(b"x")
                if s.recv(1) != b"y":
                    break
                say("on")
                time.sleep(0.05)
    except OSError:
        pass
    say("off")
    time.sleep(0.05)
"""


class Stays(Host):
    """A sandbox with that command. Its program is stopped while the daemon orders, so it makes no call."""

    def __init__(self, place, port, ask_ms=1000):
        place.put("work/stays.py", STAYS)
        self.on, self.off = place.path + "/work/on", place.path + "/work/off"
        super().__init__(place, policy(place, hosts(f"127.0.0.1:{port}")), "plain", ask_ms, ("work/stays.py", str(port), place.path + "/work"))

    def sleep(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def wake(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def becomes_silent(self):
        """The command does not run any more."""
        for file in (self.on, self.off):
            if os.path.exists(file):
                os.unlink(file)
        return not until(lambda: os.path.exists(self.on) or os.path.exists(self.off), 1)

    def becomes(self, path):
        """The command says so from now on."""
        for file in (self.on, self.off):
            if os.path.exists(file):
                os.unlink(file)
        return until(lambda: os.path.exists(path))


class Enclave(questions.Run):
    """An enclave of the library."""

    def __init__(self, place, policy):
        self.place = place
        place.put("policy.json", json.dumps(policy))
        self.process = subprocess.Popen([HOST, place.path + "/policy.json", place.path + "/work", "enclave"], env=place.env, cwd=place.path + "/work",
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self.listen, daemon=True).start()


def hosts(*patterns):
    return {"id": "hosts", "action": "ask", "operations": ["net.connect"], "patterns": list(patterns)}


def grant(place, sandbox, action, target, **more):
    return place.api("POST", f"/api/sandboxes/{sandbox}/grants", {"action": action, "target": target, **more})


def broker(place):
    run = Host(place, policy(place))
    sandbox = run.joined()
    details = until(lambda: (lambda d: d["permissions"] and d)(place.api("GET", "/api/sandboxes/" + sandbox)[1]))
    ok(details and details["kind"] == "session" and any("if you agree when asked" in line for line in details["permissions"]) and details["ceiling"],
       "the daemon knows what the sandbox may do", details)
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    ok(q and q["action"] == "fs.read" and q["scopes"][:2] == [place.path + "/data/a", place.path + "/data/**"] and q["method"] == "fs.read"
       and q["sandbox"] == sandbox and len(run.lines) == waits, "a question of a library's sandbox is at the daemon while the call waits", q)
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"}) == (200, {"answered": True}) and content(run.answer(waits)) == "first",
       "once: the call that waits is done", run.lines)
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    done = place.corral("questions", "deny", q["id"])
    ok(done.returncode == 0 and "permission denied" in run.answer(waits), "corral questions deny: the call is refused", done.stderr, run.lines)
    waits = run.begin(f"read {place.path}/data/b")
    q = place.question("/data/b")
    done = place.corral("questions", "allow", q["id"], "--for", "always", "--scope", place.path + "/data/**")
    ok(done.returncode == 0 and content(run.answer(waits)) == "second" and content(run.do(f"read {place.path}/data/b")) == "second" and not place.questions(),
       "allowed for a scope: not asked again", done.stderr, run.lines)
    ok("permission denied" in run.do(f"read {place.path}/data/secret"), "a denial inside of the scope stays one", run.lines)
    grants = place.api("GET", "/api/grants")[1]["grants"]
    ok(len(grants) == 1 and place.corral("grants", "remove", grants[0]["id"]).returncode == 0, "the answer is a grant, and is removed", grants)
    waits = run.begin(f"read {place.path}/data/b")
    q = place.question("/data/b")
    ok(q is not None and len(run.lines) == waits, "what was revoked is asked about again")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "deny"})
    run.answer(waits)
    ok(run.do("try " + place.path + "/data/b") in ("FileNotFoundError", "PermissionError"), "the command itself sees what it saw from the start", run.lines)
    run.end()


def grants(place):
    port, other = serve(), serve()
    run = Host(place, policy(place, hosts(f"127.0.0.1:{port}", f"127.0.0.1:{other}")), "plain")
    sandbox = run.joined()
    status, answer = grant(place, sandbox, "net.connect", f"127.0.0.1:{port}")
    ok(status in (200, 201) and run.do(f"connect {port}") == "y" and not place.questions(), "a host that was granted is not asked about", status, answer, run.lines)
    ok(run.do(f"keep {port}") == "y", "a connection stays open", run.lines)
    status, refused = grant(place, sandbox, "net.connect", "127.0.0.1:1")
    ok(status in (403, 409) and "ceiling" in json.dumps(refused), "a grant above what the program declared is refused", status, refused)
    status, refused = grant(place, sandbox, "fs.read", place.path + "/data/a")
    ok(status == 409 and "keep the files" in json.dumps(refused), "files of commands that run are not granted without a broker", status, refused)
    ok(run.do("!run python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', %d)); s.sendall(b'x'); print('\\\"' + s.recv(1).decode() + '\\\"')\"" % port) == "y",
       "another command of the sandbox has it, too", run.lines)
    listed = place.api("GET", "/api/grants")[1]["grants"]
    done = place.corral("grants", "remove", listed[0]["id"])
    ok(done.returncode == 0 and run.do("more") != "y", "revoked: what was open is cut", done.stderr, run.lines)
    waits = run.begin(f"connect {port}")
    q = place.question(f":{port}")
    ok(q is not None and len(run.lines) == waits, "and a connection asks")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "once"})
    ok(run.answer(waits) == "y", "once, for the connection that waits", run.lines)
    # A slow machine needs a longer one, to use it once.
    for seconds in (2, 4, 8, 16, 32):
        status, answer = grant(place, sandbox, "net.connect", f"127.0.0.1:{other}", seconds=seconds)
        waits = run.begin(f"connect {other}")
        asked = until(lambda: place.questions() or (len(run.lines) > waits and "no")) if status in (200, 201) else "refused"
        if not isinstance(asked, list):
            break
        place.api("POST", "/api/questions/" + asked[0]["id"], {"answer": "once"})
        run.answer(waits)
    ok(asked == "no" and run.answer(waits) == "y", "a grant for a short time", status, answer, run.lines)
    ok(until(lambda: not place.api("GET", "/api/grants")[1]["grants"]), "its time is over by itself")
    grant(place, sandbox, "net.connect", f"127.0.0.1:{port}")
    place.put("policy.json", json.dumps(policy(place, hosts(f"127.0.0.1:{other}"))))
    ok(run.do(f"!update {place.path}/policy.json") == "updated" and until(lambda: not place.api("GET", "/api/grants")[1]["grants"])
       and run.do(f"connect {port}") != "y", "grants end when the program declares something else", run.lines)
    status, refused = grant(place, sandbox, "net.connect", f"127.0.0.1:{port}")
    ok(status in (403, 409) and "ceiling" in json.dumps(refused), "which is the ceiling from then on", status, refused)
    run.end()


def ends(place):
    run = Host(place, policy(place), ask_ms=1000)
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    answer = run.answer(waits)
    ok("did not agree to it in time" in answer and until(lambda: not place.questions()), "no answer: refused after the stated time", answer)
    status, late = place.api("POST", "/api/questions/" + q["id"], {"answer": "allow"}) if q else (409, "it was over before it was seen")
    ok(status in (404, 409) and not place.api("GET", "/api/grants")[1]["grants"], "an answer that comes too late changes nothing", status, late)
    waits = run.begin(f"read {place.path}/data/b")
    until(lambda: place.questions() or len(run.lines) > waits)
    place.kill()
    answer = run.answer(waits)
    ok("did not agree to it in time" in answer, "the daemon goes while a question is open: refused after its time", answer)
    ok(run.do("try " + place.path + "/work/asked") in ("old", "new", "PermissionError"), "and the sandbox goes on", run.lines)
    place.start()
    waits = run.begin(f"read {place.path}/data/b")
    ok(until(lambda: place.questions() or len(run.lines) > waits) is not None and run.answer(waits) != "nothing", "it joins the next daemon", run.lines)
    run.end()
    run = Host(place, policy(place))
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    place.kill()
    place.start()
    again = place.question("/data/a")
    ok(again and again["sandbox"] == q["sandbox"] and len(run.lines) == waits, "a question is asked again at the next daemon", again)
    place.api("POST", "/api/questions/" + again["id"], {"answer": "allow"})
    ok(content(run.answer(waits)) == "first", "and answered there", run.lines)
    run.end()
    ok(until(lambda: not place.api("GET", "/api/grants")[1]["grants"]), "grants end with the sandbox")


def stopped(place, make, action, target, before, line, expected):
    """A grant ends in the relay and the broker although whoever holds the session does nothing: it is stopped."""
    run = make()
    sandbox = run.joined()
    answer = None
    # A slow machine needs a longer one, to use it once.
    for seconds in (2, 4, 8, 16, 32):
        status, made = grant(place, sandbox, action, target, seconds=seconds)
        if status in (200, 201) and (not before or run.do(before) == "y"):
            answer = run.do(line)
            if answer == expected or content(answer) == expected:
                break
    ok(answer == expected or content(answer) == expected, f"{action}: granted for a short time", status, made, run.lines)
    waits = run.begin(f"while {place.path}/work/over {line}")
    until(lambda: os.path.exists(place.path + "/work/over.begun"))
    os.kill(run.process.pid, signal.SIGSTOP)
    over = until(lambda: os.path.exists(place.path + "/work/over"))
    os.kill(run.process.pid, signal.SIGCONT)
    ok(over, f"{action}: its time is over although {os.path.basename(run.process.args[0])} is stopped", run.lines)
    run.answer(waits)
    ok(until(lambda: not place.api("GET", "/api/grants")[1]["grants"]), f"{action}: and the daemon hears of it later")
    for name in os.listdir(place.path + "/work"):
        if name.startswith("over"):
            os.unlink(os.path.join(place.path, "work", name))
    run.end()


def sleeps(place, plain, broker):
    port = serve()
    asks = policy(place, hosts(f"127.0.0.1:{port}"))
    stopped(place, lambda: plain(place, asks), "net.connect", f"127.0.0.1:{port}", f"keep {port}", "more", "y")
    stopped(place, lambda: broker(place, asks), "fs.read", place.path + "/data/a", None, f"read {place.path}/data/a", "first")


def sleeping_host(place):
    sleeps(place, lambda place, asks: Host(place, asks, "plain", 1000), lambda place, asks: Host(place, asks, "broker", 1000))


def sleeping_run(place):
    make = lambda place, asks: questions.Run(place, asks, "--broker", "--ask", "1s")
    sleeps(place, make, make)


def enclave(place):
    port = serve()
    asks = policy(place, hosts(f"127.0.0.1:{port}"), exec=["python3"])
    place.put("work/stays.py", STAYS)
    run = Enclave(place, asks)
    sandbox = run.joined()
    details = until(lambda: (lambda d: d["permissions"] and d)(place.api("GET", "/api/sandboxes/" + sandbox)[1]))
    ok(details and details["kind"] == "enclave" and details["ceiling"], "the daemon knows what an enclave may do, and may be granted", details)
    a, b = place.path + "/data/a", place.path + "/data/b"
    ok(run.do("read " + a) == "asked", "a call of an enclave is asked about", run.lines)
    q = place.question("/data/a")
    ok(q and q["scopes"][:2] == [a, place.path + "/data/**"], "with what it could be allowed for", q)
    done = place.corral("questions", "allow", q["id"], "--for", "1h")
    ok(done.returncode == 0 and run.do("read " + a) == "first" and run.do("read " + a) == "first" and run.do("read " + b) == "asked",
       "allowed for an hour: it and no other", done.stderr, run.lines)
    done = place.corral("grants", "list")
    ok(done.returncode == 0 and a in done.stdout, "corral grants list has it", done.stdout)
    grants = place.api("GET", "/api/grants")[1]["grants"]
    done = place.corral("grants", "remove", grants[0]["id"])
    ok(done.returncode == 0 and run.do("read " + a) == "asked", "corral grants remove: it is asked about again, and no use is left", done.stderr, run.lines)
    done = place.corral("grants", "add", sandbox, "fs.read", place.path + "/data/**")
    ok(done.returncode == 0 and run.do("read " + a) == "first" and run.do("read " + b) == "second", "corral grants add", done.stderr, run.lines)
    ok(run.do(f"read {place.path}/data/secret") == "denied", "a denial inside of it stays one", run.lines)
    done = place.corral("grants", "add", sandbox, "fs.read", place.path + "/other/c")
    ok(done.returncode != 0 and "ceiling" in done.stderr and run.do(f"read {place.path}/other/c") == "denied", "what is not declared is above the ceiling", done.stderr)
    log = place.log("policy")
    ok(place.path + "/data/**" in log and "granted while it runs" in log and "revoked" in log, "it is in the log", log[:2000])
    ok(run.do(f"update {place.path}/policy.json") == "done" and until(lambda: not place.api("GET", "/api/grants")[1]["grants"]) and run.do("read " + a) == "asked",
       "set_policy ends what was granted", run.lines)
    status, answer = grant(place, sandbox, "fs.read", a, seconds=2)
    ok(status in (200, 201) and until(lambda: not place.api("GET", "/api/grants")[1]["grants"]) and run.do("read " + a) == "asked", "so does its time", status, answer, run.lines)
    # Hosts are for commands, too.
    ok(run.do(f"start python3 {place.path}/work/stays.py {port} {place.path}/work") == "done", "a command of an enclave runs", run.lines)
    on, off = place.path + "/work/on", place.path + "/work/off"
    ok(until(lambda: os.path.exists(off)) and not os.path.exists(on), "it does not reach a host that is asked about")
    status, made = grant(place, sandbox, "net.connect", f"127.0.0.1:{port}")
    ok(status in (200, 201) and until(lambda: os.path.exists(on)), "granted while it runs: it does", status, made)
    grants = place.api("GET", "/api/grants")[1]["grants"]
    os.unlink(off)
    done = place.corral("grants", "remove", grants[0]["id"])
    ok(done.returncode == 0 and until(lambda: os.path.exists(off)), "revoked: it is cut off", done.stderr)
    for seconds in (2, 4, 8, 16, 32):
        if os.path.exists(on):
            os.unlink(on)
        status, made = grant(place, sandbox, "net.connect", f"127.0.0.1:{port}", seconds=seconds)
        if until(lambda: os.path.exists(on), seconds):
            break
    os.kill(run.process.pid, signal.SIGSTOP)
    if os.path.exists(off):
        os.unlink(off)
    ok(os.path.exists(on) and until(lambda: os.path.exists(off)), "for a time: it is cut off when that is over, although the program is stopped", status, made)
    os.kill(run.process.pid, signal.SIGCONT)
    grant(place, sandbox, "net.connect", f"127.0.0.1:{port}")
    os.unlink(on)
    ok(until(lambda: os.path.exists(on)), "granted once more", run.lines)
    os.unlink(off)
    ok(run.do(f"update {place.path}/policy.json") == "done" and until(lambda: os.path.exists(off)), "set_policy ends that of hosts, in commands that run", run.lines)
    place.kill()
    place.start()
    ok(run.joined() == sandbox, "it joins the next daemon")
    status, made = grant(place, sandbox, "fs.read", a)
    ok(status in (200, 201) and run.do("read " + a) == "first", "which can grant", status, made, run.lines)
    place.kill()
    ok(run.do("read " + a) == "first", "what it granted lasts when the daemon goes", run.lines)
    place.start()
    ok(until(lambda: any(g["sandbox"] == sandbox for g in place.api("GET", "/api/grants")[1]["grants"])), "and the next one hears of it")
    said = []
    while len(said) < 20 and said[-1:] != ["not asked"]:
        said.append(run.do(f"read {place.path}/data/x{len(said)}"))
        if said[-1] == "asked":
            place.corral("questions", "deny", place.question(f"/data/x{len(said) - 1}")["id"])
    ok(said == ["asked"] * 8 + ["not asked"], "refused eight times: the next call says that the user is not asked, and why", said)
    run.end()


def revoke(place, made):
    listed = place.api("GET", "/api/grants")[1]["grants"]
    return place.corral("grants", "remove", next(g["id"] for g in listed if g["target"] == made))


def holder(program):
    """The process that holds what the program joined."""
    with open(f"/proc/{program}/task/{program}/children", encoding="ascii") as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                if comm.read() == "corral-holder\n":
                    return int(pid)
    return 0


def asleep(place):
    """A program that makes no call: what the daemon orders is in force, and confirmed, nevertheless."""
    port = serve()
    target = f"127.0.0.1:{port}"
    run = Stays(place, port)
    sandbox = run.joined()
    ok(run.becomes(run.off), "a command does not reach a host that is asked about")
    run.sleep()
    status, made = grant(place, sandbox, "net.connect", target)
    ok(status in (200, 201) and run.becomes(run.on), "a program that sleeps: what is granted is in force", status, made)
    done = revoke(place, target)
    ok(done.returncode == 0 and run.becomes(run.off), "and what is revoked is cut", done.stderr)
    status, refused = grant(place, sandbox, "net.connect", "127.0.0.1:1")
    ok(status in (403, 409) and "ceiling" in json.dumps(refused), "above the ceiling it is refused", status, refused)
    status, made = grant(place, sandbox, "net.connect", target)
    ok(status in (200, 201) and run.becomes(run.on), "granted once more")
    place.kill()
    place.start()
    ok(run.becomes(run.on), "it lasts while no daemon is there")
    run.wake()
    ok(run.joined() == sandbox and until(lambda: place.api("GET", "/api/grants")[1]["grants"]), "the program joins the next daemon, which hears of the grant")
    run.sleep()
    done = revoke(place, target)
    ok(done.returncode == 0 and run.becomes(run.off), "and can revoke it while the program sleeps", done.stderr)
    grant(place, sandbox, "net.connect", target)
    ok(run.becomes(run.on), "granted again")
    os.kill(holder(run.process.pid), signal.SIGKILL)
    ok(until(lambda: run.becomes_silent()), "a session whose holder was killed ends: nothing could take back what it has")
    run.wake()
    run.end()


def asleep_asked(place):
    """An answer to what was asked before the program fell asleep, and the end of the sandbox."""
    port = serve()
    run = Stays(place, port, questions.PATIENCE * 1000)
    sandbox = run.joined()
    q = place.question(f":{port}")
    run.sleep()
    ok(place.api("POST", "/api/questions/" + q["id"], {"answer": "once"}) == (200, {"answered": True}) and run.becomes(run.on),
       "an answer reaches a connection that waits while the program sleeps", q)
    ok(place.api("DELETE", "/api/sandboxes/" + sandbox)[0] in (200, 202, 204) and until(lambda: run.becomes_silent()), "its commands are ended while it sleeps")
    run.wake()
    run.end()


def asleep_enclave(place):
    run = Enclave(place, policy(place))
    sandbox = run.joined()
    a = place.path + "/data/a"
    os.kill(run.process.pid, signal.SIGSTOP)
    status, made = grant(place, sandbox, "fs.read", a)
    ok(status in (200, 201), "an enclave that sleeps: a grant is confirmed", status, made)
    os.kill(run.process.pid, signal.SIGCONT)
    ok(run.do("read " + a) == "first", "and the next call is judged by it", run.lines)
    os.kill(run.process.pid, signal.SIGSTOP)
    done = revoke(place, a)
    ok(done.returncode == 0, "a revocation is confirmed", done.stderr)
    os.kill(run.process.pid, signal.SIGCONT)
    ok(run.do("read " + a) == "asked", "and no call after that is judged by what it was", run.lines)
    grant(place, sandbox, "fs.read", a)
    ok(run.do("read " + a) == "first", "granted once more", run.lines)
    os.kill(holder(run.process.pid), signal.SIGKILL)
    ok(until(lambda: run.do("read " + a) != "first"), "without its holder an enclave judges without grants", run.lines)
    run.end()


def attacks(place):
    runtime = place.path + "/run/corral"
    run = Host(place, policy(place))
    waits = run.begin(f"read {place.path}/data/a")
    q = place.question("/data/a")
    ok(q is not None, "a question is open")
    place.api("POST", "/api/questions/" + q["id"], {"answer": "deny"})
    run.answer(waits)
    ok(run.do("try " + runtime + "/token") in ("FileNotFoundError", "PermissionError", "NotADirectoryError"), "a command cannot read the token", run.lines)
    ok(run.do("reach " + runtime + "/api.sock") != "connected" and run.do("reach " + runtime + "/join.sock") != "connected",
       "nor reach the sockets, to answer for itself", run.lines)
    pid = holder(run.process.pid)
    ok(pid and run.do(f"try /proc/{pid}/status") in ("FileNotFoundError", "PermissionError") and run.do(f"try /proc/{pid}/fd/3") in ("FileNotFoundError", "PermissionError"),
       "it does not see the process that has the connection", pid, run.lines)
    run.end()


def main():
    with beside_user(__file__, PROGRAMS, QUESTIONS=QUESTIONS):
        questions.at_once((broker, grants, attacks), (sleeping_host,), (sleeping_run,), (enclave,), (ends,), (asleep,), (asleep_asked, asleep_enclave))
    return end()


if __name__ == "__main__":
    sys.exit(main())
