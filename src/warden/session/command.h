/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One command of a session, as the side outside the jail knows it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct cgroup;

struct command {
	struct command *next;
	uint64_t id;
	char *program;     /* for records; NULL: there was no memory for it */
	int socket, pidfd; /* of its init; -1 while it waits for one */
	bool started;
	uint32_t flags;    /* of the report: what we did to it */
	uint64_t deadline; /* on the clock of clock_ms(); 0: none */
	bool doomed;       /* it was told to end; at the deadline its init is killed */
	/* Until an init takes it: what is sent then. */
	struct buffer body;
	int stdio[3];
	uint64_t timeout_ms, memory, pids;
	uint64_t signals; /* one bit for each that is to follow */
	unsigned n_lost;  /* inits that died before they took it */
	struct cgroup *cgroup;
};

struct command *command_new(uint64_t id);
void command_free(struct command *c);
