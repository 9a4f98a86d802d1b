/* SPDX-License-Identifier: Apache-2.0 */
/* Every answer is compared with the one that going through the whole list gives. */
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "warden/session/late-paths.h"

static const char *const forbidden[] = { "/srv/b/c", "/srv/a", "/srv/a", "/srv/a-b", "/srv/a.b/c",
	"/srv/a/b", "/etc/x/y/z", "/etc/x!", "/etc/x", "/\xff", "/a b", "/srv/\x01/q", "/srvx/1",
	"/home/u/.ssh" };
static const char *const asked[] = { "/", "/srv", "/srv/a", "/srv/a/b", "/srv/a/b/c", "/srv/a-",
	"/srv/a-b", "/srv/a-b/c", "/srv/a.b", "/srv/a.b/c", "/srv/a.b/c/d", "/srv/b", "/srv/b/c",
	"/srv/b/d", "/srv/c", "/srvx", "/srvx/1", "/sr", "/etc", "/etc/x", "/etc/x!", "/etc/x/y",
	"/etc/x/y/z", "/etc/w", "/etc/y", "/\xff", "/\xfe", "/\xff/a", "/a", "/a b", "/a b/c",
	"/srv/\x01", "/srv/\x01/q", "/home", "/home/u", "/home/u/.ssh", "/home/u/.ss", "/z" };

static bool linear_have(const char *const *items, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (path_is_below(path, items[i]))
			return true;
	return false;
}

static bool linear_reach(const char *const *items, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (path_is_below(items[i], path) && strcmp(items[i], path) != 0)
			return true;
	return false;
}

struct children {
	char names[64][32];
	size_t n;
};

static int take_child(void *data, const char *name, size_t len)
{
	struct children *c = data;

	assert_true(c->n < ROWS(c->names) && len < sizeof(c->names[0]) && len > 0);
	(void)snprintf(c->names[c->n++], sizeof(c->names[0]), "%.*s", (int)len, name);
	return 0;
}

static bool has_child(const struct children *c, const char *name, size_t len)
{
	for (size_t i = 0; i < c->n; i++)
		if (strlen(c->names[i]) == len && memcmp(c->names[i], name, len) == 0)
			return true;
	return false;
}

static void compare(const struct late_paths *p, const char *const *items, size_t n, const char *at)
{
	struct children found = { .n = 0 }, wanted = { .n = 0 };

	if (late_paths_have(p, at) != linear_have(items, n, at))
		fail_msg("have: %s", at);
	if (late_paths_reach(p, at) != linear_reach(items, n, at))
		fail_msg("reach: %s", at);
	assert_int_equal(late_paths_children(p, at, take_child, &found), 0);
	for (size_t i = 0; i < n; i++) {
		const char *name;
		size_t len;

		if (!path_is_below(items[i], at) || strcmp(items[i], at) == 0)
			continue;
		name = items[i] + (at[1] ? strlen(at) : 0) + 1;
		len = strcspn(name, "/");
		if (!has_child(&found, name, len))
			fail_msg("in %s: %.*s is missing", at, (int)len, name);
		if (!has_child(&wanted, name, len))
			(void)take_child(&wanted, name, len);
	}
	/* Each once, and no others. */
	assert_int_equal(found.n, wanted.n);
}

static void test_same(void **state)
{
	struct late_paths p = { 0 };

	(void)state;
	assert_int_equal(late_paths_new(&p, forbidden, ROWS(forbidden)), 0);
	for (size_t i = 0; i < ROWS(asked); i++)
		compare(&p, forbidden, ROWS(forbidden), asked[i]);
	late_paths_deinit(&p);
}

/* Every list of up to three of these, and every question. */
static void test_small_lists(void **state)
{
	static const char *const few[] = { "/", "/a", "/a/b", "/a-", "/a/b/c", "/b", "/a.",
		"/a/-" };

	(void)state;
	for (size_t i = 0; i < 512; i++) {
		const char *items[] = { few[i % 8], few[i / 8 % 8], few[i / 64] };

		for (size_t n = 0; n <= 3; n++) {
			struct late_paths p = { 0 };

			assert_int_equal(late_paths_new(&p, items, n), 0);
			for (size_t k = 0; k < ROWS(few); k++)
				compare(&p, items, n, few[k]);
			late_paths_deinit(&p);
		}
	}
}

static int refuse(void *data, const char *name, size_t len)
{
	(void)name;
	(void)len;
	++*(int *)data;
	return -7;
}

static void test_stops(void **state)
{
	struct late_paths p = { 0 };
	int n = 0;

	(void)state;
	assert_int_equal(late_paths_new(&p, forbidden, ROWS(forbidden)), 0);
	assert_int_equal(late_paths_children(&p, "/srv", refuse, &n), -7);
	assert_int_equal(n, 1);
	late_paths_deinit(&p);
	assert_int_equal(late_paths_children(&p, "/srv", refuse, &n), 0);
	assert_false(late_paths_have(&p, "/srv"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_small_lists),
		cmocka_unit_test(test_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
