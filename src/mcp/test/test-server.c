/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "mcp/server.h"

#define ENVELOPE(version)                                                         \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN(id, method, more)                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method \
	"\",\"params\":{" more ENVELOPE("2026-07-28") "}}"
#define INITIALIZE(version)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"" version "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}}"
#define REQUEST(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define CALL(id, tool, arguments)                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                        \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{" arguments \
	"}}}"
#define CANCEL(id)                                         \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" \
	"cancelled\",\"params\":{\"requestId\":" id "}}"

/* Calls of read_file are answered at once; others wait. */
static void backend_call(void *context, struct mcp_call *c)
{
	struct mcp_result r = { 0 };

	buffer_printf(context, "call %s;", c->name);
	if (c->tool != &mcp_tools[MCP_READ_FILE])
		return;
	buffer_adds(&r.text, "text");
	buffer_adds(&r.structured, "{\"size\":4}");
	mcp_server_progress(c, 1, "begins");
	mcp_server_answer(c, &r);
}

static void backend_cancel(void *context, struct mcp_call *c)
{
	buffer_printf(context, "cancel %s;", c->name);
}

static int backend_log(void *context, struct buffer *out)
{
	(void)context;
	buffer_adds(out, "[]");
	return 0;
}

/* Lines, and a part that what is answered to each has; "": nothing is answered. */
static const struct {
	const char *name;
	const char *lines[6][2];
	const char *calls;
} rows[] = {
	{ "a handshake",
		{ { INITIALIZE("2025-06-18"),
			  "\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\"" },
			{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "" },
			{ REQUEST("1", "tools/list"),
				"\"result\":{\"tools\":[{\"name\":\"execute_command\"" },
			{ CALL("2", "read_file", "\"path\":\"a\""),
				"\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
				"\"text\"}],"
				"\"structuredContent\":{\"size\":4},\"isError\":false}}\n" },
			{ REQUEST("3", "server/discover"), "-32601" } },
		"call read_file;" },
	{ "an unknown version is answered with the newest",
		{ { INITIALIZE("1999-01-01"), "\"protocolVersion\":\"2025-11-25\"" },
			{ INITIALIZE("2025-11-25"), "-32600" } },
		"" },
	{ "nothing before initialize but ping",
		{ { REQUEST("1", "ping"), "\"id\":1,\"result\":{}}\n" },
			{ REQUEST("2", "tools/list"), "-32600" },
			{ REQUEST("\"x\"", "none"), "-32601" } },
		"" },
	{ "modern",
		{ { MODERN("1", "server/discover", ""),
			  "\"result\":{\"resultType\":\"complete\",\"_meta\":{\"io."
			  "modelcontextprotocol/"
			  "serverInfo\":{\"name\":\"corral\",\"title\":\"Corral\",\"version\":"
			  "\"0\"}},"
			  "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},"
			  "\"resources\":{}},\"ttlMs\":0,\"cacheScope\":\"private\"}}\n" },
			{ MODERN("2", "tools/call",
				  "\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"},"),
				"\"resultType\":\"complete\"" },
			{ INITIALIZE("2025-06-18"), "-32022,\"message\":\"this connection is of" },
			{ REQUEST("3", "tools/list"), "-32602" },
			{ MODERN("4", "ping", ""), "-32601" },
			{ MODERN("5", "resources/read", "\"uri\":\"corral://log\","),
				"\"contents\":[{\"uri\":\"corral://"
				"log\",\"mimeType\":\"application/json\","
				"\"text\":\"[]\"}]" } },
		"call read_file;" },
	{ "a version that is not served leaves the era open",
		{ { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/"
		    "discover\",\"params\":{" ENVELOPE("2027-01-01") "}}",
			  "\"code\":-32022,\"message\":\"Unsupported protocol version\",\"data\":{"
			  "\"supported\":[\"2026-07-28\"],\"requested\":\"2027-01-01\"}" },
			{ INITIALIZE("2025-11-25"), "2025-11-25" },
			{ MODERN("2", "tools/list", ""), "-32600" } },
		"" },
	{ "an envelope without its other half",
		{ { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		    "list\",\"params\":{\"_meta\":{"
		    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
			  "-32602" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
			  "list\",\"params\":{\"_meta\":{"
			  "\"io.modelcontextprotocol/protocolVersion\":5,"
			  "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
				"-32602" } },
		"" },
	{ "what is no message",
		{ { "hello", "\"id\":null,\"error\":{\"code\":-32700" }, { NULL, "-32700" },
			{ "[" REQUEST("1", "ping") "]", "-32600,\"message\":\"batches" },
			{ "{\"id\":1,\"method\":\"ping\"}", "\"id\":1,\"error\":{\"code\":-32600" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "" }, { "\r", "" } },
		"" },
	{ "arguments",
		{ { INITIALIZE("2025-11-25"), "result" },
			{ CALL("1", "read_file", ""), "read_file needs the argument `path`" },
			{ CALL("2", "read_file", "\"pth\":\"a\",\"path\":\"b\""),
				"did you mean `path`?" },
			{ CALL("3", "read_file", "\"path\":5"), "\"isError\":true" },
			{ CALL("4", "execute_command", "\"command\":\"a\",\"timeout_ms\":0"),
				"\"isError\":true" },
			{ CALL("5", "rm", ""), "-32602" } },
		"" },
	{ "calls that wait",
		{ { INITIALIZE("2025-11-25"), "result" },
			{ CALL("1", "execute_command", "\"command\":\"a\""), "" },
			{ CALL("1", "execute_command", "\"command\":\"b\""), "-32600" },
			{ CALL("\"1\"", "execute_command", "\"command\":\"c\""), "" },
			{ CANCEL("1"), "" }, { CANCEL("1"), "" } },
		"call execute_command;call execute_command;cancel execute_command;" },
	{ "progress",
		{ { INITIALIZE("2025-11-25"), "result" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
			  "call\",\"params\":{\"name\":"
			  "\"read_file\",\"arguments\":{\"path\":\"a\"},\"_meta\":{"
			  "\"progressToken\":\"t\"}}}",
				"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				"progress\",\"params\":{"
				"\"progressToken\":\"t\",\"progress\":1,\"message\":\"begins\"}}"
				"\n" } },
		"call read_file;" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer calls = { 0 };
		struct mcp_server s = { .version = "0",
			.backend = { backend_call, backend_cancel, backend_log, &calls, false, NULL,
				NULL } };

		for (size_t k = 0; k < ROWS(rows[i].lines) && rows[i].lines[k][1]; k++) {
			const char *line = rows[i].lines[k][0], *part = rows[i].lines[k][1];

			mcp_server_line(&s, line, line ? strlen(line) : 0);
			if (*part ? !strstr(buffer_text(&s.out), part) : s.out.len > 0)
				fail_msg("%s, line %zu: %s", rows[i].name, k, buffer_text(&s.out));
			buffer_clear(&s.out);
		}
		assert_string_equal(buffer_text(&calls), rows[i].calls);
		mcp_server_deinit(&s);
	}
}

/* All that a client may have under way, and one more; and its end cancels them. */
static void test_many(void **state)
{
	auto_buffer calls = { 0 };
	struct mcp_server s = { .version = "0",
		.backend = {
			backend_call, backend_cancel, backend_log, &calls, false, NULL, NULL } };

	(void)state;
	mcp_server_line(&s, INITIALIZE("2025-11-25"), strlen(INITIALIZE("2025-11-25")));
	for (int i = 0; i <= MCP_CALLS_MAX; i++) {
		auto_buffer line = { 0 };

		buffer_clear(&s.out);
		buffer_printf(&line, CALL("%d", "execute_command", "\"command\":\"a\""), i);
		mcp_server_line(&s, line.data, line.len);
		assert_int_equal(s.out.len > 0, i == MCP_CALLS_MAX);
	}
	assert_non_null(strstr(s.out.data, "too many calls"));
	buffer_clear(&calls);
	mcp_server_deinit(&s);
	assert_int_equal(calls.len, MCP_CALLS_MAX * strlen("cancel execute_command;"));
}

/* Questions */

#define FORMS                                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{\"elicitation\":{\"form\":{}}},\"clientInfo\":{"         \
	"\"name\":"                                                                                \
	"\"t\",\"version\":\"0\"}}}"
#define REPLY(id, allow)                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" id \
	",\"result\":{\"action\":\"accept\",\"content\":{\"allow\":" allow "}}}"

static uint64_t now = 1000;

static uint64_t asking_now(void)
{
	return now;
}

/* Writing is asked about, and then reading; each word is noted. */
static void asking_call(void *context, struct mcp_call *c)
{
	static const char *const objects[] = { "/a", "/b" };
	struct mcp_result r = { 0 };

	for (size_t i = 0; i < ROWS(objects); i++) {
		const enum mcp_word word = mcp_asking_word(c, OPERATION_FS_READ, objects[i]);

		if (word == MCP_WORD_NONE && mcp_asking_is_possible(c)) {
			mcp_asking_ask(c, OPERATION_FS_READ, objects[i], "May it?");
			return;
		}
		buffer_printf(context, "%s %d;", objects[i], word);
		r.is_error |= word != MCP_WORD_YES;
		/* A word about reading says nothing of anything else. */
		assert_int_equal(mcp_asking_word(c, OPERATION_FS_WRITE, objects[i]), MCP_WORD_NONE);
	}
	mcp_server_answer(c, &r);
}

/* Lines, and a part of what is answered to each; after "late" the time of answers is over. */
static const struct {
	const char *name;
	const char *lines[6][2];
	const char *calls;
} asked[] = {
	{ "two questions, two answers",
		{ { FORMS, "result" },
			{ CALL("1", "read_file", "\"path\":\"a\""),
				"\"id\":\"corral-1\",\"method\":\"elicitation/create\"" },
			{ REPLY("\"corral-1\"", "true"), "\"id\":\"corral-2\"" },
			{ REPLY("\"corral-1\"", "true"), "" },
			{ REPLY("\"corral-2\"", "true"), "\"id\":1,\"result\"" } },
		"/a 2;/a 2;/b 2;" },
	{ "a no",
		{ { FORMS, "result" }, { CALL("1", "read_file", "\"path\":\"a\""), "corral-1" },
			{ REPLY("\"corral-1\"", "false"), "corral-2" },
			{ REPLY("\"corral-2\"", "\"true\""), "\"isError\":true" } },
		"/a 1;/a 1;/b 1;" },
	{ "of no number",
		{ { FORMS, "result" }, { CALL("1", "read_file", "\"path\":\"a\""), "corral-1" },
			{ REPLY("1", "true"), "" }, { REPLY("\"corral-0\"", "true"), "" },
			{ CANCEL("1"), "\"requestId\":\"corral-1\"" },
			{ REPLY("\"corral-1\"", "true"), "" } },
		"cancel read_file;" },
	{ "too late",
		{ { FORMS, "result" }, { CALL("1", "read_file", "\"path\":\"a\""), "corral-1" },
			{ "late", "notifications/cancelled" }, { "late", "\"isError\":true" },
			{ REPLY("\"corral-1\"", "true"), "" } },
		"/a 1;/a 1;/b 1;" },
	{ "without forms",
		{ { INITIALIZE("2025-11-25"), "result" },
			{ CALL("1", "read_file", "\"path\":\"a\""), "\"isError\":true" } },
		"/a 0;/b 0;" },
};

static void test_asking(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(asked); i++) {
		auto_buffer calls = { 0 };
		struct mcp_asking a = {
			.principal = "test", .now_ms = asking_now, .patience_ms = 10
		};
		struct mcp_server s = { .version = "0",
			.asking = &a,
			.backend = { asking_call, backend_cancel, backend_log, &calls, false, NULL,
				NULL } };

		assert_int_equal(mcp_seal_init(&a.seal), 0);
		for (size_t k = 0; k < ROWS(asked[i].lines) && asked[i].lines[k][0]; k++) {
			const char *line = asked[i].lines[k][0], *part = asked[i].lines[k][1];
			const bool is_late = strcmp(line, "late") == 0;
			int wait_ms;

			now += is_late ? 10 : 0;
			if (!is_late)
				mcp_server_line(&s, line, strlen(line));
			wait_ms = mcp_asking_turn(&s);
			assert_int_equal(wait_ms >= 0, s.calls && s.calls->question);
			if (*part ? !strstr(buffer_text(&s.out), part) : s.out.len > 0)
				fail_msg("%s, line %zu: %s", asked[i].name, k, buffer_text(&s.out));
			buffer_clear(&s.out);
		}
		buffer_clear(&s.out);
		assert_true(
			strncmp(buffer_text(&calls), asked[i].calls, strlen(asked[i].calls)) == 0);
		mcp_server_deinit(&s);
	}
}

/* A back end with tools of its own, and no log */

static bool own_has(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "own") == 0;
}

static void own_print(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_open_list(w, key);
	json_put_text(w, NULL, "mine");
	json_close(w);
}

static void own_call(void *context, struct mcp_call *c)
{
	struct mcp_result r = { 0 };

	assert_null(c->tool);
	buffer_printf(context, "%s;", c->name);
	mcp_server_pass_progress(c, c->arguments);
	buffer_adds(&r.content, "[{\"type\":\"image\"}]");
	mcp_server_answer(c, &r);
}

static const char *const own[][2] = {
	{ INITIALIZE("2025-11-25"), "\"capabilities\":{\"tools\":{\"listChanged\":true}}," },
	{ REQUEST("1", "tools/list"), "\"tools\":[\"mine\"]" },
	{ CALL("2", "own", ""), "\"content\":[{\"type\":\"image\"}]" },
	{ CALL("3", "read_file", "\"path\":\"a\""), "-32602" },
	{ REQUEST("4", "resources/list"), "-32601" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"own\","
	  "\"arguments\":{\"progress\":0.5,\"total\":\"x\",\"message\":\"m\",\"more\":1},"
	  "\"_meta\":{\"progressToken\":7}}}",
		"\"params\":{\"progressToken\":7,\"progress\":0.5,\"message\":\"m\"}}\n" },
};

static void test_own(void **state)
{
	static const struct mcp_toolset tools = { own_has, own_print };
	auto_buffer calls = { 0 };
	struct mcp_server s = { .version = "0",
		.backend = { own_call, backend_cancel, NULL, &calls, false, &tools, NULL } };

	(void)state;
	mcp_server_tools_changed(&s);
	assert_int_equal(s.out.len, 0);
	for (size_t i = 0; i < ROWS(own); i++) {
		buffer_clear(&s.out);
		mcp_server_line(&s, own[i][0], strlen(own[i][0]));
		if (!strstr(buffer_text(&s.out), own[i][1]))
			fail_msg("%s", buffer_text(&s.out));
	}
	assert_string_equal(buffer_text(&calls), "own;own;");
	buffer_clear(&s.out);
	mcp_server_tools_changed(&s);
	assert_string_equal(buffer_text(&s.out),
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
	mcp_server_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		cmocka_unit_test(test_many), cmocka_unit_test(test_asking),
		cmocka_unit_test(test_own) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
