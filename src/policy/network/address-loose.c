/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The IPv4 parser of the WHATWG URL standard (section 3.5), which is inet_aton with the doubtful
 * cases decided: one to four parts, each decimal, octal (leading 0) or hexadecimal (leading 0x);
 * the last part fills all the bytes that remain. What ends in a number is an address or an error,
 * never a name, so that a look-alike cannot slip through as one.
 */
#include "policy/network/address.h"

#include <errno.h>
#include <string.h>

enum { PARTS = 4 };

/* More than any part may hold; larger numbers stay here while their digits are still checked. */
#define TOO_LARGE ((uint64_t)1 << 32)

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return 16;
}

static bool address_loose_parse_number(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	int base = 10;

	if (len == 0)
		return false;
	if (len >= 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2;
		len -= 2; /* "0x" alone is 0 */
	} else if (len >= 2 && text[0] == '0') {
		base = 8;
	}
	for (size_t i = 0; i < len; i++) {
		int digit = digit_value(text[i]);

		if (digit >= base)
			return false;
		value = value * (uint64_t)base + (uint64_t)digit;
		if (value > TOO_LARGE)
			value = TOO_LARGE;
	}
	*ret = value;
	return true;
}

static bool all_digits(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return len > 0;
}

/* The standard's "ends in a number checker"; the dot at the end is gone already. */
static bool ends_in_number(const char *text, size_t len)
{
	const char *dot = memrchr(text, '.', len);
	size_t start = dot ? (size_t)(dot - text) + 1 : 0;
	uint64_t value;

	return all_digits(text + start, len - start) ||
	       address_loose_parse_number(text + start, len - start, &value);
}

/* Reads up to four parts; how many, or 0. */
static unsigned address_loose_parse_parts(const char *text, size_t len, uint64_t parts[PARTS])
{
	unsigned n = 0;

	for (;;) {
		const char *dot = memchr(text, '.', len);
		size_t part = dot ? (size_t)(dot - text) : len;

		if (n == PARTS || !address_loose_parse_number(text, part, &parts[n++]))
			return 0;
		if (!dot)
			return n;
		text += part + 1;
		len -= part + 1;
	}
}

int address_parse_loose(const char *text, size_t len, struct address *ret)
{
	struct address a = { .bits = 32 };
	uint64_t parts[PARTS];
	unsigned n, last;
	uint32_t value;

	if (len > 1 && text[len - 1] == '.')
		len--;
	if (!ends_in_number(text, len))
		return -EINVAL;
	n = address_loose_parse_parts(text, len, parts);
	if (n == 0)
		return -ERANGE;
	last = n - 1;
	if (parts[last] >= (uint64_t)1 << 8 * (PARTS - last))
		return -ERANGE;
	value = (uint32_t)parts[last];
	for (unsigned i = 0; i < last; i++) {
		if (parts[i] > 255)
			return -ERANGE;
		value |= (uint32_t)parts[i] << 8 * (3 - i);
	}
	for (int i = 0; i < 4; i++)
		a.bytes[i] = (uint8_t)(value >> 8 * (3 - i));
	*ret = a;
	return 0;
}
