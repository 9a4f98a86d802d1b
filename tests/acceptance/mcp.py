#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP with clients and servers by others (tools/fetch-mcp): the SDKs of TypeScript and Python and the inspector speak with `corral mcp serve`, and
with servers in `corral mcp wrap` and behind `corral mcp gateway`, which must answer as they do without it. Prints TAP."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from acceptance_tap import Tap  # noqa: E402

PATIENCE_S = 180
OWN_TOOLS = {"execute_command", "read_file", "write_file", "edit_file", "list_directory", "http_request", "check_permission", "request_permission", "explain_denial"}
tap = Tap()


class Place:
    """A project, a home, and a folder that nothing was granted of."""

    def __init__(self, arguments, root):
        self.corral, self.packages, self.root = str(arguments.corral), arguments.packages, root
        self.node = next(iter(sorted(arguments.agents.glob("node-linux-*/bin/node"))), None)
        self.project, self.home, self.outside = root / "project", root / "home", root / "outside"
        for folder in (self.project, self.home, self.outside):
            folder.mkdir()
        self.project.joinpath("note.txt").write_text("a note\n", encoding="utf-8")
        self.outside.joinpath("plan.txt").write_text("a plan\n", encoding="utf-8")
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "-qm", "first"]):
            subprocess.run(["git", *words], cwd=self.project, check=True, timeout=60)
        kept = ("CORRAL_", "LD_", "ASAN_", "UBSAN_")
        self.environment = {**{name: value for name, value in os.environ.items() if name.startswith(kept)}, "PATH": "/usr/bin:/bin", "HOME": str(self.home)}

    def clients(self):
        """By name: the command of a client, which takes a job."""
        script, environment = [str(self.node), str(HERE / "mcp" / "client.mjs")], {**self.environment, "MCP_PACKAGES": str(self.packages)}
        python, with_lib = ["/usr/bin/python3", str(HERE / "mcp" / "client.py")], {**self.environment, "PYTHONPATH": str(self.packages / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
        return {
            "TypeScript v1": ([*script, "v1", "legacy"], environment),
            "TypeScript v2, 2025-11-25": ([*script, "v2", "legacy"], environment),
            "TypeScript v2, 2026-07-28": ([*script, "v2", "2026-07-28"], environment),
            "TypeScript v2, by itself": ([*script, "v2", "auto"], environment),
            "Python, 2025-11-25": ([*python, "legacy"], with_lib),
            "Python, 2026-07-28": ([*python, "2026-07-28"], with_lib),
            "Python, by itself": ([*python, "auto"], with_lib),
        }

    def ask(self, client, command, calls, resources=False, answer=None):
        """What a client got; a text: why it got nothing. answer: what it says to each form; None: it shows none."""
        words, environment = client
        job = {"cwd": str(self.project), "env": self.environment, "calls": calls, "resources": resources, "answer": answer}
        job.update(command if isinstance(command, dict) else {"command": command})
        done = subprocess.run(words, input=json.dumps(job), env=environment, cwd=self.root, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return done.stdout + done.stderr

    @contextlib.contextmanager
    def over_http(self, command):
        """The same server for clients by HTTP: what they connect to."""
        runtime = self.root / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        environment = {**self.environment, "XDG_RUNTIME_DIR": str(runtime)}
        with subprocess.Popen([*command, "--http", "0"], cwd=self.project, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
            try:
                url, file = server.stderr.readline().split("MCP at ", 1)[1].split("; the token for clients is in ")
                yield {"url": url, "token": pathlib.Path(file.strip()).read_text(encoding="ascii").strip()}
            finally:
                server.terminate()

    def servers(self):
        """By name: a command, the options that it needs, calls and how their answers begin."""
        modules = self.packages / "node_modules"
        node = ["--read", str(modules), "--read", str(self.node.parent.parent), "--read", str(self.packages / "package.json")]
        return {
            "server-everything": ([str(self.node), str(modules / "@modelcontextprotocol/server-everything/dist/index.js"), "stdio"], node,
                                  [["echo", {"message": "é\U0001f642"}], ["get-sum", {"a": 2, "b": 3}], ["get-tiny-image", {}], ["get-structured-content", {"location": "New York"}],
                                   ["get-resource-links", {"count": 2}], ["trigger-long-running-operation", {"duration": 0.2, "steps": 2}], ["no-such-tool", {}]]),
            "server-filesystem": ([str(self.node), str(modules / "@modelcontextprotocol/server-filesystem/dist/index.js"), str(self.project)], node,
                                  [["read_text_file", {"path": "note.txt"}], ["list_directory", {"path": "."}], ["write_file", {"path": "new.txt", "content": "new\n"}],
                                   ["read_text_file", {"path": "new.txt"}], ["edit_file", {"path": "new.txt", "edits": [{"oldText": "new", "newText": "old"}]}],
                                   ["read_text_file", {"path": str(self.outside / "plan.txt")}], ["read_text_file", {"path": "none.txt"}]]),
            "mcp-server-git": (["/usr/bin/env", f"PYTHONPATH={self.packages / 'lib'}", "PYTHONDONTWRITEBYTECODE=1",
                                "/usr/bin/python3", "-m", "mcp_server_git", "--repository", str(self.project)], ["--read", str(self.packages / "lib")],
                               [["git_log", {"repo_path": str(self.project)}], ["git_show", {"repo_path": str(self.project), "revision": "HEAD"}],
                                ["git_branch", {"repo_path": str(self.project), "branch_type": "local"}]]),
        }


def texts(call):
    return "".join(item.get("text", "") for item in call.get("content", []))


def test_serve(place):
    command = [place.corral, "mcp", "serve"]
    try_serve(place, command, "")
    with place.over_http(command) as server:
        try_serve(place, server, " over HTTP")


def try_serve(place, command, how):
    for name, client in place.clients().items():
        name += how
        got = place.ask(client, command, [
            ["execute_command", {"command": "echo inside; exit 3"}],
            ["read_file", {"path": str(place.project / "note.txt")}],
            ["read_file", {"path": str(place.outside / "plan.txt")}],
            ["list_directory", {"path": str(place.project)}],
            ["check_permission", {"operation": "fs.read", "target": "/etc/shadow"}],
            ["no_such_tool", {}],
        ], resources=True)
        if not tap.ok(isinstance(got, dict) and {tool["name"] for tool in got["tools"]} >= OWN_TOOLS and got["server"] in ("corral", None), f"{name}: the tools of serve are listed", got):
            continue
        run, read, denied, listed, judged, unknown = got["calls"]
        tap.ok(run.get("content") and "inside" in texts(run) and "3" in texts(run), f"{name}: a command runs, with its status", run)
        tap.ok("a note" in texts(read) and not read["isError"], f"{name}: a file is read", read)
        tap.ok(denied["isError"] and "plan.txt" in texts(denied) and "a plan" not in texts(denied), f"{name}: one that is not granted is denied", denied)
        tap.ok("note.txt" in texts(listed) and "denied" in texts(judged), f"{name}: a folder is listed, and a permission judged", listed, judged)
        tap.ok(unknown.get("isError") or unknown.get("error"), f"{name}: a tool that is not there is an error", unknown)
        tap.ok([resource["uri"] for resource in got["resources"]] == ["corral://log"], f"{name}: the log is a resource", got["resources"])


def test_answers(place):
    """Questions to the user of a client, who says yes or no."""
    command = [place.corral, "mcp", "serve", "--ask-denied", "--client-answers"]
    try_answers(place, lambda: contextlib.nullcontext(command), "")
    # One server for each client: it stops to ask whose user says no again and again.
    try_answers(place, lambda: place.over_http(command), " over HTTP")


def try_answers(place, begin, how):
    read = ["read_file", {"path": str(place.outside / "plan.txt")}]
    for name, client in place.clients().items():
        for answer, says in ((True, "a plan"), (False, "did not agree"), (None, "the user has to agree first")):
            with begin() as server:
                got = place.ask(client, server, [read], answer=answer)
            call = got["calls"][0] if isinstance(got, dict) else {}
            tap.ok(says in texts(call) and call["isError"] == (answer is not True) and len(got["asked"]) == (answer is not None) and
                   ("a plan" in json.dumps(call)) == (answer is True) and all("plan.txt" in message for message in got["asked"]), f"{name}{how}: a question answered by {answer}", got)


def test_wrap(place):
    # Each speaks to each server, bare and in a sandbox; what differs is what wrap did.
    for server, (command, options, calls) in place.servers().items():
        for name, client in place.clients().items():
            new = place.project / "new.txt"
            new.unlink(missing_ok=True)
            bare = place.ask(client, command, calls)
            new.unlink(missing_ok=True)
            kept = place.ask(client, [place.corral, "mcp", "wrap", *options, "--", *command], calls)
            if isinstance(bare, str):
                # A server that speaks no such version says the same in a sandbox.
                tap.ok(name.endswith("2026-07-28") and isinstance(kept, str), f"{server} with {name}: refuses the version, bare and wrapped", bare, kept)
                continue
            tap.ok(bare == kept, f"{server} with {name}: answers as without a sandbox ({len(bare['tools'])} tools, {len(calls)} calls)", json.dumps(bare), json.dumps(kept) if isinstance(kept, dict) else kept)


def test_wrap_denies(place):
    """A server that was told to serve a folder that the sandbox did not get."""
    command, options, _ = place.servers()["server-filesystem"]
    command = [*command[:-1], str(place.project), str(place.outside)]
    for name, client in place.clients().items():
        if name.endswith("2026-07-28"):
            continue
        path = str(place.outside / "plan.txt")
        got = place.ask(client, [place.corral, "mcp", "wrap", *options, "--", *command], [["read_text_file", {"path": path}], ["read_text_file", {"path": "note.txt"}]])
        denied = got["calls"][0] if isinstance(got, dict) else {}
        tap.ok(denied.get("isError") and "a plan" not in json.dumps(got), f"server-filesystem with {name}: what was not granted is not read", got)
        tap.ok("a note" in texts(got["calls"][1]) if isinstance(got, dict) else False, f"server-filesystem with {name}: what was granted is", got)


def gateway_of(place, *servers):
    """The file of a gateway with these servers, all approved, and its command."""
    known = place.servers()
    file = place.root / f"gateway-{'-'.join(servers)}.json"
    names = {name: name.removeprefix("mcp-").removeprefix("server-") for name in servers}
    file.write_text(json.dumps({"servers": {names[name]: {"command": known[name][0], "options": known[name][1]} for name in servers}}), encoding="utf-8")
    done = subprocess.run([place.corral, "mcp", "approve", "--yes", str(file)], cwd=place.project, env=place.environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    tap.ok(done.returncode == 0, f"{', '.join(servers)}: approved", done.stdout[-2000:], done.stderr)
    return [place.corral, "mcp", "gateway", str(file)], names


def test_gateway(place):
    """Each client with all servers at once, those of other versions too: the tools and answers of each server are those that it gives alone."""
    known = place.servers()
    command, names = gateway_of(place, *known)
    new, first = place.project / "new.txt", next(iter(place.clients().values()))
    new.unlink(missing_ok=True)
    alone = {server: place.ask(first, bare, calls) for server, (bare, _, calls) in known.items()}
    asked = [(server, tool, arguments) for server, (_, _, calls) in known.items() for tool, arguments in calls]
    answers = {(server, i): answer for server in known for i, answer in enumerate(alone[server]["calls"])}
    expected = [answers[server, i] for server, (_, _, calls) in known.items() for i in range(len(calls))]
    for name, client in place.clients().items():
        new.unlink(missing_ok=True)
        got = place.ask(client, command, [[f"{names[server]}__{tool}", arguments] for server, tool, arguments in asked])
        if not tap.ok(isinstance(got, dict), f"the gateway with {name}: answers", got):
            continue
        for server in known:
            shown = {tool["name"].split("__", 1)[1] for tool in got["tools"] if tool["name"].startswith(names[server] + "__")}
            tap.ok(shown == {tool["name"] for tool in alone[server]["tools"]}, f"the gateway with {name}: the {len(shown)} tools of {server}", sorted(shown))
        for (server, tool, _), one, other in zip(asked, expected, got["calls"]):
            if tool == "no-such-tool":
                tap.ok(other.get("isError") or other.get("error"), f"the gateway with {name}: {server} has no such tool", other)
            else:
                tap.ok(texts(one) == texts(other) and one.get("isError", False) == other.get("isError", False), f"the gateway with {name}: {tool} of {server}", one, other)


@contextlib.contextmanager
def served(command, environment, root):
    """A server over HTTP, by a command that takes its port: where it is."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with open(root / f"server-{port}.log", "wb") as log:
        process = subprocess.Popen([word.format(port=port) for word in command], env={**environment, "PORT": str(port)}, cwd=root, stdout=log, stderr=log)
    try:
        for _ in range(PATIENCE_S * 10):
            if process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def http_servers(place):
    """By name: a command for standard input and output, one for a port, what they need, and calls."""
    everything, _, calls = place.servers()["server-everything"]
    python = ["/usr/bin/python3", str(HERE / "mcp" / "server.py")]
    with_lib = {**place.environment, "PYTHONPATH": str(place.packages / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {"server-everything": (everything, [*everything[:-1], "streamableHttp"], place.environment, calls),
            "a server of Python": (["/usr/bin/env", *(f"{name}={with_lib[name]}" for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")), *python, "stdio"], [*python, "{port}"], with_lib,
                                   [["add", {"a": 2, "b": 3}], ["steps", {"n": 20000}], ["fail", {}], ["add", {"a": "x"}], ["no-such-tool", {}]])}


def test_remote(place):
    """Servers over HTTP by both SDKs: each client has the answers that it has from the same server without HTTP."""
    if not os.environ.get("CORRAL_MCP_REMOTE"):
        tap.skip("servers over HTTP", "build: without libcurl")
        return
    for server, (alone, over_http, environment, calls) in http_servers(place).items():
        with served(over_http, environment, place.root) as url:
            file = place.root / "remote.json"
            file.write_text(json.dumps({"servers": {"web": {"url": url}}}), encoding="utf-8")
            done = subprocess.run([place.corral, "mcp", "approve", "--yes", str(file)], cwd=place.project, env=place.environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            tap.ok(done.returncode == 0, f"{server} over HTTP: approved for a gateway", done.stdout[-2000:], done.stderr)
            for name, client in place.clients().items():
                bare, got = place.ask(client, alone, calls), place.ask(client, [place.corral, "mcp", "remote", url], calls)
                if isinstance(bare, str):
                    tap.ok(name.endswith("2026-07-28") and isinstance(got, str), f"{server} over HTTP with {name}: refuses the version, as without HTTP", bare, got)
                else:
                    tap.ok(bare == got, f"{server} over HTTP with {name}: answers as without ({len(bare['tools'])} tools, {len(calls)} calls)", json.dumps(bare), json.dumps(got) if isinstance(got, dict) else got)
                through = place.ask(client, [place.corral, "mcp", "gateway", str(file)], [[f"web__{tool}", arguments] for tool, arguments in calls[:3]])
                shown = [texts(call) for call in through["calls"]] if isinstance(through, dict) else through
                tap.ok(shown == [texts(call) for call in (bare if isinstance(bare, dict) else through)["calls"][:3]], f"{server} over HTTP behind a gateway with {name}", shown)


def test_inspector(place):
    """The official inspector, by its command line."""
    inspector = place.packages / "node_modules/.bin/mcp-inspector"
    environment = {**place.environment, "PATH": f"{place.node.parent}:/usr/bin:/bin"}
    command, options, _ = place.servers()["server-everything"]

    def inspect(target, *words):
        settings = [word for name, value in place.environment.items() for word in ("-e", f"{name}={value}")]
        done = subprocess.run([str(inspector), "--cli", *settings, *words, "--", *target], cwd=place.project, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"failed": done.stdout + done.stderr}

    serve, wrap = [place.corral, "mcp", "serve"], [place.corral, "mcp", "wrap", *options, "--", *command]
    listed = inspect(serve, "--method", "tools/list")
    tap.ok({tool["name"] for tool in listed.get("tools", [])} >= OWN_TOOLS, "the inspector lists the tools of serve", listed)
    called = inspect(serve, "--method", "tools/call", "--tool-name", "execute_command", "--tool-arg", "command=echo inside")
    tap.ok("inside" in json.dumps(called.get("content")), "and calls one", called)
    bare, kept = (inspect(target, "--method", "tools/list") for target in (command, wrap))
    tap.ok(bare == kept and bare.get("tools"), "the inspector lists the tools of a wrapped server", bare, kept)
    gateway, _ = gateway_of(place, "server-everything", "server-filesystem")
    listed = {tool["name"] for tool in inspect(gateway, "--method", "tools/list").get("tools", [])}
    # The server has more for a client that can be asked for samples, forms and roots, which the gateway cannot.
    everything = {name for name in listed if name.startswith("everything__")}
    tap.ok(everything <= {"everything__" + tool["name"] for tool in bare["tools"]} and {"everything__echo", "filesystem__read_text_file"} <= listed,
           "and those of two behind the gateway", listed)
    called = inspect(gateway, "--method", "tools/call", "--tool-name", "everything__echo", "--tool-arg", "message=through")
    tap.ok("through" in json.dumps(called.get("content")), "and calls one", called)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True, type=pathlib.Path)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--agents", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="corral-mcp-")).resolve()
    try:
        place = Place(arguments, root)
        if not place.node or not (arguments.packages / "version").exists():
            tap.skip("MCP by others", "its packages are not there; `tools/setup agents` fetches them")
        else:
            test_serve(place)
            test_answers(place)
            test_wrap(place)
            test_wrap_denies(place)
            test_gateway(place)
            test_remote(place)
            test_inspector(place)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
