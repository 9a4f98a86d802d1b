/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a file. Its kind is looked at before it is opened, because opening alone may do
 * something: a FIFO waits, a tape rewinds. Its size is only where reading begins: a file may grow
 * meanwhile, or say 0 as those of /proc do, so the limit is held byte by byte.
 *
 * Hard links. A file with a second name can be one that the policy denies by that name, and nothing
 * tells. So if somebody wrote down that some files are denied, or to be asked for, a file with more
 * than one name is not read. The baseline, which is under every policy, does not count: it would
 * close every pnpm store and every local git clone to everybody; and it holds without, because
 * whoever could give ~/.ssh/id_ed25519 a second name can read it. (In a sandbox it is not there,
 * and fs.protected_hardlinks keeps other users from it.)
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
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"

struct content {
	char *data;
	size_t len, room; /* one more byte is there, for the NUL */
};

static int files_make_room(struct content *c, size_t room)
{
	char *data = realloc(c->data, room + 1);

	if (!data)
		return -ENOMEM;
	c->data = data;
	c->room = room;
	return 0;
}

/* Never holds more than one byte beyond max. */
static int files_read_all(int fd, size_t max, struct content *c)
{
	for (;;) {
		ssize_t n;

		if (c->len == c->room &&
			files_make_room(c, c->room > max / 2 ? max + 1 : 2 * c->room) < 0)
			return -ENOMEM;
		n = read(fd, c->data + c->len, c->room - c->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		c->len += (size_t)n;
		if (c->len > max)
			return -EFBIG;
	}
}

/* One byte more than it says to have: then its end is seen without growing. */
static int read_whole(int fd, size_t size, size_t max, struct content *ret)
{
	struct content c = { 0 };
	int r = files_make_room(&c, size + 1);

	if (r == 0)
		r = files_read_all(fd, max, &c);
	if (r < 0) {
		free(c.data);
		return r;
	}
	c.data[c.len] = '\0';
	*ret = c;
	return 0;
}

static int files_too_large(struct enclave_call *c, struct corral_error **e)
{
	return enclave_refuse(c, -EFBIG, e, "the file is larger than the limit of %llu bytes",
		(unsigned long long)c->enclave->max_file_bytes);
}

/* What it is, by the descriptor that is going to be used. */
static int files_check_kind(struct enclave_call *c, const struct stat *st, struct corral_error **e)
{
	if (S_ISDIR(st->st_mode))
		return enclave_refuse(c, -EISDIR, e, "this is a folder, not a file");
	if (!S_ISREG(st->st_mode))
		return enclave_refuse(
			c, -ELOOP, e, "this is a device, a FIFO or a socket, not a plain file");
	if (st->st_nlink > 1 && enclave_denies_paths(c->enclave))
		return enclave_refuse(c, -EMLINK, e,
			"the file has %llu names, and the policy denies or asks for some files by "
			"name; a copy of it can be read",
			(unsigned long long)st->st_nlink);
	if ((uint64_t)st->st_size > c->enclave->max_file_bytes)
		return files_too_large(c, e);
	return 0;
}

static int read_place(struct enclave_call *c, struct enclave_place *p, struct content *ret,
	struct corral_error **e)
{
	uint64_t limit = c->enclave->max_file_bytes;
	size_t max = limit < SIZE_MAX / 4 ? (size_t)limit : SIZE_MAX / 4;
	auto_fd fd = -1;
	int r = files_check_kind(c, &p->st, e);

	if (r < 0)
		return r;
	r = beneath_reopen(p->fd, O_RDONLY, &fd);
	if (r == 0 && fstat(fd, &p->st) < 0)
		r = -errno;
	if (r < 0)
		return enclave_done(c, r, e);
	r = files_check_kind(c, &p->st, e);
	if (r < 0)
		return r;
	r = read_whole(fd, (size_t)p->st.st_size, max, ret);
	if (r < 0)
		return r == -EFBIG ? files_too_large(c, e) : enclave_done(c, r, e);
	c->received = ret->len;
	(void)enclave_place_done(c, p, 0, e);
	return 0;
}

int corral_enclave_fs_read(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, char **ret, size_t *ret_len, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct content content = { 0 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_READ, path);
	r = enclave_place_find(&c, OPERATION_FS_READ, ENCLAVE_THING, &place, e);
	if (r == 0)
		r = read_place(&c, &place, &content, e);
	if (r < 0)
		return r;
	*ret = content.data;
	*ret_len = content.len;
	return 0;
}

static enum corral_file_kind files_kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return CORRAL_FILE;
	if (S_ISDIR(mode))
		return CORRAL_FOLDER;
	return S_ISLNK(mode) ? CORRAL_LINK : CORRAL_OTHER;
}

static void files_fill(struct corral_file *ret, const char *name, const struct stat *st)
{
	const struct corral_file all = {
		.size = ret->size && ret->size < sizeof(all) ? ret->size : sizeof(all),
		.name = name,
		.kind = files_kind_of(st->st_mode),
		.bytes = (uint64_t)st->st_size,
		.mode = st->st_mode & 07777,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};

	memcpy(ret, &all, all.size);
}

/* What is at a path. Nothing is opened for that, so it may be of any kind. */

int corral_enclave_fs_stat(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_file *ret, char *name, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_READ, path);
	r = enclave_place_find(&c, OPERATION_FS_READ, ENCLAVE_THING, &place, e);
	if (r < 0)
		return r;
	if (name)
		memcpy(name, place.path, strlen(place.path) + 1);
	files_fill(ret, name ? name : "", &place.st);
	return enclave_place_done(&c, &place, 0, e);
}

/*
 * Deleting takes a name out of a folder, and the folder is held: whatever has the name at that
 * moment lies there, and a link is taken out itself. Nothing is deleted but by its own kind: a
 * folder that has become a link meanwhile, or a file that has become a folder, stays.
 */

static int files_take_out(const struct enclave_place *p)
{
	if (p->fd < 0)
		return -ENOENT;
	if (unlinkat(p->folder, p->name, S_ISDIR(p->st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return -errno;
	return 0;
}

int corral_enclave_fs_delete(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_DELETE, path);
	r = enclave_place_find(&c, OPERATION_FS_WRITE, ENCLAVE_ENTRY, &place, e);
	return r < 0 ? r : enclave_place_done(&c, &place, files_take_out(&place), e);
}

/*
 * What is in a folder. First all names are read, at most LIST_MAX of them; then one policy picks
 * those that may be read, by the name of the folder that was given and by the place where it is;
 * then each is looked at and handed out, in order. No pin is held while the host's code runs, and
 * none of the entries is opened or followed.
 */

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
		const char *copy;

		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (l->n == LIST_MAX)
			return -EFBIG;
		copy = arena_strdup(&l->arena, d->d_name);
		r = copy ? ARENA_PUSH(&l->arena, l->names, l->n, l->cap, copy) : -ENOMEM;
	}
	return r;
}

/* Judging them */

static bool files_may_read(const struct policy *p, const char *folder, const char *name)
{
	char path[PATH_BYTES];
	const struct request r = { .op = OPERATION_FS_READ, .target = path };
	int n = snprintf(path, sizeof(path), "%s/%s", folder[1] ? folder : "", name);

	return n < (int)sizeof(path) && policy_allows(p, &r);
}

static void keep_readable(struct listing *l, const char *path)
{
	bool same = strcmp(l->call->target, path) == 0;
	struct policy_pin pin;
	size_t kept = 0;

	policy_box_pin(l->call->enclave->box, &pin);
	for (size_t i = 0; i < l->n; i++) {
		if (files_may_read(pin.policy, path, l->names[i]) &&
			(same || files_may_read(pin.policy, l->call->target, l->names[i])))
			l->names[kept++] = l->names[i];
	}
	policy_box_unpin(l->call->enclave->box, &pin);
	l->n = kept;
}

/* Handing them out */

static int files_by_name(const void *a, const void *b)
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
		files_fill(&file, l->names[i], &st);
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
		qsort(l->names, l->n, sizeof(*l->names), files_by_name);
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
	r = enclave_place_find(&c, OPERATION_FS_READ, ENCLAVE_THING, &place, e);
	return r < 0 ? r : enclave_list(&l, &place, visit, context, e);
}
