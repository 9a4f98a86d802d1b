/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query is a name that callers wait for: those who wait, and either two questions on their way
 * or an answer that is known already and handed out at the next turn of the loop. A query nobody
 * waits for any more is dropped, with its sockets.
 *
 * What was learned goes into the cache. Names of this machine (/etc/hosts, localhost) are looked up
 * each time.
 */
#include "net/dns/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "net/dns/internal.h"
#include "policy/network/host.h"

enum {
	QUERIES_MAX = 1024,
	KEPT_MS_MAX = 60 * 1000,
	/* An answer that there is nothing, or half an answer, is kept for less. */
	NEGATIVE_MS = 5 * 1000,
	/* How long the slower of two families is waited for (RFC 8305, section 3). */
	DELAY_MS = 50,
};

/* Answers that are kept. */

struct lookup_entry {
	struct lookup_entry *next;          /* in the bucket */
	struct lookup_entry *newer, *older; /* by use */
	uint64_t until_ms;
	struct lookup_answer *answer;
	char name[];
};

struct lookup_cache {
	struct hash_key key;
	struct lookup_entry *buckets[LOOKUP_CACHE_NAMES];
	struct lookup_entry *newest, *oldest;
	size_t n;
};

struct lookup_answer *lookup_answer_new(const struct lookup_result *r)
{
	struct lookup_answer *a;
	size_t bytes = 0;
	char *at;

	for (size_t i = 0; i < r->n_chain; i++)
		bytes += strlen(r->chain[i]) + 1;
	a = malloc(sizeof(*a) + bytes);
	if (!a)
		return NULL;
	a->references = 1;
	a->result = *r;
	at = a->names;
	for (size_t i = 0; i < r->n_chain; i++) {
		a->result.chain[i] = at;
		at = stpcpy(at, r->chain[i]) + 1;
	}
	return a;
}

void lookup_answer_unref(struct lookup_answer *a)
{
	if (a && --a->references == 0)
		free(a);
}

int lookup_cache_new(struct lookup_cache **ret)
{
	struct lookup_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->key = hash_key_make();
	*ret = c;
	return 0;
}

/* Where it stands in its bucket, or would: at the end. */
static struct lookup_entry **lookup_cache_find(struct lookup_cache *c, const char *name)
{
	uint64_t hash = host_name_hash(&c->key, name);
	struct lookup_entry **e = &c->buckets[hash % LOOKUP_CACHE_NAMES];

	while (*e && strcmp((*e)->name, name) != 0)
		e = &(*e)->next;
	return e;
}

static void lookup_cache_unlist(struct lookup_cache *c, struct lookup_entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void lookup_cache_list(struct lookup_cache *c, struct lookup_entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static void lookup_cache_forget(struct lookup_cache *c, struct lookup_entry **link)
{
	struct lookup_entry *e = *link;

	*link = e->next;
	lookup_cache_unlist(c, e);
	c->n--;
	lookup_answer_unref(e->answer);
	free(e);
}

void lookup_cache_free(struct lookup_cache *c)
{
	if (!c)
		return;
	for (struct lookup_entry *e = c->newest, *older; e; e = older) {
		older = e->older;
		lookup_answer_unref(e->answer);
		free(e);
	}
	free(c);
}

struct lookup_answer *lookup_cache_get(struct lookup_cache *c, const char *name, uint64_t now_ms)
{
	struct lookup_entry **link = lookup_cache_find(c, name), *e = *link;

	if (!e)
		return NULL;
	if (e->until_ms <= now_ms) {
		lookup_cache_forget(c, link);
		return NULL;
	}
	lookup_cache_unlist(c, e);
	lookup_cache_list(c, e);
	return e->answer;
}

void lookup_cache_put(
	struct lookup_cache *c, const char *name, struct lookup_answer *a, uint64_t until_ms)
{
	size_t len = strlen(name) + 1;
	struct lookup_entry **link = lookup_cache_find(c, name), *e;

	if (*link)
		lookup_cache_forget(c, link);
	if (c->n == LOOKUP_CACHE_NAMES && c->oldest)
		lookup_cache_forget(c, lookup_cache_find(c, c->oldest->name));
	e = calloc(1, sizeof(*e) + len);
	if (!e)
		return;
	memcpy(e->name, name, len);
	e->until_ms = until_ms;
	e->answer = a;
	a->references++;
	*lookup_cache_find(c, name) = e;
	lookup_cache_list(c, e);
	c->n++;
}

/* Queries. */

enum { IPV6, IPV4, FAMILIES };

static const struct {
	enum dns_type type;
	uint8_t bits;
} families[FAMILIES] = {
	[IPV6] = { DNS_AAAA, 128 },
	[IPV4] = { DNS_A, 32 },
};

struct lookup_half {
	struct lookup_query *query;
	struct lookup_question question;
	bool done;
	int error;
};

struct lookup_query {
	struct lookup *lookup;
	struct lookup_query *next, *previous; /* of those on their way */
	struct lookup_wait *waiting, *last;
	bool delivering;
	struct timer timer;
	struct lookup_answer *known;
	struct lookup_half halves[FAMILIES];
	char name[HOST_NAME_BYTES];
};

struct lookup {
	struct loop *loop;
	const struct lookup_config *config;
	struct lookup_cache *cache;
	struct lookup_query *queries;
	size_t n_queries;
};

int lookup_new(struct lookup **ret, struct loop *loop, const struct lookup_config *c)
{
	struct lookup *l = calloc(1, sizeof(*l));
	int r = l ? lookup_cache_new(&l->cache) : -ENOMEM;

	if (r < 0) {
		free(l);
		return r;
	}
	l->loop = loop;
	l->config = c;
	*ret = l;
	return 0;
}

static void lookup_wait_remove(struct lookup_query *q, struct lookup_wait *w)
{
	*(w->previous ? &w->previous->next : &q->waiting) = w->next;
	*(w->next ? &w->next->previous : &q->last) = w->previous;
	w->next = w->previous = NULL;
	w->query = NULL;
}

static void lookup_query_unlist(struct lookup_query *q)
{
	struct lookup *l = q->lookup;

	*(q->previous ? &q->previous->next : &l->queries) = q->next;
	if (q->next)
		q->next->previous = q->previous;
	l->n_queries--;
}

/* It is not in the list any more. */
static void lookup_query_free(struct lookup_query *q)
{
	for (size_t i = 0; i < FAMILIES; i++)
		lookup_question_stop(&q->halves[i].question);
	loop_stop(q->lookup->loop, &q->timer);
	while (q->waiting)
		lookup_wait_remove(q, q->waiting);
	lookup_answer_unref(q->known);
	free(q);
}

/* Who asks anew while this goes on gets a new query; who cancels is taken out of the list. */
static void lookup_query_deliver(struct lookup_query *q, const struct lookup_result *r)
{
	q->delivering = true;
	lookup_query_unlist(q);
	while (q->waiting) {
		struct lookup_wait *w = q->waiting;

		lookup_wait_remove(q, w);
		w->done(w, r);
	}
	lookup_query_free(q);
}

/* Answers. */

static const struct dns_answer *lookup_half_answer(const struct lookup_half *h)
{
	const struct dns_answer *a = &h->question.answer;

	return h->done && h->error == 0 && a->code == DNS_OK && a->n_addresses > 0 ? a : NULL;
}

static void lookup_add_chain(struct lookup_result *r, const struct dns_answer *a)
{
	for (size_t i = 0; i < a->n_chain; i++) {
		size_t at = 0;

		while (at < r->n_chain && strcmp(r->chain[at], a->chain[i]) != 0)
			at++;
		if (at == r->n_chain)
			r->chain[r->n_chain++] = a->chain[i];
	}
}

static void lookup_collect(const struct lookup_query *q, struct lookup_result *r)
{
	bool no_name = false;

	/* In turn, so that many of one family do not leave out the other. */
	for (size_t i = 0; i < FAMILIES * DNS_ADDRESSES_MAX && r->n < LOOKUP_ADDRESSES_MAX; i++) {
		const struct dns_answer *a = lookup_half_answer(&q->halves[i % FAMILIES]);
		uint8_t bits = families[i % FAMILIES].bits;

		if (!a || i / FAMILIES >= a->n_addresses)
			continue;
		r->addresses[r->n].bits = bits;
		memcpy(r->addresses[r->n++].bytes, a->addresses[i / FAMILIES], bits / 8);
	}
	for (size_t f = 0; f < FAMILIES; f++) {
		const struct lookup_half *h = &q->halves[f];

		if (lookup_half_answer(h))
			lookup_add_chain(r, lookup_half_answer(h));
		no_name = no_name ||
			  (h->done && h->error == 0 && h->question.answer.code == DNS_NO_NAME);
		if (r->n == 0 && r->error == 0)
			r->error = h->error;
	}
	/* Why there is no address. That the name does not exist is true of both families. */
	if (r->n == 0)
		r->error = no_name ? -ENOENT : r->error < 0 ? r->error : -ENODATA;
}

/* How long it may be kept, in milliseconds; 0: not at all. */
static uint64_t lookup_keep_for(const struct lookup_query *q, const struct lookup_result *r)
{
	uint64_t ms = KEPT_MS_MAX;

	if (r->error < 0)
		return r->error == -ENOENT || r->error == -ENODATA ? NEGATIVE_MS : 0;
	for (size_t f = 0; f < FAMILIES; f++) {
		const struct lookup_half *h = &q->halves[f];
		const struct dns_answer *a = lookup_half_answer(h);

		if (a && (uint64_t)a->ttl * 1000 < ms)
			ms = (uint64_t)a->ttl * 1000;
		if ((!h->done || h->error < 0) && ms > NEGATIVE_MS)
			ms = NEGATIVE_MS;
	}
	return ms;
}

static void lookup_query_finish(struct lookup_query *q)
{
	struct lookup *l = q->lookup;
	struct lookup_result r = { 0 };
	uint64_t ms;

	lookup_collect(q, &r);
	ms = lookup_keep_for(q, &r);
	q->known = lookup_answer_new(&r);
	if (q->known && ms > 0)
		lookup_cache_put(l->cache, q->name, q->known, loop_now(l->loop) + ms);
	lookup_query_deliver(q, &r);
}

/* The answer was known, or the slower family took too long. */
static void lookup_query_due(struct timer *t)
{
	struct lookup_query *q = container_of(t, struct lookup_query, timer);

	if (q->known)
		lookup_query_deliver(q, &q->known->result);
	else
		lookup_query_finish(q);
}

static void lookup_half_done(struct lookup_question *question, int error)
{
	struct lookup_half *h = container_of(question, struct lookup_half, question);
	struct lookup_query *q = h->query;

	h->done = true;
	h->error = error;
	if ((q->halves[IPV6].done && q->halves[IPV4].done) ||
		(lookup_half_answer(h) && loop_start(q->lookup->loop, &q->timer, DELAY_MS) < 0))
		lookup_query_finish(q);
}

/* What is known, with a reference for the caller; *ret is NULL if it is nothing. */
static int lookup_find_known(struct lookup *l, const char *name, struct lookup_answer **ret)
{
	static const struct address loopback[] = {
		{ .bits = 128, .bytes = { [15] = 1 } },
		{ .bits = 32, .bytes = { 127, 0, 0, 1 } },
	};
	struct lookup_result r = { 0 };

	if (dns_name_is_within(name, "localhost")) {
		memcpy(r.addresses, loopback, sizeof(loopback));
		r.n = ROWS(loopback);
	} else {
		r.n = lookup_hosts_find(l->config->hosts, name, r.addresses, LOOKUP_ADDRESSES_MAX);
	}
	if (r.n > 0) {
		*ret = lookup_answer_new(&r);
		return *ret ? 0 : -ENOMEM;
	}
	*ret = lookup_cache_get(l->cache, name, loop_now(l->loop));
	if (*ret)
		(*ret)->references++;
	return 0;
}

static int lookup_query_new(struct lookup_query **ret, struct lookup *l, const char *name)
{
	struct lookup_query *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	memcpy(q->name, name, strlen(name) + 1);
	q->lookup = l;
	q->timer.expired = lookup_query_due;
	r = lookup_find_known(l, q->name, &q->known);
	if (r == 0 && q->known)
		r = loop_start(l->loop, &q->timer, 0);
	for (size_t i = 0; r == 0 && !q->known && i < FAMILIES; i++) {
		struct lookup_half *h = &q->halves[i];

		h->query = q;
		h->question.done = lookup_half_done;
		r = lookup_question_start(
			&h->question, l->loop, l->config, q->name, families[i].type);
	}
	if (r < 0) {
		lookup_query_free(q);
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

int lookup_ask(struct lookup *l, const char *name, struct lookup_wait *w)
{
	struct lookup_query *q = l->queries;

	while (q && strcmp(q->name, name) != 0)
		q = q->next;
	if (!q) {
		int r;

		if (strlen(name) >= sizeof(q->name))
			return -EINVAL;
		if (l->n_queries == QUERIES_MAX)
			return -EBUSY;
		r = lookup_query_new(&q, l, name);
		if (r < 0)
			return r;
	}
	*w = (struct lookup_wait){ .done = w->done, .query = q, .previous = q->last };
	*(q->last ? &q->last->next : &q->waiting) = w;
	q->last = w;
	return 0;
}

void lookup_cancel(struct lookup *l, struct lookup_wait *w)
{
	struct lookup_query *q = w->query;

	(void)l;
	if (!q)
		return;
	lookup_wait_remove(q, w);
	if (q->waiting || q->delivering)
		return;
	lookup_query_unlist(q);
	lookup_query_free(q);
}

void lookup_free(struct lookup *l)
{
	if (!l)
		return;
	for (struct lookup_query *q = l->queries, *next; q; q = next) {
		next = q->next;
		lookup_query_free(q);
	}
	lookup_cache_free(l->cache);
	free(l);
}
