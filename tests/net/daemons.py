# SPDX-License-Identifier: Apache-2.0
"""The servers that others wrote: nginx, sshd, PostgreSQL, Redis, gRPC, and git behind two of them.

They run in the internet's namespace, as an ordinary user, with all their files in the world's run/.
What clients need of them (the authority, a key, the host's key) is in pub/.
"""

import glob
import os
import shutil
import signal
import socket
import subprocess
import time

from world import ATTACKER, DATABASE, ECHO, GIT, PATH, WEB, WEB6

SECONDS = 60  # until a server answers; they take less than two

NGINX = """\
daemon off;
master_process off;
pid {run}/nginx.pid;
error_log {run}/nginx.log warn;
events {{ worker_connections 4096; }}
http {{
	access_log {run}/access.log;
	client_body_temp_path {run}/body;
	proxy_temp_path {run}/proxy;
	fastcgi_temp_path {run}/fastcgi;
	uwsgi_temp_path {run}/uwsgi;
	scgi_temp_path {run}/scgi;
	ssl_certificate {pub}/server.pem;
	ssl_certificate_key {run}/server.key;
	default_type text/plain;
	large_client_header_buffers 16 64k;
	server {{
		{listen}
		server_name web.example.com;
		location / {{ return 200 "web $server_protocol $http_host\\n"; }}
		location /big {{ root {run}/files; }}
	}}
	server {{
		{listen}
		server_name other.example.com;
		location / {{ return 200 "other $server_protocol $http_host\\n"; }}
	}}
	server {{
		listen {git}:443 ssl;
		server_name git.example.com;
		root {run}/git;
	}}
}}
"""
SSHD = """\
ListenAddress {git}:22
HostKey {run}/host-key
AuthorizedKeysFile {run}/authorized
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
NAMES = ("web", "other", "v4", "v6", "git", "db", "echo", "alias", "chain", "ttl0", "many", "evil",
         "listed", "xn--bcher-kva")


class Daemons:
    def __init__(self, world):
        self.world = world
        self.processes = []
        self.environment = {"PATH": PATH, "HOME": world.path("home"), "LANG": "C.UTF-8"}

    # -- running things --

    def words(self, *words):
        return [*self.world.server.prefix(), *map(str, words)]

    def do(self, *words, **popen):
        subprocess.run(self.words(*words), check=True, env=self.environment,
                       cwd=self.world.path("run"), stdout=subprocess.DEVNULL, **popen)

    def start(self, *words):
        with open(self.world.path(f"run/{os.path.basename(words[0])}.out"), "w",
                  encoding="utf-8") as log, self.world.internet.inside():
            process = subprocess.Popen(
                self.words("setpriv", "--pdeathsig", "KILL", "--", *words), env=self.environment,
                cwd=self.world.path("run"), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append((process, words[0], log.name))

    def await_all(self, places):
        end = time.monotonic() + SECONDS
        for place in places:
            while not answers(place):
                self.complain(time.monotonic() > end)
                time.sleep(0.02)

    def complain(self, late):
        for process, name, log in self.processes:
            if process.poll() is not None or late:
                with open(log, encoding="utf-8") as file:
                    raise RuntimeError(f"{name} does not answer: {file.read()[-2000:]}")

    def end(self):
        for process, name, _ in self.processes:  # PostgreSQL waits for clients unless told not to
            process.send_signal(signal.SIGINT if name.endswith("postgres") else signal.SIGTERM)
        for process, _, _ in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # -- each of them --

    def certificates(self):
        run, pub = self.world.path("run"), self.world.path("pub")
        names = ",".join([*(f"DNS:{n}.example.com" for n in NAMES), "DNS:*.wild.example.com",
                          "DNS:*.many.wild.example.com", "DNS:evil.example.net", "DNS:example.com",
                          *(f"IP:{a}" for a in (WEB, WEB6, GIT, ECHO, ATTACKER))])
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        quiet = {"stderr": subprocess.DEVNULL}
        self.do("openssl", "req", "-x509", *key, "-subj", "/CN=Test Authority",
                "-keyout", f"{run}/ca.key", "-out", f"{run}/ca.pem",
                "-addext", "keyUsage=keyCertSign", **quiet)
        self.do("openssl", "req", "-x509", *key, "-subj", "/CN=web.example.com", "-keyout",
                f"{run}/server.key", "-out", f"{run}/server.pem", "-CA", f"{run}/ca.pem", "-CAkey",
                f"{run}/ca.key", "-addext", f"subjectAltName={names}",
                "-addext", "basicConstraints=critical,CA:FALSE", **quiet)
        for name in ("ca.pem", "server.pem"):
            shutil.copy(f"{run}/{name}", f"{pub}/{name}")

    def nginx(self):
        os.makedirs(self.world.path("run/files/big"))
        with open(self.world.path("run/files/big/8M"), "wb") as file:
            file.write(bytes(range(256)) * (8 << 12))
        listen = " ".join(f"listen {place}; " for place in (
            f"{WEB}:80", f"[{WEB6}]:80", f"{WEB}:8080", f"{WEB}:443 ssl http2",
            f"[{WEB6}]:443 ssl http2", f"{WEB}:8443 ssl http2",
            f"{WEB}:8082 proxy_protocol"))
        text = NGINX.format(run=self.world.path("run"), pub=self.world.path("pub"), listen=listen,
                            git=GIT)
        self.start("nginx", "-c", self.world.write("run/nginx.conf", text))
        return [(WEB, 80), (WEB, 443), (WEB, 8443), (WEB6, 443), (GIT, 443)]

    def git(self):
        script = """git init -q -b main work && cd work && echo content >file && git add file &&
git -c user.name=a -c user.email=a@example.org commit -q -m first && mkdir -p ../git &&
git clone -q --bare . ../git/repo.git && git -C ../git/repo.git update-server-info"""
        self.do("sh", "-c", script)

    def sshd(self):
        run, pub = self.world.path("run"), self.world.path("pub")
        for name in ("host-key", "key"):
            self.do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{run}/{name}")
        shutil.copy(f"{run}/key.pub", f"{run}/authorized")
        shutil.copy(f"{run}/key", f"{pub}/key")
        os.chmod(f"{pub}/key", 0o644)  # each user copies it: ssh wants it to be its own
        with open(f"{run}/host-key.pub", encoding="ascii") as file:
            key = " ".join(file.read().split()[:2])
        self.world.write("pub/known", f"git.example.com,{GIT} {key}\n")
        config = self.world.write("run/sshd.conf", SSHD.format(run=run, git=GIT))
        self.start(shutil.which("sshd", path=PATH), "-D", "-e", "-f", config)
        return [(GIT, 22)]

    def postgres(self):
        folder = max(glob.glob("/usr/lib/postgresql/*/bin") or ["/usr/bin"])
        data = self.world.path("run/pg")
        self.do(f"{folder}/initdb", "-D", data, "-U", "agent", "-A", "trust", "--no-sync",
                "--no-instructions", "--locale=C", "-E", "UTF8")
        with open(f"{data}/pg_hba.conf", "a", encoding="ascii") as file:
            file.write("host all all 0.0.0.0/0 trust\n")
        options = {"listen_addresses": DATABASE, "unix_socket_directories": "", "fsync": "off",
                   "shared_buffers": "1MB", "max_connections": "20",
                   "dynamic_shared_memory_type": "mmap"}
        self.start(f"{folder}/postgres", "-D", data,
                   *(f"--{name}={value}" for name, value in options.items()))
        return [(DATABASE, 5432)]

    def redis(self):
        self.start("redis-server", "--bind", DATABASE, "--port", "6379", "--save", "",
                   "--protected-mode", "no", "--dir", self.world.path("run"))
        return [(DATABASE, 6379)]

    def rpc(self):
        self.start("/usr/bin/python3", self.world.path("pub/rpc.py"), "serve", f"{ECHO}:50051")
        return [(ECHO, 50051)]

    def start_all(self, databases):
        self.certificates()
        self.git()
        makers = [*([self.postgres, self.redis] if databases else []), self.nginx, self.sshd, self.rpc]
        places = [place for make in makers for place in make()]
        self.await_all(places)


def answers(place):
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    with socket.socket(family) as sock:
        sock.settimeout(1)
        return sock.connect_ex(place) == 0
