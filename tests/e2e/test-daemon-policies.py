#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stored policies by the daemon: its API, and what happens when files are changed by hand. As root, once more as an
ordinary user. Prints TAP."""

import json
import os
import shutil
import subprocess
import sys
import urllib.parse

import daemon_tap as daemon
from broker_tap import end, ok

OPEN = "fs: {read: [/**], write: [/**]}\nnetwork: {allow: ['*:*']}\nenv: ['*']\n"
NO_FILE = OPEN.replace("write: [/**]", "write: [/**], deny: [$WORK_DIR/file]")


class Policies(daemon.Daemon):
    def __init__(self):
        super().__init__()
        self.policies = self.place + "/config/corral/policy.d"
        self.work = self.place + "/work"
        os.mkdir(self.work)
        with open(self.work + "/file", "w") as f:
            f.write("here\n")

    def call(self, method, name="", body=None):
        status, _, answer = self.get("/api/policies" + name, method=method, body=body)
        return status, answer

    def save(self, name, text, etag=""):
        return self.call("PUT", "/" + urllib.parse.quote(name, safe=""), {"text": text, "etag": etag})

    def write(self, name, text):
        """Writes to a file in place if it exists. The daemon may read at any moment, and must not find it empty or incomplete."""
        path = os.path.join(self.policies, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            new = os.path.join(os.path.dirname(path), ".new")
            with open(new, "w") as f:
                f.write(text)
            os.rename(new, path)
            return
        with open(path, "r+b", buffering=0) as f:
            f.write(text.encode().ljust(os.path.getsize(path), b"\n"))

    def reads(self):
        done = subprocess.run([daemon.CORRAL, "run", "--", "cat", "file"], cwd=self.work, env=self.env, capture_output=True, text=True, timeout=60, check=False)
        return {0: done.stdout == "here\n", 1: False}.get(done.returncode)


def heard(events, name, state):
    while event := events.next("policy"):
        if event["data"].get("name") == name and event["data"].get("state") == state:
            return event["data"]
    return None


def test_api(d, e):
    status, answer = d.call("GET")
    ok(status == 200 and answer["policies"] == [], "there are none", answer)
    status, answer = d.save("team", NO_FILE)
    ok(status == 200 and answer["etag"] and d.reads() is False, "PUT stores one, and it binds the next run", status, answer)
    ok(heard(e, "team", "in force"), "which is an event")
    etag = answer["etag"]
    status, answer = d.call("GET")
    one = answer["policies"][0]
    ok(one["name"] == "team" and one["in_force"] and one["error"] is None and one["is_writable"] and one["path"].endswith("/policy.d/team.yaml"), "it is in the list", answer)
    status, answer = d.call("GET", "/team")
    ok(status == 200 and (answer["text"], answer["etag"], answer["error"], len(answer["history"])) == (NO_FILE, etag, None, 1), "GET has its text, etag and history", answer)
    status, answer = d.save("team", OPEN, "0-0")
    ok(status == 409 and isinstance(answer["error"], str), "a wrong etag: 409", status, answer)
    status, answer = d.save("team", "fs:\n  read: [/**]\n  wirte: [/**]\n", etag)
    ok(status == 422 and answer["line"] == 3 and answer["column"] and "wirte" in answer["error"] and d.reads() is False, "a text that is none: 422 with its line", status, answer)
    status, answer = d.save("team", OPEN, etag)
    ok(status == 200 and d.reads() is True, "the right etag", status, answer)
    status, answer = d.save("team", NO_FILE, etag)
    ok(status == 409 and d.reads() is True, "the second of two writers with the same etag is refused", status, answer)
    ok(d.call("GET", "/team/history/1") == (200, {"text": NO_FILE}), "an earlier version", d.call("GET", "/team/history/1"))
    ok([d.call("GET", "/team/history/" + n)[0] for n in ("9", "0", "x", "999999999")] == [404, 404, 400, 400], "those that there are not")
    status, answer = d.call("POST", "/team/undo")
    ok(status == 200 and answer["etag"] == etag and d.reads() is False, "undo", status, answer)
    status, answer = d.call("POST", "/team/undo", {"version": 2, "etag": etag})
    ok(status == 200 and d.reads() is True, "undo to a version", status, answer)
    check = {"stored": "team", "operation": "fs.read", "target": "/srv/x"}
    status, answer = d.call("POST", "/check", check)
    ok(status == 200 and answer["verdict"] == "allow" and answer["rule"]["file"].endswith("team.yaml"), "check against a stored policy", answer)
    ok(d.call("POST", "/lint", {"stored": "team"})[1]["findings"], "lint of it")
    ok([d.call("POST", "/check", {**check, **more})[0] for more in ({"stored": "none"}, {"policy": OPEN})] == [400, 400], "one that there is not; two at once")
    status, answer = d.call("DELETE", "/team")
    ok(status == 200 and answer["removed"] is True and heard(e, "team", "removed") and d.reads() is True, "DELETE", status, answer)
    ok(d.call("DELETE", "/team")[0] == 404, "twice")
    ok(len(d.call("GET", "/team")[1]["history"]) == 5, "its history stays", d.call("GET", "/team"))
    rules = {"version": "1.0", "defaultAction": "allow", "rules": [{"id": "<img src=x onerror=alert(1)>", "name": "</script>\u001b[2J\u202e", "action": "deny",
                                                                    "operations": ["file_read"], "patterns": [d.work + "/file"], "enabled": True, "priority": 1}]}
    text = json.dumps(rules)
    status, answer = d.save("custom/evil", text)
    ok(status == 200 and d.call("GET", "/evil")[1]["text"] == text and d.call("GET", "/custom%2Fevil")[1]["name"] == "custom/evil" and d.reads() is False,
       "rules, whose words are texts and nothing else", status, answer)
    d.call("DELETE", "/custom%2Fevil")


def test_hostile(d):
    for name in ("..%2Fx", "..", "%2Fetc%2Fpasswd", "custom%2F..%2F..%2Fx", ".x", "a%2Fb", "x" * 65, "%3Cscript%3E", "--help", "-", "x%0Ay", "%C3%A9"):
        got = [d.call("GET", "/" + name)[0], d.call("PUT", "/" + name, {"text": OPEN, "etag": ""})[0], d.call("DELETE", "/" + name)[0], d.call("POST", "/" + name + "/undo")[0]]
        ok(got == [404, 422, 404, 404], f"a name that is none: {name[:24]}", got)
    ok(d.call("GET", "/a%00b")[0] == 400 and d.call("GET", "/" + "x" * 81)[0] == 400 and d.call("GET", "/a/b")[0] == 404, "and what is none for the table of paths")
    ok(not os.path.exists(d.policies) or os.listdir(d.policies) in ([], ["custom"]), "nothing was written")
    os.makedirs(d.policies + "/custom", exist_ok=True)
    os.symlink("/etc/passwd", d.policies + "/custom/link.json")
    status, answer = d.call("GET", "/custom%2Flink")
    ok(status == 200 and answer["text"] is None and "root" not in json.dumps(answer), "a link is not followed", answer)
    ok(d.save("custom/link", '{"rules": []}')[0] == 422, "nor written through")
    os.unlink(d.policies + "/custom/link.json")
    os.mkfifo(d.policies + "/fifo.yaml")
    status, answer = d.call("GET")
    ok(status == 200 and "regular" in answer["policies"][0]["error"]["text"], "a FIFO blocks no request", answer)
    os.unlink(d.policies + "/fifo.yaml")
    ok(d.save("big", "# " + "x" * (1 << 20))[0] == 400, "a text beyond the bound")
    for body in ({"text": OPEN}, {"etag": ""}, {"text": "", "etag": ""}, {"text": 7, "etag": ""}, {"text": OPEN, "etag": "", "x": 1}):
        ok(d.call("PUT", "/team", body)[0] == 400, f"a body that is wrong: {sorted(body)}")
    ok(d.get("/api/policies", {})[0] == 401 and d.get("/api/policies/team", {}, "PUT", {"text": OPEN, "etag": ""})[0] == 401, "without the token: nothing")


def test_by_hand(d, e):
    shutil.rmtree(d.policies, ignore_errors=True)
    d.write("hand.yaml", NO_FILE)
    ok(heard(e, "hand", "in force") and d.reads() is False, "a file that was written by hand is in force at once, in a folder that was not there")
    d.write("hand.yaml", "fs: {read: [/**]}\nbroken: [\n")
    told = heard(e, "hand", "broken")
    ok(told and told["error"]["line"] >= 2 and told["error"]["text"], "one that breaks is an event with the line", told)
    ok(d.reads() is False, "and its last good version is in force")
    one = d.call("GET")[1]["policies"][0]
    ok(not one["in_force"] and one["last_good"] == 1 and one["error"]["line"] == told["error"]["line"], "the API shows both", one)
    temp = os.path.join(d.policies, ".hand.swp")
    with open(temp, "w") as f:
        f.write(OPEN)
    os.rename(temp, d.policies + "/hand.yaml")
    ok(heard(e, "hand", "in force") and d.reads() is True, "an editor that renames")
    os.rename(d.policies, d.policies + ".away")
    ok(heard(e, "hand", "removed"), "the folder goes")
    os.rename(d.policies + ".away", d.policies)
    ok(heard(e, "hand", "in force"), "and comes back")
    d.write("custom/more.json", '{"defaultAction": "allow", "rules": []}')
    ok(heard(e, "custom/more", "in force"), "a file in a folder custom/ that was not there")
    d.stop()
    d.write("hand.yaml", NO_FILE)
    d.start()
    listener = daemon.Events(d)
    ok(daemon.until(lambda: len(d.call("GET", "/hand")[1]["history"]) == 5), "what was changed without a daemon is recorded by the next", d.call("GET", "/hand"))
    records = d.get("/api/audit?limit=1000&action=policy")[2]["records"]
    ok(any('"state":"broken"' in r["target"] for r in records), "and all of it is in the log", records)
    listener.close()


def test_config(d):
    put = lambda **keys: d.get("/api/config", method="PUT", body=keys)
    file = d.place + "/config/corral/daemon.json"
    d.save("mode", NO_FILE)
    ok(d.get("/api/config")[2]["daemon"]["mode"] is None and d.reads() is False, "without a mode, what policies say is enforced")
    status, _, answer = put(mode="monitor", logLevel="debug", port=4000, heartbeat=7)
    ok(status == 200 and answer["at_once"] == ["mode", "logLevel"] and answer["at_next_start"] == ["heartbeat", "port"] and answer["file"] == file
       and answer["daemon"]["mode"] == "monitor" and answer["daemon"]["logLevel"] == "debug" and answer["daemon"]["port"] == 0, "PUT says what counts at once", status, answer)
    ok(d.reads() is True and d.call("GET")[1]["mode"] == "monitor", "the mode is in force for the next run")
    ok(json.load(open(file)) == {"version": "1.0", "daemon": {"mode": "monitor", "logLevel": "debug", "heartbeat": 7, "port": 4000}} and os.stat(file).st_mode & 0o777 == 0o600,
       "the file has it", open(file).read())
    ok(answer["success"] is True and answer["config"] == {"file": answer["file"], "daemon": answer["daemon"]}, "and has the configuration as AgenShield's answer has it", answer)
    put(mode="enforce")
    ok(d.reads() is False and json.load(open(file))["daemon"]["heartbeat"] == 7, "other keys stay")
    for keys in ({}, {"mode": "off"}, {"heartbeat": 3601}, {"host": "0.0.0.0"}, {"token": "x"}, {"mode": 1}):
        ok(put(**keys)[0] == 400, f"not a change: {keys}", put(**keys))
    for keys in ({"heartbeat": 0}, {"logFile": "relative"}):
        ok(put(**keys)[0] == 422 and isinstance(put(**keys)[2]["error"], str), f"not what the key takes: {keys}", put(**keys))
    before = d.call("GET", "/default")[0]
    rules = {"version": "1.0", "defaultAction": "allow", "rules": [{"id": "no-file", "name": "No file", "type": "denylist", "operations": ["file_read"],
             "patterns": [d.work + "/file"], "enabled": True, "priority": 10}]}
    ok(before == 404 and put(policies=[rules])[0] == 400 and put(policies="x")[0] == 400 and put(policies=rules, mode="audit")[0] == 400
       and put(policies={"rules": 1})[0] == 422 and d.call("GET", "/default")[0] == 404, "policies that are none, or beside other keys", put(policies={"rules": 1}))
    for none in ({}, {"fs": {"read": ["/usr/**"]}}, {"mode": "monitor"}):
        status, _, answer = put(policies=none)
        ok(status == 422 and "none of version, rules and defaultAction" in answer["error"] and d.call("GET", "/default")[0] == 404, f"no rules of AgenShield: {none}", status, answer)
    status, answer = d.call("PUT", "/default", {"text": "{}", "etag": ""})
    ok(status == 422 and "is empty" in str(answer) and d.call("GET", "/default")[0] == 404, "an empty document is not stored", status, answer)
    status, _, answer = put(policies=rules)
    ok(status == 200 and answer["success"] is True and answer["config"]["policies"] == rules and answer["config"]["daemon"]["mode"] == "enforce" and answer["at_once"] == ["policies"],
       "PUT /api/config {policies}: AgenShield's call and answer", status, answer)
    ok(json.loads(d.call("GET", "/default")[1]["text"]) == rules and json.load(open(d.policies + "/default.json")) == rules, "they are the stored policy default", d.call("GET", "/default"))
    status, _, answer = put(policies=dict(rules, defaultAction="deny"))
    ok(status == 200 and d.call("POST", "/default/undo", {})[0] == 200 and json.load(open(d.policies + "/default.json")) == rules, "which can be undone", status, answer)
    d.call("DELETE", "/default")
    ok(json.load(open(file))["daemon"] == {"logLevel": "debug", "heartbeat": 7, "port": 4000, "mode": "enforce"}, "none of these was written")
    with open(file, "w") as f:
        f.write("{ broken")
    ok(put(mode="monitor")[0] == 422 and open(file).read() == "{ broken" and d.reads() is False, "a broken file is not written over, and makes nothing wider")
    os.unlink(file)
    with open(d.place + "/config/corral/daemon.yaml", "w") as f:
        f.write("daemon:\n  watch: 11\n")
    d.stop()
    d.start()
    status, _, answer = put(mode="audit")
    text = open(d.place + "/config/corral/daemon.yaml").read()
    ok(status == 200 and "watch: 11" in text and "mode: audit" in text, "YAML stays YAML", text)
    d.stop()
    d.start("--config", d.place + "/config/corral/daemon.yaml", "--port", "0")
    ok(put(mode="monitor")[0] == 200, "the same file, by its name")
    other = d.place + "/other.json"
    with open(other, "w") as f:
        f.write("{}")
    d.stop()
    d.start("--config", other, "--port", "0")
    status, _, answer = put(mode="enforce")
    ok(status == 409 and "configuration folder" in answer["error"], "a mode that no run would read is refused", answer)
    ok(put(logLevel="warn")[0] == 200 and json.load(open(other)) == {"daemon": {"logLevel": "warn"}}, "other keys are written there")


def main():
    d = Policies()
    try:
        d.start()
        e = daemon.Events(d)
        test_api(d, e)
        test_hostile(d)
        test_by_hand(d, e)
        shutil.rmtree(d.policies)
        test_config(d)
    finally:
        d.end()
    if os.geteuid() == 0:
        daemon.as_user(__file__)
    return end()


sys.exit(main())
