/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder is known by the number of its watch, which is the same for one inode, so a folder that
 * was moved is found under its new path when its new name is heard of. Numbers only grow: the table
 * is in their order.
 *
 *   created, or moved there     the folder's watch tells
 *   a folder with it inside     is watched and looked through, and all below it
 *   a folder that is removed    its watch ends, and makes room for another
 *   events that were lost       everything is looked through once more
 *
 * A command decides how much there is to look through, and masks of paths are put back by the same
 * process: so a folder waits once, however often it was moved, and each turn reads some names only.
 * What cannot be looked into, or lies too deep, or is one mask too many, is masked with its folder.
 */
#include "warden/session/appear.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "policy/match/glob-name.h"
#include "warden/session/changes.h"

enum { FOLDERS_MAX = 8192, MASKS_MAX = 1024, QUEUE_MAX = 65536, WAITING_SLOTS = 1 << 16 };
enum { TURN_NAMES = 4096 }; /* that are read before others have their turn */
enum { EVENTS = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR };

struct appear_rule {
	const struct glob_alternative *alternative; /* NULL: another layer starts */
	struct glob_name name;
	bool denies;
};

struct appear_folder {
	int wd;
	char *path; /* NULL: its watch has ended */
};

struct appear {
	const struct plan *plan;
	struct changes changes;
	struct arena arena; /* of the rules */
	struct appear_rule *rules;
	size_t n_rules, cap_rules;
	struct appear_folder *folders;
	size_t n, cap, n_ended;
	size_t masks;
	char **queue; /* folders to look through, from `at` on */
	size_t at, n_queue, cap_queue;
	uint64_t *waiting; /* hashes of those, each in its place; one that has lost its place may
			      be looked through twice */
	DIR *dir;          /* of the one at `at`, if that has begun */
	int again;         /* an eventfd: there is more to do */
};

/* Rules */

static int appear_add_rule(struct appear *a, const char *text)
{
	struct appear_rule rule = { .denies = text[0] == PLAN_APPEAR_DENY };
	struct glob g;
	int r;

	if (text[0] == PLAN_APPEAR_LAYER)
		return ARENA_PUSH(&a->arena, a->rules, a->n_rules, a->cap_rules, rule);
	r = glob_parse(&g, &a->arena, text + 1, NULL, NULL);
	for (size_t i = 0; r == 0 && i < g.n; i++) {
		rule.alternative = &g.alternatives[i];
		rule.name = glob_name_of(rule.alternative);
		r = ARENA_PUSH(&a->arena, a->rules, a->n_rules, a->cap_rules, rule);
	}
	return r;
}

/* Nearly every name fails here. */
static bool appear_may_deny(const struct appear *a, const char *path, size_t len, const char *name)
{
	for (size_t i = 0; i < a->n_rules; i++) {
		const struct appear_rule *rule = &a->rules[i];

		if (rule->denies && rule->alternative->kind == GLOB_TRUE &&
			glob_name_match(&rule->name, path, len, name))
			return true;
	}
	return false;
}

/* In each layer the first that matches decides, and one that denies is enough. */
static bool appear_denies(const struct appear *a, const char *path, size_t len)
{
	bool decided = false;

	for (size_t i = 0; i < a->n_rules; i++) {
		const struct appear_rule *rule = &a->rules[i];

		if (!rule->alternative)
			decided = false;
		else if (!decided && glob_alternative_match(rule->alternative, path, len)) {
			if (rule->denies)
				return true;
			decided = true;
		}
	}
	return false;
}

/* Folders */

static size_t appear_find(const struct appear *a, int wd)
{
	size_t lo = 0, hi = a->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (a->folders[mid].wd < wd)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void appear_compact(struct appear *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->folders[i].path)
			a->folders[n++] = a->folders[i];
	}
	a->n = n;
	a->n_ended = 0;
}

static void appear_end_folder(struct appear *a, int wd)
{
	size_t i = appear_find(a, wd);

	if (i == a->n || a->folders[i].wd != wd || !a->folders[i].path)
		return;
	free(a->folders[i].path);
	a->folders[i].path = NULL;
	changes_drop(&a->changes, wd);
	a->n_ended++;
	if (a->n_ended > a->n / 2)
		appear_compact(a);
}

/* Watches a folder; false: there is nothing to look at, or no room. */
static bool appear_watch(struct appear *a, const char *path)
{
	struct appear_folder f = { .path = NULL };
	size_t i;

	if (a->n - a->n_ended >= FOLDERS_MAX)
		return false;
	f.wd = changes_watch(&a->changes, path, EVENTS);
	if (f.wd < 0)
		return false;
	f.path = strdup(path);
	i = appear_find(a, f.wd);
	if (f.path && i < a->n && a->folders[i].wd == f.wd) {
		free(a->folders[i].path);
		a->folders[i].path = f.path;
		changes_drop(&a->changes, f.wd); /* it is counted once */
		return true;
	}
	/* A new one has the highest number there is. */
	if (f.path && i == a->n && ARRAY_PUSH(a->folders, a->n, a->cap, f) == 0)
		return true;
	free(f.path);
	changes_drop(&a->changes, f.wd);
	return false;
}

static uint64_t *appear_waiting(const struct appear *a, const char *path, uint64_t *ret_hash)
{
	*ret_hash = hash_bytes(HASH_START, path, strlen(path));
	return &a->waiting[*ret_hash % WAITING_SLOTS];
}

static void appear_queue(struct appear *a, const char *path)
{
	uint64_t hash;
	uint64_t *slot = appear_waiting(a, path, &hash);
	char *copy = *slot != hash && a->n_queue - a->at < QUEUE_MAX ? strdup(path) : NULL;

	if (!copy)
		return;
	if (a->at > a->n_queue / 2) {
		a->n_queue -= a->at;
		memmove(a->queue, a->queue + a->at, a->n_queue * sizeof(*a->queue));
		a->at = 0;
	}
	if (ARRAY_PUSH(a->queue, a->n_queue, a->cap_queue, copy) < 0)
		free(copy);
	else
		*slot = hash;
}

/* Looking */

/* What has a mount of its own that hides it is not looked into. */
static bool appear_is_hidden(const struct appear *a, const char *path)
{
	const struct plan_entry *entry = plan_at(a->plan, path);

	return entry && entry->kind != PLAN_BIND;
}

/* A folder of which something should be masked that cannot be. What is granted itself stays. */
static void appear_cover(const struct appear *a, const struct tree *t, const char *folder)
{
	if (!plan_at(a->plan, folder))
		(void)tree_mask(t, folder);
}

static void appear_mask(struct appear *a, const struct tree *t, const char *path, const char *name)
{
	char folder[PATH_BYTES];

	if (a->masks < MASKS_MAX) {
		a->masks += tree_mask(t, path) == 0;
	} else if (name - path > 1) {
		memcpy(folder, path, (size_t)(name - path - 1));
		folder[name - path - 1] = '\0';
		appear_cover(a, t, folder);
	}
}

/* path ends with the name at `name`; type: of dirent. */
static void appear_look(
	struct appear *a, const struct tree *t, const char *path, const char *name, int type)
{
	size_t len = strlen(path);

	if (type != DT_DIR && type != DT_REG)
		return;
	if (appear_may_deny(a, path, len, name) && appear_denies(a, path, len)) {
		appear_mask(a, t, path, name);
	} else if (type == DT_DIR && !appear_is_hidden(a, path)) {
		appear_queue(a, path);
	}
}

static void appear_look_up(
	struct appear *a, const struct tree *t, const char *folder, const char *name)
{
	char path[PATH_BYTES];
	struct stat st;

	if (path_join(path, folder, name) && lstat(path, &st) == 0)
		appear_look(a, t, path, path + strlen(path) - strlen(name), IFTODT(st.st_mode));
}

/* The watch first, then the look, so that nothing falls between the two. False: nothing to do. */
static bool appear_open(struct appear *a, const struct tree *t, const char *folder)
{
	uint64_t hash;
	uint64_t *slot = appear_waiting(a, folder, &hash);

	/* What happens there from now on is another reason to look. */
	if (*slot == hash)
		*slot = 0;
	errno = 0;
	if (appear_watch(a, folder))
		a->dir = opendir(folder);
	if (!a->dir && errno == EACCES)
		appear_cover(a, t, folder);
	return a->dir;
}

/* At most so many names; returns how many there were. */
static size_t appear_scan(struct appear *a, const struct tree *t, const char *folder, size_t most)
{
	char path[PATH_BYTES];
	const struct dirent *d;
	size_t n = 0;

	for (; n < most && (d = readdir(a->dir)); n++) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (!path_join(path, folder, d->d_name))
			appear_cover(a, t, folder);
		else if (d->d_type == DT_UNKNOWN)
			appear_look_up(a, t, folder, d->d_name);
		else
			appear_look(a, t, path, path + strlen(path) - strlen(d->d_name), d->d_type);
	}
	return n;
}

static void appear_next(struct appear *a)
{
	if (a->dir)
		(void)closedir(a->dir);
	a->dir = NULL;
	free(a->queue[a->at++]);
	if (a->at == a->n_queue)
		a->at = a->n_queue = 0;
}

static void appear_work(struct appear *a, const struct tree *t)
{
	size_t left = TURN_NAMES;

	while (left > 0 && a->at < a->n_queue) {
		/* It may move: the names in it are queued, too. */
		const char *folder = a->queue[a->at];
		size_t n =
			a->dir || appear_open(a, t, folder) ? appear_scan(a, t, folder, left) : 0;

		/* An empty one costs something, too. */
		if (n < left)
			appear_next(a);
		left -= n < left ? n + 1 : left;
	}
	if (a->at < a->n_queue)
		(void)eventfd_write(a->again, 1);
}

void appear_begin(struct appear *a, const struct tree *t)
{
	const struct plan *p = a->plan;

	for (size_t i = 0; i < p->n_appear && p->appear[i][0] == '/'; i++)
		appear_queue(a, p->appear[i]);
	appear_work(a, t);
}

/* Hearing */

struct appear_hearing {
	struct appear *appear;
	const struct tree *tree;
};

static int appear_heed(void *data, const struct session_changed *change)
{
	const struct appear_hearing *h = data;
	struct appear *a = h->appear;
	size_t i = appear_find(a, change->wd);

	if (change->mask & IN_IGNORED)
		appear_end_folder(a, change->wd);
	else if (i < a->n && a->folders[i].wd == change->wd && a->folders[i].path && change->name &&
		 change->name[0])
		appear_look_up(a, h->tree, a->folders[i].path, change->name);
	return 0;
}

void appear_hear(struct appear *a, const struct tree *t)
{
	struct appear_hearing h = { a, t };
	eventfd_t times;

	(void)eventfd_read(a->again, &times);
	if (changes_read(&a->changes, appear_heed, &h) == -EOVERFLOW)
		appear_begin(a, t);
	appear_work(a, t);
}

int appear_fd(const struct appear *a, bool again)
{
	return again ? a->again : a->changes.fd;
}

void appear_free(struct appear *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		free(a->folders[i].path);
	for (size_t i = a->at; i < a->n_queue; i++)
		free(a->queue[i]);
	if (a->dir)
		(void)closedir(a->dir);
	fd_close(&a->again);
	free(a->waiting);
	changes_close(&a->changes);
	arena_deinit(&a->arena);
	free(a->folders);
	free(a->queue);
	free(a);
}

int appear_new(struct appear **ret, const struct plan *plan)
{
	struct appear *a;
	int r;

	*ret = NULL;
	if (plan->n_appear == 0)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->plan = plan;
	a->changes.fd = -1;
	a->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->waiting = calloc(WAITING_SLOTS, sizeof(*a->waiting));
	r = !a->waiting ? -ENOMEM : a->again < 0 ? -errno : changes_open(&a->changes, false, NULL);
	for (size_t i = 0; r == 0 && i < plan->n_appear; i++) {
		if (plan->appear[i][0] != '/')
			r = appear_add_rule(a, plan->appear[i]);
	}
	/* dnotify needs a descriptor for each folder. */
	if (r < 0 || a->changes.by_folder) {
		appear_free(a);
		return r == -ENOMEM ? r : 0;
	}
	*ret = a;
	return 0;
}
