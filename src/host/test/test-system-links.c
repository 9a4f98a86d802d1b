/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "host/system-links.h"

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static size_t count(const struct permissions *p, const char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < p->fs_read.n; i++)
		n += strcmp(p->fs_read.items[i].all[0], pattern) == 0;
	return n;
}

/* Which grants bring /bin along, where it is a link to /usr/bin. */
static void test_grants(void **state)
{
	static const struct {
		const char *pattern;
		bool brings;
	} cases[] = {
		{ "/usr/**", true },
		{ "/usr/bin/**", true },
		/* Not all that the link leads to. */
		{ "/usr/bin/git", false },
		{ "/usr/bin", false },
		{ "/usr/*", false },
		{ "/usr/*/**", false },
		{ "/usr/lib/**", false },
		{ "/usr/bin/x/**", false },
		{ "/**", false }, /* has it already */
		{ "/usrx/**", false },
		{ "$HOME/**", false },
		{ "/tmp/**", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_permissions *p = permissions_new();
		const struct location where = { .file = "p.yaml", .line = 7 };

		assert_non_null(p);
		assert_int_equal(permissions_add(p, &p->fs_read, cases[i].pattern, &where), 0);
		assert_int_equal(system_links_grant(p), 0);
		assert_int_equal(count(p, "/bin/**"), cases[i].brings && is_link("/bin"));
		for (size_t k = 0; k < p->fs_read.n; k++)
			assert_int_equal(p->fs_read.items[k].where.line, 7);
		/* Once is enough; nothing else is granted. */
		assert_int_equal(system_links_grant(p), 0);
		assert_true(count(p, "/bin/**") <= 1);
		assert_int_equal(p->fs_write.n, 0);
	}
}

/* Each layer by itself: what one of them does not have is not granted by the other. */
static void test_layers(void **state)
{
	auto_permissions *p = permissions_new(), *one = permissions_new(), *two = permissions_new();

	(void)state;
	assert_true(p && one && two);
	assert_int_equal(permissions_add(one, &one->fs_read, "/usr/**", NULL), 0);
	assert_int_equal(permissions_add(two, &two->fs_read, "/tmp/**", NULL), 0);
	assert_int_equal(permissions_add_layer(p, one), 0);
	assert_int_equal(permissions_add_layer(p, two), 0);
	assert_int_equal(system_links_grant(p), 0);
	assert_int_equal(p->n_all_of, 2);
	assert_int_equal(count(p->all_of[0], "/bin/**"), is_link("/bin"));
	assert_int_equal(count(p->all_of[1], "/bin/**"), 0);
	assert_int_equal(p->fs_read.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
