/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the broker did, for the log of whoever holds its session: FRAME_EVENT for each event
 * (wire/frame.h), before the call is answered. Any thread tells.
 *
 * Nothing is done that cannot be reported. Events that a holder does not read wait here, and as
 * long as any waits, no call begins: telling_is_ready() waits for the holder, a second at most, and
 * says no until it reads again. Those of calls that had begun are kept; if they are too many, the
 * threads that tell wait, for as long as there is a holder. What is not sent because it has gone,
 * or for lack of memory, is counted, and the next one that is sent says how many.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/buffer.h"

enum { TELLING_KEPT_MAX = 8 << 20 }; /* bytes */

/* One that the holder did not take yet. */
struct telling_event {
	struct telling_event *next;
	struct buffer body;
};

struct telling {
	int socket;    /* non-blocking; the caller's */
	int wake;      /* an eventfd of the caller: written when the first one waits; or -1 */
	bool is_stuck; /* the holder was waited for */
	uint64_t lost; /* since the last one that was sent */
	struct telling_event *first, *last;
	size_t kept; /* bytes */
	pthread_mutex_t lock;
};

/* For monitor_options.tell; context: a struct telling. */
void telling_add(void *context, const struct audit_event *e);
/* For monitor_options.may_act: whether all events are on their way to the holder. */
bool telling_is_ready(void *context);
/* Sends what the holder takes now; whether that was all. */
bool telling_flush(struct telling *t);
/* At the end: sends what waits, for a second at most, and if events were dropped after the last one
 * that was sent, says how many. */
void telling_finish(struct telling *t);
