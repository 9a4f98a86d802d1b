#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp serve`: its tools by a bare client, in both eras of the protocol, and clients that attack it. Prints TAP."""

import base64
import http.server
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import mcp_peer  # noqa: E402
from broker_tap import as_user, end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
PEER = os.path.join(HERE, "mcp_peer.py")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"}}
TOOLS = ["execute_command", "read_file", "write_file", "edit_file", "list_directory", "http_request", "check_permission", "request_permission", "explain_denial"]
MIB = 1 << 20


def serve(*options, version="2025-11-25"):
    client = mcp_peer.Client([CORRAL, "mcp", "serve", *options], cwd=WORK, env=ENVIRONMENT)
    if version:
        client.initialized = client.initialize(version)
    return client


def text(answer):
    return answer["result"]["content"][0]["text"]


def failed(answer):
    return answer["result"]["isError"]


def path(name):
    return os.path.join(WORK, name)


def test_eras():
    for version in ("2025-06-18", "2025-11-25"):
        client = serve(version=version)
        got = client.initialized["result"]
        ok(got["protocolVersion"] == version and got["serverInfo"]["name"] == "corral", f"a handshake of {version}", got)
        tools = client.ask("tools/list")["result"]["tools"]
        ok([tool["name"] for tool in tools] == TOOLS and all(tool["inputSchema"]["type"] == "object" for tool in tools), "the tools", tools)
        ok(client.ask("ping")["result"] == {} and client.end() == 0, "ping, and the end of the input")
    client = serve(version=None)
    got = client.ask("server/discover", {"_meta": META})["result"]
    ok(got["supportedVersions"] == ["2026-07-28"] and got["resultType"] == "complete" and got["cacheScope"] == "private", "2026-07-28 without a handshake", got)
    got = client.ask("tools/list", {"_meta": META})["result"]
    ok([tool["name"] for tool in got["tools"]] == TOOLS and got["ttlMs"] > 0, "its tools", got)
    got = client.ask("tools/call", {"_meta": META, "name": "write_file", "arguments": {"path": "modern.txt", "content": "é"}})["result"]
    ok(got["resultType"] == "complete" and not got["isError"] and open(path("modern.txt"), encoding="utf-8").read() == "é", "and a call", got)
    got = client.ask("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}})["error"]
    ok(got["code"] == -32022 and got["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}, "a version to come is refused, with those there are", got)
    ok(client.initialize()["error"]["code"] == -32022, "and so is a handshake afterwards")
    client.end()


def test_tools():
    client = serve()
    got = client.call("execute_command", command="echo out; echo err >&2; exit 3")
    ok(text(got) == "out\n\n[standard error]\nerr\n\n[exit status 3]\n" and got["result"]["structuredContent"]["exit_code"] == 3 and not failed(got),
       "a command: its output and status", got)
    got = client.call("execute_command", command="/usr/bin/printf", args=["%s|", "a b", "$HOME"])
    ok(got["result"]["structuredContent"]["stdout"] == "a b|$HOME|", "with arguments no shell is between", got)
    got = client.call("execute_command", command="cat; pwd", stdin="in\n", cwd=WORK)
    ok(got["result"]["structuredContent"]["stdout"] == f"in\n{WORK}\n", "input, and the folder", got)
    got = client.call("execute_command", command="printf '\\377\\000x'")
    ok(got["result"]["structuredContent"]["stdout"] == "\ufffd\x00x", "what is no text is replaced", got)
    got = client.call("execute_command", command="sleep 1000", timeout_ms=50)
    ok(failed(got) and got["result"]["structuredContent"]["timed_out"], "a time limit", got)
    got = client.call("execute_command", command="head -c 5000000 /dev/zero | tr '\\0' x")
    ok(len(got["result"]["structuredContent"]["stdout"]) == MIB and got["result"]["structuredContent"]["truncated"], "much output is cut")
    number = client.request("tools/call", {"name": "execute_command", "arguments": {"command": "echo one; sleep 0.3; echo two"}, "_meta": {"progressToken": "t"}})
    answer = client.answer(number)
    ok(answer and [m["params"]["progressToken"] for m in client.before] == ["t"] * len(client.before) and client.before, "progress", client.before)
    # It says nothing, and ends when that was heard twice.
    os.mkfifo(path("end"))
    number = client.request("tools/call", {"name": "execute_command", "arguments": {"command": "read -r _ <end"}, "_meta": {"progressToken": 7}})
    notes = [client.next()["params"], client.next()["params"]]
    with open(path("end"), "w", encoding="ascii") as fifo:
        fifo.write("\n")
    answer = client.answer(number)
    ok([note["progressToken"] for note in notes] == [7, 7] and notes[0]["progress"] < notes[1]["progress"] and answer["result"]["structuredContent"]["exit_code"] == 0,
       "progress of a command without output", notes, answer)
    ok(not failed(client.call("write_file", path=path("a.txt"), content="one two one")), "a file is written")
    got = client.call("edit_file", path="a.txt", old_text="one", new_text="1")
    ok(failed(got) and "2 times" in text(got), "a text that is there twice is not replaced", got)
    ok(not failed(client.call("edit_file", path="a.txt", old_text="one", new_text="1", replace_all=True)) and text(client.call("read_file", path="a.txt")) == "1 two 1",
       "unless all are meant")
    ok("not in the file" in text(client.call("edit_file", path="a.txt", old_text="zzz", new_text="1")), "nor one that is not there")
    binary = bytes(range(256))
    ok(not failed(client.call("write_file", path="b.bin", content=base64.b64encode(binary).decode(), encoding="base64")), "bytes are written by base64")
    got = client.call("read_file", path="b.bin")
    ok(base64.b64decode(text(got)) == binary and got["result"]["structuredContent"]["encoding"] == "base64", "and read", got)
    os.mkdir(path("folder"))
    got = client.call("list_directory", path=".", recursive=True, pattern="*.txt")
    ok([entry["name"] for entry in got["result"]["structuredContent"]["entries"]] == ["a.txt", "modern.txt"], "a list", got)
    got = json.loads(client.ask("resources/read", {"uri": "corral://log"})["result"]["contents"][0]["text"])
    ok({"fs.write", "command.start"} <= {event["action"] for event in got} and got[-1]["program"] == "mcp", "the log", got[-1:])
    client.end()


def test_denials():
    secret = os.path.join(OUTSIDE, "secret.txt")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("value")
    client = serve()
    got = client.call("read_file", path=secret)
    ok(failed(got) and text(got) == f"denied: fs.read {secret}: nothing in fs.read or fs.write grants it; to allow it: --read {secret}\n",
       "a denial says which option grants it", got)
    ok(got["result"]["structuredContent"]["denial"]["remedy"] == f"--read {secret}", "and so for programs", got)
    got = client.call("check_permission", operation="fs.read", target=secret)
    ok(not failed(got) and got["result"]["structuredContent"]["verdict"] == "deny", "check_permission", got)
    ok(client.call("check_permission", operation="fs.write", target=path("x"))["result"]["structuredContent"]["verdict"] == "allow", "of what is allowed")
    got = client.call("explain_denial", operation="fs.read", target=os.path.join(HOME, ".ssh/id_ed25519"))
    ok("private keys" in text(got), "explain_denial", got)
    got = client.call("request_permission", operation="fs.read", target=secret)
    ok(failed(got) and "--read" in text(got), "a request for what is denied widens nothing", got)
    ok(failed(client.call("read_file", path=secret)), "it is denied as before")
    for attempt, how in ((os.path.join("..", "secret.txt"), "by `..`"), ("link", "by a link"), ("chain", "by a chain of links"), ("way/secret.txt", "by a link to its folder"),
                         ("/proc/self/root" + secret, "by /proc")):
        for name, leads in (("link", secret), ("chain", "link"), ("way", OUTSIDE)):
            if not os.path.islink(path(name)):
                os.symlink(leads, path(name))
        read = client.call("read_file", path=attempt)
        write = client.call("write_file", path=attempt, content="changed")
        ok(failed(read) and failed(write) and "value" not in json.dumps(read) and open(secret, encoding="utf-8").read() == "value", f"out of the folder {how}", read, write)
    got = client.call("execute_command", command=f"cat {secret}; cat link; echo x >{secret}; ls {HOME}/.ssh")
    ok("value" not in json.dumps(got) and open(secret, encoding="utf-8").read() == "value", "nor by a command", got)
    got = client.call("execute_command", command="x", cwd=OUTSIDE)
    ok(failed(got) and OUTSIDE in text(got), "nor does one start there", got)
    client.end()
    client = serve("--read", secret)
    ok(text(client.call("read_file", path=secret)) == "value" and failed(client.call("write_file", path=secret, content="")), "that option grants reading alone")
    client.end()
    client = serve("--profile", "readonly")
    ok(failed(client.call("write_file", path="new", content="")), "the profile readonly")
    client.end()


def test_questions():
    secret = os.path.join(OUTSIDE, "secret.txt")
    client = serve("--ask-denied")
    ok(client.call("check_permission", operation="fs.read", target=secret)["result"]["structuredContent"]["verdict"] == "ask", "with --ask-denied, what is not granted is asked about")
    got = client.call("request_permission", operation="fs.read", target=secret)
    ok(failed(got) and "the user has to agree first" in text(got) and "corral dashboard" in text(got), "request_permission says where", got)
    ok("the user has to agree first" in text(client.call("read_file", path=secret)), "and so does the tool; nothing that a client says is an answer")
    client.end()


class Server(http.server.BaseHTTPRequestHandler):
    """Says what it was asked for, or what its path wants."""

    seen = []

    def log_message(self, *_):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        type(self).seen.append((self.command, self.path, dict(self.headers), body))
        status, headers, content = 200, {"X-Case": "Yes"}, f"{self.command} {self.path} {len(body)}".encode()
        if self.path.startswith("/to/"):
            status, headers, content = 302, {"Location": self.path[4:]}, b""
        elif self.path == "/bytes":
            content = bytes(range(256))
        elif self.path == "/large":
            content = b"x" * (5 * MIB)
        elif self.path == "/missing":
            status = 404
        elif self.path == "/slow":
            HANG.wait(mcp_peer.SECONDS)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            try:
                self.wfile.write(content)
            except OSError:
                pass

    do_GET = do_POST = do_HEAD = do_PUT = answer


HANG = threading.Event()


def test_http():
    if "CORRAL_FETCH" not in os.environ:
        print("# without libcurl there is no http_request")
        return
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) for _ in range(2)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    granted, other = (f"http://localhost:{server.server_address[1]}" for server in servers)
    host = granted[len("http://"):]
    client = serve("--net", host)
    got = client.call("http_request", url=granted + "/hello?a=b#part")
    done = got["result"].get("structuredContent", {})
    ok(not failed(got) and done["status"] == 200 and done["body"] == "GET /hello?a=b 0" and done["headers"]["x-case"] == "Yes" and done["encoding"] == "utf8",
       "a request to a granted host", got)
    ok(text(got).startswith("200 OK\n") and text(got).endswith("\n\nGET /hello?a=b 0"), "and for a model to read", got)
    got = client.call("http_request", url=granted + "/", method="POST", headers={"X-Mine": "1"}, body="four")
    ok(got["result"]["structuredContent"]["body"] == "POST / 4" and Server.seen[-1][2]["X-Mine"] == "1" and Server.seen[-1][3] == b"four", "with a method, headers and a body", got)
    client.call("http_request", url=granted + "/", method="PUT", body=base64.b64encode(b"\xff\0").decode(), encoding="base64")
    ok(Server.seen[-1][3] == b"\xff\0", "with a body of bytes", Server.seen[-1])
    got = client.call("http_request", url=granted + "/bytes")["result"]["structuredContent"]
    ok(got["encoding"] == "base64" and base64.b64decode(got["body"]) == bytes(range(256)), "bytes come as base64", got)
    got = client.call("http_request", url=granted + "/missing")
    ok(not failed(got) and got["result"]["structuredContent"]["status"] == 404, "a status of 404 is an answer", got)
    got = client.call("http_request", url=granted + "/to//hello")
    ok(got["result"]["structuredContent"]["body"] == "GET /hello 0" and "after 1 redirects" in text(got), "a redirect is followed", got)
    before = len(Server.seen)
    got = client.call("http_request", url=other + "/secret")
    ok(failed(got) and text(got).startswith("denied: net.connect") and f"--net {other[len('http://'):]}" in text(got) and len(Server.seen) == before,
       "another host is denied, with what would grant it", got)
    got = client.call("http_request", url=f"{granted}/to/{other}/secret")
    ok(failed(got) and len(Server.seen) == before + 1, "nor does a redirect lead there", got)
    got = client.call("http_request", url=granted + "/large")
    ok(failed(got) and len(json.dumps(got)) < 4096, "a body of more than 4 MiB is refused", got)
    for how, arguments in (("a file", {"url": "file:///etc/passwd"}), ("a name and password", {"url": granted.replace("//", "//a:b@")}), ("no URL", {"url": "x"}),
                           ("a header that frames", {"url": granted, "headers": {"Content-Length": "5"}}),
                           ("two lines in a header", {"url": granted, "headers": {"X": "a\r\nY: b"}}), ("no base64", {"url": granted, "body": "%", "encoding": "base64"}),
                           ("a method that is none", {"url": granted, "method": "CONNECT"})):
        before = len(Server.seen)
        got = client.call("http_request", **arguments)
        ok(failed(got) and len(Server.seen) == before, f"refused: {how}", got)
    got = client.call("http_request", url=granted + "/slow", timeout_ms=200)
    ok(failed(got), "a time limit", got)
    number = client.request("tools/call", {"name": "http_request", "arguments": {"url": granted + "/slow"}})
    client.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    ok(client.ask("ping")["result"] == {} and not client.before, "one that is cancelled is not answered", client.before)
    HANG.set()
    got = json.loads(client.ask("resources/read", {"uri": "corral://log"})["result"]["contents"][0]["text"])
    ok({"net.connect"} <= {event["action"] for event in got}, "each is in the log", got[-3:])
    client.end()
    client = serve()
    got = client.call("http_request", url=granted + "/hello")
    ok(failed(got) and "denied: net.connect" in text(got) and "--net" in text(got), "without a network every host is denied", got)
    client.end()
    with open(path("narrow.yaml"), "w", encoding="utf-8") as file:
        file.write(f'fs: {{read: ["{WORK}/**"]}}\nnetwork: {{allow: ["{granted}/open/**"], methods: [GET]}}\n')
    client = serve("--policy", path("narrow.yaml"))
    got = client.call("http_request", url=granted + "/open/x"), client.call("http_request", url=granted + "/shut"), client.call("http_request", url=granted + "/open/x", method="POST")
    ok([failed(answer) for answer in got] == [False, True, True], "a grant of a path and a method", got)
    client.end()
    client = mcp_peer.Client([CORRAL, "mcp", "serve", "--ask-denied", "--client-answers"], cwd=WORK, env=ENVIRONMENT)
    client.initialize(capabilities={"elicitation": {}})
    before = len(Server.seen)
    number = client.request("tools/call", {"name": "http_request", "arguments": {"url": f"{granted}/to/{other}/secret"}})
    asked = client.next()
    ok(asked.get("method") == "elicitation/create" and f"GET {granted}/to/" in asked["params"]["message"] and len(Server.seen) == before, "a request is asked about as a whole", asked)
    client.send({"id": asked["id"], "result": {"action": "accept", "content": {"allow": True}}})
    got = client.answer(number)
    ok(failed(got) and len(Server.seen) == before + 1 and "approval of its own" in text(got), "and a yes is for no redirect of it", got)
    client.end()
    for server in servers:
        server.shutdown()


def test_hostile():
    client = serve()
    client.raw(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (100 * MIB) + b'"}\n')
    ok(client.next()["error"]["code"] == -32700, "a line of 100 MB")
    with open(f"/proc/{client.process.pid}/status", encoding="ascii") as file:
        most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    # A sanitizer keeps what is freed for a while, and more beside each block.
    sanitized = b"__asan_" in pathlib.Path(os.environ["CORRAL"]).read_bytes()
    ok(most < (1024 if sanitized else 100) * 1024, "which nothing keeps", most)
    for line, code, name in ((b"[" * 100000, -32700, "depth"), (b"\xff\xfe", -32700, "no UTF-8"), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, "a batch"),
                             (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, "a key twice"), (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, "an id that is none"),
                             (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602, "an unknown tool"),
                             (b'{"jsonrpc":"2.0","id":1,"method":"none"}', -32601, "an unknown method")):
        client.raw(line + b"\n")
        got = client.next()
        ok(got["error"]["code"] == code, name, got)
    got = client.call("read_file", path="a.txt", encodng="x")
    ok(failed(got) and "no argument `encodng`" in text(got), "an unknown argument", got)
    got = client.call("read_file")
    ok(failed(got) and "needs the argument `path`" in text(got), "a missing one", got)
    client.last += 1
    client.send({"id": client.last, "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": "read -r _; sleep 1000"}}})
    client.send({"id": client.last, "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": "true"}}})
    ok(client.next()["error"]["code"] == -32600, "a second call with the id of one that is under way")
    for i in range(100):
        client.send({"id": f"many-{i}", "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": "sleep 1000"}}})
    refused = [client.next() for _ in range(100 - 63)]
    ok(all("too many calls" in got["error"]["message"] for got in refused), "more calls than 64 at once", refused[:1])
    ok(client.ask("ping")["result"] == {}, "and it still answers")
    ok(client.end() == 0, "its end ends them all")


def running(mark):
    """Processes whose command line has the mark, but for those that carry it to the server."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark.encode() in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def wait_gone(mark):
    until = time.monotonic() + mcp_peer.SECONDS
    while running(mark) and time.monotonic() < until:
        time.sleep(0.02)
    return not running(mark)


def start_marked(client, mark):
    """A command with children, of which one has left its group."""
    number = client.request("tools/call", {"name": "execute_command", "_meta": {"progressToken": 1}, "arguments": {
        "command": f"setsid sh -c 'sleep 1000; : {mark}' & sh -c 'sleep 1000; : {mark}' & echo up; wait"}})
    client.next()
    return number, bool(running(mark))


def test_ends():
    mark = f"corral-mcp-{os.getpid()}"
    client = serve()
    number, is_up = start_marked(client, mark + "-cancel")
    client.send({"method": "notifications/cancelled", "params": {"requestId": number, "reason": "test"}})
    ok(is_up and client.ask("ping")["result"] == {} and not client.before and wait_gone(mark + "-cancel"), "a cancelled call is not answered, and its processes are killed", client.before)
    _, is_up = start_marked(client, mark + "-end")
    ok(client.end() == 0 and is_up and wait_gone(mark + "-end"), "so are those of a client that goes")
    client = serve()
    _, is_up = start_marked(client, mark + "-kill")
    client.process.kill()
    ok(is_up and wait_gone(mark + "-kill"), "and those of a server that is killed")


def audit(*words):
    return subprocess.run([CORRAL, "audit", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT, check=False)


def test_log():
    """A log of its own, out of the tools' reach; it is whole at every end but a kill, and then has what was committed."""
    log = os.path.join(OUTSIDE, "log", "audit.db")
    os.makedirs(os.path.dirname(log), 0o700)
    for how in ("end", "signal"):
        client = serve("--audit", log)
        client.call("execute_command", command=f"echo by-{how}")
        client.call("write_file", path=f"by-{how}", content="x")
        ok(failed(client.call("read_file", path=log)) and failed(client.call("write_file", path=log, content="x")), "the log is out of reach")
        if how == "signal":
            client.process.terminate()
        client.end()
        rows = audit("list", "--json", log).stdout
        ok(audit("verify", log).returncode == 0 and f"by-{how}" in rows and '"denied"' in rows, f"the log has what was done and denied, and is signed: {how}",
           rows[-2000:], audit("verify", log))
    client = mcp_peer.Client([CORRAL, "mcp", "serve"], cwd=WORK, env={**ENVIRONMENT, "CORRAL_AUDIT": log})
    client.initialize("2025-11-25")
    client.call("write_file", path="by-variable", content="x")
    client.end()
    ok("by-variable" in audit("list", "--json", log).stdout, "CORRAL_AUDIT names it, as for `corral run`")
    # SIGXFSZ stays ignored, as this process has it: the write fails, as on a full disk.
    client = mcp_peer.Client([CORRAL, "mcp", "serve", "--audit", log], cwd=WORK, env=ENVIRONMENT, restore_signals=False)
    client.initialize("2025-11-25")
    resource.prlimit(client.process.pid, resource.RLIMIT_FSIZE, (0, 0))
    client.request("tools/call", {"name": "list_directory", "arguments": {"path": WORK}})
    ok(client.process.wait(timeout=60) not in (0, -9) and "audit.db" in client.stderr(), "a log without room ends the server", client.process.returncode, client.stderr())
    client.end()
    for words, says in ((("--audit", path("audit.db")), "audit.db"), (("--write", OUTSIDE, "--audit", log), "audit.db")):
        done = subprocess.run([CORRAL, "mcp", "serve", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT, check=False)
        ok(done.returncode == 125 and says in done.stderr, "a log that commands could change is refused", done)


def test_guarded():
    """The file that its policy was read from, by any name: a tool that wrote it would decide about the next start of the server."""
    folder = path("policies")
    os.mkdir(folder)
    policy = f"fs:\n  read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**]\n  write: [{WORK}/**]\n"
    for name, real in (("own.yaml", os.path.join(folder, "own.yaml")), ("link.yaml", os.path.join(folder, "led.yaml"))):
        pathlib.Path(real).write_text(policy, encoding="utf-8")
        if name == "link.yaml":
            os.symlink("policies/led.yaml", path(name))
        os.symlink(real, path("to-" + name))
        client = serve("--policy", path(name) if name == "link.yaml" else real)
        for by in {real, path("to-" + name), path("policies/../to-" + name), path(name) if name == "link.yaml" else real}:
            got = client.call("write_file", path=by, content="changed")
            ok(failed(got) and open(real, encoding="utf-8").read() == policy, f"its policy is not written: {by}", got)
        got = client.call("edit_file", path=real, old_text="[/usr/**", new_text="[/**, /usr/**")
        ok(failed(got) and "decides about other commands" in text(got) and open(real, encoding="utf-8").read() == policy, "nor edited", got)
        got = client.call("write_file", path=os.path.join(folder, "beside"), content="x")
        ok(not failed(got), "a file beside it is", got)
        client.end()
        for left in (path("to-" + name), path("link.yaml")):
            if os.path.islink(left):
                os.unlink(left)
    shutil.rmtree(folder)


def test_left():
    """What tools leave for other programs to run is named at the end, as after `corral run`."""
    client = serve()
    for name in (".envrc", "plain.txt"):
        client.call("write_file", path=name, content="x")
    client.call("execute_command", command="mkdir -p made/.git/hooks && touch made/.git/hooks/post-commit made/.mcp.json")
    client.end()
    told = client.stderr()
    ok(all(f"a tool created {name} (" in told for name in (".envrc", "made/.git", "made/.mcp.json")) and "plain.txt" not in told, "files that run later are named", told)
    client = serve()
    client.call("read_file", path="plain.txt")
    client.end()
    ok("a tool" not in client.stderr(), "and those that were there before are not", client.stderr())
    for name in (".envrc", "plain.txt"):
        os.unlink(path(name))
    shutil.rmtree(path("made"))


def test_refused():
    for words, says in ((["--json"], "--json cannot be used"), (["--secret", "X"], "--secret cannot be used"), (["--explain"], "--explain cannot be used"),
                        (["--", "true"], "unexpected argument"), (["--policy", "/nonexistent"], "/nonexistent")):
        done = subprocess.run([CORRAL, "mcp", "serve", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT, check=False)
        ok(done.returncode in (2, 125) and says in done.stderr and not (done.stdout and "--json" not in words), f"refused with a sentence: {' '.join(words)}", done)
    with open(path("file"), "w+", encoding="utf-8") as file:
        done = subprocess.run([CORRAL, "mcp", "serve"], stdin=file, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT, check=False)
    ok(done.returncode == 125 and "is a file" in done.stderr, "a file as its input", done)


def main():
    global WORK, OUTSIDE, HOME, ENVIRONMENT
    OUTSIDE = tempfile.mkdtemp()
    os.chmod(OUTSIDE, 0o755)
    WORK, HOME = os.path.join(OUTSIDE, "project"), os.path.join(OUTSIDE, "home")
    for folder in (WORK, HOME):
        os.mkdir(folder)
    ENVIRONMENT = {**os.environ, "HOME": HOME, "XDG_RUNTIME_DIR": HOME}
    try:
        for test in (test_eras, test_tools, test_denials, test_questions, test_http, test_hostile, test_ends, test_log, test_guarded, test_left, test_refused):
            test()
    finally:
        shutil.rmtree(OUTSIDE)
    if os.geteuid() == 0:
        as_user(os.path.abspath(__file__), [name for name in ("CORRAL", "CORRAL_WARDEN", "CORRAL_FETCH") if name in os.environ], PEER=PEER)
    return end()


if __name__ == "__main__":
    sys.exit(main())
