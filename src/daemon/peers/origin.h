/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the process at the other end of a Unix socket runs: outside all sandboxes, as we do, or
 * inside one (host/marks.h).
 *
 * A peer that cannot be looked at, or that has ended, counts as inside: who connects and goes while
 * another one holds the socket is not known. The peer is held by a pidfd while it is looked at, so
 * that its number stands for no other process meanwhile.
 */
#include <stdint.h>
#include <sys/types.h>

#include "host/marks.h"

/* Our own, before we confine anything. */
int origin_read_own(struct marks *ret);

struct origin_peer {
	pid_t pid;
	uid_t uid;
};

/*
 * 0: the peer runs as we do. -EACCES: it does not, and *ret_why says how that was seen. -ESRCH: it
 * has ended, and no process holds the socket in its place. *ret is filled in all cases, as far as
 * the kernel knows.
 */
int origin_check(
	const struct marks *own, int socket, struct origin_peer *ret, const char **ret_why);
