/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

#include "base/array.h"

/* Lead bytes by the length of their sequence, and the least value that such a one may hold. */
static const struct {
	unsigned char first, last, bits;
	uint32_t min;
} leads[] = {
	{ 0x00, 0x7f, 0x7f, 0 },
	{ 0xc2, 0xdf, 0x1f, 0x80 },
	{ 0xe0, 0xef, 0x0f, 0x800 },
	{ 0xf0, 0xf4, 0x07, 0x10000 },
};

size_t utf8_decode(const char *s, size_t len, uint32_t *ret)
{
	unsigned char c = len ? (unsigned char)s[0] : 0;
	uint32_t value;
	size_t n = 0;

	while (n < ROWS(leads) && c > leads[n].last)
		n++;
	if (n >= len || n == ROWS(leads) || c < leads[n].first)
		return 0;
	value = c & leads[n].bits;
	for (size_t i = 1; i <= n; i++) {
		c = (unsigned char)s[i];
		if ((c & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (c & 0x3fu);
	}
	if (value < leads[n].min || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*ret = value;
	return n + 1;
}

size_t utf8_encode(uint32_t c, char out[4])
{
	static const unsigned char mark[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(mark[n] | c);
	return n;
}

/* Length of the ASCII that s starts with, or a little less. */
static size_t utf8_ascii(const char *s, size_t len)
{
	uint64_t word;
	size_t n = 0;

	for (; len - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, s + n, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return n;
}

bool utf8_valid(const char *s, size_t len, size_t *ret_at)
{
	size_t i = utf8_ascii(s, len);

	while (i < len) {
		uint32_t c;
		size_t n = utf8_decode(s + i, len - i, &c);

		if (!n) {
			if (ret_at)
				*ret_at = i;
			return false;
		}
		i += n;
		if (n > 1)
			i += utf8_ascii(s + i, len - i);
	}
	return true;
}

/* Sorted; both ends included. */
struct utf8_range {
	uint32_t first, last;
};

static const struct utf8_range deceptive[] = {
	{ 0x80, 0x9f },       /* C1 controls: some terminals obey them */
	{ 0xad, 0xad },       /* soft hyphen */
	{ 0x34f, 0x34f },     /* combining grapheme joiner */
	{ 0x61c, 0x61c },     /* Arabic letter mark */
	{ 0x115f, 0x1160 },   /* Hangul fillers: blank, and letters to every program */
	{ 0x17b4, 0x17b5 },   /* Khmer vowels that show nothing */
	{ 0x180b, 0x180f },   /* Mongolian separators and selectors */
	{ 0x200b, 0x200f },   /* zero-width spaces and joiners, direction marks */
	{ 0x2028, 0x202e },   /* line separators, direction embeddings and overrides */
	{ 0x2060, 0x206f },   /* invisible operators, direction isolates, deprecated controls */
	{ 0x2800, 0x2800 },   /* the blank Braille pattern */
	{ 0x3164, 0x3164 },   /* Hangul filler */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xffa0, 0xffa0 },   /* half-width Hangul filler */
	{ 0xfff9, 0xfffb },   /* interlinear annotation */
	{ 0xe0000, 0xe01ef }, /* tags and further variation selectors: text that is not visible */
};

static const struct utf8_range blank[] = {
	{ 0xa0, 0xa0 },     /* no-break space */
	{ 0x1680, 0x1680 }, /* Ogham space */
	{ 0x2000, 0x200a }, /* spaces of other widths */
	{ 0x202f, 0x202f }, /* narrow no-break space */
	{ 0x205f, 0x205f }, /* mathematical space */
	{ 0x3000, 0x3000 }, /* ideographic space */
	{ 0xfe00, 0xfe0f }, /* variation selectors */
	{ 0xfffc, 0xfffc }, /* object replacement */
};

static bool utf8_is_among(const struct utf8_range *rows, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++) {
		if (c <= rows[i].last)
			return c >= rows[i].first;
	}
	return false;
}

bool utf8_is_deceptive(uint32_t c)
{
	return utf8_is_among(deceptive, ROWS(deceptive), c);
}

bool utf8_is_unseen(uint32_t c)
{
	return utf8_is_deceptive(c) || utf8_is_among(blank, ROWS(blank), c);
}
