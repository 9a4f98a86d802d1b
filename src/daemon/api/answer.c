/* SPDX-License-Identifier: Apache-2.0 */
/* How a call is answered: its outcome is recorded, and corrald-http gets the answer. */
#include <errno.h>

#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/supervisor/supervisor.h"

void api_reply(struct supervisor *s, uint64_t id, unsigned status, const char *json, size_t len)
{
	const struct message_answer a = { status, json, len };
	auto_buffer body = { 0 };
	int r;

	if (s->http.child.pid == 0)
		return;
	r = message_answer_encode(&a, &body);
	if (r == -ENOMEM) {
		api_fail(s, id, 503, "out of memory");
		return;
	}
	if (r < 0) {
		api_fail(s, id, 500, "the answer is too long");
		return;
	}
	api_answered(s, id, status, "");
	outbox_add(&s->http.out, FRAME_API_ANSWER, id, body.data, body.len, -1);
}

void api_send(struct supervisor *s, uint64_t id, const struct buffer *json)
{
	if (json->failed)
		api_fail(s, id, 503, "out of memory");
	else
		api_reply(s, id, 200, json->data, json->len);
}

void api_fail(struct supervisor *s, uint64_t id, unsigned status, const char *text)
{
	auto_buffer json = { 0 }, body = { 0 };
	struct json_writer w = { .out = &json };

	api_answered(s, id, status, text);
	if (s->http.child.pid == 0)
		return;
	json_open_map(&w, NULL);
	json_put_text(&w, "error", text);
	json_end_line(&w);
	/* corrald-http would wait for ever for an answer that cannot be made. */
	if (json.failed ||
		message_answer_encode(
			&(struct message_answer){ status, json.data, json.len }, &body) < 0)
		s->http.out.broken = true;
	else
		outbox_add(&s->http.out, FRAME_API_ANSWER, id, body.data, body.len, -1);
}
