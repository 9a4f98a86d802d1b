#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs with the real tools: a project's tests, and then again without a network.

    packs.py --corral PROGRAM [--only WORD] [--slow]     prints TAP

The first run downloads from the public registry, what is pinned by digests or lock files. Then what the tool
made in the project is removed, and the same is done in the profile offline: all of it must come from the cache
that is kept. Another project finds none of it. C needs no pack. --slow adds Jupyter, which takes a minute to install.
"""

import argparse
import collections
import hashlib
import http.server
import io
import ipaddress
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request

from acceptance_tap import Tap

SECONDS = 240

UV = {"x86_64": "e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984",
      "aarch64": "5337c30bb893b4f9ce0ceb921ba2da0d13f649da644f40ad3bef84083bef0203"}
SIX = ("six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 "
       "--hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81\n")

# hosts: those of the pack that the test uses; files: of the project; first, again: what is run, the second time offline.
# served: files of a registry that the test itself plays, at the port that PORT stands for in files.
Row = collections.namedtuple("Row", "name pack program hosts files first again alone served", defaults=("", None))


def crate(name, source):
    """What a registry of cargo's has of one crate: its settings, its index, its archive (cargo's sparse protocol)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in (("Cargo.toml", f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n'), ("src/lib.rs", source)):
            entry = tarfile.TarInfo(f"{name}-1.0.0/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    row = {"name": name, "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(out.getvalue()).hexdigest(), "features": {}, "yanked": False}
    return {"config.json": b'{"dl": "http://127.0.0.1:PORT/dl/{crate}"}', f"{name[:2]}/{name[2:4]}/{name}": json.dumps(row).encode(),
            f"dl/{name}": out.getvalue()}


def pom(name, more):
    return (f"<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>{name}</artifactId>"
            f"<version>1.0</version><packaging>pom</packaging>{more}</project>\n")

ROWS = [
    Row("node", "npm", "npm", ["registry.npmjs.org"], {
        "package.json": '{"name": "app", "version": "1.0.0", "dependencies": {"is-odd": "3.0.1"}, "scripts": {"test": "node test.js"}}',
        "test.js": "if (!require('is-odd')(3)) process.exit(1); console.log('tests passed');\n",
    }, "npm install --no-audit --no-fund && npm test", "rm -rf node_modules && npm ci --no-audit --no-fund && npm test",
        alone="npm ci --no-audit --no-fund"),
    Row("python, with pip", "pip", "python3", ["pypi.org", "files.pythonhosted.org"], {
        "requirements.txt": SIX, "test.py": "import six\nprint('tests passed')\n",
    }, "python3 -m venv .venv && .venv/bin/pip install -q --require-hashes -r requirements.txt && .venv/bin/python test.py",
        ".venv/bin/pip install -q --require-hashes -r requirements.txt && .venv/bin/python test.py"),
    Row("python, with uv", "uv", "uv", ["pypi.org", "files.pythonhosted.org"], {
        "requirements.txt": SIX, "test.py": "import six\nprint('tests passed')\n",
    }, "uv venv -q && uv pip install -q --require-hashes -r requirements.txt && .venv/bin/python test.py",
        "rm -rf .venv && uv venv -q && uv pip install -q --require-hashes -r requirements.txt && .venv/bin/python test.py",
        alone="uv venv -q && uv pip install -q -r requirements.txt"),
    Row("rust", "cargo", "cargo", ["index.crates.io", "static.crates.io"], {
        "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ncfg-if = "=1.0.0"\n',
        "Cargo.lock": 'version = 3\n[[package]]\nname = "app"\nversion = "0.1.0"\ndependencies = ["cfg-if"]\n[[package]]\n'
                      'name = "cfg-if"\nversion = "1.0.0"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\n'
                      'checksum = "baf1de4339761588bc0619e3cbc0120ee582ebb74b53b4efbf79117bd2da40fd"\n',
        "src/lib.rs": '#[test]\nfn works() { cfg_if::cfg_if! { if #[cfg(test)] { println!("tests passed") } else { panic!() } } }\n',
    }, "cargo test -q --locked -- --nocapture", "rm -rf target && cargo test -q --locked -- --nocapture", alone="cargo fetch --locked"),
    Row("rust, with a registry of its own", "cargo", "cargo", [], {
        "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n'
                      'small = { version = "1.0.0", registry = "test" }\n',
        ".cargo/config.toml": '[registries.test]\nindex = "sparse+http://127.0.0.1:PORT/"\n',
        "src/lib.rs": '#[test]\nfn works() { println!("{}", small::word()) }\n',
    }, "cargo test -q -- --nocapture", "rm -rf target && cargo test -q -- --nocapture", alone="cargo fetch",
        served=crate("small", 'pub fn word() -> &\'static str { "tests passed" }\n')),
    # What the first run downloads is the project's parent. Debian's plugins are in no repository that can be served.
    Row("maven, with a repository of its own", "maven", "mvn", [], {
        "pom.xml": pom("app", "<parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1.0</version><relativePath/></parent>"),
        "settings.xml": "<settings><mirrors><mirror><id>test</id><mirrorOf>*</mirrorOf><url>http://127.0.0.1:PORT/</url></mirror></mirrors></settings>\n",
    }, "mvn -B -q -s settings.xml validate && echo tests passed", "mvn -B -q -s settings.xml validate && echo tests passed",
        alone="mvn -B -q -s settings.xml validate", served={"org/example/parent/1.0/parent-1.0.pom": pom("parent", "").encode()}),
    # With the system's browser: its own are on a host that may be out of reach.
    Row("playwright, with the system's Chromium", "npm,playwright", "chromium", ["registry.npmjs.org"], {
        "package.json": '{"name": "app", "version": "1.0.0", "dependencies": {"playwright-core": "1.65.0"}}',
        "test.js": "const { chromium } = require('playwright-core');\n"
                   "(async () => {\n  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium' });\n"
                   "  const page = await browser.newPage();\n  await page.setContent('<p>tests</p>');\n"
                   "  console.log(await page.textContent('p') + ' passed', process.env.PLAYWRIGHT_BROWSERS_PATH);\n  await browser.close();\n})();\n",
    }, "npm install --no-audit --no-fund && node test.js", "rm -rf node_modules && npm ci --no-audit --no-fund && node test.js"),
    Row("go", "go", "go", ["proxy.golang.org"], {
        "go.mod": "module example.org/app\n\ngo 1.19\n\nrequire github.com/google/uuid v1.6.0\n",
        "go.sum": "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\n"
                  "github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n",
        "app_test.go": 'package app\n\nimport (\n\t"fmt"\n\t"testing"\n\n\t"github.com/google/uuid"\n)\n\n'
                       'func TestApp(t *testing.T) {\n\tif len(uuid.NewString()) != 36 {\n\t\tt.Fatal()\n\t}\n\tfmt.Println("tests passed")\n}\n',
    }, "go test ./...  -v", "go clean -testcache && go test ./... -v", alone="go mod download"),
    Row("C", None, "make", [], {
        "Makefile": "test: app\n\t./app\napp: app.c\n\t$(CC) -o app app.c\n",
        "app.c": '#include <stdio.h>\nint main(void) { return puts("tests passed") < 0; }\n',
    }, "make test", "rm app && make test"),
    Row("git: a commit is the user's", "git", "git", [], {"x": "x"},
        "git init -q && git add x && git commit -qm x && git log -1 --format='%an: tests passed'",
        "git commit -q --allow-empty -m y && git log -1 --format='%an: tests passed' | grep 'User Of Test'"),
]


def private_hosts(hosts):
    """Where a mirror at a private address plays the registry, that is granted by hand, as its users would."""
    out = []
    for host in hosts:
        try:
            found = {row[4][0] for row in socket.getaddrinfo(host, 443, proto=socket.IPPROTO_TCP)}
        except OSError:
            found = set()
        for address in found:
            if not ipaddress.ip_address(address).is_global:
                out += ["--net", f"[{address}]:443" if ":" in address else f"{address}:443"]
    return out


def unreachable(hosts):
    """The first of them that does not answer outside of any sandbox either; None: all do."""
    for host in hosts:
        if subprocess.run(["curl", "-s", "-o", "/dev/null", "--max-time", "30", f"https://{host}/"], check=False).returncode != 0:
            return host
    return None


def toolchains():
    """Folders of PATH, and what has to be read for them: toolchains that are not the system's."""
    path, read = [], []
    for words in (["rustc", "--print", "sysroot"], ["go", "env", "GOROOT"]):
        if shutil.which(words[0]):
            root = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
            if root and root != "/usr":
                path.append(root + "/bin")
                read.append(root)
    return path, read


def tools(folder):
    """The same as PATH and options, with uv."""
    path, read = toolchains()
    uv = os.path.join(folder, "uv")
    line = os.path.join(folder, "uv.txt")
    with open(line, "w", encoding="utf-8") as file:
        file.write(f"uv==0.13.8 --hash=sha256:{UV.get(platform.machine(), '')}\n")
    done = subprocess.run(["/usr/bin/python3", "-m", "pip", "install", "-q", "--no-deps", "--require-hashes", "--target", uv, "-r", line],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        path.append(uv + "/bin")
        read.append(uv)
    else:
        print(f"# uv: {done.stderr[-300:]!r}")
    return ":".join([*path, "/usr/bin", "/bin"]), [word for one in read for word in ("--read", one)]


def is_old(row, path):
    """Cargo before 1.68 knows no registry but git's."""
    if row.program != "cargo" or not row.served:
        return None
    version = subprocess.run(["cargo", "--version"], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False).stdout
    number = [int(part) for part in version.split()[1].split(".")[:2]] if len(version.split()) > 1 else [0, 0]
    return "cargo 1.68" if number < [1, 68] else None


class Registry(http.server.BaseHTTPRequestHandler):
    """Files from memory; PORT in them is the port."""

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def do_GET(self):  # pylint: disable=invalid-name
        data = self.server.files.get(self.path.strip("/"))
        self.send_response(200 if data else 404)
        self.end_headers()
        if data and self.command == "GET":
            self.wfile.write(data.replace(b"PORT", str(self.server.server_port).encode()) if data.startswith(b"{") else data)

    do_HEAD = do_GET


def serve(files):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    server.files = files
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Scene:
    def __init__(self, corral, folder, path, read):
        self.corral, self.folder, self.path, self.read = corral, folder, path, read
        self.home = os.path.join(folder, "home")

    def project(self, name, files):
        work = os.path.join(self.folder, name)
        for file, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(work, file)), exist_ok=True)
            with open(os.path.join(work, file), "w", encoding="utf-8") as out:
                out.write(text)
        return work

    def environment(self):
        env = {key: os.environ[key] for key in ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "ASAN_OPTIONS") if key in os.environ}
        env.update(HOME=self.home, PATH=self.path, LANG="C.UTF-8", TERM="xterm")
        return env

    def run(self, work, command, *options):
        env = self.environment()
        words = [self.corral, "run", "--timeout", f"{SECONDS}s", *self.read, *options, "--", "sh", "-c", command]
        return subprocess.run(words, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)


def test(tap, s, number, row):
    pack = ["--with", row.pack] if row.pack else []
    more = private_hosts(row.hosts)
    if row.served:
        server = serve(row.served)
        row = row._replace(files={path: text.replace("PORT", str(server.server_port)) for path, text in row.files.items()})
        more = ["--net", f"127.0.0.1:{server.server_port}"]
    work = s.project(f"p{number}", row.files)
    r = s.run(work, row.first, *pack, *more)
    if not tap.ok(r.returncode == 0 and "tests passed" in r.stdout, f"{row.name}: {row.first}", r.stdout, r.stderr):
        return
    r = s.run(work, row.again, "--profile", "offline", *pack)
    tap.ok(r.returncode == 0 and "tests passed" in r.stdout, f"{row.name}: again, offline: {row.again}", r.stdout, r.stderr)
    if row.alone:
        other = s.project(f"q{number}", row.files)
        for name in ("package-lock.json", "Cargo.lock"):
            if os.path.exists(os.path.join(work, name)):
                shutil.copy(os.path.join(work, name), other)
        r = s.run(other, row.alone, "--profile", "offline", *pack)
        tap.ok(r.returncode != 0, f"{row.name}: another project finds none of it", r.stdout, r.stderr)


def test_init(tap, s, number, row):
    more = {"test_app.py": "import unittest\nimport six\n\nclass T(unittest.TestCase):\n    def test(self):\n"
                           "        self.assertTrue(six.PY3)\n"} if row.pack == "pip" else {}
    work = s.project(f"i{number}", row.files | more)
    env = s.environment()
    r = subprocess.run([s.corral, "init", "--yes", "--no-run", "--json"], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, check=False)
    if not tap.ok(r.returncode == 0, f"{row.name}: corral init", r.stdout, r.stderr):
        return
    with open(os.path.join(work, "corral.yaml"), encoding="utf-8") as file:
        text = file.read()
    for name in ("install", "test"):
        if f"\n  {name}: " not in text:
            continue
        r = subprocess.run([s.corral, "run", *s.read, *private_hosts(row.hosts), name], cwd=work, env=env, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, errors="replace", check=False)
        tap.ok(r.returncode == 0, f"{row.name}: corral run {name}", r.stdout, r.stderr)
    r = subprocess.run([s.corral, "run", "--profile", "offline", *s.read, "test"], cwd=work, env=env, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, errors="replace", check=False)
    tap.ok(r.returncode == 0, f"{row.name}: corral run test, offline", r.stdout, r.stderr)


def test_tool(tap, s):
    """A tool that uv installs for the user, outside, runs inside without an option: it and its Python are in a known layout."""
    uv = shutil.which("uv", path=s.path)
    lost = "uv" if not uv else unreachable(["pypi.org", "files.pythonhosted.org"])
    if lost:
        tap.skip("uv tool install", f"third-party cases not present: {lost}")
        return
    work = s.project("tool", {"x": "x"})
    env = {**s.environment(), "PATH": f"{s.home}/.local/bin:/usr/bin:/bin"}
    done = subprocess.run([uv, "tool", "install", "-q", "--no-build", "--python", "/usr/bin/python3", "pycowsay==0.0.0.2"], env=env, capture_output=True,
                          text=True, check=False)
    r = subprocess.run([s.corral, "run", "--", "pycowsay", "hello"], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, check=False)
    tap.ok(r.returncode == 0 and "< hello >" in r.stdout, "uv tool install: the tool runs inside", done.stderr, r.stdout, r.stderr)


NOTEBOOK = """
import nbclient, nbformat
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('tests', 'passed')")])
nbclient.NotebookClient(notebook, timeout=100).execute()
print(notebook.cells[0].outputs[0].text)
"""


def fetch(url, data=None):
    """A page of the server, once it is there."""
    last = None
    for _ in range(SECONDS * 2):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=60) as answer:
                return json.loads(answer.read() or b"{}")
        except OSError as e:
            last = e
            time.sleep(0.5)
    return {"error": str(last)}


def test_jupyter(tap, s):
    """A notebook offline, and the server, which a browser of this machine reaches at the pack's port."""
    hosts = ["pypi.org", "files.pythonhosted.org"]
    lost = unreachable(hosts)
    if lost:
        tap.skip("jupyter", f"third-party cases not present: {lost}")
        return
    work = s.project("jupyter", {"notebook.py": NOTEBOOK})
    r = s.run(work, "python3 -m venv .venv && .venv/bin/pip install -q jupyter-server==2.21.1 ipykernel==7.4.0 nbclient nbformat", "--with", "pip,jupyter",
              *private_hosts(hosts))
    if not tap.ok(r.returncode == 0, "jupyter: is installed", r.stdout, r.stderr):
        return
    r = s.run(work, ".venv/bin/python notebook.py", "--profile", "offline", "--with", "pip,jupyter")
    tap.ok("tests passed" in r.stdout, "jupyter: a notebook is executed, offline", r.stdout, r.stderr)
    words = [s.corral, "run", "--timeout", f"{SECONDS}s", "--with", "jupyter", "--", ".venv/bin/jupyter", "server", "--allow-root", "--no-browser",
             "--port", "8888", "--ServerApp.token=word"]
    with subprocess.Popen(words, cwd=work, env=s.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        version = fetch("http://127.0.0.1:8888/api?token=word")
        kernel = fetch("http://127.0.0.1:8888/api/kernels?token=word", b"{}")
        p.terminate()
    tap.ok("version" in version and kernel.get("name") == "python3", "jupyter: the server is reached from outside, and starts a kernel", version, kernel)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    corral = os.path.abspath(options.corral)
    if subprocess.run([corral, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="corral-p.") as folder:
        folder = os.path.realpath(folder)
        s = Scene(corral, folder, *tools(folder))
        os.mkdir(s.home)
        with open(os.path.join(s.home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = User Of Test\n\temail = user@example.org\n")
        for number, row in enumerate(ROWS):
            if options.only not in row.name:
                continue
            lost = unreachable(row.hosts) if shutil.which(row.program, path=s.path) else row.program
            lost = lost or is_old(row, s.path)
            if lost:
                tap.skip(row.name, f"third-party cases not present: {lost}")
            else:
                test(tap, s, number, row)
                if row.pack in ("npm", "pip", "cargo", "go", None) and not row.served:
                    test_init(tap, s, number, row)
        if options.only in "uv tool install":
            test_tool(tap, s)
        if options.slow and options.only in "jupyter":
            test_jupyter(tap, s)
        # Go's cache may have folders that cannot be written.
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
