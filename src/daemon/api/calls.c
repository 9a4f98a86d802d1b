/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are under way, and the record of each: in the log and as an event, when it was
 * answered.
 */
#include "base/array.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"

/*
 * Who asked for what, for the log and for those who listen. It must not flush: that may start
 * another corrald-http, and the answer to this call would go there.
 */
static void api_tell(struct supervisor *s, const char *target, unsigned status, bool by_unix,
	const char *reason, uint64_t count)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	s->api.metrics.requests[status / 100 % ROWS(s->api.metrics.requests)] += count;
	journal_record(s, &(struct audit_event){ .action = AUDIT_SERVICE,
				  .program = "corrald-http",
				  .target = target,
				  .decision = status < 400   ? AUDIT_ALLOWED
					      : status < 500 ? AUDIT_DENIED
							     : AUDIT_FAILED,
				  .rule = by_unix ? "api.sock" : "loopback",
				  .reason = reason,
				  .status = status,
				  .count = count,
				  .exact = true });
	json_open_map(&w, NULL);
	json_put_text(&w, "request", target);
	json_put_count(&w, "status", status);
	json_put_text(&w, "channel", by_unix ? "unix" : "tcp");
	json_put_count(&w, "count", count);
	json_put_text(&w, "reason", reason);
	json_close(&w);
	if (!json.failed)
		bus_add(s, "api_request", json.data);
}

/* Wrong links are told one by one, so many in a second; the others of that second together. */

static void api_tell_wrong_links(struct supervisor *s)
{
	const uint64_t more = s->api.wrong_links.more;

	s->api.wrong_links.n = s->api.wrong_links.more = 0;
	if (more)
		api_tell(s, "POST /api/login", 401, s->api.wrong_links.by_unix, API_WRONG_LINK,
			more);
}

static void api_on_wrong_links(struct timer *t)
{
	api_tell_wrong_links(container_of(t, struct supervisor, api.wrong_links.second));
}

/* False: it is told later. */
static bool api_may_tell_wrong_link(struct supervisor *s, bool by_unix)
{
	if (s->api.wrong_links.n == 0) {
		s->api.wrong_links.second.expired = api_on_wrong_links;
		if (loop_start(s->loop, &s->api.wrong_links.second, 1000) < 0)
			return true;
	}
	if (s->api.wrong_links.n++ < API_WRONG_LINKS_MAX)
		return true;
	s->api.wrong_links.more++;
	s->api.wrong_links.by_unix = by_unix;
	return false;
}

static void api_end(
	struct supervisor *s, struct api_pending *call, unsigned status, const char *reason)
{
	auto_buffer target = { 0 };
	const bool is_wrong_link = call->route == &routes[ROUTE_LOGIN] && status == 401;

	buffer_printf(&target, "%s %s", call->route->method, call->route->path);
	call->route = NULL;
	if (!is_wrong_link || api_may_tell_wrong_link(s, call->by_unix))
		api_tell(s, buffer_text(&target), status, call->by_unix, reason, 1);
}

void api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason)
{
	for (size_t i = 0; i < ROWS(s->api.calls); i++)
		if (s->api.calls[i].route && s->api.calls[i].id == id) {
			const enum route_effect effect = s->api.calls[i].route->effect;

			api_end(s, &s->api.calls[i], status, reason);
			if (effect != ROUTE_EFFECT_READS && status < 400)
				(void)journal_commit(s, NULL);
			return;
		}
}

void api_forget_calls(struct supervisor *s)
{
	api_tell_wrong_links(s);
	for (size_t i = 0; i < ROWS(s->api.calls); i++)
		if (s->api.calls[i].route)
			api_end(s, &s->api.calls[i], 503,
				"corrald-http ended before the answer; the call may have been "
				"carried out");
}

void api_note(struct supervisor *s, const struct message_note *m)
{
	api_tell(s, m->target, m->status, m->by_unix, m->reason, (uint64_t)m->more + 1);
	journal_say(s, CONFIG_DEBUG, "refused %s: %u %s", m->target, m->status, m->reason);
}
