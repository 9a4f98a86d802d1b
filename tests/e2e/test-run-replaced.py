#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A single file of the home that may be written can be replaced by its program, by a temporary file, a lock and a rename; the home
itself never can be written. What the command leaves in its place, and what others do to the host's file meanwhile, cannot make
Corral write anything else. All of it in a private home, and in the modes of agents, where the home is the host's and can be read."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 120
number = failures = 0
# Not in /tmp, which may be written in a mode.
scratch = pathlib.Path(tempfile.mkdtemp(prefix="corral-replaced-", dir="/var/tmp"))
home = scratch / "home"
work, conf, victim = home / "project", home / ".tool.json", home / ".victim"
data = scratch / "data"
MODES = {"private home": (), "mode sandbox": ("--mode", "sandbox", "--data-dir", str(data)), "mode rx": ("--mode", "rx", "--data-dir", str(data))}
mode = "private home"
NETWORK = "corral: commands use the host's network directly: private addresses and cloud metadata are not blocked\n"
ENV = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
REPLACE = "mkdir ~/.tool.json.lock && echo new >~/.tool.json.tmp && mv -T ~/.tool.json.tmp ~/.tool.json && rmdir ~/.tool.json.lock"


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {mode}: {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def begin(text="old\n", mode=0o640):
    shutil.rmtree(home, ignore_errors=True)
    work.mkdir(parents=True)
    conf.write_text(text)
    conf.chmod(mode)
    victim.write_text("victim\n")


def words(script, *options):
    return [CORRAL, "run", *MODES[mode], "--write", str(conf), *options, "--", "sh", "-c", script]


def run_words(argv):
    got = subprocess.run(argv, cwd=work, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    got.stderr = got.stderr.replace(NETWORK, "")
    return got


def run(script, *options):
    return run_words(words(script, *options))


def run_while(script, change, *options):
    """Calls change() while the command waits, which goes on then."""
    with subprocess.Popen(words(f"echo ready; read x; {script}", *options), cwd=work, env=ENV, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        change()
        _, err = child.communicate("\n", timeout=SECONDS)
    return child.returncode, err.replace(NETWORK, "")


def names():
    return sorted(p.name for p in home.iterdir() if p.name not in ("project", ".victim", ".cache", ".local"))


def test_replaced():
    begin()
    got = run(REPLACE)
    ok(got.returncode == 0 and conf.read_text() == "new\n", "a file is replaced by temporary file, lock and rename", got)
    ok(stat.S_IMODE(conf.stat().st_mode) == 0o640 and conf.stat().st_uid == os.getuid(), "it keeps its mode and owner", conf.stat())
    ok(got.stderr == "" and names() == [".tool.json"], "nothing else is in the home, and nothing is said", (got.stderr, names()))
    got = run("cat ~/.tool.json; stat -c %a ~/.tool.json")
    ok(got.stdout == "new\n640\n", "the next command sees it", got)
    begin()
    before = conf.stat()
    got = run("cat ~/.tool.json; touch ~/.other")
    ok(got.stdout == "old\n" and conf.stat().st_ino == before.st_ino and conf.stat().st_mtime_ns == before.st_mtime_ns,
       "a file that was only read stays what it is", got)
    begin()
    got = run("cp -p ~/.tool.json ~/.old; echo new >~/.tool.json; touch -r ~/.old ~/.tool.json")
    ok(conf.read_text() == "new\n", "a text of the same length and time is another text", got)
    begin()
    code, err = run_while(f"echo new >~/.tool.json; touch -d @{conf.stat().st_mtime_ns // 10 ** 9}.{conf.stat().st_mtime_ns % 10 ** 9:09} ~/.tool.json",
                          lambda: conf.write_text("theirs\n"))
    ok((home / ".tool.json.corral-1").exists() and conf.read_text() == "theirs\n", "a change at the very time of the host's file, which others change", err)
    begin()
    got = run("echo more >>~/.tool.json")
    ok(conf.read_text() == "old\nmore\n" and got.stderr == "", "a file can be written in place as well", got)
    begin()
    got = run("chmod 777 ~/.tool.json; echo new >~/.tool.json; kill -9 $$")
    ok(conf.read_text() == "new\n" and stat.S_IMODE(conf.stat().st_mode) == 0o640, "of a command that is killed, too; the mode is the host's", got)
    begin()
    got = json.loads(run(REPLACE, "--json").stdout)
    ok(got["replaced"] == [{"path": str(conf), "result": "replaced", "beside": None}] and got["gone"]["files"] == 0, "for programs", got)
    (home / ".config/tool").mkdir(parents=True)
    deep = home / ".config/tool/settings"
    deep.write_text("old\n")
    got = run("echo new >~/.config/tool/x && mv ~/.config/tool/x ~/.config/tool/settings", "--write", str(deep))
    ok(deep.read_text() == "new\n" and [p.name for p in deep.parent.iterdir()] == ["settings"], "a file in a folder of the home", got)


def test_made():
    begin()
    conf.unlink()
    got = run("true")
    ok(names() == [] and got.stderr == "", "a file that is not there, and that the command does not make", got)
    got = run("umask 077; " + REPLACE)
    ok(conf.read_text() == "new\n" and stat.S_IMODE(conf.stat().st_mode) == 0o600 and names() == [".tool.json"], "one that it makes is kept", got)
    conf.unlink()
    code, err = run_while("echo mine >~/.tool.json", lambda: conf.write_text("theirs\n"))
    ok(conf.read_text() == "theirs\n" and (home / ".tool.json.corral-1").read_text() == "mine\n" and code == 0,
       "one that is there by then: both are kept", err)
    begin()
    conf.unlink()
    conf.symlink_to(victim)
    got = run("echo new >~/.tool.json || :")
    ok(conf.is_symlink(), "a link stays a link", got)


def test_left():
    """What a command can leave in the file's place."""
    for name, script in (("a link", "ln -sfT /etc/passwd ~/.tool.json"), ("a link to another file", "rm ~/.tool.json; ln -s .victim ~/.tool.json"),
                         ("a folder", "rm ~/.tool.json; mkdir ~/.tool.json; echo x >~/.tool.json/x"), ("a pipe", "rm ~/.tool.json; mkfifo ~/.tool.json"),
                         ("a socket", "rm ~/.tool.json; python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).bind(os.path.expanduser(\"~/.tool.json\"))'")):
        begin()
        got = run(script)
        ok(conf.read_text() == "old\n" and not conf.is_symlink() and "yours is kept" in got.stderr and victim.read_text() == "victim\n",
           f"{name} in its place: the host's file stays", got)
    begin()
    got = run("rm ~/.tool.json")
    ok(conf.read_text() == "old\n" and "was removed by the command" in got.stderr, "it was removed: the host's file stays", got)
    begin()
    got = run("head -c 9000000 /dev/zero >~/.tool.json")
    ok(conf.read_text() == "old\n" and "larger than 8 MiB" in got.stderr, "it became too large: the host's file stays", got)
    begin()
    got = run("rm ~/.tool.json; echo x >~/.other; ln ~/.other ~/.tool.json")
    ok(conf.read_text() == "x\n" and conf.stat().st_nlink == 1, "a hard link inside is a text", got)
    begin()
    got = run("mv ~/.tool.json ~/.moved; echo x >~/.moved; rm -rf ~/.[!.]* 2>/dev/null; :")
    ok(conf.read_text() == "old\n" and victim.read_text() == "victim\n", "a home that is emptied inside", got)


def test_meanwhile():
    """What others can do to the host's file."""
    def other_text():
        conf.write_text("theirs\n")

    def other_file():
        (home / ".new").write_text("theirs\n")
        os.rename(home / ".new", conf)

    def other_link():
        conf.unlink()
        conf.symlink_to(victim)

    def other_folder():
        conf.unlink()
        conf.mkdir()

    def other_pipe():
        conf.unlink()
        os.mkfifo(conf)

    def second_name():
        os.link(conf, home / ".second")

    for name, change in (("another text", other_text), ("another file", other_file), ("a link", other_link), ("a folder", other_folder),
                         ("a pipe", other_pipe), ("a second name", second_name)):
        begin()
        code, err = run_while(REPLACE, change)
        beside = home / ".tool.json.corral-1"
        ok(code == 0 and beside.is_file() and beside.read_text() == "new\n" and ".tool.json.corral-1" in err,
           f"{name} by then: what the command wrote is beside it", err)
        kept = {other_text: lambda: conf.read_text() == "theirs\n", other_file: lambda: conf.read_text() == "theirs\n",
                other_link: conf.is_symlink, other_folder: conf.is_dir, other_pipe: conf.is_fifo,
                second_name: lambda: conf.read_text() == "old\n"}[change]
        ok(kept() and victim.read_text() == "victim\n", f"{name}: it stays, and nothing is written through it")
        begin()
        code, err = run_while("cat ~/.tool.json", change)
        ok(kept() and err == "" and not beside.exists(), f"{name}, and a command that only reads: nothing is done", err)
    begin()

    def moved_home():
        os.rename(home, scratch / "elsewhere")
        home.mkdir()
        (home / ".tool.json").symlink_to("/etc/hostname")

    # In a mode that ends the session: test_shadow().
    if mode == "private home":
        code, err = run_while(REPLACE, moved_home)
        ok((scratch / "elsewhere/.tool.json").read_text() == "new\n" and conf.is_symlink(), "the folder is the one that was looked at", err)
        shutil.rmtree(scratch / "elsewhere")
    begin()
    over = threading.Event()

    def race():
        for i in range(1000000):
            if over.is_set():
                return
            name = home / ".race"
            if i % 2:
                name.symlink_to(victim)
            else:
                name.write_text("theirs\n")
            os.rename(name, conf)

    thread = threading.Thread(target=race)
    thread.start()
    for _ in range(15 if mode == "private home" else 5):
        run(REPLACE)
    over.set()
    thread.join()
    ok(victim.read_text() == "victim\n", "a file that is exchanged for a link all the time: what that leads to is not written")


def test_mounts():
    """What stays a mount: it can be written, and is not replaced."""
    begin()
    os.link(conf, home / ".second")
    got = run("echo new >~/.tool.json; mv ~/.tool.json ~/.x 2>/dev/null || echo busy")
    ok(got.stdout == "busy\n" and (home / ".second").read_text() == "new\n", "a file with two names", got)
    begin(text="x" * (9 << 20))
    got = run("echo new >~/.tool.json; mv ~/.tool.json ~/.x 2>/dev/null || echo busy")
    ok(got.stdout == "busy\n" and conf.read_text() == "new\n", "a large file", got)
    begin()
    got = run_words([CORRAL, "run", *MODES[mode], "--read", str(conf), "--", "sh", "-c",
                     "echo x >~/.x; mv -T ~/.x ~/.tool.json || rm ~/.x; cat ~/.tool.json"])
    ok(got.stdout == "old\n" and conf.read_text() == "old\n", "a file that may only be read", got)
    begin()
    got = run("echo x >~/.bashrc; echo x >~/.victim; rm -f ~/.bashrc ~/.victim; :")
    ok(victim.read_text() == "victim\n" and not (home / ".bashrc").exists(), "nothing else of the home is written", got)


def test_git():
    begin()
    config = home / ".gitconfig"
    config.write_text("[user]\n\tname = X\n")
    grants = ("--write", str(config), "--dangerously-allow", str(config))
    got = run("git config --global user.email a@b", *grants)
    ok(got.returncode == 0 and "email = a@b" in config.read_text(), "git config --global", got)
    ok("the command changed" in got.stderr and "review it first" in got.stderr, "what other programs run is reported", got.stderr)
    got = json.loads(run("git config --global user.email c@d", "--json", *grants).stdout)
    ok(str(config) in got["runs_later"], "for programs, too", got["runs_later"])
    begin()
    config.write_text("")
    got = run("git config --global user.email a@b", "--write", str(config))
    ok(config.read_text() == "", "without --dangerously-allow the baseline keeps it", got)


def test_shadow():
    """The home of a mode: the host's names are there, to be read, and nothing but the granted file changes."""
    begin()
    (home / "docs/deep").mkdir(parents=True)
    (home / "docs/a").write_text("a\n")
    (home / ".link").symlink_to("docs/a")
    (home / ".dangling").symlink_to("nowhere")
    (home / ".ssh").mkdir()
    (home / ".ssh/id_rsa").write_text("key\n")
    (home / ".netrc").write_text("secret\n")
    os.mkfifo(home / ".pipe")
    got = run("ls -A ~ | grep -v -x -e .cache -e .local | sort | tr '\\n' ' '; cat ~/.link ~/.victim; readlink ~/.dangling; cat ~/.netrc ~/.ssh/id_rsa")
    ok(got.stdout == ".dangling .link .netrc .ssh .tool.json .victim docs project a\nvictim\nnowhere\n",
       "what is in the home can be read, secrets cannot", got)
    tries = ("echo x >~/.victim", "rm ~/.victim", "mv ~/.victim ~/.x", "mv -T ~/.tool.json ~/.victim", "echo x >~/docs/a", "rm ~/docs/a", "mv ~/docs ~/d",
             "rmdir ~/docs/deep", "echo x >~/docs/new", "ln ~/docs/a ~/docs/b", "chmod 777 ~/.victim", "chmod 777 ~/docs", "echo x >~/.netrc",
             "rm ~/.netrc", "rm -r ~/.ssh", "echo x >~/.ssh/k", "umount ~/.netrc", "mount --bind /etc ~/.ssh")
    before = sorted((str(p), p.lstat().st_mode, p.lstat().st_ino, p.lstat().st_nlink) for p in home.rglob("*"))
    got = run("; ".join(f"({t}) 2>/dev/null && echo '{t}'" for t in tries) + "; :")
    ok(got.stdout == "" and before == sorted((str(p), p.lstat().st_mode, p.lstat().st_ino, p.lstat().st_nlink) for p in home.rglob("*")),
       "nothing of it can be written, renamed or removed", got)
    got = run("rm ~/.link ~/.dangling; echo x >~/.link; echo x >~/.bashrc")
    ok((home / ".link").is_symlink() and (home / "docs/a").read_text() == "a\n" and not (home / ".bashrc").exists() and
       "2 files written outside the project are gone" in got.stderr, "links and new names are the command's own, and their loss is said", got)

    def secrets():
        (home / ".pgpass").write_text("late\n")
        (home / ".git-credentials").write_text("late\n")
        (home / "docs/late").write_text("live\n")

    code, err = run_while("cat ~/docs/late || exit 3; cat ~/.pgpass ~/.git-credentials 2>/dev/null && exit 4; exit 0", secrets)
    ok(code == 0, "folders are live; a secret that appears is not there", (code, err))
    begin()
    (home / "secret").write_text("secret\n")
    os.link(home / "secret", home / "other")
    got = run("cat ~/other", "--deny", str(home / "secret"))
    ok(got.returncode != 0 and "secret\n" not in got.stdout and "hard link" in got.stderr, "a denied file with a second name: refused as before", got)
    begin()

    def moved_home():
        os.rename(home, scratch / "elsewhere")
        home.mkdir()
        (home / ".netrc").write_text("secret\n")

    code, err = run_while("cat ~/.netrc; sleep 60", moved_home)
    ok(code != 0 and "the sandbox ended" in err, "the home is exchanged for another: the session ends", (code, err))
    shutil.rmtree(scratch / "elsewhere")
    begin()
    for i in range(520):
        (home / f".n{i}").touch()
    got = run("echo new >~/.tool.json; touch ~/.x || mv ~/.tool.json ~/.x || echo busy")
    ok(got.stdout == "busy\n" and conf.read_text() == "new\n", "a folder with very many names: the file stays a mount", got)


def test_advice():
    """What is denied in the home names the file that helps, not the temporary file or the lock beside it."""
    for name, script in (("a temporary file", REPLACE.replace("mkdir ~/.tool.json.lock && ", "").replace(" && rmdir ~/.tool.json.lock", "")),
                         ("a lock", "echo 1 >~/.tool.json.lock && echo new >~/.tool.json.tmp && mv -T ~/.tool.json.tmp ~/.tool.json"),
                         ("a new file", "rm -f ~/.tool.json; echo new >~/.tool.json")):
        begin()
        if name == "a new file":
            conf.unlink()
        command = [CORRAL, "run", *MODES[mode], "--explain", "--", "sh", "-c", script]
        got = run_words(command)
        line = f"--write {conf}"
        ok(got.returncode != 0 and any(said.endswith(line) for said in got.stderr.splitlines()), f"{name} is denied: the file is named", got)
        got = run_words(command[:-4] + line.split() + command[-4:])
        ok(got.returncode == 0 and conf.read_text() == "new\n", f"{name}: with that it works", got)


def test_in_tmp():
    """A home in a folder that may be written stays read-only."""
    global home, work, conf, victim
    kept = home, work, conf, victim
    with tempfile.TemporaryDirectory(prefix="corral-replaced-", dir="/tmp") as folder:
        home = pathlib.Path(folder) / "home"
        work, conf, victim = home / "project", home / ".tool.json", home / ".victim"
        ENV["HOME"] = str(home)
        begin()
        got = run(REPLACE + f"; mv {home} {folder}/x; rm ~/.victim; :")
        ok(conf.read_text() == "new\n" and victim.read_text() == "victim\n" and names() == [".tool.json"], "a home in /tmp", got)
    home, work, conf, victim = kept
    ENV["HOME"] = str(home)


MODE = (test_replaced, test_made, test_left, test_meanwhile, test_mounts, test_git, test_shadow, test_advice, test_in_tmp)
TESTS = {"private home": MODE[:6], "mode sandbox": MODE, "mode rx": (test_git,)}

try:
    data.mkdir()
    for mode, tests in TESTS.items():
        for test in tests:
            test()
finally:
    shutil.rmtree(scratch, ignore_errors=True)
print(f"1..{number}")
sys.exit(failures > 0)
