/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What stands for a secret inside a sandbox: a text of the same form, so that a client that looks
 * at its token before it sends it (`ghp_…`, `sk-ant-…`, a JWT, a key file) is content, and as long
 * as such a secret usually is, so that it says nothing about the value's length.
 *
 * All placeholders of a sandbox have the same eight characters in them, the mark, and eight random
 * ones behind it. One search for the mark finds every placeholder in a text, however many secrets
 * there are (placeholders.h).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

enum {
	PLACEHOLDER_MARK = 8,
	PLACEHOLDER_KEY = 2 * PLACEHOLDER_MARK, /* the mark and what is random behind it */
	PLACEHOLDER_MAX = 16 << 10,             /* a JWT's claims are kept */
};

/*
 * Characters of a to f and 2 to 7: hexadecimal digits, and in upper case of base32. Kinds of keys
 * that are in upper case have it so.
 */
struct placeholder_mark {
	char lower[PLACEHOLDER_MARK], upper[PLACEHOLDER_MARK];
};

int placeholder_mark_make(struct placeholder_mark *ret);
/* Of PLACEHOLDER_MARK characters in lower case; false: they are none. */
bool placeholder_mark_read(struct placeholder_mark *ret, const char *text);
/* Adds a new placeholder. -EINVAL: the value is empty, or longer than PLACEHOLDER_MAX. */
int placeholder_make(
	const struct placeholder_mark *mark, const char *value, size_t len, struct buffer *out);
/* A JWT: its placeholder has its claims, so another value has another one. */
bool placeholder_has_claims(const char *value, size_t len);
/* Where the first mark stands in a text; NULL: nowhere. */
const char *placeholder_mark_find(const struct placeholder_mark *m, const char *text, size_t len);
