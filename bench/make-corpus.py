#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the corpus that the policy benchmark uses: always the same one.

    python3 bench/make-corpus.py bench/corpus

The mix is what policies hold: folders with all below them, files, globs inside a fixed folder, and a few that float.
Patterns are in random order, so the first ten are a fair sample of all. Requests are paths, half of
which match something.
"""

import random
import sys

WORDS = """api app archive assets audit backup batch billing build cache cargo client cloud config core
customer data deploy docs driver edge engine events export feature fleet gateway graph health history image
import index ingest invoice jobs kernel ledger lib logs mail media metrics mobile model monitor network node
notes office order parser payment photo plugin policy portal profile proxy queue report schema search sensor
server service session shop signal site skill source stage state storage stream studio support sync system task
team test theme token tool trace track traffic user vault video view web widget work worker""".split()
ROOTS = ["/srv", "/data", "/home/dev/work", "/var/lib/agents", "/opt", "/mnt/team"]
SUFFIXES = ["log", "json", "yaml", "txt", "csv", "md", "c", "py", "tmp", "sqlite"]


def folder(rng, depth):
    return rng.choice(ROOTS) + "".join(
        "/%s%d" % (rng.choice(WORDS), rng.randrange(1000)) for _ in range(depth))


def pattern(rng):
    kind = rng.random()
    base = folder(rng, rng.randrange(1, 4))
    if kind < 0.55:
        return base + "/**"
    if kind < 0.75:
        return base + "/%s.%s" % (rng.choice(WORDS), rng.choice(SUFFIXES))
    if kind < 0.90:
        return base + "/*.%s" % rng.choice(SUFFIXES)
    if kind < 0.96:
        return base + "/**/*.{%s,%s}" % tuple(rng.sample(SUFFIXES, 2))
    if kind < 0.99:
        return base + "/%s[0-9]?/*" % rng.choice(WORDS)
    return "/**/%s%d/*.%s" % (rng.choice(WORDS), rng.randrange(1000), rng.choice(SUFFIXES))


def request(rng, patterns):
    tail = "/%s/%s%d.%s" % (
        rng.choice(WORDS), rng.choice(WORDS), rng.randrange(100), rng.choice(SUFFIXES))
    if rng.random() < 0.5:
        return folder(rng, rng.randrange(1, 4)) + tail
    base = rng.choice(patterns)
    fixed = base[: min([base.index(c) for c in "*[{" if c in base] or [len(base)])]
    return fixed.rstrip("/") + tail


def main():
    target = sys.argv[1]
    rng = random.Random(20)
    patterns = []
    seen = set()
    while len(patterns) < 10000:
        p = pattern(rng)
        if p not in seen:
            seen.add(p)
            patterns.append(p)
    requests = [request(rng, patterns) for _ in range(4000)]
    with open(target + "/patterns.txt", "w", encoding="ascii") as f:
        f.write("\n".join(patterns) + "\n")
    with open(target + "/requests.txt", "w", encoding="ascii") as f:
        f.write("\n".join(requests) + "\n")


main()
