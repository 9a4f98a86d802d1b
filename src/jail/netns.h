/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A network namespace with its loopback interface up, made beside the caller (jail/beside.h): the
 * kernel needs longer for one than for all other namespaces of a session together.
 *
 * Until netns_join() returns 0 the caller is in the network that it was in before: it makes no
 * socket meanwhile, and no command may run.
 */
#include "jail/beside.h"

/* Zero: none was begun. */
struct netns {
	struct beside beside;
	int fd; /* of the namespace */
};

/* Needs CAP_SYS_ADMIN and CAP_NET_ADMIN. */
void netns_begin(struct netns *n);
/* Waits for it and enters it; once. Without netns_begin() it does nothing. */
int netns_join(struct netns *n);
