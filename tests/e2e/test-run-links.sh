#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run` and symbolic links: the way to a policy, which a command must not change for the next
# run; and links that an earlier command may have left where a grant is looked for.
# shellcheck disable=SC2016,SC2034,SC2088,SC2154 # dollars and tildes are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
system='/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**'
mkdir -p "$scratch/safe" "$scratch/elsewhere/deep" "$HOME/private" "$HOME/.config/corral/profiles" "$HOME/.local/state/corral"
echo secret >"$HOME/private/file"
echo "fs: {read: [$system], write: ['\$WORK_DIR/**']}" >"$scratch/safe/real.yaml"
echo "fs: {read: [$system, $HOME/private/**], write: ['\$WORK_DIR/**']}" >evil.yaml

# --- the way to a policy: links ---
# attack LINK TARGET NAME ARGUMENT…: with these arguments, a command makes LINK lead to TARGET for the next run.
attack() {
	link=$1 target=$2 name=$3 && shift 3
	before=$(readlink "$link")
	run run "$@" -- ln -sfn "$target" "$link"
	is "$(readlink "$link")" "$before" "$name: the link is as it was"
	grep -q -F -e "is reached through" "$scratch/err" && grep -q -F -e "$PWD/" "$scratch/err"
	ok $? "$name: and the message names it"
	ln -sfn "$before" "$link"
}
ln -s "$scratch/safe/real.yaml" second && ln -s "$PWD/second" "$scratch/safe/first"
attack second "$PWD/evil.yaml" "a chain whose middle can be written" -p "$scratch/safe/first"
run_refuses 125 "the file's own name is offered" "use the path of the file itself: $scratch/safe/real.yaml" -p "$scratch/safe/first" -- true
run_prints ok "and it can be used" -p "$scratch/safe/real.yaml" -- echo ok
ln -s "$scratch/safe" folder && ln -s "$PWD/folder" "$scratch/safe/by-folder"
attack folder "$PWD" "a folder in the middle" -p "$scratch/safe/by-folder/real.yaml"
attack folder "$PWD" "a folder in front" -p folder/real.yaml
mkdir sub && ln -s "../work/sub/../../safe/real.yaml" "$scratch/safe/up"
run run -p "$scratch/safe/up" -- sh -c "mv sub gone && mkdir -p deep/er && ln -s deep/er sub"
{ [ -d sub ] && [ ! -L sub ] && [ ! -e gone ]; }
ok $? "a folder that is left again by ..: it is not replaced"
err_has "is reached through the folder $PWD/sub" "and the message names it"
rm -rf sub gone deep second folder

# --- the way to a policy: folders and names ---
mkdir -p conf/d && echo "fs: {read: [$system], write: ['\$WORK_DIR/**']}" >conf/d/p.yaml
ln -s "$PWD/conf/d/p.yaml" "$scratch/safe/into"
for policy in conf/d/p.yaml "$scratch/safe/into"; do
	for folder in conf conf/d; do
		before=$(stat -c %i "$folder" conf/d/p.yaml)
		run run -p "$policy" -- sh -c "mv $folder gone && mkdir -p conf/d && cp evil.yaml conf/d/p.yaml"
		is "$(stat -c %i "$folder" conf/d/p.yaml)" "$before" "$policy: the folder $folder cannot be put aside"
		rm -rf gone
	done
	run_stops "$policy: nor the file be written" -p "$policy" -- sh -c 'cp evil.yaml conf/d/p.yaml 2>/dev/null'
done
ln "$PWD/conf/d/p.yaml" other-name
run run -p conf/d/p.yaml -- cp evil.yaml other-name
! grep -q private conf/d/p.yaml
ok $? "nor by its second name"
err_has "another hard link" "and the message says so"
rm other-name
ln -s "$scratch/elsewhere/deep" sub && cp evil.yaml "$scratch/elsewhere/p.yaml" && cp conf/d/p.yaml p.yaml
run_stops "a name with .. is what it reads as, here as in grants" -p sub/../p.yaml -- cat "$HOME/private/file"
rm -r sub conf p.yaml "$scratch/safe/into"

# --- others that are read for the next run ---
cp "$scratch/safe/real.yaml" mine.yaml
keeps() { # keeps NAME ARGUMENT…: mine.yaml cannot be changed
	name=$1 && shift
	run run "$@" -- sh -c 'cp evil.yaml mine.yaml; mv evil.yaml mine.yaml; rm -f mine.yaml'
	{ [ -f evil.yaml ] && [ -f mine.yaml ] && ! grep -q private mine.yaml; }
	ok $? "$name"
	[ -f evil.yaml ] || mv mine.yaml evil.yaml
	cp "$scratch/safe/real.yaml" mine.yaml
}
ln -s "$PWD/mine.yaml" "$HOME/.config/corral/policy.yaml"
keeps "the user's own policy, which is a link into the working folder"
rm "$HOME/.config/corral/policy.yaml"
ln -s "$PWD/mine.yaml" "$HOME/.config/corral/profiles/linked.yaml"
keeps "a profile that is one" --profile linked
rm "$HOME/.config/corral/profiles/linked.yaml"
mkdir -p "$scratch/safe/rules/custom"
echo '{"version": "1", "rules": [], "defaultAction": "allow"}' >"$scratch/safe/rules/default.json"
echo '{"version": "1", "rules": [], "defaultAction": "allow"}' >mine.json
ln -s "$PWD/mine.json" "$scratch/safe/rules/custom/a.json"
run run -p "$scratch/safe/rules" --profile workspace -- sh -c 'echo "{}" >mine.json; rm -f mine.json'
grep -q rules mine.json
ok $? "a file of rules that is one"
mkdir "$scratch/log" && ln -s "$scratch/log" middle && ln -s "$PWD/middle/a.db" "$scratch/safe/log.db"
run run --audit "$scratch/safe/log.db" -- ln -sfn "$PWD" middle
is "$(readlink middle)" "$scratch/log" "the way to the log"
rm middle
mkdir "$scratch/skill" && ln -s "$scratch/skill" skill-link
printf 'name: s\nversion: "1"\nentry: run.sh\nruntime: bash\npermissions: {fs: {write: ["$WORK_DIR/**"]}}\n' >"$scratch/skill/skill.yaml"
echo 'ln -sfn /etc skill-link' >"$scratch/skill/run.sh"
run run --skill skill-link --yes
is "$(readlink skill-link)" "$scratch/skill" "the way to a skill"
err_has "is reached through the symbolic link $PWD/skill-link" "and the message names it"
rm skill-link

# --- planted links ---
planted() { # planted NAME LINK TARGET ARGUMENT…: refused, with the target to name instead
	name=$1 link=$2 target=$3 && shift 3
	run_refuses 125 "$name" "through the symbolic link $link, which an earlier command could have created" "$@"
	err_has "$target itself if that is intended" "$name: says where it leads"
}
run_prints "" "an earlier command leaves a link" -- ln -s "$HOME/private" data
planted "--read" "$PWD/data" "$HOME/private" --read ./data -- cat data/file
planted "--write" "$PWD/data" "$HOME/private" --write data -- sh -c 'echo x >data/new'
planted "--read of something below" "$PWD/data" "$HOME/private/file" --read data/file -- cat data/file
run_prints secret "the name that is offered can be granted" --read "$HOME/private" -- cat data/file
planted "--read with another profile" "$PWD/data" "$HOME/private" --profile readonly --read data -- cat data/file
top=$PWD
cd data || exit 1
planted "the current folder" "$top/data" "$HOME/private" -- cat file
PWD=$top run_prints secret "a variable that tells of another folder counts for nothing" -- cat file
cd -P . || exit 1
run_prints secret "the folder that is offered can be changed to" -- cat file
cd "$top" || exit 1
ln -s data again
planted "a chain" "$PWD/again" "$HOME/private" --read again -- cat again/file
mkdir deep && ln -s ../../home deep/up
planted "a folder on the way" "$PWD/deep/up" "$HOME/private" --read deep/up/private -- cat deep/up/private/file
planted "--work-dir" "$PWD/data" "$HOME/private" --work-dir data -- cat file
planted "--set WORK_DIR" "$PWD/data" "$HOME/private" --set WORK_DIR=data --profile readonly -- cat file
echo "fs: {read: [$system, '\$WORK_DIR/data/**']}" >"$scratch/safe/data.yaml"
planted "a policy's own path" "$PWD/data" "$HOME/private" -p "$scratch/safe/data.yaml" -- cat data/file
echo "fs: {read: [$system, '\$DATA_DIR/**']}" >"$scratch/safe/variable.yaml"
planted "a variable" "$PWD/data" "$HOME/private" -p "$scratch/safe/variable.yaml" --set DATA_DIR=data -- cat data/file
planted "--data-dir" "$PWD/data" "$HOME/private" --mode sandbox --data-dir data -- sh -c 'echo x >data/new'
mkdir agent
planted "--extra" "$PWD/data" "$HOME/private" --mode sandbox --data-dir agent --extra data -- sh -c 'echo x >data/new'
[ ! -e "$HOME/private/new" ]
ok $? "nothing was written by any of them"
run run --profile readonly --read 'd*/file' -- cat data/file
{ [ "$status" -ne 0 ] && [ ! -s "$scratch/out" ]; }
ok $? "a pattern does not match through one"
mkdir -p "$scratch/safe/tree" && ln -s "$HOME/private/file" "$scratch/safe/tree/a" && echo b >"$scratch/safe/tree/b"
echo "fs: {read: [$system, '$scratch/safe/tree/*']}" >"$scratch/safe/glob.yaml"
run run -p "$scratch/safe/glob.yaml" -- sh -c "cat $scratch/safe/tree/*"
out_is b "of what a pattern matches, such a link is left out"
err_has "$scratch/safe/tree/a is left out" "and that is said"

# --- links that are no harm ---
echo here >file && ln -s file alias
run_prints here "a link that leads to what is granted anyway" --read alias -- cat alias
ln -s "$scratch/safe" "$HOME/shelf" && echo text >"$scratch/safe/text"
run_prints text "a link in the home itself" --read '~/shelf' -- cat "$HOME/shelf/text"
echo "fs: {read: [$system, '~/shelf/**']}" >"$scratch/safe/shelf.yaml"
run_prints text "also by a policy" -p "$scratch/safe/shelf.yaml" -- cat "$HOME/shelf/text"
mkdir -p "$HOME/project" && ln -s "$HOME/project" "$HOME/p"
run_prints "$HOME/project" "--work-dir: so too" --work-dir "$HOME/p" -- pwd
[ ! -L /bin ] || run_prints ok "the system's own links" --read /bin -- echo ok

# --- the profile's own grants: folders of PATH ---
mkdir -p "$HOME/project/real/bin" "$HOME/.tool/v1/bin" && ln -s "$HOME/private" "$HOME/project/venv" && ln -s v1 "$HOME/.tool/current"
mkdir "$HOME/private/bin" && echo secret >"$HOME/private/bin/file"
echo text >"$HOME/.tool/v1/bin/file"
PATH="$HOME/project/venv/bin:$PATH" run_stops "a folder of PATH behind such a link is not granted" -- cat "$HOME/private/bin/file"
ln -s /usr "$HOME/project/store"
PATH="$HOME/project/store/bin:$PATH" run_prints "$HOME/project/store/bin/env" "one that leads to what the profile grants is there" \
	-- sh -c 'ls "$0"' "$HOME/project/store/bin/env"
PATH="$HOME/.tool/current/bin:$PATH" run_prints text "one inside its own hidden folder is" -- cat "$HOME/.tool/current/bin/file"

done_testing
