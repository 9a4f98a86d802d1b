#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a table of data/ into C, or into the list that a document has. The baseline, which is more
than a table, has gen-baseline.py.

    gen-tables.py INPUT… OUTPUT           writes the .c file; INPUT is essentials.conf, companions.conf,
                                          layouts.conf, scan.conf, integrations.conf, or all of runs-later.conf, interpreters.conf,
                                          hosts.conf, packages.conf, secrets.conf and sockets.conf
    gen-tables.py --list INPUT            prints the entries as Markdown
    gen-tables.py --check DOC INPUT…      fails if DOC lacks one of the lists, or does not end with the last
    gen-tables.py --self-test             fails if some nonsense passes

What makes no sense fails with file:line.
"""
import itertools
import os
import re
import sys
import textwrap
from typing import NamedTuple

sys.dont_write_bytecode = True
from texts import Texts, c_string  # noqa: E402

KINDS = ("read", "library", "loader", "text")
GROUP = re.compile(r"\[([a-z ]+)\] (\S.*)")
PATH = re.compile(r"(/[A-Za-z0-9_.+*?-]+)+")
NAME = re.compile(r"[A-Za-z0-9_.+-]+")
BRACES = re.compile(r"\{([^{}]*)\}")


class Entry(NamedTuple):
    group: str
    why: str
    text: str
    condition: str = ""


class Nonsense(Exception):
    pass


def table_of(path):
    name = os.path.basename(path).removesuffix(".conf")
    if name not in TABLES:
        raise Nonsense(f"{path}: no such table")
    return TABLES[name]


def read(path):
    with open(path, "rb") as file:
        return parse(table_of(path), path, file.read())


def parse(table, path, text):
    """All entries in order. Raises Nonsense with file:line."""
    entries, group = [], None
    before = b""
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            before += (b" " if before.endswith(b" ->") else b"") + line
            if table.goes_on(before):
                continue
            line, before = before.decode(table.encoding), b""
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                group = table.group(line)
            elif group is None:
                raise Nonsense("an entry before the first [group]")
            else:
                for entry in table.entries(group, line):
                    if any(table.same(entry, other) for other in entries):
                        raise Nonsense(f"'{entry.text}' stands there already")
                    entries.append(entry)
        except (Nonsense, ValueError) as e:
            raise Nonsense(f"{path}:{number}: {e}") from None
    if not entries or before:
        raise Nonsense(f"{path}:{number}: no entries, or none behind the last comma")
    return entries


def check_path(text, globs=False):
    if not PATH.fullmatch(text) or {".", ".."} & set(text.split("/")):
        raise Nonsense(f"'{text}' is no normal path")
    if re.search(r"[*?]", text) and not globs:
        raise Nonsense(f"'{text}': no patterns here")
    if "**" in text:
        raise Nonsense(f"'{text}': a folder stands for all in it")
    return text


class Table:
    """One per line, of which no two are the same. C has them in rows, whose header is named here,
    and their texts in an array."""
    encoding, header, texts = "ascii", "", ""

    def entries(self, group, line):
        return [self.entry(group, line)]

    def same(self, entry, other):
        return entry == other

    def goes_on(self, line):
        return False

    def lines(self, entries):
        return [e.text + (f" if {e.condition}" if e.condition else "") for e in entries]


class Essentials(Table):
    header, texts = "jail/essentials.h", "essentials_texts"

    def group(self, line):
        match = GROUP.fullmatch(line)
        if not match or match[1] not in KINDS:
            raise Nonsense("a group is written [read|library|loader|text] and the reason")
        return match[1], match[2]

    def entry(self, group, line):
        path, _, condition = line.partition(" if ")
        check_path(path, group[0] == "library")
        if re.search(r"[*?].*/", path):
            raise Nonsense(f"'{path}': a pattern only in the last name")
        if " if " in line:
            check_path(condition)
        return Entry(*group, path, condition)

    def c_source(self, entries, texts):
        rows = [(texts.place(e.text), texts.place(e.condition), "ESSENTIAL_" + e.group.upper())
                for e in entries]
        return c_array("struct essential essentials", "essentials_n", rows)


class Companions(Table):
    header, texts = "jail/companions.h", "companions_texts"

    def group(self, line):
        names = line[1:-1].split(" ")
        if line[-1] != "]" or not all(NAME.fullmatch(name) for name in names):
            raise Nonsense("a group is written [name name …]")
        return " ".join(names), ""

    def entry(self, group, line):
        if line.startswith("/"):
            check_path(line, True)
        elif not NAME.fullmatch(line):
            raise Nonsense(f"'{line}' is neither a name nor a path")
        return Entry(*group, line)

    def c_source(self, entries, texts):
        rows = [(texts.place(name), texts.place(e.text))
                for e in entries for name in e.group.split(" ")]
        return c_array("struct companion companions", "companions_n", rows)


class Layouts(Table):
    """[package] folders; [beside] folder if name -> what. Read by src/cli/profile."""
    header, texts = "cli/profile/layouts.h", "layouts_texts"
    PATH = re.compile(r"~(/[A-Za-z0-9_.+*?@!\[\]-]+)+")
    BESIDE = re.compile(r"(\S+)(?: if (\S+))? -> (\S+(?: \S+)*)")

    def group(self, line):
        match = GROUP.fullmatch(line)
        if not match or match[1] not in ("package", "beside"):
            raise Nonsense("a group is written [package|beside] and the reason")
        return match[1], match[2]

    def path(self, text, globs):
        if not self.PATH.fullmatch(text) or {".", "..", "**"} & set(text.split("/")):
            raise Nonsense(f"'{text}' is no normal path below the home")
        if re.search(r"[*?!\[\]]", text) and not globs:
            raise Nonsense(f"'{text}': no patterns here")
        # The home, ~/.local, ~/.config: folders of many programs, and no package's own.
        if text.count("/") < 3 and text[-1] in "*]":
            raise Nonsense(f"'{text}' is too wide")
        return text[2:]

    def entry(self, group, line):
        if group[0] == "package":
            return Entry(*group, self.path(line, True))
        match = self.BESIDE.fullmatch(line)
        if not match or (match[2] and not NAME.fullmatch(match[2])):
            raise Nonsense("written ~/folder -> ~/other, or ~/folder if name -> ~/other")
        others = [self.path(other, False) for other in match[3].split(" ")]
        return Entry(*group, self.path(match[1], False), f"{match[2] or ''}:{' '.join(others)}")

    def same(self, entry, other):
        return entry.group == other.group and entry.text == other.text

    def c_source(self, entries, texts):
        rows = []
        for e in entries:
            name, _, others = e.condition.partition(":")
            for other in others.split(" "):
                rows.append((texts.place(e.text), texts.place(name), texts.place(other)))
        return c_array("struct layout layouts", "layouts_n", rows)


class Integrations(Table):
    """[name] what it has; its URL. Read by src/cli/link."""
    header, texts = "cli/link/integrations.h", "integrations_texts"
    GROUP = re.compile(r"\[([a-z][a-z0-9-]{0,46}[a-z0-9])\] (\S.*)")
    URL = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9_.-]+)*/?")

    def group(self, line):
        match = self.GROUP.fullmatch(line)
        if not match:
            raise Nonsense("a group is written [name] and what the server has")
        return match[1], match[2]

    def entry(self, group, line):
        if not self.URL.fullmatch(line):
            raise Nonsense(f"'{line}' is no address of a server")
        return Entry(*group, line)

    def same(self, entry, other):
        return entry.group == other.group or entry.text == other.text

    def c_source(self, entries, texts):
        rows = [(texts.place(e.group), texts.place(e.text), texts.place(e.why)) for e in sorted(entries)]
        return c_array("struct integration integrations", "integrations_n", rows)


class Threats(Table):
    """[use use …] what; the names of a line have spaces between them. Read by src/threat."""
    header, texts = "threat/threat.h", "threat_texts"

    def __init__(self, array, uses, pattern):
        self.array, self.uses, self.pattern = array, uses, re.compile(pattern)

    def group(self, line):
        match = GROUP.fullmatch(line)
        words = match[1].split(" ") if match else []
        if not words or not set(words) <= set(self.uses) or len(set(words)) < len(words):
            raise Nonsense(f"a group is written [use use …] and what it does; uses: {self.uses}")
        return match[1], match[2]

    def entries(self, group, line):
        for name in line.split(" "):
            if not self.pattern.fullmatch(name) or {".", ".."} & set(name.split("/")):
                raise Nonsense(f"'{name}' does not belong here")
        return [Entry(*group, name) for name in line.split(" ")]

    def same(self, entry, other):
        return set(expand(entry.text.partition(":")[0])) & set(expand(other.text.partition(":")[0]))

    def lines(self, entries):
        return textwrap.wrap(" ".join(e.text for e in entries), 110, break_on_hyphens=False)

    def c_rows(self, entries, texts):
        rows = []
        for e in entries:
            name, _, inside = e.text.partition(":")
            uses = " | ".join("THREAT_" + use.upper() for use in e.group.split(" "))
            rows.append((texts.place(name), texts.place(inside), texts.place(e.why), uses))
        return rows

    def c_source(self, entries, texts):
        return c_array(f"struct threat {self.array}", f"{self.array}_n", self.c_rows(entries, texts))


class RunLater(Threats):
    def entries(self, group, line):
        uses, entries = set(group[0].split(" ")), super().entries(group, line)
        for name in line.split(" "):
            if "home" in uses and not uses <= {"home", "protect", "report", "soon", "large"}:
                raise Nonsense(f"'{name}': a row of the home has no such use")
            if uses & {"protect", "report", "lint"} and name[0] in "/~":
                raise Nonsense(f"'{name}' lies below no working folder")
            if uses & {"protect", "report", "skip"} and "*" in name.partition(":")[0]:
                raise Nonsense(f"'{name}': a name with * cannot be looked up")
        return entries

    def c_source(self, entries, texts):
        """As written, and each path by itself: a profile looks them up."""
        paths = [e._replace(text=path.rstrip("/")) for e in entries
                 if {"protect", "report", "skip"} & set(e.group.split(" "))
                 for path in expand(e.text.partition(":")[0])]
        home = [e for e in paths if "home" in e.group.split(" ")]
        paths = [e for e in paths if e not in home]
        return (super().c_source(entries, texts)
                + c_array("struct threat threat_paths", "threat_paths_n", self.c_rows(paths, texts))
                + c_array("struct threat threat_home", "threat_home_n", self.c_rows(home, texts))
                + self.c_heads(paths, texts))

    HEADS_MAX, HEAD_SLOTS = 512, 2048  # THREAT_HEADS_MAX and THREAT_HEAD_SLOTS of threat.h

    def c_heads(self, paths, texts):
        """The first components of the paths, with their rows, as a table of hashes: as base/hash.h has them."""
        heads, after = {}, [0] * len(paths)
        # From the end, so that each list has the order of the table.
        for row, e in reversed(list(enumerate(paths))):
            head = heads.setdefault(e.text.partition("/")[0], {"place": texts.place(e.text), "first": 0, "skip": "false"})
            if "skip" in e.group.split(" "):
                head["skip"] = "true"
            else:
                after[row], head["first"] = head["first"], row + 1
        if len(heads) > self.HEADS_MAX:
            raise Nonsense(f"there are more than {self.HEADS_MAX} first names of paths")
        slots = [0] * self.HEAD_SLOTS
        for number, name in enumerate(heads, 1):
            slot = 0xcbf29ce484222325
            for byte in name.encode("ascii"):
                slot = (slot ^ byte) * 0x100000001b3 % 2 ** 64
            slot %= self.HEAD_SLOTS
            while slots[slot]:
                slot = (slot + 1) % self.HEAD_SLOTS
            slots[slot] = number
        return (c_array("struct threat_head threat_heads", "threat_heads_n",
                        [(h["place"], str(len(name)), str(h["first"]), h["skip"]) for name, h in heads.items()])
                + c_numbers("uint16_t threat_head_slots", slots) + c_numbers("uint16_t threat_head_next", after))


def rows_of(folder, table, use):
    """The names of a table's rows that have a use, each by itself."""
    path = os.path.join(folder, table + ".conf")
    if table != "baseline":
        return [name.rstrip("/") for e in read(path) if use in e.group.split(" ")
                for name in expand(e.text.partition(":")[0])]
    with open(path, encoding="ascii") as file:
        groups = re.findall(r"^\[(\w+)\].*\n((?:[^\[\n].*\n)+)", file.read(), re.MULTILINE)
    # Names of one label are words elsewhere.
    return [name if re.search("[.:]", name) else "//" + name
            for kind, names in groups if kind == use for name in names.split()]


class Scan(Table):
    """[severities] id: what; patterns of steps. Read by src/advice/scan."""
    encoding, header, texts = "utf-8", "advice/scan/internal.h", "scan_texts"
    GROUP = re.compile(r"\[((?:low|medium|high|-)(?: (?:low|medium|high|-)){0,3})\] ([a-z-]+): (\S.*)")
    OPTIONS = re.compile(r"\(([a-z0-9= -]+)\) ")
    FLAGS = {"exact": "SCAN_EXACT", "near": "SCAN_NEAR", "file": "SCAN_FILE"}
    LANGUAGES = ("python", "node", "shell", "prose", "not-python", "not-node", "not-prose")
    # Lines that say more of a rule: what to check, what permissions stop it, and how it is read.
    EXTRA = re.compile(r"\((check|stops|reads)\) (\S.*)")
    STOPS = ("net", "secrets", "env", "write", "root")
    READS = ("orders", "strings")
    # What @name stands for: rows of a file with one of the uses, what precedes and what follows them.
    ROWS = {
        "@stdin": [("interpreters", "stdin", [""], "#")],
        "@pipe": [("interpreters", "stdin", "| |/bin/ |/usr/bin/ |env_ |/usr/bin/env_".split(), "#")],
        "@hooks": [("runs-later", "hooks", [""], "")],
        "@startup": [("runs-later", "startup", [""], "")],
        "@session": [("runs-later", "session", ["/"], "")],
        "@host": [("hosts", "scan", ["", ".", "%2f"], ""), ("hosts", "url", ["//", ".", "%2f"], "")],
        "@metadata": [("baseline", "never", [""], "")],
    }

    def group(self, line):
        match = self.GROUP.fullmatch(line)
        if not match:
            raise Nonsense("a rule is written [code block text hidden] id: what it means, with low, medium, "
                           "high or - for each, or one for all")
        return f"{match[1].replace(' ', ',')} {match[2]}", match[3]

    def goes_on(self, line):
        return line.endswith((b",", b" ->")) and not line.startswith((b"#", b"(check)"))

    def same(self, entry, other):
        return entry == other and not self.EXTRA.fullmatch(entry.text)

    def entry(self, group, line):
        self.pattern(line)
        return Entry(*group, line)

    def pattern(self, line):
        """Languages, flags and steps in C; None: it has none."""
        extra = self.EXTRA.fullmatch(line)
        if extra and extra[1] == "stops" and not set(extra[2].split(" ")) <= set(self.STOPS):
            raise Nonsense(f"no such permission: {extra[2]}")
        if extra and extra[1] == "reads" and not set(extra[2].split(" ")) <= set(self.READS):
            raise Nonsense(f"no such way to read: {extra[2]}")
        if extra or line in ("(characters)", "(flow)"):
            return None
        options = self.OPTIONS.match(line)
        flags, languages = [], []
        for word in options[1].split(" ") if options else []:
            if word in self.FLAGS:
                flags.append(self.FLAGS[word])
            elif re.fullmatch(r"gap=[1-9]\d{0,2}", word):
                flags.append(f"SCAN_GAP({word[4:]})")
            elif word in self.LANGUAGES:
                languages.append("LANGUAGE_" + word.upper().replace("-", "_"))
            else:
                raise Nonsense(f"no such option: {word}")
        steps = [self.step(step) for step in line[options.end() if options else 0:].split(" -> ")]
        if len(steps) > 3:
            raise Nonsense("more than three steps")
        # All of those that are left out; any of those that are named.
        joined = (" & " if all("_NOT_" in word for word in languages) else " | ").join(languages)
        return joined or "LANGUAGE_ANY", " | ".join(flags) or "0", steps

    def step(self, text):
        for word in text.split(","):
            if "->" in word.split(" "):
                raise Nonsense(f"'{text}': a step is empty")
            if not word.strip("*") or word != word.strip() or not word.isprintable():
                raise Nonsense(f"'{word}' is no alternative")
            if word[0] == "@" and word not in self.ROWS:
                raise Nonsense(f"no such table: {word}")
            if re.search(r"\\(?![s\\])", word.replace("\\\\", "")):
                raise Nonsense(f"'{word}': a backslash is written twice")
        return re.sub(r"\\(.)", lambda m: " " if m[1] == "s" else m[1], text)

    def names(self, word):
        """The alternatives that an @name stands for."""
        if word not in self.ROWS:
            return [word]
        return [before.replace("_", " ") + name + after
                for table, use, befores, after in self.ROWS[word]
                for name in rows_of(self.folder, table, use) for before in befores]

    def rules(self, entries):
        """Severities, id, what it means, its extra lines by their words, and its patterns."""
        for (group, why), rows in itertools.groupby(entries, lambda e: (e.group, e.why)):
            severities, name = group.split(" ")
            rows = list(rows)
            extra = dict(self.EXTRA.fullmatch(e.text).groups() for e in rows if self.EXTRA.fullmatch(e.text))
            if "check" not in extra:
                raise Nonsense(f"{name}: no (check) line says what to look at")
            words = severities.split(",")
            # code, block, text, hidden: what is not said is as the one before, and hidden as code.
            words = [words[min(i, len(words) - 1)] for i in range(3)] + [words[3] if len(words) > 3 else words[0]]
            yield words, name, why, extra, [p for p in (self.pattern(e.text) for e in rows) if p]

    def c_source(self, entries, texts):
        rules, patterns = [], []
        for words, name, why, extra, found in self.rules(entries):
            for languages, flags, steps in found:
                steps = [",".join(name for word in step.split(",") for name in self.names(word))
                         for step in steps]
                steps = "{ " + ", ".join(map(texts.place, steps)) + " }"
                patterns.append((str(len(rules)), languages, flags, steps))
            severities = ["SCAN_SILENT" if w == "-" else f"SKILL_{w.upper()}" for w in words]
            stops = " | ".join(f"SKILL_STOP_{w.upper()}" for w in extra.get("stops", "").split())
            reads = extra.get("reads", "").split()
            rules.append((texts.place(name), texts.place(why), texts.place(extra["check"]),
                          "{ " + ", ".join(severities) + " }", stops or "0",
                          *(str(w in reads).lower() for w in self.READS)))
        return (c_array("struct scan_rule scan_rules", "scan_rules_n", rules)
                + c_array("struct scan_pattern scan_patterns", "scan_patterns_n", patterns)
                + f"_Static_assert({len(rules)} <= SCAN_RULES_MAX, \"too many rules\");\n")

    def document(self, entries):
        """The rules as a table."""
        out = ["\n| id | script | block | text | hidden | what | what to check |\n|---|---|---|---|---|---|---|\n"]
        for words, name, why, extra, _ in self.rules(entries):
            out.append(f"| `{name}` | {' | '.join(words)} | {why} | {extra['check']} |\n")
        return "".join(out)


def expand(text):
    match = BRACES.search(text)
    if not match:
        return [text]
    return [path for word in match[1].split(",")
            for path in expand(text[:match.start()] + word + text[match.end():])]


TABLES = {
    "essentials": Essentials(),
    "companions": Companions(),
    "layouts": Layouts(),
    "runs-later": RunLater(
        "threat_files",
        "protect report soon file large checkout home skip lint hooks startup session programs".split(),
        r"(~?/)?[A-Za-z0-9_.+*{},-]+(/[A-Za-z0-9_.+*{},-]+)*(/|/:[A-Za-z0-9_.+*{},/-]+)?"),
    "interpreters": Threats("threat_programs", "code root named interpreter stdin".split(),
                            r"[A-Za-z0-9_.+-]+\*?"),
    "hosts": Threats("threat_hosts", "drop shared scan url installer hook".split(),
                     r"[a-z0-9-]+(\.\*)?(\.[a-z0-9-]+)+(/[A-Za-z0-9/_-]+\*?)?"),
    "packages": Threats("threat_packages", "pypi npm fine".split(), r"[a-z0-9@][a-z0-9@/._-]*"),
    "secrets": Threats("threat_secrets", "secret harmless known value".split(),
                       r"[A-Z0-9_*]+|[A-Za-z0-9_.-]+:[1-9]\d*"),
    "sockets": Threats("threat_sockets", "root session".split(), r"/[A-Za-z0-9_.*{},/-]+"),
    "scan": Scan(),
    "integrations": Integrations(),
}


def c_array(name, count, rows):
    lines = [f"const {name}[] = {{\n"] + [f"\t{{ {', '.join(row)} }},\n" for row in rows]
    return "".join(lines) + f"}};\nconst size_t {count} = {len(rows)};\n"


def c_numbers(name, numbers):
    return f"const {name}[] = {{\n" + textwrap.fill(", ".join(map(str, numbers)), 96, initial_indent="\t", subsequent_indent="\t") + "\n};\n"


def c_file(paths):
    """The tables of the files, which have the same header and one array of texts."""
    tables = [table_of(path) for path in paths]
    if len({(table.header, table.texts) for table in tables}) != 1:
        raise Nonsense(f"{' '.join(paths)}: these are not read together")
    texts = Texts(tables[0].texts)
    for table, path in zip(tables, paths):
        table.folder = os.path.dirname(path)
    arrays = [table.c_source(read(path), texts) for table, path in zip(tables, paths)]
    return "\n".join([f"/* Made by tools/gen-tables.py from {', '.join('data/' + os.path.basename(p) for p in paths)}. */\n"
                      f'#include "{tables[0].header}"\n', texts.c_source(), *arrays])


def markdown(path):
    if isinstance(table_of(path), Scan):
        return table_of(path).document(read(path))
    out = []
    for (group, why), entries in itertools.groupby(read(path), lambda e: (e.group, e.why)):
        out.append(f"\n**{group}**" + (f": {why}" if why else "") + "\n\n")
        out += [f"    {line}\n" for line in table_of(path).lines(entries)]
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
    ("companions", b"[a]\nb c"), ("companions", b"[a]\nb\nb"), ("companions", b"b"),
    ("layouts", b"[packages] x\n~/a/b"), ("layouts", b"[package] x\n/a/b"), ("layouts", b"[package] x\n~"),
    ("layouts", b"[package] x\n~/*"), ("layouts", b"[package] x\n~/.local/*"), ("layouts", b"[package] x\n~/a/**/b"),
    ("layouts", b"[package] x\n~/a/../b"), ("layouts", b"[package] x\n~/a/b\n~/a/b"),
    ("layouts", b"[package] x\n~/a -> ~/b"), ("layouts", b"[beside] x\n~/a"), ("layouts", b"[beside] x\n~/a -> /b"),
    ("layouts", b"[beside] x\n~/a* -> ~/b"), ("layouts", b"[beside] x\n~/a if b/c -> ~/d"),
    ("runs-later", b"a"), ("runs-later", b"[lint] x"), ("runs-later", b"[lnit] x\na"),
    ("runs-later", b"[lint]\na"), ("runs-later", b"[lint lint] x\na"), ("runs-later", b"[] x\na"),
    ("runs-later", b"[lint] x\na  b"), ("runs-later", b"[lint] x\na\n[report] y\na"),
    ("runs-later", b"[lint] x\n.{a,b} .b"), ("runs-later", b"[protect] x\n*.b"),
    ("runs-later", b"[lint] x\n/a"), ("runs-later", b"[report] x\n~/a"),
    ("runs-later", b"[lint] x\n../a"), ("runs-later", b"[lint] x\na//b"),
    ("runs-later", b"[lint] x\n\"a"), ("runs-later", b"[lint] x\na:b"),
    ("runs-later", b"[lint] x\na/:b\na/"), ("interpreters", b"[code] x\na/b"),
    ("interpreters", b"[code] x\n*a"), ("interpreters", b"[code] x\na a"),
    ("hosts", b"[drop] x\nlocal"), ("hosts", b"[drop] x\nA.b"), ("hosts", b"[drop] x\n*.a.b"),
    ("hosts", b"[drop] x\na.b\n[shared] x\na.b"), ("secrets", b"[value] x\nab:c"),
    ("secrets", b"[secret] x\na b:0"), ("sockets", b"[root] x\na"), ("scan", b"[high] a: x"), ("scan", b"[high] a\nb"),
    ("scan", b"[worse] a: x\nb"), ("scan", b"[low] a: x\n(nearly) b"), ("scan", b"[low] a: x\nb,,c"),
    ("scan", b"[low] a: x\nb -> c -> d -> e"), ("scan", b"[low] a: x\nb , c"),
    ("scan", b"[low] a: x\n@b"), ("scan", b"[low] a: x\nb\\c"), ("scan", b"[low] a: x\nb -> "),
    ("scan", b"[low] a: x\nb,"), ("scan", b"[low low low low low] a: x\nb"), ("scan", b"[low] a: x\n(stops) x"), ("scan", b"[low] a: x\n(reads) x"), ("scan", b"[low] a: x\nb\nb"),
    ("integrations", b"[A] x\nhttps://a.b/c"), ("integrations", b"[a-] x\nhttps://a.b/c"), ("integrations", b"[ab]\nhttps://a.b/c"),
    ("integrations", b"[ab] x\nhttp://a.b/c"), ("integrations", b"[ab] x\nhttps://a/c"), ("integrations", b"[ab] x\nhttps://me@a.b/c"),
    ("integrations", b"[ab] x\nhttps://a.b:1/c"), ("integrations", b"[ab] x\nhttps://a.b/c\nhttps://a.b/d"),
    ("integrations", b"[ab] x\nhttps://a.b/c\n[cd] y\nhttps://a.b/c"))


def self_test():
    parse(TABLES["essentials"], "good", b"# x\n\n[read] x\n/a/b\n/c if /d\n[library] y\n/e/f*\n")
    parse(TABLES["companions"], "good", b"[g++ a]\nb\n/c/*/d\n")
    parse(TABLES["layouts"], "good", b"[package] x\n~/a/b/@*/*\n[beside] y\n~/a -> ~/b\n~/c if d -> ~/e ~/f/g\n")
    parse(TABLES["runs-later"], "good", b"[protect lint] x\n.{a,b}c .d/ .f/:*.g\n[lint] x\n*.e\n")
    parse(TABLES["interpreters"], "good", b"[code named] x\nsh ld-linux*\n")
    parse(TABLES["secrets"], "good", b"[secret known] x\nA_* B\n[value] x\nab_:9\n")
    parse(TABLES["sockets"], "good", b"[root] x\n/a/{b,c}*\n")
    parse(TABLES["hosts"], "good", b"[drop url] x\na.b c.d/api\n[shared] y\na.*.b.c\n")
    parse(TABLES["integrations"], "good", b"[a-b] x (y)\nhttps://a.b-c.d/e/\n[c1] x\nhttps://e.f\n")
    parse(TABLES["scan"], "good", b"[high low -] a-b: x: y\n(check) z\n(near gap=9) c d,\n\\se -> @pipe\n[low] e: x\n(characters)\n")
    if TABLES["scan"].pattern("(file not-node) a\\s,b -> c\\\\d") != (
            "LANGUAGE_NOT_NODE", "SCAN_FILE", ["a ,b", "c\\d"]):
        raise Nonsense("a pattern is read wrongly")
    if expand(".{a,}b/{c,d}/") != [".ab/c/", ".ab/d/", ".b/c/", ".b/d/"]:
        raise Nonsense("alternatives are lost")
    for name, text in NONSENSE:
        try:
            parse(TABLES[name], "bad", text)
        except Nonsense as e:
            if re.match(r"bad:\d+: ", str(e)):
                continue
        raise Nonsense(f"not refused with file:line: {text}")


def check(doc, paths):
    with open(doc, encoding="utf-8") as file:
        text = file.read()
    lists = [markdown(path) for path in paths]
    if not all(list in text for list in lists) or not text.endswith(lists[-1]):
        raise Nonsense(f"{doc}: the lists are not those of {', '.join(paths)}; print them with "
                       "tools/gen-tables.py --list")


def main(args):
    if args == ["--self-test"]:
        self_test()
    elif len(args) == 2 and args[0] == "--list":
        print(markdown(args[1]), end="")
    elif len(args) > 2 and args[0] == "--check":
        check(args[1], args[2:])
    elif len(args) >= 2 and not args[0].startswith("-"):
        source = c_file(args[:-1])
        with open(args[-1], "w", encoding="ascii") as out:
            out.write(source)
    else:
        raise Nonsense(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Nonsense, OverflowError, OSError) as e:
        sys.exit(str(e))
