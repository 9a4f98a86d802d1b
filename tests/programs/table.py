# SPDX-License-Identifier: Apache-2.0
"""The rows of the table: programs that people and agents use every day, and what each needs.

A row is run in a copy of scene/, bare and inside, by run.py, which explains what has to hold. In
options and commands {ws} is that folder, {home} the home, {out} a folder outside of both, {policy}
one with policies. A text is a script for bash; a list is a program with its arguments.
"""

import collections

Row = collections.namedtuple(
    "Row",
    [
        "name",
        "run",
        "needs",  # programs, apart from bash and what POSIX has
        "options",  # of `corral run`; none is the profile workspace
        "see",  # all of these are in standard output
        "status",
        "same",  # status and both outputs are those of the bare run
        "says",  # where they are not: all of these are in standard error, which else is empty
        "tty",  # on a terminal
        "caller",  # with the home and PATH of whoever runs the test
        "env",  # variables that differ
        "place",  # where it starts: the folder of that name in it; `repository`: it is one of git
        "repositories",  # that it makes, of which Corral tells: a line each, and nothing else
        "keep",  # a folder in {ws} that the bare run gets from the one inside, which comes first then
    ],
    defaults=((), (), (), 0, True, (), False, False, {}, "", (), ""),
)

GIT = """
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
set -e
"""
GIT_NEW = GIT + """git init -q -b main repo && cd repo
echo one >a && git add a && git commit -q -m first
"""

# Between apostrophes, in a script for bash.
TLS = """
import socket, ssl, threading
here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
here.load_cert_chain("c", "k")
server = here.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
there = ssl.create_default_context(cafile="c")
with socket.create_connection(server.getsockname()) as plain:
    with there.wrap_socket(plain, server_hostname="localhost") as client:
        print(client.recv(5).decode())
print(len(ssl.create_default_context().get_ca_certs()) > 0)
"""

SHELLS = [
    Row("bash: a script with pipes, here-documents, substitution, coprocess, traps",
        ["bash/script.sh"],
        see=["here: 42", "APPLE", "substitution: same", "coproc", "trap: TERM",
             "job control: off", "fd 7"]),
    Row("bash: a script whose first line is env -S", ["bash/other.sh", "a", "b c"],
        see=["other: bash/other.sh a b c"]),
    Row("bash: a login shell says nothing", ["bash", "-lc", "echo in"], see=["in\n"]),
    Row("sh: its status is the command's", ["sh", "-c", "exit 42"], status=42),
    Row("sh: a signal that ends it is told", ["sh", "-c", "kill -TERM $$"], status=143),
    Row("sh: what is not there is not found", "no-such-program; echo $?", see=["127"]),
    Row("the user is the same inside, by number, name and HOME",
        'id -u; id -g; id -un; echo "$HOME" ~; stat -c %u .; [ "$(id -un)" = "$USER" ] && '
        '[ "$USER" = "$LOGNAME" ]'),
    Row("USER is the user's name, also where the caller had none",
        '[ "$(id -un)" = "$USER" ] && [ "$USER" = "$LOGNAME" ]',
        env={"USER": None, "LOGNAME": None}, same=False),
    Row("HOME and TMPDIR can be written",
        'echo a >"$HOME/a" && cat "$HOME/a" && f=$(mktemp) && rm "$f" "$HOME/a" && echo temp',
        see=["temp"]),
    Row("TMPDIR of the caller does no harm", 'f=$(mktemp) && [ -f "$f" ]', env={"TMPDIR": "{out}"},
        same=False),
    Row("/dev has what is usual", r"""
head -c 3 /dev/zero | od -An -tx1
[ "$(head -c 9 /dev/urandom | wc -c)" = 9 ] && echo full >/dev/full
(echo to stderr >/dev/stderr) 2>&1 >/dev/null | cat; (echo to stdout >/dev/stdout) | cat
echo from stdin | cat /dev/stdin; echo from fd 3 | cat /dev/fd/3 3<&0
[ -w /dev/shm ] && [ -e /dev/ptmx ] && [ -c /dev/null ] && [ -c /dev/tty ] && echo all
""", see=["00 00 00", "to stderr", "to stdout", "from stdin", "from fd 3", "all"]),
    Row("limits, mask, priority and signals are the caller's",
        # Of the C library's own signals (32, 33) a command always has the default. Of what is counted for a user it has a part.
        "ulimit -Sa | grep -v 'open files\\|pending signals\\|POSIX message queues'; umask; nice; while read -r name mask; do case $name in Sig[BI]*)"
        ' echo "$name $((0x$mask & 0x7fffffff))";; esac; done </proc/self/status',
        options=["--limits", "none"]),
    Row("all limits but that of processes are the caller's",
        "ulimit -Sa | grep -v 'max user processes\\|open files\\|pending signals\\|POSIX message queues'"),
    Row("variables that tools go by are passed on, others are not",
        'echo "$RUSTUP_HOME $PYTHONUNBUFFERED $NO_COLOR $LC_TIME ${SECRET_TOKEN-none}"', same=False,
        env={"RUSTUP_HOME": "/r", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "LC_TIME": "C",
             "SECRET_TOKEN": "x"}, see=["/r 1 1 C none"]),
    Row("links, modes, times, pipes, locks, sparse and big files", r"""
cd text && umask 022 && echo x >a && ln -s a l && ln a h && readlink l && stat -c '%h %a %u' a
chmod 600 a && touch -d @0 a && stat -c '%a %Y' a && chown "$(id -u):$(id -g)" a && mkfifo f
echo through >f & cat f && wait && truncate -s 1M s && cp --reflink=auto --sparse=always s u
mv s v && install -m 755 a b && mkdir -p d/e && mv d g && cp -a g i && rmdir g/e && ls -1 && sync
dd if=/dev/zero of=z bs=1k count=3 status=none && wc -c <z && sha256sum z && du -b z && rm -r g
[ ! -w /usr ] || [ "$(id -u)" = 0 ] && ! touch /usr/x 2>/dev/null && echo kept
""", see=["2 644", "600 0", "through", "3072", "kept"], same=False),
    Row("timeout, nohup, setsid, flock, pkill, pgrep", r"""
timeout 0.1 sleep 30; echo $?; nohup echo n 2>/dev/null; setsid -w sh -c 'echo s'
flock text/old echo l
sleep 30 & until pkill -P $$ sleep; do :; done; wait $! 2>/dev/null; echo $?; nice -n 5 nice; env -i /bin/echo e
""", needs=["setsid", "flock", "pkill"], see=["124", "143"]),
    Row("ps shows what is inside and nothing else", "ps -e -o comm= | sort -u", needs=["ps"],
        see=["bash\n", "ps\n"], same=False),
    Row("a reader that leaves early",
        "yes | head -n 1; echo ${PIPESTATUS[@]}; seq 99999 | head -n 1",
        see=["y\n141 0\n1\n"]),
    Row("sudo that is not there, or cannot help, says so",
        "sudo -n true 2>err || [ -s err ] && echo said", see=["said"], same=False),
]

TEXT = [
    Row("sed, awk, grep, sort, uniq, cut, tr",
        "sed -i.bak s/pear/plum/ text/fruit && awk '{ n += $2 } END { print n }' text/fruit && "
        "grep -c . text/fruit && sort -k2 -n text/fruit | cut -d' ' -f1 | tr a-z A-Z | uniq | "
        "paste -sd, ", see=["6", "APPLE,FIG,PLUM"]),
    Row("find and xargs",
        "find . -name '*.c' -print0 | sort -z | xargs -0 -n1 -P2 basename | sort && "
        "find text -type f -exec wc -c {} + | tail -1", see=["greet.c", "total"]),
    Row("grep -r and ls -R", "grep -rl SPDX . | wc -l && ls -R | wc -l"),
    Row("tar and gzip",
        "tar czf a.tgz text && tar tzf a.tgz | sort && mkdir x && tar xzf a.tgz -C x && "
        "diff -r text x/text && gzip -c text/old | gunzip", see=["text/fruit", "three"]),
    Row("xz, bzip2, zstd", "for p in xz bzip2 zstd; do $p -qc text/old | $p -dc; done",
        needs=["xz", "bzip2", "zstd"], see=["two"]),
    Row("zip and unzip", "zip -q a.zip text/* && unzip -Z1 a.zip && unzip -p a.zip text/old",
        needs=["zip", "unzip"], see=["two"]),
    Row("diff and patch",
        "diff -u --label a --label b text/old text/new >p; echo $?; patch -s text/old p && "
        "cmp text/old text/new && echo patched", needs=["patch"], see=["patched"]),
    Row("perl: no complaint about locales",
        ["perl", "-MPOSIX", "-MFile::Temp", "-e",
         'print uc("perl"), " ", strftime("%Y", gmtime 0), "\\n"; print `echo child`'],
        needs=["perl"], see=["PERL 1970", "child"]),
    Row("perl: with a language of the caller", ["perl", "-e", 'print "quiet\\n"'], needs=["perl"],
        env={"LANG": "C.UTF-8", "LC_ALL": "C"}, see=["quiet"]),
    Row("jq", "jq -c .a[2] text/data.json && jq -rn '[1,2]|@csv' && ! jq . text/fruit 2>/dev/null",
        needs=["jq"], see=['{"b":"ä"}', "1,2"]),
    Row("sqlite3",
        "sqlite3 made.db 'create table t(a); insert into t values (7); select a*6 from t'",
        needs=["sqlite3"], see=["42"]),
    Row("less and more, in a pipe", "less text/fruit && PAGER=less && more text/old",
        needs=["less", "more"], see=["apple", "two"]),
    Row("vim -es", "vim -Nu NONE -es -c '%s/two/2/' -c wq text/old; cat text/old", needs=["vim"],
        see=["2"]),
    Row("ed", "printf '2s/two/2/\\nw\\nq\\n' | ed -s text/old; cat text/old", needs=["ed"],
        see=["2"]),
    Row("rg", "rg -l --sort path SPDX && rg -c two text", needs=["rg"], see=["project/main.c"]),
    Row("date knows the time zone, bc and seq count",
        "TZ=Europe/Berlin date -d @0 +%H:%M && seq -s+ 4 | bc", needs=["bc"], see=["01:00", "10"]),
    Row("file", ["file", "-b", "text/data.json"], needs=["file"], see=["JSON"]),
    Row("locale: nothing is missing", "locale 2>&1 | head -n 3 && locale charmap",
        needs=["locale"], see=["UTF-8"]),
]

CODE = [
    Row("python3: processes, threads, files, sqlite, sockets, ssl", ["python3", "python/many.py"],
        needs=["python3"],
        see=["pool: [0, 1, 4", "spawn: [0, 1, 4]", "shared memory: 42", "sqlite: 285",
             "socket: 127.0.0.1 HELLO", "ssl: CERT_REQUIRED", "ä"]),
    Row("python3: a venv without pip",
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; "
        "print(sys.prefix != sys.base_prefix)' && . v/bin/activate && command -v python",
        needs=["python3"], see=["True", "/v/bin/python"]),
    Row("python3: a traceback, status 1", "python3 -c 'raise ValueError(1)'", needs=["python3"],
        status=1),
    Row("python3: found in the home by PATH, as pyenv does it", ["kit", "one"], needs=["python3"],
        see=["kit: one", "from its library"]),
    Row("python3: the caller's own",
        ["python3", "-c",
         "import sys, ssl, sqlite3, ctypes, subprocess; print(sys.executable); "
         "print(subprocess.check_output(['echo', 'child']))"], needs=["python3"], caller=True,
        see=["child"]),
    Row("pip: the caller's own", ["pip", "--version"], needs=["pip"], caller=True, see=["pip "]),
    Row("node: files, children, workers, http, sockets, crypto", ["node", "node/many.js"],
        needs=["node"],
        see=["fork: from a child", "worker: from a thread", "http: 200 you asked for /page",
             "unix: by a socket", "watch: seen", "sign: true", "cpus: true true"]),
    Row("npm: pack, install a tarball and a file: dependency offline, run scripts",
        "set -e; cd npm/words && npm pack --silent && cd ../app && "
        "npm install --offline --silent ../words/words-1.2.3.tgz && npm run --silent start && "
        "npm ls && rm -r node_modules && npm ci --offline --silent && cat postinstall.txt && "
        "npx --offline say && npm install --offline --silent --install-links=false file:../words && "
        "npm run --silent say && readlink node_modules/words", needs=["node", "npm"],
        options=["--env", "npm_config_cache"], env={"npm_config_cache": "{ws}/cache"},
        see=["words-1.2.3.tgz", "words from a package", "done", "words@1.2.3", "../../words"]),
    Row("npm: its cache is private without a grant",
        "cd npm/app && npm install --offline --silent ../words && npm config get cache",
        needs=["npm"], see=["/.npm"]),
    Row("gcc and make: a project, its tests, again, clean",
        "cd project && make --no-print-directory && ./hello && make --no-print-directory && "
        "make -s check && make -s -j2 libgreet.so && make -s clean && ls", needs=["gcc", "make"],
        see=["hello, project", "sum 15 root 4.0", "passed", "is up to date"]),
    Row("gcc: an error is its own",
        "cd project && echo 'int main(void) { return x; }' >bad.c && gcc bad.c", needs=["gcc"],
        status=1),
    Row("g++: threads, exceptions", "g++ -o t project/thread.cc -pthread && ./t", needs=["g++"],
        status=3, see=["from a thread"]),
    Row("gcc -fsanitize=address",
        "cd project && gcc -fsanitize=address -o h main.c greet.c sum.c -lm && "
        "ASAN_OPTIONS=detect_leaks=0 ./h", needs=["gcc"], see=["sum 15"]),
    Row("clang", "cd project && clang -o h main.c greet.c sum.c -lm && ./h", needs=["clang"],
        see=["sum 15"]),
    Row("cmake and ninja",
        "printf 'cmake_minimum_required(VERSION 3.13)\\nproject(p C)\\nadd_executable(h main.c "
        "greet.c sum.c)\\ntarget_link_libraries(h m)\\n' >project/CMakeLists.txt && "
        "cmake -S project -B b -G Ninja >log && ninja -C b >>log && b/h",
        needs=["cmake", "ninja", "gcc"], see=["sum 15"]),
    Row("java and javac", "javac -d . java/Hello.java && java -cp . Hello",
        needs=["java", "javac"], status=5, see=["from a thread", "from a child"]),
    Row("rustc and cargo: the caller's own",
        "rustc -o h rust/main.rs && ./h && mkdir p && cd p && "
        "cargo init -q --name p --vcs none && cargo build -q --offline && cargo run -q --offline",
        needs=["rustc", "cargo"], options=["--read", "~/.rustup", "--env", "CARGO_HOME"],
        env={"CARGO_HOME": "{ws}/cargo"}, caller=True, see=["hello, 42", "Hello, world!"]),
    Row("go: the caller's own",
        "printf 'package main\\nfunc main() { println(\"hello\") }\\n' >m.go && go run m.go",
        needs=["go"], options=["--env", "GOCACHE", "--env", "GOPATH"],
        env={"GOCACHE": "{ws}/cache", "GOPATH": "{ws}/go"}, caller=True, keep="cache"),
    Row("strace and gdb do not work inside (docs/syscalls.md), and say so",
        "strace true || gdb -batch -nx -ex run true", needs=["strace", "gdb"], status=1,
        same=False, says=["Operation not permitted", "Could not trace"]),
]

GITS = [
    Row("git: commit, branch, merge, log, status, stash, gc, worktree", GIT_NEW + """
git switch -q -c side && echo two >b && git add b && git commit -q -m second && git switch -q main
echo three >c && git add c && git commit -q -m third
git merge -q --no-edit side && git log --oneline --graph
echo dirty >>a && git status --short && git stash -q && git stash pop -q
git diff --stat && git restore a
git gc -q && git fsck --no-progress && git count-objects -v | grep in-pack
git worktree add -q ../tree side && git worktree list
git -C ../tree rev-parse HEAD && git worktree remove ../tree
git tag v1 && git describe --tags && git rebase -q side && git log -1 --format=%an
git archive HEAD | tar t && git grep -c one
""", needs=["git"], see=["Merge branch 'side'", " M a", "in-pack:", "v1"], repositories=["repo/.git"]),
    Row("git: a merge that conflicts", GIT_NEW + """
git switch -q -c side && echo 2 >a && git commit -qam 2
git switch -q main && echo 3 >a && git commit -qam 3
git merge side || { git status --short && git merge --abort && cat a; }
""", needs=["git"], see=["CONFLICT", "UU a"], repositories=["repo/.git"]),
    Row("git: clone by path and by file://, push, fetch", GIT_NEW + """
cd .. && git clone -q repo one && git clone -q "file://$PWD/repo" two && git -C two log --format=%s
git clone -q --bare repo bare && cd one && git remote add bare ../bare
echo 4 >d && git add d && git commit -q -m four && git push -q bare main
cd ../two && git fetch -q ../bare main && git log --format=%s FETCH_HEAD
git pull -q ../bare main && ls
git clone -q --depth 1 "file://$PWD/../bare" ../shallow && git -C ../shallow rev-list --count HEAD
""", needs=["git"], see=["first", "four"],
        repositories=["repo/.git", "one/.git", "two/.git", "bare", "shallow/.git"]),
    Row("git: clone of a repository outside",
        GIT + """git clone -q {out}/origin one && git clone -q file://{out}/origin two
git -C one log --format=%s && git -C two status -sb""",
        needs=["git"], options=["--read", "{out}/origin"],
        see=["from outside", "## main...origin/main"], repositories=["one/.git", "two/.git"]),
    Row("git: what was not granted is not there", "git clone -q {out}/origin one", needs=["git"],
        status=128, same=False, says=["does not exist"]),
    Row("git: with the user's own settings",
        "git init -q && git commit -q --allow-empty -m x && git log --format='%an <%ae>' && "
        "git config --global alias.last && git branch --show-current", needs=["git"],
        options=["--read", "~/.gitconfig", "--work-dir", "{ws}/text"], place="text",
        see=["Someone <someone@example.org>", "trunk"], same=False, says=["review it first"]),
    Row("git: without the user's settings it asks for a name, as it does everywhere",
        GIT_NEW + "unset ${!GIT_@}; git commit -q --allow-empty -m x", needs=["git"], status=128,
        same=False, says=["Please tell me who you are"]),
    Row("git: in a repository that is the working folder",
        GIT + """git add -A && git commit -q -m all && git log --format=%s
git branch new && git checkout -q new && git gc -q && git status --short""",
        needs=["git"], place="repository", see=["all", "start"]),
    Row("git: its configuration there is not written, unless granted by name",
        "git config user.name B; git config user.name || echo none", needs=["git"],
        place="repository", see=["none"], same=False, says=["could not write config file"]),
    Row("git: its configuration, granted by name", "git config user.name B; git config user.name",
        needs=["git"], options=["--write", ".git/config"], place="repository", see=["B"]),
]

NET = [
    Row("curl: a server in the same sandbox (hosts outside come with --net)",
        ["python3", "curl/serve.py", "sh", "-c",
         "u=http://127.0.0.1:$PORT; curl -sS $u/page && curl -sS -d text $u/ && "
         "curl -sSf $u/none -o /dev/null; echo $?; curl -sS http://localhost:$PORT/name; "
         "curl -sS --compressed -L -o f $u/file && cat f; "
         "curl -sS -w '%{http_code}\\n' -o /dev/null $u/none"], needs=["python3", "curl"],
        see=["you asked for /page", "you sent text", "22", "you asked for /name", "404"]),
    Row("curl: what is in the folder can be had by file://", "curl -sS file://$PWD/text/old",
        needs=["curl"], see=["two"]),
    Row("curl: what was not granted cannot, by file:// either",
        "curl -sS file://{out}/secret; echo $?; curl -s file://{home}/.gitconfig; echo $?",
        needs=["curl"], see=["37\n37\n"], same=False, says=["open file {out}/secret"]),
    Row("wget",
        ["python3", "curl/serve.py", "sh", "-c", "wget -q -O - http://127.0.0.1:$PORT/page"],
        needs=["python3", "wget"], see=["you asked for /page"]),
    Row("ssh-keygen and ssh -V",
        "ssh-keygen -q -t ed25519 -N '' -C c -f key && ssh-keygen -l -f key.pub | "
        "cut -d' ' -f1,3- && ssh -V 2>/dev/null && echo v", needs=["ssh-keygen", "ssh"],
        see=["256 c (ED25519)"]),
    Row("openssl",
        "openssl rand 4 | wc -c && printf abc | openssl sha256 -r && "
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 1 -subj /CN=x "
        "2>/dev/null && openssl verify -CAfile c c", needs=["openssl"], see=["ba7816bf", "c: OK"]),
    Row("python3: TLS with itself, and the certificates of authorities are there",
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c "
        "-days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null && "
        f"python3 -c '{TLS}'", needs=["openssl", "python3"], see=["hello", "True"]),
    Row("tmux: a server, keys, what the screen shows", r"""
export TMUX_TMPDIR=$TMPDIR
tmux -f /dev/null new-session -d -s s -x 80 -y 24 'exec sh'
tmux send-keys -t s 'echo a$((1+1))b; stty size' Enter
for i in $(seq 1200); do tmux capture-pane -p -t s | grep -q '24 80' && break; sleep 0.05; done
tmux capture-pane -p -t s | grep -o -e a2b -e '24 80'
tmux list-sessions -F '#S #{session_windows}'; tmux kill-server; echo $?
""", needs=["tmux"], see=["a2b", "24 80", "s 1", "0"]),
    Row("script: a terminal inside",
        "script -qec 'stty size; tty' /dev/null </dev/null | grep -c /dev/pts/", needs=["script"],
        see=["1"]),
]

TERMINAL = [
    Row("terminal: size, name, colours",
        "tty | sed 's/[0-9]//'; stty size; echo $TERM; tput cols; ls --color=auto -d text; "
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all", needs=["tput"], tty=True,
        see=["/dev/pts/", "24 80", "xterm", "\x1b[0m", "all"]),
    Row("terminal: git has colours and no pager in a short answer",
        GIT_NEW + "export GIT_PAGER=cat; echo >>a; git status --short; git log --oneline",
        needs=["git"], tty=True, see=["\x1b["], repositories=["repo/.git"]),
    Row("terminal: python3, less and vim know it",
        "python3 -c 'import os; print(os.get_terminal_size(), os.isatty(0))'; less -FX text/old; "
        "vim -Nu NONE -c 'qa!' >/dev/null; echo $?", needs=["python3", "less", "vim"], tty=True,
        see=["columns=80, lines=24", "True", "two"]),
    Row("terminal: bash -i has job control and says nothing",
        ["bash", "--norc", "--noprofile", "-ic",
         "(sleep 0 & wait; sh -c 'exit 3'; echo $?); [[ $- == *m* ]] && echo control"], tty=True,
        see=["3", "control"]),
]

# A list of programs: nothing else runs. The folder and the system may be read, the folder written.
LIST = ["--policy", "{policy}/list.yaml"]
LISTED = [
    Row("list: git alone clones and commits", ["git", "clone", "-q", "{out}/origin", "one"],
        needs=["git"], options=[*LIST, "--exec", "git", "--read", "{out}/origin"]),
    Row("list: git alone commits",
        ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-q",
         "-m", "new"], needs=["git"], options=[*LIST, "--exec", "git"], place="repository"),
    Row("list: git alone, file:// needs upload-pack",
        ["git", "clone", "-q", "file://{out}/origin", "one"], needs=["git"],
        options=[*LIST, "--exec", "git", "--read", "{out}/origin"]),
    Row("list: git gc", ["git", "gc", "-q"], needs=["git"], options=[*LIST, "--exec", "git"],
        place="repository"),
    Row("list: what is not in it is refused with 126", ["cat", "text/old"],
        options=[*LIST, "--exec", "git"], status=126, same=False,
        says=["does not allow running", "cat", "to allow"]),
    Row("list: nor does a listed shell run it", ["sh", "-c", "cat text/old"],
        options=[*LIST, "--exec", "sh"], status=126, same=False, says=["cat"]),
    Row("list: nor the listed git by an alias", ["git", "-c", "alias.x=!cat text/old", "x"],
        needs=["git"], options=[*LIST, "--exec", "git"], status=126, same=False, says=["cat"]),
    Row("list: gcc compiles and links",
        ["gcc", "-o", "h", "project/main.c", "project/greet.c", "project/sum.c", "-lm"],
        needs=["gcc"], options=[*LIST, "--exec", "gcc"]),
    Row("list: g++", ["g++", "-o", "h", "project/thread.cc", "-pthread"], needs=["g++"],
        options=[*LIST, "--exec", "g++"]),
    Row("list: gcc -flto",
        ["gcc", "-flto", "-o", "h", "project/main.c", "project/greet.c", "project/sum.c", "-lm"],
        needs=["gcc"], options=[*LIST, "--exec", "gcc"]),
    Row("list: clang",
        ["clang", "-o", "h", "project/main.c", "project/greet.c", "project/sum.c", "-lm"],
        needs=["clang"], options=[*LIST, "--exec", "clang"]),
    Row("list: make with gcc and ar, but what they make does not run",
        ["make", "-s", "-C", "project"], needs=["make", "gcc"],
        options=[*LIST, "--exec", "make", "--exec", "gcc", "--exec", "cc", "--exec", "ar"]),
    Row("list: what was made does not run", ["make", "-s", "-C", "project", "check"],
        needs=["make", "gcc"],
        options=[*LIST, "--exec", "make", "--exec", "gcc", "--exec", "cc", "--exec", "ar",
                 "--exec", "grep"], status=2, same=False, says=["ermission denied"]),
    Row("list: python3 and its modules in C",
        ["python3", "-c",
         "import ssl, sqlite3, ctypes, lzma, _json, multiprocessing, asyncio, decimal; "
         "print('all')"], needs=["python3"], options=[*LIST, "--exec", "python3"], see=["all"]),
    Row("list: python3 starts nothing else",
        ["python3", "-c", "import subprocess; subprocess.run(['id'])"], needs=["python3"],
        options=[*LIST, "--exec", "python3"], status=1, same=False, says=["Error"]),
    Row("list: node",
        ["node", "-e",
         "console.log(require('crypto').createHash('md5').update('a').digest('hex'))"],
        needs=["node"], options=[*LIST, "--exec", "node"], see=["0cc175b9"]),
    Row("list: node workers",
        ["node", "-e",
         "new (require('worker_threads').Worker)('require(\"fs\"); console.log(1)', {eval: true})"],
        needs=["node"], options=[*LIST, "--exec", "node"], see=["1"]),
    Row("list: npm", ["npm", "run", "--silent", "--prefix", "npm/app", "env"], needs=["npm"],
        options=[*LIST, "--exec", "npm", "--exec", "env"], see=["npm_lifecycle_event=env"],
        same=False),
    Row("list: npm installs",
        ["npm", "install", "--offline", "--silent", "--prefix", "npm/app", "./npm/words"],
        needs=["npm"], options=[*LIST, "--exec", "npm"]),
    Row("list: perl and its modules",
        ["perl", "-MPOSIX", "-MSocket", "-MData::Dumper", "-e", 'print "ok\\n"'], needs=["perl"],
        options=[*LIST, "--exec", "perl"], see=["ok"]),
    Row("list: java", ["java", "java/Hello.java"], needs=["java", "javac"],
        options=[*LIST, "--exec", "java", "--exec", "echo"], status=5, see=["from a child"]),
    Row("list: a script of the folder, and its interpreter", ["bash/other.sh", "a"],
        options=[*LIST, "--exec", "bash/other.sh"], see=["other:"]),
    Row("list: tar with gzip", ["tar", "czf", "a.tgz", "text"],
        options=[*LIST, "--exec", "tar", "--exec", "gzip"]),
    Row("list: scripts around gzip and grep",
        ["sh", "-c", "gzip -k text/old && zcat text/old.gz && gunzip -c text/old.gz | fgrep two"],
        options=[*LIST, "--exec", "sh", "--exec", "gzip", "--exec", "zcat", "--exec", "gunzip",
                 "--exec", "fgrep"], see=["three"]),
    Row("list: awk with a pipe",
        ["awk", 'BEGIN { print "b\\na" | "sort"; close("sort"); system("echo from sh") }'],
        options=[*LIST, "--exec", "awk", "--exec", "sort"], see=["a\nb\n", "from sh"]),
    Row("list: jq, curl, sed, awk, grep",
        ["sh", "-c",
         "jq -c .n text/data.json; curl -s file://$PWD/text/old; sed -n 1p text/old; "
         "awk 'NR==2' text/old; grep three text/old"], needs=["jq", "curl"],
        options=[*LIST,
                 "--exec", "sh", "--exec", "jq", "--exec", "curl", "--exec", "sed", "--exec", "awk",
                 "--exec", "grep"],
        see=["null", "three"]),
    Row("list: tmux",
        ["tmux", "-f", "/dev/null", "-L", "c", "start-server", ";", "show-options", "-gv",
         "status"], needs=["tmux"], options=[*LIST, "--exec", "tmux"], see=["on"], same=False),
    Row("list: vim -es", ["vim", "-Nu", "NONE", "-es", "-c", "%s/two/2/", "-c", "wq", "text/old"],
        needs=["vim"], options=[*LIST, "--exec", "vim"], same=False),
]

# Nothing but the program is granted: what every program needs has to be there.
NONE = ["--policy", "{policy}/programs.yaml"]
BARE = [
    Row("nothing else: sh",
        ["sh", "-c",
         "echo $((6*7)); cd; pwd; echo a >a.tmp; read x <a.tmp; echo $x; x=$(mktemp 2>&1) || "
         "echo no mktemp"], options=NONE, see=["42", "no mktemp"], same=False),
    Row("nothing else: bash",
        ["bash", "-c", "cat <<<here; echo <(true) >/dev/null; echo ${BASH_VERSION:+version}"],
        options=NONE, see=["here", "version"], same=False),
    Row("nothing else: cat sees one user", ["cat", "/etc/passwd", "/etc/hosts"], options=NONE,
        see=["root:", "localhost"], same=False),
    Row("nothing else: ls of the folder that was not granted", ["ls", "{ws}"], options=NONE,
        status=2, same=False, says=["No such file"]),
    Row("nothing else: id", ["id", "-un"], options=NONE),
    Row("nothing else: python3",
        ["python3", "-c",
         "import ssl, json, sqlite3, asyncio, tempfile, multiprocessing as m; "
         "tempfile.mkdtemp(); m.Lock(); print(ssl.create_default_context().check_hostname)"],
        needs=["python3"], options=NONE, see=["True"]),
    Row("nothing else: git", ["git", "--version"], needs=["git"], options=NONE,
        see=["git version"]),
    Row("nothing else: git in the private home",
        ["sh", "-c",
         "cd && git init -q -b main r && cd r && git -c user.name=a -c user.email=b commit -q "
         "--allow-empty -m x && git log --format=%s && mv ~/r ~/r.tmp"], needs=["git", "mv"],
        options=NONE + ["--exec", "mv"], see=["x"], same=False),
    Row("nothing else: curl", ["curl", "--version"], needs=["curl"], options=NONE, see=["https"]),
    Row("nothing else: node", ["node", "-e", "1"], needs=["node"], options=NONE),
    Row("nothing else: perl", ["perl", "-MPOSIX", "-e", "print floor(1.5), qq(\\n)"],
        needs=["perl"], options=NONE, see=["1"]),
    Row("nothing else: jq", ["jq", "-n", "[1,2]|add"], needs=["jq"], options=NONE, see=["3"]),
    Row("nothing else: openssl", ["openssl", "rand", "-hex", "4"], needs=["openssl"], options=NONE,
        same=False),
    Row("nothing else: date has the time zones", ["date", "-d", "@0", "+%H"],
        options=[*NONE, "--env", "TZ=Asia/Tokyo"], see=["09"], same=False),
    Row("one file: that can be read", ["cat", "{out}/secret"],
        options=["--policy", "{policy}/one.yaml"], see=["not for everyone"]),
    Row("one file: and no other", ["cat", "{home}/.gitconfig"],
        options=["--policy", "{policy}/one.yaml"], status=1, same=False, says=["No such file"]),
]

# Other profiles and limits, by one program each.
PROFILES = [
    Row("readonly: the folder cannot be written", "cat text/old; echo a >text/old",
        options=["--profile", "readonly"], status=1, see=["two"], same=False,
        says=["Read-only file system"]),
    Row("readonly: git status and log", "git status --short; git log --format=%s", needs=["git"],
        options=["--profile", "readonly"], place="repository", see=["start"]),
    Row("readonly: python3 does not write its cache",
        "python3 -c 'import sys; sys.path.insert(0, \"python\"); import many; "
        "print(many.square(4))'; ls python", needs=["python3"], options=["--profile", "readonly"],
        see=["16", "many.py"], same=False),
    Row("offline: a build is the same", "cd project && make -s && ./hello", needs=["make", "gcc"],
        options=["--profile", "offline"], see=["sum 15"]),
    Row("mode sandbox: a whole agent reads everything and writes its own",
        "cat {out}/secret && echo a >{out}/data/a && cat {out}/data/a && cat ~/.gitconfig && "
        "node -e 1", needs=["node"], options=["--mode", "sandbox", "--data-dir", "{out}/data"],
        see=["not for everyone", "Someone"], same=False, says=["host's network"]),
    Row("limits: a build with all of them", "cd project && make -s && ./hello",
        needs=["make", "gcc"],
        options=["--timeout", "60s", "--memory", "1G", "--pids", "64", "--max-output", "1M"],
        see=["sum 15"]),
    Row("limits: node with a gigabyte", ["node", "node/many.js"], needs=["node"],
        options=["--memory", "1G", "--pids", "128"], see=["sign: true"]),
]

PARTS = [
    ("Shells and the user", SHELLS),
    ("Text and archives", TEXT),
    ("Languages and builds", CODE),
    ("git", GITS),
    ("Servers, keys and terminals of their own", NET),
    ("On a terminal", TERMINAL),
    ("With a list of programs", LISTED),
    ("With nothing but the program granted", BARE),
    ("Other profiles, modes and limits", PROFILES),
]

# What tools/setup installs for these tests (its group `programs`); anything else may be absent.
REQUIRED = {"git", "python3", "node", "npm", "gcc", "make", "jq", "curl", "tmux"}
