#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run --audit`: what is in the log after real runs, what is never in it, and that a command gets
# at none of it. Denied hosts are in test-run-network.sh; the log itself is tested in src/audit.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
mkdir "$scratch/log"
log=$scratch/log/audit.db

refuses() { # refuses NAME TEXT ARGUMENT…: nothing runs
	name=$1 text=$2 && shift 2
	rm -f ran
	run run "$@" -- touch ran
	{ [ "$status" -eq 125 ] && [ ! -e ran ] && grep -q -F -e "$text" "$scratch/err"; }
	ok $? "$name"
}
# holds FILE NAME: Python on standard input that has all records of the log as `events`.
holds() {
	"$CORRAL" audit export --format jsonl "$1" >"$scratch/records" 2>"$scratch/err"
	cat >"$scratch/check.py" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
def some(action, **fields):
    return [e for e in events if e["action"] == action and all(e[k] == v for k, v in fields.items())]
def one(action, **fields):
    found = some(action, **fields)
    assert len(found) == 1, (action, fields, found)
    return found[0]
END
	cat >>"$scratch/check.py"
	python3 "$scratch/check.py" "$scratch/records" >"$scratch/out" 2>>"$scratch/err"
	ok $? "$2"
}
verifies() { # verifies FILE NAME
	run audit verify "$1"
	status_is 0 "$2"
}
wait_until() { # wait_until COMMAND…: for a minute at most
	i=0
	until "$@" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 600 ] || return 1
		sleep 0.1
	done
}
# shellcheck disable=SC2317  # wait_until calls it
is_started() { "$CORRAL" audit export --format jsonl "$1" | grep -q '"action":"command.start"'; }

# --- a run ---
run run --audit "$log" -- sh -c 'exit 4'
status_is 4 "the status is the command's own"
err_empty "and nothing is said"
is "$(cd "$scratch/log" && stat -c '%n %a' -- *.db *.head *.key *.pub *.lock | tr '\n' ' ')" \
	"audit.db 600 audit.db.head 644 audit.db.key 600 audit.db.key.pub 644 audit.db.lock 600 " "its files"
holds "$log" "begin, walls, variables, command, end" <<'EOF'
kinds = [e["action"] for e in events if e["action"] != "env"]
assert kinds == ["session", "confinement", "command.start", "exec", "command.end", "session"], kinds
assert [e["target"] for e in some("session")] == ["begin", "end"]
assert [e["sequence"] for e in events] == list(range(1, len(events) + 1))
assert len({e["session"] for e in events}) == 1 and len(events[0]["session"]) == 16
assert all(e["user"] and e["sandbox"] == "profile workspace" and e["exact"] for e in events)
start, end = one("command.start"), one("command.end")
assert start["target"] == "sh -c 'exit 4'" and start["program"] == "sh", start
assert start["rule"] == "profile workspace" and start["reason"].endswith("/work"), start
assert end["status"] == 4 and end["cost_ns"] > 0, end
assert one("exec", decision="allowed")["target"] == "sh"
assert some("session")[1]["status"] == 4
EOF
holds "$log" "which walls stand" <<'EOF'
import ctypes
walls = one("confinement")
abi = ctypes.CDLL(None).syscall(444, None, 0, 1)
assert walls["target"] == "tier 1", walls
for wall in ("user, pid, mount", "no relay", f"Landlock ABI {abi};", "seccomp", "no capabilities"):
    assert wall in walls["reason"], (wall, walls)
EOF
verifies "$log" "it verifies"

# What is said of the walls is compared with what the kernel says of the command.
walls='cat /proc/self/status; for n in user pid mnt ipc uts cgroup net; do echo "$n $(readlink /proc/self/ns/$n)"; done'
sh -c "$walls" >bare
mkdir -p "$HOME/.agent" "$HOME/.claude"
for how in "" "--net api.example.com:443" "--mode sandbox --data-dir $HOME/.agent --deny $scratch/log"; do
	rm -f "$scratch"/log/walls*
	# shellcheck disable=SC2086 # words
	run run $how --audit "$scratch/log/walls" -- sh -c "$walls"
	cp "$scratch/out" inside
	holds "$scratch/log/walls" "they are as it says (${how:-no option})" <<'EOF'
def facts(name):
    return dict(line.replace(":\t", " ").split(" ", 1) for line in open(name).read().splitlines())
bare, inside, reason = facts("bare"), facts("inside"), one("confinement")["reason"]
for name in ("user", "pid", "mnt", "ipc", "uts", "cgroup"):
    assert bare[name] != inside[name], name
assert ("the host's network" in reason) == (bare["net"] == inside["net"]), reason
assert ("with a relay" in reason) == ("network namespace" in reason and "no relay" not in reason)
assert inside["Seccomp"] == "2" and inside["NoNewPrivs"] == "1", inside
assert not any(int(inside["Cap" + which], 16) for which in ("Eff", "Prm", "Inh", "Amb")), inside
EOF
done

run run --audit "$log" -- no-such-program
status_is 127 "a program that is not there: the status"
holds "$log" "it is recorded, and nothing ended that did not run" <<'EOF'
assert len({e["session"] for e in events}) == 2
events = [e for e in events if e["session"] == events[-1]["session"]]
refused = one("exec")
assert refused["decision"] == "failed" and refused["status"] == 127, refused
assert refused["reason"] == "no-such-program: command not found", refused
assert not some("command.end") and some("session")[-1]["status"] == 127
EOF

cat >"$scratch/policy.yaml" <<'EOF'
fs: {read: ['/usr/**', '/bin/**', '/lib/**', '/lib64/**', '/etc/**']}
exec: [cat]
EOF
run run --policy "$scratch/policy.yaml" --audit "$scratch/log/exec" -- ls
status_is 126 "a program that is forbidden: the status"
holds "$scratch/log/exec" "it is recorded as denied, with the reason" <<'EOF'
refused = one("exec")
assert refused["decision"] == "denied" and refused["target"] == "ls" and refused["exact"], refused
assert "exec" in refused["reason"], refused
assert "policy.yaml" in one("command.start")["rule"]
EOF
run run --deny /usr/bin/tac --audit "$scratch/log/deny" -- tac
holds "$scratch/log/deny" "and with the rule, where one decided" <<'EOF'
refused = one("exec", decision="denied")
assert "/usr/bin/tac" in refused["rule"], refused
EOF

echo hidden >"$scratch/hidden"
run run --explain --audit "$scratch/log/explain" -- cat "$scratch/hidden"
holds "$scratch/log/explain" "with --explain files that were denied, as advisory" <<'EOF'
import os
denied = one("fs.read", decision="denied", target=os.path.dirname(sys.argv[1]) + "/hidden")
assert not denied["exact"] and denied["program"] == "cat" and denied["reason"], denied
EOF

# --- limits ---
run run --audit "$scratch/log/limits" --timeout 200ms -- sleep 60
status_is 124 "time was over: the status"
run run --audit "$scratch/log/limits" --max-output 4 -- echo 123456789
run run --audit "$scratch/log/limits" --pids 8 -- true
holds "$scratch/log/limits" "limits that were met" <<'EOF'
assert one("limit", target="timeout")["rule"] == "timeout 200ms"
assert one("limit", target="output", decision="denied")["count"] == 6
ends = some("command.end")
assert ends[0]["status"] == -9 and ends[0]["cost_ns"] > 0, ends
assert "processes held by " in ends[2]["reason"], ends
assert "limit: timeout 200ms" in some("confinement")[0]["reason"]
EOF

# --- secrets ---
# Each is looked for in the files as they are, while the log is written and afterwards, and in all exports.
MINE=canary-granted OTHER='canary%20quoted"x' run run --audit "$scratch/log/secrets" --env MINE --env OTHER \
	--env SET=canary-set --exec canary-granted --exec sh -- sh -c 'exit $#' \
	canary-granted 'x=canary-granted&y' 'canary%2520quoted%22x' canary-set \
	'https://me:canary-user@example.com/?token=canary-token&page=1' \
	-H 'Authorization: Bearer canary-bearer' --password canary-option 'PASSWORD=canary-assigned'
status_is 9 "a command with secrets in its words"
MINE=canary-granted run run --audit "$scratch/log/secrets" --env MINE -- canary-granted
MINE=canary-granted run run --audit "$scratch/log/secrets" --mode rwx -- sh -c 'exit $#' canary-granted
holds "$scratch/log/secrets" "variables are recorded by name" <<'EOF'
names = {e["reason"]: set(e["target"].split()) for e in reversed(some("env", decision="allowed"))}
assert {"MINE", "OTHER"} <= names["passed on"] and "SET" in names["set"], names
assert "[redacted]" in some("command.start")[0]["target"]
assert "page=1" in some("command.start")[0]["target"]
EOF
for format in jsonl ocsf cef csv; do
	"$CORRAL" audit export --format $format "$scratch/log/secrets" >"$scratch/log/secrets.$format" 2>&1
	[ -s "$scratch/log/secrets.$format" ]
	ok $? "there is an export as $format"
done
grep -l canary "$scratch"/log/secrets* >"$scratch/out"
out_empty "no secret is in the log, its companions or an export"

mkfifo gate
CANARY=canary-live "$CORRAL" run --audit "$scratch/log/live" --env CANARY -- sh -c ': >waits; read x <gate' canary-live &
pid=$!
wait_until [ -e waits ]
is_started "$scratch/log/live"
ok $? "the start is in the log while the command runs"
[ -s "$scratch/log/live-wal" ] && ! grep -l canary "$scratch"/log/live*
ok $? "no secret is in the write-ahead log"

# --- nothing inside leads to it ---
# The processes of the sandbox were cloned from the one that writes: first its own descriptors, as a control.
leads() { # leads PID: a descriptor of it, or of one that it started, leads to the log
	for fd in /proc/"$1"/fd/*; do
		case $(readlink "$fd" 2>/dev/null) in "$scratch"/log/*) echo "$fd" ;; esac
	done
}
children() { # children PID: those, and theirs
	grep -l "^PPid:[[:space:]]$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3 | while read -r child; do
		echo "$child" && children "$child"
	done
}
[ -n "$(leads $pid)" ]
ok $? "descriptors of the log are seen where they are"
for child in $(children $pid); do leads "$child"; done >"$scratch/out"
out_empty "no process of the sandbox has one"
[ -n "$(children $pid)" ]
ok $? "and there are such processes"
echo >gate
wait $pid
look='for fd in /proc/[0-9]*/fd/* /proc/[0-9]*/task/*/fd/*; do readlink "$fd"; done; cat /proc/[0-9]*/maps'
for more in "" "--net api.example.com:443"; do
	# shellcheck disable=SC2086 # two words, or none
	run run $more --audit "$log" -- sh -c "$look"
	out_lacks "$scratch/log" "seen from inside, nothing leads to it ${more:+with a relay}"
done
[ -s "$scratch/out" ]
ok $? "and something was seen"

# --- killed ---
"$CORRAL" run --audit "$scratch/log/killed" -- sleep 60 &
pid=$!
wait_until is_started "$scratch/log/killed"
kill -KILL $pid
wait $pid 2>/dev/null
verifies "$scratch/log/killed" "killed in the middle: it verifies"
holds "$scratch/log/killed" "killed in the middle: what was started is there" <<'EOF'
assert one("command.start")["target"] == "sleep 60" and not some("command.end")
EOF
run run --audit "$scratch/log/killed" -- true
status_is 0 "the next run goes on with it"
verifies "$scratch/log/killed" "and it verifies"

# As soon as the command can be seen to run, sooner than any batch is due.
for i in 1 2 3 4 5; do
	rm -f ran
	"$CORRAL" run --audit "$scratch/log/early" -- sh -c 'echo >ran; sleep 60' early $i &
	pid=$!
	while [ ! -e ran ] && kill -0 $pid; do :; done
	kill -KILL $pid
	wait $pid 2>/dev/null
done
holds "$scratch/log/early" "killed at once: what runs is on record before it runs" <<'EOF'
assert [e["target"].split()[-1] for e in some("command.start")] == list("12345")
EOF
verifies "$scratch/log/early" "and it verifies"

# --- several at once ---
pids=
for i in 1 2 3 4 5 6 7 8; do
	"$CORRAL" run --audit "$scratch/log/many" -- sh -c "exit $i" many 2>>"$scratch/many.err" &
	pids="$pids $!"
done
got=
for pid in $pids; do wait "$pid" && got="$got 0" || got="$got $?"; done
is "$got" " 1 2 3 4 5 6 7 8" "eight runs at once into one log"
[ ! -s "$scratch/many.err" ] || sed 's/^/# /' "$scratch/many.err"
[ ! -s "$scratch/many.err" ]
ok $? "none of them complains"
holds "$scratch/log/many" "each is there as a whole" <<'EOF'
sessions = {}
for e in events:
    sessions.setdefault(e["session"], []).append(e)
assert len(sessions) == 8
for own in sessions.values():
    assert [e["sequence"] for e in own] == list(range(1, len(own) + 1)), own
    assert own[0]["target"] == "begin" and own[-1]["target"] == "end", own
assert sorted(e["status"] for e in some("command.end")) == list(range(1, 9))
assert [e["number"] for e in events] == list(range(1, len(events) + 1))
EOF
verifies "$scratch/log/many" "and the chain verifies"

# --- where it may not be ---
refuses "where the command can write" "the command may write this path" --audit audit.db
refuses "in a folder that was granted" "the command may write this path" --write "$scratch/log" --audit "$log"
ln -s "$PWD/elsewhere" "$scratch/audit-link"
refuses "by a link" "the command may write this path" --audit "$scratch/audit-link"
ln -s "$scratch/log" "$HOME/granted-link"
echo "fs: {read: [/usr/**, /bin/**, /lib/**], write: ['$HOME/granted-link/**']}" >"$scratch/link-write.yaml"
echo "fs: {read: [/usr/**, /bin/**, /lib/**, '$HOME/granted-link/**']}" >"$scratch/link-read.yaml"
refuses "in a folder that was granted by a link" "the command may write this path" \
	--policy "$scratch/link-write.yaml" --audit "$log"
refuses "or may be read by a link" "the command may read this path" \
	--policy "$scratch/link-read.yaml" --audit "$log"
refuses "where the command can read" "the command may read this path" --read "$scratch/log" --audit "$log"
refuses "where it can read just the key" "the command may read this path" --read "$log.key" --audit "$log"
refuses "or just the lock, with which it could hold us up" "the command may read this path" \
	--read "$log.lock" --audit "$log"
refuses "a folder that is not there" "cannot be written" --audit "$scratch/nowhere/a"
mkfifo "$scratch/log/pipe"
refuses "a pipe" "a log must be a regular file" --audit "$scratch/log/pipe"
refuses "a folder" "a log must be a regular file" --audit "$scratch/log"
ln -s "$scratch/victim" "$scratch/log/trap-wal"
refuses "a link that was left for us" "a log must be a regular file" --audit "$scratch/log/trap"
[ ! -e "$scratch/victim" ] && [ ! -e "$scratch/log/trap" ]
ok $? "nothing was made where it leads"
cp "$log" "$scratch/log/second" && ln "$scratch/log/second" second-name
refuses "a log with a second name" "a log must be a regular file" --audit "$scratch/log/second"
[ ! -e audit.db ] && [ ! -e audit.db.key ] && [ ! -e elsewhere ]
ok $? "nothing was made in the workspace"

printf '{"event":"start"}\n' >"$scratch/log/old"
refuses "lines of JSON of an earlier version" "earlier versions wrote JSON Lines" --audit "$scratch/log/old"
is "$(cat "$scratch"/log/old*)" '{"event":"start"}' "they are as they were, and nothing is beside them"
run run --audit "$scratch/log/cut" -- true
rm "$scratch/log/cut.head"
refuses "a log that was tampered with" "its head file does not exist" --audit "$scratch/log/cut"

# --- the default place ---
key=$XDG_STATE_HOME/corral/audit.db.key
run run --audit default -- true
status_is 0 "--audit default"
is "$(stat -c %a "$XDG_STATE_HOME/corral")" 700 "its folder is its owner's alone"
verifies "$XDG_STATE_HOME/corral/audit.db" "and there is a log"
agent="--mode sandbox --data-dir $HOME/.agent"
cat "$key" >/dev/null && cat "$HOME/.agent/../.local/state/corral/audit.db" >/dev/null
ok $? "bare, the key can be read"
echo visible >"$HOME/note"
for audit in default none; do
	# shellcheck disable=SC2086 # words
	run run $agent --audit $audit -- sh -c 'cat "$HOME/note" "$1"; echo >>"$1"' sh "$key"
	is "$(cat "$scratch/out")/$(wc -l <"$key")" "visible/1" "an agent reads the home, but not the key (--audit $audit)"
done
# shellcheck disable=SC2086
run run $agent --audit "$scratch/log/agent" -- true
status_is 125 "an agent reads everything: a log elsewhere is refused"
err_has "or add --deny $scratch/log" "and what would help is said"
# shellcheck disable=SC2086
run run $agent --deny "$scratch/log" --audit "$scratch/log/agent" -- cat "$scratch/log/agent.key" "$scratch/log/agent"
out_empty "which hides it"
verifies "$scratch/log/agent" "and the log is there"

# --- for every run ---
CORRAL_AUDIT=$scratch/log/every run run -- true
verifies "$scratch/log/every" "CORRAL_AUDIT"
CORRAL_AUDIT=$scratch/log/none run run --audit none -- true
[ ! -e "$scratch/log/none" ]
ok $? "--audit none: not this one"
CORRAL_AUDIT=$scratch/log/none run run --audit "$scratch/log/other" -- true
[ ! -e "$scratch/log/none" ] && [ -e "$scratch/log/other" ]
ok $? "--audit FILE: another for this one"
CORRAL_AUDIT='' run run -- true
status_is 0 "CORRAL_AUDIT with nothing in it is none"
CORRAL_AUDIT=default run shell -- -c true
holds "$XDG_STATE_HOME/corral/audit.db" "CORRAL_AUDIT=default, and corral shell" <<'EOF'
assert some("session", target="begin")[-1]["reason"] == "corral shell"
EOF
CORRAL_AUDIT=audit.db run run -- true
status_is 125 "CORRAL_AUDIT where the command can write: nothing runs"

# --- nothing is confined ---
run run --mode rwx --audit "$scratch/log/rwx" -- sh -c 'exit 3'
status_is 3 "mode rwx: the status"
run run --mode rwx --audit "$scratch/log/rwx" -- no-such-program
status_is 127 "mode rwx: a program that is not there"
verifies "$scratch/log/rwx" "mode rwx: it verifies"
holds "$scratch/log/rwx" "mode rwx: that nothing is confined is recorded, and what was started" <<'EOF'
assert all(e["target"] == "none" and "not confined" in e["reason"] for e in some("confinement"))
assert [e["target"] for e in some("command.start")] == ["sh -c 'exit 3'", "no-such-program"]
assert one("exec", decision="failed")["target"] == "no-such-program"
EOF

# --- no room later ---
"$CORRAL" run --audit "$scratch/log/full" -- sh -c 'read x <gate; exit 6' 2>"$scratch/err" &
pid=$!
wait_until is_started "$scratch/log/full"
prlimit --pid $pid --fsize="$(stat -c %s "$scratch/log/full-wal")"
echo >gate
status=0
wait $pid || status=$?
status_is 6 "no room for the rest: the command goes on, and the status is its own"
err_has "the audit log of this run is incomplete: $scratch/log/full" "it is told"
verifies "$scratch/log/full" "what is there verifies"
holds "$scratch/log/full" "and begins with the start" <<'EOF'
assert one("command.start") and not some("command.end")
EOF

done_testing
