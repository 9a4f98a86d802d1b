/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query is a name that somebody waits for: those who wait, and either two questions on their way
 * (lookup-question.h) or an answer that is known already and handed out at the next turn of the
 * loop. A query nobody waits for any more is dropped, with its sockets.
 *
 * What was learned goes into the cache (lookup-cache.h). Names of this machine (/etc/hosts,
 * localhost) are looked up each time.
 */
#include "net/dns/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "net/dns/lookup-cache.h"
#include "net/dns/lookup-hosts.h"
#include "net/dns/lookup-question.h"
#include "policy/network/host.h"

enum {
	QUERIES_MAX = 1024,
	KEPT_MS_MAX = 60 * 1000,
	/* An answer that there is nothing, or half an answer, is kept for less. */
	NEGATIVE_MS = 5 * 1000,
	/* How long the slower of two families is waited for (RFC 8305, section 3). */
	DELAY_MS = 50,
};

enum { IPV6, IPV4, FAMILIES };

static const struct {
	enum dns_type type;
	uint8_t bits;
} families[FAMILIES] = {
	[IPV6] = { DNS_AAAA, 128 },
	[IPV4] = { DNS_A, 32 },
};

struct half {
	struct query *query;
	struct lookup_question question;
	bool done;
	int error;
};

struct query {
	struct lookup *lookup;
	struct query *next, *previous; /* of those on their way */
	struct lookup_wait *waiting, *last;
	bool delivering;
	struct timer timer;
	struct lookup_answer *known;
	struct half halves[FAMILIES];
	char name[HOST_NAME_BYTES];
};

struct lookup {
	struct loop *loop;
	const struct lookup_config *config;
	struct lookup_cache *cache;
	struct query *queries;
	size_t n_queries;
};

int lookup_new(struct lookup **ret, struct loop *loop, const struct lookup_config *c)
{
	struct lookup *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->config = c;
	r = lookup_cache_new(&l->cache);
	if (r < 0) {
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

/* Those who wait. */

static void wait_add(struct query *q, struct lookup_wait *w)
{
	w->query = q;
	w->next = NULL;
	w->previous = q->last;
	*(q->last ? &q->last->next : &q->waiting) = w;
	q->last = w;
}

static void wait_remove(struct query *q, struct lookup_wait *w)
{
	*(w->previous ? &w->previous->next : &q->waiting) = w->next;
	*(w->next ? &w->next->previous : &q->last) = w->previous;
	w->next = w->previous = NULL;
	w->query = NULL;
}

/* Queries. */

static void query_unlist(struct query *q)
{
	struct lookup *l = q->lookup;

	*(q->previous ? &q->previous->next : &l->queries) = q->next;
	if (q->next)
		q->next->previous = q->previous;
	l->n_queries--;
}

/* It is not in the list any more. */
static void query_free(struct query *q)
{
	for (size_t i = 0; i < FAMILIES; i++)
		lookup_question_stop(&q->halves[i].question);
	loop_stop(q->lookup->loop, &q->timer);
	while (q->waiting)
		wait_remove(q, q->waiting);
	lookup_answer_unref(q->known);
	free(q);
}

/* Who asks anew while this goes on gets a new query; who cancels is taken out of the list. */
static void deliver(struct query *q, const struct lookup_result *r)
{
	q->delivering = true;
	query_unlist(q);
	while (q->waiting) {
		struct lookup_wait *w = q->waiting;

		wait_remove(q, w);
		w->done(w, r);
	}
	query_free(q);
}

/* Answers. */

static const struct dns_answer *positive(const struct half *h)
{
	const struct dns_answer *a = &h->question.answer;

	return h->done && h->error == 0 && a->code == DNS_OK && a->n_addresses > 0 ? a : NULL;
}

static bool negative(const struct half *h, enum dns_code code)
{
	return h->done && h->error == 0 && h->question.answer.code == code;
}

static void lookup_add_address(struct lookup_result *r, const struct half *h, size_t i)
{
	const struct dns_answer *answer = positive(h);
	uint8_t bits = families[h - h->query->halves].bits;
	struct address a = { .bits = bits };

	if (!answer || i >= answer->n_addresses || r->n == LOOKUP_ADDRESSES_MAX)
		return;
	memcpy(a.bytes, answer->addresses[i], bits / 8);
	r->addresses[r->n++] = a;
}

static bool lookup_has_name(const struct lookup_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_chain; i++)
		if (strcmp(r->chain[i], name) == 0)
			return true;
	return false;
}

static void add_chain(struct lookup_result *r, const struct half *h)
{
	const struct dns_answer *a = positive(h);

	for (size_t i = 0; a && i < a->n_chain; i++)
		if (!lookup_has_name(r, a->chain[i]))
			r->chain[r->n_chain++] = a->chain[i];
}

/* Why there is no address. That the name does not exist is true of both families. */
static int lookup_explain(const struct query *q)
{
	const struct half *a = &q->halves[IPV6], *b = &q->halves[IPV4];

	if (negative(a, DNS_NO_NAME) || negative(b, DNS_NO_NAME))
		return -ENOENT;
	if (a->error < 0)
		return a->error;
	return b->error < 0 ? b->error : -ENODATA;
}

static void lookup_collect(const struct query *q, struct lookup_result *r)
{
	/* In turn, so that many of one family do not leave out the other. */
	for (size_t i = 0; i < DNS_ADDRESSES_MAX; i++)
		for (size_t f = 0; f < FAMILIES; f++)
			lookup_add_address(r, &q->halves[f], i);
	for (size_t f = 0; f < FAMILIES; f++)
		add_chain(r, &q->halves[f]);
	if (r->n == 0)
		r->error = lookup_explain(q);
}

/* How long it may be kept, in milliseconds; 0: not at all. */
static uint64_t keep_for(const struct query *q, const struct lookup_result *r)
{
	uint64_t ms = KEPT_MS_MAX;

	if (r->error < 0)
		return r->error == -ENOENT || r->error == -ENODATA ? NEGATIVE_MS : 0;
	for (size_t f = 0; f < FAMILIES; f++) {
		const struct half *h = &q->halves[f];
		const struct dns_answer *a = positive(h);

		if (a && (uint64_t)a->ttl * 1000 < ms)
			ms = (uint64_t)a->ttl * 1000;
		if ((!h->done || h->error < 0) && ms > NEGATIVE_MS)
			ms = NEGATIVE_MS;
	}
	return ms;
}

static void query_finish(struct query *q)
{
	struct lookup *l = q->lookup;
	struct lookup_result r = { 0 };
	uint64_t ms;

	lookup_collect(q, &r);
	ms = keep_for(q, &r);
	q->known = lookup_answer_new(&r);
	if (q->known && ms > 0)
		lookup_cache_put(l->cache, q->name, q->known, loop_now(l->loop) + ms);
	deliver(q, &r);
}

static void half_done(struct lookup_question *question, int error)
{
	struct half *h = container_of(question, struct half, question);
	struct query *q = h->query;

	h->done = true;
	h->error = error;
	if (q->halves[IPV6].done && q->halves[IPV4].done)
		query_finish(q);
	else if (positive(h) && loop_start(q->lookup->loop, &q->timer, DELAY_MS) < 0)
		query_finish(q);
}

/* The answer was known, or the slower family took too long. */
static void query_due(struct timer *t)
{
	struct query *q = container_of(t, struct query, timer);

	if (q->known)
		deliver(q, &q->known->result);
	else
		query_finish(q);
}

static bool lookup_is_localhost(const char *name)
{
	static const char localhost[] = "localhost";
	size_t len = strlen(name), tail = sizeof(localhost) - 1;

	return len >= tail && strcmp(name + len - tail, localhost) == 0 &&
	       (len == tail || name[len - tail - 1] == '.');
}

/* What this machine knows itself, with a reference for the caller; *ret is NULL if it is nothing.
 */
static int find_known(struct lookup *l, const char *name, struct lookup_answer **ret)
{
	static const struct address loopback[] = {
		{ .bits = 128, .bytes = { [15] = 1 } },
		{ .bits = 32, .bytes = { 127, 0, 0, 1 } },
	};
	struct lookup_result r = { 0 };
	struct lookup_answer *a = NULL;

	if (lookup_is_localhost(name)) {
		memcpy(r.addresses, loopback, sizeof(loopback));
		r.n = ROWS(loopback);
	} else {
		r.n = lookup_hosts_find(l->config->hosts, name, r.addresses, LOOKUP_ADDRESSES_MAX);
	}
	if (r.n > 0) {
		a = lookup_answer_new(&r);
		if (!a)
			return -ENOMEM;
	} else {
		a = lookup_cache_get(l->cache, name, loop_now(l->loop));
		if (a)
			(void)lookup_answer_ref(a);
	}
	*ret = a;
	return 0;
}

static int query_start(struct query *q)
{
	struct lookup *l = q->lookup;
	int r = find_known(l, q->name, &q->known);

	if (r < 0)
		return r;
	if (q->known)
		return loop_start(l->loop, &q->timer, 0);
	for (size_t i = 0; r == 0 && i < FAMILIES; i++) {
		struct half *h = &q->halves[i];

		h->query = q;
		h->question.done = half_done;
		r = lookup_question_start(
			&h->question, l->loop, l->config, q->name, families[i].type);
	}
	return r;
}

static int query_new(struct query **ret, struct lookup *l, const char *name)
{
	struct query *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	memcpy(q->name, name, strlen(name) + 1);
	q->lookup = l;
	q->timer.expired = query_due;
	r = query_start(q);
	if (r < 0) {
		query_free(q);
		return r;
	}
	q->next = l->queries;
	if (q->next)
		q->next->previous = q;
	l->queries = q;
	l->n_queries++;
	*ret = q;
	return 0;
}

static struct query *query_find(const struct lookup *l, const char *name)
{
	struct query *q = l->queries;

	while (q && strcmp(q->name, name) != 0)
		q = q->next;
	return q;
}

int lookup_ask(struct lookup *l, const char *name, struct lookup_wait *w)
{
	struct query *q = query_find(l, name);

	if (!q) {
		int r;

		if (strlen(name) >= sizeof(q->name))
			return -EINVAL;
		if (l->n_queries == QUERIES_MAX)
			return -EBUSY;
		r = query_new(&q, l, name);
		if (r < 0)
			return r;
	}
	wait_add(q, w);
	return 0;
}

void lookup_cancel(struct lookup *l, struct lookup_wait *w)
{
	struct query *q = w->query;

	(void)l;
	if (!q)
		return;
	wait_remove(q, w);
	if (q->waiting || q->delivering)
		return;
	query_unlist(q);
	query_free(q);
}

void lookup_free(struct lookup *l)
{
	if (!l)
		return;
	for (struct query *q = l->queries, *next; q; q = next) {
		next = q->next;
		query_free(q);
	}
	lookup_cache_free(l->cache);
	free(l);
}
