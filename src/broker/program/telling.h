/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the broker did, for the log of whoever holds its session: FRAME_EVENT for each event
 * (wire/frame.h), before the call is answered. Any thread tells.
 *
 * A holder that does not read holds up the calls: the thread waits for it, a second at most. After
 * that no thread waits until the holder reads again, events are dropped, and the next one that is
 * sent says how many.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"

struct telling {
	int socket; /* non-blocking; the caller's */
	bool is_stuck;
	uint64_t lost; /* since the last one that was sent */
	pthread_mutex_t lock;
};

/* For monitor_options.tell; context: a struct telling. */
void telling_add(void *context, const struct audit_event *e);
/* At the end: if events were dropped after the last one that was sent, says how many. */
void telling_finish(struct telling *t);
