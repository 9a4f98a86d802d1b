#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command leaves in a folder of PATH does not run outside of its sandbox: neither the back ends of services nor what they
start find it, in this run or in a later one (docs/decisions/0095-look-ups-outside.md).

$CORRAL, $CORRAL_BROKER … as for the other tests of the broker; $BACKENDS is the folder of back ends. As root, all of it once more
as an ordinary user.
"""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile

from broker_tap import as_user, end, ok

PROGRAMS = ("CORRAL", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRAL_WARDEN")
CORRAL = os.path.abspath(os.environ["CORRAL"])
USUAL = "/usr/local/bin:/usr/bin:/bin"
# Nothing listens there, and nothing leaves the machine.
PAGE = "http://127.0.0.1:1/"
# What a command would plant: what back ends look for, and what xdg-open looks for.
NAMES = ("xdg-open", "xclip", "wl-copy", "wl-paste", "dbus-send", "gio", "xdg-mime", "xprop", "sed", "grep", "cut", "printf",
         "readlink", "which", "uname", "tr", "awk", "gawk", "x-www-browser", "www-browser", "firefox", "chromium", "w3m", "lynx",
         "links", "elinks", "env", "sh", "cat", "planted")


class Place:
    """A home with a project in it, whose .venv/bin PATH leads to, and a folder outside in which marks are left."""

    def __init__(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.home = self.folder + "/home"
        self.project = self.home + "/project"
        self.other = self.home + "/other"
        self.marks = self.folder + "/marks"
        self.bin = self.project + "/.venv/bin"
        for folder in (self.project, self.other, self.marks, self.home + "/.config/corral", self.folder + "/runtime"):
            os.makedirs(folder, 0o700)
        self.env = {"HOME": self.home, "XDG_STATE_HOME": self.home + "/.local/state", "XDG_CACHE_HOME": self.home + "/.cache",
                    "XDG_RUNTIME_DIR": self.folder + "/runtime", "CORRAL_BACKENDS": os.path.abspath(os.environ["BACKENDS"]),
                    "PATH": self.bin + ":" + USUAL, "VIRTUAL_ENV": self.project + "/.venv",
                    **{name: os.path.abspath(os.environ[name]) for name in PROGRAMS if name in os.environ}}

    def configure(self, text):
        with open(self.home + "/.config/corral/services.yaml", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.home + "/.config/corral/services.yaml", 0o600)

    def program(self, name, text):
        """One of the user's own, in a folder that no sandbox may write."""
        path = tempfile.mkdtemp(dir=self.folder) + "/" + name
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def policy(self, folder, *more):
        path = f"{self.folder}/{os.path.basename(folder)}.yaml"
        dangerous = {"dangerously_allow": more} if more else {}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**dangerous, "fs": {"read": ["/usr/**", "/lib/**", "/lib64/**", "/bin/**", "/etc/**", folder + "/{,**}"],
                              "write": [folder + "/{,**}", *more]},
                       "exec": ["/**"], "services": {"browser": {"access": "open", "domains": ["127.0.0.1"]},
                                                     "clipboard": {"access": "readwrite"}}}, file)
        return path

    def run(self, script, folder=None, write=(), **env):
        """In the project, if no other folder is named; the lines that it prints, and stderr."""
        folder = folder or self.project
        done = subprocess.run([CORRAL, "run", "--policy", self.policy(folder, *write), "--", "/bin/sh", "-c",
                               f"PATH=/usr/bin:/bin:$PATH; {script}"], env={**self.env, **env}, cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=120)
        return done.stdout.splitlines(), done.stderr

    def service(self, *words, **env):
        return subprocess.run([CORRAL, "service", *words], env={**self.env, **env}, cwd=self.project, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=120)

    def marked(self):
        """What ran outside, and forgets it."""
        found = sorted(os.listdir(self.marks))
        for name in found:
            os.unlink(f"{self.marks}/{name}")
        return found


def at_terminal(words, env, folder):
    """What a command prints at a terminal, and its status."""
    master, slave = pty.openpty()
    seen = b""
    with subprocess.Popen(words, env=env, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as run:
        os.close(slave)
        while select.select([master], [], [], 120)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
        os.close(master)
        run.kill()
    return seen.decode(errors="replace").replace("\r\n", "\n"), run.returncode


def plant(p):
    """The script of a command that plants: each leaves a mark where only a program outside can."""
    return (f"mkdir -p .venv/bin && for n in {' '.join(NAMES)}; do printf '#!/bin/sh\\n(: >{p.marks}/%s) 2>/dev/null\\nexit 0\\n' $n "
            ">.venv/bin/$n; chmod 755 .venv/bin/$n; done; .venv/bin/planted; echo planted; ")


def call(method, *words):
    return f"sandbox-call {method} {' '.join(words)} --json; "


OPEN = call("browser.open", "url=" + PAGE)
COPY = call("clipboard.write", "text=x")


def test_it_would_run(p):
    """Without this, none of the others shows anything."""
    lines, err = p.run(plant(p))
    ok(lines == ["planted"] and not p.marked(), "a command plants programs, which leave no mark inside", lines, err)
    subprocess.run([p.bin + "/xdg-open"], check=False)
    ok(p.marked() == ["xdg-open"], "outside they do")
    shutil.rmtree(p.project + "/.venv")


def test_this_run(p):
    lines, err = p.run(plant(p) + OPEN)
    ok(lines[:1] == ["planted"] and len(lines) > 1 and not p.marked(), "xdg-open in a folder of PATH that the command writes is not run",
       lines, err)
    lines, err = p.run(COPY + call("clipboard.read"), DISPLAY=":77")
    ok(len(lines) >= 2 and not any('"written":true' in line.replace(" ", "") for line in lines) and not p.marked(),
       "nor is xclip, which would get the display", lines, err)
    lines, err = p.run(COPY, WAYLAND_DISPLAY="wayland-7")
    ok(lines and not any('"written":true' in line.replace(" ", "") for line in lines) and not p.marked(), "nor wl-copy", lines, err)
    lines, err = p.run(OPEN, PATH=p.bin)
    ok(any("no sandbox may write" in line for line in lines) and not p.marked(), "where PATH has nothing else, the error says why",
       lines, err)
    for browser in (p.bin + "/planted", p.bin + "/planted:planted", f"env {p.bin}/planted %s", "planted"):
        lines, err = p.run(OPEN, PATH=p.bin, BROWSER=browser)
        ok(lines and not p.marked(), f"BROWSER={browser.replace(p.folder, '')} is not run", lines, err)


def test_names_of_the_folder(p):
    """However the folder is named."""
    os.symlink(p.bin, p.folder + "/link")
    os.symlink(p.project, p.home + "/alias")
    os.symlink("/usr/bin", p.project + "/to-usr")
    for entry in (p.bin + "/", p.project + "/../project/.venv/./bin//", p.folder + "/link", p.home + "/alias/.venv/bin",
                  "/usr/bin/../.." + p.bin, "/proc/self/root" + p.bin, ".venv/bin", "", "."):
        lines, err = p.run(OPEN, PATH=f"{entry}:{USUAL}")
        ok(lines and not p.marked(), f"PATH={entry.replace(p.folder, '')}: not run", lines, err)
    lines, err = p.run(OPEN, PATH=p.project + "/to-usr")
    ok(any("no sandbox may write" in line for line in lines), "a link that the command may change is not followed, wherever it leads",
       lines, err)


def test_child(p):
    """What the program that is started finds."""
    seen = p.folder + "/seen"
    show = p.program("show", f"/usr/bin/env >{seen}.new; for n in dbus-send gio sed env sh cat planted; do command -v $n; $n </dev/null; "
                             f"done >{seen}.found 2>/dev/null; mv {seen}.new {seen}; exit 0\n")
    p.configure(f"browser: {{open_with: {show}}}\n")
    os.makedirs(p.project + "/share/applications", exist_ok=True)
    lines, err = p.run(OPEN, XDG_DATA_DIRS=p.project + "/share:/usr/share", XDG_CONFIG_DIRS=p.project + "/share",
                       XDG_DATA_HOME=p.project + "/share", BROWSER=p.bin + "/planted", LD_LIBRARY_PATH="/nonexistent-" + p.project,
                       PYTHONPATH=p.project, NODE_PATH=p.project, PERL5LIB=p.project, BASH_ENV=p.bin + "/planted")
    with open(seen, encoding="utf-8") as file:
        env = dict(line.split("=", 1) for line in file.read().splitlines())
    with open(seen + ".found", encoding="utf-8") as file:
        found = file.read()
    ok(lines and '"opened"' in lines[-1] and not p.marked(), "open_with is run, and finds nothing that a command planted", lines, err)
    ok("/usr/bin" in env["PATH"].split(":") and p.project not in found, "it finds the system's programs", env["PATH"], found)
    led = {name: value for name, value in env.items() if p.project in value}
    ok(not led, "no variable leads it into the folder", led)
    ok(env.get("XDG_DATA_DIRS") == "/usr/share" and env["HOME"] == p.home, "the rest of a list, and the home, stay", env)
    # Root may grant what is the system's.
    lines, err = p.run(OPEN, write=["/usr/share/doc/{,**}"], XDG_DATA_DIRS="/usr/share/doc:/usr/share", XDG_CONFIG_DIRS="/usr/share/doc")
    with open(seen, encoding="utf-8") as file:
        env = file.read().splitlines()
    ok("XDG_DATA_DIRS=/usr/share" in env and "XDG_CONFIG_DIRS=/nonexistent" in env, "nor into one of the system that this run may write",
       lines, err, env)
    p.configure("")


def test_later_run(p):
    """An earlier command had the folder, this one has another."""
    lines, err = p.run(OPEN, folder=p.other)
    ok(lines and not p.marked(), "what an earlier run planted is not run either", lines, err)
    lines, err = p.run(COPY, folder=p.other, DISPLAY=":77")
    ok(lines and not any('"written":true' in line.replace(" ", "") for line in lines) and not p.marked(), "nor given the display",
       lines, err)
    done = p.service("test", "browser-open")
    ok(p.bin not in done.stdout and not p.marked(), "corral service test does not find it", done.stdout, done.stderr)
    done = p.service("test", "clipboard", DISPLAY=":77")
    ok(done.returncode != 0 and not p.marked(), "nor run it", done.stdout, done.stderr)


def test_configured(p):
    """What services.yaml names, unless the sandbox may write it."""
    os.symlink(p.bin + "/planted", p.home + "/browser")
    for key, value in (("open_with", p.bin + "/planted"), ("open_with", p.home + "/browser"), ("programs", p.bin),
                       ("programs", p.project)):
        p.configure(f"browser: {{{key}: {value}}}\n")
        lines, err = p.run(OPEN)
        ok(any("the sandbox may write" in line and key in line for line in lines) and not p.marked(),
           f"{key}: {value.replace(p.folder, '')} is refused, with the key", lines, err)
    own = p.program("xdg-open", f": >{p.marks}/own; exit 0\n")
    p.configure(f"browser: {{programs: {os.path.dirname(own)}}}\n")
    lines, err = p.run(OPEN)
    ok(lines and '"opened"' in lines[-1] and p.marked() == ["own"], "a folder of the user's own is looked in", lines, err)
    own = p.program("xclip", "read -r text; exit 0\n")  # it is confined, and can write nothing
    p.configure(f"clipboard: {{programs: {os.path.dirname(own)}}}\n")
    lines, err = p.run(COPY, DISPLAY=":77")
    ok(any('"written":true' in line.replace(" ", "") for line in lines), "also for the clipboard", lines, err)
    p.configure("")


CLIENT = "client_id=9d1c250a-e61b-44d9-88ed-5944d1962f5e"
BACK = "redirect_uri=https%3A%2F%2Fplatform.claude.com%2Foauth%2Fcode%2Fcallback"
LOGIN = f"https://claude.com/cai/oauth/authorize?code=true&{CLIENT}&{BACK}&scope=user%3Ainference&state="
# What a command could want to have opened; src/services/desktop/test/test-login.c has more.
NO_LOGINS = (
    "file:///etc/passwd", "javascript:alert(1)", "x-evil:1", "--help", "-", "", "claude.com", LOGIN.replace("https:", "http:"),
    LOGIN.replace("https:", "HTTPS:").replace("claude.com", "claude.com@evil.example"), LOGIN.replace("claude.com", "claude.com.evil.example"),
    LOGIN.replace("claude.com", "cl\u0430ude.com"), LOGIN.replace("claude.com", "evil.example"), LOGIN.replace("/cai/oauth/authorize", "/logout"),
    LOGIN.replace(CLIENT, "client_id=evil"), LOGIN.replace(BACK, "redirect_uri=https%3A%2F%2Fevil.example%2F"), LOGIN + "1&" + BACK,
    LOGIN + "1\n--help", LOGIN + "1\t", LOGIN + "1 2", LOGIN + "x" * 20000,
    # Of another agent's preset.
    "https://auth.openai.com/oauth/authorize?client_id=app_EMoamEEZ73f0CkXaXp7hrann&redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%2Fauth%2Fcallback",
)


def login(p, script, *options, agent="claude", home=None, **env):
    """A command with an agent's preset, at a terminal of a desktop."""
    words = [CORRAL, "run", "--with", agent, *options, "--", "/bin/sh", "-c", script]
    home = home or p.home
    return at_terminal(words, {**p.env, "HOME": home, "DISPLAY": ":77", "TERM": "dumb", **env}, p.project)[0]


def test_login(p):
    """The page of an agent's login is opened in the user's browser, and nothing else is (docs/decisions/0148-a-login-opens-the-browser.md)."""
    seen = p.folder + "/opened"
    show = p.program("show", f'echo "$#" "$@" >>{seen}; exit 0\n')

    def opened():
        if not os.path.exists(seen):
            return []
        with open(seen, encoding="utf-8") as file:
            lines = file.read().splitlines()
        os.unlink(seen)
        return lines

    p.configure(f"browser: {{open_with: {show}}}\n")
    text = login(p, f"$BROWSER '{LOGIN}1'; echo status $?; PATH=/dev/corral xdg-open '{LOGIN}2'; echo status $?", "--audit", "default")
    ok(opened() == ["1 " + LOGIN + "1", "1 " + LOGIN + "2"] and text.count("status 0") == 2, "the page of a login is opened, as one argument", text)
    # What could be a secret is not shown, as in the log.
    shown = LOGIN.replace("code=true", "code=[redacted]").replace(BACK, "redirect_uri=[redacted]")
    ok(f"opened the page of a login in your browser: {shown}1" in text, "and the user sees which", text)
    log = subprocess.run([CORRAL, "audit", "list", "--json"], env=p.env, cwd=p.project, capture_output=True, text=True, check=False).stdout
    ok(f"browser.login:{shown}1" in log, "it is in the log", log)
    text = login(p, f"$BROWSER '{LOGIN.replace(BACK, 'redirect_uri=http%3A%2F%2Flocalhost%3A4711%2Fcallback')}'")
    ok(opened() == ["1 " + LOGIN], "a way back to a port that is not published becomes the page with a code", text)
    # It stays so to the end: who reads late finds the screen as it was.
    text = login(p, f"stty raw; $BROWSER '{LOGIN}1'; printf drawn")
    ok(len(opened()) == 1 and f"drawncorral: opened the page of a login in your browser: {shown}1" in text,
       "on a screen that a program draws, the user sees it at the end", text)
    # Two in a run: five calls of it are not too many.
    said = ""
    for i in range(0, len(NO_LOGINS), 2):
        with open(p.project + "/addresses.json", "w", encoding="utf-8") as file:
            json.dump(NO_LOGINS[i:i + 2], file)
        said += login(p, "python3 - <<'E'\nimport json, os, subprocess\nfor a in json.load(open('addresses.json')):\n"
                         "    print('status', subprocess.run([os.environ['BROWSER'], a]).returncode)\n    p = json.dumps({'url': a})\n"
                         "    for m in ('login', 'open'):\n        subprocess.run(['/dev/corral/sandbox-call', 'browser.' + m, p])\nE")
    ok(opened() == [] and said.count("status 4") + said.count("status 1") == len(NO_LOGINS) and "opened the page" not in said and
       "too often" not in said, "nothing else is, nor said to be", said)
    many = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "browser.login", "params": {"url": LOGIN + str(i)}}) + "\n" for i in range(1000))
    with open(p.project + "/many.json", "w", encoding="utf-8") as file:
        file.write(many)
    text = login(p, "/dev/corral/sandbox-call - <many.json >answers.json; wc -l <answers.json")
    ok("1000" in text and len(opened()) == 5 and text.count("opened the page") == 5, "of a thousand, five are", text[:2000])
    for what, text in (("without a desktop", login(p, "echo ${BROWSER-none} $(ls /dev/corral 2>&1)", DISPLAY="")),
                       ("with --no-broker", login(p, "echo ${BROWSER-none} $(ls /dev/corral 2>&1)", "--no-broker")),
                       ("where no port is published for the way back", login(p, "echo ${BROWSER-none} $(ls /dev/corral 2>&1)", agent="opencode")),
                       ("without a terminal", subprocess.run(
                           [CORRAL, "run", "--with", "claude", "--", "/bin/sh", "-c", "echo ${BROWSER-none} $(ls /dev/corral 2>&1)"],
                           env={**p.env, "DISPLAY": ":77"}, cwd=p.project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           check=False).stdout)):
        ok("none ls: " in text, f"{what} there is nothing that opens it", text)
    p.configure("")
    text = login(p, plant(p) + f"mkdir -p ~/.local/bin; cp .venv/bin/xdg-open ~/.local/bin/; $BROWSER '{LOGIN}1'; echo status $?", "--write",
                 p.home + "/.local/bin", PATH=f"{p.bin}:{p.home}/.local/bin:{USUAL}")
    ok("planted" in text and "status" in text and not p.marked() and opened() == [], "a planted xdg-open is not run", text)


def main():
    p = Place()
    try:
        for test in (test_it_would_run, test_this_run, test_names_of_the_folder, test_child, test_later_run, test_configured, test_login):
            test(p)
    finally:
        shutil.rmtree(p.folder)
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS, BACKENDS=os.environ["BACKENDS"])
    return end()


sys.exit(main())
