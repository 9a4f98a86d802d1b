#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that appear after a command has started are masked when they do. Prints TAP.

    test-run-appear.py --measure [TIMES]     prints how long they can be seen before
    test-run-appear.py --with NAME VALUE …   the same with a limit of the kernel (/proc/sys/user/NAME) set, in a user
                                             namespace of its own: nothing outside of it changes
    test-run-appear.py --no-signals …        the same where no signal can be queued
    test-run-appear.py … --part N            one part of it; all parts run at the same time, each with limits of its own

A reader in the sandbox opens a path again and again until it was seen and is closed again; only what is still open after
SECONDS is a failure, so nothing depends on how fast the machine is.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from broker_tap import at_once, end, ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 60
RLIMIT_SIGPENDING = 11  # which the module resource does not name

# PATH: 0 once nothing can be read there any more after it was told that it is there; 1 if that does not come.
READER = r"""
import os, sys, time
def read(path):
    try:
        with open(path, "rb") as file:
            return b"canary" in file.read()
    except OSError:
        return False
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + SECONDS
while any(read(path) for path in sys.argv[1:]) and time.monotonic() < end:
    time.sleep(0.001)
sys.exit(any(read(path) for path in sys.argv[1:]))
""".replace("SECONDS", str(SECONDS))

# The other way round: 0 once one of them can be read.
FINDER = READER.replace("while any", "while not any").replace("sys.exit(any", "sys.exit(not any")

# The same, after it sent the signals by which its init may hear of changes, as many as it could.
FLOODER = """
import os, signal
for i in range(5000):
    for number in (signal.SIGIO, signal.SIGRTMIN):
        try:
            os.kill(1, number)
        except OSError:
            pass
""" + READER

# For how many microseconds PATH could be opened, each time that it was seen.
WATCHER = r"""
import os, sys, time
path, times, since = sys.argv[1], [], None
print("ready", flush=True)
os.set_blocking(0, False)
rounds = 0
while True:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        fd = -1
    now = time.monotonic()
    if fd >= 0:
        since = since if since is not None else now
        os.close(fd)
    elif since is not None:
        times.append(int((now - since) * 1e6))
        since = None
    rounds += 1
    if rounds % 1000 == 0:
        try:
            if os.read(0, 1) == b"":
                break
        except BlockingIOError:
            pass
print(*sorted(times), flush=True)
"""

PARTS = 4


class Scene:
    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-appear-", dir="/var/tmp"))
        self.number = 0
        self.pause = 0.3
        self.new_home()

    def new_home(self):
        """Each case has a home of its own, so that none has seen another's files."""
        self.number += 1
        self.home = f"{self.top}/{self.number}/home"
        for name in (".config", ".local/share", "agent", "stage", "project"):
            os.makedirs(f"{self.home}/{name}")
        os.makedirs(f"{self.top}/{self.number}/tmp")
        self.write(".gem/credentials", "canary\n")
        self.write(".ssh/id_rsa", "canary\n")

    def write(self, name, text="canary\n"):
        path = f"{self.home}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def environment(self, **more):
        keep = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        return {**keep, "HOME": self.home, "TMPDIR": f"{self.top}/{self.number}/tmp", **more}

    def start(self, words, program, *arguments, environment=None):
        command = ["/usr/bin/python3", "-c", program, *arguments]
        if words is not None:
            command = [CORRAL, "run", *(w.replace("~", self.home) for w in words), "--", *command]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=f"{self.home}/project", env=environment or self.environment())
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(process.communicate()[1])
        return process

    def end(self):
        shutil.rmtree(self.top)


AGENT = ("--mode", "sandbox", "--data-dir", "~/agent")


def rename(scene, source, target):
    os.rename(f"{scene.home}/{source}", f"{scene.home}/{target}")


def made_folder(scene):
    scene.write(".aws/credentials")


def moved_folder(scene):
    scene.write("stage/aws/credentials")
    rename(scene, "stage/aws", ".aws")


def saved(scene):
    scene.write("stage/new")
    rename(scene, "stage/new", ".netrc")


def replaced(scene):
    for _ in range(50):
        saved(scene)


def removed(scene):
    scene.write(".netrc")
    os.unlink(f"{scene.home}/.netrc")
    scene.write(".netrc")


def deep(scene):
    scene.write(".cache/huggingface/token")


def other_folder(scene):
    rename(scene, ".config", ".config.old")
    scene.write("stage/config/gh/hosts.yml")
    rename(scene, "stage/config", ".config")


def while_away(scene, folder, name, back=None):
    """A watched folder has another name while the secret comes into it; the events of that come to nothing, so there is
    time for them to be read. Without a reader there is none to wait for."""
    rename(scene, folder, "away")
    time.sleep(scene.pause)
    scene.write(f"away/{name}")
    time.sleep(scene.pause)
    rename(scene, "away", back or folder)


def folder_away(scene):
    while_away(scene, ".config", "gh/hosts.yml")


def parent_away(scene):
    os.makedirs(f"{scene.home}/.config/gh")
    while_away(scene, ".config", "gh/hosts.yml")


def twice_away(scene):
    folder_away(scene)
    os.unlink(f"{scene.home}/.config/gh/hosts.yml")
    folder_away(scene)


def away_to_another(scene):
    os.makedirs(f"{scene.home}/.config/gh")
    while_away(scene, ".config/gh", "config.json", ".docker")


def exchanged_and_back(scene):
    """Another one has its place meanwhile."""
    rename(scene, ".config", "away")
    os.makedirs(f"{scene.home}/.config/gh")
    time.sleep(scene.pause)
    scene.write("away/gh/hosts.yml")
    time.sleep(scene.pause)
    shutil.rmtree(f"{scene.home}/.config")
    rename(scene, "away", ".config")


def later_in_it(scene):
    os.makedirs(f"{scene.home}/.docker")
    scene.write(".docker/config.json")


def taken_away(scene):
    """Was there at the start: its folder is removed, and made again."""
    shutil.rmtree(f"{scene.home}/.gem")
    scene.write(".gem/credentials")
    shutil.rmtree(f"{scene.home}/.gem")
    scene.write(".gem/credentials")


def taken_and_more(scene):
    """A masked folder is removed and made again; then another secret appears beside it."""
    shutil.rmtree(f"{scene.home}/.ssh")
    time.sleep(scene.pause)
    scene.write(".ssh/id_ed25519")
    time.sleep(scene.pause)
    scene.write(".netrc")


def link_file(scene):
    scene.write("project/netrc")
    os.symlink("project/netrc", f"{scene.home}/.netrc")


def link_dangling(scene):
    os.symlink("project/later", f"{scene.home}/.netrc")
    scene.write("project/later")


def link_folder(scene):
    scene.write("project/dot/gh/hosts.yml")
    shutil.rmtree(f"{scene.home}/.config")
    os.symlink("project/dot", f"{scene.home}/.config")


def link_exchanged(scene):
    """Where the link leads there is another folder later; and at first none."""
    shutil.rmtree(f"{scene.home}/.config")
    os.symlink("stage/dot", f"{scene.home}/.config")
    time.sleep(scene.pause)
    os.makedirs(f"{scene.home}/stage/dot")
    time.sleep(scene.pause)
    rename(scene, "stage/dot", "stage/old")
    scene.write("stage/dot/gh/hosts.yml")


def closed_folder(scene):
    scene.write("stage/docker/config.json")
    os.chmod(f"{scene.home}/stage/docker", 0o311)
    rename(scene, "stage/docker", ".docker")


def closed_secret(scene):
    """Of mode 0311, with a link in it: neither the folder nor what the link leads to."""
    scene.write("project/key")
    scene.write("stage/aws/config")
    os.symlink(f"{scene.home}/project/key", f"{scene.home}/stage/aws/credentials")
    os.chmod(f"{scene.home}/stage/aws", 0o311)
    rename(scene, "stage/aws", ".aws")


def opened_secret(scene):
    """It cannot even be searched when it comes, and can be later."""
    scene.write("stage/aws/config")
    os.chmod(f"{scene.home}/stage/aws", 0o200)
    os.rename(f"{scene.home}/stage/aws", f"{scene.home}/.aws")
    time.sleep(scene.pause)
    os.chmod(f"{scene.home}/.aws", 0o755)


def own_log(scene):
    done = subprocess.run([CORRAL, "run", "--audit", "default", "--", "true"], cwd=f"{scene.home}/project",
                          env=scene.environment(), check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    scene.write(".local/state/corral/canary")


def denied(scene):
    scene.write("project/sub/secret.txt")


READ_HOME = ("--policy", "~/read.yaml")
CASES = (
    ("a file is made: ~/.netrc", AGENT, lambda s: s.write(".netrc"), (".netrc",)),
    ("a folder with it inside: ~/.aws/credentials", AGENT, made_folder, (".aws/credentials",)),
    ("a folder is moved there", AGENT, moved_folder, (".aws/credentials",)),
    ("a file is saved there by rename", AGENT, saved, (".netrc",)),
    ("it is replaced fifty times", AGENT, replaced, (".netrc",)),
    ("it is removed and made again", AGENT, removed, (".netrc",)),
    ("folders on the way are new: ~/.cache/huggingface/token", AGENT, deep, (".cache/huggingface/token",)),
    ("a folder on the way is exchanged: ~/.config", AGENT, other_folder, (".config/gh/hosts.yml",)),
    ("its folder is away when it comes", AGENT, folder_away, (".config/gh/hosts.yml",)),
    ("the folder above is away when it comes", AGENT, parent_away, (".config/gh/hosts.yml",)),
    ("its folder is away a second time", AGENT, twice_away, (".config/gh/hosts.yml",)),
    ("its folder comes back as another", AGENT, away_to_another, (".docker/config.json",)),
    ("its folder is away and has a substitute", AGENT, exchanged_and_back, (".config/gh/hosts.yml",)),
    ("a file in a folder that is no secret: ~/.docker/config.json", AGENT, later_in_it, (".docker/config.json",)),
    ("a folder with it is removed and made again", AGENT, taken_away, (".gem/credentials",)),
    ("a masked folder is removed and made again, then another comes beside it", AGENT, taken_and_more,
     (".netrc", ".ssh/id_ed25519")),
    ("a link to a file", AGENT, link_file, (".netrc", "project/netrc")),
    ("a link to what comes later", AGENT, link_dangling, (".netrc", "project/later")),
    ("a link to a folder on the way", AGENT, link_folder, (".config/gh/hosts.yml", "project/dot/gh/hosts.yml")),
    ("a link to a folder that is exchanged", AGENT, link_exchanged, (".config/gh/hosts.yml", "stage/dot/gh/hosts.yml")),
    ("a folder that cannot be listed", AGENT, closed_folder, (".docker/config.json",)),
    ("a secret folder that cannot be listed", AGENT, closed_secret, (".aws/config", ".aws/credentials", "project/key")),
    ("a secret folder that is closed, and open later", AGENT, opened_secret, (".aws/config",)),
    ("the first log of the user's own", AGENT, own_log, (".local/state/corral/canary", ".local/state/corral/audit.db.key")),
    ("a home that is granted, not all", READ_HOME, saved, (".netrc",)),
    ("a path that the policy denies", (*READ_HOME, "--deny", "~/project/sub/secret.txt"), denied,
     ("project/sub/secret.txt",)),
    ("a folder that the policy denies", (*READ_HOME, "--deny", "~/project/sub/**"), denied, ("project/sub/secret.txt",)),
)


def try_case(scene, name, words, make, paths):
    scene.new_home()
    scene.write("read.yaml", f"fs: {{read: [/usr/**, /bin/**, /lib/**, /lib64/**, {scene.home}/**]}}\n")
    for how, options in (("bare", None), ("inside", words)):
        if how == "inside":
            scene.new_home()
            scene.write("read.yaml", f"fs: {{read: [/usr/**, /bin/**, /lib/**, /lib64/**, {scene.home}/**]}}\n")
        full = [f"{scene.home}/{path}" for path in paths]
        process = None
        try:
            if how == "bare":
                scene.pause = 0
                make(scene)
                scene.pause = 0.3
                with open(full[0], "rb") as file:
                    ok(file.read(), f"{name}: can be read bare")
                continue
            process = scene.start(options, READER, *full)
            make(scene)
            _, errors = process.communicate("go\n")
            ok(process.returncode == 0, f"{name}: not by the command", process.returncode, errors)
        except RuntimeError as error:
            ok(False, f"{name}: not by the command", str(error))


def try_flood(scene):
    scene.new_home()
    process = scene.start(AGENT, FLOODER, f"{scene.home}/.netrc")
    saved(scene)
    process.communicate("go\n")
    ok(process.returncode == 0, "a file is saved while the command sends signals to its init")


def try_more(scene):
    """What must go on: other files appear, and are read; what dangerously_allow names, too."""
    scene.new_home()
    process = scene.start(AGENT, FINDER, f"{scene.home}/notes")
    scene.write("notes")
    process.communicate("go\n")
    ok(process.returncode == 0, "another file that appears can be read")
    scene.new_home()
    scene.write("lift.yaml", f"""fs: {{read: [/usr/**, /bin/**, /lib/**, /lib64/**, {scene.home}/**]}}
dangerously_allow: [{scene.home}/.netrc]
""")
    process = scene.start(("--policy", "~/lift.yaml"), FINDER,
                          f"{scene.home}/.netrc")
    scene.write(".netrc")
    process.communicate("go\n")
    ok(process.returncode == 0, "what dangerously_allow names can be read when it appears")
    scene.new_home()
    process = scene.start(AGENT, READER, f"{scene.home}/state/corral/x", f"{scene.home}/cache/corral/x",
                          f"{scene.home}/run/corral/x",
                          environment=scene.environment(**{f"XDG_{k}": f"{scene.home}/{v}" for k, v in (
                              ("STATE_HOME", "state"), ("CACHE_HOME", "cache"), ("RUNTIME_DIR", "run"))}))
    for folder in ("state", "cache", "run"):
        scene.write(f"{folder}/corral/x")
    process.communicate("go\n")
    ok(process.returncode == 0, "Corral's own folders, where XDG_STATE_HOME and the like lead")


def measure(scene, times):
    """A file is saved by rename, and removed again, while a reader looks on."""
    for mode in ("a file that is renamed there", "a folder with a file in it"):
        scene.new_home()
        path = f"{scene.home}/.netrc" if "file that" in mode else f"{scene.home}/.aws/credentials"
        process = scene.start(AGENT, WATCHER, path)
        for _ in range(times):
            if "file that" in mode:
                saved(scene)
                subprocess.run(["sleep", "0.02"], check=True)
                os.unlink(path)
            else:
                made_folder(scene)
                subprocess.run(["sleep", "0.02"], check=True)
                shutil.rmtree(f"{scene.home}/.aws")
        seen = [int(word) for word in process.communicate()[0].split()]
        print(f"{mode}: seen {len(seen)} of {times} times", end="")
        print(f", for {seen[len(seen) // 2]} us in the middle and {seen[-1]} us at most" if seen else "")


def enter_limit(name, value, *rest):
    """Starts anew where the limit is in force; the user is root there, and outside who they were."""
    script = 'echo "$2" >"/proc/sys/user/$1" || exit 1; shift 2; exec "$@"'
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", name, value,
                          sys.executable, os.path.abspath(__file__), *rest])


def try_part(part):
    """In a process of its own, with its own limits."""
    subprocess.run([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--part", str(part)], check=True)


def main():
    if not {"--part", "--measure"} & set(sys.argv):
        at_once(*[lambda part=part: try_part(part) for part in range(PARTS)])
        return end()
    if sys.argv[1:2] == ["--no-signals"]:
        resource.setrlimit(RLIMIT_SIGPENDING, (0, 0))
        del sys.argv[1]
    if sys.argv[1:2] == ["--with"]:
        enter_limit(*sys.argv[2:])
    scene = Scene()
    try:
        if sys.argv[1] == "--measure":
            measure(scene, int(sys.argv[2]) if len(sys.argv) > 2 else 500)
            return 0
        part = int(sys.argv[2])
        for case in CASES[part::PARTS]:
            try_case(scene, *case)
        if part == PARTS - 1:
            try_flood(scene)
            try_more(scene)
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", scene.top], check=False)
        scene.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
