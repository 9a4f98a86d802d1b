#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What people run agents with: Claude Code keeps its settings in an agent mode, and the SSH agent is
# there where it was asked for. Programs of these names stand in for the real ones.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are for the shell inside; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
needs_sandbox

mkdir "$scratch/agent" "$scratch/bin"
# As the real one does: a new file and a rename, and where that fails, in place.
cat >"$scratch/bin/claude" <<'END'
#!/bin/sh
set -e
mkdir -p ~/.claude/projects && echo session >~/.claude/projects/one
{ echo "$1" >~/.claude.json.tmp && mv ~/.claude.json.tmp ~/.claude.json; } 2>/dev/null || echo "$1" >~/.claude.json
echo saved
END
chmod +x "$scratch/bin/claude"
agent() { # agent OPTION… -- WORD…
	run run --mode sandbox --data-dir "$scratch/agent" "$@"
}

# --- settings of Claude Code ---
agent -- "$scratch/bin/claude" '{"theme": "dark"}'
out_is saved "claude: its first start"
is "$(cat "$HOME/.claude.json")" '{"theme": "dark"}' "claude: its settings are saved"
is "$(cat "$HOME/.claude/projects/one")" session "claude: and its sessions"
err_lacks .claude "claude: nothing to warn of"
is "$(stat -c %a "$HOME/.claude.json" "$HOME/.claude" | tr '\n' ' ')" "600 700 " "claude: for the user alone"
agent -- "$scratch/bin/claude" '{"theme": "light"}'
is "$(cat "$HOME/.claude.json")" '{"theme": "light"}' "claude: and the next time"
err_lacks .claude "claude: other settings are no reason to warn"
agent -- "$scratch/bin/claude" '{"projects": {"x": {"mcpServers": {"s": {"command": "evil"}}}}}'
err_has ".claude.json names other servers" "claude: servers that it starts the next time are told of"
agent -- "$scratch/bin/claude" '{"projects": {"x": {"mcpServers": {"s": {"command": "evil"}}}}, "n": 1}'
err_lacks .claude.json "claude: but not if they are as they were"
agent --json -- "$scratch/bin/claude" '{"hooks": {}}'
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["runs_later"] == [sys.argv[2]]' "$scratch/out" "$HOME/.claude.json"
ok $? "claude: --json has it in runs_later"
agent -- "$scratch/bin/claude" 'no JSON'
err_has ".claude.json" "claude: what cannot be read is told of"

# --- other programs ---
agent -- sh -c 'echo x >~/.claude.json'
[ "$status" -ne 0 ]
ok $? "another program does not write ~/.claude.json"
rm -r "$HOME/.claude" "$HOME/.claude.json"
agent -- sh -c 'echo fine'
out_is fine "another program, without ~/.claude"
err_lacks .claude "is not told of it"
[ ! -e "$HOME/.claude" ] && [ ! -e "$HOME/.claude.json" ]
ok $? "and nothing is made for it"
mkdir "$HOME/.claude"
agent -- sh -c 'echo x >~/.claude/x && echo fine'
out_is fine "where ~/.claude is there, all programs of the mode write in it"

# --- the SSH agent ---
if command -v ssh-agent >/dev/null && command -v ssh-add >/dev/null && command -v ssh-keygen >/dev/null; then
	ssh-agent -D -a "$scratch/keys.sock" >/dev/null 2>&1 &
	agent_pid=$!
	trap 'kill "$agent_pid" 2>/dev/null; chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
	export SSH_AUTH_SOCK="$scratch/keys.sock"
	# Its socket is there before it listens: 1 is an answer, that it has no keys.
	for _ in $(seq 1200); do
		ssh-add -l >/dev/null 2>&1
		[ $? -ne 1 ] || break
		sleep 0.05
	done
	ssh-keygen -q -t ed25519 -N '' -C of-the-test -f "$scratch/key" && ssh-add -q "$scratch/key"
	list='ssh-add -l | grep -o of-the-test'
	is "$(sh -c "$list")" of-the-test "bare the agent answers"
	run run -- sh -c "$list"
	out_lacks of-the-test "without a grant there is no agent inside"
	run run --ssh-agent -- sh -c "$list"
	out_is of-the-test "--ssh-agent: it is there"
	err_has "log in with every key of the agent at $SSH_AUTH_SOCK" "--ssh-agent: and what that means is said"
	err_has "ssh-add -c" "--ssh-agent: and what to do about it"
	run run --ssh-agent -- sh -c 'cat "$SSH_AUTH_SOCK.x" ../key ~/.ssh/id_ed25519'
	[ "$status" -ne 0 ] && [ ! -s "$scratch/out" ]
	ok $? "--ssh-agent: the keys themselves are not"
	run run --json --ssh-agent -- true
	err_empty "--ssh-agent: with --json nothing is said"
	ln -s "$SSH_AUTH_SOCK" left-behind
	SSH_AUTH_SOCK=$PWD/left-behind run_refuses 125 "--ssh-agent: not by a link that a command could have left" \
		"by the link $PWD/left-behind" --ssh-agent -- true
	line=$(sed -n 's/^  set \(SSH_AUTH_SOCK=[^,]*\), if that is meant$/\1/p' "$scratch/err")
	status=0
	env "$line" "$CORRAL" run --ssh-agent -- sh -c "$list" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
	out_is of-the-test "--ssh-agent: what is advised then helps"
	SSH_AUTH_SOCK=$scratch/key run_refuses 125 "--ssh-agent: no socket" "does not name a socket" --ssh-agent -- true
	SSH_AUTH_SOCK=$scratch/none run_refuses 125 "--ssh-agent: nothing there" "$scratch/none" --ssh-agent -- true
	SSH_AUTH_SOCK='' run_refuses 125 "--ssh-agent: no agent" "SSH_AUTH_SOCK is not set" --ssh-agent -- true
	SSH_AUTH_SOCK=keys run_refuses 125 "--ssh-agent: no absolute path" "absolute path" --ssh-agent -- true
	run_refuses 125 "--ssh-agent: not in mode rwx" "--ssh-agent" --mode rwx --ssh-agent -- true
	kill "$agent_pid"
else
	number=$((number + 1)) && echo "ok $number - --ssh-agent # SKIP ssh-agent is not there"
fi

done_testing
