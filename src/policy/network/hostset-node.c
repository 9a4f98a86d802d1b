/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports are flattened when the set is built. All first and last ports of a node's entries cut the
 * range into stretches that every entry covers as a whole or not at all; entries are painted over
 * them from the strongest on, each taking what is still bare. A stretch that is taken points to the
 * next, with the paths shortened on the way, so painting costs no more than sorting.
 */
#include "policy/network/hostset-node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/network/host-syntax.h"
#include "policy/rank.h"

int hostset_scratch_init(struct hostset_scratch *s, struct arena *a, size_t n)
{
	s->edges = arena_calloc(a, 2 * n, sizeof(*s->edges));
	s->ranks = arena_calloc(a, 2 * n, sizeof(*s->ranks));
	s->next = arena_calloc(a, 2 * n, sizeof(*s->next));
	return s->edges && s->ranks && s->next ? 0 : -ENOMEM;
}

static int compare_edges(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* An any-port entry holds for unknown ports too, which are port 0. */
static uint32_t first_port(const struct host_pattern *p)
{
	return host_pattern_has_port(p, 0) ? 0 : p->port_lo;
}

/* Where stretches start and end: sorted, each once. Returns how many. */
static size_t find_edges(struct hostset_scratch *s, const struct hostset_entry *entries, size_t n)
{
	size_t n_edges = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (host_pattern_is_narrowed(&entries[i].pattern))
			continue;
		s->edges[n_edges++] = first_port(&entries[i].pattern);
		s->edges[n_edges++] = (uint32_t)entries[i].pattern.port_hi + 1;
	}
	if (n_edges > 0)
		qsort(s->edges, n_edges, sizeof(*s->edges), compare_edges);
	for (size_t i = 0; i < n_edges; i++)
		if (kept == 0 || s->edges[i] != s->edges[kept - 1])
			s->edges[kept++] = s->edges[i];
	return kept;
}

static size_t edge_index(const struct hostset_scratch *s, size_t n_edges, uint32_t edge)
{
	const uint32_t *found = bsearch(&edge, s->edges, n_edges, sizeof(*s->edges), compare_edges);

	return (size_t)(found - s->edges);
}

/* The first bare stretch at or behind i. */
static size_t bare_from(struct hostset_scratch *s, size_t i)
{
	while (s->next[i] != i) {
		s->next[i] = s->next[s->next[i]];
		i = s->next[i];
	}
	return i;
}

static void paint(struct hostset_scratch *s, size_t n_edges, const struct hostset_entry *entry)
{
	size_t end = edge_index(s, n_edges, (uint32_t)entry->pattern.port_hi + 1);
	size_t i = bare_from(s, edge_index(s, n_edges, first_port(&entry->pattern)));

	while (i < end) {
		s->ranks[i] = entry->rank;
		s->next[i] = (uint32_t)i + 1;
		i = bare_from(s, i);
	}
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

static int build_ports(struct hostset_node *node, struct arena *a, struct hostset_scratch *s,
	const struct hostset_entry *entries, size_t n)
{
	size_t n_edges = find_edges(s, entries, n);

	for (size_t i = 0; i < n_edges; i++) {
		s->ranks[i] = RANK_NONE;
		s->next[i] = (uint32_t)i;
	}
	for (size_t i = 0; i < n; i++)
		if (!host_pattern_is_narrowed(&entries[i].pattern))
			paint(s, n_edges, &entries[i]);
	return collect_ports(node, a, s, n_edges);
}

static int build_fine_entry(
	struct hostset_fine *fine, struct arena *a, const struct hostset_entry *entry)
{
	const struct host_pattern *p = &entry->pattern;
	struct glob *paths = arena_calloc(a, p->n_url_paths, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_url_paths; i++) {
		int r = glob_parse(&paths[i], a, p->url_paths[i], NULL, NULL);

		if (r < 0)
			return r;
	}
	*fine = (struct hostset_fine){ p, paths, entry->rank };
	return 0;
}

static int build_fine(
	struct hostset_node *node, struct arena *a, const struct hostset_entry *entries, size_t n)
{
	struct hostset_fine *fine = arena_calloc(a, n, sizeof(*fine));
	uint32_t count = 0;

	if (!fine)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = 0;

		if (host_pattern_is_narrowed(&entries[i].pattern))
			r = build_fine_entry(&fine[count++], a, &entries[i]);
		if (r < 0)
			return r;
	}
	node->fine = fine;
	node->n_fine = count;
	return 0;
}

static bool any_narrowed(const struct hostset_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (host_pattern_is_narrowed(&entries[i].pattern))
			return true;
	return false;
}

int hostset_node_build(struct hostset_node *node, struct arena *a, struct hostset_scratch *s,
	const struct hostset_entry *entries, size_t n)
{
	int r;

	*node = (struct hostset_node){ 0 };
	node->in_guard = entries[0].pattern.wide || host_pattern_guard(&entries[0].pattern) != NULL;
	r = build_ports(node, a, s, entries, n);
	if (r == 0 && any_narrowed(entries, n))
		r = build_fine(node, a, entries, n);
	return r;
}

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

	if (!host_pattern_has_port(p, r->port) || (p->methods && !(p->methods & r->method)) ||
		(p->n_url_paths > 0 && !r->has_url_path))
		return false;
	len = strlen(r->url_path);
	for (size_t i = 0; i < p->n_url_paths; i++)
		if (!glob_match(&f->paths[i], r->url_path, len))
			return false;
	return true;
}

uint32_t hostset_node_match(
	const struct hostset_node *node, const struct host_request *r, uint32_t best)
{
	best = rank_best(best, ports_rank(node, r->port));
	for (uint32_t i = 0; i < node->n_fine && node->fine[i].rank < best; i++)
		if (fine_matches(&node->fine[i], r))
			return node->fine[i].rank;
	return best;
}
