/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits of base64 that are left over are 0, and padding is there where it belongs: such a text has
 * one meaning, and bytes have one text. What is written is computed, not looked up, since keys and
 * tokens are written here, too.
 */
#include "codec/encoding.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"

static bool encoding_is_text(enum encoding encoding)
{
	return encoding == ENCODING_UTF_8 || encoding == ENCODING_UTF8;
}

bool encoding_fits(enum encoding encoding, const char *data, size_t len)
{
	return !encoding_is_text(encoding) ||
	       (!memchr(data, '\0', len) && utf8_valid(data, len, NULL));
}

/* Hexadecimal digits */

static char encoding_digit(unsigned value)
{
	return (char)('0' + value + (((9 - value) >> 8) & ('a' - '0' - 10)));
}

const char *encoding_hex(const void *data, size_t len, char *ret)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i++) {
		ret[2 * i] = encoding_digit(bytes[i] >> 4);
		ret[2 * i + 1] = encoding_digit(bytes[i] & 15u);
	}
	ret[2 * len] = '\0';
	return ret;
}

static int encoding_read_hex(const char *text, size_t len, uint8_t *ret, size_t *ret_len)
{
	if (len % 2)
		return -EINVAL;
	for (size_t i = 0; i < len; i += 2) {
		const int high = ascii_hex(text[i]), low = ascii_hex(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		ret[i / 2] = (uint8_t)(high << 4 | low);
	}
	*ret_len = len / 2;
	return 0;
}

/* Base64 */

/* 1 if a < b, for small numbers. */
static unsigned encoding_below(unsigned a, unsigned b)
{
	return (a - b) >> 31;
}

/* A to Z, a to z, 0 to 9, and two that differ. */
static char encoding_letter(unsigned value, enum encoding encoding)
{
	const unsigned last[] = { encoding == ENCODING_BASE64 ? '+' : '-',
		encoding == ENCODING_BASE64 ? '/' : '_' };
	unsigned c = 'A' + value;

	c += encoding_below(25, value) * ('a' - 'Z' - 1);
	c += encoding_below(51, value) * (unsigned)('0' - 'z' - 1);
	c += encoding_below(61, value) * (last[0] - '9' - 1);
	c += encoding_below(62, value) * (last[1] - last[0] - 1);
	return (char)c;
}

static int encoding_value(char c, enum encoding encoding)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (ascii_is_digit(c))
		return c - '0' + 52;
	if (c == (encoding == ENCODING_BASE64 ? '+' : '-'))
		return 62;
	return c == (encoding == ENCODING_BASE64 ? '/' : '_') ? 63 : -1;
}

static void encoding_print_base64(
	enum encoding encoding, const uint8_t *data, size_t len, struct buffer *out)
{
	for (size_t at = 0; at < len; at += 3) {
		const size_t n = len - at < 3 ? len - at : 3;
		const unsigned bits = (unsigned)data[at] << 16 |
				      (n > 1 ? (unsigned)data[at + 1] << 8 : 0) |
				      (n > 2 ? data[at + 2] : 0);
		char group[4];

		for (unsigned i = 0; i < 4; i++)
			group[i] =
				i > n ? '=' : encoding_letter(bits >> (18 - 6 * i) & 63, encoding);
		buffer_add(out, group, encoding == ENCODING_BASE64 ? 4 : n + 1);
	}
}

static int encoding_read_base64(
	enum encoding encoding, const char *text, size_t len, uint8_t *ret, size_t *ret_len)
{
	size_t n = 0, letters = 0, padding = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < len; i++) {
		const int value = encoding_value(text[i], encoding);

		if (text[i] == '\r' || text[i] == '\n')
			continue;
		if (text[i] == '=') {
			padding++;
			continue;
		}
		if (value < 0 || padding > 0)
			return -EINVAL;
		bits = bits << 6 | (unsigned)value;
		if (letters++ % 4)
			ret[n++] = (uint8_t)(bits >> (6 - 2 * ((letters - 1) % 4)));
	}
	/* One letter alone is no byte; of the last one, bits may be left over. */
	if (letters % 4 == 1 || (letters % 4 && bits & ((1u << (letters % 4 == 2 ? 4 : 2)) - 1)))
		return -EINVAL;
	if (padding != (encoding == ENCODING_BASE64 ? (4 - letters % 4) % 4 : 0))
		return -EINVAL;
	*ret_len = n;
	return 0;
}

/* All of them */

int encoding_decode(enum encoding encoding, const char *text, size_t len, struct arena *a,
	const char **ret, size_t *ret_len)
{
	uint8_t *bytes;
	size_t n = 0;
	int r;

	if (encoding_is_text(encoding)) {
		*ret = text;
		*ret_len = len;
		return 0;
	}
	bytes = arena_alloc(a, len + 1);
	if (!bytes)
		return -ENOMEM;
	r = encoding == ENCODING_HEX ? encoding_read_hex(text, len, bytes, &n)
				     : encoding_read_base64(encoding, text, len, bytes, &n);
	if (r < 0)
		return r;
	bytes[n] = '\0';
	*ret = (const char *)bytes;
	*ret_len = n;
	return 0;
}

void encoding_print(enum encoding encoding, const void *data, size_t len, struct buffer *out)
{
	const uint8_t *bytes = data;

	if (encoding_is_text(encoding)) {
		buffer_add(out, data, len);
	} else if (encoding != ENCODING_HEX) {
		encoding_print_base64(encoding, bytes, len, out);
	} else {
		for (size_t i = 0; i < len; i++) {
			char digits[3];

			buffer_add(out, encoding_hex(bytes + i, 1, digits), 2);
		}
	}
}

/* URLs */

void encoding_percent(const char *text, size_t len, const char *plain, struct buffer *out)
{
	for (size_t i = 0; i < len; i++) {
		if (ascii_is_alnum(text[i]) || (text[i] && strchr(plain, text[i])))
			buffer_addc(out, text[i]);
		else
			buffer_printf(out, "%%%02X", (unsigned)(unsigned char)text[i]);
	}
}

int encoding_percent_byte(const char *text, size_t len)
{
	const int high = len >= 3 && text[0] == '%' ? ascii_hex(text[1]) : -1;
	const int low = high >= 0 ? ascii_hex(text[2]) : -1;

	return low >= 0 ? high << 4 | low : -1;
}
