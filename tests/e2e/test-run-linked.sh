#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Where symbolic links lead from what is masked or kept read-only: from inside secret folders, from
# the home into the working folder, and from inside folders whose files other programs run later.
# shellcheck disable=SC2016,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
mkdir -p "$HOME/sync/deep/more" "$HOME/dot" "$HOME/.config" "$HOME/.ssh" "$scratch/agent"
work=$PWD

# hidden FILE NAME ARGUMENT…: it has the secret, and a command with these arguments cannot read it.
hidden() {
	file=$1 name=$2 && shift 2
	[ "$(cat "$file")" = secret ] || ok 1 "$name: the file is there"
	run run "$@" -- cat "$file"
	{ [ "$status" -eq 1 ] && [ ! -s "$scratch/out" ] && grep -q "Permission denied" "$scratch/err"; }
	ok $? "$name"
}
mode() { # the same in the agent mode
	file=$1 name=$2 && shift 2
	hidden "$file" "$name" --mode sandbox --data-dir "$scratch/agent" "$@"
}

# --- links inside secret folders ---
for name in key cred kube gpg chained named deep/more/file; do echo secret >"$HOME/sync/$name"; done
echo plain >"$HOME/sync/other"
mkdir -p "$HOME/.aws" "$HOME/.kube" "$HOME/.gnupg/private-keys-v1.d" "$HOME/.mozilla"
ln -s ../sync/key "$HOME/.ssh/id_ed25519"
ln -s "$HOME/sync/cred" "$HOME/.aws/credentials"
ln -s ../sync/kube "$HOME/.kube/config"
ln -s ../../sync/gpg "$HOME/.gnupg/private-keys-v1.d/one.key"
ln -s ../sync/second "$HOME/.ssh/chain" && ln -s chained "$HOME/sync/second"
ln -s ../sync/deep "$HOME/.ssh/folder"
mode "$HOME/sync/key" "a key that is a link"
mode "$HOME/sync/cred" "credentials that are one"
mode "$HOME/sync/kube" "a cluster's"
mode "$HOME/sync/gpg" "in a folder of the secret folder"
mode "$HOME/sync/chained" "a chain of links"
mode "$HOME/sync/deep/more/file" "a link to a folder: all in it"
run run --mode sandbox --data-dir "$scratch/agent" -- cat "$HOME/sync/other"
out_is plain "what no link leads to can be read"
hidden "$HOME/sync/key" "also where a folder is granted by name" --read "$HOME/sync"
run_stops "or the file itself" --read "$HOME/sync/key" -- cat "$HOME/sync/key"
mkdir "$HOME/sync/deep/ways" && echo secret >"$HOME/sync/last" && ln -s ../../last "$HOME/sync/deep/ways/on"
mode "$HOME/sync/last" "a link in a folder that a link in a secret folder leads to"
rm -r "$HOME/sync/deep/ways"
run run --mode sandbox --data-dir "$scratch/agent" -- cat "$HOME/sync/last"
out_is secret "which is read where no link is left: the test above tests something"
ln -s ../sync/known "$HOME/.ssh/known_hosts" && echo hosts >"$HOME/sync/known"
run run --mode sandbox --data-dir "$scratch/agent" -- cat "$HOME/sync/known"
out_is hosts "a public file of a secret folder is public behind a link"
printf 'fs: {read: ["/**"], write: []}\ndangerously_allow: ["%s/.ssh/id_ed25519"]\n' "$HOME" >"$scratch/lifted.yaml"
run run -p "$scratch/lifted.yaml" -- cat "$HOME/sync/key"
out_is secret "what a policy takes out of the baseline is not masked"

# --- a whole secret folder as a link, and links in it ---
mv "$HOME/.aws" "$HOME/sync/aws" && ln -s sync/aws "$HOME/.aws"
mode "$HOME/sync/cred" "a secret folder that is a link, and a link in it"
rm -r "$HOME/.aws" "$HOME/sync/aws"

# --- what appears while the command runs ---
# appears FILE NAME COMMAND…: after that command of the host, the file is masked for a command that runs.
appears() {
	file=$1 name=$2 && shift 2
	rm -f "$scratch/tmp/go" "$scratch/tmp/gone" && mkfifo "$scratch/tmp/go" "$scratch/tmp/gone"
	"$CORRAL" run --mode sandbox --data-dir "$scratch/agent" -- sh -c 'echo up >"$0/tmp/go"; read -r x <"$0/tmp/gone"
		n=0; while cat "$1" 2>/dev/null && [ $n -lt 3000 ]; do n=$((n + 1)); sleep 0.01; done; [ -e "$1" ] && ! cat "$1"' \
		"$scratch" "$file" >"$scratch/out" 2>"$scratch/err" &
	read -r _ <"$scratch/tmp/go" && "$@" && echo now >"$scratch/tmp/gone"
	wait $!
	ok $? "$name"
}
ln -s ../sync/later "$HOME/.kube/later"
appears "$HOME/sync/later" "the target of a link in a secret folder" sh -c 'echo new >"$HOME/sync/later"'
mkdir "$scratch/azure" && ln -s "$HOME/sync/other" "$scratch/azure/link"
appears "$HOME/sync/other" "what a link in a secret folder that appears leads to" mv "$scratch/azure" "$HOME/.azure"
rm -r "$HOME/.kube/later" "$HOME/sync/later" "$HOME/.azure"

# --- links that lead to too much, or nowhere ---
ln -s .. "$HOME/.ssh/home" && ln -s ../nowhere "$HOME/.ssh/nowhere" && ln -s loop "$HOME/.ssh/loop"
run run --mode sandbox --data-dir "$scratch/agent" -- cat "$HOME/sync/other"
out_is plain "a link to the home does not hide the home"
err_has "$HOME/.ssh/home leads to $HOME, which cannot be masked as a whole" "but is reported"
rm "$HOME/.ssh/home" "$HOME/.ssh/nowhere" "$HOME/.ssh/loop"
mkdir -p "$HOME/.gnupg/a/b/c/d/e/f"
run run --mode sandbox --data-dir "$scratch/agent" -- true
err_has "$HOME/.gnupg has too many folders to look for symbolic links in all of them" "the bound on depth is reported"
rm -r "$HOME/.gnupg/a"
i=0 && while [ $i -lt 300 ]; do mkdir "$HOME/.gnupg/$i" && i=$((i + 1)); done
run run -- true
err_has "$HOME/.gnupg has too many folders" "and the bound on their number"
mode "$HOME/sync/key" "what comes earlier in the baseline is looked at all the same"
rm -r "$HOME/.gnupg" && mkdir -p "$HOME/.config/google-chrome/a/b/c/d/e/f"
run_prints ok "folders that a program fills are no reason for a line" -- echo ok

# --- the home's own links into the working folder ---
cd "$HOME/dot" || exit 1
mkdir -p aws gh bash config ssh keys nested/aws && echo secret >aws/credentials && echo secret >netrc && echo secret >gh/hosts.yml
echo rc >bash/bashrc && echo secret >keys/id && echo fish >config/config.fish && echo plain >other && echo secret >nested/aws/x
ln -s dot/aws "$HOME/.aws" && ln -s dot/netrc "$HOME/.netrc" && ln -s dot/bash/bashrc "$HOME/.bashrc"
ln -s ../dot/gh "$HOME/.config/gh" && ln -s ../dot/config "$HOME/.config/fish" && ln -s "$HOME/dot/keys/id" "$HOME/.ssh/deploy"
ln -s "$HOME/dot/nested/aws" "$HOME/.azure"
for profile in workspace readonly offline; do
	for file in aws/credentials netrc gh/hosts.yml keys/id nested/aws/x; do
		hidden "$file" "$profile: the working folder has $file, which the home leads to" --profile "$profile"
	done
	run_prints plain "$profile: what the home does not lead to can be read" --profile "$profile" -- cat other
	run_prints rc "$profile: and so can start-up files" --profile "$profile" -- cat bash/bashrc
done
for file in bash/bashrc config/config.fish config/new; do
	run_stops "a start-up file that the home leads to is not written: $file" -- sh -c "echo evil >>$file 2>/dev/null"
done
mkdir -p unit fish-d "$HOME/.config/systemd/user" "$HOME/.local/share/applications" && echo unit >unit/x.service && echo app >unit/x.desktop
ln -s "$HOME/dot/unit/x.service" "$HOME/.config/systemd/user/x.service" && ln -s "$HOME/dot/unit/x.desktop" "$HOME/.local/share/applications/x.desktop"
for file in unit/x.service unit/x.desktop; do
	run_stops "nor what a link inside such a folder leads to: $file" -- sh -c "echo evil >>$file 2>/dev/null"
done
for file in bash/bashrc config/config.fish unit/x.service; do
	run_stops "nor in an agent mode: $file" --mode sandbox --data-dir "$HOME/dot" -- sh -c "echo evil >>$HOME/dot/$file 2>/dev/null"
done
run_stops "nor is its folder exchanged" -- sh -c 'mv bash gone 2>/dev/null'
run_stops "nor that of a secret" -- sh -c 'mv aws gone 2>/dev/null || mv nested gone 2>/dev/null'
{ [ -f bash/bashrc ] && [ "$(cat bash/bashrc unit/x.service)" = "rc
unit" ] && [ ! -e config/new ] && [ ! -e gone ]; }
ok $? "all is as it was"
mode "$HOME/dot/aws/credentials" "in an agent mode with such a folder as its own" --extra "$HOME/dot"
rm "$HOME/.netrc" && ln -s dot/none "$HOME/.netrc"
run_refuses 125 "a link to what is missing, where a command could make it" "$HOME/dot/none could be created, which the baseline denies" -- true
err_has "$HOME/.netrc leads there" "and the message names the link"
rm "$HOME/.netrc" && ln -s dot/second "$HOME/.netrc" && ln -s netrc second
run_refuses 125 "a link on the way that a command could replace" "commands can replace the symbolic link $HOME/dot/second" -- true
rm "$HOME/.netrc" second
mkdir "$HOME/.config/tmux" && ln -s "$HOME/dot" "$HOME/.config/nvim"
run run -- sh -c 'cat other; : >new'
out_is plain "a link to the working folder itself does not stop work"
err_has "$HOME/.config/nvim leads to $HOME/dot, which cannot be protected as a whole" "and is reported"
rm "$HOME/.config/nvim"
cd "$work" || exit 1

# --- links inside folders whose files other programs run later ---
# keeps TARGET NAME: it cannot be written, replaced, or put aside with its folder.
keeps() {
	target=$1 name=$2
	before=$(cat "$target")
	run_stops "$name" -- sh -c 'echo evil >"$0" 2>/dev/null || ln -sf /dev/null "$0" 2>/dev/null || rm -f "$0" 2>/dev/null ||
		{ echo evil >x && mv x "$0" 2>/dev/null; } || mv "${0%%/*}" gone 2>/dev/null' "$target"
	{ [ "$(cat "$target")" = "$before" ] && [ ! -e gone ]; }
	ok $? "$name: it is as it was"
	rm -rf x gone
}
# reports PATH NAME COMMAND…: after that command, a line names the path.
reports() {
	path=$1 name=$2 && shift 2
	run run -- "$@"
	{ [ "$status" -eq 0 ] && grep -q -E "^corral: the command (created|changed) $path \\(" "$scratch/err"; }
	ok $? "$name"
}
repository() { # as git init makes it, as far as it matters here
	mkdir -p .git/hooks .git/objects .git/refs && echo 'ref: refs/heads/main' >.git/HEAD && echo '[core]' >.git/config
}
repository && mkdir -p scripts/deep docs
for folder in .git/hooks .vscode .husky .cursor .devcontainer .github/workflows .idea .claude/hooks .claude/commands .claude/skills .git/modules/m/hooks; do
	mkdir -p "$folder" && up=$(echo "$folder" | sed 's,[^/]*,..,g') && file=scripts/$(echo "$folder" | tr / -)
	echo good >"$file" && ln -s "$up/$file" "$folder/commit-msg"
	keeps "$file" "$folder: what a link in it leads to"
	rm "$folder/commit-msg"
done
run_prints "" "without the link it can be written" -- sh -c 'echo new >scripts/.vscode'
mkdir own && echo 'hooksPath = own' >>.git/config && echo good >scripts/own && ln -s ../scripts/own own/pre-commit
keeps scripts/own "a folder of core.hooksPath"
rm -r own && repository
echo good >scripts/deep/file && ln -s ../../scripts/deep .claude/skills/one
keeps scripts/deep/file "a link to a folder: what is in it"
echo good >scripts/inner && ln -s ../inner scripts/deep/on
keeps scripts/inner "a link in that folder"
rm .claude/skills/one scripts/deep/on
mkdir -p editor && echo good >editor/tasks.json && echo good >docs/linked && ln -s ../docs/linked editor/launch.json && rmdir .vscode && ln -s editor .vscode
keeps editor/tasks.json "a protected folder that is a link"
keeps docs/linked "and a link in that"
rm .vscode editor/launch.json

# Two runs.
reports .vscode "the first of two runs leaves a link, and that is reported" \
	sh -c 'mkdir .vscode && echo "{}" >docs/t.json && ln -s ../docs/t.json .vscode/tasks.json'
keeps docs/t.json "the second cannot change what it leads to"
run_prints "" "but who names it, may" --write docs/t.json -- sh -c 'echo ok >docs/t.json'
rm -r .vscode
reports .vscode "the first leaves a link that leads nowhere" sh -c 'mkdir .vscode && ln -s ../docs/none .vscode/tasks.json'
reports docs/none "the second makes what it leads to, and that is reported" sh -c 'echo evil >docs/none'
rm docs/none && ln -s none docs/middle && ln -sfn ../docs/middle .vscode/tasks.json && echo good >docs/none
keeps docs/none "a chain: its end is kept"
reports docs/middle "and a link on the way is reported if it is replaced" sh -c 'echo evil >x && mv x docs/middle'
rm docs/middle && mkdir docs/in && ln -sfn ../docs/in/../none .vscode/tasks.json
reports docs/in "and so is a folder that the way leaves by .." sh -c 'rmdir docs/in && mkdir -p other/docs/in && ln -s ../other/docs/in docs/in'
rm -r .vscode docs/in docs/none other
ln -s docs/env .envrc
reports docs/env "a protected file that is a link to what is missing" sh -c 'echo evil >docs/env'
rm .envrc
mkdir -p .claude/skills && ln -s ../.. .claude/skills/all
reports . "a link to all of the working folder: any change is reported" sh -c 'echo evil >SKILL.md'
rm .claude/skills/all SKILL.md
ln -s /etc/hostname .git/hooks/outside && ln -s loop .git/hooks/loop
run_prints ok "links that lead elsewhere, or nowhere, are no harm" -- echo ok
rm .git/hooks/outside .git/hooks/loop

# From one folder that may be written into another.
mkdir -p "$HOME/.claude/hooks" && echo good >scripts/hook && ln -s "$work/scripts/hook" "$HOME/.claude/hooks/start"
run run --mode sandbox --data-dir "$work" -- sh -c 'echo evil >scripts/hook'
is "$(cat scripts/hook)" good "a hook of the agent that is a link into its working folder"
rm -r "$HOME/.claude"

# Hard links.
echo good >docs/hard && ln docs/hard .git/hooks/pre-push
keeps docs/hard "a hook with another name in the working folder"
mv docs/hard "$scratch/hard"
run_prints ok "one whose other name is elsewhere is no reason to refuse" -- echo ok
mkdir node_modules && mv "$scratch/hard" node_modules/hard
reports .git/hooks "where its other name is not found, a change is reported" sh -c 'echo evil >node_modules/hard'
rm -r node_modules .git/hooks/pre-push
echo good >docs/hard && ln docs/hard .envrc
keeps docs/hard "a protected file with another name"
rm .envrc

# Bounds.
i=0 && mkdir .idea/many && while [ $i -lt 300 ]; do mkdir ".idea/many/$i" && i=$((i + 1)); done
run run -- true
status_is 0 "more folders than are looked through do not stop a run"
err_has "$work/.idea has too many folders to look for symbolic links in all of them" "but are reported"
rm -r .idea

# Names that are not entered in a repository are as good as any elsewhere.
for folder in .claude/skills/logs .husky/node_modules .vscode/objects .github/workflows/refs .git/hooks/logs; do
	mkdir -p "$folder" && up=$(echo "$folder" | sed 's,[^/]*,..,g') && echo good >scripts/named && ln -s "$up/scripts/named" "$folder/x"
	keeps scripts/named "$folder: what a link in it leads to"
	rm -r "$folder"
done
for folder in .ssh/logs .ssh/cache .gnupg/.git .gnupg/node_modules; do
	mkdir -p "$HOME/$folder" && echo secret >"$HOME/sync/named" && ln -s "$HOME/sync/named" "$HOME/$folder/key"
	mode "$HOME/sync/named" "a link in ~/$folder"
	rm -r "${HOME:?}/$folder"
done

# Hard links into folders that are not looked through.
mkdir -p .git/modules/m/hooks .claude/plugins/p docs
for file in .git/modules/m/hooks/post-checkout .claude/plugins/p/start; do
	rm -f docs/hard && echo good >docs/hard && ln docs/hard "$file"
	keeps docs/hard "$file: its other name"
	mkdir node_modules && mv docs/hard node_modules/hard
	reports "$file" "$file: where that is not found, a change is reported" sh -c 'echo evil >node_modules/hard'
	rm -r node_modules "$file"
done
i=0 && mkdir .claude/plugins/many && (cd .claude/plugins/many && seq 1 4200 | xargs touch)
run run -- true
err_has "$work has too many protected files to look for hard links of all of them" "more names than are looked at are reported"
rm -r .claude .git/modules

# No folder uses up the bounds of another.
mkdir -p .circleci .husky && i=0 && while [ $i -lt 300 ]; do mkdir ".circleci/d$i" && i=$((i + 1)); done
echo good >scripts/x.sh && ln -s ../scripts/x.sh .husky/x
keeps scripts/x.sh "a folder full of folders does not keep links in another from being followed"
err_has "$work/.circleci has too many folders" "the folder that is too large is named"
i=0 && while [ $i -lt 300 ]; do mkdir ".husky/d$i" && i=$((i + 1)); done
run run -- true
err_has "$work/.husky has too many folders" "and so is the second"
err_has "$work/.circleci has too many folders" "beside the first"
keeps scripts/x.sh "links at the top come first"
rm -r .circleci .husky
rm -rf "$HOME/.aws" && mkdir -p "$HOME/.aws" "$HOME/.gnupg" && i=0
while [ $i -lt 300 ]; do mkdir "$HOME/.ssh/d$i" "$HOME/.aws/d$i" && i=$((i + 1)); done
echo secret >"$HOME/sync/full" && ln -s ../sync/full "$HOME/.gnupg/last"
mode "$HOME/sync/full" "nor does a secret folder"
err_has "$HOME/.ssh has too many folders" "each is named:"
err_has "$HOME/.aws has too many folders" "the second as well"
err_lacks "$HOME/.gnupg has too many folders" "but none that was looked through"
rm -r "$HOME/.aws" "$HOME/.gnupg" "$HOME/.ssh"/d*

# --- folders that cannot be listed, for an ordinary user ---
if [ "$(id -u)" -ne 0 ]; then
	mkdir -p "$work/closed" && cd "$work/closed" || exit 1
	run run -- sh -c 'echo evil >.envrc; mkdir .vscode; echo evil >.vscode/tasks.json; chmod 0311 .'
	err_has "the command created .envrc (" "in a folder that is made unreadable, what has a known name is found"
	err_has "the command created .vscode (" "and so are folders"
	err_has "the command changed . (it cannot be listed now" "and that it is unreadable is reported"
	chmod 0755 "$work/closed" && rm -r .envrc .vscode
	run run --json -- sh -c 'echo evil >.envrc; chmod 0311 .'
	out_has '"runs_later_complete": false' "and in JSON"
	out_has '.envrc"' "with the file"
	chmod 0755 "$work/closed" && rm .envrc
	run run --json -- sh -c 'mkdir -p a/b; echo evil >a/b/.envrc; chmod 0 a/b'
	out_has '"a/b"' "a new folder that cannot be searched either"
	out_has '"runs_later_complete": false' "and nothing is complete"
	chmod 0755 a/b && rm -r a
	run run -- sh -c 'chmod 0 .'
	err_has "the command changed . (it cannot be listed now" "nor the working folder itself"
	chmod 0755 "$work/closed"
	repository && mkdir .vscode && echo good >.vscode/tasks.json && echo good >.envrc && chmod 0311 .
	run_stops "before the command, known names are kept in a folder that cannot be listed" \
		-- sh -c 'echo evil >.envrc 2>/dev/null || echo evil >.git/hooks/pre-commit 2>/dev/null || echo evil >.vscode/tasks.json 2>/dev/null'
	err_has "$work/closed cannot be listed" "and a line names the folder"
	run run --json -- true
	out_has '"runs_later_complete": false' "and JSON says that there may be more"
	chmod 0755 "$work/closed" && rm -r .git .vscode .envrc
	mkdir docs .husky .vscode && echo good >docs/pc && ln -s ../docs/pc .husky/pre-commit && chmod 0111 .husky
	mkdir .vscode/in && chmod 0 .vscode/in
	run run -- true
	err_has "$work/closed/.husky cannot be listed, so what symbolic links in it lead to" "a protected folder that cannot be listed"
	err_has "$work/closed/.vscode/in cannot be listed, so what symbolic links in it lead to" "and a folder in one"
	run run --json -- true
	out_has '"runs_later_complete": false' "in JSON as well"
	chmod 0755 .husky .vscode/in && cd "$work" && rm -r closed
	rm -f "$HOME/.netrc" && mkdir "$HOME/.aws" && echo secret >"$HOME/sync/aws" && ln -s ../sync/aws "$HOME/.aws/credentials" && chmod 0311 "$HOME/.aws"
	run run --mode sandbox --data-dir "$scratch/agent" -- true
	err_has "$HOME/.aws cannot be listed" "a secret folder that cannot be listed is reported"
	mode "$HOME/sync/aws" "and a link of a well-known name in it is followed"
	chmod 0755 "$HOME/.aws" && rm -r "$HOME/.aws"
	ln -s sync/aws "$HOME/.netrc" && chmod 0311 "$HOME"
	hidden "$HOME/sync/aws" "nor is a home needed that can be listed" --read "$HOME/sync"
	chmod 0755 "$HOME" && rm "$HOME/.netrc"
fi

# --- git's files that are too large ---
truncate -s 50G .gitmodules
run run -- true
status_is 0 "a huge .gitmodules does not stop a run"
err_has "$work/.gitmodules is larger than 1 MiB and was not read" "but is reported by its name"
run run --json -- true
out_has '"runs_later_complete": false' "and in JSON"
rm .gitmodules && cp .git/config kept && i=0
while [ $i -lt 3000 ]; do i=$((i + 1)) && echo "[include] path = inc$i"; done >>.git/config
run run -- true
status_is 0 "nor do thousands of includes"
err_has "$work/.git/inc64 was not read" "the first that was not read is named"
run_stops "and .git/config is kept" -- sh -c 'echo x >>.git/config 2>/dev/null'
mv kept .git/config && truncate -s 50G .git/more && echo '[include] path = more' >>.git/config
run run -- true
status_is 0 "nor a huge file that is included"
err_has "$work/.git/more is larger than 1 MiB" "which is named"
rm -r .git && truncate -s 50M .git
run_prints ok "nor a huge file in place of .git, which git does not read either" -- echo ok

done_testing
