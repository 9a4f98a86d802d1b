/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "mcp/remote/mirror.h"

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define REQUEST(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params META "}}"
#define COMMON "MCP-Protocol-Version: 2026-07-28\n"
#define CALL(arguments) REQUEST("tools/call", "\"name\":\"t\",\"arguments\":" arguments ",")
#define CALLED COMMON "Mcp-Method: tools/call\nMcp-Name: t\n"
#define TOOL(name, schema) "{\"name\":\"" name "\",\"inputSchema\":" schema "}"

static const char tools[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[" TOOL("t",
	"{\"type\":\"object\",\"properties\":{"
	"\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},"
	"\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
	"\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"},"
	"\"o\":{\"type\":\"object\",\"properties\":{\"in\":{\"type\":\"string\","
	"\"x-mcp-header\":\"In\"}}},"
	"\"x-mcp-header\":{\"type\":\"string\",\"default\":{\"x-mcp-header\":1}}}}") "]}}";

static const struct {
	const char *message, *headers;
} rows[] = {
	{ REQUEST("tools/list", ""), COMMON "Mcp-Method: tools/list\n" },
	{ REQUEST("resources/read", "\"uri\":\"file:///a b\","),
		COMMON "Mcp-Method: resources/read\nMcp-Name: file:///a b\n" },
	{ REQUEST("prompts/get", "\"name\":\"p\","),
		COMMON "Mcp-Method: prompts/get\nMcp-Name: p\n" },
	{ REQUEST("prompts/get", "\"name\":1,"), COMMON "Mcp-Method: prompts/get\n" },
	/* A name and a method that would be lines of their own. */
	{ REQUEST("tools/call", "\"name\":\"a\\r\\nX: y\","),
		COMMON "Mcp-Method: tools/call\nMcp-Name: =?base64?YQ0KWDogeQ==?=\n" },
	{ REQUEST("a\\nb", ""), COMMON "Mcp-Method: =?base64?YQpi?=\n" },
	{ CALL("{}"), CALLED },
	{ CALL("{\"a\":\"us-west1\",\"n\":42,\"b\":true}"),
		CALLED "Mcp-Param-A: us-west1\nMcp-Param-N: 42\nMcp-Param-B: true\n" },
	{ CALL("{\"a\":null,\"n\":{},\"b\":[]}"), CALLED },
	{ CALL("{\"a\":\"\"}"), CALLED "Mcp-Param-A: \n" },
	{ CALL("{\"a\":\" x\"}"), CALLED "Mcp-Param-A: =?base64?IHg=?=\n" },
	{ CALL("{\"a\":\"x \"}"), CALLED "Mcp-Param-A: =?base64?eCA=?=\n" },
	{ CALL("{\"a\":\"x y\"}"), CALLED "Mcp-Param-A: x y\n" },
	{ CALL("{\"a\":\"\\tx\"}"), CALLED "Mcp-Param-A: =?base64?CXg=?=\n" },
	{ CALL("{\"a\":\"\xc3\xa9\"}"), CALLED "Mcp-Param-A: =?base64?w6k=?=\n" },
	{ CALL("{\"a\":\"=?base64?literal?=\"}"),
		CALLED "Mcp-Param-A: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=\n" },
	{ CALL("{\"o\":{\"in\":\"deep\"},\"in\":\"flat\"}"), CALLED "Mcp-Param-In: deep\n" },
	{ CALL("{\"o\":\"none\"}"), CALLED },
};

static int test_learn(struct mirror *mirror, const char *text, struct buffer *said)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };
	int r;

	assert_int_equal(mcp_message_read(&m, text, strlen(text), &e), 0);
	r = mirror_learn(mirror, m.body, true, said);
	if (r > 0)
		assert_int_equal(node_get(m.body, "tools")->count, 1);
	return r;
}

static void test_requests(void **state)
{
	struct mirror mirror = { 0 };
	auto_buffer said = { 0 };

	(void)state;
	assert_int_equal(test_learn(&mirror, tools, &said), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_mcp_message m = { 0 };
		auto_buffer out = { 0 };
		struct error e = { 0 };

		assert_int_equal(
			mcp_message_read(&m, rows[i].message, strlen(rows[i].message), &e), 0);
		assert_string_equal(mirror_version(&m), "2026-07-28");
		mirror_print(&mirror, &m, &out);
		assert_string_equal(buffer_text(&out), rows[i].headers);
	}
	mirror_deinit(&mirror);
}

/* Schemas of a tool that clients do not get. */
static void test_dropped(void **state)
{
#define ARGUMENT(schema) "{\"type\":\"object\",\"properties\":{\"a\":" schema "}}"
#define MARKED(type, name) "{\"type\":" type ",\"x-mcp-header\":" name "}"
	static const char *const schemas[] = {
		ARGUMENT(MARKED("\"string\"", "\"\"")),
		ARGUMENT(MARKED("\"string\"", "\"A B\"")),
		ARGUMENT(MARKED("\"string\"", "\"A:\"")),
		ARGUMENT(MARKED("\"string\"", "\"A\\n\"")),
		ARGUMENT(MARKED("\"string\"", "\"\xc3\xa9\"")),
		ARGUMENT(MARKED("\"string\"", "1")),
		ARGUMENT(MARKED("\"number\"", "\"A\"")),
		ARGUMENT(MARKED("\"object\"", "\"A\"")),
		ARGUMENT(MARKED("[\"string\",\"null\"]", "\"A\"")),
		ARGUMENT("{\"x-mcp-header\":\"A\"}"),
		MARKED("\"object\"", "\"A\""),
		ARGUMENT("{\"type\":\"array\",\"items\":" MARKED("\"string\"", "\"A\"") "}"),
		ARGUMENT("{\"oneOf\":[" MARKED("\"string\"", "\"A\"") "]}"),
		ARGUMENT("{\"type\":\"array\",\"items\":" ARGUMENT(
			MARKED("\"string\"", "\"A\"")) "}"),
		"{\"$defs\":{\"a\":" MARKED("\"string\"", "\"A\"") "}}",
		"{\"properties\":{\"a\":" MARKED("\"string\"", "\"A\"") ",\"b\":" MARKED(
			"\"string\"", "\"a\"") "}}",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(schemas); i++) {
		struct mirror mirror = { 0 };
		auto_buffer text = { 0 }, said = { 0 };

		buffer_printf(&text,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"bad\","
			"\"inputSchema\":%s}," TOOL("good", "{\"type\":\"object\"}") "]}}",
			schemas[i]);
		assert_int_equal(test_learn(&mirror, buffer_text(&text), &said), 1);
		assert_non_null(strstr(buffer_text(&said), "the tool bad is left out: "));
		mirror_deinit(&mirror);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
