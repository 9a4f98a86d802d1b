#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# WASM skills in a host program (corral/skill.h): loaded once, called by many threads, each call in memory of its own;
# limits, layers of one call, hot reload, and a worker that was taken over.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/wasm/modules.sh disable=SC1091
. "$(dirname "$0")/../wasm/modules.sh"

needs_sandbox
# host WORD…: tests/wasm/skill-host.c.
host() {
	status=0
	"$SKILL_HOST" "$@" </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
}
data='capabilities: {filesystem: {enabled: true, paths: [{guest: /data, host: ./data, mode: rw}]}}'
good='{"success": true, "result": 1}'
c ways many-ways.c "$data
limits: {max_memory: 8MB, max_execution_time: 60s}" -mexec-model=reactor
mkdir -p ways/data

# --- loading ---
host load ways
out_has "load -13" "a skill that the user did not approve is not loaded"
out_has "corral approve" "and the sentence says what to do"
run approve --yes ways
host load "$PWD/ways" call '{}' call '' call '{"do": "calls"}' call '{"do": "calls"}'
out_is "call 0 $good
call 0 $good
call 0 {\"success\": true, \"result\": 0}
call 0 {\"success\": true, \"result\": 0}" "calls, each in fresh memory"
host load ways call 'nonsense' call '{}'
out_has 'call 125' "an input that is no JSON"
err_has "the input is not JSON" "is reported"
out_has "call 0 $good" "and the next is served"
mkdir none && cp ways/SKILL.md none/
host load none load nothing
out_has "load -8" "a skill without a module"
out_has "load -2" "no skill"
cp -r ways broken && printf 'no module' >broken/skill.wasm
host unapproved load broken
out_has "not a WebAssembly binary" "a module that is none"
CORRAL_WASM=$PWD/nothing host unapproved load ways
out_has "install corral-wasm and libwasmtime.so" "without the worker"
host unapproved load ways time 1 workers 5000 load ways
out_has "at most 1024 workers" "too many workers"

# --- the same by the call that scripts are run by ---
host entry ways '{"do": "calls"}'
out_is 'entry 0 {"success": true, "result": 0}' "run_skill_entry() takes a WASM skill"

"$EXAMPLE" ways '{"do": "write"}' >"$scratch/out" 2>"$scratch/err"
out_is '0 {"success": true, "result": "there written"}
0 {"success": true, "result": "gone refused"}' "the example"

# --- each limit alone; and the worker serves the next call ---
host load ways pids call '{"do": "abort"}' call '{"do": "recurse"}' call '{"do": "reach"}' call '{"do": "grow"}' call '{"do": "exit"}' \
	call '{"do": "print"}' call '{}' pids
out_is "$(head -n 1 "$scratch/out")
call 134 
call 134 
call 134 
call 0 {\"success\": true, \"result\": 128}
call 9 
call 0 $good
call 0 $good
$(head -n 1 "$scratch/out")" "traps, stack, memory and exit: the same worker serves on"
err_has "it aborted itself" "abort is reported"
err_has "its stack is full" "stack is reported"
err_has "memory that it does not have" "memory is reported"
[ "$(wc -c <"$scratch/err")" -lt 70000 ]
ok $? "what a module prints is cut"
host load ways time 200 call '{"do": "loop"}' call '{"do": "loop"}' time 60000 call '{}' call '{}' time 200 call '{"do": "loop"}' time 0 call '{}'
out_is "call 124 
call 124 
call 0 $good
call 0 $good
call 124 
call 0 $good" "time: the module is stopped, and the next call is served"
err_has "it timed out" "and is reported"
# A worker that could not stop its module in time is replaced: on a busy machine that happens to one that works.
for _ in $(seq 40); do
	host load ways pids time 200 call '{"do": "loop"}' pids
	[ "$(head -n 1 "$scratch/out")" = "$(tail -n 1 "$scratch/out")" ] && break
done
out_is "$(head -n 1 "$scratch/out")
call 124 
$(head -n 1 "$scratch/out")" "by the worker itself, which serves on"
host load ways time 300 call '{"do": "loop"}' call '{"do": "sleep"}' time 0 call '{}'
out_is "call 124 
call 124 
call 0 $good" "a loop and a sleep end with their time, and the next call is served"
cp -r ways fuel && echo 'limits: {max_fuel: 1000000}' >fuel/limits && sed -i '/^limits/d' fuel/manifest.yaml && cat fuel/limits >>fuel/manifest.yaml
host unapproved load fuel pids call '{"do": "loop"}' call '{}' pids
out_is "$(head -n 1 "$scratch/out")
call 134 
call 0 $good
$(head -n 1 "$scratch/out")" "fuel stops a loop, and each call has its own"
err_has "it used up its fuel" "and is reported"
sed -i 's/^limits.*/limits: {max_execution_time: 1s}/' fuel/manifest.yaml
# The second call has no more than that second either, which a busy machine may need for other things.
for _ in $(seq 40); do
	host unapproved load fuel call '{"do": "loop"}' call '{}' time 60000 call '{"do": "loop"}'
	[ "$(sed -n 2p "$scratch/out")" != "call 124 " ] && break
done
out_is "call 124 
call 0 $good
call 124 " "max_execution_time of the manifest; a call does not widen it"

# --- copy on write ---
mkdir cow && clang --target=wasm32-wasi -O1 -mexec-model=reactor -DIMAGE=33554432 "$tests/many-ways.c" -o cow/module.wasm &&
	"$CORRAL_WASM" compile epochs <cow/module.wasm >cow/module
"$COPY_ON_WRITE" cow/module one all one calls >"$scratch/out" 2>&1
out_is 'one {"success": true, "result": 8} few pages
all {"success": true, "result": 8} thousands of pages
one {"success": true, "result": 8} few pages
calls {"success": true, "result": 0} few pages' "of 32 MiB of memory, a call costs the pages that it writes"

# --- two calls that look for each other's memory ---
# A call finds what it made itself, and no more than the first one did.
found() { sed -n "$1"'s/.*"result": \([0-9]*\)}/\1/p' "$scratch/out"; }
host workers 1 load ways call '{"do": "find"}' call '{"do": "fill"}' call '{"do": "find"}' call '{"do": "fill"}' call '{"do": "find"}' call '{"do": "both"}'
own=$(sed -n 1p "$scratch/out")
[ "$(found 1)" -le 2 ] && [ "$(found 6)" -gt 100000 ]
ok $? "in one call a mark is found all over its memory"
out_is "$own
call 0 $good
$own
call 0 $good
$own
$(sed -n 6p "$scratch/out")" "one after the other, in the same worker"
# A global, an entry of a table and its size, of the last call.
wat left '(module (memory (export "memory") 1) (global $g (mut i32) (i32.const 48)) (table $t 1 1000 funcref) (elem declare func $f) (func $f)
	(data (i32.const 16) "\22\00\00\00{\22success\22: true, \22result\22: \22000\22}")
	(func (export "allocate") (param i32) (result i32) i32.const 512)
	(func (export "handle") (param i32 i32) (result i32)
		(i32.store8 (i32.const 49) (global.get $g))
		(i32.store8 (i32.const 50) (i32.add (i32.const 48) (i32.eqz (ref.is_null (table.get $t (i32.const 0))))))
		(i32.store8 (i32.const 51) (i32.add (i32.const 47) (table.size $t)))
		(global.set $g (i32.const 49)) (table.set $t (i32.const 0) (ref.func $f)) (drop (table.grow $t (ref.func $f) (i32.const 4)))
		(i32.const 16)))'
host workers 1 unapproved load left call '{}' call '{}' call '{}'
out_is 'call 0 {"success": true, "result": "000"}
call 0 {"success": true, "result": "000"}
call 0 {"success": true, "result": "000"}' "nothing is left in globals and tables"
host workers 4 load ways threads 16 '{"do": "fill"}' threads 64 '{"do": "find"}'
out_is "16 times 0 $good
64 times ${own#call }" "many in several workers"

# --- threads ---
host workers 3 load ways threads 200 '{"do": "calls"}' pids
out_has '200 times 0 {"success": true, "result": 0}' "200 threads"
[ "$(grep pids "$scratch/out" | wc -w)" -le 4 ]
ok $? "share three workers"

# --- one call with less ---
host load ways call '{"do": "write"}' layer '{"fs": {"read": ["'"$PWD"'/ways/data/{,**}"]}}' call '{"do": "write"}' call '{"do": "write"}' \
	layer '{"fs": {}}' call '{"do": "write"}' layer '' call '{"do": "write"}'
out_is 'call 0 {"success": true, "result": "there written"}
call 0 {"success": true, "result": "there refused"}
call 0 {"success": true, "result": "there refused"}
call 0 {"success": true, "result": "gone refused"}
call 0 {"success": true, "result": "there written"}' "a layer takes away, for its calls alone"
host load ways layer '{"fs": {"read": ["/etc/{,**}"], "write": ["/srv/{,**}"]}, "exec": ["sh"]}' call '{"do": "write"}'
out_is 'call 0 {"success": true, "result": "gone refused"}' "and grants nothing"
host load ways layer '{"limits": {"timeout": "200ms"}}' call '{"do": "loop"}' layer '{"limits": {"fuel": 1000000}}' call '{"do": "loop"}' layer '' call '{}'
out_is "call 124 
call 134 
call 0 $good" "limits of one call"
GIVEN=1 host load ways call '{"do": "env"}'
out_has 'not given' "no variable that was not granted"

# --- hot reload ---
cp ways/skill.wasm first.wasm
clang --target=wasm32-wasi -O1 -DVERSION=2 -mexec-model=reactor "$tests/many-ways.c" -o second.wasm
host load ways reload sh 'cp second.wasm ways/skill.wasm' reload call '{}' sh '"$CORRAL" approve --yes ways >/dev/null' reload call '{}' \
	sh 'printf x >ways/skill.wasm; "$CORRAL" approve --yes ways >/dev/null' reload call '{}' sh 'rm ways/skill.wasm' reload call '{}'
out_has "reload 0 version 1" "nothing changed"
out_has "its files have changed since it was approved" "a change that was not approved is refused"
out_has "reload 1 version 2" "one that was serves"
is "$(grep -c "^call 0 $good" "$scratch/out")" 1 "until then the old version serves"
is "$(grep -c '^call 0 {"success": true, "result": 2}' "$scratch/out")" 3 "what is broken or missing leaves the version that is loaded"
# A thousand calls, of which 32 run and wait for a file, and the others wait for those.
clang --target=wasm32-wasi -O1 -DWAITS -mexec-model=reactor "$tests/many-ways.c" -o waits.wasm
cp waits.wasm ways/skill.wasm
run approve --yes ways
rm -f ways/data/begun ways/data/go
ln -s ways/data/go go
host workers 32 load ways crowd 1000 ways/data/begun 'cp second.wasm ways/skill.wasm; "$CORRAL" approve --yes ways >/dev/null'
out_is "reload 1 version 2
call 0 {\"success\": true, \"result\": 2}
1000 times 0 $good" "a reload while a thousand calls are under way: they end with the old version, the next has the new"
rm -f go
next() { echo 'n=$(($(cat n) + 1)); echo $n >n; clang --target=wasm32-wasi -O1 -DVERSION=$n -mexec-model=reactor '"$tests"'/many-ways.c -o ways/new && mv ways/new ways/skill.wasm; "$CORRAL" approve --yes ways >/dev/null'; }
cp first.wasm ways/skill.wasm && run approve --yes ways && echo 1 >n
host workers 4 load ways churn 8 "$(next)"
out_is "churn: version 11, many calls, 0 wrong" "ten reloads under calls: each call has a version that was there"

# --- a worker that dies, or that was taken over ---
cp first.wasm ways/skill.wasm && run approve --yes ways
host workers 2 load ways kill call '{}' kill threads 4 '{}'
out_is "call 0 $good
4 times 0 $good" "a worker that was killed while it waited is replaced"
skill taken 'capabilities: {filesystem: {enabled: true, paths: [{guest: /rw, host: ./data, mode: rw}, {guest: /ro, host: ./fixed, mode: ro}]}}'
cp first.wasm taken/skill.wasm && mkdir taken/data taken/fixed && echo fixed >taken/fixed/file && echo secret >taken/secret
mkdir bin && cp "$TAKEN_OVER" bin/corral-wasm && ln -s "$(dirname "$CORRAL_WASM")/libwasmtime.so" bin/ && ln -s "$CORRAL_WASM" bin/compiler
lies() { CORRAL_WASM=$PWD/bin/corral-wasm host unapproved load taken "$@"; }
lies call attempts
out_is 'call 0 own-folder worked
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
mount failed' "native code in a worker that serves has the folders of the manifest, and nothing else"
for how in huge status flags flood; do
	lies call "$how" call attempts
	out_has "call -71 the call of the skill failed: its worker sent an invalid answer" "$how is no answer"
	out_has "own-folder worked" "$how: the next call has another worker"
done
lies call more call attempts
out_has "own-folder worked" "more than was announced: the next call has another worker"
lies call exit call half call kill call attempts
is "$(sed -n 's/^call \([0-9]*\).*/\1/p' "$scratch/out" | tr '\n' ' ')" "3 3 139 0 " "a worker that ends in the call"
lies time 300 call less call silent time 0 call attempts
is "$(sed -n 's/^call \([0-9]*\).*/\1/p' "$scratch/out" | tr '\n' ' ')" "124 124 0 " "a worker that says too little"

done_testing
