#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run --explain`: real programs, each with one grant missing.

    explain.py --corral PROGRAM [--only WORD] [--verbose]     prints TAP

Every row works bare. Inside, one thing is missing, and it fails. `--explain --json` is asked what,
and the first option that it names is added, nothing else: then the row must work. Last come
programs that lack nothing, of which nothing may be said.

As root everything is done twice, as in run.py.
"""

import argparse
import collections
import contextlib
import json
import os
import socket
import sys
import threading

import run as programs

Row = collections.namedtuple(
    "Row",
    [
        "name",
        "run",  # a script for bash, or a list of words; {out}, {ws}, {port} as in table.py
        "line",  # what must be named
        "prepare",  # a script, run bare beforehand, in the folder {out}
        "needs",
        "options",  # what is granted already
        "see",  # in standard output, once it works
        "place",  # as in table.py
    ],
    defaults=("", (), (), "", ""),
)

ROWS = [
    Row("git: a repository elsewhere", ["git", "clone", "-q", "{out}/origin", "copy"],
        "--read {out}/origin/.git", needs=["git"]),
    Row("git: who the author is", ["git", "commit", "-q", "--allow-empty", "-m", "more"],
        "--read {home}/.gitconfig", needs=["git"], place="repository"),
    Row("git: settings that git goes by later", ["git", "config", "user.name", "Other"],
        "--write {ws}/.git/config", needs=["git"], place="repository"),
    Row("git: a file with settings", ["git", "config", "--file", "{out}/settings", "a.b"],
        "--read {out}/settings", "printf '[a]\\nb = set\\n' >settings", ["git"], see="set"),
    Row("npm: a package elsewhere",
        ["npm", "--no-update-notifier", "--prefix", "npm/app", "install", "--offline", "--no-audit",
         "--no-fund", "--install-links", "{out}/words"],
        "--read {out}/words", "cp -r ../ws/npm/words .", ["npm"], see="added"),
    Row("make: a file of rules", ["make", "-f", "{out}/rules.mk", "-s"], "--read {out}/rules.mk",
        "printf 'all:\\n\\t@echo made\\n' >rules.mk", ["make"], see="made"),
    Row("make: what a target is made of", ["make", "-s", "-C", "text", "-f", "../rules"],
        "--read {out}/data/words",
        "echo words >data/words; "
        "printf 'all: {out}/data/words\\n\\t@cat $^\\n' >../ws/rules", ["make"], see="words"),
    Row("gcc: a folder of headers", ["gcc", "-I{out}/include", "-o", "prog", "prog.c"],
        "--read {out}/include",
        "mkdir -p include; echo '#define ONE 0' >include/one.h; "
        "printf '#include <one.h>\\nint main(void) { return ONE; }\\n' >../ws/prog.c", ["gcc"]),
    Row("the loader: a library", ["{out}/bin/prog"], "--read {out}/lib",
        "mkdir -p bin lib; echo 'int one(void) { return 0; }' >one.c; "
        "echo 'int one(void); int main(void) { return one(); }' >prog.c; "
        "gcc -shared -fPIC -o lib/libone.so one.c; "
        "gcc -o bin/prog prog.c -Llib -lone -Wl,-rpath,{out}/lib", ["gcc"],
        ["--read", "{out}/bin"]),
    Row("the kernel: the loader of a program", "'{out}/bin/prog'; exit $?", "--read {out}/ld",
        "mkdir -p bin ld; echo 'int main(void) { return 0; }' >prog.c; "
        "cp \"$(ldd /bin/sh | grep -o '/[^ ]*/ld-[^ ]*')\" ld/ld.so; "
        "gcc -o bin/prog prog.c -Wl,--dynamic-linker={out}/ld/ld.so", ["gcc"],
        ["--read", "{out}/bin"]),
    Row("curl: a server of the host", ["curl", "-sf", "http://127.0.0.1:{port}/"],
        "--net 127.0.0.1:{port}", needs=["curl"], see="served"),
    Row("curl: the same by its name", ["curl", "-sf", "http://localhost:{port}/"],
        "--net 127.0.0.1:{port}", needs=["curl"], see="served"),
    Row("curl: a socket of the host",
        ["curl", "-sf", "--unix-socket", "{out}/door", "http://door/"], "--net unix:{out}/door",
        needs=["curl"], see="served"),
    Row("python: a folder of modules",
        ["python3", "-c", "import sys; sys.path[:0] = ['{out}/modules']; import part"],
        "--read {out}/modules",
        "mkdir -p modules; echo 'import other' >modules/part.py; echo 'print(7)' >modules/other.py",
        ["python3"], see="7"),
    Row("python: a file", ["python3", "-m", "json.tool", "{out}/data/a.json"],
        "--read {out}/data/a.json", "echo '{}' >data/a.json", ["python3"], see="{}"),
    Row("node: a script, and what it loads", ["node", "{out}/js/main.js"], "--read {out}/js",
        "mkdir -p js; echo 'require(\"./part\")' >js/main.js; echo 'console.log(7)' >js/part.js",
        ["node"], see="7"),
    Row("perl: a module, and what it loads", ["perl", "-I{out}/lib", "-MPart", "-e", "1"],
        "--read {out}/lib",
        "mkdir -p lib; echo 'package Part; use Other; 1' >lib/Part.pm; "
        "echo 'package Other; print 7; 1' >lib/Other.pm", ["perl"], see="7"),
    Row("jq: a file", ["jq", "-r", ".a", "{out}/data/b.json"], "--read {out}/data/b.json",
        "echo '{\"a\": 7}' >data/b.json", ["jq"], see="7"),
    Row("sed -i: a folder that may only be read", ["sed", "-i", "s/a/b/", "{out}/data/text"],
        "--write {out}/data", "echo a >data/text", options=["--read", "{out}/data"]),
    Row("tar: an archive elsewhere", ["tar", "cf", "{out}/data/a.tar", "text"],
        "--write {out}/data", "rm -f data/a.tar"),
    Row("bash: a line more in a file", "echo more >>'{out}/data/log' && cat '{out}/data/log'",
        "--write {out}/data/log", "echo one >data/log", see="more"),
    Row("bash: a program elsewhere", "'{out}/bin/tool'", "--read {out}/bin/tool",
        "mkdir -p bin; printf '#!/bin/sh\\necho tool\\n' >bin/tool; chmod 755 bin/tool",
        see="tool"),
    Row("bash: a program that is not on the list", "sed s/a/b/ text/fruit >/dev/null", "--exec sed",
        options=["--policy", "{policy}/list.yaml", "--exec", "bash"]),
    Row("mkdir -p: where it may only be read", ["mkdir", "-p", "{out}/data/d/e/f"],
        "--write {out}/data", "rm -rf data/d", options=["--read", "{out}/data"]),
    Row("ssh-keygen: a new key", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                                  "{out}/data/key"], "--write {out}/data",
        "rm -f data/key*", ["ssh-keygen"]),
    Row("realpath: one link after the other", ["realpath", "-e", "{out}/data/deep/er"],
        "--read {out}/data/deep/er", "mkdir -p data/deep/er", see="deep/er"),
]

# Of these nothing is said: what they do not find is not there at all, or does not matter.
# Rows whose line has the words that must not be said.
UNRELATED = [
    Row("a test of go that fails", "cd go-fails && go test ./...", ".cache dangerously",
        "mkdir -p {home}/.cache/go-build ../ws/go-fails && cd ../ws/go-fails && printf 'module x\\n\\ngo 1.15\\n' >go.mod && "
        "printf 'package x\\nimport \"testing\"\\nfunc TestX(t *testing.T) { t.Fatal(1) }\\n' >x_test.go", ["go"]),
    Row("a test of npm that fails", "cd npm-fails && npm --no-update-notifier --offline test", "dangerously .npmrc",
        "echo '//registry.npmjs.org/:_authToken=x' >{home}/.npmrc; mkdir -p ../ws/npm-fails; "
        "echo '{\"name\": \"x\", \"scripts\": {\"test\": \"cat {out}/npm-words; exit 1\"}}' >../ws/npm-fails/package.json; echo x >npm-words", ["npm"]),
    Row("a test of python that fails", ["python3", "-c", "import os; os.makedirs(os.path.expanduser('~/.cache/tool/x'), exist_ok=True); raise SystemExit(1)"],
        ".cache", "mkdir -p {home}/.cache/tool", ["python3"]),
]

QUIET = [
    ("git status", ["git", "status"], "repository"),
    ("git log", ["git", "log", "--oneline"], "repository"),
    ("bash, a login shell", ["bash", "-lc", "true"], ""),
    ("python3", ["python3", "-c", "import json, sqlite3, ssl, subprocess"], ""),
    ("python3 -m venv", ["python3", "-m", "venv", "--without-pip", "v"], ""),
    ("node", ["node", "-e", "require('fs').readdirSync('.')"], ""),
    ("npm --version", ["npm", "--version"], ""),
    ("make, with gcc", ["make", "-s", "-C", "project"], ""),
    ("perl", ["perl", "-MPOSIX", "-e", "1"], ""),
    ("tar, sed, find", "tar cf a.tar text && sed -i s/a/b/ text/fruit && find . >/dev/null", ""),
    ("ls, id, mktemp", "ls -la / /usr . >/dev/null; id >/dev/null; rm $(mktemp)", ""),
]


@contextlib.contextmanager
def served(scene):
    """The same answer on a port of the host's loopback and on a socket in {out}."""
    answer = b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nserved\n"

    def serve(server):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                with peer, contextlib.suppress(OSError):
                    peer.recv(4096)
                    peer.sendall(answer)

    port, door = socket.socket(), socket.socket(socket.AF_UNIX)
    with port, door:
        port.bind(("127.0.0.1", 0))
        door.bind(scene.path("out/door"))
        os.chmod(scene.path("out/door"), 0o777)
        threads = []
        for server in port, door:
            server.listen()
            threads.append(threading.Thread(target=serve, args=(server,), daemon=True))
            threads[-1].start()
        yield str(port.getsockname()[1])
        for server in port, door:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


class Case:
    """A row in a scene: runs it bare, inside, and inside with more options."""

    def __init__(self, row, scene, port):
        self.row, self.scene, self.port = row, scene, port

    def fill(self, text):
        text = self.scene.fill(text, self.scene.path("home"))
        return text.replace("{port}", self.port)

    def words(self):
        run = self.row.run
        run = ["bash", "-c", run] if isinstance(run, str) else run
        return [self.fill(word) for word in run]

    def run(self, *before):
        """before: what stands before the words; nothing: bare."""
        folder = self.scene.fresh(self.row)
        env = {**self.scene.environment(), "PWD": folder}
        env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        popen = {"env": env, **self.scene.user.popen()}
        if self.row.prepare:
            script = ["bash", "-ec", self.fill(self.row.prepare)]
            done = programs.run_plain(script, {"cwd": self.scene.path("out"), **popen})
            if done.status:
                raise RuntimeError(f"{self.row.name}: {done.err}")
        words = ["/usr/bin/env", *before, *self.words()]
        return programs.run_plain(words, {"cwd": folder, **popen})

    def inside(self, *options):
        options = [*options, *(self.fill(word) for word in self.row.options)]
        return self.run(self.scene.corral, "run", *options, "--")

    def works(self, result):
        return result.status == 0 and self.row.see in result.out


def explained(result):
    """What is denied, without what does not matter; None if that is no answer."""
    try:
        return [item for item in json.loads(result.out)["denied"] if not item["quiet"]]
    except (ValueError, KeyError):
        return None


def judge(case, notes):
    """What is wrong, in words; empty if nothing is."""
    bare, without = case.run(), case.inside()
    told = case.inside("--explain", "--json")
    denied = explained(told)
    notes += [("bare", bare), ("without", without), ("told", told)]
    wrong = []
    if not case.works(bare):
        wrong.append("bare it does not work")
    if case.works(without):
        wrong.append("nothing is missing")
    if not denied or not denied[0]["option"]:
        return [*wrong, "no option is named"]
    option = denied[0]["option"]
    if " ".join(option) != case.fill(case.row.line):
        wrong.append(f"{option} is named, not {case.fill(case.row.line)}")
    allowed = case.inside(*option)
    notes.append(("allowed", allowed))
    if not case.works(allowed):
        wrong.append(f"it does not work with {option}")
    # With that it works, so whatever else is named is no help.
    more = [" ".join(item["option"]) for item in denied[1:] if item["option"] and not item["look"]]
    if more and case.works(allowed):
        wrong.append(f"unrelated: {more}")
    return wrong


def judge_unrelated(case, notes):
    """It fails for a reason of its own, bare as well: what it asked for and does without is not advised."""
    bare, told = case.run(), case.inside("--explain")
    notes += [("bare", bare), ("told", told)]
    wrong = [] if bare.status and told.status else ["it does not fail"]
    return wrong + [f"advised: {word}" for word in case.row.line.split() if word in told.err]


def judge_quiet(case, notes):
    plain, told = case.inside(), case.inside("--explain")
    notes += [("plain", plain), ("told", told)]
    wrong = []
    if told.status != plain.status or told.status:
        wrong.append(f"status {told.status}, without --explain {plain.status}")
    if "denied" in told.err:
        wrong.append("something is said")
    return wrong


def test(case, tap, verbose, how):
    row = case.row
    name = f"{row.name} ({case.scene.user.name})"
    missing = [n for n in row.needs if not programs.shutil.which(n, path=programs.PATH)]
    if programs.REQUIRED.intersection(missing):
        tap.say(True, name, f"not installed: {' '.join(missing)} (see tools/setup programs)")
        return
    if missing:
        print(f"# not installed, no test: {row.name}: {' '.join(missing)}")
        return
    notes = []
    wrong = how(case, notes)
    tap.say(not wrong, name)
    for line in wrong:
        tap.note("wrong", line)
    for head, result in notes if wrong or verbose else ():
        tap.note(head + " status", str(result.status))
        tap.note(head + " out", result.out)
        tap.note(head + " err", result.err)


def test_user(user, options, tap):
    scene = programs.Scene(user, options.corral)
    try:
        why = programs.no_sandbox(scene)
        if why:
            tap.say(True, f"explain ({user.name})", f"kernel: {why}")
            return
        quiet = [Row(f"nothing is said of {name}", run, "", place=place)
                 for name, run, place in QUIET]
        with served(scene) as port:
            rows = [(r, judge) for r in ROWS] + [(r, judge_quiet) for r in quiet] + [(r, judge_unrelated) for r in UNRELATED]
            for row, how in rows:
                if options.only in row.name:
                    test(Case(row, scene, port), tap, options.verbose, how)
    finally:
        scene.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--user", default="", help="only this one")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    return programs.run_users(options, test_user)


if __name__ == "__main__":
    sys.exit(main())
