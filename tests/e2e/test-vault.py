#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vault, used as a person would, and attacked as a command in a sandbox and another process of the user would.
As root, once more as an ordinary user. Prints TAP."""

import ctypes
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_VAULT", "VAULT_CLIENT")
CORRAL, VAULT, CLIENT = (os.path.abspath(os.environ[name]) for name in PROGRAMS)
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
OTHER = "ghp_zyxwvutsrqponmlkjihgfedcba9876543210"
EPERM = 1
SANITIZED = b"__asan_" in pathlib.Path(VAULT).read_bytes()
KEYCTL = 250 if os.uname().machine == "x86_64" else 219


class Place:
    def __init__(self, scratch):
        self.path = pathlib.Path(scratch).resolve()
        self.vault = self.path / "state/corral/vault"
        self.file = self.vault / "vault"
        (self.path / "work").mkdir()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"), "XDG_CONFIG_HOME": str(self.path / "config"),
                    "XDG_RUNTIME_DIR": str(self.path / "run"), "XDG_CACHE_HOME": str(self.path / "cache"), "LC_ALL": "C.UTF-8", "CORRAL_VAULT": VAULT,
                    "TOKEN_OF_THE_ENVIRONMENT": "from-the-environment"}
        self.passphrase = self.write("passphrase", "correct horse battery\n")

    def write(self, name, text, mode=0o600):
        path = self.path / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def corral(self, *words, value=None, passphrase=None, command="vault"):
        """Without a terminal, so nothing can be asked."""
        more = ["--passphrase-file", passphrase] if passphrase else []
        return subprocess.run([CORRAL, command, *words, *more], input=value if value is not None else "", capture_output=True, text=True,
                              cwd=self.path / "work", env=self.env, timeout=120, check=False, start_new_session=True)

    def value(self, name):
        done = self.corral("export", "--yes", name)
        return json.loads(done.stdout)[name] if done.returncode == 0 else done.stderr

    def entry(self, name):
        return next(x for x in json.loads(self.corral("list", "--json").stdout)["secrets"] if x["name"] == name)

    def typed(self, answers, *words):
        """On a terminal: (status, all that it shows). Each question gets the next answer; one more than there are fails."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.path / "work")
            os.execve(CORRAL, [CORRAL, "vault", *words], self.env)
        text, answers = "", list(answers)
        while select.select([fd], [], [], 120)[0]:
            try:
                got = os.read(fd, 4096).decode(errors="replace")
            except OSError:  # the other end is closed
                break
            text += got
            if text.rstrip("\r").endswith((": ", "[y/N] ")) and got:
                os.write(fd, ((answers.pop(0) if answers else "") + "\n").encode())
        os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text

    def client(self, *words):
        return subprocess.run([CLIENT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.env, timeout=120, check=False,
                              cwd=self.path / "work")


def keys(place):
    done = place.corral("list")
    ok(done.returncode == 5 and "there is no vault" in done.stderr, "without a vault it says how to make one", done)
    ok(place.corral("doctor").returncode == 1, "doctor finds that there is none")
    status, text = place.typed([], "set", "TOKEN")
    ok(status == 5 and "there is no vault" in text and "Value" not in text, "before it asks for a value", status, text)
    done = place.corral("init", passphrase=place.write("short", "1234567"))
    ok(done.returncode == 2 and "at least 8" in done.stderr, "a short passphrase is refused", done)
    done = place.corral("init", passphrase=place.write("open", "correct horse battery", 0o644))
    ok(done.returncode == 2 and "other users can read" in done.stderr, "a file that others can read is refused", done)
    ok(place.corral("init", passphrase=place.passphrase).returncode == 0, "a vault is made")
    ok(all(path.stat().st_mode & 0o077 == 0 for path in (place.vault, *place.vault.iterdir())), "for the user alone")
    done = place.corral("init", passphrase=place.passphrase)
    ok(done.returncode == 2 and "already" in done.stderr, "there is only one", done)
    status, text = place.typed([], "init")
    ok(status == 2 and "already" in text and "New passphrase" not in text, "which is said before it asks for a passphrase", status, text)
    status, text = place.typed(["correct horse battery"], "list")
    ok(status == 0 and "The vault is empty" in text and "correct" not in text, "on a terminal it asks for the passphrase, and does not show it", status, text)
    done = place.corral("list")
    ok(done.returncode == 2 and "locked" in done.stderr, "it is locked, and nothing can be asked", done)
    ok(place.corral("list", passphrase=place.passphrase).returncode == 0, "the passphrase opens it for one command")
    ok(place.corral("list").returncode == 2, "and for no other")
    ok(place.corral("unlock", "--for", "1h", passphrase=place.passphrase).returncode == 0, "it is unlocked for a time")
    ok(place.corral("list").returncode == 0, "and needs no passphrase then")
    ok(place.corral("lock").returncode == 0 and place.corral("list").returncode == 2, "until it is locked")


def guesses(place):
    wrong = place.write("wrong", "correct horse batterz\n")
    said = []
    while len(said) < 12 and "try again in" not in "".join(said):  # on a slow machine the first waits are over by then
        said.append(place.corral("unlock", passphrase=wrong).stderr)
    ok(len(said) > 4 and "is wrong" in said[0] and "try again in" in said[-1], "wrong passphrases are slowed down", *said)
    place.write("state/corral/vault/attempts", f"12 {int(time.time())}\n")
    done = place.corral("unlock", passphrase=place.passphrase)
    ok(done.returncode == 2 and "12 passphrases in a row" in done.stderr and "try again in" in done.stderr, "the right one has to wait, too", done)
    (place.vault / "attempts").unlink()
    ok(place.corral("unlock", passphrase=place.passphrase).returncode == 0, "and opens it then")
    ok(not (place.vault / "attempts").exists(), "and the count begins anew")


def values(place):
    done = place.corral("set", "TOKEN", VALUE)
    ok(done.returncode == 2 and "not given as an argument" in done.stderr, "a value as an argument is refused", done)
    done = place.corral("set", "TOKEN", value=VALUE + "\n")
    ok(done.returncode == 0 and "corral vault grant TOKEN" in done.stderr, "a value comes from standard input, and the next step is named", done)
    ok(place.value("TOKEN") == VALUE, "and is kept", place.value("TOKEN"))
    done = place.corral("set", "TOKEN", value=OTHER)
    ok(done.returncode == 2 and "corral vault rotate TOKEN" in done.stderr, "a name that is there is refused", done)
    ok(place.corral("rotate", "TOKEN", value=OTHER).returncode == 0 and place.value("TOKEN") == OTHER, "it gets another value by rotate")
    ok(place.entry("TOKEN")["version"] == 2, "which is its second")
    for name in ("1X", "a b", "../x", "", "x" * 129):
        ok(place.corral("set", name, value="v").returncode == 2, f"{name[:10]!r} is not a name")
    ok(place.corral("set", "EMPTY", value="").returncode == 2, "an empty value is refused")
    ok(place.corral("set", "LARGE", value="x" * 16385).returncode == 2 and place.corral("set", "LARGE", value="x" * 16384).returncode == 0, "a value has a bound")
    ok(place.corral("remove", "LARGE").returncode == 0 and place.corral("remove", "LARGE").returncode == 5, "a secret is removed")
    done = place.corral("export", "TOKEN")
    ok(done.returncode == 1 and OTHER not in done.stdout + done.stderr, "nothing is printed without a confirmation", done)
    status, text = place.typed(["n"], "export", "TOKEN")
    ok(status == 1 and OTHER not in text and "nothing was exported" in text, "on a terminal it is asked for", status, text)
    status, text = place.typed(["y"], "export", "TOKEN")
    ok(status == 0 and OTHER in text, "and a yes prints it", status, text)
    status, text = place.typed([VALUE], "set", "TYPED")
    ok(status == 0 and VALUE not in text and place.value("TYPED") == VALUE, "a value that is typed is not shown", status, text)
    status, text = place.typed([], "set", "TYPED")
    ok(status == 2 and "corral vault rotate TYPED" in text and "Value" not in text, "a name that is there is refused before a value is asked for", status, text)
    place.corral("remove", "TYPED")
    ok(place.corral("set", "OLD", "--expires-in", "1s", value="v").returncode == 0, "a value that expires")
    while time.time() < place.entry("OLD")["expires"]:
        time.sleep(0.05)
    done = place.corral("export", "--yes", "OLD")
    ok(done.returncode == 2 and "expired" in done.stderr, "is not given out afterwards", done)
    place.corral("remove", "OLD")


def copies(place):
    file = place.write("work/.env", "# a comment\nexport A_TOKEN='one'\nB_TOKEN=two=2\n\n")
    ok(place.corral("import", file).returncode == 0 and (place.value("A_TOKEN"), place.value("B_TOKEN")) == ("one", "two=2"), "values come from a file")
    done = place.corral("import", file)
    ok(done.returncode == 2 and f"{file}:2:" in done.stderr and "--replace" in done.stderr, "and do not replace others", done)
    lines = place.write("work/lines.env", "C_TOKEN=three # a comment\nD_TOKEN='four # no comment'\nE_TOKEN=five \n")
    done = place.corral("import", lines)
    ok(done.returncode == 0 and "3 secrets were imported" in done.stderr, "how many they are, and what is next", done)
    ok([place.value(f"{x}_TOKEN") for x in "CDE"] == ["three", "four # no comment", "five"], "comments and blanks are not of the value")
    done = place.corral("import", place.write("work/wrong.env", "F_TOKEN=six\nG_TOKEN=\n"))
    ok(done.returncode == 2 and "wrong.env:2:" in done.stderr and "empty" in done.stderr, "what is wrong is named by its line", done)
    place.corral("remove", "C_TOKEN", "D_TOKEN", "E_TOKEN", "F_TOKEN")
    exported = place.corral("export", "--yes").stdout
    ok(json.loads(exported)["B_TOKEN"] == "two=2", "all are exported")
    place.corral("remove", "A_TOKEN", "B_TOKEN")
    ok(place.corral("import", "--replace", place.write("work/all.json", exported)).returncode == 0 and place.value("A_TOKEN") == "one", "and imported again")
    done = place.corral("import", place.write("work/bad.json", json.dumps({"EVIL": {"source": "cmd:/usr/bin/id"}})))
    ok(done.returncode == 2 and "no sources" in done.stderr, "a file cannot define a source", done)
    place.corral("remove", "A_TOKEN", "B_TOKEN")


def nowhere(place):
    """The value is in no file of Corral's, and not in the log."""
    found = [str(path) for path in place.path.rglob("*") if path.is_file() and path.stat().st_size < 1 << 24 and "work" not in path.parts and
             any(value.encode() in path.read_bytes() for value in (VALUE, OTHER))]
    ok(not found, "no file has a value", found)
    uses = place.corral("uses").stdout
    ok("vault.set:TOKEN" in uses and "vault.export:TOKEN" in uses and VALUE not in uses and OTHER not in uses, "what was done is in the log, without values", uses)


def damage(place):
    good = place.file.read_bytes()
    older = good
    for name, bad in (("cut off", good[:-1]), ("longer", good + b"x"), ("changed", good[:-20] + bytes([good[-20] ^ 1]) + good[-19:]), ("empty", b"")):
        place.file.write_bytes(bad)
        done = place.corral("unlock", passphrase=place.passphrase)
        ok(done.returncode == 2 and "damaged" in done.stderr and "`vault.old`" in done.stderr, f"a file that is {name} is refused", done)
    place.file.write_bytes(good.replace(b"corral vault 1", b"corral vault 2", 1))
    done = place.corral("unlock", passphrase=place.passphrase)
    ok(done.returncode == 2 and "has version 2" in done.stderr and "upgrade" in done.stderr, "a newer file is refused", done)
    place.file.write_bytes(good)
    place.file.chmod(0o644)
    done = place.corral("list")
    ok(done.returncode == 2 and "open to other users" in done.stderr, "a file that others can read is refused", done)
    place.file.chmod(0o600)
    place.file.rename(place.path / "elsewhere")
    place.file.symlink_to(place.path / "elsewhere")
    done = place.corral("list")
    ok(done.returncode == 2 and "is a link" in done.stderr, "a link is refused", done)
    place.file.unlink()
    (place.path / "elsewhere").rename(place.file)
    place.vault.chmod(0o755)
    ok(place.corral("list").returncode == 2, "a folder that is open to others is refused")
    place.vault.chmod(0o700)
    place.corral("unlock", passphrase=place.passphrase)
    ok(place.corral("rotate", "TOKEN", value=VALUE).returncode == 0, "all is well again")
    place.file.write_bytes(older)
    done = place.corral("list")
    ok(done.returncode == 2 and "older than the last" in done.stderr, "an older file that was put back is refused", done)
    (place.vault / "mark").unlink()
    ok("older than the last" in place.corral("list").stderr, "also without the mark, while it is unlocked")
    ok(place.corral("unlock", "--restored", passphrase=place.passphrase).returncode == 0 and place.value("TOKEN") == OTHER, "on the user's word it is taken")
    ok(place.corral("rotate", "TOKEN", value=OTHER).returncode == 0, "it is changed once more")
    place.file.write_bytes((place.vault / "vault.old").read_bytes())
    done = place.corral("unlock", "--restored", passphrase=place.passphrase)
    ok(done.returncode == 0 and place.value("TOKEN") == OTHER, "the file before it, which a message names, helps", done)


KEYS = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
name = sys.argv[1].encode()
key = libc.syscall(%d, 10, ctypes.c_long(-4), b"user", name, 0)
if key < 0:
    print("errno", ctypes.get_errno())
else:
    print("read", libc.syscall(%d, 11, ctypes.c_long(key), None, 0))
""" % (KEYCTL, KEYCTL)


def sandbox(place):
    """What a command inside finds of the vault. Each attempt works outside."""
    if place.corral(command="doctor").returncode != 0:
        broker_tap.skip("the vault from inside", "kernel: no sandbox can be had here")
        return
    st = place.vault.stat()
    name = f"corral:vault:{st.st_dev:x}:{st.st_ino:x}"
    bare = subprocess.run(["/usr/bin/python3", "-c", KEYS, name], capture_output=True, text=True, check=False)
    ok(bare.stdout == "read 64\n", "the user's processes can read the key of an unlocked vault", bare)
    inside = place.corral("--", "/usr/bin/python3", "-c", KEYS, name, command="run")
    ok(inside.stdout == f"errno {EPERM}\n", "a command in a sandbox cannot", inside)
    policy = place.write("policy.yaml", json.dumps({"fs": {"read": ["/**"], "write": ["/**"]}, "exec": ["/**"]}))
    for words in (("cat", str(place.file)), ("cat", str(place.vault / "vault.old")), ("ls", str(place.vault)), ("cp", "/etc/hostname", str(place.vault / "x"))):
        ok(subprocess.run(words, capture_output=True, check=False).returncode == 0, f"{words[0]} works outside")
        done = place.corral("-p", policy, "--", *words, command="run")
        ok(done.returncode != 0 and "corral vault" not in done.stdout, f"{' '.join(words[:1])}: not inside, even with all files granted", done)
    (place.vault / "x").unlink()
    done = place.corral("-p", policy, "--", CORRAL, "vault", "list", command="run")
    ok(done.returncode != 0 and "TOKEN" not in done.stdout, "corral vault does not work inside", done)


def process(place):
    """corral-vault while it has the key, as another process of the user sees it."""
    held = subprocess.Popen([CLIENT, "hold"], env={**place.env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=place.path)
    ok(held.stdout.readline() == "up\n", "corral-vault runs")
    pid = int(pathlib.Path(f"/proc/{held.pid}/task/{held.pid}/children").read_text().split()[0])
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    # A sanitizer makes mlock() do nothing.
    ok(SANITIZED or int(re.search(r"VmLck:\s+(\d+)", status)[1]) >= 100, "its memory for secrets is locked", status)
    ok("Seccomp:\t2" in status and "NoNewPrivs:\t1" in status, "it is confined")
    ok(re.search(r"Max core file size\s+1\s+1\s", pathlib.Path(f"/proc/{pid}/limits").read_text()), "it leaves no core file")
    ok(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() == b"corral-vault\0", "nothing is in its arguments")
    ok(os.stat(f"/proc/{pid}/mem").st_uid == 0, "its memory belongs to root")
    if os.geteuid() != 0:
        for name in ("mem", "environ", "maps", "fd/3", "auxv"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    file.read(1)
                refused = False
            except PermissionError:
                refused = True
            ok(refused, f"/proc/PID/{name} is refused")
        libc = ctypes.CDLL(None, use_errno=True)
        ok(libc.ptrace(16, pid, 0, 0) == -1 and ctypes.get_errno() == EPERM, "ptrace is refused")
    listening = [line for line in pathlib.Path("/proc/net/unix").read_text().splitlines() if str(place.path) in line]
    ok(not listening, "there is no socket to connect to", listening)
    held.stdin.close()
    held.wait(60)
    done = subprocess.run([VAULT], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    ok(done.returncode == 2 and "started by corral" in done.stderr, "by hand it does not start", done)
    if os.geteuid() != 0 and not SANITIZED:  # root may lock what it likes
        few, enough = (subprocess.run(["sh", "-c", f"ulimit -l {limit} && exec {shlex.quote(CORRAL)} vault list"], env=place.env, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False) for limit in (64, 8192))
        ok(few.returncode == 2 and "`ulimit -l`" in few.stderr, "memory that cannot be locked: it says what to do", few)
        ok(enough.returncode == 0, "which helps", enough)


def grants(place):
    host = "api.github.com:443"
    get = ("get", "1", "claude", "TOKEN")
    ok("is not granted" in place.client(*get, host, "header").stdout, "without a grant there is no value")
    for bad in ("*.github.com:443", "github.com", "https://github.com/x", "10.0.0.0/8:443", "github.com:1-9"):
        ok(place.corral("grant", "TOKEN", bad).returncode == 2, f"{bad} is not one host")
    ok(place.corral("grant", "NONE", host).returncode == 5, "nor is there a secret of any name")
    ok(place.corral("grant", "TOKEN", "API.GitHub.com:443", "--to", "claude").returncode == 0, "it is granted")
    done = place.client(*get, host, "header")
    ok(done.stdout == OTHER + "\n", "and given", done)
    for words, name in (((*get, "api.github.com:444", "header"), "another port"), ((*get, "evil.example.com:443", "header"), "another host"),
                        ((*get, host, "query"), "another place"), ((*get, host, "header,query"), "two places"),
                        (("get", "1", "codex", "TOKEN", host, "header"), "another sandbox")):
        done = place.client(*words)
        ok(done.stdout.startswith("! ") and OTHER not in done.stdout, f"not for {name}", done)
    ok(place.client("bad", "claude").stdout == "hung up\n", "a client can only get values")
    uses = place.corral("uses", "TOKEN").stdout
    ok(re.search(r"allowed .*vault\.use:TOKEN.*\n +.*api\.github\.com:443", uses), "the host stands below each use", uses)
    done = place.corral("uses", "NOWHERE")
    ok(done.returncode == 0 and not done.stdout and "the log has nothing about NOWHERE" in done.stderr, "without a use it says so", done)
    uses = place.corral("uses", "TOKEN", "--json").stdout
    rows = [json.loads(line) for line in uses.splitlines()]
    used = [row for row in rows if row["target"] == "vault.use:TOKEN"]
    ok([row["decision"] for row in used].count("allowed") == 1 and [row["decision"] for row in used].count("denied") == 6 and OTHER not in uses,
       "each use is a record without the value", used)
    ok(used and used[1]["sandbox"] == "claude" and host in used[1]["reason"], "which says who and for which host", used[1:2])
    ok(place.corral("revoke", "TOKEN", host).returncode == 2 + 3 and place.corral("revoke", "TOKEN", host, "--to", "claude").returncode == 0, "the grant is taken back")
    ok("is not granted" in place.client(*get, host, "header").stdout, "and there is no value any more")


def taken_over(place):
    """An injector that was taken over gains the secrets of its sandbox, and no other that the vault would lend to that one."""
    if place.corral(command="doctor").returncode != 0:
        broker_tap.skip("an injector that was taken over", "kernel: no sandbox can be had here")
        return
    grants_of = {"LENT": ("lent.example.com:443",), "OPEN": ("open.example.com:443",), "BOUND": ("bound.example.com:443", "--to", "another"),
                 "DATABASE": ("db.example.com:5432", "--in", "postgresql")}
    for name, words in grants_of.items():
        place.corral("set", name, value=f"value-of-{name}")
        ok(place.corral("grant", name, *words).returncode == 0, f"{name} is granted")
    place.env.update(CORRAL_INJECT=CLIENT, CORRAL_POSTGRES=CLIENT)
    for lent, others in (("LENT", ("OPEN", "BOUND", "DATABASE")), ("DATABASE", ("LENT", "OPEN", "BOUND"))):
        said = place.corral("--secret", lent, "--", "true", command="run").stderr
        ok(f"value-of-{lent}" in said, f"the process that is lent {lent} has it", said)
        ok(not any(f"value-of-{other}" in said for other in others) and said.count("is not granted") == 3, "and no secret that its run was not lent", said)
    place.corral("remove", *grants_of)


def sources(place):
    def refused(name, source, text):
        place.corral("set", name, "--from", source)
        done = place.corral("export", "--yes", name)
        ok(done.returncode != 0 and text in done.stderr, f"{source[:50]} is refused", done)
        place.corral("remove", name)

    for bad in ("file:relative", "cmd:gh auth token", "env:A B", "http://x", "secret-service:x"):
        ok(place.corral("set", "S", "--from", bad).returncode == 2, f"{bad} is not a source")
    home = pathlib.Path(place.write("token", "of-a-file\n"))
    ok(place.corral("set", "OF_FILE", "--from", f"file:{home}").returncode == 0 and place.value("OF_FILE") == "of-a-file", "a value of a file", place.value("OF_FILE"))
    done = place.corral("set", "OF_FILE", "--from", "env:HOME")
    ok(done.returncode == 2 and "corral vault rotate OF_FILE --from SOURCE" in done.stderr, "another source for a name that is there is refused", done)
    place.corral("set", "SOURCED", "--from", "env:HOME")
    done = place.corral("set", "SOURCED", value=VALUE)
    ok(done.returncode == 2 and "corral vault remove SOURCED removes it" in done.stderr, "a value for one with a source is refused", done)
    ok(place.corral("remove", "SOURCED").returncode == 0 and place.corral("set", "SOURCED", "--from", f"file:{home}").returncode == 0 and
       place.value("SOURCED") == "of-a-file", "which the lines that are suggested give it")
    home.write_text("another\n")
    ok(place.value("OF_FILE") == "another", "is read when it is used")
    home.chmod(0o640)
    ok("mode 0600" in place.value("OF_FILE"), "a file that others can read is refused")
    home.chmod(0o600)
    link = place.path / "work/link"
    link.symlink_to(home)
    refused("LINK", f"file:{link}", "could have made the link")
    ok(place.corral("set", "OF_ENV", "--from", "env:TOKEN_OF_THE_ENVIRONMENT").returncode == 0 and place.value("OF_ENV") == "from-the-environment", "of a variable")
    ok(place.corral("set", "OF_CMD", "--from", "cmd:/usr/bin/printf of-a-program").returncode == 0 and place.value("OF_CMD") == "of-a-program", "of a program", place.value("OF_CMD"))
    ok(place.corral("set", "ALL", "--from", "cmd:/usr/bin/env").returncode == 0 and "TOKEN_OF_THE_ENVIRONMENT" not in place.value("ALL") and "PATH=" in place.value("ALL"),
       "which gets none of our variables", place.value("ALL"))
    helper = place.write("work/helper", "#!/bin/sh\necho stolen\n", 0o755)
    refused("NEAR", f"cmd:{helper}", "could change it")
    refused("SCRIPT", f"cmd:/bin/sh {helper}", "could change it")
    (place.path / "work/sh").symlink_to("/bin/sh")
    refused("VIA", f"cmd:{place.path}/work/sh -c true", "could change it")
    refused("FAILS", "cmd:/bin/false", "failed")
    refused("LONG", "cmd:/usr/bin/head -c 20000 /dev/zero", "could change it")
    refused("MUCH", "cmd:/usr/bin/seq 1 9999", "more than")
    refused("NOTHING", "cmd:/bin/true", "empty")
    refused("UNSET", "env:NOT_SET_AT_ALL", "not set")


def refresh(place):
    made = place.path / "made"
    made.mkdir()
    # Prints another value each time, and leaves a file for each time.
    ok(place.corral("set", "FRESH", "--from", f"cmd:/usr/bin/mktemp --tmpdir={made} token.XXXXXXXX", "--keep", "1h").returncode == 0, "a source whose value is kept")
    place.corral("grant", "FRESH", "x.example.com:443")
    several = [subprocess.Popen([CLIENT, "get", "4", "claude", "FRESH", "x.example.com:443", "header"], env=place.env, stdout=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True) for _ in range(4)]
    got = "".join(process.communicate(timeout=120)[0] for process in several).split()
    ok(len(got) == 16 and len(set(got)) == 1 and len(list(made.iterdir())) == 1, "sixteen at once: it is asked once, and all have that value", got)
    ok(place.value("FRESH") == got[0] and place.entry("FRESH")["expires"] > time.time(), "it was written back")
    ok(place.corral("rotate", "FRESH").returncode == 0 and place.value("FRESH") != got[0] and len(list(made.iterdir())) == 2, "rotate asks again")
    place.corral("set", "MOVES", value=VALUE)
    place.corral("grant", "MOVES", "x.example.com:443")
    done = place.corral("set", "MOVES", "--from", "cmd:/usr/bin/printf second")
    ok(done.returncode == 2 and "corral vault rotate MOVES --from SOURCE" in done.stderr, "a source for a name that is there is refused", done)
    for source, value in (("cmd:/usr/bin/printf second", "second"), ("cmd:/usr/bin/printf third", "third")):
        done = place.corral("rotate", "MOVES", "--from", source, "--keep", "1h")
        ok(done.returncode == 0 and place.value("MOVES") == value and place.entry("MOVES")["grants"], f"rotate --from: {value}", done, place.entry("MOVES"))
    ok(VALUE not in place.corral("export", "--yes").stdout, "the value that it had is gone")
    for words, why in ((("--from", "printf x"), "printf"), (("--from", "cmd:/usr/bin/printf x", "--expires-in", "1h"), "--keep is for a source"),
                       (("--keep", "1h"), "--keep is for a source")):
        done = place.corral("rotate", "MOVES", *words)
        ok(done.returncode == 2 and why in done.stderr and place.value("MOVES") == "third", f"rotate {' '.join(words)} is refused", done)
    ok(place.corral("set", "JSON", "--from", 'cmd:/usr/bin/printf {"value":"v1","expires_in":3600}').returncode == 0 and place.value("JSON") == "v1" and
       3500 < place.entry("JSON")["expires"] - time.time() <= 3600, "a program says when its value expires")


def many_at_once(place):
    several = [subprocess.Popen([CORRAL, "vault", "set", f"N{i}"], env=place.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(12)]
    errors = [process.communicate(f"value {i}")[1] for i, process in enumerate(several)]
    ok(all(process.returncode == 0 for process in several), "twelve changes at once", *errors)
    ok(all(place.value(f"N{i}") == f"value {i}" for i in range(12)), "are all there")
    place.corral("remove", *[f"N{i}" for i in range(12)])


def kills(place):
    """kill -9 of corral-vault and of corral during rotate: the old value or the new one. test-store.c does it at each call."""
    known, bad = [OTHER], []
    place.corral("rotate", "TOKEN", value=OTHER)
    for i in range(16):
        new = f"value-{i}"
        both = subprocess.Popen([CORRAL, "vault", "rotate", "TOKEN"], env=place.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                text=True, start_new_session=True)
        both.stdin.write(new)
        both.stdin.close()
        time.sleep(i * 0.003)  # any moment will do
        children = pathlib.Path(f"/proc/{both.pid}/task/{both.pid}/children")
        # A sanitizer looks for leaks by a child of its own, for which it would wait for ever.
        try:
            pids = [pid for pid in children.read_text().split() if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("corral-vault")] if i % 2 else []
        except OSError:
            pids = []
        for pid in [int(pid) for pid in pids] or [both.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        both.wait(60)
        got = place.value("TOKEN")
        bad += [] if got in (known[-1], new) else [got]
        known.append(got)
    ok(not bad, "a killed rotate leaves the old value or the new one", *bad)


def stored_key(place):
    doctor = {x["name"]: x for x in json.loads(place.corral("doctor", "--json").stdout)["checks"]}
    ok(doctor["vault"]["held"] and doctor["keyring"]["held"], "doctor finds vault and keyring", doctor)
    if not doctor["systemd-creds"]["held"]:
        ok(os.geteuid() != 0 or not shutil.which("systemd-creds") or "does not work" in doctor["systemd-creds"]["text"],
           "and says why systemd-creds does not keep its key", doctor["systemd-creds"])
        ok(place.corral("unlock", "--key", "systemd-creds", passphrase=place.passphrase).returncode == 2, "which is refused then")
        return
    ok(place.corral("unlock", "--key", "systemd-creds", passphrase=place.passphrase).returncode == 0, "systemd-creds keeps a key")
    ok(place.corral("lock").returncode == 0 and place.corral("list").returncode == 0, "and opens the vault without a passphrase")


def another_passphrase(place):
    before = place.value("TOKEN")
    done = place.corral("rotate", "--passphrase", value="another passphrase")
    ok(done.returncode == 0, "the vault gets another passphrase", done)
    place.corral("lock")
    ok("wrong" in place.corral("list", passphrase=place.passphrase).stderr, "the old one opens it no more")
    ok(not (place.vault / "vault.old").exists(), "nor a copy")
    ok(place.corral("unlock", passphrase=place.write("new", "another passphrase\n")).returncode == 0 and place.value("TOKEN") == before, "the new one does")


def main():
    scratch = tempfile.mkdtemp(prefix="cv-")
    place = Place(scratch)
    try:
        for part in (keys, guesses, values, copies, nowhere, damage, sandbox, process, grants, taken_over, sources, refresh, many_at_once, kills, stored_key, another_passphrase):
            part(place)
    finally:
        place.corral("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
