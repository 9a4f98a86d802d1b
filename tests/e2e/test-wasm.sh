#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# WASM skills (docs/wasm-abi.md): the contract of `handle`, WASI commands, folders, limits, and what the compiled
# module is trusted for.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/wasm/modules.sh disable=SC1091
. "$(dirname "$0")/../wasm/modules.sh"

needs_sandbox
cache=$XDG_STATE_HOME/corral/wasm-cache

# --- input and answer ---
c echo echo.c '' -mexec-model=reactor
run run --skill echo
status_is 126 "a skill that the user did not approve does not run"
err_has "corral approve" "and what to do about it"
run approve --yes echo
run run --skill echo
out_is '{"success": true, "result": {"input": {}, "calls": 0}}' "no input is an empty map; the answer is what handle returns"
err_has "printed by the skill" "what it prints is not in the answer"
run run --skill echo -- name=text 'size:=[1, 2]'
out_is '{"success": true, "result": {"input": {"params": {"name": "text", "size": [1, 2]}}, "calls": 0}}' "arguments as parameters, in fresh memory"
run run --skill echo -- '{"a": 1}'
out_has '"input": {"a": 1}' "one argument in braces is the input"
run run --skill echo --input '{"b": 2}'
out_has '"input": {"b": 2}' "--input"
echo '{"c": 3}' >input.json
run run --skill echo --input @input.json
out_has '"input": {"c": 3}' "--input @FILE"
run_with '{"d": 4}' run --skill echo
out_has '"input": {"d": 4}' "standard input"
run_with 'nonsense' run --skill echo
status_is 125 "an input that is no JSON"
err_has "the input is not JSON" "is reported"
run run --skill echo -- word
err_has "neither JSON in braces nor NAME=VALUE" "an argument that is neither"
run run --skill echo --input '{}' -- a=b
err_has "two inputs" "arguments and --input"
run run --skill echo --input @nothing
err_has "--input: nothing: No such file" "a file that is not there"
run run --input '{}' -- true
status_is 125 "--input without a skill"

# --- what handle may not do ---
stops() { # stops NAME TEXT CODE [MANIFEST]: the module is stopped, with this sentence.
	guest "$1" "$3" "${4-}"
	run run --yes --skill "$1"
	status_is 134 "$1: stopped"
	err_has "$2" "$1: why"
	out_empty "$1: nothing is printed"
}
guest good 'i32.const 16'
run run --yes --skill good
out_is '{"success": true}' "a pointer to a length and the bytes"
guest no 'i32.const 64'
run run --yes --skill no
status_is 1 "success: false is the status 1"
out_is '{"success": false}' "and the answer is there"
wat wide '(module (memory (export "memory") 1) (data (i32.const 16) "{\22success\22: true}")
	(func (export "allocate") (param i32) (result i32) i32.const 512)
	(func (export "handle") (param i32 i32) (result i64) i64.const 0x1000000011))'
run run --yes --skill wide
out_is '{"success": true}' "a pointer and a length in one number"
stops null "it returned no answer" 'i32.const 0'
stops outside "not in its memory" 'i32.const 0x7fffffff'
stops negative "not in its memory" 'i32.const -1'
stops edge "not in its memory" 'i32.const 65533'
stops last "not in its memory" 'i32.const 65532 i32.const 1 i32.store i32.const 65532'
stops long "more than 16 MiB" 'i32.const 256 i32.const 0x7fffffff i32.store i32.const 256'
stops wraps "more than 16 MiB" 'i32.const 256 i32.const -4 i32.store i32.const 256'
stops text "is no SkillOutput" 'i32.const 256 i32.const 3 i32.store i32.const 256'
stops aborts "it aborted itself" 'unreachable'
stops divides "it divided by zero" 'i32.const 1 i32.const 0 i32.div_s'
stops reads "it used memory that it does not have" 'i32.const 70000 i32.load'
stops recursion "its stack is full" 'i32.const 0 call $again'
wat bad-allocate '(module (memory (export "memory") 1) (func (export "allocate") (param i32) (result i32) i32.const 65535)
	(func (export "handle") (param i32 i32) (result i32) i32.const 0))'
run run --yes --skill bad-allocate
err_has "returned what is not its memory" "allocate that returns the end of memory"
wat none-allocate '(module (memory (export "memory") 1) (func (export "allocate") (param i32) (result i32) i32.const 0)
	(func (export "handle") (param i32 i32) (result i32) i32.const 0))'
run run --yes --skill none-allocate
err_has "has no room" "allocate that returns nothing"
for one in '(func (export "handle") (param i32) (result i32) i32.const 0)' '(memory (export "handle") 1)' \
	'(memory (export "memory") 1) (func (export "handle") (param i32 i32))'; do
	wat typed "(module $one)"
	run run --yes --skill typed
	status_is 126 "handle of another type: $one"
done
wat empty '(module)'
run run --yes --skill empty
status_is 126 "a module without exports"
err_has "neither \`handle\`" "says which it looks for"
printf 'no module' >empty/skill.wasm
run run --yes --skill empty
status_is 126 "a file that is no module"
err_has "skill.wasm: the module is not a WebAssembly binary" "is named"
head -c 100 echo/skill.wasm >empty/skill.wasm
run run --yes --skill empty
status_is 126 "half a module"
rm empty/skill.wasm
run run --yes --skill empty
err_has "manifest.yaml:3" "a module that is not there is reported with the line of the manifest"

# --- limits, each alone ---
stops loop-fuel "it used up its fuel (1000000)" '(loop (br 0)) i32.const 0' 'limits: {max_fuel: 1000000}'
stops call-fuel "it used up its fuel (100000)" 'i32.const 0 call $again' 'limits: {max_fuel: 100000}'
guest enough-fuel 'i32.const 16' 'limits: {max_fuel: 100000}'
run run --yes --skill enough-fuel
status_is 0 "enough fuel"
guest loop-time '(loop (br 0)) i32.const 0' 'limits: {max_execution_time: 500ms}'
run run --yes --skill loop-time
status_is 124 "an endless loop ends with max_execution_time"
# 64 pages are 4 MiB: the memory has one, and gets 63 more, not 64.
grows='(if (i32.eq (memory.grow (i32.const 63)) (i32.const -1)) (then unreachable))
	(if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable)) i32.const 16'
guest grow "$grows" 'limits: {max_memory: 4MB}'
run run --yes --skill grow
status_is 0 "memory grows to max_memory, and no further"
wat born-large '(module (memory (export "memory") 65) (func (export "allocate") (param i32) (result i32) i32.const 512)
	(func (export "handle") (param i32 i32) (result i32) i32.const 0))' 'limits: {max_memory: 4MB}'
run run --yes --skill born-large
status_is 126 "a module that starts with more than max_memory"
guest tables '(if (i32.ne (table.grow $t (ref.null func) (i32.const 1000000)) (i32.const -1)) (then unreachable)) i32.const 16'
run run --yes --skill tables
status_is 0 "a table does not grow for ever"

# --- compiling has limits of its own: the module's say nothing about it ---
large() { # large NAME KIND BYTES
	skill "$1" 'limits: {max_execution_time: 3s, max_memory: 16MB}'
	python3 "$tests/large.py" "$2" "$3" >"$1/skill.wasm"
}
kept() { find "$cache" -type f ! -name key | wc -l; }
n=$(kept)
large greedy divisions 3000000
run run --yes --skill greedy
status_is 126 "a module whose compiler wants more memory than its size allows"
err_has "greedy/skill.wasm needs more than 352M of memory, the limit for a module of this size" "the limit is named"
err_has "CORRAL_WASM_COMPILE_MEMORY=1408M" "with the way to raise it"
large slow branches 1000000
CORRAL_WASM_COMPILE_TIME=1s CORRAL_WASM_COMPILE_MEMORY=4G run run --yes --skill slow
status_is 126 "a module whose compiler needs more time than it may have"
err_has "slow/skill.wasm needs more than 1 s of processor time" "the limit is named, too"
err_has "CORRAL_WASM_COMPILE_TIME=4s" "with the way to raise that"
is "$(kept)" "$n" "nothing is kept of what was not compiled"
large small divisions 100000
CORRAL_WASM_COMPILE_MEMORY=16M run run --yes --skill small
err_has "needs more than 16M of memory" "the environment lowers the limits, too"
CORRAL_WASM_COMPILE_TIME=never run run --yes --skill small
status_is 126 "a limit that is no time"
err_has "invalid value of CORRAL_WASM_COMPILE_TIME: \`never\` (expected a time such as" "is reported"
run run --yes --skill small
err_has "neither \`handle\`" "within the limits it is compiled"
CORRAL_WASM_COMPILE_MEMORY=1 run run --yes --skill small
err_has "neither \`handle\`" "what is compiled already needs none of it"

# --- what is not granted is not there ---
import() { # import NAME MODULE FUNCTION CODE
	wat "$1" "(module (import \"$2\" \"$3\" (func \$f (param i32 i32) (result i32)))
		(memory (export \"memory\") 1) (data (i32.const 16) \"\\11\\00\\00\\00{\\22success\\22: true}\")
		(func (export \"allocate\") (param i32) (result i32) i32.const 1024)
		(func (export \"handle\") (param i32 i32) (result i32) $4))"
	run run --yes --skill "$1"
}
import unused env host_http_request 'i32.const 16'
status_is 0 "an import that is not granted and not called"
for name in env.http_request env.host_http_request corral.http_request corral.host_http_request; do
	import denied "${name%.*}" "${name#*.}" 'i32.const 0 i32.const 0 call $f'
	status_is 134 "$name: a call stops the module"
	err_has "the capability http is not granted" "$name: names the capability"
	err_has "http: {enabled: true, allowed_hosts: [HOST]}" "$name: and the line"
done
import unknown env format_disk 'i32.const 0 i32.const 0 call $f'
err_has "env.format_disk, which is no function of Corral or WASI" "a function that does not exist"

# --- WASI commands ---
c wasi files.c 'capabilities: {filesystem: {enabled: true, paths: [{guest: /rw, host: ./data, mode: rw}, {guest: /ro, host: ./fixed, mode: ro}]}}'
mkdir wasi/data wasi/fixed
echo fixed >wasi/fixed/file
echo secret >wasi/secret
ln -s ../secret wasi/data/out
ln -s /etc/passwd wasi/data/absolute
ln -s nowhere/../../secret wasi/data/winding
wasi() { run run --yes --skill wasi -- "$@"; }
wasi read:/ro/file write:/rw/new read:/rw/new list:/rw stat:/rw/new rename:/rw/new:/rw/other remove:/rw/other make:/rw/folder random clock
out_is 'read /ro/file: fixed

wrote /rw/new
read /rw/new: written
listed /rw: 6
stat /rw/new: 7
renamed to /rw/other
removed /rw/other
made /rw/folder
random
clock' "folders, clocks, random"
run_with 'typed
' run --yes --skill wasi -- in exit:7
status_is 7 "the status of exit()"
out_is "in: typed" "standard input and output"
HIDDEN=1 wasi env:HIDDEN env:HOME env:PATH
out_is 'HIDDEN=(none)
HOME=(none)
PATH=(none)' "no variable that was not granted"
HIDDEN=1 run run --yes --skill wasi --env HIDDEN --env GIVEN=2 -- env:HIDDEN env:GIVEN
out_is 'HIDDEN=1
GIVEN=2' "those that were"
for path in /rw/out /rw/absolute /rw/winding /rw/../secret /rw/../../secret /secret /etc/passwd ../secret /ro/../secret "$PWD/wasi/secret" /rw/folder/../../secret; do
	wasi "read:$path"
	out_lacks secret "outside of the folders: $path"
	out_has "failed" "which fails: $path"
	out_lacks root: "and it is not the host's: $path"
done
for how in write:/ro/new write:/ro/file make:/ro/new remove:/ro/file rename:/ro/file:/ro/new truncate:/ro/file link:x:/ro/link rename:/rw/folder:/ro/folder; do
	wasi "$how"
	out_has failed "ro is ro: $how"
done
is "$(cat wasi/fixed/file)" fixed "and the file is as it was"
wasi link:../../secret:/rw/link read:/rw/link
out_lacks secret "a link of its own leads nowhere"
rm -r wasi/data
wasi list:/rw
out_has "listed /rw: 2" "a folder for writing that is missing is made"

# --- the compiled module ---
entries() { find "$cache" -type f ! -name '*.mark' ! -name key ! -name '*.[0-9]*'; }
rm -rf "$cache"
run run --yes --skill good
entry=$(entries)
[ -n "$entry" ] && [ "$(stat -c %a "$entry")" = 600 ]
ok $? "the compiled module is kept, for its user alone"
before=$(stat -c %i "$entry")
run run --yes --skill good
is "$(stat -c %i "$entry")" "$before" "and used again"
again() { # again NAME: the entry was found to be wrong, and the skill runs all the same.
	run run --yes --skill good
	out_is '{"success": true}' "$1: the skill runs as it is"
	[ "$(stat -c %i "$entry")" != "$before" ]
	ok $? "$1: the module was compiled again"
	before=$(stat -c %i "$entry")
}
truncate -s -1 "$entry"
again "cut"
printf 'xxxxxxxx' | dd of="$entry" bs=1 seek=5000 conv=notrunc status=none
again "changed"
printf 'xxxxxxxx' | dd of="$entry.mark" bs=1 seek=3 conv=notrunc status=none
again "its mark changed"
rm "$entry.mark"
again "without a mark"
: >"$entry"
again "empty"
chmod 666 "$entry"
again "writable by others"
ln "$entry" "$entry.link"
again "with a second name"
rm -f "$entry.link"
mv "$entry" "$entry.real" && ln -s "$entry.real" "$entry"
again "a link"
rm -f "$entry.real"
# A module that answers otherwise, with a mark of its own, under the name of the good one.
mkdir evil && run run --yes --skill no
for other in $(entries); do [ "$other" = "$entry" ] || break; done
cp "$other" "$entry" && cp "$other.mark" "$entry.mark"
again "another module's entry, with its mark"
head -c 32 /dev/urandom >"$cache/key"
again "marked by another key"
# Another engine or another worker: the same module has another entry.
n=$(entries | wc -l)
mkdir copy && cp "$CORRAL_WASM" "$(dirname "$CORRAL_WASM")/libwasmtime.so" copy/
CORRAL_WASM=$PWD/copy/corral-wasm run run --yes --skill good
out_is '{"success": true}' "another worker"
is "$(entries | wc -l)" "$((n + 1))" "has an entry of its own"

# --- what was approved is what runs ---
run approve --yes good
cp no/skill.wasm good/skill.wasm
run run --skill good
status_is 126 "a module that was replaced after the approval"
err_has "its files have changed" "is reported"
skill wrong 'capabilities: {filesystem: {enabled: true, paths: [{guest: /x, host: ., mode: rw}]}}'
cp no/skill.wasm wrong/
run run --yes --skill wrong
[ "$status" -ne 0 ] && [ ! -s "$scratch/out" ]
ok $? "a module that the skill may write is not run"

# --- a worker that was taken over: native code in its place, with all that it has then ---
# It compiles by the real one: `compile` of this program is that, before it confines itself.
mkdir taken && cp "$TAKEN_OVER" taken/corral-wasm && ln -s "$(dirname "$CORRAL_WASM")/libwasmtime.so" taken/
ln -s "$CORRAL_WASM" taken/compiler
mkdir -p wasi/data
CORRAL_WASM=$PWD/taken/corral-wasm run run --yes --skill wasi
out_is 'own-folder worked
own-file worked
write-ro failed
create-ro failed
above failed
passwd failed
library failed
proc failed
module failed
inet failed
inet6 failed
unix failed
netlink failed
shell failed
itself failed
own-program failed
maps-file failed
mount failed' "native code in the worker has the folders of the manifest, and nothing else"
# Without the worker's own confinement, to show that the attempts are sound, and what the sandbox holds by itself.
CORRAL_WASM=$PWD/taken/corral-wasm run run --yes --env BARE=1 --skill wasi
for name in passwd library proc inet inet6 unix netlink itself; do
	out_has "$name worked" "the worker itself gives up: $name"
done
for name in write-ro create-ro above module shell own-program maps-file mount; do
	out_has "$name failed" "the sandbox by itself has no: $name"
done

# --- a Corral without the worker ---
CORRAL_WASM=$PWD/nothing run run --yes --skill no
status_is 125 "without the worker"
err_has "install corral-wasm and libwasmtime.so" "says what is missing"

done_testing
