#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Services through `corral run`, as programs inside call them, with the real back ends.

The bus is one of this test's own (tests/broker/bus.py); tests/acceptance has real daemons.
$CORRAL, $CORRAL_BROKER … as for the other tests of the broker; $BACKENDS is the folder of back ends.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "broker"))
import bus as notifications  # noqa: E402
from broker_tap import end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
scratch = tempfile.mkdtemp()
home = os.path.join(scratch, "home")
os.makedirs(home)
environment = {
    **os.environ,
    "HOME": home,
    "XDG_CONFIG_HOME": os.path.join(home, ".config"),
    "XDG_STATE_HOME": os.path.join(home, ".local/state"),
    "XDG_CACHE_HOME": os.path.join(home, ".cache"),
    "XDG_RUNTIME_DIR": os.path.join(scratch, "runtime"),
    "CORRAL_BACKENDS": os.path.abspath(os.environ["BACKENDS"]),
    "DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/bus",
}
os.makedirs(environment["XDG_RUNTIME_DIR"], 0o700)
for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "CI"):
    environment.pop(name, None)


def policy(services, name="policy.yaml"):
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"], "services": services},
                  file)
    return path


def run(script, services, *options, env=None):
    """A shell script inside; each line that it prints is JSON."""
    done = subprocess.run([CORRAL, "run", "--policy", policy(services), *options, "--", "sh", "-c", script],
                          env={**environment, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=120, cwd=home)
    lines = []
    for line in done.stdout.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append(line)
    return lines, done.stderr


def call(*words):
    return "sandbox-call " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words) + " --json; "


def code(answer):
    return answer.get("error", {}).get("code") if isinstance(answer, dict) else answer


SEND = {"notifications": {"access": "send"}}


def test_notifications(bus):
    lines, err = run(call("notifications.send", "title=Milk", "body=is <b>low</b> & so on\nsee"), SEND)
    ok(lines and lines[0] == {"shown": True}, "a notification is shown", lines, err)
    shown = bus.shown[-1] if bus.shown else {}
    ok(shown.get("title", "").endswith(": Milk") and shown["title"] != ": Milk",
       "whose it is stands before the title", shown)
    ok(shown.get("body") == "is &lt;b&gt;low&lt;/b&gt; &amp; so on\nsee", "markup is shown, not read", shown)
    ok(shown.get("actions") == [] and shown.get("icon") == "" and shown.get("replaces") == 0,
       "no actions, no icon, nothing is replaced", shown)
    ok(dict(shown.get("hints", [])).get("suppress-sound") == 1, "no sound that was not asked for", shown)
    run(call("notifications.send", "title=a\n\x1b[31mb\u202ec" + "x" * 200, "sound=true"), SEND)
    shown = bus.shown[-1]
    ok("\n" not in shown["title"] and "\x1b" not in shown["title"] and "\u202e" not in shown["title"]
       and len(shown["title"]) < 200, "a title is one short line of text", shown)
    ok(dict(shown["hints"]).get("sound-name") == "message-new-instant", "a sound that was asked for", shown)


def test_project(bus):
    """`services:` of a corral.yaml: only as it was approved."""
    folder = os.path.join(home, "project")
    os.makedirs(folder)
    file = os.path.join(folder, "corral.yaml")

    def say(title, write=None):
        if write is not None:
            with open(file, "w", encoding="utf-8") as text:
                text.write(write)
        before = len(bus.shown)
        done = subprocess.run([CORRAL, "run", "tell", "--", "title=" + title, "body=x", "--json"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=120, cwd=folder)
        return done, len(bus.shown) - before

    granted = "services: {notifications: {access: send}}\ncommands: {tell: [sandbox-call, notifications.send]}\n"
    done, shown = say("none", granted)
    ok(done.returncode != 0 and shown == 0, "a corral.yaml that was not approved grants no service", done)
    approve = subprocess.run([CORRAL, "project", "approve", "--yes"], env=environment, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
    done, shown = say("Milk")
    ok(done.returncode == 0 and shown == 1 and bus.shown[-1]["title"].endswith(": Milk"), "services of a corral.yaml: the named command uses one", done, approve)
    done, shown = say("more", granted.replace("send}", "send}, reminders: {access: write}"))
    ok(done.returncode != 0 and shown == 0, "which was changed grants none", done)
    done, shown = say("without", "commands: {tell: [sandbox-call, notifications.send]}\n")
    subprocess.run([CORRAL, "project", "approve", "--yes"], env=environment, capture_output=True, check=False, timeout=120, cwd=folder)
    done, shown = say("without")
    ok(done.returncode != 0 and shown == 0, "one without services has none", done)


def test_skill_name(bus):
    folder = os.path.join(scratch, "skill")
    os.makedirs(folder)
    with open(os.path.join(folder, "skill.yaml"), "w", encoding="utf-8") as file:
        file.write("name: shopping\nversion: 1.0.0\nentry: run.sh\npermissions:\n  services:\n"
                   "    notifications: {access: send}\n  fs: {read: [$SKILL_DIR/**, /usr/**, /lib/**, /bin/**, /etc/**]}\n")
    with open(os.path.join(folder, "run.sh"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + call("notifications.send", "title=Bank: your password"))
    os.chmod(os.path.join(folder, "run.sh"), 0o755)
    subprocess.run([CORRAL, "approve", "--yes", folder], env=environment, capture_output=True, check=False)
    done = subprocess.run([CORRAL, "run", "--skill", folder], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=60)
    ok(bus.shown[-1]["title"] == "shopping: Bank: your password", "a skill cannot speak for others", bus.shown[-1],
       done.stdout, done.stderr)


def test_refusals(bus):
    before = len(bus.shown)
    lines, err = run(call("notifications.send", "title=x"), {"clipboard": {"access": "read"}})
    ok([code(line) for line in lines] == [-32001] and len(bus.shown) == before, "what is not granted is refused", lines,
       err)
    lines, err = run(call("notifications.send", "title=x") * 12, SEND)
    codes = [code(line) for line in lines]
    ok(codes == [None] * 10 + [-32003] * 2 and len(bus.shown) == before + 10, "ten in a minute, where no rate is set",
       codes, err)
    lines, err = run(call("notifications.send", "title=x") * 3, {"notifications": {"access": "send", "rate_limit": "2/h"}})
    ok([code(line) for line in lines] == [None, None, -32003], "the policy's rate", lines, err)
    lines, err = run(call("notifications.send", "title=" + "x" * 400), SEND)
    ok([code(line) for line in lines] == [-32602], "a title that is far too long is refused", lines, err)


def test_without_a_bus(bus):
    for name, env in (("no bus", {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/nowhere"}),
                      ("no address", {"DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/nonexistent"}),
                      ("an address that runs a program",
                       {"DBUS_SESSION_BUS_ADDRESS": f"unixexec:path=/bin/touch,argv1={scratch}/touched"}),
                      ("such an address as the second one",
                       {"DBUS_SESSION_BUS_ADDRESS": f"unix:path=/x;unixexec:path=/bin/touch,argv1={scratch}/touched"})):
        lines, err = run(call("notifications.send", "title=x"), SEND, env=env)
        ok(lines and code(lines[0]) == -32005 and lines[0]["error"]["data"].get("hint"), f"{name}: -32005, with a hint",
           lines, err)
    ok(not os.path.exists(f"{scratch}/touched"), "no program was run by an address")
    lines, err = run(call("notifications.send", "title=x"), SEND, env={"CORRAL_BACKENDS": "/nonexistent"})
    ok(lines and code(lines[0]) == -32005 and "-Dnotifications" in json.dumps(lines[0]), "no back end: what to build",
       lines, err)
    bus.has_daemon = False
    lines, err = run(call("notifications.send", "title=x"), SEND)
    bus.has_daemon = True
    ok(lines and code(lines[0]) == -32005 and "dunst" in json.dumps(lines[0]), "no daemon: what to install", lines, err)
    bus.capabilities = ("body",)
    run(call("notifications.send", "title=x", "body=a < b"), SEND)
    bus.capabilities = ("body", "body-markup")
    ok(bus.shown[-1]["body"] == "a < b", "a daemon without markup gets plain text", bus.shown[-1])


def backends_of(pid):
    """The back ends of a run: processes below it that are corral-desktop."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/comm", encoding="utf-8") as file:
                comm = file.read().strip()
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{parent}/stat", encoding="utf-8") as file:
                grand = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if comm == "corral-desktop" and pid in (parent, grand):
            found.append(int(entry))
    return found


def test_confinement_and_death(bus):
    """A back end that is looked at, killed, and replaced."""
    script = call("notifications.send", "title=first") + "while read -r _; do " + \
        call("notifications.send", "title=again") + "done"
    run_ = subprocess.Popen([CORRAL, "run", "--policy", policy({"notifications": {"access": "send", "rate_limit": "99/min"}}),
                             "--", "sh", "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, cwd=home)
    first = json.loads(run_.stdout.readline())
    found = backends_of(run_.pid)
    ok(first.get("shown") and len(found) == 1, "one back end, started by the first call", first, found)
    with open(f"/proc/{found[0]}/status", encoding="utf-8") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    ok(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) == 0
       and int(status["CapPrm"], 16) == 0,
       "it has no privileges, and a filter of system calls", status)
    for i in range(3):
        os.kill(backends_of(run_.pid)[0], signal.SIGKILL)
        answers = []
        for _ in range(5):
            run_.stdin.write("\n")
            run_.stdin.flush()
            answers.append(json.loads(run_.stdout.readline()))
            if "shown" in answers[-1]:
                break
        ok("shown" in answers[-1] and all(code(a) in (None, -32005) for a in answers),
           f"killed {i + 1} times: another one serves", answers)
    run_.stdin.close()
    run_.wait(timeout=30)
    left = [pid for pid in found if os.path.exists(f"/proc/{pid}")]
    ok(not left and not backends_of(run_.pid), "none is left behind", left)


def test_the_bus_restarts(bus):
    script = call("notifications.send", "title=first") + "while read -r _; do " + \
        call("notifications.send", "title=again") + "done"
    run_ = subprocess.Popen([CORRAL, "run", "--policy", policy(SEND), "--", "sh", "-c", script], env=environment,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home)
    json.loads(run_.stdout.readline())
    bus.close()
    run_.stdin.write("\n")
    run_.stdin.flush()
    gone = json.loads(run_.stdout.readline())
    ok(code(gone) == -32005, "the bus has gone: -32005", gone)
    other = notifications.Bus(bus.path)
    run_.stdin.write("\n")
    run_.stdin.flush()
    back = json.loads(run_.stdout.readline())
    ok("shown" in back and other.shown, "the bus is back: it is used", back)
    run_.stdin.close()
    run_.wait(timeout=30)
    return other


def program(name, text):
    """A program in a folder of its own, for PATH."""
    folder = tempfile.mkdtemp(dir=scratch)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def configure(text):
    folder = os.path.join(environment["XDG_CONFIG_HOME"], "corral")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "services.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o600)


# 70 calls by one process: those of 70 processes would take more than the minute on a slow machine.
MANY = """
import json, os, socket
with socket.socket(socket.AF_UNIX) as s:
    s.connect(os.environ["SANDBOX_SOCKET"])
    answers = s.makefile()
    for i in range(70):
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": i, "method": "clipboard.write", "params": {"text": "x"}}).encode() + b"\\n")
        print(answers.readline(), end="")
"""
BOARD = {"clipboard": {"access": "readwrite"}}


def test_clipboard():
    """With programs of this test's own; tests/acceptance has xclip."""
    # It can write no file: its status, and what it prints, say what it was given.
    xclip = program("xclip", """case "$*" in
'-in -selection clipboard') [ "$(cat)" = 'some "text" -o; $(id)' ] ;;
'-out -selection clipboard -target UTF8_STRING')
	[ -n "$FLOOD$SECRET" ] && exit 7
	echo x 2>/dev/null >"$HOME/escaped" && exit 8
	cat "$HOME/.config/corral/services.yaml" 2>/dev/null && exit 9
	printf 'copied' ;;
*) exit 6 ;;
esac
""")
    env = {"DISPLAY": ":77", "SECRET": "no"}

    def use(path):
        configure(f"clipboard: {{program: xclip, programs: {os.path.dirname(path)}}}\n")

    use(xclip)
    lines, err = run(call("clipboard.write", 'text=some "text" -o; $(id)') + call("clipboard.read"), BOARD, env=env)
    ok(lines == [{"written": True}, {"text": "copied"}], "the clipboard is written and read, by a confined program", lines,
       err)
    lines, err = run(call("clipboard.read") + call("clipboard.write", "text=x"), {"clipboard": {"access": "write"}},
                     env=env)
    ok([code(line) for line in lines] == [-32001, -32005], "what is not granted is refused; a program that fails is reported",
       lines, err)
    lines, err = run(call("clipboard.read"), {"clipboard": {"access": "read", "max_size": 5}}, env=env)
    ok([code(line) for line in lines] == [-32002], "max_size holds for what is read", lines, err)
    lines, err = run(call("clipboard.write", "text=123456"), {"clipboard": {"access": "write", "max_size": 5}}, env=env)
    ok([code(line) for line in lines] == [-32002], "and for what is written", lines, err)
    status, out, err = service("test", "clipboard", env=env)
    ok(status == 1 and "with status 6" in out, "service test: a program that fails does not work", status, out, err)
    for words, works in (("Error: target TARGETS not available", True), ("Error: Can't open display: :77", False)):
        use(program("xclip", f'echo "{words}" >&2; exit 1\n'))
        status, out, err = service("test", "clipboard", env=env)
        ok((status == 0) == works and (works or "Can't open display" in out),
           "service test: an empty clipboard works, no display does not", words, status, out, err)
    use(program("xclip", "exec yes\n"))
    lines, err = run(call("clipboard.read"), BOARD, env=env)
    ok([code(line) for line in lines] == [-32002], "a clipboard without end is refused", lines, err)
    use(xclip)
    lines, err = run(f"python3 -c '{MANY}'", BOARD, env=env)
    ok([code(line) for line in lines].count(-32003) == 10, "sixty calls in a minute", lines, err)
    configure("")
    lines, err = run(call("clipboard.read"), BOARD)
    ok(lines and code(lines[0]) == -32005 and "DISPLAY" in lines[0]["error"]["message"], "no display: -32005", lines, err)
    lines, err = run(call("clipboard.read"), BOARD, env={"DISPLAY": ":77", "PATH": "/nonexistent"})
    ok(lines and code(lines[0]) == -32005 and "install" in lines[0]["error"]["data"]["hint"], "no xclip: what to install",
       lines, err)


def test_wayland_tmp():
    """wl-copy keeps a file in /tmp: it has one of its own, where nothing of the host's is."""
    folder = tempfile.mkdtemp(dir="/var/tmp")  # not where its own /tmp would hide them
    for name, text in (("wl-copy", """f=$(mktemp /tmp/wl-copy-XXXXXX) && cat >"$f" && [ "$(cat "$f")" = text ] || exit 6
[ -S "$WAYLAND_DISPLAY" ] && [ "$(ls /tmp | grep -vc wl-copy)" = 1 ] && [ ! -e "$HOME" ] && ! ls /proc/1/root/tmp"""),
                       ("wl-paste", "ls -A /tmp; echo x 2>/dev/null >/var/tmp/escaped && exit 8; exit 0")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(os.path.join(folder, name), 0o755)
    display = os.path.join(scratch, "display", "wayland-0")
    os.makedirs(os.path.dirname(display))
    before = set(os.listdir("/tmp"))
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(display)
        configure(f"clipboard: {{programs: {folder}}}\n")
        lines, err = run(call("clipboard.write", "text=text") + call("clipboard.read"), BOARD, env={"WAYLAND_DISPLAY": display})
        configure("")
    ok(lines and lines[0] == {"written": True}, "wl-copy writes to a /tmp of its own", lines, err)
    ok(len(lines) == 2 and os.path.basename(scratch) in lines[1].get("text", "") and
       len(lines[1]["text"].splitlines()) == 2, "which has its file and the display", lines)
    ok(not [name for name in os.listdir("/tmp") if name.startswith("wl-copy-") and name not in before] and
       not os.path.exists("/var/tmp/escaped"), "and nothing is left in the host's")
    shutil.rmtree(folder)


def test_terminal():
    """OSC 52 on the terminal of `corral run`, if services.yaml says so."""
    def on_terminal():
        leader, follower = os.openpty()
        run_ = subprocess.Popen([CORRAL, "run", "--policy", policy(BOARD), "--", "sh", "-c",
                                 call("clipboard.write", "text=a\x1b]0;x\x07b") + call("clipboard.read")],
                                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=follower,
                                text=True, cwd=home)
        answers = [json.loads(line) for line in run_.stdout]
        run_.wait(timeout=30)
        os.close(follower)
        shown = b""
        try:
            while True:
                shown += os.read(leader, 65536)
        except OSError:
            pass
        os.close(leader)
        return answers, shown

    configure("clipboard: {program: terminal}\n")
    answers, shown = on_terminal()
    ok(answers[0] == {"written": True} and b"\x1b]52;c;YRtdMDt4B2I=\x07" in shown, "text goes to the terminal, in base64",
       answers, shown)
    ok(b"\x1b]0;" not in shown and code(answers[1]) == -32005, "it cannot end the sequence, nor read", answers, shown)
    configure("")
    answers, shown = on_terminal()
    ok(code(answers[0]) == -32005 and b"]52;" not in shown, "not unless it is configured", answers, shown)
    configure("clipboard: {program: terminal}\n")
    lines, err = run(call("clipboard.write", "text=x"), BOARD)
    ok([code(line) for line in lines] == [-32005], "no terminal: -32005", lines, err)
    configure("")


OPEN = {"browser": {"access": "open", "domains": ["example.com", "*.example.com"]}}


def test_browser():
    opened = os.path.join(scratch, "opened")
    browser = program("browse", f"printf '%s\\n' \"$#\" \"$@\" >>{opened}; case $* in *fail*) exit 4 ;; *stay*) exec sleep 5 ;; esac\n")
    configure(f"browser: {{open_with: {browser}}}\n")
    good = ["https://example.com/a?b=$(id)&c='x'", "HTTP://WWW.Example.com:80", "https://example.com/%2e%2e/x#--help"]
    bad = ["https://evil.example/.example.com", "https://evil.example#.example.com", "https://example.com.evil.example/",
           "https://example.com@evil.example/", "https://evil.example\\.example.com/", "https://еxample.com/",
           "https://example.com\n.evil.example/", "file:///etc/passwd", "javascript:alert(1)", "--help", "ftp://example.com/",
           "https://notexample.com/", "example.com", "https://example。com.evil.example/", "http://0x7f.1/"]
    lines, err = run("".join(call("browser.open", "url=" + url) for url in good), OPEN)
    ok(lines == [{"opened": True}] * 3, "granted pages are opened", lines, err)
    wanted = ["1", "https://example.com/a?b=$(id)&c=%27x%27", "1", "http://www.example.com/", "1", "https://example.com/x#--help", ""]

    def words():
        with open(opened, "a+", encoding="utf-8") as file:
            file.seek(0)
            return file.read().split("\n")

    # One that has not ended after some seconds counts as one that runs: it may be slow, and write later.
    last = time.monotonic() + 60
    while len(words()) < len(wanted) and time.monotonic() < last:
        time.sleep(0.02)
    ok(words() == wanted, "each as one argument, in normal form", words())
    os.unlink(opened)
    lines, err = run("".join(call("browser.open", "url=" + url) for url in bad),
                     {"browser": {**OPEN["browser"], "rate_limit": "100/min"}})
    codes = [code(line) for line in lines]
    ok(len(codes) == len(bad) and all(c in (-32002, -32602) for c in codes) and not os.path.exists(opened),
       "other hosts, schemes and options are not", list(zip(bad, codes)), err)
    lines, err = run(call("open_url", "url=https://example.com/") + call("open_url", "url=https://evil.example/"), OPEN)
    ok([code(line) for line in lines] == [None, 1001], "by AgenShield's name, with its codes", lines, err)
    lines, err = run(call("browser.open", "url=https://example.com/fail"), OPEN)
    ok([code(line) for line in lines] == [-32005], "a browser that fails is reported", lines, err)
    lines, err = run(call("browser.open", "url=https://example.com/", "browser=evil") +
                     call("browser.open", "url=https://example.com/", "browser=browse"), OPEN)
    ok([code(line) for line in lines] == [-32602, None], "the caller does not choose the program", lines, err)
    began = time.monotonic()
    lines, err = run(call("browser.open", "url=https://example.com/stay"), OPEN)
    ok([code(line) for line in lines] == [None], "a browser that stays is left alone", lines, err)
    found = subprocess.run(["pgrep", "-f", "^sleep 5$"], capture_output=True, text=True, check=False).stdout.split()
    ok(time.monotonic() - began > 4.9 or found, "it outlives the sandbox", found)
    lines, err = run((call("browser.open", "url=https://example.com/")) * 12, OPEN)
    ok([code(line) for line in lines].count(-32003) == 2, "ten pages in a minute", lines, err)
    configure("")
    lines, err = run(call("browser.open", "url=https://example.com/"), OPEN, env={"PATH": "/nonexistent", "BROWSER": ""})
    ok(lines and code(lines[0]) == -32005 and "xdg-utils" in json.dumps(lines[0]), "no browser: what to install", lines,
       err)
    configure("browser: {open_with: /nonexistent/browser}\n")
    lines, err = run(call("browser.open", "url=https://example.com/"), OPEN)
    ok(lines and code(lines[0]) == -32005 and "services.yaml" in json.dumps(lines[0]), "a wrong program: where to look",
       lines, err)
    configure("browser: {open_with: relative}\n")
    lines, err = run(call("browser.open", "url=https://example.com/"), OPEN)
    ok(lines and code(lines[0]) == -32005 and "services.yaml:1" in lines[0]["error"]["message"], "a wrong file: its line",
       lines, err)
    configure("")


def service(*words, env=None):
    done = subprocess.run([CORRAL, "service", *words], env={**environment, **(env or {})}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_verb(bus):
    """corral service list, test and set-up."""
    file = os.path.join(environment["XDG_CONFIG_HOME"], "corral", "services.yaml")
    if os.path.exists(file):
        os.unlink(file)
    before = len(bus.shown)
    status, out, err = service("list", "--json")
    rows = {row["name"]: row for row in json.loads(out)["services"]}
    ok(status == 0 and rows["notifications"]["ready"] and rows["notifications"]["installed"], "list: what is there", rows)
    ok("testd 7 on the session bus" in rows["notifications"]["text"], "list: what shows notifications", rows["notifications"])
    ok(not rows["clipboard"]["ready"] and "no display" in rows["clipboard"]["text"] and rows["clipboard"]["hint"],
       "list: what the clipboard misses, and what to do", rows["clipboard"])
    ok(len(bus.shown) == before, "list: nothing is shown by that")
    status, out, err = service("list", env={"DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/nowhere"})
    ok(status == 0 and "no  notifications" in out and "yes reminders" in out, "list: without a bus", out, err)
    status, out, err = service("list", "--json", env={"CORRAL_BACKENDS": "/nonexistent"})
    rows = {row["name"]: row for row in json.loads(out)["services"]}
    ok(status == 0 and not rows["clipboard"]["installed"] and rows["clipboard"]["hint"], "list: what is not", rows)
    status, out, err = service("test", "notifications")
    ok(status == 0 and "yes notifications" in out and "testd 7 on the session bus" in out,
       "test: it tries, and says what it found", status, out, err)
    ok(len(bus.shown) == before, "test: nothing is shown by that")
    status, out, err = service("test", "--json", "notifications",
                               env={"DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/nowhere"})
    row = json.loads(out)["services"][0]
    ok(status == 1 and row["works"] is False and row["hint"], "test: what is missing, and what to do", row, err)
    status, out, err = service("test", "notification")
    ok(status == 2 and "did you mean `notifications`?" in err, "test: no such service", err)
    status, out, err = service("set-up", "clipboard")
    ok(status == 0 and file in out and "program" in out and not os.path.exists(file), "set-up: explains", out, err)
    status, out, err = service("set-up", "clipboard", "program=nonsense")
    ok(status == 2 and "wl-clipboard" in err and not os.path.exists(file), "set-up: a wrong value is not written", err)
    status, out, err = service("set-up", "clipboard", "colour=red")
    ok(status == 2 and "unknown key `colour`" in err and not os.path.exists(file), "set-up: nor a wrong key", err)
    status, out, err = service("set-up", "clipboard", "program=xclip")
    with open(file, encoding="utf-8") as text:
        ok(status == 1 and "program: xclip" in text.read() and os.stat(file).st_mode & 0o777 == 0o600,
           "set-up: writes, and tries it", status, out, err)
    status, out, err = service("set-up", "clipboard", "program=terminal")
    ok(status == 2 and f"{file}:2" in err, "set-up: does not replace what is there", err)
    status, out, err = service("set-up", "browser-open", f"open_with={shutil.which('true')}")
    ok(status == 0 and "opens pages" in out, "set-up: a second section", status, out, err)
    lines, err = run(call("browser.open", "url=https://example.com/"), OPEN)
    ok(lines == [{"opened": True}], "what was set up is used", lines, err)
    configure("")


def test_audit():
    log = os.path.join(scratch, "log.db")
    run(call("notifications.send", "title=x") * 2,
        {"notifications": {"access": "send", "rate_limit": "1/h"}}, "--audit", log)
    shown = subprocess.run([CORRAL, "audit", "list", "--json", log], env=environment, capture_output=True, text=True,
                           check=False)
    events = [json.loads(line) for line in shown.stdout.splitlines() if "notifications" in line]
    seen = [(event.get("target"), event.get("decision")) for event in events]
    ok(("notifications.send", "allowed") in seen, "the log has each call", seen, shown.stdout, shown.stderr)
    ok(("notifications.send", "failed") in seen, "and what was not done, with the reason", seen)


def until(condition):
    for _ in range(1200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_questions(bus):
    """A question where there is no terminal points to itself on the desktop, in Corral's own words."""
    folder, data = os.path.join(scratch, "asks"), os.path.join(scratch, "asked")
    stamps = os.path.join(environment["XDG_STATE_HOME"], "corral", "asked", ".notified")
    os.makedirs(folder)
    os.makedirs(data)
    names = {"quiet": "quiet", "plain": "plain", "deceiving": "\u0430<b>\u202ebad ", "long": "x" * 200}
    for name in names.values():
        with open(os.path.join(data, name), "w", encoding="utf-8") as file:
            file.write("content")

    def ask(name, **env):
        done = subprocess.run([CORRAL, "run", "--ask-denied", "--", "cat", os.path.join(data, names[name])], env={**environment, **env},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
        return done.stderr

    def shown(before):
        return bus.shown[before] if until(lambda: len(bus.shown) > before) else {"title": "", "body": ""}

    before = len(bus.shown)
    noise = [ask("quiet", CI="true"), ask("quiet", DBUS_SESSION_BUS_ADDRESS="", XDG_RUNTIME_DIR="/nonexistent"),
             ask("quiet", DBUS_SESSION_BUS_ADDRESS=f"unixexec:path=/bin/touch,argv1={scratch}/touched")]
    first = ask("plain")
    found = shown(before)
    ok(found["title"].startswith("Corral: a command failed") and os.path.join(data, "plain") in found["body"] and "May it read this?" in found["body"],
       "a question of a command that failed without a terminal is shown on the desktop", found, first)
    ok(found.get("actions") == [], "it only points to the question", found)
    ok(not any("bus" in text or "notif" in text for text in noise) and not os.path.exists(f"{scratch}/touched"), "in CI, and without a bus, nothing is said of it", noise)
    ask("deceiving")
    body = shown(before + 1)["body"]
    ok("\u202e" not in body and "bad\\x20" in body and "\\xd0\\xb0" in body and "<b>" not in body, "a name that deceives is written out", body)
    ask("long")
    body = shown(before + 2)["body"]
    ok("xxxx" not in body and "bytes, too long" in body, "one that would be cut is left out", body)
    ok(not any("quiet" in item["body"] for item in bus.shown), "what came in CI was not shown", bus.shown)
    ask("plain")  # its question is open already
    with open(stamps, "w", encoding="utf-8") as file:
        file.write(f"{int(time.time() * 1000)}\n" * 4)
    done = subprocess.run([CORRAL, "questions", "notify", "net.connect", "one-more.example:443"], env=environment, capture_output=True, text=True, check=False, timeout=120)
    ok(done.returncode == 1, "four in a minute, of all runs", done.stdout, done.stderr)
    os.unlink(stamps)
    done = subprocess.run([CORRAL, "questions", "notify", "net.connect", "last.example:443"], env=environment, capture_output=True, text=True, check=False, timeout=120)
    ok(done.returncode == 0 and [("last.example" in item["body"]) for item in bus.shown[before + 3:]] == [True], "each question once, and none beyond the rate", bus.shown[before + 3:], done.stderr)


def test_waiting(bus):
    """The same of one that waits at the daemon."""
    os.unlink(os.path.join(environment["XDG_STATE_HOME"], "corral", "asked", ".notified"))
    before, log = len(bus.shown), os.path.join(scratch, "corrald.log")
    with open(log, "w", encoding="utf-8") as file:
        daemon = subprocess.Popen([os.environ["CORRALD"], "--port", "0"], env={**environment, "CORRAL_PROGRAM": CORRAL}, stderr=file)
    ok(until(lambda: "ready: " in open(log, encoding="utf-8").read() or daemon.poll() is not None), "a daemon runs")
    rule = os.path.join(scratch, "asks.yaml")
    with open(rule, "w", encoding="utf-8") as file:
        json.dump({"extends": "workspace", "rules": [{"id": "one", "action": "ask", "operations": ["net.connect"], "patterns": ["waits.example:443"]}]}, file)
    run_it = subprocess.Popen([CORRAL, "run", "--policy", rule, "--", "/usr/bin/python3", "-c", "import socket; exit(not socket.create_connection(('waits.example', 443)).recv(1))"], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=os.path.join(scratch, "asks"))
    ok(until(lambda: len(bus.shown) > before), "a question that waits is shown on the desktop")
    item = bus.shown[-1]
    ok(item["title"] == "Corral: a command waits for your answer" and "connect to" in item["body"] and "waits.example:443" in item["body"], "with what is asked", item)
    listed = subprocess.run([CORRAL, "questions", "list", "--json"], env=environment, capture_output=True, text=True, check=False, timeout=60)
    for question in json.loads(listed.stdout)["questions"]:
        subprocess.run([CORRAL, "questions", "deny", question["id"]], env=environment, capture_output=True, check=False, timeout=60)
    ok(run_it.wait(120) == 1, "an answer ends it", run_it.stderr.read())
    daemon.terminate()
    daemon.wait(60)


def main():
    bus = notifications.Bus(os.path.join(scratch, "bus"))
    test_notifications(bus)
    test_project(bus)
    test_skill_name(bus)
    test_refusals(bus)
    test_without_a_bus(bus)
    test_confinement_and_death(bus)
    test_clipboard()
    test_wayland_tmp()
    test_terminal()
    test_browser()
    test_verb(bus)
    test_audit()
    test_questions(bus)
    if "CORRALD" in os.environ:
        test_waiting(bus)
    test_the_bus_restarts(bus)
    shutil.rmtree(scratch)
    return end()


if __name__ == "__main__":
    began = time.monotonic()
    status = main()
    print(f"# {time.monotonic() - began:.1f} s")
    sys.exit(status)
