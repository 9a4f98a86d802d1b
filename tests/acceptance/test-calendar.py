#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reminders and calendars with the programs that people have: Radicale as the server, by TLS and with a password; khal
and todoman on the same folders as Corral; vdirsyncer between such a folder and the server.

    test-calendar.py     prints TAP; $CORRAL, $BACKENDS … as for tests/e2e/test-calendar.py
"""

import base64
import datetime
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

CORRAL = os.path.abspath(os.environ["CORRAL"])
scratch = tempfile.mkdtemp(prefix="corral-cal.")
number = failures = 0

home = os.path.join(scratch, "home")
config = os.path.join(home, ".config")
environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": config, "XDG_STATE_HOME": os.path.join(home, ".state"),
               "XDG_CACHE_HOME": os.path.join(home, ".cache"), "XDG_DATA_HOME": os.path.join(home, ".data"),
               "CORRAL_BACKENDS": os.path.abspath(os.environ["BACKENDS"]), "TZ": "Europe/Berlin", "LC_ALL": "C.UTF-8"}


def ok(holds, name, *context):
    global number, failures
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")
    if not holds:
        failures += 1
        for part in context:
            print("# " + repr(part)[:2000])
    sys.stdout.flush()


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.chmod(path, mode)


def run(script, services):
    policy = os.path.join(scratch, "policy.yaml")
    write(policy, json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"],
                              "services": services}))
    done = subprocess.run([CORRAL, "run", "--policy", policy, "--", "sh", "-c", script], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120, cwd=home)
    answers = []
    for line in done.stdout.splitlines():
        try:
            answers.append(json.loads(line))
        except ValueError:
            answers.append(line)
    return answers, done.stderr


def call(*words):
    return "sandbox-call " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words) + " --json; "


def codes(answers):
    return [a.get("error", {}).get("code") if isinstance(a, dict) else a for a in answers]


def titles(answer, key="reminders"):
    return sorted(item["title"] for item in answer.get(key, [])) if isinstance(answer, dict) else answer


def days(n):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=n)


def ical(when):
    return when.strftime("%Y%m%dT%H%M%SZ")


def iso(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def component(kind, uid, title, *more):
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//other//EN", f"BEGIN:{kind}", f"UID:{uid}",
                        "DTSTAMP:20261116T000000Z", f"SUMMARY:{title}", *more, f"END:{kind}", "END:VCALENDAR", ""])


BOTH = {"reminders": {"access": "readwrite", "lists": ["Shopping"]},
        "calendar": {"access": "readwrite", "calendars": ["Work"], "range": "7d"}}


def free_port():
    """None of those that the kernel gives to others meanwhile."""
    while True:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", random.randrange(10000, 30000)))
                return s.getsockname()[1]
            except OSError:
                pass


class Radicale:
    def __init__(self):
        self.certificate = os.path.join(scratch, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                        os.path.join(scratch, "key.pem"), "-out", self.certificate], check=True, capture_output=True)
        write(os.path.join(scratch, "users"), "me:secret word\n")
        if not any(self.start() for _ in range(20)):
            raise RuntimeError("radicale does not start")

    def start(self):
        """Whether it answers: another program may have taken the port."""
        self.port = free_port()
        write(os.path.join(scratch, "radicale.conf"), f"""[server]
hosts = 127.0.0.1:{self.port}
ssl = True
certificate = {self.certificate}
key = {scratch}/key.pem
[auth]
type = htpasswd
htpasswd_filename = {scratch}/users
htpasswd_encryption = plain
[storage]
filesystem_folder = {scratch}/store
""")
        self.process = subprocess.Popen(["radicale", "--config", os.path.join(scratch, "radicale.conf")],
                                        stdout=subprocess.DEVNULL, stderr=open(os.path.join(scratch, "radicale.log"), "wb"))
        last = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < last:
            try:
                self.request("OPTIONS", "/")  # only this server has the certificate
                return True
            except OSError:
                time.sleep(0.1)
        self.end()
        return False

    def request(self, method, path, body=None, **headers):
        context = ssl.create_default_context(cafile=self.certificate)
        request = urllib.request.Request(f"https://localhost:{self.port}{path}", method=method,
                                         data=body.encode() if body is not None else None)
        request.add_header("Authorization", "Basic " + base64.b64encode(b"me:secret word").decode())
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return answer.read().decode()

    def make(self, path, name, kind):
        self.request("MKCALENDAR", path, f"""<?xml version="1.0"?><C:mkcalendar xmlns:D="DAV:"
xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop><D:displayname>{name}</D:displayname>
<C:supported-calendar-component-set><C:comp name="{kind}"/></C:supported-calendar-component-set></D:prop></D:set>
</C:mkcalendar>""")

    def put(self, path, text):
        self.request("PUT", path, text, Content_Type="text/calendar; charset=utf-8")

    def end(self):
        self.process.terminate()
        self.process.wait()


def configure(server, **keys):
    section = {"url": f"https://localhost:{server.port}/", "user": "me",
               "password_file": os.path.join(scratch, "password"), "authorities": server.certificate, **keys}
    section = {key: value for key, value in section.items() if value}
    write(os.path.join(config, "corral", "services.yaml"), json.dumps({"reminders": section, "calendar": section}))


def test_radicale_reminders(server):
    server.make("/me/shopping/", "Shopping", "VTODO")
    server.make("/me/private/", "Private", "VTODO")
    server.put("/me/private/secret.ics", component("VTODO", "secret", "Secret"))
    server.put("/me/shopping/milk.ics", component("VTODO", "milk", "Milk", "X-OTHER;A=b:kept"))
    answers, err = run(call("reminders.list") + call("reminders.list", "list=Private") +
                       call("reminders.add", "list=Shopping", "title=Bread & butter", "due=2026-12-24") +
                       call("reminders.update", "list=Shopping", "id=milk", "title=Oat milk") +
                       call("reminders.complete", "list=Shopping", "id=milk") + call("reminders.list", "completed=true") +
                       call("reminders.delete", "list=Shopping", "id=secret"), BOTH)
    ok(codes(answers) == [None, -32002, None, None, None, None, -32602], "reminders on a server", answers, err)
    ok(titles(answers[0]) == ["Milk"] and answers[0]["lists"] == ["Shopping"] and
       titles(answers[5]) == ["Bread & butter", "Oat milk"], "are listed, added and changed", answers)
    text = server.request("GET", "/me/shopping/milk.ics")
    ok("SUMMARY:Oat milk" in text and "STATUS:COMPLETED" in text and "X-OTHER;A=b:kept" in text,
       "what another program wrote stays", text)
    tag = [item["etag"] for item in answers[5]["reminders"] if item["id"] == "milk"][0]
    server.put("/me/shopping/milk.ics", component("VTODO", "milk", "Theirs"))
    answers, err = run(call("reminders.update", "list=Shopping", "id=milk", "title=Ours", f"etag={tag}") +
                       call("reminders.delete", "list=Shopping", "id=milk", f"etag={tag}") +
                       call("reminders.list"), BOTH)
    ok(codes(answers) == [-32005, -32005, None] and "Theirs" in titles(answers[2]),
       "a conflict is reported, and the newer version stays", answers, err)


def test_radicale_calendar(server):
    server.make("/me/work/", "Work", "VEVENT")
    server.put("/me/work/daily.ics", component("VEVENT", "daily", "Daily", "DTSTART;TZID=Europe/Berlin:20200101T090000",
                                              "RRULE:FREQ=DAILY"))
    server.put("/me/work/far.ics", component("VEVENT", "far", "Far", f"DTSTART:{ical(days(30))}"))
    answers, err = run(call("calendar.list", f"to={iso(days(100))}") +
                       call("calendar.create", "calendar=Work", "title=New", f"start={iso(days(2))}", "timezone=Asia/Tokyo") +
                       call("calendar.create", "calendar=Work", "title=Out", f"start={iso(days(20))}") +
                       call("calendar.update", "calendar=Work", "id=daily", "title=Mine") +
                       call("calendar.delete", "calendar=Work", "id=far") + call("calendar.list"), BOTH)
    ok(codes(answers) == [None, None, -32002, -32002, -32002, None], "the range holds on a server", answers, err)
    ok(titles(answers[0], "events") == ["Daily"] * 7 and "T09:00:00+" in answers[0]["events"][0]["start"],
       "recurrences in the range, by the clock of their zone", answers[0])
    ok("New" in titles(answers[5], "events"), "what was added is there", answers[5])


def test_radicale_trust(server):
    configure(server, authorities=None)
    answers, err = run(call("reminders.list"), BOTH)
    ok(codes(answers) == [-32005] and "certificate" in json.dumps(answers), "a certificate of no one is refused", answers, err)
    configure(server, url=f"https://127.0.0.1:{server.port}/")
    answers, err = run(call("reminders.list"), BOTH)
    ok(codes(answers) == [-32005], "so is that of another name", answers, err)
    write(os.path.join(scratch, "password"), "wrong\n")
    configure(server)
    answers, err = run(call("reminders.list"), BOTH)
    ok(codes(answers) == [-32005] and "password" in json.dumps(answers), "a wrong password is said", answers, err)
    write(os.path.join(scratch, "password"), "secret word\n")


def test_radicale_url(server):
    for url in (f"https://localhost:{server.port}/me/", f"https://localhost:{server.port}/me/shopping/"):
        configure(server, url=url)
        answers, err = run(call("reminders.list"), BOTH)
        ok(codes(answers) == [None] and answers[0]["lists"] == ["Shopping"], "found from " + url.split("/", 3)[3], answers, err)


def test_vdirsyncer(server):
    """A folder that Corral has, kept the same as a list of the server."""
    lists = os.path.join(scratch, "synced")
    os.makedirs(f"{lists}/Shopping")
    write(os.path.join(config, "corral", "services.yaml"), json.dumps({"reminders": {"folder": lists}}))
    write(os.path.join(config, "vdirsyncer", "config"), f"""[general]
status_path = "{scratch}/status/"
[pair lists]
a = "here"
b = "there"
collections = [["shopping", "Shopping", "shopping"]]
[storage here]
type = "filesystem"
path = "{lists}/"
fileext = ".ics"
[storage there]
type = "caldav"
url = "https://localhost:{server.port}/me/"
verify = "{server.certificate}"
username = "me"
password = "secret word"
""")

    def sync(*words):
        done = subprocess.run(["vdirsyncer", *words], env=environment, input="", capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout + done.stderr

    ok(sync("discover")[0] == 0 and sync("sync")[0] == 0, "vdirsyncer finds both sides", sync("sync"))
    before, err = run(call("reminders.list") + call("reminders.add", "list=Shopping", "title=From a sandbox"), BOTH)
    ok(codes(before) == [None, None] and titles(before[0]), "Corral has what came from the server", before, err)
    done = sync("sync")
    added = server.request("GET", "/me/shopping/")
    ok(done[0] == 0 and "SUMMARY:From a sandbox" in added, "what Corral added goes to the server", done, added)
    server.request("PUT", "/me/shopping/theirs.ics", component("VTODO", "theirs", "From the phone"), Content_Type="text/calendar")
    done = sync("sync")
    answers, err = run(call("reminders.list") + call("reminders.complete", "list=Shopping", "id=theirs"), BOTH)
    ok(codes(answers) == [None, None] and "From the phone" in titles(answers[0]), "what the server got comes to Corral", done, answers, err)
    done = sync("sync")
    theirs = server.request("GET", "/me/shopping/theirs.ics")
    ok(done[0] == 0 and "STATUS:COMPLETED" in theirs, "and is completed there", done, theirs)


def test_programs():
    lists, calendars = os.path.join(scratch, "lists"), os.path.join(scratch, "calendars")
    os.makedirs(f"{lists}/Shopping")
    os.makedirs(f"{calendars}/Work")
    write(os.path.join(config, "corral", "services.yaml"),
          json.dumps({"reminders": {"folder": lists}, "calendar": {"folder": calendars}}))
    write(os.path.join(config, "todoman", "config.py"), f'path = "{lists}/*"\ndate_format = "%Y-%m-%d"\ntime_format = "%H:%M"\n'
          'default_list = "Shopping"\n')
    write(os.path.join(config, "khal", "config"), f"[calendars]\n[[work]]\npath = {calendars}/Work\n[locale]\n"
          "timeformat = %H:%M\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ndatetimeformat = %Y-%m-%d %H:%M\n"
          "longdatetimeformat = %Y-%m-%d %H:%M\nlocal_timezone = Europe/Berlin\ndefault_timezone = Europe/Berlin\n"
          "[default]\ndefault_calendar = work\n")

    def tool(*words):
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=120)
        return done.stdout + done.stderr

    start = days(2).strftime("%Y-%m-%d")
    answers, err = run(call("reminders.add", "list=Shopping", "title=Bread, and; more", "due=2026-12-24T10:00:00", "priority=1",
                            "notes=two\nlines") +
                       call("calendar.create", "calendar=Work", "title=From us", f"start={start}T15:00:00",
                            f"end={start}T16:00:00", "timezone=Europe/Berlin", "location=here"), BOTH)
    ok(codes(answers) == [None, None], "written by Corral", answers, err)
    shown = tool("todoman", "list")
    ok("Bread, and; more" in shown and "2026-12-24" in shown, "todoman shows a reminder of ours", shown)
    shown = tool("khal", "list", start, "1d")
    ok("15:00-16:00 From us" in shown, "khal shows an event of ours", shown)
    tool("todoman", "new", "--list", "Shopping", "--due", "2026-12-31", "Cheese")
    tool("khal", "new", start, "09:00", "10:00", "From khal")
    answers, err = run(call("reminders.list") + call("calendar.list"), BOTH)
    ok(titles(answers[0]) == ["Bread, and; more", "Cheese"], "Corral lists a reminder of todoman's", answers, err)
    theirs = [e for e in answers[1]["events"] if e["title"] == "From khal"]
    ok(theirs and theirs[0]["start"].startswith(f"{start}T09:00:00+"), "Corral lists an event of khal's", answers[1], err)
    cheese = [r for r in answers[0]["reminders"] if r["title"] == "Cheese"][0]
    answers, err = run(call("reminders.complete", "list=Shopping", f"id={cheese['id']}") +
                       call("calendar.update", "calendar=Work", f"id={theirs[0]['id']}", f"start={start}T11:00:00",
                            "timezone=Europe/Berlin", "title=Changed"), BOTH)
    shown = tool("todoman", "list") + tool("khal", "list", start, "1d")
    ok(codes(answers) == [None, None] and "Cheese" not in shown and "11:00-12:00 Changed" in shown,
       "both show what Corral changed", answers, err, shown)
    answers, err = run(call("calendar.create", "calendar=Work", "title=Daily", f"start={start}T18:00:00", f"end={start}T18:30:00",
                            "timezone=Europe/Berlin", "recurrence=FREQ=DAILY;COUNT=3"), BOTH)
    daily = answers[0]["id"] if codes(answers) == [None] else ""
    second, third = (days(n).strftime("%Y-%m-%d") for n in (3, 4))
    found, err = run(call("calendar.list", f"from={second}"), BOTH)
    times = {e["start"][:10]: e["occurrence"] for e in found[0]["events"] if e["title"] == "Daily"}
    answers, err = run(call("calendar.update", "calendar=Work", f"id={daily}", "occurrence=" + times.get(second, ""), "title=Once") +
                       call("calendar.delete", "calendar=Work", f"id={daily}", "occurrence=" + times.get(third, "")), BOTH)
    shown = tool("khal", "list", start, "4d")
    ok(codes(answers) == [None, None] and shown.count("Daily") == 1 and shown.count("18:00-18:30 Once") == 1,
       "khal shows one occurrence that was changed, and not one that was deleted", answers, err, shown)


def main():
    missing = [name for name in ("radicale", "khal", "todoman", "vdirsyncer", "openssl") if not shutil.which(name)]
    if missing:
        print("1..0 # SKIP not installed: " + " ".join(missing))
        return 0
    write(os.path.join(scratch, "password"), "secret word\n")
    os.makedirs(home, exist_ok=True)
    server = Radicale()
    try:
        configure(server)
        test_radicale_reminders(server)
        test_radicale_calendar(server)
        test_radicale_trust(server)
        test_radicale_url(server)
        test_vdirsyncer(server)
    finally:
        server.end()
    test_programs()
    print(f"1..{number}")
    return 1 if failures else 0


try:
    sys.exit(main())
finally:
    shutil.rmtree(scratch, ignore_errors=True)
