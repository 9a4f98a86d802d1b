#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""email.send from inside of `corral run`, with real SMTP servers on loopback (aiosmtpd).

As root it runs a second time as an ordinary user. $CORRAL, $CORRAL_BROKER … as for the other tests of the
broker; $BACKENDS is the folder of back ends.
"""

import contextlib
import email
import email.policy
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import aiosmtpd  # noqa: F401
except ImportError:
    # Debian has it for the system's own Python.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    raise

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import servers  # noqa: E402

CORRAL = os.path.abspath(os.environ["CORRAL"])
PYTHON = "/usr/bin/python3"
PROGRAMS = ("CORRAL", "CORRAL_BROKER", "CORRAL_WARDEN", "CORRAL_SANDBOX_CALL")
number = failures = 0
beside = None  # the same, as another user
scratch = tempfile.mkdtemp(prefix="corral-mail-")
home, work = os.path.join(scratch, "home"), os.path.join(scratch, "work")
config = os.path.join(home, ".config", "corral", "services.yaml")

# Runs inside: `call` makes a call, and what is in `out` is printed.
INSIDE = r"""
import json, os, socket, sys

def call(called, /, **params):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["SANDBOX_SOCKET"])
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": called, "params": params}).encode() + b"\n")
        answer = json.loads(s.makefile().readline())
    return answer.get("result") or answer["error"]

def send(**params):
    answer = call("email.send", **{"to": ["bob@allowed.example"], "subject": "s", "body": "b", **params})
    out.append(answer)
    return answer

out = []
exec(sys.argv[1])
print(json.dumps(out))
"""


def ok(holds, name, *about):
    global number, failures
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}", flush=True)
    if not holds:
        failures += 1
        for part in about:
            print("# " + repr(part)[:2000], flush=True)


def environment():
    return {**os.environ, "HOME": home, "XDG_CONFIG_HOME": os.path.join(home, ".config"),
            "XDG_STATE_HOME": os.path.join(home, ".state"), "XDG_CACHE_HOME": os.path.join(home, ".cache"),
            "CORRAL_BACKENDS": os.path.abspath(os.environ["BACKENDS"])}


def configure(port, way="plain", login=False, server="localhost", password=servers.PASSWORD, **more):
    """Writes services.yaml."""
    section = {"server": server, "port": port, "tls": way, "from": "Agent <agent@example.com>", **more}
    if login:
        with open(os.path.join(scratch, "password"), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(password + "\n")
        section.update(user=servers.USER, password_file=os.path.join(scratch, "password"))
    with open(config, "w", encoding="utf-8") as f:
        json.dump({"email": section}, f)


def inside(code, *options, email_grant=None):
    """What is in `out` after this code ran inside, with mail to *@allowed.example granted."""
    grant = {"access": "send", "recipients": ["*@allowed.example", "ceo@bücher.example"], "rate_limit": "1000/s"}
    policy = os.path.join(scratch, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"fs": {"read": ["/usr/**", "/etc/**", work + "/**"]}, "exec": ["/usr/**"],
                   "services": {"email": grant if email_grant is None else email_grant}}, f)
    r = subprocess.run([CORRAL, "run", "--policy", policy, "--cwd", work, *options, "--", PYTHON, "-c", INSIDE, code],
                       env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=300, cwd=work, check=False)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return [{"code": r.returncode, "message": r.stderr.decode()}]


def code(answer):
    return answer.get("code") if isinstance(answer, dict) else answer


def read(mail):
    return email.message_from_bytes(mail[2], policy=email.policy.default)


def test_a_mail():
    server = servers.Real()
    configure(server.port)
    inbox = server.inbox.mails
    log = os.path.join(scratch, "log")
    with open(os.path.join(work, "Bericht für Bob.pdf"), "wb") as f:
        f.write(b"%PDF\0\n")
    got = inside('open("/tmp/private", "w").write("in the sandbox")\n'
                 'send(to=["Bob Example <bob@allowed.example>", "ceo@BÜCHER.example"], cc=["carol@allowed.example"],\n'
                 '     bcc=["dave@ALLOWED.example"], subject="Grüße", body="Hallo\\n.\\n",\n'
                 '     attachments=["Bericht für Bob.pdf", "/tmp/private"])\n'
                 'out.append(call("send_email", to="bob@allowed.example", subject="second", body=""))', "--audit", log)
    ok(len(got) == 2 and got[0].get("recipients") == 4 and len(inbox) == 2, "mails arrive", got, inbox)
    if len(inbox) != 2:
        return
    sender, to, raw = inbox[0]
    m = read(inbox[0])
    ok(sender == "agent@example.com" and to == ["bob@allowed.example", "ceo@xn--bcher-kva.example", "carol@allowed.example",
                                               "dave@allowed.example"], "to all recipients", inbox[0])
    ok((m["Subject"], m["From"], m["Cc"]) == ("Grüße", "Agent <agent@example.com>", "carol@allowed.example")
       and str(m["To"]) == "Bob Example <bob@allowed.example>, ceo@xn--bcher-kva.example", "with their headers", raw)
    ok(b"dave" not in raw and "Bcc" not in m, "those of bcc are not seen", raw)
    files = [(p.get_filename(), p.get_payload(decode=True)) for p in m.iter_attachments()]
    ok(files == [("Bericht für Bob.pdf", b"%PDF\0\n"), ("private", b"in the sandbox")],
       "attachments are files as the sandbox sees them", files)
    ok(m["Message-ID"] == "<" + got[0]["messageId"] + ">", "the answer has the Message-ID", got, raw)
    r = subprocess.run([CORRAL, "audit", "list", "--json", log], env=environment(), capture_output=True, text=True, check=False)
    ok(got[0]["messageId"] in r.stdout and "email.send:dave@allowed.example" in r.stdout
       and got[1]["messageId"] in r.stdout, "the log has it, and each recipient", r.stdout[-3000:], r.stderr)
    server.close()


# A recipient that is not granted, or that one reader could take for another one.
RECIPIENTS = (
    ("eve@evil.example", (-32002,)),
    ("bob@allowed.example.evil.example", (-32002,)),
    ("bob@evilallowed.example", (-32002,)),
    ("bob@аllowed.example", (-32002,)),  # a Cyrillic letter
    ("bob@allowed.example, eve@evil.example", (-32602,)),
    ("bob@allowed.example,eve@evil.example", (-32602,)),
    ("eve@evil.example;bob@allowed.example", (-32602,)),
    ("\"bob@allowed.example\"@evil.example", (-32602,)),
    ("eve@evil.example@allowed.example", (-32602,)),
    ("bob@allowed.example <eve@evil.example>", (-32602,)),
    ("bob＠allowed.example <eve@evil.example>", (-32602,)),
    ("Bob <eve@evil.example>", (-32002,)),
    ("<eve@evil.example> <bob@allowed.example>", (-32602,)),
    ("eve%evil.example@allowed.example", (-32602,)),
    ("evil.example!eve@allowed.example", (-32602,)),
    ("@evil.example:bob@allowed.example", (-32602,)),
    ("friends:bob@allowed.example;", (-32602,)),
    ("bob(eve@evil.example)@allowed.example", (-32602,)),
    ("bob@allowed.example>\r\nRCPT TO:<eve@evil.example", (-32602,)),
    ("bob@allowed.example\nBcc: eve@evil.example", (-32602,)),
    ("bob@[127.0.0.1]", (-32602,)),
    ("bob", (-32602,)),
    ("*@allowed.example", (-32602,)),
    ("", (-32602,)),
)


def test_scope():
    server = servers.Real()
    configure(server.port)
    lines = []
    for field in ("to", "cc", "bcc"):
        lines += [f"send({field}=[{text!r}])" for text, _ in RECIPIENTS]
        lines += [f"send({field}=['bob@allowed.example', {text!r}])" for text, _ in RECIPIENTS]
    got = inside("\n".join(lines))
    wrong = [(line, answer) for line, answer, expected in
             zip(lines, got, [codes for _, codes in RECIPIENTS] * 6) if code(answer) not in expected]
    ok(len(got) == len(lines) and not wrong, f"{len(lines)} recipients that are not granted, in to, cc and bcc", *wrong[:8])
    ok(server.inbox.mails == [], "nothing was sent", server.inbox.mails)
    refusal = got[0].get("data", {})
    ok("*@allowed.example" in str(refusal), "the refusal says which are granted", got[0])
    got = inside("send(to=['eve@evil.example'])", email_grant={"access": "send"})
    ok("messageId" in got[0], "without a scope every recipient is granted", got)
    got = inside("send()", "--broker", email_grant=False)
    ok(code(got[0]) == -32001, "without a grant no recipient is", got)
    server.close()


def test_parameters():
    server = servers.Real()
    configure(server.port)
    got = inside("""
send(subject="x\\r\\nBcc: eve@evil.example")
send(subject="x\\nX: y")
send(subject="x\\ty")
send(subject="x" * 600)
send(headers={"Bcc": "eve@evil.example"})
send(**{"from": "boss@example.com"})
send(replyTo="eve@evil.example")
send(to=[])
send(to=["u%d@allowed.example" % i for i in range(51)])
send(attachments=["a"] * 9)
""")
    ok([code(a) for a in got] == [-32602] * 10, "subjects of two lines, headers, another sender, too much", got)
    ok(server.inbox.mails == [], "nothing was sent by that")
    got = inside("send(to=['u%d@allowed.example' % i for i in range(50)])\nsend(to='bob@allowed.example')\n"
                 "send(to=['bob@allowed.example'], cc=['bob@allowed.example'], body='x' * 300000)")
    ok([a.get("recipients") for a in got] == [50, 1, 1] and len(server.inbox.mails) == 3, "50 recipients, one as text, one twice",
       got)
    server.close()


def test_attachments():
    server = servers.Real()
    configure(server.port)
    outside = os.path.join(scratch, "outside")
    with open(outside, "w", encoding="utf-8") as f:
        f.write("secret")
    with open(os.path.join(work, "big"), "wb") as f:
        f.write(b"x" * 3000)
    with open(os.path.join(work, "empty"), "wb"):
        pass
    for name, target in (("link", outside), ("climb", "../outside")):
        if not os.path.lexists(os.path.join(work, name)):
            os.symlink(target, os.path.join(work, name))
    got = inside(f"""
send(attachments=[{outside!r}])
send(attachments=["link"])
send(attachments=["climb"])
send(attachments=["../outside"])
send(attachments=["big", {outside!r}])
send(attachments=["nothing"])
send(attachments=["/"])
send(attachments=["/proc/self/environ"])
send(attachments=["big", "empty"])
""")
    ok(all(code(a) in (-32001, -32007) for a in got[:8]), "files that the sandbox may not read are not sent", got)
    mails = server.inbox.mails
    files = [len(p.get_payload(decode=True)) for p in read(mails[0]).iter_attachments()] if mails else None
    ok(len(mails) == 1 and files == [3000, 0], "a file that it may read is, and an empty one", got[8:], files)
    got = inside("send(attachments=['big'])\nsend(body='x' * 2000)\nsend(body='x' * 1900, attachments=['empty'])",
                 email_grant={"access": "send", "max_size": "2000"})
    ok([code(a) for a in got[:2]] == [-32002] * 2 and "messageId" in got[2] and len(mails) == 2,
       "max_size counts text and attachments", got)
    got = inside("for i in range(4): send()", email_grant={"access": "send", "rate_limit": "3/h"})
    ok([code(a) for a in got] == [None] * 3 + [-32003] and len(mails) == 5, "the rate of the policy", got)
    server.close()


def test_servers():
    with open(config, "w", encoding="utf-8") as f:
        f.write("{}\n")
    got = inside("send()")
    ok(code(got[0]) == -32005 and "services.yaml" in json.dumps(got[0]), "without a section: what to write", got)
    with servers.closed_port() as port:
        configure(port)
        got = inside("send()\nsend()")
    ok([code(a) for a in got] == [-32005] * 2 and "cannot be reached" in got[0]["message"], "no server", got)
    authorities = os.path.join(scratch, "ca.pem")
    for way in ("tls", "starttls"):
        server = servers.Real(way, servers.context(scratch, "good"), login=True)
        server.inbox.refuse = {"no@allowed.example": "550 no such user"}
        configure(server.port, way, login=True, authorities=authorities)
        got = inside("send()\nsend(to=['bob@allowed.example', 'no@allowed.example'])\nsend()")
        ok([code(a) for a in got] == [None, -32006, None] and "no@allowed.example" in got[1]["message"]
           and len(server.inbox.mails) == 2, f"{way} with a login; a recipient that the server refuses", got)
        configure(server.port, way, login=True, authorities=authorities, password="wrong")
        got = inside("send()")
        ok(code(got[0]) == -32005 and "password_file" in json.dumps(got[0]), f"{way}: a wrong password", got)
        configure(server.port, way, login=True)
        got = inside("send()")
        ok(code(got[0]) == -32005 and "TLS" in got[0]["message"], f"{way}: an authority that is not known", got)
        server.close()
    configure(25, login=True, server="mail.example.com")
    got = inside("send()")
    ok(code(got[0]) == -32005 and "without TLS" in got[0]["message"], "no password to another host without TLS", got)
    odd = servers.Odd(lambda s, c: s.talk(c, servers.HELLO, until="RCPT") and s.line(c.makefile("rb")))
    configure(odd.port)
    got = inside("send(timeout=1500)")
    ok(code(got[0]) == -32004, "a server that says nothing", got)
    odd.close()


def test_probe():
    server = servers.Real("starttls", servers.context(scratch, "good"), login=True)
    configure(server.port, "starttls", login=True, authorities=os.path.join(scratch, "ca.pem"))
    r = subprocess.run([CORRAL, "service", "test", "email"], env=environment(), capture_output=True, text=True, check=False)
    ok(r.returncode == 0 and "logged in as agent" in r.stdout and not server.inbox.mails,
       "corral service test email: connects, logs in, sends nothing", r)
    configure(server.port, "starttls", login=True, authorities=os.path.join(scratch, "ca.pem"), password="wrong")
    r = subprocess.run([CORRAL, "service", "test", "email"], env=environment(), capture_output=True, text=True, check=False)
    ok(r.returncode != 0 and "refused the login" in r.stdout + r.stderr, "and says what is wrong", r)
    server.close()


def test_given_up():
    """A mail whose caller got the answer that it took too long is not sent when its turn comes."""
    mails, given_up = [], os.path.join(work, "given-up")

    def slow(odd, connection):
        reader = odd.talk(connection, servers.HELLO, until="MAIL")
        if not mails:
            with open(os.path.join(work, "begun"), "w", encoding="utf-8"):
                pass
            while not os.path.getsize(given_up) and not odd.ends:
                time.sleep(0.05)
        connection.sendall(b"250 OK\r\n")
        for reply in (b"250 OK\r\n", b"354 go\r\n"):
            mails.append(odd.line(reader))
            connection.sendall(reply)
        while odd.line(reader) != b".\r\n":
            pass
        connection.sendall(b"250 OK\r\n")

    with open(given_up, "w", encoding="utf-8"):
        pass
    odd = servers.Odd(slow)
    configure(odd.port)
    got = inside("""
import threading, time
first = threading.Thread(target=send, kwargs={"to": ["first@allowed.example"]})
first.start()
while not os.path.exists("begun"):
    time.sleep(0.05)
send(to=["second@allowed.example"], timeout=500)
with open("given-up", "w") as f:
    f.write("now")
first.join()
send(to=["third@allowed.example"])
""", "--write", given_up)
    odd.close()
    ok([code(a) for a in got] == [-32004, None, None] and b"RCPT TO:<third@allowed.example>\r\n" in mails
       and b"RCPT TO:<second@allowed.example>\r\n" not in mails, "a mail that was given up while others were sent", got, mails)


def test_configuration_is_out_of_reach():
    """A sandbox that may write where XDG_CONFIG_HOME is: it would choose server and password file."""
    place = os.path.join(work, "config")
    for exists in (False, True):
        os.makedirs(os.path.join(place, "corral") if exists else place, exist_ok=True)
        policy = os.path.join(scratch, "policy.yaml")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"fs": {"read": ["/usr/**"], "write": [work + "/**"]}, "exec": ["/usr/**"]}, f)
        script = "mkdir -p config/corral; echo '{}' >config/corral/services.yaml; mv config other; echo done; : >free"
        r = subprocess.run([CORRAL, "run", "--policy", policy, "--cwd", work, "--", "/usr/bin/sh", "-c", script],
                           env={**environment(), "XDG_CONFIG_HOME": place}, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=60, cwd=work, check=False)
        ok(b"done" in r.stdout and os.path.exists(os.path.join(work, "free")) and os.path.isdir(place)
           and not os.path.exists(os.path.join(place, "corral", "services.yaml")),
           f"services.yaml is not for a sandbox to write; its folder was {'there' if exists else 'not there'}", r)
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(os.path.join(work, "other"), ignore_errors=True)


def process(pid):
    """What the kernel says of it; nothing if it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            return dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
    except OSError:
        return {}


def test_confinement():
    """What runs outside has no rights but the one server."""
    seen = {}

    def look(odd, connection):
        reader = odd.talk(connection, servers.HELLO, until="MAIL")
        found = {pid: s for pid in filter(str.isdigit, os.listdir("/proc")) if (s := process(pid))}
        for pid, s in found.items():
            # Other tests have such processes, too, and so has the other user.
            above = pid
            while above in found and above != str(os.getpid()) and not is_user(above):
                above = found[above]["PPid"]
            if above == str(os.getpid()) and s["Name"] in ("corral-mail", "corral-connect"):
                seen[s["Name"]] = s
        connection.sendall(b"550 seen\r\n")
        odd.line(reader)

    odd = servers.Odd(look)
    configure(odd.port)
    inside("send()")
    odd.close()
    for name in ("corral-mail", "corral-connect"):
        s = seen.get(name, {})
        ok(s.get("Seccomp") == "2" and s.get("NoNewPrivs") == "1" and int(s.get("CapEff", "1"), 16) == 0,
           f"{name} is confined", name, s)


def is_user(pid):
    """It runs the same as another user."""
    return beside is not None and pid == str(beside.pid)


@contextlib.contextmanager
def beside_user():
    """The same once more, beside the block, by programs that this user can read."""
    global beside
    if os.geteuid() != 0:
        yield
        return
    place = tempfile.mkdtemp(prefix="corral-mail-user-")
    os.chmod(place, 0o755)
    env = {"PATH": os.environ["PATH"], "HOME": place, "BACKENDS": os.path.join(place, "backends")}
    os.mkdir(env["BACKENDS"])
    shutil.copy(os.path.join(os.environ["BACKENDS"], "corral-mail"), env["BACKENDS"])
    for variable in PROGRAMS:
        env[variable] = shutil.copy(os.environ[variable], place)
    for name in ("servers.py", "test-mail.py"):
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), place)
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    with tempfile.TemporaryFile("w+") as said:
        beside = subprocess.Popen(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", PYTHON,
                                   os.path.join(place, "test-mail.py")], env=env, cwd=place, stdout=said, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            beside.wait()
            said.seek(0)
            for text in said.read().splitlines():
                if not text.startswith("ok "):
                    print("# as a user: " + text)
            ok(beside.returncode == 0, "all of it as an ordinary user")
            shutil.rmtree(place)


def main():
    # aiosmtpd's words about what the tests do to it.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.makedirs(os.path.dirname(config))
    os.mkdir(work)
    try:
        servers.certificates(scratch)
        with beside_user():
            for test in (test_a_mail, test_scope, test_parameters, test_attachments, test_servers, test_probe, test_given_up,
                         test_configuration_is_out_of_reach, test_confinement):
                began = time.monotonic()
                test()
                print(f"# {test.__name__}: {time.monotonic() - began:.1f} s")
    finally:
        shutil.rmtree(scratch)
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
