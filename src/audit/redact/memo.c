/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "audit/redact/internal.h"
#include "audit/redact/redact.h"

/* The first and the last bytes of a text: together all of it, if it has no more than both. */
struct memo_ends {
	uint64_t first, last;
};

static struct memo_ends memo_ends(const char *text, size_t len)
{
	struct memo_ends e = { 0 };

	if (len >= sizeof(e.first)) {
		memcpy(&e.first, text, sizeof(e.first));
		memcpy(&e.last, text + len - sizeof(e.last), sizeof(e.last));
	} else {
		memcpy(&e.first, text, REDACTOR_VALUE_LEAST);
		memcpy(&e.last, text + len - REDACTOR_VALUE_LEAST, REDACTOR_VALUE_LEAST);
	}
	return e;
}

/* Only which slot it is depends on it: texts are compared in whole. */
static struct redact_memo_slot *memo_slot(struct redact_memo *m, struct memo_ends e, size_t len)
{
	return &m->slots[((e.first * 31 + e.last) ^ len) * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}
_Static_assert(
	sizeof(((struct redact_memo *)NULL)->slots) == sizeof(struct redact_memo_slot) << (64 - 58),
	"a slot for each value of the bits that are left");

bool redact_memo_has(struct redact_memo *m, const char *text, size_t len)
{
	const struct memo_ends e = memo_ends(text, len);
	struct redact_memo_slot *s = memo_slot(m, e, len);
	struct memo_ends kept;

	if (s->len != len)
		return false;
	kept = memo_ends(s->text, len);
	if (kept.first != e.first || kept.last != e.last ||
		(len > sizeof(e) && memcmp(s->text, text, len) != 0))
		return false;
	s->stays = REDACT_MEMO_STAYS;
	return true;
}

void redact_memo_add(struct redact_memo *m, const char *text, size_t len)
{
	struct redact_memo_slot *s;

	if (len > REDACT_MEMO_BYTES)
		return;
	s = memo_slot(m, memo_ends(text, len), len);
	if (s->stays) {
		s->stays--;
		return;
	}
	s->len = (uint8_t)len;
	memcpy(s->text, text, len);
}

void redact_memo_clear(struct redact_memo *m)
{
	for (size_t i = 0; i < REDACT_MEMO_SLOTS; i++)
		m->slots[i].len = m->slots[i].stays = 0;
}
