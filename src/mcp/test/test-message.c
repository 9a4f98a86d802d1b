/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "mcp/message.h"

static const struct {
	const char *text;
	enum mcp_kind kind;
	const char *id, *method;
} rows[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_REQUEST, "1", "ping" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"a\",\"params\":{}}", MCP_REQUEST, "\"1\"",
		"a" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", MCP_NOTIFICATION, "null", "n" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", MCP_RESULT, "7", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1}}", MCP_ERROR, "7", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", MCP_ERROR, "null", NULL },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", MCP_OTHER, "1", NULL },
	{ "{\"id\":1,\"method\":\"ping\"}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", MCP_OTHER, "null", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", MCP_OTHER, "null", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", MCP_OTHER, "null", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":{}}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}", MCP_OTHER, "1", NULL },
	{ "{\"jsonrpc\":\"2.0\",\"result\":{}}", MCP_OTHER, "null", NULL },
	{ "[]", MCP_OTHER, "null", NULL },
	{ "5", MCP_OTHER, "null", NULL },
};

static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_mcp_message m = { 0 };
		auto_buffer id = { 0 };
		struct error e = { 0 };

		assert_int_equal(mcp_message_read(&m, rows[i].text, strlen(rows[i].text), &e), 0);
		assert_int_equal(m.kind, rows[i].kind);
		mcp_message_print_id(m.id, &id);
		assert_string_equal(buffer_text(&id), rows[i].id);
		if (rows[i].method)
			assert_string_equal(m.method, rows[i].method);
		else
			assert_null(m.method);
	}
}

/* Longer texts than a policy may have, and no deeper ones. */
static void test_bounds(void **state)
{
	auto_buffer large = { 0 }, deep = { 0 };
	struct error e = { 0 };

	(void)state;
	buffer_adds(&large, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"");
	for (int i = 0; i < 1 << 20; i++)
		buffer_adds(&large, "12345678");
	buffer_adds(&large, "\"}}");
	for (int i = 0; i < 100000; i++)
		buffer_addc(&deep, '[');
	{
		auto_mcp_message m = { 0 }, n = { 0 };

		assert_int_equal(mcp_message_read(&m, large.data, large.len, &e), 0);
		assert_int_equal(m.kind, MCP_RESULT);
		assert_int_equal(mcp_message_read(&n, deep.data, deep.len, &e), -E2BIG);
		assert_null(n.document.root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_bounds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
