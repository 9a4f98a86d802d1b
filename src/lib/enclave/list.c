/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a folder. First all names are read, at most LIST_MAX of them; then one policy picks
 * those that may be read, by the name of the folder that was given and by the place where it is;
 * then each is looked at and handed out, in order. No pin is held while the host's code runs, and
 * none of the entries is opened or followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "lib/enclave/file.h"
#include "lib/enclave/place.h"

enum { LIST_MAX = 1 << 16 };

struct listing {
	struct enclave_call *call;
	struct arena arena;
	const char **names;
	size_t n, cap;
};

static void listing_deinit(struct listing *l)
{
	arena_deinit(&l->arena);
}

static void dir_close(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* Reading the names */

static int enclave_list_add_name(struct listing *l, const char *name)
{
	const char *copy;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (l->n == LIST_MAX)
		return -EFBIG;
	copy = arena_strdup(&l->arena, name);
	return copy ? ARENA_PUSH(&l->arena, l->names, l->n, l->cap, copy) : -ENOMEM;
}

static int read_names(struct listing *l, int folder)
{
	auto_fd fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(dir_close))) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!dir)
		return -errno;
	(void)fd_take(&fd);
	while (r == 0) {
		const struct dirent *d;

		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		r = enclave_list_add_name(l, d->d_name);
	}
	return r;
}

/* Judging them */

static bool enclave_list_may_read(const struct policy *p, const char *folder, const char *name)
{
	char path[PATH_BYTES];
	const struct request r = { .op = OPERATION_FS_READ, .target = path };
	int n = snprintf(path, sizeof(path), "%s/%s", folder[1] ? folder : "", name);
	struct decision d;

	return n < (int)sizeof(path) && policy_decide(p, &r, &d) == 0 && d.verdict == VERDICT_ALLOW;
}

static void keep_readable(struct listing *l, const char *path)
{
	bool same = strcmp(l->call->target, path) == 0;
	struct policy_pin pin;
	size_t kept = 0;

	policy_box_pin(l->call->enclave->box, &pin);
	for (size_t i = 0; i < l->n; i++) {
		if (enclave_list_may_read(pin.policy, path, l->names[i]) &&
			(same || enclave_list_may_read(pin.policy, l->call->target, l->names[i])))
			l->names[kept++] = l->names[i];
	}
	policy_box_unpin(l->call->enclave->box, &pin);
	l->n = kept;
}

/* Handing them out */

static int enclave_list_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many were; one that has gone meanwhile is none. */
static int visit_all(const struct listing *l, int folder, corral_file_visit *visit, void *context)
{
	int n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct corral_file file = { .size = sizeof(file) };
		struct stat st;

		if (fstatat(folder, l->names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		enclave_file_fill(&file, l->names[i], &st);
		n++;
		if (visit && visit(context, &file) != 0)
			break;
	}
	return n;
}

static int enclave_list(struct listing *l, const struct enclave_place *p, corral_file_visit *visit,
	void *context, struct corral_error **e)
{
	int r;

	if (!S_ISDIR(p->st.st_mode))
		return enclave_done(l->call, -ENOTDIR, e);
	r = read_names(l, p->fd);
	if (r == -EFBIG)
		return enclave_refuse(l->call, r, e,
			"the folder has more than %d entries, too many to list", LIST_MAX);
	if (r < 0)
		return enclave_done(l->call, r, e);
	keep_readable(l, p->path);
	if (l->n)
		qsort(l->names, l->n, sizeof(*l->names), enclave_list_by_name);
	return enclave_place_done(l->call, p, visit_all(l, p->fd, visit, context), e);
}

long corral_enclave_fs_list(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, corral_file_visit *visit, void *context, struct corral_error **e)
{
	__attribute__((cleanup(listing_deinit))) struct listing l = { 0 };
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_LIST, path);
	l.call = &c;
	r = enclave_place_find(&c, OPERATION_FS_READ, &place, e);
	return r < 0 ? r : enclave_list(&l, &place, visit, context, e);
}
