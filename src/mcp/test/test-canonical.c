/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "codec/json.h"
#include "mcp/canonical.h"

static const struct {
	const char *text, *expected;
} rows[] = {
	{ "{}", "{}" },
	{ "{ \"b\" : 1, \"a\" : [ 2, {\"d\":null, \"c\":true} ] }",
		"{\"a\":[2,{\"c\":true,\"d\":null}],\"b\":1}" },
	{ "[\"\\u00e9\", 1.0, 1]", "[\"\xc3\xa9\",1.0,1]" },
	{ "{\"a.b\":1,\"a\":2,\"B\":3}", "{\"B\":3,\"a\":2,\"a.b\":1}" },
	{ "\"x\"", "\"x\"" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_document d = { 0 };
		auto_buffer out = { 0 };

		assert_int_equal(json_read(&d, NULL, rows[i].text, strlen(rows[i].text), NULL), 0);
		mcp_canonical_print(&out, d.root);
		assert_false(out.failed);
		assert_string_equal(buffer_text(&out), rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
