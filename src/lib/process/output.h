/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command prints: read as fast as it comes, kept up to a limit, or handed to a callback.
 * Beyond the limit it is still read, counted and dropped: a command never hangs because it says too
 * much.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "corral/sandbox.h"

/* What became of it. */
struct printed {
	struct buffer kept;
	uint64_t bytes; /* in all */
	bool truncated;
};

struct output {
	int fd; /* non-blocking; -1: at its end, taken, or not the library's */
	bool is_tty;
	enum corral_stream stream;
	uint64_t limit;
	corral_output_callback *callback;
	void *context;
	struct printed printed;
};

/*
 * Reads what is there, at most max bytes. 0: nothing more for now (fd is -1 at the end); 1: max was
 * reached; -ECANCELED: the callback wants no more.
 */
int output_pump(struct output *o, size_t max);
/* Reads what was printed before now, and nothing that somebody may print later; closes. */
int output_finish(struct output *o);
void output_close(struct output *o);
