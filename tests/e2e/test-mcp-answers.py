#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp serve --client-answers`: questions to the client's user in both eras of the protocol, and clients that forge, keep, swap
and repeat the answers. Prints TAP."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import mcp_peer  # noqa: E402
from broker_tap import as_user, end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
PEER = os.path.join(HERE, "mcp_peer.py")
ASKS = ["--ask-denied", "--client-answers"]
YES = {"action": "accept", "content": {"allow": True}}
FORMS = {"elicitation": {}}


def meta(capabilities):
    return {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"}}


class Modern(mcp_peer.Client):
    """A client of 2026-07-28."""

    def tool(self, name, arguments, capabilities=None, **more):
        capabilities = FORMS if capabilities is None else capabilities
        return self.ask("tools/call", {"_meta": meta(capabilities), "name": name, "arguments": arguments, **more})

    def question(self, name, arguments):
        got = self.tool(name, arguments)
        return got["result"].get("requestState"), got

    def retry(self, name, arguments, state, response=None, **more):
        return self.tool(name, arguments, requestState=state, inputResponses={"permission": YES if response is None else response}, **more)


def modern(*options):
    return Modern([CORRAL, "mcp", "serve", *(options or ASKS)], cwd=WORK, env=ENVIRONMENT)


def handshake(*options, version="2025-11-25", capabilities=None):
    client = mcp_peer.Client([CORRAL, "mcp", "serve", *(options or ASKS)], cwd=WORK, env=ENVIRONMENT)
    client.initialize(version, FORMS if capabilities is None else capabilities)
    return client


def text(answer):
    return answer["result"]["content"][0]["text"]


def denied(answer):
    """Whether it is an answer of a tool that was not done, or an error, and shows nothing."""
    return SECRET not in json.dumps(answer) and ("error" in answer or answer["result"].get("isError") is True)


def log(client, is_modern=True):
    got = client.ask("resources/read", {"uri": "corral://log", **({"_meta": meta({})} if is_modern else {})})
    return [event for event in json.loads(got["result"]["contents"][0]["text"])]


def test_modern():
    client = modern()
    read = {"path": FILE}
    state, got = client.question("read_file", read)
    asked = got["result"].get("inputRequests", {}).get("permission", {})
    ok(got["result"]["resultType"] == "input_required" and state and "content" not in got["result"], "a question ends the call", got)
    ok(asked["method"] == "elicitation/create" and FILE in asked["params"]["message"] and "fs.read" in asked["params"]["message"] and
       asked["params"]["requestedSchema"]["required"] == ["allow"], "it says what is asked", got)
    ok(FILE not in base64.urlsafe_b64decode(state + "==").decode("latin-1"), "what is kept cannot be read", state)
    got = client.retry("read_file", read, state)
    ok(got["result"]["resultType"] == "complete" and text(got) == SECRET, "with a yes it is done", got)
    events = log(client)
    ok(any(event["action"] == "approval" and "given by the client" in json.dumps(event) for event in events), "the log says who answered", events[-6:])
    state, got = client.question("read_file", read)
    ok(state, "the answer counted for one call: the next one asks again", got)
    for name, answer in (("decline", {"action": "decline"}), ("cancel", {"action": "cancel"}), ("accept without a word", {"action": "accept"}),
                         ("accept of no", {"action": "accept", "content": {"allow": False}}),
                         ("a text for a yes", {"action": "accept", "content": {"allow": "true"}}), ("a number for a yes", {"action": "accept", "content": {"allow": 1}}),
                         ("an unknown action", {"action": "allow", "content": {"allow": True}})):
        state, _ = client.question("read_file", {"path": OTHERS[name]})
        got = client.retry("read_file", {"path": OTHERS[name]}, state, answer)
        ok(denied(got) and ("did not agree" in text(got)), f"a no: {name}", got)
        client.end()
        client = modern()  # several times no in a row, and nothing more is asked for a while
    state, _ = client.question("read_file", read)
    got = client.tool("read_file", read, requestState=state)
    ok(got["result"]["resultType"] == "input_required" and got["result"]["requestState"] != state, "a retry without the answer is asked again", got)
    got = client.retry("read_file", read, got["result"]["requestState"])
    ok(text(got) == SECRET, "and goes on", got)
    got = client.tool("read_file", read, capabilities={})
    ok(denied(got) and "the user has to agree first" in text(got), "a client without forms is asked nothing", got)
    got = client.tool("read_file", read, capabilities={"elicitation": {"url": {}}})
    ok(denied(got) and "the user has to agree first" in text(got), "nor one with URLs alone", got)
    client.end()


def test_two_questions():
    client = modern()
    edit = {"path": OTHERS["edit"], "old_text": SECRET, "new_text": "changed"}
    first, got = client.question("edit_file", edit)
    second = client.retry("edit_file", edit, first)
    ok("fs.read" in json.dumps(got) and "fs.write" in json.dumps(second) and open(OTHERS["edit"], encoding="utf-8").read() == SECRET, "a tool with two questions asks both", second)
    got = client.retry("edit_file", edit, second["result"]["requestState"])
    ok(not denied(got) and open(OTHERS["edit"], encoding="utf-8").read() == "changed", "and is done with both answers", got)
    client.end()


def test_forged():
    client = modern()
    read, other = {"path": FILE}, {"path": OTHERS["swap"]}
    state, _ = client.question("read_file", read)
    raw = bytearray(base64.urlsafe_b64decode(state + "=" * (-len(state) % 4)))
    for at, where in ((0, "its nonce"), (24, "its first byte"), (len(raw) // 2, "its middle"), (len(raw) - 1, "its tag")):
        changed = bytearray(raw)
        changed[at] ^= 1
        got = client.retry("read_file", read, base64.urlsafe_b64encode(changed).decode().rstrip("="))
        ok(denied(got) and got["error"]["code"] == -32602 and "was changed" in got["error"]["message"], f"tampered: {where}", got)
    for name, forged in (("empty", ""), ("no base64", "%%%"), ("cut", state[:-8]), ("longer", state + "AAAA"), ("zeros", base64.urlsafe_b64encode(bytes(len(raw))).decode().rstrip("=")),
                         ("megabytes", "A" * (1 << 20))):
        got = client.retry("read_file", read, forged)
        ok(denied(got) and got["error"]["code"] == -32602 and "was changed" in got["error"]["message"], f"forged: {name}", got)
    for name, forged in (("a number", 5), ("a map", {}), ("null", None), ("a list", [state])):
        got = client.tool("read_file", read, requestState=forged, inputResponses={"permission": YES})
        ok(denied(got) and got["error"]["code"] == -32602, f"no text: {name}", got)
    for name, responses in (("a list", [YES]), ("a text", "yes"), ("without an action", {"permission": {}}), ("an answer that is no map", {"permission": True})):
        got = client.tool("read_file", read, requestState=state, inputResponses=responses)
        ok(denied(got) and got["error"]["code"] == -32602, f"answers that are none: {name}", got)
    got = client.tool("read_file", read, inputResponses={"permission": YES})
    ok(denied({"error": 0}) and got["result"]["resultType"] == "input_required", "an answer without a question is none", got)
    for name, tool, arguments in (("another path", "read_file", other), ("another tool", "list_directory", read),
                                  ("an argument more", "list_directory", {**read, "recursive": True}),
                                  ("a command", "execute_command", {"command": f"cat {FILE}"})):
        got = client.retry(tool, arguments, state)
        ok(denied(got) and got["error"]["code"] == -32602 and "another tool or other arguments" in got["error"]["message"], f"for {name}", got)
    ok(text(client.retry("read_file", read, state)) == SECRET, "none of these used it up: it counts for its own call")
    got = client.retry("read_file", read, state)
    ok(denied(got) and "used already" in got["error"]["message"], "and once: a replay is refused", got)
    state, _ = client.question("read_file", read)
    client.retry("read_file", read, state, {"action": "decline"})
    got = client.retry("read_file", read, state)
    ok(denied(got) and "used already" in got["error"]["message"], "a no does not become a yes", got)
    client.end()


def test_of_another():
    one, two = modern(), modern()
    read = {"path": FILE}
    state, _ = one.question("read_file", read)
    got = two.retry("read_file", read, state)
    ok(denied(got) and "another server made it" in got["error"]["message"], "what another server asked its client counts for no other", got)
    ok(text(one.retry("read_file", read, state)) == SECRET, "but there")
    one.end()
    two.end()
    off = modern("--ask-denied")
    got = off.tool("read_file", read)
    ok(denied(got) and "the user has to agree first" in text(got), "without --client-answers nothing is asked", got)
    got = off.retry("read_file", read, state)
    ok(denied(got) and got["error"]["code"] == -32602 and "asks its client nothing" in got["error"]["message"], "and nothing is taken for an answer", got)
    off.end()


def test_expired():
    client = modern(*ASKS, "--ask", "1ms")
    read = {"path": FILE}
    state, _ = client.question("read_file", read)
    time.sleep(0.02)  # more than the time that it counts for, whatever the load
    got = client.retry("read_file", read, state)
    ok(denied(got) and "has expired" in got["error"]["message"], "an answer that is too late", got)
    got = client.retry("read_file", read, state)
    ok(denied(got) and "has expired" in got["error"]["message"], "and again", got)
    client.end()


def next_question(client):
    message = client.next()
    while message is not None and message.get("method") != "elicitation/create":
        message = client.next()
    return message


def test_handshake():
    for version in ("2025-06-18", "2025-11-25"):
        client = handshake(version=version)
        number = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
        asked = next_question(client)
        ok(FILE in asked["params"]["message"] and asked["params"]["requestedSchema"]["properties"]["allow"]["type"] == "boolean", f"{version}: the client is asked", asked)
        ok(client.ask("ping")["result"] == {}, "other requests are answered meanwhile")
        client.send({"id": asked["id"], "result": YES})
        got = client.answer(number)
        ok(text(got) == SECRET, "and with a yes it is done", got)
        client.send({"id": asked["id"], "result": YES})
        number = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
        again = next_question(client)
        ok(again["id"] != asked["id"], "once: the next call asks again", again)
        for name, message in (("the old number", {"id": asked["id"], "result": YES}), ("a number that was not asked", {"id": "corral-99", "result": YES}),
                              ("the number as a number", {"id": 2, "result": YES}), ("corral-0", {"id": "corral-0", "result": YES}),
                              ("an error without a number", {"id": None, "error": {"code": -1, "message": "x"}})):
            client.send(message)
            ok(client.ask("ping")["result"] == {} and not client.before, f"an answer to nothing: {name}", client.before)
        client.send({"id": again["id"], "result": {"action": "decline"}})
        got = client.answer(number)
        ok(denied(got) and "did not agree" in text(got), "a no", got)
        events = log(client, is_modern=False)
        ok(any("given by the client" in json.dumps(event) for event in events) and any("refused by the client" in json.dumps(event) for event in events),
           "the log says who answered", events)
        client.end()
    client = handshake()
    for name, reply in (("cancel", {"result": {"action": "cancel"}}), ("an error", {"error": {"code": -32601, "message": "no"}}),
                        ("accept without a word", {"result": {"action": "accept", "content": {}}}), ("nothing", {"result": {}})):
        number = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
        client.send({"id": next_question(client)["id"], **reply})
        got = client.answer(number)
        ok(denied(got), f"a no: {name}", got)
    client.end()
    for capabilities in ({}, {"elicitation": {"url": {}}}, {"elicitation": True}):
        client = handshake(capabilities=capabilities)
        got = client.call("read_file", path=FILE)
        ok(denied(got) and "the user has to agree first" in text(got) and not client.before, f"not asked: {capabilities}", got)
        client.end()


def test_two_calls():
    """Each answer is for the call that asked."""
    client = handshake()
    first = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
    one = next_question(client)
    second = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
    two = next_question(client)
    client.send({"id": two["id"], "result": {"action": "decline"}})
    got = client.answer(second)
    ok(denied(got), "the second call is refused", got)
    client.send({"id": one["id"], "result": YES})
    got = client.answer(first)
    ok(text(got) == SECRET, "and the first is done, by its own answer", got)
    number = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
    asked = next_question(client)
    client.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    client.send({"id": asked["id"], "result": YES})
    ok(client.ask("ping")["result"] == {} and SECRET not in json.dumps(client.before), "an answer to a call that was cancelled does nothing", client.before)
    client.end()


def test_late():
    client = handshake(*ASKS, "--ask", "1ms")
    number = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
    got = client.answer(number)
    asked = next(message for message in client.before if message.get("method") == "elicitation/create")
    ok(denied(got) and any(message.get("method") == "notifications/cancelled" and message["params"]["requestId"] == asked["id"] for message in client.before),
       "no answer in time is a no, and the client is told", got, client.before)
    client.send({"id": asked["id"], "result": YES})
    ok(client.ask("ping")["result"] == {} and not client.before, "one that comes later does nothing", client.before)
    client.end()


def test_flood():
    client = handshake()
    numbers = [client.request("tools/call", {"name": "read_file", "arguments": {"path": f"{FILE}-{i}"}}) for i in range(20)]
    asked, answers = 0, []
    while asked + len(answers) < len(numbers):
        message = client.next()
        if message.get("method") == "elicitation/create":
            asked += 1
        else:
            answers.append(message)
    ok(asked == 6 and all(denied(message) and "too many questions" in text(message) for message in answers), "a flood of questions is denied", asked, answers[:1])
    client.end()


def test_commands():
    client = handshake()
    number = client.request("tools/call", {"name": "execute_command", "arguments": {"command": "echo done"}})
    message = client.next()
    ok(message.get("id") == number and text(message).startswith("done"), "what is granted is not asked about", message)
    policy = os.path.join(WORK, "asks.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        file.write(f'fs: {{read: ["/usr/**", "/lib*/**", "/bin/**", "/etc/**", "{WORK}/**"]}}\n'
                   'rules: [{id: prints, operations: [exec], patterns: ["/usr/bin/printf:*"], action: ask}]\n')
    client.end()
    client = handshake("--policy", policy, "--client-answers")
    arguments = {"command": "/usr/bin/printf", "args": ["%s", "yes"]}
    number = client.request("tools/call", {"name": "execute_command", "arguments": arguments})
    message = client.next()
    ok(message and message.get("method") == "elicitation/create" and "printf" in message["params"]["message"], "a rule that asks about a program", message, client.stderr())
    if message and message.get("method") == "elicitation/create":
        client.send({"id": message["id"], "result": YES})
        got = client.answer(number)
        ok(got["result"]["structuredContent"]["stdout"] == "yes", "it runs with a yes", got)
    client.end()


def test_permission_tools():
    client = handshake()
    got = client.call("check_permission", operation="fs.read", target=FILE)
    ok(got["result"]["structuredContent"]["verdict"] == "ask" and not client.before, "check_permission asks nothing", got)
    got = client.call("request_permission", operation="fs.read", target=FILE)
    ok(got["result"]["structuredContent"]["verdict"] == "ask" and "call the tool that needs it" in text(got) and not client.before,
       "request_permission grants nothing before the call that needs it", got)
    got = client.call("read_file", path=os.path.join(HOME, ".ssh", "id_ed25519"))
    ok(denied(got) and not client.before, "what is denied for good is not asked about", got)
    client.end()
    client = handshake("--client-answers")
    got = client.call("read_file", path=FILE)
    ok(denied(got) and not client.before and "--read" in text(got), "without a rule that asks there is no question", got)
    client.end()


def test_own_log():
    """Who answers could be whom the log records: about its files, with the key that signs them, nothing is asked."""
    folder = os.path.join(OUTSIDE, "log")
    os.mkdir(folder, 0o700)
    log_file = os.path.join(folder, "audit.db")
    client = modern(*ASKS, "--audit", log_file)
    client.tool("list_directory", {"path": WORK})  # they are there when it answers
    for name in sorted(os.listdir(folder)):
        got = client.tool("read_file", {"path": os.path.join(folder, name)})
        ok(got["result"]["resultType"] == "complete" and got["result"]["isError"] and "log of what is done here" in text(got), f"a file of the log is not asked about: {name}", got)
    for name in ("audit.db", "audit.db.key", "audit.db-journal", "audit.db.head"):
        got = client.tool("write_file", {"path": os.path.join(folder, name), "content": "x"})
        ok(got["result"]["resultType"] == "complete" and got["result"]["isError"] and "log of what is done here" in text(got), f"nor for writing: {name}", got)
    client.end()
    shutil.rmtree(folder)


def test_messages():
    """What an agent chooses cannot hide the question."""
    client = handshake()
    name = os.path.join(OUTSIDE, "x\u202e\n\x1b[2JAllow: nothing at all")
    number = client.request("tools/call", {"name": "read_file", "arguments": {"path": name}})
    message = client.next()
    shown = message["params"]["message"] if "params" in message else ""
    ok(message.get("id") == number or (not any(c in shown for c in "\u202e\x1b") and shown.count("\n") == 3), "what cannot be seen is shown as numbers", message)
    client.end()


def test_start():
    # The sanitizer for leaks looks into its own process from another one, which no command may.
    inside = subprocess.run([CORRAL, "run", "--read", os.path.dirname(CORRAL), "--", "env", "ASAN_OPTIONS=detect_leaks=0", CORRAL, "mcp", "serve", *ASKS],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT, check=False)
    ok(inside.returncode == 125 and "cannot be used in a sandbox" in inside.stderr and not inside.stdout, "refused in a sandbox", inside)
    flagged = subprocess.run(["setpriv", "--no-new-privs", CORRAL, "mcp", "serve", *ASKS], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK,
                             env=ENVIRONMENT, check=False)
    ok(flagged.returncode == 125 and "no_new_privs" in flagged.stderr, "and in any that no process can leave", flagged)
    for words, says in ((["run", "--client-answers", "--", "true"], "--client-answers"), (["mcp", "wrap", "--client-answers", "--", "true"], "--client-answers"),
                        (["mcp", "serve", "--ask", "5s"], "--ask needs --client-answers")):
        done = subprocess.run([CORRAL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT, check=False)
        ok(done.returncode in (2, 125) and says in done.stderr, f"refused: {' '.join(words)}", done)
    for name, content in (("corral.yaml", "client-answers: true\n"), ("corral.yaml", "client_answers: true\n"), ("policy.yaml", "client_answers: true\n"),
                          ("policy.yaml", "fs: {}\nclient-answers: true\n")):
        file = os.path.join(WORK, name)
        with open(file, "w", encoding="utf-8") as out:
            out.write(content)
        words = ["--policy", file] if name == "policy.yaml" else []
        client = mcp_peer.Client([CORRAL, "mcp", "serve", "--ask-denied", *words], cwd=WORK, env={**ENVIRONMENT, "CORRAL_CLIENT_ANSWERS": "1"})
        number = None
        if client.initialize("2025-11-25", FORMS):
            number = client.request("tools/call", {"name": "read_file", "arguments": {"path": FILE}})
        got = client.next() if number else None
        ok(got is None or (got.get("id") == number and denied(got)), f"no file switches it on: {name}: {' '.join(content.split())}", got, client.stderr())
        client.end()
        os.unlink(file)


def main():
    global WORK, OUTSIDE, HOME, ENVIRONMENT, FILE, SECRET, OTHERS
    OUTSIDE = tempfile.mkdtemp()
    os.chmod(OUTSIDE, 0o755)
    WORK, HOME, FILE, SECRET = os.path.join(OUTSIDE, "project"), os.path.join(OUTSIDE, "home"), os.path.join(OUTSIDE, "secret.txt"), "the-value"
    for folder in (WORK, HOME):
        os.mkdir(folder)
    OTHERS = {name: os.path.join(OUTSIDE, name.replace(" ", "-")) for name in (
        "decline", "cancel", "accept without a word", "accept of no", "a text for a yes", "a number for a yes", "an unknown action", "edit", "swap")}
    for file in (FILE, *OTHERS.values()):
        with open(file, "w", encoding="utf-8") as out:
            out.write(SECRET)
    ENVIRONMENT = {**os.environ, "HOME": HOME, "XDG_RUNTIME_DIR": HOME}
    try:
        for test in (test_modern, test_two_questions, test_forged, test_of_another, test_expired, test_handshake, test_two_calls, test_late, test_flood,
                     test_commands, test_permission_tools, test_own_log, test_messages, test_start):
            test()
    finally:
        shutil.rmtree(OUTSIDE)
    if os.geteuid() == 0:
        as_user(os.path.abspath(__file__), ["CORRAL", "CORRAL_WARDEN"], PEER=PEER)
    return end()


if __name__ == "__main__":
    sys.exit(main())
