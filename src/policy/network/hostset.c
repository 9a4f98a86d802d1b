/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set is built in one go: entries are sorted by host, those of one host become a node,
 * and nodes are found
 *
 *   by name      in a hash table: the name itself, and each of its parents for *.parent
 *   by address   in a sorted array of prefixes: the innermost one, then its parents
 *   for `*`      directly
 *
 * The guard rule (host.c) comes down to one question per request. If it is guarded, only nodes
 * within a guard count; if it is not, no node within a guard holds it anyway.
 *
 * Ports are flattened when the set is built. All first and last ports of a node's entries cut the
 * range into stretches that every entry covers as a whole or not at all; entries are painted over
 * them from the strongest on, each taking what is still bare. A stretch that is taken points to the
 * next, with the paths shortened on the way, so painting costs no more than sorting.
 */
#include "policy/network/hostset.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"

enum { SIDES = 2 }; /* TCP and UDP */

struct hostset_entry {
	struct host_pattern pattern; /* one part: host_pattern_split() */
	uint32_t rank;
};

/* The strongest entry for these ports. */
struct hostset_ports {
	uint32_t rank;
	uint16_t lo, hi;
};

/* An entry that is narrowed by path or method. */
struct hostset_fine {
	const struct host_pattern *pattern;
	const struct glob *paths;
	uint32_t rank;
};

/* One host, and what the entries for it say about ports, paths and methods. */
struct hostset_node {
	const struct hostset_ports *ports; /* disjoint, in order */
	const struct hostset_fine *fine;   /* strongest first */
	uint32_t n_ports, n_fine;
	bool in_guard; /* it covers guarded places: it lies within a guard, or is wide */
};

/* From a name to its node: open addressing, at most half full, so a search soon finds a gap. */
struct hostset_slot {
	uint64_t hash;
	const char *name; /* NULL: empty */
	const struct hostset_node *node;
};

struct hostset_names {
	struct hostset_slot *slots;
	size_t mask;
};

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
	struct hash_key key; /* for the names, which may be anybody's */
	bool built;
};

struct hostset *hostset_new(void)
{
	struct hostset *s = calloc(1, sizeof(*s));

	if (s)
		s->key = hash_key_make();
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

/* Names */

/* Room for n names, which may be none. */
static int names_init(struct hostset_names *t, struct arena *a, size_t n)
{
	size_t size = 4;

	while (size < 2 * n)
		size *= 2;
	t->slots = arena_calloc(a, size, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	t->mask = size - 1;
	return 0;
}

static const struct hostset_node *names_get(
	const struct hostset_names *t, uint64_t hash, const char *name)
{
	for (size_t i = hash & t->mask; t->slots[i].name; i = (i + 1) & t->mask)
		if (t->slots[i].hash == hash && strcmp(t->slots[i].name, name) == 0)
			return t->slots[i].node;
	return NULL;
}

/* Building a node */

/* Working memory for nodes of up to n entries. */
struct hostset_scratch {
	uint32_t *edges, *ranks, *next;
};

/* An any-port entry holds for unknown ports too, which are port 0. */
static uint32_t first_port(const struct host_pattern *p)
{
	return host_pattern_has_port(p, 0) ? 0 : p->port_lo;
}

/* Where stretches start and end: sorted, each once. Returns how many. */
static size_t find_edges(
	const struct hostset_scratch *s, const struct hostset_entry *entries, size_t n)
{
	size_t n_edges = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (host_pattern_is_narrowed(&entries[i].pattern))
			continue;
		s->edges[n_edges++] = first_port(&entries[i].pattern);
		s->edges[n_edges++] = (uint32_t)entries[i].pattern.port_hi + 1;
	}
	if (n_edges > 0)
		qsort(s->edges, n_edges, sizeof(*s->edges), array_compare_u32);
	for (size_t i = 0; i < n_edges; i++)
		if (kept == 0 || s->edges[i] != s->edges[kept - 1])
			s->edges[kept++] = s->edges[i];
	return kept;
}

static size_t edge_index(const struct hostset_scratch *s, size_t n_edges, uint32_t edge)
{
	const uint32_t *found =
		bsearch(&edge, s->edges, n_edges, sizeof(*s->edges), array_compare_u32);

	return (size_t)(found - s->edges);
}

/* The first bare stretch at or after i. */
static size_t bare_from(const struct hostset_scratch *s, size_t i)
{
	while (s->next[i] != i) {
		s->next[i] = s->next[s->next[i]];
		i = s->next[i];
	}
	return i;
}

/* The painted stretches, with neighbours of one rank joined. */
static int collect_ports(
	struct hostset_node *node, struct arena *a, const struct hostset_scratch *s, size_t n_edges)
{
	struct hostset_ports *ports = arena_calloc(a, n_edges, sizeof(*ports));
	uint32_t n = 0;

	if (!ports)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n_edges; i++) {
		uint16_t lo = (uint16_t)s->edges[i], hi = (uint16_t)(s->edges[i + 1] - 1);

		if (s->ranks[i] == RANK_NONE)
			continue;
		if (n > 0 && ports[n - 1].rank == s->ranks[i] && ports[n - 1].hi + 1 == lo)
			ports[n - 1].hi = hi;
		else
			ports[n++] = (struct hostset_ports){ s->ranks[i], lo, hi };
	}
	node->ports = ports;
	node->n_ports = n;
	return 0;
}

static int build_fine(
	struct hostset_node *node, struct arena *a, const struct hostset_entry *entries, size_t n)
{
	struct hostset_fine *fine = NULL;
	size_t count = 0, cap = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct host_pattern *p = &entries[i].pattern;
		struct hostset_fine one = { .pattern = p, .rank = entries[i].rank };
		struct glob *paths;

		if (!host_pattern_is_narrowed(p))
			continue;
		one.paths = paths = arena_calloc(a, p->n_url_paths, sizeof(*paths));
		r = paths ? 0 : -ENOMEM;
		for (size_t k = 0; r == 0 && k < p->n_url_paths; k++)
			r = glob_parse(&paths[k], a, p->url_paths[k], NULL, NULL);
		if (r == 0)
			r = ARENA_PUSH(a, fine, count, cap, one);
	}
	node->fine = fine;
	node->n_fine = (uint32_t)count;
	return r;
}

/* A node of entries for the same host, strongest first. They must outlive it. */
static int node_build(struct hostset_node *node, struct arena *a, const struct hostset_scratch *s,
	const struct hostset_entry *entries, size_t n)
{
	size_t n_edges = find_edges(s, entries, n);
	int r;

	*node = (struct hostset_node){ 0 };
	node->in_guard = entries[0].pattern.wide || host_pattern_guard(&entries[0].pattern) != NULL;
	for (size_t i = 0; i < n_edges; i++) {
		s->ranks[i] = RANK_NONE;
		s->next[i] = (uint32_t)i;
	}
	for (size_t i = 0; i < n; i++) {
		const struct host_pattern *p = &entries[i].pattern;
		size_t at, end;

		if (host_pattern_is_narrowed(p))
			continue;
		end = edge_index(s, n_edges, (uint32_t)p->port_hi + 1);
		at = bare_from(s, edge_index(s, n_edges, first_port(p)));
		for (; at < end; at = bare_from(s, at)) {
			s->ranks[at] = entries[i].rank;
			s->next[at] = (uint32_t)at + 1;
		}
	}
	r = collect_ports(node, a, s, n_edges);
	return r < 0 ? r : build_fine(node, a, entries, n);
}

/* Building the set */

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
	struct {
		size_t exact, below, prefixes;
	} n[SIDES + 1] = { 0 };
	int r;

	for (size_t i = 0; i < s->n; i += same_host(s, i)) {
		const struct host_pattern *p = &s->entries[i].pattern;

		n[p->transport].exact += p->kind == HOST_NAME || p->kind == HOST_SOCKET;
		n[p->transport].below += p->kind == HOST_SUBDOMAINS;
		n[p->transport].prefixes += p->kind == HOST_PREFIX;
	}
	r = names_init(&s->sockets, &s->arena, n[TRANSPORT_UNIX].exact);
	for (int i = 0; i < SIDES && r == 0; i++) {
		struct side *side = &s->sides[i];

		r = names_init(&side->exact, &s->arena, n[i].exact);
		if (r == 0)
			r = names_init(&side->below, &s->arena, n[i].below);
		side->prefixes = arena_calloc(&s->arena, n[i].prefixes, sizeof(*side->prefixes));
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

/* The name is new and lives as long as the table. */
static int hostset_add_name(struct hostset *s, struct hostset_names *names, uint64_t hash,
	const char *name, const struct hostset_node *node)
{
	struct hostset_node *copy = arena_alloc(&s->arena, sizeof(*copy));
	size_t i = hash & names->mask;

	if (!copy)
		return -ENOMEM;
	*copy = *node;
	while (names->slots[i].name)
		i = (i + 1) & names->mask;
	names->slots[i] = (struct hostset_slot){ hash, name, copy };
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
	case HOST_SUBDOMAINS:
		return hostset_add_name(s,
			p->kind == HOST_NAME ? &s->sides[p->transport].exact
					     : &s->sides[p->transport].below,
			host_name_hash(&s->key, p->name), p->name, node);
	case HOST_SOCKET:
		return hostset_add_name(s, &s->sockets,
			hash_keyed(&s->key, 0, p->name, strlen(p->name)), p->name, node);
	case HOST_GLOB: /* layer.c keeps these */
		break;
	}
	return -EINVAL;
}

int hostset_build(struct hostset *s)
{
	auto_arena temporary = { 0 };
	const struct hostset_scratch scratch = {
		.edges = arena_calloc(&temporary, 2 * s->n, sizeof(*scratch.edges)),
		.ranks = arena_calloc(&temporary, 2 * s->n, sizeof(*scratch.ranks)),
		.next = arena_calloc(&temporary, 2 * s->n, sizeof(*scratch.next)),
	};
	int r;

	assert(!s->built);
	if (s->n > 0)
		qsort(s->entries, s->n, sizeof(*s->entries), compare_entries);
	r = hostset_reserve(s);
	if (!scratch.edges || !scratch.ranks || !scratch.next)
		r = -ENOMEM;
	for (size_t i = 0, n; i < s->n && r == 0; i += n) {
		struct hostset_node node;

		n = same_host(s, i);
		r = node_build(&node, &s->arena, &scratch, &s->entries[i], n);
		if (r == 0)
			r = hostset_add_node(s, &s->entries[i].pattern, &node);
	}
	s->built = r == 0;
	return r;
}

/* Matching */

static uint32_t ports_rank(const struct hostset_node *node, uint16_t port)
{
	size_t lo = 0, hi = node->n_ports;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (node->ports[middle].hi < port)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < node->n_ports && node->ports[lo].lo <= port ? node->ports[lo].rank : RANK_NONE;
}

static bool fine_matches(const struct hostset_fine *f, const struct host_request *r)
{
	const struct host_pattern *p = f->pattern;
	size_t len;

	if (!host_pattern_has_port(p, r->port))
		return false;
	if (r->is_opened)
		return host_pattern_is_about_opened(p);
	if (p->methods && !(p->methods & r->method))
		return false;
	len = strlen(r->url_path);
	for (size_t i = 0; i < p->n_url_paths; i++)
		if (host_path_is_unseen(p->url_paths[i]) == r->has_url_path ||
			(r->has_url_path && !glob_match(&f->paths[i], r->url_path, len)))
			return false;
	return true;
}

/* The strongest of `best` and the entries of the node that match; the host is known to match. */
static uint32_t node_match(
	const struct hostset_node *node, const struct host_request *r, uint32_t best)
{
	best = rank_best(best, ports_rank(node, r->port));
	for (uint32_t i = 0; i < node->n_fine && node->fine[i].rank < best; i++)
		if (fine_matches(&node->fine[i], r))
			return node->fine[i].rank;
	return best;
}

static uint32_t match_name(const struct hostset *s, const struct side *side,
	const struct host_request *r, bool guarded, uint32_t best)
{
	size_t end = strlen(r->name);
	const struct hostset_node *node;
	uint64_t hash = 0;

	for (;;) {
		const char *dot = memrchr(r->name, '.', end);
		const char *start = dot ? dot + 1 : r->name;

		hash = hash_keyed(&s->key, hash, start, (size_t)(r->name + end - start));
		if (!dot)
			break;
		node = names_get(&side->below, hash, start);
		if (node && (node->in_guard || !guarded))
			best = node_match(node, r, best);
		end = (size_t)(dot - r->name);
	}
	node = names_get(&side->exact, hash, r->name);
	return node ? node_match(node, r, best) : best;
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

	/* After a prefix that reaches out of the guard, all the outer ones do. */
	for (; p && (p->node.in_guard || !guarded); p = p->parent)
		best = node_match(&p->node, r, best);
	return best;
}

uint32_t hostset_match(const struct hostset *s, const struct host_request *r)
{
	uint32_t best = RANK_NONE;
	const struct side *side;
	bool guarded;

	assert(s->built);
	if (r->transport == TRANSPORT_UNIX) {
		uint64_t hash = hash_keyed(&s->key, 0, r->socket, strlen(r->socket));
		const struct hostset_node *node = names_get(&s->sockets, hash, r->socket);

		return node ? node_match(node, r, best) : best;
	}
	side = &s->sides[r->transport];
	guarded = baseline_guard(r) != NULL;
	if (!guarded || side->any.in_guard)
		best = node_match(&side->any, r, best);
	if (r->is_address)
		return match_address(side, r, guarded, best);
	return match_name(s, side, r, guarded, best);
}
