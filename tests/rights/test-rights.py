#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights of each process that Corral starts, compared with tests/rights/root.txt or user.txt.

Each process is really started (scenes.py), and looked at from outside (rights_view.py). As root, it is besides stopped and
made to try what it should not be able to do (attempt-within), and all of it once more for processes of an ordinary user.
What the observer cannot see is not compared. `test-rights.py --write` writes the files anew: a change is reviewed as the
difference of these files, which may only take rights away. Prints TAP."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
import rights_view  # noqa: E402
from broker_tap import USER, end, ok  # noqa: E402

SCENES = ["run", "sockets", "names", "explain", "writes", "notifications", "clipboard", "open", "reminders", "mail", "fetch", "host", "daemon", "wasm", "compile",
          "inspector", "vault", "secret", "database", "source", "secret-service", "ssh", "mcp", "mcp-remote", "link"]
NEEDS = {  # variables that are empty where the build has none of it
         "notifications": "BACKENDS", "clipboard": "BACKENDS", "open": "BACKENDS", "reminders": "CALENDAR", "mail": "MAIL",
         "fetch": "CORRAL_FETCH", "host": "QUESTION_HOST", "daemon": "CORRALD",
         "wasm": "CORRAL_WASM", "compile": "CORRAL_WASM", "secret": "CORRAL_INJECT", "database": "CORRAL_POSTGRES", "secret-service": "CORRAL_SECRET_SERVICE", "ssh": "CORRAL_SSH_AGENT", "mcp-remote": "CORRAL_MCP_REMOTE", "link": "CORRAL_FETCH"}
# Where each row of the table of processes (docs/processes.md) is started; one that no scene can start has a reason.
ROWS = {"front": ("notifications", "front"), "http": ("daemon", "corrald-http"), "relay": ("run", "relay"), "relay with sockets": ("sockets", "relay"),
        "warden": ("host", "warden"), "holder": ("daemon", "holder"), "back end": ("notifications", "back end"), "calendar": ("reminders", "back end"),
        "clipboard": ("clipboard", "back end"), "connector": ("mail", "connector"), "WASM worker": ("wasm", "wasm"), "WASM compiler": ("compile", "wasm"),
        "inspector": ("inspector", "inspector"), "vault": ("vault", "vault"), "injector": ("secret", "injector"), "logins to databases": ("database", "logins to databases"), "ssh agent": ("ssh", "ssh agent"), "MCP filter": ("mcp", "MCP filter"), "MCP over HTTP": ("mcp-remote", "MCP over HTTP"), "call-back": ("link", "call-back"), "zygote and init": ("run", "zygote"),
        "command": ("run", "command"), "names": ("names", "names"), "command of tier 3": ("writes", "command"), "corral": ("run", "corral"),
        "broker": ("notifications", "broker"), "keeper": ("host", "keeper"), "launcher": ("open", "launcher"), "daemon": ("daemon", "corrald"),
        "enclave": ("daemon", "corrald-enclave"), "lender": ("secret", "lender"), "source of a secret": ("source", "source")}
# Of the programs of a row, those that no scene starts.
WITHOUT = {"corral-browser": "it enters its row once Chromium runs, which `make test` does not need: tests/acceptance/browser.py"}
PATIENCE = 60
NAME_MAX = 15  # of a process
# The role of a process by its name; those that have none of their own are named below.
ROLES = {"corral-relay": "relay", "corral-front": "front", "corral-broker": "broker", "corral-keeper": "keeper", "corral-connect": "connector",
         "corral-launcher": "launcher", "corral-desktop": "back end", "corral-calendar": "back end",
         "corral-mail": "back end", "corral-secret-s": "back end", "corral-names": "names", "sleep": "source", "corral-vault": "vault", "corral-inject": "injector", "corral-postgres": "logins to databases", "corral-ssh-agen": "ssh agent", "corral-mcp": "MCP filter", "corral-callback": "call-back", "corral-mcp-remo": "MCP over HTTP", "corral-fetch": "fetch", "corral-wasm": "wasm", "corrald": "corrald", "corrald-http": "corrald-http",
         "corrald-enclave": "corrald-enclave", "sh": "command", "corral": "corral", "corral-warden": "warden", "corral-holder": "holder", "hold-inspector": "inspector"}


SEEN = set()  # names of processes that were looked at


def is_lender(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")[1:3] == [b"vault", b"lend"]


def role(pid, top):
    got = rights_view.status(pid)
    name = got["Name"]
    SEEN.add(name)
    depth = len(got["NSpid"].split())
    if name in ("corral", "corral-warden") and depth > 1:
        # Each has a pid namespace; of a single command the zygote becomes the init.
        return "zygote" if depth == 2 else "init"
    # Started by /proc/self/exe.
    if name in ("corral", "exe") and pid != top and is_lender(pid):
        return "lender"
    # The program that runs the inspector is no process of Corral's.
    return ROLES.get(name) if name != "hold-inspector" or pid != top else None


def roles(top):
    """role -> pid; of several that do the same, the first that has children: an init without waits for a command."""
    found, tree = {}, rights_view.parents()
    pids = rights_view.below(top)
    for pid in sorted(pids, key=lambda pid: pid not in tree.values()):
        try:
            found.setdefault(role(pid, top), pid)
        except OSError:
            pass
    found.pop(None, None)
    return {name: pid for name, pid in sorted(found.items(), key=lambda item: pids.index(item[1]))}


def expand(line):
    """A line of the file stands for several attempts that end in the same way."""
    what, text = line.split(": ", 1)
    return [f"{name}: {what[4:]}" for name in text.split(", ")] if what.startswith("try ") else [line]


def read_golden(who):
    """(scene, role) -> its lines. The file of an ordinary user has only what differs from root's."""
    found, key = {}, None
    if who == "user":
        found = {key: list(lines) for key, lines in read_golden("root").items()}
    with open(os.path.join(HERE, who + ".txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("["):
                key = tuple(line.strip("[]").split(": "))
                found.setdefault(key, [])
            elif line.startswith("as in "):
                found[key] = found[line[len("as in "):], key[1]]
            elif line and not line.startswith("#"):
                replaced = {new.split(": ")[0] for new in expand(line)}
                found[key] = [old for old in found[key] if old.split(": ")[0] not in replaced] + expand(line)
    return found


def write_golden(who, found):
    with open(os.path.join(HERE, who + ".txt"), "w", encoding="utf-8") as file:
        file.write("# The rights of each process, by its scene (tests/rights/scenes.py). Written by `test-rights.py --write`.\n")
        if who == "user":
            root = read_golden("root")
            file.write("# Of an ordinary user: what differs from root.txt.\n")
            for key, lines in found.items():
                new = [line for line in lines if line not in root.get(key, [])]
                file.write(f"\n[{key[0]}: {key[1]}]\n" + compressed(new) if new else "")
            return
        seen = {}
        for (scene, name), lines in found.items():
            same = next((s for s, n in seen if n == name and seen[s, n] == lines), None)
            seen[scene, name] = lines
            file.write(f"\n[{scene}: {name}]\n" + (f"as in {same}\n" if same else compressed(lines)))


def compressed(lines):
    plain, by_result = [], {}
    for line in lines:
        name, result = line.split(": ", 1)
        if result == "yes" or re.fullmatch("E[A-Z0-9]+", result):
            by_result.setdefault(result, []).append(name)
        else:
            plain.append(line)
    return "".join(line + "\n" for line in plain + [f"try {result}: {', '.join(names)}" for result, names in by_result.items()])


def chosen(line, got):
    """Of "what: a | b", which depends on the version of a library, the one that is there, if it is one of them."""
    what, _, texts = line.partition(": ")
    return next((f"{what}: {text}" for text in texts.split(" | ") if f"{what}: {text}" in got), line)


def comparable(wanted, got):
    """Of what is wanted, what the observer can see."""
    wanted = [chosen(line, got) for line in wanted]
    keys = {line.split(": ")[0] for line in got}
    hidden = {"signal to the parent"} if rights_view.landlock_version() < rights_view.LANDLOCK_SCOPES else set()
    # Without a filter of ours the kernel's version and the container's capabilities decide how these fail.
    if "seccomp: 0, filters 0" in got:
        hidden |= {"open by handle", "BPF", "keys"}
    return ([line for line in wanted if line.split(": ")[0] in keys - hidden],
            [line for line in got if line.split(": ")[0] not in hidden])


def settle(top, wanted):
    """Waits for the processes of a scene: those that confine themselves may not have finished when its command is there."""
    def is_settled():
        found = roles(top)
        return set(found) == set(wanted) and all(
            next(line for line in lines if line.startswith("seccomp: ")) ==
            next(line for line in rights_view.view(found[name], top, False) if line.startswith("seccomp: ")) for name, lines in wanted.items())
    last = time.monotonic() + (PATIENCE if wanted else 2)
    while time.monotonic() < last and not (wanted and is_settled()):
        time.sleep(0.02)


def observe(name, top, golden):
    settle(top, {role: lines for (scene, role), lines in golden.items() if scene == name})
    return {(name, role): rights_view.view(pid, top) for role, pid in roles(top).items()}


def play(command, env, golden):
    """All scenes, each as it appears. (scene, role) -> lines."""
    found = {}
    with subprocess.Popen(command, env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if line.startswith("scene "):
                _, name, pid = line.split()
                found.update(observe(name, int(pid), golden))
                process.stdin.write("\n")
                process.stdin.flush()
            else:
                print("#", line.rstrip("\n"))
    ok(process.returncode == 0, "all processes were started", process.returncode)
    return found


def compare(who, names, command, env, writes):
    golden = {} if writes else read_golden(who)
    found = play([*command, *names], env, golden)
    if writes:
        write_golden(who, found)
        return
    expected = {key for key in golden if key[0] in names}
    ok(set(found) == expected, f"{who}: the processes are those that are known", sorted(set(found) ^ expected))
    for key in sorted(set(found) & expected):
        wanted, got = comparable(golden[key], found[key])
        ok(sorted(wanted) == sorted(got), f"{who}: {key[0]}: {key[1]}: its rights are those that are known",
           *[f"{sign} {line}" for sign, one, other in (("-", wanted, got), ("+", got, wanted)) for line in one if line not in other])


def check_rows():
    """Each row of the table is started by a scene, and so is each of its programs."""
    with open(os.path.join(HERE, "..", "..", "docs", "processes.md"), encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in file if line.startswith("| ") and not line.startswith("| process |")]
    ok({name for name, _ in rows} == set(ROWS), "each process of the table has a scene", sorted({name for name, _ in rows} ^ set(ROWS)))
    golden = read_golden("root")
    missing = [row for row, place in ROWS.items() if place not in golden]
    ok(not missing, "in which its rights are known", missing)
    programs = {name for _, names in rows for name in names.split(", ")} - {"any", "that the user named"}
    missing = sorted(name for name in programs if name[:NAME_MAX] not in SEEN and name not in WITHOUT)
    ok(not missing, "each program of the table was looked at", missing)


def copies():
    """For an ordinary user, who may not be able to read where the programs are: a folder, and the variables that name its files."""
    folder = tempfile.mkdtemp()
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent"}
    os.makedirs(folder + "/backends")
    for name, value in os.environ.items():
        if name == "BACKENDS":
            env[name] = folder + "/backends"
            for program in (n for n in os.listdir(value) if n.startswith("corral-") and os.path.isfile(os.path.join(value, n))):
                shutil.copy(os.path.join(value, program), env[name])
        elif name in PROGRAMS and value:
            env[name] = shutil.copy(value, folder)
            if name == "CORRAL_WASM":
                shutil.copy(os.path.join(os.path.dirname(value), "libwasmtime.so"), folder)
    for part in ("rights", "e2e", "broker"):
        os.mkdir(os.path.join(folder, part))
        for name in ("scenes.py", "daemon_tap.py", "broker_tap.py", "bus.py"):
            if os.path.exists(os.path.join(HERE, "..", part, name)):
                shutil.copy(os.path.join(HERE, "..", part, name), os.path.join(folder, part))
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return folder, env


PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRALD", "CORRALD_HTTP", "CORRALD_ENCLAVE", "CORRAL_WASM",
            "CORRAL_FETCH", "CORRAL_MCP_REMOTE", "CORRAL_VAULT", "CORRAL_INJECT", "CORRAL_POSTGRES", "HOLD_INSPECTOR", "QUESTION_HOST", "VAULT_CLIENT", "CORRAL_SECRET_SERVICE",
            "CORRAL_SSH_AGENT")


def main():
    writes = sys.argv[1:] == ["--write"]
    names = [name for name in SCENES if name not in NEEDS or os.environ.get(NEEDS[name])]
    # What processes begin with, so that it is the same everywhere.
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))
    resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))
    os.umask(0o022)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    scenes = [sys.executable, os.path.join(HERE, "scenes.py")]
    if os.geteuid() != 0:
        compare("user", names, scenes, dict(os.environ), writes)
        return end()
    compare("root", names, scenes, dict(os.environ), writes)
    if not writes and names == SCENES:
        check_rows()
    folder, env = copies()
    compare("user", names, ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/usr/bin/python3", folder + "/rights/scenes.py"],
            env, writes)
    shutil.rmtree(folder)
    return end()


if __name__ == "__main__":
    sys.exit(main())
