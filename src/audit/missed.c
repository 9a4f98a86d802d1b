/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/missed.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/place.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/formats.h"

static const char missed_head[] = "corral missed 1\n", missed_start[] = "corral missed ";
enum { HEAD_BYTES = sizeof(missed_head) - 1, LENGTH_BYTES = 4, NUMBER_DIGITS = 18 };
#define MISSED_NUMBER_MAX UINT64_C(999999999999999999) /* of so many digits */

int audit_missed_place(bool is_system, struct buffer *out)
{
	struct error e;
	int r = 0;

	if (is_system)
		buffer_adds(out, "/var/lib/corral/audit.db");
	else
		r = audit_place(out, &e);
	if (r < 0 || out->failed)
		return r < 0 ? r : -ENOMEM;
	out->len = (size_t)(strrchr(out->data, '/') - out->data);
	buffer_adds(out, "/missed");
	return out->failed ? -ENOMEM : 0;
}

int audit_missed_open(const char *folder, int *ret)
{
	auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return -EPERM;
	*ret = fd_take(&fd);
	return 0;
}

bool audit_missed_is_of(int folder, const char *log)
{
	struct stat ours, other;

	return stat(log, &ours) == 0 && fstatat(folder, "../audit.db", &other, 0) == 0 &&
	       ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
}

/* Writing */

static void missed_add_length(struct buffer *out, size_t len)
{
	const uint32_t bytes = htole32((uint32_t)len);

	buffer_add(out, &bytes, sizeof(bytes));
}

bool audit_missed_add(struct buffer *out, const void *event, size_t len, size_t reserve)
{
	/* The lengths of this one and of the end. */
	const size_t more = (out->len ? 0 : HEAD_BYTES) + 2 * LENGTH_BYTES + reserve;

	if (out->len + more > AUDIT_MISSED_BYTES_MAX ||
		len > AUDIT_MISSED_BYTES_MAX - more - out->len)
		return false;
	if (!out->len)
		buffer_add(out, missed_head, HEAD_BYTES);
	missed_add_length(out, len);
	buffer_add(out, event, len);
	return true;
}

static bool missed_is_id(const char *id, size_t len)
{
	return len == AUDIT_MISSED_ID && strspn(id, "0123456789abcdef") >= len;
}

/* -EDQUOT: there are too many files. Or why they cannot be counted. */
static int missed_check_room(int folder)
{
	auto_fd fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;

	if (!d)
		return -errno;
	(void)fd_take(&fd);
	while (n <= AUDIT_MISSED_FILES_MAX + 2 && readdir(d))
		n++;
	(void)closedir(d);
	/* With "." and "..". */
	return n >= AUDIT_MISSED_FILES_MAX + 2 ? -EDQUOT : 0;
}

int audit_missed_print_name(const struct audit_missed_name *n, char ret[AUDIT_MISSED_NAME])
{
	if (!missed_is_id(n->id, strlen(n->id)) || n->number > MISSED_NUMBER_MAX)
		return -EINVAL;
	if (n->is_noted)
		(void)snprintf(ret, AUDIT_MISSED_NAME, "%s.%" PRIu64, n->id, n->number);
	else
		(void)snprintf(ret, AUDIT_MISSED_NAME, "%s", n->id);
	return 0;
}

int audit_missed_prepare(int folder, int *ret)
{
	int fd, r = missed_check_room(folder);

	if (r < 0)
		return r;
	fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

bool audit_missed_is_prepared(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 && st.st_size == 0 &&
	       st.st_uid == geteuid();
}

/* Gives the file its name, by which it is complete. */
static int missed_put_prepared(int folder, int fd, const char *name, const struct buffer *bytes)
{
	char path[64];
	int r = file_write_all(fd, bytes->data, bytes->len);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 && linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	return r;
}

static int missed_put_fresh(
	int folder, const struct audit_missed_name *n, const char *name, const struct buffer *bytes)
{
	char fresh[AUDIT_MISSED_ID + 2];
	auto_fd fd = -1;
	int r = missed_check_room(folder);

	if (r < 0)
		return r;
	(void)snprintf(fresh, sizeof(fresh), ".%s", n->id);
	fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, bytes->data, bytes->len);
	if (r == 0 && renameat(folder, fresh, folder, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, fresh, 0);
	return r;
}

int audit_missed_put(
	int folder, int prepared, const struct audit_missed_name *n, struct buffer *bytes)
{
	char name[AUDIT_MISSED_NAME];
	struct rlimit limit;
	int r = audit_missed_print_name(n, name);

	if (r < 0)
		return r;
	missed_add_length(bytes, 0);
	if (bytes->failed)
		return -ENOMEM;
	/* A write beyond the limit would end the process. */
	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur < bytes->len)
		return -EFBIG;
	/* Without /proc there is no way to name it. */
	if (prepared >= 0 && missed_put_prepared(folder, prepared, name, bytes) == 0)
		return 0;
	return missed_put_fresh(folder, n, name, bytes);
}

void audit_missed_count(int folder, uint64_t events)
{
	const uint32_t n = htole32(events < UINT32_MAX ? (uint32_t)events : UINT32_MAX);
	auto_fd fd = openat(folder, AUDIT_MISSED_FULL,
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct rlimit limit;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return;
	if (S_ISREG(st.st_mode) && st.st_size <= AUDIT_MISSED_BYTES_MAX - (off_t)sizeof(n) &&
		limit.rlim_cur >= AUDIT_MISSED_BYTES_MAX)
		(void)file_write_all(fd, &n, sizeof(n));
}

/* Reading */

int audit_missed_take_count(int folder)
{
	auto_buffer bytes = { 0 };
	int r;

	if (faccessat(folder, AUDIT_MISSED_TAKEN, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	r = audit_missed_read(folder, AUDIT_MISSED_FULL, &bytes);
	if (r == 0 && renameat(folder, AUDIT_MISSED_FULL, folder, AUDIT_MISSED_TAKEN) < 0)
		r = -errno;
	return r;
}

int audit_missed_counted(int folder, uint64_t after, uint64_t *ret_runs, uint64_t *ret_events)
{
	auto_buffer bytes = { 0 };
	uint64_t runs, sum = 0;
	uint32_t n;
	int r = audit_missed_read(folder, AUDIT_MISSED_TAKEN, &bytes);

	if (r < 0)
		return r;
	runs = bytes.len / sizeof(n);
	for (uint64_t i = after; i < runs; i++) {
		memcpy(&n, bytes.data + i * sizeof(n), sizeof(n));
		sum += le32toh(n);
	}
	*ret_runs = runs > after ? runs - after : 0;
	*ret_events = sum;
	return 0;
}

bool audit_missed_parse_name(const char *name, struct audit_missed_name *ret)
{
	const size_t len = strcspn(name, "."),
		     digits = strspn(name + len + !!name[len], "0123456789");

	if (!missed_is_id(name, len))
		return false;
	*ret = (struct audit_missed_name){ .is_noted = name[len] };
	memcpy(ret->id, name, len);
	if (!ret->is_noted)
		return true;
	ret->number = strtoull(name + len + 1, NULL, 10);
	/* A number has one form. */
	return digits > 0 && digits <= NUMBER_DIGITS && !name[len + 1 + digits] &&
	       (digits == 1 || name[len + 1] != '0');
}

int audit_missed_read(int folder, const char *name, struct buffer *out)
{
	auto_fd fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077 || st.st_nlink != 1)
		return -EPERM;
	return st.st_size > AUDIT_MISSED_BYTES_MAX ? -EFBIG
						   : file_read_fd(fd, AUDIT_MISSED_BYTES_MAX, out);
}

/* 1: *ret has the event at *at, and *at is behind it; 0: the end is there. */
static int missed_read_one(const uint8_t *data, size_t len, size_t *at, struct audit_event *ret)
{
	uint32_t n;

	if (len - *at < LENGTH_BYTES)
		return -EBADMSG;
	memcpy(&n, data + *at, sizeof(n));
	n = le32toh(n);
	if (n == 0)
		return len - *at == LENGTH_BYTES ? 0 : -EBADMSG;
	if (n > len - *at - LENGTH_BYTES ||
		audit_event_decode(ret, data + *at + LENGTH_BYTES, n) < 0)
		return -EBADMSG;
	*at += LENGTH_BYTES + n;
	return 1;
}

uint64_t audit_missed_version(const void *data, size_t len)
{
	const size_t start = sizeof(missed_start) - 1;
	const char *text = data;
	uint64_t version = 0;
	size_t at = start;

	if (len < HEAD_BYTES || memcmp(text, missed_start, start) != 0)
		return 0;
	while (at < len && at < start + NUMBER_DIGITS && text[at] >= '0' && text[at] <= '9')
		version = version * 10 + (uint64_t)(text[at++] - '0');
	return at < len && text[at] == '\n' ? version : 0;
}

int audit_missed_check(const void *data, size_t len, const char *id)
{
	size_t at = HEAD_BYTES;
	struct audit_event e;
	int n = 0, r;

	if (audit_missed_version(data, len) > formats_rows[FORMAT_MISSED].version)
		return -ENOTSUP;
	if (len < HEAD_BYTES || len > AUDIT_MISSED_BYTES_MAX ||
		memcmp(data, missed_head, HEAD_BYTES) != 0)
		return -EBADMSG;
	while ((r = missed_read_one(data, len, &at, &e)) == 1) {
		if (strcmp(e.session, id) != 0)
			return -EBADMSG;
		n++;
	}
	return r < 0 || n == 0 ? -EBADMSG : n;
}

bool audit_missed_next(const void *data, size_t len, size_t *at, struct audit_event *ret)
{
	if (*at == 0)
		*at = HEAD_BYTES;
	return missed_read_one(data, len, at, ret) == 1;
}
