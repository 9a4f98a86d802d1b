# SPDX-License-Identifier: Apache-2.0
#
# Completion of corral(1) for fish. Installed as share/fish/vendor_completions.d/corral.fish.

set -l commands run shell policy inspect approve prompt profile audit doctor
set -l audit tail list stats export verify prove check-proof
set -l policy check explain show merge intersect subset lint
set -l top "not __fish_seen_subcommand_from $commands"
set -l second "__fish_seen_subcommand_from policy; and not __fish_seen_subcommand_from $policy"
set -l asking "__fish_seen_subcommand_from check explain"
set -l modes "__fish_seen_subcommand_from prompt profile show run shell"
set -l running "__fish_seen_subcommand_from run shell"

complete -c corral -n $top -f -a run -d 'Run a command with just what it was granted'
complete -c corral -n $top -f -a shell -d 'Your shell, with just what it was granted'
complete -c corral -n $top -f -a policy -d 'Ask, show, combine and check permissions'
complete -c corral -n $top -f -a inspect -d 'Show what a skill asks for'
complete -c corral -n $top -f -a approve -d 'Approve exactly the contents of a skill'
complete -c corral -n $top -f -a prompt -d 'The text for an agent'"'"'s prompt'
complete -c corral -n $top -f -a profile -d 'Show a profile, or write one for another sandbox'
complete -c corral -n $top -f -a audit -d 'Read and verify audit logs'
complete -c corral -n $top -f -a doctor -d 'What this system lets Corral hold'
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
complete -c corral -n "$asking; or __fish_seen_subcommand_from profile run shell" -s p -l policy -r -d 'A layer of permissions'
complete -c corral -n "__fish_seen_subcommand_from show" -l from -x -a 'permissions skill skill.md manifest rules enclave mode' -d 'What the file is'
complete -c corral -n "__fish_seen_subcommand_from show merge intersect" -s f -l format -x -a 'yaml json' -d 'How to print'
complete -c corral -n "__fish_seen_subcommand_from $commands" -l json -d 'Print the result as JSON'
complete -c corral -n "__fish_seen_subcommand_from policy profile run shell" -l set -x -a 'SKILL_DIR= WORK_DIR= DATA_DIR= SHARED_DIR= HOME= TEMP=' -d 'Give a variable its value'
complete -c corral -n "__fish_seen_subcommand_from approve" -l yes -d 'Do not ask'
complete -c corral -n "__fish_seen_subcommand_from approve" -l check -d 'Only answer whether it is approved'
complete -c corral -n "__fish_seen_subcommand_from approve" -l remove -d 'Take the approval back'
complete -c corral -n "__fish_seen_subcommand_from profile; and not __fish_seen_subcommand_from seatbelt show" -f -a seatbelt -d 'macOS'
complete -c corral -n "__fish_seen_subcommand_from profile; and not __fish_seen_subcommand_from seatbelt show" -f -a show -d 'Print a profile'
complete -c corral -n $modes -l mode -x -a 'sandbox rx rwx' -d 'Mode'
complete -c corral -n $modes -l data-dir -r -a '(__fish_complete_directories)' -d 'The folder of the agent'
complete -c corral -n "__fish_seen_subcommand_from profile show run shell" -l extra -r -a '(__fish_complete_directories)' -d 'One more folder it may write'
complete -c corral -n "__fish_seen_subcommand_from inspect approve" -f -a '(__fish_complete_directories)'

complete -c corral -n $running -l profile -x -a 'workspace readonly offline' -d 'Where to start from'
complete -c corral -n "__fish_seen_subcommand_from run" -l skill -r -a '(__fish_complete_directories)' -d 'Run the entry of this skill'
complete -c corral -n "__fish_seen_subcommand_from run" -f -l command -d 'A command with the permissions of the skill'
complete -c corral -n "__fish_seen_subcommand_from run" -s y -l yes -d 'Run it although it was not approved'
complete -c corral -n $running -l read -r -d 'May be read'
complete -c corral -n $running -l write -r -d 'May be written and read'
complete -c corral -n $running -l deny -r -d 'May be neither read nor written'
complete -c corral -n $running -l dangerously-allow -r -d 'Turn the protection of the baseline off'
complete -c corral -n $running -l net -x -d 'May be connected to'
complete -c corral -n $running -l net-private -x -d 'May be connected to, also at a private address'
complete -c corral -n $running -l listen -x -d 'Publish a port of the sandbox on the loopback'
complete -c corral -n $running -l exec -r -d 'May be run'
complete -c corral -n $running -l env -x -d 'A variable that is passed on, or set'
complete -c corral -n $running -l timeout -x -d 'End it after this time'
complete -c corral -n $running -l memory -x -d 'Memory of all its processes'
complete -c corral -n $running -l pids -x -d 'Processes and threads at once'
complete -c corral -n $running -l limits -x -a none -d 'Without the limits of the profile'
complete -c corral -n $running -l max-output -x -d 'What it may print'
complete -c corral -n $running -l no-cache -d 'Read long policies anew, and keep nothing of them'
complete -c corral -n $running -l strict -d 'Refuse rules that would not hold for what the command starts'
complete -c corral -n $running -l cwd -r -a '(__fish_complete_directories)' -d 'Where it starts'
complete -c corral -n $running -l work-dir -r -a '(__fish_complete_directories)' -d 'The working folder of the profile'
complete -c corral -n $running -l tier -x -a 1 -d 'How strong the sandbox must be'
complete -c corral -n $running -l broker -d 'Answer the calls of the command'
complete -c corral -n $running -l broker-http -d 'A broker that serves HTTP, too'
complete -c corral -n $running -l no-broker -d 'Do not start a broker'
complete -c corral -n $running -l audit -r -d 'Record what happens in this log, default or none'
complete -c corral -n $running -l explain -d 'Say what was denied'

set -l auditing "__fish_seen_subcommand_from audit"
set -l records "$auditing; and __fish_seen_subcommand_from tail list stats export"
set -l actions command command.start command.end fs fs.read fs.write fs.list fs.delete net net.connect net.close net.name exec env service policy approval confinement limit session store
set -l before "$auditing; and not __fish_seen_subcommand_from $audit"
complete -c corral -n $before -f -a tail -d 'The latest records, and live what comes'
complete -c corral -n $before -f -a list -d 'Records, by session, action, decision, target, time'
complete -c corral -n $before -f -a stats -d 'Counts'
complete -c corral -n $before -f -a export -d 'Records for other systems'
complete -c corral -n $before -f -a verify -d 'Is a log what was written?'
complete -c corral -n $before -f -a prove -d 'A proof that a record is in the log'
complete -c corral -n $before -f -a check-proof -d 'Check such a proof, without the log'
complete -c corral -n $records -s s -l session -x -d 'Only of this session'
complete -c corral -n $records -s a -l action -x -a "$actions" -d 'Only these'
complete -c corral -n $records -s d -l decision -x -a 'allowed denied asked failed none' -d 'Only what was decided so'
complete -c corral -n $records -s t -l target -r -d 'Only what was done to this'
complete -c corral -n $records -l since -x -a '10m 1h 1d 1w' -d 'Not before'
complete -c corral -n $records -l until -x -a '10m 1h 1d 1w' -d 'Not after'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from list export" -s n -l limit -x -d 'No more than so many'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from list export" -l newest -d 'The newest first'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from tail" -s f -l follow -d 'Go on with what comes'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from tail" -s n -l lines -x -d 'So many'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from export" -s f -l format -x -a 'jsonl ocsf cef csv' -d 'How to print'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from export" -s o -l output -r -d 'Write this file'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from verify check-proof" -s k -l key -r -d 'The public key'
complete -c corral -n "$auditing; and __fish_seen_subcommand_from verify" -l head -r -d 'The last signed head'
