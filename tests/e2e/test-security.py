#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The security watcher: each finding is provoked and cured, by `corral security` and by the daemon's events; a healthy
machine has none. As root, once more as an ordinary user, all parts at the same time, each in a pid namespace of its own: what runs
in one part is no finding of another. Prints TAP."""

import json
import mmap
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import daemon_tap
from broker_tap import end, end_as_user, ok, start_as_user
from daemon_tap import CORRAL, PATIENCE, PROGRAMS, Daemon, Events, as_user, until

# It looks every second here. A machine with other things to do needs longer for one look; and the log is verified again after 50
# times as long as that took.
LOOK = 300


def corral(d, *words, **more):
    return subprocess.run([CORRAL, *words], env=d.env, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)


def look(d):
    done = corral(d, "security", "--json")
    return done.returncode, json.loads(done.stdout)["findings"]


def findings(d, kind=None):
    return [f for f in d.get("/api/security")[2]["findings"] if kind in (None, f["kind"])]


class Provoked:
    """A finding comes by the event, the API and the command line, and goes."""

    def __init__(self, d, kind, where):
        self.d, self.kind, self.where = d, kind, where
        # What is found already is not found once more: a look may have begun before it was cured last.
        assert until(lambda: not [f for f in findings(d, kind) if where in f["where"]], LOOK), findings(d)
        self.events = Events(d)
        self.events.next()

    def wait(self, state):
        self.events.s.settimeout(LOOK)
        while event := self.events.next("finding"):
            data = event["data"]
            if data["state"] == state and data["finding"]["kind"] == self.kind and self.where in data["finding"]["where"]:
                return data["finding"]
        return {}

    def found(self, name, severity, remedy):
        f = self.wait("found")
        ok(f.get("severity") == severity and remedy in f.get("remedy", ""), f"{name}: found, {severity}, with what to do", f)
        ok(f["id"] in [x["id"] for x in findings(self.d, self.kind)], f"{name}: in the API", findings(self.d))
        counts = self.events.next("security_status")["data"]
        ok(counts["findings"] >= 1 and counts["high"] >= (severity == "high"), f"{name}: counted", counts)
        return f

    def cured(self, name):
        f = self.wait("cleared")
        ok(f.get("id") not in [None, *(x["id"] for x in findings(self.d))], f"{name}: cured", f)
        self.events.close()


def test_healthy(d):
    ok(until(lambda: d.get("/api/security")[2]["verified_ms"] and d.get("/api/security")[2]["checked_ms"], LOOK), "it looks by itself")
    s = d.get("/api/security")[2]
    ok(s["findings"] == [] and {"agent_outside", "file_mode", "drift", "policy_ignored", "skill_changed", "log_unverified"} <= set(s["ok"]), "a healthy machine has no finding", s)
    done = corral(d, "security")
    ok(done.returncode == 0 and done.stdout == "nothing found\n", "nor by the command line", done)


def test_agents(d):
    folder = d.place + "/data"
    os.makedirs(folder, exist_ok=True)
    agent = shutil.copy("/usr/bin/sleep", folder + "/claude")
    p = Provoked(d, "agent_outside", "pid ")
    process = subprocess.Popen([agent, "600"])
    until(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/claude"))
    f = p.found("an agent outside", "high", "corral run --mode sandbox --data-dir ~/.agent -- claude")
    ok(f["where"] == f"pid {process.pid}", "which one", f)
    status, found = look(d)
    ok(status == 1 and [x["id"] for x in found] == [f["id"]], "the same by the command line", found)
    process.kill()
    process.wait()
    p.cured("an agent outside")
    # A package that an interpreter runs.
    package = folder + "/node_modules/@google/gemini-cli"
    os.makedirs(package, exist_ok=True)
    with open(package + "/index.py", "w") as script:
        script.write("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    with subprocess.Popen(["/usr/bin/python3", "-u", package + "/index.py"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        ok([x["text"].startswith("gemini runs outside") for x in look(d)[1]] == [True], "one that an interpreter runs", look(d))
        process.kill()
    # What only has its name on its command line is none.
    with subprocess.Popen(["/usr/bin/python3", "-c", "import time; print('up', flush=True); time.sleep(600)", "/usr/bin/claude"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        ok(look(d) == (0, []), "a program that is given an agent's name is none", look(d))
        process.kill()
    # Inside it is where it belongs.
    for words in (["--mode", "sandbox", "--data-dir", folder], []):
        with subprocess.Popen([CORRAL, "run", *words, "--", agent, "600"], env=d.env, cwd=folder, stderr=subprocess.DEVNULL) as process:
            inside = until(lambda: any(b"/claude\x00600" in line for line in command_lines()))
            ok(inside and look(d) == (0, []), f"an agent in a sandbox is no finding {words[:2]}", look(d))
            process.send_signal(signal.SIGTERM)
    os.unlink(agent)


def command_lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        if not line.startswith(CORRAL.encode()):
            yield line


def test_modes(d):
    config = d.place + "/config/corral"
    os.makedirs(config + "/policy.d/custom", exist_ok=True)
    policy = config + "/policy.d/custom/a.json"
    with open(policy, "w") as f:
        f.write("{}")
    os.chmod(policy, 0o644)
    ok(look(d) == (0, []), "a policy that others can read is none", look(d))
    rows = ((d.folder + "/token", 0o644, 0o600, "medium", "chmod go-rwx"), (d.folder + "/api.sock", 0o666, 0o600, "high", "chmod go-rwx"),
            (policy, 0o666, 0o644, "high", "chmod go-w"), (config, 0o777, 0o755, "high", "chmod go-w"),
            (d.place + "/state/corral/audit.db", 0o604, 0o600, "medium", "chmod go-rwx"), (d.place + "/config", 0o777, 0o755, "high", "chmod go-w"))
    for path, wrong, right, severity, remedy in rows:
        name = os.path.relpath(path, d.place)
        os.chmod(path, wrong)
        status, found = look(d)
        ok(status == 1 and [(f["where"], f["severity"]) for f in found] == [(path, severity)] and found[0]["remedy"].startswith(remedy),
           f"{name} with mode {wrong:o}", found)
        subprocess.run(["sh", "-c", found[0]["remedy"]], check=True)
        ok(look(d) == (0, []), "what it suggests cures it", look(d))
        os.chmod(path, right)
    began = time.monotonic()
    p = Provoked(d, "file_mode", "/token")
    os.chmod(d.folder + "/token", 0o644)
    p.found("a token that others can read", "medium", "chmod go-rwx")
    os.chmod(d.folder + "/token", 0o600)
    p.cured("a token that others can read")
    print(f"# on change: found and cured in {time.monotonic() - began:.1f} s")
    if os.geteuid() == 0:
        os.chown(policy, 65534, -1)
        status, found = look(d)
        ok(status == 1 and "belongs to" in found[0]["text"] and found[0]["remedy"].startswith("chown root "), "a policy of another user", found)
        os.chown(policy, 0, -1)
    os.unlink(policy)


def test_drift(d):
    profiles, programs = d.place + "/config/corral/profiles", d.place + "/bin"
    os.makedirs(profiles, exist_ok=True)
    os.makedirs(programs, exist_ok=True)
    profile, wrapper = profiles + "/mine.yaml", programs + "/claude"

    def write(path, text, mode=0o644):
        # The daemon may look at any moment, and must not find it empty.
        with open(d.place + "/new", "w") as f:
            f.write(text)
        os.chmod(d.place + "/new", mode)
        os.rename(d.place + "/new", path)

    lines = '#!/bin/sh\nexec corral run --mode sandbox --data-dir ~/.agent -- /usr/bin/claude "$@"\n'
    write(profile, "fs:\n  read: [/srv/**]\n")
    write(wrapper, lines, 0o755)
    recorded = d.place + "/state/corral/security.json"
    ok(until(lambda: os.path.exists(recorded) and wrapper in open(recorded).read(), LOOK), "what is new is recorded, and no finding")
    ok(until(lambda: findings(d) == [], LOOK) and os.stat(recorded).st_mode & 0o777 == 0o600, "for its owner alone", findings(d))
    listed = d.get("/api/wrappers")[2]["wrappers"]
    ok([(w["name"], w["path"], w["state"], w["profile"]) for w in listed] == [("claude", wrapper, "installed", "sandbox")], "the wrapper is listed", listed)
    for path, text, mode, severity in ((profile, "fs:\n  write: ['/**']\n", 0o644, "medium"), (wrapper, lines.replace("sandbox", "rwx"), 0o755, "high")):
        name = os.path.basename(path)
        before = open(path).read()
        p = Provoked(d, "drift", path)
        write(path, text, mode)
        p.found(f"{name} was changed", severity, "corral security --accept")
        write(path, before, mode)
        p.cured(f"{name} was changed")
    write(wrapper, lines.replace("sandbox", "rwx"), 0o755)
    ok([w["state"] for w in d.get("/api/wrappers")[2]["wrappers"]] == ["drifted"], "a changed wrapper has drifted")
    ok(corral(d, "security", "--accept").returncode == 0 and look(d) == (0, []), "what was changed on purpose is accepted", look(d))
    other = d.place + "/other"
    os.makedirs(other, exist_ok=True)
    shutil.copy("/usr/bin/true", other + "/claude")
    env = {**d.env, "PATH": f"{other}:{programs}:{os.environ['PATH']}"}
    done = subprocess.run([CORRAL, "security", "--json"], env=env, capture_output=True, text=True, check=False)
    ok(done.returncode == 1 and "stands before it in PATH" in done.stdout, "a program before the wrapper in PATH", done.stdout)
    os.unlink(wrapper)
    os.unlink(profile)
    status, found = look(d)
    ok(status == 1 and sorted(f["where"] for f in found) == sorted([profile, wrapper]), "those that are gone", found)
    ok([w["state"] for w in d.get("/api/wrappers")[2]["wrappers"]] == ["missing"], "a wrapper that is gone is missing")
    ok(corral(d, "security", "--accept").returncode == 0 and look(d) == (0, []), "and accepted", look(d))
    with open(recorded, "w") as f:
        f.write("{")
    ok([f["where"] for f in look(d)[1]] == [recorded], "a record that cannot be read is a finding", look(d))
    corral(d, "security", "--accept")
    ok(look(d) == (0, []) or os.unlink(recorded) is None, "and made anew")


def test_ignored(d):
    """A policy that is not read, and the line that puts it where it is."""
    custom = d.place + "/config/corral/policy.d/custom"
    os.makedirs(custom, exist_ok=True)
    path = custom + "/team-1.yaml"
    p = Provoked(d, "policy_ignored", path)
    with open(path, "w") as f:
        f.write("fs:\n  read: [/**]\n  write: [/**]\nnetwork: {allow: ['*:*']}\nenv: ['*']\n")
    f = p.found("a policy that is not read", "medium", "mv ")
    listed = json.loads(corral(d, "policy", "list", "--json").stdout)
    ok(listed["policies"] == [] and listed["ignored"] == [{"path": path, "hint": f["remedy"]}], "corral policy list says so, too", listed)
    done = corral(d, "policy", "list")
    ok(done.returncode == 1 and f["remedy"] in done.stdout, "also to people, by the status as well", done)
    subprocess.run(["sh", "-c", f["remedy"]], check=True)
    p.cured("a policy that is not read")
    listed = json.loads(corral(d, "policy", "list", "--json").stdout)
    ok([(x["name"], x["in_force"]) for x in listed["policies"]] == [("team-1", True)] and listed["ignored"] == [], "it is in force now", listed)
    os.unlink(listed["policies"][0]["path"])


def test_skills(d):
    skill, seen = d.place + "/skills/weather", d.place + "/state/corral/skills.json"
    os.makedirs(skill)

    def write(name, text):
        with open(skill + "/" + name, "w") as f:
            f.write(text)

    def approve():
        digest = json.loads(corral(d, "skills", "show", "--json", skill).stdout)["digest"]
        return corral(d, "skills", "approve", "--digest", digest, skill)

    write("SKILL.md", "---\nname: weather\ndescription: Says how the weather is.\n---\nRun run.sh.\n")
    write("run.sh", "echo sunny\n")
    ok(look(d) == (0, []), "a skill that was never approved is no finding", look(d))
    ok(approve().returncode == 0 and look(d) == (0, []), "nor is one that was", look(d))
    # Once nothing has changed for a moment, what was found is recorded, and the skill is not read again.
    ok(until(lambda: os.path.exists(seen) and re.search('"[0-9a-f]{64} [0-9]+ approved"', open(seen).read()), LOOK), "what was found is recorded")
    ok(os.stat(seen).st_mode & 0o777 == 0o600 and look(d) == (0, []), "for its owner alone", look(d))
    before = open(skill + "/run.sh").read()
    times = os.stat(skill + "/run.sh")
    p = Provoked(d, "skill_changed", skill)
    write("run.sh", "echo rainy\n")
    os.utime(skill + "/run.sh", ns=(times.st_atime_ns, times.st_mtime_ns))
    f = p.found("a skill was changed, of the same size and time", "medium", "corral skills changes " + skill)
    ok(look(d)[0] == 1 and corral(d, "skills", "changes", skill).stdout.startswith("changed"), "corral security finds it, too", look(d))
    ok(f["remedy"].endswith("corral approve " + skill) and corral(d, "approve", "--yes", skill).returncode == 0, "it is approved again", f)
    p.cured("a skill was changed, of the same size and time")
    for name, change, back in (("a file was added", lambda: write("more.sh", "echo\n"), lambda: os.unlink(skill + "/more.sh")),
                               ("it cannot be read any more", lambda: os.mkfifo(skill + "/pipe"), lambda: os.unlink(skill + "/pipe"))):
        p = Provoked(d, "skill_changed", skill)
        change()
        p.found(name, "medium", "corral approve ")
        back()
        p.cured(name)
    with open(seen, "w") as f:
        f.write('{"x":')
    ok(look(d) == (0, []), "a record that cannot be read is made anew", look(d))
    write("run.sh", before)
    ok(look(d)[0] == 1, "the approval before is none any more", look(d))
    shutil.rmtree(skill)
    ok(look(d) == (0, []), "a skill that is gone is no finding", look(d))
    corral(d, "approve", "--remove", skill)


def test_hidden(d):
    """A skill is changed so that a look does not see it. Without the daemon, which looks as well."""
    skill, state = d.place + "/skills/hidden", d.place + "/hidden"
    seen = state + "/corral/skills.json"
    env = {**d.env, "XDG_STATE_HOME": state}
    os.makedirs(skill)
    with open(skill + "/SKILL.md", "w") as f:
        f.write("---\nname: hidden\ndescription: Says how the weather is.\n---\nIt is sunny.\n")

    def run(*words, before=()):
        return subprocess.run([*before, CORRAL, *words], env=env, capture_output=True, text=True, check=False)

    def changed(*before):
        return [f["where"] for f in json.loads(run("security", "--record", "--json", before=before).stdout)["findings"] if f["kind"] == "skill_changed"]

    def is_recorded():
        return changed() == [] and re.search('"[0-9a-f]{64} [0-9]+ approved"', open(seen).read())

    ok(run("approve", "--yes", skill).returncode == 0 and until(is_recorded), "a skill is approved, and that is recorded")
    # A page that is dirty already can be written to without a new time of the file.
    with open(skill + "/SKILL.md", "r+b") as f, mmap.mmap(f.fileno(), 0) as bytes_:
        at = bytes_.find(b"sunny")
        bytes_[at:at + 5] = b"sunny"
        ok(until(is_recorded), "its bytes are written again")
        bytes_[at:at + 5] = b"rainy"
        with open(seen) as before:
            old = re.sub(" [0-9]+ ", " 0 ", before.read())
        with open(seen, "w") as after:
            after.write(old)
        ok(changed() == [skill], "one that was changed without a new time is found when it is read again", open(seen).read())
        bytes_[at:at + 5] = b"sunny"
        bytes_.flush()
    os.utime(skill + "/SKILL.md")
    ok(until(is_recorded), "and is as it was")
    # All that a skill may have: the process that reads it is ended.
    with open(skill + "/more", "w") as f:
        f.truncate((1 << 30) - 4096)
    limit = ("prlimit", "--cpu=1")
    ok(changed(*limit) == [skill], "one that ends the process that reads it is found", open(seen).read())
    ok(changed(*limit) == [skill], "at each look", open(seen).read())
    os.unlink(skill + "/more")
    ok(changed() == [], "until it is right", open(seen).read())
    shutil.rmtree(skill)
    shutil.rmtree(state)


def test_log(d):
    path = d.place + "/state/corral/audit.db"
    ok(until(lambda: not findings(d), LOOK), "nothing is left over", findings(d))
    p = Provoked(d, "log_unverified", path)

    def change(before, after):
        with sqlite3.connect(path, timeout=PATIENCE) as db:
            number, event = db.execute("SELECT number, event FROM record WHERE instr(event, ?) > 0 LIMIT 1", (before,)).fetchone()
            db.execute("UPDATE record SET event = ? WHERE number = ?", (event.replace(before, after), number))
        db.close()

    change(b"GET /api/security", b"GET /api/sekurity")
    p.found("a log that was changed", "high", "")
    change(b"GET /api/sekurity", b"GET /api/security")
    p.cured("a log that was changed")


def test_expiry(d):
    """What a sandbox was granted is about to end: told before, and over when it is granted anew, or has ended."""
    policy = d.place + "/asks.json"
    with open(policy, "w") as f:
        json.dump({"fs": {"read": ["/usr/**", "/etc/**", "/lib/**", "/bin/**", "/lib64/**"]}, "rules": [{"id": "hosts", "action": "ask", "operations": ["net.connect"], "patterns": ["127.0.0.1:*"]}]}, f)
    with subprocess.Popen([CORRAL, "run", "--policy", policy, "--", "sleep", "600"], env=d.env, cwd=d.place, stderr=subprocess.PIPE) as run:
        try:
            own = lambda: [b["id"] for b in d.get("/api/sandboxes")[2]["sandboxes"] if b["pid"] == run.pid]
            until(own)
            sandbox = own()[0]

            def grant(target, seconds):
                status, _, answer = d.get(f"/api/sandboxes/{sandbox}/grants", method="POST", body={"action": "net.connect", "target": target, "seconds": seconds})
                return answer.get("id", (status, answer))

            until(lambda: isinstance(grant("127.0.0.1:1", 7200), str))
            p = Provoked(d, "answer_expires", sandbox)
            # It is reported in the second half. A machine that is busy may have looked too late: then with more time.
            for seconds in (16, 90):
                ending = grant("127.0.0.1:7", seconds)
                if until(lambda: [f for f in findings(d, "answer_expires") if f["where"] == ending], seconds):
                    break
            p.where = ending
            f = p.found("an answer that ends", "low", "--for 1h")
            ok(f["where"] == ending and "net.connect 127.0.0.1:7" in f["text"] and len(findings(d)) == 1, "only that one", findings(d))
            done = subprocess.run(["sh", "-c", f["remedy"]], env={**d.env, "PATH": os.path.dirname(CORRAL) + ":/usr/bin:/bin"}, capture_output=True, text=True, timeout=PATIENCE, check=False)
            ok(done.returncode == 0, "what it says to do works", done)
            p.cured("an answer that ends")
        finally:
            run.kill()


# Each has a daemon of its own. They mostly wait, so they run at the same time where none sees the processes of another.
PARTS = ((test_healthy, test_agents, test_modes, test_drift, test_ignored, test_skills, test_log), (test_hidden, test_expiry))
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def run_part(tests):
    d = Daemon()
    d.env["PATH"] = os.environ.get("PATH", "/usr/bin:/bin")
    try:
        os.makedirs(d.place + "/config/corral", exist_ok=True)
        with open(d.place + "/config/corral/daemon.yaml", "w") as f:
            f.write("daemon:\n  watch: 1\n")
        d.start()
        for test in tests:
            test(d)
    finally:
        d.end()


def forward(process):
    """The results of a part, with our numbers."""
    for line in process.stdout:
        result, _, name = line.rstrip("\n").partition(" - ")
        if re.fullmatch("(not )?ok [0-9]+", result):
            ok(result.startswith("ok"), name)
        elif not re.fullmatch(r"1\.\.[0-9]+\n", line):
            print(line, end="", flush=True)
    return process.wait()


def run_apart():
    parts = [str(i) for i in range(len(PARTS))]
    own = [subprocess.Popen([*APART, sys.executable, os.path.abspath(__file__), part], stdout=subprocess.PIPE, text=True) for part in parts]
    users = [start_as_user(__file__, PROGRAMS, words=(part,), before=APART, DAEMON_TAP=daemon_tap.__file__) for part in parts]
    for part, process in zip(parts, own):
        status = forward(process)
        ok(status == 0, f"part {part} came to its end without a failure", status)
    for part, user in zip(parts, users):
        end_as_user(*user, f"part {part} as an ordinary user")


def main():
    if len(sys.argv) > 1:
        run_part(PARTS[int(sys.argv[1])])
    elif os.geteuid() == 0 and subprocess.run([*APART, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        run_apart()
    else:
        for tests in PARTS:
            run_part(tests)
        if os.geteuid() == 0:
            as_user(__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
