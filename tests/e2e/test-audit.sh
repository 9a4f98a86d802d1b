#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# corral audit: what a person, and a program, reads of a log. Following one live is in
# test-audit-live.py, verifying one in test-audit-verify.sh.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
use_one_python3
: "${MAKE_LOG:?is the program that writes logs}"
case $MAKE_LOG in /*) ;; *) MAKE_LOG=$OLDPWD/$MAKE_LOG ;; esac
export TZ=UTC

# numbers NAME WANTED ARGUMENT…: which records `corral audit ARGUMENT… --json` prints.
numbers() {
	name=$1 wanted=$2 && shift 2
	run audit "$@" --json
	is "$(python3 -c 'import json, sys
for line in open(sys.argv[1]): print(json.loads(line)["number"], end=" ")' "$scratch/out" 2>&1)" "${wanted:+$wanted }" "$name"
}

# --- there is no log ---
fails "no log of one's own" "no audit log at $XDG_STATE_HOME/corral/audit.db" audit tail
err_has '`corral run --audit FILE -- COMMAND` writes one' "and what makes one"
for verb in tail list stats verify 'export --format csv' 'prove 1'; do
	# shellcheck disable=SC2086 # words are words
	fails "$verb: no such log" "no audit log at nope.db" audit $verb nope.db
done
: >empty.db
fails "an empty file" "empty.db: not an audit log: the file is empty" audit list empty.db
echo 'no log' >text.db
fails "a text" "text.db: not an audit log" audit list text.db
fails "a folder" "not an audit log: not a regular file" audit list .
mkfifo pipe.db
fails "a pipe" "not an audit log: not a regular file" audit stats pipe.db
sqlite() { python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit(); c.close()' "$@"; }
sqlite foreign.db 'CREATE TABLE t (x)'
fails "another database" "not an audit log of Corral" audit list foreign.db
fails "a folder that is no folder" "no audit log at text.db/x" audit list text.db/x
env -u HOME -u XDG_STATE_HOME "$CORRAL" audit list >"$scratch/out" 2>"$scratch/err"
status=$?
status_is 2 "neither HOME nor a name"
err_has "no location for the audit log is known" "the message says so"

# --- a log with one of each ---
cat >events <<'END'
{"time": 1767323045000000000, "action": "session", "session": "aaaa1111", "target": "begins", "user": "anna"}
{"time": 1767323046000000000, "action": "command.start", "session": "aaaa1111", "target": "make test", "program": "/usr/bin/make", "pid": 4711}
{"time": 1767323047000000000, "action": "fs.read", "session": "aaaa1111", "target": "/srv/data/a.csv", "decision": "allowed", "rule": "policy.yaml:3", "program": "/usr/bin/python3"}
{"time": 1767323048000000000, "action": "net.connect", "session": "aaaa1111", "target": "evil.example.net:443", "decision": "denied", "rule": "policy.yaml:7", "reason": "nothing in network.allow grants it", "program": "/usr/bin/curl", "count": 3}
{"time": 1767323049000000000, "action": "net.close", "session": "aaaa1111", "target": "api.example.com:443", "sent": 1234, "received": 5678901, "program": "/usr/bin/curl"}
{"time": 1767409450000000000, "action": "exec", "session": "bbbb2222", "target": "/bin/\u001b]0;owned\u0007\nrm\u202e", "decision": "denied", "reason": "it is\nnot granted\u001b[2J", "program": "sh\u001b[31m", "exact": false, "sandbox": "box\u0007"}
{"time": 1767409451000000000, "action": "approval", "session": "bbbb2222", "target": "fs.write /srv/x", "decision": "asked", "reason": "nobody answers"}
{"time": 1767409452000000000, "action": "fs.write", "session": "bbbb2222", "target": "/srv/x", "decision": "failed", "reason": "the disk is full"}
{"time": 1767409453000000000, "action": "command.end", "session": "bbbb2222", "target": "make test", "program": "/usr/bin/make", "status": 2, "cost_ns": 1300000000}
{"time": 1767409454000000000, "action": "command.end", "session": "bbbb2222", "target": "sleep 9", "program": "/usr/bin/sleep", "status": -15}
END
"$MAKE_LOG" log.db <events
ok $? "a log is written"

run audit list log.db
status_is 0 "list"
err_empty "list: no messages"
no_controls "list: no control characters"
is "$(wc -l <"$scratch/out")" 14 "list: a line for each record, and one more where there is a reason"
out_has '2026-01-02 03:04:08 denied  net.connect   evil.example.net:443  3 times  curl aaaa1111 #4' "list: what, of what, by whom"
out_has '                    policy.yaml:7: nothing in network.allow grants it' "list: the rule and the reason below"
out_has '\x1b]0;owned\x07\x0arm' "list: a target is made visible"
out_has 'advisory' "list: what is not exact is marked"
out_has 'api.example.com:443  1.2 kB out, 5.7 MB in' "list: bytes"
out_has 'make test  exit 2, 1.3 s' "list: how a command ended"
out_has 'sleep 9  signal 15' "list: by a signal"
out_lacks 'policy.yaml:3' "list: no reasons for what was allowed"
LC_ALL=C grep -q "$(printf '\342\200\256')" "$scratch/out"
[ $? -eq 1 ]
ok $? "list: nothing that runs backwards"
TZ=Asia/Tokyo run audit list --limit 1 log.db
out_has '2026-01-02 12:04:05' "list: local time"

# --- for programs ---
run audit list --json log.db
[ "$status" -eq 0 ] && python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert [r["number"] for r in rows] == list(range(1, 11))
assert rows[3]["rule"] == "policy.yaml:7" and rows[3]["count"] == 3 and rows[9]["status"] == -15
assert rows[0]["time"] == "2026-01-02T03:04:05.000000000Z"' "$scratch/out"
ok $? "list --json: JSON Lines"
no_controls "list --json: no control characters"

# --- filters ---
numbers "all" '1 2 3 4 5 6 7 8 9 10' list log.db
numbers "--session" '1 2 3 4 5' list --session aaaa1111 log.db
numbers "a session is a whole id" '' list --session aaaa log.db
numbers "or its beginning" '1 2 3 4 5' list --session 'aaaa*' log.db
numbers "as a line shows it" '6 7 8 9 10' list --session 'bbb…' log.db
numbers "--action" '9 10' list --action command.end log.db
numbers "a kind of them" '2 9 10' list --action command log.db
numbers "several" '3 4 5 8' list --action net,fs log.db
numbers "several times" '3 4 6' list --action fs.read --action exec --action net.connect log.db
numbers "--decision" '4 6' list --decision denied log.db
numbers "several of these" '6 7 8' list --decision denied,asked --decision failed --session bbbb2222 log.db
numbers "none is one, too" '1 2 5 9 10' list -d none log.db
numbers "--target, a path" '3 8' list --target '/srv/**' log.db
numbers "just this one" '8' list --target /srv/x log.db
numbers "no folder by its beginning" '' list --target '/sr' log.db
numbers "--target, a host" '4 5' list --target '*.example.*:443' log.db
numbers "all together" '4' list --target '*example*' --decision denied --session aaaa1111 --action net --since 2026-01-02 --until 2026-01-02 log.db
numbers "--limit" '1 2 3' list --limit 3 log.db
numbers "--newest" '10 9 8 7 6 5 4 3 2 1' list --newest log.db
numbers "--newest --limit" '6 4' list --newest --limit 2 --decision denied log.db
numbers "tail" '1 2 3 4 5 6 7 8 9 10' tail log.db
numbers "tail -n" '8 9 10' tail -n 3 log.db
numbers "tail -n 0" '' tail -n 0 log.db
numbers "tail with a filter" '4 6' tail -n 2 --decision denied log.db
numbers "tail of nothing" '' tail --session nope log.db

# --- times ---
numbers "a day" '1 2 3 4 5' list --until 2026-01-02 log.db
numbers "the day after" '6 7 8 9 10' list --since 2026-01-03 --until 2026-01-03 log.db
numbers "no such day" '' list --since 2026-01-04 log.db
numbers "a moment, in UTC" '3 4' list --since 2026-01-02T03:04:07Z --until 2026-01-02T03:04:08Z log.db
numbers "in another zone" '3 4' list --since 2026-01-02T04:04:07+01:00 --until 2026-01-01T22:04:08-05:00 log.db
numbers "with a fraction" '4' list --since 2026-01-02T03:04:07.000000001Z --until 2026-01-02T03:04:08.5Z log.db
numbers "local time" '5' list --since '2026-01-02 03:04:09' --until '2026-01-02 03:05' log.db
TZ=America/New_York numbers "a day is a local one" '1 2 3 4 5' list --since 2026-01-01 --until 2026-01-01 log.db
now=$(date +%s)
{
	for ago in 864000 10000 3000 5; do
		echo "{\"time\": $((now - ago))000000000, \"action\": \"env\", \"target\": \"$ago\"}"
	done
} | "$MAKE_LOG" recent.db
numbers "3d" '2 3 4' list --since 3d recent.db
numbers "2h" '3 4' list --since 2h recent.db
numbers "10m" '4' list --since 10m recent.db
numbers "1w, until" '1' list --until 1w recent.db
numbers "90s" '4' list --since 90s recent.db
numbers "long ago" '1 2 3 4' list --since 4000w recent.db
# The time of day, as it was last: a minute ago, and in one minute (so: yesterday).
numbers "the time of day" '4' list --since "$(date -d "@$((now - 120))" +%H:%M)" recent.db
numbers "of yesterday" '2 3 4' list --since "$(date -d "@$((now + 300))" +%H:%M)" recent.db
for bad in '' x 10 10y -10m 2026-13-01 2026-02-30 2026-01-01T 2026-01-01T25:00:00Z 24:00 12:3 1969-12-31 '2026-01-01T00:00:00+1' 99999999999d 2026-1-1; do
	fails "not a time: $bad" "is not a time" audit list --since "$bad" log.db
done
err_has "10m" "and how one is written"

# --- misuse ---
fails "an unknown action" "did you mean net.connect?" audit list --action net.conect log.db
fails "one of several" "did you mean denied?" audit list --decision allowed,denyed log.db
fails "an empty one" "invalid value for --action" audit list --action net, log.db
fails "a misspelt option" "did you mean --decision?" audit tail --decison x
fails "a misspelt command" 'did you mean `corral audit verify`?' audit verfy
fails "an unknown format" "did you mean jsonl?" audit export --format json log.db
fails "no format" "required option missing: --format FORMAT" audit export log.db
fails "not a number" "(expected a whole number of at least 1)" audit list --limit 0 log.db
fails "not a number of lines" "(expected a whole number)" audit tail -n -1 log.db
fails "not a record number" "is not a record number" audit prove x log.db
fails "a pattern that is none" "never closed" audit list --target '/srv/[a' log.db
fails "two logs" 'unexpected argument: `b`' audit list a b
fails "times in which nothing can be" "--until is earlier than --since" audit list --since 1m --until 10m log.db
fails "an output without a name" "the file name is empty" audit export --format csv --output '' log.db

# --- stats ---
run audit stats log.db
status_is 0 "stats"
no_controls "stats: no control characters"
out_has '10 records of 12 events' "stats: how many"
out_has '2026-01-02 03:04:05 to 2026-01-03 03:04:14' "stats: from when to when"
out_has '1.2 kB sent, 5.7 MB received' "stats: bytes"
out_like '^  denied +4  █+$' "stats: by decision"
out_like '^  net.connect +3  █+$' "stats: by action"
out_like '^ +3  █{10} net.connect +evil.example.net:443$' "stats: what was denied most"
out_like '^ +4  █{10} /usr/bin/curl$' "stats: programs"
out_lacks 'than are counted' "stats: exact"
awk '{ gsub(/█|▏|▎|▍|▌|▋|▊|▉/, "x") } length > 80 { exit 1 }' "$scratch/out"
ok $? "stats: fits into 80 columns"
LC_ALL=C LANG=C run audit stats log.db
out_like '^  denied +4  #+$' "stats: bars without UTF-8"
run audit stats --decision denied --json log.db
is "$(python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
print(o["records"], o["events"], o["decisions"]["denied"], o["actions"]["net.connect"]["denied"], sorted(o["actions"]), o["from"],
      o["denied"][0], o["denied_approximate"], o["programs"][0])' "$scratch/out" 2>&1)" \
	"2 4 4 3 ['exec', 'net.connect'] 2026-01-02T03:04:08.000000000Z {'action': 'net.connect', 'target': 'evil.example.net:443', 'at_least': 3, 'at_most': 3} False {'program': '/usr/bin/curl', 'at_least': 3, 'at_most': 3}" "stats --json"
run audit stats --session nope log.db
out_has '0 records' "stats of nothing"
run audit stats --session nope --json log.db
is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["from"])' "$scratch/out")" None "stats of nothing as JSON"

# A command that makes up names: memory stays, the one that stands out is found, and it is said.
python3 -c '
for i in range(30000):
    print("{\"action\": \"fs.read\", \"decision\": \"denied\", \"target\": \"/made/up/%d\", \"program\": \"%s\"}" % (i, "x" * 1000 + str(i)))
    if i >= 6000 and i % 16 == 0: print("{\"action\": \"net.connect\", \"decision\": \"denied\", \"target\": \"often.example:443\"}")
' | "$MAKE_LOG" flood.db
run audit stats flood.db
out_like 'net.connect +often.example:443$' "a flood of names: what is frequent is found"
out_has 'too many different names to count all' "a flood of names: it says so"
out_lacks '/made/up/' "a flood of names: the others do not look frequent"
run audit stats --json flood.db
is "$(python3 -c 'import json, sys
o = json.load(open(sys.argv[1])); top = o["denied"][0]
print(o["denied_approximate"], top["target"], top["at_least"] <= 1500 <= top["at_most"], o["decisions"]["denied"])' "$scratch/out")" \
	'True often.example:443 True 31500' "a flood of names: the bounds are right"
if ! grep -q __asan "$CORRAL"; then
	python3 -c 'import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
os.execv(sys.argv[1], sys.argv[1:])' "$CORRAL" audit stats flood.db >/dev/null 2>"$scratch/err"
	ok $? "a flood of names: in 64 MiB"
fi
# Numbers that would overflow.
for i in 1 2 3; do
	echo '{"action": "limit", "target": "output", "count": 1000}'
	echo '{"action": "net.close", "decision": "denied", "target": "x", "program": "p", "count": 9223372036854775807, "sent": 9223372036854775807, "time": 9223372036854775807}'
done | "$MAKE_LOG" large.db
run audit stats --json large.db
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["events"], o["sent"], o["denied"][0]["at_most"])' "$scratch/out")" \
	'9223372036854775807 9223372036854775807 9223372036854775807' "sums stop at the largest number"
run audit list large.db
status_is 0 "large numbers are printed"
run audit stats --action limit large.db
out_has '3 records' "how much is not how often"
out_lacks 'of 3,000 events' "and is not summed up"

# --- export ---
for format in jsonl ocsf; do
	run audit export --format $format log.db
	[ "$status" -eq 0 ] && python3 -c 'import json, sys
assert len([json.loads(line) for line in open(sys.argv[1])]) == 10' "$scratch/out"
	ok $? "export: $format"
done
run audit export --format csv log.db
[ "$status" -eq 0 ] && python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert len(rows) == 10 and rows[3]["decision"] == "denied"' "$scratch/out"
ok $? "export: csv"
run audit export --format cef --decision denied log.db
is "$(grep -c '^CEF:0|Corral|' "$scratch/out")" 2 "export: cef, filtered"
run audit export --format csv --session nope log.db
is "$(wc -l <"$scratch/out")" 1 "export: csv has its head also with nothing below"
umask 022
run audit export --format jsonl --output out.jsonl log.db
{ [ "$status" -eq 0 ] && [ "$(wc -l <out.jsonl)" -eq 10 ] && [ "$(stat -c %a out.jsonl)" = 600 ]; }
ok $? "export --output: a file for its owner"
out_empty "and nothing else"
run audit export --format csv --output out.jsonl log.db
is "$(head -c 6 out.jsonl)" number "export --output: replaces the one before"
run audit export --format csv --output - log.db
is "$(head -c 6 "$scratch/out")" number "export --output -: standard output"
mkdir folder
run audit export --format csv --output folder/out.csv log.db
is "$(ls -A folder)" out.csv "export --output: nothing else is left"
cp log.db.head head.before
for name in log.db log.db.head log.db.key log.db.key.pub log.db.lock; do
	fails "export --output: not over $name" "is part of the log itself" audit export --format csv --output "./$name" log.db
done
cmp -s log.db.head head.before
ok $? "and they are as they were"
ln log.db second-name
fails "export --output: not under another name" "is part of the log itself" audit export --format csv --output second-name log.db
rm second-name
fails "export --output: not over a device" "not a regular file" audit export --format csv --output /dev/null log.db
[ -c /dev/null ]
ok $? "which is still there"
ln -s elsewhere link
fails "export --output: not over a link" "not a regular file" audit export --format csv --output link log.db
fails "export --output: no such folder" "cannot write no/such/folder" audit export --format csv --output no/such/folder log.db
if [ -w /dev/full ]; then
	status=0
	"$CORRAL" audit export --format jsonl log.db >/dev/full 2>"$scratch/err" || status=$?
	: >"$scratch/out"
	status_is 2 "export: a full disk is an error"
fi
# What cannot be read to its end is not exported.
cp log.db broken.db
sqlite broken.db "UPDATE record SET event = x'00' WHERE number = 7"
echo before >out.csv
fails "export of a damaged log" "record 7 cannot be read" audit export --format csv --output out.csv broken.db
is "$(cat out.csv)" before "and what was there stays"
run audit list broken.db
{ [ "$status" -eq 2 ] && [ "$(grep -c '#6$' "$scratch/out")" -eq 1 ]; }
ok $? "list of a damaged log: up to there, and an error"

# A number that no record can have hides nothing.
cp log.db odd.db
sqlite odd.db "INSERT INTO record SELECT -1, event, hash FROM record WHERE number = 1"
numbers "a record below 0" '1 2 3 4 5 6 7 8 9 10' list odd.db
numbers "nor does it from tail" '9 10' tail -n 2 odd.db

# More than fits into one piece: none is lost, none comes twice, in both directions.
numbers "many records" "$(seq -s ' ' 1 300)" list --limit 300 --session '' flood.db
run audit list --json flood.db
python3 -c 'import json, sys
assert [json.loads(line)["number"] for line in open(sys.argv[1])] == list(range(1, 31501))' "$scratch/out"
ok $? "all of many"
run audit list --json --newest --limit 20000 flood.db
python3 -c 'import json, sys
assert [json.loads(line)["number"] for line in open(sys.argv[1])] == list(range(31500, 11500, -1))' "$scratch/out"
ok $? "many of the newest"

# --- logs of others, and in folders that may not be written to ---
# As root nothing is refused: ask as another user then.
mkdir shelf && cp log.db shelf/ && cp log.db.head log.db.key.pub shelf/ && { "$MAKE_LOG" shelf/killed.db kill <events; } 2>/dev/null
chmod 755 "$scratch" "$scratch/work"
if [ "$(id -u)" -eq 0 ]; then
	chmod -R a+rX shelf && chmod 644 shelf/*
	cp "$CORRAL" "$scratch/corral" && chmod 755 "$scratch/corral"
	other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/corral" "$@"; }
else
	chmod 555 shelf
	other() { "$CORRAL" "$@"; }
fi
as_other() {
	status=0
	other "$@" </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
}
as_other audit list shelf/log.db
{ [ "$status" -eq 0 ] && [ "$(grep -c '#' "$scratch/out")" -eq 10 ]; }
ok $? "a folder that may not be written to"
as_other audit verify --key shelf/log.db.key.pub shelf/log.db
status_is 0 "and verified"
rm -f shelf/killed.db-shm 2>/dev/null || { chmod 755 shelf && rm -f shelf/killed.db-shm && chmod 555 shelf; }
as_other audit list shelf/killed.db
status_is 2 "a log that its writer did not close, there"
err_has "killed.db-wal" "the message names the file"
err_has "copy both files" "with what to do"
chmod 755 shelf
cp shelf/killed.db shelf/killed.db-wal .
numbers "the copy can be read" '1 2 3 4 5 6 7 8 9 10' list killed.db
if [ "$(id -u)" -eq 0 ]; then
	as_other audit list log.db
	status_is 2 "a log that one may not read"
	err_has "it belongs to root: run the command as this user" "the message names the owner"
else
	chmod 000 recent.db
	fails "a log that one may not read" "permission denied" audit list recent.db
fi

# --- what real runs write ---
run doctor
if [ "$status" -eq 1 ]; then
	number=$((number + 1))
	echo "ok $number - real runs # SKIP kernel: $(head -n 1 "$scratch/out")"
	done_testing
fi
status_is 0 "corral doctor"
mkdir project && cd project || exit 1
run run --audit default -- sh -c 'exit 3'
status_is 3 "a command with a log"
for i in 1 2 3; do
	"$CORRAL" run --audit default --timeout 1m -- sh -c "exit $i" >/dev/null 2>"$scratch/err" &
done
wait
run audit list --action command
is "$(grep -c 'command.start' "$scratch/out") $(grep -c 'command.end' "$scratch/out")" '4 4' "each run is there, also of several at once"
is "$(sed -n 's/.*command.end .*\(exit [0-9]\).*/\1/p' "$scratch/out" | sort | tr '\n' ' ')" 'exit 1 exit 2 exit 3 exit 3 ' "with its end"
answers 0 "the log verifies" 'all of them signed' audit verify
session=$("$CORRAL" audit list --json --limit 1 | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["session"])')
run audit stats --session "$session" --action command.start
out_has '1 record' "a session is one run"
run audit stats --session "$session" --json
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["actions"]["command.end"]["none"], o["actions"]["confinement"]["none"])' "$scratch/out")" '1 1' "and has all of it"

done_testing
