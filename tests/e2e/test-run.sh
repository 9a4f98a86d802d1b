#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run` as a person uses it: exit statuses, pipes and redirections, limits, what a command sees.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
# runs STATUS NAME ARGUMENT…: the status, and nothing of Corral's own on standard error.
runs() {
	wanted=$1 name=$2 && shift 2
	run run "$@"
	{ [ "$status" -eq "$wanted" ] && ! grep -q '^corral: ' "$scratch/err"; }
	ok $? "$name"
}
# refuses STATUS NAME TEXT ARGUMENT…: Corral says no: status, a sentence, nothing on standard output.
refuses() {
	wanted=$1 name=$2 text=$3 && shift 3
	run run "$@"
	{ [ "$status" -eq "$wanted" ] && [ ! -s "$scratch/out" ] && grep -q -F -e "$text" "$scratch/err" &&
		grep -q '^corral: ' "$scratch/err"; }
	ok $? "$name"
}

# --- exit statuses ---
runs 0 "true" -- true
runs 1 "false" -- false
runs 7 "the command's own status" -- sh -c 'exit 7'
runs 255 "255" -- sh -c 'exit 255'
runs 143 "ended by a signal: 128+n" -- sh -c 'kill -TERM $$'
runs 137 "ended by SIGKILL" -- sh -c 'kill -KILL $$'
runs 0 "without --" true
runs 3 "options of the command are the command's" sh -c 'exit 3'
run run -- echo --help -x
out_is "--help -x" "behind -- everything is the command's"
run run echo --json
out_is "--json" "behind the command everything is the command's"
refuses 127 "no such program" "no-such-program: command not found" -- no-such-program
refuses 127 "no such file" "command not found" -- ./missing
refuses 125 "no command" "no command was given"
refuses 125 "an unknown option" "unknown option --frobnicate" --frobnicate -- true
refuses 125 "a misspelt option" "did you mean --timeout?" --timout 3s -- true
printf 'echo hello\n' >script
refuses 126 "not executable" "script is not executable" -- ./script
chmod +x script
run run ./script
out_is hello "a script without #! is the shell's, as everywhere"
printf '#!/no/such/interpreter\n' >bad && chmod +x bad
refuses 127 "an interpreter that is not there" "/no/such/interpreter: command not found" -- ./bad
printf '#!/bin/sh\necho "$0 $1"\n' >good && chmod +x good
run run ./good x
out_is "./good x" "a script of the workspace"

# --- words ---
run run -- printf '<%s>' '' 'a b' '*' "$(printf 'x\ny')"
out_is "$(printf '<%s>' '' 'a b' '*' "$(printf 'x\ny')")" "arguments arrive as they are"
run run -- sh -c 'echo $#' sh $(seq 1 5000)
out_is 5000 "many arguments"

# --- pipes and redirections ---
run_with "through a pipe" run -- cat
out_is "through a pipe" "standard input is a pipe"
is "$(echo x | "$CORRAL" run -- cat)" x "a pipe on both sides"
printf 'from a file\n' >input
is "$("$CORRAL" run -- cat <input)" "from a file" "standard input is a file"
"$CORRAL" run -- sh -c 'echo out; echo err >&2' >o 2>e </dev/null
is "$(cat o)/$(cat e)" "out/err" "standard output and error are files"
"$CORRAL" run -- sh -c 'echo more' >>o
is "$(cat o)" "$(printf 'out\nmore')" "appending"
is "$("$CORRAL" run -- sh -c 'echo a; echo b >&2' 2>&1)" "$(printf 'a\nb')" "2>&1 keeps the order"
is "$(head -c 20000000 /dev/zero | "$CORRAL" run -- cat | wc -c)" 20000000 "20 MB through pipes"
is "$("$CORRAL" run -- yes 2>/dev/null | head -n 3 | tr -d '\n')" yyy "a reader that goes ends the writer"
is "$("$CORRAL" run -- sh -c 'cat <&-; echo done' <&- 2>/dev/null)" "done" "standard input is closed"
"$CORRAL" run -- sh -c 'echo lost; echo told >&2' </dev/null >&- 2>e
is "$(cat e)" told "standard output is closed"
"$CORRAL" run -- sh -c 'echo told' </dev/null >o 2>&-
is "$(cat o)" told "standard error is closed"
"$CORRAL" run --json -- sh -c 'echo x' <&- >o 2>&-
is "$(grep -c '"stdout": "x' o)" 1 "both, with --json"
status=0
"$CORRAL" run -- true </ >"$scratch/out" 2>"$scratch/err" || status=$?
status_is 125 "a folder as standard input is refused"
err_has "standard input is a folder" "and Corral says why"
exec 9</
"$CORRAL" run -- sh -c 'ls /proc/self/fd' >"$scratch/out" </dev/null
exec 9<&-
is "$(grep -c -x 9 "$scratch/out")" 0 "other descriptors do not get in"

# --- what it sees ---
echo data >file
run run -- cat file
out_is data "the workspace can be read"
runs 0 "and written" -- sh -c 'echo new >made && rm file && mkdir folder'
is "$(cat made)" new "on the real disk"
run run -- pwd
out_is "$PWD" "it starts where we are"
echo secret >"$HOME/secret"
runs 1 "the home is not there" -- cat "$HOME/secret"
err_has "No such file" "it looks absent"
run run -- sh -c 'ls -A ~ | wc -l; echo x >~/x && cat ~/x'
out_is "$(printf '0\nx')" "its own home is empty and can be written"
[ ! -e "$HOME/x" ]
ok $? "and is gone afterwards"
run run -- sh -c 'echo x >/tmp/corral-e2e-private && cat /tmp/corral-e2e-private'
out_is x "/tmp can be written"
[ ! -e /tmp/corral-e2e-private ]
ok $? "and is a private one"
# A value arrives, or nothing runs.
long=$(printf '%4090s' '' | tr ' ' x)
run run --env "BIG=$long" -- sh -c 'echo ${#BIG}'
out_is 4090 "a value of 4090 bytes arrives"
for n in 4091 5000 70000 131000; do
	long=$(printf "%${n}s" '' | tr ' ' x)
	run_refuses 125 "a value of $n bytes is refused" "the variable BIG has $((n + 4)) bytes" --env "BIG=$long" -- true
	BIG=$long "$CORRAL" run --env BIG -- sh -c 'echo ${#BIG}' >"$scratch/out" 2>"$scratch/err"
	out_is "$n" "by its name it arrives"
done
long=$(printf '%5000s' '' | tr ' ' x)
printf 'fs: {read: [/usr/**, /lib/**, /lib64/**, /bin/**]}\nenv:\n  - BIG=%s\n' "$long" >"$scratch/big.yaml"
run_refuses 125 "so is one of a policy, with its line" "big.yaml:3" --policy "$scratch/big.yaml" -- true
printf 'fs: {read: [/usr/**, /lib/**, /lib64/**, /bin/**]}\nenv:\n  BIG: %s\n' "$long" >"$scratch/big.yaml"
run_refuses 125 "and of a map" "big.yaml:3" --policy "$scratch/big.yaml" -- true
runs 2 "the system can't be written" -- sh -c 'echo x >/usr/x'
run run -- sh -c 'ls /proc | grep -c "^[0-9]"'
[ "$(cat "$scratch/out")" -le 4 ]
ok $? "other processes are not there"
run run -- cat /proc/net/dev
is "$(grep -c : "$scratch/out")" 1 "no network but loopback"
SECRET_TOKEN=x LANG=C.UTF-8 run run -- env
out_lacks SECRET_TOKEN "variables that were not granted are not there"
out_has "LANG=C.UTF-8" "LANG is"
out_lacks "CORRAL" "nothing of Corral's own"

# --- where it starts ---
mkdir -p sub other
run run --cwd sub -- pwd
out_is "$PWD/sub" "--cwd"
refuses 125 "--cwd: not there" "--cwd: $PWD/nothing" --cwd nothing -- true
refuses 126 "--cwd: not granted" "does not allow reading $HOME" --cwd "$HOME" -- true
run run --work-dir other -- sh -c 'pwd; echo x >x; ls ..'
out_is "$(printf '%s/other\nother' "$PWD")" "--work-dir: that folder alone"
refuses 125 "--work-dir: not there" "the working folder: $PWD/nothing" --work-dir nothing -- true
ln -s "$PWD/other" "$HOME/link"
run run --work-dir "$HOME/link" -- pwd
out_is "$PWD/other" "--work-dir: a link stands for what it leads to"

# --- limits ---
refuses 125 "--timeout: not a duration" "invalid value for --timeout: \`soon\` (expected a duration such as 500ms, 30s or 5m)" --timeout soon -- true
refuses 125 "--timeout 0" "no command could run" --timeout 0 -- true
refuses 125 "--pids x" "invalid value for --pids: \`x\` (expected a whole number)" --pids x -- true
refuses 125 "an empty program name" "the program name is empty" -- ""
refuses 125 "--memory: bytes where megabytes are meant" "(expected a size such as 64M)" --memory 64 -- true
refuses 125 "--memory: too large" "is too large" --memory 99999999999999999999 -- true
run run --timeout 200ms -- sleep 60
status_is 124 "--timeout: the status"
err_has "the command timed out after 200ms" "--timeout: a message"
run run --timeout 200ms -- sh -c 'trap "" TERM INT; (sleep 60 & sleep 60 & wait) & wait'
status_is 124 "--timeout: nothing escapes it"
runs 0 "--timeout: in time" --timeout 60s -- true
run run --max-output 10 -- printf '1234567890abcdef'
out_is 1234567890 "--max-output: what fits"
err_has "6 bytes of output were dropped: the limit is 10" "--max-output: a message"
status_is 0 "--max-output: the command goes on"
run run --max-output 5 -- sh -c 'printf 123; printf 45678 >&2'
is "$(wc -c <"$scratch/out")" 3 "--max-output: output and error together"
is "$("$CORRAL" run --max-output 1G -- head -c 3000000 /dev/zero | wc -c)" 3000000 "--max-output: large output passes"
run run --pids 20 -- sh -c 'for i in $(seq 100); do sleep 60 & done 2>/dev/null; wait'
[ "$status" -ne 0 ]
ok $? "--pids: a fork bomb ends"
# It waits until the limit is checked.
run run --memory 64M -- python3 -c 'b = b"1" * 400000000; import time; time.sleep(60); print(len(b))'
[ "$status" -ne 0 ]
ok $? "--memory: a memory bomb ends"
runs 0 "--memory: enough" --memory 1G -- true

# --- JSON ---
run_json() {
	run run --json "$@"
	python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$scratch/out" 2>/dev/null
	ok $? "--json: is JSON: $*"
}
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$scratch/out" "$1"; }
run_json -- sh -c 'echo out; echo err >&2; exit 3'
status_is 3 "--json: the status is the command's"
is "$(field stdout)/$(field stderr)/$(field exit_code)/$(field signal)" "out/err/3/None" "--json: what it printed and how it ended"
run_json -- sh -c 'kill -9 $$'
is "$(field exit_code)/$(field signal)/$(field status)" "None/9/137" "--json: ended by a signal"
run_json --timeout 100ms -- sleep 9
is "$(field timed_out)/$(field status)" "True/124" "--json: timed out"
run_json --max-output 4 -- printf 123456
is "$(field stdout)/$(field truncated)" "1234/True" "--json: bounded"
run_json -- printf '\377\000x'
is "$(field lossy)" True "--json: bytes that are no text"
run_json -- true
is "$(field lossy)/$(field truncated)/$(field timed_out)/$(field stdout)" "False/False/False/" "--json: nothing special"
run_json -- no-such-program
is "$status/$(field status)/$(field exit_code)/$(field stdout)" "127/127/None/" "--json: nothing ran"
err_has "no-such-program: command not found" "--json: a message where nothing ran"

# --- not there yet, and said so ---
refuses 125 "--tier 2" "--tier 2 is not supported yet" --tier 2 -- true
refuses 125 "--tier 9" "invalid value for --tier: \`9\` (expected 1 to 4)" --tier 9 -- true
runs 0 "--tier 1" --tier 1 -- true

# --- signals ---
: >"$scratch/out" # what an earlier command said is not what is waited for
"$CORRAL" run -- sh -c 'trap "echo got; exit 5" TERM; echo ready; while :; do sleep 0.1; done' >"$scratch/out" </dev/null &
pid=$!
wait_for() { # wait_for TEXT: in the output, for a minute at most
	for _ in $(seq 600); do
		grep -q "$1" "$scratch/out" && return
		sleep 0.1
	done
}
wait_for ready
kill -TERM $pid
wait $pid
is "$?" 5 "SIGTERM goes to the command, which decides"
out_has got "and hears it"
: >"$scratch/out"
"$CORRAL" run -- sh -c 'echo ready; sleep 60' >"$scratch/out" </dev/null &
pid=$!
wait_for ready
kill -TERM $pid
wait $pid
is "$?" 143 "SIGTERM ends a command that does not care"
mark=87655$$ # of no other test that runs beside this one
: >"$scratch/out"
"$CORRAL" run -- sh -c "echo ready; exec sleep $mark.5" >"$scratch/out" </dev/null &
pid=$!
wait_for ready
kill -KILL $pid
wait $pid 2>/dev/null
is_gone() { # is_gone PATTERN: within a minute
	for _ in $(seq 3000); do
		pgrep -f "$1" >/dev/null || return 0
		sleep 0.02
	done
	return 1
}
is_gone "sleep $mark.5"
ok $? "when Corral is killed, the command dies"
run run -- sh -c "(setsid sleep $mark.7 >/dev/null 2>&1 &) ; echo done"
out_is "done" "a command that leaves a daemon behind"
is_gone "sleep $mark.7"
ok $? "which dies with it"

# --- shell ---
SHELL=/bin/sh run shell -- -c 'echo "$0 $PWD"; exit 6'
status_is 6 "shell: the shell's status"
out_is "/bin/sh $PWD" "shell: the user's own"
SHELL=/nonexistent run shell -- -c 'echo $0'
out_is "/bin/sh" "shell: /bin/sh if there is none"
SHELL=/bin/sh run shell --profile readonly -- -c 'echo x >x'
[ "$status" -ne 0 ]
ok $? "shell: the options of run"

# --- inside looks as it does outside ---
SHELL=/bin/cat run_prints /bin/cat "SHELL is the user's own" -- sh -c 'echo $SHELL'
mkdir -p "$HOME/own" && cp /bin/sh "$HOME/own/sh"
SHELL=$HOME/own/sh run_prints /bin/sh "SHELL: not one that may not be run" -- sh -c 'echo $SHELL'
SHELL=$HOME/own/sh run_prints "$HOME/own/sh" "SHELL: where it was granted it is" --read "$HOME/own" -- sh -c 'echo $SHELL'
SHELL=/bin/cat run_prints /bin/sh "SHELL: not one that is not on the list" --exec sh -- sh -c 'echo $SHELL'
if command -v ps >/dev/null; then
	run run -- ps -e -o pid= -o args=
	is "$(sed -n 's/^ *1 //p' "$scratch/out")" corral "ps: pid 1 has a name"
	is "$(grep -c . "$scratch/out")" 2 "ps: and there is the command"
else
	number=$((number + 1)) && echo "ok $number - ps: pid 1 has a name # SKIP ps is not there"
fi

# --- what nohup and & do to a command they do to what it runs ---
ignored() { # ignored SIGNALS: the mask of ignored signals that a command has
	# env: also where this script was started with some ignored, which a shell cannot undo.
	# 32 and 33, the C library's own, are always ignored here: neither env nor signal() can undo it.
	python3 -c 'import ctypes, os, sys
call = {"x86_64": 13, "aarch64": 134}[os.uname().machine]
ignore = (ctypes.c_ulong * 8)(1)
assert not any(ctypes.CDLL(None).syscall(call, s, ignore, None, 8) for s in (32, 33))
os.execvp(sys.argv[1], sys.argv[1:])' \
		env --default-signal --ignore-signal="$1" "$CORRAL" run -- sed -n 's/^SigIgn:[^0-9a-f]*0*//p' /proc/self/status
}
is "$(ignored HUP)" 1 "an ignored SIGHUP is ignored inside"
is "$(ignored HUP,INT,QUIT)" 7 "so are SIGINT and SIGQUIT"
is "$(ignored PIPE,USR1)" "" "others are not"

# --- the processor time of the command is what `time` shows ---
python3 - "$CORRAL" >"$scratch/out" 2>"$scratch/err" <<'END'
import resource, subprocess, sys

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def used(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*words, sys.executable, "-c", BURN], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


bare, inside = used([]), used([sys.argv[1], "run", "--read", sys.prefix, "--"])
print(bare, inside)
assert bare >= 0.3 and inside >= 0.3
END
ok $? "the processor time of a command is passed on to who waits for corral"

done_testing
