#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tests of the program once more as an ordinary user, where they are run as root: its own user
# namespace, keys, folders and rights are what most people have.
#
#	test-run-user.sh           those that share nothing, three at a time: they mostly wait
#	test-run-user.sh alone     those that need much of what the user has, and those on terminals
#	test-run-user.sh once, alone-once    of both: attacks, kills and races, which have no second try
#	test-run-user.sh one FOLDER NAME
set -u

# one FOLDER NAME: runs a test of the copy; leaves NAME.out there and, when it has ended, NAME.status.
if [ "${1-}" = one ]; then
	copy=$2 name=$3 status=0
	case $name in *.py) with="python3" ;; *) with="sh" ;; esac
	(cd / && PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin TMPDIR=/tmp CORRAL=$copy/corral MAKE_LOG=$copy/make-log \
		CORRAL_WARDEN=$copy/corral-warden EXECUTE=$copy/built/examples/execute TOOLS=$copy/built/examples/tools \
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$with" "$copy/tests/e2e/$name" </dev/null) >"$copy/$name.out" 2>&1 || status=$?
	echo "$status" >"$copy/new-$name" && mv "$copy/new-$name" "$copy/$name.status"
	exit
fi

: "${CORRAL:?is the program to test}" "${MAKE_LOG:?is the program that makes logs}"
: "${CORRAL_WARDEN:?is beside it}" "${LIBRARY:?is libcorral}" "${EXECUTE:?is an example of it}" "${TOOLS:?is another}"
here=$(cd "$(dirname "$0")" && pwd) || exit 1
if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP kernel: not root, so the others ran as an ordinary user already"
	exit 0
fi
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
# A build folder may lie where only root can look, and so may the tests.
cp "$CORRAL" "$copy/corral" && cp "$MAKE_LOG" "$copy/make-log" && mkdir -p "$copy/tests/e2e" "$copy/tests/data"
# The examples find the library by its place beside them.
mkdir -p "$copy/built/examples" "$copy/built/src/lib" && cp "$CORRAL_WARDEN" "$copy/corral-warden" && cp "$LIBRARY" "$copy/built/src/lib/"
cp "$EXECUTE" "$copy/built/examples/execute" && cp "$TOOLS" "$copy/built/examples/tools"
cp "$here"/*.sh "$here"/*.py "$copy/tests/e2e/" && cp -R "$here/../data/cli" \
	"$here/../data/manifests" "$here/../data/audit" "$copy/tests/data/"
chmod -R a+rX "$copy"
# run_all COUNT NAME…: so many at a time.
run_all() {
	at_once=$1 && shift
	printf '%s\n' "$@" | xargs -P "$at_once" -I NAME sh "$0" one "$copy" NAME
}
# Those that take longest come first.
alone="" names=""
case ${1-} in
alone)
	alone="test-run-limits.sh test-run-sockets.py test-run-terminal.py"
	;;
once)
	names="test-run-later.sh test-audit-verify.sh test-crash.sh test-run-links.sh test-run-linked.sh"
	;;
alone-once)
	alone="test-run-appear.py"
	;;
*)
	names="test-audit.sh test-run-explain.sh test-run-stdio.py test-run.sh test-suggestions.py test-json.sh
		test-run-tier3.py test-run-audit.sh test-run-policy.sh test-inspect-approve.sh test-run-listen.py
		test-errors.sh test-run-descriptor.sh test-policy-check.sh test-run-network.sh test-doctor.sh
		test-run-agent.sh test-run-notes.sh test-policy-algebra.sh test-leaks.sh test-run-offline.py
		test-formats.sh test-run-home.sh test-run-shield.sh"
	;;
esac
# shellcheck disable=SC2086
if [ -n "$alone" ]; then
	names=$alone
	run_all 1 $alone &
else
	run_all 3 $names &
fi
workers=$!
number=0 failures=0
for name in $names; do
	number=$((number + 1))
	while [ ! -e "$copy/$name.status" ] && kill -0 "$workers" 2>/dev/null; do
		sleep 0.05
	done
	sed 's/^/# /' "$copy/$name.out" | grep -a '^# \(not ok\|got\|wanted\|status\|out:\|err:\|# \|1\.\.\)'
	[ -e "$copy/$name.status" ] && [ "$(cat "$copy/$name.status")" -eq 0 ] && echo "ok $number - $name as an ordinary user" && continue
	failures=$((failures + 1))
	echo "not ok $number - $name as an ordinary user"
done
wait "$workers" || failures=$((failures + 1))
echo "1..$number"
[ "$failures" -eq 0 ]
