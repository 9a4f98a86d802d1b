#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What a new user trips over is said before the command starts, in one line with what to do: options
# that have less effect than they seem to have, or more; and the line is applied, and helps.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are for the shell inside; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
needs_sandbox
system='/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**'
mkdir agent data && echo text >data/file

# --- the network of an agent mode ---
run run --mode sandbox --data-dir agent --net example.com:443 -- true
err_has "--net has no effect: --mode sandbox has the whole network" "--net with an agent mode"
run run --mode rx --data-dir agent --net-private db.example.com:443 -- true
err_has "--net-private has no effect: --mode rx has the whole network" "--net-private with an agent mode"
run run --mode sandbox --data-dir agent -- true
err_lacks "has no effect" "an agent mode alone"
echo "{fs: {read: [/**]}, network: {allow: ['*:*', 'udp://*:*', 127.0.0.0/8, '::1', 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]}}" >open.yaml
run run -p open.yaml --net example.com:443 -- true
err_lacks "has no effect" "a policy that does not grant all of it"

# --- variables ---
unset NOT_SET
run run --env NOT_SET -- sh -c 'echo "${NOT_SET-none}"'
out_is none "--env of a variable that is not set"
err_has "--env NOT_SET: this variable is not set here" "is said"
err_has "--env NOT_SET=VALUE sets it" "with what sets it"
run_prints value "which helps" --env NOT_SET=value -- sh -c 'echo "$NOT_SET"'
NOT_SET=x && export NOT_SET
run_prints x "one that is set" --env NOT_SET -- sh -c 'echo "$NOT_SET"'
unset NOT_SET
run_prints "" "a pattern is no name" --env 'NOT_*' -- true

# --- ports ---
run run --net example.com -- true
err_has "--net example.com grants every port of it; --net example.com:443 grants one" "--net without a port"
for net in example.com:443 'example.com:*' 'udp://example.com:53' 'https://example.com/'; do
	run_prints "" "a port is said: $net" --net "$net" -- true
done

# --- a folder in a policy ---
echo "fs: {read: [$system, $PWD/data]}" >folder.yaml
run run -p folder.yaml -- cat "$PWD/data/file"
err_has "$PWD/data is a folder, and without /** only its own name would be granted" "a folder without /**"
err_has "for all in it write $PWD/data/**" "a folder without /**: what to write"
run policy lint folder.yaml
out_has "for what lies in it write $PWD/data/**" "a folder without /**: lint"
echo "fs: {read: [$system, $PWD/data/**]}" >folder.yaml
run_prints text "the line that is said helps" -p folder.yaml -- cat "$PWD/data/file"
mkdir -p "$HOME/data" && echo text >"$HOME/data/file"
echo "fs: {read: [$system, ~/data]}" >folder.yaml
run_refuses 125 "the home's data in a file is not less than --read ~/data" "for all in it write $HOME/data/**" -p folder.yaml -- true
run_prints text "--read ~/data" --read "$HOME/data" -- cat "$HOME/data/file"
echo "fs: {read: [$system, $PWD/data, $PWD/data/file]}" >folder.yaml
run_prints text "a folder on the way to a file is no mistake" -p folder.yaml -- cat "$PWD/data/file"

# --- another folder than this one ---
echo "fs: {read: [$system, $PWD/data/**]}" >folder.yaml
run run -p folder.yaml -- cat data/file
err_has "$PWD is not granted, so the command starts in " "a relative path, and this folder is not granted"
err_has "where data/file is another path: add --read $PWD" "with what to add"
run_prints text "which helps" -p folder.yaml --read "$PWD" -- cat data/file
run_prints text "an absolute path" -p folder.yaml -- cat "$PWD/data/file"

# --- secrets ---
mkdir "$HOME/.ssh" && echo key >"$HOME/.ssh/id_rsa"
run run --explain -- cat "$HOME/.ssh/id_rsa"
err_has "--read $HOME/.ssh/id_rsa --dangerously-allow $HOME/.ssh/id_rsa" "--explain has the options for a key"
err_lacks "dangerously_allow:" "and not the syntax of a file"
run run --read "$HOME/.ssh/id_rsa" --dangerously-allow "$HOME/.ssh/id_rsa" -- cat "$HOME/.ssh/id_rsa"
out_is key "they help"

# --- a skill whose entry another policy hides ---
mkdir skill
cat >skill/skill.yaml <<END
name: demo
version: 1.0.0
entry: main.sh
runtime: bash
permissions: {fs: {read: ["\$SKILL_DIR/**", /usr/**, /bin/**, /lib/**, /lib64/**, /etc/**]}}
END
echo 'echo hello' >skill/main.sh
run_refuses 126 "it is not approved" "or add --yes to run it this once" --skill skill
run_prints hello "which helps" --skill skill --yes
echo "fs: {read: [$system]}" >company.yaml
run_refuses 126 "its entry is hidden" "the policy does not allow reading the entry of the skill, $PWD/skill/main.sh" --yes --skill skill -p company.yaml
err_has "add fs: {read: [\"$PWD/skill/main.sh\"]} to company.yaml" "with the line and its file"
echo "fs: {read: [$system, $PWD/skill/main.sh]}" >company.yaml
run_prints hello "which helps" --yes --skill skill -p company.yaml
mkdir -p "$XDG_CONFIG_HOME/corral" && echo "fs: {read: [$system]}" >"$XDG_CONFIG_HOME/corral/policy.yaml"
run_refuses 126 "hidden by the user's own ceiling" "corral/policy.yaml" --yes --skill skill
rm "$XDG_CONFIG_HOME/corral/policy.yaml"
run inspect skill
out_has "  - everything in its own folder" "inspect does not repeat the word of its heading"

# --- limits of a profile that a file extends ---
printf 'extends: workspace\nnetwork: {allow: ["api.example.com:443"]}\n' >more.yaml
run policy lint more.yaml
out_has 'no bound is set on time: ' "lint: the limits of the profile count"
printf 'extends: workspace\nlimits: {timeout: 5m}\n' >more.yaml
run policy lint more.yaml
out_lacks no-limits "lint: and with the line that it suggests nothing is missing"

# --- what is missing ---
run_refuses 125 "no command" "put it at the end, such as: corral run -- ls -l" --net a.example.com:443
run run --mode sandbox --data-dir new/.omega -- sh -c "echo x >$PWD/new/.omega/workspace/file"
is "$status $(cat new/.omega/workspace/file) $(stat -c %a new new/.omega new/.omega/workspace | tr '\n' ' ')" "0 x 700 700 700 " "the agent's folder is made, and Omega's workspace in it"
touch plain
run_refuses 125 "a file is no folder" "--data-dir" --mode sandbox --data-dir plain/x -- true
run_refuses 125 "no extra folder" "--extra: $PWD/none: No such file" --mode sandbox --data-dir agent --extra none -- true
mkdir -p "$PWD/none"
run run --mode sandbox --data-dir none -- sh -c "echo x >$PWD/none/file"
is "$(cat none/file)" x "created first, it is written"

# --- what programs read has none of it ---
run run --json --env NOT_SET --net example.com -- true
err_empty "--json: no notes"

# --- a program that is refused inside, which nothing sees but a run that is watched ---
echo "{fs: {read: [$system]}, exec: [sh]}" >listed.yaml
run run --audit refused.db -p listed.yaml -- sh -c id
status_is 126 "exec list: a program that a shell starts"
err_has "status 126: a program inside was not started" "exec list: is said"
err_has "the next run of this command names it" "exec list: with what names it"
run run --audit refused.db -p listed.yaml -- sh -c id
err_has '/usr/bin/id  add exec: ["id"]' "exec list: the next run does"
err_lacks "status 126: a program" "exec list: and does not say it again"
run audit list --decision denied refused.db
out_has "/usr/bin/id" "exec list: and records it"
run run -p listed.yaml -- sh -c 'exit 1'
err_lacks "status 126" "exec list: another status"
run run -- sh -c /etc/passwd
status_is 126 "no exec list: a file that is no program"
err_lacks "status 126" "no exec list: nothing is said"
run run -p listed.yaml --exec id -- sh -c id
status_is 0 "the option that is named helps"

done_testing
