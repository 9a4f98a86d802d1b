#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `corral run` killed in the middle: its command goes with it, whatever that does against it.
. "$(dirname "$0")/lib.sh"

# The command cannot see its own number out here; it is found by what it was called with.
mark=87654$$

count() {
	n=0
	for f in /proc/[0-9]*/cmdline; do
		words=$({ tr '\0' ' ' <"$f"; } 2>/dev/null) || continue
		case $words in "sleep $mark "*) n=$((n + 1)) ;; esac
	done
}

# await NUMBER: waits until that many run, for a minute at most.
await() {
	for _ in $(seq 1200); do
		count
		[ "$n" -eq "$1" ] && return 0
		sleep 0.05
	done
	return 1
}

for signal in KILL TERM HUP; do
	"$CORRAL" run -- sh -c "trap '' TERM HUP INT; (setsid sleep $mark &); sleep $mark & sleep $mark; :" \
		</dev/null >"$scratch/out" 2>"$scratch/err" &
	host=$!
	await 3
	ok $? "three processes run"
	if [ $signal != KILL ]; then
		# The first is the command's to ignore; it ends when its host does.
		kill -$signal $host
		sleep 0.2
		count
		is "$n" 3 "SIG$signal is for the command, which ignores it"
	fi
	kill -KILL $host
	wait $host 2>/dev/null
	await 0
	ok $? "nothing is left after SIGKILL"
done

# A socket as standard input would be a way to the network: it could be connected anew. Its bytes go in, it does not;
# one for datagrams can be sent anywhere, and is refused.
if command -v python3 >/dev/null; then
	status=0
	python3 -c '
import socket, subprocess, sys
a = socket.create_server(("127.0.0.1", 0))
b = socket.create_connection(a.getsockname())
a.accept()[0].sendall(b"bytes")
sys.exit(subprocess.call(sys.argv[1:], stdin=b))
' "$CORRAL" run -- sh -c 'readlink /proc/self/fd/0; cat' >"$scratch/out" 2>"$scratch/err" || status=$?
	is "$status" 0 "a connection of the network can be standard input"
	grep -q '^pipe:' "$scratch/out" && grep -q '^bytes' "$scratch/out"
	ok $? "a connection of the network does not go in, its bytes do"
	status=0
	python3 -c '
import socket, subprocess, sys
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sys.exit(subprocess.call(sys.argv[1:], stdin=a))
' "$CORRAL" run -- true >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" -ne 0 ] && grep -q socket "$scratch/err"
	ok $? "a socket for datagrams is no standard input"
fi

run run -- sh -c 'tr -d "\000" </proc/1/cmdline; tr -d "\000" </proc/1/environ'
is "$(cat "$scratch/out")" "corral" "the words and variables of corral are not to be seen inside, just its name"

done_testing
