#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py BUILD [--write] [PART…]: what users, programs and other builds see of Corral is what it was.

Each part makes sections, and tests/golden/PART.golden has what they were: a line "=== NAME", then the section. A section
that differs fails with a unified diff. `make golden` (--write) writes the files anew; do that only in the commit that
says why. A section whose program or kernel is missing here is not compared, and a line says so.
Prints TAP.
"""

import difflib
import importlib
import json
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PARTS = ("help", "json", "symbols", "broker", "openapi", "formats", "frames", "filters", "calls")
MARK = "=== "


class Build:
    """The programs of a build folder, by what meson knows of it: a program that is new is found, too."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        done = subprocess.run(["meson", "introspect", "--targets", self.folder], check=True, capture_output=True)
        targets = json.loads(done.stdout)
        self.installed = {t["name"]: t["filename"][0] for t in targets if t["type"] == "executable" and t["installed"]}
        self.others = {t["name"]: t["filename"][0] for t in targets if t["type"] == "executable" and not t["installed"]}
        self.libraries = {t["name"]: t["filename"][0] for t in targets if t["type"] == "shared library" and t["installed"]}
        self.missing = {}  # the beginning of names of sections that cannot be made here: why

    def program(self, name):
        return self.installed.get(name) or self.others.get(name)


def parse(text):
    """The sections of a golden file."""
    sections = {}
    for line in text.splitlines():
        if line.startswith(MARK):
            lines = sections[line[len(MARK):]] = []
        elif line or sections:
            lines.append(line)
    return {name: "\n".join(lines).rstrip("\n") for name, lines in sections.items()}


def read(part):
    path = FOLDER / f"{part}.golden"
    return parse(path.read_text(encoding="utf-8")) if path.exists() else {}


def printed(build, what):
    """The sections that golden-print makes."""
    done = subprocess.run([build.program("golden-print"), what], check=True, stdout=subprocess.PIPE, text=True)
    return parse(done.stdout).items()


def write(part, made, kept):
    """kept: sections that cannot be made here."""
    text = "".join(f"{MARK}{name}\n{body}\n\n" for name, body in sorted({**kept, **made}.items()))
    (FOLDER / f"{part}.golden").write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def excuse(build, name):
    return next((why for start, why in build.missing.items() if name == start or name.startswith(start + " ")), None)


def difference(name, old, new):
    lines = difflib.unified_diff((old or "").splitlines(), (new or "").splitlines(), f"{name} as it was", f"{name} as it is", lineterm="")
    return [*lines, "`make golden` writes what it is now; the commit says why it changed"]


class Results:
    def __init__(self):
        self.number = self.failed = 0

    def add(self, good, name, details=()):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}")
        for line in details:
            print("#", line)

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {why}")


def compare(part, made, old, build, results):
    for name in sorted({*made, *old}):
        why = excuse(build, name)
        if why and name not in made:
            results.skip(f"{part}: {name}", why)
            continue
        same = made.get(name) == old.get(name)
        results.add(same, f"{part}: {name}", () if same else difference(name, old.get(name), made.get(name)))


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    if not words:
        sys.exit(__doc__)
    build, results = Build(words[0]), Results()
    sys.path.insert(0, str(FOLDER))
    sys.dont_write_bytecode = True
    for part in words[1:] or PARTS:
        build.missing = {}
        made = {name: body.rstrip("\n") for name, body in importlib.import_module("part_" + part).sections(build)}
        old = read(part)
        if "--write" in sys.argv:
            write(part, made, {name: body for name, body in old.items() if name not in made and excuse(build, name)})
        else:
            compare(part, made, old, build, results)
    if "--write" not in sys.argv:
        print(f"1..{results.number}")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
