#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/gen-profiles.py OUTPUT FILE.yaml...: the built-in profiles as C tables.

`corral run` starts with one of them every time, so they are not parsed when it runs. This reads the
small part of YAML that they are written in (maps of lists, one entry per line, comments) and stops
at anything else; a unit test reads the same files with Corral's own reader and compares.
"""

import os
import sys

# Where the lists of struct permissions stand in the grammar.
LISTS = {
    ("fs", "read"): "fs_read",
    ("fs", "write"): "fs_write",
    ("fs", "deny"): "fs_deny",
    ("network", "allow"): "network_allow",
    ("network", "deny"): "network_deny",
    ("env",): "env",
}
# PROFILE_PATTERN_BYTES of cli/profile/internal.h, with the NUL.
PATTERN_BYTES = 32


def fail(path, number, text):
    sys.exit(f"{path}:{number}: {text}")


def unquote(path, number, text):
    if text[:1] in "\"'":
        if len(text) < 2 or text[-1] != text[0] or "\\" in text or text[0] in text[1:-1]:
            fail(path, number, "a plain or simply quoted word was expected")
        return text[1:-1]
    if not text or any(mark in text for mark in "\"'{}[]#") or ": " in text:
        fail(path, number, "a plain or simply quoted word was expected")
    return text


def read(path):
    """A list of (member, pattern)."""
    rows, keys = [], []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if text.startswith("- "):
            member = LISTS.get(tuple(keys))
            if not member or indent != 2 * len(keys):
                fail(path, number, "a list does not belong here")
            rows.append((member, unquote(path, number, text[2:].strip())))
            if len(rows[-1][1].encode()) >= PATTERN_BYTES:
                fail(path, number, "longer than PROFILE_PATTERN_BYTES allows")
        elif text.endswith(":") and indent % 2 == 0 and indent // 2 <= len(keys):
            keys[indent // 2:] = [text[:-1]]
        else:
            fail(path, number, "expected `key:` or `- entry`")
    if not rows:
        fail(path, 1, "grants nothing")
    return rows


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def emit(paths):
    out = ["/* Made by tools/gen-profiles.py. */", '#include "cli/profile/internal.h"', "",
           f'_Static_assert(PROFILE_PATTERN_BYTES == {PATTERN_BYTES}, "as the generator has it");', ""]
    table = []
    for path in paths:
        name = os.path.splitext(os.path.basename(path))[0]
        rows = read(path)
        out.append(f"static const struct profile_row {name}[] = {{")
        for member, pattern in rows:
            out.append(f"\t{{ offsetof(struct permissions, {member}), {quote(pattern)} }},")
        out += ["};", ""]
        table.append(f"\t{{ {quote(name)}, {name}, {len(rows)} }},")
    out += ["const struct profile_data profile_data[] = {", *table, "};"]
    out.append(f"const size_t profile_data_count = {len(paths)};")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = emit(sys.argv[2:])
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
