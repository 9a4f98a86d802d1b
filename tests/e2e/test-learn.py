#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral learn`: each program passes under the policy that was learnt, while a canary file, host and variable stay denied; and
attacks on what is learnt: secrets, Corral's own state, links, names that deceive, floods, commands that change their mind."""
import http.server
import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import threading

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 300
number = failures = 0
scratch = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="corral-learn-test-")))
home, data = scratch / "home", scratch / "data"
canary = scratch / "other" / "canary"
env = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "CANARY": "sings"}


def ok(passed, name, detail=""):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802, the name is the base class's
        body = b'{"answer": 42}\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def project(name):
    folder = home / name
    folder.mkdir(parents=True)
    return folder


def corral(folder, *words):
    return subprocess.run([CORRAL, *map(str, words)], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=SECONDS, check=False)


def learn(folder, *words):
    """The object of --json, and the status."""
    got = corral(folder, "learn", "--json", *words)
    try:
        return got.returncode, json.loads(got.stdout), got.stderr
    except ValueError:
        return got.returncode, {"policy": "", "seen": [], "proven": False}, got.stdout + got.stderr


def sh(folder, script, *options):
    return learn(folder, *options, "--", "sh", "-c", script)


def entries(policy):
    """What the policy adds to the profile: its lines that are entries, without comments."""
    return [line.strip()[2:].split(" # ")[0] for line in policy.splitlines() if line.strip().startswith("- ")]


def why(result, target):
    return [row["not_granted"] for row in result["seen"] if target in row["target"]]


def stays_shut(folder, policy, name, canary_port):
    """Under the learnt policy the canaries are as absent as before."""
    file = folder.parent / f"{folder.name}.yaml"
    file.write_text(policy)
    got = corral(folder, "run", "--policy", file, "--", "sh", "-c", f"cat {canary}; echo var=$CANARY; ls {home}")
    ok("sings" not in got.stdout and ".ssh" not in got.stdout, f"{name}: the canary file and variable stay denied", got.stdout + got.stderr)
    got = corral(folder, "run", "--policy", file, "--", "curl", "-sS", "-m", "10", f"http://127.0.0.1:{canary_port}/")
    ok("42" not in got.stdout and got.returncode != 0, f"{name}: and so does the canary host", got.stdout + got.stderr)


def test_programs(canary_port):
    work = project("make")
    (data / "include").mkdir(parents=True)
    (data / "include" / "x.h").write_text("#define X 0\n")
    (work / "a.c").write_text('#include "x.h"\nint main(void) { return X; }\n')
    (work / "Makefile").write_text(f"a: a.c\n\tgcc -I{data}/include -o a a.c && ./a\n")
    status, got, said = learn(work, "--", "make")
    ok(status == 0 and got["proven"] and entries(got["policy"]) == [f"{data}/include/**"], "make with gcc: the folder of its header, and no more",
       (got, said))
    ok(got["runs"] == 3 and got["rounds"] == 2 and sorted(os.listdir(work)) == ["Makefile", "a.c"],
       "it was run three times, each time from the same project, which is as it was", (got, os.listdir(work)))
    stays_shut(work, got["policy"], "make", canary_port)

    work = project("clone")
    repo = data / "repo"
    commit = ["git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(["git", "init", "-q", repo], env=env, check=True, capture_output=True)
    subprocess.run(commit, env=env, check=True, capture_output=True)
    status, got, said = learn(work, "--", "git", "clone", "-q", repo, "copy")
    ok(status == 0 and got["proven"] and entries(got["policy"]) == [f"{repo}/.git/**"], "git clone: the repository", (got, said))
    stays_shut(work, got["policy"], "git clone", canary_port)

    work = project("unittest")
    (data / "cases").mkdir()
    for name in ("one", "two"):
        (data / "cases" / f"{name}.txt").write_text("4\n")
    (work / "test_sum.py").write_text("import unittest\n\n\nclass Sum(unittest.TestCase):\n"
                                      f"    def test_one(self):\n        self.assertEqual(2 + 2, int(open('{data}/cases/one.txt').read()))\n\n"
                                      f"    def test_two(self):\n        self.assertEqual(2 + 2, int(open('{data}/cases/two.txt').read()))\n")
    status, got, said = learn(work, "--", "python3", "-m", "unittest", "-q")
    ok(status == 0 and sorted(entries(got["policy"])) == [f"{data}/cases/one.txt", f"{data}/cases/two.txt"], "unittest: the two files that it reads",
       (got, said))
    stays_shut(work, got["policy"], "unittest", canary_port)

    work = project("curl")
    port = serve()
    script = f"curl -sSf http://127.0.0.1:{port}/ | jq -e .answer"
    status, got, said = sh(work, f"set -e; a=$(curl -sSf http://127.0.0.1:{port}/); echo $a | jq -e .answer")
    ok(status == 1 and not got["proven"] and entries(got["policy"]) == [] and why(got, str(port)) == ["not agreed to: --net"],
       "a host that was not agreed to is reported as wanted, and not granted", (got, said))
    status, got, said = sh(work, script, "--net", "127.0.0.0/8")
    ok(status == 0 and got["proven"] and entries(got["policy"]) == [f'"127.0.0.1:{port}"'], "curl | jq: what was agreed to, as far as it was asked for",
       (got, said))
    stays_shut(work, got["policy"], "curl | jq", canary_port)


def test_secrets():
    work = project("probe")
    for name in (".ssh/id_ed25519", ".aws/credentials", ".config/corral/policy.d/x", ".local/share/corral/audit.db", ".npmrc", "notes.txt"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("sings\n")
    probes = f"cat {home}/.ssh/* {home}/.ssh/id_ed25519 {home}/.aws/credentials {home}/.local/share/corral/audit.db {home}/.config/corral/policy.d/x"
    status, got, said = sh(work, f"{probes}; ls {home} / /home {home}/.config; curl -m 5 http://169.254.169.254/latest; cat {home}/missing/x; exit 1",
                           "--yes", "--net", "*:443", "--net", "*:80")
    ok(status == 1 and entries(got["policy"]) == [], "secrets, own state, metadata, the home, a missing file's folder: none is learnt", (got, said))
    for name in (".ssh", ".aws", "corral", "169.254"):
        reasons = why(got, name)
        ok(reasons and all(reasons) and not any("not agreed" in r or r == "not needed" for r in reasons), f"{name}: why", (reasons, got))
    ok(not why(got, "missing"), "what the host lacks is not even seen", got)
    status, got, said = sh(work, f"cat {home}/notes.txt && cat {home}/.ssh/id_ed25519")
    ok(status == 1 and entries(got["policy"]) == ["~/notes.txt"], "an ordinary file is learnt, the secret beside it stays a reason to fail", (got, said))


def test_links():
    work = project("links")
    target = data / "diary"
    target.write_text("sings\n")
    (work / "link").symlink_to(target)
    (work / "folder").symlink_to(scratch / "other")
    status, got, said = sh(work, "cat link && cat folder/canary", "--yes")
    ok(status == 1 and entries(got["policy"]) == [] and set(why(got, "diary")) == {"by a link that a command could have made: --read, by its target"},
       "a link of the project that leads outside grants nothing", (got, said))
    status, got, said = sh(work, "cat link", "--read", target)
    ok(status == 0 and entries(got["policy"]) == [str(target)], "unless its target is named", (got, said))


def test_program_itself():
    """The command is a program that the profile does not have: it is read, and no list of programs begins that would forbid the others."""
    work = project("itself")
    tool = data / "tool" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\ngit --version && /usr/bin/env true\n")
    tool.chmod(0o755)
    status, got, said = learn(work, "--", tool)
    ok(status == 0 and entries(got["policy"]) == [str(tool)] and "exec:" not in got["policy"], "a tool outside of the profile: it is read", (got, said))
    ok("To allow it" not in said and "fd:" not in said, "and no round says how to allow what the next one does", said)
    # A virtual environment: its interpreter is a link to the system's, and pyvenv.cfg says what the folder is.
    venv = data / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True, capture_output=True)
    status, got, said = learn(work, "--", venv / "bin" / "python3", "-c", "import sys; sys.exit(sys.prefix == sys.base_prefix)")
    ok(status == 0 and entries(got["policy"]) == [f"{venv}/**"], "a virtual environment is one line", (got, said))
    # What the link leads to is granted; were it another file later, the policy would not grant that.
    link = data / "tool" / "git"
    link.symlink_to("/usr/bin/git")
    status, got, said = learn(work, "--", link, "--version")
    ok(status == 0 and entries(got["policy"]) == [str(link)], "a link to what is granted anyway is learnt", (got, said))
    (work / "p.yaml").write_text(got["policy"])
    link.unlink()
    link.symlink_to(canary)
    seen = corral(work, "run", "--policy", "p.yaml", "--", "cat", link)
    ok(seen.returncode != 0 and "sings" not in seen.stdout, "and grants nothing once it leads elsewhere", (seen.stdout, seen.stderr))


def test_names():
    work = project("names")
    folder = data / "names"
    folder.mkdir()
    for number_, name in enumerate(("a*b", "[ab]{c,d}", "two\nlines", "x\u202egpj.exe", "$HOME", "back\\slash", '"quoted" # no comment', "- a: b")):
        path = folder / str(number_) / name
        path.parent.mkdir()
        path.write_text("fine\n")
        # Files that the name would match were it a pattern.
        for other in ("aXb", "ac", "back"):
            (path.parent / other).write_text("sings\n")
        status, got, said = learn(work, "--", "cat", path)
        one = entries(got["policy"])
        ok(status == 0 and len(one) == 1 and "\u202e" not in got["policy"], f"{name!r}: one line", (got, said))
        file = work / "names.yaml"
        file.write_text(got["policy"])
        seen = corral(work, "run", "--policy", file, "--", "sh", "-c", f"cat {folder}/{number_}/*")
        ok("fine" in seen.stdout and "sings" not in seen.stdout, f"{name!r}: it means exactly that file", (seen.stdout, seen.stderr, got["policy"]))
    raw = os.fsencode(folder) + b"/\xff\xfe"
    with open(raw, "w", encoding="utf-8") as out:
        out.write("fine\n")
    status, got, said = sh(work, f"cat {folder}/$(printf '\\377\\376')")
    ok(status == 1 and entries(got["policy"]) == [] and "no policy can name it" in [row["not_granted"] for row in got["seen"]],
       "a name that is no UTF-8 is reported, and not granted", (got, said))


def test_floods():
    work = project("flood")
    many = data / "many"
    # More than one run keeps.
    for folder in range(60):
        (many / f"d{folder}").mkdir(parents=True)
    for i in range(2400):
        (many / f"d{i % 60}" / f"{i}").touch()
    # And names that do not exist: of those nothing is kept.
    read = f"import os\nfor i in range(20000): os.access('{many}/none' + str(i), os.R_OK)\n"
    status, got, said = learn(work, "--", "python3", "-c", read + "bad = 0\nfor i in range(2400):\n try:\n  "
                              f"open(f'{many}/d{{i % 60}}/{{i}}').read()\n except OSError:\n  bad = 1\nraise SystemExit(bad)")
    ok(status == 0 and entries(got["policy"]) == [f"{many}/**"], "a command that asks for thousands of files: one line", (got["policy"], said[-2000:]))
    # As many host names as it likes: none is granted, and the list ends.
    ask = "import socket\nfor i in range(300):\n try:\n  socket.create_connection((f'h{i}.example.com', 80), 2)\n except OSError:\n  pass\nraise SystemExit(1)"
    status, got, said = learn(work, "--rounds", "1", "--", "python3", "-c", ask)
    ok(status == 1 and entries(got["policy"]) == [] and 200 < len(got["seen"]) <= 4096, "and hosts", said[-2000:])


def test_changing():
    """What passes once and not again is not written."""
    work = project("changing")
    state = work / "count"
    state.write_text("0\n")
    status, got, said = sh(work, "n=$(cat count); echo $((n + 1)) >count; test $((n % 2)) = 0", "--in-place", "--rounds", "2", "-o", "p.yaml")
    ok(status == 1 and not got["proven"] and not (work / "p.yaml").exists(), "a command that passes only the first time: not proven, not written",
       (got, said))
    ok("behaves differently" in said, "and that is said", said)
    state.write_text("0\n")
    status, got, said = sh(work, "n=$(cat count); echo $((n + 1)) >count; test $n = 0")
    ok(status == 0 and got["proven"] and state.read_text() == "0\n", "kept apart, each run begins with the same project", (got, said))
    status, got, said = sh(work, "exit 3", "--status", "3")
    ok(status == 0 and got["proven"], "another status may be the success", (got, said))


def test_writes():
    work = project("writes")
    out = data / "out"
    out.mkdir()
    status, got, said = sh(work, f"echo x >{out}/new", "--yes")
    ok(status == 1 and entries(got["policy"]) == [] and why(got, str(out)) == ["writes outside the project: --write"] and not os.listdir(out),
       "a write outside the project is not learnt, and did not happen", (got, said))
    status, got, said = sh(work, f"echo x >{out}/new", "--write", out)
    ok(status == 0 and entries(got["policy"]) == [f"{out}/**"], "named with --write it is", (got, said))
    status, got, said = sh(work, "mkdir -p .git/hooks; echo x >.git/hooks/post-commit", "--yes")
    ok(entries(got["policy"]) == [], "files that other programs run later are not learnt", (got, said))


def test_beside_hosts():
    """A file that is read can leave by a host that is granted: then files need an answer."""
    work = project("beside")
    port = serve()
    script = f"set -e; a=$(curl -sSf http://127.0.0.1:{port}/); cat {home}/notes.txt"
    status, got, said = sh(work, script, "--net", f"127.0.0.1:{port}")
    ok(status == 1 and "~/notes.txt" not in got["policy"] and why(got, "notes.txt") == ["not agreed to: --read"],
       "files are not learnt by themselves beside a host", (got, said))
    for option in (["--yes"], ["--read", str(home / "notes.txt")]):
        status, got, said = sh(work, script, "--net", f"127.0.0.1:{port}", *option)
        ok(status == 0 and "~/notes.txt" in entries(got["policy"]), f"with {option[0]} they are", (got, said))


def test_beside_hosts_later():
    """The same where the command asks for the file first, and for the host when it has that."""
    work = project("later")
    (home / "tax.txt").write_text("sings\n")
    port = serve()
    script = f"set -e; a=$(cat {home}/tax.txt); curl -sSf http://127.0.0.1:{port}/?$a"
    status, got, said = sh(work, script, "--net", f"127.0.0.1:{port}")
    ok(status == 1 and entries(got["policy"]) == [] and why(got, "tax.txt") == ["not agreed to: --read"],
       "a host that --net names counts before it is asked for", (got, said))
    status, got, said = sh(work, script, "--net", f"127.0.0.1:{port}", "--read", str(home / "tax.txt"))
    ok(status == 0 and len(entries(got["policy"])) == 2, "with --read both are granted", (got, said))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(work)
        os.execve(CORRAL, [CORRAL, "learn", "--", "sh", "-c", script], env)
    said = b""
    while (piece := read_terminal(terminal)) and len(said) < 1 << 20:
        said += piece
        if said.endswith(b"[y/N] "):
            os.write(terminal, b"n\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    ok(b"could be sent there: " in said and b"tax.txt\r\ncorral: let it connect to 127.0.0.1" in said and os.waitstatus_to_exitcode(status) == 1,
       "the question about a host names the files that were granted by themselves", said.decode(errors="replace"))


def read_terminal(fd):
    """What is there; b"" at the end, or after too long."""
    if not select.select([fd], [], [], SECONDS)[0]:
        return b""
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


def apart(word):
    """The folder of the round that wrote this word."""
    for path in pathlib.Path("/var/tmp").glob("corral-learn-??????"):
        try:
            if (path / "upper" / "kept").read_text() == word + "\n":
                return path
        except OSError:  # another one's, or gone meanwhile
            continue
    return scratch / "no-such-folder"


def begin_round(work, word):
    """A learn whose round has written the word, and goes on; and the folder of the round."""
    run = subprocess.Popen([CORRAL, "learn", "--", "sh", "-c", f"echo {word} >kept; echo ready; exec sleep 1000"], cwd=work, env=env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in run.stderr:
        if line == "ready\n":
            break
    return run, apart(word)


def test_killed():
    """What a killed learn leaves is removed by the next one; what another one uses is not."""
    work = project("killed")
    runs = [begin_round(work, f"{scratch.name}-{i}") for i in range(2)]
    ok(all(folder.exists() for _, folder in runs), "two rounds write into folders of their own", runs)
    for i, (run, folder) in enumerate(runs):
        run.terminate()
        run.wait(timeout=SECONDS)
        run.stderr.read()  # which ends when the round has ended
        status, _, said = learn(work, "--", "true")
        ok(status == 0 and not folder.exists(), "the folder of a killed learn is removed by the next one", said)
        ok(i == 1 or (runs[1][1] / "upper" / "kept").exists(), "but none that is in use", runs)


def test_file():
    work = project("file")
    for name in ("one", "two"):
        (data / name).write_text("x\n")
    got = corral(work, "learn", "-o", "p.yaml", "--", "cat", data / "one")
    first = (work / "p.yaml").read_text()
    ok(got.returncode == 0 and got.stdout == "" and entries(first) == [f"{data}/one"], "a new file is written", got.stderr)
    first = first.replace("extends:", "# my own words\nextends:")
    (work / "p.yaml").write_text(first)
    got = corral(work, "learn", "-o", "p.yaml", "--", "cat", data / "one")
    ok(got.returncode == 0 and "is enough as it is" in got.stderr and (work / "p.yaml").read_text() == first, "one that is enough stays as it is",
       got.stderr)
    got = corral(work, "learn", "-o", "p.yaml", "--", "cat", data / "two")
    ok(got.returncode == 1 and f"+     - {data}/two" in got.stderr and "--yes" in got.stderr and (work / "p.yaml").read_text() == first,
       "what would be added is shown, and not written unasked", got.stderr)
    got = corral(work, "learn", "-y", "-o", "p.yaml", "--", "cat", data / "two")
    after = (work / "p.yaml").read_text()
    ok(got.returncode == 0 and "# my own words\n" in after and sorted(entries(after)) == [f"{data}/one", f"{data}/two"],
       "with --yes it is; what a person wrote stays", (got.stderr, after))
    (work / "q.yaml").write_text(f"extends: workspace\nfs: {{read: [{data}/one]}}\n")
    got = corral(work, "learn", "-y", "-o", "q.yaml", "--", "cat", data / "two")
    ok(got.returncode == 2 and "by hand" in got.stderr, "a file that is written otherwise is refused, with the line", got.stderr)
    got = corral(work, "learn", "--env", "CANARY", "--", "sh", "-c", 'test "$CANARY" = sings')
    ok(got.returncode == 0 and entries(got.stdout) == ['"CANARY"'], "a variable is granted by its name alone", got.stdout + got.stderr)


def test_usage():
    work = project("usage")
    got = corral(work, "learn")
    ok(got.returncode == 2 and "no command was given" in got.stderr, "no command", got.stderr)
    got = corral(work, "learn", "--", "no-such-program")
    ok(got.returncode == 1 and "not found" in got.stderr, "no such program", got.stderr)
    # What would fail in the end is refused before the command has run.
    (work / "corral.yaml").write_text("version: 1\n")
    for where, words, what in ((work, ["-o", "none/p.yaml"], "mkdir -p none"), (work, ["-o", "corral.yaml"], "a project's file"),
                               (work, ["--profile", "none"], "unknown profile `none`"), (home, [], "it is your home")):
        got = corral(where, "learn", *words, "--", "sh", "-c", "echo it has run")
        ok(got.returncode == 2 and what in got.stderr and "it has run" not in got.stderr and "fd:" not in got.stderr, f"{what}: before it runs", got.stderr)
    (work / "none").mkdir()
    got = corral(work, "learn", "-o", "none/p.yaml", "--", "true")
    ok(got.returncode == 0 and (work / "none" / "p.yaml").exists(), "mkdir helps", got.stderr)
    got = corral(work, "learn", "--output", "policy.yaml", "--", "true")
    ok(got.returncode == 0 and (work / "policy.yaml").exists() and (work / "corral.yaml").read_text() == "version: 1\n", "and so does another name", got.stderr)
    got = corral(work, "learn", "--", "false")
    ok(got.returncode == 1 and f"{work}/corral.yaml is not used" in got.stderr and "for another reason" in got.stderr and "(status 1, run 1 time)" in got.stderr,
       "that the project's file is not used, and that it fails for another reason, is said", got.stderr)
    (work / "corral.yaml").unlink()
    got = corral(work, "learn", "--", "true")
    ok(got.returncode == 0 and entries(got.stdout) == [] and "extends: workspace" in got.stdout, "nothing to learn: the profile alone", got.stdout)


def main():
    try:
        home.mkdir()
        data.mkdir()
        canary.parent.mkdir()
        canary.write_text("sings\n")
        test_programs(serve())
        for test in (test_secrets, test_links, test_program_itself, test_names, test_floods, test_changing, test_writes, test_beside_hosts, test_beside_hosts_later,
                     test_killed, test_file, test_usage):
            test()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{number}")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
