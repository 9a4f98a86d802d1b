/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How bytes are written in JSON, which holds text only. */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct buffer;

/* The places of method_encodings (broker/method.h). */
enum encoding { ENCODING_UTF_8, ENCODING_UTF8, ENCODING_BASE64, ENCODING_HEX };

/*
 * The bytes that a text means; they live in the arena, or are the text itself. -EINVAL: it is not
 * written so.
 */
int encoding_decode(enum encoding encoding, const char *text, size_t len, struct arena *a,
	const char **ret, size_t *ret_len);
/* Whether the bytes can be written so: UTF-8 without NUL, or anything. */
bool encoding_fits(enum encoding encoding, const char *data, size_t len);
/* Appends them as one JSON string, with its quotes. They fit. */
void encoding_print(enum encoding encoding, const char *data, size_t len, struct buffer *out);
