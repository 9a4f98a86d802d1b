/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/owner.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int owner_question_decode(struct owner_question *ret, const void *body, size_t len)
{
	struct owner_question q;

	if (len != sizeof(q))
		return -EPROTO;
	memcpy(&q, body, sizeof(q));
	if (q.id == 0 || q.port == 0 || q.port > UINT16_MAX || q.is_udp > 1 ||
		q.wants_program > 1 || (q.wants_program && q.is_udp) || q.peer_port > UINT16_MAX ||
		!q.wants_program != !q.peer_port)
		return -EPROTO;
	*ret = q;
	return 0;
}

int owner_name_decode(char ret[OWNER_NAME_BYTES], const void *body, size_t len)
{
	const unsigned char *text = body;

	if (len >= OWNER_NAME_BYTES)
		return -EPROTO;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 127)
			return -EPROTO;
	memset(ret, 0, OWNER_NAME_BYTES);
	if (len > 0)
		memcpy(ret, body, len);
	return 0;
}

int owner_answer_decode(struct owner_answer *ret, const void *body, size_t len)
{
	struct owner_answer a, got = { 0 };

	if (len != sizeof(a))
		return -EPROTO;
	memcpy(&a, body, sizeof(a));
	got.id = a.id;
	if (a.id == 0 || owner_name_decode(got.name, a.name, strnlen(a.name, sizeof(a.name))) < 0 ||
		memcmp(got.name, a.name, sizeof(a.name)) != 0)
		return -EPROTO;
	*ret = got;
	return 0;
}

/* A text that ends, has no control characters, and nothing behind its end. */
static bool owner_text_is_valid(const char text[OWNER_TEXT_BYTES])
{
	size_t len = strnlen(text, OWNER_TEXT_BYTES), i;

	for (i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return false;
	for (; i < OWNER_TEXT_BYTES; i++)
		if (text[i] != '\0')
			return false;
	return len < OWNER_TEXT_BYTES;
}

int owner_program_decode(struct owner_program *ret, const void *body, size_t len)
{
	struct owner_program p;
	char name[OWNER_NAME_BYTES];

	if (len != sizeof(p))
		return -EPROTO;
	memcpy(&p, body, sizeof(p));
	if (p.id == 0 || p.found >= OWNER_FOUND_END || p.unused != 0 ||
		owner_name_decode(name, p.name, strnlen(p.name, sizeof(p.name))) < 0 ||
		memcmp(name, p.name, sizeof(name)) != 0 || !owner_text_is_valid(p.text))
		return -EPROTO;
	if (!p.text[0] != (p.found == OWNER_NOT_FOUND) ||
		(p.found == OWNER_FOUND && p.text[0] != '/'))
		return -EPROTO;
	*ret = p;
	return 0;
}
