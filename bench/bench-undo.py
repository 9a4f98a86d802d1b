#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench-undo.py [FOLDER], with CORRAL in the environment: a run with --undo against one without, in folders of 1,000 and 12,500 files below FOLDER (default: a
temporary one). Medians of 9, interleaved: processor time and time."""
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROUNDS = 9
SIZES = (200, 1500, 4000, 12000, 30000)


def fill(n, project):
    project.mkdir(parents=True)
    chosen = random.Random(1)
    for i in range(n):
        folder = project / f"d{i // 25}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{i}.js").write_bytes(os.urandom(chosen.choice(SIZES)))


def one(corral, project, *options):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([corral, "run", *options, "--", "/bin/true"], cwd=project, env={"HOME": str(project.parent), "PATH": "/usr/bin:/bin"},
                   capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used * 1000, (time.monotonic() - start) * 1000


def main():
    corral = os.path.abspath(os.environ["CORRAL"])
    top = pathlib.Path(tempfile.mkdtemp(prefix="bench-undo-", dir=sys.argv[1] if len(sys.argv) > 1 else None))
    try:
        for n in (1000, 12500):
            project = top / str(n) / "project"
            fill(n, project)
            time.sleep(1)  # so that no file was written just now
            pairs = [(one(corral, project), one(corral, project, "--undo")) for _ in range(ROUNDS)]
            plain, undo = ([sorted(p[k][i] for p in pairs)[ROUNDS // 2] for i in (0, 1)] for k in (0, 1))
            print(f"{n} files: plain {plain[0]:.0f} ms CPU, {plain[1]:.0f} ms; --undo {undo[0]:.0f} ms CPU, {undo[1]:.0f} ms; "
                  f"{undo[1] / plain[1]:.1f}x")
    finally:
        shutil.rmtree(top)


main()
