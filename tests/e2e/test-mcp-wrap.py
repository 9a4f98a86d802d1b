#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp wrap`: a server in a sandbox, for a client that does not know of it; and servers and clients that attack what is between
them. Prints TAP."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import mcp_peer  # noqa: E402
from broker_tap import as_user, end, ok  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
PEER = os.path.join(HERE, "mcp_peer.py")
MIB = 1 << 20


def wrapped(*options, command=None):
    client = mcp_peer.Client([CORRAL, "mcp", "wrap", *options, "--", *(command or ["/usr/bin/python3", os.path.join(WORK, "mcp_peer.py")])],
                             cwd=WORK, env=ENVIRONMENT)
    if not command:
        client.initialize()
    return client


def texts(answer):
    return [item["text"] for item in answer["result"]["content"]]


def test_messages():
    client = wrapped()
    path = os.path.join(WORK, "note.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("a note")
    answer = client.call("read", path=path)
    ok(texts(answer) == ["a note"] and "isError" not in answer["result"], "a tool of a server in a sandbox is called", answer)
    number = client.request("tools/call", {"name": "ask"})
    asked = client.next()
    client.send({"id": "from-server", "result": {"role": "assistant", "content": {"type": "text", "text": "é\U0001f642"}}})
    answer = client.answer(number)
    ok(asked == {"jsonrpc": "2.0", "id": "from-server", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
       and json.loads(texts(answer)[0])["content"]["text"] == "é\U0001f642", "a request of the server reaches its client, and the answer it", answer)
    answer = client.ask("prompts/list")
    ok(answer["error"] == {"code": -32601, "message": "no such method"}, "an error of a method is unchanged", answer)
    number = client.request("tools/call", {"name": "raw", "arguments": {"text": '  {"jsonrpc" : "2.0","method":"x", "n":1.0e0}\r\n'}})
    ok(client.line() == b'  {"jsonrpc" : "2.0","method":"x", "n":1.0e0}\r\n', "a message passes byte for byte")
    client.answer(number)
    ok(client.end() == 0, "the end of the input ends the server, and its status is that of wrap", client.stderr())


def test_denials():
    with tempfile.TemporaryDirectory(dir=OUTSIDE) as folder:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "secret.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("value")
        client = wrapped()
        answer = client.call("read", path=os.path.join(WORK, "not-there"))
        ok(len(texts(answer)) == 1, "a failure of which the sandbox is no cause is unchanged", answer)
        answer = client.call("read", path=path)
        said = texts(answer)
        ok(answer["result"]["isError"] and len(said) == 2 and said[0].startswith("cannot read") and f"--read {path}" in said[1],
           "what the sandbox denied is in the answer, with the option that grants it", answer)
        answer = client.call("read_error", path=path)
        ok(f"--read {path}" in answer["error"]["message"] and answer["error"]["code"] == -32000, "in an error, too, a second time", answer)
        answer = client.call("read", path=os.path.join(WORK, "not-there"))
        ok(len(texts(answer)) == 1, "and not in the answer of the next call", answer)
        answer = client.call("connect", host="example.com", port=443)
        ok("--net example.com:443" in texts(answer)[-1], "a host that was denied, too", answer)
        client.end()
        client = wrapped("--read", path)
        ok(texts(client.call("read", path=path)) == ["value"], "that option grants it")
        client.end()


def test_refused():
    for words, says in ((["--json", "--", "true"], "--json cannot be used"), (["--skill", ".", "--", "true"], "--skill cannot be used"),
                        ([], "put the server at the end"), (["--nonsense"], "nonsense")):
        done = subprocess.run([CORRAL, "mcp", "wrap", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK, env=ENVIRONMENT,
                              check=False)
        ok(done.returncode == 125 and says in done.stderr and not (done.stdout and "--json" not in words), f"refused with a sentence: {' '.join(words)}", done)
    done = subprocess.run([CORRAL, "mcp", "wrap", "--", "not-a-program"], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=WORK,
                          env=ENVIRONMENT, check=False)
    ok(done.returncode == 127 and not done.stdout, "a server that is not there is 127, and its client hears nothing", done)


def test_hostile_server():
    client = wrapped()
    number = client.request("tools/call", {"name": "raw", "arguments": {"text": 'hello\n\n{"a":"\xff"}\n5\n{"jsonrpc":"2.0","method":"after"}\n'}})
    ok(client.next() == {"jsonrpc": "2.0", "method": "after"}, "what is no JSON of a message, and what is no UTF-8, is dropped")
    ok(client.answer(number) is not None, "and the next answer comes")
    deep = "[" * 100000 + "]" * 100000
    number = client.request("tools/call", {"name": "raw", "arguments": {"text": deep + "\n"}})
    ok(client.line() == deep.encode() + b"\n" and client.answer(number) is not None, "depth is the matter of the client")
    number = client.request("tools/call", {"name": "raw", "arguments": {"text": '{"jsonrpc":"2.0","id":99,"result":{"isError":true,"content":[]}}\n'}})
    ok(client.next()["id"] == 99 and client.answer(number) is not None, "an answer to nothing is passed as it is")
    answer = client.call("large", size=100 * MIB)
    ok(answer["error"]["code"] == -32603 and "16 MiB" in answer["error"]["message"], "of an answer of 100 MB the client hears that it is too long", answer)
    with open(f"/proc/{filter_of(client)}/status", encoding="ascii") as file:
        most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    ok(most < 100 * 1024, "and nothing keeps it", most)
    answer = client.call("large", size=8 * MIB)
    ok(len(texts(answer)[0]) == 8 * MIB, "one of 8 MB passes")
    answer = client.call("flood", n=100000)
    ok(len(client.before) == 100000 and [m["params"]["progress"] for m in client.before[:3]] == [0, 1, 2], "a flood passes, in its order", len(client.before))
    ok("no JSON was dropped" in client.stderr() and client.stderr().count("was dropped") == 2, "each kind of dropped line is noted once", client.stderr())
    client.request("tools/call", {"name": "silent"})
    ok(texts(client.call("raw", text="")) == ["written"], "a call that is never answered stops no other")
    client.request("tools/call", {"name": "die"})
    ok(client.next() is None and client.end() == 7, "a server that dies is an end of the lines, and its status", client.stderr())


def test_hostile_client():
    client = wrapped()
    client.raw(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (100 * MIB) + b'"}\n')
    ok(texts(client.call("raw", text="")) == ["written"], "a line of 100 MB does not reach the server")
    client.raw(b"\xff\xfe\nhello\n")
    ok(texts(client.call("raw", text="")) == ["written"], "nor does what is no JSON")
    ok(client.end() == 0 and "client" in client.stderr(), "and both are noted", client.stderr())


def filter_of(client):
    """The process between the two: a child of ours by its name."""
    children = open(f"/proc/{client.process.pid}/task/{client.process.pid}/children", encoding="ascii").read().split()
    return next(pid for pid in children if open(f"/proc/{pid}/comm", encoding="ascii").read() == "corral-mcp\n")


def test_ends():
    client = wrapped()
    os.kill(int(filter_of(client)), signal.SIGKILL)
    ok(client.next() is None and client.process.wait(timeout=mcp_peer.SECONDS) == 128 + signal.SIGKILL, "without its filter a server ends", client.stderr())
    client = wrapped(command=["/usr/bin/python3", "-c", "import signal,time\nsignal.signal(signal.SIGTERM, lambda *a: exit(3))\n"
                                                        "print('{}', flush=True)\nwhile True: time.sleep(60)"])
    client.line()
    client.process.send_signal(signal.SIGTERM)
    ok(client.next() is None and client.process.wait(timeout=mcp_peer.SECONDS) == 3, "SIGTERM is the server's", client.stderr())
    # Its output ends with it, though a process of its own had that open.
    client = wrapped(command=["/bin/sh", "-c", "echo '{}'; sleep 1000 & exit 4"])
    ok(client.next() == {} and client.next() is None and client.end() == 4, "what it leaves behind holds nothing open", client.stderr())
    client = wrapped(command=["/bin/sh", "-c", "printf '{\"last\":1}\\n{\"cut\":'; exit 0"])
    ok(client.next() == {"last": 1} and client.next() is None and client.end() == 0, "what it wrote last passes, half a message does not")


def main():
    global WORK, OUTSIDE, ENVIRONMENT
    OUTSIDE = tempfile.mkdtemp()
    os.chmod(OUTSIDE, 0o755)
    WORK = os.path.join(OUTSIDE, "project")
    os.mkdir(WORK)
    home = os.path.join(OUTSIDE, "home")
    os.mkdir(home)
    shutil.copy(PEER, WORK)
    ENVIRONMENT = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home}
    try:
        for test in (test_messages, test_denials, test_refused, test_hostile_server, test_hostile_client, test_ends):
            test()
    finally:
        shutil.rmtree(OUTSIDE)
    if os.geteuid() == 0:
        as_user(os.path.abspath(__file__), ["CORRAL"], PEER=PEER)
    return end()


if __name__ == "__main__":
    sys.exit(main())
