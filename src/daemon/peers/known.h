/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Events of a session that are in the log behind a number: what is sent again, or is in a file, may
 * be among them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"

struct supervisor;

struct known_event {
	uint64_t sequence, time_ns;
	enum audit_action action;
};

struct known {
	struct known_event *events;
	size_t n, cap, read;
};

/* Reads what the log has, the last ones if these are many; all that we got is committed before.
 * number: of the log. Negative: not now, as -EBUSY if another process holds the log. */
int known_read(struct supervisor *s, const char *session, uint64_t number, struct known *ret);
/* True if it was among them; it is removed. */
bool known_take(struct known *k, const struct audit_event *e);
void known_deinit(struct known *k);
#define auto_known __attribute__((cleanup(known_deinit))) struct known
