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
	bash --norc -c 'compopt() { :; }
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
is "$(tr '\n' ' ' <"$scratch/out")" 'net net.connect net.close net.name ' 'bash: those that begin so'
completed corral run --re
out_is --read 'bash: an option'
completed corral pol
out_is policy 'bash: a command of corral'

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
