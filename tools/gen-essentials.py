#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns data/essentials.conf and data/companions.conf into C tables, or into lists for the docs.

    gen-essentials.py essentials|companions INPUT OUTPUT     writes the .c file
    gen-essentials.py --list essentials|companions INPUT     prints the entries as Markdown
    gen-essentials.py --check DOC INPUT INPUT                fails if DOC lacks one of the lists
    gen-essentials.py --self-test                            fails if some nonsense passes

What makes no sense fails with file:line.
"""
import json
import re
import sys
from typing import NamedTuple

KINDS = ("read", "library", "loader", "text")
GROUP = re.compile(r"\[(\w+)\] (\S.*)")
PATH = re.compile(r"(/[A-Za-z0-9_.+*?-]+)+")
NAME = re.compile(r"[A-Za-z0-9_.+-]+")


class Entry(NamedTuple):
    group: str
    why: str
    text: str
    condition: str


class Nonsense(Exception):
    pass


def read(what, path):
    with open(path, "rb") as file:
        return parse(what, path, file.read())


def parse(what, path, text):
    """All entries in order. Raises Nonsense with file:line."""
    entries, group = [], None
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            line = line.decode("ascii")
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                group = GROUPS[what](line)
            elif group is None:
                raise Nonsense("an entry before the first [group]")
            else:
                entry = ENTRIES[what](group, line)
                if entry in entries:
                    raise Nonsense(f"'{line}' stands there already")
                entries.append(entry)
        except (Nonsense, ValueError) as e:
            raise Nonsense(f"{path}:{number}: {e}") from None
    if not entries:
        raise Nonsense(f"{path}:1: no entries")
    return entries


def essential_group(line):
    match = GROUP.fullmatch(line)
    if not match or match[1] not in KINDS:
        raise Nonsense("a group is written [read|library|loader|text] and the reason")
    return match[1], match[2]


def check_path(text, globs=False):
    if not PATH.fullmatch(text) or {".", ".."} & set(text.split("/")):
        raise Nonsense(f"'{text}' is no normal path")
    if re.search(r"[*?]", text) and not globs:
        raise Nonsense(f"'{text}': no patterns here")
    if "**" in text:
        raise Nonsense(f"'{text}': a folder stands for all in it")
    return text


def essential_entry(group, line):
    path, _, condition = line.partition(" if ")
    check_path(path, group[0] == "library")
    if re.search(r"[*?].*/", path):
        raise Nonsense(f"'{path}': a pattern only in the last name")
    if " if " in line:
        check_path(condition)
    return Entry(*group, path, condition)


def companion_group(line):
    names = line[1:-1].split(" ")
    if line[-1] != "]" or not all(NAME.fullmatch(name) for name in names):
        raise Nonsense("a group is written [name name …]")
    return " ".join(names), ""


def companion_entry(group, line):
    if line.startswith("/"):
        check_path(line, True)
    elif not NAME.fullmatch(line):
        raise Nonsense(f"'{line}' is neither a name nor a path")
    return Entry(*group, line, "")


GROUPS = {"essentials": essential_group, "companions": companion_group}
ENTRIES = {"essentials": essential_entry, "companions": companion_entry}


def c_essentials(entries):
    out = ['#include "jail/essentials.h"\n\nconst struct essential essentials[] = {\n']
    for e in entries:
        condition = json.dumps(e.condition) if e.condition else "NULL"
        out.append(f"\t{{ {json.dumps(e.text)}, {condition}, ESSENTIAL_{e.group.upper()} }},\n")
    return out + ["};\n", f"const size_t essentials_n = {len(entries)};\n"]


def c_companions(entries):
    out = ['#include "jail/companions.h"\n\nconst struct companion companions[] = {\n']
    rows = [(name, e.text) for e in entries for name in e.group.split(" ")]
    out += [f"\t{{ {json.dumps(name)}, {json.dumps(text)} }},\n" for name, text in rows]
    return out + ["};\n", f"const size_t companions_n = {len(rows)};\n"]


def c_source(what, entries):
    head = f"/* Made by tools/gen-essentials.py from data/{what}.conf. */\n"
    return head + "".join({"essentials": c_essentials, "companions": c_companions}[what](entries))


def markdown(entries):
    out, last = [], None
    for e in entries:
        if (e.group, e.why) != last:
            out.append(f"\n**{e.group}**" + (f": {e.why}" if e.why else "") + "\n\n")
            last = (e.group, e.why)
        out.append(f"    {e.text}" + (f" if {e.condition}" if e.condition else "") + "\n")
    return "".join(out)


NONSENSE = (
    ("essentials", b"[raed] x\n/a"), ("essentials", b"[read]\n/a"), ("essentials", b"/a"),
    ("essentials", b"[read] x"), ("essentials", b"[read] x\na"), ("essentials", b"[read] x\n/a/"),
    ("essentials", b"[read] x\n/a//b"), ("essentials", b"[read] x\n/a/../b"),
    ("essentials", b"[read] x\n/a*"), ("essentials", b"[read] x\n/a\n/a"),
    ("essentials", b"[library] x\n/a*/b"), ("essentials", b"[library] x\n/a/**"),
    ("essentials", b"[read] x\n/a if b"), ("essentials", b"[read] x\n/a if /b*"),
    ("essentials", b"[read] x\n/a if "), ("essentials", b"[read] x\n/a "),
    ("essentials", b"[read] x\n/\xc3\xa9"), ("companions", b"[a/b]\nc"), ("companions", b"[]\nc"),
    ("companions", b"[a  b]\nc"), ("companions", b"[a\nc"), ("companions", b"[a]\n/b/**"),
    ("companions", b"[a]\nb c"), ("companions", b"[a]\nb\nb"), ("companions", b"b"))


def self_test():
    parse("essentials", "good", b"# x\n\n[read] x\n/a/b\n/c if /d\n[library] y\n/e/f*\n")
    parse("companions", "good", b"[g++ a]\nb\n/c/*/d\n")
    for what, text in NONSENSE:
        try:
            parse(what, "bad", text)
        except Nonsense as e:
            if re.match(r"bad:\d+: ", str(e)):
                continue
        raise Nonsense(f"not refused with file:line: {text}")


def main(args):
    if args == ["--self-test"]:
        self_test()
    elif len(args) == 3 and args[0] == "--list":
        print(markdown(read(args[1], args[2])), end="")
    elif len(args) == 4 and args[0] == "--check":
        lists = [markdown(read(w, p)) for w, p in zip(("essentials", "companions"), args[2:])]
        with open(args[1], encoding="utf-8") as doc:
            text = doc.read()
        if lists[0] not in text or not text.endswith(lists[1]):
            raise Nonsense(f"{args[1]}: the lists are not those of {args[2]} and {args[3]}; print "
                           "them with tools/gen-essentials.py --list")
    elif len(args) == 3 and args[0] in GROUPS:
        source = c_source(args[0], read(args[0], args[1]))
        with open(args[2], "w", encoding="ascii") as out:
            out.write(source)
    else:
        raise Nonsense(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Nonsense, OSError) as e:
        sys.exit(str(e))
