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
#define GREETING_WITH(capabilities) \
	RESULT("1", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{" capabilities "}")
#define ALL "\"tools\":{},\"prompts\":{},\"resources\":{},\"completions\":{}"
#define RESOURCE(uri) "{\"uri\":\"" uri "\"}"

/* Lines of a server; "call": a call goes out; "cancel": it is cancelled. Beside each, a part of
 * what is sent, or of what the host is told; "": nothing is. */
static const struct {
	const char *name;
	const char *lines[9][2];
	enum upstream_state state;
} rows
	[] = {
		{ "a handshake",
			{ { GREETING("2025-06-18"), "\"method\":\"tools/list\",\"params\":{}}" },
				{ RESULT("2", "\"tools\":[" TOOL("a") "]"), "listed 1;" },
				{ "call", "\"id\":3,\"method\":\"tools/"
					  "call\",\"params\":{\"name\":\"a\","
					  "\"arguments\":{},\"_meta\":{\"progressToken\":3,"
					  "\"traceparent\":"
					  "\"t\"}}}" },
				{ NOTE("progress", "\"progressToken\":3,\"progress\":1"),
					"progress;" },
				{ NOTE("progress", "\"progressToken\":4,\"progress\":1"), "" },
				{ RESULT("3", "\"content\":[]"), "answer 3;" },
				{ RESULT("3", "\"content\":[]"), "" } },
			UPSTREAM_READY },
		{ "a server without a handshake",
			{ { REFUSED("1", "-32022"), "\"id\":2,\"method\":\"server/"
						    "discover\",\"params\":{\"_meta\":" },
				{ RESULT("2", "\"supportedVersions\":[\"2026-07-28\"]"),
					"tools/list" },
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
				{ RESULT("2", "\"tools\":[" TOOL("a") "],\"nextCursor\":\"x\""),
					"cursor" },
				{ RESULT("3", "\"tools\":[" TOOL("a") "]"), "" } },
			UPSTREAM_BROKEN },
		{ "a tool without a schema",
			{ { GREETING("2025-11-25"), "tools/list" },
				{ RESULT("2", "\"tools\":[{\"name\":\"a\"}]"), "" } },
			UPSTREAM_BROKEN },
		{ "changes",
			{ { GREETING("2025-11-25"), "tools/list" },
				{ NOTE("tools/list_changed", ""), "" },
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
		{ "prompts, resources and templates, one list after the other",
			{ { GREETING_WITH(ALL), "tools/list" },
				{ RESULT("2", "\"tools\":[]"), "\"method\":\"prompts/list\"" },
				{ RESULT("3",
					  "\"prompts\":[{\"name\":\"p\"}],\"nextCursor\":\"x\""),
					"\"method\":\"prompts/"
					"list\",\"params\":{\"cursor\":\"x\"}" },
				{ RESULT("4", "\"prompts\":[{\"name\":\"q\"}]"), "resources/list" },
				{ RESULT("5", "\"resources\":[" RESOURCE("a:1") "]"),
					"resources/templates/list" },
				{ RESULT("6",
					  "\"resourceTemplates\":[{\"uriTemplate\":\"a:{b}\"}]"),
					"listed 0; 2 1 1" },
				{ NOTE("resources/list_changed", ""), "" } },
			UPSTREAM_STALE },
		{ "what it refuses to list it has none of",
			{ { GREETING_WITH(ALL), "tools/list" },
				{ RESULT("2", "\"tools\":[" TOOL("a") "]"), "prompts/list" },
				{ REFUSED("3", "-32601"), "resources/list" },
				{ REFUSED("4", "-32603"), "resources/templates/list" },
				{ REFUSED("5", "-32601"), "listed 1; 0 0 0" } },
			UPSTREAM_READY },
		{ "of a server with resources alone nothing else is asked",
			{ { GREETING_WITH("\"resources\":{}"), "resources/list" },
				{ RESULT("2", "\"resources\":[]"), "resources/templates/list" },
				{ RESULT("3", "\"resourceTemplates\":[]"), "listed 0; 0 0 0" } },
			UPSTREAM_READY },
		{ "resources that cannot be offered are left out",
			{ { GREETING_WITH("\"resources\":{}"), "resources/list" },
				{ RESULT("2", "\"resources\":[" RESOURCE("a:1") "," RESOURCE("a:1") ",1,{}," RESOURCE("no") "," RESOURCE(
						      ":x") "," RESOURCE("a:"
									 "\\u000"
									 "7") "," RESOURCE("a: b") ","
												   "{\"uri\":[\"a:2\"]}," RESOURCE(
													   "a:\xc3\xa9") "]"),
					"resources/templates/list" },
				{ RESULT("3", "\"resourceTemplates\":[{\"uriTemplate\":1}]"),
					"listed 0; 0 1 0 left out 9 1" } },
			UPSTREAM_READY },
		{ "the same prompt twice",
			{ { GREETING_WITH("\"prompts\":{}"), "prompts/list" },
				{ RESULT("2", "\"prompts\":[{\"name\":\"p\"},{\"name\":\"p\"}]"),
					"" } },
			UPSTREAM_BROKEN },
		{ "a prompt without a name",
			{ { GREETING_WITH("\"prompts\":{}"), "prompts/list" },
				{ RESULT("2", "\"prompts\":[{\"description\":\"p\"}]"), "" } },
			UPSTREAM_BROKEN },
		{ "a prompt, a resource, completions",
			{ { GREETING_WITH(""), "tools/list" },
				{ RESULT("2", "\"tools\":[]"), "listed" },
				{ "get", "\"method\":\"prompts/"
					 "get\",\"params\":{\"name\":\"a\",\"arguments\":{}," },
				{ "cancel", "cancelled" },
				{ "read", "\"method\":\"resources/"
					  "read\",\"params\":{\"uri\":\"a\",\"_meta\":{}}" },
				{ "cancel", "cancelled" },
				{ "complete", "\"method\":\"completion/"
					      "complete\",\"params\":{\"ref\":{\"type\":"
					      "\"ref/prompt\",\"name\":\"a\"},\"argument\":{}," } },
			UPSTREAM_READY },
		{ "answers that were not asked",
			{ { RESULT("7", "\"tools\":[]"), "" }, { RESULT("\"1\"", "\"a\":1"), "" },
				{ GREETING("2025-11-25"), "tools/list" },
				{ GREETING("2025-11-25"), "" }, { RESULT("3", "\"tools\":[]"), "" },
				{ "hello", "" }, { "[]", "" } },
			UPSTREAM_LISTING },
		{ "questions of a server",
			{ { GREETING("2025-11-25"), "tools/list" },
				{ "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}",
					"{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{}}\n" },
				{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/"
				  "createMessage\"}",
					"-32601" },
				{ "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/"
				  "create\"}",
					"-32601" },
				{ "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}",
					"-32601" } },
			UPSTREAM_LISTING },
		{ "a call that is cancelled",
			{ { GREETING("2025-11-25"), "tools/list" },
				{ RESULT("2", "\"tools\":[]"), "listed 0;" },
				{ "call", "tools/call" },
				{ "cancel",
					"notifications/cancelled\",\"params\":{\"requestId\":3" },
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

	buffer_printf(&h->text, "listed %zu; %zu %zu %zu",
		upstream_listed(&h->u, UPSTREAM_TOOLS)->count,
		upstream_listed(&h->u, UPSTREAM_PROMPTS)->count,
		upstream_listed(&h->u, UPSTREAM_RESOURCES)->count,
		upstream_listed(&h->u, UPSTREAM_TEMPLATES)->count);
	if (h->u.lists[UPSTREAM_RESOURCES].left_out)
		buffer_printf(&h->text, " left out %zu %zu",
			h->u.lists[UPSTREAM_RESOURCES].left_out,
			h->u.lists[UPSTREAM_TEMPLATES].left_out);
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

static const struct node empty = { .type = NODE_MAP };

/* By their names, beside "call". */
static const struct {
	const char *name;
	enum upstream_method method;
} others[] = {
	{ "get", UPSTREAM_GET },
	{ "read", UPSTREAM_READ },
	{ "complete", UPSTREAM_COMPLETE },
};

static bool heard_call(struct heard *h, const char *name)
{
	for (size_t i = 0; i < ROWS(others); i++) {
		const struct upstream_request r = { .method = others[i].method,
			.name = "a",
			.is_prompt = true,
			.argument = &empty,
			.owner = h };

		if (strcmp(others[i].name, name) != 0)
			continue;
		assert_int_equal(upstream_call(&h->u, &r), 0);
		return true;
	}
	return false;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct heard h = { .u = { .version = "0" } };
		const struct upstream_request call = {
			.name = "a", .traceparent = "t", .wants_progress = true, .owner = &h
		};

		h.u.host = (struct upstream_host){ heard_listed, heard_answer, heard_progress, &h };
		for (int list = UPSTREAM_PROMPTS; list < UPSTREAM_LISTS; list++)
			h.u.wants[list] = true;
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
			else if (!heard_call(&h, line))
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
