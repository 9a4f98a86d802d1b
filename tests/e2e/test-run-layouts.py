#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that installers put into a home (data/layouts.conf) start in the profile workspace, with their package and
nothing else of the home; links that a command may have planted in folders of PATH show nothing."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "layouts.conf"
SECONDS = 60
number = failures = 0
scratch = pathlib.Path(tempfile.mkdtemp(prefix="corral-layouts-"))
home, work = scratch / "home", scratch / "work"


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def begin():
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    put("Documents/secret", "secret\n")
    put("Documents/bin/tool", "#!/bin/sh\ncat ../data\n", 0o755)


def put(path, text, mode=0o644):
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def link(path, target):
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)


def run(path, *words, options=()):
    """What a run prints, with these folders of the home in PATH."""
    env = {"HOME": str(home), "PATH": ":".join([*(str(home / p) for p in path), "/usr/bin:/bin"]), "LANG": "C.UTF-8"}
    done = subprocess.run([CORRAL, "run", *options, "--", *words], cwd=work, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


def rows(kind):
    group = None
    for line in DATA.read_text().splitlines():
        if line.startswith("["):
            group = line[1:line.index("]")]
        elif line.startswith("~") and group == kind:
            yield line


def test_packages():
    for row in rows("package"):
        begin()
        package = re.sub(r"\[[^]]*\]\*", "pack", row[2:]).replace("@*", "@scope").replace("*", "one")
        program = put(f"{package}/bin/tool", f"#!/bin/sh\ncat {home}/{package}/data\n", 0o755)
        put(f"{package}/data", "ok\n")
        put(f"{package}-other/data", "other\n")
        link(".local/bin/tool", os.path.relpath(program, home / ".local/bin"))
        got = run([".local/bin"], "tool")
        ok(got[:2] == (0, "ok\n"), f"a program in {row} runs and reads its package", got)
        got = run([".local/bin"], "sh", "-c", f"cat {home}/{package}-other/data {home}/Documents/secret; ls -A {home}")
        ok("other" not in got[1] and "secret" not in got[1] and "Documents" not in got[1],
           f"{row}: nothing beside the package can be read", got)
        begin()
        shutil.rmtree(home)
        program = put(f"{package}/bin/tool", "#!/bin/sh\necho ok >>\"$0\" || echo refused\n", 0o755)
        link(".local/bin/tool", os.path.relpath(program, home / ".local/bin"))
        got = run([".local/bin"], "sh", "-c", f"echo x >{home}/{package}/new || echo refused")
        ok(got[1] == "refused\n" and not (home / package / "new").exists(), f"{row}: the package cannot be written", got)


def test_beside():
    for row in rows("beside"):
        begin()
        left, others = row.split(" -> ")
        folder, _, name = left.partition(" if ")
        folder, others = folder[2:], [other[2:] for other in others.split(" ")]
        data = put(f"{others[0]}/data", "ok\n")
        put(f"{folder}/{name or 'tool'}", f"#!/bin/sh\ncat {data}\n", 0o755)
        got = run([folder], name or "tool")
        ok(got[:2] == (0, "ok\n"), f"a program in ~/{folder} reads ~/{others[0]}", got)
        top = home / others[0].split("/")[0]
        got = run([folder], "sh", "-c", f"cat {home}/Documents/secret {top}/credentials; ls -A {home}")
        ok("secret" not in got[1] and "Documents" not in got[1], f"~/{folder}: nothing else can be read", got)


def test_file_and_interpreter():
    begin()
    shutil.copy("/bin/echo", put(".local/share/claude/versions/2.1.0", "", 0o755))
    (home / ".local/share/claude/versions/2.1.0").chmod(0o755)
    put(".local/share/claude/versions/2.0.0", "old", 0o755)
    link(".local/bin/claude", "../share/claude/versions/2.1.0")
    got = run([".local/bin"], "claude", "ok")
    ok(got[:2] == (0, "ok\n"), "a program that is one file of many versions runs", got)
    got = run([".local/bin"], "cat", str(home / ".local/share/claude/versions/2.0.0"))
    ok(got[0] != 0, "the others cannot be read", got)
    tool = home / ".local/share/uv/tools/t/bin"
    put(".local/share/uv/tools/t/bin/t", f"#!{tool}/python\nok\n", 0o755)
    shutil.copy("/bin/cat", put(".local/share/uv/python/cpython-3.12.5/bin/python3.12", "", 0o755))
    (home / ".local/share/uv/python/cpython-3.12.5/bin/python3.12").chmod(0o755)
    link(".local/share/uv/python/cpython-3.12", "cpython-3.12.5")
    link(".local/share/uv/tools/t/bin/python", home / ".local/share/uv/python/cpython-3.12/bin/python3.12")
    link(".local/bin/t", tool / "t")
    got = run([".local/bin"], "t")
    ok(got[0] == 0 and got[1].endswith("\nok\n"), "a tool with an interpreter that its installer brought, behind links, runs", got)


def test_managers():
    """Trees as the managers themselves make them; mise 2026.9 and pipx 1.8 were seen to."""
    begin()
    venv = home / ".local/share/pipx/venvs/tool"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(venv)], check=True)
    put(".local/share/pipx/venvs/tool/bin/tool", f"#!{venv}/bin/python\nimport sys\nprint(sys.prefix)\n", 0o755)
    link(".local/bin/tool", venv / "bin/tool")
    got = run([".local/bin"], "tool")
    ok(got[:2] == (0, f"{venv}\n"), "pipx: a tool runs with the Python of its environment", got)
    begin()
    installs = ".local/share/mise/installs/npm-tool"
    put(f"{installs}/1.6.0/lib/node_modules/tool/cli.sh", "#!/bin/sh\necho tool 1.6.0\n", 0o755)
    link(f"{installs}/1.6.0/bin/tool", "../lib/node_modules/tool/cli.sh")
    link(f"{installs}/latest", "./1.6.0")
    for folder in (f"{installs}/1.6.0/bin", f"{installs}/latest/bin"):
        got = run([folder], "tool")
        ok(got[:2] == (0, "tool 1.6.0\n"), f"mise, activated: a tool in ~/{folder} runs", got)
    put(".config/mise/config.toml", '[tools]\n"npm:tool" = "1.6.0"\n')
    put(".local/bin/mise", f"#!/bin/sh\ngrep -q npm:tool {home}/.config/mise/config.toml && exec {home}/{installs}/1.6.0/bin/${{0##*/}}\n", 0o755)
    link(".local/share/mise/shims/tool", home / ".local/bin/mise")
    got = run([".local/share/mise/shims", ".local/bin"], "tool", options=("--read", "~/.config/mise/config.toml"))
    ok(got[:2] == (0, "tool 1.6.0\n"), "mise, by shims: a tool runs if the settings may be read", got)
    got = run([".local/share/mise/shims", ".local/bin"], "cat", str(home / ".config/mise/config.toml"))
    ok(got[0] != 0, "mise, by shims: the settings, which may set keys, are not shown unasked", got)


def test_planted():
    """All that a command could have left in a folder of PATH, or in a package's place."""
    def sees(what, options=(), path=(".local/bin",)):
        got = run(path, "sh", "-c", f"cat {home}/Documents/secret {home}/Documents/bin/tool", options=options)
        ok("secret\n" not in got[1] and "data" not in got[1], what, got)

    begin()
    link(".local/bin/a", "../../Documents/bin/tool")
    sees("a link to somewhere else in the home shows nothing")
    begin()
    link(".local/lib/node_modules/evil", home / "Documents")
    link(".local/bin/evil", "../lib/node_modules/evil/bin/tool")
    sees("a package that is a link shows nothing")
    begin()
    link(".local/share/uv/tools", home)
    link(".local/bin/evil", "../share/uv/tools/Documents/bin/tool")
    sees("a folder of packages that is a link shows nothing")
    begin()
    put(".local/lib/node_modules/good/cli", "#!/bin/sh\n", 0o755)
    link(".local/bin/evil", "../lib/node_modules/good/../../../../Documents/bin/tool")
    sees("a link that leaves a package shows nothing")
    begin()
    put(".cargo/bin/rustup", "#!/bin/sh\n", 0o755)
    link(".rustup", "Documents")
    put("Documents/toolchains/secret", "secret\n")
    got = run([".cargo/bin"], "sh", "-c", f"cat {home}/.rustup/toolchains/secret {home}/Documents/toolchains/secret")
    ok("secret" not in got[1], "a folder beside one of PATH that is a link shows nothing", got)
    begin()
    put(".local/share/uv/tools/x/bin/x", f"#!{home}/.local/share/uv/tools/x/bin/python\n", 0o755)
    link(".local/share/uv/tools/x/bin/python", home / "Documents/bin/tool")
    link(".local/bin/x", "../share/uv/tools/x/bin/x")
    sees("an interpreter that is a link to somewhere else shows nothing")


def test_writable():
    """A link that this very command could have made yesterday."""
    begin()
    put(".local/lib/node_modules/good/cli", "#!/bin/sh\necho ok\n", 0o755)
    link(".local/bin/good", "../lib/node_modules/good/cli")
    ok(run([".local/bin"], "good")[1] == "ok\n", "a folder of PATH that cannot be written counts")
    for option in (f"{home}/.local/bin", "~/.local/bin", f"{home}/.local/**"):
        got = run([".local/bin"], "good", options=("--write", option))
        ok(got[0] != 0 or option.endswith("**"), f"with --write {option.replace(str(home), 'HOME')} links in it grant nothing", got)
    shutil.copytree(home / ".local/bin", work / "bin", symlinks=True)
    (work / "bin/good").unlink()
    (work / "bin/good").symlink_to(home / ".local/lib/node_modules/good/cli")
    got = run([os.path.relpath(work / "bin", home)], "good")
    got2 = subprocess.run([CORRAL, "run", "--", "good"], cwd=work, capture_output=True, text=True, timeout=SECONDS, check=False,
                          env={"HOME": str(home), "PATH": f"{work}/bin:/usr/bin:/bin"})
    ok(got[0] != 0 and got2.returncode != 0, "links in the working folder grant nothing", (got, got2))


try:
    for test in (test_packages, test_beside, test_file_and_interpreter, test_managers, test_planted, test_writable):
        test()
finally:
    shutil.rmtree(scratch, ignore_errors=True)
print(f"1..{number}")
sys.exit(failures > 0)
