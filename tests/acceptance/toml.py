#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""toml-test, the conformance suite of TOML, on codec/toml.c. The suite comes from where Go finds modules, pinned by its digest.

    toml.py TOML-READ
"""
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

from acceptance_tap import Tap

VERSION = "v1.6.0"
DIGEST = "457ec12a2fc2a2eae13deeed1271eda9a95f2ecc157e54b6934567bc8a875286"
URL = f"https://proxy.golang.org/github.com/toml-lang/toml-test/@v/{VERSION}.zip"

# Text is NUL-terminated everywhere in Corral.
STRICTER = {"valid/key/quoted-unicode.toml", "valid/string/quoted-unicode.toml", "valid/string/unicode-escape.toml"}


def plain(tagged):
    """A value as toml-test writes it, in the form that both sides are compared in."""
    if isinstance(tagged, list):
        return [plain(item) for item in tagged]
    if set(tagged) != {"type", "value"} or not isinstance(tagged["type"], str):
        return {key: plain(value) for key, value in tagged.items()}
    kind, value = tagged["type"], tagged["value"]
    if kind == "integer":
        return int(value)
    if kind == "float":
        value = value.lower().lstrip("+")
        return value.lstrip("-") if "nan" in value else float(value)
    if kind == "bool":
        return value == "true"
    return moment(value) if kind != "string" else value


def moment(text):
    """Dates and times: T, t or a space; Z or z; no zeros at the end of a fraction."""
    text = text.upper().replace(" ", "T") if ":" in text else text
    head, _, tail = text.partition(".")
    zone = tail.lstrip("0123456789")
    fraction = tail[:len(tail) - len(zone)].rstrip("0")
    return head + ("." + fraction if fraction else "") + zone


def same(ours, theirs):
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float):
        return float(str(ours).replace(".inf", "inf")) == theirs
    if theirs == "nan":
        return ours == ".nan"
    return ours == theirs or (isinstance(ours, str) and isinstance(theirs, str) and moment(ours) == theirs)


def judge(tap, read, folder, name):
    run = subprocess.run([read, os.path.join(folder, name)], capture_output=True, text=True, timeout=60)
    if name.startswith("invalid/"):
        return tap.ok(run.returncode == 1, name, run.stdout)
    expected = open(os.path.join(folder, name[:-5] + ".json"), encoding="utf-8").read()
    if run.returncode == 1 and "\\u0000" in expected:
        return tap.ok(name in STRICTER, f"{name}, stricter: no NUL in text", run.stdout)
    good = run.returncode == 0 and same(json.loads(run.stdout), plain(json.loads(expected)))
    return tap.ok(good, name, run.stdout, run.stderr, expected)


def main():
    read = sys.argv[1]
    tap = Tap()
    data = urllib.request.urlopen(URL, timeout=120).read()
    if not tap.ok(hashlib.sha256(data).hexdigest() == DIGEST, "the suite is the one that is pinned"):
        return 1
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(io.BytesIO(data)).extractall(folder)
        tests = os.path.join(folder, f"github.com/toml-lang/toml-test@{VERSION}", "tests")
        names = open(os.path.join(tests, "files-toml-1.0.0"), encoding="utf-8").read().split()
        names = [name for name in names if name.endswith(".toml")]
        tap.ok(len(names) > 500, "it has its files", len(names))
        for name in names:
            judge(tap, read, tests, name)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


sys.exit(main())
