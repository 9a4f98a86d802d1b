/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/reader.h"

/* In the machine's order, as all frames. */
struct message_head {
	uint32_t op;
	int32_t error;
	uint32_t flags, places;
	uint64_t number;
	uint32_t secret_len, unused;
};

static const char *message_text(const char *text)
{
	return text ? text : "";
}

size_t vault_message_size(const struct vault_message *m)
{
	return sizeof(struct message_head) + strlen(message_text(m->name)) +
	       strlen(message_text(m->text)) + strlen(message_text(m->principal)) +
	       strlen(message_text(m->fields)) + strlen(message_text(m->programs)) + 5 +
	       m->secret_len;
}

static char *message_put(char *at, const void *data, size_t len)
{
	if (len > 0)
		memcpy(at, data, len);
	return at + len;
}

static char *message_put_text(char *at, const char *text)
{
	return message_put(at, message_text(text), strlen(message_text(text)) + 1);
}

void vault_message_encode(const struct vault_message *m, void *out)
{
	const struct message_head h = { .op = m->op,
		.error = m->error,
		.flags = m->flags,
		.places = m->places,
		.number = m->number,
		.secret_len = m->secret_len };
	char *at = message_put(out, &h, sizeof(h));

	at = message_put_text(at, m->name);
	at = message_put_text(at, m->text);
	at = message_put_text(at, m->principal);
	at = message_put_text(at, m->fields);
	at = message_put_text(at, m->programs);
	(void)message_put(at, m->secret, m->secret_len);
}

int vault_message_decode(struct vault_message *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct vault_message m;
	struct message_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.op >= VAULT_OPS || h.error > 0 || h.unused != 0)
		return -EPROTO;
	m = (struct vault_message){ .op = h.op,
		.error = h.error,
		.flags = h.flags,
		.places = h.places,
		.number = h.number,
		.secret_len = h.secret_len };
	m.name = reader_string(&r);
	m.text = m.name ? reader_string(&r) : NULL;
	m.principal = m.text ? reader_string(&r) : NULL;
	m.fields = m.principal ? reader_string(&r) : NULL;
	m.programs = m.fields ? reader_string(&r) : NULL;
	if (!m.programs || r.left != m.secret_len || m.secret_len > VAULT_SECRET_MAX)
		return -EPROTO;
	m.secret = r.data;
	*ret = m;
	return 0;
}

int vault_message_send(int socket, enum frame_type type, uint64_t id, const struct vault_message *m,
	struct secret *room)
{
	const size_t len = vault_message_size(m);
	void *body;
	int r;

	if (m->secret_len > 0) {
		if (m->secret_len > VAULT_SECRET_MAX || len > room->len || len > FRAME_BODY_MAX)
			return -EMSGSIZE;
		vault_message_encode(m, room->data);
		r = frame_send(socket, type, id, room->data, len, NULL, 0);
		secret_wipe(room->data, len);
		return r;
	}
	body = malloc(len);
	if (!body)
		return -ENOMEM;
	vault_message_encode(m, body);
	r = frame_send(socket, type, id, body, len, NULL, 0);
	free(body);
	return r;
}
