/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Programs of the user's that a back end runs: found by PATH, given bytes, read with bounds. They
 * get the environment of this process, which has only what leads to no code that a command could
 * have left (broker/service/start.c, host/lookup.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/path.h"

/* A program by its name, in the folder that is configured (or NULL), and in those of $PATH that no
 * command can write. -ENOENT. */
int program_find(const char *name, const char *folder, char out[PATH_BYTES]);

struct program_run {
	const char *path;
	const char *const *argv; /* ends with NULL */
	const char *input;       /* its stdin; NULL: /dev/null */
	size_t input_len;
	struct buffer *output; /* its stdout; NULL: /dev/null */
	bool errors;           /* its stderr goes there, too; else to /dev/null */
	size_t max;            /* bytes of that; more ends it */
	uint64_t until_ms;     /* CLOCK_MONOTONIC */
};

/*
 * Runs it with the environment of this process, and waits for its end: its exit status, or 128 and
 * the signal. A child that it leaves behind is not waited for, unless it has the output. -ETIMEDOUT
 * and -EFBIG: it was killed.
 */
int program_run(const struct program_run *p);
