#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral learn` with real programs: each passes under the policy that was learnt, while a canary file, host and variable stay denied.

    learn.py --corral PROGRAM --agents FOLDER [--only WORD]     prints TAP

Rows that are quick run by default, all of them with CORRAL_LEARN=all (`make learn`): those install packages of PyPI, compile Go's
library, start a browser, or hold a session of an agent. git clone, make, unittest and curl | jq are in tests/e2e/test-learn.py.
"""

import argparse
import collections
import glob
import http.client
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import agents
import model
import packs
from acceptance_tap import Tap

SECONDS = 240  # of one round
POSTGRES = glob.glob("/usr/lib/postgresql/*/bin")

# needs: programs; make: puts the project there, and returns its Case.
Row = collections.namedtuple("Row", "name needs is_quick make")
# reads: where lines of the policy may lead; lines: how many there are at most; see: what the command prints; ends: what is stopped then.
Case = collections.namedtuple("Case", "work command options reads lines see env packs ends", defaults=((), {}, (), ()))

# Prints what it could get: nothing, under any policy that was learnt.
PROBE = """
import os, socket, sys
got = []
try:
    got.append(open(sys.argv[1]).read().strip())
except OSError:
    pass
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), 10).close()
    got.append("host")
except OSError:
    pass
got.append(os.environ.get("CANARY", ""))
print("canaries:", *got)
"""


class Scene:
    def __init__(self, options, folder):
        self.corral, self.agents, self.folder = options.corral, options.agents, folder
        self.home, self.data = os.path.join(folder, "home"), os.path.join(folder, "data")
        self.canary = self.write(self.data, "canary/file", "sings\n")
        toolchains, self.roots = packs.toolchains()
        self.env = {"HOME": self.home, "PATH": ":".join([*toolchains, "/usr/local/bin", "/usr/bin", "/bin"]), "LANG": "C.UTF-8", "TERM": "xterm",
                    "CANARY": "sings"}
        for key in ("PIP_CERT", "SSL_CERT_FILE", "ASAN_OPTIONS"):
            if key in os.environ:
                self.env[key] = os.environ[key]
        self.server = packs.serve({})
        os.makedirs(self.home)

    @staticmethod
    def write(folder, name, text):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def project(self, name, files):
        work = os.path.join(self.home, name)
        for path, text in files.items():
            self.write(work, path, text)
        return work

    def run(self, case, *words):
        return subprocess.run([self.corral, *words], cwd=case.work, env={**self.env, **case.env}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=SECONDS * 20, check=False)

    def environment(self):
        """A virtual environment outside of any project, as people have them. None: it cannot be had."""
        venv = os.path.join(self.folder, "venv")
        if not os.path.isdir(venv):
            done = subprocess.run(["/usr/bin/python3", "-m", "venv", venv], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                done = subprocess.run([f"{venv}/bin/pip", "install", "-q", "pytest==8.3.4", "nbconvert==7.16.6", "ipykernel==6.29.5"],
                                      capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(f"# {done.stderr[-300:]!r}")
                shutil.rmtree(venv, ignore_errors=True)
                return None
        return venv


def cargo(s):
    """A crate of a registry in a folder."""
    s.write(s.data, "registry/small/Cargo.toml", '[package]\nname = "small"\nversion = "1.0.0"\nedition = "2021"\n')
    s.write(s.data, "registry/small/src/lib.rs", 'pub fn word() -> &\'static str { "tests passed" }\n')
    s.write(s.data, "registry/small/.cargo-checksum.json", '{"files": {}, "package": null}\n')
    work = s.project("cargo", {
        "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nsmall = "1.0.0"\n',
        "src/main.rs": 'fn main() { println!("{}", small::word()) }\n',
        ".cargo/config.toml": f'[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "{s.data}/registry"\n'})
    return Case(work, ["cargo", "run", "-q", "--offline"], [], [f"{s.data}/registry", *s.roots, "/sys/fs/cgroup"], 8, "tests passed")


def go(s):
    """A module in a folder. Go compiles its library first: that is kept by the pack."""
    s.write(s.data, "module/go.mod", "module example.org/dep\n\ngo 1.19\n")
    s.write(s.data, "module/dep.go", 'package dep\n\nfunc Word() string { return "tests passed" }\n')
    work = s.project("app", {
        "go.mod": f"module example.org/app\n\ngo 1.19\n\nrequire example.org/dep v1.0.0\n\nreplace example.org/dep => {s.data}/module\n",
        "app_test.go": 'package app\n\nimport (\n\t"fmt"\n\t"testing"\n\n\t"example.org/dep"\n)\n\n'
                       "func TestApp(t *testing.T) {\n\tfmt.Println(dep.Word())\n}\n"})
    return Case(work, ["go", "test", "-v", "./..."], ["--read", f"{s.data}/module"], [f"{s.data}/module", *s.roots], 3, "tests passed",
                packs=["--with", "go"])


def pytest(s):
    venv = s.environment()
    case = s.write(s.data, "pytest/case.txt", "4\n")
    work = s.project("pytest", {"test_sum.py": f"def test_sum():\n    assert 2 + 2 == int(open('{case}').read())\n"})
    return Case(work, [f"{venv}/bin/pytest", "-q"], [], [venv, case], 3, "1 passed") if venv else None


def jupyter(s):
    venv = s.environment()
    case = s.write(s.data, "jupyter/case.txt", "tests passed\n")
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": f"print(open('{case}').read())"}
    book = {"cells": [cell], "metadata": {"kernelspec": {"display_name": "p", "language": "python", "name": "python3"}}, "nbformat": 4,
            "nbformat_minor": 5}
    work = s.project("jupyter", {"book.ipynb": json.dumps(book)})
    return Case(work, [f"{venv}/bin/jupyter", "nbconvert", "--to", "markdown", "--execute", "--stdout", "book.ipynb"], [], [venv, case], 4,
                "tests passed") if venv else None


def start_postgres(folder):
    """On a socket alone. It refuses to be root's."""
    tools = max(POSTGRES)
    words = ["setpriv", "--pdeathsig", "KILL"]
    os.makedirs(folder)
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)
        words += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    subprocess.run([*words, f"{tools}/initdb", "-D", f"{folder}/db", "-U", "agent", "-A", "trust", "--no-sync", "--no-instructions", "--locale=C",
                    "-E", "UTF8"], check=True, capture_output=True, cwd=folder)
    server = subprocess.Popen([*words, f"{tools}/postgres", "-D", f"{folder}/db", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
                               "unix_socket_permissions=0777"], cwd=folder, stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if "ready to accept connections" in line:
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server


def psql(s):
    if not POSTGRES:
        return None
    folder = os.path.join(s.folder, "pg")
    server = start_postgres(folder)
    query = s.write(s.data, "psql/query.sql", "select 'tests ' || 'passed';\n")
    work = s.project("psql", {"notes": ""})
    return Case(work, ["psql", "-X", "-A", "-t", "-h", folder, "-U", "agent", "-d", "postgres", "-f", query],
                ["--net", f"unix:{folder}/.s.PGSQL.5432", "--read", query], [query, f"unix:{folder}/"], 2, "tests passed", ends=[server.kill, server.wait])


def chromium(s):
    page = s.write(s.data, "page/index.html", "<html><body><script src=sum.js></script></body></html>\n")
    s.write(s.data, "page/sum.js", "document.write('sum ' + (40 + 2))\n")
    work = s.project("chromium", {"notes": ""})
    browse = ("chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$PWD/profile "
              f"--dump-dom file://{page} 2>/dev/null | grep 'sum 42'")
    # What the system's libraries look for, on which machines differ.
    return Case(work, ["sh", "-c", browse], [], [f"{s.data}/page", "/var/cache/fontconfig", "/etc/chromium", "/usr/", "/etc/fonts"], 6, "sum 42")


SERVER = """
const http = require('http'), fs = require('fs');
const page = fs.readFileSync(process.argv[2], 'utf8');
module.exports = http.createServer((request, response) => response.end(page));
"""


def npm(s):
    """A server of the project, which its test asks."""
    page = s.write(s.data, "npm/page.txt", "tests passed\n")
    work = s.project("npm", {
        "package.json": json.dumps({"name": "app", "version": "1.0.0", "scripts": {"test": f"node test.js {page}"}}), "server.js": SERVER,
        "test.js": "const server = require('./server.js'), http = require('http');\n"
                   "server.listen(0, '127.0.0.1', () => http.get({ port: server.address().port }, (answer) => {\n"
                   "  answer.setEncoding('utf8');\n  answer.on('data', (text) => console.log(text));\n  answer.on('end', () => server.close());\n}));\n"})
    return Case(work, ["npm", "test"], [], [page], 1, "tests passed")


def ask_until(port, is_over):
    """As a browser would, until the server has answered once for each run; a run ends with that."""
    while not is_over.is_set():
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            is_over.wait(0.05)


def node(s):
    """A server that is reached from outside, and ends when it has answered."""
    page = s.write(s.data, "node/page.txt", "tests passed\n")
    work = s.project("node", {
        "server.js": SERVER, "main.js": "const server = require('./server.js');\nserver.on('request', (_, response) => response.on('finish', () => {\n"
                                        "  console.log('tests passed');\n  process.exit(0);\n}));\nserver.listen(+process.argv[3]);\n"})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    is_over = threading.Event()
    asker = threading.Thread(target=ask_until, args=(port, is_over))
    asker.start()
    return Case(work, ["node", "main.js", page, str(port)], ["--listen", str(port)], [page, str(port)], 2, "tests passed", ends=[is_over.set, asker.join])


def agent(s):
    """The first that is there. Where its model is not reached it tries again, so a round ends by its time."""
    found = [a for a in agents.AGENTS[:4] if any(os.path.isdir(os.path.join(s.agents, name)) for name in a.packages)]
    if not found:
        return None
    folder = tempfile.mkdtemp(prefix="home.", dir=s.agents)
    scene = agents.Scene(found[0], argparse.Namespace(corral=s.corral, agents=s.agents), os.path.realpath(folder))
    given = {**found[0].env(scene.url), "IS_SANDBOX": "1"}
    options = ["--net", f"127.0.0.1:{scene.server.server_port}", "--read", f"{scene.home}/.gitconfig", "--timeout", "60s"]
    return Case(scene.work, [found[0].name, *found[0].session("do it", scene.url)], [*options, *(w for key in given for w in ("--env", key))],
                ["127.0.0.1", f"{scene.home}/.gitconfig", *given], 2 + len(given), model.WORD, env={**scene.env, **given, "CANARY": "sings"},
                ends=[scene.server.shutdown, lambda: shutil.rmtree(folder, ignore_errors=True)])


ROWS = [
    Row("cargo run, which builds", ["cargo"], True, cargo),
    Row("npm test of a node server", ["npm", "node"], True, npm),
    Row("a node server that is reached from outside", ["node"], True, node),
    Row("go test", ["go"], False, go),
    Row("pytest", ["python3"], False, pytest),
    Row("jupyter nbconvert", ["python3"], False, jupyter),
    Row("psql", ["psql", "setpriv"], True, psql),
    Row("chromium", ["chromium"], False, chromium),
    Row("a coding agent", ["git"], False, agent),
]


def entries(s, case, policy):
    """What the policy adds to the profile, without comments and quotes, and with the home in full."""
    found = [line.strip()[2:].split(" # ")[0].strip('"') for line in policy.splitlines() if line.strip().startswith("- ")]
    home = case.env.get("HOME", s.home)
    return [home + entry[1:] if entry.startswith("~") else entry for entry in found]


def stays_shut(tap, s, row, case, policy):
    probe = s.write(case.work, "probe.py", PROBE)
    r = s.run(case, "run", "--policy", policy, "--", "/usr/bin/python3", probe, s.canary, str(s.server.server_port))
    tap.ok(r.returncode == 0 and r.stdout.strip() == "canaries:", f"{row.name}: the canary file, host and variable stay denied", r.stdout, r.stderr)


def test(tap, s, row, case):
    began = time.monotonic()
    r = s.run(case, "learn", "--json", *case.packs, *case.options, "--", *case.command)
    took = time.monotonic() - began
    try:
        got = json.loads(r.stdout)
    except ValueError:
        got = {"policy": "", "runs": 0, "proven": False}
    lines = entries(s, case, got["policy"])
    other = [line for line in lines if not line.startswith(tuple(case.reads))]
    print(f"# {row.name}: {took:.1f} s, {got['runs']} runs, {len(lines)} lines: {' '.join(lines)}")
    if not tap.ok(r.returncode == 0 and got["proven"], f"{row.name}: a policy is learnt, under which it passes", r.stdout, r.stderr):
        return
    tap.ok(lines and not other and len(lines) <= case.lines, f"{row.name}: of what it needs, and no more", lines, other)
    policy = s.write(s.data, f"policies/{row.name}.yaml", got["policy"])
    r = s.run(case, "run", "--policy", policy, *case.packs, "--", *case.command)
    tap.ok(r.returncode == 0 and case.see in r.stdout, f"{row.name}: corral run --policy does the same", r.stdout, r.stderr)
    stays_shut(tap, s, row, case, policy)


def one(tap, s, row):
    lost = [name for name in row.needs if not shutil.which(name, path=s.env["PATH"])]
    case = None if lost else row.make(s)
    if not case:
        tap.skip(row.name, f"third-party cases not present: {', '.join(lost) or row.name}")
        return
    try:
        test(tap, s, row, case)
    finally:
        for end in case.ends:
            end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--agents", required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.corral, options.agents = os.path.abspath(options.corral), os.path.abspath(options.agents)
    if subprocess.run([options.corral, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    tap = Tap()
    is_all = os.environ.get("CORRAL_LEARN") == "all" or options.only
    # A server that drops its rights has to get there.
    with tempfile.TemporaryDirectory(prefix="corral-l.") as folder:
        os.chmod(folder, 0o755)
        s = Scene(options, os.path.realpath(folder))
        bare = subprocess.run(["/usr/bin/python3", "-c", PROBE, s.canary, str(s.server.server_port)], env=s.env, capture_output=True, text=True, check=False)
        tap.ok(bare.stdout.strip() == "canaries: sings host sings", "without a sandbox the canaries are there", bare.stdout, bare.stderr)
        for row in ROWS:
            if (row.is_quick or is_all) and options.only in row.name:
                one(tap, s, row)
        # Go's cache may have folders that cannot be written.
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
