/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"

int file_read_fd(int fd, size_t max, struct buffer *out)
{
	char chunk[16384];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return out->failed ? -ENOMEM : 0;
		total += (size_t)n;
		if (total > max)
			return -EFBIG;
		buffer_add(out, chunk, (size_t)n);
	}
}

int file_read(const char *path, size_t max, struct buffer *out)
{
	auto_fd fd = -1;

	if (strcmp(path, "-") == 0)
		return file_read_fd(STDIN_FILENO, max, out);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max, out);
}

int file_read_regular(const char *path, size_t max, struct buffer *out)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	return S_ISREG(st.st_mode) ? file_read_fd(fd, max, out) : -EINVAL;
}

const char *file_distrust(const struct stat *st)
{
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "belongs to another user";
	if (st->st_mode & S_IWOTH)
		return "can be changed by every user";
	/* Many systems give each user a group, and let it write. */
	if ((st->st_mode & S_IWGRP) && st->st_gid != getegid())
		return "can be changed by another group";
	return NULL;
}

const char *file_words(int r)
{
	return r == -EINVAL ? "it is not a regular file" : strerror(-r);
}

int file_write_all(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len) {
		ssize_t n = write(fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_replace(const char *path, const void *data, size_t len, unsigned mode)
{
	auto_buffer temp = { 0 };
	auto_fd fd = -1;
	int r;

	buffer_printf(&temp, "%s.XXXXXX", path);
	if (temp.failed)
		return -ENOMEM;
	fd = mkostemp(temp.data, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, mode) < 0 ? -errno : file_write_all(fd, data, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && rename(temp.data, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temp.data);
	return r;
}

int file_lock(int fd, unsigned most_ms)
{
	enum { PAUSE_MS = 5 };

	for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += PAUSE_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (waited >= most_ms)
			return -EBUSY;
		(void)poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}

int file_make_folders(const char *path)
{
	char part[PATH_BYTES];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, S_IRWXU) < 0 && errno != EEXIST)
			return -errno;
		part[i] = i < len ? '/' : '\0';
	}
	return 0;
}
