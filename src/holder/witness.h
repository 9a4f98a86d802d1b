/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Outside the jail: sees what the command asks for (listener.h), and reports it. All that is
 * reported is advisory. The names are in the command's memory, which another thread can change
 * between our look and the kernel's; so nothing may ever be allowed or refused because of them, and
 * nothing is.
 *
 * A call waits until it was looked at. If the process that holds a witness dies, so does the
 * session.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "holder/listener.h"
#include "jail/notify.h"

struct witness;

/* One call, or one of the two paths of a call. */
struct sight {
	pid_t pid; /* of the thread, as it is known outside */
	enum notify_kind kind;
	uint64_t extra; /* OPEN, NAMESPACE: flags; ACCESS: mode */
	bool itself;    /* a link at the end is meant itself */
	/* As it is inside: absolute, not normal. CONNECT: of a socket with a name, else NULL.
	 * NAMESPACE: NULL. */
	const char *path;
	const struct sockaddr_storage *address; /* CONNECT */
	int root; /* the root folder inside, O_PATH; -1: not known yet */
};

typedef void witness_seen(void *context, const struct sight *sight);

/* Looks at the calls of that listener, which it must outlive. Each is reported before it goes on.
 */
int witness_new(struct witness **ret, struct call_listener *l, witness_seen *seen, void *context);
/* After the listener. */
void witness_free(struct witness *w);
