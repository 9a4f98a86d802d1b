#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# AgenShield's rules with the built program: the file that it ships loads, is shown, linted and
# asked; rules about arguments hold for the command of `run`, and what does not hold for its
# children is said, or refused with --strict.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

shipped=$(cd "$(dirname "$0")/../data/manifests" && pwd)/shield-default.json
answers() { # answers STATUS NAME ARGUMENT…
	wanted=$1 name=$2 && shift 2
	run policy check --policy "$shipped" "$@"
	[ "$status" -eq "$wanted" ]
	ok $? "$name"
}

# --- the shipped file ---
run policy show "$shipped"
[ "$status" -eq 0 ]
ok $? "show: it loads"
err_has 'shield-default.json:15: the rule skills grants nothing for `skill_install`' "and says what grants nothing"
err_has 'grants nothing for `package_install`' "of each such operation"
cp "$scratch/out" "$scratch/shown.yaml"
run policy show "$scratch/shown.yaml"
cmp -s "$scratch/out" "$scratch/shown.yaml"
ok $? "show: what was printed is read again, and is the same"
run policy lint "$shipped"
[ "$status" -ne 2 ]
ok $? "lint: it has an answer"
run policy merge "$shipped" "$shipped"
[ "$status" -eq 0 ]
ok $? "merge: with itself"
run policy intersect "$shipped" "$shipped"
[ "$status" -eq 0 ]
ok $? "intersect: with itself"
answers 1 "a denied command by its arguments" --op exec --target rm --arg -rf --arg /etc
answers 0 "others of the same program" --op exec --target rm --arg x
answers 1 "a denied name by wildcard" --op exec --target mkfs.ext4 --arg /dev/sda
answers 1 "a denied line" --op exec --target curl --arg https://x.example/y --arg '|' --arg sh
answers 0 "the program without it" --op exec --target curl --arg https://x.example/y
answers 0 "a bare host by https" --op net.connect --target https://api.anthropic.com/v1
answers 1 "and not by http" --op net.connect --target http://api.anthropic.com/v1
answers 1 "nor on another port" --op net.connect --target api.anthropic.com:8443
answers 1 "a denied site on any port" --op net.connect --target http://evil.com:8080/x
answers 1 "a denied range" --op net.connect --target https://10.1.2.3/
answers 1 "a constraint grants nothing" --op fs.read --target /tmp/agenshield/x
answers 0 "the agent's workspace may be written" --op fs.write --target /var/lib/agenshield/agent/workspace/x
answers 1 "but not what lies beside it" --op fs.write --target /var/lib/agenshield/broker/x
answers 0 "by its name, too" --set WORK_DIR=/srv/x --op fs.write --target /srv/x/y
answers 1 "but for secrets in it" --set WORK_DIR=/srv/x --op fs.read --target /srv/x/.env

# --- the command of run ---
needs_sandbox
cat >"$scratch/rules.json" <<'EOF'
{"version": "1", "defaultAction": "deny", "rules": [
{"id": "danger", "name": "d", "action": "deny", "operations": ["exec"],
 "patterns": ["rm -rf /*", "shutdown*", "echo secret:*"], "enabled": true, "priority": 300},
{"id": "tools", "name": "t", "action": "allow", "operations": ["exec"],
 "patterns": ["echo:*", "sh:*", "rm:*", "cat file"], "enabled": true, "priority": 5},
{"id": "files", "name": "f", "action": "allow", "operations": ["file_read", "file_write", "file_list"],
 "patterns": ["$WORKSPACE/**"], "enabled": true, "priority": 5},
{"id": "system", "name": "s", "action": "allow", "operations": ["file_read", "file_list"],
 "patterns": ["/usr/**", "/bin/**", "/lib/**", "/lib64/**"], "enabled": true, "priority": 5}]}
EOF
echo content >file
starts() { # starts STATUS OUTPUT NAME WORD…
	wanted=$1 output=$2 name=$3 && shift 3
	run run --policy "$scratch/rules.json" -- "$@"
	[ "$status" -eq "$wanted" ] && [ "$(cat "$scratch/out")" = "$output" ]
	ok $? "$name"
}
starts 0 hello "run: an allowed command" echo hello
err_has "rules enforced for the command but not for its child processes: danger ($scratch/rules.json:2)" "one line names the rule"
[ "$(grep -c '^corral: ' "$scratch/err")" -eq 1 ]
ok $? "and there is one line only"
starts 126 "" "run: denied by its arguments" echo secret x
err_has "rule danger denies" "and says by which rule"
starts 126 "" "run: under another path" /bin/echo secret
starts 126 "" "run: by a wildcard" rm -rf /tmp/nothing
starts 0 content "run: allowed by its arguments" cat file
starts 126 "" "run: and not with others" cat ./file
starts 126 "" "run: an allowed command by arguments is not for children" sh -c 'cat file'
starts 0 "secret" "run: children are not held, as was said" sh -c 'echo secret'
run run --strict --policy "$scratch/rules.json" -- echo hello
{ [ "$status" -eq 125 ] && [ ! -s "$scratch/out" ]; }
ok $? "run --strict: refuses"
err_has "--strict: these rules are enforced for the command but not for its child processes: danger" "and names the rule"
sed -i '/danger/,+1d' "$scratch/rules.json"
run run --strict --policy "$scratch/rules.json" -- echo hello
[ "$status" -eq 0 ] && [ "$(cat "$scratch/out")" = hello ]
ok $? "run --strict: without such a rule it runs"
printf 'fs: {read: ["/usr/**", "/bin/**", "/lib/**", "/lib64/**"]}\nexec: ["echo hello:"]\n' >"$scratch/own.yaml"
run run --policy "$scratch/own.yaml" -- echo hello
[ "$status" -eq 125 ]
ok $? "Corral's own formats: a rule about arguments is refused as before"
err_has "depends on arguments, but in a sandbox only the program can be checked" "and says why"

# --- a denial by a pattern, and the files that it is replaced by ---
mkdir -p project/sub && echo secret >project/.env && echo secret >project/sub/.env && echo text >project/file
shield() { # shield PATTERN…: the project may be written but for these
	cat >env.json <<-END
		{"version": "1", "defaultAction": "deny", "rules": [
		 {"id": "all", "action": "allow", "target": "filesystem", "patterns": ["$PWD/project/**", "/usr/**", "/bin/**", "/lib/**", "/lib64/**", "/etc/**"],
		  "operations": ["file_read", "file_write"], "priority": 10, "enabled": true},
		 {"id": "run", "action": "allow", "target": "command", "patterns": ["*"], "priority": 10, "enabled": true},
		 {"id": "env", "action": "deny", "target": "filesystem", "patterns": [$1], "operations": ["file_read", "file_write"], "priority": 100, "enabled": true}
		]}
	END
}
shield '"**/.env"'
run_refuses 125 "a denial by a pattern is refused" "denies by a pattern inside" -p env.json -- true
err_has "find $PWD/project -name '.env'" "with what lists the files"
files=$(eval "$(sed -n 's/.*`\(find [^`]*\)`.*/\1/p' "$scratch/err")" | sed 's/.*/"&"/' | paste -sd,)
is "$(echo "$files" | tr , '\n' | wc -l)" 2 "which it does"
shield "$files"
run run -p env.json --cwd "$PWD/project" -- sh -c 'cat file; cat .env sub/.env; echo x >.env; mv sub/.env x; rm -f .env'
out_is text "with their paths it runs, and they are not read"
is "$(cat project/.env project/sub/.env | tr '\n' ' ')" "secret secret " "nor changed, moved or removed"

done_testing
