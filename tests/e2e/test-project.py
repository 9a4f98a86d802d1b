#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corral.yaml of a project: it counts only where a person approved just its bytes at just its path; and all the ways
in which a command, a clone or another user could make it count otherwise."""
import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 120
number = failures = 0
scratch = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="corral-project-")))
home = scratch / "home"
env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def corral(*words, cwd, more=None):
    return subprocess.run([CORRAL, *map(str, words)], cwd=cwd, env=env | (more or {}), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=SECONDS, check=False)


def project(name, text, approve=True):
    folder = home / name
    folder.mkdir(parents=True)
    (folder / "corral.yaml").write_text(text)
    if approve:
        got = corral("project", "approve", "--yes", cwd=folder)
        if got.returncode:
            ok(False, f"{name} is approved", got.stderr)
    return folder


def at_terminal(words, cwd, answer):
    """Runs corral at a terminal of its own, and answers the first question."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([CORRAL, *words], cwd=cwd, env=env | {"TERM": "xterm"}, stdin=theirs, stdout=theirs,
                             stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen, end = b"", time.monotonic() + SECONDS
    answered = False
    while time.monotonic() < end:
        if not select.select([ours], [], [], 1)[0]:
            continue
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
        if not answered and b"[y/N] " in seen:
            answered = True
            os.write(ours, answer)
    status = child.wait(timeout=SECONDS)
    os.close(ours)
    return status, seen.decode(errors="replace")


PLAIN = "commands:\n  hello: echo hello\n"


def test_use():
    folder = project("use", "version: 1\nenv: [GREETING=there]\nfs:\n  deny: [\"$WORK_DIR/secret/**\"]\n"
                     "limits: {timeout: 1m}\ncommands:\n  hello: [sh, -c, 'echo \"$GREETING\" \"$PWD\" \"$@\"', -]\n"
                     "  test: echo the project\n")
    (folder / "sub").mkdir()
    (folder / "secret").mkdir()
    (folder / "secret/x").write_text("x")
    got = corral("run", "hello", cwd=folder)
    ok(got.stdout == f"there {folder}\n", "a named command, with the project's grants", got)
    ok(got.stderr.startswith("corral: hello: sh -c "), "says what it runs", got.stderr)
    got = corral("run", "hello", "--", "-a", "b c", cwd=folder / "sub")
    ok(got.stdout == f"there {folder} -a b c\n", "from below, in the project's folder, with arguments", got)
    got = corral("run", "sh", "-c", 'echo "$GREETING" "$PWD"; echo y >../new', cwd=folder / "sub")
    ok(got.stdout == f"there {folder}/sub\n" and (folder / "new").exists(),
       "another command: where the user is, with the project as its working folder", got)
    got = corral("run", "cat", "secret/x", cwd=folder)
    ok(got.returncode and "x" not in got.stdout, "the project's denials hold", got)
    got = corral("run", "test", cwd=folder)
    ok(got.stdout == "the project\n", "a name wins over a program of the same name", got)
    got = corral("run", "--", "test", "-d", "sub", cwd=folder)
    ok(got.returncode == 0 and got.stdout == "" and got.stderr == "", "behind -- it is the program", got)
    got = corral("run", "--read", "--", "test", cwd=folder)
    ok(got.stdout == "the project\n", "a -- that is an option's value is none", got)
    got = corral("run", "--json", "hello", cwd=folder)
    ok(json.loads(got.stdout)["stdout"] == f"there {folder}\n" and got.stderr == "", "--json", got)
    got = corral("run", "--no-project", "sh", "-c", 'echo "[$GREETING]"', cwd=folder)
    ok(got.stdout == "[]\n", "--no-project", got)
    (scratch / "policy.yaml").write_text('extends: workspace\n')
    got = corral("run", "--policy", scratch / "policy.yaml", "sh", "-c", 'echo "[$GREETING]"', cwd=folder)
    ok(got.stdout == "[]\n", "a policy that the user names takes its place", got)
    for words in (["policy", "lint", "corral.yaml"], ["policy", "show", "corral.yaml"], ["run", "--policy", "corral.yaml", "true"]):
        got = corral(*words, cwd=folder)
        ok(got.returncode in (2, 125) and "this is the file of a project" in got.stderr and "`corral project show`" in got.stderr,
           f"{' '.join(words)}: it is no policy", got)
    got = corral("project", "show", cwd=folder)
    ok(got.returncode == 0 and "GREETING" in got.stdout, "corral project show, which a message names, shows it", got)
    got = corral("shell", "--", "-c", 'echo "[$GREETING]"', cwd=folder)
    ok(got.stdout == "[there]\n", "corral shell has it, too", got)


def test_presets():
    folder = project("readonly", "preset: readonly\ncommands: {w: touch new}\n")
    got = corral("run", "w", cwd=folder)
    ok(got.returncode and not (folder / "new").exists(), "preset: readonly", got)
    got = corral("run", "--profile", "workspace", "w", cwd=folder)
    ok(got.returncode == 0 and (folder / "new").exists(), "--profile takes its place", got)
    folder = project("packs", "with: [npm]\nnetwork: {allow: ['example.com:443']}\n"
                     "commands: {c: [sh, -c, 'echo \"$npm_config_cache $npm_config_offline\"']}\n")
    got = corral("run", "c", cwd=folder)
    ok("/.cache/corral-packs/packs-" in got.stdout and "true" not in got.stdout, "with: [npm]", got)
    got = corral("run", "--profile", "offline", "c", cwd=folder)
    ok(got.stdout.endswith(" true\n"), "--profile offline: no host, and the packs know", got)
    ok(corral("run", "true", cwd=project("hub", "with: [github]\n")).returncode == 0, "a pack that init names")
    for name, text, says in [("badpack", "with: [npn]\n", "did you mean npm?"), ("agentpack", "with: [claude]\n", "preset: claude"),
                             ("packpreset", "preset: npm\n", "with: [npm]"), ("unknown", "preset: workspcae\n", "workspace"),
                             ("nonet", "{preset: offline, network: {allow: ['example.com:443']}}\n", "has no network"),
                             ("noport", "{preset: offline, network: {listen: [8080]}}\n", "has no network"),
                             ("norule", "{preset: offline, rules: [{id: n, action: allow, operations: [net.connect], patterns: ['example.com:443']}]}\n",
                              "has no network")]:
        folder = project(name, text, approve=False)
        for words, status in ((["run", "true"], 125), (["project", "show"], 2), (["project", "approve", "--yes"], 2)):
            got = corral(*words, cwd=folder)
            ok(got.returncode == status and says in got.stderr and "corral.yaml:1" in got.stderr and got.stdout == "",
               f"{text.strip()} is refused by {words[0]} {words[1]}", got)
    folder = project("agent", "preset: claude\n")
    got = corral("run", "sh", "-c", 'echo "[$CLAUDE_CONFIG_DIR]"', cwd=folder)
    ok(got.stdout == "[]\n", "an agent's state goes to its own program alone", got)


def test_usual():
    """A usual name of a command, where the project does not have it, is not the program of that name in silence."""
    folder = home / "usual"
    folder.mkdir()
    for word in ("test", "lint"):
        got = corral("run", word, cwd=folder)
        ok(got.returncode == 127 and f"there is no corral.yaml in {folder}" in got.stderr and "`corral init`" in got.stderr,
           f"corral run {word} without a project says so", got)
    program = corral("run", "test", cwd=folder).stderr.split("the program is: corral ")[1].split()
    for words, status in ((program, 1), (["run", "test", "-d", "."], 0), (["run", "--no-project", "test"], 1)):
        got = corral(*words, cwd=folder)
        ok(got.returncode == status and got.stderr == "", f"corral {' '.join(words)} is the program", got)
    (folder / "bin").mkdir()
    (folder / "bin/lint").write_text("#!/bin/sh\necho own\n")
    (folder / "bin/lint").chmod(0o755)
    got = corral("run", "lint", cwd=folder, more={"PATH": f"{folder}/bin:{env['PATH']}"})
    ok(got.stdout == "own\n", "a program of the user's own of such a name runs", got)
    folder = project("based", "commands:\n  test: [echo, of the project]\n")
    (folder / "p.yaml").write_text("extends: workspace\n")
    (home / "data-of-agent").mkdir()
    for words in (["--policy", "p.yaml"], ["--mode", "sandbox", "--data-dir", str(home / "data-of-agent")]):
        got = corral("run", *words, "test", cwd=folder)
        ok(got.returncode == 127 and f"{folder}/corral.yaml is not used with {words[0]}, so `test` is no command" in got.stderr, f"nor is it with {words[0]}", got)
        got = corral("run", *words, "--", "test", cwd=folder)
        ok(got.returncode == 1 and "is not used" not in got.stderr, "behind -- it is the program", got)
    ok(corral("run", "--policy", "p.yaml", "test", "-d", ".", cwd=folder).returncode == 0, "and with arguments, too")
    ok(corral("run", "test", cwd=folder).stdout == "of the project\n", "without --policy it is the project's")
    folder = project("others", PLAIN)
    got = corral("run", "test", cwd=folder)
    ok(got.returncode == 127 and f"{folder}/corral.yaml has no command `test`" in got.stderr, "a project without it", got)
    (folder / "corral.yaml").write_text(PLAIN + "  test: echo tested\n")
    corral("project", "approve", "--yes", cwd=folder)
    got = corral("run", "test", cwd=folder)
    ok(got.stdout == "tested\n", "a project without it: what is suggested helps", got)


def test_denies_itself():
    folder = project("gone", "env: [A]\nfs:\n  deny:\n    - '$WORK_DIR/**'\n")
    got = corral("run", "pwd", cwd=folder)
    ok(got.returncode == 126 and f"{folder}/corral.yaml:4:7: this denies the folder of the project" in got.stderr and got.stdout == "",
       "a line that denies the project's own folder is named", got)
    (folder / "corral.yaml").write_text("fs: {deny: ['$WORK_DIR/secret/**']}\n")
    (folder / "secret").mkdir()
    corral("project", "approve", "--yes", cwd=folder)
    ok(corral("run", "pwd", cwd=folder).stdout == f"{folder}\n", "one that denies a folder of it is not")


def test_layers():
    folder = project("layers", "fs: {write: ['~/extra/**']}\nnetwork: {allow: ['example.com:443']}\n")
    (home / "extra").mkdir()
    config = home / ".config/corral"
    config.mkdir(parents=True)
    got = corral("run", "touch", home / "extra/one", cwd=folder)
    ok((home / "extra/one").exists(), "a grant of the project", got)
    (config / "policy.yaml").write_text("fs:\n  read: ['/**']\n  write: ['/tmp/**', '$WORK_DIR/**', '/dev/null']\nenv: ['*']\n")
    (config / "policy.yaml").write_text("fs:\n  read: ['/**']\n  write: ['$WORK_DIR/**']\nenv: ['*']\n")
    got = corral("run", "touch", home / "extra/two", cwd=folder)
    ok(got.returncode and not (home / "extra/two").exists(), "it never widens the user's stored policy", got)
    (config / "policy.yaml").unlink()
    (scratch / "small.yaml").write_text("network: {allow: ['example.com:443']}\n")
    got = corral("policy", "save", "small", scratch / "small.yaml", cwd=folder)
    ok(got.returncode == 0 and "a policy here limits every run" in got.stderr and "small stops every run" in got.stderr,
       "a stored policy that stops every run says so when it is saved", got)
    (scratch / "large.yaml").write_text("fs: {read: ['/**'], write: ['$WORK_DIR/**']}\n")
    got = corral("policy", "save", "small", scratch / "large.yaml", cwd=folder)
    ok(got.returncode == 0 and "a policy here limits every run" in got.stderr and "stops every run:" not in got.stderr,
       "one that does not says what it is", got)
    shutil.rmtree(home / ".config")


def test_approval():
    folder = project("new", PLAIN, approve=False)
    got = corral("run", "hello", cwd=folder)
    ok(got.returncode == 126 and "corral project approve " in got.stderr and got.stdout == "",
       "a fresh file stops the run, with the command that approves it", got)
    got = corral("run", "--json", "true", cwd=folder)
    ok(got.returncode == 126 and "never approved" in json.loads(got.stdout)["error"]["text"], "--json says why", got)
    got = corral("project", "approve", cwd=folder)
    ok(got.returncode == 2 and "without a terminal" in got.stderr, "without a terminal nothing is approved", got)
    got = corral("project", "show", cwd=folder)
    ok(got.returncode == 1 and "it was never approved" in got.stdout and "hello: echo hello" in got.stdout, "show", got)
    ok(corral("project", "approve", "--yes", cwd=folder).returncode == 0, "approve --yes")
    ok(corral("run", "hello", cwd=folder).stdout == "hello\n", "and it runs")
    (folder / "corral.yaml").write_text(PLAIN + "fs: {read: ['/srv/**']}\n")
    got = corral("run", "hello", cwd=folder)
    ok(got.returncode == 126 and "has changed since" in got.stderr, "a change ends the approval", got)
    got = corral("project", "diff", cwd=folder)
    ok(got.returncode == 1 and "  + fs: {read: ['/srv/**']}\n" in got.stdout,
       "the difference is shown", got)
    (folder / "corral.yaml").write_text(PLAIN + "# a \u202egrant\u2066\n")
    got = corral("project", "diff", cwd=folder)
    ok("\u202e" not in got.stdout and "\u2066" not in got.stdout and "\\x" in got.stdout,
       "what deceives in it is made visible", got)
    (folder / "corral.yaml").write_text(PLAIN)
    ok(corral("run", "hello", cwd=folder).returncode == 0, "as it was approved, it counts again")
    got = corral("project", "revoke", cwd=folder)
    ok(got.returncode == 0 and corral("run", "true", cwd=folder).returncode == 126, "revoke", got)
    got = corral("project", "show", "--json", cwd=folder)
    ok(json.loads(got.stdout)["commands"] == {"hello": ["echo", "hello"]} and not json.loads(got.stdout)["approved"],
       "show --json", got)


def test_terminal():
    folder = project("asks", PLAIN, approve=False)
    status, seen = at_terminal(["run", "hello"], folder, b"n\n")
    ok(status == 126 and "hello: echo hello" in seen, "at a terminal it is shown, and no means no", seen)
    status, seen = at_terminal(["run", "hello"], folder, b"y\n")
    ok(status == 0 and "hello\r\n" in seen, "yes approves it, and it runs", seen)
    (folder / "corral.yaml").write_text(PLAIN + "env: [EVIL]\n")
    status, seen = at_terminal(["run", "hello"], folder, b"\n")
    ok(status == 126 and "+ env: [EVIL]" in seen, "a change is shown as such", seen)


def test_inside():
    folder = project("inside", PLAIN)
    (folder / "sub").mkdir()
    before = (folder / "corral.yaml").read_bytes()
    script = ("echo 'env: [X]' >>corral.yaml; echo x >other; mv other corral.yaml; rm -f corral.yaml; ln corral.yaml second; "
              "ln -sf /etc/passwd corral.yaml; chmod 777 corral.yaml; mv ../inside ../elsewhere; true")
    for options in ([], ["--write", folder], ["--write", folder / "corral.yaml"], ["--no-project"],
                    ["--mode", "sandbox", "--data-dir", folder]):
        got = corral("run", *options, "--", "sh", "-c", script, cwd=folder)
        ok((folder / "corral.yaml").read_bytes() == before and not (folder / "corral.yaml").is_symlink()
           and (folder / "corral.yaml").stat().st_mode & 0o777 in (0o644, 0o664) and (folder / "corral.yaml").stat().st_nlink == 1,
           f"a command does not change it: {' '.join(map(str, options[:1])) or 'by default'}", got)
    got = corral("run", "sh", "-c", "echo 'x' >>../corral.yaml; rm ../corral.yaml", cwd=folder / "sub")
    ok((folder / "corral.yaml").read_bytes() == before, "nor from a folder below", got)
    # One in a folder below, to shadow the project's at the next run there.
    got = corral("run", "sh", "-c", "printf 'env: [HOME]\\n' >sub/corral.yaml", cwd=folder)
    ok("sub/corral.yaml" in got.stderr, "a new one below is reported", got.stderr)
    got = corral("run", "true", cwd=folder / "sub")
    ok(got.returncode == 126 and "sub/corral.yaml is not approved" in got.stderr, "and stops the next run there", got)
    (folder / "sub/corral.yaml").write_bytes(before)
    got = corral("run", "true", cwd=folder / "sub")
    ok(got.returncode == 126, "the same bytes as the approved ones of another folder are not approved", got)


def test_places():
    # A link, at the end and on the way.
    folder = project("links", PLAIN)
    (scratch / "elsewhere.yaml").write_text(PLAIN)
    (folder / "corral.yaml").unlink()
    (folder / "corral.yaml").symlink_to(scratch / "elsewhere.yaml")
    got = corral("run", "true", cwd=folder)
    ok(got.returncode == 125 and "is a symbolic link" in got.stderr, "a corral.yaml that is a link is refused", got)
    (folder / "corral.yaml").unlink()
    os.link(scratch / "elsewhere.yaml", folder / "corral.yaml")
    got = corral("run", "true", cwd=folder)
    ok(got.returncode == 125 and "hard link" in got.stderr, "one with a second name is refused", got)
    real = project("real", PLAIN, approve=False)
    (home / "alias").symlink_to(real)
    got = corral("run", "true", cwd=home / "alias", more={"PWD": str(home / "alias")})
    ok(got.returncode != 0 and "real" in got.stderr, "by a link on the way it is the real folder's", got)
    # The home, and what is above it.
    (home / "corral.yaml").write_text("env: [X]\n")
    (scratch / "corral.yaml").write_text("env: [X]\n")
    (home / "none").mkdir()
    got = corral("run", "true", cwd=home / "none")
    ok(got.returncode == 0 and got.stderr == "", "neither the home nor what is above it is looked at", got)
    (scratch / "home-link").symlink_to(home)
    got = corral("run", "true", cwd=home / "none", more={"HOME": str(scratch / "home-link")})
    ok(got.returncode == 0 and "corral.yaml" not in got.stderr, "nor where the home's name is a link", got)
    # A folder that others can write: ignored, and said.
    (scratch / "corral.yaml").unlink()
    shared = scratch / "shared"
    (shared / "mine").mkdir(parents=True)
    (shared / "corral.yaml").write_text("commands: {true: echo planted}\n")
    shared.chmod(0o1777)
    got = corral("run", "true", cwd=shared / "mine")
    ok(got.returncode == 0 and got.stdout == "" and "is ignored: its folder can be changed by every user" in got.stderr,
       "planted in a shared folder above: ignored", got)
    got = corral("project", "approve", "--yes", cwd=shared / "mine")
    ok(got.returncode == 2, "and not to be approved", got)
    shared.chmod(0o755)
    ok(corral("project", "approve", "--yes", cwd=shared / "mine").returncode == 0, "in a folder of one's own it can be")
    shared.chmod(0o777)
    got = corral("run", "true", cwd=shared / "mine")
    ok(got.returncode == 125 and "was approved" in got.stderr, "one that was approved is not just left out", got)
    (shared / "mine").chmod(0o777)
    got = corral("run", "true", cwd=shared / "mine")
    ok(got.returncode == 125 and "was approved" in got.stderr, "nor where the folder below it can be changed by others", got)
    opened_by_a_command()
    if os.geteuid() == 0:
        other = project("other", PLAIN, approve=False)
        os.chown(other / "corral.yaml", 12345, 12345)
        got = corral("run", "true", cwd=other)
        ok(got.returncode == 125 and "belongs to another user" in got.stderr, "a file of another user is refused", got)
        os.chown(other, 12345, 12345)
        got = corral("run", "true", cwd=other)
        ok(got.returncode == 0 and "is ignored" in got.stderr, "in a folder of another user it is ignored", got)


def opened_by_a_command():
    """A command lets others change a folder, or plants a file in one: what the project's file takes away is not back."""
    folder = project("opened", "preset: readonly\ncommands: {w: touch new}\n")
    for name in ("sub", "planted"):
        (folder / name).mkdir()
        (folder / name).chmod(0o777)
    (folder / "planted" / "corral.yaml").write_text("{}\n")
    for name in ("sub", "planted"):
        got = corral("run", "touch", "made", cwd=folder / name)
        ok(got.returncode != 0 and not (folder / name / "made").exists(), f"in {name}, which others can change, the file above holds", got)
    ok("planted/corral.yaml is ignored" in got.stderr, "the one that was planted is ignored, with a note", got)


def test_bytes():
    folder = project("bytes", PLAIN)
    file = folder / "corral.yaml"
    file.unlink()
    os.mkfifo(file)
    got = corral("run", "true", cwd=folder)
    ok(got.returncode == 125 and "not a regular file" in got.stderr, "a pipe is not waited for", got)
    file.unlink()
    file.mkdir()
    got = corral("run", "true", cwd=folder)
    ok(got.returncode == 125 and "not a regular file" in got.stderr, "a folder of that name", got)
    file.rmdir()
    for name, text, says in [("huge", b"#" * (1 << 20), "larger than 64 KiB"), ("deep", b"a: " + b"[" * 3000, "corral.yaml:1"),
                             ("NUL", b"env: [a\0b]\n", "corral.yaml:1"), ("duplicate keys", b"env: [A]\nenv: [B]\n", "corral.yaml:2"),
                             ("an unknown key", b"comands: {}\n", "did you mean `commands`?"),
                             ("a newer version", b"version: 7\n", "version 7"), ("ask", b"ask: always\n", "corral.yaml:1")]:
        file.write_bytes(text)
        got = corral("run", "true", cwd=folder)
        ok(got.returncode == 125 and says in got.stderr, f"{name} is refused", got)
        got = corral("project", "approve", "--yes", cwd=folder)
        ok(got.returncode == 2, f"{name} cannot be approved", got)


def tools(name):
    """A PATH with a program that is installed beside the system's, such as a toolchain of rustup: a home has its own."""
    if shutil.which(name, path=env["PATH"]):
        return env["PATH"]
    found = shutil.which(name, path=os.pathsep.join((env["PATH"], os.environ.get("PATH", ""), "/usr/local/go/bin", os.path.expanduser("~/.cargo/bin"))))
    if not found:
        return None
    folder = os.path.dirname(found)
    if name != "cargo":
        return folder + ":" + env["PATH"]
    root = subprocess.run([os.path.join(folder, "rustc"), "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    own = home / ".rustup/toolchains/own"
    own.mkdir(parents=True)
    for part in ("bin", "lib"):
        if subprocess.run(["cp", "-al", f"{root}/{part}", f"{own}/{part}"], capture_output=True, check=False).returncode:
            shutil.copytree(f"{root}/{part}", f"{own}/{part}", symlinks=True, dirs_exist_ok=True)
    return f"{own}/bin:" + env["PATH"]


def test_init():
    rows = [
        ("c", {"Makefile": "test: app\n\t./app\napp: app.c\n\t$(CC) -o app app.c\n",
               "app.c": "#include <stdio.h>\nint main(void) { return puts(\"tests passed\") < 0; }\n"}, "make", "make test"),
        ("python", {"pyproject.toml": "[project]\nname = 'app'\n", "tests/test_app.py":
                    "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        print('tests passed')\n"},
         "python3", "python3 -m unittest discover -s tests"),
        ("node", {"package.json": '{"name": "app", "version": "1.0.0", "scripts": {"test": "node test.js"}}',
                  "test.js": "console.log('tests passed')\n"}, "npm", "npm test"),
        ("rust", {"Cargo.toml": "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
                  "src/lib.rs": "pub fn two() -> i32 { 2 }\n\n#[test]\nfn tests_passed() {\n    assert_eq!(two(), 2);\n}\n"}, "cargo", "cargo test"),
        ("go", {"go.mod": "module app\n\ngo 1.19\n", "app.go": "package app\n\nfunc Two() int { return 2 }\n",
                "app_test.go": "package app\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(\"not two\")\n\t}\n}\n"}, "go", "go test ./..."),
    ]
    says = {"rust": "tests_passed ... ok", "go": "ok  \tapp"}
    for name, files, program, command in rows:
        folder = home / f"init-{name}"
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        got = corral("init", "--print", cwd=folder)
        ok(f"\n  test: {command}\n" in got.stdout and not (folder / "corral.yaml").exists(), f"init --print, of {name}", got)
        got = corral("init", cwd=folder)
        ok(got.returncode == 2 and not (folder / "corral.yaml").exists(), f"init, of {name}: nothing without a yes", got)
        path = tools(program)
        if not path:
            ok(True, f"init, of {name} # SKIP third-party cases not present: {program}")
            continue
        passed = says.get(name, "tests passed")
        got = corral("init", "--yes", cwd=folder, more={"PATH": path})
        ok(got.returncode == 0 and passed in got.stdout and "proved: " in got.stdout and "denied" not in got.stderr,
           f"init --yes, of {name}, runs its tests", got)
        got = corral("run", "--profile", "offline", "test", cwd=folder, more={"PATH": path})
        ok(got.returncode == 0 and passed in got.stdout, f"corral run test, of {name}, offline", got)
    folder = home / "init-c"
    before = (folder / "corral.yaml").read_bytes()
    (folder / "corral.yaml").write_text("env: [MINE]\n")
    got = corral("init", "--yes", cwd=folder)
    ok(got.returncode == 2 and "is there already" in got.stderr and (folder / "corral.yaml").read_text() == "env: [MINE]\n",
       "init overwrites nothing", got)
    got = corral("init", "--yes", "--force", "--no-run", cwd=folder)
    ok(got.returncode == 0 and "- env: [MINE]" in got.stdout and (folder / "corral.yaml").read_bytes() == before,
       "init --force shows what goes", got)
    (folder / "corral.yaml").unlink()
    (folder / "corral.yaml").symlink_to(scratch / "planted.yaml")
    got = corral("init", "--yes", "--force", cwd=folder)
    ok(got.returncode == 2 and not (scratch / "planted.yaml").exists(), "init writes by no link", got)
    folder = home / "init-fails"
    folder.mkdir()
    (scratch / "need").write_text("needed")
    (folder / "Makefile").write_text(f"test:\n\tcat {scratch}/need\n")
    got = corral("init", "--yes", cwd=folder)
    ok(got.returncode == 1 and f'add fs: {{read: ["{scratch}/need"]}} to {folder}/corral.yaml' in got.stderr,
       "a command that fails says which line it lacks", got)
    ok("is above, add its lines" in got.stdout, "and init where it stands", got)
    got = json.loads(corral("init", "--yes", "--force", "--json", cwd=folder).stdout)
    ok(got["ran"] == {"test": 2} and not got["proved"] and got["written"], "init --json", got)
    folder = home / "init-foreign"
    folder.mkdir()
    os.mkfifo(folder / "package.json")
    (folder / "Makefile").write_bytes(b"x" * (2 << 20))
    (folder / "go.mod").symlink_to("/etc/passwd")
    (folder / "pyproject.toml").write_bytes(b"\xff\0pytest\x1b[2J: evil\n")
    got = corral("init", "--print", cwd=folder)
    ok(got.returncode == 0 and "evil" not in got.stdout and "go test" not in got.stdout and "pytest" in got.stdout,
       "nothing of the project's files is passed on", got)
    ok("package.json is not a regular file" in got.stderr, "a package.json that is no file is named", got)
    (folder / "package.json").unlink()
    (folder / "package.json").write_text('{"name": "app",\n}\n')
    got = corral("init", "--print", cwd=folder)
    ok(got.returncode == 0 and f"{folder}/package.json:2 is not valid JSON, and is ignored" in got.stderr, "nor is a broken one ignored in silence", got)
    folder = home / "init-build"
    folder.mkdir()
    (folder / "Makefile").write_text("all:\n\ttouch made\n")
    got = corral("init", "--yes", cwd=folder)
    ok(got.returncode == 0 and "\n    build: make\n" in got.stdout and "test: make" not in got.stdout and "proved: `corral run build`" in got.stdout
       and "no test was found" in got.stdout and (folder / "made").exists(), "a Makefile without tests is built, and that is no test", got)
    got = corral("init", "--yes", cwd=home)
    ok(got.returncode == 2 and "is no project" in got.stderr, "the home is no project", got)


def main():
    home.mkdir()
    for test in (test_use, test_presets, test_usual, test_denies_itself, test_layers, test_approval, test_terminal, test_inside, test_places, test_bytes, test_init):
        test()
    print(f"1..{number}")
    shutil.rmtree(scratch, ignore_errors=True)
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
