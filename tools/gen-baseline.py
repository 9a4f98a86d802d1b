#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns data/baseline.conf into C tables, or into the list that docs/baseline.md ends with.

    gen-baseline.py INPUT OUTPUT          writes baseline-data.c
    gen-baseline.py --list INPUT          prints the entries as Markdown
    gen-baseline.py --check INPUT DOC     fails if DOC does not hold that list
    gen-baseline.py --self-test           fails if some nonsense passes

What makes no sense fails with file:line: the build must not go on with a baseline that has holes.
"""
import ipaddress
import re
import sys
from typing import NamedTuple

sys.dont_write_bytecode = True
from texts import Texts, c_string  # noqa: E402

NETS, PATHS, FREE, PUBLIC = ("never", "guard", "private"), ("secret", "system"), "free", "public"
# A private place is a guarded one.
GROUPS = {"never": "never", "guard": "guard", "private": "guard"}
GROUP = re.compile(r"\[(\w+)( large)?\] (\S.*)")
NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
PATH = re.compile(r"(~|)(/[^/\x00-\x1f\x7f\\]+)+")
# What baseline.c knows to match: bytes, * ? and sets such as [a-z0-9].
COMPONENT = re.compile(r"([^*?\[\]{}]|\*(?!\*)|\?|\[([a-zA-Z0-9](-[a-zA-Z0-9])?)+\])+")
WILD = re.compile(r"[*?\[]")
NONE = 0xffff


class Entry(NamedTuple):
    kind: str
    why: str
    text: str
    line: int
    large: bool = False


class Nonsense(Exception):
    pass


def read(path):
    with open(path, "rb") as file:
        return parse(path, file.read())


def parse(path, text):
    """All entries in order. Raises Nonsense with file:line."""
    entries, kind, why, large = [], None, None, False
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            line = line.decode("ascii")
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                kind, why, large = group(line)
            elif kind is None:
                raise Nonsense("an entry before the first [group]")
            else:
                entry = Entry(kind, why, line, number, large)
                check(entry, entries)
                entries.append(entry)
        except (Nonsense, ValueError) as e:
            raise Nonsense(f"{path}:{number}: {e}") from None
    for kind in ("never", "guard") + PATHS:
        if not any(e.kind == kind for e in entries):
            raise Nonsense(f"{path}:1: no [{kind}] group")
    return entries


def group(line):
    match = GROUP.fullmatch(line)
    if not match or match[1] not in NETS + PATHS + (FREE, PUBLIC) or (match[2] and match[1] != "secret"):
        raise Nonsense("a group is written [never|guard|private|secret|secret large|system|free|"
                       "public] and the reason")
    return match[1], match[3], bool(match[2])


def check(entry, before):
    if entry.text != entry.text.strip():
        raise Nonsense("spaces at an end")
    for other in before:
        if other.text == entry.text and (other.kind in NETS) == (entry.kind in NETS):
            raise Nonsense(f"'{entry.text}' stands in line {other.line} already")
    if entry.kind in PATHS + (FREE, PUBLIC):
        check_path(entry.text)
        if entry.kind == PUBLIC and WILD.search(entry.text):
            raise Nonsense(f"'{entry.text}' is no single file")
        if entry.kind == FREE and not re.fullmatch(r"/[^*?\[]+/\*\*", entry.text):
            raise Nonsense(f"'{entry.text}' is no folder with all below it (/DIR/**)")
        return
    for other in before:
        if GROUPS.get(other.kind) == GROUPS[entry.kind] and overlap(parse_net(other.text), parse_net(entry.text)):
            raise Nonsense(f"'{entry.text}' overlaps '{other.text}' of line {other.line}")
    parse_net(entry.text)


def check_path(text):
    if not PATH.fullmatch(text) or {".", ".."} & set(text.split("/")):
        raise Nonsense(f"'{text}' is no normal path that starts with / or ~/")
    for part in components(text)[0]:
        if "**" in part:
            raise Nonsense(f"'{text}': ** stands alone, at the end")
        if not COMPONENT.fullmatch(part) or len(part) > 255:
            raise Nonsense(f"'{part}' is more than bytes, *, ? and [a-z0-9]")


def components(text):
    """The components of a path, and whether it is a folder with all below it."""
    parts = text.lstrip("~").split("/")[1:]
    return (parts[:-1], True) if parts[-1] == "**" else (parts, False)


def parse_net(text):
    """An ip_network, or a name as its labels from the last to the first."""
    if re.search(r"[:/]|^[\d.]+$", text):
        net = ipaddress.ip_network(text)
        if isinstance(net, ipaddress.IPv6Network) and net[0].ipv4_mapped:
            raise Nonsense(f"'{text}' is IPv4: Corral sees it as such")
        return net
    if not NAME.fullmatch(text) or len(text) > 253:
        raise Nonsense(f"'{text}' is neither an address nor a name in lower case")
    return tuple(reversed(text.split(".")))


def overlap(a, b):
    if isinstance(a, tuple) != isinstance(b, tuple):
        return False
    if isinstance(a, tuple):
        n = min(len(a), len(b))
        return a[:n] == b[:n]
    return a.version == b.version and a.overlaps(b)


def layout(entries, kind):
    """Names first, then prefixes in the order of prefix_compare()."""
    nets = [(parse_net(e.text), e) for e in entries if GROUPS.get(e.kind) == kind]
    names = [n for n in nets if isinstance(n[0], tuple)]
    prefixes = [n for n in nets if not isinstance(n[0], tuple)]
    prefixes.sort(key=lambda n: (n[0].version, n[0].network_address.packed, n[0].prefixlen))
    return names, prefixes


def c_net(net, entry, texts):
    flags = ", ".join(str(flag).lower() for flag in (
        entry.kind == "never", entry.kind == "private", isinstance(net, tuple)))
    head = f"{{ {texts.place(entry.text)}, {texts.place(entry.why)}, {flags}"
    if isinstance(net, tuple):
        return f"\t{head}, {{ {{ 0, {{ 0 }} }}, 0 }} }},\n"
    packed = ", ".join(f"0x{b:02x}" for b in net.network_address.packed)
    return (f"\t{head},\n\t\t{{ {{ {net.max_prefixlen}, {{ {packed} }} }}, "
            f"{net.prefixlen} }} }},\n")


def c_source(entries):
    out, texts = ["\nconst struct baseline_net baseline_nets[] = {\n"], Texts("baseline_texts")
    groups, n = [], 0
    for kind in ("never", "guard"):
        names, prefixes = layout(entries, kind)
        out += [c_net(*net, texts) for net in names + prefixes]
        groups.append(f"const struct baseline_group baseline_{kind}_group = "
                      f"{{ {n}, {len(names)}, {n + len(names)}, {len(prefixes)} }};\n")
        n += len(names) + len(prefixes)
    out += ["};\n", f"const size_t baseline_n_nets = {n};\n"] + groups
    paths = [e for e in entries if e.kind in PATHS]
    out.append("\nconst struct baseline_path baseline_paths[] = {\n")
    out += [f"\t{{ {texts.place(e.text)}, {texts.place(e.why)}, "
            f"{str(e.kind == 'secret').lower()}, {str(e.large).lower()} }},\n" for e in paths]
    out += ["};\n", f"const size_t baseline_n_paths = {len(paths)};\n"]
    out += c_tree(paths, [e for e in entries if e.kind in (FREE, PUBLIC)])
    return "".join(["/* Made by tools/gen-baseline.py from data/baseline.conf. */\n",
                    '#include "policy/baseline-data.h"\n', '#include "policy/baseline.h"\n\n',
                    texts.c_source(), *out])


class Node:
    """A folder of the tree that baseline.c walks (baseline-data.h)."""

    def __init__(self, name=""):
        self.name, self.children, self.mark = name, {}, ""
        self.ends = {"exact": [NONE, NONE], "subtree": [NONE, NONE]}

    def add(self, parts, kind, rank, secret):
        if parts:
            self.children.setdefault(parts[0], Node(parts[0])).add(parts[1:], kind, rank, secret)
            return
        for write in (False, True):
            if secret or write:
                self.ends[kind][write] = min(self.ends[kind][write], rank)

    def set_mark(self, parts, mark):
        if parts:
            self.children.setdefault(parts[0], Node(parts[0])).set_mark(parts[1:], mark)
        else:
            self.mark = mark

    def wild(self):
        return WILD.search(self.name) is not None

    def sorted(self):
        """Plain names by length and bytes, then those with wildcards."""
        return sorted(self.children.values(), key=lambda n: (n.wild(), len(n.name), n.name))


def tree(paths, marked):
    """All nodes, the children of each in one stretch; [0] is the root, [1] any home folder."""
    nodes = [Node(), Node()]
    for rank, e in enumerate(paths):
        parts, subtree = components(e.text)
        nodes[e.text[0] == "~"].add(parts, "subtree" if subtree else "exact", rank,
                                    e.kind == "secret")
    for e in marked:
        nodes[e.text[0] == "~"].set_mark(components(e.text)[0], e.kind)
    for node in nodes:
        node.first = len(nodes)
        nodes += node.sorted()
    return nodes


def c_tree(paths, marked):
    nodes, names, offsets = tree(paths, marked), [], {}
    for name in sorted({n.name for n in nodes}):
        offsets[name] = sum(map(len, names))
        names.append(name)
    if max(len(nodes), len(paths), sum(map(len, names))) >= NONE:
        raise Nonsense("too many entries for 16 bits")
    if max(sum(c.wild() for c in n.children.values()) for n in nodes) > 0xff:
        raise Nonsense("too many wildcards in one folder for 8 bits")
    out = ["\nconst char baseline_names[] =\n"]
    out += [f"\t{c_string(name)}\n" for name in names] + ["\t;\n"]
    out.append("const struct baseline_node baseline_nodes[] = {\n")
    for n in nodes:
        wild = sum(c.wild() for c in n.children.values())
        ends = ", ".join("{ %d, %d }" % tuple(n.ends[kind]) for kind in ("exact", "subtree"))
        out.append(f"\t{{ {offsets[n.name]}, {n.first}, {len(n.children) - wild}, {wild}, "
                   f"{len(n.name)}, {ends}, {int(n.mark == FREE)}, {int(n.mark == PUBLIC)} }},\n")
    return out + ["};\n"]


def markdown(entries):
    out, last = [], None
    for e in entries:
        if (e.kind, e.why) != last:
            out.append(f"\n**{e.kind}**: {e.why}\n\n")
            last = (e.kind, e.why)
        out.append(f"    {e.text}\n")
    return "".join(out)


# What must be refused in place of line 2 (and 3) of a good file.
GOOD = b"[never] x\n%s\n[guard] x\nlocal\n[secret] x\n/a/**\n[system] x\n~/b\n"
NONSENSE = (
    b"[nevre] x", b"[never]", b"[never] ", b"10.0.0.1/8", b"10.0.0.0/33", b"1.2.3", b"::1::",
    b"::ffff:10.0.0.1", b"Local", b"a..b", b"-a", b"a b", b"a ", b" a", b"\xc3\xa9", b"*.a",
    b"a" * 64, b"10.0.0.0/8\n10.1.0.0/16", b"a\na", b"a\nb.a", b"b.a\na", b"::/0\nfe80::/10",
    b"a\n[private] x\nb.local\n[guard] x\nc.b.local",
    b"[secret] x\na", b"[secret] x\n~", b"[secret] x\n~a/b", b"[secret] x\n/a/",
    b"[secret] x\n/a//b", b"[secret] x\n/a/../b", b"[secret] x\n/./b", b"[secret] x\n/[a",
    b"[secret] x\n/{a", b"[secret] x\n/a\\b", b"[secret] x\n/a\tb", b"[secret] x\n/**/b",
    b"[secret] x\n/b**", b"[secret] x\n/***", b"[secret] x\n/{a,b}", b"[secret] x\n/[!a]",
    b"[secret] x\n/[[:digit:]]", b"[secret] x\n/a]", b"[secret] x\n/[]", b"[secret] x\n/[a-]",
    b"[free] x\n/a", b"[free] x\n~/a/**", b"[free] x\n/a*/**", b"[free] x\n/**", b"[public] x\n/a/**", b"[public] x\n~/*", b"[public] x\na",
    b"[system large] x\n/a", b"[secret small] x\n/a", b"[secret] x\n/" + b"a" * 256, b"[secret] x\n/c\n[system] x\n/c")


def self_test():
    parse("good", GOOD % b"a\nb\n10.0.0.0/8\n11.0.0.0/8\n::1")
    for text in NONSENSE:
        try:
            parse("bad", GOOD % text)
        except Nonsense as e:
            if re.match(r"bad:\d+: ", str(e)):
                continue
        raise Nonsense(f"not refused with file:line: {text}")
    try:
        parse("bad", GOOD.replace(b"[guard]", b"[never]") % b"a")
    except Nonsense:
        return
    raise Nonsense("a file without guards passed")


def main(args):
    if args == ["--self-test"]:
        self_test()
    elif len(args) == 2 and args[0] == "--list":
        print(markdown(read(args[1])), end="")
    elif len(args) == 3 and args[0] == "--check":
        with open(args[2], encoding="utf-8") as doc:
            if not doc.read().endswith(markdown(read(args[1]))):
                raise Nonsense(f"{args[2]}: the list at the end is not that of {args[1]}; "
                               "print it with tools/gen-baseline.py --list")
    elif len(args) == 2:
        source = c_source(read(args[0]))
        with open(args[1], "w", encoding="ascii") as out:
            out.write(source)
    else:
        raise Nonsense(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Nonsense, OverflowError, OSError) as e:
        sys.exit(str(e))
