/* SPDX-License-Identifier: Apache-2.0 */
#include "host/state-cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

enum { NAME_BYTES = 256 };

static const char key_name[] = "key";

/* Only we may have made it or changed it. */
static bool state_cache_is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* Opens a folder in another, made if it is missing and we are to; -1: there is none of ours. */
static int state_cache_enter(int in, const char *name, bool make)
{
	auto_fd fd = -1;
	struct stat st;

	if (make && mkdirat(in, name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !state_cache_is_ours(&st))
		return -1;
	return fd_take(&fd);
}

/* The folder of the user's state. */
static bool state_cache_base(char out[PATH_BYTES])
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	bool has_state = state && state[0] == '/';

	return (has_state || (home && home[0] == '/')) &&
	       snprintf(out, PATH_BYTES, "%s%s", has_state ? state : home,
		       has_state ? "" : "/.local/state") < PATH_BYTES;
}

bool state_cache_path(const char *name, char out[PATH_BYTES])
{
	char base[PATH_BYTES];

	return state_cache_base(base) &&
	       snprintf(out, PATH_BYTES, "%s/corral/%s", base, name) < PATH_BYTES;
}

/* The folders on the way to it, from the first that is missing; in what is ours alone. */
static bool state_cache_make_base(char path[PATH_BYTES])
{
	for (char *at = path + 1; at; at = at[0] ? strchr(at + 1, '/') : NULL) {
		struct stat st;
		bool made = true;

		if (*at != '/')
			continue;
		*at = '\0';
		if (stat(path, &st) < 0)
			made = mkdir(path, 0700) == 0 || errno == EEXIST;
		*at = '/';
		if (!made)
			return false;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

int state_cache_open(const char *name, bool make)
{
	auto_fd base = -1, own = -1;
	char path[PATH_BYTES];
	struct stat st;

	if (!state_cache_base(path))
		return -1;
	base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base < 0 && errno == ENOENT && make && state_cache_make_base(path))
		base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Root in another user's home leaves nothing there. */
	if (base < 0 || fstat(base, &st) < 0 || st.st_uid != geteuid())
		return -1;
	own = state_cache_enter(base, "corral", make);
	return own < 0 ? -1 : state_cache_enter(own, name, make);
}

int state_cache_open_file(int folder, const char *name, size_t max, size_t *ret_size)
{
	auto_fd fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !state_cache_is_ours(&st) ||
		st.st_nlink != 1 || st.st_size < 0 || (uint64_t)st.st_size > max)
		return -1;
	*ret_size = (size_t)st.st_size;
	return fd_take(&fd);
}

bool state_cache_read(int fd, void *out, size_t len)
{
	char *to = out;

	while (len > 0) {
		ssize_t n = read(fd, to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		len -= (size_t)n;
	}
	return true;
}

bool state_cache_key(int folder, bool make, void *ret, size_t len)
{
	auto_fd fd = -1;
	size_t size = 0;

	if (make) {
		fd = openat(folder, key_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
		if (fd >= 0)
			return getrandom(ret, len, 0) == (ssize_t)len &&
			       file_write_all(fd, ret, len) == 0;
	}
	fd = state_cache_open_file(folder, key_name, len, &size);
	return fd >= 0 && size == len && state_cache_read(fd, ret, len);
}

void state_cache_trim(int folder, size_t size, unsigned entries_max, uint64_t total_max)
{
	for (unsigned round = 0; round < 4 * entries_max; round++) {
		int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = copy < 0 ? NULL : fdopendir(copy);
		char oldest[NAME_BYTES] = "";
		struct timespec since = { 0 };
		uint64_t total = size;
		const struct dirent *d;
		struct stat st;
		unsigned n = 1;

		while (dir && (d = readdir(dir))) {
			if (d->d_name[0] == '.' || strcmp(d->d_name, key_name) == 0 ||
				fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			n++;
			total += (uint64_t)st.st_size;
			if (oldest[0] && (st.st_mtim.tv_sec > since.tv_sec ||
						 (st.st_mtim.tv_sec == since.tv_sec &&
							 st.st_mtim.tv_nsec >= since.tv_nsec)))
				continue;
			since = st.st_mtim;
			(void)snprintf(oldest, sizeof(oldest), "%s", d->d_name);
		}
		if (dir)
			(void)closedir(dir);
		else if (copy >= 0)
			(void)close(copy);
		if ((n <= entries_max && total <= total_max) || !oldest[0] ||
			unlinkat(folder, oldest, 0) < 0)
			return;
	}
}

int state_cache_put(int folder, const char *name, const void *data, size_t len)
{
	char temporary[NAME_BYTES];
	auto_fd fd = -1;
	int r;

	if (snprintf(temporary, sizeof(temporary), "%s.%ld", name, (long)getpid()) >= NAME_BYTES)
		return -ENAMETOOLONG;
	(void)unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, data, len);
	if (r == 0 && renameat(folder, temporary, folder, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(folder, temporary, 0);
	return r;
}
