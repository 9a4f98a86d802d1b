#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The broker's methods from inside a sandbox, by its socket: what each answers and refuses, that policy_check
says what `corral policy check` says, that calls obey it, and that no path leads out of what is granted. As
root, once more as an ordinary user. Prints TAP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from broker_tap import as_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER")
CORRAL, PATIENCE = os.path.abspath(os.environ["CORRAL"]), 60

# Inside: the calls are JSON on stdin, a list of [method, params]; the answers are JSON on stdout. Each is
# the list of lines up to the answer: notifications come first.
CALLER = r"""
import json, os, socket, sys
def setup():
    os.makedirs("out/own", exist_ok=True)
    open("/tmp/private", "w").write("of the session")
    for name, target in (("link", "/etc/passwd"), ("up", "../../../../etc/passwd"), ("loop", "loop"), ("proc", "/proc/self/environ"),
                         ("own-link", "../file")):
        os.symlink(target, "out/" + name)
    os.mkfifo("out/fifo")
    os.symlink("/etc/passwd", "/tmp/to-etc")
if "setup" in sys.argv:
    setup()
answers = []
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SANDBOX_SOCKET"])
f = s.makefile("rw")
for n, (method, params) in enumerate(json.load(sys.stdin)):
    f.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}) + "\n")
    f.flush()
    lines = []
    while not lines or "method" in lines[-1]:
        lines.append(json.loads(f.readline()))
    answers.append(lines)
print(json.dumps(answers))
"""

POLICY = """fs:
  read: [/usr/**, /lib/**, /lib64/**, /bin/**, $WORK_DIR, $WORK_DIR/**]
  write: [$WORK_DIR/out, $WORK_DIR/out/**]
  deny: [$WORK_DIR/secret, $WORK_DIR/out/sealed/**]
exec: [python3, echo, cat, seq, git, sh]
env: [LANG, GIVEN]
network:
  allow: ["api.example.com:443", "*.cdn.example.com:443"]
services:
  browser: {access: open, domains: [example.com]}
"""

# As both `corral policy check` and policy_check take them.
TARGETS = (
    ("fs.read", "file"), ("fs.read", "./out/../file"), ("fs.read", "secret"), ("fs.read", "/etc/passwd"), ("fs.read", "/usr/bin"),
    ("fs.read", "/usr/bin/env"), ("fs.read", "/etc/shadow"), ("fs.read", "out/link"), ("fs.read", "out/own-link"), ("fs.read", "/"),
    ("fs.write", "file"), ("fs.write", "out/new"), ("fs.write", "out/sealed/x"), ("fs.write", "out/link"), ("fs.write", "/usr/bin/x"),
    ("fs.write", "out/../secret"), ("exec", "echo"), ("exec", "echo hello"), ("exec", "ls"), ("exec", "/usr/bin/ls"),
    ("exec", "git status -s"), ("exec", "git push"), ("exec", "./out/new"), ("exec", "no-such-program"), ("env", "LANG"), ("env", "GIVEN"),
    ("env", "HOME"), ("env", "LD_PRELOAD"), ("net.connect", "api.example.com:443"), ("net.connect", "https://api.example.com/v1"),
    ("net.connect", "http://api.example.com/"), ("net.connect", "evil-api.example.com:443"), ("net.connect", "a.cdn.example.com:443"),
    ("net.connect", "cdn.example.com.evil.com:443"), ("net.connect", "http://169.254.169.254/"), ("net.connect", "127.0.0.1:80"),
    ("service", "browser.open:https://example.com/"), ("service", "browser.open:https://evilexample.com/"),
    ("service", "calendar.read"), ("service", "browser.eval:https://example.com/"),
)

class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-methods-"))
        for name in ("home", "work", "work/out", "work/out/sealed"):
            os.mkdir(self.path(name))
        for name, text in (("work/file", "hello\n"), ("work/secret", "secret\n"), ("policy.yaml", POLICY)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        self.env = {**os.environ, "HOME": self.path("home"), "GIVEN": "given-value", "LANG": "C.UTF-8", "HIDDEN": "hidden-value"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CORRAL_AUDIT"):
            self.env.pop(name, None)

    def path(self, name):
        return os.path.join(self.top, name)

    def corral(self, *words, text=""):
        return subprocess.run([CORRAL, *words], cwd=self.path("work"), env=self.env, input=text, text=True, check=False,
                              timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def calls(self, calls, *options, words=()):
        """The answers, each a list of lines, of which the last is the answer itself."""
        done = self.corral("run", "--broker", "--policy", self.path("policy.yaml"), *options, "--", "/usr/bin/python3", "-c", CALLER, *words,
                           text=json.dumps(calls))
        try:
            return json.loads(done.stdout)
        except ValueError:
            ok(False, "the calls could be made", done.returncode, done.stdout, done.stderr)
            return [[{}]] * len(calls)

    def end(self):
        shutil.rmtree(self.top)


def code(lines):
    return lines[-1].get("error", {}).get("code", 0)


def test_checks(scene):
    """The same answers, and those that calls get."""
    for name in ("link", "own-link"):
        target = "/etc/passwd" if name == "link" else "../file"
        os.symlink(target, scene.path("work/out/" + name))
    answers = scene.calls([["policy_check", {"operation": op, "target": target}] for op, target in TARGETS])
    for (op, target), lines in zip(TARGETS, answers):
        done = scene.corral("policy", "check", "--policy", scene.path("policy.yaml"), "--op", op, "--target", target)
        allowed = lines[-1].get("result", {}).get("allowed")
        ok(done.returncode in (0, 1) and allowed == (done.returncode == 0), f"policy_check as policy check: {op} {target}", done.returncode,
           done.stdout, done.stderr, lines)
    for name in ("link", "own-link"):
        os.unlink(scene.path("work/out/" + name))


def test_links(scene):
    """Links lead out of what is granted, to others that the command cannot see: whether there is something behind those
    is not told."""
    os.symlink(shutil.copy("/usr/bin/true", scene.path("there")), scene.path("to-there"))
    os.symlink("/usr/bin/true", scene.path("to-granted"))
    for name in ("there", "granted", "nothing"):
        os.symlink(scene.path("to-" + name), scene.path("work/" + name))
    with open(scene.path("policy.yaml"), "w", encoding="utf-8") as file:
        file.write("fs:\n  read: [/usr/**, /lib/**, /lib64/**, /bin/**, $WORK_DIR, $WORK_DIR/**]\n")
    for op in ("exec", "fs.read"):
        answers = scene.calls([["policy_check", {"operation": op, "target": scene.path("work/" + name)}] for name in ("there", "granted", "nothing")])
        said = [json.dumps(a[-1].get("result", a)).replace("there", "X").replace("granted", "X").replace("nothing", "X") for a in answers]
        ok(said[0] == said[1] == said[2], f"policy_check: {op}: what the command cannot see is not told of", answers)


def test_files(scene):
    calls = {
        "read": ("fs.read", {"path": "file"}, 0),
        "read by AgenShield's name": ("file_read", {"path": "file"}, 0),
        "read what is denied": ("fs.read", {"path": "secret"}, -32001),
        "the same by the other name": ("file_read", {"path": "secret"}, 1001),
        "read what is not there": ("fs.read", {"path": "missing"}, -32007),
        "read by ..": ("fs.read", {"path": "../../../../etc/passwd"}, -32001),
        "read by a link": ("fs.read", {"path": "out/link"}, -32001),
        "read by a link that climbs": ("fs.read", {"path": "out/up"}, -32001),
        "read a link to itself": ("fs.read", {"path": "out/loop"}, -32007),
        "read a link into what is granted": ("fs.read", {"path": "out/own-link"}, 0),
        "read /proc by a link": ("fs.read", {"path": "out/proc"}, -32001),
        "read /proc": ("fs.read", {"path": "/proc/1/environ"}, -32001),
        "read a FIFO": ("fs.read", {"path": "out/fifo"}, -32007),
        "read a folder": ("fs.read", {"path": "out"}, -32007),
        "read the session's own": ("fs.read", {"path": "/tmp/private"}, 0),
        "check a link of the session's own": ("policy_check", {"operation": "fs.read", "target": "/tmp/to-etc"}, 0),
        "read a link of the session's own": ("fs.read", {"path": "/tmp/to-etc"}, -32001),
        "check the session's own": ("policy_check", {"operation": "fs.write", "target": "/tmp/private"}, 0),
        "write": ("fs.write", {"path": "out/new", "content": "new"}, 0),
        "write where one may only read": ("fs.write", {"path": "file", "content": "x"}, -32001),
        "write through a link": ("fs.write", {"path": "out/link", "content": "x"}, -32001),
        "write what is sealed": ("file_write", {"path": "out/sealed/x", "content": "x"}, 1001),
        "list": ("fs.list", {"path": ".", "recursive": True, "glob": "**/new"}, 0),
        "list what is not granted": ("fs.list", {"path": "/etc"}, -32001),
        "stat": ("fs.stat", {"path": "out/new"}, 0),
        "stat what is not granted": ("fs.stat", {"path": "/etc/shadow"}, -32001),
        "delete": ("fs.delete", {"path": "out/new"}, 0),
        "delete where one may only read": ("fs.delete", {"path": "file"}, -32001),
    }
    answers = dict(zip(calls, scene.calls([[method, params] for method, params, _ in calls.values()], words=["setup"])))
    for name, (_, _, wanted) in calls.items():
        ok(code(answers[name]) == wanted, f"files: {name}", wanted, answers[name])
    ok(answers["read"][-1].get("result", {}).get("content") == "hello\n", "files: what was read is what is there", answers["read"])
    data = answers["read what is denied"][-1].get("error", {}).get("data", {})
    ok("policy.yaml:4" in data.get("rule", "") and "$WORK_DIR" in str(data.get("allowed")), "files: a refusal names rule and what is allowed", data)
    own = answers["check the session's own"][-1].get("result", {}), answers["check a link of the session's own"][-1].get("result", {})
    ok([o.get("allowed") for o in own] == [True, False], "files: policy_check knows the session's own folders, and links in them", own)
    entries = answers["list"][-1].get("result", {}).get("entries", [])
    ok([e["path"] for e in entries] == [scene.path("work/out/new")], "files: a list has paths", entries)
    with open(scene.path("work/file"), encoding="utf-8") as file:
        ok(file.read() == "hello\n" and not os.path.exists(scene.path("work/out/new")), "files: nothing else changed")


def test_programs(scene):
    calls = {
        "run": ("exec.run", {"command": "echo", "args": ["a", "b"]}, 0),
        "run with input": ("exec", {"command": "cat"}, 0),
        "read from stdin": ("exec.run", {"command": "cat", "stdin": "in"}, 0),
        "run what is not listed": ("exec.run", {"command": "ls"}, -32001),
        "the same by the other name": ("exec", {"command": "ls"}, 1001),
        "a variable that is not granted": ("exec.run", {"command": "echo", "env": {"LD_PRELOAD": "x"}}, -32001),
        "a shell": ("exec", {"command": "echo", "shell": True}, 1003),
        "a folder that is not granted": ("exec.run", {"command": "echo", "cwd": "/etc"}, -32001),
        "what it may not read": ("exec.run", {"command": "cat", "args": ["secret"]}, 0),
        "too long": ("exec.run", {"command": "sh", "args": ["-c", "while :; do :; done"], "timeout": 300}, 0),
        "its signal": ("exec.run", {"command": "sh", "args": ["-c", "kill -TERM $$"]}, 0),
        "notes": ("exec.run", {"command": "seq", "args": ["3"], "stream": True}, 0),
    }
    answers = dict(zip(calls, scene.calls([[method, params] for method, params, _ in calls.values()])))
    for name, (_, _, wanted) in calls.items():
        ok(code(answers[name]) == wanted, f"programs: {name}", wanted, answers[name])

    def result(name):
        return answers[name][-1].get("result", {})

    ok(result("run").get("stdout") == "a b\n" and result("run").get("exitCode") == 0, "programs: output", answers["run"])
    ok(result("read from stdin").get("stdout") == "in", "programs: input", answers["read from stdin"])
    ok(result("what it may not read").get("exitCode") != 0 and "secret\n" not in result("what it may not read").get("stdout", ""),
       "programs: the sandbox has the same permissions", answers["what it may not read"])
    ok(result("too long").get("timedOut") is True, "programs: the time is bounded", answers["too long"])
    ok(result("its signal").get("signal") == "SIGTERM", "programs: a signal has its name", answers["its signal"])
    notes = [line["params"] for line in answers["notes"][:-1] if line.get("method") == "exec.output"]
    ok("".join(n["data"] for n in notes) == "1\n2\n3\n" and all(n["stream"] == "stdout" for n in notes), "programs: output by notifications",
       answers["notes"])


def test_rest(scene):
    calls = {
        "ping": ("ping", {"echo": "x"}, 0),
        "env.get": ("env.get", {"name": "GIVEN"}, 0),
        "env.get of what is not granted": ("env.get", {"name": "HIDDEN"}, -32001),
        "open_url": ("open_url", {"url": "https://example.com/"}, 1006),
        "browser.open out of its scope": ("browser.open", {"url": "https://evilexample.com/"}, -32002),
        "secret_inject": ("secret_inject", {"name": "k"}, 1001),
        "skill_install": ("skill_install", {}, 1001),
        "events": ("events_batch", {"events": [{"type": "tool", "decision": "allowed", "v": "given-value"}]}, 0),
        "events that are none": ("events_batch", {"events": [1]}, 1003),
        "a method that is none": ("fs.raed", {}, -32601),
        "a parameter that is none": ("fs.read", {"path": "file", "mode": 1}, -32602),
    }
    log = scene.path("home/log")
    answers = dict(zip(calls, scene.calls([[method, params] for method, params, _ in calls.values()], "--audit", log)))
    for name, (_, _, wanted) in calls.items():
        ok(code(answers[name]) == wanted, f"the rest: {name}", wanted, answers[name])
    ok(answers["env.get"][-1].get("result", {}).get("value") == "given-value", "the rest: a granted variable has its value", answers["env.get"])
    listed = scene.corral("audit", "list", "--json", log).stdout
    events = [json.loads(line) for line in listed.splitlines()]
    own = [e for e in events if e.get("target") == "events_batch"]
    ok(len(own) == 1 and own[0].get("decision") in (None, "", "none") and "own words" in own[0].get("rule", "") and not own[0].get("exact"),
       "the log has the caller's words, marked as such", own)
    ok(any(e.get("action") == "env" and e.get("target") == "HIDDEN" and e.get("decision") == "denied" for e in events), "and what was denied",
       listed[-2000:])
    ok("hidden-value" not in listed and "given-value" not in listed, "and no values of variables", listed[-2000:])


def test_events(scene):
    """A program that fills the log: what is above the rate is refused, and the rest is there."""
    log = scene.path("home/log")
    answers = scene.calls([["events_batch", {"events": [{"n": i}] * 200}] for i in range(30)], "--audit", log)
    refused = [a for a in answers if code(a) == 1001 and "too many events" in a[-1]["error"]["message"]]
    taken = [a for a in answers if code(a) == 0]
    ok(refused and len(taken) >= 10 and len(refused) + len(taken) == 30, "events: more than a session may add are refused", answers[-1])
    listed = scene.corral("audit", "list", "--json", log).stdout
    own = [e for e in map(json.loads, listed.splitlines()) if e.get("target") == "events_batch"]
    ok(sum(e.get("count", 1) for e in own) == 200 * len(taken), "events: those that were taken are in the log", len(own), len(taken))


def test_shield(scene):
    """AgenShield's own kind of file: what matches its denied patterns is neither read nor made, and a URL that it denies is not reached."""
    url = "http://127.0.0.1:1"

    def rule(id, type, operations, patterns, priority):
        return {"id": id, "name": id, "type": type, "operations": operations, "patterns": patterns, "enabled": True, "priority": priority}

    rules = {"version": "1.0.0", "defaultAction": "allow",
             "rules": [rule("admin", "denylist", ["http_request"], [url + "/admin"], 10), rule("web", "allowlist", ["http_request"], [url + "/**"], 1)],
             "fsConstraints": {"allowedPaths": [scene.top, "/usr", "/lib", "/lib64", "/bin"], "deniedPatterns": ["**/.env", "**/*.key"]}}
    with open(scene.path("policy.yaml"), "w", encoding="utf-8") as file:
        json.dump(rules, file)
    with open(scene.path("work/out/old.key"), "w", encoding="utf-8") as file:
        file.write("key\n")
    os.symlink("old.key", scene.path("work/out/innocent"))
    os.symlink("made.key", scene.path("work/out/dangling"))
    calls = {
        "a plain file is read": ("file_read", {"path": "file"}, 0),
        "a name that matches is not read": ("file_read", {"path": "out/old.key"}, 1001),
        "or by a link of another name": ("file_read", {"path": "out/innocent"}, 1001),
        "or deleted": ("fs.delete", {"path": "out/old.key"}, -32001),
        "a plain file is made": ("file_write", {"path": "out/plain", "content": "x"}, 0),
        "a name that matches is not made": ("file_write", {"path": "out/new.key", "content": "x"}, 1001),
        "by the other method": ("fs.write", {"path": "out/.env", "content": "x"}, -32001),
        "by a path that climbs": ("fs.write", {"path": "out/sealed/../.env", "content": "x"}, -32001),
        "or through a link to it": ("fs.write", {"path": "out/dangling", "content": "x"}, -32001),
    }
    urls = {"/granted": True, "/admin": False, "/admin?x=1": False, "/x/../%61dmin": False, "/administer": True}
    answers = dict(zip(calls, scene.calls([[method, params] for method, params, _ in calls.values()])))
    for name, (_, _, wanted) in calls.items():
        ok(code(answers[name]) == wanted, f"AgenShield's rules: {name}", wanted, answers[name])
    answers = scene.calls([["policy_check", {"operation": "net.connect", "target": url + path}] for path in urls])
    allowed = [a[-1].get("result", {}).get("allowed") for a in answers]
    ok(allowed == list(urls.values()), "AgenShield's rules: a URL is denied by its path, however it is spelt", answers)
    made = sorted(os.listdir(scene.path("work/out")))
    ok(made == ["dangling", "innocent", "old.key", "plain", "sealed"], "AgenShield's rules: nothing else was made", made)


def main():
    for test in (test_checks, test_links, test_files, test_programs, test_rest, test_events, test_shield):
        scene = Scene()
        try:
            test(scene)
        finally:
            scene.end()
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
