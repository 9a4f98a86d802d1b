/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "audit/redact/internal.h"

/* Only which slot it is depends on it: texts are compared in whole. */
static struct redact_memo_slot *memo_slot(struct redact_memo *m, const char *text, size_t len)
{
	uint64_t first = 0, last = 0;

	if (len >= sizeof(first)) {
		memcpy(&first, text, sizeof(first));
		memcpy(&last, text + len - sizeof(last), sizeof(last));
	} else {
		memcpy(&first, text, len);
	}
	return &m->slots[((first * 31 + last) ^ len) * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}
_Static_assert(
	sizeof(((struct redact_memo *)NULL)->slots) == sizeof(struct redact_memo_slot) << (64 - 58),
	"a slot for each value of the bits that are left");

bool redact_memo_has(struct redact_memo *m, const char *text, size_t len)
{
	struct redact_memo_slot *s = memo_slot(m, text, len);

	if (s->len != len || memcmp(s->text, text, len) != 0)
		return false;
	s->stays = REDACT_MEMO_STAYS;
	return true;
}

void redact_memo_add(struct redact_memo *m, const char *text, size_t len)
{
	struct redact_memo_slot *s;

	if (len > REDACT_MEMO_BYTES)
		return;
	s = memo_slot(m, text, len);
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
