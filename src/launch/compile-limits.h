/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What compiling a WASM module may use. A module is foreign bytes, and the time and memory of a
 * compiler do not grow evenly with them, so the limits of the run, which are the module's, say
 * nothing about it. These do: an amount that each module has, and more for each MiB of it, up to a
 * maximum. The environment may say otherwise, as it belongs to the user; a manifest may not.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COMPILE_LIMITS_TIME "CORRAL_WASM_COMPILE_TIME"
#define COMPILE_LIMITS_MEMORY "CORRAL_WASM_COMPILE_MEMORY"

struct compile_limits {
	uint64_t seconds; /* of processor time, of all threads together */
	uint64_t memory;  /* of the compiler's process, in bytes */
	uint64_t wait_ms; /* on the clock; for a compiler that does nothing */
};

/* For a module of that size. -EINVAL: a variable has no valid value. */
int compile_limits_get(struct compile_limits *ret, size_t module_bytes, struct error *e);

/* The sentence for a limit that was met, with the way to raise it; -EFBIG. */
int compile_limits_time_is_up(const struct compile_limits *l, const char *module, struct error *e);
int compile_limits_memory_is_up(
	const struct compile_limits *l, const char *module, struct error *e);
