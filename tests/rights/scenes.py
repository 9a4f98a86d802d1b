#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts each of Corral's processes for test-rights.py, scene by scene: prints `scene NAME PID`, with the process that the
others are below, and ends the scene when it reads a line. Runs as the user whose processes are looked at."""

import contextlib
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("e2e", "broker")]

CORRAL = os.path.abspath(os.environ["CORRAL"])
scratch = tempfile.mkdtemp(prefix="cr-")
home = os.path.join(scratch, "home")
os.makedirs(home)
environment = {**{name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")},
               "HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_STATE_HOME": home + "/.state",
               "XDG_CACHE_HOME": home + "/.cache", "XDG_RUNTIME_DIR": scratch + "/runtime",
               "CORRAL_BACKENDS": os.environ.get("BACKENDS", "/nonexistent"),
               "DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/bus"}
os.makedirs(environment["XDG_RUNTIME_DIR"], 0o700)


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def show(name, pid):
    print(f"scene {name} {pid}", flush=True)
    sys.stdin.readline()


def configure(**sections):
    write(home + "/.config/corral/services.yaml", json.dumps(sections))


@contextlib.contextmanager
def run(script, *options, env=None, stderr=None, **permissions):
    """A sandbox whose command has done this, and waits."""
    policy = write(scratch + "/policy.yaml", json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"], **permissions}))
    process = subprocess.Popen([CORRAL, "run", "--policy", policy, *options, "--", "sh", "-c", script + "\necho up; read -r _"], cwd=home,
                               env={**environment, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                               text=True)
    said = [process.stdout.readline()]
    while said[-1] not in ("up\n", ""):
        said.append(process.stdout.readline())
    assert said[-1], said
    yield process
    process.stdin.close()
    process.stdout.read()
    process.wait()


def call(*words):
    return "sandbox-call " + " ".join(f"'{word}'" for word in words) + " --json || exit 9"


def scene_run():
    with run(":", "--net", "127.0.0.1:9") as process:
        show("run", process.pid)


def scene_sockets():
    """The relay of a policy that grants a Unix socket of the host."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(scratch + "/granted.sock")
        server.listen()
        # Not the words of another scene: the next run of a command that failed is watched.
        with run(": sockets", "--net", f"unix:{scratch}/granted.sock") as process:
            show("sockets", process.pid)


def scene_names():
    """A command without a network has asked for a name."""
    with run("! getent hosts name.example >/dev/null", stderr=subprocess.DEVNULL) as process:
        show("names", process.pid)


def scene_explain():
    # What is tried within its command is explained.
    with run(":", "--explain", stderr=subprocess.DEVNULL) as process:
        show("explain", process.pid)


def scene_mcp():
    """A server behind its filter."""
    policy = write(scratch + "/mcp.yaml", json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"]}))
    process = subprocess.Popen([CORRAL, "mcp", "wrap", "--policy", policy, "--", "sh", "-c", "echo '{}'; read -r _"], cwd=home, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "{}\n"
    show("mcp", process.pid)
    process.communicate("")


def scene_mcp_remote():
    """The bridge to a server over HTTP, in its sandbox."""
    process = subprocess.Popen([CORRAL, "mcp", "remote", "http://127.0.0.1:9/mcp"], cwd=home, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdin.write("{\n")
    process.stdin.flush()
    assert "-32700" in process.stdout.readline()
    show("mcp-remote", process.pid)
    process.communicate("")


def scene_tier3():
    for name in ("agent", "tmp"):
        os.mkdir(os.path.join(scratch, name))
    process = subprocess.Popen([CORRAL, "run", "--mode", "sandbox", "--data-dir", scratch + "/agent", "--tier", "3", "--", "sh", "-c", "echo up; read -r _"], cwd=home,
                               env={**environment, "TMPDIR": scratch + "/tmp"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "up\n"
    show("writes", process.pid)
    process.communicate("")


def scene_notifications():
    import bus
    notifications = bus.Bus(scratch + "/bus")
    with run(call("notifications.send", "title=x"), services={"notifications": {"access": "send"}}) as process:
        show("notifications", process.pid)
    notifications.close()


def scene_clipboard():
    xclip = write(scratch + "/programs/xclip", "#!/bin/sh\ncat >/dev/null\n", 0o755)
    configure(clipboard={"program": "xclip", "programs": os.path.dirname(xclip)})
    with run(call("clipboard.write", "text=x"), env={"DISPLAY": ":77"}, services={"clipboard": {"access": "write"}}) as process:
        show("clipboard", process.pid)


def scene_open():
    configure(browser={"open_with": write(scratch + "/programs/browse", "#!/bin/sh\n", 0o755)})
    with run(call("browser.open", "url=https://example.com/"), services={"browser": {"access": "open", "domains": ["example.com"]}}) as process:
        show("open", process.pid)


def scene_reminders():
    os.makedirs(scratch + "/lists/home")
    configure(reminders={"folder": scratch + "/lists"})
    with run(call("reminders.list"), services={"reminders": {"access": "read"}}) as process:
        show("reminders", process.pid)


def scene_mail():
    """The server refuses to talk; what matters is there by then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        configure(email={"server": "127.0.0.1", "port": server.getsockname()[1], "tls": "plain", "from": "agent@example.com"})
        with run("sandbox-call email.send 'to:=[\"a@example.com\"]' subject=s body=b --json >/dev/null 2>&1",
                 services={"email": {"access": "send", "recipients": ["*@example.com"]}}) as process:
            show("mail", process.pid)


def scene_fetch():
    """One that waits for its server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://localhost:{server.getsockname()[1]}"
        with run(f"sandbox-call http_request url={url}/ >/dev/null 2>&1 &", "--broker", "--net", url[len("http://"):]) as process:
            connection = server.accept()[0]
            show("fetch", process.pid)
            connection.close()


def scene_host():
    """A program with the library's sandbox, and a broker."""
    policy = write(scratch + "/host.yaml", json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"]}))
    process = subprocess.Popen([os.environ["QUESTION_HOST"], policy, home, "broker", "1000", "sh", "-c", "echo up; read -r _"], cwd=home,
                               env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("host", process.pid)
    process.communicate("on\n")


def scene_daemon():
    import daemon_tap
    daemon = daemon_tap.Daemon()
    daemon.env["CORRAL_WARDEN"] = os.environ["CORRAL_WARDEN"]
    try:
        daemon.start()
        folder = daemon.place + "/granted"
        os.mkdir(folder)
        os.mkfifo(folder + "/up")
        policy = {"fs": {"read": [folder + "/{,**}"], "write": [folder + "/{,**}"]}, "exec": ["sh"]}
        status, _, body = daemon.get("/api/invoke/set_policy", method="POST", body={"policy": json.dumps(policy)})
        assert status == 200, body
        waiting = threading.Thread(target=daemon.get, args=("/api/invoke/shell_exec",), daemon=True, kwargs={
            "method": "POST", "body": {"cmd": "sh", "args": ["-c", f"echo up >{folder}/up; read -r _ <{folder}/up"]}})
        waiting.start()
        with open(folder + "/up", encoding="utf-8") as file:
            assert file.readline() == "up\n"
        show("daemon", daemon.process.pid)
        with open(folder + "/up", "w", encoding="utf-8") as file:
            file.write("on\n")
        waiting.join()
    finally:
        daemon.end()


WAITING = """(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 8) "\\40\\00\\00\\00\\03\\00\\00\\00")
  (data (i32.const 64) "up\\0a")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 32)))
    (drop (call $read (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 32)))))
"""


def scene_wasm():
    skill = scratch + "/skill"
    write(skill + "/SKILL.md", "---\nname: skill\ndescription: a test\n---\n# Test\n")
    write(skill + "/manifest.yaml", 'name: skill\nversion: "0.1.0"\nwasm: {file: skill.wasm}\n')
    subprocess.run(["wat2wasm", write(scratch + "/skill.wat", WAITING), "-o", skill + "/skill.wasm"], check=True)
    process = subprocess.Popen([CORRAL, "run", "--yes", "--skill", skill], cwd=home, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("wasm", process.pid)
    process.communicate("on\n")


def held(name, command):
    """A program that waits, without a word, once it is confined."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
    show(name, process.pid)
    process.kill()
    process.communicate()


def scene_compile():
    held("compile", [os.environ["CORRAL_WASM"], "compile"])


def scene_inspector():
    held("inspector", [os.environ["HOLD_INSPECTOR"], scratch])


def scene_vault():
    process = subprocess.Popen([os.environ["VAULT_CLIENT"], "hold"], cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    show("vault", process.pid)
    process.communicate("")


made = []  # the vault


@contextlib.contextmanager
def unlocked():
    """A vault; yields what runs `corral vault`."""
    def vault(*words, value=""):
        subprocess.run([CORRAL, "vault", *words], input=value, cwd=home, env=environment, check=True, text=True, stderr=subprocess.DEVNULL)

    passphrase = write(home + "/passphrase", "correct horse battery\n")
    if not made:
        vault("init", "--passphrase-file", passphrase)
        made.append(passphrase)
    vault("unlock", "--passphrase-file", passphrase)
    try:
        yield vault
    finally:
        vault("lock")


def scene_secret():
    """The relay, the injector, the vault and who started the two."""
    with unlocked() as vault:
        vault("set", "TOKEN", value="ghp_0123456789abcdefghijklmnopqrstuvwxyz")
        vault("grant", "TOKEN", "api.example.com:443")
        # Not the words of another scene: the next run of a command that failed is watched.
        with run("true", "--secret", "TOKEN") as process:
            show("secret", process.pid)


def scene_database():
    """The same for the password of a database."""
    with unlocked() as vault:
        vault("set", "DB_PASSWORD", value="a-password-of-a-database")
        vault("grant", "DB_PASSWORD", "db.example.com:5432", "--in", "postgresql")
        with run(": database", "--secret", "DB_PASSWORD") as process:
            show("database", process.pid)


def asked(name, source):
    """`corral vault rotate`, which waits for what a program prints."""
    with unlocked() as vault:
        vault("set", "ASKED-" + name.upper(), "--from", source)
        process = subprocess.Popen([CORRAL, "vault", "rotate", "ASKED-" + name.upper()], cwd=home, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        show(name, process.pid)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
            children = [int(word) for word in file.read().split()]
        process.kill()
        process.wait()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def scene_source():
    asked("source", "cmd:/usr/bin/sleep 50")


def scene_secret_service():
    """It has a bus, on which no service answers."""
    import bus

    class Quiet(bus.Bus):
        def answer(self, serial, member, destination, arguments):
            return super().answer(serial, member, destination, arguments) if member == "Hello" else b""

    quiet = Quiet(scratch + "/bus")
    asked("secret-service", "secret-service:service=x")
    quiet.close()


def scene_ssh():
    """The filter before the user's ssh agent, of which a socket is enough here; and a relay that connects to it."""
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(scratch + "/agent.sock")
        agent.listen()
        with run("echo signs", "--ssh-sign", "git", env={"SSH_AUTH_SOCK": scratch + "/agent.sock"}) as process:
            show("ssh", process.pid)


class Authority(http.server.BaseHTTPRequestHandler):
    """A server of tools that wants a login, and says that it is its own authority."""

    def do_GET(self):
        origin = f"http://127.0.0.1:{self.server.server_port}"
        known = {"/.well-known/oauth-protected-resource/mcp": {"resource": origin + "/mcp", "authorization_servers": [origin]},
                 "/.well-known/oauth-authorization-server": {
                     "issuer": origin, "authorization_endpoint": origin + "/authorize", "token_endpoint": origin + "/token",
                     "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}}
        answer = json.dumps(known.get(self.path, {})).encode()
        self.send_response(200 if self.path in known else 401)
        self.send_header("WWW-Authenticate", f'Bearer resource_metadata="{origin}/.well-known/oauth-protected-resource/mcp"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *_):
        pass


def scene_link():
    """`corral link auth`, which waits for its browser."""
    with unlocked(), http.server.ThreadingHTTPServer(("127.0.0.1", 0), Authority) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        process = subprocess.Popen([CORRAL, "link", "auth", "--no-browser", "--client-id", "me", "tools", f"http://127.0.0.1:{server.server_port}/mcp"],
                                   cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = [process.stderr.readline()]
        while said[-1] and "/authorize?" not in said[-1]:
            said.append(process.stderr.readline())
        assert said[-1], said
        show("link", process.pid)
        process.terminate()
        process.communicate()
        server.shutdown()


SCENES = {"run": scene_run, "link": scene_link, "sockets": scene_sockets, "names": scene_names, "explain": scene_explain, "writes": scene_tier3, "notifications": scene_notifications,
          "clipboard": scene_clipboard, "open": scene_open, "reminders": scene_reminders, "mail": scene_mail, "fetch": scene_fetch, "host": scene_host,
          "daemon": scene_daemon, "mcp": scene_mcp, "mcp-remote": scene_mcp_remote, "wasm": scene_wasm, "compile": scene_compile, "inspector": scene_inspector, "vault": scene_vault,
          "secret": scene_secret, "database": scene_database, "source": scene_source, "secret-service": scene_secret_service, "ssh": scene_ssh}


if __name__ == "__main__":
    os.umask(0o022)
    try:
        for each in sys.argv[1:]:
            SCENES[each]()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
