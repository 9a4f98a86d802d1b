#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run --ssh-agent` and `--ssh-sign`: a real ssh-agent, two real servers, ssh, git and ssh-keygen; and clients that want more than
was granted (ssh-attack.py). As root, once more as an ordinary user. Prints TAP."""

import base64
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_SSH_AGENT")
CORRAL, FILTER = (os.path.abspath(os.environ[name]) for name in PROGRAMS)
ATTACK = os.path.abspath(os.environ["SSH_ATTACK"])
ME = pwd.getpwuid(os.geteuid())
# sshd starts its commands by the user's shell, and an account of the system may have none.
HAS_SHELL = ME.pw_shell.endswith("sh")
# That sshd knows, too: of a user that is not there it asks for no signature.
OTHER = "daemon"
NEEDED = ("ssh", "ssh-agent", "ssh-add", "ssh-keygen", "/usr/sbin/sshd")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=120, check=False, **more)


class Server:
    """An sshd with keys of its own. Without PAM, one of an ordinary user takes all accounts for locked."""

    def __init__(self, place, name):
        self.folder = place.path / name
        self.folder.mkdir()
        self.keys, self.port = {}, free_port()
        for kind in ("ed25519", "ecdsa", "rsa"):
            run("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(self.folder / kind))
            self.keys[kind] = " ".join((self.folder / f"{kind}.pub").read_text().split()[:2])
        self.log = self.folder / "log"
        config = self.folder / "config"
        config.write_text(f"Port {self.port}\nListenAddress 127.0.0.1\nPidFile none\nAuthorizedKeysFile {place.path}/authorized\n"
                          "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM " + ("no" if os.geteuid() == 0 else "yes") +
                          "\nStrictModes no\nPermitRootLogin yes\nPrintMotd no\n"
                          "AllowAgentForwarding yes\nMaxStartups 100\n" + "".join(f"HostKey {self.folder}/{kind}\n" for kind in self.keys))
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", str(config), "-E", str(self.log)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=60).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)

    def accepted(self):
        return self.log.read_text().count("Accepted publickey for")

    def known(self, *kinds):
        return "".join(f"[127.0.0.1]:{self.port} {self.keys[kind]}\n" for kind in kinds or self.keys)


class Place:
    def __init__(self, scratch):
        self.path = pathlib.Path(scratch).resolve()
        self.work = self.path / "work"
        # As /run/user has it: outside of the home.
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="cr-")).resolve()
        for name in (".ssh", "work"):
            (self.path / name).mkdir(mode=0o700)
        self.known = self.path / ".ssh/known_hosts"
        self.socket = self.path / "keys.sock"
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"), "XDG_CONFIG_HOME": str(self.path / "config"),
                    "XDG_RUNTIME_DIR": str(self.runtime), "XDG_CACHE_HOME": str(self.path / "cache"), "LC_ALL": "C.UTF-8", "CORRAL_SSH_AGENT": FILTER,
                    "SSH_AUTH_SOCK": str(self.socket)}
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "of-the-test", "-f", str(self.path / "key"))
        run("ssh-keygen", "-q", "-t", "rsa", "-N", "", "-C", "rsa-of-the-test", "-f", str(self.path / "key-rsa"))
        shutil.copy(self.path / "key.pub", self.path / "authorized")
        self.agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(self.socket)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while run("ssh-add", "-l", env=self.env).returncode == 2 and self.agent.poll() is None:
            time.sleep(0.05)
        run("ssh-add", "-q", str(self.path / "key"), str(self.path / "key-rsa"), env=self.env)
        self.a, self.b = Server(self, "a"), Server(self, "b")
        self.known.write_text(self.a.known("ed25519") + self.b.known("ed25519"))
        self.login = f"{ME.pw_name}@127.0.0.1:{self.a.port}"

    def call(self, *words, **env):
        return run(CORRAL, *words, cwd=self.work, stdin=subprocess.DEVNULL, env={**self.env, **env}, start_new_session=True)

    def run(self, script, *options, **env):
        return self.call("run", *options, "--", "sh", "-c", script, **env)

    def ssh(self, server, *words, user=ME.pw_name, known=None):
        return " ".join(["ssh", "-o", f"UserKnownHostsFile={known or self.known}", "-o", "BatchMode=yes", "-p", str(server.port), *words, f"{user}@127.0.0.1", "true"])

    def bare(self, script):
        return run("sh", "-c", script, cwd=self.work, stdin=subprocess.DEVNULL, env=self.env)

    def end(self):
        for process in (self.agent, self.a.process, self.b.process):
            process.kill()
            process.wait()
        shutil.rmtree(self.runtime, ignore_errors=True)


def words(place):
    """What is no grant, and what is said then."""
    for options in ((), ("git",)):
        done = place.call("run", "--ssh-agent", *options, "--", "true")
        ok(done.returncode == 125 and "--ssh-agent git@github.com" in done.stderr, "without a login it says what to write", done)
    for value in ("*@github.com", "git@*", "git@github.com:me/x.git", "github.com"):
        done = place.call("run", "--ssh-agent", value, "--", "true")
        ok(done.returncode == 125 and value in done.stderr, f"{value} is no login", done)
    done = place.call("run", "--ssh-sign", "*", "--", "true")
    ok(done.returncode == 125 and "namespace" in done.stderr, "a pattern is no namespace", done)
    done = place.run("true", "--ssh-agent", "git@unknown.example")
    ok(done.returncode == 125 and "known_hosts has no key of unknown.example" in done.stderr and "ssh -p 22 git@unknown.example" in done.stderr,
       "a host without a key is named", done)
    done = place.run("true", "--profile", "offline", "--ssh-agent", place.login)
    ok(done.returncode == 125 and "offline" in done.stderr, "not with the profile offline", done)
    for option in ("--ssh-agent", "--ssh-sign"):
        done = place.call("run", "--mode", "rwx", option, place.login if option == "--ssh-agent" else "git", "--", "true")
        ok(done.returncode == 125 and option in done.stderr, f"{option}: not in mode rwx", done)
    done = place.run("true", "--ssh-agent", place.login, CORRAL_SSH_AGENT="/nonexistent")
    ok(done.returncode == 125 and "cannot start /nonexistent" in done.stderr, "a missing program is named", done)


def sockets(place):
    """The user's agent is found by SSH_AUTH_SOCK, by no link of a command."""
    (place.work / "left-behind").symlink_to(place.socket)
    (place.path / "no-socket").touch()
    rows = [("", "SSH_AUTH_SOCK is not set"), ("keys", "absolute path"), (str(place.path / "none"), "none"), (str(place.path / "no-socket"), "does not name a socket"),
            (str(place.work / "left-behind"), f"by the link {place.work}/left-behind")]
    for value, text in rows:
        done = place.run("true", "--ssh-agent", place.login, SSH_AUTH_SOCK=value)
        ok(done.returncode == 125 and text in done.stderr, f"SSH_AUTH_SOCK={value}: refused", done)
    (place.work / "left-behind").unlink()
    done = place.run("ssh-add -l")
    ok("of-the-test" not in done.stdout, "without a grant there is no agent inside", done)
    done = place.run('ssh-add -l; ls -A "$(dirname "$SSH_AUTH_SOCK")"; cat ~/.ssh/id_ed25519 ../key', "--ssh-agent", place.login)
    ok("of-the-test" in done.stdout and "PRIVATE" not in done.stdout, "its keys are listed, and are not there", done)
    done = place.run("ssh-add -D; ssh-add -d ../key.pub; ssh-add -x </dev/null; ssh-add -l", "--ssh-agent", place.login)
    ok("of-the-test" in done.stdout and "of-the-test" in run("ssh-add", "-l", env=place.env).stdout, "they stay", done)
    shared = place.path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    state = place.env["XDG_STATE_HOME"]
    for runtime, parent in ((place.env["XDG_RUNTIME_DIR"], place.env["XDG_RUNTIME_DIR"]), ("", state), (str(shared), state)):
        done = place.run("echo $SSH_AUTH_SOCK; ssh-add -l", "--ssh-agent", place.login, XDG_RUNTIME_DIR=runtime)
        path = done.stdout.split("\n")[0]
        ok(path.startswith(f"{parent}/corral/ssh-") and "of-the-test" in done.stdout and not os.path.exists(os.path.dirname(path)),
           f"with XDG_RUNTIME_DIR={runtime} its socket is in {parent}/corral, and its folder goes", done)
    (place.work / "all.yaml").write_text("fs: {read: [/**]}\n")
    for options in (("--mode", "sandbox", "--data-dir", str(place.work)), ("--policy", "all.yaml")):
        done = place.run("ssh-add -l", *options, "--ssh-agent", place.login)
        ok("of-the-test" in done.stdout, f"{' '.join(options[:2])}: it is shown there", done)
    for option in ("--read", "--write"):
        done = place.run("ssh-add -l", option, str(place.runtime), "--ssh-agent", place.login)
        ok(done.returncode == 125 and "allow the folders that are needed one by one" in done.stderr, f"{option}: not with a grant for the folder around it", done)
    # A grant for the folder above does not show it to another sandbox, which would put its own socket there.
    with subprocess.Popen([CORRAL, "run", "--ssh-agent", place.login, "--", "sh", "-c", 'echo "$SSH_AUTH_SOCK"; read x; ssh-add -l'], cwd=place.work,
                          env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        path = process.stdout.readline().strip()
        other = place.run(f"ls -l {path}; mv {path} {path}.old || rm -f {path}; ln -s {place.socket} {path}; mv {place.runtime}/corral {place.runtime}/gone",
                          "--write", str(place.runtime))
        out, _ = process.communicate("\n", timeout=60)
        ok(os.path.basename(path) not in other.stdout and "of-the-test" in out and not os.path.islink(path) and not (place.runtime / "gone").exists(),
           "another sandbox does not swap it", path, other, out)


def logins(place):
    """Bare each of these works."""
    for server in (place.a, place.b):
        before = server.accepted()
        place.bare(place.ssh(server))
        ok(server.accepted() == before + 1, "bare, a login works", server.log.read_text()[-2000:])
    before = place.a.accepted()
    done = place.run(place.ssh(place.a), "--ssh-agent", place.login)
    ok(place.a.accepted() == before + 1 and (done.returncode == 0) == HAS_SHELL, "the granted one does", done, place.a.log.read_text()[-2000:])
    ok("refused" not in done.stderr, "nothing is refused", done)
    before = place.a.accepted(), place.b.accepted()
    done = place.run(place.ssh(place.a, user=OTHER), "--ssh-agent", place.login)
    ok("this user is not granted" in done.stderr and f"ssh.login:{OTHER}@127.0.0.1:{place.a.port}" in done.stderr, "another user does not, and the run says so", done)
    done = place.run(place.ssh(place.a), "--ssh-agent", f"{OTHER}@127.0.0.1:{place.a.port}")
    ok("this user is not granted" in done.stderr and done.returncode != 0, "nor does the user's own, if another is granted", done)
    done = place.run(place.ssh(place.b), "--ssh-agent", place.login, "--net", f"127.0.0.1:{place.b.port}")
    ok("that of no granted host" in done.stderr and done.returncode != 0, "another host does not, though it can be connected to", done)
    done = place.run(place.ssh(place.b), "--ssh-agent", place.login)
    ok(done.returncode != 0, "one that is not granted cannot be connected to", done)
    ok((place.a.accepted(), place.b.accepted()) == before, "and no server has let anyone in")
    before = place.a.accepted(), place.b.accepted()
    done = place.run(f"{place.ssh(place.a)}; {place.ssh(place.b)}", "--ssh-agent", place.login, "--ssh-agent", f"{ME.pw_name}@127.0.0.1:{place.b.port}")
    ok((place.a.accepted(), place.b.accepted()) == (before[0] + 1, before[1] + 1), "two are granted, and both work", done)
    (place.work / "known").write_text(place.a.known() + place.b.known())
    place.known.write_text(place.a.known() + place.b.known())
    for kind in ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256", "rsa-sha2-512"):
        before = place.a.accepted()
        done = place.run(place.ssh(place.a, "-o", f"HostKeyAlgorithms={kind}"), "--ssh-agent", place.login)
        ok(place.a.accepted() == before + 1, f"a host with {kind}", done)
    shutil.copy(place.path / "key-rsa.pub", place.path / "authorized")
    before = place.a.accepted()
    done = place.run(place.ssh(place.a), "--ssh-agent", place.login)
    ok(place.a.accepted() == before + 1, "by an RSA key", done)
    shutil.copy(place.path / "key.pub", place.path / "authorized")


def hosts(place):
    """The forms of known_hosts. ssh inside knows all keys: what refuses is the agent."""
    all_keys = place.work / "known"
    key, other = place.a.keys["ed25519"], place.b.keys["ed25519"]
    name = f"[127.0.0.1]:{place.a.port}"
    rows = [("a pattern", f"[127.0.0.*]:{place.a.port} {key}\n", True), ("the key of another", f"{name} {other}\n", False),
            ("revoked", f"{name} {key}\n{name} {place.a.keys['rsa']}\n@revoked * {key}\n", False), ("all names but it", f"*,!{name} {key}\n", None),
            ("another port", f"127.0.0.1 {key}\n", None), ("an authority", f"@cert-authority {name} {key}\n", None)]
    for what, text, works in rows:
        place.known.write_text(text)
        before = place.a.accepted()
        done = place.run(place.ssh(place.a, "-o", "HostKeyAlgorithms=ssh-ed25519", known=all_keys), "--ssh-agent", place.login)
        ok(place.a.accepted() == before + bool(works) and (works is not None or done.returncode == 125), f"known_hosts: {what}", done)
    ok("@cert-authority" in done.stderr, "certificates of hosts are refused by name", done)
    place.known.write_text(place.a.known("ed25519"))
    run("ssh-keygen", "-q", "-H", "-f", str(place.known))
    ok("|1|" in place.known.read_text() and "127.0.0.1" not in place.known.read_text(), "names are hashed")
    before = place.a.accepted()
    done = place.run(place.ssh(place.a), "--ssh-agent", place.login)
    ok(place.a.accepted() == before + 1, "known_hosts: hashed, and inside, too", done)
    place.known.write_text("".join(f"host-{i} {key}\n" for i in range(5000)) + place.known.read_text())
    before = place.a.accepted()
    done = place.run(place.ssh(place.a), "--ssh-agent", place.login)
    ok(place.a.accepted() == before + 1, "known_hosts: a long one", done)
    # There known_hosts is hidden, and the agent knows the key all the same.
    for n, options in enumerate((("--mode", "sandbox", "--data-dir", str(place.work)), ("--read", str(place.path)), ("--read", f"{place.path}/**"))):
        done = place.run(place.ssh(place.a, "-o", "StrictHostKeyChecking=accept-new", known="/tmp/known"), *options, "--ssh-agent", place.login)
        ok(place.a.accepted() == before + 2 + n, f"{' '.join(options[:2])}: it works", done)
    place.known.unlink()
    done = place.run("true", "--ssh-agent", place.login)
    ok(done.returncode == 125 and "known_hosts has no key" in done.stderr, "without the file no host is known", done)
    place.known.symlink_to(all_keys)
    done = place.run("true", "--ssh-agent", place.login)
    ok(done.returncode == 125 and f"by the link {place.known}" in done.stderr, "a link that a command could have made is refused", done)
    place.known.unlink()
    place.known.write_text(place.a.known("ed25519") + place.b.known("ed25519"))
    done = place.run(f"echo x >>{place.known}", "--ssh-agent", place.login)
    ok(done.returncode != 0 and "\nx\n" not in place.known.read_text(), "a command does not add to it", done)


def attacks(place):
    shutil.copy(ATTACK, place.work / "attack.py")
    # As root of the granted host has it.
    shutil.copy(place.a.folder / "ed25519", place.work / "hostkey-of-a")
    before = place.b.accepted()
    done = place.run(f"python3 attack.py {place.a.port} {place.b.port} {ME.pw_name} {place.known}", "--ssh-agent", place.login, "--net", f"127.0.0.1:{place.b.port}",
                     "--audit", str(place.path / "attack.log"))
    got = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    ok(len(got) > 50, "the attacks were made", done)
    good = {"ssh to the granted host": [6, 12, 14], "ssh to another host": [5, 12, 5], "unbound: the list": 12, "the bind once more, elsewhere": 6,
            "and what ssh had signed there": 14, "bound: the same bind": 6, "bound: still the granted one": 14, "length: no bytes": 0, "length: too many": 0,
            "length: very many": 0, "40 connections": 40, "forged: another host's session": 6, "forged: ssh, unbound": [6, 12, 5], "forged: ssh, host-bound": [6, 12, 5],
            "forged: ssh, yes": [6, 12, 5], "20 requests at once": 20, "after 50 that went": 12}
    for what, answer in got.items():
        wanted = good.get(what, 5)
        # ssh asks for one signature with each key that it is offered for.
        answer = sorted(set(answer), key=answer.index) if isinstance(answer, list) else answer
        wanted = sorted(set(wanted), key=wanted.index) if isinstance(wanted, list) else wanted
        ok(answer == wanted, f"{what}: {wanted}", answer)
    ok(place.b.accepted() == before, "the other host has let nobody in")
    listed = place.call("audit", "list", "--json", str(place.path / "attack.log")).stdout
    refused = {e["target"] for line in listed.splitlines() if line.startswith("{") and (e := json.loads(line))["decision"] == "denied"}
    ok({f"ssh.request:{n}" for n in (17, 18, 19, 22, 23, 20, 27, 1, 255, 11)} <= refused, "what would change the agent is refused in the log, too", refused)
    ok(place.agent.poll() is None, "the user's agent runs on")


def plain_in(text):
    """The option that a refusal names."""
    return re.search(r"--ssh-agent (plain:\S+)", text).group(1)


def plain(place):
    """A server that does not know publickey-hostbound."""
    old = place.ssh(place.a, "-o", "PubkeyAuthentication=unbound")
    before = place.a.accepted()
    done = place.run(old, "--ssh-agent", place.login)
    ok(place.a.accepted() == before and "does not name the host" in done.stderr, "a login that names no host is refused, and the run says so", done)
    more = plain_in(done.stderr)
    done = place.run(old, "--ssh-agent", more)
    ok(place.a.accepted() == before + 1 and "refused" not in done.stderr, f"{more}: it is not", done)
    done = place.run(place.ssh(place.a), "--ssh-agent", more)
    ok(place.a.accepted() == before + 2, "nor one that does", done)


def records(place):
    log = place.path / "audit.log"
    place.run(f"{place.ssh(place.a)}; {place.ssh(place.a, user=OTHER)}; for i in 1 2 3 4 5; do {place.ssh(place.a, user=OTHER)}; done; "
              "ssh-add -L >k.pub; head -1 k.pub >k1.pub; echo x | ssh-keygen -Y sign -n git -f k1.pub", "--ssh-agent", place.login, "--ssh-sign", "git", "--audit", str(log))
    text = place.call("audit", "list", "--json", str(log)).stdout
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    mine = [(e["target"], e["decision"]) for e in events if e.get("target", "").startswith("ssh.")]
    host = f"127.0.0.1:{place.a.port}"
    ok((f"ssh.login:{ME.pw_name}@{host}", "allowed") in mine and ("ssh.sign:git", "allowed") in mine, "each signature is in the log", mine, text[-2000:])
    ok((f"ssh.login:{OTHER}@{host}", "denied") in mine, "and each refusal", mine)
    count = sum(e.get("count", 1) for e in events if e.get("target") == f"ssh.login:{OTHER}@{host}")
    ok(count >= 6, "those that repeat themselves are counted", count, mine)
    keys = [base64.b64decode((place.path / name).read_text().split()[1]) for name in ("key.pub", "key-rsa.pub")]
    data = log.read_bytes()
    ok(not any(key[20:40] in data or base64.b64encode(key)[20:40] in data for key in keys), "and no key")
    done = place.call("run", "--json", "--ssh-agent", place.login, "--", "sh", "-c", place.ssh(place.a, user=OTHER))
    ok(json.loads(done.stdout)["status"] != 0 and not done.stderr, "--json is one object", done)


FLOOD = r"""
import os, socket, struct
string = lambda data: struct.pack(">I", len(data)) + data
with socket.socket(socket.AF_UNIX) as s:
    s.connect(os.environ["SSH_AUTH_SOCK"])
    for i in range(1000):
        data = string(bytes(32)) + b"\x32" + string(b"u%d" % i) + string(b"ssh-connection") + string(b"publickey") + b"\x01" + string(b"x") + string(b"k")
        s.sendall(string(b"\x0d" + string(b"k") + string(data) + bytes(4)))
        assert s.recv(5, socket.MSG_WAITALL) == b"\0\0\0\x01\x05"
"""


# The agent is asked, and has no such key.
NAMESPACES = ("a", "b")
FAILURES = r"""
import os, socket, struct
string = lambda data: struct.pack(">I", len(data)) + data
with socket.socket(socket.AF_UNIX) as s:
    s.connect(os.environ["SSH_AUTH_SOCK"])
    for i in range(4000):
        data = b"SSHSIG" + string(b"ab"[i % 2:i % 2 + 1]) + string(b"") + string(b"sha512") + string(bytes(64))
        s.sendall(string(b"\x0d" + string(string(b"ssh-ed25519") + string(bytes(32))) + string(data) + bytes(4)))
        assert s.recv(5, socket.MSG_WAITALL) == b"\0\0\0\x01\x05"
"""


def floods(place):
    """How many refusals there are is the command's choice; how many records there are is not."""
    (place.work / "flood.py").write_text(FLOOD)
    log = place.path / "flood.log"
    done = place.run("python3 flood.py", "--ssh-sign", "git", "--audit", str(log))
    events = [json.loads(line) for line in place.call("audit", "list", "--json", str(log)).stdout.splitlines() if line.startswith("{")]
    counts = [e["count"] for e in events if e["target"].startswith("ssh.") and e["decision"] == "denied"]
    ok(done.returncode == 0 and sum(counts) == 1000, "1,000 refusals are counted", len(counts), sum(counts), done)
    ok(0 < done.stderr.count("the ssh agent refused") <= 8, "and some of them said", done.stderr.count("the ssh agent refused"))
    (place.work / "failures.py").write_text(FAILURES)
    log = place.path / "failures.log"
    done = place.run("python3 failures.py", *(word for name in NAMESPACES for word in ("--ssh-sign", name)), "--audit", str(log))
    events = [json.loads(line) for line in place.call("audit", "list", "--json", str(log)).stdout.splitlines() if line.startswith("{")]
    events = [e for e in events if e["target"].startswith("ssh.")]
    ok(done.returncode == 0 and sum(e["count"] for e in events) == 4000, "4,000 requests that the agent refuses are counted", events[:3], done)
    ok(0 < len(events) <= 1000 and {"denied", "failed"} == {e["decision"] for e in events}, "in fewer records", len(events))


def outside(place):
    """The socket has a name on the host: nobody but the sandbox is let in."""
    with subprocess.Popen([CORRAL, "run", "--ssh-agent", place.login, "--", "sh", "-c", 'ssh-add -l; echo "$SSH_AUTH_SOCK"; read x; ssh-add -l'], cwd=place.work,
                          env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(3)]
        path = lines[-1].strip()
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            s.connect(path)
            try:
                s.sendall(b"\0\0\0\1\x0b")
                got = s.recv(100)
            except (ConnectionResetError, BrokenPipeError):
                got = b""
        ok(got == b"", "another process of the user is hung up on", got, lines)
        ok(os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700, "its folder is the user's alone")
        out, said = process.communicate("\n", timeout=60)
        ok("of-the-test" in out and "outside of the sandbox" in said, "inside it still works, and the run says what was there", out, said)


def kills(place):
    """The filter is killed in the middle: nothing is signed, and the command goes on."""
    with subprocess.Popen([CORRAL, "run", "--ssh-agent", place.login, "--", "sh", "-c", f"echo; read x; timeout 60 {place.ssh(place.a)}; echo went on"], cwd=place.work,
                          env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        found = [pid for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "corral-ssh-agent"[:15]]
        ok(len(found) == 1, "there is one filter", children)
        os.kill(int(found[0]), signal.SIGKILL)
        before = place.a.accepted()
        out, said = process.communicate("\n", timeout=120)
        ok("went on" in out and place.a.accepted() == before, "without it there is no login, and the command goes on", out, said)


def signatures(place):
    sign = "ssh-add -L | head -1 >k.pub; echo text >text; rm -f text.sig; ssh-keygen -Y sign -n {} -f k.pub text; test -s text.sig"
    done = place.run(sign.format("git"), "--ssh-agent", place.login)
    ok(done.returncode != 0 and "ssh.sign:git" in done.stderr, "a login is no namespace", done)
    done = place.run(sign.format("git"), "--ssh-sign", "git")
    ok(done.returncode == 0, "a granted namespace is", done)
    done = place.run(sign.format("file"), "--ssh-sign", "git")
    ok(done.returncode != 0 and "ssh.sign:file: this namespace is not granted" in done.stderr, "another is not", done)
    before = place.a.accepted()
    done = place.run(place.ssh(place.a), "--ssh-sign", "git", "--net", f"127.0.0.1:{place.a.port}", "--read", str(place.known))
    ok(place.a.accepted() == before and done.returncode != 0, "a namespace is no login", done)


def git(place):
    if not shutil.which("git", path=place.env["PATH"]):
        skip("git", "not installed: git; see tools/setup net")
        return
    (place.work / "k.pub").write_text((place.path / "key.pub").read_text())
    commit = ("git init -q r && cd r && git -c user.name=x -c user.email=x@example.com -c gpg.format=ssh -c user.signingkey=$PWD/../k.pub commit -q --allow-empty -S -m one")
    done = place.run(commit, "--ssh-sign", "git")
    (place.path / "signers").write_text("x@example.com " + (place.path / "key.pub").read_text())
    checked = run("git", "-c", "safe.directory=*", "-c", f"gpg.ssh.allowedSignersFile={place.path}/signers", "verify-commit", "HEAD", cwd=place.work / "r", env=place.env)
    ok(done.returncode == 0 and "Good" in checked.stdout + checked.stderr, "a commit is signed", done, checked)
    shutil.rmtree(place.work / "r")
    done = place.run(commit, "--ssh-agent", place.login)
    ok(done.returncode != 0 and "namespace is not granted" in done.stderr, "without the grant it is not", done)
    if not HAS_SHELL:
        return
    run("git", "init", "-q", "--bare", str(place.path / "repo"), env=place.env)
    shutil.rmtree(place.work / "r", ignore_errors=True)
    place.bare(f"git init -q r && cd r && git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m one && git push -q {place.path}/repo HEAD:refs/heads/main")
    ask = (f'GIT_SSH_COMMAND="ssh -o UserKnownHostsFile={place.known} -o BatchMode=yes" git ls-remote ssh://{{}}@127.0.0.1:{place.a.port}{place.path}/repo')
    done = place.run(ask.format(ME.pw_name), "--ssh-agent", place.login)
    ok("refs/heads/main" in done.stdout, "git over ssh", done)
    done = place.run(ask.format(OTHER), "--ssh-agent", place.login)
    ok("refs/heads/main" not in done.stdout and done.returncode != 0, "git as another user is refused", done)


def forwarding(place):
    """A machine that is logged in to gets nothing of the agent."""
    if not HAS_SHELL:
        return
    there = f"'ssh-add -l; {place.ssh(place.a)} && echo logged in'"
    ssh = place.ssh(place.a, "-A").removesuffix(" true")
    done = place.bare(f"{ssh} {there}")
    ok("of-the-test" in done.stdout and "logged in" in done.stdout, "bare, the agent is there and logs in further", done)
    done = place.run(f"{ssh} {there}", "--ssh-agent", place.login)
    ok("of-the-test" not in done.stdout and "logged in" not in done.stdout and "is not forwarded" in done.stderr, "by the filter it does not", done)


def main():
    missing = [program for program in NEEDED if not shutil.which(program)]
    if missing:
        print(f"1..0 # SKIP not installed: {', '.join(missing)}; see tools/setup net")
        return 0
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="ca-")
    os.chmod(scratch, 0o755)
    place = Place(scratch)
    try:
        for part in (words, sockets, logins, hosts, attacks, plain, records, floods, outside, kills, signatures, git, forwarding):
            part(place)
    finally:
        place.end()
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, SSH_ATTACK=ATTACK)
    return end()


if __name__ == "__main__":
    sys.exit(main())
