#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# WASI preview 1 for commands: every call that arguments, variables, folders, clocks, random numbers and streams need, with
# its errors (tests/wasm/wasi.c); and a folder that is changed from outside while a module opens what is in it.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/wasm/modules.sh disable=SC1091
. "$(dirname "$0")/../wasm/modules.sh"

needs_sandbox
c wasi wasi.c 'capabilities: {filesystem: {enabled: true, paths: [{guest: /rw, host: ./data, mode: rw}, {guest: /ro, host: ./fixed, mode: ro}]}}'
mkdir wasi/data wasi/fixed
echo fixed >wasi/fixed/file
echo secret >wasi/secret
run_with typed run --yes --env GIVEN=1 --skill wasi
out_has "all " "every call answers as preview 1 has it"
status_is 33 "and the status of proc_exit() is that of the run"
is "$(ls -A wasi/data)" "" "nothing is left behind"

# --- a race: swap is a folder with `file`, then a link to one with another, and so on ---
mkdir -p wasi/data/swap outside && echo own >wasi/data/swap/file && echo secret >outside/file
cat >swap.py <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
a, b = sys.argv[1].encode(), sys.argv[2].encode()
while True:
    if libc.syscall(ctypes.c_long(316 if os.uname().machine == "x86_64" else 276), -100, a, -100, b, 2) != 0:
        sys.exit(1)
END
for to in "$PWD/outside" ../../outside; do
	ln -sfn "$to" wasi/data/link
	python3 swap.py wasi/data/swap wasi/data/link &
	swapper=$!
	# So often at least, and until both were seen: on a busy machine the swapper may not run for seconds.
	run run --yes --skill wasi -- race 20000
	kill "$swapper" || ok 1 "the folder was changed all the time"
	wait "$swapper" 2>/dev/null
	out_is "own some, other some, secret 0" "a folder that becomes a link to $to and back"
	[ ! -L wasi/data/swap ] || mv wasi/data/link wasi/data/real
	[ ! -e wasi/data/real ] || { rm wasi/data/swap && mv wasi/data/real wasi/data/swap; }
done
done_testing
