#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --json: one object, the documented keys, the same exit status.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

printf "fs: {read: [/srv/**], deny: [/srv/x]}\nexec: [ls, 'git status:*', sh]\n" >p.yaml
printf 'fs: {read: [/usr/**]}\n' >q.yaml
cp -R "$DATA/weather" "$DATA/helper" .

# json STATUS NAME ARGUMENT…: valid JSON, an object, this status, no messages.
json() {
	wanted=$1 name=$2 && shift 2
	run "$@"
	{ [ "$status" -eq "$wanted" ] && [ ! -s "$scratch/err" ] && python3 -m json.tool "$scratch/out" >/dev/null 2>&1 &&
		[ "$(head -c 1 "$scratch/out")" = '{' ]; }
	ok $? "$name"
}
# value EXPRESSION WANTED NAME: a value in the last object `o`, as Python sees it.
value() {
	got=$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$scratch/out" "$1" 2>&1)
	is "$got" "$2" "$3"
}

json 0 "check: allow" policy check --json -p p.yaml --op fs.read --target /srv/y
value 'o["verdict"]' allow "verdict"
value 'o["op"]' fs.read "op"
value 'o["target"]' /srv/y "target"
value 'o["rule"]["file"]' p.yaml "rule.file"
value 'o["rule"]["line"]' 1 "rule.line"
value 'o["rule"]["list"]' fs.read "rule.list"
value 'o["rule"]["pattern"]' '/srv/**' "rule.pattern"
value 'o["remedy"]' None "nothing to mend"
json 1 "check: deny" policy check --json -p p.yaml --op fs.read --target /etc/x
value 'o["rule"]' None "no rule decided"
value 'o["reason"]' "nothing in fs.read or fs.write grants it" "reason"
value 'o["line"]' 'fs: {read: ["/etc/x"]}' "line"
value '"p.yaml" in o["remedy"]' True "remedy"
# The line does what it says.
python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["line"])' "$scratch/out" >line.yaml
run policy merge p.yaml line.yaml && cp "$scratch/out" mended.yaml
json 0 "merged into the policy the line allows it" policy check --json -p mended.yaml --op fs.read --target /etc/x

json 1 "explain: layers" policy explain --json -p p.yaml -p q.yaml --op fs.read --target /srv/y
value '[(l["origin"], l["verdict"]) for l in o["layers"]]' "[('p.yaml', 'allow'), ('q.yaml', 'deny')]" "layers"
value 'o["layers"][0]["rule"]["line"]' 1 "layers[].rule"
json 1 "explain: a command line" policy explain --json -p p.yaml --op exec --target 'ls | rm x; cd /; $T'
value '[(c["text"], c["verdict"], c["kind"]) for c in o["commands"]]' \
	"[('ls', 'allow', 'judged'), ('rm x', 'deny', 'judged'), ('cd /', 'allow', 'builtin'), ('\$T', 'deny', 'unknown')]" "commands"
value 'o["commands"][3]["dynamic"]' True "commands[].dynamic"
json 0 "explain: an interpreter" policy explain --json -p p.yaml --op exec --target sh
value 'any("any code" in n for n in o["notes"])' True "notes"
ln -s /etc link
json 1 "explain: a link" policy explain --json -p p.yaml --op fs.read --target link/x
value 'o["real"]' /etc/x "real: where links lead"
json 1 "bytes that are no UTF-8" policy check --json -p p.yaml --op fs.read --target "$(printf '/x\377y')"
json 1 "control bytes" policy check --json -p p.yaml --op fs.read --target "$(printf '/x\033\001y')"

json 0 "show" policy show --json p.yaml
value 'o["fs"]["deny"]' "['/srv/x']" "show: permissions"
json 0 "merge" policy merge --json p.yaml q.yaml
json 0 "intersect" policy intersect --json p.yaml q.yaml
json 0 "subset: yes" policy subset --json p.yaml p.yaml
value '(o["subset"], o["answer"])' "(True, 'yes')" "subset: answer"
json 1 "subset: no" policy subset --json p.yaml q.yaml
value '(o["subset"], o["op"])' "(False, 'fs.read')" "subset: what"
value 'o["target"].startswith("/srv")' True "subset: an example"
printf 'fs: {write: [/**]}\n' >wide.yaml
json 1 "lint" policy lint --json wide.yaml
value 'o["clean"]' False "lint: clean"
value 'sorted(o["findings"][0])' "['column', 'file', 'hint', 'id', 'line', 'pattern', 'severity', 'text']" "lint: findings"
json 0 "prompt" prompt --json --mode sandbox --data-dir /srv/a
value '(o["mode"], o["data_dir"], "/srv/a" in o["prompt"])' "('sandbox', '/srv/a', True)" "prompt: keys"
json 0 "prompt: nothing to say" prompt --json --mode rwx
value 'o["prompt"]' None "prompt: null"
json 0 "profile" profile seatbelt --json --mode sandbox --data-dir /srv/a
value '(o["kind"], "(version 1)" in o["profile"])' "('seatbelt', True)" "profile: keys"

json 1 "inspect: a skill with signs of risk" inspect --json helper
json 0 "inspect: one without" inspect --json weather
json 1 "approve --check: not yet" approve --json --check weather
value 'o["approved"]' False "approve --check: approved"
json 0 "approve" approve --json --yes weather
value 'o["approved"]' True "approve: approved"
json 0 "approve --check: now" approve --json --check weather
value 'o["approved"]' True "approve --check: approved"
json 0 "approve --remove" approve --json --remove weather
value 'o["approved"]' False "approve --remove: approved"

# An error is a document as well, and stays a message (test-json-verbs.py has every verb).
run policy check --json -p nope.yaml --op env --target X
status_is 2 "an error: the status"
value '(o["status"], o["error"]["file"], o["denied"])' "(2, 'nope.yaml', [])" "an error: the document"
err_has "nope.yaml: cannot be read" "an error: the message"

done_testing
