/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline's places that a command could see. There are hundreds of entries, and most plans
 * show none of them: an entry is looked at only if it lies inside a folder of the host that is
 * visible, and, where that folder is read-only, only if it forbids reading.
 *
 * "~/" stands for HOME, for /root and for every folder in /home and /Users, as the policy has it.
 * An entry keeps the path under which the policy knows it; that HOME, or /home itself, may be a
 * link is taken care of when the place is looked at.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/path.h"
#include "host/links.h"
#include "jail/plan/internal.h"
#include "policy/baseline.h"

/* More users, or files that one entry's pattern is tried on, than this are refused. */
enum { NAMES_MAX = 4096 };

/* A folder as the policy knows it, and where it is. */
struct spot {
	const char *path, *real;
};

/* Does the entry matter where `real` is? Then whether what is missing there matters as well. */
static bool matters(const struct planner *p, const struct baseline_path *entry, const char *real,
	bool *ret_absent_too)
{
	const struct plan_node *node = plan_nodes_find(p, real);

	*ret_absent_too = node->access == PLAN_WRITE;
	return node->kind == PLAN_BIND && (entry->secret || node->access == PLAN_WRITE);
}

static int plan_baseline_add(struct planner *p, const struct baseline_path *entry, const char *path)
{
	struct plan_place place = { .origin = PLAN_FROM_BASELINE, .text = entry->pattern };

	place.path = arena_strdup(&p->arena, path);
	return place.path ? plan_add_place(p, place) : plan_no_memory(p);
}

/* Length of a pattern without the "/ **" at its end, and of that the part before any wildcard. */
static size_t plain_length(const char *pattern, size_t *ret_fixed)
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

static int too_many(struct planner *p, const char *folder)
{
	return error_set(p->error, -E2BIG, NULL,
		"%s holds more than %d names, which is more than is searched for secrets", folder,
		NAMES_MAX);
}

/* Calls found for each name in a folder. */
static int each_name(struct planner *p, const char *folder,
	int (*found)(struct planner *p, const char *name, void *data), void *data)
{
	DIR *dir;
	int r = plan_look_open(p, folder, &dir);

	for (unsigned n = 0; r == 0 && dir; n++) {
		const char *name;

		r = plan_look_next(p, folder, dir, &name);
		if (r < 0 || !name)
			break;
		r = n < NAMES_MAX ? found(p, name, data) : too_many(p, folder);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

struct search {
	const struct baseline_path *entry;
	struct glob glob;
	const char *folder;
};

static int add_match(struct planner *p, const char *name, void *data)
{
	const struct search *s = data;
	char path[PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s%s", s->folder, name);

	if (n >= (int)sizeof(path) || !glob_match(&s->glob, path, (size_t)n))
		return 0;
	return plan_baseline_add(p, s->entry, path);
}

/* A pattern: what it matches among the names that are there. */
static int plan_baseline_add_pattern(
	struct planner *p, const struct baseline_path *entry, size_t fixed)
{
	struct search s = { .entry = entry };
	char folder[PATH_BYTES];
	bool absent;
	int r;

	(void)snprintf(folder, sizeof(folder), "%.*s", (int)fixed, entry->pattern);
	s.folder = folder;
	/* Without the slash at its end. */
	folder[fixed - 1] = '\0';
	if (!matters(p, entry, folder, &absent))
		return 0;
	folder[fixed - 1] = '/';
	r = glob_parse(&s.glob, &p->arena, entry->pattern, NULL, p->error);
	return r < 0 ? r : each_name(p, folder, add_match, &s);
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

static int add_below(struct planner *p, const struct baseline_path *entry, const struct spot *home,
	const char *below, size_t len)
{
	char path[PATH_BYTES], real[PATH_BYTES];
	struct stat st;
	bool absent;

	if (!plan_baseline_join(home->path, below, len, path) ||
		!plan_baseline_join(home->real, below, len, real))
		return 0;
	if (!matters(p, entry, real, &absent) ||
		(!absent && lstat(real, &st) < 0 && plan_look_is_absent(errno)))
		return 0;
	return plan_baseline_add(p, entry, path);
}

/* Most entries forbid writing, and most plans let little be written. */
static bool is_writable_around(const struct planner *p, const char *path)
{
	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (node->access == PLAN_WRITE && node->mount == i &&
			path_is_below(path, node->path))
			return true;
	}
	return false;
}

/* Entries that start with "/". */
static int collect_fixed(struct planner *p)
{
	static const struct spot root = { "", "" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < baseline_n_paths; i++) {
		const struct baseline_path *entry = &baseline_paths[i];
		size_t fixed, len;

		if (entry->pattern[0] == '~' ||
			(!entry->secret && !is_writable_around(p, entry->pattern)))
			continue;
		len = plain_length(entry->pattern, &fixed);
		r = fixed < len ? plan_baseline_add_pattern(p, entry, fixed)
				: add_below(p, entry, &root, entry->pattern, len);
	}
	return r;
}

/* Entries below ~/, or below a folder in it. */
static int collect_home(struct planner *p, const struct spot *home, const char *inside)
{
	size_t n = strlen(inside);
	int r = 0;

	for (size_t i = 0; r == 0 && i < baseline_n_paths; i++) {
		const struct baseline_path *entry = &baseline_paths[i];
		size_t fixed, len;

		if (entry->pattern[0] != '~' || strncmp(entry->pattern + 1, inside, n) != 0 ||
			entry->pattern[1 + n] != '/')
			continue;
		len = plain_length(entry->pattern, &fixed);
		r = add_below(p, entry, home, entry->pattern + 1, len - 1);
	}
	return r;
}

/* A home folder: all of it is visible, or some folders in it. */
static int visit_home(struct planner *p, const struct spot *home)
{
	size_t len = strlen(home->real);
	int r = 0;

	if (plan_nodes_find(p, home->real)->kind == PLAN_BIND)
		return collect_home(p, home, "");
	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (node->kind == PLAN_BIND && node->mount == i && node->is_dir &&
			path_is_below(node->path, home->real))
			r = collect_home(p, home, node->path + len);
	}
	return r;
}

static int visit_named(struct planner *p, const char *name, void *data)
{
	const struct spot *base = data;
	char path[PATH_BYTES], real[PATH_BYTES];
	struct spot home = { path, real };

	if (snprintf(path, sizeof(path), "%s/%s", base->path, name) >= PATH_BYTES ||
		snprintf(real, sizeof(real), "%s/%s", base->real, name) >= PATH_BYTES)
		return 0;
	return visit_home(p, &home);
}

/* The home folders in /home: all that are there if it is visible, else those with something in. */
static int visit_homes(struct planner *p, const struct spot *base)
{
	size_t len = strlen(base->real);
	char last[256] = "";
	int r = 0;

	if (plan_nodes_find(p, base->real)->kind == PLAN_BIND)
		return each_name(p, base->real, visit_named, (void *)base);
	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];
		const char *name = node->path + len + 1;
		char text[256];

		if (node->kind != PLAN_BIND || !path_is_below(node->path, base->real))
			continue;
		(void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, "/"), name);
		if (strcmp(text, last) != 0)
			r = visit_named(p, text, (void *)base);
		memcpy(last, text, sizeof(last));
	}
	return r;
}

static int collect_homes(struct planner *p)
{
	static const struct {
		const char *path;
		int (*visit)(struct planner *p, const struct spot *spot);
	} rows[] = {
		{ "/root", visit_home },
		{ "/home", visit_homes },
		{ "/Users", visit_homes },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i <= ROWS(rows); i++) {
		bool is_row = i < ROWS(rows);
		struct spot spot = { is_row ? rows[i].path : p->plan->home, NULL };
		struct plan_place place = { 0 };
		char real[PATH_BYTES];

		if (!spot.path[1])
			continue;
		/* Nearly always there is no link. */
		spot.real = spot.path;
		if (plan_look_at(spot.path, &place) == -ELOOP) {
			spot.real = real;
			if (links_follow(spot.path, NULL, NULL, real) < 0)
				continue;
		}
		r = is_row ? rows[i].visit(p, &spot) : visit_home(p, &spot);
	}
	return r;
}

int plan_baseline_collect(struct planner *p)
{
	int r = collect_fixed(p);

	return r < 0 ? r : collect_homes(p);
}
