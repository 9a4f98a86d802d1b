#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `extends: NAME` in a policy file: it adds to a profile, with what the profile does by itself (folders of PATH, files
# that run later, limits), and nothing of the profile can be lost on the way.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

mkdir -p "$XDG_CONFIG_HOME/corral/profiles" "$scratch/out.d" p && echo secret >"$scratch/out.d/x"
own() { cat >"$XDG_CONFIG_HOME/corral/profiles/$1.yaml"; }
out=$scratch/out.d

# --- what it grants, without a sandbox ---
printf 'extends: workspace\nfs: {read: [%s/**]}\n' "$out" >p/more.yaml
check() { run policy check -p "$@"; }
check p/more.yaml --op fs.read --target "$out/x"
status_is 0 "what the file adds"
check p/more.yaml --op fs.write --target "$(pwd)/new"
status_is 0 "what the profile grants"
check p/more.yaml --op fs.read --target "$HOME/x"
status_is 1 "what neither does"
run policy explain -p p/more.yaml --op fs.read --target "$HOME/x"
out_has "p/more.yaml" "and the file is where a line would help"
out_lacks "to profile" "not the profile, which users cannot edit"
line=$(sed -n 's/.*add \(fs: {read: \["[^"]*"\]}\) to.*/\1/p' "$scratch/out" | head -n 1)
printf 'extends: workspace\n%s\n' "$line" >p/mended.yaml
check p/mended.yaml --op fs.read --target "$HOME/x"
status_is 0 "with that line it is allowed"
for verb in merge intersect; do
	run policy $verb p/more.yaml p/more.yaml
	status_is 0 "policy $verb"
	out_has '$WORK_DIR/**' "policy $verb: with what the profile grants"
done
run policy subset p/more.yaml p/more.yaml
status_is 0 "policy subset"
run policy show p/more.yaml
status_is 0 "policy show"
out_has '$WORK_DIR/**' "prints what both grant"
out_lacks extends "and not the name"
cp "$scratch/out" p/shown.yaml
run policy subset p/more.yaml p/shown.yaml
status_is 0 "what is printed allows as much"
run policy subset p/shown.yaml p/more.yaml
status_is 0 "and no more"
run policy lint p/more.yaml
out_lacks "profile workspace" "lint says nothing of the profile"
printf 'extends: workspace\nfs: {read: [/usr/bin/**]}\n' >p/twice.yaml
run policy lint p/twice.yaml
out_has "p/twice.yaml:2" "lint: what the profile grants already"
printf '{"extends": "readonly", "network": {"allow": ["example.com:443"]}}' >p/json.json
check p/json.json --op net.connect --target example.com:443
status_is 0 "JSON"
printf 'permissions:\n  extends: offline\n  network: {allow: ["example.com:443"]}\n' >p/offline.yaml
check p/offline.yaml --op net.connect --target example.com:443
status_is 1 "what the profile denies stays denied"
printf 'extends: workspace\nexec: [cat]\nlimits: {pids: 7, memory: 1G}\nnetwork: {allow: [a.example], methods: [GET], max_bytes: 1M}\n' >p/narrow.yaml
run policy show --json p/narrow.yaml
is "$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["exec"], o["limits"], o["network"]["methods"], o["network"]["max_bytes"])' "$scratch/out")" \
	"['cat'] {'memory': '1G', 'pids': 7} ['GET'] 1M" "its own exec list, limits and methods hold"

# --- profiles that extend profiles ---
own base <<'END'
extends: readonly
fs: {read: [/srv/base/**]}
END
own top <<'END'
extends: base
fs: {read: [/srv/top/**]}
END
printf 'extends: top\nfs: {read: [/srv/file/**]}\n' >p/chain.yaml
for path in /srv/base/x /srv/top/x /srv/file/x /usr/bin/x; do
	check p/chain.yaml --op fs.read --target $path
	status_is 0 "three files and a profile: $path"
done
run profile show top
out_has /srv/base "profile show"
own both <<'END'
all_of:
  - fs: {read: [/srv/a/**, /srv/b/**]}
  - fs: {read: [/srv/b/**, /srv/c/**]}
END
printf 'extends: both\nfs: {read: [/srv/d/**]}\n' >p/layers.yaml
check p/layers.yaml --op fs.read --target /srv/d/x
status_is 0 "a profile of two layers: what the file adds"
check p/layers.yaml --op fs.read --target /srv/b/x
status_is 0 "what both grant"
check p/layers.yaml --op fs.read --target /srv/a/x
status_is 1 "not what one of them does"

# --- mistakes, each with its line ---
refused() { # refused NAME TEXT LINE: p/bad.yaml
	fails "$1" "$2" policy show p/bad.yaml
	err_has "p/bad.yaml:$3" "$1: the line"
}
printf '\nextends: workspcae\n' >p/bad.yaml
refused "a name that is not known" "workspcae" 2
err_has "did you mean workspace" "and what was meant"
printf 'extends: [workspace]\n' >p/bad.yaml && refused "a list" "text" 1
printf 'extends: ../x\n' >p/bad.yaml && refused "a path" "not the name of a profile" 1
printf 'extends: ""\n' >p/bad.yaml && refused "an empty name" "not the name of a profile" 1
printf 'all_of:\n  - extends: workspace\n' >p/bad.yaml && refused "in a layer" "only allowed at the top" 2
printf 'extends: workspace\nall_of: [{}]\n' >p/bad.yaml && refused "beside layers" "all_of" 2
own loop <<'END'
extends: loop2
END
own loop2 <<'END'
fs: {read: [/srv/x]}
extends: loop
END
printf 'extends: loop\n' >p/bad.yaml
fails "profiles that extend each other" "extends itself" policy show p/bad.yaml
err_has "profiles/loop2.yaml:2" "with the line"
fails "and by the profile's name" "extends itself" profile show loop
own self <<'END'
extends: self
END
fails "one that extends itself" "extends itself" profile show self
for i in 1 2 3 4 5 6 7 8 9 10; do printf 'extends: d%s\n' $((i + 1)) | own d$i; done
echo '{}' | own d11
printf 'extends: d1\n' >p/bad.yaml
fails "too many" "more than 8 profiles" policy show p/bad.yaml
own wrong <<'END'
fs: {raed: [/x]}
END
printf 'extends: wrong\n' >p/bad.yaml
fails "a mistake in the profile" "raed" policy show p/bad.yaml
err_has "profiles/wrong.yaml:1" "is told with the profile's line"

# --- skills may not ---
mkdir skill && printf -- '---\nname: x\npermissions:\n  extends: workspace\n---\n' >skill/SKILL.md
run_refuses 125 "a skill" "is not allowed in a skill" --skill skill --yes -- true
err_has "SKILL.md:4" "with the line"
run inspect skill
out_has "SKILL.md:4: \`permissions.extends\`: is not allowed in a skill" "which inspect reports"
printf -- '---\nname: x\nextends: workspace\npermissions: {}\n---\n' >skill/SKILL.md
run_refuses 125 "a skill, outside of its permissions" "is not allowed in a skill" --skill skill --yes -- true
printf 'name: x\nentry: run.sh\npermissions: {extends: workspace}\n' >p/skill.yaml
fails "skill.yaml as a policy" "is not allowed in a skill" policy show p/skill.yaml

# --- in a sandbox ---
if "$CORRAL" doctor >/dev/null 2>&1; then
	run_prints secret "what the file adds can be read" -p p/more.yaml -- cat "$out/x"
	run_prints fine "and the working folder written" -p p/more.yaml -- sh -c 'echo fine >new && cat new'
	run_stops "nothing else" -p p/more.yaml -- cat "$HOME/.config/corral/profiles/top.yaml"
	mkdir -p "$HOME/.local/bin" && printf '#!/bin/sh\necho mine\n' >"$HOME/.local/bin/mine" && chmod +x "$HOME/.local/bin/mine"
	PATH=$HOME/.local/bin:$PATH && export PATH
	run_prints mine "programs of the home, by PATH" -p p/more.yaml -- mine
	echo '# old' >.envrc
	run_stops "files that run later cannot be written" -p p/more.yaml -- sh -c 'echo x >.envrc 2>/dev/null'
	is "$(cat .envrc)" "# old" "and were not"
	run run -p p/more.yaml -- sh -c 'mkdir .vscode; echo x >.vscode/tasks.json'
	err_has .vscode "and new ones are told of"
	printf 'extends: workspace\nfs: {write: [$WORK_DIR/.envrc]}\n' >p/named.yaml
	run_prints "" "unless the file names them" -p p/named.yaml -- sh -c 'echo x >.envrc'
	is "$(cat .envrc)" x "and it is written"
	run run --json -p p/more.yaml -- true
	out_has '"pids": ' "the limits of the profile"
	run run --json --limits none -p p/more.yaml -- true
	out_has '"limits": {}' "which an option lifts"
	run_prints "secret" "with an option" -p p/chain.yaml --read "$out" -- cat "$out/x"
	own mine <<-END
		extends: workspace
		fs: {read: ["$out/**"]}
	END
	run_prints secret "a profile of one's own" --profile mine -- cat "$out/x"
	run_stops "with the protection" --profile mine -- sh -c 'rm -f .envrc; echo y >.envrc 2>/dev/null'
	printf 'extends: workspace\nfs: {write: ["%s/corral/**"]}\n' "$XDG_CONFIG_HOME" >p/guard.yaml
	run run -p p/guard.yaml -- sh -c 'echo "fs: {}" >~/.config/corral/profiles/top.yaml'
	grep -q 'extends: base' "$XDG_CONFIG_HOME/corral/profiles/top.yaml"
	ok $? "profiles cannot be written by the command"
	(cd "$HOME" && "$CORRAL" run -p "$scratch/work/p/more.yaml" -- true) 2>"$scratch/err"
	is $? 125 "it does not work in the home"
	err_has "more.yaml:1" "and the line is named"
else
	number=$((number + 1))
	echo "ok $number - runs # SKIP kernel: no sandbox can be had here"
fi

# --- a policy that holds for every run ---
printf 'extends: workspace\n' >"$XDG_CONFIG_HOME/corral/policy.yaml"
run run -- echo there
out_is there "the user's own policy may extend a profile"
rm "$XDG_CONFIG_HOME/corral/policy.yaml"

done_testing
