#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs with the real tools: a project's tests, and then again without a network.

    packs.py --corral PROGRAM [--only WORD]     prints TAP

The first run downloads from the public registry, what is pinned by digests or lock files. Then what the tool
made in the project is removed, and the same is done in the profile offline: all of it must come from the cache
that is kept. Another project finds none of it. C needs no pack.
"""

import argparse
import collections
import ipaddress
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile

from acceptance_tap import Tap

SECONDS = 240

UV = {"x86_64": "e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984",
      "aarch64": "5337c30bb893b4f9ce0ceb921ba2da0d13f649da644f40ad3bef84083bef0203"}
SIX = ("six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 "
       "--hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81\n")

# hosts: those of the pack that the test uses; files: of the project; first, again: what is run, the second time offline.
Row = collections.namedtuple("Row", "name pack program hosts files first again alone", defaults=("",))

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


def tools(folder):
    """Folders of PATH, and what has to be read for them: toolchains that are not the system's."""
    path, read = [], []
    for words in (["rustc", "--print", "sysroot"], ["go", "env", "GOROOT"]):
        if shutil.which(words[0]):
            root = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
            if root and root != "/usr":
                path.append(root + "/bin")
                read.append(root)
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

    def run(self, work, command, *options):
        env = {key: os.environ[key] for key in ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "ASAN_OPTIONS") if key in os.environ}
        env.update(HOME=self.home, PATH=self.path, LANG="C.UTF-8", TERM="xterm")
        words = [self.corral, "run", "--timeout", f"{SECONDS}s", *self.read, *options, "--", "sh", "-c", command]
        return subprocess.run(words, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)


def test(tap, s, number, row):
    work = s.project(f"p{number}", row.files)
    pack = ["--with", row.pack] if row.pack else []
    r = s.run(work, row.first, *pack, *private_hosts(row.hosts))
    if not tap.ok(r.returncode == 0 and "tests passed" in r.stdout, f"{row.name}: {row.first}", r.stdout, r.stderr):
        return
    r = s.run(work, row.again, "--profile", "offline", *pack)
    tap.ok(r.returncode == 0 and "tests passed" in r.stdout, f"{row.name}: again, offline: {row.again}", r.stdout, r.stderr)
    if row.alone:
        other = s.project(f"q{number}", row.files)
        for name in ("package-lock.json",):
            if os.path.exists(os.path.join(work, name)):
                shutil.copy(os.path.join(work, name), other)
        r = s.run(other, row.alone, "--profile", "offline", *pack)
        tap.ok(r.returncode != 0, f"{row.name}: another project finds none of it", r.stdout, r.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--only", default="")
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
            if lost:
                tap.skip(row.name, f"third-party cases not present: {lost}")
            else:
                test(tap, s, number, row)
        # Go's cache may have folders that cannot be written.
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
