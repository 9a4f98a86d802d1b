# SPDX-License-Identifier: Apache-2.0
"""libcorral: its soname, and each symbol that it exports with its version. Programs that were linked with it need these."""

import re
import subprocess


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sections(build):
    for name, path in sorted(build.libraries.items()):
        soname = re.search(r"SONAME\S*\s+(?:Library soname: \[)?([^\]\s]+)", run("readelf", "-dW", path))[1]
        rows = [line.split() for line in run("nm", "--dynamic", "--defined-only", "--format=posix", path).splitlines()]
        # A symbol of type A is the name of a version.
        yield f"lib{name}", "\n".join([f"soname {soname}", *sorted(row[0] for row in rows if row[1] != "A")])
