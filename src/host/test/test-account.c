/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "host/account.h"

static const char accounts[] = "root:x:0:0::/root:/bin/sh\n"
			       "short:x\n"
			       "-odd:x:1001:1001::/:\n"
			       "a b:x:1002:1002::/:\n"
			       "empty:x::7::/:\n"
			       "alice:x:1000:1000::/home/alice:/bin/sh\n"
			       "again:x:1000:1000::/home/again:/bin/sh\n"
			       "last:x:1003:1003";

static const struct row {
	unsigned long id;
	const char *name;
} rows[] = {
	{ 0, "root" },
	{ 1000, "alice" },
	{ 1001, "u1001" }, /* not with a name that looks like an option */
	{ 1002, "u1002" },
	{ 1003, "last" },
	{ 7, "u7" },
	{ 4000000000UL, "u4000000000" },
};

static void test_rows(void **state)
{
	char path[] = "/tmp/test-account.XXXXXX", name[ACCOUNT_NAME_BYTES];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, accounts, sizeof(accounts) - 1), sizeof(accounts) - 1);
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(account_name(path, rows[i].id, name), 0);
		assert_string_equal(name, rows[i].name);
	}
	(void)close(fd);
	(void)unlink(path);
}

static void test_homes(void **state)
{
	static const struct {
		unsigned long id;
		const char *home;
	} homes[] = { { 0, "/root" }, { 1000, "/home/alice" }, { 1001, "/" }, { 1003, NULL },
		{ 7, NULL } };
	char path[] = "/tmp/test-account.XXXXXX";
	auto_arena arena = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, accounts, sizeof(accounts) - 1), sizeof(accounts) - 1);
	for (size_t i = 0; i < ROWS(homes); i++) {
		const char *home = NULL;
		int r = account_home(path, homes[i].id, &arena, &home);

		assert_int_equal(r, homes[i].home ? 0 : -ENOENT);
		if (homes[i].home)
			assert_string_equal(home, homes[i].home);
		else
			assert_null(home);
	}
	assert_int_equal(
		account_home("/nonexistent/passwd", 0, &arena, &(const char *){ NULL }), -ENOENT);
	(void)close(fd);
	(void)unlink(path);
}

static void test_own_group(void **state)
{
	static const char groups[] = "root:x:0:\nalice:x:1000:\nshared:x:1001:alice,bob\n"
				     "hers:x:1002:alice\nother:x:1003:bob\nprimary:x:1004:\n";
	static const char users[] = "root:x:0:0::/:\nalice:x:1000:1000::/:\nbob:x:1001:1004::/:\n";
	static const struct {
		unsigned long gid;
		bool is_own;
	} cases[] = { { 1000, true }, { 1001, false }, { 1002, true }, { 1003, false },
		{ 1004, false }, { 7, false } };
	char passwd[] = "/tmp/test-account.XXXXXX", group[] = "/tmp/test-account.XXXXXX";
	int fds[] = { mkstemp(passwd), mkstemp(group) };

	(void)state;
	assert_int_equal(write(fds[0], users, sizeof(users) - 1), sizeof(users) - 1);
	assert_int_equal(write(fds[1], groups, sizeof(groups) - 1), sizeof(groups) - 1);
	for (size_t i = 0; i < ROWS(cases); i++)
		assert_int_equal(
			account_is_own_group(passwd, group, cases[i].gid, 1000), cases[i].is_own);
	assert_false(account_is_own_group(passwd, "/nonexistent", 1000, 1000));
	assert_false(account_is_own_group("/nonexistent", group, 1000, 1000));
	for (size_t i = 0; i < ROWS(fds); i++)
		close(fds[i]);
	unlink(passwd);
	unlink(group);
}

static void test_no_file(void **state)
{
	char name[ACCOUNT_NAME_BYTES];

	(void)state;
	assert_int_equal(account_name("/nonexistent/passwd", 12, name), 0);
	assert_string_equal(name, "u12");
	assert_int_equal(account_name("/nonexistent/passwd", 0, name), 0);
	assert_string_equal(name, "root");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_homes),
		cmocka_unit_test(test_own_group),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
