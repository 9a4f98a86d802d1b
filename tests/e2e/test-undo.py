#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corral run --undo and corral undo: what a run changed comes back, whatever the command did to prevent it; and nothing else is
touched: not what was changed since, not what a link leads to, not what was not kept. Killed at any system call, a name is the old
or the new one, and the same undo goes on. As root, once more as an ordinary user. Prints TAP."""
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
scratch = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="corral-undo-")))
home, work = scratch / "home", scratch / "home" / "project"
store = home / ".local/state/corral/undo"
ENV = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def corral(*words, cwd=None, env=None):
    return subprocess.run([CORRAL, *words], cwd=cwd or work, env=env or ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="surrogateescape", timeout=SECONDS, check=False)


def run(script, *options, program=("sh", "-c"), **more):
    return corral("run", "--undo", *options, "--", *program, script, **more)


def undo(*words, **more):
    return corral("undo", *words, **more)


def snapshot(top=None):
    """Everything that an undo promises to bring back."""
    found = {}
    for folder, folders, names in os.walk(top or work):
        for name in folders + names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            kind = st.st_mode
            content = os.readlink(path) if os.path.islink(path) else open(path, "rb").read() if os.path.isfile(path) else None
            mtime = None if os.path.islink(path) else st.st_mtime_ns
            found[os.path.relpath(path, top or work)] = (kind, content, mtime)
    return found


def fresh():
    """An empty project and no records."""
    subprocess.run(["chmod", "-R", "u+rwX", work], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(store, ignore_errors=True)
    work.mkdir(parents=True)


def fill():
    fresh()
    (work / "src").mkdir()
    (work / "src/main.c").write_text("int main(void)\n{\n\treturn 0;\n}\n")
    (work / "src/large").write_bytes(os.urandom(300_000))
    (work / "empty").mkdir()
    (work / "docs/deep/er").mkdir(parents=True)
    (work / "docs/deep/er/page").write_text("page\n")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("src/main.c")
    (work / "out-link").symlink_to("/etc/passwd")
    for path in (work / "src/main.c", work / "run.sh", work / "docs"):
        os.utime(path, ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))


def records():
    """Of runs that can be taken back."""
    found = [p for p in store.iterdir() if p.is_dir() and [x.name for x in p.iterdir() if not x.name.startswith("removed")] != ["run"]] if store.is_dir() else []
    return sorted(int(p.name) for p in found)


def test_round():
    fill()
    before = snapshot()
    got = run("true")
    ok(got.stderr == "corral: --undo keeps 6 files (293 KB)\n" and records() == [], "nothing changed: no record is left", got.stderr)
    got = run("echo 'int x;' >>src/main.c; rm -r docs; mkdir -p new/er; echo n >new/er/n; chmod 600 run.sh; ln -sf /etc/shadow link;"
              "rm out-link; mkdir out-link; echo i >out-link/in; rmdir empty; echo f >empty; truncate -s 5 src/large; mkfifo pipe;"
              "touch -d @1 'src/main.c'; echo t >.tmp; rm .tmp")
    ok("`corral undo` takes it back" in got.stderr and records() == [1], "a run that changes something says how to take it back", got)
    ok(os.stat(store).st_mode & 0o777 == 0o700 and all(p.stat().st_mode & 0o777 == 0o600 for p in (store / "1").iterdir()),
       "the record is the user's alone")
    got = undo()
    ok(got.returncode == 2 and "without a terminal" in got.stderr and snapshot() != before, "without a terminal nothing is done", got)
    ok(all(x in got.stdout for x in ("created  new/ (1 file", "removed  docs/ (1 file", "changed  src/main.c", "+ int x;", "mode     run.sh (mode 0755 -> 0600)",
                                     "changed  link -> /etc/shadow", "(link -> folder)", "(folder -> file)")), "but it is shown", got.stdout)
    listed = json.loads(undo("--list", "--json").stdout)["runs"]
    ok(len(listed) == 1 and listed[0]["folder"] == str(work) and listed[0]["state"] == "ended" and listed[0]["removed"] > 0, "--list has it", listed)
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before, "it is taken back: content, modes, times, links, folders",
       (got, {k: v for k, v in snapshot().items() if before.get(k) != v}, set(before) - set(snapshot())))
    ok(records() == [], "and forgotten")
    got = undo("--yes")
    ok(got.returncode == 5 and "no run with --undo" in got.stderr, "there is nothing left to take back", got)


def test_words():
    """Numbers are not used again, a run can be forgotten, and what is said is said in full."""
    fill()
    os.link(work / "run.sh", home / "second")
    got = run("echo x >one; rm run.sh; echo more >>src/main.c")
    ok("corral: 1 created, 1 changed, 1 removed; " in got.stderr, "what changed", got.stderr)
    got = undo("--yes")
    ok("was a hard link; comes back as a file of its own" in got.stdout and "run 1: 3 changes taken back\n" in got.stdout, "hard links are named", got)
    run("echo x >two")
    ok(records() == [2], "the number of a run that is gone is not used again", records())
    (work / "two").write_text("mine\n")
    got = undo("--yes")
    ok(got.returncode == 4 and "run 2: nothing was taken back:\n  two: " in got.stdout and "`corral undo --forget 2`" in got.stdout,
       "one that conflicts says what to do", got)
    got = undo("--forget", "2")
    ok(got.returncode == 0 and "run 2 is forgotten" in got.stdout and records() == [] and (work / "two").read_text() == "mine\n", "--forget", got)
    ok(undo("--forget", "2").returncode == 5 and undo("--forget").returncode == 2, "--forget of one that is not there, or not named")
    got = run("rm two")
    ok(got.stderr.endswith("corral: 1 removed; `corral undo` takes it back\n") and records() == [3], "zeros are not said, nor the number used", got)
    ok("  1 removed  " in undo("--list").stdout, "nor in the list")
    run("echo new >two; echo a >three")
    (work / "three").unlink()
    got = undo("--yes")
    removed = store / "4/removed"
    ok(got.returncode == 0 and removed.is_dir(), "what an undo removed is kept", got)
    got = undo("--forget", "4")
    ok(got.returncode == 2 and str(removed) in got.stderr and removed.is_dir(), "and not lost by --forget alone", got)
    got = undo("--json", *got.stderr.split("corral undo ")[1].split())
    ok(json.loads(got.stdout) == {"run": 4, "forgotten": True} and not removed.exists(), "--forget --yes does", got)
    (home / "second").unlink()


def test_lost():
    """What was not kept, and is gone, is said again by the undo."""
    fill()
    (work / "node_modules").mkdir()
    (work / "node_modules/big").write_bytes(os.urandom(4 << 20))
    run("rm -r node_modules; echo x >one", "--undo-limit", "3M")
    got = undo("--yes")
    ok(got.returncode == 0 and "Not kept, and gone or changed by the run; this stays: node_modules\n" in got.stdout, "what was lost is said", got)


def test_audit():
    """An undo is in the log of the user."""
    fill()
    log = home / "log.db"
    more = ENV | {"CORRAL_AUDIT": str(log)}
    run("echo x >one")
    got = undo("--yes", env=more)
    listed = corral("audit", "list", "--json", str(log))
    records_ = [json.loads(line) for line in listed.stdout.splitlines()]
    ok(any(r["action"] == "fs.write" and r["target"] == str(work) and "corral undo, run 1: 1 change taken back" in r["reason"] for r in records_),
       "an undo is in the log", (got, listed))
    run("echo x >one")
    number = str(records()[-1])
    got = undo("--forget", number, env=more)
    listed = corral("audit", "list", "--json", str(log))
    records_ = [json.loads(line) for line in listed.stdout.splitlines()]
    ok(any(r["action"] == "fs.write" and r["target"] == str(work) and f"corral undo, run {number}: forgotten, its changes stay" in r["reason"] for r in records_),
       "and so is a run that is forgotten", (got, listed))
    before = len(records_)
    ok(undo("--forget", number, env=more).returncode == 5 and len(corral("audit", "list", "--json", str(log)).stdout.splitlines()) == before, "not one that is not there")
    run("echo x >one")
    state = home / ".local/state/corral/audit.db"
    ok(undo("--yes").returncode == 0 and not state.exists(), "no log is made for it")
    log.unlink()


def attributes():
    return {p.name: {n: os.getxattr(p, n) for n in os.listxattr(p) if n.startswith("user.")} for p in sorted(work.iterdir()) if p.is_file()}


def test_attributes():
    """Attributes of the user are kept: of files that are removed, written, or given others. The others are named."""
    fill()
    try:
        os.setxattr(work / "run.sh", "user.note", b"x")
    except OSError:
        ok(True, "extended attributes # SKIP kernel: this file system has none of the user's")
        return
    os.setxattr(work / "run.sh", "user.empty", b"")
    for name in ("gone", "written", "only", "closed", "rest", "large"):
        (work / name).write_text("text\n")
        os.setxattr(work / name, "user.one", name.encode() + b"\0\xff\n")
        os.setxattr(work / name, "user.two words=", b"2")
    os.setxattr(work / "large", "user.large", b"x" * 4000)
    (work / "closed").chmod(0o444)
    before, states = attributes(), snapshot()
    script = ("import os; os.remove('gone'); open('written', 'w').write('more'); os.removexattr('written', 'user.one'); os.setxattr('only', 'user.one', b'other'); "
              "os.setxattr('only', 'user.three', b''); os.removexattr('only', 'user.two words='); os.chmod('closed', 0o644); os.setxattr('closed', 'user.one', b'!'); os.chmod('closed', 0o444); "
              "os.setxattr('run.sh', 'user.note', b'y')")
    got = run(f"/usr/bin/python3 -c \"{script}\"")
    ok("not kept" not in got.stderr and attributes() != before, "a run changes attributes", got)
    got = undo("--yes")
    ok(got.returncode == 0 and attributes() == before and snapshot() == states, "and they are as before", (got, before, attributes()))
    ok("only (extended attributes)" in got.stdout, "which the undo names", got.stdout)
    run("/usr/bin/python3 -c \"import os; os.setxattr('only', 'user.one', b'other')\"")
    os.setxattr(work / "only", "user.one", b"mine")
    got = undo("--yes")
    ok(got.returncode == 4 and os.getxattr(work / "only", "user.one") == b"mine", "one that was set since stays, and is named", got)
    undo("--forget", str(records()[-1]))
    for i in range(80):
        os.setxattr(work / "rest", f"user.{i}", b"")
    got = run("rm rest")
    ok("extended attributes that are not kept: of rest" in got.stderr, "too many are named", got.stderr)
    got = undo("--yes")
    ok(got.returncode == 0 and (work / "rest").read_text() == "text\n", "and the content is put back", got)


def test_several():
    fill()
    states = [snapshot()]
    for i in range(3):
        run(f"echo {i} >>src/main.c; echo {i} >new{i}; rm -f new{i - 1}")
        states.append(snapshot())
    ok(records() == [1, 2, 3], "each run has a record")
    for i in (2, 1, 0):
        got = undo("--yes", cwd=work / "src" if i == 1 else work)
        ok(got.returncode == 0 and snapshot() == states[i], f"back to {i}", got)
    for i in range(12):
        run(f"echo {i} >>src/main.c")
    ok(len(records()) == 10 and records()[-1] == 15 and len(set(os.listdir(store)) - {"last"}) == 10, "ten of a folder are kept", records())
    other = home / "other"
    other.mkdir(exist_ok=True)
    got = undo("--yes", cwd=other)
    ok(got.returncode == 5 and "--list" in got.stderr, "in another folder nothing is taken back", got)


def test_since():
    fill()
    before = snapshot()
    run("echo 1 >>src/main.c; echo 1 >>run.sh; echo n >n1; echo n >n2; mkdir d; echo e >d/e; rm link")
    (work / "run.sh").write_text("mine\n")
    (work / "n2").write_text("mine\n")
    (work / "d/mine").write_text("mine\n")
    (work / "link").symlink_to("mine")
    after = snapshot()
    got = undo("--yes")
    ok(got.returncode == 4 and snapshot() == after and "run.sh" in got.stdout and "changed since" in got.stdout,
       "files that were changed since are named, and nothing is done", got)
    got = json.loads(undo("--yes", "--json", "--rest").stdout)
    states = {c["path"]: c["state"] for c in got["changes"]}
    ok(states["run.sh"] == states["n2"] == states["link"] == "refused" and states["src/main.c"] == states["n1"] == states["d/e"] == "done"
       and states["d"] == "failed" and not got["taken_back"], "--rest takes back the others", got)
    now = snapshot()
    ok(now["src/main.c"] == before["src/main.c"] and "n1" not in now and (work / "run.sh").read_text() == "mine\n"
       and (work / "n2").read_text() == "mine\n" and (work / "d/mine").read_text() == "mine\n" and os.readlink(work / "link") == "mine",
       "and what is the user's own is as it was", now)
    ok(records() == [1], "the record stays")


def test_links():
    """Nothing outside is read, written or removed, whatever leads there."""
    fill()
    outside = home / "outside"
    shutil.rmtree(outside, ignore_errors=True)
    outside.mkdir()
    (outside / "main.c").write_text("outside\n")
    (outside / "page").write_text("outside\n")
    (work / "away").symlink_to(outside)
    os.link(outside / "main.c", work / "hard")
    run("echo 1 >>src/main.c; echo n >src/new; rm -r docs/deep; echo more >>hard")
    ok((outside / "main.c").read_text() == "outside\nmore\n", "a hard link leads outside, for the command as well")
    kept = b"".join(p.read_bytes() for p in (store / "1").iterdir())
    ok(b"root:" not in kept and kept.count(b"outside\n") == 1, "what links lead to is not kept; the hard link's content is")
    # Folders are replaced by links before the undo.
    (work / "src").rename(home / "src")
    (work / "src").symlink_to(outside)
    shutil.rmtree(work / "docs")
    (work / "docs").symlink_to(outside)
    shown = snapshot(outside)
    got = undo("--yes", "--rest")
    now = snapshot(outside)
    ok(got.returncode == 4 and now == shown and sorted(os.listdir(outside)) == ["main.c", "page"], "no link is followed", (got, now))
    ok((work / "hard").read_text() == "outside\n" and (work / "hard").stat().st_ino != (outside / "main.c").stat().st_ino,
       "a file with a name outside is replaced, not written", got)
    shutil.rmtree(home / "src")
    # The working folder itself.
    fill()
    run("echo 1 >>src/main.c")
    moved = home / "moved"
    shutil.rmtree(moved, ignore_errors=True)
    work.rename(moved)
    work.symlink_to(moved)
    got = undo("--yes", "1", cwd=home)
    ok(got.returncode == 2 and (moved / "src/main.c").read_text().endswith("1\n"), "nor in place of the working folder", got)
    work.unlink()
    shutil.copytree(moved, work, symlinks=True)
    got = undo("--yes", "1", cwd=home)
    ok(got.returncode == 2 and "replaced since" in got.stderr, "another folder of its name is not touched", got)
    shutil.rmtree(moved)


def test_kinds():
    """Between the run and the undo, a file becomes something else."""
    for kind, make in (("link", lambda p: p.symlink_to("/etc/passwd")), ("folder", lambda p: p.mkdir()), ("pipe", os.mkfifo)):
        fill()
        run("echo 1 >>src/main.c; echo 1 >new; rm run.sh")
        for path in (work / "src/main.c", work / "new"):
            path.unlink()
            make(path)
        make(work / "run.sh")
        after = snapshot()
        got = undo("--yes")
        ok(got.returncode == 4 and snapshot() == after, f"a {kind} in a file's place stays", got)
        shutil.rmtree(work)
    fill()
    before = snapshot()
    run("rm src/main.c; mkfifo src/main.c; rm -r docs; ln -s /etc docs; rm run.sh; mkdir -p run.sh/a; echo b >run.sh/a/b")
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before, "what the command put there goes", got)
    before = snapshot()
    run("echo evil >>src/main.c; rm docs/deep/er/page; chmod 0 src docs/deep run.sh; chmod 500 docs; mkdir c; echo d >c/d; chmod 0 c")
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before, "modes that keep the user out", (got, {k: v for k, v in snapshot().items() if before.get(k) != v}))


def test_root():
    """The working folder itself."""
    fill()
    work.chmod(0o750)
    before = snapshot()
    got = run("chmod 777 .")
    ok("takes it back" in got.stderr and records() == [1], "the mode of the working folder is a change", got)
    got = undo("--yes")
    ok(got.returncode == 0 and "mode     . (mode 0750 -> 0777)" in got.stdout and work.stat().st_mode & 0o777 == 0o750, "it is shown, and comes back", got)
    run("echo 1 >>src/main.c; echo n >new; chmod 700 .")
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before and work.stat().st_mode & 0o777 == 0o750, "with other changes", got)
    run("echo n >new; echo n >src/new")
    for folder in (work, work / "src"):
        folder.chmod(0o711)
    got = undo("--yes")
    ok(got.returncode == 0 and all(p.stat().st_mode & 0o777 == 0o711 for p in (work, work / "src")), "a mode that a folder got since stays", got)
    got = run("echo 1 >>src/main.c; chmod 0 .")
    ok(" 2 changed" in got.stderr and "takes it back" in got.stderr, "a mode that keeps the user out hides no change", got)
    work.chmod(0o700)
    got = undo("--yes", "--rest")
    ok((work / "src/main.c").read_text() == before["src/main.c"][1].decode(), "and the rest comes back", got)


def test_writes():
    """Ways to write that a watcher of system calls would not see."""
    fill()
    (work / "mapped").write_bytes(b"a" * 8192)
    os.utime(work / "mapped", ns=(1_500_000_000_000_000_000,) * 2)
    before = snapshot()
    script = ("import mmap, os\n"
              "f = os.open('mapped', os.O_RDWR)\nst = os.fstat(f)\nm = mmap.mmap(f, 8192)\nos.close(f)\nm[4096:4100] = b'evil'\ndel m\n"
              "os.utime('mapped', ns=(st.st_atime_ns, st.st_mtime_ns))\n"
              "os.rename('src', 'x'); os.rename('docs', 'src'); os.rename('x', 'docs')\n"
              "open('docs/main.c', 'a').write('evil')\n")
    got = run(script, program=("python3", "-c"))
    ok("takes it back" in got.stderr and b"evil" in (work / "mapped").read_bytes(), "a mapping, the old size and time; folders change their names", got)
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before, "all of it comes back", got)


def test_names():
    fill()
    evil = "a\n  created  innocent\x1b[2Jb\u202egnp.exe "
    got = run(f"printf 'x\\n\\033[2J\\n' >src/main.c; touch '{evil}'; ln -s '{evil}' 'l\x1b]0;x\x07'")
    ok("takes it back" in got.stderr, "names with controls", got)
    got = undo("--yes", "--list")
    got = undo()
    ok("\x1b" not in got.stdout and "\u202e" not in got.stdout and "\x07" not in got.stdout and "  created  innocent\n" not in got.stdout
       and "\\x1b[2Jb" in got.stdout, "neither names nor content write on the terminal", repr(got.stdout))
    got = undo("--yes")
    ok(got.returncode == 0 and not (work / evil).exists(), "and they are removed", got)


def test_bounds():
    fill()
    (work / "node_modules/a").mkdir(parents=True)
    (work / "node_modules/a/index.js").write_bytes(b"x" * 200_000)
    (work / "data.bin").write_bytes(b"y" * 2_000_000)
    (work / ".git").mkdir()
    (work / ".git/pack").write_bytes(b"z" * 600_000)
    got = json.loads(run("true", "--json", "--undo-limit", "3M").stdout)["undo"]
    ok(got["not_kept"] == [] and got["run"] is None, "what fits is kept whole", got)
    got = run("true", "--undo-limit", "2900K")
    ok("not kept: node_modules (over the limit)\n" in got.stderr, "generated folders are left out first, and named", got.stderr)
    got = json.loads(run("true", "--json", "--undo-limit", "1M").stdout)["undo"]
    ok({x["path"] for x in got["not_kept"]} == {"node_modules", "data.bin"}, "then large files", got)
    got = json.loads(run("true", "--json", "--undo-limit", "400K").stdout)["undo"]
    ok({x["path"] for x in got["not_kept"]} == {"node_modules", "data.bin", ".git"}, "then git's folder as a whole", got)
    got = run("touch ran", "--undo-limit", "100K")
    ok(got.returncode == 125 and "--undo-limit" in got.stderr and not (work / "ran").exists() and records() == [], "then it is refused before the start", got)
    # What is not kept is not touched, and not lost.
    got = run("mv data.bin run.sh; mv node_modules nm; mv .git/pack src/main.c; echo more >>src/large; rm -r docs", "--undo-limit", "400K")
    ok("was not kept, and is gone or changed" in got.stderr, "what was not kept and is gone is said", got.stderr)
    got = undo("--yes", "--rest")
    ok(got.returncode == 4 and (work / "run.sh").read_bytes() == b"y" * 2_000_000 and (work / "src/main.c").read_bytes() == b"z" * 600_000
       and (work / "nm/a/index.js").read_bytes() == b"x" * 200_000, "content that was not kept stays where it was moved to", got)
    ok((work / "docs/deep/er/page").read_text() == "page\n" and (work / "src/large").stat().st_size == 300_000, "the rest is taken back", got)


def test_many():
    fill()
    before = snapshot()
    many = "import os\nos.mkdir('many')\nfor i in range({}): os.close(os.open(f'many/{{i}}', os.O_CREAT | os.O_WRONLY))"
    got = run(many.format(5_000), program=("python3", "-c"))
    ok("5,001 created" in got.stderr, "5,000 new names", got.stderr)
    got = undo()
    ok("created  many/ (5,000 files, 0 bytes)" in got.stdout and got.stdout.count("\n") < 20, "are one line", got.stdout[:2000])
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before, "and are taken back", got.stdout[-2000:])
    deep = "import os\nfor i in range(1500):\n os.mkdir('d'); os.chdir('d')"
    got = run(deep, program=("python3", "-c"))
    ok(got.returncode == 0 and undo("--yes", "--rest").returncode in (0, 4), "folders in folders end somewhere", got)
    subprocess.run(["rm", "-rf", str(work / "d")], check=False)


def test_hidden():
    """The command sees nothing of the records."""
    fill()
    run("echo 1 >>src/main.c")
    record = {p.name: p.read_bytes() for p in (store / "1").iterdir()}
    got = run(f"cat {store}/1/data {store}/1/run; ls {store}; echo x >{store}/1/changes; rm -r {store}; ln -s /etc {store}/9; true",
              "--read", str(home / ".local"), "--write", str(home / ".local/state"))
    ok("main.c" not in got.stdout and "corral undo" not in got.stdout and {p.name: p.read_bytes() for p in (store / "1").iterdir()} == record,
       "not read, not changed, though the folder around it was granted", got)
    (work / ".env").write_text("SECRET=hunter2\n")
    got = run("echo 1 >>src/main.c; cat .env", "--deny", ".env")
    kept = b"".join(p.read_bytes() for p in store.glob("*/*"))
    ok(b"hunter2" not in kept and "not kept: .env (the command may not read it)" in got.stderr, "what it may not read is not copied", got.stderr)


def test_second():
    fill()
    ready = work / "ready"
    first = subprocess.Popen([CORRAL, "run", "--undo", "--", "sh", "-c", "echo 1 >>src/main.c; touch ready; while [ -e ready ]; do sleep 0.05; done"],
                             cwd=work, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + SECONDS
    while not ready.exists() and first.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    got = run("touch ran", cwd=work / "src")
    ok(got.returncode == 125 and "is under way in" in got.stderr and not (work / "src/ran").exists(), "a second run with --undo in the same folder is refused", got)
    got = undo("--yes")
    ok(got.returncode == 2 and "still under way" in got.stderr, "a run that goes on is not taken back", got)
    got = corral("run", "--", "touch", "plain")
    ok(got.returncode == 0, "one without --undo runs", got)
    ready.unlink()
    first.communicate(timeout=SECONDS)
    got = undo("--yes")
    ok(got.returncode == 0 and not (work / "plain").exists(), "its changes are not told apart", got)


def test_killed():
    """kill -9 of corral while the command runs: what changed was not recorded."""
    fill()
    before = snapshot()
    ready = work / "ready"
    first = subprocess.Popen([CORRAL, "run", "--undo", "--", "sh", "-c", "echo 1 >>src/main.c; rm -r docs; touch ready; sleep 600"],
                             cwd=work, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + SECONDS
    while not ready.exists() and first.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    first.kill()
    first.wait()
    (work / "mine").write_text("mine\n")
    got = undo("--yes")
    while "still under way" in got.stderr and time.monotonic() < end:
        time.sleep(0.05)
        got = undo("--yes")
    ok(got.returncode == 4 and "run 1 was killed, so files that you made" in got.stderr and "--rest" in got.stderr and (work / "mine").exists()
       and not (work / "docs").exists(), "a killed run is not taken back without a question: a file may be the user's", got)
    again = undo("--yes")
    ok(again.returncode == 4 and "was killed" in again.stderr and (work / "mine").exists(), "nor at the second try", again)
    (work / "mine").unlink()
    got = undo("--yes", "--rest")
    ok(got.returncode == 0 and "was killed" in got.stderr and snapshot() == before, "with --rest it is taken back", got)


def test_killed_anywhere():
    """kill -9 at the n-th system call of a kind, of the keeping and of the undo."""
    if not shutil.which("strace"):
        ok(True, "killed at every system call # SKIP third-party cases not present: strace")
        return
    def files():
        """The time of a folder is set last, and only by the undo that changed it."""
        return {k: v if v[1] is not None else v[:1] for k, v in snapshot().items()}

    calls = "renameat2,unlinkat,mkdirat,renameat,write,ftruncate,fallocate,fchmod,utimensat,symlinkat,copy_file_range"

    def killed_at(call, n, *words):
        subprocess.run(["strace", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={n}", CORRAL, *words], cwd=work, env=ENV,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)

    script = "echo 1 >>src/main.c; rm -r docs; rm run.sh; mkdir -p n/n; echo n >n/n/n; truncate -s 7 src/large; ln -sf x link; chmod 700 empty"
    bad = []
    tried = 0
    for call in calls.split(","):
        for n in (1, 2, 3, 5):
            fill()
            before = files()
            run(script)
            after = files()
            killed_at(call, n, "undo", "--yes")
            for path, now in files().items():
                if len(now) > 1 and now not in (before.get(path), after.get(path)) and not os.path.basename(path).startswith(".corral-undo-"):
                    bad.append((call, n, path, now))
            if files() != before:
                got = undo("--yes")
                if got.returncode != 0 or files() != before:
                    bad.append((call, n, got, {k for k in set(before) | set(files()) if before.get(k) != files().get(k)}))
            tried += 1
    ok(not bad, f"an undo killed at {tried} places: each name is old or new, and it goes on", bad[:3])
    bad = []
    for call in ("mkdirat", "renameat", "write", "ftruncate", "unlinkat"):
        for n in (1, 2, 3, 4):
            fill()
            before = files()
            killed_at(call, n, "run", "--undo", "--", "sh", "-c", script)
            changed = files() != before
            got = undo("--yes", "--rest")
            end = time.monotonic() + SECONDS
            while "still under way" in got.stderr and time.monotonic() < end:
                time.sleep(0.05)
                got = undo("--yes", "--rest")
            if changed and files() != before:
                bad.append((call, n, got))
            if run("true").returncode != 0 or records() != []:
                bad.append((call, n, "afterwards", records()))
    ok(not bad, "a run killed while it keeps or ends: taken back, or nothing ran; no rest stays", bad[:3])


def test_full():
    """The disk that has the state is full."""
    small = scratch / "small"
    small.mkdir(exist_ok=True)
    fill()
    inside = (f"mount -t tmpfs -o size=256k none {small} && mkdir -p {small}/corral && {CORRAL} run --undo -- touch ran; echo status $?; "
              f"find {small} -type f | head")
    words = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-r", "-m"]
    got = subprocess.run([*words, "sh", "-c", inside], cwd=work, env={**ENV, "XDG_STATE_HOME": str(small)}, stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, timeout=SECONDS, check=False)
    if "mount:" in got.stderr or "unshare:" in got.stderr:
        ok(True, "a full disk # SKIP kernel: no file system can be mounted here")
        return
    ok("status 125" in got.stdout and "No space left" in got.stderr and "nothing was run" in got.stderr and not (work / "ran").exists()
       and "/data" not in got.stdout, "a full disk: refused before the start, and nothing is left", got)
    inside = (f"mount -t tmpfs -o size=640k none {small} && mkdir -p {small}/corral && {CORRAL} run --undo -- sh -c 'head -c 900000 /dev/zero >new; echo 1 >>run.sh';"
              f"{CORRAL} undo --yes; echo status $?; ls; {CORRAL} undo --yes --rest; echo status $?; ls {small}/corral/undo/1/removed")
    got = subprocess.run([*words, "sh", "-c", inside], cwd=work, env={**ENV, "XDG_STATE_HOME": str(small)}, stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, timeout=SECONDS, check=False)
    ok("status 4\n" in got.stdout and "cannot be kept (No space left" in got.stdout and "\nnew\n" in got.stdout and "status 0\nrun.sh\n" in got.stdout
       and not (work / "new").exists(), "an undo on a full disk: what cannot be kept stays, but with --rest", got)


def test_removed():
    """What an undo takes out of the folder may be the last copy of a file."""
    fill()
    data = home / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    for name in ("p", "q"):
        (data / name).write_text(f"only {name}\n")
    (data / "l").symlink_to("somewhere")
    before = snapshot()
    run(f"mkdir d; mv {data}/p d/p; mv {data}/q run.sh; mv {data}/l l; touch nothing", "--write", str(data))
    ok(os.listdir(data) == [] and (work / "d/p").read_text() == "only p\n", "the run moves files here, across mounts")
    got = undo("--yes")
    kept = store / "1/removed"
    ok(got.returncode == 0 and snapshot() == before and f"is in {kept}\n" in got.stdout, "it is taken back, and says where the files are", got)
    ok((kept / "d/p").read_text() == "only p\n" and (kept / "run.sh").read_text() == "only q\n" and os.readlink(kept / "l") == "somewhere"
       and not (kept / "nothing").exists(), "what was removed or replaced is in the record", list(kept.rglob("*")))
    got = undo("--yes", "1")
    ok(got.returncode == 5 and str(kept) in got.stderr, "the run is taken back once", got)
    got = undo("--yes")
    listed = json.loads(undo("--list", "--json").stdout)["runs"]
    ok(got.returncode == 5 and [r["state"] for r in listed] == ["taken_back"], "and is not the last one any more", (got, listed))
    for i in range(11):
        run(f"echo {i} >>src/main.c")
    ok(not (store / "1").exists() and len(set(os.listdir(store)) - {"last"}) == 10, "it goes when it is the oldest", os.listdir(store))
    # More than is kept.
    fill()
    run("head -c 2000000 /dev/zero >large; echo s >small", "--undo-limit", "1M")
    got = undo("--yes")
    ok(got.returncode == 4 and "1 of the files that would be removed" in got.stderr and (work / "large").exists() and (work / "small").exists(),
       "what is too large to be kept is not removed without a question", got)
    got = undo("--yes", "--rest")
    ok(got.returncode == 0 and not (work / "large").exists() and os.listdir(store / "1/removed") == ["small"], "but with --rest", got)
    # The state is on another file system.
    fill()
    before = snapshot()
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="corral-undo-") as state:
        there = {**ENV, "XDG_STATE_HOME": state}
        run("mkdir d; echo n >d/n; ln -s x l; echo 1 >>run.sh; chmod 751 run.sh", env=there)
        got = undo("--yes", env=there)
        kept = pathlib.Path(state) / "corral/undo/1/removed"
        ok(got.returncode == 0 and snapshot() == before and (kept / "d/n").read_text() == "n\n" and os.readlink(kept / "l") == "x"
           and (kept / "run.sh").read_text() == "#!/bin/sh\n1\n" and (kept / "run.sh").stat().st_mode & 0o777 == 0o751, "the state on another file system", got)
    # A state folder that another user can change is refused, until what the message says is done.
    with tempfile.TemporaryDirectory(prefix="corral-undo-") as state:
        there, own = {**ENV, "XDG_STATE_HOME": state}, pathlib.Path(state) / "corral"
        own.mkdir(0o700)
        for what, spoil in (("another user's", lambda: os.chown(own, 65534, -1)), ("writable by others", lambda: own.chmod(0o777))):
            if what == "another user's" and os.geteuid() != 0:
                continue
            spoil()
            got = run("touch ran", env=there)
            ok(got.returncode == 125 and "must be yours, and writable by you alone" in got.stderr and not (work / "ran").exists(),
               f"a state folder that is {what} is refused", got)
            os.chown(own, os.geteuid(), -1)
            own.chmod(0o700)
            got = run("true", env=there)
            ok(got.returncode == 0, f"a state folder that was {what} is used when it is the user's alone", got)


def test_terminal():
    def answer(text):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(work)
            os.execve(CORRAL, [CORRAL, "undo"], ENV)
        seen = b""
        end = time.monotonic() + SECONDS
        sent = False
        while time.monotonic() < end:
            if not select.select([fd], [], [], 1)[0]:
                continue
            try:
                part = os.read(fd, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
            if b"[y/N]" in seen and not sent:
                os.write(fd, text)
                sent = True
        os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen
    fill()
    before = snapshot()
    run("echo 1 >>src/main.c")
    status, seen = answer(b"n\n")
    ok(status == 1 and snapshot() != before, "on a terminal it asks: no", seen)
    status, seen = answer(b"y\n")
    ok(status == 0 and snapshot() == before, "and yes", seen)


def git(*words):
    return subprocess.run(["git", "-c", "user.name=u", "-c", "user.email=u@example.org", *words], cwd=work, env=ENV, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=SECONDS, check=False)


def test_git():
    """A repository is whole after an undo, whatever the user did with it since the run."""
    if not shutil.which("git"):
        ok(True, "git # SKIP third-party cases not present: git")
        return

    def repository():
        fill()
        for words in (("init", "-q"), ("add", "run.sh"), ("commit", "-qm", "first")):
            git(*words)

    def is_whole():
        got = git("fsck", "--full", "--strict")
        return got.returncode == 0 and "missing" not in got.stdout + got.stderr

    repository()
    head = git("rev-parse", "HEAD").stdout
    run("git add src/main.c; git -c user.name=a -c user.email=a@example.org commit -qm second; git tag t")
    ok(git("rev-parse", "HEAD").stdout != head, "the run makes a commit")
    got = undo("--yes")
    ok(got.returncode == 0 and git("rev-parse", "HEAD").stdout == head and "t" not in git("tag").stdout and is_whole(), "an undo takes a commit back", got)
    repository()
    run("echo w >new.txt; git add new.txt")
    git("commit", "-qm", "mine")
    head = git("rev-parse", "HEAD").stdout
    got = undo("--yes")
    ok(got.returncode == 4 and (work / "new.txt").exists() and "repository was changed since" in got.stdout, "the user committed since: said, and nothing is done", got)
    got = undo("--yes", "--rest")
    ok(got.returncode == 4 and is_whole() and git("rev-parse", "HEAD").stdout == head and git("show", "HEAD:new.txt").stdout == "w\n"
       and not (work / "new.txt").exists(), "with --rest the commit is whole", (got, git("fsck")))
    repository()
    run("git add src/main.c; git -c user.name=a -c user.email=a@example.org commit -qm second")
    git("branch", "mine")
    got = undo("--yes", "--rest")
    ok(is_whole() and git("show", "mine:src/main.c").stdout.startswith("int main"), "a name that was given to the run's commit since: its objects stay", (got, git("fsck")))
    fill()
    before = snapshot()
    run("git init -q; git add run.sh; git -c user.name=a -c user.email=a@example.org commit -qm first")
    got = undo("--yes")
    ok(got.returncode == 0 and snapshot() == before, "a repository that the run made goes", got)


def test_refused():
    fill()
    got = corral("run", "--undo", "--mode", "rwx", "--data-dir", str(work), "--", "true")
    ok(got.returncode == 125 and "--undo" in got.stderr, "a mode without a sandbox cannot be undone", got)
    got = corral("run", "--undo", "--undo-limit", "0", "--", "true")
    ok(got.returncode == 125, "a limit of 0 is none", got)
    got = run("true", "--read", str(home), "--policy", "/dev/null", cwd=home)
    ok(got.returncode != 0, "a home is not kept", got)
    got = undo("x")
    ok(got.returncode == 2 and "not the number" in got.stderr, "a run is a number", got)
    got = undo("--yes", "77")
    ok(got.returncode == 5, "one that is not there", got)
    run("echo 1 >>src/main.c")
    (store / "1/changes").write_bytes(b"x")
    got = undo("--yes")
    ok(got.returncode == 2 and "damaged" in got.stderr, "a damaged record is refused", got)
    run("echo 1 >>src/main.c")
    good = (store / "2/data").read_bytes()
    (store / "2/data").write_bytes(b"\0" * len(good))
    got = undo("--yes")
    ok(got.returncode == 4 and "damaged" in got.stdout and (work / "src/main.c").read_text().endswith("1\n1\n"), "damaged content is not put back", got)


def as_user():
    """All of it once more, as an ordinary user."""
    if os.getuid() != 0 or "UNDO_AS_USER" in os.environ:
        return
    place = pathlib.Path(tempfile.mkdtemp(prefix="corral-undo-user-"))
    place.chmod(0o755)
    shutil.copy(CORRAL, place / "corral")
    shutil.copy(__file__, place / "test.py")
    got = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", str(place / "test.py")], env={"CORRAL": str(place / "corral"), "UNDO_AS_USER": "1", "PATH": "/usr/bin:/bin"},
                         cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900, check=False)
    ok(got.returncode == 0, "the same as an ordinary user", "\n".join(x for x in got.stdout.splitlines() if not x.startswith("ok"))[-4000:] + got.stderr[-2000:])
    shutil.rmtree(place)


TESTS = (test_round, test_words, test_lost, test_audit, test_attributes, test_several, test_since, test_links, test_kinds, test_root, test_writes, test_names, test_bounds, test_many, test_hidden, test_second,
         test_killed, test_killed_anywhere, test_full, test_removed, test_terminal, test_git, test_refused)
try:
    chosen = [t for t in TESTS if len(sys.argv) < 2 or t.__name__[5:] in sys.argv[1:]]
    for test in chosen:
        test()
    if len(sys.argv) < 2:
        as_user()
finally:
    subprocess.run(["chmod", "-R", "u+rwX", scratch], check=False)
    shutil.rmtree(scratch, ignore_errors=True)
print(f"1..{number}")
sys.exit(failures > 0)
