#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What commands say in a build without some of its parts: test-missing.sh PART…, of broker, daemon and wasm. Only
# run where a part is missing (docs/architecture.md).
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

unset CORRAL_BROKER CORRALD CORRAL_WASM
export XDG_RUNTIME_DIR="$PWD"
for part in "$@"; do
	case $part in
	broker)
		run run --broker -- /bin/true
		err_has "this Corral was built without the broker" "run --broker says what is missing"
		err_has "-Dbroker=enabled" "and what to do"
		;;
	daemon)
		for verb in ps status events dashboard 'questions list'; do
			# shellcheck disable=SC2086 # a verb may be two words
			run $verb
			err_has "this Corral was built without one" "$verb says what is missing"
			err_has "-Ddaemon=enabled" "$verb: and what to do"
		done
		;;
	wasm)
		mkdir skill
		printf -- '---\nname: skill\ndescription: a test\n---\n' >skill/SKILL.md
		printf 'name: skill\nversion: "1"\nwasm: {file: skill.wasm}\n' >skill/manifest.yaml
		printf '\000asm\001\000\000\000' >skill/skill.wasm
		run run --yes --skill skill
		err_has "built without WASM skills, as Wasmtime was missing" "run --skill says what is missing"
		err_has "tools/setup wasm" "and what to do"
		;;
	*) ok 1 "$part is no part" ;;
	esac
done
run run --read /usr --read /bin -- /bin/true
is "$status" 0 "the rest works"
done_testing
