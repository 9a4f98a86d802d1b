#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that are granted to programs: who gets the value, and what commands try so that another program does. As root, once
more as an ordinary user. Prints TAP."""

import importlib.util
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

SOURCE = os.environ.get("RUN_SECRET_PY", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", SOURCE)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
VALUE = run_secret.VALUE
CURL = "/usr/bin/curl"

# Helpers of the attacks: what runs in the sandbox, by the path of the host and with $TOKEN.
COMMON = r"""
import array, ctypes, os, select, socket, ssl, struct, sys, time
host, port = sys.argv[1].split(":")
def connect():
    return socket.create_connection((host, int(port)))
def request(s):
    "TLS and a request by this process, whoever opened the connection."
    context = ssl.create_default_context()
    with context.wrap_socket(s, server_hostname=host) as t:
        t.sendall(f"GET /echo HTTP/1.1\r\nHost: {sys.argv[1]}\r\nConnection: close\r\nAuthorization: Bearer {os.environ['TOKEN']}\r\n\r\n".encode())
        while t.recv(9999):
            pass
# A granted program that does nothing, and keeps what it was given: it waits for a server that says nothing.
quiet = socket.socket()
quiet.bind(("127.0.0.1", 0))
quiet.listen(8)
def granted(*keep):
    args = ["curl", "-sS", "-m", "60", f"http://127.0.0.1:{quiet.getsockname()[1]}/"]
    pid = os.fork()
    if pid == 0:
        for fd in keep:
            os.set_inheritable(fd, True)
        for fd in range(3, 64):
            if fd not in keep:
                try:
                    os.close(fd)
                except OSError:
                    pass
        os.execv("/usr/bin/curl", args)
    quiet.accept()
    return pid
"""

ATTACKS = {
    "a process that connects, and starts the granted program with the connection": """
s = connect()
granted(s.fileno())
request(s)
""",
    "a process that becomes the granted program, and has a descriptor under way": """
# The connection is put into a Unix socket; the process that opened it becomes curl.
a, b = socket.socketpair()
ready, done = os.pipe()
pid = os.fork()
if pid == 0:
    s = connect()
    socket.send_fds(a, [b"x"], [s.fileno()])
    os.set_inheritable(s.fileno(), True)
    os.write(done, b"x")
    os.execv("/usr/bin/curl", ["curl", "-sS", "-m", "60", f"http://127.0.0.1:{quiet.getsockname()[1]}/"])
os.read(ready, 1)
quiet.accept()
_, fds, _, _ = socket.recv_fds(b, 1, 1)
request(socket.socket(fileno=fds[0]))
""",
    "a process that has another name": """
libc = ctypes.CDLL(None)
libc.prctl(15, b"curl", 0, 0, 0)
request(connect())
""",
    "a process that does not let itself be looked at": """
s = connect()
granted(s.fileno())
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
request(s)
""",
    "a thread with descriptors of its own": """
import threading
s = connect()
granted(s.fileno())
fd = s.detach()
def run():
    assert ctypes.CDLL(None).unshare(0x400) == 0
    ready.set()
    closed.wait()
    request(socket.socket(fileno=fd))
ready, closed = threading.Event(), threading.Event()
t = threading.Thread(target=run)
t.start()
ready.wait()
os.close(fd)
closed.set()
t.join()
""",
}

# What would make another program's request one of the granted program's.
MEMORY = r"""
pid, refused = granted(), 0
libc = ctypes.CDLL(None, use_errno=True)
try:
    os.open(f"/proc/{pid}/mem", os.O_RDWR)
except OSError:
    refused += 1
byte = ctypes.create_string_buffer(b"x")
vector = struct.pack("PN", ctypes.addressof(byte), 1)
pidfd = os.pidfd_open(pid)
calls = {"x86_64": (101, 311, 438), "aarch64": (117, 271, 438)}[os.uname().machine]
for number, args in ((calls[0], (16, pid, 0, 0)), (calls[1], (pid, vector, 1, vector, 1, 0)), (calls[2], (pidfd, 3, 0))):
    refused += libc.syscall(number, *args) == -1
os.kill(pid, 9)
print("refused", refused)
"""

PRELOAD = r"""
#include <stdlib.h>
__attribute__((constructor)) static void run(void) { }
unsigned la_version(unsigned version) { return version; }
"""


class Programs:
    def __init__(self, place, server):
        self.place, self.server = place, server
        self.url = f"https://{server.place}/echo"

    def run(self, script, *options):
        self.server.seen.clear()
        return self.place.run(script, "--secret", "TOKEN", *options)

    def sent(self):
        return [sent.removeprefix("Bearer ") for _, sent, _ in self.server.seen]

    def got_value(self):
        return VALUE in str(self.server.seen)

    def misplaced(self):
        found = []
        for line in self.place.call("audit", "list", "--json").stdout.splitlines():
            event = json.loads(line)
            if event.get("target") == "vault.misplaced:TOKEN":
                found.append(event.get("reason", ""))
        return found

    def curl(self, program="curl"):
        return f'{program} -sS -H "Authorization: Bearer $TOKEN" {self.url}'


def begin(place, server):
    ok(place.vault("init", "--passphrase-file", str(place.passphrase)).returncode == 0, "a vault is made")
    shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
    place.vault("unlock", "--passphrase-file", str(place.passphrase))
    place.vault("set", "TOKEN", value=VALUE)
    done = place.vault("grant", "TOKEN", server.place, "--program", CURL)
    ok(done.returncode == 0, "it is granted to a program", done)
    done = place.vault("list")
    ok(f"to {server.place} in header by {CURL}" in done.stdout, "the list has the program", done)
    grants = json.loads(place.vault("list", "--json").stdout)["secrets"][0]["grants"]
    ok(grants[0].get("programs") == CURL, "and as JSON", grants)


def refused(place, server):
    """Programs that a grant cannot be narrowed to."""
    work = place.path / "work"
    shutil.copy(CURL, work / "curl")
    (work / "link").symlink_to(CURL)
    script = pathlib.Path("/usr/bin/ldd")
    rows = [
        ("curl", "not an absolute path"),
        ("/usr/bin/none-such", "no such program"),
        ("/usr/bin", "no such program"),
        (str(work / "curl"), "could replace it"),
        (str(work / "link"), "could replace it"),
        (os.path.realpath("/usr/bin/python3"), "is an interpreter"),
        ("/bin/sh", "is an interpreter"),
        (str(script), "is a script"),
        ("/usr/bin/cur*", "no such program"),
    ]
    for program, why in rows:
        if program == str(script) and not script.exists():
            skip(program, "kernel: no such script here")
            continue
        done = place.vault("grant", "TOKEN", server.place, "--program", program)
        ok(done.returncode == 2 and why in done.stderr and program in done.stderr, f"--program {program}: {why}", done)
    done = place.vault("list")
    ok(f"in header by {CURL}" in done.stdout, "and the grant is as it was", done)


def clients(p):
    done = p.run(p.curl())
    ok(p.sent() == [VALUE], "the granted program: the host gets the value", p.server.seen, done)
    done = p.run(f'wget -q -O - --header="Authorization: Bearer $TOKEN" {p.url}')
    ok(len(p.sent()) == 1 and not p.got_value() and p.sent()[0].startswith("ghp_"), "another program: the host gets the placeholder", p.server.seen, done)
    ok("TOKEN is granted to /usr/bin/curl alone" in done.stderr and "/usr/bin/wget" in done.stderr, "and the run says why", done)
    ok(any(r == f"{p.server.place} in header by /usr/bin/wget" for r in p.misplaced()), "and the log has the program", p.misplaced())
    done = p.run(f"{p.curl()}; {p.curl()}; " + p.curl("sh -c 'exec curl \"$@\"' x"))
    ok(p.sent() == [VALUE] * 3, "each connection of the granted program, whoever starts it", p.server.seen, done)


def copies(p):
    work = p.place.path / "work"
    shutil.copy(CURL, work / "curl")
    rows = [
        ("a copy of the granted program in the work folder", p.curl("./curl"), "/curl"),
        ("a copy that is made inside", "cp /usr/bin/curl /tmp/curl; " + p.curl("/tmp/curl"), "/tmp/curl"),
        ("a hard link to a copy", "ln ./curl ./gh; " + p.curl("./gh"), "/gh"),
        ("the loader, which runs the program", p.curl("$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null | head -1) /usr/bin/curl"), "ld-linux"),
        ("an interpreter", f"""python3 -c 'import os, urllib.request as u
u.urlopen(u.Request("{p.url}", headers=dict(Authorization="Bearer " + os.environ["TOKEN"]))).read()'""", "interpreter"),
    ]
    for name, script, why in rows:
        done = p.run(script)
        ok(len(p.sent()) == 1 and not p.got_value(), f"{name}: no value", p.server.seen, done)
        ok(any(why in r for r in p.misplaced()), f"{name}: the log says by what", p.misplaced()[-3:])
    (work / "own").symlink_to(CURL)
    done = p.run(p.curl("./own"))
    ok(p.sent() == [VALUE], "a link to the granted program is that program", p.server.seen, done)


def attacks(p):
    work = p.place.path / "work"
    for name, text in ATTACKS.items():
        (work / "attack.py").write_text(COMMON + text)
        done = p.run(f"timeout 60 python3 attack.py {p.server.place}; kill $(pidof curl) 2>/dev/null; true")
        ok(len(p.sent()) == 1 and not p.got_value(), f"{name}: no value", p.server.seen, done)
    (work / "attack.py").write_text(COMMON + MEMORY)
    done = p.run(f"timeout 60 python3 attack.py {p.server.place}")
    ok("refused 4" in done.stdout, "the memory and the descriptors of the granted program are out of reach", done)
    compiler = shutil.which("cc", path=p.place.env["PATH"]) or shutil.which("gcc", path=p.place.env["PATH"])
    if not compiler:
        skip("LD_PRELOAD", "not installed: cc; see tools/setup")
        return
    (work / "preload.c").write_text(PRELOAD)
    broker_tap.subprocess.run([compiler, "-shared", "-fPIC", "-o", "preload.so", "preload.c"], cwd=work, check=True, timeout=60)
    for variable in ("LD_PRELOAD", "LD_AUDIT"):
        done = p.run(f"{variable}=$PWD/preload.so {p.curl()}")
        ok(len(p.sent()) == 1 and not p.got_value(), f"{variable} of a library in the work folder: no value", p.server.seen, done)
    ok(any("preload.so" in r for r in p.misplaced()), "and the log has the library", p.misplaced()[-3:])


def wider(p):
    ok(p.place.vault("grant", "TOKEN", p.server.place, "--program", CURL, "--program", "/usr/bin/wget").returncode == 0, "it is granted to two programs")
    done = p.run(f'wget -q -O - --header="Authorization: Bearer $TOKEN" {p.url}; {p.curl()}')
    ok(p.sent() == [VALUE] * 2, "both get the value", p.server.seen, done)
    ok(p.place.vault("grant", "TOKEN", p.server.place).returncode == 0, "it is granted again, to any program")
    done = p.run(f'wget -q -O - --header="Authorization: Bearer $TOKEN" {p.url}')
    ok(p.sent() == [VALUE], "any gets the value", p.server.seen, done)


def policies(p):
    """Policies name programs, too: what counts is what both name."""
    host, work = p.server.place, p.place.path / "work"
    wget = f'wget -q -O - --header="Authorization: Bearer $TOKEN" {p.url}'

    def policy(name, programs, place="header"):
        more = f", programs: [{', '.join(programs)}]" if programs else ""
        text = f'extends: workspace\nnetwork: {{allow: ["{host}"]}}\nsecrets: {{TOKEN: {{hosts: ["{host}"], in: [{place}]{more}}}}}\n'
        (work / name).write_text(text)

    def run(script, *options):
        p.server.seen.clear()
        return p.place.call("run", "--policy", "p.yaml", *options, "--", "sh", "-c", script)

    rows = [
        ("the policy names the program, the vault none", [CURL], [], [True, False]),
        ("the vault names it, the policy none", [], [CURL], [True, False]),
        ("both name it, and others", [CURL, "/usr/bin/gh"], ["/usr/bin/wget", CURL], [True, False]),
        ("both name both", [CURL, "/usr/bin/wget"], ["/usr/bin/wget", CURL], [True, True]),
    ]
    for name, named, granted, expected in rows:
        policy("p.yaml", named)
        p.place.vault("grant", "TOKEN", host, *[word for program in granted for word in ("--program", program)])
        done = run(f"{p.curl()}; {wget}")
        ok([sent == VALUE for sent in p.sent()] == expected, name, p.server.seen, done)
    policy("p.yaml", [CURL])
    p.place.vault("grant", "TOKEN", host, "--program", "/usr/bin/wget")
    done = run("echo ran")
    ok(done.returncode == 125 and "TOKEN is not granted for" in done.stderr and "ran" not in done.stdout, "what no program is left of ends the run before it starts", done)
    p.place.vault("grant", "TOKEN", host)
    policy("q.yaml", [CURL, "/usr/bin/wget"])
    done = run(f"{p.curl()}; {wget}", "--policy", "q.yaml")
    ok([sent == VALUE for sent in p.sent()] == [True, False], "of two policies both must name the program", p.server.seen, done)
    policy("q.yaml", [])
    done = run(f"{p.curl()}; {wget}", "--policy", "q.yaml")
    ok([sent == VALUE for sent in p.sent()] == [True, False], "one that names none has them all", p.server.seen, done)
    policy("q.yaml", ["/usr/bin/wget"])
    done = run(f"{p.curl()}; {wget}", "--policy", "q.yaml")
    ok(not p.got_value(), "two that have none in common let it go nowhere", p.server.seen, done)
    policy("p.yaml", [CURL], "header, query")
    done = run(f'{p.curl()}; curl -sS "{p.url}?q=$TOKEN"; wget -q -O - "{p.url}?q=$TOKEN"')
    ok(p.sent()[:1] == [VALUE] and str(p.server.seen).count(VALUE) <= 3 and not any(VALUE in path for path, _, _ in p.server.seen), "a place that the vault has not stays closed", p.server.seen, done)
    stored = p.place.path / "config/corral/policy.yaml"
    stored.parent.mkdir(parents=True)
    stored.parent.chmod(0o700)
    policy("p.yaml", [CURL])
    shutil.copy(work / "p.yaml", stored)
    for word in ("TOKEN", f"TOKEN={host}"):
        p.server.seen.clear()
        done = p.place.run(f"{p.curl()}; {wget}", "--secret", word)
        ok([sent == VALUE for sent in p.sent()] == [True, False], f"--secret {word.split('=')[0]}: a stored policy leaves its programs", p.server.seen, done)
    policy("p.yaml", [])
    done = run(f"{p.curl()}; {wget}")
    ok([sent == VALUE for sent in p.sent()] == [True, False] and "is not lent" not in done.stderr, "and of a policy that names none, too", p.server.seen, done)
    stored.unlink()


def verbs(p):
    host, work = p.server.place, p.place.path / "work"
    (work / "v.yaml").write_text(f'secrets: {{TOKEN: {{hosts: ["{host}"], programs: [{CURL}, /usr/bin/python3]}}}}\n')
    rows = [(f"{host},header,{CURL}", 0), (f"{host},header,/usr/bin/wget", 1), (host, 1), (f"{host},query,{CURL}", 1), (f"{host},header,curl", 2)]
    for target, status in rows:
        done = p.place.call("policy", "check", "--policy", "v.yaml", "--op", "secret", "--target", f"TOKEN={target}")
        ok(done.returncode == status, f"policy check: {target.removeprefix(host) or 'any program'}", done)
    done = p.place.call("policy", "show", "v.yaml")
    ok(done.returncode == 0 and "programs:" in done.stdout and CURL in done.stdout, "policy show prints the programs", done)
    done = p.place.call("policy", "lint", "v.yaml")
    ok("secret-program" in done.stdout + done.stderr and "interpreter" in done.stdout + done.stderr, "policy lint warns of an interpreter", done)
    (work / "v.yaml").write_text(f'secrets: {{TOKEN: {{hosts: ["{host}"], programs: []}}}}\n')
    done = p.place.call("policy", "check", "--policy", "v.yaml", "--op", "secret", "--target", f"TOKEN={host},header,{CURL}")
    ok(done.returncode == 2 and "no program would use the secret" in done.stderr, "an empty list is refused", done)


def main():
    scratch = tempfile.mkdtemp(prefix="cp-")
    place = run_secret.Place(scratch)
    try:
        server = run_secret.Server(place.path / "good.pem")
        p = Programs(place, server)
        begin(place, server)
        refused(place, server)
        clients(p)
        copies(p)
        attacks(p)
        wider(p)
        policies(p)
        verbs(p)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, run_secret.PROGRAMS, RUN_SECRET_PY=SOURCE, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
