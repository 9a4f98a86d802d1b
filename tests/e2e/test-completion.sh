#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Completion in a shell: what is completed are words, never code. Names of files may be an attacker's,
# so every one of them here would leave a file behind if a shell expanded it.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

completions=$(cd "$DATA/../../../completions" && pwd) || exit 1
pwned=$scratch/work/pwned
profiles=$XDG_CONFIG_HOME/corral/profiles
mkdir -p "$profiles" policies
for folder in "$profiles" policies .; do
	for name in '$(touch pwned)' '`touch pwned`' '${x:-$(touch pwned)}' '$((a[$(touch pwned)]))' \
		'x;touch pwned' '"$(touch pwned)"' '<(touch pwned)' "'\$(touch pwned)"; do
		: >"$folder/$name.yaml"
	done
done
: >"$profiles/mine.yaml" && : >"$profiles/-n.yaml" && : >"$profiles/two words.yaml" && : >"$profiles/*.yaml"

# completed WORD…: what bash offers for the last of the words, one a line.
completed() {
	rm -f "$pwned"
	status=0
	CORRAL=$CORRAL bash --norc -c 'compopt() { :; }
corral() { "$CORRAL" "$@"; }
. "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _corral && printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$completions/corral.bash" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
}
harmless() {
	[ ! -e "$pwned" ]
	ok $? "$1: no name is run"
}

if ! command -v bash >/dev/null; then
	echo "1..0 # SKIP there is no bash"
	exit 0
fi
completed corral run --profile ''
harmless 'bash: profiles'
is "$(sort "$scratch/out" | tr '\n' ' ')" '-n mine offline readonly workspace ' 'bash: profiles: those with a name that is one'
err_empty 'bash: profiles: in silence'
completed corral run --profile 'm'
out_is mine 'bash: profiles: those that begin so'
completed corral run --profile '$(touch pwned)'
harmless 'bash: profiles: what was typed'
for option in --policy --read --work-dir --skill; do
	completed corral run "$option" ''
	harmless "bash: $option"
done
completed corral run --policy 'policies/'
harmless 'bash: files of a folder'
out_has 'policies/$(touch pwned).yaml' 'bash: they are offered as they are'
completed corral run ''
harmless 'bash: a command'
completed corral run -- cat ''
harmless 'bash: its arguments'
completed corral run --mode ''
is "$(tr '\n' ' ' <"$scratch/out")" 'sandbox rx rwx ' 'bash: words of a list'
completed corral audit list --action 'net'
is "$(tr '\n' ' ' <"$scratch/out")" 'net.connect net.close net.name net ' 'bash: those that begin so'
completed corral run --re
out_is --read 'bash: an option'
completed corral pol
out_is policy 'bash: a command of corral'
completed corral policy int
out_is intersect 'bash: a command of a command'
completed corral run --strict --timeout=5s --policy '$(touch pwned)' --net-p
harmless 'bash: what was typed before'
out_is --net-private 'bash: an option behind others'
completed corral run --strict -- ls --re
out_is '' 'bash: no option of ours behind the command'
completed corral grants add x net.
out_is net.connect 'bash: words of an operand'
completed corral nonsense ''
out_is '' 'bash: nothing for what is no command'

# The project's commands, beside programs; numbers of runs; and values that people mostly write.
mkdir project
printf 'commands:\n  test-it: [sh, -c, "$(touch pwned) \\n\\t"]\n  lint: echo\n' >project/corral.yaml
cd project || exit 1
completed corral run 'test-'
out_is test-it "bash: the project's commands"
completed corral run ''
harmless "bash: the project's commands"
out_has lint "bash: the project's commands: all of them"
out_has sh "bash: and programs"
"$CORRAL" --complete run >"$scratch/out"
is "$(grep -c '^@programs$' "$scratch/out") $(grep -c '^test-it	sh -c ' "$scratch/out") $(grep -c '^touch' "$scratch/out")" '1 1 0' 'a command is one line'
printf 'commands: [\n' >corral.yaml
completed corral run 'test-'
err_empty "bash: a project's file that is broken: in silence"
rm corral.yaml
if "$CORRAL" run --undo -- touch one >/dev/null 2>&1; then
	completed corral undo ''
	out_is 1 'bash: runs to take back'
fi
cd ..
for row in 'audit list --since:10m 1h 1d 1w ' 'audit tail --until:10m 1h 1d 1w ' 'run --timeout:30s 5m 1h ' 'run --memory:512M 1G 4G ' 'run --pids:64 256 ' \
	'run --tier:1 3 ' 'run --max-output:64K 1M 16M ' 'vault grant --in:header query body form ' 'vault init --key:systemd-creds secret-service ' \
	'vault set --from:file: env: cmd: secret-service: '; do
	# shellcheck disable=SC2086 # words
	completed corral ${row%%:*} ''
	is "$(tr '\n' ' ' <"$scratch/out")" "${row#*:}" "bash: ${row%%:*}"
done
is "$("$CORRAL" --complete run --net)" @hosts 'a host: those of the shell'

# The program says it, from the tables that --help is made from: every option of every verb.
"$CORRAL" --complete | cut -f 1 | while read -r verb; do
	case $verb in -*) continue ;; esac
	# '' is the verb itself, whose options are listed with its commands.
	for sub in '' $("$CORRAL" --complete "$verb" | cut -f 1 | grep -v '^[-@]'); do
		help=$("$CORRAL" "$verb" ${sub:+"$sub"} --help 2>/dev/null | grep -o -E '^  (-., |    )--[a-z-]+' | grep -o -E -- '--[a-z-]+' | sort)
		offered=$("$CORRAL" --complete "$verb" ${sub:+"$sub"} | cut -f 1 | grep -E '^--' | sort)
		[ -z "$help" ] || [ "$help" = "$offered" ] || echo "$verb $sub"
	done
done >"$scratch/differ"
is "$(cat "$scratch/differ")" '' 'each option in --help is offered, and no other'

# sandbox-call(1) asks the program for its words.
call=$scratch/call
cat >"$call" <<'END'
#!/bin/sh
[ "$1" = --complete ] || exit 1
if [ $# -gt 1 ]; then printf 'path=\n$(touch pwned)=\n'; else printf 'fs.read\nfs.write\nping\n'; fi
END
chmod +x "$call"
completed_call() {
	rm -f "$pwned"
	bash --norc -c 'compopt() { :; }
. "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _sandbox_call && printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$completions/sandbox-call.bash" "$call" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
}
completed_call 'fs.'
is "$(tr '\n' ' ' <"$scratch/out")" 'fs.read fs.write ' 'sandbox-call: methods'
completed_call --json fs.read ''
harmless 'sandbox-call: parameters'
is "$(tr '\n' ' ' <"$scratch/out")" 'path= $(touch pwned)= ' 'sandbox-call: parameters of a method behind an option'
completed_call --st
out_is --stream 'sandbox-call: an option'
completed_call '$(touch pwned)' ''
harmless 'sandbox-call: what was typed'

done_testing
