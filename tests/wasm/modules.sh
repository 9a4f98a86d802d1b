# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Modules for tests of WASM skills, by wat2wasm (wabt) and by clang with wasi-libc. Source it behind tests/e2e/lib.sh.

tests=$(cd "$(dirname "$0")/../wasm" && pwd) || exit 1

# skill NAME [MANIFEST-LINES]: a folder with the seed's layout; the module is to come.
skill() {
	mkdir -p "$1"
	printf -- '---\nname: %s\ndescription: a test\n---\n# Test\n' "$1" >"$1/SKILL.md"
	printf 'name: %s\nversion: "0.1.0"\nwasm: {file: skill.wasm}\n%s\n' "$1" "${2-}" >"$1/manifest.yaml"
}

# wat NAME TEXT [MANIFEST-LINES]: a skill whose module is this text.
wat() {
	skill "$1" "${3-}"
	printf '%s' "$2" >"$1.wat"
	wat2wasm "$1.wat" -o "$1/skill.wasm" || echo "# $1.wat is no module"
}

# guest NAME CODE [MANIFEST-LINES]: a skill with a memory of one page that grows, `allocate`, and `handle` with this code.
# At 16 stands an answer with its length before it.
guest() {
	wat "$1" "(module
		(memory (export \"memory\") 1)
		(table \$t (export \"table\") 1 funcref)
		(data (i32.const 16) \"\\11\\00\\00\\00{\\22success\\22: true}\")
		(data (i32.const 64) \"\\12\\00\\00\\00{\\22success\\22: false}\")
		(global \$next (mut i32) (i32.const 1024))
		(func (export \"allocate\") (param i32) (result i32)
			global.get \$next
			global.get \$next local.get 0 i32.add global.set \$next)
		(func \$again (param i32) (result i32) local.get 0 i32.const 1 i32.add call \$again i32.const 1 i32.add)
		(func (export \"handle\") (param i32 i32) (result i32) $2))" "${3-}"
}

# c NAME FILE [MANIFEST-LINES] [OPTION…]: a skill whose module is a program of tests/wasm.
c() {
	name=$1 file=$2
	skill "$name" "${3-}"
	shift 2
	[ $# -eq 0 ] || shift
	clang --target=wasm32-wasi -O1 -Wall -Werror "$@" "$tests/$file" -o "$name/skill.wasm" || echo "# $file is no module"
}
