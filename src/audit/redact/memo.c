/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "audit/redact/internal.h"

/* Only which slot it is depends on it: texts are compared in whole. */
static struct redact_memo_slot *memo_slot(struct redact_memo *m, const char *text, size_t len)
{
	uint64_t first = 0, last = 0;

	memcpy(&first, text, len < 8 ? len : 8);
	memcpy(&last, text + (len < 8 ? 0 : len - 8), len < 8 ? len : 8);
	return &m->slots[((first * 31 + last) ^ len) * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}
_Static_assert(
	sizeof(((struct redact_memo *)NULL)->slots) == sizeof(struct redact_memo_slot) << (64 - 58),
	"a slot for each value of the bits that are left");

bool redact_memo_has(struct redact_memo *m, const char *text, size_t len)
{
	const struct redact_memo_slot *s;
	bool has;

	if (len > REDACT_MEMO_BYTES ||
		atomic_flag_test_and_set_explicit(&m->busy, memory_order_acquire))
		return false;
	s = memo_slot(m, text, len);
	has = s->len == len && memcmp(s->text, text, len) == 0;
	atomic_flag_clear_explicit(&m->busy, memory_order_release);
	return has;
}

void redact_memo_add(struct redact_memo *m, const char *text, size_t len)
{
	struct redact_memo_slot *s;

	if (len > REDACT_MEMO_BYTES ||
		atomic_flag_test_and_set_explicit(&m->busy, memory_order_acquire))
		return;
	s = memo_slot(m, text, len);
	s->len = (uint32_t)len;
	memcpy(s->text, text, len);
	atomic_flag_clear_explicit(&m->busy, memory_order_release);
}

void redact_memo_clear(struct redact_memo *m)
{
	for (size_t i = 0; i < REDACT_MEMO_SLOTS; i++)
		m->slots[i].len = 0;
}
