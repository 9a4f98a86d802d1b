#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# test-examples.sh AGENT EXECUTE STREAM TOOLS HANDED BUILD SANITIZE: the examples do what they say, also when they were
# compiled by what was installed: header, library and pkg-config file. Prints TAP.
set -u
agent=$1 execute=$2 stream=$3 tools=$4 handed=$5 build=$6 sanitize=$7
source=$(cd "$(dirname "$0")" && pwd) || exit 1
scratch=$(mktemp -d /var/tmp/corral-examples-XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work"

number=0 failures=0
is() { # is GOT WANTED NAME
	number=$((number + 1))
	if [ "$1" = "$2" ]; then
		echo "ok $number - $3"
		return
	fi
	failures=$((failures + 1))
	echo "not ok $number - $3"
	printf 'got:    %s\nwanted: %s\n' "$1" "$2" | sed 's/^/# /'
}

check_execute() { # check_execute PROGRAM NAME
	is "$("$1" "$scratch/work" 'echo "one" | tee file; exit 3' 'cat file' 2>&1)" \
		'{"status":3,"stdout":"one\u000a","stderr":"","truncated":false,"timed_out":false}
{"status":0,"stdout":"one\u000a","stderr":"","truncated":false,"timed_out":false}' \
		"$2: one sandbox for many command lines"
}
check_stream() { # check_stream PROGRAM NAME
	is "$(printf 'a\nb\n' | "$1" "$scratch/work" sed 's/.*/<&>/' 2>&1)" "$(printf '<a>\n<b>')" \
		"$2: input goes in, output comes out"
	"$1" "$scratch/work" sh -c 'exit 7' </dev/null
	is "$?" 7 "$2: the status is the program's"
}
check_tools() { # check_tools PROGRAM NAME
	echo content >"$scratch/work/note"
	is "$(printf '%s\n' "fs_read $scratch/work/note" "grant fs.read $scratch/work/**" \
		"fs_read $scratch/work/note" nonsense | "$1" | grep -c -e '^error permission' -e '^ok content')" 2 \
		"$2: a tool is checked"
}

check_agent() { # check_agent PROGRAM NAME
	for mode in sandbox rx; do
		"$1" $mode "$scratch/data" \
			sh -c 'echo x >inside; (echo x >../outside) 2>/dev/null || exit 2' 2>"$scratch/err"
		is "$?$(head -n 1 "$scratch/err"; ls "$scratch/data"; [ ! -e "$scratch/outside" ] || echo outside)" \
			"2agent: mode $mode, enforced by namespaces
inside" "$2: mode $mode writes inside and not outside"
	done
	is "$("$1" rwx "$scratch/data" sh -c 'echo x >../outside; cat ../outside; exit 3' 2>&1; echo $?)" \
		"agent: mode rwx, enforced by none
x
3" "$2: mode rwx is enforced by nothing, and says so"
	rm -f "$scratch/outside"
	is "$("$1" rx "$scratch/data" printenv AGENT_PROMPT 2>"$scratch/err")" \
		"$("$build/src/cli/corral" prompt --mode rx --data-dir "$scratch/data")" \
		"$2: the prompt is what corral prompt prints"
}

check_handed() { # check_handed PROGRAM NAME
	# shellcheck disable=SC2016 # a variable of the policy
	policy='{"fs": {"read": ["/usr/**", "/etc/alternatives/**"], "write": ["$WORK_DIR/**"]}}'
	echo "$policy" >"$scratch/policy.json"
	is "$(SANDBOX_POLICY_FD=5 "$1" "$scratch/work" 'echo fd >x; cat x; env | grep -c SANDBOX' 5<"$scratch/policy.json")" \
		"$(printf 'fd\n0')" "$2: a policy by a descriptor"
	is "$(SANDBOX_POLICY_FILE=$scratch/policy.json "$1" "$scratch/work" 'echo file >x; cat x')" file "$2: by a file"
	is "$(SANDBOX_POLICY=$policy "$1" "$scratch/work" 'echo text >x; cat x')" text "$2: by a variable"
	is "$("$1" "$scratch/work" 'cat /usr/bin/env' | wc -c)" 0 "$2: without one nothing is there"
	SANDBOX_POLICY_FD=77 "$1" "$scratch/work" true 2>"$scratch/err"
	is "$?$(grep -c 'descriptor 77 is not open' "$scratch/err")" 1251 "$2: one that is not open is an error"
}

check_agent "$agent" agent
check_handed "$handed" handed-over
check_execute "$execute" execute-command
is "$("$execute" "$scratch/work" 'head -c 100000 /dev/zero | tr "\0" x' | grep -c '"truncated":true')" 1 \
	"execute-command: says that there was more"
is "$("$execute" "$scratch/nowhere" true | grep -c '^{"error":".*nowhere')" 1 \
	"execute-command: an error is an answer, too"
check_stream "$stream" stream
is "$(head -c 3000000 /dev/zero | "$stream" "$scratch/work" wc -c)" 3000000 "stream: much input"
"$stream" "$scratch/work" /no/such/program </dev/null 2>"$scratch/err"
is "$?" 125 "stream: a program that is not there"
is "$(grep -c /no/such/program "$scratch/err")" 1 "stream: and which one"
check_tools "$tools" tools

# A sanitizer's runtime would have to be linked in as well.
if [ "$sanitize" = none ]; then
	DESTDIR=$scratch/root meson install -C "$build" --no-rebuild >"$scratch/log" 2>&1
	is "$?" 0 "installs"
	pc=$(find "$scratch/root" -name libcorral.pc)
	export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$scratch/root"
	flags=$(pkg-config --cflags --libs libcorral)
	is "$?" 0 "pkg-config knows the library"
	for name in agent execute-command handed-over stream tools; do
		# shellcheck disable=SC2086
		${CC:-cc} -std=c99 -Wall -Wextra -Werror -o "$scratch/$name" "$source/$name.c" $flags \
			2>"$scratch/log"
		is "$?$(cat "$scratch/log")" 0 "$name compiles by what was installed, without a warning"
	done
	library=$(find "$scratch/root" -name 'libcorral.so.0')
	export LD_LIBRARY_PATH="${library%/*}"
	warden=$(find "$scratch/root" -name corral-warden -perm -u+x)
	export CORRAL_WARDEN="$warden"
	check_execute "$scratch/execute-command" "installed execute-command"
	check_stream "$scratch/stream" "installed stream"
	check_tools "$scratch/tools" "installed tools"
	check_handed "$scratch/handed-over" "installed handed-over"
fi

echo "1..$number"
exit $((failures > 0))
