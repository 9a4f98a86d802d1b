#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command writes into its private home and /tmp is counted in the end: for people, for programs and in the log; in bounded
time, whatever a command leaves there."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 120
number = failures = 0
scratch = pathlib.Path(tempfile.mkdtemp(prefix="corral-private-"))
home, work = scratch / "home", scratch / "home" / "project"


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def run(script, *options, program=("sh", "-c")):
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run([CORRAL, "run", *options, "--", *program, script], cwd=work, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=SECONDS, check=False)


def gone(script, *options):
    return json.loads(run(script, "--json", *options).stdout)["gone"]


def test_count():
    got = run("true")
    ok(got.stderr == "", "a command that writes nothing: nothing is said", got.stderr)
    got = run("echo x >new; mkdir d; echo x >d/e")
    ok(got.stderr == "", "what is written to the project is not gone", got.stderr)
    got = run("echo x >~/.claude.json")
    ok(got.stderr == "corral: 1 file written outside the project is gone: ~/.claude.json; keep them: --write ~/.claude.json\n",
       "one file of the home: its name, and what keeps it", got.stderr)
    got = run("echo x >~/.a; mkdir -p ~/.b/c ~/.config/d; echo x >~/.b/c/1; echo x >~/.b/c/2; echo x >~/.config/d/e; echo x >/tmp/report")
    ok("corral: 5 files written outside the project are gone: " in got.stderr and " …; keep them: " in got.stderr
       and "--write /tmp" not in got.stderr, "several: the number, the first names; nothing is advised for /tmp", got.stderr)
    got = run("echo x >/tmp/corral-report; cat /tmp/corral-missing; mkdir /tmp/corral-no/d; exit 1", "--explain")
    ok("files written" not in got.stderr and "1 file written outside the project is gone: /tmp/corral-report\n" in got.stderr
       and "--" not in got.stderr, "nor with --explain, and not for what fails in it", got.stderr)
    ok(set(gone("mkdir -p ~/.b/c ~/.config/d; echo x >~/.b/c/1; echo x >~/.b/c/2; echo x >~/.config/d/e; ln -s a /tmp/link")["paths"])
       == {f"{home}/.b", f"{home}/.config/d", "/tmp/link"}, "paths as a grant would name them; a link counts, and is not followed")
    got = run("mkdir ~/.b; echo x >~/.b/c")
    ok("(mkdir -p ~/.b first) --write ~/.b\n" in got.stderr, "a folder that the host lacks has to be made first", got.stderr)
    (home / ".b").mkdir()
    got = run("mkdir ~/.b; echo x >~/.b/c")
    ok("keep them: --write ~/.b\n" in got.stderr, "one that it has does not", got.stderr)
    got = run("echo x >~/.b/c", "--write", str(home / ".b"))
    ok(got.stderr == "" and (home / ".b/c").read_text() == "x\n", "granted, it is kept, and nothing is said", got.stderr)
    got = run("echo x >~/.bashrc; mkdir -p ~/.ssh; echo x >~/.ssh/config")
    ok("2 files" in got.stderr and "keep them" not in got.stderr, "what the baseline forbids is not advised", got.stderr)


def test_kinds():
    got = run("mkdir -p ~/.cache/x ~/.npm/_logs ~/__pycache__; echo x >~/.cache/x/y; echo x >~/.npm/_logs/1; echo x >~/a.lock; echo x >~/b.tmp;"
              "echo x >~/__pycache__/c; echo x >/tmp/tmp.abc; mktemp; mktemp -d; mkdir /tmp/go-build1; echo x >/tmp/go-build1/a; mkfifo ~/pipe")
    ok(got.stderr == "", "temporary files and caches are not counted", got.stderr)
    got = gone("echo x >~/a; rm ~/a; echo x >/tmp/b; rm /tmp/b; mkdir -p ~/c/d")
    ok(got == {"files": 0, "complete": True, "paths": []}, "nor is what was removed, nor are folders", got)


def test_bounds():
    """A million names are as good as twenty thousand: the look ends at its bound."""
    flat = "import os\nfor i in range(20000): os.close(os.open(f'{os.environ[\"HOME\"]}/f{i}', os.O_CREAT | os.O_WRONLY))"
    deep = "import os\nos.chdir(os.environ['HOME'])\nfor i in range(3000):\n os.mkdir('d'); os.chdir('d')\nopen('x', 'w').close()"
    wide = "import os\nos.chdir(os.environ['HOME'])\nfor i in range(3000):\n os.mkdir(f'd{i}'); open(f'd{i}/x', 'w').close()"
    got = json.loads(run(flat, "--json", program=("python3", "-c")).stdout)["gone"]
    ok(16000 < got["files"] <= 16384 and not got["complete"] and len(got["paths"]) <= 16, "20,000 files: as many as the bound, and not complete", got)
    got = run(flat, program=("python3", "-c")).stderr
    ok("more than 16" in got and " files written outside the project are gone: " in got and got.count("\n") == 1 and len(got) < 1000,
       "which is one short line", got)
    got = json.loads(run(deep, "--json", program=("python3", "-c")).stdout)["gone"]
    ok(not got["complete"], "folders in folders: not complete", got)
    got = json.loads(run(wide, "--json", program=("python3", "-c")).stdout)["gone"]
    ok(0 < got["files"] <= 1024 and not got["complete"], "3,000 folders: not complete", got)
    got = json.loads(run("mkdir ~/d; echo x >~/d/e; chmod 0 ~/d; chmod 0 ~", "--json").stdout)["gone"]
    ok(got["files"] <= 1 and (os.getuid() == 0 or not got["complete"]), "a folder that cannot be read: not complete", got)


def test_names():
    got = run("touch ~/\"$(printf 'a\\033[2Jb\\nc')\"")
    ok("\033" not in got.stderr and got.stderr.count("\n") == 1, "a name cannot write on the terminal", repr(got.stderr))
    secret = scratch / "secret"
    secret.mkdir()
    (secret / "one").write_text("x")
    got = gone(f"ln -s {secret} ~/link; ln -s / ~/root; ln -s .. /tmp/up")
    ok(got["files"] == 3, "links are counted, and not entered", got)


def test_log():
    log = scratch / "log"
    run("echo x >~/.claude.json", "--audit", str(log))
    got = subprocess.run([CORRAL, "audit", "list", "--json", str(log)], capture_output=True, text=True, timeout=SECONDS,
                         env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=False)
    ok(".claude.json" in got.stdout and "gone with the command" in got.stdout, "the log has it", got)


try:
    work.mkdir(parents=True)
    for test in (test_count, test_kinds, test_bounds, test_names, test_log):
        test()
finally:
    subprocess.run(["chmod", "-R", "u+rwX", scratch], check=False)
    shutil.rmtree(scratch, ignore_errors=True)
print(f"1..{number}")
sys.exit(failures > 0)
