#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corral run with a broker: its socket is there where it is asked for, no command can change it or get
behind it, and whichever process is killed, the sandbox goes on and nothing is left. As root, once more as
an ordinary user. Prints TAP."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from broker_tap import at_once, beside_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL")
CORRAL, PATIENCE = os.path.abspath(os.environ["CORRAL"]), 60
FOLDER, SOCKET = "/dev/corral", "/dev/corral/broker.sock"

# Inside: answers each line, "method {params}", with what the broker answers.
CALLER = r"""
import json, os, socket, sys
def call(line):
    method, _, params = line.strip().partition(" ")
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.environ["SANDBOX_SOCKET"])
            s.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": json.loads(params or "{}")}) + "\n").encode())
            return s.makefile().readline().strip() or "closed"
    except OSError as error:
        return type(error).__name__
for line in sys.argv[1:] or iter(sys.stdin.readline, ""):
    print(call(line), flush=True)
"""
# Anywhere: what takes a socket away from who has it, or puts another in its place. Prints what worked.
ATTACKS = r"""
import ctypes, os, socket, sys
path = sys.argv[1]
folder = os.path.dirname(path)
def bind():
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(folder + "/mine")
    os.rename(folder + "/mine", path)
def mount():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", folder.encode(), b"tmpfs", 0, None) < 0:
        raise OSError(ctypes.get_errno(), "mount")
    libc.umount2(folder.encode(), 2)
attacks = {
    "mode": lambda: os.chmod(path, 0),
    "link": lambda: os.link(path, folder + "/other"),
    "bind": bind,
    "file": lambda: open(folder + "/file", "w").close(),
    "folder": lambda: os.mkdir(folder + "/more"),
    "symlink": lambda: (os.symlink("/tmp/x", folder + "/s"), os.rename(folder + "/s", path)),
    "rename": lambda: os.rename(path, path + ".old"),
    "unlink": lambda: os.unlink(path + ".old" if os.path.lexists(path + ".old") else path),
    "away": lambda: os.rename(folder, folder + ".old"),
    "mount": mount,
}
for name, attack in attacks.items():
    try:
        attack()
        print(name)
    except OSError:
        pass
"""
# Inside: sockets, and descriptors of the root, that some process there has open; and who can be traced.
LOOK = r"""
import ctypes, os
libc = ctypes.CDLL(None)
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    try:
        comm = open(f"/proc/{pid}/comm").read().strip()
        if "broker" in comm or "front" in comm:
            print("sees", comm)
        if int(pid) != os.getpid():
            if libc.ptrace(16, int(pid), 0, 0) == 0:
                print("traces", comm)
            pidfd = os.pidfd_open(int(pid))
            if any(libc.syscall(438, pidfd, n, 0) >= 0 for n in range(64)):
                print("takes from", comm)
        for fd in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            if target.startswith("socket:") or target == "/":
                print("has", comm, target)
    except OSError:
        pass
print("looked")
"""

class Scene:
    """A home and a workspace; runs of corral in it."""

    def __init__(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-broker-"))
        for name in ("home", "work", "data"):
            os.mkdir(self.path(name))
        self.write("work/file", "in the workspace\n")
        self.env = {**os.environ, "HOME": self.path("home"), "SANDBOX_SOCKET": "/nowhere"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CORRAL_AUDIT"):
            self.env.pop(name, None)

    def path(self, name):
        return os.path.join(self.top, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run(self, *words, **more):
        env = {**self.env, **more}
        return subprocess.run([CORRAL, *words], cwd=self.path("work"), env=env, text=True, check=False, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def python(self, options, script, *words, **more):
        return self.run("run", *options, "--", "/usr/bin/python3", "-c", script, *words, **more)

    def end(self):
        shutil.rmtree(self.top)


class Session:
    """A command that calls whenever it is told to."""

    def __init__(self, scene, *options):
        self.process = subprocess.Popen([CORRAL, "run", *options, "--", "/usr/bin/python3", "-c", CALLER],
                                        cwd=scene.path("work"), env=scene.env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def broker(self):
        found = [p for p in children(self.process.pid) if name_of(p) == "corral-broker" and state(p) not in "ZX"]
        return found[0] if found else 0

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def children(pid):
    """By /proc: whose parent it is."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry))
        except (OSError, ValueError, IndexError):
            pass
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def family(pid):
    found = children(pid)
    for child in list(found):
        found += family(child)
    return found


def gone(pids):
    """Waits for the end of all of them."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not [p for p in pids if os.path.exists(f"/proc/{p}") and state(p) not in "ZX"]:
            return True
        time.sleep(0.02)
    return False


def state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def until(what):
    end = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


def test_place(scene):
    shown = "import os; print(os.environ.get('SANDBOX_SOCKET'), os.path.exists('/dev/corral'), '/dev/corral' in os.environ['PATH'])"
    done = scene.python(["--broker"], shown)
    ok(done.stdout.startswith(f"{SOCKET} True"), "with --broker the socket is there", done.stdout, done.stderr)
    for options in ([], ["--no-broker"], ["--env", "SANDBOX_SOCKET"]):
        done = scene.python(options, shown)
        ok(done.stdout.endswith(" False False\n") and SOCKET not in done.stdout, f"without, nothing of it is ({options})",
           done.stdout, done.stderr)
    done = scene.python(["--broker", "--env", "SANDBOX_SOCKET=/mine"], shown)
    ok(done.stdout.startswith(f"{SOCKET} True"), "nothing else sets its variable", done.stdout, done.stderr)
    for options, there in ([["--broker"], True], [[], False]):
        done = scene.run("run", "--json", *options, "--", "true")
        ok(json.loads(done.stdout)["broker"] is there, f"--json says whether there was one: {there}", done.stdout)


def test_policies(scene):
    services = scene.write("services.yaml", "fs: {read: [/usr/**, /bin/**]}\nservices: {browser: {access: open}}\n")
    narrow = scene.write("narrow.yaml", "fs: {read: [/usr/**, /bin/**, /etc/**]}\nexec: [/usr/bin/python3, /bin/sh]\n"
                                        "network: {deny: ['*']}\n")
    rule = "fs: {read: [/usr/**, /bin/**]}\nrules:\n- {id: r, action: %s, operations: [service], patterns: ['browser.open:*']}\n"
    allowing, denying = scene.write("allowing.yaml", rule % "allow"), scene.write("denying.yaml", rule % "deny")
    host = scene.write("run.yaml", "fs: {read: [/usr/**, /etc/**, /run/**]}\n")
    rows = [
        ("services in a policy start one", ["--policy", services], True),
        ("a rule that allows one does", ["--policy", allowing], True),
        ("a rule that denies one does not", ["--policy", denying], False),
        ("--no-broker does not", ["--policy", services, "--no-broker"], False),
        ("no service, no broker", ["--policy", narrow], False),
        ("a list of programs, no network", ["--policy", narrow, "--broker"], True),
        ("the host's /run", ["--policy", host, "--broker"], True),
        ("the host's root: --mode rx", ["--mode", "rx", "--data-dir", scene.path("data"), "--broker"], True),
        ("the host's root: --mode sandbox", ["--mode", "sandbox", "--data-dir", scene.path("data"), "--broker"], True),
    ]
    for name, options, there in rows:
        done = scene.python(options, CALLER if there else "import os; print(os.path.exists('/dev/corral'))", *["ping"] * there)
        ok(('"pong":true' in done.stdout) == there and done.returncode == 0, name, done.stdout, done.stderr)
    for path, there in ((services, True), (allowing, True), (denying, False), (narrow, False)):
        done = scene.run("policy", "show", path)
        ok(("# It grants services: `corral run` starts a broker" in done.stdout) == there and done.returncode == 0,
           f"policy show says so: {os.path.basename(path)}", done.stdout, done.stderr)
        again = scene.run("policy", "show", scene.write("shown.yaml", done.stdout))
        ok(again.stdout == done.stdout, "and can be read again", again.stdout, again.stderr)
        ok("broker" not in scene.run("policy", "show", "--json", path).stdout, "in JSON it is the policy alone")
    for options in (["--mode", "rwx"], ["--mode", "sandbox", "--tier", "3"]):
        done = scene.run("run", *options, "--data-dir", scene.path("data"), "--broker", "--", "true")
        ok(done.returncode == 125 and "--broker" in done.stderr, f"{' '.join(options)} has none, and says so", done.stderr)
    done = scene.run("run", "--broker", "--no-broker", "--", "true")
    ok(done.returncode == 125 and "together" in done.stderr, "not both options", done.stderr)


def test_program(scene):
    """sandbox-call, or what stands for it; an installed one is not in PATH."""
    path = "/usr/bin:/bin"
    stand_in = scene.path("data/sandbox-call")
    shutil.copy("/usr/bin/env", stand_in)
    listed = scene.write("listed.yaml", "fs: {read: [/usr/**, /bin/**, /etc/**]}\nexec: [/bin/sh]\n")
    denied = scene.write("denied.yaml", "fs: {read: [/usr/**, /bin/**, /etc/**]}\nrules:\n- {id: no, action: deny, operations: [exec], "
                                        "patterns: [/dev/corral/sandbox-call]}\n"
                                        "- {id: yes, action: allow, operations: [exec], patterns: ['/**'], priority: -1}\n")
    rows = [
        ("it is in PATH", [], "sandbox-call >/dev/null", 0),
        ("a list of programs implies it", ["--policy", listed], "sandbox-call >/dev/null", 0),
        ("and nothing else", ["--policy", listed], "/usr/bin/env 2>/dev/null", 126),
        ("a rule that denies it keeps it out", ["--policy", denied], "PATH=/dev/corral sandbox-call 2>/dev/null", 127),
        ("it is not to be changed", [], ": >>/dev/corral/sandbox-call", 2),
        ("nor are others put beside it", [], ": >/dev/corral/git", 2),
    ]
    for name, options, line, status in rows:
        done = scene.run("run", "--broker", *options, "--", "/bin/sh", "-c", line, CORRAL_SANDBOX_CALL=stand_in, PATH=path)
        ok(done.returncode == status, f"sandbox-call: {name}", done.returncode, done.stderr)
    done = scene.run("run", "--broker", "--", "sandbox-call", "-u", "HOME", "true", CORRAL_SANDBOX_CALL=stand_in, PATH=path)
    ok(done.returncode == 0, "sandbox-call: it may be the command itself", done.stderr)
    if "CORRAL_SANDBOX_CALL" in os.environ:
        for options in ([], ["--policy", listed]):
            done = scene.run("run", "--broker", *options, "--", "/bin/sh", "-c", "exec sandbox-call --json ping", PATH=path)
            ok(done.returncode == 0 and '"pong":true' in done.stdout.replace(" ", ""), f"sandbox-call: the real one calls {options}",
               done.stdout, done.stderr)
    done = scene.run("run", "--broker", "--", "/bin/sh", "-c", "echo $PATH; ls /dev/corral", CORRAL_SANDBOX_CALL="/nowhere", PATH=path)
    ok("/dev/corral" not in done.stdout and done.stdout.endswith("broker.sock\n"), "sandbox-call: where it is missing, the rest is there",
       done.stdout, done.stderr)


def test_calls(scene):
    outside = f"/tmp/corral-broker-outside-{os.getpid()}"
    with open(outside, "w", encoding="utf-8") as file:
        file.write("the host's\n")
    mine = "import os\nopen('/tmp/mine', 'w').write('of the command')\n" + CALLER
    log = scene.path("home/log")
    done = scene.python(["--broker", "--audit", log, "--env", "GRANTED"], mine, 'fs.read {"path": "file"}',
                        'fs.read {"path": "/tmp/mine"}', 'fs.read {"path": "%s"}' % outside,
                        'env.get {"name": "GRANTED"}', 'env.get {"name": "SECRET"}', GRANTED="given", SECRET="kept")
    os.unlink(outside)
    lines = (done.stdout.splitlines() + [""] * 5)[:5]
    ok("in the workspace" in lines[0], "a relative path is one of the command's folder", done.stdout, done.stderr)
    ok("of the command" in lines[1], "/tmp is the command's own", done.stdout)
    ok("error" in lines[2] and "the host's" not in lines[2], "and not the host's", done.stdout)
    ok('"given"' in lines[3], "a variable that is granted has the host's value", done.stdout)
    ok("error" in lines[4] and "kept" not in lines[4], "another has none", done.stdout)
    # A profile is no file to which a line could be added.
    for asked, hint in (("/srv/none", "the option --read /srv/none of corral run allows it; ask the user for this grant; nothing inside the sandbox"),
                        ("/srv/a b", "the option --read '/srv/a b' of corral run allows it; ask the user"), ("/srv/**", '; ask the user for this grant')):
        done = scene.python(["--broker"], CALLER, "fs.read " + json.dumps({"path": asked}))
        ok(hint in done.stdout and "profile workspace" not in done.stdout, f"a denial says what to ask for: {asked}", done.stdout, done.stderr)
    own = scene.write("own.yaml", "fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**]}\n")
    done = scene.python(["--broker", "--policy", own], CALLER, 'fs.read {"path": "/srv/none"}')
    ok("/srv/none" in done.stdout and "own.yaml; ask the user" in done.stdout, "and where it is one, the file", done.stdout, done.stderr)
    listed = scene.run("audit", "list", "--json", log)
    events = [json.loads(line) for line in listed.stdout.splitlines()]
    reads = [e for e in events if e.get("action") == "fs.read" and "mine" not in e.get("target", "")]
    ok(reads and {e["session"] for e in events} == {events[0]["session"]}, "calls are in the run's log, in its session",
       listed.stdout[-2000:], listed.stderr)
    done = scene.run("audit", "verify", log)
    ok(done.returncode == 0, "which is whole", done.stdout, done.stderr)


def exec_run(script):
    return "exec.run " + json.dumps({"command": "/usr/bin/python3", "args": ["-c", script]})


def test_programs(scene):
    """Those of exec.run, in their own sandbox, are held to no less than the command."""
    text = "fs: {read: [/usr/**, /bin/**, /etc/**], write: [$WORK_DIR/**]}\n"
    policy, bare = scene.write("work/policy.yaml", text), scene.write("bare.yaml", text)
    spoil = "import os\nfor change in (lambda p: open(p, 'a').write('#'), lambda p: os.rename(p, p + '.old')):\n" \
            "  try: print('spoiled', change(PATH))\n  except OSError: print('tried')\n"
    done = subprocess.run(["/usr/bin/python3", "-c", spoil.replace("PATH", repr(bare))], stdout=subprocess.PIPE, text=True, check=False)
    ok(done.stdout.count("spoiled") == 2, "bare, a policy is easily changed", done.stdout)
    done = scene.python(["--broker", "--policy", policy], CALLER, exec_run(spoil.replace("PATH", repr(policy))), exec_run("open('made', 'w')"))
    with open(policy, encoding="utf-8") as file:
        ok("tried" in done.stdout and "spoiled" not in done.stdout and file.read() == text, "exec.run: the run's policy stays as it is",
           done.stdout, done.stderr)
    ok(os.path.exists(scene.path("work/made")), "exec.run: the rest of the workspace may be written", done.stdout, done.stderr)
    # Several layers, with limits of the run: two files, and a stored policy.
    for options, what in ((["--policy", policy, "--policy", policy], "two policies"), (["--policy", policy], "a stored policy")):
        if what == "a stored policy":
            os.makedirs(scene.path("home/.config/corral/policy.d"))
            scene.write("home/.config/corral/policy.d/own.yaml", text)
        done = scene.python(["--broker", *options, "--pids", "500"], CALLER, exec_run("print('r' + 'an')"))
        ok('"result"' in done.stdout and "ran" in done.stdout, f"exec.run: with {what}", done.stdout, done.stderr)
        done = scene.python(["--broker", *options, "--timeout", "30"], CALLER, 'fs.read {"path": "file"}')
        ok("in the workspace" in done.stdout, f"fs.read: with {what}", done.stdout, done.stderr)
    shutil.rmtree(scene.path("home/.config/corral/policy.d"))
    forks = "import os, time\nfor i in range(60):\n  if os.fork() == 0: time.sleep(60)\ntime.sleep(%d)\nprint('all', 'forked')"
    done = scene.python(["--broker", "--pids", "500"], CALLER, exec_run(forks % 4))
    ok("all forked" in done.stdout, "exec.run: programs may fork", done.stdout, done.stderr)
    done = scene.python(["--broker", "--pids", "30"], CALLER, exec_run(forks % 25))
    ok('"result"' in done.stdout and "all forked" not in done.stdout, "exec.run: --pids holds", done.stdout, done.stderr)
    grows = "import time\nb = bytearray(600 << 20)\ntime.sleep(25)\nprint('all', 'taken')"  # until the limit is checked
    done = scene.python(["--broker", "--memory", "100M"], CALLER, exec_run(grows))
    ok('"result"' in done.stdout and "all taken" not in done.stdout, "exec.run: --memory holds", done.stdout, done.stderr)


def test_attacks(scene):
    bare = scene.path("bare")
    os.mkdir(bare)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{bare}/broker.sock")
        listener.listen()
        done = subprocess.run(["/usr/bin/python3", "-c", ATTACKS, f"{bare}/broker.sock"], stdout=subprocess.PIPE, text=True, check=False)
    worked = done.stdout.split()
    ok({"mode", "bind", "file", "folder", "symlink", "rename", "unlink", "away"} <= set(worked), "bare, a socket is easily replaced", worked)
    for options in ([], ["--mode", "rx", "--data-dir", scene.path("data")]):
        done = scene.python(["--broker", *options], ATTACKS + "\nprint('all')\n" + CALLER.replace("sys.argv[1:]", "sys.argv[2:]"), SOCKET, "ping")
        lines = done.stdout.split("\n")
        ok(lines[0] == "all" and '"pong":true' in done.stdout, f"inside nothing of it works, and the socket serves {options}",
           done.stdout, done.stderr)
        done = scene.python(["--broker", *options], LOOK)
        ok(done.stdout == "looked\n", f"no process is in sight that has its sockets {options}", done.stdout, done.stderr)


def test_deaths(scene):
    session = Session(scene, "--broker")
    ok('"pong":true' in session.call("ping"), "a session that calls")
    broker = session.broker()
    fronts = children(broker)
    ok(broker and fronts, "it has a broker with a front", broker, fronts)
    for pid in fronts:
        os.kill(pid, signal.SIGKILL)
    ok(gone(fronts) and '"pong":true' in session.call("ping"), "its front is killed: calls go on")
    seen = [broker]
    for i in range(3):
        pids = family(seen[-1])
        os.kill(seen[-1], signal.SIGKILL)
        # A call that its front took in its last moment is lost with it.
        ok(gone([seen[-1], *pids]), "what it had started is gone")
        ok('"pong":true' in session.call("ping"), f"the broker is killed, {i + 1}: it is started again, and the call waits")
        seen.append(session.broker())
    os.kill(seen[-1], signal.SIGKILL)
    ok(gone([seen[-1]]), "the broker is killed once more")
    ok(until(lambda: session.call("ping") == "ConnectionRefusedError"), "calls are refused from then on")
    status, _, err = session.end()
    ok(status == 0 and err.count("started again") == 3 and err.count("calls of it fail") == 1, "the command went on, and it was said",
       status, err)
    session = Session(scene, "--broker")
    session.call("ping")
    pids = family(session.process.pid)
    session.process.kill()
    session.process.wait()
    ok(len(pids) > 2 and gone(pids), "corral is killed: nothing is left", [(p, name_of(p)) for p in pids])
    session.process.communicate()
    session = Session(scene, "--broker")
    session.call("ping")
    pids = [session.broker(), *family(session.broker())]
    ok(session.end()[0] == 0 and gone(pids), "the command ends: nothing is left then", pids)


def test_failures(scene):
    services = scene.write("services.yaml", "fs: {read: [/usr/**, /bin/**]}\nservices: {browser: {access: open}}\n")
    rows = [
        ("it is not installed", ["--broker"], "/nowhere/corral-broker", 125, "cannot start the broker /nowhere/corral-broker"),
        ("it does not start", ["--broker"], "/bin/false", 125, "the broker exited with status 1"),
        ("its path is not absolute", ["--broker"], "bin/corral-broker", 125, "CORRAL_BROKER: `bin/corral-broker` is not an absolute path"),
        ("it is no program", ["--broker"], "/etc/passwd", 125, "cannot start the broker /etc/passwd"),
        ("the policy alone asks for it", ["--policy", services], "/nowhere/corral-broker", 0, "the policy grants services, but"),
    ]
    for name, options, program, status, text in rows:
        done = scene.run("run", *options, "--", "/bin/sh", "-c", "echo ran", CORRAL_BROKER=program)
        ok(done.returncode == status and (done.stdout == "ran\n") == (status == 0) and text in done.stderr, f"a broker that is missing: {name}",
           done.returncode, done.stdout, done.stderr)


def test_without(scene):
    """Of a Corral that was built without."""
    services = scene.write("services.yaml", "fs: {read: [/usr/**, /bin/**]}\nservices: {browser: {access: open}}\n")
    done = scene.run("run", "--broker", "--", "true")
    ok(done.returncode == 125 and "built without the broker" in done.stderr and "-Dbroker=enabled" in done.stderr, "--broker says what is missing",
       done.stderr)
    done = scene.run("run", "--policy", services, "--", "true")
    ok(done.returncode == 0 and "built without the broker" in done.stderr, "services in a policy are a note", done.stderr)


def in_scene(tests):
    scene = Scene()
    try:
        for test in tests:
            test(scene)
    finally:
        scene.end()


def main():
    parts = [(test_place, test_policies, test_program, test_calls), (test_programs,), (test_attacks, test_deaths, test_failures)]
    with beside_user(__file__, PROGRAMS):
        at_once(*[lambda tests=tests: in_scene(tests) for tests in (parts if "CORRAL_BROKER" in os.environ else [(test_without,)])])
    return end()


if __name__ == "__main__":
    sys.exit(main())
