#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# WASM skills in Rust, by its standard library (tests/wasm/wasi.rs).
# shellcheck disable=SC2034,SC2154 # names come from lib.sh
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$here/../e2e/lib.sh"
# shellcheck source=tests/wasm/modules.sh disable=SC1091
. "$here/../wasm/modules.sh"

needs_sandbox
skill rust 'capabilities: {filesystem: {enabled: true, paths: [{guest: /rw, host: ./data, mode: rw}, {guest: /ro, host: ./fixed, mode: ro}]}}'
mkdir rust/data rust/fixed
echo fixed >rust/fixed/file
target=wasm32-wasi
[ -e /usr/lib/rustlib/$target ] || target=wasm32-wasip1
/usr/bin/rustc --edition 2021 --target "$target" -O "$here/../wasm/wasi.rs" -o rust/skill.wasm 2>"$scratch/err"
ok $? "the module is compiled"
run_with 'typed
twice
' run --yes --env GIVEN=1 --skill rust -- one 'two words' –
status_is 44 "arguments, variables, folders, clocks, random numbers and streams, and the status of exit()"
out_is ok "standard output"
err_has "for people" "standard error"
run run --yes --skill rust
status_is 134 "a panic stops the module"
err_has "panicked" "and is reported"
done_testing
