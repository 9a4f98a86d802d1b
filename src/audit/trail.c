/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What everybody does who adds: the event is completed, its secrets are taken out, then it is in
 * the ring. What the ring or the store has was redacted before, so it does not matter who reads
 * them, or when.
 *
 * The values to look for are under a lock for readers and writers: many redact at once, somebody
 * who adds a value waits for them to finish, and comes before those who begin later. So an event
 * that is added after audit_trail_secret() returned has not the value in it.
 *
 * From the ring into the store: whoever adds looks whether a batch is due and tries to become the
 * carrier; who does not get it goes on, because another thread carries. The carrier takes what is
 * in the ring by then, in its order, and commits it. Two things make a thread wait for the carrier:
 * a ring that is three quarters full, and flushing.
 *
 * A store that fails must not hold up those who add: after a failure only flush() tries again
 * for a while. What the ring wrote over meanwhile is lost, and the store is told how much, at the
 * place where it is missing.
 */
#include "audit/trail.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/batch.h"
#include "base/buffer.h"
#include "base/clock.h"

enum {
	LINE = 64,
	DEFAULT_RING = 1 << 20,
	/* What came while a batch was written goes into the next as a whole. */
	BATCHES_AT_ONCE = 4,
	FULL_PERCENT = 75,
	/* How often a carrier looks again, so that no thread has to do it for all others. */
	ROUNDS = 2,
	RETRY_MS = 1000,
	/* For other processes that write to the log, and for a thread that has begun to write an
	 * event: who adds; who adds to a ring that is full; who flushes. */
	PATIENCE_ADD_MS = 50,
	PATIENCE_FULL_MS = 1000,
	PATIENCE_MS = 5000,
};

struct audit_trail {
	struct audit_ring *ring;
	struct audit_store *store; /* NULL: in memory only */
	unsigned patience_ms;      /* of who flushes, for other processes */
	char *session, *user, *sandbox;
	void (*tell)(void *context, const struct audit_event *e);
	void *context;

	pthread_rwlock_t secrets; /* guards the redactor */
	struct redactor *redactor;

	_Alignas(LINE) _Atomic uint64_t sequence;

	/* How far the store has taken over: audit_ring_mark(). */
	_Alignas(LINE) _Atomic uint64_t carried, carried_cells;
	struct audit_batch batch; /* what lies in the ring, and nowhere else */
	_Atomic uint64_t lost;
	_Atomic int failure;
	/* The number in the ring up to which all is committed, and the log's last record by then.
	 */
	_Atomic uint64_t committed, log_number;

	pthread_mutex_t carrier; /* guards the rest, and the store */
	struct audit_reader reader;
	uint64_t told;     /* how many losses stand in the store */
	uint64_t reported; /* and how many were reported to a caller of flush() */
	bool in_vain;      /* the last one that flushed waited for others, and got nothing */
	_Alignas(8) char buffer[AUDIT_EVENT_MAX];
};

/* A thread that adds a value must not starve. */
static int trail_init_locks(struct audit_trail *t)
{
	pthread_rwlockattr_t attr;
	int r = pthread_rwlockattr_init(&attr);

	if (r == 0)
		r = pthread_rwlockattr_setkind_np(
			&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	if (r == 0)
		r = pthread_rwlock_init(&t->secrets, &attr);
	if (r == 0)
		r = pthread_mutex_init(&t->carrier, NULL);
	return -r;
}

static void trail_free(struct audit_trail *t)
{
	audit_ring_free(t->ring);
	redactor_free(t->redactor);
	(void)pthread_rwlock_destroy(&t->secrets);
	(void)pthread_mutex_destroy(&t->carrier);
	free(t->session);
	free(t->user);
	free(t->sandbox);
	free(t);
}

int audit_trail_new(struct audit_trail **ret, const struct audit_trail_options *o, struct error *e)
{
	struct audit_trail *t = aligned_alloc(LINE, sizeof(*t));
	struct audit_store_options store;
	char user[32];
	int r;

	if (!t)
		return error_no_memory(e);
	*t = (struct audit_trail){
		.reader = { .next = 1 }, .tell = o->tell, .context = o->context
	};
	r = trail_init_locks(t);
	(void)snprintf(user, sizeof(user), "%lu", (unsigned long)geteuid());
	t->session = strdup(o->session ? o->session : "");
	t->user = strdup(o->user ? o->user : user);
	t->sandbox = strdup(o->sandbox ? o->sandbox : "");
	if (r == 0 && (!t->session || !t->user || !t->sandbox))
		r = -ENOMEM;
	if (r == 0)
		r = redactor_new(&t->redactor);
	if (r == 0)
		r = audit_ring_new(&t->ring, o->ring_bytes ? o->ring_bytes : DEFAULT_RING);
	if (r < 0) {
		(void)error_set(e, r, NULL, "a trail of events: %s", strerror(-r));
	} else if (o->store) {
		store = *o->store;
		t->patience_ms = store.patience_ms > PATIENCE_MS ? store.patience_ms : PATIENCE_MS;
		audit_batch_init(&t->batch, store.batch, store.batch_ms);
		store.batch = t->batch.most * BATCHES_AT_ONCE;
		r = audit_store_open(&t->store, &store, e);
		if (r == 0)
			atomic_store(&t->log_number, audit_store_committed(t->store));
	}
	if (r < 0) {
		trail_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

int audit_trail_close(struct audit_trail *t, struct error *e)
{
	int r, closed;

	if (!t)
		return 0;
	r = audit_trail_flush(t, e);
	/* Others were waited for already. */
	if (r == -EBUSY)
		audit_store_patience(t->store, PATIENCE_ADD_MS);
	closed = audit_store_close(t->store, r == 0 ? e : NULL);
	trail_free(t);
	return r < 0 ? r : closed;
}

int audit_trail_secret(struct audit_trail *t, const char *name, const char *value)
{
	int r;

	(void)pthread_rwlock_wrlock(&t->secrets);
	r = redactor_add(t->redactor, name ? name : "", value);
	(void)pthread_rwlock_unlock(&t->secrets);
	return r;
}

static const char *trail_text_or(const char *text, const char *other)
{
	return text && *text ? text : other;
}

/* Fills in what an event does not say; the texts are the trail's. */
static void trail_complete(struct audit_trail *t, struct audit_event *e)
{
	if (!e->time_ns)
		e->time_ns = clock_ns(CLOCK_REALTIME);
	if (!e->sequence)
		e->sequence = atomic_fetch_add_explicit(&t->sequence, 1, memory_order_relaxed) + 1;
	if (!e->count)
		e->count = 1;
	e->session = trail_text_or(e->session, t->session);
	e->user = trail_text_or(e->user, t->user);
	e->sandbox = trail_text_or(e->sandbox, t->sandbox);
}

/* Puts into the log how many events are not there. */
static int trail_tell_loss(struct audit_trail *t)
{
	const uint64_t lost = t->reader.lost;
	char reason[96];
	struct audit_event e = {
		.action = AUDIT_STORE, .decision = AUDIT_FAILED, .reason = reason, .exact = true
	};
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
static int trail_move_one(struct audit_trail *t)
{
	const struct audit_reader before = t->reader;
	struct audit_event event;
	const int there = audit_ring_read(t->ring, &t->reader, &event, t->buffer);
	int r = trail_tell_loss(t);

	if (r == 0 && there)
		r = audit_store_add(t->store, &event);
	if (r == 0)
		return there;
	t->reader = before;
	return r;
}

/* All that is in the ring now, but for what is just being written. With the carrier's lock. */
static int trail_carry(struct audit_trail *t, unsigned patience_ms, struct error *e)
{
	struct audit_ring_mark mark;
	uint64_t now, retry = RETRY_MS;
	int r = 1;

	audit_store_patience(t->store, patience_ms);
	/* First this: whoever adds something that is not taken now begins a new time. */
	atomic_store(&t->batch.since_ms, 0);
	mark = audit_ring_mark(t->ring);
	while (r > 0 && t->reader.next <= mark.events)
		r = trail_move_one(t);
	/* If the store did not take one, this is what it says, or the next round takes it. Others
	 * were waited for already. */
	if (r < 0)
		audit_store_patience(t->store, 0);
	r = audit_store_commit(t->store, e);
	now = clock_ms(CLOCK_MONOTONIC);
	atomic_store(&t->carried, t->reader.next - 1);
	/* In this order: audit_trail_committed() reads them in the opposite one, so its number of
	 * the log is never above a record of an event that it does not count as committed. */
	if (r == 0) {
		atomic_store(&t->committed, t->reader.next - 1);
		atomic_store(&t->log_number, audit_store_committed(t->store));
	}
	if (t->reader.next > mark.events)
		atomic_store(&t->carried_cells, mark.cells);
	else
		atomic_store(&t->batch.since_ms, now);
	/* Who waited for others in vain waits ten times as long until the next try. */
	if (r == -EBUSY)
		retry = 10 * (patience_ms < PATIENCE_FULL_MS ? patience_ms : PATIENCE_FULL_MS);
	/* Others were at it, and there is room: that is no failure yet. */
	if (r != -EBUSY || patience_ms >= PATIENCE_FULL_MS)
		atomic_store(&t->failure, r);
	atomic_store(&t->batch.retry_ms, r < 0 ? now + retry : 0);
	return r;
}

/* Those that lie in the ring, and nowhere else. */
static uint64_t trail_pending(struct audit_trail *t)
{
	const uint64_t carried = atomic_load(&t->carried), count = audit_ring_count(t->ring);

	return count > carried ? count - carried : 0;
}

/* The ring is about to run over, and it helps to wait: the store does not fail. */
static bool trail_must_wait(struct audit_trail *t)
{
	const struct audit_ring_mark mark = { .events = atomic_load(&t->carried),
		.cells = atomic_load(&t->carried_cells) };

	return audit_ring_filled(t->ring, &mark) >= FULL_PERCENT &&
	       !(atomic_load(&t->failure) &&
		       clock_ms(CLOCK_MONOTONIC) < atomic_load(&t->batch.retry_ms));
}

/* Before an event enters the ring. A thread that was interrupted while it wrote one holds up all
 * after it, for as long as the machine has other things to do; its event would be lost if the ring
 * went round meanwhile. */
static void trail_make_room(struct audit_trail *t)
{
	struct audit_pause pause = { .most_ms = PATIENCE_FULL_MS };

	while (trail_must_wait(t)) {
		(void)pthread_mutex_lock(&t->carrier);
		if (trail_must_wait(t))
			(void)trail_carry(t, PATIENCE_FULL_MS, NULL);
		(void)pthread_mutex_unlock(&t->carrier);
		if (trail_must_wait(t) && !audit_pause(&pause))
			return;
	}
}

void audit_trail_redact(struct audit_trail *t, struct audit_event *e, struct buffer *texts)
{
	(void)pthread_rwlock_rdlock(&t->secrets);
	redact_event(t->redactor, e, texts);
	(void)pthread_rwlock_unlock(&t->secrets);
}

uint64_t audit_trail_add(struct audit_trail *t, const struct audit_event *event)
{
	auto_buffer texts = { 0 };
	struct audit_event e = *event;
	uint64_t number, now = 0;

	trail_complete(t, &e);
	audit_trail_redact(t, &e, &texts);
	if (t->tell)
		t->tell(t->context, &e);
	if (t->store)
		trail_make_room(t);
	number = audit_ring_add(t->ring, &e);
	if (t->store)
		now = clock_ms(CLOCK_MONOTONIC);
	/* Carries over if that is due and no other thread does. */
	for (unsigned i = 0; t->store && i < ROUNDS; i++) {
		if (!audit_batch_is_due(&t->batch, trail_pending(t), now) ||
			pthread_mutex_trylock(&t->carrier) != 0)
			break;
		(void)trail_carry(t, PATIENCE_ADD_MS, NULL);
		(void)pthread_mutex_unlock(&t->carrier);
	}
	return number;
}

/* Who waited for others in vain does not do so again right away, to close. */
static int trail_flush_up_to(struct audit_trail *t, uint64_t number, struct error *e)
{
	const unsigned patience_ms = t->in_vain ? PATIENCE_ADD_MS : t->patience_ms;
	struct audit_pause pause = { .most_ms = PATIENCE_MS };
	int r = trail_carry(t, patience_ms, e);
	uint64_t unreported;

	while (r == 0 && t->reader.next <= number) {
		if (!audit_pause(&pause))
			return error_set(
				e, -ETIMEDOUT, NULL, "a thread did not finish writing an event");
		r = trail_carry(t, patience_ms, e);
	}
	t->in_vain = r == -EBUSY;
	if (r < 0)
		return r;
	unreported = t->told - t->reported;
	t->reported = t->told;
	return unreported ? error_set(e, -EOVERFLOW, NULL,
				    "%" PRIu64 " events were lost, because the log could not be "
				    "written in time",
				    unreported)
			  : 0;
}

int audit_trail_flush(struct audit_trail *t, struct error *e)
{
	const uint64_t number = audit_ring_count(t->ring);
	int r;

	if (!t->store)
		return 0;
	(void)pthread_mutex_lock(&t->carrier);
	r = trail_flush_up_to(t, number, e);
	(void)pthread_mutex_unlock(&t->carrier);
	return r;
}

int audit_trail_try_flush(struct audit_trail *t, struct error *e)
{
	const uint64_t number = audit_ring_count(t->ring);
	int r = 0;

	if (!t->store)
		return 0;
	if (clock_ms(CLOCK_MONOTONIC) < atomic_load(&t->batch.retry_ms) ||
		pthread_mutex_trylock(&t->carrier) != 0)
		return error_set(e, -EBUSY, NULL, "the log cannot be written now");
	r = trail_carry(t, PATIENCE_ADD_MS, e);
	if (r == 0 && t->reader.next <= number)
		r = error_set(e, -EBUSY, NULL, "a thread has not finished writing an event");
	(void)pthread_mutex_unlock(&t->carrier);
	return r;
}

int audit_trail_tick(struct audit_trail *t, struct error *e)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	int r = 0;

	if (!t->store || now < atomic_load(&t->batch.retry_ms) ||
		pthread_mutex_trylock(&t->carrier) != 0)
		return 0;
	if (audit_batch_is_due(&t->batch, trail_pending(t), now) ||
		audit_store_wait_ms(t->store) == 0)
		r = trail_carry(t, PATIENCE_ADD_MS, e);
	(void)pthread_mutex_unlock(&t->carrier);
	return r;
}

int audit_trail_wait_ms(struct audit_trail *t)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	int ring, store, retry;

	if (!t->store)
		return -1;
	/* Another thread is at it. */
	if (pthread_mutex_trylock(&t->carrier) != 0)
		return (int)t->batch.ms;
	ring = audit_batch_wait_ms(&t->batch, trail_pending(t), now);
	store = audit_store_wait_ms(t->store);
	retry = audit_batch_left_ms(now, atomic_load(&t->batch.retry_ms));
	(void)pthread_mutex_unlock(&t->carrier);
	if (ring < 0 || (store >= 0 && store < ring))
		ring = store;
	return ring >= 0 && ring < retry ? retry : ring;
}

uint64_t audit_trail_committed(struct audit_trail *t, uint64_t *ret_log)
{
	*ret_log = atomic_load(&t->log_number);
	return atomic_load(&t->committed);
}

uint64_t audit_trail_lost(struct audit_trail *t)
{
	return atomic_load(&t->lost);
}

int audit_trail_failure(struct audit_trail *t)
{
	return atomic_load(&t->failure);
}

const char *audit_trail_session(const struct audit_trail *t)
{
	return t->session;
}

const char *audit_trail_sandbox(const struct audit_trail *t)
{
	return t->sandbox;
}

struct audit_ring *audit_trail_ring(struct audit_trail *t)
{
	return t->ring;
}
