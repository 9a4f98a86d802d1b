/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include "base/array.h"

static struct policy *compile(struct permissions *p, bool borrows)
{
	struct policy_options o = test_options;
	struct policy *policy = NULL;
	struct error e = { 0 };

	o.borrows = borrows;
	if (policy_new(&policy, (const struct permissions *const *)&p, 1, &o, &e) < 0)
		fail_msg("%s", e.text);
	return policy;
}

/* The folder of an entry, or "". */
static void check(const struct folders *f, size_t i, const char *want)
{
	uint32_t folder = folders_of(f, i);

	if (folder == FOLDERS_NONE) {
		assert_string_equal("", want);
		return;
	}
	assert_true(folder < f->n);
	assert_int_equal(f->items[folder].in.len, strlen(want));
	assert_memory_equal(f->items[folder].path, want, strlen(want));
}

static void test_folders(void **state)
{
	static const struct {
		const char *pattern, *folder;
	} rows[] = {
		{ "/srv/a/x", "/srv/a" },
		{ "/srv/a/y/**", "/srv/a" },
		{ "/srv/a/**", "/srv" },
		{ "/srv/b/x", "/srv/b" },
		{ "/srv", "" },
		{ "/srv/**", "" },
		{ "/", "" },
		{ "/**", "" },
		{ "/srv/a/*", "" },
		{ "/srv/a/{x,y}", "" },
		{ "$HOME/x", "" },
		{ "/srv/a/\x01", "" },
		{ "/srv/\x01/a", "" },
		{ "/srv/a/x", "/srv/a" },
	};
	const char *const two[] = { "/srv/a/x", "/srv/a/x" };
	auto_permissions *p = permissions_new();
	auto_policy *policy = NULL;
	const struct folders *f;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(permissions_add(p, &p->fs_read, rows[i].pattern, NULL), 0);
		assert_int_equal(permissions_add(p, &p->fs_write, rows[i].pattern, NULL), 0);
		assert_int_equal(permissions_add(p, &p->fs_deny, rows[i].pattern, NULL), 0);
	}
	assert_int_equal(permissions_add_all(p, &p->fs_deny, two, 2, NULL), 0);
	policy = compile(p, true);
	for (size_t i = 0; i < ROWS(rows); i++) {
		check(policy_folders(policy, &p->fs_read), i, rows[i].folder);
		check(policy_folders(policy, &p->fs_write), i, rows[i].folder);
		check(policy_folders(policy, &p->fs_deny), i, rows[i].folder);
	}
	f = policy_folders(policy, &p->fs_deny);
	check(f, ROWS(rows), "");
	assert_int_equal(f->n, 3);
	assert_ptr_equal(f->list, &p->fs_deny);
	assert_null(policy_folders(policy, &p->dangerously_allow));
	assert_null(policy_folders(policy, &p->exec));
	/* Changed: nothing is known of it. */
	assert_int_equal(permissions_add(p, &p->fs_read, "/srv/c/x", NULL), 0);
	assert_null(policy_folders(policy, &p->fs_read));
}

/* Of a copy the policy knows nothing. */
static void test_copied(void **state)
{
	auto_permissions *p = test_read("fs: {read: [/srv/a/x]}");
	auto_policy *policy = compile(p, false);

	(void)state;
	assert_null(policy_folders(policy, &p->fs_read));
}

static void test_many(void **state)
{
	enum { FOLDERS = 300, EACH = 5 };
	auto_permissions *p = permissions_new();
	auto_policy *policy = NULL;
	const struct folders *f;
	char path[64];

	(void)state;
	for (int i = 0; i < FOLDERS * EACH; i++) {
		(void)snprintf(path, sizeof(path), "/srv/d%d/f%d", i % FOLDERS, i);
		assert_int_equal(permissions_add(p, &p->fs_read, path, NULL), 0);
	}
	policy = compile(p, true);
	f = policy_folders(policy, &p->fs_read);
	assert_non_null(f);
	assert_int_equal(f->n, FOLDERS);
	for (int i = 0; i < FOLDERS * EACH; i++) {
		(void)snprintf(path, sizeof(path), "/srv/d%d", i % FOLDERS);
		check(f, (size_t)i, path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_copied),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("folders", tests, NULL, NULL);
}
