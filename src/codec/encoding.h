/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bytes as text: RFC 4648 (base64 with padding, base64url without, hexadecimal digits in lower
 * case), and the escapes of URLs (RFC 3986).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct buffer;

/* The first four are the places of method_encodings (broker/method.h). */
enum encoding {
	ENCODING_UTF_8,
	ENCODING_UTF8,
	ENCODING_BASE64,
	ENCODING_HEX,
	ENCODING_BASE64URL,
};

/*
 * The bytes that a text means, with a NUL behind them; they live in the arena, or are the text
 * itself. Lines of base64 may be broken, digits of hex may be capitals. -EINVAL: it is not written
 * so; -ENOMEM.
 */
int encoding_decode(enum encoding encoding, const char *text, size_t len, struct arena *a,
	const char **ret, size_t *ret_len);
/* Whether the bytes can be written so: UTF-8 without NUL, or anything. */
bool encoding_fits(enum encoding encoding, const char *data, size_t len);
/* Appends them. But for UTF-8 these are characters that JSON does not escape. */
void encoding_print(enum encoding encoding, const void *data, size_t len, struct buffer *out);

/* 2 * len digits and a NUL; returns them. */
const char *encoding_hex(const void *data, size_t len, char *ret);

/* Appends text for a URL: all but letters, digits and what `plain` lists becomes %XX. */
void encoding_percent(const char *text, size_t len, const char *plain, struct buffer *out);
/* The byte that "%XX" at the start of the text means, or -1. */
int encoding_percent_byte(const char *text, size_t len);
