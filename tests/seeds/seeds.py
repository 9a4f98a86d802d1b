#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The five documents that Corral was made from, item by item: each row of seed000.py … seed004.py is run, and docs/seeds.md
is printed from them. Prints TAP.

    seeds.py [--only ID]...    run all rows, or those whose id begins so
    seeds.py --programs        run those that need programs of `make acceptance`, which must be there
    seeds.py --show ID         run one, and print all that it says
    seeds.py --broken          break features on purpose: their rows must fail
    seeds.py --write FILE      print the document
    seeds.py --check FILE      is it the one of today?

With SEEDS_TIMES in the environment it prints what each command took.
"""

import argparse
import collections
import importlib
import os
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from table import STATES, Section  # noqa: E402

NAMES = ("seed000", "seed001", "seed002", "seed003", "seed004")


def load():
    return [importlib.import_module(name).SEED for name in NAMES if os.path.exists(f"{HERE}/{name}.py")]


def is_runnable(row):
    """Without a program that `make test` does not install, the row is left to `make acceptance`."""
    return not row.program or shutil.which(row.program)


def run_seed(seed, only, show=False, breakage=None, chosen=is_runnable):
    """Results of the rows: [(row, problems, output)]."""
    from scene import Scene

    rows = [row for row in seed.rows if chosen(row) and (not only or row.id.startswith(tuple(only)))]
    if not rows:
        return []
    scene = Scene(seed)
    try:
        if breakage:
            breakage(scene)
        results = []
        for row in rows:
            status, output = scene.run(row.command)
            results.append((row, row.problems(status, output, scene.home), output))
            if show:
                print(f"# {row.id} {row.item}\n$ {row.command}\n{output}[{status}] {results[-1][1]}")
        return results
    finally:
        scene.end()


def run(seeds, only, show, chosen=is_runnable):
    from broker_tap import at_once, end, ok

    def part(seed):
        for row, problems, output in run_seed(seed, only, show, chosen=chosen):
            ok(not problems, f"{row.id} {row.state}: {row.item}".replace("#", "\\#"), row.command, *problems, output[-1500:])

    at_once(*[lambda seed=seed: part(seed) for seed in seeds])
    rows = [row for seed in seeds for row in seed.rows]
    print("# summary: " + counts(rows))
    for row in rows if chosen is is_runnable else ():
        if not is_runnable(row):
            print(f"# {row.id} needs {row.program}: make acceptance runs it")
    return end()


def run_broken(seeds, only):
    """Each breakage makes all of its rows fail."""
    import broken
    from broker_tap import at_once, end, ok

    by_number = {seed.number: seed for seed in seeds}

    def one(name, number, items, breakage):
        seed = by_number[number]
        ids = [row.id for row in seed.rows if row.item.startswith(tuple(items))]
        results = run_seed(seed, ids, breakage=breakage)
        stand = [row.id for row, problems, _ in results if not problems]
        ok(len(ids) >= len(items) and not stand, f"{name}: {' '.join(ids)} fail", stand, [output for _, _, output in results])
        for row, problems, _ in results:
            print(f"# {row.id}: {'; '.join(problems)}".replace("\n", "\\n"))

    chosen = [b for b in broken.BROKEN if not only or b[1].startswith(tuple(only))]
    at_once(*[lambda half=half: [one(*b) for b in half] for half in (chosen[::2], chosen[1::2])])
    return end()


def counts(rows):
    n = collections.Counter(row.state for row in rows)
    words = {"works": "work", "differs": "differ", "absent": "are absent", "declined": "are declined"}
    return f"{len(rows)} items: " + ", ".join(f"{n[state]} {words[state]}" for state in STATES)


def code(text):
    """As code in Markdown, whatever is in it."""
    text = text.replace("\n", "\\n").replace("@HOME@", "~")
    fence = "``" if "`" in text else "`"
    pad = " " if fence == "``" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def printed(row):
    texts = [("not " + code(t[1:])) if t.startswith("!") else code(t) for t in row.expected]
    status = [f"exit status {row.status}"] if row.status else []
    return ", ".join(texts + status) or "exit status 0"


def document(seeds):
    from scene import WORDS

    rows = [row for seed in seeds for row in seed.rows]
    out = ["# The five documents, item by item", "",
           "Corral was made from five documents, *seeds*. This page lists what they describe, and what Corral has of it: an item",
           "*works* as written, or *differs* (and why), or is *absent* until another part of Corral brings it, or is *declined* (and why).",
           "It is printed from the tables in `tests/seeds`, and `meson test -C build seeds` runs each command.", "",
           "| seed | items | works | differs | absent | declined |", "|---|---|---|---|---|---|"]
    for seed in seeds + [None]:
        of = seed.rows if seed else rows
        n = collections.Counter(row.state for row in of)
        name = f"[{seed.number} {seed.title}](#{anchor(seed)})" if seed else "all"
        out.append(f"| {name} | {len(of)} | " + " | ".join(str(n[state]) for state in STATES) + " |")
    out += ["", "Commands are lines of sh(1) in a folder with the files that the table names. What stands after `→` is in the output, standard",
            "error included; between slashes it is a regular expression. *As* an earlier item: the same run of the same command. `seed-host` is `tests/seeds/host.c`, a host program on libcorral: its words",
            "are calls of the library. Other words:", "", "```sh", *WORDS.values(), "```"]
    for seed in seeds:
        out += ["", f"## {seed.number} {seed.title}"]
        first = {}  # row that has a command
        for entry in seed.entries:
            if isinstance(entry, Section):
                out += ["", f"### {entry.title}", ""]
            else:
                why = f" {entry.why[0].upper()}{entry.why[1:]}." if entry.why else ""
                said = f"as {first[entry.command]}" if entry.command in first else code(entry.command)
                first.setdefault(entry.command, entry.id)
                out.append(f"- {entry.id} **{entry.state}**: {entry.item}.{why} {said} → {printed(entry)}")
    return "\n".join(out) + "\n"


def anchor(seed):
    return f"{seed.number} {seed.title}".lower().replace(" ", "-")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--show")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--check")
    o = parser.parse_args()
    seeds = load()
    if o.write or o.check:
        text = document(seeds)
        if o.write:
            with open(o.write, "w") as f:
                f.write(text)
            return 0
        if open(o.check).read() == text:
            return 0
        print(f"{o.check} is not the one of today: run tests/seeds/seeds.py --write docs/seeds.md")
        return 1
    import scene  # noqa: F401  for the path of broker_tap

    if o.broken:
        return run_broken(seeds, o.only)
    if o.programs:
        return run(seeds, o.only, False, chosen=lambda row: bool(row.program))
    return run(seeds, [o.show] if o.show else o.only, bool(o.show))


if __name__ == "__main__":
    sys.exit(main())
