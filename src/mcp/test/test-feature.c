/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "mcp/input.h"
#include "mcp/listen.h"
#include "mcp/server.h"

#define META(more)                                                                         \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","           \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"sampling\":{},\"elicitation\":" \
	"{}}" more "}"
#define MODERN(id, method, more)                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method \
	"\",\"params\":{" more META("") "}}"
#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{\"sampling\":{}},\"clientInfo\":{\"name\":\"t\","        \
	"\"version\":\"0\"}}}"
#define REQUEST(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"

static bool has(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "ask") == 0 || strcmp(name, "log") == 0 || strcmp(name, "roots") == 0;
}

static void print(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_open_list(w, key);
	json_put_text(w, NULL, key);
	json_close(w);
}

static int read_one(void *context, const char *uri, struct buffer *out)
{
	(void)context;
	if (strcmp(uri, "test://a") != 0)
		return -ENOENT;
	buffer_adds(out, "[{\"uri\":\"test://a\",\"text\":\"a\"}]");
	return 0;
}

static int complete(void *context, const struct node *params, struct buffer *out)
{
	(void)context;
	if (!node_get(params, "ref"))
		return -EINVAL;
	buffer_adds(out, "[\"one\"]");
	return 0;
}

/* ask: a sample of the client's model, with a note, and then its text; log: two messages. */
static void call(void *context, struct mcp_call *c)
{
	static const struct mcp_input_request sample = { "s", "sampling/createMessage", NULL };
	static const struct mcp_input_request roots = { "r", "roots/list", NULL };
	const struct node *answer = mcp_input_answer(c, "s");
	struct mcp_result r = { 0 };

	(void)context;
	if (strcmp(c->name, "roots") == 0) {
		mcp_input_ask(c, &roots, 1, NULL);
		return;
	}
	if (strcmp(c->name, "ask") == 0 && !answer) {
		mcp_input_ask(c, &sample, 1, "a note");
		return;
	}
	if (strcmp(c->name, "log") == 0) {
		mcp_feature_log(c, MCP_INFO, "said");
		mcp_feature_log(c, MCP_ALERT, "alarm");
	}
	if (c->kind == MCP_CALL_PROMPT)
		buffer_adds(&r.content, "[{\"role\":\"user\"}]");
	else
		buffer_printf(&r.text, "%s %s", node_get_text(answer, "model"),
			mcp_input_note(c) ? mcp_input_note(c) : "none");
	mcp_server_answer(c, &r);
}

static void cancel(void *context, struct mcp_call *c)
{
	(void)context;
	(void)c;
}

/* Lines, and a part of what is answered to each; "": nothing is. After a line of ! lists change. */
static const struct {
	const char *name;
	const char *lines[9][2];
} rows[] = {
	{ "modern: what there is",
		{ { MODERN("1", "server/discover", ""),
			  "\"capabilities\":{\"tools\":{\"listChanged\":true},\"resources\":{"
			  "\"listChanged\":true,\"subscribe\":true},\"prompts\":{\"listChanged\":"
			  "true},\"completions\":{},\"logging\":{}}" },
			{ MODERN("2", "resources/list", ""), "\"resources\":[\"resources\"]" },
			{ MODERN("3", "resources/templates/list", ""), "[\"resourceTemplates\"]" },
			{ MODERN("4", "resources/read", "\"uri\":\"test://a\","),
				"\"contents\":[{\"uri\":\"test://a\"" },
			{ MODERN("5", "resources/read", "\"uri\":\"test://b\","),
				"-32602,\"message\":\"there is no such resource; resources/list "
				"has "
				"all\",\"data\":{\"uri\":\"test://b\"}" },
			{ MODERN("6", "prompts/get", "\"name\":\"log\","),
				"\"messages\":[{\"role\":\"user\"}]" },
			{ MODERN("7", "prompts/get", "\"name\":\"none\","), "-32602" },
			{ MODERN("8", "completion/complete", "\"ref\":{},"),
				"{\"values\":[\"one\"]" },
			{ MODERN("9", "logging/setLevel", "\"level\":\"info\","), "-32601" } } },
	{ "handshake: what there is",
		{ { INITIALIZE, "\"logging\":{}" },
			{ REQUEST("1", "resources/read", "\"uri\":\"test://b\""), "-32002" },
			{ REQUEST("2", "completion/complete", ""), "-32602" },
			{ REQUEST("3", "logging/setLevel", "\"level\":\"loud\""), "-32602" },
			{ REQUEST("4", "logging/setLevel", "\"level\":\"alert\""),
				"\"result\":{}" },
			{ REQUEST("5", "tools/call", "\"name\":\"log\""),
				"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				"message\",\"params\":{\"level\":\"alert\",\"logger\":\"corral\","
				"\"data\":\"alarm\"}}\n{" },
			{ REQUEST("6", "subscriptions/listen", ""), "-32601" } } },
	{ "modern: only who asks for messages gets them",
		{ { MODERN("1", "tools/call", "\"name\":\"log\","),
			  "{\"jsonrpc\":\"2.0\",\"id\":1," },
			{ "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
			  "call\",\"params\":{\"name\":\"log\"," META(
				  ",\"io.modelcontextprotocol/logLevel\":\"error\"") "}}",
				"\"level\":\"alert\"" } } },
	{ "handshake: an input",
		{ { INITIALIZE, "result" },
			{ REQUEST("1", "tools/call", "\"name\":\"ask\""),
				"\"id\":\"corral-input-1\",\"method\":\"sampling/"
				"createMessage\",\"params\":{}}" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":\"corral-input-2\",\"result\":{}}", "" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":\"corral-input-1\",\"result\":{\"model\":"
			  "\"m\"}}",
				"\"text\":\"m a note\"" },
			{ "{\"jsonrpc\":\"2.0\",\"id\":\"corral-input-1\",\"result\":{\"model\":"
			  "\"m\"}}",
				"" },
			{ REQUEST("2", "tools/call", "\"name\":\"roots\""),
				"-32600,\"message\":\"the client lacks" } } },
	{ "modern: an input",
		{ { MODERN("1", "tools/call", "\"name\":\"ask\","),
			  "\"resultType\":\"input_required\"" },
			{ MODERN("2", "tools/call",
				  "\"name\":\"ask\",\"inputResponses\":{\"s\":{\"model\":\"m\"}},"),
				"\"text\":\"m none\"" },
			{ MODERN("3", "tools/call", "\"name\":\"ask\",\"requestState\":\"x\","),
				"-32602" },
			{ MODERN("4", "tools/call", "\"name\":\"roots\","),
				"-32021,\"message\":\"the client lacks a capability that this "
				"needs\","
				"\"data\":{\"requiredCapabilities\":{\"roots\":{}}}" } } },
	{ "handshake: word of changes",
		{ { "!", "" }, { INITIALIZE, "result" },
			{ REQUEST("1", "resources/subscribe", "\"uri\":\"test://a\""),
				"\"result\":{}" },
			{ "!", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/"
			       "list_changed\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
			       "resources/updated\",\"params\":{\"uri\":\"test://a\"}}\n" },
			{ REQUEST("2", "resources/unsubscribe", "\"uri\":\"test://a\""),
				"\"result\":{}" },
			{ "!", "list_changed\"}\n" } } },
	{ "modern: word of changes",
		{ { MODERN("7", "subscriptions/listen",
			    "\"notifications\":{\"promptsListChanged\":true,\"toolsListChanged\":"
			    "false,\"resourceSubscriptions\":[\"test://a\"]},"),
			  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
			  "acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
			  "subscriptionId\":7},\"notifications\":{\"promptsListChanged\":true,"
			  "\"resourceSubscriptions\":[\"test://a\"]}}}\n" },
			{ "!", "prompts/list_changed\",\"params\":{\"_meta\":{\"io."
			       "modelcontextprotocol/"
			       "subscriptionId\":7}}}\n{\"jsonrpc\":\"2.0\",\"method\":"
			       "\"notifications/resources/updated\"" },
			{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
			  "cancelled\",\"params\":{\"requestId\":7}}",
				"" },
			{ "!", "" }, { MODERN("8", "subscriptions/listen", ""), "-32602" } } },
};

static uint64_t now_ms(void)
{
	return 1;
}

static void test_rows(void **state)
{
	static const struct mcp_toolset tools = { has, print };
	static const struct mcp_features features = { .resources = print,
		.templates = print,
		.prompts = print,
		.read = read_one,
		.has_prompt = has,
		.complete = complete,
		.logs = true,
		.subscribes = true,
		.changes = true };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct mcp_asking a = { .principal = "p", .now_ms = now_ms, .patience_ms = 10 };
		struct mcp_server s = { .version = "0",
			.asking = &a,
			.backend = { .call = call,
				.cancel = cancel,
				.tools = &tools,
				.features = &features } };

		assert_int_equal(mcp_seal_init(&a.seal), 0);
		for (size_t k = 0; k < ROWS(rows[i].lines) && rows[i].lines[k][0]; k++) {
			const char *line = rows[i].lines[k][0], *part = rows[i].lines[k][1];

			if (strcmp(line, "!") == 0) {
				mcp_listen_changed(&s, MCP_PROMPTS_CHANGED);
				mcp_listen_updated(&s, "test://a");
			} else {
				mcp_server_line(&s, line, strlen(line));
			}
			if (*part ? !strstr(buffer_text(&s.out), part) : s.out.len > 0)
				fail_msg("%s, line %zu: %s", rows[i].name, k, buffer_text(&s.out));
			buffer_clear(&s.out);
		}
		assert_false(s.out.failed);
		mcp_server_deinit(&s);
	}
}

/* A note comes back sealed, once, and for that call alone. */
static void test_note(void **state)
{
	static const struct mcp_toolset tools = { has, print };
	struct mcp_asking a = { .principal = "p", .now_ms = now_ms, .patience_ms = 10 };
	struct mcp_server s = { .version = "0",
		.asking = &a,
		.backend = { .call = call, .cancel = cancel, .tools = &tools } };
	auto_buffer line = { 0 };
	char sealed[2048] = "";
	const char *at;

	(void)state;
	assert_int_equal(mcp_seal_init(&a.seal), 0);
	at = MODERN("1", "tools/call", "\"name\":\"ask\",");
	mcp_server_line(&s, at, strlen(at));
	at = strstr(s.out.data, "\"requestState\":\"");
	assert_non_null(at);
	assert_null(strstr(s.out.data, "a note"));
	assert_int_equal(sscanf(at, "\"requestState\":\"%2047[^\"]", sealed), 1);
	for (int i = 0; i < 2; i++) {
		buffer_clear(&s.out);
		buffer_clear(&line);
		buffer_printf(&line,
			MODERN("2", "tools/call",
				"\"name\":\"ask\",\"requestState\":\"%s\",\"inputResponses\":{"
				"\"s\":{\"model\":\"m\"}},"),
			sealed);
		mcp_server_line(&s, line.data, line.len);
		assert_non_null(strstr(s.out.data, i == 0 ? "m a note" : "used already"));
	}
	mcp_server_deinit(&s);
}

/* What belongs to a request goes to its reply, whatever comes meanwhile. */
static void test_replies(void **state)
{
	static const struct mcp_toolset tools = { has, print };
	static const char *const lines[] = { INITIALIZE,
		REQUEST("1", "tools/call", "\"name\":\"ask\""), REQUEST("2", "ping", ""),
		"{\"jsonrpc\":\"2.0\",\"id\":\"corral-input-1\",\"result\":{}}" };
	struct mcp_reply replies[ROWS(lines)] = { 0 };
	struct mcp_server s = { .version = "0",
		.backend = { .call = call, .cancel = cancel, .tools = &tools } };

	(void)state;
	for (size_t i = 0; i < ROWS(lines); i++) {
		auto_mcp_message m = { 0 };

		assert_int_equal(mcp_message_read(&m, lines[i], strlen(lines[i]), NULL), 0);
		mcp_server_message(&s, &m, &replies[i]);
		assert_int_equal(replies[1].is_over, i == 3);
	}
	assert_true(replies[0].is_over && replies[2].is_over && !replies[3].is_over);
	assert_int_equal(replies[3].out.len, 0);
	assert_int_equal(s.out.len, 0);
	assert_non_null(strstr(replies[1].out.data, "\"id\":1,\"result\""));
	for (size_t i = 0; i < ROWS(lines); i++)
		buffer_deinit(&replies[i].out);
	mcp_server_deinit(&s);
}

/* A back end whose reads and completions are calls: what each comes to is its own. */
static bool has_resource(void *context, const char *uri)
{
	(void)context;
	return strncmp(uri, "test://", 7) == 0;
}

static bool has_completion(void *context, const char *name, bool is_prompt)
{
	(void)context;
	return is_prompt == (strcmp(name, "p") == 0);
}

static void call_feature(void *context, struct mcp_call *c)
{
	struct mcp_result r = { .is_error = strstr(c->name, "bad") != NULL };

	(void)context;
	if (strcmp(c->name, "test://gone") == 0) {
		r.is_error = true;
		r.code = MCP_RESOURCE_NOT_FOUND;
	} else if (r.is_error) {
		buffer_adds(&r.text, "denied");
		r.code = strstr(c->name, "worse") ? MCP_INTERNAL_ERROR : 0;
	} else if (c->kind == MCP_CALL_COMPLETE) {
		buffer_adds(&r.content, "{\"values\":[\"x\"]}");
	} else {
		buffer_adds(&r.text, "about");
		buffer_printf(&r.content, "[{\"of\":\"%s\"}]", c->name);
	}
	mcp_server_answer(c, &r);
}

static const char *const called[][2] = {
	{ INITIALIZE, "\"resources\":{},\"prompts\":{},\"completions\":{}}" },
	{ REQUEST("1", "resources/read", "\"uri\":\"test://a\""),
		"\"result\":{\"contents\":[{\"of\":\"test://a\"}]}}\n" },
	{ REQUEST("2", "resources/read", "\"uri\":\"other://a\""), "-32002" },
	{ REQUEST("3", "resources/read", "\"uri\":\"test://gone\""),
		"-32002,\"message\":\"there is no such resource; resources/list has "
		"all\",\"data\":{\"uri\":\"test://gone\"}" },
	{ REQUEST("4", "resources/read", "\"uri\":\"test://bad\""),
		"\"code\":-32602,\"message\":\"denied\"" },
	{ REQUEST("5", "resources/read", "\"uri\":\"test://bad/worse\""), "\"code\":-32603" },
	{ REQUEST("6", "resources/read", ""), "-32002" },
	{ REQUEST("7", "prompts/get", "\"name\":\"log\""),
		"{\"description\":\"about\",\"messages\":[{\"of\":\"log\"}]}" },
	{ REQUEST("8", "completion/complete",
		  "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{}"),
		"\"result\":{\"completion\":{\"values\":[\"x\"]}}}\n" },
	{ REQUEST("9", "completion/complete",
		  "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"p\"},\"argument\":{}"),
		"-32602" },
	{ REQUEST("10", "completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}"),
		"-32602" },
	{ REQUEST("11", "completion/complete",
		  "\"ref\":{\"type\":\"x\",\"uri\":\"a\"},\"argument\":{}"),
		"-32602" },
	{ REQUEST("12", "completion/complete", "\"ref\":[],\"argument\":[]"), "-32602" },
};

static void test_calls(void **state)
{
	static const struct mcp_features features = { .resources = print,
		.prompts = print,
		.has_prompt = has,
		.has_resource = has_resource,
		.has_completion = has_completion };
	struct mcp_server s = { .version = "0",
		.backend = { .call = call_feature, .cancel = cancel, .features = &features } };

	(void)state;
	for (size_t i = 0; i < ROWS(called); i++) {
		mcp_server_line(&s, called[i][0], strlen(called[i][0]));
		if (!strstr(buffer_text(&s.out), called[i][1]))
			fail_msg("%s: %s", called[i][0], buffer_text(&s.out));
		buffer_clear(&s.out);
	}
	mcp_server_deinit(&s);
	/* The other era has one code for all, and says how long an answer may be kept. */
	s = (struct mcp_server){ .version = "0",
		.backend = { .call = call_feature, .cancel = cancel, .features = &features } };
	mcp_server_line(&s, MODERN("1", "resources/read", "\"uri\":\"test://gone\","),
		strlen(MODERN("1", "resources/read", "\"uri\":\"test://gone\",")));
	assert_non_null(strstr(s.out.data, "-32602"));
	mcp_server_line(&s, MODERN("2", "resources/read", "\"uri\":\"test://a\","),
		strlen(MODERN("2", "resources/read", "\"uri\":\"test://a\",")));
	assert_non_null(strstr(s.out.data, "\"ttlMs\":0,\"cacheScope\":\"private\""));
	mcp_server_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		cmocka_unit_test(test_note), cmocka_unit_test(test_replies),
		cmocka_unit_test(test_calls) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
