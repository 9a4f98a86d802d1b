# SPDX-License-Identifier: Apache-2.0
"""Independent parts of a suite, all at once: most of their time they wait.

A lane is a process in network and mount namespaces of its own, so that its world (world.py), its servers' logs, and what it
looks for in its namespace are its own. What the lanes print becomes one stream of TAP, lane by lane.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time

# A lane does not outlive the runner.
UNSHARE = ["unshare", "--net", "--mount", "--propagation", "private", "--", "setpriv", "--pdeathsig", "TERM", "--"]


class Lane:
    def __init__(self, name, words):
        self.name = name
        self.out, self.read = tempfile.TemporaryFile(), 0
        self.process = subprocess.Popen([*UNSHARE, sys.executable, *words], stdin=subprocess.DEVNULL, stdout=self.out)

    def lines(self):
        """As they come, until it has ended."""
        rest = b""
        while True:
            over = self.process.poll() is not None
            while data := os.pread(self.out.fileno(), 65536, self.read):  # its own place in the file is where the lane writes
                self.read += len(data)
                *whole, rest = (rest + data).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)
            if over:
                break
            time.sleep(0.1)
        if rest:
            yield rest.decode(errors="replace")

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.out.close()


class Stream:
    """The lanes' tests with numbers of their own."""

    def __init__(self):
        self.number = self.failures = 0

    def say(self, good, rest):
        self.number += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.number}{rest}", flush=True)

    def add(self, lane):
        before, plan, broken = self.number, None, False
        for line in lane.lines():
            test = re.match(r"(ok|not ok) \d+(.*)", line)
            if test:
                self.say(test[1] == "ok", test[2])
                broken |= test[1] != "ok"
            elif re.match(r"1\.\.\d+", line):
                plan = line
            else:
                print(line, flush=True)
        if plan != f"1..{self.number - before}" or plan == "1..0":
            self.say(False, f" - {lane.name}: all of it was run")
            print(f"# {self.number - 1 - before} tests, plan {plan}")
            broken = True
        if lane.process.returncode != (1 if broken else 0):
            self.say(False, f" - {lane.name}: status {lane.process.returncode}")


def run(lanes):
    """lanes: name and the words for Python. Returns the status of the whole."""
    with contextlib.ExitStack() as stack:
        begun = []
        for name, words in lanes:
            begun.append(Lane(name, words))
            stack.callback(begun[-1].end)
        stream = Stream()
        for lane in begun:
            stream.add(lane)
    print(f"1..{stream.number}")
    return 1 if stream.failures else 0
