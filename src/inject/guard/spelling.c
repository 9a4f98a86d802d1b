/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/guard/spelling.h"

#include <errno.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "vault/secret.h"

enum { BYTE = 8, BASE32_ALIGNMENTS = 5, BASE64_ALIGNMENTS = 3 };

enum spelling_wide { NARROW, LITTLE_ENDIAN_16, BIG_ENDIAN_16 };

static const char spelling_hex_lower[] = "0123456789abcdef";
static const char spelling_hex_upper[] = "0123456789ABCDEF";
static const char spelling_base32_upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char spelling_base32_lower[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char spelling_base64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char spelling_base64url[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Escapes (escape.h) may stand in each of these. */
static const struct spelling {
	enum spelling_wide wide;
	const char *alphabet; /* NULL: bytes */
	unsigned bits;        /* of one character of it */
	unsigned alignments;
} spellings[] = {
	{ NARROW, NULL, 0, 1 },
	{ LITTLE_ENDIAN_16, NULL, 0, 1 },
	{ BIG_ENDIAN_16, NULL, 0, 1 },
	{ NARROW, spelling_hex_lower, 4, 1 },
	{ NARROW, spelling_hex_upper, 4, 1 },
	{ NARROW, spelling_base32_upper, 5, BASE32_ALIGNMENTS },
	{ NARROW, spelling_base32_lower, 5, BASE32_ALIGNMENTS },
	{ NARROW, spelling_base64, 6, BASE64_ALIGNMENTS },
	{ NARROW, spelling_base64url, 6, BASE64_ALIGNMENTS },
	{ LITTLE_ENDIAN_16, spelling_base64, 6, BASE64_ALIGNMENTS },
};

static void spelling_wipe(struct buffer *b)
{
	if (b->data)
		secret_wipe(b->data, b->cap);
	buffer_deinit(b);
}
#define auto_wiped __attribute__((cleanup(spelling_wipe))) struct buffer

/* What is no UTF-8, or needs two units for a character, is not written so. */
static void spelling_widen(
	const char *value, size_t len, enum spelling_wide wide, struct buffer *out)
{
	for (size_t at = 0; at < len;) {
		uint32_t c;
		const size_t n = utf8_decode(value + at, len - at, &c);

		if (n == 0 || c > UINT16_MAX) {
			buffer_clear(out);
			return;
		}
		buffer_addc(out, (char)(wide == BIG_ENDIAN_16 ? c >> BYTE : c & UINT8_MAX));
		buffer_addc(out, (char)(wide == BIG_ENDIAN_16 ? c & UINT8_MAX : c >> BYTE));
		at += n;
	}
}

/* Behind `before` other bytes, without the characters that these have a part in. */
static void spelling_print(
	const struct spelling *s, const char *bytes, size_t len, size_t before, struct buffer *out)
{
	const size_t first = (before * BYTE + s->bits - 1) / s->bits;
	const size_t end = (before + len) * BYTE / s->bits;

	for (size_t i = first; i < end; i++) {
		unsigned code = 0;

		for (size_t bit = i * s->bits - before * BYTE, k = 0; k < s->bits; k++, bit++)
			code = code << 1 |
			       ((uint8_t)bytes[bit / BYTE] >> (BYTE - 1 - bit % BYTE) & 1U);
		buffer_addc(out, s->alphabet[code]);
	}
}

/* A text of the value that was taken before says the same. */
static bool spelling_is_known(const struct spelling *s, const struct buffer *text)
{
	if (s->alphabet != spelling_base64url)
		return false;
	for (size_t i = 0; i < text->len; i++)
		if (text->data[i] == '-' || text->data[i] == '_')
			return false;
	return true;
}

int spelling_each(const char *value, size_t len, spelling_take *take, void *context)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(spellings); i++) {
		const struct spelling *s = &spellings[i];
		auto_wiped bytes = { 0 };

		if (s->wide == NARROW)
			buffer_add(&bytes, value, len);
		else
			spelling_widen(value, len, s->wide, &bytes);
		if (bytes.failed)
			return -ENOMEM;
		for (size_t before = 0; r == 0 && bytes.len > 0 && before < s->alignments;
			before++) {
			auto_wiped text = { 0 };

			if (s->alphabet)
				spelling_print(s, bytes.data, bytes.len, before, &text);
			else
				buffer_add(&text, bytes.data, bytes.len);
			if (text.failed)
				return -ENOMEM;
			if (!spelling_is_known(s, &text))
				r = take(context, buffer_text(&text), text.len, s->alphabet);
		}
	}
	return r;
}
