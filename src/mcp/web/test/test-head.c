/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "mcp/web/head.h"

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define BODY(method, more)                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\"," \
	"\"params\":{" more META "}}"

static const struct {
	const char *accept, *type;
	bool is;
} accepted[] = {
	{ NULL, "application/json", true },
	{ "", "application/json", false },
	{ "*/*", "text/event-stream", true },
	{ "text/event-stream", "application/json", false },
	{ "application/json, text/event-stream", "text/event-stream", true },
	{ "application/json;q=0.9,text/event-stream", "text/event-stream", true },
	{ "APPLICATION/JSON", "application/json", true },
	{ "application/*", "application/json", true },
	{ "application/jsonp", "application/json", false },
	{ "application/json-seq , text/*", "text/event-stream", true },
	{ ",,  ,", "application/json", false },
};

static const struct {
	const char *body, *version, *method, *name;
	bool is_modern, is_good;
} rows[] = {
	{ BODY("tools/list", ""), "2026-07-28", "tools/list", NULL, true, true },
	{ BODY("tools/list", ""), NULL, "tools/list", NULL, true, false },
	{ BODY("tools/list", ""), "2025-11-25", "tools/list", NULL, true, false },
	{ BODY("tools/list", ""), "2026-07-28", NULL, NULL, true, false },
	{ BODY("tools/list", ""), "2026-07-28", "tools/call", NULL, true, false },
	{ BODY("tools/list", ""), "2026-07-28", "TOOLS/LIST", NULL, true, false },
	{ BODY("tools/call", "\"name\":\"a\","), "2026-07-28", "tools/call", "a", true, true },
	{ BODY("tools/call", "\"name\":\"a\","), "2026-07-28", "tools/call", "b", true, false },
	{ BODY("tools/call", "\"name\":\"a\","), "2026-07-28", "tools/call", NULL, true, false },
	{ BODY("tools/call", "\"name\":5,"), "2026-07-28", "tools/call", NULL, true, true },
	{ BODY("tools/call", "\"name\":\"é\","), "2026-07-28", "tools/call",
		"=?base64?w6k=?=", true, true },
	{ BODY("tools/call", "\"name\":\"e\","), "2026-07-28", "tools/call",
		"=?base64?w6k=?=", true, false },
	{ BODY("tools/call", "\"name\":\"e\","), "2026-07-28", "tools/call", "=?base64?***?=", true,
		false },
	{ BODY("tools/call", "\"name\":\"a\","), "2026-07-28", "tools/call",
		"=?base64?YQBi?=", true, false },
	{ BODY("resources/read", "\"uri\":\"a:b\","), "2026-07-28", "resources/read", "a:b", true,
		true },
	{ BODY("resources/read", "\"uri\":\"a:b\","), "2026-07-28", "resources/read", "a:c", true,
		false },
	/* Without _meta: the version to come, or one that never was. */
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", "2026-07-28", NULL, NULL, true, true },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", "9", NULL, NULL, true, true },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", "2025-06-18", NULL, NULL, false,
		false },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", NULL, NULL, NULL, false, false },
};

static void test_accept(void **state)
{
	struct serve_header head[WEB_FIELDS];

	(void)state;
	web_head_fields(head);
	for (size_t i = 0; i < ROWS(accepted); i++) {
		head[WEB_ACCEPT].value = accepted[i].accept;
		if (web_head_accepts(head, accepted[i].type) != accepted[i].is)
			fail_msg("%s: %s", accepted[i].accept, accepted[i].type);
	}
}

static void test_check(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct serve_header head[WEB_FIELDS];
		auto_mcp_message m = { 0 };
		const char *why = NULL;

		web_head_fields(head);
		head[WEB_VERSION].value = rows[i].version;
		head[WEB_METHOD].value = rows[i].method;
		head[WEB_NAME].value = rows[i].name;
		assert_int_equal(mcp_message_read(&m, rows[i].body, strlen(rows[i].body), NULL), 0);
		if (web_head_is_modern(head, &m) != rows[i].is_modern)
			fail_msg("%zu: another era", i);
		if (!rows[i].is_modern)
			continue;
		if ((web_head_check(head, &m, &why) == 0) != rows[i].is_good)
			fail_msg("%zu: %s", i, why ? why : "good");
		assert_true(rows[i].is_good == !why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_accept),
		cmocka_unit_test(test_check) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
