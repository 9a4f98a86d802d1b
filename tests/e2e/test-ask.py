#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run --ask-denied` on a terminal: what nothing grants is asked about there, by Corral alone. What a command tries in order
to answer for itself, to draw over the question, to ask at the wrong moment, or to bury the user. Prints TAP."""

import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from broker_tap import end, ok

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("terminal", os.path.join(HERE, "test-run-terminal.py"))
terminal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(terminal)
CORRAL, Terminal = terminal.CORRAL, terminal.Terminal

# Inside: does what each line says, and prints what came of it between angle brackets.
INSIDE = r"""
import fcntl, os, socket, sys, termios, threading
def connect(where):
    host, _, port = where.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=50) as s:
            s.sendall(b"x")
            return s.recv(16).decode() or "closed"
    except OSError as error:
        return type(error).__name__
def flood(number):
    # One after the other: the next name is only asked for when this one was answered.
    return " ".join(connect("host%d.example:443" % i) for i in range(int(number)))
def steal(where):
    # Another thread types into its own terminal, and reads from it, all the while.
    stop = threading.Event()
    got = []
    def type_it():
        tty = os.open("/dev/tty", os.O_RDWR | os.O_NONBLOCK)
        while not stop.is_set():
            try:
                os.write(tty, b"run\r\n")
                for c in b"run\n":
                    fcntl.ioctl(tty, termios.TIOCSTI, bytes([c]))
            except OSError:
                pass
            try:
                got.append(os.read(tty, 100))
            except OSError:
                pass
            stop.wait(0.05)
    t = threading.Thread(target=type_it)
    t.start()
    r = connect(where)
    stop.set()
    t.join()
    return r + (" stolen" if b"secret" in b"".join(got) else "")
def fake(text):
    print("\ncorral asks, and the command waits: may it connect to this?\n    good.example:443\n  answer: ", end="", flush=True)
    return "typed " + sys.stdin.readline().strip()
def draw(where):
    # Invisible text, a region of one line, another screen, a question to the terminal.
    print("\x1b[8m\x1b[30;40m\x1b[1;1r\x1b[?1049h\x1b(0\x1b[c\x1b[6n", end="", flush=True)
    return connect(where)
print("<ready>", flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "end":
        break
    print("<%s %s>" % (word, globals()[word](rest)), flush=True)
"""


class Echo:
    """A server that answers each connection; .n counts them."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.where = f"127.0.0.1:{self.port}"
        self.n = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            self.n += 1
            with client:
                client.recv(1)
                client.sendall(b"pong")


class Ask(Terminal):
    def __init__(self, *words, inside=True):
        super().__init__([CORRAL, "run", "--ask-denied", *words, "--", *(["/usr/bin/python3", "-c", INSIDE] if inside else [])], cwd=WORK)
        if inside:
            ok(self.wait_for("<ready>"), "it runs", self.text)

    def says(self, line):
        self.type(line + "\n")

    def asked(self):
        """All up to the place where the answer is typed."""
        return self.wait_for(r"answer: ") or ""

    def answer(self, line):
        self.type(line + "\r")

    def done(self, word):
        found = self.wait_for(rf"<{word} [^>]*>")
        return found and found[found.rindex("<") + 1:-1].partition(" ")[2]


def policy(*servers):
    """Names what may be asked about on loopback, which no question is about otherwise."""
    path = os.path.join(SCRATCH, "policy.yaml")
    rules = [{"id": "one", "action": "ask", "operations": ["net.connect"], "patterns": [s.where for s in servers]}]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"extends": "workspace", "rules": rules}, file)
    return path


def test_words():
    one, two = Echo(), Echo()
    run = Ask("--policy", policy(one, two))
    run.says(f"connect {one.where}")
    text = run.asked()
    ok("corral asks" in text and one.where in text and "connect to" in text and one.n == 0, "a host that is asked about is shown on the terminal", text)
    run.answer("perhaps")
    ok("please type" in run.asked() and one.n == 0, "another word is no answer")
    run.answer("once")
    ok(run.done("connect") == "pong" and one.n == 1, "once: the connection goes on")
    run.says(f"connect {one.where}")
    ok(one.where in run.asked() and one.n == 1, "once is not twice")
    run.answer("run")
    ok(run.done("connect") == "pong", "run")
    run.says(f"connect {one.where}")
    ok(run.done("connect") == "pong" and one.n == 3, "what was allowed for the run is not asked again")
    run.says(f"connect {two.where}")
    ok(two.where in run.asked(), "another port is")
    run.answer("no")
    ok(run.done("connect") not in (None, "pong") and two.n == 0, "no: it is refused")
    run.says(f"connect {two.where}")
    ok(run.done("connect") != "pong" and two.n == 0, "and not asked again at once")
    run.says("end")
    ok(run.wait() == 0 and run.mode() == run.before[:4], "the terminal is as it was")


def test_names():
    run = Ask()
    run.says("connect nothing.example:8443")
    text = run.asked()
    ok("nothing.example:8443" in text, "a host that nothing names is asked about", text)
    run.type("\x03")
    ok(run.done("connect") not in (None, "pong"), "Ctrl-C is a no, and does not reach the command")
    run.says("connect 169.254.169.254:80")
    ok(run.done("connect") not in (None, "pong"), "what the baseline denies is not asked about")
    run.says("end")
    ok(run.wait() == 0 and "169.254.169.254" in run.text.decode(), "and reported", run.text)


def test_attacks():
    server = Echo()
    run = Ask("--policy", policy(server))
    run.says("fake it")
    ok(run.asked(), "a command prints a question of its own")
    run.says("run")
    ok(run.done("fake") == "typed run", "what is typed there reaches the command")
    run.says(f"connect {server.where}")
    ok(server.where in run.asked() and server.n == 0, "and is no answer to anything")
    run.answer("once")
    ok(run.done("connect") == "pong", "the real question follows")
    run.says(f"steal {server.where}")
    ok(run.asked() and server.n == 1, "a command that types into its own terminal has not answered")
    run.type("secret")
    ok(run.wait_for("secret"), "what is typed is shown by Corral")
    run.answer("\x7f" * 6 + "no")
    ok(run.done("steal") not in (None, "pong") and server.n == 1, "and the answer is the user's: no")
    run.says("end")
    run.wait()


def test_stolen():
    server = Echo()
    run = Ask("--policy", policy(server))
    run.says(f"steal {server.where}")
    run.asked()
    run.answer("secret")
    run.asked()
    run.answer("once")
    ok(run.done("steal") == "pong", "what is typed as an answer does not reach the command", run.text)
    run.says("end")
    run.wait()


def test_moment():
    server = Echo()
    run = Ask("--policy", policy(server))
    # Typed ahead, and while the question appears: for the command, or for nothing.
    run.says(f"connect {server.where}")
    ok(run.wait_for("corral asks"), "the question appears")
    run.type("run\rrun\r")
    text = run.asked()
    ok(text and server.n == 0, "what is typed before the line `answer:` is dropped", text)
    run.answer("no")
    ok(run.done("connect") not in (None, "pong") and server.n == 0, "the answer is what is typed after it")
    run.says("end")
    run.wait()


def test_screen():
    server = Echo()
    run = Ask("--policy", policy(server))
    run.says(f"draw {server.where}")
    ok(run.wait_for("\x1b\\[c"), "the command asks the terminal something")
    run.type("\x1b[?1;2crun\r")
    # Corral asks a last question, to know where the replies end.
    before = run.wait_for("\x1b\\[c") or ""
    ok(before, "and Corral takes the replies")
    run.type("\x1b[24;80R\x1b[?1;2c")
    text = run.asked()
    ok("\x1b[0m" in before and "\x1b[?1049l" in before and "\x1b[r" in before and "\x1b(B" in before, "colours, screen, region and letters are undone first", repr(before))
    ok(server.n == 0, "a reply of the terminal is no answer")
    run.answer("once")
    ok("\x1b[?1049h" in (run.wait_for("<draw pong>") or ""), "and set again behind it")
    run.says("end")
    run.wait()


def test_flood():
    run = Ask()
    run.says("flood 40")
    n = 0
    while n < 41:
        found = run.wait_for(r"answer: |<flood [^>]*>") or "<"
        if "<" in found:
            break
        n += 1
        run.answer("no")
    ok(1 <= n <= 6, f"of 40 hosts the user is asked about a few: {n}")
    ok(found.count("rror") == 40, "the others are denied, each at once", found)
    run.says("end")
    ok(run.wait() == 0, "it goes on")


def test_end():
    server = Echo()
    run = Ask("--policy", policy(server))
    run.says(f"connect {server.where}")
    run.asked()
    run.type("ru")
    ok(run.wait_for("ru"), "half of an answer is typed")
    os.kill(run.pid, signal.SIGTERM)
    ok(run.wait_for("the command has ended"), "the command ends meanwhile", run.text)
    ok(run.wait() == 128 + signal.SIGTERM and run.mode() == run.before[:4] and server.n == 0, "nothing is allowed any more, and the terminal is as it was", run.text)


def later(*words):
    run = Terminal([CORRAL, "run", "--ask-denied", "--", *words], cwd=WORK)
    return run


def test_files():
    outside = os.path.join(SCRATCH, "outside")
    os.mkdir(outside)
    note, deceiving, lines = (os.path.join(outside, name) for name in ("note", "\u0430 \u202ebad ", "a\nb"))
    for path in (note, deceiving, lines):
        with open(path, "w", encoding="utf-8") as file:
            file.write("content\n")
    run = later("cat", note)
    text = run.wait_for("answer: ") or ""
    ok("the command failed" in text and note in text and "read it" in text, "a file is asked about when the command has failed", text + repr(run.text))
    run.type("once\r")
    ok(run.wait() == 1 and run.mode() == run.before[:4], "the status is the command's", run.text)
    run = later("cat", note)
    ok(run.wait() == 0 and b"content" in run.text and b"answered before (once)" in run.text, "the answer holds for the next run, which says so", run.text)
    run = later("cat", note)
    ok(run.wait_for("answer: "), "once is not twice")
    run.type("no\r")
    ok(run.wait() == 1, "no")
    run = later("cat", note)
    ok(run.wait() == 1 and b"answer: " not in run.text, "what was answered by no is not asked again", run.text)
    run = later("sh", "-c", f"cat {note}; true")
    ok(run.wait() == 0 and b"answer: " not in run.text, "a command that succeeded is not asked about", run.text)
    run = later("cat", deceiving)
    run.wait_for("corral asks")
    text = run.wait_for("answer: ") or ""
    ok("\u202e" not in text and "bad\\x20" in text and "not all of it is ASCII" in text and "\\xd0\\xb0" in text, "a name that deceives is written out", text)
    run.type("no\r")
    run.wait()
    run = later("cat", lines)
    ok(run.wait() == 1 and b"corral asks" not in run.text, "one with control characters is not asked about", run.text)


def test_programs():
    folder = os.path.join(SCRATCH, "programs")
    os.mkdir(folder)
    program = shutil.copy("/bin/true", os.path.join(folder, "mine"))
    run = later(program)
    text = run.wait_for("answer: ") or ""
    ok(program in text, "a program that may not run is asked about", text + repr(run.text))
    run.type("day\r")
    ok(run.wait() == 126, "and does not run yet", run.text)
    for _ in range(2):
        run = later(program)
        ok(run.wait() == 0 and b"answered before (for a day)" in run.text, "day: it does in later runs", run.text)
    other = os.path.join(SCRATCH, "other")
    os.mkdir(other)
    run = Terminal([CORRAL, "run", "--ask-denied", "--", program], cwd=other)
    ok(run.wait_for("answer: "), "not in another folder", run.text)
    run.type("\x03")
    run.wait()
    done = subprocess.run([CORRAL, "run", "--", program], capture_output=True, text=True, cwd=WORK, timeout=60)
    ok(done.returncode == 126, "nor without --ask-denied", done.stderr)


def questions(*words, **options):
    return subprocess.run([CORRAL, "questions", *words], capture_output=True, text=True, timeout=60, **options)


def open_later():
    return json.loads(questions("list", "--later", "--json").stdout)["later"]


def test_elsewhere():
    """Without a terminal the question is found afterwards, and the answer holds from the next run."""
    folder, data = os.path.join(WORK, "elsewhere"), os.path.join(SCRATCH, "elsewhere-data")
    os.mkdir(folder)
    os.mkdir(data)
    names = ["note", "\u0430 \u202ebad ", "a\nb", *(f"more{i}" for i in range(8))]
    for name in names:
        with open(os.path.join(data, name), "w", encoding="utf-8") as file:
            file.write("content\n")
    note = os.path.join(data, "note")

    def run(*words, options=("--ask-denied",)):
        return subprocess.run([CORRAL, "run", *options, "--", *words], capture_output=True, text=True, cwd=folder, timeout=60, stdin=subprocess.DEVNULL)

    done = run("cat", note, options=())
    ok(done.returncode == 1 and not open_later(), "a run that does not ask keeps no question", done.stderr)
    done = run("cat", note)
    ok(done.returncode == 1 and "corral questions list" in done.stderr, "a command that failed without a terminal says where the question is", done.stderr)
    found = open_later()
    ok([(q["folder"], q["target"], q["action"]) for q in found] == [(folder, note, "fs.read")], "it is found there", found)
    done = run("cat", note)
    ok(done.returncode == 1 and len(open_later()) == 1 and "corral questions list" not in done.stderr, "it is asked once, and is no answer", done.stderr)
    listed = questions("list")
    ok(listed.returncode == 0 and note in listed.stdout and "from the next run" in listed.stdout, "without a daemon, too", listed.stdout, listed.stderr)
    # The sanitizer for leaks looks into its own process from another one, which no command may.
    inside = run("env", "ASAN_OPTIONS=detect_leaks=0", CORRAL, "questions", "allow", found[0]["id"], options=("--ask-denied", "--read", os.path.dirname(CORRAL)))
    ok(inside.returncode == 5 and len(open_later()) == 1, "the command cannot answer it", inside.stdout, inside.stderr)
    done = questions("allow", found[0]["id"], "--for", "5m")
    ok(done.returncode == 2 and "--for 24h" in done.stderr, "not for minutes", done.stderr)
    done = questions("allow", found[0]["id"])
    ok(done.returncode == 0 and "from the next run on" in done.stdout and folder in done.stdout, "an answer says from when on it holds", done.stdout, done.stderr)
    ok(questions("allow", found[0]["id"]).returncode == 5, "it is answered once")
    done = run("cat", note)
    ok(done.returncode == 0 and "content" in done.stdout and "answered before (once)" in done.stderr, "and holds from the next run on", done.stderr)
    ok(run("cat", note).returncode == 1 and len(open_later()) == 1, "once is not twice")
    # Many begin at once: the answer is given to one.
    questions("allow", open_later()[0]["id"])
    many = [subprocess.Popen([CORRAL, "run", "--ask-denied", "--", "cat", note], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(6)]
    got = [process.communicate(timeout=60)[0] for process in many]
    ok(sorted(got) == [""] * 5 + ["content\n"], "and not given to two that begin at once", got)
    questions("deny", open_later()[0]["id"])
    ok(run("cat", note).returncode == 1 and not open_later(), "what was answered by no is not asked again")
    run("cat", os.path.join(data, names[2]))
    ok(not open_later(), "a name with control characters is not asked about")
    run("cat", os.path.join(data, names[1]))
    text = questions("list", "--later").stdout
    ok("\u202e" not in text and "bad\\x20" in text and "\\xd0\\xb0" in text, "a name that deceives is written out", text)
    for name in names[3:]:
        run("cat", os.path.join(data, name))
    ok(len(open_later()) == 6, "a flood is asked about a few times", open_later())
    with open(os.path.join(folder, "corral.yaml"), "w", encoding="utf-8") as file:
        file.write("ask: denied\n")
    subprocess.run([CORRAL, "project", "approve", "--yes"], capture_output=True, cwd=folder, timeout=60, check=True)
    more = next(q for q in open_later() if q["target"].endswith("more0"))
    ok(questions("allow", more["id"], "--for", "24h").returncode == 0, "for a day")
    for _ in range(2):
        done = run("cat", more["target"], options=())
        ok(done.returncode == 0 and "answered before (for a day)" in done.stderr, "a project that asks needs no option", done.stderr)


def asked_in(folder):
    return [q for q in open_later() if q["folder"] == folder]


def run_quiet(folder, *words, options=("--ask-denied",)):
    """Where there is no terminal."""
    return subprocess.run([CORRAL, "run", *options, "--", *words], capture_output=True, text=True, cwd=folder, timeout=60, stdin=subprocess.DEVNULL)


def test_changed():
    """A question is about what was there when it was asked: neither a folder in the place of a file, nor what a link leads to now."""
    folder, data = os.path.join(WORK, "changed"), os.path.join(SCRATCH, "changed-data")
    for path in (folder, data, f"{data}/one", f"{data}/two"):
        os.mkdir(path)
    for path in (f"{data}/file", f"{data}/one/note", f"{data}/two/note"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("content\n")

    def become_folder():
        os.rename(f"{data}/file", f"{data}/was")
        os.mkdir(f"{data}/file")
        with open(f"{data}/file/more", "w", encoding="utf-8") as file:
            file.write("more\n")

    run_quiet(folder, "cat", f"{data}/file")
    first = asked_in(folder)[0]
    ok(not first["is_folder"], "a file is asked about", first)
    become_folder()
    done = questions("allow", first["id"])
    ok(done.returncode == 4 and "was a file when the command asked, and is a folder now" in done.stderr, "it is a folder now: the answer is refused", done.stdout, done.stderr)
    done = json.loads(questions("allow", first["id"], "--json").stdout or "{}")
    ok(done.get("error"), "for a program, too", done)
    run_quiet(folder, "/usr/bin/python3", "-c", f"import os; os.listdir({data + '/file'!r})")
    asked = [q for q in asked_in(folder) if q["target"] == first["target"]]
    ok(len(asked) == 1 and asked[0]["is_folder"] and asked[0]["id"] != first["id"], "a later run asks about the folder, in its place", asked)
    ok(questions("allow", first["id"]).returncode == 5, "who saw the file's question does not answer the folder's")
    shutil.rmtree(f"{data}/file")
    os.rename(f"{data}/was", f"{data}/file")
    run_quiet(folder, "cat", f"{data}/file")
    ok(questions("allow", asked_in(folder)[0]["id"], "--for", "24h").returncode == 0, "the file is allowed for a day")
    become_folder()
    done = run_quiet(folder, "cat", f"{data}/file/more")
    ok(done.returncode == 1 and "more\n" not in done.stdout and "not given" in done.stderr and "is a folder now" in done.stderr, "a run does not use the answer for a folder", done.stdout, done.stderr)
    questions("deny", asked_in(folder)[0]["id"])

    # A folder on the way as a link.
    run_quiet(folder, "cat", f"{data}/one/note")
    found = asked_in(folder)
    os.rename(f"{data}/one", f"{data}/was-one")
    os.symlink("two", f"{data}/one")
    done = questions("allow", found[0]["id"])
    ok(done.returncode == 4 and "leads elsewhere" in done.stderr, "a link in the place of the folder: the answer is refused", found, done.stderr)
    os.unlink(f"{data}/one")
    os.rename(f"{data}/was-one", f"{data}/one")
    # The file itself as a link.
    found = asked_in(folder)[0]
    os.unlink(f"{data}/one/note")
    os.symlink("../two/note", f"{data}/one/note")
    done = questions("allow", found["id"])
    ok(done.returncode == 4 and "leads elsewhere" in done.stderr, "a link in the place of the file: the answer is refused", done.stderr)
    ok(questions("deny", found["id"]).returncode == 0 and not asked_in(folder), "no is always an answer")


def test_secrets():
    home = os.environ["HOME"]
    os.makedirs(os.path.join(home, ".ssh"), exist_ok=True)
    key = os.path.join(home, ".ssh", "id_rsa")
    with open(key, "w", encoding="utf-8") as file:
        file.write("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    run = later("cat", key)
    ok(run.wait() == 1 and b"answer: " not in run.text, "a secret is not asked about", run.text)
    state = os.path.join(home, ".local/state/corral/asked")
    before = sorted(os.listdir(state))
    run = later("sh", "-c", f"echo x > {state}/y; rm -rf {state}; exit 0")
    ok(run.wait() == 0 and sorted(os.listdir(state)) == before, "a command does not write answers", run.text)


def test_always():
    """`ask: denied` of a project asks without the option; always is a line of its file, if that is the approved one still."""
    folder = os.path.join(WORK, "project")
    os.mkdir(folder)
    file = os.path.join(folder, "corral.yaml")
    with open(file, "w", encoding="utf-8") as text:
        text.write("# Ours.\nask: denied\n")
    approved = subprocess.run([CORRAL, "project", "approve", "--yes"], capture_output=True, text=True, cwd=folder, timeout=60)
    ok(approved.returncode == 0 and "asked about" in approved.stdout, "a project that asks is approved", approved.stdout, approved.stderr)

    def begin():
        run = Terminal([CORRAL, "run", "--", "/usr/bin/python3", "-c", INSIDE], cwd=folder)
        ok(run.wait_for("<ready>"), "it runs", run.text)
        run.type("connect host.example:443\n")
        return run

    run = begin()
    ok(run.wait_for("always[^<]*answer: "), "always is offered", run.text)
    run.type("always\r")
    ok(run.wait_for("added to [^<]*corral.yaml: net.connect host.example:443"), "the line is shown", run.text)
    run.wait_for("<connect [^>]*>")
    run.type("end\n")
    run.wait()
    with open(file, encoding="utf-8") as text:
        written = text.read()
    ok(b"review it first" not in run.text, "the command is not blamed for it", run.text)
    ok("# Ours." in written and "host.example:443" in written, "it is in the file, and the rest stays", written)
    run = begin()
    ok("answer: " not in (run.wait_for("<connect [^>]*>") or "answer: "), "the next run does not ask", run.text)
    run.type("connect other.example:443\n")
    ok(run.wait_for("always[^<]*answer: "), "it asks about another one", run.text)
    with open(file, "a", encoding="utf-8") as text:
        text.write("env: [EVIL]\n")
    run.type("always\r")
    ok(run.wait_for("please type"), "a file that was changed meanwhile gets no line", run.text)
    with open(file, encoding="utf-8") as text:
        ok("other.example" not in text.read(), "and is not approved by it")
    done = subprocess.run([CORRAL, "run", "--", "true"], capture_output=True, text=True, cwd=folder, timeout=60)
    ok(done.returncode == 126, "the next run is refused", done.stderr)
    run.wait_for("answer: ")
    run.type("no\r")
    run.wait_for("<connect [^>]*>")
    run.type("end\n")
    run.wait()


def test_always_folder():
    """A question about a folder and all that is in it: always grants just that."""
    folder, data = os.path.join(WORK, "project-of-folder"), os.path.join(SCRATCH, "always-data")
    os.mkdir(folder)
    os.makedirs(os.path.join(data, "below"))
    with open(os.path.join(data, "below", "note"), "w", encoding="utf-8") as text:
        text.write("content\n")
    file = os.path.join(folder, "corral.yaml")
    with open(file, "w", encoding="utf-8") as text:
        text.write("ask: denied\n")
    subprocess.run([CORRAL, "project", "approve", "--yes"], capture_output=True, cwd=folder, timeout=60, check=True)
    run = Terminal([CORRAL, "run", "--", "/usr/bin/python3", "-c", f"import os; os.listdir({data!r})"], cwd=folder)
    ok(run.wait_for("and all that is in it[^<]*always[^<]*answer: "), "a folder is asked about, with all that is in it", run.text)
    run.type("always\r")
    run.wait()
    with open(file, encoding="utf-8") as text:
        written = text.read()
    ok(f"{data}/**" in written, "always is a line with all that is in it", written)
    run = Terminal([CORRAL, "run", "--", "cat", os.path.join(data, "below", "note")], cwd=folder)
    ok(run.wait() == 0 and b"content" in run.text, "which later runs may read", run.text)


def write(path, text, mode="w"):
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def approve(folder):
    subprocess.run([CORRAL, "project", "approve", "--yes"], capture_output=True, cwd=folder, timeout=60, check=True)


def test_always_kept():
    """Always, for a question that was kept: a line of the project's file, if that is the approved one, and the one of the run that asked."""
    folder, data = os.path.join(WORK, "kept-project"), os.path.join(SCRATCH, "kept-data")
    os.makedirs(os.path.join(folder, "sub"))
    os.makedirs(os.path.join(data, "below"))
    for name in ("one", "two", "below/note"):
        write(os.path.join(data, name), "content\n")
    file, one, two = os.path.join(folder, "corral.yaml"), os.path.join(data, "one"), os.path.join(data, "two")
    write(file, "# Ours.\nask: denied\n")
    approve(folder)
    run_quiet(folder, "cat", one, options=())
    question = asked_in(folder)[0]
    ok(question["can_always"] and "--always" in questions("list", "--later").stdout, "always is offered in the list", question)
    for words in (["--once"], ["--for", "24h"], ["--for", "1h", "--scope", "/x"]):
        ok(questions("allow", question["id"], "--always", *words).returncode == 2, f"not with {words[0]}")
    ok(questions("allow", "0123456789abcdef.1", "--always").returncode == 2, "nor for what a sandbox waits for")

    before = read(file)
    write(file, "env: [EVIL]\n", "a")
    done = questions("allow", question["id"], "--always")
    ok(done.returncode == 4 and "was changed since it was approved" in done.stderr and read(file) == before + "env: [EVIL]\n", "a file that was changed since gets no line", done.stdout, done.stderr)
    ok(asked_in(folder) == [question] and run_quiet(folder, "true", options=()).returncode == 126, "and is not approved by it; the question waits")
    write(file, before)
    inside = run_quiet(folder, "env", "ASAN_OPTIONS=detect_leaks=0", CORRAL, "questions", "allow", question["id"], "--always", options=("--read", os.path.dirname(CORRAL)))
    ok(inside.returncode == 5 and read(file) == before, "the command cannot answer it", inside.stdout, inside.stderr)
    done = questions("allow", question["id"], "--always", "--json")
    answer = json.loads(done.stdout or "{}")
    ok(done.returncode == 0 and (answer.get("answer"), answer.get("file"), answer.get("pattern")) == ("always", file, one), "always", done.stdout, done.stderr)
    ok("# Ours." in read(file) and one in read(file) and not asked_in(folder), "it is in the file, the rest stays, and the question is answered", read(file))
    done = run_quiet(folder, "cat", one, options=())
    ok(done.returncode == 0 and "content" in done.stdout and "answered before" not in done.stderr, "later runs have it, and the file is approved", done.stderr)
    run_quiet(folder, "/usr/bin/python3", "-c", f"import os; os.listdir({os.path.join(data, 'below')!r})", options=())
    done = questions("allow", asked_in(folder)[0]["id"], "--always")
    ok(done.returncode == 0 and f"fs.read {data}/below/**" in done.stdout and file in done.stdout, "of a folder with all that is in it; the line is shown", done.stdout, done.stderr)
    ok(run_quiet(folder, "cat", os.path.join(data, "below/note"), options=()).returncode == 0, "which holds")

    # Of a run that did not use the project.
    before = read(file)
    run_quiet(folder, "cat", two, options=("--no-project", "--ask-denied"))
    question = asked_in(folder)[0]
    done = questions("allow", question["id"], "--always")
    ok(not question["can_always"] and done.returncode == 4 and "without a corral.yaml" in done.stderr and read(file) == before, "a run without the project gets no line in it", done.stderr)
    run_quiet(folder, "cat", two, options=())
    again = asked_in(folder)
    ok(len(again) == 1 and again[0]["can_always"] and again[0]["id"] != question["id"], "one with it asks the same as another question", again)
    ok(questions("deny", again[0]["id"]).returncode == 0, "no")
    # A file that lies nearer by now.
    sub = os.path.join(folder, "sub")
    run_quiet(folder, "cat", two, options=("--work-dir", sub))
    question = asked_in(sub)[0]
    write(os.path.join(sub, "corral.yaml"), "ask: denied\n")
    approve(sub)
    done = questions("allow", question["id"], "--always")
    ok(question["can_always"] and done.returncode == 4 and "another one" in done.stderr and read(file) == before and "two" not in read(os.path.join(sub, "corral.yaml")),
       "a file of another project gets no line", question, done.stdout, done.stderr)

    # A question that a command made up.
    state = os.path.join(os.environ["HOME"], ".local/state/corral/asked")
    forged = f"for f in {state}/*; do sed -i s:/two:/below: $f; done; cp {state}/* {state}/x; mv {state} {state}2; rm -rf {state}"
    def kept():
        return {name: read(os.path.join(state, name)) for name in os.listdir(state)}

    before = kept()
    for options in ((), ("--write", state), ("--write", os.path.join(os.environ["HOME"], ".local"))):
        done = run_quiet(folder, "sh", "-c", forged, options=options)
        ok(kept() == before and not os.path.exists(state + "2"), f"a command does not write questions {options}", done.stdout, done.stderr)


def test_refused():
    for words, says in ((["--mode", "sandbox"], "--mode"), (["--profile", "offline"], "offline"), (["--ask", "0s"], "--ask 0s")):
        done = subprocess.run([CORRAL, "run", "--ask-denied", *words, "--", "true"], capture_output=True, text=True, cwd=WORK, timeout=60)
        ok(done.returncode == 125 and says in done.stderr, f"--ask-denied is refused with {' '.join(words)}", done.stderr)
    done = subprocess.run([CORRAL, "run", "--net", "a.example:1", "--", "/usr/bin/python3", "-c", "import socket; socket.create_connection(('b.example', 443))"], capture_output=True,
                          text=True, cwd=WORK, timeout=60)
    ok(done.returncode == 1 and "--net b.example:443" in done.stderr and "ask the user for the options above" in done.stderr, "a model that reads a denial learns what it can ask for", done.stderr)
    for more in ([], ["--explain"]):
        done = subprocess.run([CORRAL, "run", *more, "--profile", "offline", "--", "/usr/bin/python3", "-c", "import socket; socket.create_connection(('b.example', 443))"],
                              capture_output=True, text=True, cwd=WORK, timeout=60)
        ok(done.returncode == 1 and "b.example" in done.stderr and "options above" not in done.stderr and "no option allows this" in done.stderr
           and "the profile offline never has " in done.stderr and "remove or narrow" not in done.stderr,
           f"and where there is none, that there is none {more}", done.stderr)
    # The same of files and programs, where the run was watched: by --explain, or because it failed before.
    os.makedirs(os.path.join(SCRATCH, "else"), exist_ok=True)
    with open(os.path.join(SCRATCH, "else", "one"), "w", encoding="utf-8") as f:
        f.write("one\n")
    watched = os.path.join(SCRATCH, "watched")
    os.mkdir(watched)
    read_one = ["sh", "-c", f"cat {SCRATCH}/else/one || exit 1"]
    for n, more in enumerate((["--explain"], [], [])):
        done = subprocess.run([CORRAL, "run", *more, "--", *read_one], capture_output=True, text=True, cwd=watched, timeout=60)
        ok(done.returncode == 1 and (n == 1 or f"--read {SCRATCH}/else/one\ncorral: ask the user for the options above; the sandbox cannot be turned off from inside\n" in done.stderr),
           f"a file, run {n}", done.stderr)
    done = subprocess.run([CORRAL, "run", "--explain", "--", "true"], capture_output=True, text=True, cwd=watched, timeout=60)
    ok(done.returncode == 0 and "ask the user" not in done.stderr, "not where nothing failed", done.stderr)
    done = subprocess.run([CORRAL, "run", "--exec", "ls", "--", "/usr/bin/env"], capture_output=True, text=True, cwd=watched, timeout=60)
    ok(done.returncode == 126 and "--exec /usr/bin/env" in done.stderr and "ask the user for the options above" in done.stderr, "a program", done.stderr)
    rules = os.path.join(SCRATCH, "deny.yaml")
    with open(rules, "w", encoding="utf-8") as f:
        f.write(f"fs: {{read: [/usr/**, /lib/**, /lib64/**, /bin/**, /etc/**], deny: ['{SCRATCH}/else/**']}}\n")
    done = subprocess.run([CORRAL, "run", "--explain", "--policy", rules, "--", *read_one], capture_output=True, text=True, cwd=watched, timeout=60)
    ok(done.returncode == 1 and "remove or narrow" in done.stderr and "no option allows this: ask the user whether it is needed" in done.stderr, "what a rule forbids has none", done.stderr)
    log = os.path.join(SCRATCH, "log")
    subprocess.run([CORRAL, "run", "--audit", log, "--net", "a.example:1", "--", "/usr/bin/python3", "-c", "import socket; socket.create_connection(('1.1.1.1', 443))"],
                   capture_output=True, text=True, cwd=WORK, timeout=60)
    done = subprocess.run([CORRAL, "audit", "list", "--decision", "denied", log], capture_output=True, text=True, cwd=WORK, timeout=60)
    ok("to allow it: corral run --net 1.1.1.1:443" in done.stdout, "a denied row of the log says what allows it", done.stdout, done.stderr)
    counted = []

    def said(*command):
        log = os.path.join(tempfile.mkdtemp(dir=SCRATCH), "log")
        subprocess.run([CORRAL, "run", "--explain", "--audit", log, "--net", "a.example:1", "--", *command], capture_output=True, text=True, cwd=WORK, timeout=60)
        done = subprocess.run([CORRAL, "audit", "list", "--decision", "denied", log], capture_output=True, text=True, cwd=WORK, timeout=60)
        stats = subprocess.run([CORRAL, "audit", "stats", "--decision", "denied", "--json", log], capture_output=True, text=True, cwd=WORK, timeout=60)
        counted.append(json.loads(stats.stdout))
        return done.stdout + done.stderr

    text = said("/usr/bin/python3", "-c", "import socket; socket.create_connection(('b.example', 443))")
    ok("to allow it: corral run --net b.example:443\n" in text, "a denied name, too", text)
    # Two records, of two kinds of address, are one look-up.
    ok(counted[0]["records"] == text.count("net.name") == 2 and counted[0]["decisions"]["denied"] == counted[0]["events"] == 1, "audit stats counts a look-up once", counted[0], text)
    text = said("sh", "-c", "ls /home; exit 1")
    ok("too broad" in text and "to allow it" not in text, "what is too broad is not offered", text)
    open(os.path.join(SCRATCH, "else", "*"), "w").close()
    text = said("sh", "-c", f"cat '{SCRATCH}/else/*'; exit 1")
    ok("else/*" in text and "to allow it" not in text, "nor a name that would be a pattern", text)
    # A query that no resolver of a library would send.
    query = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); ns = [l.split()[1] for l in open('/etc/resolv.conf') if l.startswith('nameserver')][0]\n"
             "s.sendto(bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + bytes([1]) + b'*' + bytes([3]) + b'com' + bytes([0, 0, 1, 0, 1]), (ns, 53)); s.settimeout(20); s.recv(512); raise SystemExit(1)")
    text = said("/usr/bin/python3", "-c", query)
    ok("*.com" in text and "to allow it" not in text, "nor a query for a pattern", text)
    done = subprocess.run([CORRAL, "run", "--ask-denied", "--", "true"], capture_output=True, text=True, cwd=WORK, timeout=60)
    ok(done.returncode == 0 and "cannot ask" in done.stderr, "without a terminal and a daemon it says so", done.stderr)


def main():
    global SCRATCH, WORK
    SCRATCH = os.path.realpath(tempfile.mkdtemp())
    WORK, home, runtime = (os.path.join(SCRATCH, name) for name in ("work", "home", "runtime"))
    for folder in (WORK, home):
        os.mkdir(folder)
    os.mkdir(runtime, 0o700)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS"):
        os.environ.pop(variable, None)
    os.environ.update(HOME=home, XDG_RUNTIME_DIR=runtime, TERM="dumb", LC_ALL="C.UTF-8")
    only = sys.argv[1:]
    try:
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not only or name in only):
                test()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
