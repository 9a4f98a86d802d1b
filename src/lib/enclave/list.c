/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a folder, and in those below. Of each folder first all names are read; then one policy
 * picks those that may be read, by the name of the folder that was given and by the place where it
 * is; on a private place (private.c) those that no rule is against. Entries are looked at beside
 * the folder that is held, and never followed: a folder that becomes a link meanwhile is not
 * entered. When all is collected, it is handed out: no pin and no descriptor is held while the
 * host's code runs.
 *
 * Bounded in number, over all folders, and in depth.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "lib/api/handles.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"
#include "policy/match/glob.h"

enum { LIST_MAX = 1 << 16, DEPTH_MAX = 64 };

struct listing {
	struct arena arena;
	const struct enclave_call *call;
	const char *place; /* where the folder is */
	bool is_same;      /* that is how it was called */
	bool is_recursive;
	bool by_path; /* the pattern has a slash */
	bool has_pattern;
	struct glob pattern;
	size_t n_names; /* read so far, whether they are handed out or not */
	struct corral_file *files;
	size_t n, cap;
};

static void listing_deinit(struct listing *l)
{
	arena_deinit(&l->arena);
}

/* The text stands first: they are sorted as texts. */
struct listed {
	const char *name;
	bool must_be_private; /* nothing grants it: only if it lies on a private place */
};

struct list_names {
	struct listed *items;
	size_t n, cap;
};

static void dir_close(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static int list_read_names(struct listing *l, int folder, struct list_names *ret)
{
	auto_fd fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(dir_close))) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!dir)
		return -errno;
	(void)fd_take(&fd);
	while (r == 0) {
		const struct dirent *d;
		struct listed next = { 0 };

		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (l->n_names++ == LIST_MAX)
			return -EFBIG;
		next.name = arena_strdup(&l->arena, d->d_name);
		r = next.name ? ARENA_PUSH(&l->arena, ret->items, ret->n, ret->cap, next) : -ENOMEM;
	}
	return r;
}

/* What the policy allows */

static bool list_may_read(const struct policy *p, const char *folder, const char *below,
	const char *name, bool is_private)
{
	char path[PATH_BYTES];
	const struct request r = { .op = OPERATION_FS_READ, .target = path };
	int n = snprintf(path, sizeof(path), "%s/%s%s", folder[1] ? folder : "", below, name);
	struct decision d;

	return n < (int)sizeof(path) && enclave_decide(p, &r, is_private, &d) == VERDICT_ALLOW;
}

/* By both names of its folder. */
static bool list_may_name(const struct listing *l, const struct policy *p, const char *below,
	const char *name, bool is_private)
{
	return list_may_read(p, l->place, below, name, is_private) &&
	       (l->is_same || list_may_read(p, l->call->target, below, name, is_private));
}

static void list_keep_readable(const struct listing *l, const char *below, struct list_names *names)
{
	const bool has_private = l->call->enclave->n_private > 0;
	struct policy_box *box = l->call->enclave->box;
	struct policy_pin pin;
	size_t kept = 0;

	policy_box_pin(box, &pin);
	for (size_t i = 0; i < names->n; i++) {
		struct listed next = names->items[i];

		next.must_be_private = !list_may_name(l, pin.policy, below, next.name, false);
		if (!next.must_be_private ||
			(has_private && list_may_name(l, pin.policy, below, next.name, true)))
			names->items[kept++] = next;
	}
	policy_box_unpin(box, &pin);
	names->n = kept;
}

static bool list_matches(const struct listing *l, const char *path, const char *name)
{
	char absolute[PATH_BYTES];
	int n = snprintf(absolute, sizeof(absolute), "/%s", l->by_path ? path : name);

	if (!l->has_pattern)
		return true;
	return n < (int)sizeof(absolute) && glob_match(&l->pattern, absolute, (size_t)n);
}

/* Collecting. below: "" or "sub/", of the folder that is held */

static int list_collect(struct listing *l, int folder, const char *below, unsigned depth);

static int list_enter(
	struct listing *l, int folder, const char *name, const char *path, unsigned depth)
{
	auto_fd fd = -1;
	struct stat st;
	const char *below;

	/* Gone, replaced, or not ours to enter: then it is a name and no more. */
	if (depth == DEPTH_MAX || beneath_open_in(folder, name, &fd) < 0 || fstat(fd, &st) < 0 ||
		!S_ISDIR(st.st_mode) || enclave_private_is_proc(l->call->enclave, fd))
		return 0;
	below = arena_printf(&l->arena, "%s/", path);
	if (!below)
		return -ENOMEM;
	return list_collect(l, fd, below, depth);
}

/* False: it has gone meanwhile, or does not lie on a private place as it must. */
static bool list_look_at(
	const struct listing *l, int folder, const struct listed *entry, struct stat *ret)
{
	auto_fd fd = -1;

	if (!entry->must_be_private)
		return fstatat(folder, entry->name, ret, AT_SYMLINK_NOFOLLOW) == 0;
	return beneath_open_in(folder, entry->name, &fd) == 0 &&
	       enclave_private_has(l->call->enclave, fd) && fstat(fd, ret) == 0;
}

static int list_entry(struct listing *l, int folder, const char *below, const struct listed *entry,
	unsigned depth)
{
	const char *name = entry->name;
	const char *path = below[0] ? arena_printf(&l->arena, "%s%s", below, name) : name;
	struct corral_file file = { .size = sizeof(file) };
	struct stat st;
	int r = 0;

	if (!path)
		return -ENOMEM;
	if (!list_look_at(l, folder, entry, &st))
		return 0;
	enclave_file_fill(&file, path, &st);
	if (list_matches(l, path, name))
		r = ARENA_PUSH(&l->arena, l->files, l->n, l->cap, file);
	if (r == 0 && l->is_recursive && S_ISDIR(st.st_mode))
		r = list_enter(l, folder, name, path, depth + 1);
	return r;
}

static int list_collect(struct listing *l, int folder, const char *below, unsigned depth)
{
	struct list_names names = { 0 };
	int r = list_read_names(l, folder, &names);

	/* Of the folder that was asked for it is an error. */
	if ((r == -EACCES || r == -ENOENT) && depth > 0)
		return 0;
	if (r < 0)
		return r;
	list_keep_readable(l, below, &names);
	if (names.n)
		qsort(names.items, names.n, sizeof(*names.items), array_compare_text);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = list_entry(l, folder, below, &names.items[i], depth);
	return r;
}

static int list_collect_all(struct listing *l, const struct enclave_place *p)
{
	auto_enclave_suspend rights = enclave_private_suspend(l->call->enclave);

	return S_ISDIR(p->st.st_mode) ? list_collect(l, p->fd, "", 0) : -ENOTDIR;
}

/* The call */

static int list_read_options(
	struct listing *l, const struct corral_list_options *o, struct error *e)
{
	struct corral_list_options known = { .size = sizeof(known) };
	const char *text;
	int r = o ? handles_read_options(&known, sizeof(known), o, "corral_list_options",
			    "{ .size = sizeof(struct corral_list_options) }", e)
		  : 0;

	if (r < 0 || !o)
		return r;
	l->is_recursive = known.recursive != 0;
	l->has_pattern = known.pattern != NULL;
	if (!l->has_pattern)
		return 0;
	l->by_path = strchr(known.pattern, '/') != NULL;
	/* Patterns are absolute; this one's root is the folder. */
	text = arena_printf(&l->arena, "%s%s", known.pattern[0] == '/' ? "" : "/", known.pattern);
	if (!text)
		return -ENOMEM;
	return glob_parse(&l->pattern, &l->arena, text, NULL, e);
}

static int list_visit(const struct listing *l, corral_file_visit *visit, void *context)
{
	for (size_t i = 0; i < l->n; i++) {
		if (visit && visit(context, &l->files[i]) != 0)
			return (int)i + 1;
	}
	return (int)l->n;
}

long corral_enclave_fs_list_matching(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, const struct corral_list_options *o, corral_file_visit *visit,
	void *context, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	__attribute__((cleanup(listing_deinit))) struct listing l = { .call = &c };
	struct error error = { 0 };
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_LIST, path);
	r = list_read_options(&l, o, &error);
	if (r < 0)
		return enclave_refuse(&c, r, e, "%s", error.text[0] ? error.text : strerror(-r));
	r = enclave_place_find(&c, OPERATION_FS_READ, ENCLAVE_THING, &place, e);
	if (r < 0)
		return r;
	l.place = place.path;
	l.is_same = strcmp(c.target, place.path) == 0;
	r = list_collect_all(&l, &place);
	if (r == -EFBIG)
		return enclave_refuse(&c, r, e,
			"the folder has more than %d entries, too many to list", LIST_MAX);
	if (r < 0)
		return enclave_done(&c, r, e);
	return enclave_place_done(&c, &place, list_visit(&l, visit, context), e);
}

long corral_enclave_fs_list(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, corral_file_visit *visit, void *context, struct corral_error **e)
{
	return corral_enclave_fs_list_matching(enclave, by, path, NULL, visit, context, e);
}
