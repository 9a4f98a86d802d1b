/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "mcp/wrap.h"

#define CALL(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{}}"
#define FAILED(id)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"content\":[{\"type\":\"text\"," \
	"\"text\":\"no\"}],\"isError\":true}}"
#define FAILED_WITH(id, text)                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"content\":[{\"type\":\"text\"," \
	"\"text\":\"no\"},{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true}}"

/* What it said to its host. */
struct host {
	struct buffer said;
	const char *denied; /* during any call */
};

static void host_begins(void *context, uint64_t call)
{
	struct host *h = context;

	buffer_printf(&h->said, "begins %d;", (int)call);
}

static void host_denied(void *context, uint64_t call, struct buffer *out)
{
	struct host *h = context;

	buffer_printf(&h->said, "denied %d;", (int)call);
	buffer_adds(out, h->denied);
}

static void host_note(void *context, enum mcp_wrap_note note, bool is_server)
{
	struct host *h = context;

	buffer_printf(&h->said, "note %d %s;", (int)note, is_server ? "server" : "client");
}

/* Lines in order: "c" from the client, "s" from the server, "C" and "S" one that is too long. */
static const struct {
	const char *denied;
	struct {
		char from;
		const char *line, *passes; /* NULL: as it is; "": nothing */
	} lines[6];
	const char *said;
} rows[] = {
	{ "D", { { 'c', CALL("1"), NULL }, { 's', FAILED("1"), FAILED_WITH("1", "D") } },
		"begins 1;denied 1;" },
	/* Nothing was denied: byte for byte, blanks and all. */
	{ "", { { 'c', CALL("1"), NULL }, { 's', " " FAILED("1") "\r", NULL } },
		"begins 1;denied 1;" },
	/* Its answer is no failure. */
	{ "D",
		{ { 'c', CALL("1"), NULL },
			{ 's', "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}",
				NULL } },
		"begins 1;" },
	{ "D",
		{ { 'c', CALL("\"x\""), NULL },
			{ 's',
				"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-1,"
				"\"message\":\"m\"}}",
				"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-1,"
				"\"message\":\"m\\nD\"}}" } },
		"begins 1;denied 1;" },
	/* Answers that nothing was asked for, of another id, or a second time. */
	{ "D",
		{ { 's', FAILED("1"), NULL }, { 'c', CALL("1"), NULL },
			{ 's', FAILED("\"1\""), NULL }, { 's', FAILED("1"), FAILED_WITH("1", "D") },
			{ 's', FAILED("1"), NULL } },
		"begins 1;denied 1;" },
	/* Two calls with one id are two. */
	{ "D",
		{ { 'c', CALL("1"), NULL }, { 'c', CALL("1"), NULL },
			{ 's', FAILED("1"), FAILED_WITH("1", "D") },
			{ 's', FAILED("1"), FAILED_WITH("1", "D") } },
		"begins 1;begins 2;denied 1;denied 2;" },
	/* Who cancelled is not answered. */
	{ "D",
		{ { 'c', CALL("1"), NULL },
			{ 'c',
				"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				"\"params\":{\"requestId\":1}}",
				NULL },
			{ 's', FAILED("1"), NULL } },
		"begins 1;" },
	/* Requests of the server, and what is no call of a tool, are none of ours. */
	{ "D",
		{ { 'c', "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", NULL },
			{ 's',
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/"
				"createMessage\"}",
				NULL },
			{ 'c', "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", NULL },
			{ 's', FAILED("1"), NULL } },
		"" },
	/* There is no place for it. */
	{ "D",
		{ { 'c', CALL("1"), NULL },
			{ 's', "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}",
				NULL } },
		"begins 1;denied 1;" },
	/* A failure that says so otherwise is none. */
	{ "D",
		{ { 'c', CALL("1"), NULL },
			{ 's',
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],"
				"\"isError\":\"true\"}}",
				NULL } },
		"begins 1;" },
	/* What is dropped, and what passes unseen. */
	{ "",
		{ { 's', "hello", "" }, { 's', "", "" }, { 's', "{\"a\":\"\xff\"}", "" },
			{ 's', "{\"a\":\"\\u0000\"}", NULL }, { 'c', "[" CALL("1") "]", NULL } },
		"note 1 server;note 1 server;" },
	/* A batch is for whom it is for; its calls are not followed. */
	{ "D", { { 'c', "[" CALL("1") "]", NULL }, { 's', FAILED("1"), NULL } }, "" },
	/* An answer that is too long: known whose it is, if there is one request. */
	{ "D",
		{ { 'c', CALL("5"), NULL },
			{ 'S', NULL,
				"{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,"
				"\"message\":\"corral: the server's answer was longer than 16 MiB, "
				"and was dropped\"}}" },
			{ 'S', NULL, "" } },
		"begins 1;note 2 server;note 0 server;" },
	{ "D", { { 'c', CALL("5"), NULL }, { 'c', CALL("6"), NULL }, { 'S', NULL, "" } },
		"begins 1;begins 2;note 0 server;" },
	{ "D", { { 'C', NULL, "" } }, "note 0 client;" },
};

static void test_rows(void **state)
{
	static struct mcp_wrap w;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct host h = { .denied = rows[i].denied };

		w = (struct mcp_wrap){ .host = { host_begins, host_denied, host_note, &h } };
		for (size_t k = 0; k < ROWS(rows[i].lines) && rows[i].lines[k].from; k++) {
			const char *line = rows[i].lines[k].line, *passes = rows[i].lines[k].passes;
			auto_buffer out = { 0 }, expected = { 0 };

			if (!line)
				mcp_wrap_long(&w, rows[i].lines[k].from == 'S', &out);
			else if (rows[i].lines[k].from == 'c')
				mcp_wrap_from_client(&w, line, strlen(line), &out);
			else
				mcp_wrap_from_server(&w, line, strlen(line), &out);
			passes = passes ? passes : line;
			buffer_adds(&expected, passes);
			buffer_adds(&expected, *passes ? "\n" : "");
			assert_string_equal(buffer_text(&out), buffer_text(&expected));
		}
		assert_string_equal(buffer_text(&h.said), rows[i].said);
		buffer_deinit(&h.said);
		mcp_wrap_deinit(&w);
	}
}

/* More requests than it follows pass, too. */
static void test_many(void **state)
{
	static struct mcp_wrap w;
	struct host h = { .denied = "D" };
	auto_buffer out = { 0 };

	(void)state;
	w = (struct mcp_wrap){ .host = { host_begins, host_denied, host_note, &h } };
	for (int i = 0; i < 2 * MCP_WRAP_PENDING_MAX; i++) {
		char line[128];

		(void)snprintf(line, sizeof(line),
			"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\"}", i);
		buffer_clear(&out);
		mcp_wrap_from_client(&w, line, strlen(line), &out);
		assert_int_equal(out.len, strlen(line) + 1);
	}
	assert_int_equal(w.n_pending, MCP_WRAP_PENDING_MAX);
	buffer_deinit(&h.said);
	mcp_wrap_deinit(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		cmocka_unit_test(test_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
