#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built from the commit, without a complaint of lintian, installed, used by an ordinary user, removed and
purged, in a mount namespace whose /usr, /etc and /var lie over the machine's. After that nothing of them is left.

And the archive of the sources, which is the same each time, with its list of parts.

    packages.py SOURCE BUILD
"""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from acceptance_tap import Tap

SECONDS = 900
FOLDERS = ("/usr", "/etc", "/var")
# dpkg's own, and what its triggers make anew.
OWN = ("/var/lib/dpkg/", "/var/log/", "/var/cache/", "/etc/ld.so.cache", "/var/lib/systemd/deb-systemd", "/usr/share/info/dir")
USER = 61234


def command(words, **options):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False, **options)


def inside(scratch, debs):
    """In the namespace: what was seen, as JSON."""
    # By its path the scratch folder is soon what lies over /var; what was written there is found by this.
    top = pathlib.Path(f"/proc/self/fd/{os.open(scratch, os.O_PATH | os.O_DIRECTORY)}/upper")
    for folder in FOLDERS:
        upper, work = scratch / f"upper{folder}", scratch / f"work{folder}"
        upper.mkdir(parents=True)
        work.mkdir(parents=True)
        done = command(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", folder])
        if done.returncode:
            print(json.dumps({"mount": done.stderr}))
            return
    seen = {}

    def left():
        found = (pathlib.Path("/") / p.relative_to(top) for p in top.rglob("*") if not p.is_dir() and not p.is_char_device())
        return sorted(str(p) for p in found if not str(p).startswith((*OWN, str(scratch))))

    def dpkg(*words):
        done = command(["dpkg", *words], env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        return [done.returncode, done.stdout[-2000:] + done.stderr[-2000:]]

    home = scratch / "home"
    project = home / "project"
    for folder in (home, project):
        folder.mkdir()
        os.chown(folder, USER, USER)
    as_user = {"user": USER, "group": USER, "extra_groups": [], "cwd": project,
               "env": {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}}
    seen["install"] = dpkg("-i", *debs)
    seen["files"] = left()
    for name, words in {"version": ["/usr/bin/corral", "--version"], "doctor": ["/usr/bin/corral", "doctor", "--json"],
                        "run": ["/usr/bin/corral", "run", "--", "sh", "-c", "echo made >here; id -u; ls /root 2>&1; cat /etc/shadow"],
                        "manual": ["man", "-w", "corral-run"]}.items():
        done = command(words, **as_user)
        seen[name] = [done.returncode, done.stdout, done.stderr]
    seen["made"] = (project / "here").exists()
    seen["again"] = dpkg("-i", *debs)
    names = [pathlib.Path(deb).name.split("_")[0] for deb in debs]
    seen["remove"] = dpkg("-r", *names)
    seen["purge"] = dpkg("-P", *names)
    seen["left"] = left()
    print(json.dumps(seen))


def sources(tap, scratch, source, build):
    """`make dist`, in a clone, since what is not committed is refused."""
    tree = scratch / "tree"
    done = command(["git", "clone", "-q", source, str(tree)])
    made = [command([str(tree / "tools/make-dist"), str(scratch / name), build]) for name in ("one", "two")]
    tap.ok(made[0].returncode == 0 and made[0].stdout == made[1].stdout, "the sources are archived, the same bytes each time", done, *made)
    (archive,) = (scratch / "one").glob("*.tar.xz")
    with tarfile.open(archive) as file:
        names = file.getnames()
    tracked = command(["git", "ls-files"], cwd=tree).stdout.splitlines()
    prefix = archive.name.removesuffix(".tar.xz")
    tap.ok({f"{prefix}/{name}" for name in tracked} <= set(names), "with all files of the commit", len(tracked), len(names))
    (parts,) = (scratch / "one").glob("*.cdx.json")
    listed = {part["name"]: part for part in json.loads(parts.read_text())["components"]}
    tap.ok({"libsodium", "sqlite3", "yaml-0.1", "preact"} <= set(listed) and len(listed["preact"]["hashes"][0]["content"]) == 64, "and a list of parts", listed)
    (tree / "meson.build").write_text("")
    done = command([str(tree / "tools/make-dist"), str(scratch / "three"), build])
    tap.ok(done.returncode == 1 and "not committed" in done.stderr and not (scratch / "three").exists(), "what is not committed is refused", done)


def main():
    if sys.argv[1] == "--inside":
        inside(pathlib.Path(sys.argv[2]), sys.argv[3:])
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="corral-packages-", dir="/var/tmp") as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        sources(tap, scratch, *sys.argv[1:3])
        built = command([os.path.join(sys.argv[1], "tools/make-packages"), str(scratch / "made")], env={**os.environ, "JOBS": "2"})
        debs = sorted(str(p) for p in (scratch / "made").glob("*.deb") if "-dbgsym_" not in p.name)
        tap.ok(built.returncode == 0 and len(debs) >= 4, "the packages are built, and lintian finds nothing", built.stdout + built.stderr)
        over = scratch / "over"
        over.mkdir()
        # What lies over the machine's folders is not on an overlay itself.
        done = command(["unshare", "--mount", "sh", "-c", 'over=$1; shift; mount -t tmpfs -o mode=755 none "$over" && exec python3 "$@"', "sh", str(over),
                        str(pathlib.Path(__file__).resolve()), "--inside", str(over), *debs])
        try:
            seen = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            seen = {}
        none = [None, "", ""]
        tap.ok(seen.get("install", none)[0] == 0, "they are installed", seen.get("install", done))
        files = seen.get("files", [])
        tap.ok({"/usr/bin/corral", "/usr/bin/corrald", "/usr/libexec/corral/corral-warden", "/usr/include/corral/sandbox.h"} <= set(files)
               and not [p for p in files if p.startswith("/usr/local")], "with their programs, below /usr", files)
        tap.ok(seen.get("version", none)[0] == 0 and seen["version"][1].startswith("corral 0."), "corral says its version", seen.get("version"))
        got = seen.get("run", none)
        tap.ok(got[1].startswith(f"{USER}\n") and "root:" not in got[1] and seen.get("made"), "an ordinary user's command runs, and is confined", got)
        tap.ok(seen.get("manual", none)[0] == 0, "the manual is found", seen.get("manual"))
        tap.ok(seen.get("again", none)[0] == 0, "installed once more, as an upgrade is", seen.get("again"))
        tap.ok(seen.get("remove", none)[0] == 0 and seen.get("purge", none)[0] == 0, "removed and purged", (seen.get("remove"), seen.get("purge")))
        tap.ok(seen.get("left") == [], "nothing of them is left", seen.get("left"))
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
