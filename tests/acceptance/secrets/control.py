# SPDX-License-Identifier: Apache-2.0
"""control.py ROWS: plants a value for each row, and searches for them (search.py), which has to find each where it was put. A row is its
number in the file "decoys" (as search.py reads it), a place, and what belongs to that. Each value is only in the process that plants it:
what is found in a place was not found because this process had it.

control.py plant NUMBER PLACE …: that process. It says that it is ready, and stays until its standard input ends."""

import base64
import json
import os
import socket
import subprocess
import sys
import urllib.parse

WAIT = ["sh", "-c", "echo ready; read line"]
FORMS = {
    "plain": lambda v: v,
    "base64": lambda v: base64.b64encode(b"x" + v),
    "base64url": lambda v: base64.urlsafe_b64encode(b"xx" + v),
    "hex": lambda v: v.hex().encode(),
    "HEX": lambda v: v.hex().upper().encode(),
    "URL": lambda v: urllib.parse.quote(v, safe="").encode(),
    "form": lambda v: urllib.parse.quote(v, safe=" ").replace(" ", "+").encode(),
    "JSON": lambda v: json.dumps(v.decode()).encode(),
    "UTF-16": lambda v: v.decode().encode("utf-16-le"),
}


def plant(number, place, *words):
    with open("decoys", encoding="ascii") as file:
        value = bytes(255 - byte for byte in base64.b64decode(file.readlines()[int(number)]))
    if place == "file":
        with open(words[0], "wb") as file:
            file.write(b"before" + FORMS[words[1]](value) + b"after")
    # What follows is another program, with nothing of this one's memory.
    elif place == "environ":
        os.execve("/bin/sh", WAIT, {"PLANTED": value.decode()})
    elif place == "cmdline":
        os.execv("/bin/sh", [*WAIT, value.decode()])
    elif place == "descriptor":
        os.memfd_create(value.decode().replace("/", ":"), 0)
        os.execv("/bin/sh", WAIT)
    elif place == "net/unix":
        s = socket.socket(socket.AF_UNIX)
        s.bind(b"\0" + value)
        s.set_inheritable(True)
        os.execv("/bin/sh", WAIT)
    print("ready", flush=True)
    sys.stdin.readline()


def main():
    if sys.argv[1] == "plant":
        plant(*sys.argv[2:])
        return
    running = []
    for row in json.loads(sys.argv[1]):
        running.append(subprocess.Popen([sys.executable, __file__, "plant", *map(str, row)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        if running[-1].stdout.readline() != "ready\n":
            print("not planted", row, flush=True)
        if row[1] == "file":
            running[-1].communicate("\n")
    subprocess.run([sys.executable, "search.py", "decoys"], check=False)
    for process in running:
        process.communicate("\n")


main()
