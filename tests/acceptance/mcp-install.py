#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp install` into real clients of MCP: each lists the servers of its file before, with Corral's and a wrapped one in it, and after the
uninstall. All but Codex start them for that. Prints TAP."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from acceptance_tap import Tap  # noqa: E402

PATIENCE_S = 180
tap = Tap()

# By client: its package, its program there, the file below the home, and that file with a server `notes` and one over HTTP.
CLIENTS = {
    "claude": ("@anthropic-ai/claude-code-linux-*", "claude", ".claude.json", lambda words: json.dumps(
        {"numStartups": 1, "mcpServers": {"notes": {"type": "stdio", "command": words[0], "args": words[1:], "env": {"A_VARIABLE": "x"}}}}, indent=2)),
    "codex": ("@openai/codex", "vendor/*/bin/codex", ".codex/config.toml", lambda words:
              f"# mine\r\nmodel = 'gpt-5' # the model\r\n\r\n[mcp_servers.notes]\r\ncommand = '{words[0]}'\r\nargs = [ # two\r\n  "
              + ",\r\n  ".join(json.dumps(word) for word in words[1:]) + ",\r\n]\r\n\r\n[mcp_servers.notes.env]\r\nA_VARIABLE = \"x\"\r\n"),
    "gemini": ("@google/gemini-cli", "bundle/gemini.js", ".gemini/settings.json", lambda words:
               '{\n    // the servers\n    "mcpServers": {\n        "notes": { "command": ' + json.dumps(words[0]) + ', "args": ' + json.dumps(words[1:])
               + ', "env": { "A_VARIABLE": "x" } } /* one */\n    }\n}\n'),
    "opencode": ("opencode-linux-*", "bin/opencode", ".config/opencode/opencode.json", lambda words:
                 '{\n\t"$schema": "https://opencode.ai/config.json",\n\t// the servers\n\t"mcp": {\n\t\t"notes": {\n\t\t\t"type": "local",\n\t\t\t"command": '
                 + json.dumps(words, indent="\t\t\t\t") + ', // one\n\t\t\t"environment": {"A_VARIABLE": "x"},\n\t\t},\n\t},\n}\n'),
}


class Client:
    def __init__(self, arguments, name, root):
        package, program, file, self.text = CLIENTS[name]
        self.name, self.root, self.corral = name, root, str(arguments.corral)
        found = sorted(arguments.agents.glob(f"{package}/{program}"))
        self.node = next(iter(sorted(arguments.agents.glob("node-linux-*/bin/node"))), None)
        self.home, self.work = root / "home", root / "work"
        self.home.mkdir(parents=True)
        self.work.mkdir()
        self.path = self.home / file
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.command = None
        if found and self.node:
            self.command = [*([str(self.node)] if found[0].suffix == ".js" else []), str(found[0])]
        kept = ("CORRAL_", "LD_", "ASAN_", "UBSAN_")
        self.environment = {**{n: v for n, v in os.environ.items() if n.startswith(kept)}, "HOME": str(self.home), "GEMINI_CLI_TRUST_WORKSPACE": "true",
                            "PATH": f"{self.node.parent if self.node else '/usr/bin'}:/usr/bin:/bin"}

    def run(self, *words):
        done = subprocess.run(words, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        return done.stdout + done.stderr

    def listed(self):
        """Names of servers that the client has; of those that it starts, only if they answered. And its own words."""
        if self.name == "codex":
            said = self.run(*self.command, "mcp", "list", "--json")
            try:
                return {server["name"] for server in json.loads(said[said.index("["):said.rindex("]") + 1]) if server["enabled"]}, said
            except ValueError:
                return set(), said
        said = re.sub(r"\x1b\[[0-9;]*m", "", self.run(*self.command, "mcp", "list"))
        return {m.group(1) for m in re.finditer(r"(?m)^\W*(\w+)\b.*[\s-]connected\b", said, re.IGNORECASE)}, said

    def install(self, *words):
        return self.run(self.corral, "mcp", *words)


def test_client(client, server, options):
    before = client.text(server).encode()
    client.path.write_bytes(before)
    names, said = client.listed()
    tap.ok(names == {"notes"}, f"{client.name}: its server, before", names, said)
    before = client.path.read_bytes()
    installed = client.install("install", client.name, "--wrap-existing", *(f"--wrap-option={option}" for option in options))
    tap.ok("added corral" in installed and "wrapped notes" in installed, f"{client.name}: installed", installed)
    written = client.path.read_bytes()
    names, said = client.listed()
    tap.ok(names == {"notes", "corral"}, f"{client.name}: it has Corral's server, and the wrapped one", names, said, written.decode())
    is_same = client.path.read_bytes() == written
    removed = client.install("uninstall", client.name)
    after = client.path.read_bytes()
    if is_same:
        tap.ok(after == before, f"{client.name}: restored byte for byte", removed, after)
    else:
        # It wrote its file anew.
        servers = [json.loads(text)["mcpServers"] for text in (before, after)]
        tap.ok(servers[0] == servers[1] and "was changed since" in removed, f"{client.name}: what is ours was taken out of what it wrote", removed, after)
    names, said = client.listed()
    tap.ok(names == {"notes"}, f"{client.name}: its server, afterwards", names, said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True, type=pathlib.Path)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--agents", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    modules = arguments.packages / "node_modules"
    script = modules / "@modelcontextprotocol/server-everything/dist/index.js"
    for name in CLIENTS:
        root = pathlib.Path(tempfile.mkdtemp(prefix="corral-mcp-install-")).resolve()
        try:
            client = Client(arguments, name, root)
            if not client.command or not script.exists():
                tap.skip(name, "it is not there; `tools/setup agents` fetches it")
                continue
            options = ["--read", str(modules), "--read", str(client.node.parent.parent), "--read", str(arguments.packages / "package.json")]
            test_client(client, [str(client.node), str(script), "stdio"], options)
        finally:
            shutil.rmtree(root, ignore_errors=True)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
