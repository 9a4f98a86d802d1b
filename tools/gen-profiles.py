#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Built-in profiles and presets as C tables.

    tools/gen-profiles.py OUTPUT FILE.yaml...             profiles
    tools/gen-profiles.py --presets OUTPUT FILE.yaml...   presets: packs and agents
    tools/gen-profiles.py --pages OUTPUT FILE.yaml...     the pages of logins of presets, for a service's back end

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
# The keys of presets, in the order of enum preset_key.
KEYS = {
    ("programs",): "PRESET_PROGRAM",
    ("arguments",): "PRESET_ARGUMENT",
    ("fs", "read"): "PRESET_READ",
    ("network", "allow"): "PRESET_HOST",
    ("network", "variables"): "PRESET_HOST_VARIABLE",
    ("network", "listen"): "PRESET_LISTEN",
    ("login",): "PRESET_LOGIN",
    ("pages",): "PRESET_PAGE",
    ("turns",): "PRESET_TURN",
    ("env",): "PRESET_ENV",
    ("offline",): "PRESET_OFFLINE",
    ("identity",): "PRESET_IDENTITY",
    ("shared",): "PRESET_SHARED",
    ("runs_later", "protect"): "PRESET_PROTECT",
    ("runs_later", "report"): "PRESET_REPORT",
    ("seed",): "PRESET_SEED",
    ("secrets",): "PRESET_SECRET",
    ("note",): "PRESET_NOTE",
}
# PROFILE_PATTERN_BYTES of cli/profile/internal.h, with the NUL.
PATTERN_BYTES = 32
# Offsets of texts are 16 bits wide.
TEXTS_MAX = 1 << 16


def fail(path, number, text):
    sys.exit(f"{path}:{number}: {text}")


def unquote(path, number, text):
    if text[:1] in "\"'":
        if len(text) < 2 or text[-1] != text[0] or "\\" in text or text[0] in text[1:-1]:
            fail(path, number, "a plain or simply quoted word was expected")
        return text[1:-1]
    if not text or text[0] in "{}[]#*&!|>%@`" or any(mark in text for mark in "'[]#\\") or ": " in text:
        fail(path, number, "a plain or simply quoted word was expected")
    return text


def read(path, lists):
    """A list of (member, text)."""
    rows, keys = [], []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if text.startswith("- "):
            member = lists.get(tuple(keys))
            if not member or indent != 2 * len(keys):
                fail(path, number, "a list does not belong here")
            rows.append((member, unquote(path, number, text[2:].strip())))
            if lists is LISTS and len(rows[-1][1].encode()) >= PATTERN_BYTES:
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


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def emit_profiles(paths):
    out = ["/* Made by tools/gen-profiles.py. */", '#include "cli/profile/internal.h"', "",
           f'_Static_assert(PROFILE_PATTERN_BYTES == {PATTERN_BYTES}, "as the generator has it");', ""]
    table = []
    for path in paths:
        name = name_of(path)
        rows = read(path, LISTS)
        out.append(f"static const struct profile_row {name}[] = {{")
        for member, pattern in rows:
            out.append(f"\t{{ offsetof(struct permissions, {member}), {quote(pattern)} }},")
        out += ["};", ""]
        table.append(f"\t{{ {quote(name)}, {name}, {len(rows)} }},")
    out += ["const struct profile_data profile_data[] = {", *table, "};"]
    out.append(f"const size_t profile_data_count = {len(paths)};")
    return "\n".join(out) + "\n"


def emit_presets(paths):
    """All texts in one, and rows that say where: nothing is relocated when the program starts."""
    texts, at, n = [], {}, 0

    def place(text):
        nonlocal n
        if text not in at:
            at[text] = n
            texts.append(text)
            n += len(text.encode()) + 1
        return at[text]

    rows, table = [], []
    for path in sorted(paths, key=name_of):
        found = read(path, KEYS)
        table.append((name_of(path), len(rows), len(found)))
        rows += found
    for name, _, _ in table:
        place(name)
    for _, text in rows:
        place(text)
    if n > TEXTS_MAX:
        sys.exit(f"the texts of presets have {n} bytes, more than {TEXTS_MAX}")
    out = ["/* Made by tools/gen-profiles.py. */", '#include "cli/preset/internal.h"', "", "const char preset_texts[] ="]
    out += [f"\t{quote(text)} \"\\0\"" for text in texts]
    out += [";", "", "const struct preset_row preset_rows[] = {"]
    out += [f"\t{{ {key}, {at[text]} }}," for key, text in rows]
    out += ["};", "", "const struct preset_data preset_data[] = {"]
    out += [f"\t{{ {at[name]}, {first}, {count} }}," for name, first, count in table]
    out += ["};", f"const size_t preset_data_count = {len(table)};"]
    return "\n".join(out) + "\n"


def emit_pages(paths):
    rows = {text: None for path in paths for key, text in read(path, KEYS) if key == "PRESET_PAGE"}
    out = ["/* Made by tools/gen-profiles.py. */", '#include "services/desktop/login.h"', "", "const char login_rows[] ="]
    out += [f"\t{quote(text)} \"\\0\"" for text in rows]
    return "\n".join(out) + ";\n"


def main():
    words = sys.argv[1:]
    emit = {"--presets": emit_presets, "--pages": emit_pages}.get(words[0] if words else "", emit_profiles)
    if emit is not emit_profiles:
        del words[0]
    if len(words) < 2:
        sys.exit(__doc__)
    text = emit(words[1:])
    with open(words[0], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
