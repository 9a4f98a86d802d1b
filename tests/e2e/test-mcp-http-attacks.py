#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on `corral mcp serve --http`, by real sockets: pages and programs without a token, heads against bodies, sessions, handles, questions
and calls of others, requests that two servers could read differently, that are too large, too slow or too many. Each must fail, and leave the
server to its other clients. Prints TAP."""

import json
import os
import pathlib
import socket
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import mcp_http  # noqa: E402
from broker_tap import as_user, end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 60
MIB = 1 << 20
PROOF = "proof.txt"  # that a request which must be refused was done
FORMS = {"elicitation": {"form": {}}}


def write(client, **fields):
    """A call that leaves a trace, in the way of 2026-07-28."""
    params = {"name": "write_file", "arguments": {"path": PROOF, "content": "x"}}
    return client.request("tools/call", params, **fields)


def is_done():
    path = os.path.join(WORK, PROOF)
    found = os.path.exists(path)
    if found:
        os.unlink(path)
    return found


def is_alive(server):
    return "result" in server.client().ask("tools/list")


def test_tokens(server):
    client = server.client()
    ok(write(client).status == 200 and is_done(), "with the token, the call is done")
    token = server.tokens[0]
    for value, what in ((None, "no token"), ("Bearer ", "an empty one"), ("Bearer " + token[:-1], "its beginning"), ("Bearer " + token + "x", "one that goes on"),
                        ("Bearer " + token.upper(), "in capitals"), ("Basic " + token, "another scheme"), (token, "no scheme"), ("Bearer " + "0" * 40, "a guess")):
        answer = write(client, Authorization=value)
        ok(answer.status == 401 and not is_done() and "www-authenticate" in answer.fields, f"{what} is refused", answer.status, answer.body)
    answer = client.http("POST", b"{}", path=f"/mcp?token={token}", Authorization=None)
    ok(answer.status == 401, "a token in the URL is none", answer.status)
    answer = client.raw(client.head("GET", b"", {}).replace(b"\r\n\r\n", f"\r\nAuthorization: Bearer {token}\r\n\r\n".encode()))
    ok(answer.status == 400, "two tokens are refused", answer.status)
    for method in ("GET", "DELETE"):
        answer = client.http(method, Authorization=None, Mcp_Session_Id="0" * 64)
        ok(answer.status == 401, f"{method} without a token is refused before it is looked at", answer.status)
    answer = client.raw(client.head("POST", b"", {"Authorization": None, "Content-Length": 15 * MIB}))
    ok(answer.status == 401, "and before a body is waited for", answer.status)
    answer = client.http("POST", b"{}", path="/other")
    ok(answer.status == 404, "another path", answer.status)


def test_pages(server):
    client, port = server.client(), server.port
    for host in ("evil.example.com", f"evil.example.com:{port}", f"127.0.0.1.evil.example.com:{port}", f"127.0.0.1:{port + 1}", "127.0.0.1", f"[::2]:{port}",
                 f"localhost:{port}@evil.example.com"):
        answer = write(client, Host=host)
        ok(answer.status in (400, 403) and not is_done(), f"DNS rebinding: Host: {host}", answer.status)
    for host in (f"localhost:{port}", f"[::1]:{port}"):
        ok(write(client, Host=host).status == 200 and is_done(), f"Host: {host} is this machine")
    for origin in ("http://evil.example.com", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}", "http://127.0.0.1", f"http://localhost:{port}",
                   f"http://127.0.0.1:{port}.evil.example.com", ""):
        answer = write(client, Origin=origin)
        ok(answer.status == 403 and not is_done(), f"a page of another origin: {origin or 'an empty one'}", answer.status)
    answer = client.http("OPTIONS", Origin="http://evil.example.com", Access_Control_Request_Method="POST", Authorization=None)
    ok(answer.status == 403 and not any(name.startswith("access-control") for name in answer.fields), "no page is told that it may ask", answer.fields)
    answer = client.http("OPTIONS", Authorization=None)
    ok(answer.status == 405, "and there is nothing to ask for", answer.status)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        answer = write(client, Content_Type=kind)
        ok(answer.status == 415 and not is_done(), f"a form's type: {kind}", answer.status)


def test_heads(server):
    client = server.client()
    for fields, what in (({"Mcp_Method": "tools/list"}, "another method"), ({"Mcp_Method": None}, "no method"), ({"Mcp_Method": "TOOLS/CALL"}, "its method in capitals"),
                         ({"Mcp_Name": "read_file"}, "another name"), ({"Mcp_Name": None}, "no name"), ({"Mcp_Name": "=?base64?cmVhZF9maWxl?="}, "another name, encoded"),
                         ({"MCP_Protocol_Version": "2025-11-25"}, "another version"), ({"MCP_Protocol_Version": None}, "no version")):
        answer = write(client, **fields)
        ok(answer.status == 400 and answer.json()["error"]["code"] == -32020 and not is_done(), f"the head says {what} than the body", answer.status, answer.body)
    ok(write(client, Mcp_Name="=?base64?d3JpdGVfZmlsZQ==?=").status == 200 and is_done(), "an encoded name that is the body's")
    for accept in ("application/json", "text/event-stream", "text/html"):
        ok(write(client, Accept=accept).status == 406 and not is_done(), f"who accepts {accept} alone gets nothing")


def modern(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": mcp_http.META, **params}}).encode()


def test_forms(server):
    """What a proxy and a server could read differently."""
    client = server.client()
    body = modern("tools/call", name="write_file", arguments={"path": PROOF, "content": "x"})
    own = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "write_file"}
    head = client.head("POST", body, own)
    length = f"Content-Length: {len(body)}".encode()
    bad = {
        "chunks": head.replace(length, b"Transfer-Encoding: chunked") + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n",
        "chunks and a length": head.replace(length, length + b"\r\nTransfer-Encoding: chunked") + body,
        "two lengths": head.replace(length, length + b"\r\nContent-Length: 1") + body,
        "a length with a sign": head.replace(length, f"Content-Length: +{len(body)}".encode()) + body,
        "a length of two": head.replace(length, f"Content-Length: {len(body)}, {len(body)}".encode()) + body,
        "no length": head.replace(length + b"\r\n", b"") + body,
        "a bare line feed": head.replace(b"\r\n", b"\n", 2) + body,
        "a folded line": head.replace(b"Accept: ", b"Accept:\r\n ") + body,
        "a blank before the colon": head.replace(b"Authorization:", b"Authorization :") + body,
        "two hosts": head.replace(b"Accept: ", b"Host: evil.example.com\r\nAccept: ") + body,
        "two methods": head.replace(b"Mcp-Method: ", b"Mcp-Method: tools/list\r\nMcp-Method: ") + body,
        "two names": head.replace(b"Mcp-Name: ", b"Mcp-Name: read_file\r\nMcp-Name: ") + body,
        "two sessions": head.replace(b"Mcp-Name: ", b"Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\nMcp-Name: ") + body,
        "a NUL": head.replace(b"Mcp-Name: ", b"X: \x00\r\nMcp-Name: ") + body,
        "an upgrade": head.replace(b"Mcp-Name: ", b"Connection: Upgrade\r\nUpgrade: h2c\r\nMcp-Name: ") + body,
        "another host in its target": head.replace(b"POST /mcp", b"POST http://evil.example.com/mcp") + body,
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    }
    for what, data in bad.items():
        answer = client.raw(data)
        ok((answer is None or answer.status in (0, 400, 403, 411)) and not is_done(), f"refused: {what}", answer and answer.status)
    # What stands behind a request that is refused is not another one.
    answer = client.raw(client.head("POST", b"", {**own, "Authorization": None, "Content-Length": 5}) + b"12345" + head + body)
    ok(answer.status == 401 and not is_done(), "behind one that is refused nothing is read", answer.status)
    answer = client.raw(head.replace(length, b"Content-Length: 4") + b"null" + head.replace(b"Bearer ", b"Bearer x") + body)
    ok(answer.status == 400 and not is_done(), "a body that is shorter than what follows", answer.status)
    first, second = modern("tools/list"), modern("server/discover")
    answer = client.raw(client.head("POST", first, {**own, "Mcp-Method": "tools/list", "Mcp-Name": None}) + first +
                        client.head("POST", second, {**own, "Mcp-Method": "server/discover", "Mcp-Name": None, "Connection": "close"}) + second)
    rest = answer.file.read()
    ok("tools" in answer.json()["result"] and b"supportedVersions" in rest, "two requests in one piece are answered in their order", rest[:100])
    for data, what in ((b"[" * 100000, "brackets"), (b"\xff" * 10, "bytes that are no text"), (b"", "nothing"), (b"[" + modern("tools/list") + b"]", "a batch"),
                       (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', "an id twice"), (b'{"jsonrpc":"2.0","id":1,"result":{}}', "an answer to nothing")):
        answer = client.http("POST", data, MCP_Protocol_Version="2026-07-28")
        ok(answer.status in (400, 411), f"a body of {what}", answer.status, answer.body[:200])


def test_large(server):
    client = server.client()
    own = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    answer = client.raw(client.head("POST", b"", {**own, "Content-Length": 16 * MIB + 1}))
    ok(answer.status == 413, "more than 16 MiB is refused before it comes", answer.status)
    answer = client.raw(client.head("POST", b"", {**own, "Content-Length": "9" * 30}))
    ok(answer.status in (400, 413), "a length without end", answer.status)
    answer = client.raw(client.head("POST", b"{}", {**own, "X-Long": "x" * 9000}) + b"{}")
    ok(answer.status == 431, "a head of 9 KB", answer.status)
    body = modern("tools/call", name="write_file", arguments={"path": PROOF, "content": "x" * (3 * MIB)})
    answer = client.http("POST", body, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="write_file")
    ok(answer.status == 200 and is_done(), "3 MiB are not too much", answer.status, answer.body[:200])


def test_many(server):
    client = server.client()
    half = client.head("POST", b"{}", {})[:-30]
    idle = []
    for i in range(400):
        connection = client.connect()
        connection.sendall(half if i % 2 else b"")
        idle.append(connection)
    ok(is_alive(server) and write(client).status == 200 and is_done(), "400 connections, half of them with half a request, keep nobody out")
    waiting = [client.connect() for _ in range(20)]
    for connection in waiting:
        connection.sendall(client.head("POST", b"", {"Content-Length": 8 * MIB}) + b"{")
    ok(is_alive(server), "nor do 20 that promise much")
    for connection in idle + waiting:
        # As a program that is killed: a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    ok(is_alive(server), "and their end ends nothing else")
    sessions = []
    for _ in range(20):
        session = server.client()
        session.initialize()
        sessions.append(session)
    alive = [session for session in sessions if session.request("ping", {}).status == 200]
    ok(alive == sessions[-16:], "a token has 16 sessions: those that were silent longest go", len(alive))
    other = server.client(1)
    other.initialize()
    for _ in range(20):
        server.client().initialize()
    ok(other.request("ping", {}).status == 200, "and takes none from another token")
    # Calls that wait, of one session: each is a connection.
    path = os.path.join(WORK, "never")
    os.mkfifo(path)
    session, open_ones = server.client(), []
    session.initialize()
    for i in range(64):
        body = json.dumps({"jsonrpc": "2.0", "id": 100 + i, "method": "tools/call",
                           "params": {"name": "execute_command", "arguments": {"command": f"read -r x <{path}"}}}).encode()
        connection = session.connect()
        connection.sendall(session.head("POST", body, {}) + body)
        open_ones.append(connection)
    # Each was taken before the next is asked for: the last one that fits, and the first that does not, tell.
    answer = next((answer for answer in (session.request("tools/list", {}) for _ in range(1000)) if answer.status != 200), None)
    ok(answer and answer.status == 503 and "too many" in answer.json()["error"]["message"], "64 calls of a token may be under way", answer)
    ok(is_alive_for(server, 1), "another token's are its own")
    ok(session.http("DELETE").status == 204, "the end of the session ends them")
    answers = []
    for connection in open_ones:
        connection.settimeout(SECONDS)
        answers.append(b"")
        while part := connection.recv(65536):
            answers[-1] += part
        connection.close()
    os.unlink(path)
    # One that takes longer than 15 seconds has got events, which end.
    ok(all(answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 200 ")) for answer in answers), "none of them without an answer", set(answer[:100] for answer in answers))
    ok(is_alive(server), "and then there is room again")


def is_alive_for(server, token):
    return "result" in server.client(token).ask("tools/list")


def test_others(server):
    one, other, same = server.client(0), server.client(1), server.client(0)
    one.initialize(capabilities=FORMS)
    other.initialize(capabilities=FORMS)
    same.initialize(capabilities=FORMS)
    for method, body in (("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), ("GET", b""), ("DELETE", b"")):
        answer = other.http(method, body, Mcp_Session_Id=one.session)
        ok(answer.status == 404, f"{method}: the session of another token is not there", answer.status)
        guess = format(int(one.session, 16) ^ 1, "064x")
        ok(one.http(method, body, Mcp_Session_Id=guess).status == 404, f"{method}: nor is one that is nearly right")
        for value in ("", "0", one.session + "0", one.session[:-1], one.session.upper(), "../" + one.session):
            answer = one.http(method, body, Mcp_Session_Id=value)
            ok(answer.status in (400, 404) if value != one.session else True, f"{method}: a session called {value[:12]}", answer.status)
    ok(one.request("ping", {}).status == 200, "the session is as it was")
    ok(one.http("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', MCP_Protocol_Version="2025-06-18").status == 400, "another version than the session's is refused")
    # A question of one session, answered by others.
    secret = os.path.join(OUTSIDE, "secret.txt")
    pathlib.Path(secret).write_text("value", encoding="utf-8")
    answer = one.request("tools/call", {"name": "read_file", "arguments": {"path": secret}})
    asked = answer.next()
    yes = {"action": "accept", "content": {"allow": True}}
    for client, what in ((other, "another token's session"), (same, "another session")):
        client.post({"id": asked["id"], "result": yes})
        client.notify("notifications/cancelled", {"requestId": one.last})
    one.post({"id": asked["id"], "result": {"action": "decline"}})
    got = answer.messages()[-1]
    ok(got["result"]["isError"] and "value" not in json.dumps(got), "a yes of another session is none, and none of them cancels", got)
    # A state of one principal, in the hands of another.
    one, other = server.client(0), server.client(1)
    meta = {**mcp_http.META, "io.modelcontextprotocol/clientCapabilities": FORMS}
    params = {"name": "read_file", "arguments": {"path": secret}, "_meta": meta}
    state = one.ask("tools/call", params)["result"]["requestState"]
    retry = {**params, "requestState": state, "inputResponses": {"permission": yes}}
    got = other.ask("tools/call", retry)
    ok(got["error"]["code"] == -32602, "a requestState of another token is refused", got)
    got = one.ask("tools/call", {**retry, "arguments": {"path": secret + "x"}})
    ok("error" in got, "and one for another call", got)
    got = one.ask("tools/call", {**retry, "requestState": state[:-2] + ("A" if state[-2] != "A" else "B") + state[-1]})
    ok("error" in got, "and one that was changed", got)
    got = one.ask("tools/call", retry)
    ok(got["result"]["content"][0]["text"] == "value", "its own is good", got)


def test_sandbox(server):
    """A command in a sandbox is no client: it finds neither the token nor the port."""
    client = server.client()
    got = client.call("execute_command", command=f"cat {server.file} {OUTSIDE}/runtime/corral/* 2>&1; exec 3<>/dev/tcp/127.0.0.1/{server.port}")
    out = json.dumps(got)
    ok(server.tokens[0] not in out, "a command does not see the file of tokens", out[-300:])
    script = f"import socket\ntry:\n socket.create_connection(('127.0.0.1', {server.port}), 2)\n print('connected')\nexcept OSError:\n print('none')\n"
    got = client.call("execute_command", command="/usr/bin/python3", args=["-c", script])
    ok(got["result"]["structuredContent"]["stdout"] == "none\n", "nor reaches the port", got)
    got = client.call("read_file", path=server.file)
    ok(got["result"]["isError"] and server.tokens[0] not in json.dumps(got), "and no tool reads it", got)


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def main():
    global WORK, OUTSIDE, ENVIRONMENT
    with tempfile.TemporaryDirectory() as root:
        root = os.path.realpath(root)
        os.chmod(root, 0o755)
        WORK, OUTSIDE = os.path.join(root, "work"), os.path.join(root, "outside")
        for name in ("work", "outside", "home", "outside/runtime"):
            os.mkdir(os.path.join(root, name), 0o700)
        ENVIRONMENT = {**os.environ, "HOME": os.path.join(root, "home"), "XDG_RUNTIME_DIR": os.path.join(OUTSIDE, "runtime")}
        tokens = os.path.join(OUTSIDE, "tokens")
        with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as out:
            out.write("a1b2c3d4e5" * 4 + "\n" + "b" * 40 + "\n")
        server = mcp_http.Server([CORRAL, "mcp", "serve", "--ask-denied", "--client-answers", "--token-file", tokens], cwd=WORK, env=ENVIRONMENT)
        ok(is_alive(server), "it serves")
        before = descriptors(server)
        for test in (test_tokens, test_pages, test_heads, test_forms, test_large, test_others, test_many):
            test(server)
            ok(server.process.poll() is None and is_alive(server), f"and it serves on after {test.__name__}")
        ok(descriptors(server) <= before + 64, "no descriptor is left", before, descriptors(server))
        ok(server.close() == 0, "it ends by a signal")
        server = mcp_http.Server([CORRAL, "mcp", "serve"], cwd=WORK, env=ENVIRONMENT)
        test_sandbox(server)
        server.close()
    if os.geteuid() == 0:
        as_user(os.path.abspath(__file__), [name for name in ("CORRAL", "CORRAL_WARDEN") if name in os.environ], HTTP=mcp_http.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
