#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `policy merge`, `intersect` and `subset`, and `show` of several files.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

# --- the example of skill, agent and company ---
printf "network: {allow: ['api.example.com:443', 'cdn.example.com:443']}\n" >skill.yaml.perm
printf "network: {allow: ['*.example.com:443']}\n" >agent.yaml
printf "network: {allow: ['*:443']}\n" >company.yaml
mv skill.yaml.perm wants.yaml
hosts='network:
  allow:
    - api.example.com:443
    - cdn.example.com:443'
run policy intersect wants.yaml agent.yaml company.yaml
status_is 0 "intersect: three layers"
out_is "$hosts" "intersect: just the two hosts"
err_empty "intersect: nothing to say"
run policy intersect company.yaml agent.yaml wants.yaml
out_is "$hosts" "intersect: in any order"
run policy show wants.yaml agent.yaml company.yaml
out_is "$hosts" "show: several files are what all of them allow"
run policy intersect agent.yaml agent.yaml
out_has '*.example.com:443' "intersect: with itself"

# --- files ---
printf 'fs: {read: [/srv/**, /usr/**], write: [/srv/out/**]}\n' >a.yaml
printf 'fs: {read: [/srv/data/**], deny: [/srv/data/secret/**]}\n' >b.yaml
run policy intersect a.yaml b.yaml
out_is 'fs:
  read:
    - /srv/data/**
  deny:
    - /srv/data/secret/**' "intersect: the narrower folder, and the denial"
run policy merge a.yaml b.yaml
status_is 0 "merge: status"
out_has '- /usr/**' "merge: what one of them allows"
out_has '- /srv/data/secret/**' "merge: keeps the denial"
out_lacks '- /srv/data/**' "merge: leaves out what is covered"

# --- what comes out goes in again, with the same meaning ---
printf "fs: {read: ['/srv/*/log', '/srv/a*/**']}\nexec: ['git:*', ls]\nlimits: {memory: 64M, timeout: 30s}\n" >c.yaml
printf "fs: {read: ['/srv/?b/**']}\nexec: ['git push:*']\nlimits: {memory: 1G, timeout: 5s}\n" >d.yaml
run policy intersect c.yaml d.yaml && cp "$scratch/out" cd.yaml
status_is 0 "intersect: globs"
out_has 'git push:*' "intersect: the narrower command"
out_has 'memory: 64M' "intersect: the narrower limit"
out_has 'timeout: 5s' "intersect: of each kind"
run policy show cd.yaml
is "$(cat "$scratch/out")" "$(cat cd.yaml)" "what is printed reads as itself"
while IFS='|' read -r wanted path; do
	"$CORRAL" policy check -p c.yaml -p d.yaml --op fs.read --target "$path" >"$scratch/out" 2>"$scratch/err"
	both=$?
	run policy check -p cd.yaml --op fs.read --target "$path"
	is "$both $status" "$wanted $wanted" "layers and intersection agree about $path"
done <<'END'
0|/srv/ab/x
0|/srv/xb/log
1|/srv/xb/y
1|/srv/abc/x
0|/srv/ab
END
run policy merge c.yaml d.yaml
out_has 'memory: 1G' "merge: the wider limit"

# --- a subset cannot be faked by naming the witness ---
cat >fake.yaml <<'END'
network:
  allow: ['*.example.com:443']
  deny: [corral-witness.example.com, '*.corral-witness.example.com']
END
echo "network: {allow: ['example.com:443']}" >narrow.yaml
run policy subset fake.yaml narrow.yaml
status_is 1 "subset: a denied witness hides nothing"
cat >fake.yaml <<'END'
exec: ['git push:*']
rules: [{id: x, action: deny, operations: [exec], patterns: ['git push corral-witness:*']}]
END
echo "exec: ['git push:']" >narrow.yaml
run policy subset fake.yaml narrow.yaml
status_is 1 "subset: a denied argument hides nothing"
label=$(printf 'a%.0s' $(seq 60))
echo "network: {allow: ['*.$label.$label.$label.$label:443']}" >fake.yaml
echo "network: {allow: ['example.com:443']}" >narrow.yaml
run policy subset fake.yaml narrow.yaml
status_is 1 "subset: names too long for a witness are too complex"

# --- nothing in common ---
printf 'fs: {read: [/a/**]}\n' >x.yaml
printf 'fs: {read: [/b/**]}\n' >y.yaml
run policy intersect x.yaml y.yaml && cp "$scratch/out" none.yaml
status_is 0 "intersect: nothing in common is no error"
answers 1 "and grants nothing" deny policy check -p none.yaml --op fs.read --target /a/x
answers 1 "to nobody" deny policy check -p none.yaml --op fs.read --target /b/x

# --- rules are kept as layers ---
printf '{"version": "1", "defaultAction": "deny", "rules": [{"id": "r", "action": "allow", "target": "command", "patterns": ["ls"]}]}\n' >rules.json
printf 'exec: [ls, git]\n' >lists.yaml
run policy intersect rules.json lists.yaml && cp "$scratch/out" kept.yaml
status_is 0 "intersect: rules with lists"
answers 0 "both allow" allow policy check -p kept.yaml --op exec --target ls
answers 1 "only one does" deny policy check -p kept.yaml --op exec --target git

# --- formats ---
run policy merge --format json a.yaml b.yaml
python3 -m json.tool "$scratch/out" >/dev/null 2>&1
ok $? "merge: --format json is JSON"
run policy intersect --json a.yaml b.yaml
python3 -m json.tool "$scratch/out" >/dev/null 2>&1
ok $? "intersect: --json is the same"
cp "$scratch/out" ab.json
answers 0 "and reads as a policy" allow policy check -p ab.json --op fs.read --target /srv/data/x

# --- standard input ---
run_with 'fs: {read: [/srv/**]}' policy intersect - b.yaml
out_has '- /srv/data/**' "intersect: - is standard input"

# --- subset ---
answers 0 "subset: yes" yes policy subset wants.yaml agent.yaml
answers 0 "subset: of itself" yes policy subset a.yaml a.yaml
answers 1 "subset: no, with an example" "no: net.connect" policy subset agent.yaml wants.yaml
answers 1 "subset: no, a path" "no: fs.read" policy subset a.yaml b.yaml
printf 'limits: {memory: 1M}\nfs: {read: [/a]}\n' >bounded.yaml
printf 'fs: {read: [/a]}\n' >unbounded.yaml
answers 1 "subset: no, a limit" "no: limits" policy subset unbounded.yaml bounded.yaml
out_like '^no: ' "subset: says no first"
answers 0 "subset: nothing is a subset of anything" yes policy subset none.yaml b.yaml
printf 'fs: {read: [$WORK_DIR/x/**]}\n' >vars.yaml
printf 'fs: {read: [/data/**]}\n' >abs.yaml
answers 0 "subset: variables have values" yes policy subset --set WORK_DIR=/data vars.yaml abs.yaml
answers 1 "subset: other values, another answer" "no: fs.read" policy subset --set WORK_DIR=/other vars.yaml abs.yaml
# The example is real: A allows it and B does not.
run policy subset a.yaml b.yaml
example=$(sed 's/^no: fs.read //' "$scratch/out")
answers 0 "subset: A allows the example" allow policy check -p a.yaml --op fs.read --target "$example"
answers 1 "subset: B does not" deny policy check -p b.yaml --op fs.read --target "$example"

# --- misuse ---
fails "merge: one file is not enough" "missing argument: FILE" policy merge a.yaml
fails "intersect: no file at all" "missing argument: FILE" policy intersect
fails "subset: three are too many" 'unexpected argument: `c.yaml`' policy subset a.yaml b.yaml c.yaml
fails "merge: an unknown format" "did you mean yaml" policy merge --format yml a.yaml b.yaml

done_testing
