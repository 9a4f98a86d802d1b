# SPDX-License-Identifier: Apache-2.0
"""A small internet: two network namespaces, and files of /etc that lead to the second one.

    host       where Corral, the bare runs and the runner are; one way out, to
    internet   which has every address in ADDRESSES, and the servers (servers.py, daemons.py)

Root makes them as root, and has an ordinary user beside. An ordinary user makes them in a user
namespace in which it is root, and the ordinary user inside is a user namespace within that one: so
no test needs root, and nothing here reaches the machine's own network.
"""

import contextlib
import ctypes
import errno
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

MARK = "CORRAL_NET_WORLD"  # in the environment: how the runner came into its namespaces
CLONE_NEWNET = 0x40000000
ORDINARY = 54321  # a user id without an account
NAME = "corralnet"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

WEB, WEB6 = "93.184.216.34", "2606:2800:220:1::34"
GIT = "140.82.112.3"
DATABASE = "52.20.30.40"
ECHO, ECHO6 = "151.101.1.1", "2a04:4e42::1"
ATTACKER, ATTACKER6 = "185.220.101.7", "2a0b:f4c2::7"
RESOLVER, OPEN_RESOLVER = "9.9.9.9", "8.8.8.8"
METADATA, PRIVATE = "169.254.169.254", "10.1.2.3"
NAT64_LOOPBACK, NAT64_PRIVATE = "64:ff9b::7f00:1", "64:ff9b::a01:203"
ADDRESSES = (WEB, WEB6, GIT, DATABASE, ECHO, ECHO6, ATTACKER, ATTACKER6, RESOLVER, OPEN_RESOLVER,
             METADATA, PRIVATE, NAT64_LOOPBACK, NAT64_PRIVATE)
# The two ends of the way out. Where a name has more addresses than the web server takes, the others
# are there too, and refuse.
HOST, HOST6 = "45.33.32.1", "2600:3c01::1"
GATE, GATE6 = "45.33.32.2", "2600:3c01::2"
REFUSING = "93.184.216.0/24"

libc = ctypes.CDLL(None, use_errno=True)


# In namespaces of its own: makes a pair of devices, and sees whether there is IPv6.
TRIAL = "ip link add name out type veth peer name in && test -d /proc/sys/net/ipv6"


def enter(arguments):
    """Starts the runner again in new namespaces, unless it is in them: then it returns None. If
    they cannot be made, it returns why not."""
    if os.environ.get(MARK):
        return None
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *user, "--net", "--mount", "--propagation", "private", "--"]
    trial = subprocess.run([*unshare, "sh", "-c", TRIAL], env={"PATH": PATH}, text=True,
                           check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if trial.returncode != 0:
        return " ".join(trial.stderr.split()) or "no IPv6"
    os.environ[MARK] = "user" if user else "root"
    return os.execvp(unshare[0], [*unshare, sys.executable, *arguments])


class Account:
    """Who runs a command. Root has no prefix; others get theirs by setpriv or a namespace."""

    def __init__(self, name, uid):
        self.name, self.uid = name, uid

    def prefix(self):
        if self.uid == 0:
            return []
        if os.environ[MARK] == "root":
            return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--"]
        return ["unshare", "--user", f"--map-user={self.uid}", f"--map-group={self.uid}", "--"]

    def give(self, path):
        """The tree there is the account's."""
        if os.environ[MARK] != "root":
            return  # one user outside, whatever it is called inside
        for folder, _, names in os.walk(path):
            for name in (".", *names):
                os.chown(os.path.join(folder, name), self.uid, self.uid, follow_symlinks=False)


def accounts():
    ordinary = Account("user", ORDINARY)
    return [Account("root", 0), ordinary] if os.environ[MARK] == "root" else [ordinary]


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def others_here():
    """Names of the processes in the host's namespace that are not the runner."""
    home, found = os.readlink("/proc/self/ns/net"), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == home and int(pid) != os.getpid():
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    found.append(file.read().strip())
        except OSError:
            pass  # it has just ended, or is not ours
    return found


class Internet:
    """The second namespace: a descriptor, and a thread that held it open while it was made."""

    def __init__(self):
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.fd = self.thread = None
        made, joined = threading.Event(), threading.Event()
        keeper = threading.Thread(target=self.make, args=(made, joined))
        keeper.start()
        made.wait()
        try:
            if self.fd is None:
                raise RuntimeError("no second network namespace")
            self.join()
        finally:
            joined.set()
            keeper.join()

    def make(self, made, joined):
        try:
            check(libc.unshare(CLONE_NEWNET))
            self.thread = threading.get_native_id()
            self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            made.set()
        joined.wait()

    @contextlib.contextmanager
    def inside(self):
        """Sockets and processes made meanwhile by this thread are of the internet."""
        check(libc.setns(self.fd, CLONE_NEWNET))
        try:
            yield
        finally:
            check(libc.setns(self.home, CLONE_NEWNET))

    def join(self):
        switch_on()
        ip(f"""link add out type veth peer name in netns {self.thread}
link set lo up
link set out up
addr add {HOST}/24 dev out
addr add {HOST6}/64 dev out nodad
""")
        with self.inside():
            switch_on()
            ip("link set lo up\nlink set in up\n"
               f"addr add {GATE}/24 dev in\naddr add {GATE6}/64 dev in nodad\n"
               f"route add local {REFUSING} dev lo\n"
               + "".join(f"addr add {a}{'/128 dev in nodad' if ':' in a else '/32 dev in'}\n"
                         for a in ADDRESSES))
        ip(f"route add default via {GATE}\nroute add default via {GATE6}\n")
        await_gate()


def await_gate():
    """The kernel notices a moment later that a device has its other end: until then what is sent there is lost."""
    for address, family in ((GATE, socket.AF_INET), (GATE6, socket.AF_INET6)):
        with socket.socket(family) as sock:
            sock.settimeout(60)
            error = sock.connect_ex((address, 1))
            if error != errno.ECONNREFUSED:
                raise RuntimeError(f"no way to {address}: {os.strerror(error)}")


def switch_on():
    """Servers of an ordinary user on low ports, and IPv6 where a machine has it off by default."""
    for name in ("ipv4/ip_unprivileged_port_start", "ipv6/conf/all/disable_ipv6",
                 "ipv6/conf/default/disable_ipv6"):
        with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as file:
            file.write("0")


def ip(batch):
    subprocess.run(["ip", "-batch", "-"], input=batch, text=True, check=True,
                   env={"PATH": PATH})


class World:
    """Both namespaces, a folder for everything, and /etc as the host sees it.

        pub/    what commands may read: programs, certificates, keys
        etc/    files that are mounted over those of /etc
        run/    the servers' own
    """

    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-n."))
        os.chmod(self.top, 0o755)
        self.internet = None
        self.server = Account(NAME, ORDINARY)
        try:
            self.make()
        except BaseException:
            self.end()
            raise

    def make(self):
        for name in ("pub", "etc", "run", "home"):
            os.mkdir(self.path(name))
        self.server.give(self.path("run"))
        self.server.give(self.path("home"))
        self.internet = Internet()
        self.mount_etc()

    def path(self, name):
        return os.path.join(self.top, name)

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def mount_etc(self):
        people = "".join(":".join(map(str, person)) + "\n" for person in pwd.getpwall()
                         if person.pw_uid != ORDINARY)
        us = f"{NAME}:x:{ORDINARY}:{ORDINARY}::{self.path('home')}:/bin/sh\n"
        self.write("etc/passwd", people + us)
        self.write("etc/resolv.conf", f"nameserver {RESOLVER}\noptions timeout:30 attempts:2\n")
        self.write("etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{ECHO} listed.example.com\n")
        self.write("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
        for name in os.listdir(self.path("etc")):
            target = os.path.realpath(f"/etc/{name}")
            subprocess.run(["mount", "--bind", self.path(f"etc/{name}"), target], check=True)

    def end(self):
        shutil.rmtree(self.top, ignore_errors=True)  # what is mounted goes with the namespace
