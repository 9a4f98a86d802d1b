#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line that Corral suggests is applied, as it stands, and must help.

A case provokes a message, reads the suggested options or lines out of it mechanically, applies them,
and looks whether what was denied works now. The last test looks through the source for texts that
suggest something: each must belong to a case (SITES).
"""
import glob
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading

import suggestions
from suggestions import Scene, Tap, add_line, lines_in, options_in

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = "/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**"
SSH = ".ssh/id_ed25519"


def helps(tap, scene, name, given, command, cwd=None):
    """It fails; the options that --explain suggests are added; it works."""
    status, text = scene.corral("run", "--explain", *given, "--", *command, cwd=cwd)
    table = text[text.rfind("corral: denied, and what"):]
    more = options_in(table)
    tap.ok(status != 0 and more, f"{name}: a line is suggested", text)
    status, text = scene.corral("run", *given, *more, "--", *command, cwd=cwd)
    tap.ok(status == 0, f"{name}: {' '.join(more)}: it helps", text)
    return more


def line_helps(tap, scene, name, file, command, given=()):
    """The same of the line for a policy's file."""
    status, text = scene.corral("run", "--explain", "-p", file, *given, "--", *command)
    lines = lines_in(text)
    tap.ok(status != 0 and lines and lines[0][1] == file, f"{name}: a line for the file", text)
    for line, where in lines:
        add_line(scene, where, line)
    status, text = scene.corral("run", "-p", file, *given, "--", *command)
    tap.ok(status == 0, f"{name}: {lines[:1]}: it helps", text)


def baseline(tap):
    """A grant that the baseline takes back, and --dangerously-allow."""
    with Scene() as s:
        s.write(f"{s.home}/{SSH}", "key\n")
        s.write(f"{s.home}/.ssh/known_hosts", "host key\n")
        s.write(f"{s.home}/.bashrc", "")
        s.write("p.yaml", f"fs: {{read: [{SYSTEM}, ~/.ssh/**]}}\n")
        secret, cat = f"{s.home}/{SSH}", ["--", "cat", f"{s.home}/{SSH}"]
        for name, given, command in (
                ("a folder", ["--read", s.home + "/.ssh"], cat),
                ("a file", ["--read", secret], cat),
                ("a pattern", ["--read", s.home + "/.ssh/*"], cat),
                ("a policy, and an option", ["-p", "p.yaml", "--read", secret], cat),
                ("what may be read, and not written", ["--write", s.home + "/.bashrc"],
                 ["--", "sh", "-c", f"echo x >{s.home}/.bashrc"])):
            status, text = s.corral("run", *given, *command)
            more = options_in(text)
            tap.ok(status != 0 and "the baseline protects it" in text and more[:1] == ["--dangerously-allow"],
                   f"baseline: {name}: said at once", text)
            status, text = s.corral("run", *given, *more, *command)
            tap.ok(status == 0 and "does not protect" in text, f"baseline: {name}: it helps, loudly", text)
        status, text = s.corral("run", "-p", "p.yaml", *cat)
        lines = lines_in(text)
        tap.ok(status != 0 and len(lines) == 1 and lines[0][1] == "p.yaml", "baseline: a policy's line", text)
        add_line(s, "p.yaml", lines[0][0])
        status, text = s.corral("run", "-p", "p.yaml", *cat)
        tap.ok(status == 0 and text == "key\n", "baseline: which helps", text)
        status, text = s.corral("run", "--dangerously-allow", secret, *cat)
        more = options_in(text.split("not granted: ")[-1])
        tap.ok(status != 0 and more[:1] == ["--read"], "baseline: lifted and not granted", text)
        status, text = s.corral("run", "--dangerously-allow", secret, *more[:2], *cat)
        tap.ok(status == 0 and text.endswith("key\n"), "baseline: --read helps", text)
        s.write(f"{s.home}/.config/corral/policy.yaml", "fs: {read: [/**], write: [$WORK_DIR/**]}\n")
        status, text = s.corral("run", "--read", secret, *cat)
        more, lines = options_in(text), lines_in(text)
        tap.ok(len(lines) == 1 and more[:1] == ["--dangerously-allow"], "baseline: under a policy of the user's",
               text)
        add_line(s, lines[0][1], lines[0][0])
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
        tap.ok(status != 0 and "hidden as a whole" in text and not options_in(text),
               "known_hosts in a hidden folder: said, without a line that is refused", text)


def explained_options(tap):
    """What --explain suggests on the command line."""
    with Scene() as s:
        data, tools = s.root + "/data", s.root + "/tools"
        for name in ("one", "two", "three", "conf"):
            s.write(f"{data}/{name}")
        s.write(f"{tools}/tool", "#!/bin/sh\necho tool\n", 0o755)
        s.env["PATH"] = f"{tools}:{s.env['PATH']}"
        os.symlink(data, s.root + "/link")
        helps(tap, s, "a file", [], ["cat", f"{data}/one"])
        helps(tap, s, "a folder", [], ["ls", data])
        helps(tap, s, "a link", [], ["cat", f"{s.root}/link/one"])
        helps(tap, s, "a new file", [], ["sh", "-c", f"echo x >{data}/new"])
        helps(tap, s, "a file to be written", [], ["sh", "-c", f"echo x >{data}/one"])
        helps(tap, s, "a program in PATH", [], ["bash", "-c", "tool"])
        more = helps(tap, s, "access(X_OK)", [], ["bash", "-c", f"[ -x {tools}/tool ] && {tools}/tool"])
        tap.ok(more[:1] == ["--read"], "without a list of programs a program has to be readable")
        s.write("list.yaml", f"fs: {{read: [{SYSTEM}]}}\nexec: [bash, sh]\nenv: [PATH]\n")
        for name, command in (("a program in PATH", "tool"), ("access(X_OK)", f"[ -x {tools}/tool ] && {tools}/tool"),
                              ("a program by its path", f"{tools}/tool"), ("a program of the system", "id")):
            more = helps(tap, s, f"with a list: {name}", ["-p", "list.yaml"], ["bash", "-c", f"{command}"])
            tap.ok(more[:1] == ["--exec"], f"with a list: {name}: --exec, not --read", more)
        # A single file is a mount, and cannot be replaced.
        replace = f"echo new >{data}/x && mv {data}/x {data}/conf || exit 1"
        status, text = s.corral("run", "--explain", "--write", f"{data}/conf", "--", "sh", "-c",
                                f"echo x >$HOME/x; mv -T $HOME/x {data}/conf; rm $HOME/x; exit 1")
        more = options_in(text)
        tap.ok(more == ["--write", data], "a single file cannot be replaced: its folder is suggested", text)
        status, text = s.corral("run", "--write", f"{data}/conf", *more, "--", "sh", "-c", replace)
        tap.ok(status == 0 and open(f"{data}/conf", encoding="ascii").read() == "new\n", "which helps", text)
        s.write(f"{s.home}/.tool.json", "{}")
        status, text = s.corral("run", "--explain", "--write", f"{s.home}/.tool.json", "--", "sh", "-c", "echo x >~/x; mv ~/x ~/.tool.json")
        tap.ok(status == 0 and text == "" and open(f"{s.home}/.tool.json", encoding="ascii").read() == "x\n",
               "a single file of the home can be replaced", text)
        os.link(f"{s.home}/.tool.json", f"{s.home}/.tool.second")
        status, text = s.corral("run", "--explain", "--write", f"{s.home}/.tool.json", "--", "sh", "-c",
                                "echo x >~/x; mv ~/x ~/.tool.json; rm ~/x; exit 1")
        tap.ok("can be changed but not replaced" in text and not options_in(text),
               "one with two names cannot: said, and the home is not suggested", text)
        # What other programs run later.
        subprocess.run(["git", "init", "-q", s.work], check=True, env=s.env)
        for name in ("one", "a/two", "b/c/three"):
            s.write(f"{s.home}/.tool/{name}")
            s.write(f"{s.home}/.config/other/{name}")
        more = helps(tap, s, "a program's own folder", [], ["sh", "-c", "cat ~/.tool/one ~/.tool/a/two ~/.config/other/b/c/three"])
        tap.ok(more == ["--read", s.home + "/.tool", "--read", s.home + "/.config/other/b/c/three"] or
               more == ["--read", s.home + "/.config/other/b/c/three", "--read", s.home + "/.tool"],
               "which is one line, and not more than that folder", more)
        more = helps(tap, s, "the same, below .config", [], ["sh", "-c", "cat ~/.config/other/one ~/.config/other/b/c/three"])
        tap.ok(more == ["--read", s.home + "/.config/other"], "which is not .config", more)
        helps(tap, s, "what runs later", [], ["sh", "-c", "echo x >.git/config"])


def repository(tap):
    """git in a folder of a repository."""
    with Scene() as s:
        repo = s.root + "/repo"
        s.write(f"{repo}/sub/file")
        git = ["git", "-C", repo, "-c", "user.name=x", "-c", "user.email=x@example.com"]
        for words in (["git", "init", "-q", repo], [*git, "add", "."], [*git, "commit", "-q", "-m", "x"]):
            subprocess.run(words, check=True, env=s.env)
        more = helps(tap, s, "git in a subfolder", [], ["git", "status", "--short"], cwd=repo + "/sub")
        tap.ok(more == ["--read", repo], "the repository is named", more)
        status, text = s.corral("run", *more, "--", "git", "status", "--short", cwd=repo + "/sub")
        tap.ok(status == 0 and text == "", "and git sees all of it", text)


def explained_lines(tap):
    """What --explain suggests for a policy's file."""
    with Scene() as s:
        data = s.root + "/data"
        s.write(f"{data}/one")
        s.write(s.root + "/tools/tool", "#!/bin/sh\n", 0o755)
        policy = f"fs: {{read: [{SYSTEM}]}}\nexec: [cat, sh]\n"
        for name, command in (("a file", ["cat", f"{data}/one"]), ("a folder", ["sh", "-c", f"cd {data}"]),
                              ("a new file", ["sh", "-c", f"echo x >{data}/new"]),
                              ("a program", ["sh", "-c", "id >/dev/null"]),
                              ("a program elsewhere", ["sh", "-c", s.root + "/tools/tool"])):
            s.write("p.yaml", policy)
            line_helps(tap, s, f"policy: {name}", "p.yaml", command)
        # A skill has its grants below `permissions:`.
        s.write("skill/skill.yaml", "name: x\ndescription: x\nentry: run.sh\nruntime: sh\npermissions:\n"
                f"  fs: {{read: [{SYSTEM}, $SKILL_DIR/**]}}\n")
        s.write("skill/run.sh", f"cat {data}/one\n")
        status, text = s.corral("run", "--explain", "--yes", "--skill", "skill")
        tap.ok(status != 0 and ", below permissions:" in text, "skill: where the line goes", text)
        line = lines_in(text)[0][0]
        with open(s.work + "/skill/skill.yaml", "a", encoding="ascii") as out:
            out.write("  " + line.replace("fs: {read: [", f"fs: {{read: [{SYSTEM}, $SKILL_DIR/**, ") + "\n")
        text = open(s.work + "/skill/skill.yaml", encoding="ascii").read()
        s.write("skill/skill.yaml", text.replace(f"  fs: {{read: [{SYSTEM}, $SKILL_DIR/**]}}\n", "", 1))
        status, text = s.corral("run", "--yes", "--skill", "skill")
        tap.ok(status == 0, "skill: it helps", text)
        # A file of another format is named without a line that it would not understand.
        s.write("enclave.json", '{"allowed_roots": ["/usr", "/bin", "/lib", "/lib64", "/etc"],'
                ' "allowed_commands": ["cat"], "allowed_hosts": []}')
        status, text = s.corral("run", "--explain", "-p", "enclave.json", "--", "cat", f"{data}/one")
        tap.ok(status != 0 and "grant it in enclave.json" in text and not lines_in(text), "another format", text)
        helps(tap, s, "another format: the option", ["-p", "enclave.json"], ["cat", f"{data}/one"])


def own_sandbox(tap):
    """Programs that want namespaces for a sandbox of their own."""
    with Scene() as s:
        program = ('#!/bin/bash\nfor word in "$@"; do case $word in %s) exit 0;; esac; done\n'
                   "unshare -U true 2>/dev/null || exit 7\n")
        for name, off in (("chrome", "--no-sandbox"), ("chromium", "--no-sandbox"),
                          ("codex", "danger-full-access")):
            s.write(name, program % off, 0o755)
            status, text = s.corral("run", "--explain", "--", f"./{name}")
            found = re.search(r"with (--[a-z-]+(?: [a-z-]+)?):", text)
            tap.ok(status == 7 and found and f"sandbox~ {name}" in text, f"{name}: said as such", text)
            status, text = s.corral("run", "--", f"./{name}", *(found[1].split() if found else []))
            tap.ok(status == 0, f"{name}: what is suggested helps", text)
        for name, want in (("podman", "outside of Corral"), ("bwrap", "outside of Corral"),
                           ("some-program", "turn its own sandbox off")):
            s.write(name, program % "never", 0o755)
            status, text = s.corral("run", "--explain", "--", f"./{name}")
            tap.ok(status == 7 and want in text, f"{name}: said as such", text)
        status, text = s.corral("run", "--explain", "--", "sh", "-c", "(true) & wait; id >/dev/null")
        tap.ok(status == 0 and "sandbox~" not in text, "plain children are none", text)


def network(tap):
    """Hosts: with --explain, without, and where there is no network at all."""
    with Scene() as s:
        server = socket.create_server(("127.0.0.1", 0))
        port = server.getsockname()[1]

        def serve():
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        reach = ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"]
        helps(tap, s, "a port of the host", [], reach)
        with socket.socket(socket.AF_UNIX) as unix:
            unix.bind(s.root + "/data/socket")
            unix.listen()
            connect = ["python3", "-c", "import socket; socket.socket(socket.AF_UNIX).connect("
                       f"'{s.root}/data/socket')"]
            if os.access("/usr/bin/python3", os.X_OK):
                status, text = s.corral("run", "--explain", "--", "/usr/bin/python3", *connect[1:])
                tap.ok("the program behind it is not confined" in text, "a socket of the host: what stands behind it", text)
                helps(tap, s, "a socket of the host", [], ["/usr/bin/python3", *connect[1:]])
        status, text = s.corral("run", "--", "getent", "ahosts", "evil.example.com")
        tap.ok(status != 0 and "this run has no network" in text and
               options_in(text) == ["--net", "evil.example.com:443"], "a name, and no network: said", text)
        status, text = s.corral("run", *options_in(text), "--", "getent", "ahosts", "evil.example.com")
        tap.ok(status == 0 and "198.18." in text, "a name, and no network: what is suggested helps", text)
        status, text = s.corral("run", "--explain", "--", "getent", "ahosts", "evil.example.com")
        tap.ok("--net evil.example.com:443" in text, "--explain names it", text)
        status, text = s.corral("run", "--profile", "offline", "--", "getent", "hosts", "evil.example.com")
        tap.ok("the profile offline never has one" in text and "--net" not in text,
               "with the profile offline, which refuses --net, that is said instead", text)
        status, text = s.corral("run", "--", "false")
        tap.ok(text == "", "nothing is said of a command that fails for another reason", text)
        status, text = s.corral("run", "--net", "other.example.com:443", "--", "bash", "-c",
                                f"getent ahosts evil.example.com; exec 3<>/dev/tcp/127.0.0.1/{port}")
        more = options_in(text)
        tap.ok(["--net", "evil.example.com:443"] == more[:2], "a denied name, without --explain", text)
        s.write("port.yaml", f"fs: {{read: [{SYSTEM}]}}\nnetwork: {{allow: [other.example.com], deny: ['evil.example.com:22']}}\n")
        line_helps(tap, s, "a name of which one port is denied", "port.yaml", ["getent", "ahosts", "evil.example.com"])
        server.close()


def refused(tap):
    """What stands in errors of `run`."""
    with Scene() as s:
        s.write(s.root + "/tools/tool", "#!/bin/sh\nexit 0\n", 0o755)
        tool = s.root + "/tools/tool"
        s.write("list.yaml", f"fs: {{read: [{SYSTEM}]}}\nexec: [sh]\n")
        for name, given, command in (("a program that may not be read", [], tool),
                                     ("a program that is not on the list", ["-p", "list.yaml"], "id"),
                                     ("a program elsewhere, and a list", ["-p", "list.yaml"], tool)):
            status, text = s.corral("run", *given, "--", command)
            more = options_in(text)
            tap.ok(status == 126 and more and "to profile" not in text, f"126: {name}: the option", text)
            status, text = s.corral("run", *given, *more, "--", command)
            tap.ok(status == 0, f"126: {name}: {more}: it helps", text)
        status, text = s.corral("run", "-p", "list.yaml", "--", "id")
        add_line(s, "list.yaml", lines_in(text)[0][0])
        status, text = s.corral("run", "-p", "list.yaml", "--", "id")
        tap.ok(status == 0, "126: the line of the file helps", text)
        status, text = s.corral("run", "--cwd", s.root + "/data", "--", "true")
        status, text = s.corral("run", "--cwd", s.root + "/data", *options_in(text), "--", "true")
        tap.ok(status == 0, "--cwd: --read helps", text)
        s.write("var.yaml", f"fs: {{read: [{SYSTEM}, $SKILL_DIR/**]}}\n")
        status, text = s.corral("run", "-p", "var.yaml", "--", "true")
        found = re.search(r"--set SKILL_DIR=DIR", text)
        status, text = s.corral("run", "-p", "var.yaml", "--set", f"SKILL_DIR={s.root}/data", "--", "true")
        tap.ok(found and status == 0, "a variable without a value: --set helps", text)
        status, text = s.corral("run", "--set", "SKILL_DIRR=/", "--", "true")
        tap.ok("--set SKILL_DIR=DIR" in text, "a variable that is misspelt", text)
        s.write("text.yaml", "fs: {read: /usr/**}\n")
        status, text = s.corral("policy", "show", "text.yaml")
        line = lines_in(text)[0][0]
        s.write("text.yaml", f"fs: {{{line}}}\n")
        status, text = s.corral("policy", "show", "text.yaml")
        tap.ok(status == 0, f"a list that is none: {line}: it helps", text)
        status, text = s.corral("run", "--profile", "./list.yaml", "--", "true")
        tap.ok("--policy FILE" in text and s.corral("run", "--policy", "list.yaml", "--", "sh", "-c", ":")[0] == 0,
               "a file for --profile: --policy helps", text)
        status, text = s.corral("run", "--", "true", cwd=s.home)
        tap.ok(status == 125 and "--work-dir DIR" in text and
               s.corral("run", "--work-dir", s.work, "--", "true", cwd=s.home)[0] == 0,
               "the home as working folder: --work-dir helps", text)
        status, text = s.corral("run", "--audit", s.work + "/log.db", "--", "true")
        more = options_in(text)
        tap.ok(status != 0 and (not more or more[0] == "--deny"), "a log where the command writes", text)
        hidden = s.write("hidden", "hidden\n")
        with open(hidden, encoding="ascii") as given:
            done = subprocess.run([suggestions.CORRAL, "run", "--deny", "hidden", "--", "cat"], stdin=given, env=s.env,
                                  cwd=s.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        tap.ok(done.returncode != 0 and f"cat {hidden} | corral run" in done.stdout, "a denied file as input",
               done.stdout)
        status, text = s.corral("run", "--deny", "hidden", "--", "cat", stdin="hidden\n")
        tap.ok(status == 0 and text == "hidden\n", "a denied file as input: a pipe helps", text)
        for words in (["doctor"], ["audit", "verify", "--help"], ["run", "--help"], ["inspect", "--help"]):
            status, text = s.corral(*words)
            tap.ok(status in (0, 1) and text, f"corral {' '.join(words)}: as messages name it", text)


def skill(tap):
    """What is suggested about skills."""
    with Scene() as s:
        s.write("skill/skill.yaml", "name: x\ndescription: x\nentry: run.x\npermissions:\n"
                f"  fs: {{read: [{SYSTEM}, $SKILL_DIR/**]}}\n")
        s.write("skill/run.x", "exit 0\n")
        status, text = s.corral("run", "--skill", "skill")
        tap.ok(status == 126 and "corral approve" in text and "--yes" in text, "a skill that is not approved", text)
        status, text = s.corral("run", "--yes", "--skill", "skill")
        found = re.search(r"`(runtime: bash)`", text)
        tap.ok(status == 126 and found, "a skill without a runtime", text)
        if found:
            with open(s.work + "/skill/skill.yaml", "a", encoding="ascii") as out:
                out.write(found[1] + "\n")
        status, text = s.corral("run", "--yes", "--skill", "skill")
        tap.ok(status == 0, "skill: runtime and --yes help", text)
        status, text = s.corral("approve", "--yes", "skill")
        status, text = s.corral("run", "--skill", "skill")
        tap.ok(status == 0, "skill: approving helps", text)
        s.write("slip.yaml", "name: x\nfs: {read: [/usr/**]}\n")
        status, text = s.corral("policy", "show", "--from", "skill", "slip.yaml")
        tap.ok(status != 0 and "permissions:" in text, "skill: grants at the top", text)
        s.write("slip.yaml", "name: x\ndescription: x\npermissions:\n  fs: {read: [/usr/**]}\n")
        status, text = s.corral("policy", "show", "--from", "skill", "slip.yaml")
        tap.ok(status == 0, "skill: below permissions: helps", text)


def lint(tap):
    """What lint suggests takes its warning away."""
    with Scene() as s:
        base = f"fs: {{read: [{SYSTEM}], write: [$WORK_DIR/**]}}\nexec: [sh, touch]\n"
        for code, text in (("mode-monitor", base + "mode: monitor\n"), ("default-allow", base + "default: allow\n"),
                           ("no-limits", base), ("deferred-execution", base)):
            s.write("p.yaml", text)
            status, said = s.corral("policy", "lint", "p.yaml")
            rows = said.splitlines()
            at = next((i for i, row in enumerate(rows) if f"({code})" in row), None)
            hint = rows[at + 1] if at is not None else ""
            found = re.search(r"`(([a-z]+): .*?)`", hint)
            tap.ok(found is not None, f"lint: {code}: a line", said)
            if not found:
                continue
            kept = [row for row in text.splitlines() if not row.startswith(found[2] + ":")]
            s.write("p.yaml", "\n".join([*kept, found[1]]) + "\n")
            status, said = s.corral("policy", "lint", "p.yaml")
            tap.ok(f"({code})" not in said and status in (0, 1), f"lint: {code}: {found[2]}: it helps", said)
        # `run` cannot hold such patterns; what is named for it can.
        os.makedirs(s.work + "/.git/hooks")
        more = ["--profile", "workspace"]
        tap.ok(" ".join(more) in hint, "lint: deferred-execution: an option for run", hint)
        status, said = s.corral("run", *more, "--", "touch", "x", ".git/hooks/x")
        tap.ok(status != 0 and os.path.exists(s.work + "/x") and not os.path.exists(s.work + "/.git/hooks/x"),
               "lint: deferred-execution: which protects them", said)


def environment(tap):
    """Limits of a built-in profile, which a message names."""
    with Scene() as s:
        status, text = s.corral("run", "--pids", "4", "--", "bash", "-c",
                                "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; kill $(jobs -p); exit 3")
        tap.ok(status != 0, "a limit of processes", text)
        status, text = s.corral("run", "--limits", "none", "--", "bash", "-c",
                                "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; kill $(jobs -p); exit 0")
        tap.ok(status == 0, "--limits none", text)


def failed(tap):
    """What a command that failed most likely lacked, without --explain."""
    with Scene() as s:
        s.write("tool", '#!/bin/sh\n[ "$TOOL_API_KEY" = x ] || exit 4\n', 0o755)
        s.env.update(TOOL_API_KEY="x", OTHER_API_KEY="y", TOOL_API_KEY_2="z")
        for name, command in (("a program", ["./tool"]), ("of a shell", ["sh", "-c", "A=1 ./tool; exit $?"])):
            status, text = s.corral("run", "--", *command)
            tap.ok(status == 4 and options_in(text) == ["--env", "TOOL_API_KEY"],
                   f"a variable that was withheld: {name}", text)
            status, text = s.corral("run", *options_in(text), "--", *command)
            tap.ok((status, text) == (0, ""), f"a variable that was withheld: {name}: what is suggested helps", text)
        done = json.loads(s.corral("run", "--json", "--", "true")[1])
        tap.ok({"TOOL_API_KEY", "OTHER_API_KEY"} <= set(done["withheld"]) and "HOME" not in done["withheld"],
               "--json names all that were withheld, also of one that succeeds", done)
        commit = ["sh", "-c", "git init -q x && cd x && git commit -q --allow-empty -m first"]
        s.write(s.home + "/.gitconfig", "[user]\nname = A\nemail = a@example.com\n[init]\ndefaultBranch = main\n")
        status, text = s.corral("run", "--", *commit)
        ours = "".join(l + "\n" for l in text.splitlines() if l.startswith("corral: git "))
        tap.ok(status == 128 and options_in(ours) == ["--read", s.home + "/.gitconfig"] and "network" not in text,
               "git without its settings: that is said, and nothing of a host", text)
        subprocess.run(["rm", "-rf", s.work + "/x"], check=True)
        status, text = s.corral("run", *options_in(ours), "--", *commit)
        tap.ok(status == 0, "git without its settings: what is suggested helps", text)
        for program, want in (("strace", "ptrace"), ("unshare", "outside of Corral"), ("bwrap", "its own sandbox")):
            s.write(program, "#!/bin/sh\nexit 1\n", 0o755)
            status, text = s.corral("run", "--", f"./{program}")
            tap.ok(status == 1 and want in text, f"{program}: the cause", text)
        # The real ones where they are installed; rustup's proxies fail as this does without their toolchains.
        if os.access("/usr/bin/gdb", os.X_OK):
            status, text = s.corral("run", "--", "gdb", "-nx", "-q", "-batch", "-ex", "run", "/bin/true")
            tap.ok(status != 0 and "corral: gdb: a command may not trace" in text, "gdb itself: the cause", text)
        if os.access("/usr/bin/gpg", os.X_OK):
            os.makedirs(s.home + "/.gnupg", 0o700, exist_ok=True)
            status, text = s.corral("run", "--", "gpg", "--batch", "--sign", "tool")
            tap.ok(status == 2 and "corral: gpg: secret keys are kept from every command" in text and not options_in(
                "".join(l for l in text.splitlines() if "gnupg" in l)), "gpg itself: the cause, and no grant of keys is advised", text)
        os.makedirs(s.home + "/.rustup/toolchains/stable/bin")
        s.write("rustup", "#!/bin/sh\ntest -d ~/.rustup/toolchains/stable && exit 0\necho 'error: rustup could not choose a version of cargo to run' >&2\n"
                "exit 1\n", 0o755)
        status, text = s.corral("run", "--", "./rustup")
        ours = "".join(l + "\n" for l in text.splitlines() if l.startswith("corral: "))
        tap.ok(status == 1 and options_in(ours) == ["--read", s.home + "/.rustup"], "rustup: what is missing", text)
        status, text = s.corral("run", *options_in(ours), "--", "./rustup")
        tap.ok(status == 0, "rustup: what is suggested helps", text)
        stored = s.write(s.home + "/.config/corral/policy.d/mine.yaml",
                         'fs: {read: ["/**"], write: ["/**"]}\nexec: ["*"]\nnetwork: {deny: [evil.example.com]}\n')
        status, text = s.corral("run", "--", "getent", "ahosts", "evil.example.com")
        tap.ok("--net" not in text and f"remove or narrow {stored}:3" in text, "a host that a stored policy forbids: that policy", text)
        status, text = s.corral("run", "--", "./tool")
        tap.ok(f'add env: ["TOOL_API_KEY"] to {stored}, and use --env TOOL_API_KEY' in text, "a variable, the same", text)
        s.write(stored, 'fs: {read: ["/**"], write: ["/**"]}\nexec: ["*"]\nenv: ["TOOL_API_KEY"]\n')
        status, text = s.corral("run", "--env", "TOOL_API_KEY", "--", "./tool")
        tap.ok((status, text) == (0, ""), "a variable: what is suggested helps", text)
        os.unlink(stored)
        status, text = s.corral("run", "--", "grep", "strace", "tool")
        tap.ok((status, text) == (1, ""), "a word that is no program is none", text)
        for words in (["cd", "/"], ["ls | wc -l"], ["ls|wc"]):
            status, text = s.corral("run", "--", *words)
            line = re.search(r"for a shell: corral (.*)$", text, re.M)
            tap.ok(status == 127 and line, f"{words[0]}: for a shell", text)
            status, text = s.corral(*shlex.split(line[1]))
            tap.ok(status == 0, f"{words[0]}: what is suggested helps", text)


# Texts in the source that suggest something, by what they suggest; and the case that applies it, or a
# file with a test that does, and a text in it. The first that fits counts.
def logged(tap):
    """What `corral audit list` prints below a denied record, and what the dashboard's *Allow…* shows for the same."""
    shown = ("import { readFileSync } from 'node:fs'; const { load } = await import(process.argv[1]); const { offerOf, optionOf } = await load('words.js');"
             "for (const line of readFileSync(0, 'utf8').split('\\n').filter(Boolean)) { const offer = offerOf(JSON.parse(line)); if (offer) console.log(optionOf(offer.action, offer.target)); }")
    page = os.path.join(HERE, "../../src/daemon/dashboard/test/load.mjs")
    with Scene() as s:
        for n, (name, path) in enumerate((("a file", "plain"), ("a file with a blank", "a b"), ("a file with a quote", "it's"), ("a folder", "folder/in"))):
            s.write(f"{s.root}/data/{path}")
            log, target = f"{s.root}/data/log{n}", f"{s.root}/data/{path}"
            status, text = s.corral("run", "--explain", "--audit", log, "--", "cat", target)
            _, listed = s.corral("audit", "list", "--decision", "denied", log)
            more = options_in(listed.partition("to allow it: corral run ")[2])
            tap.ok(status != 0 and more == ["--read", target], f"the log: {name}: an option", text + listed)
            status, text = s.corral("run", *more, "--", "cat", target)
            tap.ok(status == 0 and text == "x\n", f"the log: {name}: {' '.join(more)}: it helps", text)
            if not shutil.which("node") or not os.path.exists(page):
                tap.skip(f"the dashboard: {name}", "third-party cases not present: node, or the source")
                continue
            _, records = s.corral("audit", "list", "--json", log)
            done = subprocess.run(["node", "--input-type=module", "-e", shown, "file://" + os.path.realpath(page)], input=records, capture_output=True, text=True, check=False, timeout=100)
            tap.ok(options_in(done.stdout) == more, f"the dashboard: {name}: the same", done.stdout + done.stderr)


SITES = {
    "and give --client-id ID": 'test-link.py:"--client-id", "me:1"', "corral link auth %s": 'test-link.py:"link", "auth"', "corral link refresh %s": 'test-link.py:link("refresh"',
    "`corral integrations list` has all": 'test-link.py:"integrations", "list"', "corral tool list %s": 'test-link.py:place.call("tool", "list"', "--token-file": "test-mcp-http.py:--token-file", "run it by `corral run`, or remove": "test-secrets-policy.py:secrets: {",
    "lend that: --secret NAME": 'test-mcp-remote.py:"--secret"', "lend it: --secret NAME": 'test-mcp-remote.py:"--secret"',
    "without --project it is": 'test-mcp-install.py:"without --project it is done"', "if it is meant, name it: --file": "test-mcp-install.py:--file writes through it",
    "`corral mcp serve --help` lists": 'test-mcp-install.py:"mcp", "serve", "--help"', "corral mcp uninstall %s": "test-mcp-install.py:and install it again",
    "--project or --file names": "test-mcp-install.py:--file names the one", "another name with --name": 'test-mcp-install.py:"another name"',
    "put the server at the end, such as": "test-mcp-wrap.py:put the server at the end",
    "give the `command` of a server on standard input": "test-mcp-gateway.py:give the `command`",
    "--ssh-agent plain:%s": "test-ssh-agent.py:plain_in(", "such as --ssh-agent git@github.com": "test-ssh-agent.py:--ssh-agent git@github.com", "`corral run --secret NAME` uses": 'test-run-secret.py:"--secret", "TOKEN"',
    "use `corral policy remove %s`": 'test-stored.py:h.corral("policy", "remove", "team")',
    "to allow it: corral run": logged, "add fs: {": explained_lines, "add exec: [": explained_lines,
    "such as --output policy.yaml": 'test-learn.py:"--output", "policy.yaml"', "`corral project show` in its folder": "test-project.py:which a message names, shows it",
    "dangerously_allow: [": baseline, "granted: add --read ": baseline, "add --read %s": refused,
    "--no-sandbox": own_sandbox, "--sandbox danger": own_sandbox, "network: {allow: [": network,
    "(`find %s%s` lists them)": "test-run-shield.sh:find ",
    "add --yes to run it this once": "test-run-notes.sh:--yes",
    "if you mean it: ": "test-run-notes.sh:--dangerously-allow",
    " is another path: add --read ": "test-run-notes.sh:is another path", "corral run -- ls": "test-run-notes.sh:corral run -- ls",
    "network: {private: [": "../net/attacks/names.py:--net-private", "network: {inspect: [": "test-inspect.py:the suggested line",
    "--explain": network, "add %s": explained_lines, "Or for this once": refused, "--set %s=DIR": refused,
    "--work-dir DIR": refused, "--policy FILE": refused, "--deny": refused, "%s --help": refused,
    "for a shell: corral": failed, "did you mean": refused, "corral doctor": refused, "--limits none": environment, "| corral run": refused,
    "corral approve %s": skill, "corral approve --remove": 'test-skills.py:"approve", "--remove"', "corral inspect %s": "test-inspect-approve.sh:corral inspect",
    "entry: FILE": "test-run-skill.sh:entry", "runtime: bash": skill, "permissions:`": skill,
    "`%s: [": refused, "mode: enforce": lint, "default: deny": lint, "limits: {%s}": lint,
    "--profile workspace": lint, "add env: [": "../../src/host/test/test-environment.c:add env",
    "--ask-denied": "test-ask.py:--ask-denied",
    "--key": "test-audit-verify.sh:--key", "corral audit verify": "test-audit-verify.sh:audit verify",
    "--output": "test-audit.sh:--output", "--strict": "test-run-shield.sh:--strict", "corral run --skill": skill,
    "allowed_hosts: [": "../../src/policy/format/test/test-nanocrab.c:allowed_hosts",
    "network: {listen: [": "test-import.py:suggested", "fs: {write: [$WORK_DIR/.git/config]}": "test-import.py:suggested",
    "name it: --format codex": 'test-import.py:"--format", "codex"', "further roots: add fs": "test-import.py:test_suggested_roots",
    "add it below `commands`": "test-project.py:what is suggested helps", "the program is: corral run -- test": "test-project.py:the program is: corral ",
    "`--profile offline` is one": 'test-project.py:"--profile", "offline", "c"',
    "--no-project": 'test-project.py:"--no-project"', "write `preset: ": "test-project.py:preset: claude", "write `with: [": "test-project.py:with: [npm]",
    "corral project revoke %s": 'test-project.py:"project", "revoke"', "add `github` to `with`": "test-project.py:with: [github]",
    "add --force to replace": 'test-project.py:"--force"', "--print, then add --yes": 'test-project.py:"--print"',
    "`corral init` proposes": 'test-project.py:"init", "--yes"', "corral project show %s": 'test-project.py:"project", "approve", "--yes"',
    "without --undo": "test-undo.py:without --undo", "corral undo --list": 'test-undo.py:"--list"', "corral run --undo keeps": "test-undo.py:--undo",
    "corral undo --forget --yes %u": "test-undo.py:split(\"corral undo \")", "--yes --rest": 'test-undo.py:"--yes", "--rest"', "corral undo --yes": 'test-undo.py:undo("--yes")', "--undo-limit SIZE": 'test-undo.py:"--undo-limit", "3M"',
    "below XDG_STATE_HOME, must be yours": "test-undo.py:must be yours",
    "git push:*": "../../src/policy/format/test/test-rules.c:git push",
    "fuser %s.lock": "../../src/audit/store/test/test-store.c:lock",
    "`extends`": "test-extends.sh:extends", "`workspace`": "test-extends.sh:extends", "corral policy show": "test-extends.sh:policy show",
    "--set HOME": refused, "under `permissions`": skill,
    "add --seed-state": "test-presets.sh:--seed-state", "--tier 3": "test-run-tier3.py:--tier", "--extra DIR": "test-run-policy.sh:--extra",
    "corral skills list": 'test-skills.py:"skills", "list"', "corral skills show": 'test-json-verbs.py:"skills", "show"',
    "see `corral service list`": 'test-services.py:service("list"', "`corrald --help`": 'test-daemon.py:[CORRALD, "--help"]',
    "`corral status`": 'test-daemon.py:corral("status")', "--port 0": 'test-daemon.py:"--port", "0"', "`kill -CONT PID`": "test-daemon-port.py:signal.SIGCONT", "`kill -CONT %ld`": "test-daemon-port.py:signal.SIGCONT",
    "try again later; `kill %ld`": "test-daemon-port.py:the daemon goes on",
    "systemctl --user restart corrald": "test-versions.py:a daemon of this version",
    "run `corrald` to see": "test-dashboard.py:[CORRALD]", "start it with `corral dashboard`": 'test-dashboard.py:corral("dashboard"', "`corrald` in a terminal": "daemon_tap.py:Popen([CORRALD",
    "`systemctl --user start corrald`": "test-daemon-manager.py:share/systemd/user", "`tools/setup wasm`": "../../Makefile:tools/setup wasm", "`handle` returns JSON": "test-wasm.sh:success",
    "start `corral run` on a terminal": "test-services.py:def on_terminal", "clipboard: {program: terminal}": "test-services.py:program: terminal",
    "clipboard: {programs: FOLDER}": "test-lookups.py:clipboard: {{programs: ",
    "`open_with` of `browser`": "test-services.py:open_with", "`tls: starttls`": "../mail/test-mail.py:starttls",
    "`authorities` of email": "../mail/test-mail.py:authorities",
    "corral policy rules": 'test-stored.py:corral("policy", "rules")',
    "`corral policy list`": 'test-stored.py:corral("policy", "list"', "`corral policy history %s`": 'test-stored.py:"policy", "history"',
    "make one: corral vault init": 'test-vault.py:corral("init", passphrase', "--restored": 'test-vault.py:"unlock", "--restored"',
    "corral vault unlock": 'test-vault.py:corral("unlock", passphrase', "--passphrase-file FILE": 'test-vault.py:"--passphrase-file", passphrase',
    "answer y, or give --yes": 'test-vault.py:"export", "--yes"', "the file before it is `%s`": "test-vault.py:which a message names, helps",
    "name a program of the system by its path": "test-secret-programs.py:place.vault(\"grant\", \"TOKEN\", server.place, \"--program\", CURL)",
    "--replace gives it": 'test-vault.py:corral("import", "--replace"', "corral vault remove %s removes": 'test-vault.py:corral("remove", "SOURCED")',
    "corral vault list": 'test-vault.py:corral("list"', "rotate --passphrase": 'test-vault.py:"rotate", "--passphrase"', "corral vault rotate %s --from": 'test-vault.py:corral("rotate", "MOVES", "--from"', "corral vault rotate %s": 'test-vault.py:corral("rotate", "TOKEN"',
    "keep the value by `corral vault set` instead": 'test-masked-files.py:"set", "KEPT"', "corral vault set %s": 'test-run-secret.py:place.vault("set", "TOKEN"', "corral run --secret %s -- CMD": 'test-run-secret.py:"--secret", "TOKEN"',
    "secrets: {%.*s: ": 'test-secrets-policy.py:secrets: {', "is in `secrets`: ": 'test-secrets-policy.py:secrets: {',
    "corral vault revoke %s %s": 'test-postgres.py:place.vault("revoke", "DB_PASSWORD", server.place)',
    "name one: --secret": 'test-postgres.py:"--secret", f"DB_PASSWORD={server.place}"',
    "corral vault grant %s %s": 'test-vault.py:corral("grant", "TOKEN"', "`ulimit -l`": "test-vault.py:ulimit -l",
    "add secrets: {%s: {hosts": 'test-login.py:add secrets: {GH: {hosts', "corral run --login NAME=HOST:PORT/PATH": 'test-login.py:"--login", provider.login',
    "--login NAME=HOST:PORT/PATH,HOST:PORT names": 'test-login.py:login=f"{provider.login},{api.place}"',
    "unix:/path": "../../src/jail/seatbelt/test/test-seatbelt.c:EOPNOTSUPP",
}
CONCRETE = re.compile(r"(?<![\w-])--[a-z]|`[^`]+`|(?<![a-z])[a-z_]+: ?[\[{]|\bcorral [a-z]+ ")
SUGGESTS = re.compile(r"\badd (--|[a-z_]+: |%s)|\b(write|add|use) `|--no-sandbox|--sandbox|, --limits none|Or for this once|to allow it: corral")
STRING = r'"(?:[^"\\\n]|\\.)*"'


def sites():
    """Texts in the source that name an option or a line to add: (place, text)."""
    for path in sorted(glob.glob(os.path.join(HERE, "../../src/**/*.c"), recursive=True)):
        if "/test/" in path or "/src/broker/" in path:
            continue
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), file.read(), flags=re.S)
        for found in re.finditer(STRING + r"(?:\s*" + STRING + ")*", text):
            words = "".join(part[1:-1] for part in re.findall(STRING, found[0]))
            before = text[max(0, found.start() - 200):found.start()]
            call = before[max(before.rfind(";"), before.rfind("{")) + 1:]
            if ("error_hint(" in call and CONCRETE.search(words)) or SUGGESTS.search(words):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{os.path.relpath(path, HERE + '/../..')}:{line}", words


def guard(tap, done):
    """No text suggests something that no test applies."""
    number = 0
    if not os.path.isdir(HERE + "/../../src"):
        tap.skip("texts in the source that suggest something", "the source is not beside the tests")
        return
    for place, words in sites():
        number += 1
        by = next((case for part, case in SITES.items() if part in words), None)
        good = by in done
        if isinstance(by, str):
            file, _, part = by.partition(":")
            with open(os.path.join(HERE, file), encoding="utf-8") as text:
                good = part in text.read()
        if not good:
            tap.ok(False, f"{place} suggests something, and no case applies it: {words}")
    tap.ok(number > 40, f"{number} texts suggest something, and each is applied")


def main():
    suggestions.needs_sandbox()
    tap, done = Tap(), []
    for case in (baseline, explained_options, repository, explained_lines, own_sandbox, network, refused, skill,
                 lint, environment, failed, logged):
        case(tap)
        done.append(case)
    guard(tap, done)
    tap.end()


main()
