/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "host/linked.h"
#include "test/scratch.h"

static const char *const skipped[] = { "cache", "objects", NULL };
static char template[] = "/tmp/test-linked.XXXXXX", folder[PATH_BYTES];

static void make_folder(const char *name)
{
	char path[PATH_BYTES + 32];

	(void)snprintf(path, sizeof(path), "%s/%.20s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_link(const char *name)
{
	char path[PATH_BYTES + 32];

	(void)snprintf(path, sizeof(path), "%s/%.20s", folder, name);
	assert_int_equal(symlink("/nowhere", path), 0);
}

static int set_up(void **state)
{
	static const char *const folders[] = { "a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "cache",
		"z", "objects" };
	static const char *const links[] = { "top", "a/one", "a/b/two", "a/b/c/d/four",
		"a/b/c/d/e/five", "cache/no", "z/z", "objects/no" };

	(void)state;
	assert_int_equal(scratch_make(template, folder), 0);
	for (size_t i = 0; i < ROWS(folders); i++)
		make_folder(folders[i]);
	for (size_t i = 0; i < ROWS(links); i++)
		make_link(links[i]);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

struct seen {
	char names[256];
	unsigned n;
	unsigned stop; /* after so many; 0: never */
};

static int see(void *data, const char *path)
{
	struct seen *s = data;
	size_t used = strlen(s->names);

	assert_true(used + strlen(path) + 2 < sizeof(s->names));
	(void)snprintf(s->names + used, sizeof(s->names) - used, "%s ", path);
	return ++s->n == s->stop ? -ECANCELED : 0;
}

static bool has(const struct seen *s, const char *name)
{
	char word[64];

	(void)snprintf(word, sizeof(word), " %s ", name);
	return strncmp(s->names, word + 1, strlen(word) - 1) == 0 || strstr(s->names, word);
}

static void test_levels(void **state)
{
	struct linked l = linked_start(skipped);
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(linked_each(&l, folder, LINKED_DEPTH_MAX, see, &s), 0);
	assert_true(has(&s, "top") && has(&s, "a/one") && has(&s, "a/b/two") && has(&s, "z/z"));
	assert_true(has(&s, "a/b/c/d/four"));
	assert_true(l.is_deep && !l.is_cut); /* one level deeper there is more */
	assert_false(has(&s, "a/b/c/d/e/five") || has(&s, "cache/no") || has(&s, "objects/no"));
	/* The top comes first. */
	assert_int_equal(strncmp(s.names, "top ", 4), 0);
}

static void test_skipped(void **state)
{
	static const char *const ends[] = { "cache", "a/b", NULL };
	struct linked l = linked_start(ends);
	struct seen s = { 0 };

	(void)state;
	assert_true(linked_is_skipped(ends, "a/b") && linked_is_skipped(ends, "x/a/b"));
	assert_true(linked_is_skipped(ends, "x/cache"));
	assert_false(linked_is_skipped(ends, "b") || linked_is_skipped(ends, "xa/b"));
	assert_int_equal(linked_each(&l, folder, LINKED_DEPTH_MAX, see, &s), 0);
	assert_true(has(&s, "a/one") && has(&s, "objects/no"));
	assert_false(has(&s, "a/b/two") || has(&s, "cache/no"));
}

static void test_top_only(void **state)
{
	struct linked l = linked_start(skipped);
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(linked_each(&l, folder, 0, see, &s), 0);
	assert_string_equal(s.names, "top ");
	assert_true(l.is_deep && !l.is_cut);
}

static void test_bounds(void **state)
{
	struct linked folders = { .folders = 2, .names = 100, .skipped = skipped };
	struct linked names = { .folders = 9, .names = 3, .skipped = skipped };
	struct linked none = { .skipped = skipped };
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(linked_each(&folders, folder, 9, see, &s), 0);
	assert_true(folders.is_cut && folders.folders == 0);
	assert_false(has(&s, "a/b/two"));
	assert_int_equal(linked_each(&names, folder, 9, see, &s), 0);
	assert_true(names.is_cut && names.names == 0);
	assert_int_equal(linked_each(&none, folder, 9, see, &s), 0);
	assert_true(none.is_cut);
}

static void test_ends(void **state)
{
	struct linked l = linked_start(skipped);
	struct seen s = { .stop = 2 };
	char missing[PATH_BYTES + 8], file[PATH_BYTES + 8];

	(void)state;
	assert_int_equal(linked_each(&l, folder, 9, see, &s), -ECANCELED);
	(void)snprintf(missing, sizeof(missing), "%s/none", folder);
	(void)snprintf(file, sizeof(file), "%s/top", folder);
	assert_int_equal(linked_each(&l, missing, 9, see, &s), 0);
	assert_int_equal(linked_each(&l, file, 9, see, &s), 0); /* a link is not followed */
	assert_int_equal(s.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_top_only),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests_name("linked", tests, set_up, tear_down);
}
