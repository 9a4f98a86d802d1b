#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/api/invoke of corrald: the acceptance list of a desktop shell's enclave, by HTTP, by curl, and by the client
of sdk/js; what is granted by whom; what happens when its process dies; and what it must not reach. As root,
once more as an ordinary user. Prints TAP."""

import json
import os
import shutil
import signal
import subprocess
import sys

import daemon_tap as daemon
from broker_tap import beside_user, end, ok

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("CORRAL", "CORRALD", "CORRALD_HTTP", "CORRALD_ENCLAVE", "CORRAL_WARDEN")
SECONDS = f"31.{os.getpid():07}"  # of a sleep that no other test has


def invoke(d, name, **args):
    status, _, body = d.get("/api/invoke/" + name, method="POST", body=args)
    return status, body


def curl(d, name, **args):
    done = subprocess.run(["curl", "-s", "-H", "Authorization: Bearer " + d.token, "-H", "Content-Type: application/json", "--unix-socket",
                           d.folder + "/api.sock", "-d", json.dumps(args), "http://localhost/api/invoke/" + name],
                          capture_output=True, text=True, timeout=60, check=False)
    return json.loads(done.stdout)


def corral(d, *words):
    return subprocess.run([os.environ["CORRAL"], *words], env=d.env, capture_output=True, text=True, timeout=60, check=False)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def grants(folder, *programs):
    return json.dumps({"fs": {"read": [folder + "/{,**}"], "write": [folder + "/{,**}"]}, "exec": list(programs)})


def test_denied(d, granted):
    status, body = invoke(d, "fs_read", path="/etc/passwd")
    ok(status == 403 and body["error"].startswith("Permission denied") and body["denial"]["op"] == "fs.read", "by default /etc/passwd is denied", status, body)
    ok(f"there is no {d.place}/config/corral/enclave.yaml" in body["error"], "the refusal names the file that is missing", body)
    ok(curl(d, "fs_read", path="/etc/passwd")["error"].startswith("Permission denied"), "by curl, too")
    log = invoke(d, "get_audit_log", limit=100)[1]["entries"]
    ok(any(e["action"] == "fs.read" and e["target"] == "/etc/passwd" and e["decision"] == "denied" for e in log), "and that is in the audit", log)
    got = [invoke(d, *call)[0] if isinstance(call, tuple) else None for call in (("get_policy",),)]
    ok(got == [200] and invoke(d, "get_policy")[1]["file"] is None, "get_policy says that no file grants anything", got)
    for name, args in (("fs_write", {"path": granted + "/x", "content": "x"}), ("fs_list", {"path": granted}), ("shell_exec", {"cmd": "true"}),
                       ("export_audit_log", {"path": granted + "/log"})):
        status, body = invoke(d, name, **args)
        ok(status == 403 and "enclave.yaml" in body["error"], f"{name} is denied", status, body)


def test_granted(d, granted, secret):
    status, body = invoke(d, "set_policy", policy=grants(granted, "cat", "sh", "sleep"))
    ok(status == 200 and body["applied"], "a folder is granted by set_policy", status, body)
    status, body = invoke(d, "fs_read", path=granted + "/file.txt")
    ok(status == 200 and body["content"] == "hello" and body["encoding"] == "utf8", "it can be read at the next call", status, body)
    ok(curl(d, "fs_read", path=granted + "/file.txt")["content"] == "hello", "by curl, too")
    for name, path in (("..", granted + "/../secret.txt"), ("a link", granted + "/link"), ("a link of a folder", granted + "/up/secret.txt"),
                       ("a link of /proc", granted + "/proc/1/environ"), ("a device", granted + "/null")):
        status, body = invoke(d, "fs_read", path=path)
        ok(status == 403 and "denied" in body["error"] and "enclave.yaml" not in body["error"], f"by {name} nothing else is read", status, body)
        status, body = invoke(d, "fs_write", path=path, content="x")
        ok(status == 403, f"or written, by {name}", status, body)
    ok(open(secret).read() == "secret", "the file outside is as it was")
    log = invoke(d, "get_audit_log", limit=1000)[1]["entries"]
    denied = {e["target"] for e in log if e["decision"] == "denied"}
    ok({secret, granted + "/link", granted + "/up/secret.txt"} <= denied, "and each attempt is in the audit", denied)
    status, body = invoke(d, "fs_write", path=granted + "/new", content="")
    ok(status == 200 and os.path.getsize(granted + "/new") == 0, "an empty file is written", status, body)
    status, body = invoke(d, "fs_write", path=granted + "/new", content="AP8=", encoding="base64")
    ok(status == 200 and open(granted + "/new", "rb").read() == b"\x00\xff", "bytes are written as base64", status, body)
    status, body = invoke(d, "fs_read", path=granted + "/new")
    ok(body.get("content") == "AP8=" and body.get("encoding") == "base64", "and read so", status, body)
    status, body = invoke(d, "fs_write", path=granted + "/new", content="no base64", encoding="base64")
    ok(status == 400, "what is no base64 is refused", status, body)
    names = {e["name"] for e in invoke(d, "fs_list", path=granted)[1]["entries"]}
    ok({"file.txt", "new"} <= names, "the folder is listed", names)
    status, body = invoke(d, "fs_read", path=granted + "/none")
    ok(status == 404, "what is not there is 404", status, body)
    status, body = invoke(d, "fs_read", path="relative")
    ok(status == 400, "a relative path is refused", status, body)
    with open(granted + "/big", "wb") as f:
        f.truncate(3 << 20)
    status, body = invoke(d, "fs_read", path=granted + "/big")
    ok(status == 413, "a file that is too large is refused", status, body)
    write(granted + "/controls", "\x01" * 1900000)
    status, body = invoke(d, "fs_read", path=granted + "/controls")
    ok(status == 200 and body["encoding"] == "base64", "text that JSON would blow up is base64", status)


def test_own_folders(d):
    """Whoever may read and write everything does not get at the daemon."""
    config = d.place + "/config/corral"
    os.makedirs(config, exist_ok=True)
    status, body = invoke(d, "set_policy", policy=grants(d.place, "cat"))
    ok(status == 200, "everything of the user is granted", status, body)
    for path in (d.folder + "/token", d.place + "/state/corral/audit.db"):
        ok(os.path.exists(path), f"there is {os.path.basename(path)}")
        status, body = invoke(d, "fs_read", path=path)
        ok(status == 403, f"and it is not read: {os.path.basename(path)}", status, body)
        status, body = invoke(d, "shell_exec", cmd="cat", args=[path])
        ok(status != 200 or body["exit_code"] != 0, f"nor by a command: {os.path.basename(path)}", status, body)
    status, body = invoke(d, "fs_write", path=config + "/enclave.yaml", content="fs: {read: ['/**']}")
    ok(status == 403 and not os.path.exists(config + "/enclave.yaml"), "its policy is not written by itself", status, body)


def test_shell(d, granted, secret):
    invoke(d, "set_policy", policy=grants(granted, "cat", "sh", "sleep", "head"))
    status, body = invoke(d, "shell_exec", cmd="cat", args=[granted + "/file.txt"])
    ok(status == 200 and body["exit_code"] == 0 and body["stdout"]["data"] == "hello", "a granted command runs", status, body)
    status, body = invoke(d, "shell_exec", cmd="ls", args=["/"])
    ok(status == 403 and body["denial"]["op"] == "exec", "another does not", status, body)
    status, body = invoke(d, "shell_exec", cmd="cat", args=[secret])
    ok(status == 200 and body["exit_code"] != 0 and body["stdout"]["data"] == "", "it reads no more than fs_read does", status, body)
    status, body = invoke(d, "shell_exec", cmd="sh", args=["-c", "cat /proc/self/status"])
    ok("NoNewPrivs:\t1" in body["stdout"]["data"] and "Seccomp:\t2" in body["stdout"]["data"], "it runs in a sandbox", status, body)
    status, body = invoke(d, "shell_exec", cmd="cat", args=["$(sleep 1); `id`"], cwd=granted)
    ok(status == 200 and body["exit_code"] != 0 and "uid=" not in body["stdout"]["data"], "no shell reads its arguments", status, body)
    status, body = invoke(d, "shell_exec", cmd="sh", args=["-c", "pwd; cat"], cwd=granted, stdin="input")
    ok(body["stdout"]["data"] == granted + "\ninput", "it has its folder and its input", status, body)
    status, body = invoke(d, "shell_exec", cmd="sleep", args=["30"], timeout_ms=300)
    ok(status == 200 and body["timed_out"], "a time-out ends it", status, body)
    status, body = invoke(d, "shell_exec", cmd="head", args=["-c", "3000000", "/dev/zero"])
    ok(status == 200 and body["stdout"]["truncated"] and body["stdout"]["encoding"] == "base64", "what it prints has a bound", status, str(body)[:300])
    limited = {**json.loads(grants(granted, "sh")), "limits": {"timeout": "300ms"}}
    status, body = invoke(d, "set_policy", policy=json.dumps(limited))
    status, body = invoke(d, "shell_exec", cmd="sh", args=["-c", "while :; do :; done"], timeout_ms=20000)
    ok(status == 200 and body["timed_out"], "limits of the policy hold", status, body)


def test_stream(d, granted):
    invoke(d, "set_policy", policy=grants(granted, "sh", "sleep"))
    e = daemon.Events(d)
    status, body = invoke(d, "shell_exec", cmd="sh", args=["-c", "echo one; echo two >&2"], id="call-1")
    heard = {data["stream"]: data for data in (e.next("output")["data"], e.next("output")["data"])}
    ok([heard["stdout"][key] for key in ("call", "data")] == ["call-1", "one\n"], "output is an event", heard)
    ok([heard["stderr"][key] for key in ("data", "skipped")] == ["two\n", 0], "of each stream", heard)
    ok(body["stdout"]["data"] == "one\n", "and in the answer", status, body)
    # 2 MB at once: not 2 MB of events.
    status, body = invoke(d, "shell_exec", cmd="sh", args=["-c", "i=0; while [ $i -lt 200 ]; do printf '%10000d' $i; i=$((i+1)); done; echo end"], id="call-2")
    n = told = 0
    while told < 1 << 20 and (event := e.next("output")):
        if event["data"]["call"] == "call-2":
            n += 1
            told += len(event["data"]["data"]) + event["data"]["skipped"]
    ok(status == 200 and n < 200, "a command that prints fast does not push all others out of the ring", n)
    e.close()


def test_file(d, granted, path):
    """The user's file: in force at once, and the last good state while it is broken."""
    invoke(d, "set_policy", policy="{}")
    ok(invoke(d, "fs_read", path=granted + "/file.txt")[0] == 403, "an empty policy takes everything back")
    write(path, grants(granted, "cat"))
    status, body = invoke(d, "fs_read", path=granted + "/file.txt")
    ok(status == 200, "enclave.yaml grants at the next call", status, body)
    ok(invoke(d, "get_policy")[1]["file"] == path, "get_policy names it")
    e = daemon.Events(d)
    write(path, "fs:\n  read: [\n")
    status, body = invoke(d, "fs_read", path=granted + "/file.txt")
    ok(status == 200, "a broken file changes nothing", status, body)
    event = e.next("policy")["data"]
    error = invoke(d, "get_policy")[1]["error"]
    ok(event["state"] == "broken" and error["line"] >= 2 and error["file"] == path, "its error has the line", event, error)
    write(path, "{}")
    ok(invoke(d, "fs_read", path=granted + "/file.txt")[0] == 403, "what the file takes back is denied at the next call")
    e.close()
    os.unlink(path)
    status, body = invoke(d, "set_policy", policy="fs:\n  raed: [/srv]\n")
    ok(status == 422 and body["line"] == 2, "a policy with a mistake is refused, with its line", status, body)
    # Below the ceiling of another daemon.
    d.stop()
    write(os.path.dirname(path) + "/enclave-ceiling.yaml", grants(granted))
    d.start()
    status, body = invoke(d, "set_policy", policy=grants(d.place))
    ok(status == 409 and "ceiling" in body["error"], "no more than the ceiling can be granted", status, body)
    ok(invoke(d, "set_policy", policy=grants(granted))[0] == 200 and invoke(d, "fs_read", path=granted + "/file.txt")[0] == 200, "what is below it can")
    d.stop()
    write(os.path.dirname(path) + "/enclave-ceiling.yaml", "fs: [")
    d.start()
    status, body = invoke(d, "set_policy", policy=grants(granted))
    ok(status == 409 and invoke(d, "get_policy")[1]["error"], "below a ceiling that cannot be read nothing can", status, body)
    for name, make in (("a link that leads nowhere", lambda c: os.symlink("none", c)), ("a link to itself", lambda c: os.symlink(c, c)),
                       ("a FIFO", os.mkfifo)):
        d.stop()
        os.unlink(os.path.dirname(path) + "/enclave-ceiling.yaml")
        make(os.path.dirname(path) + "/enclave-ceiling.yaml")
        d.start()
        status, body = invoke(d, "set_policy", policy=grants(granted))
        ok(status == 409 and invoke(d, "get_policy")[1]["error"], f"nor below {name}", status, body)
    d.stop()
    os.unlink(os.path.dirname(path) + "/enclave-ceiling.yaml")
    d.start()


def enclave_pid(d):
    for pid in open(f"/proc/{d.process.pid}/task/{d.process.pid}/children").read().split():
        try:
            if open(f"/proc/{pid}/comm").read().strip() == "corrald-enclave":
                return int(pid)
        except OSError:
            continue  # it ended since
    return None


def test_death(d, granted):
    """Its process dies: what it did is lost, what was granted is not."""
    invoke(d, "set_policy", policy=grants(granted, "sh", "sleep"))
    first = enclave_pid(d)
    os.kill(first, signal.SIGKILL)
    ok(daemon.until(lambda: enclave_pid(d) is None), "it is killed")
    status, body = invoke(d, "fs_read", path=granted + "/file.txt")
    ok(status == 200 and enclave_pid(d) not in (None, first), "the next call has another one, with the same policy", status, body)
    file = d.place + "/config/corral/enclave.yaml"
    before = open(file).read() if os.path.exists(file) else None
    write(file, grants(d.place + "/none"))
    ok(invoke(d, "fs_read", path=granted + "/file.txt")[0] == 403, "a file that was written since counts more than what was set")
    os.kill(enclave_pid(d), signal.SIGKILL)
    ok(daemon.until(lambda: enclave_pid(d) is None), "it is killed again")
    status, body = invoke(d, "fs_read", path=granted + "/file.txt")
    ok(status == 403, "and the next one does not have what was set before", status, body)
    if before is None:
        os.unlink(file)
    else:
        write(file, before)
    invoke(d, "set_policy", policy=grants(granted, "sh", "sleep"))
    process = waits(d, [SECONDS])
    ok(daemon.until(sleeps), "a command runs")
    os.kill(enclave_pid(d), signal.SIGKILL)
    said = process.communicate(timeout=60)[1]
    ok("503" in said and "may have been carried out" in said, "who waits for it hears that it has gone", said)
    ok(daemon.until(lambda: not sleeps()), "its command ends with it")
    ok(d.get("/api/status")[0] == 200, "the daemon goes on")
    # The same with the process that would pass the answer on.
    process = waits(d, [SECONDS])
    ok(daemon.until(sleeps), "another command runs")
    os.kill(d.status()["http"]["pid"], signal.SIGKILL)
    ok("503" not in process.communicate(timeout=60)[1] and process.returncode, "corrald-http is killed: there is no answer", process.returncode)
    ok(daemon.until(lambda: daemon.works(d)), "another one is there")
    found = [r for r in d.get("/api/audit?limit=1000&action=service")[2]["records"] if "corrald-http ended" in r["reason"]]
    ok(any(r["target"] == "POST /api/invoke/shell_exec" and "may have been carried out" in r["reason"] for r in found),
       "the log says that the call may have been carried out", found)
    os.kill(enclave_pid(d), signal.SIGKILL)
    ok(daemon.until(lambda: not sleeps()), "its command ends with the enclave")


def test_joins(d, granted):
    """The daemon's own enclave joins it as any program of the library does."""
    invoke(d, "set_policy", policy=grants(granted, "sh", "sleep"))
    pid = enclave_pid(d)
    ok(daemon.until(lambda: pid in [b["pid"] for b in d.get("/api/sandboxes")[2]["sandboxes"]]), "it is among the sandboxes")
    own = next(b for b in d.get("/api/sandboxes")[2]["sandboxes"] if b["pid"] == pid)
    invoke(d, "fs_read", path="/etc/gshadow")
    ok(daemon.until(lambda: any(r["target"] == "/etc/gshadow" and r["decision"] == "denied" for r in d.get("/api/audit?limit=1000&session=" + own["id"])[2]["records"])),
       "what it denies is in the daemon's log")
    process = waits(d, [SECONDS])
    ok(daemon.until(sleeps), "a command runs")
    ok(d.get("/api/sandboxes/" + own["id"], method="DELETE")[0] == 200, "the user ends it")
    process.communicate(timeout=60)
    ok(daemon.until(lambda: not sleeps()), "its command is killed")
    ok(daemon.until(lambda: invoke(d, "fs_read", path=granted + "/file.txt")[0] == 200), "a later call has another one")


def test_grants(d, granted):
    """It takes grants from the daemon as any enclave does: below its policy, until that is another one."""
    asked = os.path.realpath(granted) + "/file.txt"
    asks = {"rules": [{"id": "asks", "action": "ask", "operations": ["fs.read"], "patterns": [os.path.realpath(granted) + "/**"]}]}
    invoke(d, "set_policy", policy=json.dumps(asks))
    ok(invoke(d, "fs_read", path=asked)[0] == 409, "what its policy asks about is not read")
    pid = enclave_pid(d)
    ok(daemon.until(lambda: pid in [b["pid"] for b in d.get("/api/sandboxes")[2]["sandboxes"]]), "it has joined")
    own = next(b for b in d.get("/api/sandboxes")[2]["sandboxes"] if b["pid"] == pid)
    # It is idle: no call is under way in which it could hear the daemon.
    grants = "/api/sandboxes/" + own["id"] + "/grants"
    status = d.get(grants, method="POST", body={"action": "fs.read", "target": asked})[0]
    ok(status in (200, 201) and invoke(d, "fs_read", path=asked)[0] == 200, "granted at the daemon, it is", status)
    status, _, body = d.get(grants, method="POST", body={"action": "fs.read", "target": "/etc/passwd"})
    ok(status in (403, 409) and "ceiling" in json.dumps(body), "what its policy does not name is above its ceiling", status, body)
    ok(invoke(d, "set_policy", policy=json.dumps(asks))[0] == 200 and invoke(d, "fs_read", path=asked)[0] == 409
       and daemon.until(lambda: not d.get("/api/grants")[2]["grants"]), "set_policy ends it")
    done = corral(d, "grants", "add", own["id"], "fs.read", asked)
    ok(done.returncode == 0 and invoke(d, "fs_read", path=asked)[0] == 200, "corral grants add: the same, while it is idle", done.stdout, done.stderr)
    given = d.get("/api/grants")[2]["grants"]
    done = corral(d, "grants", "remove", given[0]["id"])
    ok(done.returncode == 0 and invoke(d, "fs_read", path=asked)[0] == 409, "corral grants remove takes it back", done.stdout, done.stderr)
    asked_id = next(q["id"] for q in d.get("/api/questions")[2]["questions"] if q["target"] == asked)
    done = corral(d, "questions", "allow", asked_id, "--for", "1h")
    ok(done.returncode == 0 and invoke(d, "fs_read", path=asked)[0] == 200, "corral questions allow: the answer, while it is idle", done.stdout, done.stderr)


def test_empty(d, path, granted):
    """An enclave to which no file grants anything is granted a folder below its ceiling, and nothing without one."""
    folder = os.path.realpath(granted)
    place = os.path.dirname(path) + "/enclave-ceiling.yaml"
    for ceiling in (None, json.dumps({"fs": {"read": [folder + "/**"]}})):
        d.stop()
        if ceiling:
            write(place, ceiling)
        d.start()
        ok(invoke(d, "fs_read", path=folder + "/file.txt")[0] == 403, "nothing is granted")
        pid = enclave_pid(d)
        ok(daemon.until(lambda pid=pid: pid in [b["pid"] for b in d.get("/api/sandboxes")[2]["sandboxes"]]), "it has joined")
        own = next(b for b in d.get("/api/sandboxes")[2]["sandboxes"] if b["pid"] == pid)
        status, _, body = d.get("/api/sandboxes/" + own["id"] + "/grants", method="POST", body={"action": "fs.read", "target": folder + "/**"})
        if ceiling:
            ok(status in (200, 201) and invoke(d, "fs_read", path=folder + "/file.txt")[0] == 200, "below enclave-ceiling.yaml a folder is granted", status, body)
            ok(invoke(d, "fs_write", path=folder + "/x", content="x")[0] == 403, "and no more than that")
        else:
            ok(status in (403, 409) and invoke(d, "fs_read", path=folder + "/file.txt")[0] == 403, "without enclave-ceiling.yaml nothing can be granted", status, body)
    shown = "/api/sandboxes/" + own["id"]
    ok(daemon.until(lambda: folder in json.dumps(d.get(shown)[2]["ceiling"])) and not d.get(shown)[2]["permissions"], "its ceiling is shown", d.get(shown))
    d.stop()
    os.unlink(place)
    d.start()


def waits(d, args):
    """shell_exec of sleep in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", "import sys, http.client, socket\nc = http.client.HTTPConnection('localhost')\n"
                             "c.sock = socket.socket(socket.AF_UNIX)\nc.sock.connect(sys.argv[1])\nc.request('POST', '/api/invoke/shell_exec', sys.argv[3], "
                             "{'Authorization': 'Bearer ' + sys.argv[2], 'Content-Type': 'application/json'})\nr = c.getresponse()\n"
                             "text = r.read()\nif r.status != 200: sys.exit(f'{r.status} {text}')",
                             d.folder + "/api.sock", d.token, json.dumps({"cmd": "sleep", "args": args})],
                            stderr=subprocess.PIPE, text=True)


def sleeps():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if SECONDS.encode() in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def test_audit(d, granted):
    invoke(d, "set_policy", policy=json.dumps({"allowed_roots": [granted], "session_id": "first-session"}))
    invoke(d, "fs_read", path="/etc/gshadow")
    invoke(d, "set_policy", policy=grants(granted))
    invoke(d, "fs_read", path="/etc/shadow")
    named = {e["target"]: e["sandbox"] for e in invoke(d, "get_audit_log", limit=20)[1]["entries"] if e["action"] == "fs.read"}
    ok(named["/etc/gshadow"] == "first-session" and named["/etc/shadow"] != "first-session", "records have the session_id of the grants", named)
    status, body = invoke(d, "export_audit_log", path=granted + "/audit.json")
    log = json.load(open(granted + "/audit.json"))
    ok(status == 200 and any(e["target"] == "/etc/shadow" and e["decision"] == "denied" for e in log), "the log is exported to a JSON file", status, body)
    ok(json.loads(invoke(d, "export_audit_log")[1]["content"]), "or is the answer itself")
    status, body = invoke(d, "export_audit_log", path="/etc/corral-test.json")
    ok(status == 403 and not os.path.exists("/etc/corral-test.json"), "not to where nothing may be written", status, body)
    status, body = invoke(d, "export_audit_log", format="csv")
    ok(status == 200 and "/etc/shadow" in body["content"], "in other formats, too", status, body)


def test_client(d, granted):
    script, client = os.environ.get("INVOKE", HERE + "/invoke.mjs"), os.environ["CLIENT"]
    node = shutil.which("node")
    if not ok(node, "there is node"):
        return
    invoke(d, "set_policy", policy="{}")
    done = subprocess.run([node, script, client, d.folder, granted], capture_output=True, text=True, timeout=120, check=False)
    if not ok(done.returncode == 0, "the client of sdk/js runs", done.stderr):
        return
    out = json.loads(done.stdout)
    ok(out["passwd"]["status"] == 403 and out["passwd"]["message"].startswith("Permission denied") and out["passwd"]["denial"]["rule"] is not None,
       "invoke('fs_read', {path: '/etc/passwd'}): Permission denied", out["passwd"])
    ok(out["text"] == "hello" and out["read"] == {"bytes": [0, 255, 10]}, "what is granted is read: text, and bytes", out["text"], out["read"])
    ok("js.bin" in [e["name"] for e in out["list"]], "and listed", out["list"])
    ok(out["policy"]["fs"]["read"], "a policy may be an object", out["policy"])
    ok(out["escape"]["status"] == 403 and out["wrong"]["status"] == 422 and out["wrong"]["line"], "refusals are errors", out["escape"], out["wrong"])
    printed = {name: "".join(text for stream, text in out["heard"] if stream == name) for name in ("stdout", "stderr")}
    ok(out["shell"]["exit_code"] == 0 and out["shell"]["stdout"] == "one\ntwö\n" == printed["stdout"] and printed["stderr"] == "err\n" and len(out["heard"]) >= 3,
       "output comes while the command runs, and is whole", out["shell"], out["heard"])
    ok(isinstance(out["log"], list) and any(e["target"] == "/etc/passwd" and e["decision"] == "denied" for e in out["log"]), "the audit is an array", out["log"][:2])
    ok(os.path.exists(granted + "/log.json"), "and a file")


def test_hooks(d, granted):
    """React hooks, in a page that the main process gave two functions."""
    done = subprocess.run(["node", os.environ.get("HOOKS", HERE + "/hooks.mjs"), os.environ["HOOKS_CLIENT"], os.environ["CLIENT"],
                           d.folder, granted], capture_output=True, text=True, timeout=120, check=False)
    if not ok(done.returncode == 0, "sdk/js: hooks", done.stdout[-500:], done.stderr[-1500:]):
        return
    out = json.loads(done.stdout)
    ok(out["read"] == "hello" and out["busy"] is False, "useEnclave has the file of a granted folder", out)
    ok(out["denied"]["message"].startswith("Permission denied: /etc/passwd") and out["denied"]["status"] == 403 and out["denied"]["op"] == "fs.read" and out["denied"]["value"] is None,
       "and what is denied, with the denial, and no value of before", out)
    ok(out["last"] == "hello" and out["calm"] == 1 and out["late"] == 0, "the last call counts, the same arguments call nothing, and nothing is set after the end", out)
    ok(out["written"] == "text" and out["thrown"].startswith("EnclaveError: Permission denied"), "useEnclaveCall writes, and throws what is denied", out)
    ok(out["channels"] == ["corral:fs_read", "corral:fs_write"] and "exposed" not in out and out["refused"] == 4 and out["unexposed"] == 3,
       "the page has the two functions, and no authority: set_policy cannot be exposed", out)


def main():
    with beside_user(__file__, PROGRAMS, DAEMON_TAP=daemon.__file__, INVOKE=HERE + "/invoke.mjs", HOOKS=HERE + "/hooks.mjs", CLIENT=os.environ["CLIENT"], HOOKS_CLIENT=os.environ["HOOKS_CLIENT"]):
        d = daemon.Daemon()
        granted, secret = d.place + "/granted", d.place + "/secret.txt"
        write(granted + "/file.txt", "hello")
        write(secret, "secret")
        for name, target in (("link", secret), ("up", ".."), ("proc", "/proc"), ("null", "/dev/null")):
            os.symlink(target, os.path.join(granted, name))
        try:
            d.start()
            test_denied(d, granted)
            test_granted(d, granted, secret)
            test_own_folders(d)
            test_shell(d, granted, secret)
            test_stream(d, granted)
            test_file(d, granted, d.place + "/config/corral/enclave.yaml")
            test_death(d, granted)
            test_audit(d, granted)
            test_joins(d, granted)
            test_grants(d, granted)
            test_empty(d, d.place + "/config/corral/enclave.yaml", granted)
            test_client(d, granted)
            test_hooks(d, granted)
        finally:
            d.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
