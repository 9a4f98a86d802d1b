/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions as bytes that are read without looking at a grammar: what a long policy became, for
 * whoever keeps it (host/policy-cache.h). Numbers are little-endian, texts have their length before
 * and a NUL after them. Of another version, or of none, is -EBADMSG.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "policy/permissions.h"

/* -E2BIG: layers are nested deeper than is read. Check out->failed. */
int image_write(const struct permissions *p, struct buffer *out);
/*
 * Fills p, which is new. Texts are not copied: the bytes must live as long as p's arena. -EBADMSG:
 * they are no image. What is read names what it likes; that patterns are such is found by whoever
 * compiles them.
 */
int image_read(struct permissions *p, const char *bytes, size_t len);

/*
 * The same as text, for where permissions travel among texts (wire/broker.h): unlike JSON it has
 * the places in files. Check out->failed.
 */
int image_write_text(const struct permissions *p, struct buffer *out);
/* Whether it is such a text. */
bool image_is_text(const char *text);
/* As image_read(), but the text is not needed any more. -ENOMEM. */
int image_read_text(struct permissions *p, const char *text);
