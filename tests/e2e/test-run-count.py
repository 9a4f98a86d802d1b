#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many files a command made and changed in the folders that it may write: in --json, in the log, and for people where they look at a
whole session; bounded, and then "at least"."""
import json
import os
import subprocess
import sys
import time

from suggestions import CORRAL, Scene

CLOCK_REALTIME_COARSE = 5  # as linux/time.h has it
number = failures = 0


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def counted(scene, script, *options):
    done = subprocess.run([CORRAL, "run", "--json", *options, "--", "sh", "-c", script], cwd=scene.work, env=scene.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    return json.loads(done.stdout)["workspace"]


def settle(scene):
    """A run takes the coarse clock's time: until that has moved on, what is there already may look new. Times of files may be finer."""
    before = max(os.stat(os.path.join(folder, name)).st_ctime_ns for folder, _, names in os.walk(scene.work) for name in names + ["."])
    while time.clock_gettime_ns(CLOCK_REALTIME_COARSE) <= before:
        time.sleep(0.001)


def main():
    with Scene() as scene:
        for name in ("one", "two", "sub/three"):
            scene.write(name)
        # Files of before have times of before.
        for name in ("one", "two", "sub/three"):
            os.utime(scene.work + "/" + name, (1, 1))
        settle(scene)
        got = counted(scene, "true")
        ok(got == {"created": 0, "changed": 0, "complete": True}, "nothing", got)
        settle(scene)
        got = counted(scene, "mkdir new; for i in 1 2 3; do echo x >new/$i; done; echo y >four; echo z >one.tmp; mv one.tmp one")
        ok(got == {"created": 4, "changed": 1, "complete": True}, "made, in a new folder too, and replaced", got)
        got = counted(scene, "echo more >>sub/three; sleep 1")
        ok(got["created"] == 0 and got["changed"] >= 1, "written where no name changed, by a command that took a while", got)
        got = counted(scene, "mkdir .git; echo x >.git/own; echo y >five")
        ok(got["created"] == 1, "what is git's own does not count", got)
        log = scene.root + "/home/log"
        status, text = scene.corral("run", "--audit", log, "--", "sh", "-c", "echo x >six")
        ok(status == 0 and text == "", "a plain run says nothing", text)
        _, text = scene.corral("audit", "export", "--format", "jsonl", log)
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        found = [r for r in rows if r["action"] == "fs.write" and "created 1" in r["reason"]]
        ok(len(found) == 1 and found[0]["target"] == scene.work, "but the log has it", text[-2000:])
        data = scene.root + "/data"
        status, text = scene.corral("run", "--mode", "sandbox", "--data-dir", data, "--", "sh", "-c", f"echo x >{data}/seven; echo x >{data}/eight")
        ok("the command created 2" in text or "at least: created 2" in text, "an agent mode says it", text)
        got = counted(scene, """exec python3 -c 'import os
for i in range(4500):
    os.mkdir(f"m{i}")
    os.mknod(f"m{i}/f")'""")
        ok(0 < got["created"] < 4500 and not got["complete"], "more than are looked at: not complete", got)
    print(f"1..{number}")
    return failures > 0


sys.exit(main())
