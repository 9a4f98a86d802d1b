#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Skills as agents have them: SKILL.md without an entry, whose text an agent reads and whose permissions the commands
# get that it then chooses; SKILL.md beside a manifest that grants; and what a skill says it requires.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
here=$(pwd)
# values EXPRESSION: of the last object `o`, as Python sees it.
values() { python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$scratch/out" "$1" 2>&1; }

# --- the form of the first design: name, description, requires, permissions, and text ---
mkdir -p fetch/scripts out
cat >fetch/SKILL.md <<'END'
---
name: web_fetch
description: Reads notes with cat
requires:
  bins: [cat]
  env: []
permissions:
  fs:
    read: [$SKILL_DIR/**]
    write: [$WORK_DIR/**]
  network:
    allow: ["*:443", "*:80"]
  exec: [cat, tee, bash]
  env: [LANG, TZ]
---

# Web fetch

Run `cat` on what is to be read.
END
echo hello >fetch/note && printf '#!/bin/bash\ncat "${0%%/*}/../note"\n' >fetch/scripts/show.sh && chmod +x fetch/scripts/show.sh
run_refuses 126 "it is not approved" "it was never approved" --skill fetch -- cat fetch/note
run approve --yes fetch
status_is 0 "it can be approved"
run_prints hello "a command with its permissions" --skill fetch -- cat fetch/note
run_prints hello "a program by its path" --skill fetch -- "$(command -v cat)" "$here/fetch/note"
run_prints hello "one of its own scripts, by what runs it" --skill fetch -- bash fetch/scripts/show.sh
run_refuses 126 "a program that it does not list" "does not allow running" --skill fetch -- ls fetch
run_refuses 127 "one that is not there" "command not found" --skill fetch -- no-such-program
run_stops "a file that it was not granted" --skill fetch -- cat "$HOME/.profile"
run_refuses 125 "no command" "the skill has no entry" --skill fetch
err_has "give the command" "and what to do"
run_with x run --skill fetch -- tee out/new
out_is x "it may write the working folder"
is "$(cat out/new)" x "and did"
run_stops "but not itself" --skill fetch -- bash -c 'echo x >>fetch/note'
echo more >>fetch/note
run_refuses 126 "a file of it has changed" "its files have changed since it was approved" --skill fetch -- cat fetch/note
run_prints "hello
more" "--yes" --skill fetch --yes -- cat fetch/note
run_refuses 126 "another policy has its say" "does not allow running" --skill fetch --yes --policy /dev/fd/7 -- cat fetch/note 7<<END
fs: {read: [/**]}
exec: [tee]
END

# --- an entry, and a command all the same ---
mkdir entry && printf 'name: x\ndescription: y\nentry: run.sh\nruntime: bash\npermissions: {fs: {read: [$SKILL_DIR/**]}, exec: [cat]}\n' >entry/skill.yaml
echo 'echo "entry: $*"' >entry/run.sh
run_prints "entry: cat entry/run.sh" "with an entry the words are its arguments" --skill entry --yes -- cat entry/run.sh
run_prints 'echo "entry: $*"' "with --command they are a command" --skill entry --command --yes -- cat "$here/entry/run.sh"
run_refuses 126 "which must be listed" "does not allow running" --skill entry --command --yes -- id
run_refuses 125 "--command without one" "no command was given" --skill entry --command --yes
run_refuses 125 "--command without a skill" "--command requires --skill" --command -- true

# --- one file describes, the other grants ---
mkdir wasm && printf 'Reads mail.\n' >wasm/SKILL.md
printf 'name: gmail\nwasm: {file: skill.wasm}\ncapabilities: {}\n' >wasm/manifest.yaml && echo >wasm/skill.wasm
run inspect wasm
out_has "gmail" "SKILL.md beside manifest.yaml: a skill"
CORRAL_WASM=$here/absent run_refuses 125 "its module needs the worker" "WASM skills" --skill wasm --yes -- x
cp fetch/SKILL.md entry/SKILL.md
run_refuses 125 "both have permissions" "has permissions, but $here/entry/skill.yaml beside it is what grants" --skill entry --yes
err_has "entry/SKILL.md:" "with the line"
run inspect --json entry
is "$(values 'o["fault"][:20], o["permissions"]["exec"], o["name"]')" "('has permissions, but', ['cat'], 'x')" "inspect looks all the same, and says so"
printf -- '---\nname: described\ndescription: In words.\nrequires: {bins: [no-such-program]}\n---\nText.\n' >entry/SKILL.md && sed -i '/^name\|^desc/d' entry/skill.yaml
run inspect --json entry
is "$(values 'o["name"], o["description"], o["requires"]')" \
	"('described', 'In words.', [{'kind': 'bin', 'name': 'no-such-program', 'state': 'absent'}])" "name, description and needs come from SKILL.md"
run run --skill entry --yes -- a
out_is "entry: a" "and it runs"
run approve --yes entry && echo "More." >>entry/SKILL.md
run_refuses 126 "SKILL.md is part of what was approved" "its files have changed" --skill entry

# --- what it requires ---
mkdir needs && cat >needs/SKILL.md <<'END'
---
name: needs
description: y
requires: {bins: [cat, tee, no-such-program], env: [LANG, SOME_TOKEN, OTHER_TOKEN]}
permissions: {fs: {read: [$SKILL_DIR/**]}, exec: [cat], env: [LANG]}
---
END
echo fine >needs/note
LANG=C SOME_TOKEN=x && export LANG SOME_TOKEN
run inspect needs
out_has "- cat: it may run" "inspect: a program that is granted"
out_has "- tee, which may not run: add exec: [tee] to its permissions" "inspect: one that is not"
out_has "- no-such-program, which is not installed" "inspect: one that is not there"
out_has "- the variable LANG: it is passed on" "inspect: a variable that is granted"
out_has "- the variable SOME_TOKEN, which is not passed on: add env: [SOME_TOKEN] to its permissions" "inspect: one that is not"
out_has "- the variable OTHER_TOKEN, which is not set" "inspect: one that is not set"
out_lacks "OTHER_TOKEN, which is not set: add" "for which no line would help"
run inspect --json needs
is "$(values '[n["state"] for n in o["requires"]]')" "['met', 'denied', 'absent', 'met', 'denied', 'absent']" "inspect --json"
run run --skill needs --yes -- cat "$here/needs/note"
out_is fine "it runs all the same"
is "$(grep -c 'the skill requires' "$scratch/err")" 4 "and four needs are told before"
err_has "the skill requires tee, which may not run: --exec tee grants it" "a program"
err_has "the skill requires no-such-program, which is not installed" "one that is not there"
err_has "the skill requires the variable SOME_TOKEN, which is not passed on: --env SOME_TOKEN grants it" "a variable"
err_has "the skill requires the variable OTHER_TOKEN, which is not set: --env OTHER_TOKEN=VALUE sets it" "one that is not set"
run run --skill needs --yes --exec tee --env SOME_TOKEN --env OTHER_TOKEN=VALUE -- cat "$here/needs/note"
is "$(grep 'the skill requires' "$scratch/err")" "corral: the skill requires no-such-program, which is not installed" "the options that were named help"
run run --json --skill needs --yes -- cat "$here/needs/note"
is "$(values '[(n["kind"], n["name"], n["state"]) for n in o["requires"]]')" \
	"[('bin', 'tee', 'denied'), ('bin', 'no-such-program', 'absent'), ('env', 'SOME_TOKEN', 'denied'), ('env', 'OTHER_TOKEN', 'absent')]" "--json has them"
err_empty "and nothing is on standard error"
sed -i 's/exec: \[cat\], env: \[LANG\]/exec: [cat, tee], env: [LANG, SOME_TOKEN]/' needs/SKILL.md
run inspect --json needs
is "$(values '[n["state"] for n in o["requires"]]')" "['met', 'met', 'absent', 'met', 'met', 'absent']" "the lines that inspect named help"
mkdir -p "$XDG_CONFIG_HOME/corral" && printf 'fs: {read: [/**]}\nexec: [cat]\nenv: [LANG]\n' >"$XDG_CONFIG_HOME/corral/policy.yaml"
run run --skill needs --yes -- cat "$here/needs/note"
err_has "the skill requires tee, which may not run" "a policy for every run keeps it from running"
err_lacks "--exec" "and no option is named, since none would help"

done_testing
