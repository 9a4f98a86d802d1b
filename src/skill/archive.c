/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     head       magic, version; bytes of all files; number of records; the skill's path and a NUL
 *     record     size of the data, time, type, flags; path and a NUL; data
 *
 * Both ends are of one program, and the memfd is sealed; still every length is compared with what
 * remains, a path can only lead down, and nothing is made through a link.
 */
#include "skill/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "wire/frame.h"

static const char archive_magic[8] = "corralA1";

struct archive_head {
	char magic[8];
	uint64_t bytes;
	uint32_t entries, reserved;
};
_Static_assert(sizeof(struct archive_head) == 24, "no padding");

enum { ARCHIVE_EXECUTABLE = 1, ARCHIVE_LIVE = 2, ARCHIVE_FLAGS = 3, ARCHIVE_LINKS_MAX = 40 };

struct archive_record {
	uint64_t size;
	int64_t seconds;
	uint32_t nanoseconds;
	uint16_t type, flags;
};
_Static_assert(sizeof(struct archive_record) == 24, "no padding");

/* Writing */

static int archive_put(struct skill_archive_writer *w, const void *data, size_t len)
{
	/* A write past the limit would raise SIGXFSZ, in a program that may not be ours. */
	if (len > w->limit - w->size)
		return -EFBIG;
	w->size += len;
	return file_write_all(w->fd, data, len);
}

static int archive_fail(int r, const char *path, struct error *e)
{
	return error_set(e, r, NULL, "%s: cannot copy the skill: %s", path, strerror(-r));
}

int skill_archive_begin(struct skill_archive_writer *w, const char *path, struct error *e)
{
	const struct archive_head head = { .magic = "" };
	struct rlimit limit;
	int r;

	*w = (struct skill_archive_writer){ .fd = -1, .limit = UINT64_MAX };
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		w->limit = limit.rlim_cur;
	r = sealed_begin(&w->fd);
	if (r == 0)
		r = archive_put(w, &head, sizeof(head));
	if (r == 0)
		r = archive_put(w, path, strlen(path) + 1);
	return r < 0 ? archive_fail(r, path, e) : 0;
}

int skill_archive_add(
	struct skill_archive_writer *w, const struct skill_entry *entry, struct error *e)
{
	struct archive_record record = { .size = entry->type == SKILL_FILE ? entry->size : 0,
		.seconds = entry->st->st_mtim.tv_sec,
		.nanoseconds = (uint32_t)entry->st->st_mtim.tv_nsec,
		.type = entry->type,
		.flags = (entry->executable ? ARCHIVE_EXECUTABLE : 0) |
			 (entry->live ? ARCHIVE_LIVE : 0) };
	int r;

	w->bytes += record.size;
	w->entries++;
	if (w->bytes > SKILL_ARCHIVE_MAX) {
		(void)error_set(e, -E2BIG, NULL,
			"%s: the skill is larger than %d MiB, too large to be copied for a run",
			entry->path, SKILL_ARCHIVE_MAX >> 20);
		error_hint(e, "keep large files elsewhere and grant them with fs.read");
		return -E2BIG;
	}
	if (entry->type == SKILL_LINK)
		record.size = strlen(entry->target) + 1;
	r = strlen(entry->path) + 1 < PATH_BYTES ? archive_put(w, &record, sizeof(record))
						 : -ENAMETOOLONG;
	if (r == 0)
		r = archive_put(w, "/", 1);
	if (r == 0)
		r = archive_put(w, entry->path, strlen(entry->path) + 1);
	if (r == 0 && entry->type == SKILL_LINK)
		r = archive_put(w, entry->target, record.size);
	return r < 0 ? archive_fail(r, entry->path, e) : 0;
}

int skill_archive_write(struct skill_archive_writer *w, const void *data, size_t len,
	const char *path, struct error *e)
{
	int r = archive_put(w, data, len);

	return r < 0 ? archive_fail(r, path, e) : 0;
}

int skill_archive_finish(struct skill_archive_writer *w, int *ret, struct error *e)
{
	struct archive_head head = { .bytes = w->bytes, .entries = w->entries };
	int r;

	memcpy(head.magic, archive_magic, sizeof(head.magic));
	r = pwrite(w->fd, &head, sizeof(head), 0) == sizeof(head) ? sealed_finish(w->fd) : -EIO;
	if (r < 0)
		return archive_fail(r, ".", e);
	*ret = fd_take(&w->fd);
	return 0;
}

void skill_archive_abandon(struct skill_archive_writer *w)
{
	fd_close(&w->fd);
}

/* Reading */

int skill_archive_open_bytes(struct skill_archive *a, const void *data, size_t len)
{
	struct reader r = { data, len };
	struct archive_head head;
	const char *path;

	if (!reader_bytes(&r, &head, sizeof(head)) ||
		memcmp(head.magic, archive_magic, sizeof(head.magic)) != 0 ||
		head.entries > SKILL_ENTRIES_MAX || head.bytes > SKILL_ARCHIVE_MAX ||
		head.reserved != 0)
		return -EPROTO;
	path = reader_string(&r);
	if (!path || !path_is_normal(path, strlen(path)))
		return -EPROTO;
	*a = (struct skill_archive){
		.fd = -1, .path = path, .bytes = head.bytes, .entries = head.entries, .records = r
	};
	return 0;
}

int skill_archive_open(struct skill_archive *a, int fd)
{
	struct stat st;
	void *map = NULL;
	int r = fstat(fd, &st) < 0 ? -errno : sealed_map(fd, (size_t)st.st_size, &map);

	if (r < 0 || !map)
		return r;
	r = skill_archive_open_bytes(a, map, (size_t)st.st_size);
	if (r < 0) {
		(void)munmap(map, (size_t)st.st_size);
		return r;
	}
	a->fd = fd;
	a->map = map;
	a->len = (size_t)st.st_size;
	return 0;
}

void skill_archive_close(struct skill_archive *a)
{
	if (a->map)
		(void)munmap((void *)a->map, a->len);
	*a = (struct skill_archive){ .fd = -1 };
}

int skill_archive_next(struct reader *r, struct skill_archive_entry *ret)
{
	struct archive_record record;
	const char *path;

	if (r->left == 0)
		return 0;
	if (!reader_bytes(r, &record, sizeof(record)) || record.type > SKILL_LINK ||
		record.flags & ~ARCHIVE_FLAGS || record.nanoseconds > 999999999)
		return -EPROTO;
	path = reader_string(r);
	if (!path || !path_is_normal(path, strlen(path)) || !path[1] || record.size > r->left)
		return -EPROTO;
	*ret = (struct skill_archive_entry){ .type = record.type,
		.path = path,
		.executable = record.flags & ARCHIVE_EXECUTABLE,
		.live = record.flags & ARCHIVE_LIVE,
		.data = r->data,
		.size = record.size,
		.seconds = record.seconds,
		.nanoseconds = record.nanoseconds };
	if ((ret->live || ret->type == SKILL_FOLDER) && record.size > 0)
		return -EPROTO;
	if (ret->type == SKILL_LINK &&
		(ret->live || record.size < 2 ||
			memchr(r->data, '\0', record.size) != r->data + record.size - 1))
		return -EPROTO;
	r->data += record.size;
	r->left -= record.size;
	return 1;
}

/*
 * The record of a file at this path, or of a link on the way to it. 1; 0: neither.
 */
static int archive_look(
	const struct skill_archive *a, const char *path, struct skill_archive_entry *ret)
{
	struct reader records = a->records;
	int r;

	do
		r = skill_archive_next(&records, ret);
	while (r == 1 && (ret->live || ret->type == SKILL_FOLDER ||
				 !(ret->type == SKILL_LINK ? path_is_below(path, ret->path)
							   : strcmp(path, ret->path) == 0)));
	return r;
}

/* A link's folder is real, and its target has .. at its start alone (walk.c): so it can be joined
 * as text. */
int skill_archive_find(
	const struct skill_archive *a, const char *path, struct skill_archive_entry *ret)
{
	char at[PATH_BYTES], joined[3 * PATH_BYTES];
	struct skill_archive_entry entry;
	size_t len = strlen(path);

	if (len >= sizeof(at))
		return -ENOENT;
	memcpy(at, path, len + 1);
	for (int links = 0; links <= ARCHIVE_LINKS_MAX; links++) {
		int r = archive_look(a, at, &entry), n;

		if (r <= 0)
			return r < 0 ? r : -ENOENT;
		if (entry.type == SKILL_FILE) {
			*ret = entry;
			return 0;
		}
		n = snprintf(joined, sizeof(joined), "%.*s/%s%s",
			(int)(strrchr(entry.path, '/') - entry.path), entry.path,
			(const char *)entry.data, at + strlen(entry.path));
		if (n < 0 || n >= (int)sizeof(joined) ||
			path_normalize(joined, (size_t)n, at, &len) < 0)
			return -ENOENT;
	}
	return -ELOOP;
}

/* Unpacking */

/* The folder that the last entries went to, open. */
struct archive_place {
	int top, folder;
	char path[PATH_BYTES]; /* of the folder, with a slash before it; "" is the top */
};

/* Sets *ret_name to the entry's name in its folder, which is opened. */
static int archive_enter(struct archive_place *p, const char *path, const char **ret_name)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	const char *slash = strrchr(path, '/');
	size_t len = (size_t)(slash - path);

	*ret_name = slash + 1;
	if (len >= sizeof(p->path))
		return -ENAMETOOLONG;
	if (p->folder >= 0 && strlen(p->path) == len && memcmp(p->path, path, len) == 0)
		return p->folder;
	fd_close(&p->folder);
	memcpy(p->path, path, len);
	p->path[len] = '\0';
	p->folder = (int)syscall(SYS_openat2, p->top, len ? p->path + 1 : ".", &how, sizeof(how));
	return p->folder < 0 ? -errno : p->folder;
}

static int archive_make_file(int folder, const char *name, const struct skill_archive_entry *entry)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
		{ .tv_sec = entry->seconds, .tv_nsec = entry->nanoseconds } };
	auto_fd fd =
		openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : file_write_all(fd, entry->data, entry->size);

	/* The umask is the caller's, so the mode is set afterwards. */
	if (r == 0 && (fchmod(fd, entry->executable ? 0755 : 0644) < 0 || futimens(fd, times) < 0))
		r = -errno;
	return r;
}

static int archive_make(struct archive_place *p, const struct skill_archive_entry *entry)
{
	const char *name;
	int folder = archive_enter(p, entry->path, &name);

	if (folder < 0)
		return folder;
	switch (entry->type) {
	case SKILL_FILE:
		return archive_make_file(folder, name, entry);
	case SKILL_LINK:
		return symlinkat(entry->data, folder, name) < 0 ? -errno : 0;
	case SKILL_FOLDER:
		break;
	}
	return mkdirat(folder, name, 0700) < 0 || fchmodat(folder, name, 0755, 0) < 0 ? -errno : 0;
}

int skill_archive_unpack(const struct skill_archive *a, int folder)
{
	struct archive_place place = { .top = folder, .folder = -1 };
	struct reader records = a->records;
	struct skill_archive_entry entry;
	int r;

	do {
		r = skill_archive_next(&records, &entry);
		if (r == 1) {
			int made = archive_make(&place, &entry);

			r = made < 0 ? made : r;
		}
	} while (r == 1);
	fd_close(&place.folder);
	return r;
}
