#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox-call, the shell library and the Python module, against a broker that this test plays.

It answers what a case says, so that every class of error and every lie of a broker is seen; and it
keeps what was sent. $SANDBOX_CALL is the program, $SDK the folder of the libraries.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

CALL = os.path.abspath(os.environ["SANDBOX_CALL"])
SDK = os.path.abspath(os.environ["SDK"])
sys.path.insert(0, os.path.join(SDK, "python"))
sys.dont_write_bytecode = True
import corral_broker  # noqa: E402

scratch = tempfile.mkdtemp()
number = failures = 0


def ok(holds, name, *context):
    global number, failures
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")
    if not holds:
        failures += 1
        for part in context:
            print("# " + repr(part)[:2000])
    sys.stdout.flush()


class Broker:
    """Answers each line with what answer(request) gives: bytes, or a generator of them."""

    def __init__(self):
        self.path = os.path.join(scratch, "broker.sock")
        self.answer = None
        self.lines = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                self.lines.append(json.loads(line))
                try:
                    for piece in self.answer(self.lines[-1]):
                        if piece is None:
                            return
                        connection.sendall(piece)
                except OSError:
                    return


def line(value):
    return json.dumps(value).encode() + b"\n"


def result(**fields):
    return lambda request: [line({"jsonrpc": "2.0", "id": request["id"], "result": fields})]


def refusal(code, name, **extra):
    error = {"code": code, "message": f"no \x1b[31m{name}", "data": {"class": name, **extra}}
    return lambda request: [line({"jsonrpc": "2.0", "id": request["id"], "error": error})]


broker = Broker()
environment = {"PATH": os.environ["PATH"], "SANDBOX_SOCKET": broker.path, "SANDBOX_CALL": CALL}
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        environment[name] = os.environ[name]


def call(*words, stdin=b"", env=None, program=CALL):
    return subprocess.run([program, *words], input=stdin, capture_output=True, check=False, cwd=scratch,
                          env=environment if env is None else env, timeout=60)


def sent(*words, stdin=b""):
    """The parameters that the words become; a string: why they do not."""
    del broker.lines[:]
    broker.answer = result()
    run = call(*words, "--json", stdin=stdin)
    return broker.lines[0]["params"] if broker.lines else (run.returncode, json.loads(run.stdout)["error"]["message"])


def test_parameters():
    with open(os.path.join(scratch, "bytes"), "wb") as file:
        file.write(b"\x00\xff")
    with open(os.path.join(scratch, "text"), "w", encoding="utf-8") as file:
        file.write('an "ä"\n')
    cases = (
        (["fs.read", "path=/a b"], {"path": "/a b"}),
        (["fs.read", "path=a=b:c"], {"path": "a=b:c"}),
        (["fs.list", "path=/", "recursive=yes"], {"path": "/", "recursive": True}),
        (["fs.list", "path=/", "recursive=maybe"], "expected true or false"),
        (["fs.write", "path=f", "content=", "mode=0o640"], {"path": "f", "content": "", "mode": 0o640}),
        (["fs.write", "path=f", "content=", "mode=0640"], "no whole number"),
        (["fs.write", "path=f", "content=", "mode=512"], "a whole number"),
        (["fs.write", "path=f", "content=@text"], {"path": "f", "content": 'an "ä"\n'}),
        (["fs.write", "path=f", "content=@bytes"], {"path": "f", "content": "AP8=", "encoding": "base64"}),
        (["fs.write", "path=f", "content=@bytes", "encoding=hex"], "leave `encoding` out"),
        (["fs.write", "path=f", "content=@nowhere"], "cannot read `nowhere`"),
        (["fs.write", "path=f", "content=@@text"], {"path": "f", "content": "@text"}),
        (["fs.write", "path=@-", "content=@-"], "only once"),
        (["exec.run", "command=ls", "args=-l", "args=a b", "env.A=1", "env.B.C=2"],
         {"command": "ls", "args": ["-l", "a b"], "env": {"A": "1", "B.C": "2"}}),
        (["exec.run", "command=ls", 'args:=["-l"]', 'env:={"A":"1"}'],
         {"command": "ls", "args": ["-l"], "env": {"A": "1"}}),
        (["exec.run", "command=ls", "args:=[1]"], "a list of texts"),
        (["exec.run", "command=ls", "args:=["], "no JSON"),
        (["exec.run", "command=ls", "env=A"], "env.NAME=VALUE"),
        (["exec.run", "command=ls", "env.A=1", "env.A=2"], "given twice"),
        (["exec.run", "command=ls", "command=rm"], "given twice"),
        (["exec.run", "command.x=ls"], "is no map"),
        (["exec.run", "command=ls", "--stream"], {"command": "ls", "stream": True}),
        (["network.http", "url=https://a/", "method=post"], "one of GET, HEAD"),
        (["fs.read", "paht=/a"], "no parameter `paht`"),
        (["fs.read"], "needs the parameter `path`"),
        (["fs.read", "/a"], "write NAME=VALUE"),
        (["fs.raed", "path=/a"], "no method `fs.raed`"),
        (["fs.read", '{"path":"/a"}'], {"path": "/a"}),
        (["fs.read", '{"path":"/a"}', "path=/b"], "not both"),
        (["fs.read", '{"path":"/a","path":"/b"}'], "path"),
        (["file_list", "path=/", "pattern=*.c"], {"path": "/", "pattern": "*.c"}),
        (["file_list", "path=/", "glob=*.c"], "no parameter `glob`"),
        (["events_batch", 'events=[{"a":1}]'], {"events": [{"a": 1}]}),
        (["skill_install"], "corral approve"),
    )
    for words, wanted in cases:
        got = sent(*words)
        if isinstance(wanted, str):
            holds = isinstance(got, tuple) and wanted in got[1] and got[0] in (2, 3, 125)
        else:
            holds = got == wanted
        ok(holds, "parameters: " + " ".join(words), got, wanted)
    ok(sent("fs.write", "path=f", "content=@-", stdin=b"x" * 3000000) == {"path": "f", "content": "x" * 3000000},
       "parameters: three million bytes from standard input")
    ok(sent("fs.read", "-", stdin=b'{"path": "/z"}') == {"path": "/z"}, "parameters: as JSON from standard input")


CLASSES = (
    ("internal", -32603, 1), ("request", -32600, 2), ("method", -32601, 2), ("parameters", -32602, 2),
    ("permission", -32001, 3), ("channel", -32001, 3), ("scope", -32002, 4), ("rate", -32003, 5),
    ("timeout", -32004, 6), ("service", -32005, 7), ("network", -32006, 8), ("path", -32007, 9),
)


def test_errors():
    for name, code, status in CLASSES:
        broker.answer = refusal(code, name, allowed=["/a/**", "/b"], rule="p.yaml:3", hint="do that")
        run = call("fs.read", "path=/x")
        ok(run.returncode == status and run.stdout == b"" and run.stderr ==
           f"sandbox-call: no \\x1b[31m{name}\n  allowed: /a/**, /b\n  rule: p.yaml:3\n  do that\n".encode(),
           f"errors: {name} is status {status}, with what is allowed", run)
        run = call("fs.read", "path=/x", "--json")
        ok(run.returncode == status and run.stderr == b"" and json.loads(run.stdout)["error"]["code"] == code and
           json.loads(run.stdout)["error"]["data"]["allowed"] == ["/a/**", "/b"], f"errors: {name} as JSON", run)
    # A code without a class.
    broker.answer = lambda request: [line({"jsonrpc": "2.0", "id": 1, "error": {"code": -32004, "message": "m"}})]
    ok(call("fs.read", "path=/x").returncode == 6, "errors: by the code alone")
    for name, status in (("permission", 126), ("path", 127), ("timeout", 124), ("service", 125), ("parameters", 125)):
        broker.answer = refusal(-32001, name)
        ok(call("exec.run", "command=x").returncode == status, f"errors: exec.run and {name} is status {status}")


def test_results():
    def shows(name, words, fields, out, err=b"", status=0):
        broker.answer = result(**fields)
        run = call(*words)
        ok((run.stdout, run.stderr, run.returncode) == (out, err, status), "results: " + name, run)

    shows("a file's bytes", ["fs.read", "path=/x"], {"content": "AP8=", "encoding": "base64"}, b"\x00\xff")
    shows("a file's text", ["file_read", "path=/x"], {"content": "a\x1b\n"}, b"a\x1b\n")
    entries = [{"name": "b", "path": "/a/b", "type": "directory"}, {"name": "c", "path": "/a/c\n\x1b", "type": "file"}]
    shows("a list", ["fs.list", "path=/a"], {"entries": entries, "truncated": True}, b"/a/b/\n/a/c\\x0a\\x1b\n",
          b"sandbox-call: there are more entries\n")
    shows("a program", ["exec.run", "command=x"], {"exitCode": 7, "stdout": "o\n", "stderr": "e\n"}, b"o\n", b"e\n", 7)
    shows("a program that took too long", ["exec.run", "command=x"],
          {"exitCode": 137, "stdout": "", "stderr": "", "timedOut": True}, b"", b"sandbox-call: the timeout ended it\n", 124)
    shows("a page", ["network.http", "url=http://a/"], {"status": 200, "statusText": "OK", "body": "b"}, b"b")
    shows("a page that is not there", ["network.http", "url=http://a/"], {"status": 404, "statusText": "Not", "body": "b"},
          b"b", b"sandbox-call: the server answered 404 Not\n")
    shows("a screenshot", ["browser.screenshot"], {"data": "AP8=", "encoding": "base64", "width": 1}, b"\x00\xff")
    shows("the text of a page", ["browser.text"], {"text": "a\x1b[2J\nb", "url": "u", "truncated": False}, b"a\\x1b[2J\nb\n")
    shows("a variable", ["env.get", "name=A"], {"set": True, "value": "v"}, b"v\n")
    shows("a variable that is not set", ["env.get", "name=A"], {"set": False}, b"", status=1)
    shows("allowed", ["policy_check", "operation=fs.read", "target=/"], {"allowed": True}, b"allowed\n")
    shows("denied", ["policy_check", "operation=fs.read", "target=/"], {"allowed": False, "reason": "r"},
          b"denied: r\n", status=1)
    shows("other fields", ["fs.stat", "path=/x"], {"size": 3, "type": "file", "path": "/x", "other": 1},
          b"path: /x\ntype: file\nsize: 3\n")
    broker.answer = result(size=12345678901234567890, x=[1.50])
    run = call("fs.stat", "path=/x", "--json")
    ok(run.stdout == b'{"size":12345678901234567890,"x":[1.5]}\n', "results: as JSON, numbers as they are", run)


def test_notes():
    def notes(request):
        for stream, text in (("stdout", "one\n"), ("stderr", "two\n")):
            yield line({"jsonrpc": "2.0", "method": "exec.output",
                        "params": {"id": 1, "stream": stream, "data": text, "encoding": "utf-8"}})
        yield line({"jsonrpc": "2.0", "id": request["id"], "result": {"exitCode": 3, "stdout": "", "stderr": ""}})

    broker.answer = notes
    run = call("exec.run", "command=x", "--stream")
    ok((run.stdout, run.stderr, run.returncode) == (b"one\n", b"two\n", 3), "notes: output as it comes", run)
    run = call("exec.run", "command=x")
    ok((run.stdout, run.stderr, run.returncode) == (b"", b"", 3), "notes: not unless asked for", run)
    run = call("exec.run", "command=x", "--stream", "--json")
    ok([sorted(json.loads(part)) for part in run.stdout.splitlines()] ==
       [["method", "params"], ["method", "params"], ["exitCode", "stderr", "stdout"]], "notes: as lines of JSON", run)


def endless(request):
    while True:
        yield b" " * (1 << 20)


LIES = (
    ("not JSON", lambda request: [b"hello\n"]),
    ("bytes that are no text", lambda request: [b"\xff\xfe\n"]),
    ("another id", lambda request: [line({"jsonrpc": "2.0", "id": 2, "result": {"content": "SECRET"}})]),
    ("an id of another type", lambda request: [line({"jsonrpc": "2.0", "id": "1", "result": {"content": "SECRET"}})]),
    ("no id", lambda request: [line({"jsonrpc": "2.0", "result": {"content": "SECRET"}})]),
    ("another version", lambda request: [line({"jsonrpc": "1.0", "id": 1, "result": {}})]),
    ("a result that is a list", lambda request: [line({"jsonrpc": "2.0", "id": 1, "result": []})]),
    ("an error that is a text", lambda request: [line({"jsonrpc": "2.0", "id": 1, "error": "x"})]),
    ("an error and a result", lambda request: [line({"jsonrpc": "2.0", "id": 1, "result": {},
                                                     "error": {"code": 1, "message": "m"}})]),
    ("neither", lambda request: [line({"jsonrpc": "2.0", "id": 1})]),
    ("the same key twice", lambda request: [b'{"jsonrpc":"2.0","id":2,"id":1,"result":{"content":"SECRET"}}\n']),
    ("depth", lambda request: [b"[" * 100000 + b"\n"]),
    ("content that is no base64", lambda request: [line({"jsonrpc": "2.0", "id": 1, "result": {
        "content": "!!", "encoding": "base64"}})]),
    ("an unknown encoding", lambda request: [line({"jsonrpc": "2.0", "id": 1, "result": {
        "content": "SECRET", "encoding": "rot13"}})]),
    ("content that is a map", lambda request: [line({"jsonrpc": "2.0", "id": 1, "result": {"content": {}}})]),
    ("no content", lambda request: [line({"jsonrpc": "2.0", "id": 1, "result": {}})]),
    ("notes of another call", lambda request: [line({"jsonrpc": "2.0", "method": "exec.output", "params": {"id": 9}})]),
    ("a line without an end", endless),
)


def test_lies():
    for name, answer in LIES:
        broker.answer = answer
        run = call("fs.read", "path=/x")
        ok(run.returncode == 1 and run.stdout == b"" and run.stderr.startswith(b"sandbox-call: ") and
           b"SECRET" not in run.stderr, "lies: " + name, run)
        if name.startswith(("content", "an unknown", "no content")):
            continue
        run = call("fs.read", "path=/x", "--json")
        ok(run.returncode == 1 and json.loads(run.stdout)["error"]["code"] == -32603, f"lies: {name}, as JSON", run)
    broker.answer = lambda request: [None]
    run = call("fs.read", "path=/x")
    ok(run.returncode == 7 and b"has ended" in run.stderr, "lies: an end without an answer", run)
    run = call("fs.read", "path=/x", "--json")
    ok(json.loads(run.stdout)["error"]["code"] == -32005, "lies: an end without an answer, as JSON", run)
    broker.answer = lambda request: []
    run = call("fs.read", "path=/x", "--timeout", "0.2")
    ok(run.returncode == 6 and b"in time" in run.stderr, "lies: no answer at all, and --timeout", run)


def test_no_broker():
    for name, path in (("not set", None), ("empty", ""), ("not there", "/nowhere/broker.sock"), ("too long", "/" + "x" * 200),
                       ("no socket", CALL)):
        env = {key: value for key, value in environment.items() if key != "SANDBOX_SOCKET"}
        if path is not None:
            env["SANDBOX_SOCKET"] = path
        run = call("ping", env=env)
        ok(run.returncode == 7 and b"corral run --broker" in run.stderr, f"no broker: SANDBOX_SOCKET is {name}", run)
        run = call("ping", "--json", env=env)
        ok(run.returncode == 7 and json.loads(run.stdout)["error"]["code"] == -32005, f"no broker: {name}, as JSON", run)


def test_raw():
    def echo(request):
        some = request if isinstance(request, list) else [request]
        answers = [{"jsonrpc": "2.0", "id": one["id"], "result": {}} for one in some if "id" in one]
        return [line(answers if isinstance(request, list) else answers[0])] if answers else []

    broker.answer = echo
    del broker.lines[:]
    requests = [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "ping"},
                [{"jsonrpc": "2.0", "id": 7, "method": "ping"}, {"jsonrpc": "2.0", "method": "ping"}]]
    run = call("-", stdin=b"".join(line(request) for request in requests))
    ok(run.returncode == 0 and broker.lines == requests and [json.loads(part) for part in run.stdout.splitlines()] ==
       [{"jsonrpc": "2.0", "id": "a", "result": {}}, [{"jsonrpc": "2.0", "id": 7, "result": {}}]],
       "requests as they are: from standard input", run, broker.lines)
    run = call("--json", json.dumps(requests[0]))
    ok(json.loads(run.stdout)["id"] == "a", "requests as they are: from the command line", run)
    broker.answer = refusal(-32007, "path")
    ok(call("-", stdin=line(requests[0])).returncode == 9, "requests as they are: the status of an error")


def test_help():
    table = json.loads(call("--list", "--json").stdout)
    names = [name for method in table["methods"] for name in (method.get("name"), method.get("shield")) if name]
    run = call("--list")
    ok(run.returncode == 0 and all(method.get("name", method.get("shield")).encode() in run.stdout
                                   for method in table["methods"]), "help: the list has all methods")
    ok(call("--complete").stdout.decode().split() == names, "help: names for a shell")
    ok(call("--complete", "fs.read").stdout == b"path=\nencoding=\n", "help: parameters for a shell")
    ok(call("--complete", "fs.$(x)").stdout == b"", "help: none of what is not there")
    for name in names:
        run = call("--help", name)
        ok(run.returncode == 0 and run.stdout.startswith(b"usage: sandbox-call " + name.encode()), f"help: {name}", run)
    run = call("--help")
    ok(run.returncode == 0 and b"fs.read path=" in run.stdout and b"Exit status" in run.stdout, "help: itself")
    ok({(row["class"], row["code"], row["status"]) for row in table["errors"]} >= set(CLASSES), "help: statuses are those of the table")
    for words, text in ((["--help", "fs.raed"], b"did you mean `fs.read`"), ([], b"no method is given"),
                        (["--nonsense"], b"unknown option"), (["--timeout", "x", "ping"], b"number of seconds")):
        run = call(*words)
        ok(run.returncode == 2 and text in run.stderr, f"help: {words} is bad usage", run)
        run = call("--json", *words)
        ok(run.returncode == 2 and json.loads(run.stdout)["error"], f"help: {words} as JSON", run)


def test_shell():
    nasty = "a b'\"$(touch pwned)`touch pwned`\\\n@*;&"
    scripts = (
        ('corral_read "$1"', {"path": nasty}), ('corral_write "$1" </dev/null', {"path": nasty, "content": ""}),
        ('corral_list "$1" "$1"', {"path": nasty, "glob": nasty}), ('corral_stat "$1"', {"path": nasty}),
        ('corral_delete "$1"', {"path": nasty}), ('corral_env "$1"', {"name": nasty}),
        ('corral_http "$1" method POST headers.A "$1"', {"url": nasty, "method": "POST", "headers": {"A": nasty}}),
        ('corral_download "$1" "$1" resume true', {"url": nasty, "saveTo": nasty, "resume": True}),
        ('corral_run "$1" -n "" "$1" @x', {"command": nasty, "args": ["-n", "", nasty, "@x"]}),
        ('corral_allowed "$1" "@y"', {"operation": nasty, "target": "@y"}), ("corral_read @x", {"path": "@x"}),
        ("corral_write @x </dev/null", {"path": "@x", "content": ""}),
    )
    for shell in ("dash", "bash", "busybox"):
        program = shutil.which(shell)
        if not program:
            continue
        for script, wanted in scripts:
            del broker.lines[:]
            broker.answer = result(content="", set=True, value="")
            words = [program] + (["sh"] if shell == "busybox" else [])
            text = f'set -eu; . "{SDK}/sh/corral.sh"; method=mine; {script} || :; [ "$method" = mine ]'
            run = subprocess.run([*words, "-c", text, shell, nasty], env=environment, cwd=scratch,
                                 capture_output=True, check=False, timeout=60)
            ok(run.returncode == 0 and broker.lines and broker.lines[0].get("params") == wanted and
               not os.path.exists(os.path.join(scratch, "pwned")), f"{shell}: {script}", run, broker.lines)
        broker.answer = refusal(-32002, "scope")
        run = subprocess.run([*words, "-c", f'. "{SDK}/sh/corral.sh"; corral_read /x'], env=environment,
                             capture_output=True, check=False, timeout=60)
        ok(run.returncode == 4, f"{shell}: the status of an error", run)


def raises(kind, function):
    try:
        function()
    except kind as error:
        return error
    except Exception as error:  # pylint: disable=broad-except
        return None if print("# " + repr(error)) is None else error
    return None


def test_python():
    os.environ["SANDBOX_SOCKET"] = broker.path
    client = corral_broker.Client(timeout=20)
    broker.answer = result(content="AP8=", encoding="base64")
    ok(corral_broker.data(client.call("fs.read", path="/x")) == b"\x00\xff", "python: bytes of a file")
    del broker.lines[:]
    client.fs_write(path="f", content=b"\x00", mode=None)
    client.file_read(path="f")
    client.policy_check(operation="exec", target="x")
    client.exec_run(command="x", args=["ä"])
    client.network_http(url="http://a/", method="POST", body="b")
    ok([(request["method"], request["params"]) for request in broker.lines] == [
        ("fs.write", {"path": "f", "content": "AA==", "encoding": "base64"}), ("file_read", {"path": "f"}),
        ("policy_check", {"operation": "exec", "target": "x"}), ("exec.run", {"command": "x", "args": ["ä"]}),
        ("network.http", {"url": "http://a/", "method": "POST", "body": "b"})],
       "python: methods by their names", broker.lines)
    for name, code, _ in CLASSES:
        broker.answer = refusal(code, name, hint="do", allowed=["/a"])
        error = raises(corral_broker.BrokerError, lambda: client.ping())
        ok(error and error.code == code and error.hint == "do" and error.allowed == ["/a"] and
           type(error) is corral_broker._CLASSES.get(name, corral_broker.BrokerError), f"python: {name}", error)
    heard = []

    def notes(request):
        yield line({"jsonrpc": "2.0", "method": "network.progress", "params": {"id": request["id"], "received": 1}})
        yield line({"jsonrpc": "2.0", "id": request["id"], "result": {"size": 1}})

    broker.answer = notes
    client.call("network.download", url="u", saveTo="f", on_note=lambda *note: heard.append(note))
    ok(len(heard) == 1 and heard[0][0] == "network.progress", "python: notes", heard)
    broker.answer = lambda request: [line([{"jsonrpc": "2.0", "id": one["id"], "result": {"n": one["id"]}} if one["method"] == "ping"
                                           else refusal(-32001, "permission")(one) and
                                           {"jsonrpc": "2.0", "id": one["id"], "error": {"code": -32001, "message": "m"}}
                                           for one in reversed(request)])]
    got = client.batch([("ping", {}), ("fs.read", {"path": "/x"}), ("ping", {})])
    ok(got[0]["n"] + 2 == got[2]["n"] and isinstance(got[1], corral_broker.PermissionDenied), "python: a batch", got)
    ok(client.batch([]) == [], "python: an empty batch")
    del broker.lines[:]
    broker.answer = lambda request: [] if "id" not in request else result()(request)
    client.notify("events_batch", events=[])
    client.ping()
    ok(len(broker.lines) == 2 and "id" not in broker.lines[0], "python: a notification", broker.lines)
    ok(raises(corral_broker.BadCall, lambda: client.fs_write(path="f", content=b"", encoding="hex")), "python: bytes and an encoding")
    client.close()
    for name, answer in LIES:
        if name in ("content that is no base64", "an unknown encoding", "content that is a map", "no content",
                    "notes of another call", "the same key twice", "an error and a result"):
            continue
        broker.answer = answer
        with corral_broker.Client(timeout=20) as liar:
            ok(raises(corral_broker.ProtocolError, lambda: liar.fs_read(path="/x")), f"python: a lie: {name}")
    broker.answer = lambda request: [None]
    with corral_broker.Client(timeout=20) as gone:
        ok(raises(corral_broker.ServiceUnavailable, gone.ping), "python: an end without an answer")
        ok(raises(corral_broker.ServiceUnavailable, gone.ping), "python: and after it")
    broker.answer = lambda request: []
    with corral_broker.Client(timeout=0.1) as slow:
        ok(raises(corral_broker.TimedOut, slow.ping), "python: no answer at all")
    del os.environ["SANDBOX_SOCKET"]
    ok(raises(corral_broker.ServiceUnavailable, corral_broker.Client), "python: SANDBOX_SOCKET is not set")
    ok(raises(corral_broker.ServiceUnavailable, lambda: corral_broker.Client("/nowhere")), "python: no socket")


try:
    for test in (test_parameters, test_errors, test_results, test_notes, test_lies, test_no_broker, test_raw, test_help,
                 test_shell, test_python):
        test()
finally:
    shutil.rmtree(scratch)
print(f"1..{number}")
sys.exit(failures != 0)
