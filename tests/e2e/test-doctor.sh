#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral doctor`: it answers, for people and for programs, and the answer is true.
# shellcheck disable=SC2034,SC2154 # names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

run doctor
{ [ "$status" -eq 0 ] || [ "$status" -eq 1 ]; }
ok $? "an answer"
answer=$status
err_empty "no messages"
case $(head -n 1 "$scratch/out") in "corral run "*) true ;; *) false ;; esac
ok $? "the first line is the answer"
out_has "Needed" "what is needed"
out_has "user namespaces" "user namespaces are"
out_like '^  tier 1 +(holds|not available)' "the tiers"
out_like '^  tier 2b' "all of them"
awk 'length > 104 { exit 1 }' "$scratch/out"
ok $? "fits into 100 columns"
no_controls "no colours where there is no terminal"
if [ "$answer" -eq 0 ]; then
	out_has "corral run works on this system" "says that it works"
	run run -- true
	status_is 0 "and it does"
else
	out_has "corral run does not work on this system" "says that it does not work"
	out_has "->" "and what to do"
	run run -- true
	status_is 125 "and it does not"
fi

run doctor --json
is "$status" "$answer" "--json: the same answer"
python3 - "$scratch/out" "$answer" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
assert (found["tier"] is not None) == (sys.argv[2] == "0")
assert len(found["tiers"]) == 5 and found["kernel"].startswith("Linux ")
names = [finding["name"] for finding in found["findings"]]
assert "user namespaces" in names and len(names) == len(set(names))
for finding in found["findings"]:
    assert finding["weight"] in ("required", "useful", "later") and finding["needed_for"]
    assert finding["held"] or finding["errno"] > 0
held = all(f["held"] for f in found["findings"] if f["weight"] == "required")
assert held == (found["tier"] == "1")
END
ok $? "--json: is as the manual says"

# Where user namespaces are off, it must say so: in a sandbox they are.
if [ "$answer" -eq 0 ]; then
	cp "$CORRAL" ./corral
	status=0
	"$CORRAL" run --env ASAN_OPTIONS -- ./corral doctor >"$scratch/out" 2>"$scratch/err" || status=$?
	status_is 1 "inside a sandbox there is no second one"
	out_like '^  no +user namespaces' "and it says what is missing"
	is "$(grep -c 'making a user namespace' "$scratch/out")" 1 "but a reason once only"
	out_has "same cause as user namespaces" "and what else fails by it"
	out_has "Corral's" "and that a sandbox may be the cause"
	"$CORRAL" run --env ASAN_OPTIONS -- ./corral run --work-dir . -- true >"$scratch/out" 2>"$scratch/err" </dev/null
	is $? 125 "corral run inside a sandbox fails"
	err_has "user namespace" "and says why"
fi
# What stands where /dev/null should: the first process cannot open it, and both say so.
broken() { # broken WORD…: with a socket in the place of /dev/null, in a mount namespace of its own
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$scratch/no-device" 2>/dev/null
	status=0
	# shellcheck disable=SC2016 # for the shell inside
	unshare --user --map-current-user --mount --keep-caps sh -c 'mount --bind "$1" /dev/null && shift && exec "$@"' sh \
		"$scratch/no-device" "$@" </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
}
broken true
if [ "$answer" -eq 0 ] && [ "$status" -eq 0 ]; then
	broken "$CORRAL" run -- true
	status_is 125 "without /dev/null nothing runs"
	err_has "cannot open /dev/null" "and it says why"
	err_has "corral doctor" "and where to ask"
	broken "$CORRAL" doctor
	status_is 1 "doctor finds it"
	is "$(head -n 1 "$scratch/out")" "corral run does not work on this system: missing is devices" "in its first line"
	out_has "opening /dev/null" "and says which"
	out_has "mknod -m 666" "and what to do"
else
	number=$((number + 1)) && echo "ok $number - without /dev/null # SKIP kernel: /dev/null cannot be covered here"
fi
fails "no operands" 'unexpected argument: `x`' doctor x

done_testing
