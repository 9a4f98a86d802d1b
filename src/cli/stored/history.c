/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stored/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/formats.h"
#include "base/path.h"
#include "base/words.h"

#define VERSION_FILE "version"

enum {
	VERSION_MAX = 32,
	HISTORY_TEXT_MAX = 4 << 20,
	HISTORY_NUMBER_MAX = 99999999,
	LOCK_MS = 10000
};

const char *const history_by_names[HISTORY_BY_COUNT + 1] = { "file", "save", "undo", "removed",
	NULL };

static bool history_path(const char *past, const char *name, char out[PATH_BYTES])
{
	return snprintf(out, PATH_BYTES, "%s/%s", past, name) < PATH_BYTES;
}

static void history_name(const struct history_version *v, char out[32])
{
	(void)snprintf(out, 32, "%08" PRIu32 ".%s", v->number, history_by_names[v->by]);
}

/* 00000012.save */
static bool history_parse(const char *name, struct history_version *ret)
{
	const size_t digits = strspn(name, "0123456789");
	int by;

	if (digits != 8 || name[8] != '.')
		return false;
	by = words_find(history_by_names, name + 9, strlen(name + 9));
	if (by < 0)
		return false;
	*ret = (struct history_version){ .number = (uint32_t)strtoul(name, NULL, 10),
		.by = (enum history_by)by };
	return ret->number > 0;
}

static int history_compare(const void *a, const void *b)
{
	const struct history_version *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void history_close(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

int history_open(struct history *h, const char *past)
{
	__attribute__((cleanup(history_close))) DIR *dir = opendir(past);
	const struct dirent *d;

	h->n = 0;
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (h->n < ROWS(h->items) && (errno = 0, d = readdir(dir))) {
		struct history_version v;
		struct stat st;

		if (!history_parse(d->d_name, &v) ||
			fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		v.bytes = (uint64_t)st.st_size;
		v.saved_ms =
			(uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
		h->items[h->n++] = v;
	}
	qsort(h->items, h->n, sizeof(h->items[0]), history_compare);
	return 0;
}

int history_read(const struct history *h, const char *past, uint32_t number, struct buffer *ret)
{
	for (size_t i = 0; i < h->n; i++) {
		char name[32], path[PATH_BYTES];
		auto_fd fd = -1;

		if (h->items[i].number != number || h->items[i].by == HISTORY_REMOVED)
			continue;
		history_name(&h->items[i], name);
		if (!history_path(past, name, path))
			return -ENAMETOOLONG;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		return fd < 0 ? -errno : file_read_fd(fd, HISTORY_TEXT_MAX, ret);
	}
	return -ENOENT;
}

int history_make_folders(const char *path, unsigned mode)
{
	char copy[PATH_BYTES];

	if (snprintf(copy, sizeof(copy), "%s", path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

static void history_trim(struct history *h, const char *past)
{
	while (h->n > HISTORY_MAX) {
		char name[32], path[PATH_BYTES];

		history_name(&h->items[0], name);
		if (history_path(past, name, path))
			(void)unlink(path);
		memmove(&h->items[0], &h->items[1], --h->n * sizeof(h->items[0]));
	}
}

int history_add(struct history *h, const char *past, const struct buffer *text, enum history_by by,
	unsigned mode)
{
	const uint32_t last = h->n ? h->items[h->n - 1].number : 0;
	struct history_version v = { .number = last + 1, .by = by, .bytes = text ? text->len : 0 };
	char name[32], path[PATH_BYTES];
	int r = last < HISTORY_NUMBER_MAX ? history_make_folders(past, mode & 044 ? 0755 : 0700)
					  : -EOVERFLOW;

	history_name(&v, name);
	if (r == 0 && !history_path(past, name, path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = file_replace(path, text ? buffer_text(text) : "", v.bytes, mode);
	if (r < 0) {
		(void)rmdir(past); /* If this was to be the first version, nothing is in it. */
		return r;
	}
	h->items[h->n++] = v;
	history_trim(h, past);
	return 0;
}

void history_drop(struct history *h, const char *past)
{
	char name[32], path[PATH_BYTES];

	history_name(&h->items[--h->n], name);
	if (history_path(past, name, path))
		(void)unlink(path);
	(void)rmdir(past);
}

const struct history_version *history_latest(const struct history *h)
{
	const struct history_version *v = h->n ? &h->items[h->n - 1] : NULL;

	return v && v->by != HISTORY_REMOVED ? v : NULL;
}

bool history_is_latest(const struct history *h, const char *past, const struct buffer *text)
{
	const struct history_version *v = history_latest(h);
	auto_buffer was = { 0 };

	return v && v->bytes == text->len && history_read(h, past, v->number, &was) == 0 &&
	       was.len == text->len && memcmp(buffer_text(&was), buffer_text(text), was.len) == 0;
}

void history_seen(const char *past, char out[HISTORY_SEEN])
{
	char path[PATH_BYTES];
	auto_buffer text = { 0 };
	auto_fd fd = -1;

	out[0] = '\0';
	if (!past || !history_path(past, "seen", path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && file_read_fd(fd, HISTORY_SEEN - 1, &text) == 0)
		(void)snprintf(out, HISTORY_SEEN, "%s", buffer_text(&text));
}

int history_set_seen(const char *past, const char *text, unsigned mode)
{
	char path[PATH_BYTES];
	int r = history_make_folders(past, mode & 044 ? 0755 : 0700);

	if (r == 0 && !history_path(past, "seen", path))
		r = -ENAMETOOLONG;
	return r < 0 ? r : file_replace(path, text, strlen(text), mode);
}

/* All but the version. */
static int history_print_file(const struct stat *st, char out[HISTORY_SEEN])
{
	return snprintf(out, HISTORY_SEEN, "broken %ju %ju %jd%09ld %jd ", (uintmax_t)st->st_dev,
		(uintmax_t)st->st_ino, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		(intmax_t)st->st_size);
}

void history_print_broken(const struct stat *st, uint32_t version, char out[HISTORY_SEEN])
{
	const int n = history_print_file(st, out);

	(void)snprintf(out + n, HISTORY_SEEN - (size_t)n, "%" PRIu32, version);
}

uint32_t history_instead(const char *past, const struct stat *st)
{
	char seen[HISTORY_SEEN], now[HISTORY_SEEN];
	int n;

	history_seen(past, seen);
	n = history_print_file(st, now);
	if (strncmp(seen, now, (size_t)n) != 0)
		return 0;
	return strspn(seen + n, "0123456789") <= 8 ? (uint32_t)strtoul(seen + n, NULL, 10) : 0;
}

int history_check_version(const char *folder, struct error *e)
{
	char path[PATH_BYTES];
	auto_buffer text = { 0 };
	auto_fd fd = -1;
	uint64_t version;
	char *end;
	int r;

	if (!history_path(folder, VERSION_FILE, path))
		return error_set(e, -ENAMETOOLONG, NULL, "%s: the name is too long", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	r = fd < 0 ? -errno : file_read_fd(fd, VERSION_MAX, &text);
	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	version = strtoull(buffer_text(&text), &end, 10);
	if (end == buffer_text(&text) || strcmp(end, "\n") != 0)
		return error_set(e, -EBADMSG, NULL, "%s: it must be a number and a newline", path);
	r = formats_check(FORMAT_HISTORY, version, folder, e);
	return r < 0 ? r : 0;
}

static int history_note_version(const char *folder, unsigned mode)
{
	char path[PATH_BYTES], text[VERSION_MAX];

	if (!history_path(folder, VERSION_FILE, path))
		return -ENAMETOOLONG;
	if (access(path, F_OK) == 0)
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu32 "\n", formats_rows[FORMAT_HISTORY].version);
	return file_replace(path, text, strlen(text), mode);
}

int history_lock(const char *folder, unsigned mode, int *ret)
{
	char path[PATH_BYTES];
	auto_fd fd = -1;
	int r = history_make_folders(folder, mode & 044 ? 0755 : 0700);

	if (r == 0 && !history_path(folder, "lock", path))
		r = -ENAMETOOLONG;
	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = file_lock(fd, LOCK_MS);
	if (r == 0)
		r = history_note_version(folder, mode);
	if (r < 0)
		return r;
	*ret = fd_take(&fd);
	return 0;
}
