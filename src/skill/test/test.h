/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A folder for a test to fill, gone when the test ends. Every failure ends the test. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "test/scratch.h"

struct folder {
	char path[64];
	int fd;
};

static inline struct folder *folder_new(void)
{
	struct folder *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->path, "/tmp/corral-test-skill.XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	return f;
}

static inline void folder_free(struct folder *f)
{
	close(f->fd);
	assert_int_equal(scratch_remove(f->path), 0);
	free(f);
}

static inline void folder_add_bytes(
	struct folder *f, const char *name, const void *data, size_t len, mode_t mode)
{
	auto_fd fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
}

static inline void folder_add(struct folder *f, const char *name, const char *text)
{
	folder_add_bytes(f, name, text, strlen(text), 0644);
}

static inline int folder_set_up(void **state)
{
	*state = folder_new();
	return 0;
}

static inline int folder_tear_down(void **state)
{
	folder_free(*state);
	return 0;
}
