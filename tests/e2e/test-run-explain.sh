#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run --explain`: what is said of what a command was denied, to a person and to a program; and
# that a command cannot make more of it than a table. tests/programs/explain.py has real programs.

# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox

out=$scratch/out.d # not $scratch/out, which has the output
mkdir -p "$out/data" "$out/lib" "$out/many"
echo one >"$out/data/one" && echo two >"$out/data/two" && echo three >"$out/data/three"
explain() { run run --explain "$@"; }
forget() { rm -rf "$XDG_STATE_HOME/corral/failed"; }
json() { run run --explain --json "$@"; }
lines() { # lines PATTERN NUMBER NAME
	is "$(grep -c -E -e "$1" "$scratch/err")" "$2" "$3"
}
# denied EXPRESSION: of the list, in Python.
denied() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))["denied"]
print(eval(sys.argv[2]))' "$scratch/out" "$1"
}

# --- what a person reads ---
explain -- cat "$out/data/one"
status_is 1 "the status is the command's own"
err_has "cat: $out/data/one: No such file" "so is what it prints"
err_has "corral: denied, and what would allow it" "there is a table"
err_has "read   ~ $out/data/one  --read $out/data/one" "with the file, marked, and the option"
out_empty "nothing of it is in the output"
lines "^  [a-z]" 1 "one line, and no other"

explain -- cat "$out/data/one" "$out/data/two" "$out/data/three"
err_has "read   ~ $out/data/  --read $out/data" "several files of a folder are the folder"
lines "^  [a-z]" 1 "which is one line"

explain -- cat "$out/data/one" "$out/data/two"
lines "^  read   ~ $out/data/(one|two) " 2 "two are two: no more is named than was asked for"

explain --read "$out/data" -- cat "$out/data/one"
status_is 0 "with the option it works"
err_empty "and nothing is said"

explain -- cat "$out/data/none"
err_lacks "denied" "what the host has not is not denied"
explain -- sh -c "cat $out/data/one; exit 0" </dev/null
err_has "--read $out/data/one" "it is said of a command that ended well, too"
explain -- sh -c "[ -e $out/data/one ]; exit 0"
err_lacks "denied" "but not that it looked around"
explain -- sh -c "[ -e $out/data/one ] || exit 4"
status_is 4 "a command that fails"
err_has "--read $out/data/one" "may have failed because of that"

explain --read "$out/data" -- sh -c "echo x >$out/data/new"
err_has "write  ~ $out/data/  --write $out/data" "a file that is to be made: its folder"
explain --read "$out/data" -- sh -c "echo x >$out/data/one"
err_has "write  ~ $out/data/one  --write $out/data/one" "a file that is there: itself"
is "$(cat "$out/data/one")" one "nothing was written"
explain --read "$out/data" -- rm -f "$out/data/one" "$out/data/none"
err_has "--write $out/data" "a file that is to be removed: its folder"
explain -- sh -c 'echo x >"$HOME/x" && rm "$HOME/x" && mkdir -p "$HOME/a/b" && echo x >/tmp/x && rm /tmp/x'
err_empty "what is the sandbox's own is not denied"
explain -- sh -c 'echo x >/dev/null; cat /proc/self/status >/dev/null; ls /sys /run >/dev/null 2>&1; true'
err_lacks "/proc" "nor are /proc"
err_lacks "/dev" "and /dev"

for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
	mkdir -p "$out/d$i/e" && echo x >"$out/d$i/e/f"
done
explain -- sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do cat $out/d\$i/e/f; done"
lines "^  read" 10 "ten lines are shown"
err_has "and 3 more (--json lists them)" "and how many more there are"

explain -- sh -c "cat $out/data/one; cat $out/d1/e/f; exit 1"
is "$(sed -n 's/^  read   ~ \([^ ]*\) .*/\1/p' "$scratch/err" | head -n 1)" "$out/d1/e/f" \
	"what came last is first"

# --- links ---
ln -s data "$out/link" && ln -s one "$out/data/alias"
for name in link:data link/one:data/one data/alias:data/one; do
	real=${name#*:} name=${name%:*}
	json -- ls "$out/$name"
	option=$(denied '" ".join(d[0]["option"])')
	is "$option" "--read $out/$real --read $out/$name" "$name: by the name that was used, and where it leads"
	explain -- ls "$out/$name"
	err_has "$option" "$name: the line has both"
	# shellcheck disable=SC2086 # four words
	run run $option -- ls "$out/$name"
	status_is 0 "$name: which is enough"
done
json --read "$out/data" -- sh -c "echo x >$out/link/new"
is "$(denied '" ".join(d[0]["option"])')" "--write $out/data --write $out/link" "a folder that is to be written"
run run --write "$out/data" --write "$out/link" -- sh -c "echo x >$out/link/new"
status_is 0 "by its link"
echo "fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**]}" >"$scratch/links.yaml"
explain -p "$scratch/links.yaml" -- ls "$out/link"
err_has "add fs: {read: [\"$out/data/**\", \"$out/link/**\"]} to" "the line of a policy has both"
echo "fs: {read: [/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**, \"$out/data/**\", \"$out/link/**\"]}" >"$scratch/links.yaml"
run run -p "$scratch/links.yaml" -- ls "$out/link"
status_is 0 "which is enough"
ln -s "$out/data" "$HOME/shelf"
json -- ls "$HOME/shelf"
is "$(denied '" ".join(d[0]["option"])')" "--read $HOME/shelf" "a link that no command can have made needs no more"
run run --read "$HOME/shelf" -- ls "$HOME/shelf"
status_is 0 "by its name alone"
rm "$out/data/new" "$out/data/alias" "$HOME/shelf"

# --- names that are not harmless ---
mkdir "$out/a dir" "$out/star*" && echo x >"$out/a dir/it's" && echo x >"$out/star*/f" && echo x >"$out/star2"
bad=$out/$(printf 'two\nlines\033[2J')
mkdir "$bad" && echo x >"$bad/f"
explain -- cat "$out/a dir/it's"
err_has "--read '$out/a dir/it'\\''s'" "a name is quoted as a shell wants it"
json -- cat "$out/star*/f"
option=$(denied 'd[0]["option"][1]')
run run --read "$option" -- cat "$out/star*/f"
out_is x "a star in a name is no wildcard"
run run --read "$option" -- cat "$out/star2"
status_is 1 "and grants nothing else"
explain -- cat "$bad/f"
grep -v '^cat:' "$scratch/err" | sed '/^lines/d' >"$scratch/err2" && mv "$scratch/err2" "$scratch/err"
no_controls "a name cannot write on the terminal"
# shellcheck disable=SC1003 # a backslash
err_has 'two\x0alines\x1b[2J' "it is shown as what it is"

# --- the network ---
run doctor
if ! grep -q '^  no  *nf_tables' "$scratch/out"; then
	explain -- bash -c 'getent ahosts evil.example.com; (exec 3<>/dev/tcp/192.0.2.7/443 && cat <&3) 2>/dev/null; exit 1'
	err_has "connect  evil.example.com:443  --net evil.example.com:443" "a name, though no host is granted"
	err_has "connect  192.0.2.7:443         --net 192.0.2.7:443" "an address, and both are exact"
	lines "evil.example.com" 1 "each is said once"
	explain -- sh -c 'getent ahosts evil.example.com; exit 1' http://evil.example.com:8080/
	err_has "--net evil.example.com:8080" "the port is the one that the command has"
	json -- sh -c 'getent ahosts evil.example.com; exit 1'
	is "$(denied '[(x["action"], x["exact"]) for x in d]')" "[('net.connect', True)]" "exact in the list"
fi

# --- where a policy decides ---
cat >policy.yaml <<EOP
fs:
  read: ['/usr/**', '/bin/**', '/lib/**', '/lib64/**', '/etc/**', '$out/**']
  deny: ['$out/data/two']
EOP
cat >narrow.yaml <<'EOP'
fs: {read: ['/usr/**', '/bin/**', '/lib/**', '/lib64/**', '/etc/**']}
exec: [cat, sh]
EOP
explain --policy narrow.yaml -- cat "$out/data/one"
err_has "add fs: {read: [\"$out/data/one\"]} to narrow.yaml" "the line of the policy"
err_has "or use --read $out/data/one" "and the option"
long=$out/data/$(printf '%060d' 0)
echo x >"$long"
explain --policy narrow.yaml -- cat "$long"
err_has "  read   ~ $long" "what is too long for a line"
err_has "      add fs: {read: [\"$long\"]} to narrow.yaml" "has its advice below it"
err_has "      or use --read $long" "each on a line of its own"
is "$(grep -c "$long" "$scratch/err")" 4 "and nothing is cut"
explain --policy narrow.yaml --policy policy.yaml -- cat "$out/data/one"
err_has "to narrow.yaml" "of the policy that denies it"
explain --policy policy.yaml -- cat "$out/data/two"
err_has "policy.yaml:3" "a rule that denies it is named"
err_lacks "--read" "and no option"
echo x >hidden
explain --deny hidden -- cat hidden
err_has "read   ~ $PWD/hidden  remove or narrow --deny" "so is an option, for what it hides in a granted folder"
explain --policy narrow.yaml -- sh -c 'id; exit 1'
err_has 'add exec: ["id"] to narrow.yaml' "a program that is not on the list"
err_has "or use --exec id" "by its name"
lines "^  run" 1 "once, in whichever folders it was looked for"
mkdir -p "$XDG_CONFIG_HOME/corral"
cat >"$XDG_CONFIG_HOME/corral/policy.yaml" <<'EOP'
fs: {read: ['/usr/**', '/bin/**', '/lib/**', '/lib64/**', '/etc/**', $WORK_DIR/**]}
EOP
explain -- cat "$out/data/one"
err_has "add fs: {read: [\"$out/data/one\"]} to $XDG_CONFIG_HOME/corral/policy.yaml" \
	"the user's own policy is above all options"
err_lacks " --read" "so none is named"
rm -r "$XDG_CONFIG_HOME/corral"

# --- what is never suggested ---
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id_ed25519" && echo x >"$HOME/a" && echo x >"$HOME/b" && echo x >"$HOME/c"
explain -- cat "$HOME/.ssh/id_ed25519"
err_has "the baseline protects it; if you mean it: --read $HOME/.ssh/id_ed25519 --dangerously-allow $HOME/.ssh/id_ed25519" "what the baseline protects needs both options"
explain -- cat "$HOME/a" "$HOME/b" "$HOME/c"
lines " --read $HOME/[abc]\$" 3 "files of the home are not the home"
explain -- sh -c "ls ${HOME%/home}; exit 1"
err_lacks " --read" "what holds the home is not named as a whole"

# --- what a program reads ---
json -- cat "$out/data/one"
err_empty "--json: nothing on standard error"
is "$(denied '[(x["action"], x["target"], x["folder"], x["exact"], x["program"]) for x in d]')" \
	"[('fs.read', '$out/data/one', False, False, 'cat')]" "the list has what was denied"
is "$(denied 'd[0]["option"], d[0]["line"], d[0]["count"]')" \
	"(['--read', '$out/data/one'], '--read $out/data/one', 1)" "and what would allow it"
out_has '"explained_because": "explain"' "and why it was watched"
forget
run run --json -- cat "$out/data/one"
is "$(denied 'd')" "[]" "without --explain calls are not watched"
out_has '"explained": false' "and that is said"
out_has '"explained_because": null' "there is no reason then"
run run --json -- cat "$out/data/one"
out_has '"explained_because": "failed_before"' "but the next run of the same command is watched"
is "$(denied 'd[0]["option"]')" "['--read', '$out/data/one']" "and has what was denied"

# --- the next run of a command that failed here is watched ---
forget
watched="corral: this run was watched, because the command failed here before"
records() { find "$XDG_STATE_HOME/corral/failed" -type f 2>/dev/null | wc -l; }
run run -- cat "$out/data/one"
err_lacks "watched" "a command that fails is not watched by itself"
is "$(records)" 1 "but leaves a record"
is "$(run run -- ls "$XDG_STATE_HOME" && cat "$scratch/out")" "" "which no command sees"
(cd "$scratch/tmp" && run run -- cat "$out/data/one" && exit 1; cp "$scratch/err" "$scratch/err2")
! grep -q watched "$scratch/err2"
ok $? "in another folder it is another command"
run run -- cat "$out/data/two"
err_lacks "watched" "and so it is with other words"
run run -- cat "$out/data/one"
err_has "$watched" "the next run is watched, and says so"
err_has "read   ~ $out/data/one  --read $out/data/one" "with what was denied"
run run --json --read "$out/data/one" -- cat "$out/data/one"
out_has '"explained_because": "failed_before"' "it goes on until the command succeeds"
run run --json --read "$out/data/one" -- cat "$out/data/one"
out_has '"explained_because": null' "then it is over"
run run -- cat "$out/data/one"
run run --read "$out/data/one" -- cat "$out/data/one"
err_empty "a person is told nothing of a command that succeeds"
for n in 1 2 3; do
	run run -- sh -c "exit 7"
	cp "$scratch/err" "$scratch/err$n"
done
is "$(cat "$scratch/err1")" "" "a command that fails by itself"
is "$(cat "$scratch/err2")" "$watched; nothing was denied that explains it" "is watched once"
is "$(cat "$scratch/err3")" "" "and not for ever"
run run -- sh -c "exit 7" # in vain
run run --explain -- sh -c "cat $out/data/one; exit 7"
run run -- sh -c "cat $out/data/one; exit 7"
err_has "$watched" "after --explain, too"
forget
run run -- grep x /dev/null
run run -- sh -c 'kill -9 $$'
run shell </dev/null
run run --timeout 1ms -- sleep 9
is "$(records)" 0 "an answer, a signal, a time limit and a shell are no failures of that kind"
run run -- sh -c "rm -rf ~/.local/state/corral; mkdir -p ~/.local/state/corral/failed; exit 3"
is "$(records)" 1 "nothing that a command does in its home switches it"
chmod 0777 "$XDG_STATE_HOME/corral/failed/"*
run run -- sh -c "rm -rf ~/.local/state/corral; mkdir -p ~/.local/state/corral/failed; exit 3"
err_lacks "watched" "a record that others may write is none"
forget
json -- true
is "$(denied 'd')" "[]" "it is empty where nothing was denied"

# --- nothing is different for the command ---
explain -- sh -c 'ls /proc/self/fd | tr "\n" " "'
out_is "0 1 2 3 " "no descriptor is left in it" # 3: of ls itself
explain --timeout 300ms -- sh -c 'while :; do cat /nowhere; done' 2>/dev/null
status_is 124 "a command whose time is over, in the middle of a call"
explain -- sh -c 'kill -KILL $$'
status_is 137 "a command that is killed"
explain -- sh -c '(while :; do cat /nowhere 2>/dev/null; done) & exit 5'
status_is 5 "one that ends while others ask"
explain -- sh -c 'i=0; while [ $i -lt 200 ]; do (cat /nowhere 2>/dev/null) & i=$((i + 1)); done; wait'
status_is 0 "two hundred processes at once"

# --- more names than are kept ---
(cd "$out/many" && mkdir -p $(seq 60) && for d in $(seq 60); do (cd "$d" && mkdir $(seq 50)); done)
json -- sh -c "cd /; for a in \$(seq 60); do for b in \$(seq 50); do [ -e $out/many/\$a/\$b ]; done; done
i=0; while [ \$i -lt 100000 ]; do [ -e /nowhere/\$i ]; i=\$((i + 1)); done; exit 1"
status_is 1 "a command that asks for 103000 names"
is "$(denied 'len(d) <= 100')" True "they are few lines"
out_like '"denied_missed": 9[0-9][0-9]' "and how many were not kept is said"
is "$(denied 'max(len(x["target"]) for x in d) > 0')" True "of some it is said what they are"

# --- a line does what it says, whatever the file is called ---
mkdir "$out/odd"
for name in '$HOME' '${HOME}' 'a*[b]{c,d}?' "it's \"a\" name" 'a\b' 'a;id' "two
--write x" "$(printf 'red\033[31m')" "$(printf 'turned\342\200\256txt.a')"; do
	echo odd >"$out/odd/$name"
	explain -- cat "$out/odd/$name"
	line=$(sed -n 's/^  read .*[^-]\(--read .*\)$/\1/p; s/^      \(--read .*\)$/\1/p' "$scratch/err")
	is "$(bash -c "\"$CORRAL\" run $line -- cat \"\$1\"" line "$out/odd/$name" 2>&1)" odd "a line can be pasted, for an odd name as well"
done

# --- where a name alone makes the host ask other machines, nothing is looked at ---
mkdir "$out/net"
ln -s "$out/net" "$scratch/work/link"
cat >"$scratch/automounter.py" <<'EOF'
import ctypes, os, select, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
folder, command = sys.argv[1], sys.argv[2:]
asked, answers = os.pipe()
how = "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect" % (answers, os.getpgrp())
if libc.mount(b"auto", folder.encode(), b"autofs", 0, how.encode()) != 0:
    sys.exit(77)
p = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
while p.poll() is None:
    if select.select([asked], [], [], 0.05)[0]:
        p.kill()
        sys.exit("the automounter was asked")
EOF
automounter() { unshare -m setsid -w python3 "$scratch/automounter.py" "$out/net" "$@" 2>&1; }
automounter true >/dev/null
if [ $? -eq 77 ] || ! unshare -m true 2>/dev/null; then
	ok 0 "names that act # SKIP kernel: autofs cannot be mounted here"
else
	is "$(automounter ls "$out/net/secret/x")" "the automounter was asked" "who looks there, asks"
	is "$(automounter "$CORRAL" run --explain -- cat "$out/net/secret/x" link/secret/x)" "" \
		"--explain does not, for whatever name, and by no link"
fi

run shell --explain --help
out_has "--explain" "a shell has it, too"
done_testing
