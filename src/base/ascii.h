/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What characters are, in ASCII and whatever the locale. */
#include <stdbool.h>
#include <string.h>

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_alnum(char c)
{
	return ascii_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static inline bool ascii_is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Whether a text is n hexadecimal digits in lower case: a digest, an id, a token. */
static inline bool ascii_is_hex_text(const char *text, size_t n)
{
	return strspn(text, "0123456789abcdef") == n && !text[n];
}

/* The value of a hexadecimal digit, or -1. */
static inline int ascii_hex(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}
