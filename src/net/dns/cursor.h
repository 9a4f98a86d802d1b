/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A place in a message of the DNS that is being read, or written. Nothing is read or written beyond
 * the end: the call fails, and the place stays where it was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dns_cursor {
	const uint8_t *message;
	size_t len, at; /* at <= len */
};

static inline bool dns_cursor_skip(struct dns_cursor *c, size_t n)
{
	if (n > c->len - c->at)
		return false;
	c->at += n;
	return true;
}

static inline bool dns_cursor_u16(struct dns_cursor *c, uint16_t *ret)
{
	const uint8_t *p = c->message + c->at;

	if (!dns_cursor_skip(c, 2))
		return false;
	*ret = (uint16_t)(p[0] << 8 | p[1]);
	return true;
}

static inline bool dns_cursor_u32(struct dns_cursor *c, uint32_t *ret)
{
	uint16_t high, low;

	if (c->len - c->at < 4 || !dns_cursor_u16(c, &high) || !dns_cursor_u16(c, &low))
		return false;
	*ret = (uint32_t)high << 16 | low;
	return true;
}

/* What is being written. Once something did not fit, nothing more is written. */
struct dns_writer {
	uint8_t *out;
	size_t size, at;
	bool full;
};

static inline void dns_writer_add(struct dns_writer *w, const void *data, size_t n)
{
	if (w->full || n > w->size - w->at) {
		w->full = true;
		return;
	}
	if (n > 0)
		memcpy(w->out + w->at, data, n);
	w->at += n;
}

static inline void dns_writer_u16(struct dns_writer *w, uint16_t value)
{
	dns_writer_add(w, (uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static inline void dns_writer_u32(struct dns_writer *w, uint32_t value)
{
	dns_writer_u16(w, (uint16_t)(value >> 16));
	dns_writer_u16(w, (uint16_t)value);
}
