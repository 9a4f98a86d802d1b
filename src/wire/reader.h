/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads a body from its start to its end: a fixed part, then strings that end with a NUL each.
 * There are no lengths or offsets in a body that could point elsewhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct reader {
	const char *data;
	size_t left;
};

/* Copies the next len bytes to out; false (and out untouched) if there are not as many. */
static inline bool reader_bytes(struct reader *r, void *out, size_t len)
{
	if (r->left < len)
		return false;
	memcpy(out, r->data, len);
	r->data += len;
	r->left -= len;
	return true;
}

/* The next string, which lives in the body; NULL if no NUL ends it. */
static inline const char *reader_string(struct reader *r)
{
	const char *s = r->data;
	const char *end = r->left > 0 ? memchr(s, '\0', r->left) : NULL;

	if (!end)
		return NULL;
	r->left -= (size_t)(end - s) + 1;
	r->data = end + 1;
	return s;
}
