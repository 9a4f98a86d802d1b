/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait until `corral` can run for them: TOOLS_CALLS_MAX run at once, others stand in a
 * line, first come, first served. There is a line for TCP and one for the Unix socket, served in
 * turn, so that a flood by one does not keep out who comes by the other. A connection has one call
 * at a time.
 *
 * A line is bounded by its calls and by their bytes; a call leaves it after TOOL_WAIT_MS, or when
 * its client has gone. All waiting calls are those of the corrald-http that runs: with it they go.
 * Invariant: while a call waits, no place to run it is free.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/api/api.h"
#include "daemon/api/tool-queue.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/supervisor.h"

struct tool_waiting {
	struct link link;
	struct supervisor *s;
	struct tool_line *line;
	struct timer timer;
	struct arena arena; /* of what the request points to */
	struct tool_request request;
};

void tool_queue_open(struct supervisor *s)
{
	for (size_t i = 0; i < TOOL_LINES; i++)
		link_init(&s->api.tool_queue.lines[i].waiting);
}

static void tool_waiting_free(struct tool_waiting *w)
{
	loop_stop(w->s->loop, &w->timer);
	link_remove(&w->link);
	w->line->n--;
	w->line->bytes -= w->arena.used;
	arena_deinit(&w->arena);
	free(w);
}

static void tool_waiting_on_timer(struct timer *t)
{
	struct tool_waiting *w = container_of(t, struct tool_waiting, timer);
	struct supervisor *s = w->s;

	api_fail(s, w->request.id, 504, "it waited too long; try again");
	tool_waiting_free(w);
	http_link_flush(s);
}

/* A text that may be NULL. False: out of memory. */
static bool tool_waiting_keep(struct tool_waiting *w, const char **text)
{
	const bool is_given = *text != NULL;

	if (is_given)
		*text = arena_strdup(&w->arena, *text);
	return !is_given || *text;
}

static int tool_waiting_fill(struct tool_waiting *w, const struct tool_request *r)
{
	const char **argv;
	size_t n = 0;

	w->request = *r;
	while (r->argv[n])
		n++;
	argv = arena_calloc(&w->arena, n + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		argv[i] = r->argv[i];
		if (!tool_waiting_keep(w, &argv[i]))
			return -ENOMEM;
	}
	w->request.argv = argv;
	return tool_waiting_keep(w, &w->request.input) &&
			       tool_waiting_keep(w, &w->request.record) &&
			       tool_waiting_keep(w, &w->request.subject)
		       ? 0
		       : -ENOMEM;
}

int tool_queue_add(struct supervisor *s, bool by_unix, const struct tool_request *r)
{
	struct tool_line *line = &s->api.tool_queue.lines[by_unix];
	struct tool_waiting *w;
	int ret;

	if (line->n >= TOOL_LINE_MAX || line->bytes >= TOOL_LINE_BYTES)
		return -EBUSY;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct tool_waiting){
		.s = s, .line = line, .timer = { .expired = tool_waiting_on_timer }
	};
	link_append(&line->waiting, &w->link);
	line->n++;
	ret = tool_waiting_fill(w, r);
	line->bytes += w->arena.used;
	if (ret == 0)
		ret = loop_start(s->loop, &w->timer, TOOL_WAIT_MS);
	if (ret < 0)
		tool_waiting_free(w);
	return ret;
}

/* The first of the line whose turn it is; NULL: nothing waits. */
static struct tool_waiting *tool_queue_first(struct tool_queue *q)
{
	for (size_t i = 0; i < TOOL_LINES; i++) {
		struct tool_line *line = &q->lines[(q->turn + i) % TOOL_LINES];

		if (line->n > 0)
			return container_of(line->waiting.next, struct tool_waiting, link);
	}
	return NULL;
}

void tool_queue_serve(struct supervisor *s)
{
	struct tool_queue *q = &s->api.tool_queue;
	struct tool_waiting *w;

	while ((w = tool_queue_first(q))) {
		const int ret = tool_start_own(s, &w->request);

		if (ret == -EBUSY)
			return;
		if (ret < 0)
			tool_refuse(s, w->request.id, ret);
		q->turn = (size_t)(w->line - q->lines) + 1;
		tool_waiting_free(w);
	}
}

void tool_queue_leave(struct supervisor *s, uint64_t id)
{
	for (size_t i = 0; i < TOOL_LINES; i++) {
		const struct link *head = &s->api.tool_queue.lines[i].waiting;

		for (struct link *l = head->next; l != head; l = l->next) {
			struct tool_waiting *w = container_of(l, struct tool_waiting, link);

			if (w->request.id != id)
				continue;
			/* Each call has an answer, also one that no client reads. */
			api_fail(s, id, 503, "the client has gone");
			tool_waiting_free(w);
			return;
		}
	}
}

void tool_queue_clear(struct supervisor *s)
{
	for (size_t i = 0; i < TOOL_LINES; i++) {
		const struct link *head = &s->api.tool_queue.lines[i].waiting;

		for (struct link *l = head->next, *next = l->next; l != head;
			l = next, next = l->next) {
			struct tool_waiting *w = container_of(l, struct tool_waiting, link);

			api_answered(s, w->request.id, 503,
				"corrald-http ended before the call was carried out");
			tool_waiting_free(w);
		}
	}
}
