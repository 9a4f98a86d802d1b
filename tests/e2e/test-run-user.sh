#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tests of the program once more as an ordinary user, where they are run as root: its own user
# namespace, keys, folders and rights are what most people have.
set -u

: "${CORRAL:?is the program to test}" "${MAKE_LOG:?is the program that makes logs}"
here=$(cd "$(dirname "$0")" && pwd) || exit 1
if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP kernel: not root, so the others ran as an ordinary user already"
	exit 0
fi
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
# A build folder may lie where only root can look, and so may the tests.
cp "$CORRAL" "$copy/corral" && cp "$MAKE_LOG" "$copy/make-log" && mkdir -p "$copy/tests/e2e" "$copy/tests/data"
cp "$here"/*.sh "$here"/*.py "$copy/tests/e2e/" && cp -R "$here/../data/cli" \
	"$here/../data/manifests" "$here/../data/audit" "$copy/tests/data/"
chmod -R a+rX "$copy"
number=0 failures=0
for name in test-run-limits.sh test-audit.sh test-audit-verify.sh test-crash.sh test-doctor.sh test-errors.sh test-formats.sh \
	test-inspect-approve.sh test-json.sh test-leaks.sh test-policy-algebra.sh test-policy-check.sh test-run.sh \
	test-run-agent.sh test-run-audit.sh test-run-descriptor.sh test-run-explain.sh test-run-home.sh test-run-later.sh test-run-links.sh \
	test-run-network.sh test-run-notes.sh test-run-policy.sh test-run-shield.sh test-run-listen.py test-run-appear.py test-run-sockets.py test-run-tier3.py \
	test-run-stdio.py test-run-terminal.py test-suggestions.py; do
	number=$((number + 1)) status=0
	case $name in *.py) with="python3" ;; *) with="sh" ;; esac
	(cd / && PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin TMPDIR=/tmp CORRAL=$copy/corral MAKE_LOG=$copy/make-log \
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$with" "$copy/tests/e2e/$name" </dev/null) >"$copy/out" 2>&1 || status=$?
	sed 's/^/# /' "$copy/out" | grep -a '^# \(not ok\|got\|wanted\|status\|out:\|err:\|# \|1\.\.\)'
	[ "$status" -eq 0 ] && echo "ok $number - $name as an ordinary user" && continue
	failures=$((failures + 1))
	echo "not ok $number - $name as an ordinary user"
done
echo "1..$number"
[ "$failures" -eq 0 ]
