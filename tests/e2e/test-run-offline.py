#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs without a network: no such name, at once; one line at the first attempt; every name in the log, by the right program."""
import json
import os
import socket
import subprocess
import sys
import threading

from suggestions import CORRAL, Scene

PYTHON = "/usr/bin/python3"
ASK = """
import socket, struct, sys
def query(name):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">2H", 1, 1)
def ask(message):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(30)
    s.connect(("127.0.0.53", 53))
    s.send(message)
    return s.recv(4096)
"""
ODD = r"""
good = query("a.example.com")
for m in (b"", b"x", good[:11], good[:14], good[:-1], b"\xff" * 2048, good + b"\0" * 4000, good[:12] + b"\xc0\x0c" + good[-4:],
          good[:12] + b"\3a\nb\0\0\1\0\1"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(m)
print(ask(query("b.example.com"))[3] & 15)
"""
number = failures = 0


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def result(scene, *words, options=()):
    done = subprocess.run([CORRAL, "run", "--json", *options, "--", *words], cwd=scene.work, env=scene.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=100, check=False)
    return json.loads(done.stdout)


def names(scene):
    status, text = scene.corral("run", "--", "getent", "ahosts", "a.example.com")
    ok(status == 2 and text.count("\n") == 2 and "this run has no network: getent asked for a.example.com; "
       "to allow it: --net a.example.com:443" in text, "a name: one line, what would allow it, and who can", text)
    found = result(scene, "sh", "-c", "getent ahosts a.example.com; getent ahosts b.example.com")["network"]
    ok([(n["event"], n["target"], n["dns"], n["program"]) for n in found] ==
       [("denied", f"{l}.example.com", True, "getent") for l in "ab"], "--json: each by the program that asked", found)
    status, text = scene.corral("run", "--", "sh", "-c", "getent ahosts localhost; getent ahosts corral; true")
    ok(status == 0 and "no network" not in text, "localhost and the sandbox's own name are no names of others", text)
    if os.access("/usr/bin/ssh", os.X_OK):
        status, text = scene.corral("run", "--", "ssh", "-F", "none", "git@git.example.com")
        ok("ssh asked for git.example.com; to allow it: --net git.example.com:22\n" in text, "ssh means port 22", text)
    status, text = scene.corral("run", "--", "getent", "ahosts", "a.example.com", "http://a.example.com:8080/x")
    ok("--net a.example.com:8080\n" in text, "the port of the command line", text)
    script = scene.write("fetch-it", f"#!{PYTHON}\nimport socket\nsocket.getaddrinfo('s.example.com', 80)\n", 0o755)
    status, text = scene.corral("run", "--", "sh", "-c", script)
    ok("fetch-it asked for s.example.com" in text, "a script has its own name, not its interpreter's", text)


def with_a_relay(scene):
    """Connections and names by the program that made them, not by the run's first word; a script by its own name."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    thread = threading.Thread(target=lambda: server.accept()[0].close(), daemon=True)
    thread.start()
    script = scene.write("call-it", f"""#!{PYTHON}
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 60).recv(1)
except OSError:
    pass
""", 0o755)
    found = result(scene, "sh", "-c", f"{script} 127.0.0.1 {port}; {script} 192.0.2.1 80; {script} a.example.com 80; getent ahosts a.example.com; :",
                   options=("--net", f"127.0.0.1:{port}"))["network"]
    thread.join(60)
    ok(sorted({(n["event"], n["target"], n["program"]) for n in found}) ==
       [("connection", f"127.0.0.1:{port}", "call-it"), ("denied", "192.0.2.1:80", "call-it"),
        ("denied", "a.example.com", "call-it"), ("denied", "a.example.com", "getent")],
       "with a relay: connections, denied ones and names by their program", found)
    # More than are looked for in a second: none is lost, and none is of the run's first word.
    found = result(scene, "sh", "-c", f"""exec {PYTHON} -c '
import socket
for i in range(300):
    try:
        socket.create_connection(("192.0.2.1", 80), 60).recv(1)
    except OSError:
        pass
'""", options=("--net", f"127.0.0.1:{port}"))["network"]
    ok(sum(n["count"] for n in found) == 300 and all(n["program"].startswith("python3") for n in found),
       "a flood is counted, with the program that is known", found)


def at_once(scene):
    """The line comes while the command runs, which waits for us to have read it."""
    child = subprocess.Popen([CORRAL, "run", "--", "sh", "-c", "getent ahosts a.example.com; cat; exit 3"], cwd=scene.work,
                             env=scene.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = child.stderr.readline()
    ok(b"asked for a.example.com" in line and child.poll() is None, "it is said while the command runs", line)
    _, rest = child.communicate(timeout=100)
    ok(child.returncode == 3 and b"a.example.com" not in rest, "and not a second time", rest)


def log(scene):
    path = scene.root + "/home/log"
    scene.corral("run", "--audit", path, "--", "sh", "-c", "getent ahosts a.example.com")
    status, text = scene.corral("audit", "export", "--format", "jsonl", path)
    rows = [json.loads(l) for l in text.splitlines() if l.startswith("{")]
    ok([(r["target"], r["program"]) for r in rows if r["action"] == "net.name"] == [("a.example.com", "getent")],
       "the log has the name and the program", text)
    text = "import socket; socket.create_connection(('192.0.2.1', 80), 60)"
    status, said = scene.corral("run", "--audit", path, "--", PYTHON, "-c", text)
    ok(status == 1 and "tried to reach an address, but this run has no network" in said, "an address without a name: a line", said)
    _, text = scene.corral("audit", "export", "--format", "jsonl", path)
    tried = [json.loads(l) for l in text.splitlines() if l.startswith("{")]
    tried = [(r["target"], r["decision"]) for r in tried if r["action"] == "net.connect"]
    ok(tried == [("*", "denied")], "and a record that it was tried, without the address", tried)
    walls = [r["reason"] for r in rows if r["action"] == "confinement"]
    ok(len(walls) == 1 and "; files: not watched" in walls[0], "and that files were not watched", walls)
    scene.corral("run", "--audit", path + "2", "--explain", "--", "true")
    status, text = scene.corral("audit", "export", "--format", "jsonl", path + "2")
    ok("; files: watched" in text, "with --explain they are", text)


def attacks(scene):
    """What a command may try with the process that answers."""
    inside = ASK + """
import os
ask(query("a.example.com"))
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if open(f"/proc/{pid}/comm").read() != "corral-names\\n":
            continue
    except OSError:
        continue
    status = dict(l.split(":\\t", 1) for l in open(f"/proc/{pid}/status").read().splitlines() if ":\\t" in l)
    print(status["CapEff"], status["NoNewPrivs"], status["Seccomp"])
    try:
        os.readlink(f"/proc/{pid}/fd/3")
        print("seen")
    except OSError:
        print("hidden")
"""
    out = result(scene, PYTHON, "-c", inside)
    ok(out["stdout"] == "0000000000000000 1 2\nhidden\n", "it has no rights that a command has not", out)
    out = result(scene, PYTHON, "-c", ASK + "[ask(query(f'n{i}.example.com')) for i in range(400)]")
    ok(out["status"] == 0 and len(out["network"]) == 257 and out["network"][-1]["target"] == "*",
       "a flood of names: bounded, and that there were more", (out["status"], out["stderr"], len(out["network"])))
    out = result(scene, PYTHON, "-c", ASK + ODD)
    ok(out["stdout"] == "3\n" and "b.example.com" in [n["target"] for n in out["network"]],
       "bytes that are no question change nothing", out)
    killed = ASK + """
import os, signal
ask(query("a.example.com"))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if open(f"/proc/{pid}/comm").read() == "corral-names\\n":
            os.kill(int(pid), 9)
            print("killed")
    except OSError as e:
        print("not killed")
try:
    print(ask(query("b.example.com"))[3] & 15)
except ConnectionRefusedError:
    print("refused")
"""
    out = result(scene, PYTHON, "-c", killed)
    said = [n["reason"] for n in out["network"] if n["target"] == "*"]
    ok(out["stdout"] == "not killed\n3\n" or (out["stdout"] == "killed\nrefused\n" and said ==
       ["a command ended the process that records names"]), "it cannot be ended in silence", out)


def library(scene):
    """Several commands of a program's sandbox share one network: the process that answers belongs to no command."""
    def run(*scripts):
        folder = os.path.join(scene.root, "library")
        os.makedirs(folder, exist_ok=True)
        for i, script in enumerate(scripts):
            with open(f"{folder}/{i}.py", "w", encoding="utf-8") as file:
                file.write(ASK + script)
        done = subprocess.run([os.environ["EXECUTE"], folder, *(f"exec python3 {i}.py" for i in range(len(scripts)))], env=scene.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
        return [json.loads(line) for line in done.stdout.splitlines()]

    last = "print(ask(query('b.example.com'))[3] & 15)"
    out = run("""
import os
ask(query("a.example.com"))
print(sum(open(f"/proc/{p}/comm").read() == "corral-names\\n" for p in os.listdir("/proc") if p.isdigit()))
try:
    os.kill(-1, 9)
except ProcessLookupError:
    print("nobody")
""" + last, last)
    ok([o.get("stdout") for o in out] == ["0\nnobody\n3\n", "3\n"], "a library's sandbox: no command sees it or ends it", out)
    out = run("""
for option in (0, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if option:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        s.bind(("127.0.0.53", 53))
        print("bound")
    except OSError:
        pass
""" + last, ODD, "[ask(query(f'n{i}.example.com')) for i in range(400)]\n" + last, last)
    ok([o.get("stdout") for o in out] == ["3\n"] * 4, "none takes its place, and odd bytes and floods change nothing", out)


def enclave(scene):
    script = scene.write("look.py", ASK + "print('code', ask(query('e.example.com'))[3] & 15)")
    lines = [f"grant fs.read {scene.work}/**", "grant fs.read /usr/**", "grant fs.read /etc/**", "grant exec /usr/bin/**",
             f"shell_exec {PYTHON} {script}"]
    done = subprocess.run([os.environ["TOOLS"]], input="\n".join(lines) + "\n", env=scene.env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
    ok("code 3\nok 0\n" in done.stdout, "an enclave's command: no such name", done.stdout)


def main():
    with Scene() as scene:
        names(scene)
        with_a_relay(scene)
        at_once(scene)
        log(scene)
        attacks(scene)
        library(scene)
        enclave(scene)
    print(f"1..{number}")
    return failures > 0


sys.exit(main())
