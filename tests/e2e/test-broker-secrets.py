#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`secret_inject`: a secret of the vault for one program that the broker starts, and commands that want its value, or want it twice, or
without the policy. As root, once more as an ordinary user. Prints TAP."""

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
Server, VALUE = run_secret.Server, run_secret.VALUE
PROGRAMS = (*run_secret.PROGRAMS, "CORRAL_BROKER", "CORRAL_SANDBOX_CALL", "CORRAL_WARDEN")
OTHER = "ghp_zyxwvutsrqponmlkjihgfedcba9876543210"
# One of a version manager has its libraries elsewhere.
INSIDE = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# Inside. Lines of JSON, [connection, method, parameters]: each call waits for its answer, which is printed. A third word "gone" hangs up;
# {"wait": path} waits until there is such a file.
CALLS = r"""
import json, os, socket, sys, time
sockets = {}
for line in sys.argv[1].splitlines():
    number, method, params = json.loads(line)
    if method == "wait":
        while not os.path.exists(params):
            time.sleep(0.01)
        continue
    if method == "make":
        open(params, "w").close()
        continue
    if method == "gone":
        sockets.pop(number)[0].close()
        continue
    if number not in sockets:
        s = socket.socket(socket.AF_UNIX)
        s.connect(os.environ["SANDBOX_SOCKET"])
        sockets[number] = s, s.makefile()
    s, file = sockets[number]
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
    print(file.readline(), end="", flush=True)
print("own", json.dumps(dict(os.environ)), flush=True)
"""
HTTP = r"""
import http.client, json, os, sys
c = http.client.HTTPConnection(os.environ["SANDBOX_HTTP_URL"].split("/")[2], timeout=60)
c.request("POST", "/rpc", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "secret_inject", "params": {"name": "TOKEN"}}),
          {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["SANDBOX_TOKEN"]})
print(c.getresponse().read().decode())
"""


def inject(name="TOKEN", number=0, **more):
    return [number, "secret_inject", {"name": name, **more}]


def sh(script, number=0, **more):
    return [number, "exec.run", {"command": "sh", "args": ["-c", script], **more}]


class Scene:
    def __init__(self, scratch):
        self.place = run_secret.Place(scratch)
        self.place.env.update({name: os.path.abspath(os.environ[name]) for name in PROGRAMS if os.environ.get(name)})
        self.top = self.place.path
        self.server, self.stranger = Server(self.top / "good.pem"), Server(self.top / "good.pem")
        self.runs = 0

    def policy(self, services="services: {vault: {access: read, secrets: [TOKEN]}}", names=("TOKEN",), host=None, more=""):
        entries = ", ".join(f'{name}: {{hosts: ["{host or self.server.place}"]}}' for name in names)
        allow = f'"{self.server.place}", "{self.stranger.place}"'
        (self.top / "work/p.yaml").write_text(f"extends: workspace\nnetwork: {{allow: [{allow}]}}\nsecrets: {{{entries}}}\n{services}\n{more}\n")

    def words(self, *options):
        self.runs += 1
        return ["run", "--audit", str(self.top / f"calls{self.runs}.db"), *options, "--policy", "p.yaml", "--", INSIDE, "-c"]

    def calls(self, *calls, options=()):
        """Answers of calls, and all that was printed."""
        self.server.seen.clear()
        self.stranger.seen.clear()
        done = self.place.call(*self.words("--broker", *options), CALLS, "\n".join(map(json.dumps, calls)))
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done

    def curl(self, server=None, variable="TOKEN", more=""):
        return f'curl -sS {more} -H "Authorization: Bearer ${variable}" https://{(server or self.server).place}/echo'

    def sent(self):
        return [authorization for _, authorization, _ in self.server.seen]

    def events(self):
        return self.place.call("audit", "list", "--json", str(self.top / f"calls{self.runs}.db")).stdout

    def has_value(self, *texts):
        return any(value in str(text) for value in (VALUE, OTHER) for text in texts)


def code(answer):
    return answer.get("error", {}).get("code")


def output(answer):
    return answer.get("result", {}).get("stdout", "") + answer.get("result", {}).get("stderr", "")


def begin(s):
    place = s.place
    ok(place.vault("init", "--passphrase-file", str(place.passphrase)).returncode == 0, "a vault is made")
    shutil.copy(s.top / "ca.pem", s.top / "state/corral/vault/authorities.pem")
    place.vault("unlock", "--passphrase-file", str(place.passphrase))
    place.vault("set", "TOKEN", value=VALUE)
    place.vault("set", "SECOND", value=OTHER)
    place.vault("grant", "TOKEN", s.server.place)
    place.vault("grant", "SECOND", s.server.place)


def works(s):
    s.policy()
    answers, done = s.calls(inject(), sh(s.curl()))
    ok(answers and answers[0].get("result") == {"injected": True}, "secret_inject answers without a value", done)
    ok(s.sent() == [f"Bearer {VALUE}"], "the host gets the value", s.sent(), done)
    ok(len(answers) == 2 and "got Bearer *" in output(answers[1]) and not s.has_value(done.stdout, done.stderr), "the program gets stars", answers)
    events = s.events()
    ok('"vault.read:TOKEN"' in events and f"injected as TOKEN for {s.server.place}" in events, "the log has which secret, where to, and the variable", events)
    ok(not s.has_value(events), "and no value")
    uses = s.place.vault("uses", "--json").stdout
    ok("TOKEN" in uses and s.server.place in uses and not s.has_value(uses), "so has the vault's", uses)
    answers, done = s.calls(inject(targetEnv="GH_TOKEN"), sh(f'{s.curl(variable="GH_TOKEN")}; echo "[$TOKEN]"'))
    ok(s.sent() == [f"Bearer {VALUE}"] and "[]" in output(answers[1]), "targetEnv names the variable", s.sent(), answers)
    s.policy("services: {vault: {access: read}}", ("TOKEN", "SECOND"))
    answers, done = s.calls(inject(), inject("SECOND"), sh(f'{s.curl()}; {s.curl(variable="SECOND")}'))
    ok(s.sent() == [f"Bearer {VALUE}", f"Bearer {OTHER}"], "two for one program", s.sent(), done)
    s.policy("rules: [{id: r, action: allow, operations: [service], patterns: ['vault:TOKEN']}]")
    answers, done = s.calls(inject(), sh(s.curl()))
    ok(s.sent() == [f"Bearer {VALUE}"], "a rule grants it as well", s.sent(), done)


def one(s):
    """For one program: neither the command itself, nor another program, nor the same once more."""
    s.policy()
    # The server's own authority is not trusted in a program without secrets.
    bare = s.curl(more="-k")
    answers, done = s.calls(inject(), sh(s.curl()), sh(bare + '; echo "[$TOKEN]"'))
    ok(s.sent() == [f"Bearer {VALUE}", "Bearer "] and "[]" in output(answers[2]), "the next program has none", s.sent(), answers)
    ok('"TOKEN"' not in done.stdout.partition("own ")[2] and '"PATH"' in done.stdout.partition("own ")[2], "the command itself has no variable", done)
    answers, done = s.calls(inject(), sh(bare, 1), sh(s.curl()))
    ok(s.sent() == ["Bearer ", f"Bearer {VALUE}"], "another connection has none", s.sent(), answers)
    answers, done = s.calls(inject(), [0, "exec.run", {"command": "sh", "shell": True}], sh(bare))
    ok(s.sent() == ["Bearer "], "a call that is refused has used it up", s.sent(), answers)
    answers, done = s.calls(inject(), [0, "gone", {}], sh(bare, 0))
    ok(s.sent() == ["Bearer "], "it ends with its connection", s.sent(), answers)
    place = s.top / "work/placeholder"
    take = f'printf %s "$TOKEN" >{place}'
    steal = f'TOKEN=$(cat {place}); {bare}'
    answers, done = s.calls(inject(), sh(take), sh(steal), inject(), sh(steal))
    found = place.read_text()
    ok(found.startswith("ghp_") and found != VALUE, "a program can print its placeholder", found)
    ok(s.sent() == [f"Bearer {found}", f"Bearer {found}"], "which stands for nothing in another, even with the same secret", s.sent(), answers)


def wants_the_value(s):
    s.policy()
    looks = [
        ("its variables", "env; cat /proc/self/environ /proc/$$/environ | tr '\\0' '\\n'"),
        ("its command line, and those of others", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"),
        ("files", "grep -rsa ghp_ /proc/self/ /tmp \"$HOME\" /dev/shm 2>/dev/null; ls -la /dev/corral 2>&1"),
        ("what the host sends back", f"{s.curl()}; {s.curl().replace('/echo', '/base64')}; {s.curl().replace('/echo', '/chunks')}"),
        ("a host of the policy that is not the secret's", f"{s.curl(s.stranger)}"),
    ]
    for name, script in looks:
        answers, done = s.calls(inject(), sh(script))
        seen = [authorization for _, authorization, _ in s.stranger.seen]
        ok(len(answers) == 2 and "result" in answers[1] and not s.has_value(answers, done.stderr, s.events(), seen), f"no value in {name}", answers, seen)
    answers, done = s.calls(inject(), sh(s.curl(), env={"TOKEN": "mine"}))
    ok(not s.has_value(answers), "nor with a variable of its own in the way", answers)


def refused(s):
    s.policy()
    answers, _ = s.calls(inject("SECOND"))
    ok(code(answers[0]) == 1001 and "vault.read:SECOND" in str(answers[0]), "one that services.vault does not name", answers)
    answers, _ = s.calls(*(inject(name) for name in ("*", "TOK*", "TOKEN=x", "TOKEN,SECOND", "", "../TOKEN", "-x")))
    ok([code(a) for a in answers] == [1003] * 7, "a name that is a pattern, or no name", answers)
    answers, _ = s.calls(*(inject(targetEnv=name) for name in ("LD_PRELOAD", "SSL_CERT_FILE", "CORRAL_VAULT", "SANDBOX_SOCKET", "A=B", "", "1A", "PATH")))
    ok([code(a) for a in answers] == [1003] * 8, "a variable that decides what runs, or is none", answers)
    s.policy("services: {}")
    answers, _ = s.calls(inject())
    ok(code(answers[0]) == 1001, "without services.vault", answers)
    s.policy("services: {vault: {access: read, secrets: [TOKEN, SECOND]}}")
    answers, _ = s.calls(inject("SECOND"), sh(s.curl(variable="SECOND")))
    ok(code(answers[0]) == 1001 and "where this secret may go" in str(answers[0]) and not s.has_value(s.sent()), "one that `secrets` does not name", answers)
    s.policy("services: {vault: {access: read}}", names=())
    answers, _ = s.calls(inject())
    ok(code(answers[0]) == 1006, "where `secrets` names none at all", answers)
    s.policy("services: {vault: {access: read, rate_limit: 1/h}}")
    answers, _ = s.calls(inject(), inject())
    ok("result" in answers[0] and code(answers[1]) == 1001 and "too often" in str(answers[1]), "more often than rate_limit says", answers)
    s.policy("services: {vault: {access: read, max_size: 4}}")
    answers, _ = s.calls(inject())
    ok(code(answers[0]) == 1001 and "max_size" in str(answers[0]), "longer than max_size says", answers)
    s.policy()
    answers, _ = s.calls(*(inject(targetEnv=f"V{i}") for i in range(9)))
    ok([code(a) for a in answers] == [None] * 8 + [1001], "more than eight for one program", answers)
    s.policy(host=s.stranger.place)
    answers, done = s.calls(inject(), sh(s.curl(s.stranger)))
    ok(len(answers) == 2 and answers[1]["error"]["data"]["class"] == "service" and "corral vault grant TOKEN" in str(answers[1]) and not s.stranger.seen,
       "a host that the vault does not grant: the program does not start", answers, s.stranger.seen)
    s.place.vault("revoke", "TOKEN", "--all")
    s.place.vault("grant", "TOKEN", s.server.place, "--to", "somebody-else")
    s.policy()
    answers, done = s.calls(inject(), sh(s.curl()))
    ok("error" in answers[1] and "is not granted" in str(answers[1]) and not s.server.seen, "a grant for another sandbox", answers)
    s.place.vault("revoke", "TOKEN", "--all")
    s.place.vault("grant", "TOKEN", s.server.place)
    stored = s.top / "config/corral/policy.yaml"
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.parent.chmod(0o700)
    stored.write_text((s.top / "work/p.yaml").read_text().replace("secrets: {TOKEN:", "secrets: {OTHER:"))
    answers, done = s.calls(inject(), sh(s.curl()))
    ok("error" in answers[0] and not s.has_value(s.sent()), "a stored policy that does not name it", answers)
    stored.unlink()
    done = s.place.call(*s.words("--broker-http"), HTTP)
    ok('"code":1008' in done.stdout.replace(" ", ""), "by HTTP", done)


def locked(s):
    """The vault is locked while it runs: what runs keeps what it was lent, and nothing more is."""
    s.policy()
    work = s.top / "work"
    s.server.seen.clear()
    calls = [inject(), sh(s.curl()), [0, "make", str(work / "first")], [0, "wait", str(work / "locked")], inject(), sh(s.curl())]
    with subprocess.Popen([run_secret.CORRAL, *s.words("--broker"), CALLS, "\n".join(map(json.dumps, calls))], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=work, env=s.place.env, start_new_session=True) as process:
        while not (work / "first").exists() and process.poll() is None:
            pass
        s.place.vault("lock")
        (work / "locked").touch()
        out, err = process.communicate(timeout=120)
    answers = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    ok(len(answers) == 4 and "error" in answers[3] and "locked" in str(answers[3]) and "corral vault unlock" in str(answers[3]), "locked meanwhile, it is refused, and says what to do",
       answers, err)
    ok(s.sent() == [f"Bearer {VALUE}"], "and no program was started without it", s.sent())


def main():
    scratch = tempfile.mkdtemp(prefix="cbs-")
    s = Scene(scratch)
    try:
        begin(s)
        works(s)
        one(s)
        wants_the_value(s)
        refused(s)
        locked(s)
    finally:
        s.place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, RUN_SECRET=HELPERS, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
