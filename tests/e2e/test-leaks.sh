#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every command once more, and once where it goes wrong, with the search for leaks on. It says
# something in a build with AddressSanitizer only, where a leak changes the exit status.
# shellcheck disable=SC2034,SC2154 # names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS="$leaks_options"

printf 'fs: {read: [/srv/**, /usr/**]}\nexec: [ls]\n' >p.yaml
printf 'fs: {read: [/srv/a/**]}\n' >q.yaml
printf 'fs: {raed: [/x]}\n' >typo.yaml
cp -R "$DATA/weather" "$DATA/rules" .

ends() { # ends STATUS ARGUMENT…
	wanted=$1 && shift
	run "$@"
	status_is "$wanted" "no leaks: corral $*"
}
ends 0 --help
ends 2 policy chek
ends 0 policy check -p p.yaml -p q.yaml --op fs.read --target /srv/a/x
ends 2 policy check -p p.yaml -p typo.yaml --op fs.read --target /srv/x
ends 1 policy explain -p p.yaml --op exec --target 'ls | rm x > y'
ends 1 policy check --json -p rules --op exec --target ls
ends 0 policy show p.yaml q.yaml
ends 2 policy show p.yaml typo.yaml
ends 0 policy merge p.yaml q.yaml
ends 1 policy subset p.yaml q.yaml
ends 0 policy lint q.yaml
ends 0 inspect weather
ends 0 approve --yes weather
ends 2 audit tail nope.db
ends 2 audit stats p.yaml
ends 2 audit verify nope.db
ends 2 audit check-proof --key nope nope
ends 0 prompt --mode rx --data-dir x
ends 0 profile seatbelt --mode rx --data-dir x
ends 2 profile seatbelt --policy typo.yaml
ends 125 run --profile nope -- true
ends 125 run -p typo.yaml -- true
if "$CORRAL" doctor >/dev/null; then
	ends 0 run -- true
	ends 3 run --json --read /srv --timeout 1h -- sh -c 'exit 3'
	ends 127 run -- no-such-program
	echo x >"$scratch/elsewhere"
	ends 1 run --explain -- cat "$scratch/elsewhere"
	ends 1 run --explain --json -- cat "$scratch/elsewhere"
	ends 126 run -- ./p.yaml
	ends 0 run --audit "$scratch/audit.db" -- true
	ends 125 run --audit ./audit.db -- true
	ends 125 run --skill weather --yes
	ends 0 doctor
fi

done_testing
