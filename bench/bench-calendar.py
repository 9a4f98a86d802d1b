#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reminders.list of 1,000 reminders, and calendar.list of a week in 10,000 events of which a tenth recur.

    first   the back end starts, and reads all files
    warm    the files are known: what changed is read again; medians
    bare    reading all the files, and nothing else

$CORRAL, $CORRAL_BROKER, $CORRAL_BACKENDS and $CORRAL_WARDEN are the programs.
"""

import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 20
REMINDERS, EVENTS = 1000, 10000

INSIDE = r"""
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SANDBOX_SOCKET"])
lines = s.makefile()
for method, params, key in (("reminders.list", {}, "reminders"), ("calendar.list", {"limit": 5000}, "events")):
    times = []
    for i in range(int(sys.argv[1]) + 1):
        start = time.monotonic()
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        answer = json.loads(lines.readline())
        times.append(time.monotonic() - start)
        if "result" not in answer:
            sys.exit(f"{method}: {answer}")
    print(json.dumps([method, len(answer["result"][key]), times]))
"""


def write(path, kind, number, *lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//bench//EN", f"BEGIN:{kind}", f"UID:{number}@bench",
                                "DTSTAMP:20261116T000000Z", f"SUMMARY:Item number {number}", *lines, f"END:{kind}",
                                "END:VCALENDAR", ""]))


def fill(folder):
    now = datetime.datetime.now(datetime.timezone.utc)
    os.makedirs(f"{folder}/lists/L")
    os.makedirs(f"{folder}/calendars/C")
    for i in range(REMINDERS):
        write(f"{folder}/lists/L/{i}.ics", "VTODO", i, "DUE;VALUE=DATE:20261224", "PRIORITY:5", "STATUS:NEEDS-ACTION")
    for i in range(EVENTS):
        when = now + datetime.timedelta(days=i % 1000 - 900, minutes=i)
        rule = ["RRULE:FREQ=WEEKLY;BYDAY=MO,TH"] if i % 10 == 0 else []
        write(f"{folder}/calendars/C/{i}.ics", "VEVENT", i, f"DTSTART;TZID=Europe/Berlin:{when:%Y%m%dT%H%M%S}", "DURATION:PT1H",
              *rule)


def bare(folder):
    times = []
    for _ in range(3):
        start = time.monotonic()
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                file.read()
        times.append(time.monotonic() - start)
    return min(times) * 1e3


with tempfile.TemporaryDirectory(prefix="corral-b.") as scratch:
    fill(scratch)
    os.makedirs(f"{scratch}/config/corral")
    with open(f"{scratch}/config/corral/services.yaml", "w", encoding="utf-8") as yaml:
        yaml.write(f"reminders: {{folder: {scratch}/lists}}\ncalendar: {{folder: {scratch}/calendars}}\n")
    os.chmod(f"{scratch}/config/corral/services.yaml", 0o600)
    with open(f"{scratch}/policy.yaml", "w", encoding="utf-8") as policy:
        json.dump({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"],
                   "services": {"reminders": {"access": "read"}, "calendar": {"access": "read", "range": "7d"}}}, policy)
    done = subprocess.run([os.environ["CORRAL"], "run", "--policy", f"{scratch}/policy.yaml", "--", "/usr/bin/python3", "-c", INSIDE,
                           str(ROUNDS)], env={**os.environ, "XDG_CONFIG_HOME": f"{scratch}/config"}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=False, cwd="/")
    if done.returncode:
        sys.exit(done.returncode)
    for line, folder in zip(done.stdout.splitlines(), ("lists/L", "calendars/C")):
        method, found, times = json.loads(line)
        files = len(os.listdir(f"{scratch}/{folder}"))
        print(f"{method}: {found} of {files} files: first {times[0] * 1e3:.1f} ms, "
              f"warm {statistics.median(times[1:]) * 1e3:.1f} ms, bare {bare(f'{scratch}/{folder}'):.1f} ms")
