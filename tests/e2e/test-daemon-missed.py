#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What happens while no daemon runs is in its log afterwards, once: runs that start and end then, a run whose daemon stops, and a
daemon that is killed while it takes the events that runs left. And what attacks that: commands that would leave events, files that
are links, FIFOs, too large, damaged, or of others, two daemons with one log, a disk that is full. As root, once more as an ordinary
user. Prints TAP."""

import collections
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from broker_tap import USER, end, ok, skip
from daemon_tap import CORRAL, CORRALD, PATIENCE, Daemon, at_once, beside_user, until

KILLS = 12
LONG = 90
# For each line, a connection that is denied.
EACH = ("--net", "a.test:443", "--", "/usr/bin/python3", "-c", """
import socket, sys
for line in sys.stdin:
    try:
        s = socket.create_connection(('198.51.100.7', 80), 5); s.send(b'x'); s.recv(1)
    except OSError:
        pass
    print(line, end='', flush=True)
""")
# Inside, a connection that is denied.
DENIED = ("--net", "a.test:443", "--", "/usr/bin/python3", "-c",
          "import socket\ntry:\n s = socket.create_connection(('198.51.100.7', 80), 5); s.send(b'x'); s.recv(1)\nexcept OSError: pass")
SECRET = "sup3rs3cretvalue"


def run(d, *words, env=None, **more):
    return subprocess.run([CORRAL, "run", *words], env={**d.env, **(env or {})}, cwd=d.place + "/data", capture_output=True, text=True, timeout=LONG,
                          check=False, **more)


def configure(d, **more):
    """For its next start. Findings are waited for: it looks each second."""
    os.makedirs(d.place + "/config/corral", exist_ok=True)
    with open(d.place + "/config/corral/daemon.json", "w") as f:
        json.dump({"version": "1.0", "daemon": {"watch": 1, **more}}, f)


def missed(d):
    return d.place + "/state/corral/missed"


def left(d):
    """What is there for the daemon to take."""
    try:
        return sorted(name for name in os.listdir(missed(d)) if re.fullmatch(r"[0-9a-f]{16}(\.[0-9]+)?", name))
    except FileNotFoundError:
        return []


def records(d):
    done = subprocess.run([CORRAL, "audit", "list", "--json", d.place + "/state/corral/audit.db"], env=d.env, capture_output=True, text=True, check=False)
    return list(map(json.loads, done.stdout.splitlines()))


def sessions(d):
    """{session: [its records]} of runs."""
    found = collections.defaultdict(list)
    for r in records(d):
        if r["sandbox"] != "corrald":
            found[r["session"]].append(r)
    return found


def is_once(rows):
    """All records of a run from its beginning to its end are there, each of them once, and where they are from if they were left."""
    numbers = [r["sequence"] for r in rows]
    marks = [r for r in rows if r["program"] == "corrald"]
    return (numbers == list(range(1, len(numbers) + 1)) and rows[0]["target"] == "begin" and len(marks) <= 1
            and [r["target"] for r in rows if r["action"] == "session"] == ["begin", "end"])


def verifies(d):
    done = subprocess.run([CORRAL, "audit", "verify", "--json", d.place + "/state/corral/audit.db"], env=d.env, capture_output=True, text=True, check=False)
    return done.returncode == 0 and json.loads(done.stdout)["fine"]


def begin(d):
    configure(d)
    os.makedirs(d.place + "/data")


def test_never(d):
    done = run(d, "--", "true")
    ok(done.returncode == 0 and not os.path.exists(missed(d)), "where no daemon ever ran, nothing is left", done)


def test_down(d):
    d.start()
    ok(os.stat(missed(d)).st_mode & 0o777 == 0o700, "the daemon makes the folder, for its owner alone")
    d.stop()
    before = set(sessions(d))
    codes = [run(d, *DENIED).returncode for _ in range(3)] + [run(d, "--env", "TOKEN=" + SECRET, "--", "echo", SECRET).returncode]
    names = left(d)
    ok(codes == [0] * 4 and len(names) == 4, "runs without a daemon leave their events", codes, names)
    ok(all(os.stat(f"{missed(d)}/{name}").st_mode & 0o777 == 0o600 for name in names), "for their owner alone")
    ok(not any(SECRET.encode() in open(f"{missed(d)}/{name}", "rb").read() for name in names), "without secrets")
    done = run(d, "--audit", "default", "--", "true")
    ok(done.returncode == 0 and left(d) == names, "one that writes to that log itself leaves nothing", done, left(d))
    d.start()
    ok(until(lambda: left(d) == [], LONG), "the daemon takes them", left(d))
    new = {id: rows for id, rows in sessions(d).items() if id not in before}
    ok(set(names) <= set(new) and all(is_once(rows) for rows in new.values()), "all of each of them is in the log, once", new)
    denied = [r for rows in new.values() for r in rows if r["action"] == "net.connect" and r["decision"] == "denied"]
    shown = [r for r in d.get("/api/audit?limit=1000&decision=denied")[2]["records"] if r["session"] in names]
    ok(len({r["session"] for r in denied}) == 3 and len({r["session"] for r in shown}) == 3, "what was denied is shown by the API", denied, shown)
    marks = [r for rows in new.values() for r in rows if r["action"] == "store"]
    ok(sorted(r["target"] for r in marks) == ["missed/" + name for name in names], "and where they are from", marks)
    ok(verifies(d), "the log verifies")


def test_killed(d):
    """Its socket is still there."""
    before = set(sessions(d))
    d.stop(signal.SIGKILL)
    done = run(d, "--", "true")
    names = left(d)
    ok(done.returncode == 0 and len(names) == 1, "a run after kill -9 leaves its events", done, names)
    d.start()
    ok(until(lambda: left(d) == [], LONG) and set(names) <= set(sessions(d)) - before, "and they are taken")
    # Another runtime folder, with no daemon in it.
    done = run(d, "--", "true", env={"XDG_RUNTIME_DIR": d.place + "/data"})
    ok(done.returncode == 0 and until(lambda: left(d) == [] and len(set(sessions(d)) - before) == 2, LONG), "what appears while it runs is taken, too",
       done, left(d), set(sessions(d)) - before)
    ok(all(is_once(rows) for id, rows in sessions(d).items() if id not in before), "once")


def prepared(d, pid):
    """The inodes of the files without a name that a process has for that folder. Only root sees them."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith(missed(d) + "/#"):
                found.add(os.stat(f"/proc/{pid}/fd/{name}").st_ino)
        except FileNotFoundError:
            pass
    return found


def test_handed_over(d):
    if os.geteuid() != 0:
        return
    before = set(sessions(d))
    until(lambda: prepared(d, d.process.pid))
    first = prepared(d, d.process.pid)
    with subprocess.Popen([CORRAL, "run", "--", "cat"], env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as p:
        until(lambda: prepared(d, p.pid))
        has = prepared(d, p.pid)
        # The daemon sends it, and closes its own then.
        ok(len(first) == 1 and has == first and until(lambda: not prepared(d, d.process.pid)), "a run gets the file that the daemon prepared", first, has)
        p.communicate(timeout=LONG)
    ok(until(lambda: prepared(d, d.process.pid)), "and the daemon prepares another one")
    # A run does not wait for long until the daemon has committed its events: they may be there later than its end.
    ok(until(lambda: left(d) == [] and [is_once(rows) for id, rows in sessions(d).items() if id not in before] == [True], LONG), "all of the run is in the log",
       left(d), [rows for id, rows in sessions(d).items() if id not in before])


def test_busy(d):
    """What appears is taken while the folder changes without a pause."""
    before, is_over = set(sessions(d)), threading.Event()

    def change():
        while not is_over.wait(0.005):
            with open(missed(d) + "/.new", "w"):
                pass
            os.unlink(missed(d) + "/.new")

    other = threading.Thread(target=change)
    other.start()
    try:
        done = run(d, "--", "true", env={"XDG_RUNTIME_DIR": d.place + "/data"})
        ok(done.returncode == 0 and until(lambda: left(d) == [] and len(set(sessions(d)) - before) == 1, LONG), "what appears in a busy folder is taken",
           done, left(d), set(sessions(d)) - before)
    finally:
        is_over.set()
        other.join()


def test_stopped(d):
    """A run that has joined, and whose daemon stops in between: nothing that was sent is lost, nothing is there twice."""
    before = set(sessions(d))
    words = [CORRAL, "run", "--", "sh", "-c", "echo here; read x; echo there; read x"]
    with subprocess.Popen(words, env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        until(lambda: [b["pid"] for b in d.get("/api/sandboxes")[2]["sandboxes"]] == [p.pid])
        d.stop()
        p.stdin.write("\n")
        p.stdin.flush()
        p.stdout.readline()
        p.stdin.write("\n")
        p.stdin.flush()
        p.wait(PATIENCE)
    names = left(d)
    d.start()
    ok(p.returncode == 0 and len(names) == 1 and until(lambda: left(d) == [], LONG), "a run that outlives its daemon leaves the rest", p.returncode, names)
    new = {id: rows for id, rows in sessions(d).items() if id not in before}
    # With a number behind its name, if it does not know what the daemon had committed.
    ok(list(new) == [name.split(".")[0] for name in names] and all(is_once(rows) for rows in new.values()), "with what the daemon had, that is all of it, once", new)
    # One that began without a daemon, and is there when it comes.
    d.stop()
    with subprocess.Popen(words, env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        d.start()
        joined = until(lambda: [b["pid"] for b in d.get("/api/sandboxes")[2]["sandboxes"]] == [p.pid], LONG)
        one = d.get("/api/sandboxes")[2]["sandboxes"][0]["id"] if joined else ""
        ok(joined and until(lambda: d.get("/api/sandboxes/" + one)[2]["permissions"]), "one that began without a daemon joins it when it comes",
           d.get("/api/sandboxes/" + one))
        p.stdin.write("\n\n")
        p.stdin.flush()
        p.wait(PATIENCE)
    ok(until(lambda: left(d) == [] and one in sessions(d) and is_once(sessions(d)[one]), LONG), "and all of it is in the log, once", left(d), sessions(d)[one])


class Locked:
    """Another process has the log, or its folder."""

    def __init__(self, d, name="/audit.db.lock"):
        self.path = d.place + "/state/corral" + name

    def __enter__(self):
        self.fd = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def __exit__(self, *_):
        os.close(self.fd)


def joined(d):
    """{pid: its sandbox}"""
    return {b["pid"]: b for b in d.get("/api/sandboxes")[2]["sandboxes"]}


def test_locked(d):
    """A run that comes again while another process has the log is not blamed for that. One that ends then leaves a file. Neither loses anything."""
    start = lambda *words: subprocess.Popen([CORRAL, "run", *words], env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True)
    both, ids = [start(*EACH) for _ in range(2)], []
    until(lambda: {p.pid for p in both} <= set(joined(d)))
    with Locked(d):
        for p in both:
            before = joined(d)[p.pid]["events"]
            ids.append(joined(d)[p.pid]["id"])
            p.stdin.write("\n")
            p.stdin.flush()
            p.stdout.readline()
            ok(until(lambda: joined(d)[p.pid]["events"] > before), "a run sends what the daemon cannot commit")
            p.send_signal(signal.SIGSTOP)
        d.stop(signal.SIGKILL)
    configure(d, logLevel="debug")
    d.start()
    configure(d)
    with Locked(d):
        other, since = start("--", "cat"), len(d.said())
        ok(until(lambda: joined(d).get(other.pid, {"events": 0})["events"] > 0), "there is something that waits for its commit")
        ok(d.get("/api/audit")[0] == 200 and d.get("/api/audit/verify")[0] == 200, "what is in the log is shown")
        for p in both:
            p.send_signal(signal.SIGCONT)
        later = [f"pid {p.pid} is to join again later" for p in both]
        ok(until(lambda: all(text in d.said(since) for text in later)), "runs that come again are to come later", d.said(since))
        both[1].communicate(timeout=LONG)
        ok([name.split(".")[0] for name in left(d)] == ids[1:], "one that ends leaves a file", left(d), ids)
        ok("broke the rules" not in d.said(since) and d.status()["pid"] == d.process.pid, "none of them is blamed", d.said(since))
    ok(until(lambda: both[0].pid in joined(d), LONG), "the other one joins when the log is free", d.said(since))
    for p in (both[0], other):
        p.communicate(timeout=LONG)
    until(lambda: left(d) == [], LONG)
    # What another log has is not in this one.
    with Locked(d):
        names = set(left(d))
        done = run(d, "--audit", "default", "--", "true", env={"XDG_STATE_HOME": d.place + "/other"})
        new = set(left(d)) - names
        ok(done.returncode == 0 and len(new) == 1, "a run that writes another log leaves a file for the daemon's", done, left(d))
        d.stop(signal.SIGKILL)
    d.start()
    ids += [name.split(".")[0] for name in new]
    ok(until(lambda: left(d) == [] and all(is_once(sessions(d)[one]) for one in ids), LONG), "all of each of them is in the log, once", left(d),
       [sessions(d)[one] for one in ids])
    ok("broke the rules" not in d.said(since), "and none was blamed", d.said(since))


def is_heard(d, p, one):
    """The daemon heard of each record that is in the log, and a denied connection is among them."""
    rows = sessions(d)[one]
    return any(r["decision"] == "denied" for r in rows) and joined(d).get(p.pid, {"events": 0})["events"] == len(rows)


def test_written(d):
    """A run that writes the daemon's log itself: the daemon hears of what is in the log, and records nothing twice; whoever is killed."""
    def start():
        p = subprocess.Popen([CORRAL, "run", "--audit", "default", *EACH], env=d.env, cwd=d.place + "/data", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        return p, say(p)

    def say(p):
        p.stdin.write("\n")
        p.stdin.flush()
        return p.stdout.readline()

    def numbers(one):
        d.get("/api/audit?limit=1")  # all that the daemon has is committed
        return [r["sequence"] for r in sessions(d)[one]]

    p, _ = start()
    until(lambda: p.pid in joined(d))
    one = joined(d)[p.pid]["id"]
    ok(until(lambda: is_heard(d, p, one), LONG), "the daemon hears of all that a run writes to its log", joined(d), sessions(d)[one])
    count = len(sessions(d)[one])
    p.kill()
    p.communicate()
    until(lambda: p.pid not in joined(d))
    ok(numbers(one) == list(range(1, count + 1)), "kill -9 of the run: what the daemon heard of is in the log, once", numbers(one), count)
    p, _ = start()
    until(lambda: p.pid in joined(d))
    one = joined(d)[p.pid]["id"]
    d.stop(signal.SIGKILL)
    say(p)
    d.start()
    until(lambda: p.pid in joined(d), LONG)
    say(p)
    p.communicate(timeout=LONG)
    until(lambda: p.pid not in joined(d))
    ok(until(lambda: left(d) == [], LONG) and numbers(one) and is_once(sessions(d)[one]), "kill -9 of the daemon: all of it is there, once", sessions(d)[one], left(d))
    d.stop()
    p, _ = start()
    d.start()
    ok(until(lambda: p.pid in joined(d), LONG), "one that began without a daemon joins it")
    one = joined(d)[p.pid]["id"]
    ok(until(lambda: is_heard(d, p, one), LONG), "which hears of all of it", joined(d), sessions(d)[one])
    p.communicate(timeout=LONG)
    until(lambda: p.pid not in joined(d))
    ok(until(lambda: left(d) == [], LONG) and numbers(one) and is_once(sessions(d)[one]), "and all of it is there, once", sessions(d)[one], left(d))
    before = set(sessions(d))
    codes = [run(d, "--audit", "default", "--", "true").returncode for _ in range(5)]
    until(lambda: joined(d) == {} and left(d) == [], LONG)
    new = {id: rows for id, rows in sessions(d).items() if id not in before}
    ok(codes == [0] * 5 and len(new) == 5 and all(numbers(id) and is_once(sessions(d)[id]) for id in new) and left(d) == [], "so are short runs", codes, new)


def test_repeated(d):
    """As a daemon that was killed between the commit and the removal leaves it, and before the commit."""
    d.stop()
    run(d, "--", "true")
    name = left(d)[0]
    number = max(r["number"] for r in records(d))
    copy = d.place + "/copy"
    shutil.copy(f"{missed(d)}/{name}", copy)
    os.rename(f"{missed(d)}/{name}", f"{missed(d)}/{name}.{number}")
    d.start()
    ok(until(lambda: left(d) == [], LONG) and is_once(sessions(d)[name]), "a file that was about to be taken is taken", sessions(d)[name])
    for at in (number, 0):
        shutil.copy(copy, d.place + "/fresh")
        os.chmod(d.place + "/fresh", 0o600)
        os.rename(d.place + "/fresh", f"{missed(d)}/{name}.{at}")
        ok(until(lambda: left(d) == [], LONG) and is_once(sessions(d)[name]), "one that was taken is not taken again", sessions(d)[name])
    shutil.copy(copy, d.place + "/fresh")
    os.chmod(d.place + "/fresh", 0o600)
    os.rename(d.place + "/fresh", f"{missed(d)}/{name}.{10**17}")
    ok(until(lambda: left(d) == [], LONG), "a number that the log has not does not matter")
    os.unlink(copy)


def test_many(d):
    """A session with more records after a file's number than are read does not delay files of others."""
    d.stop()
    run(d, "--", "true")
    name = left(d)[0]
    path, other = f"{missed(d)}/{name}", f"{missed(d)}/{'f' * 16}"
    with open(path, "rb") as f:
        data = f.read()
    os.unlink(path)
    # The line that says what it is, then events, each behind its length, then the length 0.
    event = data[16:20 + int.from_bytes(data[16:20], "little")]
    each = (65536 - 20) // len(event)

    def put(at, count):
        content = data[:16] + count * event + bytes(4)
        with open(os.open(d.place + "/fresh", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(content.replace(name.encode(), at.rsplit("/", 1)[1].split(".")[0].encode()))
        os.rename(d.place + "/fresh", at)

    d.start()
    for _ in range(5000 // each + 1):
        put(path, each)
        until(lambda: left(d) == [], LONG)
    count = len(sessions(d)[name])
    put(path + ".0", 3)
    put(other, 1)
    ok(until(lambda: left(d) == [], LONG) and count > 5000 and len(sessions(d)[name]) == count and len(sessions(d)["f" * 16]) == 2,
       "a session with many records holds up no other", left(d), count, len(sessions(d)[name]))


def test_crowded(d):
    """If the folder is full, a run says that its events are not in the log, and the daemon records how many are missing."""
    d.stop()
    others = [f"{missed(d)}/other-{i}" for i in range(4096)]
    for name in others:
        with open(name, "w"):
            pass
    done = [run(d, "--", "true") for _ in range(2)]
    texts = [re.fullmatch(r"corral: ([0-9]+) events of this run are not in the daemon's log: 4096 runs have left theirs, and no daemon took them\n", p.stderr)
             for p in done]
    ok([p.returncode for p in done] == [0, 0] and all(texts) and left(d) == [], "a run that finds too many files says so in one line", done, left(d))
    count = sum(int(m[1]) for m in texts if m)
    with open(missed(d) + "/.full", "rb") as f:
        ok(len(f.read()) == 8, "and is counted")
    before = len(d.said())
    d.start()

    def told():
        return [r["count"] for r in records(d) if r["action"] == "store" and r["target"] == "missed" and r["decision"] == "failed"]

    ok(until(lambda: told() == [count], LONG) and not os.path.exists(missed(d) + "/.full") and f"2 runs could not leave {count} events" in d.said(before),
       "the daemon puts into its log how many events are missing", told(), count, d.said(before))
    d.stop()
    for name in others:
        os.unlink(name)
    done = run(d, "--", "true")
    ok(done.returncode == 0 and done.stderr == "" and len(left(d)) == 1, "with room again, all is as before", done)
    d.start()
    ok(until(lambda: left(d) == [], LONG) and told() == [count], "and nothing is counted twice", told())
    path, taken = missed(d) + "/.full", missed(d) + "/.full.taken"

    def put(*counts):
        with open(os.open(d.place + "/fresh", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(b"".join(n.to_bytes(4, "little") for n in counts))
        os.rename(d.place + "/fresh", path)
        return until(lambda: os.path.exists(taken) and not os.path.exists(path))

    with Locked(d):
        ok(put(3, 4), "what is counted stays until it is committed", os.listdir(missed(d)))
        d.stop(signal.SIGKILL)
    d.start()
    ok(until(lambda: told() == [count, 7], LONG) and until(lambda: not os.path.exists(taken)), "kill -9 before that: the next daemon counts it", told())
    with Locked(d):
        ok(put(5), "a daemon counts")
        # One run had it open before, another one comes after.
        with open(taken, "ab") as f:
            f.write((6).to_bytes(4, "little"))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write((1).to_bytes(4, "little"))
    ok(until(lambda: told() == [count, 7, 5, 6, 1], LONG) and until(lambda: not os.path.exists(taken) and not os.path.exists(path)),
       "what is added meanwhile is counted, too", told(), os.listdir(missed(d)))


def test_kills(d):
    """kill -9 when a file is noted, or a moment later."""
    rng = random.Random(KILLS)
    before, made, interrupted = set(sessions(d)), set(), 0
    d.stop()
    for _ in range(KILLS):
        for _ in range(2):
            run(d, "--", "true")
        names = left(d)
        made |= {name.split(".")[0] for name in names}
        process = subprocess.Popen([CORRALD, "--port", "0"], env=d.env, stderr=subprocess.DEVNULL)
        # Without a pause: what is looked for lasts a few milliseconds.
        bound = time.monotonic() + PATIENCE
        while left(d) == names and time.monotonic() < bound:
            pass
        pause = time.monotonic() + rng.choice((0, 0, 0.001, 0.002, 0.005, 0.01))
        while time.monotonic() < pause:
            pass
        process.kill()
        process.wait()
        interrupted += left(d) != []
    d.start()
    ok(until(lambda: left(d) == [], LONG), f"after {KILLS} kills, {interrupted} of them before all was done, all files are taken", left(d))
    new = {id: rows for id, rows in sessions(d).items() if id not in before}
    ok(set(new) == made and len(made) >= 2 * KILLS, "no run is lost", len(made), len(new))
    ok(all(is_once(rows) for rows in new.values()), "no record is lost or repeated", [rows for rows in new.values() if not is_once(rows)][:1])
    ok(verifies(d), "the log verifies")


def test_two(d):
    """Two daemons with one log."""
    d.stop()
    before = set(sessions(d))
    for _ in range(8):
        run(d, "--", "true")
    names, other = left(d), tempfile.mkdtemp(prefix="cd-")
    env = {**d.env, "XDG_RUNTIME_DIR": other}
    both = [subprocess.Popen([CORRALD, "--port", "0"], env=e, stderr=subprocess.DEVNULL) for e in (d.env, env)]
    done = until(lambda: left(d) == [], LONG)
    for p in both:
        p.terminate()
        p.wait(PATIENCE)
    new = {id: rows for id, rows in sessions(d).items() if id not in before}
    ok(done and set(new) == set(names) and all(is_once(rows) for rows in new.values()), "two daemons with one log take each file once", new)
    shutil.rmtree(other)
    d.start()


def test_folder_locked(d):
    """A process that locks the folder of the log does not keep a daemon from starting. What another daemon may have got waits."""
    d.stop()
    for _ in range(2):
        run(d, "--", "true")
    plain, noted = left(d)
    os.rename(f"{missed(d)}/{noted}", f"{missed(d)}/{noted}.0")
    with Locked(d, ""):
        since = len(d.said())
        d.start()
        ok("another process has locked the folder of the log" in d.said(since), "the daemon starts, and says so", d.said(since))
        ok(until(lambda: left(d) == [noted + ".0"], LONG), "it takes what no daemon got", left(d))
    ok(until(lambda: left(d) == [], LONG) and all(is_once(sessions(d)[name]) for name in (plain, noted)), "and the rest when it has the lock", left(d))


# What a command tries. Prints what worked.
COMMAND = r"""
import os, sys
folder = sys.argv[1]
def put(name):
    with open(os.path.join(folder, name), "w") as f:
        f.write("x")
    print("put", name)
attacks = (lambda: put("0123456789abcdef"), lambda: print("list", os.listdir(folder)), lambda: (os.mkdir(folder), print("mkdir")),
           lambda: (os.rename(folder, folder + ".old"), os.rename(folder + ".old", folder), print("rename")),
           lambda: (os.symlink("/etc", os.path.join(os.path.dirname(folder), "link")), print("link")))
for attack in attacks:
    try:
        attack()
    except OSError:
        pass
"""


def test_commands(d):
    script = d.place + "/data/command.py"
    with open(script, "w") as f:
        f.write(COMMAND)
    words = ["/usr/bin/python3", script, missed(d)]
    d.stop()
    bare = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
    os.unlink(missed(d) + "/0123456789abcdef")
    os.unlink(os.path.dirname(missed(d)) + "/link")
    ok("put" in bare and "list" in bare and "rename" in bare, "outside all of it works", bare)
    names = os.listdir(missed(d))
    state = ("--extra", d.place + "/state")
    for options in (("--mode", "sandbox", "--data-dir", d.place + "/data"), ("--mode", "rx", "--data-dir", d.place + "/data"),
                    ("--mode", "sandbox", "--data-dir", d.place + "/data", *state), ("--mode", "sandbox", "--data-dir", d.place),
                    ("--read", d.place + "/**", "--write", d.place + "/**")):
        # Wherever the state folder is: by the variable, and at its usual place in the home.
        for env in ({}, {"XDG_STATE_HOME": d.place + "/.local/state"}):
            if env:
                os.makedirs(d.place + "/.local/state/corral/missed", mode=0o700, exist_ok=True)
                words[2] = d.place + "/.local/state/corral/missed"
            else:
                words[2] = missed(d)
            done = run(d, *options, "--", *words, env=env)
            ok("put" not in done.stdout and "list" not in done.stdout and "rename" not in done.stdout and "link" not in done.stdout,
               f"a command cannot leave events: {' '.join(options)}", done.stdout + done.stderr)
    ok(set(names) <= set(os.listdir(missed(d))) and "0123456789abcdef" not in os.listdir(missed(d)), "and none of it is there")
    d.start()
    ok(until(lambda: left(d) == [], LONG), "what runs left is taken")


def kinds(d):
    return {f["where"] for f in d.get("/api/security")[2]["findings"] if f["kind"] == "log_lost"}


def test_files(d):
    """What is not a file of a run, or a damaged one."""
    d.stop()
    run(d, "--", "true")
    good = left(d)[0]
    with open(f"{missed(d)}/{good}", "rb") as f:
        data = f.read()
    os.unlink(f"{missed(d)}/{good}")
    before = len(records(d))

    def put(name, content, mode=0o600):
        path = f"{missed(d)}/{name}"
        with open(path, "wb") as f:
            f.write(content)
        os.chmod(path, mode)
        return path

    put("a" * 16, data)                      # forged: events of another session
    put("b" * 16, data[:len(data) // 2])     # cut off
    put("c" * 16, data, 0o644)               # others can read it
    os.truncate(put("d" * 16, b""), 1 << 40)
    os.mkfifo(f"{missed(d)}/{'e' * 16}", 0o600)
    os.symlink("/etc/passwd", f"{missed(d)}/{'f' * 16}.7")
    os.mkdir(f"{missed(d)}/{'0' * 16}")
    put("README", b"x")
    put("1" * 16, data.replace(good.encode(), b"1" * 16)[:-4] + b"\xff\xff\xff\x7f")
    put("." + "2" * 16, data)                # another run writes it just now
    if os.geteuid() == 0:
        os.chown(put("3" * 16, data.replace(good.encode(), b"3" * 16)), USER, USER)
    d.start()
    bad = {name * 16 + ".bad" for name in "abcdef01" + ("3" if os.geteuid() == 0 else "")} | {"README"}
    ok(until(lambda: set(os.listdir(missed(d))) == bad | {"." + "2" * 16}, LONG), "files that runs did not leave are put aside", sorted(os.listdir(missed(d))))
    done = run(d, "--", "true", env={"XDG_RUNTIME_DIR": d.place + "/data"})
    ok(done.returncode == 0 and until(lambda: left(d) == [], LONG) and d.status()["pid"] == d.process.pid, "the daemon goes on, and takes others")
    where = {f"{missed(d)}/{name}" for name in bad}
    ok(until(lambda: kinds(d) == where, LONG), "each of them is a finding", kinds(d))
    d.get("/api/audit?limit=1")  # all is committed
    ours = [r for r in records(d)[before:] if good == r["session"] or r["session"] in {c * 16 for c in "abcdef013"}]
    refused = {r["target"] for r in records(d)[before:] if r["action"] == "store" and r["decision"] == "failed"}
    ok(ours == [] and refused == {"missed/" + name[:16] for name in bad - {"README"}}, "nothing of them is in the log, but that they were refused", ours, refused)
    for name in os.listdir(missed(d)):
        path = f"{missed(d)}/{name}"
        if os.path.isdir(path):
            os.rmdir(path)
        else:
            os.unlink(path)
    ok(until(lambda: kinds(d) == set(), LONG), "removed, they are no finding any more", kinds(d))
    # A folder that others can enter is not used.
    d.stop()
    os.chmod(missed(d), 0o755)
    run(d, "--", "true")
    ok(os.listdir(missed(d)) == [], "a folder that others can enter is not used", os.listdir(missed(d)))
    d.start()
    ok("must be a folder of your own" in d.said(), "and the daemon says so")
    found = lambda: [f for f in d.get("/api/security")[2]["findings"] if f["where"] == missed(d)]
    ok(until(lambda: [f["kind"] for f in found()] == ["file_mode"], LONG), "which is a finding", found())
    os.chmod(missed(d), 0o700)


def test_stuck(d):
    """A file that cannot be renamed is reported once."""
    d.stop()
    name, before = "a" * 16, len(records(d))
    os.makedirs(f"{missed(d)}/{name}.bad/in-the-way")
    with open(os.open(f"{missed(d)}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write("damaged")
    d.start()
    for _ in range(3):
        done = run(d, "--", "true", env={"XDG_RUNTIME_DIR": d.place + "/data"})
        ok(done.returncode == 0 and until(lambda: left(d) == [name], LONG), "the daemon looks, and takes others", done, left(d))
    d.get("/api/audit?limit=1")  # all is committed
    refused = [r for r in records(d)[before:] if r["target"] == "missed/" + name]
    ok(len(refused) == 1, "a file that cannot be renamed is reported once", refused)
    ok(until(lambda: f"{missed(d)}/{name}" in kinds(d), LONG), "and is a finding")
    os.unlink(f"{missed(d)}/{name}")
    shutil.rmtree(f"{missed(d)}/{name}.bad")


def test_full(d):
    """A disk that is full: in a mount namespace, with a state folder of its own."""
    words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        return skip("a full disk", "kernel: no mount namespaces for us")
    d.stop()
    done = subprocess.run([*words, sys.executable, __file__, "--full", d.place], capture_output=True, text=True, timeout=4 * LONG, check=False)
    ok(done.returncode == 0, "a full disk: a run is as before, and the daemon takes events when there is room", done.stdout, done.stderr)


def full(place):
    """Inside of it."""
    d = Daemon()
    shutil.rmtree(d.place)
    d.place = tempfile.mkdtemp(dir=place, prefix="cf-")
    d.runtime, d.log = d.place + "/run", d.place + "/log"
    d.folder = d.runtime + "/corral"
    for name in ("run", "state", "data"):
        os.mkdir(f"{d.place}/{name}", 0o700)
    d.env.update(HOME=d.place, XDG_RUNTIME_DIR=d.runtime, XDG_STATE_HOME=d.place + "/state", XDG_CONFIG_HOME=d.place + "/config")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", d.place + "/state"], check=True)

    def fill():
        with open(d.place + "/state/filler", "wb", 0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass

    try:
        full_disk(d, fill)
    finally:
        d.stop(signal.SIGKILL)
    assert verifies(d)


def full_disk(d, fill):
    d.start()
    d.stop()
    fill()
    done = run(d, "--", "true")
    text = f"corral: [0-9]+ events of this run are not in the daemon's log: they cannot be left in {missed(d)}: No space left on device\n"
    assert done.returncode == 0 and re.fullmatch(text, done.stderr) and os.listdir(missed(d)) == [], (done, os.listdir(missed(d)))
    os.unlink(d.place + "/state/filler")
    # Many at once, so that there is room for the log as it is, and not for them.
    run(d, "--", "true")
    first = left(d)[0]
    with open(f"{missed(d)}/{first}", "rb") as f:
        data = f.read()
    names = {first} | {f"{i:016x}" for i in range(100)}
    for name in names:
        with open(os.open(f"{missed(d)}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(data.replace(first.encode(), name.encode()))
    fill()
    os.truncate(d.place + "/state/filler", os.path.getsize(d.place + "/state/filler") - (128 << 10))
    d.start()
    assert until(lambda: "missed events wait" in d.said(), LONG), d.said()
    assert {name.split(".")[0] for name in left(d)} == names, left(d)
    os.unlink(d.place + "/state/filler")
    assert until(lambda: left(d) == [], 2 * LONG), left(d)
    found = sessions(d)
    assert names <= set(found) and all(is_once(found[name]) for name in names), found


def main():
    if sys.argv[1:2] == ["--full"]:
        return full(sys.argv[2])
    with beside_user(__file__):
        at_once((begin, test_never, test_down, test_killed, test_handed_over, test_busy, test_stopped, test_locked, test_written, test_repeated),
                (begin, Daemon.start, test_many, test_crowded, test_kills, test_two),
                (begin, Daemon.start, test_folder_locked, test_commands, test_files, test_stuck, test_full))
    return end()


if __name__ == "__main__":
    sys.exit(main())
