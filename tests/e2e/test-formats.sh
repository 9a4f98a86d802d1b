#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every format that is read, through `policy show`; and what is written for others.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

# --- permissions ---
printf 'fs: {read: [/b/, /a, /a]}\nexec: []\n' >p.yaml
canonical='fs:
  read:
    - /a
    - /b/**
exec: []'
run policy show p.yaml
status_is 0 "permissions: status"
out_is "$canonical" "permissions: sorted, without doubles, in canonical spelling"
printf 'permissions:\n  fs: {read: [/b/, /a]}\n  exec: []\n' >q.yaml
run policy show q.yaml
out_is "$canonical" "permissions: below a key of that name"
printf '{"fs": {"read": ["/b/", "/a"]}, "exec": []}' >p.json
run policy show p.json
out_is "$canonical" "permissions: as JSON"
run_with '{"fs": {"read": ["/b/", "/a"]}, "exec": []}' policy show -
out_is "$canonical" "permissions: from standard input"
run policy show --format json p.yaml
out_has '"/b/**"' "show: --format json"
cp "$scratch/out" again.json
run policy show again.json
out_is "$canonical" "show: JSON reads as the same"
printf '\357\273\277fs: {read: [/b/, /a]}\r\nexec: []\r\n' >dos.yaml
run policy show dos.yaml
out_is "$canonical" "permissions: byte order mark and CRLF"
run policy show ./p.yaml
out_is "$canonical" "permissions: any way to name the file"

# --- skills ---
cp -R "$DATA/weather" weather
run policy show weather/SKILL.md
status_is 0 "SKILL.md: status"
out_has '- api.weather.example:443' "SKILL.md: hosts"
out_has '- $SKILL_DIR/**' "SKILL.md: variables stay variables"
cp "$scratch/out" by-file
run policy show weather
is "$(cat "$scratch/out")" "$(cat by-file)" "a skill's folder is the skill"
run policy show weather/
is "$(cat "$scratch/out")" "$(cat by-file)" "with a slash at the end, too"
mkdir yaml && printf 'name: x\nversion: 1.0\nentry: run.sh\npermissions: {exec: [ls]}\n' >yaml/skill.yaml
run policy show yaml
out_is 'exec:
  - ls' "skill.yaml"
run policy show --from skill yaml/skill.yaml
out_is 'exec:
  - ls' "skill.yaml, said so"
printf -- '---\nname: y\ndescription: z\n---\nText.\n' >yaml/SKILL.md
run policy show yaml
out_is 'exec:
  - ls' "skill.yaml grants, SKILL.md beside it describes"
echo 'Just text.' >yaml/SKILL.md
run policy show yaml
out_is 'exec:
  - ls' "which may be text alone"
cp weather/SKILL.md yaml/SKILL.md
fails "a folder in which both have permissions" "has permissions, but yaml/skill.yaml beside it is what grants" policy show yaml
err_has "yaml/SKILL.md:" "the line of the other one"
err_has "move them to skill.yaml" "and what to do"
rm yaml/SKILL.md && cp yaml/skill.yaml yaml/manifest.yaml
fails "a folder with two manifests" "contains more than one manifest" policy show yaml
err_has "name the file" "and what to do"
mkdir bare && fails "a folder without a policy" "is a folder that contains no policy" policy show bare

# --- WASM manifests, Enclave grants ---
mkdir wasm && cat >wasm/manifest.yaml <<'END'
name: fetcher
version: 1.0.0
wasm: {file: fetcher.wasm}
capabilities:
  http: {enabled: true, allowed_hosts: [api.example.com]}
END
run policy show wasm
status_is 0 "manifest.yaml: status"
out_has 'api.example.com' "manifest.yaml: hosts"
printf '{"allowed_roots": ["/srv/app"], "allowed_commands": ["git"], "allowed_hosts": ["api.example.com"]}' >grants.json
run policy show grants.json
out_has '/srv/app' "enclave: roots"
out_has 'git' "enclave: commands"
run policy show --from enclave grants.json
status_is 0 "enclave: said so"
fails "read as what it is not" "grants.json" policy show --from rules grants.json

# --- a folder of rules ---
cp -R "$DATA/rules" rules
answers 0 "rules: allowed by default.json" allow policy check -p rules --op exec --target 'git status'
answers 1 "rules: denied by custom/, which has the higher priority" "no-force" \
	policy check -p rules --op exec --target 'git push --force'
answers 3 "rules: ask" ask policy check -p rules --op exec --target 'git push'
answers 0 "rules: without the folder custom it is allowed" allow \
	policy check -p rules/default.json --op exec --target 'git push --force origin'
printf '{"rules": [' >rules/custom/90-broken.json
fails "rules: a broken file in custom/ spoils all" "90-broken.json:1:" policy check -p rules --op exec --target ls
rm rules/custom/90-broken.json
echo "not json" >rules/custom/notes.txt
answers 0 "rules: other files in custom/ do not matter" allow policy check -p rules --op exec --target 'git status'
mkdir rules/custom/folder.json
fails "rules: a folder that looks like a file" "folder.json" policy check -p rules --op exec --target ls
rmdir rules/custom/folder.json
run policy show rules
cp "$scratch/out" shown.yaml
answers 1 "rules: what is shown decides the same" deny policy check -p shown.yaml --op exec --target 'git push --force'
answers 0 "rules: and allows the same" allow policy check -p shown.yaml --op exec --target 'git status'

# --- modes ---
run policy show --mode sandbox --data-dir data
status_is 0 "mode: status"
out_has "- $scratch/work/data/**" "mode: the data directory, made absolute"
out_has '- $TEMP/**' "mode: the temp folder"
run policy show --from mode --mode rx --data-dir /srv/agent --extra /srv/more --extra ./here
out_has '- /srv/more/**' "mode: extra folders"
out_has "- $scratch/work/here/**" "mode: relative ones, too"
run policy show --mode rwx
out_has '- /**' "mode: rwx needs no folder"
fails "mode: a folder is missing" "--mode requires --data-dir DIR" policy show --mode rx
fails "mode: / would confine nothing" "/ cannot be the writable folder: nothing would be confined" policy show --mode rx --data-dir /
fails "mode: files and a mode" "FILE and --mode cannot be used together" policy show --mode rwx p.yaml
fails "mode: said but not given" "--from mode requires --mode" policy show --from mode
fails "mode: unknown" "did you mean sandbox?" policy show --mode sandbx --data-dir x

# --- prompt ---
run prompt --mode sandbox --data-dir /srv/agent
status_is 0 "prompt: status"
out_has /srv/agent "prompt: names the folder"
run prompt --mode rwx
out_empty "prompt: nothing to say for rwx"
fails "prompt: the mode is missing" "required option missing: --mode MODE" prompt --data-dir x

# --- Seatbelt ---
printf 'fs: {read: [/srv/**], write: [$WORK_DIR/**]}\n' >files.yaml
run profile seatbelt --policy files.yaml
status_is 0 "seatbelt: status"
out_has '(version 1)' "seatbelt: is a profile"
out_has '(deny default' "seatbelt: that denies"
out_has "$scratch/work" "seatbelt: variables have values"
run profile seatbelt --mode sandbox --data-dir /srv/agent --extra /srv/more
status_is 0 "seatbelt: of a mode"
out_has '/srv/more' "seatbelt: with extra folders"
is "$(tail -c 1 "$scratch/out" | od -An -tx1 | tr -d ' ')" 0a "seatbelt: the last line ends"
printf 'network: {allow: [api.example.com]}\n' >host.yaml
fails "seatbelt: what it cannot hold is refused" "host.yaml:1" profile seatbelt --policy host.yaml
fails "seatbelt: neither policy nor mode" "required option missing: --policy FILE or --mode MODE" profile seatbelt
fails "seatbelt: both" "--policy and --mode cannot be used together" profile seatbelt --policy p.yaml --mode rwx

# --- lint ---
printf 'fs:\n  write: [/**]\n' >wide.yaml
run policy lint wide.yaml
status_is 1 "lint: a warning or an error"
out_like '^wide.yaml:2: (warning|error): .* \([a-z-]+\)$' "lint: file, line, severity, text and id"
printf 'fs: {read: [/srv/app/**]}\nexec: []\nlimits: {timeout: 30s, memory: 64M, pids: 8}\n' >fine.yaml
run policy lint fine.yaml
status_is 0 "lint: nothing to say"
run policy lint fine.yaml wide.yaml
status_is 1 "lint: several files"

done_testing
