/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client and a server in turn: `>` begins a line of the client, a digit the answer to the
 * exchange of that place, by the letter behind it. Whatever they say, the client gets lines that
 * are messages, an answer to each of its requests at most once, and nothing is kept of what ended.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/remote/remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_PIECE = 7 };

static void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

/* What the client gets reads as what it is. */
static void fuzz_check_out(struct remote *r)
{
	auto_mcp_lines lines = { 0 };
	const char *line;
	size_t len;

	fuzz_require(!r->out.failed && !r->said.failed);
	fuzz_require(r->out.len == 0 || r->out.data[r->out.len - 1] == '\n');
	mcp_lines_add(&lines, buffer_text(&r->out), r->out.len);
	while (mcp_lines_next(&lines, &line, &len) == MCP_LINE_WHOLE) {
		auto_mcp_message m = { 0 };
		struct error e = { 0 };

		fuzz_require(mcp_message_read(&m, line, len, &e) == 0 && m.kind != MCP_OTHER);
	}
	buffer_clear(&r->out);
	buffer_clear(&r->said);
}

static void fuzz_check_headers(struct remote *r, struct remote_exchange *x)
{
	auto_buffer out = { 0 };

	fuzz_require(remote_print_headers(r, x, &out) == 0);
	for (const char *line = buffer_text(&out); *line; line += strcspn(line, "\n") + 1) {
		const size_t name = strcspn(line, ":\n");

		fuzz_require(name > 0 && line[name] == ':' && line[name + 1] == ' ');
		for (size_t i = 0; line[i] != '\n'; i++)
			fuzz_require(line[i] >= 0x20 && line[i] != 0x7f);
	}
}

static void fuzz_turn(struct remote *r)
{
	for (int i = 0; i < 3; i++)
		for (struct remote_exchange *x = r->exchanges, *next; x; x = next) {
			next = x->next;
			if (x->state == REMOTE_NEW) {
				fuzz_check_headers(r, x);
				fuzz_require(x->delay_ms <= REMOTE_PAUSE_MAX_MS);
				x->state = REMOTE_OPEN;
			} else if (x->state == REMOTE_GONE) {
				remote_forget(r, x);
			}
		}
	fuzz_require(r->n_exchanges <= REMOTE_EXCHANGES_MAX);
	fuzz_require(r->exchanges || r->held == 0);
}

static struct remote_exchange *fuzz_find(const struct remote *r, unsigned place)
{
	for (struct remote_exchange *x = r->exchanges; x; x = x->next)
		if (x->state == REMOTE_OPEN && place-- == 0)
			return x;
	return NULL;
}

/* A letter, and the body; a stream has `|` for its line breaks. */
static void fuzz_answer(
	struct remote *r, struct remote_exchange *x, char how, char *body, size_t len)
{
	const bool is_stream = how == 's' || how == 'S';
	const struct remote_head head = { .status = how == 'e'   ? 400
						    : how == '4' ? 404
						    : how == 'a' ? 202
								 : 200,
		.type = is_stream    ? "text/event-stream"
			: how == 'h' ? "text/html"
				     : "application/json",
		.encoding = how == 'z' ? "gzip" : NULL,
		.session = how == 'n' ? "s" : NULL,
		.location = how == 'r' ? "https://other/" : NULL };
	int r_ = remote_begun(r, x, &head);

	for (size_t i = 0; i < len && is_stream; i++)
		if (body[i] == '|')
			body[i] = '\n';
	for (size_t at = 0; r_ == 0 && at < len; at += FUZZ_PIECE)
		r_ = remote_data(r, x, body + at, len - at < FUZZ_PIECE ? len - at : FUZZ_PIECE);
	remote_ended(r, x, how == 'S' || how == 'b' ? "it broke off" : NULL);
}

static void fuzz_line(struct remote *r, char *line, size_t len)
{
	struct remote_exchange *x;

	if (len > 0 && line[0] == '>') {
		remote_line(r, line + 1, len - 1);
	} else if (len > 1 && line[0] >= '0' && line[0] <= '9') {
		x = fuzz_find(r, (unsigned)(line[0] - '0'));
		if (x)
			fuzz_answer(r, x, line[1], line + 2, len - 2);
	} else if (len > 0 && line[0] == '.') {
		remote_close(r, len > 1);
	}
	fuzz_check_out(r);
	fuzz_turn(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct remote r = { .o = { "https://server/", size % 2 ? "TOKEN" : NULL } };
	auto_buffer copy = { 0 };

	buffer_add(&copy, data, size);
	for (size_t at = 0; at < copy.len;) {
		char *line = copy.data + at, *end = memchr(line, '\n', copy.len - at);
		const size_t len = end ? (size_t)(end - line) : copy.len - at;

		fuzz_line(&r, line, len);
		at += len + 1;
	}
	remote_close(&r, true);
	fuzz_turn(&r);
	remote_deinit(&r);
	return 0;
}
