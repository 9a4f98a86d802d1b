#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run` with pipes, files and sockets as standard input and output, as shells and hosts use it. Prints TAP."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 60  # for anything that could hang; all of it takes far less


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def same(self, got, wanted, name):
        self.n += 1
        good = got == wanted
        self.failed += not good
        if not good:
            print(f"# got {got!r}, wanted {wanted!r}")
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)


TAP = Tap()


def shell(script, **more):
    """What a shell says; $C is `corral run --`."""
    more.setdefault("stdin", subprocess.DEVNULL)
    try:
        done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=SECONDS, check=False, cwd=WORK,
                              env={**os.environ, "C": f"{CORRAL} run --", "CORRAL": CORRAL}, **more)
    except subprocess.TimeoutExpired:
        return "it hangs"
    return done.stdout.decode(errors="replace")


def bare(script):
    return shell(script.replace("$C ", ""))


def same_as_bare(script, name):
    got, wanted = shell(script), bare(script)
    TAP.same(got if len(got) < 500 else hash(got), wanted if len(wanted) < 500 else hash(wanted), name)


def test_attacks():
    TAP.same(shell("(printf 'earlier\\n'; $C sh -c 'dd iflag=nonblock bs=64 count=1 <&2 2>/dev/null; "
                   "dd if=/proc/self/fd/1 iflag=nonblock bs=64 count=1 of=found 2>/dev/null; cat found >&2') 2>seen "
                   "| sleep 0.2; cat seen; rm -f found"), "", "what was written before cannot be read back")
    TAP.same(shell("printf 'one\\n' | ($C timeout 1 sh -c 'echo two >/proc/self/fd/0'; cat)"), "one\n",
             "standard input cannot be written for the next reader")
    TAP.same(shell("seq 1 10 >f; (read a; read b; read c; read d; $C sh -c 'printf AAAAAAAA >/proc/self/fd/0'; printf XX >&0) <>f; "
                   "head -n 5 f; rm f"), "1\n2\n3\n4\nXX6\n", "the place in a file for input cannot be moved back")
    for what in ("truncate -s 0 /proc/self/fd/1", "python3 -c 'import os; os.ftruncate(1, 0)'",
                 "sh -c ': >/proc/self/fd/1'", "sh -c ': >/dev/stdout'"):
        shell(f"echo kept >log; $C {what} >>log")
        TAP.same(shell("cat log; rm log"), "kept\n", f"a file for appending is not emptied: {what}")
    TAP.same(shell("echo text >file; chmod 600 file; $C sh -c 'chmod 777 /proc/self/fd/1' >>file; stat -c %a file; rm file"),
             "600\n", "the mode of a file for output stays")


def test_shells():
    same_as_bare("$C seq 1 200000 | md5sum", "much output to a pipe")
    same_as_bare("$C seq 1 200000 >o; md5sum <o; rm o", "to a file")
    same_as_bare("echo first >o; $C seq 1 200000 >>o; md5sum <o; rm o", "to the end of a file")
    same_as_bare("echo 0123456789 >o; $C printf ab 1<>o; cat o; rm o", "over the start of a file")
    same_as_bare("(echo head; $C echo body; echo tail) >o; cat o; rm o", "output in the middle of others'")
    same_as_bare("seq 1 200000 | $C cat | md5sum", "much input from a pipe")
    same_as_bare("seq 1 200000 | $C cat >o; md5sum <o; rm o", "from a pipe to a file")
    same_as_bare("seq 1 9 >i; $C cat <i; $C cat <>i; rm i", "from a file")
    same_as_bare("$C cat </dev/null; $C cat < <(printf x)", "an empty input, and one byte")
    same_as_bare("$C sh -c 'for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done' 2>&1 | cat",
                 "output and error in one pipe stay in order")
    same_as_bare("$C sh -c 'for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done' >>o 2>&1; cat o; rm o",
                 "in one file too")
    same_as_bare("$C sh -c 'echo out; echo err >&2' 2>o | cat; cat o; rm o", "apart they stay apart")
    same_as_bare("printf 'a b' | $C sh -c 'read x y <&0; echo $y >/dev/stdout; echo $x >/proc/self/fd/2' 2>&1 | cat",
                 "/dev/stdout and its like")
    same_as_bare("cat <<< $($C echo word); $C cat <<< here; $C cat <<E\n$(seq 1 40000)\nE", "substitutions and here-documents")


def test_shared_input():
    """What a command does not read is there for the next one."""
    same_as_bare("seq 1 9 | ($C true; cat)", "a command that reads nothing")
    same_as_bare("seq 1 9 | ($C sh -c 'read x; echo got $x'; cat)", "one line")
    same_as_bare("seq 1 9 | while read x; do $C echo item $x; done", "a loop over a pipe")
    same_as_bare("seq 1 9 | while read x; do $C sh -c 'read y; echo got $y'; done", "a loop whose commands read on")
    same_as_bare("seq 1 5000 | ($C head -c 4096 | md5sum; wc -c)", "exactly so many bytes")
    same_as_bare("seq 1 9 >i; while read x; do $C sh -c 'read y; echo got $y'; done <i; rm i", "a loop over a file")
    same_as_bare("seq 1 9 >i; ($C sh -c 'read y; echo got $y'; cat) <>i; rm i", "over a file for both ways")


def test_ends():
    TAP.same(shell("timeout 30 $C yes | head -n 1; echo ${PIPESTATUS[0]}"), "y\n141\n", "a reader that goes ends the command")
    TAP.same(shell("timeout 30 $C tail -f /dev/null | true; echo ${PIPESTATUS[0]}"), bare("tail -f /dev/null | true; echo ${PIPESTATUS[0]}"),
             "also one that writes nothing, and looks for it")
    TAP.same(shell("$C sh -c 'echo first; (sleep 600; echo late) & exit 3' | cat; echo ${PIPESTATUS[0]}"), "first\n3\n",
             "a process that is left behind does not keep the pipe open")
    TAP.same(shell("$C sh -c 'seq 1 60000; exit 3' | (sleep 0.3; tail -n 1); echo ${PIPESTATUS[0]}"), "60000\n3\n",
             "a slow reader gets all of it")
    TAP.same(shell("$CORRAL run --timeout 300ms -- yes > >(exec sleep 60 >/dev/null 2>&1); echo $?; kill $!"), "124\n",
             "a reader that never reads does not hold up the end of a command's time")
    TAP.same(shell("exec 3> >(exec sleep 3 >/dev/null); $C head -c 90000 /dev/zero >&3 & sleep 1; kill -INT $!; kill -TERM $!; wait $!; "
                   "echo ended"), "ended\n", "nor one that is told to end")


def test_stop():
    script = "$C sh -c 'seq 1 60000' | (read x; echo $x; sleep 0.2; tail -n 1) & sleep 0.1; kill -STOP %1; kill -CONT %1; wait %1"
    TAP.same(shell("set -m; " + script), "1\n60000\n", "stopped and continued")


def test_errors():
    TAP.same(shell("$C sh -c 'echo text' >/dev/full 2>/dev/null; echo $?"), bare("sh -c 'echo text' >/dev/full 2>/dev/null; echo $?"),
             "a full device is the command's to hear of")
    TAP.same(shell("ulimit -f 1; $C head -c 100000 /dev/zero 2>e >o; echo $?; wc -c <o; grep -c 'cannot write all output' e; rm o e"),
             "125\n1024\n1\n", "a file that may not grow: told, with a status")
    with open(os.path.join(WORK, "policy.yaml"), "w", encoding="ascii") as file:
        file.write("version: 1\npermissions:\n  fs:\n    read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**]\n  limits:\n    file_size: 64K\n")
    outside = os.path.join(SCRATCH, "policy.yaml")
    os.rename(os.path.join(WORK, "policy.yaml"), outside)
    got = shell(f"$CORRAL run --policy {outside} -- head -c 200000 /dev/zero >o 2>e; wc -c <o; grep -v 'cannot write all output' e; rm -f o e")
    TAP.same(got, "65536\n", "the policy's limit of a file counts for output, too")


def test_sockets():
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen([CORRAL, "run", "--", "sh", "-c", "read x; echo got $x; echo bad >&0; exit 5"], stdin=theirs,
                                       stdout=theirs, stderr=subprocess.DEVNULL, cwd=WORK)
        ours.settimeout(SECONDS)
        ours.sendall(b"word\n")
        text = b""
        while data := ours.recv(4096):
            text += data
        TAP.same((text, process.wait(SECONDS)), (b"got word\n", 5), "a connection for both, as servers give it")
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    with server, client, server.accept()[0] as ours:
        ours.sendall(b"text")
        ours.shutdown(socket.SHUT_WR)
        done = subprocess.run([CORRAL, "run", "--", "cat"], stdin=client, capture_output=True, cwd=WORK, timeout=SECONDS, check=False)
        TAP.same((done.stdout, done.returncode), (b"text", 0), "a connection of the network gives its bytes, and no network")


def test_memory_file():
    fd = os.memfd_create("input")
    os.write(fd, b"in memory")
    os.lseek(fd, 0, os.SEEK_SET)
    reading = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    done = subprocess.run([CORRAL, "run", "--", "sh", "-c", "echo bad >/proc/self/fd/0; cat"], stdin=reading,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=WORK, timeout=SECONDS, check=False)
    TAP.same((done.stdout.replace(b"bad\n", b""), os.pread(fd, 99, 0)), (b"in memory", b"in memory"),
             "a file that exists in memory only is read, and stays as it is")
    os.close(fd)
    os.close(reading)


def test_flags():
    reader, writer = os.pipe()
    subprocess.run([CORRAL, "run", "--", "python3", "-c", "import os; os.set_blocking(1, False)"], stdout=writer, cwd=WORK,
                   timeout=SECONDS, check=False)
    TAP.same(os.get_blocking(writer), True, "flags of the caller's pipe stay")
    os.set_blocking(writer, False)
    process = subprocess.Popen([CORRAL, "run", "--", "seq", "1", "60000"], stdout=writer, cwd=WORK)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        TAP.same(len(file.read()), 348894, "a pipe that does not block: all of it arrives")
    TAP.same(process.wait(SECONDS), 0, "and nothing failed")


def main():
    if subprocess.run([CORRAL, "doctor"], capture_output=True, check=False).returncode == 1:
        print("1..0 # SKIP kernel: no sandbox can be had; corral doctor says why")
        return 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print(f"1..{TAP.n}")
    return 1 if TAP.failed else 0


if __name__ == "__main__":
    SCRATCH = os.path.realpath(tempfile.mkdtemp())
    WORK, HOME = os.path.join(SCRATCH, "work"), os.path.join(SCRATCH, "home")
    os.mkdir(WORK)
    os.mkdir(HOME)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        os.environ.pop(variable, None)
    os.environ.update(HOME=HOME, TERM="dumb", LC_ALL="C.UTF-8")
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
