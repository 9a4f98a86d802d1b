/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cgroup for one command: a folder with files that are written and read. Swap is off where
 * memory is limited, or the limit would only move the command to the disk. memory.oom.group makes
 * the kernel kill the command as a whole, instead of leaving a tree that lost one process and
 * hangs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/limits/internal.h"

enum { REMOVE_TRIES = 100, NAME_TRIES = 4 };

int cgroup_write(int folder, const char *file, const char *text)
{
	auto_fd fd = openat(folder, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

int cgroup_load(int folder, const char *file, char *text, size_t size)
{
	auto_fd fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;

	if (fd < 0)
		return -errno;
	while (len < size) {
		ssize_t n = read(fd, text + len, size - len);

		if (n < 0)
			return -errno;
		if (n == 0) {
			text[len] = '\0';
			return (int)len;
		}
		len += (size_t)n;
	}
	return -EFBIG;
}

bool cgroup_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; *at;) {
		size_t n = strcspn(at, " \n");

		if (n == len && memcmp(at, word, n) == 0)
			return true;
		at += n + (at[n] != '\0');
	}
	return false;
}

uint64_t cgroup_key(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

static int cgroup_write_number(int folder, const char *file, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return cgroup_write(folder, file, text);
}

int cgroup_limit(int folder, const struct cgroup_limits *l, struct error *e)
{
	const struct {
		const char *file;
		uint64_t value;
		bool set, optional;
	} rows[] = {
		{ "memory.max", l->memory, l->memory != 0, false },
		/* Absent where the kernel does not account for swap, or is older than 4.19. */
		{ "memory.swap.max", 0, l->memory != 0, true },
		{ "memory.oom.group", 1, l->memory != 0, true },
		/* One more, for the init. */
		{ "pids.max", l->pids + 1, l->pids != 0, false },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		int r = rows[i].set ? cgroup_write_number(folder, rows[i].file, rows[i].value) : 0;

		if (r < 0 && !(r == -ENOENT && rows[i].optional))
			return error_set(e, r, NULL, "cannot set %s of a new cgroup: %s",
				rows[i].file, strerror(-r));
	}
	return 0;
}

int cgroup_make(int home, char name[CGROUP_NAME_MAX], int *ret_fd)
{
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		uint64_t salt;

		if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt))
			return -errno;
		(void)snprintf(name, CGROUP_NAME_MAX, "corral-%d-%016" PRIx64, getpid(), salt);
		if (mkdirat(home, name, 0755) < 0) {
			if (errno != EEXIST)
				return -errno;
			continue;
		}
		int fd = openat(home, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int r = fd < 0 ? -errno : 0;
		if (fd < 0)
			(void)unlinkat(home, name, AT_REMOVEDIR);
		else
			*ret_fd = fd;
		return r;
	}
	return -EEXIST;
}

int cgroup_remove(int home, const char *name)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (unsigned i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(home, name, AT_REMOVEDIR) == 0)
			return 0;
		if (errno != EBUSY)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int cgroup_new(struct cgroup **ret, const struct cgroup_home *home, const struct cgroup_limits *l,
	struct error *e)
{
	struct cgroup *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_no_memory(e);
	c->home = home->fd;
	c->fd = -1;
	r = cgroup_make(home->fd, c->name, &c->fd);
	if (r < 0) {
		free(c);
		return error_set(e, r, NULL, "cannot create a cgroup: %s", strerror(-r));
	}
	r = cgroup_limit(c->fd, l, e);
	if (r < 0) {
		cgroup_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int cgroup_add(const struct cgroup *c, pid_t pid)
{
	/* 0 would mean the caller himself. */
	return pid > 0 ? cgroup_write_number(c->fd, "cgroup.procs", (uint64_t)pid) : -EINVAL;
}

int cgroup_kill(const struct cgroup *c)
{
	return cgroup_write(c->fd, "cgroup.kill", "1");
}

int cgroup_read(const struct cgroup *c, struct cgroup_usage *ret)
{
	static const char *const files[] = { "memory.peak", "memory.events", "pids.events",
		"cpu.stat" };
	char text[ROWS(files)][CGROUP_TEXT_MAX];

	for (size_t i = 0; i < ROWS(files); i++) {
		int r = cgroup_load(c->fd, files[i], text[i], sizeof(text[i]));

		/* Without its controller a file is not there: then the number stays 0. */
		if (r == -ENOENT)
			text[i][0] = '\0';
		else if (r < 0)
			return r;
	}
	*ret = (struct cgroup_usage){
		.memory_peak = strtoull(text[0], NULL, 10),
		.oom_kills = cgroup_key(text[1], "oom_kill"),
		.pids_refused = cgroup_key(text[2], "max"),
		.user_us = cgroup_key(text[3], "user_usec"),
		.system_us = cgroup_key(text[3], "system_usec"),
	};
	return 0;
}

void cgroup_free(struct cgroup *c)
{
	if (!c)
		return;
	(void)cgroup_kill(c);
	(void)cgroup_remove(c->home, c->name);
	fd_close(&c->fd);
	free(c);
}
