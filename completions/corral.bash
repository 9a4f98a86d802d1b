# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of corral(1) for bash. Installed as share/bash-completion/completions/corral.

_corral()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]-} sub=${COMP_WORDS[2]-} words=''

	# The value of an option.
	case $prev in
	--op | -o) words='fs.read fs.write net.connect exec env service' ;;
	--mode) words='sandbox rx rwx' ;;
	--format | -f) words='yaml json' ;;
	--from) words='permissions skill skill.md manifest rules enclave mode' ;;
	--method | -m) words='GET HEAD POST PUT PATCH DELETE OPTIONS' ;;
	--set) words='SKILL_DIR= WORK_DIR= DATA_DIR= SHARED_DIR= HOME= TEMP=' && compopt -o nospace ;;
	--data-dir | --extra)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--policy | -p | --target | -t)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	if [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi

	# A command, or the second word of one.
	if [ "$COMP_CWORD" -eq 1 ]; then
		words='policy inspect approve prompt profile --help --version'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = policy ]; then
		words='check explain show merge intersect subset lint --help'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = profile ]; then
		words='seatbelt --help'
	elif [[ $cur == -* ]]; then
		case "$command $sub" in
		'policy check' | 'policy explain') words='--policy --op --target --arg --method --set --json --help' ;;
		'policy show') words='--from --mode --data-dir --extra --format --json --help' ;;
		'policy merge' | 'policy intersect') words='--format --json --help' ;;
		policy*) words='--set --json --help' ;;
		inspect*) words='--json --help' ;;
		approve*) words='--yes --check --remove --json --help' ;;
		prompt*) words='--mode --data-dir --json --help' ;;
		profile*) words='--policy --mode --data-dir --extra --set --json --help' ;;
		esac
	fi
	if [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	elif [ "$command" = inspect ] || [ "$command" = approve ]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _corral corral
