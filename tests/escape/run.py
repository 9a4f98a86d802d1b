#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The escape suite: every attempt bare, where it has to work, and inside, where it must not.

    run.py --programs FOLDER [--corral PROGRAM] [--only WORD] [--bare]     prints TAP
    run.py --programs FOLDER --document                                    prints docs/escape-suite.md

FOLDER has `attempt` and `victim`. As root everything is done twice: as root and as an ordinary user.
With --really, root runs a copy of the suite that is an ordinary user's from the start: then the user's
keys, namespaces and folders are not root's, as on a person's machine.
The suite first goes into a mount, IPC and UTS namespace of its own, so that what works bare does no
harm; as an ordinary user nothing that works bare reaches beyond the scene (scene.py).

Bare, an attempt must escape; it is excused if the kernel does not have the thing at all, or wants a
capability that the user lacks. Inside, it must say that it was held, and the host is looked at
whatever it says. That Corral fails to start the command is no success either.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import ctypes
import fcntl
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import termios
import threading

from scene import HELPERS, Scene, add_key

ESCAPED, HELD, BROKEN, ABSENT, DONE = range(5)
SIGSYS = 128 + 31
REFUSED = 125
# It ends where the kernel lost news of files that cover others: many changes, on a machine that is busy.
GIVEN_UP, GIVEN_UP_MAX = "too many of the host's files changed at once", 5
ORDINARY = 54321  # a user id without an account
BOTH = "root,user"
# Root's own python may lie where no other user can look.
USUAL = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MARK = "CORRAL_ESCAPE_INSIDE_NAMESPACE"
# Sequences by which a terminal acts on its host.
ACTS = re.compile(rb"\x1b\](52|1337);|\x9d|\x1bP|\x1b_|\x1b\[(21t|5i|[0-9;]*\*y)")
RESULT = re.compile(r"(ok|not ok) \d+ - (.*)")
EXPLAIN = []  # --explain, if it is to be shown that the walls are the same with it

CAPABILITIES = {name: number for number, name in enumerate(
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE "
    "NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO "
    "SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
    "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG "
    "WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE".split())}

Attempt = collections.namedtuple("Attempt", "theme name set needs idea")
Result = collections.namedtuple("Result", "code note")

# What a jail cannot hold, by name, and why the kernel gives it no means. They are tried all the same.
# docs/threat-model.md tells users; nothing belongs here that it does not name.
GAPS = {
    "deny-replaced": "kernel: a rename outside takes mounts away; they are put back a moment later",
    "deny-replaced-path": "kernel: a rename outside takes mounts away; they are put back a moment later",
    "limit-memory-memfd-sent": "kernel: without a cgroup nobody counts descriptors on their way",
    "limit-memory-shared-dropped": "kernel: without a cgroup nobody counts pages that no process maps",
    "stdin-chmod": "kernel: an open file lets its owner change its mode",
    "stdin-utimes": "kernel: an open file lets its owner change its times",
    "moved-folder": "kernel: a mount and Landlock follow an open folder to where the host moves it",
    "received-mask": "kernel: masks are of the mounts inside; a descriptor from outside has none",
    "unix-granted-late": "kernel: Landlock before version 9 cannot keep from connecting",
}

# How a set of attempts is run. options: of `corral run`, {} is the scene's folder, PORT that of the
# victim's server `granted`. many: all in one run. ends: exit statuses of Corral itself that mean that
# it held the command. tool: the program is run from tools/ (where the list of programs has it).
# needs: variables that name programs which it takes, and which a build may not have. what: as documented.
Set = collections.namedtuple("Set", "what options many ends tool needs", defaults=((), False, (), False, ()))

DEFAULT = ("--profile", "workspace", "--read", "{}/ro/**", "--read", "{}/tools/**")
AGENT = ("--mode", "sandbox", "--data-dir", "{}/ws")
BROKER = ("CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRAL_BACKENDS")
DAEMON = ("CORRALD", "CORRALD_HTTP")
ACTIVE = (".venv/bin", "node_modules/.bin")  # in the workspace, and in PATH
ONE_HOST = ("--net", "127.0.0.1:PORT")
SETS = {
    "default": Set("the profile `workspace`, and a folder for reading", DEFAULT, many=True),
    "deny": Set("the same, with denied files and a denied folder in the workspace",
                (*DEFAULT, "DENY"), many=True),
    "link": Set("a denied file that has a second name in the workspace",
                (*DEFAULT, "--deny", "{}/ws/linked.txt"), ends=(REFUSED,)),
    "mask": Set("a denied file that the host replaces again and again",
                (*DEFAULT, "--deny", "{}/ws/denied/NAME"), ends=(REFUSED, 137, 143)),
    "relay": Set("the same as the first, and one port of the host's loopback is granted",
                 (*DEFAULT, *ONE_HOST), many=True),
    "agent": Set("an agent mode, which may read all but known secrets",
                 AGENT),
    "exec": Set("only the program `attempt` may run",
                ("--policy", "{}/exec.yaml"), many=True, tool=True),
    "late": Set("a program of the host puts a socket into the workspace meanwhile", DEFAULT),
    "received": Set("the same, and it sends descriptors of a folder and of a file outside", DEFAULT),
    "received-mask": Set("the same, and a file in the workspace is denied",
                         (*DEFAULT, "--deny", "{}/ws/denied/NAME")),
    "moved": Set("the host moves a folder out of the workspace meanwhile", DEFAULT),
    "fds": Set("descriptors of the caller are open", DEFAULT, many=True),
    "stdin": Set("standard input is a file outside, opened for reading", DEFAULT),
    "pipe-in": Set("standard input is a pipe that others read after it", DEFAULT),
    "null-in": Set("standard input is `/dev/null`, as the caller has it open", DEFAULT),
    "pipe-out": Set("standard output is a pipe that others wrote into before it", DEFAULT),
    "socket-in": Set("standard input is a connection of the caller", DEFAULT),
    "append": Set("standard output is a file outside, opened for appending", DEFAULT),
    "policy": Set("the policy is a file in the workspace",
                  ("--policy", "{}/ws/policy.yaml"), ends=(REFUSED,)),
    "audit": Set("the record is a file in the workspace",
                 (*DEFAULT, "--audit", "{}/ws/audit.db"), ends=(REFUSED,)),
    "limits": Set("the limits of the built-in profiles", DEFAULT, ends=(137,)),
    "pids": Set("at most 32 processes", (*DEFAULT, "--pids", "32"), ends=(137,)),
    "memory": Set("at most 64 MB", (*DEFAULT, "--memory", "64M"), ends=(137, 139, 143, 135)),
    "output": Set("at most 1 MB of output", (*DEFAULT, "--max-output", "1M"), ends=(141, 137, 143)),
    "timeout": Set("at most one second", (*DEFAULT, "--timeout", "1s"), ends=(124,)),
    "daemon": Set("the command ends, a process stays", DEFAULT),
    "inodes": Set("files in the private /tmp", (*DEFAULT, "--memory", "64M"), ends=(137,)),
    "swap": Set("the host exchanges a granted folder with a link, 30 times",
                ("--policy", "{}/swap.yaml"), ends=(REFUSED,)),
    "broker": Set("services of the desktop are granted, and the caller's PATH leads into the workspace",
                  ("--policy", "{}/broker.yaml"), needs=BROKER),
    "port": Set("an agent mode, which has the host's network, beside a daemon with an open page", AGENT, needs=DAEMON),
    "tty": Set("on a terminal", DEFAULT),
    "tty-hidden": Set("the caller has a terminal, the command's stdio is elsewhere", DEFAULT),
    "tty-stdin": Set("only standard input is a terminal", DEFAULT),
}


class Tap:
    def __init__(self, verbose):
        self.number = self.failures = 0
        self.verbose = verbose

    def say(self, good, name, note="", skip=None):
        self.number += 1
        self.failures += not good
        line = f"{'ok' if good else 'not ok'} {self.number} - {name}"
        print(line + (f" # SKIP {skip}" if skip else ""), flush=True)
        if note and (not good or skip or self.verbose):
            print(f"# {note}", flush=True)

    def take(self, who, process, output):
        """What another run of the suite prints goes on with our numbers."""
        planned, number, failures = None, 0, self.failures
        process.wait()
        output.seek(0)
        for line in output.read().splitlines():
            if line.startswith("1.."):
                planned = int(line[3:])
            elif result := RESULT.fullmatch(line):
                number += 1
                self.number += 1
                self.failures += result[1] == "not ok"
                print(f"{result[1]} {self.number} - {result[2]}", flush=True)
            else:
                print(line, flush=True)
        # It failed where it says so, and nowhere else.
        good = planned == number and process.returncode == (1 if self.failures > failures else 0)
        self.say(good, f"{who}: all of it was run", f"exit {process.returncode}, {number} of {planned}")


def read_attempts(program):
    text = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    attempts = [Attempt(*line.split("\t")) for line in text.splitlines()]
    unknown = {a.set for a in attempts} - SETS.keys()
    assert not unknown, f"no such sets: {unknown}"
    return attempts


def is_built(set_name):
    return all(os.environ.get(name) for name in SETS[set_name].needs)


def landlock_version():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)  # the number is the same everywhere


def effective_capabilities():
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("CapEff"))
    return int(line.split()[1], 16)


class Flipper:
    """Does something again and again in a thread, from before `with` until after it."""

    def __init__(self, turn):
        self.turn = turn
        self.stop = threading.Event()
        self.started = threading.Event()
        self.thread = threading.Thread(target=self.loop)

    def loop(self):
        while not self.stop.is_set():
            self.turn()
            self.started.set()

    def __enter__(self):
        self.thread.start()
        self.started.wait()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class Pass:
    """All attempts, in one scene, as one user; bare or inside."""

    def __init__(self, attempts, scene, corral):
        self.attempts = attempts
        self.scene = scene
        self.corral = corral  # None: bare

    # -- starting something --

    def command(self, set_name, name, arguments):
        kind = SETS[set_name]
        program = self.scene.path("tools/attempt" if kind.tool else "ws/attempt")
        if self.corral is None and kind.many and self.scene.user is None and os.geteuid() == 0:
            # What is mounted goes with the command: we clean up, and must not walk into it.
            return ["unshare", "--mount", "--propagation", "private", "--", program, *arguments]
        if self.corral is None:
            return [program, *arguments]
        options = []
        for option in kind.options:
            if option == "DENY":
                options += self.denials()
            else:
                options.append(self.scene.fill(option).replace("NAME", name or ""))
        return [self.corral, "run", *EXPLAIN, *options, "--", program, *arguments]

    def denials(self):
        names = [f"ws/denied/{a.name}" for a in self.attempts if a.set == "deny"]
        names += [f"ws/sub-{a.name}/denied.txt" for a in self.attempts if a.set == "deny"]
        names += ["ws/denied-dir/**", "ws/denied-dir-2/**"]
        return [word for name in names for word in ("--deny", self.scene.path(name))]

    def start(self, command, **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.DEVNULL)
        popen.setdefault("env", self.scene.environment())
        return subprocess.Popen(command, cwd=self.scene.path("ws"), **popen, **self.scene.as_user())

    def wait(self, process):
        """The exit status as a shell would say it; None if it hangs."""
        try:
            code = process.wait(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        return code if code >= 0 else 128 - code

    @staticmethod
    def complaint(errors):
        errors.seek(0)
        lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines()]
        return "; ".join([line for line in lines if line][-3:])[:300]

    # -- many attempts in one run --

    def run_many(self, set_name, names, **popen):
        """Results by name. A run that ends early is continued behind the attempt that ended it. One that the sandbox gave up by
        itself, since it could not follow the changes of the attempt, is made again: nothing was shown by it."""
        results, given_up = {}, collections.Counter()
        while names:
            with tempfile.TemporaryFile() as errors:
                process = self.start(self.command(set_name, None, ["--many", *names]),
                                     stdout=subprocess.PIPE, stderr=errors, text=True, **popen)
                for line in process.stdout:
                    parts = line.rstrip("\n").split("\t")
                    if len(parts) == 3 and parts[0] in names:
                        results[parts[0]] = Result(int(parts[1]), parts[2])
                code = self.wait(process)
                trouble = Result(None, f"no result, exit {code}: {self.complaint(errors)}")
            names = [name for name in names if name not in results]
            if names and GIVEN_UP in trouble.note and given_up[names[0]] < GIVEN_UP_MAX:
                given_up[names[0]] += 1
                self.scene.clear_work(names[0])
                continue
            # Nothing at all came: it will not come the next time either.
            for name in names if not results else names[:1]:
                results[name] = trouble
            names = [name for name in names if name not in results]
        return results

    def run_fds(self, names):
        secret = os.open(self.scene.path("out/fd-file"), os.O_RDONLY)
        folder = os.open(self.scene.path("out"), os.O_RDONLY)
        namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as letter:
            letter.connect(self.scene.path("out/dgram.sock"))
            fds = (secret, folder, namespace, letter.fileno())
            results = self.run_many("fds", names, pass_fds=fds)
        for fd in fds[:3]:
            os.close(fd)
        return results

    # -- one attempt in a run of its own --

    def run_one(self, attempt, **popen):
        with tempfile.TemporaryFile() as errors:
            popen.setdefault("stderr", errors)
            process = self.start(self.command(attempt.set, attempt.name, [attempt.name]), **popen)
            code = self.wait(process)
            note = self.complaint(errors)
        if code is None:
            return Result(None, "it hangs")
        if self.corral and code in SETS[attempt.set].ends:
            return Result(HELD, f"exit {code}")
        return Result(code, note)

    def run_stdin(self, attempt):
        with open(self.scene.path(f"out/{attempt.name}"), "rb") as file:
            return self.run_one(attempt, stdin=file)

    def run_append(self, attempt):
        with open(self.scene.path(f"out/{attempt.name}"), "ab") as file:
            return self.run_one(attempt, stdout=file)

    def run_null(self, attempt):
        """What is done to the open file stays with the caller, and with its next command."""
        with open("/dev/null", "r+b", buffering=0) as null:
            result = self.run_one(attempt, stdin=null)
            if not os.get_blocking(null.fileno()):
                return Result(ESCAPED, "it does not block any more")
        return Result(HELD if result.code == DONE else result.code, "it is as it was")

    def run_pipe(self, attempt):
        """Only the caller can tell what became of its pipe."""
        reader, writer = os.pipe()
        try:
            for end in (reader, writer):
                if self.scene.user is not None:
                    os.fchown(end, self.scene.user, self.scene.user)
            if attempt.set == "pipe-out":
                os.write(writer, self.scene.canary.encode())
                return self.run_one(attempt, stdout=writer)
            result = self.run_one(attempt, stdin=reader)
            if not os.get_blocking(reader):
                return Result(ESCAPED, "it does not block any more")
            os.set_blocking(reader, False)
            try:
                return Result(ESCAPED, f"{os.read(reader, 4096)!r} came out")
            except BlockingIOError:
                return Result(HELD if result.code == DONE else result.code, "nothing came out")
        finally:
            os.close(reader)
            os.close(writer)

    def run_socket(self, attempt):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            result = self.run_one(attempt, stdin=theirs)
            ours.setblocking(False)
            try:
                return Result(ESCAPED, f"{ours.recv(4096)!r} came out")  # b'': it is shut down
            except BlockingIOError:
                return Result(HELD if result.code == DONE else result.code, "nothing came out")

    def run_mask(self, attempt):
        """As an editor saves: a new file is renamed over the old one."""
        target, new = self.scene.path(f"ws/denied/{attempt.name}"), self.scene.path("stage/new")

        def replace():
            with open(new, "w", encoding="ascii") as file:
                file.write(self.scene.canary + "\n")
            if self.scene.user is not None:
                os.chown(new, self.scene.user, self.scene.user)
            os.rename(new, target)

        with Flipper(replace):
            result = self.run_one(attempt)
        now = self.scene.states()  # we changed it ourselves
        self.scene.before["ws/denied", attempt.name] = now["ws/denied", attempt.name]
        return result

    def run_late(self, attempt):
        """A server that starts when the attempt has left its mark."""
        path = self.scene.path(f"ws/{attempt.name}.sock")
        out = self.scene.path("out")

        def answer(client):
            if attempt.set == "late":
                client.send(self.scene.canary.encode())
                return
            folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
            file = os.open(f"{out}/{attempt.name}", os.O_PATH)
            socket.send_fds(client, [b"x"], [folder, file])
            os.close(folder)
            os.close(file)

        def serve(over):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
                server.bind(self.scene.path("stage/late.sock"))
                os.chmod(self.scene.path("stage/late.sock"), 0o777)
                server.listen()
                os.rename(self.scene.path("stage/late.sock"), path)
                server.settimeout(0.01)
                while not over.is_set():
                    try:
                        client = server.accept()[0]
                        answer(client)
                        client.close()
                    except TimeoutError:
                        pass
            os.unlink(path)

        return self.run_meanwhile(attempt, serve)

    def run_moved(self, attempt):
        """The folder that the attempt made is moved, and gets something secret there."""
        there = self.scene.path(f"out/{attempt.name}.moved")

        def move(_over):
            os.rename(self.scene.path(f"ws/{attempt.name}.folder"), there)
            # By its name it is whole: the attempt reads it as soon as it is there.
            with open(f"{there}/new", "w", encoding="ascii") as file:
                file.write(self.scene.canary)
            os.chmod(f"{there}/new", 0o644)
            os.rename(f"{there}/new", f"{there}/secret")

        result = self.run_meanwhile(attempt, move)
        shutil.rmtree(there, ignore_errors=True)
        return result

    def run_meanwhile(self, attempt, act):
        """The host does something when the attempt has left its mark."""
        mark = self.scene.path(f"ws/{attempt.name}.work")
        over = threading.Event()

        def wait():
            while not os.path.exists(mark):
                if over.wait(0.001):
                    return
            act(over)

        thread = threading.Thread(target=wait)
        thread.start()
        result = self.run_one(attempt)
        over.set()
        thread.join()
        return result

    def run_swap(self, attempt):
        folder, link, other = (self.scene.path(f"swap/{n}") for n in ("sub", "link", "third"))

        def exchange():
            os.rename(folder, other)
            os.rename(link, folder)
            os.rename(folder, link)
            os.rename(other, folder)

        with Flipper(exchange):
            for _ in range(30):
                result = self.run_one(attempt)
                if result.code not in (HELD, ABSENT):
                    return result
        # And once when all is quiet, to see that it is not simply refused.
        process = self.start(self.command(attempt.set, attempt.name, [attempt.name]))
        code = self.wait(process)
        return result if self.corral is None or code == HELD else Result(code, "without a race")

    def run_service(self, attempt):
        """As in an activated environment; what was planted goes when all that could run it has ended."""
        env = with_services(self.scene)
        if "wayland" in attempt.name:
            env.update(WAYLAND_DISPLAY="wayland-77", XDG_RUNTIME_DIR=self.scene.path("tmp"))
        if "x11" in attempt.name:
            env["DISPLAY"] = ":77"
        opener = f"browser: {{open_with: {self.scene.path('own/open')}}}\n"
        self.scene.configure(opener if "child" in attempt.name else "")
        for name in ACTIVE:
            self.scene.write(f"ws/{name}/browser", "#!/bin/sh\n")  # the attempt writes another one
            if self.scene.user is not None:
                self.scene.give(self.scene.path(f"ws/{os.path.dirname(name)}"))
        os.chmod(self.scene.path("ws/.venv/bin/browser"), 0o755)
        if "browser" in attempt.name:
            env["BROWSER"] = self.scene.path("ws/.venv/bin/browser")
        result = self.run_one(attempt, env=env)
        self.scene.configure(None)
        for name in ACTIVE:
            shutil.rmtree(self.scene.path(f"ws/{os.path.dirname(name)}"))
        return result

    def run_port(self, attempt):
        """What a program heard at the port of a server is worth something if the server takes it."""
        words = ["inside"] if self.corral else ["bare", self.scene.canary]
        with subprocess.Popen(["/usr/bin/env", "python3", self.scene.path("tools/port.py"), *words], cwd="/", stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": USUAL, "TMPDIR": self.scene.path("tmp")},
                              **self.scene.as_user()) as server:
            def tell(*line):
                print(*line, file=server.stdin, flush=True)
                return server.stdout.readline().split()

            self.scene.write_values(self.corral is not None, port=server.stdout.readline().strip())
            if attempt.name == "port-other-loopback":
                return self.run_one(attempt)
            tell("down")
            result = self.run_meanwhile(attempt, lambda _over: tell("ask"))
            if result.code != DONE:
                return result
            heard = [name for name in os.listdir(self.scene.path("ws")) if name.startswith(f"{attempt.name}.heard-")]
            statuses = tell("back", *[self.scene.path(f"ws/{name}") for name in heard])[1:]
        taken = any(status.startswith("2") for status in statuses)
        return Result((ESCAPED if taken else HELD) if statuses else BROKEN, f"sent again, it is answered by {statuses}")

    def run_output(self, attempt):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            process = self.start(self.command(attempt.set, attempt.name, [attempt.name]), stdout=out,
                                 stderr=error)
            code = self.wait(process)
            size = os.fstat(out.fileno()).st_size + os.fstat(error.fileno()).st_size
        if size > 3 << 19:
            return Result(ESCAPED, f"{size} bytes came out")
        if self.corral and code in (REFUSED, 126, 127):
            return Result(code, "Corral did not run it")
        return Result(HELD, f"{size} bytes came out, exit {code}")

    def run_tty(self, attempt):
        master, slave = os.openpty()
        if self.scene.user is not None:
            os.fchown(slave, self.scene.user, self.scene.user)
        name = os.ttyname(slave)
        self.scene.write_values(self.corral is not None, pts=name,
                                **{"pts-dev": os.fstat(slave).st_dev})

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        stdio = {"tty": {"stdin": slave, "stdout": slave, "stderr": slave}, "tty-hidden": {},
                 "tty-stdin": {"stdin": slave}}[attempt.set]
        shown = []
        drain = threading.Thread(target=self.drain, args=(master, shown), daemon=True)
        drain.start()
        result = self.run_one(attempt, preexec_fn=take_terminal, **stdio)
        os.close(slave)
        drain.join(timeout=60)
        os.close(master)
        if attempt.name.startswith("tty-print-") and result.code == DONE:
            came = ACTS.search(b"".join(shown))
            return Result(ESCAPED if came else HELD, f"{came[0]!r} reached the terminal" if came else "nothing reached it")
        return result

    @staticmethod
    def drain(master, shown):
        try:
            while data := os.read(master, 4096):
                shown.append(data)
        except OSError:
            pass

    def run_beside(self, waiting, others):
        """Those that wait all at the same time, the others one by one beside them."""
        with concurrent.futures.ThreadPoolExecutor(len(waiting) or 1) as pool:
            results = [(a.name, pool.submit(self.run_one, a)) for a in waiting]
            done = {a.name: self.run_one(a) for a in others}
            return {**done, **{name: result.result() for name, result in results}}

    def run(self):
        """Yields every attempt with its result, and what the host saw."""
        self.scene.write_values(self.corral is not None)
        special = {"stdin": self.run_stdin, "append": self.run_append,
                   "null-in": self.run_null, "pipe-in": self.run_pipe,
                   "pipe-out": self.run_pipe, "socket-in": self.run_socket, "late": self.run_late,
                   "received": self.run_late, "received-mask": self.run_late, "moved": self.run_moved, "mask": self.run_mask, "swap": self.run_swap,
                   "output": self.run_output, "tty": self.run_tty, "tty-hidden": self.run_tty,
                   "tty-stdin": self.run_tty, "broker": self.run_service, "port": self.run_port}
        for set_name, kind in SETS.items():
            group = [a for a in self.attempts if a.set == set_name and
                     (self.corral or not a.needs.startswith("kernel:"))]
            if not group:
                continue
            if kind.many:
                names = [a.name for a in group]
                many = self.run_fds if set_name == "fds" else None
                results = many(names) if many else self.run_many(set_name, names)
            elif set_name == "timeout":  # they mostly wait
                results = self.run_beside(group, [])
            elif set_name == "memory" and self.corral:  # what is not held waits as long as it can for who would hold it
                results = self.run_beside([a for a in group if a.name in GAPS], [a for a in group if a.name not in GAPS])
            else:
                results = {a.name: special.get(set_name, self.run_one)(a) for a in group}
            alive = self.scene.victim.sync()
            now = self.scene.states()
            for attempt in group:
                seen = self.scene.evidence(attempt.name, now) if alive else "the victim is dead"
                yield attempt, results[attempt.name], seen


def excuse(attempt, result, capabilities):
    """Why the kernel itself keeps a bare attempt from working; None: it has to."""
    if attempt.needs.startswith("kernel:"):
        return attempt.needs
    if attempt.needs and not capabilities >> CAPABILITIES[attempt.needs] & 1:
        return f"kernel: wants CAP_{attempt.needs}"
    if result.code == ABSENT:
        return f"kernel: {result.note}"
    return None


def judge_bare(tap, who, attempt, result, seen, capabilities):
    good = result.code == ESCAPED or (result.code == DONE and seen is not None)
    why = None if good else excuse(attempt, result, capabilities)
    note = f"{attempt.idea}: {result.code} {result.note}; host: {seen}"
    tap.say(good or why is not None, f"{who}, bare: {attempt.name}", note, skip=why)
    return good


def judge_inside(tap, who, attempt, result, seen):
    """DONE without a trace on the host: it did something to what is private to it."""
    held = result.code in (HELD, ABSENT, DONE, SIGSYS) and seen is None
    note = f"{attempt.idea}: {result.code} {result.note}; host: {seen}"
    gap = None if held or result.code not in (ESCAPED, DONE) else GAPS.get(attempt.name)
    tap.say(held or gap is not None, f"{who}, inside: {attempt.name}", note, skip=gap)


def leftovers(tap, who, scene, corral):
    """No placeholder is left on the host, in the workspace or around it."""
    before = scene.listing()
    options = ["--read", scene.path("nowhere/**"), "--deny", scene.path("ws/denied-dir/**")]
    subprocess.run([corral, "run", *options, "--", "/bin/true"], cwd=scene.path("ws"),
                   env=scene.environment(), stdin=subprocess.DEVNULL, check=False, **scene.as_user())
    after = scene.listing()
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    tap.say(not changed, f"{who}: nothing is left on the host", f"{sorted(changed)[:5]}")


def with_services(scene):
    """The environment of a caller whose PATH leads into the workspace; with the programs of a broker."""
    path = ":".join([*[scene.path(f"ws/{name}") for name in ACTIVE], USUAL])
    return {**scene.environment(), "PATH": path, **{name: os.environ[name] for name in BROKER}}


def control_services(tap, who, scene, corral):
    """A service starts a program outside: the one that the user names."""
    scene.write("own/mark", f"#!/bin/sh\n: >{scene.path('stage/opened')}\n")
    os.chmod(scene.path("own/mark"), 0o755)
    scene.configure(f"browser: {{open_with: {scene.path('own/mark')}}}\n")
    options = [scene.fill(option) for option in SETS["broker"].options]
    done = subprocess.run([corral, "run", *options, "--", "sandbox-call", "browser.open", "url=http://127.0.0.1:1/"],
                          cwd=scene.path("ws"), env=with_services(scene), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **scene.as_user())
    scene.configure(None)
    tap.say(done.returncode == 0 and os.path.exists(scene.path("stage/opened")), f"{who}, control: a service opens a page",
            f"exit {done.returncode}: {done.stdout.decode(errors='replace')[-300:]!r}")


def controls(tap, who, scene, corral):
    """What must work: else "held" would mean that nothing works."""
    cases = {
        "the workspace is writable": "echo x >written && rm written",
        "a read grant is readable": f"cat {scene.path('ro/read-path')}",
        "the system's programs run": "id -u && ls /usr",
        "processes can be made": "(true & wait); echo x | cat",
        "/tmp is writable": "echo x >/tmp/x && cat /tmp/x",
        "a program of the workspace runs": "./attempt --list",
        "the granted host answers": "./attempt --granted",
    }
    scene.write_values(True)
    for name, line in cases.items():
        granted = ONE_HOST if "host" in name else ()
        options = [scene.fill(option) for option in (*DEFAULT, *granted)]
        done = subprocess.run([corral, "run", *options, "--", "/bin/sh", "-ec", line],
                              cwd=scene.path("ws"), env=scene.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              **scene.as_user())
        tap.say(done.returncode == 0, f"{who}, control: {name}",
                f"exit {done.returncode}: {done.stdout.decode(errors='replace')[-300:]!r}")
    if is_built("broker"):
        control_services(tap, who, scene, corral)


def end_daemons(scene, attempts):
    for attempt in attempts:
        if attempt.set in ("daemon", "timeout") and scene.locked(attempt.name):
            scene.kill_daemon(attempt.name)


def run_user(tap, who, attempts, everything, arguments, user, sockets, key):
    capabilities = effective_capabilities() if user is None else 0
    programs = {n: os.path.join(arguments.programs, n) for n in ("attempt", "victim")}
    shown = set()

    def scene():
        return Scene(everything, programs, user, sockets, key)

    bare = scene()
    try:
        for attempt, result, seen in Pass(attempts, bare, None).run():
            if judge_bare(tap, who, attempt, result, seen, capabilities):
                shown.add(attempt.name)
    finally:
        end_daemons(bare, attempts)
        bare.end()
    if arguments.bare:
        return shown
    inside = scene()
    try:
        controls(tap, who, inside, arguments.corral)
        leftovers(tap, who, inside, arguments.corral)
        inside.write_values(True)
        for attempt, result, seen in Pass(attempts, inside, arguments.corral).run():
            judge_inside(tap, who, attempt, result, seen)
    finally:
        inside.end()
    return shown


@contextlib.contextmanager
def well_known_sockets(private):
    """Places where servers are: ours stand there, in folders that only this namespace has."""
    if not private:
        yield {}
        return
    made = [folder for folder in ("/run", "/tmp/.X11-unix") if not os.path.isdir(folder)]
    try:
        for folder in ("/run", "/tmp/.X11-unix"):
            os.makedirs(folder, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "corral-escape", folder],
                           check=True)
        os.makedirs("/run/dbus")
        os.chmod("/run/dbus", 0o777)
        yield {"docker": "/run/docker.sock", "dbus": "/run/dbus/system_bus_socket",
               "x11": "/tmp/.X11-unix/X99"}
    finally:
        for folder in made:
            subprocess.run(["umount", folder], check=False)
            os.rmdir(folder)


def go_private():
    """As root: a mount, IPC and UTS namespace of our own. True if we are in one."""
    if os.environ.pop(MARK, None):
        return True
    if os.geteuid() != 0 or not effective_capabilities() >> CAPABILITIES["SYS_ADMIN"] & 1:
        return False
    os.environ[MARK] = "1"
    unshare = shutil.which("unshare")
    os.execv(unshare, [unshare, "--mount", "--ipc", "--uts", "--propagation", "private", sys.executable,
                       os.path.abspath(__file__), *sys.argv[1:]])


@contextlib.contextmanager
def other_users(names):
    """The suite as these users, each in namespaces of its own, beside us."""
    with contextlib.ExitStack() as stack:
        others = {}
        for name in names:
            output = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            process = subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--users", name],
                                       stdin=subprocess.DEVNULL, stdout=output)
            stack.callback(process.wait)
            stack.callback(process.kill)
            others[name] = process, output
        yield others


def become_ordinary(arguments):
    """The same once more, of a copy that an ordinary user can read; its exit status."""
    with tempfile.TemporaryDirectory(prefix="corral-escape-copy-") as copy:
        here = os.path.dirname(os.path.abspath(__file__))
        os.chmod(copy, 0o755)
        os.mkdir(f"{copy}/tmp")
        os.chown(f"{copy}/tmp", ORDINARY, ORDINARY)
        named = {name: os.environ[name] for name in (*BROKER, *DAEMON) if os.environ.get(name)}
        for path in (f"{here}/run.py", f"{here}/scene.py", *HELPERS, f"{arguments.programs}/attempt",
                     f"{arguments.programs}/victim", arguments.corral, *named.values()):
            to = f"{copy}/{os.path.basename(path)}"
            if os.path.isdir(path):
                shutil.copytree(path, to, ignore=shutil.ignore_patterns("*.p", "*.a"))
                subprocess.run(["chmod", "-R", "a+rX", to], check=True)
            else:
                shutil.copy(path, to)
                os.chmod(to, 0o755)
        words = [word for word in sys.argv[1:] if word != "--really"]
        command = ["/usr/bin/env", "python3", f"{copy}/run.py", *words, "--programs", copy,
                   "--corral", f"{copy}/{os.path.basename(arguments.corral)}"]
        copies = {name: f"{copy}/{os.path.basename(path)}" for name, path in named.items()}
        environment = {**os.environ, **copies, "CORRAL": command[-1], "PATH": USUAL, "TMPDIR": f"{copy}/tmp"}
        done = subprocess.run(command, cwd="/", env=environment, check=False, user=ORDINARY,
                              group=ORDINARY, extra_groups=[])
        return done.returncode


def compare(attempts, path):
    """Is the document the one that the tables would make?"""
    with open(path, encoding="utf-8") as file, contextlib.redirect_stdout(io.StringIO()) as text:
        document(attempts)
        if file.read() == text.getvalue():
            return 0
    print(f"{path} is not what run.py --document prints", file=sys.stderr)
    return 1


def document(attempts):
    print("""# The escape suite

Made by `tests/escape/run.py --document` from the tables in `tests/escape/`; do not edit.

Each attempt is a function that a command could run. It is run twice, and does not know which: bare, where it must
succeed, and inside `corral run`, where it must not; so a pass means that the jail did it. Bare, it is excused if the kernel
does not have the thing at all, or wants a capability that the user lacks (the last column). Inside, the attempt's own word is
not enough: the host is looked at afterwards (files, a process that attempts are after, who connected to it). That Corral
fails to start the command counts as a failure of the suite. As root everything is done as root, and again as an ordinary user; and
a third time by a copy of the suite that is an ordinary user's from the start, with keys and folders of its own.

What would do harm bare has arguments that are wrong in a way which the kernel notices only after it checked the permission, or
writes back what was there. The suite goes into a mount, IPC and UTS namespace of its own first.

`meson test -C build --suite escape` runs it; `run.py --only WORD --verbose` some of it, with the reasons.
""")
    print(f"{len(attempts)} attempts. The sets they run in:\n\n| set | `corral run` |\n|---|---|")
    used = {a.set for a in attempts}
    for name, kind in SETS.items():
        if name in used:
            print(f"| {name} | {kind.what} |")
    theme = None
    for attempt in attempts:
        if attempt.theme != theme:
            theme = attempt.theme
            print(f"\n## {theme}\n\n| attempt | what the attacker hopes for | set | bare |\n|---|---|---|---|")
        needs = attempt.needs
        bare = "works" if not needs else needs if needs.startswith("kernel") else f"CAP_{needs}"
        idea = attempt.idea.replace("|", "\\|")
        if attempt.name in GAPS:
            idea += f" (**not held**: {GAPS[attempt.name].partition(': ')[2]})"
        print(f"| {attempt.name} | {idea} | {attempt.set} | {bare} |")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, type=os.path.abspath)
    parser.add_argument("--corral", default=os.environ.get("CORRAL"))
    parser.add_argument("--only", help="attempts whose name has this in it, or the set of this name")
    parser.add_argument("--bare", action="store_true", help="do not run anything inside")
    parser.add_argument("--explain", action="store_true", help="the same with --explain")
    parser.add_argument("--users", default=BOTH, help="which of the two, if started as root")
    parser.add_argument("--really", action="store_true", help="as root: become an ordinary user first")
    parser.add_argument("--verbose", action="store_true", help="say why, for all of them")
    parser.add_argument("--document", action="store_true")
    parser.add_argument("--compare", metavar="DOCUMENT")
    return parser.parse_args()


def main():
    arguments = parse()
    everything = read_attempts(os.path.join(arguments.programs, "attempt"))
    if arguments.document:
        return document(everything)
    if arguments.compare:
        return compare(everything, arguments.compare)
    if not arguments.corral and not arguments.bare:
        sys.exit("run.py: --corral, or CORRAL in the environment, is the program to test")
    if arguments.really and os.geteuid() == 0:
        return become_ordinary(arguments)
    if arguments.really:
        print("1..0 # SKIP not root: the suite ran as an ordinary user already")
        return 0
    EXPLAIN[:] = ["--explain"] if arguments.explain else []
    private = go_private()
    if landlock_version() >= 9:
        del GAPS["unix-granted-late"], GAPS["received-mask"]
    arguments.corral = arguments.corral and os.path.abspath(arguments.corral)
    attempts = [a for a in everything
                if not arguments.only or arguments.only in a.name or arguments.only == a.set]
    unbuilt = sorted({a.set for a in attempts if not is_built(a.set)})
    attempts = [a for a in attempts if a.set not in unbuilt]
    tap, key, shown = Tap(arguments.verbose), add_key("canary=" + "0123456789abcdef" * 2), set()
    users = {"root": None, "user": ORDINARY} if os.geteuid() == 0 else {"user": None}
    for name in unbuilt:
        tap.say(True, f"the set {name}", skip=f"built without {' '.join(SETS[name].needs)}")
    with well_known_sockets(private) as sockets, other_users(list(users)[1:] if private and arguments.users == BOTH else []) as others:
        for who, user in users.items():
            if who in arguments.users and who not in others:
                shown |= run_user(tap, who, attempts, everything, arguments, user, sockets, key)
        for who, (process, output) in others.items():
            tap.take(who, process, output)
    print(f"# {len(attempts)} attempts, {len(shown)} of them shown to work bare{' as root' if others else ''}")
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
