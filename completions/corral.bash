# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of corral(1) for bash. Installed as share/bash-completion/completions/corral.
# The program itself knows its commands, options and their words (src/cli/complete.h).
#
# Names of files may be an attacker's. `compgen -W` expands its words as a command line is expanded,
# with $(commands) in them, so it is not used.

_corral()
{
	local cur=${COMP_WORDS[COMP_CWORD]} line word kind='' has_words=''
	local -a found=()

	COMPREPLY=()
	while IFS= read -r line; do
		word=${line%%$'\t'*}
		case $word in
		@*) kind=$word ;;
		--*) [[ $cur == -* && $word == "$cur"* ]] && COMPREPLY+=("$word") ;;
		*)
			has_words=1
			[[ $word == "$cur"* ]] && COMPREPLY+=("$word")
			[[ $word == *[=:] ]] && compopt -o nospace
			;;
		esac
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
	# Programs come beside the commands of a project; else words are all there is.
	if [[ -n $has_words && $kind != @programs || $cur == -* && $kind != @command* ]]; then
		return
	fi
	case $kind in
	@folders) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	@files) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	@programs)
		mapfile -t found < <(compgen -c -- "$cur")
		COMPREPLY+=("${found[@]}")
		;;
	@hosts)
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
		compopt -o nospace
		;;
	@command*)
		if declare -F _command_offset >/dev/null; then
			_command_offset "${kind#@command }"
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		;;
	esac
}
complete -o filenames -F _corral corral
