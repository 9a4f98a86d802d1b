/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Starting a program beside this process, by posix_spawn(): a fork would copy the page tables of a
 * large one, and run its handlers of fork. The program has the descriptors that are named and no
 * others (all of ours are close-on-exec), default signals, and none of them blocked.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum starting_place {
	STARTING_HERE,    /* in our session, and in our group of processes */
	STARTING_GROUP,   /* in a group of its own, to be ended with all that it starts */
	STARTING_SESSION, /* in a session of its own: no signals of our terminal */
};

struct starting {
	const char *program;                  /* a path */
	const char *const *argv, *const *env; /* end with NULL; env NULL: none */
	const int *fds; /* become 0, 1, 2 …; -1: /dev/null. At least three */
	size_t n;
	const char *folder; /* its current one; NULL: ours */
	enum starting_place place;
	bool closes_rest; /* of a program of others: not all that it has is close-on-exec */
};

enum { STARTING_FDS_MAX = 8 };

/* *ret, untouched on failure, is the caller's to wait for. -ENOENT, -EACCES: of the program, too.
 */
int starting_program(const struct starting *s, pid_t *ret);

/*
 * Starting a copy of this process, as fork() does, but without the handlers that a library has for
 * it: one clone() call. flags: CLONE_NEW…, CLONE_PARENT; never CLONE_VM. Its end is a SIGCHLD.
 * ret_pidfd: a descriptor of it; NULL: none is needed. Returns 0 in the copy; there, no other
 * thread goes on. Negative: there is none.
 */
pid_t starting_copy(unsigned long flags, int *ret_pidfd);
