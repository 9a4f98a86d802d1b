/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

/* Length of the sequence that a lead byte announces, and the least value such a sequence may hold. */
static size_t lead(unsigned char c, uint32_t *ret_bits, uint32_t *ret_min)
{
	if (c < 0x80) {
		*ret_bits = c;
		*ret_min = 0;
		return 1;
	}
	if (c >= 0xc2 && c < 0xe0) {
		*ret_bits = c & 0x1fu;
		*ret_min = 0x80;
		return 2;
	}
	if (c >= 0xe0 && c < 0xf0) {
		*ret_bits = c & 0x0fu;
		*ret_min = 0x800;
		return 3;
	}
	if (c >= 0xf0 && c < 0xf5) {
		*ret_bits = c & 0x07u;
		*ret_min = 0x10000;
		return 4;
	}
	return 0;
}

size_t utf8_decode(const char *s, size_t len, uint32_t *ret)
{
	uint32_t value, min;
	size_t n;

	if (!len)
		return 0;
	n = lead((unsigned char)s[0], &value, &min);
	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (c & 0x3fu);
	}
	if (value < min || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*ret = value;
	return n;
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

bool utf8_valid(const char *s, size_t len, size_t *ret_at)
{
	size_t i = 0;

	while (i < len) {
		uint32_t c;
		size_t n = utf8_decode(s + i, len - i, &c);

		if (!n) {
			if (ret_at)
				*ret_at = i;
			return false;
		}
		i += n;
	}
	return true;
}

bool utf8_is_deceptive(uint32_t c)
{
	return (c >= 0x80 && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff ||
	       (c >= 0xe0000 && c <= 0xe007f);
}
