#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run --tier 3`: what Landlock alone enforces for an agent mode, attacked. Prints TAP.

Every attack is run bare first, where it must work, and then inside, where it must fail: so it is the
confinement that stopped it. An attack that does not work bare proves nothing, and is skipped with the
kernel's reason.
"""

import ctypes
import mmap
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
PR_SET_PTRACER, ANY = 0x59616D61, ctypes.c_ulong(-1)
SYS = {"io_uring_setup": 425, **{"x86_64": {"mq_open": 240, "mq_unlink": 241}, "aarch64": {"mq_open": 180, "mq_unlink": 181}}[os.uname().machine]}
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.shmat.restype = ctypes.c_void_p


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# --- attacks: each is given the folder of the scene, and the victim; an OSError means that it failed ---

def create(top, _):
    open(f"{top}/outside/new", "w", encoding="ascii").close()


def change(top, _):
    with open(f"{top}/outside/file", "r+", encoding="ascii") as file:
        file.write("changed")


def truncate(top, _):
    os.truncate(f"{top}/outside/file", 0)


def truncate_by_reading(top, _):
    os.open(f"{top}/outside/file", os.O_RDONLY | os.O_TRUNC)
    if os.path.getsize(f"{top}/outside/file"):
        raise OSError("it is as long as it was")


def remove(top, _):
    os.unlink(f"{top}/outside/file")


def make_folder(top, _):
    os.mkdir(f"{top}/outside/folder")


def remove_folder(top, _):
    os.rmdir(f"{top}/outside/empty")


def make_fifo(top, _):
    os.mkfifo(f"{top}/outside/fifo")


def make_link(top, _):
    os.symlink("file", f"{top}/outside/link")


def move_out(top, _):
    open(f"{top}/agent/x", "w", encoding="ascii").close()
    os.rename(f"{top}/agent/x", f"{top}/outside/x")


def move_in(top, _):
    os.rename(f"{top}/outside/file", f"{top}/agent/stolen")


def hard_link(top, _):
    os.link(f"{top}/outside/file", f"{top}/agent/hard")
    with open(f"{top}/agent/hard", "a", encoding="ascii") as file:
        file.write("x")


def symbolic_link(top, _):
    os.symlink(f"{top}/outside/file", f"{top}/agent/soft")
    with open(f"{top}/agent/soft", "a", encoding="ascii") as file:
        file.write("x")


def by_proc_root(top, _):
    with open(f"/proc/self/root{top}/outside/file", "a", encoding="ascii") as file:
        file.write("x")


def by_victims_folder(top, victim):
    with open(f"/proc/{victim.pid}/cwd/file", "a", encoding="ascii") as file:
        file.write("x")


def by_descriptor(_, victim):
    os.write(victim.passed, b"x")


def reopen_input(_, victim):
    with open("/proc/self/fd/0", "r+b", buffering=0) as file:
        file.write(b"x" * victim.input)


def home_startup(top, _):
    with open(f"{top}/home/.bashrc", "a", encoding="ascii") as file:
        file.write("x")


def namespaces(_, __):
    check(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS))


def socket_by_path(top, _):
    socket.socket(socket.AF_UNIX).connect(f"{top}/tmp/socket")


def socket_by_name(top, _):
    socket.socket(socket.AF_UNIX).connect("\0" + top)


def socket_pair_elsewhere(top, _):
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pair[0].sendto(b"x", f"{top}/tmp/datagrams")


def memory(_, victim):
    with open(f"/proc/{victim.pid}/mem", "r+b", buffering=0) as file:
        file.seek(victim.address)
        file.write(b"changed")


def send_signal(_, victim):
    os.kill(victim.pid, signal.SIGUSR1)


def shared_memory(_, victim):
    if LIBC.shmat(victim.segment, None, 0) in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")


def queue(top, _):
    flags = os.O_CREAT | os.O_RDWR
    name = f"corral{os.path.basename(top)}".encode()
    check(LIBC.syscall(SYS["mq_open"], name, flags, 0o600, None))
    LIBC.syscall(SYS["mq_unlink"], name)  # it would stay, and a user has few of them


def ring(_, __):
    check(LIBC.syscall(SYS["io_uring_setup"], 4, ctypes.create_string_buffer(120)))


def set_user_id(top, _):
    shutil.copy("/bin/true", f"{top}/agent/true")
    os.chmod(f"{top}/agent/true", 0o4755)


def other_terminal(_, victim):
    with open(victim.terminal, "wb", buffering=0) as file:
        file.write(b"x")


ATTACKS = [create, change, truncate, truncate_by_reading, remove, make_folder, remove_folder, make_fifo, make_link, move_out,
           move_in, hard_link, symbolic_link, by_proc_root, by_victims_folder, by_descriptor, reopen_input, home_startup,
           namespaces, socket_by_path, socket_by_name, socket_pair_elsewhere, memory, send_signal, shared_memory, queue, ring,
           set_user_id, other_terminal]
# What only newer kernels enforce, by the version of Landlock.
NEWER = {send_signal: 6}


class Known:
    """What an attack is told about its victim."""

    def __init__(self, words):
        self.pid, self.address, self.segment, self.passed, self.input = (int(word) for word in words[:5])
        self.terminal = words[5]


def attack(words):
    try:
        globals()[words[0]](words[1], Known(words[2:]))
    except OSError as error:
        print(error)
        return 1
    return 0


# --- the scene ---

def victim(top):
    """A process of the same user: it has memory, a folder, a segment and a terminal."""
    LIBC.prctl(PR_SET_PTRACER, ANY, 0, 0, 0)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.chdir(f"{top}/outside")
    page = mmap.mmap(-1, 4096)
    segment = LIBC.shmget(0, 4096, 0o1600)
    master, slave = os.openpty()
    print(ctypes.addressof(ctypes.c_char.from_buffer(page)), segment, os.ttyname(slave), flush=True)
    while True:
        readable, _, _ = select.select([master, sys.stdin], [], [])
        if sys.stdin in readable:
            break
        os.read(master, 4096)
    LIBC.shmctl(segment, 0, None)
    return 0


class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-3."))
        for name in "outside/empty", "agent", "extra", "tmp", "home":
            os.makedirs(f"{self.top}/{name}")
        for name in "outside/file", "home/.bashrc", "outside/input":
            with open(f"{self.top}/{name}", "w", encoding="ascii") as file:
                file.write("as it was\n")
        self.sockets = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX),
                        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)]
        for one, name in zip(self.sockets, (f"{self.top}/tmp/socket", "\0" + self.top, f"{self.top}/tmp/datagrams")):
            one.bind(name)
        self.sockets[0].listen()
        self.sockets[1].listen()
        self.victim = subprocess.Popen([sys.executable, __file__, "victim", self.top], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.said = self.victim.stdout.readline().split()
        self.passed = os.open(f"{self.top}/outside/file", os.O_WRONLY)
        os.set_inheritable(self.passed, True)

    def environment(self):
        env = {**os.environ, "HOME": f"{self.top}/home", "TMPDIR": f"{self.top}/tmp",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        return {name: value for name, value in env.items() if not name.startswith(("XDG_", "CORRAL_"))}

    def run(self, words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(words, cwd=f"{self.top}/agent", env=self.environment(), capture_output=True, text=True,
                              pass_fds=(self.passed,), check=False, **more)

    def inside(self, *words, options=(), **more):
        return self.run([CORRAL, "run", "--mode", "sandbox", "--data-dir", f"{self.top}/agent", "--tier", "3", *options,
                         "--", *words], **more)

    def attack(self, name):
        words = [sys.executable, os.path.realpath(__file__), "attack", name, self.top, str(self.victim.pid), self.said[0],
                 self.said[1], str(self.passed), "1", self.said[2]]
        return words

    def close(self):
        os.close(self.passed)
        self.victim.stdin.write("\n")
        self.victim.stdin.close()
        self.victim.stdout.close()
        self.victim.wait()
        for one in self.sockets:
            one.close()
        shutil.rmtree(self.top, ignore_errors=True)


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def ok(self, good, name, result=None, skip=None):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)
        if not good and result is not None:
            print(f"# status {result.returncode}, out {result.stdout!r}, err {result.stderr!r}")


TAP = Tap()


def landlock_version():
    return LIBC.syscall(444, None, 0, 1)


def test_attacks():
    for one in ATTACKS:
        name = one.__name__.replace("_", " ")
        results = []
        for confined in False, True:
            scene = Scene()
            words = scene.attack(one.__name__)
            with open(f"{scene.top}/outside/input", "rb") as given:
                results.append((scene.inside if confined else lambda *w, **m: scene.run(w, **m))(*words, stdin=given))
            scene.close()
        bare, inside = results
        if bare.returncode != 0:
            TAP.ok(True, f"attack: {name}", skip=f"kernel: it does not work bare: {bare.stdout.strip()}")
        elif landlock_version() < NEWER.get(one, 0):
            TAP.ok(True, f"attack: {name}", skip=f"kernel: only version {NEWER[one]} of Landlock is in the way")
        else:
            TAP.ok(inside.returncode == 1 and inside.stdout != "", f"attack: {name}", inside)


WORKS = r"""
import os, socket, subprocess, sys
top = sys.argv[1]
for folder in "agent", "extra", "tmp":
    with open(f"{top}/{folder}/new", "w") as file:
        file.write("x")
    os.truncate(f"{top}/{folder}/new", 0)
    os.mkdir(f"{top}/{folder}/sub")
os.rename(f"{top}/agent/new", f"{top}/extra/sub/moved")
assert open(f"{top}/outside/file").read() == "as it was\n"
open("/dev/null", "w").write("x")
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    a.send(b"x")
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname())
assert subprocess.run(["/bin/sh", "-c", "exit 3"]).returncode == 3
print(sorted(name for name in os.environ if name.startswith(("CORRAL_", "LD_"))), os.getcwd(), os.environ["TMPDIR"])
"""


def test_what_works():
    scene = Scene()
    result = scene.inside(sys.executable, "-c", WORKS, scene.top, options=["--extra", f"{scene.top}/extra"])
    TAP.ok(result.returncode == 0, "what an agent needs works", result)
    TAP.ok(result.stdout.split() == ["[]", f"{scene.top}/agent", f"{scene.top}/tmp"], "environment and folder", result)
    for text in "may write only in", f"{scene.top}/agent", "does not enforce", "may be read", "chmod", "extended attributes":
        TAP.ok(text in result.stderr, f"said before it runs: {text.replace(scene.top, '')}", result)
    TAP.ok(scene.inside("sh", "-c", "exit 7").returncode == 7, "the command's status")
    result = scene.run([CORRAL, "run", "--mode", "rx", "--data-dir", f"{scene.top}/nothing", "--tier", "3", "--", "touch", f"{scene.top}/nothing/x"])
    TAP.ok(result.returncode == 0 and os.path.exists(f"{scene.top}/nothing/x"), "a data folder that is not there is made", result)
    TAP.ok(scene.inside("nothing-of-that-name").returncode == 127, "127: no such program")
    TAP.ok(scene.inside(f"{scene.top}/outside/file").returncode == 126, "126: no program")
    result = scene.inside("sh", "-c", "grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status")
    TAP.ok(result.stdout.split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1", "Seccomp:", "2"],
           "no capabilities, no new privileges, a filter", result)
    scene.close()


def test_refusals():
    scene = Scene()
    data = ["--mode", "sandbox", "--data-dir", f"{scene.top}/agent"]
    with open(f"{scene.top}/policy.yaml", "w", encoding="ascii") as file:
        file.write("fs: {read: [/**]}\n")
    rows = [
        ("without a mode", ["--tier", "3"], "requires --mode sandbox or --mode rx"),
        ("tier 2", [*data, "--tier", "2"], "--tier 2"),
        *((f"{words[0]}", [*data, "--tier", "3", *words], f"{words[0]} cannot be enforced") for words in (
            ["--policy", f"{scene.top}/policy.yaml"], ["--profile", "workspace"], ["--read", "/"], ["--write", scene.top],
            ["--deny", scene.top], ["--net", "x:1"], ["--exec", "ls"], ["--timeout", "1s"], ["--memory", "1G"], ["--pids", "9"],
            ["--max-output", "1K"], ["--explain"], ["--json"])),
        ("the home", ["--mode", "rx", "--data-dir", f"{scene.top}/home", "--tier", "3"], "holds your home"),
        ("what holds the home", ["--mode", "rx", "--data-dir", scene.top, "--tier", "3"], "holds your home"),
        ("Corral's own state", [*data, "--extra", f"{scene.top}/home/.config/corral", "--tier", "3"], "Corral's own settings"),
        ("what holds the log", [*data, "--audit", f"{scene.top}/agent/log", "--tier", "3"], "could change the log"),
    ]
    os.makedirs(f"{scene.top}/home/.config/corral")
    for name, options, text in rows:
        result = scene.run([CORRAL, "run", *options, "--", "touch", f"{scene.top}/agent/ran"])
        good = result.returncode == 125 and text in result.stderr + result.stdout
        TAP.ok(good and not os.path.exists(f"{scene.top}/agent/ran"), f"refused: {name}", result)
    with open(f"{scene.top}/home/.config/corral/policy.yaml", "w", encoding="ascii") as file:
        file.write("fs: {read: [/**]}\n")
    result = scene.inside("true")
    TAP.ok(result.returncode == 125 and "policy.yaml" in result.stderr, "refused: where a policy applies to every run", result)
    scene.close()
    scene = Scene()
    result = scene.run([CORRAL, "run", "--mode", "rx", "--data-dir", f"{scene.top}/agent", "--tier", "3", "--", "true"],
                       stdin=scene.sockets[2])
    TAP.ok(result.returncode == 125 and "socket" in result.stderr, "refused: a socket for datagrams as input", result)
    scene.close()


WITHOUT = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\""


def test_without_namespaces():
    """Where user namespaces are missing, tier 1 is refused and tier 3 works."""
    unshare = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", WITHOUT, "sh"]
    scene = Scene()
    mode = ["--mode", "sandbox", "--data-dir", f"{scene.top}/agent"]
    if scene.run([*unshare, "true"]).returncode != 0:
        TAP.ok(True, "without user namespaces", skip="kernel: user namespaces cannot be switched off here")
        scene.close()
        return
    result = scene.run([*unshare, CORRAL, "run", *mode, "--", "true"])
    TAP.ok(result.returncode == 125 and "user namespace" in result.stderr, "without user namespaces a mode is refused", result)
    TAP.ok("--tier 3" in result.stderr, "and --tier 3 is named", result)
    script = f"echo x >{scene.top}/agent/fine && ! echo x >{scene.top}/outside/new"
    result = scene.run([*unshare, CORRAL, "run", *mode, "--tier", "3", "--", "sh", "-c", script])
    TAP.ok(result.returncode == 0 and os.path.exists(f"{scene.top}/agent/fine"), "which then works", result)
    result = scene.run([*unshare, CORRAL, "doctor"])
    first = result.stdout.splitlines()[0] if result.stdout else ""
    TAP.ok(result.returncode == 1 and first.startswith("corral run does not work"), "doctor still says no", result)
    TAP.ok(re.search(r"tier 3 +by name", result.stdout), "and that tier 3 is there by name", result)
    scene.close()


def main():
    if landlock_version() < 3:
        print("1..0 # SKIP kernel: tier 3 needs version 3 of Landlock")
        return 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print(f"1..{TAP.n}")
    return 1 if TAP.failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["attack"]:
        sys.exit(attack(sys.argv[2:]))
    if sys.argv[1:2] == ["victim"]:
        sys.exit(victim(sys.argv[2]))
    CORRAL = os.path.abspath(os.environ["CORRAL"])
    sys.exit(main())
