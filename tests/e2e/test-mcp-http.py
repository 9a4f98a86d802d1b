#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp serve --http` and `corral mcp gateway --http`: both eras, events, sessions, sandboxes with handles. Prints TAP."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import mcp_http  # noqa: E402
from broker_tap import as_user, end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
SERVER = os.environ.get("SERVER", os.path.join(HERE, "mcp_gateway_server.py"))
SECONDS = 60


def serve(*options):
    return mcp_http.Server([CORRAL, "mcp", "serve", *options], cwd=WORK, env=ENVIRONMENT)


def text(answer):
    return answer["result"]["content"][0]["text"]


def output(answer):
    return answer["result"]["structuredContent"]["stdout"]


def run(client, command, **more):
    return client.call("execute_command", command=command, **more)


def fifo(name):
    os.mkfifo(os.path.join(WORK, name))
    return os.path.join(WORK, name)


def test_modern(server):
    client = server.client()
    answer = client.request("server/discover")
    got = answer.json()["result"]
    ok(answer.status == 200 and got["supportedVersions"] == ["2026-07-28"] and "mcp-session-id" not in answer.fields, "a POST stands alone, and has no session", got)
    got = client.ask("tools/list")["result"]["tools"]
    names = {tool["name"]: tool for tool in got}
    ok("create_sandbox" in names and "sandbox" in names["execute_command"]["inputSchema"]["properties"], "there are tools about sandboxes", list(names))
    ok(not client.call("write_file", path="modern.txt", content="é")["result"]["isError"] and
       pathlib.Path(WORK, "modern.txt").read_text(encoding="utf-8") == "é", "a file is written")
    ok(output(run(client, "echo out")) == "out\n", "a command runs")
    answer = client.request("tools/call", {"name": "execute_command", "arguments": {"command": "echo a; sleep 0.2; echo b"},
                                           "_meta": {**mcp_http.META, "progressToken": "t"}})
    got = answer.messages()
    ok(answer.is_stream and [m["params"]["progressToken"] for m in got[:-1]] == ["t"] * (len(got) - 1) and len(got) > 1 and output(got[-1]) == "a\nb\n",
       "progress comes as events, before the answer", got)
    answer = client.request("tools/call", {"name": "no_such_tool", "arguments": {}})
    ok(answer.status == 200 and answer.json()["error"]["code"] == -32602, "an error of a tool is no matter of HTTP", answer.json())
    answer = client.request("no/such")
    ok(answer.status == 404 and answer.json()["error"]["code"] == -32601, "a method that is not there is", answer.json())
    log = json.loads(client.ask("resources/read", {"uri": "corral://log"})["result"]["contents"][0]["text"])
    ok({"fs.write"} <= {event["action"] for event in log}, "the log has what the principal did", log[-2:])


def test_handles(server):
    one, other = server.client(0), server.client(1)
    made = one.call("create_sandbox")["result"]["structuredContent"]["sandbox"]
    ok(len(made) == 64, "a sandbox gets a handle", made)
    run(one, "echo kept >/tmp/note", sandbox=made)
    ok(output(run(one, "cat /tmp/note", sandbox=made)) == "kept\n", "its commands share /tmp")
    ok(output(run(one, "cat /tmp/note || echo none")) == "none\n", "a command without a handle has a sandbox of its own")
    got = run(other, "cat /tmp/note", sandbox=made)
    ok("no such sandbox" in json.dumps(got), "another token has no such sandbox", got)
    got = other.call("end_sandbox", sandbox=made)
    ok(got["result"]["isError"], "and cannot end it", got)
    ok("ended" in text(one.call("end_sandbox", sandbox=made)) and "error" in run(one, "true", sandbox=made), "it is ended by its own", got)
    handles = [one.call("create_sandbox")["result"] for _ in range(17)]
    ok([made["isError"] for made in handles] == [False] * 16 + [True] and not other.call("create_sandbox")["result"]["isError"],
       "a principal has 16 of them, and takes none from another", handles[-1])


def test_sessions(server):
    for version in ("2025-06-18", "2025-11-25"):
        client = server.client()
        got = client.initialize(version)
        ok(got["result"]["protocolVersion"] == version and len(client.session) == 64, f"a session of {version}", got, client.session)
        names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        ok("create_sandbox" not in names and client.ask("ping")["result"] == {}, "a session is its sandbox's handle itself", names)
        run(client, "echo kept >/tmp/note")
        ok(output(run(client, "cat /tmp/note")) == "kept\n", "its commands share /tmp")
        second = server.client()
        second.initialize(version)
        ok(output(run(second, "cat /tmp/note || echo none")) == "none\n" and second.session != client.session, "and no others do")
        ok(client.http("DELETE").status == 204, "DELETE ends it")
        answer = client.request("tools/list", {})
        ok(answer.status == 404 and answer.json()["error"]["code"] == -32001, "and then it is not there", answer.json())
        ok(second.ask("ping")["result"] == {}, "others are")


def test_cancel(server):
    client, begun, ended = server.client(), fifo("begun"), fifo("ended")
    # What holds `ended` open for writing is the command: the reader hears when it is gone.
    command = f"exec 5>{ended}; echo x >{begun}; sleep 1000"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": mcp_http.META, "name": "execute_command", "arguments": {"command": command}}}
    body = json.dumps(message).encode()
    connection = client.connect()
    connection.sendall(client.head("POST", body, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute_command"}) + body)
    with open(ended, "rb", buffering=0) as reader:
        with open(begun, encoding="ascii") as file:
            file.read()
        connection.close()
        reader.read()
    ok(True, "a connection that is closed ends its call, with its processes")
    session = server.client()
    session.initialize()
    begun, ended = fifo("begun2"), fifo("ended2")
    got = []
    waiting = threading.Thread(target=lambda: got.append(session.post(
        {"id": 77, "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": f"exec 5>{ended}; echo x >{begun}; sleep 1000"}}}).messages()))
    waiting.start()
    with open(ended, "rb", buffering=0) as reader:
        with open(begun, encoding="ascii") as file:
            file.read()
        ok(session.notify("notifications/cancelled", {"requestId": 77}).status == 202, "a session cancels by a notification")
        reader.read()
    waiting.join(SECONDS)
    ok(got == [[]], "and the stream of the call ends without an answer", got)


def test_questions():
    server = serve("--ask-denied", "--client-answers")
    path = os.path.join(OUTSIDE, "asked.txt")
    pathlib.Path(path).write_text("content", encoding="utf-8")
    forms = {"elicitation": {"form": {}}}
    client = server.client()
    meta = {**mcp_http.META, "io.modelcontextprotocol/clientCapabilities": forms}
    got = client.ask("tools/call", {"name": "read_file", "arguments": {"path": path}, "_meta": meta})["result"]
    ok(got["resultType"] == "input_required", "2026-07-28: a question ends the call", got)
    yes = {"permission": {"action": "accept", "content": {"allow": True}}}
    params = {"name": "read_file", "arguments": {"path": path}, "_meta": meta, "requestState": got["requestState"], "inputResponses": yes}
    ok(text(client.ask("tools/call", params)) == "content", "and the answer, by another connection, does it")
    ok("used already" in client.ask("tools/call", params)["error"]["message"], "once")
    client = server.client()
    client.initialize(capabilities=forms)
    answer = client.request("tools/call", {"name": "read_file", "arguments": {"path": path}})
    asked = answer.next()
    ok(answer.is_stream and asked["method"] == "elicitation/create", "2025-11-25: the question comes by the call's stream", asked)
    ok(client.post({"id": asked["id"], "result": yes["permission"]}).status == 202, "its answer is a POST")
    got = answer.messages()
    ok(text(got[-1]) == "content", "and the stream goes on", got)
    server.close()


def test_listening(server):
    client = server.client()
    client.initialize()
    answer = client.http("GET")
    ok(answer.status == 200 and answer.is_stream, "GET listens")
    second = client.http("GET")
    ok(second.is_stream and answer.next() is None, "one that connects anew takes the place of the one before")
    client.http("DELETE")
    ok(second.next() is None, "the end of the session ends it")
    got = client.http("GET", Mcp_Session_Id="0" * 64)
    ok(got.status == 404, "a session that is not there has no stream", got.status)


def test_gateway():
    folder = os.path.join(WORK, "gateway")
    os.mkdir(folder)
    file = os.path.join(folder, "gateway.yaml")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"servers": {"notes": {"command": ["python3", SERVER, "plain"], "options": ["--read", HERE]}}}, out)
    subprocess.run([CORRAL, "mcp", "approve", "--yes", file], env=ENVIRONMENT, cwd=folder, check=True, timeout=SECONDS, capture_output=True)
    server = mcp_http.Server([CORRAL, "mcp", "gateway", file], cwd=folder, env=ENVIRONMENT)
    modern, session = server.client(), server.client()
    session.initialize()
    first = [tool["name"] for tool in modern.ask("tools/list")["result"]["tools"]]
    ok("notes__echo" in first and [tool["name"] for tool in session.ask("tools/list")["result"]["tools"]] == first, "a gateway serves both eras", first)
    got = [client.call("notes__echo", text="hello") for client in (modern, session)]
    ok(all("hello" in text(answer) for answer in got), "and calls", got)
    ok(server.close() == 0, "and ends")


def test_tokens():
    file = os.path.join(OUTSIDE, "made.token")
    server = serve("--token-file", file)
    ok(os.stat(file).st_mode & 0o777 == 0o600 and len(server.tokens[0]) == 64, "a file of tokens is made, for its user alone")
    first = server.tokens
    server.close()
    server = serve("--token-file", file)
    ok(server.tokens == first, "and kept")
    server.close()
    server = serve()
    made = server.file
    ok(server.tokens != first and os.stat(made).st_mode & 0o777 == 0o600 and made.startswith(ENVIRONMENT["XDG_RUNTIME_DIR"]),
       "without that option there is one for each start", made)
    ok(server.close() == 0 and not os.path.exists(made), "which goes with it")
    for content, mode, what in (("short\n", 0o600, "must be a token"), ("x" * 40 + "\n", 0o644, "no other user"), ("", 0o600, "no token")):
        pathlib.Path(file).write_text(content, encoding="ascii")
        os.chmod(file, mode)
        got = refused("--http", "0", "--token-file", file)
        ok(what in got, f"a file that is refused: {what}", got)
    for address, what in (("0.0.0.0:8000", "this machine alone"), ("[::]:8000", "this machine alone"), ("192.0.2.1:1", "this machine alone"), ("x", "expected a port"),
                          ("70000", "expected a port")):
        got = refused("--http", address)
        ok(what in got, f"{address} is refused", got)
    got = refused("--http", "0", "--token-file", os.path.join(WORK, "read.token"))
    ok("the tools may read" in got, "a file that the tools may read", got)
    got = refused("--http", "0", "--read", os.path.dirname(ENVIRONMENT["XDG_RUNTIME_DIR"]))
    ok("the tools may read" in got, "and one of a runtime folder that they may read", got)
    ok("--token-file needs --http" in refused("--token-file", file), "a file of tokens without HTTP")


def refused(*options):
    done = subprocess.run([CORRAL, "mcp", "serve", *options], cwd=WORK, env=ENVIRONMENT, input="", capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.stderr if done.returncode else ""


def two_tokens():
    file = os.path.join(OUTSIDE, "two.token")
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as out:
        out.write("a" * 40 + "\n" + "b" * 40 + "\n")
    return file


def main():
    global WORK, OUTSIDE, ENVIRONMENT
    with tempfile.TemporaryDirectory() as root:
        root = os.path.realpath(root)
        os.chmod(root, 0o755)
        WORK, OUTSIDE = os.path.join(root, "work"), os.path.join(root, "outside")
        for name in ("work", "outside", "home", "runtime"):
            os.mkdir(os.path.join(root, name), 0o700)
        ENVIRONMENT = {**os.environ, "HOME": os.path.join(root, "home"), "XDG_RUNTIME_DIR": os.path.join(root, "runtime")}
        server = serve("--token-file", two_tokens())
        for test in (test_modern, test_handles, test_sessions, test_cancel, test_listening):
            test(server)
        ok(server.close() == 0, "a signal ends it", server.errors)
        test_questions()
        test_gateway()
        test_tokens()
    if os.geteuid() == 0:
        as_user(os.path.abspath(__file__), [name for name in ("CORRAL", "CORRAL_WARDEN") if name in os.environ], HTTP=mcp_http.__file__, SERVER=SERVER)
    return end()


if __name__ == "__main__":
    sys.exit(main())
