#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `corral run --skill`: what runs is what was hashed, whatever happens to the skill's folder meanwhile; what its
# manifest lets it write is live, and is never run.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
here=$(pwd)
programs='/usr/**, /bin/**, /lib/**, /lib64/**'
skill() { # skill NAME WRITE MORE-PERMISSIONS: a skill that says what it is, twice
	mkdir -p "$1/lib"
	printf 'name: x\ndescription: y\nentry: run.sh\nruntime: bash\npermissions:\n' >"$1/skill.yaml"
	printf '  fs:\n    read: [$SKILL_DIR/**, %s]\n    write: [%s]\n%s' "$programs" "$2" "$3" >>"$1/skill.yaml"
	cat >"$1/run.sh" <<-'END'
		self=$(dirname "$0")
		. "$self/lib/helper.sh"
		echo ready
		read -r _
		. "$self/lib/helper.sh"
		ls "$self"
	END
	echo 'echo first' >"$1/lib/helper.sh"
}
# between SKILL COMMAND: starts the skill, and runs the command while it waits in the middle.
between() {
	mkfifo "$scratch/in"
	: >"$scratch/out"
	"$CORRAL" run --skill "$1" <"$scratch/in" >"$scratch/out" 2>"$scratch/err" &
	child=$!
	exec 7>"$scratch/in"
	tries=0
	until grep -q ready "$scratch/out" || [ "$tries" -eq 1200 ] || ! kill -0 "$child" 2>/dev/null; do
		sleep 0.05
		tries=$((tries + 1))
	done
	eval "$2"
	echo >&7
	exec 7>&-
	status=0
	wait "$child" || status=$?
	rm "$scratch/in"
}
whole='first
ready
first
lib
run.sh
skill.yaml'

# --- what runs is what was hashed ---
skill plain '' '' && run approve --yes plain
between plain "echo 'echo evil' >plain/lib/helper.sh; echo x >plain/new"
out_is "$whole" "a file that changes while the skill runs, and a new one"
run_refuses 126 "and the next run asks" "its files have changed since it was approved" --skill plain
rm plain/new && skill plain '' ''
between plain "mv plain plain.old; cp -r plain.old plain; echo 'echo evil' >plain/lib/helper.sh"
out_is "$whole" "another folder in its place"
rm -rf plain && mv plain.old plain
between plain 'mv plain/lib/helper.sh plain/lib/x; echo "echo evil" >plain/lib/helper.sh'
out_is "$whole" "another file renamed into place"
mv plain/lib/x plain/lib/helper.sh
between plain 'rm -rf plain'
out_is "$whole" "no folder any more"
# In a folder that is granted the host's own would be seen once the copy slipped off.
# It is put back soon, but not at once (docs/decisions/0015): so the skill waits, a minute at most.
skill inner '$WORK_DIR/**' ''
sed -i '/^read/a i=0; until grep -q first "$self/lib/helper.sh" || [ $i -eq 600 ]; do sleep 0.1; i=$((i + 1)); done 2>/dev/null' inner/run.sh
run approve --yes inner
between inner "mv inner inner.old; cp -r inner.old inner; echo 'echo evil' >inner/lib/helper.sh"
out_is "$whole" "another folder in its place, inside one that is granted"
rm -rf inner && mv inner.old inner
between inner "mv inner inner.old; sleep 0.2; cp -r inner.old inner; echo 'echo evil' >inner/lib/helper.sh"
out_is "$whole" "the same, after it was gone"
rm -rf inner && mv inner.old inner
between inner "rm -rf inner; skill inner '\$WORK_DIR/**' ''; echo 'echo evil' >inner/lib/helper.sh"
out_is "$whole" "a new one after it was removed"
skill inner '$WORK_DIR/**' ''
echo 'echo x >>"$0" || echo no; echo x >$(dirname "$0")/x || echo no; echo x >beside && cat beside' >inner/run.sh
run run --skill inner --yes
out_is "no
no
x" "the folder around it can be written, the skill can't"

# Whoever races the start has the run refused, or has no part in it.
skill race '' '' && run approve --yes race
printf 'self=$(dirname "$0")\n. "$self/lib/helper.sh"\n. "$self/lib/helper.sh"\n' >race/run.sh && run approve --yes race
printf 'echo evil\n' >"$scratch/evil" && cp race/lib/helper.sh "$scratch/good"
while [ -d race/lib ]; do
	cp "$scratch/evil" race/lib/x && mv race/lib/x race/lib/helper.sh
	cp "$scratch/good" race/lib/x && mv race/lib/x race/lib/helper.sh
done 2>/dev/null &
racer=$!
wrong=0 runs=0
while [ "$runs" -lt 60 ]; do
	runs=$((runs + 1))
	run run --skill race
	case $status$(cat "$scratch/out") in
	"0first
first" | 125 | 126) ;;
	*) wrong=$((wrong + 1)) && cp "$scratch/out" "$scratch/wrong" ;;
	esac
done
kill "$racer" && wait "$racer" 2>/dev/null
is "$wrong" 0 "files that are exchanged while runs start"

# --- it looks as it is ---
skill same '' '' && printf '#!/bin/sh\necho by itself\n' >same/tool && chmod 750 same/tool && touch -d @1000000000 same/lib/helper.sh
ln -s lib/helper.sh same/link && chmod 700 same/lib && mkdir same/empty
cat >same/run.sh <<'END'
echo "$0"
realpath "$(dirname "$0")/link"
readlink "$(dirname "$0")/link"
"$(dirname "$0")/tool"
stat -c %Y "$(dirname "$0")/lib/helper.sh"
cd "$(dirname "$0")/lib" && pwd && ls -A ../empty && cat helper.sh
END
run run --skill same --yes
out_is "$here/same/run.sh
$here/same/lib/helper.sh
lib/helper.sh
by itself
1000000000
$here/same/lib
echo first" "names, links, modes and times"
if command -v python3 >/dev/null; then
	printf 'import sys, os\nprint(__file__)\nprint(sys.path[0])\nimport other\nprint(other.__file__)\n' >same/run.py
	echo >same/other.py && sed -i 's/run.sh/run.py/; s/bash/python3/' same/skill.yaml
	run run --skill same --yes
	out_is "$here/same/run.py
$here/same
$here/same/other.py" "a module and what it imports"
fi
skill start '' '' && echo 'pwd; echo x >new || echo no' >start/run.sh
(cd start && run run --skill . --yes && cp "$scratch/out" "$scratch/kept")
is "$(cat "$scratch/kept")" "$here/start
no" "started in its own folder"
skill denied '' '    deny: [$SKILL_DIR/lib/secret]
' && echo secret >denied/lib/secret && echo 'cat "$(dirname "$0")/lib/secret" || cat "$(dirname "$0")/lib/helper.sh"' >denied/run.sh
run run --skill denied --yes
out_is "echo first" "what is denied in it is covered in the copy, too"
skill part '' '' && sed -i 's|\$SKILL_DIR/\*\*|$SKILL_DIR/lib/**, $SKILL_DIR/run.sh|' part/skill.yaml && echo 'ls "$(dirname "$0")"' >part/run.sh
run run --skill part --yes
out_is "lib
run.sh" "granted in part"
run approve --yes same
"$CORRAL" run --skill same >"$scratch/one" 2>&1 &
run run --skill same
wait
is "$(cat "$scratch/one")" "$(cat "$scratch/out")" "two at once"
skill big '' '' && truncate -s 300M big/data
run_refuses 125 "more than is copied" "data: the skill is larger than 256 MiB" --skill big --yes
err_has "fs.read" "and what to do"

# --- the log says which content ran ---
digest=$("$CORRAL" inspect --json same | tr -d ' "' | sed -n 's/^digest:\(.*\),/\1/p')
run run --audit "$scratch/log" --skill same
run audit list --json "$scratch/log"
[ ${#digest} -eq 64 ] && grep -F '"approval"' "$scratch/out" | grep -F "content $digest: this content is approved" | grep -q -F "$here/same"
ok $? "an approved skill in the log"
echo x >>same/lib/helper.sh && run run --audit "$scratch/log" --skill same --yes
run audit list --json "$scratch/log"
out_has "its files have changed since it was approved, --yes was given" "and one that is not"

# --- what it may write ---
skill live '$SKILL_DIR/data/**, $SKILL_DIR/state' '' && mkdir live/data && echo 0 >live/state
cat >live/run.sh <<'END'
self=$(dirname "$0")
cat "$self/data/from-host" 2>/dev/null
echo x >>"$self/data/log" && echo 1 >"$self/state" && wc -l <"$self/data/log"
printf '#!/bin/sh\necho evil\n' >"$self/data/tool" && chmod +x "$self/data/tool"
"$self/data/tool" 2>/dev/null || echo "not run"
echo x >>"$0" 2>/dev/null || echo "not written"
mv "$self/data" "$self/gone" 2>/dev/null || echo "not moved"
END
run approve --yes live
out_has "data/ is excluded: the skill may write there" "what is approved says what is left out"
run inspect --json live
is "$(tr -d ' \n' <"$scratch/out" | grep -o '"outside_digest":[^]]*]')" '"outside_digest":["data","state"]' "and so does inspect, for programs"
run run --skill live
out_is "1
not run
not written
not moved" "a folder and a file that it may write"
is "$(cat live/data/log live/state)" "x
1" "are the host's own"
echo host >live/data/from-host
run run --skill live
out_is "host
2
not run
not written
not moved" "and need no new approval, whatever is written there"
rm -rf live/data
run run --skill live
out_lacks "2" "one that is not there is not made"
err_has "live/data does not exist, so it cannot be written: create it first" "and its line is named"
mkdir live/data && run approve --check live
status_is 0 "nor does it count whether it is there"
rm -rf live/data && mkdir other && ln -s ../other live/data
run_refuses 125 "a link out of the folder" "it is a symbolic link to a path outside of the skill's folder" --skill live
rm live/data && mkdir live/lib/store && ln -s lib/store live/data
run_refuses 126 "a link in its place" "its files have changed since it was approved" --skill live
run run --skill live --yes
is "$(ls live/lib/store)" "" "what a link leads to can't be written"
rm -rf live/data live/lib/store && mkdir live/data && echo mine >other/file && rm live/state && ln other/file live/state
run_refuses 125 "a second name of a file elsewhere" "state: it is granted for writing and has more than one hard link" --skill live
rm live/state

# By a second name of a file of the skill the next run is reached, which asks.
skill twice '$SKILL_DIR/data/**' '' && mkdir twice/data && ln twice/lib/helper.sh twice/data/h && run approve --yes twice
echo 'self=$(dirname "$0"); echo "echo evil" >"$self/data/h"; . "$self/lib/helper.sh"' >twice/run.sh && run approve --yes twice
run run --skill twice
out_is first "a second name of a file of the skill in what it may write"
run_refuses 126 "is seen by the next run" "its files have changed since it was approved" --skill twice

# --- what must stay ---
skill all '$SKILL_DIR/**' ''
run_refuses 125 "a grant that covers the manifest" 'all/skill.yaml:8:' --skill all --yes
err_has 'the grant to write $SKILL_DIR/** includes its manifest (skill.yaml), which must not change after approval' "is named"
err_has '$SKILL_DIR/data/**' "with what to write instead"
skill entry '$SKILL_DIR/run.sh' ''
run_refuses 125 "a grant that covers the entry" 'includes its entry `run.sh` (line 3)' --skill entry --yes
err_has 'entry/skill.yaml:8:' "both lines are named"
skill deep '"$SKILL_DIR/{lib,data}/**"' '' && mv deep/run.sh deep/lib && sed -i 's|run.sh|lib/../lib/./run.sh|' deep/skill.yaml
run_refuses 125 "or its folder" 'includes its entry `lib/../lib/./run.sh` (line 3)' --skill deep --yes
skill link '$SKILL_DIR/data/**' '' && mkdir link/data && mv link/run.sh link/data && ln -s data/run.sh link/run.sh
run_refuses 125 "an entry that leads there" 'its entry `run.sh` resolves to data, which the skill may write' --skill link --yes
err_has 'link/skill.yaml:3:' "is named"
mkdir module && : >module/skill.wasm && printf 'name: x\nversion: 1.0.0\nwasm:\n  file: skill.wasm\ncapabilities:\n  filesystem:\n    enabled: true\n    paths:\n      - {guest: /data, host: ., mode: rw}\n' >module/manifest.yaml
run inspect module
out_has 'includes its manifest' "a module's folder"
sed -i 's|host: .,|host: skill.wasm,|' module/manifest.yaml
run inspect module
out_has 'includes its module `skill.wasm` (line 4)' "a module"
run inspect all
out_has "includes its manifest" "inspect shows the fault, and the whole digest"
out_lacks "is excluded" "nothing is left out by such a grant"
sed -i 's|\$SKILL_DIR/\*\*\]|$SKILL_DIR/data/**]|' all/skill.yaml && mkdir -p all/data
printf 'echo x >$(dirname "$0")/data/x && echo done\n' >all/run.sh
run run --skill all --yes
out_is "done" "the line that is suggested helps"

# --- what is denied is explained, and no grant is suggested that would not help ---
skill told '' '' && mkdir told/data
printf 'echo x >$(dirname "$0")/lib/y\nprintf "#!/bin/sh\\n" >$(dirname "$0")/data/x && chmod +x $(dirname "$0")/data/x && $(dirname "$0")/data/x\n' >told/run.sh
run run --explain --skill told --yes
err_has 'add fs: {write: ["$SKILL_DIR/data/**"]} to '"$(pwd)/told/skill.yaml"', create that folder, and write there' "a file of the skill that is written"
err_lacks "--write" "no option helps"
sed -i 's|write: \[\]|write: ["$SKILL_DIR/data/**"]|' told/skill.yaml
run run --explain --skill told --yes
[ -f told/data/x ]
ok $? "the line helps"
err_has "move it to a folder that fs.write in $(pwd)/told/skill.yaml does not grant" "a program that it wrote is not run"

# --- grants from outside do not reach in ---
skill outer '' '' && mkdir outer/data && echo 'echo x >$(dirname "$0")/data/x || echo no' >outer/run.sh
run run --skill outer --yes --write outer/data
out_is no "--write of a folder in the skill"
err_has "is part of the skill, and can't be written" "says so"

# --- a script of the skill by its path ---
mkdir -p by/scripts by/live
cat >by/SKILL.md <<END
---
name: by
description: scripts by their path
permissions:
  fs: {read: [\$SKILL_DIR/**, $programs], write: [\$SKILL_DIR/live/**]}
  exec: [bash, cat]
---
END
printf '#!/bin/bash\necho "$0 got $1"; cat "$0" | wc -l 2>/dev/null\n' >by/scripts/process.sh
printf '#!/usr/bin/env bash\necho by env\n' >by/scripts/env.sh
printf '#!/usr/bin/perl\nprint "x"\n' >by/scripts/other.pl
printf 'echo plain\n' >by/scripts/plain.sh
chmod +x by/scripts/process.sh by/scripts/env.sh by/scripts/other.pl
printf '#!/bin/bash\necho live\n' >by/live/x.sh && chmod +x by/live/x.sh
run run --yes --skill by -- by/scripts/process.sh one
out_has "$here/by/scripts/process.sh got one" "a script by its path: its interpreter is granted"
run run --yes --skill by -- "$here/by/scripts/env.sh"
out_is "by env" "a script by its path: by env"
for refused in scripts/other.pl scripts/plain.sh live/x.sh; do
	run run --yes --skill by -- "$here/by/$refused"
	is "$status" 126 "a script by its path: not $refused"
done

done_testing
