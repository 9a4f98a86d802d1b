/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "broker/call.h"
#include "cli/ask/kept.h"
#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/service/try.h"
#include "host/session-bus.h"
#include "process/child.h"

enum { NOTIFY_WAIT_MS = 10 * 1000, NOTIFY_END_S = 30, NOTIFY_STAMPS_BYTES = 256 };

/* The run's side */

static bool notify_has_room(struct ask_notify *n)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	uint64_t *oldest = &n->sent_ms[n->n % ASK_NOTIFY_MAX];

	if (n->n >= ASK_NOTIFY_MAX && now - *oldest < ASK_NOTIFY_MS)
		return false;
	*oldest = now;
	n->n++;
	return true;
}

void ask_notify(struct run *r, uint32_t op, const char *target, bool is_later)
{
	const char *argv[8] = { "corral", "questions", "notify" };
	struct child child = CHILD_NONE;
	size_t n = 3;

	if (op >= OPERATION_COUNT || ask_has_terminal(r) || !session_bus_is_watched() ||
		!notify_has_room(&r->notify))
		return;
	if (is_later)
		argv[n++] = "--later";
	argv[n++] = "--";
	argv[n++] = operation_name((enum operation)op);
	argv[n++] = target;
	/* It ends by itself. Nothing that a user could do about it depends on it. */
	if (child_start(&child, "/proc/self/exe", argv, (const char *const *)environ) == 0)
		(void)close(child.socket);
}

/* What it says */

void ask_notify_words(enum operation op, const char *target, bool is_later, struct buffer *title,
	struct buffer *body)
{
	struct output o = { 0 };

	buffer_adds(title, is_later ? "a command failed, and its next run could be allowed more"
				    : "a command waits for your answer");
	buffer_printf(body, "May it %s this?\n", ask_words_of(op));
	ask_words_name(&o, target);
	/* A name that is cut is another name. */
	if (o.text.failed || o.text.len > ASK_NOTIFY_NAME)
		buffer_printf(
			body, "(a name of %zu bytes, too long for this place)", strlen(target));
	else
		buffer_adds(body, buffer_text(&o.text));
	buffer_adds(
		body, "\nTo see it whole, and to answer: corral questions list, or the dashboard");
	buffer_deinit(&o.text);
}

/* Sending */

/* When the last ones were shown, for all runs of the user. 1: there were too many of late. */
static int notify_stamp(struct call *c)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME);
	auto_buffer text = { 0 }, next = { 0 };
	const char *path = NULL;
	auto_fd lock = -1;
	unsigned n = 0;
	int r = ask_kept_lock(c, "notified", &path, &lock);

	if (r < 0)
		return r;
	if (file_read_regular(path, NOTIFY_STAMPS_BYTES, &text) < 0)
		buffer_clear(&text);
	for (const char *p = buffer_text(&text); *p && n < ASK_NOTIFY_MAX;) {
		char *end = NULL;
		const uint64_t at = strtoull(p, &end, 10);

		if (end == p)
			break;
		if (at <= now && now - at < ASK_NOTIFY_MS) {
			buffer_printf(&next, "%" PRIu64 "\n", at);
			n++;
		}
		p = end;
	}
	if (n == ASK_NOTIFY_MAX)
		return 1;
	buffer_printf(&next, "%" PRIu64 "\n", now);
	return next.failed ? -ENOMEM : file_replace(path, next.data, next.len, S_IRUSR | S_IWUSR);
}

/*
 * What is needed of its row in the table of methods, which would be relocated at each start of
 * corral if it were linked.
 */
const struct method ask_notify_method = {
	.id = METHOD_NOTIFICATIONS_SEND,
	.params = { { "title", SCHEMA_TEXT, true, 256 }, { "body", SCHEMA_TEXT, false, 4096 },
		{ "sound", SCHEMA_FLAG, false } },
	.results = { { "shown", SCHEMA_FLAG, true } },
};

int ask_notify_show(struct call *c, enum operation op, const char *target, bool is_later)
{
	const struct service_backend *b = service_backend_find("notifications");
	struct broker_call call = { .method = &ask_notify_method };
	struct service_session session;
	struct try_result result = { 0 };
	auto_buffer title = { 0 }, body = { 0 };
	int r = notify_stamp(c);

	if (r != 0)
		return r < 0 ? error_set(c->error, r, NULL, "Corral's state cannot be written: %s",
				       strerror(-r))
			     : 1;
	ask_notify_words(op, target, is_later, &title, &body);
	call.params.v[0] = value_text(buffer_text(&title), title.len);
	call.params.v[1] = value_text(buffer_text(&body), body.len);
	/* Whoever started it does not wait for it. */
	(void)alarm(NOTIFY_END_S);
	r = b ? try_session(c->arena, &session) : -ENOENT;
	if (r < 0)
		return error_set(c->error, r, NULL, "notifications cannot be shown");
	session.sandbox = "Corral";
	r = try_call(c->arena, &session, b, &call, NOTIFY_WAIT_MS, &result);
	if (r == 0 && result.works)
		return 0;
	return error_set(c->error, r < 0 ? r : -EIO, NULL, "%s",
		result.text && result.text[0] ? result.text : "notifications cannot be shown");
}
