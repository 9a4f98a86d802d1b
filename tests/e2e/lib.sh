# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# What the end-to-end tests share. They use the built program ($CORRAL) as a person would, in a
# scratch folder that is also the home, and print TAP. Source it, assert, and call `done_testing`.

: "${CORRAL:?is the program to test}"
case $CORRAL in /*) ;; *) CORRAL=$PWD/$CORRAL ;; esac
# Where the samples are; the tests leave this folder.
# shellcheck disable=SC2034
DATA=$(cd "$(dirname "$0")/../data/cli" && pwd) || exit 1

scratch=$(mktemp -d) || exit 1
# Paths are compared with what links lead to, so the scratch folder itself must have none.
scratch=$(cd "$scratch" && pwd -P) || exit 1
trap 'chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/work" "$scratch/tmp"
# Nor does a test join a daemon of its user, or, as root, that of the system.
mkdir -m 700 "$scratch/runtime"
export XDG_RUNTIME_DIR="$scratch/runtime" HOME="$scratch/home" TMPDIR="$scratch/tmp" LC_ALL=C.UTF-8
export XDG_CONFIG_HOME="$HOME/.config" XDG_DATA_HOME="$HOME/.local/share" XDG_STATE_HOME="$HOME/.local/state"
unset NO_COLOR XDG_CACHE_HOME
# In a build with AddressSanitizer the search for leaks takes seconds, every time: test-leaks.sh does it.
# shellcheck disable=SC2034
leaks_options=${ASAN_OPTIONS-}
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
cd "$scratch/work" || exit 1

number=0 failures=0 status=0

# ok STATUS NAME: one result. What the last `run` printed is shown where it went wrong.
ok() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
		return
	fi
	failures=$((failures + 1))
	echo "not ok $number - $2"
	echo "# status $status"
	sed 's/^/# out: /' "$scratch/out"
	sed 's/^/# err: /' "$scratch/err"
}

# run ARGUMENT…: runs corral; `status`, $scratch/out and $scratch/err say what came of it.
run() {
	status=0
	"$CORRAL" "$@" </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
}
# The same with a text on standard input.
run_with() {
	text=$1 && shift
	status=0
	printf '%s' "$text" | "$CORRAL" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
}

is() { # is GOT WANTED NAME
	[ "$1" = "$2" ] || printf 'got:    %s\nwanted: %s\n' "$1" "$2" | sed 's/^/# /'
	[ "$1" = "$2" ]
	ok $? "$3"
}
status_is() { is "$status" "$1" "$2"; } # status_is STATUS NAME
out_is() { is "$(cat "$scratch/out")" "$1" "$2"; }
out_has() { # out_has TEXT NAME; likewise the others
	grep -q -F -e "$1" "$scratch/out"
	ok $? "$2"
}
out_lacks() {
	! grep -q -F -e "$1" "$scratch/out"
	ok $? "$2"
}
out_like() {
	grep -q -E -e "$1" "$scratch/out"
	ok $? "$2"
}
out_empty() {
	[ ! -s "$scratch/out" ]
	ok $? "$1"
}
err_has() {
	grep -q -F -e "$1" "$scratch/err"
	ok $? "$2"
}
err_lacks() {
	! grep -q -F -e "$1" "$scratch/err"
	ok $? "$2"
}
err_empty() {
	[ ! -s "$scratch/err" ]
	ok $? "$1"
}
# No control bytes but newlines in what was printed.
no_controls() {
	[ "$(cat "$scratch/out" "$scratch/err" | LC_ALL=C tr -d '\n' | LC_ALL=C tr -d '\040-\176\200-\377' | wc -c)" -eq 0 ]
	ok $? "$1"
}

# fails NAME TEXT ARGUMENT…: an error: status 2, nothing on standard output, and a message with TEXT.
fails() {
	name=$1 text=$2 && shift 2
	run "$@"
	{ [ "$status" -eq 2 ] && [ ! -s "$scratch/out" ] && grep -q -F -e "$text" "$scratch/err" &&
		grep -q '^corral: ' "$scratch/err"; }
	ok $? "$name"
}
# answers STATUS NAME TEXT ARGUMENT…: an answer with TEXT in it, and no messages.
answers() {
	wanted=$1 name=$2 text=$3 && shift 3
	run "$@"
	{ [ "$status" -eq "$wanted" ] && grep -q -F -e "$text" "$scratch/out" && [ ! -s "$scratch/err" ]; }
	ok $? "$name"
}

# Where no sandbox can be had there is nothing to test; `corral doctor` says why. That it has no answer
# is no reason to skip anything.
needs_sandbox() {
	run doctor
	[ "$status" -ne 0 ] || return 0
	[ "$status" -eq 1 ] || { ok 1 "corral doctor answers" && done_testing; }
	echo "1..0 # SKIP kernel: $(head -n 1 "$scratch/out")"
	exit 0
}

# --- of `corral run` ---
run_prints() { # run_prints TEXT NAME ARGUMENT…: that and nothing else, and no message of Corral's
	wanted=$1 name=$2 && shift 2
	run run "$@"
	[ "$(cat "$scratch/out")" = "$wanted" ] && ! grep -q '^corral: ' "$scratch/err"
	ok $? "$name"
}
run_stops() { # run_stops NAME ARGUMENT…: the command runs, and what it tries fails
	name=$1 && shift
	run run "$@"
	{ [ "$status" -ne 0 ] && [ "$status" -lt 124 ] && [ ! -s "$scratch/out" ]; }
	ok $? "$name"
}
run_refuses() { # run_refuses STATUS NAME TEXT ARGUMENT…: nothing runs, and a message with the text says why
	wanted=$1 name=$2 text=$3 && shift 3
	run run "$@"
	{ [ "$status" -eq "$wanted" ] && [ ! -s "$scratch/out" ] && grep -q -F -e "$text" "$scratch/err" &&
		grep -q '^corral: ' "$scratch/err"; }
	ok $? "$name"
}

# A python3 that first looks for the right one, as that of pyenv, takes a tenth of a second each time. Not for tests that
# run it in the background: $! would be a shell.
use_one_python3() {
	python=$(python3 -c 'import sys; print(sys.executable)') || exit 1
	python3() { "$python" "$@"; }
}

done_testing() {
	echo "1..$number"
	[ "$failures" -eq 0 ]
	exit
}
