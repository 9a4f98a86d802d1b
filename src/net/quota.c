/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rate is held by a sliding window in steps: a window is cut into STEPS parts, and a connection
 * counts until the last part that it could lie in is over. So there is no stretch of time as long
 * as the window with more connections in it, wherever it begins; in exchange a connection may be
 * refused for one part (1/64) of the window longer than needed. Memory does not depend on the rate.
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
/* Longer than any clock runs. */
#define WINDOW_MS_MAX (UINT64_MAX / 4)

struct quota_window {
	struct rate rate;
	const char *origin;
	uint64_t step_ms;
	uint64_t last; /* the step of the newest part */
	uint64_t counts[RING];
	uint64_t sum; /* of the counts */
};

struct quota_account {
	const struct quota *quota;
	uint64_t used, hash;
	char target[];
};

struct quota {
	struct hash_key key;
	uint64_t max_bytes;
	const char *max_origin;
	struct quota_account **slots; /* open addressing, at most half full */
	size_t n, n_slots;
	size_t n_windows;
	struct quota_window *windows;
};

/* Forgets what is older than the window. */
static void quota_window_move(struct quota_window *w, uint64_t now_ms)
{
	uint64_t step = now_ms / w->step_ms;

	if (step <= w->last)
		return;
	for (uint64_t i = 0; i < RING && i < step - w->last; i++) {
		uint64_t *old = &w->counts[(w->last + 1 + i) % RING];

		w->sum -= *old;
		*old = 0;
	}
	w->last = step;
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
	if (q->n == QUOTA_DESTINATIONS_MAX) {
		(void)snprintf(reason, 256, "the byte limit supports at most %d destinations",
			QUOTA_DESTINATIONS_MAX);
		return -ENOSPC;
	}
	a = quota_grow(q) == 0 ? calloc(1, size) : NULL;
	if (!a) {
		(void)snprintf(reason, 256, "out of memory");
		return -ENOMEM;
	}
	*a = (struct quota_account){ .quota = q, .hash = hash };
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

int quota_open(struct quota *q, const char *target, uint64_t now_ms, struct quota_account **ret,
	char reason[256])
{
	struct quota_account *a = NULL;
	int r = 0;

	/* The rates come first: what they refuse must not fill the table. */
	for (size_t i = 0; i < q->n_windows; i++) {
		struct quota_window *w = &q->windows[i];

		quota_window_move(w, now_ms);
		if (w->sum >= w->rate.count) {
			(void)snprintf(reason, 256,
				"more than %" PRIu64 " connections in %" PRIu64 " s: %s",
				w->rate.count, w->rate.seconds, w->origin);
			return -EDQUOT;
		}
	}
	if (q->max_bytes != LIMIT_NONE)
		r = quota_find_or_add(q, target, &a, reason);
	if (r == 0 && quota_left(a) == 0) {
		quota_explain(a, reason);
		r = -EDQUOT;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < q->n_windows; i++) {
		q->windows[i].counts[q->windows[i].last % RING]++;
		q->windows[i].sum++;
	}
	*ret = a;
	return 0;
}

uint64_t quota_left(const struct quota_account *a)
{
	uint64_t max = a ? a->quota->max_bytes : LIMIT_NONE;

	if (max == LIMIT_NONE)
		return UINT64_MAX;
	return a->used < max ? max - a->used : 0;
}

void quota_charge(struct quota_account *a, uint64_t sent, uint64_t received)
{
	/* What is used stays at the most that there is. */
	if (a && (__builtin_add_overflow(a->used, sent, &a->used) ||
			 __builtin_add_overflow(a->used, received, &a->used)))
		a->used = UINT64_MAX;
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

		if (l->network.rate.count > 0) {
			struct quota_window *w = &q->windows[q->n_windows++];
			uint64_t seconds = l->network.rate.seconds;
			uint64_t ms =
				seconds < WINDOW_MS_MAX / 1000 ? seconds * 1000 : WINDOW_MS_MAX;

			w->rate = l->network.rate;
			w->origin = origin;
			w->step_ms = ms > 0 ? (ms + STEPS - 1) / STEPS : 1;
		}
		if (l->network.max_bytes < q->max_bytes) {
			q->max_bytes = l->network.max_bytes;
			q->max_origin = origin;
		}
	}
	return 0;
}

int quota_new(struct quota **ret, const struct policy *p)
{
	struct quota *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	q->key = hash_key_make();
	r = quota_read_policy(q, p);
	if (r < 0)
		quota_free(q);
	else
		*ret = q;
	return r;
}

int quota_change(struct quota *q, const struct policy *p)
{
	struct quota next = *q;
	int r = quota_read_policy(&next, p);

	if (r < 0)
		return r;
	/*
	 * What was counted in a window of the same length counts on, whichever layer it is of now:
	 * else a change would be a way to more. Every window counts every connection: of one
	 * length, the one that was there longer knows most.
	 */
	for (size_t i = 0; i < next.n_windows; i++) {
		struct quota_window *to = &next.windows[i];
		const struct quota_window *best = NULL;

		for (size_t k = 0; k < q->n_windows; k++) {
			const struct quota_window *w = &q->windows[k];

			if (w->rate.seconds == to->rate.seconds && (!best || w->sum > best->sum))
				best = w;
		}
		if (!best)
			continue;
		to->last = best->last;
		to->sum = best->sum;
		memcpy(to->counts, best->counts, sizeof(to->counts));
	}
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
