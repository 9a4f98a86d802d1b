#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral audit tail -f`: a log that is written while it is read; and how it looks on a terminal. Prints TAP."""

import codecs
import fcntl
import json
import os
import pty
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
import unicodedata

CORRAL = os.path.abspath(os.environ["CORRAL"])
MAKE_LOG = os.path.abspath(os.environ["MAKE_LOG"])
SECONDS = 60  # for anything that is waited for; all of it takes far less

number = 0
failures = 0


def ok(good, name, *more):
    global number, failures
    number += 1
    failures += not good
    print(("ok" if good else "not ok"), number, "-", name)
    for line in () if good else more:
        print("#", repr(line))
    sys.stdout.flush()


class Writer:
    """A process that writes a log, an event at a time."""

    def __init__(self, path):
        self.process = subprocess.Popen([MAKE_LOG, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def add(self, target, **more):
        event = {"action": "net.connect", "decision": "allowed", "target": target, "session": "s-1", "program": "p", **more}
        self.say(json.dumps(event))
        self.say("commit")
        self.process.stdout.readline()

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Reader:
    """A process, and what it prints, on a terminal of its own or into a pipe."""

    def __init__(self, *words, columns=0, environment=None):
        env = {**os.environ, "TERM": "xterm", **(environment or {})}
        if columns:
            self.fd, inside = pty.openpty()
            fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        else:
            self.fd, inside = os.pipe()
        error = inside if columns else subprocess.DEVNULL
        self.process = subprocess.Popen([CORRAL, "audit", *words], stdin=subprocess.DEVNULL, stdout=inside, stderr=error,
                                        env=env, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        os.close(inside)
        self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def pump(self, seconds):
        readable, _, _ = select.select([self.fd], [], [], seconds)
        try:
            data = os.read(self.fd, 65536) if readable else None
        except OSError:
            return False
        self.text += self.decoder.decode(data or b"")  # a character may come in two pieces
        return data is None or len(data) > 0

    def wait_for(self, pattern):
        end = time.monotonic() + SECONDS
        while not re.search(pattern, self.text):
            if time.monotonic() > end or not self.pump(0.1):
                return bool(re.search(pattern, self.text))
        return True

    def finish(self):
        """All that it prints, and its status."""
        while self.pump(SECONDS):
            pass
        os.close(self.fd)
        return self.process.wait(SECONDS)

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.finish()


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r", "")


def test_follow():
    writer = Writer("live.db")
    for i in range(20):
        writer.add(f"old-{i}.example")
    reader = Reader("tail", "-f", "-n", "2", "live.db")
    ok(reader.wait_for("old-19"), "the latest are there", reader.text)
    ok("old-18" in reader.text and "old-17" not in reader.text, "as many as were asked for", reader.text)
    for i in range(5):
        writer.add(f"new-{i}.example")
        ok(reader.wait_for(f"new-{i}"), f"what comes is there ({i})", reader.text)
    # In order, each once.
    seen = re.findall(r"(?:old|new)-\d+", reader.text)
    ok(seen == ["old-18", "old-19"] + [f"new-{i}" for i in range(5)], "in order, each once", seen)
    # The writer ends (SQLite tidies up its files), or is killed; another takes up.
    writer.close()
    writer = Writer("live.db")
    writer.add("second-writer")
    ok(reader.wait_for("second-writer"), "another writer")
    writer.kill()
    writer = Writer("live.db")
    writer.add("third-writer")
    ok(reader.wait_for("third-writer"), "after one that was killed")
    ok(reader.end() == -signal.SIGINT, "SIGINT ends it")
    ok("Traceback" not in reader.text and reader.text.endswith("\n"), "quietly", reader.text[-100:])
    writer.close()


def test_two_writers():
    """Records of several processes, in the order of their numbers."""
    reader = Reader("tail", "-f", "--json", "two.db")
    first = Writer("two.db")
    first.add("a")
    ok(reader.wait_for('"a"'), "the first of two", reader.text)
    first.add("b")
    first.close()
    second = Writer("two.db")
    second.add("c")
    ok(reader.wait_for('"c"'), "the second of two", reader.text)
    second.close()
    reader.end(signal.SIGTERM)
    rows = [json.loads(line) for line in reader.text.splitlines()]
    ok([(r["number"], r["target"]) for r in rows] == [(1, "a"), (2, "b"), (3, "c")], "JSON Lines, each once", reader.text)


def test_filter():
    writer = Writer("filter.db")
    reader = Reader("tail", "-f", "--decision", "denied", "filter.db")
    writer.add("let-through")
    writer.add("kept-out", decision="denied", rule="policy.yaml:7", reason="nothing grants it")
    ok(reader.wait_for("kept-out") and reader.wait_for("policy.yaml:7: nothing grants it\n"), "what fits, with its reason", reader.text)
    ok("let-through" not in reader.text, "and nothing else", reader.text)
    reader.end()
    writer.close()


def test_waiting():
    reader = Reader("tail", "-f", "later.db", columns=80)
    ok(reader.wait_for(r"later\.db: the log has no records yet; waiting"), "no log yet: it waits, and says so", reader.text)
    open("later.db", "w").close()
    time.sleep(0.3)
    ok(reader.process.poll() is None, "also for a file that is empty")
    os.unlink("later.db")
    writer = Writer("later.db")
    writer.add("first.example")
    ok(reader.wait_for("first.example"), "and then shows it", reader.text)
    writer.close()
    # Another log in its place: from its beginning.
    other = Writer("other.db")
    other.add("another-log.example")
    other.close()
    for suffix in "", ".head", ".key", ".key.pub":
        os.rename("other.db" + suffix, "later.db" + suffix)
    ok(reader.wait_for("another-log.example"), "another log in its place", reader.text)
    reader.end()
    reader = Reader("tail", "-f", "nothing.db")
    time.sleep(0.3)
    ok(reader.end() == -signal.SIGINT and reader.text == "", "nothing is said where there is no terminal", reader.text)


def test_shorter():
    """Another process cuts the log while we read: that is reported."""
    writer = Writer("cut.db")
    for i in range(10):
        writer.add(f"host-{i}")
    writer.close()
    reader = Reader("tail", "-f", "cut.db", columns=80)
    ok(reader.wait_for("host-9"), "a log")
    subprocess.run([sys.executable, "-c", "import sqlite3; c = sqlite3.connect('cut.db'); "
                    "c.execute('DELETE FROM record WHERE number > 5'); c.commit()"], check=True)
    ok(reader.wait_for("the log has become shorter"), "that it became shorter is told", reader.text)
    reader.end()


def test_no_log():
    with open("text.db", "w", encoding="utf-8") as file:
        file.write("this is no log, and will never be one\n" * 100)
    reader = Reader("tail", "-f", "text.db", columns=80)
    ok(reader.finish() == 2 and "text.db" in reader.text, "a file that is no log is an error, soon", reader.text)


def test_closed_output():
    writer = Writer("closed.db")
    writer.add("x")
    reader = Reader("tail", "-f", "closed.db")
    ok(reader.wait_for("x"), "a reader is there")
    os.close(reader.fd)
    ok(reader.process.wait(SECONDS) == 0, "it ends without a reader, though nothing comes", reader.process.returncode)
    # And where SIGPIPE is ignored, too.
    shell = subprocess.Popen(["sh", "-c", 'trap "" PIPE; "$0" audit tail -f closed.db | head -n 1', CORRAL],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = shell.communicate(timeout=SECONDS)
    ok(out.count(b"\n") == 1 and err == b"", "with head(1) behind it", out, err)
    writer.close()


def test_cost():
    """Waiting costs next to nothing: a handful of calls in each look."""
    writer = Writer("idle.db")
    for i in range(2000):
        writer.say(json.dumps({"action": "env", "target": f"V{i}"}))
    writer.close()
    os.utime("idle.db", (1, 1))
    reader = Reader("tail", "-f", "-n", "0", "--target", "nothing*", "idle.db")

    def ticks():
        with open(f"/proc/{reader.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    # It reads the log first, which takes what it takes.
    used, end = 1, time.monotonic() + SECONDS
    while used >= 0.2 and time.monotonic() < end:
        before = ticks()
        time.sleep(2)
        used = (ticks() - before) / os.sysconf("SC_CLK_TCK")
    ok(used < 0.2, "waiting takes less than a tenth of a processor", used)
    reader.end()


def test_terminal():
    hostile = "/bin/\x1b]0;owned\x07\x1b[2J" + "x" * 300
    writer = Writer("look.db")
    writer.add("api.example.com:443")
    writer.add("evil.example.net:443", decision="denied", rule="policy.yaml:7", reason="nothing grants it " * 40, program="/usr/bin/curl")
    writer.add(hostile, action="exec", decision="denied", program="p\x1b[31m" * 40, session="s" * 400, sandbox="\u202e" * 400)
    writer.add("api.example.com:443", action="net.close", decision="none", sent=10**15, received=10**15, count=10**18)
    writer.close()
    for columns in 60, 80, 120, 200:
        reader = Reader("list", "look.db", columns=columns)
        reader.finish()
        lines = plain(reader.text).split("\n")
        wide = [line for line in lines if len(line) > columns]
        ok(not wide or columns < 80, f"{columns} columns hold all lines", *wide)
    reader = Reader("list", "look.db", columns=80)
    reader.finish()
    ok("\x1b[1;31mdenied\x1b[0m" in reader.text and "\x1b[1;32mallowed\x1b[0m" in reader.text, "decisions are coloured", reader.text)
    ok("owned" not in reader.text or r"\x1b]0;owned\x07" in reader.text, "escapes of a target are visible", reader.text)
    ok(not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\u202e]", plain(reader.text)) and "\x1b" not in plain(reader.text),
       "nothing that a terminal would obey", reader.text)
    ok(re.match(r"\d{4}-\d\d-\d\d\n\d\d:\d\d:\d\d ", plain(reader.text)), "the day stands above", plain(reader.text)[:60])
    for name, value in ("NO_COLOR", "1"), ("TERM", "dumb"):
        reader = Reader("list", "look.db", columns=80, environment={name: value})
        reader.finish()
        ok("\x1b" not in reader.text and "denied" in reader.text, f"{name}={value}: no colours", reader.text)
    widths = []
    for columns in 60, 100:
        reader = Reader("stats", "look.db", columns=columns, environment={"LC_ALL": "C.UTF-8"})
        reader.finish()
        widths.append(max(line.count("█") for line in plain(reader.text).split("\n")))
        ok(max(len(line) for line in plain(reader.text).split("\n")[3:]) <= columns, f"bars fit into {columns} columns", reader.text)
    ok(0 < widths[0] < widths[1], "bars are as long as there is room", widths)


def cells(line):
    """The room that a line takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_no_line_of_a_commands_own():
    """What does not fit is broken by the terminal, and goes on at its left edge, where our lines begin."""
    fake = "12:53:04\u00a0allowed\u00a0net.connect\u00a0good.example:443"
    writer = Writer("fake.db")
    for before in "x", "漢", "漢 ", "😀":
        text = (before * 300)[:70] + fake + before * 60
        writer.add(text, decision="denied", reason=text, rule="r", program=text, session=text, sandbox=text)
    writer.close()
    for columns in 80, 90, 120:
        reader = Reader("list", "fake.db", columns=columns)
        reader.finish()
        wide = [line for line in plain(reader.text).split("\n") if cells(line) > columns]
        ok("denied" in reader.text and not wide, f"{columns} columns hold wide characters and long words", *wide)


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.environ.update(HOME=folder, TZ="UTC", LC_ALL="C.UTF-8")
    os.environ.pop("NO_COLOR", None)
    os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    try:
        for test in (test_follow, test_two_writers, test_filter, test_waiting, test_shorter, test_no_log, test_closed_output,
                     test_cost, test_terminal, test_no_line_of_a_commands_own):
            test()
    finally:
        shutil.rmtree(folder)
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
