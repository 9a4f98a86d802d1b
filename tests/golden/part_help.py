# SPDX-License-Identifier: Apache-2.0
"""--help of each installed program and of each of its verbs, as the overviews list them."""

import os
import re
import subprocess

# Those of optional parts of the build (meson_options.txt).
OPTIONAL = ("corral-wasm", "corral-fetch", "corral-broker", "corral-browser", "corral-calendar", "corral-desktop", "corral-inject", "corral-mail", "corral-mcp-remote", "corral-postgres", "corral-secret-service", "corral-ssh-agent",
            "corrald", "corrald-enclave", "corrald-http", "sandbox-call")
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "ASAN_OPTIONS": "detect_leaks=0"}


def ask(program, *words):
    return subprocess.run([program, *words, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=ENVIRONMENT, cwd="/", timeout=60, check=False)


def verbs(text):
    found = re.search(r"^Commands:\n(.*?)\n\n", text, re.M | re.S)
    return re.findall(r"^  ([a-z][a-z-]*) ", found[1] + "\n", re.M) if found else []


def described(name, program, words=()):
    done = ask(program, *words)
    # What a helper process prints may be a frame.
    text = done.stdout.decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
    yield " ".join([name, *words]), text.rstrip("\n") + (f"\nstatus {done.returncode}" if done.returncode else "")
    for verb in verbs(text):
        yield from described(name, program, (*words, verb))


def sections(build):
    for name in OPTIONAL:
        if name not in build.installed:
            build.missing[name] = f"build: without {name}"
    for name, program in sorted(build.installed.items()):
        yield from described(name, program)
