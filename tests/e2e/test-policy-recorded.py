#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral policy replay` and `corral policy shrink`: a policy beside what runs recorded, and what the record cannot say."""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 120
number = failures = 0
scratch = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="corral-recorded-")))
home, work, data = scratch / "home", scratch / "home" / "project", scratch / "data"
log = scratch / "audit.db"


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802, the name is the base class's
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def corral(*words):
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run([CORRAL, *map(str, words)], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS, check=False)


def main():
    for folder in (work, data):
        folder.mkdir(parents=True)
    (data / "secretless").write_text("x\n")
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    used, idle = (server.server_address[1] for server in servers)
    wide, narrow = work / "wide.yaml", work / "narrow.yaml"
    wide.write_text("extends: workspace\nfs:\n  read:\n"
                    f"    - {data}/secretless\nnetwork:\n  allow:\n    - \"127.0.0.1:{used}\"\n    - \"127.0.0.1:{idle}\"\n")
    narrow.write_text("extends: workspace\n")

    got = corral("policy", "replay", "--policy", wide, log)
    ok(got.returncode == 2, "no log is an error", got.stderr)
    got = corral("run", "--audit", log, "--policy", wide, "--", "curl", "-sS", f"http://127.0.0.1:{used}/")
    ok(got.returncode == 0, "a run that is recorded", got.stderr)
    got = corral("run", "--audit", log, "--explain", "--", "cat", data / "secretless")
    ok(got.returncode == 1, "and one that is watched, and denied", got.stderr)

    got = corral("policy", "shrink", "--policy", wide, log)
    ok(got.returncode == 1 and f"unused      {wide}:8  network.allow: 127.0.0.1:{idle}" in got.stdout, "shrink: a host that no run reached is unused",
       got.stdout + got.stderr)
    ok(f"used        {wide}:7  network.allow: 127.0.0.1:{used}" in got.stdout, "shrink: one that was reached is not", got.stdout)
    ok(f"not judged  {wide}:4  fs.read: {data}/secretless" in got.stdout and "2 recorded runs, 1 of them watched" in got.stderr,
       "shrink: files are not judged, and that is said", got.stdout + got.stderr)
    ok("/usr" not in got.stdout, "shrink: what the profile has is not the file's", got.stdout)
    states = {row["entry"]: row["state"] for row in json.loads(corral("policy", "shrink", "--json", "--policy", wide, log).stdout)["entries"]}
    ok(states == {f"127.0.0.1:{used}": "used", f"127.0.0.1:{idle}": "unused", f"{data}/secretless": "not judged"}, "shrink: as JSON", states)

    got = corral("policy", "replay", "--policy", wide, log)
    ok(got.returncode == 0 and f"now allowed  fs.read      {data}/secretless" in got.stdout, "replay: what was denied, and is allowed now",
       got.stdout + got.stderr)
    got = corral("policy", "replay", "--policy", narrow, log)
    ok(got.returncode == 1 and f"now denied   net.connect  127.0.0.1:{used}" in got.stdout and "1 of them watched" in got.stderr,
       "replay: what was allowed, and is denied now", got.stdout + got.stderr)
    items = {row["target"]: row for row in json.loads(corral("policy", "replay", "--json", "--policy", narrow, log).stdout)["items"]}
    ok(items[f"127.0.0.1:{used}"]["now"] == "deny" and items[f"127.0.0.1:{used}"]["was_allowed"] and items[f"{data}/secretless"]["was_denied"],
       "replay: as JSON", items)
    # What is no program was neither run nor denied, whatever a policy says of it.
    for words in (["/etc/passwd"], ["no-such-program"]):
        got = corral("run", "--audit", log, "--", *words)
        ok(got.returncode in (126, 127), f"{words[0]} cannot be started", got.stderr)
    got = corral("policy", "replay", "--policy", wide, log)
    ok("/etc/passwd" not in got.stdout and "left out: 2 records (programs that could not be started)" in got.stderr,
       "replay: what could not be started is left out, and counted", got.stdout + got.stderr)
    ok(json.loads(corral("policy", "replay", "--json", "--policy", wide, log).stdout)["failed"] == 2, "replay: as JSON, too")
    before = wide.read_text()
    ok(before == wide.read_text() and corral("policy", "shrink", "--policy", wide, log).stdout and before == wide.read_text(),
       "the policy is not changed")
    got = corral("policy", "replay", "--policy", wide, "--session", "nosuchsession", log)
    ok(got.returncode == 2 and "no run is recorded" in got.stderr, "no run that is meant: an error, not an answer", got.stderr)
    print(f"1..{number}")
    return failures != 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
