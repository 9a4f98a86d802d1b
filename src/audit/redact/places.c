/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most bytes of most texts are letters in the middle of words. A branch for each of them costs more
 * than all that is found, so sixteen bytes are compared at once, and what is left of them is a bit
 * for each.
 */
#include <endian.h>
#include <string.h>

#include "audit/redact/internal.h"
#include "base/array.h"

/*
 * A comparison makes 0xff of each byte for which it holds, and 0 of the others. The compiler has
 * instructions for that, or does it byte by byte.
 */
typedef uint8_t bytes16 __attribute__((vector_size(16)));
enum { STEP = sizeof(bytes16) };

/* A bit for each byte of a comparison; the first is the lowest. */
static uint64_t places_bits(bytes16 compared)
{
	uint64_t half[2];

	memcpy(half, &compared, sizeof(half));
	for (size_t i = 0; i < ROWS(half); i++) {
		/* One bit of each byte, another of each; the product has them all on top. */
		half[i] = le64toh(half[i]) & UINT64_C(0x8040201008040201);
		half[i] = half[i] * UINT64_C(0x0101010101010101) >> 56;
	}
	return half[0] | half[1] << 8;
}

struct redact_places redact_places_find(const char *text, size_t len)
{
	struct redact_places p = { 0 };
	char whole[STEP] = { 0 };

	if (len < STEP) {
		memcpy(whole, text, len);
		text = whole;
		len = STEP;
	}
	for (size_t i = 0; i < len; i += STEP) {
		bytes16 v, looks, keys;

		/* The last step begins where it is a whole one, and finds some bits again. */
		i = i < len - STEP ? i : len - STEP;
		memcpy(&v, text + i, STEP);
		looks = (bytes16)((v == ':') | (v == '=') | (v == ' ') | (v == '\t') | (v == '%') |
				  (v == '-'));
		/* Bytes have no sign here: one below 'a' or '0' is larger than all that are meant.
		 */
		keys = (bytes16)(((v | 0x20) - 'a' < 26) | (v - '0' < 10) | (v == '_') |
				 (v == '-'));
		p.looks |= places_bits(looks) << i;
		p.keys |= places_bits(keys) << i;
	}
	return p;
}
