/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set is built in one go: entries are sorted by host, those of one host become a node
 * (hostset-node.c), and nodes are found
 *
 *   by name      in a hash table: the name itself, and each of its parents for *.parent
 *   by address   in a sorted array of prefixes: the innermost one, then its parents
 *   for `*`      directly
 *
 * The guard rule (host-meet.c) comes down to one question per request. If it is guarded, only nodes
 * within a guard count; if it is not, no node within a guard holds it anyway.
 */
#include "policy/network/hostset.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/baseline.h"
#include "policy/network/host-syntax.h"
#include "policy/network/hostset-names.h"
#include "policy/network/hostset-node.h"

enum { SIDES = 2 }; /* TCP and UDP */

struct prefix_node {
	struct prefix prefix;
	const struct prefix_node *parent;
	struct hostset_node node;
};

struct side {
	struct hostset_node any;
	struct hostset_names exact, below;
	struct prefix_node *prefixes; /* in the order of prefix_compare() */
	size_t n_prefixes;
};

struct hostset {
	struct arena arena;
	struct hostset_entry *entries;
	size_t n, cap;
	struct side sides[SIDES];
	struct hostset_names sockets;
	struct hostset_key key;
	bool built;
};

struct hostset *hostset_new(void)
{
	struct hostset *s = calloc(1, sizeof(*s));

	if (s)
		s->key = hostset_key_make();
	return s;
}

void hostset_free(struct hostset *s)
{
	if (!s)
		return;
	arena_deinit(&s->arena);
	free(s);
}

int hostset_add(struct hostset *s, const struct host_pattern *patterns, size_t n, uint32_t rank)
{
	struct host_pattern parts[HOST_PARTS_MAX], both[2], all;
	size_t n_parts;

	assert(!s->built && n > 0);
	all = patterns[0];
	for (size_t i = 1; i < n; i++) {
		int r = host_pattern_meet(&all, &patterns[i], &s->arena, both);

		if (r <= 0)
			return r; /* nothing can match all of them: no entry */
		assert(r == 1);
		all = both[0];
	}
	n_parts = host_pattern_split(&all, parts);
	for (size_t i = 0; i < n_parts; i++) {
		struct hostset_entry entry = { parts[i], rank };

		if (ARENA_PUSH(&s->arena, s->entries, s->n, s->cap, entry) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Building */

static int compare_hosts(const struct host_pattern *a, const struct host_pattern *b)
{
	if (a->transport != b->transport)
		return (int)a->transport - (int)b->transport;
	if (a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->kind == HOST_PREFIX)
		return prefix_compare(&a->prefix, &b->prefix);
	return a->kind == HOST_ANY ? 0 : strcmp(a->name, b->name);
}

static int compare_entries(const void *a, const void *b)
{
	const struct hostset_entry *x = a, *y = b;
	int r = compare_hosts(&x->pattern, &y->pattern);

	return r != 0 ? r : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* How many entries from i on are for the same host. */
static size_t same_host(const struct hostset *s, size_t i)
{
	size_t n = 1;

	while (i + n < s->n &&
		compare_hosts(&s->entries[i].pattern, &s->entries[i + n].pattern) == 0)
		n++;
	return n;
}

static int hostset_reserve(struct hostset *s)
{
	size_t n_exact[SIDES + 1] = { 0 }, n_below[SIDES] = { 0 }, n_prefixes[SIDES] = { 0 };
	int r;

	for (size_t i = 0; i < s->n; i += same_host(s, i)) {
		const struct host_pattern *p = &s->entries[i].pattern;

		n_exact[p->transport] += p->kind == HOST_NAME || p->kind == HOST_SOCKET;
		if (p->kind == HOST_SUBDOMAINS)
			n_below[p->transport]++;
		if (p->kind == HOST_PREFIX)
			n_prefixes[p->transport]++;
	}
	r = hostset_names_init(&s->sockets, &s->arena, n_exact[TRANSPORT_UNIX]);
	for (int i = 0; i < SIDES && r == 0; i++) {
		struct side *side = &s->sides[i];

		r = hostset_names_init(&side->exact, &s->arena, n_exact[i]);
		if (r == 0)
			r = hostset_names_init(&side->below, &s->arena, n_below[i]);
		side->prefixes = arena_calloc(&s->arena, n_prefixes[i], sizeof(*side->prefixes));
		if (!side->prefixes)
			r = -ENOMEM;
	}
	return r;
}

/* Prefixes come in order, so the enclosing one is the last or one of its parents. */
static void hostset_add_prefix(
	struct side *side, const struct prefix *prefix, const struct hostset_node *node)
{
	struct prefix_node *p = &side->prefixes[side->n_prefixes];
	const struct prefix_node *parent = side->n_prefixes > 0 ? p - 1 : NULL;

	assert(p); /* hostset_reserve() */
	while (parent && !prefix_contains(&parent->prefix, prefix))
		parent = parent->parent;
	*p = (struct prefix_node){ *prefix, parent, *node };
	side->n_prefixes++;
}

static int hostset_add_name(struct hostset *s, struct hostset_names *names, uint64_t hash,
	const char *name, const struct hostset_node *node)
{
	struct hostset_node *copy = arena_alloc(&s->arena, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *node;
	hostset_names_put(names, hash, name, copy);
	return 0;
}

static int hostset_add_node(
	struct hostset *s, const struct host_pattern *p, const struct hostset_node *node)
{
	switch (p->kind) {
	case HOST_ANY:
		s->sides[p->transport].any = *node;
		return 0;
	case HOST_PREFIX:
		hostset_add_prefix(&s->sides[p->transport], &p->prefix, node);
		return 0;
	case HOST_NAME:
		return hostset_add_name(s, &s->sides[p->transport].exact,
			hostset_hash_name(&s->key, p->name), p->name, node);
	case HOST_SUBDOMAINS:
		return hostset_add_name(s, &s->sides[p->transport].below,
			hostset_hash_name(&s->key, p->name), p->name, node);
	case HOST_SOCKET:
		return hostset_add_name(s, &s->sockets,
			hostset_hash(&s->key, 0, p->name, strlen(p->name)), p->name, node);
	}
	return -EINVAL;
}

int hostset_build(struct hostset *s)
{
	struct hostset_scratch scratch;
	auto_arena temporary = { 0 };
	int r;

	assert(!s->built);
	if (s->n > 0)
		qsort(s->entries, s->n, sizeof(*s->entries), compare_entries);
	r = hostset_reserve(s);
	if (r == 0)
		r = hostset_scratch_init(&scratch, &temporary, s->n);
	for (size_t i = 0, n; i < s->n && r == 0; i += n) {
		struct hostset_node node;

		n = same_host(s, i);
		r = hostset_node_build(&node, &s->arena, &scratch, &s->entries[i], n);
		if (r == 0)
			r = hostset_add_node(s, &s->entries[i].pattern, &node);
	}
	s->built = r == 0;
	return r;
}

/* Matching */

static uint32_t match_name(const struct hostset *s, const struct side *side,
	const struct host_request *r, bool guarded, uint32_t best)
{
	size_t end = strlen(r->name);
	const struct hostset_node *node;
	uint64_t hash = 0;

	for (;;) {
		const char *dot = memrchr(r->name, '.', end);
		const char *start = dot ? dot + 1 : r->name;

		hash = hostset_hash(&s->key, hash, start, (size_t)(r->name + end - start));
		if (!dot)
			break;
		node = hostset_names_get(&side->below, hash, start);
		if (node && (node->in_guard || !guarded))
			best = hostset_node_match(node, r, best);
		end = (size_t)(dot - r->name);
	}
	node = hostset_names_get(&side->exact, hash, r->name);
	return node ? hostset_node_match(node, r, best) : best;
}

/* The innermost prefix that holds the address: the last that starts before it, or a parent of that.
 */
static const struct prefix_node *hostset_find_prefix(
	const struct side *side, const struct address *a)
{
	const struct prefix full = prefix_of(a, a->bits);
	size_t lo = 0, hi = side->n_prefixes;
	const struct prefix_node *p;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (prefix_compare(&side->prefixes[middle].prefix, &full) <= 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	p = lo > 0 ? &side->prefixes[lo - 1] : NULL;
	while (p && !prefix_has(&p->prefix, a))
		p = p->parent;
	return p;
}

static uint32_t match_address(
	const struct side *side, const struct host_request *r, bool guarded, uint32_t best)
{
	const struct prefix_node *p = hostset_find_prefix(side, &r->address);

	/* Behind a prefix that reaches out of the guard, all the outer ones do. */
	for (; p && (p->node.in_guard || !guarded); p = p->parent)
		best = hostset_node_match(&p->node, r, best);
	return best;
}

static uint32_t match_socket(const struct hostset *s, const struct host_request *r)
{
	uint64_t hash = hostset_hash(&s->key, 0, r->socket, strlen(r->socket));
	const struct hostset_node *node = hostset_names_get(&s->sockets, hash, r->socket);

	return node ? hostset_node_match(node, r, RANK_NONE) : RANK_NONE;
}

uint32_t hostset_match(const struct hostset *s, const struct host_request *r)
{
	uint32_t best = RANK_NONE;
	const struct side *side;
	bool guarded;

	assert(s->built);
	if (r->transport == TRANSPORT_UNIX)
		return match_socket(s, r);
	side = &s->sides[r->transport];
	guarded = baseline_guard(r) != NULL;
	if (!guarded || side->any.in_guard)
		best = hostset_node_match(&side->any, r, best);
	if (r->is_address)
		return match_address(side, r, guarded, best);
	return match_name(s, side, r, guarded, best);
}
