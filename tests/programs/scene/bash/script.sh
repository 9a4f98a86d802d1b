#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a script of every day uses.
set -euo pipefail
cat <<-HERE
	here: $((6 * 7))
HERE
printf '%s\n' pear apple fig | sort | head -n 2 | tr '[:lower:]' '[:upper:]'
diff <(seq 3) <(printf '1\n2\n3\n') && echo "substitution: same"
while read -r word; do echo "line: $word"; done < <(printf 'a\nb\n')
echo "tee" | tee >(cat >tee.out) >/dev/null
declare -A map=([k]=v) && echo "map: ${map[k]}"
coproc CAT { cat; }
pid=$CAT_PID
echo "coproc" >&"${CAT[1]}"
read -r answer <&"${CAT[0]}"
fd=${CAT[1]}
exec {fd}>&-
wait "$pid"
echo "$answer"
(exit 3) || echo "status: $?"
trap 'echo "trap: TERM"' TERM
kill -TERM $$
sleep 0 &
wait $! && echo "waited: $?"
[[ $- == *m* ]] || echo "job control: off"
exec 7>out.txt && echo "fd 7" >&7 && exec 7>&- && cat out.txt
ulimit -n >/dev/null && umask
false | true || echo "pipefail"
