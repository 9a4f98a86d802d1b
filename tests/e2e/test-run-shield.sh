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

default=$(cd "$(dirname "$0")/../data/manifests" && pwd)/shield-default.json
shipped=$default
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

# --- a denied path: exact where it is seen, the whole host where it is not; also as Corral prints it ---
cat >"$scratch/path.json" <<'EOF'
{"version": "1", "defaultAction": "allow", "rules": [{"id": "page", "name": "p", "type": "denylist",
 "operations": ["http_request"], "patterns": ["https://a.example/admin"], "enabled": true, "priority": 1}]}
EOF
"$CORRAL" policy show "$scratch/path.json" >"$scratch/path.yaml"
for shipped in "$scratch/path.json" "$scratch/path.yaml"; do
	answers 1 "a denied path" --op net.connect --target https://a.example/admin
	answers 1 "and what is below it" --op net.connect --target https://a.example/admin/x
	answers 0 "not another one" --op net.connect --target https://a.example/v1
	answers 1 "but a connection, whose path is not seen" --op net.connect --target a.example:443
	answers 1 "on any port" --op net.connect --target www.a.example:8443
done
shipped=$default
cat >"$scratch/default.json" <<'EOF'
{"version": "1", "defaultAction": "deny", "rules": [], "networkConstraints": {"allowedHosts": ["a.example"], "deniedHosts": ["*"]}}
EOF
run policy check --policy "$scratch/default.json" --op net.connect --target a.example:443
{ [ "$status" -eq 1 ] && ! grep -q 'networkConstraints denies' "$scratch/out"; }
ok $? "a constraint is not the reason of what the default denies"

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

# --- a denial by a pattern: what matches is masked, and one line says what is not enforced ---
mkdir -p project/sub && echo secret >project/.env && echo secret >project/sub/a.key && echo text >project/file
ln -s sub/a.key project/linked.key && ln -s /etc/nsswitch.conf project/planted.key && ln project/file project/second.key
rules='"rules": []' constraints='"allowedPaths": ["'$PWD/project'"], "deniedPatterns": ["**/.env", "**/*.key"]'
shield() { # shield ACTION
	echo "{\"version\": \"1\", \"defaultAction\": \"$1\", $rules, \"fsConstraints\": {$constraints}}" >env.json
}
shield allow
inside() { run run -p env.json --cwd "$PWD/project" -- sh -c "$1"; }
inside 'ls sub'
out_is a.key "a rules file alone runs a command: the system may be read"
err_has "env.json:1: /**/.env (and 1 more pattern): " "one line names the patterns"
err_has "not enforced: a command can create a file of such a name, rename one to it, or rename the folder of one" "and what is not enforced"
is "$(grep -c '^corral: ' "$scratch/err")" 1 "in one line"
inside 'cat file; cat .env sub/a.key linked.key; echo x >.env; mv sub/a.key x; rm -f .env; mv sub moved && cat moved/a.key; mv moved sub'
out_is text "what matches is not read, also in a folder under another name"
is "$(cat project/.env project/sub/a.key | tr '\n' ' ')" "secret secret " "nor changed, moved or removed"
inside 'head -c 1 /etc/nsswitch.conf >/dev/null && echo here'
out_is here "a link in a folder that may be written hides nothing of the system"
# Something else that was put there meanwhile: a folder, a file in it, one renamed over a masked one.
inside 'echo ready >started; i=0; until [ -e go ] || [ $i -gt 600 ]; do i=$((i + 1)); sleep 0.05; done
i=0; while { cat .env || cat late/deep/x.key; } >/dev/null 2>&1 && [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.05; done
test -e late/deep/x.key && cat .env late/deep/x.key 2>/dev/null; echo end' &
waited=0
until [ -s project/started ] || [ $waited -gt 600 ]; do waited=$((waited + 1)) && sleep 0.05; done
mkdir -p project/late/deep && echo late >project/late/deep/x.key && echo new >project/.env.new && mv project/.env.new project/.env
touch project/go && wait
is "$(cat "$scratch/out")" end "what appears while it runs is masked"
is "$(cat project/.env)" new "and is what it was for others"
# What a command could do in one run so that the next one does not find it.
mkdir project/closed && echo secret >project/closed/.env
inside 'chmod 0311 closed'
inside 'cat closed/.env 2>/dev/null; chmod 0755 closed 2>/dev/null; cat closed/.env 2>/dev/null; echo end'
out_is end "a folder that cannot be listed hides what matches in it"
chmod 0755 project/closed && rm -r project/closed
long=$(printf '%0250d' 0) && export long
# shellcheck disable=SC2089
into='i=0; while [ $i -lt 17 ]; do [ -d '"$long"' ] || mkdir '"$long"'; cd '"$long"' || exit; i=$((i + 1)); done 2>/dev/null'
(cd project && eval "$into" && echo secret >.env)
inside "$into; cat .env 2>/dev/null; echo end"
{ [ ! -s "$scratch/out" ] || [ "$(cat "$scratch/out")" = end ]; }
ok $? "nor one that is deeper than a path can name"
(cd project && rm -r "$long")
mkdir -p project/a/b && echo secret >project/a/b/.env
i=0 && while [ $i -lt 1100 ]; do : >"project/$i.key" && i=$((i + 1)); done
inside 'cat a/b/.env 2>/dev/null; echo end'
out_is end "a folder with a match beyond the bound is masked as a whole"
err_has "and there is more than was searched or masked" "and it is said that there are more"
rm -r project/a project/[0-9]*.key
run run --strict -p env.json -- true
status_is 125 "--strict: such a pattern is refused"
err_has "denies by a pattern inside" "and says so"
err_has "find $PWD/project -name '.env'" "with what lists the files"
files=$(eval "$(sed -n 's/.*`\(find [^`]*\)`.*/\1/p' "$scratch/err")" | sed 's/.*/"&"/' | paste -sd,)
constraints='"allowedPaths": ["'$PWD/project'"], "deniedPatterns": ['$files']' && shield allow
run run --strict -p env.json --cwd "$PWD/project" -- sh -c 'cat file; cat .env; echo x >.env; rm -f .env'
out_is text "with their paths it runs, and they are not read"
is "$(cat project/.env)" new "nor changed"
rules='"rules": [{"id": "spared", "action": "allow", "operations": ["file_read"], "patterns": ["'$PWD'/project/sub/**"], "priority": 1, "enabled": true}]'
constraints='"allowedPaths": ["'$PWD/project'"], "deniedPatterns": ["**/.env", "**/*.key"]' && shield allow
echo public >project/sub/b.key
inside 'cat sub/b.key; cat .env'
out_is public "priorities hold: what a rule allows, a constraint does not deny"
rules='"rules": [{"id": "run", "action": "allow", "operations": ["exec"], "patterns": ["true"], "priority": 1, "enabled": true}]' && shield deny
run run -p env.json -- true
status_is 0 "a file that denies all but what rules allow lets a program start"
printf 'extends: workspace\nfs: {deny: ["**/.env"]}\n' >own.yaml
run_refuses 125 "Corral's own formats: such a pattern is refused as before" "denies by a pattern inside" -p own.yaml -- true

# --- the same files as the user's stored policy ---
mkdir -p "$XDG_CONFIG_HOME/corral/policy.d" && rules='"rules": []' && shield allow && cp env.json "$XDG_CONFIG_HOME/corral/policy.d/default.json"
cd project && run run -- sh -c 'cat file; cat .env' && cd ..
out_is text "stored as default.json it lets the user run, and masks"
cp "$shipped" "$XDG_CONFIG_HOME/corral/policy.d/default.json"
cd project && run run -- ls late && cd ..
out_is deep "and so does the file that AgenShield ships"

done_testing
