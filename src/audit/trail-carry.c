/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the ring into the store. Whoever adds looks whether something is due (a batch is full, or
 * its time is over) and tries to become the carrier; who does not get it goes on, because somebody
 * else is at it. The carrier takes what is in the ring by then, in its order, and commits it.
 *
 * Two things make somebody wait for the carrier: a ring that is three quarters full, and flushing.
 *
 * A store that fails must not hold up those who add: after a failure nobody but flush() tries again
 * for a while. What the ring wrote over meanwhile is lost, and the store is told how much, at the
 * place where it is missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "audit/trail-part.h"
#include "base/clock.h"

enum {
	FULL_PERCENT = 75,
	/* How often somebody who carried looks again, so that none has to do it for all others. */
	ROUNDS = 2,
	RETRY_MS = 1000,
	PAUSE_NS = 50000,
	/* For a thread that has begun to write an event: a second, and five when flushing. */
	PAUSES_FULL = 20000,
	PAUSES_FLUSH = 100000,
	/* For other processes that write to the log. */
	PATIENCE_ADD_MS = 50,
	PATIENCE_FULL_MS = 1000,
	PATIENCE_MS = 5000,
};

/* Those that lie in the ring, and nowhere else. */
static uint64_t trail_carry_pending(struct audit_trail *t)
{
	const uint64_t carried = atomic_load(&t->carried), count = audit_ring_count(t->ring);

	return count > carried ? count - carried : 0;
}

static bool trail_carry_is_due(struct audit_trail *t, uint64_t now)
{
	const uint64_t since = atomic_load(&t->waiting_ms), retry = atomic_load(&t->retry_ms);

	if (now < retry)
		return false;
	return trail_carry_pending(t) >= t->batch ||
	       (since && now >= since && now - since >= t->batch_ms);
}

static bool is_full(struct audit_trail *t)
{
	const struct audit_ring_mark mark = { .events = atomic_load(&t->carried),
		.cells = atomic_load(&t->carried_cells) };

	return audit_ring_filled(t->ring, &mark) >= FULL_PERCENT;
}

/* Puts into the log how many events are not there. */
static int tell_loss(struct audit_trail *t)
{
	const uint64_t lost = t->reader.lost;
	char reason[96];
	struct audit_event e = { .action = AUDIT_STORE,
		.decision = AUDIT_FAILED,
		.program = "",
		.target = "",
		.rule = "",
		.reason = reason,
		.exact = true };
	int r;

	atomic_store(&t->lost, lost > t->told ? lost : t->told);
	if (lost <= t->told)
		return 0;
	e.count = lost - t->told;
	(void)snprintf(reason, sizeof(reason),
		"%" PRIu64 " events were lost before they could be stored", e.count);
	trail_complete(t, &e);
	r = audit_store_add(t->store, &e);
	if (r == 0)
		t->told = lost;
	return r;
}

/* The next event of the ring. 1: it is in the store; 0: it is not written yet. */
static int move_one(struct audit_trail *t)
{
	const struct audit_reader before = t->reader;
	struct audit_event event;
	const int there = audit_ring_read(t->ring, &t->reader, &event, t->buffer);
	int r = tell_loss(t);

	if (r == 0 && there)
		r = audit_store_add(t->store, &event);
	if (r == 0)
		return there;
	t->reader = before;
	return r;
}

/* When to try again. Who waited for others in vain waits ten times as long until the next try. */
static uint64_t retry_after(int r, unsigned patience_ms)
{
	if (r != -EBUSY)
		return RETRY_MS;
	return 10 * (uint64_t)(patience_ms < PATIENCE_FULL_MS ? patience_ms : PATIENCE_FULL_MS);
}

static void trail_carry_note(
	struct audit_trail *t, int r, unsigned patience_ms, const struct audit_ring_mark *mark)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC), next = t->reader.next;
	/* Others were at it, and there is room: that is no failure yet. */
	const bool later = r == -EBUSY && patience_ms < PATIENCE_FULL_MS;

	atomic_store(&t->carried, next - 1);
	if (next > mark->events)
		atomic_store(&t->carried_cells, mark->cells);
	else
		atomic_store(&t->waiting_ms, now);
	if (!later)
		atomic_store(&t->failure, r);
	atomic_store(&t->retry_ms, r < 0 ? now + retry_after(r, patience_ms) : 0);
}

/* All that is in the ring now, but for what is just being written. With the carrier's lock. */
static int carry(struct audit_trail *t, unsigned patience_ms, struct error *e)
{
	struct audit_ring_mark mark;
	int r = 1;

	audit_store_patience(t->store, patience_ms);
	/* First this: whoever adds something that is not taken now begins a new time. */
	atomic_store(&t->waiting_ms, 0);
	mark = audit_ring_mark(t->ring);
	while (r > 0 && t->reader.next <= mark.events)
		r = move_one(t);
	/* If the store did not take one, this is what it says, or the next round takes it. Others
	 * were waited for already. */
	if (r < 0)
		audit_store_patience(t->store, 0);
	r = audit_store_commit(t->store, e);
	trail_carry_note(t, r, patience_ms, &mark);
	return r;
}

static void pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	(void)nanosleep(&pause, NULL);
}

static bool is_failing(struct audit_trail *t)
{
	return atomic_load(&t->failure) && clock_ms(CLOCK_MONOTONIC) < atomic_load(&t->retry_ms);
}

/* A thread that was interrupted while it wrote an event holds up all behind it, for as long as the
 * machine has other things to do; its event would be lost if the ring went round meanwhile. */
void trail_make_room(struct audit_trail *t)
{
	for (unsigned i = 0; i < PAUSES_FULL && is_full(t) && !is_failing(t); i++) {
		if (i > 0)
			pause_a_little();
		(void)pthread_mutex_lock(&t->carrier);
		if (is_full(t) && !is_failing(t))
			(void)carry(t, PATIENCE_FULL_MS, NULL);
		(void)pthread_mutex_unlock(&t->carrier);
	}
}

/* Something waits, if not for longer, then since now. */
static void begin_waiting(struct audit_trail *t, uint64_t now)
{
	uint64_t nobody = 0;

	(void)atomic_compare_exchange_strong(&t->waiting_ms, &nobody, now);
}

void trail_carry_due(struct audit_trail *t)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	begin_waiting(t, now);
	for (unsigned i = 0; i < ROUNDS && trail_carry_is_due(t, now); i++) {
		if (pthread_mutex_trylock(&t->carrier) != 0)
			return;
		(void)carry(t, PATIENCE_ADD_MS, NULL);
		(void)pthread_mutex_unlock(&t->carrier);
	}
}

/* Some were lost since the last time that somebody was told. */
static int report_loss(struct audit_trail *t, struct error *e)
{
	const uint64_t n = t->told - t->reported;

	t->reported = t->told;
	if (!n)
		return 0;
	return error_set(e, -EOVERFLOW, NULL,
		"%" PRIu64 " events were lost, because the log could not be written in time", n);
}

/* Who waited for others in vain does not do so again right away, to close. */
static int flush_up_to(struct audit_trail *t, uint64_t number, struct error *e)
{
	const unsigned patience_ms = t->in_vain ? PATIENCE_ADD_MS : PATIENCE_MS;
	int r = carry(t, patience_ms, e);

	for (unsigned i = 0; r == 0 && t->reader.next <= number; i++) {
		if (i == PAUSES_FLUSH)
			return error_set(e, -ETIMEDOUT, NULL,
				"a thread began to write an event, and does not go on");
		pause_a_little();
		r = carry(t, patience_ms, e);
	}
	t->in_vain = r == -EBUSY;
	return r < 0 ? r : report_loss(t, e);
}

int audit_trail_flush(struct audit_trail *t, struct error *e)
{
	const uint64_t number = audit_ring_count(t->ring);
	int r;

	if (!t->store)
		return 0;
	(void)pthread_mutex_lock(&t->carrier);
	r = flush_up_to(t, number, e);
	(void)pthread_mutex_unlock(&t->carrier);
	return r;
}

int audit_trail_tick(struct audit_trail *t, struct error *e)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	int r = 0;

	if (!t->store || now < atomic_load(&t->retry_ms) || pthread_mutex_trylock(&t->carrier) != 0)
		return 0;
	if (trail_carry_pending(t))
		begin_waiting(t, now);
	if (trail_carry_is_due(t, now) || audit_store_wait_ms(t->store) == 0)
		r = carry(t, PATIENCE_ADD_MS, e);
	(void)pthread_mutex_unlock(&t->carrier);
	return r;
}

static int trail_carry_left_ms(uint64_t now, uint64_t when)
{
	if (now >= when)
		return 0;
	return when - now > INT_MAX ? INT_MAX : (int)(when - now);
}

/* With the carrier's lock. */
static int wait_ms(struct audit_trail *t, uint64_t now)
{
	const int retry = trail_carry_left_ms(now, atomic_load(&t->retry_ms));
	const int store = audit_store_wait_ms(t->store);
	int least = -1;

	if (trail_carry_pending(t)) {
		begin_waiting(t, now);
		least = trail_carry_is_due(t, now)
				? 0
				: trail_carry_left_ms(
					  now, atomic_load(&t->waiting_ms) + t->batch_ms);
	}
	if (least < 0 || (store >= 0 && store < least))
		least = store;
	return least >= 0 && least < retry ? retry : least;
}

int audit_trail_wait_ms(struct audit_trail *t)
{
	int r;

	if (!t->store)
		return -1;
	/* Somebody is at it. */
	if (pthread_mutex_trylock(&t->carrier) != 0)
		return (int)t->batch_ms;
	r = wait_ms(t, clock_ms(CLOCK_MONOTONIC));
	(void)pthread_mutex_unlock(&t->carrier);
	return r;
}

uint64_t audit_trail_lost(struct audit_trail *t)
{
	return atomic_load(&t->lost);
}

int audit_trail_failure(struct audit_trail *t)
{
	return atomic_load(&t->failure);
}
