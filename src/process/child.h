/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A program of ours as a child process that speaks frames by its descriptor 3. It gets nothing else
 * of its parent: /dev/null as standard input, output and error, default signals, a session of its
 * own, the variables that are named, and descriptors that are handed to it from CHILD_FDS on. All
 * other descriptors of ours are close-on-exec.
 */
#include <stddef.h>
#include <sys/types.h>

enum { CHILD_SOCKET = 3, CHILD_FDS, CHILD_FDS_MAX = 2 };

struct child {
	pid_t pid;  /* 0: none runs */
	int socket; /* our end: non-blocking, close-on-exec; -1 without one */
};
#define CHILD_NONE ((struct child){ .socket = -1 })

/* argv and env end with NULL; env NULL: none. *ret is untouched on failure. */
int child_start(
	struct child *ret, const char *program, const char *const *argv, const char *const *env);
/* By the way of exec: a frame may be refused while other processes of the user fill sockets with
 * descriptors (-ETOOMANYREFS). At most CHILD_FDS_MAX. */
int child_start_with(struct child *ret, const char *program, const char *const *argv,
	const char *const *env, const int *fds, size_t n);
/* Kills it, waits for its end, closes the socket. Nothing if there is none. */
void child_end(struct child *c);
