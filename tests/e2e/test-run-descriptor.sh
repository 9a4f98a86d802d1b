#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run --policy fd:N`: a policy that is handed over by a descriptor, and what is left of it inside; and
# variables with policies for hosts, which never reach a command.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
system='/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**'
mkdir "$scratch/data" && echo text >"$scratch/data/file"
echo "fs: {read: [$system, $scratch/data/**]}" >"$scratch/policy.yaml"

# --- where it may come from ---
run run --policy fd:3 -- cat "$scratch/data/file" 3<"$scratch/policy.yaml"
out_is text "a file"
err_empty "and nothing is said"
mkfifo "$scratch/pipe"
cat "$scratch/policy.yaml" >"$scratch/pipe" &
run run -p fd:9 -- cat "$scratch/data/file" 9<"$scratch/pipe"
wait
out_is text "a pipe, by any number"
run run -p fd:3 -- cat "$scratch/data/file" 3<<END
$(cat "$scratch/policy.yaml")
END
out_is text "a here-document"
exec 7<"$scratch/policy.yaml" && read -r _ <&7
run run -p fd:7 -- cat "$scratch/data/file"
out_is text "a file is read from its start"
exec 7<&-
echo "fs: {read: [$system]}" >"$scratch/narrow.yaml"
run run -p fd:3 -p fd:4 -- cat "$scratch/data/file" 3<"$scratch/policy.yaml" 4<"$scratch/narrow.yaml"
status_is 1 "two of them: both must allow"
run run --profile readonly -p fd:3 -- cat "$scratch/data/file" 3<"$scratch/policy.yaml"
status_is 1 "beside a profile, too"
run policy check -p fd:3 --op fs.read --target "$scratch/data/file" 3<"$scratch/policy.yaml"
status_is 0 "corral policy check"
out_has "(fd:3:1:" "which names it"
run policy show fd:3 3<"$scratch/policy.yaml"
status_is 0 "corral policy show"
python3 - "$CORRAL" "$scratch/data/file" >"$scratch/out" 2>"$scratch/err" <<'END'
import os, subprocess, sys
corral, target = sys.argv[1:]
policy = open(os.path.dirname(os.path.dirname(target)) + "/policy.yaml").read().encode()
fd = os.memfd_create("policy", 0)
os.write(fd, policy)
subprocess.run([corral, "run", "--policy", "fd:%d" % fd, "--", "cat", target], pass_fds=[fd])
END
out_is text "a memfd that was just written"

# --- what is of no use ---
run_refuses 125 "not open" "fd:8: the descriptor 8 is not open" -p fd:8 -- true
err_has "8<policy.yaml" "and what to do"
for bad in fd: fd:x fd:-1 fd:03 fd:3x fd:99999999999 fd:0 fd:1 fd:2; do
	run_refuses 125 "$bad" "is not a valid descriptor for a policy" -p "$bad" -- true
done
run_refuses 125 "twice" "is not open" -p fd:3 -p fd:3 -- true 3<"$scratch/policy.yaml"
run_refuses 125 "empty" "fd:3" -p fd:3 -- true 3</dev/null
run_refuses 125 "a folder" "neither a file nor a pipe" -p fd:3 -- true 3</
run_refuses 125 "not for reading" "cannot be read" -p fd:3 -- true 3>"$scratch/written"
echo "no: policy" >"$scratch/none.yaml"
run_refuses 125 "no policy" "fd:3:1" -p fd:3 -- true 3<"$scratch/none.yaml"
head -c 5000000 /dev/zero >"$scratch/large"
run_refuses 125 "too large" "larger than 4 MiB" -p fd:3 -- true 3<"$scratch/large"
for n in 3 4 5 6 7 8 9 10 11 12; do
	run_refuses 125 "none of Corral's own descriptors: $n" "the descriptor $n" -p "fd:$n" -- true
done
cp "$scratch/policy.yaml" fd:3
run run -p ./fd:3 -- cat "$scratch/data/file"
out_is text "a file of that name"
rm fd:3

# --- a file is kept from commands, as if it were named ---
work=$scratch/work # where this runs
change='echo "#" >>pol.yaml && echo WROTE; mv pol.yaml other && echo MOVED; rm -f pol.yaml && echo REMOVED; cat; true'
echo "fs: {read: [$system], write: [$work/**]}" >"$work/pol.yaml"
cp "$work/pol.yaml" "$scratch/before.yaml"
run run -p fd:3 -- sh -c "$change" 3<pol.yaml
status_is 0 "a file by its descriptor is taken"
out_is "" "and can be neither written, moved nor removed"
run run -p fd:3 -- sh -c "$change" 3<>pol.yaml
out_is "" "nor one that could be written by its descriptor"
"$CORRAL" run -p - -- sh -c "$change" <pol.yaml >"$scratch/out" 2>"$scratch/err"
status=$?
status_is 0 "a file as the standard input is taken"
out_is "" "and can be neither written, moved nor removed, nor is it the command's input"
"$CORRAL" run -p - -- sh -c "$change; echo '#' >>/proc/self/fd/0" <>pol.yaml >"$scratch/out" 2>"$scratch/err"
out_is "" "nor one that could be written by it"
cmp pol.yaml "$scratch/before.yaml"
ok $? "and it is as it was"
ln pol.yaml gone.yaml
exec 7<gone.yaml && rm gone.yaml
run run -p fd:7 -- true
status_is 0 "a name that is gone is none"
exec 7<&-
sh -c "$change" >"$scratch/out" </dev/null 2>&1
out_has WROTE "who is not in a sandbox can"
rm -f other

# --- nothing is left of it inside ---
look='for p in /proc/[0-9]* /proc/self; do for f in $p/fd/*; do readlink $f; done; tr "\0" "\n" <$p/environ; done; env'
run run -p fd:3 -- sh -c "$look" 3<"$scratch/policy.yaml"
out_lacks policy.yaml "is not a valid descriptor"
export SANDBOX_POLICY="canary-text" SANDBOX_POLICY_FILE="/canary-file" SANDBOX_POLICY_FD=3
echo "fs: {read: [$system]}
env: ['*', SANDBOX_POLICY, SANDBOX_POLICY_FD, SANDBOX_POLICY_FILE]" >"$scratch/env.yaml"
run run -p fd:3 -- sh -c "$look" 3<"$scratch/env.yaml"
out_has "PATH=" "the environment is shown"
out_lacks canary "no variable, in no /proc/PID/environ"
out_lacks SANDBOX_POLICY "not even its name"
err_has "SANDBOX_POLICY_FD is ignored by this command; it applies to programs that use the library. Use --policy FILE or --policy fd:N" \
	"a message says that the variable is ignored"
run run --env SANDBOX_POLICY --env 'SANDBOX_POLICY_F*' -- sh -c "$look"
out_lacks canary "nor where an option asks for it"
run run --mode rwx -- sh -c 'env; tr "\0" "\n" </proc/self/environ'
out_lacks canary "nor in mode rwx"
run run --json -- true
err_empty "with --json nothing is said"
unset SANDBOX_POLICY SANDBOX_POLICY_FILE SANDBOX_POLICY_FD

done_testing
