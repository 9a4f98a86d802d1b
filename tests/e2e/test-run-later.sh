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

repository variable
echo >mine && export GIT_CONFIG_GLOBAL="$PWD/mine"
attack 'echo "$EVIL" >mine; rm -f mine; echo "$EVIL" >mine'
used 'git: nor settings that GIT_CONFIG_GLOBAL names'
unset GIT_CONFIG_GLOBAL

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

# --- another repository in the place of the one that is protected ---
# bare FOLDER: shell that makes a repository of a folder without .git.
bare='bare() { mkdir -p "$1/objects" "$1/refs" && echo "ref: refs/heads/x" >"$1/HEAD" && echo "$EVIL
	bare = false
	worktree = ." >"$1/config"; }'
# ran NAME: what is told of is no invention: the user's own git runs it.
ran() {
	git status >/dev/null 2>&1
	[ -e "$pwned" ]
	ok $? "$1"
	rm -f "$pwned"
}

for way in 'rm .git/HEAD' 'echo x >.git/HEAD' 'rm -rf .git/refs' 'mv .git/objects x' 'chmod 0 .git/objects'; do
	rm -rf "$scratch/bare"
	repository bare
	attack "$bare; $way; bare ."
	err_has 'the command created . (git treats it as a repository' "git: the folder itself as a repository is told of ($way)"
	# For root it is still a repository.
	if [ "$way" != 'chmod 0 .git/objects' ] || [ "$(id -u)" -ne 0 ]; then
		ran "git: which git uses ($way)"
	fi
	chmod 700 .git/objects 2>/dev/null
done

repository inner
mkdir -p src/deep
attack "$bare; bare src/deep; bare new/er"
err_has 'created src/deep (git treats it' 'git: a folder in it that becomes a repository'
err_has 'created new/er (git treats it' 'git: and a new one'
cd src/deep || exit 1
ran 'git: which git uses'
cd ../.. || exit 1
attack "echo x >>src/deep/config; mkdir -p src/deep/hooks; echo x >src/deep/hooks/pre-commit; mv src/deep/config x; ls src"
err_lacks 'changed src/deep/config' 'git: once it is there, its configuration is kept'
err_has 'created src/deep/hooks' 'git: new hooks in it are told of'
is "$(cat src/deep/config)" "$evil
	bare = false
	worktree = ." 'git: nothing happened to it'

# A folder needs neither objects nor refs where its commondir leads to them.
lean='lean() { mkdir -p data/x/objects data/x/refs "$1" && echo "ref: refs/heads/x" >"$1/HEAD" && echo "$PWD/data/x" >"$1/commondir" &&
echo "$EVIL
[extensions]
	worktreeConfig = true" | sed "s/version = 0/version = 1/" >data/x/config && printf "[core]\n\tbare = false\n\tworktree = %s\n" "$PWD/$1" >"$1/config.worktree"; }'
repository lean
mkdir src
attack "$lean; lean src; lean new/er"
err_has 'created src (git treats it' 'git: a folder with a commondir is a repository'
err_has 'created new/er (git treats it' 'git: and a new one'
cd src || exit 1
ran 'git: which git uses'
cd .. || exit 1
attack 'echo x >>data/x/config; echo x >src/commondir; mkdir -p data/x/hooks; echo x >data/x/hooks/pre-commit; ls src'
is "$(cat src/commondir)" "$PWD/data/x" 'git: once it is there, its commondir is kept'
[ "$(tail -n 1 data/x/config)" != x ]
ok $? 'git: and the configuration where that leads'
err_has 'created data/x/hooks' 'git: new hooks there are told of'
repository lean-top
attack "$lean; rm .git/HEAD; lean ."
err_has 'the command created . (git treats it' 'git: the folder itself as one'
ran 'git: which git uses'

# --- remotes as they were before there was a configuration ---
git init -q --bare "$scratch/far.git"
repository remotes
rm -rf .git/branches
git branch -M main
push='mkdir -p .git/$KIND && git init -q --bare node_modules/far && printf "#!/bin/sh\necho >$PWNED\n" >node_modules/far/hooks/pre-receive &&
chmod +x node_modules/far/hooks/pre-receive && echo "$WHAT" >.git/$KIND/origin'
for kind in remotes branches; do
	[ $kind = remotes ] && what="URL: $scratch/remotes/node_modules/far" || what="$scratch/remotes/node_modules/far"
	attack "PWNED=$pwned KIND=$kind WHAT='$what'; $push"
	err_has "created .git/$kind (git fetches" "git: .git/$kind that is made is told of"
	git push -q origin HEAD:refs/heads/$kind >/dev/null 2>&1
	[ -e "$pwned" ]
	ok $? 'git: which git push uses'
	rm -f "$pwned" && echo "${what%%/*}$scratch/far.git" >.git/$kind/origin
	attack "PWNED=$pwned KIND=$kind WHAT='$what'; $push"
	git push -q origin HEAD:refs/heads/$kind-2 >/dev/null 2>&1
	[ ! -e "$pwned" ]
	ok $? "git: .git/$kind that is there cannot be changed"
	rm -r .git/$kind
done
run run -- sh -c 'git checkout -q -b other; echo 2 >file; git -c user.name=x -c user.email=x commit -q -am two; echo 3 >file
git -c user.name=x -c user.email=x commit -q -am three; git checkout -q main; echo 4 >file
git -c user.name=x -c user.email=x commit -q -am four; git -c user.name=x -c user.email=x cherry-pick main..other; git cherry-pick --abort && echo fine'
out_has fine 'git: a cherry-pick that stops works'
err_lacks sequencer 'git: of which nothing is told once it is over'

# --- where settings lead, before there is anything ---
repository later
git config core.hooksPath .my-hooks
attack "mkdir .my-hooks; printf '#!/bin/sh\necho >$pwned\n' >.my-hooks/pre-commit; chmod +x .my-hooks/pre-commit"
err_has 'created .my-hooks (git runs' 'git: hooks that are made where core.hooksPath leads are told of'

# --- repositories in the folder ---
repository outer
git init -q lib/inner && echo 1 >lib/inner/1 && git -C lib/inner add 1
git -C lib/inner -c user.name=x -c user.email=x commit -q -m x
for path in hooks/pre-commit hooks/new config; do
	attack "echo x >>lib/inner/.git/$path"
	[ "$status" -ne 0 ]
	ok $? "git: a repository inside: $path cannot be written"
done
for path in lib/inner/.git lib/inner lib; do
	attack "python3 -c 'import os; os.rename(\"$path\", \"x\")'"
	{ [ "$status" -ne 0 ] && [ -e lib/inner/.git/HEAD ]; }
	ok $? "git: nor can it be moved away ($path)"
done
attack 'echo ../../../c >lib/inner/.git/commondir'
err_has 'created lib/inner/.git/commondir' 'git: a repository inside: what is new is told of'
rm lib/inner/.git/commondir
attack 'git -C lib/inner -c user.name=x -c user.email=x commit -q --allow-empty -m y && git -C lib/inner checkout -q -b z && echo fine'
out_is fine 'git: a repository inside: work goes on'
err_empty 'git: of which nothing is told'
run run --write lib/inner/.git/config -- git -C lib/inner config a.b c
status_is 0 'git: a repository inside: --write names a file'
err_empty 'git: of which nothing is told'
attack 'git init -q new && git -C new config a.b c'
is "$(grep -c . "$scratch/err")" 1 'git: a new repository is told of once'
err_has 'created new/.git (git runs its hooks' 'git: by its folder'
attack 'mkdir -p a/b/c/d/e/f/g/h && cd a/b/c/d/e/f/g/h && git init -q . && echo x >.envrc'
err_has 'created a/b/c/d/e/f/g/h/.git' 'git: at any depth'
err_has 'created a/b/c/d/e/f/g/h/.envrc' 'and other files'

# A submodule's own index, written in place, that names one more: git enters that from the outer one.
repository modules
git init -q sub && echo 1 >sub/1 && git -C sub add 1 && git -C sub -c user.name=x -c user.email=x commit -q -m x
git init -q sub/evil && git -C sub/evil -c user.name=x -c user.email=x commit -q --allow-empty -m x
printf '%s\n' "$evil" >>sub/evil/.git/config
git add sub 2>/dev/null
sleep 0.02
attack 'cd sub && git update-index --add --cacheinfo "160000,$(git -C evil rev-parse HEAD),evil" && cp .git/index new &&
git reset -q && cat new >.git/index'
err_has 'sub/evil/.git (git enters it as a submodule' 'git: a submodule of a submodule is told of'
ran 'git: which git enters'

# An index that is split, from a file that is not the first that it names; in a folder that is not looked into.
repository split
attack 'git init -q node_modules/evil && cd node_modules/evil && git -c user.name=x -c user.email=x commit -q --allow-empty -m x &&
echo "$EVIL" >>.git/config && cd ../.. &&
git update-index --add --cacheinfo "160000,$(git -C node_modules/evil rev-parse HEAD),node_modules/evil" && git update-index --split-index
python3 -c "
import hashlib
decoy = b\"link\" + (20).to_bytes(4, \"big\") + bytes(20 * [17])
index = open(\".git/index\", \"rb\").read()
at = index.rindex(b\"link\")
index = index[:at] + decoy + index[at:-20]
open(\".git/index\", \"wb\").write(index + hashlib.sha1(index).digest())
open(\".git/sharedindex.\" + 20 * \"11\", \"wb\").write(b\"DIRC\" + bytes([0, 0, 0, 2, 0, 0, 0, 0] + 20 * [17]))
"'
err_has '.git/index (it cannot be read' 'git: an index that names two files that it is split from is told of'
ran 'git: which git reads'
repository split-work
git init -q lib && git -C lib -c user.name=x -c user.email=x commit -q --allow-empty -m x && git add lib 2>/dev/null
for version in 2 3 4; do
	sleep 0.02
	run run -- sh -ec "git -c index.threads=2 update-index --split-index --index-version $version
echo $version >new$version; git add new$version; git -c user.name=x -c user.email=x commit -q -m $version
git -c index.threads=2 -c index.recordEndOfIndexEntries=true -c index.recordOffsetTable=true update-index --no-split-index --force-write-index
echo fine"
	out_is fine "git: version $version of the index, split and not, works"
	err_lacks 'cannot be read' 'git: and is read'
done

# --- what must go on working ---
repository work
git init -q --bare "$scratch/work.git" && git -c protocol.file.allow=always clone -q "$scratch/work" there 2>/dev/null
run run --read "$scratch/main" --env GIT_CONFIG_NOSYSTEM=1 -- sh -ec "
git init -q made
git clone -q . cloned
git checkout -q -b one; echo 2 >file; git -c user.name=x -c user.email=x commit -q -a -m two
git checkout -q -b two HEAD~1; echo 3 >other; git add other; git -c user.name=x -c user.email=x commit -q -m three
git -c user.name=x -c user.email=x rebase -q one
git worktree add -q tree -b three 2>/dev/null
git -C there pull -q ../. one 2>/dev/null || git -C there fetch -q ..
echo fine"
out_is fine 'git: init, clone, commits, checkouts, a rebase and a worktree work'
err_has 'created made/.git' 'git: the new ones are told of'
err_has 'created cloned/.git' 'git: and the clone'
run run -- sh -c 'git -c protocol.file.allow=always submodule add -q ./cloned module 2>&1; ls module/file'
out_has module/file 'git: a submodule is added as far as before'

# --- other names of the table ---
repository names
for file in .hg/hgrc .pre-commit-config.yaml lefthook.yml .gemini/settings.json .codex/config.toml .roo/mcp.json \
	.gitea/workflows/ci.yml .forgejo/workflows/ci.yml .circleci/config.yml .woodpecker.yml Jenkinsfile \
	.lazygit.yml .jj/repo .sl/sharedpath .clinerules/hooks/TaskStart .github/hooks/x.json azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .travis.yml .buildkite/pipeline.yml mise.toml .Rprofile; do
	attack "mkdir -p $(dirname "$file"); echo x >$file"
	grep -q "the command created ${file%%/*}" "$scratch/err"
	ok $? "$file: new, it is told of"
	attack "echo y >>$file"
	{ [ "$status" -ne 0 ] && [ "$(cat "$file")" = x ]; }
	ok $? "$file: it cannot be changed"
done
for file in .npmrc .yarnrc.yml .cargo/config.toml .tool-versions .git/rebase-merge/git-rebase-todo .git/sequencer/opts; do
	mkdir -p "$(dirname "$file")"
	attack "echo x >$file"
	grep -q "the command [a-z]* ${file%%/*}" "$scratch/err"
	ok $? "$file: new, it is told of"
	attack "echo y >>$file"
	{ [ "$status" -eq 0 ] && grep -q "the command changed ${file%%/*}" "$scratch/err"; }
	ok $? "$file: it can be changed, and that is told of"
done
mkdir -p sub/.github/workflows node_modules/x/.vscode
attack 'echo x >sub/.github/workflows/ci.yml; echo x >node_modules/x/.vscode/tasks.json; echo x >node_modules/.envrc'
err_empty 'no forge looks there, and what is in node_modules is run anyway'

# --- more than is looked at ---
mkdir "$scratch/large" && cd "$scratch/large" || exit 1
(i=0 && while [ $i -lt 300 ]; do mkdir -p "d$i/e" && i=$((i + 1)); done)
attack 'echo x >d0/.envrc; echo x >.envrc'
err_has 'created d0/.envrc' 'a large folder: near the top'
err_has 'created .envrc' 'a large folder: at the top'
attack 'sleep 1; echo y >>d299/e/.envrc'
err_has 'd299/e/.envrc (direnv' 'a large folder: a command that takes longer is looked after longer'
err_lacks 'too many folders' 'a large folder: then all of it is seen'
rm -rf ./* && attack 'mkdir $(seq 4200)'
err_has 'large has too many folders to look through all of them' 'a message says that not all new folders were searched'
rm -rf ./* && run run --json -- sh -c 'mkdir $(seq 4200)'
out_has '"runs_later_complete": false' 'more new folders: in JSON'

# --- many: the most harmful first, up to a bound that is reported ---
mkdir "$scratch/many" && cd "$scratch/many" || exit 1
attack 'for i in $(seq 260); do mkdir d$i; : >d$i/.exrc; done; : >.npmrc; : >.pylintrc; : >.envrc; git init -q .'
is "$(sed -n 's/^corral: the command created \([^ ]*\) .*/\1/p' "$scratch/err" | head -n 2 | sort | tr '\n' ' ')" '.envrc .git ' 'many: what runs unasked at the top comes first'
is "$(grep -c 'the command created' "$scratch/err")" 200 'many: 200 lines'
err_has 'and 64 more such files; `corral run --json` lists them' 'many: how many more there are'
rm -rf ./* ./.[!.]* && run run --json -- sh -c 'for i in $(seq 260); do mkdir d$i; : >d$i/.exrc; done; : >.npmrc; : >.envrc'
python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); l = r["runs_later"]
assert len(l) == 262 and l[0] == ".envrc" and l[-1] == ".npmrc" and r["runs_later_omitted"] == 0, (len(l), l[0], l[-1])' "$scratch/out"
ok $? 'many: JSON has all of them, in the same order'
rm -rf ./* ./.[!.]* && attack 'seq -f "d%g" 2100 | xargs mkdir; seq -f "d%g/.gdbinit" 2100 | xargs touch; : >d9/.envrc'
is "$(sed -n 's/^corral: the command created \([^ ]*\) .*/\1/p' "$scratch/err" | head -n 1)" d9/.envrc 'many: decoys do not hide what is worse'
err_has 'and 52 more that are in no list' 'many: what has no room is counted'

# --- what shells run out of the folder ---
mkdir -p "$scratch/shell/.venv/bin" "$scratch/shell/tools" && cd "$scratch/shell" || exit 1
with_path() { # with_path SCRIPT: the shell's PATH leads into the folder
	saved=$PATH && PATH=$scratch/shell/.venv/bin:$PATH && attack "$1"
	PATH=$saved
}
with_path 'cp /bin/true .venv/bin/ls; : >.venv/bin/data; cp /bin/true tools/ls'
err_has 'changed .venv/bin/ls (shells look for programs in it, by PATH)' 'PATH: a program that is planted in one of its folders'
err_lacks 'tools/ls' 'PATH: not one elsewhere'
err_lacks 'bin/data' 'PATH: nor what cannot be run'
with_path 'mv .venv/bin x; mkdir .venv/bin; cp -p x/ls .venv/bin'
err_has '.venv/bin (shells look' 'PATH: another folder in its place'
with_path true
err_empty 'PATH: nothing changed, nothing is told'
ln -s shell "$scratch/shell-link" && saved=$PATH && PATH=$scratch/shell-link/.venv/bin:node_modules/.bin:$PATH
attack 'touch .venv/bin/ls; mkdir -p node_modules/.bin; cp /bin/true node_modules/.bin/cat'
PATH=$saved
err_has '.venv/bin/ls (shells look' 'PATH: an entry that is a link'
err_has 'node_modules/.bin/cat (shells look' 'PATH: a relative one, which was not there'

cat >.envrc <<'END'
source_env .envrc.mine  # source_env no
dotenv_if_exists .env.dev; PATH_add "tools/bin"
eval "$(./env.sh)"
. $PWD/lib/more.sh
source_env sub
END
mkdir -p lib sub && for f in .envrc.mine .envrc.local env.sh lib/more.sh sub/.envrc sub/deep.sh; do echo x >$f; done
echo 'source ./deep.sh' >sub/.envrc
for f in .envrc.mine .envrc.local env.sh lib/more.sh sub/.envrc sub/deep.sh; do
	attack "echo y >$f"
	[ "$status" -ne 0 ]
	ok $? "direnv: $f, which .envrc leads to, is kept"
done
attack 'echo A=b >.env.dev; mkdir tools/bin; cp /bin/true tools/bin/ls; : >no'
err_has 'created .env.dev (direnv takes variables' 'direnv: what dotenv loads is told of'
err_has 'tools/bin/ls (shells look for programs' 'direnv: and programs where PATH_add leads'
err_lacks ' no (' 'direnv: a comment is none'
rm -f lib/more.sh && attack 'echo x >lib/more.sh'
err_has 'created lib/more.sh (direnv runs it' 'direnv: what was not there yet is told of'
cat >.envrc <<'END'
PATH_add one two; path_add PATH three
layout node; layout python3
source ${PWD}/braces
. "$(pwd)/called"
export PATH="$PWD/four:$PWD"/five:$PATH
source_env way/e
END
mkdir -p one two three four five .direnv/python-3.9/bin way-1 && ln -s way-1 way && for f in braces called way-1/e; do echo x >$f; done
attack 'for d in one two three four five .direnv/python-3.9/bin node_modules/.bin; do cp /bin/true $d/tool; done'
for d in one two three four five .direnv/python-3.9/bin node_modules/.bin; do
	err_has "changed $d/tool (shells look for programs" "direnv: a program in $d"
done
for f in braces called way-1/e; do
	attack "echo y >$f"
	[ "$status" -ne 0 ]
	ok $? "direnv: $f is kept"
done
attack 'rm way; mkdir way; echo x >way/e'
err_has 'changed way (a link on the way' 'direnv: a link on the way that is replaced'

mkdir -p .venv-1/bin .venv-1/lib .venv-2/bin && rm -rf .venv && ln -s .venv-1 .venv
with_path 'touch .venv-1/lib/x'
err_empty 'PATH: a link on the way that is as it was is not reported'
with_path 'ln -sfn .venv-2 .venv'
err_has 'changed .venv (a link on the way' 'PATH: a link on the way that leads elsewhere now'
with_path 'rm .venv; cp -r .venv-1 .venv'
err_has 'changed .venv (a link on the way' 'PATH: and one that is a folder now'
head -c 70000 /dev/zero | tr '\0' '#' >.envrc && attack true
err_has 'has too many' 'direnv: one that is too large is said'

# --- programs that git's settings name ---
repository programs
mkdir tools && for f in clean ssh pager tool cred.sh alias.py conv; do printf '#!/bin/sh\n' >tools/$f; done
git config filter.x.clean './tools/clean %f' && git config core.sshCommand "$PWD/tools/ssh -x" && git config pager.log tools/pager
git config difftool.x.cmd 'sh tools/tool "$LOCAL"' && git config credential.helper '!sh tools/cred.sh' && git config alias.x '!python3 tools/alias.py'
git config diff.x.textconv 'tools/conv' && git config core.fsmonitor tools/monitor && git config alias.y 'log tools/other' && echo 1 >tools/other
for f in clean ssh pager tool cred.sh alias.py conv; do
	attack "echo x >tools/$f; rm -f tools/$f"
	[ "$status" -ne 0 ] && grep -q sh tools/$f
	ok $? "git: tools/$f, which its settings name, is kept"
done
attack "printf '#!/bin/sh\necho >$pwned\n' >tools/monitor; chmod +x tools/monitor; echo 2 >tools/other"
err_has 'created tools/monitor (git runs it, as its settings say)' 'git: one that was not there yet is told of'
err_lacks tools/other 'git: a word of an alias that is no command is none'
run run --write "$PWD/tools/clean" -- sh -c 'echo y >tools/clean'
is "$status" 0 'git: --write names it'

# --- other folders that may be written ---
repository elsewhere && cd "$scratch/work" || exit 1
run run --write "$scratch/elsewhere" -- sh -c "echo x >$scratch/elsewhere/.git/hooks/pre-commit"
[ "$status" -ne 0 ]
ok $? '--write FOLDER: hooks in it are kept'
run run --write "$scratch/elsewhere" -- sh -c "echo x >$scratch/elsewhere/.envrc"
err_has "created $scratch/elsewhere/.envrc" '--write FOLDER: what is new is told of'
cd "$scratch/elsewhere" || exit 1
run run --profile readonly --write . -- sh -c 'echo x >.git/hooks/pre-commit'
[ "$status" -ne 0 ]
ok $? 'readonly with --write: hooks are kept'

# --- agent modes ---
mkdir -p "$HOME/.claude/hooks" "$HOME/.claude/projects" && echo '{}' >"$HOME/.claude/settings.json"
mode() { run run --mode sandbox --data-dir "$scratch/elsewhere" -- sh -c "$1"; }
for path in "$HOME/.claude/settings.json" "$HOME/.claude/hooks/new" "$scratch/elsewhere/.git/hooks/pre-commit"; do
	mode "echo x >$path"
	[ "$status" -ne 0 ]
	ok $? "agent modes: ${path#"$scratch"} cannot be written"
done
mode 'echo x >~/.claude/x && mv ~/.claude/x ~/.claude/settings.json'
is "$(cat "$HOME/.claude/settings.json")" '{}' 'agent modes: nor replaced'
mode 'echo x >~/.claude/projects/x && mkdir ~/.claude/todos && echo fine'
out_is fine 'agent modes: the rest of ~/.claude can be written'
mode 'echo x >~/.claude/settings.local.json; mkdir ~/.claude/plugins'
err_has '.claude/settings.local.json (an agent runs its hooks)' 'agent modes: new settings are told of'
err_has '.claude/plugins (an agent runs' 'agent modes: and plugins'
run run --mode sandbox --data-dir "$scratch/elsewhere" --write "$HOME/.claude/settings.json" -- sh -c 'echo y >~/.claude/settings.json && echo fine'
out_is fine 'agent modes: --write names it'
err_lacks '.claude' 'agent modes: then nothing is told'

rm -rf "$scratch/file" && mkdir "$scratch/file" && cd "$scratch/file" || exit 1
attack 'git init -q --bare g; echo "gitdir: ./g" >.git'
err_has '.git (' 'git: a file .git that is made is told of'

# --- what lies above the folder and leads into it ---
repository above
mkdir -p scripts/hooks scripts/tools .vscode mid/work .husky lib && printf '#!/bin/sh\n' | tee scripts/x.sh scripts/run.sh scripts/tools/clean scripts/hooks/pre-push scripts/tasks scripts/env scripts/deep.sh mid/work/e >lib/plain && chmod +x scripts/*.sh
ln -s ../../scripts/x.sh .git/hooks/pre-commit && ln -s ../scripts/tasks .vscode/tasks.json && ln -s ../mid/work/e mid/.envrc && ln -s ../lib .husky/_ && ln -s ../scripts/run.sh lib/run
git config core.hooksPath scripts/hooks && git config filter.f.clean './scripts/tools/clean %f'
printf 'source_env scripts/env\nsource lib/plain\nPATH_add scripts/bin\n' >.envrc && echo '. ../scripts/deep.sh' >lib/plain
cd scripts || exit 1
for f in x.sh run.sh tools/clean hooks/pre-push tasks env deep.sh; do
	attack "echo 'echo >$pwned' >>$f"
	[ "$status" -ne 0 ]
	ok $? "above: $f, which the repository above leads to, is kept"
done
attack "mkdir -p bin; cp /bin/true bin/ls; rm x.sh; echo >other"
err_has 'bin/ls (shells look for programs' 'above: programs where the .envrc above leads'
err_lacks 'other' 'above: other files are not reported'
cd ../mid/work && attack 'echo x >>e'
[ "$status" -ne 0 ]
ok $? 'above: a link that is the .envrc of a folder between'
git -C .. config --unset core.hooksPath && cd ../.. && used 'above: the user commits, and nothing runs'
git config core.hooksPath scripts/hooks && cd scripts/hooks && attack "echo x >post-commit"
err_has 'changed . (git runs what is in it)' 'above: the folder of hooks itself is reported'
cd "$scratch" && rm -rf "$scratch/above" && mkdir -p above/sub && cd above && echo x >sub/e && echo 'source_env sub/e' >.envrc && cd sub && attack 'echo y >>e'
[ "$status" -ne 0 ]
ok $? 'above: an .envrc without a repository'
attack 'echo y >>f'
err_empty 'above: nothing of it changed, nothing is reported'
cd "$scratch" || exit 1

# --- a worktree in the repository does not stop a rebase of it ---
repository rebase
git worktree add -q .worktrees/wt -b wt && git checkout -q -b side && echo 2 >file && git commit -q -a -m two && git checkout -q - && echo 3 >file && git commit -q -a -m three || exit 1
git rebase side >/dev/null 2>&1
[ -e .git/rebase-merge ]
ok $? 'worktree: a rebase of the repository has stopped'
attack 'echo 4 >file && git add file && GIT_EDITOR=true git rebase --continue'
status_is 0 'worktree: it can go on inside'
[ ! -e .git/rebase-merge ]
ok $? 'worktree: and ends'

# --- and work goes on in it, while git's settings of it are kept, and all of worktrees elsewhere ---
git worktree add -q "$scratch/far" -b far || exit 1
attack 'cd .worktrees/wt && echo 5 >file && git commit -q -a -m five && echo 6 >more && git add more && git commit -q -m six'
status_is 0 'worktree: commits in it'
attack 'cd .worktrees/wt && git rebase side >/dev/null 2>&1; [ -e ../../.git/worktrees/wt/rebase-merge ] && echo stopped
echo 7 >file && git add file && GIT_EDITOR=true git rebase --continue >/dev/null 2>&1 && git log --format=%s | head -n 2'
out_is 'stopped
six
five' 'worktree: a rebase in it stops and goes on'
git -C .worktrees/wt rebase HEAD~1 --exec false >/dev/null 2>&1
attack 'GIT_EDITOR=true git -C .worktrees/wt rebase --abort'
status_is 0 'worktree: one that the user began is ended inside'
for file in wt/commondir wt/gitdir far/commondir far/HEAD far/config.worktree; do
	run_stops "worktree: $file is not written" -- sh -c "echo x >.git/worktrees/$file 2>/dev/null"
done
run_stops 'worktree: nor is their folder exchanged' -- sh -c 'mv .git/worktrees .git/x 2>/dev/null || mv .git/worktrees/wt .git/x 2>/dev/null'
git config extensions.worktreeConfig true
run run -- sh -c 'echo x >.git/worktrees/wt/config.worktree'
err_has 'created .git/worktrees/wt/config.worktree' 'worktree: settings of it that are new are reported'
cd "$scratch" || exit 1

# --- text that agents write, though a row leads to it ---
repository text
echo one >AGENTS.md && ln -s AGENTS.md .cursorrules && echo one >rules && ln -s rules .windsurfrules
attack 'echo two >>AGENTS.md'
status_is 0 'text: AGENTS.md is written, though .cursorrules leads to it'
err_has 'the command changed AGENTS.md (an agent follows what is in it)' 'text: and reported'
run_stops 'text: what another name leads to is not' -- sh -c 'echo two >>rules 2>/dev/null'
mkdir .vscode && ln -s ../AGENTS.md .vscode/tasks.json
run_stops 'text: nor is what an editor runs' -- sh -c 'echo two >>AGENTS.md 2>/dev/null'
cd "$scratch" || exit 1

done_testing
