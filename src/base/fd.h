/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Descriptors and who owns them. -1 is none. */
#include <stddef.h>
#include <unistd.h>

/* Closes *fd, if there is one, and forgets it: a second call does nothing. */
static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}
/* Gives the descriptor away. */
static inline int fd_take(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}
/* Some are only held, and never named again. */
#define auto_fd __attribute__((cleanup(fd_close), unused)) int

/*
 * In a new process: the descriptors of the list become FD_KEPT and those after it, in this order
 * and closed by an exec; standard input, output and error become /dev/null; all others are closed.
 * After an error the list has what it came to.
 */
enum { FD_KEPT = 3 };
int fd_keep_only(int *const list[], size_t n);
