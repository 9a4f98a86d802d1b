/* SPDX-License-Identifier: Apache-2.0 */
/* How a call is answered: its outcome is recorded, and corrald-http gets the answer. */
#include "codec/json-writer.h"
#include "daemon/supervisor/internal.h"

void api_reply(struct supervisor *s, uint64_t id, unsigned status, const char *json, size_t len)
{
	const struct message_answer a = { status, json, len };
	auto_buffer body = { 0 };

	if (s->http.child.pid == 0)
		return;
	if (message_answer_encode(&a, &body) < 0) {
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
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	api_answered(s, id, status, text);
	json_open_map(&w, NULL);
	json_put_text(&w, "error", text);
	json_end_line(&w);
	if (!json.failed)
		api_reply(s, id, status, json.data, json.len);
}
