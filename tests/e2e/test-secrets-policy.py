#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`secrets` in policies, skills and presets: what they name is lent, no more than the vault grants and stored policies leave, and to nobody
who only has the right name. As root, once more as an ordinary user. Prints TAP."""

import importlib.util
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

HELPERS = os.environ.get("RUN_SECRET", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", HELPERS)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
Place, Server, VALUE, PROGRAMS = run_secret.Place, run_secret.Server, run_secret.VALUE, run_secret.PROGRAMS
KEY = "sk-ant-api03-0123456789zyxwvutsrqponmlkjihgfedcba"
PLAIN = "plain-value-of-the-variable"


def policy(hosts, secrets="", more=""):
    allow = ", ".join(f'"{host}"' for host in hosts)
    return f"extends: workspace\nnetwork: {{allow: [{allow}]}}\n{more}\n{secrets}\n"


def secret(name, host, places="header"):
    return f'secrets: {{{name}: {{hosts: ["{host}"], in: [{places}]}}}}'


def curl(server, path="echo", name="TOKEN"):
    return f'echo "inside $TOKEN"; curl -sS -H "Authorization: Bearer ${name}" "https://{server.place}/{path}"'


def begin(place, server):
    ok(place.vault("init", "--passphrase-file", str(place.passphrase)).returncode == 0, "a vault is made")
    shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
    ok(place.vault("unlock", "--passphrase-file", str(place.passphrase)).returncode == 0, "it is unlocked")
    place.vault("set", "TOKEN", value=VALUE)
    ok(place.vault("grant", "TOKEN", server.place, "--in", "header,query").returncode == 0, "it has a secret for a host, in headers and queries")


def sent(server):
    return [authorization for _, authorization, _ in server.seen]


def policies(place, server, stranger):
    """--policy FILE."""
    file = place.path / "work/p.yaml"

    def run(text, script, *options, **env):
        server.seen.clear()
        file.write_text(text)
        return place.call("run", "--policy", "p.yaml", *options, "--", "sh", "-c", script, **env)

    done = run(policy([server.place], secret("TOKEN", server.place)), curl(server))
    ok(sent(server) == [f"Bearer {VALUE}"] and "inside ghp_" in done.stdout and VALUE not in done.stdout, "what a policy names is lent", server.seen, done)
    done = run(policy([server.place]), curl(server))
    ok(sent(server) != [f"Bearer {VALUE}"] and "inside \n" in done.stdout, "without secrets there are none", server.seen, done)
    done = run(policy([server.place], secret("TOKEN", server.place)), curl(server, "echo?key=$TOKEN"))
    ok(server.seen and "key=ghp_" in server.seen[0][0] and VALUE not in server.seen[0][0], "a place that the vault grants and the policy does not is closed", server.seen, done)
    done = run(policy([server.place], secret("TOKEN", server.place, "query")), curl(server, "echo?key=$TOKEN"))
    ok(server.seen and f"key={VALUE}" in server.seen[0][0] and VALUE not in sent(server)[0], "and so for the other one", server.seen, done)
    done = run(policy([server.place], secret("TOKEN", server.place, "form")), "true")
    ok(done.returncode == 125 and "corral vault grant TOKEN" in done.stderr, "a place that the vault does not grant is not opened by a policy", done)
    done = run(policy([stranger.place], secret("TOKEN", stranger.place)), curl(stranger))
    ok(done.returncode == 125 and "corral vault grant TOKEN" in done.stderr and not stranger.seen, "nor a host", done)
    done = run(policy([server.place], secret("MISSING", server.place)), "echo ran")
    ok(done.returncode == 125 and "corral vault set MISSING" in done.stderr and "ran" not in done.stdout, "what the vault has not is named, and nothing runs", done)
    done = run(policy([], secret("TOKEN", server.place)), curl(server))
    ok(not server.seen and done.returncode != 0, "a secret grants no connection", server.seen, done)
    done = run(policy([server.place], secret("TOKEN", server.place), "env: [TOKEN]"), curl(server), TOKEN=PLAIN)
    ok(sent(server) == [f"Bearer {VALUE}"] and PLAIN not in done.stdout, "a variable of that name is not passed on beside it", server.seen, done)
    done = run(policy([server.place], secret("TOKEN", server.place, "header, query")), curl(server, "echo?key=$TOKEN"), "--secret", f"TOKEN={server.place}")
    ok(sent(server) == [f"Bearer {VALUE}"] and f"key={VALUE}" in server.seen[0][0], "beside --secret it is lent once", server.seen, done)
    place.vault("grant", "TOKEN", server.place, "--in", "header:X-Feed-Key")
    script = f'curl -sS -H "X-Feed-Key: $TOKEN" -H "Authorization: $TOKEN" https://{server.place}/echo'
    done = run(policy([server.place], secret("TOKEN", server.place)), script)
    ok(server.seen and server.seen[0][2]["x-feed-key"] == VALUE and VALUE not in sent(server)[0], "which fields of the head, the vault alone says", server.seen, done)
    done = run(policy([server.place], secret("TOKEN", server.place, "query")), script)
    ok(done.returncode == 125 and not server.seen, "and they are closed where the policy has no headers", server.seen, done)
    place.vault("grant", "TOKEN", server.place, "--in", "header,query")
    (place.path / "work/q.yaml").write_text(policy([server.place]))
    done = run(policy([server.place], secret("TOKEN", server.place)), curl(server), "--policy", "q.yaml")
    ok(sent(server) != [f"Bearer {VALUE}"] and "inside \n" in done.stdout, "two policies must both name it", server.seen, done)
    for name, text in (("default", "default: allow"), ("mode", "mode: monitor")):
        (place.path / "work/q.yaml").write_text(text + "\nfs: {read: [/**]}\n")
        done = run(policy([server.place], secret("TOKEN", server.place)), "echo \"inside $TOKEN\"", "--policy", "q.yaml")
        ok("ghp_" not in done.stdout, f"no {name} lets it go", done)


def stored(place, server, stranger):
    """Policies that hold for every run."""
    file = place.path / "config/corral/policy.yaml"
    file.parent.mkdir(parents=True)
    file.parent.chmod(0o700)

    def run(text, *options):
        server.seen.clear()
        file.write_text(text)
        return place.run(curl(server), *options)

    both = [server.place, stranger.place]
    done = run(policy(both), "--secret", "TOKEN")
    ok(done.returncode == 126 and "policy.yaml does not grant it" in done.stderr and "secrets: {TOKEN:" in done.stderr, "one without secrets keeps them away", done)
    done = run(policy(both, secret("TOKEN", stranger.place)), "--secret", "TOKEN")
    ok(done.returncode == 125 and not server.seen, "one for another host does not let it go to this one", done)
    done = run(policy(both, secret("TOKEN", server.place)), "--secret", "TOKEN")
    ok(sent(server) == [f"Bearer {VALUE}"] and "inside ghp_" in done.stdout, "one that names it lets it go, whatever it says of variables", server.seen, done)
    done = run(policy(both, secret("TOKEN", server.place, "query")), "--secret", f"TOKEN={server.place}")
    ok(VALUE not in str(sent(server)) and "inside ghp_" in done.stdout, "of places it leaves those that it has", server.seen, done)
    file.write_text(policy(both))
    (place.path / "work/p.yaml").write_text(policy([server.place], secret("TOKEN", server.place)))
    server.seen.clear()
    done = place.call("run", "--policy", "p.yaml", "--", "sh", "-c", curl(server))
    ok("policy.yaml does not grant it" in done.stderr and "inside \n" in done.stdout and VALUE not in str(server.seen), "and a policy's secret is left out, and said", done)
    file.unlink()


def skill(place, folder, more=""):
    top = place.path / "work" / folder
    top.mkdir(parents=True)
    (top / "skill.yaml").write_text(f"name: weather\nversion: 1.0.0\nentry: run.sh\npermissions:\n{more}")
    (top / "run.sh").write_text("#!/bin/sh\n# " + folder + "\necho \"inside $TOKEN\"\ncurl -sS -H \"Authorization: Bearer $TOKEN\" \"$URL\"\n")
    (top / "run.sh").chmod(0o755)
    shown = place.call("inspect", str(top))
    digest = re.search(r"Digest +([0-9a-f]{64})", shown.stdout)
    place.call("approve", str(top), "--yes")
    return top, digest.group(1) if digest else "", shown


def skills(place, server):
    """A grant for a skill is one for its content: who takes the name gets nothing."""
    asks = (f'  fs: {{read: [/usr/**, /etc/**, $SKILL_DIR/**]}}\n  network: {{allow: ["{server.place}"]}}\n  env: ["URL=https://{server.place}/echo"]\n'
            f'  secrets: {{TOKEN: {{hosts: ["{server.place}"]}}}}\n')
    first, digest, shown = skill(place, "one/weather", asks)
    second, other, _ = skill(place, "two/weather", asks)
    ok(f"TOKEN, which it does not see, at {server.place}" in shown.stdout, "inspect names the secret and its host", shown)
    ok(len(digest) == 64 and digest != other, "two skills have one name", digest, other)
    place.vault("revoke", "TOKEN", "--all")

    def run(top):
        server.seen.clear()
        return place.call("run", "--skill", str(top))

    place.vault("grant", "TOKEN", server.place, "--to", "weather")
    for top in (first, second):
        done = run(top)
        ok(done.returncode == 125 and not server.seen and f"--to weather@{(digest if top == first else other)[:32]}" in done.stderr,
           f"{top.parent.name}: its name alone is not enough, and the hint has the whole one", done)
    place.vault("revoke", "TOKEN", "--all")
    place.vault("grant", "TOKEN", server.place, "--to", f"weather@{digest[:32]}")
    done = run(first)
    ok(sent(server) == [f"Bearer {VALUE}"] and "inside ghp_" in done.stdout, "the skill that was meant gets it", server.seen, done)
    done = run(second)
    ok(done.returncode == 125 and not server.seen and "ghp_" not in done.stdout, "the other does not", server.seen, done)
    (first / "run.sh").write_text((first / "run.sh").read_text() + "# changed\n")
    done = place.call("run", "--skill", str(first), "--yes")
    ok(done.returncode == 125 and not server.seen, "nor the first when it has changed", server.seen, done)
    # A file can have the name of a profile, too.
    place.vault("revoke", "TOKEN", "--all")
    place.vault("grant", "TOKEN", server.place, "--to", "workspace")
    (place.path / "work/workspace").write_text(policy([server.place], secret("TOKEN", server.place)))
    done = place.call("run", "--policy", "workspace", "--", "sh", "-c", curl(server))
    ok(done.returncode == 125 and not server.seen, "a policy file with the name of a profile does not get what the profile has", done)
    server.seen.clear()
    done = place.run(curl(server), "--secret", "TOKEN")
    ok(sent(server) == [f"Bearer {VALUE}"], "which the profile gets", server.seen, done)


def presets(place, server):
    """An agent's key by one word. ANTHROPIC_BASE_URL leads to a server here."""
    name = "ANTHROPIC_API_KEY"
    script = f'echo "inside ${name}"; curl -sS -H "Authorization: ${name}" "$ANTHROPIC_BASE_URL/echo"'
    env = {"ANTHROPIC_BASE_URL": f"https://{server.place}", name: PLAIN}

    def run(*options, script=script, **more):
        server.seen.clear()
        return place.call("run", "--with", "claude", *options, "--", "sh", "-c", script, **{**env, **more})

    done = run()
    ok("inside " + PLAIN in done.stdout and "vault" not in done.stderr, "a vault without the key changes nothing", done)
    place.vault("set", name, value=KEY)
    done = run()
    ok("inside " + PLAIN in done.stdout, "nor one that grants it to no host", done)
    place.vault("grant", name, server.place)
    done = run()
    ok(sent(server) == [KEY] and "inside sk-ant-" in done.stdout and PLAIN not in done.stdout and KEY not in done.stdout + done.stderr,
       "with a grant it is a placeholder, and the variable stays outside", server.seen, done)
    ok(done.stderr.count(f"{name}: the vault lends it") == 1, "one line says so", done)
    own = Server(place.path / "own.pem")
    done = run("--net", own.place, script=f"curl -sS https://{own.place}/echo; {script}", NODE_EXTRA_CA_CERTS=str(place.path / "own.pem"))
    ok(len(own.seen) == 1 and sent(server) == [KEY], "an authority of NODE_EXTRA_CA_CERTS is trusted beside ours", own.seen, done)
    done = run("--net", own.place, script=f"curl -sS https://{own.place}/echo; {script}")
    ok(len(own.seen) == 1 and sent(server) == [KEY], "and is not without it", own.seen, done)
    done = run(NODE_EXTRA_CA_CERTS=str(place.path / "nothing.pem"))
    ok("NODE_EXTRA_CA_CERTS: its file cannot be read" in done.stderr and sent(server) == [KEY], "one that cannot be read is named", done)
    done = run("--profile", "offline", script=f'echo "inside ${name}"')
    ok(KEY not in done.stdout and "the vault lends" not in done.stderr, "offline nothing is lent", done)
    file = place.path / "config/corral/policy.yaml"
    file.write_text(policy([server.place]))
    done = run()
    ok("inside sk-ant-" not in done.stdout and KEY not in str(server.seen), "a stored policy without secrets keeps it away", server.seen, done)
    file.unlink()
    place.vault("lock")
    done = run()
    ok("inside " + PLAIN in done.stdout and f"{name}: the vault is locked" in done.stderr, "a locked vault is named, and nothing waits for a passphrase", done)
    done = run(XDG_STATE_HOME=str(place.path / "state2"))
    ok("inside " + PLAIN in done.stdout and "vault" not in done.stderr, "without a vault it is as it was", done)


def main():
    scratch = tempfile.mkdtemp(prefix="csp-")
    place = Place(scratch)
    try:
        server, stranger = Server(place.path / "good.pem"), Server(place.path / "good.pem")
        begin(place, server)
        policies(place, server, stranger)
        stored(place, server, stranger)
        skills(place, server)
        presets(place, server)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, RUN_SECRET=HELPERS, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
