/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rate is held by a sliding window in steps: a window is cut into STEPS parts, and a connection
 * counts until the last part that it could lie in is over. So there is no stretch of time as long
 * as the window with more connections in it, wherever it begins; in exchange a connection may be
 * refused for one part (1/64) of the window longer than needed. Memory does not depend on the rate.
 *
 * Each part is a cell: the number of its step, and a count. The cells, and the counts of bytes, may
 * be shared with other processes (wire/ledger.h). So a connection is counted first, and taken back
 * if that was one too many: of two at the same time none is missed. A window is known by its
 * length alone, as every window counts every connection.
 *
 * Each layer's rate is checked on its own window, since of 10/min and 100/hour neither is the
 * stricter. Of the limits of bytes the least counts, and where there is none, nothing is kept: no
 * destination has an account.
 */
#include "net/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { STEPS = 64, RING = STEPS + 1, SLOTS_MIN = 64 };
_Static_assert((int)RING == LEDGER_CELLS && (int)QUOTA_DESTINATIONS_MAX == LEDGER_DESTINATIONS_MAX,
	"what is counted here can be shared");
/* Longer than any clock runs. */
#define WINDOW_MS_MAX (UINT64_MAX / 4)

struct quota_window {
	struct rate rate;
	const char *origin;
	uint64_t step_ms;
	struct ledger_window own, *counts; /* that, or one of the ledger */
};

struct quota_account {
	const struct quota *quota;
	atomic_uint_fast64_t own, *used; /* that, or one of the ledger */
	uint64_t hash;
	char target[];
};

struct quota {
	struct ledger *ledger; /* or NULL */
	struct hash_key key;
	uint64_t max_bytes;
	const char *max_origin;
	struct quota_account **slots; /* open addressing, at most half full */
	size_t n, n_slots;
	size_t n_windows;
	struct quota_window *windows;
};

/* A cell: its step, of which the lower half is enough, and the count. */
static uint32_t quota_cell_step(uint64_t cell)
{
	return (uint32_t)(cell >> 32);
}

static uint32_t quota_cell_count(uint64_t cell)
{
	return (uint32_t)cell;
}

/* Adds 1 or -1 to the count of that step. */
static void quota_window_add(struct quota_window *w, uint32_t step, int n)
{
	atomic_uint_fast64_t *cell = &w->counts->cells[step % RING];
	uint_fast64_t old = atomic_load(cell), next;

	do {
		const uint32_t count = quota_cell_step(old) == step ? quota_cell_count(old) : 0;

		/* Full, or of a step that is over. */
		if (n < 0 ? count == 0 : count == UINT32_MAX)
			return;
		next = (uint64_t)step << 32 | (n < 0 ? count - 1 : count + 1);
	} while (!atomic_compare_exchange_weak(cell, &old, next));
}

/* All that count at that step. What another process counted a moment later counts too. */
static uint64_t quota_window_sum(const struct quota_window *w, uint32_t step)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < RING; i++) {
		const uint64_t cell = atomic_load(&w->counts->cells[i]);
		const uint32_t age = step - quota_cell_step(cell);

		if (age < RING || age > UINT32_MAX - RING)
			sum += quota_cell_count(cell);
	}
	return sum;
}

static uint32_t quota_window_step(const struct quota_window *w, uint64_t now_ms)
{
	return (uint32_t)(now_ms / w->step_ms);
}

static void quota_uncount(struct quota *q, size_t n, uint64_t now_ms)
{
	for (size_t i = 0; i < n; i++)
		quota_window_add(&q->windows[i], quota_window_step(&q->windows[i], now_ms), -1);
}

/* Counts it in all windows, or in none: -EDQUOT. */
static int quota_count(struct quota *q, uint64_t now_ms, char reason[256])
{
	for (size_t i = 0; i < q->n_windows; i++) {
		struct quota_window *w = &q->windows[i];
		const uint32_t step = quota_window_step(w, now_ms);

		quota_window_add(w, step, 1);
		if (quota_window_sum(w, step) <= w->rate.count)
			continue;
		(void)snprintf(reason, 256,
			"more than %" PRIu64 " connections in %" PRIu64 " s: %s", w->rate.count,
			w->rate.seconds, w->origin);
		quota_uncount(q, i + 1, now_ms);
		return -EDQUOT;
	}
	return 0;
}

/* Where it is, or would be. */
static struct quota_account **quota_slot_of(
	struct quota_account **slots, size_t n, const char *target, uint64_t hash)
{
	size_t i = hash & (n - 1);

	for (; slots[i]; i = (i + 1) & (n - 1))
		if (slots[i]->hash == hash && strcmp(slots[i]->target, target) == 0)
			break;
	return &slots[i];
}

static int quota_grow(struct quota *q)
{
	size_t n = q->n_slots ? 2 * q->n_slots : SLOTS_MIN;
	struct quota_account **slots;

	if (q->n_slots > 0 && 2 * (q->n + 1) <= q->n_slots)
		return 0;
	slots = calloc(n, sizeof(struct quota_account *));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < q->n_slots; i++)
		if (q->slots[i])
			*quota_slot_of(slots, n, q->slots[i]->target, q->slots[i]->hash) =
				q->slots[i];
	free(q->slots);
	q->slots = slots;
	q->n_slots = n;
	return 0;
}

static int quota_is_full(char reason[256])
{
	(void)snprintf(reason, 256, "the byte limit supports at most %d destinations",
		QUOTA_DESTINATIONS_MAX);
	return -ENOSPC;
}

static int quota_find_or_add(
	struct quota *q, const char *target, struct quota_account **ret, char reason[256])
{
	uint64_t hash = hash_keyed(&q->key, 0, target, strlen(target));
	struct quota_account **slot =
		q->n_slots > 0 ? quota_slot_of(q->slots, q->n_slots, target, hash) : NULL;
	size_t size = sizeof(**slot) + strlen(target) + 1;
	struct quota_account *a = slot ? *slot : NULL;

	if (a) {
		*ret = a;
		return 0;
	}
	if (q->n == QUOTA_DESTINATIONS_MAX)
		return quota_is_full(reason);
	a = quota_grow(q) == 0 ? calloc(1, size) : NULL;
	if (!a) {
		(void)snprintf(reason, 256, "out of memory");
		return -ENOMEM;
	}
	*a = (struct quota_account){ .quota = q, .hash = hash };
	a->used = q->ledger ? ledger_bytes(q->ledger, target) : &a->own;
	if (!a->used) {
		free(a);
		return quota_is_full(reason);
	}
	memcpy(a->target, target, strlen(target) + 1);
	*quota_slot_of(q->slots, q->n_slots, target, hash) = a;
	q->n++;
	*ret = a;
	return 0;
}

void quota_explain(const struct quota_account *a, char reason[256])
{
	(void)snprintf(reason, 256,
		"the limit of %" PRIu64 " bytes to and from this host is reached: %s",
		a->quota->max_bytes, a->quota->max_origin);
}

/* The account of a destination that has something left. */
static int quota_find_account(
	struct quota *q, const char *target, struct quota_account **ret, char reason[256])
{
	struct quota_account *a = NULL;
	int r = q->max_bytes != LIMIT_NONE ? quota_find_or_add(q, target, &a, reason) : 0;

	if (r == 0 && quota_left(a) == 0) {
		quota_explain(a, reason);
		r = -EDQUOT;
	}
	if (r == 0)
		*ret = a;
	return r;
}

int quota_open(struct quota *q, const char *target, uint64_t now_ms, struct quota_account **ret,
	char reason[256])
{
	/* The rates come first: what they refuse must not fill the table. */
	int r = quota_count(q, now_ms, reason);

	if (r < 0)
		return r;
	r = quota_find_account(q, target, ret, reason);
	if (r < 0)
		quota_uncount(q, q->n_windows, now_ms);
	return r;
}

int quota_ask(struct quota *q, const char *target, uint64_t now_ms, char reason[256])
{
	struct quota_account *account = NULL;
	int r = quota_count(q, now_ms, reason);

	if (r < 0)
		return r;
	quota_uncount(q, q->n_windows, now_ms);
	return quota_find_account(q, target, &account, reason);
}

uint64_t quota_left(const struct quota_account *a)
{
	uint64_t max = a ? a->quota->max_bytes : LIMIT_NONE, used;

	if (max == LIMIT_NONE)
		return UINT64_MAX;
	used = atomic_load(a->used);
	return used < max ? max - used : 0;
}

void quota_charge(struct quota_account *a, uint64_t sent, uint64_t received)
{
	uint_fast64_t old = a ? atomic_load(a->used) : 0;
	uint64_t next;

	/* What is used stays at the most that there is. */
	do
		if (__builtin_add_overflow(old, sent, &next) ||
			__builtin_add_overflow(next, received, &next))
			next = UINT64_MAX;
	while (a && !atomic_compare_exchange_weak(a->used, &old, next));
}

/* Of two windows of one length the stricter rate counts. */
static void quota_add_window(struct quota *q, const struct rate *rate, const char *origin)
{
	const uint64_t seconds = rate->seconds;
	const uint64_t ms = seconds < WINDOW_MS_MAX / 1000 ? seconds * 1000 : WINDOW_MS_MAX;
	struct quota_window *w = q->windows;

	while (w < q->windows + q->n_windows && w->rate.seconds != seconds)
		w++;
	if (w < q->windows + q->n_windows && w->rate.count <= rate->count)
		return;
	q->n_windows += w == q->windows + q->n_windows;
	w->rate = *rate;
	w->origin = origin;
	w->step_ms = ms > 0 ? (ms + STEPS - 1) / STEPS : 1;
	w->counts = &w->own;
}

/* The part of a policy: its windows, and the least limit of bytes. */
static int quota_read_policy(struct quota *q, const struct policy *p)
{
	size_t n = policy_layers(p);

	q->max_bytes = LIMIT_NONE;
	q->n_windows = 0;
	q->windows = calloc(n ? n : 1, sizeof(q->windows[0]));
	if (!q->windows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct layer *l = policy_layer(p, i);
		const char *origin = l->origin ? l->origin : "the policy";

		if (l->network.rate.count > 0)
			quota_add_window(q, &l->network.rate, origin);
		if (l->network.max_bytes < q->max_bytes) {
			q->max_bytes = l->network.max_bytes;
			q->max_origin = origin;
		}
	}
	for (size_t i = 0; q->ledger && i < q->n_windows; i++) {
		struct quota_window *w = &q->windows[i];

		/* No length is 0, and no key. */
		w->counts = ledger_window(q->ledger, w->rate.seconds + 1);
		if (!w->counts) {
			free(q->windows);
			return -ENOSPC;
		}
	}
	return 0;
}

int quota_new(struct quota **ret, const struct policy *p, struct ledger *shared)
{
	struct quota *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	q->ledger = shared;
	q->key = hash_key_make();
	r = quota_read_policy(q, p);
	if (r < 0)
		free(q);
	else
		*ret = q;
	return r;
}

/*
 * What was counted in a window of the same length counts on, whichever layer it is of now: else a
 * change would be a way to more.
 */
static void quota_keep_counts(struct quota_window *to, const struct quota *from)
{
	for (size_t i = 0; i < from->n_windows; i++) {
		const struct quota_window *w = &from->windows[i];

		for (size_t k = 0; w->rate.seconds == to->rate.seconds && k < RING; k++)
			atomic_store(&to->own.cells[k], atomic_load(&w->own.cells[k]));
	}
}

int quota_change(struct quota *q, const struct policy *p)
{
	struct quota next = *q;
	int r = quota_read_policy(&next, p);

	if (r < 0)
		return r;
	for (size_t i = 0; i < next.n_windows; i++)
		quota_keep_counts(&next.windows[i], q);
	free(q->windows);
	*q = next;
	return 0;
}

int quota_review(struct quota *q, struct quota_account **account, const char *target,
	uint64_t bytes, char reason[256])
{
	int r = 0;

	if (q->max_bytes == LIMIT_NONE)
		return 0;
	if (!*account) {
		r = quota_find_or_add(q, target, account, reason);
		if (r < 0)
			return r;
		quota_charge(*account, bytes, 0);
	}
	if (quota_left(*account) > 0)
		return 0;
	quota_explain(*account, reason);
	return -EDQUOT;
}

void quota_free(struct quota *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n_slots; i++)
		free(q->slots[i]);
	free(q->slots);
	free(q->windows);
	free(q);
}
