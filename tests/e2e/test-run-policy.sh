#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run`: profiles, policies, single grants, skills, modes; what is refused, and what is said.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
mkdir -p "$scratch/data/inner" "$HOME/.config/corral" "$HOME/.local/state/corral"
echo data >"$scratch/data/file" && echo deep >"$scratch/data/inner/file"
echo here >file

# --- built-in profiles ---
run_prints here "workspace: reads" --profile workspace -- cat file
run_prints here "readonly: reads" --profile readonly -- cat file
run_stops "readonly: does not write" --profile readonly -- sh -c 'echo x >new'
[ ! -e new ]
ok $? "readonly: nothing was written"
run_stops "readonly: not what exists either" --profile readonly -- sh -c 'echo x >>file'
run_prints x "readonly: has its own home and temporary folder" --profile readonly -- sh -c 'echo x >~/x && cp ~/x /tmp/x && cat /tmp/x && rm ~/x /tmp/x'
run_prints ok "offline: works" --profile offline -- sh -c 'echo x >new && rm new && echo ok'
run_refuses 125 "offline: no --net with it" "--net cannot be used with the profile offline" --profile offline --net '*' -- true
run_refuses 125 "no such profile" "unknown profile \`worspace\`" --profile worspace -- true
err_has "did you mean workspace?" "and which there are"
run_refuses 125 "a path is not a profile name" "is not a valid profile name" --profile ../x -- true

# --- a long policy is kept as it was understood ---
long_policy() { # long_policy NAME PATH: reads what every program needs, the path, and much that is not there
	{
		printf 'permissions:\n  fs:\n    read:\n      - /usr/**\n      - /bin/**\n      - /lib/**\n      - /lib64/**\n      - /etc/**\n'
		printf '      - %s\n' "$2"
		i=0
		while [ "$i" -lt 600 ]; do
			echo "      - /nowhere/project/of/somebody/folder$i/**"
			i=$((i + 1))
		done
	} >"$1"
}
cache=$HOME/.local/state/corral/policy-cache
long_policy "$scratch/long.yaml" "$scratch/data/file"
run_prints data "a long policy, without a cache" --no-cache --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
[ ! -e "$cache" ]
ok $? "and nothing is kept"
run_prints data "the first time" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
[ "$(find "$cache" -type f ! -name key | wc -l)" -eq 1 ] && [ "$(stat -c %a "$cache")" = 700 ]
ok $? "it is kept, for the user alone"
run_prints data "the second time" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
run_stops "and nothing else" --policy "$scratch/long.yaml" -- cat "$scratch/data/inner/file"
# As long, of the same time, and another.
touch -r "$scratch/long.yaml" "$scratch/stamp"
sed -i "s,$scratch/data/file,$scratch/data/none," "$scratch/long.yaml" && touch -r "$scratch/stamp" "$scratch/long.yaml"
run_stops "a policy that was changed, with its old size and time" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
sed -i "s,$scratch/data/none,$scratch/data/file," "$scratch/long.yaml" && touch -r "$scratch/stamp" "$scratch/long.yaml"
for entry in "$cache"/[0-9a-f]*; do
	printf x | dd of="$entry" bs=1 seek=200 conv=notrunc 2>/dev/null
done
run_prints data "a damaged entry is none" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
for entry in "$cache"/[0-9a-f]*; do
	: >"$entry"
done
run_prints data "an empty one, too" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
run_stops "a command does not see it" --read "$HOME" -- ls "$cache"
run_stops "nor write in it" --write "$HOME/.local/state" -- sh -c ": >'$cache/0123456789abcdef'"
[ ! -e "$cache/0123456789abcdef" ]
ok $? "and nothing was left there"
run_stops "nor with a home of its own" --set "HOME=$scratch/data" --read "$HOME" -- cat "$cache/key"
chmod 777 "$cache"
run_prints data "a folder that others may write is not used" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
rm -rf "$cache" && : >"$cache"
run_prints data "no folder is no error" --policy "$scratch/long.yaml" -- cat "$scratch/data/file"
rm -f "$cache"

# --- where they do not work ---
for dir in / "$HOME" "$scratch" "$HOME/.config/corral" "$HOME/.config" "$HOME/.local/state"; do
	run_refuses 125 "workspace: not in ${dir#"$scratch"}" "the profile workspace cannot be used in $dir" --work-dir "$dir" -- true
done
err_has "--work-dir DIR" "and what to do instead"
run_refuses 125 "readonly: not in the home" "it is your home" --profile readonly --work-dir "$HOME" -- true
cd "$HOME" || exit 1
run_refuses 125 "workspace: not in the home as the current folder" "it is your home" -- true
cd "$scratch/work" || exit 1
mkdir "$HOME/project"
run_prints ok "a project below the home is fine" --work-dir "$HOME/project" -- sh -c 'echo x >x && echo ok'
run_stops "and the home around it is not there" --work-dir "$HOME/project" -- ls "$HOME/.config"

# --- programs in the home ---
mkdir -p "$HOME/.local/bin" "$HOME/.local/lib" "$HOME/.tool/v1/bin" "$HOME/.tool/v1/lib" "$HOME/.local/share"
printf '#!/bin/sh\necho local\n' >"$HOME/.local/bin/hello" && chmod +x "$HOME/.local/bin/hello"
printf '#!/bin/sh\n. "$(dirname "$0")/../lib/part"\n' >"$HOME/.tool/v1/bin/tool" && chmod +x "$HOME/.tool/v1/bin/tool"
echo 'echo part' >"$HOME/.tool/v1/lib/part"
echo keys >"$HOME/.local/share/keys" && echo lib >"$HOME/.local/lib/lib" && echo other >"$HOME/.tool/other"
old_path=$PATH
PATH=$HOME/.local/bin:$HOME/.tool/v1/bin:$PATH
run_prints local "PATH: a program of ~/.local/bin" -- hello
run_prints part "PATH: an installation" -- tool
run_stops "PATH: nothing else of ~/.local" -- cat "$HOME/.local/share/keys"
run_stops "PATH: not its lib either" -- cat "$HOME/.local/lib/lib"
run_stops "PATH: nothing beside the installation" -- cat "$HOME/.tool/other"
run_stops "PATH: and it can't be written" -- sh -c "echo x >>$HOME/.local/bin/hello"
PATH=$old_path

# --- files that run later ---
mkdir -p repo/.git/hooks repo/.vscode repo/.github && cd repo || exit 1
echo '[core]' >.git/config && echo 'ref' >.git/HEAD && echo '{}' >.vscode/tasks.json
for path in .git/config .git/hooks/pre-commit .vscode/tasks.json .vscode/new.json; do
	run_stops "run later: $path" -- sh -c "echo x >>$path"
done
run_stops "run later: not by another file in its place" -- sh -c 'echo x >c && mv -f c .git/config 2>/dev/null'
run_stops "run later: not removed" -- rm -rf .git/hooks .vscode/tasks.json
is "$(cat .git/config)" "[core]" "run later: nothing happened to it"
rm -f c
run_prints '[core]' "run later: can be read" -- cat .git/config
run_prints ok "run later: the rest of .git can be written" -- sh -c 'echo x >.git/HEAD && echo ok'
run_prints ok "run later: --write names it" --write .git/config -- sh -c 'echo y >>.git/config && echo ok'
is "$(tail -n 1 .git/config)" y "run later: then it is written"
run_stops "run later: and only that" --write .git/config -- sh -c 'echo x >.git/hooks/pre-commit'
run run -- sh -c 'echo x >.envrc'
status_is 0 "run later: what is not there can be made"
err_has "the command created .envrc (direnv runs it when you enter the folder): review it first" "run later: a message names the file"
run run -- true
err_empty "run later: told once"
run run -- sh -c 'mkdir -p .github/workflows && echo x >.github/workflows/ci.yml'
err_has "created .github/workflows" "run later: a folder"
run run -- sh -c 'mv .git moved && mkdir -p .git/hooks && echo x >.git/hooks/pre-commit'
{ [ "$status" -ne 0 ] || grep -q 'changed .git/hooks' "$scratch/err"; }
ok $? "run later: a folder moved away around it is stopped, or told of"
rm -rf .envrc
run run --json -- sh -c 'echo x >.envrc'
out_has '"runs_later": [".envrc"]' "run later: in JSON"
cd .. || exit 1

# --- your own profiles ---
mkdir -p "$HOME/.config/corral/profiles"
cat >"$HOME/.config/corral/profiles/mine.yaml" <<END
fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, $scratch/data/**]}
env: [LANG]
limits: {timeout: 200ms}
END
run_prints data "a profile of one's own" --profile mine -- cat "$scratch/data/file"
run_stops "which grants what it says" --profile mine -- cat "$PWD/file"
run run --profile mine -- sleep 60
status_is 124 "and its limits count"
run run --profile mine --timeout 1h -- sleep 60
status_is 124 "which no option widens"
run_refuses 125 "it is listed" "mine" --profile nine -- true
echo 'fs: [' >"$HOME/.config/corral/profiles/broken.yaml"
run_refuses 125 "a broken one" "broken.yaml:" --profile broken -- true

# --- policies ---
cat >base.yaml <<END
fs:
  read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**, $scratch/data/**]
  write: [\$WORK_DIR/**]
END
cat >narrow.yaml <<END
fs:
  read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**, $scratch/data/inner/**]
END
run_prints data "--policy" -p base.yaml -- cat "$scratch/data/file"
run_prints deep "--policy twice: what both grant" -p base.yaml -p narrow.yaml -- cat "$scratch/data/inner/file"
run_stops "--policy twice: not what one grants" -p base.yaml -p narrow.yaml -- cat "$scratch/data/file"
run_stops "--policy with --profile: both must allow" -p base.yaml --profile readonly -- cat "$scratch/data/file"
run_refuses 125 "--policy: not there" "nothing.yaml: cannot be read" -p nothing.yaml -- true
run_stops "--policy: the file itself can't be written" -p base.yaml -- sh -c 'echo "x: y" >>base.yaml'
run_stops "--policy: nor replaced" -p base.yaml -- sh -c 'echo x >c && mv -f c base.yaml 2>/dev/null'
run_stops "--policy: nor removed" -p base.yaml -- rm -f base.yaml
is "$(head -n 1 base.yaml)" "fs:" "--policy: it is as it was"
rm -f c
ln -s base.yaml link.yaml
run_refuses 125 "--policy: by a link that the command may change" "is reached through the symbolic link $PWD/link.yaml, which commands may change" -p link.yaml -- true
err_has "$PWD/base.yaml" "--policy: names the file itself"
rm link.yaml
run_with "fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**]}" run -p - -- true
status_is 0 "--policy -: from standard input"

# --- single grants ---
run_stops "not granted" -- cat "$scratch/data/file"
run_prints data "--read: a file" --read "$scratch/data/file" -- cat "$scratch/data/file"
run_prints deep "--read: a folder stands for all in it" --read "$scratch/data" -- cat "$scratch/data/inner/file"
run_prints data "--read: relative" --read ../data -- cat ../data/file
run_prints deep "--read: a pattern" --read "$scratch/data/inner/**" -- cat "$scratch/data/inner/file"
run_stops "--read: does not let it be written" --read "$scratch/data" -- sh -c "echo x >$scratch/data/new"
ln -s "$scratch/data" "$HOME/link"
run_prints data "--read: by a link" --read "$HOME/link" -- cat "$HOME/link/file"
run_prints ok "--write" --write "$scratch/data" -- sh -c "echo x >$scratch/data/new && echo ok"
is "$(cat "$scratch/data/new")" x "--write: on the real disk"
mkdir private && echo secret >private/key
run_stops "--deny: a folder" --deny private -- cat private/key
run_stops "--deny: and its list" --deny private -- sh -c 'ls private/*'
run_stops "--deny: beats --read" --deny private --read private -- cat private/key
run_stops "--deny: a file" --deny private/key -- cat private/key
run_prints here "--deny: nothing else" --deny private -- cat file
# A mask can be neither written, nor run, nor hold a device: as its own mount, whatever lies below.
run run --deny private --deny file -- sh -c 'while read -r _ _ _ _ at flags _; do echo "$at $flags"; done </proc/self/mountinfo'
for at in private file; do
	grep -F -e "$PWD/$at " "$scratch/out" | grep ' ro,' | grep ,nosuid | grep ,nodev | grep -q ,noexec
	ok $? "--deny: the mask of $at is read-only, without programs and devices"
done
FOO=bar run_prints bar "--env NAME: passed on" --env FOO -- sh -c 'echo $FOO'
run_prints baz "--env NAME=VALUE: set" --env FOO=baz -- sh -c 'echo $FOO'
run_refuses 125 "--env: no name" "--env" --env 'A B' -- true
mkdir "$HOME/mine" && echo mine >"$HOME/mine/file"
run_prints mine "--read: ~ that the shell left" --read='~/mine' -- cat "$HOME/mine/file"
run_prints mine "--read: a variable" --read '$HOME/mine' -- cat "$HOME/mine/file"
run_refuses 125 "--read: no variable" "NOTHING" --read '$NOTHING/mine' -- true
run run --read ../misspelt -- true
err_has "--read: $scratch/misspelt does not exist" "--read: what is not there is told"
status_is 0 "--read: and the command runs"
run run --read file --write new -- true
err_empty "--read and --write: nothing to tell"
run run --write "$HOME/new" -- true
err_empty "--write: a file of the home that is not there is made by the command, or not"
run run --write "$HOME/none/new" -- true
err_has "files written there are lost" "--write: a message says that the folder does not exist"
run_refuses 125 "--read: empty" "the path is empty" --read '' -- true
run_refuses 125 "--net: no host" "--net" --net 'ht!tp' -- true
cat >listed.yaml <<END
fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**], write: [\$WORK_DIR/**]}
exec: [cat]
END
run_prints here "exec list: what is in it" -p listed.yaml -- cat file
run_prints ok "--exec: joins a list" -p listed.yaml --exec echo -- echo ok
cat >open.yaml <<END
fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**], write: [\$WORK_DIR/**]}
END
run run -p open.yaml --exec cat -- cat file
out_is here "--exec: where a policy has no list it changes nothing"
err_has "--exec cat has no effect" "--exec: and Corral says so"
run_prints here "--exec with a profile: what it names runs" --exec cat -- cat file
err_empty "--exec with a profile: and there is nothing to warn of"
run_prints ok "--exec with a profile: bare of it, others run" -- sh -c 'ls >/dev/null && echo ok'
run_refuses 126 "--exec with a profile: others do not" "the policy does not allow running" --exec cat -- ls
err_has "corral run --exec /" "--exec with a profile: the option that would let it"
line=$(sed -n 's/.*: corral run \(--exec [^ ]*\) .*/\1/p' "$scratch/err")
# shellcheck disable=SC2086 # an option and its word
run_prints file "--exec with a profile: and that helps" --exec cat $line -- ls file
run run --exec sh -- sh -c 'ls; cp /bin/ls mine && ./mine'
is "$(grep -c -i 'permission denied' "$scratch/err")" 2 "--exec with a profile: nor from a listed shell, nor a copy"
run_prints ok "--exec with a profile: several make one list" --exec sh --exec ls -- sh -c 'ls >/dev/null && echo ok'
run_refuses 126 "--exec with readonly: the same" "the policy does not allow running" --profile readonly --exec cat -- ls
mkdir -p "$HOME/.config/corral/profiles" && cp open.yaml "$HOME/.config/corral/profiles/own.yaml"
run_refuses 126 "--exec with a profile of one's own: the same" "the policy does not allow running" --profile own --exec cat -- ls
run_refuses 126 "--exec makes a list for the command itself, too" "the policy does not allow running" --exec cat -- true

# --- what may not be run ---
run_refuses 126 "exec list: what is not in it" "the policy does not allow running" -p listed.yaml -- ls
err_has "listed.yaml" "names the file"
err_has "exec:" "and the line that would allow it"
err_has "corral run --exec " "and the option"
err_lacks "without arguments" "and nothing of arguments, since it has all of them"
mkdir "$HOME/tools" && printf '#!/bin/sh\necho tool\n' >"$HOME/tools/tool" && chmod +x "$HOME/tools/tool"
run_refuses 126 "a program that looks absent is forbidden" "the policy does not allow running $HOME/tools/tool" -- "$HOME/tools/tool"
err_has "corral run --read $HOME/tools/tool" "what would let it"
PATH=$HOME/tools:$PATH run_refuses 126 "by its name, in PATH but not granted" "does not allow running" -p base.yaml -- tool
run_prints tool "with that it runs" --read "$HOME/tools/tool" -- "$HOME/tools/tool"
printf '#!%s\n' "$HOME/tools/tool" >interpreted && chmod +x interpreted
run_refuses 126 "an interpreter that is not granted" "does not allow running $HOME/tools/tool" -- ./interpreted
printf 'limits: {pids: 0}\n' >zero.yaml
run_refuses 126 "a limit of 0 processes" "limits pids to 0" -p base.yaml -p zero.yaml -- true

# --- the ceiling ---
cat >"$HOME/.config/corral/policy.yaml" <<END
fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**], write: [\$WORK_DIR/**], deny: [\$WORK_DIR/private/**]}
env: [LANG]
END
run_prints here "a policy of one's own: what it allows" -- cat file
run_stops "a policy of one's own: what it denies" -- cat private/key
run_stops "a policy of one's own: no option widens it" --read "$scratch/data" -- cat "$scratch/data/file"
FOO=bar run run --env FOO -- sh -c 'echo "<$FOO>"'
out_is "<>" "a policy of one's own: variables, too"
run_refuses 125 "mode rwx stops at it" "this policy applies to every run" --mode rwx -- true
echo 'x: [' >"$HOME/.config/corral/policy.yaml"
run_refuses 125 "one that can't be understood stops the run" "policy.yaml:" -- true
rm "$HOME/.config/corral/policy.yaml"

# The system's own lies in /etc/corral: with another /etc, in namespaces of our own.
if unshare -U -r -m true 2>/dev/null; then
	mkdir -p etc/corral/policy.d/custom etc/corral/profiles
	cp -L /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache etc/ 2>/dev/null
	with_etc() { # with_etc ARGUMENT…: runs corral where /etc is ours
		status=0
		unshare -U -r -m sh -c 'mount --bind etc /etc && exec "$0" "$@"' "$CORRAL" "$@" </dev/null \
			>"$scratch/out" 2>"$scratch/err" || status=$?
	}
	system='fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**], write: [$WORK_DIR/**]'
	echo "$system, deny: [\$WORK_DIR/private/**]}" >etc/corral/policy.yaml
	with_etc run -- cat file
	out_is here "the system's policy: what it allows"
	with_etc run -- cat private/key
	[ "$status" -eq 1 ]
	ok $? "the system's policy: what it denies"
	rm etc/corral/policy.yaml
	echo "$system, deny: [\$WORK_DIR/file]}" >etc/corral/policy.d/10-more.yaml
	with_etc run -- cat file
	[ "$status" -eq 1 ]
	ok $? "a file of the system's policy.d"
	with_etc run -- cat private/key
	out_is secret "and nothing but what it says"
	rm etc/corral/policy.d/10-more.yaml
	printf '{"version": "1.0", "defaultAction": "allow", "rules": []}' >etc/corral/policy.d/default.json
	with_etc run -- cat file
	out_is here "rules of the system that allow"
	printf '{"rules": [{"id": "no", "name": "no", "action": "deny", "target": "filesystem", "operations": ["file_read"], "patterns": ["%s/private/**"]}]}' "$PWD" \
		>etc/corral/policy.d/custom/no.json
	with_etc run -- cat private/key
	[ "$status" -eq 1 ]
	ok $? "rules of the system that deny"
	rm -r etc/corral/policy.d
	echo "$system}" >etc/corral/profiles/ours.yaml
	with_etc run --profile ours -- cat file
	out_is here "a profile of the system"
	echo 'x: [' >etc/corral/policy.yaml
	with_etc run -- true
	status_is 125 "a policy of the system that can't be understood stops the run"
fi

# --- modes ---
mkdir agent extra "$HOME/.claude"
run run --mode sandbox --data-dir agent --extra extra -- sh -c "cat $HOME/tools/tool >agent/copy && cp agent/copy extra/copy &&
	cp agent/copy \"\$TMPDIR/copy\" && cp agent/copy $HOME/.claude/copy && echo ok"
out_is ok "mode sandbox: reads the system and the home, writes its folders"
err_has "commands use the host's network directly: private addresses and cloud metadata are not blocked" "mode sandbox: says that the network is open"
run_stops "mode sandbox: nothing else" --mode sandbox --data-dir agent -- sh -c 'echo x >new'
run_stops "mode sandbox: not an extra folder that was not given" --mode sandbox --data-dir agent -- sh -c 'echo x >extra/new'
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id_rsa"
run_stops "mode sandbox: keys stay out of reach" --mode sandbox --data-dir agent -- cat "$HOME/.ssh/id_rsa"
run_refuses 125 "mode sandbox: no data folder" "--mode requires --data-dir DIR" --mode sandbox -- true
run_refuses 125 "an unknown mode" "invalid value for --mode: \`rw\`" --mode rw -- true
run run --mode rwx -- sh -c 'echo x >"$HOME/rwx" && exit 8'
status_is 8 "mode rwx: the command's status"
err_has "corral: mode rwx: the command is not confined" "mode rwx: says so"
is "$(cat "$HOME/rwx")" x "mode rwx: not confined"
run_refuses 125 "mode rwx: no limits that are not enforced" "--mode rwx does not confine the command, so --timeout cannot be enforced" --mode rwx --timeout 1s -- true
run_refuses 127 "mode rwx: no such program" "cannot run no-such-program" --mode rwx -- no-such-program || :

# --- skills ---
mkdir -p skill/scripts
cat >skill/skill.yaml <<'END'
name: greeter
version: 1.0.0
description: Greets
entry: scripts/run.sh
runtime: bash
permissions:
  fs: {read: [$SKILL_DIR/**, /usr/**, /bin/**, /lib/**, /lib64/**], write: [$WORK_DIR/**]}
END
printf 'echo "hello $1 $2"; echo x >>"$(dirname "$0")/run.sh" 2>/dev/null || true\n' >skill/scripts/run.sh
run_refuses 126 "a skill that was not approved" "it was never approved, so it was not run" --skill skill -- you
err_has "corral approve" "and what to do"
run_prints "hello you two" "--yes" --skill skill --yes you two
run approve --yes skill
run_prints "hello you two" "an approved skill" --skill skill you two
is "$(wc -l <skill/scripts/run.sh)" 1 "its folder can't be written, though it lies in a granted one"
echo '# more' >>skill/scripts/run.sh
run_refuses 126 "a skill that has changed" "its files have changed since it was approved" --skill skill
run_refuses 125 "--yes without a skill" "--yes requires --skill" --yes -- true
mkdir plain && printf 'name: x\ndescription: y\npermissions: {}\n' >plain/skill.yaml
run_refuses 125 "a skill without an entry" "the skill has no entry" --skill plain --yes
printf 'name: x\ndescription: y\nentry: ../work/file\npermissions: {}\n' >plain/skill.yaml
run_refuses 125 "an entry that leads out" "is outside of the skill's folder" --skill plain --yes
run_refuses 125 "no skill" "cannot be read" --skill nothing --yes
# What runs the entry need not be listed; everything else does.
mkdir listed && printf 'name: x\ndescription: y\nruntime: shell\nentry: run.sh\npermissions: {fs: {read: [$SKILL_DIR/**]}, exec: [cat]}\n' >listed/skill.yaml
printf '#!/bin/sh\necho "$1" | cat; id 2>/dev/null || echo "no id"\n' >listed/run.sh
run_prints "hello
no id" "an entry's runtime is implied by its exec list" --skill listed --yes hello
chmod +x listed/run.sh && sed -i /runtime/d listed/skill.yaml
run_prints "hello
no id" "so is the entry itself" --skill listed --yes hello
mv listed/run.sh listed/real.sh && ln -s real.sh listed/run.sh && sed -i 's/.*/&; echo "$0"/' listed/real.sh
sed -i '1s/;.*//' listed/real.sh
run_prints "hello
no id
$(pwd)/listed/real.sh" "an entry is run by its real name" --skill listed --yes hello
rm listed/run.sh && mv listed/real.sh listed/run.sh && chmod -x listed/run.sh
run_refuses 126 "an entry that is no program" "is not executable" --skill listed --yes hello
chmod +x listed/run.sh && cp listed/skill.yaml listed/skill.yml
run_refuses 125 "two manifests" "contains more than one manifest" --skill listed --yes hello
rm listed/skill.yml
printf 'fs: {read: [/**]}\nlimits: {open_files: 0}\n' >zero.yaml
run_refuses 126 "a limit of 0" "to 0, so no command can run" --policy zero.yaml -- true
printf 'fs: {read: [/**]}\nexec: [cat]\n' >no-shell.yaml
run_refuses 126 "another policy denies its program" "does not allow running" --skill listed --policy no-shell.yaml --yes hello

# --- names of shell builtins: `policy check` says what run does ---
cat >builtins.yaml <<'END'
fs: {read: [/usr/**, /lib/**, /lib64/**, /bin/**]}
exec: [/**]
rules: [{id: no-kill, action: deny, operations: [exec], patterns: [kill, test]}]
END
for line in "kill 1" "test -n x"; do
	# shellcheck disable=SC2086 # its words
	run run --policy builtins.yaml -- $line
	status_is 126 "run: $line is refused"
	run policy check -p builtins.yaml --op exec --target "$line"
	status_is 1 "policy check: $line is denied"
done

# --- the system's own links into /usr ---
echo 'fs: {read: [/usr/**]}' >"$scratch/usr.yaml"
run_prints ok "/usr/** has /bin: a program by that name" --policy "$scratch/usr.yaml" -- /bin/echo ok
printf '#!/bin/sh\necho ok\n' >"$scratch/script" && chmod 755 "$scratch/script"
run_prints ok "and a script of /bin/sh" --policy "$scratch/usr.yaml" --read "$scratch/script" -- "$scratch/script"
echo 'fs: {read: [/usr/**], deny: [/usr/bin/id]}' >"$scratch/usr.yaml"
run run --policy "$scratch/usr.yaml" -- sh -c /bin/id
status_is 126 "what is denied there is so by the link"
echo 'fs: {read: [/usr/**], deny: [/bin/**]}' >"$scratch/usr.yaml"
run run --policy "$scratch/usr.yaml" -- /bin/id
status_is 126 "a link that is denied stays so"
echo 'fs: {read: [/usr/lib/**, /usr/bin/cat]}' >"$scratch/usr.yaml"
run run --policy "$scratch/usr.yaml" -- /bin/id
status_is 126 "a part of what is behind it does not bring it"

# --- 10,000 denials of what is not there: one look at its folder, and masked when it appears ---
for at in many/xN many/x/fN none/xN/y /nowhereN /etc/corral-xN; do
	case $at in /*) ;; *) at=$scratch/$at ;; esac
	{
		echo 'fs:'
		echo '  read: [/**]'
		echo '  deny:'
		seq 10000 | sed "s|.*|    - ${at%N*}&${at#*N}/**|"
	} >"$scratch/many.yaml"
	run run --policy "$scratch/many.yaml" -- echo started
	is "$(cat "$scratch/out")" started "10,000 denials of $(echo "$at" | sed "s|$scratch|.|")/**: a run starts"
done
mkdir "$scratch/many" "$scratch/away" && echo secret >"$scratch/away/key"
seq 10000 | sed "s|.*|    - $scratch/many/x&/**|; 1i fs:\n  read: [/**]\n  deny:" >"$scratch/many.yaml"
cat >"$scratch/appears.sh" <<'END'
cd "$1/many" || exit
echo waiting
until [ -e x9999 ]; do sleep 0.05; done
for try in $(seq 200); do
	cat x9999/key >/dev/null 2>&1 || { echo "masked"; exit; }
	sleep 0.05
done
END
"$CORRAL" run --policy "$scratch/many.yaml" --timeout 60s -- sh "$scratch/appears.sh" "$scratch" >"$scratch/out" 2>"$scratch/err" </dev/null &
for try in $(seq 200); do
	grep -q waiting "$scratch/out" && break
	sleep 0.05
done
mv "$scratch/away" "$scratch/many/x9999"
wait
is "$(tr '\n' ' ' <"$scratch/out")" "waiting masked " "one of 10,000 that appears is masked"

done_testing
