/* SPDX-License-Identifier: Apache-2.0 */
/* What clients say to corrald: their calls, that they have gone, and what was refused. */
#include <errno.h>

#include "daemon/http/internal.h"

int server_call(struct server *s, const struct route_call *call, uint64_t *ret_id)
{
	auto_buffer body = { 0 };
	const uint64_t id = s->next_call + 1;
	int r = s->n_calls < SERVER_CALLS_MAX ? route_call_encode(call, &body) : -EBUSY;

	if (r == 0)
		r = frame_send(s->supervisor, FRAME_API_CALL, id, body.data, body.len, NULL, 0);
	if (r == -EAGAIN || r == -ETOOMANYREFS || r == -EMFILE || r == -ENFILE)
		return -EBUSY;
	if (r < 0)
		return r;
	s->next_call = id;
	s->n_calls++;
	*ret_id = id;
	return 0;
}

void server_leave(struct server *s, uint64_t id)
{
	/* Without room it is run for nothing; its answer is thrown away. */
	(void)frame_send(s->supervisor, FRAME_API_GONE, id, NULL, 0, NULL, 0);
}

void server_note(struct server *s, const struct api_request *q, bool by_unix)
{
	const struct message_note m = { .status = q->status,
		.more = s->n_unsaid,
		.by_unix = by_unix,
		.target = q->target,
		.reason = q->reason };
	auto_buffer body = { 0 };

	if (s->n_notes >= SERVER_NOTES_MAX || message_note_encode(&m, &body) < 0 ||
		frame_send(s->supervisor, FRAME_API_NOTE, 0, body.data, body.len, NULL, 0) < 0) {
		s->n_unsaid++;
		s->unsaid = *q;
		return;
	}
	s->n_notes++;
	s->n_unsaid = 0;
}
