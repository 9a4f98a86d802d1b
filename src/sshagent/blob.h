/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The encoding of SSH (RFC 4251): bytes, numbers in network order, and strings behind their length.
 * A reader takes them from the front; what does not fit leaves it untouched. Strings point into
 * what is read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct blob {
	const uint8_t *data;
	size_t len;
};

static inline bool blob_take_u8(struct blob *b, uint8_t *ret)
{
	if (b->len < 1)
		return false;
	*ret = b->data[0];
	b->data++;
	b->len--;
	return true;
}

static inline uint32_t blob_peek_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline bool blob_take_u32(struct blob *b, uint32_t *ret)
{
	if (b->len < 4)
		return false;
	*ret = blob_peek_u32(b->data);
	b->data += 4;
	b->len -= 4;
	return true;
}

static inline bool blob_take_string(struct blob *b, struct blob *ret)
{
	uint32_t len;

	if (b->len < 4 || (len = blob_peek_u32(b->data)) > b->len - 4)
		return false;
	*ret = (struct blob){ b->data + 4, len };
	b->data += 4 + (size_t)len;
	b->len -= 4 + (size_t)len;
	return true;
}

static inline bool blob_equal(struct blob a, struct blob b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool blob_is(struct blob a, const char *text)
{
	return blob_equal(a, (struct blob){ (const uint8_t *)text, strlen(text) });
}
