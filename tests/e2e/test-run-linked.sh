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
run_stops "nor is its folder exchanged" -- sh -c 'mv bash gone 2>/dev/null'
run_stops "nor that of a secret" -- sh -c 'mv aws gone 2>/dev/null || mv nested gone 2>/dev/null'
{ [ -f bash/bashrc ] && [ "$(cat bash/bashrc)" = rc ] && [ ! -e config/new ] && [ ! -e gone ]; }
ok $? "all is as it was"
mode "$HOME/dot/aws/credentials" "in an agent mode with such a folder as its own" --extra "$HOME/dot"
rm "$HOME/.netrc" && ln -s dot/none "$HOME/.netrc"
run_refuses 125 "a link to what is missing, where a command could make it" "$HOME/dot/none could be created, which the baseline denies" -- true
err_has "$HOME/.netrc leads there" "and the message names the link"
rm "$HOME/.netrc" && ln -s dot/second "$HOME/.netrc" && ln -s netrc second
run_refuses 125 "a link on the way that a command could replace" "commands can replace the symbolic link $HOME/dot/second" -- true
rm "$HOME/.netrc" second
cd "$work" || exit 1

done_testing
