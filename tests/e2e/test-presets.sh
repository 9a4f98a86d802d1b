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

export GEMINI_API_KEY=of-the-user OTHER_API_KEY=of-the-user
agent gemini 'exit 3' --with none
unset GEMINI_API_KEY OTHER_API_KEY
err_has "gemini reads the variable GEMINI_API_KEY, which is set here and was withheld: --env GEMINI_API_KEY" "gemini: without the preset, its key is named, whatever file of it reads that"
err_lacks OTHER_API_KEY "gemini: and no other"
rm -r "$HOME/.local/state/corral/failed" # so that its next run is like those of the others

# --- two at once that change settings, which are read and written without a lock ---
echo 'case "$*" in *"mcp add"*) n=$(cat $CODEX_HOME/n); sleep 0.3; echo $((n + 1)) >$CODEX_HOME/n ;; *) echo 0 >$CODEX_HOME/n ;; esac' >script
run run --read "$modules" -- codex
"$CORRAL" run --read "$modules" -- codex mcp add one &
"$CORRAL" run --read "$modules" -- codex mcp add two &
wait
is "$(cat "$agents/codex/n")" 2 "codex: of two that add a server at once, both are kept"

# --- openclaw and aider, which not every machine has for tests/acceptance/agents.py ---
install openclaw openclaw
export OPENAI_API_KEY=of-the-user OTHER_KEY=of-the-user
mkdir "$HOME/.openclaw" && echo theirs >"$HOME/.openclaw/openclaw.json"
agent openclaw 'echo kept >$OPENCLAW_STATE_DIR/sessions; cat ~/.openclaw/*; env'
out_has "OPENCLAW_CONFIG_PATH=$agents/openclaw/openclaw.json" "openclaw: has its settings in its folder"
out_has OPENCLAW_NO_AUTO_UPDATE=1 "openclaw: does not update itself"
out_has OPENAI_API_KEY=of-the-user "openclaw: gets its key"
out_lacks OTHER_KEY "openclaw: and no other"
out_lacks theirs "openclaw: does not see the state of bare runs"
agent openclaw 'cat $OPENCLAW_STATE_DIR/*' --seed-state
out_is kept "openclaw: its state is there the next time"
rm -r "$HOME/.openclaw"
venv="$HOME/.local/share/uv/tools/aider-chat"
mkdir -p "$venv/bin" && printf '#!/bin/sh\n. ./script\n' >"$venv/bin/aider" && chmod +x "$venv/bin/aider"
ln -s "$venv/bin/aider" "$HOME/.local/bin/aider"
echo 'model: m' >"$HOME/.aider.conf.yml"
agent aider 'echo kept >$XDG_CACHE_HOME-note; echo history >>.aider.chat.history.md; cat ~/.aider.conf.yml; echo x >>~/.aider.conf.yml; env'
unset OPENAI_API_KEY OTHER_KEY
out_has "model: m" "aider: reads its settings"
out_has AIDER_CHECK_UPDATE=false "aider: does not look for updates"
out_has OPENAI_API_KEY=of-the-user "aider: gets its key"
out_lacks OTHER_KEY "aider: and no other"
is "$(cat .aider.chat.history.md)" history "aider: its history is in the project"
is "$(cat "$HOME/.aider.conf.yml")" "model: m" "aider: does not change the user's settings"
is "$(cat "$agents/aider/cache-note")" kept "aider: its cache is kept"

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
run run --with npm -- sh -c 'd=$npm_config_cache/node_modules/@anthropic-ai/claude-code; mkdir -p $d && cp claude $d/cli && echo $d/cli'
cached=$(cat "$scratch/out")
run run --with npm -- "$cached"
out_is unset "nor what a command has left in a pack's cache"
run run -- "$cached"
out_lacks "$agents" "nor does it in a run without that pack"
run run --with claude -- sh -c 'd=$CLAUDE_CONFIG_DIR/.x/node_modules/@openai/codex; mkdir -p $d && sed s/CLAUDE_CONFIG_DIR/CODEX_HOME/ claude >$d/cli && chmod +x $d/cli && echo $d/cli'
run run --with claude -- "$(cat "$scratch/out")"
out_is unset "nor what an agent has left in its own state"
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

# --- a decoy read: credentials in the home that the state of an agent, planted by one session, reaches for in the next ---
decoys=".ssh/id_ed25519 .aws/credentials .netrc .config/gh/hosts.yml .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .local/share/opencode/auth.json"
for file in $decoys; do
	mkdir -p "$HOME/$(dirname "$file")" && echo decoy-of-the-test >"$HOME/$file"
done
for name in claude codex gemini opencode; do
	state=$agents/$name
	hook="cd $state; for f in $decoys; do ln -sf $HOME/\$f link; cat link $HOME/\$f; cp $HOME/\$f copy; done; grep -r decoy-of $HOME; true"
	agent "$name" "echo '$hook' >$state/hook"
	[ "$(sh "$state/hook" 2>/dev/null | grep -c decoy-of-the-test)" -ge 16 ]
	ok $? "$name: a hook in its state reads all decoys without a sandbox"
	rm "$state/link" "$state/copy"
	agent "$name" "sh $state/hook"
	out_lacks decoy-of-the-test "$name: and none where it is executed, in the next session"
	[ ! -e "$state/copy" ] || [ ! -s "$state/copy" ]
	ok $? "$name: nor is one in its state afterwards"
	rm -f "$state/link" "$state/copy" "$state/hook"
done
for file in $decoys; do rm "$HOME/$file"; done

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

# While it waits, another run of the agent has the folder already, and leaves a link where the login would go.
rm -rf "${agents:?}"
mkdir -p "$HOME/.gemini" stolen && echo login >"$HOME/.gemini/oauth_creds.json" && echo theme >"$HOME/.gemini/settings.json"
cat >between.py <<'END'
import os, pty, subprocess, sys
corral, plant = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execv(corral, [corral, "run", "--with", "gemini", "--", "true"])
text = b""
while b"[y/N]" not in text:
    text += os.read(terminal, 4096)
subprocess.run([corral, "run", "--with", "gemini", "--", "sh", "-c", plant], stdin=subprocess.DEVNULL, capture_output=True, check=True)
os.write(terminal, b"y\n")
try:
    while True:
        more = os.read(terminal, 4096)
        if not more:
            break
        text += more
except OSError:
    pass
sys.stdout.buffer.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
timeout 60 python3 between.py "$CORRAL" "ln -s $PWD/stolen \$GEMINI_CLI_HOME/.gemini" >"$scratch/out" 2>"$scratch/err"
status=$?
is "$(ls stolen)" "" "a terminal: what is copied does not go through a link that was planted while it waited"
status_is 125 "a terminal: the run ends there"
out_has "a folder on the way is a symbolic link" "a terminal: and says why"
rm -rf "${agents:?}"
timeout 60 python3 between.py "$CORRAL" "mkdir \$GEMINI_CLI_HOME/.gemini; ln -s $PWD/stolen/x \$GEMINI_CLI_HOME/.gemini/oauth_creds.json" >"$scratch/out" 2>"$scratch/err"
is "$(ls stolen)" "" "a terminal: nor through a link in the place of the file"
is "$(cat "$agents/gemini/.gemini/settings.json")" theme "a terminal: the others are copied"
rm -rf "${agents:?}" "$HOME/.gemini" stolen

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
shared codex .codex/.env .codex/environments.toml .codex/sessions/x .codex/environments.toml
shared claude .claude/statusline.sh .claude/.config.json .claude/projects/x .claude/.config.json
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
# A home in which not even the folders above are.
mv "$HOME/.config" "$scratch/config"
agent opencode 'echo fine >~/.config/opencode/notes' --shared-state
is "$(cat "$HOME/.config/opencode/notes")" fine "opencode: shared: its folders are made where ~/.config is missing"
rm -rf "$HOME/.config" && mv "$scratch/config" "$HOME/.config"
settings=.config/opencode/opencode.json
# shellcheck disable=SC2088 # Corral reads it
for pattern in "~/.config/opencode/**" "$HOME/.config/opencode/**" '$HOME/.config/opencode/**'; do
	run run --write "$pattern" -- sh -c 'mkdir ~/.config/opencode/modes; echo evil >~/$1' - "$settings"
	is "$(cat "$HOME/$settings")" mine "--write $pattern: what an agent obeys is protected"
	err_has "created $HOME/.config/opencode/modes " "--write $pattern: what is new is reported"
	rm -rf "$HOME/.config/opencode/modes"
done
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
