/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a worker has to do, by the words that it was started with. The process that starts it
 * (launch/wasm.h) has decided all of it by the policy; the module cannot change it.
 *
 *     run|serve export=NAME memory=BYTES fuel=N input env=NAME grant=NAME ro=GUEST HOST rw=GUEST
 * HOST
 *         -- ARG…
 *
 * Each word but the first may be left out. The arguments are those of a WASI command, its name
 * first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* More folders than a manifest may have; a linear memory of 32 bits is no larger. */
#define WORKER_FOLDERS_MAX 256U
#define WORKER_MEMORY_MAX (UINT64_C(4) << 30)
#define WORKER_FUEL_NONE UINT64_MAX

struct worker_folder {
	const char *guest, *host;
	bool is_writable;
};

struct worker_options {
	const char *export; /* NULL: `handle` if the module has it, else `_start` */
	uint64_t memory;    /* of the linear memory, in bytes */
	uint64_t fuel;      /* WORKER_FUEL_NONE: not counted */
	const char **variables;
	size_t n_variables, cap_variables;
	const char **grants; /* what host functions are asked for: http, email … */
	size_t n_grants, cap_grants;
	struct worker_folder *folders;
	size_t n_folders, cap_folders;
	bool serves;    /* call after call, and not one: `serve` instead of `run` */
	bool has_input; /* standard input is a skill's input, whatever the arguments are */
	const char *const *args;
	size_t n_args;
};

/* The words behind `run`; *ret points into them and into the arena. -EINVAL, -ENOMEM. */
int worker_options_read(struct worker_options *ret, const char *const *words, size_t n,
	struct arena *a, struct error *e);
/* The value of a word NAME=VALUE, or NULL; and that value as a number, or -EINVAL. */
const char *worker_options_value(const char *word, const char *name);
int worker_options_number(const char *word, const char *value, uint64_t *ret, struct error *e);
bool worker_options_grants(const struct worker_options *o, const char *name);
