/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/filter.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "event/wait.h"
#include "mcp/lines.h"
#include "process/confinement.h"

enum {
	FILTER_HELD_MAX = 1 << 20, /* of what waits to be written: then no more is read */
	FILTER_CHUNK = 64 << 10,
};

/* One way. */
struct filter_flow {
	int from, to; /* -1: it has ended */
	bool is_server;
	struct mcp_lines lines;
	struct buffer out;
	size_t at; /* so much of it is written */
};

struct filter {
	struct filter_flow to_server, to_client;
	struct mcp_wrap wrap;
	int control;
};

/* The holder */

static void filter_say(struct filter *f, enum mcp_filter_kind kind, uint64_t value, bool is_server)
{
	const struct mcp_filter_word word = { kind, is_server, value };

	/* Its buffer is full of notes that the holder has not read yet: it reads them soon. */
	(void)send(f->control, &word, sizeof(word), MSG_NOSIGNAL);
}

static void filter_begins(void *context, uint64_t call)
{
	filter_say(context, MCP_FILTER_BEGINS, call, false);
}

static void filter_note(void *context, enum mcp_wrap_note note, bool is_server)
{
	filter_say(context, MCP_FILTER_NOTE, note, is_server);
}

static void filter_denied(void *context, uint64_t call, struct buffer *out)
{
	struct filter *f = context;
	char text[MCP_FILTER_TEXT_MAX];
	ssize_t n;

	filter_say(f, MCP_FILTER_DENIED, call, true);
	if (wait_for_one(f->control, POLLIN, wait_until(MCP_FILTER_ANSWER_MS)) <= 0)
		return;
	n = recv(f->control, text, sizeof(text), MSG_DONTWAIT);
	if (n > 0)
		buffer_add(out, text, (size_t)n);
}

/* The lines */

static void filter_flow_close(struct filter_flow *w)
{
	fd_close(&w->from);
	fd_close(&w->to);
}

static void filter_take_lines(struct filter *f, struct filter_flow *w)
{
	const char *line;
	size_t len;

	for (;;) {
		switch (mcp_lines_next(&w->lines, &line, &len)) {
		case MCP_LINE_NONE:
			return;
		case MCP_LINE_LONG:
			mcp_wrap_long(&f->wrap, w->is_server, &f->to_client.out);
			break;
		case MCP_LINE_WHOLE:
			if (w->is_server)
				mcp_wrap_from_server(&f->wrap, line, len, &w->out);
			else
				mcp_wrap_from_client(&f->wrap, line, len, &w->out);
			break;
		}
	}
}

static void filter_read(struct filter *f, struct filter_flow *w)
{
	static char bytes[FILTER_CHUNK];
	const ssize_t n = read(w->from, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		fd_close(&w->from);
		return;
	}
	mcp_lines_add(&w->lines, bytes, (size_t)n);
	filter_take_lines(f, w);
}

static void filter_write(struct filter_flow *w)
{
	const size_t left = w->out.len - w->at;
	const ssize_t n = write(w->to, w->out.data + w->at, left < PIPE_BUF ? left : PIPE_BUF);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		filter_flow_close(w);
		return;
	}
	w->at += (size_t)n;
	if (w->at == w->out.len) {
		buffer_clear(&w->out);
		w->at = 0;
	}
}

/* Both ways at once: neither waits for a peer of the other that does not read. */
static void filter_turn(struct filter *f)
{
	struct filter_flow *const flows[] = { &f->to_server, &f->to_client };
	struct pollfd p[2 * ROWS(flows)];

	for (size_t i = 0; i < ROWS(flows); i++) {
		const struct filter_flow *w = flows[i];
		const size_t waits = w->out.len - w->at;

		p[2 * i] = (struct pollfd){ .fd = waits > FILTER_HELD_MAX ? -1 : w->from,
			.events = POLLIN };
		p[2 * i + 1] = (struct pollfd){ .fd = waits ? w->to : -1, .events = POLLOUT };
	}
	if (wait_for(p, ROWS(p), WAIT_FOR_EVER) <= 0)
		return;
	for (size_t i = 0; i < ROWS(flows); i++) {
		struct filter_flow *w = flows[i];

		if (p[2 * i + 1].revents)
			filter_write(w);
		if (p[2 * i].revents && w->from >= 0)
			filter_read(f, w);
		/* The end passes, too. */
		if (w->from < 0 && w->at == w->out.len)
			filter_flow_close(w);
	}
}

static bool filter_has_failed(const struct filter *f)
{
	return f->to_server.out.failed || f->to_client.out.failed ||
	       f->to_server.lines.held.failed || f->to_client.lines.held.failed;
}

static int filter_confine(struct mcp_filter *m)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	int *const kept[] = { &m->client_in, &m->client_out, &m->server_in, &m->server_out,
		&m->control };
	int r = fd_keep_only(kept, ROWS(kept));

	/* They are for the server, which the holder ends; then the lines end. */
	for (size_t i = 0; i < ROWS(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	if (r == 0)
		r = confinement_begin(PROCESS_MCP_FILTER);
	return r < 0 ? r : confinement_enter(PROCESS_MCP_FILTER, NULL);
}

int mcp_filter_run(const struct mcp_filter *of)
{
	/* Not on the stack: large. */
	static struct filter f;
	struct mcp_filter m = *of;

	if (filter_confine(&m) < 0)
		return 1;
	f = (struct filter){ .control = m.control,
		.to_server = { .from = m.client_in, .to = m.server_in },
		.to_client = { .from = m.server_out, .to = m.client_out, .is_server = true },
		.wrap.host = { filter_begins, filter_denied, filter_note, &f } };
	filter_say(&f, MCP_FILTER_READY, 0, false);
	while ((f.to_client.from >= 0 || f.to_client.at < f.to_client.out.len) &&
		f.to_client.to >= 0 && !filter_has_failed(&f))
		filter_turn(&f);
	return filter_has_failed(&f) ? 1 : 0;
}

/* The holder's side */

int mcp_filter_hear(int control, struct mcp_filter_word *ret)
{
	struct mcp_filter_word word;
	const ssize_t n = recv(control, &word, sizeof(word), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	if (n != sizeof(word) || word.kind < MCP_FILTER_READY || word.kind > MCP_FILTER_NOTE)
		return -EPROTO;
	*ret = word;
	return 1;
}

void mcp_filter_answer(int control, const struct buffer *text)
{
	size_t len = text->failed ? 0 : text->len;

	if (len > MCP_FILTER_TEXT_MAX)
		len = MCP_FILTER_TEXT_MAX;
	/* Not in the middle of a line, so not of a character either. */
	while (len < text->len && len > 0 && text->data[len - 1] != '\n')
		len--;
	(void)send(control, buffer_text(text), len, MSG_NOSIGNAL | MSG_DONTWAIT);
}
