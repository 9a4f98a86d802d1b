# SPDX-License-Identifier: Apache-2.0
"""What the tests of suggested lines share: reads the options and lines of policies that Corral
suggests out of its messages, as they stand, and applies them.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
WORD = r"(?:\$'(?:[^'\\]|\\.)*'|'(?:[^']|'\\'')*'|[^\s',;…]+)"
OPTION = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*) (%s)" % WORD)
LINE = re.compile(r"(?:add|write) `?((?:[a-z_]+): (?:\[.*?\]|\{.*?\}|[a-z]+))`?(?: to ([^\s,;]+))?(?=$|[\s,;])")


class Scene:
    """A scratch folder with a home and a working folder."""

    def __init__(self):
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.home, self.work = self.root + "/home", self.root + "/work"
        for name in ("home", "work", "tmp", "data"):
            os.mkdir(f"{self.root}/{name}")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        self.env.update(HOME=self.home, TMPDIR=self.root + "/tmp", LC_ALL="C.UTF-8",
                        PWD=self.work, SCRATCH=self.root)
        self.env["ASAN_OPTIONS"] = (self.env.get("ASAN_OPTIONS", "") + ":detect_leaks=0").lstrip(":")
        for name in ("NO_COLOR", "CORRAL_AUDIT"):
            self.env.pop(name, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["chmod", "-R", "u+rwx", self.root], check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, path, text="x\n", mode=None):
        path = os.path.join(self.work, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def corral(self, *words, cwd=None, stdin=""):
        """What `corral WORD…` came to: status and all that it said."""
        done = subprocess.run([CORRAL, *words], cwd=cwd or self.work, env=self.env, input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=100, check=False)
        return done.returncode, done.stdout


def options_in(text):
    """The options that a message suggests, as words."""
    found = []
    for option, word in OPTION.findall(text):
        found += [option, unquote(word)]
    return found


def unquote(word):
    if word.startswith("$'"):
        word = subprocess.run(["bash", "-c", "printf %s " + word], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    else:
        word = shlex.split(word)[0]
    return word


def lines_in(text):
    """The lines of policies that a message suggests: (line, file or "")."""
    return [(line, file) for line, file in LINE.findall(text)]


def merged(one, other):
    """Two documents as one: lists behind each other."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: merged(one.get(key), other.get(key)) for key in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    return one if other is None else other


def read_policy(scene, file):
    status, text = scene.corral("policy", "show", "--format", "json", file)
    if status != 0:
        raise ValueError(f"{file} cannot be read: {text}")
    return json.loads(text)


def add_line(scene, file, line):
    """Puts a line into a file, whatever it holds already. JSON is YAML."""
    more = read_policy(scene, scene.write("suggested.yaml", line + "\n"))
    scene.write(file, json.dumps(merged(read_policy(scene, file), more)))


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def ok(self, good, name, more=""):
        self.n += 1
        self.failed += not good
        print("ok" if good else "not ok", self.n, "-", name)
        if not good and more:
            print("".join(f"# {line}\n" for line in str(more).splitlines()), end="")
        sys.stdout.flush()

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}")

    def end(self):
        print(f"1..{self.n}")
        sys.exit(self.failed != 0)


def needs_sandbox():
    """Where there is none, `corral doctor` says why."""
    done = subprocess.run([CORRAL, "doctor"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 1:
        print("1..0 # SKIP kernel: " + done.stdout.splitlines()[0])
        sys.exit(0)
