# SPDX-License-Identifier: Apache-2.0
"""Features that are broken on purpose, for `seeds.py --broken`: what is broken, the seed, the items that must fail (the beginnings
of their texts), and how. A program is wrapped so that it leaves something out, or reads in a file what the file does not say. What the
rows give it stays."""

import os


def wrapped(name, body):
    """The program is run by these lines of sh(1), in which $REAL is the program."""
    def breakage(scene):
        path = f"{scene.place}/bin/{name}"
        real = os.path.realpath(path) if os.path.exists(path) else f"/usr/bin/{name}"
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "w") as f:
            f.write(f"#!/bin/bash\nREAL={real}\n{body}\nexec \"$REAL\" \"$@\"\n")
        os.chmod(path, 0o755)
    return breakage


def misread(file, old, new, then=None):
    """The file stays as it is, and corral (or the command `then`, once) reads other words in it."""
    def breakage(scene):
        path = os.path.join(scene.work, file)
        with open(path) as f:
            text = f.read()
        assert old in text, (file, old)
        with open(path + ".misread", "w") as f:
            f.write(text.replace(old, new))
        swap = f"mv {path} {path}.kept; cp {path}.misread {path}"
        back = f"mv {path}.kept {path}"
        if then:
            status, output = scene.run(f"{swap}; {then}; s=$?; {back}; exit $s")
            assert status == 0, output
        else:
            wrapped("corral", f'{swap}; "$REAL" "$@"; s=$?; {back}; exit $s')(scene)
    return breakage


# Words of the command line without those that begin so, and how many follow them.
def without(word, more):
    return (f'a=(); while [ $# -gt 0 ]; do if [ "$1" = {word} ]; then shift {more + 1}; else a+=("$1"); shift; fi; done; set -- "${{a[@]}}"')


def replaced(word, *words):
    new = " ".join(f'"{w}"' for w in words)
    return f'a=(); for w; do if [ "$w" = {word} ]; then a+=({new}); else a+=("$w"); fi; done; set -- "${{a[@]}}"'


BARE = 'if [ "$1 $2 $3" = "run --mode sandbox" ]; then while [ "$1" != -- ]; do shift; done; shift; exec "$@"; fi'
ADMITTED = 'if [ "$1" = run ]; then shift; set -- run --yes "$@"; fi'
POLICY = "invoke set_policy @policy.json"

BROKEN = [
    ("a new builder grants the system", "000", ["`new()` denies all", "none: everything is denied"], wrapped("seed-host", replaced("build", "merge", "system.yaml", "build"))),
    ("skills run without approval", "000", ["a skill that was not approved", "a skill that was changed"], wrapped("corral", ADMITTED)),
    ("lists of programs are not read", "000", ["`allow_exec`"], wrapped("seed-host", without("exec", 1) + '; set -- "$1" merge system.yaml "${@:2}"')),
    ("memory is not limited", "000", ["`memory_limit`"], wrapped("seed-host", without("memory", 1))),
    ("commands have all variables", "000", ["`allow_env`"], wrapped("seed-host", replaced("build", "env", "SECRET_OF_HOST", "build"))),
    ("an intersection is a union", "000", ["`intersect`"], wrapped("corral", replaced("intersect", "merge"))),
    ("the descriptor of a policy is not read", "000", ["the descriptor comes first"], wrapped("seed-host", "unset SANDBOX_POLICY_FD")),
    ("a list of reminders is every list", "000", ["adapter reminders"], misread("services.yaml", "lists: [Shopping]", "lists: [Shopping, Private]")),
    ("output is not limited", "000", ["watchdog"], wrapped("corral", without("--max-output", 1))),
    ("modes confine nothing", "001", ["mode `sandbox`", "writing elsewhere fails", "the whole file system can be read"], wrapped("corral", BARE)),
    ("names of modes in any case", "001", ["names of modes"], wrapped("seed-host", replaced("Rx", "rx"))),
    ("further folders are not granted", "001", ["further folders"], wrapped("corral", without("--extra", 1))),
    ("the Seatbelt profile denies no writes", "001", ["Seatbelt profile"], wrapped("corral", '"$REAL" "$@" | grep -v "deny file-write"; exit 0')),
    ("hosts of a manifest are not checked", "002", ["`http.allowed_hosts`", "a URL that is not allowed"], misread("full/manifest.yaml", '"127.0.0.1:', '"127.0.0.1:1", "127.0.0.1:')),
    ("a folder for reading may be written", "002", ["mode ro"], misread("files/manifest.yaml", "mode: ro", "mode: rw")),
    ("fuel is not counted", "002", ["`limits.max_fuel`"], misread("fuel/manifest.yaml", "max_fuel: 1000000", "max_execution_time: 300ms")),
    ("rates are not counted", "002", ["`http.rate_limit`"], misread("rate/manifest.yaml", "3/min", "30/min")),
    ("reloads need no approval", "002", ["a skill is loaded again"], wrapped("skill-host", 'set -- unapproved "$@"')),
    ("priorities do not count", "003", ["order by `priority`", "a denylist by the path"], misread("rules.json", '"priority": 10}', '"priority": 0}')),
    ("rules that are off count", "003", ["`enabled: false`"], misread("rules.json", '"enabled": false', '"enabled": true')),
    ("the broker reads what the baseline protects", "003", ["the policy is asked before each call", "a denial has its rule"],
     misread("broker.yaml", "services:", "dangerously_allow: [/etc/shadow]\nservices:")),
    ("agents have the host's variables", "003", ["secrets of the host"], wrapped("corral", 'if [ "$1" = run ]; then shift; set -- run --env SECRET_OF_HOST "$@"; fi')),
    ("the API needs no token", "003", ["the API without a token"], wrapped("curl", 'set -- -H "Authorization: Bearer $TOKEN" "$@"')),
    ("allowed paths are not all that is allowed", "003", ["`fsConstraints.allowedPaths`"], misread("constraints.json", '/workspace"]', '/workspace", "/opt"]')),
    ("every root is granted", "004", ["criterion: `../`", "criterion: a link"], misread("policy.json", "/projects", "", POLICY)),
    ("a prefix is a program", "004", ["`allowed_commands`, prefix"], misread("policy.json", "git status", "git", POLICY)),
    ("denials are not recorded", "004", ["decision: denied", "criterion: all blocked actions"], wrapped("curl", '"$REAL" "$@" | sed s/denied/allowed/g; exit 0')),
    ("a grant by the page does nothing", "004", ["criterion: a folder that is granted by the page"], wrapped("curl", 'case "$*" in *grants*) exit 0 ;; esac')),
]
