#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--json of every verb that takes it, where it succeeds and where it fails: standard output is one JSON
document (or JSON Lines, where that is said), and an error is in it with the exit status.

The verbs are found by asking for --help, so one that learns --json without a case here fails."""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "cli"
LINES = {"audit list", "audit tail", "policy record"}

number = failures = 0


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    if not passed:
        print("\n".join("# " + line for line in str(detail).splitlines()))


def corral(*words, **more):
    return subprocess.run([CORRAL, *words], stdin=subprocess.DEVNULL, capture_output=True, cwd=work, env=environment,
                          timeout=60, check=False, **more)


def document(done, lines=False):
    """What was printed; None if it is not one document."""
    text = done.stdout.decode()
    try:
        found = [json.loads(line) for line in text.splitlines()] if lines else [json.loads(text)]
    except ValueError:
        return None
    return found[-1] if found else {}


def good(statuses, *words, lines=False):
    done = corral(*words)
    found = document(done, lines)
    ok(done.returncode in statuses and found is not None and not (found or {}).get("error"),
       f"{' '.join(words)}: status {done.returncode}", f"{done}")
    tried.add(" ".join(words[:2] if words[0] in groups else words[:1]))
    return found


def bad(status, *words, lines=False, file=None):
    """An error: the document says so, and so does the message on standard error."""
    done = corral(*words)
    found = document(done, lines)
    error = (found or {}).get("error") or {}
    status = done.returncode if status is None and done.returncode else status
    passed = (done.returncode == status and found is not None and found.get("status") == status
              and found.get("denied") == [] and error.get("text") and set(error) == {"text", "hint", "file", "line", "column"}
              and error["text"].split("\n")[0][:40] in done.stderr.decode())
    if file:
        passed = passed and error["file"] == file and error["line"]
    ok(passed, f"{' '.join(words)}: an error", f"{done}")
    failed.add(" ".join(words[:2] if words[0] in groups else words[:1]))
    return found


def verbs_with_json():
    found = set()
    for line in re.findall(r"^  (\S+) ", corral("--help").stdout.decode().split("Commands:")[1].split("Examples:")[0], re.M):
        text = corral(line, "--help").stdout.decode()
        if "Commands:" in text:
            groups.add(line)
            for inner in re.findall(r"^  (\S+) ", text.split("Commands:")[1].split("Examples:")[0], re.M):
                if "--json" in corral(line, inner, "--help").stdout.decode().split("Options:")[1].split("Examples:")[0]:
                    found.add(f"{line} {inner}")
        elif "--json" in text.split("Options:")[1].split("Examples:")[0]:
            found.add(line)
    return found


def policy_cases():
    good({0}, "policy", "check", "--json", "-p", "p.yaml", "--op", "fs.read", "--target", "/srv/y")
    good({1}, "policy", "check", "-p", "p.yaml", "--op", "fs.read", "--target", "/etc/x", "--json")
    bad(2, "policy", "check", "--json", "-p", "nope.yaml", "--op", "env", "--target", "X")
    bad(2, "policy", "check", "--json", "-p", "broken.yaml", "--op", "env", "--target", "X", file="broken.yaml")
    bad(2, "policy", "check", "--json", "-p", "p.yaml")
    bad(2, "policy", "check", "--op", "nonsense", "--json", "-p", "p.yaml", "--target", "X")
    good({1}, "policy", "explain", "--json", "-p", "p.yaml", "--op", "exec", "--target", "rm x")
    bad(2, "policy", "explain", "--bogus", "--json", "-p", "p.yaml")
    good({0}, "policy", "show", "--json", "p.yaml")
    bad(2, "policy", "show", "--format", "json", "broken.yaml", file="broken.yaml")
    bad(2, "policy", "show", "--json", "broken.yaml")
    for verb in ["merge", "intersect", "subset"]:
        good({0, 1}, "policy", verb, "--json", "p.yaml", "q.yaml")
        bad(2, "policy", verb, "--json", "p.yaml", "broken.yaml", file="broken.yaml")
        bad(2, "policy", verb, "--json", "--jason", "p.yaml")
    good({0, 1}, "policy", "lint", "--json", "p.yaml")
    bad(2, "policy", "lint", "--json", "broken.yaml", file="broken.yaml")
    good({0}, "policy", "save", "--json", "team", "q.yaml")
    bad(2, "policy", "save", "--json", "team", "nope.yaml")
    good({0}, "policy", "list", "--json")
    bad(2, "policy", "list", "--json", "more")
    good({0}, "policy", "history", "--json", "team")
    bad(2, "policy", "history", "--json")
    good({0}, "policy", "rules", "--json")
    bad(2, "policy", "rules", "--json", "--add")
    good({0}, "policy", "record", "--json", lines=True)
    bad(2, "policy", "record", "--json", "more", lines=True)
    good({0}, "policy", "remove", "--json", "team")
    bad(2, "policy", "remove", "--json")
    good({0}, "policy", "undo", "--json", "team")
    bad(2, "policy", "undo", "--json")
    for verb in ("undo", "remove", "history"):
        bad(5, "policy", verb, "--json", "absent")
    bad(1, "policy", "save", "--json", "team", "broken.yaml", file=None)
    good({0}, "policy", "remove", "--json", "team")
    bad(2, "policy", "chekc", "--json")
    bad(2, "polcy", "check", "--json")
    bad(2, "--json")


def skill_cases():
    good({0}, "inspect", "--json", "weather")
    bad(2, "inspect", "--json", "nope")
    bad(2, "inspect", "--json")
    good({1}, "approve", "--json", "--check", "weather")
    bad(2, "approve", "--json", "weather")  # there is no terminal to ask on
    bad(2, "approve", "--json", "--yes", "--check", "weather")
    asked = ask("approve", "--json", "weather")
    ok(asked and asked["approved"] is False, "approve --json that asks on a terminal: one document", asked)
    good({0}, "approve", "--json", "--yes", "weather")
    good({0}, "skills", "list", "--json")
    good({0}, "skills", "show", "--json", "weather")
    good({0}, "skills", "changes", "--json", "weather")
    good({0}, "skills", "approve", "--json", "--digest", json.loads(corral("skills", "show", "--json", "weather").stdout)["digest"], "weather")
    for verb in ("list", "show", "changes", "approve"):
        bad(2, "skills", verb, "--json", "--bogus")


def ask(*words):
    """With a terminal for the question; standard output is a pipe."""
    master, terminal = pty.openpty()
    os.write(master, b"no\n")
    done = subprocess.run([CORRAL, *words], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work,
                          env=environment, timeout=60, check=False)
    os.close(master)
    os.close(terminal)
    return document(done)


def login_cases():
    good({0}, "link", "list", "--json")
    good({0}, "link", "status", "--json")
    for words in (("link", "list", "nonsense"), ("link", "status", "none")):
        bad(2 if words[1] == "list" else 5, *words, "--json")
    for verb in ("list", "connected"):
        good({0}, "integrations", verb, "--json")
        bad(2, "integrations", verb, "--json", "--bogus")
    # They succeed in test-link.py, which has a server.
    for words in (("integrations", "connect", "nonsense"), ("integrations", "disconnect", "nonsense"), ("link", "auth", "none"), ("link", "logout", "none")):
        bad(None, *words, "--json")
    for words in (("list", "none"), ("search", "none", "text"), ("run", "none", "tool")):
        bad(5, "tool", *words, "--json")


def other_cases():
    good({0}, "prompt", "--json", "--mode", "sandbox", "--data-dir", "/srv/a")
    bad(2, "prompt", "--json", "--mode", "nonsense")
    (work / "srt.json").write_text('{"filesystem": {"allowWrite": ["."], "denyRead": []}}')
    good({0}, "import", "--json", "srt.json")
    bad(2, "import", "--json", "absent.json")
    for verb in ("install", "uninstall"):
        good({0}, "mcp", verb, "--json", "claude", "--file", "mcp.json")
        bad(2, "mcp", verb, "--json", "nonsense")
    good({0}, "profile", "show", "--json", "workspace")
    (work / "gateway.yaml").write_text("servers: {a: {command: ['false']}}")
    good({1}, "mcp", "tools", "--json", "gateway.yaml")
    bad(2, "mcp", "tools", "--json", "srt.json")
    good({0}, "init", "--json", "--yes", "--no-run")
    bad(2, "init", "--json", "--yes", "--no-run")  # there is one already
    for verb in ("show", "diff", "revoke"):
        good({0, 1}, "project", verb, "--json")
        bad(2, "project", verb, "--json", "--bogus")
    good({0}, "project", "approve", "--json", "--yes")
    bad(2, "project", "approve", "--json", "nope")
    (work / "corral.yaml").unlink()
    bad(2, "profile", "show", "--json", "nonsense")
    good({0}, "profile", "seatbelt", "--json", "--mode", "sandbox", "--data-dir", "/srv/a")
    bad(2, "profile", "seatbelt", "--json", "--mode", "nonsense")
    good({0}, "service", "list", "--json")
    bad(2, "service", "list", "--json", "more")
    good({0, 1}, "service", "test", "--json", "notifications")
    bad(2, "service", "test", "--json", "nonsense")
    good({0}, "service", "set-up", "--json", "clipboard")
    bad(2, "service", "set-up", "--json", "clipboard", "nonsense=1")
    good({0, 1}, "doctor", "--json")
    bad(2, "doctor", "--json", "more")
    good({0, 1}, "security", "--json")
    bad(2, "security", "--json", "more")
    bad(5, "vault", "list", "--json")  # there is none
    (home / "passphrase").write_text("correct horse battery\n")
    (home / "passphrase").chmod(0o600)
    ok(corral("vault", "init", "--passphrase-file", str(home / "passphrase")).returncode == 0, "a vault is made")
    good({0}, "vault", "list", "--json", "--passphrase-file", str(home / "passphrase"))
    good({0}, "vault", "doctor", "--json")
    bad(2, "vault", "doctor", "--json", "more")
    for verb, words in (("unlock", ["--passphrase-file", str(home / "passphrase")]), ("status", []), ("lock", [])):
        good({0}, "vault", verb, "--json", *words)
        bad(2, "vault", verb, "--json", "--bogus")
        if verb == "unlock":
            login_cases()
    good({0}, "vault", "uses", "--json", lines=True)
    bad(2, "vault", "uses", "--json", "--bogus", lines=True)
    # No daemon runs here; test-daemon.py has what they say where one does.
    environment["CORRALD"] = "/nonexistent"
    for verb in ("dashboard", "ps", "status", "events"):
        bad(2, verb, "--json")
    for words in (("questions", "list"), ("questions", "allow", "0123456789abcdef.1"), ("questions", "deny", "0123456789abcdef.1"), ("grants", "list"),
                  ("grants", "add", "0123456789abcdef", "fs.read", "/srv"), ("grants", "remove", "0123456789abcdef.1")):
        bad(2, *words, "--json")


def audit_cases(log):
    """log: None where there is no sandbox to make one with; an empty list is JSON Lines, too."""
    for verb in ["list", "tail", "stats", "verify"]:
        lines = f"audit {verb}" in LINES
        if log:
            good({0}, "audit", verb, "--json", log, lines=lines)
        bad(2, "audit", verb, "--json", "nope.db", lines=lines)
        bad(2, "audit", verb, "--json", "--bogus", "x", lines=lines)
    if log:
        proof = corral("audit", "prove", "1", log).stdout
        (work / "proof").write_bytes(proof)
        good({0}, "audit", "check-proof", "--json", "--key", log + ".key.pub", "proof")
    bad(2, "audit", "check-proof", "--json", "nope")


def run_one(status, name, *words, verb="run", check=None):
    done = corral(verb, *words)
    found = document(done)
    needed = {"status", "error", "denied", "exit_code", "signal", "stdout", "stderr"}
    passed = done.returncode == status and found is not None and needed <= set(found) and found["status"] == status
    ok(passed and (check is None or check(found)), f"{verb}: {name}", f"{done}")
    (tried if passed and found["error"] is None else failed).add(verb)
    return found


def error_says(text):
    return lambda found: found["error"] is not None and text in found["error"]["text"]


def run_cases_without_sandbox():
    for verb, command in [("run", ["--", "true"]), ("shell", [])]:
        run_one(125, "an option that is not known", "--jsn", "--json", *command, verb=verb, check=error_says("--jsn"))
        run_one(125, "a policy that cannot be read", "--json", "-p", "nope.yaml", *command, verb=verb,
                check=lambda o: o["error"]["file"] == "nope.yaml")
        run_one(125, "a mistake in a policy", "-p", "broken.yaml", "--json", *command, verb=verb,
                check=lambda o: o["error"]["file"] == "broken.yaml" and o["error"]["line"] == 1)
        run_one(125, "a profile that is not there", "--profile", "none", "--json", *command, verb=verb, check=error_says("none"))
    run_one(125, "no command", "--json", check=error_says(""))
    run_one(125, "a value that is none", "--timeout", "soon", "--json", "--", "true", check=error_says("soon"))
    run_one(125, "--json behind the mistake and a word", "--bogus", "x", "--json", "--", "true", check=error_says("--bogus"))
    run_one(125, "mode rwx", "--mode", "rwx", "--json", "--", "true", check=error_says("rwx"))
    run_one(126, "a skill that was not approved", "--json", "--skill", "helper", check=error_says("approved"))
    done = corral("run", "--bogus", "--", "true", "--json")
    ok(done.returncode == 125 and done.stdout == b"", "the command's own --json is not ours", f"{done}")


def is_exec_denied(found):
    return [(d["action"], d["target"]) for d in found["denied"]] == [("exec", shutil.which("ls"))] and \
        found["denied"][0]["reason"] and found["error"]["text"]


def kept_cases():
    """What needs a run before it."""
    good({0}, "learn", "--json", "--", "true")
    bad(2, "learn", "--json")
    corral("run", "--undo", "--audit", str(scratch / "kept.db"), "--", "touch", "made")
    good({0}, "undo", "--json", "--yes")
    bad(2, "undo", "--json", "--bogus")
    for verb in ("replay", "shrink"):
        good({0, 1}, "policy", verb, "--json", "--policy", "p.yaml", str(scratch / "kept.db"))
        bad(2, "policy", verb, "--json", "--policy", "nope.yaml", str(scratch / "kept.db"))


def run_cases():
    run_one(0, "it succeeds", "--json", "--", "true", check=lambda o: o["error"] is None and o["denied"] == [])
    run_one(7, "it fails", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 7",
            check=lambda o: (o["error"], o["stdout"], o["stderr"], o["exit_code"]) == (None, "out\n", "err\n", 7))
    run_one(126, "its own 126 is no error of ours", "--json", "--", "sh", "-c", "exit 126",
            check=lambda o: o["error"] is None and o["exit_code"] == 126)
    run_one(143, "it is killed", "--json", "--", "sh", "-c", "kill $$", check=lambda o: o["error"] is None and o["signal"] == 15)
    run_one(124, "its time is over", "--json", "--timeout", "200ms", "--", "sh", "-c", "echo began; sleep 60",
            check=lambda o: o["timed_out"] and "200ms" in o["error"]["text"] and o["stdout"] == "began\n")
    run_one(127, "there is no such program", "--json", "--", "no-such-program",
            check=lambda o: "no-such-program" in o["error"]["text"] and o["exit_code"] is None)
    run_one(126, "the policy denies the program", "--json", "-p", "only-true.yaml", "--", "ls", check=is_exec_denied)
    run_one(126, "and with --explain", "--json", "--explain", "-p", "only-true.yaml", "--", "ls", check=is_exec_denied)
    run_one(126, "it is no program", "--json", "--", "./p.yaml", check=error_says("not executable"))
    run_one(126, "--cwd is not granted", "--json", "--cwd", str(hidden), "--", "true",
            check=lambda o: [(d["action"], d["target"]) for d in o["denied"]] == [("fs.read", str(hidden))])
    run_one(0, "a host that is denied", "--json", "--net", "192.0.2.1:443", "--", "bash", "-c",
            "(exec 3<>/dev/tcp/192.0.2.7/443) 2>/dev/null; true",
            check=lambda o: [d["target"] for d in o["denied"]] == ["192.0.2.7:443"] and not o["explained"])
    run_one(0, "a shell", "--json", verb="shell")
    # A line that is suggested helps.
    found = run_one(126, "what would allow it", "--json", "--profile", "narrow", "--", "ls")
    option = (found["denied"] or [{}])[0].get("option")
    ok(option, "has an option", found)
    if option:
        run_one(0, "with the option it runs", "--json", "--profile", "narrow", *option, "--", "ls", ".")


def prepare():
    (work / "p.yaml").write_text("fs: {read: [/srv/**], deny: [/srv/x]}\nexec: [ls]\n")
    (work / "q.yaml").write_text("fs: {read: [/usr/**]}\n")
    (work / "broken.yaml").write_text("fs: {raed: [/usr/**]}\n")
    system = "[/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**]"
    (work / "only-true.yaml").write_text(f"fs: {{read: {system}}}\nexec: ['true']\n")
    profiles = home / ".config/corral/profiles"
    profiles.mkdir(parents=True)
    (profiles / "narrow.yaml").write_text(f"fs: {{read: {system[:-1]}, $WORK_DIR/**]}}\nexec: ['true']\n")
    for name in ["weather", "helper"]:
        shutil.copytree(DATA / name, work / name)
    hidden.mkdir()


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch).resolve()
    work, home, hidden = scratch / "work", scratch / "home", scratch / "hidden"
    work.mkdir()
    home.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    environment.update(HOME=str(home), LC_ALL="C.UTF-8",
                       ASAN_OPTIONS=":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"])))
    groups, tried, failed = set(), set(), set()
    prepare()
    # These list the options of `corral run`, and refuse this one: what they print is the protocol.
    wanted = verbs_with_json() - {"mcp serve", "mcp wrap", "mcp remote"}
    for words in (["serve", "--json"], ["wrap", "--json", "--", "true"], ["remote", "--json", "http://127.0.0.1:9/"]):
        done = corral("mcp", *words)
        ok(done.returncode == 125 and "--json" in json.loads(done.stdout)["error"]["text"], f"mcp {words[0]} refuses --json", done)
    ok(len(wanted) > 10, f"verbs that take --json: {len(wanted)}", wanted)
    policy_cases()
    skill_cases()
    other_cases()
    run_cases_without_sandbox()
    sandbox = corral("doctor").returncode == 0
    if sandbox:
        run_cases()
        kept_cases()
        corral("run", "--audit", str(scratch / "log.db"), "--", "true")
    else:
        number += 1
        print(f"ok {number} - runs # SKIP kernel: no sandbox can be had here")
    audit_cases(str(scratch / "log.db") if sandbox else None)
    # Those that need a daemon succeed in test-daemon.py and test-dashboard.py, those that need a login in test-link.py.
    missing = wanted - tried - {"tool list", "tool search", "tool run", "link auth", "link logout", "integrations connect", "integrations disconnect", "dashboard", "ps", "status", "events", "questions list", "questions allow", "questions deny", "grants list", "grants add", "grants remove"} if sandbox else set()
    ok(not missing, "each succeeded once", missing)
    ok(not wanted - failed, "each failed once", wanted - failed)

print(f"1..{number}")
sys.exit(failures != 0)
