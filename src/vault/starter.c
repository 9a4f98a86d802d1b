/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By a second socket (descriptor 5) the vault asks its starter for what it cannot do itself: to
 * write the log, to read a source. Nothing else comes by that socket, so the vault can wait for an
 * answer while others call.
 */
#include <errno.h>
#include <string.h>

#include "event/wait.h"
#include "vault/internal.h"

enum { STARTER_RECORD_MS = 30 * 1000, STARTER_FETCH_MS = 90 * 1000 };

static int starter_ask(struct vault_server *s, enum frame_type type, const void *body, size_t len,
	int ms, struct vault_message *ret)
{
	const uint64_t id = ++s->next_id, until = wait_until(ms);
	int r = frame_send(s->service, type, id, body, len, NULL, 0);

	if (r == 0 && wait_for_one(s->service, POLLIN, until) == 0)
		r = -ETIMEDOUT;
	if (r == 0)
		r = frame_receive(s->service, &s->service_frame) == 1 ? 0 : -EPIPE;
	if (r == 0 && (s->service_frame.type != FRAME_VAULT_VALUE || s->service_frame.id != id))
		r = -EPROTO;
	if (r == 0)
		r = vault_message_decode(ret, s->service_frame.body, s->service_frame.len);
	/* An answer that comes too late would be taken for that of the next question. */
	if (r < 0)
		s->ended = r;
	return r;
}

int vault_starter_record(struct vault_server *s, const struct audit_event *event, struct error *e)
{
	uint8_t body[AUDIT_EVENT_MAX];
	const size_t len = audit_event_pack(event, body, sizeof(body));
	struct vault_message m = { 0 };
	int r = len > 0 ? starter_ask(s, FRAME_EVENT, body, len, STARTER_RECORD_MS, &m) : -EINVAL;

	if (r == 0 && m.error == 0)
		return 0;
	r = r < 0 ? r : m.error;
	(void)error_set(e, r, NULL, "the log could not be written, so nothing was done: %s",
		r == m.error && m.text && *m.text ? m.text : strerror(-r));
	return r;
}

int vault_starter_fetch(struct vault_server *s, const char *name, const char *source,
	struct vault_message *ret, struct error *e)
{
	const struct vault_message ask = { .name = name, .text = source };
	char body[sizeof(ask) + VAULT_NAME_MAX + VAULT_TEXT_MAX + 8];
	int r = vault_message_size(&ask) <= sizeof(body) ? 0 : -EMSGSIZE;

	if (r == 0) {
		vault_message_encode(&ask, body);
		r = starter_ask(s, FRAME_VAULT_SOURCE, body, vault_message_size(&ask),
			STARTER_FETCH_MS, ret);
	}
	if (r < 0)
		return error_set(e, r, NULL, "the source of %s: %s", name, strerror(-r));
	if (ret->error < 0) {
		(void)error_set(e, ret->error, NULL, "the source of %s: %s", name, ret->text);
		error_hint(e, "%s", ret->principal);
		return ret->error;
	}
	return 0;
}
