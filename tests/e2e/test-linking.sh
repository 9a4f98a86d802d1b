#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What a program that is linked statically must not lose: names in other scripts, public suffixes,
# the home of a user without HOME. The same holds where these are loaded (-Dstatic=disabled).
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
. "$(dirname "$0")/lib.sh"

needs_interpreter() { # needs_interpreter PROGRAM: is there a dynamic linker in its headers?
	head -c 4096 "$1" | LC_ALL=C grep -aq '/ld-'
}

if [ "${STATIC-}" = 1 ]; then
	for program in "$CORRAL" "$CORRAL_WARDEN"; do
		! needs_interpreter "$program"
		ok $? "$(basename "$program") is static: nothing is loaded when it starts"
	done
fi

# -- Names in other scripts: libidn2 --

printf 'permissions: {network: {allow: ["bücher.example:443"]}}\n' >names.yaml
run policy check -p names.yaml --op net.connect --target xn--bcher-kva.example:443
status_is 0 "a name in another script is the name as DNS has it"
run policy check -p names.yaml --op net.connect --target BÜCHER.example:443
status_is 0 "and the same with capital letters"
run policy check -p names.yaml --op net.connect --target bucher.example:443
status_is 1 "and is no other"

# -- Public suffixes: libpsl --

printf 'permissions: {network: {allow: ["*.co.uk:443", "*.example.com:443"]}}\n' >suffix.yaml
run policy lint suffix.yaml
grep -q 'co\.uk' "$scratch/out" && ! grep -q 'example\.com' "$scratch/out"
ok $? "a public suffix of two labels is known, and a name below one is none"

# -- The user's home without HOME: /etc/passwd --

own=$(awk -F: -v uid="$(id -u)" '$3 == uid { print $6; exit }' /etc/passwd)
home_of() { # home_of: what $HOME is to a policy
	env -u HOME -u XDG_DATA_HOME "$CORRAL" policy check -p home.yaml --op fs.read --target "$1/x"
}
printf 'permissions: {fs: {read: ["$HOME/x"]}}\n' >home.yaml
if [ -d "$own" ]; then
	home_of "$own" >"$scratch/out" 2>"$scratch/err"
	is $? 0 "without HOME the home is the one in /etc/passwd"
	home_of /nonexistent >"$scratch/out" 2>"$scratch/err"
	is $? 1 "and no other"
fi
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$scratch" "$scratch/work" && chmod 644 home.yaml
	nobody="setpriv --reuid 54321 --regid 54321 --clear-groups"
	# shellcheck disable=SC2086 # a list of words
	env -u HOME -u XDG_DATA_HOME $nobody "$CORRAL" run -- /bin/true >"$scratch/out" 2>"$scratch/err"
	status=$?
	status_is 125 "a user whom /etc/passwd does not know, without HOME: nothing is run"
	grep -q 'set the environment variable HOME' "$scratch/err"
	ok $? "and the message says what to do"
	printf 'permissions: {fs: {read: ["/usr/**"]}, exec: ["/usr/**"]}\n' >any.yaml && chmod 644 any.yaml
	for home in '' rel; do
		# shellcheck disable=SC2086
		env -u XDG_CONFIG_HOME -u XDG_STATE_HOME -u XDG_DATA_HOME HOME=$home $nobody "$CORRAL" run -p any.yaml -- /bin/true >"$scratch/out" 2>"$scratch/err"
		status=$?
		status_is 125 "nor with a policy and HOME=$home: stored ones cannot be found"
		grep -q 'set the environment variable HOME' "$scratch/err"
		ok $? "and the message says what to do (HOME=$home)"
	done
	# shellcheck disable=SC2086
	env -u XDG_DATA_HOME HOME=/tmp $nobody "$CORRAL" policy check -p home.yaml --op fs.read --target /tmp/x \
		>"$scratch/out" 2>"$scratch/err"
	is $? 0 "what the message says helps"
fi

done_testing
