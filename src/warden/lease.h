/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The init that the host was lent. The host and the init exchange frames by its socket,
 * without the warden between: for a short command the way through another process is what costs
 * most. The warden keeps the time, which a host that does not listen could not.
 */
#include <stdbool.h>
#include <stdint.h>

struct lease {
	int socket, pidfd; /* -1: nothing is lent */
	int timer;         /* readable at the deadline */
	uint64_t id;       /* of the command with a deadline */
	bool doomed;       /* its command was ended */
};

int lease_init(struct lease *l);
/* When to end its command; 0: never. */
void lease_set_timer(const struct lease *l, uint64_t ms);
/* The init is not lent any more. */
void lease_drop(struct lease *l);
/* The timer is readable: ends the command, and a second later kills its init. */
void lease_expire(struct lease *l);
