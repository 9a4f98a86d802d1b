/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/message.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "wire/reader.h"

/* Zero-length memory is not compared, and padding does not go over the wire. */
struct setup_head {
	uint32_t heartbeat_ms, port;
	char token[MESSAGE_TOKEN];
	char start[PROOF_ID], label[PROOF_ID];
};

static bool message_is_token(const char *token)
{
	return ascii_is_hex_text(token, MESSAGE_TOKEN);
}

int message_setup_encode(const struct message_setup *s, struct buffer *out)
{
	struct setup_head h = { .heartbeat_ms = s->heartbeat_ms, .port = s->port };

	if (!message_is_token(s->token) || !ascii_is_hex_text(s->start, PROOF_ID) ||
		!ascii_is_hex_text(s->label, PROOF_ID) || s->heartbeat_ms == 0)
		return -EINVAL;
	memcpy(h.token, s->token, sizeof(h.token));
	memcpy(h.start, s->start, sizeof(h.start));
	memcpy(h.label, s->label, sizeof(h.label));
	buffer_add(out, &h, sizeof(h));
	return out->failed ? -ENOMEM : 0;
}

int message_setup_decode(struct message_setup *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct message_setup s = { 0 };
	struct setup_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || r.left > 0 || h.port > UINT16_MAX ||
		h.heartbeat_ms == 0)
		return -EPROTO;
	s.heartbeat_ms = h.heartbeat_ms;
	s.port = (uint16_t)h.port;
	memcpy(s.token, h.token, sizeof(h.token));
	memcpy(s.start, h.start, sizeof(h.start));
	memcpy(s.label, h.label, sizeof(h.label));
	if (!message_is_token(s.token) || !ascii_is_hex_text(s.start, PROOF_ID) ||
		!ascii_is_hex_text(s.label, PROOF_ID))
		return -EPROTO;
	*ret = s;
	return 0;
}

int message_tab_encode(const struct message_tab *t, struct buffer *out)
{
	if (!ascii_is_hex_text(t->id, PROOF_ID))
		return -EINVAL;
	buffer_add(out, t->id, PROOF_ID);
	buffer_add(out, t->key, PROOF_KEY);
	return out->failed ? -ENOMEM : 0;
}

int message_tab_decode(struct message_tab *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct message_tab t = { 0 };

	if (!reader_bytes(&r, t.id, PROOF_ID) || !reader_bytes(&r, t.key, PROOF_KEY) ||
		r.left > 0 || !ascii_is_hex_text(t.id, PROOF_ID))
		return -EPROTO;
	*ret = t;
	return 0;
}

int message_answer_encode(const struct message_answer *a, struct buffer *out)
{
	if (a->status < 200 || a->status > 599 || a->len > MESSAGE_JSON_MAX)
		return -EINVAL;
	buffer_add(out, &a->status, sizeof(a->status));
	buffer_add(out, a->json, a->len);
	return out->failed ? -ENOMEM : 0;
}

int message_answer_decode(struct message_answer *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct message_answer a;

	if (!reader_bytes(&r, &a.status, sizeof(a.status)) || a.status < 200 || a.status > 599 ||
		r.left > MESSAGE_JSON_MAX)
		return -EPROTO;
	a.json = r.data;
	a.len = r.left;
	*ret = a;
	return 0;
}

/* It becomes lines of text/event-stream, which a line break in it would change. */
static bool message_is_event(const struct message_event *e)
{
	const size_t len = strlen(e->type);

	return len > 0 && len <= MESSAGE_TYPE_MAX &&
	       strspn(e->type, "abcdefghijklmnopqrstuvwxyz_") == len && e->json[0] &&
	       strlen(e->json) <= MESSAGE_EVENT_MAX && !strpbrk(e->json, "\r\n");
}

int message_event_encode(const struct message_event *e, struct buffer *out)
{
	if (!message_is_event(e))
		return -EINVAL;
	buffer_add(out, e->type, strlen(e->type) + 1);
	buffer_add(out, e->json, strlen(e->json) + 1);
	return out->failed ? -ENOMEM : 0;
}

int message_event_decode(struct message_event *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct message_event e = { .type = reader_string(&r) };

	e.json = e.type ? reader_string(&r) : NULL;
	if (!e.json || r.left > 0 || !message_is_event(&e))
		return -EPROTO;
	*ret = e;
	return 0;
}

struct note_head {
	uint32_t status, more, by_unix;
};

static bool message_is_note(const struct message_note *r)
{
	return (r->status == 200 || (r->status >= 400 && r->status < 600)) &&
	       strlen(r->target) <= MESSAGE_TARGET_MAX && strlen(r->reason) <= MESSAGE_TARGET_MAX &&
	       utf8_valid(r->target, strlen(r->target), NULL) &&
	       utf8_valid(r->reason, strlen(r->reason), NULL);
}

int message_note_encode(const struct message_note *r, struct buffer *out)
{
	const struct note_head h = { r->status, r->more, r->by_unix };

	if (!message_is_note(r))
		return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	buffer_add(out, r->target, strlen(r->target) + 1);
	buffer_add(out, r->reason, strlen(r->reason) + 1);
	return out->failed ? -ENOMEM : 0;
}

int message_note_decode(struct message_note *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct message_note m;
	struct note_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.by_unix > 1)
		return -EPROTO;
	m = (struct message_note){ .status = h.status, .more = h.more, .by_unix = h.by_unix };
	m.target = reader_string(&r);
	m.reason = m.target ? reader_string(&r) : NULL;
	if (!m.reason || r.left > 0 || !message_is_note(&m))
		return -EPROTO;
	*ret = m;
	return 0;
}
