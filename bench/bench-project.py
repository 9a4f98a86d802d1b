#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a corral.yaml costs a run: the same command by its name in a project, from three folders below, and without a file,
in turns. Fails if the first takes more than 1.1 times as long as the last.

$CORRAL is the program; the first argument is how many turns there are (60).
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MOST = 1.1


def timed(words, folder, env):
    start = time.perf_counter()
    subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def main():
    corral = os.path.abspath(os.environ["CORRAL"])
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as scratch:
        home = pathlib.Path(os.path.realpath(scratch)) / "home"
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        (home / "plain").mkdir(parents=True)
        (home / "project/a/b/c").mkdir(parents=True)
        (home / "project/corral.yaml").write_text("version: 1\nfs: {read: ['/srv/**']}\ncommands: {test: /bin/true}\n")
        subprocess.run([corral, "project", "approve", "--yes"], cwd=home / "project", env=env, stdout=subprocess.DEVNULL, check=True)
        rows = {"without a file": ([corral, "run", "/bin/true"], home / "plain"),
                "corral run test": ([corral, "run", "test"], home / "project"),
                "from three below": ([corral, "run", "test"], home / "project/a/b/c")}
        times = {name: [] for name in rows}
        for _ in range(turns):
            for name, (words, folder) in rows.items():
                times[name].append(timed(words, folder, env))
    base = statistics.median(times["without a file"])
    for name, all_of in times.items():
        print(f"{name:20} {statistics.median(all_of):8.2f} ms  {statistics.median(all_of) / base:5.2f}x")
    return statistics.median(times["corral run test"]) > MOST * base


if __name__ == "__main__":
    sys.exit(main())
