#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every method of the broker by the socket, from a shell, from Python and from C, in a sandbox that
`corral run --broker` starts: the same answers from each, and the same decisions as `corral policy check`
has. As root, once more as an ordinary user. Prints TAP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from broker_tap import as_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "BROKER_CLIENT")
CORRAL = os.path.abspath(os.environ["CORRAL"])
SDK = os.path.abspath(os.environ["SDK"])
# One of a version manager has its libraries elsewhere, where a list of programs lets none be mapped.
INSIDE = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# Inside. Each reads lines of a method, a tab and its parameters, and prints a line of JSON for each.
SHELL = r"""
while IFS= read -r line; do
	printf '%s' "${line#*	}" | sandbox-call --json "${line%%	*}" - || echo "# $?" >&2
done
"""
PYTHON = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
import corral_broker
with corral_broker.Client() as broker:
    for line in sys.stdin:
        method, params = line.split("\t")
        try:
            print(json.dumps(broker.call(method, **json.loads(params))), flush=True)
        except corral_broker.BrokerError as error:
            print(json.dumps({"error": {"code": error.code, "message": error.message, "data": error.data}}), flush=True)
"""
# Functions of the shell library, in the same place.
LIBRARY = r"""
. "$1/corral.sh" && cd "$2" || exit 1
corral_ping && echo ping
printf 'a "b"\n' | corral_write "out/o f" && corral_read "out/o f"
corral_list out && corral_stat "out/o f" | head -n 2
corral_delete "out/o f" && corral_stat "out/o f" 2>/dev/null || echo "status $?"
corral_run echo "a  b" '@c'; corral_run sh -c 'echo err >&2; exit 7' || echo "status $?"
corral_env GRANTED; corral_env OTHER 2>/dev/null || echo "status $?"
corral_allowed fs.read "$2/file" && echo allowed
corral_allowed fs.read /etc/shadow || echo "status $?"
"""

class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-methods-"))
        self.work = os.path.join(self.top, "work")
        for name in ("home", "work", "work/out", "work/sdk", "work/bin"):
            os.mkdir(os.path.join(self.top, name))
        self.put("work/file", "text\n")
        with open(os.path.join(self.work, "bytes"), "wb") as file:
            file.write(b"\x00\xff")
        os.symlink("/etc/hostname", os.path.join(self.work, "link"))
        for path in ("python/corral_broker.py", "sh/corral.sh"):
            shutil.copy(os.path.join(SDK, path), os.path.join(self.work, "sdk"))
        self.client = shutil.copy(os.environ["BROKER_CLIENT"], os.path.join(self.work, "bin"))
        self.policy = self.put("policy.yaml", f"""
fs:
  read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/ld.so.cache, {self.work}/**]
  write: [{self.work}/out/**]
  deny: [{self.work}/secret/**]
env: [GRANTED, UNSET]
exec: [echo, sh, head, cat, python3, {INSIDE}, {self.client}]
""")
        self.env = {**os.environ, "HOME": os.path.join(self.top, "home"), "GRANTED": "yes", "OTHER": "no"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CORRAL_AUDIT", "UNSET"):
            self.env.pop(name, None)

    def put(self, name, text):
        path = os.path.join(self.top, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, *words, stdin=""):
        log = ["--audit", os.path.join(self.top, "log.db")] if words[0] == "run" else []
        return subprocess.run([CORRAL, words[0], *log, *words[1:]], cwd=self.work, env=self.env, input=stdin, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120)

    def inside(self, *command, stdin=""):
        return self.run("run", "--broker", "--policy", self.policy, "--", *command, stdin=stdin)

    def end(self):
        shutil.rmtree(self.top)


def cases(scene):
    """Method, parameters, and what is wanted: fields of the result, or the class of the error and its code."""
    work = scene.work
    return (
        ("ping", {"echo": "é"}, {"pong": True, "echo": "é"}),
        ("fs.read", {"path": f"{work}/file"}, {"content": "text\n", "encoding": "utf-8", "size": 5}),
        ("fs.read", {"path": "file"}, {"content": "text\n"}),
        ("fs.read", {"path": f"{work}/bytes"}, {"content": "AP8=", "encoding": "base64"}),
        ("fs.read", {"path": f"{work}/bytes", "encoding": "hex"}, {"content": "00ff", "encoding": "hex"}),
        ("file_read", {"path": f"{work}/file"}, {"content": "text\n"}),
        ("file_read", {"path": "/etc/shadow"}, ("permission", 1001)),
        ("fs.read", {"path": "/etc/shadow"}, ("permission", -32001)),
        ("fs.read", {"path": f"{work}/link"}, ("permission", -32001)),
        ("fs.read", {"path": f"{work}/../home/x"}, None),
        ("fs.read", {"path": f"{work}/none"}, ("path", -32007)),
        ("fs.write", {"path": f"{work}/out/new", "content": "AP8=", "encoding": "base64", "mode": 0o600}, {"bytesWritten": 2}),
        ("file_write", {"path": f"{work}/out/new", "content": "x"}, {"bytesWritten": 1}),
        ("fs.write", {"path": f"{work}/file", "content": "x"}, ("permission", -32001)),
        ("fs.list", {"path": f"{work}/out"}, {"entries": ["new"]}),
        ("file_list", {"path": work, "pattern": "f*"}, {"entries": ["file"]}),
        ("fs.stat", {"path": f"{work}/out/new"}, {"type": "file", "size": 1}),
        ("fs.delete", {"path": f"{work}/out/new"}, {"deleted": True}),
        ("fs.delete", {"path": f"{work}/out/new"}, ("path", -32007)),
        ("exec.run", {"command": "echo", "args": ["a", "b"]}, {"exitCode": 0, "stdout": "a b\n"}),
        ("exec.run", {"command": "sh", "args": ["-c", "cat; exit 3"], "stdin": "in"}, {"exitCode": 3, "stdout": "in"}),
        ("exec", {"command": "echo", "args": ["a"]}, {"exitCode": 0, "stdout": "a\n"}),
        ("exec.run", {"command": "rm", "args": ["x"]}, ("permission", -32001)),
        ("env.get", {"name": "GRANTED"}, {"value": "yes", "set": True}),
        ("env.get", {"name": "UNSET"}, {"set": False}),
        ("env.get", {"name": "OTHER"}, ("permission", -32001)),
        ("policy_check", {"operation": "fs.read", "target": f"{work}/file"}, {"allowed": True}),
        ("events_batch", {"events": [{"a": 1}]}, {"received": 1}),
        ("browser.open", {"url": "https://example.com/"}, ("permission", -32001)),
        ("open_url", {"url": "https://example.com/"}, ("permission", 1001)),
        ("network.http", {"url": "https://example.com/"}, None),
        ("http_request", {"url": "https://example.com/"}, None),
        ("network.download", {"url": "https://example.com/", "saveTo": f"{work}/out/x"}, None),
        ("secret_inject", {"name": "x"}, ("permission", 1001)),
        ("skill_install", {}, ("permission", 1001)),
        ("skill_uninstall", {}, ("permission", 1001)),
        ("fs.read", {"paht": "x"}, ("parameters", -32602)),
        ("fs.raed", {"path": "x"}, ("method", -32601)),
    )


def fits(wanted, got):
    if wanted is None:  # refused, whatever this Corral was built with
        return "error" in got
    if isinstance(wanted, tuple):
        return "error" in got and (got["error"]["data"]["class"], got["error"]["code"]) == wanted
    if "entries" in wanted:
        return [entry["name"] for entry in got.get("entries", [])] == wanted["entries"]
    return all(got.get(key) == value for key, value in wanted.items())


def steady(answer):
    """Without what differs from call to call."""
    return {key: value for key, value in answer.items() if key not in ("timestamp", "modified", "mtime")}


def test_methods(scene):
    calls = cases(scene)
    lines = "".join(f"{method}\t{json.dumps(params)}\n" for method, params, _ in calls)
    requests = "".join(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"
                       for method, params, _ in calls)
    runs = {
        "sh": scene.inside("sh", "-c", SHELL, stdin=lines),
        "python": scene.inside(INSIDE, "-B", "-c", PYTHON, f"{scene.work}/sdk", stdin=lines),
        "C": scene.inside(scene.client, stdin=requests),
    }
    answers = {}
    for language, run in runs.items():
        got = [json.loads(line) for line in run.stdout.splitlines()]
        got = [one.get("result", one) for one in got] if language == "C" else got
        answers[language] = [{"error": one["error"]} if "error" in one else one for one in got]
        ok(len(got) == len(calls), f"{language}: every call is answered", run)
    for place, (method, params, wanted) in enumerate(calls):
        got = {language: some[place] if place < len(some) else {} for language, some in answers.items()}
        ok(all(fits(wanted, one) for one in got.values()), f"{method} {json.dumps(params)[:60]}", wanted, got)
        # What a shell's own check refuses has no line of the broker's; all else is the same.
        ok(len({json.dumps(steady(one), sort_keys=True) for one in got.values() if "entries" not in one}) <= 1,
           f"{method}: the same from each", got)


def test_same_decisions(scene):
    work = scene.work
    questions = [("fs.read", f"{work}/file"), ("fs.read", "/etc/shadow"), ("fs.read", f"{work}/secret/x"), ("fs.write", f"{work}/out/x"),
                 ("fs.write", f"{work}/file"), ("exec", "echo"), ("exec", "rm -rf /"), ("exec", "git log -1"),
                 ("env", "GRANTED"), ("env", "OTHER"), ("fs.write", f"{work}/none/x"), ("fs.read", f"{work}/link"), ("net.connect", "https://example.com/")]
    lines = "".join("policy_check\t" + json.dumps({"operation": operation, "target": target}) + "\n" for operation, target in questions)
    run = scene.inside("sh", "-c", SHELL, stdin=lines)
    got = [json.loads(line) for line in run.stdout.splitlines()]
    ok(len(got) == len(questions), "policy_check answers", run)
    for (operation, target), answer in zip(questions, got):
        check = scene.run("policy", "check", "--policy", scene.policy, "--op", operation, "--target", target)
        ok(answer.get("allowed") == (check.returncode == 0) and check.returncode in (0, 1),
           f"policy_check and `corral policy check`: {operation} {target}", answer, check)


def test_library(scene):
    run = scene.inside("sh", "-c", LIBRARY, "sh", f"{scene.work}/sdk", scene.work)
    ok(run.stdout.splitlines() == [
        "ping", 'a "b"', f"{scene.work}/out/o f", f"path: {scene.work}/out/o f", "type: file", "status 9", "a  b @c", "status 7",
        "yes", "status 3", "allowed", "status 1"], "the shell library", run)


def test_tight(scene):
    """The program needs its socket and nothing else: no library, no /proc, no /tmp, no other program."""
    tight = scene.put("tight.yaml", f"fs: {{read: [{scene.work}/file]}}\nexec: []\n")
    run = scene.run("run", "--broker", "--policy", tight, "--", "/dev/corral/sandbox-call", "fs.read", f"path={scene.work}/file")
    ok((run.returncode, run.stdout) == (0, "text\n"), "sandbox-call in a sandbox with nothing else", run)


def main():
    doctor = subprocess.run([CORRAL, "doctor"], stdout=subprocess.PIPE, text=True, check=False)
    if doctor.returncode == 1:
        print("1..0 # SKIP kernel: " + doctor.stdout.splitlines()[0])
        return 0
    scene = Scene()
    try:
        for test in (test_methods, test_same_decisions, test_library, test_tight):
            test(scene)
    finally:
        scene.end()
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS, SDK=SDK)
    return end()


if __name__ == "__main__":
    sys.exit(main())
