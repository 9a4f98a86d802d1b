#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# corral audit verify, prove, check-proof: whatever is done to a log by a process that can write to its
# files but has not its key is found, and the record is named.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
use_one_python3
: "${MAKE_LOG:?is the program that writes logs}"
case $MAKE_LOG in /*) ;; *) MAKE_LOG=$OLDPWD/$MAKE_LOG ;; esac

events() { # events FIRST LAST
	for i in $(seq "$1" "$2"); do
		echo "{\"action\": \"fs.read\", \"target\": \"/srv/file-$i\", \"decision\": \"denied\", \"session\": \"s\", \"sequence\": $i, \"time\": 1767323045000000000}"
	done
}
# 60 records, with signed heads at 0, 20, 40 and 60; and a copy from when there were 40.
{ events 1 20 && echo sign && events 21 40; } | "$MAKE_LOG" base.db >/dev/null
mkdir old && cp base.db* old/
events 41 60 | "$MAKE_LOG" base.db
for suffix in '' .head .key.pub; do [ -s "base.db$suffix" ] || ok 1 "base.db$suffix is there"; done
fresh() { # fresh: log.db is a copy of the base, with what belongs to it
	rm -f log.db*
	for suffix in '' .head .key .key.pub; do cp "base.db$suffix" "log.db$suffix"; done
}
# tamper CODE: Python, on log.db: `c` is the connection, `row(n)` a record, `rehash(n)` makes all hashes from n on anew.
cat >tamper.py <<'END'
import hashlib, json, sqlite3, struct, sys
c = sqlite3.connect("log.db")
def h(tag, *parts): return hashlib.blake2b(bytes([tag]) + b"".join(parts), digest_size=32).digest()
def row(n): return c.execute("SELECT event, hash FROM record WHERE number = ?", (n,)).fetchone()
def put(n, event, hash): c.execute("UPDATE record SET event = ?, hash = ? WHERE number = ?", (event, hash, n))
def flip(blob, at): return blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1:]
def rehash(n):
    chain = row(n - 1)[1]
    for number, event in c.execute("SELECT number, event FROM record WHERE number >= ? ORDER BY number", (n,)).fetchall():
        chain = h(2, chain, h(0, event))
        c.execute("UPDATE record SET hash = ? WHERE number = ?", (chain, number))
exec(sys.argv[1])
c.commit()
c.close()
END
tamper() { python3 tamper.py "$1" || ok 1 "tamper: $1"; }
# found NAME TEXT [OPTION…]: verify says no, with TEXT in its first line, and what to do.
found() {
	name=$1 text=$2 && shift 2
	run audit verify "$@" log.db
	{ [ "$status" -eq 1 ] && head -n 1 "$scratch/out" | grep -q -F -e "$text" && grep -q -e '-> ' "$scratch/out" && [ ! -s "$scratch/err" ]; }
	ok $? "$name"
}
# A case: what is done, and what is found.
attack() { # attack NAME TEXT CODE
	fresh
	tamper "$3"
	found "$1" "$2"
}

# --- as it was written ---
fresh
run audit verify log.db
status_is 0 "a log as it was written"
out_has 'fine: 60 records, all of them signed' "verify says so"
out_has 'verified  60 records; there are 1 to 60' "how many"
out_has 'signed    up to record 60' "how far it is signed"
id=$(sed -n 's/^  key  *\([0-9a-f]*\)$/\1/p' "$scratch/out")
is "$(python3 -c 'import hashlib; print(hashlib.blake2b(bytes.fromhex(open("log.db.key.pub").read()), digest_size=16).hexdigest())')" "$id" "and the id of the key"
run audit verify --json log.db
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print([o[k] for k in ("fine", "fault", "number", "records", "first", "last", "signed_up_to", "removed", "key")])' "$scratch/out")" \
	"[True, None, None, 60, 1, 60, 60, 0, '$id']" "--json"
mkdir elsewhere && cp base.db.head elsewhere/h && cp base.db.key.pub elsewhere/k
answers 0 "--key and --head" fine audit verify --key elsewhere/k --head elsewhere/h log.db
mkdir -p "$XDG_STATE_HOME/corral"
for suffix in '' .head .key.pub; do cp "base.db$suffix" "$XDG_STATE_HOME/corral/audit.db$suffix"; done
answers 0 "one's own log" "$XDG_STATE_HOME/corral/audit.db" audit verify

# --- changed ---
attack "a byte of a record" "changed: record 17 does not match its hash" 'e, x = row(17); put(17, flip(e, len(e) - 2), x)'
attack "the target of a record" "changed: record 33 " 'e, x = row(33); put(33, e.replace(b"/srv/file-33", b"/srv/file-99"), x)'
attack "a denial becomes a permission" "changed: record 5 " 'e, x = row(5); put(5, e[:8] + e[8:10] + bytes([1]) + e[11:], x)'
attack "the hash of a record" "changed: record 17 " 'e, x = row(17); put(17, e, flip(x, 0))'
attack "the last record" "changed: record 60 " 'e, x = row(60); put(60, flip(e, 20), x)'
attack "the first record" "changed: record 1 " 'e, x = row(1); put(1, flip(e, 20), x)'
attack "a record with all hashes behind it" "changed: at least one of the records 21 to 40" 'e, x = row(33); put(33, flip(e, 20), x); rehash(33)'
attack "a record with some of the hashes behind it" "changed: record 17 " '
e, x = row(10); old = row(17); put(10, flip(e, 20), x); rehash(10); put(17, *old)'
out_has 'or one between it and the previous signed head' "only a head proves what comes before"
attack "a record that is no blob" "changed: record 9 cannot be read" 'c.execute("UPDATE record SET event = 5 WHERE number = 9")'
attack "a record in place of another log's" "changed: record 17 " 'e, x = row(17); put(17, e[:8] + row(18)[0][8:], x)'

# --- removed ---
attack "a record is taken out" "removed: record 17 is missing" 'c.execute("DELETE FROM record WHERE number = 17")'
attack "the first record" "removed: record 1 " 'c.execute("DELETE FROM record WHERE number = 1")'
attack "a whole segment" "removed: record 21 " 'c.execute("DELETE FROM record WHERE number BETWEEN 21 AND 40"); c.execute("DELETE FROM head WHERE number = 40")'
attack "the old ones, without a head that allows it" "removed: record 1 " 'c.execute("DELETE FROM record WHERE number <= 20")'
attack "the old ones with their heads" "headless: " 'c.execute("DELETE FROM record WHERE number <= 20"); c.execute("DELETE FROM head WHERE number < 20")'
attack "and the others are renumbered" "removed: record 17 is missing: later ones" '
c.execute("DELETE FROM record WHERE number = 17")
for n in range(18, 61): c.execute("UPDATE record SET number = ? WHERE number = ?", (n - 1, n))'
attack "and their hashes are recomputed" "changed: at least one of the records 1 to 20" '
c.execute("DELETE FROM record WHERE number = 17")
for n in range(18, 61): c.execute("UPDATE record SET number = ?, event = ? WHERE number = ?", (n - 1, struct.pack("<Q", n - 1) + row(n)[0][8:], n))
rehash(17)'

# --- moved ---
attack "two records change places" "reordered: record 17 was replaced by record 18" 'a, b = row(17), row(18); put(17, *b); put(18, *a)'
attack "far from each other" "reordered: record 3 was replaced by record 55" 'a, b = row(3), row(55); put(3, *b); put(55, *a)'
attack "one is there twice" "reordered: record 18 was replaced by record 17" 'put(18, *row(17))'
attack "with numbers and hashes recomputed" "changed: at least one of the records 1 to 20" '
a, b = row(17)[0], row(18)[0]
put(17, a[:8] + b[8:], b""); put(18, b[:8] + a[8:], b""); rehash(17)'
attack "a record before the first" "changed: record 0 " 'c.execute("INSERT INTO record VALUES (0, ?, ?)", row(1))'
attack "a record with a number below 0" "record 1 " 'c.execute("INSERT INTO record VALUES (-1, ?, ?)", row(1))'

# --- cut off ---
attack "the end is cut off" "truncated: the log ends with record 50, but was signed up to 60" 'c.execute("DELETE FROM record WHERE number > 50")'
attack "back to an older head" "truncated: the log ends with record 40, but was signed up to 60" '
c.execute("DELETE FROM record WHERE number > 40"); c.execute("DELETE FROM head WHERE number > 40")'
run audit verify --json log.db
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["fine"], o["fault"], o["number"], o["signed_up_to"])' "$scratch/out")" \
	"False truncated 41 40" "--json: the first that is missing"
run audit verify --head '' log.db
status_is 0 "which is not found without a later head"
out_has 'truncated at an earlier signed head' "and verify says so"
run audit verify --head base.db.head log.db
status_is 1 "but with one that was kept elsewhere"
attack "to nothing at all" "truncated: the log ends with record 0" 'c.execute("DELETE FROM record"); c.execute("DELETE FROM head WHERE number > 0")'
fresh && cp old/base.db log.db
found "an older copy in its place" "truncated: "
fresh && cp old/base.db log.db && cp old/base.db.head log.db.head
run audit verify log.db
status_is 0 "with its head only a head elsewhere can tell"
found "which does" "truncated: " --head elsewhere/h
fresh && rm log.db
found "the log is gone" "truncated: the log does not exist, but was signed up to record 60"
fresh && : >log.db
found "the log is empty" "unreadable: the file is not a log any more, but was signed up to record 60"
fresh && head -c 8192 base.db >log.db
run audit verify log.db
status_is 1 "half a file"
fresh && python3 -c '
data = bytearray(open("log.db", "rb").read()); at = data.index(b"/srv/file-30"); data[at - 100:at + 100] = bytes(200)
open("log.db", "wb").write(data)'
run audit verify log.db
status_is 1 "a hole in the file"
fresh && printf 'garbage' | dd of=log.db conv=notrunc 2>/dev/null
found "no database any more" "unreadable: "

# --- heads ---
attack "a head is edited" "unsigned: " 'c.execute("UPDATE head SET head = ? WHERE number = 40", (flip(c.execute("SELECT head FROM head WHERE number = 40").fetchone()[0], 60),))'
attack "the signature of the last" "unsigned: the head at record 60 was changed after it was signed" 'c.execute("UPDATE head SET signature = ? WHERE number = 60", (flip(c.execute("SELECT signature FROM head WHERE number = 60").fetchone()[0], 5),))'
attack "the last head is gone" "headless: the signed head at record 60 is missing" 'c.execute("DELETE FROM head WHERE number = 60")'
attack "all heads are gone" "headless: " 'c.execute("DELETE FROM head")'
attack "a head says that old ones may be gone" "unsigned: " '
b = bytearray(c.execute("SELECT head FROM head WHERE number = 60").fetchone()[0]); b[44] = 20
c.execute("UPDATE head SET head = ? WHERE number = 60", (bytes(b),)); c.execute("DELETE FROM record WHERE number <= 20")'
fresh && sed -i 's/"number": *60/"number":40/' log.db.head
found "the head file was edited" "unsigned: the head at record 40 in the head file was changed after it was signed"
fresh && sed -i 's/60/61/' log.db.head
found "or says more than there is" "unsigned: "
fresh && echo '{}' >log.db.head
found "or says nothing" "unsigned: the head file contains no signed head"
fresh && rm log.db.head
found "or is gone" "headless: the head file"
out_has "--head ''" "and how to verify without it"
fresh && { events 1 5 | "$MAKE_LOG" other.db; } && cp other.db.head log.db.head
found "or is of another log" "unsigned: "

# --- keys ---
fresh && cp other.db.key.pub log.db.key.pub
found "another public key" "unsigned: the head at record 60 was signed with another key"
found "another public key, named" "was signed with another key" --key other.db.key.pub
answers 0 "the right one, kept elsewhere" fine audit verify --key elsewhere/k log.db
rm -f log.db* && { events 1 60 | "$MAKE_LOG" log.db; }
answers 0 "a log that was written again with another key looks fine" fine audit verify log.db
out_lacks "$id" "but has another key"
found "the right key detects it" "was signed with another key" --key elsewhere/k --head elsewhere/h

# --- what else does not belong there ---
for thing in 'CREATE TABLE extra (x)' 'CREATE INDEX i ON record (hash)' 'CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END'; do
	fresh && tamper "c.execute('$thing')"
	found "${thing%% (*}" "unreadable: the file is not a log any more"
done

# --- not signed yet ---
fresh
tamper 'e = struct.pack("<Q", 61) + row(60)[0][8:]; c.execute("INSERT INTO record VALUES (61, ?, ?)", (e, b"")); rehash(61)'
answers 0 "what is behind the last head is not proved" 'fine: 61 records; those after 60 are not signed yet' audit verify log.db
fresh && { events 61 70 | "$MAKE_LOG" log.db kill; } >/dev/null 2>&1
answers 0 "nor is what a killed writer left" 'those after 60 are not signed yet' audit verify log.db
tamper 'e, x = row(65); put(65, flip(e, 20), x)'
found "but a change in it is seen" "changed: record 65 "

# --- no answer ---
fresh && rm log.db.key.pub
fails "no public key" "use --key FILE" audit verify log.db
fails "one that is none" "not a public key" audit verify --key tamper.py log.db
fails "no log, no head" "no audit log at" audit verify nope.db
for suffix in .head .key.pub; do
	fresh && rm "log.db$suffix" && mkfifo "log.db$suffix"
	fails "a pipe in the place of log.db$suffix is not waited for" "not a regular file" audit verify log.db
done
fresh && rm log.db.head && : >log.db
fails "an empty file without a head" "the file is empty" audit verify log.db

# --- while another process writes ---
fresh
mkfifo feed
"$MAKE_LOG" log.db <feed >/dev/null &
writer=$!
python3 -c '
for i in range(40000):
    print("{\"action\": \"env\", \"target\": \"V%d\"}" % i)
    if i % 100 == 0: print("sign" if i % 1000 == 0 else "commit")' >feed &
bad=0
for i in 1 2 3 4 5 6 7 8; do
	"$CORRAL" audit verify log.db >"$scratch/out" 2>"$scratch/err" || bad=$((bad + 1))
done
wait "$writer"
is "$bad" 0 "a log is fine while it is written"
answers 0 "and when it was" 'fine: 40060 records' audit verify log.db

# --- proofs ---
fresh
for n in 1 17 40 60; do
	run audit prove $n log.db
	{ [ "$status" -eq 0 ] && [ "$(wc -l <"$scratch/out")" -eq 1 ]; }
	ok $? "prove $n"
	cp "$scratch/out" proof-$n
	answers 0 "check-proof $n" "/srv/file-$n" audit check-proof --key elsewhere/k proof-$n
done
out_has "$id" "with the id of the key"
run_with "$(cat proof-17)" audit check-proof -k elsewhere/k -
status_is 0 "from standard input"
answers 0 "with the key of one's own log" 'proved' audit check-proof proof-17
run audit check-proof --json --key elsewhere/k proof-17
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["proved"], o["key"], o["record"]["number"], o["record"]["target"])' "$scratch/out")" \
	"True $id 17 /srv/file-17" "--json"
# forge NAME CODE: `p` is the proof.
forge() {
	python3 -c 'import json, sys; p = json.load(open("proof-17")); exec(sys.argv[1]); json.dump(p, open("forged", "w"))' "$2"
	answers 1 "$1" "not proved: " audit check-proof --key elsewhere/k forged
}
forge "another record" 'p["record"] = json.load(open("proof-40"))["record"]'
forge "another record under its own number" 'q = json.load(open("proof-40")); p["record"], p["number"] = q["record"], q["number"]'
forge "a changed record" 'p["record"] = p["record"].replace("66696c65", "66696c66")'
forge "another number" 'p["number"] = 18'
forge "another path" 'p["path"][0] = p["path"][1]'
forge "a shorter path" 'p["path"].pop()'
forge "a longer path" 'p["path"].append(p["path"][0])'
forge "another root" 'p["head"]["root"] = "0" * 64'
forge "another signature" 'p["head"]["signature"] = "0" * 128'
forge "no head" 'del p["head"]'
forge "another format" 'p["format"] = "x"'
run audit check-proof --json --key elsewhere/k forged
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["proved"], o["record"], o["reason"])' "$scratch/out")" \
	"False None not a proof of Corral" "--json: not proved"
answers 1 "another key" 'was signed with another key' audit check-proof --key other.db.key.pub proof-17
echo 'no proof' >text && : >nothing
answers 1 "a text is no proof" "not proved" audit check-proof --key elsewhere/k text
answers 1 "nothing is no proof" "not proved" audit check-proof --key elsewhere/k nothing
fails "no such file" "cannot be read" audit check-proof --key elsewhere/k nope
fails "an endless one" "too large to be a proof" audit check-proof --key elsewhere/k /dev/zero
fails "no such key" "no public key was given" audit check-proof --key nope proof-17
# no_proof NAME TEXT NUMBER: an answer, and the answer is no.
no_proof() {
	run audit prove "$3" log.db
	{ [ "$status" -eq 1 ] && [ ! -s "$scratch/out" ] && grep -q -F -e "$2" "$scratch/err"; }
	ok $? "$1"
}
no_proof "no such record" "there is no record 61; the log has 1 to 60" 61
mkdir links && ln -s ../log.db links/log.db
answers 0 "what belongs to a log lies where a link to it leads" "fine: 60 records" audit verify links/log.db
fails "and is not written over through one" "is part of the log itself" \
	audit export --format csv --output log.db.key.pub links/log.db
tamper 'e, x = row(33); put(33, flip(e, 20), x); rehash(33)'
no_proof "nothing is proved from a log that was changed" "do not match the signed head" 17
fresh && { events 61 62 | "$MAKE_LOG" log.db kill; } >/dev/null 2>&1
no_proof "nor what no head covers yet" "no signed head covers record 62 yet" 62
err_has "how far the log is signed" "the hint says how to find out"

done_testing
