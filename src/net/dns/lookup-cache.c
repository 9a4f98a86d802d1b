/* SPDX-License-Identifier: Apache-2.0 */
#include "net/dns/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "policy/network/host.h"

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
		size_t len = strlen(r->chain[i]) + 1;

		memcpy(at, r->chain[i], len);
		a->result.chain[i] = at;
		at += len;
	}
	return a;
}

struct lookup_answer *lookup_answer_ref(struct lookup_answer *a)
{
	a->references++;
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

static struct lookup_entry **lookup_cache_bucket(struct lookup_cache *c, const char *name)
{
	return &c->buckets[host_name_hash(&c->key, name) % LOOKUP_CACHE_NAMES];
}

/* Where it stands in its bucket, or would: at the end. */
static struct lookup_entry **lookup_cache_find(struct lookup_cache *c, const char *name)
{
	struct lookup_entry **e = lookup_cache_bucket(c, name);

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
	e->answer = lookup_answer_ref(a);
	link = lookup_cache_bucket(c, name);
	e->next = *link;
	*link = e;
	lookup_cache_list(c, e);
	c->n++;
}
