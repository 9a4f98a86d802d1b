#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that change while a sandbox uses them: another value, a grant that is revoked, a value that expires, a source that fails. One
run sees all of it, on one connection. As root, once more as an ordinary user. Prints TAP."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

SOURCE = os.environ.get("RUN_SECRET_PY", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", SOURCE)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
VALUE, OTHER = run_secret.VALUE, run_secret.OTHER
TRIES, PAUSE_S = 600, 0.1

# For each line of its input it makes a request, and prints the answer.
CLIENT = r"""
import http.client, os, ssl, sys
host = http.client.HTTPSConnection(sys.argv[1], context=ssl.create_default_context(), timeout=60)
for line in sys.stdin:
    host.request("GET", "/echo", headers={"Authorization": "Bearer " + os.environ[sys.argv[2]]})
    print(host.getresponse().read().decode().strip(), flush=True)
"""

# A value that lives for half a minute and a second, and says how often it was asked for; it fails where there is a file `fails` beside it.
TOKEN = """
import json, os
os.chdir({folder!r})
if os.path.exists("fails"):
    open("failed", "w").close()
    raise SystemExit(1)
with open("asked", "a+") as file:
    print(file.write("x") and json.dumps({{"value": f"token-{{file.tell()}}-0123456789abcdefghijklmnop", "expires_in": 31}}))
"""


class Run:
    """A sandbox with a client that asks when it is told to."""

    def __init__(self, place, server, name, client="client.py", more=()):
        self.server = server
        self.process = subprocess.Popen([run_secret.CORRAL, "run", "--secret", name, *more, "--", "python3", client, server.place, name], cwd=place.path / "work",
                                        env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors, self.answers = [], []
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def said(self):
        """What the client was answered."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.answers.append(self.process.stdout.readline())
        return self.answers[-1]

    def ask(self):
        """What the host was sent."""
        return self.server.seen[-1][1] if self.said() else None

    def until_said(self, test):
        for _ in range(TRIES):
            said = self.said()
            if not said or test(said):
                return said
            time.sleep(PAUSE_S)
        return said

    def until(self, test):
        """Asks until the host is sent what passes; what it was sent last."""
        for _ in range(TRIES):
            sent = self.ask()
            if sent is None or test(sent):
                return sent
            time.sleep(PAUSE_S)
        return sent

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(timeout=60)
        self.reader.join(timeout=60)
        return status


def changes(place, server):
    place.vault("set", "TOKEN", value=VALUE)
    place.vault("grant", "TOKEN", server.place)
    run = Run(place, server, "TOKEN")
    ok(run.ask() == f"Bearer {VALUE}", "a run has a value", run.errors)
    done = place.vault("rotate", "TOKEN", value=OTHER)
    sent = run.until(lambda s: s == f"Bearer {OTHER}")
    ok(sent == f"Bearer {OTHER}", "another one reaches it", sent, done, run.errors)
    ok(not any(OTHER in a or VALUE in a for a in run.answers) and "*" * len(OTHER) in run.answers[-1], "and does not come back", run.answers[-1])
    done = place.vault("revoke", "TOKEN", server.place)
    sent = run.until(lambda s: OTHER not in s)
    ok(sent and OTHER not in sent and VALUE not in sent and sent.startswith("Bearer ghp_"), "a grant that is revoked is over", sent, done, run.errors)
    place.vault("grant", "TOKEN", server.place)
    sent = run.until(lambda s: s == f"Bearer {OTHER}")
    ok(sent == f"Bearer {OTHER}", "until it is granted again", sent, run.errors)
    done = place.vault("remove", "TOKEN")
    sent = run.until(lambda s: OTHER not in s)
    ok(sent and OTHER not in sent and VALUE not in sent, "so is one that is removed", sent, done, run.errors)
    ok(run.end() == 0, "the run goes on all the while", run.errors)
    ok("TOKEN is not granted there any more" in "".join(run.errors), "and says so", run.errors)


def expires(place, server):
    folder = place.path / "source"
    folder.mkdir()
    code = TOKEN.format(folder=str(folder)).encode().hex()
    done = place.vault("set", "SHORT", "--from", f"cmd:/usr/bin/python3 -Ic exec(bytes.fromhex('{code}'))")
    place.vault("grant", "SHORT", server.place)
    run = Run(place, server, "SHORT")
    first = run.ask()
    ok(first and first.startswith("Bearer token-"), "a run has the value of a program", first, done, run.errors)
    second = run.until(lambda s: s != first)
    ok(second and second.startswith("Bearer token-") and second != first, "and the next one before the first expires", first, second, run.errors)
    (folder / "fails").touch()
    run.until(lambda _: (folder / "failed").exists())
    last = run.ask()
    ok(last and last.startswith("Bearer token-"), "what it gave before stays", last)
    ok(run.end() == 0 and not any("token-" in answer for answer in run.answers), "no answer has one of them", run.answers)
    ok("SHORT could not be renewed, and stays as it was" in "".join(run.errors), "a program that fails is named", run.errors)


# A value, and how long it lives, as the file `says` has it.
SAID = """
import json, os
print(json.dumps(dict(zip(("value", "expires_in"), json.load(open({says!r}))))))
"""


def brief(place):
    """A value that is about to expire is not kept. If it was, the change of the vault would have every run ask for all its values, and this
    one would be kept anew: programs and the vault would be busy for as long as the run lives."""
    says, vault = place.path / "says", place.path / "state/corral/vault/vault"

    def get(value, lives):
        says.write_text(json.dumps([value, lives]))
        before = vault.stat().st_ino
        done = place.vault("export", "--yes", "BRIEF")
        return json.loads(done.stdout or "{}").get("BRIEF"), vault.stat().st_ino != before

    code = SAID.format(says=str(says)).encode().hex()
    place.vault("set", "BRIEF", "--from", f"cmd:/usr/bin/python3 -Ic exec(bytes.fromhex('{code}'))")
    got = get("first-value", 20)
    ok(got == ("first-value", False), "a value that lives for 20 seconds is not kept", got)
    got = get("second-value", 3600)
    ok(got == ("second-value", True), "one that lives for an hour is", got)
    got = get("third-value", 20)
    ok(got == ("second-value", False), "and is given from there", got)
    done = place.vault("rotate", "BRIEF")
    got = get("fourth-value", 20)
    ok(got == ("fourth-value", False), "after a rotate to one that is not kept, the kept one is gone", got, done)


# Another value each time, which never expires.
EACH = """
import os
os.chdir({folder!r})
with open("asked", "a+") as file:
    print(file.write("x") and f"token-{{file.tell()}}-0123456789abcdefghijklmnop")
"""


def differs(place, server):
    """Who is asked first gives the value for all hosts; it comes back from none of them."""
    folder = place.path / "each"
    folder.mkdir()
    code = EACH.format(folder=str(folder)).encode().hex()
    place.vault("set", "EACH", "--from", f"cmd:/usr/bin/python3 -Ic exec(bytes.fromhex('{code}'))")
    servers = [server, run_secret.Server(place.path / "good.pem")]
    for one in servers:
        place.vault("grant", "EACH", one.place)
    for one in servers:
        run = Run(place, one, "EACH")
        sent = run.ask()
        ok(sent and sent.startswith("Bearer token-") and run.end() == 0 and not any("token-" in answer for answer in run.answers),
           "a source that gives another value each time: none comes back", sent, run.answers, run.errors)


def locks(place, server):
    """`corral vault lock` takes values away from what runs, and `unlock` brings them back; a run that began by another key than the
    keyring's, as well."""
    place.vault("set", "LOCKED", value=VALUE)
    place.vault("grant", "LOCKED", server.place)
    run = Run(place, server, "LOCKED")
    ok(run.ask() == f"Bearer {VALUE}", "a run has a value", run.errors)
    for round_ in ("once", "once more"):
        done = place.vault("lock")
        said = run.until_said(lambda s: "denied" in s)
        ok("the vault is locked, and LOCKED goes nowhere until `corral vault unlock`" in said, f"{round_}: a lock reaches it: the request is refused, and says why", said, done, run.errors)
        seen = len(server.seen)
        ok("denied" in run.said() and len(server.seen) == seen, "the host is asked nothing, not even with the placeholder", server.seen[seen:])
        done = place.call("run", "--secret", "LOCKED", "--", "echo", "ran")
        ok(done.returncode == 125 and "locked" in done.stderr and "ran" not in done.stdout, "another run does not begin", done)
        done = place.vault("unlock", "--passphrase-file", str(place.passphrase))
        said = run.until_said(lambda s: "denied" not in s)
        ok(server.seen[-1][1] == f"Bearer {VALUE}" and len(server.seen) > seen, "unlocked, it goes on", said, done, run.errors)
    place.vault("lock")
    run.until_said(lambda s: "denied" in s)
    place.vault("rotate", "LOCKED", "--passphrase-file", str(place.passphrase), value=OTHER)
    ok("denied" in run.said(), "a passphrase that is typed for one command opens nothing for others", run.errors)
    place.vault("unlock", "--passphrase-file", str(place.passphrase))
    run.until_said(lambda s: "denied" not in s)
    ok(server.seen[-1][1] == f"Bearer {OTHER}", "a value that was changed meanwhile is the one that comes back", server.seen[-1])
    ok(run.end() == 0 and "".join(run.errors).count("LOCKED and all other secrets are taken away: the vault is locked") > 0, "and the run says so", run.errors)


def narrows(place, server):
    """Who is granted a secret to programs from now on has it taken from the others at once, and keeps it itself."""
    place.vault("set", "NARROW", value=VALUE)
    place.vault("grant", "NARROW", server.place)
    run = Run(place, server, "NARROW")
    ok(run.ask() == f"Bearer {VALUE}", "any program has a value", run.errors)
    done = place.vault("grant", "NARROW", server.place, "--program", "/usr/bin/curl")
    sent = run.until(lambda s: VALUE not in s)
    ok(sent.startswith("Bearer ghp_") and VALUE not in sent, "it is granted to another program since", sent, done, run.errors)
    curl = f'exec curl -sS -H "Authorization: Bearer $NARROW" https://{server.place}/echo'
    second = place.call("run", "--secret", "NARROW", "--", "sh", "-c", curl)
    ok(server.seen[-1][1] == f"Bearer {VALUE}", "which has it", second)
    ok(run.end() == 0 and "NARROW is granted to /usr/bin/curl alone" in "".join(run.errors), "the run says so", run.errors)
    # Curl is known to the relay of a run that began without programs, too.
    place.vault("grant", "NARROW", server.place)
    (place.path / "work/both.py").write_text(BOTH)
    run = Run(place, server, "NARROW", "both.py")
    ok(run.ask() == f"Bearer {VALUE}" and run.ask() == f"Bearer {VALUE}", "curl and another program have it", run.errors)
    place.vault("grant", "NARROW", server.place, "--program", "/usr/bin/curl")
    sent = run.until(lambda s: VALUE not in s)
    ok(VALUE not in sent, "the other one has it no more", sent, run.errors)
    pair = [run.ask(), run.ask()]
    ok(sum(p == f"Bearer {VALUE}" for p in pair) == 1, "curl has it still, in the same run", pair, run.errors)
    place.vault("grant", "NARROW", server.place, "--in", "query")
    sent = run.until(lambda s: VALUE not in s and VALUE not in run.ask())
    ok(VALUE not in sent, "nothing is left of a grant for another place", sent, run.errors)
    run.end()


# By turns: this program makes a request, and curl does.
BOTH = r"""
import http.client, os, ssl, subprocess, sys
url, token = "https://%s/echo" % sys.argv[1], "Authorization: Bearer " + os.environ[sys.argv[2]]
for i, line in enumerate(sys.stdin):
    if i % 2:
        print(subprocess.run(["curl", "-sS", "-H", token, url], capture_output=True, text=True).stdout.strip(), flush=True)
        continue
    host = http.client.HTTPSConnection(sys.argv[1], context=ssl.create_default_context(), timeout=60)
    host.request("GET", "/echo", headers=dict([token.split(": ", 1)]))
    print(host.getresponse().read().decode().strip(), flush=True)
    host.close()
"""


# With a second secret in another field.
BESIDE = r"""
import http.client, os, ssl, sys
host = http.client.HTTPSConnection(sys.argv[1], context=ssl.create_default_context(), timeout=60)
for line in sys.stdin:
    host.request("GET", "/echo", headers={"Authorization": "Bearer " + os.environ["COUNTED"], "X-Api-Key": os.environ["BESIDE"]})
    print(host.getresponse().read().decode().strip(), flush=True)
"""


def counts(place, server):
    """A change of one secret asks no source of another."""
    folder = place.path / "counted"
    folder.mkdir()
    code = EACH.format(folder=str(folder)).encode().hex()
    place.vault("set", "COUNTED", "--from", f"cmd:/usr/bin/python3 -Ic exec(bytes.fromhex('{code}'))")
    place.vault("set", "BESIDE", value=VALUE)
    for name in ("COUNTED", "BESIDE"):
        place.vault("grant", name, server.place)
    (place.path / "work/beside.py").write_text(BESIDE)
    run = Run(place, server, "COUNTED", "beside.py", ("--secret", "BESIDE"))
    sent = run.ask()
    asked = (folder / "asked").stat().st_size
    ok(sent == f"Bearer token-{asked}-0123456789abcdefghijklmnop", "a source was asked", sent, run.errors)
    for change in (("rotate", "BESIDE"), ("grant", "BESIDE", "other.example:443"), ("set", "THIRD"), ("remove", "THIRD"), ("revoke", "BESIDE", "other.example:443")):
        place.vault(*change, value=OTHER if change[0] in ("rotate", "set") else None)
    # All of that has reached the run once this has.
    place.vault("revoke", "BESIDE", server.place)
    run.until(lambda _: server.seen[-1][2]["x-api-key"] not in (VALUE, OTHER))
    ok(server.seen[-1][2]["x-api-key"] not in (VALUE, OTHER) and (folder / "asked").stat().st_size == asked and run.ask() == sent,
       "changes of others do not ask it", (folder / "asked").read_text(), run.errors)
    done = place.vault("rotate", "COUNTED")
    again = run.until(lambda s: s != sent)
    ok(again != sent and again.startswith("Bearer token-"), "a rotate of its own does", again, done, run.errors)
    run.end()


def main():
    scratch = tempfile.mkdtemp(prefix="sr-")
    place = run_secret.Place(scratch)
    try:
        (place.path / "work/client.py").write_text(CLIENT)
        place.vault("init", "--passphrase-file", str(place.passphrase))
        shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
        place.vault("unlock", "--passphrase-file", str(place.passphrase))
        server = run_secret.Server(place.path / "good.pem")
        changes(place, server)
        expires(place, server)
        brief(place)
        differs(place, server)
        locks(place, server)
        narrows(place, server)
        counts(place, server)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, run_secret.PROGRAMS, RUN_SECRET_PY=SOURCE, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
