#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A short walk through Corral, with the program that was just built:
#
#   tests/e2e/demo.sh [PROGRAM]        or CORRAL=PROGRAM tests/e2e/demo.sh
#
# Each step says which exit status it expects, and the demo fails if another comes.
set -u
CORRAL=${1:-${CORRAL:-}}
[ -x "$CORRAL" ] || { echo "usage: tests/e2e/demo.sh PROGRAM" >&2; exit 2; }
CORRAL=$(cd "$(dirname "$CORRAL")" && pwd)/$(basename "$CORRAL") || exit 2
cd "$(dirname "$0")/../data/cli" || exit 2

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') dim=$(printf '\033[2m') off=$(printf '\033[0m')
else
	bold='' dim='' off=''
fi
wrong=0

say() { printf '\n%s# %s%s\n' "$dim" "$*" "$off"; }

# The command as one would type it, on two lines if it is long.
typed() {
	line='$ corral'
	for word in "$@"; do
		case $word in
		*[!A-Za-z0-9_./:=,@%+-]*) line="$line '$word'" ;;
		*) line="$line $word" ;;
		esac
	done
	[ ${#line} -le 100 ] || line=$(printf '%s' "$line" | sed 's/ --op/ \\\n    --op/')
	printf '%s%s%s\n' "$bold" "$line" "$off"
}
expect() { # expect WANTED GOT
	[ "$1" -eq "$2" ] && return
	echo "demo: exit status $2, and $1 was expected" >&2
	wrong=1
}
# step STATUS ARGUMENT…
step() {
	wanted=$1 && shift
	typed "$@"
	"$CORRAL" "$@" </dev/null
	expect "$wanted" $?
}

say "A skill says what it needs, in the frontmatter of its SKILL.md:"
sed -n '/^permissions/,/^---/p' weather/SKILL.md | sed '$d; s/^/    /'

say "May it reach its own host? The exit status is the answer, the line is for you."
step 0 policy check -p weather --op net.connect --target https://api.weather.example/v1/now

say "A host that only looks like it? Corral says why not, and what would allow it."
step 1 policy explain -p weather --op net.connect --target https://api.weather.example.evil.test/

say "The company and the agent have a say, too. All of them must allow; in a command line, every part."
# shellcheck disable=SC2016 # the shell of the command line expands it, not this one
step 1 policy explain -p weather -p agent.yaml -p company.yaml \
	--op exec --target 'curl -s $URL | jq . && rm -rf /'

say "What is left for the skill? Exactly what all three allow:"
step 0 policy intersect weather agent.yaml company.yaml

say "Before you run somebody's skill, look at it. This one promises to keep your notes tidy:"
typed inspect helper
"$CORRAL" inspect helper </dev/null | sed -n '1,4p; /^What it could/,/^$/p; /^Signs of risk/,/^Digest/p' | sed '$d'
"$CORRAL" inspect helper </dev/null >/dev/null
expect 1 $?

[ "$wrong" -eq 0 ] || exit 1
printf '%sThat was the policy engine. Next, a command in a sandbox: %s run -- ls; then docs/tutorial.md.%s\n' "$dim" "$CORRAL" "$off"
