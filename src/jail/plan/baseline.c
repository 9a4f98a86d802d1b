/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline's places that a command could see. There are hundreds of entries, and most plans
 * show none of them: an entry is looked at only if it lies inside a folder of the host that is
 * visible, and, where that folder is read-only, only if it forbids reading.
 *
 * "~/" stands for HOME, for /root and for every folder in /home and /Users, as the policy has it.
 * An entry keeps the path under which the policy knows it; that HOME, or /home itself, may be a
 * link is taken care of when the place is looked at. A home that commands cannot list is hidden as
 * a whole: they have no use for it, and covers in it could not be watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/plan/internal.h"
#include "policy/baseline.h"

/* More users than this are refused. */
enum { NAMES_MAX = 4096 };

/* A folder as the policy knows it, and where it is. */
struct baseline_spot {
	const char *path, *real;
	unsigned names; /* in it, that were seen */
};

/* Does the entry matter where `real` is? Then whether what is missing there matters as well. */
static bool plan_baseline_matters(const struct planner *p, const struct baseline_path *entry,
	const char *real, bool *ret_absent_too)
{
	const struct plan_node *node = plan_nodes_find(p, real);

	*ret_absent_too = node->access == PLAN_WRITE;
	return node->kind == PLAN_BIND && (entry->secret || node->access == PLAN_WRITE);
}

/* An entry that has been found. */
struct baseline_match {
	struct planner *planner;
	const struct baseline_path *entry;
};

static int plan_baseline_add(void *data, const char *path, bool subtree)
{
	const struct baseline_match *m = data;
	struct plan_place place = { .origin = PLAN_FROM_BASELINE,
		.entry = m->entry,
		.text = baseline_path_pattern(m->entry) };

	(void)subtree;
	return plan_add_copy(m->planner, path, place);
}

/* Length of a pattern without the "/ **" at its end, and of that the part before any wildcard. */
static size_t plan_baseline_plain_length(const char *pattern, size_t *ret_fixed)
{
	size_t len = strlen(pattern), fixed;

	if (len > 3 && strcmp(pattern + len - 3, "/**") == 0)
		len -= 3;
	fixed = strcspn(pattern, "*?[{");
	if (fixed < len) {
		while (fixed > 0 && pattern[fixed - 1] != '/')
			fixed--;
	}
	*ret_fixed = fixed < len ? fixed : len;
	return len;
}

/* A pattern: what it matches among the names that are there. */
static int plan_baseline_add_pattern(
	struct planner *p, const struct baseline_path *entry, size_t fixed)
{
	struct baseline_match m = { p, entry };
	char folder[PATH_BYTES];
	struct glob g;
	bool absent;
	int r;

	/* Without the slash at its end. */
	(void)snprintf(
		folder, sizeof(folder), "%.*s", (int)fixed - 1, baseline_path_pattern(entry));
	if (!plan_baseline_matters(p, entry, folder, &absent))
		return 0;
	r = glob_parse(&g, &p->arena, baseline_path_pattern(entry), NULL, p->error);
	return r < 0 ? r : plan_globs_expand(p, &g.alternatives[0], plan_baseline_add, &m);
}

/* folder + below: hundreds of times, so not by snprintf(). */
static bool plan_baseline_join(
	const char *folder, const char *below, size_t len, char out[PATH_BYTES])
{
	size_t n = strlen(folder);

	if (n + len >= PATH_BYTES)
		return false;
	memcpy(out, folder, n);
	memcpy(out + n, below, len);
	out[n + len] = '\0';
	return true;
}

/* Into a list of the plan's own. */
static int plan_baseline_list(
	struct planner *p, const char ***list, size_t *n, size_t *cap, const char *path)
{
	const char *copy = arena_strdup(&p->plan->arena, path);

	return copy ? ARENA_PUSH(&p->plan->arena, *list, *n, *cap, copy) : -ENOMEM;
}

/* What a policy lifts is no secret when it appears. */
static int plan_baseline_spare(struct planner *p, const char *path, const char *real)
{
	struct request request = { .op = OPERATION_FS_READ, .target = path };
	struct plan *plan = p->plan;
	struct decision d;
	int r;

	if (policy_decide(p->policy, &request, &d) < 0 || d.verdict != VERDICT_ALLOW)
		return 0;
	r = plan_baseline_list(p, &plan->spared, &plan->n_spared, &plan->cap_spared, path);
	if (r == 0 && strcmp(path, real) != 0)
		r = plan_baseline_list(p, &plan->spared, &plan->n_spared, &plan->cap_spared, real);
	return r;
}

int plan_baseline_defer(struct planner *p)
{
	struct plan *plan = p->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];
		const struct plan_place *by = node->limiter;

		/* The baseline's are known to whoever watches, but not where links lead. */
		if (!node->exists && by && (by->origin != PLAN_FROM_BASELINE || by->n_links > 0) &&
			node->limit == PLAN_NONE && p->nodes[node->up].kind == PLAN_BIND)
			r = plan_baseline_list(
				p, &plan->late, &plan->n_late, &plan->cap_late, node->path);
	}
	return r;
}

/* Whether something is there: 0, or a negative errno. */
static int plan_baseline_look(struct planner *p, const char *path)
{
	struct plan_place place;
	struct stat st;
	int r = plan_seen_at(p, path, &place);

	/* Where links lead is seen when the place is looked at. */
	return r == -ELOOP && lstat(path, &st) < 0 ? -errno : r;
}

static int plan_baseline_add_below(struct planner *p, const struct baseline_path *entry,
	const struct baseline_spot *home, const char *below, size_t len)
{
	struct baseline_match m = { p, entry };
	char path[PATH_BYTES], real[PATH_BYTES];
	bool absent;
	int r;

	if (!plan_baseline_join(home->path, below, len, path) ||
		!plan_baseline_join(home->real, below, len, real))
		return 0;
	if (!plan_baseline_matters(p, entry, real, &absent))
		return 0;
	if (p->lifts && entry->secret && plan_baseline_spare(p, path, real) < 0)
		return -ENOMEM;
	r = absent ? 0 : plan_baseline_look(p, real);
	if (r < 0 && plan_look_is_absent(-r))
		return 0;
	return r == -ENOMEM ? r : plan_baseline_add(&m, path, false);
}

/*
 * Most entries forbid writing, and most plans let little be written. Mounts that may be written
 * count, and not the nearest node: that may be a cover on one of them.
 */
struct baseline_writable {
	const struct plan_node **nodes;
	size_t n, cap;
};

static int plan_baseline_find_writable(struct planner *p, struct baseline_writable *w)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (node->access == PLAN_WRITE && node->mount == i)
			r = ARENA_PUSH(&p->arena, w->nodes, w->n, w->cap, node);
	}
	return r;
}

static bool plan_baseline_is_writable_around(const struct baseline_writable *w, const char *path)
{
	size_t i = 0;

	while (i < w->n && !path_is_below(path, w->nodes[i]->path))
		i++;
	return i < w->n;
}

/* Entries that start with "/". */
static int plan_baseline_collect_fixed(struct planner *p)
{
	static const struct baseline_spot root = { "", "", 0 };
	struct baseline_writable writable = { 0 };
	int r = plan_baseline_find_writable(p, &writable);

	for (size_t i = 0; r == 0 && i < baseline_n_paths; i++) {
		const struct baseline_path *entry = &baseline_paths[i];
		const char *pattern = baseline_path_pattern(entry);
		size_t fixed, len;

		if (pattern[0] == '~' ||
			(!entry->secret && !plan_baseline_is_writable_around(&writable, pattern)))
			continue;
		len = plan_baseline_plain_length(pattern, &fixed);
		r = fixed < len ? plan_baseline_add_pattern(p, entry, fixed)
				: plan_baseline_add_below(p, entry, &root, pattern, len);
	}
	return r;
}

/* Entries below ~/, or below a folder in it. */
static int plan_baseline_collect_home(
	struct planner *p, const struct baseline_spot *home, const char *inside)
{
	size_t n = strlen(inside);
	int r = 0;

	for (size_t i = 0; r == 0 && i < baseline_n_paths; i++) {
		const struct baseline_path *entry = &baseline_paths[i];
		const char *pattern = baseline_path_pattern(entry);
		size_t fixed, len;

		if (pattern[0] != '~' || strncmp(pattern + 1, inside, n) != 0 ||
			pattern[1 + n] != '/')
			continue;
		len = plan_baseline_plain_length(pattern, &fixed);
		r = plan_baseline_add_below(p, entry, home, pattern + 1, len - 1);
	}
	return r;
}

/* Does a policy name the path, or something in it, and grant it? `below`: something in it. */
static bool plan_baseline_is_named(const struct planner *p, const char *path, bool below)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (place->origin == PLAN_FROM_POLICY && place->answer.grant > PLAN_NONE &&
			(below ? path_is_below(place->real, path) : strcmp(place->real, path) == 0))
			return true;
	}
	return false;
}

/* A folder in which nothing can be watched: masks in it would come off unseen. */
static bool plan_baseline_is_closed(const char *folder)
{
	auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 && errno == EACCES;
}

/*
 * The user's own home in a folder that may be written (below /tmp, say): who grants the folder does
 * not mean the home, where start-up files could be made. It is read-only, but for what is granted
 * in it by name.
 */
static int plan_baseline_keep_home(struct planner *p, const struct baseline_spot *home)
{
	const struct plan_node *node = plan_nodes_find(p, home->real);
	int r;

	if (strcmp(home->path, p->plan->home) != 0 || node->kind != PLAN_BIND ||
		node->access < PLAN_WRITE || plan_baseline_is_named(p, home->real, false))
		return 0;
	r = plan_add_copy(p, home->path, (struct plan_place){ .origin = PLAN_FROM_GUARDED });
	return r < 0 ? r
		     : plan_add_note(p, NULL,
			       "%s is your home and is in %s, which may be written: in your "
			       "home, only paths granted by name may be written",
			       home->path, p->nodes[node->mount].path);
}

/* A home folder: all of it is visible, or some folders in it. */
static int plan_baseline_visit_home(struct planner *p, struct baseline_spot *home)
{
	size_t len = strlen(home->real);
	int r = 0;

	if (plan_nodes_find(p, home->real)->kind == PLAN_BIND) {
		if (plan_baseline_is_closed(home->real) &&
			!plan_baseline_is_named(p, home->real, true))
			return plan_add_copy(
				p, home->path, (struct plan_place){ .origin = PLAN_FROM_HIDDEN });
		r = plan_baseline_keep_home(p, home);
		return r < 0 ? r : plan_baseline_collect_home(p, home, "");
	}
	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (node->kind == PLAN_BIND && node->mount == i && node->is_dir &&
			path_is_below(node->path, home->real))
			r = plan_baseline_collect_home(p, home, node->path + len);
	}
	return r;
}

static int plan_baseline_visit_named(struct planner *p, const char *name, void *data)
{
	struct baseline_spot *base = data;
	char path[PATH_BYTES], real[PATH_BYTES];
	struct baseline_spot home = { path, real, 0 };

	if (++base->names > NAMES_MAX)
		return error_set(p->error, -E2BIG, NULL,
			"%s contains more than %d names, too many to search for secrets",
			base->real, NAMES_MAX);
	if (snprintf(path, sizeof(path), "%s/%s", base->path, name) >= PATH_BYTES ||
		snprintf(real, sizeof(real), "%s/%s", base->real, name) >= PATH_BYTES)
		return 0;
	return plan_baseline_visit_home(p, &home);
}

/* The home folders in /home: all that are there if it is visible, else those with something in. */
static int plan_baseline_visit_homes(struct planner *p, struct baseline_spot *base)
{
	size_t len = strlen(base->real);
	char last[256] = "";
	int r = 0;

	if (plan_nodes_find(p, base->real)->kind == PLAN_BIND)
		return plan_look_each(p, base->real, plan_baseline_visit_named, base);
	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];
		const char *name = node->path + len + 1;
		char text[256];

		if (node->kind != PLAN_BIND || !path_is_below(node->path, base->real))
			continue;
		(void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, "/"), name);
		base->names = 0;
		if (strcmp(text, last) != 0)
			r = plan_baseline_visit_named(p, text, base);
		memcpy(last, text, sizeof(last));
	}
	return r;
}

int plan_baseline_collect(struct planner *p)
{
	const struct {
		const char *path;
		int (*visit)(struct planner *p, struct baseline_spot *spot);
	} rows[] = {
		{ "/root", plan_baseline_visit_home },
		{ "/home", plan_baseline_visit_homes },
		{ "/Users", plan_baseline_visit_homes },
		{ p->plan->home, plan_baseline_visit_home },
	};
	int r;

	for (size_t i = 0; i < p->n_layers; i++)
		p->lifts = p->lifts || p->layers[i]->dangerously_allow.n > 0;
	r = plan_baseline_collect_fixed(p);

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++) {
		char real[PATH_BYTES];
		struct baseline_spot spot = { rows[i].path, real, 0 };

		if (!spot.path[1])
			continue;
		r = plan_seen_walk(p, spot.path, NULL, real);
		if (r == 0)
			r = rows[i].visit(p, &spot);
		else if (r != -ENOMEM)
			r = 0; /* it leads nowhere */
	}
	return r;
}
