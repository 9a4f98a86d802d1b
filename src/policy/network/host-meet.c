/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns as sets: which contains which, and what two have in common.
 *
 * Of two hosts in patterns one always encloses the other, or they have nothing in common: names
 * form a tree, prefixes too. The guard rule cuts these sets. A part that lies within a guard means
 * all of itself; every other part means itself without all that is guarded. So for an inner and an
 * outer part:
 *
 *   both within a guard      they share the inner one
 *   neither                  both have lost the same places: they share the inner one, cut as it is
 *   only the inner one       the outer one has lost all of it: nothing is shared
 *
 * and the outer one cannot be within a guard without the inner one. That makes every meet exact.
 */
#include "policy/network/host.h"

#include <errno.h>
#include <string.h>

#include "policy/match/glob.h"
#include "policy/network/host-syntax.h"

/* All hosts of b are hosts of a, before any guard. The transports are equal. */
static bool encloses(const struct host_pattern *a, const struct host_pattern *b)
{
	switch (a->kind) {
	case HOST_ANY:
		return true;
	case HOST_NAME:
	case HOST_SOCKET:
		return b->kind == a->kind && strcmp(a->name, b->name) == 0;
	case HOST_SUBDOMAINS:
		if (b->kind == HOST_SUBDOMAINS && strcmp(a->name, b->name) == 0)
			return true;
		return (b->kind == HOST_NAME || b->kind == HOST_SUBDOMAINS) &&
		       host_name_below(b->name, a->name);
	case HOST_PREFIX:
		return b->kind == HOST_PREFIX && prefix_contains(&a->prefix, &b->prefix);
	}
	return false;
}

/* The same, and the guards take nothing away from b that a had lost. */
static bool part_contains(const struct host_pattern *a, const struct host_pattern *b)
{
	return encloses(a, b) && (a->wide || host_pattern_guard(a) == host_pattern_guard(b));
}

static bool host_meet_host_contains(const struct host_pattern *a, const struct host_pattern *b)
{
	struct host_pattern as[HOST_PARTS_MAX], bs[HOST_PARTS_MAX];
	size_t n_as = host_pattern_split(a, as), n_bs = host_pattern_split(b, bs);

	for (size_t i = 0; i < n_bs; i++) {
		bool found = false;

		for (size_t j = 0; j < n_as && !found; j++)
			found = part_contains(&as[j], &bs[i]);
		if (!found)
			return false;
	}
	return true;
}

static bool host_meet_is_literal(const char *path)
{
	return strpbrk(path, "*?[]{}\\") == NULL;
}

/* Some path pattern of b admits no more than `path` does. */
static bool path_holds_for(const char *path, const struct host_pattern *b)
{
	for (size_t i = 0; i < b->n_url_paths; i++) {
		const char *other = b->url_paths[i];

		if (strcmp(path, other) == 0 ||
			(host_meet_is_literal(other) && glob_match_text(path, other)))
			return true;
	}
	return false;
}

bool host_pattern_contains(const struct host_pattern *a, const struct host_pattern *b)
{
	if (a->transport != b->transport || a->port_lo > b->port_lo || a->port_hi < b->port_hi)
		return false;
	if (a->methods && (!b->methods || b->methods & ~a->methods))
		return false;
	for (size_t i = 0; i < a->n_url_paths; i++)
		if (!path_holds_for(a->url_paths[i], b))
			return false;
	return host_meet_host_contains(a, b);
}

static bool host_meet_has_path(const char **paths, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(paths[i], path) == 0)
			return true;
	return false;
}

static int meet_paths(const struct host_pattern *a, const struct host_pattern *b,
	struct arena *arena, struct host_pattern *ret)
{
	size_t n = 0;
	const char **paths;

	ret->url_paths = NULL;
	ret->n_url_paths = 0;
	if (a->n_url_paths + b->n_url_paths == 0)
		return 0;
	paths = arena_calloc(arena, a->n_url_paths + b->n_url_paths, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_url_paths + b->n_url_paths; i++) {
		const char *path =
			i < a->n_url_paths ? a->url_paths[i] : b->url_paths[i - a->n_url_paths];

		if (!host_meet_has_path(paths, n, path))
			paths[n++] = path;
	}
	ret->url_paths = paths;
	ret->n_url_paths = n;
	return 0;
}

/* The hosts in common, as a copy of a, b or a part of one. */
static bool host_meet_hosts(
	const struct host_pattern *a, const struct host_pattern *b, struct host_pattern *ret)
{
	struct host_pattern as[HOST_PARTS_MAX], bs[HOST_PARTS_MAX];
	size_t n_as = host_pattern_split(a, as), n_bs = host_pattern_split(b, bs);

	if (host_meet_host_contains(a, b) || host_meet_host_contains(b, a)) {
		*ret = host_meet_host_contains(a, b) ? *b : *a;
		return true;
	}
	/*
	 * Only localhost has more than one part, and nothing but itself covers two of them: they
	 * are a name and one address of each family, and all guarded, so that `*` covers none.
	 */
	for (size_t i = 0; i < n_as * n_bs; i++) {
		const struct host_pattern *pa = &as[i / n_bs], *pb = &bs[i % n_bs];

		if (part_contains(pa, pb) || part_contains(pb, pa)) {
			*ret = part_contains(pa, pb) ? *pb : *pa;
			return true;
		}
	}
	return false;
}

int host_pattern_meet(const struct host_pattern *a, const struct host_pattern *b,
	struct arena *arena, struct host_pattern ret[2])
{
	struct host_pattern both;
	int r;

	if (a->transport != b->transport || !host_meet_hosts(a, b, &both))
		return 0;
	both.port_lo = a->port_lo > b->port_lo ? a->port_lo : b->port_lo;
	both.port_hi = a->port_hi < b->port_hi ? a->port_hi : b->port_hi;
	both.methods = a->methods && b->methods ? a->methods & b->methods : a->methods | b->methods;
	if (both.port_lo > both.port_hi || (both.methods == 0 && (a->methods || b->methods)))
		return 0;
	r = meet_paths(a, b, arena, &both);
	if (r < 0)
		return r;
	ret[0] = both;
	return 1;
}
