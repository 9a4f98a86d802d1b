/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on their way to corrald-http, which has those who listen. It gets each as it happens, and
 * a new one the latest. If it does not keep up, events are dropped, which it sees by their ids.
 */
#include <string.h>

#include "base/clock.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/supervisor.h"

static struct bus_event *bus_at(struct bus *b, uint64_t id)
{
	return &b->kept[id % BUS_KEPT];
}

void bus_begin(struct bus *b)
{
	/* Those of an earlier daemon are all before it. */
	b->first_id = b->next_id = clock_ns(CLOCK_REALTIME) / 1000;
}

static void bus_send(struct supervisor *s, const struct bus_event *e)
{
	if (s->http.child.pid == 0)
		return;
	outbox_offer(&s->http.out, FRAME_API_EVENT, e->id, e->body.data, e->body.len);
}

void bus_add(struct supervisor *s, const char *type, const char *json)
{
	const struct message_event m = { type, json };
	struct bus *b = &s->bus;
	auto_buffer body = { 0 };
	struct bus_event *e;

	if (message_event_encode(&m, &body) < 0)
		return;
	e = bus_at(b, b->next_id);
	buffer_deinit(&e->body);
	*e = (struct bus_event){ .id = b->next_id++, .body = body };
	body = (struct buffer){ 0 };
	bus_send(s, e);
}

void bus_publish(struct supervisor *s, const char *type, const char *json)
{
	bus_add(s, type, json);
	http_link_flush(s);
}

void bus_repeat(struct supervisor *s)
{
	struct bus *b = &s->bus;
	uint64_t id = b->next_id - b->first_id > BUS_KEPT ? b->next_id - BUS_KEPT : b->first_id;

	for (; id < b->next_id; id++)
		bus_send(s, bus_at(b, id));
}

void bus_deinit(struct bus *b)
{
	for (size_t i = 0; i < BUS_KEPT; i++)
		buffer_deinit(&b->kept[i].body);
}
