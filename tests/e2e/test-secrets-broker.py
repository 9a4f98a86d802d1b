#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A broker beside lent secrets: its calls give a command no more than a placeholder. As root, once more as an ordinary user. Prints
TAP."""

import base64
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

HELPERS = os.environ.get("RUN_SECRET", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", HELPERS)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
VALUE = run_secret.VALUE
PROGRAMS = (*run_secret.PROGRAMS, "CORRAL_WARDEN", "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRAL_FETCH")
HOST = "api.example.com:443"


def variables(place):
    """A variable outside has the value, too, and the policy grants it."""
    call = "echo inside $TOKEN; sandbox-call env.get name=TOKEN"
    place.env["TOKEN"] = VALUE
    done = place.run(call, "--broker", "--env", "TOKEN")
    ok(done.stdout == f"inside {VALUE}\n{VALUE}\n", "a variable that is granted comes by a call, as it is inside", done)
    place.vault("set", "TOKEN", value=VALUE)
    ok(place.vault("grant", "TOKEN", HOST).returncode == 0, "its value is a secret of the vault")
    policy = place.path / "work/p.yaml"
    policy.write_text(f'extends: workspace\nenv: [TOKEN]\nnetwork: {{allow: ["{HOST}"]}}\nsecrets: {{TOKEN: {{hosts: ["{HOST}"]}}}}\n')
    for name, words in (("by an option", ("--secret", "TOKEN", "--env", "TOKEN")), ("by a policy", ("--policy", str(policy)))):
        done = place.run(call, "--broker", *words)
        lines = done.stdout.splitlines()
        ok(done.returncode == 0 and len(lines) == 2 and lines[0] == f"inside {lines[1]}" and VALUE not in done.stdout,
           f"beside the secret that is lent {name} a call has the placeholder", done)
    del place.env["TOKEN"]


def files(place):
    """A file that is shown masked, where the policy lifts the baseline for it."""
    file = place.path / ".netrc"
    file.write_text(f"machine api.example.com login me password {VALUE}\n")
    file.chmod(0o600)
    place.vault("set", "NETRC", "--from", "login:netrc")
    ok(place.vault("grant", "NETRC", HOST).returncode == 0, "a file of the home has a secret")
    options = ("--broker", "--read", str(file), "--dangerously-allow", str(file))
    call = f"cat {file}; sandbox-call fs.read path={file}; sandbox-call exec.run command=/usr/bin/cat args={file}"
    done = place.run(call, *options)
    ok(done.stdout.count(VALUE) == 3, "without the secret each call shows the file that is granted", done)
    done = place.run(call, *options, "--secret", "NETRC")
    ok("machine api.example.com" in done.stdout and VALUE not in done.stdout + done.stderr, "beside it none does, nor a program that the broker starts", done)


# Each method, with what a command would ask it for: $T is the placeholder, $P a place, $W the working folder.
CALLS = {
    "ping": {"echo": "$T"},
    "fs.read": {"path": "$W/planted"},
    "fs.write": {"path": "$W/written", "content": "$T"},
    "fs.list": {"path": "/", "recursive": True},
    "fs.stat": {"path": "$W/planted"},
    "fs.delete": {"path": "$W/written"},
    "network.http": {"url": "http://$P/echo", "method": "POST", "headers": {"Authorization": "Bearer $T", "X-Api-Key": "$T"}, "body": "$T"},
    "network.download": {"url": "http://$P/$T", "saveTo": "$W/fetched"},
    "socket.open": {"host": "$H", "port": "$N"},
    "socket.read": {"socket": 1},
    "socket.write": {"socket": 1, "data": "$T"},
    "socket.close": {"socket": 1},
    "exec.run": {"command": "sh", "args": ["-c", "env; cat $W/planted; echo $T; tr '\\0' '\\n' </proc/self/environ"]},
    "env.get": {"name": "TOKEN"},
    "browser.open": {"url": "http://$P/$T"},
    "browser.login": {"url": "http://$P/", "secret": "TOKEN"},
    "browser.navigate": {"url": "http://$P/$T"},
    "email.send": {"to": ["me@example.com"], "subject": "$T", "body": "$T"},
    "notifications.send": {"title": "$T", "body": "$T"},
    "clipboard.write": {"text": "$T"},
    "policy_check": {"operation": "secret", "target": "TOKEN"},
    "events_batch": {"events": [{"token": "$T"}]},
    "secret_inject": {"name": "TOKEN"},
}
DECOY = "decoy-0123456789-abcdefghij"
METHODS = r"""
for name, params in json.loads(os.environ["CALLS"]).items():
    text = json.dumps(params).replace("$T", os.environ["TOKEN"])
    out.append([name, call(name, **json.loads(text))])
"""


def forms(value):
    yield value
    yield value.encode().hex()
    for before in range(3):
        text = base64.b64encode(b"x" * before + value.encode()).decode()
        yield text[(0, 2, 3)[before]:(before + len(value)) * 8 // 6]


def methods(place):
    """Every method that there is, beside a secret that is lent: what each answers is searched for it. A text that is planted where the
    methods look is found by the same search."""
    server = run_secret.Server()
    place.vault("set", "TOKEN", value=VALUE)
    place.vault("grant", "TOKEN", server.place, "--in", "header,query,body")
    listed = subprocess.run([os.environ["CORRAL_SANDBOX_CALL"], "--list"], capture_output=True, text=True, check=True, timeout=60).stdout
    names = [line.split()[0] for line in listed.splitlines() if line[:1].strip()]
    ok(len(names) > 30 and set(CALLS) <= set(names), "the broker lists its methods", set(CALLS) - set(names), names)
    work = place.path / "work"
    (work / "planted").write_text(DECOY)
    host, _, port = server.place.partition(":")
    calls = {name: CALLS.get(name, {"id": "$T", "text": "$T"}) for name in names} | {"env.get#2": {"name": "DECOY"}}
    text = json.dumps(calls).replace("$P", server.place).replace("$W", str(work)).replace("$H", host).replace('"$N"', port)
    place.env.update(TOKEN=VALUE, DECOY=DECOY, CALLS=text)
    options = ("--broker", "--secret", "TOKEN", "--env", "DECOY", "--env", "CALLS", "--env", "TOKEN", "--net", server.place)
    code = METHODS.replace("call(name,", 'call(name.partition("#")[0],')
    done = place.call("run", *options, "--", "/usr/bin/python3", "-c", broker_tap.INSIDE, code)
    answers = json.loads(done.stdout or "[]")
    ok([name for name, _ in answers] == list(calls), "each of them answers", len(answers), done.stderr)
    found = {name for name, answer in answers for form in forms(DECOY) if form in json.dumps(answer)}
    ok({"fs.read", "exec.run", "env.get#2"} <= found, "what was planted is found in what they answer", found, answers)
    leaked = {name for name, answer in answers for form in forms(VALUE) if form in json.dumps(answer)}
    files = [path.name for path in work.rglob("*") for form in forms(VALUE) if path.is_file() and form.encode() in path.read_bytes()]
    planted = [path.name for path in work.rglob("*") for form in forms(DECOY) if path.is_file() and form.encode() in path.read_bytes()]
    ok(not leaked and not files and planted == ["planted"] and VALUE not in done.stdout + done.stderr, "and the value in none, nor in a file", leaked, files, planted)
    # The broker's own requests do not pass by the injector: a placeholder stays one.
    sent = [fields for path, _, fields in server.seen if path == "/echo"]
    got = "CORRAL_FETCH" not in os.environ or len(sent) == 1 and sent[0]["authorization"].startswith("Bearer ghp_") and "ghp_" in str(server.bodies)
    ok(got and VALUE not in str(server.seen) + str(server.bodies), "network.http and network.download send the placeholder, also to a host of the grant", server.seen,
       server.bodies, [answer for name, answer in answers if name.startswith("network")])
    for name in ("TOKEN", "DECOY", "CALLS"):
        del place.env[name]


def main():
    scratch = tempfile.mkdtemp(prefix="cb-")
    place = run_secret.Place(scratch)
    place.env.update({name: os.path.abspath(os.environ[name]) for name in PROGRAMS if name in os.environ})
    try:
        for step in ("init", "unlock"):
            ok(place.vault(step, "--passphrase-file", str(place.passphrase)).returncode == 0, f"vault {step}")
        variables(place)
        files(place)
        methods(place)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, RUN_SECRET=HELPERS, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
