#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Packs and agents: `--with npm`, and `corral run claude` by itself. Scripts stand in for the real agents,
# which tests/acceptance/agents.py runs. What is attacked: the next bare run of an agent, by its state; and
# another project, by a pack's cache.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are for the shell inside; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
needs_sandbox

packs="$HOME/.cache/corral-packs" agents="$HOME/.local/share/corral-agents"
mkdir "$scratch/other"

# --- packs ---
run run --with npm -- sh -c 'echo one >"$npm_config_cache/kept" && echo "$npm_config_cache"'
status_is 0 "a pack: its cache can be written"
cache=$(cat "$scratch/out")
case $cache in "$packs"/work-*/npm) true ;; *) false ;; esac
ok $? "a pack: in a folder of this project and this pack"
is "$(stat -c %a "$packs" "$cache" | tr '\n' ' ')" "700 700 " "a pack: for the user alone"
run run --with npm -- sh -c 'cat "$npm_config_cache/kept"'
out_is one "a pack: the next run finds what was kept"
run run -- sh -c 'echo "${npm_config_cache-unset}"; ls ~/.cache'
out_has unset "without the pack there is no variable"
out_lacks corral-packs "nor a folder"
run run --with npm,pip --with go -- sh -c 'echo "$PIP_CACHE_DIR $GOMODCACHE" && mkdir -p "$GOMODCACHE"'
out_has "/pip/cache " "several packs in one option"
out_has "/go/mod" "and in several"
run run --env npm_config_cache=/tmp/mine --with npm -- sh -c 'echo "$npm_config_cache"'
out_is /tmp/mine "an option is stronger than the pack"
run run --with npn -- true
status_is 125 "an unknown pack"
err_has "did you mean npm?" "an unknown pack: is named, with the nearest"
run run --with npm --json -- true
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["status"] == 0' "$scratch/out"
ok $? "a pack, with --json"
run run --profile offline --with npm -- sh -c 'echo "$npm_config_offline $(cat "$npm_config_cache/kept")"'
out_is "true one" "offline: the cache is there, and the tool knows that there is no network"
run run --profile offline --net registry.npmjs.org:443 --with npm -- true
status_is 125 "offline: a host of the user's own is refused as ever"
run run --policy /dev/null --with npm -- true
[ "$status" -ne 0 ]
ok $? "a pack grants no system to an empty policy"

# --- a pack's cache, poisoned by another project ---
cd "$scratch/other" || exit 1
run run --with npm -- sh -c 'cat "$1/kept"; echo evil >"$1/kept"; ls "$2"' - "$cache" "$packs"
out_lacks one "another project does not see it"
out_lacks work- "nor that it is there"
is "$(cat "$cache/kept")" one "nor writes it"
run run --write "$HOME/.cache" --with npm -- sh -c 'echo evil >"$1/kept"; ln -sfn /etc "$1"; rm -rf "$1"' - "$cache"
is "$(cat "$cache/kept")" one "not even with a grant of all that is around it"
[ -d "$cache" ] && [ ! -L "$cache" ]
ok $? "and it is still a folder"
run run --mode sandbox --data-dir "$scratch/other" --extra "$HOME/.cache" -- sh -c 'cat "$1/kept"; echo evil >"$1/kept"' - "$cache"
out_lacks one "nor does an agent's mode see it"
is "$(cat "$cache/kept")" one "or write it"
run run --work-dir "$HOME/.cache" -- sh -c 'cat corral-packs/*/*/kept; echo evil >"$1/kept"' - "$cache"
out_lacks one "nor who works in the folder of all caches"
is "$(cat "$cache/kept")" one "or writes there"
own=$(basename "$(ls -d "$packs"/other-*)")
rm -rf "${packs:?}/$own" && ln -s "$(dirname "$cache")" "$packs/$own"
run run --with npm -- sh -c 'echo evil >"$npm_config_cache/kept"'
status_is 125 "a link in place of the project's folder is not followed"
err_has "symbolic link" "and is named"
is "$(cat "$cache/kept")" one "so that nothing is written where it leads"
rm "$packs/$own"
cd "$scratch/work" || exit 1

# --- agents ---
modules="$HOME/.local/lib/node_modules"
mkdir -p "$HOME/.local/bin"
PATH="$HOME/.local/bin:$PATH"
export PATH
install() { # install NAME PACKAGE: a script in the place of an agent, as npm -g puts it
	mkdir -p "$modules/$2"
	printf '#!/bin/sh\n. ./script\n' >"$modules/$2/cli"
	chmod +x "$modules/$2/cli"
	ln -s "../lib/node_modules/$2/cli" "$HOME/.local/bin/$1"
}
agent() { # agent NAME SCRIPT OPTION…: the script is what the agent does
	name=$1 && echo "$2" >script && shift 2
	run run --read "$modules" "$@" -- "$name"
}
install claude @anthropic-ai/claude-code
install codex @openai/codex
install gemini @google/gemini-cli
install opencode opencode-ai

agent claude 'echo dark >$CLAUDE_CONFIG_DIR/settings.json && echo $CLAUDE_CONFIG_DIR'
out_is "$agents/claude" "claude: has a folder of its own"
err_has "its settings, login and history are kept in $agents/claude" "claude: which is said once"
agent claude 'cat $CLAUDE_CONFIG_DIR/settings.json'
out_is dark "claude: its settings are there the next time"
err_lacks "are kept in" "claude: and it is not said again"
agent claude 'echo ${CLAUDE_CONFIG_DIR-unset}' --with none
out_is unset "claude: not with --with none"
agent codex 'echo $CODEX_HOME'
out_is "$agents/codex" "codex: has a folder of its own"
agent codex "cat $agents/claude/settings.json; ls $agents"
out_lacks dark "one agent does not see the state of another"
out_lacks claude "nor that it is there"
run run --read "$HOME" -- sh -c "cat $agents/claude/settings.json"
out_lacks dark "nor does another command, though the home is granted"
echo 'echo "$@"' >script
run run --read "$modules" -- codex exec -
out_has 'sandbox_mode="danger-full-access"' "codex: its own sandbox is switched off"
export ANTHROPIC_API_KEY=of-the-user GITHUB_TOKEN=of-the-user
agent claude env
unset ANTHROPIC_API_KEY GITHUB_TOKEN
out_has ANTHROPIC_API_KEY=of-the-user "claude: gets its key"
out_lacks GITHUB_TOKEN "claude: and no other"

# --- it is the program, not the word ---
printf '#!/bin/sh\necho "${CLAUDE_CONFIG_DIR-unset}"\n' >claude && chmod +x claude
run run -- ./claude
out_is unset "a script claude in the project is no agent"
mkdir -p node_modules/@anthropic-ai/claude-code && cp claude node_modules/@anthropic-ai/claude-code/cli
run run -- node_modules/@anthropic-ai/claude-code/cli
out_is unset "nor one in a package of the project"
mkdir -p .x/node_modules/@anthropic-ai/claude-code && cp claude .x/node_modules/@anthropic-ai/claude-code/cli
PATH="$PWD/.x/node_modules/@anthropic-ai/claude-code:$PATH" run run -- cli
out_is unset "nor one that PATH names in the project"
mkdir -p "$HOME/bin" && cp claude "$HOME/bin/claude"
run run --read "$HOME/bin" -- "$HOME/bin/claude"
out_is unset "nor a script of that name elsewhere"
ln -sfn "$PWD/claude" "$HOME/.local/bin/claude2"
run run -- claude2
out_is unset "nor a link into the project"
run run --with claude --read "$HOME/bin" -- "$HOME/bin/claude"
out_is "$agents/claude" "but --with claude makes it one"

# --- state that is planted for the next bare run ---
plant='for f in $HOME/.claude.json $HOME/.claude/settings.json $HOME/.claude/hooks/x $HOME/.claude/plugins/x \
	$HOME/.codex/config.toml $HOME/.codex/hooks.json $HOME/.codex/bin/codex $HOME/.codex/daemon.pid \
	$HOME/.gemini/settings.json $HOME/.gemini/extensions/x/gemini-extension.json $HOME/.gemini/.env \
	$HOME/.config/opencode/opencode.json $HOME/.config/opencode/plugin/x.js $HOME/.local/share/opencode/bin/x \
	$HOME/.cache/opencode/node_modules/x $HOME/.local/bin/'$name'; do
	mkdir -p "$(dirname "$f")" && echo evil >"$f"; done 2>/dev/null; for d in "$CLAUDE_CONFIG_DIR" "$CODEX_HOME" "$GEMINI_CLI_HOME" "$XDG_CONFIG_HOME"; do
	[ -z "$d" ] || { mkdir -p $d/hooks $d/bin && echo evil >$d/settings.json && echo evil >$d/bin/codex && ln -s / $d/root; }; done; true'
for name in claude codex gemini opencode; do
	before=$(cd "$HOME" && find . -path ./.local/share/corral-agents -prune -o -type f -print | sort)
	agent "$name" "$plant"
	status_is 0 "$name: it writes what its bare runs would run"
	after=$(cd "$HOME" && find . -path ./.local/share/corral-agents -prune -o -type f -print | sort)
	is "$after" "$before" "$name: nothing of that is where they look"
	is "$(cat "$modules"/*/cli "$modules"/*/*/cli | sort -u | grep -c evil)" 0 "$name: nor is the program another"
done

# --- a state that starts as a copy ---
rm -rf "${agents:?}"
mkdir -p "$HOME/.codex" && echo model >"$HOME/.codex/config.toml"
echo secret >"$HOME/secret" && ln -s ../secret "$HOME/.codex/auth.json"
agent codex 'cat $CODEX_HOME/*; cat ~/.codex/*'
out_lacks model "nothing is copied unasked"
rm -rf "${agents:?}"
agent codex 'cat $CODEX_HOME/*' --seed-state
out_has model "--seed-state: settings are copied"
out_lacks secret "--seed-state: but not what a link in their place leads to"
is "$(stat -c %a "$agents/codex/config.toml")" 600 "--seed-state: for the user alone"
agent codex 'echo mine >$CODEX_HOME/config.toml'
agent codex 'cat $CODEX_HOME/*' --seed-state
out_is mine "--seed-state: only once"
is "$(cat "$HOME/.codex/config.toml")" model "and the user's own stay as they are"

# At a terminal it is asked for.
cat >ask.py <<'END'
import os, pty, sys
answer, words = sys.argv[1], sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(words[0], words)
text = b""
while b"[y/N]" not in text:
    text += os.read(terminal, 4096)
os.write(terminal, answer.encode() + b"\n")
try:
    while True:
        more = os.read(terminal, 4096)
        if not more:
            break
        text += more
except OSError:
    pass
os.waitpid(child, 0)
sys.stdout.buffer.write(text)
END
echo 'cat $CODEX_HOME/*' >script
for answer in n y; do
	rm -rf "${agents:?}"
	timeout 60 python3 ask.py "$answer" "$CORRAL" run --read "$modules" -- codex >"$scratch/out" 2>"$scratch/err"
	[ "$(grep -c model "$scratch/out")" = "$([ "$answer" = y ] && echo 1 || echo 0)" ]
	ok $? "a terminal: the answer $answer decides whether settings are copied"
done

# --- the state of bare runs, shared ---
# Of each agent: one file that is there, and one that is not, which its bare runs execute; and one that they do not.
shared() { # shared NAME OLD NEW PLAIN REPORTED
	name=$1 old=$2 new=$3 plain=$4
	mkdir -p "$HOME/$(dirname "$old")"
	[ ! -L "$HOME/$old" ] || rm "$HOME/$old"
	echo mine >"$HOME/$old"
	agent "$name" "cd \"$HOME\" && echo evil >$old; mkdir -p $(dirname "$new") && echo evil >$new; mkdir -p $(dirname "$plain") && echo fine >$plain; mv $(dirname "$old") .x; cd - >/dev/null" --shared-state
	is "$(cat "$HOME/$old")" mine "$name: shared: what bare runs execute is protected: $old"
	is "$(cat "$HOME/$plain")" fine "$name: shared: the rest of its state is written"
	err_has "created $HOME/$5 " "$name: shared: what is new is reported: $new"
	rm -rf "${HOME:?}/$5"
}
shared codex .codex/config.toml .codex/packages/bin/codex .codex/sessions/x .codex/packages
shared codex .codex/bin/codex .codex/daemon.pid .codex/sessions/x .codex/daemon.pid
shared claude .claude/settings.json .claude/plugins/x .claude/projects/x .claude/plugins
shared gemini .gemini/settings.json .gemini/extensions/x .gemini/tmp/x .gemini/extensions
shared opencode .config/opencode/opencode.json .config/opencode/plugin/x.js .local/share/opencode/x .config/opencode/plugin
echo '{"mcpServers": {}}' >"$HOME/.claude.json"
agent claude 'echo "{\"mcpServers\": {\"x\": 1}}" >~/.claude.json' --shared-state
err_has ".claude.json names other servers" "claude: shared: servers in ~/.claude.json are reported"
echo secret >"$HOME/.codex/auth.json"
agent codex 'cat ~/.codex/auth.json' --shared-state
out_is secret "codex: shared: it has its login"
agent gemini 'cat ~/.codex/auth.json' --shared-state
out_lacks secret "codex: shared: and no other agent has"
settings=.config/opencode/opencode.json
run run --write "$HOME/.config/opencode" -- sh -c 'echo evil >~/$1; mkdir ~/.config/opencode/tool' - "$settings"
is "$(cat "$HOME/$settings")" mine "--write of such a folder: what its agent executes is protected"
err_has "created $HOME/.config/opencode/tool " "--write of such a folder: and reported"
cd "$HOME/.config/opencode" || exit 1
run run -- sh -c 'echo evil >opencode.json; mkdir tools'
is "$(cat "$HOME/$settings")" mine "work in such a folder: the same"
err_has "created tools " "work in such a folder: and reported"
cd "$scratch/work" || exit 1
run run --write "$HOME/$settings" -- sh -c 'echo new >~/$1' - "$settings"
is "$(cat "$HOME/$settings")" new "granted by name, it is written"

# --- two at once ---
mkfifo ready end
echo 'echo a >$CODEX_HOME/a; echo >ready; read -r _ <end' >script
"$CORRAL" run --read "$modules" -- codex </dev/null >/dev/null 2>&1 &
read -r _ <ready
agent codex 'cat $CODEX_HOME/a; echo b >$CODEX_HOME/b'
out_is a "two sessions have one state"
echo >end
wait
is "$(cat "$agents/codex/a" "$agents/codex/b" | tr '\n' ' ')" "a b " "and neither loses what the other writes"

# --- hosts ---
connect='python3 -c "
import socket
for port in (9, 10):
    try:
        socket.create_connection((\"127.0.0.1\", port), 5)
    except OSError as e:
        print(port, e)
"'
export ANTHROPIC_BASE_URL=http://127.0.0.1:9/x
agent claude "$connect" --explain
err_has "127.0.0.1:9: cannot be reached" "the relay tries the host that the agent's variable names"
err_lacks "127.0.0.1:10: cannot" "and no other"
out_has "10 " "which is refused inside"
unset ANTHROPIC_BASE_URL

done_testing
