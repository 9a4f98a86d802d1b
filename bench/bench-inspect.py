#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `corral inspect` takes for a skill: medians over cases of tests/data/inspect, and the time for 1 MiB of each kind
of file, which is as much as it reads of one.

$CORRAL is the program.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = 150
LINES = {
    "a.md": "Some words about a tool, which you can install with `npm install x`, and then run.\n",
    "a.sh": "for f in a b; do X=$(cat \"$f\" | sort); curl -s https://h.example -d \"$X\"; done\n",
    "a.py": "def f(a, b=1):\n    x = {'k': a.get('v', b)}\n    return [x for _ in range(3)]\n",
    "a.js": "const f = (a) => { const x = { k: a.v ?? 1 }; return [1, 2].map((y) => x.k + y); };\n",
}


def timed(corral, folder):
    start = time.perf_counter()
    subprocess.run([corral, "inspect", "--json", str(folder)], stdout=subprocess.DEVNULL, check=False)
    return (time.perf_counter() - start) * 1000


def main():
    corral = os.environ["CORRAL"]
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, ROOT / "tools/score-inspect", "--expand", scratch, corral], check=True)
        for label in ("malicious", "ordinary"):
            folders = sorted((pathlib.Path(scratch) / label).iterdir())[:CASES]
            times = [timed(corral, folder) for folder in folders]
            print(f"{label + ' skills':20} {statistics.median(times):8.1f} ms")
        for name, line in LINES.items():
            folder = pathlib.Path(scratch) / name
            folder.mkdir()
            (folder / name).write_text(line * ((1 << 20) // len(line)))
            print(f"{'1 MiB of ' + name:20} {statistics.median(timed(corral, folder) for _ in range(3)):8.1f} ms")


if __name__ == "__main__":
    main()
