/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a client and a server in turn: what passes is the line, or a message that reads back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "mcp/lines.h"
#include "mcp/message.h"
#include "mcp/wrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_begins(void *context, uint64_t call)
{
	fuzz_require(call == ++*(uint64_t *)context);
}

static void fuzz_denied(void *context, uint64_t call, struct buffer *out)
{
	fuzz_require(call > 0 && call <= *(uint64_t *)context);
	buffer_adds(out, "denied: \"x\"\n");
}

static void fuzz_note(void *context, enum mcp_wrap_note note, bool is_server)
{
	(void)context;
	(void)is_server;
	fuzz_require(note < MCP_WRAP_NOTES);
}

static void fuzz_check(const struct buffer *out, const char *line, size_t len)
{
	auto_mcp_message was = { 0 }, is = { 0 };
	struct error e = { 0 };

	if (out->len == 0)
		return;
	fuzz_require(out->data[out->len - 1] == '\n' && utf8_valid(out->data, out->len, NULL));
	if (out->len == len + 1 && memcmp(out->data, line, len) == 0)
		return;
	/* It was changed: the same answer, with a text more. */
	fuzz_require(mcp_message_read(&was, line, len, &e) == 0);
	fuzz_require(mcp_message_read(&is, out->data, out->len, &e) == 0);
	fuzz_require(is.kind == was.kind && (is.kind == MCP_RESULT || is.kind == MCP_ERROR));
	fuzz_require(node_equal(is.id, was.id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mcp_wrap w;
	auto_mcp_lines lines = { .max = 4096 };
	uint64_t calls = 0;
	const char *line;
	enum mcp_line what;
	bool is_server = false;
	size_t len;

	w = (struct mcp_wrap){ .host = { fuzz_begins, fuzz_denied, fuzz_note, &calls } };
	mcp_lines_add(&lines, (const char *)data, size);
	while ((what = mcp_lines_next(&lines, &line, &len)) != MCP_LINE_NONE) {
		auto_buffer out = { 0 };

		if (what == MCP_LINE_LONG) {
			mcp_wrap_long(&w, is_server, &out);
		} else {
			(is_server ? mcp_wrap_from_server : mcp_wrap_from_client)(
				&w, line, len, &out);
			fuzz_check(&out, line, len);
		}
		is_server = !is_server;
	}
	mcp_wrap_deinit(&w);
	return 0;
}
