# SPDX-License-Identifier: Apache-2.0
#
# Completion of corral(1) for fish. Installed as share/fish/vendor_completions.d/corral.fish.

set -l commands policy inspect approve prompt profile
set -l policy check explain show merge intersect subset lint
set -l top "not __fish_seen_subcommand_from $commands"
set -l second "__fish_seen_subcommand_from policy; and not __fish_seen_subcommand_from $policy"
set -l asking "__fish_seen_subcommand_from check explain"
set -l modes "__fish_seen_subcommand_from prompt profile show"

complete -c corral -n $top -f -a policy -d 'Ask, show, combine and check permissions'
complete -c corral -n $top -f -a inspect -d 'Show what a skill asks for'
complete -c corral -n $top -f -a approve -d 'Approve exactly the contents of a skill'
complete -c corral -n $top -f -a prompt -d 'The text for an agent'"'"'s prompt'
complete -c corral -n $top -f -a profile -d 'Write a profile for another sandbox'
complete -c corral -n $top -f -l version -d 'Print the version'
complete -c corral -l help -d 'Print a summary of the options'

complete -c corral -n $second -f -a check -d 'Judge a request'
complete -c corral -n $second -f -a explain -d 'Judge a request and say why'
complete -c corral -n $second -f -a show -d 'Print permissions in canonical form'
complete -c corral -n $second -f -a merge -d 'What either allows'
complete -c corral -n $second -f -a intersect -d 'Exactly what both allow'
complete -c corral -n $second -f -a subset -d 'Is everything of the first allowed by the second?'
complete -c corral -n $second -f -a lint -d 'Find likely mistakes'

complete -c corral -n $asking -s o -l op -x -a 'fs.read fs.write net.connect exec env service' -d 'What is asked'
complete -c corral -n $asking -s t -l target -r -d 'Of what'
complete -c corral -n $asking -s a -l arg -x -d 'An argument of the program'
complete -c corral -n $asking -s m -l method -x -a 'GET HEAD POST PUT PATCH DELETE OPTIONS' -d 'The HTTP method'
complete -c corral -n "$asking; or __fish_seen_subcommand_from profile" -s p -l policy -r -d 'A layer of permissions'
complete -c corral -n "__fish_seen_subcommand_from show" -l from -x -a 'permissions skill skill.md manifest rules enclave mode' -d 'What the file is'
complete -c corral -n "__fish_seen_subcommand_from show merge intersect" -s f -l format -x -a 'yaml json' -d 'How to print'
complete -c corral -n "__fish_seen_subcommand_from $commands" -l json -d 'Print the result as JSON'
complete -c corral -n "__fish_seen_subcommand_from policy profile" -l set -x -a 'SKILL_DIR= WORK_DIR= DATA_DIR= SHARED_DIR= HOME= TEMP=' -d 'Give a variable its value'
complete -c corral -n "__fish_seen_subcommand_from approve" -l yes -d 'Do not ask'
complete -c corral -n "__fish_seen_subcommand_from approve" -l check -d 'Only answer whether it is approved'
complete -c corral -n "__fish_seen_subcommand_from approve" -l remove -d 'Take the approval back'
complete -c corral -n "__fish_seen_subcommand_from profile; and not __fish_seen_subcommand_from seatbelt" -f -a seatbelt -d 'macOS'
complete -c corral -n $modes -l mode -x -a 'sandbox rx rwx' -d 'Mode'
complete -c corral -n $modes -l data-dir -r -a '(__fish_complete_directories)' -d 'The folder of the agent'
complete -c corral -n "__fish_seen_subcommand_from profile show" -l extra -r -a '(__fish_complete_directories)' -d 'One more folder it may write'
complete -c corral -n "__fish_seen_subcommand_from inspect approve" -f -a '(__fish_complete_directories)'
