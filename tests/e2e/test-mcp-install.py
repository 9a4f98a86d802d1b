#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp install` and `uninstall`: files of seven clients as people have them, restored byte for byte; files that are damaged or
in the way, and what others put there. Prints TAP."""

import hashlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from broker_tap import as_user, end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
SERVE = [CORRAL, "mcp", "serve"]
WRAP = [CORRAL, "mcp", "wrap"]

# By client: the user's file below the home, the project's, how a server is found in it, and a text with two servers, `local` with a
# variable KEY and `remote` over HTTP.
CLIENTS = {
    "claude": (".claude.json", ".mcp.json", ["mcpServers"], """{
  "numStartups": 12,
  "mcpServers": {
    "local": {
      "type": "stdio",
      "command": "npx",
      "args": [
        "-y",
        "@scope/server"
      ],
      "env": {
        "KEY": "secret-1"
      }
    },
    "remote": {
      "type": "http",
      "url": "https://mcp.example.com"
    }
  },
  "projects": {"/srv/\\u00e9": {"history": ["{[\\"", "\\ud83d\\ude00"], "cost": 0.10}}
}"""),
    "codex": (".codex/config.toml", ".codex/config.toml", ["mcp_servers"], """# mine
model = "gpt-5"   # and a comment

[mcp_servers.local]
command = 'npx'
args = [
    "-y", # yes
    "@scope/server",
]
startup_timeout_sec = 20

[mcp_servers.local.env]
KEY = "secret-1"

[mcp_servers.remote]
url = "https://mcp.example.com"

[projects."/srv/a"]
trust_level = "trusted\""""),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", ["servers"], """{
\t// Servers of this editor
\t"servers": {
\t\t"local": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx", // by npm
\t\t\t"args": ["-y", "@scope/server", "${workspaceFolder}"],
\t\t\t"env": { "KEY": "${input:key}", },
\t\t},
\t\t"remote": { "type": "http", "url": "https://mcp.example.com" },
\t},
\t"inputs": [ { "type": "promptString", "id": "key", "password": true } ],
}
"""),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", ["mcpServers"],
               '{"mcpServers":{"local":{"command":"npx","args":["-y","@scope/server"],"env":{"KEY":"secret-1"}},"remote":{"url":"https://mcp.example.com"}}}'),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", ["mcpServers"], """{
    /* theme */ "theme": "Default",
    "mcpServers": {
        "local": { "command": "npx", "env": { "KEY": "$KEY" }, "trust": false },
        "remote": { "httpUrl": "https://mcp.example.com" } // over HTTP
    } // servers
}
"""),
    "opencode": (".config/opencode/opencode.json", "opencode.json", ["mcp"], """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "local": {
      "type": "local",
      "command": ["bun", "x", "server"],
      "environment": { "KEY": "secret-1" }
    },
    "remote": { "type": "remote", "url": "https://mcp.example.com", "enabled": true }
  }
}
"""),
    "openclaw": (".openclaw/openclaw.json", None, ["mcp", "servers"], """{
  // the gateway
  gateway: { port: 18789, bind: 'loopback', },
  mcp: {
    servers: {
      local: { command: 'uvx', args: ['server',], env: { KEY: 'secret-1' } },
      'remote': { url: "https://mcp.example.com", transport: "streamable-http" },
    },
  },
}
"""),
}


class Place:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="mcp-install-"))
        self.home, self.work = self.root / "home", self.root / "work"
        self.home.mkdir()
        self.work.mkdir()
        kept = ("LD_", "ASAN_", "UBSAN_")
        self.environment = {**{n: v for n, v in os.environ.items() if n.startswith(kept)}, "HOME": str(self.home), "PATH": "/usr/bin:/bin"}

    def run(self, *words, **more):
        return subprocess.run([CORRAL, "mcp", *words], cwd=self.work, env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    def changes(self, *words):
        done = self.run(words[0], "--json", *words[1:])
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return {"failed": done}
        return {c["server"]: (c["change"], c["before"], c["after"]) for c in found.get("changes", [])}

    def put(self, client, text, project=False):
        path = self.work / CLIENTS[client][1] if project else self.home / CLIENTS[client][0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def kept(self):
        folder = self.home / ".local/state/corral/mcp-clients"
        return sorted(folder.iterdir()) if folder.is_dir() else []


def variants(text):
    """The same with ends of lines of Windows, with a byte order mark, without the last newline."""
    yield "as it is", text.encode()
    yield "with CRLF", text.replace("\n", "\r\n").encode()
    yield "with a byte order mark", b"\xef\xbb\xbf" + text.encode()
    yield "without a newline at its end", text.rstrip("\n").encode()


def test_client(client):
    place = Place()
    _, _, _, text = CLIENTS[client]
    for name, before in variants(text):
        path = place.put(client, before)
        path.chmod(0o640)
        shown = place.run("install", client, "--wrap-existing", "--print")
        ok(shown.returncode == 0 and path.read_bytes() == before and not place.kept() and " + " in shown.stdout and "before: " in shown.stdout,
           f"{client} {name}: --print shows what would change, and changes nothing", shown)
        got = place.changes("install", client, "--wrap-existing")
        local = got.get("local", (None, [], []))
        ok(got.get("corral") == ("added", None, SERVE) and local[0] == "wrapped" and local[2] == [*WRAP, "--env", "KEY", "--", *local[1]]
           and local[1][0] in ("npx", "bun", "uvx") and got.get("remote", [None])[0] == "left", f"{client} {name}: what is installed", got)
        after = path.read_bytes()
        ok(b"secret-1" not in after or b"secret-1" in before, f"{client} {name}: values of variables stay", after)
        ok(stat.S_IMODE(path.stat().st_mode) == 0o640 and [stat.S_IMODE(p.stat().st_mode) for p in place.kept()] == [0o600],
           f"{client} {name}: modes of the file and of what is kept")
        again = place.changes("install", client, "--wrap-existing")
        ok(path.read_bytes() == after and again["corral"][0] == "unchanged" and again["local"][0] == "left", f"{client} {name}: twice changes nothing", again)
        done = place.run("uninstall", client)
        ok(done.returncode == 0 and path.read_bytes() == before and not place.kept() and stat.S_IMODE(path.stat().st_mode) == 0o640,
           f"{client} {name}: restored byte for byte", done, path.read_bytes())
        # Changed since: cut out, and here that is the same.
        place.run("install", client, "--wrap-existing")
        mark = b"# x\n" if client == "codex" else b" "
        path.write_bytes(path.read_bytes() + (b"\n" + mark if client == "codex" and not after.endswith(b"\n") else mark))
        done = place.run("uninstall", client)
        ok(done.returncode == 0 and path.read_bytes().rstrip(b"\r\n").startswith(before.rstrip(b"\r\n")) and "was changed since" in done.stdout
           and path.read_bytes().endswith(mark), f"{client} {name}: of a changed file only what is ours goes", done, path.read_bytes())
    path.unlink()
    shutil.rmtree(path.parent) if path.parent != place.home else None
    done = place.run("install", client, "--", "--profile", "readonly")
    ok(done.returncode == 0 and stat.S_IMODE(path.stat().st_mode) == 0o600 and "readonly" in path.read_text(), f"{client}: no file yet", done)
    done = place.run("uninstall", client)
    ok(done.returncode == 0 and not path.exists() and not place.kept(), f"{client}: the file that came with it goes with it", done)
    project = place.work / CLIENTS[client][1] if CLIENTS[client][1] else None
    done = place.run("install", client, "--project")
    if project:
        ok(done.returncode == 0 and project.exists() and not path.exists(), f"{client} --project", done)
        done = place.run("uninstall", client, "--project")
        ok(done.returncode == 0 and not project.exists(), f"{client} --project: and back", done)
    else:
        ok(done.returncode == 2 and "no file for a project" in done.stderr, f"{client} --project: there is none", done)
        ok(place.run("install", client).returncode == 0 and path.exists(), "without --project it is done")
    shutil.rmtree(place.root)


def refused(place, path, what, words, *parts):
    """An error that says these parts; the file is as it was, and nothing is kept."""
    before = path.read_bytes() if path.exists() else None
    done = place.run("install", *words)
    after = path.read_bytes() if path.exists() else None
    ok(done.returncode == 2 and before == after and not place.kept() and all(part in done.stderr for part in parts), what, done, after)


def test_damaged():
    place = Place()
    path = place.home / ".claude.json"
    rows = (("no JSON", b'{\n  "a": tru\n}', ".claude.json:2:"), ("a comment, which Claude Code does not read", b'{} // x', ":1:"),
            ("no map", b"[]", "map"), ("a key twice", b'{"mcpServers": {},\n"mcpServers": {}}', ":2:", "twice"),
            ("nesting of 100,000", b'{"a": ' + b"[" * 100000, "64"), ("bytes that are no UTF-8", b'{"a": "\xff"}', "UTF-8"),
            ("a NUL", b'{"a": "\0"}', "UTF-8"), ("10 MB", b'{"a": "' + b"x" * 10_000_000 + b'"}', "8 MiB"),
            ("servers that are no map", b'{"mcpServers": []}', "mcpServers"))
    for what, text, *parts in rows:
        path.write_bytes(text)
        refused(place, path, what, ["claude"], *parts)
    path.write_bytes(b'{"a": "' + b"x" * 7_000_000 + b'"}')
    before = path.read_bytes()
    ok(place.run("install", "claude").returncode == 0 and place.run("uninstall", "claude").returncode == 0 and path.read_bytes() == before, "7 MB in one line")
    codex = place.put("codex", "[mcp_servers.a]\ncommand = \"x\"\ncommand = \"y\"\n")
    refused(place, codex, "TOML with a key twice", ["codex"], "config.toml:3:")
    codex.write_text("mcp_servers = { a = { command = \"x\" } }\n", encoding="utf-8")
    refused(place, codex, "TOML in which no table can be added", ["codex"], "[mcp_servers.NAME]")
    shutil.rmtree(place.root)


def test_another():
    """A server of our name, and what runs by Corral already."""
    place = Place()
    path = place.put("claude", json.dumps({"mcpServers": {"corral": {"command": "other"}, "a": {"command": "corral", "args": ["mcp", "wrap", "--", "x"]}}}))
    before = path.read_bytes()
    refused(place, path, "a server `corral` of another make stays", ["claude"], "`corral`", "--name")
    got = place.changes("install", "claude", "--name", "sandbox", "--wrap-existing")
    ok(got["sandbox"][0] == "added" and got["corral"][0] == "wrapped" and got["a"][0] == "left", "another name", got)
    done = place.run("install", "claude")
    ok(done.returncode == 2 and "`sandbox`" in done.stderr, "two names in one file", done)
    ok(place.run("uninstall", "claude").returncode == 0 and path.read_bytes() == before, "and back")
    ok(place.run("install", "claude", "--name", "other").returncode == 0, "and install it again")
    place.run("uninstall", "claude")
    # A name is none of ours, and neither is a run that is not confined.
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "./tools/corral", "args": ["mcp", "wrap", "--", "x"]},
                                               "b": {"command": "corral", "args": ["mcp", "wrap", "--mode", "rwx", "--", "sh"]},
                                               "d": {"command": "corral", "args": ["mcp", "wrap", "--data-dir", "/srv", "--", "sh"]},
                                               "c": {"command": "corral", "args": ["mcp", "wrap", "--read", "/srv", "--", "x", "--mode"]}}}), encoding="utf-8")
    done = place.run("install", "claude", "--name", "sandbox", "--wrap-existing", "--print")
    said = {name: next((line for line in done.stdout.splitlines() if f"left {name}:" in line), "") for name in "abcd"}
    ok("look at it" in said["a"] and "look at it" in said["b"] and "look at it" in said["d"] and "runs by Corral already" in said["c"], "what only calls itself Corral is named", done)
    own = json.dumps({"mcpServers": {"corral": {"command": "/old/corral", "args": ["mcp", "serve", "--profile", "offline"]}}})
    path.write_text(own, encoding="utf-8")
    refused(place, path, "`corral mcp serve` that was added by hand stays", ["claude"], "did not put it there")
    done = place.run("uninstall", "claude")
    ok(done.returncode == 5 and path.read_text(encoding="utf-8") == own, "what was not installed is not uninstalled", done)
    # An agent could write such an entry: what is recorded does not make it ours.
    path.write_text("{}", encoding="utf-8")
    place.run("install", "claude")
    path.write_text(json.dumps({"mcpServers": {"corral": {"command": "evil"}}}), encoding="utf-8")
    done = place.run("install", "claude")
    ok(done.returncode == 2 and "evil" in path.read_text(encoding="utf-8"), "a server that took its place stays", done)
    done = place.run("uninstall", "claude")
    ok(done.returncode == 0 and "left corral" in done.stdout and "evil" in path.read_text(encoding="utf-8") and not place.kept(), "and is not removed", done)
    shutil.rmtree(place.root)


def test_options():
    place = Place()
    path = place.home / ".claude.json"
    refused(place, path, "options with which the server does not start", ["claude", "--", "--profile", "x"], "unknown profile `x`", "nothing was written")
    listed = subprocess.run([CORRAL, "mcp", "serve", "--help"], capture_output=True, text=True, timeout=60, check=False).stdout
    ok("--profile" in listed, "which lists its options")
    refused(place, path, "an option of a run alone", ["claude", "--", "--with", "npm"], "nothing was written")
    refused(place, path, "a client that is not known", ["cluade"], "did you mean", "claude")
    refused(place, path, "words without --", ["claude", "readonly"], "options of `corral mcp serve`")
    refused(place, path, "a name with a bracket", ["codex", "--name", "a]b"], "a]b")
    refused(place, path, "-- as an option of wrap", ["claude", "--wrap-existing", "--wrap-option", "--"], "--wrap-option")
    place.run("install", "claude", "--", "--profile", "readonly")
    got = place.changes("install", "claude")
    ok(got["corral"][0] == "unchanged" and got["corral"][2] == [*SERVE, "--profile", "readonly"], "without options those stay that are there", got)
    got = place.changes("install", "claude", "--", "--profile", "offline")
    ok(got["corral"] == ("updated", [*SERVE, "--profile", "readonly"], [*SERVE, "--profile", "offline"]), "others take their place", got)
    ok(place.run("uninstall", "claude").returncode == 0 and not path.exists(), "and all of it goes")
    place.put("claude", '{"mcpServers": {"a": {"command": "x"}}}')
    place.run("install", "claude")
    got = place.changes("install", "claude", "--wrap-existing", "--wrap-option=--net", "--wrap-option", "h:1")
    ok(got["a"][2] == [*WRAP, "--net", "h:1", "--", "x"], "options of wrap", got)
    place.run("uninstall", "claude")
    ok(path.read_text(encoding="utf-8") == '{"mcpServers": {"a": {"command": "x"}}}', "two installs, one way back")
    place.environment["CLAUDE_CONFIG_DIR"] = str(place.root / "config")
    ok(place.run("install", "claude").returncode == 0 and (place.root / "config/.claude.json").exists(), "CLAUDE_CONFIG_DIR")
    done = place.run("install", "claude", "--file", str(place.work / "other.json"))
    ok(done.returncode == 0 and (place.work / "other.json").exists(), "--file", done)
    done = place.run("uninstall", "claude", "--file", "other.json")
    ok(done.returncode == 0 and not (place.work / "other.json").exists(), "--file names the one", done)
    jsonc = place.put("opencode", "{}").with_name("opencode.jsonc")
    (place.home / ".config/opencode/opencode.json").rename(jsonc)
    ok(place.run("install", "opencode").returncode == 0 and "corral" in jsonc.read_text(encoding="utf-8"), "opencode.jsonc where that is")
    shutil.rmtree(place.root)


def test_links():
    """Files that are links, and files of others."""
    place = Place()
    path, dotfiles = place.home / ".claude.json", place.root / "dotfiles"
    dotfiles.mkdir()
    target = dotfiles / "claude.json"
    target.write_text("{}\n", encoding="utf-8")
    target.chmod(0o644)
    path.symlink_to("../dotfiles/claude.json")
    done = place.run("install", "claude")
    ok(done.returncode == 0 and path.is_symlink() and "corral" in target.read_text(encoding="utf-8") and "leads to" in done.stdout
       and stat.S_IMODE(target.stat().st_mode) == 0o644, "a link is followed and stays", done)
    ok(place.run("uninstall", "claude").returncode == 0 and path.is_symlink() and target.read_text(encoding="utf-8") == "{}\n", "and back")
    path.unlink()
    path.symlink_to(path.name)
    refused(place, path.parent / "none", "a link to itself", ["claude"], ".claude.json")
    path.unlink()
    path.symlink_to("/etc/passwd")
    ok(place.run("install", "claude").returncode == 2, "a link to a file of root")
    path.unlink()
    os.mkfifo(path)
    ok(place.run("install", "claude").returncode == 2, "a pipe is not waited for")
    path.unlink()
    path.write_text("{}", encoding="utf-8")
    os.link(path, place.root / "second")
    refused(place, path, "a file with a second name", ["claude"], "one name")
    (place.root / "second").unlink()
    path.chmod(0o666)
    refused(place, path, "a file that all may write", ["claude"], "chmod o-w")
    path.chmod(0o600)
    place.home.chmod(0o777)
    refused(place, path, "in a folder that all may write", ["claude"], "folder")
    place.home.chmod(0o755)
    path.unlink()
    # A project could lead anywhere.
    victim = place.root / "victim.json"
    victim.write_text("{}", encoding="utf-8")
    (place.work / ".mcp.json").symlink_to(victim)
    refused(place, victim, "a link out of the project", ["claude", "--project"], "out of the project", "--file")
    done = place.run("install", "claude", "--file", ".mcp.json")
    ok(done.returncode == 0 and "corral" in victim.read_text(encoding="utf-8"), "--file writes through it", done)
    place.run("uninstall", "claude", "--file", ".mcp.json")
    (place.work / ".vscode").symlink_to(place.root)
    (place.root / "mcp.json").write_text("{}", encoding="utf-8")
    refused(place, place.root / "mcp.json", "a folder that is a link out of it", ["vscode", "--project"], "out of the project")
    shutil.rmtree(place.root)


def test_kept():
    """What is kept, if it is damaged or not to be had."""
    place = Place()
    path = place.put("claude", "{}\n")
    place.run("install", "claude")
    record, after = place.kept()[0], path.read_bytes()
    good = record.read_bytes()
    for damaged in (b"", b"{", b"{}\n", b"[]\n{}", good.replace(b'"claude"', b'"codex"')):
        record.write_bytes(damaged)
        done = place.run("uninstall", "claude")
        ok(done.returncode == 2 and path.read_bytes() == after and "damaged" in done.stderr, f"what is kept is damaged: {damaged[:20]!r}", done)
    record.write_bytes(good)
    path.unlink()
    done = place.run("uninstall", "claude")
    ok(done.returncode == 0 and not path.exists() and not place.kept() and "gone" in done.stdout, "the file is gone", done)
    state = place.home / ".local/state/corral"
    shutil.rmtree(state)
    state.write_text("", encoding="utf-8")
    path.write_text("{}\n", encoding="utf-8")
    done = place.run("install", "claude")
    ok(done.returncode == 2 and path.read_text(encoding="utf-8") == "{}\n", "nothing is written if what was cannot be kept", done)
    shutil.rmtree(place.root)


def test_at_once():
    """Many at the same time: the file has one whole text, and one way back."""
    place = Place()
    path = place.put("claude", CLIENTS["claude"][3])
    before = path.read_bytes()
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(place.run("install", "claude").returncode)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ok(statuses == [0] * 8 and json.loads(path.read_bytes())["mcpServers"]["corral"]["args"] == ["mcp", "serve"],
       "eight installs at once", statuses)
    ok(not list(place.home.glob(".corral-*")), "no file is left beside it")
    place.run("uninstall", "claude")
    digest = hashlib.sha256(path.read_bytes()).digest()
    ok(digest == hashlib.sha256(before).digest(), "and one way back", path.read_bytes())
    shutil.rmtree(place.root)


def main():
    for client in CLIENTS:
        test_client(client)
    for test in (test_damaged, test_another, test_options, test_links, test_kept, test_at_once):
        test()
    if os.geteuid() == 0:
        as_user(os.path.abspath(__file__), ["CORRAL"])
    return end()


if __name__ == "__main__":
    sys.exit(main())
