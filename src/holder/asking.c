/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/asking.h"

#include <string.h>

#include "base/hash.h"

static uint64_t asking_hash(const struct question *q)
{
	const char *rule = q->rule ? q->rule : "";
	const uint64_t hash =
		hash_bytes(hash_bytes(HASH_START, &q->op, sizeof(q->op)), rule, strlen(rule));

	return hash ? hash : 1;
}

static bool asking_is_over(const struct holder_asking_kind *k, uint64_t now_ms)
{
	return !k->hash || now_ms - k->last_ms >= HOLDER_ASKING_NO_MS;
}

/* That of the question; else one that is free. If there is none, the one that all further kinds
 * share: a policy with many rules that ask gets no memory for each. */
static struct holder_asking_kind *asking_kind(
	struct holder_asking *a, uint64_t hash, uint64_t now_ms)
{
	struct holder_asking_kind *room = &a->others;

	for (size_t i = 0; i < HOLDER_ASKING_KINDS; i++) {
		if (a->kinds[i].hash == hash)
			return &a->kinds[i];
		if (room == &a->others && asking_is_over(&a->kinds[i], now_ms))
			room = &a->kinds[i];
	}
	return room;
}

enum answer_why holder_asking_admit(
	struct holder_asking *a, const struct question *q, uint64_t now_ms)
{
	const uint64_t hash = asking_hash(q);
	const struct holder_asking_kind *k = asking_kind(a, hash, now_ms);

	if (k->noes >= HOLDER_ASKING_NOES && !asking_is_over(k, now_ms))
		return ANSWER_NO_BEFORE;
	if (a->n_minute == 0 || now_ms - a->minute_ms >= HOLDER_ASKING_MINUTE_MS) {
		a->minute_ms = now_ms;
		a->n_minute = 0;
	}
	if (a->n_minute >= (a->is_few ? HOLDER_ASKING_FEW : HOLDER_ASKING_PER_MINUTE))
		return ANSWER_TOO_MANY;
	a->n_minute++;
	return ANSWER_BY_USER;
}

void holder_asking_answered(
	struct holder_asking *a, const struct question *q, enum answer_kind how, uint64_t now_ms)
{
	const uint64_t hash = asking_hash(q);
	struct holder_asking_kind *k = asking_kind(a, hash, now_ms);

	if (how != ANSWER_DENY) {
		*k = (struct holder_asking_kind){ 0 };
		return;
	}
	/* Those of long ago do not count. */
	if (asking_is_over(k, now_ms))
		*k = (struct holder_asking_kind){ .hash = hash };
	k->noes++;
	k->last_ms = now_ms;
}
