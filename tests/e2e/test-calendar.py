#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reminders and calendars in folders, through `corral run`, as programs inside call them.

$CORRAL, $CORRAL_BROKER … as for the other tests of the broker; $BACKENDS is the folder of back ends.
tests/acceptance has CalDAV, and the programs of others that share the folders.
"""

import datetime
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from broker_tap import end, ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
BACKENDS = os.path.abspath(os.environ["BACKENDS"])
scratch = tempfile.mkdtemp()
home = os.path.join(scratch, "home")
config = os.path.join(home, ".config", "corral")
lists = os.path.join(scratch, "lists")
calendars = os.path.join(scratch, "calendars")
for folder in (config, lists, calendars):
    os.makedirs(folder)
environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": os.path.join(home, ".config"),
               "XDG_STATE_HOME": os.path.join(home, ".state"), "XDG_CACHE_HOME": os.path.join(home, ".cache"),
               "CORRAL_BACKENDS": BACKENDS, "TZ": "Europe/Berlin"}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def configure(text):
    write(os.path.join(config, "services.yaml"), text)
    os.chmod(os.path.join(config, "services.yaml"), 0o600)


def run(script, services, *options):
    policy = os.path.join(scratch, "policy.yaml")
    write(policy, json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"],
                              "services": services}))
    done = subprocess.run([CORRAL, "run", "--policy", policy, *options, "--", "sh", "-c", script], env=environment,
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


def code(answer):
    return answer.get("error", {}).get("code") if isinstance(answer, dict) else answer


def codes(answers):
    return [code(answer) for answer in answers]


def todo(uid, title, *more):
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//other//EN", "BEGIN:VTODO", f"UID:{uid}",
                        f"SUMMARY:{title}", *more, "END:VTODO", "END:VCALENDAR", ""])


def event(uid, title, start, *more):
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//other//EN", "BEGIN:VEVENT", f"UID:{uid}",
                        f"SUMMARY:{title}", f"DTSTART:{start}", *more, "END:VEVENT", "END:VCALENDAR", ""])


def days(n, hours=0):
    """So many days from now, as UTC."""
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=n, hours=hours)


def ical(when):
    return when.strftime("%Y%m%dT%H%M%SZ")


def iso(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def titles(answer, key="reminders"):
    return sorted(item["title"] for item in answer.get(key, []))


SHOPPING = {"reminders": {"access": "readwrite", "lists": ["Shopping"]}}


def test_reminders():
    write(f"{lists}/Shopping/milk.ics", todo("milk", "Milk", "X-OTHER;A=\"b\":kept", "PRIORITY:1"))
    write(f"{lists}/Private/secret.ics", todo("secret", "Secret"))
    answers, err = run(call("reminders.list") + call("reminders.list", "list=Shopping"), SHOPPING)
    ok([titles(a) for a in answers] == [["Milk"], ["Milk"]] and answers[0]["lists"] == ["Shopping"],
       "what is granted is listed, and no name of another list", answers, err)
    answers, err = run(call("reminders.add", "list=Shopping", "title=Bread, and\nEND:VTODO\nmore", "due=2026-12-24",
                            "priority=2", "notes=n") + call("reminders.list"), SHOPPING)
    ok(codes(answers) == [None, None], "a reminder is added", answers, err)
    found = [item for item in answers[-1]["reminders"] if item["id"] == answers[0]["id"]]
    ok(found and found[0]["title"] == "Bread, and\nEND:VTODO\nmore" and found[0]["due"] == "2026-12-24" and
       found[0]["priority"] == 2 and not found[0]["completed"] and found[0]["etag"] == answers[0]["etag"],
       "and listed as it was given", found)
    answers, err = run(call("reminders.update", "list=Shopping", "id=milk", "title=Oat milk", "due=2026-12-01T09:00:00") +
                       call("reminders.complete", "list=Shopping", "id=milk") + call("reminders.list") +
                       call("reminders.list", "completed=true"), SHOPPING)
    with open(f"{lists}/Shopping/milk.ics", encoding="utf-8", newline="") as file:
        text = file.read()
    ok(codes(answers) == [None] * 4 and "SUMMARY:Oat milk\r\n" in text and "X-OTHER;A=\"b\":kept\r\n" in text and
       "STATUS:COMPLETED\r\n" in text and "DUE;TZID=Europe/Berlin:20261201T090000\r\n" in text,
       "it is changed and done, and what another program wrote stays", answers, text, err)
    ok("Oat milk" not in titles(answers[2]) and "Oat milk" in titles(answers[3]), "what is done is listed on demand")
    answers, err = run(call("reminders.delete", "list=Shopping", "id=milk", "etag=wrong") +
                       call("reminders.delete", "list=Shopping", "id=milk") +
                       call("reminders.delete", "list=Shopping", "id=milk"), SHOPPING)
    ok(codes(answers) == [-32005, None, -32602] and not os.path.exists(f"{lists}/Shopping/milk.ics"),
       "another version is not deleted; this one is; then it is gone", answers, err)
    ok(not glob.glob(f"{lists}/Shopping/.*"), "nothing is left behind", os.listdir(f"{lists}/Shopping"))


def test_scopes():
    os.makedirs(f"{lists}/shopping ", exist_ok=True)
    os.makedirs(f"{lists}/Cafe\u0301", exist_ok=True)
    write(f"{lists}/Twin one/displayname", "Twin")
    write(f"{lists}/Twin two/displayname", "Twin")
    names = ["shopping", "shopping ", "SHOPPING", "Shopping ", "Private", "../lists/Private", "Shopping/../Private", "*",
             "Sh\u043epping", "Shopping\u200b"]
    answers, err = run("".join(call("reminders.list", f"list={name}") for name in names), SHOPPING)
    ok(codes(answers) == [-32002] * len(names), "a name that differs in anything is another list", codes(answers), err)
    answers, err = run("".join(call("reminders.add", f"list={name}", "title=x") for name in names), SHOPPING)
    ok(codes(answers) == [-32002] * len(names), "also for writing", codes(answers), err)
    everything = {"reminders": {"access": "readwrite"}}
    answers, err = run(call("reminders.list", "list=Caf\u00e9") + call("reminders.list", "list=Cafe\u0301") +
                       call("reminders.list", "list=Twin") + call("reminders.list", "list=../lists/Private"), everything)
    ok(codes(answers) == [-32602, None, -32005, -32602], "a list is found by its bytes; two of one name are none",
       answers, err)
    answers, err = run(call("reminders.complete", "list=Shopping", "id=secret") +
                       call("reminders.complete", "list=Private", "id=secret") +
                       call("reminders.add", "list=Shopping", "title=mine"), SHOPPING)
    mine = answers[-1]["id"]
    ok(codes(answers) == [-32602, -32002, None], "an item of another list is not reached by its id", answers, err)
    answers, err = run(call("reminders.update", "list=Shopping", f"id={mine}", "moveTo=Private") +
                       call("reminders.update", "list=Private", "id=secret", "moveTo=Shopping"), SHOPPING)
    ok(codes(answers) == [-32002, -32002], "nothing moves out of the scope, or into it", answers, err)
    both = {"reminders": {"access": "readwrite", "lists": ["Shopping", "Private"]}}
    answers, err = run(call("reminders.update", "list=Shopping", f"id={mine}", "moveTo=Private", "title=moved") +
                       call("reminders.list", "list=Private"), both)
    ok(codes(answers) == [None, None] and titles(answers[1]) == ["Secret", "moved"] and
       answers[0]["list"] == "Private", "with both granted, it moves", answers, err)
    readonly = {"reminders": {"access": "read", "lists": ["Shopping"]}}
    answers, err = run(call("reminders.add", "list=Shopping", "title=x") + call("reminders.list"), readonly)
    ok(codes(answers) == [-32001, None], "reading is not writing", answers, err)


def test_links():
    os.symlink("../Private/secret.ics", f"{lists}/Shopping/link.ics")
    os.symlink("/etc", f"{lists}/Linked")
    os.mkfifo(f"{lists}/Shopping/fifo.ics")
    answers, err = run(call("reminders.list", "completed=true") + call("reminders.complete", "list=Shopping", "id=secret"),
                       SHOPPING)
    ok("Secret" not in titles(answers[0]) and answers[0]["skipped"] == 2 and code(answers[1]) == -32602,
       "links and pipes in a list are left out", answers, err)
    answers, err = run(call("reminders.list", "list=Linked"), {"reminders": {"access": "read"}})
    ok(codes(answers) == [-32602], "a link is no list", answers, err)
    os.unlink(f"{lists}/Shopping/link.ics")
    os.unlink(f"{lists}/Shopping/fifo.ics")
    os.unlink(f"{lists}/Linked")


WORK = {"calendar": {"access": "readwrite", "calendars": ["work"], "range": "7d"}}


def test_calendar():
    write(f"{calendars}/work/in.ics", event("in", "In", ical(days(1)), "DURATION:PT1H"))
    write(f"{calendars}/work/far.ics", event("far", "Far", ical(days(30))))
    write(f"{calendars}/work/past.ics", event("past", "Past", ical(days(-30))))
    write(f"{calendars}/work/daily.ics", event("daily", "Daily", ical(days(-100)), "RRULE:FREQ=DAILY"))
    write(f"{calendars}/home/in.ics", event("home", "Home", ical(days(1))))
    window = [f"from={iso(days(-365))}", f"to={iso(days(365))}"]
    answers, err = run(call("calendar.list") + call("calendar.list", *window) +
                       call("calendar.list", "calendar=home") + call("calendar.get", "calendar=work", "id=in") +
                       call("calendar.get", "calendar=work", "id=far") + call("calendar.get", "calendar=work", "id=daily"),
                       WORK)
    ok(codes(answers) == [None, None, -32002, None, -32602, None], "what is granted is shown", answers, err)
    ok(titles(answers[0], "events") == ["Daily"] * 7 + ["In"], "a week from now on", answers[0])
    ok(set(titles(answers[1], "events")) == {"Daily", "In"} and len(answers[1]["events"]) in (15, 16),
       "whatever time is asked for, the range is shown and no more", titles(answers[1], "events"))
    ok(answers[1]["calendars"] == ["work"], "and no name of another calendar")
    ok(answers[5]["recurring"] and len(answers[5]["occurrences"]) in (14, 15),
       "of an event that recurs, what is in the range", answers[5])
    writes = [["calendar.create", "calendar=work", "title=a", f"start={iso(days(2))}", f"end={iso(days(2, 1))}"],
              ["calendar.create", "calendar=work", "title=b", f"start={iso(days(8))}"],
              ["calendar.create", "calendar=work", "title=c", f"start={iso(days(6))}", f"end={iso(days(8))}"],
              ["calendar.create", "calendar=work", "title=d", f"start={iso(days(2))}", "recurrence=FREQ=DAILY"],
              ["calendar.create", "calendar=work", "title=e", f"start={iso(days(2))}", "recurrence=FREQ=DAILY;COUNT=3"],
              ["calendar.create", "calendar=work", "title=f", f"start={iso(days(2))}", "recurrence=FREQ=SECONDLY;COUNT=1000000"],
              ["calendar.create", "calendar=home", "title=g", f"start={iso(days(2))}"],
              ["calendar.update", "calendar=work", "id=in", f"start={iso(days(9))}"],
              ["calendar.update", "calendar=work", "id=far", f"start={iso(days(1))}"],
              ["calendar.update", "calendar=work", "id=daily", "title=mine"],
              ["calendar.update", "calendar=work", "id=in", "recurrence=FREQ=YEARLY"],
              ["calendar.update", "calendar=work", "id=in", "moveTo=home"],
              ["calendar.delete", "calendar=work", "id=far"],
              ["calendar.delete", "calendar=work", "id=daily"],
              ["calendar.update", "calendar=work", "id=in", f"start={iso(days(3))}", "title=Later"],
              ["calendar.delete", "calendar=work", "id=in"]]
    expected = [None, -32002, -32002, -32002, None, -32002, -32002, -32002, -32002, -32002, -32002, -32002, -32002,
                -32002, None, None]
    answers, err = run("".join(call(*words) for words in writes), WORK)
    ok(codes(answers) == expected, "what is changed lies in the range, before and after, with all its recurrences",
       [(w[:3], c) for w, c, e in zip(writes, codes(answers), expected) if c != e], err)
    answers, err = run(call("calendar.create", "calendar=work", "title=z", "start=2026-11-16T09:00:00",
                            "timezone=America/New_York", "location=here") +
                       call("calendar.list", "from=2026-11-16", "to=2026-11-16", "calendar=work") +
                       call("calendar.create", "calendar=work", "title=z", "start=2026-11-16", "timezone=Mars/Base") +
                       call("calendar.create", "calendar=work", "title=z", "start=tomorrow") +
                       call("calendar.create", "calendar=work", "title=z", "start=2026-11-16", "recurrence=FREQ=DAILY\r\nX:1"),
                       {"calendar": {"access": "readwrite"}})
    shown = [e for e in answers[1]["events"] if e["title"] == "z"]
    ok(codes(answers) == [None, None, -32602, -32602, -32602] and shown[0]["start"] == "2026-11-16T09:00:00-05:00" and
       shown[0]["timezone"] == "America/New_York" and shown[0]["location"] == "here", "time zones", answers, err)


def test_occurrences():
    """One occurrence of an event that recurs for ever, in a range that has two of them."""
    scope = {"calendar": {"access": "readwrite", "calendars": ["Team"], "range": "10d"}}
    start = days(2).replace(hour=9, minute=0, second=0, microsecond=0)
    first, second, beyond = (start + datetime.timedelta(days=7 * n) for n in range(3))
    first_id, path = iso(first), f"{calendars}/Team/weekly.ics"
    os.makedirs(f"{calendars}/Work", exist_ok=True)
    write(path, event("weekly", "Meeting", ical(first - datetime.timedelta(days=70)), "DURATION:PT1H", "RRULE:FREQ=WEEKLY",
                      "X-OTHER:kept", "BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT5M", "DESCRIPTION:soon", "END:VALARM"))
    it = ("calendar=Team", "id=weekly")
    both = ("from=" + iso(days(-1)), "to=" + iso(days(30)))

    def seen():
        answers, err = run(call("calendar.list", *both), {"calendar": {"access": "read", "calendars": ["Team"]}})
        return [(e["start"].replace("+00:00", "Z"), e["title"]) for e in answers[0]["events"]] if answers else err

    answers, err = run(call("calendar.update", *it, "title=x") + call("calendar.delete", *it) +
                       call("calendar.update", *it, "title=x", "occurrence=" + iso(beyond)) +
                       call("calendar.delete", *it, "occurrence=" + iso(beyond)) +
                       call("calendar.update", *it, "occurrence=" + first_id, "start=" + iso(beyond)) +
                       call("calendar.update", *it, "occurrence=" + iso(first + datetime.timedelta(hours=1)), "title=x") +
                       call("calendar.update", *it, "occurrence=" + first_id, "recurrence=") +
                       call("calendar.update", *it, "occurrence=soon", "title=x") +
                       call("calendar.update", *it, "occurrence=" + first_id, "moveTo=Work", "title=x"),
                       {"calendar": {"access": "readwrite", "calendars": ["Team", "Work"], "range": "10d"}})
    ok(codes(answers) == [-32002] * 5 + [-32602] * 4 and "moveTo" in json.dumps(answers[8]), "neither the series nor what is outside is changed", answers, err)
    with open(path, encoding="utf-8") as file:
        before = file.read()
    ok(before.count("VEVENT") == 2, "nothing was written", before)
    answers, err = run(call("calendar.update", *it, "occurrence=" + first_id, "title=Workshop", "start=" + iso(first + datetime.timedelta(hours=3))) +
                       call("calendar.list", *both), scope)
    ok(codes(answers) == [None, None] and
       [(e["title"], e["end"]) for e in answers[1]["events"]] ==
       [("Workshop", iso(first + datetime.timedelta(hours=4))), ("Meeting", iso(second + datetime.timedelta(hours=1)))] and
       answers[1]["events"][0]["occurrence"] == first_id, "one occurrence is changed, and keeps its length and its id", answers, err)
    with open(path, encoding="utf-8", newline="") as file:
        after = file.read()
    ok(after.count("BEGIN:VALARM") == 2 and after.count("X-OTHER:kept") == 2 and after.count("RRULE") == 1 and
       after.count("\nRECURRENCE-ID") == 1 and after.startswith(before.split("END:VCALENDAR")[0].replace("\n", "\r\n")),
       "the series stays byte for byte, and the occurrence has what it has", after)
    answers, err = run(call("calendar.update", *it, "occurrence=" + first_id, "location=Room 2") +
                       call("calendar.delete", *it, "occurrence=" + iso(second)) + call("calendar.list", *both), scope)
    ok(codes(answers) == [None] * 3 and [(e["title"], e.get("location")) for e in answers[2]["events"]] == [("Workshop", "Room 2")],
       "it is changed again; another one is deleted", answers, err)
    ok(seen()[:3] == [(iso(first + datetime.timedelta(hours=3)), "Workshop"), (iso(beyond), "Meeting"),
                      (iso(beyond + datetime.timedelta(days=7)), "Meeting")], "the others are as they were", seen())
    answers, err = run(call("calendar.delete", *it, "occurrence=" + first_id) + call("calendar.list", *both) +
                       call("calendar.delete", *it, "occurrence=" + first_id), scope)
    ok(codes(answers) == [None, None, -32602] and answers[1]["events"] == [], "one that was changed is deleted, once", answers, err)
    write(f"{calendars}/Team/days.ics", event("days", "Fair", first.strftime("%Y%m%d"), "RRULE:FREQ=DAILY;COUNT=5")
          .replace("DTSTART:", "DTSTART;VALUE=DATE:"))
    day = (first + datetime.timedelta(days=1)).strftime("%Y-%m-%d")
    answers, err = run(call("calendar.delete", "calendar=Team", "id=days", "occurrence=" + day) +
                       call("calendar.update", "calendar=Team", "id=days", "title=Last", "occurrence=" +
                            (first + datetime.timedelta(days=4)).strftime("%Y-%m-%d")) + call("calendar.list", *both), scope)
    ok(codes(answers) == [None] * 3 and [e["title"] for e in answers[2]["events"]] == ["Fair"] * 3 + ["Last"] and
       day not in [e["start"] for e in answers[2]["events"]], "whole days, too", answers, err)
    shutil.rmtree(f"{calendars}/Team")


def test_hostile_items():
    write(f"{calendars}/hostile/a.ics", event("a", "Every second", ical(days(-1000)), "RRULE:FREQ=SECONDLY"))
    write(f"{calendars}/hostile/b.ics", event("b", "Never", "19000101T000000Z", "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"))
    write(f"{calendars}/hostile/c.ics", event("c", "x", ical(days(1)), *[f"ATTENDEE;CN={i}:mailto:a@example.com" for i in range(9000)]))
    write(f"{calendars}/hostile/d.ics", "BEGIN:VCALENDAR\r\n" + "BEGIN:VEVENT\r\n" * 9000)
    write(f"{calendars}/hostile/e.ics", event("e", "x\x1b]0;title\x07", ical(days(1))))
    write(f"{calendars}/hostile/f.ics", event("f", "a" * 300000, ical(days(1))))
    write(f"{calendars}/hostile/g.ics", event("g", "good", ical(days(1))))
    write(f"{calendars}/hostile/h.ics", event("h", "Million", ical(days(-1)), "RRULE:FREQ=SECONDLY;COUNT=1000000"))
    write(f"{calendars}/hostile/i.ics", event("i", "Slow", ical(days(1)), "RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30"))
    answers, err = run(call("calendar.list", "calendar=hostile", "limit=5000"), {"calendar": {"access": "read"}})
    found = titles(answers[0], "events") if answers and isinstance(answers[0], dict) else []
    ok(codes(answers) == [None] and "good" in found and answers[0]["truncated"] and answers[0]["skipped"] == 5 and
       found.count("Every second") == 1000, "hostile items do no harm to the others", err,
       answers[0] if "error" in answers[0] else (answers[0]["skipped"], answers[0]["truncated"], len(found)))


def test_configuration():
    configure("calendar: {folder: " + calendars + "}\n")
    default = environment.get("XDG_DATA_HOME", home + "/.local/share") + "/reminders"
    answers, err = run(call("reminders.list") + call("reminders.add", "list=Shopping", "title=Milk") + call("reminders.list"), SHOPPING)
    ok(codes(answers) == [None] * 3 and answers[0]["lists"] == [] and titles(answers[2]) == ["Milk"],
       "without a section: a folder of one's own, and a granted list is made", answers, err)
    ok(os.stat(default).st_mode & 0o777 == 0o700 and os.listdir(default) == ["Shopping"], "only its owner may look in", default)
    answers, err = run(call("reminders.add", "list=Other", "title=x") + call("reminders.add", "list=../x", "title=x"), SHOPPING)
    ok(None not in codes(answers) and os.listdir(default) == ["Shopping"], "what is not granted is not made", answers, err)
    every = {"reminders": {"access": "readwrite"}}
    answers, err = run("".join(call("reminders.add", "list=" + name, "title=x") for name in ("../x", ".x", "a/b", "..", "")), every)
    ok(None not in codes(answers) and sorted(os.listdir(default)) == ["Shopping"] and not os.path.exists(default + "/../x"),
       "a list has a plain name, whatever is granted", answers, err)
    os.symlink(scratch, default + "/Linked")
    answers, err = run(call("reminders.add", "list=Linked", "title=x"), every)
    ok(None not in codes(answers) and not [n for n in os.listdir(scratch) if n.endswith(".ics")], "a link is no list", answers, err)
    configure("reminders: {folder: " + scratch + "/nowhere}\n")
    answers, err = run(call("reminders.list"), SHOPPING)
    ok(codes(answers) == [-32005] and "cannot be opened" in json.dumps(answers), "without the folder: which one", answers, err)
    configure("reminders: {timezone: Europe/Berlin}\n")
    answers, err = run(call("reminders.list"), SHOPPING)
    ok(codes(answers) == [-32005] and "either a folder or a url" in json.dumps(answers), "neither folder nor url", answers, err)
    configure("reminders: {url: http://example.com/}\n")
    answers, err = run(call("reminders.list"), SHOPPING)
    ok(codes(answers) == [-32005] and "https" in json.dumps(answers), "no password goes to a server without TLS", answers, err)


def test_confinement():
    """The process of the back end, as the kernel shows it."""
    script = call("reminders.list") + "sleep 600"
    policy = os.path.join(scratch, "policy.yaml")
    write(policy, json.dumps({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"],
                              "services": SHOPPING}))
    with subprocess.Popen([CORRAL, "run", "--policy", policy, "--", "sh", "-c", script], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        found = []
        for status in glob.glob("/proc/[0-9]*/status"):
            try:
                with open(status, encoding="utf-8") as file:
                    text = file.read()
                with open(status.replace("status", "environ"), "rb") as file:
                    ours = False
            except PermissionError:
                ours = True
            except OSError:
                continue
            if "Name:\tcorral-calendar" in text:
                found.append((text, ours))
        process.send_signal(signal.SIGTERM)
        process.communicate()
    ok(any("Seccomp:\t2" in t and "CapEff:\t0000000000000000" in t and "NoNewPrivs:\t1" in t for t, _ in found),
       "the back end has a filter and no capabilities", found)


try:
    configure("reminders: {folder: " + lists + "}\ncalendar: {folder: " + calendars + "}\n")
    test_reminders()
    test_scopes()
    test_links()
    test_calendar()
    test_occurrences()
    test_hostile_items()
    test_confinement()
    test_configuration()
finally:
    shutil.rmtree(scratch, ignore_errors=True)
sys.exit(end())
