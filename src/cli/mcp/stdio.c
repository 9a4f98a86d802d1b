/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/stdio.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/mcp/ending.h"
#include "event/wait.h"

enum { STDIO_CHUNK = 64 << 10, STDIO_OUT_MAX = 1 << 20 };

static void mcp_stdio_end(struct mcp_stdio *s, int code)
{
	s->is_over = true;
	s->code = s->code ? s->code : code;
}

/* Waits for a client that does not read: it is its own answers that it does not get. */
static void mcp_stdio_flush(struct mcp_stdio *s)
{
	struct buffer *out = &s->server->out;

	while (!s->is_over && s->at < out->len) {
		const size_t left = out->len - s->at;
		struct pollfd p[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
			{ .fd = s->signals.fd, .events = POLLIN } };
		ssize_t n;

		if (wait_for(p, ROWS(p), WAIT_FOR_EVER) < 0 || p[1].revents) {
			mcp_stdio_end(s, 0);
			return;
		}
		n = write(STDOUT_FILENO, out->data + s->at, left < PIPE_BUF ? left : PIPE_BUF);
		if (n >= 0)
			s->at += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			mcp_stdio_end(s, 0);
	}
	if (out->failed)
		mcp_stdio_end(s, -ENOMEM);
	buffer_clear(out);
	s->at = 0;
}

static void mcp_stdio_read(struct watcher *w, uint32_t events)
{
	static char bytes[STDIO_CHUNK];
	struct mcp_stdio *s = container_of(w, struct mcp_stdio, in);
	const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	enum mcp_line what;
	const char *line;
	size_t len;

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		mcp_stdio_end(s, 0);
		return;
	}
	mcp_lines_add(&s->lines, bytes, (size_t)n);
	while (!s->is_over && (what = mcp_lines_next(&s->lines, &line, &len)) != MCP_LINE_NONE) {
		mcp_server_line(s->server, what == MCP_LINE_WHOLE ? line : NULL, len);
		if (s->server->out.len > STDIO_OUT_MAX)
			mcp_stdio_flush(s);
	}
	if (s->lines.held.failed)
		mcp_stdio_end(s, -ENOMEM);
}

static void mcp_stdio_on_signal(struct watcher *w, uint32_t events)
{
	(void)events;
	mcp_stdio_end(container_of(w, struct mcp_stdio, signals), 0);
}

static int mcp_stdio_watch(struct mcp_stdio *s)
{
	int r = 0;

	s->signals = (struct watcher){ .ready = mcp_stdio_on_signal, .fd = -1 };
	r = mcp_ending_watch(s->loop, &s->signals);
	s->in = (struct watcher){ .ready = mcp_stdio_read, .fd = -1 };
	return r < 0 ? r : loop_add(s->loop, &s->in, STDIN_FILENO, EPOLLIN);
}

int mcp_stdio_run(struct mcp_stdio *s, struct error *e)
{
	int r = mcp_stdio_watch(s);

	/* EPERM: a file, which is always ready. */
	if (r == -EPERM)
		return error_set(e, r, NULL,
			"standard input is a file; `%s` is started by an MCP client, with a pipe",
			s->name);
	while (r >= 0 && !s->is_over) {
		const int asking_ms = mcp_asking_turn(s->server);
		const int turn_ms = s->turn ? s->turn(s->context) : -1;
		const int wait_ms = turn_ms >= 0 && (asking_ms < 0 || turn_ms < asking_ms)
					    ? turn_ms
					    : asking_ms;

		if (turn_ms < -1)
			mcp_stdio_end(s, turn_ms);
		if (s->server->out.len)
			mcp_stdio_flush(s);
		if (!s->is_over)
			r = loop_turn(s->loop, wait_ms);
	}
	return r < 0 ? r : s->code;
}

void mcp_stdio_deinit(struct mcp_stdio *s)
{
	mcp_lines_deinit(&s->lines);
	if (s->signals.fd >= 0)
		(void)close(s->signals.fd);
	s->signals.fd = -1;
}
