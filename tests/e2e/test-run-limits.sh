#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The limits that the built-in profiles have on this machine: what stops at them, what does not, and
# what lifts them. A bomb is bounded: it has some hundred processes more than the limit, which sleep.
. "$(dirname "$0")/lib.sh"

json() { run run --json "$@"; }
# field NAME [KEY]: of the object that was printed.
field() {
	python3 - "$scratch/out" "$@" <<'END'
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value.get(key)
print(value)
END
}
limits() { echo "$(field limits memory) $(field limits pids)"; }

tasks=$(python3 -c 'import os; print(1024 + 64 * len(os.sched_getaffinity(0)))')
# Three quarters of what the machine has, in whole megabytes.
memory=$(awk '/^MemTotal:/ { print int($2 * 3 / 4 / 1024) }' /proc/meminfo)
case $(id -u) in 0) by=polling ;; *) by=rlimit ;; esac

cat >bomb.py <<'END'
import os, signal, sys, time
children = []
try:
    for _ in range(int(sys.argv[1])):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        children.append(pid)
    time.sleep(int(sys.argv[2]))  # until the limit is checked
    print("all of them")
except BlockingIOError:
    time.sleep(5)  # it is said at which
    print("no more of them")
for pid in children:
    os.kill(pid, signal.SIGKILL)
END
bomb=$((tasks + 200))
# Without a limit all of them are there for five seconds: beside what takes few processes. The policies below are not for it.
XDG_CONFIG_HOME="$scratch/none" "$CORRAL" run --limits none -- python3 bomb.py $bomb 5 </dev/null >"$scratch/out.none" 2>"$scratch/err.none" &

# --- what they are ---
json -- true
status_is 0 "a command runs"
is "$(field limits pids)" "$tasks" "processes: 1024, and 64 for each processor"
[ $(($(field limits memory) / 1048576 - memory)) -ge -2 ] && [ $(($(field limits memory) / 1048576 - memory)) -le 2 ]
ok $? "memory: three quarters of the machine's"
is "$(field memory_by) $(field pids_by)" "polling $by" "no cgroup is made for them"
default=$(limits)
for name in readonly offline; do
	json --profile $name -- true
	is "$(limits)" "$default" "the profile $name has the same"
done
run profile show workspace
is "$(sed -n '/^limits:/,$p' "$scratch/out" | tr -d '\n')" \
	"limits:  memory: $(($(echo "$default" | cut -d ' ' -f 1) / 1048576))M  pids: $tasks" "profile show: has them"
cp "$scratch/out" "$scratch/shown.yaml"
run profile show --json workspace
is "$(field limits pids)" "$tasks" "profile show --json: the same"
run run --policy "$scratch/shown.yaml" -- true
status_is 0 "profile show: prints a policy"
run profile show no-such
status_is 2 "profile show: one that does not exist"
err_has "available: offline, readonly, workspace" "profile show: lists the profiles"

# --- what changes them ---
json --limits none -- true
is "$(limits) $(field memory_by) $(field pids_by)" "None None None None" "--limits none: there are none"
json --limits none --pids 50 -- true
is "$(limits)" "None 50" "--limits none, and one of one's own"
json --pids $((tasks * 4)) -- true
is "$(limits)" "$(echo "$default" | cut -d ' ' -f 1) $((tasks * 4))" "--pids: more than that, and the other stays"
json --memory 1000G -- true
is "$(limits)" "1073741824000 $tasks" "--memory: more than that, and the other stays"
run run --limits some -- true
err_has "alid values: none" "--limits: another word"
printf 'fs: {read: ["/**"]}\n' >"$scratch/plain.yaml"
json --policy "$scratch/plain.yaml" -- true
is "$(limits)" "None None" "a policy has those that it names"
mkdir -p "$XDG_CONFIG_HOME/corral/profiles"
cp "$scratch/plain.yaml" "$XDG_CONFIG_HOME/corral/profiles/own.yaml"
json --profile own -- true
is "$(limits)" "None None" "so has a profile of one's own"
printf 'fs: {read: ["/**"], write: ["/**"]}\nlimits: {pids: 40}\n' >"$XDG_CONFIG_HOME/corral/policy.yaml"
json --limits none --pids 100 -- true
is "$(limits)" "None 40" "no option lifts those of a policy"
json -- true
is "$(field limits pids)" 40 "a policy's are in force beside them"
rm "$XDG_CONFIG_HOME/corral/policy.yaml"
wait
mv "$scratch/out.none" "$scratch/out"
mv "$scratch/err.none" "$scratch/err"
out_has "all of them" "a fork bomb: --limits none lifts it"

# --- what stops at them ---
run run -- python3 bomb.py $bomb 120
! grep -q 'all of them' "$scratch/out"
ok $? "a fork bomb: ends at the limit"
err_has "the limit of $tasks processes and threads, the limit of the profile workspace on this machine (change it with --pids N, or remove it with --limits none)" \
	"a fork bomb: says at which, and what changes it"
run run --pids $((bomb + 100)) -- python3 bomb.py $bomb 5
out_has "all of them" "a fork bomb: --pids changes it"
run shell -c "exec python3 bomb.py $bomb 120"
! grep -q 'all of them' "$scratch/out"
ok $? "a fork bomb in corral shell"
run run -- true
status_is 0 "the machine goes on"
run run --memory 64M -- python3 -c 'b = bytearray(1 << 28); import time; time.sleep(30)'
status_is 137 "more memory than was asked for: it ends"
err_has "exceeded its memory limit of 64M" "more memory: a message"
! grep -q 'limit of the profile' "$scratch/err"
ok $? "more memory: it was no limit of the profile"
# Processes that end all the time wake the init, and put off no look.
cat >restless.py <<'END'
import os, time
for _ in range(4):
    if os.fork() == 0:
        while True:
            if os.fork() == 0:
                os.fork()
                os._exit(0)
            os.wait()
b = []
for _ in range(256):
    b.append(bytearray(b"x" * (1 << 20)))
time.sleep(60)
END
run run --memory 64M -- python3 restless.py
status_is 137 "more memory, among processes that end all the time: it ends"
err_has "exceeded its memory limit of 64M" "the same: a message"

# When memory runs out in spite of all, commands go first, and cannot change that.
run run -- cat /proc/self/oom_score_adj
is "$(cat "$scratch/out")" 500 "commands are the first to go without memory"
run run -- sh -c 'echo 0 >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj; (cat /proc/self/oom_score_adj)'
is "$(tr '\n' ' ' <"$scratch/out")" "500 500 " "and cannot take it back"

# --- what does not ---
cat >Makefile <<'END'
JOBS := $(shell seq 250)
all: $(JOBS)
$(JOBS):
	@sh -c 'sleep 0.2; : >out.$@'
.PHONY: all $(JOBS)
END
run run -- make -j all
status_is 0 "make -j with 250 jobs at once"
is "$(find . -name 'out.*' | wc -l | tr -d ' ')" 250 "make -j: all of them ran"
run run -- python3 -c '
import threading, time
threads = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(600)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("finished")'
out_has finished "600 threads"
# As sanitizers do.
run run -- python3 -c '
import mmap
m = mmap.mmap(-1, 1 << 44, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
m[0] = 1
print("reserved")'
out_has reserved "16 TiB of address space that are not used"
run run -- sh -c 'head -c 50000000 /dev/zero >/tmp/some && wc -c </tmp/some'
is "$(tr -d ' ' <"$scratch/out")" 50000000 "50 MB in the temporary folder"

done_testing
