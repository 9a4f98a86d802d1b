/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "mcp/gateway/upstream.h"

#define RESULT(id, body) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" body "}}"
#define REFUSED(id, code) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"no\"}}"
#define NOTE(method, params) \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":{" params "}}"
#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define GREETING(version) RESULT("1", "\"protocolVersion\":\"" version "\"")

/* Lines of a server; "call": a call goes out; "cancel": it is cancelled. Beside each, a part of
 * what is sent, or of what the host is told; "": nothing is. */
static const struct {
	const char *name;
	const char *lines[9][2];
	enum upstream_state state;
} rows[] = {
	{ "a handshake",
		{ { GREETING("2025-06-18"), "\"method\":\"tools/list\",\"params\":{}}" },
			{ RESULT("2", "\"tools\":[" TOOL("a") "]"), "listed 1;" },
			{ "call", "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"a\","
				  "\"arguments\":{},\"_meta\":{\"progressToken\":3,\"traceparent\":"
				  "\"t\"}}}" },
			{ NOTE("progress", "\"progressToken\":3,\"progress\":1"), "progress;" },
			{ NOTE("progress", "\"progressToken\":4,\"progress\":1"), "" },
			{ RESULT("3", "\"content\":[]"), "answer 3;" },
			{ RESULT("3", "\"content\":[]"), "" } },
		UPSTREAM_READY },
	{ "a server without a handshake",
		{ { REFUSED("1", "-32022"),
			  "\"id\":2,\"method\":\"server/discover\",\"params\":{\"_meta\":" },
			{ RESULT("2", "\"supportedVersions\":[\"2026-07-28\"]"), "tools/list" },
			{ RESULT("3", "\"tools\":[]"), "listed 0;" },
			{ "call", "protocolVersion\":\"2026-07-28\"" },
			{ REFUSED("4", "-32000"), "answer 4;" } },
		UPSTREAM_READY },
	{ "of no version that is known",
		{ { REFUSED("1", "-32601"), "server/discover" },
			{ RESULT("2", "\"supportedVersions\":[\"2030-01-01\"]"), "" } },
		UPSTREAM_BROKEN },
	{ "of an unknown version", { { GREETING("1999-01-01"), "" } }, UPSTREAM_BROKEN },
	{ "pages",
		{ { GREETING("2025-11-25"), "tools/list" },
			{ RESULT("2", "\"tools\":[" TOOL("a") "],\"nextCursor\":\"x\""),
				"\"params\":{\"cursor\":\"x\"}" },
			{ RESULT("3", "\"tools\":[" TOOL("b") "]"), "listed 2;" } },
		UPSTREAM_READY },
	{ "the same tool twice, on two pages",
		{ { GREETING("2025-11-25"), "tools/list" },
			{ RESULT("2", "\"tools\":[" TOOL("a") "],\"nextCursor\":\"x\""), "cursor" },
			{ RESULT("3", "\"tools\":[" TOOL("a") "]"), "" } },
		UPSTREAM_BROKEN },
	{ "a tool without a schema",
		{ { GREETING("2025-11-25"), "tools/list" },
			{ RESULT("2", "\"tools\":[{\"name\":\"a\"}]"), "" } },
		UPSTREAM_BROKEN },
	{ "changes",
		{ { GREETING("2025-11-25"), "tools/list" }, { NOTE("tools/list_changed", ""), "" },
			{ RESULT("2", "\"tools\":[]"), "" },
			{ "list", "\"id\":3,\"method\":\"tools/list\"" },
			{ RESULT("3", "\"tools\":[]"), "listed 0;" },
			{ NOTE("tools/list_changed", ""), "" },
			{ NOTE("tools/list_changed", ""), "" },
			{ "list", "\"id\":4,\"method\":\"tools/list\"" } },
		UPSTREAM_LISTING },
	{ "of tools that changed no call goes out",
		{ { GREETING("2025-11-25"), "tools/list" },
			{ RESULT("2", "\"tools\":[]"), "listed 0;" },
			{ NOTE("tools/list_changed", ""), "" } },
		UPSTREAM_STALE },
	{ "answers that were not asked",
		{ { RESULT("7", "\"tools\":[]"), "" }, { RESULT("\"1\"", "\"a\":1"), "" },
			{ GREETING("2025-11-25"), "tools/list" }, { GREETING("2025-11-25"), "" },
			{ RESULT("3", "\"tools\":[]"), "" }, { "hello", "" }, { "[]", "" } },
		UPSTREAM_LISTING },
	{ "questions of a server",
		{ { GREETING("2025-11-25"), "tools/list" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}",
				"{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{}}\n" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\"}",
				"-32601" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\"}",
				"-32601" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}", "-32601" } },
		UPSTREAM_LISTING },
	{ "a call that is cancelled",
		{ { GREETING("2025-11-25"), "tools/list" },
			{ RESULT("2", "\"tools\":[]"), "listed 0;" }, { "call", "tools/call" },
			{ "cancel", "notifications/cancelled\",\"params\":{\"requestId\":3" },
			{ "cancel", "" }, { RESULT("3", "\"content\":[]"), "" } },
		UPSTREAM_READY },
};

struct heard {
	struct upstream u;
	struct buffer text;
};

static void heard_listed(void *context)
{
	struct heard *h = context;

	buffer_printf(&h->text, "listed %zu;", h->u.tools.root->count);
}

static void heard_answer(void *context, void *owner, const struct mcp_message *m)
{
	struct heard *h = context;

	assert_ptr_equal(owner, h);
	buffer_printf(&h->text, "answer %s;", m->id->text);
}

static void heard_progress(void *context, void *owner, const struct node *params)
{
	struct heard *h = context;

	assert_true(owner == h && params);
	buffer_adds(&h->text, "progress;");
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct heard h = { .u = { .version = "0" } };
		const struct upstream_request call = {
			.tool = "a", .traceparent = "t", .wants_progress = true, .owner = &h
		};

		h.u.host = (struct upstream_host){ heard_listed, heard_answer, heard_progress, &h };
		upstream_begin(&h.u);
		assert_non_null(
			strstr(buffer_text(&h.u.out), "\"id\":1,\"method\":\"initialize\""));
		for (size_t k = 0; k < ROWS(rows[i].lines) && rows[i].lines[k][0]; k++) {
			const char *line = rows[i].lines[k][0], *part = rows[i].lines[k][1];

			buffer_clear(&h.u.out);
			buffer_clear(&h.text);
			if (strcmp(line, "call") == 0)
				assert_int_equal(upstream_call(&h.u, &call), 0);
			else if (strcmp(line, "list") == 0)
				upstream_list(&h.u);
			else if (strcmp(line, "cancel") == 0)
				upstream_cancel(&h.u, &h, "x");
			else
				upstream_line(&h.u, line, strlen(line));
			buffer_adds(&h.text, buffer_text(&h.u.out));
			if (*part ? !strstr(buffer_text(&h.text), part) : h.text.len > 0)
				fail_msg("%s, line %zu: %s", rows[i].name, k, buffer_text(&h.text));
		}
		assert_int_equal(h.u.state, rows[i].state);
		upstream_deinit(&h.u);
		buffer_deinit(&h.text);
	}
}

/* A list without an end, requests that are not read. */
static void test_bounds(void **state)
{
	static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}";
	struct heard h = { .u = { .version = "0" } };
	size_t len;

	(void)state;
	h.u.host = (struct upstream_host){ heard_listed, heard_answer, heard_progress, &h };
	upstream_begin(&h.u);
	upstream_line(&h.u, GREETING("2025-11-25"), strlen(GREETING("2025-11-25")));
	for (int i = 2; i < UPSTREAM_PAGES_MAX + 2; i++) {
		auto_buffer line = { 0 };

		assert_int_equal(h.u.state, UPSTREAM_LISTING);
		buffer_printf(&line, RESULT("%d", "\"tools\":[],\"nextCursor\":\"x\""), i);
		upstream_line(&h.u, line.data, line.len);
	}
	assert_int_equal(h.u.state, UPSTREAM_BROKEN);
	upstream_deinit(&h.u);
	upstream_begin(&h.u);
	for (int i = 0; i < 10000; i++)
		upstream_line(&h.u, request, strlen(request));
	len = h.u.out.len;
	assert_true(len > UPSTREAM_REFUSED_MAX && len < 2 * UPSTREAM_REFUSED_MAX);
	upstream_deinit(&h.u);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bounds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
