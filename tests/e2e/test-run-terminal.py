#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run` on a terminal: a real one (a pty), typed on and read as a person would. Prints TAP."""

import fcntl
import os
import re
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from broker_tap import at_once, end, ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 60  # for anything that is waited for; all of it takes far less
MARK = f"{os.getpid()}87"  # seconds that no command sleeps but those of this test


class Terminal:
    """A command on a terminal of its own. `words` is what its session leader runs."""

    def __init__(self, words, rows=24, columns=80, cwd=None):
        self.text = b""
        wait, go = os.pipe()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.close(go)
            os.read(wait, 1)
            os.close(wait)
            # As on a terminal, also where this was started by nohup or in the background.
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            os.chdir(cwd or WORK)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvp(words[0], words)
        # Before the program could change it.
        self.before = termios.tcgetattr(self.master)
        os.close(wait)
        os.close(go)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        data = text.encode() if isinstance(text, str) else text
        while data:
            self.pump(0)
            _, writable, _ = select.select([], [self.master], [], 0.05)
            if writable:
                data = data[os.write(self.master, data[:512]):]

    def pump(self, seconds):
        """Reads what is there; False at the end."""
        readable, _, _ = select.select([self.master], [], [], seconds)
        if not readable:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.text += data
        return bool(data)

    def wait_for(self, pattern):
        """Takes all up to the pattern out of what was shown; None if it does not come."""
        end = time.monotonic() + SECONDS
        while True:
            found = re.search(pattern.encode(), self.text)
            if found:
                taken, self.text = self.text[:found.end()], self.text[found.end():]
                return taken.decode(errors="replace")
            if time.monotonic() > end or not self.pump(0.2):
                found = re.search(pattern.encode(), self.text)
                if not found:
                    return None

    def wait(self):
        """The exit status; what is shown meanwhile is kept."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.pump(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.pump(0):
                    if not select.select([self.master], [], [], 0)[0]:
                        break
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return "it did not end"

    def mode(self):
        """What raw mode would change."""
        return termios.tcgetattr(self.master)[:4]

    def wait_for_job(self, raw=False):
        """Until a job of the shell has the terminal; until it is raw, too, where Corral has all of it."""
        until(lambda: os.tcgetpgrp(self.master) != self.pid and not (raw and self.mode()[3] & termios.ICANON), self)

    def close(self):
        os.close(self.master)


def until(condition, terminal=None):
    end = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < end:
        if terminal:
            terminal.pump(0)
        time.sleep(0.02)


def in_foreground(*words):
    """Whether a process with these words is in the foreground of its terminal: a key at the prompt would prove nothing."""
    line = b"".join(word.encode() + b"\0" for word in words)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found = file.read() == line
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                _, _, group, _, _, foreground = file.read().rsplit(")", 1)[1].split()[:6]
        except OSError:
            continue
        if found and group == foreground:
            return True
    return False


class Tap:
    def ok(self, good, name, terminal=None):
        ok(good, name, *([terminal.text[-600:]] if terminal else []))

    def same(self, got, wanted, name, terminal=None):
        if got != wanted:
            print(f"# got {got!r}, wanted {wanted!r}")
        self.ok(got == wanted, name, terminal)


TAP = Tap()


def corral(*words):
    return [CORRAL, "run", *words]


def test_is_terminal():
    t = Terminal(corral("--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo three; tty; exit 9"))
    TAP.same(t.wait(), 9, "the command's status", t)
    TAP.ok(b"three" in t.text, "input, output and error are a terminal", t)
    TAP.ok(re.search(rb"/dev/pts/\d", t.text), "which has a name inside", t)
    t.close()


def test_not_ours():
    """What the command has is not the terminal that we hold."""
    t = Terminal(corral("--", "python3", "-c", "import os; print('rdev', os.fstat(0).st_rdev, os.fstat(0).st_dev)"))
    outside = os.stat(os.ptsname(t.master)) if hasattr(os, "ptsname") else None
    shown = t.wait_for(r"rdev (\d+) (\d+)")
    if outside and shown:
        inside = [int(word) for word in shown.split("rdev ")[1].split()]
        TAP.ok(inside[1] != outside.st_dev or inside[0] != outside.st_rdev, "it is another terminal", t)
    else:
        TAP.ok(shown is not None, "it has a terminal", t)
    t.wait()
    t.close()


def test_size():
    t = Terminal(corral("--", "sh", "-c", "stty size; echo ready; while read x; do stty size; done"), 31, 97)
    TAP.ok(t.wait_for(r"31 97") is not None, "the window's size", t)
    t.wait_for("ready")
    t.resize(40, 120)
    shown = ""
    for _ in range(500):  # the signal takes its way; ask until it is there
        t.type("\n")
        shown = t.wait_for(r"\d+ \d+\r\n") or ""
        if "40 120" in shown:
            break
        time.sleep(0.02)
    TAP.ok("40 120" in shown, "a change of the window's size", t)
    t.type("\x04")
    TAP.same(t.wait(), 0, "Ctrl-D ends the input", t)
    t.close()


def test_job_control():
    t = Terminal(corral("--env", "PS1=ready> ", "--", "bash", "--norc", "-i"))
    TAP.ok(t.wait_for("ready> ") is not None, "an interactive shell", t)
    TAP.ok(b"no job control" not in t.text, "with job control", t)
    t.type(f"sleep {MARK}.1\n")
    until(lambda: in_foreground("sleep", f"{MARK}.1"), t)
    t.type("\x03")
    TAP.ok(t.wait_for("ready> ") is not None, "Ctrl-C ends what is in the foreground", t)
    t.type("echo al''ive $?\n")
    TAP.ok(t.wait_for("alive 130") is not None, "and the shell goes on", t)
    t.type(f"sleep {MARK}.2\n")
    until(lambda: in_foreground("sleep", f"{MARK}.2"), t)
    t.type("\x1a")
    TAP.ok(t.wait_for("Stopped") is not None, "Ctrl-Z stops it", t)
    t.type("bg\n")
    TAP.ok(t.wait_for(f"sleep {MARK}.2 &") is not None, "bg", t)
    t.type("jobs\n")
    TAP.ok(t.wait_for("Running") is not None, "it runs in the background", t)
    t.type("fg\n")
    until(lambda: in_foreground("sleep", f"{MARK}.2"), t)
    t.type("\x03")
    TAP.ok(t.wait_for("ready> ") is not None, "fg, and Ctrl-C", t)
    t.type("exit 3\n")
    TAP.same(t.wait(), 3, "the shell's status", t)
    TAP.same(t.mode(), t.before[:4], "our terminal is as it was", t)
    t.close()


def test_shell():
    os.environ["SHELL"] = "/bin/sh"
    t = Terminal([CORRAL, "shell", "--env", "PS1=here> "])
    TAP.ok(t.wait_for("here> ") is not None, "corral shell", t)
    t.type("exit 4\n")
    TAP.same(t.wait(), 4, "corral shell: its status", t)
    t.close()


def test_restored():
    """However it ends, our terminal is as it was."""
    for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
        t = Terminal(corral("--", "sh", "-c", "echo ready; exec sleep 1000"))
        t.wait_for("ready")
        TAP.ok(t.mode() != t.before[:4], f"raw while the command runs ({number.name})", t)
        os.kill(t.pid, number)
        TAP.same(t.wait(), status, f"{number.name} goes to the command", t)
        TAP.same(t.mode(), t.before[:4], f"and our terminal is as it was ({number.name})", t)
        t.close()
    t = Terminal(corral("--", "no-such-program"))
    TAP.same(t.wait(), 127, "no such program", t)
    TAP.same(t.mode(), t.before[:4], "as it was where nothing ran", t)
    t.close()
    t = Terminal(corral("--timeout", "300ms", "--", "sleep", "1000"))
    TAP.same(t.wait(), 124, "a timeout", t)
    TAP.same(t.mode(), t.before[:4], "as it was after a timeout", t)
    t.close()


def test_hangup():
    t = Terminal(corral("--", "sh", "-c", f"(trap '' HUP; sleep {MARK}.3) & echo ready; sleep {MARK}.3"))
    t.wait_for("ready")
    t.close()  # the window is closed
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pid, _ = os.waitpid(t.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    else:
        os.kill(t.pid, signal.SIGKILL)
        os.waitpid(t.pid, 0)
        pid = 0
    TAP.ok(pid != 0, "when the window is closed, Corral ends")
    # What ignores the hangup of its terminal reads the end of its input, as everywhere.
    t = Terminal(corral("--", "sh", "-c", "trap '' HUP; echo ready; while read x; do :; done; exit 0"))
    t.wait_for("ready")
    t.close()
    for _ in range(SECONDS * 50):
        done, _ = os.waitpid(t.pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    TAP.ok(done != 0, "a command that ignores it reads the end of its input")
    left = b""
    for _ in range(SECONDS * 50):
        left = subprocess.run(["pgrep", "-f", f"sleep {MARK}.3"], capture_output=True, check=False).stdout
        if not left:
            break
        time.sleep(0.02)
    TAP.same(left, b"", "and nothing is left")


def test_amounts():
    t = Terminal(corral("--", "seq", "1", "30000"))
    TAP.same(t.wait(), 0, "much output", t)
    numbers = re.findall(rb"^(\d+)\r$", t.text, re.MULTILINE)
    TAP.same(numbers, [str(n).encode() for n in range(1, 30001)], "all of it, in order")
    t.close()
    t = Terminal(corral("--", "sh", "-c", "stty raw -echo; echo ready; head -c 200000 | wc -c"))
    t.wait_for("ready")
    t.type(b"x" * 200000)
    TAP.ok(t.wait_for("200000") is not None, "much input", t)
    TAP.same(t.wait(), 0, "much input: ends", t)
    t.close()
    # It prints while it does not read: neither side may stop the other.
    t = Terminal(corral("--", "sh", "-c", "stty raw -echo; echo ready; seq 1 20000; head -c 100000 | wc -c"))
    t.wait_for("ready")
    t.type(b"y" * 100000)
    TAP.ok(t.wait_for("100000\n?\r?") is not None, "much of both at once", t)
    TAP.same(t.wait(), 0, "much of both: ends", t)
    t.close()


def test_injection():
    code = ("import fcntl, termios\n"
            "for fd in (0, 1, 2):\n"
            "    try:\n"
            "        fcntl.ioctl(fd, termios.TIOCSTI, b'x')\n"
            "        print('injected', fd)\n"
            "    except OSError as e:\n"
            "        print('refused', fd)\n"
            "print('end')\n")
    t = Terminal(corral("--", "python3", "-c", code))
    t.wait()
    TAP.same(t.text.count(b"refused"), 3, "TIOCSTI is refused", t)
    t.close()


def test_input_alone():
    """What is typed goes into a pipe where the output is a file."""
    path = os.path.join(WORK, "typed")
    t = Terminal(["sh", "-c", f"exec {CORRAL} run -- sh -c 'test -t 0 && echo terminal; echo ready >&2; cat' >{path}"])
    t.wait_for("ready")
    t.type("one line\n")
    t.type("\x04")
    TAP.same(t.wait(), 0, "input from the keyboard, output to a file", t)
    with open(path, encoding="utf-8") as file:
        TAP.same(file.read(), "one line\n", "what was typed arrives, and not by a terminal")
    t.close()


def test_pager():
    """A program behind us in the pipe reads the keyboard; we must not take it away."""
    pager = ("import os, tty; fd = os.open('/dev/tty', os.O_RDWR); tty.setraw(fd); os.write(fd, b'READY');"
             "got = os.read(fd, 3); os.write(fd, b'<' + got + b'>')")
    command = f"{CORRAL} run -- sleep 1000.75 | python3 -c \"{pager}\"; kill %1"
    t = Terminal(["bash", "-m", "-c", command])
    t.wait_for("READY")
    time.sleep(0.5)  # give Corral the time to be wrong
    t.type("q")
    t.type("w")
    t.type("e")
    shown = t.wait_for("<...>|<..>|<.>")
    TAP.ok(shown and "q" in shown, "a pager behind us has the keyboard", t)
    group = os.tcgetpgrp(t.master)
    if group > 0:  # none once all have ended, and 0 would be our own
        os.killpg(group, signal.SIGTERM)
    t.wait()
    t.close()


def test_output_alone():
    command = f"echo typed | {CORRAL} run -- sh -c 'test -t 0 || echo piped; test -t 1 && echo out; test -t 2 && echo err; cat; stty size <&1'"
    t = Terminal(["sh", "-c", command], 33, 99)
    TAP.same(t.wait(), 0, "input is a pipe", t)
    TAP.same(t.text.replace(b"\r", b"").split(), [b"piped", b"out", b"err", b"typed", b"33", b"99"],
             "output and error are a terminal", t)
    TAP.ok(b"\r\r" not in t.text, "lines end once", t)
    t.close()


def test_error_alone():
    path = os.path.join(WORK, "errors")
    t = Terminal(["sh", "-c", f"{CORRAL} run -- sh -c 'echo bad >&2; echo good' 2>{path}"])
    TAP.same(t.wait(), 0, "error is a file", t)
    TAP.same(t.text.strip(), b"good", "output is shown", t)
    with open(path, encoding="utf-8") as file:
        TAP.same(file.read(), "bad\n", "error is not")
    t.close()


def test_outer_job_control():
    """Corral in a pipe, stopped and continued by the shell outside."""
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"{CORRAL} run -- sh -c 'echo go; while :; do sleep 0.1; done' | cat\n")
    t.wait_for("\ngo")
    t.type("\x1a")
    TAP.ok(t.wait_for("Stopped") is not None, "Ctrl-Z stops a pipe with Corral in it", t)
    t.wait_for("outer> ")
    t.type("fg\n")
    t.wait_for_job()
    t.wait_for("run -- ")
    t.type("\x03")
    TAP.ok(t.wait_for("outer> ") is not None, "fg continues it, and Ctrl-C ends it", t)
    t.type("exit\n")
    t.wait()
    t.close()


def test_background():
    """In the background, with the keyboard as input: not stopped, as long as it does not read."""
    t = Terminal(["bash", "-m", "-c", f"{CORRAL} run -- sh -c 'sleep 0.5; echo through' >out & wait; cat out; rm out"])
    TAP.ok(t.wait_for("through") is not None, "in the background it is not stopped", t)
    t.wait()
    t.close()


def test_background_terminal():
    """All three are the terminal, but we are in the background: it runs, and fg brings it back."""
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"{CORRAL} run -- sh -c 'echo be''gun; read x; echo got $x' &\n")
    TAP.ok(t.wait_for("begun") is not None, "in the background with a terminal it runs", t)
    t.type("jobs\n")
    TAP.ok(t.wait_for("Running") is not None, "and is not stopped", t)
    t.type("fg\n")
    t.wait_for_job(raw=True)
    t.wait_for("run -- ")
    t.type("word\n")
    TAP.ok(t.wait_for("got word") is not None, "fg gives it the keyboard", t)
    t.wait_for("outer> ")
    t.type("exit\n")
    t.wait()
    t.close()


def test_hidden_notes():
    """What a command prints last must not hide what Corral says after it."""
    words = ["env", "TERM=xterm", CORRAL, "run", "--", "sh", "-c",
             r"echo x >.envrc; printf '\033[8m\033[?1049h\016\033]0;title'"]
    t = Terminal(words)
    t.wait()
    end = t.text.rfind(b"\x1b[8m\x1b[?1049h\x0e")
    note = t.text.find(b".envrc (", end)
    between = t.text[end:note]
    TAP.ok(end >= 0 and note >= 0 and all(s in between for s in (b"\x1b[0m", b"\x0f", b"\x1b[?1049l")),
           "a note cannot be hidden by colours or another screen", t)
    TAP.ok(b"title" not in t.text, "nor by a title that does not end", t)
    os.unlink(os.path.join(WORK, ".envrc"))
    t.close()


class Answering(Terminal):
    """A terminal that answers questions, a moment later, as a slow line does."""

    ANSWERS = ((rb"\x1b\[0?c", b"\x1b[?62;22c"), (rb"\x1bZ", b"\x1b[?62;22c"), (rb"\x1b\[>c", b"\x1b[>1;1;0c"),
               (rb"\x1b\[6n", b"\x1b[7;7R"), (rb"\x1b\[5n", b"\x1b[0n"), (rb"\x1b\[21t", b"\x1b]lTITLE\x1b\\"),
               (rb"\x1b\]11;\?(\x1b\\|\x07)", b"\x1b]11;rgb:0000/0000/0000\x1b\\"), (rb"\x1b\[>0?q", b"\x1bP>|term\x1b\\"),
               (rb"\x1bP\$qm\x1b\\", b"\x1bP1$r0m\x1b\\"), (rb"\x05", b"ENQUIRY"),
               (rb"\x1b\]52;c;\?(\x1b\\|\x07)", b"\x1b]52;c;c2VjcmV0\x07"))

    looked, stalled = None, False

    def pump(self, seconds):
        before = len(self.text)
        more = super().pump(seconds)
        now = time.monotonic()
        # Corral waits one second for an answer. If this machine was too slow to answer in time, the result shows nothing.
        self.stalled = self.stalled or (self.looked is not None and now - self.looked > seconds + 0.5)
        self.looked = now
        asked = sorted((m.start(), answer) for pattern, answer in self.ANSWERS for m in re.finditer(pattern, self.text)
                       if m.end() > before)
        if asked:
            time.sleep(0.05)
        for _, answer in asked:
            os.write(self.master, answer)
        return more


QUESTIONS = r"\033[c\033[6n\033[5n\033]11;?\007\033[>c\033[>q\033[21t\033P$qm\033\\\033Z\005\033]52;c;?\007\033[c"
# What a shell would get to read after the run.
LEFT = "stty -icanon -echo min 0 time 3; printf 'left<'; dd bs=4096 count=1 2>/dev/null | od -An -c; printf '>end'"


def test_answers():
    for _ in range(20):
        t = Answering(["sh", "-c", f"{CORRAL} run -- printf '{QUESTIONS}'; {LEFT}"])
        shown = t.wait_for(">end") or ""
        t.wait()
        t.close()
        if shown.endswith("left<>end") or not t.stalled:
            break
    TAP.same(shown[shown.rfind("left<"):], "left<>end", "answers to what was printed last do not reach the shell", t)
    # Where the command cannot read the answers, nothing is asked at all.
    t = Answering(["sh", "-c", f"true | {CORRAL} run -- printf '{QUESTIONS}text'; {LEFT}"])
    shown = t.wait_for(">end") or ""
    TAP.same(shown[shown.rfind("left<"):], "left<>end", "nor with another input", t)
    TAP.ok("text" in shown and "\x1b" not in shown[:shown.rfind("left<")], "then nothing is asked", t)
    t.wait()
    t.close()
    # While it runs, a command gets its answers.
    code = ("import os, tty; tty.setraw(0); os.write(1, b'\\x1b[6n'); got = b''\n"
            "while not got.endswith(b'R'): got += os.read(0, 64)\nprint('got', got)")
    t = Answering(corral("--", "python3", "-c", code))
    TAP.ok(t.wait_for(r"got b'\\x1b\[7;7R'") is not None, "a command is answered while it runs", t)
    TAP.same(t.wait(), 0, "and ends", t)
    t.close()


def test_answers_in_background():
    """In the background the shell would read the answers: questions do not pass."""
    os.environ["PS1"] = "outer> "
    t = Answering(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"{CORRAL} run -- sh -c 'sleep 0.3; printf \"\\033[c\\033]4;1;?\\007LA\"ST' &\n")
    shown = t.wait_for("LAST") or ""
    TAP.ok(shown and "\x1b" not in shown, "nothing is asked from the background", t)
    t.type("exit\n")
    t.wait()
    t.close()


def test_stop():
    """Stopped from outside: the shell has its terminal without the command's modes; they come back."""
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"{CORRAL} run -- sh -c 'printf \"\\033[?1049h\\033[?1000h\\033=REA\"DY; read x; echo got $x'\n")
    t.wait_for("READY")
    os.killpg(os.tcgetpgrp(t.master), signal.SIGTSTP)
    shown = t.wait_for("Stopped") or ""
    TAP.ok("\x1b[?1000l" in shown and "\x1b[?1049l" in shown and "\x1b>" in shown, "modes are reset where it is stopped", t)
    t.wait_for("outer> ")
    t.type("fg\n")
    t.wait_for("run -- ")
    shown = t.wait_for(r"\x1b=") or ""
    TAP.ok("\x1b[?1000h" in shown and "\x1b[?1049h" in shown, "and set again where it goes on", t)
    t.wait_for_job(raw=True)
    t.type("word\n")
    t.wait_for("got word")
    shown = t.wait_for("outer> ") or ""
    TAP.ok("\x1b[?1000l" in shown and "\x1b[?1049l" in shown, "and reset in the end", t)
    t.type("exit\n")
    t.wait()
    t.close()


# One process: a shell that is about to start another (vfork) cannot be stopped, and the kernel stops
# what it starts instead, with or without Corral.
TICKS = """
import time
ticks = open("ticks", "a", buffering=1)
print("g" + "o", flush=True)
while True:
    ticks.write("x")
    ticks.flush()
    time.sleep(0.02)
"""


def write_ticks():
    with open(os.path.join(WORK, "ticks.py"), "w", encoding="ascii") as file:
        file.write(TICKS)


def ticks_grow(seconds=SECONDS):
    """Does the command go on?"""
    path = os.path.join(WORK, "ticks")
    before = os.path.getsize(path)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.path.getsize(path) > before + 2:
            return True
        time.sleep(0.02)
    return False


def test_suspend():
    """Ctrl-Z while Corral has the whole terminal: both stop, the shell outside has it, and fg goes on."""
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    before = t.mode()
    write_ticks()
    t.type(f"{CORRAL} run -- python3 ticks.py\n")
    t.wait_for("\ngo")
    TAP.ok(ticks_grow(), "the command runs", t)
    t.type("\x1a")
    TAP.ok(t.wait_for("Stopped") is not None, "Ctrl-Z suspends corral run", t)
    t.wait_for("outer> ")
    TAP.ok(not ticks_grow(1), "and the command with it", t)
    t.type("stty -a | grep -c -e ' icanon'\n")
    TAP.ok(t.wait_for("\n1") is not None, "the shell has its terminal back", t)
    t.type("bg\n")
    t.wait_for("outer> ")
    TAP.ok(ticks_grow(), "bg: it goes on", t)
    t.type("fg\n")
    t.wait_for_job(raw=True)
    t.wait_for("run -- ")
    t.type("\x1a")
    TAP.ok(t.wait_for("Stopped") is not None, "fg, and Ctrl-Z once more", t)
    t.wait_for("outer> ")
    TAP.ok(not ticks_grow(1), "it is stopped once more", t)
    t.type("fg\n")
    t.wait_for("run -- ")
    TAP.ok(ticks_grow(), "fg: it goes on", t)
    t.type("\x03")
    TAP.ok(t.wait_for("outer> ") is not None, "and Ctrl-C ends it", t)
    TAP.same(t.mode()[3] & termios.ICANON, before[3] & termios.ICANON, "the terminal is as it was", t)
    t.type("exit\n")
    t.wait()
    t.close()
    os.remove(os.path.join(WORK, "ticks"))


def test_suspend_script():
    """In a script the whole job stops, not Corral alone: else the shell outside would never know."""
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"sh -c '{CORRAL} run -- sh -c \"echo g\\\"\\\"o; sleep {MARK}.4\"; echo after'\n")
    t.wait_for("\ngo")
    until(lambda: in_foreground("sleep", f"{MARK}.4"), t)
    t.type("\x1a")
    TAP.ok(t.wait_for("Stopped") is not None, "Ctrl-Z stops a script with Corral in it", t)
    t.wait_for("outer> ")
    t.type("kill %1; fg\n")
    TAP.ok(t.wait_for("outer> ") is not None, "which can be ended", t)
    t.type("exit\n")
    t.wait()
    t.close()


def test_suspend_itself():
    """An editor takes Ctrl-Z as a key, cleans up, and stops its group itself."""
    # Each word in two: what is typed is shown as well.
    editor = ("import os, signal, sys, tty; tty.setraw(0); os.write(1, b'ED' + b'IT'); os.read(0, 1); os.write(1, b'LE' + b'FT'); "
              "os.kill(0, signal.SIGTSTP); os.write(1, b'BA' + b'CK'); os.read(0, 1)")
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"{CORRAL} run -- python3 -c \"{editor}\"\n")
    t.wait_for("EDIT")
    t.type("\x1a")
    TAP.ok(t.wait_for("LEFT") is not None and t.wait_for("Stopped") is not None, "a program that stops itself", t)
    t.wait_for("outer> ")
    t.type("fg\n")
    TAP.ok(t.wait_for("BACK") is not None, "goes on by fg", t)
    t.wait_for_job(raw=True)
    t.type("q")
    TAP.ok(t.wait_for("outer> ") is not None, "and ends", t)
    t.type("exit\n")
    t.wait()
    t.close()


def test_suspend_ignored():
    """At the prompt of a shell inside, Ctrl-Z means nothing, as at any prompt."""
    os.environ["PS1"] = "outer> "
    t = Terminal(["bash", "--norc", "-i"])
    t.wait_for("outer> ")
    t.type(f"{CORRAL} run --env 'PS1=inner> ' -- bash --norc -i\n")
    t.wait_for("\ninner> ")
    t.type("\x1a")
    t.type("echo al''ive\n")
    shown = t.wait_for("alive")
    TAP.ok(shown is not None and "Stopped" not in shown, "Ctrl-Z at a prompt inside stops nothing", t)
    t.type("exit\n")
    t.wait_for("outer> ")
    t.type("exit\n")
    t.wait()
    t.close()


def test_suspend_alone():
    """Where no shell could say fg (Corral leads the session), Ctrl-Z stops nothing for good."""
    write_ticks()
    t = Terminal(corral("--", "python3", "ticks.py"))
    t.wait_for("go")
    t.type("\x1a")
    time.sleep(0.2)
    TAP.ok(ticks_grow(), "without a shell outside the command goes on", t)
    t.type("\x03")
    TAP.ok(t.wait() in (1, 130), "and Ctrl-C ends it", t)
    t.close()
    os.remove(os.path.join(WORK, "ticks"))


def test_no_answers():
    """A terminal that does not answer: the end is not held up for long."""
    t = Terminal(corral("--", "printf", r"\033[c\033[6n"))
    TAP.same(t.wait(), 0, "a terminal that answers nothing", t)
    TAP.same(t.mode(), t.before[:4], "is as it was", t)
    t.close()


def test_modes():
    sets = (r"\033[?1049h\033[?1000h\033[?1006h\033[?2004h\033[?1004h\033[?25l\033[?7l\033[?1h\033=\033[5;10r\033(0\016\033[1;31m"
            r"\033[>1u\033[4 q\033[22;0t\033]11;#123456\007\033]8;;http://x\007")
    wanted = [b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b[?25h", b"\x1b[?7h",
              b"\x1b[?1l", b"\x1b>", b"\x1b[r", b"\x1b(B", b"\x0f", b"\x1b[0m", b"\x1b[<99u", b"\x1b[0 q", b"\x1b[23;0t",
              b"\x1b]111\x1b\\", b"\x1b]8;;\x1b\\"]
    for name, words in (("the end", ["printf", sets + "LAST"]),
                        ("a kill", ["sh", "-c", f"printf '{sets}LAST'; kill -9 $$"])):
        t = Terminal(corral("--", *words))
        t.wait()
        end = t.text[t.text.rfind(b"LAST"):]
        TAP.same([w for w in wanted if w not in end], [], f"modes are reset after {name}", t)
        t.close()
    t = Terminal(["sh", "-c", f"true | {CORRAL} run -- printf '{sets}LAST'"])
    t.wait()
    end = t.text[t.text.rfind(b"LAST"):]
    TAP.same([w for w in wanted if w not in end], [], "modes are reset where only the output is a terminal", t)
    t.close()
    t = Terminal(corral("--", "printf", r"\033[1mbold\033[0m \033[?25l\033[?25h LAST"))
    t.wait()
    TAP.same(t.text[t.text.rfind(b"LAST"):], b"LAST", "a command that cleans up itself costs nothing", t)
    t.close()


CLIPBOARD = (r"\033]52;c;aGk=\007", r"\033]52;c;?\007", r"\033Ptmux;\033\033]52;c;aGk=\007\033\\", r"\033P\033]52;c;aGk=\007\033\\",
             r"\0235" r"2;c;aGk=\007\2352;c;aGk=\007\23552;c;aGk=\007", r"\302\23552;c;aGk=\007", r"\033_\033]52;c;aGk=\007\033\\",
             r"\033]1337;Copy=:aGk=\007", r"\033_Gt=f,a=T;L2V0Yy9ob3N0cw==\033\\", r"\033]777;notify;a;b\007", r"\033]9;note\007")


def test_clipboard():
    for sequence in CLIPBOARD:
        t = Terminal(corral("--", "printf", "FIRST" + sequence + "LAST"))
        t.wait()
        TAP.ok(b"LAST" in t.text and not re.search(rb"\x1b\]|\x9d|\x1bP|\x1b_", t.text[t.text.find(b"FIRST"):]),
               f"does not reach the terminal: {sequence}", t)
        t.close()
    t = Terminal(corral("--", "sh", "-c", r"printf '\033]5'; sleep 0.1; printf '2;c;a'; sleep 0.1; printf 'Gk=\007LAST'"))
    t.wait()
    TAP.ok(b"LAST" in t.text and b"2;c;" not in t.text, "in pieces neither", t)
    t.close()
    policy = os.path.join(SCRATCH, "clipboard.yaml")
    for access, write, read in (("write", True, False), ("read", False, True), ("readwrite", True, True)):
        with open(policy, "w", encoding="ascii") as file:
            file.write("version: 1\npermissions:\n  fs:\n    read: [/usr/**, /bin/**, /lib/**, /lib64/**]\n"
                       f"  services:\n    clipboard:\n      access: {access}\n")
        t = Terminal([CORRAL, "run", "--policy", policy, "--", "printf", r"\033]52;c;aGk=\007\033]52;c;?\007LAST"])
        t.wait()
        TAP.same((b"\x1b]52;c;aGk=" in t.text, b"\x1b]52;c;?" in t.text), (write, read), f"a grant: {access}", t)
        t.close()


def test_untouched():
    """What programs of every day print is the same with and without."""
    text = (r"\033[38;2;10;20;30mcolour\033[0m \033[2J\033[H\033[5;5Hat\033[K \033]0;title\033\\ \342\235\235\342\234\223 "
            r"\033[?2026h\033[?2026l\033]8;;http://x\033\\link\033]8;;\033\\ \033(0q\033(B END")
    t = Terminal(["printf", text])
    t.wait()
    bare = t.text
    t.close()
    t = Terminal(corral("--", "printf", text))
    t.wait()
    TAP.same(t.text[:len(bare)], bare, "text, colours, cursor, title and links", t)
    t.close()


def main():
    if subprocess.run([CORRAL, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    # Three parts, which mostly wait, run at the same time.
    parts = [[]]
    for name, test in list(globals().items()):
        if name in ("test_answers", "test_no_answers"):
            parts.append([])
        if name.startswith("test_"):
            parts[-1].append(test)
    at_once(*[lambda tests=tests: in_scratch(tests) for tests in parts])
    return end()


def in_scratch(tests):
    global SCRATCH, WORK
    SCRATCH = os.path.realpath(tempfile.mkdtemp())
    WORK, home = os.path.join(SCRATCH, "work"), os.path.join(SCRATCH, "home")
    os.mkdir(WORK)
    os.mkdir(home)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        os.environ.pop(variable, None)
    os.environ.update(HOME=home, TERM="dumb", LC_ALL="C.UTF-8")
    try:
        for test in tests:
            test()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
