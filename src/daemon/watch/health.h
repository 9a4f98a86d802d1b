/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whether corrald-http answers. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "event/loop.h"

struct supervisor;

struct health {
	struct timer timer;
	struct watcher answer; /* our end of a connection to corrald-http */
	pid_t asked;           /* which one */
	uint64_t asked_at;     /* by the loop */
	bool is_good;          /* the last answer was right */
};

/* Asks corrald-http for /api/health now and then; one that does not answer is started again. */
int health_open(struct supervisor *s);
void health_close(struct supervisor *s);
/* It has answered lately. */
bool health_is_good(const struct supervisor *s);
