#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command leaves in a folder of PATH does not run outside of its sandbox: neither the back ends of services nor what they
start find it, in this run or in a later one (docs/decisions/0095-look-ups-outside.md).

$CORRAL, $CORRAL_BROKER … as for the other tests of the broker; $BACKENDS is the folder of back ends. As root, all of it once more
as an ordinary user.
"""

import json
import os
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


def main():
    p = Place()
    try:
        for test in (test_it_would_run, test_this_run, test_names_of_the_folder, test_child, test_later_run, test_configured):
            test(p)
    finally:
        shutil.rmtree(p.folder)
    if os.geteuid() == 0:
        as_user(__file__, PROGRAMS, BACKENDS=os.environ["BACKENDS"])
    return end()


sys.exit(main())
