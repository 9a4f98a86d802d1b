/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A task that reads what strangers wrote, in a process that can do little else: it reads below the
 * folders that it is given and writes to one pipe. It has no other file, no program, no socket, no
 * capability; its time, memory and output are bounded. What it prints is foreign, too.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct buffer;

struct confined {
	const char *const *reads; /* folders, ending with NULL; one that is not there is left out */
	uint64_t ms;              /* how long it may take */
	size_t max;               /* bytes of output */
};

/* Writes its answer to standard output, which is the pipe; what it returns is its exit status. */
typedef int confined_task(void *data);

/*
 * Runs the task in a child process and waits for it: its exit status, with what it printed.
 * -ETIME: it took too long; -EFBIG: it printed too much; -EIO: it was ended by a signal; -ENOTSUP:
 * this kernel cannot confine it, so it did not run.
 */
int confined_run(const struct confined *c, confined_task *task, void *data, struct buffer *ret,
	struct error *e);
