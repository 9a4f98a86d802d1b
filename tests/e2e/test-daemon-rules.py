#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of stored policies by the daemon's API, one by one: what they do, what refuses a change, and texts that would be
more than one rule. As root, once more as an ordinary user. Prints TAP."""

import json
import os
import subprocess
import sys
import urllib.parse

import daemon_tap as daemon
from broker_tap import end, ok


class Rules(daemon.Daemon):
    def __init__(self):
        super().__init__()
        self.policies = self.place + "/config/corral/policy.d"
        self.work = self.place + "/work"
        os.mkdir(self.work)
        with open(self.work + "/file", "w") as f:
            f.write("here\n")
        self.deny = {"action": "deny", "operations": ["file_read"], "patterns": [self.work + "/file"]}

    def call(self, method, rule=None, body=None, query="", **more):
        path = "/api/rules" + ("" if rule is None else "/" + urllib.parse.quote(rule, safe="")) + query
        status, _, answer = self.get(path, method=method, body=body, **more)
        return status, answer

    def write(self, name, text):
        path = os.path.join(self.policies, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def read(self, name):
        with open(os.path.join(self.policies, name)) as f:
            return json.load(f)

    def run(self, *words):
        return subprocess.run([daemon.CORRAL, "run", *words], cwd=self.work, env=self.env, capture_output=True, text=True, timeout=60, check=False)

    def reads(self):
        done = self.run("--", "cat", "file")
        return {0: done.stdout == "here\n", 1: False}.get(done.returncode)


def test_crud(d):
    ok(d.call("GET") == (200, {"rules": [], "broken": []}), "there are none", d.call("GET"))
    status, made = d.call("POST", body={"id": "no-file", "name": "not this one", **d.deny})
    ok(status == 200 and made["id"] == "custom/rules:no-file" and made["etag"] and d.reads() is False, "POST makes one, which binds the next run", status, made)
    ok(d.read("custom/rules.json")["defaultAction"] == "allow" and d.run("--", "true").returncode == 0, "and what it does not say is as before")
    one = d.call("GET")[1]["rules"][0]
    ok((one["policy"], one["name"], one["action"], one["operations"], one["patterns"], one["enabled"], one["is_writable"]) ==
       ("custom/rules", "not this one", "deny", ["file_read"], d.deny["patterns"], True, True) and one["file"].endswith("/policy.d/custom/rules.json") and one["line"] > 1,
       "GET has it with its place", one)
    ok(d.call("GET", made["id"]) == (200, one), "by its id, too")
    ok(d.call("GET", query="?policy=custom/other")[0] == 404 and d.call("GET", query="?policy=custom/rules")[1]["rules"] == [one], "of one policy")
    status, changed = d.call("PATCH", made["id"], {"enabled": False, "etag": made["etag"]})
    ok(status == 200 and d.reads() is True and d.call("GET", made["id"])[1]["name"] == "not this one", "PATCH changes what is given", status, changed)
    status, put = d.call("PUT", made["id"], {**d.deny, "priority": 7, "etag": changed["etag"]})
    one = d.call("GET", made["id"])[1]
    ok(status == 200 and d.reads() is False and (one["name"], one["enabled"], one["priority"]) == (None, True, 7), "PUT is the whole rule", status, one)
    for method, body in (("PUT", {**d.deny, "etag": made["etag"]}), ("PATCH", {"enabled": False, "etag": made["etag"]})):
        status, answer = d.call(method, made["id"], body)
        ok(status == 409 and "changed meanwhile" in answer["error"] and d.reads() is False, f"{method} with a stale etag", status, answer)
    ok(d.call("DELETE", made["id"], query="?etag=" + made["etag"])[0] == 409, "DELETE, too")
    ok(d.call("POST", body={"id": "no-file", **d.deny})[0] == 409, "POST of an id that there is")
    status, answer = d.call("DELETE", made["id"], query="?etag=" + put["etag"])
    ok(status == 200 and answer["removed"] is True and d.reads() is True and d.call("DELETE", made["id"])[0] == 404, "DELETE, and twice", status, answer)
    versions = d.get("/api/policies/custom%2Frules")[2]["history"]
    ok([v["by"] for v in versions] == ["save"] * 4, "each change is a version of the policy", versions)
    d.get("/api/policies/custom%2Frules/undo", method="POST")
    ok(d.reads() is False, "and undo takes it back")
    told = [json.loads(r["target"]) for r in d.get("/api/audit?action=policy&limit=1000")[2]["records"]]
    ok([t["state"] for t in told if t.get("rule")] == ["added", "changed", "replaced", "removed"], "each change is in the log, and what was refused is not", told)
    first = [r for r in d.get("/api/audit?action=service&decision=asked&limit=1000")[2]["records"] if r["target"] == "POST /api/rules"][0]
    given = json.loads(first["reason"].partition("given: ")[2])
    ok(given == {"id": "no-file", "name": "not this one", **d.deny}, "the record before a change has its values", first)
    d.get("/api/policies/custom%2Frules", method="DELETE")


def test_kept(d):
    path = d.write("custom/team.json", {"version": "1.0", "defaultAction": "allow", "mode": "enforce", "metadata": {"x": 1.50},
                                        "rules": [{"id": "a", "type": "denylist", "operations": ["exec"], "patterns": ["nope"], "tags": ["t"]}, {"id": "b", **d.deny}]})
    os.chmod(path, 0o640)
    a = d.call("GET", "custom/team:a")[1]
    ok(a["action"] == "deny", "the earlier word for an action", a)
    status, answer = d.call("PATCH", "custom/team:a", {"action": "allow", "etag": a["etag"]})
    found = d.read("custom/team.json")
    ok(status == 200 and found["mode"] == "enforce" and found["rules"][0] == {"id": "a", "operations": ["exec"], "patterns": ["nope"], "tags": ["t"], "action": "allow"}
       and found["rules"][1] == {"id": "b", **d.deny} and "1.5" in open(path).read(), "what is not changed stays", answer, found)
    ok(os.stat(path).st_mode & 0o777 == 0o640, "so does the mode of the file", oct(os.stat(path).st_mode))
    b = d.call("GET", "custom/team:b")[1]
    ok(d.call("PATCH", "custom/team:b", {"priority": 3, "etag": b["etag"]})[0] == 200, "another rule's change does not make an etag stale")
    many = [subprocess.Popen([daemon.CORRAL, "policy", "rules", "--add", "--policy", "custom/team", "-"], env=d.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) for _ in range(8)]
    for i, p in enumerate(many):
        p.stdin.write(json.dumps({"id": f"r{i}", **d.deny}))
        p.stdin.close()
    ok([p.wait(60) for p in many] == [0] * 8 and len(d.read("custom/team.json")["rules"]) == 10, "eight writers at once lose nothing")
    d.write("custom/scoped.json", {"version": "1.0", "defaultAction": "allow", "rules": [{"id": "all", "scope": "global", **d.deny}, {"id": "none", **d.deny}]})
    rows = {r["id"]: r for r in d.call("GET", query="?policy=custom/scoped")[1]["rules"]}
    ok((rows["custom/scoped:all"]["scope"], rows["custom/scoped:none"]["scope"]) == ("global", None), "a scope is shown", rows)
    os.unlink(d.policies + "/custom/scoped.json")
    d.write("lists.yaml", "fs:\n  read: [/**]\n  write:\n    - /**\n  deny: [/srv/x]\nnetwork: {allow: ['*:*']}\nenv: ['*']\n")
    rows = [r for r in d.call("GET")[1]["rules"] if r["policy"] == "lists"]
    ok([(r["operations"], r["action"], r["patterns"], r["line"]) for r in rows[:3]] == [(["fs.read"], "allow", ["/**"], 2), (["fs.write"], "allow", ["/**"], 4), (["fs.deny"], "deny", ["/srv/x"], 5)]
       and not any(r["is_writable"] for r in rows), "entries of a policy in YAML are rules that can be read", rows)
    status, answer = d.call("PATCH", rows[0]["id"], {"enabled": False, "etag": "x"})
    ok(status == 409 and "whole policy" in answer["error"] and "/api/policies/NAME" in answer["hint"], "and are changed with their policy", answer)
    ok(d.call("POST", body={"id": "x", "policy": "lists", **d.deny})[0] == 409, "nor is one added there")
    os.unlink(d.policies + "/lists.yaml")


def test_own(d):
    """Rules of a file of permissions, which `policy list` counts, too."""
    d.write("own.yaml", "fs:\n  read: [/**]\nrules:\n  - id: hosts\n    name: ask first\n    action: ask\n    operations: [fs.read, fs.write]\n    patterns: [/srv/a, /srv/b]\n    priority: -3\n"
            "  - {id: off, action: deny, operations: [net.connect], patterns: ['example.com:443'], methods: [POST], enabled: false}\n")
    d.write("layers.yaml", "all_of:\n  - fs: {read: [/**], write: [/**]}\n    network: {allow: ['*:*']}\n    env: ['*']\n    rules: [{id: inner, action: deny, operations: [fs.read], patterns: [/srv/x]}]\n")
    found = d.call("GET", query="?policy=own")[1]
    rows = {r["id"]: r for r in found["rules"]}
    hosts, off = rows.get("own:hosts", {}), rows.get("own:off", {})
    ok((hosts.get("action"), hosts.get("name"), hosts.get("operations"), hosts.get("patterns"), hosts.get("priority"), hosts.get("enabled"), hosts.get("line")) ==
       ("ask", "ask first", ["fs.read", "fs.write"], ["/srv/a", "/srv/b"], -3, True, 4), "a rule of Corral's own format is listed", found)
    ok((off.get("action"), off.get("enabled"), off.get("methods"), off.get("name")) == ("deny", False, ["POST"], None), "so is one that is disabled", off)
    layers = d.call("GET", query="?policy=layers")[1]["rules"]
    ok([r["patterns"] for r in layers if r["id"] == "layers:inner"] == [["/srv/x"]] and len(layers) > 3, "and those of layers", layers)
    ok(not any(r["is_writable"] or r["etag"] for r in rows.values()), "none of them can be written here", rows)
    listed = subprocess.run([daemon.CORRAL, "policy", "list", "--json"], env=d.env, capture_output=True, text=True, check=False)
    counted = [p["rules"] for p in json.loads(listed.stdout)["policies"] if p["name"] == "own"]
    ok(counted == [len(rows)], "as many as `policy list` says", counted, len(rows), listed.stdout)
    shown = subprocess.run([daemon.CORRAL, "policy", "rules"], env=d.env, capture_output=True, text=True, check=False).stdout
    ok("own:hosts" in shown and "ask" in shown, "also on a terminal", shown)
    status, answer = d.call("PATCH", "own:hosts", {"enabled": False, "etag": "x"})
    ok(status == 409 and "whole policy" in answer["error"], "they are changed with their policy", status, answer)
    d.write("both.json", {"fs": {"read": ["/**"]}, "rules": [{"id": "a", "action": "ask", "operations": ["fs.read"], "patterns": ["/srv/x"]}]})
    before = d.read("both.json")
    got = [d.call("PATCH", "both:a", {"enabled": False, "etag": "x"})[0], d.call("DELETE", "both:a")[0], d.call("POST", body={"id": "n", "policy": "both", **d.deny})[0]]
    ok(d.call("GET", "both:a")[1]["is_writable"] is False and got == [409] * 3 and d.read("both.json") == before, "also if it is JSON", got, d.call("GET", "both:a"))
    os.unlink(d.policies + "/both.json")
    os.unlink(d.policies + "/own.yaml")
    os.unlink(d.policies + "/layers.yaml")


def test_ceiling(d):
    d.write("ceiling.yaml", f"fs: {{read: [/**], write: [/**], deny: [{d.work}/file]}}\nnetwork: {{allow: ['*:*']}}\nenv: ['*']\n")
    os.mkdir(d.place + "/.ssh")
    with open(d.place + "/.ssh/id_rsa", "w") as f:
        f.write("secret\n")
    wide = {"action": "allow", "operations": ["*"], "patterns": ["**", d.work + "/**", d.place + "/**"], "priority": 2147483647}
    status, answer = d.call("POST", body={"id": "all", "policy": "custom/team", **wide})
    ok(status == 200 and d.reads() is False, "a rule that allows all does not undo what another policy denies", answer)
    ok("secret" not in d.run("--read", d.place + "/**", "--", "cat", d.place + "/.ssh/id_rsa").stdout, "nor the baseline")
    os.unlink(d.policies + "/ceiling.yaml")
    d.call("DELETE", "custom/team:all")


def test_hostile(d):
    before = open(d.policies + "/custom/team.json").read()
    evil = 'x"}], "defaultAction": "allow", "rules": [{"id": "y", "action": "allow", "operations": ["*"], "patterns": ["**"]}]}\n\u2028\u001b[2J'
    status, answer = d.call("POST", body={"id": evil, "name": evil, "policy": "custom/team", "action": "deny", "operations": ["file_read"], "patterns": [d.work + "/" + evil.replace("*", "")]})
    now = d.read("custom/team.json")
    ok(status in (200, 422) and now["defaultAction"] == "allow" and [r["id"] for r in now["rules"]][:10] == [r["id"] for r in json.loads(before)["rules"]]
       and len(now["rules"]) == 10 + (status == 200) and "y" not in [r["id"] for r in now["rules"]], "a text that looks like another rule is a text", status, answer)
    ok("\x1b" not in subprocess.run([daemon.CORRAL, "policy", "rules"], env=d.env, capture_output=True, text=True, check=False).stdout, "also on a terminal")
    if status == 200:
        ok(d.call("DELETE", "custom/team:" + evil)[0] == 200, "and can be removed by its id")
    before = open(d.policies + "/custom/team.json").read()
    rule = {"id": "n", "policy": "custom/team", **d.deny}
    for name, more, wanted in (
            ("an action that there is not", {"action": "permit"}, 400), ("a key that there is not", {"defaultAction": "allow"}, 400), ("scope", {"scope": "x"}, 400),
            ("patterns that are no list", {"patterns": "/x"}, 400), ("a list of lists", {"patterns": [["/x"]]}, 400), ("a priority that is no number", {"priority": "1"}, 400),
            ("a priority below 0", {"priority": -1}, 400), ("one that is too large", {"priority": 2147483648}, 400), ("no id", {"id": ""}, 400),
            ("an operation that there is not", {"operations": ["file_raed"]}, 422), ("a method that is none", {"operations": ["http_request"], "methods": ["G T"]}, 422),
            ("a name that leads elsewhere", {"policy": "custom/../../x"}, 422), ("a link of words", {"policy": "--system"}, 422)):
        status, answer = d.call("POST", body={**rule, **more})
        ok(status == wanted and isinstance(answer["error"], str) and open(d.policies + "/custom/team.json").read() == before, name, status, answer)
    ok(d.call("POST", body={k: v for k, v in rule.items() if k != "operations"})[0] == 422, "neither operations nor a target")
    for rule_id in ("", "custom/team", "custom/team:", ":x", "none:x", "custom/../x:y", "--help", "custom/team:none", "x\ny:z"):
        got = [d.call("GET", rule_id)[0], d.call("PATCH", rule_id, {"enabled": False, "etag": "x"})[0], d.call("DELETE", rule_id)[0]]
        ok(got == [404] * 3, f"an id that is none: {rule_id!r}", got)
    etag = d.call("GET", "custom/team:b")[1]["etag"]
    ok(d.call("PATCH", "custom/team:b", {"id": "c", "etag": etag})[0] == 400 and d.call("PATCH", "custom/team:b", {"enabled": False})[0] == 400, "an id is not changed; an etag is needed")
    ok(d.call("POST", body={"id": "x", "policy": "custom/a", **d.deny})[0] == 409 and d.call("POST", body={"id": "x", "policy": "default", **d.deny})[0] == 409,
       "a new file does not come before the one whose defaultAction counts")
    d.write("custom/twice.json", {"rules": [{"id": "a", **d.deny}, {"id": "a", **d.deny}]})
    ok(d.call("DELETE", "custom/twice:a")[0] == 409, "of two rules with one id none is meant")
    d.write("custom/twice.json", "{ broken")
    status, answer = d.call("GET")
    ok(status == 200 and [b["policy"] for b in answer["broken"]] == ["custom/twice"] and len(answer["rules"]) == 10, "a broken policy hides no other", answer)
    ok(d.call("POST", body={"id": "x", "policy": "custom/twice", **d.deny})[0] == 409 and open(d.policies + "/custom/twice.json").read() == "{ broken", "and is not written over")
    os.unlink(d.policies + "/custom/twice.json")
    os.symlink("/etc/passwd", d.policies + "/custom/zlink.json")
    ok("root" not in json.dumps(d.call("GET")) and d.call("POST", body={"id": "x", "policy": "custom/zlink", **d.deny})[0] == 422, "a link is neither read nor written through")
    os.unlink(d.policies + "/custom/zlink.json")
    for method, body in (("GET", None), ("POST", rule), ("PUT", {**d.deny, "etag": etag}), ("PATCH", {"enabled": False, "etag": etag}), ("DELETE", None)):
        ok(d.call(method, None if method in ("GET", "POST") else "custom/team:b", body, headers={})[0] == 401, f"{method} without the token")
    ok(open(d.policies + "/custom/team.json").read() == before, "nothing was changed by any of these")


INSIDE = """
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    body = json.dumps({"id": "mine", "action": "allow", "operations": ["*"], "patterns": ["**"]}).encode()
    s.sendall(b"POST /api/rules HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer " + sys.argv[2].encode() + b"\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    print(s.recv(1000).decode().split("\\r\\n")[0])
except OSError as e:
    print("cannot:", e)
"""


def test_inside(d):
    before = open(d.policies + "/custom/team.json").read()
    with open(d.work + "/inside.py", "w") as f:
        f.write(INSIDE)
    done = d.run("--mode", "sandbox", "--data-dir", d.work, "--", "/usr/bin/python3", d.work + "/inside.py", d.folder + "/api.sock", d.token)
    ok(done.stdout.startswith("cannot:"), "a command with the token does not reach the socket", done)
    done = subprocess.run(["setpriv", "--no-new-privs", sys.executable, "-c", INSIDE, d.folder + "/api.sock", d.token], capture_output=True, text=True, timeout=60, check=False)
    ok("403" in done.stdout, "one that is confined and does is refused", done)
    done = d.run("--write", d.place + "/**", "--", "sh", "-c", f"echo {{}} >{d.policies}/custom/team.json")
    ok(done.returncode != 0, "nor does it write the file", done)
    ok(open(d.policies + "/custom/team.json").read() == before and not os.path.exists(d.policies + "/custom/rules.json"), "nothing was written")


# Stands for corral: a change of a rule is done, and then the process is ended, as one is that takes too long.
ENDED = """#!/bin/sh
case "$*" in
*--add*) {corral} "$@"; kill -9 $$ ;;
esac
exec {corral} "$@"
"""


def test_ended(d):
    program = d.place + "/ended"
    with open(program, "w") as f:
        f.write(ENDED.format(corral=daemon.CORRAL))
    os.chmod(program, 0o755)
    d.stop()
    d.start(env={"CORRAL_PROGRAM": program})
    status, answer = d.call("POST", body={"id": "late", "policy": "custom/team", **d.deny})
    told = [r for r in d.get("/api/audit?action=policy&limit=1000")[2]["records"] if '"late"' in r["target"]]
    ok(status == 500 and any(r["id"] == "late" for r in d.read("custom/team.json")["rules"]), "corral is ended after it wrote: no answer", status, answer)
    ok([json.loads(r["target"])["state"] for r in told] == ["added"] and "not known" in told[0]["reason"], "but a record, which says so", told)


def main():
    d = Rules()
    try:
        d.start()
        test_crud(d)
        test_kept(d)
        test_own(d)
        test_ceiling(d)
        test_hostile(d)
        test_inside(d)
        test_ended(d)
    finally:
        d.end()
    if os.geteuid() == 0:
        daemon.as_user(__file__)
    return end()


sys.exit(main())
