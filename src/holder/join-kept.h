/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the daemon is to hear, in a ring: frames stay until they are sent, events until they are
 * acknowledged. If there are too many, the oldest of the least weight are dropped, and counted
 * where they were (holder/join.h).
 */
#include <stdint.h>

#include "holder/join.h"

static inline struct holder_join_frame *join_kept(const struct holder_join *j, uint64_t i)
{
	return &j->kept[i % HOLDER_JOIN_KEPT];
}

/* Takes the body over, or drops it. */
void join_keep(struct holder_join *j, struct holder_join_frame *added);
/* Takes the body over. */
void join_keep_event(
	struct holder_join *j, const struct audit_event *e, uint64_t id, struct buffer *body);
/* What is nothing to wait for. */
void join_forget(struct holder_join *j);
/* What was for another daemon: this one gets the present state. */
void join_drop_orders(struct holder_join *j);
/* Up to so many of the events that were dropped right before it; returns how many are left of n. */
uint64_t join_ack_forgotten(struct holder_join *j, struct holder_join_frame *kept, uint64_t n);
/* How many events there are from that one on. */
uint64_t join_events(const struct holder_join *j, uint64_t from);
