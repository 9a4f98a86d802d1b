/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a back end can do once it has opened what it serves. */
#include <stdbool.h>
#include <stdint.h>

struct backend_place {
	const char *path; /* one that is not there is left out */
	unsigned access;  /* LANDLOCK_* (jail/landlock.h) */
};

struct backend_confinement {
	const struct backend_place *places; /* path NULL behind the last; NULL: no file at all */
	bool exec;    /* programs may run: those that a place with LANDLOCK_EXECUTE has */
	bool sockets; /* may open sockets of the network (TCP, UDP) */
	/* With sockets: the only TCP port that it may connect to, where Landlock has version 4; 0:
	 * any. */
	uint16_t port;
	bool unix_sockets; /* may open Unix sockets, abstract ones too: where others lead, Landlock
			      decides only from version 9 on; prefer to connect before */
};

/*
 * For good: no capabilities, no new privileges, nothing of the file system but these places, a
 * filter of system calls, no core file, no process of the same user may look into it. What is open
 * stays open. -ENOSYS …: the kernel has no Landlock; then nothing is served.
 */
int backend_confine(const struct backend_confinement *c);
