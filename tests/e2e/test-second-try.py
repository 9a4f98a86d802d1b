#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/run-tests and its second try, on a small project of Meson's made for it."""

import os
import subprocess
import sys
import tempfile

from broker_tap import end, ok

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "run-tests")

# Fails as often as its second argument says, counted in a file; three checks, of which the second fails.
PROGRAM = """#!/bin/sh
times=$(cat "$1" 2>/dev/null || echo 0)
echo $((times + 1)) >"$1"
echo 1..3
echo ok 1 - first
echo "# summary: $(basename "$1") has three checks"; echo "# summary without its colon"
if [ "$times" -lt "$2" ]; then echo not ok 2 - second; echo "# the reason"; else echo ok 2 - second; fi
if [ -n "${XDG_RUNTIME_DIR-}" ] && [ ! -e "$XDG_RUNTIME_DIR" ]; then echo ok 3 - third; else echo not ok 3 - it might join a daemon; fi
"""


def run_tests(programs):
    """programs: name -> (suites, how often it fails). Returns the status, the output and how often each was run."""
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "check.sh")
        with open(script, "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        os.chmod(script, 0o755)
        with open(os.path.join(folder, "meson.build"), "w", encoding="utf-8") as out:
            out.write("project('small')\n")
            for name, (suites, failures) in programs.items():
                out.write(f"test('{name}', files('check.sh'), args: ['{folder}/{name}', '{failures}'], suite: {suites}, protocol: 'tap')\n")
        build = os.path.join(folder, "build")
        subprocess.run(["meson", "setup", build, folder], check=True, capture_output=True)
        done = subprocess.run([TOOL, build, "--no-suite", "left-out"], capture_output=True, text=True, check=False,
                              env={**os.environ, "CI": "true"})
        runs = {}
        for name in programs:
            path = os.path.join(folder, name)
            runs[name] = int(open(path, encoding="utf-8").read()) if os.path.exists(path) else 0
        return done.returncode, done.stdout, runs


def last(output):
    return output.strip().splitlines()[-1]


def main():
    status, output, runs = run_tests({"good": (["a"], 0), "moody": (["a", "b"], 1), "left": (["left-out"], 9)})
    ok(status == 0 and last(output) == "6 passed, 0 failed", "what passes by its second try does not fail the run", output)
    ok("flaky: moody\n" in output and "first: a/moody: second" in output and "# the reason" in output,
       "it is named, with what it said at first", output)
    ok(output.count("\na/good: good has three checks\n") == 1 and output.count("moody has three checks\n") == 1 and "without its colon" not in output,
       "the line that a program says to the reader of the run is at the end, once", output)
    ok(runs == {"good": 1, "moody": 2, "left": 0}, "only what failed is run again", runs)

    status, output, runs = run_tests({"good": (["b"], 0), "bad": (["a"], 9)})
    ok(status == 1 and last(output) == "5 passed, 1 failed" and "failed: a/bad: second" in output and "flaky" not in output,
       "what fails twice fails", output)
    ok(runs["bad"] == 2, "it was tried twice", runs)

    status, output, runs = run_tests({"attack": (["escape", "once"], 1)})
    ok(status == 1 and last(output) == "2 passed, 1 failed" and "failed: escape/attack: second" in output,
       "an attack that succeeds once fails the run", output)
    ok(runs["attack"] == 1, "and is not tried again", runs)

    status, output, runs = run_tests({f"moody{i}": (["a"], 1) for i in range(3)})
    ok(status == 0, "three flaky programs are accepted", output)
    status, output, runs = run_tests({f"moody{i}": (["a"], 1) for i in range(4)})
    ok(status == 1 and last(output) == "12 passed, 1 failed" and "second try only" in output, "four are not", output)
    status, output, runs = run_tests({f"bad{i}": (["a"], 1) for i in range(13)})
    ok(status == 1 and set(runs.values()) == {1}, "where many fail, none is tried again", output)
    return end()


if __name__ == "__main__":
    sys.exit(main())
