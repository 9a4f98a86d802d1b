/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Compiled WASM modules: files in corral/wasm-cache of the user's state (host/state-cache.h), made
 * by `corral-wasm compile`, which confines itself before it reads a module.
 *
 * A compiled module is code, so none is used that is not known to be ours. An entry is found by a
 * hash of all that its code depends on: the module's own bytes, the worker and the engine by their
 * files, the options, the processor. Beside it lies its mark, a keyed hash of that and of the code;
 * whatever does not bear it (damaged, cut, put there, moved from another name) is made again. Then
 * a sandbox gets the very file that was checked, by its inode.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "skill/digest.h"

struct module_input {
	const char *program, *library;            /* the worker and the engine, as files */
	unsigned char digest[SKILL_DIGEST_BYTES]; /* SHA-256 of the module */
	bool fuel, epochs;                        /* are counted: options of the compiler */
	int folder;                               /* the module's bytes: in this folder … */
	const char *path; /* … under this name; read only if they have to be compiled */
	const char *name; /* of the module, in messages */
};

struct module_entry {
	const char *path; /* of the compiled module, in the arena */
	uint64_t dev, ino;
};

/*
 * -ESTALE: the module is not what its digest says. -EINVAL: it is no valid module; the sentence
 * says why. -EFBIG: it is too large, or compiling it takes more than launch/compile-limits.h
 * allows; the sentence says how to allow more. -ENOENT …: there is nowhere to keep it, or the
 * compiler could not be run.
 */
int module_cache_get(
	const struct module_input *in, struct arena *a, struct module_entry *ret, struct error *e);
