# SPDX-License-Identifier: Apache-2.0
"""What the commands of a seed find: a home, a working folder with the seed's files, the built programs in PATH, a server
on $PORT, and what the seed needs beside that (a daemon, a notification service)."""

import contextlib
import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tests", "broker")]
# The name in PATH, and the variable that says where it was built.
PROGRAMS = {"corral": "CORRAL", "corrald": "CORRALD", "seed-host": "SEED_HOST", "skill-host": "SKILL_HOST", "tools": "TOOLS"}
PATIENCE = 120
# Words that commands use, printed at the top of docs/seeds.md.
WORDS = {
    "api": 'api() { m=$1 p=$2; shift 2; curl -s -X "$m" --unix-socket "$XDG_RUNTIME_DIR/corral/api.sock" -H "Authorization: Bearer $TOKEN" '
           '-H "Content-Type: application/json" "$@" "http://localhost$p"; }',
    "path": """path() { printf '{"path": "%s"%s}' "$1" "${2+, \\"content\\": \\"$2\\"}"; }""",
    "program": """program() { printf '{"cmd": "%s", "args": ["%s"], "cwd": "%s/projects"}' "$1" "$2" "$HOME"; }""",
    "invoke": 'invoke() { api POST "/api/invoke/$1" -d "$2"; }',
}


class Server(http.server.BaseHTTPRequestHandler):
    """Answers every request with the method, the path and the body; as JSON where the path asks for that."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        text = f"{self.command} {self.path} {self.headers.get('Authorization') or ''}{body}\n".encode()
        if self.path.endswith(".json"):
            text = b'{"got": "%s"}\n' % self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

    def log_message(self, *_):
        pass


class Scene:
    def __init__(self, seed):
        self.place = os.path.realpath(tempfile.mkdtemp(prefix="seed-"))
        self.home = self.place + "/home"
        self.work = self.home + "/work"
        self.stack = contextlib.ExitStack()
        self.done = {}
        self.values = {"@HOME@": self.home, "@SOURCE@": ROOT}
        for folder in (self.work, self.place + "/bin", self.home + "/.ssh"):
            os.makedirs(folder)
        os.mkdir(self.place + "/run", 0o700)
        with open(self.home + "/.ssh/id_rsa", "w") as f:
            f.write("a private key\n")
        for name, variable in PROGRAMS.items():
            if os.environ.get(variable):
                os.symlink(os.path.abspath(os.environ[variable]), f"{self.place}/bin/{name}")
        self.env = {name: value for name, value in os.environ.items() if name.startswith(("CORRAL", "ASAN_", "UBSAN_", "LSAN_", "LD_LIBRARY_PATH"))}
        self.env.update({"PATH": self.place + "/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, "LANG": "C.UTF-8", "USER": "user",
                         "XDG_RUNTIME_DIR": self.place + "/run", "SOURCE": ROOT, "TEMP_NAME": os.path.basename(self.place) + ".file", "SECRET_OF_HOST": "not-for-agents", "TERM": "dumb",
                         "CORRAL_PROGRAM": os.path.abspath(os.environ["CORRAL"])})
        try:
            self.prepare(seed)
        except BaseException:
            self.end()
            raise

    def prepare(self, seed):
        self.server()
        for need in seed.needs:
            getattr(self, need)()
        for path, text in seed.files.items():
            self.write(path, text)
        for command in seed.setup:
            status, output = self.run(command)
            assert status == 0, (command, status, output)

    def server(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.stack.callback(server.shutdown)
        self.env["PORT"] = self.values["@PORT@"] = str(server.server_port)

    def daemon(self):
        """A daemon in these folders; $TOKEN is its token."""
        import daemon_tap

        d = daemon_tap.Daemon()
        shutil.rmtree(d.place)
        d.place, d.runtime, d.folder, d.log = self.home, self.place + "/run", self.place + "/run/corral", self.place + "/corrald.log"
        d.env = {**self.env, **{name: os.environ[name] for name in ("CORRALD_HTTP", "CORRALD_ENCLAVE") if name in os.environ}}
        self.stack.callback(d.stop)
        d.start("--port", "0")
        self.env.update({"TOKEN": d.token, "DAEMON_PORT": str(d.port), "DAEMON_PID": str(d.process.pid), "DAEMON_LOG": d.log})

    def bus(self):
        """A bus with a notification service; what it shows is in $SHOWN."""
        import bus

        self.env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={self.place}/bus"
        self.env["CORRAL_BACKENDS"] = os.path.abspath(os.environ["BACKENDS"])
        bus.Bus(self.place + "/bus")

    def smtp(self):
        """A server that accepts every mail, on @SMTP@."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.stack.callback(listener.close)
        self.values["@SMTP@"] = str(listener.getsockname()[1])
        threading.Thread(target=self.receive, args=(listener,), daemon=True).start()

    @staticmethod
    def receive(listener):
        with contextlib.suppress(OSError):  # it was closed
            while True:
                connection = listener.accept()[0]
                with connection, connection.makefile("rwb", buffering=0) as stream:
                    stream.write(b"220 here\r\n")
                    in_data = False
                    for line in stream:
                        word = line[:4].upper()
                        if in_data and line != b".\r\n":
                            continue
                        answer = b"354 go\r\n" if word == b"DATA" else b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n"
                        in_data = word == b"DATA"
                        stream.write(answer)

    def write(self, path, text):
        path = os.path.join(self.work, path.replace("~", self.home))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            for name, value in self.values.items():
                text = text.replace(name, value)
            f.write(text)
        if text.startswith("#!"):
            os.chmod(path, 0o755)

    def run(self, command):
        """(status, output) of this command; the same command runs once."""
        if command not in self.done:
            words = "\n".join(WORDS.values())
            begin = time.monotonic()
            done = subprocess.run(["sh", "-c", words + "\n" + command], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
            if os.environ.get("SEEDS_TIMES"):
                print(f"# {time.monotonic() - begin:.2f} s: {command[:100]}")
            self.done[command] = done.returncode, done.stdout.decode("utf-8", "replace")
        return self.done[command]

    def end(self):
        self.stack.close()
        subprocess.run(["chmod", "-R", "u+rwX", self.place], check=False)
        shutil.rmtree(self.place, ignore_errors=True)
