#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tutorial and the task pages, word by word: every `$` line is typed, and what it prints must be
what the page says.

    ```console          one shell for the whole page; stdout and stderr as a terminal would show them
    $ command
    output              `…` stands for any text; a line `…` alone for any number of lines
    ```
    Put this into `NAME`:
    ```sh               a file, in the folder where the shell is
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import suggestions

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "..", "docs")
SHOWN_HOME = "/home/anna"
TIMEOUT = 120
MARK = "@@end of command@@"
# A child that shares its parent's memory until it runs a program makes AddressSanitizer say this.
# Printed where standard error is no terminal: a program reads it. Pages show what a person sees.
FOR_MODELS = re.compile(r"corral: (?:ask the user for the options above|no option allows this: .*); .*\n")
SANITIZER = re.compile(r"^==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*\n.*\n.*\n", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"Put this into\s+`([^`]+)`:\s*$")


def steps(page):
    """("file", name, text) and ("run", command, output), in order."""
    last = 0
    for block in FENCE.finditer(page):
        before, last = page[last : block.start()], block.end()
        named = FILE.search(before.rstrip() + "\n")
        if named:
            yield "file", named.group(1), block.group(2)
        elif block.group(1) == "console":
            yield from commands(block.group(2))


def commands(text):
    command, output = None, []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield "run", command, output
            command, output = line[2:], []
        elif command is not None and command.endswith("\\"):
            command += "\n" + line
        else:
            output.append(line)
    if command is not None:
        yield "run", command, output


def pattern(lines, home):
    parts = []
    for line in lines:
        if line.strip() == "…":
            parts.append("(?:.*\n)*?")
            continue
        shown = line.replace(SHOWN_HOME, home)
        parts.append(".*?".join(re.escape(part) for part in shown.split("…")) + "\n")
    return re.compile("".join(parts) + r"\Z")


def wrap_compiler(folder):
    """The library of a build with sanitizers needs a program with the same."""
    os.mkdir(folder)
    path = os.path.join(folder, "cc")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nPATH="{os.environ["PATH"]}" exec {os.environ.get("DOCS_CC", "cc")} "$@"\n')
    os.chmod(path, 0o755)


class Shell:
    """bash, as a person has it; one for a page."""

    def __init__(self, home):
        programs = os.path.join(os.path.dirname(home), "bin")
        wrap_compiler(programs)
        environment = {
            "HOME": home,
            "PATH": ":".join([programs, os.path.dirname(os.path.abspath(os.environ["CORRAL"])), os.environ["PATH"]]),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
        }
        for name in ("CORRAL_WARDEN", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "ASAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self.bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=environment,
            text=True,
            errors="replace",
        )

    def run(self, command):
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null\necho '{MARK}'\n")
        self.bash.stdin.flush()
        output = ""
        while not output.endswith(MARK + "\n"):
            line = self.bash.stdout.readline()
            if not line:
                raise SystemExit(f"Bail out! the shell ended after: {command}")
            output += line
        return FOR_MODELS.sub("", SANITIZER.sub("", output[: -len(MARK) - 1]))

    def folder(self):
        return self.run("pwd").rstrip("\n")

    def close(self):
        self.bash.stdin.close()
        self.bash.wait(TIMEOUT)


def check_page(path, number, home):
    shell = Shell(home)
    failures = 0
    with open(path, encoding="utf-8") as f:
        page = f.read()
    for kind, what, expected in steps(page):
        if kind == "file":
            with open(os.path.join(shell.folder(), what), "w", encoding="utf-8") as f:
                f.write(expected)
            continue
        number += 1
        output = shell.run(what)
        if output and not output.endswith("\n"):
            output += "\n"
        good = pattern(expected, home).match(output) is not None
        name = f"{os.path.relpath(path, DOCS)}: {what.splitlines()[0]}"
        print(f"{'ok' if good else 'not ok'} {number} - {name}".replace("#", "\\#"))
        if not good:
            failures += 1
            print("".join(f"# printed: {line}\n" for line in output.splitlines()), end="")
            print("".join(f"# page:    {line}\n" for line in expected), end="")
    shell.close()
    return number, failures


def main():
    suggestions.needs_sandbox()
    pages = [os.path.join(DOCS, "tutorial.md")]
    tasks = os.path.join(DOCS, "tasks")
    pages += [os.path.join(tasks, name) for name in sorted(os.listdir(tasks))]
    number = failures = 0
    for page in pages:
        scratch = tempfile.mkdtemp()
        home = os.path.join(scratch, "anna")
        os.mkdir(home)
        try:
            number, failed = check_page(page, number, home)
            failures += failed
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{number}")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
