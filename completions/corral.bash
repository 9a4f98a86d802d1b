# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of corral(1) for bash. Installed as share/bash-completion/completions/corral.
#
# Names of files may be an attacker's. `compgen -W` expands its words as a command line is expanded,
# with $(commands) in them, so it is not used.

# _corral_offer WORD…: offers those that begin with what was typed.
_corral_offer()
{
	local word

	COMPREPLY=()
	for word; do
		if [[ $word == "$cur"* ]]; then
			COMPREPLY+=("$word")
		fi
	done
}

# _corral_profiles: adds the names of the profiles in files to `offered`, if they are names at all.
_corral_profiles()
{
	local file name

	for file in "${XDG_CONFIG_HOME:-$HOME/.config}"/corral/profiles/*.yaml /etc/corral/profiles/*.yaml; do
		name=${file##*/}
		name=${name%.yaml}
		if [[ -e $file && $name != .* && $name != *[!A-Za-z0-9._-]* ]]; then
			offered+=("$name")
		fi
	done
}

_corral()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]-} sub=${COMP_WORDS[2]-} words=''
	local -a offered=()

	# The value of an option.
	case $prev in
	--op | -o)
		[ "$command" = audit ] || words='fs.read fs.write net.connect exec env service'
		;;
	--mode) words='sandbox rx rwx' ;;
	--format | -f)
		case "$command $sub" in
		'audit export') words='jsonl ocsf cef csv' ;;
		audit*) ;;
		*) words='yaml json' ;;
		esac
		;;
	--from) words='permissions skill skill.md manifest rules enclave mode' ;;
	--method | -m) words='GET HEAD POST PUT PATCH DELETE OPTIONS' ;;
	--set) words='SKILL_DIR= WORK_DIR= DATA_DIR= SHARED_DIR= HOME= TEMP=' && compopt -o nospace ;;
	--profile)
		offered=(workspace readonly offline)
		_corral_profiles
		_corral_offer "${offered[@]}"
		return
		;;
	--tier) words='1' ;;
	--action | -a)
		[ "$command" = audit ] && words='command command.start command.end fs fs.read fs.write fs.list fs.delete net net.connect net.close net.name exec env service policy approval confinement limit session store'
		;;
	--decision | -d) words='allowed denied asked failed none' ;;
	--since | --until) words='10m 1h 1d 1w' ;;
	--data-dir | --extra | --skill | --cwd | --work-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--policy | -p | --target | -t | --read | --write | --deny | --dangerously-allow | --audit | --key | --head | --output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	if [ -n "$words" ]; then
		read -r -a offered <<<"$words"
		_corral_offer "${offered[@]}"
		return
	fi

	# Behind the options of run stands another command, which completes itself.
	if [ "$command" = run ] && [[ $cur != -* ]]; then
		local i
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) i=$((i + 1)) && break ;;
			--yes | -y | --json | --explain | --ssh-agent | --seed-state | --shared-state | --help) ;;
			-*=*) ;;
			-*) i=$((i + 1)) ;;
			*) break ;;
			esac
		done
		if [ "$i" -ge "$COMP_CWORD" ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		elif declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		return
	fi

	# A command, or the second word of one.
	if [ "$COMP_CWORD" -eq 1 ]; then
		words='run shell policy inspect approve skills prompt profile audit service vault dashboard ps status events questions grants security doctor --help --version'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = policy ]; then
		words='check explain show merge intersect subset lint list history save remove undo record rules --help'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = profile ]; then
		words='show seatbelt --help'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = audit ]; then
		words='tail list stats export verify prove check-proof --help'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = skills ]; then
		words='list show changes approve --help'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = questions ]; then
		words='list allow deny --help'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = grants ]; then
		words='list add remove --help'
	elif [ "$COMP_CWORD" -eq 4 ] && [ "$command" = grants ] && [[ $cur != -* ]]; then
		words='fs.read fs.write net.connect exec env service'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = service ]; then
		words='list test set-up --help'
	elif [ "$COMP_CWORD" -eq 3 ] && [ "$command" = service ] && [[ $cur != -* ]]; then
		words='browser calendar clipboard email notifications reminders'
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = vault ]; then
		words='init set list uses grant revoke rotate remove lock unlock import export doctor --help'
	elif [[ $cur == -* ]]; then
		case "$command $sub" in
		'vault init') words='--key --passphrase-file --help' ;;
		'vault set') words='--from --keep --expires-in --passphrase-file --help' ;;
		'vault rotate') words='--passphrase --expires-in --passphrase-file --help' ;;
		'vault unlock') words='--for --key --restored --passphrase-file --help' ;;
		'vault grant') words='--in --to --passphrase-file --help' ;;
		'vault revoke') words='--to --all --passphrase-file --help' ;;
		'vault list') words='--json --passphrase-file --help' ;;
		'vault uses') words='--limit --newest --since --json --help' ;;
		'vault doctor') words='--json --help' ;;
		'vault import') words='--replace --passphrase-file --help' ;;
		'vault export') words='--yes --passphrase-file --help' ;;
		vault*) words='--passphrase-file --help' ;;
		'policy check' | 'policy explain') words='--policy --stored --system --op --target --arg --method --set --json --help' ;;
		'policy show') words='--from --mode --data-dir --extra --format --json --help' ;;
		'policy merge' | 'policy intersect') words='--format --json --help' ;;
		'policy lint') words='--stored --system --set --json --help' ;;
		'policy list' | 'policy record') words='--system --json --help' ;;
		'policy history') words='--version --system --json --help' ;;
		'policy save' | 'policy remove') words='--etag --system --json --help' ;;
		'policy rules') words='--policy --rule --add --replace --change --remove --etag --system --json --help' ;;
		'policy undo') words='--version --etag --system --json --help' ;;
		policy*) words='--set --json --help' ;;
		run*) words='--skill --command --input --yes --policy --profile --mode --data-dir --extra --read --write --deny --dangerously-allow --net --net-private --listen --exec --ssh-agent --env --with --seed-state --shared-state --timeout --memory --pids --limits --max-output --no-cache --strict --cwd --work-dir --tier --ceiling --ask --broker --broker-http --no-broker --audit --explain --set --json --help' ;;
		shell*) words='--policy --profile --mode --data-dir --extra --read --write --deny --dangerously-allow --net --net-private --listen --exec --ssh-agent --env --with --seed-state --shared-state --timeout --memory --pids --limits --max-output --no-cache --strict --cwd --work-dir --tier --ceiling --ask --broker --broker-http --no-broker --audit --explain --set --json --help' ;;
		inspect*) words='--json --format --fail-on --suppress --help' ;;
		doctor* | service* | ps* | status*) words='--json --help' ;;
		dashboard*) words='--print --json --help' ;;
		'questions allow') words='--once --for --scope --json --help' ;;
		'questions deny' | 'grants add') words='--for --json --help' ;;
		questions* | grants*) words='--json --help' ;;
		events*) words='--follow --json --help' ;;
		security*) words='--wrappers --accept --record --system --json --help' ;;
		'skills approve') words='--digest --config --json --help' ;;
		skills*) words='--config --json --help' ;;
		approve*) words='--yes --check --remove --json --help' ;;
		'audit tail') words='--follow --lines --session --action --decision --target --since --until --before --requests --json --help' ;;
		'audit list') words='--session --action --decision --target --since --until --before --requests --limit --newest --json --help' ;;
		'audit stats') words='--session --action --decision --target --since --until --before --requests --json --help' ;;
		'audit export') words='--format --output --session --action --decision --target --since --until --before --requests --limit --newest --help' ;;
		'audit verify') words='--key --head --json --help' ;;
		'audit check-proof') words='--key --json --help' ;;
		audit*) words='--help' ;;
		prompt*) words='--mode --data-dir --json --help' ;;
		'profile show') words='--set --json --help' ;;
		profile*) words='--policy --mode --data-dir --extra --set --json --help' ;;
		esac
	fi
	if [ -n "$words" ]; then
		read -r -a offered <<<"$words"
		_corral_offer "${offered[@]}"
	elif [ "$command" = inspect ] || [ "$command" = approve ]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _corral corral
