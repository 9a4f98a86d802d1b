# SPDX-License-Identifier: Apache-2.0
"""What a running process has and may do, as lines that are the same on every machine: from /proc, and from what it is
allowed when it tries (attempt-within). What the observer may not see is left out."""

import collections
import ctypes
import os
import re
import resource
import subprocess

CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
NAMES = {21: "sys_admin", 12: "net_admin"}
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
LIMITS = {"core": resource.RLIMIT_CORE, "cpu": resource.RLIMIT_CPU, "data": resource.RLIMIT_DATA, "as": resource.RLIMIT_AS,
          "fsize": resource.RLIMIT_FSIZE, "nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC,
          "memlock": resource.RLIMIT_MEMLOCK, "sigpending": resource.RLIMIT_SIGPENDING, "msgqueue": resource.RLIMIT_MSGQUEUE}
FIXED = ("core", "nofile")  # the observer sets them, so their values are the same everywhere
LANDLOCK_SCOPES = 6
FEW = 2  # of descriptors: a relay has as many sockets as capturing a network takes, a warden those of the inits that wait
OF_LIBC = 0x180000000  # signals that posix_spawn() of the GNU C library leaves ignored


def landlock_version():
    """0: the kernel has none, or this architecture's number of the call is another."""
    got = ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)
    return max(got, 0)


def parents():
    """pid -> its parent, of all processes."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                found[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def below(pid):
    """pid and its descendants, each after its parent."""
    tree = parents()
    found = [pid]
    for one in found:
        found += sorted(child for child, parent in tree.items() if parent == one)
    return found


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def capabilities(hexadecimal, own):
    value = int(hexadecimal, 16)
    if value == 0:
        return "none"
    if value == own:
        return "all"
    return " ".join(NAMES.get(bit, f"cap_{bit}") for bit in range(64) if value >> bit & 1) if value.bit_count() <= 4 else "most"


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return None


def namespaces(pid, other):
    """Those that are not the other's; None where they cannot be seen."""
    if link(f"/proc/{pid}/ns/net") is None or link(f"/proc/{other}/ns/net") is None:
        return None
    return [name for name in NAMESPACES if link(f"/proc/{pid}/ns/{name}") != link(f"/proc/{other}/ns/{name}")]


def kind(target):
    if target.startswith(("socket:", "pipe:")):
        return target.split(":")[0]
    if target.startswith("anon_inode:"):
        return target.split(":", 1)[1].strip("[]")
    if target.startswith("/memfd:"):
        return "memfd"
    if target.startswith("/dev/"):
        return re.sub(r"/\d+$", "", target)
    return "folder" if os.path.isdir(target) else "file"


# What anyone may read, opened by an init when it looks at limits for the first time: a while after its command began.
LOOKED_AT = ("/loadavg", "/meminfo")


def descriptors(pid):
    try:
        targets = [link(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return None
    counts = collections.Counter(kind(target) for target in targets if target and not target.endswith(LOOKED_AT))
    return ", ".join(f"{count if count <= FEW else 'several'} {name}" for name, count in sorted(counts.items())) or "none"


def limits(pid):
    """Those that are not the observer's own."""
    different = []
    with open(f"/proc/{pid}/limits", encoding="utf-8") as file:
        shown = {row[0]: row[1:] for row in (re.split(r"\s{2,}", line.strip()) for line in file)}
    titles = {"core": "Max core file size", "cpu": "Max cpu time", "data": "Max data size", "as": "Max address space", "fsize": "Max file size",
              "nofile": "Max open files", "nproc": "Max processes", "memlock": "Max locked memory",
              "sigpending": "Max pending signals", "msgqueue": "Max msgqueue size"}
    for name, number in LIMITS.items():
        pair = [resource.RLIM_INFINITY if text == "unlimited" else int(text) for text in shown[titles[name]][:2]]
        own = list(resource.getrlimit(number))
        for what, value, was in zip(("soft", "hard"), pair, own):
            if value == was:
                continue
            if name in FIXED:
                different.append(f"{name} {what} {value}")
            else:
                lower = was == resource.RLIM_INFINITY or (value != resource.RLIM_INFINITY and value < was)
                different.append(f"{name} {what} {'lower' if lower else 'higher'}")
    return ", ".join(different) or "as given"


def attempts(pid):
    """[] where a process may not be stopped by the observer, or where there is no program for that."""
    program = os.environ.get("ATTEMPT_WITHIN")
    if not program or os.geteuid() != 0:
        return []
    done = subprocess.run([program, str(pid)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (pid, done.stderr)
    return done.stdout.splitlines()


def view(pid, top, tries=True):
    """The lines of a process; top: the process that its scene began with, whose namespaces are the host's."""
    got = status(pid)
    own = int(status(os.getpid())["CapBnd"], 16)
    lines = ["user: " + ("own map" if link_text(pid) != link_text(top) else "of the host"),
             "capabilities: " + ", ".join(f"{name[3:].lower()} {capabilities(got[name], own)}" for name in CAPABILITIES),
             f"no_new_privs: {got['NoNewPrivs']}",
             f"seccomp: {got['Seccomp']}, filters {got['Seccomp_filters']}",
             f"umask: {got['Umask']}",
             f"ignored signals: {int(got['SigIgn'], 16) & ~OF_LIBC:016x}, blocked {got['SigBlk']}",
             f"limits: {limits(pid)}"]
    own_namespaces, fds = namespaces(pid, top), descriptors(pid)
    lines += [] if own_namespaces is None else ["own namespaces: " + (" ".join(own_namespaces) or "none")]
    # The others keep what the machine's way to limit memory needs.
    lines += [] if fds is None or got["Seccomp"] == "0" else [f"descriptors: {fds}"]
    return lines + (attempts(pid) if tries else [])


def link_text(pid):
    with open(f"/proc/{pid}/uid_map", encoding="utf-8") as file:
        return file.read()
