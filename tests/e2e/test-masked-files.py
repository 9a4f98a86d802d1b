#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files in which programs keep their credentials: real programs read them inside, with placeholders in them, and their hosts get
the values. What is not understood, what was left by an attacker and what is not lent stays hidden. As root, once more as an
ordinary user. Prints TAP."""

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
from broker_tap import end, ok, skip  # noqa: E402

HELPERS = os.environ.get("RUN_SECRET", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", HELPERS)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
Place, Server, VALUE, PROGRAMS, signature = run_secret.Place, run_secret.Server, run_secret.VALUE, run_secret.PROGRAMS, run_secret.aws.signature
OTHER = "gho_zyxwvutsrqponmlkjihgfedcba9876543210"
# Of nobody; programs read the middle of it.
CLAIMS = "eyJzdWIiOiIxMjM0NTY3ODkwIn0"
JWT = f"eyJhbGciOiJIUzI1NiJ9.{CLAIMS}.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
ID, KEY = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def encoded(value):
    return base64.b64encode(f"me:{value}".encode()).decode()


def put(place, name, text):
    file = place.path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    file.chmod(0o600)
    return file


def files(server):
    """Name of the source, path, and what the program wrote there: the value for the server, and another one."""
    at = server.place
    return {
        "gh": (".config/gh/hosts.yml", f"{at}:\n    users:\n        me:\n            oauth_token: {VALUE}\n    git_protocol: https\n    oauth_token: {VALUE}\n    user: me\n"
                                       f"github.com:\n    oauth_token: {OTHER} # was {OTHER}\n"),
        "netrc": (".netrc", f"# {OTHER}\nmachine 127.0.0.1 login me password {VALUE}\nmachine other.example login you password {OTHER}\n"),
        "npm": (".npmrc", f"; {OTHER}\nregistry=https://{at}/\n//{at}/:_authToken={VALUE}\n//other.example/:_auth={encoded(OTHER)}\nunknown={OTHER}\n"),
        "docker": (".docker/config.json", json.dumps({"auths": {at: {"auth": encoded(VALUE)}, "other.example": {"auth": encoded(OTHER), "identitytoken": JWT}},
                                                      "HttpHeaders": {"X-Other": OTHER}, "credsStore": "desktop"})),
        "git": (".git-credentials", f"https://me:{VALUE}@{at.replace(':', '%3a')}\nhttps://you:{OTHER}@other.example\n"),
        "pypi": (".pypirc", f"[distutils]\nindex-servers =\n    here\n    other\n\n[here]\nrepository = https://{at}/legacy/\nusername = __token__\npassword = {VALUE}\n"
                            f"\n[other]\npassword = {OTHER}\n"),
        "cargo": (".cargo/credentials.toml", f"# {OTHER}\n[registries.here]\ntoken = \"{VALUE}\"\n[registries.other]\ntoken = \"{OTHER}\"\n"),
        "gcloud": (".config/gcloud/application_default_credentials.json", json.dumps({"client_id": "764086051850-6qr4p6gpi6hn506pt8ejuq83di341hur.apps.googleusercontent.com",
                                                                                    "client_secret": OTHER, "refresh_token": VALUE, "type": "authorized_user"})),
    }


# The key of the value among those of the file, where it has several.
KEYS = {"gh": "#{at}/oauth_token", "netrc": "#127.0.0.1", "npm": "#//{at}/:_authToken", "docker": "#auths/{at}", "git": "#https://me@{enc}", "pypi": "#here",
        "cargo": "#registries/here", "gcloud": "#refresh_token"}


def lend(place, server, name, secret, *places):
    key = KEYS[name].format(at=server.place, enc=server.place.replace(":", "%3a"))
    set_it = place.vault("set", secret, "--from", f"login:{name}{key}")
    granted = place.vault("grant", secret, server.place, *places)
    return ok(set_it.returncode == 0 and granted.returncode == 0 and f"corral vault grant {secret}" in set_it.stderr, f"{name}: its file is set as a source", set_it, granted)


READ = {
    "docker": """import json, os, urllib.request as u
x = json.load(open(os.path.expanduser("~/.docker/config.json")))["auths"]["{at}"]["auth"]
u.urlopen(u.Request("https://{at}/v2/", headers=dict(Authorization="Basic " + x)))""",
    "pypi": """import base64, configparser, os, urllib.request as u
c = configparser.RawConfigParser(); c.read(os.path.expanduser("~/.pypirc"))
assert c.get("distutils", "index-servers").split() == ["here", "other"]
x = base64.b64encode((c.get("here", "username") + ":" + c.get("here", "password")).encode()).decode()
u.urlopen(u.Request(c.get("here", "repository"), headers=dict(Authorization="Basic " + x)))""",
    "cargo": """import os, urllib.request as u
try:
    import tomllib
    t = tomllib.load(open(os.path.expanduser("~/.cargo/credentials.toml"), "rb"))["registries"]["here"]["token"]
except ImportError:
    t = [l.split(" = ")[1].strip().strip('"') for l in open(os.path.expanduser("~/.cargo/credentials.toml")) if "token" in l][0]
u.urlopen(u.Request("https://{at}/api/v1", headers=dict(Authorization=t)))""",
    "gcloud": """import json, os, urllib.parse, urllib.request as u
x = json.load(open(os.path.expanduser("~/.config/gcloud/application_default_credentials.json")))
body = urllib.parse.urlencode(dict(grant_type="refresh_token", client_id=x["client_id"], client_secret=x["client_secret"], refresh_token=x["refresh_token"]))
u.urlopen("https://{at}/token", body.encode())""",
    "netrc": """import base64, netrc, urllib.request as u
login, _, password = netrc.netrc().authenticators("127.0.0.1")
u.urlopen(u.Request("https://{at}/", headers=dict(Authorization="Basic " + base64.b64encode((login + ":" + password).encode()).decode())))""",
}


def programs(place, server):
    """Each reads its own file, as it does outside."""
    rows = files(server)
    for name, (path, text) in rows.items():
        put(place, path, text)
        lend(place, server, name, name.upper(), *(("--in", "header,form") if name == "gcloud" else ()))
    token, basic = f"token {VALUE}", "Basic " + encoded(VALUE)
    at = server.place
    uses = [
        ("gh", "gh", f"GH_HOST={at} gh api user", token),
        ("netrc", "curl", f"curl -sS -n https://{at}/echo", basic),
        ("netrc", "python3", READ["netrc"], basic),
        ("npm", "npm", "npm --no-update-notifier whoami", f"Bearer {VALUE}"),
        ("git", "git", f"git -c credential.helper=store ls-remote https://{at}/repo", basic),
        ("docker", "python3", READ["docker"], basic),
        ("pypi", "python3", READ["pypi"], "Basic " + base64.b64encode(f"__token__:{VALUE}".encode()).decode()),
        ("cargo", "python3", READ["cargo"], VALUE),
        ("gcloud", "python3", READ["gcloud"], f"refresh_token={VALUE}"),
    ]
    for name, program, script, wanted in uses:
        if not shutil.which(program, path=place.env["PATH"]):
            skip(f"{name} by {program}", f"not installed: {program}; see tools/setup net")
            continue
        if program == "python3":
            (place.path / "work/read.py").write_text(script.replace("{at}", at))
            script = "python3 read.py"
        server.seen.clear()
        server.bodies.clear()
        path = place.path / rows[name][0]
        done = place.run(f"cat {path}; {script}", "--secret", name.upper(), "--net", at)
        got = [sent for _, sent, _ in server.seen] + server.bodies
        ok(any(wanted in text for text in got), f"{name} by {program}: the host gets the value", got, done)
        said = done.stdout + done.stderr
        ok(not any(text in said for text in (VALUE, OTHER, encoded(VALUE), encoded(OTHER), CLAIMS)), f"{name} by {program}: and nothing inside has it, nor any other of the file", done)
        ok(not any(text in str(server.seen) + str(server.bodies) for text in (OTHER, encoded(OTHER))), f"{name} by {program}: the other one goes nowhere", server.seen)


def aws(place, server):
    put(place, ".aws/credentials", f"# {OTHER}\n[default]\naws_access_key_id = {ID}\naws_secret_access_key = {KEY}\n[prod]\naws_access_key_id = AKIAZZZZZZZZZZZZZZZZ\n"
                                   f"aws_secret_access_key = {OTHER}\n")
    put(place, ".aws/cli-cache", OTHER)
    for secret, key in (("AWS_ID", "aws_access_key_id"), ("AWS_KEY", "aws_secret_access_key")):
        place.vault("set", secret, "--from", f"login:aws#default/{key}")
        place.vault("grant", secret, server.place)
    options = ("--secret", "AWS_ID", "--secret", "AWS_KEY")
    script = ("key() { sed -n \"s/$1 = //p\" ~/.aws/credentials | head -1; }; cat ~/.aws/credentials; ls ~/.aws; "
              f"curl -sS --aws-sigv4 aws:amz:us-east-1:execute-api --user $(key aws_access_key_id):$(key aws_secret_access_key) 'https://{server.place}/echo?a=1'")
    for name, more in (("", ()), (", where the home can be read", ("--read", "~/**"))):
        server.seen.clear()
        done = place.run(script, *options, *more)
        path, sent, headers = server.seen[0][:3] if server.seen else ("", "", {})
        ok(sent and f"Credential={ID}/" in sent and sent.endswith("Signature=" + signature(KEY, "GET", path, headers, b"")), f"aws: a request is signed by the key{name}", sent, done)
        ok(KEY not in done.stdout + done.stderr and OTHER not in done.stdout and "cli-cache" not in done.stdout, f"aws: which is nowhere inside, nor is the rest of the folder{name}", done)
        ok(done.stdout.count("aws_secret_access_key = ") == 2 and "[prod]" in done.stdout, f"aws: another profile has a key that is none{name}", done)
    if not shutil.which("aws", path=place.env["PATH"]):
        skip("aws by itself", "not installed: aws; see tools/setup net")
        return
    server.seen.clear()
    place.run(f"aws --region us-east-1 --endpoint-url https://{server.place} s3api list-buckets", *options)
    ok(any(f"Credential={ID}/" in sent for _, sent, _ in server.seen), "aws by itself", server.seen)


def kinds_of_homes(place, server):
    """A file in a home of the session's own, and over the host's."""
    file = place.path / ".netrc"
    change = "sed -i s/me/you/ ~/.netrc && echo changed; cat ~/.netrc; stat -c %a ~/.netrc; "
    before = file.read_bytes()
    done = place.run(change, "--secret", "NETRC")
    ok("changed" in done.stdout and "login you" in done.stdout and file.read_bytes() == before, "in a home of its own a command changes its copy", done)
    ok("600\n" in done.stdout and "written outside" not in done.stderr, "which is the user's alone, and nothing to keep", done)
    done = place.run("echo x >>~/.netrc || echo refused; rm -f ~/.netrc; mv ~/.netrc ~/.n2; cat ~/.netrc", "--secret", "NETRC", "--read", "~/**")
    ok("refused" in done.stdout and "machine" in done.stdout and VALUE not in done.stdout + done.stderr and file.read_bytes() == before, "over the host's file it is read-only", done)
    done = place.run("cat ~/.netrc ~/.npmrc ~/.docker/config.json", "--read", "~/**", "--secret", "NETRC")
    ok("machine 127.0.0.1" in done.stdout and "registry" not in done.stdout and "auths" not in done.stdout, "no other file is shown than that of the lent secret", done)
    done = place.run("cat ~/.netrc", "--read", "~/**")
    ok(done.returncode != 0 and not done.stdout, "and none without one", done)
    done = place.run("cat ~/.netrc", "--read", "~/**", "--deny", "~/.netrc", "--secret", "NETRC")
    ok(done.returncode != 0 and not done.stdout and "is not shown" in done.stderr, "what a policy denies is not shown, and that is said", done)
    done = place.run("cat ~/.netrc", "--read", "~/.netrc", "--dangerously-allow", "~/.netrc", "--secret", "NETRC")
    ok("machine 127.0.0.1" in done.stdout and VALUE not in done.stdout, "nor does a grant of the file itself show the value beside a lent secret", done)
    done = place.call("run", "--mode", "sandbox", "--data-dir", str(place.path / "work"), "--secret", "NETRC", "--", "sh", "-c", "cat ~/.netrc")
    ok("machine 127.0.0.1" in done.stdout and VALUE not in done.stdout, "it is so in an agent's mode, too", done)
    text = f'extends: workspace\nnetwork: {{allow: ["{server.place}"]}}\nsecrets: {{NETRC: {{hosts: ["{server.place}"]}}}}\n'
    (place.path / "work/p.yaml").write_text(text)
    server.seen.clear()
    done = place.call("run", "--policy", "p.yaml", "--", "curl", "-sS", "-n", f"https://{server.place}/echo")
    ok([sent for _, sent, _ in server.seen] == ["Basic " + encoded(VALUE)], "a policy names it by `secrets`", server.seen, done)


# What the file is before and after the host's has changed; a pipe says when.
WATCH = r"""
import os, sys, time
path = os.path.expanduser("~/.netrc")
first = open(path).read()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2000):
    try:
        now = open(path).read()
    except OSError as e:
        now = str(e)
    if now == first:
        break
    time.sleep(0.01)
print("same", now == first, sys.argv[1] in now)
"""


def replaced(place, server):
    """The host's program changes its file while a command runs that sees the home."""
    (place.path / "work/watch.py").write_text(WATCH)
    marker = "NEW" + VALUE
    text = f"machine 127.0.0.1 login me password {marker}\n"

    def write():
        (place.path / ".netrc").write_text(text)

    def rename():
        put(place, "netrc.new", text).rename(place.path / ".netrc")

    def remove():
        (place.path / ".netrc").unlink()
        put(place, ".netrc", text)

    for how in (write, rename, remove):
        put(place, ".netrc", files(server)["netrc"][1])
        command = [run_secret.CORRAL, "run", "--read", "~/**", "--secret", "NETRC", "--", "python3", "watch.py", marker]
        with subprocess.Popen(command, cwd=place.path / "work", env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as p:
            ok(p.stdout.readline() == "ready\n", f"{how.__name__}: a command looks at its file")
            how()
            out, err = p.communicate("go\n", timeout=120)
        ok(out == "same True False\n", f"{how.__name__}: a file that changes outside is inside what it was", out, err)
    # A folder that is hidden with all that is in it, but for the masked file.
    command = [run_secret.CORRAL, "run", "--read", "~/**", "--secret", "AWS_KEY", "--", "sh", "-c", "echo ready; sleep 60; cat ~/.aws/*"]
    with subprocess.Popen(command, cwd=place.path / "work", env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as p:
        ok(p.stdout.readline() == "ready\n", "a command sees a folder of its own")
        (place.path / ".aws").rename(place.path / ".aws2")
        (place.path / ".aws").mkdir()
        put(place, ".aws/credentials", f"[default]\naws_secret_access_key = {marker}\n")
        try:
            out, err = p.communicate(timeout=120)
        finally:
            shutil.rmtree(place.path / ".aws")
            (place.path / ".aws2").rename(place.path / ".aws")
    ok(p.returncode != 0 and "was moved or replaced" in err and marker not in out and KEY not in out, "when the host's is moved away from under it, the sandbox ends", out, err)
    put(place, ".netrc", files(server)["netrc"][1])


def search(place, server):
    (place.path / "work/search.py").write_text(run_secret.SEARCH)
    shows = [word for name in files(server) for word in ("--secret", name.upper())]
    for value in (VALUE, OTHER, encoded(VALUE), encoded(OTHER)):
        done = place.run(f"sleep 60 & python3 search.py {value.encode().hex()}; kill $!", *shows)
        ok("looked True found []" in done.stdout, f"all files at once: nothing that a command can look at has {value[:6]}…", done)


def hidden(place, server):
    """Forms that are not understood, and places that are not the file's: nothing runs, nothing is shown, and no message has a secret."""
    rows = files(server)
    path = rows["netrc"][0]
    bad = [
        ("a macro", "netrc", f"machine 127.0.0.1 login me password {VALUE}\nmacdef init\nput {OTHER}\n\n"),
        ("a token as a name", "netrc", f"machine 127.0.0.1 login {OTHER} password {VALUE}\n"),
        ("the same value as a name", "netrc", "machine 127.0.0.1 login hunter22 password hunter22\n"),
        ("a byte order mark", "netrc", b"\xef\xbb\xbf" + f"machine 127.0.0.1 login me password {VALUE}\n".encode()),
        ("a NUL", "netrc", f"machine 127.0.0.1 login me password {VALUE}\0\n"),
        ("10 MiB", "netrc", f"machine 127.0.0.1 login me password {VALUE}\n" + "#\n" * (5 << 20)),
        ("nothing", "netrc", ""),
        ("a second document", "gh", f"{server.place}:\n  oauth_token: {VALUE}\n---\n{OTHER}: {{}}\n"),
        ("a merge key", "gh", f"a: &a {{oauth_token: {VALUE}}}\n{server.place}:\n  <<: *a\n"),
        ("a list", "gh", f"{server.place}:\n  oauth_token: [{VALUE}]\n"),
        ("a name twice", "docker", f'{{"auths": {{"{server.place}": {{"auth": "{encoded(VALUE)}", "auth": "{encoded(OTHER)}"}}}}}}'),
        ("a cut file", "docker", f'{{"auths": {{"{server.place}": {{"auth": "{encoded(VALUE)}"'),
        ("a password in a name", "docker", f'{{"auths": {{"https://me:{OTHER}@{server.place}/": {{"auth": "{encoded(VALUE)}"}}}}}}'),
        ("a variable in a value", "npm", f"//{server.place}/:_authToken={VALUE}${{NPM_TOKEN}}\n"),
        ("a comment behind a value", "npm", f"//{server.place}/:_authToken={VALUE} ; {OTHER}\n"),
        ("a token as the user", "git", f"https://{OTHER}:x-oauth-basic@github.com\nhttps://me:{VALUE}@{server.place.replace(':', '%3a')}\n"),
        ("a continued value", "pypi", f"[here]\npassword = {VALUE}\n  {OTHER}\n"),
    ]
    for what, name, text in bad:
        put(place, rows[name][0], text)
        done = place.run(f"cat {place.path / rows[name][0]}; echo ran", "--secret", name.upper(), "--read", "~/**")
        said = done.stdout + done.stderr
        ok(done.returncode == 125 and "ran" not in done.stdout and f"~/{rows[name][0]}" in done.stderr, f"{name} with {what}: nothing runs, and the file is named", said[:600])
        ok(not any(text in said for text in (VALUE, OTHER, encoded(VALUE), encoded(OTHER))), f"{name} with {what}: and no message has a secret", said[:600])
        done = place.run(f"cat {place.path / rows[name][0]}", "--read", "~/**")
        ok(not done.stdout, f"{name} with {what}: the file is hidden", done)
        put(place, *rows[name])

    # What the refusals say helps: the value itself in the vault, and a variable.
    put(place, path, bad[0][2])
    place.vault("set", "KEPT", value=VALUE)
    place.vault("grant", "KEPT", server.place)
    server.seen.clear()
    done = place.run(f"curl -sS -u me:$KEPT https://{server.place}/echo", "--secret", "KEPT")
    ok([sent for _, sent, _ in server.seen] == ["Basic " + encoded(VALUE)], "a value that is kept by `corral vault set` instead is lent", server.seen, done)
    put(place, *rows["netrc"])

    def refused(what, why):
        done = place.run("echo ran", "--secret", "NETRC")
        ok(done.returncode == 125 and "ran" not in done.stdout and why in done.stderr and VALUE not in done.stdout + done.stderr, f"{what} is refused", done)

    file = place.path / path
    file.chmod(0o644)
    refused("a file that others can read", "chmod 600 ~/.netrc")
    file.unlink()
    refused("a file that is not there", "~/.netrc")
    real = put(place, "work/netrc", rows["netrc"][1])
    file.symlink_to(real)
    refused("a link", "there is a link")
    file.unlink()
    os.mkfifo(file, 0o600)
    refused("a pipe", "must be a file of yours")
    file.unlink()
    file.mkdir(mode=0o700)
    refused("a folder", "must be a file of yours")
    file.rmdir()
    put(place, path, rows["netrc"][1])
    gh = place.path / ".config/gh"
    gh.rename(place.path / "work/gh")
    gh.symlink_to(place.path / "work/gh")
    done = place.run("echo ran", "--secret", "GH")
    ok(done.returncode == 125 and "there is a link" in done.stderr, "a link on the way is refused", done)
    gh.unlink()
    (place.path / "work/gh").rename(gh)


def sources(place):
    done = place.vault("set", "X", "--from", "login:nothing")
    ok(done.returncode != 0 and "login:gh" in done.stderr, "a file that Corral does not know is refused, and those that it knows are named", done)
    done = place.vault("set", "X", "--from", f"login:{place.path}/.netrc")
    ok(done.returncode != 0, "no path is a login", done)
    done = place.vault("set", "X", "--from", "login:netrc")
    ok(done.returncode != 0 and "login:netrc#127.0.0.1/password" in done.stderr and VALUE not in done.stderr, "of several secrets one is named, and the keys are listed", done)
    done = place.vault("set", "X", "--from", "login:netrc#nobody.example")
    ok(done.returncode != 0 and "no secret `nobody.example`" in done.stderr, "one that is not there is refused", done)
    done = place.vault("list", "--json")
    ok('"login:netrc#127.0.0.1"' in done.stdout and VALUE not in done.stdout, "the list has the source", done.stdout[-1500:])


def main():
    scratch = tempfile.mkdtemp(prefix="cmf-")
    place = Place(scratch)
    try:
        server = Server(place.path / "good.pem")
        ok(place.vault("init", "--passphrase-file", str(place.passphrase)).returncode == 0, "a vault is made")
        shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
        ok(place.vault("unlock", "--passphrase-file", str(place.passphrase)).returncode == 0, "it is unlocked")
        programs(place, server)
        sources(place)
        aws(place, server)
        kinds_of_homes(place, server)
        replaced(place, server)
        search(place, server)
        hidden(place, server)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS, RUN_SECRET=HELPERS, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
