/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/path.h"
#include "host/replace.h"

static char folder[] = "/tmp/test-replace.XXXXXX";
static char real[PATH_BYTES];

static const char *at(const char *name)
{
	static char paths[4][PATH_BYTES];
	static size_t n;
	char *path = paths[n++ % ROWS(paths)];

	(void)snprintf(path, PATH_BYTES, "%.4000s/%s", real, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static void has(const char *name, const char *text)
{
	auto_buffer got = { 0 };

	assert_int_equal(file_read(at(name), 1 << 20, &got), 0);
	assert_string_equal(buffer_text(&got), text);
}

/* How many names there are. */
static int count(void)
{
	DIR *d = opendir(real);
	const struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	(void)closedir(d);
	return n;
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/test-replace.XXXXXX");
	return mkdtemp(folder) && realpath(folder, real) ? 0 : -1;
}

static int tear_down(void **state)
{
	auto_buffer command = { 0 };

	(void)state;
	buffer_printf(&command, "rm -rf '%s'", folder);
	return system(buffer_text(&command)) == 0 ? 0 : -1; /* NOLINT(cert-env33-c): our own path */
}

static void test_put(void **state)
{
	struct replace r;
	struct stat st;

	(void)state;
	put("a", "old", 0640);
	assert_int_equal(replace_open(&r, at("a")), 0);
	assert_true(r.exists && replace_is_same(&r));
	assert_int_equal(replace_put(&r, "new", 3, 0777), 0);
	has("a", "new");
	assert_int_equal(stat(at("a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(count(), 1);
	/* Once. */
	assert_int_equal(replace_put(&r, "more", 4, 0600), REPLACE_CHANGED);
	has("a", "new");
	replace_close(&r);
	assert_int_equal(r.folder, -1);
}

static void test_new(void **state)
{
	struct replace r;
	struct stat st;

	(void)state;
	assert_int_equal(replace_open(&r, at("a")), 0);
	assert_false(r.exists);
	assert_int_equal(replace_put(&r, "new", 3, 0644), 0);
	has("a", "new");
	assert_int_equal(stat(at("a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(replace_put(&r, "again", 5, 0644), REPLACE_CHANGED);
	has("a", "new");
	replace_close(&r);
	assert_int_equal(count(), 1);
}

/* What cannot be replaced from the start. */
static void test_open(void **state)
{
	struct replace r;

	(void)state;
	put("a", "x", 0600);
	assert_int_equal(symlink("a", at("link")), 0);
	assert_int_equal(mkdir(at("d"), 0700), 0);
	assert_int_equal(mkfifo(at("pipe"), 0600), 0);
	assert_int_equal(symlink("d", at("way")), 0);
	assert_int_equal(replace_open(&r, at("link")), -ELOOP);
	assert_int_equal(replace_open(&r, at("way/x")), -ELOOP);
	assert_int_equal(replace_open(&r, at("d")), -EINVAL);
	assert_int_equal(replace_open(&r, at("pipe")), -EINVAL);
	assert_int_equal(replace_open(&r, at("none/x")), -ENOENT);
	assert_int_equal(replace_open(&r, at("a/x")), -ENOTDIR);
	assert_int_equal(replace_open(&r, "a"), -EINVAL);
	assert_int_equal(link(at("a"), at("b")), 0);
	assert_int_equal(replace_open(&r, at("a")), -EINVAL);
}

/* It is another thing by now. */
static void change_text(void)
{
	put("a", "theirs", 0600);
}

static void change_file(void)
{
	put("b", "old", 0600);
	assert_int_equal(rename(at("b"), at("a")), 0);
}

static void change_link(void)
{
	put("victim", "victim", 0600);
	assert_int_equal(unlink(at("a")), 0);
	assert_int_equal(symlink("victim", at("a")), 0);
}

static void change_hard(void)
{
	assert_int_equal(link(at("a"), at("b")), 0);
}

static void change_folder(void)
{
	assert_int_equal(unlink(at("a")), 0);
	assert_int_equal(mkdir(at("a"), 0700), 0);
}

static void change_pipe(void)
{
	assert_int_equal(unlink(at("a")), 0);
	assert_int_equal(mkfifo(at("a"), 0600), 0);
}

static void change_gone(void)
{
	assert_int_equal(unlink(at("a")), 0);
}

static void test_changed(void **state)
{
	static void (*const changes[])(void) = { change_text, change_file, change_link, change_hard,
		change_folder, change_pipe, change_gone };

	(void)state;
	for (size_t i = 0; i < ROWS(changes); i++) {
		char name[NAME_MAX + 1];
		struct replace r;
		int before;

		put("a", "old", 0600);
		assert_int_equal(replace_open(&r, at("a")), 0);
		changes[i]();
		before = count();
		assert_false(replace_is_same(&r));
		assert_int_equal(replace_put(&r, "new", 3, 0600), REPLACE_CHANGED);
		assert_int_equal(count(), before);
		if (changes[i] == change_link)
			has("victim", "victim");
		/* Both are kept. */
		assert_int_equal(replace_put_beside(&r, "new", 3, 0600, name), 0);
		assert_string_equal(name, "a.corral-1");
		has("a.corral-1", "new");
		assert_int_equal(replace_put_beside(&r, "newer", 5, 0600, name), 0);
		assert_string_equal(name, "a.corral-2");
		replace_close(&r);
		assert_int_equal(tear_down(NULL), 0);
		assert_int_equal(set_up(NULL), 0);
	}
}

static void test_bounds(void **state)
{
	char *large = calloc(1, REPLACE_BYTES_MAX + 1);
	struct replace r;

	(void)state;
	assert_non_null(large);
	put("a", "old", 0600);
	assert_int_equal(replace_open(&r, at("a")), 0);
	assert_int_equal(replace_put(&r, large, REPLACE_BYTES_MAX + 1, 0600), -EFBIG);
	assert_int_equal(count(), 1);
	assert_int_equal(replace_put(&r, large, REPLACE_BYTES_MAX, 0600), 0);
	replace_close(&r);
	free(large);
}

/*
 * Somebody puts links, files and pipes in its place all the time: what a link leads to is never
 * written.
 */
static atomic_bool is_over;

static void *racer(void *data)
{
	int dir = *(int *)data;

	for (unsigned i = 0; !is_over; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "theirs%u", i % 3);
		if (i % 3 == 0)
			(void)symlinkat("victim", dir, name);
		else if (i % 3 == 1)
			(void)mkfifoat(dir, name, 0600);
		else
			(void)close(openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		(void)renameat(dir, name, dir, "a");
	}
	return NULL;
}

static void test_race(void **state)
{
	int dir = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_t thread;

	(void)state;
	put("victim", "victim", 0600);
	assert_int_equal(pthread_create(&thread, NULL, racer, &dir), 0);
	for (int i = 0; i < 2000; i++) {
		struct replace r;
		int err = replace_open(&r, at("a"));

		if (err < 0) /* one of theirs, right now */
			continue;
		err = replace_put(&r, "ours", 4, 0600);
		assert_true(err == 0 || err == REPLACE_CHANGED);
		replace_close(&r);
	}
	is_over = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(dir);
	has("victim", "victim");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_put, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_race, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
