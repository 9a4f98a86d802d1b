#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What people run agents with: Claude Code keeps its settings in an agent mode. A program of this name
# stands in for the real one.
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

# --- the mode of the configuration ---
configured() { # configured TEXT OPTION… -- WORD…
	mkdir -p "$HOME/.config/corral" && printf '%s' "$1" >"$HOME/.config/corral/daemon.json" && shift
	run run --data-dir "$scratch/agent" "$@"
}
run run --data-dir "$scratch/agent" -- sh -c 'echo x >~/elsewhere || echo held'
out_has held "configured: without a file the mode is sandbox"
configured '{"daemon": {}}' -- sh -c 'echo x >~/elsewhere || echo held'
out_has held "configured: and without the key"
configured '{"sandbox": {"mode": "rwx"}}' -- sh -c 'echo x >~/elsewhere && rm ~/elsewhere && echo wrote'
out_has wrote "configured: sandbox.mode is the mode of a data folder alone"
configured '{"sandbox": {"mode": "rwx"}}' --mode rx -- sh -c 'echo x >~/elsewhere || echo held'
out_has held "configured: --mode counts more"
configured '{"sandbox": {"mode": "rwx"}}' --tier 3 -- true
is "$status" 125 "configured: what the mode cannot do is refused as with --mode"
for wrong in '{"mode": "rw"}' '{}' '"rx"' '{"mode": "rx", "paths": []}' '{"mode": null}'; do
	configured "{\"sandbox\": $wrong}" -- true
	is "$status" 125 "configured: $wrong is refused"
	err_has '`sandbox` must be a map with `mode` alone' "configured: $wrong, with what is expected"
done
configured '{ broken' -- true
is "$status" 125 "configured: a file that cannot be read stands for no mode"
rm "$HOME/.config/corral/daemon.json"
run run --extra "$scratch" -- true
err_has "--extra requires --data-dir or --mode" "configured: a further folder alone is no agent"

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

done_testing
