#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What a command leaves behind for programs outside: each attack is made inside, then the user's own
# git is run as a person would, and a file tells whether it was made to run something. Those that a
# mount can hold must fail; those that it cannot must be told of.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
if ! command -v git >/dev/null || ! git init -q "$scratch/try" 2>/dev/null; then
	echo "1..0 # SKIP there is no git"
	exit 0
fi
export GIT_CONFIG_NOSYSTEM=1
pwned=$scratch/pwned
evil="[core]
	repositoryformatversion = 0
	fsmonitor = \"echo >$pwned; false\""

# A repository with a commit, of the name $1.
repository() {
	rm -f "$pwned"
	git init -q "$scratch/$1" && cd "$scratch/$1" || exit 1
	git config user.name x && git config user.email x@example.com
	echo 1 >file && git add file && git commit -q -m one || exit 1
}
# attack SCRIPT: inside, in the folder that is current. $EVIL is a text of settings.
attack() {
	run run -- sh -c "EVIL='$evil'
$1"
}
# used NAME: the user's own git did not run the attacker's command.
used() {
	git status >/dev/null 2>&1
	git commit -q --allow-empty -m two >/dev/null 2>&1
	[ ! -e "$pwned" ]
	ok $? "$1"
}

repository plain
attack 'echo "$EVIL" >>.git/config; mv .git/hooks x; mkdir -p .git/hooks'
used 'git: its configuration cannot be changed'

repository hooks
mkdir .githooks && git config core.hooksPath .githooks
attack "printf '#!/bin/sh\necho >$pwned\n' >.githooks/pre-commit; chmod +x .githooks/pre-commit
rm -rf .githooks; mv .githooks x"
used 'git: nor hooks where core.hooksPath leads'

repository include
echo >shared && git config include.path ../shared
attack 'echo "$EVIL" >shared; rm -f shared; echo "$EVIL" >shared'
used 'git: nor settings that are included'

repository main
git worktree add -q "$scratch/other" -b other
attack 'mkdir c; cp -r .git/objects .git/refs c; echo "$EVIL" >c/config
echo ../../../c >.git/worktrees/other/commondir
mv .git/worktrees x; mkdir -p .git/worktrees/other'
cd "$scratch/other" || exit 1
used 'git: nor those of another worktree'

rm -f "$pwned"
attack 'git init -q --bare g; git -C g config core.bare false; echo "$EVIL" >>g/config
rm -f .git; mv .git x; echo "gitdir: ./g" >.git'
used 'git: nor where a worktree has its repository'

repository common
attack 'mkdir c; cp -r .git/objects .git/refs c; echo "$EVIL" >c/config; echo ../c >.git/commondir'
err_has '.git/commondir' 'git: a common folder that is made is told of'

repository module
attack 'git init -q lib; cd lib; echo 1 >1; git add 1
git -c user.name=x -c user.email=x commit -q -m x; echo "$EVIL" >>.git/config
cd ..; git update-index --add --cacheinfo "160000,$(git -C lib rev-parse HEAD),lib"'
err_has 'lib/.git' 'git: a submodule that is made is told of'

rm -rf "$scratch/file" && mkdir "$scratch/file" && cd "$scratch/file" || exit 1
attack 'git init -q --bare g; echo "gitdir: ./g" >.git'
err_has '.git (' 'git: a file .git that is made is told of'

done_testing
