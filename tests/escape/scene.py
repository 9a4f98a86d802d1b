# SPDX-License-Identifier: Apache-2.0
"""The scene of the escape suite: what attempts are after, and the look at it afterwards.

A scene is a temporary folder and a process, all of one user, and made anew for every pass:

    ws/      the workspace: the current folder of every attempt, granted for writing
    out/     outside of every grant; OUT/NAME is there for the attempt NAME alone
    ro/      granted for reading; RO/NAME likewise
    home/    the caller's HOME      other/  another user's       tools/  programs
    swap/    a folder that the host exchanges with a link          tmp/    the caller's TMPDIR
    own/     programs of the user's own                           chain/  folders that can be searched, not read

The victim is the process (victim.c). Everything secret holds the canary: `canary=` and 32 digits.
"""

import ctypes
import fcntl
import glob
import os
import platform
import queue
import secrets
import shutil
import stat
import struct
import subprocess
import tempfile
import threading

KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}  # add_key, keyctl
OTHER = 65534
HERE = os.path.dirname(os.path.abspath(__file__))
# Beside us in a folder of copies.
HELPERS = [f"{HERE}/{name}" if os.path.exists(f"{HERE}/{name}") else f"{HERE}/../e2e/{name}"
           for name in ("port.py", "daemon_tap.py", "broker_tap.py")]
PLACES = ("out", "ro", "ws/denied")  # where each attempt has a file of its own


def add_key(text):
    """A key with that text in a session keyring of our own; its number, or None."""
    numbers = KEYS.get(platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    if not numbers or libc.syscall(numbers[1], 1, None) < 0:  # KEYCTL_JOIN_SESSION_KEYRING
        return None
    data = text.encode()
    key = libc.syscall(numbers[0], b"user", b"corral-canary", data, ctypes.c_long(len(data)), -3)
    return key if key >= 0 else None


def state_of(path):
    """All that an attempt could change about a file; None if it is not there."""
    try:
        st = os.lstat(path)
        with open(path, "rb") as file:
            content = file.read()
        names = os.listxattr(path)
    except OSError as error:
        return str(error.errno)
    return (st.st_ino, st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_mtime_ns, st.st_ctime_ns,
            content, tuple(names))


class Victim:
    """The process outside, and what it logged."""

    def __init__(self, arguments, **popen):
        self.logged = set()
        self.values = {}
        self.lines = queue.Queue()
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, **popen)
        threading.Thread(target=self.read, daemon=True).start()
        while (line := self.lines.get(timeout=120)) != "ready":
            key, _, value = line.partition("=")
            if not value:
                raise RuntimeError(f"the victim says {line!r}")
            self.values[key] = value

    def read(self):
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line.startswith("log "):
                self.logged.add(line[4:])
            else:
                self.lines.put(line)
        self.lines.put("gone")

    def sync(self):
        """Everything that reached it before is in `logged` now. False: it is dead."""
        try:
            self.process.stdin.write("sync\n")
            self.process.stdin.flush()
            return self.lines.get(timeout=120) == "synced"
        except (OSError, queue.Empty):
            return False

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait()


class Scene:
    def __init__(self, attempts, programs, user, sockets, key):
        self.attempts = attempts
        self.user = user  # None, or a uid that is also the gid
        self.canary = "canary=" + secrets.token_hex(16)
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-escape-"))
        os.chmod(self.top, 0o755)
        self.name = os.path.basename(self.top)
        self.key = key
        self.processes = []
        self.make_folders(programs)
        self.make_files()
        if user is not None:
            self.give(self.top)
        self.make_privileged()
        self.sockets = sockets
        for path in sockets.values():
            if os.path.lexists(path):
                os.unlink(path)
        ipc_key = 0x10000000 | secrets.randbits(24)
        self.victim = Victim(
            [f"{self.top}/tools/victim", self.canary, self.path("out"), self.path("ws"), self.name,
             str(ipc_key), *sockets.values(), f"{self.top}/agent.sock", self.path("chain/below/s")],
            env={**os.environ, "SECRET_TOKEN": self.canary}, **self.as_user())
        self.close_chain()
        self.values = {**self.victim.values, **{k: self.path(k) for k in ("ws", "out", "ro", "home")},
                       "tools": self.path("tools"), "other-home": self.path("other"),
                       "opener": self.path("own/open"), "searchable": self.path("chain/below/s"), "abstract": self.name, "ipc-key": ipc_key, "swap": self.path("swap/sub"),
                       **sockets}
        if key is not None:
            self.values["key"] = key
        self.make_handle()
        self.before = self.states()

    # -- making it --

    def path(self, rest):
        return f"{self.top}/{rest}"

    def fill(self, option):
        """An option of `corral run` with what is this scene's."""
        return option.replace("{}", self.top).replace("PORT", self.values["granted"])

    def as_user(self):
        if self.user is None:
            return {}
        return {"user": self.user, "group": self.user, "extra_groups": []}

    def give(self, top):
        for folder, folders, names in os.walk(top):
            for name in (".", *names):
                os.chown(os.path.join(folder, name), self.user, self.user, follow_symlinks=False)

    def make_folders(self, programs):
        for name in ("ws", "out", "ro", "home", "other", "tools", "tmp", "stage", "swap", "swap/sub", "own", "chain",
                     "chain/below"):
            os.mkdir(self.path(name), 0o755)
        for path in HELPERS:
            shutil.copy(path, self.path("tools"))
        for name, source in programs.items():
            shutil.copyfile(source, self.path(f"tools/{name}"))
            os.chmod(self.path(f"tools/{name}"), 0o755)
        shutil.copyfile(programs["attempt"], self.path("ws/attempt"))
        os.chmod(self.path("ws/attempt"), 0o755)
        for name in ("unlisted", "spare", "setuid", "filecap"):
            shutil.copyfile(programs["attempt"], self.path(f"tools/{name}"))
            os.chmod(self.path(f"tools/{name}"), 0o755)

    def write(self, name, text=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(self.canary + "\n" if text is None else text)

    def make_files(self):
        for place in PLACES:
            for attempt in self.attempts:
                self.write(f"{place}/{attempt.name}")
        for attempt in self.attempts:
            if attempt.set in ("deny", "mask"):
                self.write(f"ws/sub-{attempt.name}/denied.txt")
        for name in ("denied-dir/secret.txt", "denied-dir/deep/secret.txt", "denied-dir-2/secret.txt",
                     "linked.txt"):
            self.write(f"ws/{name}")
        os.link(self.path("ws/linked.txt"), self.path("ws/link-to-denied.txt"))
        for name in (".git/config", ".git/HEAD", ".git/hooks/README", ".envrc", ".vscode/tasks.json",
                     "lib/inner/.git/config", "lib/inner/.git/HEAD", "lib/inner/.git/hooks/README",
                     "bare.git/HEAD", "bare.git/config", "bare.git/objects/x", "bare.git/refs/x",
                     ".hg/hgrc", ".forgejo/workflows/ci.yml", ".gemini/settings.json",
                     "audit.db"):
            self.write(f"ws/{name}", "\n")
        self.make_links()
        self.write("ws/policy.yaml", 'fs: {read: ["/**"], write: ["%s/**"]}\nexec: ["*"]\n'
                   % self.path("ws"))
        self.write("exec.yaml", f"""fs:
  read: [/usr/**, /bin/**, /lib/**, /lib64/**, /sbin/**, /etc/**, {self.top}/ro/**, {self.top}/tools/**]
  write: [{self.top}/ws/**]
exec: [{self.top}/tools/attempt, {self.top}/tools/spare]
""")
        self.write("swap.yaml", f"""fs:
  read: [/usr/**, /bin/**, /lib/**, /lib64/**, {self.top}/swap/sub/**]
  write: [{self.top}/ws/**, {self.top}/swap/**]
""")
        self.write("broker.yaml", f"""fs:
  read: [/usr/**, /bin/**, /lib/**, /lib64/**, /sbin/**, /etc/**]
  write: [{self.top}/ws/**]
exec: ["/**"]
services:
  browser: {{access: open, domains: [127.0.0.1]}}
  clipboard: {{access: readwrite}}
  notifications: {{access: send}}
""")
        # As xdg-open does.
        self.write("own/open", "#!/bin/sh\ndbus-send </dev/null >/dev/null 2>&1\nexit 0\n")
        os.chmod(self.path("own/open"), 0o755)
        os.symlink(self.path("out"), self.path("out/link"))
        for name in (".ssh/id_test", ".aws/credentials",
                     ".local/state/corral/policy-cache/entry"):
            self.write(f"home/{name}")
        for name in (".bashrc", ".config/corral/profiles/workspace.yaml",
                     ".local/state/corral/policy-cache/key"):
            self.write(f"home/{name}", "\n")
        self.write("other/.ssh/id_test")
        os.symlink(self.path("out"), self.path("swap/link"))
        try:
            os.setxattr(self.path("ro/ro-removexattr"), "user.canary", b"1")
        except OSError:
            pass

    def make_links(self):
        """Secrets and files that run later, which are links into what may be read or written."""
        for name in ("ws/linked/key", "ws/linked/azure/token", "home/sync/key"):
            self.write(name)
        for name in ("profile", "hook.sh", "tasks.json", "skill/SKILL.md", "hard.sh"):
            self.write(f"ws/linked/{name}", "\n")
        for link, target in ((".git/hooks/pre-push", "../../linked/hook.sh"),
                             (".vscode/launch.json", "../linked/tasks.json"),
                             (".claude/skills/one", "../../linked/skill")):
            os.makedirs(os.path.dirname(self.path(f"ws/{link}")), exist_ok=True)
            os.symlink(target, self.path(f"ws/{link}"))
        os.link(self.path("ws/linked/hard.sh"), self.path("ws/.git/hooks/pre-rebase"))
        os.makedirs(self.path("home/.ssh"), exist_ok=True)
        for link, target in ((".ssh/id_workspace", "../../ws/linked/key"),
                             (".ssh/id_sync", "../sync/key"), (".azure", "../ws/linked/azure"),
                             (".profile", "../ws/linked/profile")):
            os.symlink(target, self.path(f"home/{link}"))

    def close_chain(self):
        """Folders of another user, if we may give them away; else of ours, closed to ourselves. Sockets in them stay in use."""
        for name in ("chain/below", "chain"):
            if os.geteuid() == 0:
                os.chown(self.path(name), OTHER, OTHER)
            os.chmod(self.path(name), 0o711 if os.geteuid() == 0 else 0o311)

    def configure(self, text):
        """services.yaml of the user; None: there is none."""
        path = self.path("home/.config/corral/services.yaml")
        if text is None:
            os.unlink(path)
            return
        self.write("home/.config/corral/services.yaml", text)
        os.chmod(path, 0o600)
        if self.user is not None:
            os.chown(path, self.user, self.user)

    def make_privileged(self):
        """A setuid program and one with capabilities, if we may, and if the file system keeps them."""
        self.privileged = False
        if os.geteuid() != 0 or os.statvfs(self.top).f_flag & os.ST_NOSUID:
            return
        os.chown(self.path("tools/setuid"), 1, 1)
        os.chmod(self.path("tools/setuid"), 0o6755)
        capability = struct.pack("<5I", 0x02000001, 1, 0, 0, 0)  # version 2, effective: CAP_CHOWN
        try:
            os.setxattr(self.path("tools/filecap"), "security.capability", capability)
        except OSError:
            return
        self.privileged = True

    def make_handle(self):
        made = subprocess.run([self.path("tools/attempt"), "--handle", self.path("out/handle-open")],
                              stdout=subprocess.PIPE, text=True, check=False)
        if made.returncode == 0:
            self.values["handle"] = made.stdout.strip()

    def mortal(self):
        """A process that an attempt may kill."""
        process = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, **self.as_user())
        self.processes.append(process)
        return process.pid

    def write_values(self, inside, **more):
        """The file `scene`. Inside, pid 1 is what keeps the command; bare, a stand-in."""
        values = {**self.values, **more}
        values["keeper"] = 1 if inside else values["victim"]
        for attempt in self.attempts:
            if attempt.name.startswith("signal-keeper-"):
                values[f"mortal-{attempt.name}"] = 1 if inside else self.mortal()
        if self.privileged:
            values["privileged-programs"] = "yes"
        with open(self.path("ws/scene"), "w", encoding="utf-8") as file:
            file.writelines(f"{key}={value}\n" for key, value in values.items())

    def environment(self):
        """What the caller has set: secrets, and switches of programs."""
        keep = {k: os.environ[k] for k in ("PATH", "LANG") if k in os.environ}
        # The search for leaks takes seconds for each program; other tests do it.
        keep["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return {**keep, "HOME": self.path("home"), "TMPDIR": self.path("tmp"), "TERM": "dumb",
                "SECRET_TOKEN": self.canary, "CORRAL_SECRET": self.canary, "BASH_ENV": "/dev/null",
                "LD_LIBRARY_PATH": "/nowhere", "GIT_SSH_COMMAND": "false",
                "SSH_AUTH_SOCK": self.path("agent.sock"),
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + self.path("agent.sock")}

    # -- looking at it --

    def states(self):
        return {(place, a.name): state_of(self.path(f"{place}/{a.name}"))
                for place in PLACES for a in self.attempts}

    def evidence(self, name, now):
        """What the attempt NAME did to the host, as a sentence; None if nothing."""
        for place in PLACES:
            if now[place, name] != self.before[place, name]:
                return f"{place}/{name} has changed"
        for folder in ("out", "ro", "ws/denied-dir"):
            if os.path.lexists(self.path(f"{folder}/{name}.made")):
                return f"{folder}/{name}.made was made"
        for file in (".bashrc", ".config/corral/profiles/workspace.yaml",
                     ".local/state/corral/policy-cache/key"):
            with open(self.path(f"home/{file}"), encoding="utf-8", errors="replace") as text:
                if f"{name}\n" in text.read():
                    return f"home/{file} has changed"
        if name in self.victim.logged:
            return "it reached the victim"
        return "its daemon lives" if self.locked(name) else None

    def locked(self, name):
        try:
            with open(self.path(f"ws/{name}.work"), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def clear_work(self, name):
        """Removes what the attempt NAME made in the workspace, and takes back what it exchanged with that."""
        part, own = self.path(f"ws/sub-{name}"), self.path(f"ws/{name}.work")
        if os.path.isdir(part) and os.path.isdir(own) and not self.has_canary(f"{part}/denied.txt"):
            os.rename(part, f"{own}.made")
            os.rename(own, part)
        for made in glob.glob(f"{own}*"):
            if os.path.isdir(made) and not os.path.islink(made):
                shutil.rmtree(made)
            else:
                os.unlink(made)

    def has_canary(self, path):
        with open(path, encoding="ascii") as file:
            return self.canary in file.read()

    def kill_daemon(self, name):
        """Bare, the number in the file is a process of ours: it holds the lock."""
        with open(self.path(f"ws/{name}.work"), encoding="ascii") as file:
            os.kill(int(file.read()), 9)

    def listing(self):
        """Every name, type and mode, for a comparison before and after."""
        found = {}
        for folder, folders, names in os.walk(self.top):
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                found[path] = stat.filemode(os.lstat(path).st_mode)
        return found

    def end(self):
        self.victim.end()
        for process in self.processes:
            process.kill()
            process.wait()
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            if self.top in file.read():
                raise RuntimeError(f"something is mounted in {self.top}: not removed")
        for name in ("chain", "chain/below"):
            os.chmod(self.path(name), 0o700)
        shutil.rmtree(self.top)
