/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Policies that are handed over and not named: by a descriptor, or in the environment. What is read
 * once is closed, and nothing of it is left for a command to see: descriptors above the third never
 * reach one, and host/environment.h keeps these variables from it.
 */
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/path.h"

/* "fd:3": a descriptor where the name of a file is expected. A file of that name is "./fd:3". */
bool launch_source_is_fd(const char *name);

/*
 * The name of the file behind a descriptor, which is to be guarded like one that was named. False
 * if it has none: a pipe, a memfd, a file that was deleted.
 */
bool launch_source_name(int fd, char out[PATH_BYTES]);

/*
 * Reads all of a descriptor and closes it. number: its number in decimal, 3 at least. It must have
 * been handed over: one that is closed on exec is the program's own. A file is read from its start,
 * wherever it stands; a pipe or a stream socket up to its end, which comes when all who could write
 * to it have closed it.
 *
 * -EINVAL: no such number, or neither file, pipe nor socket; -EBADF: not open, not handed over, or
 * not for reading; -EFBIG: more than max bytes. `from` begins the sentence: "--policy fd:3".
 *
 * name: that of launch_source_name(), or "".
 */
int launch_source_read(const char *from, const char *number, size_t max, struct buffer *out,
	char name[PATH_BYTES], struct error *e);

/*
 * Takes environment_policies out of the environment, and wipes them where the kernel shows them
 * (/proc/PID/environ). For programs: a library's host may have threads that read it. Returns
 * the name of the first that was set, or NULL.
 */
const char *launch_source_forget(void);
