#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole workloads, bare and in the sandboxes that are there, in turn: find, tar, git status, spawns, imports, grep -r, gcc.

    bench-whole.py [--rounds N] [--scale N] [--beside N] [--only WORD,…] [--peer NAME=WORDS]…

Each round has every sandbox once, in an order that turns with the rounds, by the normal scheduler: first all rounds back to
back, then all with 5 ms before each command. A cell is the ratio of medians to bare, in parentheses that of tenth percentiles,
and behind the comma that of the processor's time. Fails if `corral run` is further above bare than bubblewrap is, in the
same block, by more than 0.07 (find, tar and grep: 0.12); of one block only, since each block has its own conditions.

--beside N has N busy loops run meanwhile. --scale divides the sizes, to try it. --peer adds a sandbox: words that stand before a
command, {} for the folder that may be written. $CORRAL is the program. bubblewrap, firejail and crun take part where
they are installed and can run /bin/true, and what does not is named.
"""

import argparse
import ctypes
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
MORE, MORE_OF = 0.07, {"find": 0.12, "tar": 0.12, "grep": 0.12}
GAPS = {"back to back": 0, "5 ms before each": 0.005}
OLD = ("bin", "sbin", "lib", "lib64", "lib32")
LANG = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
IMPORTS = "asyncio, concurrent.futures, csv, ctypes, decimal, email.message, html.parser, http.client, json, logging.config, multiprocessing, sqlite3, ssl, tarfile, unittest.mock, urllib.request, xml.dom.minidom, zipfile"


# The folder that is worked in

def make_tree(folder, scale):
    """12,500 names in 220 folders, 10,000 of them files with a few lines; and 50 files of C."""
    for group in range(220 // scale or 1):
        place = folder / "tree" / f"g{group % 10}" / f"d{group}"
        place.mkdir(parents=True)
        for number in range(56):
            (place / f"f{number}.txt").write_text(f"{group} {number}\nwords that are looked through\n" * 8)
    (folder / "src").mkdir()
    for number in range(50 // scale or 1):
        (folder / "src" / f"u{number}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                                                     + "".join(f"int f{number}_{k}(const char *s) {{ return (int)strlen(s) * {k}; }}\n" for k in range(20)))


def make_repository(folder):
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "tree"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=folder, env={**LANG, "HOME": str(folder)}, check=True)


def workloads(scale):
    every = {
        "true": ["/bin/true"],
        "find": ["find", "tree", "-newer", "/"],
        "tar": ["sh", "-c", "test -d tree && tar cf - tree | wc -c"],
        "git": ["git", "status", "--short"],
        "spawn": ["sh", "-c", f"for i in $(seq {1000 // scale}); do /bin/true; done"],
        "python": ["python3", "-c", f"import {IMPORTS}"],
        "grep": ["grep", "-rc", "looked through", "tree"],
        "gcc": ["sh", "-c", "for f in src/*.c; do gcc -O1 -c $f -o o.o || exit; done"],
    }
    return {name: words for name, words in every.items() if shutil.which(words[0]) and (name != "gcc" or shutil.which("gcc"))}


# Sandboxes: the words before a command

def words_of_bubblewrap(folder, _):
    """As bench-cold has it: the system read-only, its own /proc, /dev and /tmp, no network, the folder writable."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc",
             "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]
    for name in OLD:
        path = f"/{name}"
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    return [*words, "--bind", str(folder), str(folder), "--chdir", str(folder)]


def words_of_firejail(folder, _):
    return ["firejail", "--quiet", "--noprofile", "--net=none", "--private-dev", "--keep-var-tmp", "--read-only=/usr", "--read-only=/etc", f"--read-write={folder}", "--"]


def run_of_crun(folder, scratch):
    """A bundle for each command: its words stand in a file. Returns a function from a command to its words."""
    bundle, counted = scratch / "crun", {}
    root = bundle / "root"
    for path in ("proc", "dev", "sys", "tmp", "usr", "etc", str(folder).lstrip("/")):
        (root / path).mkdir(parents=True, exist_ok=True)
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
              {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}]
    mounts += [{"destination": f"/{name}", "type": "bind", "source": f"/{name}", "options": ["rbind", "ro"]} for name in ("usr", "etc")]
    for name in OLD:
        if os.path.islink(f"/{name}"):
            (root / name).symlink_to(os.readlink(f"/{name}"))
        elif os.path.isdir(f"/{name}"):
            (root / name).mkdir()
            mounts.append({"destination": f"/{name}", "type": "bind", "source": f"/{name}", "options": ["rbind", "ro"]})
    mounts.append({"destination": str(folder), "type": "bind", "source": str(folder), "options": ["rbind", "rw"]})

    def words(command):
        place = bundle / str(len(counted))
        if tuple(command) not in counted:
            place.mkdir()
            process = {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": command, "cwd": str(folder), "env": [f"{k}={v}" for k, v in {**LANG, "HOME": str(folder)}.items()], "noNewPrivileges": True}
            spaces = [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]
            (place / "config.json").write_text(json.dumps({"ociVersion": "1.0.0", "process": process, "root": {"path": str(root), "readonly": True},
                                                           "hostname": "bench", "mounts": mounts, "linux": {"namespaces": spaces}}))
            counted[tuple(command)] = place
        return ["crun", "--root", str(bundle / "state"), "--cgroup-manager=disabled", "run", "--bundle", str(counted[tuple(command)]), f"bench-{os.getpid()}"]
    return words


def sandboxes(corral, folder, scratch, more):
    """Each is a function from a command to words."""
    def before(words):
        return lambda command: [*words, *command]
    found = {"bare": before([]), "corral": before([corral, "run", "--"]), "no limits": before([corral, "run", "--limits", "none", "--"])}
    if shutil.which("bwrap"):
        found["bwrap"] = before(words_of_bubblewrap(folder, scratch))
    if shutil.which("firejail"):
        found["firejail"] = before(words_of_firejail(folder, scratch))
    if shutil.which("crun") and os.geteuid() == 0:
        found["crun"] = run_of_crun(folder, scratch)
    for text in more:
        name, _, words = text.partition("=")
        found[name] = before([word.replace("{}", str(folder)) for word in shlex.split(words)])
    return found


# Measuring

def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return {int(word) for word in file.read().split()}


def timed(words, folder):
    """Seconds by the clock until it ended, and of the processor, of all that it left to us, too; None: it failed."""
    others = children()
    with open(os.devnull, "r+b") as null:
        start = time.perf_counter()
        child = subprocess.Popen(words, cwd=folder, env={**LANG, "HOME": str(folder.parent / "home"), "PATH": os.environ["PATH"]}, stdin=null, stdout=null, stderr=null)
        _, status, used = os.wait4(child.pid, 0)
        clock = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    processor = used.ru_utime + used.ru_stime
    while left := children() - others:
        used = os.wait4(left.pop(), 0)[2]
        processor += used.ru_utime + used.ru_stime
    return None if child.returncode else (clock, processor)


def works(name, words, command, folder):
    if timed(words(command), folder):
        return True
    print(f"# {name} cannot run {' '.join(command)[:60]}: left out")
    return False


def block(kinds, command, folder, rounds, gap):
    """Times of each kind, in turn; the first of a round is another one each time."""
    names, times = list(kinds), {name: [] for name in kinds}
    for number in range(rounds):
        for k in range(len(names)):
            name = names[(number + k) % len(names)]
            time.sleep(gap)
            result = timed(kinds[name](command), folder)
            if result is None:
                sys.exit(f"bench-whole: {' '.join(kinds[name](command))[:300]} failed")
            times[name].append(result)
    return times


def ratios(times):
    """Of each kind to bare: medians, tenth percentiles, the processor's medians."""
    def tenth(values):
        return sorted(values)[len(values) // 10]
    found = {}
    for name in times:
        clock, processor = ([[pair[i] for pair in times[which]] for which in (name, "bare")] for i in (0, 1))
        found[name] = (statistics.median(clock[0]) / statistics.median(clock[1]), tenth(clock[0]) / tenth(clock[1]),
                       statistics.median(processor[0]) / max(statistics.median(processor[1]), 1e-6))
    return found


def cell(ratio):
    return f"{ratio[0]:9.2f} ({ratio[1]:.2f}), {ratio[2]:5.2f}" if ratio else f"{'-':>22}"


def judge(name, found):
    if name == "true" or not {"bwrap", "corral"} <= set(found):
        return True
    most = found["bwrap"][0] + MORE_OF.get(name, MORE)
    if found["corral"][0] > most:
        print(f"missed: {name}: {found['corral'][0]:.2f}, and {most:.2f} is the most")
    return found["corral"][0] <= most


def measure(kinds, options, folder):
    met = True
    for title, gap in GAPS.items():
        print(f"\n{title}; {options.rounds} rounds, load average {os.getloadavg()[0]:.1f}")
        print(f"{'':8}{'bare':>10}" + "".join(f"{name:>22}" for name in kinds if name != "bare"))
        for name, command in workloads(options.scale).items():
            if options.only and name not in options.only.split(","):
                continue
            able = {kind: words for kind, words in kinds.items() if works(kind, words, command, folder)}
            times = block(able, command, folder, options.rounds, gap)
            found = ratios(times)
            bare = statistics.median(pair[0] for pair in times["bare"]) * 1000
            print(f"{name:8}{bare:7.1f} ms" + "".join(cell(found.get(kind)) for kind in kinds if kind != "bare"), flush=True)
            met = judge(name, found) and met
    return met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--beside", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--peer", action="append", default=[])
    options = parser.parse_args()
    corral = os.path.abspath(os.environ["CORRAL"])
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("bench-whole: what sandboxes leave behind cannot be waited for")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.beside)]
    try:
        # Not in /tmp, which sandboxes have one of their own of.
        with tempfile.TemporaryDirectory(prefix="bench-whole-", dir=os.environ.get("BENCH_FOLDER") or "/var/tmp") as place:
            scratch = pathlib.Path(os.path.realpath(place))
            folder = scratch / "work"
            folder.mkdir()
            (scratch / "home").mkdir()
            make_tree(folder, options.scale)
            make_repository(folder)
            kinds = {name: words for name, words in sandboxes(corral, folder, scratch, options.peer).items() if works(name, words, ["/bin/true"], folder)}
            return 0 if measure(kinds, options, folder) else 1
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
