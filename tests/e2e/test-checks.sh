#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The checks can fail. Each is run in a small tree of its own, once as it should be and once with a
# fault planted, and must tell the two apart. A check that never fails protects nothing.
#
# usage: tests/e2e/test-checks.sh [SOURCE ROOT]
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
tools=$root/tools
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
spdx="SPDX-License-Identifier: Apache-2.0"
number=0
unset CORRAL_SETUP

# Starts over with a tree in which nothing is wrong.
fresh() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/src/base" "$scratch/tree/src/policy" "$scratch/tree/src/codec" \
		"$scratch/tree/include/corral" "$scratch/tree/man"
	cd "$scratch/tree" || exit 1
	cp "$root/.clang-format" "$root/.clang-tidy" .
	printf '/* %s */\n#pragma once\nint one_get(void);\n' "$spdx" >src/base/one.h
	printf '/* %s */\n#include "base/one.h"\n\nint one_get(void)\n{\n\treturn 1;\n}\n' "$spdx" >src/base/one.c
	printf '/* %s */\n#pragma once\nint two_get(void);\n' "$spdx" >src/policy/two.h
	printf '/* %s */\n#include "policy/two.h"\n#include "base/one.h"\n\nint two_get(void)\n{\n\treturn one_get();\n}\n' \
		"$spdx" >src/policy/two.c
	printf 'corral(1)\n\n# NAME\n\ncorral - a page\n' >man/corral.1.scd
}

ok() { # ok STATUS NAME
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
		echo "not ok $number - $2"
		sed 's/^/# /' "$scratch/log"
	fi
}
skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

passes() { # passes NAME COMMAND…
	name=$1 && shift
	"$@" >"$scratch/log" 2>&1
	ok $? "$name"
}
# The command must fail, and say what is wrong in words that contain the text.
fails() { # fails NAME TEXT COMMAND…
	name=$1 text=$2 && shift 2
	if "$@" >"$scratch/log" 2>&1; then
		echo "it passed" >>"$scratch/log"
		ok 1 "$name"
	else
		grep -q -F "$text" "$scratch/log"
		ok $? "$name"
	fi
}
# CC may have words: `ccache gcc`.
# shellcheck disable=SC2086
compile() { ${CC:-cc} "$@"; }
have() { command -v "$1" >/dev/null 2>&1; }

# --- layers ---
fresh
passes "layers: a tree in order" "$tools/check-layers" .
echo '#include "policy/two.h"' >>src/base/one.c
fails "layers: base uses policy" "may not use policy/two.h" "$tools/check-layers" .
fresh
echo '#include "policy/two.h"' >src/base/test-one.c
fails "layers: a test is held to the same" "src/base/test-one.c:1" "$tools/check-layers" .
fresh
echo '#include "test/unit.h"' >>src/base/one.c
fails "layers: code uses what tests share" "for tests alone" "$tools/check-layers" .
fresh
echo '#include "test/unit.h"' >src/base/test-one.c
passes "layers: a test uses what tests share" "$tools/check-layers" .
fresh
echo '#include "two.h"' >>src/policy/two.c
fails "layers: a header named without its folder" "named from src/" "$tools/check-layers" .
fresh
mkdir -p src/policy/part && printf '/* %s */\n#pragma once\n' "$spdx" >src/policy/part/internal.h
echo '#include "policy/part/internal.h"' >>src/policy/two.c
fails "layers: a private header outside its folder" "for the files of src/policy/part" "$tools/check-layers" .
fresh
echo '#include <fcntl.h>' >>src/policy/two.c
fails "layers: the policy opens files" "does no I/O" "$tools/check-layers" .
fresh
echo 'void two_say(void) { printf("x"); }' >>src/policy/two.c
fails "layers: the policy prints" "printf()" "$tools/check-layers" .
fresh
echo '/* printf("x") and #include <fcntl.h> */' >>src/policy/two.c
passes "layers: a comment is no code" "$tools/check-layers" .
echo '#include <unistd.h>' >src/policy/test-two.c
passes "layers: a test of the policy may do I/O" "$tools/check-layers" .
fresh
echo '#include <yaml.h>' >>src/policy/two.c
fails "layers: libyaml outside codec" "belongs to src/codec/" "$tools/check-layers" .
fresh
echo '#include <idn2.h>' >>src/policy/two.c
fails "layers: libidn2 outside its own files" "belongs to src/policy/network/idna-library" "$tools/check-layers" .
fresh
echo '#include <libpsl.h>' >>src/policy/two.c
fails "layers: libpsl outside its own files" "belongs to src/threat/suffix-library" "$tools/check-layers" .
fresh
mkdir src/other && echo 'int x;' >src/other/x.c
fails "layers: a folder that is in no layer" "in no layer" "$tools/check-layers" .
mkdir "$scratch/empty"
fails "layers: nothing to check" "no sources" "$tools/check-layers" "$scratch/empty"

# --- words ---
fresh
passes "words: a tree in order" "$tools/check-words" .
echo "/* FIX""ME later */" >>src/base/one.c
fails "words: a note to oneself" "src/base/one.c:8" "$tools/check-words" .
fresh
echo "/* XX""X: hm */" >>src/base/one.c
fails "words: another" "src/base/one.c:8" "$tools/check-words" .
fresh
echo "char template[] = \"/tmp/XX""X\";" >>src/base/one.c
passes "words: a template is none" "$tools/check-words" .
fresh
echo "int x;" >src/base/two.c
fails "words: no licence" "src/base/two.c:1" "$tools/check-words" .
fresh
echo "see $scratch/tree/src" >README.md
fails "words: a path of this machine" "README.md:1" "$tools/check-words" .
fresh
mkdir docs && echo 'first `one_get()`, then `one_gone()`' >docs/architecture.md
fails "words: a function that the guide names and src/ does not have" "there is no one_gone()" "$tools/check-words" .
echo 'first `one_get()`' >docs/architecture.md
passes "words: one that is there" "$tools/check-words" .
fresh
mkdir -p docs/decisions && echo 'see `base/one.c`, `src/base/`, `foo/foo.c` and `src/base/gone.c`' >docs/one.md
fails "words: a file that a document names and that is not there" "docs/one.md:1: there is no src/base/gone.c" "$tools/check-words" .
echo 'see `base/one.c`, `src/base/`, `foo/foo.c`, `/etc/x.conf`' >docs/one.md
passes "words: those that are there" "$tools/check-words" .
echo 'it was in `src/base/gone.c`' >docs/decisions/0001-one.md
passes "words: a decision may name what is gone" "$tools/check-words" .
fresh
# protocol VERSION FRAME: the document of a header with version 2 and the frames ONE and TWO.
protocol() {
	mkdir -p docs src/wire
	{
		echo "/* SPDX-License""-Identifier: Apache-2.0 */"
		printf '#define FRAME_PROTOCOL 2\nenum frame_type {\n\tFRAME_NONE = 0,\n\tFRAME_ONE, /* of FRAME_X */\n\tFRAME_TWO,\n};\n'
	} >src/wire/frame.h
	printf 'The version is %s, and changes.\n\n| frame | body |\n|---|---|\n| ONE id | - |\n| %s | - |\n' "$1" "$2" >docs/protocol.md
}
protocol 2 TWO
passes "words: the protocol is that of the code" "$tools/check-words" .
protocol 1 TWO
fails "words: another version" "docs/protocol.md: src/wire/frame.h has version 2" "$tools/check-words" .
protocol 2 THREE
fails "words: a frame that there is not" "there is no FRAME_THREE" "$tools/check-words" .
fails "words: a frame that the document does not have" "FRAME_TWO of src/wire/frame.h is missing" "$tools/check-words" .
fresh
mkdir docs man
echo 'int f(void) { return puts("a CMD is missing"); }' >>src/base/one.c
fails "words: a message that is not plain" "src/base/one.c:8: CMD is missing: write plainly" "$tools/check-words" .
fresh
echo '/* nobody is told; puts(x) */' >>src/base/one.c
passes "words: comments are not messages" "$tools/check-words" .
fresh
mkdir docs man
echo 'The user is told.' >man/one.1.scd
fails "words: a manual page that is not plain" "man/one.1.scd:1: is told" "$tools/check-words" .
echo 'The user gets an error.' >man/one.1.scd
echo 'Programs run as root or `nobody`.' >docs/one.md
passes "words: plain ones, and the user nobody" "$tools/check-words" .
echo 'Rules that cannot be held are refused.' >docs/one.md
fails "words: a document that is not plain" "docs/one.md:1: cannot be held" "$tools/check-words" .
mkdir -p docs/decisions && mv docs/one.md docs/decisions/0001-one.md
passes "words: decisions stay as they were written" "$tools/check-words" .

# --- symbols ---
build() {
	rm -rf build && mkdir -p build/src/base build/src/policy
	for file in src/base/one src/policy/two; do
		compile -Isrc -c "$file.c" -o "build/$file.o" || return 1
	done
	cat >build/compile_commands.json <<-JSON
		[{"directory": "$PWD/build", "file": "../src/base/one.c", "output": "src/base/one.o"},
		 {"directory": "$PWD/build", "file": "../src/policy/two.c", "output": "src/policy/two.o"}]
	JSON
}
fresh && build
passes "symbols: a tree in order" "$tools/check-symbols" build .
echo 'int helper(void); int helper(void) { return 2; }' >>src/base/one.c && build
fails "symbols: one.c exports helper" "exports helper" "$tools/check-symbols" build .
echo 'int helper(void);' >>src/base/one.h
passes "symbols: unless one.h declares it" "$tools/check-symbols" build .
fresh && mkdir -p src/base/test
echo 'int theirs(void); int theirs(void) { return 1; }' >src/base/test/fuzz-one.c
build && mkdir -p build/src/base/test && compile -c src/base/test/fuzz-one.c -o build/src/base/test/fuzz-one.o
cat >build/compile_commands.json <<-JSON
	[{"directory": "$PWD/build", "file": "../src/base/test/fuzz-one.c", "output": "src/base/test/fuzz-one.o"}]
JSON
passes "symbols: a test stands in for a library of others" "$tools/check-symbols" build .
echo 'int theirs(void);' >>src/policy/two.h
fails "symbols: but not for what a header of ours declares" "exports theirs" "$tools/check-symbols" build .
fresh && build && mkdir -p src/lib build/src/lib && touch src/lib/meson.build
fails "symbols: the library is missing" "was not built" "$tools/check-symbols" build .
echo 'int corral_x(void) { return 1; } int stray(void) { return 2; }' >lib.c
compile -shared -fPIC lib.c -o build/src/lib/libcorral.so
fails "symbols: the library exports stray" "exports stray" "$tools/check-symbols" build .
echo 'int corral_x(void) { return 1; }' >lib.c
compile -shared -fPIC lib.c -o build/src/lib/libcorral.so
passes "symbols: the library exports corral_*" "$tools/check-symbols" build .
fresh && mkdir build && echo '[]' >build/compile_commands.json
fails "symbols: nothing was built" "build first" "$tools/check-symbols" build .

# --- the checks that need a program of their own; make check installs them, make test does not ---
fresh
if have clang-format; then
	passes "format: a tree in order" "$tools/check-format"
	echo 'int  badly( void ) ;' >>src/base/one.h
	fails "format: spaces" "make format" "$tools/check-format"
else
	skip "format" "clang-format is not installed"
fi
fresh
if have shellcheck; then
	printf '#!/bin/sh\n# %s\nx=1\necho "$x"\n' "$spdx" >run
	passes "scripts: a tree in order" "$tools/check-scripts"
	printf '#!/bin/sh\necho $1 [ $x = ]\nif\n' >run
	fails "scripts: a faulty one" "run" "$tools/check-scripts"
	printf '#!/usr/bin/env python3\nprint(\n' >run
	fails "scripts: Python that does not compile" "SyntaxError" "$tools/check-scripts"
else
	skip "scripts" "shellcheck is not installed"
fi
fresh
if have scdoc; then
	passes "manuals: a tree in order" "$tools/check-manuals"
	printf '\nsee *corral-lost*(1)\n' >>man/corral.1.scd
	fails "manuals: a page that is not there" "corral-lost(1)" "$tools/check-manuals"
	printf 'no heading\n' >man/corral.1.scd
	fails "manuals: not scdoc" "not valid scdoc" "$tools/check-manuals"
	fresh
	mkdir -p include/corral
	printf '/* %s */\nCORRAL_API int corral_lost(void);\n' "$spdx" >include/corral/lost.h
	fails "manuals: a function that is in none" "corral_lost() stands in no manual page" "$tools/check-manuals"
else
	skip "manuals" "scdoc is not installed"
fi
fresh
if have cppcheck; then
	passes "cppcheck: a tree in order" "$tools/check-cppcheck"
	printf 'void f(void)\n{\n\tchar a[2];\n\ta[2] = 0;\n}\n' >src/base/bad.c
	fails "cppcheck: out of bounds" "src/base/bad.c:4" "$tools/check-cppcheck"
else
	skip "cppcheck" "cppcheck is not installed"
fi
fresh
if have clang-tidy; then
	mkdir build
	cat >build/compile_commands.json <<-JSON
		[{"directory": "$PWD", "file": "src/base/one.c", "command": "cc -Isrc -c src/base/one.c"}]
	JSON
	passes "tidy: a tree in order" "$tools/check-tidy" build
	printf '#include <stdlib.h>\nint one_leak(int x)\n{\n\tchar *p = malloc(4);\n\treturn p ? x : 0;\n}\n' >src/base/one.c
	fails "tidy: a leak" "src/base/one.c" "$tools/check-tidy" build
else
	skip "tidy" "clang-tidy is not installed"
fi

# --- tools/check-budget, with programs that count what they are told ---
fresh
mkdir -p tools bench build counters
cp "$tools/check-budget" tools
cat >counters/valgrind <<'SH'
#!/bin/sh
echo "==1== Collected : $(($5 * EACH))" >&2
SH
cat >counters/strace <<'SH'
#!/bin/sh
shift 5
{ echo "       40 read"; echo "       60 mount"; echo "      100 total"; } >"$1"
SH
printf '#!/bin/sh\necho "  [0]  GCC: (Debian 12.2.0-14) 12.2.0"\n' >counters/readelf
chmod +x counters/*
echo "# none" >bench/budgets.conf
budget() { # budget EACH [OPTION]
	each=$1 && shift
	env EACH="$each" PATH="$PWD/counters:$PATH" tools/check-budget build "$@"
}
passes "budget: what has no budget is only reported" budget 100
passes "budget: the counts of now become the budget" budget 100 --update
grep -q "^$(uname -m)-gcc-12 parse.instructions 100\$" bench/budgets.conf
ok $? "budget: they are written down"
passes "budget: a little more is no fault" budget 105
fails "budget: much more is" "parse.instructions" budget 150

# --- tools/setup, with a PATH on which things are missing ---
mkdir "$scratch/bin"
for program in sh cat awk id env uname dirname; do
	ln -s "$(command -v "$program")" "$scratch/bin/$program"
done
fails "setup: names what is missing" "dnf install gcc" \
	env PATH="$scratch/bin" CORRAL_SETUP=never "$tools/setup" build
fails "setup: and the programs themselves" "program meson" \
	env PATH="$scratch/bin" CORRAL_SETUP=never "$tools/setup" build
printf '#!/bin/sh\necho "apt-get $*" >>"%s/apt"\n' "$scratch" >"$scratch/bin/apt-get"
# Whoever runs this: sudo here only runs its arguments.
printf '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n' >"$scratch/bin/sudo"
chmod +x "$scratch/bin/apt-get" "$scratch/bin/sudo"
fails "setup: an installation that brings nothing is no success" "cannot be installed" \
	env PATH="$scratch/bin" "$tools/setup" build
grep -q 'install -y .*--no-install-recommends.* gcc meson ninja-build' "$scratch/apt"
ok $? "setup: asks apt-get for the packages, without recommended ones"
printf '#!/bin/sh\nexit 0\n' >"$scratch/bin/clang-format" && chmod +x "$scratch/bin/clang-format" && rm "$scratch/apt"
passes "setup: nothing is missing" env PATH="$scratch/bin" "$tools/setup" format
[ ! -e "$scratch/apt" ]
ok $? "setup: then apt-get is not even called"

# --- tools/fetch-wasmtime, with a pip and a curl that bring something else ---
mkdir "$scratch/fetch"
for program in sh cat uname dirname mktemp rm mv sha256sum mkdir; do
	ln -s "$(command -v "$program")" "$scratch/fetch/$program"
done
cat >"$scratch/fetch/python3" <<'END'
#!/bin/sh
case "$*" in *download*) for to; do :; done && echo evil >"$to/wasmtime-1.whl" ;; esac
END
cat >"$scratch/fetch/curl" <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo evil >"$2"
END
chmod +x "$scratch/fetch/python3" "$scratch/fetch/curl"
fails "fetch-wasmtime: what is not pinned is not unpacked" "digest differs" \
	env PATH="$scratch/fetch" "$tools/fetch-wasmtime" "$scratch/wasmtime"
[ ! -e "$scratch/wasmtime" ]
ok $? "fetch-wasmtime: and nothing is left of it"
fails "fetch-wasmtime: only looks, if told so" "tools/setup wasm" "$tools/fetch-wasmtime" --check "$scratch/wasmtime"

# --- tools/fuzz, with fuzzers that only end ---
mkdir "$scratch/fuzzers"
fails "fuzz: no fuzzer at all" "no fuzzer" "$tools/fuzz" "$scratch/fuzzers" 1
printf '#!/bin/sh\necho "stat::number_of_executed_units: 5"\n' >"$scratch/fuzzers/fuzz-good"
chmod +x "$scratch/fuzzers/fuzz-good"
passes "fuzz: one that finds nothing" "$tools/fuzz" "$scratch/fuzzers" 1
printf '#!/bin/sh\necho "ERROR: deadly signal"\nexit 77\n' >"$scratch/fuzzers/fuzz-bad"
chmod +x "$scratch/fuzzers/fuzz-bad"
fails "fuzz: one that finds a crash" "deadly signal" "$tools/fuzz" "$scratch/fuzzers" 1

# --- tools/run-tests, with a meson that only leaves a log behind ---
cat >"$scratch/bin/meson" <<-'SH'
	#!/bin/sh
	cat "$FAKE_LOG" >"$3/meson-logs/testlog.json"
	exit "$FAKE_STATUS"
SH
chmod +x "$scratch/bin/meson"
mkdir -p "$scratch/run/meson-logs"

program() { # program RESULT STATUS OUTPUT: one line of meson's log
	printf '{"name": "corral:unit / a", "result": "%s", "returncode": %s, "stdout": "%s"}\n' "$@" >>"$scratch/fake"
}
# counts NAME LAST-LINE [CI]: what run-tests makes of the programs so far; then forgets them.
counts() {
	fake_status=0
	case $2 in *' 0 failed'*) ;; *) fake_status=1 ;; esac
	[ "${3:-}" != true ] || fake_status=0 # meson itself minds no skips
	CI="${3:-}" FAKE_LOG="$scratch/fake" FAKE_STATUS=$fake_status PATH="$scratch/bin:$PATH" \
		"$tools/run-tests" "$scratch/run" >"$scratch/log" 2>&1
	status=$?
	[ "$(tail -n 1 "$scratch/log")" = "$2" ] && case $2 in
	*' 0 failed'*) [ $status -eq 0 ] ;;
	*) [ $status -ne 0 ] ;;
	esac
	ok $? "run-tests: $1"
	: >"$scratch/fake"
}
program OK 0 '1..2\nok 1 - x\nok 2 - y\n'
program OK 0 ''
counts "counts the tests inside a program" "3 passed, 0 failed"
program ERROR 1 '1..2\nok 1 - x\nnot ok 2 - y\n# because of z\n'
counts "a failed test" "1 passed, 1 failed"
grep -q -A1 '^failed: unit/a: y' "$scratch/log" && grep -q '^ *# because of z' "$scratch/log"
ok $? "run-tests: what a failed test said is at the end, too"
program ERROR 139 '1..1\nok 1 - x\n'
counts "a crash after success" "1 passed, 1 failed"
program TIMEOUT 1 ''
counts "a time-out" "0 passed, 1 failed"
program OK 0 'ok 1 - x\nok 2 - y # SKIP no such thing\n'
counts "a skip" "1 passed, 0 failed, 1 skipped"
program OK 0 'ok 1 - x\nok 2 - y # SKIP no such thing\n'
counts "a skip in CI" "1 passed, 1 failed" true
program OK 0 'ok 1 - x\nok 2 - y # SKIP kernel: too old\n'
counts "a skip in CI that cannot be mended here" "1 passed, 0 failed, 1 skipped" true
program SKIP 0 '1..0 # SKIP third-party cases not present\n'
program OK 0 ''
counts "a program that is skipped" "1 passed, 0 failed, 1 skipped" true
program SKIP 0 '1..0 # SKIP third-party cases not present: x\n'
counts "nothing but what is not there" "0 passed, 0 failed, 1 skipped" true
: >"$scratch/fake"
counts "no test at all" "0 passed, 1 failed"

# Two files that call each other, a tag that both define, and a list of operations beside the one table.
fresh
ratchets() { printf '%s\n' "loops 0" "starts 0" "confinements 0" "json-by-hand 0" "framings 0" "field-tables 0" "operation-copies $1" \
	"files-in-cycles $2" "largest-cycle $2" "double-tags $3" "long-functions 0" >"$scratch/ratchets"; }
ratchets 0 0 0
passes "survey: a tree without knots" "$tools/survey" --check "$scratch/ratchets" .
printf '/* %s */\n#include "base/one.h"\n\nint one_get(void)\n{\n\treturn two_get();\n}\n' "$spdx" >src/base/one.c
fails "survey: files that call each other" "largest-cycle: 2" "$tools/survey" --check "$scratch/ratchets" .
ratchets 0 2 0
passes "survey: a knot that is allowed" "$tools/survey" --check "$scratch/ratchets" .
for file in src/base/one.c src/policy/two.c; do printf 'struct twice {\n\tint a;\n};\n' >>$file; done
fails "survey: a tag of two files" "double-tags: 1" "$tools/survey" --check "$scratch/ratchets" .
ratchets 0 2 1
printf 'static const char *const copy[] = { "fs.read", "fs.write", "exec" };\n' >>src/base/one.c
fails "survey: a copy of the operations' names" "operation-copies: 1" "$tools/survey" --check "$scratch/ratchets" .
printf 'static int take(struct peer *p)\n{\n\treturn recv(p->fd, p->in.data, 9, 0);\n}\n' >>src/policy/two.c
fails "survey: another way to take messages apart" "framings: 1" "$tools/survey" --check "$scratch/ratchets" .
ratchets 2 2 1
fails "survey: a count that fell is written down" "lower the row" "$tools/survey" --check "$scratch/ratchets" .

echo "1..$number"
