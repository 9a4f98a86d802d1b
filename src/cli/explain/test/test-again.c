/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs are watched because the command failed before: the table, and records as they may be.
 */
#include "test/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/explain/again.h"
#include "test/scratch.h"

static void test_next(void **state)
{
	static const struct {
		enum again was;
		bool is_watched, has_failed, is_denied;
		enum again next;
	} rows[] = {
		{ AGAIN_NONE, false, false, false, AGAIN_NONE },
		{ AGAIN_NONE, false, false, true, AGAIN_NONE },
		{ AGAIN_NONE, false, true, false, AGAIN_WATCH },
		{ AGAIN_NONE, false, true, true, AGAIN_WATCH },
		{ AGAIN_WATCH, true, true, true, AGAIN_WATCH },
		{ AGAIN_WATCH, true, true, false, AGAIN_IN_VAIN },
		{ AGAIN_WATCH, true, false, true, AGAIN_NONE },
		{ AGAIN_IN_VAIN, false, true, false, AGAIN_IN_VAIN },
		{ AGAIN_IN_VAIN, false, true, true, AGAIN_WATCH },
		{ AGAIN_IN_VAIN, false, false, false, AGAIN_NONE },
		/* --explain */
		{ AGAIN_NONE, true, true, false, AGAIN_IN_VAIN },
		{ AGAIN_NONE, true, true, true, AGAIN_WATCH },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(again_next(rows[i].was, rows[i].is_watched, rows[i].has_failed,
					 rows[i].is_denied),
			rows[i].next);
}

static void test_name(void **state)
{
	static const char *const ab[] = { "a", "b" }, *const joined[] = { "ab" };
	char one[AGAIN_NAME], other[AGAIN_NAME];

	(void)state;
	again_name("/p", ab, 2, one);
	again_name("/p", ab, 2, other);
	assert_string_equal(one, other);
	assert_int_equal(strlen(one), AGAIN_NAME - 1);
	again_name("/q", ab, 2, other);
	assert_string_not_equal(one, other);
	again_name("/p", ab, 1, other);
	assert_string_not_equal(one, other);
	again_name("/p", joined, 1, other);
	assert_string_not_equal(one, other);
}

static void test_answers(void **state)
{
	(void)state;
	assert_true(again_is_answer("/usr/bin/grep", 1));
	assert_false(again_is_answer("grep", 2));
	assert_false(again_is_answer("npm", 1));
	assert_true(again_is_answer("[", 1));
}

/* Whatever lies there: only a record of ours counts. */
static void test_parse(void **state)
{
	static const struct {
		const char *text;
		enum again says;
	} rows[] = {
		{ "corral failed 1 watch\n", AGAIN_WATCH },
		{ "corral failed 1 in-vain\n", AGAIN_IN_VAIN },
		{ "", AGAIN_NONE },
		{ "corral failed 1 watch", AGAIN_NONE },
		{ "corral failed 1 watch\n\n", AGAIN_NONE },
		{ "corral failed 2 watch\n", AGAIN_NONE },
		{ "watch\n", AGAIN_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(again_parse(rows[i].text, strlen(rows[i].text)), rows[i].says);
	assert_int_equal(again_parse("corral failed 1 watch\0", 23), AGAIN_NONE);
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static size_t count_names(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *d;
	size_t n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)))
		n += d->d_name[0] != '.';
	(void)closedir(dir);
	return n;
}

static void test_records(void **state)
{
	char folder[] = "/tmp/corral-again-XXXXXX", path[256], other[256];
	const struct timespec old[2] = { { .tv_sec = time(NULL) - 2 * 24 * 60 * 60 },
		{ .tv_sec = time(NULL) - 2 * 24 * 60 * 60 } };
	const char *name = "0123456789abcdef";

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
	assert_int_equal(again_read(name), AGAIN_NONE);
	again_keep(name, AGAIN_NONE);
	(void)snprintf(path, sizeof(path), "%s/corral", folder);
	assert_int_not_equal(access(path, F_OK), 0);
	again_keep(name, AGAIN_WATCH);
	assert_int_equal(again_read(name), AGAIN_WATCH);
	again_keep(name, AGAIN_IN_VAIN);
	assert_int_equal(again_read(name), AGAIN_IN_VAIN);
	again_keep(name, AGAIN_NONE);
	assert_int_equal(again_read(name), AGAIN_NONE);
	/* Too old, writable by others, a link, a pipe, with a second name, too long: none. */
	(void)snprintf(path, sizeof(path), "%s/corral/failed/%s", folder, name);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	again_keep(name, AGAIN_WATCH);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(again_read(name), AGAIN_NONE);
	again_keep(name, AGAIN_WATCH);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(again_read(name), AGAIN_NONE);
	again_keep(name, AGAIN_WATCH);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(again_read(name), AGAIN_NONE);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link(other, path), 0);
	assert_int_equal(again_read(name), AGAIN_NONE);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(again_read(name), AGAIN_NONE);
	assert_int_equal(unlink(path), 0);
	put_file(path,
		"corral failed 1 watch\n                                                    ");
	assert_int_equal(again_read(name), AGAIN_NONE);
	/* There is a bound. */
	for (int i = 0; i < 300; i++) {
		char number[AGAIN_NAME];

		(void)snprintf(number, sizeof(number), "%016x", (unsigned)i);
		again_keep(number, AGAIN_WATCH);
	}
	(void)snprintf(path, sizeof(path), "%s/corral/failed", folder);
	assert_int_equal(count_names(path), 256);
	assert_int_equal(scratch_remove(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests_name("again", tests, NULL, NULL);
}
