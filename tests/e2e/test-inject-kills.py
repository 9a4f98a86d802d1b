#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that has secrets of a run is killed in the middle of it: corral-inject, corral-vault, their lender, or the run itself. The
run goes on without secrets and says so; nothing goes to their hosts by another way, and no value is anywhere. As root, once more as an
ordinary user. Prints TAP."""

import contextlib
import importlib.util
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

SOURCE = os.environ.get("RUN_SECRET", str(pathlib.Path(__file__).with_name("test-run-secret.py")))
spec = importlib.util.spec_from_file_location("run_secret", SOURCE)
run_secret = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_secret)
VALUE = run_secret.VALUE
IS_SANITIZED = b"__asan_init" in pathlib.Path(run_secret.INJECT).read_bytes()
PATIENCE_S = 60
NOT_SERVED = "the secrets of this run are not served any more"
# When it has not begun yet.
WHY = {"corral-inject": "corral-inject ended", "corral-vault": "corral-vault: it ended", "lender": "the vault is not served: its process ended"}
# Does what it is told, a line at a time.
INSIDE = 'while IFS= read -r line; do eval "$line"; echo "status $?"; done; echo "went on $TOKEN"'


class Server(run_secret.Server):
    """A request for /hold is answered in two parts; the second one has to be let go."""

    def __init__(self, certificate):
        self.began, self.goes_on = threading.Semaphore(0), threading.Semaphore(0)
        super().__init__(certificate)


def answer_hold(handler, sent, _):
    handler.send_response(200)
    handler.send_header("Content-Length", "2000")
    handler.end_headers()
    handler.wfile.write(b"-" * 1000)
    handler.server.began.release()
    handler.server.goes_on.acquire()
    with contextlib.suppress(OSError):
        handler.wfile.write(sent.encode().rjust(1000, b"-"))


run_secret.Handler.answer_hold = answer_hold


class Run:
    """A run that does what it is told. Its processes by their names; no other run's."""

    def __init__(self, place, *options):
        self.process = subprocess.Popen([run_secret.CORRAL, "run", *options, "--", "sh", "-c", INSIDE], cwd=place.path / "work", env=place.env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.said = ""

    def tell(self, line):
        """Its output, and its status."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        text = ""
        while not text.rpartition("\n")[0].rpartition("\n")[2].startswith("status ") or not text.endswith("\n"):
            part = self.process.stdout.readline()
            if not part:
                break
            text += part
        self.said += text
        return text

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.said + out, err

    def found(self):
        """Name: process, of those that have to do with secrets."""
        found, to_do = {}, [self.process.pid]
        while to_do:
            pid = to_do.pop()
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                name = os.path.basename(words[0].decode())
                if name in ("corral-inject", "corral-vault", "sleep"):
                    found[name] = pid
                elif words[1:3] == [b"vault", b"lend"]:
                    found["lender"] = pid
                to_do += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found


def watch(pids):
    return {name: os.pidfd_open(pid) for name, pid in pids.items()}


def gone(fds, *names):
    """Whether they end."""
    waits = [fds[name] for name in names]
    return all(select.select([fd], [], [], PATIENCE_S)[0] for fd in waits)


def limits(pids):
    """What the kernel would keep of their memory, and whether any of it may be swapped out."""
    for name, pid in sorted(pids.items()):
        rows = {line[:26].strip(): line[26:].split() for line in pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()}
        # 1 is less than a page, and keeps a program that takes cores from a pipe away (core(5)).
        soft, hard = rows["Max core file size"][:2]
        ok({soft, hard} <= {"0", "1"}, f"{name} leaves no core", soft, hard)
        # Of a process that others must not read, what is in /proc is root's.
        if os.geteuid() != 0:
            ok(os.stat(f"/proc/{pid}/environ").st_uid == 0, f"{name} cannot be looked into")
        status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        locked = next(int(line.split()[1]) for line in status if line.startswith("VmLck"))
        # The sanitizer has mlock() do nothing.
        ok(locked > 0 or name == "lender" or IS_SANITIZED, f"{name} has memory that is never written to a disk", locked)


def has_value(folder):
    """Files that have it."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]


def one(place, server, stranger, victim, how):
    curl = 'curl -sS -m 60 {} -H "Authorization: Bearer $TOKEN" {}'
    url = f"https://{server.place}"
    run = Run(place, "--secret", "TOKEN", "--net", stranger.place)
    what = f"{victim}, {how.name}"
    first = run.tell(curl.format("", f"{url}/echo"))
    pids = run.found()
    fds = watch(pids)
    ok(sorted(pids) == ["corral-inject", "corral-vault", "lender"] and server.seen[-1][1] == f"Bearer {VALUE}", f"{what}: before, the host gets the value", pids, first)
    if how == signal.SIGKILL:
        limits(pids)
    run.tell(curl.format("-o part", f"{url}/hold") + " 2>error & first=$!")
    ok(server.began.acquire(timeout=PATIENCE_S), f"{what}: an answer is on its way")
    os.kill(pids[victim], how)
    ok(gone(fds, *pids), f"{what}: what had values with it ends", pids)
    server.goes_on.release()
    held = run.tell("wait $first; cat error")
    ok("status 0" not in run.tell("wait $first") and VALUE not in held, f"{what}: an answer that was on its way ends, as one that was cut", held)
    server.seen.clear()
    stranger.seen.clear()
    tried = [run.tell(curl.format(more, f"{to}/echo") + " 2>&1") for more, to in (("", url), ("-k", url), ("-k --http1.0", url), ("", f"http://{server.place}"))]
    ok(not server.seen and not any("status 0" in text for text in tried), f"{what}: nothing goes to the host by another way, not even a placeholder", server.seen, tried)
    got = run.tell(curl.format("-k", f"https://{stranger.place}/echo"))
    ok("status 0" in got and stranger.seen and stranger.seen[-1][1].startswith("Bearer ghp_") and VALUE not in str(stranger.seen),
       f"{what}: other hosts are reached as before, with the placeholder", got, stranger.seen)
    out, err = run.end()
    ok(run.process.returncode == 0 and "went on ghp_" in out, f"{what}: the run goes on", run.process.returncode, out, err)
    ok(NOT_SERVED in err, f"{what}: and says what it lacks", err)
    log = place.call("audit", "list", "--json").stdout
    files = has_value(place.path)
    ok(VALUE not in out + err + log and not files, f"{what}: the value is in no output, log or file", files)
    for fd in fds.values():
        os.close(fd)


def beginning(place, victim):
    """It is killed while the value of a source is on its way: the command does not begin."""
    run = Run(place, "--secret", "SLOW")
    until = time.monotonic() + PATIENCE_S
    while "sleep" not in (pids := run.found()) and time.monotonic() < until and run.process.poll() is None:
        time.sleep(0.01)
    fds = watch(pids)
    os.kill(pids[victim], signal.SIGKILL)
    ok(gone(fds, victim), f"{victim} is killed before the command begins", pids)
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(fds["sleep"], signal.SIGKILL)
    out, err = run.end()
    ok(run.process.returncode == 125 and "went on" not in out, f"{victim}: it does not begin", run.process.returncode, out, err)
    ok(err.strip() == f"corral: --secret: {WHY[victim]}", f"{victim}: the run says why", err)
    ok(gone(fds, *pids), f"{victim}: and nothing is left", pids)
    for fd in fds.values():
        os.close(fd)


def whole(place, server):
    """Who has values ends with the run, however that ends."""
    run = Run(place, "--secret", "TOKEN")
    run.tell("true")
    pids = run.found()
    fds = watch(pids)
    run.process.kill()
    ok(len(pids) == 3 and gone(fds, *pids), "the run is killed: what had values ends", pids)
    run.process.communicate(timeout=PATIENCE_S)
    ok(not has_value(place.path), "and no file has one")
    server.seen.clear()
    done = place.run(f'curl -sS -H "Authorization: Bearer $TOKEN" https://{server.place}/', "--secret", "TOKEN")
    ok(server.seen and server.seen[-1][1] == f"Bearer {VALUE}", "the next run has it again", done)


def main():
    scratch = tempfile.mkdtemp(prefix="ik-")
    place = run_secret.Place(scratch)
    try:
        server, stranger = Server(place.path / "good.pem"), Server(place.path / "good.pem")
        for step in ("init", "unlock"):
            ok(place.vault(step, "--passphrase-file", str(place.passphrase)).returncode == 0, f"vault {step}")
        shutil.copy(place.path / "ca.pem", place.path / "state/corral/vault/authorities.pem")
        place.vault("set", "TOKEN", value=VALUE)
        place.vault("grant", "TOKEN", server.place)
        for victim in ("corral-inject", "corral-vault", "lender"):
            for how in (signal.SIGKILL, signal.SIGABRT):
                one(place, server, stranger, victim, how)
        place.vault("set", "SLOW", "--from", "cmd:/usr/bin/sleep 50")
        place.vault("grant", "SLOW", server.place)
        for victim in ("corral-inject", "corral-vault", "lender"):
            beginning(place, victim)
        place.vault("remove", "SLOW")
        whole(place, server)
    finally:
        place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, run_secret.PROGRAMS, RUN_SECRET=SOURCE, AWS_PY=run_secret.aws.__file__)
    return end()


if __name__ == "__main__":
    sys.exit(main())
