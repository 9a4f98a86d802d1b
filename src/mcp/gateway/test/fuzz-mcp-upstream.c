/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a server: whatever it says, what is sent to it are messages, each call ends at most
 * once, its tools have names and schemas, its resources URIs, and what clients get of an answer is
 * JSON, whatever it was asked.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json.h"
#include "mcp/gateway/result.h"
#include "mcp/gateway/upstream.h"
#include "mcp/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	struct upstream u;
	bool is_open;
};

static void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_call(struct fuzz *f)
{
	const struct upstream_request r = { .name = "a", .wants_progress = true, .owner = f };

	if (f->is_open)
		return;
	fuzz_require(upstream_call(&f->u, &r) == 0);
	f->is_open = true;
}

static void fuzz_listed(void *context)
{
	struct fuzz *f = context;

	fuzz_require(f->u.state == UPSTREAM_READY);
	node_for_each(t, upstream_listed(&f->u, UPSTREAM_TOOLS)) {
		fuzz_require(*node_get_text(t, "name") && node_get(t, "inputSchema"));
	}
	node_for_each(r, upstream_listed(&f->u, UPSTREAM_RESOURCES)) {
		fuzz_require(upstream_is_uri(node_get_text(r, "uri")));
	}
	fuzz_call(f);
}

static void fuzz_make(enum gateway_kind kind, bool completes, const struct mcp_message *m)
{
	struct gateway_result result = { .kind = kind, .server = "s", .name = "t", .max = 1024 };
	struct mcp_result r = { 0 };

	if (completes)
		gateway_completion_make(&result, m, NULL, &r);
	else
		gateway_result_make(&result, m, NULL, &r);
	for (int i = 0; i < 2; i++) {
		const struct buffer *b = i ? &r.structured : &r.content;
		auto_document d = { 0 };

		fuzz_require(b->len == 0 || json_read(&d, NULL, b->data, b->len, NULL) == 0);
	}
	buffer_deinit(&r.text);
	buffer_deinit(&r.content);
	buffer_deinit(&r.structured);
}

static void fuzz_answered(void *context, void *owner, const struct mcp_message *m)
{
	struct fuzz *f = context;

	fuzz_require(owner == f && f->is_open);
	f->is_open = false;
	for (int kind = 0; kind < GATEWAY_KINDS; kind++)
		fuzz_make((enum gateway_kind)kind, false, m);
	fuzz_make(GATEWAY_PROMPT, true, m);
}

static void fuzz_progressed(void *context, void *owner, const struct node *params)
{
	const struct fuzz *f = context;

	fuzz_require(owner == f && f->is_open && params);
}

static void fuzz_check(const struct buffer *out)
{
	auto_mcp_lines lines = { 0 };
	enum mcp_line what;
	const char *line;
	size_t len;

	mcp_lines_add(&lines, buffer_text(out), out->len);
	while ((what = mcp_lines_next(&lines, &line, &len)) != MCP_LINE_NONE) {
		auto_mcp_message m = { 0 };

		fuzz_require(what == MCP_LINE_WHOLE && mcp_message_read(&m, line, len, NULL) == 0);
		fuzz_require(m.kind != MCP_OTHER);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .u = { .version = "0" } };
	auto_mcp_lines lines = { .max = 4096 };
	enum mcp_line what;
	const char *line;
	size_t len;

	f.u.host = (struct upstream_host){ fuzz_listed, fuzz_answered, fuzz_progressed, &f };
	for (int i = UPSTREAM_PROMPTS; i < UPSTREAM_LISTS; i++)
		f.u.wants[i] = true;
	upstream_begin(&f.u);
	mcp_lines_add(&lines, (const char *)data, size);
	while ((what = mcp_lines_next(&lines, &line, &len)) != MCP_LINE_NONE) {
		upstream_line(&f.u, what == MCP_LINE_WHOLE ? line : NULL, len);
		if (f.u.state == UPSTREAM_STALE)
			upstream_list(&f.u);
	}
	fuzz_check(&f.u.out);
	upstream_deinit(&f.u);
	return 0;
}
