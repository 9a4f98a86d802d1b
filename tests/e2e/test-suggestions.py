#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line that Corral suggests is applied, as it stands, and must help.

A case provokes a message, reads the suggested options or lines out of it mechanically, applies them,
and looks whether what was denied works now.
"""
import os

import suggestions
from suggestions import Scene, Tap

SSH = ".ssh/id_ed25519"


def baseline(tap):
    """A grant that the baseline takes back, and --dangerously-allow."""
    with Scene() as s:
        s.write(f"{s.home}/{SSH}", "key\n")
        s.write(f"{s.home}/.ssh/known_hosts", "host key\n")
        s.write(f"{s.home}/.bashrc", "")
        s.write("p.yaml", "fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**, ~/.ssh/**]}\n")
        secret, cat = f"{s.home}/{SSH}", ["--", "cat", f"{s.home}/{SSH}"]
        for name, given, command in (
                ("a folder", ["--read", s.home + "/.ssh"], cat),
                ("a file", ["--read", secret], cat),
                ("a pattern", ["--read", s.home + "/.ssh/*"], cat),
                ("a policy, and an option", ["-p", "p.yaml", "--read", secret], cat),
                ("what may be read, and not written", ["--write", s.home + "/.bashrc"],
                 ["--", "sh", "-c", f"echo x >{s.home}/.bashrc"])):
            status, text = s.corral("run", *given, *command)
            more = [w for w in suggestions.options_in(text)]
            tap.ok(status != 0 and text.count("the baseline protects it") >= 1 and
                   more[:1] == ["--dangerously-allow"], f"baseline: {name}: said at once", text)
            status, text = s.corral("run", *given, *more, *command)
            tap.ok(status == 0 and "does not protect" in text, f"baseline: {name}: it helps, loudly", text)
        status, text = s.corral("run", "-p", "p.yaml", *cat)
        lines = suggestions.lines_in(text)
        tap.ok(status != 0 and len(lines) == 1 and lines[0][1] == "p.yaml", "baseline: a policy's line", text)
        suggestions.add_line(s, "p.yaml", lines[0][0])
        status, text = s.corral("run", "-p", "p.yaml", *cat)
        tap.ok(status == 0 and text == "key\n", "baseline: which helps", text)
        status, text = s.corral("run", "--dangerously-allow", secret, *cat)
        more = suggestions.options_in(text.split("not granted: ")[-1])
        tap.ok(status != 0 and more[:1] == ["--read"], "baseline: lifted and not granted", text)
        status, text = s.corral("run", "--dangerously-allow", secret, *more[:2], *cat)
        tap.ok(status == 0 and text.endswith("key\n"), "baseline: --read helps", text)
        s.write(f"{s.home}/.config/corral/policy.yaml", "fs: {read: [/**], write: [$WORK_DIR/**]}\n")
        status, text = s.corral("run", "--read", secret, *cat)
        more, lines = suggestions.options_in(text), suggestions.lines_in(text)
        tap.ok(len(lines) == 1 and more[:1] == ["--dangerously-allow"], "baseline: under a policy of the user's",
               text)
        suggestions.add_line(s, lines[0][1], lines[0][0])
        status, text = s.corral("run", "--read", secret, *more[:2], *cat)
        tap.ok(status == 0 and text.endswith("key\n"), "baseline: both together help", text)
        os.remove(f"{s.home}/.config/corral/policy.yaml")
        for given, want in ((["--read", s.home], ""), (["--json", "--read", s.home + "/.ssh"], ""),
                            (["--dangerously-allow", "/srv"], "changes nothing"),
                            (["--dangerously-allow", s.home], "does not protect the secrets in")):
            status, text = s.corral("run", *given, "--", "true")
            said = text if "--json" not in given else ""
            tap.ok(status == 0 and (want in said if want else said == ""), f"baseline: {given[0]}: {want}", text)
        known = s.home + "/.ssh/known_hosts"
        status, text = s.corral("run", "--read", known, "--", "cat", known)
        tap.ok(status == 0 and text == "host key\n", "known_hosts is no secret", text)
        status, text = s.corral("run", "--write", known, "--", "sh", "-c", f"echo x >{known}")
        tap.ok(status != 0 and "cannot be written" in text, "known_hosts cannot be written", text)
        status, text = s.corral("run", "--read", s.home, "--explain", "--", "cat", known)
        tap.ok(status != 0 and "hidden as a whole" in text and not suggestions.options_in(text),
               "known_hosts in a hidden folder: said, without a line that is refused", text)


def main():
    suggestions.needs_sandbox()
    tap = Tap()
    for case in (baseline,):
        case(tap)
    tap.end()


main()
