#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The program explains itself, and knows what was meant.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

# Every command and its subcommands, as the overviews list them.
list() { # list [WORD…]
	run "$@" --help
	sed -n '/^Commands:/,/^$/ s/^  \([a-z-]*\)  .*/\1/p' "$scratch/out"
}
echo >verbs
list >groups
while read -r group; do
	echo "$group" >>verbs
	# shellcheck disable=SC2046 # words are words
	for word in $(list "$group"); do echo "$group $word" >>verbs; done
done <groups
[ "$(wc -l <verbs)" -gt 40 ]
ok $? "the overviews list the commands"

# --- every command has help: what it is for, its options, an example ---
while read -r words; do
	# shellcheck disable=SC2086 # words are words
	run $words --help
	{ [ "$status" -eq 0 ] && [ ! -s "$scratch/err" ] && grep -q "^Usage: corral${words:+ }$words" "$scratch/out" &&
		grep -q -x 'Examples:' "$scratch/out" && grep -q -E -x '(Options|Commands):' "$scratch/out"; }
	ok $? "corral ${words:+$words }--help"
	[ "$(LC_ALL=C.UTF-8 wc -L <"$scratch/out")" -le 80 ]
	ok $? "corral ${words:+$words }--help fits into 80 columns"
	cp "$scratch/out" wanted
	# shellcheck disable=SC2086
	run help $words
	is "$(cat "$scratch/out")" "$(cat wanted)" "corral help${words:+ $words} is the same"
done <verbs

# Each command that the overview lists exists.
run --help
sed -n '/^Commands:/,/^$/ s/^  \([a-z]*\) .*/\1/p' "$scratch/out" >listed
while read -r word; do
	run "$word" --help
	status_is 0 "the overview lists $word, which exists"
done <listed
run policy check -h
status_is 0 "-h is --help"
run policy check --policy nope.yaml --help
status_is 0 "--help counts wherever it stands"
# Each example of `policy` names commands that exist.
run policy --help
sed -n 's/^  corral policy \([a-z]*\) .*/\1/p' "$scratch/out" >used
while read -r word; do
	run policy "$word" --help
	status_is 0 "an example uses $word, which exists"
done <used

# --- the manual knows every option; test-completion.sh has what is completed ---
root=$(cd "$DATA/../../.." && pwd)
known() { # known PAGE WORD…: the options of a command, in its page
	page=$1 && shift
	run "$@" --help
	sed -n '/^Options:/,/^$/ s/^  [-, a-z]\{4\}\(--[a-z-]*\).*/\1/p' "$scratch/out" | sort -u >options
	missing=''
	while read -r option; do
		grep -q -F -e "$option" "$root/man/$page" || missing="$missing $option ($page)"
	done <options
	is "$missing" '' "corral $*: every option is in the manual"
}
for word in check explain show merge intersect subset lint replay shrink; do
	known corral-policy.1.scd policy $word
done
for word in tail list stats export verify prove check-proof; do
	known corral-audit.1.scd audit $word
done
known corral-run.1.scd run
known corral-shell.1.scd shell
known corral-learn.1.scd learn
known corral-doctor.1.scd doctor
for word in ps status events; do
	known corral-ps.1.scd $word
done
for word in list test set-up; do
	known corral-service.1.scd service $word
done
known corral-inspect.1.scd inspect
known corral-approve.1.scd approve
known corral-prompt.1.scd prompt
known corral-profile.1.scd profile seatbelt

# --- version ---
run --version
status_is 0 "--version"
out_like '^corral [0-9]+\.[0-9]+\.[0-9]+$' "--version: a name and a number"

# --- nothing said ---
run --help
cp "$scratch/out" wanted
run
status_is 0 "corral alone: status 0"
is "$(cat "$scratch/out")" "$(cat wanted)" "corral alone: its help, on standard output"
err_empty "corral alone: and nothing else"
run policy
status_is 2 "half a command: an error"
out_empty "half a command: nothing on standard output"
err_has "Commands:" "half a command: help on standard error"

# --- what was meant ---
fails "a misspelt command" 'did you mean `corral policy`?' polcy
fails "a misspelt second word" 'did you mean `corral policy check`?' policy chek
fails "a misspelt command behind help" 'did you mean `corral inspect`?' help inspct
fails "a misspelt option" "did you mean --policy?" policy check --polcy x
fails "a misspelt option with a value" "did you mean --target?" policy check --taget=x
fails "a misspelt option of approve" "did you mean --remove?" approve --remvoe x
fails "nothing like it" 'unknown command `frobnicate`' frobnicate
err_has 'corral --help' "points at the help"
fails "an unknown letter" "unknown option -x" policy check -x
fails "an unknown option in place of a command" 'unknown option `--verbose`' --verbose
fails "a profile that is not known" 'did you mean `corral profile seatbelt`?' profile seatbelts

# --- colours ---
printf 'fs: {read: [/srv]}\n' >p.yaml
in_terminal() { # runs in a terminal of its own and keeps what it shows
	script -q -e -c "$CORRAL $*" "$scratch/typescript" </dev/null >"$scratch/out" 2>"$scratch/err"
	status=$?
}
if command -v script >/dev/null 2>&1; then
	export TERM=xterm
	in_terminal policy check -p p.yaml --op fs.read --target /srv
	grep -q "$(printf '\033\\[1;32m')allow" "$scratch/out"
	ok $? "a terminal gets colours"
	NO_COLOR=1 in_terminal policy check -p p.yaml --op fs.read --target /srv
	! grep -q "$(printf '\033')" "$scratch/out"
	ok $? "not if NO_COLOR is set"
	TERM=dumb in_terminal policy check -p p.yaml --op fs.read --target /srv
	! grep -q "$(printf '\033')" "$scratch/out"
	ok $? "not on a dumb terminal"
fi

done_testing
