/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/changed.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { DEPTH_MAX = 8 };

bool profile_changed_stat(const struct timespec *changed, const struct timespec *since)
{
	return changed->tv_sec != since->tv_sec ? changed->tv_sec > since->tv_sec
						: changed->tv_nsec >= since->tv_nsec;
}

static DIR *profile_changed_open_folder(int at, const char *path)
{
	auto_fd fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)fd_take(&fd); /* it has an owner now */
	return dir;
}

static bool profile_changed_is_name(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* FNV-1a over what changes when somebody changes the file. */
static uint64_t print_of(const struct stat *st)
{
	const uint64_t parts[] = { (uint64_t)st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec };
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(parts); i++)
		h = (h ^ (parts[i / 8] >> i % 8 * 8 & 0xff)) * UINT64_C(0x100000001b3);
	return h;
}

/* A sum, since the order of names is nobody's promise. */
static uint64_t add_up(int at, const char *path, unsigned *names, unsigned depth)
{
	DIR *dir = profile_changed_open_folder(at, path);
	const struct dirent *d;
	uint64_t sum = 0;

	while (dir && *names > 0 && (d = readdir(dir))) {
		struct stat st;

		if (!profile_changed_is_name(d->d_name))
			continue;
		--*names;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		sum += print_of(&st);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			sum += add_up(dirfd(dir), d->d_name, names, depth + 1);
	}
	if (dir)
		(void)closedir(dir);
	return sum;
}

uint64_t profile_changed_print(int at, const char *path, unsigned *names)
{
	return add_up(at, path, names, 0);
}
