#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Well-known places of secrets (tests/data/secrets/places.txt, made apart from the baseline's rows) in --mode sandbox:
each is made in a home, can be read outside, and not inside. The agent that is run reads its own login, and no other's.
Variables pass, as docs/agents.md says. As root, once more as an ordinary user. Prints TAP."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import broker_tap
from broker_tap import ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
PLACES = os.path.abspath(os.environ["PLACES"])
READ = 'while IFS= read -r path; do if cat "$HOME/$path" >/dev/null 2>&1; then printf "%s\\n" "$path"; fi; done'


def places():
    with open(PLACES, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [path for line in lines for path in line.partition(": ")[2].split(", ")]


def main():
    home = pathlib.Path(tempfile.mkdtemp(prefix="secrets-", dir="/var/tmp")).resolve()
    data = home / "agent"
    data.mkdir()
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("XDG_")}, "HOME": str(home), "GITHUB_TOKEN": "a-token", "LC_ALL": "C.UTF-8"}

    def run(*words, text=""):
        return subprocess.run([CORRAL, "run", "--mode", "sandbox", "--data-dir", str(data), "--", *words],
                              env=env, cwd=data, input=text, capture_output=True, text=True, timeout=120, check=False)

    try:
        all_of = places()
        for path in [*all_of, "notes.txt"]:
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text("secret\n")
        text = "\n".join([*all_of, "notes.txt"]) + "\n"
        bare = subprocess.run(["sh", "-c", READ], env=env, input=text, capture_output=True, text=True, check=False).stdout.split("\n")
        ok(set(all_of) < set(bare), "outside, each can be read")
        inside = run("sh", "-c", READ, text=text)
        read = [p for p in inside.stdout.split("\n") if p]
        ok(read == ["notes.txt"], f"inside, none of {len(all_of)} can be read, and what is no secret can", (read, inside.stderr))
        (home / "bin").mkdir()
        for program in (data / "codex", home / "bin" / "codex", home / "bin" / "other"):
            program.write_text('#!/bin/sh\ncat "$HOME/.codex/auth.json"; cat "$HOME/.gemini/oauth_creds.json"\n')
            program.chmod(0o755)
        own = str(home / "bin" / "codex")
        ok(run(own).stdout == "secret\n", "an agent reads its own login, and not another's", run(own))
        ok(run(str(home / "bin" / "other")).stdout == "", "another program reads none", run("./other"))
        planted = run("./codex")
        ok(planted.stdout == "" and "does not get the login" in planted.stderr, "one in a folder that can be written gets none", planted)
        (home / "bin" / "codex").unlink()
        (home / "bin" / "codex").symlink_to(data / "codex")
        ok(run(own).stdout == "", "nor one that a link leads to there", run(own))
        (home / "bin" / "codex").unlink()
        env["PATH"] = f"{data}:{env['PATH']}"
        ok(run("codex").stdout == "", "nor one that PATH leads to", run("codex"))
        ok(run("sh", "-c", "echo $GITHUB_TOKEN").stdout == "a-token\n", "variables pass in an agent mode")
    finally:
        shutil.rmtree(home)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, ("CORRAL", "PLACES"))
    return broker_tap.end()


sys.exit(main())
