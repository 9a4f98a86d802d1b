/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is nothing to compile: the tables are made when Corral is built (baseline-data.h).
 *
 * A path is matched by a walk through a tree of folders, one component at a time, that ends where
 * the tree does: most paths leave it at the first or second component. Names are found by
 * bisection; the few with wildcards that stand in the same folder are tried one by one, so there
 * can be several ways down. They are all walked, since it is a tree: no node is seen twice, and the
 * recursion is as deep as the longest entry.
 *
 * Entries below "~/" hold in every home folder. They are a tree of their own, and a path inside a
 * home goes on there with what follows the home.
 */
#include "policy/baseline.h"

#include <string.h>

#include "base/path.h"
#include "policy/baseline-data.h"
#include "policy/network/host.h"

/* Networks */

/* There are too few names for anything better than looking at each. */
static const struct baseline_net *baseline_find_name(
	const struct baseline_group *g, const char *name)
{
	const struct baseline_net *nets = baseline_nets + g->first_name;
	size_t len = strlen(name);

	for (size_t i = 0; i < g->n_names; i++) {
		const char *guarded = baseline_net_text(&nets[i]);
		size_t n = strlen(guarded);

		if (len >= n && memcmp(name + len - n, guarded, n) == 0 &&
			(len == n || name[len - n - 1] == '.'))
			return &nets[i];
	}
	return NULL;
}

/* The prefixes do not overlap: if one holds p, it is the last that does not come after it. */
static const struct baseline_net *baseline_find_prefix(
	const struct baseline_group *g, const struct prefix *p)
{
	const struct baseline_net *nets = baseline_nets + g->first_prefix;
	size_t lo = 0, hi = g->n_prefixes;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (prefix_compare(&nets[middle].prefix, p) <= 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo > 0 && prefix_contains(&nets[lo - 1].prefix, p) ? &nets[lo - 1] : NULL;
}

static const struct baseline_net *baseline_find(
	const struct baseline_group *g, const struct host_request *r)
{
	struct prefix p;

	if (r->transport == TRANSPORT_UNIX)
		return NULL;
	if (!r->is_address)
		return baseline_find_name(g, r->name);
	p = prefix_of(&r->address, r->address.bits);
	return baseline_find_prefix(g, &p);
}

const struct baseline_net *baseline_never(const struct host_request *r)
{
	return baseline_find(&baseline_never_group, r);
}

const struct baseline_net *baseline_guard(const struct host_request *r)
{
	return baseline_find(&baseline_guard_group, r);
}

const struct baseline_net *baseline_guard_of_prefix(const struct prefix *p)
{
	return baseline_find_prefix(&baseline_guard_group, p);
}

const struct baseline_net *baseline_guard_of_name(const char *name)
{
	return baseline_find_name(&baseline_guard_group, name);
}

/* Files: one component */

enum { ROOT, HOME };

/* More nodes than any path has: one of the root, one of each home, and those with wildcards. */
enum { ENDS_MAX = 8 };

/* Length of the set, "[a-z0-9]", that the pattern starts with if b is in it, else 0. */
static size_t match_set(const char *p, unsigned char b)
{
	size_t n = 1;
	bool in = false;

	while (p[n] != ']') {
		unsigned char lo = (unsigned char)p[n], hi = lo;

		if (p[n + 1] == '-')
			hi = (unsigned char)p[n += 2];
		in = in || (lo <= b && b <= hi);
		n++;
	}
	return in ? n + 1 : 0;
}

/* Only the last '*' needs to take more bytes: the earlier ones have found what they must. */
static bool match_wild(const char *p, size_t n, const char *s, size_t len)
{
	const char *p_end = p + n, *s_end = s + len, *star = NULL, *taken = NULL;

	while (s < s_end) {
		if (p < p_end && *p == '*') {
			star = ++p;
			taken = s;
			continue;
		}
		/* Length of what matches the byte, or 0. */
		n = p == p_end  ? 0
		    : *p == '[' ? match_set(p, (unsigned char)*s)
				: *p == '?' || *p == *s;
		p += n;
		s++;
		if (n)
			continue;
		if (!star)
			return false;
		p = star;
		s = ++taken;
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

/* The tree */

struct baseline_walk {
	const char *path;
	size_t len;
	bool write;
	unsigned best;                              /* entry */
	unsigned before;                            /* best of the trees that were walked before */
	const struct baseline_node *ends[ENDS_MAX]; /* the path's own nodes */
	size_t n_ends;
};

static const struct baseline_node *find_plain(
	const struct baseline_node *node, const char *name, size_t len)
{
	const struct baseline_node *children = baseline_nodes + node->first;
	size_t lo = 0, hi = node->n_plain;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;
		const struct baseline_node *child = &children[middle];
		int c = child->len == len  ? memcmp(baseline_names + child->name, name, len)
			: child->len < len ? -1
					   : 1;

		if (c == 0)
			return child;
		if (c < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return NULL;
}

/* The path has come to a node; `at` is the end of the part that led there. */
static void baseline_paths_walk(
	struct baseline_walk *s, const struct baseline_node *node, size_t at)
{
	const struct baseline_node *child;
	const char *name = s->path + at + 1, *slash;
	size_t len;

	if (node->is_free && s->best != BASELINE_NONE && !baseline_paths[s->best].secret)
		s->best = BASELINE_NONE;
	if (node->subtree[s->write] < s->best)
		s->best = node->subtree[s->write];
	if (at == s->len && node->exact[s->write] < s->best)
		s->best = node->exact[s->write];
	if (at == s->len && node->is_public && !s->write)
		s->best = s->before;
	if (at == s->len) {
		if (s->n_ends < ENDS_MAX)
			s->ends[s->n_ends++] = node;
		return;
	}
	slash = memchr(name, '/', s->len - at - 1);
	len = slash ? (size_t)(slash - name) : s->len - at - 1;
	child = find_plain(node, name, len);
	if (child)
		baseline_paths_walk(s, child, at + 1 + len);
	child = baseline_nodes + node->first + node->n_plain;
	for (unsigned i = 0; i < node->n_wild; i++, child++) {
		if (match_wild(baseline_names + child->name, child->len, name, len))
			baseline_paths_walk(s, child, at + 1 + len);
	}
}

/* Home folders */

/* Length of the home folder that path is or lies in: prefix, and one component more if `any`. 0:
 * none. */
static size_t baseline_paths_inside(
	const char *path, size_t len, const char *prefix, size_t n, bool any)
{
	const char *end;

	if (!any && len == n && memcmp(path, prefix, n) == 0)
		return n;
	if (len <= n || memcmp(path, prefix, n) != 0 || path[n] != '/')
		return 0;
	if (!any)
		return n;
	end = memchr(path + n + 1, '/', len - n - 1);
	return end ? (size_t)(end - path) : len;
}

struct baseline_home baseline_paths_home(const char *home)
{
	struct baseline_home h = { home, home ? strlen(home) : 0 };

	return h.len > 1 && path_is_normal(home, h.len) ? h : (struct baseline_home){ 0 };
}

static void baseline_paths_find(struct baseline_walk *s, const struct baseline_home *home)
{
	size_t common = baseline_paths_inside(s->path, s->len, "/home", 5, true), own;

	if (!common)
		common = baseline_paths_inside(s->path, s->len, "/root", 5, false);
	if (!common)
		common = baseline_paths_inside(s->path, s->len, "/Users", 6, true);
	s->before = BASELINE_NONE;
	baseline_paths_walk(s, &baseline_nodes[ROOT], 0);
	s->before = s->best;
	if (common)
		baseline_paths_walk(s, &baseline_nodes[HOME], common);
	s->before = s->best;
	own = home->len ? baseline_paths_inside(s->path, s->len, home->path, home->len, false) : 0;
	if (own && own != common)
		baseline_paths_walk(s, &baseline_nodes[HOME], own);
}

const struct baseline_path *baseline_paths_match(
	const struct baseline_home *home, bool write, const char *path, size_t len)
{
	/* The root is "/" as a path and "" as a folder. */
	struct baseline_walk s = {
		.path = path, .len = len == 1 ? 0 : len, .write = write, .best = BASELINE_NONE
	};

	baseline_paths_find(&s, home);
	return s.best == BASELINE_NONE ? NULL : &baseline_paths[s.best];
}

/* The next name on the way from the folder path[0..len) to a home, or NULL. */
static const char *baseline_paths_towards(const char *path, size_t len, const char *home, size_t n)
{
	return n > len && memcmp(home, path, len) == 0 && home[len] == '/' ? home + len + 1 : NULL;
}

static const char *const homes[] = { "/home/", "/root", "/Users/" };

/* The path is a folder on the way to a home. */
static bool baseline_paths_lead_home(const struct baseline_home *home, const char *path, size_t len)
{
	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
		if (baseline_paths_towards(path, len, homes[i], strlen(homes[i])))
			return true;
	}
	return home->len && baseline_paths_towards(path, len, home->path, home->len);
}

bool baseline_paths_spare(const struct baseline_home *home, const char *folder, size_t len)
{
	/* What is forbidden to be read is so to be written, and nothing below is public for that.
	 */
	struct baseline_walk s = {
		.path = folder, .len = len == 1 ? 0 : len, .write = true, .best = BASELINE_NONE
	};

	baseline_paths_find(&s, home);
	for (size_t i = 0; i < s.n_ends; i++) {
		if (s.ends[i]->n_plain + s.ends[i]->n_wild > 0)
			return false;
	}
	return s.best == BASELINE_NONE && s.n_ends < ENDS_MAX &&
	       !baseline_paths_lead_home(home, folder, s.len);
}

unsigned baseline_paths_reach(const struct baseline_home *home, const char *path, size_t len)
{
	struct baseline_walk s = { .path = path, .len = len == 1 ? 0 : len, .best = BASELINE_NONE };
	unsigned found = 0;

	baseline_paths_find(&s, home);
	/* In a folder that is secret as a whole there is nothing else to find. */
	for (size_t i = 0; i < s.n_ends; i++)
		if (s.ends[i]->n_plain + s.ends[i]->n_wild > 0 &&
			s.ends[i]->subtree[0] == BASELINE_NONE)
			found = BASELINE_BELOW;
	if (baseline_paths_lead_home(home, path, s.len))
		found = BASELINE_BELOW;
	return s.best == BASELINE_NONE ? found : found | BASELINE_HERE;
}

int baseline_paths_children(const struct baseline_home *home, const char *path, size_t len,
	baseline_child *each, void *data)
{
	struct baseline_walk s = { .path = path, .len = len == 1 ? 0 : len, .best = BASELINE_NONE };
	const char *name;
	bool all = false;
	int r = 0;

	baseline_paths_find(&s, home);
	for (size_t i = 0; i < s.n_ends; i++) {
		const struct baseline_node *child = baseline_nodes + s.ends[i]->first;

		all = all || s.ends[i]->n_wild > 0;
		for (unsigned k = 0; r == 0 && k < s.ends[i]->n_plain; k++, child++)
			r = each(data, baseline_names + child->name, child->len);
	}
	for (size_t i = 0; r == 0 && i < sizeof(homes) / sizeof(*homes); i++) {
		name = baseline_paths_towards(path, s.len, homes[i], strlen(homes[i]));
		all = all || (name && !*name);
		if (name && *name)
			r = each(data, name, strcspn(name, "/"));
	}
	name = home->len ? baseline_paths_towards(path, s.len, home->path, home->len) : NULL;
	if (r == 0 && name)
		r = each(data, name, strcspn(name, "/"));
	return r ? r : all;
}
