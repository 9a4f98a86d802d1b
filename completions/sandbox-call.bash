# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of sandbox-call(1) for bash. Installed as share/bash-completion/completions/sandbox-call.
# The program itself knows the methods and their parameters.

_sandbox_call()
{
	local cur=${COMP_WORDS[COMP_CWORD]} method='' word i
	local -a offered=()

	COMPREPLY=()
	# Bash takes a word apart at = and :.
	if [[ $cur == '=' || ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
		return
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--timeout) i=$((i + 1)) ;;
		-*) ;;
		*) method=${COMP_WORDS[i]} && break ;;
		esac
	done
	if [[ $cur == -* ]]; then
		offered=(--list --help --json --stream --timeout)
	else
		while IFS= read -r word; do
			offered+=("$word")
		done < <("${COMP_WORDS[0]}" --complete ${method:+"$method"} 2>/dev/null)
		[ -z "$method" ] || compopt -o nospace
	fi
	for word in "${offered[@]}"; do
		if [[ $word == "$cur"* ]]; then
			COMPREPLY+=("$word")
		fi
	done
}

complete -F _sandbox_call sandbox-call
