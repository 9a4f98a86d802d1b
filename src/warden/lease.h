/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The init that the host was lent. The host gives it commands by its socket, and hears from it,
 * without the warden between: for a short command the way through another process is what costs
 * most. The warden keeps the time, which a host that does not listen could not.
 */
#include <stdbool.h>
#include <stdint.h>

struct lease {
	int socket, pidfd; /* -1: nothing is lent */
	int timer;         /* readable at the deadline */
	uint64_t id;       /* of the command with a deadline */
	bool doomed;       /* it was told to end */
};

int lease_init(struct lease *l);
/* Takes over both descriptors. */
void lease_give(struct lease *l, int socket, int pidfd);
/* A command that the host started must end by then. */
void lease_begin(struct lease *l, uint64_t id, uint64_t timeout_ms);
void lease_end(struct lease *l, uint64_t id);
/* The timer is readable. */
void lease_expire(struct lease *l);
/* The init is gone. */
void lease_drop(struct lease *l);
