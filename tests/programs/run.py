#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs, inside: every row of table.py bare and under `corral run`, with its grants.

    run.py --corral PROGRAM [--only WORD] [--user NAME] [--verbose]     prints TAP, one line for each row
    run.py --document                                     prints docs/programs.md
    run.py --compare FILE                                 is that what FILE has?

Each run has a fresh copy of scene/ under the same name, and the same environment, so that all that
can differ is the sandbox. Exit status, standard output and standard error must be those of the bare
run: the sandbox changes nothing, and says nothing. Where a row is about something that differs
(what was not granted, what is random), it says so, and what has to be seen instead.

As root everything is done twice, at the same time: as root, and as an ordinary user, each by a process with a scene of its
own.

A program that is not installed makes no test. That is said; for those that tools/setup installs for
these tests (table.REQUIRED) it is a skip, which counts as a failure in CI.
"""

import argparse
import collections
import fcntl
import os
import pty
import pwd
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from table import PARTS, REQUIRED

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120  # no row takes as long; one that hangs must not hang the test
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

Result = collections.namedtuple("Result", "status out err")

POLICIES = {
    # A list that `--exec` adds to. The system may be read: it is the list that stops a program.
    "list.yaml": """\
fs: {write: ["$WORK_DIR/**"], read: ["/usr/**", "/etc/**", "/bin/**", "/lib/**"]}
env: [PATH, USER, LOGNAME]
exec: []
""",
    "programs.yaml": """\
exec: [sh, bash, cat, ls, id, date, python3, git, curl, node, perl, jq, openssl]
""",
    "one.yaml": "exec: [cat]\nfs: {read: [OUT/secret]}\n",
}
GITCONFIG = """\
[user]
name = Someone
email = someone@example.org
[alias]
last = log -1
[init]
defaultBranch = trunk
"""
# A program as version managers lay it out: a script in shims, and what it runs beside it.
KIT = {
    "shims/kit": '''#!/bin/sh
kit=$(dirname "$0")/..
exec "$kit/versions/1/bin/python" "$kit/lib/kit.py" "$@"
''',
    "lib/kit.py": 'import sys\nimport part\nprint("kit:", *sys.argv[1:])\nprint(part.WORDS)\n',
    "lib/part.py": 'WORDS = "from its library"\n',
}


class User:
    """Who runs the rows."""

    def __init__(self, entry):
        self.name, self.uid, self.gid = entry.pw_name, entry.pw_uid, entry.pw_gid
        self.other = self.uid != os.getuid()

    def popen(self):
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.other else {}


class Scene:
    """The folders of one user: a model of the working folder, and what lies around it."""

    def __init__(self, user, corral):
        self.user = user
        # Short: sockets are made in it. Without links: paths are compared with what they lead to.
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-p."))
        self.corral = self.path("corral")
        shutil.copy(corral, self.corral)  # a build folder may lie where only root can look
        shutil.copytree(os.path.join(HERE, "scene"), self.path("model"))
        for name in "home", "out/data", "out/tmp", "policy":
            os.makedirs(self.path(name))
        for name, text in POLICIES.items():
            self.write("policy/" + name, text.replace("OUT", self.path("out")))
        self.write("home/.gitconfig", GITCONFIG)
        self.write("out/secret", "not for everyone\n")
        for name, text in KIT.items():
            self.write("home/.kit/" + name, text)
        os.makedirs(self.path("home/.kit/versions/1/bin"))
        python = shutil.which("python3", path=PATH) or sys.executable
        os.symlink(python, self.path("home/.kit/versions/1/bin/python"))
        os.chmod(self.path("home/.kit/shims/kit"), 0o755)
        os.chmod(self.top, 0o755)
        if user.other:
            subprocess.run(["chown", "-R", f"{user.uid}:{user.gid}", self.top], check=True)
        self.repository(self.path("out/origin"), "from outside")

    def path(self, name):
        return os.path.join(self.top, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def repository(self, folder, words):
        date = "2026-01-01T00:00:00Z"
        env = {**self.environment(), "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        script = 'git init -q -b main "$1" && git -C "$1" commit -q --allow-empty -m "$2"'
        subprocess.run(["sh", "-c", script, "sh", folder, words], check=True, cwd=self.top, env=env,
                       **self.user.popen())

    def fresh(self, row, kept=""):
        """kept: the folder of that name stays as it is."""
        if kept:
            os.rename(self.path("ws/" + kept), self.path("kept"))
        shutil.rmtree(self.path("ws"), ignore_errors=True)
        shutil.rmtree(self.path("home/.npm"), ignore_errors=True)
        subprocess.run(["cp", "-a", self.path("model"), self.path("ws")], check=True)
        if kept:
            os.rename(self.path("kept"), self.path("ws/" + kept))
        if row.place == "repository":
            self.repository(self.path("ws"), "start")
        return self.path("ws/text" if row.place == "text" else "ws")

    def environment(self):
        home = self.path("home")
        return {
            "PATH": f"{home}/.kit/shims:{PATH}",
            "HOME": home,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "USER": self.user.name,
            "LOGNAME": self.user.name,
            "SHELL": "/bin/sh",
            "TMPDIR": self.path("out/tmp"),
        }

    def fill(self, text, home):
        for name in "ws", "out", "policy":
            text = text.replace("{" + name + "}", self.path(name))
        if text.startswith("~/"):
            text = home + text[1:]
        return text.replace("{home}", home)

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)


def environment(row, scene):
    env = scene.environment()
    if row.caller:
        env.update({name: os.environ.get(name, env[name]) for name in ("HOME", "PATH")})
    if row.tty:
        env["TERM"] = "xterm-256color"
    for name, value in row.env.items():
        if value is None:
            del env[name]
        else:
            env[name] = scene.fill(value, env["HOME"])
    return env


def command(row, scene, inside, home):
    run = ["bash", "-c", row.run] if isinstance(row.run, str) else list(row.run)
    run = [scene.fill(word, home) for word in run]
    if not inside:
        return run
    return [scene.corral, "run", *(scene.fill(word, home) for word in row.options), "--", *run]


def status_of(process):
    """As a shell says it."""
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def end_group(process):
    """Whatever a row leaves behind; inside there is nothing."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def run_plain(words, popen):
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe,
                               start_new_session=True, **popen)
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        end_group(process)
        out, err = process.communicate()
    end_group(process)
    return Result(status_of(process), out.decode(errors="replace"), err.decode(errors="replace"))


def read_all(fd, seconds):
    """What a terminal shows until the last one has closed it; less if that takes too long."""
    text, end = b"", time.monotonic() + seconds
    while select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break  # EIO: the last one closed it
        text += chunk
    return text


def run_terminal(words, popen):
    """With a terminal as all three, which is its controlling one. What it shows is the output."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    if "user" in popen:
        os.fchown(inner, popen["user"], -1)
    process = subprocess.Popen(words, stdin=inner, stdout=inner, stderr=inner,
                               start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **popen)
    os.close(inner)
    text = read_all(outer, SECONDS)
    os.close(outer)  # what still runs on it is hung up on
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        end_group(process)
        process.wait()
    end_group(process)
    return Result(status_of(process), text.decode(errors="replace"), "")


def run(row, scene, inside, kept=""):
    folder = scene.fresh(row, kept)
    env = environment(row, scene)
    if inside:  # with AddressSanitizer the search for leaks takes seconds, every time
        env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    popen = {"cwd": folder, "env": {**env, "PWD": folder}, **scene.user.popen()}
    # Popen looks for the program in its own PATH: let env look in the row's.
    words = ["/usr/bin/env", *command(row, scene, inside, env["HOME"])]
    return (run_terminal if row.tty else run_plain)(words, popen)


def without_news(row, inside):
    """The same without the lines about new repositories, and those that are missing or too many."""
    line = re.compile(r"(?:\x1b\[[0-9;]*m)*corral:(?:\x1b\[[0-9;]*m)* the command created (\S+) "
                      r"\(git [^)]*\): review it first\r?\n")
    name = "out" if row.tty else "err"
    text = getattr(inside, name)
    wrong = sorted(set(line.findall(text)) ^ set(row.repositories))
    return inside._replace(**{name: line.sub("", text)}), [f"told or not: {path}" for path in wrong]


def differences(row, scene, inside, bare):
    """What is wrong, in words; empty if nothing is."""
    if row.repositories:
        inside, wrong = without_news(row, inside)
        return wrong + differences(row._replace(repositories=()), scene, inside, bare)
    home = environment(row, scene)["HOME"]
    see, says = ([scene.fill(text, home) for text in texts] for texts in (row.see, row.says))
    wrong = []
    if inside.status != row.status:
        wrong.append(f"status {inside.status}, not {row.status}")
    wrong += [f"not in the output: {text!r}" for text in see if text not in inside.out]
    wrong += [f"not in standard error: {text!r}" for text in says if text not in inside.err]
    if bare is None:
        if inside.err and not row.says:
            wrong.append("there is something in standard error")
        return wrong
    if bare.status != row.status:
        wrong.append(f"bare it ends with {bare.status}, not {row.status}")
    for name in "status", "out", "err":
        if getattr(inside, name) != getattr(bare, name):
            wrong.append(f"{name} differs from that of the bare run")
    return wrong


def absent(row, scene):
    path = environment(row, scene)["PATH"]
    return [name for name in row.needs if not shutil.which(name, path=path)]


class Tap:
    def __init__(self):
        self.number = self.failures = 0

    def say(self, good, name, skip=None):
        self.number += 1
        self.failures += not good
        line = f"{'ok' if good else 'not ok'} {self.number} - {name}"
        print(line + (f" # SKIP {skip}" if skip else ""), flush=True)

    def note(self, head, text):
        for line in text.splitlines():
            shown = line if line.isprintable() else repr(line)
            print(f"# {head}: {shown}"[:400], flush=True)


def test(row, scene, tap, verbose):
    name = f"{row.name} ({scene.user.name})"
    missing = absent(row, scene)
    if REQUIRED.intersection(missing):
        tap.say(True, name, f"not installed: {' '.join(missing)} (see tools/setup programs)")
        return
    if missing:
        print(f"# not installed, no test: {row.name}: {' '.join(missing)}")
        return
    if row.keep:  # what is made there does not change what is seen, and takes long
        inside = run(row, scene, True)
        bare = run(row, scene, False, row.keep if os.path.isdir(scene.path("ws/" + row.keep)) else "")
    else:
        bare = run(row, scene, False) if row.same else None
        inside = run(row, scene, True)
    wrong = differences(row, scene, inside, bare)
    tap.say(not wrong, name)
    for line in wrong:
        tap.note("wrong", line)
    for head, result in (("bare", bare), ("inside", inside)):
        if result and (wrong or verbose):
            tap.note(head + " status", str(result.status))
            tap.note(head + " out", result.out)
            tap.note(head + " err", result.err)


def users():
    try:
        me = User(pwd.getpwuid(os.getuid()))
    except KeyError:
        sys.exit("this user has no name, which bare programs do not like either")
    if os.getuid() != 0:
        return [me]
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    # Not `nobody` where another is to be had: inside, what belongs to other users looks like that user's.
    return [me, User(next(names[n] for n in ("daemon", "bin", "games", "nobody") if n in names))]


def no_sandbox(scene):
    popen = {"env": scene.environment(), "cwd": "/", **scene.user.popen()}
    result = run_plain([scene.corral, "doctor"], popen)
    return None if result.status == 0 else (result.out + result.err).splitlines()[0]


def test_user(user, options, tap):
    scene = Scene(user, options.corral)
    try:
        why = no_sandbox(scene)
        if why:
            tap.say(True, f"programs ({user.name})", f"kernel: {why}")
            return
        for _, rows in PARTS:
            for row in rows:
                if options.only in row.name and not (row.caller and user.other):
                    test(row, scene, tap, options.verbose)
    finally:
        scene.remove()


def forward(process, tap, name):
    """The results of a user's process, with our numbers."""
    number, failures, plan = tap.number, tap.failures, None
    for line in process.stdout:
        result = re.fullmatch(r"(not )?ok [0-9]+ - (.*?)( # SKIP (.*))?\n", line)
        if result:
            tap.say(not result[1], result[2], result[4])
        elif re.fullmatch(r"1\.\.[0-9]+\n", line):
            plan = line.rstrip()
        else:
            print(line, end="", flush=True)
    status = process.wait()
    if plan != f"1..{tap.number - number}" or status != (1 if tap.failures > failures else 0):
        tap.say(False, f"{name}: all of it was run (status {status}, plan {plan})")


def run_users(options, test_one):
    """All users at the same time; the exit status. In the process of one of them: that user."""
    tap, those = Tap(), [user for user in users() if options.user in ("", user.name)]
    if len(those) == 1:
        test_one(those[0], options, tap)
    else:
        words = [sys.executable, *sys.argv, "--user"]
        started = [subprocess.Popen([*words, user.name], stdout=subprocess.PIPE, text=True) for user in those]
        for user, process in zip(those, started):
            forward(process, tap, user.name)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


DOCUMENT = """\
<!-- Written by tests/programs/run.py --document. -->
# Programs that work inside

Each row is a test (`tests/programs`), as root and as an ordinary user: the command is run bare and
inside, and exit status, output and messages must be the same. *Options* are those that `corral run`
needs; where there are none, the profile `workspace` is enough. Debuggers do not work
([syscalls.md](syscalls.md)).
`list.yaml` and the like are policies that the test has (`run.py`)."""


def document():
    lines = [DOCUMENT]
    for title, rows in PARTS:
        lines.append(f"\n## {title}\n\n| what works | options |\n|---|---|")
        for row in rows:
            options = " ".join(row.options).replace("{policy}/", "").replace("{ws}/", "")
            options = options.replace("{out}/", "/elsewhere/")
            lines.append(f"| {row.name} | {'`' + options + '`' if options else ''} |")
    return "\n".join(lines) + "\n"


def compare(path):
    with open(path, encoding="utf-8") as file:
        if file.read() == document():
            return 0
    print(f"{path} is not of today: tests/programs/run.py --document writes it")
    return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral")
    parser.add_argument("--only", default="")
    parser.add_argument("--user", default="", help="only this one")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--document", action="store_true")
    parser.add_argument("--compare")
    options = parser.parse_args()
    if options.document:
        return print(document(), end="")
    if options.compare:
        return compare(options.compare)
    return run_users(options, test_user)


if __name__ == "__main__":
    sys.exit(main())
