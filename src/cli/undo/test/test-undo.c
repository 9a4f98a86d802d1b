/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/undo/internal.h"
#include "test/scratch.h"

static char template[] = "/tmp/test-undo.XXXXXX", folder[PATH_MAX], work[PATH_MAX];

static void put(const char *name, const char *text)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", work, name);
	assert_int_equal(file_replace(path, text, strlen(text), 0644), 0);
}

static void make(const char *name)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", work, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
	(void)state;
	(void)strcpy(template, "/tmp/test-undo.XXXXXX");
	if (scratch_make(template, folder) < 0 || setenv("XDG_STATE_HOME", folder, 1) < 0 ||
		setenv("HOME", "/nonexistent", 1) < 0)
		return -1;
	(void)snprintf(work, sizeof(work), "%.4000s/work", folder);
	return mkdir(work, 0755);
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static struct undo_options options(void)
{
	return (struct undo_options){ .folder = work, .command = "test", .limit = UNDO_LIMIT };
}

/* Why an entry is not kept; "" if it is, NULL if there is none. */
static const char *why(const struct undo *u, const char *path)
{
	const struct undo_entry *e = undo_list_find(&u->before, path);

	return e ? e->why ? e->why : "" : NULL;
}

static void test_names_are_bounded(void **state)
{
	struct undo_options o = options();
	struct undo u = UNDO_EMPTY;
	struct error e = { 0 };
	char name[64];

	(void)state;
	put("own", "x");
	make("node_modules");
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "node_modules/%d", i);
		put(name, "y");
	}
	u.names_max = 10;
	assert_int_equal(undo_keep(&u, &o, &e), 0);
	assert_string_equal(why(&u, "own"), "");
	assert_string_equal(why(&u, "node_modules"), "too many names");
	assert_null(why(&u, "node_modules/1"));
	/* What the run adds is bounded as well, and kept files are found all the same. */
	make("many");
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "many/%d", i);
		put(name, "z");
	}
	put("own", "changed");
	assert_int_equal(undo_finish(&u, &e), 0);
	assert_true(u.changes.is_cut);
	assert_true(u.changes.n <= 16);
	assert_true(undo_changes_find(&u.changes, "own") != SIZE_MAX);
	undo_store_drop(&u);
	undo_deinit(&u);
	/* Now the project itself has too many. */
	u.names_max = 10;
	assert_int_equal(undo_keep(&u, &o, &e), -E2BIG);
	assert_non_null(strstr(e.text, "more than 10 names"));
	undo_deinit(&u);
}

static void test_manifest_reads_what_it_prints(void **state)
{
	struct undo_options o = options();
	struct undo u = UNDO_EMPTY, again = UNDO_EMPTY;
	auto_buffer run = { 0 }, before = { 0 }, changes = { 0 }, second = { 0 };
	struct error e = { 0 };
	char path[PATH_MAX];

	(void)state;
	put("a", "1");
	put("b\n\x1b", "2");
	(void)snprintf(path, sizeof(path), "%.4000s/l", work);
	assert_int_equal(symlink("t", path), 0);
	assert_int_equal(undo_keep(&u, &o, &e), 0);
	undo_print_before(&u, &before);
	put("a", "3");
	u.changes.ended = 77;
	assert_int_equal(undo_finish(&u, &e), 0);
	undo_print_run(&u, &run);
	undo_print_changes(&u, &changes);
	assert_int_equal(undo_read_run(&again, run.data, run.len, &e), 0);
	assert_string_equal(again.folder, work);
	assert_int_equal(undo_read_before(&again, before.data, before.len), 0);
	assert_int_equal(again.before.n, 4);
	assert_int_equal(undo_read_changes(&again, changes.data, changes.len), 0);
	undo_print_changes(&again, &second);
	assert_int_equal(second.len, changes.len);
	assert_memory_equal(second.data, changes.data, changes.len);
	/* Cut anywhere, it is refused or shorter; never read beyond its end. */
	for (size_t i = 0; i < changes.len; i++) {
		struct undo part = UNDO_EMPTY;
		char *copy = malloc(i + 1);

		memcpy(copy, changes.data, i);
		(void)undo_read_changes(&part, copy, i);
		free(copy);
		undo_deinit(&part);
	}
	undo_store_drop(&u);
	undo_deinit(&u);
	undo_deinit(&again);
}

static void test_manifest_refuses(void **state)
{
#define STATE "1 644 0 0 1 5 1 0 0 0 0 -\0\0"
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{ "", 0 },
		{ "1 0 0 0 0 0 0", 13 },
#define ROW(path, one)                             \
	{ "1 0 0 0 0 0 0\0" path "\0"              \
	  "0\0" one STATE,                         \
		sizeof("1 0 0 0 0 0 0\0" path "\0" \
		       "0\0" one STATE) -          \
			1 }
		ROW("../x", STATE),
		ROW("/x", STATE),
		ROW("a/../b", STATE),
		ROW("", STATE),
		ROW("a//b", STATE),
		ROW("a", "9 644 0 0 1 5 1 0 0 0 0 -\0\0"),
		ROW("a", "1 77777 0 0 1 5 1 0 0 0 0 -\0\0"),
		ROW("a", "1 644 0 0 1 5 -1 0 0 0 0 -\0\0"),
		ROW("a", "1 644 0 0 1 5 99999999999999999999 0 0 0 0 -\0\0"),
		ROW("a", "1 644 0 0 1 5 1 0 0 0 0 abcd\0\0"),
		ROW("a", "2 777 0 0 1 5 1 0 0 0 0 -\0\0"),
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct undo u = UNDO_EMPTY;

		assert_int_equal(undo_read_changes(&u, rows[i].text, rows[i].len), -EINVAL);
		undo_deinit(&u);
	}
}

static void test_attributes(void **state)
{
	static const struct {
		const char *text;
		bool is_valid;
	} rows[] = {
		{ "", true },
		{ "757365722e61=00ff ", true },
		{ "757365722e61= 757365722e62=41 ", true },
		{ "757365722e61=00ff", false },        /* cut */
		{ "757365722e61 ", false },            /* no value */
		{ "757365722e6=00 ", false },          /* half a byte */
		{ "757365722e6100=00 ", false },       /* a NUL in the name */
		{ "73656375726974792e61=00 ", false }, /* security.a */
		{ "747275737465642e61=00 ", false },   /* trusted.a */
		{ "=00 ", false },
		{ " ", false },
		{ "-", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(undo_attributes_are_valid(rows[i].text), rows[i].is_valid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test_setup_teardown(test_names_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_manifest_reads_what_it_prints, set_up, tear_down),
		cmocka_unit_test(test_manifest_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
