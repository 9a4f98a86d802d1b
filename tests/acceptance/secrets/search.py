# SPDX-License-Identifier: Apache-2.0
"""search.py FILE: looks for values in all that a command can look at: variables, files, what /proc says of its processes, and their
memory. FILE has the values in base64 with each bit turned, so that this process alone has them. Prints what it looked at, and where
a value was, in which form."""

import base64
import json
import os
import sys
import urllib.parse

with open(sys.argv[1], encoding="ascii") as listed:
    VALUES = [bytes(255 - byte for byte in base64.b64decode(line)) for line in listed]
SKIPPED = {os.getpid()}
PIECE = 1 << 24
PAGES = 1 << 20


def forms(value):
    """As it is, and in the ways that programs write it. Ends that depend on what stands beside them are left out."""
    yield "plain", value
    for before in range(3):
        text = base64.b64encode(b"x" * before + value)
        inner = text[(0, 2, 3)[before]:(before + len(value)) * 8 // 6]
        yield "base64", inner
        yield "base64url", inner.replace(b"+", b"-").replace(b"/", b"_")
    yield "hex", value.hex().encode()
    yield "HEX", value.hex().upper().encode()
    quoted = urllib.parse.quote(value, safe="").encode()
    yield "URL", quoted
    yield "form", quoted.replace(b"%20", b"+")
    text = json.dumps(value.decode())[1:-1]
    yield "JSON", text.encode()
    yield "JSON", text.replace("/", "\\/").encode()
    yield "UTF-16", value.decode().encode("utf-16-le")


NEEDLES = {text: (number, name) for number, value in enumerate(VALUES) for name, text in forms(value) if len(text) >= 12}
found, looked = set(), {"files": 0, "memory": 0}


def look(where, data):
    for text, (number, name) in NEEDLES.items():
        if text in data:
            found.add(f"{where}: value {number} as {name}")


def look_file(path):
    try:
        with open(path, "rb") as file:
            looked["files"] += 1
            look(path, file.read(PIECE))
    except OSError:
        pass


def look_memory(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                words = line.split()
                low, high = (int(x, 16) for x in words[0].split("-"))
                # What is mapped from a read-only program or library was looked at as a file.
                if "r" not in words[1] or (len(words) > 5 and words[5].startswith(("/usr", "/lib")) and "w" not in words[1]):
                    continue
                while low < high:
                    try:
                        memory.seek(low)
                        data = memory.read(min(high - low, PAGES))
                    except (OSError, ValueError, OverflowError):
                        break
                    if not data:
                        break
                    looked["memory"] += len(data)
                    if data.strip(b"\0"):  # most of what is set aside is empty
                        look(f"memory of {pid}", data)
                    low += len(data) - (256 if low + len(data) < high and len(data) > 256 else 0)
    except OSError:
        pass


def main():
    processes = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in SKIPPED]
    look("variables", b"\0".join(k + b"=" + v for k, v in os.environb.items()))
    for pid in processes:
        for name in ("environ", "cmdline", "auxv", "stat", "status", "wchan", "syscall", "mountinfo", "net/tcp", "net/unix"):
            look_file(f"/proc/{pid}/{name}")
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                look(f"descriptor {fd} of {pid}", os.readlink(f"/proc/{pid}/fd/{fd}").encode())
        except OSError:
            pass
    for top in {"/tmp", "/var/tmp", os.environ["HOME"], os.getcwd(), "/dev/shm", "/run", "/etc"}:
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    look_file(path)
    for pid in processes:
        look_memory(pid)
    print("looked", json.dumps(looked), "found", sorted(found))


main()
