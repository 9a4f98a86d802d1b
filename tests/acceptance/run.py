#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Third-party clients that are slow to install, inside: browsers, other sandboxes. agents.py has coding agents.

    run.py --corral PROGRAM [--only WORD]     prints TAP, one line for each row

Many of them have a sandbox of their own, which cannot be made inside of Corral's: namespaces are
refused there. Each row runs the client with the option that docs/agents.md names for it, and looks
for what it must show. A client that is not installed is skipped by its name.
"""

import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile

SECONDS = 120

Row = collections.namedtuple("Row", "name program run options see status says", defaults=((), (), 0, ()))

PAGE = "<html><body><script>document.write('sum ' + (40 + 2))</script></body></html>"
BROWSE = ("chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$PWD/profile "
          "--dump-dom file://$PWD/page.html 2>&1")

ROWS = [
    Row("chromium: a page with a script, with --no-sandbox", "chromium", BROWSE, see=["sum 42"]),
    Row("chromium: its own sandbox is refused, and it says so", "chromium", BROWSE.replace("--no-sandbox ", ""),
        status=None, see=["sandbox"]),
    Row("bwrap: a sandbox inside is refused", "bwrap",
        "bwrap --ro-bind / / --unshare-all true; echo status $?", see=["status 1"], says=["bwrap: "]),
]


def run(row, corral, folder):
    home = os.path.join(folder, "home")
    work = os.path.join(folder, "work")
    os.makedirs(home)
    os.makedirs(work)
    with open(os.path.join(work, "page.html"), "w", encoding="utf-8") as page:
        page.write(PAGE)
    env = {**os.environ, "HOME": home, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    words = [corral, "run", "--timeout", f"{SECONDS}s", *row.options, "--", "sh", "-c", row.run]
    return subprocess.run(words, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)


def faults(row, result):
    wrong = [f"no {text!r} in the output" for text in row.see if text not in result.stdout]
    wrong += [f"no {text!r} in the messages" for text in row.says if text not in result.stderr]
    if row.status is not None and result.returncode != row.status:
        wrong.append(f"status {result.returncode}, not {row.status}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    corral = os.path.abspath(options.corral)
    if subprocess.run([corral, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    number = failures = 0
    for row in ROWS:
        if options.only not in row.name:
            continue
        number += 1
        if not shutil.which(row.program):
            print(f"ok {number} - {row.name} # SKIP third-party cases not present: {row.program}", flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="corral-a.") as folder:
            result = run(row, corral, os.path.realpath(folder))
        wrong = faults(row, result)
        failures += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {row.name}", flush=True)
        for line in [*wrong, *(result.stdout + result.stderr).splitlines()[:40]] if wrong else []:
            print(f"# {line!r}")
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
