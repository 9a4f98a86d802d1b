/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "policy/match/secret.h"

static void test_spell(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{ "A=x.example:443", "A=x.example:443,header" },
		{ "A=X.Example.:443,form", "A=x.example:443,form" },
		{ "_a.B-9=[2001:DB8:0::1]:80,query", "_a.B-9=[2001:db8::1]:80,query" },
		{ "A=10.0.0.1:1", "A=10.0.0.1:1,header" },
		{ "A=x.example:443,header,/usr/bin/gh", "A=x.example:443,header,/usr/bin/gh" },
		{ "A=X.example:443,form,/opt/g++/a-b_c.1@2",
			"A=x.example:443,form,/opt/g++/a-b_c.1@2" },
		{ "A=x:1,header,", NULL },
		{ "A=x:1,,/usr/bin/gh", NULL },
		{ "A=x:1,/usr/bin/gh", NULL },
		{ "A=x:1,header,gh", NULL },
		{ "A=x:1,header,/", NULL },
		{ "A=x:1,header,/usr/bin/*", NULL },
		{ "A=x:1,header,/usr/bin/a,/usr/bin/b", NULL },
		{ "A=x:1,header,/usr/../bin/gh", NULL },
		{ "A=x:1,header,~/gh", NULL },
		{ "A=x:1,header,/usr/bin/a b", NULL },
		{ "", NULL },
		{ "A", NULL },
		{ "A=", NULL },
		{ "=x:1", NULL },
		{ "9A=x:1", NULL },
		{ "A*=x:1", NULL },
		{ "A=x", NULL },
		{ "A=x:*", NULL },
		{ "A=x:1-2", NULL },
		{ "A=*.x:1", NULL },
		{ "A=*:1", NULL },
		{ "A=10.0.0.0/8:1", NULL },
		{ "A=udp://x:1", NULL },
		{ "A=unix:/x", NULL },
		{ "A=https://x/y", NULL },
		{ "A=glob:x", NULL },
		{ "A=x:1,", NULL },
		{ "A=x:1,cookie", NULL },
		{ "A=x:1,header,query", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct error e = { 0 };
		const char *got = NULL, *again = NULL;
		int r = secret_spell(OPERATION_SECRET, rows[i].text, &a, &got, NULL, &e);

		if ((r == 0) != (rows[i].want != NULL) || (r < 0 && !e.text[0]))
			fail_msg("%s: %d %s", rows[i].text, r, e.text);
		if (r < 0)
			continue;
		assert_string_equal(got, rows[i].want);
		assert_int_equal(secret_spell(OPERATION_SECRET, got, &a, &again, NULL, &e), 0);
		assert_string_equal(again, got);
	}
}

static void test_name(void **state)
{
	char longest[SECRET_NAME_MAX + 2];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	assert_true(secret_name_is_valid(longest, SECRET_NAME_MAX));
	assert_false(secret_name_is_valid(longest, SECRET_NAME_MAX + 1));
	assert_false(secret_name_is_valid("", 0));
	assert_true(secret_name_is_valid("A=", 1));
	assert_false(secret_name_is_valid("A=", 2));
	assert_false(secret_name_is_valid(".A", 2));
}

static void test_split(void **state)
{
	struct secret_entry s;

	(void)state;
	secret_split("A.b=[::1]:80,body", &s);
	assert_int_equal(s.name_len, 3);
	assert_int_equal(s.host_len, 8);
	assert_memory_equal(s.host, "[::1]:80", 8);
	assert_string_equal(secret_place_names[s.place], "body");
	assert_string_equal(s.program, "");
	secret_split("A=x:1,query,/usr/bin/gh", &s);
	assert_string_equal(s.program, "/usr/bin/gh");
	assert_string_equal(secret_place_names[s.place], "query");
	assert_int_equal(s.host_len, 3);
	/* What is no entry stays within its bytes. */
	secret_split("A", &s);
	assert_int_equal(s.host_len, 0);
	secret_split("", &s);
	assert_int_equal(s.name_len, 0);
}

static void test_contains(void **state)
{
	(void)state;
	assert_true(secret_contains("A=x:1,header", "A=x:1,header,/a"));
	assert_false(secret_contains("A=x:1,header,/a", "A=x:1,header"));
	assert_false(secret_contains("A=x:1,header", "A=x:1,header"));
	assert_false(secret_contains("A=x:1,header,/a", "A=x:1,header,/a"));
	assert_false(secret_contains("A=x:1,header", "A=x:1,query,/a"));
	assert_false(secret_contains("A=x:1,header", "A=x:10,header,/a"));
	assert_false(secret_contains("A=x:1,header", "AB=x:1,header,/a"));
}

static void test_covers(void **state)
{
	static const struct {
		const char *entry, *request;
		bool covers;
	} rows[] = {
		{ "A=x.example:443,header", "A=x.example:443", true },
		{ "A=x.example:443,header", "A=X.example.:443,header", true },
		{ "A=x.example:443,header", "A=x.example:443,query", false },
		{ "A=x.example:443,header", "A=x.example:80", false },
		{ "A=x.example:443,header", "A=y.x.example:443", false },
		{ "A=x.example:443,header", "AB=x.example:443", false },
		{ "AB=x.example:443,header", "A=x.example:443", false },
		{ "A=[2001:db8::1]:80,form", "A=[2001:db8:0::1]:80,form", true },
		{ "A=[2001:db8::1]:80,form", "A=[2001:db8::2]:80,form", false },
		{ "A=10.0.0.1:80,header", "A=x.example:80", false },
		{ "A=x.example:443,header", "A=X.example:443,header,/usr/bin/gh", true },
		{ "A=x.example:443,header,/usr/bin/gh", "A=x.example:443,header,/usr/bin/gh",
			true },
		{ "A=x.example:443,header,/usr/bin/gh", "A=x.example:443,header,/usr/bin/g",
			false },
		{ "A=x.example:443,header,/usr/bin/gh", "A=x.example:443,query,/usr/bin/gh",
			false },
		/* Whatever program it is. */
		{ "A=x.example:443,header,/usr/bin/gh", "A=x.example:443", false },
	};
	static const char *const malformed[] = { "", "A", "A=", "A=x", "A=x:1,", "A=x:1,cookie",
		"=x:1", "A*=x:1", "A=udp://x:1", "A=unix:/x", "A=https://x/y", "A=x:1,header,",
		"A=x:1,header,gh", "A=x:1,header,/a*", "A=x:1,header,/a,/b" };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct secret_request r;

		assert_int_equal(secret_request_parse(&r, rows[i].request), 0);
		if (secret_covers(rows[i].entry, &r) != rows[i].covers)
			fail_msg("%s, %s", rows[i].entry, rows[i].request);
	}
	for (size_t i = 0; i < ROWS(malformed); i++) {
		struct secret_request r;

		if (secret_request_parse(&r, malformed[i]) == 0)
			fail_msg("%s", malformed[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spell),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_contains),
		cmocka_unit_test(test_covers),
	};

	return cmocka_run_group_tests_name("secret", tests, NULL, NULL);
}
