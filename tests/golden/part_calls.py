# SPDX-License-Identifier: Apache-2.0
"""The order in which the processes of `corral run` give up rights: system calls that confine, by strace, a section for each
process. With them the words that say what is given up (namespaces, limits, the filter), and no values.

What the machine or the kernel decides is left out: calls that read files, build the tree, wait or are made by the C
library; how often a call is repeated; and the inits of a session with several commands, which are made ahead of time."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile


USER = 65534
# Calls that confine, and how those of their words begin that count; 0: none does.
CALLS = {
    "capset": 0, "chdir": 0, "chroot": 0, "clone": "CLONE_", "clone3": "CLONE_", "close_range": 0, "execve": 0, "execveat": 0, "fchdir": 0,
    "ioctl": "(?:SIO|TIOCS)", "keyctl": "KEYCTL_JOIN", "landlock_add_rule": 0, "landlock_create_ruleset": 0, "landlock_restrict_self": 0, "pivot_root": 0,
    "prctl": "(?:PR_SET|PR_CAP)", "prlimit64": "RLIMIT_", "seccomp": "SECCOMP_SET", "setdomainname": 0, "setgid": 0, "setgroups": 0,
    "sethostname": 0, "setns": 0, "setpriority": 0, "setresgid": 0, "setresuid": 0, "setsid": 0, "setuid": 0, "socket": "AF_", "umask": 0,
    "umount2": "MNT_", "unshare": "CLONE_",
}
TREE = {"fsconfig", "fsmount", "fsopen", "mount", "mount_setattr", "move_mount", "open_tree"}
LINE = re.compile(r"(\w+)\((.*)")
# The first that fits names a process: what only it does.
ROLES = (("command", r"^execve\("), ("relay", r"\"corral-relay\""), ("tree", r"^pivot_root\("), ("network", r"^unshare\(CLONE_NEWNET\)"),
         ("zygote", r"^sethostname\("), ("keyring", r"^keyctl\(KEYCTL_JOIN_SESSION_KEYRING"))


def words(call, rest):
    start = CALLS[call]
    # A call that asks for a limit, or for what it is, changes nothing.
    if call == "prlimit64" and re.search(r"RLIMIT_\w+, NULL", rest):
        return None
    if not start:
        return call
    found = [match[0] for match in re.finditer(rf"\b{start}\w*", rest)]
    return " ".join([call, *found]) if found else None


def sequence(text):
    """Neighbours that are equal are one; calls of the program after execve are its own matter."""
    rows = []
    for line in text.splitlines():
        match = LINE.match(line)
        if not match or " = -1 E" in line:
            continue
        row = "(the tree)" if match[1] in TREE else words(match[1], match[2]) if match[1] in CALLS else None
        if row and (not rows or rows[-1] != row):
            rows.append(row)
        if row == "execve":
            break
    return "\n".join(rows)


def traced(build, folder, user, *options):
    """What each process did, in the order of their starts; the first is `corral`."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name in ("work", "traces"):
            os.mkdir(f"{place}/{name}")
        # Another user may not be able to reach the build folder.
        corral, warden = (shutil.copy(build.program(name), place) for name in ("corral", "corral-warden"))
        become = []
        if user:
            become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
            for path in (place, f"{place}/work", f"{place}/traces"):
                os.chown(path, user, user)
        command = [*become, "strace", "-ff", "-s", "64", "-o", f"{place}/traces/t", corral, "run", *options, "--", "/bin/true"]
        done = subprocess.run(command, cwd=f"{place}/work", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100,
                              env={"HOME": place, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "CORRAL_WARDEN": warden})
        names = sorted(os.listdir(f"{place}/traces"), key=lambda name: int(name.rsplit(".", 1)[1]))
        return done, [pathlib.Path(f"{place}/traces/{name}").read_text(encoding="utf-8") for name in names]


def role(text):
    return next((name for name, pattern in ROLES if re.search(pattern, text, re.M)), None)


def sections(build):
    if not shutil.which("strace"):
        build.missing["as"] = "build: strace is not installed"
        return
    is_root = os.geteuid() == 0
    if not is_root:
        build.missing["as root"] = "kernel: this user is not root"
    with tempfile.TemporaryDirectory(prefix="cg-") as folder:
        os.chmod(folder, 0o755)
        for who, user in (("as root", None), ("as a user", USER)) if is_root else (("as a user", None),):
            for name, options in {"run": (), "run --net": ("--net", "192.0.2.1:443")}.items():
                done, texts = traced(build, folder, user, *options)
                if done.returncode:
                    build.missing["as"] = "kernel: no sandbox here, or its processes cannot be traced: " + done.stderr.strip()[-200:]
                    return
                for text in texts[1:]:
                    yield f"{who} {name}: {role(text)}", sequence(text)
