/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Characters that are written as others: %41 in a URL, \u0041, \/ and \x41 in JSON and in what
 * programs print, &#65;, &#x41; and &quot; in HTML, and each of these within each other one, as in
 * JSON within JSON. One table has them; a text may mix them at will.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ESCAPE_BYTES_MAX = 4, /* of one character, in UTF-8 */
	ESCAPE_READINGS_MAX = 4,
};

/* What the start of a text may mean. */
struct escape {
	char bytes[ESCAPE_BYTES_MAX];
	size_t n;   /* of these */
	size_t len; /* of the text */
};

/* Whether a character begins an escape, or breaks a line. */
static inline bool escape_leads(char c)
{
	return c == '%' || c == '&' || c == '\\' || c == '+' || c == '\n' || c == '\r';
}
/*
 * All of them in a text, from the first on. escape_next(): where it stands; len: there is no more.
 * has_plus: a plus, which is a space in forms, is one.
 */
struct escape_scan {
	const char *text;
	size_t len;
	bool has_plus;
	/* private */
	size_t at, from; /* of the block that was looked at, and of the next */
	uint64_t bits;   /* its bytes that lead, and were not given yet */
};
size_t escape_next(struct escape_scan *s);
/* What it may mean, other than itself; returns how many readings there are. */
size_t escape_read(const char *text, size_t len, struct escape ret[ESCAPE_READINGS_MAX]);
/* How long the break of a line is that the text begins with, written in whatever way, with what
 * the next line is indented by; 0: it begins with none. */
size_t escape_break(const char *text, size_t len);
