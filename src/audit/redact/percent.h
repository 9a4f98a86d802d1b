/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The percent-encoding of URLs. */
#include <stddef.h>

static inline int redact_percent_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the three at text stand for ("%3D"); -1: they are none such. */
static inline int redact_percent_decode(const char *text, size_t len)
{
	int high, low;

	if (len < 3 || text[0] != '%')
		return -1;
	high = redact_percent_digit(text[1]);
	low = redact_percent_digit(text[2]);
	return high < 0 || low < 0 ? -1 : 16 * high + low;
}
