/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/strength.h"

#include <stdint.h>

enum { STRENGTH_TENTHS = 10, STRENGTH_REPEATS = 2 };

enum strength_kind { KIND_DIGIT = 1, KIND_LOWER = 2, KIND_UPPER = 4, KIND_OTHER = 8 };

static unsigned strength_kind(uint8_t c)
{
	return c >= '0' && c <= '9'   ? KIND_DIGIT
	       : c >= 'a' && c <= 'z' ? KIND_LOWER
	       : c >= 'A' && c <= 'Z' ? KIND_UPPER
				      : KIND_OTHER;
}

unsigned strength_bits(const void *value, size_t len)
{
	/* Tenths of a bit that one character has, by the kinds that there are. */
	static const uint8_t tenths[16] = { 0, 33, 47, 52, 47, 52, 57, 60, 50, 54, 59, 61, 59, 61,
		64, 66 };
	const uint8_t *bytes = value;
	bool seen[256] = { false };
	unsigned kinds = 0;
	size_t different = 0;

	for (size_t i = 0; i < len; i++) {
		different += !seen[bytes[i]];
		seen[bytes[i]] = true;
		kinds |= strength_kind(bytes[i]);
	}
	/* "aaaaaaaaaaaaaaaa" is long, and no more than that. */
	if (len > STRENGTH_REPEATS * different)
		len = STRENGTH_REPEATS * different;
	return (unsigned)(len * tenths[kinds] / STRENGTH_TENTHS);
}

bool strength_is_weak(const void *value, size_t len)
{
	return strength_bits(value, len) <= STRENGTH_WEAK_BITS;
}
