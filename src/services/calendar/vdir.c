/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/vdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/encoding.h"

enum {
	VDIR_HASH = 16,            /* bytes of a tag */
	VDIR_CACHE_MAX = 64 << 20, /* bytes of texts that are kept */
	VDIR_TRIES = 8,
	LOCK_MS = 10000,
};

/* A version of a file. */
struct vdir_version {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec modified, changed;
};

/* What was read of a file, as long as it stays that version. */
struct vdir_entry {
	char *key; /* LIST/FILE */
	struct vdir_version version;
	struct item *item; /* NULL: it is none */
	char tag[2 * VDIR_HASH + 1];
	size_t bytes;
	bool is_seen; /* in this walk */
};

struct vdir {
	struct store store;
	int root;
	/* By key, in order. */
	struct vdir_entry *cache;
	size_t n, cap, bytes;
};

static struct vdir *vdir_of(struct store *s)
{
	return (struct vdir *)(void *)s;
}

/* Versions */

static void vdir_version_of(const struct stat *st, struct vdir_version *ret)
{
	/* With its padding, so that two can be compared. */
	memset(ret, 0, sizeof(*ret));
	ret->dev = st->st_dev;
	ret->ino = st->st_ino;
	ret->size = st->st_size;
	ret->modified = st->st_mtim;
	ret->changed = st->st_ctim;
}

/* A rename changes the time of change of what is renamed, so that does not count here. */
static bool vdir_same_file(const struct vdir_version *a, const struct vdir_version *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec;
}

static bool vdir_same_version(const struct vdir_version *a, const struct vdir_version *b)
{
	return vdir_same_file(a, b) && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static void vdir_tag(const char *text, size_t len, char ret[2 * VDIR_HASH + 1])
{
	unsigned char hash[VDIR_HASH];

	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)text, len, NULL, 0);
	encoding_hex(hash, sizeof(hash), ret);
}

/* Names */

static bool vdir_is_item(const char *name)
{
	const size_t len = strlen(name);

	return name[0] != '.' && len > 4 && strcmp(name + len - 4, ".ics") == 0;
}

/* The names in a folder that `takes` takes, sorted; at most max. -EFBIG: there are more. */
struct vdir_names {
	struct arena arena;
	const char **items;
	size_t n, cap;
};

static void vdir_names_deinit(struct vdir_names *n)
{
	arena_deinit(&n->arena);
}
#define auto_vdir_names __attribute__((cleanup(vdir_names_deinit))) struct vdir_names

static bool vdir_is_folder_name(const char *name)
{
	return name[0] != '.';
}

static int vdir_read_names(
	int folder, bool (*takes)(const char *name), size_t max, struct vdir_names *ret)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int r = 0;

	if (!d) {
		r = -errno;
		fd_close(&copy);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(d))) {
		const char *name;

		if (!takes(entry->d_name))
			continue;
		if (ret->n == max) {
			r = -EFBIG;
			break;
		}
		name = arena_strdup(&ret->arena, entry->d_name);
		r = name ? ARENA_PUSH(&ret->arena, ret->items, ret->n, ret->cap, name) : -ENOMEM;
	}
	if (r == 0 && errno)
		r = -errno;
	(void)closedir(d);
	if (r == 0 && ret->n > 1)
		qsort(ret->items, ret->n, sizeof(*ret->items), array_compare_text);
	return r;
}

static int vdir_open_folder(const struct vdir *v, const char *name)
{
	int fd = openat(v->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A regular file, and no link. -ELOOP, -EINVAL: something else. */
static int vdir_read_file(
	int folder, const char *name, size_t max, struct buffer *out, struct vdir_version *ret)
{
	auto_fd fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct vdir_version after;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	vdir_version_of(&st, ret);
	r = file_read_fd(fd, max, out);
	if (r < 0)
		return r;
	/* One that was written to while it was read is none of both versions. */
	if (fstat(fd, &st) < 0)
		return -errno;
	vdir_version_of(&st, &after);
	return vdir_same_version(ret, &after) ? 0 : -EAGAIN;
}

/* Lists */

/* What a list is called; NULL: no memory. */
static const char *vdir_display_name(int folder, const char *name, struct arena *a)
{
	auto_buffer text = { 0 };
	struct vdir_version version = { 0 };

	if (vdir_read_file(folder, "displayname", STORE_NAME_MAX + 2, &text, &version) == 0) {
		size_t len = text.len;

		while (len > 0 && (text.data[len - 1] == '\n' || text.data[len - 1] == '\r'))
			len--;
		if (len > 0)
			return arena_strndup(a, text.data, len);
	}
	return arena_strdup(a, name);
}

static int vdir_add_list(struct vdir *v, const char *folder, struct store_lists *ret)
{
	auto_fd fd = vdir_open_folder(v, folder);
	struct store_list list = { 0 };

	/* Files, links and what others own: no list. */
	if (fd < 0)
		return 0;
	list.id = arena_strdup(&ret->arena, folder);
	list.name = vdir_display_name(fd, folder, &ret->arena);
	if (!list.id || !list.name)
		return -ENOMEM;
	if (!store_name_is_valid(list.name, strlen(list.name)))
		return 0;
	return ARENA_PUSH(&ret->arena, ret->items, ret->n, ret->cap, list);
}

static int vdir_lists(struct store *s, struct store_lists *ret, struct error *e)
{
	struct vdir *v = vdir_of(s);
	auto_vdir_names names = { 0 };
	int r = vdir_read_names(v->root, vdir_is_folder_name, STORE_LISTS_MAX, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = vdir_add_list(v, names.items[i], ret);
	return r < 0 ? error_set(e, r, NULL, "the folder of lists cannot be read: %s", strerror(-r))
		     : 0;
}

/* What was read before */

static size_t vdir_cache_place(const struct vdir *v, const char *key, bool *ret_found)
{
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const int c = strcmp(v->cache[mid].key, key);

		if (c == 0) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_found = false;
	return lo;
}

static void vdir_entry_deinit(struct vdir *v, struct vdir_entry *x)
{
	v->bytes -= x->bytes;
	item_drop(x->item);
	free(x->key);
}

static void vdir_cache_clear(struct vdir *v)
{
	for (size_t i = 0; i < v->n; i++)
		vdir_entry_deinit(v, &v->cache[i]);
	v->n = 0;
}

/* The files of a list that are gone. */
static void vdir_cache_sweep(struct vdir *v, const char *list)
{
	const size_t len = strlen(list);
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		struct vdir_entry *x = &v->cache[i];

		if (!x->is_seen && strncmp(x->key, list, len) == 0 && x->key[len] == '/')
			vdir_entry_deinit(v, x);
		else
			v->cache[n++] = *x;
	}
	v->n = n;
}

/* A new entry at that place, which takes the item. */
static int vdir_cache_put(struct vdir *v, size_t at, struct vdir_entry *x)
{
	struct vdir_entry none = { 0 };
	int r = ARRAY_PUSH(v->cache, v->n, v->cap, none);

	if (r < 0)
		return r;
	memmove(&v->cache[at + 1], &v->cache[at], (v->n - 1 - at) * sizeof(*v->cache));
	v->cache[at] = *x;
	v->bytes += x->bytes;
	return 0;
}

static int vdir_read_entry(int folder, const char *name, struct vdir_entry *x)
{
	auto_buffer text = { 0 };
	int r = -EAGAIN;

	for (int i = 0; r == -EAGAIN && i < VDIR_TRIES; i++) {
		buffer_clear(&text);
		r = vdir_read_file(folder, name, LINES_BYTES_MAX, &text, &x->version);
	}
	if (r < 0)
		return r;
	vdir_tag(buffer_text(&text), text.len, x->tag);
	r = item_parse(&x->item, buffer_text(&text), text.len);
	/* The text, its lines in the arena, and what belongs to each of them. */
	x->bytes = sizeof(*x) + (x->item ? sizeof(*x->item) + 3 * text.len +
							x->item->lines.cap * sizeof(struct line)
					 : 0);
	return r == -ENOMEM ? r : 0;
}

/* The entry of a file as it is now. -ENOENT …: it cannot be read. */
static int vdir_entry_get(struct vdir *v, const struct store_list *list, int folder,
	const char *name, struct vdir_entry **ret)
{
	auto_buffer key = { 0 };
	struct vdir_entry fresh = { 0 };
	struct vdir_version version = { 0 };
	struct stat st;
	bool found;
	size_t at;
	int r;

	buffer_printf(&key, "%s/%s", list->id, name);
	if (key.failed)
		return -ENOMEM;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ELOOP;
	vdir_version_of(&st, &version);
	at = vdir_cache_place(v, key.data, &found);
	if (found && vdir_same_version(&v->cache[at].version, &version)) {
		*ret = &v->cache[at];
		return 0;
	}
	if (found) {
		vdir_entry_deinit(v, &v->cache[at]);
		memmove(&v->cache[at], &v->cache[at + 1], (v->n - 1 - at) * sizeof(*v->cache));
		v->n--;
	}
	r = vdir_read_entry(folder, name, &fresh);
	fresh.key = r < 0 ? NULL : buffer_take(&key);
	if (r == 0 && v->bytes + fresh.bytes > VDIR_CACHE_MAX) {
		vdir_cache_clear(v);
		at = 0;
	}
	r = r < 0 ? r : fresh.key ? vdir_cache_put(v, at, &fresh) : -ENOMEM;
	if (r < 0) {
		item_drop(fresh.item);
		free(fresh.key);
		return r;
	}
	*ret = &v->cache[at];
	return 0;
}

static int vdir_each(
	struct store *s, const struct store_list *list, struct store_query *q, struct error *e)
{
	struct vdir *v = vdir_of(s);
	auto_vdir_names names = { 0 };
	auto_fd folder = vdir_open_folder(v, list->id);
	int r = folder < 0 ? folder
			   : vdir_read_names(folder, vdir_is_item, STORE_ITEMS_MAX, &names);

	if (r < 0)
		return error_set(e, r, NULL, "the list `%s` cannot be read: %s", list->name,
			r == -EFBIG ? "it has too many items" : strerror(-r));
	for (size_t i = 0; i < v->n; i++)
		v->cache[i].is_seen = false;
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		struct vdir_entry *x = NULL;
		int code = vdir_entry_get(v, list, folder, names.items[i], &x);

		if (code == -ENOMEM)
			return error_no_memory(e);
		if (x)
			x->is_seen = true;
		if (!x || !x->item) {
			q->n_skipped += code != -ENOENT;
			continue;
		}
		if (x->item->kind == q->kind && (!q->uid || strcmp(x->item->uid, q->uid) == 0))
			r = q->each(q->context,
				&(struct store_item){ names.items[i], x->tag, x->item });
	}
	if (r == 0)
		vdir_cache_sweep(v, list->id);
	return r;
}

/* Writing */

/* Others leave out names that begin with a dot, and those that do not end with .ics. */
static int vdir_temporary_name(char ret[32])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	(void)snprintf(ret, 32, ".%016llx.tmp", (unsigned long long)number);
	return 0;
}

/* A new file in the folder with a name that no one else has; its name in `ret`. */
static int vdir_write_temporary(
	int folder, const char *text, size_t len, unsigned mode, char ret[32])
{
	auto_fd fd = -1;
	int r = vdir_temporary_name(ret);

	if (r < 0)
		return r;
	fd = openat(folder, ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, text, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, ret, 0);
	return r;
}

/* The list's folder, and the right to write in it until it is closed. */
static int vdir_lock(const struct vdir *v, const struct store_list *list, struct error *e)
{
	auto_fd folder = vdir_open_folder(v, list->id);
	int r = folder < 0 ? folder : file_lock(folder, LOCK_MS);

	if (r == -EBUSY) {
		(void)error_set(
			e, r, NULL, "the list `%s` is locked by another program", list->name);
		error_hint(e, "end that program, or try again when it has finished");
		return r;
	}
	if (r < 0)
		return error_set(e, r, NULL, "the list `%s` cannot be written: %s", list->name,
			strerror(-r));
	return fd_take(&folder);
}

static int vdir_failed(const struct store_list *list, int code, struct error *e)
{
	if (code == -ESTALE || code == -ENOENT)
		return error_set(e, -ESTALE, NULL,
			"the item in `%s` was changed by another program meanwhile", list->name);
	if (code == -EEXIST)
		return error_set(
			e, code, NULL, "`%s` has an item with this id already", list->name);
	return error_set(
		e, code, NULL, "the list `%s` cannot be written: %s", list->name, strerror(-code));
}

static int vdir_sync(int folder)
{
	return fsync(folder) < 0 ? -errno : 0;
}

static int vdir_add(struct store *s, const struct store_list *list, const char *uid,
	const char *text, size_t len, struct buffer *ret_tag, struct error *e)
{
	char temporary[32], name[NAME_MAX + 1], tag[2 * VDIR_HASH + 1];
	auto_fd folder = vdir_lock(vdir_of(s), list, e);
	unsigned char hash[VDIR_HASH];
	int r;

	if (folder < 0)
		return folder;
	/* Never by what someone chose as an id: that may be a path, or longer than a name. */
	(void)crypto_generichash(
		hash, sizeof(hash), (const unsigned char *)uid, strlen(uid), NULL, 0);
	encoding_hex(hash, sizeof(hash), name);
	(void)stpcpy(name + strlen(name), ".ics");
	r = vdir_write_temporary(folder, text, len, 0600, temporary);
	if (r == 0) {
		if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) < 0) {
			r = -errno;
			(void)unlinkat(folder, temporary, 0);
		} else
			r = vdir_sync(folder);
	}
	if (r < 0)
		return vdir_failed(list, r, e);
	vdir_tag(text, len, tag);
	buffer_adds(ret_tag, tag);
	return 0;
}

/* The file is the version that was read. */
static int vdir_check(
	int folder, const struct store_item *old, struct vdir_version *ret, unsigned *ret_mode)
{
	auto_buffer text = { 0 };
	char tag[2 * VDIR_HASH + 1];
	struct stat st;
	int r = vdir_read_file(folder, old->id, LINES_BYTES_MAX, &text, ret);

	if (r == -EAGAIN)
		return -ESTALE;
	if (r < 0)
		return r;
	vdir_tag(buffer_text(&text), text.len, tag);
	if (strcmp(tag, old->tag) != 0)
		return -ESTALE;
	if (fstatat(folder, old->id, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*ret_mode = st.st_mode & 0777;
	return 0;
}

static bool vdir_is(int folder, const char *name, const struct vdir_version *expected)
{
	struct vdir_version version = { 0 };
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	vdir_version_of(&st, &version);
	return vdir_same_file(&version, expected);
}

/* Puts `temporary` in the item's place, if that is the version that was read. It is gone then. */
static int vdir_exchange(
	int folder, const char *temporary, const char *name, const struct vdir_version *expected)
{
	struct vdir_version ours;
	struct stat st;
	int r = 0;

	if (fstatat(folder, temporary, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		renameat2(folder, temporary, folder, name, RENAME_EXCHANGE) < 0)
		return -errno;
	vdir_version_of(&st, &ours);
	/* Another program was faster: its version stays. If yet another has written meanwhile, that
	 * is the newest, and comes back once more. */
	if (!vdir_is(folder, temporary, expected)) {
		r = renameat2(folder, temporary, folder, name, RENAME_EXCHANGE) < 0 ? -errno
										    : -ESTALE;
		if (!vdir_is(folder, temporary, &ours))
			(void)renameat2(folder, temporary, folder, name, RENAME_EXCHANGE);
	}
	(void)unlinkat(folder, temporary, 0);
	return r;
}

static int vdir_replace(struct store *s, const struct store_list *list,
	const struct store_item *old, const char *text, size_t len, struct buffer *ret_tag,
	struct error *e)
{
	char temporary[32], tag[2 * VDIR_HASH + 1];
	auto_fd folder = vdir_lock(vdir_of(s), list, e);
	struct vdir_version version = { 0 };
	unsigned mode = 0;
	int r;

	if (folder < 0)
		return folder;
	r = vdir_check(folder, old, &version, &mode);
	if (r == 0)
		r = vdir_write_temporary(folder, text, len, mode, temporary);
	if (r < 0)
		return vdir_failed(list, r, e);
	r = vdir_exchange(folder, temporary, old->id, &version);
	/* A file system without exchange: the check above is as near as it gets. */
	if (r == -EINVAL || r == -ENOSYS)
		r = renameat(folder, temporary, folder, old->id) < 0 ? -errno : 0;
	if (r == 0)
		r = vdir_sync(folder);
	if (r < 0)
		return vdir_failed(list, r, e);
	vdir_tag(text, len, tag);
	buffer_adds(ret_tag, tag);
	return 0;
}

static int vdir_remove(struct store *s, const struct store_list *list, const struct store_item *old,
	struct error *e)
{
	auto_fd folder = vdir_lock(vdir_of(s), list, e);
	char temporary[32];
	struct vdir_version version = { 0 };
	unsigned mode;
	int r;

	if (folder < 0)
		return folder;
	r = vdir_check(folder, old, &version, &mode);
	if (r == 0)
		r = vdir_temporary_name(temporary);
	if (r == 0 && renameat2(folder, old->id, folder, temporary, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r < 0)
		return vdir_failed(list, r, e);
	/* What is removed is what was checked; else it goes back to its place. */
	if (vdir_is(folder, temporary, &version))
		r = unlinkat(folder, temporary, 0) < 0 ? -errno : vdir_sync(folder);
	else
		r = renameat2(folder, temporary, folder, old->id, RENAME_NOREPLACE) < 0 ? -errno
											: -ESTALE;
	return r < 0 ? vdir_failed(list, r, e) : 0;
}

static void vdir_free(struct store *s)
{
	struct vdir *v = vdir_of(s);

	vdir_cache_clear(v);
	free(v->cache);
	fd_close(&v->root);
	free(v);
}

/* The folder has the list's own name, so there is none such yet; what else has it is no list. */
static int vdir_make(struct store *s, const char *name, struct store_lists *all, struct error *e)
{
	struct vdir *v = vdir_of(s);
	int r = 0;

	if (!store_name_is_valid(name, strlen(name)) || strchr(name, '/') ||
		!vdir_is_folder_name(name))
		return error_set(e, -EINVAL, NULL, "no folder can be called `%s`", name);
	if (all->n >= STORE_LISTS_MAX)
		return error_set(e, -ENOSPC, NULL, "there are %d lists already", STORE_LISTS_MAX);
	if (mkdirat(v->root, name, 0700) < 0)
		r = -errno;
	if (r == 0)
		r = vdir_add_list(v, name, all);
	return r < 0 ? error_set(e, r, NULL, "the list `%s` cannot be made: %s", name, strerror(-r))
		     : 0;
}

int vdir_new(struct store **ret, int root)
{
	static const struct store_calls calls = { vdir_lists, vdir_each, vdir_add, vdir_replace,
		vdir_remove, vdir_free, vdir_make };
	struct vdir *v = sodium_init() < 0 ? NULL : calloc(1, sizeof(*v));

	if (!v) {
		(void)close(root);
		return -ENOMEM;
	}
	v->store.calls = &calls;
	v->root = root;
	*ret = &v->store;
	return 0;
}
