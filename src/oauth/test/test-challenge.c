/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "oauth/challenge.h"

static void test_read(void **state)
{
	static const struct {
		const char *field;
		int r;
		const char *metadata, *scope;
	} rows[] = {
		{ "", 0, NULL, NULL },
		{ "Bearer", 0, NULL, NULL },
		{ "Bearer resource_metadata=\"https://a.example/x\"", 0, "https://a.example/x",
			NULL },
		{ "bearer realm=\"a, b\", scope=\"a b\" , "
		  "Resource_Metadata=\"https://a.example/x\"",
			0, "https://a.example/x", "a b" },
		{ "Basic realm=\"x\", Bearer scope=\"a \\\"b\\\"\"", 0, NULL, "a \"b\"" },
		{ "Negotiate YII==, Bearer scope=a", 0, NULL, "a" },
		{ "Basic resource_metadata=\"https://evil.example/\", Bearer", 0, NULL, NULL },
		{ "Bearer resource_metadata=\"https://a.example/\", Bearer "
		  "resource_metadata=\"https://b.example/\"",
			-EINVAL, NULL, NULL },
		{ "Bearer scope=a, scope=b", -EINVAL, NULL, NULL },
		{ "Bearer scope=\"a", -EINVAL, NULL, NULL },
		{ "Bearer scope=", -EINVAL, NULL, NULL },
		{ "Bearer scope=\"a\\", -EINVAL, NULL, NULL },
		{ "\"x\"", -EINVAL, NULL, NULL },
		{ "Bearer @", -EINVAL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct oauth_challenge c = { 0 };
		struct error e = { 0 };

		assert_int_equal(oauth_challenge_read(&c, rows[i].field, &a, &e), rows[i].r);
		assert_int_equal(!c.metadata, !rows[i].metadata);
		if (c.metadata)
			assert_string_equal(c.metadata, rows[i].metadata);
		assert_int_equal(!c.scope, !rows[i].scope);
		if (c.scope)
			assert_string_equal(c.scope, rows[i].scope);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_read) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
