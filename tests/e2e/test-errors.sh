#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Whatever is wrong: status 2, nothing on standard output, a message that says where and what, and no
# byte of a foreign file that a terminal would obey.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

printf 'fs: {read: [/srv/**]}\n' >good.yaml
show() { fails "$1" "$2" policy show "$3"; } # show NAME TEXT FILE

# --- files that are no files ---
show "a file that is not there" "missing.yaml: cannot be read: No such file" missing.yaml
show "a folder that is not there" "nowhere/: cannot be read" nowhere/
fails "an empty file name" "the file name is empty" policy show ''
# What even root cannot read: the kernel refuses.
show "a file that cannot be read" "cannot be read" /proc/self/mem
if [ "$(id -u)" -ne 0 ]; then
	cp good.yaml secret.yaml && chmod 000 secret.yaml
	show "a file without permission" "secret.yaml: cannot be read: Permission denied" secret.yaml
fi
: >empty.yaml
show "an empty file" "empty.yaml:1:1: unknown policy format" empty.yaml
: >empty.json
show "an empty JSON file" "empty.json:1:1:" empty.json
fails "nothing on standard input" "standard input:1:1:" policy show -
head -c 5000000 /dev/zero | tr '\0' '#' >huge.yaml
show "a huge file" "huge.yaml: is larger than 4 MiB" huge.yaml
show "an endless file" "is larger than 4 MiB" /dev/zero
head -c 100000 "$CORRAL" >binary && show "a program" "binary:1:" binary
cp binary binary.json && show "a program that calls itself JSON" "binary.json:1:" binary.json

# --- broken text ---
printf 'fs:\n  read: [/srv/**\n' >unclosed.yaml
show "YAML that is never closed" "unclosed.yaml:" unclosed.yaml
printf 'fs:\n\tread: [/srv]\n' >tab.yaml
show "a tab" "tab.yaml:2:" tab.yaml
printf 'fs: {read: [/a], read: [/b]}\n' >twice.yaml
show "a key twice" "twice.yaml:1:18:" twice.yaml
printf '{"fs": {"read": ["/a"],}}' >comma.json
show "a comma too many" "comma.json:1:24:" comma.json
printf 'fs: {read: ["/a\\0b"]}\n' >nul-escape.yaml
show "an escaped NUL" "nul-escape.yaml:1:" nul-escape.yaml
printf 'fs: {read: [/a\000b]}\n' >nul.yaml
show "a NUL" "nul.yaml:1:" nul.yaml
printf 'fs: {read: [/a\377b]}\n' >latin.yaml
show "bytes that are no UTF-8" "latin.yaml:1:" latin.yaml
{
	echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
	for i in 1 2 3 4 5 6 7 8 9; do
		p="*a$((i - 1))"
		echo "a$i: &a$i [$p, $p, $p, $p, $p, $p, $p, $p, $p, $p]"
	done
} >bomb.yaml
show "an alias bomb" "bomb.yaml:" bomb.yaml
printf 'a: &a [*a]\n' >self.yaml
show "an alias inside itself" "self.yaml:1:" self.yaml
python3 -c 'print("[" * 100000)' >deep.json
show "brackets without end" "deep.json:1:" deep.json
printf -- '---\nname: x\n' >SKILL.md
show "frontmatter that is never closed" "SKILL.md:" SKILL.md
printf '# Just text\n' >SKILL.md
show "a SKILL.md without frontmatter" "no frontmatter was found" SKILL.md

# --- text that says the wrong things ---
printf 'fs:\n  raed: [/srv]\n' >typo.yaml
show "a misspelt key" "typo.yaml:2:3:" typo.yaml
err_has "read" "and the key that was meant"
printf 'files: {}\n' >unknown.yaml
show "no format at all" "unknown.yaml:1:" unknown.yaml
printf 'fs: [/srv]\n' >shape.yaml
show "a list in place of a map" "shape.yaml:1:5:" shape.yaml
printf 'fs: {read: [relative/path]}\n' >relative.yaml
show "a path that is not absolute" "relative.yaml:1:13:" relative.yaml
printf 'fs: {read: [$WROK_DIR/x]}\n' >variable.yaml
show "a misspelt variable" 'unknown variable $WROK_DIR' variable.yaml
err_has 'did you mean $WORK_DIR?' "and the variable that was meant"
printf "network: {allow: ['http://']}\n" >host.yaml
show "a host that is none" "host.yaml:1:" host.yaml
printf "network: {allow: ['example.com:99999']}\n" >port.yaml
show "a port that is none" "port.yaml:1:" port.yaml
printf 'limits: {memory: lots}\n' >limit.yaml
show "a limit that is none" "limit.yaml:1:" limit.yaml
printf 'exec: ["git\\0x"]\n' >exec.yaml
show "a command with a NUL" "exec.yaml:1:" exec.yaml
printf 'allowed_roots: [/srv]\npermissions: {}\n' >two.yaml
show "two formats at once" "different formats" two.yaml
fails "one bad file among good ones" "typo.yaml:2:3:" \
	policy check -p good.yaml -p typo.yaml --op fs.read --target /srv/x

# --- terminal escapes ---
printf 'fs:\n  "\\e[2J\\e]0;owned\\a": [/srv]\n' >escape.yaml
run policy show escape.yaml
status_is 2 "escapes in a key: an error"
no_controls "escapes in a key: made visible"
printf 'fs: {read: ["/srv/\\e]0;red\\a/**"]}\n' >red.yaml
red=$(printf '/srv/\033]0;red\007/x')
run policy check -p red.yaml --op fs.read --target "$red"
status_is 0 "escapes in a pattern: it works"
no_controls "escapes in a pattern: made visible"
run policy explain -p red.yaml --op fs.read --target "$red"
no_controls "escapes in a target: made visible"
run policy show red.yaml
no_controls "escapes in what is shown"
cp "$scratch/out" red-again.yaml
answers 0 "and it reads as the same" allow policy check -p red-again.yaml --op fs.read --target "$red"
run policy show --json red.yaml
no_controls "escapes in JSON"
run policy show "$(printf 'no\033[2Jfile\n.yaml')"
no_controls "escapes in the name of a file"
run policy check -p good.yaml --op exec --target "$(printf 'ls\033[2J \r x')"
no_controls "escapes in a command line"
run policy explain -p good.yaml --op exec --target "$(printf 'ls \342\200\256gnp.exe')"
! grep -q "$(printf '\342\200\256')" "$scratch/out"
ok $? "text that runs backwards is made visible"
run "$(printf 'x\033[2J')"
no_controls "escapes in a command"
run policy show "--$(printf 'x\033[2J')"
no_controls "escapes in an option"
run policy lint red.yaml
no_controls "escapes in findings"
run policy subset red.yaml good.yaml
no_controls "escapes in an example"

# --- targets that are none ---
ask() { fails "$1" "$2" policy check -p good.yaml --op "$3" --target "$4"; }
ask "an empty path" "expected a path" fs.read ''
ask "an empty host" "is not valid for net.connect" net.connect ''
ask "a URL without a host" "the URL has no host" net.connect http://
ask "an unknown scheme" "is not valid for net.connect" net.connect gopher://example.com/
ask "a port that is too large" "is not valid for net.connect" net.connect example.com:70000
ask "an empty program" "expected a program" exec ''
ask "a quote that is never closed" "--target:1:4:" exec "ls 'x"
ask "a command that is missing" "--target:1:" exec 'ls |'
ask "only a comment" "contains no command" exec '# nothing'
ask "an empty variable" "expected NAME" env ''
ask "a variable without a name" "expected NAME" env '=x'
ask "an empty service" "expected NAME.ACCESS" service ''
ask "an unknown variable in a path" 'unknown variable $NOPE' fs.read '$NOPE/x'
long=$(python3 -c 'print("/" + "x" * 5000)')
ask "a path that is too long" "too long" fs.read "$long"

# --- misuse ---
fails "an unknown operation" "did you mean fs.read?" policy check -p good.yaml --op fs.raed --target /x
fails "no operation" "required option missing: --op OP" policy check -p good.yaml --target /x
fails "no target" "required option missing: --target TARGET" policy check -p good.yaml --op fs.read
fails "an option without its value" "--target needs a value" policy check -p good.yaml --op fs.read --target
fails "an option with a value too many" "--json takes no value" policy check --json=yes
fails "an option twice" "--op was given more than once" policy check -p good.yaml --op env --op exec --target x
fails "an operand too many" 'unexpected argument: `more`' policy check -p good.yaml --op env --target x more
fails "--arg without exec" "--arg requires --op exec" policy check -p good.yaml --op env --target x --arg y
fails "--method without a connection" "--method requires --op net.connect" policy check -p good.yaml --op env --target x --method GET
fails "an unknown method" "did you mean GET?" policy check -p good.yaml --op net.connect --target x:1 --method get
fails "--set without a value" "NAME=DIR" policy check -p good.yaml --op env --target x --set HOME
fails "--set of something unknown" "did you mean --set WORK_DIR=DIR?" policy check -p good.yaml --op env --target x --set WRK_DIR=/x
fails "--set twice" "--set HOME was given more than once" policy check -p good.yaml --op env --target x --set HOME=/a --set HOME=/b
fails "an unknown kind" "did you mean skill?" policy show --from skil good.yaml

# --- the result cannot be written ---
if [ -w /dev/full ]; then
	status=0
	"$CORRAL" policy show good.yaml >/dev/full 2>"$scratch/err" || status=$?
	: >"$scratch/out"
	status_is 2 "a full disk is an error"
	err_has "cannot write the result" "and the message says so"
fi

# --- a folder whose name would speak to the terminal ---
run prompt --mode rx --data-dir "$(printf '/x\033[31m')"
status_is 2 "prompt: control characters in a folder"

done_testing
