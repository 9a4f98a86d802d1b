/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * When what waits for the log is due, and how to wait for others. Two things wait for the log: what
 * lies in the ring of a trail, and what lies in the queue of a store; and there are three waits in
 * pauses: for the lock between processes, for room in the ring, for a thread that has begun to
 * write an event. All of them do it as it is written here.
 *
 * A batch is atomic: any thread may ask whether it is due, without a lock.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct audit_batch {
	unsigned most, ms;         /* due with so many, or when the first has waited so long */
	_Atomic uint64_t since_ms; /* since when the first waits; 0: none does */
	_Atomic uint64_t retry_ms; /* the log could not be written: not before then again */
};

/* 0: 64, 20 ms; never more than AUDIT_BATCH_MAX. */
enum { AUDIT_BATCH_MAX = 4096 };
void audit_batch_init(struct audit_batch *b, unsigned most, unsigned ms);
/* n wait; if there is one, its time begins now, unless it has begun. The clock is CLOCK_MONOTONIC.
 */
bool audit_batch_is_due(struct audit_batch *b, uint64_t n, uint64_t now_ms);
/* How long until they are due, for poll(); -1: none waits. */
int audit_batch_wait_ms(struct audit_batch *b, uint64_t n, uint64_t now_ms);
/* What is left until then; 0 if it is over. */
int audit_batch_left_ms(uint64_t now_ms, uint64_t then_ms);

/* Pauses that grow from 50 µs to 2 ms. They are added up, because a clock may be set. */
struct audit_pause {
	uint64_t most_ms, done_us, next_us; /* the last two are 0 at first */
};
/* False, at once: it has waited for most_ms. */
bool audit_pause(struct audit_pause *p);
