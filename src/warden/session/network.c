/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session and its relay. Sockets pass through on their way from the zygote, and other
 * permissions on their way from the host; records and answers come back.
 * A record of what a command was denied is sent before the command hears of it, so whoever reads
 * all records before a command's end has those of the command.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "warden/session/internal.h"
#include "wire/record.h"
#include "wire/sockets.h"

enum {
	FRAMES_MAX = 4096, /* at once */
	FINISH_MS = 2000,  /* longer than the relay takes */
};

int session_start_relay(struct session *s, struct error *e)
{
	if (s->plan->network != PLAN_NETWORK_RELAY)
		return 0;
	return relay_process_start(&s->relay, s->plan, e);
}

int session_pass_sockets(struct session *s)
{
	if (s->relay.pid == 0)
		return -EPROTO;
	return sockets_pass(s->relay.socket, &s->frame);
}

/* The relay does not see who it was. If there is one command only, it was that, or a child of it.
 */
static void name_program(const struct session *s, struct record *r)
{
	const struct command *c = s->commands;

	if (c && !c->next && c->program && r->program[0] == '\0')
		r->program = c->program;
}

/* Without a body: it holds. */
static int tell_change(struct session *s)
{
	struct session_event event = { .kind = SESSION_POLICY, .id = s->frame.id, .fd = -1 };
	int r = s->frame.len == 0 ? 0 : refusal_decode(&event.refusal, s->frame.body, s->frame.len);

	if (r == 0)
		session_report(s, &event);
	return r;
}

int session_change(struct session *s, uint64_t id, const void *body, size_t len)
{
	if (s->gone || s->relay.pid == 0)
		return -ENOTCONN;
	return frame_send(s->relay.socket, FRAME_POLICY, id, body, len, NULL, 0);
}

static int session_network_tell(struct session *s)
{
	struct record record;
	int r = s->frame.type == FRAME_RECORD ? record_decode(&record, s->frame.body, s->frame.len)
					      : -EPROTO;

	if (s->frame.type == FRAME_POLICY)
		return tell_change(s);
	if (r < 0)
		return r;
	name_program(s, &record);
	session_report(
		s, &(struct session_event){ .kind = SESSION_RECORD, .fd = -1, .record = &record });
	return 0;
}

int session_hear_relay(struct session *s)
{
	for (int i = 0; s->relay.pid != 0 && i < FRAMES_MAX; i++) {
		int r = frame_receive(s->relay.socket, &s->frame);

		if (r == -EAGAIN)
			return 0;
		r = r == 1 ? session_network_tell(s) : r == 0 ? -EPIPE : r;
		if (r < 0)
			return r;
	}
	return 0;
}

/* It takes the hang-up for the end, tells the rest, and hangs up itself. */
void session_finish(struct session *s)
{
	struct pollfd p = { .fd = s->relay.socket, .events = POLLIN };
	int64_t end = (int64_t)clock_ms(CLOCK_MONOTONIC) + FINISH_MS, left = FINISH_MS;

	if (s->relay.pid == 0 || shutdown(s->relay.socket, SHUT_WR) < 0)
		return;
	while (left > 0 && poll(&p, 1, (int)left) != 0 && session_hear_relay(s) == 0)
		left = end - (int64_t)clock_ms(CLOCK_MONOTONIC);
}
