/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What everybody does who adds: the event is completed, its secrets are taken out, then it is in
 * the ring. What the ring or the store has was redacted before, so it does not matter who reads
 * them, or when.
 *
 * The values to look for are under a lock for readers and writers: many redact at once, somebody
 * who adds a value waits for them to finish, and comes before those who begin later. So an event
 * that is added after audit_trail_secret() returned has not the value in it.
 */
#include "audit/trail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/trail-part.h"
#include "base/buffer.h"
#include "base/clock.h"

enum {
	DEFAULT_RING = 1 << 20,
	/* As those of the store. */
	DEFAULT_BATCH = 64,
	DEFAULT_BATCH_MS = 20,
	/* What came while a batch was written goes into the next as a whole. */
	BATCHES_AT_ONCE = 4,
};

static int trail_no_memory(struct error *e)
{
	return error_no_memory(e);
}

/* Somebody who adds a value must not starve. */
static int init_locks(struct audit_trail *t)
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

static int copy_names(struct audit_trail *t, const struct audit_trail_options *o)
{
	char user[32];

	(void)snprintf(user, sizeof(user), "%lu", (unsigned long)geteuid());
	t->session = strdup(o->session ? o->session : "");
	t->user = strdup(o->user ? o->user : user);
	t->sandbox = strdup(o->sandbox ? o->sandbox : "");
	return t->session && t->user && t->sandbox ? 0 : -ENOMEM;
}

static int open_store(struct audit_trail *t, const struct audit_store_options *o, struct error *e)
{
	struct audit_store_options store = *o;

	if (o->batch)
		t->batch = o->batch;
	if (o->batch_ms)
		t->batch_ms = o->batch_ms;
	store.batch = t->batch * BATCHES_AT_ONCE;
	return audit_store_open(&t->store, &store, e);
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
	struct audit_trail *t = aligned_alloc(TRAIL_LINE, sizeof(*t));
	int r;

	if (!t)
		return trail_no_memory(e);
	*t = (struct audit_trail){
		.batch = DEFAULT_BATCH, .batch_ms = DEFAULT_BATCH_MS, .reader = { .next = 1 }
	};
	r = init_locks(t);
	if (r == 0)
		r = copy_names(t, o);
	if (r == 0)
		r = redactor_new(&t->redactor);
	if (r == 0)
		r = audit_ring_new(&t->ring, o->ring_bytes ? o->ring_bytes : DEFAULT_RING);
	if (r < 0)
		(void)error_set(e, r, NULL, "a trail of events: %s", strerror(-r));
	else if (o->store)
		r = open_store(t, o->store, e);
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

static const char *text_or(const char *text, const char *other)
{
	return text && *text ? text : other;
}

void trail_complete(struct audit_trail *t, struct audit_event *e)
{
	if (!e->time_ns)
		e->time_ns = clock_ns(CLOCK_REALTIME);
	if (!e->sequence)
		e->sequence = atomic_fetch_add_explicit(&t->sequence, 1, memory_order_relaxed) + 1;
	if (!e->count)
		e->count = 1;
	e->session = text_or(e->session, t->session);
	e->user = text_or(e->user, t->user);
	e->sandbox = text_or(e->sandbox, t->sandbox);
}

uint64_t audit_trail_add(struct audit_trail *t, const struct audit_event *event)
{
	auto_buffer texts = { 0 };
	struct audit_event e = *event;
	uint64_t number;

	trail_complete(t, &e);
	(void)pthread_rwlock_rdlock(&t->secrets);
	redact_event(t->redactor, &e, &texts);
	(void)pthread_rwlock_unlock(&t->secrets);
	if (t->store)
		trail_make_room(t);
	number = audit_ring_add(t->ring, &e);
	if (t->store)
		trail_carry_due(t);
	return number;
}

struct audit_ring *audit_trail_ring(struct audit_trail *t)
{
	return t->ring;
}
