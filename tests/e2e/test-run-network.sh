#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run` with single hosts: what a person and a program are told of what was denied. Nothing here
# leaves the machine: all that is asked for is denied. What is reached is tested in tests/net.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
run doctor
if grep -q '^  no  *nf_tables' "$scratch/out"; then
	echo "1..0 # SKIP kernel: no nf_tables"
	exit 0
fi

# A connection that is denied is there for a moment and then reset, so the end is waited for.
knock='knock() { (exec 3<>/dev/tcp/$1/$2 && cat <&3) 2>/dev/null; }'
granted='--net api.example.com:443'
bash() { # bash SCRIPT OPTION…
	script=$1 && shift
	# shellcheck disable=SC2086 # two words
	run run $granted "$@" -- bash -c "$knock
$script"
}
lines() { # lines PATTERN NUMBER NAME
	is "$(grep -c -E -e "$1" "$scratch/err")" "$2" "$3"
}

# --- what a person reads ---
bash 'true'
status_is 0 "hosts are granted, and none is asked for"
err_empty "nothing is said then"

bash 'knock 192.0.2.7 443; exit 7'
status_is 7 "the status is the command's own"
err_has "corral: denied: 192.0.2.7:443: " "an address that was denied is told"
err_has "        to allow it: --net 192.0.2.7:443" "and what would allow it"
out_empty "nothing of it is in the output"

bash 'getent ahosts evil.example.com'
status_is 2 "a name that is not granted does not exist"
err_has "corral: denied: the name evil.example.com: " "a name that was denied is told"
err_has "        to allow it: --net evil.example.com:443" "and what would allow it"
lines 'the name evil.example.com' 1 "once, however many questions it was"

bash 'getent ahosts api.example.com'
status_is 0 "a name that is granted exists"
err_empty "and nothing is said of it"

bash 'knock api.example.com 80'
err_has "corral: denied: api.example.com:80: " "a port that is not granted"

bash 'knock 192.0.2.7 443; sleep 0.1; echo last >&2'
is "$(head -n 1 "$scratch/err")" "last" "what the command prints stands first"

bash 'for i in $(seq 13); do knock 192.0.2.$i 443; done'
lines 'corral: denied: 192\.0\.2\.' 10 "ten are told"
err_has "corral: and 3 more that were denied or could not be reached" "and how many more there are"

bash "getent ahosts \"\$(printf 'evil\\033[2J.example')\"; true"
no_controls "a name cannot write on the terminal"

# The answer is waited for: it is an error that comes at once.
say='say() { exec 3<>"/dev/udp/$1/$2" && echo hello >&3 && timeout 60 cat <&3; }'
bash "$say
for to in 224.0.0.251 239.255.255.250 ff02::fb%lo ff05::c; do say \$to 5353; done"
status_is 1 "datagrams to multicast groups"
err_has "Connection refused" "the sender has an error"
err_has "corral: denied: udp://224.0.0.251:5353: " "a group that was denied is told"
err_has "corral: denied: udp://239.255.255.250:5353: " "also one of an organization"
err_has "corral: denied: udp://[ff02::fb]:5353: " "of IPv6"
err_has "corral: denied: udp://[ff05::c]:5353: " "and of a site"

# --- where it has to be granted ---
cat >policy.yaml <<'EOF'
fs: {read: ['/usr/**']}
network:
  allow: ['*.example.com:443']
  deny: [evil.example.com]
EOF
run run --policy policy.yaml -- bash -c "$knock
knock 192.0.2.7 443; getent ahosts evil.example.com"
err_has 'to allow it: add network: {allow: ["192.0.2.7:443"]} to policy.yaml' "the policy's own line"
err_has "evil.example.com" "a name that is denied inside a grant is told"
err_has "policy.yaml:4" "with the line that denies it"

# --- what a program reads ---
bash 'knock 192.0.2.7 443; echo out' --json
err_empty "--json: nothing on standard error"
python3 - "$scratch/out" <<'EOF'
import json, sys
result = json.load(open(sys.argv[1]))
(entry,) = result["network"]
assert entry["event"] == "denied" and entry["target"] == "192.0.2.7:443", entry
assert entry["address"] == "192.0.2.7" and entry["port"] == 443 and entry["count"] == 1, entry
assert entry["name"] == "" and not entry["dns"] and entry["reason"] and entry["remedy"], entry
assert result["stdout"] == "out\n"
EOF
ok $? "--json: what was denied is in the list"
bash "$say
say 224.0.0.251 5353" --json
python3 - "$scratch/out" <<'EOF'
import json, sys
(entry,) = json.load(open(sys.argv[1]))["network"]
assert entry["event"] == "denied" and entry["target"] == "udp://224.0.0.251:5353", entry
assert entry["address"] == "224.0.0.251" and entry["port"] == 5353 and entry["count"] == 1, entry
EOF
ok $? "--json: a multicast group, too"
bash 'true' --json
out_has '"network": []' "--json: an empty list where nothing was"

bash 'knock 192.0.2.7 443; getent ahosts evil.example.com; true' --audit "$scratch/audit"
"$CORRAL" audit export --format jsonl "$scratch/audit" >"$scratch/records"
python3 - "$scratch/records" <<'EOF'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
kinds = [e["action"] for e in events]
denied = [e for e in events if e["action"].startswith("net.")]
assert {(e["target"], e["action"]) for e in denied} == {
    ("192.0.2.7:443", "net.connect"), ("evil.example.com", "net.name")}, denied
assert all(e["decision"] == "denied" and e["reason"] and e["exact"] for e in denied), denied
assert all(e["program"] == ("getent" if e["action"] == "net.name" else "bash") and e["count"] >= 1 for e in denied), denied
assert kinds.index("command.start") < events.index(denied[0]) < kinds.index("command.end"), kinds
assert "with a relay" in events[kinds.index("confinement")]["reason"]
EOF
ok $? "--audit: what was denied is in the log, between start and end"
run run --policy policy.yaml --audit "$scratch/rules" -- getent ahosts evil.example.com
"$CORRAL" audit list --json "$scratch/rules" >"$scratch/records"
python3 - "$scratch/records" <<'EOF'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
rules = {e["rule"] for e in events if e["action"] == "net.name"}
assert len(rules) == 1 and "policy.yaml:4" in rules.pop(), events
EOF
ok $? "--audit: with the rule that denied it"

done_testing
