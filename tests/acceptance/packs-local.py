#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs whose other side is a server of GitHub's, or Docker's daemon, with the real clients.

    packs-local.py --corral PROGRAM     prints TAP

In a mount and network namespace of the test's own, a server of the test plays both: by TLS and the names of GitHub, and at
/run/docker.sock. git clones and curl asks the API with the pack github, the client of Docker talks to the daemon with the
pack docker; neither reaches anything of it without its pack. gh asks the API, too, where it is installed.
"""

import argparse
import http.server
import json
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading

from acceptance_tap import Tap

SECONDS = 60
NAMES = ["github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "gist.github.com"]
INSIDE = "CORRAL_PACKS_INSIDE"


def enter():
    """This program again, in namespaces. False: the kernel has none for us."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *user, "--net", "--mount", "--propagation", "private", "--"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        return False
    os.environ[INSIDE] = "1"
    return os.execvp(words[0], [*words, sys.executable, *sys.argv])


class GitHub(http.server.BaseHTTPRequestHandler):
    """Files of a repository, as any web server has them, and one address of the API."""

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def answer(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):  # pylint: disable=invalid-name
        host, path = self.headers["Host"], self.path.split("?")[0]
        if host == "api.github.com" and path == "/user":
            self.answer(200, json.dumps({"login": "user", "by": self.headers.get("Authorization", "")}).encode())
            return
        file = os.path.join(self.server.folder, path.strip("/"))
        if host == "github.com" and os.path.isfile(file):
            with open(file, "rb") as data:
                self.answer(200, data.read())
        else:
            self.answer(404, b"")


class Docker(http.server.BaseHTTPRequestHandler):
    """The little that `docker version` asks for."""

    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def do_GET(self):  # pylint: disable=invalid-name
        data = b"OK" if self.path.endswith("_ping") else json.dumps(
            {"Version": "daemon-of-the-test", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Os": "linux", "Arch": "amd64"}).encode()
        self.send_response(200)
        self.send_header("Api-Version", "1.41")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_HEAD = do_GET


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class Scene:
    def __init__(self, corral, folder):
        self.corral, self.folder = corral, folder
        self.home, self.work = os.path.join(folder, "home"), os.path.join(folder, "work")
        self.certificate = os.path.join(self.work, "ca.pem")
        for path in (self.home, self.work):
            os.mkdir(path)
        with open(os.path.join(self.home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = User Of Test\n\temail = user@example.org\n")
        self.env = {"HOME": self.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "GH_TOKEN": "token-of-the-test",
                    "OTHER_TOKEN": "not for it", "GIT_SSL_CAINFO": self.certificate}
        if "ASAN_OPTIONS" in os.environ:
            self.env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"

    def call(self, *words, **more):
        return subprocess.run(words, cwd=more.get("cwd", self.work), env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=SECONDS, check=more.get("check", False))

    def run(self, command, *options):
        # A server at the loopback plays the names, which the user would have to say, too.
        return self.call(self.corral, "run", "--net", "127.0.0.1:443", "--env", "GIT_SSL_CAINFO", *options, "--", "sh", "-c", command)

    def begin(self):
        """The network, the names, a certificate and a repository."""
        self.call("ip", "link", "set", "lo", "up", check=True)
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost " + " ".join(NAMES) + "\n")
        self.call("mount", "--bind", hosts, "/etc/hosts", check=True)
        self.call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run", check=True)
        self.call("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test",
                  "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in NAMES), "-keyout", os.path.join(self.folder, "key"),
                  "-out", self.certificate, check=True)
        source, bare = os.path.join(self.folder, "source"), os.path.join(self.folder, "web/owner/project.git")
        os.mkdir(source)
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "of the server"]):
            self.call("git", *words, cwd=source, check=True)
        self.call("git", "clone", "-q", "--bare", source, bare, check=True)
        self.call("git", "update-server-info", cwd=bare, check=True)

    def serve(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), GitHub)
        server.folder = os.path.join(self.folder, "web")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, os.path.join(self.folder, "key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        docker = UnixServer("/run/docker.sock", Docker)
        for one in (server, docker):
            threading.Thread(target=one.serve_forever, daemon=True).start()


def github(tap, s):
    r = s.run("git clone -q https://github.com/owner/project.git p && git -C p log --format=%s", "--with", "github")
    tap.ok(r.returncode == 0 and r.stdout == "of the server\n", "github: git clones", r.stdout, r.stderr)
    r = s.run("curl -sS --cacert ca.pem -H \"Authorization: Bearer $GH_TOKEN\" https://api.github.com/user; echo; echo $OTHER_TOKEN.", "--with", "github")
    tap.ok("Bearer token-of-the-test" in r.stdout and r.stdout.endswith("\n.\n"), "github: the API is asked with the user's token, and no other variable",
           r.stdout, r.stderr)
    if shutil.which("gh", path=s.env["PATH"]):
        r = s.run("SSL_CERT_FILE=$PWD/ca.pem gh api user", "--with", "github")
        tap.ok(r.returncode == 0 and "token token-of-the-test" in r.stdout, "github: gh asks the API", r.stdout, r.stderr)
    r = s.run("echo kept >$GH_CONFIG_DIR/hosts.yml", "--with", "github")
    r = s.run("cat $GH_CONFIG_DIR/hosts.yml; ls -A ~/.config", "--with", "github")
    tap.ok(r.stdout.startswith("kept\n") and not os.path.exists(os.path.join(s.home, ".config/gh")), "github: settings of gh are the project's own",
           r.stdout, r.stderr)
    r = s.run("curl -sS --cacert ca.pem https://gist.github.com/", "--with", "github")
    tap.ok(r.returncode != 0 and "gist.github.com" in r.stderr, "github: no other host of it is reached", r.stdout, r.stderr)
    r = s.run("git clone -q https://github.com/owner/project.git q; echo ${GH_TOKEN:-none}")
    tap.ok(r.stdout == "none\n" and not os.path.exists(os.path.join(s.work, "q")), "github: without the pack there is neither host nor token",
           r.stdout, r.stderr)


def docker(tap, s):
    client = "docker version --format '{{.Server.Version}}'" if shutil.which("docker", path=s.env["PATH"]) else \
        "curl -sS --unix-socket /run/docker.sock http://docker/version"
    r = s.run(client, "--with", "docker")
    tap.ok(r.returncode == 0 and "daemon-of-the-test" in r.stdout, f"docker: {client.split()[0]} talks to the daemon", r.stdout, r.stderr)
    tap.ok("control over this machine" in r.stderr, "docker: what that means is said", r.stderr)
    r = s.run("curl -sS --unix-socket /run/docker.sock http://docker/version", "--explain")
    tap.ok("daemon-of-the-test" not in r.stdout, "docker: without the pack nothing does", r.stdout, r.stderr)
    offered = [line for line in r.stderr.splitlines() if "--net unix:/run/docker.sock" in line]
    tap.ok(len(offered) == 1 and "containers with any folder of the machine" in offered[0], "docker: the socket is offered with what it can do", r.stderr)
    with open(os.path.join(s.work, "other.py"), "w", encoding="utf-8") as file:
        file.write("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/run/other.sock')\n")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("/run/other.sock")
        other.listen()
        r = s.run("python3 other.py", "--with", "docker")
    tap.ok(r.returncode != 0, "docker: no other socket of the folder is reached", r.stdout, r.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    options = parser.parse_args()
    corral = os.path.abspath(options.corral)
    if subprocess.run([corral, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    missing = [name for name in ("curl", "git", "ip", "openssl", "unshare") if not shutil.which(name)]
    if missing:
        print(f"1..0 # SKIP not installed: {' '.join(missing)}; see tools/setup acceptance")
        return 0
    if INSIDE not in os.environ and not enter():
        print("1..0 # SKIP kernel: no namespaces for us")
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="corral-p.") as folder:
        s = Scene(corral, os.path.realpath(folder))
        s.begin()
        s.serve()
        github(tap, s)
        docker(tap, s)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
