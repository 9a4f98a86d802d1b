/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a client: whatever is answered is a message, and each call that was let through is good.
 * Reading a file needs an answer; no client makes one up without having been asked.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/lines.h"
#include "mcp/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_call(void *context, struct mcp_call *c)
{
	struct mcp_result r = { 0 };
	struct error e = { 0 };

	(void)context;
	fuzz_require(mcp_tool_check(c->tool, c->arguments, false, &e) == 0);
	if (c->tool == &mcp_tools[MCP_EXECUTE_COMMAND])
		return;
	if (c->tool == &mcp_tools[MCP_READ_FILE]) {
		const enum mcp_word word = mcp_asking_word(c, OPERATION_FS_READ, "/file");

		/* The state of a retry is sealed. */
		fuzz_require(c->server->era == MCP_ERA_HANDSHAKE || word == MCP_WORD_NONE);
		if (word == MCP_WORD_NONE && mcp_asking_is_possible(c)) {
			mcp_asking_ask(c, OPERATION_FS_READ, "/file", "May it?");
			return;
		}
	}
	buffer_adds(&r.text, node_get_text(c->arguments, "path"));
	mcp_server_progress(c, 1, "x");
	mcp_server_answer(c, &r);
}

static void fuzz_cancel(void *context, struct mcp_call *c)
{
	(void)context;
	fuzz_require(c->tool == &mcp_tools[MCP_EXECUTE_COMMAND] || c->question);
}

/* A second later whenever it is looked at. */
static uint64_t fuzz_now_ms(void)
{
	static uint64_t now;

	return now += 1000;
}

static int fuzz_log(void *context, struct buffer *out)
{
	(void)context;
	buffer_adds(out, "[]");
	return 0;
}

/* Each line that is sent. */
static void fuzz_check(const struct buffer *out)
{
	auto_mcp_lines lines = { 0 };
	enum mcp_line what;
	const char *line;
	size_t len;

	mcp_lines_add(&lines, buffer_text(out), out->len);
	while ((what = mcp_lines_next(&lines, &line, &len)) != MCP_LINE_NONE) {
		auto_mcp_message m = { 0 };
		struct error e = { 0 };

		fuzz_require(what == MCP_LINE_WHOLE);
		fuzz_require(mcp_message_read(&m, line, len, &e) == 0);
		fuzz_require(m.kind != MCP_OTHER);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_asking asking = {
		.principal = "fuzz", .now_ms = fuzz_now_ms, .patience_ms = 10000
	};
	struct mcp_server s = { .version = "0",
		.asking = &asking,
		.backend = { fuzz_call, fuzz_cancel, fuzz_log, NULL, false, NULL, NULL } };
	auto_mcp_lines lines = { .max = 4096 };
	enum mcp_line what;
	const char *line;
	size_t len;

	fuzz_require(mcp_seal_init(&asking.seal) == 0);
	mcp_lines_add(&lines, (const char *)data, size);
	while ((what = mcp_lines_next(&lines, &line, &len)) != MCP_LINE_NONE) {
		mcp_server_line(&s, what == MCP_LINE_WHOLE ? line : NULL, len);
		(void)mcp_asking_turn(&s);
	}
	fuzz_check(&s.out);
	fuzz_require(s.n_calls <= MCP_CALLS_MAX);
	mcp_server_deinit(&s);
	return 0;
}
